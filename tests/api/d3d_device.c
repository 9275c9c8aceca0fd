/* SPDX-License-Identifier: Apache-2.0 */
/* ID3D12Device: creation, identity, feature support, private data, and unsupported features of a compute-only
 * device. */
#include "api_test.h"

#include <pthread.h>
#include <unistd.h>

static void test_singleton(void)
{
    ID3D12Device *one = api_device(), *two = NULL;
    ok_hr(D3D12CreateDevice(NULL, (D3D_FEATURE_LEVEL)0x100, &IID_ID3D12Device9, (void **)&two), S_OK);
    ok((void *)one == (void *)two, "two devices of one adapter: %p %p", (void *)one, (void *)two);
    ok(api_release(two) == 1, "wrong reference count");
    ok_hr(D3D12CreateDevice(NULL, (D3D_FEATURE_LEVEL)0x1000, &IID_ID3D12Device, NULL), S_FALSE);
    ok_hr(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_11_0, &IID_ID3D12Device, (void **)&two), S_OK);
    ok(api_release(two) == 1, "wrong reference count");
    two = (void *)1;
    ok_hr(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_12_2, &IID_ID3D12Device, (void **)&two), DXGI_ERROR_UNSUPPORTED);
    ok(!two, "the output is not cleared");
    ok_hr(D3D12CreateDevice(NULL, (D3D_FEATURE_LEVEL)0x1234, &IID_ID3D12Device, (void **)&two), E_INVALIDARG);
    ok_hr(D3D12CreateDevice(NULL, (D3D_FEATURE_LEVEL)0x1000, &IID_ID3D12Fence, (void **)&two), E_NOINTERFACE);
    ok_hr(D3D12CreateDevice((IUnknown *)one, (D3D_FEATURE_LEVEL)0x1000, &IID_ID3D12Device, (void **)&two),
          E_INVALIDARG);
    ok(api_release(one) == 0, "the device is still referenced");
}

static void *open_and_close(void *unused)
{
    (void)unused;
    for (int i = 0; i < 200; i++) {
        ID3D12Device *device = api_device();
        ok(ID3D12Device_GetNodeCount(device) == 1, "nodes");
        api_release(device);
    }
    return NULL;
}

static void test_singleton_races(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        need(!pthread_create(&threads[i], NULL, open_and_close, NULL));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void *unknown_of(void *object)
{
    void *unknown = NULL;
    ok_hr(IUnknown_QueryInterface((IUnknown *)object, &IID_IUnknown, &unknown), S_OK);
    api_release(unknown);
    return unknown;
}

static void test_identity(ID3D12Device *device)
{
    struct api_queue q = api_queue_create(device);
    ID3D12Resource *buffer = api_buffer(device, D3D12_HEAP_TYPE_DEFAULT, 16);
    void *children[] = { q.queue, q.allocator, q.list, q.fence, buffer };
    void *identity = unknown_of(device);
    for (size_t i = 0; i < sizeof(children) / sizeof(children[0]); i++) {
        ID3D12Device *parent = NULL;
        ok_hr(ID3D12DeviceChild_GetDevice((ID3D12DeviceChild *)children[i], &IID_ID3D12Device, (void **)&parent), S_OK);
        need(parent);
        ok(unknown_of(parent) == identity, "child %zu leads to another device", i);
        api_release(parent);
        ok(unknown_of(children[i]) == children[i], "child %zu: identity", i);
    }
    const IID *const iids[] = { &IID_ID3D12Object,  &IID_ID3D12Device1, &IID_ID3D12Device2, &IID_ID3D12Device3,
                                &IID_ID3D12Device4, &IID_ID3D12Device5, &IID_ID3D12Device6, &IID_ID3D12Device7,
                                &IID_ID3D12Device8, &IID_ID3D12Device9 };
    for (size_t i = 0; i < sizeof(iids) / sizeof(iids[0]); i++) {
        void *other = NULL;
        ok_hr(ID3D12Device_QueryInterface(device, iids[i], &other), S_OK);
        ok(other == device, "interface %zu has another pointer", i);
        api_release(device);
    }
    void *none = device;
    ok_hr(ID3D12Device_QueryInterface(device, &IID_ID3D12Resource, &none), E_NOINTERFACE);
    ok(!none, "the output is not cleared");
    api_release(buffer);
    api_queue_destroy(&q);
}

static void test_levels(ID3D12Device *device)
{
    D3D_FEATURE_LEVEL levels[] = { (D3D_FEATURE_LEVEL)0x100, (D3D_FEATURE_LEVEL)0x1000, D3D_FEATURE_LEVEL_11_0 };
    D3D12_FEATURE_DATA_FEATURE_LEVELS data = { 3, levels, 0 };
    ok_hr(ID3D12Device_CheckFeatureSupport(device, D3D12_FEATURE_FEATURE_LEVELS, &data, sizeof(data)), S_OK);
    ok(data.MaxSupportedFeatureLevel == (D3D_FEATURE_LEVEL)0x1000, "level 0x%x",
       (unsigned)data.MaxSupportedFeatureLevel);
    data.NumFeatureLevels = 1;
    ok_hr(ID3D12Device_CheckFeatureSupport(device, D3D12_FEATURE_FEATURE_LEVELS, &data, sizeof(data)), S_OK);
    ok(data.MaxSupportedFeatureLevel == (D3D_FEATURE_LEVEL)0x100, "level 0x%x",
       (unsigned)data.MaxSupportedFeatureLevel);
    data.pFeatureLevelsRequested = levels + 2;
    ok_hr(ID3D12Device_CheckFeatureSupport(device, D3D12_FEATURE_FEATURE_LEVELS, &data, sizeof(data)), E_INVALIDARG);
    data.NumFeatureLevels = 0;
    ok_hr(ID3D12Device_CheckFeatureSupport(device, D3D12_FEATURE_FEATURE_LEVELS, &data, sizeof(data)), E_INVALIDARG);
}

static void test_sizes(ID3D12Device *device)
{
    static const struct {
        unsigned feature;
        UINT size;
    } rows[] = { { 0, 60 },  { 1, 16 },  { 6, 8 },  { 8, 24 },  { 16, 20 }, { 18, 8 },
                 { 20, 12 }, { 21, 20 }, { 22, 4 }, { 23, 12 }, { 48, 40 }, { 3, 12 } };
    uint64_t room[16];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (UINT size = 0; size <= 64; size++) {
            memset(room, 0, sizeof(room));
            HRESULT want = size == rows[i].size ? S_OK : E_INVALIDARG;
            HRESULT hr = ID3D12Device_CheckFeatureSupport(device, (D3D12_FEATURE)rows[i].feature, room, size);
            ok(hr == want, "feature %u size %u: 0x%08x", rows[i].feature, size, (unsigned)hr);
        }
        ok_hr(ID3D12Device_CheckFeatureSupport(device, (D3D12_FEATURE)rows[i].feature, NULL, rows[i].size),
              E_INVALIDARG);
    }
    ok_hr(ID3D12Device_CheckFeatureSupport(device, (D3D12_FEATURE)4711, room, 4), E_INVALIDARG);
}

