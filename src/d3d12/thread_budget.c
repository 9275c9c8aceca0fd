/* SPDX-License-Identifier: Apache-2.0 */
/* A process-wide budget of queue threads that run batches; the threads of the worker pool are not part of it. Two for
 * each CPU are best: one works while the other waits at the end of a step or runs a serial part. More would only
 * alternate and evict each other's data from the caches. Queues acquire a thread for the duration of a batch, in FIFO
 * order. A queue that holds a thread never waits for another queue, so there is no deadlock. */
#include "d3d12/adapter.h"

#include "base/cpu.h"
#include "base/os.h"

#include <pthread.h>
#include <stdatomic.h>

#define EACH 2 /* for each CPU */

/* One word, so that uncontended acquire and release are one atomic operation each: the number of waiting threads in the
 * upper half, of free ones in the lower. While the upper half is not 0, it is changed only under the lock. */
#define ONE_WAITING (UINT64_C(1) << 32)

struct waiter {
    struct waiter *next;
    uint32_t threads;
    bool served;
    struct base_condition wake;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t cpus, total;
static _Atomic uint64_t state;
static _Atomic uint32_t computing; /* threads; no limit */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct waiter *first, **end = &first; /* under lock */

static void count_threads(void)
{
    cpus = BASE_MAX(base_cpu_count(), 1);
    total = EACH * cpus;
    atomic_store(&state, total);
}

/* Under the lock: wakes the first waiters, up to the number of free threads. */
static void serve(void)
{
    while (first && (uint32_t)atomic_load(&state) >= first->threads) {
        struct waiter *waiter = first;
        atomic_fetch_sub(&state, ONE_WAITING + waiter->threads);
        first = waiter->next;
        if (!first)
            end = &first;
        waiter->served = true;
        base_condition_signal(&waiter->wake);
    }
}

static void wait_for(uint32_t threads)
{
    struct waiter waiter = { .threads = threads };
    base_condition_init(&waiter.wake);
    pthread_mutex_lock(&lock);
    *end = &waiter;
    end = &waiter.next;
    atomic_fetch_add(&state, ONE_WAITING);
    serve();
    while (!waiter.served)
        base_condition_wait(&waiter.wake, &lock);
    pthread_mutex_unlock(&lock);
    base_condition_destroy(&waiter.wake);
}

uint32_t adapter_thread_budget_acquire(uint32_t count)
{
    pthread_once(&once, count_threads);
    count = BASE_MIN(BASE_MAX(count, 1), total);
    uint64_t seen = atomic_load_explicit(&state, memory_order_relaxed);
    while (seen >= count && seen < ONE_WAITING)
        if (atomic_compare_exchange_weak(&state, &seen, seen - count))
            return count;
    wait_for(count);
    return count;
}

void adapter_thread_budget_release(uint32_t count)
{
    uint64_t seen = atomic_load_explicit(&state, memory_order_relaxed);
    while (seen < ONE_WAITING)
        if (atomic_compare_exchange_weak(&state, &seen, seen + count))
            return;
    pthread_mutex_lock(&lock);
    atomic_fetch_add(&state, count);
    serve();
    pthread_mutex_unlock(&lock);
}

void adapter_computing_begin(uint32_t threads)
{
    atomic_fetch_add_explicit(&computing, threads, memory_order_relaxed);
}

void adapter_computing_end(uint32_t threads)
{
    atomic_fetch_sub_explicit(&computing, threads, memory_order_relaxed);
}

bool adapter_oversubscribed(void)
{
    pthread_once(&once, count_threads);
    return atomic_load_explicit(&state, memory_order_relaxed) >= ONE_WAITING ||
           atomic_load_explicit(&computing, memory_order_relaxed) >= cpus;
}

void adapter_thread_budget_forget(void)
{
    pthread_mutex_init(&lock, NULL);
    first = NULL;
    end = &first;
    atomic_store(&state, total);
    atomic_store(&computing, 0);
}
