/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of the DirectML interfaces: one device with a queue, a heap of descriptors and a recorder, and
 * helpers to create operators, bind buffers and run them. */
#ifndef TESTS_DML_TEST_H
#define TESTS_DML_TEST_H

#include "api_test.h"

#include <sys/wait.h>
#include <unistd.h>

#include <DirectML.h>
#include <DirectMLGuids.h>

#define DML_TEST_DESCRIPTORS 256

struct rig {
    ID3D12Device *d3d;
    IDMLDevice1 *dml;
    struct api_queue q;
    ID3D12DescriptorHeap *heap;
    IDMLCommandRecorder *recorder;
    UINT step; /* between descriptors */
};

static inline IDMLDevice1 *rig_dml_device(ID3D12Device *d3d, DML_CREATE_DEVICE_FLAGS flags)
{
    IDMLDevice1 *dml = NULL;
    ok_hr(DMLCreateDevice1(d3d, flags, DML_FEATURE_LEVEL_1_0, &IID_IDMLDevice1, (void **)&dml), S_OK);
    need(dml);
    return dml;
}

static inline ID3D12DescriptorHeap *rig_heap(ID3D12Device *d3d, UINT count, bool visible)
{
    D3D12_DESCRIPTOR_HEAP_DESC desc = { D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, count,
                                        visible ? D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE
                                                : D3D12_DESCRIPTOR_HEAP_FLAG_NONE,
                                        0 };
    ID3D12DescriptorHeap *heap = NULL;
    ok_hr(ID3D12Device_CreateDescriptorHeap(d3d, &desc, &IID_ID3D12DescriptorHeap, (void **)&heap), S_OK);
    need(heap);
    return heap;
}

static inline D3D12_CPU_DESCRIPTOR_HANDLE rig_cpu(const struct rig *rig, UINT index)
{
    D3D12_CPU_DESCRIPTOR_HANDLE handle;
    handle = ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(rig->heap);
    handle.ptr += (SIZE_T)index * rig->step;
    return handle;
}

static inline D3D12_GPU_DESCRIPTOR_HANDLE rig_gpu(const struct rig *rig, UINT index)
{
    D3D12_GPU_DESCRIPTOR_HANDLE handle;
    handle = ID3D12DescriptorHeap_GetGPUDescriptorHandleForHeapStart(rig->heap);
    handle.ptr += (UINT64)index * rig->step;
    return handle;
}

static inline void rig_set_heap(struct rig *rig)
{
    ID3D12GraphicsCommandList_SetDescriptorHeaps(rig->q.list, 1, &rig->heap);
}

