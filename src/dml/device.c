/* SPDX-License-Identifier: Apache-2.0 */
/* IDMLDevice1 and IDMLDebugDevice. */
#include "dml/dml.h"

#include <pthread.h>
#include <stdlib.h>

#include <DirectMLGuids.h>

/* All devices of a process share one store: packed weights do not depend on the device. It is freed with the last
 * device. */
static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;
static struct graph_store *store;
static uint32_t store_users;

static struct graph_store *store_acquire(void)
{
    pthread_mutex_lock(&store_lock);
    if (!store)
        store = graph_store_create();
    struct graph_store *taken = store;
    store_users += taken != NULL;
    pthread_mutex_unlock(&store_lock);
    return taken;
}

static void store_leave(void)
{
    pthread_mutex_lock(&store_lock);
    if (!--store_users) {
        graph_store_destroy(store);
        store = NULL;
    }
    pthread_mutex_unlock(&store_lock);
}

static void device_destroy(struct com_object *object)
{
    struct dml_device *device = (struct dml_device *)object;
    dml_trace_close(&device->trace);
    dml_rows_close(device);
    store_leave();
    com_finish(object);
    device->d3d12->lpVtbl->Release(device->d3d12);
    ID3D12Device_Release(device->parent);
    free(device);
}

static void *device_query(struct com_object *object, const IID *iid)
{
    struct dml_device *device = (struct dml_device *)object;
    if (!device->debug || !com_iid_equal(iid, &IID_IDMLDebugDevice))
        return NULL;
    com_AddRef(object);
    return &device->debug_tear_off;
}

static const IID *const device_iids[] = { &IID_IDMLObject, &IID_IDMLDevice, &IID_IDMLDevice1, NULL };

static const struct com_class device_class = { "IDMLDevice", device_iids, device_destroy, device_query };

HRESULT dml_device_create(ID3D12Device *parent, AnydmlDevice *d3d12, bool debug, struct dml_device **out)
{
    struct dml_device *device = calloc(1, sizeof(*device));
    if (device)
        device->store = store_acquire();
    if (!device || !device->store) {
        free(device);
        return E_OUTOFMEMORY;
    }
    com_init(&device->base, &dml_device_vtbl, &device_class, NULL);
    device->debug_tear_off.lpVtbl = &dml_debug_device_vtbl;
    device->debug_tear_off.device = device;
    device->debug = debug;
    atomic_init(&device->muted, false);
    atomic_init(&device->reason, S_OK);
    ID3D12Device_AddRef(parent);
    d3d12->lpVtbl->AddRef(d3d12);
    device->parent = parent;
    device->d3d12 = d3d12;
    device->adapter = d3d12->lpVtbl->GetAdapterInfo(d3d12);
    device->threads = d3d12->lpVtbl->GetThreadCount(d3d12);
    device->records_at_once = d3d12->lpVtbl->RecordsAtOnce(d3d12);
    dml_rows_open(device);
    dml_trace_open(&device->trace);
    *out = device;
    return S_OK;
}

static HRESULT dml_device_GetDeviceRemovedReason(DML_DEVICE)
{
    return dml_device_reason(dml_device_from(iface));
}

/* Also works on a removed device: error paths query the parent for the reason. */
static HRESULT dml_device_GetParentDevice(DML_DEVICE, REFIID riid, void **out)
{
    struct dml_device *device = dml_device_from(iface);
    if (!out)
        return dml_fail(device, NULL, E_INVALIDARG, "IDMLDevice::GetParentDevice: ppv is NULL");
    *out = NULL;
    return ID3D12Device_QueryInterface(device->parent, riid, out);
}

/* ---- residency: only counted, since all memory belongs to the application or the host ---- */

static HRESULT residency_change(struct dml_device *device, const char *method, UINT count, IDMLPageable *const *objects,
                                int step)
{
    if (dml_device_removed(device))
        return DXGI_ERROR_DEVICE_REMOVED;
    if (count && !objects)
        return dml_fail(device, NULL, E_INVALIDARG, "%s: ppObjects is NULL, count is %u", method, count);
    for (UINT i = 0; i < count; i++) {
        if (!com_child(device, objects[i], &dml_compiled_operator_vtbl) &&
            !com_child(device, objects[i], &dml_initializer_vtbl))
            return dml_fail(device, NULL, E_INVALIDARG,
                            "%s: ppObjects[%u] is not a compiled operator or initializer of this device", method, i);
    }
    for (UINT i = 0; i < count; i++)
        atomic_fetch_add(&((struct dml_pageable *)objects[i])->residency, step);
    return S_OK;
}

HRESULT dml_device_Evict(DML_DEVICE, UINT count, IDMLPageable *const *objects)
{
    return residency_change(dml_device_from(iface), "IDMLDevice::Evict", count, objects, -1);
}

HRESULT dml_device_MakeResident(DML_DEVICE, UINT count, IDMLPageable *const *objects)
{
    return residency_change(dml_device_from(iface), "IDMLDevice::MakeResident", count, objects, 1);
}

const IDMLDevice1Vtbl dml_device_vtbl = {
    COM_OBJECT_METHODS,
    .CheckFeatureSupport = dml_device_CheckFeatureSupport,
    .CreateOperator = dml_device_CreateOperator,
    .CompileOperator = dml_device_CompileOperator,
    .CreateOperatorInitializer = dml_device_CreateOperatorInitializer,
    .CreateCommandRecorder = dml_device_CreateCommandRecorder,
    .CreateBindingTable = dml_device_CreateBindingTable,
    .Evict = dml_device_Evict,
    .MakeResident = dml_device_MakeResident,
    .GetDeviceRemovedReason = dml_device_GetDeviceRemovedReason,
    .GetParentDevice = dml_device_GetParentDevice,
    .CompileGraph = dml_device_CompileGraph,
};

/* ---- IDMLDebugDevice ---- */

static struct dml_device *device_of(IDMLDebugDevice *iface)
{
    return ((struct dml_debug_tear_off *)iface)->device;
}

static HRESULT dml_debug_device_QueryInterface(IDMLDebugDevice *iface, REFIID riid, void **out)
{
    return com_QueryInterface(device_of(iface), riid, out);
}

static ULONG dml_debug_device_AddRef(IDMLDebugDevice *iface)
{
    return com_AddRef(device_of(iface));
}

static ULONG dml_debug_device_Release(IDMLDebugDevice *iface)
{
    return com_Release(device_of(iface));
}

static void dml_debug_device_SetMuteDebugOutput(IDMLDebugDevice *iface, BOOL mute)
{
    atomic_store(&device_of(iface)->muted, !!mute);
}

const IDMLDebugDeviceVtbl dml_debug_device_vtbl = {
    .QueryInterface = dml_debug_device_QueryInterface,
    .AddRef = dml_debug_device_AddRef,
    .Release = dml_debug_device_Release,
    .SetMuteDebugOutput = dml_debug_device_SetMuteDebugOutput,
};
