/* SPDX-License-Identifier: Apache-2.0 */
// Calls between C++ and C through every slot, and the methods whose results need more than a register.
#ifdef _WIN32
#include <initguid.h> // on Linux a library has the identifiers
#endif
#include <type_traits>
#include "check.h"
#include "objects.h"

// A zero of any parameter type; references refer to a static zero.
template <class T> T zero()
{
    if constexpr (std::is_reference_v<T>) {
        static std::remove_cv_t<std::remove_reference_t<T>> object = {};
        return object;
    } else {
        return T{};
    }
}

template <class R> constexpr bool returned_in_memory()
{
    if constexpr (std::is_class_v<R>)
        return sizeof(R) > 16;
    else
        return false;
}

// Calls the method on the probe, an object made in C, and compares the slot that was reached and its `this`.
template <class Interface, class Base, class R, class... Args>
void reach(R (Base::*method)(Args...), int slot, const char *what)
{
    Interface *object = static_cast<Interface *>(abi_probe());
    abi_last_call = { -1, nullptr, nullptr };
    (object->*method)(zero<Args>()...);
    EXPECT_NUMBER(what, abi_last_call.slot, slot);
    void *seen = returned_in_memory<R>() ? abi_last_call.second : abi_last_call.first;
    abi_expect(seen == object, what, __FILE__, __LINE__);
}

template <class Interface> void reach_unknown(const char *what)
{
    reach<Interface>(static_cast<HRESULT (IUnknown::*)(REFIID, void **)>(&IUnknown::QueryInterface), 0, what);
    reach<Interface>(&Interface::AddRef, 1, what);
    reach<Interface>(&Interface::Release, 2, what);
}

#define TABLE(interface_, slots)       reach_unknown<interface_>("IUnknown of " #interface_);
#define SLOT(interface_, method, slot) reach<interface_>(&interface_::method, slot, #interface_ "::" #method);

static void check_dml_slots()
{
#include "slots_dml.def"
}

static void check_d3d12_slots()
{
#include "slots_d3d12.def"
}

