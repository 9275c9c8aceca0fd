/* SPDX-License-Identifier: Apache-2.0 */
#include "remote.h"

#include "base/arena.h"
#include "base/base.h"

#include <DirectMLGuids.h>

#include <pthread.h>
#include <stdlib.h>

#define DESCRIPTORS 4096u
#define ALIGNMENT   256u /* of pieces of scratch memory */
#define SLACK       256u /* behind each allocation: bindings round sizes up */

struct block {
    uint64_t address, bytes;
    ID3D12Resource *resource;
};

struct aten_remote {
    pthread_mutex_t lock; /* everything below */
    ID3D12Device *d3d;
    IDMLDevice1 *dml;
    ID3D12CommandQueue *queue;
    ID3D12CommandAllocator *allocator;
    ID3D12GraphicsCommandList *list; /* closed */
    ID3D12DescriptorHeap *heap;
    IDMLCommandRecorder *recorder;
    struct block *blocks; /* by rising address */
    uint32_t block_count, block_capacity;
    uint64_t used;
    ID3D12Resource *upload, *readback, *scratch, *temporary; /* as large as was needed */
};

static void release(void *object)
{
    if (object)
        IUnknown_Release((IUnknown *)object);
}

static HRESULT make_buffer(struct aten_remote *r, D3D12_HEAP_TYPE heap, uint64_t bytes, ID3D12Resource **out)
{
    const D3D12_HEAP_PROPERTIES properties = { .Type = heap };
    const D3D12_RESOURCE_DESC desc = { .Dimension = D3D12_RESOURCE_DIMENSION_BUFFER,
                                       .Width = base_align_up(bytes + SLACK, 4),
                                       .Height = 1,
                                       .DepthOrArraySize = 1,
                                       .MipLevels = 1,
                                       .SampleDesc = { 1, 0 },
                                       .Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
                                       .Flags = heap == D3D12_HEAP_TYPE_DEFAULT
                                                    ? D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS
                                                    : D3D12_RESOURCE_FLAG_NONE };
    D3D12_RESOURCE_STATES state = heap == D3D12_HEAP_TYPE_UPLOAD     ? D3D12_RESOURCE_STATE_GENERIC_READ
                                  : heap == D3D12_HEAP_TYPE_READBACK ? D3D12_RESOURCE_STATE_COPY_DEST
                                                                     : D3D12_RESOURCE_STATE_COMMON;
    return ID3D12Device_CreateCommittedResource(r->d3d, &properties, D3D12_HEAP_FLAG_NONE, &desc, state, NULL,
                                                &IID_ID3D12Resource, (void **)out);
}

/* *buffer, with at least so many bytes. What it had is lost. */
static HRESULT reserve(struct aten_remote *r, ID3D12Resource **buffer, D3D12_HEAP_TYPE heap, uint64_t bytes)
{
    D3D12_RESOURCE_DESC desc = { .Width = 0 };
    if (*buffer)
        desc = ID3D12Resource_GetDesc(*buffer);
    if (*buffer && desc.Width >= bytes + SLACK)
        return S_OK;
    release(*buffer);
    *buffer = NULL;
    return make_buffer(r, heap, BASE_MAX(bytes, (uint64_t)1 << 16), buffer);
}

/* ---- life ---- */

void aten_remote_destroy(struct aten_remote *r)
{
    if (!r)
        return;
    void *const objects[] = { r->upload,   r->readback, r->scratch, r->temporary,
                              r->recorder, r->heap,     r->list,    r->allocator };
    for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
        release(objects[i]);
    for (uint32_t i = 0; i < r->block_count; i++)
        release(r->blocks[i].resource);
    pthread_mutex_destroy(&r->lock);
    free(r->blocks);
    free(r);
}

