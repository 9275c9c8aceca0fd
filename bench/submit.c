/* SPDX-License-Identifier: Apache-2.0 */
/* How long a graph of many dispatches, executed before, takes from ExecuteCommandLists to vkQueueSubmit, where the time
 * goes, and how long each of its dispatches takes by the device's clock, on the first Vulkan device:
 * submit [STEPS [ROUNDS [DEVICE]]]
 * The device is this program's, so that AnyDML gets functions of Vulkan that note when they are called. */
#include <anydml_vulkan.h>

#pragma GCC diagnostic ignored "-Wunused-function" /* shared by samples, not all of it is used */
#include "chain.h"

#include <dlfcn.h>
#include <stdbool.h>

enum { ROUNDS_MAX = 100000 };

/* ---- Vulkan ---- */

static struct {
    PFN_vkGetInstanceProcAddr get;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t family;
} gpu;

/* Of the submission in progress; all on the queue's thread. */
static struct {
    double first, begin, end; /* the first call of Vulkan; vkQueueSubmit */
    double driver;            /* in calls before vkQueueSubmit */
} seen;

static double enter(void)
{
    double now = now_us();
    if (!seen.first)
        seen.first = now;
    return now;
}

/* A timed function, which calls that of the driver. */
#define TIMED(result, name, parameters, ...)                                                                           \
    static PFN_##name next_##name;                                                                                     \
    static result VKAPI_CALL timed_##name parameters                                                                   \
    {                                                                                                                  \
        const double start = enter();                                                                                  \
        TIMED_##result next_##name(__VA_ARGS__);                                                                       \
        seen.driver += now_us() - start;                                                                               \
        TIMED_RETURN_##result                                                                                          \
    }
#define TIMED_VkResult        VkResult code =
#define TIMED_RETURN_VkResult return code;
#define TIMED_void
#define TIMED_RETURN_void
TIMED(VkResult, vkGetSemaphoreCounterValue, (VkDevice device, VkSemaphore semaphore, uint64_t *out), device, semaphore,
      out)
TIMED(VkResult, vkResetCommandPool, (VkDevice device, VkCommandPool pool, VkCommandPoolResetFlags flags), device, pool,
      flags)
TIMED(VkResult, vkBeginCommandBuffer, (VkCommandBuffer commands, const VkCommandBufferBeginInfo *info), commands, info)
TIMED(VkResult, vkEndCommandBuffer, (VkCommandBuffer commands), commands)
TIMED(void, vkCmdExecuteCommands, (VkCommandBuffer commands, uint32_t count, const VkCommandBuffer *list), commands,
      count, list)
TIMED(void, vkCmdPipelineBarrier,
      (VkCommandBuffer commands, VkPipelineStageFlags from, VkPipelineStageFlags to, VkDependencyFlags flags,
       uint32_t count, const VkMemoryBarrier *barriers, uint32_t buffer_count, const VkBufferMemoryBarrier *buffers,
       uint32_t image_count, const VkImageMemoryBarrier *images),
      commands, from, to, flags, count, barriers, buffer_count, buffers, image_count, images)

static PFN_vkQueueSubmit next_vkQueueSubmit;
static VkResult VKAPI_CALL timed_vkQueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence)
{
    seen.begin = enter();
    VkResult result = next_vkQueueSubmit(queue, count, infos, fence);
    seen.end = now_us();
    return result;
}

static PFN_vkVoidFunction VKAPI_CALL get_timed(VkInstance instance, const char *name)
{
#define GIVE(function)                                                                                                 \
    if (!strcmp(name, #function)) {                                                                                    \
        next_##function = (PFN_##function)gpu.get(instance, name);                                                     \
        return (PFN_vkVoidFunction)timed_##function;                                                                   \
    }
    GIVE(vkGetSemaphoreCounterValue)
    GIVE(vkResetCommandPool)
    GIVE(vkBeginCommandBuffer)
    GIVE(vkEndCommandBuffer)
    GIVE(vkCmdExecuteCommands)
    GIVE(vkCmdPipelineBarrier)
    GIVE(vkQueueSubmit)
    return gpu.get(instance, name);
}

static void need(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "submit: %s\n", what);
    exit(1);
}

