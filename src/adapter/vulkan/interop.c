/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of the application (anydml_vulkan.h): its buffers and memory; and memory that is shared with other processes
 * and interfaces. */
#include "adapter/vulkan/sparse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BINDING_ALIGNMENT                                                                                              \
    16u /* DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT: the alignment that shaders assume for bindings                         \
         */

HRESULT vulkan_invalid(char *message, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(message, ADAPTER_MESSAGE_BYTES, format, args);
    va_end(args);
    return E_INVALIDARG;
}

/* ---- buffers and memory ---- */

struct foreign {
    struct vulkan_memory memory;
    bool own_buffer;       /* else the application's */
    VkDeviceMemory handle; /* NULL: the application's */
    uint64_t allocated;
    uint32_t heap;
    struct anydml_vulkan_memory exported; /* of memory that can be; else AllocationSize is 0 */
};

void vulkan_foreign_destroy(struct adapter_device *device, struct vulkan_memory *memory)
{
    struct foreign *foreign = container_of(memory, struct foreign, memory);
    if (foreign->own_buffer)
        vk.vkDestroyBuffer(device->handle, memory->buffer, NULL);
    vk.vkFreeMemory(device->handle, foreign->handle, NULL);
    if (foreign->allocated)
        atomic_fetch_sub(&device->used[foreign->heap], foreign->allocated);
    free(foreign);
}

static struct foreign *foreign_new(uint64_t size)
{
    struct foreign *foreign = calloc(1, sizeof(*foreign));
    if (foreign) {
        foreign->memory.foreign = true;
        foreign->memory.base.size = size;
    }
    return foreign;
}

/* The address of the bound buffer. */
static HRESULT find_address(struct adapter_device *device, struct foreign *foreign, char *message)
{
    VkBufferDeviceAddressInfo where = { .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                        .buffer = foreign->memory.buffer };
    const uint64_t start = vk.vkGetBufferDeviceAddress(device->handle, &where);
    if (!start)
        return vulkan_invalid(message, "the buffer does not have a device address");
    foreign->memory.base.address = start + foreign->memory.offset;
    if (foreign->memory.base.address % BINDING_ALIGNMENT)
        return vulkan_invalid(message, "the device address 0x%llx is not a multiple of %u",
                              (unsigned long long)foreign->memory.base.address, BINDING_ALIGNMENT);
    return S_OK;
}

static HRESULT foreign_return(struct adapter_device *device, struct foreign *foreign, HRESULT hr,
                              struct adapter_memory **out)
{
    if (FAILED(hr))
        vulkan_foreign_destroy(device, &foreign->memory);
    else
        *out = &foreign->memory.base;
    return hr;
}

static HRESULT check_range(uint64_t offset, uint64_t size, uint64_t whole, const char *what, char *message)
{
    if (!size || size % 4 || offset % 4 || offset > whole || size > whole - offset)
        return vulkan_invalid(message,
                              "Offset %llu and Size %llu: must be multiples of 4 and within the %llu bytes of %s",
                              (unsigned long long)offset, (unsigned long long)size, (unsigned long long)whole, what);
    return S_OK;
}

static HRESULT vulkan_buffer_open(struct adapter_device *device, const struct anydml_vulkan_buffer *buffer,
                                  struct adapter_memory **out, char *message)
{
    VkMemoryRequirements needs;
    if (!buffer || !buffer->Buffer)
        return vulkan_invalid(message, "%s is NULL", buffer ? "Buffer" : "buffer");
    vk.vkGetBufferMemoryRequirements(device->handle, buffer->Buffer, &needs);
    HRESULT hr = check_range(buffer->Offset, buffer->Size, needs.size, "Buffer", message);
    if (FAILED(hr))
        return hr;
    struct foreign *foreign = foreign_new(buffer->Size);
    if (!foreign)
        return E_OUTOFMEMORY;
    foreign->memory.buffer = buffer->Buffer;
    foreign->memory.offset = buffer->Offset;
    return foreign_return(device, foreign, find_address(device, foreign, message), out);
}

