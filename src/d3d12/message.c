/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "d3d12/objects.h"

#include <stdarg.h>
#include <stdio.h>

void d3d_message(struct d3d_device *device, D3D12_MESSAGE_SEVERITY severity, D3D12_MESSAGE_CATEGORY category,
                 D3D12_MESSAGE_ID id, const char *text)
{
    enum base_log_level level = BASE_LOG_INFO;
    if (severity == D3D12_MESSAGE_SEVERITY_CORRUPTION || severity == D3D12_MESSAGE_SEVERITY_ERROR)
        level = BASE_LOG_ERROR;
    else if (severity == D3D12_MESSAGE_SEVERITY_WARNING)
        level = BASE_LOG_WARN;
    if (!device->info_queue || !d3d_info_queue_muted(device->info_queue))
        base_log(level, "%s", text);
    if (device->info_queue)
        d3d_info_queue_add(device->info_queue, category, severity, id, text);
}

void d3d_warn(struct d3d_device *device, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    d3d_message(device, D3D12_MESSAGE_SEVERITY_WARNING, D3D12_MESSAGE_CATEGORY_MISCELLANEOUS, D3D12_MESSAGE_ID_UNKNOWN,
                text);
}

HRESULT d3d_fail(struct d3d_device *device, HRESULT hr, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    d3d_message(device, D3D12_MESSAGE_SEVERITY_ERROR, D3D12_MESSAGE_CATEGORY_MISCELLANEOUS, D3D12_MESSAGE_ID_UNKNOWN,
                text);
    return hr;
}

HRESULT d3d_not_implemented(struct d3d_device *device, const char *method)
{
    return d3d_fail(device, E_NOTIMPL, "%s: not part of this compute-only runtime", method);
}

HRESULT d3d_create_begin(struct d3d_device *device, void **out)
{
    if (out)
        *out = NULL;
    return d3d_removed(device) ? DXGI_ERROR_DEVICE_REMOVED : S_OK;
}

HRESULT d3d_create_begin_strict(struct d3d_device *device, const char *method, void **out)
{
    HRESULT hr = d3d_create_begin(device, out);
    if (SUCCEEDED(hr) && !out)
        hr = d3d_fail(device, E_INVALIDARG, "%s: the output pointer is NULL", method);
    return hr;
}
