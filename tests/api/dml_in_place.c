/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs bound to exactly the bytes of inputs: the results equal those of separate buffers, for any operator or graph.
 * Only a partial overlap is an error. */
#include "dml_build.h"

#include <anydml.h>

enum { SIDE = 8, COUNT = SIDE * SIDE, BYTES = COUNT * 4, SLOTS_MAX = 4 };

static const DML_EXECUTION_FLAGS both_flags[] = { DML_EXECUTION_FLAG_NONE, DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE };

static uint32_t rnd(uint32_t below)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 20) % below);
}

static void fill(float *out, UINT count)
{
    for (UINT i = 0; i < count; i++)
        out[i] = (float)rnd(4001) / 2000.0f - 1.0f;
}

/* ---- operators on [1, 1, 8, 8] ---- */

enum kind {
    ADD,
    MULTIPLY,
    TANH,
    RELU_GRAD,
    TRANSPOSE, /* a copy through strides */
    SHADERS,   /* those below have no shader */
    SOFTMAX = SHADERS,
    GEMM,
    CONVOLUTION,
    SUMS,
    KINDS,
};

static const UINT kind_inputs[KINDS] = {
    [ADD] = 2,     [MULTIPLY] = 2, [TANH] = 1,        [RELU_GRAD] = 2, [TRANSPOSE] = 1,
    [SOFTMAX] = 1, [GEMM] = 2,     [CONVOLUTION] = 2, [SUMS] = 1
};

static IDMLOperator *convolution(IDMLDevice1 *dml, const DML_TENSOR_DESC *desc)
{
    static const UINT ones[2] = { 1, 1 }, start[2] = { 3, 3 }, end[2] = { 4, 4 }, none[2] = { 0, 0 };
    DML_CONVOLUTION_OPERATOR_DESC conv = {
        .InputTensor = desc,
        .FilterTensor = desc,
        .OutputTensor = desc,
        .Mode = DML_CONVOLUTION_MODE_CROSS_CORRELATION,
        .Direction = DML_CONVOLUTION_DIRECTION_FORWARD,
        .DimensionCount = 2,
        .Strides = ones,
        .Dilations = ones,
        .StartPadding = start,
        .EndPadding = end,
        .OutputPadding = none,
        .GroupCount = 1,
    };
    return make_operator(dml, DML_OPERATOR_CONVOLUTION, &conv);
}

static IDMLOperator *transpose(IDMLDevice1 *dml, const DML_TENSOR_DESC *desc)
{
    static const UINT strides[4] = { COUNT, COUNT, 1, SIDE };
    DML_BUFFER_TENSOR_DESC buffer = *(const DML_BUFFER_TENSOR_DESC *)desc->Desc;
    buffer.Strides = strides;
    DML_TENSOR_DESC transposed = { DML_TENSOR_TYPE_BUFFER, &buffer };
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC identity = { &transposed, desc, NULL };
    return make_operator(dml, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &identity);
}

static IDMLOperator *make_kind(IDMLDevice1 *dml, enum kind kind)
{
    struct tensor tensor;
    const DML_TENSOR_DESC *desc = tensor_f32(&tensor, 1, 1, SIDE, SIDE, DML_TENSOR_FLAG_NONE);
    DML_ELEMENT_WISE_ADD_OPERATOR_DESC add = { desc, desc, desc };
    DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC multiply = { desc, desc, desc };
    DML_ACTIVATION_TANH_OPERATOR_DESC tanh = { desc, desc };
    DML_ACTIVATION_RELU_GRAD_OPERATOR_DESC relu_grad = { desc, desc, desc };
    DML_ACTIVATION_SOFTMAX_OPERATOR_DESC softmax = { desc, desc };
    DML_GEMM_OPERATOR_DESC gemm = { .ATensor = desc, .BTensor = desc, .OutputTensor = desc, .Alpha = 0.25f };
    DML_CUMULATIVE_SUMMATION_OPERATOR_DESC sums = { desc, desc, 2, DML_AXIS_DIRECTION_DECREASING, TRUE };
    switch (kind) {
    case ADD:
        return make_operator(dml, DML_OPERATOR_ELEMENT_WISE_ADD, &add);
    case MULTIPLY:
        return make_operator(dml, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, &multiply);
    case TANH:
        return make_operator(dml, DML_OPERATOR_ACTIVATION_TANH, &tanh);
    case RELU_GRAD:
        return make_operator(dml, DML_OPERATOR_ACTIVATION_RELU_GRAD, &relu_grad);
    case TRANSPOSE:
        return transpose(dml, desc);
    case SOFTMAX:
        return make_operator(dml, DML_OPERATOR_ACTIVATION_SOFTMAX, &softmax);
    case GEMM:
        return make_operator(dml, DML_OPERATOR_GEMM, &gemm);
    case CONVOLUTION:
        return convolution(dml, desc);
    default:
        return make_operator(dml, DML_OPERATOR_CUMULATIVE_SUMMATION, &sums);
    }
}

