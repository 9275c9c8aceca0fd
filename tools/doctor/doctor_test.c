/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the operators of the self-test on a device: all in one graph, and one by one when that fails. */
#include "tools/doctor/doctor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PATIENCE 3 /* children that crash or do not answer, until the rest is not tried */

/* ---- the child ---- */

struct attempt {
    struct tools_doctor_child child;
    json_t *printed; /* what it printed; NULL: it failed */
};

static void attempt_run(const struct tools_doctor *d, const struct tools_doctor_case *list, uint32_t count,
                        uint32_t device, struct attempt *out)
{
    char number[16];
    char *input = tools_doctor_cases_write(list, count);
    const char *const words[] = { "dispatch", "-", "--json", "--device", number, NULL };
    /* The bounds are those of the tensors' types. */
    const char *const environment[] = { "ANYDML_HALF_PRECISION=off", "ANYDML_TELEMETRY=0", "ANYDML_TRACE",
                                        "ANYDML_LOG=none",           d->adapters,          NULL };
    snprintf(number, sizeof(number), "%u", device);
    *out = (struct attempt){
        .child = { .words = words, .environment = environment, .input = input ? input : "", .seconds = d->seconds },
    };
    tools_doctor_run(&out->child);
    free(input);
    out->printed = out->child.failure[0] ? NULL : json_loads(out->child.output, 0, NULL);
    if (!out->child.failure[0] && !out->printed)
        snprintf(out->child.failure, sizeof(out->child.failure), "failed: no JSON was printed");
}

static void attempt_finish(struct attempt *attempt)
{
    json_decref(attempt->printed);
    tools_doctor_finish(&attempt->child);
}

static bool is_unsupported(const struct tools_doctor_child *child)
{
    return child->end == TOOLS_DOCTOR_EXITED && child->code == TOOLS_USAGE &&
           (strstr(child->failure, "DXGI_ERROR_UNSUPPORTED") || strstr(child->failure, "E_NOTIMPL"));
}

/* ---- results ---- */

static void report(struct tools_doctor *d, const struct tools_doctor_case *c, uint32_t device,
                   const struct tools_doctor_verdict *verdict, json_t *tests)
{
    json_t *entry = json_object();
    tools_doctor_say(d, "  %-24s %s\n", c->name, verdict->text);
    json_object_set_new(entry, "name", json_string(c->name));
    json_object_set_new(entry, "result", json_string(tools_doctor_result_word(verdict->result)));
    if (verdict->result == TOOLS_DOCTOR_RIGHT || (verdict->result == TOOLS_DOCTOR_WRONG && verdict->error < INFINITY))
        json_object_set_new(entry, "error", json_real(verdict->error));
    json_object_set_new(entry, "text", tools_doctor_text(verdict->text));
    json_array_append_new(tests, entry);
    if (verdict->result == TOOLS_DOCTOR_WRONG)
        tools_doctor_problem(d, "device %u computes %s wrongly", device, c->name);
    else if (verdict->result == TOOLS_DOCTOR_FAILED)
        tools_doctor_problem(d, "device %u: %s %s", device, c->name, verdict->text);
}

/* One operator in a child of its own. */
static void test_one(struct tools_doctor *d, const struct tools_doctor_case *c, uint32_t device, uint32_t *in_out_lost,
                     struct tools_doctor_verdict *out)
{
    struct attempt attempt;
    *out = (struct tools_doctor_verdict){ .result = TOOLS_DOCTOR_UNTRIED };
    if (*in_out_lost >= PATIENCE) {
        snprintf(out->text, sizeof(out->text), "not tried");
        return;
    }
    attempt_run(d, c, 1, device, &attempt);
    if (attempt.printed)
        tools_doctor_check(c, 0, attempt.printed, out);
    else if (is_unsupported(&attempt.child)) {
        out->result = TOOLS_DOCTOR_UNSUPPORTED;
        snprintf(out->text, sizeof(out->text), "unsupported");
    } else {
        out->result = TOOLS_DOCTOR_FAILED;
        snprintf(out->text, sizeof(out->text), "%s", attempt.child.failure);
        *in_out_lost += attempt.child.end != TOOLS_DOCTOR_EXITED;
    }
    attempt_finish(&attempt);
}

static void test_each(struct tools_doctor *d, const struct tools_doctor_cases *cases, uint32_t device,
                      const struct attempt *together, json_t *tests)
{
    uint32_t lost = 0, reasons = 0;
    for (uint32_t i = 0; i < cases->count; i++) {
        struct tools_doctor_verdict verdict;
        test_one(d, &cases->list[i], device, &lost, &verdict);
        reasons += verdict.result != TOOLS_DOCTOR_RIGHT;
        report(d, &cases->list[i], device, &verdict, tests);
    }
    if (reasons)
        return;
    tools_doctor_say(d, "  %-24s %s\n", "all in one graph", together->child.failure);
    tools_doctor_problem(d, "device %u: all operators in one graph %s", device, together->child.failure);
}

void tools_doctor_test(struct tools_doctor *d, const struct tools_doctor_cases *cases, uint32_t device, json_t *about)
{
    json_t *tests = json_array();
    struct attempt attempt;
    attempt_run(d, cases->list, cases->count, device, &attempt);
    for (uint32_t i = 0; attempt.printed && i < cases->count; i++) {
        struct tools_doctor_verdict verdict;
        tools_doctor_check(&cases->list[i], i, attempt.printed, &verdict);
        report(d, &cases->list[i], device, &verdict, tests);
    }
    if (!attempt.printed) {
        json_object_set_new(about, "graph", tools_doctor_text(attempt.child.failure));
        test_each(d, cases, device, &attempt, tests);
    }
    json_object_set_new(about, "tests", tests);
    attempt_finish(&attempt);
}
