#include "tools/session.h"

#include <anydml_dxcore.h>
#include <DirectMLGuids.h>

#include <stdio.h>
#include <stdlib.h>

void tools_release(void *object)
{
    if (object)
        IUnknown_Release((IUnknown *)object);
}

/* ---- adapters ---- */

static bool session_list_adapters(IDXCoreAdapterList **out, struct tools_error *error)
{
    IDXCoreAdapterFactory *factory = NULL;
    *out = NULL;
    HRESULT hr = DXCoreCreateAdapterFactory(&IID_IDXCoreAdapterFactory, (void **)&factory);
    if (SUCCEEDED(hr))
        hr = IDXCoreAdapterFactory_CreateAdapterList(factory, 1, &DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE,
                                                     &IID_IDXCoreAdapterList, (void **)out);
    tools_release(factory);
    return tools_check(error, hr, "listing devices");
}

bool tools_device_count(uint32_t *out, struct tools_error *error)
{
    IDXCoreAdapterList *list;
    if (!session_list_adapters(&list, error))
        return false;
    *out = IDXCoreAdapterList_GetAdapterCount(list);
    tools_release(list);
    return true;
}

static void session_describe(IDXCoreAdapter *adapter, struct tools_device_info *info)
{
    uint64_t driver = 0;
    size_t size = 0;
    bool integrated = false;
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
    info->integrated = integrated;
    for (int i = 0; i < 4; i++)
        info->driver[i] = (uint16_t)(driver >> (48 - 16 * i));
    info->kind = "cpu";
    if (IDXCoreAdapter_IsAttributeSupported(adapter, &DXCORE_HARDWARE_TYPE_ATTRIBUTE_GPU))
        info->kind = "gpu";
    else if (IDXCoreAdapter_IsAttributeSupported(adapter, &DXCORE_HARDWARE_TYPE_ATTRIBUTE_NPU))
        info->kind = "npu";
}

static bool session_find_adapter(uint32_t index, IDXCoreAdapter **out, struct tools_error *error)
{
    IDXCoreAdapterList *list;
    if (!session_list_adapters(&list, error))
        return false;
    uint32_t count = IDXCoreAdapterList_GetAdapterCount(list);
    bool ok;
    if (index < count)
        ok = tools_check(error, IDXCoreAdapterList_GetAdapter(list, index, &IID_IDXCoreAdapter, (void **)out),
                         "opening the adapter");
    else if (count)
        ok = tools_fail(error, TOOLS_USAGE, "there is no device %u; there are 0 to %u (anydml devices)", index,
                        count - 1);
    else
        ok = tools_fail(error, TOOLS_RUNTIME, "no device was found");
    tools_release(list);
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
    if (SUCCEEDED(IDMLDevice1_CheckFeatureSupport(s->dml, DML_FEATURE_FEATURE_LEVELS, sizeof(query), &query,
                                                  sizeof(data), &data)))
        s->info.level = data.MaxSupportedFeatureLevel;
}

static bool session_open(struct tools_session *s, IDXCoreAdapter *adapter, struct tools_error *error)
{
    const D3D12_COMMAND_LIST_TYPE type = D3D12_COMMAND_LIST_TYPE_COMPUTE;
    D3D12_COMMAND_QUEUE_DESC queue = { .Type = type };
    HRESULT hr =
        D3D12CreateDevice((IUnknown *)adapter, D3D_FEATURE_LEVEL_1_0_CORE, &IID_ID3D12Device, (void **)&s->device);
    if (!tools_check(error, hr, "creating the Direct3D 12 device"))
        return false;
    hr = ID3D12Device_CreateCommandQueue(s->device, &queue, &IID_ID3D12CommandQueue, (void **)&s->queue);
    if (SUCCEEDED(hr))
        hr = ID3D12Device_CreateCommandAllocator(s->device, type, &IID_ID3D12CommandAllocator, (void **)&s->allocator);
    if (SUCCEEDED(hr))
        hr = ID3D12Device_CreateCommandList(s->device, 0, type, s->allocator, NULL, &IID_ID3D12GraphicsCommandList,
                                            (void **)&s->list);
    if (!tools_check(error, hr, "creating the queue"))
        return false;
    hr = DMLCreateDevice1(s->device, DML_CREATE_DEVICE_FLAG_NONE, DML_FEATURE_LEVEL_1_0, &IID_IDMLDevice1,
                          (void **)&s->dml);
    if (SUCCEEDED(hr))
        hr = IDMLDevice1_CreateCommandRecorder(s->dml, &IID_IDMLCommandRecorder, (void **)&s->recorder);
    if (!tools_check(error, hr, "creating the DirectML device"))
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
        ok = session_open(s, adapter, error);
    }
    tools_release(adapter);
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
    tools_release(s->recorder);
    tools_release(s->dml);
    tools_release(s->list);
    tools_release(s->allocator);
    tools_release(s->queue);
    tools_release(s->device);
    free(s);
}

