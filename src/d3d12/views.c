/* SPDX-License-Identifier: Apache-2.0 */
/* Writing, copying and reading descriptors. */
#include "d3d12/device_methods.h"

/* ---- formats ---- */

/* Formats a typed buffer view may have: channels of equal width. */
static const struct view_format {
    DXGI_FORMAT format;
    uint8_t channels, channel_bytes;
} view_formats[] = {
    { DXGI_FORMAT_R32G32B32A32_FLOAT, 4, 4 }, { DXGI_FORMAT_R32G32B32A32_UINT, 4, 4 },
    { DXGI_FORMAT_R32G32B32A32_SINT, 4, 4 },  { DXGI_FORMAT_R16G16B16A16_FLOAT, 4, 2 },
    { DXGI_FORMAT_R16G16B16A16_UNORM, 4, 2 }, { DXGI_FORMAT_R16G16B16A16_UINT, 4, 2 },
    { DXGI_FORMAT_R16G16B16A16_SNORM, 4, 2 }, { DXGI_FORMAT_R16G16B16A16_SINT, 4, 2 },
    { DXGI_FORMAT_R32G32_FLOAT, 2, 4 },       { DXGI_FORMAT_R32G32_UINT, 2, 4 },
    { DXGI_FORMAT_R32G32_SINT, 2, 4 },        { DXGI_FORMAT_R8G8B8A8_UNORM, 4, 1 },
    { DXGI_FORMAT_R8G8B8A8_UINT, 4, 1 },      { DXGI_FORMAT_R8G8B8A8_SNORM, 4, 1 },
    { DXGI_FORMAT_R8G8B8A8_SINT, 4, 1 },      { DXGI_FORMAT_R16G16_FLOAT, 2, 2 },
    { DXGI_FORMAT_R16G16_UNORM, 2, 2 },       { DXGI_FORMAT_R16G16_UINT, 2, 2 },
    { DXGI_FORMAT_R16G16_SNORM, 2, 2 },       { DXGI_FORMAT_R16G16_SINT, 2, 2 },
    { DXGI_FORMAT_R32_FLOAT, 1, 4 },          { DXGI_FORMAT_R32_UINT, 1, 4 },
    { DXGI_FORMAT_R32_SINT, 1, 4 },           { DXGI_FORMAT_R8G8_UNORM, 2, 1 },
    { DXGI_FORMAT_R8G8_UINT, 2, 1 },          { DXGI_FORMAT_R8G8_SNORM, 2, 1 },
    { DXGI_FORMAT_R8G8_SINT, 2, 1 },          { DXGI_FORMAT_R16_FLOAT, 1, 2 },
    { DXGI_FORMAT_R16_UNORM, 1, 2 },          { DXGI_FORMAT_R16_UINT, 1, 2 },
    { DXGI_FORMAT_R16_SNORM, 1, 2 },          { DXGI_FORMAT_R16_SINT, 1, 2 },
    { DXGI_FORMAT_R8_UNORM, 1, 1 },           { DXGI_FORMAT_R8_UINT, 1, 1 },
    { DXGI_FORMAT_R8_SNORM, 1, 1 },           { DXGI_FORMAT_R8_SINT, 1, 1 },
};

static const struct view_format *view_format_find(DXGI_FORMAT format)
{
    for (size_t i = 0; i < ARRAY_SIZE(view_formats); i++) {
        if (view_formats[i].format == format)
            return &view_formats[i];
    }
    return NULL;
}

bool d3d_view_clear_pattern(const struct d3d_descriptor *view, const UINT values[4], uint32_t *out)
{
    const struct view_format *format = view_format_find(view->format);
    uint8_t element[16] = { 0 }, *pattern = (uint8_t *)out;
    if (!format) { /* raw and structured views: the first value in every 32-bit word */
        *out = values[0];
        return true;
    }
    for (uint32_t i = 0; i < format->channels; i++)
        memcpy(element + i * format->channel_bytes, &values[i], format->channel_bytes); /* low bytes: little-endian */
    uint32_t bytes = (uint32_t)format->channels * format->channel_bytes;
    for (uint32_t i = 0; i < 4; i++)
        pattern[i] = element[i % bytes];
    for (uint32_t i = 4; i < bytes; i++) {
        if (element[i] != pattern[i % 4])
            return false;
    }
    return true;
}

/* ---- creating views ---- */

struct view_request {
    const char *method;
    D3D12_MESSAGE_ID invalid; /* of the message about the description */
    DXGI_FORMAT format;
    UINT64 first;
    UINT count, stride;
    bool raw;
};

