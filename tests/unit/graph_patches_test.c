/* SPDX-License-Identifier: Apache-2.0 */
/* Pass patches: convolutions whose windows do not overlap are pointwise ones of copied windows, with the same results;
 * all others stay. */
#include "graph_make.h"

#include "test.h"

#define IMAGES   2
#define CHANNELS 3
#define FILTERS  20
#define HEIGHT   31
#define WIDTH    41

struct net {
    uint32_t window[2], stride, dilation, pad;
    bool bias, replaced;
};

static const struct net nets[] = {
    { { 8, 8 }, 8, 1, 0, true, true },   { { 8, 8 }, 8, 1, 0, false, true },
    { { 1, 9 }, 9, 1, 0, true, true },   { { 3, 8 }, 10, 1, 0, true, true }, /* pixels between the windows */
    { { 8, 4 }, 8, 1, 0, true, false },                                      /* short lines */
    { { 8, 8 }, 7, 1, 0, true, false },                                      /* windows overlap, */
    { { 3, 8 }, 8, 1, 1, true, false },                                      /* are padded, */
    { { 3, 8 }, 16, 2, 0, true, false },                                     /* have holes */
};

static uint32_t out_size(const struct net *net, uint32_t d)
{
    const uint32_t in = d ? WIDTH : HEIGHT, reach = (net->window[d] - 1) * net->dilation + 1;
    return (in + 2 * net->pad - reach) / net->stride + 1;
}

static void make_network(struct graph *graph, const struct net *net)
{
    const uint32_t h = out_size(net, 0), w = out_size(net, 1);
    graph_init(graph, 1, 1, DML_EXECUTION_FLAG_DISABLE_META_COMMANDS);
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, IMAGES, CHANNELS, HEIGHT, WIDTH);
    struct graph_operand sums = make4(graph, GRAPH_TEMP, 0, IMAGES, FILTERS, h, w);
    struct graph_operand y = make4(graph, GRAPH_OUTPUT, 0, IMAGES, FILTERS, h, w);
    struct graph_operand filter =
        make_constant(graph, 4, SIZES(FILTERS, CHANNELS, net->window[0], net->window[1]), -0.5f, 0.00017f);
    struct graph_operand bias = make_constant(graph, 4, SIZES(1, FILTERS, 1, 1), -1, 0.07f);
    make_conv(graph, (struct graph_operand[]){ x, filter, bias }, net->bias ? 3 : 2, sums, 1, net->stride, net->pad);
    struct kern_conv *conv = &graph->ops[graph->op_count - 1]->k.u.conv;
    conv->dilations[0] = conv->dilations[1] = net->dilation;
    make_map(graph, KERN_MAP_RELU, &sums, 1, y, 0, 0);
}

/* Whether the convolution is pointwise now. */
static bool is_pointwise(const struct graph *graph)
{
    for (uint32_t i = 0; i < graph->op_count; i++)
        if (graph->ops[i]->k.kind == KERN_CONV)
            return graph->ops[i]->k.tensors[1].sizes[2] == 1 && graph->ops[i]->k.tensors[1].sizes[3] == 1;
    return false;
}

static bool run_network(const struct net *net, bool wanted, float *results)
{
    static float input[IMAGES * CHANNELS * HEIGHT * WIDTH];
    struct graph graph;
    struct make_run run = { .inputs = { input }, .outputs = { results } };
    struct graph_options options = make_options(wanted ? 0 : GRAPH_PASS_BIT(patches));
    for (uint32_t i = 0; i < ARRAY_SIZE(input); i++)
        input[i] = (float)(i * 37 % 101) / 50 - 1;
    make_network(&graph, net);
    HRESULT hr = graph_run_passes(&graph, &options);
    TEST(is_pointwise(&graph) == (wanted && net->replaced));
    return make_run_graph(&graph, &options, hr, 0, &run);
}

int main(void)
{
    static float plain[IMAGES * FILTERS * HEIGHT * WIDTH], replaced[IMAGES * FILTERS * HEIGHT * WIDTH];
    for (uint32_t i = 0; i < ARRAY_SIZE(nets); i++) {
        const uint32_t count = IMAGES * FILTERS * out_size(&nets[i], 0) * out_size(&nets[i], 1);
        bool same = run_network(&nets[i], false, plain) && run_network(&nets[i], true, replaced);
        for (uint32_t k = 0; same && k < count; k++)
            same = plain[k] - replaced[k] < 1e-4f && replaced[k] - plain[k] < 1e-4f;
        TEST_FOR(same, "network %u", i);
    }
    return test_result();
}