#define VULKAN(name) ((PFN_##name)gpu.get(gpu.instance, #name))

static uint32_t find_family(void)
{
    VkQueueFamilyProperties families[32];
    uint32_t count = 32, family = 0;
    VULKAN(vkGetPhysicalDeviceQueueFamilyProperties)(gpu.physical, &count, families);
    while (family < count && !(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT))
        family++;
    need(family < count, "the device does not compute");
    return family;
}

static void open_instance(uint32_t index)
{
    void *library = dlopen("libvulkan.so.1", RTLD_NOW);
    VkApplicationInfo application = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2 };
    VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application };
    VkPhysicalDevice devices[32];
    uint32_t count = 32;
    need(library, "there is no libvulkan.so.1");
    gpu.get = (PFN_vkGetInstanceProcAddr)dlsym(library, "vkGetInstanceProcAddr");
    need(VULKAN(vkCreateInstance)(&info, NULL, &gpu.instance) == VK_SUCCESS, "no instance of Vulkan 1.2");
    need(VULKAN(vkEnumeratePhysicalDevices)(gpu.instance, &count, devices) == VK_SUCCESS && index < count,
         "there is no such device");
    gpu.physical = devices[index];
}

static ID3D12Device *open_device(void)
{
    const float priority = 1;
    VkPhysicalDeviceVulkan12Features v12 = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                             .bufferDeviceAddress = VK_TRUE,
                                             .timelineSemaphore = VK_TRUE,
                                             .uniformBufferStandardLayout = VK_TRUE };
    VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                      .queueFamilyIndex = gpu.family = find_family(),
                                      .queueCount = 1,
                                      .pQueuePriorities = &priority };
    VkDeviceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                .pNext = &v12,
                                .queueCreateInfoCount = 1,
                                .pQueueCreateInfos = &queue };
    ID3D12Device *device;
    need(VULKAN(vkCreateDevice)(gpu.physical, &info, NULL, &gpu.device) == VK_SUCCESS, "no device of Vulkan");
    VULKAN(vkGetDeviceQueue)(gpu.device, gpu.family, 0, &gpu.queue);
    const struct anydml_vulkan_device desc = {
        .GetInstanceProcAddr = get_timed,
        .Instance = gpu.instance,
        .ApiVersion = VK_API_VERSION_1_2,
        .PhysicalDevice = gpu.physical,
        .Device = gpu.device,
        .CreateInfo = &info,
        .QueueFamily = gpu.family,
        .QueueCount = 1,
        .Queues = &gpu.queue,
    };
    CHECK(AnydmlVulkanCreateDevice(&desc, &IID_ID3D12Device, (void **)&device));
    return device;
}

/* ---- the timed work ---- */

struct bench {
    struct sample_queue q;
    IDMLDevice *dml;
    IDMLCommandRecorder *recorder;
    IDMLCompiledOperator *graph;
    ID3D12DescriptorHeap *heap;
    ID3D12Resource *buffers[3]; /* input, output, temporary */
    UINT64 temporary_bytes;
};

static void record(struct bench *b, IDMLDispatchable *work, bool initialize)
{
    DML_BUFFER_BINDING input = { b->buffers[0], 0, CHAIN_COUNT * 4 }, output = { b->buffers[1], 0, CHAIN_COUNT * 4 };
    DML_BUFFER_BINDING temporary = { b->buffers[2], 0, b->temporary_bytes };
    DML_BINDING_DESC inputs[] = { { DML_BINDING_TYPE_BUFFER, &input }, { DML_BINDING_TYPE_BUFFER, &input } };
    DML_BINDING_DESC outputs = { DML_BINDING_TYPE_BUFFER, &output }, rest = { DML_BINDING_TYPE_BUFFER, &temporary };
    IDMLBindingTable *table = sample_table(b->dml, work, b->heap);
    IDMLBindingTable_BindInputs(table, initialize ? 0 : 2, inputs);
    IDMLBindingTable_BindOutputs(table, initialize ? 0 : 1, &outputs);
    if (!initialize && b->temporary_bytes)
        IDMLBindingTable_BindTemporaryResource(table, &rest);
    ID3D12GraphicsCommandList_SetDescriptorHeaps(b->q.list, 1, &b->heap);
    IDMLCommandRecorder_RecordDispatch(b->recorder, (ID3D12CommandList *)b->q.list, work, table);
    IDMLBindingTable_Release(table);
}

