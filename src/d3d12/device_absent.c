/* SPDX-License-Identifier: Apache-2.0 */
/* The device's methods that a compute-only runtime without shaders does not have: E_NOTIMPL, *out = NULL, one message.
 */
#include "d3d12/device_methods.h"

static HRESULT absent(ID3D12Device9 *iface, const char *method, void **out)
{
    if (out)
        *out = NULL;
    return d3d_not_implemented(d3d_device_from(iface), method);
}

static HRESULT shaders_absent(ID3D12Device9 *iface, const char *method, void **out)
{
    if (out)
        *out = NULL;
    return d3d_fail(d3d_device_from(iface), E_NOTIMPL,
                    "%s: pipelines are not supported: this runtime executes the operators of its own DirectML, not the "
                    "shaders of applications or of another DirectML in the program's folder",
                    method);
}

HRESULT d3d_device_CreateGraphicsPipelineState(D3D_DEVICE, const D3D12_GRAPHICS_PIPELINE_STATE_DESC *desc,
                                               D3D_CREATE_ARGS)
{
    (void)desc, (void)riid;
    return shaders_absent(iface, "ID3D12Device::CreateGraphicsPipelineState", out);
}

HRESULT d3d_device_CreateComputePipelineState(D3D_DEVICE, const D3D12_COMPUTE_PIPELINE_STATE_DESC *desc,
                                              D3D_CREATE_ARGS)
{
    (void)desc, (void)riid;
    return shaders_absent(iface, "ID3D12Device::CreateComputePipelineState", out);
}

void d3d_device_CreateRenderTargetView(D3D_DEVICE, ID3D12Resource *resource, const D3D12_RENDER_TARGET_VIEW_DESC *desc,
                                       D3D12_CPU_DESCRIPTOR_HANDLE to)
{
    (void)resource, (void)desc, (void)to;
    absent(iface, "ID3D12Device::CreateRenderTargetView", NULL);
}

void d3d_device_CreateDepthStencilView(D3D_DEVICE, ID3D12Resource *resource, const D3D12_DEPTH_STENCIL_VIEW_DESC *desc,
                                       D3D12_CPU_DESCRIPTOR_HANDLE to)
{
    (void)resource, (void)desc, (void)to;
    absent(iface, "ID3D12Device::CreateDepthStencilView", NULL);
}

/* Sampler heaps exist so that programs can set them together with the other heap; no shader samples. */
void d3d_device_CreateSampler(D3D_DEVICE, const D3D12_SAMPLER_DESC *desc, D3D12_CPU_DESCRIPTOR_HANDLE to)
{
    (void)desc, (void)to;
    absent(iface, "ID3D12Device::CreateSampler", NULL);
}

HRESULT d3d_device_CreateSharedHandle(D3D_DEVICE, ID3D12DeviceChild *object, const SECURITY_ATTRIBUTES *attributes,
                                      DWORD access, LPCWSTR name, HANDLE *handle)
{
    (void)object, (void)attributes, (void)access, (void)name;
    return absent(iface, "ID3D12Device::CreateSharedHandle", handle);
}

HRESULT d3d_device_OpenSharedHandle(D3D_DEVICE, HANDLE handle, D3D_CREATE_ARGS)
{
    (void)handle, (void)riid;
    return absent(iface, "ID3D12Device::OpenSharedHandle", out);
}

HRESULT d3d_device_OpenSharedHandleByName(D3D_DEVICE, LPCWSTR name, DWORD access, HANDLE *handle)
{
    (void)name, (void)access;
    return absent(iface, "ID3D12Device::OpenSharedHandleByName", handle);
}

HRESULT d3d_device_CreateCommandSignature(D3D_DEVICE, const D3D12_COMMAND_SIGNATURE_DESC *desc,
                                          ID3D12RootSignature *signature, D3D_CREATE_ARGS)
{
    (void)desc, (void)signature, (void)riid;
    return absent(iface, "ID3D12Device::CreateCommandSignature", out);
}

HRESULT d3d_device_CreatePipelineLibrary(D3D_DEVICE, const void *blob, SIZE_T bytes, D3D_CREATE_ARGS)
{
    (void)blob, (void)bytes, (void)riid;
    return shaders_absent(iface, "ID3D12Device1::CreatePipelineLibrary", out);
}

HRESULT d3d_device_CreatePipelineState(D3D_DEVICE, const D3D12_PIPELINE_STATE_STREAM_DESC *desc, D3D_CREATE_ARGS)
{
    (void)desc, (void)riid;
    return shaders_absent(iface, "ID3D12Device2::CreatePipelineState", out);
}

HRESULT d3d_device_OpenExistingHeapFromAddress(D3D_DEVICE, const void *address, D3D_CREATE_ARGS)
{
    (void)address, (void)riid;
    return absent(iface, "ID3D12Device3::OpenExistingHeapFromAddress", out);
}

HRESULT d3d_device_OpenExistingHeapFromFileMapping(D3D_DEVICE, HANDLE mapping, D3D_CREATE_ARGS)
{
    (void)mapping, (void)riid;
    return absent(iface, "ID3D12Device3::OpenExistingHeapFromFileMapping", out);
}

