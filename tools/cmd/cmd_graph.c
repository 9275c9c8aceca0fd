/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cmd/cmd.h"
#include "tools/cmd/graph.h"
#include "tools/output.h"
#include "tools/program.h"
#include "tools/progress.h"
#include "tools/shapes.h"

#include <anydml.h>

#include <stdlib.h>

const char tools_help_graph[] =
    "usage: anydml graph MODEL.onnx [--text|--svg] [--before|--after] [-o FILE] [OPTIONS]\n\n"
    "Compiles the model and shows the result of the graph compiler: operators in the order of execution, the types,\n"
    "sizes and strides of their tensors, the kernel of each, and the memory and lifetimes of temporary tensors.\n\n"
    "  --text                 as text; the default\n"
    "  --svg                  as an image for browsers\n"
    "  --before               the graph before optimisation\n"
    "  --after                the graph after all passes, with its plan; the default\n"
    "  -o, --output FILE      the file to write; default: standard output\n"
    "  --device N|cpu|vulkan  which device: its number (anydml devices), or its adapter; default 0\n"
    "  --threads N            worker threads of the cpu device; default: one per CPU\n"
    "  --input-shape NAME=1x3x224x224\n"
    "                         sizes of an input with free dimensions; may be repeated\n"
    "  --fp16-compute         allow 16-bit factors in GEMMs and convolutions, also for float32\n"
    "  --owned-weights        bind weights at initialisation, as other programs that use DirectML do, instead of\n"
    "                         making them constants of the graph (cpu devices)\n\n"
    "ANYDML_DISABLE_PASS=name,name disables passes.\n";

enum {
    GRAPH_OPTION_OUTPUT = TOOLS_OPTION_OWN,
    GRAPH_OPTION_TEXT,
    GRAPH_OPTION_SVG,
    GRAPH_OPTION_BEFORE,
    GRAPH_OPTION_AFTER,
    GRAPH_OPTION_SHAPE,
    GRAPH_OPTION_FP16,
    GRAPH_OPTION_OWNED,
};

struct graph_command {
    const char *path, *output;
    bool text, svg, before, after, own_weights;
    uint32_t device;
    struct tools_shapes given;
    DML_EXECUTION_FLAGS flags;
    char *graph, *plan; /* texts; NULL: none */
};

static bool graph_take(void *context, int option, const char *value, struct tools_error *error)
{
    struct graph_command *g = context;
    switch (option) {
    case 'o':
    case GRAPH_OPTION_OUTPUT:
        g->output = value;
        return true;
    case GRAPH_OPTION_TEXT:
        g->text = true;
        break;
    case GRAPH_OPTION_SVG:
        g->svg = true;
        break;
    case GRAPH_OPTION_BEFORE:
        g->before = true;
        break;
    case GRAPH_OPTION_AFTER:
        g->after = true;
        break;
    case GRAPH_OPTION_SHAPE:
        return tools_shapes_take(&g->given, value, error);
    case GRAPH_OPTION_OWNED:
        g->own_weights = true;
        return true;
    default:
        g->flags = ANYDML_EXECUTION_FLAG_HALF_PRECISION_FLOAT32;
        return true;
    }
    return (!(g->text && g->svg) || tools_fail(error, TOOLS_USAGE, "--text and --svg exclude each other")) &&
           (!(g->before && g->after) || tools_fail(error, TOOLS_USAGE, "--before and --after exclude each other"));
}

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), end = strlen(ending);
    return length >= end && strcmp(text + length - end, ending) == 0;
}

/* The model's graph is compiled last, and one operator for each value that must be known while it is built first. */
static void STDMETHODCALLTYPE graph_event(void *context, const struct anydml_trace_event *event)
{
    struct graph_command *g = context;
    char **kept = NULL;
    if (strcmp(event->Category, "plan") == 0)
        kept = &g->plan;
    else if (strcmp(event->Category, "graph") == 0 &&
             ends_with(event->Name, g->before ? "before passes" : "after passes"))
        kept = &g->graph;
    if (!kept)
        return;
    free(*kept);
    *kept = strdup(event->Text);
}

