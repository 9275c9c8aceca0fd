/* SPDX-License-Identifier: Apache-2.0 */
/* AnydmlCompileGraph: constants are reported once each, on the calling thread, before it returns, and never read
 * after. AnydmlCompileGraphInParts: likewise parts of them. */
#include "dml_test.h"

#include <anydml.h>

#include <pthread.h>

enum { K = 300, N = 300, NODES = 16 };

struct part {
    DML_OPERATOR_GRAPH_NODE_DESC op;
    DML_CONSTANT_DATA_GRAPH_NODE_DESC constant;
};

/* A graph, and the reports while it is compiled. */
struct work {
    IDMLDevice1 *dml;
    struct part parts[NODES];
    DML_GRAPH_NODE_DESC nodes[NODES];
    DML_INPUT_GRAPH_EDGE_DESC input;
    DML_OUTPUT_GRAPH_EDGE_DESC output;
    DML_INTERMEDIATE_GRAPH_EDGE_DESC middles[NODES];
    DML_GRAPH_EDGE_DESC input_edge, output_edge, middle_edges[NODES];
    DML_GRAPH_DESC desc;
    void *data[NODES]; /* of constants, until they are named */
    UINT named[NODES];
    UINT64 read[NODES]; /* bytes that were reported in parts */
    pthread_t caller;
    bool returned;
};

static void work_begin(struct work *w, IDMLDevice1 *dml)
{
    memset(w, 0, sizeof(*w));
    w->dml = dml;
    w->caller = pthread_self();
    w->input_edge = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INPUT, &w->input };
    w->output_edge = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_OUTPUT, &w->output };
    w->desc = (DML_GRAPH_DESC){ .InputCount = 1,
                                .OutputCount = 1,
                                .Nodes = w->nodes,
                                .InputEdgeCount = 1,
                                .InputEdges = &w->input_edge,
                                .OutputEdgeCount = 1,
                                .OutputEdges = &w->output_edge,
                                .IntermediateEdges = w->middle_edges };
}

static UINT add_node(struct work *w, IDMLOperator *op)
{
    UINT i = w->desc.NodeCount++;
    w->parts[i].op = (DML_OPERATOR_GRAPH_NODE_DESC){ op, NULL };
    w->nodes[i] = (DML_GRAPH_NODE_DESC){ DML_GRAPH_NODE_TYPE_OPERATOR, &w->parts[i].op };
    return i;
}

/* `count` floats in a separate unaligned allocation, so that late reads are detected. */
static UINT add_constant(struct work *w, UINT count, float first, float step)
{
    UINT i = w->desc.NodeCount++;
    size_t bytes = count * sizeof(float);
    char *data = malloc(bytes + 4);
    need(data);
    for (UINT e = 0; e < count; e++)
        memcpy(data + 4 + e * 4, &(float){ first + step * (float)e }, 4);
    w->data[i] = data;
    w->parts[i].constant = (DML_CONSTANT_DATA_GRAPH_NODE_DESC){ data + 4, bytes, "constant" };
    w->nodes[i] = (DML_GRAPH_NODE_DESC){ DML_GRAPH_NODE_TYPE_CONSTANT, &w->parts[i].constant };
    return i;
}

static void connect(struct work *w, UINT from, UINT to, UINT slot)
{
    UINT i = w->desc.IntermediateEdgeCount++;
    w->middles[i] = (DML_INTERMEDIATE_GRAPH_EDGE_DESC){ from, 0, to, slot, NULL };
    w->middle_edges[i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INTERMEDIATE, &w->middles[i] };
}

/* Frees the data immediately, overwritten first. */
static void STDMETHODCALLTYPE done(void *context, UINT node)
{
    struct work *w = context;
    need(node < w->desc.NodeCount);
    ok(w->nodes[node].Type == DML_GRAPH_NODE_TYPE_CONSTANT, "node %u is no constant", node);
    ok(!w->named[node]++, "node %u is named again", node);
    ok(!w->returned, "node %u is named after the return", node);
    ok(pthread_equal(w->caller, pthread_self()), "node %u is named by another thread", node);
    if (w->data[node])
        memset(w->data[node], 0xff, w->parts[node].constant.DataSize + 4);
    free(w->data[node]);
    w->data[node] = NULL;
}

