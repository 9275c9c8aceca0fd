/* SPDX-License-Identifier: Apache-2.0 */
/* DXCoreCreateAdapterFactory and IDXCoreAdapterFactory. */
#include "dxcore/dxcore.h"

#include "base/log.h"

#include <stdlib.h>

#define EXPORT       __attribute__((visibility("default")))
#define MAX_ADAPTERS 64

static pthread_mutex_t living_lock = PTHREAD_MUTEX_INITIALIZER;
static struct com_object *living_factory;                    /* weak, under living_lock */
static struct dxcore_adapter *living_adapters[MAX_ADAPTERS]; /* the same; by adapter_position */

/* ---- the process's objects ---- */

/* Under living_lock: a new application reference, unless the object is being destroyed. */
static bool revive(struct com_object *object)
{
    if (!object || !com_try_ref(object))
        return false;
    com_AddRef(object);
    com_unref(object);
    return true;
}

HRESULT dxcore_adapter_open(const struct adapter_info *info, struct com_object *factory, struct dxcore_adapter **out)
{
    struct dxcore_adapter **living = &living_adapters[adapter_position(info)];
    pthread_mutex_lock(&living_lock);
    if (!*living || !revive(&(*living)->base))
        *living = dxcore_adapter_create(info, factory);
    *out = *living;
    pthread_mutex_unlock(&living_lock);
    return *out ? S_OK : E_OUTOFMEMORY;
}

void dxcore_adapter_forget(struct dxcore_adapter *adapter)
{
    struct dxcore_adapter **living = &living_adapters[adapter_position(adapter->info)];
    pthread_mutex_lock(&living_lock);
    if (*living == adapter)
        *living = NULL;
    pthread_mutex_unlock(&living_lock);
}

static void factory_destroy(struct com_object *object)
{
    pthread_mutex_lock(&living_lock);
    if (living_factory == object)
        living_factory = NULL;
    pthread_mutex_unlock(&living_lock);
    com_finish(object);
    free(object);
}

/* ---- methods ---- */

#define FACTORY IDXCoreAdapterFactory1 *iface

static HRESULT check_out(const char *method, REFIID riid, const IID *const *known, void **out)
{
    if (!out) {
        base_log(BASE_LOG_ERROR, "%s: the output pointer is NULL", method);
        return E_POINTER;
    }
    *out = NULL;
    for (; *known; known++) {
        if (com_iid_equal(*known, riid))
            return S_OK;
    }
    base_log(BASE_LOG_ERROR, "%s: unknown interface identifier", method);
    return E_NOINTERFACE;
}

static const IID iid_unknown = { 0, 0, 0, { 0xc0, 0, 0, 0, 0, 0, 0, 0x46 } };
static const IID *const list_iids[] = { &IID_IDXCoreAdapterList, &iid_unknown, NULL };
static const IID *const adapter_iids[] = { &IID_IDXCoreAdapter, &IID_IDXCoreAdapter1, &iid_unknown, NULL };

struct attributes {
    uint32_t count;
    GUID guids[];
};

static bool has_all(const struct adapter_info *info, const void *context)
{
    const struct attributes *wanted = context;
    for (uint32_t i = 0; i < wanted->count; i++) {
        if (!dxcore_adapter_has(info, &wanted->guids[i]))
            return false;
    }
    return true;
}

static HRESULT dxcore_factory_CreateAdapterList(FACTORY, uint32_t count, const GUID *attributes, REFIID riid,
                                                void **out)
{
    const char *method = "IDXCoreAdapterFactory::CreateAdapterList";
    HRESULT hr = check_out(method, riid, list_iids, out);
    if (FAILED(hr))
        return hr;
    if (!count || !attributes) {
        base_log(BASE_LOG_ERROR, "%s: needs at least one attribute", method);
        return E_INVALIDARG;
    }
    struct attributes *wanted = malloc(sizeof(*wanted) + count * sizeof(*attributes));
    if (!wanted)
        return E_OUTOFMEMORY;
    wanted->count = count;
    memcpy(wanted->guids, attributes, count * sizeof(*attributes));
    return dxcore_list_create((struct com_object *)iface, has_all, wanted, riid, out);
}

struct workload {
    DXCoreWorkload workload;
    DXCoreRuntimeFilterFlags runtime;
    DXCoreHardwareTypeFilterFlags hardware;
};

static bool can_do(const struct adapter_info *info, const void *context)
{
    const struct workload *wanted = context;
    unsigned type = info->is_gpu ? DXCoreHardwareTypeFilterFlags_GPU : DXCoreHardwareTypeFilterFlags_ComputeAccelerator;
    return (wanted->workload == DXCoreWorkload_Compute || wanted->workload == DXCoreWorkload_MachineLearning) &&
           (!wanted->runtime || wanted->runtime & DXCoreRuntimeFilterFlags_D3D12) &&
           (!wanted->hardware || (unsigned)wanted->hardware & type);
}

