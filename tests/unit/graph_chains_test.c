/* SPDX-License-Identifier: Apache-2.0 */
/* Chains: which steps one dispatch does, in memory of their own; and what its parameters say, carried out here. */
#include "graph_make.h"

#include "base/half.h"
#include "shaders/meta/gemm_chain_params.h"
#include "shaders/shader.h"

#include <math.h>

#define ROWS  40
#define WIDTH 256
#define DEPTH 1024

enum form { PLAIN, TO_OUTPUT, OWN_RESIDUAL, MANY_ROWS, OTHER_ROWS, TWO_CHAINS };

struct net {
    struct graph graph;
    uint32_t result; /* value of the chain's end */
};

static float number(uint32_t seed, uint32_t i)
{
    return (float)((i * 7919u + seed * 104729u) % 2001u) / 1000.0f - 1.0f;
}

static struct graph_operand half_constant(struct graph *graph, uint32_t rank, const uint32_t *sizes, uint32_t seed,
                                          float scale)
{
    struct graph_operand operand = { GRAPH_NONE, { 0 } };
    kern_view_set_packed(&operand.view, F16, rank, sizes);
    const uint32_t count = (uint32_t)kern_view_elements(&operand.view);
    uint16_t *data = base_arena_alloc(&graph->arena, count * sizeof(*data));
    for (uint32_t i = 0; i < count; i++)
        data[i] = base_float_to_half(number(seed, i) * scale);
    operand.value = graph_constant_add(graph, data, count * sizeof(*data));
    return operand;
}

static struct graph_operand temp_of(struct graph *graph, uint32_t rows, uint32_t width)
{
    return make_value(graph, GRAPH_TEMP, 0, F16, 4, SIZES(1, 1, rows, width));
}

/* code(x times a constant matrix, plus a constant or `more`) */
static struct graph_operand add_product(struct graph *graph, struct graph_operand x, uint32_t width, uint32_t seed,
                                        enum kern_map_code code, const struct graph_operand *more)
{
    const uint32_t rows = x.view.sizes[2], depth = x.view.sizes[3];
    const float scale = 1.5f / sqrtf((float)depth);
    struct graph_operand y = temp_of(graph, rows, width), z = temp_of(graph, rows, width);
    struct graph_operand w = half_constant(graph, 4, SIZES(1, 1, depth, width), seed, scale);
    struct graph_operand b = half_constant(graph, 4, SIZES(1, 1, 1, width), seed + 1, 0.5f);
    make_gemm(graph, (struct graph_operand[]){ x, w }, 2, y);
    make_map(graph, code, (struct graph_operand[]){ y, more ? *more : b }, code == KERN_MAP_ADD ? 2 : 1, z, 0, 0);
    return z;
}

static struct graph_operand add_norm(struct graph *graph, struct graph_operand x, uint32_t seed)
{
    struct graph_operand in[3] = { x }, y = temp_of(graph, x.view.sizes[2], x.view.sizes[3]);
    for (uint32_t i = 1; i < 3; i++) {
        in[i] = half_constant(graph, 4, SIZES(1, 1, 1, x.view.sizes[3]), seed + i, 1);
        in[i].view = graph_view_broadcast(&in[i].view, 4, x.view.sizes);
    }
    struct graph_op *op = graph_op_add(graph, KERN_NORM, in, 3, &y, 1);
    op->k.u.norm = (struct kern_norm){
        .axes = 8, .epsilon = 1e-5f, .use_mean = true, .use_variance = true, .has_scale = true, .has_bias = true
    };
    return y;
}

static struct graph_operand add_chain(struct graph *graph, struct graph_operand x, enum form form, uint32_t seed)
{
    struct graph_operand a = add_product(graph, x, WIDTH, seed, KERN_MAP_ADD, &x), n = add_norm(graph, a, seed + 3);
    struct graph_operand b = form == OWN_RESIDUAL ? add_product(graph, n, WIDTH, seed + 6, KERN_MAP_ADD, &n)
                                                  : add_product(graph, n, DEPTH, seed + 6, KERN_MAP_RELU, NULL);
    if (form == OTHER_ROWS) { /* b's rows are as many times as many */
        b.view = a.view;
        b.view.sizes[2] *= DEPTH / WIDTH;
        b.view.strides[0] = b.view.strides[1] *= DEPTH / WIDTH;
        return add_product(graph, b, WIDTH, seed + 9, KERN_MAP_RELU, NULL);
    }
    return add_product(graph, b, WIDTH, seed + 9, KERN_MAP_ADD, &n);
}

static void make_net(struct net *net, enum form form, bool reference)
{
    struct graph *graph = &net->graph;
    const uint32_t rows = form == MANY_ROWS ? 4000 : ROWS;
    graph_init(graph, 1, 1, 0);
    struct graph_operand x = make_value(graph, GRAPH_INPUT, 0, F16, 4, SIZES(1, 1, rows, WIDTH)), y = x;
    for (uint32_t i = 0; i < (form == TWO_CHAINS ? 2u : 1u); i++) {
        struct graph_operand end = add_chain(graph, y, form, 20 * i);
        net->result = end.value;
        y = temp_of(graph, rows, WIDTH);
        if (!reference && form != TO_OUTPUT)
            make_softmax(graph, end, form == OTHER_ROWS ? (y = temp_of(graph, end.view.sizes[2], WIDTH)) : y);
        else
            y = end;
    }
    graph->values[y.value].place = GRAPH_OUTPUT;
}

