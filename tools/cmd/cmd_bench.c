/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cmd/cmd.h"
#include "tools/cmd/compare.h"
#include "tools/output.h"
#include "tools/cmd/profile.h"
#include "tools/progress.h"
#include "tools/shapes.h"
#include "tools/cmd/telemetry.h"
#include "tools/text.h"
#include "tools/trace.h"

#include <anydml.h>
#include <stdlib.h>
#include <sys/resource.h>

#define BENCH_RUNS_MAX 100000
#define BENCH_RUNS_MIN 5
#define WARM_MS        500.0 /* at most; idle CPUs and GPUs have low clocks */

const char tools_help_bench[] =
    "usage: anydml bench MODEL.onnx [OPTIONS]\n"
    "       anydml bench MODEL.onnx --devices all [OPTIONS]\n"
    "       anydml bench --compare MODEL.onnx ... [--seconds S] [--threads N] [--python LIST] [--json]\n\n"
    "Runs the model on random inputs (always the same) and prints the time of one execution, the times of compilation\n"
    "and initialisation, and the memory in use. An execution has three times: 'run' includes copies of inputs and\n"
    "outputs to the device and back; 'no copies' uses tensors that are on the device already; 'on device' is measured\n"
    "by the device's own timestamps, the others by the host's clock. The cpu device computes in host memory.\n\n"
    "  --device N|cpu|vulkan  which device: its number (anydml devices), or its adapter; default 0\n"
    "  --devices all          every device in turn: a table of their times\n"
    "  --threads N            worker threads of the cpu device; default: one per CPU\n"
    "  --seconds S            duration of the measurement, at least 5 runs; default 3\n"
    "  --input-shape NAME=1x3x224x224\n"
    "                         sizes of an input with free dimensions, which are 1 otherwise; may be\n"
    "                         repeated\n"
    "  --in-a-row N           report device time averaged over N consecutive executions; default 1\n"
    "  --fp16-compute         allow 16-bit factors in GEMMs and convolutions, also for float32\n"
    "  --owned-weights        bind weights at initialisation, as other programs that use DirectML do, instead of\n"
    "                         making them constants of the graph (cpu devices)\n"
    "  --trace FILE           write a Chrome trace of one more run: its steps with kernels, shapes and speed\n"
    "  --profile              print the ten slowest steps, and whether arithmetic or memory bandwidth bounds each:\n"
    "                         the one that would take longer at the machine's peak rate\n"
    "  --json                 print one JSON object\n\n"
    "  --compare              compare the cpu device with ONNX Runtime, OpenVINO and PyTorch, where Python can import\n"
    "                         them: all pinned to the same CPUs and taking turns\n"
    "  --python LIST          Python interpreters, separated by ':', that are searched for these packages; default:\n"
    "                         the environment variable ANYDML_PYTHON, or else python3\n";

const char tools_help_profile[] =
    "usage: anydml profile MODEL.onnx [OPTIONS]\n\n"
    "Runs the model on random inputs and prints the ten slowest steps, and whether arithmetic or memory bandwidth\n"
    "bounds each: the one that would take longer at the machine's peak rate. 'cache': the data of the step was read\n"
    "faster than memory allows. Convolutions may exceed 100 % of the peak: Winograd's algorithm needs fewer\n"
    "operations than those that are counted.\n\n"
    "  --device N|cpu|vulkan  which device: its number (anydml devices), or its adapter; default 0\n"
    "  --threads N            worker threads of the cpu device; default: one per CPU\n"
    "  --input-shape NAME=1x3x224x224\n"
    "                         sizes of an input with free dimensions, which are 1 otherwise; may be\n"
    "                         repeated\n"
    "  --fp16-compute         allow 16-bit factors in GEMMs and convolutions, also for float32\n"
    "  --owned-weights        bind weights at initialisation, as other programs that use DirectML do, instead of\n"
    "                         making them constants of the graph (cpu devices)\n"
    "  --trace FILE           write a Chrome trace of all steps of one run\n";

