/* SPDX-License-Identifier: Apache-2.0 */
/* Internal commands of the adapter, for which its callers wait: zeroing memory and writing memory that the host cannot
 * access. */
#include "adapter/vulkan/sparse.h"

/* Bytes that one command buffer writes. */
#define STAGING_BYTES (UINT64_C(16) << 20)

/* The command buffer that zeroes, and those that write, alternating: the host fills one while the device copies
 * another.
 */
#define OWN_ZERO (VULKAN_OWN_COMMANDS - 1)

HRESULT vulkan_own_create(struct adapter_device *device)
{
    HRESULT hr = vulkan_timeline_create(device, &device->own.writes.done);
    if (SUCCEEDED(hr))
        hr = vulkan_timeline_create(device, &device->own.others.done);
    if (SUCCEEDED(hr))
        hr = vulkan_timeline_create(device, &device->binds.progress.done);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < VULKAN_OWN_COMMANDS; i++) {
        struct vulkan_own_commands *own = &device->own.commands[i];
        /* Copy queues write while others compute; compute queues fill faster. */
        const bool copies = i != OWN_ZERO && device->queues[VULKAN_ROLE_COPY].count;
        own->progress = i == OWN_ZERO ? &device->own.others : &device->own.writes;
        own->slot = &device->queues[copies ? VULKAN_ROLE_COPY : VULKAN_ROLE_MAIN].slots[0];
        hr = vulkan_commands_create(device, device->physical->families[own->slot->role].index, &own->pool,
                                    &own->commands);
    }
    return hr;
}

void vulkan_own_destroy(struct adapter_device *device)
{
    for (uint32_t i = 0; i < VULKAN_OWN_COMMANDS; i++) {
        vk.vkDestroyCommandPool(device->handle, device->own.commands[i].pool, NULL);
        vulkan_memory_destroy(device, device->own.commands[i].staging);
    }
    vk.vkDestroySemaphore(device->handle, device->own.writes.done, NULL);
    vk.vkDestroySemaphore(device->handle, device->own.others.done, NULL);
    vk.vkDestroySemaphore(device->handle, device->binds.progress.done, NULL);
}

/* A command buffer, after its previous work is complete. */
static HRESULT own_begin(struct adapter_device *device, struct vulkan_own_commands *own)
{
    HRESULT hr = vulkan_timeline_wait(device, own->progress->done, own->value);
    return SUCCEEDED(hr) ? vulkan_commands_begin(device, own->pool, own->commands) : hr;
}

static HRESULT own_submit(struct vulkan_own_commands *own)
{
    HRESULT hr = vulkan_hresult(vk.vkEndCommandBuffer(own->commands));
    if (SUCCEEDED(hr))
        hr = vulkan_submit(own->slot, own->commands, NULL, 0,
                           (struct vulkan_moment){ own->progress->done, own->progress->value + 1 });
    if (SUCCEEDED(hr))
        own->value = ++own->progress->value;
    return hr;
}

/* For all that was submitted. */
static HRESULT wait_for(struct adapter_device *device, const struct vulkan_progress *progress)
{
    return vulkan_timeline_wait(device, progress->done, progress->value);
}

HRESULT vulkan_memory_zero(struct adapter_device *device, struct vulkan_memory *memory)
{
    struct vulkan_own_commands *own = &device->own.commands[OWN_ZERO];
    if (memory->base.host) {
        memset(memory->base.host, 0, memory->base.size);
        return S_OK;
    }
    pthread_mutex_lock(&device->own.lock);
    const uint64_t piece = vulkan_fill_bytes(device, memory->base.size);
    HRESULT hr = S_OK;
    for (uint64_t done = 0; SUCCEEDED(hr) && done < memory->base.size; done += piece) {
        hr = own_begin(device, own);
        if (FAILED(hr))
            break;
        vk.vkCmdFillBuffer(own->commands, memory->buffer, memory->offset + done,
                           BASE_MIN(memory->base.size - done, piece), 0);
        hr = own_submit(own);
    }
    if (SUCCEEDED(hr))
        hr = wait_for(device, &device->own.others);
    pthread_mutex_unlock(&device->own.lock);
    return hr;
}

/* A queue that binds, and is busy least. */
static struct vulkan_queue_slot *binding_slot(struct adapter_device *device)
{
    for (uint32_t role = VULKAN_ROLES; role-- > 0;)
        if (device->physical->families[role].sparse && device->queues[role].count)
            return &device->queues[role].slots[0];
    return NULL;
}

