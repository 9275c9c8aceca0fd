/* SPDX-License-Identifier: Apache-2.0 */
/* Zeroed memory, 64 KiB aligned, that the application can map. */
#include "adapter/null/null.h"

#include "base/os.h"

#include <stdlib.h>

HRESULT null_memory_create(struct adapter_device *device, enum adapter_memory_kind kind, uint64_t size,
                           struct adapter_memory **out)
{
    (void)kind;
    *out = NULL;
    struct adapter_memory *memory = calloc(1, sizeof(*memory));
    void *host = memory && size <= (1ull << 32) - BASE_MIN(atomic_load(&device->used), 1ull << 32)
                     ? base_aligned_acquire(65536, size)
                     : NULL;
    if (!host) {
        free(memory);
        return E_OUTOFMEMORY;
    }
    memset(host, 0, size);
    *memory = (struct adapter_memory){ size, (uintptr_t)host, host };
    atomic_fetch_add(&device->used, size);
    *out = memory;
    return S_OK;
}

void null_memory_destroy(struct adapter_device *device, struct adapter_memory *memory)
{
    atomic_fetch_sub(&device->used, memory->size);
    base_aligned_release(memory->host);
    free(memory);
}
