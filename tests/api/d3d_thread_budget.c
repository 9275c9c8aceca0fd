/* SPDX-License-Identifier: Apache-2.0 */
/* The threads that all queues of the process share: never too many acquired, FIFO order, and no deadlock between queues
 * that wait for each other. */
#include "api_test.h"

#include "d3d12/adapter.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS = 6, ROUNDS = 3000, QUEUES = 4, CHAIN = 60 };

#define BYTES (UINT64)(4u << 20) /* a copy that uses several threads */

/* ---- the budget alone ---- */

static uint32_t all;
static atomic_uint taken;

static void *acquire_and_release(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t want = 1 + (uint32_t)rand_r(&seed) % (all + 1), got = adapter_thread_budget_acquire(want);
        ok(got == (want < all ? want : all), "took %u of %u", got, want);
        uint32_t now = atomic_fetch_add(&taken, got) + got;
        ok(now <= all, "%u of %u cores are taken", now, all);
        atomic_fetch_sub(&taken, got);
        adapter_thread_budget_release(got);
    }
    return NULL;
}

static void test_budget(void)
{
    pthread_t threads[THREADS];
    all = adapter_thread_budget_acquire(UINT32_MAX);
    ok(all > 1 && !adapter_oversubscribed(), "%u", all);
    adapter_computing_begin(all);
    ok(adapter_oversubscribed(), "not crowded with %u threads", all);
    adapter_computing_end(all);
    adapter_thread_budget_release(all);
    ok(!adapter_oversubscribed(), "crowded without a thread");
    for (uintptr_t i = 0; i < THREADS; i++)
        need(!pthread_create(&threads[i], NULL, acquire_and_release, (void *)(i + 1)));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ok(adapter_thread_budget_acquire(all) == all, "something was lost");
    adapter_thread_budget_release(all);
}

struct turn {
    uint32_t threads;
    int order; /* in which it was served, from 1 */
    int thread;
};

static atomic_int served;

static void *take_turn(void *argument)
{
    struct turn *turn = argument;
    __atomic_store_n(&turn->thread, api_thread_id(), __ATOMIC_RELEASE);
    uint32_t got = adapter_thread_budget_acquire(turn->threads);
    turn->order = atomic_fetch_add(&served, 1) + 1;
    adapter_thread_budget_release(got);
    return NULL;
}

/* A request for all comes before a later one for few. */
static void test_order(void)
{
    struct turn turns[2] = { { .threads = all }, { .threads = 1 } };
    pthread_t threads[2];
    uint32_t got = adapter_thread_budget_acquire(all);
    for (int i = 0; i < 2; i++) {
        need(!pthread_create(&threads[i], NULL, take_turn, &turns[i]));
        api_await_sleep(&turns[i].thread);
    }
    ok(!atomic_load(&served) && adapter_oversubscribed(), "served too early");
    adapter_thread_budget_release(got);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    ok(turns[0].order < turns[1].order, "order %d, %d", turns[0].order, turns[1].order);
}

/* ---- queues ---- */

struct link {
    struct api_queue q;
    ID3D12Resource *buffer;
    ID3D12Fence *after;
};

/* Each copies its predecessor's buffer when that is done, the first one the source when the last one's round is over.
 */
static void chain_round(struct link *links, ID3D12Fence *start, UINT64 round)
{
    for (int i = QUEUES - 1; i >= 0; i--) { /* the last one is submitted first */
        if (i)
            ok_hr(ID3D12CommandQueue_Wait(links[i].q.queue, links[i - 1].after, round), S_OK);
        else if (round > 1)
            ok_hr(ID3D12CommandQueue_Wait(links[i].q.queue, links[QUEUES - 1].after, round - 1), S_OK);
        else
            ok_hr(ID3D12CommandQueue_Wait(links[i].q.queue, start, 1), S_OK);
        api_queue_execute(&links[i].q);
        ok_hr(ID3D12CommandQueue_Signal(links[i].q.queue, links[i].after, round), S_OK);
    }
}

static void *test_queues(void *unused)
{
    (void)unused;
    ID3D12Device *device = api_device();
    ID3D12Fence *start = NULL;
    struct link links[QUEUES];
    uint32_t value = 0x12345678, got[2] = { 0 };
    ID3D12Resource *source = api_buffer(device, D3D12_HEAP_TYPE_DEFAULT, BYTES);
    ok_hr(ID3D12Device_CreateFence(device, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, (void **)&start), S_OK);
    need(start);
    for (int i = 0; i < QUEUES; i++) {
        links[i].q = api_queue_create(device);
        links[i].buffer = api_buffer(device, D3D12_HEAP_TYPE_DEFAULT, BYTES);
        ok_hr(ID3D12Device_CreateFence(device, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, (void **)&links[i].after),
              S_OK);
    }
    api_write(&links[0].q, source, BYTES - 4, &value, sizeof(value));
    for (int i = 0; i < QUEUES; i++) {
        ID3D12GraphicsCommandList_CopyResource(links[i].q.list, links[i].buffer, i ? links[i - 1].buffer : source);
        ok_hr(ID3D12GraphicsCommandList_Close(links[i].q.list), S_OK);
    }
    for (UINT64 round = 1; round <= CHAIN; round++)
        chain_round(links, start, round);
    ok_hr(ID3D12Fence_Signal(start, 1), S_OK);
    for (int i = 0; i < QUEUES; i++) {
        ok_hr(ID3D12Fence_SetEventOnCompletion(links[i].after, CHAIN, NULL), S_OK);
        ok_hr(ID3D12CommandAllocator_Reset(links[i].q.allocator), S_OK);
        ok_hr(ID3D12GraphicsCommandList_Reset(links[i].q.list, links[i].q.allocator, NULL), S_OK);
    }
    api_read(&links[QUEUES - 1].q, links[QUEUES - 1].buffer, BYTES - 8, got, sizeof(got));
    ok(!got[0] && got[1] == value, "0x%x 0x%x came through", got[0], got[1]);
    for (int i = 0; i < QUEUES; i++) {
        api_release(links[i].buffer);
        api_release(links[i].after);
        api_queue_destroy(&links[i].q);
    }
    api_release(source);
    api_release(start);
    api_release(device);
    return NULL;
}

/* Chains without dependencies on each other. */
static void test_chains(void)
{
    pthread_t other;
    need(!pthread_create(&other, NULL, test_queues, NULL));
    test_queues(NULL);
    pthread_join(other, NULL);
}

int main(void)
{
    api_begin();
    alarm(240); /* a hang is a failure */
    test_budget();
    test_order();
    test_chains();
    setenv("ANYDML_THREADS", "7", 1); /* more than there may be */
    test_chains();
    return api_end();
}
