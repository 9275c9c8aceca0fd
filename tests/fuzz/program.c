/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_test.h"

#include "program.h"

#include <DirectMLGuids.h>
#include <anydml_dxcore.h>

enum { VIEWS = 64, BINDINGS = 16 };

static IDXCoreAdapter *adapters[2]; /* the adapter of the test, and the null adapter */
static uint64_t dispatches;

uint64_t program_dispatches(void)
{
    return dispatches;
}

#define AT(kind, type, byte) ((type *)program_at(PROGRAM_##kind, byte)->it)

/* ---- making ---- */

static void make_device(struct fuzz_bytes *b)
{
    const uint8_t slot = fuzz_byte(b);
    void *made = NULL;
    HRESULT hr = D3D12CreateDevice((IUnknown *)adapters[slot % PROGRAM_SLOTS == 1], (D3D_FEATURE_LEVEL)0x1000,
                                   &IID_ID3D12Device, &made);
    program_keep(program_at(PROGRAM_DEVICE, slot), hr, &made);
}

static void make_dml(struct fuzz_bytes *b)
{
    const uint8_t slot = fuzz_byte(b), flags = fuzz_byte(b);
    ID3D12Device *device = AT(DEVICE, ID3D12Device, slot);
    void *made = NULL;
    if (device)
        program_keep(program_at(PROGRAM_DML, slot),
                     DMLCreateDevice(device, flags % 8 ? DML_CREATE_DEVICE_FLAG_NONE : DML_CREATE_DEVICE_FLAG_DEBUG,
                                     &IID_IDMLDevice1, &made),
                     &made);
}

static const D3D12_COMMAND_LIST_TYPE types[] = { D3D12_COMMAND_LIST_TYPE_COMPUTE, D3D12_COMMAND_LIST_TYPE_DIRECT,
                                                 D3D12_COMMAND_LIST_TYPE_COMPUTE, D3D12_COMMAND_LIST_TYPE_COPY };

static void make_queue(struct fuzz_bytes *b)
{
    const uint8_t slot = fuzz_byte(b), from = fuzz_byte(b);
    ID3D12Device *device = AT(DEVICE, ID3D12Device, from);
    const D3D12_COMMAND_QUEUE_DESC desc = { .Type = types[from / 16 % 4] };
    void *made = NULL;
    if (device)
        program_keep(program_at(PROGRAM_QUEUE, slot),
                     ID3D12Device_CreateCommandQueue(device, &desc, &IID_ID3D12CommandQueue, &made), &made);
}

static void make_allocator(struct fuzz_bytes *b)
{
    const uint8_t slot = fuzz_byte(b), from = fuzz_byte(b);
    ID3D12Device *device = AT(DEVICE, ID3D12Device, from);
    void *made = NULL;
    if (device)
        program_keep(
            program_at(PROGRAM_ALLOCATOR, slot),
            ID3D12Device_CreateCommandAllocator(device, types[from / 16 % 4], &IID_ID3D12CommandAllocator, &made),
            &made);
}

static void make_list(struct fuzz_bytes *b)
{
    const uint8_t slot = fuzz_byte(b), from = fuzz_byte(b);
    ID3D12Device *device = AT(DEVICE, ID3D12Device, from);
    ID3D12CommandAllocator *allocator = AT(ALLOCATOR, ID3D12CommandAllocator, from / 4);
    void *made = NULL;
    if (device && allocator)
        program_keep(program_at(PROGRAM_LIST, slot),
                     ID3D12Device_CreateCommandList(device, 0, types[from / 16 % 4], allocator, NULL,
                                                    &IID_ID3D12GraphicsCommandList, &made),
                     &made);
}

static void make_fence(struct fuzz_bytes *b)
{
    const uint8_t slot = fuzz_byte(b), from = fuzz_byte(b);
    ID3D12Device *device = AT(DEVICE, ID3D12Device, from);
    void *made = NULL;
    if (device && !(program_waits && program_at(PROGRAM_FENCE, slot)->it))
        program_keep(program_at(PROGRAM_FENCE, slot),
                     ID3D12Device_CreateFence(device, from / 64, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, &made),
                     &made);
}

