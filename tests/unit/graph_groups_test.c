/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of channels between two convolutions, normalised as exports have it: one of [N, groups, rest] with scales of
 * one and biases of zero, then scale, bias and activation of each channel of the image. All of it becomes one NORM,
 * also with channels innermost; results are compared with double precision. */
#include "graph_make.h"

#include "base/parallel.h"

#include "test.h"

#include <math.h>

#define ROWS      5
#define COLUMNS   7
#define PIXELS    (ROWS * COLUMNS)
#define IMAGES    2
#define CHANNELS  12
#define ELEMENTS  (IMAGES * CHANNELS * PIXELS)
#define EPSILON   1e-5f
#define SCALE(c)  (0.5f + 0.125f * (float)(c))
#define SHIFT(c)  (1.0f - 0.25f * (float)(c))
#define FACTOR(c) (0.25f + 0.5f * (float)(c))

struct variant {
    uint32_t groups;
    float scale, bias; /* those of the NORM itself */
    bool residual;     /* what the first convolution wrote is added before the activation */
    bool whole;        /* the NORM has the dimensions of the image already */
    bool last;         /* the backend wants channels innermost */
};

static struct graph_operand temp(struct graph *graph)
{
    return make4(graph, GRAPH_TEMP, 0, IMAGES, CHANNELS, ROWS, COLUMNS);
}

static struct graph_operand add_norm(struct graph *graph, const struct variant *v, struct graph_operand x)
{
    const uint32_t groups = v->groups, image[] = { IMAGES, CHANNELS, ROWS, COLUMNS };
    const uint32_t flat[] = { IMAGES, groups, CHANNELS / groups * PIXELS };
    const uint32_t rank = v->whole ? 4 : 3, *sizes = v->whole ? image : flat;
    struct graph_operand in[] = { x, make_constant(graph, rank, SIZES(1, groups, 1, 1), v->scale, 0),
                                  make_constant(graph, rank, SIZES(1, groups, 1, 1), v->bias, 0) };
    struct graph_operand y = temp(graph), out = y;
    for (uint32_t i = 1; i < 3; i++)
        in[i].view = graph_view_broadcast(&in[i].view, rank, sizes);
    kern_view_set_packed(&in[0].view, F32, rank, sizes);
    kern_view_set_packed(&out.view, F32, rank, sizes);
    struct graph_op *op = graph_op_add(graph, KERN_NORM, in, 3, &out, 1);
    op->k.u.norm = (struct kern_norm){ v->whole ? 0xc : 4, EPSILON, true, true, true, true };
    return y;
}

static void make_network(struct graph *graph, const struct variant *v)
{
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, IMAGES, CHANNELS, ROWS, COLUMNS), a = temp(graph);
    struct graph_operand w = make_constant(graph, 4, SIZES(CHANNELS, 1, 1, 1), FACTOR(0), FACTOR(1) - FACTOR(0));
    struct graph_operand scale = make_constant(graph, 3, SIZES(CHANNELS, 1, 1), SCALE(0), SCALE(1) - SCALE(0));
    struct graph_operand shift = make_constant(graph, 3, SIZES(CHANNELS, 1, 1), SHIFT(0), SHIFT(1) - SHIFT(0));
    struct graph_operand scaled = temp(graph), shifted = temp(graph), sum = temp(graph), end = temp(graph);
    make_conv(graph, (struct graph_operand[]){ x, w }, 2, a, CHANNELS, 1, 0);
    struct graph_operand y = add_norm(graph, v, a);
    make_map(graph, KERN_MAP_MUL, (struct graph_operand[]){ y, scale }, 2, scaled, 0, 0);
    make_map(graph, KERN_MAP_ADD, (struct graph_operand[]){ scaled, shift }, 2, shifted, 0, 0);
    if (v->residual)
        make_map(graph, KERN_MAP_ADD, (struct graph_operand[]){ shifted, a }, 2, sum, 0, 0);
    make_map(graph, KERN_MAP_SWISH, v->residual ? &sum : &shifted, 1, end, 1, 0);
    make_conv(graph, (struct graph_operand[]){ end, w }, 2,
              make4(graph, GRAPH_OUTPUT, 0, IMAGES, CHANNELS, ROWS, COLUMNS), CHANNELS, 1, 0);
}

