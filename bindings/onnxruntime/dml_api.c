/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of ONNX Runtime's DirectML provider for C programs (include/dml_provider_factory.h). */
#define _GNU_SOURCE
#include "host.h"
#include "memory.h"

#include "include/dml_provider_factory.h"

#include <anydml.h>
#include <anydml_d3d12.h>
#include <DirectMLGuids.h>

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* For messages. A host that is too old can still create statuses. */
static bool find_host(struct ep_factory *out, const char *caller)
{
    const OrtApiBase *base = ep_host_base();
    *out = (struct ep_factory){ .provider = &ep_provider_windows };
    if (base)
        out->ort = ep_host_newest(base, &out->version);
    if (!out->ort && base) {
        out->ort = base->GetApi(1);
        out->version = 0;
    }
    /* Without ONNX Runtime, no status can be created to report it. */
    if (!out->ort)
        fprintf(stderr, EP_NAME_WINDOWS ": %s had no effect: ONNX Runtime was not found in the process\n", caller);
    return out->ort != NULL;
}

static OrtStatus *check_host(const struct ep_factory *host)
{
    return host->version >= EP_OLDEST_VERSION
               ? NULL
               : ep_status(host, ORT_NOT_IMPLEMENTED, "ONNX Runtime 1.%d or newer is needed", EP_OLDEST_VERSION);
}

static OrtStatus *missing(const struct ep_factory *host, const char *what)
{
    return ep_status(host, ORT_INVALID_ARGUMENT, "%s is NULL", what);
}

static void release(void *object)
{
    if (object)
        IUnknown_Release((IUnknown *)object);
}

/* ---- registration ---- */

static OrtStatus *register_in(const struct ep_factory *host, OrtEnv *env)
{
    Dl_info info;
    char path[PATH_MAX];
    if (!dladdr((void *)&register_in, &info) || !realpath(info.dli_fname, path))
        return ep_status(host, ORT_FAIL, "the library's own path is not known");
    return host->ort->RegisterExecutionProviderLibrary(env, "anydml.dml", path);
}

/* ONNX Runtime has one environment; creating it again returns the existing one. One that is created by this call ends
 * with it, and so does the factory: the caller does not have one. */
static OrtStatus *ensure_registered(const struct ep_factory *host)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    OrtEnv *env = NULL;
    OrtStatus *status = NULL;
    pthread_mutex_lock(&lock);
    if (!ep_host_registered()) {
        status = host->ort->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "anydml", &env);
        if (!status)
            status = register_in(host, env);
        if (env)
            host->ort->ReleaseEnv(env);
        if (!status && !ep_host_registered())
            status = ep_status(host, ORT_FAIL, "no OrtEnv exists; create it before appending the provider");
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static const OrtEpDevice *find_device(const OrtApi *ort, const OrtEpDevice *const *devices, size_t count, uint32_t id)
{
    for (size_t i = 0; i < count; i++) {
        const char *own = NULL;
        if (!strcmp(ort->EpDevice_EpName(devices[i]), EP_NAME_WINDOWS))
            own = ort->GetKeyValue(ort->EpDevice_EpMetadata(devices[i]), "device_id");
        if (own && strtoul(own, NULL, 10) == id)
            return devices[i];
    }
    return NULL;
}

static OrtStatus *append(const struct ep_factory *host, OrtSessionOptions *options, uint32_t adapter, const char *key,
                         uint32_t value)
{
    const OrtApi *ort = host->ort;
    const OrtEpDevice *const *devices = NULL, *device = NULL;
    size_t count = 0;
    OrtEnv *env = NULL;
    char text[16];
    const char *values[] = { text };
    snprintf(text, sizeof(text), "%u", value);
    TRY(ensure_registered(host));
    TRY(ort->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "anydml", &env));
    OrtStatus *status = ort->GetEpDevices(env, &devices, &count);
    if (!status && !(device = find_device(ort, devices, count, adapter)))
        status = ep_status(host, ORT_INVALID_ARGUMENT, "device %u does not exist; found %u (anydml devices)", adapter,
                           ep_adapter_count());
    if (!status)
        status = ort->SessionOptionsAppendExecutionProvider_V2(options, env, &device, 1, &key, values, 1);
    ort->ReleaseEnv(env);
    return status;
}