/* Keeps the caller's reference on d3d. */
static inline struct rig rig_of(ID3D12Device *d3d, DML_CREATE_DEVICE_FLAGS flags)
{
    struct rig rig = { .d3d = d3d };
    rig.dml = rig_dml_device(rig.d3d, flags);
    rig.q = api_queue_create(rig.d3d);
    rig.heap = rig_heap(rig.d3d, DML_TEST_DESCRIPTORS, true);
    rig.step = ID3D12Device_GetDescriptorHandleIncrementSize(rig.d3d, D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
    ok_hr(IDMLDevice1_CreateCommandRecorder(rig.dml, &IID_IDMLCommandRecorder, (void **)&rig.recorder), S_OK);
    need(rig.recorder);
    rig_set_heap(&rig);
    return rig;
}

static inline struct rig rig_create(DML_CREATE_DEVICE_FLAGS flags)
{
    return rig_of(api_device(), flags);
}

static inline void rig_destroy(struct rig *rig)
{
    api_release(rig->recorder);
    api_release(rig->heap);
    api_queue_destroy(&rig->q);
    api_release(rig->dml);
    api_release(rig->d3d);
}

/* Closes, executes, waits; the list is open again with its heap set. */
static inline void rig_run(struct rig *rig)
{
    api_queue_run(&rig->q);
    rig_set_heap(rig);
}

/* ---- tensors ---- */

struct tensor {
    DML_TENSOR_DESC desc;
    DML_BUFFER_TENSOR_DESC buffer;
    UINT sizes[4];
};

/* A packed FLOAT32 tensor of rank 4; *out must not be moved. */
static inline const DML_TENSOR_DESC *tensor_f32(struct tensor *out, UINT n, UINT c, UINT h, UINT w,
                                                DML_TENSOR_FLAGS flags)
{
    *out = (struct tensor){ .sizes = { n, c, h, w } };
    out->buffer = (DML_BUFFER_TENSOR_DESC){ DML_TENSOR_DATA_TYPE_FLOAT32, flags, 4, out->sizes, NULL,
                                            (UINT64)n * c * h * w * 4,    0 };
    out->desc = (DML_TENSOR_DESC){ DML_TENSOR_TYPE_BUFFER, &out->buffer };
    return &out->desc;
}

/* ---- operators ---- */

/* Ends a part of a test at the first operator for which the adapter has no shader. */
static inline void rig_skip(HRESULT hr)
{
    if (hr != DXGI_ERROR_UNSUPPORTED || !api_is("vulkan"))
        return;
    _exit(api_failures ? 1 : 77); /* nothing is released: no leak check */
}

static int rig_parts_run, rig_parts_skipped;

/* Before a part: on an adapter that lacks operators it runs in a process of its own, so that skipping it does not
 * affect the others. Returns fork's result, -1 for "in this process". No device may exist yet. */
static inline pid_t rig_fork(void)
{
    fflush(NULL);
    return api_is("vulkan") ? fork() : -1;
}

static inline void rig_join(pid_t child)
{
    int status = 0;
    need(waitpid(child, &status, 0) == child);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    rig_parts_run += code != 77;
    rig_parts_skipped += code == 77;
    ok(code == 0 || code == 77, "a part of the test failed with status 0x%x", (unsigned)status);
}

#define rig_part(call)                                                                                                 \
    do {                                                                                                               \
        pid_t child_ = rig_fork();                                                                                     \
        if (child_ <= 0)                                                                                               \
            call;                                                                                                      \
        if (child_ == 0)                                                                                               \
            _exit(api_end());                                                                                          \
        if (child_ > 0)                                                                                                \
            rig_join(child_);                                                                                          \
    } while (0)

/* Instead of api_end in tests that have parts. */
static inline int rig_end(void)
{
    if (rig_parts_skipped)
        fprintf(stderr, "adapter \"%s\": %d parts run, %d skipped for want of a shader\n", api_adapter(), rig_parts_run,
                rig_parts_skipped);
    return rig_parts_skipped && !rig_parts_run ? 77 : api_end();
}

static inline IDMLOperator *make_operator(IDMLDevice1 *dml, DML_OPERATOR_TYPE type, const void *desc)
{
    DML_OPERATOR_DESC op_desc = { type, desc };
    IDMLOperator *op = NULL;
    ok_hr(IDMLDevice1_CreateOperator(dml, &op_desc, &IID_IDMLOperator, (void **)&op), S_OK);
    need(op);
    return op;
}

static inline IDMLOperator *identity_operator(IDMLDevice1 *dml, UINT count)
{
    struct tensor tensor;
    const DML_TENSOR_DESC *desc = tensor_f32(&tensor, 1, 1, 1, count, DML_TENSOR_FLAG_NONE);
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC identity = { desc, desc, NULL };
    return make_operator(dml, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &identity);
}

static inline IDMLOperator *add_operator(IDMLDevice1 *dml, UINT count)
{
    struct tensor tensor;
    const DML_TENSOR_DESC *desc = tensor_f32(&tensor, 1, 1, 1, count, DML_TENSOR_FLAG_NONE);
    DML_ELEMENT_WISE_ADD_OPERATOR_DESC add = { desc, desc, desc };
    return make_operator(dml, DML_OPERATOR_ELEMENT_WISE_ADD, &add);
}

/* out[m, n] = a[m, k] * b[k, n], b owned or not. */
static inline IDMLOperator *gemm_operator(IDMLDevice1 *dml, UINT m, UINT k, UINT n, DML_TENSOR_FLAGS b_flags)
{
    struct tensor a, b, out;
    DML_GEMM_OPERATOR_DESC gemm = {
        .ATensor = tensor_f32(&a, 1, 1, m, k, DML_TENSOR_FLAG_NONE),
        .BTensor = tensor_f32(&b, 1, 1, k, n, b_flags),
        .OutputTensor = tensor_f32(&out, 1, 1, m, n, DML_TENSOR_FLAG_NONE),
        .Alpha = 1.0f,
    };
    return make_operator(dml, DML_OPERATOR_GEMM, &gemm);
}

/* Consumes the reference on op. */
static inline IDMLCompiledOperator *compile(IDMLDevice1 *dml, IDMLOperator *op, DML_EXECUTION_FLAGS flags)
{
    IDMLCompiledOperator *compiled = NULL;
    HRESULT hr = IDMLDevice1_CompileOperator(dml, op, flags, &IID_IDMLCompiledOperator, (void **)&compiled);
    api_release(op);
    rig_skip(hr);
    ok_hr(hr, S_OK);
    need(compiled);
    return compiled;
}

static inline DML_BINDING_PROPERTIES properties(void *dispatchable)
{
    return IDMLDispatchable_GetBindingProperties((IDMLDispatchable *)dispatchable);
}

/* ---- binding ---- */

static inline IDMLBindingTable *table_at(struct rig *rig, void *dispatchable, UINT descriptor)
{
    DML_BINDING_TABLE_DESC desc = { (IDMLDispatchable *)dispatchable, rig_cpu(rig, descriptor),
                                    rig_gpu(rig, descriptor), properties(dispatchable).RequiredDescriptorCount };
    IDMLBindingTable *table = NULL;
    ok_hr(IDMLDevice1_CreateBindingTable(rig->dml, &desc, &IID_IDMLBindingTable, (void **)&table), S_OK);
    need(table);
    return table;
}

struct bound {
    ID3D12Resource *buffer; /* NULL: NONE */
    UINT64 offset, bytes;
};

enum { BOUND_MAX = 128 };

struct binding_set {
    DML_BUFFER_BINDING buffers[BOUND_MAX];
    DML_BINDING_DESC descs[BOUND_MAX];
};

static inline const DML_BINDING_DESC *binding_set(struct binding_set *set, UINT count, const struct bound *bound)
{
    need(count <= BOUND_MAX);
    for (UINT i = 0; i < count; i++) {
        set->buffers[i] = (DML_BUFFER_BINDING){ bound[i].buffer, bound[i].offset, bound[i].bytes };
        set->descs[i] = (DML_BINDING_DESC){ bound[i].buffer ? DML_BINDING_TYPE_BUFFER : DML_BINDING_TYPE_NONE,
                                            bound[i].buffer ? &set->buffers[i] : NULL };
    }
    return set->descs;
}

static inline void bind_inputs(IDMLBindingTable *table, UINT count, const struct bound *bound)
{
    struct binding_set set;
    IDMLBindingTable_BindInputs(table, count, binding_set(&set, count, bound));
}

static inline void bind_outputs(IDMLBindingTable *table, UINT count, const struct bound *bound)
{
    struct binding_set set;
    IDMLBindingTable_BindOutputs(table, count, binding_set(&set, count, bound));
}

static inline void bind_temporary(IDMLBindingTable *table, ID3D12Resource *buffer, UINT64 offset, UINT64 bytes)
{
    struct binding_set set;
    struct bound bound = { buffer, offset, bytes };
    IDMLBindingTable_BindTemporaryResource(table, binding_set(&set, 1, &bound));
}

static inline void bind_persistent(IDMLBindingTable *table, ID3D12Resource *buffer, UINT64 offset, UINT64 bytes)
{
    struct binding_set set;
    struct bound bound = { buffer, offset, bytes };
    IDMLBindingTable_BindPersistentResource(table, binding_set(&set, 1, &bound));
}

/* One BUFFER_ARRAY for the only target of an initializer. */
static inline void bind_owned(IDMLBindingTable *table, UINT count, const struct bound *bound)
{
    DML_BUFFER_BINDING buffers[BOUND_MAX];
    need(count <= BOUND_MAX);
    for (UINT i = 0; i < count; i++)
        buffers[i] = (DML_BUFFER_BINDING){ bound[i].buffer, bound[i].offset, bound[i].bytes };
    DML_BUFFER_ARRAY_BINDING array = { count, buffers };
    DML_BINDING_DESC desc = { DML_BINDING_TYPE_BUFFER_ARRAY, &array };
    IDMLBindingTable_BindInputs(table, 1, &desc);
}

static inline void record(struct rig *rig, void *dispatchable, IDMLBindingTable *table)
{
    IDMLCommandRecorder_RecordDispatch(rig->recorder, (ID3D12CommandList *)rig->q.list,
                                       (IDMLDispatchable *)dispatchable, table);
}

/* Buffers of an operator in addition to inputs and outputs. */
struct prepared {
    ID3D12Resource *temporary, *persistent; /* NULL: none */
    DML_BINDING_PROPERTIES props;
};

static inline IDMLOperatorInitializer *make_initializer(IDMLDevice1 *dml, UINT count, IDMLCompiledOperator *const *ops)
{
    IDMLOperatorInitializer *initializer = NULL;
    ok_hr(IDMLDevice1_CreateOperatorInitializer(dml, count, ops, &IID_IDMLOperatorInitializer, (void **)&initializer),
          S_OK);
    need(initializer);
    return initializer;
}

/* Runs the initialisation of one operator with these owned inputs. */
static inline struct prepared prepare(struct rig *rig, IDMLCompiledOperator *op, UINT owned_count,
                                      const struct bound *owned)
{
    struct prepared out = { .props = properties(op) };
    IDMLOperatorInitializer *initializer = make_initializer(rig->dml, 1, &op);
    IDMLBindingTable *table = table_at(rig, initializer, 0);
    if (out.props.TemporaryResourceSize)
        out.temporary = api_buffer(rig->d3d, D3D12_HEAP_TYPE_DEFAULT, out.props.TemporaryResourceSize);
    if (owned_count)
        bind_owned(table, owned_count, owned);
    if (out.props.PersistentResourceSize) {
        out.persistent = api_buffer(rig->d3d, D3D12_HEAP_TYPE_DEFAULT, out.props.PersistentResourceSize);
        bind_outputs(table, 1, &(struct bound){ out.persistent, 0, out.props.PersistentResourceSize });
    }
    record(rig, initializer, table);
    rig_run(rig);
    api_release(table);
    api_release(initializer);
    return out;
}

static inline void bind_prepared(IDMLBindingTable *table, const struct prepared *prepared)
{
    if (prepared->temporary)
        bind_temporary(table, prepared->temporary, 0, prepared->props.TemporaryResourceSize);
    if (prepared->persistent)
        bind_persistent(table, prepared->persistent, 0, prepared->props.PersistentResourceSize);
}

static inline void prepared_release(struct prepared *prepared)
{
    if (prepared->temporary)
        api_release(prepared->temporary);
    if (prepared->persistent)
        api_release(prepared->persistent);
}

/* ---- data ---- */

/* A buffer with this data; bytes: a multiple of 4. */
static inline struct bound buffer_of(struct rig *rig, const void *data, UINT64 bytes)
{
    struct bound out = { api_buffer(rig->d3d, D3D12_HEAP_TYPE_DEFAULT, bytes), 0, bytes };
    api_write(&rig->q, out.buffer, 0, data, bytes);
    rig_set_heap(rig);
    return out;
}

static inline ID3D12Resource *buffer_f32(struct rig *rig, UINT count, float first, float step)
{
    float *data = malloc(count * sizeof(*data));
    need(data);
    for (UINT i = 0; i < count; i++)
        data[i] = first + step * (float)i;
    ID3D12Resource *buffer = buffer_of(rig, data, count * sizeof(*data)).buffer;
    free(data);
    return buffer;
}

/* Nothing is executed on the null adapter. */
static inline void expect_f32(struct rig *rig, ID3D12Resource *buffer, UINT64 offset, const float *want, UINT count)
{
    float got[64] = { 0 };
    need(count <= 64);
    api_read(&rig->q, buffer, offset, got, count * sizeof(*got));
    rig_set_heap(rig);
    for (UINT i = 0; i < count && !api_is("null"); i++)
        ok(got[i] == want[i], "element %u: got %g, want %g", i, (double)got[i], (double)want[i]);
}

static inline HRESULT dml_reason(const struct rig *rig)
{
    return IDMLDevice1_GetDeviceRemovedReason(rig->dml);
}

#endif