enum {
    BENCH_OPTION_SECONDS = TOOLS_OPTION_OWN,
    BENCH_OPTION_SHAPE,
    BENCH_OPTION_ROW,
    BENCH_OPTION_FP16,
    BENCH_OPTION_OWNED,
    BENCH_OPTION_TRACE,
    BENCH_OPTION_PROFILE,
    BENCH_OPTION_DEVICES,
    BENCH_OPTION_COMPARE,
    BENCH_OPTION_PYTHON,
};

struct bench {
    double seconds;
    uint64_t in_a_row;
    struct tools_shapes given;
    DML_EXECUTION_FLAGS flags;
    const char *trace_path, *python;
    bool compare, own_weights, profiled, every, steps_only; /* steps_only: restricts the output */
    struct onnx_model *model;
    struct tools_session *session;
    struct tools_program *program;
    struct tools_trace trace;
    struct tools_profile profile;
    bool ones; /* free sizes are set to 1 */
    double compile_ms, first_ms;
    double *runs;
    uint32_t run_count;
    double bare_ms, device_ms; /* medians; negative: not measured */
};

static bool bench_take(void *context, int option, const char *value, struct tools_error *error)
{
    struct bench *b = context;
    switch (option) {
    case BENCH_OPTION_SECONDS:
        if (!tools_parse_double(value, &b->seconds) || b->seconds < 0 || b->seconds > 86400)
            return tools_fail(error, TOOLS_USAGE, "--seconds must be a number from 0 to 86400, not '%s'", value);
        return true;
    case BENCH_OPTION_ROW:
        if (!tools_parse_uint(value, 1, 1000, &b->in_a_row))
            return tools_fail(error, TOOLS_USAGE, "--in-a-row must be a number from 1 to 1000, not '%s'", value);
        return true;
    case BENCH_OPTION_SHAPE:
        return tools_shapes_take(&b->given, value, error);
    case BENCH_OPTION_TRACE:
        b->trace_path = value;
        return true;
    case BENCH_OPTION_DEVICES:
        b->every = true;
        return !strcmp(value, "all") || tools_fail(error, TOOLS_USAGE, "--devices must be 'all', not '%s'", value);
    case BENCH_OPTION_PROFILE:
        b->profiled = true;
        return true;
    case BENCH_OPTION_COMPARE:
        b->compare = true;
        return true;
    case BENCH_OPTION_PYTHON:
        b->python = value;
        return true;
    case BENCH_OPTION_OWNED:
        b->own_weights = true;
        return true;
    default:
        b->flags = ANYDML_EXECUTION_FLAG_HALF_PRECISION_FLOAT32;
        return true;
    }
}

/* ---- inputs ---- */

static bool bench_compile(struct bench *b, struct onnx_input *shapes, struct tools_error *error)
{
    struct onnx_program *compiled = NULL;
    tools_progress("compiling");
    bool whole = tools_compile(b->session, b->model, shapes, b->flags, &compiled, &b->compile_ms, error);
    if (!whole && !error->parts)
        return false;
    tools_progress("initialising");
    return whole ? tools_program_create(b->session, compiled, &b->program, error)
                 : tools_program_create_flow(b->session, b->model, shapes, b->flags, &b->program, error);
}

/* ---- measuring ---- */

static bool bench_prepare(struct bench *b, const char *path, uint32_t device, struct tools_error *error)
{
    if (!tools_model_load(path, &b->model, error) || (b->trace_path && !tools_output_check(b->trace_path, error)))
        return false;
    struct onnx_input *shapes = calloc(b->model->input_count + 1, sizeof(*shapes));
    if (!shapes)
        return tools_fail_memory(error);
    bool ok = tools_shapes_of(&b->given, b->model, shapes, &b->ones, error) &&
              tools_session_create(device, &b->session, error);
    if (ok)
        b->session->own_weights = b->own_weights;
    ok = ok && bench_compile(b, shapes, error);
    free(shapes);
    return ok && tools_program_fill(b->program, error);
}