/* ---- by number, by preference ---- */

_Static_assert(Default == (int)EP_DEFAULT && HighPerformance == (int)EP_HIGH_PERFORMANCE &&
                   MinimumPower == (int)EP_MINIMUM_POWER,
               "preferences are those of the C functions");

static OrtStatus *append_number(OrtSessionOptions *options, int device_id)
{
    struct ep_factory host;
    if (!find_host(&host, "SessionOptionsAppendExecutionProvider_DML"))
        return NULL;
    TRY(check_host(&host));
    if (!options)
        return missing(&host, "options");
    if (device_id < 0)
        return ep_status(&host, ORT_INVALID_ARGUMENT, "device_id is %d; it must not be negative", device_id);
    return append(&host, options, (uint32_t)device_id, "device_id", (uint32_t)device_id);
}

static OrtStatus *ORT_API_CALL append_dml(OrtSessionOptions *options, int device_id) NO_EXCEPTION
{
    return append_number(options, device_id);
}

static OrtStatus *ORT_API_CALL append_dml2(OrtSessionOptions *options, OrtDmlDeviceOptions *wishes) NO_EXCEPTION
{
    struct ep_factory host;
    uint32_t filter = wishes ? (uint32_t)wishes->Filter : (uint32_t)Any, adapter = UINT32_MAX;
    OrtDmlPerformancePreference preference = wishes ? wishes->Preference : Default;
    if (!find_host(&host, "SessionOptionsAppendExecutionProvider_DML2"))
        return NULL;
    TRY(check_host(&host));
    if (!options)
        return missing(&host, "options");
    if (!filter || (filter != (uint32_t)Any && filter & ~(uint32_t)(Gpu | Npu)))
        return ep_status(&host, ORT_INVALID_ARGUMENT, "Filter is 0x%x; must be Gpu, Npu, both or Any", filter);
    if ((uint32_t)preference > MinimumPower)
        return ep_status(&host, ORT_INVALID_ARGUMENT, "Preference is %d; must be 0 to 2", (int)preference);
    if (filter == (uint32_t)Any)
        adapter = ep_choose_adapter("any", (enum ep_preference)preference);
    if (adapter == UINT32_MAX && filter & Gpu)
        adapter = ep_choose_adapter("gpu", (enum ep_preference)preference);
    if (adapter == UINT32_MAX && filter & Npu)
        adapter = ep_choose_adapter("npu", (enum ep_preference)preference);
    if (adapter == UINT32_MAX)
        return ep_status(&host, ORT_INVALID_ARGUMENT, "no device passes Filter 0x%x (anydml devices)", filter);
    return append(&host, options, adapter, "device_id", adapter);
}

/* ---- on the caller's device ---- */

static OrtStatus *check_pair(const struct ep_factory *host, IDMLDevice *dml, ID3D12CommandQueue *queue,
                             uint32_t *out_adapter)
{
    ID3D12Device *parent = NULL, *of_queue = NULL;
    D3D12_COMMAND_QUEUE_DESC desc = ID3D12CommandQueue_GetDesc(queue);
    if (desc.Type != D3D12_COMMAND_LIST_TYPE_DIRECT && desc.Type != D3D12_COMMAND_LIST_TYPE_COMPUTE)
        return ep_status(host, ORT_INVALID_ARGUMENT, "cmd_queue is of type %d; it must be DIRECT or COMPUTE",
                         (int)desc.Type);
    IDMLDevice_GetParentDevice(dml, &IID_ID3D12Device, (void **)&parent);
    ID3D12CommandQueue_GetDevice(queue, &IID_ID3D12Device, (void **)&of_queue);
    bool same = parent && parent == of_queue;
    if (same)
        *out_adapter = ep_adapter_of(parent);
    release(parent);
    release(of_queue);
    return same ? NULL
                : ep_status(host, ORT_INVALID_ARGUMENT, "dml_device and cmd_queue are not of the same ID3D12Device");
}

