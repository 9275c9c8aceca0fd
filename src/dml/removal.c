/* SPDX-License-Identifier: Apache-2.0 */
/* Device removal: one reason, set once and never reset; afterwards, most methods do nothing. */
#include "dml/message.h"

#include "base/log.h"

static bool set_reason(struct dml_device *device, HRESULT reason)
{
    HRESULT alive = S_OK;
    return atomic_compare_exchange_strong(&device->reason, &alive, reason);
}

HRESULT dml_device_reason(struct dml_device *device)
{
    HRESULT reason = atomic_load(&device->reason);
    if (reason != S_OK)
        return reason;
    HRESULT parent = device->d3d12->lpVtbl->GetRemovedReason(device->d3d12);
    if (SUCCEEDED(parent))
        return S_OK;
    set_reason(device, parent);
    return atomic_load(&device->reason);
}

void dml_device_remove(struct dml_device *device, void *object, HRESULT reason, const char *format, ...)
{
    char text[DML_MESSAGE_BYTES];
    va_list args;
    if (!set_reason(device, reason))
        return;
    va_start(args, format);
    dml_message_format(text, object ? object : device, format, args);
    va_end(args);
    /* Many clients print only the code: the text must be logged. */
    if (atomic_load(&device->muted))
        base_log(BASE_LOG_ERROR, "the DirectML device is removed: %s", text);
    else
        device->d3d12->lpVtbl->Message(device->d3d12, D3D12_MESSAGE_SEVERITY_ERROR, text);
}

void dml_device_remove_parent(struct dml_device *device, void *object, HRESULT reason, const char *format, ...)
{
    char text[DML_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    dml_message_format(text, object ? object : device, format, args);
    va_end(args);
    set_reason(device, reason);
    device->d3d12->lpVtbl->RemoveDevice(device->d3d12, reason, text);
}

HRESULT dml_create_begin(struct dml_device *device, void **out)
{
    if (out)
        *out = NULL;
    return dml_device_removed(device) ? DXGI_ERROR_DEVICE_REMOVED : S_OK;
}

HRESULT dml_create_begin_strict(struct dml_device *device, const char *method, void **out)
{
    HRESULT hr = dml_create_begin(device, out);
    if (SUCCEEDED(hr) && !out)
        hr = dml_fail(device, NULL, E_INVALIDARG, "%s: ppv is NULL", method);
    return hr;
}
