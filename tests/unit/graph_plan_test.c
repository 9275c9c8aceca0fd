/* SPDX-License-Identifier: Apache-2.0 */
/* Places in the temporary and the persistent buffer. */
#include "graph_make.h"

#include "base/cpu.h"

#include "test.h"

static uint32_t seed = 7;

static uint32_t rnd(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)(seed >> 8) * below) >> 24);
}

static bool together(const struct plan_block *a, const struct plan_block *b)
{
    return a->first <= b->last && b->first <= a->last;
}

static uint64_t in_use_at(const struct plan_block *blocks, uint32_t count, uint32_t step)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        if (blocks[i].first <= step && step <= blocks[i].last)
            sum += blocks[i].size;
    return sum;
}

static void test_blocks(void)
{
    struct plan_block blocks[40];
    for (uint32_t round = 0; round < 2000; round++) {
        uint32_t count = rnd(40), steps = 1 + rnd(30);
        uint64_t bytes = 1, least = 1, most = 0;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t first = rnd(steps);
            blocks[i] = (struct plan_block){ rnd(3) ? rnd(5000) : 256 * rnd(8), first, first + rnd(steps - first), 0 };
        }
        TEST(plan_place_blocks(blocks, count, 256, &bytes, &least) == S_OK);
        for (uint32_t i = 0; i < count; i++) {
            TEST(blocks[i].offset % 256 == 0 && blocks[i].offset + blocks[i].size <= bytes);
            for (uint32_t k = 0; k < i; k++)
                TEST_FOR(!together(&blocks[i], &blocks[k]) || blocks[i].offset + blocks[i].size <= blocks[k].offset ||
                             blocks[k].offset + blocks[k].size <= blocks[i].offset,
                         "blocks %u and %u of round %u", i, k, round);
        }
        for (uint32_t step = 0; step < steps; step++)
            most = BASE_MAX(most, in_use_at(blocks, count, step));
        TEST(least == most && bytes >= least);
    }
    struct plan_block huge[3] = { { UINT64_C(1) << 62, 0, 1, 0 }, { UINT64_C(1) << 62, 0, 1, 0 }, { 1, 0, 1, 0 } };
    uint64_t bytes, least;
    TEST(plan_place_blocks(huge, 3, 256, &bytes, &least) == E_OUTOFMEMORY);
    huge[0].size = UINT64_MAX;
    TEST(plan_place_blocks(huge, 1, 256, &bytes, &least) == E_OUTOFMEMORY);
}

/* So many are in use at one time that they are placed in the order of the steps. */
static void test_many_blocks(void)
{
    const uint32_t count = 6000;
    struct plan_block *blocks = calloc(count, sizeof(*blocks));
    uint8_t *taken = calloc(count, 16);
    uint64_t bytes = 0, least = 0;
    for (uint32_t i = 0; i < count; i++)
        blocks[i] = (struct plan_block){ 256 * (1 + rnd(4)), i, BASE_MIN(i + 500 + rnd(2000), 2 * count), 0, 0 };
    TEST(plan_place_blocks(blocks, count, 256, &bytes, &least) == S_OK);
    TEST(bytes >= least && bytes < least * 2);
    for (uint32_t step = 0; step < count; step += 97) {
        memset(taken, 0, count * 16);
        for (uint32_t i = 0; i < count; i++)
            for (uint64_t at = blocks[i].offset / 256; at < (blocks[i].offset + blocks[i].size) / 256; at++)
                if (blocks[i].first <= step && step <= blocks[i].last)
                    TEST_FOR(blocks[i].offset % 256 == 0 && at < count * UINT64_C(16) && !taken[at]++, "block %u", i);
    }
    free(taken);
    free(blocks);
}

/* Scratch memory is as large as the work: none in the temporary buffer for a few elements, and of what lies there one
 * piece for each range of the step, not for each thread. */
