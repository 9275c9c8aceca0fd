/* SPDX-License-Identifier: Apache-2.0 */
/* Fences over timeline semaphores. Threads that wait for one wait in the driver. Events are set by a thread of the
 * fence, created when the first one is registered. */
#include "d3d12/interop/interop.h"

#include "d3d12/objects.h"

#include "base/log.h"
#include "base/os.h"

#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

/* Maximum time until a wait notices that the device was removed, the fence released, or a lower value requested. */
#define PATIENCE_NS UINT64_C(5000000)

struct counter {
    VkSemaphore semaphore;
    bool owned;
    /* under the fence's lock */
    uint64_t signalled; /* the largest value so far, also of signals that are under way */
    struct base_condition wake;
    pthread_t thread;
    bool watching, closing;
};

static struct counter *counter_of(struct d3d_fence *fence)
{
    return fence->counter;
}

/* Failures of the driver: the device is lost. */
static bool check(struct d3d_fence *fence, HRESULT hr)
{
    if (FAILED(hr))
        d3d_device_remove(d3d_parent(fence), hr, "ID3D12Fence: the driver failed to use its semaphore");
    return SUCCEEDED(hr);
}

static uint64_t counter_value(struct d3d_fence *fence)
{
    struct d3d_device *device = d3d_parent(fence);
    uint64_t value = 0;
    if (d3d_removed(device) ||
        FAILED(adapter_vulkan_interop.semaphore_value(device->adapter, counter_of(fence)->semaphore, &value)))
        return UINT64_MAX;
    return value;
}

/* Under the lock: may it be signalled with this value? Then it is; *out_before is the largest one so far. */
static bool take_value(struct d3d_fence *fence, uint64_t value, uint64_t *out_before)
{
    struct counter *counter = counter_of(fence);
    const uint64_t now = counter_value(fence);
    *out_before = BASE_MAX(counter->signalled, now);
    if (value <= *out_before)
        return false;
    counter->signalled = value;
    return true;
}

static HRESULT refuse_value(struct d3d_fence *fence, const char *method, uint64_t value, uint64_t before)
{
    return d3d_removed(d3d_parent(fence))
               ? DXGI_ERROR_DEVICE_REMOVED
               : d3d_fail_as(d3d_parent(fence), E_INVALIDARG, D3D12_MESSAGE_ID_FENCE_INVALIDOPERATION,
                             "%s: Value %llu: the value of a fence over a semaphore must "
                             "increase, and was signalled with %llu before",
                             method, (unsigned long long)value, (unsigned long long)before);
}

static HRESULT counter_signal(struct d3d_fence *fence, uint64_t value)
{
    struct d3d_device *device = d3d_parent(fence);
    uint64_t before;
    pthread_mutex_lock(&fence->lock);
    const bool good = take_value(fence, value, &before);
    HRESULT hr = S_OK;
    if (good)
        hr = adapter_vulkan_interop.semaphore_signal(device->adapter, counter_of(fence)->semaphore, value);
    pthread_mutex_unlock(&fence->lock);
    if (!good)
        return refuse_value(fence, "ID3D12Fence::Signal", value, before);
    check(fence, hr);
    return hr;
}

static void counter_queue_signal(struct d3d_fence *fence, struct adapter_queue *queue, uint64_t value)
{
    uint64_t before;
    pthread_mutex_lock(&fence->lock);
    const bool good = take_value(fence, value, &before);
    pthread_mutex_unlock(&fence->lock);
    if (good)
        check(fence, adapter_vulkan_interop.queue_signal(queue, counter_of(fence)->semaphore, value));
    else
        refuse_value(fence, "ID3D12CommandQueue::Signal", value, before);
}

static void counter_wait(struct d3d_fence *fence, uint64_t value)
{
    struct d3d_device *device = d3d_parent(fence);
    HRESULT hr = S_FALSE;
    while (hr == S_FALSE && !d3d_removed(device))
        hr = adapter_vulkan_interop.semaphore_wait(device->adapter, counter_of(fence)->semaphore, value, PATIENCE_NS);
    check(fence, hr);
}

/* ---- events ---- */

static void *watch_main(void *argument)
{
    struct d3d_fence *fence = argument;
    struct d3d_device *device = d3d_parent(fence);
    struct counter *counter = counter_of(fence);
    uint64_t next;
    pthread_mutex_lock(&fence->lock);
    while (!counter->closing) {
        if (!d3d_fence_next(fence, &next)) {
            base_condition_wait(&counter->wake, &fence->lock);
            continue;
        }
        pthread_mutex_unlock(&fence->lock);
        check(fence, adapter_vulkan_interop.semaphore_wait(device->adapter, counter->semaphore, next, PATIENCE_NS));
        pthread_mutex_lock(&fence->lock);
        d3d_fence_fire(fence, counter_value(fence));
    }
    pthread_mutex_unlock(&fence->lock);
    return NULL;
}

