/* SPDX-License-Identifier: Apache-2.0 */
/* The exports of dxgi.dll, and IDXGIFactory to IDXGIFactory6. Adapters are those of DXCore and of Direct3D 12;
 * functions that need a window or a display fail. */
#include "dxgi/dxgi.h"

#include "base/log.h"

#include <stdlib.h>

#define EXPORT       __attribute__((visibility("default")))
#define MAX_ADAPTERS 64

struct dxgi_factory {
    struct com_object base; /* IDXGIFactory6 */
    UINT flags;
};

static void factory_destroy(struct com_object *object)
{
    com_finish(object);
    free(object);
}

static HRESULT refuse(HRESULT hr, const char *method, const char *why)
{
    base_log(BASE_LOG_ERROR, "%s: %s", method, why);
    return hr;
}

/* ---- adapters ---- */

/* Greater comes first; adapters of equal rank stay in the order of adapter_at. */
static uint32_t rank_of(const struct adapter_info *info, DXGI_GPU_PREFERENCE preference)
{
    switch ((int)preference) {
    case DXGI_GPU_PREFERENCE_HIGH_PERFORMANCE:
        return adapter_performance(info);
    case DXGI_GPU_PREFERENCE_MINIMUM_POWER:
        return adapter_economy(info);
    default:
        return 0;
    }
}

