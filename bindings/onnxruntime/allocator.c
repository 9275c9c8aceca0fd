/* SPDX-License-Identifier: Apache-2.0 */
/* OrtAllocator over Direct3D buffers: freed ones are recycled, up to a limit. */
#include "memory.h"

#include <anydml_d3d12.h>

#include <stdio.h>
#include <stdlib.h>

#define GRANULE 256 /* sizes are multiples of it */

/* As ONNX Runtime names them in GetStats. */
struct stats {
    uint64_t in_use, max_in_use, total, allocs, reserves, extensions, shrinkages, max_alloc;
};

struct allocator {
    OrtAllocator base;
    struct ep_factory *factory;
    const OrtMemoryInfo *info;
    uint32_t adapter;
    bool host_memory;
    uint64_t limit;           /* of idle bytes */
    pthread_mutex_t lock;     /* all following members */
    struct ep_device *device; /* opened by the first allocation */
    struct ep_block *idle;    /* most recently freed first */
    uint64_t idle_bytes;
    struct stats stats;
};

static struct allocator *allocator_of(const OrtAllocator *base)
{
    return container_of(base, struct allocator, base);
}

/* ---- buffers ---- */

static ID3D12Resource *make_buffer(ID3D12Device *d3d, bool host_memory, uint64_t bytes)
{
    D3D12_HEAP_PROPERTIES heap = {
        .Type = D3D12_HEAP_TYPE_DEFAULT,
        .CreationNodeMask = 1,
        .VisibleNodeMask = 1,
    };
    if (host_memory) {
        heap.Type = D3D12_HEAP_TYPE_CUSTOM;
        heap.CPUPageProperty = D3D12_CPU_PAGE_PROPERTY_WRITE_BACK;
        heap.MemoryPoolPreference = D3D12_MEMORY_POOL_L0;
    }
    D3D12_RESOURCE_DESC desc = {
        .Dimension = D3D12_RESOURCE_DIMENSION_BUFFER,
        .Width = bytes,
        .Height = 1,
        .DepthOrArraySize = 1,
        .MipLevels = 1,
        .SampleDesc = { 1, 0 },
        .Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        .Flags = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
    };
    ID3D12Resource *buffer = NULL;
    HRESULT hr =
        ID3D12Device_CreateCommittedResource(d3d, &heap, D3D12_HEAP_FLAG_NONE, &desc, D3D12_RESOURCE_STATE_COMMON, NULL,
                                             &IID_ID3D12Resource, (void **)&buffer);
    return SUCCEEDED(hr) ? buffer : NULL;
}

static struct ep_block *make_block(struct allocator *a, uint64_t bytes)
{
    struct ep_block *block = NULL;
    if (!a->device) {
        OrtStatus *status = ep_device_open(a->factory, a->adapter, &a->device);
        if (status) {
            a->factory->ort->ReleaseStatus(status);
            return NULL;
        }
    }
    ID3D12Resource *buffer = make_buffer(a->device->onnx->d3d, a->host_memory, bytes);
    if (buffer) {
        ep_block_add(buffer, a, &block);
        ID3D12Resource_Release(buffer);
    }
    if (block) {
        a->stats.total += block->bytes;
        a->stats.extensions++;
    }
    return block;
}

/* The smallest idle block that is not much too large. */
static struct ep_block *take_idle(struct allocator *a, uint64_t bytes)
{
    struct ep_block **best = NULL;
    for (struct ep_block **at = &a->idle; *at; at = &(*at)->next) {
        uint64_t size = (*at)->bytes;
        if (size >= bytes && size - bytes <= bytes / 4 && (!best || size < (*best)->bytes))
            best = at;
    }
    if (!best)
        return NULL;
    struct ep_block *block = *best;
    *best = block->next;
    a->idle_bytes -= block->bytes;
    return block;
}

static void drop_idle(struct allocator *a)
{
    while (a->idle) {
        struct ep_block *block = a->idle;
        a->idle = block->next;
        a->stats.total -= block->bytes;
        ep_block_remove(block);
    }
    a->idle_bytes = 0;
}