/* The median of repeats in half of the time for runs: by the host's clock, or for `device` by timestamps. */
static bool bench_repeat(struct bench *b, bool device, double *out, struct tools_error *error)
{
    double *times = calloc(BENCH_RUNS_MAX, sizeof(*times)), start = tools_now_ms();
    bool ok = times || tools_fail_memory(error);
    uint32_t count = 0;
    while (ok && count < BENCH_RUNS_MAX && (count < BENCH_RUNS_MIN || tools_now_ms() - start < b->seconds * 1e3 / 2)) {
        ok = tools_program_repeat(b->program, &times[count], error);
        if (device)
            times[count] = tools_program_device_ms(b->program);
        count++;
    }
    if (ok)
        *out = tools_percentile(times, count, 0.5);
    free(times);
    return ok;
}

static bool bench_parts(struct bench *b, struct tools_error *error)
{
    b->bare_ms = b->device_ms = -1;
    return !tools_program_repeats(b->program) || (bench_repeat(b, false, &b->bare_ms, error) &&
                                                  tools_program_watch(b->program, (uint32_t)b->in_a_row, error) &&
                                                  bench_repeat(b, true, &b->device_ms, error));
}

/* The first run faults memory in: it is a warm-up and reported separately. */
static bool bench_measure(struct bench *b, struct tools_error *error)
{
    b->runs = calloc(BENCH_RUNS_MAX, sizeof(*b->runs));
    if (!b->runs)
        return tools_fail_memory(error);
    tools_progress("warming up");
    double start = tools_now_ms(), warm = b->steps_only ? WARM_MS : BASE_MIN(b->seconds * 1e3 / 10, WARM_MS);
    if (!tools_program_run(b->program, &b->first_ms, error))
        return false;
    for (double ms; tools_now_ms() - start < warm;)
        if (!tools_program_run(b->program, &ms, error))
            return false;
    tools_progress("measuring");
    start = tools_now_ms();
    while (!b->steps_only && b->run_count < BENCH_RUNS_MAX &&
           (b->run_count < BENCH_RUNS_MIN || tools_now_ms() - start < b->seconds * 1e3)) {
        if (!tools_program_run(b->program, &b->runs[b->run_count], error))
            return false;
        b->run_count++;
    }
    if (!b->steps_only && !bench_parts(b, error))
        return false;
    tools_progress("tracing");
    return (!b->trace_path || tools_trace_write(b->program, b->trace_path, &b->trace, error)) &&
           (!b->profiled || tools_profile_measure(b->program, &b->profile, error));
}

static void bench_print_steps(const struct bench *b)
{
    printf("device      %s\n", b->session->info.name);
    if (b->trace_path)
        tools_trace_print(&b->trace, b->trace_path);
    tools_profile_print(&b->profile);
}

static void bench_print(const struct bench *b, const char *path, bool json)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double median = tools_percentile(b->runs, b->run_count, 0.5), p90 = tools_percentile(b->runs, b->run_count, 0.9);
    double p99 = tools_percentile(b->runs, b->run_count, 0.99), peak = (double)usage.ru_maxrss * 1024;
    const struct tools_program *p = b->program;
    if (json) {
        printf("{\"model\": ");
        tools_json_string(stdout, path);
        printf(", \"device\": ");
        tools_json_string(stdout, b->session->info.name);
        printf(", \"median_ms\": %.6g, \"p90_ms\": %.6g, \"p99_ms\": %.6g, \"min_ms\": %.6g, ", median, p90, p99,
               b->runs[0]);
        printf("\"first_ms\": %.6g, \"runs\": %u, ", b->first_ms, b->run_count);
        if (b->bare_ms >= 0)
            printf("\"no_copies_ms\": %.6g, \"device_ms\": %.6g, ", b->bare_ms, b->device_ms);
        printf("\"compile_ms\": %.6g, \"initialize_ms\": %.6g, \"nodes\": %u, ", b->compile_ms, p->initialize_ms,
               p->onnx->node_count);
        printf("\"temporary_bytes\": %llu, \"persistent_bytes\": %llu, \"peak_rss_bytes\": %.0f}\n",
               (unsigned long long)p->temporary_bytes, (unsigned long long)p->persistent_bytes, peak);
        return;
    }
    printf("device      %s\n", b->session->info.name);
    printf("run         %.3f ms median, %.3f ms p90, %.3f ms p99, %.3f ms min of %u runs (first %.3f ms)\n", median,
           p90, p99, b->runs[0], b->run_count, b->first_ms);
    if (b->bare_ms >= 0) {
        printf("no copies   %.3f ms median\n", b->bare_ms);
        printf("on device   %.3f ms median, by its timestamps\n", b->device_ms);
    }
    printf("compile     %.1f ms (%u nodes)\n", b->compile_ms, p->onnx->node_count);
    printf("initialise  %.1f ms\n", p->initialize_ms);
    printf("memory      %.1f MiB temporary, %.1f MiB persistent, %.1f MiB peak of the process\n",
           (double)p->temporary_bytes / 1048576, (double)p->persistent_bytes / 1048576, peak / 1048576);
    if (b->trace_path)
        tools_trace_print(&b->trace, b->trace_path);
    if (b->profiled)
        tools_profile_print(&b->profile);
}

