/* SPDX-License-Identifier: Apache-2.0 */
/* OrtEpFactory and OrtEp: thin shells around the other files. */
#include "host.h"
#include "memory.h"
#include "profile.h"
#include "telemetry/telemetry.h"

#include <stdio.h>
#include <stdlib.h>

static struct ep_factory *factory_of(const OrtEpFactory *base)
{
    return container_of(base, struct ep_factory, base);
}

static struct ep *ep_of(const OrtEp *base)
{
    return container_of(base, struct ep, base);
}

/* ---- OrtEp ---- */

static const char *ORT_API_CALL ep_get_name(const OrtEp *base) NO_EXCEPTION
{
    return ep_of(base)->factory->provider->name;
}

static OrtStatus *ORT_API_CALL ep_capability(OrtEp *base, const OrtGraph *graph,
                                             OrtEpGraphSupportInfo *info) NO_EXCEPTION
{
    return ep_get_capability(ep_of(base), graph, info);
}

static OrtStatus *ORT_API_CALL ep_compile_all(OrtEp *base, const OrtGraph **graphs, const OrtNode **fused, size_t count,
                                              OrtNodeComputeInfo **infos, OrtNode **contexts) NO_EXCEPTION
{
    return ep_compile(ep_of(base), graphs, fused, count, infos, contexts);
}

static void ORT_API_CALL ep_release_all(OrtEp *base, OrtNodeComputeInfo **infos, size_t count) NO_EXCEPTION
{
    (void)base;
    ep_release_infos(infos, count);
}

static OrtStatus *ORT_API_CALL ep_concurrent(OrtEp *base, bool *out) NO_EXCEPTION
{
    (void)base;
    *out = true;
    return NULL;
}

static OrtStatus *ORT_API_CALL ep_profiler(OrtEp *base, OrtEpProfilerImpl **out) NO_EXCEPTION
{
    return ep_profile_create(ep_of(base), out);
}

/* Sessions use plain host memory, like the CPU provider and the host itself: nothing is copied in between, and control
 * flow passes results on directly. Sessions with device tensors use the device's memory. */
static OrtStatus *ORT_API_CALL ep_default_memory(const OrtEp *base, const OrtMemoryDevice **out) NO_EXCEPTION
{
    const struct ep_factory *factory = ep_of(base)->factory;
    const struct ep_memory *memory = ep_of(base)->tensors;
    *out = factory->ep->MemoryInfo_GetMemoryDevice(memory ? memory->device : factory->plain);
    return NULL;
}

static OrtStatus *ORT_API_CALL ep_create_allocator(OrtEp *base, const OrtMemoryInfo *info,
                                                   OrtAllocator **out) NO_EXCEPTION
{
    return ep_allocator_create(ep_of(base)->factory, info, ep_of(base)->options.arena_max, out);
}

/* The run option lists devices as "cpu:0;gpu:0". */
static OrtStatus *ORT_API_CALL ep_run_end(OrtEp *base, const OrtRunOptions *options, bool sync) NO_EXCEPTION
{
    const struct ep *ep = ep_of(base);
    const char *kind = ep->device->onnx->host_memory ? "cpu:" : "gpu:";
    const char *list =
        options ? ep->factory->ort->GetRunConfigEntry(options, "memory.enable_memory_arena_shrinkage") : NULL;
    (void)sync; /* runs return when their work is complete */
    if (list && strstr(list, kind))
        onnx_pool_trim(ep->pool);
    return NULL;
}

static const char *ORT_API_CALL ep_compatibility(OrtEp *base, const OrtGraph *graph) NO_EXCEPTION
{
    (void)graph; /* it depends on the device only */
    return ep_of(base)->made_for;
}

static void ep_destroy(struct ep *ep)
{
    onnx_pool_destroy(ep->pool);
    base_names_finish(&ep->left);
    base_names_finish(&ep->initializers);
    base_arena_finish(&ep->names);
    ep_replaced_finish(ep);
    ep_device_close(ep->device);
    free(ep);
}

/* ---- OrtEpFactory ---- */

static const char *ORT_API_CALL factory_name(const OrtEpFactory *base) NO_EXCEPTION
{
    return factory_of(base)->provider->name;
}

static const char *ORT_API_CALL factory_vendor(const OrtEpFactory *base) NO_EXCEPTION
{
    (void)base;
    return "AnyDML";
}

static uint32_t ORT_API_CALL factory_vendor_id(const OrtEpFactory *base) NO_EXCEPTION
{
    (void)base;
    return 0; /* no hardware vendor */
}

static const char *ORT_API_CALL factory_version(const OrtEpFactory *base) NO_EXCEPTION
{
    (void)base;
    return EP_VERSION;
}

static OrtStatus *ORT_API_CALL factory_devices(OrtEpFactory *base, const OrtHardwareDevice *const *hardware,
                                               size_t count, OrtEpDevice **out, size_t capacity,
                                               size_t *out_count) NO_EXCEPTION
{
    return ep_find_devices(factory_of(base), hardware, count, out, capacity, out_count);
}

