/* SPDX-License-Identifier: Apache-2.0 */
/* ID3D12Device::CheckFeatureSupport as one table. */
#include "d3d12/device_methods.h"
#include "d3d12/root_signature/root_signature.h"

#include <assert.h>

#define LEVEL_1_0_GENERIC 0x100
#define LEVEL_1_0_CORE    0x1000

/* Fills data, which contains the application's input fields for some features. */
typedef HRESULT feature_fn(struct d3d_device *device, void *data);

static HRESULT feature_zeros(struct d3d_device *device, void *data)
{
    (void)device, (void)data;
    return S_OK; /* the caller has cleared it */
}

static HRESULT feature_options(struct d3d_device *device, void *data)
{
    *(D3D12_FEATURE_DATA_D3D12_OPTIONS *)data = (D3D12_FEATURE_DATA_D3D12_OPTIONS){
        .DoublePrecisionFloatShaderOps = TRUE,
        .TiledResourcesTier =
            device->info->reserved ? D3D12_TILED_RESOURCES_TIER_1 : D3D12_TILED_RESOURCES_TIER_NOT_SUPPORTED,
        .ResourceBindingTier = D3D12_RESOURCE_BINDING_TIER_3,
        .MaxGPUVirtualAddressBitsPerResource = 46,
        .ResourceHeapTier = D3D12_RESOURCE_HEAP_TIER_2,
    };
    return S_OK;
}

static HRESULT feature_architecture(struct d3d_device *device, void *data)
{
    D3D12_FEATURE_DATA_ARCHITECTURE *architecture = data;
    if (architecture->NodeIndex)
        return E_INVALIDARG;
    *architecture = (D3D12_FEATURE_DATA_ARCHITECTURE){
        .UMA = device->info->uma,
        .CacheCoherentUMA = device->info->cache_coherent_uma,
    };
    return S_OK;
}

static HRESULT feature_architecture1(struct d3d_device *device, void *data)
{
    D3D12_FEATURE_DATA_ARCHITECTURE1 *architecture = data;
    if (architecture->NodeIndex)
        return E_INVALIDARG;
    *architecture = (D3D12_FEATURE_DATA_ARCHITECTURE1){
        .UMA = device->info->uma,
        .CacheCoherentUMA = device->info->cache_coherent_uma,
        .IsolatedMMU = TRUE,
    };
    return S_OK;
}

static HRESULT feature_levels(struct d3d_device *device, void *data)
{
    D3D12_FEATURE_DATA_FEATURE_LEVELS *levels = data;
    unsigned best = 0;
    (void)device;
    for (UINT i = 0; levels->pFeatureLevelsRequested && i < levels->NumFeatureLevels; i++) {
        unsigned level = (unsigned)levels->pFeatureLevelsRequested[i];
        if ((level == LEVEL_1_0_GENERIC || level == LEVEL_1_0_CORE) && level > best)
            best = level;
    }
    if (!best)
        return E_INVALIDARG;
    levels->MaxSupportedFeatureLevel = (D3D_FEATURE_LEVEL)best;
    return S_OK;
}

static HRESULT feature_address_bits(struct d3d_device *device, void *data)
{
    (void)device;
    *(D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT *)data =
        (D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT){ 46, 47 };
    return S_OK;
}

static HRESULT feature_shader_model(struct d3d_device *device, void *data)
{
    D3D12_FEATURE_DATA_SHADER_MODEL *model = data;
    unsigned known = (unsigned)model->HighestShaderModel;
    (void)device;
    if (known != D3D_SHADER_MODEL_5_1 && (known < D3D_SHADER_MODEL_6_0 || known > D3D_HIGHEST_SHADER_MODEL))
        return E_INVALIDARG;
    model->HighestShaderModel = D3D_SHADER_MODEL_5_1; /* the lowest there is: no shaders run here */
    return S_OK;
}

static HRESULT feature_root_signature(struct d3d_device *device, void *data)
{
    D3D12_FEATURE_DATA_ROOT_SIGNATURE *signature = data;
    uint32_t highest = (uint32_t)signature->HighestVersion; /* what the application supports; all are supported here */
    (void)device;
    return highest >= D3D_ROOT_SIGNATURE_VERSION_1_0 && highest <= D3D_ROOT_VERSION_1_2 ? S_OK : E_INVALIDARG;
}

