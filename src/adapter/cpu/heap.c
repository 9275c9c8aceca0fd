/* Memory of all kinds is ordinary host memory, from mmap: zeroed, and given back to the system when released. */
#define _GNU_SOURCE
#include "adapter/cpu/cpu.h"

#include <stdlib.h>
#include <sys/mman.h>

#define ALIGNMENT       65536u
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
static void *map_aligned(uint64_t size)
{
    char *start = mmap(NULL, size + ALIGNMENT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    char *aligned = (char *)base_align_up((uintptr_t)start, ALIGNMENT);
    size_t before = (size_t)(aligned - start), after = ALIGNMENT - before;
    if (before)
        munmap(start, before);
    if (after)
        munmap(aligned + size, after);
    if (size >= HUGE_PAGE_BYTES)
        madvise(aligned, size, MADV_HUGEPAGE);
    return aligned;
}

HRESULT cpu_memory_create(struct adapter_device *device, enum adapter_memory_kind kind, uint64_t size,
                          struct adapter_memory **out)
{
    (void)kind;
    *out = NULL;
    if (size > UINT64_MAX - ALIGNMENT || !fits(device, size))
        return E_OUTOFMEMORY;
    struct adapter_memory *memory = calloc(1, sizeof(*memory));
    if (!memory)
        return E_OUTOFMEMORY;
    memory->host = map_aligned(size);
    if (!memory->host) {
        free(memory);
        return E_OUTOFMEMORY;
    }
    memory->size = size;
    memory->address = (uintptr_t)memory->host;
    atomic_fetch_add(&device->used, size);
    *out = memory;
    return S_OK;
}

void cpu_memory_destroy(struct adapter_device *device, struct adapter_memory *memory)
{
    munmap(memory->host, memory->size);
    atomic_fetch_sub(&device->used, memory->size);
    free(memory);
}
