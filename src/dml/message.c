/* SPDX-License-Identifier: Apache-2.0 */
#include "dml/message.h"

#include <stdio.h>

#include "base/log.h"

void dml_message_format(char out[DML_MESSAGE_BYTES], void *object, const char *format, va_list args)
{
    char name[128];
    com_object_name(object, name, sizeof(name));
    int used = snprintf(out, DML_MESSAGE_BYTES, "%s: ", name);
    vsnprintf(out + used, DML_MESSAGE_BYTES - (size_t)used, format, args);
}

static void send(struct dml_device *device, void *object, D3D12_MESSAGE_SEVERITY severity, const char *format,
                 va_list args)
{
    char text[DML_MESSAGE_BYTES];
    dml_message_format(text, object ? object : device, format, args);
    if (device->debug)
        device->d3d12->lpVtbl->Message(device->d3d12, severity, text);
    else
        base_log(BASE_LOG_ERROR, "%s", text);
}

static bool wanted(struct dml_device *device, D3D12_MESSAGE_SEVERITY severity)
{
    if (device->debug)
        return !atomic_load(&device->muted);
    return severity <= D3D12_MESSAGE_SEVERITY_ERROR && base_log_enabled(BASE_LOG_ERROR);
}

#define SEND(SEVERITY)                                                                                                 \
    do {                                                                                                               \
        va_list args;                                                                                                  \
        if (!wanted(device, SEVERITY))                                                                                 \
            break;                                                                                                     \
        va_start(args, format);                                                                                        \
        send(device, object, SEVERITY, format, args);                                                                  \
        va_end(args);                                                                                                  \
    } while (0)

HRESULT dml_fail(struct dml_device *device, void *object, HRESULT hr, const char *format, ...)
{
    SEND(D3D12_MESSAGE_SEVERITY_ERROR);
    return hr;
}

void dml_error(struct dml_device *device, void *object, const char *format, ...)
{
    SEND(D3D12_MESSAGE_SEVERITY_ERROR);
}

void dml_warn(struct dml_device *device, void *object, const char *format, ...)
{
    SEND(D3D12_MESSAGE_SEVERITY_WARNING);
}

void dml_info(struct dml_device *device, void *object, const char *format, ...)
{
    SEND(D3D12_MESSAGE_SEVERITY_INFO);
}
