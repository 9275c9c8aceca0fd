/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cmd/cmd.h"
#include "tools/progress.h"
#include "tools/cmd/run.h"
#include "tools/cmd/telemetry.h"
#include "tools/text.h"

#include <anydml.h>
#include <errno.h>
#include <stdlib.h>

const char tools_help_run[] =
    "usage: anydml run MODEL.onnx --input [NAME=]FILE ... [OPTIONS]\n\n"
    "Runs the model once and prints its inputs, its outputs and the time. FILE is .npy, .png or .jpg. Files without a\n"
    "NAME are assigned to the inputs (outputs) in the model's order. Free dimensions get the sizes of the given\n"
    "input. One input may be a folder: the model runs once for each file in it, and outputs are folders with files of\n"
    "the same names. Or it may be a video (.mp4, .mkv, .webm, .mov, .avi), which requires the program ffmpeg: the\n"
    "model runs once for each frame, and outputs are videos, or folders of images.\n\n"
    "  --input [NAME=]FILE    an input; may be repeated\n"
    "  --output [NAME=]FILE   the file for an output; may be repeated\n"
    "  --device N|cpu|vulkan  which device: its number (anydml devices), or its adapter; default 0\n"
    "  --threads N            worker threads of the cpu device; default: one per CPU\n"
    "  --repeat N             run N times and print the median\n"
    "  --labels FILE          print the top five of the first output; line n + 1 of FILE names class n\n"
    "  --fp16-compute         allow 16-bit factors in GEMMs and convolutions, also for float32\n"
    "  --owned-weights        bind weights at initialisation, as other programs that use DirectML do, instead of\n"
    "                         making them constants of the graph (cpu devices)\n"
    "  --trace FILE           write a Chrome trace of one more run: its steps with kernels, shapes and speed\n\n"
    "Images are resized (antialiased bicubic) to the model's height and width, and converted to luma if the input has\n"
    "one channel. value = (pixel in RANGE - mean) / std:\n"
    "  --range LOW..HIGH      default 0..1; 0..255 for uint8 inputs. Applied inversely to output images\n"
    "  --mean M[,M,M]         default 0\n"
    "  --std S[,S,S]          default 1\n"
    "  --layout nchw|nhwc     the position of the channels; default nchw\n";

enum {
    RUN_OPTION_INPUT = TOOLS_OPTION_OWN,
    RUN_OPTION_OUTPUT,
    RUN_OPTION_REPEAT,
    RUN_OPTION_LABELS,
    RUN_OPTION_FP16,
    RUN_OPTION_OWNED,
    RUN_OPTION_TRACE,
    RUN_OPTION_RANGE,
    RUN_OPTION_MEAN,
    RUN_OPTION_STD,
    RUN_OPTION_LAYOUT,
};

static bool run_take_file(const char **files, uint32_t *count, const char *value, struct tools_error *error)
{
    if (*count == RUN_FILES_MAX)
        return tools_fail(error, TOOLS_USAGE, "more than %d files", RUN_FILES_MAX);
    files[(*count)++] = value;
    return true;
}

static bool run_take_range(struct run *run, const char *value, struct tools_error *error)
{
    double low, high;
    char text[64];
    snprintf(text, sizeof(text), "%s", value);
    char *dots = strstr(text, "..");
    if (dots)
        *dots = 0;
    if (!dots || !tools_parse_double(text, &low) || !tools_parse_double(dots + 2, &high) || low >= high)
        return tools_fail(error, TOOLS_USAGE, "--range must be LOW..HIGH, such as 0..255, not '%s'", value);
    run->picture.low = (float)low;
    run->picture.high = (float)high;
    run->has_range = true;
    return true;
}

static bool run_take_std(struct run *run, const char *value, struct tools_error *error)
{
    float *std = run->picture.std;
    if (!tools_parse_triple(value, std) || std[0] == 0 || std[1] == 0 || std[2] == 0)
        return tools_fail(error, TOOLS_USAGE, "--std must be 1 or 3 numbers other than 0, not '%s'", value);
    return true;
}

