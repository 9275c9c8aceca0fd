/* SPDX-License-Identifier: Apache-2.0 */
/* dxgi.dll: factories, adapters and their descriptions, which agree with DXCore and Direct3D 12. */
#include "api/api_test.h"

#include <anydml_dxcore.h>
#include <initguid.h>

#include <dxgi1_6.h>

static IDXGIFactory6 *factory_create(void)
{
    IDXGIFactory6 *factory = NULL;
    ok_hr(CreateDXGIFactory2(0, &IID_IDXGIFactory6, (void **)&factory), S_OK);
    need(factory);
    return factory;
}

static IDXGIAdapter4 *first_adapter(IDXGIFactory6 *factory)
{
    IDXGIAdapter4 *adapter = NULL;
    ok_hr(IDXGIFactory6_EnumAdapterByGpuPreference(factory, 0, DXGI_GPU_PREFERENCE_UNSPECIFIED, &IID_IDXGIAdapter4,
                                                   (void **)&adapter),
          S_OK);
    need(adapter);
    return adapter;
}

static bool same(LUID a, LUID b)
{
    return !memcmp(&a, &b, sizeof(a));
}

static void test_factory(void)
{
    static const IID *const versions[] = { &IID_IUnknown,      &IID_IDXGIObject,   &IID_IDXGIFactory,
                                           &IID_IDXGIFactory1, &IID_IDXGIFactory2, &IID_IDXGIFactory3,
                                           &IID_IDXGIFactory4, &IID_IDXGIFactory5, &IID_IDXGIFactory6 };
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        IUnknown *factory = NULL;
        ok_hr(CreateDXGIFactory(versions[i], (void **)&factory), S_OK);
        api_release(factory);
        ok_hr(CreateDXGIFactory1(versions[i], (void **)&factory), S_OK);
        api_release(factory);
        ok_hr(CreateDXGIFactory2(DXGI_CREATE_FACTORY_DEBUG, versions[i], (void **)&factory), S_OK);
        api_release(factory);
    }
    void *out = &out;
    ok_hr(CreateDXGIFactory1(&IID_IDXGIAdapter, &out), E_NOINTERFACE);
    ok(!out, "the output is not cleared");
    out = &out;
    ok_hr(CreateDXGIFactory2(2, &IID_IDXGIFactory, &out), DXGI_ERROR_INVALID_CALL);
    ok(!out, "the output is not cleared");
    ok_hr(CreateDXGIFactory(&IID_IDXGIFactory, NULL), DXGI_ERROR_INVALID_CALL);
    out = &out;
    ok_hr(DXGIGetDebugInterface1(0, &IID_IDXGIFactory, &out), E_NOINTERFACE);
    ok(!out, "the output is not cleared");
    IDXGIFactory6 *factory = factory_create();
    ok(IDXGIFactory6_IsCurrent(factory) && !IDXGIFactory6_GetCreationFlags(factory), "state of the factory");
    BOOL tearing = TRUE;
    ok_hr(IDXGIFactory6_CheckFeatureSupport(factory, DXGI_FEATURE_PRESENT_ALLOW_TEARING, &tearing, sizeof(tearing)),
          S_OK);
    ok(!tearing, "tearing");
    ok_hr(IDXGIFactory6_CheckFeatureSupport(factory, DXGI_FEATURE_PRESENT_ALLOW_TEARING, &tearing, 1),
          DXGI_ERROR_INVALID_CALL);
    IDXGISwapChain1 *chain = (void *)factory;
    ok_hr(IDXGIFactory6_CreateSwapChainForComposition(factory, (IUnknown *)factory, NULL, NULL, &chain),
          DXGI_ERROR_UNSUPPORTED);
    ok(!chain, "the output is not cleared");
    ok_hr(IDXGIFactory6_GetParent(factory, &IID_IUnknown, &out), E_NOINTERFACE);
    api_release(factory);
}

