/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between the provider's memory and the CPU provider's. */
#include "memory.h"

#include <stdlib.h>

struct transfer {
    OrtDataTransferImpl base;
    struct ep_factory *factory;
};

static struct transfer *transfer_of(const OrtDataTransferImpl *base)
{
    return container_of(base, struct transfer, base);
}

/* Memory of the provider by name only: only addresses of buffers are known to be host addresses. */
static bool is_device(const struct ep_factory *factory, const OrtMemoryDevice *device)
{
    const OrtEpApi *ep = factory->ep;
    return ep->MemoryDevice_GetDeviceType(device) == OrtMemoryInfoDeviceType_GPU &&
           ep->MemoryDevice_GetMemoryType(device) == OrtDeviceMemoryType_DEFAULT &&
           ep->MemoryDevice_GetVendorId(device) == EP_VENDOR_MICROSOFT &&
           ep_memory_find(factory, ep->MemoryDevice_GetDeviceId(device));
}

static bool is_cpu(const struct ep_factory *factory, const OrtMemoryDevice *device)
{
    return factory->ep->MemoryDevice_GetDeviceType(device) == OrtMemoryInfoDeviceType_CPU;
}

static bool is_host_accessible(const struct ep_factory *factory, const OrtMemoryDevice *device)
{
    return is_cpu(factory, device) &&
           factory->ep->MemoryDevice_GetMemoryType(device) == OrtDeviceMemoryType_HOST_ACCESSIBLE &&
           factory->ep->MemoryDevice_GetVendorId(device) == EP_VENDOR_MICROSOFT;
}

static bool ORT_API_CALL transfer_can_copy(const OrtDataTransferImpl *base, const OrtMemoryDevice *from,
                                           const OrtMemoryDevice *to) NO_EXCEPTION
{
    const struct ep_factory *f = transfer_of(base)->factory;
    bool ours = is_device(f, from) || is_device(f, to) || is_host_accessible(f, from) || is_host_accessible(f, to);
    return ours && (is_device(f, from) || is_cpu(f, from)) && (is_device(f, to) || is_cpu(f, to));
}

static OrtStatus *check(const struct ep_factory *factory, const OrtValue *value, const void *data, size_t bytes)
{
    if (!is_device(factory, factory->ep->Value_GetMemoryDevice(value)) || ep_block_covers(data, bytes))
        return NULL;
    return ep_status(factory, ORT_INVALID_ARGUMENT,
                     "a tensor of %zu bytes in memory \"DML\" is not in an allocation of the provider", bytes);
}

static OrtStatus *copy(const struct ep_factory *factory, const OrtValue *from, OrtValue *to)
{
    const OrtApi *ort = factory->ort;
    const void *source = NULL;
    void *target = NULL;
    size_t bytes = 0, room = 0;
    TRY(ort->GetTensorSizeInBytes(from, &bytes));
    TRY(ort->GetTensorSizeInBytes(to, &room));
    if (bytes != room)
        return ep_status(factory, ORT_INVALID_ARGUMENT, "a tensor of %zu bytes cannot be copied to one of %zu", bytes,
                         room);
    TRY(ort->GetTensorData(from, &source));
    TRY(ort->GetTensorMutableData(to, &target));
    if (!bytes)
        return NULL;
    TRY(check(factory, from, source, bytes));
    TRY(check(factory, to, target, bytes));
    HRESULT hr = ep_block_copy(target, source, bytes);
    return FAILED(hr) ? ep_status(factory, ORT_FAIL, "a copy of %zu bytes failed (0x%08x)", bytes, (unsigned)hr) : NULL;
}

static OrtStatus *ORT_API_CALL transfer_copy(OrtDataTransferImpl *base, const OrtValue **from, OrtValue **to,
                                             OrtSyncStream **streams, size_t count) NO_EXCEPTION
{
    (void)streams;
    for (size_t i = 0; i < count; i++)
        TRY(copy(transfer_of(base)->factory, from[i], to[i]));
    return NULL;
}

static void ORT_API_CALL transfer_release(OrtDataTransferImpl *base) NO_EXCEPTION
{
    free(transfer_of(base));
}

OrtStatus *ep_transfer_create(struct ep_factory *factory, OrtDataTransferImpl **out)
{
    struct transfer *t = calloc(1, sizeof(*t));
    *out = NULL;
    if (!t)
        return ep_status(factory, ORT_FAIL, "out of memory");
    t->base.ort_version_supported = factory->version;
    t->base.CanCopy = transfer_can_copy;
    t->base.CopyTensors = transfer_copy;
    t->base.Release = transfer_release;
    t->factory = factory;
    *out = &t->base;
    return NULL;
}