static struct graph_plan *plan_of(struct graph *graph, const struct graph_backend *backend, struct graph_store *store,
                                  uint32_t disabled)
{
    struct graph_options options;
    struct graph_plan *plan = NULL;
    char error[256] = "";
    graph_options_init(&options, backend, 1);
    options.store = store;
    options.disabled_passes = disabled;
    HRESULT hr = graph_run_passes(graph, &options);
    if (SUCCEEDED(hr))
        hr = graph_plan_create(graph, &options, &plan, error);
    TEST_FOR(SUCCEEDED(hr), "%s", error);
    graph_finish(graph);
    return plan;
}

/* Lengths of the plan's chains; a digit each. */
static void lengths_of(const struct graph_plan *plan, char *out)
{
    for (uint32_t i = 0; i < plan->step_count; i++)
        if (plan->steps[i].chain)
            *out++ = (char)('0' + plan->steps[i].chain);
    *out = 0;
}

/* Nothing that is in use during a chain shares memory. */
static bool lies_apart(const struct graph_plan *plan)
{
    for (uint32_t i = 0; i < plan->step_count; i++)
        for (uint32_t a = 0; plan->steps[i].chain && a < plan->block_count; a++)
            for (uint32_t b = 0; b < a; b++) {
                const struct plan_block *x = &plan->blocks[a], *y = &plan->blocks[b];
                const uint32_t end = i + plan->steps[i].chain;
                if (x->first < end && y->first < end && x->last >= i && y->last >= i &&
                    x->offset < y->offset + y->size && y->offset < x->offset + x->size)
                    return false;
            }
    return true;
}

/* ---- carried out ---- */

enum { BASE_TEMP, BASE_INPUT, BASE_CONSTANTS, BASES = 64 };

static char *bases[BASES];
static uint32_t base_count;

static void *at(u64 address)
{
    return bases[(address >> SHADER_ADDRESS_BITS) - 1] + (address & ((UINT64_C(1) << SHADER_ADDRESS_BITS) - 1));
}

static void find_places(const struct graph_step *step, struct shader_place *places)
{
    for (uint32_t t = 0; t < step->op.input_count + step->op.output_count; t++) {
        const struct graph_location *where = &step->where[t];
        places[t] = (struct shader_place){ where->buffer == GRAPH_BUFFER_TEMP ? BASE_TEMP : BASE_INPUT, where->offset };
        if (where->buffer != GRAPH_BUFFER_CONSTANT || !TEST(base_count < BASES))
            continue;
        places[t].base = base_count;
        bases[base_count++] = (char *)(uintptr_t)where->data;
    }
}

static void normalize(const struct gemm_chain_step *s, uint32_t row, const uint16_t *x, float *out)
{
    const uint32_t count = s->product.k;
    const uint16_t *scale = at(s->gamma), *bias = at(s->beta);
    uint16_t *stored = (uint16_t *)at(s->normal) + (size_t)row * (size_t)s->normal_m;
    double mean = 0, squares = 0;
    for (uint32_t i = 0; i < count; i++)
        mean += base_half_to_float(x[i]) / count;
    for (uint32_t i = 0; i < count; i++)
        squares += (base_half_to_float(x[i]) - mean) * (base_half_to_float(x[i]) - mean) / count;
    for (uint32_t i = 0; i < count; i++) {
        const double y = (base_half_to_float(x[i]) - mean) / sqrt(squares + s->epsilon);
        stored[i] = base_float_to_half((float)y * base_half_to_float(scale[i]) + base_half_to_float(bias[i]));
        out[i] = base_half_to_float(stored[i]);
    }
}

static float finish(const struct gemm_meta_params *p, float value, int64_t y_at, uint32_t column)
{
    for (uint32_t i = 0; i < p->epilogue.count; i++) {
        const struct meta_step *step = &p->epilogue.steps[i];
        if (step->code == META_RELU)
            value = value < 0 ? 0 : value;
        else if (TEST(step->code == META_ADD && step->type == META_FLOAT16))
            value += base_half_to_float(
                ((uint16_t *)at(p->epilogue.operands[i]))[step->place == META_PLACE_RESULT ? y_at : (int64_t)column]);
    }
    return value;
}

