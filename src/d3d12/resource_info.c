/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of a resource description that do not require creating the resource. */
#include "d3d12/device_methods.h"

#define MAX_BUFFER_BYTES (1ull << 46)

const char *d3d_resource_desc_error(const D3D12_RESOURCE_DESC *desc)
{
    if (desc->Dimension != D3D12_RESOURCE_DIMENSION_BUFFER)
        return "Dimension must be BUFFER";
    if (desc->Alignment && desc->Alignment != D3D_PLACEMENT_ALIGNMENT)
        return "Alignment must be 0 or 65536";
    if (!desc->Width || desc->Width > MAX_BUFFER_BYTES)
        return "Width must be at least 1 and at most 2^46";
    if (desc->Height != 1 || desc->DepthOrArraySize != 1 || desc->MipLevels != 1)
        return "Height, DepthOrArraySize and MipLevels of a buffer must be 1";
    if (desc->Format != DXGI_FORMAT_UNKNOWN)
        return "Format of a buffer must be UNKNOWN";
    if (desc->SampleDesc.Count != 1 || desc->SampleDesc.Quality != 0)
        return "SampleDesc of a buffer must be {1, 0}";
    if (desc->Layout != D3D12_TEXTURE_LAYOUT_ROW_MAJOR)
        return "Layout of a buffer must be ROW_MAJOR";
    if (desc->Flags & D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER)
        return "resources across adapters are not supported";
    if (desc->Flags & ~D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS)
        return "Flags of a buffer may only be ALLOW_UNORDERED_ACCESS";
    return NULL;
}

const char *d3d_states_error(D3D12_RESOURCE_STATES states)
{
    const unsigned write =
        D3D12_RESOURCE_STATE_UNORDERED_ACCESS | D3D12_RESOURCE_STATE_STREAM_OUT | D3D12_RESOURCE_STATE_COPY_DEST;
    const unsigned read = D3D12_RESOURCE_STATE_GENERIC_READ;
    unsigned bits = (unsigned)states;
    if (bits == D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE)
        return "acceleration structures are not supported";
    if (bits & ~(write | read))
        return "has a bit that is not a state of a buffer";
    if (bits & write && (bits & read || (bits & write & (bits - 1))))
        return "a write state must not be combined with others";
    return NULL;
}

D3D12_RESOURCE_DESC d3d_resource_desc0(const D3D12_RESOURCE_DESC1 *desc)
{
    return (D3D12_RESOURCE_DESC){
        .Dimension = desc->Dimension,
        .Alignment = desc->Alignment,
        .Width = desc->Width,
        .Height = desc->Height,
        .DepthOrArraySize = desc->DepthOrArraySize,
        .MipLevels = desc->MipLevels,
        .Format = desc->Format,
        .SampleDesc = desc->SampleDesc,
        .Layout = desc->Layout,
        .Flags = desc->Flags,
    };
}

/* Appends one buffer to the layout; false when its description is not valid. */
static bool allocation_add(const D3D12_RESOURCE_DESC *desc, uint64_t *total, D3D12_RESOURCE_ALLOCATION_INFO1 *info)
{
    if (d3d_resource_desc_error(desc))
        return false;
    uint64_t size = base_align_up(desc->Width, D3D_PLACEMENT_ALIGNMENT);
    if (info)
        *info = (D3D12_RESOURCE_ALLOCATION_INFO1){ *total, D3D_PLACEMENT_ALIGNMENT, size };
    return base_add_u64(*total, size, total);
}

static D3D12_RESOURCE_ALLOCATION_INFO allocation_invalid(struct d3d_device *device, UINT mask, UINT index)
{
    d3d_fail_as(device, E_INVALIDARG,
                mask > 1 ? D3D12_MESSAGE_ID_INVALID_NODE_INDEX
                         : D3D12_MESSAGE_ID_GETRESOURCEALLOCATIONINFO_INVALIDRDESCS,
                "ID3D12Device::GetResourceAllocationInfo: node mask %u or description %u is invalid", mask, index);
    return (D3D12_RESOURCE_ALLOCATION_INFO){ UINT64_MAX, D3D_PLACEMENT_ALIGNMENT };
}

static D3D12_RESOURCE_ALLOCATION_INFO allocation_info(struct d3d_device *device, UINT mask, UINT count,
                                                      const D3D12_RESOURCE_DESC *descs,
                                                      D3D12_RESOURCE_ALLOCATION_INFO1 *infos)
{
    uint64_t total = 0;
    if (mask > 1 || (count && !descs))
        return allocation_invalid(device, mask, 0);
    for (UINT i = 0; i < count; i++) {
        if (!allocation_add(&descs[i], &total, infos ? &infos[i] : NULL))
            return allocation_invalid(device, mask, i);
    }
    return (D3D12_RESOURCE_ALLOCATION_INFO){ total, D3D_PLACEMENT_ALIGNMENT };
}

