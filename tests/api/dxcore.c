/* SPDX-License-Identifier: Apache-2.0 */
/* DXCore: factory, lists, adapters, properties; and that libd3d12 accepts its adapters. */
#include "api_test.h"

#include <anydml_dxcore.h>

static IDXCoreAdapterFactory *factory_create(void)
{
    IDXCoreAdapterFactory *factory = NULL;
    ok_hr(DXCoreCreateAdapterFactory(&IID_IDXCoreAdapterFactory, (void **)&factory), S_OK);
    need(factory);
    return factory;
}

static IDXCoreAdapterList *list_create(IDXCoreAdapterFactory *factory, const GUID *attribute)
{
    IDXCoreAdapterList *list = NULL;
    ok_hr(IDXCoreAdapterFactory_CreateAdapterList(factory, 1, attribute, &IID_IDXCoreAdapterList, (void **)&list),
          S_OK);
    need(list);
    return list;
}

static IDXCoreAdapter *adapter_at(IDXCoreAdapterList *list, uint32_t index)
{
    IDXCoreAdapter *adapter = NULL;
    ok_hr(IDXCoreAdapterList_GetAdapter(list, index, &IID_IDXCoreAdapter, (void **)&adapter), S_OK);
    need(adapter);
    return adapter;
}

static void test_factory(void)
{
    void *out = &out;
    ok_hr(DXCoreCreateAdapterFactory(&IID_IDXCoreAdapter, &out), E_NOINTERFACE);
    ok(!out, "the output is not cleared");
    ok_hr(DXCoreCreateAdapterFactory(&IID_IDXCoreAdapterFactory, NULL), E_POINTER);
    IDXCoreAdapterFactory *one = factory_create(), *two = factory_create(), *three = NULL;
    ok(one == two, "two factories");
    api_release(two);
    IDXCoreAdapterList *list = list_create(one, &DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE);
    IDXCoreAdapter *adapter = adapter_at(list, 0);
    api_release(one);
    ok_hr(IDXCoreAdapterList_GetFactory(list, &IID_IDXCoreAdapterFactory, (void **)&two), S_OK);
    api_release(list);
    api_release(two);
    ok_hr(IDXCoreAdapter_GetFactory(adapter, &IID_IDXCoreAdapterFactory, (void **)&three), S_OK);
    two = factory_create();
    ok(one == two && two == three, "the factory changed while an adapter lived");
    api_release(two);
    api_release(three);
    api_release(adapter);
}

