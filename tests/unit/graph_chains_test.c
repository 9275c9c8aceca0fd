/* SPDX-License-Identifier: Apache-2.0 */
/* Chains: which steps run without barriers, in memory of their own, and what each of them waits for. */
#include "graph_make.h"

#include "base/half.h"
#include "shaders/cuda/conv_meta_params.h"
#include "shaders/cuda/gemm_meta_params.h"
#include "shaders/cuda/norm_meta_params.h"
#include "shaders/shader.h"

#include <math.h>

#define ROWS  40
#define WIDTH 256
#define DEPTH 1024

enum form { PLAIN, BESIDE, TO_OUTPUT, MANY_ROWS, LARGE_RESULTS, TWO_CHAINS, CONVS };

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
    struct graph_operand b = add_product(graph, n, DEPTH, seed + 6, KERN_MAP_RELU, NULL);
    if (form == BESIDE) { /* the product behind that waits for both */
        struct graph_operand c = add_product(graph, n, WIDTH, seed + 12, KERN_MAP_RELU, NULL);
        return add_product(graph, b, WIDTH, seed + 9, KERN_MAP_ADD, &c);
    }
    return add_product(graph, b, WIDTH, seed + 9, KERN_MAP_ADD, &n);
}

/* Between convolutions tensors become NHWC. */
static void make_convs(struct graph *graph)
{
    const uint32_t *sizes = SIZES(1, 64, 14, 14);
    graph_init(graph, 1, 1, 0);
    struct graph_operand x = make_value(graph, GRAPH_INPUT, 0, F16, 4, sizes);
    for (uint32_t i = 0; i < 4; i++) {
        struct graph_operand w = half_constant(graph, 4, SIZES(64, 64, 3, 3), i, 0.1f);
        struct graph_operand y = make_value(graph, i < 3 ? GRAPH_TEMP : GRAPH_OUTPUT, 0, F16, 4, sizes);
        make_conv(graph, (struct graph_operand[]){ x, w }, 2, y, 1, 1, 1);
        x = y;
    }
}

static void make_net(struct graph *graph, enum form form)
{
    const uint32_t rows = form == MANY_ROWS ? 4000 : form == LARGE_RESULTS ? 10000 : ROWS;
    if (form == CONVS) {
        make_convs(graph);
        return;
    }
    graph_init(graph, 1, 1, 0);
    struct graph_operand x = make_value(graph, GRAPH_INPUT, 0, F16, 4, SIZES(1, 1, rows, WIDTH)), y = x;
    for (uint32_t i = 0; i < (form == TWO_CHAINS ? 2u : 1u); i++) {
        struct graph_operand end = add_chain(graph, y, form, 20 * i);
        y = temp_of(graph, rows, WIDTH);
        if (form != TO_OUTPUT)
            make_softmax(graph, end, y);
        else
            y = end;
    }
    graph->values[y.value].place = GRAPH_OUTPUT;
}

static struct graph_plan *plan_of(struct graph *graph, const struct graph_backend *backend, struct graph_store *store,
                                  uint64_t disabled)
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

/* Each step waits for all workgroups of the one before, and for nothing else. */
static bool in_order(const struct graph_step *head)
{
    const struct shader_place counters = { 0, 0 }, places[KERN_TENSORS_MAX + 1] = { { 0, 0 } };
    union {
        struct gemm_meta_params product;
        struct norm_meta_params norm;
        struct conv_meta_params conv;
        uint32_t words[META_PARAMETERS_MAX / 4];
    } params;
    struct meta_turn turn, last = { 0 };
    uint32_t groups = 0;
    for (uint32_t i = 0; i < head->chain; i++) {
        const struct graph_step *step = &head[i];
        const struct shader_dispatch *dispatch =
            &step->u.spirv.work->dispatches[step->u.spirv.work->dispatch_count - 1];
        const struct shader_chain_at at = { &step->op, step->u.spirv.work->row, i, i ? step[-1].u.spirv.work : NULL,
                                            &counters };
        memset(&params, 0, sizeof(params));
        shader_chain_write(&at, places, params.words);
        turn = step->op.kind == KERN_NORM   ? params.norm.turn
               : step->op.kind == KERN_CONV ? params.conv.turn
                                            : params.product.turn;
        if (step->turn != i || turn.count != groups || (i && turn.before != last.after) ||
            turn.after * sizeof(u32) >= head->zeroed_bytes || (i && turn.after <= last.after))
            return false;
        groups = dispatch->groups[0] * dispatch->groups[1] * dispatch->groups[2];
        last = turn;
    }
    return true;
}

static void test_found(struct graph_store *store, enum form form, uint64_t disabled, const char *lengths)
{
    struct graph graph;
    char found[16];
    make_net(&graph, form);
    struct graph_plan *plan = plan_of(&graph, &graph_backend_spirv, store, disabled);
    if (!TEST(plan != NULL))
        return;
    lengths_of(plan, found);
    TEST_FOR(!strcmp(found, lengths), "form %d: chains of %s", (int)form, found);
    TEST(lies_apart(plan));
    for (uint32_t i = 0, chains = 0; i < plan->step_count; i++)
        if (plan->steps[i].chain)
            TEST(plan->steps[i].u.spirv.work->dispatch_count == (chains++ ? 1u : 2u) && in_order(&plan->steps[i]));
    graph_plan_destroy(plan);
}

int main(void)
{
    struct graph_store *store = graph_store_create();
    if (!TEST(store != NULL))
        return test_result();
    test_found(store, PLAIN, 0, "4");
    test_found(store, PLAIN, GRAPH_PASS_BIT(chains), "");
    test_found(store, BESIDE, 0, "4"); /* one product of both, of which the next one reads parts */
    test_found(store, TO_OUTPUT, 0, "3");
    test_found(store, MANY_ROWS, 0, "4");
    test_found(store, LARGE_RESULTS, 0, "2");
    test_found(store, CONVS, 0, "3"); /* the first one has a dispatch that packs its input */
    test_found(store, TWO_CHAINS, 0, "44");
    graph_store_destroy(store);
    return test_result();
}