static HRESULT create_objects(struct aten_remote *r)
{
    const D3D12_COMMAND_LIST_TYPE type = D3D12_COMMAND_LIST_TYPE_COMPUTE;
    const D3D12_DESCRIPTOR_HEAP_DESC heap = { D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, DESCRIPTORS,
                                              D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE, 0 };
    HRESULT hr = ID3D12Device_CreateCommandAllocator(r->d3d, type, &IID_ID3D12CommandAllocator, (void **)&r->allocator);
    if (SUCCEEDED(hr))
        hr = ID3D12Device_CreateCommandList(r->d3d, 0, type, r->allocator, NULL, &IID_ID3D12GraphicsCommandList,
                                            (void **)&r->list);
    if (SUCCEEDED(hr))
        hr = ID3D12GraphicsCommandList_Close(r->list);
    if (SUCCEEDED(hr))
        hr = ID3D12Device_CreateDescriptorHeap(r->d3d, &heap, &IID_ID3D12DescriptorHeap, (void **)&r->heap);
    if (SUCCEEDED(hr))
        hr = IDMLDevice1_CreateCommandRecorder(r->dml, &IID_IDMLCommandRecorder, (void **)&r->recorder);
    return hr;
}

HRESULT aten_remote_create(ID3D12Device *d3d, IDMLDevice1 *dml, ID3D12CommandQueue *queue, struct aten_remote **out)
{
    struct aten_remote *r = calloc(1, sizeof(*r));
    *out = NULL;
    if (!r)
        return E_OUTOFMEMORY;
    pthread_mutex_init(&r->lock, NULL);
    r->d3d = d3d;
    r->dml = dml;
    r->queue = queue;
    HRESULT hr = create_objects(r);
    if (FAILED(hr))
        aten_remote_destroy(r);
    else
        *out = r;
    return hr;
}

/* ---- memory ---- */

