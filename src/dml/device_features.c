/* SPDX-License-Identifier: Apache-2.0 */
/* IDMLDevice::CheckFeatureSupport. */
#include "dml/dml.h"

/* The query, in the caller's memory. */
struct request {
    UINT query_size;
    const void *query;
    UINT data_size;
    void *data;
};

static HRESULT sizes_check(struct dml_device *device, const struct request *request, const char *feature,
                           UINT query_size, UINT data_size)
{
    if (request->query && request->data && request->query_size == query_size && request->data_size == data_size)
        return S_OK;
    return dml_fail(
        device, NULL, E_INVALIDARG,
        "IDMLDevice::CheckFeatureSupport: %s requires a query of %u bytes and data of %u bytes, not %s%u and "
        "%s%u",
        feature, query_size, data_size, request->query ? "" : "NULL with ", request->query_size,
        request->data ? "" : "NULL with ", request->data_size);
}

static HRESULT data_type_support(struct dml_device *device, const DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT *query,
                                 DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT *data)
{
    /* UNKNOWN is answered like any type: clients query all of 0 to 13 and stop at a failure. */
    if ((unsigned)query->DataType > DML_TENSOR_DATA_TYPE_INT4 && query->DataType != ANYDML_TENSOR_DATA_TYPE_BFLOAT16)
        return dml_fail(device, NULL, E_INVALIDARG,
                        "IDMLDevice::CheckFeatureSupport: TENSOR_DATA_TYPE_SUPPORT: DataType %d is not a data type",
                        (int)query->DataType);
    data->IsSupported = query->DataType && dml_type_runs(device, query->DataType);
    return S_OK;
}

static HRESULT feature_levels(struct dml_device *device, const DML_FEATURE_QUERY_FEATURE_LEVELS *query,
                              DML_FEATURE_DATA_FEATURE_LEVELS *data)
{
    uint32_t best = 0;
    if (!query->RequestedFeatureLevelCount || !query->RequestedFeatureLevels)
        return dml_fail(device, NULL, E_INVALIDARG,
                        "IDMLDevice::CheckFeatureSupport: FEATURE_LEVELS: the list is empty or NULL");
    for (UINT i = 0; i < query->RequestedFeatureLevelCount; i++) {
        uint32_t level = (uint32_t)query->RequestedFeatureLevels[i];
        if (level <= DML_HIGHEST_LEVEL && schema_feature_level_known(level))
            best = BASE_MAX(best, level);
    }
    if (!best)
        return DXGI_ERROR_UNSUPPORTED;
    data->MaxSupportedFeatureLevel = (DML_FEATURE_LEVEL)best;
    return S_OK;
}

HRESULT dml_device_CheckFeatureSupport(DML_DEVICE, DML_FEATURE feature, UINT query_size, const void *query,
                                       UINT data_size, void *data)
{
    struct dml_device *device = dml_device_from(iface);
    const struct request request = { query_size, query, data_size, data };
    HRESULT hr = S_OK;
    if (dml_device_removed(device))
        return DXGI_ERROR_DEVICE_REMOVED;
    if (feature == DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT) {
        hr = sizes_check(device, &request, "TENSOR_DATA_TYPE_SUPPORT",
                         sizeof(DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT),
                         sizeof(DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT));
        return FAILED(hr) ? hr : data_type_support(device, query, data);
    }
    if (feature == DML_FEATURE_FEATURE_LEVELS) {
        hr = sizes_check(device, &request, "FEATURE_LEVELS", sizeof(DML_FEATURE_QUERY_FEATURE_LEVELS),
                         sizeof(DML_FEATURE_DATA_FEATURE_LEVELS));
        return FAILED(hr) ? hr : feature_levels(device, query, data);
    }
    return dml_fail(device, NULL, DXGI_ERROR_UNSUPPORTED, "IDMLDevice::CheckFeatureSupport: unknown feature %d",
                    (int)feature);
}