/* ---- running ---- */

struct shape {
    UINT inputs, outputs; /* slots */
    UINT absent;          /* the last input slots, which are empty */
};

static IDMLBindingTable *bound_table(struct rig *rig, IDMLCompiledOperator *op, const struct prepared *prepared,
                                     struct shape shape, const struct bound *in, const struct bound *out)
{
    struct bound inputs[SLOTS_MAX + 2] = { { NULL, 0, 0 } };
    IDMLBindingTable *table = table_at(rig, op, 0);
    memcpy(inputs, in, shape.inputs * sizeof(*in));
    bind_inputs(table, shape.inputs + shape.absent, inputs);
    bind_outputs(table, shape.outputs, out);
    bind_prepared(table, prepared);
    return table;
}

static void run(struct rig *rig, IDMLCompiledOperator *op, const struct prepared *prepared, struct shape shape,
                const struct bound *in, const struct bound *out)
{
    IDMLBindingTable *table = bound_table(rig, op, prepared, shape, in, out);
    record(rig, op, table);
    rig_run(rig);
    ok_hr(dml_reason(rig), S_OK);
    api_release(table);
}

static struct bound fresh(struct rig *rig, const float *data)
{
    return buffer_of(rig, data, BYTES);
}

static bool holds(struct rig *rig, struct bound buffer, const float *want)
{
    float got[COUNT];
    api_read(&rig->q, buffer.buffer, buffer.offset, got, BYTES);
    rig_set_heap(rig);
    return !memcmp(got, want, BYTES);
}

/* The operator's result for these inputs if no buffers overlap. */
static void run_apart(struct rig *rig, IDMLCompiledOperator *op, const struct prepared *prepared, struct shape shape,
                      float data[][COUNT], float results[][COUNT])
{
    struct bound in[SLOTS_MAX], out[SLOTS_MAX];
    for (UINT i = 0; i < shape.inputs; i++)
        in[i] = fresh(rig, data[i]);
    for (UINT o = 0; o < shape.outputs; o++)
        out[o] = (struct bound){ buffer_f32(rig, COUNT, -7, 0), 0, BYTES };
    run(rig, op, prepared, shape, in, out);
    for (UINT o = 0; o < shape.outputs; o++) {
        api_read(&rig->q, out[o].buffer, 0, results[o], BYTES);
        api_release(out[o].buffer);
    }
    rig_set_heap(rig);
    for (UINT i = 0; i < shape.inputs; i++)
        api_release(in[i].buffer);
}

/* The same with output o over input over[o], or separate if that is not an input. */
static void run_over(struct rig *rig, IDMLCompiledOperator *op, const struct prepared *prepared, struct shape shape,
                     float data[][COUNT], float results[][COUNT], const UINT *over)
{
    struct bound in[SLOTS_MAX], out[SLOTS_MAX];
    bool written[SLOTS_MAX] = { false };
    for (UINT i = 0; i < shape.inputs; i++)
        in[i] = fresh(rig, data[i]);
    for (UINT o = 0; o < shape.outputs; o++) {
        bool within = over[o] < shape.inputs;
        out[o] = within ? in[over[o]] : (struct bound){ buffer_f32(rig, COUNT, -7, 0), 0, BYTES };
        if (within)
            written[over[o]] = true;
    }
    run(rig, op, prepared, shape, in, out);
    for (UINT o = 0; o < shape.outputs; o++)
        ok(holds(rig, out[o], results[o]), "output %u over %u", o, over[o]);
    for (UINT i = 0; i < shape.inputs; i++)
        ok(written[i] || holds(rig, in[i], data[i]), "input %u has changed", i);
    for (UINT o = 0; o < shape.outputs; o++)
        if (over[o] >= shape.inputs)
            api_release(out[o].buffer);
    for (UINT i = 0; i < shape.inputs; i++)
        api_release(in[i].buffer);
}