/* Adapter `index` in the order of that preference; NULL: past the last. */
static const struct adapter_info *adapter_by_preference(UINT index, DXGI_GPU_PREFERENCE preference)
{
    const struct adapter_info *sorted[MAX_ADAPTERS], *info;
    uint32_t count = 0;
    for (; count < MAX_ADAPTERS && (info = adapter_at(count)) != NULL; count++) {
        uint32_t at = count;
        for (; at > 0 && rank_of(info, preference) > rank_of(sorted[at - 1], preference); at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = info;
    }
    return index < count ? sorted[index] : NULL;
}

#define FACTORY IDXGIFactory6 *iface

static HRESULT enumerate(FACTORY, const char *method, UINT index, DXGI_GPU_PREFERENCE preference, REFIID riid,
                         void **out)
{
    if (!out)
        return refuse(DXGI_ERROR_INVALID_CALL, method, "the output pointer is NULL");
    *out = NULL;
    const struct adapter_info *info = adapter_by_preference(index, preference);
    return info ? dxgi_adapter_create(info, (struct com_object *)iface, riid, out) : DXGI_ERROR_NOT_FOUND;
}

static HRESULT dxgi_factory_EnumAdapters(FACTORY, UINT index, IDXGIAdapter **out)
{
    return enumerate(iface, "IDXGIFactory::EnumAdapters", index, DXGI_GPU_PREFERENCE_UNSPECIFIED, &IID_IDXGIAdapter,
                     (void **)out);
}

static HRESULT dxgi_factory_EnumAdapters1(FACTORY, UINT index, IDXGIAdapter1 **out)
{
    return enumerate(iface, "IDXGIFactory1::EnumAdapters1", index, DXGI_GPU_PREFERENCE_UNSPECIFIED, &IID_IDXGIAdapter1,
                     (void **)out);
}

static HRESULT dxgi_factory_EnumAdapterByGpuPreference(FACTORY, UINT index, DXGI_GPU_PREFERENCE preference, REFIID riid,
                                                       void **out)
{
    const char *method = "IDXGIFactory6::EnumAdapterByGpuPreference";
    if (out)
        *out = NULL;
    if ((unsigned)preference > DXGI_GPU_PREFERENCE_HIGH_PERFORMANCE)
        return refuse(DXGI_ERROR_INVALID_CALL, method, "GpuPreference is not a value of DXGI_GPU_PREFERENCE");
    return enumerate(iface, method, index, preference, riid, out);
}

static HRESULT dxgi_factory_EnumAdapterByLuid(FACTORY, LUID luid, REFIID riid, void **out)
{
    const char *method = "IDXGIFactory4::EnumAdapterByLuid";
    const struct adapter_info *info;
    if (!out)
        return refuse(DXGI_ERROR_INVALID_CALL, method, "the output pointer is NULL");
    *out = NULL;
    for (uint32_t i = 0; (info = adapter_at(i)) != NULL; i++) {
        if (!memcmp(&info->luid, &luid, sizeof(luid)))
            return dxgi_adapter_create(info, (struct com_object *)iface, riid, out);
    }
    return refuse(DXGI_ERROR_NOT_FOUND, method, "no adapter has this LUID");
}

static HRESULT no_adapter(void **out)
{
    if (!out)
        return DXGI_ERROR_INVALID_CALL;
    *out = NULL;
    return DXGI_ERROR_NOT_FOUND;
}

static HRESULT dxgi_factory_EnumWarpAdapter(FACTORY, REFIID riid, void **out)
{
    (void)iface, (void)riid;
    return no_adapter(out);
}

static HRESULT dxgi_factory_CreateSoftwareAdapter(FACTORY, HMODULE module, IDXGIAdapter **out)
{
    (void)iface, (void)module;
    return no_adapter((void **)out);
}

/* The set of adapters does not change while the process runs. */
static WINBOOL dxgi_factory_IsCurrent(FACTORY)
{
    (void)iface;
    return TRUE;
}

/* ---- the factory ---- */

static HRESULT dxgi_factory_GetParent(FACTORY, REFIID riid, void **out)
{
    (void)iface, (void)riid;
    if (!out)
        return E_POINTER;
    *out = NULL;
    return E_NOINTERFACE;
}

static UINT dxgi_factory_GetCreationFlags(FACTORY)
{
    return ((struct dxgi_factory *)iface)->flags;
}

static HRESULT dxgi_factory_CheckFeatureSupport(FACTORY, DXGI_FEATURE feature, void *data, UINT bytes)
{
    (void)iface;
    if (feature != DXGI_FEATURE_PRESENT_ALLOW_TEARING || !data || bytes != sizeof(WINBOOL))
        return refuse(DXGI_ERROR_INVALID_CALL, "IDXGIFactory5::CheckFeatureSupport",
                      "Feature is not PRESENT_ALLOW_TEARING, or its data is not a BOOL");
    *(WINBOOL *)data = FALSE;
    return S_OK;
}

/* ---- functions that need a window ---- */

static HRESULT unsupported(void *out, size_t bytes)
{
    if (out)
        memset(out, 0, bytes);
    return DXGI_ERROR_UNSUPPORTED;
}

static HRESULT dxgi_factory_MakeWindowAssociation(FACTORY, HWND window, UINT flags)
{
    (void)iface, (void)window, (void)flags;
    return DXGI_ERROR_UNSUPPORTED;
}

static HRESULT dxgi_factory_GetWindowAssociation(FACTORY, HWND *out)
{
    (void)iface;
    return unsupported(out, sizeof(*out));
}

static HRESULT dxgi_factory_CreateSwapChain(FACTORY, IUnknown *device, DXGI_SWAP_CHAIN_DESC *desc, IDXGISwapChain **out)
{
    (void)iface, (void)device, (void)desc;
    return unsupported(out, sizeof(*out));
}

static HRESULT dxgi_factory_CreateSwapChainForHwnd(FACTORY, IUnknown *device, HWND window,
                                                   const DXGI_SWAP_CHAIN_DESC1 *desc,
                                                   const DXGI_SWAP_CHAIN_FULLSCREEN_DESC *full, IDXGIOutput *output,
                                                   IDXGISwapChain1 **out)
{
    (void)iface, (void)device, (void)window, (void)desc, (void)full, (void)output;
    return unsupported(out, sizeof(*out));
}

static HRESULT dxgi_factory_CreateSwapChainForCoreWindow(FACTORY, IUnknown *device, IUnknown *window,
                                                         const DXGI_SWAP_CHAIN_DESC1 *desc, IDXGIOutput *output,
                                                         IDXGISwapChain1 **out)
{
    (void)iface, (void)device, (void)window, (void)desc, (void)output;
    return unsupported(out, sizeof(*out));
}

static HRESULT dxgi_factory_CreateSwapChainForComposition(FACTORY, IUnknown *device, const DXGI_SWAP_CHAIN_DESC1 *desc,
                                                          IDXGIOutput *output, IDXGISwapChain1 **out)
{
    (void)iface, (void)device, (void)desc, (void)output;
    return unsupported(out, sizeof(*out));
}

static HRESULT dxgi_factory_GetSharedResourceAdapterLuid(FACTORY, HANDLE resource, LUID *out)
{
    (void)iface, (void)resource;
    return unsupported(out, sizeof(*out));
}

static WINBOOL dxgi_factory_IsWindowedStereoEnabled(FACTORY)
{
    (void)iface;
    return FALSE;
}

static HRESULT dxgi_factory_RegisterWindow(FACTORY, HWND window, UINT message, DWORD *cookie)
{
    (void)iface, (void)window, (void)message;
    return unsupported(cookie, sizeof(*cookie));
}

static HRESULT dxgi_factory_RegisterEvent(FACTORY, HANDLE event, DWORD *cookie)
{
    (void)iface, (void)event;
    return unsupported(cookie, sizeof(*cookie));
}

static void dxgi_factory_Unregister(FACTORY, DWORD cookie)
{
    (void)iface, (void)cookie;
}

static const IDXGIFactory6Vtbl factory_vtbl = {
    COM_UNKNOWN_METHODS,
    .SetPrivateData = (void *)com_SetPrivateData,
    .SetPrivateDataInterface = (void *)com_SetPrivateDataInterface,
    .GetPrivateData = (void *)com_GetPrivateData,
    .GetParent = dxgi_factory_GetParent,
    .EnumAdapters = dxgi_factory_EnumAdapters,
    .MakeWindowAssociation = dxgi_factory_MakeWindowAssociation,
    .GetWindowAssociation = dxgi_factory_GetWindowAssociation,
    .CreateSwapChain = dxgi_factory_CreateSwapChain,
    .CreateSoftwareAdapter = dxgi_factory_CreateSoftwareAdapter,
    .EnumAdapters1 = dxgi_factory_EnumAdapters1,
    .IsCurrent = dxgi_factory_IsCurrent,
    .IsWindowedStereoEnabled = dxgi_factory_IsWindowedStereoEnabled,
    .CreateSwapChainForHwnd = dxgi_factory_CreateSwapChainForHwnd,
    .CreateSwapChainForCoreWindow = dxgi_factory_CreateSwapChainForCoreWindow,
    .GetSharedResourceAdapterLuid = dxgi_factory_GetSharedResourceAdapterLuid,
    .RegisterStereoStatusWindow = dxgi_factory_RegisterWindow,
    .RegisterStereoStatusEvent = dxgi_factory_RegisterEvent,
    .UnregisterStereoStatus = dxgi_factory_Unregister,
    .RegisterOcclusionStatusWindow = dxgi_factory_RegisterWindow,
    .RegisterOcclusionStatusEvent = dxgi_factory_RegisterEvent,
    .UnregisterOcclusionStatus = dxgi_factory_Unregister,
    .CreateSwapChainForComposition = dxgi_factory_CreateSwapChainForComposition,
    .GetCreationFlags = dxgi_factory_GetCreationFlags,
    .EnumAdapterByLuid = dxgi_factory_EnumAdapterByLuid,
    .EnumWarpAdapter = dxgi_factory_EnumWarpAdapter,
    .CheckFeatureSupport = dxgi_factory_CheckFeatureSupport,
    .EnumAdapterByGpuPreference = dxgi_factory_EnumAdapterByGpuPreference,
};

static const IID *const factory_iids[] = { &IID_IDXGIObject,   &IID_IDXGIFactory,  &IID_IDXGIFactory1,
                                           &IID_IDXGIFactory2, &IID_IDXGIFactory3, &IID_IDXGIFactory4,
                                           &IID_IDXGIFactory5, &IID_IDXGIFactory6, NULL };

static const struct com_class factory_class = { "IDXGIFactory", factory_iids, factory_destroy, NULL };

/* ---- exports ---- */

EXPORT HRESULT WINAPI CreateDXGIFactory2(UINT flags, REFIID riid, void **out)
{
    if (!out)
        return refuse(DXGI_ERROR_INVALID_CALL, "CreateDXGIFactory2", "the output pointer is NULL");
    *out = NULL;
    adapter_check_any("CreateDXGIFactory2");
    if (flags & ~(UINT)DXGI_CREATE_FACTORY_DEBUG)
        return refuse(DXGI_ERROR_INVALID_CALL, "CreateDXGIFactory2", "Flags has more than DXGI_CREATE_FACTORY_DEBUG");
    struct dxgi_factory *factory = calloc(1, sizeof(*factory));
    if (!factory)
        return E_OUTOFMEMORY;
    com_init(&factory->base, &factory_vtbl, &factory_class, NULL);
    factory->flags = flags;
    return com_return(&factory->base, riid, out);
}

EXPORT HRESULT WINAPI CreateDXGIFactory1(REFIID riid, void **out)
{
    return CreateDXGIFactory2(0, riid, out);
}

EXPORT HRESULT WINAPI CreateDXGIFactory(REFIID riid, void **out)
{
    return CreateDXGIFactory2(0, riid, out);
}

/* DXGI has no debug layer here. */
EXPORT HRESULT WINAPI DXGIGetDebugInterface1(UINT flags, REFIID riid, void **out)
{
    (void)flags, (void)riid;
    if (out)
        *out = NULL;
    return E_NOINTERFACE;
}

EXPORT HRESULT WINAPI DXGIDeclareAdapterRemovalSupport(void);

/* Adapters are not removed. */
HRESULT WINAPI DXGIDeclareAdapterRemovalSupport(void)
{
    return S_OK;
}

/* For tests: how many objects of this library live in the process. */
EXPORT uint32_t AnydmlLiveObjects(void);

uint32_t AnydmlLiveObjects(void)
{
    return com_live_objects();
}