static void test_lists(IDXCoreAdapterFactory *factory)
{
    static const GUID both[] = { { 0x248e2800, 0xa793, 0x4724, { 0xab, 0xaa, 0x23, 0xa6, 0xde, 0x1b, 0xe0, 0x90 } },
                                 { 0xb71b0d41, 0x1088, 0x422f, { 0xa2, 0x7c, 0x02, 0x50, 0xb7, 0xd3, 0xa9, 0x88 } } };
    IDXCoreAdapterList *list = NULL, *other = NULL;
    void *out = factory;
    ok_hr(IDXCoreAdapterFactory_CreateAdapterList(factory, 0, both, &IID_IDXCoreAdapterList, &out), E_INVALIDARG);
    ok(!out, "the output is not cleared");
    ok_hr(IDXCoreAdapterFactory_CreateAdapterList(factory, 1, NULL, &IID_IDXCoreAdapterList, &out), E_INVALIDARG);
    ok_hr(IDXCoreAdapterFactory_CreateAdapterList(factory, 1, both, &IID_IDXCoreAdapter, &out), E_NOINTERFACE);
    ok_hr(IDXCoreAdapterFactory_CreateAdapterList(factory, 1, both, &IID_IDXCoreAdapterList, NULL), E_POINTER);
    ok_hr(IDXCoreAdapterFactory_CreateAdapterList(factory, 2, both, &IID_IDXCoreAdapterList, (void **)&list), S_OK);
    uint32_t count = IDXCoreAdapterList_GetAdapterCount(list);
    ok(count >= 1 && !IDXCoreAdapterList_IsStale(list), "%u adapters", count);
    ok_hr(IDXCoreAdapterList_GetAdapter(list, count, &IID_IDXCoreAdapter, &out), E_INVALIDARG);
    ok_hr(IDXCoreAdapterList_GetAdapter(list, 0, &IID_IDXCoreAdapterList, &out), E_NOINTERFACE);
    ok_hr(IDXCoreAdapterList_GetAdapter(list, 0, &IID_IDXCoreAdapter, NULL), E_POINTER);
    other = list_create(factory, &both[1]);
    IDXCoreAdapter *a = adapter_at(list, 0), *b = adapter_at(other, 0);
    ok(a == b, "one adapter, two pointers");
    api_release(b);
    api_release(other);
    other = list_create(factory, &DXCORE_ADAPTER_ATTRIBUTE_D3D12_GRAPHICS);
    ok(IDXCoreAdapterList_GetAdapterCount(other) == count, "an adapter that programs take for no GPU");
    api_release(other);
    other = list_create(factory, &DXCORE_ADAPTER_ATTRIBUTE_D3D11_GRAPHICS);
    ok(IDXCoreAdapterList_GetAdapterCount(other) == 0, "an adapter for Direct3D 11");
    DXCoreAdapterPreference preferences[] = { DXCoreAdapterPreference_Hardware, DXCoreAdapterPreference_HighPerformance,
                                              (DXCoreAdapterPreference)99 };
    ok_hr(IDXCoreAdapterList_Sort(list, 3, preferences), S_OK);
    ok_hr(IDXCoreAdapterList_Sort(list, 0, preferences), E_INVALIDARG);
    ok_hr(IDXCoreAdapterList_Sort(list, 1, NULL), E_INVALIDARG);
    ok(IDXCoreAdapterList_IsAdapterPreferenceSupported(list, DXCoreAdapterPreference_MinimumPower), "preference");
    ok(!IDXCoreAdapterList_IsAdapterPreferenceSupported(list, preferences[2]), "preference");
    api_release(a);
    api_release(other);
    api_release(list);
}

static uint64_t dedicated_at(IDXCoreAdapterList *list, uint32_t index)
{
    uint64_t bytes = 0;
    IDXCoreAdapter *adapter = adapter_at(list, index);
    ok_hr(IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_DedicatedAdapterMemory, sizeof(bytes), &bytes),
          S_OK);
    api_release(adapter);
    return bytes;
}

/* Of "cpu,vulkan", a GPU with memory of its own after the CPU. */
static void test_sort(IDXCoreAdapterList *list)
{
    const DXCoreAdapterPreference hardware = DXCoreAdapterPreference_Hardware;
    const DXCoreAdapterPreference fastest[] = { hardware, DXCoreAdapterPreference_HighPerformance };
    need(IDXCoreAdapterList_GetAdapterCount(list) == 2);
    ok(!dedicated_at(list, 0) && dedicated_at(list, 1), "the order is not that of ANYDML_ADAPTERS");
    IDXCoreAdapter *cpu = adapter_at(list, 0), *gpu = adapter_at(list, 1);
    ok_hr(IDXCoreAdapterList_Sort(list, 1, &hardware), S_OK);
    ok(!dedicated_at(list, 0), "adapters that are equal have changed places");
    ok_hr(IDXCoreAdapterList_Sort(list, 2, fastest), S_OK);
    IDXCoreAdapter *first = adapter_at(list, 0), *second = adapter_at(list, 1);
    ok(first == gpu && second == cpu, "the GPU is not the faster one");
    api_release(first);
    api_release(second);
    api_release(cpu);
    api_release(gpu);
}

