/* SPDX-License-Identifier: Apache-2.0 */
/* AnydmlVulkanCreateDevice: work on the application's queue together with the application's own, what determines types,
 * errors, and that the application's objects remain its own. */
#include "vulkan_test.h"

#include <anydml.h>

enum { COUNT = 1000 };

/* An addition, with a queue of the Direct3D device. */
static void check_add(struct rig *rig)
{
    float a[COUNT], b[COUNT], got[COUNT];
    ID3D12Resource *in[2] = { api_buffer(rig->d3d, D3D12_HEAP_TYPE_DEFAULT, sizeof(a)),
                              api_buffer(rig->d3d, D3D12_HEAP_TYPE_DEFAULT, sizeof(b)) };
    ID3D12Resource *out = api_buffer(rig->d3d, D3D12_HEAP_TYPE_DEFAULT, sizeof(got));
    IDMLCompiledOperator *op = compile(rig->dml, add_operator(rig->dml, COUNT), DML_EXECUTION_FLAG_NONE);
    for (int i = 0; i < COUNT; i++) {
        a[i] = (float)i / 8;
        b[i] = (float)(i % 17) - 3;
        got[i] = -1;
    }
    api_write(&rig->q, in[0], 0, a, sizeof(a));
    api_write(&rig->q, in[1], 0, b, sizeof(b));
    api_write(&rig->q, out, 0, got, sizeof(got));
    rig_set_heap(rig);
    IDMLBindingTable *table = table_at(rig, op, 0);
    bind_inputs(table, 2, (struct bound[]){ { in[0], 0, sizeof(a) }, { in[1], 0, sizeof(b) } });
    bind_outputs(table, 1, (struct bound[]){ { out, 0, sizeof(got) } });
    record(rig, op, table);
    rig_run(rig);
    api_read(&rig->q, out, 0, got, sizeof(got));
    rig_set_heap(rig);
    for (int i = 0; i < COUNT; i++)
        ok(got[i] == a[i] + b[i], "element %d is %g", i, (double)got[i]);
    api_release(table);
    api_release(op);
    for (int i = 0; i < 2; i++)
        api_release(in[i]);
    api_release(out);
}

struct busy {
    struct app *app;
    bool stop;
};

/* The application's own work on the queue. */
static void *stay_busy(void *argument)
{
    struct busy *busy = argument;
    while (!__atomic_load_n(&busy->stop, __ATOMIC_ACQUIRE)) {
        app_submit(busy->app, VK_NULL_HANDLE);
        nanosleep(&(struct timespec){ 0, 200000 }, NULL);
    }
    return NULL;
}

