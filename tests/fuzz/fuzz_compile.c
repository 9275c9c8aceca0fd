/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzing of the ONNX compiler: any model that the reader takes is converted, node by node as the provider asks and as
 * a whole as the command does, or refused with one line; nothing overflows, nothing is read where there is nothing.
 *
 * With -fsanitize=fuzzer this is a libFuzzer target (scripts/fuzz); without, a program that runs the files and folders
 * it is given: each model as it is, then with each integer, float and list of each attribute, and each integer of each
 * constant, replaced by values that no model should have. */
#include "onnx/run/exec.h"

#include "files.h"

#include <anydml.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A whole model is compiled only while its numbers are small: larger ones would make tensors that take minutes. */
#define SMALL_MAX 4096

static struct onnx_device *device;
static uint64_t claimed, refused, compiled;

static void need(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "fuzz_compile: %s\n", what);
    abort();
}

static bool small_tensor(const struct onnx_tensor *t)
{
    int64_t value;
    if (t->bytes > SMALL_MAX * sizeof(value))
        return false;
    for (uint64_t i = 0; t->type == ONNX_INT64 && i < t->bytes / sizeof(value); i++) {
        memcpy(&value, (const char *)t->data + i * sizeof(value), sizeof(value));
        if (value > SMALL_MAX || value < -SMALL_MAX)
            return false;
    }
    return true;
}

static bool small_attribute(const struct onnx_attribute *a)
{
    bool small = a->i <= SMALL_MAX && a->i >= -SMALL_MAX && !(fabsf(a->f) > SMALL_MAX) && (!a->t || small_tensor(a->t));
    for (uint32_t i = 0; a->ints && i < a->count; i++)
        small = small && a->ints[i] <= SMALL_MAX && a->ints[i] >= -SMALL_MAX;
    for (uint32_t i = 0; a->floats && i < a->count; i++)
        small = small && fabsf(a->floats[i]) <= SMALL_MAX;
    return small;
}

static bool small_model(const struct onnx_model *m)
{
    bool small = m->node_count <= 64;
    for (uint32_t i = 0; i < m->initializer_count; i++)
        small = small && small_tensor(&m->initializers[i]);
    for (uint32_t i = 0; i < m->node_count; i++)
        for (uint32_t j = 0; j < m->nodes[i].attribute_count; j++)
            small = small && small_attribute(&m->nodes[i].attributes[j]);
    return small;
}

/* What is open becomes 2; false where the model's inputs are too large. */
static bool choose_inputs(const struct onnx_model *m, struct onnx_input *inputs)
{
    int64_t elements = 1;
    for (uint32_t i = 0; i < m->input_count; i++) {
        inputs[i].rank = m->inputs[i].rank;
        for (uint32_t d = 0; d < inputs[i].rank; d++) {
            inputs[i].dims[d] = m->inputs[i].dims[d] < 0 ? 2 : m->inputs[i].dims[d];
            elements *= inputs[i].dims[d] <= SMALL_MAX ? inputs[i].dims[d] : SMALL_MAX + 1;
            if (elements > SMALL_MAX)
                return false;
        }
    }
    return true;
}

static void compile(const struct onnx_model *m)
{
    struct onnx_input *inputs = calloc(m->input_count + 1, sizeof(*inputs));
    struct onnx_program *program = NULL;
    struct onnx_error error = { "" };
    if (inputs && small_model(m) && choose_inputs(m, inputs)) {
        HRESULT hr = onnx_compile(m, inputs, device->dml, DML_EXECUTION_FLAG_NONE, &program, &error);
        need(SUCCEEDED(hr) == (program != NULL) && (program || error.text[0]), "a refusal says nothing");
        compiled += program != NULL;
        onnx_program_destroy(program);
    }
    free(inputs);
}

static void check(const struct onnx_model *m)
{
    struct onnx_verdict *verdicts = calloc(m->node_count + 1, sizeof(*verdicts));
    if (verdicts && SUCCEEDED(onnx_check(m, device->dml, 0, verdicts))) {
        for (uint32_t i = 0; i < m->node_count; i++) {
            need(verdicts[i].ok || verdicts[i].reason[0], "a verdict has no reason");
            claimed += verdicts[i].ok;
            refused += !verdicts[i].ok;
        }
    }
    free(verdicts);
}

static void run(const struct onnx_model *m)
{
    BOOL before = AnydmlQuiet(TRUE);
    check(m);
    compile(m);
    AnydmlQuiet(before);
}

