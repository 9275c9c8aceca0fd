/* SPDX-License-Identifier: Apache-2.0 */
/* FLOAT16 between convolutions becomes FLOAT32, and so does that of a convolution which has a better kernel then;
 * results stay FLOAT16 and as exact. */
#include "graph_make.h"

#include "base/cpu.h"
#include "base/half.h"
#include "base/parallel.h"

#include "test.h"

#include <math.h>

#define F16          DML_TENSOR_DATA_TYPE_FLOAT16
#define RESULTS      (8 * 10 * 10)
#define LONE_RESULTS (16 * 14 * 14)

static struct graph_operand weights(struct graph *graph, uint32_t outs, uint32_t ins, uint32_t k)
{
    struct graph_operand made;
    uint16_t *data = graph_constant_new(graph, F16, 4, SIZES(outs, ins, k, k), &made);
    for (uint32_t i = 0; data && i < outs * ins * k * k; i++)
        data[i] = base_float_to_half((float)((i * 7919 + 5) % 41) / 64.0f - 0.3f);
    return made;
}

/* Two convolutions, RELU and an addition between. */
static void make_network(struct graph *graph)
{
    graph_init(graph, 1, 1, 0);
    struct graph_operand x = make_value(graph, GRAPH_INPUT, 0, F16, 4, SIZES(1, 8, 10, 10)), t[4];
    for (uint32_t i = 0; i < 4; i++)
        t[i] = graph_temp(graph, F16, 4, x.view.sizes);
    make_conv(graph, (struct graph_operand[]){ x, weights(graph, 8, 8, 3) }, 2, t[0], 1, 1, 1);
    make_map(graph, KERN_MAP_RELU, &t[0], 1, t[1], 0, 0);
    make_conv(graph, (struct graph_operand[]){ t[1], weights(graph, 8, 8, 1) }, 2, t[2], 1, 1, 0);
    make_map(graph, KERN_MAP_ADD, (struct graph_operand[]){ t[2], t[1] }, 2, t[3], 0, 0);
    make_conv(graph, (struct graph_operand[]){ t[3], weights(graph, 8, 8, 3) }, 2,
              make_value(graph, GRAPH_OUTPUT, 0, F16, 4, x.view.sizes), 1, 1, 1);
}

/* One pointwise convolution, of an input to an output. */
static void make_lone(struct graph *graph)
{
    graph_init(graph, 1, 1, 0);
    struct graph_operand x = make_value(graph, GRAPH_INPUT, 0, F16, 4, SIZES(1, 16, 14, 14));
    make_conv(graph, (struct graph_operand[]){ x, weights(graph, 16, 16, 1) }, 2,
              make_value(graph, GRAPH_OUTPUT, 0, F16, 4, x.view.sizes), 1, 1, 0);
}

static bool run_network(void (*make)(struct graph *graph), uint64_t disabled, uint16_t *results, uint32_t *out_narrow)
{
    struct graph graph;
    struct make_run run = { 0 };
    struct graph_options options = make_options(disabled);
    options.cpu = base_cpu_flags();
    static uint16_t x[LONE_RESULTS];
    for (uint32_t i = 0; i < LONE_RESULTS; i++)
        x[i] = base_float_to_half((float)((i * 7919 + 13) % 1009) / 504.5f - 1);
    run.inputs[0] = x;
    run.outputs[0] = results;
    make(&graph);
    HRESULT hr = graph_run_passes(&graph, &options);
    *out_narrow = 0; /* convolutions of FLOAT16 */
    for (uint32_t i = 0; i < graph.op_count; i++)
        *out_narrow += graph.ops[i]->k.kind == KERN_CONV && graph.ops[i]->k.tensors[0].type == F16;
    return make_run_graph(&graph, &options, hr, 0, &run);
}

/* `narrow` and `left`: convolutions of FLOAT16 without the pass and with it. */
static void check_network(void (*make)(struct graph *graph), uint32_t count, uint32_t narrow, uint32_t left)
{
    static uint16_t before[LONE_RESULTS], after[LONE_RESULTS];
    uint32_t found[2];
    double most = 0, worst = 0;
    if (!run_network(make, GRAPH_PASS_BIT(widen), before, &found[0]) || !run_network(make, 0, after, &found[1]))
        return;
    for (uint32_t i = 0; i < count; i++) {
        most = fmax(most, fabs((double)base_half_to_float(before[i])));
        worst = fmax(worst, fabs((double)base_half_to_float(before[i]) - base_half_to_float(after[i])));
    }
    TEST(found[0] == narrow);
    TEST(found[1] == left);
    TEST_FOR(most > 0 && worst <= 0x1p-8 * most, "error %g of %g", worst, most);
}

int main(void)
{
    const bool vectors = base_cpu_flags() & (BASE_CPU_AVX2 | BASE_CPU_NEON);
    check_network(make_network, RESULTS, 3, 0);
    check_network(make_lone, LONE_RESULTS, 1, vectors ? 0 : 1); /* the portable kernel is the same for both types */
    return test_result();
}
