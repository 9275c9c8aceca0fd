/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/error.h"

#include "base/shown.h"

#include <stdarg.h>
#include <stdio.h>

bool tools_fail(struct tools_error *error, enum tools_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    error->code = code;
    error->parts = false;
    return false;
}

const char *tools_hresult_name(HRESULT hr)
{
    switch ((uint32_t)hr) {
    case (uint32_t)E_INVALIDARG:
        return "E_INVALIDARG";
    case (uint32_t)E_OUTOFMEMORY:
        return "E_OUTOFMEMORY";
    case (uint32_t)E_NOINTERFACE:
        return "E_NOINTERFACE";
    case (uint32_t)E_NOTIMPL:
        return "E_NOTIMPL";
    case (uint32_t)E_FAIL:
        return "E_FAIL";
    case 0x887A0001u:
        return "DXGI_ERROR_INVALID_CALL";
    case 0x887A0002u:
        return "DXGI_ERROR_NOT_FOUND";
    case 0x887A0004u:
        return "DXGI_ERROR_UNSUPPORTED";
    case 0x887A0005u:
        return "DXGI_ERROR_DEVICE_REMOVED";
    case 0x887A0006u:
        return "DXGI_ERROR_DEVICE_HUNG";
    case 0x887A0020u:
        return "DXGI_ERROR_DRIVER_INTERNAL_ERROR";
    default:
        return "error";
    }
}

bool tools_check(struct tools_error *error, HRESULT hr, const char *what)
{
    if (SUCCEEDED(hr))
        return true;
    return tools_fail(error, TOOLS_RUNTIME, "%s: %s (0x%08x); ANYDML_LOG=warn may say more", what,
                      tools_hresult_name(hr), (unsigned)hr);
}

bool tools_fail_memory(struct tools_error *error)
{
    return tools_fail(error, TOOLS_RUNTIME, "out of memory");
}

int tools_report(const char *program, const struct tools_error *error)
{
    char line[sizeof(error->text)];
    snprintf(line, sizeof(line), "%s", error->text);
    base_shown_line(line);
    fprintf(stderr, "%s: %s\n", program, line);
    return error->code;
}