static void make_memory(struct fuzz_bytes *b)
{
    const uint8_t slot = fuzz_byte(b), from = fuzz_byte(b);
    ID3D12Device *device = AT(DEVICE, ID3D12Device, from);
    const D3D12_HEAP_DESC desc = { .SizeInBytes = 65536 * (UINT64)(1 + from / 64),
                                   .Properties = { .Type = (D3D12_HEAP_TYPE)(1 + from / 4 % 4) },
                                   .Flags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS };
    void *made = NULL;
    if (device)
        program_keep(program_at(PROGRAM_MEMORY, slot), ID3D12Device_CreateHeap(device, &desc, &IID_ID3D12Heap, &made),
                     &made);
}

/* Committed, placed or reserved. */
static void make_buffer(struct fuzz_bytes *b)
{
    const uint8_t slot = fuzz_byte(b), from = fuzz_byte(b), how = fuzz_byte(b);
    ID3D12Device *device = AT(DEVICE, ID3D12Device, from);
    ID3D12Heap *heap = AT(MEMORY, ID3D12Heap, from / 4);
    const UINT64 bytes = 256u << (how >> 5) * 2;
    const D3D12_HEAP_PROPERTIES properties = { .Type = (D3D12_HEAP_TYPE)(how & 8 ? 1 + how % 4 : 1) };
    const D3D12_RESOURCE_FLAGS flags =
        properties.Type == 1 ? D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS : D3D12_RESOURCE_FLAG_NONE;
    const D3D12_RESOURCE_DESC desc = api_buffer_desc(bytes, flags);
    const D3D12_RESOURCE_STATES state = properties.Type == D3D12_HEAP_TYPE_UPLOAD ? D3D12_RESOURCE_STATE_GENERIC_READ
                                        : properties.Type == D3D12_HEAP_TYPE_READBACK ? D3D12_RESOURCE_STATE_COPY_DEST
                                                                                      : D3D12_RESOURCE_STATE_COMMON;
    void *made = NULL;
    HRESULT hr;
    if (!device || (how % 8 == 7 && !heap))
        return;
    if (how % 8 == 7)
        hr = ID3D12Device_CreatePlacedResource(device, heap, 65536 * (UINT64)(from / 64), &desc, state, NULL,
                                               &IID_ID3D12Resource, &made);
    else if (how % 8 == 6)
        hr = ID3D12Device_CreateReservedResource(device, &desc, state, NULL, &IID_ID3D12Resource, &made);
    else
        hr = ID3D12Device_CreateCommittedResource(device, &properties, D3D12_HEAP_FLAG_NONE, &desc, state, NULL,
                                                  &IID_ID3D12Resource, &made);
    program_keep(program_at(PROGRAM_BUFFER, slot), hr, &made);
    if (made)
        program_at(PROGRAM_BUFFER, slot)->bytes = bytes;
}

/* Stays until the end: what is recorded and bound has its addresses. */
static void make_views(struct fuzz_bytes *b)
{
    const uint8_t slot = fuzz_byte(b), from = fuzz_byte(b);
    ID3D12Device *device = AT(DEVICE, ID3D12Device, from);
    const D3D12_DESCRIPTOR_HEAP_DESC desc = { D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, VIEWS,
                                              D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE, 0 };
    void *made = NULL;
    if (device && !program_at(PROGRAM_VIEWS, slot)->it)
        program_keep(program_at(PROGRAM_VIEWS, slot),
                     ID3D12Device_CreateDescriptorHeap(device, &desc, &IID_ID3D12DescriptorHeap, &made), &made);
}

static void make_recorder(struct fuzz_bytes *b)
{
    const uint8_t slot = fuzz_byte(b);
    IDMLDevice1 *dml = AT(DML, IDMLDevice1, slot);
    void *made = NULL;
    if (dml)
        program_keep(program_at(PROGRAM_RECORDER, slot),
                     IDMLDevice1_CreateCommandRecorder(dml, &IID_IDMLCommandRecorder, &made), &made);
}

static void make_operator(struct fuzz_bytes *b)
{
    static struct schema_sample_storage storage;
    const uint8_t slot = fuzz_byte(b), from = fuzz_byte(b);
    IDMLDevice1 *dml = AT(DML, IDMLDevice1, from);
    struct schema_desc *copy = NULL;
    DML_OPERATOR_DESC desc;
    void *made = NULL;
    if (!fuzz_operator(b, &storage, &desc) || !dml)
        return;
    program_keep(program_at(PROGRAM_OPERATOR, slot), IDMLDevice1_CreateOperator(dml, &desc, &IID_IDMLOperator, &made),
                 &made);
    if (!made)
        return;
    need(schema_desc_create(&desc, &copy) == S_OK);
    program_at(PROGRAM_OPERATOR, slot)->desc = copy;
}

