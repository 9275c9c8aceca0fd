/* SPDX-License-Identifier: Apache-2.0 */
/* One thread per queue: runs its work in order. Several batches may be in flight on the adapter; a signal or a wait is
 * only performed when all work before it is finished. */
#include "d3d12/lists.h"

#include "base/clock.h"
#include "base/os.h"

#include <stdlib.h>

#define MAX_IN_FLIGHT   8
#define MAX_FREE_BLOCKS 4
#define MAX_FREE_BYTES  (1u << 20)
#define AWAITED_MAX     8
#define RUNS_AHEAD      1024   /* of AnydmlRunOperator, beyond which its caller waits */
#define RUNS_TOGETHER   64u    /* in one batch */
#define LINGER_NS       500000 /* that batches in flight may wait for before their objects are released */

struct d3d_worker {
    struct d3d_device *device; /* kept */
    struct adapter_queue *queue;
    pthread_t thread;
    uint32_t forks;     /* d3d_fork_count() when the thread was created */
    atomic_uint pushed; /* counts all events that a sleeping thread would wake for */

    pthread_mutex_t lock; /* all following members, except for the end */
    struct base_condition wake, state_changed;
    struct d3d_work *ring; /* capacity is 0 or a power of two */
    uint32_t head, count, capacity;
    bool sleeping, blocked, closing, orphan, finished;
    bool busy;     /* the thread has work that is not finished */
    bool borrowed; /* another thread uses the queue, d3d_worker_acquire */
    struct d3d_submission *free_blocks;
    uint32_t free_count;

    struct d3d_awaited {
        struct d3d_fence *fence; /* kept */
        uint64_t order;
    } awaited[AWAITED_MAX]; /* signals that the device waits for, or has waited for, and the host not yet */
    uint32_t
        awaited_count; /* current owner of these and the following members: the thread, or the borrower of the queue */

    struct d3d_submission *running, **running_end; /* in flight, oldest first */
    uint32_t running_count;                        /* batches */
};

/* ---- blocks ---- */

struct d3d_submission *d3d_worker_acquire_block(struct d3d_worker *worker, size_t bytes)
{
    pthread_mutex_lock(&worker->lock);
    struct d3d_submission *block = worker->free_blocks;
    if (block && block->capacity >= bytes) {
        worker->free_blocks = block->next;
        worker->free_count--;
    } else {
        block = NULL;
    }
    pthread_mutex_unlock(&worker->lock);
    return block;
}

/* Keeps the few largest, the largest one first. */
void d3d_worker_release_block(struct d3d_worker *worker, struct d3d_submission *block)
{
    struct d3d_submission *drop = block;
    pthread_mutex_lock(&worker->lock);
    if (block->capacity <= MAX_FREE_BYTES) {
        struct d3d_submission **at = &worker->free_blocks;
        while (*at && (*at)->capacity > block->capacity)
            at = &(*at)->next;
        block->next = *at;
        *at = block;
        drop = NULL;
        if (++worker->free_count > MAX_FREE_BLOCKS) {
            for (at = &worker->free_blocks; (*at)->next; at = &(*at)->next)
                ;
            drop = *at;
            *at = NULL;
            worker->free_count--;
        }
    }
    pthread_mutex_unlock(&worker->lock);
    free(drop);
}

/* ---- the ring ---- */

static bool ring_grow(struct d3d_worker *worker)
{
    uint32_t capacity = worker->capacity ? worker->capacity * 2 : 64;
    struct d3d_work *ring = malloc(capacity * sizeof(*ring));
    if (!ring)
        return false;
    for (uint32_t i = 0; i < worker->count; i++)
        ring[i] = worker->ring[(worker->head + i) & (worker->capacity - 1)];
    free(worker->ring);
    worker->ring = ring;
    worker->head = 0;
    worker->capacity = capacity;
    return true;
}

static bool is_run(const struct d3d_work *work)
{
    return work->type == D3D_WORK_EXECUTE && work->submission->run;
}

/* Under the lock. Not of a queue that waits for a fence: its signal may be the caller's. */
static bool crowded(const struct d3d_worker *worker)
{
    return worker->count >= RUNS_AHEAD && !worker->blocked && !pthread_equal(pthread_self(), worker->thread);
}