/* ---- OrtAllocator ---- */

static void *allocate(struct allocator *a, size_t size, bool reserve)
{
    if (!size || size > (uint64_t)INT64_MAX - GRANULE)
        return NULL;
    uint64_t bytes = base_align_up(size, GRANULE);
    pthread_mutex_lock(&a->lock);
    struct ep_block *block = reserve ? NULL : take_idle(a, bytes);
    if (!block)
        block = make_block(a, bytes);
    if (block) {
        struct stats *s = &a->stats;
        block->reserved = reserve;
        block->users = 1;
        s->in_use += block->bytes;
        s->max_in_use = BASE_MAX(s->max_in_use, s->in_use);
        s->max_alloc = BASE_MAX(s->max_alloc, block->bytes);
        s->allocs++;
        s->reserves += reserve;
    }
    pthread_mutex_unlock(&a->lock);
    return block ? block->address : NULL;
}

static void *ORT_API_CALL allocator_alloc(OrtAllocator *base, size_t size) NO_EXCEPTION
{
    return allocate(allocator_of(base), size, false);
}

static void *ORT_API_CALL allocator_reserve(OrtAllocator *base, size_t size) NO_EXCEPTION
{
    return allocate(allocator_of(base), size, true);
}

static void ORT_API_CALL allocator_free(OrtAllocator *base, void *address) NO_EXCEPTION
{
    struct allocator *a = allocator_of(base);
    struct ep_block *block = address ? ep_block_find(address, a) : NULL;
    if (!block)
        return;
    pthread_mutex_lock(&a->lock);
    if (!block->users) { /* freed twice */
        pthread_mutex_unlock(&a->lock);
        return;
    }
    block->users = 0;
    a->stats.in_use -= block->bytes;
    bool keep = !block->reserved && block->bytes <= a->limit && a->idle_bytes <= a->limit - block->bytes;
    if (keep) {
        block->next = a->idle;
        a->idle = block;
        a->idle_bytes += block->bytes;
    } else {
        a->stats.total -= block->bytes;
    }
    pthread_mutex_unlock(&a->lock);
    if (!keep)
        ep_block_remove(block);
}

static const OrtMemoryInfo *ORT_API_CALL allocator_info(const OrtAllocator *base) NO_EXCEPTION
{
    return allocator_of(base)->info;
}

static OrtStatus *ORT_API_CALL allocator_stats(const OrtAllocator *base, OrtKeyValuePairs **out) NO_EXCEPTION
{
    struct allocator *a = allocator_of(base);
    const OrtApi *ort = a->factory->ort;
    pthread_mutex_lock(&a->lock);
    struct stats s = a->stats;
    pthread_mutex_unlock(&a->lock);
    const struct {
        const char *key;
        uint64_t value;
    } rows[] = {
        { "InUse", s.in_use },
        { "TotalAllocated", s.total },
        { "MaxInUse", s.max_in_use },
        { "NumAllocs", s.allocs },
        { "NumReserves", s.reserves },
        { "NumArenaExtensions", s.extensions },
        { "NumArenaShrinkages", s.shrinkages },
        { "MaxAllocSize", s.max_alloc },
        { "IdleLimit", a->limit },
    };
    ort->CreateKeyValuePairs(out);
    ort->AddKeyValuePair(*out, "Limit", "-1"); /* memory in use is not limited */
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char text[32];
        snprintf(text, sizeof(text), "%llu", (unsigned long long)rows[i].value);
        ort->AddKeyValuePair(*out, rows[i].key, text);
    }
    return NULL;
}