static OrtStatus *append_pair(OrtSessionOptions *options, IDMLDevice *dml, ID3D12CommandQueue *queue)
{
    struct ep_factory host;
    uint32_t adapter = 0;
    if (!find_host(&host, "SessionOptionsAppendExecutionProvider_DML1"))
        return NULL;
    TRY(check_host(&host));
    if (!options || !dml || !queue)
        return missing(&host, !options ? "options" : !dml ? "dml_device" : "cmd_queue");
    TRY(check_pair(&host, dml, queue, &adapter));
    TRY(ensure_registered(&host)); /* first: the end of the last factory drops the handles */
    uint32_t handle = ep_handle_add(dml, queue);
    if (!handle)
        return ep_status(&host, ORT_FAIL, "out of memory");
    return append(&host, options, adapter, EP_HANDLE_OPTION, handle);
}

static OrtStatus *ORT_API_CALL append_dml1(OrtSessionOptions *options, IDMLDevice *dml,
                                           ID3D12CommandQueue *queue) NO_EXCEPTION
{
    return append_pair(options, dml, queue);
}

/* ---- devices and queues of sessions ---- */

static OrtStatus *read_option(const struct ep_factory *host, const OrtSessionOptions *options, const char *key,
                              bool *out_found, uint32_t *out)
{
    char name[64], value[32];
    size_t size = sizeof(value);
    int has = 0;
    *out_found = false;
    snprintf(name, sizeof(name), "%s%s", host->provider->options, key);
    TRY(host->ort->HasSessionConfigEntry(options, name, &has));
    if (!has)
        return NULL;
    TRY(host->ort->GetSessionConfigEntry(options, name, value, &size));
    *out = (uint32_t)strtoul(value, NULL, 10);
    *out_found = true;
    return NULL;
}

/* A device and a queue for options that name an adapter: from now on their sessions run on these. */
static OrtStatus *open_pair(const struct ep_factory *host, OrtSessionOptions *options, uint32_t adapter,
                            IDMLDevice **out_dml, ID3D12CommandQueue **out_queue)
{
    struct onnx_device *device = NULL;
    struct onnx_error error = { "" };
    D3D12_COMMAND_QUEUE_DESC desc = { .Type = D3D12_COMMAND_LIST_TYPE_COMPUTE };
    ID3D12CommandQueue *queue = NULL;
    char name[64], text[16];
    HRESULT hr = onnx_device_open(adapter, &device, &error);
    if (FAILED(hr))
        return ep_status_hr(host, hr, &error);
    hr = ID3D12Device_CreateCommandQueue(device->d3d, &desc, &IID_ID3D12CommandQueue, (void **)&queue);
    uint32_t handle = SUCCEEDED(hr) ? ep_handle_add((IDMLDevice *)device->dml, queue) : 0;
    snprintf(name, sizeof(name), "%s" EP_HANDLE_OPTION, host->provider->options);
    snprintf(text, sizeof(text), "%u", handle);
    OrtStatus *status =
        handle ? host->ort->AddSessionConfigEntry(options, name, text) : ep_status(host, ORT_FAIL, "out of memory");
    if (!status)
        ep_handle_get(handle, out_dml, out_queue);
    release(queue);
    onnx_device_close(device);
    return status;
}

static OrtStatus *get_pair(const struct ep_factory *host, OrtSessionOptions *options, IDMLDevice **out_dml,
                           ID3D12CommandQueue **out_queue)
{
    bool found;
    uint32_t value = 0;
    TRY(check_host(host));
    if (!options)
        return missing(host, "options");
    TRY(read_option(host, options, EP_HANDLE_OPTION, &found, &value));
    if (found)
        return ep_handle_get(value, out_dml, out_queue)
                   ? NULL
                   : ep_status(host, ORT_INVALID_ARGUMENT, "the options are of an OrtEnv that has ended");
    TRY(read_option(host, options, "device_id", &found, &value));
    return found ? open_pair(host, options, value, out_dml, out_queue)
                 : ep_status(host, ORT_INVALID_ARGUMENT, "the provider is not appended to the options");
}