static void create(struct bench *b, UINT steps)
{
    ID3D12Device *device = open_device();
    IDMLOperatorInitializer *initializer;
    b->q = sample_queue_create(device);
    CHECK(DMLCreateDevice(device, DML_CREATE_DEVICE_FLAG_NONE, &IID_IDMLDevice, (void **)&b->dml));
    CHECK(IDMLDevice_CreateCommandRecorder(b->dml, &IID_IDMLCommandRecorder, (void **)&b->recorder));
    b->graph = compile_add(b->dml, steps);
    DML_BINDING_PROPERTIES needs = IDMLDispatchable_GetBindingProperties((IDMLDispatchable *)b->graph);
    b->temporary_bytes = needs.TemporaryResourceSize;
    for (int i = 0; i < 3; i++)
        b->buffers[i] = sample_buffer(device, D3D12_HEAP_TYPE_DEFAULT,
                                      i == 2 && b->temporary_bytes ? b->temporary_bytes : CHAIN_COUNT * 4);
    CHECK(IDMLDevice_CreateOperatorInitializer(b->dml, 1, &b->graph, &IID_IDMLOperatorInitializer,
                                               (void **)&initializer));
    UINT more = IDMLDispatchable_GetBindingProperties((IDMLDispatchable *)initializer).RequiredDescriptorCount;
    b->heap = sample_heap(device, needs.RequiredDescriptorCount > more ? needs.RequiredDescriptorCount : more);
    record(b, (IDMLDispatchable *)initializer, true);
    sample_flush(&b->q);
    IDMLOperatorInitializer_Release(initializer);
    record(b, (IDMLDispatchable *)b->graph, false);
    CHECK(ID3D12GraphicsCommandList_Close(b->q.list));
}

static void release(struct bench *b)
{
    IUnknown *objects[] = { (IUnknown *)b->buffers[0], (IUnknown *)b->buffers[1], (IUnknown *)b->buffers[2],
                            (IUnknown *)b->heap,       (IUnknown *)b->graph,      (IUnknown *)b->recorder,
                            (IUnknown *)b->dml };
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
        IUnknown_Release(objects[i]);
    sample_queue_release(&b->q);
    ID3D12Device_Release(b->q.device);
    VULKAN(vkDestroyDevice)(gpu.device, NULL);
    VULKAN(vkDestroyInstance)(gpu.instance, NULL);
}

/* ---- measuring ---- */

enum part { CALL, FIRST, SUBMIT, DRIVER, QUEUE_SUBMIT, TOTAL, PARTS };

static const char *const names[PARTS] = {
    "ExecuteCommandLists returns after",   "the first call of Vulkan comes after", "vkQueueSubmit comes after",
    "  of which in other calls of Vulkan", "vkQueueSubmit itself takes",           "the waiting thread goes on after",
};

static double samples[PARTS][ROUNDS_MAX];

static void wait_for(struct bench *b)
{
    CHECK(ID3D12CommandQueue_Signal(b->q.queue, b->q.fence, ++b->q.value));
    CHECK(ID3D12Fence_SetEventOnCompletion(b->q.fence, b->q.value, NULL));
}

