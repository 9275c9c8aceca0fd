/* SPDX-License-Identifier: Apache-2.0 */
/* For callers of Direct3D 12: on Windows the macros of d3d12.h for methods that return structs take a pointer to the
 * result; behind this they give the result, as on Linux. */
#ifndef COM_BY_VALUE_H
#define COM_BY_VALUE_H

#include <anydml_d3d12.h>

#ifdef _WIN32

#undef ID3D12Resource_GetDesc
#undef ID3D12Heap_GetDesc
#undef ID3D12CommandQueue_GetDesc
#undef ID3D12DescriptorHeap_GetDesc
#undef ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart
#undef ID3D12DescriptorHeap_GetGPUDescriptorHandleForHeapStart
#undef ID3D12Device_GetAdapterLuid
#undef ID3D12Device_GetCustomHeapProperties
#undef ID3D12Device_GetResourceAllocationInfo
#undef ID3D12Device4_GetResourceAllocationInfo1

#define COM_BY_VALUE(This, method, type, ...) (*(This)->lpVtbl->method(This, &(type){ 0 }, ##__VA_ARGS__))

#define ID3D12Resource_GetDesc(This)       COM_BY_VALUE(This, GetDesc, D3D12_RESOURCE_DESC)
#define ID3D12Heap_GetDesc(This)           COM_BY_VALUE(This, GetDesc, D3D12_HEAP_DESC)
#define ID3D12CommandQueue_GetDesc(This)   COM_BY_VALUE(This, GetDesc, D3D12_COMMAND_QUEUE_DESC)
#define ID3D12DescriptorHeap_GetDesc(This) COM_BY_VALUE(This, GetDesc, D3D12_DESCRIPTOR_HEAP_DESC)
#define ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(This)                                                  \
    COM_BY_VALUE(This, GetCPUDescriptorHandleForHeapStart, D3D12_CPU_DESCRIPTOR_HANDLE)
#define ID3D12DescriptorHeap_GetGPUDescriptorHandleForHeapStart(This)                                                  \
    COM_BY_VALUE(This, GetGPUDescriptorHandleForHeapStart, D3D12_GPU_DESCRIPTOR_HANDLE)
#define ID3D12Device_GetAdapterLuid(This) COM_BY_VALUE(This, GetAdapterLuid, LUID)
#define ID3D12Device_GetCustomHeapProperties(This, mask, type)                                                         \
    COM_BY_VALUE(This, GetCustomHeapProperties, D3D12_HEAP_PROPERTIES, mask, type)
#define ID3D12Device_GetResourceAllocationInfo(This, mask, count, descs)                                               \
    COM_BY_VALUE(This, GetResourceAllocationInfo, D3D12_RESOURCE_ALLOCATION_INFO, mask, count, descs)
#define ID3D12Device4_GetResourceAllocationInfo1(This, mask, count, descs, infos)                                      \
    COM_BY_VALUE(This, GetResourceAllocationInfo1, D3D12_RESOURCE_ALLOCATION_INFO, mask, count, descs, infos)

#endif
#endif
