/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that are bound at initialisation: whatever passes make of constants they make of owned inputs, in the same
 * steps with the same kernels, and any mixture of both gives the same results; another initialisation, other weights.
 */
#include "graph_make.h"

#include "base/cpu.h"
#include "base/parallel.h"

#include "test.h"

#include <math.h>

enum { SIDE = 8, CHANNELS = 16, WIDE = 32, COLUMNS = 24, RESULTS = CHANNELS * SIDE * SIDE, PRODUCTS = 4 };

enum weight {
    EXPAND,
    EXPAND_BIAS,
    SCALE, /* of a batch normalisation: x * SCALE + SHIFT */
    SHIFT,
    DEPTHWISE,
    NARROW,
    NARROW_BIAS,
    FIRST, /* of three products; a matrix whose rows have gaps, */
    SECOND,
    THIRD,   /* the same twice, and one transposed */
    BROAD,   /* a bias of one element for all columns */
    INTEGER, /* of one more product: bytes, with scales and zero points */
    SCALES,
    ZEROS,
    PAIR, /* two that are added before they are used */
    PAIR2,
    WEIGHTS,
};

struct network {
    struct graph graph;
    uint32_t owned;       /* set of weights */
    uint32_t seed;        /* of their values */
    void *slots[WEIGHTS]; /* data of the owned ones */
};

static float number(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 8388608.0f - 1;
}

/* A weight of `count` elements, as constant or as graph input 1 + w. */
static struct graph_operand weight(struct network *net, enum weight w, DML_TENSOR_DATA_TYPE type,
                                   const uint32_t sizes[4])
{
    struct graph_operand out = { GRAPH_NONE, { 0 } };
    uint32_t state = net->seed * 977 + w;
    kern_view_set_packed(&out.view, type, 4, sizes);
    uint64_t count = kern_view_elements(&out.view), bytes = base_align_up(count * kern_type_bytes(type), 4);
    char *data = calloc(1, bytes);
    for (uint64_t i = 0; data && i < count; i++) {
        float value = number(&state);
        if (type == F32)
            ((float *)(void *)data)[i] = w == SCALES ? 0.01f * (2 + value) : value;
        else
            data[i] = (char)(value * 100);
    }
    if (net->owned >> w & 1) {
        out.value = graph_value_add(&net->graph, GRAPH_OWNED, 1 + w, bytes);
        net->slots[w] = data;
    } else {
        out.value = graph_constant_add(&net->graph, data, bytes);
        free(data);
    }
    return out;
}

static struct graph_operand temp(struct network *net, uint32_t c, uint32_t h, uint32_t w)
{
    return make4(&net->graph, GRAPH_TEMP, 0, 1, c, h, w);
}

/* A block as in MobileNetV2, whose middle is normalised. */
static void make_block(struct network *net, struct graph_operand x, struct graph_operand y)
{
    struct graph *graph = &net->graph;
    const uint32_t channel[4] = { 1, WIDE, 1, 1 };
    struct graph_operand a = temp(net, WIDE, SIDE, SIDE), b = a, c = a, d = a, e = a;
    struct graph_operand *all[] = { &b, &c, &d, &e };
    for (uint32_t i = 0; i < ARRAY_SIZE(all); i++)
        *all[i] = temp(net, WIDE, SIDE, SIDE);
    struct graph_operand expand[] = { x, weight(net, EXPAND, F32, SIZES(WIDE, CHANNELS, 1, 1)),
                                      weight(net, EXPAND_BIAS, F32, channel) };
    make_conv(graph, expand, 3, a, 1, 1, 0);
    make_map(graph, KERN_MAP_RELU, &a, 1, b, 0, 0);
    make_conv(graph, (struct graph_operand[]){ b, weight(net, DEPTHWISE, F32, SIZES(WIDE, 1, 3, 3)) }, 2, c, WIDE, 1,
              1);
    make_map(graph, KERN_MAP_FMA,
             (struct graph_operand[]){ c, weight(net, SCALE, F32, channel), weight(net, SHIFT, F32, channel) }, 3, d, 0,
             0);
    make_map(graph, KERN_MAP_RELU, &d, 1, e, 0, 0);
    struct graph_operand narrow[] = { e, weight(net, NARROW, F32, SIZES(CHANNELS, WIDE, 1, 1)),
                                      weight(net, NARROW_BIAS, F32, SIZES(1, CHANNELS, 1, 1)) };
    make_conv(graph, narrow, 3, y, 1, 1, 0);
}

static struct graph_operand output(struct network *net, uint32_t index)
{
    return make_value(&net->graph, GRAPH_OUTPUT, index, F32, 4, SIZES(1, 1, 1, COLUMNS));
}

