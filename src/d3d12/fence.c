/* SPDX-License-Identifier: Apache-2.0 */
/* ID3D12Fence. */
#include "d3d12/device_methods.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/os.h"
#include "base/wait.h"

#include <stdlib.h>

#define SPIN_NS 30000
#define HOLD_NS 3000 /* before the CPU is yielded to other threads */

/* An application's event, shared by the waiters that lead to it. */
struct event {
    atomic_uint refs;
    atomic_int missing; /* waiters that must still fire before the event does */
    base_event own;
};

struct d3d_waiter {
    struct d3d_waiter *next;
    uint64_t value;
    struct event *event;   /* NULL: a blocked thread's, on its stack */
    bool takes_point;      /* fires for pending signals as well: */
    uint64_t order;        /* its order; 0: waits for the value */
    atomic_uint has_fired; /* of a blocked thread; accessed last */
};

static void event_unref(struct event *event)
{
    if (atomic_fetch_sub(&event->refs, 1) != 1)
        return;
    base_event_close(event->own);
    free(event);
}

static void event_fire(struct event *event)
{
    if (atomic_fetch_sub(&event->missing, 1) == 1)
        base_event_set(event->own);
}

/* ---- waiting and signalling ---- */

bool d3d_spin(const atomic_uint *word, unsigned old)
{
    static atomic_uint cpus;
    unsigned count = atomic_load_explicit(&cpus, memory_order_relaxed);
    if (!count)
        atomic_store_explicit(&cpus, count = base_cpu_count(), memory_order_relaxed);
    uint64_t start = base_now_ns(), spent = 0;
    while (spent < SPIN_NS && (count > 1 || !spent) && !adapter_oversubscribed()) {
        for (int i = 0; i < 32; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != old)
                return true;
            cpu_pause();
        }
        if (spent > HOLD_NS) /* on a busy machine the thread waited for may need this CPU: 6x faster there */
            base_yield();
        spent = base_now_ns() - start;
    }
    return false;
}

bool d3d_fence_next(const struct d3d_fence *fence, uint64_t *out)
{
    *out = UINT64_MAX;
    for (const struct d3d_waiter *waiter = fence->waiters; waiter; waiter = waiter->next)
        *out = BASE_MIN(*out, waiter->value);
    return fence->waiters;
}

void d3d_fence_fire(struct d3d_fence *fence, uint64_t value)
{
    struct d3d_waiter **at = &fence->waiters;
    while (*at) {
        struct d3d_waiter *waiter = *at;
        if (waiter->value > value) {
            at = &waiter->next;
            continue;
        }
        *at = waiter->next;
        if (waiter->event) {
            event_fire(waiter->event);
            event_unref(waiter->event);
            free(waiter);
        } else {
            atomic_store_explicit(&waiter->has_fired, 1, memory_order_release);
        }
    }
    if (fence->sleepers)
        base_condition_broadcast(&fence->fired);
}

void d3d_fence_signal(struct d3d_fence *fence, uint64_t value)
{
    struct d3d_device *device = d3d_parent(fence);
    if (fence->ops) {
        fence->ops->signal(fence, value);
        return;
    }
    pthread_mutex_lock(&fence->lock);
    if (!d3d_removed(device)) {
        atomic_store_explicit(&fence->value, value, memory_order_release);
        d3d_fence_fire(fence, value);
    }
    pthread_mutex_unlock(&fence->lock);
}

void d3d_fence_remove(struct d3d_fence *fence)
{
    pthread_mutex_lock(&fence->lock);
    atomic_store_explicit(&fence->value, UINT64_MAX, memory_order_release);
    d3d_fence_fire(fence, UINT64_MAX);
    pthread_mutex_unlock(&fence->lock);
}

/* Adds the waiter, unless the value is already reached: then returns false. */
static bool waiter_add(struct d3d_fence *fence, struct d3d_waiter *waiter)
{
    pthread_mutex_lock(&fence->lock);
    bool reached = d3d_fence_value(fence) >= waiter->value;
    if (!reached) {
        waiter->next = fence->waiters;
        fence->waiters = waiter;
    }
    pthread_mutex_unlock(&fence->lock);
    if (fence->ops && !reached)
        fence->ops->watch(fence);
    return !reached;
}