/* ---- single operators ---- */

/* Over each input, three times by one list: the second and third run use the previous result. */
static void check_repeated(struct rig *rig, IDMLCompiledOperator *op, const struct prepared *prepared,
                           struct shape shape, UINT over)
{
    float data[SLOTS_MAX][COUNT], result[1][COUNT];
    struct bound in[SLOTS_MAX];
    for (UINT i = 0; i < shape.inputs; i++) {
        fill(data[i], COUNT);
        in[i] = fresh(rig, data[i]);
    }
    IDMLBindingTable *table = bound_table(rig, op, prepared, shape, in, &in[over]);
    record(rig, op, table);
    ok_hr(ID3D12GraphicsCommandList_Close(rig->q.list), S_OK);
    for (int i = 0; i < 3; i++)
        api_queue_execute(&rig->q);
    api_queue_wait(&rig->q);
    ok_hr(ID3D12CommandAllocator_Reset(rig->q.allocator), S_OK);
    ok_hr(ID3D12GraphicsCommandList_Reset(rig->q.list, rig->q.allocator, NULL), S_OK);
    rig_set_heap(rig);
    for (int i = 0; i < 3; i++) {
        run_apart(rig, op, prepared, shape, data, result);
        memcpy(data[over], result[0], BYTES);
    }
    ok(holds(rig, in[over], data[over]), "three runs over input %u", over);
    api_release(table);
    for (UINT i = 0; i < shape.inputs; i++)
        api_release(in[i].buffer);
}

static void test_kind(enum kind kind)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    struct shape shape = { kind_inputs[kind], 1, kind == GEMM || kind == CONVOLUTION };
    for (int f = 0; f < 2; f++) {
        IDMLCompiledOperator *op = compile(rig.dml, make_kind(rig.dml, kind), both_flags[f]);
        struct prepared prepared = prepare(&rig, op, 0, NULL);
        for (UINT over = 0; over < shape.inputs; over++)
            check_repeated(&rig, op, &prepared, shape, over);
        prepared_release(&prepared);
        api_release(op);
    }
    rig_destroy(&rig);
}

/* An optimizer's step: variable - rate * gradient, over the variable and over the gradient. */
static void test_optimizer(void)
{
    static const UINT none[4] = { 0, 0, 0, 0 };
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    struct tensor all, one;
    struct build b;
    const DML_TENSOR_DESC *desc = tensor_f32(&all, 1, 1, SIDE, SIDE, 0), *rate = tensor_f32(&one, 1, 1, SIDE, SIDE, 0);
    one.buffer.Strides = none;
    one.buffer.TotalTensorSizeInBytes = 4;
    DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC multiply = { desc, rate, desc };
    DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC subtract = { desc, desc, desc };
    build_begin(&b, rig.dml, 3, 1);
    add_node(&b, make_operator(rig.dml, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, &multiply), "step");
    add_node(&b, make_operator(rig.dml, DML_OPERATOR_ELEMENT_WISE_SUBTRACT, &subtract), "variable");
    add_input(&b, 0, 1, 0);
    add_input(&b, 1, 0, 0);
    add_input(&b, 2, 0, 1);
    add_middle(&b, 0, 0, 1, 1);
    add_output(&b, 1, 0, 0);
    IDMLCompiledOperator *op = build_end(&b);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    float data[2][COUNT], want[COUNT];
    for (UINT over = 0; over < 2; over++) {
        struct bound in[3] = { { 0 } };
        for (UINT i = 0; i < 2; i++) {
            fill(data[i], COUNT);
            in[i] = fresh(&rig, data[i]);
        }
        in[2] = (struct bound){ buffer_f32(&rig, 1, 0.5f, 0), 0, 4 };
        for (UINT i = 0; i < COUNT; i++)
            want[i] = data[0][i] - 0.5f * data[1][i];
        run(&rig, op, &prepared, (struct shape){ 3, 1, 0 }, in, &in[over]);
        ok(holds(&rig, in[over], want), "over input %u", over);
        for (UINT i = 0; i < 3; i++)
            api_release(in[i].buffer);
    }
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
}

/* ---- random graphs: any outputs over any inputs ---- */