static void test_features(ID3D12Device *device)
{
    D3D12_FEATURE_DATA_D3D12_OPTIONS options;
    ok_hr(ID3D12Device_CheckFeatureSupport(device, D3D12_FEATURE_D3D12_OPTIONS, &options, sizeof(options)), S_OK);
    ok(!api_is("cpu") || (options.TiledResourcesTier == D3D12_TILED_RESOURCES_TIER_1) == API_MAPS_TWICE,
       "tiled resources %d", options.TiledResourcesTier);
    ok(options.ResourceHeapTier >= 1 && options.MaxGPUVirtualAddressBitsPerResource >= 40, "heap tier, address bits");
    D3D12_FEATURE_DATA_ARCHITECTURE1 one = { 0 };
    D3D12_FEATURE_DATA_ARCHITECTURE zero = { 0 };
    ok_hr(ID3D12Device_CheckFeatureSupport(device, D3D12_FEATURE_ARCHITECTURE1, &one, sizeof(one)), S_OK);
    ok_hr(ID3D12Device_CheckFeatureSupport(device, D3D12_FEATURE_ARCHITECTURE, &zero, sizeof(zero)), S_OK);
    ok(one.UMA == zero.UMA && one.CacheCoherentUMA == zero.CacheCoherentUMA, "the two architectures differ");
    ok(!api_is("cpu") || (one.UMA && one.CacheCoherentUMA), "the CPU adapter is not UMA");
    one.NodeIndex = 1;
    ok_hr(ID3D12Device_CheckFeatureSupport(device, D3D12_FEATURE_ARCHITECTURE1, &one, sizeof(one)), E_INVALIDARG);
    D3D12_FEATURE_DATA_SHADER_MODEL model = { D3D_SHADER_MODEL_6_0 };
    ok_hr(ID3D12Device_CheckFeatureSupport(device, D3D12_FEATURE_SHADER_MODEL, &model, sizeof(model)), S_OK);
    ok(model.HighestShaderModel <= D3D_SHADER_MODEL_6_0, "newer than asked for");
    model.HighestShaderModel = (D3D_SHADER_MODEL)0x99;
    ok_hr(ID3D12Device_CheckFeatureSupport(device, D3D12_FEATURE_SHADER_MODEL, &model, sizeof(model)), E_INVALIDARG);
    D3D12_FEATURE_DATA_ROOT_SIGNATURE root = { D3D_ROOT_SIGNATURE_VERSION_1_1 };
    ok_hr(ID3D12Device_CheckFeatureSupport(device, D3D12_FEATURE_ROOT_SIGNATURE, &root, sizeof(root)), S_OK);
    root.HighestVersion = 77;
    ok_hr(ID3D12Device_CheckFeatureSupport(device, D3D12_FEATURE_ROOT_SIGNATURE, &root, sizeof(root)), E_INVALIDARG);
}