bool d3d_worker_push(struct d3d_worker *worker, const struct d3d_work *work)
{
    pthread_mutex_lock(&worker->lock);
    while (is_run(work) && crowded(worker))
        base_condition_wait(&worker->state_changed, &worker->lock);
    bool has_room = worker->count < worker->capacity || ring_grow(worker);
    if (has_room) {
        worker->ring[(worker->head + worker->count++) & (worker->capacity - 1)] = *work;
        atomic_fetch_add_explicit(&worker->pushed, 1, memory_order_release);
        if (worker->sleeping)
            base_condition_signal(&worker->wake);
    }
    pthread_mutex_unlock(&worker->lock);
    return has_room;
}

bool d3d_worker_acquire(struct d3d_worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    bool idle = !worker->count && !worker->busy && !worker->borrowed;
    if (idle)
        worker->borrowed = true;
    pthread_mutex_unlock(&worker->lock);
    return idle;
}

void d3d_worker_release(struct d3d_worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    worker->borrowed = false;
    worker->busy = worker->running_count;
    if (worker->sleeping && (worker->count || worker->closing || worker->running_count))
        base_condition_signal(&worker->wake);
    pthread_mutex_unlock(&worker->lock);
}

/* The number of dispatches of the submission; the last one, if any, in *io. */
static uint32_t count_dispatches(const struct adapter_batch *batch, struct adapter_dispatch **io)
{
    uint32_t dispatches = 0;
    for (uint32_t i = 0; i < batch->list_count; i++)
        for (uint32_t j = 0; j < batch->command_counts[i]; j++) {
            if (batch->lists[i][j].type != ADAPTER_DISPATCH)
                continue;
            *io = batch->lists[i][j].u.dispatch.dispatch;
            dispatches++;
        }
    return dispatches;
}

/* Reports the operation of the batch, or of the oldest one in flight, that ran when the device was lost. */
static void remove_device(struct d3d_worker *worker, const struct d3d_submission *submission, HRESULT hr,
                          const char *what)
{
    struct adapter_dispatch *last = NULL;
    char text[512] = "";
    if (worker->running)
        submission = worker->running;
    uint32_t dispatches = count_dispatches(&submission->batch, &last);
    while (submission->more) {
        submission = submission->next;
        dispatches += count_dispatches(&submission->batch, &last);
    }
    if (last && last->ops->describe)
        last->ops->describe(last, text, sizeof(text));
    d3d_device_remove(worker->device, hr, "the adapter could not %s%s; of its %u dispatches the last is %s", what,
                      hr == DXGI_ERROR_DEVICE_HUNG ? ", since the device was lost" : "", dispatches,
                      *text ? text : "unknown");
}

/* Before the host is notified of work that waited for other queues on the device: their signals are completed first.
 */
static void await_others(struct d3d_worker *worker)
{
    while (worker->awaited_count) {
        const struct d3d_awaited *awaited = &worker->awaited[--worker->awaited_count];
        d3d_fence_await(awaited->fence, awaited->order);
        com_unref(&awaited->fence->base);
    }
}

HRESULT d3d_worker_run(struct d3d_worker *worker, struct d3d_submission *submission)
{
    const struct adapter_ops *ops = worker->device->ops;
    HRESULT hr = ops->queue_submit(worker->queue, &submission->batch, &submission->ticket);
    if (SUCCEEDED(hr))
        hr = ops->queue_finish(worker->queue, submission->ticket);
    if (FAILED(hr))
        remove_device(worker, submission, hr, "execute a batch");
    d3d_submission_release(worker, submission);
    await_others(worker);
    return hr;
}

/* Under the lock; there is some. */
static struct d3d_work ring_take(struct d3d_worker *worker)
{
    const struct d3d_work work = worker->ring[worker->head];
    worker->head = (worker->head + 1) & (worker->capacity - 1);
    if (worker->count-- == RUNS_AHEAD)
        base_condition_broadcast(&worker->state_changed);
    return work;
}

static bool ring_pop(struct d3d_worker *worker, struct d3d_work *out)
{
    pthread_mutex_lock(&worker->lock);
    const bool own = !worker->borrowed, any = own && worker->count;
    if (own)
        worker->busy = any || worker->running_count;
    if (any)
        *out = ring_take(worker);
    pthread_mutex_unlock(&worker->lock);
    return any;
}