struct random_graph {
    struct shape shape;
    UINT nodes;
    enum kind kinds[SLOTS_MAX * 3];
    UINT from[SLOTS_MAX * 3][2]; /* inputs, then nodes */
    UINT output[SLOTS_MAX];      /* node */
};

static struct random_graph random_graph(UINT kinds)
{
    struct random_graph g = { .shape = { 1 + rnd(3), 1 + rnd(3), 0 } };
    g.nodes = g.shape.outputs + rnd(6);
    for (UINT n = 0; n < g.nodes; n++) {
        g.kinds[n] = (enum kind)rnd(kinds);
        for (UINT i = 0; i < 2; i++)
            g.from[n][i] = rnd(2) ? rnd(g.shape.inputs) : rnd(g.shape.inputs + n);
    }
    for (UINT o = 0; o < g.shape.outputs; o++) /* each node at most once: two outputs of one node are copies */
        g.output[o] = g.nodes - 1 - o;
    return g;
}

static IDMLCompiledOperator *compile_random(IDMLDevice1 *dml, const struct random_graph *g, DML_EXECUTION_FLAGS flags)
{
    struct build b;
    build_begin(&b, dml, g->shape.inputs, g->shape.outputs);
    for (UINT n = 0; n < g->nodes; n++)
        add_node(&b, make_kind(dml, g->kinds[n]), NULL);
    for (UINT n = 0; n < g->nodes; n++)
        for (UINT i = 0; i < kind_inputs[g->kinds[n]]; i++) {
            if (g->from[n][i] < g->shape.inputs)
                add_input(&b, g->from[n][i], n, i);
            else
                add_middle(&b, g->from[n][i] - g->shape.inputs, 0, n, i);
        }
    for (UINT o = 0; o < g->shape.outputs; o++)
        add_output(&b, g->output[o], 0, o);
    return build_end_with(&b, flags);
}

/* An unused input has no binding: such graphs are not for this test. */
static bool reads_all(const struct random_graph *g)
{
    UINT read = 0;
    for (UINT n = 0; n < g->nodes; n++)
        for (UINT i = 0; i < kind_inputs[g->kinds[n]]; i++)
            read |= g->from[n][i] < g->shape.inputs ? 1u << g->from[n][i] : 0;
    return read == (1u << g->shape.inputs) - 1;
}

static void check_random(struct rig *rig, UINT number, UINT kinds)
{
    struct random_graph g = random_graph(kinds);
    float data[SLOTS_MAX][COUNT], results[SLOTS_MAX][COUNT];
    const int failures = api_failures;
    while (!reads_all(&g))
        g = random_graph(kinds);
    IDMLCompiledOperator *op = compile_random(rig->dml, &g, both_flags[number % 2]);
    struct prepared prepared = prepare(rig, op, 0, NULL);
    for (UINT i = 0; i < g.shape.inputs; i++)
        fill(data[i], COUNT);
    run_apart(rig, op, &prepared, g.shape, data, results);
    for (int tries = 0; tries < 4; tries++) {
        UINT over[SLOTS_MAX], taken = 0;
        for (UINT o = 0; o < g.shape.outputs; o++) {
            over[o] = rnd(g.shape.inputs + 1);
            if (taken >> over[o] & 1)
                over[o] = g.shape.inputs;
            taken |= 1u << over[o];
        }
        run_over(rig, op, &prepared, g.shape, data, results, over);
    }
    ok(api_failures == failures, "graph %u", number);
    prepared_release(&prepared);
    api_release(op);
}

static void test_random(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    UINT count = api_is("cpu") ? 400 : 20;
    for (UINT i = 0; i < count && api_failures < 10; i++)
        check_random(&rig, i, api_is("cpu") ? KINDS : SHADERS);
    rig_destroy(&rig);
}

/* ---- bindings ---- */