static void test_enumeration(IDXGIFactory6 *factory)
{
    void *out = factory;
    UINT count = 0;
    for (IDXGIAdapter1 *adapter; IDXGIFactory6_EnumAdapters1(factory, count, &adapter) == S_OK; count++) {
        DXGI_ADAPTER_DESC1 desc, again;
        IDXGIAdapter1 *by_luid = NULL;
        IDXGIAdapter *plain = NULL;
        ok_hr(IDXGIAdapter1_GetDesc1(adapter, &desc), S_OK);
        ok_hr(IDXGIFactory6_EnumAdapterByLuid(factory, desc.AdapterLuid, &IID_IDXGIAdapter1, (void **)&by_luid), S_OK);
        ok_hr(IDXGIAdapter1_GetDesc1(by_luid, &again), S_OK);
        ok(same(desc.AdapterLuid, again.AdapterLuid), "another adapter by LUID");
        ok_hr(IDXGIFactory6_EnumAdapters(factory, count, &plain), S_OK);
        api_release(plain);
        api_release(by_luid);
        api_release(adapter);
    }
    ok(count >= 1, "no adapters");
    ok_hr(IDXGIFactory6_EnumAdapters(factory, count, (IDXGIAdapter **)&out), DXGI_ERROR_NOT_FOUND);
    ok(!out, "the output is not cleared");
    ok_hr(IDXGIFactory6_EnumAdapters1(factory, 0, NULL), DXGI_ERROR_INVALID_CALL);
    for (int preference = 0; preference <= 2; preference++) {
        IDXGIAdapter4 *adapter = NULL;
        UINT at = 0;
        for (; IDXGIFactory6_EnumAdapterByGpuPreference(factory, at, (DXGI_GPU_PREFERENCE)preference,
                                                        &IID_IDXGIAdapter4, (void **)&adapter) == S_OK;
             at++)
            api_release(adapter);
        ok(at == count, "%u adapters by preference %d, %u in all", at, preference, count);
    }
    out = factory;
    ok_hr(IDXGIFactory6_EnumAdapterByGpuPreference(factory, 0, (DXGI_GPU_PREFERENCE)3, &IID_IDXGIAdapter4, &out),
          DXGI_ERROR_INVALID_CALL);
    ok(!out, "the output is not cleared");
    ok_hr(IDXGIFactory6_EnumAdapterByGpuPreference(factory, 0, 0, &IID_IDXGIFactory, &out), E_NOINTERFACE);
    LUID none = { 0 };
    ok_hr(IDXGIFactory6_EnumAdapterByLuid(factory, none, &IID_IDXGIAdapter, &out), DXGI_ERROR_NOT_FOUND);
    ok_hr(IDXGIFactory6_EnumAdapterByLuid(factory, none, &IID_IDXGIAdapter, NULL), DXGI_ERROR_INVALID_CALL);
    ok_hr(IDXGIFactory6_EnumWarpAdapter(factory, &IID_IDXGIAdapter, &out), DXGI_ERROR_NOT_FOUND);
}

