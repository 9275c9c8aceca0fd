/* SPDX-License-Identifier: Apache-2.0 */
/* The adapters as ONNX Runtime sees them: one OrtEpDevice each. */
#include "memory.h"

#include "base/cpu.h"

#include <anydml.h>
#include <anydml_d3d12.h>
#include <anydml_dxcore.h>
#include <DirectMLGuids.h>

#include <stdio.h>
#include <stdlib.h>

struct adapter {
    char name[256];
    const char *kind; /* "cpu", "gpu" or "npu" */
    uint32_t vendor, device;
    uint64_t dedicated_bytes, shared_bytes;
    bool host_memory; /* what kernels work in is the host's own */
    LUID luid;
};

static void release(void *object)
{
    if (object)
        IUnknown_Release((IUnknown *)object);
}

static IDXCoreAdapterList *list_adapters(void)
{
    IDXCoreAdapterFactory *factory = NULL;
    IDXCoreAdapterList *list = NULL;
    if (SUCCEEDED(DXCoreCreateAdapterFactory(&IID_IDXCoreAdapterFactory, (void **)&factory)))
        IDXCoreAdapterFactory_CreateAdapterList(factory, 1, &DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE,
                                                &IID_IDXCoreAdapterList, (void **)&list);
    release(factory);
    return list;
}

/* CPU adapters of graphics drivers have their own memory. Only the device itself knows, and opening it is slow; but the
 * runtime's own adapter has the runtime's version, and a wrong guess is harmless: the device then rejects host
 * memory. */
static bool has_host_memory(IDXCoreAdapter *adapter)
{
    const uint64_t own = (uint64_t)ANYDML_VERSION_MAJOR << 48 | (uint64_t)ANYDML_VERSION_MINOR << 32 |
                         (uint64_t)ANYDML_VERSION_PATCH << 16;
    uint64_t version = 0;
    IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_DriverVersion, sizeof(version), &version);
    return version >> 16 == own >> 16;
}

static bool describe(IDXCoreAdapterList *list, uint32_t index, struct adapter *out)
{
    IDXCoreAdapter *adapter = NULL;
    DXCoreHardwareID id = { 0 };
    size_t size = 0;
    *out = (struct adapter){ .name = "unnamed", .kind = "cpu" };
    if (FAILED(IDXCoreAdapterList_GetAdapter(list, index, &IID_IDXCoreAdapter, (void **)&adapter)))
        return false;
    if (SUCCEEDED(IDXCoreAdapter_GetPropertySize(adapter, DXCoreAdapterProperty_DriverDescription, &size)) &&
        size <= sizeof(out->name))
        IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_DriverDescription, sizeof(out->name), out->name);
    IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_HardwareID, sizeof(id), &id);
    IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_InstanceLuid, sizeof(out->luid), &out->luid);
    IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_DedicatedAdapterMemory, sizeof(uint64_t),
                               &out->dedicated_bytes);
    IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_SharedSystemMemory, sizeof(uint64_t), &out->shared_bytes);
    out->vendor = id.vendorID;
    out->device = id.deviceID;
    if (IDXCoreAdapter_IsAttributeSupported(adapter, &DXCORE_HARDWARE_TYPE_ATTRIBUTE_GPU))
        out->kind = "gpu";
    else if (IDXCoreAdapter_IsAttributeSupported(adapter, &DXCORE_HARDWARE_TYPE_ATTRIBUTE_NPU))
        out->kind = "npu";
    else
        out->host_memory = has_host_memory(adapter);
    release(adapter);
    return true;
}

uint32_t ep_adapter_count(void)
{
    IDXCoreAdapterList *list = list_adapters();
    uint32_t count = list ? IDXCoreAdapterList_GetAdapterCount(list) : 0;
    release(list);
    return count;
}

const char *ep_adapter_kind(uint32_t index)
{
    IDXCoreAdapterList *list = list_adapters();
    struct adapter a = { .kind = "cpu" };
    if (list)
        describe(list, index, &a);
    release(list);
    return a.kind;
}

/* UINT32_MAX: the list does not have it. */
static uint32_t index_of(IDXCoreAdapterList *list, LUID luid)
{
    for (uint32_t i = 0; list && i < IDXCoreAdapterList_GetAdapterCount(list); i++) {
        IDXCoreAdapter *adapter = NULL;
        LUID own;
        if (FAILED(IDXCoreAdapterList_GetAdapter(list, i, &IID_IDXCoreAdapter, (void **)&adapter)))
            continue;
        const HRESULT hr = IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_InstanceLuid, sizeof(own), &own);
        release(adapter);
        if (SUCCEEDED(hr) && own.LowPart == luid.LowPart && own.HighPart == luid.HighPart)
            return i;
    }
    return UINT32_MAX;
}

uint32_t ep_adapter_of(ID3D12Device *d3d)
{
    IDXCoreAdapterList *list = list_adapters();
    const uint32_t found = index_of(list, ID3D12Device_GetAdapterLuid(d3d));
    release(list);
    return found == UINT32_MAX ? 0 : found;
}