/* The run, and the runs after it in the ring: linked, with their commands in `lists`. Returns their number. */
static uint32_t take_runs(struct d3d_worker *worker, struct d3d_submission *run,
                          const struct adapter_command *lists[RUNS_TOGETHER])
{
    uint32_t taken = 0;
    lists[taken++] = run->batch.lists[0];
    pthread_mutex_lock(&worker->lock);
    while (taken < RUNS_TOGETHER && worker->count && is_run(&worker->ring[worker->head])) {
        run->more = true;
        run->next = ring_take(worker).submission;
        run = run->next;
        lists[taken++] = run->batch.lists[0];
    }
    pthread_mutex_unlock(&worker->lock);
    run->next = NULL;
    return taken;
}

/* ---- the thread ---- */

/* Releases the submissions of one batch; returns the next one. */
static struct d3d_submission *release_batch(struct d3d_worker *worker, struct d3d_submission *submission)
{
    bool more = true;
    while (more) {
        struct d3d_submission *next = submission->next;
        more = submission->more;
        d3d_submission_release(worker, submission);
        submission = next;
    }
    return submission;
}

/* Finishes the oldest batches until at most `left` are in flight. */
static void finish_running(struct d3d_worker *worker, uint32_t left)
{
    if (worker->running_count <= left)
        return;
    struct d3d_submission *last = worker->running;
    for (uint32_t i = worker->running_count - left; last->more || i > 1; last = last->next)
        i -= !last->more;
    HRESULT hr = worker->device->ops->queue_finish(worker->queue, last->ticket);
    if (FAILED(hr))
        remove_device(worker, worker->running, hr, "finish a batch");
    for (; worker->running_count > left; worker->running_count--)
        worker->running = release_batch(worker, worker->running);
    if (!worker->running)
        worker->running_end = &worker->running;
}

static HRESULT submit(struct d3d_worker *worker, struct d3d_submission *submission)
{
    const struct adapter_command *lists[RUNS_TOGETHER];
    uint32_t counts[RUNS_TOGETHER];
    struct adapter_batch batch = submission->batch;
    submission->next = NULL;
    if (submission->run) {
        batch = (struct adapter_batch){ lists, counts, take_runs(worker, submission, lists) };
        for (uint32_t i = 0; i < batch.list_count; i++)
            counts[i] = 1;
    }
    return d3d_removed(worker->device) ? DXGI_ERROR_DEVICE_REMOVED
                                       : worker->device->ops->queue_submit(worker->queue, &batch, &submission->ticket);
}

void d3d_worker_execute(struct d3d_worker *worker, struct d3d_submission *submission)
{
    HRESULT hr = submit(worker, submission);
    if (FAILED(hr)) {
        remove_device(worker, submission, hr, "execute a batch"); /* no effect when it is already */
        finish_running(worker, 0);
        release_batch(worker, submission);
        return;
    }
    *worker->running_end = submission;
    for (; submission->more; submission = submission->next)
        submission->next->ticket = submission->ticket;
    worker->running_end = &submission->next;
    worker->running_count++;
    finish_running(worker, MAX_IN_FLIGHT);
}

static void set_blocked(struct d3d_worker *worker, bool blocked)
{
    pthread_mutex_lock(&worker->lock);
    worker->blocked = blocked;
    if (blocked)
        base_condition_broadcast(&worker->state_changed);
    pthread_mutex_unlock(&worker->lock);
}

static void check(struct d3d_worker *worker, HRESULT hr, const char *what)
{
    if (FAILED(hr))
        d3d_device_remove(worker->device, hr, "the adapter could not %s", what);
}

/* The device waits for the fence's signal of that order; 0: no wait. */
static void note_awaited(struct d3d_worker *worker, struct d3d_fence *fence, uint64_t order)
{
    if (!order)
        return;
    if (worker->awaited_count == AWAITED_MAX)
        await_others(worker);
    worker->awaited[worker->awaited_count++] = (struct d3d_awaited){ fence, order };
    com_ref(&fence->base);
}

/* Waits on the device if it can and the preceding work of the signal was submitted; otherwise completes all work of
 * this queue first. */