static struct adapter_memory *vulkan_buffer_wrap(const struct anydml_vulkan_buffer *buffer)
{
    struct foreign *foreign = foreign_new(buffer->Size);
    if (!foreign)
        return NULL;
    foreign->memory.buffer = buffer->Buffer;
    foreign->memory.offset = buffer->Offset;
    foreign->memory.base.address = buffer->Address;
    return &foreign->memory.base;
}

static void vulkan_buffer_unwrap(struct adapter_memory *memory)
{
    free(container_of(vulkan_memory_from(memory), struct foreign, memory));
}

static struct anydml_vulkan_buffer vulkan_buffer_get(const struct adapter_binding *binding)
{
    return (struct anydml_vulkan_buffer){ vulkan_buffer_of(binding), vulkan_offset_of(binding), binding->size,
                                          binding->memory->address + binding->offset };
}

/* A buffer of `size` bytes for memory of these handle types, and its memory requirements. */
static HRESULT create_buffer(struct adapter_device *device, struct foreign *foreign, uint64_t size,
                             VkExternalMemoryHandleTypeFlags types, VkMemoryRequirements *out_needs)
{
    VkExternalMemoryBufferCreateInfo external = { .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
                                                  .handleTypes = types };
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .pNext = types ? &external : NULL,
        .size = size,
        .usage = ANYDML_VULKAN_BUFFER_USAGE,
        .sharingMode = device->family_count > 1 ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
        .queueFamilyIndexCount = device->family_count > 1 ? device->family_count : 0,
        .pQueueFamilyIndices = device->families,
    };
    VkResult result = vk.vkCreateBuffer(device->handle, &info, NULL, &foreign->memory.buffer);
    if (result != VK_SUCCESS)
        return vulkan_hresult(result);
    foreign->own_buffer = true;
    vk.vkGetBufferMemoryRequirements(device->handle, foreign->memory.buffer, out_needs);
    return S_OK;
}

static HRESULT bind_at(struct adapter_device *device, struct foreign *foreign, VkDeviceMemory memory, uint64_t offset,
                       char *message)
{
    HRESULT hr = vulkan_hresult(vk.vkBindBufferMemory(device->handle, foreign->memory.buffer, memory, offset));
    return SUCCEEDED(hr) ? find_address(device, foreign, message) : hr;
}

/* The supported uses of opaque descriptors, in VkExternalMemoryFeatureFlagBits. */
static VkExternalMemoryFeatureFlags fd_features(struct adapter_device *device)
{
    VkPhysicalDeviceExternalBufferInfo info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO,
        .usage = ANYDML_VULKAN_BUFFER_USAGE,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
    };
    VkExternalBufferProperties properties = { .sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES };
    if (!device->get_memory_fd)
        return 0;
    vk.vkGetPhysicalDeviceExternalBufferProperties(device->physical->handle, &info, &properties);
    return properties.externalMemoryProperties.externalMemoryFeatures;
}

static HRESULT cannot_share(struct adapter_device *device, const char *verb, char *message)
{
    snprintf(message, ADAPTER_MESSAGE_BYTES, "\"%s\" %s", device->physical->properties.deviceName,
             device->get_memory_fd ? verb : "does not have VK_KHR_external_memory_fd enabled");
    return DXGI_ERROR_UNSUPPORTED;
}

static HRESULT allocate(struct adapter_device *device, struct foreign *foreign, const void *next, uint32_t type,
                        uint64_t bytes)
{
    struct vulkan_part part;
    HRESULT hr = vulkan_allocate(device, next, type, bytes, &part);
    if (FAILED(hr))
        return hr;
    foreign->handle = part.memory;
    foreign->allocated = bytes;
    foreign->heap = part.heap;
    return S_OK;
}

