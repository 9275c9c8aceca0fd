/* SPDX-License-Identifier: Apache-2.0 */
/* Pass transposed, for a backend that wants it: transposed convolutions become plain ones of stride 1 with the same
 * results, whether the filter is known or not. */
#include "graph_make.h"

#include "test.h"

#define CHANNELS 4
#define LENGTH   5
#define RESULTS  (2 * CHANNELS * 48 * 48)

struct net {
    uint32_t window[2], strides[2], dilations[2], before[2], after[2]; /* padding */
    uint32_t groups;
    bool flip, bias, residual, fixed, last; /* between convolutions, whose results are then NHWC */
    uint32_t parts;                         /* that the convolution becomes; 0: it stays */
};

static uint32_t out_size(const struct net *net, uint32_t d)
{
    return (LENGTH - 1) * net->strides[d] + (net->window[d] - 1) * net->dilations[d] + 1 - net->before[d] -
           net->after[d];
}

static void make_network(struct graph *graph, const struct net *net)
{
    const uint32_t h = out_size(net, 0), w = out_size(net, 1);
    graph_init(graph, 3, 1, DML_EXECUTION_FLAG_DISABLE_META_COMMANDS);
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, 2, CHANNELS, LENGTH, LENGTH);
    struct graph_operand more = make4(graph, GRAPH_INPUT, 1, 2, CHANNELS, h, w);
    const uint32_t *sizes = SIZES(CHANNELS, CHANNELS / net->groups, net->window[0], net->window[1]);
    struct graph_operand filter =
        net->fixed ? make_constant(graph, 4, sizes, -0.5f, 0.0117f) : make_value(graph, GRAPH_INPUT, 2, F32, 4, sizes);
    struct graph_operand point = make_constant(graph, 4, SIZES(CHANNELS, CHANNELS, 1, 1), -0.3f, 0.041f);
    struct graph_operand bias = make_constant(graph, 4, SIZES(1, CHANNELS, 1, 1), -1, 0.7f);
    struct graph_operand y = make4(graph, GRAPH_OUTPUT, 0, 2, CHANNELS, h, w), values[4];
    for (uint32_t i = 0; i < 4; i++)
        values[i] = make4(graph, GRAPH_TEMP, 0, 2, CHANNELS, i ? h : LENGTH, i ? w : LENGTH);
    if (net->last)
        make_conv(graph, (struct graph_operand[]){ x, point }, 2, values[0], 1, 1, 0);
    struct graph_op *op = make_conv(graph, (struct graph_operand[]){ net->last ? values[0] : x, filter, bias },
                                    net->bias ? 3 : 2, values[1], net->groups, 1, 0);
    struct kern_conv *conv = &op->k.u.conv;
    conv->transposed = true;
    conv->flip = net->flip;
    memcpy(conv->strides, net->strides, sizeof(net->strides));
    memcpy(conv->dilations, net->dilations, sizeof(net->dilations));
    memcpy(conv->pad_start, net->before, sizeof(net->before));
    if (net->residual)
        make_map(graph, KERN_MAP_ADD, (struct graph_operand[]){ values[1], more }, 2, values[2], 0, 0);
    make_map(graph, KERN_MAP_RELU, &values[1 + net->residual], 1, net->last ? values[3] : y, 0, 0);
    if (net->last)
        make_conv(graph, (struct graph_operand[]){ values[3], point }, 2, y, 1, 1, 0);
}

static uint32_t convolutions(const struct graph *graph, bool transposed)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->op_count; i++)
        count += graph->ops[i]->k.kind == KERN_CONV && graph->ops[i]->k.u.conv.transposed == transposed;
    return count;
}

