/* SPDX-License-Identifier: Apache-2.0 */
/* Each model is compiled once unchanged and once for each kernel that could run some of its ops (ANYDML_KERNELS), and
 * run until no step gets faster. So a step is measured in its context: previous steps have evicted the caches, and
 * weights are read from memory as in the model. A class of ops gets the kernel whose steps have the smallest total
 * time. */
#include "tools/cmd/tune_device.h"

#include "tools/output.h"
#include "tools/program.h"
#include "tools/progress.h"
#include "tools/text.h"

#include <anydml.h>
#include <jansson.h>

#include <stdlib.h>

#define RUNS       5 /* in one pass */
#define PASSES_MAX 8
#define STABLE     0.98 /* a pass that improves the sum by no more than this ends the measurement */
#define BUSY       1.15 /* between passes: others use the device */
#define WORTH      0.95 /* of the time of the library's selection */
#define NAME_BYTES 64
#define ROWS_MAX   64

struct step {
    double us;      /* the minimum */
    uint64_t class; /* 0: no alternatives */
    char kernel[NAME_BYTES];
};

/* The steps of one compilation. */
struct measured {
    struct step *steps;
    uint32_t count, capacity, at;
    bool failed;
};

/* The time of a class with each kernel, over all models; entry 0 is the library's selection. */
struct class
{
    uint64_t key;
    uint32_t steps;
    double us[ROWS_MAX];
    bool complete[ROWS_MAX]; /* all its steps were run by it */
    char kernel[NAME_BYTES];
};

struct tuner {
    const struct tools_tune_device *tune;
    char rows[ROWS_MAX][NAME_BYTES]; /* rows[0]: "" */
    uint32_t row_count;
    struct class *classes;
    uint32_t class_count;
};

/* ---- one compilation ---- */

static void add_row(struct tuner *tuner, const char *name)
{
    for (uint32_t i = 0; i < tuner->row_count; i++)
        if (!strcmp(tuner->rows[i], name))
            return;
    if (tuner->row_count < ROWS_MAX)
        snprintf(tuner->rows[tuner->row_count++], NAME_BYTES, "%s", name);
}

struct listening {
    struct tuner *tuner;
    struct measured *measured;
};

static void STDMETHODCALLTYPE take_event(void *context, const struct anydml_trace_event *event)
{
    struct listening *listening = context;
    struct measured *m = listening->measured;
    if (strcmp(event->Category, "step") != 0)
        return;
    json_t *json = json_loads(event->Json, 0, NULL), *args = json_object_get(json, "args"), *row;
    const char *kernel = json_string_value(json_object_get(args, "kernel"));
    const char *class = json_string_value(json_object_get(args, "class"));
    size_t i;
    m->failed = m->failed || !kernel || !base_array_reserve((void **)&m->steps, m->at, &m->capacity, sizeof(*m->steps));
    if (!m->failed) {
        const double us = json_number_value(json_object_get(json, "dur"));
        struct step *step = &m->steps[m->at];
        if (m->at == m->count) {
            *step = (struct step){ .us = us, .class = class ? strtoull(class, NULL, 16) : 0 };
            snprintf(step->kernel, sizeof(step->kernel), "%s", kernel);
            m->count++;
        }
        step->us = us < step->us ? us : step->us;
        m->at++;
    }
    json_array_foreach(json_object_get(args, "rows"), i, row) add_row(listening->tuner, json_string_value(row));
    json_decref(json);
}

static double sum_of(const struct measured *m)
{
    double sum = 0;
    for (uint32_t i = 0; i < m->count; i++)
        sum += m->steps[i].us;
    return sum;
}

