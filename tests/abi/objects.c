/* SPDX-License-Identifier: Apache-2.0 */
/* The C side of test_calls.cpp. */
#include "objects.h"

struct abi_call abi_last_call;

/* The first word is returned because a method that gives a large struct returns the address it got there. */
static void *record(int slot, void *first, void *second)
{
    abi_last_call = (struct abi_call){ slot, first, second };
    return first;
}

#define STUB(slot)                                                                                                     \
    static void *stub_##slot(void *first, void *second)                                                                \
    {                                                                                                                  \
        return record(slot, first, second);                                                                            \
    }
#include "stubs.def"
#undef STUB

#define STUB(slot) stub_##slot,
static void *(*const probe_table[])(void *, void *) = {
#include "stubs.def"
};
#undef STUB

static struct {
    void *(*const *table)(void *, void *);
} probe = { probe_table };

void *abi_probe(void)
{
    return &probe;
}

static ABI_STRUCT(DML_BINDING_PROPERTIES)
    operator_GetBindingProperties(IDMLCompiledOperator *This ABI_RESULT(DML_BINDING_PROPERTIES))
{
    (void)This;
    ABI_RETURN((DML_BINDING_PROPERTIES){ 7, 0x1122334455667788, 0x99aabbccddeeff00 });
}

IDMLCompiledOperator *abi_c_compiled_operator(void)
{
    static IDMLCompiledOperatorVtbl table = { .GetBindingProperties = operator_GetBindingProperties };
    static IDMLCompiledOperator object = { &table };
    return &object;
}

static ABI_STRUCT(D3D12_CPU_DESCRIPTOR_HANDLE)
    heap_GetCPU(ID3D12DescriptorHeap *This ABI_RESULT(D3D12_CPU_DESCRIPTOR_HANDLE))
{
    ABI_RETURN((D3D12_CPU_DESCRIPTOR_HANDLE){ (SIZE_T)This });
}

static ABI_STRUCT(D3D12_GPU_DESCRIPTOR_HANDLE)
    heap_GetGPU(ID3D12DescriptorHeap *This ABI_RESULT(D3D12_GPU_DESCRIPTOR_HANDLE))
{
    ABI_RETURN((D3D12_GPU_DESCRIPTOR_HANDLE){ (UINT64)(SIZE_T)This + 1 });
}

static ABI_STRUCT(D3D12_DESCRIPTOR_HEAP_DESC)
    heap_GetDesc(ID3D12DescriptorHeap *This ABI_RESULT(D3D12_DESCRIPTOR_HEAP_DESC))
{
    (void)This;
    ABI_RETURN((D3D12_DESCRIPTOR_HEAP_DESC){ D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, 12,
                                             D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE, 34 });
}

ID3D12DescriptorHeap *abi_c_descriptor_heap(void)
{
    static ID3D12DescriptorHeapVtbl table = { .GetDesc = heap_GetDesc,
                                              .GetCPUDescriptorHandleForHeapStart = heap_GetCPU,
                                              .GetGPUDescriptorHandleForHeapStart = heap_GetGPU };
    static ID3D12DescriptorHeap object = { &table };
    return &object;
}

static ABI_STRUCT(D3D12_RESOURCE_DESC) resource_GetDesc(ID3D12Resource *This ABI_RESULT(D3D12_RESOURCE_DESC))
{
    (void)This;
    ABI_RETURN((D3D12_RESOURCE_DESC){ .Dimension = D3D12_RESOURCE_DIMENSION_BUFFER,
                                      .Width = 0x123456789,
                                      .Flags = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS });
}

ID3D12Resource *abi_c_resource(void)
{
    static ID3D12ResourceVtbl table = { .GetDesc = resource_GetDesc };
    static ID3D12Resource object = { &table };
    return &object;
}

static ABI_STRUCT(D3D12_RESOURCE_ALLOCATION_INFO)
    device_GetResourceAllocationInfo(ID3D12Device *This ABI_RESULT(D3D12_RESOURCE_ALLOCATION_INFO), UINT mask,
                                     UINT count, const D3D12_RESOURCE_DESC *descs)
{
    (void)This;
    (void)descs;
    ABI_RETURN((D3D12_RESOURCE_ALLOCATION_INFO){ mask, count });
}

static ABI_STRUCT(D3D12_HEAP_PROPERTIES)
    device_GetCustomHeapProperties(ID3D12Device *This ABI_RESULT(D3D12_HEAP_PROPERTIES), UINT mask,
                                   D3D12_HEAP_TYPE type)
{
    (void)This;
    ABI_RETURN(
        (D3D12_HEAP_PROPERTIES){ type, D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, D3D12_MEMORY_POOL_L0, mask, mask + 1 });
}

static ABI_STRUCT(LUID) device_GetAdapterLuid(ID3D12Device *This ABI_RESULT(LUID))
{
    (void)This;
    ABI_RETURN((LUID){ 0xfffffffe, -3 });
}

ID3D12Device *abi_c_device(void)
{
    static ID3D12DeviceVtbl table = { .GetResourceAllocationInfo = device_GetResourceAllocationInfo,
                                      .GetCustomHeapProperties = device_GetCustomHeapProperties,
                                      .GetAdapterLuid = device_GetAdapterLuid };
    static ID3D12Device object = { &table };
    return &object;
}

static bool adapter_IsValid(IDXCoreAdapter *This)
{
    (void)This;
    return true;
}

static bool adapter_IsAttributeSupported(IDXCoreAdapter *This, REFGUID attribute)
{
    (void)This;
    return attribute->Data1 == DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE.Data1;
}

IDXCoreAdapter *abi_c_adapter(void)
{
    static IDXCoreAdapterVtbl table = { .IsValid = adapter_IsValid,
                                        .IsAttributeSupported = adapter_IsAttributeSupported };
    static IDXCoreAdapter object = { &table };
    return &object;
}

DML_BINDING_PROPERTIES abi_c_binding_properties(IDMLCompiledOperator *op)
{
    return IDMLCompiledOperator_GetBindingProperties(op);
}

D3D12_CPU_DESCRIPTOR_HANDLE abi_c_cpu_handle(ID3D12DescriptorHeap *heap)
{
    return ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(heap);
}

D3D12_GPU_DESCRIPTOR_HANDLE abi_c_gpu_handle(ID3D12DescriptorHeap *heap)
{
    return ID3D12DescriptorHeap_GetGPUDescriptorHandleForHeapStart(heap);
}

D3D12_DESCRIPTOR_HEAP_DESC abi_c_heap_desc(ID3D12DescriptorHeap *heap)
{
    return ID3D12DescriptorHeap_GetDesc(heap);
}

D3D12_RESOURCE_DESC abi_c_resource_desc(ID3D12Resource *resource)
{
    return ID3D12Resource_GetDesc(resource);
}

HRESULT abi_c_query(IDMLCompiledOperator *op, void **out)
{
    return IDMLCompiledOperator_QueryInterface(op, &IID_IUnknown, out);
}

ULONG abi_c_release(IDMLCompiledOperator *op)
{
    return IDMLCompiledOperator_Release(op);
}
