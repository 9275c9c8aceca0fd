/* SPDX-License-Identifier: Apache-2.0 */
/* IDXCoreAdapter. */
#include "dxcore/dxcore.h"

#include "base/log.h"

#include <stdlib.h>

static void adapter_destroy(struct com_object *object)
{
    dxcore_adapter_forget((struct dxcore_adapter *)object);
    com_finish(object);
    free(object);
}

static const struct adapter_info *info_of(IDXCoreAdapter1 *iface)
{
    return ((struct dxcore_adapter *)iface)->info;
}

/* GRAPHICS, although there is no rendering: compute programs select by it (docs/decisions/client-compatibility.md). */
bool dxcore_adapter_has(const struct adapter_info *info, const GUID *attribute)
{
    if (com_iid_equal(attribute, &DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE) ||
        com_iid_equal(attribute, &DXCORE_ADAPTER_ATTRIBUTE_D3D12_GENERIC_ML) ||
        com_iid_equal(attribute, &DXCORE_ADAPTER_ATTRIBUTE_D3D12_GRAPHICS))
        return true;
    return com_iid_equal(attribute, info->is_gpu ? &DXCORE_HARDWARE_TYPE_ATTRIBUTE_GPU
                                                 : &DXCORE_HARDWARE_TYPE_ATTRIBUTE_COMPUTE_ACCELERATOR);
}

#define ADAPTER IDXCoreAdapter1 *iface

static bool dxcore_adapter_IsValid(ADAPTER)
{
    (void)iface;
    return true;
}

static bool dxcore_adapter_IsAttributeSupported(ADAPTER, REFGUID attribute)
{
    return attribute && dxcore_adapter_has(info_of(iface), attribute);
}

/* ---- properties ---- */

#define LAST_PROPERTY DXCoreAdapterProperty_AdapterEngineName

/* The value's exact size and address; 0 = known but unsupported. `scratch` holds values that are not stored
 * elsewhere. */
static size_t property_value(const struct adapter_info *info, DXCoreAdapterProperty property, uint64_t *scratch,
                             const void **out)
{
    *out = scratch;
    switch (property) {
    case DXCoreAdapterProperty_InstanceLuid:
        *out = &info->luid;
        return sizeof(info->luid);
    case DXCoreAdapterProperty_DriverVersion:
        *out = &info->driver_version;
        return sizeof(info->driver_version);
    case DXCoreAdapterProperty_DriverDescription:
        *out = info->name;
        return strlen(info->name) + 1;
    case DXCoreAdapterProperty_HardwareID:
        *out = &info->vendor_id; /* the four fields are consecutive, as in DXCoreHardwareID */
        return sizeof(DXCoreHardwareID);
    case DXCoreAdapterProperty_DedicatedAdapterMemory:
        *out = &info->dedicated_memory;
        return sizeof(info->dedicated_memory);
    case DXCoreAdapterProperty_DedicatedSystemMemory:
        *scratch = 0;
        return sizeof(*scratch);
    case DXCoreAdapterProperty_SharedSystemMemory:
        *out = &info->shared_memory;
        return sizeof(info->shared_memory);
    case DXCoreAdapterProperty_AcgCompatible:
        *scratch = UINT64_MAX / 255; /* 1 in every byte */
        return sizeof(bool);
    case DXCoreAdapterProperty_IsHardware:
        *out = &info->hardware;
        return sizeof(bool);
    case DXCoreAdapterProperty_IsIntegrated:
        *out = &info->integrated;
        return sizeof(bool);
    case DXCoreAdapterProperty_IsDetachable:
        *scratch = 0;
        return sizeof(bool);
    default:
        return 0;
    }
}

_Static_assert(offsetof(struct adapter_info, revision) - offsetof(struct adapter_info, vendor_id) == 12,
               "laid out as DXCoreHardwareID");

static HRESULT property_find(const struct adapter_info *info, DXCoreAdapterProperty property, uint64_t *scratch,
                             const void **out, size_t *size)
{
    if ((unsigned)property > LAST_PROPERTY)
        return DXGI_ERROR_INVALID_CALL;
    *size = property_value(info, property, scratch, out);
    return *size ? S_OK : DXGI_ERROR_UNSUPPORTED;
}

static bool dxcore_adapter_IsPropertySupported(ADAPTER, DXCoreAdapterProperty property)
{
    uint64_t scratch;
    const void *value;
    size_t size;
    return SUCCEEDED(property_find(info_of(iface), property, &scratch, &value, &size));
}

static HRESULT dxcore_adapter_GetProperty(ADAPTER, DXCoreAdapterProperty property, size_t capacity, void *out)
{
    uint64_t scratch;
    const void *value;
    size_t size;
    HRESULT hr = property_find(info_of(iface), property, &scratch, &value, &size);
    if (!out)
        return E_POINTER;
    if (FAILED(hr))
        return hr;
    if (capacity < size) {
        base_log(BASE_LOG_ERROR, "IDXCoreAdapter::GetProperty: property %d needs %zu bytes, bufferSize is %zu",
                 (int)property, size, capacity);
        return E_INVALIDARG;
    }
    memset(out, 0, capacity);
    memcpy(out, value, size);
    return S_OK;
}

