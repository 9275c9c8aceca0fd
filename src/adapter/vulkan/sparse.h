/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers over several allocations, and the limits of memories (sparse.c). */
#ifndef ADAPTER_VULKAN_SPARSE_H
#define ADAPTER_VULKAN_SPARSE_H

#include "adapter/vulkan/vulkan.h"

/* One VkDeviceMemory of a block. */
struct vulkan_part {
    VkDeviceMemory memory;
    uint64_t bytes;
    uint32_t heap;
};

/* Allocates with `next`, and counts the allocation (arena.c). */
HRESULT vulkan_allocate(struct adapter_device *device, const void *next, uint32_t type, uint64_t bytes,
                        struct vulkan_part *out);

/* Clears sparse_bytes_max if no queue of its families can bind. */
void vulkan_sparse_check(struct vulkan_physical *physical);
/* The size of the parts of such a buffer, except for its last one, a multiple of `alignment`; 0: impossible. */
uint64_t vulkan_sparse_part_bytes(const struct vulkan_physical *physical, uint64_t alignment);
/* The most bytes of one allocation with a buffer that is not sparse. */
uint64_t vulkan_memory_single(const struct vulkan_physical *physical);
/* The most bytes that one memory of this kind may have by the driver's limits. */
uint64_t vulkan_memory_most(const struct vulkan_physical *physical, uint32_t kind);
/* Binds the parts to the sparse buffer one after another, and returns when that is done. */
HRESULT vulkan_sparse_bind(struct adapter_device *device, VkBuffer buffer, const struct vulkan_part *parts,
                           uint32_t count);

#endif
