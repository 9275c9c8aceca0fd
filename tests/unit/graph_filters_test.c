/* SPDX-License-Identifier: Apache-2.0 */
/* Pass filters, for a backend that wants it: constant filters of images with channels innermost are put in their order,
 * others stay, and the results stay. */
#include "graph_make.h"

#include "test.h"

#define CHANNELS 8
#define SIZE     6
#define RESULTS  (CHANNELS * SIZE * SIZE)

static const float *image(void)
{
    static float x[RESULTS];
    for (uint32_t i = 0; i < ARRAY_SIZE(x); i++)
        x[i] = (float)((i * 37 + 5) % 101) / 50 - 1;
    return x;
}

/* A convolution of all channels, whose filter is input 1 where it is not constant, and one of single channels. */
static void make_network(struct graph *graph, bool constant)
{
    graph_init(graph, 2, 1, DML_EXECUTION_FLAG_DISABLE_META_COMMANDS);
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, 1, CHANNELS, SIZE, SIZE);
    struct graph_operand a = make4(graph, GRAPH_TEMP, 0, 1, CHANNELS, SIZE, SIZE);
    struct graph_operand b = make4(graph, GRAPH_TEMP, 0, 1, CHANNELS, SIZE, SIZE);
    struct graph_operand y = make4(graph, GRAPH_OUTPUT, 0, 1, CHANNELS, SIZE, SIZE);
    struct graph_operand point = make_constant(graph, 4, SIZES(CHANNELS, CHANNELS, 1, 1), -0.3f, 0.011f);
    struct graph_operand full = constant ? make_constant(graph, 4, SIZES(CHANNELS, CHANNELS, 3, 3), -0.5f, 0.0017f)
                                         : make4(graph, GRAPH_INPUT, 1, CHANNELS, CHANNELS, 3, 3);
    struct graph_operand single = make_constant(graph, 4, SIZES(CHANNELS, 1, 3, 3), 0.5f, -0.013f);
    make_conv(graph, (struct graph_operand[]){ x, point }, 2, a, 1, 1, 0);
    make_conv(graph, (struct graph_operand[]){ a, full }, 2, b, 1, 1, 1);
    make_conv(graph, (struct graph_operand[]){ b, single }, 2, y, CHANNELS, 1, 1);
}

/* Strides along the output and input channels of the filters of convolutions 1 and 2, after the passes. */
static bool run_network(bool constant, bool wanted, float *results, int64_t strides[4])
{
    struct graph graph;
    struct make_run run = { .outputs = { results } };
    struct graph_backend backend = graph_backend_host;
    struct graph_options options = make_options(0);
    float filter[CHANNELS * CHANNELS * 9];
    backend.passes = wanted ? GRAPH_PASSES_ALL : backend.passes & ~GRAPH_PASS_BIT(layout);
    options.backend = &backend;
    for (uint32_t i = 0; i < ARRAY_SIZE(filter); i++)
        filter[i] = -0.5f + 0.0017f * (float)i;
    run.inputs[0] = (void *)(uintptr_t)image();
    run.inputs[1] = filter;
    make_network(&graph, constant);
    HRESULT hr = graph_run_passes(&graph, &options);
    if (TEST(graph.op_count == 3))
        for (uint32_t i = 0; i < 4; i++)
            strides[i] = graph.ops[1 + i / 2]->k.tensors[1].strides[i % 2];
    return make_run_graph(&graph, &options, hr, 0, &run);
}

static bool close_to(const float *a, const float *b)
{
    for (uint32_t i = 0; i < RESULTS; i++)
        if (a[i] - b[i] > 1e-4f || b[i] - a[i] > 1e-4f)
            return false;
    return true;
}

int main(void)
{
    float plain[RESULTS], ordered[RESULTS];
    int64_t strides[4];
    if (TEST(run_network(true, false, plain, strides)))
        TEST(strides[0] == CHANNELS * 9 && strides[1] == 9 && strides[2] == 9);
    if (TEST(run_network(true, true, ordered, strides)))
        TEST(strides[0] == CHANNELS * 9 && strides[1] == 1 && strides[2] == 1);
    TEST(close_to(plain, ordered));
    if (TEST(run_network(false, true, ordered, strides))) /* then its images stay as they were */
        TEST(strides[0] == CHANNELS * 9 && strides[1] == 9);
    return test_result();
}