static void test_scratch(void)
{
    for (uint32_t kind = 0; kind < 3; kind++) {
        struct graph graph;
        struct graph_plan *plan = NULL;
        struct graph_options options = make_options(0);
        char error[256] = "";
        options.threads = 8;
        options.cpu = base_cpu_flags();
        graph_init(&graph, 1, 1, 0);
        struct graph_operand x = make_value(&graph, GRAPH_INPUT, 0, F32, 2, SIZES(1, 10)), y = x;
        y = make_value(&graph, GRAPH_OUTPUT, 0, F32, 2, SIZES(1, kind == 2 ? 1 : 10));
        struct graph_op *op = graph_op_add(&graph,
                                           kind == 0   ? KERN_SOFTMAX
                                           : kind == 1 ? KERN_NORM
                                                       : KERN_REDUCE,
                                           &x, 1, &y, 1);
        if (kind == 0)
            op->k.u.softmax = (struct kern_softmax){ KERN_SOFTMAX_PLAIN, 2 };
        else if (kind == 1)
            op->k.u.norm = (struct kern_norm){ .axes = 2, .epsilon = 1, .use_mean = true, .use_variance = true };
        else
            op->k.u.reduce = (struct kern_reduce){ .function = DML_REDUCE_FUNCTION_SUM, .axes = 2 };
        HRESULT hr = graph_plan_create(&graph, &options, &plan, error);
        if (TEST_FOR(hr == S_OK, "%s", error))
            TEST_FOR(plan->temp_bytes == 0, "kind %u: %llu bytes", kind, (unsigned long long)plan->temp_bytes);
        graph_finish(&graph);
        graph_plan_destroy(plan);
    }
}

static void test_worker_scratch(void)
{
    struct graph graph;
    struct graph_plan *plan = NULL;
    struct graph_options options = make_options(0);
    char error[256] = "";
    options.threads = 8;
    options.cpu = base_cpu_flags();
    graph_init(&graph, 3, 1, 0);
    struct graph_operand in[3];
    for (uint32_t i = 0; i < 3; i++)
        in[i] = make4(&graph, GRAPH_INPUT, i, 1, 1, 8, 64);
    struct graph_operand out = make4(&graph, GRAPH_OUTPUT, 0, 1, 1, 8, 64);
    graph_op_add(&graph, KERN_ATTENTION, in, 3, &out, 1)->k.u.attention.scale = 1;
    HRESULT hr = graph_plan_create(&graph, &options, &plan, error);
    graph_finish(&graph);
    if (TEST_FOR(hr == S_OK, "%s", error)) {
        const struct graph_step *step = &plan->steps[0];
        TEST(step->ranges == 1);
        TEST(plan->temp_bytes <= base_align_up(step->u.host.work.worker_scratch_bytes, 256) * step->ranges);
    }
    graph_plan_destroy(plan);
}

/* Sequential lives of one size need one block. */
static void test_reuse(void)
{
    struct plan_block blocks[10];
    uint64_t bytes, least;
    for (uint32_t i = 0; i < 10; i++)
        blocks[i] = (struct plan_block){ 1000, i, i + 1, 0 };
    TEST(plan_place_blocks(blocks, 10, 256, &bytes, &least) == S_OK && bytes == 2048 && least == 2048);
}

static struct graph_plan *plan_of(struct graph *graph, uint64_t disabled, uint32_t threads)
{
    struct graph_options options = make_options(disabled);
    struct graph_plan *plan = NULL;
    char error[256] = "";
    options.threads = threads;
    TEST(graph_run_passes(graph, &options) == S_OK);
    HRESULT hr = graph_plan_create(graph, &options, &plan, error);
    TEST_FOR(hr == S_OK, "%s", error);
    graph_finish(graph);
    return plan;
}

