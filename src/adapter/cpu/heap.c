/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of all kinds is ordinary host memory, from mmap: zeroed, and given back to the system when released. Tiles of
 * reserved memory are pages of a heap that are mapped a second time, so kernels see nothing of them. */
#define _GNU_SOURCE
#include "adapter/cpu/cpu.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ALIGNMENT       65536u
#define PAGE_BYTES      4096u
#define HUGE_PAGE_BYTES (4u << 20)  /* from here on huge pages are worth asking for */
#define CHECK_BYTES     (64u << 20) /* how much may be created between two looks at what is available */

/* mmap grants more than there is, and the process would die when it writes: refuse what cannot fit. */
static bool fits(struct adapter_device *device, uint64_t size)
{
    if (size > device->total || atomic_load(&device->used) > device->total - size)
        return false;
    if (atomic_fetch_add(&device->drawn, size) + size < CHECK_BYTES)
        return true;
    atomic_store(&device->drawn, 0);
    return size <= cpu_memory_available();
}

/* 64 KiB alignment by mapping more and giving the ends back. */
static void *map_aligned(uint64_t size, int flags)
{
    char *start = mmap(NULL, size + ALIGNMENT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    char *aligned = (char *)base_align_up((uintptr_t)start, ALIGNMENT);
    size_t before = (size_t)(aligned - start), after = ALIGNMENT - before;
    if (before)
        munmap(start, before);
    if (after)
        munmap(aligned + size, after);
    return aligned;
}

static struct cpu_memory *memory_map(uint64_t size, int flags)
{
    struct cpu_memory *memory = calloc(1, sizeof(*memory));
    void *host = memory && size <= UINT64_MAX - ALIGNMENT ? map_aligned(size, flags) : NULL;
    if (!host) {
        free(memory);
        return NULL;
    }
    pthread_mutex_init(&memory->sharing, NULL);
    memory->base = (struct adapter_memory){ size, (uintptr_t)host, host };
    return memory;
}

HRESULT cpu_memory_create(struct adapter_device *device, enum adapter_memory_kind kind, uint64_t size,
                          struct adapter_memory **out)
{
    (void)kind;
    *out = NULL;
    if (!fits(device, size))
        return E_OUTOFMEMORY;
    struct cpu_memory *memory = memory_map(size, 0);
    if (!memory)
        return E_OUTOFMEMORY;
    if (size >= HUGE_PAGE_BYTES)
        madvise(memory->base.host, size, MADV_HUGEPAGE);
    atomic_fetch_add(&device->used, size);
    *out = &memory->base;
    return S_OK;
}

void cpu_memory_destroy(struct adapter_device *device, struct adapter_memory *base)
{
    struct cpu_memory *memory = (struct cpu_memory *)base;
    munmap(base->host, base->size);
    if (!memory->reserved)
        atomic_fetch_sub(&device->used, base->size);
    pthread_mutex_destroy(&memory->sharing);
    free(memory);
}

/* ---- tiles ---- */

HRESULT cpu_reserved_create(struct adapter_device *device, uint64_t size, struct adapter_memory **out)
{
    (void)device;
    struct cpu_memory *memory = memory_map(size, MAP_NORESERVE);
    *out = memory ? &memory->base : NULL;
    if (!memory)
        return E_OUTOFMEMORY;
    memory->reserved = true;
    return S_OK;
}

static void copy_pages(char *to, const char *from, uint64_t bytes)
{
    static const char zeros[PAGE_BYTES];
    for (uint64_t at = 0; at < bytes; at += PAGE_BYTES) {
        if (memcmp(from + at, zeros, PAGE_BYTES)) /* what nobody has written takes no memory */
            memcpy(to + at, from + at, PAGE_BYTES);
    }
}

static bool map_nothing(char *at, uint64_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    return mmap(at, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED;
}

/* Private pages, which are faster since Linux gives huge ones, become shared ones in the same place, when the heap
 * first serves tiles. Work of other queues may use resources in the heap meanwhile: it has to wait. */
static HRESULT share(struct cpu_memory *memory)
{
    uint64_t size = memory->base.size;
    char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
        return E_OUTOFMEMORY;
    uint32_t granted = adapter_thread_budget_acquire(UINT32_MAX);
    copy_pages(pages, memory->base.host, size);
    bool moved = mremap(pages, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, memory->base.host) != MAP_FAILED;
    if (!moved) /* what was there may be gone, and others go on until the device is removed */
        map_nothing(memory->base.host, size);
    adapter_thread_budget_release(granted);
    if (!moved) {
        munmap(pages, size);
        return E_OUTOFMEMORY;
    }
    if (size >= HUGE_PAGE_BYTES)
        madvise(memory->base.host, size, MADV_HUGEPAGE);
    memory->shared = true;
    return S_OK;
}

HRESULT cpu_tiles_map(struct adapter_device *device, struct adapter_memory *reserved, uint64_t offset,
                      struct adapter_memory *heap, uint64_t heap_offset, uint64_t bytes)
{
    char *at = (char *)reserved->host + offset;
    struct cpu_memory *memory = (struct cpu_memory *)heap;
    HRESULT hr = S_OK;
    (void)device;
    if (!memory)
        return map_nothing(at, bytes) ? S_OK : E_OUTOFMEMORY;
    pthread_mutex_lock(&memory->sharing);
    if (!memory->shared)
        hr = share(memory);
    pthread_mutex_unlock(&memory->sharing);
    if (FAILED(hr))
        return hr;
    /* From 0 bytes: the old addresses stay. */
    if (mremap((char *)heap->host + heap_offset, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED)
        return S_OK;
    map_nothing(at, bytes); /* what was there may be gone: nobody else's memory must come here */
    return E_OUTOFMEMORY;
}
