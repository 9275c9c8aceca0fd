/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cmd/profile.h"

#include "tools/trace.h"

#include <anydml.h>
#include <jansson.h>
#include <stdlib.h>

#define PROFILE_RUNS 5
#define PROFILE_TOP  10

struct sink {
    struct tools_profile *profile;
    uint32_t next; /* step of this run */
    bool first, failed;
};

static char *copy_text(const json_t *text)
{
    return json_string_value(text) ? strdup(json_string_value(text)) : NULL;
}

/* Runs have the same steps in the same order. */
static void take_step(struct sink *sink, const json_t *event)
{
    struct tools_profile *p = sink->profile;
    const json_t *args = json_object_get(event, "args");
    const json_t *names = json_object_get(args, "names");
    const double ms = json_number_value(json_object_get(event, "dur")) / 1e3;
    const uint32_t i = sink->next++;
    if (!sink->first) {
        if (i < p->count && ms < p->steps[i].ms)
            p->steps[i].ms = ms;
        return;
    }
    if (!base_array_reserve((void **)&p->steps, p->count, &p->capacity, sizeof(*p->steps))) {
        sink->failed = true;
        return;
    }
    p->steps[p->count++] = (struct tools_profile_step){
        .kernel = copy_text(json_object_get(args, "kernel")),
        .names = copy_text(names ? names : json_object_get(event, "name")),
        .ms = ms,
        .flops = json_number_value(json_object_get(args, "flops")),
        .bytes = json_number_value(json_object_get(args, "bytes_read")) +
                 json_number_value(json_object_get(args, "bytes_written")),
    };
}

static void STDMETHODCALLTYPE take_event(void *context, const struct anydml_trace_event *event)
{
    struct sink *sink = context;
    if (strcmp(event->Category, "step"))
        return;
    json_t *json = json_loads(event->Json, 0, NULL);
    if (json)
        take_step(sink, json);
    else
        sink->failed = true;
    json_decref(json);
}

static int compare_steps(const void *a, const void *b)
{
    const struct tools_profile_step *x = a, *y = b;
    return (x->ms < y->ms) - (x->ms > y->ms);
}

bool tools_profile_measure(struct tools_program *program, struct tools_profile *out, struct tools_error *error)
{
    IDMLDevice *dml = (IDMLDevice *)program->session->device->dml;
    struct tools_peaks peaks;
    struct sink sink = { .profile = out, .first = true };
    const struct anydml_trace trace = { take_event, &sink, 0, 0 };
    double ms;
    *out = (struct tools_profile){ 0 };
    tools_peaks_measure(program->session, &peaks);
    out->peak_flops = peaks.flops;
    out->peak_bytes = peaks.bytes;
    bool ok = tools_program_run(program, &ms, error) &&
              tools_check(error, AnydmlSetTrace(dml, &trace), "beginning the trace");
    for (uint32_t i = 0; ok && i < PROFILE_RUNS; i++, sink.first = false) {
        sink.next = 0;
        ok = tools_program_run(program, &ms, error);
    }
    AnydmlSetTrace(dml, NULL);
    if (ok && sink.failed)
        ok = tools_fail_memory(error);
    for (uint32_t i = 0; i < out->count; i++)
        out->total_ms += out->steps[i].ms;
    if (out->count)
        qsort(out->steps, out->count, sizeof(*out->steps), compare_steps);
    return ok;
}

void tools_profile_print(const struct tools_profile *p)
{
    const bool known = p->peak_flops > 0 && p->peak_bytes > 0;
    printf("profile     %.3f ms in %u steps", p->total_ms, p->count);
    if (known)
        printf("; peaks %.0f GFLOP/s and %.1f GB/s", p->peak_flops / 1e9, p->peak_bytes / 1e9);
    printf("\n%9s %6s  %-7s %7s %9s %8s  %s\n", "ms", "share", "bound", "of peak", "GFLOP/s", "GB/s", "kernel  nodes");
    for (uint32_t i = 0; i < BASE_MIN(p->count, PROFILE_TOP); i++) {
        const struct tools_profile_step *s = &p->steps[i];
        const double seconds = s->ms > 0 ? s->ms / 1e3 : 1e-9;
        const double compute = known ? s->flops / p->peak_flops : 0, move = known ? s->bytes / p->peak_bytes : 0;
        char peak[16] = "-";
        if (known)
            snprintf(peak, sizeof(peak), "%.0f %%", 100 * BASE_MAX(compute, move) / seconds);
        printf("%9.4f %4.1f %%  %-7s %7s %9.1f %8.1f  %s  %.80s\n", s->ms,
               p->total_ms > 0 ? 100 * s->ms / p->total_ms : 0,
               !known           ? "-"
               : compute > move ? "compute"
               : move > seconds ? "cache" /* more than memory bandwidth allows */
                                : "memory",
               peak, s->flops / seconds / 1e9, s->bytes / seconds / 1e9, s->kernel ? s->kernel : "",
               s->names ? s->names : "");
    }
}

void tools_profile_finish(struct tools_profile *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        free(p->steps[i].kernel);
        free(p->steps[i].names);
    }
    free(p->steps);
}