COM_STRUCT(D3D12_RESOURCE_ALLOCATION_INFO)
d3d_device_GetResourceAllocationInfo1(D3D_DEVICE COM_RESULT(D3D12_RESOURCE_ALLOCATION_INFO), UINT mask, UINT count,
                                      const D3D12_RESOURCE_DESC *descs, D3D12_RESOURCE_ALLOCATION_INFO1 *infos)
{
    COM_RETURN(allocation_info(d3d_device_from(iface), mask, count, descs, infos));
}

COM_STRUCT(D3D12_RESOURCE_ALLOCATION_INFO)
d3d_device_GetResourceAllocationInfo(D3D_DEVICE COM_RESULT(D3D12_RESOURCE_ALLOCATION_INFO), UINT mask, UINT count,
                                     const D3D12_RESOURCE_DESC *descs)
{
    COM_RETURN(allocation_info(d3d_device_from(iface), mask, count, descs, NULL));
}

COM_STRUCT(D3D12_RESOURCE_ALLOCATION_INFO)
d3d_device_GetResourceAllocationInfo2(D3D_DEVICE COM_RESULT(D3D12_RESOURCE_ALLOCATION_INFO), UINT mask, UINT count,
                                      const D3D12_RESOURCE_DESC1 *descs, D3D12_RESOURCE_ALLOCATION_INFO1 *infos)
{
    uint64_t total = 0;
    if (mask > 1 || (count && !descs))
        COM_RETURN(allocation_invalid(d3d_device_from(iface), mask, 0));
    for (UINT i = 0; i < count; i++) {
        D3D12_RESOURCE_DESC desc = d3d_resource_desc0(&descs[i]);
        if (!allocation_add(&desc, &total, infos ? &infos[i] : NULL))
            COM_RETURN(allocation_invalid(d3d_device_from(iface), mask, i));
    }
    COM_RETURN((D3D12_RESOURCE_ALLOCATION_INFO){ total, D3D_PLACEMENT_ALIGNMENT });
}

void d3d_device_GetCopyableFootprints(D3D_DEVICE, const D3D12_RESOURCE_DESC *desc, UINT first, UINT count, UINT64 base,
                                      D3D12_PLACED_SUBRESOURCE_FOOTPRINT *layouts, UINT *rows, UINT64 *row_sizes,
                                      UINT64 *total)
{
    bool valid = desc && !d3d_resource_desc_error(desc) && first <= 1 && count <= 1 - first;
    UINT filled = valid ? count : BASE_MIN(count, D3D12_REQ_SUBRESOURCES);
    if (!valid)
        d3d_fail_as(d3d_device_from(iface), E_INVALIDARG,
                    D3D12_MESSAGE_ID_GETCOPYABLEFOOTPRINTS_INVALIDSUBRESOURCERANGE,
                    "ID3D12Device::GetCopyableFootprints: subresources [%u, +%u) of an invalid description or beyond a "
                    "buffer's one",
                    first, count);
    if (total)
        *total = valid ? (count ? desc->Width : 0) : UINT64_MAX;
    for (UINT i = 0; i < filled; i++) {
        D3D12_SUBRESOURCE_FOOTPRINT footprint = { DXGI_FORMAT_UNKNOWN, 0, 1, 1, 0 };
        if (valid) {
            footprint.Width = (UINT)desc->Width;
            footprint.RowPitch = (UINT)base_align_up(desc->Width, D3D12_TEXTURE_DATA_PITCH_ALIGNMENT);
        }
        if (layouts && valid)
            layouts[i] = (D3D12_PLACED_SUBRESOURCE_FOOTPRINT){ base, footprint };
        else if (layouts)
            memset(&layouts[i], 0xff, sizeof(layouts[i]));
        if (rows)
            rows[i] = valid ? 1 : UINT32_MAX;
        if (row_sizes)
            row_sizes[i] = valid ? desc->Width : UINT64_MAX;
    }
}

void d3d_device_GetCopyableFootprints1(D3D_DEVICE, const D3D12_RESOURCE_DESC1 *desc, UINT first, UINT count,
                                       UINT64 base, D3D12_PLACED_SUBRESOURCE_FOOTPRINT *layouts, UINT *rows,
                                       UINT64 *row_sizes, UINT64 *total)
{
    D3D12_RESOURCE_DESC old = { 0 };
    if (desc)
        old = d3d_resource_desc0(desc);
    d3d_device_GetCopyableFootprints(iface, desc ? &old : NULL, first, count, base, layouts, rows, row_sizes, total);
}
