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

void d3d_warn(struct d3d_device *device, D3D12_MESSAGE_ID id, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    d3d_message(device, D3D12_MESSAGE_SEVERITY_WARNING, d3d_message_category(id), id, text);
}

D3D12_MESSAGE_CATEGORY d3d_message_category(D3D12_MESSAGE_ID id)
{
    switch ((int)id) {
    case D3D12_MESSAGE_ID_UNKNOWN:
        return D3D12_MESSAGE_CATEGORY_MISCELLANEOUS;
    case D3D12_MESSAGE_ID_INVALID_SUBRESOURCE_STATE:
    case D3D12_MESSAGE_ID_COMMAND_ALLOCATOR_CONTENTION:
    case D3D12_MESSAGE_ID_COMMAND_ALLOCATOR_CANNOT_RESET:
    case D3D12_MESSAGE_ID_COMMAND_LIST_OPEN:
    case D3D12_MESSAGE_ID_COMMAND_LIST_CLOSED:
    case D3D12_MESSAGE_ID_COMMAND_LIST_OUTOFMEMORY:
    case D3D12_MESSAGE_ID_WRONG_COMMAND_ALLOCATOR_TYPE:
    case D3D12_MESSAGE_ID_SET_DESCRIPTOR_HEAP_INVALID:
    case D3D12_MESSAGE_ID_BEGIN_END_QUERY_INVALID_PARAMETERS:
    case D3D12_MESSAGE_ID_RESOLVE_QUERY_DATA_INVALID_PARAMETERS:
    case D3D12_MESSAGE_ID_EXECUTECOMMANDLISTS_OPENCOMMANDLIST:
    case D3D12_MESSAGE_ID_CLEAR_UNORDERED_ACCESS_VIEW_INVALID_DESCRIPTOR_HANDLE:
    case D3D12_MESSAGE_ID_CLEARUNORDEREDACCESSVIEW_INVALID_RESOURCE_PTR:
    case D3D12_MESSAGE_ID_COMMAND_LIST_SYNC:
    case D3D12_MESSAGE_ID_FENCE_INVALIDOPERATION:
    case D3D12_MESSAGE_ID_SETEVENTONMULTIPLEFENCECOMPLETION_INVALIDFLAGS:
        return D3D12_MESSAGE_CATEGORY_EXECUTION;
    case D3D12_MESSAGE_ID_CREATESHADERRESOURCEVIEW_INVALIDDESC:
    case D3D12_MESSAGE_ID_CREATEUNORDEREDACCESSVIEW_INVALIDDESC:
    case D3D12_MESSAGE_ID_CREATEUNORDEREDACCESSVIEW_INVALIDRESOURCE:
    case D3D12_MESSAGE_ID_CREATE_DESCRIPTOR_HEAP_INVALID_DESC:
    case D3D12_MESSAGE_ID_CREATE_DESCRIPTOR_HEAP_LARGE_NUM_DESCRIPTORS:
    case D3D12_MESSAGE_ID_CREATEQUERY_HEAP_INVALID_PARAMETERS:
    case D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDCLEARVALUE:
    case D3D12_MESSAGE_ID_COPY_DESCRIPTORS_INVALID_RANGES:
    case D3D12_MESSAGE_ID_CREATE_CONSTANT_BUFFER_VIEW_INVALID_DESC:
    case D3D12_MESSAGE_ID_INVALID_NODE_INDEX:
    case D3D12_MESSAGE_ID_CREATE_QUEUE_INVALID_TYPE:
    case D3D12_MESSAGE_ID_CREATE_QUEUE_INVALID_FLAGS:
    case D3D12_MESSAGE_ID_CREATE_QUEUE_INVALID_PRIORITY:
    case D3D12_MESSAGE_ID_CREATE_FENCE_INVALID_FLAGS:
    case D3D12_MESSAGE_ID_CREATE_COMMAND_LIST_INVALID_COMMAND_LIST_TYPE:
    case D3D12_MESSAGE_ID_CREATECOMMANDLIST_NULL_COMMANDALLOCATOR:
    case D3D12_MESSAGE_ID_GETRESOURCEALLOCATIONINFO_INVALIDRDESCS:
    case D3D12_MESSAGE_ID_GETCOPYABLEFOOTPRINTS_INVALIDSUBRESOURCERANGE:
    case D3D12_MESSAGE_ID_META_COMMAND_ID_INVALID:
    case D3D12_MESSAGE_ID_META_COMMAND_FAILED_ENUMERATION:
        return D3D12_MESSAGE_CATEGORY_STATE_CREATION;
    }
    if ((id >= D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDDIMENSIONS &&
         id <= D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDDESC) ||
        (id >= D3D12_MESSAGE_ID_CREATEHEAP_NULLDESC &&
         id <= D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_OUTOFMEMORY_RETURN) ||
        (id >= D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_NULLRESOURCEPROPERTIES &&
         id <= D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_NULLHEAP) ||
        (id >= D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDDIMENSIONALITY &&
         id <= D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDLAYOUT) ||
        (id >= D3D12_MESSAGE_ID_CREATE_ROOT_SIGNATURE_BLOB_NOT_FOUND &&
         id <= D3D12_MESSAGE_ID_CREATE_ROOT_SIGNATURE_NOT_SUPPORTED_ON_DEVICE) ||
        (id >= D3D12_MESSAGE_ID_OPENEXISTINGHEAP_INVALIDARG_RETURN &&
         id <= D3D12_MESSAGE_ID_OPENEXISTINGHEAP_INVALIDHANDLE) ||
        id == D3D12_MESSAGE_ID_OPENEXISTINGHEAP_UNSUPPORTED)
        return D3D12_MESSAGE_CATEGORY_STATE_CREATION;
    return D3D12_MESSAGE_CATEGORY_RESOURCE_MANIPULATION;
}

static void report_error(struct d3d_device *device, D3D12_MESSAGE_ID id, const char *format, va_list args)
{
    char text[1024];
    vsnprintf(text, sizeof(text), format, args);
    d3d_message(device, D3D12_MESSAGE_SEVERITY_ERROR, d3d_message_category(id), id, text);
}

HRESULT d3d_fail(struct d3d_device *device, HRESULT hr, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report_error(device, D3D12_MESSAGE_ID_UNKNOWN, format, args);
    va_end(args);
    return hr;
}

HRESULT d3d_fail_as(struct d3d_device *device, HRESULT hr, D3D12_MESSAGE_ID id, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report_error(device, id, format, args);
    va_end(args);
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
