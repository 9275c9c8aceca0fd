/* SPDX-License-Identifier: Apache-2.0 */
/* Methods that return structs, as vkd3d-proton has them on Linux: they take the struct's address after the object.
 * Included before test headers, it makes their calls fit objects of the stand-in. */
#ifndef TESTS_FOREIGN_CALLS_H
#define TESTS_FOREIGN_CALLS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* of the test headers, which come later */
#endif

#include <anydml_d3d12.h>

#ifndef _WIN32
static inline D3D12_CPU_DESCRIPTOR_HANDLE foreign_cpu_start(ID3D12DescriptorHeap *heap)
{
    D3D12_CPU_DESCRIPTOR_HANDLE out;
    ((D3D12_CPU_DESCRIPTOR_HANDLE * (STDMETHODCALLTYPE *)(ID3D12DescriptorHeap *, D3D12_CPU_DESCRIPTOR_HANDLE *))(
         void *)heap->lpVtbl->GetCPUDescriptorHandleForHeapStart)(heap, &out);
    return out;
}

static inline D3D12_GPU_DESCRIPTOR_HANDLE foreign_gpu_start(ID3D12DescriptorHeap *heap)
{
    D3D12_GPU_DESCRIPTOR_HANDLE out;
    ((D3D12_GPU_DESCRIPTOR_HANDLE * (STDMETHODCALLTYPE *)(ID3D12DescriptorHeap *, D3D12_GPU_DESCRIPTOR_HANDLE *))(
         void *)heap->lpVtbl->GetGPUDescriptorHandleForHeapStart)(heap, &out);
    return out;
}

static inline D3D12_RESOURCE_DESC foreign_desc(ID3D12Resource *resource)
{
    D3D12_RESOURCE_DESC out;
    ((D3D12_RESOURCE_DESC *
      (STDMETHODCALLTYPE *)(ID3D12Resource *, D3D12_RESOURCE_DESC *))(void *)resource->lpVtbl->GetDesc)(resource, &out);
    return out;
}

#undef ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart
#undef ID3D12DescriptorHeap_GetGPUDescriptorHandleForHeapStart
#undef ID3D12Resource_GetDesc
#define ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(heap) foreign_cpu_start(heap)
#define ID3D12DescriptorHeap_GetGPUDescriptorHandleForHeapStart(heap) foreign_gpu_start(heap)
#define ID3D12Resource_GetDesc(resource)                              foreign_desc(resource)
#endif

#endif