/* Overwrites the part. */
static void STDMETHODCALLTYPE part(void *context, UINT node, UINT64 offset, UINT64 bytes)
{
    struct work *w = context;
    need(node < w->desc.NodeCount && w->data[node]);
    ok(!w->named[node] && !w->returned, "a part of node %u is named late", node);
    ok(pthread_equal(w->caller, pthread_self()), "node %u is named by another thread", node);
    ok(offset == w->read[node], "a part of node %u is at %llu, not %llu", node, (unsigned long long)offset,
       (unsigned long long)w->read[node]);
    need(bytes <= w->parts[node].constant.DataSize - offset);
    memset((char *)w->data[node] + 4 + offset, 0xff, bytes);
    w->read[node] = offset + bytes;
}

static void work_end(struct work *w)
{
    for (UINT i = 0; i < NODES; i++) {
        free(w->data[i]);
        if (w->parts[i].op.Operator)
            api_release(w->parts[i].op.Operator);
    }
}

/* in_parts: with both callbacks. */
static IDMLCompiledOperator *work_compile_by(struct work *w, anydml_constant_done callback, bool in_parts)
{
    IDMLCompiledOperator *op = NULL;
    const struct anydml_constant_reads reads = { callback, part, w };
    HRESULT hr = in_parts ? AnydmlCompileGraphInParts(w->dml, &w->desc, DML_EXECUTION_FLAG_NONE, &reads,
                                                      &IID_IDMLCompiledOperator, (void **)&op)
                          : AnydmlCompileGraph(w->dml, &w->desc, DML_EXECUTION_FLAG_NONE, callback, w,
                                               &IID_IDMLCompiledOperator, (void **)&op);
    w->returned = true;
    rig_skip(hr);
    ok_hr(hr, S_OK);
    need(op);
    for (UINT i = 0; i < NODES; i++) { /* unreported ones may be freed now, too */
        if (w->data[i])
            memset(w->data[i], 0xff, w->parts[i].constant.DataSize + 4);
    }
    return op;
}

static IDMLCompiledOperator *work_compile(struct work *w, anydml_constant_done callback)
{
    return work_compile_by(w, callback, false);
}

/* y = x of 1 x K times two GEMMs with weights that are packed (one of them twice), plus a sum of constants that is
 * folded; one unused constant. The values of `c`: y[n] = K * (n + 1) ... is computed in double in addition. */
static void build(struct work *w, struct rig *rig)
{
    work_begin(w, rig->dml);
    UINT weights = add_constant(w, K * N, 0, 1.0f / 1024), bias = add_constant(w, N, 1, 1);
    UINT more = add_constant(w, N, 2, 0);
    add_constant(w, 8, 0, 0);
    UINT first = add_node(w, gemm_operator(rig->dml, 1, K, N, DML_TENSOR_FLAG_NONE));
    UINT sum = add_node(w, add_operator(rig->dml, N)), folded = add_node(w, add_operator(rig->dml, N));
    UINT second = add_node(w, gemm_operator(rig->dml, 1, N, N, DML_TENSOR_FLAG_NONE));
    UINT last = add_node(w, add_operator(rig->dml, N));
    w->input = (DML_INPUT_GRAPH_EDGE_DESC){ 0, first, 0, NULL };
    connect(w, weights, first, 1);
    connect(w, bias, folded, 0);
    connect(w, more, folded, 1);
    connect(w, first, sum, 0);
    connect(w, folded, sum, 1);
    connect(w, sum, second, 0);
    connect(w, weights, second, 1);
    connect(w, second, last, 0);
    connect(w, bias, last, 1);
    w->output = (DML_OUTPUT_GRAPH_EDGE_DESC){ last, 0, 0, NULL };
}