/* Late bindings of one list, alternately with and without overlaps. */
static void test_rebinding(void)
{
    static const UINT turns[][2] = { { 9, 9 }, { 0, 9 }, { 1, 9 }, { 9, 0 }, { 1, 0 }, { 0, 1 }, { 9, 9 } };
    const struct random_graph g = { { 2, 2, 0 }, 3, { TRANSPOSE, ADD, ADD }, { { 0 }, { 0, 1 }, { 2, 1 } }, { 1, 2 } };
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op = compile_random(rig.dml, &g, DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    float data[SLOTS_MAX][COUNT], results[SLOTS_MAX][COUNT];
    for (UINT i = 0; i < 2; i++)
        fill(data[i], COUNT);
    run_apart(&rig, op, &prepared, g.shape, data, results);
    struct bound buffers[sizeof(turns) / sizeof(turns[0])][4];
    for (size_t t = 0; t < sizeof(turns) / sizeof(turns[0]); t++)
        for (UINT i = 0; i < 4; i++)
            buffers[t][i] = fresh(&rig, data[i % 2]);
    IDMLBindingTable *table = table_at(&rig, op, 0);
    record(&rig, op, table);
    ok_hr(ID3D12GraphicsCommandList_Close(rig.q.list), S_OK);
    for (size_t t = 0; t < sizeof(turns) / sizeof(turns[0]); t++) {
        struct bound out[2];
        for (UINT o = 0; o < 2; o++)
            out[o] = buffers[t][turns[t][o] < 2 ? turns[t][o] : 2 + o];
        bind_inputs(table, 2, buffers[t]);
        bind_outputs(table, 2, out);
        bind_prepared(table, &prepared);
        api_queue_execute(&rig.q); /* the next bindings are written before this one has run, perhaps */
    }
    api_queue_wait(&rig.q);
    ok_hr(ID3D12CommandAllocator_Reset(rig.q.allocator), S_OK);
    ok_hr(ID3D12GraphicsCommandList_Reset(rig.q.list, rig.q.allocator, NULL), S_OK);
    for (size_t t = 0; t < sizeof(turns) / sizeof(turns[0]); t++)
        for (UINT o = 0; o < 2; o++)
            ok(holds(&rig, buffers[t][turns[t][o] < 2 ? turns[t][o] : 2 + o], results[o]), "turn %zu, output %u", t, o);
    for (size_t t = 0; t < sizeof(turns) / sizeof(turns[0]); t++)
        for (UINT i = 0; i < 4; i++)
            api_release(buffers[t][i].buffer);
    ok_hr(dml_reason(&rig), S_OK);
    api_release(table);
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
}

/* Two resources placed in one heap, at equal or shifted offsets: the results are correct there, too. */
static void test_placed(UINT64 shift, DML_EXECUTION_FLAGS flags)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    D3D12_HEAP_DESC heap_desc = { .SizeInBytes = 65536,
                                  .Properties = { .Type = D3D12_HEAP_TYPE_DEFAULT },
                                  .Flags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS };
    D3D12_RESOURCE_DESC desc = api_buffer_desc(4 * BYTES, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    ID3D12Resource *placed[2] = { NULL, NULL };
    ID3D12Heap *heap = NULL;
    ok_hr(ID3D12Device_CreateHeap(rig.d3d, &heap_desc, &IID_ID3D12Heap, (void **)&heap), S_OK);
    need(heap);
    for (int i = 0; i < 2; i++) {
        ok_hr(ID3D12Device_CreatePlacedResource(rig.d3d, heap, 0, &desc, D3D12_RESOURCE_STATE_COMMON, NULL,
                                                &IID_ID3D12Resource, (void **)&placed[i]),
              S_OK);
        need(placed[i]);
    }
    IDMLCompiledOperator *op = compile(rig.dml, make_kind(rig.dml, TRANSPOSE), flags);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    const struct shape shape = { 1, 1, 0 };
    float data[1][COUNT], result[1][COUNT];
    fill(data[0], COUNT);
    run_apart(&rig, op, &prepared, shape, data, result);
    api_write(&rig.q, placed[0], BYTES, data[0], BYTES);
    rig_set_heap(&rig);
    const struct bound in = { placed[0], BYTES, BYTES }, out = { placed[1], BYTES + shift, BYTES };
    run(&rig, op, &prepared, shape, &in, &out);
    ok(holds(&rig, out, result[0]), "placed resources, %u bytes apart", (unsigned)shift);
    api_release(placed[0]);
    api_release(placed[1]);
    api_release(heap);
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
}

/* Two buffers of the application's own memory. */
static void test_own_memory(UINT64 shift, DML_EXECUTION_FLAGS flags)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    char *memory = aligned_alloc(4096, 4096);
    ID3D12Resource *own[2] = { NULL, NULL };
    float data[1][COUNT], result[1][COUNT];
    need(memory);
    IDMLCompiledOperator *op = compile(rig.dml, make_kind(rig.dml, TRANSPOSE), flags);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    const struct shape shape = { 1, 1, 0 };
    fill(data[0], COUNT);
    run_apart(&rig, op, &prepared, shape, data, result);
    memcpy(memory, data[0], BYTES);
    for (int i = 0; i < 2; i++) {
        ok_hr(AnydmlCreateBufferFromMemory(rig.d3d, memory + (i ? shift : 0), BYTES, &IID_ID3D12Resource,
                                           (void **)&own[i]),
              S_OK);
        need(own[i]);
    }
    const struct bound in = { own[0], 0, BYTES }, out = { own[1], 0, BYTES };
    run(&rig, op, &prepared, shape, &in, &out);
    ok(!memcmp(memory + shift, result[0], BYTES), "own memory, %u bytes apart, flags 0x%x", (unsigned)shift,
       (unsigned)flags);
    api_release(own[0]);
    api_release(own[1]);
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
    free(memory);
}