/* The first that the filter lets through, in the order of the list, or in DXCore's order for the preference. */
uint32_t ep_choose_adapter(const char *filter, enum ep_preference preference)
{
    static const DXCoreAdapterPreference orders[] = { [EP_HIGH_PERFORMANCE] = DXCoreAdapterPreference_HighPerformance,
                                                      [EP_MINIMUM_POWER] = DXCoreAdapterPreference_MinimumPower };
    IDXCoreAdapterList *list = list_adapters(), *sorted = list_adapters();
    uint32_t best = UINT32_MAX;
    if (sorted && preference != EP_DEFAULT)
        IDXCoreAdapterList_Sort(sorted, 1, &orders[preference]);
    for (uint32_t i = 0; sorted && i < IDXCoreAdapterList_GetAdapterCount(sorted) && best == UINT32_MAX; i++) {
        struct adapter a;
        if (describe(sorted, i, &a) && (!strcmp(filter, "any") || !strcmp(filter, a.kind)))
            best = index_of(list, a.luid);
    }
    release(sorted);
    release(list);
    return best;
}

/* ---- OrtEpDevice ---- */

static OrtHardwareDeviceType hardware_type(const struct adapter *a)
{
    return !strcmp(a->kind, "gpu")   ? OrtHardwareDeviceType_GPU
           : !strcmp(a->kind, "npu") ? OrtHardwareDeviceType_NPU
                                     : OrtHardwareDeviceType_CPU;
}

/* Whether the host's entry can represent the adapter: all adapters that compute on the CPU are one there. */
static bool is_hardware(const OrtApi *ort, const OrtHardwareDevice *hardware, const struct adapter *a)
{
    return ort->HardwareDevice_Type(hardware) == hardware_type(a) &&
           (hardware_type(a) == OrtHardwareDeviceType_CPU || ort->HardwareDevice_VendorId(hardware) == a->vendor);
}

/* The host's own entry for that hardware, if it has one that is not used yet. */
static const OrtHardwareDevice *find_hardware(const OrtApi *ort, const OrtHardwareDevice *const *hardware, size_t count,
                                              const struct adapter *a, bool *taken)
{
    for (size_t i = 0; i < count; i++) {
        bool shared = hardware_type(a) == OrtHardwareDeviceType_CPU;
        if (is_hardware(ort, hardware[i], a) && (shared || !taken[i])) {
            taken[i] = true;
            return hardware[i];
        }
    }
    return NULL;
}

static void add_number(const OrtApi *ort, OrtKeyValuePairs *pairs, const char *key, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    ort->AddKeyValuePair(pairs, key, text);
}

static OrtStatus *make_device(struct ep_factory *factory, uint32_t index, const struct adapter *a,
                              const OrtHardwareDevice *hardware, OrtEpDevice **out)
{
    const OrtApi *ort = factory->ort;
    OrtKeyValuePairs *metadata = NULL;
    OrtHardwareDevice *made = NULL;
    if (!hardware && factory->version < 24)
        return NULL; /* such hosts know only their own devices */
    ort->CreateKeyValuePairs(&metadata);
    add_number(ort, metadata, "device_id", index);
    /* The host uses this to find the device of providers=[(name, {"device_id": n})]; otherwise it uses the first one
     * for 0, and none for other numbers. */
    add_number(ort, metadata, "cuda_device_id", index);
    ort->AddKeyValuePair(metadata, "name", a->name);
    ort->AddKeyValuePair(metadata, "kind", a->kind);
    ort->AddKeyValuePair(metadata, "vendor", "AnyDML");
    add_number(ort, metadata, "vendor_id", a->vendor);
    add_number(ort, metadata, "dedicated_memory", a->dedicated_bytes);
    add_number(ort, metadata, "shared_memory", a->shared_bytes);
    OrtStatus *status = NULL;
    /* No default options: they would override the options that the user selects with a filter. */
    if (!hardware)
        status = factory->ep->CreateHardwareDevice(hardware_type(a), a->vendor, a->device, a->name, NULL, &made);
    if (!status)
        status = factory->ep->CreateEpDevice(&factory->base, hardware ? hardware : made, metadata, NULL, out);
    if (made)
        factory->ep->ReleaseHardwareDevice(made);
    ort->ReleaseKeyValuePairs(metadata);
    return status;
}

OrtStatus *ep_find_devices(struct ep_factory *factory, const OrtHardwareDevice *const *hardware, size_t count,
                           OrtEpDevice **out, size_t capacity, size_t *out_count)
{
    IDXCoreAdapterList *list = list_adapters();
    bool *taken = calloc(count + 1, sizeof(*taken));
    OrtStatus *status = NULL;
    *out_count = 0;
    for (uint32_t i = 0; taken && list && i < IDXCoreAdapterList_GetAdapterCount(list) && *out_count < capacity; i++) {
        struct adapter a;
        OrtEpDevice *device = NULL;
        if (!describe(list, i, &a))
            continue;
        status = make_device(factory, i, &a, find_hardware(factory->ort, hardware, count, &a, taken), &device);
        if (status)
            break;
        if (device)
            out[(*out_count)++] = device;
        if (device && (a.host_memory || factory->version >= EP_VERSION_DEFAULT_MEMORY) &&
            (status = ep_memory_add(factory, i, a.host_memory, device)))
            break;
    }
    free(taken);
    release(list);
    return status;
}