/* Until another pass finds nothing faster. */
static bool run(struct tuner *tuner, struct tools_program *program, struct measured *m, struct tools_error *error)
{
    IDMLDevice *dml = (IDMLDevice *)tuner->tune->session->device->dml;
    struct listening listening = { tuner, m };
    struct anydml_trace trace = { .Event = take_event, .Context = &listening };
    double ms, before = 0;
    bool ok = tools_program_fill(program, error) && tools_program_run(program, &ms, error);
    for (uint32_t pass = 0; ok && pass < PASSES_MAX && (pass < 2 || sum_of(m) < STABLE * before); pass++) {
        before = sum_of(m);
        ok = tools_check(error, AnydmlSetTrace(dml, &trace), "beginning the trace");
        for (uint32_t i = 0; ok && i < RUNS; i++) {
            m->at = 0;
            ok = tools_program_run(program, &ms, error);
        }
        AnydmlSetTrace(dml, NULL);
    }
    return ok && (!m->failed || tools_fail_memory(error));
}

static bool measure(struct tuner *tuner, const struct onnx_model *model, const char *row, struct measured *out,
                    struct tools_error *error)
{
    struct onnx_program *compiled;
    struct tools_program *program = NULL;
    struct onnx_input *shapes = calloc(model->input_count + 1, sizeof(*shapes));
    double ms;
    if (!shapes)
        return tools_fail_memory(error);
    for (uint32_t i = 0; i < model->input_count; i++) {
        shapes[i].rank = model->inputs[i].rank;
        for (uint32_t d = 0; d < model->inputs[i].rank; d++)
            shapes[i].dims[d] = model->inputs[i].dims[d] > 0 ? model->inputs[i].dims[d] : 1;
    }
    setenv("ANYDML_KERNELS", row, 1);
    bool ok = tools_compile(tuner->tune->session, model, shapes, DML_EXECUTION_FLAG_NONE, &compiled, &ms, error) &&
              tools_program_create(tuner->tune->session, compiled, &program, error) && run(tuner, program, out, error);
    unsetenv("ANYDML_KERNELS");
    tools_program_destroy(program);
    free(shapes);
    return ok;
}

/* ---- all of them ---- */

static struct class *class_of(struct tuner *tuner, uint64_t key)
{
    for (uint32_t i = 0; i < tuner->class_count; i++)
        if (tuner->classes[i].key == key)
            return &tuner->classes[i];
    struct class *grown = realloc(tuner->classes, (tuner->class_count + (size_t)1) * sizeof(*grown));
    if (!grown)
        return NULL;
    tuner->classes = grown;
    struct class *class = &grown[tuner->class_count++];
    *class = (struct class){ .key = key };
    for (uint32_t i = 0; i < ROWS_MAX; i++)
        class->complete[i] = true;
    return class;
}

/* Whether the kernel has that name, "gemm_coop:3" without the part after the colon. */
static bool is_row(const char *kernel, const char *row)
{
    const size_t length = strcspn(row, ":");
    return strlen(kernel) == length && !memcmp(kernel, row, length);
}

static bool add_measured(struct tuner *tuner, const struct measured *m, uint32_t row, struct tools_error *error)
{
    for (uint32_t i = 0; i < m->count; i++) {
        const struct step *step = &m->steps[i];
        struct class *class = step->class ? class_of(tuner, step->class) : NULL;
        if (!class && step->class)
            return tools_fail_memory(error);
        if (!class)
            continue;
        class->us[row] += step->us;
        class->steps += !row;
        if (!row)
            snprintf(class->kernel, sizeof(class->kernel), "%s", step->kernel);
        else if (!is_row(step->kernel, tuner->rows[row]))
            class->complete[row] = false;
    }
    return true;
}

/* The library's selection twice: if the two differ, something else runs on the device. */
static bool measure_chosen(struct tuner *tuner, const struct onnx_model *model, const char *path,
                           struct tools_error *error)
{
    struct measured m = { 0 }, again = { 0 };
    tools_progress(path);
    bool ok = measure(tuner, model, "", &m, error) && measure(tuner, model, "", &again, error);
    const double first = ok ? sum_of(&m) : 0, second = ok ? sum_of(&again) : 0;
    if (ok && !tuner->tune->force && (first > BUSY * second || second > BUSY * first))
        ok = tools_fail(
            error, TOOLS_RUNTIME,
            "%s: the device is busy: the same steps take %.0f and %.0f us; try again when it is idle, or use "
            "--force",
            path, first, second);
    ok = ok && add_measured(tuner, &again, 0, error);
    free(m.steps);
    free(again.steps);
    return ok;
}

