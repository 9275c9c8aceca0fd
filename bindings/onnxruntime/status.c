/* SPDX-License-Identifier: Apache-2.0 */
#include "ep.h"

#include <stdarg.h>
#include <stdio.h>

OrtStatus *ep_status(const struct ep_factory *factory, OrtErrorCode code, const char *format, ...)
{
    char text[768];
    va_list args;
    int used = snprintf(text, sizeof(text), "%s: ", factory->provider->name);
    va_start(args, format);
    vsnprintf(text + used, sizeof(text) - (size_t)used, format, args);
    va_end(args);
    return factory->ort->CreateStatus(code, text);
}

OrtStatus *ep_status_hr(const struct ep_factory *factory, HRESULT hr, const struct onnx_error *error)
{
    OrtErrorCode code = hr == E_INVALIDARG ? ORT_INVALID_ARGUMENT : hr == E_OUTOFMEMORY ? ORT_FAIL : ORT_EP_FAIL;
    return ep_status(factory, code, "%s", error->text);
}

void ep_log(const struct ep *ep, OrtLoggingLevel level, const char *format, ...)
{
    const OrtApi *ort = ep->factory->ort;
    char text[768];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    OrtStatus *status = ort->Logger_LogMessage(ep->logger, level, text, ORT_FILE, __LINE__, "anydml");
    if (status)
        ort->ReleaseStatus(status);
}
