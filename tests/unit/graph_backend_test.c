/* SPDX-License-Identifier: Apache-2.0 */
/* The graph compiler only depends on its backend: test backends, which differ from the real ones in one answer each,
 * and the effect on graphs and plans. */
#include "graph_make.h"

#include "graph/plan/alias.h"

#include "kernels/core/number.h"
#include "shaders/shader.h"

#include "test.h"

/* inputs[0] -> NEG -> ABS -> output 0, over [1, 1, 4, 4] */
static void make_chain(struct graph *graph)
{
    graph_init(graph, 1, 1, 0);
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, 1, 1, 4, 4), t = make4(graph, GRAPH_TEMP, 0, 1, 1, 4, 4);
    make_map(graph, KERN_MAP_NEG, &x, 1, t, 0, 0);
    make_map(graph, KERN_MAP_ABS, &t, 1, make4(graph, GRAPH_OUTPUT, 0, 1, 1, 4, 4), 0, 0);
}

/* A [4, 4] x B [4, 4] -> RELU -> output 0; B has this place. */
static void make_product(struct graph *graph, enum graph_place place)
{
    graph_init(graph, 2, 1, 0);
    struct graph_operand in[2] = { make4(graph, GRAPH_INPUT, 0, 1, 1, 4, 4) }, t;
    in[1] =
        place == GRAPH_CONSTANT ? make_constant(graph, 4, SIZES(1, 1, 4, 4), 1, 1) : make4(graph, place, 1, 1, 1, 4, 4);
    t = make4(graph, GRAPH_TEMP, 0, 1, 1, 4, 4);
    make_gemm(graph, in, 2, t);
    make_map(graph, KERN_MAP_RELU, &t, 1, make4(graph, GRAPH_OUTPUT, 0, 1, 1, 4, 4), 0, 0);
}

static struct graph_options options_of(const struct graph_backend *backend, uint64_t disabled)
{
    struct graph_options options = make_options(disabled);
    options.backend = backend;
    return options;
}

/* Finishes the graph. */
static struct graph_plan *plan_for(struct graph *graph, const struct graph_options *options)
{
    struct graph_plan *plan = NULL;
    char error[256] = "";
    TEST_FOR(graph_plan_create(graph, options, &plan, error) == S_OK && plan, "%s", error);
    graph_finish(graph);
    return plan;
}

static uint32_t ops_after_passes(void (*make)(struct graph *), const struct graph_backend *backend)
{
    struct graph graph;
    struct graph_options options = options_of(backend, 0);
    make(&graph);
    TEST(graph_run_passes(&graph, &options) == S_OK);
    uint32_t count = graph.op_count;
    graph_finish(&graph);
    return count;
}

/* ---- passes ---- */

static void test_passes(void)
{
    struct graph_backend backend = graph_backend_host;
    TEST(ops_after_passes(make_chain, &backend) == 1);
    backend.passes &= ~GRAPH_PASS_BIT(fuse_map);
    TEST(ops_after_passes(make_chain, &backend) == 2);
    TEST(ops_after_passes(make_chain, &graph_backend_spirv) == 1);
}

static uint32_t epilogue_priority;

static uint32_t priority_by_epilogue(const struct graph_options *options, const struct kern_op *op)
{
    (void)options;
    return op->epilogue ? epilogue_priority : 3;
}

static void make_fixed_product(struct graph *graph)
{
    make_product(graph, GRAPH_CONSTANT);
}

/* A GEMM absorbs its activation if the backend's kernel for that is as good, and only then. */
static void test_priority(void)
{
    struct graph_backend backend = graph_backend_host;
    backend.priority = priority_by_epilogue;
    for (epilogue_priority = 2; epilogue_priority <= 4; epilogue_priority++)
        TEST_FOR(ops_after_passes(make_fixed_product, &backend) == (epilogue_priority > 3 ? 2 : 1), "priority %u",
                 epilogue_priority);
    epilogue_priority = GRAPH_PRIORITY_NONE;
    TEST(ops_after_passes(make_fixed_product, &backend) == 2);
}

static void test_derives(void)
{
    struct graph_backend backend = graph_backend_host;
    for (uint32_t derives = 0; derives < 2; derives++) {
        struct graph graph;
        struct graph_options options = options_of(&backend, 0);
        backend.derives = derives;
        make_product(&graph, GRAPH_OWNED);
        uint32_t owned = graph.ops[0]->value[1], bound = graph.ops[0]->value[0];
        TEST(graph_value_fixed(&graph, &options, owned) == derives && !graph_value_fixed(&graph, &options, bound));
        graph_finish(&graph);
    }
}