static void prepare(void)
{
    struct onnx_error error = { "" };
    if (!device && FAILED(onnx_device_open(0, &device, &error)))
        need(false, error.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct onnx_model *model;
    struct onnx_error error = { "" };
    prepare();
    if (SUCCEEDED(onnx_model_parse(data, size, &model, &error))) {
        run(model);
        onnx_model_destroy(model);
    }
    return 0;
}

#ifndef FUZZ_LIBFUZZER
/* ---- without libFuzzer ---- */

static const int64_t numbers[] = { 0,         1,         -1,        2,          7,         -3,
                                   1 << 16,   INT32_MAX, INT32_MIN, UINT32_MAX, 1ll << 40, -(1ll << 62),
                                   INT64_MAX, INT64_MIN };
static const float floats[] = { 0, -1, 1e-30f, 1e30f, -3e38f, INFINITY, -INFINITY, NAN };
static const uint32_t counts[] = { 1, 2, 3, 5, 7, 9, 17, 40, 300 };

static void change_int(const struct onnx_model *m, int64_t *at, int64_t least)
{
    int64_t old = *at;
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        *at = numbers[i];
        if (numbers[i] >= least)
            run(m);
    }
    *at = old;
}

static void change_float(const struct onnx_model *m, float *at)
{
    float old = *at;
    for (size_t i = 0; i < ARRAY_SIZE(floats); i++) {
        *at = floats[i];
        run(m);
    }
    *at = old;
}

/* Lists of other lengths, of ones and of what was there. */
static void change_count(const struct onnx_model *m, struct onnx_attribute *a)
{
    const struct onnx_attribute old = *a;
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        /* Exactly as long as it says, so that a sanitizer sees what reads on. */
        int64_t *list = calloc(counts[i], sizeof(*list));
        float *reals = calloc(counts[i], sizeof(*reals));
        need(list && reals, "out of memory");
        for (uint32_t j = 0; j < counts[i]; j++) {
            list[j] = old.ints && j < old.count ? old.ints[j] : 1;
            reals[j] = old.floats && j < old.count ? old.floats[j] : 1;
        }
        a->count = counts[i];
        a->ints = old.ints ? list : NULL;
        a->floats = old.floats ? reals : NULL;
        run(m);
        free(list);
        free(reals);
    }
    *a = old;
}

static void change_attribute(const struct onnx_model *m, struct onnx_attribute *a)
{
    if (!a->ints && !a->floats && !a->strings && !a->s && !a->t) {
        change_int(m, &a->i, INT64_MIN);
        change_float(m, &a->f);
    }
    for (uint32_t i = 0; a->ints && i < a->count; i++)
        change_int(m, (int64_t *)&a->ints[i], INT64_MIN);
    for (uint32_t i = 0; a->floats && i < a->count; i++)
        change_float(m, (float *)&a->floats[i]);
    if (a->ints || a->floats)
        change_count(m, a);
}

/* The constant's numbers, in a copy that ends where it should. */
static void change_tensor(const struct onnx_model *m, struct onnx_tensor *t)
{
    uint32_t width = onnx_type_bytes(t->type);
    if (!width || (t->type != ONNX_INT64 && t->type != ONNX_FLOAT) || t->bytes > 64 || !t->bytes)
        return;
    const void *old = t->data;
    void *copy = malloc(t->bytes);
    need(copy != NULL, "out of memory");
    memcpy(copy, old, t->bytes);
    t->data = copy;
    for (uint64_t i = 0; i < t->bytes / width; i++) {
        if (t->type == ONNX_INT64)
            change_int(m, (int64_t *)copy + i, INT64_MIN);
        else
            change_float(m, (float *)copy + i);
    }
    t->data = old;
    free(copy);
}

static void run_file(const char *path)
{
    static uint8_t data[1 << 16];
    struct onnx_model *m;
    struct onnx_error error = { "" };
    FILE *file = fopen(path, "rb");
    need(file != NULL, path);
    size_t size = fread(data, 1, sizeof(data), file);
    fclose(file);
    prepare();
    if (FAILED(onnx_model_parse(data, size, &m, &error)))
        return;
    run(m);
    for (uint32_t i = 0; i < m->node_count; i++)
        for (uint32_t j = 0; j < m->nodes[i].attribute_count; j++)
            change_attribute(m, (struct onnx_attribute *)&m->nodes[i].attributes[j]);
    for (uint32_t i = 0; i < m->initializer_count; i++)
        change_tensor(m, &m->initializers[i]);
    for (uint32_t i = 0; i < m->input_count; i++)
        for (uint32_t d = 0; d < m->inputs[i].rank; d++)
            change_int(m, &m->inputs[i].dims[d], -1); /* as the reader has it */
    onnx_model_destroy(m);
}

int main(int argc, char **argv)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    struct rlimit memory = { (rlim_t)4 << 30, (rlim_t)4 << 30 };
    setrlimit(RLIMIT_AS, &memory); /* a model asks for as much as it likes; that is refused */
#endif
    for (int i = 1; i < argc; i++)
        fuzz_each_file(argv[i], run_file);
    printf("%" PRIu64 " nodes claimed, %" PRIu64 " refused; %" PRIu64 " models compiled\n", claimed, refused, compiled);
    need(claimed > 0 && refused > 0 && compiled > 0, "no node was claimed, refused or compiled");
    onnx_device_close(device);
    return 0;
}
#endif