/* Three products of one row, ready to be merged: read only by a copy each. */
static void make_products(struct network *net, struct graph_operand row)
{
    struct graph *graph = &net->graph;
    struct graph_operand bias = weight(net, BROAD, F32, SIZES(1, 1, 1, 1));
    bias.view = graph_view_broadcast(&bias.view, 4, SIZES(1, 1, 1, COLUMNS));
    for (uint32_t i = 0; i < 3; i++) {
        struct graph_operand w, y = temp(net, 1, 1, COLUMNS);
        if (i == 0) { /* every other row */
            w = weight(net, FIRST, F32, SIZES(1, 1, 2 * CHANNELS, COLUMNS));
            w.view.sizes[2] = CHANNELS;
            w.view.strides[2] *= 2;
        } else if (i == 1) { /* transposed */
            w = weight(net, SECOND, F32, SIZES(1, 1, COLUMNS, CHANNELS));
            w.view.sizes[2] = CHANNELS;
            w.view.sizes[3] = COLUMNS;
            w.view.strides[2] = 1;
            w.view.strides[3] = CHANNELS;
        } else {
            w = weight(net, THIRD, F32, SIZES(1, 1, CHANNELS, COLUMNS));
        }
        make_gemm(graph, (struct graph_operand[]){ row, w, bias }, 3, y);
        if (i == 2) /* the same matrix again */
            make_gemm(graph, (struct graph_operand[]){ row, w, bias }, 3, output(net, 4));
        make_softmax(graph, y, output(net, 1 + i));
    }
}

/* Products of the row with dequantised bytes, and with a sum of two weights. */
static void make_more(struct network *net, struct graph_operand row)
{
    const DML_TENSOR_DATA_TYPE bytes = DML_TENSOR_DATA_TYPE_INT8;
    struct graph_operand q = weight(net, INTEGER, bytes, SIZES(1, 1, CHANNELS, COLUMNS));
    struct graph_operand scale = weight(net, SCALES, F32, SIZES(1, 1, 1, COLUMNS));
    struct graph_operand zero = weight(net, ZEROS, bytes, SIZES(1, 1, 1, COLUMNS));
    struct graph_operand w = temp(net, 1, CHANNELS, COLUMNS), sum = temp(net, 1, CHANNELS, COLUMNS);
    make_scaled(&net->graph, false, q, scale, zero, w);
    make_gemm(&net->graph, (struct graph_operand[]){ row, w }, 2, output(net, 5));
    struct graph_operand pair[] = { weight(net, PAIR, F32, SIZES(1, 1, CHANNELS, COLUMNS)),
                                    weight(net, PAIR2, F32, SIZES(1, 1, 1, COLUMNS)) };
    make_map(&net->graph, KERN_MAP_ADD, pair, 2, sum, 0, 0);
    make_gemm(&net->graph, (struct graph_operand[]){ row, sum }, 2, output(net, 6));
}

enum { OUTPUTS = 7 };

static void make_network(struct network *net, uint32_t owned, uint32_t seed)
{
    *net = (struct network){ .owned = owned, .seed = seed };
    graph_init(&net->graph, 1 + WEIGHTS, OUTPUTS, 0);
    struct graph_operand x = make4(&net->graph, GRAPH_INPUT, 0, 1, CHANNELS, SIDE, SIDE);
    struct graph_operand y = make4(&net->graph, GRAPH_OUTPUT, 0, 1, CHANNELS, SIDE, SIDE);
    struct graph_operand block = temp(net, CHANNELS, SIDE, SIDE), row = x;
    make_block(net, x, block);
    make_map(&net->graph, KERN_MAP_ADD, (struct graph_operand[]){ block, x }, 2, y, 0, 0);
    kern_view_set_packed(&row.view, F32, 4, SIZES(1, 1, 1, CHANNELS));
    make_products(net, row);
    make_more(net, row);
}

struct results {
    float y[OUTPUTS][RESULTS];
};

struct compiled {
    struct network net;
    struct graph_plan *plan;
    uint32_t step_count;
};

static bool compile(struct compiled *c, uint32_t owned, uint32_t seed, const struct graph_options *options)
{
    char error[256] = "";
    make_network(&c->net, owned, seed);
    HRESULT hr = graph_run_passes(&c->net.graph, options);
    if (SUCCEEDED(hr))
        hr = graph_plan_create(&c->net.graph, options, &c->plan, error);
    graph_finish(&c->net.graph);
    return TEST_FOR(SUCCEEDED(hr), "owned 0x%x: %s", owned, error);
}

static void compiled_finish(struct compiled *c)
{
    graph_plan_destroy(c->plan);
    for (uint32_t w = 0; w < WEIGHTS; w++)
        free(c->net.slots[w]);
}

/* Runs with the weights in `slots`. */
static bool run(const struct graph_plan *plan, void *const *slots, struct results *out)
{
    static float x[RESULTS];
    uint32_t state = 5;
    struct make_run run = { 0 };
    void *inputs[1 + WEIGHTS] = { x };
    for (uint32_t i = 0; i < RESULTS; i++)
        x[i] = number(&state);
    memcpy(inputs + 1, slots, WEIGHTS * sizeof(*slots));
    memset(out, 0xa5, sizeof(*out));
    for (uint32_t i = 0; i < OUTPUTS; i++)
        run.outputs[i] = out->y[i];
    void *temp = aligned_alloc(256, plan->temp_bytes + 256),
         *state_bytes = aligned_alloc(256, plan->persistent_bytes + 256);
    bool ok = temp && state_bytes;
    if (ok) {
        memset(state_bytes, 0xa5, plan->persistent_bytes);
        ok = TEST(SUCCEEDED(graph_plan_initialize(plan, inputs, state_bytes)));
        memset(inputs + 1, 0, WEIGHTS * sizeof(*slots)); /* no step may read them */
        graph_plan_run(plan, &(struct graph_buffers){ inputs, run.outputs, temp, state_bytes }, NULL);
    }
    free(temp);
    free(state_bytes);
    return ok;
}

