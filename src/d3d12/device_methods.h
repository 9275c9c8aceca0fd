/* SPDX-License-Identifier: Apache-2.0 */
/* ID3D12Device9's methods, by the file that has them; device.c makes the method table. */
#ifndef D3D12_DEVICE_METHODS_H
#define D3D12_DEVICE_METHODS_H

#include "d3d12/objects.h"

#define D3D_DEVICE ID3D12Device9 *iface

/* device_features.c */
HRESULT d3d_device_CheckFeatureSupport(D3D_DEVICE, D3D12_FEATURE feature, void *data, UINT size);

/* device_hints.c */
HRESULT d3d_device_SetStablePowerState(D3D_DEVICE, BOOL enable);
HRESULT d3d_device_SetBackgroundProcessingMode(D3D_DEVICE, D3D12_BACKGROUND_PROCESSING_MODE mode,
                                               D3D12_MEASUREMENTS_ACTION action, HANDLE event, BOOL *more);
HRESULT d3d_device_ShaderCacheControl(D3D_DEVICE, D3D12_SHADER_CACHE_KIND_FLAGS kinds,
                                      D3D12_SHADER_CACHE_CONTROL_FLAGS control);

/* device_residency.c */
HRESULT d3d_device_MakeResident(D3D_DEVICE, UINT count, ID3D12Pageable *const *objects);
HRESULT d3d_device_Evict(D3D_DEVICE, UINT count, ID3D12Pageable *const *objects);
HRESULT d3d_device_SetResidencyPriority(D3D_DEVICE, UINT count, ID3D12Pageable *const *objects,
                                        const D3D12_RESIDENCY_PRIORITY *priorities);
HRESULT d3d_device_EnqueueMakeResident(D3D_DEVICE, D3D12_RESIDENCY_FLAGS flags, UINT count,
                                       ID3D12Pageable *const *objects, ID3D12Fence *fence, UINT64 value);

/* command_queue.c, command_allocator.c, command_list.c */
HRESULT d3d_device_CreateCommandQueue(D3D_DEVICE, const D3D12_COMMAND_QUEUE_DESC *desc, REFIID riid, void **out);
HRESULT d3d_device_CreateCommandQueue1(D3D_DEVICE, const D3D12_COMMAND_QUEUE_DESC *desc, REFIID creator, REFIID riid,
                                       void **out);
HRESULT d3d_device_CreateCommandAllocator(D3D_DEVICE, D3D12_COMMAND_LIST_TYPE type, REFIID riid, void **out);
HRESULT d3d_device_CreateCommandList(D3D_DEVICE, UINT node_mask, D3D12_COMMAND_LIST_TYPE type,
                                     ID3D12CommandAllocator *allocator, ID3D12PipelineState *state, REFIID riid,
                                     void **out);
HRESULT d3d_device_CreateCommandList1(D3D_DEVICE, UINT node_mask, D3D12_COMMAND_LIST_TYPE type,
                                      D3D12_COMMAND_LIST_FLAGS flags, REFIID riid, void **out);

/* fence.c, query_heap.c */
HRESULT d3d_device_CreateFence(D3D_DEVICE, UINT64 value, D3D12_FENCE_FLAGS flags, REFIID riid, void **out);
HRESULT d3d_device_SetEventOnMultipleFenceCompletion(D3D_DEVICE, ID3D12Fence *const *fences, const UINT64 *values,
                                                     UINT count, D3D12_MULTIPLE_FENCE_WAIT_FLAGS flags, HANDLE event);
HRESULT d3d_device_CreateQueryHeap(D3D_DEVICE, const D3D12_QUERY_HEAP_DESC *desc, REFIID riid, void **out);

/* descriptor_heap.c, views.c */
HRESULT d3d_device_CreateDescriptorHeap(D3D_DEVICE, const D3D12_DESCRIPTOR_HEAP_DESC *desc, REFIID riid, void **out);
UINT d3d_device_GetDescriptorHandleIncrementSize(D3D_DEVICE, D3D12_DESCRIPTOR_HEAP_TYPE type);
void d3d_device_CreateConstantBufferView(D3D_DEVICE, const D3D12_CONSTANT_BUFFER_VIEW_DESC *desc,
                                         D3D12_CPU_DESCRIPTOR_HANDLE to);
