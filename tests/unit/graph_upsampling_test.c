/* SPDX-License-Identifier: Apache-2.0 */
/* Passes fuse_upsampling and levels, for a backend that wants them: convolutions of images with repeated pixels become
 * convolutions of the images, of which none waits for another, and the results stay. */
#include "graph_make.h"

#include "test.h"

#define CHANNELS 4
#define HEIGHT   5
#define WIDTH    6

struct net {
    uint32_t window, before, after; /* padding */
    uint32_t times[2];
    bool bias, residual;
    uint32_t parts; /* that the convolution becomes */
};

static uint32_t out_size(const struct net *net, uint32_t d)
{
    return (d ? WIDTH : HEIGHT) * net->times[d] + net->before + net->after + 1 - net->window;
}

/* Pointwise, resampling, the convolution, a bound, pointwise; with a residual added before the bound. */
static void make_network(struct graph *graph, const struct net *net)
{
    const uint32_t h = out_size(net, 0), w = out_size(net, 1), n = net->window;
    graph_init(graph, 2, 1, DML_EXECUTION_FLAG_DISABLE_META_COMMANDS);
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, 2, CHANNELS, HEIGHT, WIDTH);
    struct graph_operand more = make4(graph, GRAPH_INPUT, 1, 2, CHANNELS, h, w);
    struct graph_operand a = make4(graph, GRAPH_TEMP, 0, 2, CHANNELS, HEIGHT, WIDTH);
    struct graph_operand b = make4(graph, GRAPH_TEMP, 0, 2, CHANNELS, HEIGHT * net->times[0], WIDTH * net->times[1]);
    struct graph_operand values[4];
    for (uint32_t i = 0; i < 4; i++)
        values[i] = make4(graph, GRAPH_TEMP, 0, 2, CHANNELS, h, w);
    struct graph_operand y = make4(graph, GRAPH_OUTPUT, 0, 2, CHANNELS, h, w);
    struct graph_operand point = make_constant(graph, 4, SIZES(CHANNELS, CHANNELS, 1, 1), -0.3f, 0.011f);
    struct graph_operand full = make_constant(graph, 4, SIZES(CHANNELS, CHANNELS, n, n), -0.5f, 0.0017f);
    struct graph_operand bias = make_constant(graph, 4, SIZES(1, CHANNELS, 1, 1), -1, 0.7f);
    make_conv(graph, (struct graph_operand[]){ x, point }, 2, a, 1, 1, 0);
    struct graph_op *op = graph_op_add(graph, KERN_RESAMPLE, &a, 1, &b, 1);
    op->k.u.resample.mode = DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR;
    op->k.u.resample.rounding = DML_AXIS_DIRECTION_DECREASING;
    for (uint32_t d = 0; d < 4; d++)
        op->k.u.resample.scales[d] = d < 2 ? 1 : (float)net->times[d - 2];
    make_conv(graph, (struct graph_operand[]){ b, full, bias }, net->bias ? 3 : 2, values[0], 1, 1, net->before);
    if (net->residual) { /* whose channels are not innermost */
        make_conv(graph, (struct graph_operand[]){ more, point }, 2, values[3], 1, 1, 0);
        make_map(graph, KERN_MAP_ADD, (struct graph_operand[]){ values[0], values[3] }, 2, values[1], 0, 0);
    }
    make_map(graph, KERN_MAP_RELU, &values[net->residual], 1, values[2], 0, 0);
    make_conv(graph, (struct graph_operand[]){ values[2], point }, 2, y, 1, 1, 0);
}

static uint32_t count_of(const struct graph *graph, enum kern_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->op_count; i++)
        count += graph->ops[i]->k.kind == kind;
    return count;
}

static bool in_order(const struct graph *graph)
{
    uint32_t level[32];
    bool good = graph->op_count <= ARRAY_SIZE(level) && graph_levels(graph, level);
    for (uint32_t i = 1; good && i < graph->op_count; i++)
        good = level[i - 1] <= level[i];
    return good;
}

static bool run_network(const struct net *net, bool wanted, float *results)
{
    static float inputs[2][2 * CHANNELS * 64 * 64];
    struct graph graph;
    struct make_run run = { .inputs = { inputs[0], inputs[1] }, .outputs = { results } };
    struct graph_backend backend = graph_backend_host;
    struct graph_options options = make_options(0);
    backend.passes = wanted ? GRAPH_PASSES_ALL : 0;
    options.backend = &backend;
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t i = 0; i < ARRAY_SIZE(inputs[k]); i++)
            inputs[k][i] = (float)((i * 37 + 5 + k) % 101) / 50 - 1;
    make_network(&graph, net);
    HRESULT hr = graph_run_passes(&graph, &options);
    if (wanted) {
        TEST(count_of(&graph, KERN_RESAMPLE) == (net->parts == 1));
        TEST_FOR(count_of(&graph, KERN_CONV) == 2u + net->residual + net->parts, "%u", count_of(&graph, KERN_CONV));
        TEST(in_order(&graph));
    }
    return make_run_graph(&graph, &options, hr, 0, &run);
}

int main(void)
{
    static const struct net nets[] = {
        { 5, 2, 2, { 2, 2 }, true, false, 2 }, { 5, 2, 2, { 2, 2 }, false, true, 2 },
        { 3, 1, 1, { 2, 2 }, true, true, 4 },  { 1, 0, 0, { 2, 2 }, false, false, 2 },
        { 4, 2, 1, { 1, 2 }, true, false, 2 }, { 3, 2, 0, { 2, 2 }, true, false, 2 },
        { 2, 1, 0, { 4, 1 }, true, true, 4 },  { 3, 1, 1, { 3, 1 }, false, false, 3 },
        { 3, 1, 1, { 4, 2 }, true, false, 1 }, /* too many */
        { 3, 1, 2, { 2, 2 }, true, false, 1 }, /* sizes are odd */
    };
    static float plain[2 * CHANNELS * 64 * 64], fused[2 * CHANNELS * 64 * 64];
    for (uint32_t i = 0; i < ARRAY_SIZE(nets); i++) {
        const uint32_t count = 2 * CHANNELS * out_size(&nets[i], 0) * out_size(&nets[i], 1);
        bool same = run_network(&nets[i], false, plain) && run_network(&nets[i], true, fused);
        for (uint32_t k = 0; same && k < count; k++)
            same = plain[k] - fused[k] < 1e-4f && fused[k] - plain[k] < 1e-4f;
        TEST_FOR(same, "network %u", i);
    }
    return test_result();
}