static HRESULT dxcore_adapter_GetPropertySize(ADAPTER, DXCoreAdapterProperty property, size_t *out)
{
    uint64_t scratch;
    const void *value;
    if (!out)
        return E_POINTER;
    *out = 0;
    return property_find(info_of(iface), property, &scratch, &value, out);
}

/* None of the supported properties has an input. */
static HRESULT dxcore_adapter_GetPropertyWithInput(ADAPTER, DXCoreAdapterProperty property, size_t input_size,
                                                   const void *input, size_t capacity, void *out)
{
    if (input_size || input)
        return (unsigned)property > LAST_PROPERTY ? DXGI_ERROR_INVALID_CALL : DXGI_ERROR_UNSUPPORTED;
    return dxcore_adapter_GetProperty(iface, property, capacity, out);
}

/* ---- states ---- */

static bool dxcore_adapter_IsQueryStateSupported(ADAPTER, DXCoreAdapterState state)
{
    (void)iface;
    return state == DXCoreAdapterState_AdapterMemoryBudget;
}

static HRESULT query_budget(const struct adapter_info *info, const DXCoreAdapterMemoryBudgetNodeSegmentGroup *input,
                            DXCoreAdapterMemoryBudget *out)
{
    if (input->nodeIndex || (unsigned)input->segmentGroup > DXCoreSegmentGroup_NonLocal)
        return E_INVALIDARG;
    const bool local = input->segmentGroup == DXCoreSegmentGroup_Local;
    if (local || !info->uma)
        info->ops->memory_budget(info, local, &out->budget, &out->currentUsage);
    return S_OK;
}

static HRESULT dxcore_adapter_QueryState(ADAPTER, DXCoreAdapterState state, size_t input_size, const void *input,
                                         size_t capacity, void *out)
{
    if ((unsigned)state > DXCoreAdapterState_AdapterMemoryFrequencyHertz)
        return DXGI_ERROR_INVALID_CALL;
    if (state != DXCoreAdapterState_AdapterMemoryBudget)
        return DXGI_ERROR_UNSUPPORTED;
    if (!input || !out)
        return E_POINTER;
    DXCoreAdapterMemoryBudgetNodeSegmentGroup group;
    DXCoreAdapterMemoryBudget budget = { 0 };
    if (input_size < sizeof(group) || capacity < sizeof(budget))
        return E_INVALIDARG;
    memcpy(&group, input, sizeof(group));
    HRESULT hr = query_budget(info_of(iface), &group, &budget);
    memset(out, 0, capacity);
    memcpy(out, &budget, sizeof(budget));
    return hr;
}

static bool dxcore_adapter_IsSetStateSupported(ADAPTER, DXCoreAdapterState state)
{
    (void)iface, (void)state;
    return false;
}

static HRESULT dxcore_adapter_SetState(ADAPTER, DXCoreAdapterState state, size_t input_size, const void *input,
                                       size_t data_size, const void *data)
{
    (void)iface, (void)state, (void)input_size, (void)input, (void)data_size, (void)data;
    return DXGI_ERROR_UNSUPPORTED;
}

static HRESULT dxcore_adapter_GetFactory(ADAPTER, REFIID riid, void **out)
{
    return com_QueryInterface(((struct com_object *)iface)->parent, riid, out);
}

static const IDXCoreAdapter1Vtbl adapter_vtbl = {
    COM_UNKNOWN_METHODS,
    .IsValid = dxcore_adapter_IsValid,
    .IsAttributeSupported = dxcore_adapter_IsAttributeSupported,
    .IsPropertySupported = dxcore_adapter_IsPropertySupported,
    .GetProperty = dxcore_adapter_GetProperty,
    .GetPropertySize = dxcore_adapter_GetPropertySize,
    .IsQueryStateSupported = dxcore_adapter_IsQueryStateSupported,
    .QueryState = dxcore_adapter_QueryState,
    .IsSetStateSupported = dxcore_adapter_IsSetStateSupported,
    .SetState = dxcore_adapter_SetState,
    .GetFactory = dxcore_adapter_GetFactory,
    .GetPropertyWithInput = dxcore_adapter_GetPropertyWithInput,
};

static const IID *const adapter_iids[] = { &IID_IDXCoreAdapter, &IID_IDXCoreAdapter1, NULL };

static const struct com_class adapter_class = { "IDXCoreAdapter", adapter_iids, adapter_destroy, NULL };

struct dxcore_adapter *dxcore_adapter_create(const struct adapter_info *info, struct com_object *factory)
{
    struct dxcore_adapter *adapter = calloc(1, sizeof(*adapter));
    if (!adapter)
        return NULL;
    com_init(&adapter->base, &adapter_vtbl, &adapter_class, factory);
    adapter->info = info;
    return adapter;
}