void d3d_device_CreateShaderResourceView(D3D_DEVICE, ID3D12Resource *resource,
                                         const D3D12_SHADER_RESOURCE_VIEW_DESC *desc, D3D12_CPU_DESCRIPTOR_HANDLE to);
void d3d_device_CreateUnorderedAccessView(D3D_DEVICE, ID3D12Resource *resource, ID3D12Resource *counter,
                                          const D3D12_UNORDERED_ACCESS_VIEW_DESC *desc, D3D12_CPU_DESCRIPTOR_HANDLE to);
void d3d_device_CopyDescriptors(D3D_DEVICE, UINT to_count, const D3D12_CPU_DESCRIPTOR_HANDLE *to_starts,
                                const UINT *to_sizes, UINT from_count, const D3D12_CPU_DESCRIPTOR_HANDLE *from_starts,
                                const UINT *from_sizes, D3D12_DESCRIPTOR_HEAP_TYPE type);
void d3d_device_CopyDescriptorsSimple(D3D_DEVICE, UINT count, D3D12_CPU_DESCRIPTOR_HANDLE to,
                                      D3D12_CPU_DESCRIPTOR_HANDLE from, D3D12_DESCRIPTOR_HEAP_TYPE type);

/* heap.c */
COM_STRUCT(D3D12_HEAP_PROPERTIES)
d3d_device_GetCustomHeapProperties(D3D_DEVICE COM_RESULT(D3D12_HEAP_PROPERTIES), UINT node_mask, D3D12_HEAP_TYPE type);
HRESULT d3d_device_CreateHeap(D3D_DEVICE, const D3D12_HEAP_DESC *desc, REFIID riid, void **out);
HRESULT d3d_device_CreateHeap1(D3D_DEVICE, const D3D12_HEAP_DESC *desc, ID3D12ProtectedResourceSession *session,
                               REFIID riid, void **out);

/* resource.c */
#define D3D_COMMITTED(DESC)                                                                                            \
    D3D_DEVICE, const D3D12_HEAP_PROPERTIES *properties, D3D12_HEAP_FLAGS flags, const DESC *desc,                     \
        D3D12_RESOURCE_STATES state, const D3D12_CLEAR_VALUE *clear
#define D3D_PLACED(DESC)                                                                                               \
    D3D_DEVICE, ID3D12Heap *heap, UINT64 offset, const DESC *desc, D3D12_RESOURCE_STATES state,                        \
        const D3D12_CLEAR_VALUE *clear, REFIID riid, void **out
HRESULT d3d_device_CreateCommittedResource(D3D_COMMITTED(D3D12_RESOURCE_DESC), REFIID riid, void **out);
HRESULT d3d_device_CreateCommittedResource1(D3D_COMMITTED(D3D12_RESOURCE_DESC), ID3D12ProtectedResourceSession *session,
                                            REFIID riid, void **out);
HRESULT d3d_device_CreateCommittedResource2(D3D_COMMITTED(D3D12_RESOURCE_DESC1),
                                            ID3D12ProtectedResourceSession *session, REFIID riid, void **out);
HRESULT d3d_device_CreatePlacedResource(D3D_PLACED(D3D12_RESOURCE_DESC));
HRESULT d3d_device_CreatePlacedResource1(D3D_PLACED(D3D12_RESOURCE_DESC1));

HRESULT d3d_device_CreateReservedResource(D3D_DEVICE, const D3D12_RESOURCE_DESC *desc, D3D12_RESOURCE_STATES state,
                                          const D3D12_CLEAR_VALUE *clear, REFIID riid, void **out);
HRESULT d3d_device_CreateReservedResource1(D3D_DEVICE, const D3D12_RESOURCE_DESC *desc, D3D12_RESOURCE_STATES state,
                                           const D3D12_CLEAR_VALUE *clear, ID3D12ProtectedResourceSession *session,
                                           REFIID riid, void **out);