HRESULT vulkan_own_bind(struct adapter_device *device, const VkSparseBufferMemoryBindInfo *bind)
{
    struct vulkan_queue_slot *slot = binding_slot(device);
    if (!slot)
        return E_OUTOFMEMORY;
    pthread_mutex_lock(&device->binds.lock);
    struct vulkan_progress *progress = &device->binds.progress;
    const uint64_t end = progress->value + 1;
    const VkTimelineSemaphoreSubmitInfo values = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .signalSemaphoreValueCount = 1,
        .pSignalSemaphoreValues = &end,
    };
    const VkBindSparseInfo info = {
        .sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO,
        .pNext = &values,
        .bufferBindCount = 1,
        .pBufferBinds = bind,
        .signalSemaphoreCount = 1,
        .pSignalSemaphores = &progress->done,
    };
    vulkan_slot_enter(slot);
    HRESULT hr = vulkan_hresult(vk.vkQueueBindSparse(slot->handle, 1, &info, VK_NULL_HANDLE));
    vulkan_slot_leave(slot);
    progress->value += SUCCEEDED(hr);
    if (SUCCEEDED(hr))
        hr = wait_for(device, progress);
    pthread_mutex_unlock(&device->binds.lock);
    return hr;
}

HRESULT vulkan_own_open(struct adapter_device *device, VkCommandBuffer *out)
{
    struct vulkan_own_commands *own = &device->own.commands[OWN_ZERO];
    pthread_mutex_lock(&device->own.lock);
    HRESULT hr = own_begin(device, own);
    *out = own->commands;
    if (FAILED(hr))
        pthread_mutex_unlock(&device->own.lock);
    return hr;
}

HRESULT vulkan_own_close(struct adapter_device *device)
{
    HRESULT hr = own_submit(&device->own.commands[OWN_ZERO]);
    if (SUCCEEDED(hr))
        hr = wait_for(device, &device->own.others);
    pthread_mutex_unlock(&device->own.lock);
    return hr;
}

/* ---- writing ---- */

struct writer {
    struct adapter_device *device;
    struct adapter_memory *to;
    const struct adapter_writing *how;
    struct vulkan_own_commands *own; /* NULL: none is open */
    uint64_t filled;                 /* of its staging memory, */
    uint64_t room;                   /* of this size */
};

static HRESULT writer_flush(struct writer *writer)
{
    HRESULT hr = writer->own ? own_submit(writer->own) : S_OK;
    writer->own = NULL;
    return hr;
}

/* The command buffer that was submitted longest ago. */
static struct vulkan_own_commands *next_of(struct adapter_device *device)
{
    struct vulkan_own_commands *own = device->own.commands;
    for (uint32_t i = 1; i < OWN_ZERO; i++)
        own = device->own.commands[i].value < own->value ? &device->own.commands[i] : own;
    return own;
}

/* Leaves room in the staging memory of the command buffer that is open then. */
static HRESULT writer_need(struct writer *writer)
{
    if (writer->own && writer->filled < writer->room)
        return S_OK;
    HRESULT hr = writer_flush(writer);
    if (FAILED(hr))
        return hr;
    writer->own = next_of(writer->device);
    writer->filled = 0;
    hr = own_begin(writer->device, writer->own);
    if (SUCCEEDED(hr) && (!writer->own->staging || writer->own->staging->size < writer->room)) {
        vulkan_memory_destroy(writer->device, writer->own->staging);
        hr = vulkan_memory_create(writer->device, ADAPTER_MEMORY_UPLOAD, writer->room, &writer->own->staging);
    }
    if (FAILED(hr))
        writer->own = NULL;
    return hr;
}

static HRESULT writer_put(struct writer *writer, const struct adapter_write *write)
{
    HRESULT hr = S_OK;
    for (uint64_t done = 0, n; SUCCEEDED(hr) && done < write->bytes; done += n) {
        n = 0;
        hr = writer_need(writer);
        if (FAILED(hr))
            break;
        n = BASE_MIN(write->bytes - done, writer->room - writer->filled);
        struct adapter_memory *staging = writer->own->staging;
        const struct adapter_binding to = { writer->to, write->offset + done, n, 0 };
        const struct adapter_binding from = { staging, writer->filled, n, 0 };
        writer->how->copy((char *)staging->host + writer->filled, (const char *)write->data + done, n);
        vulkan_copy(writer->own->commands, &to, &from, n);
        writer->filled += n;
    }
    return hr;
}

HRESULT vulkan_memory_write(struct adapter_device *device, struct adapter_memory *memory,
                            const struct adapter_write *writes, uint32_t count, const struct adapter_writing *how)
{
    struct writer writer = { .device = device, .to = memory, .how = how };
    const uint64_t most = BASE_MIN(STAGING_BYTES, vulkan_memory_single(device->physical) - VULKAN_ALIGNMENT);
    HRESULT hr = S_OK, waited = S_OK;
    if (memory && memory->host) {
        for (uint32_t i = 0; i < count; i++)
            how->copy((char *)memory->host + writes[i].offset, writes[i].data, writes[i].bytes);
        return S_OK;
    }
    for (uint32_t i = 0; i < count; i++)
        writer.room = BASE_MIN(writer.room + BASE_MIN(writes[i].bytes, most), most);
    pthread_mutex_lock(&device->own.lock);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < count; i++)
        hr = writer_put(&writer, &writes[i]);
    if (SUCCEEDED(hr))
        hr = writer_flush(&writer);
    if (!how->unfinished || FAILED(hr))
        waited = wait_for(device, &device->own.writes);
    pthread_mutex_unlock(&device->own.lock);
    return FAILED(hr) ? hr : waited;
}
