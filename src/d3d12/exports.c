/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that libd3d12.so exports; those of root signatures are in root_signature.c. */
#include "d3d12/objects.h"

#include "base/log.h"

#include <anydml_dxcore.h>

#define EXPORT __attribute__((visibility("default")))

#define LEVEL_1_0_GENERIC 0x100

static HRESULT refuse(HRESULT hr, const char *text)
{
    base_log(BASE_LOG_ERROR, "%s", text);
    return hr;
}

static HRESULT level_check(unsigned level)
{
    switch (level) {
    case LEVEL_1_0_GENERIC:
    case D3D_FEATURE_LEVEL_1_0_CORE:
    case D3D_FEATURE_LEVEL_11_0: /* requested by programs that never render */
        return S_OK;
    case D3D_FEATURE_LEVEL_11_1:
    case D3D_FEATURE_LEVEL_12_0:
    case D3D_FEATURE_LEVEL_12_1:
    case D3D_FEATURE_LEVEL_12_2:
        return refuse(DXGI_ERROR_UNSUPPORTED, "D3D12CreateDevice: MinimumFeatureLevel is above 11_0");
    default:
        return refuse(E_INVALIDARG, "D3D12CreateDevice: MinimumFeatureLevel is not a feature level of Direct3D 12");
    }
}

static HRESULT luid_of(IUnknown *unknown, LUID *out)
{
    IDXCoreAdapter *adapter = NULL;
    if (FAILED(unknown->lpVtbl->QueryInterface(unknown, &IID_IDXCoreAdapter, (void **)&adapter))) {
        if (d3d_dxgi_luid(unknown, out))
            return S_OK;
        return refuse(E_INVALIDARG, "D3D12CreateDevice: pAdapter is neither an IDXCoreAdapter nor an IDXGIAdapter");
    }
    HRESULT hr = IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_InstanceLuid, sizeof(*out), out);
    IDXCoreAdapter_Release(adapter);
    return SUCCEEDED(hr) ? S_OK : refuse(hr, "D3D12CreateDevice: the LUID of pAdapter cannot be queried");
}

/* The adapter behind an object of DXCore or DXGI, which may come from another library: only its public methods are
 * called. */
static HRESULT adapter_of(IUnknown *unknown, const struct adapter_info **out)
{
    const struct adapter_info *info;
    LUID luid = { 0, 0 };
    const HRESULT hr = luid_of(unknown, &luid);
    if (FAILED(hr))
        return hr;
    for (uint32_t i = 0; (info = adapter_at(i)) != NULL; i++) {
        if (!memcmp(&info->luid, &luid, sizeof(luid))) {
            *out = info;
            return S_OK;
        }
    }
    return refuse(DXGI_ERROR_DEVICE_REMOVED, "D3D12CreateDevice: pAdapter is not an adapter of this process");
}

EXPORT HRESULT D3D12CreateDevice(IUnknown *unknown, D3D_FEATURE_LEVEL level, REFIID riid, void **out)
{
    const struct adapter_info *info = NULL;
    struct d3d_device *device;
    adapter_check_environment();
    if (out)
        *out = NULL;
    HRESULT hr = level_check((unsigned)level);
    if (FAILED(hr))
        return hr;
    if (unknown) {
        hr = adapter_of(unknown, &info);
        if (FAILED(hr))
            return hr;
    } else {
        info = adapter_default();
    }
    if (!info)
        return refuse(DXGI_ERROR_UNSUPPORTED, "D3D12CreateDevice: no adapter found (see ANYDML_ADAPTERS)");
    hr = d3d_device_open(info, &device);
    return SUCCEEDED(hr) ? com_return(&device->base, riid, out) : hr;
}

EXPORT HRESULT D3D12GetDebugInterface(REFIID riid, void **out)
{
    HRESULT hr = d3d_debug_create(riid, out);
    if (hr == E_NOINTERFACE)
        hr = d3d_dred_create(riid, out);
    return hr;
}

EXPORT HRESULT D3D12GetInterface(REFCLSID class, REFIID riid, void **out)
{
    (void)class, (void)riid;
    if (out)
        *out = NULL;
    return E_NOINTERFACE;
}

EXPORT HRESULT D3D12EnableExperimentalFeatures(UINT count, const IID *features, void *structs, UINT *sizes)
{
    (void)features, (void)structs, (void)sizes;
    return count ? E_NOINTERFACE : S_OK;
}

EXPORT HRESULT AnydmlCreateBufferFromMemory(ID3D12Device *iface, void *address, UINT64 bytes, REFIID riid, void **out)
{
    if (out)
        *out = NULL;
    if (!iface)
        return refuse(E_INVALIDARG, "AnydmlCreateBufferFromMemory: device is NULL");
    if ((const void *)iface->lpVtbl != &d3d_device_vtbl)
        return refuse(DXGI_ERROR_UNSUPPORTED, "AnydmlCreateBufferFromMemory: device was not created by this runtime");
    return d3d_resource_borrow(d3d_device_from(iface), address, bytes, riid, out);
}

EXPORT HRESULT AnydmlExecuteCommandLists(ID3D12CommandQueue *iface, UINT count, ID3D12CommandList *const *lists)
{
    if (!iface)
        return refuse(E_INVALIDARG, "AnydmlExecuteCommandLists: queue is NULL");
    if ((const void *)iface->lpVtbl != &d3d_command_queue_vtbl)
        return refuse(DXGI_ERROR_UNSUPPORTED, "AnydmlExecuteCommandLists: queue was not created by this runtime");
    return d3d_command_queue_execute((struct d3d_command_queue *)iface, count, lists);
}

/* For tests: how many objects of this library live in the process. */
EXPORT uint32_t AnydmlLiveObjects(void);

uint32_t AnydmlLiveObjects(void)
{
    return com_live_objects();
}