/* The first block that begins behind the address. */
static uint32_t behind(const struct aten_remote *r, uint64_t address)
{
    uint32_t low = 0, high = r->block_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (r->blocks[middle].address > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static const struct block *block_of(const struct aten_remote *r, uint64_t address)
{
    const uint32_t at = behind(r, address);
    const struct block *block = at ? &r->blocks[at - 1] : NULL;
    return block && address - block->address <= block->bytes ? block : NULL;
}

static bool add_block(struct aten_remote *r, ID3D12Resource *resource, uint64_t bytes)
{
    const struct block block = { ID3D12Resource_GetGPUVirtualAddress(resource), bytes, resource };
    if (!base_array_reserve((void **)&r->blocks, r->block_count, &r->block_capacity, sizeof(*r->blocks)))
        return false;
    const uint32_t at = behind(r, block.address);
    memmove(&r->blocks[at + 1], &r->blocks[at], (r->block_count - at) * sizeof(*r->blocks));
    r->blocks[at] = block;
    r->block_count++;
    r->used += bytes;
    return true;
}

void *aten_remote_allocate(struct aten_remote *r, size_t bytes)
{
    ID3D12Resource *resource = NULL;
    pthread_mutex_lock(&r->lock);
    BOOL before = AnydmlQuiet(TRUE);
    HRESULT hr = make_buffer(r, D3D12_HEAP_TYPE_DEFAULT, BASE_MAX(bytes, (size_t)1), &resource);
    AnydmlQuiet(before);
    if (SUCCEEDED(hr) && !add_block(r, resource, bytes)) {
        release(resource);
        hr = E_OUTOFMEMORY;
    }
    pthread_mutex_unlock(&r->lock);
    return FAILED(hr) ? NULL : (void *)(uintptr_t)ID3D12Resource_GetGPUVirtualAddress(resource);
}

void aten_remote_free(struct aten_remote *r, void *address)
{
    if (!address)
        return;
    pthread_mutex_lock(&r->lock);
    const uint32_t at = behind(r, (uint64_t)(uintptr_t)address);
    if (at && r->blocks[at - 1].address == (uint64_t)(uintptr_t)address) {
        release(r->blocks[at - 1].resource);
        r->used -= r->blocks[at - 1].bytes;
        memmove(&r->blocks[at - 1], &r->blocks[at], (r->block_count - at) * sizeof(*r->blocks));
        r->block_count--;
    }
    pthread_mutex_unlock(&r->lock);
}

uint64_t aten_remote_used(struct aten_remote *r)
{
    pthread_mutex_lock(&r->lock);
    const uint64_t used = r->used;
    pthread_mutex_unlock(&r->lock);
    return used;
}

/* ---- command lists ---- */

static HRESULT begin(struct aten_remote *r)
{
    HRESULT hr = ID3D12CommandAllocator_Reset(r->allocator);
    return SUCCEEDED(hr) ? ID3D12GraphicsCommandList_Reset(r->list, r->allocator, NULL) : hr;
}

static HRESULT execute(struct aten_remote *r)
{
    ID3D12CommandList *lists[] = { (ID3D12CommandList *)r->list };
    HRESULT hr = ID3D12GraphicsCommandList_Close(r->list);
    return SUCCEEDED(hr) ? AnydmlExecuteCommandLists(r->queue, 1, lists) : hr;
}

/* A range of a buffer. */
struct range {
    ID3D12Resource *resource;
    uint64_t offset;
};

static bool range_of(const struct aten_remote *r, uint64_t address, struct range *out)
{
    const struct block *block = block_of(r, address);
    if (!block)
        return false;
    *out = (struct range){ block->resource, address - block->address };
    return true;
}

static HRESULT copy_range(struct aten_remote *r, struct range to, struct range from, uint64_t bytes)
{
    HRESULT hr = begin(r);
    if (SUCCEEDED(hr)) {
        ID3D12GraphicsCommandList_CopyBufferRegion(r->list, to.resource, to.offset, from.resource, from.offset, bytes);
        hr = execute(r);
    }
    return hr;
}

static HRESULT upload(struct aten_remote *r, struct range to, const void *from, uint64_t bytes)
{
    void *mapped = NULL;
    HRESULT hr = reserve(r, &r->upload, D3D12_HEAP_TYPE_UPLOAD, bytes);
    if (SUCCEEDED(hr))
        hr = ID3D12Resource_Map(r->upload, 0, NULL, &mapped);
    if (FAILED(hr))
        return hr;
    memcpy(mapped, from, bytes);
    ID3D12Resource_Unmap(r->upload, 0, NULL);
    return copy_range(r, to, (struct range){ r->upload, 0 }, bytes);
}

static HRESULT download(struct aten_remote *r, void *to, struct range from, uint64_t bytes)
{
    void *mapped = NULL;
    HRESULT hr = reserve(r, &r->readback, D3D12_HEAP_TYPE_READBACK, bytes);
    if (SUCCEEDED(hr))
        hr = copy_range(r, (struct range){ r->readback, 0 }, from, bytes);
    if (SUCCEEDED(hr))
        hr = ID3D12Resource_Map(r->readback, 0, NULL, &mapped);
    if (FAILED(hr))
        return hr;
    memcpy(to, mapped, bytes);
    ID3D12Resource_Unmap(r->readback, 0, NULL);
    return S_OK;
}

HRESULT aten_remote_copy(struct aten_remote *r, void *to, const void *from, size_t bytes, enum aten_direction direction)
{
    struct range source = { NULL, 0 }, target = { NULL, 0 };
    HRESULT hr = E_INVALIDARG;
    if (!bytes)
        return S_OK;
    pthread_mutex_lock(&r->lock);
    const bool found = (direction == ATEN_TO_DEVICE || range_of(r, (uint64_t)(uintptr_t)from, &source)) &&
                       (direction == ATEN_FROM_DEVICE || range_of(r, (uint64_t)(uintptr_t)to, &target));
    if (found && direction == ATEN_TO_DEVICE)
        hr = upload(r, target, from, bytes);
    else if (found && direction == ATEN_FROM_DEVICE)
        hr = download(r, to, source, bytes);
    else if (found)
        hr = copy_range(r, target, source, bytes);
    pthread_mutex_unlock(&r->lock);
    return hr;
}

/* ---- running ---- */

/* Where each slot is bound: at its place, or in scratch memory. */
struct bound {
    DML_BUFFER_BINDING buffer;
    DML_BINDING_DESC desc;
    struct range home; /* of what lies in scratch memory; resource NULL: it does not, or comes from the host */
};

static bool overlap(const struct aten_place *a, const struct aten_place *b)
{
    return a->address && b->address && a->address < b->address + b->bytes && b->address < a->address + a->bytes;
}

/* An input that an output overwrites in part; the library itself copies those that lie exactly there. */
static bool overlaps_in_part(const struct aten_place *input, const struct aten_place *outputs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (overlap(input, &outputs[i]) && (input->address != outputs[i].address || input->bytes != outputs[i].bytes))
            return true;
    return false;
}

static HRESULT bind_slot(struct aten_remote *r, const struct aten_place *place, bool aside, uint64_t *scratch,
                         struct bound *out)
{
    memset(out, 0, sizeof(*out));
    if (!place->address && !place->host)
        return S_OK; /* DML_BINDING_TYPE_NONE */
    if (!place->host && !range_of(r, place->address, &out->home))
        return E_INVALIDARG;
    out->desc = (DML_BINDING_DESC){ DML_BINDING_TYPE_BUFFER, &out->buffer };
    out->buffer = (DML_BUFFER_BINDING){ out->home.resource, out->home.offset, place->bytes };
    if (!place->host && !aside && out->home.offset % DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT == 0) {
        out->home.resource = NULL;
        return S_OK;
    }
    out->buffer.Buffer = NULL; /* the scratch memory, once its size is known */
    out->buffer.Offset = *scratch;
    *scratch += base_align_up(place->bytes, ALIGNMENT);
    return S_OK;
}

/* Moves what has its home elsewhere, to scratch memory or back. */
static HRESULT move(struct aten_remote *r, const struct bound *bound, uint32_t count, bool home)
{
    HRESULT hr = S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < count; i++) {
        const struct range scratch = { r->scratch, bound[i].buffer.Offset };
        const struct range *from = home ? &scratch : &bound[i].home, *to = home ? &bound[i].home : &scratch;
        if (bound[i].home.resource)
            hr = copy_range(r, *to, *from, bound[i].buffer.SizeInBytes);
    }
    return hr;
}

static HRESULT make_table(struct aten_remote *r, void *dispatchable, IDMLBindingTable **out)
{
    const DML_BINDING_PROPERTIES needs = IDMLDispatchable_GetBindingProperties((IDMLDispatchable *)dispatchable);
    const DML_BINDING_TABLE_DESC desc = { (IDMLDispatchable *)dispatchable,
                                          ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(r->heap),
                                          ID3D12DescriptorHeap_GetGPUDescriptorHandleForHeapStart(r->heap),
                                          needs.RequiredDescriptorCount };
    HRESULT hr = needs.RequiredDescriptorCount > DESCRIPTORS ? E_OUTOFMEMORY : S_OK;
    if (SUCCEEDED(hr))
        hr = IDMLDevice1_CreateBindingTable(r->dml, &desc, &IID_IDMLBindingTable, (void **)out);
    if (FAILED(hr) || !needs.TemporaryResourceSize)
        return hr;
    hr = reserve(r, &r->temporary, D3D12_HEAP_TYPE_DEFAULT, needs.TemporaryResourceSize);
    DML_BUFFER_BINDING buffer = { r->temporary, 0, needs.TemporaryResourceSize };
    const DML_BINDING_DESC binding = { DML_BINDING_TYPE_BUFFER, &buffer };
    if (SUCCEEDED(hr))
        IDMLBindingTable_BindTemporaryResource(*out, &binding);
    return hr;
}

static HRESULT dispatch(struct aten_remote *r, void *dispatchable, IDMLBindingTable *table)
{
    HRESULT hr = begin(r);
    if (FAILED(hr))
        return hr;
    ID3D12GraphicsCommandList_SetDescriptorHeaps(r->list, 1, &r->heap);
    IDMLCommandRecorder_RecordDispatch(r->recorder, (ID3D12CommandList *)r->list, (IDMLDispatchable *)dispatchable,
                                       table);
    return execute(r);
}

static HRESULT initialize(struct aten_remote *r, IDMLCompiledOperator *op, uint64_t bytes, ID3D12Resource **persistent)
{
    IDMLOperatorInitializer *initializer = NULL;
    IDMLBindingTable *table = NULL;
    HRESULT hr =
        IDMLDevice1_CreateOperatorInitializer(r->dml, 1, &op, &IID_IDMLOperatorInitializer, (void **)&initializer);
    if (SUCCEEDED(hr))
        hr = make_buffer(r, D3D12_HEAP_TYPE_DEFAULT, bytes, persistent);
    if (SUCCEEDED(hr))
        hr = make_table(r, initializer, &table);
    if (SUCCEEDED(hr)) {
        DML_BUFFER_BINDING buffer = { *persistent, 0, bytes };
        const DML_BINDING_DESC binding = { DML_BINDING_TYPE_BUFFER, &buffer };
        IDMLBindingTable_BindOutputs(table, 1, &binding);
        hr = dispatch(r, initializer, table);
    }
    if (FAILED(hr)) {
        release(*persistent);
        *persistent = NULL;
    }
    release(table);
    release(initializer);
    return hr;
}

static HRESULT run_bound(struct aten_remote *r, IDMLCompiledOperator *op, ID3D12Resource **persistent,
                         const DML_BINDING_DESC *descs, uint32_t input_count, uint32_t output_count)
{
    const uint64_t bytes = IDMLCompiledOperator_GetBindingProperties(op).PersistentResourceSize;
    IDMLBindingTable *table = NULL;
    HRESULT hr = bytes && !*persistent ? initialize(r, op, bytes, persistent) : S_OK;
    if (SUCCEEDED(hr))
        hr = make_table(r, op, &table);
    if (SUCCEEDED(hr)) {
        DML_BUFFER_BINDING buffer = { *persistent, 0, bytes };
        const DML_BINDING_DESC binding = { DML_BINDING_TYPE_BUFFER, &buffer };
        IDMLBindingTable_BindInputs(table, input_count, descs);
        IDMLBindingTable_BindOutputs(table, output_count, descs + input_count);
        if (bytes)
            IDMLBindingTable_BindPersistentResource(table, &binding);
        hr = dispatch(r, op, table);
    }
    release(table);
    return hr;
}

/* Binds, moves, runs, moves back. `bound` and `descs` have room for all slots. */
static HRESULT run(struct aten_remote *r, IDMLCompiledOperator *op, ID3D12Resource **persistent,
                   const struct aten_place *const places[2], const uint32_t counts[2], struct bound *bound)
{
    const uint32_t count = counts[0] + counts[1];
    DML_BINDING_DESC *descs = (DML_BINDING_DESC *)(void *)(bound + count);
    uint64_t scratch = 0;
    HRESULT hr = S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < count; i++) {
        const bool in = i < counts[0];
        const struct aten_place *place = in ? &places[0][i] : &places[1][i - counts[0]];
        hr = bind_slot(r, place, in && overlaps_in_part(place, places[1], counts[1]), &scratch, &bound[i]);
    }
    if (SUCCEEDED(hr) && scratch)
        hr = reserve(r, &r->scratch, D3D12_HEAP_TYPE_DEFAULT, scratch);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < count; i++) {
        if (bound[i].desc.Type == DML_BINDING_TYPE_BUFFER && !bound[i].buffer.Buffer)
            bound[i].buffer.Buffer = r->scratch;
        descs[i] = bound[i].desc;
        if (i < counts[0] && places[0][i].host)
            hr = upload(r, (struct range){ r->scratch, bound[i].buffer.Offset }, places[0][i].host, places[0][i].bytes);
    }
    if (SUCCEEDED(hr)) /* outputs, too: what lies between their elements stays */
        hr = move(r, bound, count, false);
    if (SUCCEEDED(hr))
        hr = run_bound(r, op, persistent, descs, counts[0], counts[1]);
    return SUCCEEDED(hr) ? move(r, bound + counts[0], counts[1], true) : hr;
}

HRESULT aten_remote_run(struct aten_remote *r, IDMLCompiledOperator *op, ID3D12Resource **persistent,
                        const struct aten_place *inputs, uint32_t input_count, const struct aten_place *outputs,
                        uint32_t output_count)
{
    const struct aten_place *const places[2] = { inputs, outputs };
    const uint32_t counts[2] = { input_count, output_count };
    struct bound *bound = malloc((input_count + output_count + 1u) * (sizeof(*bound) + sizeof(DML_BINDING_DESC)));
    HRESULT hr = E_OUTOFMEMORY;
    if (bound) {
        pthread_mutex_lock(&r->lock);
        hr = run(r, op, persistent, places, counts, bound);
        pthread_mutex_unlock(&r->lock);
    }
    free(bound);
    return hr;
}
