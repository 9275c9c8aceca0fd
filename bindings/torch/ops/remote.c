/* SPDX-License-Identifier: Apache-2.0 */
#include "remote.h"

#include "base/arena.h"
#include "base/base.h"

#include <DirectMLGuids.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define NUMBERS_BYTES 65536u

struct block {
    uint64_t address, bytes;
    ID3D12Resource *resource;
};

struct aten_remote {
    pthread_mutex_t lock; /* protects the members below */
    ID3D12Device *d3d;
    ID3D12CommandQueue *queue;
    ID3D12CommandAllocator *allocator;
    ID3D12GraphicsCommandList *list; /* closed between uses */
    ID3D12Fence *fence;              /* value of the fence: the last mark that was reached */
    uint64_t marks;
    atomic_bool given;    /* runs were submitted since the last mark */
    struct block *blocks; /* in ascending order of addresses */
    uint32_t block_count, block_capacity;
    uint64_t used;
    ID3D12Resource *upload, *readback; /* grown to the largest size so far */
    ID3D12Resource *numbers;           /* the current chunk of numbers: host memory that the device reads */
    char *numbers_host;
    uint64_t numbers_bytes, numbers_used;
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
                                       .Width = base_align_up(bytes, 4),
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

/* Makes *buffer at least this large; its contents are discarded. */
static HRESULT reserve(struct aten_remote *r, ID3D12Resource **buffer, D3D12_HEAP_TYPE heap, uint64_t bytes)
{
    D3D12_RESOURCE_DESC desc = { .Width = 0 };
    if (*buffer)
        desc = ID3D12Resource_GetDesc(*buffer);
    if (*buffer && desc.Width >= bytes)
        return S_OK;
    release(*buffer);
    *buffer = NULL;
    return make_buffer(r, heap, BASE_MAX(bytes, (uint64_t)1 << 16), buffer);
}

/* ---- creation and destruction ---- */

void aten_remote_destroy(struct aten_remote *r)
{
    if (!r)
        return;
    void *const objects[] = { r->upload, r->readback, r->numbers, r->fence, r->list, r->allocator };
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
    HRESULT hr = ID3D12Device_CreateCommandAllocator(r->d3d, type, &IID_ID3D12CommandAllocator, (void **)&r->allocator);
    if (SUCCEEDED(hr))
        hr = ID3D12Device_CreateCommandList(r->d3d, 0, type, r->allocator, NULL, &IID_ID3D12GraphicsCommandList,
                                            (void **)&r->list);
    if (SUCCEEDED(hr))
        hr = ID3D12GraphicsCommandList_Close(r->list);
    if (SUCCEEDED(hr))
        hr = ID3D12Device_CreateFence(r->d3d, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, (void **)&r->fence);
    return hr;
}

HRESULT aten_remote_create(ID3D12Device *d3d, ID3D12CommandQueue *queue, struct aten_remote **out)
{
    struct aten_remote *r = calloc(1, sizeof(*r));
    *out = NULL;
    if (!r)
        return E_OUTOFMEMORY;
    pthread_mutex_init(&r->lock, NULL);
    r->d3d = d3d;
    r->queue = queue;
    HRESULT hr = create_objects(r);
    if (FAILED(hr))
        aten_remote_destroy(r);
    else
        *out = r;
    return hr;
}

/* ---- memory ---- */

/* The index of the first block that begins after the address. */
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

/* ---- numbers ---- */

/* Runs in flight keep the previous chunk: the library keeps the resources that their addresses name. */
static HRESULT reserve_numbers(struct aten_remote *r, uint32_t count)
{
    const uint64_t bytes = (uint64_t)count * sizeof(struct aten_number);
    void *mapped = NULL;
    if (r->numbers && bytes <= r->numbers_bytes - r->numbers_used)
        return S_OK;
    release(r->numbers);
    r->numbers = NULL;
    r->numbers_used = 0;
    r->numbers_bytes = BASE_MAX(bytes, (uint64_t)NUMBERS_BYTES);
    HRESULT hr = make_buffer(r, D3D12_HEAP_TYPE_UPLOAD, r->numbers_bytes, &r->numbers);
    if (SUCCEEDED(hr))
        hr = ID3D12Resource_Map(r->numbers, 0, NULL, &mapped);
    r->numbers_host = mapped;
    return hr;
}

HRESULT aten_remote_begin_numbers(struct aten_remote *r, uint32_t count, struct aten_number **out,
                                  uint64_t *out_address)
{
    pthread_mutex_lock(&r->lock);
    HRESULT hr = reserve_numbers(r, count);
    if (FAILED(hr)) {
        pthread_mutex_unlock(&r->lock);
        return hr;
    }
    *out = (struct aten_number *)(void *)(r->numbers_host + r->numbers_used);
    *out_address = ID3D12Resource_GetGPUVirtualAddress(r->numbers) + r->numbers_used;
    r->numbers_used += (uint64_t)count * sizeof(**out);
    return S_OK;
}

void aten_remote_end_numbers(struct aten_remote *r)
{
    pthread_mutex_unlock(&r->lock);
}

/* ---- timeline points ---- */

void aten_remote_note_run(struct aten_remote *r)
{
    atomic_store(&r->given, true);
}

uint64_t aten_remote_mark(struct aten_remote *r)
{
    pthread_mutex_lock(&r->lock);
    if (atomic_exchange(&r->given, false)) /* fails if the device was removed; all marks count as reached then */
        ID3D12CommandQueue_Signal(r->queue, r->fence, ++r->marks);
    const uint64_t mark = r->marks;
    pthread_mutex_unlock(&r->lock);
    return mark;
}

bool aten_remote_reached(struct aten_remote *r, uint64_t mark)
{
    return ID3D12Fence_GetCompletedValue(r->fence) >= mark;
}

void aten_remote_wait(struct aten_remote *r, uint64_t mark)
{
    ID3D12Fence_SetEventOnCompletion(r->fence, mark, NULL);
}