static HRESULT feature_queue_priority(struct d3d_device *device, void *data)
{
    D3D12_FEATURE_DATA_COMMAND_QUEUE_PRIORITY *priority = data;
    (void)device;
    priority->PriorityForTypeIsSupported = (priority->CommandListType == D3D12_COMMAND_LIST_TYPE_DIRECT ||
                                            priority->CommandListType == D3D12_COMMAND_LIST_TYPE_COMPUTE ||
                                            priority->CommandListType == D3D12_COMMAND_LIST_TYPE_COPY) &&
                                           (priority->Priority == D3D12_COMMAND_QUEUE_PRIORITY_NORMAL ||
                                            priority->Priority == D3D12_COMMAND_QUEUE_PRIORITY_HIGH ||
                                            priority->Priority == D3D12_COMMAND_QUEUE_PRIORITY_GLOBAL_REALTIME);
    return S_OK;
}

static HRESULT feature_options4(struct d3d_device *device, void *data)
{
    (void)device;
    ((D3D12_FEATURE_DATA_D3D12_OPTIONS4 *)data)->Native16BitShaderOpsSupported = TRUE;
    return S_OK;
}

static HRESULT feature_format(struct d3d_device *device, void *data)
{
    D3D12_FEATURE_DATA_FORMAT_SUPPORT *format = data;
    (void)device;
    format->Support1 = D3D12_FORMAT_SUPPORT1_NONE;
    format->Support2 = D3D12_FORMAT_SUPPORT2_NONE;
    return S_OK;
}

static const struct feature {
    unsigned feature;
    UINT size;
    bool input; /* some fields are read: do not clear them */
    feature_fn *fill;
} features[] = {
    { D3D12_FEATURE_D3D12_OPTIONS, 60, false, feature_options },
    { D3D12_FEATURE_ARCHITECTURE, 16, true, feature_architecture },
    { D3D12_FEATURE_FEATURE_LEVELS, 24, true, feature_levels },
    { D3D12_FEATURE_FORMAT_SUPPORT, 12, true, feature_format },
    { D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT, 8, false, feature_address_bits },
    { D3D12_FEATURE_SHADER_MODEL, 4, true, feature_shader_model },
    { D3D12_FEATURE_D3D12_OPTIONS1, 24, false, feature_zeros },
    { D3D12_FEATURE_ROOT_SIGNATURE, 4, true, feature_root_signature },
    { D3D12_FEATURE_ARCHITECTURE1, 20, true, feature_architecture1 },
    { D3D12_FEATURE_D3D12_OPTIONS2, 8, false, feature_zeros },
    { D3D12_FEATURE_COMMAND_QUEUE_PRIORITY, 12, true, feature_queue_priority },
    { D3D12_FEATURE_D3D12_OPTIONS3, sizeof(D3D12_FEATURE_DATA_D3D12_OPTIONS3), false, feature_zeros },
    { D3D12_FEATURE_EXISTING_HEAPS, 4, false, feature_zeros },
    { D3D12_FEATURE_D3D12_OPTIONS4, 12, false, feature_options4 },
    { D3D12_FEATURE_D3D12_OPTIONS5, sizeof(D3D12_FEATURE_DATA_D3D12_OPTIONS5), false, feature_zeros },
    { D3D12_FEATURE_D3D12_OPTIONS6, sizeof(D3D12_FEATURE_DATA_D3D12_OPTIONS6), false, feature_zeros },
    { D3D12_FEATURE_D3D12_OPTIONS7, sizeof(D3D12_FEATURE_DATA_D3D12_OPTIONS7), false, feature_zeros },
    { 48 /* OPTIONS19, newer than the headers */, 40, false, feature_zeros },
};

static_assert(sizeof(D3D12_FEATURE_DATA_D3D12_OPTIONS) == 60, "layout");
static_assert(sizeof(D3D12_FEATURE_DATA_ARCHITECTURE1) == 20, "layout");

static const struct feature *feature_find(D3D12_FEATURE feature)
{
    for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
        if (features[i].feature == (unsigned)feature)
            return &features[i];
    }
    return NULL;
}

HRESULT d3d_device_CheckFeatureSupport(D3D_DEVICE, D3D12_FEATURE feature, void *data, UINT size)
{
    const struct feature *row = feature_find(feature);
    /* Programs probe for unsupported features: no message above debug level. */
    if (!row || !data || row->size != size)
        return E_INVALIDARG;
    if (!row->input)
        memset(data, 0, size);
    return row->fill(d3d_device_from(iface), data);
}
