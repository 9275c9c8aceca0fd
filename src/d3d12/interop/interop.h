/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between the functions of anydml_vulkan.h and the Vulkan adapter, in addition to struct adapter_ops.
 * `message` has ADAPTER_MESSAGE_BYTES bytes and receives the reason of a failure; it is empty if the HRESULT is
 * sufficient.
 */
#ifndef D3D12_INTEROP_H
#define D3D12_INTEROP_H

#include "d3d12/adapter.h"

#include <anydml_vulkan.h>

struct adapter_adoption {
    const struct anydml_vulkan_device *desc;
    const uint32_t *families; /* others whose command buffers use the adapter's memory; may contain QueueFamily */
    uint32_t family_count;
    bool trusts_queues; /* desc->Queues are those of the device, whatever CreateInfo says */
};

typedef HRESULT adapter_device_adopt(const struct adapter_adoption *adoption, struct adapter_info *out_info,
                                     struct adapter_device **out, char *message);
typedef HRESULT adapter_buffer_open(struct adapter_device *device, const struct anydml_vulkan_buffer *buffer,
                                    struct adapter_memory **out, char *message);
typedef HRESULT adapter_memory_open(struct adapter_device *device, const struct anydml_vulkan_memory *memory,
                                    struct adapter_memory **out, char *message);
typedef HRESULT adapter_memory_share(struct adapter_device *device, uint64_t size, struct adapter_memory **out,
                                     char *message);
typedef HRESULT adapter_memory_export(struct adapter_device *device, struct adapter_memory *memory,
                                      struct anydml_vulkan_memory *out, char *message);

/* Records into the application's command buffer. *io: see AnydmlDevice's RecordCommands; it may be set after a failure
 * as well. `edges`: the commands around order dispatches only, so that copies need barriers at both ends. */
typedef HRESULT adapter_record(struct adapter_device *device, VkCommandBuffer commands, bool edges,
                               struct adapter_dispatch *dispatch, const struct adapter_binding *bindings,
                               uint32_t count, struct adapter_recorded **io);
/* From now on, the commands that were recorded with `recorded` for this dispatch use these bindings. E_INVALIDARG: they
 * cannot. */
typedef HRESULT adapter_rebind(struct adapter_device *device, struct adapter_dispatch *dispatch,
                               const struct adapter_binding *bindings, uint32_t count,
                               struct adapter_recorded *recorded);

typedef HRESULT adapter_semaphore_wait(struct adapter_device *device, VkSemaphore semaphore, uint64_t value,
                                       uint64_t nanoseconds);

struct adapter_interop {
    /* out_info: of no list, so without `ops`, `luid`. adapter_ops' device_destroy leaves the application's objects. */
    adapter_device_adopt *device_adopt;
    /* Memory whose address is only a multiple of 16. adapter_ops' memory_destroy does not free memory of the
     * application. */
    adapter_buffer_open *buffer_open;
    adapter_memory_open *memory_open;
    /* A buffer of the application as memory, for recording; without a device, and believed. NULL: out of memory. */
    struct adapter_memory *(*buffer_wrap)(const struct anydml_vulkan_buffer *buffer);
    void (*buffer_unwrap)(struct adapter_memory *memory);
    adapter_memory_share *memory_share;
    adapter_memory_export *memory_export;
    struct anydml_vulkan_buffer (*buffer_get)(const struct adapter_binding *binding);
    /* Timeline semaphores. wait: S_FALSE after `nanoseconds`. signal: `value` is larger than the semaphore's.
     * queue_signal: executed after all previous work of the queue. */
    HRESULT (*semaphore_create)(struct adapter_device *device, uint64_t value, VkSemaphore *out);
    void (*semaphore_destroy)(struct adapter_device *device, VkSemaphore semaphore);
    HRESULT (*semaphore_value)(struct adapter_device *device, VkSemaphore semaphore, uint64_t *out);
    HRESULT (*semaphore_signal)(struct adapter_device *device, VkSemaphore semaphore, uint64_t value);
    adapter_semaphore_wait *semaphore_wait;
    HRESULT (*queue_signal)(struct adapter_queue *queue, VkSemaphore semaphore, uint64_t value);
    /* Is the device the application's? */
    bool (*adopted)(const struct adapter_device *device);
    adapter_record *record;
    adapter_rebind *rebind;
    void (*recorded_destroy)(struct adapter_device *device, struct adapter_recorded *recorded);
};

extern const struct adapter_interop adapter_vulkan_interop;

#endif