static OrtStatus *ORT_API_CALL get_device(OrtSessionOptions *options, IDMLDevice **out) NO_EXCEPTION
{
    struct ep_factory host;
    ID3D12CommandQueue *queue = NULL;
    if (!find_host(&host, "GetDMLDevice"))
        return NULL;
    if (!out)
        return missing(&host, "dmlDevice");
    *out = NULL;
    OrtStatus *status = get_pair(&host, options, out, &queue);
    release(queue);
    return status;
}

static OrtStatus *ORT_API_CALL get_queue(OrtSessionOptions *options, ID3D12CommandQueue **out) NO_EXCEPTION
{
    struct ep_factory host;
    IDMLDevice *dml = NULL;
    if (!find_host(&host, "GetDMLCommandQueue"))
        return NULL;
    if (!out)
        return missing(&host, "dmlCommandQueue");
    *out = NULL;
    OrtStatus *status = get_pair(&host, options, &dml, out);
    release(dml);
    return status;
}

/* ---- memory ---- */

static OrtStatus *ORT_API_CALL create_allocation(ID3D12Resource *resource, void **out) NO_EXCEPTION
{
    struct ep_factory host;
    if (!find_host(&host, "CreateGPUAllocationFromD3DResource"))
        return NULL;
    if (!resource || !out)
        return missing(&host, resource ? "dml_resource" : "d3d_resource");
    HRESULT hr = ep_block_import(resource, out);
    if (hr == E_INVALIDARG)
        return ep_status(&host, ORT_INVALID_ARGUMENT,
                         "the resource is not a buffer, or another allocation has its address");
    return FAILED(hr) ? ep_status(&host, ORT_FAIL, "out of memory") : NULL;
}

static OrtStatus *ORT_API_CALL free_allocation(void *address) NO_EXCEPTION
{
    struct ep_factory host;
    if (!find_host(&host, "FreeGPUAllocation"))
        return NULL;
    return SUCCEEDED(ep_block_drop(address))
               ? NULL
               : ep_status(&host, ORT_INVALID_ARGUMENT, "%p is not of CreateGPUAllocationFromD3DResource", address);
}

static OrtStatus *ORT_API_CALL get_resource(OrtAllocator *allocator, void *address, ID3D12Resource **out) NO_EXCEPTION
{
    struct ep_factory host;
    (void)allocator; /* addresses are enough */
    if (!find_host(&host, "GetD3D12ResourceFromAllocation"))
        return NULL;
    if (!out)
        return missing(&host, "d3d_resource");
    *out = ep_block_resource(address);
    return *out ? NULL : ep_status(&host, ORT_INVALID_ARGUMENT, "%p is not an allocation of the provider", address);
}

/* ---- exports ---- */

ORT_API_STATUS_IMPL(OrtSessionOptionsAppendExecutionProvider_DML, OrtSessionOptions *options, int device_id)
{
    return append_number(options, device_id);
}

ORT_API_STATUS_IMPL(OrtSessionOptionsAppendExecutionProviderEx_DML, OrtSessionOptions *options, IDMLDevice *dml_device,
                    ID3D12CommandQueue *cmd_queue)
{
    return append_pair(options, dml_device, cmd_queue);
}

const OrtDmlApi *ORT_API_CALL OrtGetDmlApi(void)
{
    static const OrtDmlApi api = {
        .SessionOptionsAppendExecutionProvider_DML = append_dml,
        .SessionOptionsAppendExecutionProvider_DML1 = append_dml1,
        .CreateGPUAllocationFromD3DResource = create_allocation,
        .FreeGPUAllocation = free_allocation,
        .GetD3D12ResourceFromAllocation = get_resource,
        .SessionOptionsAppendExecutionProvider_DML2 = append_dml2,
        .GetDMLDevice = get_device,
        .GetDMLCommandQueue = get_queue,
    };
    const OrtApiBase *base = ep_host_base();
    uint32_t version;
    return base && ep_host_newest(base, &version) ? &api : NULL;
}
