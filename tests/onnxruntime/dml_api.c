/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions of the provider's library, in ONNX Runtime as a program would use it.
 *
 *     dml_api [LIBONNXRUNTIME]      (or the environment variable ONNXRUNTIME_LIBRARY)
 *
 * Skipped (77) without an ONNX Runtime. Nothing is linked to it: its symbols carry its version. */
#define _GNU_SOURCE
#include "dml_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

/* ---- the entries ---- */

static void test_numbers(OrtEnv *env)
{
    OrtSessionOptions *options = new_options();
    REFUSED(OrtSessionOptionsAppendExecutionProvider_DML(options, -1), ORT_INVALID_ARGUMENT, "negative");
    REFUSED(OrtSessionOptionsAppendExecutionProvider_DML(options, 99), ORT_INVALID_ARGUMENT,
            "device 99 does not exist");
    REFUSED(OrtSessionOptionsAppendExecutionProvider_DML(NULL, 0), ORT_INVALID_ARGUMENT, "options is NULL");
    OK(OrtSessionOptionsAppendExecutionProvider_DML(options, 0));
    run_plain(env, options);
    ort->ReleaseSessionOptions(options);

    options = new_options();
    OK(dml->SessionOptionsAppendExecutionProvider_DML(options, 0));
    run_plain(env, options);
    ort->ReleaseSessionOptions(options);
}

/* Sessions with these options run on the device that D3D12CreateDevice(NULL) gives. */
static void check_default(OrtSessionOptions *options)
{
    IDMLDevice *device = NULL;
    ID3D12Device *own = NULL, *by_default = NULL;
    OK(dml->GetDMLDevice(options, &device));
    CHECK(IDMLDevice_GetParentDevice(device, &IID_ID3D12Device, (void **)&own) == S_OK);
    CHECK(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_1_0_CORE, &IID_ID3D12Device, (void **)&by_default) == S_OK);
    CHECK(own == by_default); /* an adapter has one in a process */
    ID3D12Device_Release(own);
    ID3D12Device_Release(by_default);
    IDMLDevice_Release(device);
}

static void test_default(void)
{
    OrtDmlDeviceOptions wishes = { Default, Any };
    OrtSessionOptions *options = new_options();
    OK(OrtSessionOptionsAppendExecutionProvider_DML(options, 0));
    check_default(options);
    ort->ReleaseSessionOptions(options);
    for (int given = 0; given < 2; given++) {
        options = new_options();
        OK(dml->SessionOptionsAppendExecutionProvider_DML2(options, given ? &wishes : NULL));
        check_default(options);
        ort->ReleaseSessionOptions(options);
    }
}

static void test_preferences(OrtEnv *env)
{
    OrtDmlDeviceOptions wishes = { HighPerformance, Any };
    OrtSessionOptions *options = new_options();
    OK(dml->SessionOptionsAppendExecutionProvider_DML2(options, &wishes));
    run_plain(env, options);
    ort->ReleaseSessionOptions(options);

    options = new_options();
    OK(dml->SessionOptionsAppendExecutionProvider_DML2(options, NULL));
    run_plain(env, options);
    ort->ReleaseSessionOptions(options);

    options = new_options();
    wishes.Filter = (OrtDmlDeviceFilter)0;
    REFUSED(dml->SessionOptionsAppendExecutionProvider_DML2(options, &wishes), ORT_INVALID_ARGUMENT, "Filter");
    wishes.Filter = Npu;
    REFUSED(dml->SessionOptionsAppendExecutionProvider_DML2(options, &wishes), ORT_INVALID_ARGUMENT, "no device");
    wishes = (OrtDmlDeviceOptions){ (OrtDmlPerformancePreference)7, Any };
    REFUSED(dml->SessionOptionsAppendExecutionProvider_DML2(options, &wishes), ORT_INVALID_ARGUMENT, "Preference");
    ort->ReleaseSessionOptions(options);
}

/* Work that waits in the caller's queue holds the session's back: it runs in that queue. */
struct blocked {
    ID3D12Fence *fence;
    volatile int released;
};