static uint32_t always_best(const struct graph_options *options, const struct kern_op *op)
{
    (void)options;
    (void)op;
    return 0;
}

static bool answer;

static bool answer_type(const struct graph_options *options, DML_TENSOR_DATA_TYPE type)
{
    (void)options;
    return answer && (uint32_t)type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
}

static bool answer_priority(uint32_t priority)
{
    (void)priority;
    return answer;
}

static struct graph_operand add_conv(struct graph *graph, struct graph_operand x, uint32_t outs, uint32_t groups,
                                     uint32_t k)
{
    struct graph_operand y = make4(graph, GRAPH_TEMP, 0, 1, outs, 16, 16);
    struct graph_operand w = make_constant(graph, 4, SIZES(outs, x.view.sizes[1] / groups, k, k), 0, 0.01f);
    make_conv(graph, (struct graph_operand[]){ x, w }, 2, y, groups, 1, k / 2);
    return y;
}

/* Convolutions: pointwise, depthwise and pointwise between others. *out_blocks: number of fused ops; *out_halves:
 * number of BFLOAT16 tensors. */
static void count_changes(const struct graph_backend *backend, uint32_t *out_blocks, uint32_t *out_halves)
{
    struct graph graph;
    struct graph_options options = options_of(backend, 0);
    graph_init(&graph, 1, 1, ANYDML_EXECUTION_FLAG_HALF_PRECISION_FLOAT32);
    struct graph_operand y = add_conv(&graph, make4(&graph, GRAPH_INPUT, 0, 1, 3, 16, 16), 16, 1, 3);
    y = add_conv(&graph, y, 64, 1, 1);
    y = add_conv(&graph, y, 64, 64, 3);
    y = add_conv(&graph, y, 16, 1, 1);
    y = add_conv(&graph, y, 8, 1, 3);
    make_move(&graph, y, make4(&graph, GRAPH_OUTPUT, 0, 1, 8, 16, 16));
    TEST(graph_run_passes(&graph, &options) == S_OK);
    *out_blocks = *out_halves = 0;
    for (uint32_t i = 0; i < graph.op_count; i++) {
        const struct kern_op *op = &graph.ops[i]->k;
        *out_blocks += op->kind == KERN_INVERTED_RESIDUAL;
        for (uint32_t t = 0; t < op->input_count + op->output_count; t++)
            *out_halves += (uint32_t)op->tensors[t].type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
    }
    graph_finish(&graph);
}

/* BFLOAT16 only if GEMMs of it are fast, fused ops only if they have a kernel of their own. */
static void test_speed(void)
{
    struct graph_backend backend = graph_backend_host;
    uint32_t blocks, halves;
    backend.priority = always_best;
    backend.multiplies = answer_type;
    backend.portable = answer_priority;
    answer = false;
    count_changes(&backend, &blocks, &halves);
    TEST_FOR(blocks == 1 && !halves, "%u blocks, %u halves", blocks, halves);
    answer = true;
    count_changes(&backend, &blocks, &halves);
    TEST_FOR(!blocks && halves, "%u blocks, %u halves", blocks, halves);
}

/* ---- one kernel, for element-wise ops ---- */

static uint32_t chosen;
static bool with_scratch;

static bool only_maps(const struct graph_options *options, const struct kern_op *op, const char **out_reason)
{
    (void)options;
    *out_reason = "the test has maps only";
    return op->kind == KERN_MAP;
}

static uint32_t only_maps_priority(const struct graph_options *options, const struct kern_op *op)
{
    const char *reason;
    return only_maps(options, op, &reason) ? 0 : GRAPH_PRIORITY_NONE;
}

/* Two dispatches with 1000 bytes between them, if the test requests it. */
static HRESULT only_maps_choose(const struct graph_options *options, struct base_arena *arena, struct graph_step *step,
                                uint32_t packable, uint64_t *out_packed_bytes)
{
    const char *reason;
    (void)packable;
    *out_packed_bytes = 0;
    if (!only_maps(options, &step->op, &reason))
        return DXGI_ERROR_UNSUPPORTED;
    struct shader_work *work = base_arena_alloc(arena, sizeof(*work));
    TEST(work);
    if (!work)
        return E_OUTOFMEMORY;
    work->dispatch_count = with_scratch ? 2 : 1;
    work->scratch_bytes = with_scratch ? 1000 : 0;
    step->target = GRAPH_TARGET_SPIRV;
    step->u.spirv.work = work;
    step->kernel = "only_maps";
    step->scratch_bytes = work->scratch_bytes;
    chosen++;
    return S_OK;
}