static void test_adapter(IDXGIFactory6 *factory, IDXGIAdapter4 *adapter)
{
    DXGI_ADAPTER_DESC desc;
    DXGI_ADAPTER_DESC1 desc1;
    DXGI_ADAPTER_DESC2 desc2;
    DXGI_ADAPTER_DESC3 desc3;
    ok_hr(IDXGIAdapter4_GetDesc(adapter, &desc), S_OK);
    ok_hr(IDXGIAdapter4_GetDesc1(adapter, &desc1), S_OK);
    ok_hr(IDXGIAdapter4_GetDesc2(adapter, &desc2), S_OK);
    ok_hr(IDXGIAdapter4_GetDesc3(adapter, &desc3), S_OK);
    ok(!memcmp(&desc, &desc1, offsetof(DXGI_ADAPTER_DESC1, Flags)) && !memcmp(&desc1, &desc2, sizeof(desc1)) &&
           !memcmp(&desc2, &desc3, sizeof(desc2)),
       "descriptions differ");
    ok(desc.Description[0] && desc.VendorId && !(desc.VendorId == 0x1414 && desc.DeviceId == 0x8c), "hardware");
    ok(!desc1.Flags || !api_is("cpu"), "programs skip the cpu adapter when it is software");
    ok(desc.DedicatedVideoMemory + desc.SharedSystemMemory > 0, "no memory");
    ok_hr(IDXGIAdapter4_GetDesc(adapter, NULL), E_INVALIDARG);
    ok_hr(IDXGIAdapter4_GetDesc3(adapter, NULL), E_INVALIDARG);
    LARGE_INTEGER version = { .QuadPart = -1 };
    ok_hr(IDXGIAdapter4_CheckInterfaceSupport(adapter, &IID_IDXGIDevice, &version), S_OK);
    ok(version.QuadPart > 0, "driver version");
    ok_hr(IDXGIAdapter4_CheckInterfaceSupport(adapter, &IID_IDXGIAdapter, &version), DXGI_ERROR_UNSUPPORTED);
    DXGI_QUERY_VIDEO_MEMORY_INFO memory = { 0 };
    ok_hr(IDXGIAdapter4_QueryVideoMemoryInfo(adapter, 0, DXGI_MEMORY_SEGMENT_GROUP_LOCAL, &memory), S_OK);
    ok(memory.Budget > 0, "no budget");
    ok_hr(IDXGIAdapter4_QueryVideoMemoryInfo(adapter, 1, DXGI_MEMORY_SEGMENT_GROUP_LOCAL, &memory), E_INVALIDARG);
    ok_hr(IDXGIAdapter4_QueryVideoMemoryInfo(adapter, 0, (DXGI_MEMORY_SEGMENT_GROUP)2, &memory), E_INVALIDARG);
    ok_hr(IDXGIAdapter4_QueryVideoMemoryInfo(adapter, 0, DXGI_MEMORY_SEGMENT_GROUP_LOCAL, NULL), E_INVALIDARG);
    ok_hr(IDXGIAdapter4_SetVideoMemoryReservation(adapter, 0, DXGI_MEMORY_SEGMENT_GROUP_LOCAL, 0), S_OK);
    ok_hr(IDXGIAdapter4_SetVideoMemoryReservation(adapter, 0, DXGI_MEMORY_SEGMENT_GROUP_LOCAL, 1), E_INVALIDARG);
    IDXGIOutput *output = (void *)adapter;
    ok_hr(IDXGIAdapter4_EnumOutputs(adapter, 0, &output), DXGI_ERROR_NOT_FOUND);
    ok(!output, "the output is not cleared");
    IDXGIFactory6 *parent = NULL;
    ok_hr(IDXGIAdapter4_GetParent(adapter, &IID_IDXGIFactory6, (void **)&parent), S_OK);
    ok(parent == factory, "the adapter's parent is another factory");
    api_release(parent);
}

/* Three libraries with a list of adapters each. */
static void test_agreement(IDXGIAdapter4 *adapter)
{
    DXGI_ADAPTER_DESC desc = { 0 };
    ID3D12Device *device = NULL;
    IDXCoreAdapterFactory *core = NULL;
    IDXCoreAdapter *of_core = NULL;
    char name[256] = "", description[128] = "";
    ok_hr(IDXGIAdapter4_GetDesc(adapter, &desc), S_OK);
    ok_hr(D3D12CreateDevice((IUnknown *)adapter, D3D_FEATURE_LEVEL_11_0, &IID_ID3D12Device, (void **)&device), S_OK);
    need(device);
    ok(same(ID3D12Device_GetAdapterLuid(device), desc.AdapterLuid), "Direct3D 12 opened another adapter");
    ok_hr(DXCoreCreateAdapterFactory(&IID_IDXCoreAdapterFactory, (void **)&core), S_OK);
    ok_hr(IDXCoreAdapterFactory_GetAdapterByLuid(core, &desc.AdapterLuid, &IID_IDXCoreAdapter, (void **)&of_core),
          S_OK);
    need(of_core);
    ok_hr(IDXCoreAdapter_GetProperty(of_core, DXCoreAdapterProperty_DriverDescription, sizeof(name), name), S_OK);
    WideCharToMultiByte(CP_UTF8, 0, desc.Description, -1, description, sizeof(description), NULL, NULL);
    ok(!strncmp(name, description, sizeof(description) - 1), "DXCore says \"%s\", DXGI \"%s\"", name, description);
    api_release(of_core);
    api_release(core);
    api_release(device);
}

int main(void)
{
    api_begin();
    IDXGIFactory6 *factory = factory_create();
    IDXGIAdapter4 *adapter = first_adapter(factory);
    test_factory();
    test_enumeration(factory);
    test_adapter(factory, adapter);
    test_agreement(adapter);
    void *device = factory;
    ok_hr(D3D12CreateDevice((IUnknown *)factory, D3D_FEATURE_LEVEL_11_0, &IID_ID3D12Device, &device), E_INVALIDARG);
    ok(!device, "the output is not cleared");
    api_release(adapter);
    api_release(factory);
    return api_end();
}
