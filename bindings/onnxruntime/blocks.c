/* SPDX-License-Identifier: Apache-2.0 */
/* The buffers behind addresses: a table of the process, sorted by address. */
#define _GNU_SOURCE
#include "memory.h"

#include <anydml_d3d12.h>

#include <stdlib.h>
#include <sys/mman.h>

static struct {
    pthread_mutex_t lock;
    struct ep_block **blocks;
    uint32_t count, capacity;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The first block that does not start before the address. */
static size_t lower_bound(const void *address)
{
    size_t low = 0, high = table.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((uintptr_t)table.blocks[middle]->address < (uintptr_t)address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct ep_block *find(const void *address)
{
    size_t i = lower_bound(address);
    return i < table.count && table.blocks[i]->address == address ? table.blocks[i] : NULL;
}

static bool host_memory(ID3D12Resource *resource)
{
    static char probe[16] __attribute__((aligned(16)));
    ID3D12Device *device = NULL;
    if (FAILED(ID3D12Resource_GetDevice(resource, &IID_ID3D12Device, (void **)&device)))
        return false;
    HRESULT hr = AnydmlCreateBufferFromMemory(device, probe, sizeof(probe), &IID_ID3D12Resource, NULL);
    ID3D12Device_Release(device);
    return SUCCEEDED(hr);
}

/* A reserved address of the process that represents the buffer. Reserving uses no memory. */
static HRESULT block_reserve(struct ep_block *block, ID3D12Resource *resource)
{
    ID3D12Device *device = NULL;
    void *range = mmap(NULL, block->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED)
        return E_OUTOFMEMORY;
    block->address = range;
    if (SUCCEEDED(ID3D12Resource_GetDevice(resource, &IID_ID3D12Device, (void **)&device)))
        block->staging = ep_staging_get(device);
    if (device)
        ID3D12Device_Release(device);
    if (block->staging)
        return S_OK;
    munmap(range, block->bytes);
    return E_OUTOFMEMORY;
}

/* If the adapter uses host memory, buffers that cannot be mapped are still at their virtual address. */
static HRESULT block_locate(struct ep_block *block, ID3D12Resource *resource)
{
    D3D12_HEAP_PROPERTIES heap = { .Type = D3D12_HEAP_TYPE_CUSTOM };
    D3D12_RANGE none = { 0, 0 };
    D3D12_RESOURCE_DESC desc = ID3D12Resource_GetDesc(resource);
    if (desc.Dimension != D3D12_RESOURCE_DIMENSION_BUFFER)
        return E_INVALIDARG;
    block->bytes = desc.Width;
    if (!host_memory(resource))
        return block_reserve(block, resource);
    ID3D12Resource_GetHeapProperties(resource, &heap, NULL);
    block->mapped = heap.Type != D3D12_HEAP_TYPE_DEFAULT &&
                    SUCCEEDED(ID3D12Resource_Map(resource, 0, &none, (void **)&block->address));
    if (!block->mapped)
        block->address = (char *)(uintptr_t)ID3D12Resource_GetGPUVirtualAddress(resource);
    return block->address ? S_OK : E_INVALIDARG;
}

static HRESULT insert(struct ep_block *block)
{
    if (find(block->address))
        return E_INVALIDARG;
    if (!base_array_reserve((void **)&table.blocks, table.count, &table.capacity, sizeof(*table.blocks)))
        return E_OUTOFMEMORY;
    size_t at = lower_bound(block->address);
    memmove(table.blocks + at + 1, table.blocks + at, (table.count - at) * sizeof(*table.blocks));
    table.blocks[at] = block;
    table.count++;
    return S_OK;
}

static void block_free(struct ep_block *block)
{
    if (block->mapped)
        ID3D12Resource_Unmap(block->resource, 0, NULL);
    if (block->staging)
        munmap(block->address, block->bytes);
    ep_staging_release(block->staging);
    ID3D12Resource_Release(block->resource);
    free(block);
}

static HRESULT add_locked(ID3D12Resource *resource, void *owner, struct ep_block **out)
{
    struct ep_block *block = calloc(1, sizeof(*block));
    *out = NULL;
    if (!block)
        return E_OUTOFMEMORY;
    block->resource = resource;
    block->owner = owner;
    block->users = 1;
    ID3D12Resource_AddRef(resource);
    HRESULT hr = block_locate(block, resource);
    if (SUCCEEDED(hr))
        hr = insert(block);
    if (FAILED(hr))
        block_free(block);
    else
        *out = block;
    return hr;
}

HRESULT ep_block_add(ID3D12Resource *resource, void *owner, struct ep_block **out)
{
    pthread_mutex_lock(&table.lock);
    HRESULT hr = add_locked(resource, owner, out);
    pthread_mutex_unlock(&table.lock);
    return hr;
}

static void take_out(const struct ep_block *block)
{
    size_t at = lower_bound(block->address);
    table.count--;
    memmove(table.blocks + at, table.blocks + at + 1, (table.count - at) * sizeof(*table.blocks));
    if (table.count)
        return;
    free(table.blocks);
    table.blocks = NULL;
    table.capacity = 0;
}

void ep_block_remove(struct ep_block *block)
{
    pthread_mutex_lock(&table.lock);
    take_out(block);
    pthread_mutex_unlock(&table.lock);
    block_free(block);
}

struct ep_block *ep_block_find(const void *address, const void *owner)
{
    pthread_mutex_lock(&table.lock);
    struct ep_block *block = find(address);
    if (block && block->owner != owner)
        block = NULL;
    pthread_mutex_unlock(&table.lock);
    return block;
}

bool ep_block_covers(const void *address, uint64_t bytes)
{
    bool covers = false;
    pthread_mutex_lock(&table.lock);
    /* Buffers may overlap, so that the nearest is not always the one. */
    for (size_t i = lower_bound((const char *)address + 1); i-- > 0 && !covers;) {
        uint64_t offset = (uint64_t)((const char *)address - table.blocks[i]->address);
        covers = offset <= table.blocks[i]->bytes && bytes <= table.blocks[i]->bytes - offset;
    }
    pthread_mutex_unlock(&table.lock);
    return covers;
}

HRESULT ep_block_import(ID3D12Resource *resource, void **out_address)
{
    struct ep_block *block = NULL;
    HRESULT hr = S_OK;
    pthread_mutex_lock(&table.lock);
    for (size_t i = 0; i < table.count && !block; i++) {
        if (table.blocks[i]->resource == resource && !table.blocks[i]->owner)
            block = table.blocks[i];
    }
    if (block)
        block->users++;
    else
        hr = add_locked(resource, NULL, &block);
    pthread_mutex_unlock(&table.lock);
    *out_address = block ? block->address : NULL;
    return hr;
}

HRESULT ep_block_drop(void *address)
{
    pthread_mutex_lock(&table.lock);
    struct ep_block *block = find(address);
    bool known = block && !block->owner;
    bool last = known && --block->users == 0;
    if (last)
        take_out(block);
    pthread_mutex_unlock(&table.lock);
    if (last)
        block_free(block);
    return known ? S_OK : E_INVALIDARG;
}

ID3D12Resource *ep_block_resource(const void *address)
{
    pthread_mutex_lock(&table.lock);
    struct ep_block *block = find(address);
    ID3D12Resource *resource = block ? block->resource : NULL;
    if (resource)
        ID3D12Resource_AddRef(resource);
    pthread_mutex_unlock(&table.lock);
    return resource;
}

/* ---- memory without host access ---- */

/* Under the lock. Reserved addresses are unique, so the nearest block of that kind is the right one. */
static struct ep_block *find_reserved(const void *address, uint64_t bytes, uint64_t *out_offset)
{
    for (size_t i = lower_bound((const char *)address + 1); i-- > 0;) {
        struct ep_block *block = table.blocks[i];
        if (!block->staging)
            continue;
        *out_offset = (uint64_t)((const char *)address - block->address);
        return *out_offset <= block->bytes && bytes <= block->bytes - *out_offset ? block : NULL;
    }
    return NULL;
}

/* With references, since the block may go. */
struct place {
    ID3D12Resource *resource; /* NULL: the host's */
    struct ep_staging *staging;
    uint64_t offset;
};

static struct place place_of(const void *address, uint64_t bytes)
{
    struct place place = { NULL, NULL, 0 };
    pthread_mutex_lock(&table.lock);
    const struct ep_block *block = find_reserved(address, bytes, &place.offset);
    if (block) {
        ID3D12Device *device = NULL;
        place.resource = block->resource;
        ID3D12Resource_AddRef(place.resource);
        if (SUCCEEDED(ID3D12Resource_GetDevice(place.resource, &IID_ID3D12Device, (void **)&device)))
            place.staging = ep_staging_get(device);
        if (device)
            ID3D12Device_Release(device);
    }
    pthread_mutex_unlock(&table.lock);
    return place;
}

static void place_release(struct place *place)
{
    if (place->resource)
        ID3D12Resource_Release(place->resource);
    ep_staging_release(place->staging);
}

/* From one device to another, through memory of the host. */
static HRESULT copy_across(const struct place *to, const struct place *from, uint64_t bytes)
{
    void *between = malloc(bytes);
    HRESULT hr = between ? ep_staging_read(from->staging, from->resource, from->offset, between, bytes) : E_OUTOFMEMORY;
    if (SUCCEEDED(hr))
        hr = ep_staging_write(to->staging, to->resource, to->offset, between, bytes);
    free(between);
    return hr;
}

HRESULT ep_block_copy(void *to, const void *from, uint64_t bytes)
{
    struct place target = place_of(to, bytes), source = place_of(from, bytes);
    HRESULT hr = S_OK;
    if (!target.resource && !source.resource)
        memmove(to, from, bytes);
    else if (!target.staging != !target.resource || !source.staging != !source.resource)
        hr = E_OUTOFMEMORY;
    else if (!source.resource)
        hr = ep_staging_write(target.staging, target.resource, target.offset, from, bytes);
    else if (!target.resource)
        hr = ep_staging_read(source.staging, source.resource, source.offset, to, bytes);
    else if (target.staging == source.staging)
        hr = ep_staging_move(target.staging, target.resource, target.offset, source.resource, source.offset, bytes);
    else
        hr = copy_across(&target, &source, bytes);
    place_release(&target);
    place_release(&source);
    return hr;
}

static ID3D12Resource *block_resolve(const void *address, uint64_t bytes, uint64_t *out_offset)
{
    pthread_mutex_lock(&table.lock);
    const struct ep_block *block = find_reserved(address, bytes, out_offset);
    ID3D12Resource *resource = block ? block->resource : NULL;
    if (resource)
        ID3D12Resource_AddRef(resource);
    pthread_mutex_unlock(&table.lock);
    return resource;
}

const struct onnx_memory ep_block_memory = { block_resolve, ep_block_copy };