static bool run_take(void *context, int option, const char *value, struct tools_error *error)
{
    struct run *run = context;
    uint64_t number;
    switch (option) {
    case RUN_OPTION_INPUT:
        return run_take_file(run->inputs, &run->input_count, value, error);
    case RUN_OPTION_OUTPUT:
        return run_take_file(run->outputs, &run->output_count, value, error);
    case RUN_OPTION_REPEAT:
        if (!tools_parse_uint(value, 1, 1000000, &number))
            return tools_fail(error, TOOLS_USAGE, "--repeat must be a number from 1 to 1000000, not '%s'", value);
        run->repeat = (uint32_t)number;
        return true;
    case RUN_OPTION_LABELS:
        run->labels = value;
        return true;
    case RUN_OPTION_OWNED:
        run->own_weights = true;
        return true;
    case RUN_OPTION_FP16:
        run->flags = ANYDML_EXECUTION_FLAG_HALF_PRECISION_FLOAT32;
        return true;
    case RUN_OPTION_TRACE:
        run->trace_path = value;
        return true;
    case RUN_OPTION_RANGE:
        return run_take_range(run, value, error);
    case RUN_OPTION_MEAN:
        return tools_parse_triple(value, run->picture.mean) ||
               tools_fail(error, TOOLS_USAGE, "--mean must be 1 or 3 numbers, not '%s'", value);
    case RUN_OPTION_STD:
        return run_take_std(run, value, error);
    default:
        run->picture.nhwc = strcmp(value, "nhwc") == 0;
        return run->picture.nhwc || strcmp(value, "nchw") == 0 ||
               tools_fail(error, TOOLS_USAGE, "--layout must be nchw or nhwc, not '%s'", value);
    }
}

static bool run_check_labels(const struct run *run, struct tools_error *error)
{
    FILE *file = run->labels ? fopen(run->labels, "rb") : NULL;
    if (run->labels && !file)
        return tools_fail(error, TOOLS_USAGE, "cannot read %s: %s", run->labels, strerror(errno));
    if (file)
        fclose(file);
    return true;
}

/* If shapes depend on the values of inputs, the program is compiled for those values. */
static bool run_compile(struct run *run, struct onnx_program **out, struct tools_error *error)
{
    run->session->own_weights = run->own_weights;
    for (;;) {
        bool again = false;
        if (tools_compile(run->session, run->model, run->shapes, run->flags, out, &run->compile_ms, error))
            return true;
        for (uint32_t i = 0; i < run->model->input_count; i++) {
            again = again || (run->shapes[i].wanted && !run->shapes[i].data);
            if (run->shapes[i].wanted)
                run->shapes[i].data = run->arrays[i].data;
        }
        if (!again)
            return false;
    }
}

bool tools_run_compile(struct run *run, struct tools_error *error)
{
    struct onnx_program *compiled;
    bool whole = run_compile(run, &compiled, error);
    if (!whole && !error->parts)
        return false;
    tools_progress("initialising");
    if (whole ? !tools_program_create(run->session, compiled, &run->program, error)
              : !tools_program_create_flow(run->session, run->model, run->shapes, run->flags, &run->program, error))
        return false;
    if (!tools_program_watch(run->program, 1, error))
        return false;
    for (uint32_t i = 0; i < run->model->input_count; i++)
        if (!tools_program_set_input(run->program, i, &run->arrays[i], error))
            return false;
    return true;
}

static bool run_prepare(struct run *run, struct tools_error *error)
{
    tools_progress("reading");
    if (!run_check_labels(run, error) || !tools_run_load(run, error) ||
        !tools_session_create(run->device, &run->session, error))
        return false;
    tools_progress("compiling");
    return tools_run_compile(run, error);
}