static void work_wait(struct d3d_worker *worker, struct d3d_fence *fence, uint64_t value)
{
    const bool on_device = worker->device->ops->queue_wait && !fence->ops;
    uint64_t order = 0;
    HRESULT hr = S_OK;
    if (!on_device || !d3d_fence_try_wait(fence, value, worker->queue, &order, &hr)) {
        finish_running(worker, 0);
        if (d3d_fence_value(fence) >= value)
            return;
        set_blocked(worker, true);
        if (on_device)
            hr = d3d_fence_wait_by(fence, value, worker->queue, &order);
        else
            d3d_fence_wait(fence, value);
        set_blocked(worker, false);
    }
    check(worker, hr, "wait for another queue");
    note_awaited(worker, fence, order);
}

/* Points for which no batch has waited yet. */
static void settle_waits(struct d3d_worker *worker)
{
    const struct adapter_ops *ops = worker->device->ops;
    if (ops->queue_settle)
        check(worker, ops->queue_settle(worker->queue), "wait for another queue");
}

/* All of the queue's work is done, and its waits are over. */
static void settle(struct d3d_worker *worker)
{
    settle_waits(worker);
    finish_running(worker, 0);
    await_others(worker);
}

/* Other queues may start work that waits for it when the device reaches this point. */
static void signal_pending(struct d3d_worker *worker, struct d3d_fence *fence, uint64_t value)
{
    const struct adapter_ops *ops = worker->device->ops;
    struct d3d_pending pending = { .value = value, .point = ops->queue_point(worker->queue) };
    d3d_fence_pend(fence, &pending);
    settle(worker);
    d3d_fence_reach(fence, &pending);
    ops->point_release(&pending.point);
}

static void work_signal(struct d3d_worker *worker, struct d3d_fence *fence, uint64_t value)
{
    settle_waits(worker); /* the point of the last batch does not cover them */
    if (fence->ops) {
        await_others(worker);
        fence->ops->queue_signal(fence, worker->queue, value);
    } else if (worker->device->ops->queue_point && worker->running_count) {
        signal_pending(worker, fence, value);
    } else {
        settle(worker);
        d3d_fence_signal(fence, value);
    }
}

/* Polls for work for a short time, which keeps devices busy: a thread that waits for the batch in flight accepts no new
 * one meanwhile. */
static bool linger(struct d3d_worker *worker)
{
    const uint64_t end = base_now_ns() + LINGER_NS;
    bool waiting = worker->device->info->kind != ADAPTER_HOST;
    pthread_mutex_lock(&worker->lock);
    worker->sleeping = true;
    while (waiting && !worker->count && !worker->closing)
        waiting = base_condition_wait_until(&worker->wake, &worker->lock, end);
    worker->sleeping = false;
    bool any = worker->count;
    pthread_mutex_unlock(&worker->lock);
    return any;
}

/* Others may have started some, d3d_worker_execute. */
static bool in_flight(struct d3d_worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    bool any = !worker->borrowed && worker->running_count;
    pthread_mutex_unlock(&worker->lock);
    return any;
}

/* The next work; false: the queue is closed and empty. */
static bool next_work(struct d3d_worker *worker, struct d3d_work *out)
{
    for (;;) {
        unsigned seen = atomic_load_explicit(&worker->pushed, memory_order_acquire);
        if (ring_pop(worker, out))
            return true;
        if (d3d_spin(&worker->pushed, seen))
            continue;
        if (in_flight(worker)) {
            if (!linger(worker))
                finish_running(worker, 0);
            continue;
        }
        pthread_mutex_lock(&worker->lock);
        worker->sleeping = true;
        while (worker->borrowed || (!worker->count && !worker->closing && !worker->running_count))
            base_condition_wait(&worker->wake, &worker->lock);
        worker->sleeping = false;
        bool end = !worker->count && !worker->running_count;
        pthread_mutex_unlock(&worker->lock);
        if (end)
            return false;
    }
}