static void *release_later(void *data)
{
    struct blocked *b = data;
    usleep(50000);
    b->released = 1;
    ID3D12Fence_Signal(b->fence, 1);
    return NULL;
}

static void test_own_device(OrtEnv *env, struct gpu *g)
{
    OrtSessionOptions *options = new_options();
    struct gpu other = gpu_open(NULL, D3D12_COMMAND_LIST_TYPE_COPY);
    struct blocked blocked = { g->fence, 0 };
    pthread_t thread;
    IDMLDevice *device = NULL;
    ID3D12CommandQueue *queue = NULL;
    REFUSED(dml->SessionOptionsAppendExecutionProvider_DML1(options, NULL, g->queue), ORT_INVALID_ARGUMENT, "NULL");
    REFUSED(dml->SessionOptionsAppendExecutionProvider_DML1(options, other.dml, other.queue), ORT_INVALID_ARGUMENT,
            "DIRECT or COMPUTE");
    REFUSED(dml->GetDMLDevice(options, &device), ORT_INVALID_ARGUMENT, "not appended");
    unsigned long before = refs(g->dml);
    OK(dml->SessionOptionsAppendExecutionProvider_DML1(options, g->dml, g->queue));
    CHECK(refs(g->dml) == before + 1);
    OK(dml->GetDMLDevice(options, &device));
    OK(dml->GetDMLCommandQueue(options, &queue));
    CHECK(device == g->dml && queue == g->queue);
    IDMLDevice_Release(device);
    ID3D12CommandQueue_Release(queue);

    ID3D12CommandQueue_Wait(g->queue, g->fence, 1);
    CHECK(!pthread_create(&thread, NULL, release_later, &blocked));
    run_plain(env, options);
    CHECK(blocked.released);
    pthread_join(thread, NULL);
    run_plain(env, options); /* a second session of the same options */
    ort->ReleaseSessionOptions(options);

    options = new_options();
    OK(OrtSessionOptionsAppendExecutionProviderEx_DML(options, g->dml, g->queue));
    CHECK(refs(g->dml) == before + 1); /* the same pair is kept once */
    run_plain(env, options);
    ort->ReleaseSessionOptions(options);
    gpu_close(&other, 1);
}

/* Asked for, options by number get a device and a queue of their own, and sessions run there. */
static void test_getters(OrtEnv *env)
{
    OrtSessionOptions *options = new_options();
    IDMLDevice *device = NULL, *again = NULL, *none = NULL;
    ID3D12CommandQueue *queue = NULL;
    ID3D12Device *d3d = NULL;
    struct blocked blocked = { 0 };
    pthread_t thread;
    OK(dml->SessionOptionsAppendExecutionProvider_DML(options, 0));
    OK(dml->GetDMLDevice(options, &device));
    OK(dml->GetDMLDevice(options, &again));
    OK(dml->GetDMLCommandQueue(options, &queue));
    CHECK(device && device == again && queue);
    CHECK(SUCCEEDED(ID3D12CommandQueue_GetDevice(queue, &IID_ID3D12Device, (void **)&d3d)));
    CHECK(
        SUCCEEDED(ID3D12Device_CreateFence(d3d, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, (void **)&blocked.fence)));
    ID3D12CommandQueue_Wait(queue, blocked.fence, 1);
    CHECK(!pthread_create(&thread, NULL, release_later, &blocked));
    run_plain(env, options);
    CHECK(blocked.released);
    pthread_join(thread, NULL);
    REFUSED(dml->GetDMLDevice(NULL, &none), ORT_INVALID_ARGUMENT, "NULL");
    REFUSED(dml->GetDMLCommandQueue(options, NULL), ORT_INVALID_ARGUMENT, "NULL");
    ID3D12Fence_Release(blocked.fence);
    ID3D12Device_Release(d3d);
    ID3D12CommandQueue_Release(queue);
    IDMLDevice_Release(again);
    IDMLDevice_Release(device);
    ort->ReleaseSessionOptions(options);
}