/* The waiter is of this thread. */
static void waiter_block(struct d3d_fence *fence, struct d3d_waiter *waiter)
{
    if (d3d_spin(&waiter->has_fired, 0))
        return;
    pthread_mutex_lock(&fence->lock);
    fence->sleepers++;
    while (!atomic_load_explicit(&waiter->has_fired, memory_order_acquire))
        base_condition_wait(&fence->fired, &fence->lock);
    fence->sleepers--;
    pthread_mutex_unlock(&fence->lock);
}

void d3d_fence_wait(struct d3d_fence *fence, uint64_t value)
{
    struct d3d_waiter waiter = { .value = value };
    if (d3d_fence_value(fence) >= value)
        return;
    if (fence->ops) {
        fence->ops->wait(fence, value);
        return;
    }
    if (waiter_add(fence, &waiter))
        waiter_block(fence, &waiter);
}

/* ---- on the device ---- */

void d3d_fence_pend(struct d3d_fence *fence, struct d3d_pending *pending)
{
    pthread_mutex_lock(&fence->lock);
    pending->order = ++fence->orders;
    pending->next = fence->pending;
    fence->pending = pending;
    for (struct d3d_waiter **at = &fence->waiters; *at;) {
        struct d3d_waiter *waiter = *at;
        if (!waiter->takes_point || waiter->value > pending->value) {
            at = &waiter->next;
            continue;
        }
        *at = waiter->next;
        waiter->order = pending->order;
        atomic_store_explicit(&waiter->has_fired, 1, memory_order_release);
    }
    if (fence->sleepers)
        base_condition_broadcast(&fence->fired);
    pthread_mutex_unlock(&fence->lock);
}

void d3d_fence_reach(struct d3d_fence *fence, const struct d3d_pending *pending)
{
    pthread_mutex_lock(&fence->lock);
    struct d3d_pending **at = &fence->pending;
    while (*at != pending)
        at = &(*at)->next;
    *at = pending->next;
    if (!d3d_removed(d3d_parent(fence)))
        atomic_store_explicit(&fence->value, pending->value, memory_order_release);
    d3d_fence_fire(fence, pending->value); /* also wakes d3d_fence_await */
    pthread_mutex_unlock(&fence->lock);
}

/* Under the lock; NULL: reached. */
static const struct d3d_pending *pending_find(const struct d3d_fence *fence, uint64_t order)
{
    const struct d3d_pending *pending = fence->pending;
    while (pending && pending->order != order)
        pending = pending->next;
    return pending;
}

void d3d_fence_await(struct d3d_fence *fence, uint64_t order)
{
    pthread_mutex_lock(&fence->lock);
    fence->sleepers++;
    while (pending_find(fence, order))
        base_condition_wait(&fence->fired, &fence->lock);
    fence->sleepers--;
    pthread_mutex_unlock(&fence->lock);
}

/* Under the lock. NULL: reached. */
static HRESULT wait_for(struct d3d_fence *fence, const struct d3d_pending *pending, struct adapter_queue *queue,
                        uint64_t *out_order)
{
    *out_order = pending ? pending->order : 0;
    return pending ? d3d_parent(fence)->ops->queue_wait(queue, &pending->point) : S_OK;
}

/* Under the lock. */
static bool try_wait(struct d3d_fence *fence, uint64_t value, struct adapter_queue *queue, uint64_t *out_order,
                     HRESULT *hr)
{
    const bool reached = d3d_fence_value(fence) >= value;
    const struct d3d_pending *pending = reached ? NULL : fence->pending;
    while (pending && pending->value < value)
        pending = pending->next;
    *hr = wait_for(fence, pending, queue, out_order);
    return reached || pending;
}

bool d3d_fence_try_wait(struct d3d_fence *fence, uint64_t value, struct adapter_queue *queue, uint64_t *out_order,
                        HRESULT *hr)
{
    pthread_mutex_lock(&fence->lock);
    bool done = try_wait(fence, value, queue, out_order, hr);
    pthread_mutex_unlock(&fence->lock);
    return done;
}