/* ---- targets of compiled models ---- */

/* The first two parts must agree, see ep_context_fit. The CPU is a kind of its own, since it supports all operators;
 * other adapters without hardware are "software". */
static void identify(const struct adapter *a, char out[EP_IDENTITY_MAX])
{
    char cpu[sizeof(a->name)];
    base_cpu_name(cpu, sizeof(cpu));
    bool is_cpu = !strcmp(a->kind, "cpu") && !strcmp(a->name, cpu);
    int used = snprintf(out, EP_IDENTITY_MAX, "anydml-context=%d;device=%s;version=" EP_VERSION ";name=%s",
                        EP_CONTEXT_FORMAT, is_cpu || strcmp(a->kind, "cpu") ? a->kind : "software", a->name);
    if (is_cpu)
        snprintf(out + used, EP_IDENTITY_MAX - (size_t)used, ";instructions=0x%x", (unsigned)base_cpu_flags());
}

void ep_device_identity(uint32_t adapter, char out[EP_IDENTITY_MAX])
{
    IDXCoreAdapterList *list = list_adapters();
    struct adapter a = { .name = "unnamed", .kind = "cpu" };
    if (list)
        describe(list, adapter, &a);
    identify(&a, out);
    release(list);
}

enum ep_context_fit ep_hardware_fit(const struct ep_factory *factory, const OrtHardwareDevice *const *hardware,
                                    size_t count, const char *made_for)
{
    IDXCoreAdapterList *list = list_adapters();
    enum ep_context_fit best = EP_CONTEXT_FOREIGN;
    for (uint32_t i = 0; list && i < IDXCoreAdapterList_GetAdapterCount(list); i++) {
        char here[EP_IDENTITY_MAX];
        struct adapter a;
        if (!describe(list, i, &a))
            continue;
        identify(&a, here);
        enum ep_context_fit fit = ep_context_fit(made_for, here);
        for (size_t k = 0; k < count; k++) {
            if (is_hardware(factory->ort, hardware[k], &a))
                best = BASE_MAX(best, fit);
        }
    }
    release(list);
    return best;
}

/* ---- devices in use ---- */

/* Shared by the process, not owned by a factory: tensors of a session under one name may be passed to a session under
 * the other, and a buffer belongs to one device. */
static struct {
    pthread_mutex_t lock;
    struct ep_device *first;
} open_devices = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* One that is open already, or (dml NULL) the adapter's, or one over the caller's. */
static OrtStatus *device_get(const struct ep_factory *factory, uint32_t adapter, IDMLDevice *dml,
                             struct ep_device **out)
{
    struct onnx_error error = { "" };
    HRESULT hr = S_OK;
    pthread_mutex_lock(&open_devices.lock);
    struct ep_device *device = open_devices.first;
    while (device && (device->wrapped != dml || (!dml && device->onnx->adapter != adapter)))
        device = device->next;
    if (!device && (device = calloc(1, sizeof(*device)))) {
        hr = dml ? onnx_device_wrap(dml, &device->onnx, &error) : onnx_device_open(adapter, &device->onnx, &error);
        if (SUCCEEDED(hr)) {
            if (!device->onnx->host_memory)
                device->onnx->memory = &ep_block_memory;
            device->wrapped = dml; /* kept by device->onnx */
            device->next = open_devices.first;
            open_devices.first = device;
        } else {
            free(device);
            device = NULL;
        }
    }
    if (device)
        device->users++;
    pthread_mutex_unlock(&open_devices.lock);
    *out = device;
    if (FAILED(hr))
        return ep_status_hr(factory, hr, &error);
    return device ? NULL : ep_status(factory, ORT_FAIL, "out of memory");
}

OrtStatus *ep_device_open(const struct ep_factory *factory, uint32_t adapter, struct ep_device **out)
{
    return device_get(factory, adapter, NULL, out);
}

OrtStatus *ep_device_wrap(const struct ep_factory *factory, IDMLDevice *dml, struct ep_device **out)
{
    return device_get(factory, 0, dml, out);
}

void ep_device_close(struct ep_device *device)
{
    if (!device)
        return;
    pthread_mutex_lock(&open_devices.lock);
    bool last = --device->users == 0;
    for (struct ep_device **at = &open_devices.first; last && *at; at = &(*at)->next) {
        if (*at == device) {
            *at = device->next;
            break;
        }
    }
    pthread_mutex_unlock(&open_devices.lock);
    if (last) {
        onnx_device_close(device->onnx);
        free(device);
    }
}
