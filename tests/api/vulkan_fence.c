/* SPDX-License-Identifier: Apache-2.0 */
/* AnydmlVulkanCreateFence: fences over the application's timeline semaphores, between its submissions, its host and the
 * queues of the Direct3D device. */
#include "vulkan_test.h"

enum { COUNT = 256, BYTES = COUNT * 4 };

static VkSemaphore semaphore_create(struct app *app, uint64_t value)
{
    VkSemaphoreTypeCreateInfo type = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                       .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
                                       .initialValue = value };
    VkSemaphoreCreateInfo info = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type };
    VkSemaphore semaphore;
    vk_ok(vkCreateSemaphore(app->device, &info, NULL, &semaphore));
    return semaphore;
}

static uint64_t semaphore_value(struct app *app, VkSemaphore semaphore)
{
    uint64_t value = 0;
    vk_ok(vkGetSemaphoreCounterValue(app->device, semaphore, &value));
    return value;
}

static void semaphore_signal(struct app *app, VkSemaphore semaphore, uint64_t value)
{
    VkSemaphoreSignalInfo info = { VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, NULL, semaphore, value };
    vk_ok(vkSignalSemaphore(app->device, &info));
}

static void semaphore_wait(struct app *app, VkSemaphore semaphore, uint64_t value)
{
    VkSemaphoreWaitInfo info = { VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, NULL, 0, 1, &semaphore, &value };
    vk_ok(vkWaitSemaphores(app->device, &info, UINT64_C(60000000000)));
}

static ID3D12Fence *fence_over(ID3D12Device *device, VkSemaphore semaphore, UINT64 value)
{
    ID3D12Fence *fence = NULL;
    ok_hr(AnydmlVulkanCreateFence(device, semaphore, value, &IID_ID3D12Fence, (void **)&fence), S_OK);
    need(fence);
    return fence;
}

static void ok_value(ID3D12Fence *fence, UINT64 want)
{
    const UINT64 got = ID3D12Fence_GetCompletedValue(fence);
    ok(got == want, "the fence is at %llu and not %llu", (unsigned long long)got, (unsigned long long)want);
}

/* Both sides' hosts. */
static void test_host(void)
{
    struct app app;
    VkSemaphore back = VK_NULL_HANDLE;
    app_find(&app);
    app_open(&app);
    ID3D12Device *device = app_d3d(&app);
    VkSemaphore semaphore = semaphore_create(&app, 2);
    ID3D12Fence *fence = fence_over(device, semaphore, 99), *own = fence_over(device, VK_NULL_HANDLE, 10),
                *plain = NULL;
    ok_value(fence, 2);
    semaphore_signal(&app, semaphore, 3);
    ok_value(fence, 3);
    ok_hr(ID3D12Fence_Signal(fence, 5), S_OK);
    ok(semaphore_value(&app, semaphore) == 5, "the semaphore");
    ok_refusal(ID3D12Fence_Signal(fence, 5), E_INVALIDARG, "Signal", "Value 5", "increase");
    ok_refusal(ID3D12Fence_Signal(fence, 4), E_INVALIDARG, "Signal", "Value 4", "5");
    ok_hr(AnydmlVulkanGetSemaphore(fence, &back), S_OK);
    ok(back == semaphore, "another semaphore");
    ok_hr(ID3D12Fence_SetEventOnCompletion(fence, 5, NULL), S_OK);

    ok_value(own, 10);
    ok_hr(AnydmlVulkanGetSemaphore(own, &back), S_OK);
    ok(back && back != semaphore && semaphore_value(&app, back) == 10, "the new semaphore");
    semaphore_signal(&app, back, 11);
    ok_value(own, 11);

    ok_hr(ID3D12Device_CreateFence(device, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, (void **)&plain), S_OK);
    ok_refusal(AnydmlVulkanGetSemaphore(plain, &back), E_INVALIDARG, "AnydmlVulkanGetSemaphore", "fence",
               "AnydmlVulkanCreateFence");
    ok_refusal(AnydmlVulkanGetSemaphore(NULL, &back), E_INVALIDARG, "AnydmlVulkanGetSemaphore", "fence", "NULL");
    ok_refusal(AnydmlVulkanGetSemaphore(fence, NULL), E_INVALIDARG, "AnydmlVulkanGetSemaphore", "out", "NULL");
    ok_refusal(AnydmlVulkanCreateFence(NULL, semaphore, 0, &IID_ID3D12Fence, (void **)&back), E_INVALIDARG,
               "AnydmlVulkanCreateFence", "device", "NULL");
    ok_refusal(AnydmlVulkanCreateFence(device, semaphore, 0, &IID_ID3D12Fence, NULL), E_INVALIDARG,
               "AnydmlVulkanCreateFence", "out", "NULL");
    api_release(plain);
    api_release(own);
    api_release(fence);
    ok(semaphore_value(&app, semaphore) == 5, "the semaphore lives");
    vkDestroySemaphore(app.device, semaphore, NULL);
    api_release(device);
    app_close(&app);
}