/* ---- memory ---- */

static void test_allocations(OrtEnv *env, struct gpu *g)
{
    OrtSessionOptions *options = new_options();
    ID3D12Resource *in = new_buffer(g->d3d, D3D12_HEAP_TYPE_DEFAULT), *found = NULL,
                   *out = new_buffer(g->d3d, D3D12_HEAP_TYPE_READBACK);
    OrtMemoryInfo *infos[2] = { NULL };
    float *x = NULL, *y = NULL, *mapped = NULL;
    void *again = NULL;
    OK(dml->SessionOptionsAppendExecutionProvider_DML1(options, g->dml, g->queue));
    OrtSession *session = new_session(env, options);
    OK(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &infos[0]));
    OK(ort->CreateMemoryInfo("DML", OrtDeviceAllocator, 0, OrtMemTypeDefault, &infos[1]));

    unsigned long before = refs(in);
    OK(dml->CreateGPUAllocationFromD3DResource(in, (void **)&x));
    OK(dml->CreateGPUAllocationFromD3DResource(out, (void **)&y));
    OK(dml->CreateGPUAllocationFromD3DResource(in, &again));
    CHECK(x && y && again == x && refs(in) == before + 1);
    OK(dml->GetD3D12ResourceFromAllocation(NULL, x, &found));
    CHECK(found == in);
    ID3D12Resource_Release(found);
    CHECK(SUCCEEDED(ID3D12Resource_Map(out, 0, NULL, (void **)&mapped)) && mapped == y);
    for (int i = 0; i < 2; i++) { /* the CPU's memory, and as programs for Windows name it */
        for (int k = 0; k < COUNT; k++)
            x[k] = (float)(k + 10 * i + 1);
        memset(y, 0, COUNT * sizeof(float));
        run_over(session, infos[i], x, y);
        for (int k = 0; k < COUNT; k++)
            CHECK(mapped[k] == 2 * (float)(k + 10 * i + 1));
    }
    OK(dml->FreeGPUAllocation(x));
    CHECK(refs(in) == before + 1);
    OK(dml->FreeGPUAllocation(x));
    CHECK(refs(in) == before);
    OK(dml->FreeGPUAllocation(y));
    REFUSED(dml->FreeGPUAllocation(x), ORT_INVALID_ARGUMENT, "is not of");
    REFUSED(dml->FreeGPUAllocation(NULL), ORT_INVALID_ARGUMENT, "is not of");
    REFUSED(dml->GetD3D12ResourceFromAllocation(NULL, x, &found), ORT_INVALID_ARGUMENT, "not an allocation");
    REFUSED(dml->CreateGPUAllocationFromD3DResource(NULL, &again), ORT_INVALID_ARGUMENT, "NULL");
    ort->ReleaseSession(session);
    ort->ReleaseSessionOptions(options);
    for (int i = 0; i < 2; i++)
        ort->ReleaseMemoryInfo(infos[i]);
    CHECK(ID3D12Resource_Release(in) == 0);
    CHECK(ID3D12Resource_Release(out) == 0);
}

/* Copies between the memories; memory of the program's own behind a tensor that claims to be the provider's is
 * refused, not read. */
