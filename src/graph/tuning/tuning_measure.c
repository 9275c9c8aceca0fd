/* SPDX-License-Identifier: Apache-2.0 */
/* Times both kernels of a heuristic on one shape, compiled and run like any other graph. */
#include "graph/backend.h"

#include "graph/compile.h"
#include "graph/exec.h"
#include "graph/ir/constant.h"
#include "graph/ir/view.h"
#include "graph/tuning/tuning.h"

#include "base/clock.h"
#include "base/os.h"
#include "base/pages.h"
#include "base/parallel.h"

#include <stdlib.h>

#define MIN_RUNS   5
#define MIN_NS     UINT64_C(2000000) /* of both kernels together, in one pass */
#define PASSES_MAX 8
#define STABLE     0.97 /* a pass that improves no time by more than this ends the measurement */
#define SWEEP_MIN  (UINT64_C(4) << 20)
#define SWEEP_MAX  (UINT64_C(64) << 20)
#define FORCE      1e6f

struct trial {
    struct graph_plan *plan;
    struct graph_buffers buffers;
    void *in, *out;
};

/* Channels innermost, as graphs have them. */
static struct graph_operand value_of(struct graph *graph, enum graph_place place, const struct kern_point *p,
                                     uint32_t channels)
{
    const uint32_t pixels[] = { 1, p->side, p->side, channels }, rows[] = { p->side, channels };
    const uint32_t order[] = { 0, 3, 1, 2 };
    struct graph_operand operand =
        graph_temp(graph, DML_TENSOR_DATA_TYPE_FLOAT32, p->kernel ? 4 : 2, p->kernel ? pixels : rows);
    if (p->kernel)
        operand.view = graph_view_permute(&operand.view, order);
    if (operand.value != GRAPH_NONE)
        graph->values[operand.value].place = place;
    return operand;
}

static struct graph_operand weights_of(struct graph *graph, const struct kern_point *p)
{
    const uint32_t taps[] = { p->out, p->in, p->kernel, p->kernel }, matrix[] = { p->in, p->out };
    struct graph_operand operand;
    float *data =
        graph_constant_new(graph, DML_TENSOR_DATA_TYPE_FLOAT32, p->kernel ? 4 : 2, p->kernel ? taps : matrix, &operand);
    for (uint64_t i = 0; data && i < kern_view_elements(&operand.view); i++)
        data[i] = (float)(i % 7) * 0.125f;
    return operand;
}

static bool make_graph(struct graph *graph, const struct kern_point *p)
{
    struct graph_operand in[2] = { value_of(graph, GRAPH_INPUT, p, p->in), weights_of(graph, p) };
    struct graph_operand out = value_of(graph, GRAPH_OUTPUT, p, p->out);
    if (in[0].value == GRAPH_NONE || in[1].value == GRAPH_NONE || out.value == GRAPH_NONE)
        return false;
    struct graph_op *op = graph_op_add(graph, p->kernel ? KERN_CONV : KERN_GEMM, in, 2, &out, 1);
    if (!op)
        return false;
    if (!p->kernel) {
        op->k.u.gemm.alpha = 1;
        return true;
    }
    op->k.u.conv.spatial = 2;
    op->k.u.conv.groups = 1;
    for (uint32_t d = 0; d < 2; d++) {
        op->k.u.conv.strides[d] = op->k.u.conv.dilations[d] = 1;
        op->k.u.conv.pad_start[d] = p->kernel / 2;
    }
    return true;
}

static void *buffer(uint64_t bytes)
{
    uint64_t whole = base_align_up(BASE_MAX(bytes, 1), 256);
    void *data = base_aligned_acquire(256, whole);
    return data ? memset(data, 0, whole) : NULL;
}

static bool trial_init(struct trial *trial, const struct kern_point *p, const struct graph_options *options)
{
    struct graph graph;
    char error[256];
    uint64_t pixels = p->kernel ? (uint64_t)p->side * p->side : p->side;
    *trial =
        (struct trial){ .in = buffer(pixels * p->in * sizeof(float)), .out = buffer(pixels * p->out * sizeof(float)) };
    graph_init(&graph, 1, 1, 0);
    bool made = trial->in && trial->out && make_graph(&graph, p) &&
                SUCCEEDED(graph_plan_create(&graph, options, &trial->plan, error));
    graph_finish(&graph);
    if (!made)
        return false;
    trial->buffers = (struct graph_buffers){ &trial->in, &trial->out, buffer(trial->plan->temp_bytes),
                                             buffer(trial->plan->persistent_bytes) };
    if (!trial->buffers.temp || !trial->buffers.persistent)
        return false;
    return SUCCEEDED(graph_plan_initialize(trial->plan, NULL, trial->buffers.persistent));
}