/* tiles.c */
void d3d_device_GetResourceTiling(D3D_DEVICE, ID3D12Resource *resource, UINT *tiles, D3D12_PACKED_MIP_INFO *packed,
                                  D3D12_TILE_SHAPE *shape, UINT *tilings, UINT first, D3D12_SUBRESOURCE_TILING *out);

/* resource_info.c */
D3D12_RESOURCE_DESC d3d_resource_desc0(const D3D12_RESOURCE_DESC1 *desc);
COM_STRUCT(D3D12_RESOURCE_ALLOCATION_INFO)
d3d_device_GetResourceAllocationInfo(D3D_DEVICE COM_RESULT(D3D12_RESOURCE_ALLOCATION_INFO), UINT mask, UINT count,
                                     const D3D12_RESOURCE_DESC *descs);
COM_STRUCT(D3D12_RESOURCE_ALLOCATION_INFO)
d3d_device_GetResourceAllocationInfo1(D3D_DEVICE COM_RESULT(D3D12_RESOURCE_ALLOCATION_INFO), UINT mask, UINT count,
                                      const D3D12_RESOURCE_DESC *descs, D3D12_RESOURCE_ALLOCATION_INFO1 *infos);
COM_STRUCT(D3D12_RESOURCE_ALLOCATION_INFO)
d3d_device_GetResourceAllocationInfo2(D3D_DEVICE COM_RESULT(D3D12_RESOURCE_ALLOCATION_INFO), UINT mask, UINT count,
                                      const D3D12_RESOURCE_DESC1 *descs, D3D12_RESOURCE_ALLOCATION_INFO1 *infos);
void d3d_device_GetCopyableFootprints(D3D_DEVICE, const D3D12_RESOURCE_DESC *desc, UINT first, UINT count, UINT64 base,
                                      D3D12_PLACED_SUBRESOURCE_FOOTPRINT *layouts, UINT *rows, UINT64 *row_sizes,
                                      UINT64 *total);
void d3d_device_GetCopyableFootprints1(D3D_DEVICE, const D3D12_RESOURCE_DESC1 *desc, UINT first, UINT count,
                                       UINT64 base, D3D12_PLACED_SUBRESOURCE_FOOTPRINT *layouts, UINT *rows,
                                       UINT64 *row_sizes, UINT64 *total);

/* root_signature.c */
HRESULT d3d_device_CreateRootSignature(D3D_DEVICE, UINT node_mask, const void *data, SIZE_T size, REFIID riid,
                                       void **out);

/* device_absent.c: methods that a compute-only runtime without shaders does not support. */
#define D3D_CREATE_ARGS REFIID riid, void **out
HRESULT d3d_device_CreateGraphicsPipelineState(D3D_DEVICE, const D3D12_GRAPHICS_PIPELINE_STATE_DESC *desc,
                                               D3D_CREATE_ARGS);
HRESULT d3d_device_CreateComputePipelineState(D3D_DEVICE, const D3D12_COMPUTE_PIPELINE_STATE_DESC *desc,
                                              D3D_CREATE_ARGS);
void d3d_device_CreateRenderTargetView(D3D_DEVICE, ID3D12Resource *resource, const D3D12_RENDER_TARGET_VIEW_DESC *desc,
                                       D3D12_CPU_DESCRIPTOR_HANDLE to);
void d3d_device_CreateDepthStencilView(D3D_DEVICE, ID3D12Resource *resource, const D3D12_DEPTH_STENCIL_VIEW_DESC *desc,
                                       D3D12_CPU_DESCRIPTOR_HANDLE to);
void d3d_device_CreateSampler(D3D_DEVICE, const D3D12_SAMPLER_DESC *desc, D3D12_CPU_DESCRIPTOR_HANDLE to);
HRESULT d3d_device_CreateSharedHandle(D3D_DEVICE, ID3D12DeviceChild *object, const SECURITY_ATTRIBUTES *attributes,
                                      DWORD access, LPCWSTR name, HANDLE *handle);