/* NULL and the slot's content, or the rule that is broken. */
static const char *view_slot(const struct d3d_resource *resource, const struct view_request *view,
                             struct d3d_descriptor *out)
{
    const struct view_format *format = view_format_find(view->format);
    uint64_t stride = 4, offset = 0, size = 0;
    if (view->raw) {
        if (view->format != DXGI_FORMAT_R32_TYPELESS || view->stride)
            return "a RAW view needs Format R32_TYPELESS and StructureByteStride 0";
        if (view->first % 4)
            return "a RAW view must start at a multiple of 16 bytes";
    } else if (view->format == DXGI_FORMAT_UNKNOWN) {
        stride = view->stride;
        if (!stride || stride % 4 || stride > 2048)
            return "a structured view needs a StructureByteStride that is a multiple of 4 up to 2048";
    } else {
        if (!format || view->stride)
            return "Format is not valid for a typed buffer view, or StructureByteStride is not 0";
        stride = (uint64_t)format->channels * format->channel_bytes;
    }
    size = view->count * stride;
    if (!base_mul_u64(view->first, stride, &offset) || offset > resource->desc.Width ||
        size > resource->desc.Width - offset)
        return "FirstElement + NumElements is beyond the end of the buffer";
    *out = (struct d3d_descriptor){ resource->id, offset, size, view->format, (uint32_t)stride };
    return NULL;
}

static void slot_write(struct d3d_device *device, const char *method, D3D12_CPU_DESCRIPTOR_HANDLE to,
                       const struct d3d_descriptor *slot)
{
    uint32_t index;
    pthread_mutex_lock(&device->tables_lock);
    struct d3d_descriptor_heap *heap = d3d_descriptors_find(device, to.ptr, 1, false, &index);
    bool right = heap && heap->desc.Type == D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;
    if (right)
        heap->slots[index] = *slot;
    pthread_mutex_unlock(&device->tables_lock);
    if (!right)
        d3d_device_remove(device, DXGI_ERROR_INVALID_CALL, "%s: 0x%llx is not a CPU handle of a CBV_SRV_UAV heap",
                          method, (unsigned long long)to.ptr);
}

static void view_create(struct d3d_device *device, ID3D12Resource *iface, const struct view_request *view,
                        D3D12_CPU_DESCRIPTOR_HANDLE to)
{
    struct d3d_descriptor slot = { 0 };
    struct d3d_resource *resource = com_child(device, iface, &d3d_resource_vtbl);
    const char *error = NULL;
    if (resource)
        error = view_slot(resource, view, &slot);
    else if (iface)
        error = "pResource is not a resource of this device";
    if (error)
        d3d_fail_as(device, E_INVALIDARG, view->invalid,
                    "%s: {Format %d, FirstElement %llu, NumElements %u, StructureByteStride %u}: %s", view->method,
                    (int)view->format, (unsigned long long)view->first, view->count, view->stride, error);
    else
        slot_write(device, view->method, to, &slot);
}

void d3d_device_CreateUnorderedAccessView(D3D_DEVICE, ID3D12Resource *resource, ID3D12Resource *counter,
                                          const D3D12_UNORDERED_ACCESS_VIEW_DESC *desc, D3D12_CPU_DESCRIPTOR_HANDLE to)
{
    struct d3d_device *device = d3d_device_from(iface);
    struct d3d_resource *buffer = com_child(device, resource, &d3d_resource_vtbl);
    const char *method = "ID3D12Device::CreateUnorderedAccessView";
    if (d3d_removed(device))
        return;
    if (!desc || desc->ViewDimension != D3D12_UAV_DIMENSION_BUFFER || counter) {
        d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATEUNORDEREDACCESSVIEW_INVALIDDESC,
                    "%s: needs a description of a BUFFER view, without a counter", method);
        return;
    }
    if (buffer && !(buffer->desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS)) {
        d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATEUNORDEREDACCESSVIEW_INVALIDRESOURCE,
                    "%s: the resource lacks ALLOW_UNORDERED_ACCESS", method);
        return;
    }
    struct view_request view = {
        method,
        D3D12_MESSAGE_ID_CREATEUNORDEREDACCESSVIEW_INVALIDDESC,
        desc->Format,
        desc->Buffer.FirstElement,
        desc->Buffer.NumElements,
        desc->Buffer.StructureByteStride,
        desc->Buffer.Flags & D3D12_BUFFER_UAV_FLAG_RAW,
    };
    view_create(device, resource, &view, to);
}

void d3d_device_CreateShaderResourceView(D3D_DEVICE, ID3D12Resource *resource,
                                         const D3D12_SHADER_RESOURCE_VIEW_DESC *desc, D3D12_CPU_DESCRIPTOR_HANDLE to)
{
    struct d3d_device *device = d3d_device_from(iface);
    if (d3d_removed(device))
        return;
    if (!desc || desc->ViewDimension != D3D12_SRV_DIMENSION_BUFFER) {
        d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATESHADERRESOURCEVIEW_INVALIDDESC,
                    "ID3D12Device::CreateShaderResourceView: needs a description of a BUFFER view");
        return;
    }
    struct view_request view = {
        "ID3D12Device::CreateShaderResourceView",
        D3D12_MESSAGE_ID_CREATESHADERRESOURCEVIEW_INVALIDDESC,
        desc->Format,
        desc->Buffer.FirstElement,
        desc->Buffer.NumElements,
        desc->Buffer.StructureByteStride,
        desc->Buffer.Flags & D3D12_BUFFER_SRV_FLAG_RAW,
    };
    view_create(device, resource, &view, to);
}