static uint32_t length(uint32_t output)
{
    return output ? COLUMNS : RESULTS;
}

static bool equal(const struct results *a, const struct results *b)
{
    for (uint32_t o = 0; o < OUTPUTS; o++)
        for (uint32_t i = 0; i < length(o); i++)
            if (!(fabsf(a->y[o][i] - b->y[o][i]) <= 1e-4f * (1 + fabsf(a->y[o][i])))) {
                fprintf(stderr, "output %u, element %u: %g and %g\n", o, i, (double)a->y[o][i], (double)b->y[o][i]);
                return false;
            }
    return true;
}

static void same_steps(const struct graph_plan *a, const struct graph_plan *b)
{
    if (!TEST_FOR(a->step_count == b->step_count, "%u and %u steps", a->step_count, b->step_count))
        return;
    for (uint32_t i = 0; i < a->step_count; i++)
        TEST_FOR(a->steps[i].u.host.row == b->steps[i].u.host.row &&
                     a->steps[i].op.packed_input == b->steps[i].op.packed_input,
                 "step %u: %s and %s", i, a->steps[i].u.host.row->name, b->steps[i].u.host.row->name);
}

/* Owned weights take the steps that constants take; initialised with others, the plan gives the others' results. */
static void test_all(const struct graph_options *options)
{
    struct compiled constant = { 0 }, owned = { 0 }, other = { 0 };
    static struct results plain, bound, others;
    const uint32_t all = (UINT32_C(1) << WEIGHTS) - 1;
    if (compile(&constant, 0, 1, options) && compile(&owned, all, 1, options) && compile(&other, 0, 2, options)) {
        struct network second;
        same_steps(constant.plan, owned.plan);
        bool good = run(constant.plan, constant.net.slots, &plain) && run(owned.plan, owned.net.slots, &bound) &&
                    run(other.plan, other.net.slots, &others);
        TEST(good && equal(&plain, &bound) && !equal(&plain, &others));
        TEST(owned.plan->persistent_bytes > 0 && constant.plan->persistent_bytes <= owned.plan->persistent_bytes);
        make_network(&second, all, 2);
        graph_finish(&second.graph);
        TEST(run(owned.plan, second.slots, &bound) && equal(&others, &bound));
        TEST(run(owned.plan, owned.net.slots, &bound) && equal(&plain, &bound));
        for (uint32_t w = 0; w < WEIGHTS; w++)
            free(second.slots[w]);
    }
    compiled_finish(&constant);
    compiled_finish(&owned);
    compiled_finish(&other);
}

/* Any of them owned, the rest constants. */
static void test_mixtures(const struct graph_options *options, uint32_t count)
{
    struct compiled constant = { 0 };
    static struct results plain, mixed;
    uint32_t state = 99;
    bool good = compile(&constant, 0, 3, options) && run(constant.plan, constant.net.slots, &plain);
    for (uint32_t i = 0; good && i < count + WEIGHTS; i++) {
        struct compiled c = { 0 };
        number(&state);
        uint32_t owned = i < WEIGHTS ? UINT32_C(1) << i : state >> 8 & ((UINT32_C(1) << WEIGHTS) - 1);
        if (compile(&c, owned, 3, options))
            TEST_FOR(run(c.plan, c.net.slots, &mixed) && equal(&plain, &mixed), "owned 0x%x", owned);
        compiled_finish(&c);
    }
    compiled_finish(&constant);
}

/* Passes and plain kernels agree. */
static void test_plain(const struct graph_options *options)
{
    struct graph_options none = make_options(GRAPH_PASSES_ALL);
    struct compiled a = { 0 }, b = { 0 };
    static struct results x, y;
    const uint32_t all = (UINT32_C(1) << WEIGHTS) - 1;
    if (compile(&a, 0, 4, &none) && compile(&b, all, 4, options))
        TEST(run(a.plan, a.net.slots, &x) && run(b.plan, b.net.slots, &y) && equal(&x, &y));
    compiled_finish(&a);
    compiled_finish(&b);
}

int main(void)
{
    struct graph_options portable = make_options(0), best;
    base_parallel_enter(2);
    graph_options_init(&best, &graph_backend_host, 2);
    best.disabled_passes = 0;
    const struct graph_options *options[] = { &portable, &best };
    for (uint32_t i = 0; i < ARRAY_SIZE(options); i++) {
        test_all(options[i]);
        test_mixtures(options[i], 60);
        test_plain(options[i]);
    }
    return test_result();
}