static HRESULT import_fd(struct adapter_device *device, struct foreign *foreign,
                         const struct anydml_vulkan_memory *memory)
{
    VkMemoryDedicatedAllocateInfo dedicated = { .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
                                                .buffer = foreign->memory.buffer };
    VkImportMemoryFdInfoKHR import = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
        .pNext = memory->Dedicated ? &dedicated : NULL,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
        .fd = dup(memory->Fd), /* the driver takes ownership; on failure the caller keeps it */
    };
    if (import.fd < 0)
        return E_INVALIDARG;
    HRESULT hr = allocate(device, foreign, &import, memory->MemoryType, memory->AllocationSize);
    if (FAILED(hr))
        close(import.fd);
    return hr;
}

static HRESULT check_memory(struct adapter_device *device, const struct anydml_vulkan_memory *memory, char *message)
{
    if (!memory)
        return vulkan_invalid(message, "memory is NULL");
    const uint32_t types = device->physical->memory.memoryTypeCount;
    if (memory->MemoryType >= types)
        return vulkan_invalid(message, "MemoryType is %u: the device has %u types", memory->MemoryType, types);
    if (!memory->Memory && memory->HandleTypes != VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT)
        return vulkan_invalid(message,
                              "HandleTypes is 0x%x: that of Fd must be VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT",
                              memory->HandleTypes);
    if (memory->Dedicated && memory->Offset)
        return vulkan_invalid(message, "Offset is %llu: must be 0 in a dedicated allocation",
                              (unsigned long long)memory->Offset);
    if (!memory->Memory && !(fd_features(device) & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT))
        return cannot_share(device, "cannot import buffers", message);
    return check_range(memory->Offset, memory->Size, memory->AllocationSize, "the allocation", message);
}

static HRESULT open_memory(struct adapter_device *device, struct foreign *foreign,
                           const struct anydml_vulkan_memory *memory, char *message)
{
    VkMemoryRequirements needs;
    HRESULT hr = create_buffer(device, foreign, memory->Size, memory->HandleTypes, &needs);
    if (FAILED(hr))
        return hr;
    if (!(needs.memoryTypeBits >> memory->MemoryType & 1))
        return vulkan_invalid(message, "MemoryType is %u: buffers are possible in those of mask 0x%x",
                              memory->MemoryType, needs.memoryTypeBits);
    if (memory->Offset % needs.alignment || memory->Offset + needs.size > memory->AllocationSize)
        return vulkan_invalid(
            message, "Offset %llu: must be a multiple of %llu, and %llu bytes from there must be within the allocation",
            (unsigned long long)memory->Offset, (unsigned long long)needs.alignment, (unsigned long long)needs.size);
    if (!memory->Memory)
        hr = import_fd(device, foreign, memory);
    if (FAILED(hr))
        return hr == E_OUTOFMEMORY
                   ? hr
                   : vulkan_invalid(message, "Fd %d is not memory of %llu bytes and type %u of this device", memory->Fd,
                                    (unsigned long long)memory->AllocationSize, memory->MemoryType);
    return bind_at(device, foreign, memory->Memory ? memory->Memory : foreign->handle, memory->Offset, message);
}

static HRESULT vulkan_memory_open(struct adapter_device *device, const struct anydml_vulkan_memory *memory,
                                  struct adapter_memory **out, char *message)
{
    HRESULT hr = check_memory(device, memory, message);
    if (FAILED(hr))
        return hr;
    struct foreign *foreign = foreign_new(memory->Size);
    if (!foreign)
        return E_OUTOFMEMORY;
    return foreign_return(device, foreign, open_memory(device, foreign, memory, message), out);
}

/* ---- export ---- */

/* Device memory rather than host memory. */
static uint32_t shared_type(const struct vulkan_physical *physical, uint32_t allowed)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = physical->memory.memoryTypeCount; i-- > 0;) {
        const VkMemoryPropertyFlags flags = physical->memory.memoryTypes[i].propertyFlags;
        if (!(allowed >> i & 1) || flags & VULKAN_STRANGE_MEMORY)
            continue;
        if (best == UINT32_MAX || flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)
            best = i;
    }
    return best;
}