// DXCore's methods share their names with templates, so each is called with arguments that choose the virtual one.
#define REACHES(want, call)                                                                                            \
    do {                                                                                                               \
        abi_last_call = { -1, nullptr, nullptr };                                                                      \
        (void)(call);                                                                                                  \
        EXPECT_NUMBER(#call, abi_last_call.slot, want);                                                                \
    } while (0)

static void check_dxcore_slots()
{
    void *out = nullptr;
    const GUID guid = {};
    const LUID luid = {};
    auto *adapter = static_cast<IDXCoreAdapter *>(abi_probe());
    reach_unknown<IDXCoreAdapter>("IUnknown of IDXCoreAdapter");
    REACHES(3, adapter->IsValid());
    REACHES(4, adapter->IsAttributeSupported(guid));
    REACHES(5, adapter->IsPropertySupported(DXCoreAdapterProperty::IsHardware));
    REACHES(6, adapter->GetProperty(DXCoreAdapterProperty::IsHardware, 0, nullptr));
    REACHES(7, adapter->GetPropertySize(DXCoreAdapterProperty::IsHardware, nullptr));
    REACHES(8, adapter->IsQueryStateSupported(DXCoreAdapterState::AdapterMemoryBudget));
    REACHES(9, adapter->QueryState(DXCoreAdapterState::AdapterMemoryBudget, 0, nullptr, 0, nullptr));
    REACHES(10, adapter->IsSetStateSupported(DXCoreAdapterState::AdapterMemoryBudget));
    REACHES(11, adapter->SetState(DXCoreAdapterState::AdapterMemoryBudget, 0, nullptr, 0, nullptr));
    REACHES(12, adapter->GetFactory(guid, &out));
    auto *list = static_cast<IDXCoreAdapterList *>(abi_probe());
    reach_unknown<IDXCoreAdapterList>("IUnknown of IDXCoreAdapterList");
    REACHES(3, list->GetAdapter(0, guid, &out));
    REACHES(4, list->GetAdapterCount());
    REACHES(5, list->IsStale());
    REACHES(6, list->GetFactory(guid, &out));
    REACHES(7, list->Sort(0, nullptr));
    REACHES(8, list->IsAdapterPreferenceSupported(DXCoreAdapterPreference::Hardware));
    auto *factory = static_cast<IDXCoreAdapterFactory *>(abi_probe());
    reach_unknown<IDXCoreAdapterFactory>("IUnknown of IDXCoreAdapterFactory");
    REACHES(3, factory->CreateAdapterList(0, nullptr, guid, &out));
    REACHES(4, factory->GetAdapterByLuid(luid, guid, &out));
    REACHES(5, factory->IsNotificationTypeSupported(DXCoreNotificationType::AdapterListStale));
    REACHES(6, factory->RegisterEventNotification(nullptr, DXCoreNotificationType::AdapterListStale, nullptr, nullptr,
                                                  nullptr));
    REACHES(7, factory->UnregisterEventNotification(0));
}

static void check_c_results()
{
    DML_BINDING_PROPERTIES properties =
        ABI_GET(DML_BINDING_PROPERTIES, abi_c_compiled_operator(), GetBindingProperties);
    EXPECT_NUMBER("RequiredDescriptorCount", properties.RequiredDescriptorCount, 7);
    EXPECT_NUMBER("TemporaryResourceSize", properties.TemporaryResourceSize, 0x1122334455667788);
    EXPECT_NUMBER("PersistentResourceSize", properties.PersistentResourceSize, 0x99aabbccddeeff00);

    ID3D12DescriptorHeap *heap = abi_c_descriptor_heap();
    EXPECT(ABI_GET(D3D12_CPU_DESCRIPTOR_HANDLE, heap, GetCPUDescriptorHandleForHeapStart).ptr ==
           reinterpret_cast<SIZE_T>(heap));
    EXPECT(ABI_GET(D3D12_GPU_DESCRIPTOR_HANDLE, heap, GetGPUDescriptorHandleForHeapStart).ptr ==
           reinterpret_cast<SIZE_T>(heap) + 1);
    D3D12_DESCRIPTOR_HEAP_DESC heap_desc = ABI_GET(D3D12_DESCRIPTOR_HEAP_DESC, heap, GetDesc);
    EXPECT(heap_desc.NumDescriptors == 12 && heap_desc.NodeMask == 34);
    EXPECT(heap_desc.Flags == D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE);

    D3D12_RESOURCE_DESC resource = ABI_GET(D3D12_RESOURCE_DESC, abi_c_resource(), GetDesc);
    EXPECT(resource.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER && resource.Width == 0x123456789);
    EXPECT(resource.Flags == D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);

    ID3D12Device *device = abi_c_device();
    D3D12_RESOURCE_ALLOCATION_INFO info =
        ABI_GET(D3D12_RESOURCE_ALLOCATION_INFO, device, GetResourceAllocationInfo, 5, 6, nullptr);
    EXPECT(info.SizeInBytes == 5 && info.Alignment == 6);
    D3D12_HEAP_PROPERTIES heap_properties =
        ABI_GET(D3D12_HEAP_PROPERTIES, device, GetCustomHeapProperties, 8, D3D12_HEAP_TYPE_UPLOAD);
    EXPECT(heap_properties.Type == D3D12_HEAP_TYPE_UPLOAD && heap_properties.VisibleNodeMask == 9);
    LUID luid = ABI_GET(LUID, device, GetAdapterLuid);
    EXPECT(luid.LowPart == 0xfffffffe && luid.HighPart == -3);

    IDXCoreAdapter *adapter = abi_c_adapter();
    EXPECT(adapter->IsValid());
    EXPECT(adapter->IsAttributeSupported(DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE));
    EXPECT(!adapter->IsAttributeSupported(DXCORE_ADAPTER_ATTRIBUTE_D3D12_GRAPHICS));
}

// The methods that the objects below share; nothing calls most of them.
template <class Interface> struct Object : public Interface {
    ULONG refs = 1;
    HRESULT STDMETHODCALLTYPE QueryInterface(REFIID, void **out) override
    {
        *out = this;
        AddRef();
        return S_OK;
    }
    ULONG STDMETHODCALLTYPE AddRef() override
    {
        return ++refs;
    }
    ULONG STDMETHODCALLTYPE Release() override
    {
        return --refs;
    }
    HRESULT STDMETHODCALLTYPE GetPrivateData(REFGUID, UINT *, void *) override
    {
        return E_NOTIMPL;
    }
    HRESULT STDMETHODCALLTYPE SetPrivateData(REFGUID, UINT, const void *) override
    {
        return E_NOTIMPL;
    }
    HRESULT STDMETHODCALLTYPE SetName(LPCWSTR) override
    {
        return E_NOTIMPL;
    }
    HRESULT STDMETHODCALLTYPE GetDevice(REFIID, void **) override
    {
        return E_NOTIMPL;
    }
};

struct Operator final : public Object<IDMLCompiledOperator> {
    HRESULT STDMETHODCALLTYPE SetPrivateDataInterface(REFGUID, IUnknown *) override
    {
        return E_NOTIMPL;
    }
    ABI_STRUCT(DML_BINDING_PROPERTIES)
    STDMETHODCALLTYPE GetBindingProperties(ABI_ONLY_RESULT(DML_BINDING_PROPERTIES)) override
    {
        ABI_RETURN(DML_BINDING_PROPERTIES{ refs, 0x8877665544332211, 0x0102030405060708 });
    }
};

struct DescriptorHeap final : public Object<ID3D12DescriptorHeap> {
    HRESULT STDMETHODCALLTYPE SetPrivateDataInterface(REFGUID, const IUnknown *) override
    {
        return E_NOTIMPL;
    }
    ABI_STRUCT(D3D12_DESCRIPTOR_HEAP_DESC)
    STDMETHODCALLTYPE GetDesc(ABI_ONLY_RESULT(D3D12_DESCRIPTOR_HEAP_DESC)) override
    {
        ABI_RETURN(
            D3D12_DESCRIPTOR_HEAP_DESC{ D3D12_DESCRIPTOR_HEAP_TYPE_SAMPLER, 56, D3D12_DESCRIPTOR_HEAP_FLAG_NONE, 78 });
    }
    ABI_STRUCT(D3D12_CPU_DESCRIPTOR_HANDLE)
    STDMETHODCALLTYPE GetCPUDescriptorHandleForHeapStart(ABI_ONLY_RESULT(D3D12_CPU_DESCRIPTOR_HANDLE)) override
    {
        ABI_RETURN(D3D12_CPU_DESCRIPTOR_HANDLE{ 0xcafe000000000001 });
    }
    ABI_STRUCT(D3D12_GPU_DESCRIPTOR_HANDLE)
    STDMETHODCALLTYPE GetGPUDescriptorHandleForHeapStart(ABI_ONLY_RESULT(D3D12_GPU_DESCRIPTOR_HANDLE)) override
    {
        ABI_RETURN(D3D12_GPU_DESCRIPTOR_HANDLE{ 0xcafe000000000002 });
    }
};

struct Resource final : public Object<ID3D12Resource> {
    HRESULT STDMETHODCALLTYPE SetPrivateDataInterface(REFGUID, const IUnknown *) override
    {
        return E_NOTIMPL;
    }
    HRESULT STDMETHODCALLTYPE Map(UINT, const D3D12_RANGE *, void **) override
    {
        return E_NOTIMPL;
    }
    void STDMETHODCALLTYPE Unmap(UINT, const D3D12_RANGE *) override
    {
    }
    ABI_STRUCT(D3D12_RESOURCE_DESC) STDMETHODCALLTYPE GetDesc(ABI_ONLY_RESULT(D3D12_RESOURCE_DESC)) override
    {
        D3D12_RESOURCE_DESC desc = {};
        desc.Width = 0x987654321;
        desc.Flags = D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS;
        ABI_RETURN(desc);
    }
    D3D12_GPU_VIRTUAL_ADDRESS STDMETHODCALLTYPE GetGPUVirtualAddress() override
    {
        return 0;
    }
    HRESULT STDMETHODCALLTYPE WriteToSubresource(UINT, const D3D12_BOX *, const void *, UINT, UINT) override
    {
        return E_NOTIMPL;
    }
    HRESULT STDMETHODCALLTYPE ReadFromSubresource(void *, UINT, UINT, UINT, const D3D12_BOX *) override
    {
        return E_NOTIMPL;
    }
    HRESULT STDMETHODCALLTYPE GetHeapProperties(D3D12_HEAP_PROPERTIES *, D3D12_HEAP_FLAGS *) override
    {
        return E_NOTIMPL;
    }
};

static void check_cpp_results()
{
    Operator op;
    void *out = nullptr;
    EXPECT(abi_c_query(&op, &out) == S_OK && out == &op);
    DML_BINDING_PROPERTIES properties = abi_c_binding_properties(&op);
    EXPECT(properties.RequiredDescriptorCount == 2 && properties.TemporaryResourceSize == 0x8877665544332211);
    EXPECT(properties.PersistentResourceSize == 0x0102030405060708);
    EXPECT(abi_c_release(&op) == 1);

    DescriptorHeap heap;
    EXPECT(abi_c_cpu_handle(&heap).ptr == 0xcafe000000000001);
    EXPECT(abi_c_gpu_handle(&heap).ptr == 0xcafe000000000002);
    D3D12_DESCRIPTOR_HEAP_DESC heap_desc = abi_c_heap_desc(&heap);
    EXPECT(heap_desc.Type == D3D12_DESCRIPTOR_HEAP_TYPE_SAMPLER && heap_desc.NumDescriptors == 56);
    EXPECT(heap_desc.NodeMask == 78);

    Resource resource;
    D3D12_RESOURCE_DESC desc = abi_c_resource_desc(&resource);
    EXPECT(desc.Width == 0x987654321 && desc.Flags == D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS);
}

int main()
{
    check_dml_slots();
    check_d3d12_slots();
    check_dxcore_slots();
    check_c_results();
    check_cpp_results();
    return abi_result();
}