static void test_properties(IDXCoreAdapter *adapter)
{
    char name[256] = "";
    size_t size = 0;
    uint64_t number = 7;
    bool flag = false;
    ok_hr(IDXCoreAdapter_GetPropertySize(adapter, DXCoreAdapterProperty_DriverDescription, &size), S_OK);
    ok_hr(IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_DriverDescription, size - 1, name), E_INVALIDARG);
    ok_hr(IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_DriverDescription, size, name), S_OK);
    ok(size == strlen(name) + 1 && *name, "size %zu for \"%s\"", size, name);
    memset(name, 1, sizeof(name));
    ok_hr(IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_DriverDescription, sizeof(name), name), S_OK);
    ok(!name[255], "the rest of the buffer is not zeroed");
    ok_hr(IDXCoreAdapter_GetPropertySize(adapter, DXCoreAdapterProperty_IsHardware, &size), S_OK);
    ok(size == 1, "a bool of %zu bytes", size);
    ok_hr(IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_IsHardware, 1, &flag), S_OK);
    const char *all = getenv("ANYDML_VULKAN_HARDWARE");
    ok(flag || !all || !api_is("vulkan"), "a Vulkan device is software although ANYDML_VULKAN_HARDWARE is set");
    ok(flag || !api_is("cpu"), "the cpu adapter is skipped by programs when it is not hardware");
    ok_hr(IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_AcgCompatible, 1, &flag), S_OK);
    ok(flag, "AcgCompatible");
    DXCoreHardwareID id = { 0 };
    ok_hr(IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_HardwareID, sizeof(id), &id), S_OK);
    ok(id.vendorID && !(id.vendorID == 0x1414 && id.deviceID == 0x8c), "hardware id");
    static const struct {
        DXCoreAdapterProperty property;
        size_t size;
    } rows[] = {
        { DXCoreAdapterProperty_InstanceLuid, 8 },          { DXCoreAdapterProperty_DriverVersion, 8 },
        { DXCoreAdapterProperty_HardwareID, 16 },           { DXCoreAdapterProperty_DedicatedAdapterMemory, 8 },
        { DXCoreAdapterProperty_DedicatedSystemMemory, 8 }, { DXCoreAdapterProperty_SharedSystemMemory, 8 },
        { DXCoreAdapterProperty_IsIntegrated, 1 },          { DXCoreAdapterProperty_IsDetachable, 1 }
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ok(IDXCoreAdapter_IsPropertySupported(adapter, rows[i].property), "property %d", (int)rows[i].property);
        ok_hr(IDXCoreAdapter_GetPropertySize(adapter, rows[i].property, &size), S_OK);
        ok(size == rows[i].size, "property %d has %zu bytes", (int)rows[i].property, size);
        char value[16];
        ok_hr(IDXCoreAdapter_GetProperty(adapter, rows[i].property, size, value), S_OK);
    }
    ok_hr(IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_KmdModelVersion, 4, &number),
          DXGI_ERROR_UNSUPPORTED);
    ok_hr(IDXCoreAdapter_GetProperty(adapter, (DXCoreAdapterProperty)1000, 8, &number), DXGI_ERROR_INVALID_CALL);
    ok_hr(IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_IsHardware, 1, NULL), E_POINTER);
    ok_hr(IDXCoreAdapter_GetPropertySize(adapter, DXCoreAdapterProperty_IsHardware, NULL), E_POINTER);
    ok(!IDXCoreAdapter_IsPropertySupported(adapter, (DXCoreAdapterProperty)1000), "unknown property");
    ok(IDXCoreAdapter_IsValid(adapter), "not valid");
    ok(IDXCoreAdapter_IsAttributeSupported(adapter, &DXCORE_ADAPTER_ATTRIBUTE_D3D12_GENERIC_ML), "ML");
    ok(IDXCoreAdapter_IsAttributeSupported(adapter, &DXCORE_ADAPTER_ATTRIBUTE_D3D12_GRAPHICS), "graphics");
    ok(!IDXCoreAdapter_IsAttributeSupported(adapter, &DXCORE_ADAPTER_ATTRIBUTE_D3D11_GRAPHICS), "Direct3D 11");
}

/* Its own memory is host memory. */
static bool is_uma(IDXCoreAdapter *adapter)
{
    uint64_t dedicated = 0;
    ok_hr(IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_DedicatedAdapterMemory, sizeof(dedicated),
                                     &dedicated),
          S_OK);
    return !dedicated;
}