static bool graph_compile_in(struct graph_command *g, struct tools_session *session, const struct onnx_model *model,
                             struct tools_error *error)
{
    struct onnx_input *shapes = calloc(model->input_count + 1, sizeof(*shapes));
    struct anydml_trace trace = { .Event = graph_event, .Context = g };
    struct onnx_program *compiled = NULL;
    double ms;
    session->own_weights = g->own_weights;
    bool ok = (shapes || tools_fail_memory(error)) && tools_shapes_of(&g->given, model, shapes, NULL, error) &&
              tools_check(error, AnydmlSetTrace((IDMLDevice *)session->device->dml, &trace), "beginning the trace") &&
              tools_compile(session, model, shapes, g->flags, &compiled, &ms, error);
    AnydmlSetTrace((IDMLDevice *)session->device->dml, NULL);
    if (!ok && error->parts) {
        struct tools_error why = *error;
        tools_fail(error, TOOLS_USAGE, "%s runs as several graphs, which cannot be shown: %.500s", g->path, why.text);
    }
    if (ok && !g->graph)
        ok = tools_fail(error, TOOLS_USAGE, "%s: all outputs are constant: there is no graph to show", g->path);
    onnx_program_destroy(compiled);
    free(shapes);
    return ok;
}

static bool graph_compile(struct graph_command *g, struct tools_error *error)
{
    struct onnx_model *model;
    struct tools_session *session = NULL;
    if (!tools_model_load(g->path, &model, error))
        return false;
    tools_progress("compiling");
    bool ok = (!g->output || tools_output_check(g->output, error)) &&
              tools_session_create(g->device, &session, error) && graph_compile_in(g, session, model, error);
    tools_session_destroy(session);
    onnx_model_destroy(model);
    if (g->before) {
        free(g->plan);
        g->plan = NULL;
    }
    return ok;
}

static bool graph_print(const struct graph_command *g, FILE *file, struct tools_error *error)
{
    struct graph_picture picture;
    char title[1024];
    if (!g->svg) {
        fputs(g->graph, file);
        fputs(g->plan ? g->plan : "", file);
        return true;
    }
    snprintf(title, sizeof(title), "%s, %s", g->path, g->before ? "before passes" : "after passes");
    if (!tools_graph_read(g->graph, g->plan, &picture, error))
        return false;
    tools_graph_draw(&picture, title, file);
    tools_graph_finish(&picture);
    return true;
}

static bool graph_write(const struct graph_command *g, struct tools_error *error)
{
    struct tools_output output;
    if (g->output)
        return tools_output_open(&output, g->output, error) &&
               tools_output_close(&output, graph_print(g, output.file, error), error);
    return graph_print(g, stdout, error) && ((fflush(stdout) == 0 && !ferror(stdout)) ||
                                             tools_fail(error, TOOLS_RUNTIME, "standard output could not be written"));
}

int tools_cmd_graph(int argc, char **argv)
{
    static const struct option table[] = {
        { "help", no_argument, NULL, TOOLS_OPTION_HELP },
        { "device", required_argument, NULL, TOOLS_OPTION_DEVICE },
        { "threads", required_argument, NULL, TOOLS_OPTION_THREADS },
        { "output", required_argument, NULL, GRAPH_OPTION_OUTPUT },
        { "text", no_argument, NULL, GRAPH_OPTION_TEXT },
        { "svg", no_argument, NULL, GRAPH_OPTION_SVG },
        { "before", no_argument, NULL, GRAPH_OPTION_BEFORE },
        { "after", no_argument, NULL, GRAPH_OPTION_AFTER },
        { "input-shape", required_argument, NULL, GRAPH_OPTION_SHAPE },
        { "fp16-compute", no_argument, NULL, GRAPH_OPTION_FP16 },
        { "owned-weights", no_argument, NULL, GRAPH_OPTION_OWNED },
        { 0 },
    };
    struct graph_command g = { 0 };
    struct tools_options options = {
        .table = table,
        .help = tools_help_graph,
        .shorts = ":o:",
        .take = graph_take,
        .context = &g,
        .operands = 1,
        .operand_name = "the model",
    };
    struct tools_error error;
    if (!tools_options_parse(&options, argc, argv, &error))
        return tools_report("anydml graph", &error);
    if (options.helped)
        return 0;
    g.path = options.operand;
    g.device = options.device;
    bool ok = graph_compile(&g, &error);
    tools_progress_stop();
    ok = ok && graph_write(&g, &error);
    free(g.graph);
    free(g.plan);
    return ok ? 0 : tools_report("anydml graph", &error);
}