static void product(const double *x, double *y)
{
    for (UINT n = 0; n < N; n++) {
        y[n] = 0;
        for (UINT k = 0; k < K; k++)
            y[n] += x[k] * (double)(k * N + n) / 1024;
    }
}

static void check(struct rig *rig, IDMLCompiledOperator *op)
{
    double x[K], middle[N], want[N];
    float got[N];
    struct prepared prepared = prepare(rig, op, 0, NULL);
    ID3D12Resource *in = buffer_f32(rig, K, 0, 1.0f / K), *out = buffer_f32(rig, N, -1, 0);
    IDMLBindingTable *table = table_at(rig, op, 0);
    bind_inputs(table, 1, &(struct bound){ in, 0, K * 4 });
    bind_outputs(table, 1, &(struct bound){ out, 0, N * 4 });
    bind_prepared(table, &prepared);
    record(rig, op, table);
    rig_run(rig);
    for (UINT k = 0; k < K; k++)
        x[k] = (double)(1.0f / K) * k;
    product(x, middle);
    for (UINT n = 0; n < N; n++)
        middle[n] += n + 3;
    product(middle, want);
    api_read(&rig->q, out, 0, got, sizeof(got));
    rig_set_heap(rig);
    for (UINT n = 0; n < N; n++) {
        double wanted = want[n] + n + 1;
        ok((double)got[n] > wanted * 0.99999 && (double)got[n] < wanted * 1.00001, "element %u: %g, not %g", n,
           (double)got[n], wanted);
    }
    api_release(table);
    api_release(in);
    api_release(out);
    prepared_release(&prepared);
}

static void test_named(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    struct work w;
    build(&w, &rig);
    IDMLCompiledOperator *op = work_compile(&w, done);
    /* The purpose of the call are weights: on the cpu adapter they are packed and released. */
    ok(w.named[0] == 1 || !api_is("cpu"), "the weights were never named");
    check(&rig, op);
    work_end(&w);
    /* The same weights again, which the device already has: they are read to be recognised, and reported too. */
    build(&w, &rig);
    IDMLCompiledOperator *again = work_compile(&w, done);
    ok(w.named[0] == 1 || !api_is("cpu"), "the weights were not named the second time");
    api_release(op);
    check(&rig, again);
    work_end(&w);
    api_release(again);
    rig_destroy(&rig);
}

/* ---- parts ---- */

enum { MANY = 9 << 20 }; /* floats: 36 MiB */

/* y = (x + c) + c: the caller's bytes are read once. */
static void test_large_parts(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    struct work w;
    work_begin(&w, rig.dml);
    UINT constant = add_constant(&w, MANY, 1, 0.5f);
    UINT first = add_node(&w, add_operator(rig.dml, MANY)), second = add_node(&w, add_operator(rig.dml, MANY));
    w.input = (DML_INPUT_GRAPH_EDGE_DESC){ 0, first, 0, NULL };
    connect(&w, constant, first, 1);
    connect(&w, first, second, 0);
    connect(&w, constant, second, 1);
    w.output = (DML_OUTPUT_GRAPH_EDGE_DESC){ second, 0, 0, NULL };
    IDMLCompiledOperator *op = work_compile_by(&w, done, true);
    ok(!api_is("cpu") || (w.read[constant] == (UINT64)MANY * 4 && w.named[constant] == 1),
       "%llu bytes were reported in parts", (unsigned long long)w.read[constant]);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    ID3D12Resource *in = buffer_f32(&rig, MANY, 3, 0), *out = buffer_f32(&rig, MANY, -1, 0);
    IDMLBindingTable *table = table_at(&rig, op, 0);
    bind_inputs(table, 1, &(struct bound){ in, 0, MANY * 4 });
    bind_outputs(table, 1, &(struct bound){ out, 0, MANY * 4 });
    bind_prepared(table, &prepared);
    record(&rig, op, table);
    rig_run(&rig);
    float *got = malloc(MANY * sizeof(*got));
    need(got);
    api_read(&rig.q, out, 0, got, MANY * sizeof(*got));
    UINT wrong = 0;
    for (UINT i = 0; i < MANY; i++) {
        const float c = 1 + 0.5f * (float)i, sum = 3 + c;
        wrong += got[i] != sum + c;
    }
    ok(!wrong, "%u of %u elements are wrong", wrong, (UINT)MANY);
    free(got);
    api_release(table);
    api_release(in);
    api_release(out);
    prepared_release(&prepared);
    work_end(&w);
    api_release(op);
    rig_destroy(&rig);
}