static bool run_execute(struct run *run, struct tools_error *error)
{
    double *host = calloc(run->repeat, sizeof(*host)), *device = calloc(run->repeat, sizeof(*device));
    bool ok = (host && device) || tools_fail_memory(error);
    tools_progress("running");
    for (uint32_t i = 0; ok && i < run->repeat; i++) {
        tools_progress_count(i, run->repeat);
        ok = tools_program_run(run->program, &host[i], error);
        device[i] = tools_program_device_ms(run->program);
    }
    if (ok) {
        run->host_ms = tools_percentile(host, run->repeat, 0.5);
        run->fastest_ms = host[0];
        run->device_ms = tools_percentile(device, run->repeat, 0.5);
    }
    free(host);
    free(device);
    return ok && (!run->trace_path || tools_trace_write(run->program, run->trace_path, &run->trace, error));
}

static void run_print(const struct run *run)
{
    char shape[256];
    printf("device  %u  %s\n", run->device, run->session->info.name);
    for (uint32_t i = 0; i < run->model->input_count; i++)
        printf(
            "input   %s  %s <- %s\n", run->model->inputs[i].name,
            tools_shape_text(shape, sizeof(shape), run->arrays[i].type, run->arrays[i].rank, run->arrays[i].dims, NULL),
            run->input_files[i]);
}

static void run_print_time(const struct run *run)
{
    printf("time    %.3f ms (on the device %.3f ms)", run->host_ms, run->device_ms);
    if (run->repeat > 1)
        printf(", median of %u, fastest %.3f ms", run->repeat, run->fastest_ms);
    printf("; compiling %.1f ms, initialising %.1f ms\n", run->compile_ms, run->program->initialize_ms);
    if (run->trace_path)
        tools_trace_print(&run->trace, run->trace_path);
}

static void run_finish(struct run *run)
{
    tools_program_destroy(run->program);
    tools_session_destroy(run->session);
    for (uint32_t i = 0; run->arrays && i < run->model->input_count; i++)
        tools_array_finish(&run->arrays[i]);
    tools_run_folder_finish(run);
    free(run->arrays);
    free(run->shapes);
    free(run->input_files);
    free(run->output_files);
    if (run->model)
        onnx_model_destroy(run->model);
}

int tools_cmd_run(int argc, char **argv)
{
    static const struct option table[] = {
        { "help", no_argument, NULL, TOOLS_OPTION_HELP },
        { "device", required_argument, NULL, TOOLS_OPTION_DEVICE },
        { "threads", required_argument, NULL, TOOLS_OPTION_THREADS },
        { "input", required_argument, NULL, RUN_OPTION_INPUT },
        { "output", required_argument, NULL, RUN_OPTION_OUTPUT },
        { "repeat", required_argument, NULL, RUN_OPTION_REPEAT },
        { "labels", required_argument, NULL, RUN_OPTION_LABELS },
        { "fp16-compute", no_argument, NULL, RUN_OPTION_FP16 },
        { "owned-weights", no_argument, NULL, RUN_OPTION_OWNED },
        { "trace", required_argument, NULL, RUN_OPTION_TRACE },
        { "range", required_argument, NULL, RUN_OPTION_RANGE },
        { "mean", required_argument, NULL, RUN_OPTION_MEAN },
        { "std", required_argument, NULL, RUN_OPTION_STD },
        { "layout", required_argument, NULL, RUN_OPTION_LAYOUT },
        { 0 },
    };
    struct run run = { .repeat = 1, .picture = { .high = 1, .std = { 1, 1, 1 } } };
    struct tools_options options = {
        .table = table,
        .help = tools_help_run,
        .take = run_take,
        .context = &run,
        .operands = 1,
        .operand_name = "the model",
    };
    struct tools_error error;
    if (!tools_options_parse(&options, argc, argv, &error))
        return tools_report("anydml run", &error);
    if (options.helped)
        return 0;
    run.path = options.operand;
    run.device = options.device;
    bool ok =
        run_prepare(&run, &error) && (run.folder.path ? tools_run_folder(&run, &error) : run_execute(&run, &error));
    tools_progress_stop();
    if (ok && !run.folder.path) {
        run_print(&run);
        ok = tools_run_store(&run, &error);
        if (ok)
            run_print_time(&run);
    }
    if (ok)
        tools_telemetry_record(run.session->info.kind);
    run_finish(&run);
    return ok ? 0 : tools_report("anydml run", &error);
}
