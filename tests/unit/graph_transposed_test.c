/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed convolutions whose windows do not overlap become pointwise convolutions in NHWC, for a backend that wants
 * them, and the results stay. */
#include "graph_make.h"

#include "test.h"

#define CHANNELS 4
#define MIDDLE   6 /* channels of the transposed convolution's result */
#define HEIGHT   3
#define WIDTH    5
#define SIDE_MAX 4

struct net {
    uint32_t window[2], steps[2], pad;
    bool bias, relu;
    uint32_t parts; /* that the convolution becomes; 0: it stays */
};

static uint32_t out_size(const struct net *net, uint32_t d)
{
    return ((d ? WIDTH : HEIGHT) - 1) * net->steps[d] + net->window[d] - 2 * net->pad;
}

/* Pointwise, the transposed convolution, a bound, pointwise. */
static void make_network(struct graph *graph, const struct net *net)
{
    const uint32_t h = out_size(net, 0), w = out_size(net, 1);
    graph_init(graph, 1, 1, DML_EXECUTION_FLAG_DISABLE_META_COMMANDS);
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, 2, CHANNELS, HEIGHT, WIDTH);
    struct graph_operand a = make4(graph, GRAPH_TEMP, 0, 2, CHANNELS, HEIGHT, WIDTH);
    struct graph_operand b[2];
    for (uint32_t i = 0; i < 2; i++)
        b[i] = make4(graph, GRAPH_TEMP, 0, 2, MIDDLE, h, w);
    struct graph_operand y = make4(graph, GRAPH_OUTPUT, 0, 2, CHANNELS, h, w);
    struct graph_operand point = make_constant(graph, 4, SIZES(CHANNELS, CHANNELS, 1, 1), -0.3f, 0.011f);
    struct graph_operand last = make_constant(graph, 4, SIZES(CHANNELS, MIDDLE, 1, 1), -0.2f, 0.013f);
    struct graph_operand full =
        make_constant(graph, 4, SIZES(CHANNELS, MIDDLE, net->window[0], net->window[1]), -0.5f, 0.0037f);
    struct graph_operand bias = make_constant(graph, 4, SIZES(1, MIDDLE, 1, 1), -1, 0.7f);
    make_conv(graph, (struct graph_operand[]){ x, point }, 2, a, 1, 1, 0);
    struct graph_op *op =
        make_conv(graph, (struct graph_operand[]){ a, full, bias }, net->bias ? 3 : 2, b[0], 1, 1, net->pad);
    op->k.u.conv.transposed = true;
    op->k.u.conv.strides[0] = net->steps[0];
    op->k.u.conv.strides[1] = net->steps[1];
    if (net->relu)
        make_map(graph, KERN_MAP_RELU, &b[0], 1, b[1], 0, 0);
    make_conv(graph, (struct graph_operand[]){ b[net->relu], last }, 2, y, 1, 1, 0);
}

static uint32_t count_of(const struct graph *graph, bool transposed)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->op_count; i++)
        count += graph->ops[i]->k.kind == KERN_CONV && graph->ops[i]->k.u.conv.transposed == transposed;
    return count;
}

static bool run_network(const struct net *net, bool wanted, float *results)
{
    static float inputs[2 * CHANNELS * HEIGHT * WIDTH];
    struct graph graph;
    struct graph_plan *plan = NULL;
    struct make_run run = { .inputs = { inputs }, .outputs = { results } };
    struct graph_backend backend = graph_backend_host;
    struct graph_options options = make_options(0);
    char error[256] = "";
    backend.passes = wanted ? GRAPH_PASSES_ALL : 0;
    options.backend = &backend;
    for (uint32_t i = 0; i < ARRAY_SIZE(inputs); i++)
        inputs[i] = (float)((i * 37 + 5) % 101) / 50 - 1;
    make_network(&graph, net);
    HRESULT hr = graph_run_passes(&graph, &options);
    if (wanted) {
        TEST_FOR(count_of(&graph, true) == (net->parts == 0), "%u", count_of(&graph, true));
        TEST_FOR(count_of(&graph, false) == 2 + net->parts, "%u", count_of(&graph, false));
    }
    if (SUCCEEDED(hr))
        hr = graph_plan_create(&graph, &options, &plan, error);
    graph_finish(&graph);
    bool good = TEST_FOR(SUCCEEDED(hr), "%s", error) && make_execute(plan, &run);
    graph_plan_destroy(plan);
    return good;
}

int main(void)
{
    static const struct net nets[] = {
        { { 2, 2 }, { 2, 2 }, 0, true, false, 2 }, { { 4, 4 }, { 4, 4 }, 0, true, true, 4 },
        { { 1, 3 }, { 1, 3 }, 0, false, true, 1 }, { { 3, 2 }, { 3, 2 }, 0, false, false, 3 },
        { { 3, 3 }, { 2, 2 }, 0, true, false, 0 }, /* overlaps */
        { { 2, 2 }, { 2, 2 }, 1, true, false, 0 }, /* padding */
    };
    static float plain[2 * CHANNELS * HEIGHT * WIDTH * SIDE_MAX * SIDE_MAX],
        split[2 * CHANNELS * HEIGHT * WIDTH * SIDE_MAX * SIDE_MAX];
    for (uint32_t i = 0; i < ARRAY_SIZE(nets); i++) {
        const uint32_t count = 2 * CHANNELS * out_size(&nets[i], 0) * out_size(&nets[i], 1);
        bool same = run_network(&nets[i], false, plain) && run_network(&nets[i], true, split);
        for (uint32_t k = 0; same && k < count; k++)
            same = plain[k] - split[k] < 1e-4f && split[k] - plain[k] < 1e-4f;
        TEST_FOR(same, "network %u", i);
    }
    return test_result();
}
