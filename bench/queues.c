/* SPDX-License-Identifier: Apache-2.0 */
/* Throughput of several threads, each with a queue and a compiled model of its own on one device:
 *   queues MODEL.onnx THREADS [SECONDS] */
#include "tools/program.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct client {
    pthread_t thread;
    struct tools_program *program;
    uint32_t runs;
};

static atomic_bool stop;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The model's own sizes, 1 for the batch. */
static void shapes_of(const struct onnx_model *model, struct onnx_input *shapes)
{
    for (uint32_t i = 0; i < model->input_count; i++) {
        shapes[i].rank = model->inputs[i].rank;
        for (uint32_t d = 0; d < shapes[i].rank; d++)
            shapes[i].dims[d] = model->inputs[i].dims[d] < 0 ? 1 : model->inputs[i].dims[d];
    }
}

/* One device for all, which stores equal weights once; concurrent runs use separate queues. */
static bool client_create(struct client *client, struct tools_session *session, const struct onnx_model *model,
                          struct onnx_input *shapes, struct tools_error *error)
{
    struct onnx_program *compiled;
    double ms;
    return tools_compile(session, model, shapes, DML_EXECUTION_FLAG_NONE, &compiled, &ms, error) &&
           tools_program_create(session, compiled, &client->program, error);
}

static void *client_main(void *argument)
{
    struct client *client = argument;
    struct tools_error error = { 0 };
    double ms;
    while (!atomic_load(&stop) && tools_program_run(client->program, &ms, &error))
        client->runs++;
    return NULL;
}

static void measure(struct client *clients, uint32_t count, double limit)
{
    uint32_t runs = 0;
    double start = seconds(), cpu = cpu_seconds();
    for (uint32_t i = 0; i < count; i++)
        if (pthread_create(&clients[i].thread, NULL, client_main, &clients[i]))
            exit(1);
    nanosleep(&(struct timespec){ (time_t)limit, (long)((limit - (double)(time_t)limit) * 1e9) }, NULL);
    atomic_store(&stop, true);
    for (uint32_t i = 0; i < count; i++)
        pthread_join(clients[i].thread, NULL);
    double spent = seconds() - start;
    for (uint32_t i = 0; i < count; i++)
        runs += clients[i].runs;
    printf("%u threads: %.2f runs per second, %.2f ms of CPU time each, by thread:", count, runs / spent,
           (cpu_seconds() - cpu) * 1e3 / BASE_MAX(runs, 1));
    for (uint32_t i = 0; i < count; i++)
        printf(" %u", clients[i].runs);
    printf("\n");
}

int main(int argc, char **argv)
{
    struct tools_error error = { 0 };
    struct onnx_model *model = NULL;
    struct tools_session *session = NULL;
    uint32_t count = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    if (!count || count > 64) {
        fprintf(stderr, "usage: %s MODEL.onnx THREADS [SECONDS]\n", argv[0]);
        return 2;
    }
    struct client *clients = calloc(count, sizeof(*clients));
    struct onnx_input *shapes = NULL;
    bool ok = clients && tools_model_load(argv[1], &model, &error) && tools_session_create(0, &session, &error);
    if (ok)
        ok = (shapes = calloc(model->input_count + 1, sizeof(*shapes))) != NULL;
    if (ok)
        shapes_of(model, shapes);
    for (uint32_t i = 0; ok && i < count; i++)
        ok = client_create(&clients[i], session, model, shapes, &error);
    if (ok)
        measure(clients, count, argc > 3 ? strtod(argv[3], NULL) : 3);
    else
        fprintf(stderr, "%s\n", error.text);
    for (uint32_t i = 0; clients && i < count; i++)
        tools_program_destroy(clients[i].program);
    tools_session_destroy(session);
    if (model)
        onnx_model_destroy(model);
    free(shapes);
    free(clients);
    return ok ? 0 : 1;
}