static void expect(const struct variant *v, const float *x, double *y)
{
    const uint32_t width = CHANNELS / v->groups;
    for (uint32_t first = 0; first < IMAGES * CHANNELS; first += width) {
        double mean = 0, variance = 0;
        for (uint32_t i = first * PIXELS; i < (first + width) * PIXELS; i++)
            mean += (double)x[i] * (double)FACTOR(i / PIXELS % CHANNELS) / (width * PIXELS);
        for (uint32_t i = first * PIXELS; i < (first + width) * PIXELS; i++)
            variance += pow((double)x[i] * (double)FACTOR(i / PIXELS % CHANNELS) - mean, 2) / (width * PIXELS);
        for (uint32_t i = first * PIXELS; i < (first + width) * PIXELS; i++) {
            const uint32_t c = i / PIXELS % CHANNELS;
            const double a = (double)x[i] * (double)FACTOR(c);
            double n = (a - mean) / sqrt(variance + (double)EPSILON) * (double)v->scale + (double)v->bias;
            n = n * (double)SCALE(c) + (double)SHIFT(c) + (v->residual ? a : 0);
            y[i] = n / (1 + exp(-n)) * (double)FACTOR(c);
        }
    }
}

/* Ops are convolution, normalisation, convolution. */
static void look(const struct graph *graph, const struct variant *v, uint32_t number)
{
    const struct graph_op *norm = graph->op_count == 3 ? graph->ops[1] : NULL;
    if (!TEST_FOR(norm && norm->k.kind == KERN_NORM, "variant %u: %u ops", number, graph->op_count))
        return;
    const struct kern_view *x = &norm->k.tensors[0];
    const uint32_t channel = x->rank == 5 ? 2 : 1;
    const bool plain = v->scale == 1 && v->bias == 0;
    TEST_FOR(norm->k.epilogue && (!plain || (norm->k.u.norm.has_scale && norm->k.u.norm.has_bias)), "variant %u",
             number);
    TEST_FOR(x->sizes[channel] == 1 || x->strides[channel] == (v->last ? 1 : PIXELS), "variant %u", number);
    TEST_FOR(!plain || norm->k.input_count == 3u + v->residual, "variant %u", number);
}

static void test_variant(const struct variant *v, uint32_t number)
{
    static float x[ELEMENTS], y[ELEMENTS];
    static double expected[ELEMENTS];
    struct graph graph;
    struct make_run data = { { x }, { y } };
    struct graph_backend backend = graph_backend_host;
    struct graph_options options = make_options(0);
    double worst = 0;
    backend.norms_last = v->last;
    options.backend = &backend;
    for (uint32_t i = 0; i < ELEMENTS; i++)
        x[i] = (float)((i * 7919 + 13) % 1009) / 504.5f - 1 + (float)(i / PIXELS % 5);
    graph_init(&graph, 1, 1, 0);
    make_network(&graph, v);
    HRESULT hr = graph_run_passes(&graph, &options);
    look(&graph, v, number);
    if (!make_run_graph(&graph, &options, hr, 0, &data))
        return;
    expect(v, x, expected);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        const double off = fabs((double)y[i] - expected[i]) / (1 + fabs(expected[i]));
        worst = off <= worst ? worst : off; /* NaN stays */
    }
    TEST_FOR(worst <= 5e-6, "variant %u: %g", number, worst);
}

int main(void)
{
    static const struct variant variants[] = {
        { .groups = 4, .scale = 1 },
        { .groups = 3, .scale = 1, .residual = true },
        { .groups = 4, .scale = 1, .last = true },
        { .groups = 3, .scale = 1, .residual = true, .last = true },
        { .groups = 1, .scale = 1, .last = true },
        { .groups = CHANNELS, .scale = 1, .last = true },
        { .groups = CHANNELS, .scale = 1, .whole = true, .last = true },
        { .groups = 6, .scale = 2, .bias = 0.5f, .last = true },
        { .groups = 2, .scale = 1, .bias = 0.5f },
    };
    base_parallel_enter(2);
    for (uint32_t i = 0; i < ARRAY_SIZE(variants); i++)
        test_variant(&variants[i], i);
    return test_result();
}