static struct graph_backend maps_backend(void)
{
    struct graph_backend backend = graph_backend_spirv;
    backend.supports = only_maps;
    backend.priority = only_maps_priority;
    backend.choose = only_maps_choose;
    chosen = 0;
    return backend;
}

static void test_supports(void)
{
    struct graph_backend backend = maps_backend();
    struct graph_options options = options_of(&backend, GRAPH_PASSES_ALL);
    struct graph_plan *plan = NULL;
    struct graph graph;
    char error[256] = "";
    make_product(&graph, GRAPH_INPUT);
    graph.ops[0]->origin = "case";
    TEST(graph_plan_create(&graph, &options, &plan, error) == DXGI_ERROR_UNSUPPORTED && !plan);
    TEST_FOR(strstr(error, "case: the test has maps only") && strstr(error, "gemm"), "%s", error);
    graph_finish(&graph);
    make_chain(&graph);
    plan = plan_for(&graph, &options);
    if (!plan)
        return;
    TEST(chosen == 2 && !strcmp(plan->steps[1].kernel, "only_maps") && plan->steps[1].target == GRAPH_TARGET_SPIRV);
    graph_plan_destroy(plan);
}

/* Both steps have scratch memory in the temporary buffer, next to the value between them. */
static void test_scratch(void)
{
    struct graph_backend backend = maps_backend();
    struct graph_options options = options_of(&backend, GRAPH_PASSES_ALL);
    struct graph graph;
    with_scratch = true;
    make_chain(&graph);
    struct graph_plan *plan = plan_for(&graph, &options);
    with_scratch = false;
    if (!plan)
        return;
    uint64_t value = plan->steps[0].where[1].offset;
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t scratch = plan->steps[i].scratch_offset;
        TEST(plan->steps[i].u.spirv.work->dispatch_count == 2 && plan->steps[i].scratch_bytes == 1000);
        TEST(scratch % backend.alignment == 0 && scratch + 1000 <= plan->temp_bytes);
        TEST(scratch + 1000 <= value || value + 64 <= scratch);
    }
    graph_plan_destroy(plan);
}

/* ---- memory ---- */

static bool never(const struct kern_op *op)
{
    (void)op;
    return false;
}

/* x -> NEG -> t -> ABS -> u -> NEG -> y: u reuses t's memory, and y may be bound over x. */
static void test_in_place(void)
{
    struct graph_backend backend = graph_backend_host;
    for (uint32_t allowed = 0; allowed < 2; allowed++) {
        struct graph graph;
        struct graph_aliases *aliases = NULL;
        struct graph_options options = options_of(&backend, GRAPH_PASSES_ALL);
        backend.in_place = allowed ? graph_map_in_place : never;
        graph_init(&graph, 1, 2, 0);
        struct graph_operand at[4] = { make4(&graph, GRAPH_INPUT, 0, 1, 1, 4, 4),
                                       make4(&graph, GRAPH_TEMP, 0, 1, 1, 4, 4),
                                       make4(&graph, GRAPH_TEMP, 0, 1, 1, 4, 4),
                                       make4(&graph, GRAPH_OUTPUT, 0, 1, 1, 4, 4) };
        for (uint32_t i = 0; i < 3; i++)
            make_map(&graph, KERN_MAP_NEG, &at[i], 1, at[i + 1], 0, 0);
        make_map(&graph, KERN_MAP_ABS, &at[0], 1, make4(&graph, GRAPH_OUTPUT, 1, 1, 1, 4, 4), 0, 0);
        struct graph_plan *plan = plan_for(&graph, &options);
        if (!plan)
            return;
        TEST(plan->block_count == (allowed ? 1 : 2));
        TEST(graph_aliases_create(plan, &aliases) == S_OK);
        TEST(graph_aliases_allow(aliases, 0, 1) == allowed);
        graph_aliases_destroy(aliases);
        graph_plan_destroy(plan);
    }
}