/* A waiter that has fired is done, whatever the fence's later value. */
HRESULT d3d_fence_wait_by(struct d3d_fence *fence, uint64_t value, struct adapter_queue *queue, uint64_t *out_order)
{
    struct d3d_waiter waiter = { .value = value, .takes_point = true };
    HRESULT hr;
    pthread_mutex_lock(&fence->lock);
    bool done = try_wait(fence, value, queue, out_order, &hr);
    if (!done) {
        waiter.next = fence->waiters;
        fence->waiters = &waiter;
    }
    pthread_mutex_unlock(&fence->lock);
    if (done)
        return hr;
    waiter_block(fence, &waiter);
    pthread_mutex_lock(&fence->lock);
    hr = wait_for(fence, waiter.order ? pending_find(fence, waiter.order) : NULL, queue, out_order);
    pthread_mutex_unlock(&fence->lock);
    return hr;
}

/* ---- the object ---- */

static void fence_destroy(struct com_object *object)
{
    struct d3d_fence *fence = (struct d3d_fence *)object;
    struct d3d_device *device = d3d_parent(fence);
    if (fence->ops)
        fence->ops->destroy(fence);
    pthread_mutex_lock(&device->fences_lock);
    *fence->at = fence->next;
    if (fence->next)
        fence->next->at = fence->at;
    pthread_mutex_unlock(&device->fences_lock);
    for (struct d3d_waiter *waiter = fence->waiters, *next; waiter; waiter = next) {
        next = waiter->next;
        event_unref(waiter->event);
        free(waiter);
    }
    pthread_mutex_destroy(&fence->lock);
    base_condition_destroy(&fence->fired);
    com_finish(object);
    free(fence);
}

static const IID *const fence_iids[] = {
    &IID_ID3D12Object, &IID_ID3D12DeviceChild, &IID_ID3D12Pageable, &IID_ID3D12Fence, &IID_ID3D12Fence1, NULL,
};

static const struct com_class fence_class = { "ID3D12Fence", fence_iids, fence_destroy, NULL };

static struct d3d_fence *fence_from(ID3D12Fence1 *iface)
{
    return (struct d3d_fence *)iface;
}

static UINT64 d3d_fence_GetCompletedValue(ID3D12Fence1 *iface)
{
    return d3d_fence_value(fence_from(iface));
}

/* The application's event with `refs` users; the application may close its handle immediately. */
static HRESULT event_open(HANDLE handle, uint32_t refs, uint32_t missing, struct event **out)
{
    struct event *event = malloc(sizeof(*event));
    if (!event)
        return E_OUTOFMEMORY;
    atomic_init(&event->refs, refs);
    atomic_init(&event->missing, (int)missing);
    bool invalid;
    event->own = base_event_open(handle, &invalid);
    if (event->own != BASE_NO_EVENT) {
        *out = event;
        return S_OK;
    }
    free(event);
    return invalid ? E_INVALIDARG : E_OUTOFMEMORY;
}

/* Consumes one of the event's references in every case. */
static HRESULT event_register(struct d3d_fence *fence, uint64_t value, struct event *event)
{
    struct d3d_waiter *waiter = calloc(1, sizeof(*waiter));
    if (!waiter) {
        event_unref(event);
        return E_OUTOFMEMORY;
    }
    waiter->value = value;
    waiter->event = event;
    if (!waiter_add(fence, waiter)) {
        event_fire(event);
        event_unref(event);
        free(waiter);
    }
    return S_OK;
}

static HRESULT d3d_fence_SetEventOnCompletion(ID3D12Fence1 *iface, UINT64 value, HANDLE handle)
{
    struct d3d_fence *fence = fence_from(iface);
    struct event *event;
    if (!handle) {
        d3d_fence_wait(fence, value);
        return S_OK;
    }
    HRESULT hr = event_open(handle, 1, 1, &event);
    if (SUCCEEDED(hr))
        return event_register(fence, value, event);
    return d3d_fail(d3d_parent(fence), hr, "ID3D12Fence::SetEventOnCompletion: hEvent %p is not usable as an eventfd",
                    handle);
}

static HRESULT d3d_fence_Signal(ID3D12Fence1 *iface, UINT64 value)
{
    if (d3d_removed(d3d_parent(iface)))
        return DXGI_ERROR_DEVICE_REMOVED;
    if (fence_from(iface)->ops)
        return fence_from(iface)->ops->signal(fence_from(iface), value);
    d3d_fence_signal(fence_from(iface), value);
    return S_OK;
}

static D3D12_FENCE_FLAGS d3d_fence_GetCreationFlags(ID3D12Fence1 *iface)
{
    return fence_from(iface)->flags;
}