void d3d_device_CreateConstantBufferView(D3D_DEVICE, const D3D12_CONSTANT_BUFFER_VIEW_DESC *desc,
                                         D3D12_CPU_DESCRIPTOR_HANDLE to)
{
    struct d3d_device *device = d3d_device_from(iface);
    const char *method = "ID3D12Device::CreateConstantBufferView";
    if (d3d_removed(device))
        return;
    if (!desc || desc->BufferLocation % 256 || desc->SizeInBytes % 256 || desc->SizeInBytes > 65536) {
        d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATE_CONSTANT_BUFFER_VIEW_INVALID_DESC,
                    "%s: needs an address and a size that are multiples of 256, the size at most 65536", method);
        return;
    }
    /* Without shaders, constant buffers are never read: the slot is cleared, so that it does not keep its old
     * content. */
    slot_write(device, method, to, &(struct d3d_descriptor){ 0 });
}

/* ---- copying ---- */

/* Under tables_lock. NULL or the rule that is broken. */
static const char *slots_copy(struct d3d_device *device, UINT count, uint64_t to, uint64_t from)
{
    uint32_t to_index, from_index;
    struct d3d_descriptor_heap *to_heap = d3d_descriptors_find(device, to, count, false, &to_index);
    struct d3d_descriptor_heap *from_heap = d3d_descriptors_find(device, from, count, false, &from_index);
    if (!to_heap || !from_heap)
        return "a range is not inside one heap";
    if (to_heap->desc.Type != from_heap->desc.Type)
        return "the heaps are of different types";
    if (from_heap->desc.Flags & D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE)
        return "the source heap is shader-visible";
    if (to_heap == from_heap && to_index < from_index + count && from_index < to_index + count)
        return "the ranges overlap";
    memcpy(to_heap->slots + to_index, from_heap->slots + from_index, count * sizeof(*to_heap->slots));
    return NULL;
}

static void copy_or_remove(struct d3d_device *device, UINT count, uint64_t to, uint64_t from)
{
    pthread_mutex_lock(&device->tables_lock);
    const char *error = slots_copy(device, count, to, from);
    pthread_mutex_unlock(&device->tables_lock);
    if (error)
        d3d_device_remove(device, DXGI_ERROR_INVALID_CALL,
                          "ID3D12Device::CopyDescriptors: %u descriptors from 0x%llx to 0x%llx: %s", count,
                          (unsigned long long)from, (unsigned long long)to, error);
}

void d3d_device_CopyDescriptorsSimple(D3D_DEVICE, UINT count, D3D12_CPU_DESCRIPTOR_HANDLE to,
                                      D3D12_CPU_DESCRIPTOR_HANDLE from, D3D12_DESCRIPTOR_HEAP_TYPE type)
{
    struct d3d_device *device = d3d_device_from(iface);
    (void)type; /* the heaps know theirs */
    if (count && !d3d_removed(device))
        copy_or_remove(device, count, to.ptr, from.ptr);
}

/* Two sequences of ranges, laid side by side. */
struct range_cursor {
    const D3D12_CPU_DESCRIPTOR_HANDLE *starts;
    const UINT *sizes; /* NULL: all 1 */
    UINT count, range, used;
};

static UINT cursor_left(struct range_cursor *cursor)
{
    while (cursor->range < cursor->count) {
        UINT size = cursor->sizes ? cursor->sizes[cursor->range] : 1;
        if (cursor->used < size)
            return size - cursor->used;
        cursor->range++;
        cursor->used = 0;
    }
    return 0;
}

static uint64_t cursor_handle(const struct range_cursor *cursor)
{
    return cursor->starts[cursor->range].ptr + (uint64_t)cursor->used * D3D_DESCRIPTOR_SIZE;
}

void d3d_device_CopyDescriptors(D3D_DEVICE, UINT to_count, const D3D12_CPU_DESCRIPTOR_HANDLE *to_starts,
                                const UINT *to_sizes, UINT from_count, const D3D12_CPU_DESCRIPTOR_HANDLE *from_starts,
                                const UINT *from_sizes, D3D12_DESCRIPTOR_HEAP_TYPE type)
{
    struct d3d_device *device = d3d_device_from(iface);
    struct range_cursor to = { to_starts, to_sizes, to_count, 0, 0 };
    struct range_cursor from = { from_starts, from_sizes, from_count, 0, 0 };
    (void)type;
    if ((to_count && !to_starts) || (from_count && !from_starts)) {
        d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_COPY_DESCRIPTORS_INVALID_RANGES,
                    "ID3D12Device::CopyDescriptors: an array of range starts is NULL");
        return;
    }
    while (!d3d_removed(device)) {
        UINT to_left = cursor_left(&to), from_left = cursor_left(&from);
        UINT count = BASE_MIN(to_left, from_left);
        if (!count) {
            if (to_left || from_left)
                d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_COPY_DESCRIPTORS_INVALID_RANGES,
                            "ID3D12Device::CopyDescriptors: the ranges differ in size by %u", to_left + from_left);
            return;
        }
        copy_or_remove(device, count, cursor_handle(&to), cursor_handle(&from));
        to.used += count;
        from.used += count;
    }
}
