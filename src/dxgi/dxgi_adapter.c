/* SPDX-License-Identifier: Apache-2.0 */
/* IDXGIAdapter to IDXGIAdapter4, which report the same values as dxcore_adapter.c for the same adapter. */
#include "dxgi/dxgi.h"

#include "base/log.h"

#include <stdlib.h>

struct dxgi_adapter {
    struct com_object base; /* IDXGIAdapter4; its parent is the factory */
    const struct adapter_info *info;
};

static const struct adapter_info *info_of(IDXGIAdapter4 *iface)
{
    return ((struct dxgi_adapter *)iface)->info;
}

static void adapter_destroy(struct com_object *object)
{
    com_finish(object);
    free(object);
}

static HRESULT refuse(HRESULT hr, const char *method, const char *why)
{
    base_log(BASE_LOG_ERROR, "IDXGIAdapter::%s: %s", method, why);
    return hr;
}

#define ADAPTER IDXGIAdapter4 *iface

static HRESULT dxgi_adapter_GetParent(ADAPTER, REFIID riid, void **out)
{
    return com_QueryInterface(((struct com_object *)iface)->parent, riid, out);
}

/* No adapter has a display. */
static HRESULT dxgi_adapter_EnumOutputs(ADAPTER, UINT index, IDXGIOutput **out)
{
    (void)iface, (void)index;
    if (!out)
        return refuse(DXGI_ERROR_INVALID_CALL, "EnumOutputs", "ppOutput is NULL");
    *out = NULL;
    return DXGI_ERROR_NOT_FOUND;
}

/* ---- descriptions: each version is the one before and more ---- */

_Static_assert(offsetof(DXGI_ADAPTER_DESC1, Flags) == offsetof(DXGI_ADAPTER_DESC3, Flags) &&
                   offsetof(DXGI_ADAPTER_DESC1, AdapterLuid) == offsetof(DXGI_ADAPTER_DESC, AdapterLuid) &&
                   sizeof(DXGI_ADAPTER_DESC2) == sizeof(DXGI_ADAPTER_DESC3),
               "descriptions begin alike");

static HRESULT describe(ADAPTER, const char *method, void *out, size_t bytes)
{
    const struct adapter_info *info = info_of(iface);
    WCHAR name[sizeof(info->name)] = { 0 };
    DXGI_ADAPTER_DESC3 desc = {
        .VendorId = info->vendor_id,
        .DeviceId = info->device_id,
        .SubSysId = info->subsystem_id,
        .Revision = info->revision,
        .DedicatedVideoMemory = (SIZE_T)info->dedicated_memory,
        .SharedSystemMemory = (SIZE_T)info->shared_memory,
        .AdapterLuid = info->luid,
        .Flags = info->hardware ? DXGI_ADAPTER_FLAG3_NONE : DXGI_ADAPTER_FLAG3_SOFTWARE,
        .GraphicsPreemptionGranularity = DXGI_GRAPHICS_PREEMPTION_DMA_BUFFER_BOUNDARY,
        .ComputePreemptionGranularity = DXGI_COMPUTE_PREEMPTION_DMA_BUFFER_BOUNDARY,
    };
    if (!out)
        return refuse(E_INVALIDARG, method, "pDesc is NULL");
    MultiByteToWideChar(CP_UTF8, 0, info->name, -1, name, ARRAY_SIZE(name));
    memcpy(desc.Description, name, sizeof(desc.Description) - sizeof(WCHAR));
    memcpy(out, &desc, bytes);
    return S_OK;
}

static HRESULT dxgi_adapter_GetDesc(ADAPTER, DXGI_ADAPTER_DESC *out)
{
    return describe(iface, "GetDesc", out, sizeof(*out));
}

static HRESULT dxgi_adapter_GetDesc1(ADAPTER, DXGI_ADAPTER_DESC1 *out)
{
    return describe(iface, "GetDesc1", out, sizeof(*out));
}

static HRESULT dxgi_adapter_GetDesc2(ADAPTER, DXGI_ADAPTER_DESC2 *out)
{
    return describe(iface, "GetDesc2", out, sizeof(*out));
}

static HRESULT dxgi_adapter_GetDesc3(ADAPTER, DXGI_ADAPTER_DESC3 *out)
{
    return describe(iface, "GetDesc3", out, sizeof(*out));
}

/* Direct3D 10 interfaces are not supported; programs query IDXGIDevice to read the driver's version. */
static HRESULT dxgi_adapter_CheckInterfaceSupport(ADAPTER, REFGUID guid, LARGE_INTEGER *version)
{
    if (!guid || !com_iid_equal(guid, &IID_IDXGIDevice))
        return DXGI_ERROR_UNSUPPORTED;
    if (version)
        version->QuadPart = (LONGLONG)info_of(iface)->driver_version;
    return S_OK;
}

/* ---- memory ---- */