static void bench_finish(struct bench *b)
{
    tools_progress_stop();
    tools_profile_finish(&b->profile);
    tools_program_destroy(b->program);
    tools_session_destroy(b->session);
    if (b->model)
        onnx_model_destroy(b->model);
    free(b->runs);
}

/* ---- every device ---- */

static void bench_print_row(const struct bench *b)
{
    printf("%6u  %-4s %11.3f %11.3f", b->session->index, b->session->info.kind,
           tools_percentile(b->runs, b->run_count, 0.5), tools_percentile(b->runs, b->run_count, 0.9));
    if (b->bare_ms >= 0)
        printf(" %13.3f %13.3f", b->bare_ms, b->device_ms);
    else
        printf(" %13s %13s", "-", "-");
    printf(" %11.1f  %s\n", b->compile_ms, b->session->info.name);
}

/* A device that cannot run the model has a line with the reason; the command fails if none can. */
static bool bench_every(const struct bench *what, const char *path, struct tools_error *error)
{
    uint32_t count, good = 0;
    bool ones = false;
    if (!tools_device_count(&count, error))
        return false;
    printf("%6s  %-4s %11s %11s %13s %13s %11s  %s\n", "device", "kind", "run ms", "p90 ms", "no copies ms",
           "on device ms", "compile ms", "name");
    for (uint32_t i = 0; i < count; i++) {
        struct bench b = *what;
        const bool ok = bench_prepare(&b, path, i, error) && bench_measure(&b, error);
        tools_progress_stop();
        if (ok)
            bench_print_row(&b);
        else if (b.model)
            printf("%6u  %s\n", i, error->text);
        good += ok;
        ones |= b.ones;
        const bool readable = b.model != NULL;
        bench_finish(&b);
        if (!readable)
            return false;
    }
    if (ones)
        fprintf(stderr, "anydml bench: free sizes are set to 1; use --input-shape for others\n");
    return good > 0;
}

static bool bench_compare(const struct bench *b, const struct tools_options *o, struct tools_error *error)
{
    struct tools_compare compare = { b->python, o->threads, b->seconds, o->json, o->all, o->given };
    if (b->given.count || b->trace_path || b->profiled || b->every || b->flags || b->own_weights || o->device_given)
        return tools_fail(
            error, TOOLS_USAGE,
            "--compare can be combined with --seconds, --threads, --python and --json only (anydml bench --help)");
    return tools_compare(&compare, error);
}

static bool bench_options(const struct bench *b, const struct tools_options *o, struct tools_error *error)
{
    if (b->python && !b->compare)
        return tools_fail(error, TOOLS_USAGE, "--python requires --compare (anydml bench --help)");
    if (b->profiled && o->json)
        return tools_fail(error, TOOLS_USAGE, "--profile does not go with --json (anydml bench --help)");
    if (b->every && (o->json || o->device_given || b->profiled || b->trace_path || b->own_weights))
        return tools_fail(error, TOOLS_USAGE,
                          "--devices does not go with --device, --json, --profile, --trace and --owned-weights "
                          "(anydml bench --help)");
    return b->compare || o->given == 1 ||
           tools_fail(error, TOOLS_USAGE, "unexpected argument '%s' (anydml bench --help)", o->all[1]);
}