static void keep_compiled(uint8_t slot, const struct program_object *op, HRESULT hr, void **made)
{
    struct schema_desc *copy = NULL;
    need(schema_desc_create(&op->desc->desc, &copy) == S_OK);
    program_keep(program_at(PROGRAM_COMPILED, slot), hr, made);
    if (*made)
        program_at(PROGRAM_COMPILED, slot)->desc = copy;
    else
        schema_desc_destroy(copy);
}

static void make_compiled(struct fuzz_bytes *b)
{
    const uint8_t slot = fuzz_byte(b), from = fuzz_byte(b);
    IDMLDevice1 *dml = AT(DML, IDMLDevice1, from);
    struct program_object *op = program_at(PROGRAM_OPERATOR, from / 4);
    void *made = NULL;
    if (dml && op->it)
        keep_compiled(slot, op,
                      IDMLDevice1_CompileOperator(dml, (IDMLOperator *)op->it, (DML_EXECUTION_FLAGS)(from / 16 % 8),
                                                  &IID_IDMLCompiledOperator, &made),
                      &made);
}

/* The operator, all inputs and outputs of which are the graph's; the edges may be wrong. */
static void make_graph(struct fuzz_bytes *b)
{
    const uint8_t slot = fuzz_byte(b), from = fuzz_byte(b), skew = fuzz_byte(b);
    IDMLDevice1 *dml = AT(DML, IDMLDevice1, from);
    struct program_object *op = program_at(PROGRAM_OPERATOR, from / 4);
    DML_INPUT_GRAPH_EDGE_DESC in[BINDINGS];
    DML_OUTPUT_GRAPH_EDGE_DESC out[BINDINGS];
    DML_GRAPH_EDGE_DESC in_edges[BINDINGS], out_edges[BINDINGS];
    UINT ins = 0, outs = 0;
    void *made = NULL;
    if (!dml || !op->it || op->desc->input_count > BINDINGS || op->desc->output_count > BINDINGS)
        return;
    for (UINT i = 0; i < op->desc->input_count; i++)
        if (op->desc->inputs[i]) {
            in[ins] = (DML_INPUT_GRAPH_EDGE_DESC){ i, skew == 1, i + (skew == 2), NULL };
            in_edges[ins] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INPUT, &in[ins] };
            ins++;
        }
    for (UINT i = 0; i < op->desc->output_count; i++)
        if (op->desc->outputs[i]) {
            out[outs] = (DML_OUTPUT_GRAPH_EDGE_DESC){ skew == 3, i, i, NULL };
            out_edges[outs] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_OUTPUT, &out[outs] };
            outs++;
        }
    const DML_OPERATOR_GRAPH_NODE_DESC node = { (IDMLOperator *)op->it, NULL };
    const DML_GRAPH_NODE_DESC nodes[] = { { DML_GRAPH_NODE_TYPE_OPERATOR, &node } };
    const DML_GRAPH_DESC desc = { .InputCount = op->desc->input_count,
                                  .OutputCount = op->desc->output_count,
                                  .NodeCount = 1,
                                  .Nodes = nodes,
                                  .InputEdgeCount = ins,
                                  .InputEdges = in_edges,
                                  .OutputEdgeCount = outs,
                                  .OutputEdges = out_edges };
    keep_compiled(
        slot, op,
        IDMLDevice1_CompileGraph(dml, &desc, (DML_EXECUTION_FLAGS)(from / 16 % 8), &IID_IDMLCompiledOperator, &made),
        &made);
}