/* The application's copy, AnyDML's addition and the application's copy of the result wait for each other. The queue of
 * the Direct3D device gets its work, and waits, before the application has submitted anything. */
static void test_queues(void)
{
    struct app app;
    app_find(&app);
    app_open(&app);
    struct rig rig = rig_of(app_d3d(&app), DML_CREATE_DEVICE_FLAG_NONE);
    struct app_buffer buffers[3];
    ID3D12Resource *resources[3];
    for (int i = 0; i < 3; i++) {
        buffers[i] = app_buffer(&app, BYTES);
        const struct anydml_vulkan_buffer range = { buffers[i].buffer, 0, BYTES, 0 };
        ok_hr(AnydmlVulkanOpenBuffer(rig.d3d, &range, &IID_ID3D12Resource, (void **)&resources[i]), S_OK);
    }
    VkSemaphore semaphore = semaphore_create(&app, 0);
    ID3D12Fence *fence = fence_over(rig.d3d, semaphore, 0);
    IDMLCompiledOperator *op = compile(rig.dml, add_operator(rig.dml, COUNT), DML_EXECUTION_FLAG_NONE);
    IDMLBindingTable *table = table_at(&rig, op, 0);
    bind_inputs(table, 2, (struct bound[]){ { resources[0], 0, BYTES }, { resources[1], 0, BYTES } });
    bind_outputs(table, 1, (struct bound[]){ { resources[2], 0, BYTES } });
    record(&rig, op, table);
    ok_hr(ID3D12GraphicsCommandList_Close(rig.q.list), S_OK);
    for (uint64_t round = 0; round < 3; round++) {
        ok_hr(ID3D12CommandQueue_Wait(rig.q.queue, fence, 10 * round + 7), S_OK);
        api_queue_execute(&rig.q);
        ok_hr(ID3D12CommandQueue_Signal(rig.q.queue, fence, 10 * round + 8), S_OK);

        for (int i = 0; i < COUNT; i++)
            buffers[0].data[i] = (float)i * (float)(round + 1);
        VkCommandBuffer commands = app_begin(&app);
        vkCmdFillBuffer(commands, buffers[1].buffer, 0, BYTES, 0x3f800000u + (uint32_t)(round << 23)); /* 2^round */
        app_barrier(commands);
        vk_ok(vkEndCommandBuffer(commands));
        const uint64_t value = 10 * round + 7;
        VkTimelineSemaphoreSubmitInfo values = { .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                 .signalSemaphoreValueCount = 1,
                                                 .pSignalSemaphoreValues = &value };
        VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                .pNext = &values,
                                .commandBufferCount = 1,
                                .pCommandBuffers = &commands,
                                .signalSemaphoreCount = 1,
                                .pSignalSemaphores = &semaphore };
        pthread_mutex_lock(&app.lock);
        vk_ok(vkQueueSubmit(app.queue, 1, &submit, VK_NULL_HANDLE));
        pthread_mutex_unlock(&app.lock);
        semaphore_wait(&app, semaphore, 10 * round + 8);
        for (int i = 0; i < COUNT; i++)
            ok(buffers[2].data[i] == (float)i * (float)(round + 1) + (float)(1 << round), "round %d, element %d is %g",
               (int)round, i, (double)buffers[2].data[i]);
        vkFreeCommandBuffers(app.device, app.pool, 1, &commands);
    }
    ok_value(fence, 28);
    ok_hr(ID3D12Device_GetDeviceRemovedReason(rig.d3d), S_OK);
    /* A queue's signal of an old value is a message, not a broken semaphore. */
    capture_begin();
    ok_hr(ID3D12CommandQueue_Signal(rig.q.queue, fence, 27), S_OK);
    api_queue_wait(&rig.q);
    const char *said = capture_text();
    ok(strstr(said, "ID3D12CommandQueue::Signal") && strstr(said, "27"), "it says: %s", said);
    ok_value(fence, 28);
    api_release(table);
    api_release(op);
    api_release(fence);
    vkDestroySemaphore(app.device, semaphore, NULL);
    for (int i = 0; i < 3; i++)
        api_release(resources[i]);
    rig_destroy(&rig);
    for (int i = 0; i < 3; i++)
        app_buffer_free(&app, &buffers[i]);
    app_close(&app);
}

static bool fired(HANDLE event, int milliseconds)
{
    return api_event_fired(event, milliseconds) && api_event_take(event);
}

struct sleeper {
    ID3D12Fence *fence;
    UINT64 value;
};

static void *sleep_for(void *argument)
{
    struct sleeper *sleeper = argument;
    ok_hr(ID3D12Fence_SetEventOnCompletion(sleeper->fence, sleeper->value, NULL), S_OK);
    return NULL;
}

/* Events and sleeping threads, woken by the application's semaphore; a wait for a lower value that is added later comes
 * first. */
