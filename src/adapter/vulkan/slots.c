/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of addresses that commands of the application use for as long as it likes: one by one, so that a list with a
 * thousand dispatches does not take a thousand pieces of memory. */
#include "adapter/vulkan/vulkan.h"

#include "base/arena.h"

#include <stdlib.h>

#define CHUNK_BYTES VULKAN_ALIGNMENT

static uint64_t class_bytes(uint32_t class)
{
    return (uint64_t)ADAPTER_PARAMETERS_ALIGN << class;
}

/* VULKAN_SLOT_CLASSES: larger than all of them. */
static uint32_t class_of(uint64_t bytes)
{
    uint32_t class = 0;
    while (class < VULKAN_SLOT_CLASSES && class_bytes(class) < bytes)
        class ++;
    return class;
}

static HRESULT fill_slot(struct adapter_device *device, struct adapter_memory *memory, uint64_t at,
                         struct vulkan_slot *slot)
{
    slot->table.host = (uint64_t *)(void *)((char *)memory->host + at);
    slot->table.address = memory->address + at;
    return vulkan_arena_uniform(device, vulkan_memory_from(memory), at, &slot->table.uniform);
}

/* Of a memory of its own. */
static HRESULT large_slot(struct adapter_device *device, uint64_t bytes, struct vulkan_slot *slot)
{
    HRESULT hr = vulkan_table_memory(device, bytes, &slot->memory);
    return SUCCEEDED(hr) ? fill_slot(device, slot->memory, 0, slot) : hr;
}

/* From the class's chunk, under the lock. From each start, VULKAN_UNIFORM_BYTES are in the chunk. */
static HRESULT carve_slot(struct adapter_device *device, struct vulkan_slot *slot)
{
    struct vulkan_slots *slots = &device->slots;
    struct vulkan_slot_chunk *chunk = &slots->open[slot->class];
    if (!chunk->memory || chunk->used + VULKAN_UNIFORM_BYTES > CHUNK_BYTES) {
        struct adapter_memory *memory;
        if (!base_array_reserve((void **)&slots->memories, slots->memory_count, &slots->memory_capacity,
                                sizeof(*slots->memories)))
            return E_OUTOFMEMORY;
        HRESULT hr = vulkan_table_memory(device, CHUNK_BYTES, &memory);
        if (FAILED(hr))
            return hr;
        slots->memories[slots->memory_count++] = memory;
        *chunk = (struct vulkan_slot_chunk){ memory, 0 };
    }
    HRESULT hr = fill_slot(device, chunk->memory, chunk->used, slot);
    if (SUCCEEDED(hr))
        chunk->used += class_bytes(slot->class);
    return hr;
}

HRESULT vulkan_slot_take(struct adapter_device *device, uint32_t addresses, struct vulkan_slot **out)
{
    struct vulkan_slots *slots = &device->slots;
    const uint64_t bytes = addresses * sizeof(uint64_t);
    const uint32_t class = class_of(bytes);
    *out = NULL;
    pthread_mutex_lock(&slots->lock);
    if (class < VULKAN_SLOT_CLASSES && slots->idle[class]) {
        *out = slots->idle[class];
        slots->idle[class] = (*out)->next;
    }
    pthread_mutex_unlock(&slots->lock);
    if (*out)
        return S_OK;
    struct vulkan_slot *slot = calloc(1, sizeof(*slot));
    if (!slot)
        return E_OUTOFMEMORY;
    slot->class = class;
    slot->capacity = (uint32_t)(class < VULKAN_SLOT_CLASSES ? class_bytes(class) / sizeof(uint64_t) : addresses);
    pthread_mutex_lock(&slots->lock);
    HRESULT hr = class < VULKAN_SLOT_CLASSES ? carve_slot(device, slot) : large_slot(device, bytes, slot);
    pthread_mutex_unlock(&slots->lock);
    if (SUCCEEDED(hr)) {
        *out = slot;
        return S_OK;
    }
    vulkan_memory_destroy(device, slot->memory);
    free(slot);
    return hr;
}

void vulkan_slot_release(struct adapter_device *device, struct vulkan_slot *slot)
{
    struct vulkan_slots *slots = &device->slots;
    if (!slot)
        return;
    if (slot->class == VULKAN_SLOT_CLASSES) {
        vulkan_memory_destroy(device, slot->memory);
        free(slot);
        return;
    }
    pthread_mutex_lock(&slots->lock);
    slot->next = slots->idle[slot->class];
    slots->idle[slot->class] = slot;
    pthread_mutex_unlock(&slots->lock);
}

void vulkan_slots_finish(struct adapter_device *device)
{
    struct vulkan_slots *slots = &device->slots;
    for (uint32_t class = 0; class < VULKAN_SLOT_CLASSES; class ++)
        while (slots->idle[class]) {
            struct vulkan_slot *slot = slots->idle[class];
            slots->idle[class] = slot->next;
            free(slot);
        }
    for (uint32_t i = 0; i < slots->memory_count; i++)
        vulkan_memory_destroy(device, slots->memories[i]);
    free(slots->memories);
}