static bool run_network(uint32_t number, const struct net *net, bool wanted, float *results)
{
    static float inputs[3][RESULTS];
    struct graph graph;
    struct make_run run = { .inputs = { inputs[0], inputs[1], inputs[2] }, .outputs = { results } };
    struct graph_backend backend = graph_backend_host;
    struct graph_options options = make_options(0);
    backend.passes = wanted ? GRAPH_PASSES_ALL & ~GRAPH_PASS_BIT(taps) : 0;
    options.backend = &backend;
    for (uint32_t k = 0; k < 3; k++)
        for (uint32_t i = 0; i < RESULTS; i++)
            inputs[k][i] = (float)((i * 37 + 5 + k) % 101) / 50 - 1;
    make_network(&graph, net);
    HRESULT hr = graph_run_passes(&graph, &options);
    if (wanted) {
        TEST_FOR(convolutions(&graph, true) == !net->parts, "network %u", number);
        TEST_FOR(convolutions(&graph, false) == 2u * net->last + net->parts, "network %u: %u", number,
                 convolutions(&graph, false));
    }
    return make_run_graph(&graph, &options, hr, 0, &run);
}

static void test_network(uint32_t number, const struct net *net)
{
    static float plain[RESULTS], replaced[RESULTS];
    const uint32_t count = 2 * CHANNELS * out_size(net, 0) * out_size(net, 1);
    memset(plain, 0xa5, sizeof(plain));
    memset(replaced, 0x5a, sizeof(replaced));
    bool same = run_network(number, net, false, plain) && run_network(number, net, true, replaced);
    for (uint32_t k = 0; same && k < count; k++)
        same = plain[k] - replaced[k] < 1e-4f && replaced[k] - plain[k] < 1e-4f;
    TEST_FOR(same, "network %u", number);
}

int main(void)
{
    static const struct net nets[] = {
        /* window, strides, dilations, padding; groups; flip, bias, residual, fixed, NHWC; parts */
        { { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, 1, false, true, true, true, true, 1 },
        { { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, 1, false, false, true, false, true, 1 },
        { { 3, 2 }, { 1, 1 }, { 2, 3 }, { 0, 2 }, { 1, 0 }, 2, true, true, false, false, false, 1 },
        { { 4, 4 }, { 2, 2 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, 1, false, true, true, true, true, 4 },
        { { 3, 3 }, { 2, 2 }, { 1, 1 }, { 1, 1 }, { 1, 0 }, 1, false, false, false, false, true, 4 },
        { { 3, 3 }, { 2, 2 }, { 1, 1 }, { 1, 1 }, { 1, 0 }, 4, true, true, true, true, true, 4 },
        { { 5, 3 }, { 3, 2 }, { 2, 2 }, { 1, 2 }, { 0, 0 }, 2, false, true, false, false, false, 0 }, /* no taps */
        { { 5, 5 }, { 3, 2 }, { 2, 3 }, { 1, 2 }, { 0, 0 }, 2, false, true, true, false, false, 6 },
        { { 5, 5 }, { 3, 2 }, { 2, 3 }, { 5, 7 }, { 2, 1 }, 1, true, false, false, true, false, 6 },
        { { 4, 6 }, { 4, 3 }, { 1, 1 }, { 0, 0 }, { 0, 0 }, 1, false, true, false, false, true, 4 }, /* merged */
        { { 4, 2 }, { 4, 2 }, { 1, 1 }, { 0, 0 }, { 0, 0 }, 1, true, true, true, true, true, 8 },    /* the residual is
                                                                                                        NCHW */
        { { 1, 1 }, { 2, 2 }, { 1, 1 }, { 0, 0 }, { 0, 0 }, 1, false, true, false, true, true, 0 },
        { { 9, 9 }, { 9, 8 }, { 1, 1 }, { 0, 0 }, { 0, 0 }, 1, false, true, false, true, true, 0 }, /* too many */
        { { 8, 8 }, { 8, 8 }, { 1, 1 }, { 0, 0 }, { 0, 0 }, 4, false, false, true, false, true, 64 },
        { { 3, 3 }, { 2, 3 }, { 1, 1 }, { 2, 2 }, { 3, 2 }, 1, false, true, false, true, false, 6 },
    };
    for (uint32_t i = 0; i < ARRAY_SIZE(nets); i++)
        test_network(i, &nets[i]);
    return test_result();
}