static void test_copies(OrtEnv *env, struct gpu *g)
{
    ID3D12Resource *buffer = new_buffer(g->d3d, D3D12_HEAP_TYPE_DEFAULT);
    float x[COUNT] = { 1, 2, 3, 4 }, y[COUNT] = { 0 }, *inside = NULL;
    OrtMemoryInfo *info = NULL, *cpu = NULL;
    OK(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
    OK(ort->CreateMemoryInfo("DML", OrtDeviceAllocator, 0, OrtMemTypeDefault, &info));
    OK(dml->CreateGPUAllocationFromD3DResource(buffer, (void **)&inside));
    OrtValue *there = tensor_over(info, inside), *beyond = tensor_over(info, inside + 1),
             *foreign = tensor_over(info, x), *from = tensor_over(cpu, x), *to = tensor_over(cpu, y);
    OK(ort->CopyTensors(env, (const OrtValue *const *)&from, &there, NULL, 1));
    CHECK(!memcmp(inside, x, sizeof(x)));
    OK(ort->CopyTensors(env, (const OrtValue *const *)&there, &to, NULL, 1));
    CHECK(!memcmp(y, x, sizeof(x)));
    REFUSED(ort->CopyTensors(env, (const OrtValue *const *)&foreign, &to, NULL, 1), ORT_INVALID_ARGUMENT, "is not in");
    REFUSED(ort->CopyTensors(env, (const OrtValue *const *)&from, &beyond, NULL, 1), ORT_INVALID_ARGUMENT, "is not in");
    OrtValue *values[] = { there, beyond, foreign, from, to };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        ort->ReleaseValue(values[i]);
    OK(dml->FreeGPUAllocation(inside));
    CHECK(ID3D12Resource_Release(buffer) == 0);
    ort->ReleaseMemoryInfo(info);
    ort->ReleaseMemoryInfo(cpu);
}

static long stat_of(OrtAllocator *allocator, const char *key)
{
    OrtKeyValuePairs *stats = NULL;
    OK(ort->AllocatorGetStats(allocator, &stats));
    const char *text = stats ? ort->GetKeyValue(stats, key) : NULL;
    long value = text ? strtol(text, NULL, 10) : -2;
    ort->ReleaseKeyValuePairs(stats);
    return value;
}

static void use_allocator(OrtAllocator *allocator)
{
    void *a = NULL, *b = NULL;
    ID3D12Resource *resource = NULL;
    OK(ort->AllocatorAlloc(allocator, 1000, &a));
    CHECK(a && (uintptr_t)a % 64 == 0 && stat_of(allocator, "InUse") == 1024);
    memset(a, 0x55, 1000);
    OK(dml->GetD3D12ResourceFromAllocation(allocator, a, &resource));
    CHECK(resource && ID3D12Resource_GetDesc(resource).Width >= 1000);
    void *import = NULL;
    REFUSED(dml->CreateGPUAllocationFromD3DResource(resource, &import), ORT_INVALID_ARGUMENT, "another allocation");
    REFUSED(dml->FreeGPUAllocation(a), ORT_INVALID_ARGUMENT, "is not of");
    if (resource)
        ID3D12Resource_Release(resource);
    OK(ort->AllocatorFree(allocator, a));
    OK(ort->AllocatorAlloc(allocator, 999, &b));
    CHECK(b == a); /* kept and found again */
    OK(ort->AllocatorFree(allocator, b));
    CHECK(stat_of(allocator, "InUse") == 0 && stat_of(allocator, "NumAllocs") == 2 &&
          stat_of(allocator, "NumArenaExtensions") == 1 && stat_of(allocator, "MaxInUse") == 1024);
}

static void test_allocators(OrtEnv *env)
{
    OrtSessionOptions *options = new_options();
    OrtMemoryInfo *info = NULL;
    OrtAllocator *allocator = NULL;
    OK(ort->CreateMemoryInfo("DML", OrtDeviceAllocator, 0, OrtMemTypeDefault, &info));
    OK(OrtSessionOptionsAppendExecutionProvider_DML(options, 0));
    OrtSession *session = new_session(env, options);
    OK(ort->CreateAllocator(session, info, &allocator));
    if (allocator)
        use_allocator(allocator);
    ort->ReleaseAllocator(allocator);
    ort->ReleaseSession(session);
    ort->ReleaseSessionOptions(options);
    ort->ReleaseMemoryInfo(info);
}

static void test_shared_allocator(OrtEnv *env)
{
    const OrtEpDevice *const *devices = NULL, *device = NULL;
    size_t count = 0;
    OrtAllocator *allocator = NULL;
    OrtKeyValuePairs *settings = NULL;
    OK(ort->GetEpDevices(env, &devices, &count));
    for (size_t i = 0; i < count && !device; i++) {
        if (!strcmp(ort->EpDevice_EpName(devices[i]), "DmlExecutionProvider"))
            device = devices[i];
    }
    CHECK(device);
    if (!device)
        return;
    ort->CreateKeyValuePairs(&settings);
    ort->AddKeyValuePair(settings, "arena_limit", "x");
    REFUSED(ort->CreateSharedAllocator(env, device, OrtDeviceMemoryType_HOST_ACCESSIBLE, OrtDeviceAllocator, settings,
                                       &allocator),
            ORT_INVALID_ARGUMENT, "arena_limit");
    ort->AddKeyValuePair(settings, "arena_limit", "1024");
    OK(ort->CreateSharedAllocator(env, device, OrtDeviceMemoryType_HOST_ACCESSIBLE, OrtDeviceAllocator, settings,
                                  &allocator));
    ort->ReleaseKeyValuePairs(settings);
    if (!allocator)
        return;
    use_allocator(allocator);
    void *large = NULL;
    OK(ort->AllocatorAlloc(allocator, 4096, &large));
    OK(ort->AllocatorFree(allocator, large)); /* over the limit: gone */
    CHECK(stat_of(allocator, "TotalAllocated") == 1024);
    if (allocator->version >= 25 && allocator->Shrink)
        OK(allocator->Shrink(allocator));
    CHECK(allocator->version < 25 || !allocator->Shrink || stat_of(allocator, "TotalAllocated") == 0);
    CHECK(!allocator->Alloc(allocator, 0) && !allocator->Alloc(allocator, SIZE_MAX));
    OK(ort->ReleaseSharedAllocator(env, device, OrtDeviceMemoryType_HOST_ACCESSIBLE));
}

/* ---- a device with memory of its own ---- */

/* Adapter 1 of the list: a Vulkan device, where there is one. */
static IDXCoreAdapter *find_vulkan(void)
{
    IDXCoreAdapterFactory *factory = NULL;
    IDXCoreAdapterList *list = NULL;
    IDXCoreAdapter *adapter = NULL;
    CHECK(SUCCEEDED(DXCoreCreateAdapterFactory(&IID_IDXCoreAdapterFactory, (void **)&factory)));
    CHECK(SUCCEEDED(IDXCoreAdapterFactory_CreateAdapterList(factory, 1, &DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE,
                                                            &IID_IDXCoreAdapterList, (void **)&list)));
    if (IDXCoreAdapterList_GetAdapterCount(list) > 1)
        CHECK(SUCCEEDED(IDXCoreAdapterList_GetAdapter(list, 1, &IID_IDXCoreAdapter, (void **)&adapter)));
    IDXCoreAdapterList_Release(list);
    IDXCoreAdapterFactory_Release(factory);
    return adapter;
}

/* Buffers of the program's are a session's tensors in place: what runs write is in them, with no copy by ONNX Runtime.
 */
static void run_in_buffers(OrtEnv *env, struct gpu *g)
{
    OrtSessionOptions *options = new_options();
    ID3D12Resource *in = new_buffer(g->d3d, D3D12_HEAP_TYPE_DEFAULT), *found = NULL,
                   *out = new_buffer(g->d3d, D3D12_HEAP_TYPE_DEFAULT);
    OrtMemoryInfo *info = NULL, *cpu = NULL;
    void *x = NULL, *y = NULL;
    float given[COUNT], got[COUNT] = { 0 };
    OK(dml->SessionOptionsAppendExecutionProvider_DML1(options, g->dml, g->queue));
    OrtSession *session = new_session(env, options);
    OK(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
    OK(ort->CreateMemoryInfo("DML", OrtDeviceAllocator, 1, OrtMemTypeDefault, &info));
    OK(dml->CreateGPUAllocationFromD3DResource(in, &x));
    OK(dml->CreateGPUAllocationFromD3DResource(out, &y));
    OK(dml->GetD3D12ResourceFromAllocation(NULL, y, &found));
    CHECK(x && y && x != y && found == out);
    ID3D12Resource_Release(found);
    OrtValue *there = tensor_over(info, x), *back = tensor_over(info, y), *from = tensor_over(cpu, given),
             *to = tensor_over(cpu, got);
    for (int run = 0; run < 3; run++) {
        for (int k = 0; k < COUNT; k++)
            given[k] = (float)(k - 10 * run);
        OK(ort->CopyTensors(env, (const OrtValue *const *)&from, &there, NULL, 1));
        run_over(session, info, x, y);
        OK(ort->CopyTensors(env, (const OrtValue *const *)&back, &to, NULL, 1));
        for (int k = 0; k < COUNT; k++)
            CHECK(got[k] == 2 * given[k]);
    }
    OrtValue *values[] = { there, back, from, to };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        ort->ReleaseValue(values[i]);
    OK(dml->FreeGPUAllocation(x));
    OK(dml->FreeGPUAllocation(y));
    REFUSED(dml->FreeGPUAllocation(x), ORT_INVALID_ARGUMENT, "is not of");
    ort->ReleaseSession(session);
    ort->ReleaseSessionOptions(options);
    ort->ReleaseMemoryInfo(info);
    ort->ReleaseMemoryInfo(cpu);
    CHECK(ID3D12Resource_Release(in) == 0);
    CHECK(ID3D12Resource_Release(out) == 0);
}

static void test_vulkan(OrtEnv *env)
{
    IDXCoreAdapter *adapter = find_vulkan();
    if (!adapter || !has_dml_memory) {
        printf("no device with memory of its own, or too old a host: not tested there\n");
    } else {
        struct gpu g = gpu_open(adapter, D3D12_COMMAND_LIST_TYPE_COMPUTE);
        run_in_buffers(env, &g);
        ID3D12Fence_Release(g.fence); /* the session's device and queue are kept until the environment ends */
        ID3D12CommandQueue_Release(g.queue);
        IDMLDevice_Release(g.dml);
        ID3D12Device_Release(g.d3d);
    }
    if (adapter)
        IDXCoreAdapter_Release(adapter);
}

int main(int argc, char **argv)
{
    setenv("ANYDML_ADAPTERS", "cpu,vulkan", 0);
    const char *path = argc > 1 ? argv[1] : getenv("ONNXRUNTIME_LIBRARY");
    void *runtime = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    const OrtApiBase *(*get)(void);
    OrtEnv *env = NULL;
    CHECK(!OrtGetDmlApi() || runtime);
    *(void **)&get = runtime ? dlsym(runtime, "OrtGetApiBase") : NULL;
    if (get) {
        unsigned version = ORT_API_VERSION;
        sscanf(get()->GetVersionString(), "1.%u", &version);
        version = version < ORT_API_VERSION ? version : ORT_API_VERSION;
        ort = version >= 23 ? get()->GetApi(version) : NULL;
        has_dml_memory = version >= 27;
    }
    if (!ort) {
        printf("skipped: no ONNX Runtime 1.23 or newer at %s\n", path ? path : "ONNXRUNTIME_LIBRARY");
        return 77;
    }
    dml = OrtGetDmlApi();
    CHECK(dml);
    if (!dml)
        return 1;
    OrtSessionOptions *early = NULL;
    OK(ort->CreateSessionOptions(&early));
    REFUSED(OrtSessionOptionsAppendExecutionProvider_DML(early, 0), ORT_FAIL, "no OrtEnv");
    ort->ReleaseSessionOptions(early);

    struct gpu g = gpu_open(NULL, D3D12_COMMAND_LIST_TYPE_COMPUTE);
    OK(ort->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "dml_api", &env));
    test_numbers(env);
    test_default();
    test_preferences(env);
    test_own_device(env, &g);
    test_getters(env);
    test_allocations(env, &g);
    test_copies(env, &g);
    if (has_dml_memory)
        test_allocators(env);
    test_shared_allocator(env);
    test_vulkan(env);
    ort->ReleaseEnv(env);
    gpu_close(&g, 0);
    printf("%d failures\n", failures);
    return failures ? 1 : 0;
}
