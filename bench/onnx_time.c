/* SPDX-License-Identifier: Apache-2.0 */
/* How long an ONNX network takes whose weights are bound at initialisation (OWNED_BY_DML): the same program on Linux
 * and on Windows, for wine.py.
 *
 *     onnx_time MODEL.onnx SECONDS        the number of threads is ANYDML_THREADS'
 *
 * Prints the median and the shortest run in milliseconds. Inputs are between -0.5 and 0.5, free sizes 1. */
#include "base/clock.h"
#include "base/os.h"
#include "onnx/run/exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_MAX  100000
#define PORTS_MAX 64

static struct onnx_error error;

static void check(HRESULT hr, const char *what)
{
    if (SUCCEEDED(hr))
        return;
    fprintf(stderr, "onnx_time: %s: %s (0x%08x)\n", what, error.text, (unsigned)hr);
    exit(2);
}

/* Kept until the end: the model's weights point into it. */
static struct onnx_model *load(const char *path)
{
    struct onnx_model *model;
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END))
        check(E_INVALIDARG, path);
    const size_t bytes = (size_t)ftell(file);
    char *data = malloc(bytes + 1);
    rewind(file);
    if (!data || fread(data, 1, bytes, file) != bytes)
        check(E_INVALIDARG, path);
    fclose(file);
    check(onnx_model_parse(data, bytes, &model, &error), path);
    return model;
}

static struct onnx_exec *compile(const struct onnx_model *model, struct onnx_device *device)
{
    struct onnx_program *program;
    struct onnx_exec *exec;
    struct onnx_input *sizes = calloc(model->input_count + 1, sizeof(*sizes));
    for (uint32_t i = 0; sizes && i < model->input_count; i++) {
        sizes[i].rank = model->inputs[i].rank;
        for (uint32_t d = 0; d < sizes[i].rank; d++)
            sizes[i].dims[d] = BASE_MAX(model->inputs[i].dims[d], 1);
    }
    check(onnx_compile_owned(model, sizes, device->dml, DML_EXECUTION_FLAG_NONE, &program, &error), "compile");
    check(onnx_exec_create(device, program, &exec, &error), "initialise");
    free(sizes);
    return exec;
}

static void *room_for(const struct onnx_port *port)
{
    float *data = base_aligned_acquire(256, base_align_up(BASE_MAX(port->bytes, 1u), 256));
    if (!data)
        check(E_OUTOFMEMORY, port->name);
    memset(data, 0, port->bytes);
    for (uint64_t i = 0; port->onnx_type == ONNX_FLOAT && i < port->bytes / sizeof(*data); i++)
        data[i] = (float)(i % 97) / 96 - 0.5f;
    return data;
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static uint64_t times[RUNS_MAX];
    const void *inputs[PORTS_MAX];
    void *outputs[PORTS_MAX];
    struct onnx_device *device;
    struct onnx_pool *pool;
    uint32_t count = 0;
    if (argc != 3) {
        fprintf(stderr, "usage: onnx_time MODEL.onnx SECONDS\n");
        return 2;
    }
    const uint64_t limit_ns = (uint64_t)(strtod(argv[2], NULL) * 1e9);
    const struct onnx_model *model = load(argv[1]);
    check(onnx_device_open(0, &device, &error), "device");
    check(onnx_pool_create(device, UINT64_MAX, &pool), "pool");
    struct onnx_exec *exec = compile(model, device);
    const struct onnx_program *program = onnx_exec_program(exec);
    if (program->input_count > PORTS_MAX || program->output_count > PORTS_MAX)
        check(E_INVALIDARG, "more than 64 inputs or outputs");
    for (uint32_t i = 0; i < program->input_count; i++)
        inputs[i] = room_for(&program->inputs[i]);
    for (uint32_t i = 0; i < program->output_count; i++)
        outputs[i] = room_for(&program->outputs[i]);
    for (int i = 0; i < 3; i++)
        check(onnx_exec_run(exec, pool, NULL, inputs, outputs, &error), "run");
    for (const uint64_t start = base_now_ns(); count < 5 || (count < RUNS_MAX && base_now_ns() - start < limit_ns);) {
        const uint64_t begin = base_now_ns();
        check(onnx_exec_run(exec, pool, NULL, inputs, outputs, &error), "run");
        times[count++] = base_now_ns() - begin;
    }
    qsort(times, count, sizeof(times[0]), compare);
    printf("%.4f %.4f\n", (double)times[count / 2] / 1e6, (double)times[0] / 1e6);
    fflush(stdout);
    _Exit(0); /* all tensors may be used in place */
}