static HRESULT share_memory(struct adapter_device *device, struct foreign *foreign, bool dedicated, char *message)
{
    const VkExternalMemoryHandleTypeFlags types = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    VkMemoryRequirements needs;
    HRESULT hr = create_buffer(device, foreign, foreign->memory.base.size, types, &needs);
    if (FAILED(hr))
        return hr;
    const uint32_t type = shared_type(device->physical, needs.memoryTypeBits);
    if (type == UINT32_MAX)
        return E_OUTOFMEMORY;
    VkMemoryDedicatedAllocateInfo buffer = { .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
                                             .buffer = foreign->memory.buffer };
    VkExportMemoryAllocateInfo export = { .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                          .pNext = dedicated ? &buffer : NULL,
                                          .handleTypes = types };
    hr = vulkan_memory_fits(device, device->physical->memory.memoryTypes[type].heapIndex, needs.size)
             ? allocate(device, foreign, &export, type, needs.size)
             : E_OUTOFMEMORY;
    if (SUCCEEDED(hr))
        hr = bind_at(device, foreign, foreign->handle, 0, message);
    if (SUCCEEDED(hr))
        hr = vulkan_memory_zero(device, &foreign->memory);
    foreign->exported =
        (struct anydml_vulkan_memory){ VK_NULL_HANDLE, -1,        needs.size, type,
                                       types,          dedicated, 0,          foreign->memory.base.size };
    return hr;
}

static HRESULT vulkan_memory_share(struct adapter_device *device, uint64_t size, struct adapter_memory **out,
                                   char *message)
{
    const VkExternalMemoryFeatureFlags features = fd_features(device);
    if (!size || size % 4)
        return vulkan_invalid(message, "size is %llu: must be a multiple of 4 and not 0", (unsigned long long)size);
    if (!(features & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT))
        return cannot_share(device, "cannot export buffers", message);
    struct foreign *foreign = foreign_new(size);
    if (!foreign)
        return E_OUTOFMEMORY;
    HRESULT hr = share_memory(device, foreign, features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT, message);
    return foreign_return(device, foreign, hr, out);
}

static HRESULT vulkan_memory_export(struct adapter_device *device, struct adapter_memory *memory,
                                    struct anydml_vulkan_memory *out, char *message)
{
    struct vulkan_memory *base = vulkan_memory_from(memory);
    struct foreign *foreign = base->foreign ? container_of(base, struct foreign, memory) : NULL;
    if (!foreign || !foreign->exported.AllocationSize)
        return vulkan_invalid(message, "resource was not created by AnydmlVulkanCreateSharedBuffer");
    VkMemoryGetFdInfoKHR info = { .sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                  .memory = foreign->handle,
                                  .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT };
    struct anydml_vulkan_memory result = foreign->exported;
    HRESULT hr = vulkan_hresult(device->get_memory_fd(device->handle, &info, &result.Fd));
    if (SUCCEEDED(hr))
        *out = result;
    return hr;
}

/* ---- the application's command buffers ---- */

static bool vulkan_adopted(const struct adapter_device *device)
{
    return device->adopted;
}

const struct adapter_interop adapter_vulkan_interop = {
    .device_adopt = vulkan_device_adopt,
    .buffer_open = vulkan_buffer_open,
    .buffer_wrap = vulkan_buffer_wrap,
    .buffer_unwrap = vulkan_buffer_unwrap,
    .memory_open = vulkan_memory_open,
    .memory_share = vulkan_memory_share,
    .memory_export = vulkan_memory_export,
    .buffer_get = vulkan_buffer_get,
    .semaphore_create = vulkan_semaphore_create,
    .semaphore_destroy = vulkan_semaphore_destroy,
    .semaphore_value = vulkan_semaphore_value,
    .semaphore_signal = vulkan_semaphore_signal,
    .semaphore_wait = vulkan_semaphore_wait,
    .queue_signal = vulkan_queue_signal,
    .adopted = vulkan_adopted,
    .record = vulkan_record,
    .rebind = vulkan_rebind,
    .recorded_destroy = vulkan_recorded_destroy,
};
