/* SPDX-License-Identifier: Apache-2.0 */
/* The switches of the debug layer: ID3D12Debug..5, ID3D12DebugDevice, and the DRED settings, which are accepted and
 * ignored. */
#include "d3d12/objects.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

static atomic_bool debug_enabled;

bool d3d_debug_enabled(void)
{
    return atomic_load(&debug_enabled);
}

static void settings_destroy(struct com_object *object)
{
    com_finish(object);
    free(object);
}

static HRESULT settings_create(const void *vtbl, const struct com_class *class, REFIID riid, void **out)
{
    struct com_object *object = calloc(1, sizeof(*object));
    if (out)
        *out = NULL;
    if (!object)
        return E_OUTOFMEMORY;
    com_init(object, vtbl, class, NULL);
    return com_return(object, riid, out);
}

/* ---- ID3D12Debug, Debug3, Debug4, Debug5: one table ---- */

/* Debug1 and Debug2 do not belong to that inheritance chain: they have their own objects. */

static void d3d_debug_EnableDebugLayer(ID3D12Debug5 *iface)
{
    (void)iface;
    atomic_store(&debug_enabled, true); /* for devices created from now on */
}

static void d3d_debug_DisableDebugLayer(ID3D12Debug5 *iface)
{
    (void)iface;
    atomic_store(&debug_enabled, false);
}

/* Validation always checks everything it can. */
static void d3d_debug_SetEnableGPUBasedValidation(ID3D12Debug5 *iface, BOOL enable)
{
    (void)iface, (void)enable;
}

static void d3d_debug_SetEnableSynchronizedCommandQueueValidation(ID3D12Debug5 *iface, BOOL enable)
{
    (void)iface, (void)enable;
}

static void d3d_debug_SetGPUBasedValidationFlags(ID3D12Debug5 *iface, D3D12_GPU_BASED_VALIDATION_FLAGS flags)
{
    (void)iface, (void)flags;
}

static void d3d_debug_SetEnableAutoName(ID3D12Debug5 *iface, BOOL enable)
{
    (void)iface, (void)enable;
}

static const ID3D12Debug5Vtbl debug_vtbl = {
    COM_UNKNOWN_METHODS,
    .EnableDebugLayer = d3d_debug_EnableDebugLayer,
    .SetEnableGPUBasedValidation = d3d_debug_SetEnableGPUBasedValidation,
    .SetEnableSynchronizedCommandQueueValidation = d3d_debug_SetEnableSynchronizedCommandQueueValidation,
    .SetGPUBasedValidationFlags = d3d_debug_SetGPUBasedValidationFlags,
    .DisableDebugLayer = d3d_debug_DisableDebugLayer,
    .SetEnableAutoName = d3d_debug_SetEnableAutoName,
};

static const ID3D12Debug1Vtbl debug1_vtbl = {
    COM_UNKNOWN_METHODS,
    .EnableDebugLayer = (void *)d3d_debug_EnableDebugLayer,
    .SetEnableGPUBasedValidation = (void *)d3d_debug_SetEnableGPUBasedValidation,
    .SetEnableSynchronizedCommandQueueValidation = (void *)d3d_debug_SetEnableSynchronizedCommandQueueValidation,
};

static const ID3D12Debug2Vtbl debug2_vtbl = {
    COM_UNKNOWN_METHODS,
    .SetGPUBasedValidationFlags = (void *)d3d_debug_SetGPUBasedValidationFlags,
};

static const IID *const debug_iids[] = { &IID_ID3D12Debug, &IID_ID3D12Debug3, &IID_ID3D12Debug4, &IID_ID3D12Debug5,
                                         NULL };
static const IID *const debug1_iids[] = { &IID_ID3D12Debug1, NULL };
static const IID *const debug2_iids[] = { &IID_ID3D12Debug2, NULL };

static void *debug_query(struct com_object *object, const IID *iid);

static const struct com_class debug_class = { "ID3D12Debug", debug_iids, settings_destroy, debug_query };
static const struct com_class debug1_class = { "ID3D12Debug1", debug1_iids, settings_destroy, debug_query };
static const struct com_class debug2_class = { "ID3D12Debug2", debug2_iids, settings_destroy, debug_query };

