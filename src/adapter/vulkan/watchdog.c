/* SPDX-License-Identifier: Apache-2.0 */
/* Operating systems reset a GPU that is busy for seconds, which loses the device, and the desktop freezes before.
 * Therefore a batch is split into submissions of approximately at most device->watchdog_ns, and longer dispatches are
 * split into ranges of their workgroups. Durations are measured at the first execution, in submissions that are short
 * enough for slow devices. */
#include "adapter/vulkan/vulkan.h"

#include "base/arena.h"

#include <stdlib.h>

/* Costs ten submissions per second, and leaves a factor of twenty to the shortest limits that systems have. */
#define DEFAULT_NS UINT64_C(100000000)

/* Bytes per ns that every bus and memory reaches. */
#define COPY_RATE 2
#define FILL_RATE 16

#define PIECE_ALIGN UINT64_C(65536)

/* NVIDIA's driver moves fills of this size to the multiple of FILL_ALIGN before their start. */
#define FILL_LARGE UINT64_C(4096)
#define FILL_ALIGN 16u

uint64_t vulkan_watchdog_ns(const struct vulkan_physical *physical)
{
    const char *wanted = getenv("ANYDML_VULKAN_WATCHDOG"); /* d3d12/environment.c reports errors in it */
    uint64_t ns;
    if (wanted && adapter_watchdog_parse(wanted, &ns))
        return ns;
    return physical->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU ? 0 : DEFAULT_NS;
}

/* ---- parts of a record ---- */

HRESULT vulkan_record_open(struct adapter_device *device, struct vulkan_record *record)
{
    record->part = 0;
    record->spent_ns = 0;
    record->commands = record->parts[0];
    return vulkan_commands_begin(device, record->pool, record->commands);
}

static HRESULT allocate_part(struct adapter_device *device, struct vulkan_record *record)
{
    if (!base_array_reserve((void **)&record->parts, record->part_count, &record->part_capacity,
                            sizeof(*record->parts)))
        return E_OUTOFMEMORY;
    HRESULT hr = vulkan_commands_allocate(device, record->pool, &record->parts[record->part_count]);
    record->part_count += SUCCEEDED(hr);
    return hr;
}

static HRESULT next_part(struct adapter_device *device, struct vulkan_record *record)
{
    HRESULT hr = vulkan_hresult(vk.vkEndCommandBuffer(record->commands));
    if (SUCCEEDED(hr) && record->part + 1 == record->part_count)
        hr = allocate_part(device, record);
    if (FAILED(hr))
        return hr;
    record->commands = record->parts[++record->part];
    return vulkan_commands_begin(device, VK_NULL_HANDLE, record->commands);
}

HRESULT vulkan_record_spend(struct adapter_device *device, struct vulkan_record *record, uint64_t ns)
{
    if (!device->watchdog_ns || record->plain)
        return S_OK;
    const bool fits = !record->spent_ns || record->spent_ns + ns <= device->watchdog_ns;
    HRESULT hr = fits ? S_OK : next_part(device, record);
    record->spent_ns = fits ? record->spent_ns + ns : ns;
    return hr;
}

uint32_t vulkan_record_slices(const struct adapter_device *device, const struct vulkan_record *record, uint64_t ns,
                              uint32_t groups)
{
    if (!device->watchdog_ns || record->plain || ns <= device->watchdog_ns)
        return 1;
    return (uint32_t)BASE_MIN((ns - 1) / device->watchdog_ns + 1, groups);
}

/* ---- copies and fills ---- */

static uint64_t piece_bytes(const struct adapter_device *device, uint64_t bytes, uint32_t rate)
{
    if (!device->watchdog_ns || device->watchdog_ns >= bytes / rate)
        return bytes;
    return BASE_MAX(device->watchdog_ns * rate / PIECE_ALIGN, 1) * PIECE_ALIGN;
}

uint64_t vulkan_fill_bytes(const struct adapter_device *device, uint64_t bytes)
{
    return piece_bytes(device, bytes, FILL_RATE);
}

HRESULT vulkan_record_copy(struct adapter_device *device, struct vulkan_record *record,
                           const struct adapter_binding *to, const struct adapter_binding *from, uint64_t bytes)
{
    const uint64_t piece = record->plain ? bytes : piece_bytes(device, bytes, COPY_RATE);
    HRESULT hr = S_OK;
    for (uint64_t done = 0, n; SUCCEEDED(hr) && done < bytes; done += n) {
        struct adapter_binding target = *to, source = *from;
        n = BASE_MIN(bytes - done, piece);
        target.offset += done;
        source.offset += done;
        hr = vulkan_record_spend(device, record, n / COPY_RATE);
        if (SUCCEEDED(hr))
            vulkan_copy(record->commands, &target, &source, n);
    }
    return hr;
}

static void fill(VkCommandBuffer commands, VkBuffer to, uint64_t offset, uint64_t bytes, uint32_t value)
{
    const uint64_t head = bytes < FILL_LARGE ? 0 : (0 - offset) & (FILL_ALIGN - 1);
    if (head)
        vk.vkCmdFillBuffer(commands, to, offset, head, value);
    vk.vkCmdFillBuffer(commands, to, offset + head, bytes - head, value);
}

HRESULT vulkan_record_fill(struct adapter_device *device, struct vulkan_record *record,
                           const struct adapter_binding *to, uint64_t bytes, uint32_t value)
{
    const uint64_t piece = vulkan_fill_bytes(device, bytes);
    HRESULT hr = S_OK;
    for (uint64_t done = 0, n; SUCCEEDED(hr) && done < bytes; done += n) {
        n = BASE_MIN(bytes - done, piece);
        hr = vulkan_record_spend(device, record, n / FILL_RATE);
        if (SUCCEEDED(hr))
            fill(record->commands, vulkan_buffer_of(to), vulkan_offset_of(to) + done, n, value);
    }
    return hr;
}
