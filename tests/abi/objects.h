/* SPDX-License-Identifier: Apache-2.0 */
/* Objects made in C, and C functions that call objects made elsewhere. */
#ifndef ABI_OBJECTS_H
#define ABI_OBJECTS_H

#include <DirectML.h>
#include <anydml_dxcore.h>

/* Methods that return structs. On Windows they write them where a parameter after the object says, and return that.
 *     static ABI_STRUCT(LUID) device_GetAdapterLuid(ID3D12Device *This ABI_RESULT(LUID))
 *     {
 *         ABI_RETURN((LUID){ 1, 2 });
 *     } */
#ifdef _WIN32
#define ABI_STRUCT(type)      type *
#define ABI_RESULT(type)      , type *result
#define ABI_ONLY_RESULT(type) type *result
#define ABI_RETURN(...)       return *result = (__VA_ARGS__), result
#define ABI_GET(type, object, method, ...)                                                                             \
    [&] {                                                                                                              \
        type here = {};                                                                                                \
        type *there = (object)->method(&here, ##__VA_ARGS__);                                                          \
        abi_expect(there == &here, "the result of " #method, __FILE__, __LINE__);                                      \
        return here;                                                                                                   \
    }()
#else
#define ABI_STRUCT(type) type
#define ABI_RESULT(type)
#define ABI_ONLY_RESULT(type)
#define ABI_RETURN(...)                    return (__VA_ARGS__)
#define ABI_GET(type, object, method, ...) (object)->method(__VA_ARGS__)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What the last call through a probe saw: its slot and the first two words of its arguments. */
struct abi_call {
    int slot;
    void *first, *second;
};

extern struct abi_call abi_last_call;

/* An object whose every slot only records the call, whichever interface it is taken for. */
void *abi_probe(void);

/* Objects with the one or two methods that give structs or bool; the other slots are empty. */
IDMLCompiledOperator *abi_c_compiled_operator(void);
ID3D12DescriptorHeap *abi_c_descriptor_heap(void);
ID3D12Resource *abi_c_resource(void);
ID3D12Device *abi_c_device(void);
IDXCoreAdapter *abi_c_adapter(void);

/* Calls from C. */
DML_BINDING_PROPERTIES abi_c_binding_properties(IDMLCompiledOperator *op);
D3D12_CPU_DESCRIPTOR_HANDLE abi_c_cpu_handle(ID3D12DescriptorHeap *heap);
D3D12_GPU_DESCRIPTOR_HANDLE abi_c_gpu_handle(ID3D12DescriptorHeap *heap);
D3D12_DESCRIPTOR_HEAP_DESC abi_c_heap_desc(ID3D12DescriptorHeap *heap);
D3D12_RESOURCE_DESC abi_c_resource_desc(ID3D12Resource *resource);
HRESULT abi_c_query(IDMLCompiledOperator *op, void **out);
ULONG abi_c_release(IDMLCompiledOperator *op);

/* A device that counts what it is asked, for programs in the style of a C++ client; see fake_device.c. */
IDMLDevice *abi_fake_device(void);
unsigned abi_fake_alive(void);

#ifdef __cplusplus
}
#endif

#endif