static HRESULT dxcore_factory_CreateAdapterListByWorkload(FACTORY, DXCoreWorkload workload,
                                                          DXCoreRuntimeFilterFlags runtime,
                                                          DXCoreHardwareTypeFilterFlags hardware, REFIID riid,
                                                          void **out)
{
    HRESULT hr = check_out("IDXCoreAdapterFactory1::CreateAdapterListByWorkload", riid, list_iids, out);
    if (FAILED(hr))
        return hr;
    if ((unsigned)workload > DXCoreWorkload_MachineLearning)
        return E_INVALIDARG;
    struct workload *wanted = malloc(sizeof(*wanted));
    if (!wanted)
        return E_OUTOFMEMORY;
    *wanted = (struct workload){ workload, runtime, hardware };
    return dxcore_list_create((struct com_object *)iface, can_do, wanted, riid, out);
}

static HRESULT dxcore_factory_GetAdapterByLuid(FACTORY, const LUID *luid, REFIID riid, void **out)
{
    const char *method = "IDXCoreAdapterFactory::GetAdapterByLuid";
    const struct adapter_info *info;
    HRESULT hr = check_out(method, riid, adapter_iids, out);
    for (uint32_t i = 0; SUCCEEDED(hr) && luid && (info = adapter_at(i)) != NULL; i++) {
        struct dxcore_adapter *adapter;
        if (memcmp(&info->luid, luid, sizeof(*luid)))
            continue;
        hr = dxcore_adapter_open(info, (struct com_object *)iface, &adapter);
        return SUCCEEDED(hr) ? com_return(&adapter->base, riid, out) : hr;
    }
    if (SUCCEEDED(hr)) {
        base_log(BASE_LOG_ERROR, "%s: no adapter has this LUID", method);
        hr = E_INVALIDARG;
    }
    return hr;
}

/* The set of adapters does not change while the process runs: there are no notifications. */
static bool dxcore_factory_IsNotificationTypeSupported(FACTORY, DXCoreNotificationType type)
{
    (void)iface, (void)type;
    return false;
}

static HRESULT dxcore_factory_RegisterEventNotification(FACTORY, IUnknown *object, DXCoreNotificationType type,
                                                        PFN_DXCORE_NOTIFICATION_CALLBACK callback, void *context,
                                                        uint32_t *cookie)
{
    (void)iface, (void)object, (void)type, (void)callback, (void)context;
    if (cookie)
        *cookie = 0;
    return DXGI_ERROR_INVALID_CALL;
}

static HRESULT dxcore_factory_UnregisterEventNotification(FACTORY, uint32_t cookie)
{
    (void)iface, (void)cookie;
    return DXGI_ERROR_INVALID_CALL;
}

static const IDXCoreAdapterFactory1Vtbl factory_vtbl = {
    COM_UNKNOWN_METHODS,
    .CreateAdapterList = dxcore_factory_CreateAdapterList,
    .GetAdapterByLuid = dxcore_factory_GetAdapterByLuid,
    .IsNotificationTypeSupported = dxcore_factory_IsNotificationTypeSupported,
    .RegisterEventNotification = dxcore_factory_RegisterEventNotification,
    .UnregisterEventNotification = dxcore_factory_UnregisterEventNotification,
    .CreateAdapterListByWorkload = dxcore_factory_CreateAdapterListByWorkload,
};

static const IID *const factory_iids[] = { &IID_IDXCoreAdapterFactory, &IID_IDXCoreAdapterFactory1, NULL };

static const struct com_class factory_class = { "IDXCoreAdapterFactory", factory_iids, factory_destroy, NULL };

EXPORT HRESULT DXCoreCreateAdapterFactory(REFIID riid, void **out)
{
    if (!out)
        return E_POINTER;
    *out = NULL;
    adapter_check_any("DXCoreCreateAdapterFactory");
    pthread_mutex_lock(&living_lock);
    struct com_object *factory = living_factory;
    if (!revive(factory)) {
        factory = calloc(1, sizeof(*factory));
        if (factory)
            com_init(factory, &factory_vtbl, &factory_class, NULL);
        living_factory = factory;
    }
    pthread_mutex_unlock(&living_lock);
    return factory ? com_return(factory, riid, out) : E_OUTOFMEMORY;
}

/* For tests: how many objects of this library live in the process. */
EXPORT uint32_t AnydmlLiveObjects(void);

uint32_t AnydmlLiveObjects(void)
{
    return com_live_objects();
}