static HRESULT dxgi_adapter_QueryVideoMemoryInfo(ADAPTER, UINT node, DXGI_MEMORY_SEGMENT_GROUP group,
                                                 DXGI_QUERY_VIDEO_MEMORY_INFO *out)
{
    const struct adapter_info *info = info_of(iface);
    const bool local = group == DXGI_MEMORY_SEGMENT_GROUP_LOCAL;
    if (!out)
        return refuse(E_INVALIDARG, "QueryVideoMemoryInfo", "pVideoMemoryInfo is NULL");
    memset(out, 0, sizeof(*out));
    if (node)
        return refuse(E_INVALIDARG, "QueryVideoMemoryInfo", "NodeIndex is not 0, and adapters have one node");
    if ((unsigned)group > DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL)
        return refuse(E_INVALIDARG, "QueryVideoMemoryInfo", "MemorySegmentGroup is neither LOCAL nor NON_LOCAL");
    if (local || !info->uma)
        info->ops->memory_budget(info, local, &out->Budget, &out->CurrentUsage);
    return S_OK;
}

/* Nothing can be reserved, as AvailableForReservation states. */
static HRESULT dxgi_adapter_SetVideoMemoryReservation(ADAPTER, UINT node, DXGI_MEMORY_SEGMENT_GROUP group, UINT64 bytes)
{
    (void)iface;
    if (node || (unsigned)group > DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL || bytes)
        return refuse(E_INVALIDARG, "SetVideoMemoryReservation", "no memory can be reserved");
    return S_OK;
}

/* ---- events that never occur ---- */

static HRESULT no_event(DWORD *cookie)
{
    if (cookie)
        *cookie = 0;
    return DXGI_ERROR_UNSUPPORTED;
}

static HRESULT dxgi_adapter_RegisterHardwareContentProtectionTeardownStatusEvent(ADAPTER, HANDLE event, DWORD *cookie)
{
    (void)iface, (void)event;
    return no_event(cookie);
}

static void dxgi_adapter_UnregisterHardwareContentProtectionTeardownStatus(ADAPTER, DWORD cookie)
{
    (void)iface, (void)cookie;
}

static HRESULT dxgi_adapter_RegisterVideoMemoryBudgetChangeNotificationEvent(ADAPTER, HANDLE event, DWORD *cookie)
{
    (void)iface, (void)event;
    return no_event(cookie);
}

static void dxgi_adapter_UnregisterVideoMemoryBudgetChangeNotification(ADAPTER, DWORD cookie)
{
    (void)iface, (void)cookie;
}

static const IDXGIAdapter4Vtbl adapter_vtbl = {
    COM_UNKNOWN_METHODS,
    .SetPrivateData = (void *)com_SetPrivateData,
    .SetPrivateDataInterface = (void *)com_SetPrivateDataInterface,
    .GetPrivateData = (void *)com_GetPrivateData,
    .GetParent = dxgi_adapter_GetParent,
    .EnumOutputs = dxgi_adapter_EnumOutputs,
    .GetDesc = dxgi_adapter_GetDesc,
    .CheckInterfaceSupport = dxgi_adapter_CheckInterfaceSupport,
    .GetDesc1 = dxgi_adapter_GetDesc1,
    .GetDesc2 = dxgi_adapter_GetDesc2,
    .RegisterHardwareContentProtectionTeardownStatusEvent =
        dxgi_adapter_RegisterHardwareContentProtectionTeardownStatusEvent,
    .UnregisterHardwareContentProtectionTeardownStatus = dxgi_adapter_UnregisterHardwareContentProtectionTeardownStatus,
    .QueryVideoMemoryInfo = dxgi_adapter_QueryVideoMemoryInfo,
    .SetVideoMemoryReservation = dxgi_adapter_SetVideoMemoryReservation,
    .RegisterVideoMemoryBudgetChangeNotificationEvent = dxgi_adapter_RegisterVideoMemoryBudgetChangeNotificationEvent,
    .UnregisterVideoMemoryBudgetChangeNotification = dxgi_adapter_UnregisterVideoMemoryBudgetChangeNotification,
    .GetDesc3 = dxgi_adapter_GetDesc3,
};

static const IID *const adapter_iids[] = { &IID_IDXGIObject,
                                           &IID_IDXGIAdapter,
                                           &IID_IDXGIAdapter1,
                                           &IID_IDXGIAdapter2,
                                           &IID_IDXGIAdapter3,
                                           &IID_IDXGIAdapter4,
                                           NULL };

static const struct com_class adapter_class = { "IDXGIAdapter", adapter_iids, adapter_destroy, NULL };

HRESULT dxgi_adapter_create(const struct adapter_info *info, struct com_object *factory, REFIID riid, void **out)
{
    struct dxgi_adapter *adapter = calloc(1, sizeof(*adapter));
    if (!adapter)
        return E_OUTOFMEMORY;
    com_init(&adapter->base, &adapter_vtbl, &adapter_class, factory);
    adapter->info = info;
    return com_return(&adapter->base, riid, out);
}
