/* SPDX-License-Identifier: Apache-2.0 */
/* Pointwise, depthwise and pointwise convolutions become one op, where they may, and give the same results. */
#include "graph_make.h"

#include "base/cpu.h"
#include "base/parallel.h"

#include "test.h"

#include <math.h>

struct sample {
    uint32_t c, middle, o, size, stride;
    bool expand, residual, read_between, sum_between;
};

static struct graph_operand constant(struct graph *graph, uint32_t a, uint32_t b, uint32_t k)
{
    struct graph_operand made = make_constant(graph, 4, SIZES(a, b, k, k), 0, 0);
    float *data = (float *)(uintptr_t)graph_constant_data(graph, made.value);
    for (uint64_t i = 0; i < kern_view_elements(&made.view); i++)
        data[i] = (float)((i * 7919 + a * 31) % 41) / 64.0f - 0.3f;
    return made;
}

static struct graph_operand add_conv(struct graph *graph, struct graph_operand x, uint32_t outs, uint32_t groups,
                                     uint32_t k, uint32_t stride)
{
    uint32_t size = (x.view.sizes[2] + 2 * (k / 2) - k) / stride + 1;
    struct graph_operand in[] = { x, constant(graph, outs, x.view.sizes[1] / groups, k), constant(graph, 1, outs, 1) };
    struct graph_operand y = make4(graph, GRAPH_TEMP, 0, x.view.sizes[0], outs, size, size);
    make_conv(graph, in, 3, y, groups, stride, k / 2);
    return y;
}

static struct graph_operand add_map(struct graph *graph, enum kern_map_code code, const struct graph_operand *in,
                                    uint32_t count)
{
    const uint32_t *sizes = in[0].view.sizes;
    struct graph_operand y = make4(graph, GRAPH_TEMP, 0, sizes[0], sizes[1], sizes[2], sizes[3]);
    make_map(graph, code, in, count, y, 0, 6);
    return y;
}

static void make_graph(struct graph *graph, const struct sample *s)
{
    graph_init(graph, 1, 2, 0);
    /* Convolutions at both ends, so that channels lie innermost where the block is. */
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, 1, 3, s->size, s->size);
    struct graph_operand first = add_conv(graph, x, s->c, 1, 3, 1), y = first;
    if (s->expand) {
        y = add_conv(graph, y, s->middle, 1, 1, 1);
        y = add_map(graph, KERN_MAP_CLAMP, &y, 1);
    }
    if (s->sum_between)
        y = add_map(graph, KERN_MAP_ADD, (struct graph_operand[]){ y, y }, 2);
    struct graph_operand middle = y =
        add_conv(graph, y, s->expand ? s->middle : s->c, s->expand ? s->middle : s->c, 3, s->stride);
    y = add_map(graph, KERN_MAP_RELU, &y, 1);
    y = add_conv(graph, y, s->o, 1, 1, 1);
    if (s->residual)
        y = add_map(graph, KERN_MAP_ADD, (struct graph_operand[]){ y, first }, 2);
    y = add_conv(graph, y, 8, 1, 3, 1);
    const uint32_t *sizes = y.view.sizes;
    make_move(graph, y, make4(graph, GRAPH_OUTPUT, 0, 1, 8, sizes[2], sizes[3]));
    if (s->read_between) {
        sizes = middle.view.sizes;
        make_map(graph, KERN_MAP_TANH, &middle, 1, make4(graph, GRAPH_OUTPUT, 1, 1, sizes[1], sizes[2], sizes[3]), 0,
                 0);
    }
}

/* Output 0 of the sample; *out_blocks: ops that are blocks. */
static float *run(const struct sample *s, uint64_t disabled, uint32_t threads, uint32_t *out_blocks,
                  uint64_t *out_count)
{
    struct graph graph;
    struct graph_plan *plan = NULL;
    char error[256] = "";
    struct graph_options options = make_options(disabled);
    options.cpu = base_cpu_flags();
    options.threads = threads;
    options.backend = &graph_backend_host;
    make_graph(&graph, s);
    TEST(graph_run_passes(&graph, &options) == S_OK);
    *out_blocks = 0;
    *out_count = 0;
    for (uint32_t i = 0; i < graph.op_count; i++)
        *out_blocks += graph.ops[i]->k.kind == KERN_INVERTED_RESIDUAL;
    uint64_t bytes[2] = { 0 };
    for (uint32_t v = 0; v < graph.value_count; v++)
        if (graph.values[v].place == GRAPH_OUTPUT)
            bytes[graph.values[v].index] = graph.values[v].size_bytes;
    TEST_FOR(graph_plan_create(&graph, &options, &plan, error) == S_OK, "%s", error);
    graph_finish(&graph);
    if (!plan)
        return NULL;
    uint64_t input_count = 3ull * s->size * s->size;
    float *input = malloc(input_count * sizeof(float)), *outputs[2] = { malloc(bytes[0] + 64), malloc(bytes[1] + 64) };
    for (uint64_t i = 0; i < input_count; i++)
        input[i] = (float)(i * 31 % 101) / 50.0f - 1;
    void *temp = aligned_alloc(256, plan->temp_bytes + 256),
         *persistent = aligned_alloc(256, plan->persistent_bytes + 256);
    struct graph_buffers buffers = { (void *const[]){ input }, (void *const *)outputs, temp, persistent };
    struct base_team team = base_parallel_enter(threads);
    graph_plan_initialize(plan, (void *const[]){ NULL }, persistent);
    graph_plan_run(plan, &buffers, NULL);
    base_parallel_leave(team);
    graph_plan_destroy(plan);
    free(input);
    free(outputs[1]);
    free(temp);
    free(persistent);
    *out_count = bytes[0] / sizeof(float);
    return outputs[0];
}

static void test_sample(const struct sample *s, uint32_t threads, uint32_t blocks)
{
    uint32_t found, none;
    uint64_t count;
    float *fused = run(s, 0, threads, &found, &count);
    float *apart = run(s, GRAPH_PASS_BIT(fuse_inverted_residuals), threads, &none, &count);
    double most = 0, worst = 0;
    bool fast = base_cpu_flags() & (BASE_CPU_AVX2 | BASE_CPU_NEON);
    TEST_FOR(found == (fast ? blocks : 0), "%u blocks", found);
    TEST(none == 0);
    if (!TEST(fused && apart))
        return;
    for (uint64_t i = 0; i < count; i++) {
        most = fmax(most, fabs(apart[i]));
        worst = fmax(worst, fabs((double)fused[i] - apart[i]));
    }
    TEST(most > 0);
    TEST_FOR(worst <= most * 1e-5, "%g of %g", worst, most);
    free(fused);
    free(apart);
}

int main(void)
{
    const struct sample whole = { 16, 96, 24, 40, 2, true, false, false, false };
    const struct sample residual = { 24, 144, 24, 28, 1, true, true, false, false };
    const struct sample two = { 72, 0, 16, 33, 1, false, false, false, false };
    const struct sample read = { 16, 96, 24, 40, 1, true, false, true, false };
    const struct sample sum = { 16, 96, 24, 40, 1, true, false, false, true };
    const struct sample small = { 16, 96, 24, 6, 1, true, false, false, false };
    for (uint32_t threads = 1; threads <= 2; threads++) {
        test_sample(&whole, threads, 1);
        test_sample(&residual, threads, 1);
        test_sample(&two, threads, base_cpu_flags() & BASE_CPU_NEON ? 0 : 1);
        test_sample(&read, threads, 0);
        test_sample(&sum, threads, 0);
        test_sample(&small, threads, 0);
    }
    return test_result();
}