/* x -> four element-wise ops -> y: every temporary takes the place of the one before. */
static void test_in_place(void)
{
    struct graph graph;
    graph_init(&graph, 1, 1, 0);
    struct graph_operand x = make4(&graph, GRAPH_INPUT, 0, 1, 2, 8, 8), y = make4(&graph, GRAPH_OUTPUT, 0, 1, 2, 8, 8);
    for (uint32_t i = 0; i < 4; i++) {
        struct graph_operand out = i < 3 ? make4(&graph, GRAPH_TEMP, 0, 1, 2, 8, 8) : y;
        make_map(&graph, KERN_MAP_MULADD, &x, 1, out, 2, 1);
        x = out;
    }
    struct graph_plan *plan = plan_of(&graph, GRAPH_PASSES_ALL, 1);
    if (!plan)
        return;
    TEST(plan->step_count == 4);
    for (uint32_t i = 1; i < 4; i++)
        TEST(plan->steps[i].where[0].buffer == GRAPH_BUFFER_TEMP &&
             plan->steps[i].where[0].offset == plan->steps[1].where[0].offset);
    float in[128], out[128];
    for (uint32_t i = 0; i < 128; i++)
        in[i] = (float)i;
    struct make_run run = { { in }, { out } };
    TEST(make_execute(plan, &run));
    for (uint32_t i = 0; i < 128; i++)
        TEST(out[i] == 16.0f * (float)i + 15);
    graph_plan_destroy(plan);
}

/* A result may not take the place of an input that is read in another order, or again later. */
static void test_not_in_place(void)
{
    for (uint32_t kind = 0; kind < 2; kind++) {
        struct graph graph;
        graph_init(&graph, 1, 1, 0);
        struct graph_operand x = make4(&graph, GRAPH_INPUT, 0, 1, 1, 8, 8), in[2];
        struct graph_operand y = make4(&graph, GRAPH_OUTPUT, 0, 1, 1, 8, 8);
        struct graph_operand a = make4(&graph, GRAPH_TEMP, 0, 1, 1, 8, 8), b = make4(&graph, GRAPH_TEMP, 0, 1, 1, 8, 8);
        make_map(&graph, KERN_MAP_MULADD, &x, 1, a, 2, 1);
        in[0] = a;
        if (kind == 0)
            in[0].view = graph_view_permute(&a.view, (uint32_t[]){ 0, 1, 3, 2 });
        make_map(&graph, KERN_MAP_NEG, in, 1, b, 0, 0);
        in[0] = b;
        in[1] = kind ? a : b;
        make_map(&graph, KERN_MAP_ADD, in, 2, y, 0, 0);
        struct graph_plan *plan = plan_of(&graph, GRAPH_PASSES_ALL, 1);
        if (!plan)
            return;
        TEST_FOR(plan->steps[1].where[0].offset != plan->steps[1].where[1].offset, "kind %u", kind);
        graph_plan_destroy(plan);
    }
}

/* Owned inputs are copied once, constants stay in the plan. */
static void test_residents(bool host)
{
    struct graph graph;
    struct graph_options options = make_options(GRAPH_PASSES_ALL);
    struct graph_plan *plan = NULL;
    char error[256] = "";
    options.backend = host ? &graph_backend_host : &graph_backend_spirv;
    graph_init(&graph, 2, 2, 0);
    struct graph_operand in[3] = { make4(&graph, GRAPH_INPUT, 0, 1, 1, 4, 4),
                                   make4(&graph, GRAPH_OWNED, 1, 1, 1, 4, 4) };
    in[2] = make_constant(&graph, 4, SIZES(1, 1, 4, 4), 1, 1);
    make_map(&graph, KERN_MAP_FMA, in, 3, make4(&graph, GRAPH_OUTPUT, 0, 1, 1, 4, 4), 0, 0);
    make_map(&graph, KERN_MAP_NEG, &in[1], 1, make4(&graph, GRAPH_OUTPUT, 1, 1, 1, 4, 4), 0, 0);
    TEST_FOR(graph_plan_create(&graph, &options, &plan, error) == S_OK, "%s", error);
    graph_finish(&graph);
    if (!plan)
        return;
    TEST(plan->init_step_count == 1 && plan->persistent_bytes == 256);
    TEST(plan->steps[0].where[1].buffer == GRAPH_BUFFER_PERSISTENT);
    TEST(plan->steps[0].where[2].buffer == GRAPH_BUFFER_CONSTANT);
    TEST((plan->steps[0].target == GRAPH_TARGET_HOST) == host);
    if (host) {
        float x[16], w[16], y[16], z[16];
        for (uint32_t i = 0; i < 16; i++) {
            x[i] = (float)i;
            w[i] = 2;
        }
        struct make_run run = { { x, w }, { y, z } };
        TEST(make_execute(plan, &run));
        for (uint32_t i = 0; i < 16; i++)
            TEST(y[i] == 2 * (float)i + (float)(1 + i) && z[i] == -2);
    }
    graph_plan_destroy(plan);
}