static void worker_destroy(struct d3d_worker *worker)
{
    while (worker->awaited_count)
        com_unref(&worker->awaited[--worker->awaited_count].fence->base);
    for (struct d3d_submission *block = worker->free_blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(worker->ring);
    pthread_mutex_destroy(&worker->lock);
    base_condition_destroy(&worker->wake);
    base_condition_destroy(&worker->state_changed);
    com_unref(&worker->device->base);
    free(worker);
}

static void *worker_main(void *argument)
{
    struct d3d_worker *worker = argument;
    struct d3d_work work;
    while (next_work(worker, &work)) {
        if (work.type == D3D_WORK_EXECUTE) {
            d3d_worker_execute(worker, work.submission);
            continue;
        }
        if (work.type == D3D_WORK_TILES) {
            settle(worker);
            d3d_tile_update_run(worker->device, work.tiles);
            d3d_tile_update_destroy(work.tiles);
            continue;
        }
        if (work.type == D3D_WORK_SIGNAL)
            work_signal(worker, work.fence, work.value);
        else
            work_wait(worker, work.fence, work.value);
        com_unref(&work.fence->base);
    }
    worker->device->ops->queue_destroy(worker->queue);
    pthread_mutex_lock(&worker->lock);
    worker->finished = true;
    bool orphan = worker->orphan;
    base_condition_broadcast(&worker->state_changed);
    pthread_mutex_unlock(&worker->lock);
    if (orphan)
        worker_destroy(worker);
    return NULL;
}

static void locks_init(struct d3d_worker *worker)
{
    pthread_mutex_init(&worker->lock, NULL);
    base_condition_init(&worker->wake);
    base_condition_init(&worker->state_changed);
}

HRESULT d3d_worker_create(struct d3d_device *device, D3D12_COMMAND_LIST_TYPE type, struct d3d_worker **out)
{
    struct d3d_worker *worker = calloc(1, sizeof(*worker));
    if (!worker)
        return E_OUTOFMEMORY;
    HRESULT hr = device->ops->queue_create(device->adapter, type, &worker->queue);
    hr = d3d_adapter_result(device, hr, "make a queue");
    if (FAILED(hr)) {
        free(worker);
        return hr;
    }
    worker->device = device;
    worker->forks = d3d_fork_count();
    com_ref(&device->base);
    worker->running_end = &worker->running;
    locks_init(worker);
    if (!base_thread_start(&worker->thread, "anydml-queue", 0, 0, worker_main, worker)) {
        device->ops->queue_destroy(worker->queue);
        worker_destroy(worker);
        return E_OUTOFMEMORY;
    }
    *out = worker;
    return S_OK;
}

/* In the child of a fork the thread does not exist; it may have held the lock, and its waits never end. Its queued work
 * is discarded; the work in execution is abandoned. */
static void worker_abandon(struct d3d_worker *worker)
{
    locks_init(worker);
    for (; worker->count; worker->count--) {
        struct d3d_work *work = &worker->ring[worker->head];
        worker->head = (worker->head + 1) & (worker->capacity - 1);
        if (work->type == D3D_WORK_EXECUTE)
            d3d_submission_release(worker, work->submission);
        else if (work->type == D3D_WORK_TILES)
            d3d_tile_update_destroy(work->tiles);
        else
            com_unref(&work->fence->base);
    }
    if (worker->device->info->kind == ADAPTER_HOST) /* drivers do not work after a fork */
        worker->device->ops->queue_destroy(worker->queue);
    worker_destroy(worker);
}

/* A queue may be released while its work waits for a fence that only the releasing thread would signal (unless the
 * device is removed, which signals all), or on its own thread (by private data of an object that its work kept): then
 * the thread ends and frees itself later. */
void d3d_worker_close(struct d3d_worker *worker)
{
    if (worker->forks != d3d_fork_count()) {
        worker_abandon(worker);
        return;
    }
    bool self = pthread_equal(pthread_self(), worker->thread);
    pthread_mutex_lock(&worker->lock);
    worker->closing = true;
    atomic_fetch_add(&worker->pushed, 1);
    base_condition_signal(&worker->wake);
    while (!self && !worker->finished && (!worker->blocked || d3d_removed(worker->device)))
        base_condition_wait(&worker->state_changed, &worker->lock);
    pthread_t thread = worker->thread;
    bool orphan = !worker->finished;
    worker->orphan = orphan;
    pthread_mutex_unlock(&worker->lock);
    if (orphan) {
        pthread_detach(thread);
    } else {
        pthread_join(thread, NULL);
        worker_destroy(worker);
    }
}
