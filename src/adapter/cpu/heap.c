/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of all kinds is ordinary host memory, from base_map: zeroed, and returned to the system when released. Tiles
 * of reserved memory are pages of a heap that are mapped a second time, invisible to kernels. */
#include "adapter/cpu/cpu.h"

#include "base/os.h"
#include "base/pages.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define ALIGNMENT       65536u
#define HUGE_PAGE_BYTES (4u << 20) /* from this size on huge pages are requested */

/* Linux overcommits memory, and the process would be killed when it writes: reject allocations that cannot fit. */
static bool fits(struct adapter_device *device, uint64_t size)
{
    if (size > device->total || atomic_load(&device->used) > device->total - size)
        return false;
    return base_memory_fits(size);
}

static unsigned huge(uint64_t bytes)
{
    return bytes >= HUGE_PAGE_BYTES ? BASE_MAP_HUGE : 0;
}

static struct cpu_memory *memory_map(uint64_t size, unsigned flags)
{
    struct cpu_memory *memory = calloc(1, sizeof(*memory));
    void *host = memory ? base_map(size, ALIGNMENT, flags) : NULL;
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
    struct cpu_memory *memory = memory_map(size, huge(size));
    if (!memory)
        return E_OUTOFMEMORY;
    atomic_fetch_add(&device->used, size);
    *out = &memory->base;
    return S_OK;
}

void cpu_memory_explain(struct adapter_device *device, enum adapter_memory_kind kind, uint64_t size, char *message)
{
    (void)kind;
    snprintf(message, ADAPTER_MESSAGE_BYTES,
             "%llu bytes were asked for; of the host's %llu bytes %llu are available, and this device has %llu",
             (unsigned long long)size, (unsigned long long)device->total, (unsigned long long)base_memory_available(),
             (unsigned long long)atomic_load(&device->used));
}

void cpu_memory_destroy(struct adapter_device *device, struct adapter_memory *base)
{
    struct cpu_memory *memory = (struct cpu_memory *)base;
    base_unmap(base->host, base->size);
    if (!memory->reserved)
        atomic_fetch_sub(&device->used, base->size);
    pthread_mutex_destroy(&memory->sharing);
    free(memory);
}

/* ---- tiles ---- */

HRESULT cpu_reserved_create(struct adapter_device *device, uint64_t size, struct adapter_memory **out)
{
    (void)device;
    struct cpu_memory *memory = memory_map(size, BASE_MAP_RESERVE);
    *out = memory ? &memory->base : NULL;
    if (!memory)
        return E_OUTOFMEMORY;
    memory->reserved = true;
    return S_OK;
}

/* Private pages, which are faster because Linux supports huge ones, become shared ones at the same address when the
 * heap is first used for tiles. Work of other queues may be using resources in the heap: it must be complete. */
static HRESULT share(struct cpu_memory *memory)
{
    uint32_t granted = adapter_thread_budget_acquire(UINT32_MAX);
    memory->shared = base_map_make_shared(memory->base.host, memory->base.size, huge(memory->base.size));
    adapter_thread_budget_release(granted);
    return memory->shared ? S_OK : E_OUTOFMEMORY;
}

HRESULT cpu_tiles_map(struct adapter_device *device, struct adapter_memory *reserved, uint64_t offset,
                      struct adapter_memory *heap, uint64_t heap_offset, uint64_t bytes)
{
    char *at = (char *)reserved->host + offset;
    struct cpu_memory *memory = (struct cpu_memory *)heap;
    HRESULT hr = S_OK;
    (void)device;
    if (!memory)
        return base_map_nothing(at, bytes) ? S_OK : E_OUTOFMEMORY;
    pthread_mutex_lock(&memory->sharing);
    if (!memory->shared)
        hr = share(memory);
    pthread_mutex_unlock(&memory->sharing);
    if (FAILED(hr))
        return hr;
    if (base_map_twice(at, (char *)heap->host + heap_offset, bytes))
        return S_OK;
    base_map_nothing(at, bytes); /* the previous mapping may be lost: no other memory must be mapped here */
    return E_OUTOFMEMORY;
}