static void trial_finish(struct trial *trial)
{
    if (trial->plan)
        graph_plan_destroy(trial->plan);
    base_aligned_release(trial->buffers.temp);
    base_aligned_release(trial->buffers.persistent);
    base_aligned_release(trial->in);
    base_aligned_release(trial->out);
}

/* In a network, other layers' weights are read between two runs of a layer, and its input was written just before. */
struct sweep {
    void *data;
    uint64_t bytes, in_bytes;
};

static bool sweep_init(struct sweep *sweep, const struct kern_point *p)
{
    uint64_t pixels = p->kernel ? (uint64_t)p->side * p->side : p->side;
    sweep->bytes = BASE_MIN(BASE_MAX(base_cache_bytes(), SWEEP_MIN), SWEEP_MAX);
    sweep->in_bytes = pixels * p->in * sizeof(float);
    sweep->data = malloc(sweep->bytes);
    return sweep->data != NULL;
}

static uint64_t run_ns(const struct trial *trial, const struct sweep *sweep, int round)
{
    memset(sweep->data, round, sweep->bytes);
    __asm__ volatile("" : : "r"(sweep->data) : "memory"); /* never read, but must be written */
    memset(trial->in, 0, sweep->in_bytes);
    uint64_t start = base_now_ns();
    graph_plan_run(trial->plan, &trial->buffers, NULL);
    return base_now_ns() - start;
}

/* Alternating, so that disturbances affect both; the smallest time is the kernel's own. */
static void measure_pass(const struct trial trials[2], const struct sweep *sweep, uint64_t least[2])
{
    uint64_t whole = 0;
    for (int round = 0; round < MIN_RUNS || whole < MIN_NS; round++)
        for (uint32_t i = 0; i < 2; i++) {
            uint64_t time = run_ns(&trials[i], sweep, round);
            least[i] = BASE_MIN(least[i], time);
            whole += time;
        }
}

/* Until another pass finds nothing faster. */
static void compare(const struct trial trials[2], const struct sweep *sweep, struct graph_tuning_result *out)
{
    uint64_t least[2] = { UINT64_MAX, UINT64_MAX }, before[2];
    bool stable = false;
    measure_pass(trials, sweep, least);
    for (int pass = 1; !stable && pass < PASSES_MAX; pass++) {
        memcpy(before, least, sizeof(before));
        measure_pass(trials, sweep, least);
        stable = (double)least[0] >= STABLE * (double)before[0] && (double)least[1] >= STABLE * (double)before[1];
    }
    for (uint32_t i = 0; i < 2; i++)
        out->seconds[i] = (double)least[i] / 1e9;
}

bool graph_tuning_measure(uint32_t point, uint32_t cpu, uint32_t threads, struct graph_tuning_result *out)
{
    struct trial trials[2] = { { 0 } };
    struct sweep sweep;
    bool made = sweep_init(&sweep, &kern_points[point]);
    for (uint32_t i = 0; made && i < 2; i++) {
        struct kern_tuning forced;
        for (uint32_t k = 0; k < KERN_POINT_COUNT; k++)
            forced.correction[k] = i ? FORCE : 1 / FORCE;
        struct graph_options options = {
            .cpu = cpu, .threads = threads, .backend = &graph_backend_host, .tuning = &forced
        };
        made = trial_init(&trials[i], &kern_points[point], &options);
    }
    if (made) {
        struct base_team before = base_parallel_enter(threads);
        compare(trials, &sweep, out);
        base_parallel_leave(before);
        for (uint32_t i = 0; i < 2; i++)
            out->rows[i] = trials[i].plan->steps[0].u.host.row->name;
        out->cost = kern_choice_cost(kern_points[point].choice, &trials[0].plan->steps[0].op);
    }
    trial_finish(&trials[0]);
    trial_finish(&trials[1]);
    free(sweep.data);
    return made;
}

float graph_tuning_correction(const struct graph_tuning_result *result)
{
    double value = result->seconds[0] / result->seconds[1] / result->cost;
    if (!strcmp(result->rows[0], result->rows[1]) || !(value > 0))
        return 1;
    return (float)BASE_MIN(BASE_MAX(value, 0.1), 10);
}