static void test_alignment(void)
{
    struct graph_backend backend = graph_backend_host;
    for (backend.alignment = 64; backend.alignment <= 256; backend.alignment *= 2) {
        struct graph graph;
        struct graph_options options = options_of(&backend, GRAPH_PASSES_ALL);
        graph_init(&graph, 2, 1, 0);
        struct graph_operand in[2] = { make_value(&graph, GRAPH_OWNED, 0, F32, 1, SIZES(3)),
                                       make_value(&graph, GRAPH_OWNED, 1, F32, 1, SIZES(3)) };
        struct graph_operand t = make_value(&graph, GRAPH_TEMP, 0, F32, 1, SIZES(3));
        make_map(&graph, KERN_MAP_ADD, in, 2, t, 0, 0);
        make_map(&graph, KERN_MAP_ABS, &t, 1, make_value(&graph, GRAPH_OUTPUT, 0, F32, 1, SIZES(3)), 0, 0);
        struct graph_plan *plan = plan_for(&graph, &options);
        if (!plan)
            return;
        TEST(plan->temp_bytes == backend.alignment && plan->persistent_bytes == 2 * backend.alignment);
        TEST(plan->steps[0].where[1].offset == backend.alignment);
        graph_plan_destroy(plan);
    }
}

/* ---- packing ---- */

static uint32_t packs;

/* Accepts every op and requests packed inputs, as their first four bytes, 64 times over. */
static HRESULT packing_choose(const struct graph_options *options, struct base_arena *arena, struct graph_step *step,
                              uint32_t packable, uint64_t *out_packed_bytes)
{
    (void)options;
    (void)arena;
    step->kernel = "packing";
    step->op.packed_input = packable;
    *out_packed_bytes = 256;
    return S_OK;
}

static void packing_pack(const struct graph_step *step, const void *source, void *packed)
{
    for (uint32_t i = 0; i < 64; i++)
        memcpy((float *)packed + i, source, sizeof(float));
    packs++;
    TEST(step->op.packed_input == 2);
}

static struct base_hash packing_layout(const struct graph_step *step)
{
    return (struct base_hash){ 1, step->op.packed_input };
}

/* On the host while compiling, or, if kernels pack, as work of the initializer. */
static void test_packing(void)
{
    struct graph_backend backend = graph_backend_host;
    struct graph_store *store = graph_store_create();
    backend.choose = packing_choose;
    backend.pack_layout = packing_layout;
    for (uint32_t kernels = 0; kernels < 2; kernels++) {
        struct graph graph;
        struct graph_options options = options_of(&backend, GRAPH_PASSES_ALL);
        options.store = store;
        backend.pack = kernels ? NULL : packing_pack;
        make_product(&graph, GRAPH_CONSTANT);
        struct graph_plan *plan = plan_for(&graph, &options);
        if (!plan)
            return;
        const struct graph_location *where = &plan->steps[0].where[1];
        TEST(packs == 1 && plan->init_step_count == kernels && plan->persistent_bytes == kernels * 256);
        TEST(where->buffer == (kernels ? GRAPH_BUFFER_PERSISTENT : GRAPH_BUFFER_CONSTANT));
        if (kernels)
            TEST(plan->init_steps[0].pack && plan->init_steps[0].source.buffer == GRAPH_BUFFER_CONSTANT &&
                 *(const float *)plan->init_steps[0].source.data == 1);
        else
            TEST(((const float *)where->data)[0] == 1 && ((const float *)where->data)[63] == 1);
        graph_plan_destroy(plan);
    }
    graph_store_destroy(store);
}

/* ---- weights of few bits ---- */

/* x [rows, 64] times constants of this type in blocks of 32, dequantised as DEQUANTIZE is lowered. */
static void make_quantised(struct graph *graph, DML_TENSOR_DATA_TYPE type, uint32_t rows)
{
    const uint32_t columns = 24, all = columns * 2;
    uint8_t codes[24 * 64];
    graph_init(graph, 1, 1, 0);
    for (uint32_t i = 0; i < sizeof(codes); i++)
        codes[i] = (uint8_t)(i * 29);
    struct graph_operand x = make_value(graph, GRAPH_INPUT, 0, F32, 2, SIZES(rows, 64));
    struct graph_operand in[2] = { { GRAPH_NONE, { 0 } }, make_constant(graph, 2, SIZES(all, 1), 0.5f, 0.25f) };
    struct graph_operand w = graph_temp(graph, F32, 2, SIZES(all, 32));
    kern_view_set_packed(&in[0].view, type, 2, SIZES(all, 32));
    in[0].value = graph_constant_add(graph, codes, sizeof(codes) * kern_type_bits(type) / 8);
    make_map(graph, KERN_MAP_MUL, in, 2, w, 0, 0);
    kern_view_set_packed(&w.view, F32, 2, SIZES(64, columns));
    w.view.strides[0] = 1;
    w.view.strides[1] = 64;
    make_gemm(graph, (struct graph_operand[]){ x, w }, 2,
              make_value(graph, GRAPH_OUTPUT, 0, F32, 2, SIZES(rows, columns)));
}

