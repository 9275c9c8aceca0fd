/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the front, zeroed, and tables of addresses. */
#include "adapter/vulkan/sparse.h"

#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>

#define TABLE_ALIGN ADAPTER_PARAMETERS_ALIGN

static HRESULT create(struct adapter_device *device, uint32_t kind, uint64_t size, struct adapter_memory **out)
{
    *out = NULL;
    if (size > UINT64_MAX - 2 * VULKAN_ALIGNMENT)
        return E_OUTOFMEMORY;
    struct vulkan_memory *memory = calloc(1, sizeof(*memory));
    if (!memory)
        return E_OUTOFMEMORY;
    memory->base.size = base_align_up(BASE_MAX(size, 1), VULKAN_ALIGNMENT);
    HRESULT hr = vulkan_arena_allocate(device, kind, memory);
    if (FAILED(hr)) {
        free(memory);
        return hr;
    }
    hr = vulkan_memory_zero(device, memory);
    if (SUCCEEDED(hr))
        *out = &memory->base;
    else
        vulkan_memory_destroy(device, &memory->base);
    return hr;
}

HRESULT vulkan_memory_create(struct adapter_device *device, enum adapter_memory_kind kind, uint64_t size,
                             struct adapter_memory **out)
{
    return create(device, kind, size, out);
}

void vulkan_memory_destroy(struct adapter_device *device, struct adapter_memory *memory)
{
    if (!memory)
        return;
    if (vulkan_memory_from(memory)->foreign) {
        vulkan_foreign_destroy(device, vulkan_memory_from(memory));
        return;
    }
    vulkan_arena_release(device, vulkan_memory_from(memory));
    free(memory);
}

/* ---- failures ---- */

#define UNSIGNED(n) ((unsigned long long)(n))

static void explain_limit(const struct vulkan_physical *physical, uint32_t kind, uint64_t size, char *message)
{
    const char *name = physical->properties.deviceName;
    const uint64_t allocation = physical->allocation_bytes_max, buffer = physical->buffer_bytes_max;
    if (kind != ADAPTER_MEMORY_DEVICE)
        snprintf(
            message, ADAPTER_MESSAGE_BYTES,
            "%llu bytes were asked for, but memory that the host maps is one allocation, and those of \"%s\" have at "
            "most %llu bytes (maxMemoryAllocationSize %llu, maxBufferSize %llu)",
            UNSIGNED(size), name, UNSIGNED(vulkan_memory_most(physical, kind)), UNSIGNED(allocation), UNSIGNED(buffer));
    else if (!physical->sparse_bytes_max)
        snprintf(
            message, ADAPTER_MESSAGE_BYTES,
            "%llu bytes were asked for, but a buffer of \"%s\" has at most %llu bytes (maxMemoryAllocationSize %llu, "
            "maxBufferSize %llu): its driver cannot bind one to several allocations (sparseBinding)",
            UNSIGNED(size), name, UNSIGNED(vulkan_memory_most(physical, kind)), UNSIGNED(allocation), UNSIGNED(buffer));
    else
        snprintf(
            message, ADAPTER_MESSAGE_BYTES,
            "%llu bytes were asked for, but a buffer of \"%s\" has at most %llu bytes (sparseAddressSpaceSize %llu, "
            "maxBufferSize %llu)",
            UNSIGNED(size), name, UNSIGNED(vulkan_memory_most(physical, kind)), UNSIGNED(physical->sparse_bytes_max),
            UNSIGNED(buffer));
}

void vulkan_memory_explain(struct adapter_device *device, enum adapter_memory_kind kind, uint64_t size, char *message)
{
    uint64_t total, host_total;
    if (size > vulkan_memory_most(device->physical, kind)) {
        explain_limit(device->physical, kind, size, message);
        return;
    }
    const uint64_t local = vulkan_memory_free(device, true, &total),
                   other = vulkan_memory_free(device, false, &host_total);
    snprintf(
        message, ADAPTER_MESSAGE_BYTES,
        "%llu bytes were asked for; of the %llu bytes of \"%s\" %llu are free, of the %llu bytes of the host that it "
        "can use %llu, and the host has %llu",
        UNSIGNED(size), UNSIGNED(total), device->physical->properties.deviceName, UNSIGNED(local), UNSIGNED(host_total),
        UNSIGNED(other), UNSIGNED(base_memory_available()));
}

/* ---- tables ---- */

HRESULT vulkan_table_memory(struct adapter_device *device, uint64_t bytes, struct adapter_memory **out)
{
    HRESULT hr = create(device, VULKAN_MEMORY_TABLES, bytes, out);
    if (FAILED(hr)) /* host-visible device memory is often small */
        hr = create(device, ADAPTER_MEMORY_UPLOAD, bytes, out);
    return hr;
}

static HRESULT table_memory(struct adapter_device *device, struct vulkan_tables *tables, uint64_t bytes)
{
    while (tables->current < tables->count && tables->memories[tables->current]->size - tables->used < bytes) {
        tables->current++;
        tables->used = 0;
    }
    if (tables->current < tables->count)
        return S_OK;
    if (!base_array_reserve((void **)&tables->memories, tables->count, &tables->capacity, sizeof(*tables->memories)))
        return E_OUTOFMEMORY;
    HRESULT hr = vulkan_table_memory(device, bytes, &tables->memories[tables->count]);
    tables->count += SUCCEEDED(hr);
    return hr;
}

HRESULT vulkan_table_take(struct adapter_device *device, struct vulkan_tables *tables, uint32_t addresses,
                          struct vulkan_table *out)
{
    const uint64_t bytes = base_align_up(addresses * sizeof(uint64_t), TABLE_ALIGN);
    HRESULT hr = table_memory(device, tables, BASE_MAX(bytes, VULKAN_UNIFORM_BYTES));
    if (FAILED(hr))
        return hr;
    struct adapter_memory *memory = tables->memories[tables->current];
    out->host = (uint64_t *)(void *)((char *)memory->host + tables->used);
    out->address = memory->address + tables->used;
    hr = vulkan_arena_uniform(device, vulkan_memory_from(memory), tables->used, &out->uniform);
    tables->used += bytes;
    return hr;
}

void vulkan_tables_reset(struct vulkan_tables *tables)
{
    tables->current = 0;
    tables->used = 0;
}

void vulkan_tables_finish(struct adapter_device *device, struct vulkan_tables *tables)
{
    for (uint32_t i = 0; i < tables->count; i++)
        vulkan_memory_destroy(device, tables->memories[i]);
    free(tables->memories);
    *tables = (struct vulkan_tables){ 0 };
}
