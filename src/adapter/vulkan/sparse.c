/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is larger than one allocation of the driver's (maxMemoryAllocationSize, often 4 GiB): a sparse buffer, of
 * at most maxBufferSize bytes as every buffer, which is one range of addresses for kernels and one buffer for copies,
 * bound completely to several allocations before its first use and never bound again. The limits of descriptors
 * (maxStorageBufferRange) do not matter: kernels access memory by address, and the only descriptors are for the 4096
 * bytes of a parameter block. */
#include "adapter/vulkan/sparse.h"

#include <stdlib.h>

/* Drivers use large pages for memory whose parts start at multiples of this. */
#define PART_ALIGNMENT (UINT64_C(2) << 20)

void vulkan_sparse_check(struct vulkan_physical *physical)
{
    bool binds = false;
    for (uint32_t role = 0; role < VULKAN_ROLES; role++)
        binds |= physical->families[role].queues && physical->families[role].sparse;
    if (!binds)
        physical->sparse_bytes_max = 0;
}

uint64_t vulkan_sparse_part_bytes(const struct vulkan_physical *physical, uint64_t alignment)
{
    const uint64_t most = physical->allocation_bytes_max, large = BASE_MAX(alignment, PART_ALIGNMENT);
    return most >= large ? most / large * large : most / alignment * alignment;
}

uint64_t vulkan_memory_single(const struct vulkan_physical *physical)
{
    return BASE_MIN(physical->allocation_bytes_max, physical->buffer_bytes_max);
}

/* The host sees memory of one allocation only: the parts of a sparse buffer would be mapped at unrelated addresses. */
uint64_t vulkan_memory_most(const struct vulkan_physical *physical, uint32_t kind)
{
    const uint64_t single = vulkan_memory_single(physical);
    const uint64_t sparse = BASE_MIN(physical->sparse_bytes_max, physical->buffer_bytes_max);
    return kind == ADAPTER_MEMORY_DEVICE ? BASE_MAX(single, sparse) : single;
}

HRESULT vulkan_sparse_bind(struct adapter_device *device, VkBuffer buffer, const struct vulkan_part *parts,
                           uint32_t count)
{
    VkSparseMemoryBind *binds = calloc(count, sizeof(*binds));
    if (!binds)
        return E_OUTOFMEMORY;
    for (uint64_t i = 0, at = 0; i < count; at += parts[i++].bytes)
        binds[i] = (VkSparseMemoryBind){ .resourceOffset = at, .size = parts[i].bytes, .memory = parts[i].memory };
    const VkSparseBufferMemoryBindInfo info = { buffer, count, binds };
    HRESULT hr = vulkan_own_bind(device, &info);
    free(binds);
    return hr;
}