/* Rows with gaps, whose contents are preserved. */
static void test_gaps(void)
{
    static const UINT strides[4] = { 96, 96, 12, 1 };
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    struct tensor tensor;
    const DML_TENSOR_DESC *desc = tensor_f32(&tensor, 1, 1, SIDE, SIDE, DML_TENSOR_FLAG_NONE);
    tensor.buffer.Strides = strides;
    tensor.buffer.TotalTensorSizeInBytes = 92 * 4;
    DML_ACTIVATION_SOFTMAX_OPERATOR_DESC softmax = { desc, desc };
    IDMLCompiledOperator *op =
        compile(rig.dml, make_operator(rig.dml, DML_OPERATOR_ACTIVATION_SOFTMAX, &softmax), DML_EXECUTION_FLAG_NONE);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    float data[92], apart[92], within[92];
    fill(data, 92);
    struct bound in = buffer_of(&rig, data, sizeof(data)), out = buffer_of(&rig, data, sizeof(data));
    const struct shape shape = { 1, 1, 0 };
    run(&rig, op, &prepared, shape, &in, &out);
    run(&rig, op, &prepared, shape, &in, &in);
    api_read(&rig.q, out.buffer, 0, apart, sizeof(apart));
    api_read(&rig.q, in.buffer, 0, within, sizeof(within));
    rig_set_heap(&rig);
    ok(!memcmp(apart, within, sizeof(apart)), "rows with gaps");
    ok(apart[0] != data[0], "nothing was computed");
    for (UINT i = 0; i < 92; i++)
        ok(i % 12 < SIDE || within[i] == data[i], "element %u of a gap", i);
    api_release(in.buffer);
    api_release(out.buffer);
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
}

/* Partial overlaps: rejected immediately, or when a late binding is submitted. */
static void test_in_part(DML_EXECUTION_FLAGS flags)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    const struct random_graph g = { { 1, 1, 0 }, 2, { TANH, ADD }, { { 0 }, { 0, 1 } }, { 1 } };
    IDMLCompiledOperator *op = compile_random(rig.dml, &g, flags);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    ID3D12Resource *buffer = buffer_f32(&rig, 2 * COUNT, 0, 1);
    const struct bound in = { buffer, 0, BYTES }, out = { buffer, BYTES - 16, BYTES };
    IDMLBindingTable *table = bound_table(&rig, op, &prepared, g.shape, &in, &out);
    ok_hr(dml_reason(&rig), S_OK);
    record(&rig, op, table);
    if (flags) {
        ok_hr(ID3D12GraphicsCommandList_Close(rig.q.list), S_OK);
        api_queue_execute(&rig.q);
    }
    ok_hr(dml_reason(&rig), E_INVALIDARG);
    api_release(buffer);
    api_release(table);
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
}

int main(void)
{
    api_begin();
    for (int kind = 0; kind < KINDS; kind++)
        rig_part(test_kind((enum kind)kind));
    rig_part(test_optimizer());
    rig_part(test_random());
    rig_part(test_rebinding());
    for (int i = 0; i < 2; i++) {
        if (api_is("cpu")) {
            test_own_memory(0, both_flags[i]);
            test_own_memory(64, both_flags[i]);
        }
        rig_part(test_placed(0, both_flags[i]));
        rig_part(test_placed(64, both_flags[i]));
    }
    rig_part(test_gaps());
    rig_part(test_in_part(both_flags[0]));
    rig_part(test_in_part(both_flags[1]));
    return rig_end();
}