/* First all models unchanged: then the kernels for all of them are known. */
static bool measure_all(struct tuner *tuner, struct onnx_model *const *models, struct tools_error *error)
{
    const struct tools_tune_device *tune = tuner->tune;
    bool ok = true;
    for (uint32_t i = 0; ok && i < tune->model_count; i++)
        ok = measure_chosen(tuner, models[i], tune->models[i], error);
    for (uint32_t row = 1; ok && row < tuner->row_count; row++) {
        tools_progress(tuner->rows[row]);
        for (uint32_t i = 0; ok && i < tune->model_count; i++) {
            struct measured m = { 0 };
            ok = measure(tuner, models[i], tuner->rows[row], &m, error) && add_measured(tuner, &m, row, error);
            free(m.steps);
        }
    }
    return ok;
}

static void print_class(const struct tuner *tuner, const struct class *class, uint32_t best, bool worth,
                        uint32_t number)
{
    if (tuner->tune->json)
        printf("%s\n  {\"class\": \"%016llx\", \"steps\": %u, \"kernel\": \"%s\", \"us\": %.2f, \"best\": \"%s\", "
               "\"best_us\": %.2f, \"kept\": %s}",
               number ? "," : "", (unsigned long long)class->key, class->steps, class->kernel, class->us[0],
               tuner->rows[best], class->us[best], worth ? "true" : "false");
    else
        printf("%016llx %5u  %-20s %9.1f us  %-20s %9.1f us  %s\n", (unsigned long long)class->key, class->steps,
               class->kernel, class->us[0], best ? tuner->rows[best] : class->kernel, class->us[best],
               worth ? "kept" : "");
}

static void STDMETHODCALLTYPE take_path(void *context, const char *path, const char *problem)
{
    const struct tools_tune_device *tune = context;
    if (!tune->json && !problem)
        printf("kept in %s\n", path);
}

static bool keep(struct tuner *tuner, struct tools_error *error)
{
    struct anydml_tuning listener = { .Context = (void *)(uintptr_t)tuner->tune, .Saved = take_path };
    struct anydml_row *rows = calloc(tuner->class_count + (size_t)1, sizeof(*rows));
    UINT count = 0;
    if (!rows)
        return tools_fail_memory(error);
    if (tuner->tune->json)
        printf("{\"classes\": [");
    else
        printf("%-16s %5s  %-20s %12s  %-20s %12s\n", "class", "steps", "chosen", "time", "fastest", "time");
    for (uint32_t i = 0; i < tuner->class_count; i++) {
        const struct class *class = &tuner->classes[i];
        uint32_t best = 0;
        for (uint32_t row = 1; row < tuner->row_count; row++)
            if (class->complete[row] && class->us[row] > 0 && class->us[row] < class->us[best])
                best = row;
        const bool worth = best && class->us[best] < WORTH * class->us[0];
        print_class(tuner, class, best, worth, i);
        if (worth)
            rows[count++] = (struct anydml_row){ class->key, tuner->rows[best] };
    }
    if (tuner->tune->json)
        printf("\n]}\n");
    HRESULT hr = AnydmlKeepRows((IDMLDevice *)tuner->tune->session->device->dml, rows, count, &listener);
    free(rows);
    return tools_check(error, hr, "storing the kernels");
}

bool tools_tune_device(const struct tools_tune_device *tune, struct tools_error *error)
{
    struct tuner tuner = { .tune = tune, .row_count = 1 };
    struct onnx_model **models = calloc(tune->model_count, sizeof(*models));
    bool ok = models || tools_fail_memory(error);
    for (uint32_t i = 0; ok && i < tune->model_count; i++)
        ok = tools_model_load(tune->models[i], &models[i], error);
    ok = ok && measure_all(&tuner, models, error) && keep(&tuner, error);
    tools_progress_stop();
    for (uint32_t i = 0; models && i < tune->model_count; i++)
        if (models[i])
            onnx_model_destroy(models[i]);
    free(models);
    free(tuner.classes);
    return ok;
}