/* Two equal convolutions on one owned weight tensor: packed once where the kernel packs, and not kept plain. */
static void test_packing(void)
{
    struct graph graph;
    struct graph_options options = make_options(GRAPH_PASSES_ALL);
    struct graph_plan *plan = NULL;
    char error[256] = "";
    graph_options_init(&options, &graph_backend_host, 1);
    graph_init(&graph, 3, 2, 0);
    struct graph_operand w = make4(&graph, GRAPH_OWNED, 2, 32, 32, 3, 3);
    for (uint32_t i = 0; i < 2; i++) {
        struct graph_operand in[2] = { make4(&graph, GRAPH_INPUT, i, 1, 32, 16, 16), w };
        make_conv(&graph, in, 2, make4(&graph, GRAPH_OUTPUT, i, 1, 32, 16, 16), 1, 1, 1);
    }
    TEST_FOR(graph_plan_create(&graph, &options, &plan, error) == S_OK, "%s", error);
    graph_finish(&graph);
    if (!plan)
        return;
    TEST_FOR(plan->init_step_count == 1, "%u init steps", plan->init_step_count);
    TEST(plan->steps[0].op.packed_input == plan->steps[1].op.packed_input);
    TEST(plan->steps[0].where[1].buffer == GRAPH_BUFFER_PERSISTENT &&
         plan->steps[0].where[1].offset == plan->steps[1].where[1].offset);
    TEST(plan->init_steps[0].pack == (plan->steps[0].op.packed_input != 0));
    graph_plan_destroy(plan);
}

static void test_limits(void)
{
    struct graph graph;
    graph_init(&graph, 1, 1, 0);
    graph_temp(&graph, F32, 4, SIZES(UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX));
    TEST(graph.failed);
    graph_finish(&graph);

    struct graph_options options = make_options(0);
    struct graph_plan *plan = NULL;
    char error[256] = "";
    graph_init(&graph, 1, 1, 0);
    struct graph_operand x = make4(&graph, GRAPH_INPUT, 0, 1, 1, 2, 2), y = make4(&graph, GRAPH_OUTPUT, 0, 1, 1, 2, 2);
    x.view.offset = 1;
    make_map(&graph, KERN_MAP_NEG, &x, 1, y, 0, 0);
    TEST(graph_plan_create(&graph, &options, &plan, error) == E_INVALIDARG && !plan && strstr(error, "reaches beyond"));
    graph_finish(&graph);

    graph_init(&graph, 1, 1, 0);
    uint32_t huge = graph_value_add(&graph, GRAPH_TEMP, 0, UINT64_MAX - 3);
    struct graph_operand t = { huge, y.view };
    x.view.offset = 0;
    x = make4(&graph, GRAPH_INPUT, 0, 1, 1, 2, 2);
    y = make4(&graph, GRAPH_OUTPUT, 0, 1, 1, 2, 2);
    make_map(&graph, KERN_MAP_NEG, &x, 1, t, 0, 0);
    make_map(&graph, KERN_MAP_NEG, &t, 1, y, 0, 0);
    TEST(graph_plan_create(&graph, &options, &plan, error) == E_OUTOFMEMORY && !plan);
    graph_finish(&graph);

    /* A product of numbers of different types: no kernel takes it. */
    graph_init(&graph, 2, 1, 0);
    struct graph_operand in[2] = { make4(&graph, GRAPH_INPUT, 0, 1, 1, 2, 3),
                                   make4(&graph, GRAPH_INPUT, 1, 1, 1, 3, 2) };
    in[1].view.type = DML_TENSOR_DATA_TYPE_UINT16;
    make_gemm(&graph, in, 2, make4(&graph, GRAPH_OUTPUT, 0, 1, 1, 2, 2));
    TEST(graph_plan_create(&graph, &options, &plan, error) == DXGI_ERROR_UNSUPPORTED && strstr(error, "gemm"));
    graph_finish(&graph);
}