HRESULT d3d_device_OpenSharedHandle(D3D_DEVICE, HANDLE handle, D3D_CREATE_ARGS);
HRESULT d3d_device_OpenSharedHandleByName(D3D_DEVICE, LPCWSTR name, DWORD access, HANDLE *handle);
HRESULT d3d_device_CreateCommandSignature(D3D_DEVICE, const D3D12_COMMAND_SIGNATURE_DESC *desc,
                                          ID3D12RootSignature *signature, D3D_CREATE_ARGS);
HRESULT d3d_device_CreatePipelineLibrary(D3D_DEVICE, const void *blob, SIZE_T bytes, D3D_CREATE_ARGS);
HRESULT d3d_device_CreatePipelineState(D3D_DEVICE, const D3D12_PIPELINE_STATE_STREAM_DESC *desc, D3D_CREATE_ARGS);
HRESULT d3d_device_OpenExistingHeapFromAddress(D3D_DEVICE, const void *address, D3D_CREATE_ARGS);
HRESULT d3d_device_OpenExistingHeapFromFileMapping(D3D_DEVICE, HANDLE mapping, D3D_CREATE_ARGS);
HRESULT d3d_device_CreateProtectedResourceSession(D3D_DEVICE, const D3D12_PROTECTED_RESOURCE_SESSION_DESC *desc,
                                                  D3D_CREATE_ARGS);
HRESULT d3d_device_CreateProtectedResourceSession1(D3D_DEVICE, const D3D12_PROTECTED_RESOURCE_SESSION_DESC1 *desc,
                                                   D3D_CREATE_ARGS);
HRESULT d3d_device_CreateLifetimeTracker(D3D_DEVICE, ID3D12LifetimeOwner *owner, D3D_CREATE_ARGS);
HRESULT d3d_device_EnumerateMetaCommands(D3D_DEVICE, UINT *count, D3D12_META_COMMAND_DESC *descs);
HRESULT d3d_device_EnumerateMetaCommandParameters(D3D_DEVICE, REFGUID id, D3D12_META_COMMAND_PARAMETER_STAGE stage,
                                                  UINT *bytes, UINT *count, D3D12_META_COMMAND_PARAMETER_DESC *descs);
HRESULT d3d_device_CreateMetaCommand(D3D_DEVICE, REFGUID id, UINT node_mask, const void *data, SIZE_T bytes,
                                     D3D_CREATE_ARGS);
HRESULT d3d_device_CreateStateObject(D3D_DEVICE, const D3D12_STATE_OBJECT_DESC *desc, D3D_CREATE_ARGS);
HRESULT d3d_device_AddToStateObject(D3D_DEVICE, const D3D12_STATE_OBJECT_DESC *desc, ID3D12StateObject *object,
                                    D3D_CREATE_ARGS);
void d3d_device_GetRaytracingAccelerationStructurePrebuildInfo(
    D3D_DEVICE, const D3D12_BUILD_RAYTRACING_ACCELERATION_STRUCTURE_INPUTS *desc,
    D3D12_RAYTRACING_ACCELERATION_STRUCTURE_PREBUILD_INFO *info);
D3D12_DRIVER_MATCHING_IDENTIFIER_STATUS
d3d_device_CheckDriverMatchingIdentifier(D3D_DEVICE, D3D12_SERIALIZED_DATA_TYPE type,
                                         const D3D12_SERIALIZED_DATA_DRIVER_MATCHING_IDENTIFIER *identifier);
void d3d_device_CreateSamplerFeedbackUnorderedAccessView(D3D_DEVICE, ID3D12Resource *target, ID3D12Resource *feedback,
                                                         D3D12_CPU_DESCRIPTOR_HANDLE to);
HRESULT d3d_device_CreateShaderCacheSession(D3D_DEVICE, const D3D12_SHADER_CACHE_SESSION_DESC *desc, D3D_CREATE_ARGS);

#endif