/* Unaligned weights are copied before they are packed. */
static void test_packed_parts(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    struct work w;
    build(&w, &rig);
    IDMLCompiledOperator *op = work_compile_by(&w, done, true);
    check(&rig, op);
    work_end(&w);
    api_release(op);
    rig_destroy(&rig);
}

/* ---- weights of several devices ---- */

enum { LARGE = 2048 }; /* 16 MiB of weights */

static long resident_mib(void)
{
    api_trim_heap();
    return (long)(api_resident_bytes() >> 20);
}

/* One GEMM with weights of 16 MiB times `factor`. */
static IDMLCompiledOperator *compile_large(struct rig *rig, float factor)
{
    struct work w;
    work_begin(&w, rig->dml);
    UINT weights = add_constant(&w, LARGE * LARGE, 0, factor);
    UINT node = add_node(&w, gemm_operator(rig->dml, 1, LARGE, LARGE, DML_TENSOR_FLAG_NONE));
    w.input = (DML_INPUT_GRAPH_EDGE_DESC){ 0, node, 0, NULL };
    connect(&w, weights, node, 1);
    w.output = (DML_OUTPUT_GRAPH_EDGE_DESC){ node, 0, 0, NULL };
    IDMLCompiledOperator *op = work_compile(&w, done);
    work_end(&w);
    return op;
}

/* The same weights use memory once, on any number of devices; others use their own. */
static void test_devices(void)
{
    struct rig first = rig_create(DML_CREATE_DEVICE_FLAG_NONE), second = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *ops[4];
    long grown[4];
    for (UINT i = 0; i < 4; i++) {
        long before = resident_mib();
        ops[i] = compile_large(i % 2 ? &second : &first, i < 3 ? 1 : 2);
        grown[i] = resident_mib() - before;
    }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    const bool exact = false; /* they keep freed memory */
#else
    const bool exact = true;
#endif
    ok(!exact || (grown[1] < 8 && grown[2] < 8),
       "16 MiB of weights took %ld MiB more on the second device, %ld again on the first", grown[1], grown[2]);
    ok(!exact || grown[3] >= 8, "other weights took %ld MiB", grown[3]);
    api_release(ops[0]);
    api_release(ops[2]);
    rig_destroy(&first); /* the second device's stay */
    api_release(ops[1]);
    api_release(ops[3]);
    rig_destroy(&second);
}

static void test_no_callback(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    struct work w;
    build(&w, &rig);
    IDMLCompiledOperator *op = work_compile(&w, NULL);
    check(&rig, op);
    work_end(&w);
    api_release(op);
    rig_destroy(&rig);
}

