/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution between others that has a kernel for planes only: it gets copies if the others work enough for that,
 * and otherwise all of them keep NCHW. The results are those of double precision. */
#include "graph_make.h"

#include "base/parallel.h"

#include "test.h"

#include <math.h>

enum { SIZE = 6, PIXELS = SIZE * SIZE, FROM = 16, MIDDLE = 8, TO = 16 }; /* two results of each channel in the middle */

static double weight(uint32_t i, uint32_t modulus)
{
    return (double)(i * 5 % modulus) / 8 - 0.5;
}

static struct graph_operand weights(struct graph *graph, const uint32_t *sizes, uint32_t modulus)
{
    struct graph_operand w = make_constant(graph, 4, sizes, 0, 0);
    float *data = graph->values[w.value].made ? graph->values[w.value].made : (float *)graph->values[w.value].given;
    for (uint32_t i = 0; i < sizes[0] * sizes[1] * sizes[2] * sizes[3]; i++)
        data[i] = (float)weight(i, modulus);
    return w;
}

static void make_network(struct graph *graph)
{
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, 1, FROM, SIZE, SIZE);
    struct graph_operand a = make4(graph, GRAPH_TEMP, 0, 1, MIDDLE, SIZE, SIZE);
    struct graph_operand b = make4(graph, GRAPH_TEMP, 0, 1, 2 * MIDDLE, SIZE, SIZE);
    struct graph_operand y = make4(graph, GRAPH_OUTPUT, 0, 1, TO, SIZE, SIZE);
    make_conv(graph, (struct graph_operand[]){ x, weights(graph, SIZES(MIDDLE, FROM, 1, 1), 7) }, 2, a, 1, 1, 0);
    make_conv(graph, (struct graph_operand[]){ a, weights(graph, SIZES(2 * MIDDLE, 1, 3, 3), 11) }, 2, b, MIDDLE, 1, 1);
    make_conv(graph, (struct graph_operand[]){ b, weights(graph, SIZES(TO, 2 * MIDDLE, 1, 1), 9) }, 2, y, 1, 1, 0);
}

static void pointwise(const double *x, uint32_t from, uint32_t to, uint32_t modulus, double *y)
{
    for (uint32_t o = 0; o < to; o++)
        for (uint32_t p = 0; p < PIXELS; p++) {
            double sum = 0;
            for (uint32_t i = 0; i < from; i++)
                sum += x[i * PIXELS + p] * weight(o * from + i, modulus);
            y[o * PIXELS + p] = sum;
        }
}

static void expect(const float *x, double *y)
{
    double given[FROM * PIXELS], a[MIDDLE * PIXELS], b[2 * MIDDLE * PIXELS];
    for (uint32_t i = 0; i < FROM * PIXELS; i++)
        given[i] = (double)x[i];
    pointwise(given, FROM, MIDDLE, 7, a);
    for (uint32_t i = 0; i < 2 * MIDDLE * PIXELS; i++) {
        const int row = (int)(i % PIXELS / SIZE), column = (int)(i % SIZE);
        b[i] = 0;
        for (int k = 0; k < 9; k++) {
            const int r = row + k / 3 - 1, c = column + k % 3 - 1;
            if (r >= 0 && r < SIZE && c >= 0 && c < SIZE)
                b[i] +=
                    a[i / PIXELS / 2 * PIXELS + (uint32_t)(r * SIZE + c)] * weight(i / PIXELS * 9 + (uint32_t)k, 11);
        }
    }
    pointwise(b, 2 * MIDDLE, TO, 9, y);
}

/* Planes are better for groups, and all else for the others. */
static uint32_t priority(const struct graph_options *options, const struct kern_op *op)
{
    (void)options;
    if (op->kind != KERN_CONV)
        return 0;
    const bool last = op->tensors[0].strides[1] == 1 || op->tensors[op->input_count].strides[1] == 1;
    return last == (op->u.conv.groups > 1) ? 1 : 0;
}

static void test_copies(uint32_t work, bool copied)
{
    static float x[FROM * PIXELS], y[TO * PIXELS];
    static double expected[TO * PIXELS];
    struct graph graph;
    struct make_run data = { { x }, { y } };
    struct graph_backend backend = graph_backend_host;
    struct graph_options options = make_options(0);
    uint32_t moves = 0, last = 0;
    double worst = 0;
    backend.layout_work = work;
    backend.priority = priority;
    options.backend = &backend;
    for (uint32_t i = 0; i < FROM * PIXELS; i++)
        x[i] = (float)(i * 7 % 19) / 8 - 1;
    graph_init(&graph, 1, 1, 0);
    make_network(&graph);
    HRESULT hr = graph_run_passes(&graph, &options);
    for (uint32_t i = 0; i < graph.op_count; i++) {
        const struct kern_op *op = &graph.ops[i]->k;
        moves += op->kind == KERN_MOVE;
        if (op->kind != KERN_CONV)
            continue;
        const uint32_t channels_last = (op->tensors[0].strides[1] == 1) + (op->tensors[2].strides[1] == 1);
        last += channels_last;
        TEST_FOR(op->u.conv.groups == 1 || !channels_last, "work %u", work);
    }
    TEST_FOR(moves == (copied ? 2u : 0u) && last == (copied ? 2u : 0u), "work %u: %u copies, %u tensors of NHWC", work,
             moves, last);
    backend.priority = graph_backend_host.priority;
    if (!make_run_graph(&graph, &options, hr, 0, &data))
        return;
    expect(x, expected);
    for (uint32_t i = 0; i < TO * PIXELS; i++) {
        const double off = fabs((double)y[i] - expected[i]) / (1 + fabs(expected[i]));
        worst = off <= worst ? worst : off; /* NaN stays */
    }
    TEST_FOR(worst <= 1e-5, "work %u: %g", work, worst);
}

int main(void)
{
    base_parallel_enter(2);
    /* (16 * 8 + 16 * 16) multiplications for each pixel, of which 8 + 16 elements would be copied */
    test_copies(15, true);
    test_copies(17, false);
    test_copies(0, false);
    return test_result();
}
