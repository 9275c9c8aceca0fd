/* SPDX-License-Identifier: Apache-2.0 */
/* Performance hints: accepted and ignored. */
#include "d3d12/device_methods.h"

#include "base/os.h"

HRESULT d3d_device_SetStablePowerState(D3D_DEVICE, BOOL enable)
{
    (void)enable; /* clocks are the system's business */
    return d3d_removed(d3d_device_from(iface)) ? DXGI_ERROR_DEVICE_REMOVED : S_OK;
}

/* There is no background work and no measurement: the event's condition is already satisfied. */
HRESULT d3d_device_SetBackgroundProcessingMode(D3D_DEVICE, D3D12_BACKGROUND_PROCESSING_MODE mode,
                                               D3D12_MEASUREMENTS_ACTION action, HANDLE event, BOOL *more)
{
    static const char method[] = "ID3D12Device6::SetBackgroundProcessingMode";
    struct d3d_device *device = d3d_device_from(iface);
    if (more)
        *more = FALSE;
    if (d3d_removed(device))
        return DXGI_ERROR_DEVICE_REMOVED;
    if ((unsigned)mode > D3D12_BACKGROUND_PROCESSING_MODE_DISABLE_PROFILING_BY_SYSTEM ||
        (unsigned)action > D3D12_MEASUREMENTS_ACTION_DISCARD_PREVIOUS)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_SET_BACKGROUND_PROCESSING_MODE_INVALID_ARGUMENT,
                           "%s: Mode %d or MeasurementsAction %d is unknown", method, (int)mode, (int)action);
    if (event && !base_event_set_handle(event))
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_SET_BACKGROUND_PROCESSING_MODE_INVALID_ARGUMENT,
                           "%s: hEvent %p is not usable as an eventfd", method, event);
    return S_OK;
}

HRESULT d3d_device_ShaderCacheControl(D3D_DEVICE, D3D12_SHADER_CACHE_KIND_FLAGS kinds,
                                      D3D12_SHADER_CACHE_CONTROL_FLAGS control)
{
    const unsigned kinds_known = 0xf, control_known = 0x7, both = 0x3; /* DISABLE and ENABLE */
    struct d3d_device *device = d3d_device_from(iface);
    if (d3d_removed(device))
        return DXGI_ERROR_DEVICE_REMOVED;
    if ((unsigned)kinds & ~kinds_known || (unsigned)control & ~control_known || ((unsigned)control & both) == both)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_SHADERCACHECONTROL_INVALIDFLAGS,
                           "ID3D12Device9::ShaderCacheControl: Kinds 0x%x, Control 0x%x: unknown bits, or DISABLE and "
                           "ENABLE together",
                           (unsigned)kinds, (unsigned)control);
    return S_OK; /* no shaders, no caches */
}