/* ---- work ---- */

bool tools_session_execute(struct tools_session *s, ID3D12GraphicsCommandList *list, struct tools_error *error)
{
    ID3D12CommandList *lists[] = { (ID3D12CommandList *)list };
    HRESULT hr = AnydmlExecuteCommandLists(s->queue, 1, lists);
    HRESULT removed = ID3D12Device_GetDeviceRemovedReason(s->device);
    return tools_check(error, FAILED(removed) ? removed : hr, "executing on the device");
}

bool tools_session_flush(struct tools_session *s, struct tools_error *error)
{
    if (!tools_check(error, ID3D12GraphicsCommandList_Close(s->list), "recording commands") ||
        !tools_session_execute(s, s->list, error))
        return false;
    HRESULT hr = ID3D12CommandAllocator_Reset(s->allocator);
    if (SUCCEEDED(hr))
        hr = ID3D12GraphicsCommandList_Reset(s->list, s->allocator, NULL);
    return tools_check(error, hr, "resetting the command list");
}

ID3D12Resource *tools_buffer_create(struct tools_session *s, D3D12_HEAP_TYPE heap, uint64_t bytes,
                                    struct tools_error *error)
{
    bool is_default = heap == D3D12_HEAP_TYPE_DEFAULT;
    D3D12_HEAP_PROPERTIES properties = { .Type = heap, .CreationNodeMask = 1, .VisibleNodeMask = 1 };
    D3D12_RESOURCE_DESC desc = {
        .Dimension = D3D12_RESOURCE_DIMENSION_BUFFER,
        .Width = base_align_up(BASE_MAX(bytes, 4), 4),
        .Height = 1,
        .DepthOrArraySize = 1,
        .MipLevels = 1,
        .SampleDesc = { 1, 0 },
        .Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        .Flags = is_default ? D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS : D3D12_RESOURCE_FLAG_NONE,
    };
    D3D12_RESOURCE_STATES state = is_default                         ? D3D12_RESOURCE_STATE_COMMON
                                  : heap == D3D12_HEAP_TYPE_READBACK ? D3D12_RESOURCE_STATE_COPY_DEST
                                                                     : D3D12_RESOURCE_STATE_GENERIC_READ;
    ID3D12Resource *buffer = NULL;
    HRESULT hr = ID3D12Device_CreateCommittedResource(s->device, &properties, D3D12_HEAP_FLAG_NONE, &desc, state, NULL,
                                                      &IID_ID3D12Resource, (void **)&buffer);
    if (SUCCEEDED(hr))
        return buffer;
    tools_fail(error, TOOLS_RUNTIME, "a buffer of %llu bytes: %s (0x%08x)", (unsigned long long)bytes,
               tools_hresult_name(hr), (unsigned)hr);
    return NULL;
}

bool tools_buffer_write(struct tools_session *s, ID3D12Resource *to, const void *data, uint64_t bytes,
                        struct tools_error *error)
{
    ID3D12Resource *upload = tools_buffer_create(s, D3D12_HEAP_TYPE_UPLOAD, bytes, error);
    void *mapped = NULL;
    D3D12_RANGE none = { 0, 0 };
    if (!upload)
        return false;
    bool ok = tools_check(error, ID3D12Resource_Map(upload, 0, &none, &mapped), "mapping an upload buffer");
    if (ok) {
        memcpy(mapped, data, bytes);
        ID3D12Resource_Unmap(upload, 0, NULL);
        /* The buffer is promoted from COMMON for the copy and goes back to it when the list has run. */
        ID3D12GraphicsCommandList_CopyBufferRegion(s->list, to, 0, upload, 0, bytes);
        ok = tools_session_flush(s, error);
    }
    tools_release(upload);
    return ok;
}

bool tools_buffer_read(struct tools_session *s, ID3D12Resource *from, void *data, uint64_t bytes,
                       struct tools_error *error)
{
    ID3D12Resource *readback = tools_buffer_create(s, D3D12_HEAP_TYPE_READBACK, bytes, error);
    void *mapped = NULL;
    D3D12_RANGE all = { 0, (SIZE_T)bytes }, none = { 0, 0 };
    if (!readback)
        return false;
    ID3D12GraphicsCommandList_CopyBufferRegion(s->list, readback, 0, from, 0, bytes);
    bool ok = tools_session_flush(s, error) &&
              tools_check(error, ID3D12Resource_Map(readback, 0, &all, &mapped), "mapping a readback buffer");
    if (ok) {
        memcpy(data, mapped, bytes);
        ID3D12Resource_Unmap(readback, 0, &none);
    }
    tools_release(readback);
    return ok;
}