const ID3D12Fence1Vtbl d3d_fence_vtbl = {
    COM_CHILD_METHODS,
    .GetCompletedValue = d3d_fence_GetCompletedValue,
    .SetEventOnCompletion = d3d_fence_SetEventOnCompletion,
    .Signal = d3d_fence_Signal,
    .GetCreationFlags = d3d_fence_GetCreationFlags,
};

static void fence_link(struct d3d_device *device, struct d3d_fence *fence)
{
    pthread_mutex_lock(&device->fences_lock);
    fence->next = device->fences;
    fence->at = &device->fences;
    if (fence->next)
        fence->next->at = &fence->next;
    device->fences = fence;
    if (d3d_removed(device)) /* since the method was called */
        atomic_store(&fence->value, UINT64_MAX);
    pthread_mutex_unlock(&device->fences_lock);
}

struct d3d_fence *d3d_fence_new(struct d3d_device *device, uint64_t value)
{
    struct d3d_fence *fence = calloc(1, sizeof(*fence));
    if (!fence)
        return NULL;
    com_init(&fence->base, &d3d_fence_vtbl, &fence_class, &device->base);
    atomic_init(&fence->value, value);
    pthread_mutex_init(&fence->lock, NULL);
    base_condition_init(&fence->fired);
    fence_link(device, fence);
    return fence;
}

HRESULT d3d_device_CreateFence(D3D_DEVICE, UINT64 value, D3D12_FENCE_FLAGS flags, REFIID riid, void **out)
{
    struct d3d_device *device = d3d_device_from(iface);
    HRESULT hr = d3d_create_begin_strict(device, "ID3D12Device::CreateFence", out);
    if (FAILED(hr))
        return hr;
    if (flags)
        return d3d_fail_as(device, (unsigned)flags > 0xf ? E_INVALIDARG : E_NOTIMPL,
                           D3D12_MESSAGE_ID_CREATE_FENCE_INVALID_FLAGS,
                           "ID3D12Device::CreateFence: Flags 0x%x: only NONE is supported", (unsigned)flags);
    struct d3d_fence *fence = d3d_fence_new(device, value);
    return fence ? com_return(&fence->base, riid, out) : E_OUTOFMEMORY;
}

/* ---- several fences ---- */

static HRESULT fences_check(struct d3d_device *device, ID3D12Fence *const *fences, const UINT64 *values, UINT count,
                            D3D12_MULTIPLE_FENCE_WAIT_FLAGS flags)
{
    const char *method = "ID3D12Device1::SetEventOnMultipleFenceCompletion";
    if ((unsigned)flags > D3D12_MULTIPLE_FENCE_WAIT_FLAG_ANY)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_SETEVENTONMULTIPLEFENCECOMPLETION_INVALIDFLAGS,
                           "%s: Flags 0x%x: must be ALL or ANY", method, (unsigned)flags);
    if (!fences || !values || !count)
        return d3d_fail(device, E_INVALIDARG, "%s: needs fences and values, at least one of each", method);
    for (UINT i = 0; i < count; i++) {
        if (!com_child(device, fences[i], &d3d_fence_vtbl))
            return d3d_fail(device, E_INVALIDARG, "%s: ppFences[%u] is not a fence of this device", method, i);
    }
    return S_OK;
}

HRESULT d3d_device_SetEventOnMultipleFenceCompletion(D3D_DEVICE, ID3D12Fence *const *fences, const UINT64 *values,
                                                     UINT count, D3D12_MULTIPLE_FENCE_WAIT_FLAGS flags, HANDLE handle)
{
    struct d3d_device *device = d3d_device_from(iface);
    struct event *event;
    HRESULT hr = fences_check(device, fences, values, count, flags);
    if (SUCCEEDED(hr)) /* one reference more than waiters: this function's */
        hr = event_open(handle, count + 1, flags & D3D12_MULTIPLE_FENCE_WAIT_FLAG_ANY ? 1 : count, &event);
    if (FAILED(hr))
        return hr;
    for (UINT i = 0; i < count; i++) {
        HRESULT one = event_register((struct d3d_fence *)fences[i], values[i], event);
        hr = FAILED(hr) ? hr : one;
    }
    if (SUCCEEDED(hr) && !handle)
        base_event_wait(event->own);
    event_unref(event);
    return hr;
}