/* The adapter's device, or the one passed by the caller. */
static OrtStatus *open_device(struct ep *ep)
{
    IDMLDevice *dml = NULL;
    ID3D12CommandQueue *queue = NULL;
    struct ep_factory *factory = ep->factory;
    if (ep->options.handle && !ep_handle_get(ep->options.handle, &dml, &queue))
        return ep_status(factory, ORT_INVALID_ARGUMENT, "the device of the session's options is not known (any more)");
    OrtStatus *status =
        dml ? ep_device_wrap(factory, dml, &ep->device) : ep_device_open(factory, ep->options.adapter, &ep->device);
    if (!status && FAILED(onnx_pool_create(ep->device->onnx, ep->options.arena_max, &ep->pool)))
        status = ep_status(factory, ORT_FAIL, "out of memory");
    if (!status && ep->options.resident_caches && !ep->options.device_tensors &&
        FAILED(onnx_pool_keep_caches(ep->pool)))
        status = ep_status(factory, ORT_FAIL, "out of memory");
    if (!status && queue)
        onnx_pool_use_queue(ep->pool, queue);
    if (dml) {
        IDMLDevice_Release(dml);
        ID3D12CommandQueue_Release(queue);
    }
    return status;
}

/* The memory of the adapter's device, or of the caller's, as described to the host. */
static OrtStatus *choose_tensors(struct ep *ep)
{
    const struct ep_memory *memory = ep_memory_find(ep->factory, ep->options.adapter);
    if (!ep->options.device_tensors || ep->device->onnx->host_memory)
        return NULL;
    if (!memory || !memory->device)
        return ep->options.handle
                   ? NULL
                   : ep_status(ep->factory, ORT_NOT_IMPLEMENTED, "device_tensors needs ONNX Runtime 1.%d or newer",
                               EP_VERSION_DEFAULT_MEMORY);
    if (ep->options.adapter != ep->options.given) /* the host queries allocators at its OrtEpDevice */
        return ep_status(ep->factory, ORT_INVALID_ARGUMENT,
                         "device_tensors is for the device that the session was made with, %u, not for %u",
                         ep->options.given, ep->options.adapter);
    ep->tensors = memory;
    return NULL;
}

static OrtStatus *ORT_API_CALL factory_create_ep(OrtEpFactory *base, const OrtHardwareDevice *const *devices,
                                                 const OrtKeyValuePairs *const *metadata, size_t count,
                                                 const OrtSessionOptions *options, const OrtLogger *logger,
                                                 OrtEp **out) NO_EXCEPTION
{
    struct ep_factory *factory = factory_of(base);
    struct ep *ep = calloc(1, sizeof(*ep));
    (void)devices;
    *out = NULL;
    if (!ep)
        return ep_status(factory, ORT_FAIL, "out of memory");
    ep->factory = factory;
    ep->logger = logger;
    ep->base.ort_version_supported = factory->version;
    ep->base.GetName = ep_get_name;
    ep->base.GetCapability = ep_capability;
    ep->base.Compile = ep_compile_all;
    ep->base.ReleaseNodeComputeInfos = ep_release_all;
    ep->base.IsConcurrentRunSupported = ep_concurrent;
    ep->base.CreateProfiler = ep_profiler;
    ep->base.CreateAllocator = ep_create_allocator;
    ep->base.OnRunEnd = ep_run_end;
    ep->base.GetDefaultMemoryDevice = ep_default_memory;
    ep->base.GetCompiledModelCompatibilityInfo = ep_compatibility;
    OrtStatus *status = ep_read_options(factory, options, count ? metadata[0] : NULL, &ep->options);
    if (!status)
        status = open_device(ep);
    if (!status)
        status = choose_tensors(ep);
    if (!status)
        status = ep_replaced_start(ep, options);
    if (!status)
        ep_device_identity(ep->options.adapter, ep->made_for);
    if (status)
        ep_destroy(ep);
    else
        *out = &ep->base;
    if (!status && telemetry_is_on())
        telemetry_record("onnxruntime", ep_adapter_kind(ep->options.adapter));
    return status;
}

static void ORT_API_CALL factory_release_ep(OrtEpFactory *base, OrtEp *ep) NO_EXCEPTION
{
    (void)base;
    if (ep)
        ep_destroy(ep_of(ep));
}

static OrtStatus *ORT_API_CALL factory_transfer(OrtEpFactory *base, OrtDataTransferImpl **out) NO_EXCEPTION
{
    return ep_transfer_create(factory_of(base), out);
}

static OrtStatus *ORT_API_CALL factory_create_allocator(OrtEpFactory *base, const OrtMemoryInfo *info,
                                                        const OrtKeyValuePairs *options,
                                                        OrtAllocator **out) NO_EXCEPTION
{
    struct ep_factory *factory = factory_of(base);
    uint64_t limit = EP_ARENA_LIMIT;
    *out = NULL;
    OrtStatus *status =
        ep_read_limit(factory, options ? factory->ort->GetKeyValue(options, "arena_limit") : NULL, &limit);
    return status ? status : ep_allocator_create(factory, info, limit, out);
}