HRESULT d3d_device_CreateProtectedResourceSession(D3D_DEVICE, const D3D12_PROTECTED_RESOURCE_SESSION_DESC *desc,
                                                  D3D_CREATE_ARGS)
{
    (void)desc, (void)riid;
    return absent(iface, "ID3D12Device4::CreateProtectedResourceSession", out);
}

HRESULT d3d_device_CreateProtectedResourceSession1(D3D_DEVICE, const D3D12_PROTECTED_RESOURCE_SESSION_DESC1 *desc,
                                                   D3D_CREATE_ARGS)
{
    (void)desc, (void)riid;
    return absent(iface, "ID3D12Device7::CreateProtectedResourceSession1", out);
}

HRESULT d3d_device_CreateLifetimeTracker(D3D_DEVICE, ID3D12LifetimeOwner *owner, D3D_CREATE_ARGS)
{
    (void)owner, (void)riid;
    return absent(iface, "ID3D12Device5::CreateLifetimeTracker", out);
}

/* Enumerating meta commands succeeds and returns none. */
HRESULT d3d_device_EnumerateMetaCommands(D3D_DEVICE, UINT *count, D3D12_META_COMMAND_DESC *descs)
{
    (void)descs;
    if (!count)
        return d3d_fail_as(d3d_device_from(iface), E_INVALIDARG, D3D12_MESSAGE_ID_META_COMMAND_FAILED_ENUMERATION,
                           "ID3D12Device5::EnumerateMetaCommands: pNumMetaCommands is NULL");
    *count = 0;
    return S_OK;
}

HRESULT d3d_device_EnumerateMetaCommandParameters(D3D_DEVICE, REFGUID id, D3D12_META_COMMAND_PARAMETER_STAGE stage,
                                                  UINT *bytes, UINT *count, D3D12_META_COMMAND_PARAMETER_DESC *descs)
{
    (void)id, (void)stage, (void)bytes, (void)count, (void)descs;
    return d3d_fail_as(d3d_device_from(iface), E_INVALIDARG, D3D12_MESSAGE_ID_META_COMMAND_ID_INVALID,
                       "ID3D12Device5::EnumerateMetaCommandParameters: no meta commands are available");
}

HRESULT d3d_device_CreateMetaCommand(D3D_DEVICE, REFGUID id, UINT node_mask, const void *data, SIZE_T bytes,
                                     D3D_CREATE_ARGS)
{
    (void)id, (void)node_mask, (void)data, (void)bytes, (void)riid;
    return absent(iface, "ID3D12Device5::CreateMetaCommand", out);
}

HRESULT d3d_device_CreateStateObject(D3D_DEVICE, const D3D12_STATE_OBJECT_DESC *desc, D3D_CREATE_ARGS)
{
    (void)desc, (void)riid;
    return shaders_absent(iface, "ID3D12Device5::CreateStateObject", out);
}

HRESULT d3d_device_AddToStateObject(D3D_DEVICE, const D3D12_STATE_OBJECT_DESC *desc, ID3D12StateObject *object,
                                    D3D_CREATE_ARGS)
{
    (void)desc, (void)object, (void)riid;
    return shaders_absent(iface, "ID3D12Device7::AddToStateObject", out);
}

void d3d_device_GetRaytracingAccelerationStructurePrebuildInfo(
    D3D_DEVICE, const D3D12_BUILD_RAYTRACING_ACCELERATION_STRUCTURE_INPUTS *desc,
    D3D12_RAYTRACING_ACCELERATION_STRUCTURE_PREBUILD_INFO *info)
{
    (void)desc;
    if (info)
        memset(info, 0, sizeof(*info));
    absent(iface, "ID3D12Device5::GetRaytracingAccelerationStructurePrebuildInfo", NULL);
}

D3D12_DRIVER_MATCHING_IDENTIFIER_STATUS
d3d_device_CheckDriverMatchingIdentifier(D3D_DEVICE, D3D12_SERIALIZED_DATA_TYPE type,
                                         const D3D12_SERIALIZED_DATA_DRIVER_MATCHING_IDENTIFIER *identifier)
{
    (void)iface, (void)type, (void)identifier;
    return D3D12_DRIVER_MATCHING_IDENTIFIER_UNSUPPORTED_TYPE;
}

void d3d_device_CreateSamplerFeedbackUnorderedAccessView(D3D_DEVICE, ID3D12Resource *target, ID3D12Resource *feedback,
                                                         D3D12_CPU_DESCRIPTOR_HANDLE to)
{
    (void)target, (void)feedback, (void)to;
    absent(iface, "ID3D12Device8::CreateSamplerFeedbackUnorderedAccessView", NULL);
}

HRESULT d3d_device_CreateShaderCacheSession(D3D_DEVICE, const D3D12_SHADER_CACHE_SESSION_DESC *desc, D3D_CREATE_ARGS)
{
    (void)desc, (void)riid;
    return absent(iface, "ID3D12Device9::CreateShaderCacheSession", out);
}