/* [1, 3, 4, 5] stored with channels innermost, everything dense: one dimension is left. */
static void test_loops(void)
{
    struct kern_op op = { .kind = KERN_MAP, .input_count = 2, .output_count = 1 };
    kern_view_set_packed(&op.tensors[0], F32, 4, SIZES(1, 4, 5, 3));
    op.tensors[0] = graph_view_permute(&op.tensors[0], (uint32_t[]){ 0, 3, 1, 2 });
    op.tensors[1] = op.tensors[2] = op.tensors[0];
    plan_tidy_loops(&op);
    TEST(op.tensors[0].rank == 1 && op.tensors[2].sizes[0] == 60 && op.tensors[2].strides[0] == 1);
    /* Per-channel second input: two dimensions, channels last. */
    kern_view_set_packed(&op.tensors[0], F32, 4, SIZES(1, 4, 5, 3));
    op.tensors[0] = graph_view_permute(&op.tensors[0], (uint32_t[]){ 0, 3, 1, 2 });
    op.tensors[2] = op.tensors[0];
    kern_view_set_packed(&op.tensors[1], F32, 4, SIZES(1, 3, 1, 1));
    op.tensors[1] = graph_view_broadcast(&op.tensors[1], 4, op.tensors[0].sizes);
    plan_tidy_loops(&op);
    TEST(op.tensors[1].rank == 2 && op.tensors[1].sizes[0] == 20 && op.tensors[1].strides[0] == 0 &&
         op.tensors[1].strides[1] == 1 && op.tensors[2].strides[0] == 3);
}

static void test_print(void)
{
    struct graph graph;
    graph_init(&graph, 1, 1, 0);
    struct graph_operand x = make4(&graph, GRAPH_OWNED, 0, 1, 1, 2, 2), y = make4(&graph, GRAPH_OUTPUT, 0, 1, 1, 2, 2);
    make_map(&graph, KERN_MAP_NEG, &x, 1, y, 0, 0);
    struct graph_plan *plan = plan_of(&graph, 0, 1);
    char *text = plan ? graph_plan_print(plan) : NULL;
    TEST(text && strstr(text, "init copy input 0+0, 16 bytes -> persistent+0") && strstr(text, "NEG(i0)") &&
         strstr(text, "out f32[4]{1}+0 at output 0+0") && !strstr(text, "block"));
    free(text);
    graph_plan_destroy(plan);
}

static void test_disable(void)
{
    struct graph_options options;
    setenv("ANYDML_DISABLE_PASS", "views,layout", 1);
    graph_options_init(&options, &graph_backend_host, 3);
    TEST(options.disabled_passes == (GRAPH_PASS_BIT(views) | GRAPH_PASS_BIT(layout)));
    TEST(options.threads == 3 && options.backend == &graph_backend_host);
    setenv("ANYDML_DISABLE_PASS", "all", 1);
    graph_options_init(&options, &graph_backend_spirv, 0);
    TEST(options.disabled_passes == GRAPH_PASSES_ALL && options.threads >= 1 &&
         options.backend == &graph_backend_spirv);
    unsetenv("ANYDML_DISABLE_PASS");
}

int main(void)
{
    test_blocks();
    test_many_blocks();
    test_scratch();
    test_worker_scratch();
    test_reuse();
    test_in_place();
    test_not_in_place();
    test_residents(true);
    test_residents(false);
    test_packing();
    test_limits();
    test_loops();
    test_print();
    test_disable();
    return test_result();
}