/* Measures on one device and prints; the exit code. */
static int bench_one(struct bench *b, const struct tools_options *o, const char *command)
{
    struct tools_error error;
    const bool ok = bench_prepare(b, o->operand, o->device, &error) && bench_measure(b, &error);
    tools_progress_stop();
    if (b->ones && ok)
        fprintf(stderr, "%s: free sizes are set to 1; use --input-shape for others\n", command);
    if (b->ones && !ok) {
        struct tools_error why = error;
        tools_fail(&error, why.code, "%.600s (with free sizes set to 1; use --input-shape for others)", why.text);
    }
    if (ok) {
        if (b->steps_only)
            bench_print_steps(b);
        else
            bench_print(b, o->operand, o->json);
        tools_telemetry_record(b->session->info.kind);
    }
    bench_finish(b);
    return ok ? 0 : tools_report(command, &error);
}

int tools_cmd_bench(int argc, char **argv)
{
    static const struct option table[] = {
        { "help", no_argument, NULL, TOOLS_OPTION_HELP },
        { "json", no_argument, NULL, TOOLS_OPTION_JSON },
        { "device", required_argument, NULL, TOOLS_OPTION_DEVICE },
        { "threads", required_argument, NULL, TOOLS_OPTION_THREADS },
        { "seconds", required_argument, NULL, BENCH_OPTION_SECONDS },
        { "input-shape", required_argument, NULL, BENCH_OPTION_SHAPE },
        { "in-a-row", required_argument, NULL, BENCH_OPTION_ROW },
        { "fp16-compute", no_argument, NULL, BENCH_OPTION_FP16 },
        { "owned-weights", no_argument, NULL, BENCH_OPTION_OWNED },
        { "trace", required_argument, NULL, BENCH_OPTION_TRACE },
        { "profile", no_argument, NULL, BENCH_OPTION_PROFILE },
        { "devices", required_argument, NULL, BENCH_OPTION_DEVICES },
        { "compare", no_argument, NULL, BENCH_OPTION_COMPARE },
        { "python", required_argument, NULL, BENCH_OPTION_PYTHON },
        { 0 },
    };
    struct bench b = { .seconds = 3, .in_a_row = 1 };
    struct tools_options options = {
        .table = table,
        .help = tools_help_bench,
        .take = bench_take,
        .context = &b,
        .operands = 1,
        .many = true,
        .operand_name = "the model",
    };
    struct tools_error error;
    if (!tools_options_parse(&options, argc, argv, &error))
        return tools_report("anydml bench", &error);
    if (options.helped)
        return 0;
    if (!bench_options(&b, &options, &error) || (b.compare && !bench_compare(&b, &options, &error)))
        return tools_report("anydml bench", &error);
    if (b.every)
        return bench_every(&b, options.operand, &error) ? 0 : tools_report("anydml bench", &error);
    return bench_one(&b, &options, "anydml bench");
}

int tools_cmd_profile(int argc, char **argv)
{
    static const struct option table[] = {
        { "help", no_argument, NULL, TOOLS_OPTION_HELP },
        { "device", required_argument, NULL, TOOLS_OPTION_DEVICE },
        { "threads", required_argument, NULL, TOOLS_OPTION_THREADS },
        { "input-shape", required_argument, NULL, BENCH_OPTION_SHAPE },
        { "fp16-compute", no_argument, NULL, BENCH_OPTION_FP16 },
        { "owned-weights", no_argument, NULL, BENCH_OPTION_OWNED },
        { "trace", required_argument, NULL, BENCH_OPTION_TRACE },
        { 0 },
    };
    struct bench b = { .in_a_row = 1, .profiled = true, .steps_only = true };
    struct tools_options options = {
        .table = table,
        .help = tools_help_profile,
        .take = bench_take,
        .context = &b,
        .operands = 1,
        .operand_name = "the model",
    };
    struct tools_error error;
    if (!tools_options_parse(&options, argc, argv, &error))
        return tools_report("anydml profile", &error);
    return options.helped ? 0 : bench_one(&b, &options, "anydml profile");
}