/* Shaders read them directly, too, on any device. */
static void test_weights(void)
{
    static const DML_TENSOR_DATA_TYPE types[] = { DML_TENSOR_DATA_TYPE_INT8, DML_TENSOR_DATA_TYPE_UINT8,
                                                  DML_TENSOR_DATA_TYPE_INT4, DML_TENSOR_DATA_TYPE_UINT4 };
    static const struct {
        uint32_t rows;
        const char *kernel;
    } cases[] = { { 1, "qgemm_vec" }, { 16, "qgemm_vec" }, { 20, "qgemm_tile" }, { 200, NULL } };
    for (uint32_t i = 0; i < ARRAY_SIZE(types) * ARRAY_SIZE(cases); i++) {
        const DML_TENSOR_DATA_TYPE type = types[i / ARRAY_SIZE(cases)];
        const uint32_t rows = cases[i % ARRAY_SIZE(cases)].rows;
        const char *kernel = cases[i % ARRAY_SIZE(cases)].kernel;
        struct graph_options options = options_of(&graph_backend_spirv, 0);
        struct graph graph;
        make_quantised(&graph, type, rows);
        TEST(graph_run_passes(&graph, &options) == S_OK);
        struct graph_plan *plan = plan_for(&graph, &options);
        if (!plan)
            return;
        const struct graph_step *last = &plan->steps[plan->step_count - 1];
        if (kernel)
            TEST_FOR(plan->step_count == 1 && !strcmp(last->kernel, kernel) && last->op.tensors[1].rank == 5,
                     "type %u, %u rows: %u steps, %s", type, rows, plan->step_count, last->kernel);
        else
            TEST_FOR(last->op.kind == KERN_GEMM, "type %u: %s", type, last->kernel);
        graph_plan_destroy(plan);
    }
}

/* ---- devices ---- */

/* Large products have a workgroup for each multiprocessor; where their number is not known, 132. */
static void test_multiprocessors(void)
{
    static const uint32_t cases[][2] = { { 78, 78 }, { 114, 114 }, { 0, 132 } };
    const uint32_t side = 4096;
    for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct graph_options options = options_of(&graph_backend_spirv, 0);
        struct graph graph;
        options.shader_capabilities = UINT32_MAX;
        options.multiprocessors = cases[i][0];
        graph_init(&graph, 2, 1, 0);
        const struct graph_operand in[] = { make_value(&graph, GRAPH_INPUT, 0, F16, 2, SIZES(side, side)),
                                            make_value(&graph, GRAPH_INPUT, 1, F16, 2, SIZES(side, side)) };
        make_gemm(&graph, in, 2, make_value(&graph, GRAPH_OUTPUT, 0, F16, 2, SIZES(side, side)));
        struct graph_plan *plan = plan_for(&graph, &options);
        if (!plan)
            return;
        const struct graph_step *last = &plan->steps[plan->step_count - 1];
        const struct shader_work *work = last->u.spirv.work;
        const uint32_t *groups = work->dispatches[work->dispatch_count - 1].groups;
        TEST_FOR(!strcmp(last->kernel, "gemm_meta") && groups[0] == cases[i][1] && groups[1] * groups[2] == 1,
                 "%u multiprocessors: %s, %u x %u x %u", cases[i][0], last->kernel, groups[0], groups[1], groups[2]);
        graph_plan_destroy(plan);
    }
}

int main(void)
{
    test_multiprocessors();
    test_weights();
    test_passes();
    test_priority();
    test_derives();
    test_speed();
    test_supports();
    test_scratch();
    test_in_place();
    test_alignment();
    test_packing();
    return test_result();
}