static void test_work(void)
{
    struct app app;
    pthread_t thread;
    app_find(&app);
    app_open(&app);
    struct busy busy = { &app, false };
    struct rig rig = rig_of(app_d3d(&app), DML_CREATE_DEVICE_FLAG_NONE);
    need(!pthread_create(&thread, NULL, stay_busy, &busy));
    for (int i = 0; i < 3; i++)
        check_add(&rig);
    __atomic_store_n(&busy.stop, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    ok(app.locked >= 3, "the lock was taken %u times", app.locked);
    rig_destroy(&rig);
    app_run(&app, app_begin(&app)); /* the device and the queue live */
    app_close(&app);
}

/* Each call creates another device; without a lock the queue is AnyDML's. */
static void test_two(void)
{
    struct app app;
    app_find(&app);
    app_open(&app);
    app.desc.Lock = app.desc.Unlock = NULL;
    struct rig one = rig_of(app_d3d(&app), DML_CREATE_DEVICE_FLAG_NONE);
    app.desc.Context = NULL; /* nothing of the description is read later */
    memset(&app.info, 0xa5, sizeof(app.info));
    check_add(&one);
    ID3D12Resource *buffer = api_buffer(one.d3d, D3D12_HEAP_TYPE_DEFAULT, 4096);
    LUID first = ID3D12Device_GetAdapterLuid(one.d3d);
    ok(!app.locked, "locked without a lock");
    api_release(buffer);
    rig_destroy(&one);
    app_close(&app);

    app_find(&app);
    app_open(&app);
    ID3D12Device *a = app_d3d(&app), *b = app_d3d(&app);
    LUID second = ID3D12Device_GetAdapterLuid(a), third = ID3D12Device_GetAdapterLuid(b);
    ok(a != b, "one device twice");
    ok(memcmp(&first, &second, sizeof(LUID)) && memcmp(&second, &third, sizeof(LUID)), "LUIDs are equal");
    api_release(a);
    api_release(b);
    app_close(&app);
}

/* Whether additions run in a type. */
static bool has_type(IDMLDevice1 *dml, DML_TENSOR_DATA_TYPE type)
{
    struct anydml_operator_info info;
    for (UINT i = 0; AnydmlEnumOperators((IDMLDevice *)dml, i, &info) == S_OK; i++)
        if (info.Type == DML_OPERATOR_ELEMENT_WISE_ADD)
            return (info.Types | info.ExtensionTypes) >> type & 1;
    return false;
}

/* Features that the application has not enabled are not used. */
static void test_features(void)
{
    struct app app;
    for (int enabled = 0; enabled < 2; enabled++) {
        app_find(&app);
        const bool int64 = enabled && app.features.shaderInt64, float64 = int64 && app.features.shaderFloat64;
        if (!enabled) {
            memset(&app.features, 0, sizeof(app.features));
            app.v11.storageBuffer16BitAccess = app.v12.storageBuffer8BitAccess = VK_FALSE;
        }
        app_open(&app);
        struct rig rig = rig_of(app_d3d(&app), DML_CREATE_DEVICE_FLAG_NONE);
        ok(has_type(rig.dml, DML_TENSOR_DATA_TYPE_INT64) == int64, "INT64, %d", enabled);
        ok(has_type(rig.dml, DML_TENSOR_DATA_TYPE_FLOAT64) == float64, "FLOAT64, %d", enabled);
        ok(has_type(rig.dml, DML_TENSOR_DATA_TYPE_FLOAT32), "FLOAT32");
        check_add(&rig);
        rig_destroy(&rig);
        app_close(&app);
    }
}

/* Features in the other ways in which Vulkan accepts them. */
static void test_chains(void)
{
    struct app app;
    app_find(&app);
    app_open(&app);
    VkPhysicalDeviceBufferDeviceAddressFeatures address = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES,
        .bufferDeviceAddress = VK_TRUE,
    };
    VkPhysicalDeviceUniformBufferStandardLayoutFeatures layout = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_UNIFORM_BUFFER_STANDARD_LAYOUT_FEATURES,
        .pNext = &address,
        .uniformBufferStandardLayout = VK_TRUE,
    };
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .pNext = &layout,
        .timelineSemaphore = VK_TRUE,
    };
    VkPhysicalDeviceFeatures2 core = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                       .pNext = &timeline,
                                       .features = app.features };
    app.info.pNext = &core;
    app.info.pEnabledFeatures = NULL;
    ID3D12Device *device = app_d3d(&app);
    IDMLDevice1 *dml = rig_dml_device(device, DML_CREATE_DEVICE_FLAG_NONE);
    ok(has_type(dml, DML_TENSOR_DATA_TYPE_INT64) == app.features.shaderInt64, "INT64 of VkPhysicalDeviceFeatures2");
    api_release(dml);
    api_release(device);
    app_close(&app);
}

static HRESULT try_device(const struct anydml_vulkan_device *desc)
{
    ID3D12Device *device = (ID3D12Device *)&device;
    HRESULT hr = AnydmlVulkanCreateDevice(desc, &IID_ID3D12Device, (void **)&device);
    ok(!device == FAILED(hr), "the device is %p", (void *)device);
    if (SUCCEEDED(hr))
        api_release(device);
    return hr;
}

static PFN_vkVoidFunction VKAPI_PTR lacks_semaphores(VkInstance instance, const char *name)
{
    return strstr(name, "Semaphore") ? NULL : vkGetInstanceProcAddr(instance, name);
}

static VKAPI_ATTR void VKAPI_CALL other_wait(void)
{
}

static PFN_vkVoidFunction VKAPI_PTR other_loader(VkInstance instance, const char *name)
{
    return strcmp(name, "vkQueueSubmit") ? vkGetInstanceProcAddr(instance, name) : (PFN_vkVoidFunction)other_wait;
}