static void counter_watch(struct d3d_fence *fence)
{
    struct counter *counter = counter_of(fence);
    bool failed = false;
    pthread_mutex_lock(&fence->lock);
    if (!counter->watching) {
        counter->watching = base_thread_start(&counter->thread, "anydml-fence", 0, 0, watch_main, fence);
        failed = !counter->watching;
    }
    base_condition_signal(&counter->wake);
    pthread_mutex_unlock(&fence->lock);
    if (failed)
        check(fence, E_OUTOFMEMORY);
}

/* ---- life ---- */

static void counter_destroy(struct d3d_fence *fence)
{
    struct d3d_device *device = d3d_parent(fence);
    struct counter *counter = counter_of(fence);
    if (d3d_inherited(device)) { /* the thread is not there, and the semaphore is the parent's */
        free(counter);
        return;
    }
    pthread_mutex_lock(&fence->lock);
    counter->closing = true;
    base_condition_signal(&counter->wake);
    pthread_mutex_unlock(&fence->lock);
    if (counter->watching)
        pthread_join(counter->thread, NULL);
    base_condition_destroy(&counter->wake);
    if (counter->owned)
        adapter_vulkan_interop.semaphore_destroy(device->adapter, counter->semaphore);
    free(counter);
}

static const struct d3d_fence_ops counter_ops = {
    .value = counter_value,
    .signal = counter_signal,
    .queue_signal = counter_queue_signal,
    .wait = counter_wait,
    .watch = counter_watch,
    .destroy = counter_destroy,
};

static HRESULT counter_create(struct d3d_device *device, VkSemaphore semaphore, uint64_t value, struct counter **out)
{
    uint64_t now;
    struct counter *counter = *out = calloc(1, sizeof(*counter));
    if (!counter)
        return E_OUTOFMEMORY;
    counter->semaphore = semaphore;
    counter->owned = !semaphore;
    HRESULT hr = semaphore ? adapter_vulkan_interop.semaphore_value(device->adapter, semaphore, &now)
                           : adapter_vulkan_interop.semaphore_create(device->adapter, value, &counter->semaphore);
    if (FAILED(hr)) {
        free(counter);
        *out = NULL;
    } else {
        base_condition_init(&counter->wake);
    }
    return hr;
}

EXPORT HRESULT AnydmlVulkanCreateFence(ID3D12Device *iface, VkSemaphore semaphore, UINT64 value, REFIID riid,
                                       void **out)
{
    const char *method = "AnydmlVulkanCreateFence";
    struct counter *counter;
    HRESULT hr;
    struct d3d_device *device = d3d_vulkan_device(iface, method, out, &hr);
    if (!device)
        return hr;
    hr = counter_create(device, semaphore, value, &counter);
    if (FAILED(hr))
        return d3d_fail(device, hr, "%s: semaphore %p: the driver could not use it, or memory is short", method,
                        (void *)semaphore);
    struct d3d_fence *fence = d3d_fence_new(device, 0);
    if (fence) {
        fence->counter = counter;
        fence->ops = &counter_ops;
        return com_return(&fence->base, riid, out);
    }
    if (counter->owned)
        adapter_vulkan_interop.semaphore_destroy(device->adapter, counter->semaphore);
    base_condition_destroy(&counter->wake);
    free(counter);
    return E_OUTOFMEMORY;
}

EXPORT HRESULT AnydmlVulkanGetSemaphore(ID3D12Fence *iface, VkSemaphore *out)
{
    const char *method = "AnydmlVulkanGetSemaphore";
    struct d3d_fence *fence = (struct d3d_fence *)iface;
    if (!iface || !out) {
        base_log(BASE_LOG_ERROR, "%s: %s is NULL", method, iface ? "out" : "fence");
        return E_INVALIDARG;
    }
    *out = VK_NULL_HANDLE;
    if ((const void *)iface->lpVtbl != &d3d_fence_vtbl) {
        base_log(BASE_LOG_ERROR, "%s: fence was not created by this runtime", method);
        return DXGI_ERROR_UNSUPPORTED;
    }
    if (fence->ops != &counter_ops)
        return d3d_fail_as(d3d_parent(fence), E_INVALIDARG, D3D12_MESSAGE_ID_FENCE_INVALIDOPERATION,
                           "%s: fence was not created by AnydmlVulkanCreateFence", method);
    *out = counter_of(fence)->semaphore;
    return S_OK;
}