static void run_step(const struct gemm_chain_step *s)
{
    const struct gemm_meta_params *p = &s->product;
    const uint16_t *b = at(p->b);
    float row[DEPTH];
    TEST(s->splits * s->units >= p->k / 32 && s->units <= GEMM_CHAIN_UNITS);
    TEST(s->splits == 1 || s->partials);
    for (uint32_t m = 0; m < p->m; m++) {
        const uint16_t *a = (const uint16_t *)at(p->a) + (size_t)m * (size_t)p->a_m;
        for (uint32_t k = 0; k < p->k && !s->gamma; k++)
            row[k] = base_half_to_float(a[k]);
        if (s->gamma)
            normalize(s, m, a, row);
        for (uint32_t n = 0; n < p->n; n++) {
            const int64_t y_at = (int64_t)m * p->y_m + (int64_t)n * p->y_n;
            float sum = 0;
            for (uint32_t k = 0; k < p->k; k++)
                sum +=
                    row[k] * base_half_to_float(b[(size_t)(n / 8 * (p->k / 32) + k / 32) * 256 + n % 8 * 32 + k % 32]);
            ((uint16_t *)at(p->y))[y_at] = base_float_to_half(finish(p, sum, y_at, n));
        }
    }
}

static void run_chain(const struct graph_plan *plan, const struct graph_step *head)
{
    struct shader_place places[SHADER_CHAIN_MAX][KERN_TENSORS_MAX + 1];
    const struct shader_place *each[SHADER_CHAIN_MAX];
    struct shader_link links[SHADER_CHAIN_MAX];
    struct gemm_chain_params params;
    const struct shader_place scratch = { BASE_TEMP, head->scratch_offset };
    const struct shader_place zeroed = { BASE_TEMP, plan->zeroed_offset + head->zeroed_offset };
    memset(&params, 0, sizeof(params));
    for (uint32_t i = 0; i < head->chain; i++) {
        find_places(&head[i], places[i]);
        each[i] = places[i];
        links[i] = (struct shader_link){ &head[i].op, head[i].shaders, NULL };
    }
    shader_chain_write(links, head->chain, each, &scratch, &zeroed, (uint32_t *)&params);
    for (uint32_t i = 0; i < params.steps[0].count; i++) {
        TEST(params.steps[i].count == params.steps[0].count && params.steps[i].pieces == params.steps[0].pieces);
        run_step(&params.steps[i]);
    }
}

static void test_results(struct graph_store *store)
{
    static uint16_t x[ROWS * WIDTH], want[ROWS * WIDTH];
    struct make_run run = { .inputs = { x }, .outputs = { want } };
    struct net net;
    for (uint32_t i = 0; i < ROWS * WIDTH; i++)
        x[i] = base_float_to_half(number(99, i));
    make_net(&net, PLAIN, true);
    struct graph_plan *plan = plan_of(&net.graph, &graph_backend_host, NULL, 0);
    if (!TEST(plan != NULL) || !TEST(make_execute(plan, &run)))
        return;
    graph_plan_destroy(plan);
    make_net(&net, PLAIN, false);
    plan = plan_of(&net.graph, &graph_backend_spirv, store, 0);
    if (!TEST(plan != NULL) || !TEST(plan->steps[0].chain == 4))
        return;
    const struct graph_location *end = &plan->steps[3].where[plan->steps[3].op.input_count];
    base_count = BASE_CONSTANTS;
    bases[BASE_TEMP] = malloc(plan->temp_bytes);
    bases[BASE_INPUT] = (char *)x;
    run_chain(plan, &plan->steps[0]);
    const uint16_t *got = (const uint16_t *)(bases[BASE_TEMP] + end->offset);
    float worst = 0;
    for (uint32_t i = 0; i < ROWS * WIDTH; i++)
        worst = fmaxf(worst, fabsf(base_half_to_float(got[i]) - base_half_to_float(want[i])));
    TEST_FOR(worst < 0.03f, "differ by %g", (double)worst);
    free(bases[BASE_TEMP]);
    graph_plan_destroy(plan);
}

static void test_found(struct graph_store *store, enum form form, uint32_t disabled, const char *lengths)
{
    struct net net;
    char found[16];
    make_net(&net, form, false);
    struct graph_plan *plan = plan_of(&net.graph, &graph_backend_spirv, store, disabled);
    if (!TEST(plan != NULL))
        return;
    lengths_of(plan, found);
    TEST_FOR(!strcmp(found, lengths), "form %d: chains of %s", (int)form, found);
    TEST(lies_apart(plan));
    for (uint32_t i = 0, chains = 0; i < plan->step_count; i++)
        if (plan->steps[i].chain)
            TEST(plan->steps[i].shaders->dispatch_count == (chains++ ? 1u : 2u));
    graph_plan_destroy(plan);
}

int main(void)
{
    struct graph_store *store = graph_store_create();
    if (!TEST(store != NULL))
        return test_result();
    test_results(store);
    test_found(store, PLAIN, 0, "4");
    test_found(store, PLAIN, GRAPH_PASS_BIT(chains), "");
    test_found(store, TO_OUTPUT, 0, "3");
    test_found(store, OWN_RESIDUAL, 0, "2"); /* the products behind it */
    test_found(store, MANY_ROWS, 0, "");
    test_found(store, OTHER_ROWS, 0, "3");
    test_found(store, TWO_CHAINS, 0, "44");
    graph_store_destroy(store);
    return test_result();
}