#define REFUSED(field, value, a, b)                                                                                    \
    do {                                                                                                               \
        struct anydml_vulkan_device bad_ = app.desc;                                                                   \
        bad_.field = (value);                                                                                          \
        ok_refusal(try_device(&bad_), E_INVALIDARG, "AnydmlVulkanCreateDevice", a, b);                                 \
    } while (0)

static void test_refusals(void)
{
    struct app app;
    VkQueue strange = (VkQueue)&app;
    app_find(&app);
    app_open(&app);
    ok_refusal(try_device(NULL), E_INVALIDARG, "AnydmlVulkanCreateDevice", "desc", "NULL");
    ok_refusal(AnydmlVulkanCreateDevice(&app.desc, &IID_ID3D12Device, NULL), E_INVALIDARG, "AnydmlVulkanCreateDevice",
               "out", "NULL");
    REFUSED(GetInstanceProcAddr, NULL, "GetInstanceProcAddr", "NULL");
    REFUSED(Instance, VK_NULL_HANDLE, "Instance", "NULL");
    REFUSED(PhysicalDevice, VK_NULL_HANDLE, "PhysicalDevice", "NULL");
    REFUSED(Device, VK_NULL_HANDLE, "Device", "NULL");
    REFUSED(CreateInfo, NULL, "CreateInfo", "NULL");
    REFUSED(Queues, NULL, "Queues", "NULL");
    REFUSED(Unlock, NULL, "Unlock", "NULL");
    REFUSED(Lock, NULL, "Lock", "NULL");
    REFUSED(ApiVersion, VK_API_VERSION_1_1, "ApiVersion", "1.1");
    REFUSED(QueueFamily, 77, "QueueFamily", "77");
    REFUSED(QueueCount, 0, "QueueCount", "0");
    REFUSED(QueueCount, 5, "QueueCount", "5");
    REFUSED(Queues, &strange, "Queues[0]", "CreateInfo");
    REFUSED(GetInstanceProcAddr, lacks_semaphores, "GetInstanceProcAddr", "Semaphore");
    ID3D12Device *holder = app_d3d(&app); /* the process uses a loader from now on */
    struct anydml_vulkan_device other = app.desc;
    other.GetInstanceProcAddr = other_loader;
    ok_refusal(try_device(&other), DXGI_ERROR_UNSUPPORTED, "AnydmlVulkanCreateDevice", "GetInstanceProcAddr", "loader");
    api_release(holder);
    app.v12.timelineSemaphore = VK_FALSE;
    REFUSED(Context, NULL, "timelineSemaphore", "missing");
    app.v12.timelineSemaphore = VK_TRUE;
    app.v12.uniformBufferStandardLayout = VK_FALSE;
    REFUSED(Context, NULL, "uniformBufferStandardLayout", "missing");
    app.v12.uniformBufferStandardLayout = VK_TRUE;
    app.v12.bufferDeviceAddress = VK_FALSE;
    REFUSED(Context, NULL, "bufferDeviceAddress", "missing");
    app.v12.bufferDeviceAddress = VK_TRUE;
    app.queue_info.queueFamilyIndex = 77; /* none is made of the family */
    REFUSED(Context, NULL, "Queues[0]", "0 queues");
    app.queue_info.queueFamilyIndex = app.family;
    ok_hr(try_device(&app.desc), S_OK);
    app_close(&app);
}

/* Together with a device of the list, whose instance and functions are the library's own. */
static void test_beside_listed(void)
{
    struct app app;
    app_find(&app);
    app_open(&app);
    struct rig listed = rig_create(DML_CREATE_DEVICE_FLAG_NONE),
               own = rig_of(app_d3d(&app), DML_CREATE_DEVICE_FLAG_NONE);
    check_add(&listed);
    check_add(&own);
    rig_destroy(&listed);
    check_add(&own);
    rig_destroy(&own);
    app_close(&app);
}

int main(void)
{
    setenv("ANYDML_LOG", "error", 1);
    api_begin();
    test_work();
    test_two();
    test_features();
    test_chains();
    test_refusals();
    test_beside_listed();
    return api_end();
}