/* The switches are the process's, so each of the three lines may answer with a new object of another. */
static void *debug_query(struct com_object *object, const IID *iid)
{
    static const struct line {
        const struct com_class *class;
        const void *vtbl;
    } lines[] = { { &debug_class, &debug_vtbl }, { &debug1_class, &debug1_vtbl }, { &debug2_class, &debug2_vtbl } };
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        for (const IID *const *known = lines[i].class->iids; object->class != lines[i].class && *known; known++) {
            void *other = NULL;
            if (com_iid_equal(*known, iid) && SUCCEEDED(settings_create(lines[i].vtbl, lines[i].class, iid, &other)))
                return other;
        }
    }
    return NULL;
}

HRESULT d3d_debug_create(REFIID riid, void **out)
{
    return settings_create(&debug_vtbl, &debug_class, riid, out);
}

/* ---- DRED: post-mortem data is not available; requesting it is harmless ---- */

static void d3d_dred_Set(ID3D12DeviceRemovedExtendedDataSettings2 *iface, D3D12_DRED_ENABLEMENT enablement)
{
    (void)iface, (void)enablement;
}

static void d3d_dred_UseMarkersOnlyAutoBreadcrumbs(ID3D12DeviceRemovedExtendedDataSettings2 *iface, BOOL enable)
{
    (void)iface, (void)enable;
}

static const ID3D12DeviceRemovedExtendedDataSettings2Vtbl dred_vtbl = {
    COM_UNKNOWN_METHODS,
    .SetAutoBreadcrumbsEnablement = d3d_dred_Set,
    .SetPageFaultEnablement = d3d_dred_Set,
    .SetWatsonDumpEnablement = d3d_dred_Set,
    .SetBreadcrumbContextEnablement = d3d_dred_Set,
    .UseMarkersOnlyAutoBreadcrumbs = d3d_dred_UseMarkersOnlyAutoBreadcrumbs,
};

static const IID *const dred_iids[] = {
    &IID_ID3D12DeviceRemovedExtendedDataSettings,
    &IID_ID3D12DeviceRemovedExtendedDataSettings1,
    &IID_ID3D12DeviceRemovedExtendedDataSettings2,
    NULL,
};

static const struct com_class dred_class = { "ID3D12DeviceRemovedExtendedDataSettings", dred_iids, settings_destroy,
                                             NULL };

HRESULT d3d_dred_create(REFIID riid, void **out)
{
    return settings_create(&dred_vtbl, &dred_class, riid, out);
}

/* ---- ID3D12DebugDevice ---- */

static struct d3d_device *debug_device_from(ID3D12DebugDevice *iface)
{
    return ((struct d3d_tear_off *)iface)->device;
}

static HRESULT d3d_debug_device_SetFeatureMask(ID3D12DebugDevice *iface, D3D12_DEBUG_FEATURE mask)
{
    atomic_store(&debug_device_from(iface)->debug_features, (unsigned)mask);
    return S_OK;
}

static D3D12_DEBUG_FEATURE d3d_debug_device_GetFeatureMask(ID3D12DebugDevice *iface)
{
    return (D3D12_DEBUG_FEATURE)atomic_load(&debug_device_from(iface)->debug_features);
}

static HRESULT d3d_debug_device_ReportLiveDeviceObjects(ID3D12DebugDevice *iface, D3D12_RLDO_FLAGS flags)
{
    struct d3d_device *device = debug_device_from(iface);
    char text[128];
    (void)flags;
    snprintf(text, sizeof(text), "ID3D12DebugDevice::ReportLiveDeviceObjects: %u objects live, device references: %u",
             com_live_objects(), atomic_load(&device->base.refs));
    d3d_message(device, D3D12_MESSAGE_SEVERITY_INFO, D3D12_MESSAGE_CATEGORY_CLEANUP, D3D12_MESSAGE_ID_UNKNOWN, text);
    return S_OK;
}

const ID3D12DebugDeviceVtbl d3d_debug_device_vtbl = {
    D3D_TEAR_OFF_METHODS,
    .SetFeatureMask = d3d_debug_device_SetFeatureMask,
    .GetFeatureMask = d3d_debug_device_GetFeatureMask,
    .ReportLiveDeviceObjects = d3d_debug_device_ReportLiveDeviceObjects,
};
