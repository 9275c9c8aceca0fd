/* SPDX-License-Identifier: Apache-2.0 */
/* ID3D12CommandAllocator. Recordings own the commands' memory; an allocator only tracks its recording list and its
 * number of resets. */
#include "d3d12/device_methods.h"

#include <stdlib.h>

static void command_allocator_destroy(struct com_object *object)
{
    com_finish(object);
    free(object);
}

static const IID *const command_allocator_iids[] = {
    &IID_ID3D12Object, &IID_ID3D12DeviceChild, &IID_ID3D12Pageable, &IID_ID3D12CommandAllocator, NULL,
};

static const struct com_class command_allocator_class = { "ID3D12CommandAllocator", command_allocator_iids,
                                                          command_allocator_destroy, NULL };

static HRESULT d3d_command_allocator_Reset(ID3D12CommandAllocator *iface)
{
    struct d3d_command_allocator *allocator = (struct d3d_command_allocator *)iface;
    struct d3d_device *device = d3d_parent(allocator);
    if (d3d_removed(device))
        return DXGI_ERROR_DEVICE_REMOVED;
    if (atomic_load(&allocator->user))
        return d3d_fail_as(device, E_FAIL, D3D12_MESSAGE_ID_COMMAND_ALLOCATOR_CANNOT_RESET,
                           "ID3D12CommandAllocator::Reset: a command list is recording with it");
    atomic_fetch_add(&allocator->generation, 1);
    return S_OK;
}

const ID3D12CommandAllocatorVtbl d3d_command_allocator_vtbl = {
    COM_CHILD_METHODS,
    .Reset = d3d_command_allocator_Reset,
};

HRESULT d3d_device_CreateCommandAllocator(D3D_DEVICE, D3D12_COMMAND_LIST_TYPE type, REFIID riid, void **out)
{
    struct d3d_device *device = d3d_device_from(iface);
    HRESULT hr = d3d_create_begin_strict(device, "ID3D12Device::CreateCommandAllocator", out);
    if (FAILED(hr))
        return hr;
    if (type != D3D12_COMMAND_LIST_TYPE_DIRECT && type != D3D12_COMMAND_LIST_TYPE_COMPUTE &&
        type != D3D12_COMMAND_LIST_TYPE_COPY)
        return d3d_fail(device, E_INVALIDARG,
                        "ID3D12Device::CreateCommandAllocator: type %d: must be DIRECT, COMPUTE or COPY", (int)type);
    struct d3d_command_allocator *allocator = calloc(1, sizeof(*allocator));
    if (!allocator)
        return E_OUTOFMEMORY;
    com_init(&allocator->base, &d3d_command_allocator_vtbl, &command_allocator_class, &device->base);
    allocator->type = type;
    return com_return(&allocator->base, riid, out);
}