static void test_private_data(ID3D12Device *device)
{
    const GUID guid = { 1, 2, 3, { 4 } };
    char out[8] = "";
    UINT size = sizeof(out);
    ok_hr(ID3D12Device_GetPrivateData(device, &guid, &size, out), DXGI_ERROR_NOT_FOUND);
    ok(!size, "size %u", size);
    ok_hr(ID3D12Device_GetPrivateData(device, &guid, NULL, out), E_INVALIDARG);
    ok_hr(ID3D12Device_SetPrivateData(device, &guid, 4, "abc"), S_OK);
    size = 2;
    ok_hr(ID3D12Device_GetPrivateData(device, &guid, &size, out), DXGI_ERROR_MORE_DATA);
    ok(size == 4, "size %u", size);
    ok_hr(ID3D12Device_GetPrivateData(device, &guid, &size, out), S_OK);
    ok(!strcmp(out, "abc"), "data");
    /* An interface is referenced by the device, and once more by its receiver. */
    ID3D12Fence *fence = NULL, *got = NULL;
    ok_hr(ID3D12Device_CreateFence(device, 0, 0, &IID_ID3D12Fence, (void **)&fence), S_OK);
    ok_hr(ID3D12Device_SetPrivateDataInterface(device, &guid, (IUnknown *)fence), S_OK);
    size = sizeof(got);
    ok_hr(ID3D12Device_GetPrivateData(device, &guid, &size, &got), S_OK);
    ok(got == fence && api_release(fence) == 2, "references of an interface in private data");
    api_release(got);
    ok_hr(ID3D12Device_SetPrivateDataInterface(device, &guid, NULL), S_OK);
    ok_hr(ID3D12Device_SetName(device, L"a device"), S_OK);
    ok_hr(ID3D12Device_SetName(device, NULL), S_OK);
}

static void test_absent(ID3D12Device *device)
{
    void *out = device;
    ok_hr(ID3D12Device_CreateComputePipelineState(device, NULL, &IID_ID3D12PipelineState, &out), E_NOTIMPL);
    ok(!out, "the output is not cleared");
    ok_hr(ID3D12Device_GetDeviceRemovedReason(device), S_OK);
    LUID luid = ID3D12Device_GetAdapterLuid(device);
    ok(luid.LowPart || luid.HighPart, "a LUID of zeros");
    ID3D12Device9 *nine = (ID3D12Device9 *)device;
    UINT count = 7;
    ok_hr(ID3D12Device9_EnumerateMetaCommands(nine, &count, NULL), S_OK);
    ok(!count, "%u meta commands", count);
    ID3D12CommandQueue *queue = NULL;
    D3D12_COMMAND_QUEUE_DESC desc = { .Type = D3D12_COMMAND_LIST_TYPE_DIRECT };
    ok_hr(ID3D12Device9_CreateCommandQueue1(nine, &desc, &IID_ID3D12Device, &IID_ID3D12CommandQueue, (void **)&queue),
          S_OK);
    api_release(queue);
}

/* Performance hints: accepted, without effect. */
static void test_hints(ID3D12Device *device)
{
    ID3D12Device9 *nine = (ID3D12Device9 *)device;
    BOOL more = TRUE;
    HANDLE event = api_event_create();
    ok_hr(ID3D12Device_SetStablePowerState(device, TRUE), S_OK);
    ok_hr(ID3D12Device9_SetBackgroundProcessingMode(nine, D3D12_BACKGROUND_PROCESSING_MODE_DISABLE_PROFILING_BY_SYSTEM,
                                                    D3D12_MEASUREMENTS_ACTION_DISCARD_PREVIOUS, event, &more),
          S_OK);
    ok(!more && api_event_fired(event, 0), "the event has not fired");
    api_event_close(event);
    ok_hr(ID3D12Device9_SetBackgroundProcessingMode(nine, 0, 0, event, NULL), E_INVALIDARG);
    ok_hr(ID3D12Device9_SetBackgroundProcessingMode(nine, 0, 0, NULL, NULL), S_OK);
    ok_hr(ID3D12Device9_SetBackgroundProcessingMode(nine, 4, 0, NULL, NULL), E_INVALIDARG);
    ok_hr(ID3D12Device9_SetBackgroundProcessingMode(nine, 0, 4, NULL, NULL), E_INVALIDARG);
    ok_hr(ID3D12Device9_ShaderCacheControl(nine, (D3D12_SHADER_CACHE_KIND_FLAGS)0xf,
                                           D3D12_SHADER_CACHE_CONTROL_FLAG_DISABLE |
                                               D3D12_SHADER_CACHE_CONTROL_FLAG_CLEAR),
          S_OK);
    ok_hr(ID3D12Device9_ShaderCacheControl(nine, (D3D12_SHADER_CACHE_KIND_FLAGS)0x10, 0), E_INVALIDARG);
    ok_hr(ID3D12Device9_ShaderCacheControl(nine, 0, (D3D12_SHADER_CACHE_CONTROL_FLAGS)3), E_INVALIDARG);
}

int main(void)
{
    api_begin();
    test_singleton();
    test_singleton_races();
    ID3D12Device *device = api_device();
    test_identity(device);
    test_levels(device);
    test_sizes(device);
    test_features(device);
    test_private_data(device);
    test_absent(device);
    test_hints(device);
    ok(api_release(device) == 0, "the device is still referenced");
    return api_end();
}
