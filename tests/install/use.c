/* SPDX-License-Identifier: Apache-2.0 */
/* Used from outside the tree, as C and as C++: makes a device, asks what it can do. */
#include <DirectML.h>
#include <DirectMLGuids.h>

#include <stdio.h>

#ifdef __cplusplus
#include <dxguids/dxguids.h>
#define RELEASE(object) (object)->Release()
static HRESULT create(ID3D12Device **device, IDMLDevice **dml)
{
    HRESULT hr = D3D12CreateDevice(nullptr, D3D_FEATURE_LEVEL_1_0_CORE, IID_PPV_ARGS(device));
    return SUCCEEDED(hr) ? DMLCreateDevice(*device, DML_CREATE_DEVICE_FLAG_NONE, IID_PPV_ARGS(dml)) : hr;
}
static HRESULT level(IDMLDevice *dml, const DML_FEATURE_QUERY_FEATURE_LEVELS *query,
                     DML_FEATURE_DATA_FEATURE_LEVELS *data)
{
    return dml->CheckFeatureSupport(DML_FEATURE_FEATURE_LEVELS, sizeof(*query), query, sizeof(*data), data);
}
#else
#define RELEASE(object) (object)->lpVtbl->Release(object)
static HRESULT create(ID3D12Device **device, IDMLDevice **dml)
{
    HRESULT hr = D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_1_0_CORE, &IID_ID3D12Device, (void **)device);
    return SUCCEEDED(hr) ? DMLCreateDevice(*device, DML_CREATE_DEVICE_FLAG_NONE, &IID_IDMLDevice, (void **)dml) : hr;
}
static HRESULT level(IDMLDevice *dml, const DML_FEATURE_QUERY_FEATURE_LEVELS *query,
                     DML_FEATURE_DATA_FEATURE_LEVELS *data)
{
    return IDMLDevice_CheckFeatureSupport(dml, DML_FEATURE_FEATURE_LEVELS, sizeof(*query), query, sizeof(*data), data);
}
#endif

int main(void)
{
    ID3D12Device *device = NULL;
    IDMLDevice *dml = NULL;
    DML_FEATURE_LEVEL levels[] = { DML_FEATURE_LEVEL_1_0, DML_FEATURE_LEVEL_5_0 };
    DML_FEATURE_QUERY_FEATURE_LEVELS query = { 2, levels };
    DML_FEATURE_DATA_FEATURE_LEVELS data = { DML_FEATURE_LEVEL_1_0 };
    HRESULT hr = create(&device, &dml);
    if (SUCCEEDED(hr))
        hr = level(dml, &query, &data);
    printf("result 0x%08x, feature level 0x%x\n", (unsigned)hr, (unsigned)data.MaxSupportedFeatureLevel);
    if (dml)
        RELEASE(dml);
    if (device)
        RELEASE(device);
    return SUCCEEDED(hr) && data.MaxSupportedFeatureLevel == DML_FEATURE_LEVEL_5_0 ? 0 : 1;
}