static OrtStatus *ORT_API_CALL allocator_shrink(OrtAllocator *base) NO_EXCEPTION
{
    struct allocator *a = allocator_of(base);
    pthread_mutex_lock(&a->lock);
    drop_idle(a);
    a->stats.shrinkages++;
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

static uint32_t adapter_of(const struct ep_factory *factory, const OrtMemoryInfo *info)
{
    int id = 0;
    OrtStatus *status = factory->ort->MemoryInfoGetId(info, &id);
    if (status)
        factory->ort->ReleaseStatus(status);
    return (uint32_t)id;
}

OrtStatus *ep_allocator_create(struct ep_factory *factory, const OrtMemoryInfo *info, uint64_t limit,
                               OrtAllocator **out)
{
    uint32_t adapter = info ? adapter_of(factory, info) : 0;
    const struct ep_memory *memory = ep_memory_find(factory, adapter);
    *out = NULL;
    if (!memory)
        return ep_status(factory, ORT_NOT_IMPLEMENTED, "tensors of adapter %u are in the CPU provider's memory",
                         adapter);
    struct allocator *a = calloc(1, sizeof(*a));
    if (!a)
        return ep_status(factory, ORT_FAIL, "out of memory");
    a->base.version = factory->version;
    a->base.Alloc = allocator_alloc;
    a->base.Free = allocator_free;
    a->base.Info = allocator_info;
    a->base.Reserve = allocator_reserve;
    a->base.GetStats = allocator_stats;
    a->base.Shrink = allocator_shrink;
    a->factory = factory;
    a->info = info ? info : memory->host ? memory->host : memory->device;
    a->host_memory = memory->host != NULL;
    a->adapter = adapter;
    a->limit = limit;
    pthread_mutex_init(&a->lock, NULL);
    *out = &a->base;
    return NULL;
}

void ep_allocator_destroy(OrtAllocator *base)
{
    if (!base)
        return;
    struct allocator *a = allocator_of(base);
    drop_idle(a);
    ep_device_close(a->device);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

/* ---- memory infos ---- */

const struct ep_memory *ep_memory_find(const struct ep_factory *factory, uint32_t adapter)
{
    for (uint32_t i = 0; i < factory->memory_count; i++) {
        if (factory->memory[i].adapter == adapter)
            return &factory->memory[i];
    }
    return NULL;
}

OrtStatus *ep_memory_add(struct ep_factory *factory, uint32_t adapter, bool host_memory, OrtEpDevice *device)
{
    const OrtApi *ort = factory->ort;
    OrtStatus *status = NULL;
    const struct ep_memory *known = ep_memory_find(factory, adapter);
    struct ep_memory m = { .adapter = adapter };
    if (known) {
        m = *known;
    } else {
        struct ep_memory *grown = realloc(factory->memory, (factory->memory_count + 1) * sizeof(*grown));
        if (!grown)
            return ep_status(factory, ORT_FAIL, "out of memory");
        factory->memory = grown;
        if (host_memory)
            status = ort->CreateMemoryInfo_V2("DML", OrtMemoryInfoDeviceType_CPU, EP_VENDOR_MICROSOFT, (int32_t)adapter,
                                              OrtDeviceMemoryType_HOST_ACCESSIBLE, 0, OrtDeviceAllocator, &m.host);
        if (!status && factory->version >= EP_VERSION_DEFAULT_MEMORY)
            status = ort->CreateMemoryInfo_V2("DML", OrtMemoryInfoDeviceType_GPU, EP_VENDOR_MICROSOFT, (int32_t)adapter,
                                              OrtDeviceMemoryType_DEFAULT, 0, OrtDeviceAllocator, &m.device);
        grown[factory->memory_count++] = m;
    }
    if (!status && m.host)
        status = factory->ep->EpDevice_AddAllocatorInfo(device, m.host);
    if (!status && m.device)
        status = factory->ep->EpDevice_AddAllocatorInfo(device, m.device);
    return status;
}

void ep_memory_finish(struct ep_factory *factory)
{
    for (uint32_t i = 0; i < factory->memory_count; i++) {
        if (factory->memory[i].host)
            factory->ort->ReleaseMemoryInfo(factory->memory[i].host);
        if (factory->memory[i].device)
            factory->ort->ReleaseMemoryInfo(factory->memory[i].device);
    }
    free(factory->memory);
}
