/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/session.h"
#include "tools/text.h"

#include <anydml_dxcore.h>
#include <DirectMLGuids.h>

#include <stdio.h>
#include <stdlib.h>

static void release(void *object)
{
    if (object)
        IUnknown_Release((IUnknown *)object);
}

/* ---- adapters ---- */

/* Every build has the cpu adapter, so it is the environment that leaves it out. */
static bool session_no_device(struct tools_error *error)
{
    const char *wanted = getenv("ANYDML_ADAPTERS");
    return wanted && *wanted ? tools_fail(error, TOOLS_USAGE, "ANYDML_ADAPTERS=%.100s: no device found", wanted)
                             : tools_fail(error, TOOLS_RUNTIME, "no device was found");
}

static bool session_list_adapters(IDXCoreAdapterList **out, struct tools_error *error)
{
    IDXCoreAdapterFactory *factory = NULL;
    *out = NULL;
    HRESULT hr = DXCoreCreateAdapterFactory(&IID_IDXCoreAdapterFactory, (void **)&factory);
    if (SUCCEEDED(hr))
        hr = IDXCoreAdapterFactory_CreateAdapterList(factory, 1, &DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE,
                                                     &IID_IDXCoreAdapterList, (void **)out);
    release(factory);
    return tools_check(error, hr, "listing devices");
}

bool tools_device_count(uint32_t *out, struct tools_error *error)
{
    IDXCoreAdapterList *list;
    if (!session_list_adapters(&list, error))
        return false;
    *out = IDXCoreAdapterList_GetAdapterCount(list);
    release(list);
    return *out || session_no_device(error);
}

static void session_describe(IDXCoreAdapter *adapter, struct tools_device_info *info)
{
    uint64_t driver = 0;
    size_t size = 0;
    bool integrated = false, hardware = false;
    if (FAILED(IDXCoreAdapter_GetPropertySize(adapter, DXCoreAdapterProperty_DriverDescription, &size)) ||
        size > sizeof(info->name) ||
        FAILED(IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_DriverDescription, sizeof(info->name),
                                          info->name)))
        snprintf(info->name, sizeof(info->name), "unnamed");
    IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_DriverVersion, sizeof(driver), &driver);
    IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_DedicatedAdapterMemory, sizeof(uint64_t),
                               &info->dedicated_bytes);
    IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_SharedSystemMemory, sizeof(uint64_t),
                               &info->shared_bytes);
    IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_IsIntegrated, sizeof(integrated), &integrated);
    IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_IsHardware, sizeof(hardware), &hardware);
    info->integrated = integrated;
    info->hardware = hardware;
    for (int i = 0; i < 4; i++)
        info->driver[i] = (uint16_t)(driver >> (48 - 16 * i));
    info->kind = "cpu";
    if (IDXCoreAdapter_IsAttributeSupported(adapter, &DXCORE_HARDWARE_TYPE_ATTRIBUTE_GPU))
        info->kind = "gpu";
    else if (IDXCoreAdapter_IsAttributeSupported(adapter, &DXCORE_HARDWARE_TYPE_ATTRIBUTE_NPU))
        info->kind = "npu";
}

bool tools_device_parse(const char *word, uint32_t *out, struct tools_error *error)
{
    uint64_t number;
    if (!strcmp(word, "cpu") || !strcmp(word, "vulkan")) {
        setenv("ANYDML_ADAPTERS", word, 1);
        *out = 0;
        return true;
    }
    if (!tools_parse_uint(word, 0, UINT32_MAX, &number))
        return tools_fail(error, TOOLS_USAGE, "--device must be cpu, vulkan or the number of a device, not '%s'", word);
    *out = (uint32_t)number;
    return true;
}

static bool session_find_adapter(uint32_t index, IDXCoreAdapter **out, struct tools_error *error)
{
    IDXCoreAdapterList *list;
    if (!session_list_adapters(&list, error))
        return false;
    /* Counting looks at all devices, which may load drivers: not for the first one. */
    uint32_t count = index ? IDXCoreAdapterList_GetAdapterCount(list) : 1;
    HRESULT hr = index < count ? IDXCoreAdapterList_GetAdapter(list, index, &IID_IDXCoreAdapter, (void **)out)
                               : DXGI_ERROR_NOT_FOUND;
    count = SUCCEEDED(hr) ? count : IDXCoreAdapterList_GetAdapterCount(list);
    bool ok = true;
    if (!count)
        ok = session_no_device(error);
    else if (index >= count)
        ok = tools_fail(error, TOOLS_USAGE, "device %u does not exist; the devices are 0 to %u (anydml devices)", index,
                        count - 1);
    else
        ok = tools_check(error, hr, "opening the adapter");
    release(list);
    return ok;
}

/* ---- the session ---- */

static void session_ask_level(struct tools_session *s)
{
    static const DML_FEATURE_LEVEL levels[] = {
        DML_FEATURE_LEVEL_1_0, DML_FEATURE_LEVEL_2_0, DML_FEATURE_LEVEL_2_1, DML_FEATURE_LEVEL_3_0,
        DML_FEATURE_LEVEL_3_1, DML_FEATURE_LEVEL_4_0, DML_FEATURE_LEVEL_4_1, DML_FEATURE_LEVEL_5_0,
        DML_FEATURE_LEVEL_5_1, DML_FEATURE_LEVEL_5_2, DML_FEATURE_LEVEL_6_0, DML_FEATURE_LEVEL_6_1,
        DML_FEATURE_LEVEL_6_2, DML_FEATURE_LEVEL_6_3, DML_FEATURE_LEVEL_6_4,
    };
    DML_FEATURE_QUERY_FEATURE_LEVELS query = { ARRAY_SIZE(levels), levels };
    DML_FEATURE_DATA_FEATURE_LEVELS data = { 0 };
    if (SUCCEEDED(IDMLDevice1_CheckFeatureSupport(s->device->dml, DML_FEATURE_FEATURE_LEVELS, sizeof(query), &query,
                                                  sizeof(data), &data)))
        s->info.level = data.MaxSupportedFeatureLevel;
}

static bool session_open(struct tools_session *s, struct tools_error *error)
{
    struct onnx_error why;
    if (!tools_check(error, onnx_device_open(s->index, &s->device, &why), "opening the device") ||
        !tools_check(error, onnx_pool_create(s->device, UINT64_MAX, &s->pool), "opening the device"))
        return false;
    session_ask_level(s);
    return true;
}

bool tools_session_create(uint32_t index, struct tools_session **out, struct tools_error *error)
{
    IDXCoreAdapter *adapter = NULL;
    *out = NULL;
    if (!session_find_adapter(index, &adapter, error))
        return false;
    struct tools_session *s = calloc(1, sizeof(*s));
    bool ok = s || tools_fail_memory(error);
    if (ok) {
        s->index = index;
        session_describe(adapter, &s->info);
        ok = session_open(s, error);
    }
    release(adapter);
    if (ok)
        *out = s;
    else
        tools_session_destroy(s);
    return ok;
}

void tools_session_destroy(struct tools_session *s)
{
    if (!s)
        return;
    onnx_pool_destroy(s->pool);
    onnx_device_close(s->device);
    free(s);
}