static void ORT_API_CALL factory_release_allocator(OrtEpFactory *base, OrtAllocator *allocator) NO_EXCEPTION
{
    (void)base;
    ep_allocator_destroy(allocator);
}

static bool ORT_API_CALL factory_streams(const OrtEpFactory *base) NO_EXCEPTION
{
    (void)base;
    return false;
}

static OrtStatus *ORT_API_CALL factory_validate(OrtEpFactory *base, const OrtHardwareDevice *const *devices,
                                                size_t count, const char *made_for,
                                                OrtCompiledModelCompatibility *out) NO_EXCEPTION
{
    static const OrtCompiledModelCompatibility answers[] = {
        [EP_CONTEXT_FOREIGN] = OrtCompiledModelCompatibility_EP_UNSUPPORTED,
        [EP_CONTEXT_FITS] = OrtCompiledModelCompatibility_EP_SUPPORTED_PREFER_RECOMPILATION,
        [EP_CONTEXT_SAME] = OrtCompiledModelCompatibility_EP_SUPPORTED_OPTIMAL,
    };
    *out = made_for && made_for[0] ? answers[ep_hardware_fit(factory_of(base), devices, count, made_for)]
                                   : OrtCompiledModelCompatibility_EP_NOT_APPLICABLE;
    return NULL;
}

static void factory_fill(struct ep_factory *factory)
{
    OrtEpFactory *base = &factory->base;
    base->ort_version_supported = factory->version;
    base->GetName = factory_name;
    base->GetVendor = factory_vendor;
    base->GetVendorId = factory_vendor_id;
    base->GetVersion = factory_version;
    base->GetSupportedDevices = factory_devices;
    base->CreateEp = factory_create_ep;
    base->ReleaseEp = factory_release_ep;
    base->CreateAllocator = factory_create_allocator;
    base->ReleaseAllocator = factory_release_allocator;
    base->CreateDataTransfer = factory_transfer;
    base->IsStreamAware = factory_streams;
    base->ValidateCompiledModelCompatibilityInfo = factory_validate;
}

/* ---- exports of the library ---- */

/* ONNX Runtime's headers declare only the types of these. */
ORT_EXPORT OrtStatus *ORT_API_CALL CreateEpFactories(const char *name, const OrtApiBase *base, const OrtLogger *logger,
                                                     OrtEpFactory **factories, size_t capacity, size_t *count);
ORT_EXPORT OrtStatus *ORT_API_CALL ReleaseEpFactory(OrtEpFactory *base);

static void factory_destroy(struct ep_factory *factory)
{
    ep_memory_finish(factory);
    if (factory->plain)
        factory->ort->ReleaseMemoryInfo(factory->plain);
    free(factory);
    ep_host_leave();
}

static OrtStatus *factory_create(const struct ep_provider *provider, const OrtApiBase *base, const OrtLogger *logger,
                                 OrtEpFactory **out)
{
    struct ep_factory *factory = calloc(1, sizeof(*factory));
    uint32_t version;
    const OrtApi *ort = ep_host_newest(base, &version);
    if (!factory)
        return ort->CreateStatus(ORT_FAIL, EP_NAME ": out of memory");
    factory->provider = provider;
    factory->ort = ort;
    factory->ep = ort->GetEpApi();
    factory->version = version;
    factory->logger = logger;
    factory_fill(factory);
    ep_host_enter(base);
    OrtStatus *status = ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &factory->plain);
    if (status)
        factory_destroy(factory);
    else
        *out = &factory->base;
    return status;
}

ORT_EXPORT OrtStatus *ORT_API_CALL CreateEpFactories(const char *name, const OrtApiBase *base, const OrtLogger *logger,
                                                     OrtEpFactory **factories, size_t capacity, size_t *count)
{
    const struct ep_provider *const providers[] = { &ep_provider_own, &ep_provider_windows };
    uint32_t version;
    const OrtApi *ort = ep_host_newest(base, &version);
    OrtStatus *status = NULL;
    (void)name; /* of the registration */
    *count = 0;
    if (!ort) {
        ort = base->GetApi(1);
        return ort->CreateStatus(ORT_NOT_IMPLEMENTED, EP_NAME ": ONNX Runtime 1.23 or newer is needed");
    }
    if (capacity < ARRAY_SIZE(providers))
        return ort->CreateStatus(ORT_INVALID_ARGUMENT, EP_NAME ": the array is too small for two factories");
    for (size_t i = 0; i < ARRAY_SIZE(providers) && !status; i++) {
        status = factory_create(providers[i], base, logger, &factories[i]);
        *count += !status;
    }
    while (status && *count)
        factory_destroy(factory_of(factories[--*count]));
    return status;
}

ORT_EXPORT OrtStatus *ORT_API_CALL ReleaseEpFactory(OrtEpFactory *base)
{
    if (base)
        factory_destroy(factory_of(base));
    return NULL;
}