static void make_initializer(struct fuzz_bytes *b)
{
    const uint8_t slot = fuzz_byte(b), from = fuzz_byte(b);
    IDMLDevice1 *dml = AT(DML, IDMLDevice1, from);
    IDMLCompiledOperator *ops[] = { AT(COMPILED, IDMLCompiledOperator, from / 4),
                                    AT(COMPILED, IDMLCompiledOperator, from / 16) };
    const UINT count = from & 128 ? 2 : 1;
    void *made = NULL;
    if (!dml || !ops[0] || !ops[1])
        return;
    if (AT(INITIALIZER, IDMLOperatorInitializer, slot) && from & 64)
        program_call(IDMLOperatorInitializer_Reset(AT(INITIALIZER, IDMLOperatorInitializer, slot), count, ops));
    else
        program_keep(program_at(PROGRAM_INITIALIZER, slot),
                     IDMLDevice1_CreateOperatorInitializer(dml, count, ops, &IID_IDMLOperatorInitializer, &made),
                     &made);
}

/* ---- binding and recording ---- */

static IDMLDispatchable *dispatchable(uint8_t from)
{
    return from & 8 ? AT(INITIALIZER, IDMLDispatchable, from) : AT(COMPILED, IDMLDispatchable, from);
}

static bool table_desc(uint8_t from, uint8_t at, DML_BINDING_TABLE_DESC *out)
{
    ID3D12DescriptorHeap *views = AT(VIEWS, ID3D12DescriptorHeap, from / 16);
    ID3D12Device *device = AT(DEVICE, ID3D12Device, from / 16);
    IDMLDispatchable *work = dispatchable(from);
    if (!views || !work || !device)
        return false;
    const UINT step = ID3D12Device_GetDescriptorHandleIncrementSize(device, D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
    const UINT needed = IDMLDispatchable_GetBindingProperties(work).RequiredDescriptorCount;
    *out = (DML_BINDING_TABLE_DESC){ work, ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(views),
                                     ID3D12DescriptorHeap_GetGPUDescriptorHandleForHeapStart(views),
                                     needed + (at & 1) - (at == 2) };
    out->CPUDescriptorHandle.ptr += (SIZE_T)step * (at % VIEWS);
    out->GPUDescriptorHandle.ptr += (UINT64)step * (at % VIEWS);
    return true;
}

static void make_table(struct fuzz_bytes *b)
{
    const uint8_t slot = fuzz_byte(b), from = fuzz_byte(b), at = fuzz_byte(b);
    IDMLDevice1 *dml = AT(DML, IDMLDevice1, from / 16);
    DML_BINDING_TABLE_DESC desc;
    void *made = NULL;
    if (!dml || !table_desc(from, at, &desc))
        return;
    if (at & 64 && AT(TABLE, IDMLBindingTable, slot))
        program_call(IDMLBindingTable_Reset(AT(TABLE, IDMLBindingTable, slot), &desc));
    else
        program_keep(program_at(PROGRAM_TABLE, slot),
                     IDMLDevice1_CreateBindingTable(dml, &desc, &IID_IDMLBindingTable, &made), &made);
}

/* Buffers of any size at any offset; wanted: what fits, 0 for none. */
static DML_BINDING_DESC binding(struct fuzz_bytes *b, uint64_t wanted, DML_BUFFER_BINDING *storage)
{
    const uint8_t byte = fuzz_byte(b);
    const struct program_object *buffer = program_at(PROGRAM_BUFFER, byte);
    const bool none = !wanted != (byte >> 4 == 15);
    const UINT64 skew = byte >> 4 == 14 ? 4 : byte >> 4 == 13 ? UINT64_MAX - 15 : 0;
    *storage = (DML_BUFFER_BINDING){ (ID3D12Resource *)buffer->it, (byte & 8 ? 16 : 0) + skew, wanted ? wanted : 16 };
    return (DML_BINDING_DESC){ none || !buffer->it ? DML_BINDING_TYPE_NONE : DML_BINDING_TYPE_BUFFER,
                               none || !buffer->it ? NULL : storage };
}

static void bind_tensors(struct fuzz_bytes *b)
{
    const uint8_t slot = fuzz_byte(b), from = fuzz_byte(b);
    IDMLBindingTable *table = AT(TABLE, IDMLBindingTable, slot);
    const struct schema_desc *desc = program_at(PROGRAM_COMPILED, from)->desc;
    DML_BUFFER_BINDING storage[2][BINDINGS];
    DML_BINDING_DESC in[BINDINGS], out[BINDINGS];
    if (!table || !desc || desc->input_count > BINDINGS || desc->output_count > BINDINGS)
        return;
    for (uint32_t i = 0; i < desc->input_count; i++) {
        const DML_BUFFER_TENSOR_DESC *tensor = desc->inputs[i];
        const bool bound = tensor && !(tensor->Flags & DML_TENSOR_FLAG_OWNED_BY_DML);
        in[i] = binding(b, bound ? tensor->TotalTensorSizeInBytes : 0, &storage[0][i]);
    }
    for (uint32_t i = 0; i < desc->output_count; i++)
        out[i] = binding(b, desc->outputs[i] ? desc->outputs[i]->TotalTensorSizeInBytes : 0, &storage[1][i]);
    IDMLBindingTable_BindInputs(table, desc->input_count - (from == 255), in);
    IDMLBindingTable_BindOutputs(table, desc->output_count, out);
}

static void bind_rest(struct fuzz_bytes *b)
{
    const uint8_t slot = fuzz_byte(b), from = fuzz_byte(b);
    IDMLBindingTable *table = AT(TABLE, IDMLBindingTable, slot);
    IDMLDispatchable *work = dispatchable(from);
    DML_BUFFER_BINDING storage[2];
    if (!table || !work)
        return;
    const DML_BINDING_PROPERTIES needs = IDMLDispatchable_GetBindingProperties(work);
    const DML_BINDING_DESC temporary = binding(b, needs.TemporaryResourceSize, &storage[0]);
    const DML_BINDING_DESC persistent = binding(b, needs.PersistentResourceSize, &storage[1]);
    IDMLBindingTable_BindTemporaryResource(table, &temporary);
    if (from & 8)
        IDMLBindingTable_BindOutputs(table, 1, &persistent);
    else
        IDMLBindingTable_BindPersistentResource(table, &persistent);
}

/* Inputs of an initializer of one operator: those that it owns. */
static void bind_owned(struct fuzz_bytes *b)
{
    const uint8_t slot = fuzz_byte(b), from = fuzz_byte(b);
    IDMLBindingTable *table = AT(TABLE, IDMLBindingTable, slot);
    const struct schema_desc *desc = program_at(PROGRAM_COMPILED, from)->desc;
    DML_BUFFER_BINDING storage[BINDINGS];
    if (!table || !desc || desc->input_count > BINDINGS)
        return;
    for (uint32_t i = 0; i < desc->input_count; i++) {
        const DML_BUFFER_TENSOR_DESC *tensor = desc->inputs[i];
        const bool owned = tensor && tensor->Flags & DML_TENSOR_FLAG_OWNED_BY_DML;
        if (binding(b, owned ? tensor->TotalTensorSizeInBytes : 0, &storage[i]).Type == DML_BINDING_TYPE_NONE)
            storage[i] = (DML_BUFFER_BINDING){ 0 };
    }
    const DML_BUFFER_ARRAY_BINDING array = { desc->input_count, storage };
    const DML_BINDING_DESC in = { DML_BINDING_TYPE_BUFFER_ARRAY, &array };
    IDMLBindingTable_BindInputs(table, 1, &in);
}

static void record(struct fuzz_bytes *b)
{
    const uint8_t from = fuzz_byte(b), where = fuzz_byte(b);
    IDMLCommandRecorder *recorder = AT(RECORDER, IDMLCommandRecorder, where / 16);
    ID3D12GraphicsCommandList *list = AT(LIST, ID3D12GraphicsCommandList, where);
    IDMLBindingTable *table = AT(TABLE, IDMLBindingTable, where / 4);
    ID3D12DescriptorHeap *views = AT(VIEWS, ID3D12DescriptorHeap, from / 16);
    IDMLDispatchable *work = dispatchable(from);
    if (!recorder || !list || !table || !work)
        return;
    if (views && from & 4)
        ID3D12GraphicsCommandList_SetDescriptorHeaps(list, 1, &views);
    IDMLCommandRecorder_RecordDispatch(recorder, (ID3D12CommandList *)list, work, table);
    dispatches++;
}

static void copy(struct fuzz_bytes *b)
{
    const uint8_t where = fuzz_byte(b), bytes = fuzz_byte(b);
    ID3D12GraphicsCommandList *list = AT(LIST, ID3D12GraphicsCommandList, where);
    ID3D12Resource *to = AT(BUFFER, ID3D12Resource, where / 4), *from = AT(BUFFER, ID3D12Resource, where / 16);
    const D3D12_RESOURCE_BARRIER barrier = { .Type = D3D12_RESOURCE_BARRIER_TYPE_UAV, .UAV = { to } };
    if (!list || !to || !from)
        return;
    if (bytes & 1)
        ID3D12GraphicsCommandList_ResourceBarrier(list, 1, &barrier);
    else
        ID3D12GraphicsCommandList_CopyBufferRegion(list, to, bytes & 2 ? 16 : 0, from, bytes & 4 ? 32 : 0, bytes);
}

/* ---- lists and queues ---- */

static void close_list(struct fuzz_bytes *b)
{
    ID3D12GraphicsCommandList *list = AT(LIST, ID3D12GraphicsCommandList, fuzz_byte(b));
    if (list)
        program_call(ID3D12GraphicsCommandList_Close(list));
}

static void reset_list(struct fuzz_bytes *b)
{
    const uint8_t which = fuzz_byte(b);
    ID3D12GraphicsCommandList *list = AT(LIST, ID3D12GraphicsCommandList, which);
    ID3D12CommandAllocator *allocator = AT(ALLOCATOR, ID3D12CommandAllocator, which / 4);
    if (which & 16 && allocator)
        program_call(ID3D12CommandAllocator_Reset(allocator));
    if (list && allocator)
        program_call(ID3D12GraphicsCommandList_Reset(list, allocator, NULL));
}

static void execute(struct fuzz_bytes *b)
{
    const uint8_t which = fuzz_byte(b);
    ID3D12CommandQueue *queue = AT(QUEUE, ID3D12CommandQueue, which);
    ID3D12CommandList *lists[] = { AT(LIST, ID3D12CommandList, which / 4), AT(LIST, ID3D12CommandList, which / 16) };
    if (queue && lists[0] && lists[1])
        ID3D12CommandQueue_ExecuteCommandLists(queue, which & 128 ? 2 : 1, lists);
}

/* What a careful program does with the first objects, but for what is bound. */
static void whole(struct fuzz_bytes *b)
{
    const uint8_t zeros[] = { 0, 0, 0 }, with_views[] = { 4, 0 };
    make_table(&(struct fuzz_bytes){ zeros, 3 });
    bind_tensors(b);
    bind_rest(b);
    record(&(struct fuzz_bytes){ with_views, 2 });
    close_list(&(struct fuzz_bytes){ zeros, 1 });
    execute(&(struct fuzz_bytes){ zeros, 1 });
    reset_list(&(struct fuzz_bytes){ zeros, 1 });
}

/* Every signal is more than what any queue waits for, so that one ends a wait for good. */
static void signal_or_wait(struct fuzz_bytes *b)
{
    const uint8_t which = fuzz_byte(b), value = fuzz_byte(b);
    ID3D12CommandQueue *queue = AT(QUEUE, ID3D12CommandQueue, which);
    ID3D12Fence *fence = AT(FENCE, ID3D12Fence, which / 4);
    if (fence && which & 64)
        program_call(ID3D12Fence_Signal(fence, value | 8));
    else if (fence && queue && which & 128)
        program_waits |= SUCCEEDED(program_call(ID3D12CommandQueue_Wait(queue, fence, value % 8)));
    else if (fence && queue)
        program_call(ID3D12CommandQueue_Signal(queue, fence, value | 8));
}

static void drain(struct fuzz_bytes *b)
{
    (void)b;
    program_drain();
}

static void map(struct fuzz_bytes *b)
{
    const uint8_t which = fuzz_byte(b), value = fuzz_byte(b);
    struct program_object *buffer = program_at(PROGRAM_BUFFER, which);
    void *data = NULL;
    if (!buffer->it || FAILED(program_call(ID3D12Resource_Map((ID3D12Resource *)buffer->it, 0, NULL, &data))))
        return;
    if (which & 64)
        memset(data, value, buffer->bytes);
    ID3D12Resource_Unmap((ID3D12Resource *)buffer->it, 0, NULL);
}

/* ---- anything ---- */

static void release(struct fuzz_bytes *b)
{
    const uint8_t kind = fuzz_byte(b) % PROGRAM_KINDS;
    if (kind != PROGRAM_VIEWS && !(kind == PROGRAM_FENCE && program_waits))
        program_release(program_at((enum program_kind)kind, fuzz_byte(b)));
}

static void ask(struct fuzz_bytes *b)
{
    static const GUID *const known[] = { &IID_IUnknown,        &IID_ID3D12Object, &IID_ID3D12DeviceChild,
                                         &IID_ID3D12Pageable,  &IID_IDMLObject,   &IID_IDMLDevice,
                                         &IID_IDMLDeviceChild, &IID_IDMLPageable, &IID_IDMLDispatchable };
    IUnknown *object = program_at((enum program_kind)(fuzz_byte(b) % PROGRAM_KINDS), fuzz_byte(b))->it;
    void *other = NULL;
    if (!object)
        return;
    HRESULT hr = IUnknown_QueryInterface(object, known[fuzz_byte(b) % (sizeof(known) / sizeof(known[0]))], &other);
    ok((program_call(hr) == S_OK) == (other != NULL), "QueryInterface: 0x%08x", (unsigned)hr);
    if (other)
        api_release(other);
}

static void residency(struct fuzz_bytes *b)
{
    const uint8_t which = fuzz_byte(b);
    IDMLDevice1 *dml = AT(DML, IDMLDevice1, which);
    IDMLPageable *pageable = AT(COMPILED, IDMLPageable, which / 4);
    if (dml && pageable && which & 16)
        program_call(IDMLDevice1_Evict(dml, 1, &pageable));
    else if (dml && pageable)
        program_call(IDMLDevice1_MakeResident(dml, 1, &pageable));
    if (dml)
        program_call(IDMLDevice1_GetDeviceRemovedReason(dml));
}

static void (*const instructions[])(struct fuzz_bytes *) = {
    make_device, make_dml,     make_queue,     make_allocator, make_list,     make_fence, make_memory,
    make_buffer, make_views,   make_recorder,  make_operator,  make_compiled, make_graph, make_initializer,
    make_table,  bind_tensors, bind_rest,      bind_owned,     record,        copy,       close_list,
    reset_list,  execute,      signal_or_wait, drain,          map,           release,    ask,
    residency,   bind_tensors, record,         execute,        whole,         whole,
};

void program_step(struct fuzz_bytes *bytes)
{
    instructions[fuzz_byte(bytes) % (sizeof(instructions) / sizeof(instructions[0]))](bytes);
}

void program_prepare(uint8_t what)
{
    /* In slot 0, of device 0; the operator is of any type and unchanged. */
    const uint8_t zeros[64] = { 0 }, op[] = { 0, 0, what, 0 };
    static void (*const first[])(struct fuzz_bytes *) = { make_device, make_dml,   make_queue, make_allocator,
                                                          make_list,   make_fence, make_views, make_recorder };
    struct fuzz_bytes bytes = { zeros, sizeof(zeros) }, operands = { op, sizeof(op) };
    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
        first[i](&bytes);
    for (uint8_t slot = 0; slot < PROGRAM_SLOTS; slot++) {
        const uint8_t buffer[] = { slot, 0, 4 << 5 };
        make_buffer(&(struct fuzz_bytes){ buffer, sizeof(buffer) });
    }
    make_operator(&operands);
    make_compiled(&bytes);
    make_initializer(&bytes);
    make_table(&bytes);
}

void program_begin(void)
{
    IDXCoreAdapterFactory *factory = NULL;
    IDXCoreAdapterList *list = NULL;
    char names[64];
    snprintf(names, sizeof(names), "%s,null", api_adapter());
    setenv("ANYDML_ADAPTERS", names, 1);
    setenv("ANYDML_LOG", "none", 0);
    setenv("ANYDML_THREADS", "2", 0);
    need(DXCoreCreateAdapterFactory(&IID_IDXCoreAdapterFactory, (void **)&factory) == S_OK);
    need(IDXCoreAdapterFactory_CreateAdapterList(factory, 1, &DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE,
                                                 &IID_IDXCoreAdapterList, (void **)&list) == S_OK);
    for (uint32_t i = 0; i < 2; i++)
        need(IDXCoreAdapterList_GetAdapter(list, i, &IID_IDXCoreAdapter, (void **)&adapters[i]) == S_OK);
    api_release(list);
    api_release(factory);
}

void program_end(void)
{
    for (uint32_t i = 0; i < 2; i++)
        api_release(adapters[i]);
}
