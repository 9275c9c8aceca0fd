/* SPDX-License-Identifier: Apache-2.0 */
/* Time and memory of compiling and initialising one model at several batch sizes on one device, all kept:
 *   compile [--no-run] MODEL.onnx BATCH...
 * --no-run: only compiles, for models whose first run takes long. */
#include "tools/program.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { PROGRAMS_MAX = 16 };

/* Of all threads, in the program and in the system. */
static double processor_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double resident_mb(void)
{
    unsigned long long size, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%llu %llu", &size, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

/* The most that has been resident so far: pages of mapped files count. */
static double peak_mb(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : (double)usage.ru_maxrss * 1024 / 1e6;
}

/* The model's own sizes; its free dimensions and the batch become `batch`. */
static void shapes_of(const struct onnx_model *model, int64_t batch, struct onnx_input *shapes)
{
    for (uint32_t i = 0; i < model->input_count; i++) {
        shapes[i].rank = model->inputs[i].rank;
        for (uint32_t d = 0; d < shapes[i].rank; d++)
            shapes[i].dims[d] = model->inputs[i].dims[d] < 0 ? batch : model->inputs[i].dims[d];
    }
}

/* read: what that took. run: also initialises and runs. */
static bool one(struct tools_session *session, const struct onnx_model *model, int64_t batch, double read, bool run,
                struct tools_program **program, struct tools_error *error)
{
    struct onnx_input *shapes = calloc(model->input_count + 1, sizeof(*shapes));
    struct onnx_program *compiled = NULL;
    double ms = 0, first = 0, begin = processor_ms(), middle = begin;
    bool ok = shapes || tools_fail_memory(error);
    if (ok)
        shapes_of(model, batch, shapes);
    ok = ok && tools_compile(session, model, shapes, DML_EXECUTION_FLAG_NONE, &compiled, &ms, error);
    middle = processor_ms();
    if (ok && !run)
        printf("batch %lld: compile %.1f ms, peak %.1f MB; CPU time: read %.2f ms, compile %.2f ms\n", (long long)batch,
               ms, peak_mb(), read, middle - begin);
    if (!run)
        onnx_program_destroy(compiled);
    else
        ok =
            ok && tools_program_create(session, compiled, program, error) && tools_program_run(*program, &first, error);
    if (ok && run) {
        printf("CPU time: read %.2f ms, compile %.2f ms, initialise and run %.2f ms\n", read, middle - begin,
               processor_ms() - middle);
        malloc_trim(0);
        printf("batch %lld: compile %.1f ms, initialise %.1f ms, run %.1f ms, persistent %.1f MB, resident %.1f MB, "
               "peak %.1f MB\n",
               (long long)batch, ms, (*program)->initialize_ms, first, (double)(*program)->persistent_bytes / 1e6,
               resident_mb(), peak_mb());
    }
    free(shapes);
    return ok;
}

int main(int argc, char **argv)
{
    struct tools_error error = { 0 };
    struct tools_session *session = NULL;
    struct onnx_model *model = NULL;
    struct tools_program *programs[PROGRAMS_MAX] = { NULL };
    const bool run = argc < 2 || strcmp(argv[1], "--no-run") != 0;
    char **arguments = argv + (run ? 1 : 2);
    const int batches = argc - (run ? 2 : 3);
    if (batches < 1 || batches > PROGRAMS_MAX) {
        fprintf(stderr, "usage: %s [--no-run] MODEL.onnx BATCH...\n", argv[0]);
        return 2;
    }
    double begin = processor_ms();
    bool ok = tools_model_load(arguments[0], &model, &error);
    double read = processor_ms() - begin;
    ok = ok && tools_session_create(0, &session, &error);
    if (ok)
        printf("loaded: resident %.1f MB\n", resident_mb());
    for (int i = 0; ok && i < batches; i++)
        ok = one(session, model, strtoll(arguments[i + 1], NULL, 10), read, run, &programs[i], &error);
    if (!ok)
        fprintf(stderr, "%s\n", error.text);
    for (int i = 0; i < PROGRAMS_MAX; i++) {
        tools_program_destroy(programs[i]);
    }
    tools_session_destroy(session);
    onnx_model_destroy(model);
    return ok ? 0 : 1;
}