static void test_events(void)
{
    struct app app;
    pthread_t thread;
    app_find(&app);
    app_open(&app);
    ID3D12Device1 *device = NULL;
    app.desc.Lock = app.desc.Unlock = NULL;
    ok_hr(AnydmlVulkanCreateDevice(&app.desc, &IID_ID3D12Device1, (void **)&device), S_OK);
    need(device);
    VkSemaphore semaphore = semaphore_create(&app, 0), other = semaphore_create(&app, 0);
    ID3D12Fence *fences[2] = { fence_over((ID3D12Device *)device, semaphore, 0),
                               fence_over((ID3D12Device *)device, other, 0) };
    HANDLE high = api_event_create(), low = api_event_create(), all = api_event_create();
    struct sleeper sleeper = { fences[0], 6 };
    const UINT64 both_values[2] = { 6, 1 };
    ok_hr(ID3D12Fence_SetEventOnCompletion(fences[0], 20, high), S_OK);
    ok(!fired(high, 30), "20 fired at 0");
    ok_hr(ID3D12Fence_SetEventOnCompletion(fences[0], 5, low), S_OK);
    ok_hr(ID3D12Device1_SetEventOnMultipleFenceCompletion(device, fences, both_values, 2,
                                                          D3D12_MULTIPLE_FENCE_WAIT_FLAG_ALL, all),
          S_OK);
    need(!pthread_create(&thread, NULL, sleep_for, &sleeper));
    semaphore_signal(&app, semaphore, 6);
    pthread_join(thread, NULL);
    ok(fired(low, 20000), "5 did not fire at 6");
    ok(!fired(all, 30), "one of two fired");
    semaphore_signal(&app, other, 1);
    ok(fired(all, 20000), "both did not fire");
    ok(!fired(high, 30), "20 fired at 6");
    semaphore_signal(&app, semaphore, 20);
    ok(fired(high, 20000), "20 did not fire");
    ok_hr(ID3D12Fence_SetEventOnCompletion(fences[0], 19, low), S_OK);
    ok(fired(low, 0), "a value that is reached");
    ok_hr(ID3D12Fence_SetEventOnCompletion(fences[0], 30, high), S_OK); /* never */
    api_release(fences[0]);
    api_release(fences[1]);
    ok(!fired(high, 0), "a fence that was released");
    api_event_close(high);
    api_event_close(low);
    api_event_close(all);
    vkDestroySemaphore(app.device, semaphore, NULL);
    vkDestroySemaphore(app.device, other, NULL);
    api_release(device);
    app_close(&app);
}

/* Removal ends waits and does not change the semaphore. */
static void test_removal(void)
{
    struct app app;
    pthread_t thread;
    app_find(&app);
    app_open(&app);
    ID3D12Device5 *device = NULL;
    ok_hr(AnydmlVulkanCreateDevice(&app.desc, &IID_ID3D12Device5, (void **)&device), S_OK);
    need(device);
    VkSemaphore semaphore = semaphore_create(&app, 3);
    ID3D12Fence *fence = fence_over((ID3D12Device *)device, semaphore, 0);
    HANDLE event = api_event_create();
    struct sleeper sleeper = { fence, 1000 };
    ok_hr(ID3D12Fence_SetEventOnCompletion(fence, 2000, event), S_OK);
    need(!pthread_create(&thread, NULL, sleep_for, &sleeper));
    nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    capture_begin();
    ID3D12Device5_RemoveDevice(device);
    capture_text();
    pthread_join(thread, NULL);
    ok(fired(event, 20000), "the event did not fire");
    ok_value(fence, UINT64_MAX);
    ok_hr(ID3D12Fence_Signal(fence, 2500), DXGI_ERROR_DEVICE_REMOVED);
    ok(semaphore_value(&app, semaphore) == 3, "the semaphore was changed");
    api_release(fence);
    api_event_close(event);
    vkDestroySemaphore(app.device, semaphore, NULL);
    api_release(device);
    app_close(&app);
}

/* The child of a fork releases a fence that a thread of its parent watches, and the device. */
static void test_fork(void)
{
    struct app app;
    int status = -1;
    app_find(&app);
    app_open(&app);
    ID3D12Device *device = NULL;
    ok_hr(AnydmlVulkanCreateDevice(&app.desc, &IID_ID3D12Device, (void **)&device), S_OK);
    need(device);
    ID3D12Fence *fence = fence_over(device, VK_NULL_HANDLE, 0);
    HANDLE event = api_event_create();
    ok_hr(ID3D12Fence_SetEventOnCompletion(fence, 2000, event), S_OK);
    pid_t child = fork();
    if (!child) {
        alarm(30); /* a hang is a failure */
        ok_value(fence, UINT64_MAX);
        ok(api_release(fence) == 0, "the child's fence is still referenced");
        ok(api_release(device) == 0, "the child's device is still referenced");
        _exit(api_failures ? 1 : 0);
    }
    need(child > 0 && waitpid(child, &status, 0) == child);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with 0x%x", (unsigned)status);
    ok_hr(ID3D12Fence_Signal(fence, 2000), S_OK);
    ok(fired(event, 20000), "the event did not fire");
    api_release(fence);
    api_event_close(event);
    api_release(device);
    app_close(&app);
}

int main(void)
{
    setenv("ANYDML_LOG", "error", 1);
    api_begin();
    test_host();
    test_queues();
    test_events();
    test_removal();
    test_fork();
    return api_end();
}