static void test_states(IDXCoreAdapter *adapter)
{
    const DXCoreAdapterMemoryBudgetNodeSegmentGroup local = { 0, DXCoreSegmentGroup_Local };
    const DXCoreAdapterMemoryBudgetNodeSegmentGroup other = { 0, DXCoreSegmentGroup_NonLocal };
    DXCoreAdapterMemoryBudget budget = { 0 };
    const DXCoreAdapterState state = DXCoreAdapterState_AdapterMemoryBudget;
    ok(IDXCoreAdapter_IsQueryStateSupported(adapter, state), "budget");
    ok_hr(IDXCoreAdapter_QueryState(adapter, state, sizeof(local), &local, sizeof(budget), &budget), S_OK);
    ok(budget.budget, "a budget of 0");
    ok_hr(IDXCoreAdapter_QueryState(adapter, state, sizeof(other), &other, sizeof(budget), &budget), S_OK);
    ok(!budget.budget == is_uma(adapter), "the host's memory: a budget of %llu", (unsigned long long)budget.budget);
    ok_hr(IDXCoreAdapter_QueryState(adapter, state, 4, &local, sizeof(budget), &budget), E_INVALIDARG);
    ok_hr(IDXCoreAdapter_QueryState(adapter, state, sizeof(local), &local, 8, &budget), E_INVALIDARG);
    ok_hr(IDXCoreAdapter_QueryState(adapter, state, sizeof(local), NULL, sizeof(budget), &budget), E_POINTER);
    ok_hr(IDXCoreAdapter_QueryState(adapter, DXCoreAdapterState_IsDriverUpdateInProgress, 0, NULL, 1, &budget),
          DXGI_ERROR_UNSUPPORTED);
    ok_hr(IDXCoreAdapter_QueryState(adapter, (DXCoreAdapterState)77, 0, NULL, 1, &budget), DXGI_ERROR_INVALID_CALL);
    ok(!IDXCoreAdapter_IsSetStateSupported(adapter, state), "set state");
    ok_hr(IDXCoreAdapter_SetState(adapter, state, 0, NULL, 0, NULL), DXGI_ERROR_UNSUPPORTED);
}

static void test_device(IDXCoreAdapterFactory *factory, IDXCoreAdapter *adapter)
{
    LUID luid;
    ID3D12Device *device = NULL, *again = NULL;
    IDXCoreAdapter *found = NULL;
    ok_hr(IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_InstanceLuid, sizeof(luid), &luid), S_OK);
    ok_hr(D3D12CreateDevice((IUnknown *)adapter, (D3D_FEATURE_LEVEL)0x1000, &IID_ID3D12Device, (void **)&device), S_OK);
    need(device);
    LUID of_device = ID3D12Device_GetAdapterLuid(device);
    ok(!memcmp(&luid, &of_device, sizeof(luid)), "the device has another LUID");
    ok_hr(D3D12CreateDevice((IUnknown *)adapter, (D3D_FEATURE_LEVEL)0x100, &IID_ID3D12Device, (void **)&again), S_OK);
    ok(again == device, "two devices of one adapter");
    api_release(again);
    ok(api_release(device) == 0, "the device is still referenced");
    ok_hr(IDXCoreAdapterFactory_GetAdapterByLuid(factory, &luid, &IID_IDXCoreAdapter, (void **)&found), S_OK);
    ok(found == adapter, "another adapter by LUID");
    api_release(found);
    luid.LowPart ^= 0x55555555;
    ok_hr(IDXCoreAdapterFactory_GetAdapterByLuid(factory, &luid, &IID_IDXCoreAdapter, (void **)&found), E_INVALIDARG);
    ok(!found, "the output is not cleared");
    uint32_t cookie = 1;
    ok(!IDXCoreAdapterFactory_IsNotificationTypeSupported(factory, DXCoreNotificationType_AdapterListStale), "notify");
    ok_hr(IDXCoreAdapterFactory_RegisterEventNotification(factory, NULL, DXCoreNotificationType_AdapterListStale, NULL,
                                                          NULL, &cookie),
          DXGI_ERROR_INVALID_CALL);
}

int main(void)
{
    api_begin();
    IDXCoreAdapterFactory *factory = factory_create();
    IDXCoreAdapterList *list = list_create(factory, &DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE);
    if (!IDXCoreAdapterList_GetAdapterCount(list)) {
        fprintf(stderr, "no adapter \"%s\" on this machine: skipped\n", api_adapter());
        return 77;
    }
    if (api_is("cpu,vulkan")) {
        test_sort(list);
        api_release(list);
        api_release(factory);
        return api_end();
    }
    IDXCoreAdapter *adapter = adapter_at(list, 0);
    test_properties(adapter);
    test_states(adapter);
    test_device(factory, adapter);
    test_lists(factory);
    api_release(adapter);
    api_release(list);
    api_release(factory);
    test_factory();
    return api_end();
}
