/* SPDX-License-Identifier: Apache-2.0 */
/* One source for Linux and Windows in C: methods of Direct3D 12 that return structs (GetDesc,
 * GetCPUDescriptorHandleForHeapStart and others) return through a pointer on Windows, which the macros of its d3d12.h
 * take as an additional argument. With this header they have the form of Linux on both:
 *
 *     D3D12_CPU_DESCRIPTOR_HANDLE handle = ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(heap);
 *
 * For the Windows headers of Debian's MinGW and directx-headers-dev (docs/wine.md); C++ is not affected.
 */
#ifndef ANYDML_BY_VALUE_H
#define ANYDML_BY_VALUE_H

#include <anydml_d3d12.h>

#if defined(_WIN32) && !defined(__cplusplus)

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

#define ANYDML_BY_VALUE(This, method, type, ...) (*(This)->lpVtbl->method(This, &(type){ 0 }, ##__VA_ARGS__))

#define ID3D12Resource_GetDesc(This)       ANYDML_BY_VALUE(This, GetDesc, D3D12_RESOURCE_DESC)
#define ID3D12Heap_GetDesc(This)           ANYDML_BY_VALUE(This, GetDesc, D3D12_HEAP_DESC)
#define ID3D12CommandQueue_GetDesc(This)   ANYDML_BY_VALUE(This, GetDesc, D3D12_COMMAND_QUEUE_DESC)
#define ID3D12DescriptorHeap_GetDesc(This) ANYDML_BY_VALUE(This, GetDesc, D3D12_DESCRIPTOR_HEAP_DESC)
#define ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(This)                                                  \
    ANYDML_BY_VALUE(This, GetCPUDescriptorHandleForHeapStart, D3D12_CPU_DESCRIPTOR_HANDLE)
#define ID3D12DescriptorHeap_GetGPUDescriptorHandleForHeapStart(This)                                                  \
    ANYDML_BY_VALUE(This, GetGPUDescriptorHandleForHeapStart, D3D12_GPU_DESCRIPTOR_HANDLE)
#define ID3D12Device_GetAdapterLuid(This) ANYDML_BY_VALUE(This, GetAdapterLuid, LUID)
#define ID3D12Device_GetCustomHeapProperties(This, mask, type)                                                         \
    ANYDML_BY_VALUE(This, GetCustomHeapProperties, D3D12_HEAP_PROPERTIES, mask, type)
#define ID3D12Device_GetResourceAllocationInfo(This, mask, count, descs)                                               \
    ANYDML_BY_VALUE(This, GetResourceAllocationInfo, D3D12_RESOURCE_ALLOCATION_INFO, mask, count, descs)
#define ID3D12Device4_GetResourceAllocationInfo1(This, mask, count, descs, infos)                                      \
    ANYDML_BY_VALUE(This, GetResourceAllocationInfo1, D3D12_RESOURCE_ALLOCATION_INFO, mask, count, descs, infos)

#endif
#endif