/* Invalid graphs fail as in CompileGraph; constants may have been reported, once. */
static void test_refused(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    struct work w;
    void *out = &out;
    build(&w, &rig);
    ok_hr(AnydmlCompileGraph(NULL, &w.desc, 0, done, &w, &IID_IDMLCompiledOperator, &out), E_INVALIDARG);
    ok_hr(AnydmlCompileGraphInParts(NULL, &w.desc, 0, NULL, &IID_IDMLCompiledOperator, &out), E_INVALIDARG);
    out = &out;
    ok_hr(AnydmlCompileGraph(rig.dml, NULL, 0, done, &w, &IID_IDMLCompiledOperator, &out), E_INVALIDARG);
    ok(!out, "desc NULL left %p", out);
    out = &out;
    ok_hr(AnydmlCompileGraph(rig.dml, &w.desc, (DML_EXECUTION_FLAGS)16, done, &w, &IID_IDMLCompiledOperator, &out),
          E_INVALIDARG);
    ok(!out, "flags left %p", out);
    w.parts[0].constant.DataSize -= 4;
    out = &out;
    ok_hr(AnydmlCompileGraph(rig.dml, &w.desc, 0, done, &w, &IID_IDMLCompiledOperator, &out), E_INVALIDARG);
    ok(!out, "a constant too short left %p", out);
    w.parts[0].constant.DataSize += 4;
    HRESULT hr = AnydmlCompileGraph(rig.dml, &w.desc, 0, done, &w, &IID_IDMLCompiledOperator, NULL);
    rig_skip(hr);
    ok_hr(hr, S_FALSE); /* only checked */
    w.returned = true;
    ok_hr(IDMLDevice1_GetDeviceRemovedReason(rig.dml), S_OK);
    work_end(&w);
    rig_destroy(&rig);
}

/* ---- a device of another library ---- */

struct foreign {
    IDMLDevice1 iface;
    IDMLDevice1 *inner; /* compiles; NULL: unavailable */
    const DML_GRAPH_DESC *desc;
    DML_EXECUTION_FLAGS flags;
    UINT calls;
};

static HRESULT STDMETHODCALLTYPE foreign_compile(IDMLDevice1 *iface, const DML_GRAPH_DESC *desc,
                                                 DML_EXECUTION_FLAGS flags, REFIID riid, void **out)
{
    struct foreign *foreign = (struct foreign *)iface;
    foreign->calls++;
    foreign->desc = desc;
    foreign->flags = flags;
    if (foreign->inner)
        return IDMLDevice1_CompileGraph(foreign->inner, desc, flags, riid, out);
    *out = NULL;
    return DXGI_ERROR_UNSUPPORTED;
}

/* It has its own CompileGraph, without a callback; the functions for AnyDML's devices reject it. */
static void test_foreign(void)
{
    /* Nothing else may be called. */
    static const IDMLDevice1Vtbl table = { .CompileGraph = foreign_compile };
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    struct foreign foreign = { .iface = { (IDMLDevice1Vtbl *)&table } };
    struct anydml_operator_info info;
    struct anydml_trace trace = { 0 };
    struct work w;
    void *out = &out;
    build(&w, &rig);
    ok_hr(AnydmlCompileGraph(&foreign.iface, &w.desc, DML_EXECUTION_FLAG_DISABLE_META_COMMANDS, done, &w,
                             &IID_IDMLCompiledOperator, &out),
          DXGI_ERROR_UNSUPPORTED);
    ok(!out && foreign.calls == 1, "out %p after %u calls", out, foreign.calls);
    ok(foreign.desc == &w.desc && foreign.flags == DML_EXECUTION_FLAG_DISABLE_META_COMMANDS, "it got other arguments");
    foreign.inner = rig.dml;
    w.dml = &foreign.iface;
    IDMLCompiledOperator *op = work_compile(&w, done);
    ok(foreign.calls == 2, "%u calls", foreign.calls);
    for (UINT i = 0; i < w.desc.NodeCount; i++)
        ok(!w.named[i], "node %u is named", i);
    check(&rig, op);
    ok_hr(AnydmlEnumOperators((IDMLDevice *)&foreign.iface, 0, &info), E_INVALIDARG);
    ok_hr(AnydmlSetTrace((IDMLDevice *)&foreign.iface, &trace), E_INVALIDARG);
    work_end(&w);
    api_release(op);
    rig_destroy(&rig);
}

int main(void)
{
    api_begin();
    rig_part(test_named());
    rig_part(test_no_callback());
    rig_part(test_packed_parts());
    rig_part(test_large_parts());
    if (api_is("cpu"))
        rig_part(test_devices());
    rig_part(test_refused());
    rig_part(test_foreign());
    return rig_end();
}
