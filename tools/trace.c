/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/trace.h"

#include "tools/output.h"
#include "tools/text.h"

#include <anydml.h>

#include <stdlib.h>

/* ---- the roofline ---- */

#define PEAK_PRODUCT 768       /* rows and columns */
#define PEAK_COPY    (1 << 24) /* elements: 64 MiB, larger than caches */
#define PEAK_MS      50.0
#define PEAK_RUNS    64

/* One run; on devices by their own clock, and without copies to and from the host. */
static bool run_once(struct tools_program *program, bool first, double *ms, struct tools_error *error)
{
    const bool host = program->session->device->host_memory;
    if (first || host)
        return tools_program_run(program, ms, error) && (host || tools_program_watch(program, 1, error));
    bool ok = tools_program_repeat(program, ms, error);
    *ms = tools_program_device_ms(program);
    return ok;
}

static double fastest_ms(struct tools_session *session, const struct onnx_model *model)
{
    struct tools_error ignored;
    struct onnx_program *compiled;
    struct tools_program *program = NULL;
    struct onnx_input shape = { .rank = model->inputs[0].rank };
    double ms, best = 0;
    memcpy(shape.dims, model->inputs[0].dims, sizeof(shape.dims));
    if (!tools_compile(session, model, &shape, DML_EXECUTION_FLAG_NONE, &compiled, &ms, &ignored) ||
        !tools_program_create(session, compiled, &program, &ignored))
        return 0;
    double start = tools_now_ms();
    for (uint32_t i = 0; i < PEAK_RUNS && (i < 3 || tools_now_ms() - start < PEAK_MS); i++) {
        if (!run_once(program, !i, &ms, &ignored)) {
            best = 0;
            break;
        }
        best = i && best < ms ? best : ms;
    }
    tools_program_destroy(program);
    return best;
}

/* A model of one node with one input of these sizes, and `w`, square, as the second unless it is NULL. */
static double fastest_of(struct tools_session *session, const char *op, int64_t rows, int64_t columns, const float *w)
{
    const char *inputs[2] = { "x", "w" }, *outputs[1] = { "y" };
    struct onnx_value_info x = { .name = "x", .type = ONNX_FLOAT, .rank = 2, .has_shape = true };
    x.dims[0] = rows;
    x.dims[1] = columns;
    struct onnx_value_info y = x;
    y.name = "y";
    struct onnx_tensor weight = { .name = "w", .type = ONNX_FLOAT, .rank = 2, .data = w };
    weight.dims[0] = weight.dims[1] = columns;
    weight.bytes = (uint64_t)columns * (uint64_t)columns * sizeof(float);
    struct onnx_node node = { .op = op, .domain = "", .name = "peak", .version = 13 };
    node.inputs = inputs;
    node.input_count = w ? 2 : 1;
    node.outputs = outputs;
    node.output_count = 1;
    struct onnx_model model = { .nodes = &node, .node_count = 1, .initializers = &weight };
    model.initializer_count = w ? 1 : 0;
    model.inputs = &x;
    model.outputs = &y;
    model.input_count = model.output_count = 1;
    return fastest_ms(session, &model);
}

void tools_peaks_measure(struct tools_session *session, struct tools_peaks *out)
{
    float *weight = calloc((size_t)PEAK_PRODUCT * PEAK_PRODUCT, sizeof(*weight));
    double product = weight ? fastest_of(session, "MatMul", PEAK_PRODUCT, PEAK_PRODUCT, weight) : 0;
    double copy = fastest_of(session, "Identity", PEAK_COPY / 4096, 4096, NULL);
    free(weight);
    out->flops = product > 0 ? 2.0 * PEAK_PRODUCT * PEAK_PRODUCT * PEAK_PRODUCT / product * 1e3 : 0;
    out->bytes = copy > 0 ? 2.0 * PEAK_COPY * sizeof(float) / copy * 1e3 : 0;
}

/* ---- the file ---- */

struct sink {
    FILE *file;
    uint32_t events, steps;
};

static void STDMETHODCALLTYPE take_event(void *context, const struct anydml_trace_event *event)
{
    struct sink *sink = context;
    fprintf(sink->file, "%s\n%s", sink->events++ ? "," : "", event->Json);
    sink->steps += strcmp(event->Category, "step") == 0;
}

static void print_head(FILE *file, const struct tools_program *p, const struct tools_peaks *peaks)
{
    fputs("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"device\":", file);
    tools_json_string(file, p->session->info.name);
    fprintf(file,
            ",\"peak_gflops\":%.6g,\"peak_gb_per_s\":%.6g,"
            "\"peaks\":\"measured: a float32 GEMM of %d x %d matrices, a copy of 64 MiB\"},\"traceEvents\":[",
            peaks->flops / 1e9, peaks->bytes / 1e9, PEAK_PRODUCT, PEAK_PRODUCT);
}

bool tools_trace_write(struct tools_program *p, const char *path, struct tools_trace *out, struct tools_error *error)
{
    IDMLDevice *dml = (IDMLDevice *)p->session->device->dml;
    tools_peaks_measure(p->session, &out->peaks);
    struct tools_output output;
    if (!tools_output_open(&output, path, error))
        return false;
    struct sink sink = { .file = output.file };
    struct anydml_trace trace = { take_event, &sink, out->peaks.flops, out->peaks.bytes };
    print_head(sink.file, p, &out->peaks);
    bool ok = tools_program_run(p, &out->ms, error) &&
              tools_check(error, AnydmlSetTrace(dml, &trace), "beginning the trace") &&
              tools_program_run(p, &out->ms, error);
    AnydmlSetTrace(dml, NULL);
    fputs("\n]}\n", sink.file);
    out->steps = sink.steps;
    return tools_output_close(&output, ok, error);
}

void tools_trace_print(const struct tools_trace *trace, const char *path)
{
    printf("trace   %u steps in %.3f ms -> %s", trace->steps, trace->ms, path);
    if (trace->peaks.flops > 0 && trace->peaks.bytes > 0)
        printf("; peaks %.0f GFLOP/s and %.1f GB/s", trace->peaks.flops / 1e9, trace->peaks.bytes / 1e9);
    printf("\n");
}