/* One at a time, `idle_us` after the one before. */
static void measure(struct bench *b, UINT rounds, UINT idle_us)
{
    ID3D12CommandList *lists[] = { (ID3D12CommandList *)b->q.list };
    for (UINT r = 0; r < rounds; r++) {
        const struct timespec idle = { 0, (long)idle_us * 1000 };
        if (idle_us)
            nanosleep(&idle, NULL);
        memset(&seen, 0, sizeof(seen)); /* the queue is idle */
        const double start = now_us();
        ID3D12CommandQueue_ExecuteCommandLists(b->q.queue, 1, lists);
        const double returned = now_us();
        wait_for(b);
        const double times[PARTS] = { returned - start, seen.first - start,    seen.begin - start,
                                      seen.driver,      seen.end - seen.begin, now_us() - start };
        for (int i = 0; i < PARTS; i++)
            samples[i][r] = times[i];
    }
    printf(idle_us ? "queue idle for %u us before:\n" : "one after the other:\n", idle_us);
    for (int i = 0; i < PARTS; i++) {
        qsort(samples[i], rounds, sizeof(samples[i][0]), by_size);
        printf("  %-38s %8.2f us median, %8.2f us min\n", names[i], samples[i][rounds / 2], samples[i][0]);
    }
}

static void measure_device(struct bench *b, UINT steps, UINT rounds)
{
    const D3D12_QUERY_HEAP_DESC desc = { D3D12_QUERY_HEAP_TYPE_TIMESTAMP, 2, 0 };
    ID3D12Resource *result = sample_buffer(b->q.device, D3D12_HEAP_TYPE_READBACK, 16);
    ID3D12CommandList *lists[] = { (ID3D12CommandList *)b->q.list };
    ID3D12QueryHeap *queries;
    UINT64 frequency, *times;
    CHECK(ID3D12Device_CreateQueryHeap(b->q.device, &desc, &IID_ID3D12QueryHeap, (void **)&queries));
    CHECK(ID3D12CommandQueue_GetTimestampFrequency(b->q.queue, &frequency));
    CHECK(ID3D12CommandAllocator_Reset(b->q.allocator));
    CHECK(ID3D12GraphicsCommandList_Reset(b->q.list, b->q.allocator, NULL));
    ID3D12GraphicsCommandList_EndQuery(b->q.list, queries, D3D12_QUERY_TYPE_TIMESTAMP, 0);
    record(b, (IDMLDispatchable *)b->graph, false);
    ID3D12GraphicsCommandList_EndQuery(b->q.list, queries, D3D12_QUERY_TYPE_TIMESTAMP, 1);
    ID3D12GraphicsCommandList_ResolveQueryData(b->q.list, queries, D3D12_QUERY_TYPE_TIMESTAMP, 0, 2, result, 0);
    CHECK(ID3D12GraphicsCommandList_Close(b->q.list));
    CHECK(ID3D12Resource_Map(result, 0, NULL, (void **)&times));
    for (UINT r = 0; r < rounds; r++) {
        ID3D12CommandQueue_ExecuteCommandLists(b->q.queue, 1, lists);
        wait_for(b);
        samples[0][r] = (double)(times[1] - times[0]) * 1e6 / (double)frequency / steps;
    }
    qsort(samples[0], rounds, sizeof(samples[0][0]), by_size);
    printf("on the device, a dispatch and the barrier before it: %.2f us median, %.2f us min\n", samples[0][rounds / 2],
           samples[0][0]);
    ID3D12Resource_Unmap(result, 0, NULL);
    ID3D12Resource_Release(result);
    ID3D12QueryHeap_Release(queries);
}

int main(int argc, char **argv)
{
    const UINT steps = argc > 1 ? (UINT)strtoul(argv[1], NULL, 10) : 60;
    const UINT rounds = argc > 2 ? (UINT)strtoul(argv[2], NULL, 10) : 1000;
    const UINT index = argc > 3 ? (UINT)strtoul(argv[3], NULL, 10) : 0;
    if (!steps || steps > 10000 || !rounds || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: %s [STEPS [ROUNDS [DEVICE]]]\n", argv[0]);
        return 2;
    }
    struct bench b;
    setenv("ANYDML_DISABLE_PASS", "fuse_map", 1); /* each addition is a dispatch */
    open_instance(index);
    create(&b, steps);
    measure(&b, rounds, 0);
    measure(&b, rounds, 2000);
    measure_device(&b, steps, rounds);
    release(&b);
    return 0;
}
