/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenMP teams of threads whose networks have steps of oneDNN: what they run, and which there can be. */
#include "base/parallel.h"

#include "base/clock.h"
#include "base/log.h"

#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RETRY_NS UINT64_C(1000000000)

/* Of the calling thread. */
static _Thread_local struct {
    uint32_t granted; /* for its team; 0: never asked */
    bool forked;      /* its team stayed in the parent */
    uint64_t retry_ns;
} own;

struct trial {
    pthread_t thread;
    pthread_mutex_t *gate;
    pid_t id;
};

static void *wait_at_gate(void *context)
{
    struct trial *trial = context;
    trial->id = (pid_t)syscall(SYS_gettid);
    pthread_mutex_lock(trial->gate);
    pthread_mutex_unlock(trial->gate);
    return NULL;
}

/* A thread counts until the system has forgotten it, a moment after it can be joined. */
static void join(const struct trial *trial)
{
    pthread_join(trial->thread, NULL);
    for (int i = 0; i < 1000 && !syscall(SYS_tgkill, getpid(), trial->id, 0); i++)
        sched_yield();
}

/* So many at a time? */
static bool can_create(uint32_t count)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    struct trial *trials = calloc(count, sizeof(*trials));
    uint32_t made = 0;
    sigset_t all, before;
    if (!trials)
        return false;
    sigfillset(&all);
    pthread_mutex_lock(&gate);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; made < count; made++) {
        trials[made].gate = &gate;
        if (pthread_create(&trials[made].thread, NULL, wait_at_gate, &trials[made]))
            break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_mutex_unlock(&gate);
    for (uint32_t i = 0; i < made; i++)
        join(&trials[i]);
    pthread_mutex_destroy(&gate);
    free(trials);
    return made == count;
}

/* Twice as many as needed: OpenMP's runtime may create a thread while the system still counts the one before, and other
 * programs of the user count, too. */
uint32_t base_parallel_possible(uint32_t threads)
{
    uint32_t possible = BASE_MAX(threads, 1);
    while (possible > 1 && !can_create(2 * (possible - 1)))
        possible /= 2;
    if (possible < threads)
        base_log(BASE_LOG_WARN, "the system creates no threads for a team of %u: %u", threads, possible);
    return possible;
}

static void after_fork_in_child(void)
{
    own.forked = own.granted > 1;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

static void ask(uint32_t threads)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    uint64_t now = base_now_ns();
    pthread_once(&once, watch_forks);
    if (own.forked || now < own.retry_ns)
        return;
    own.granted = BASE_MAX(own.granted, base_parallel_possible(threads));
    if (own.granted < threads)
        own.retry_ns = now + RETRY_NS;
}

uint32_t base_parallel_grant(uint32_t threads)
{
    if (threads > 1 && (threads > own.granted || own.forked))
        ask(threads);
    return own.forked ? 1 : BASE_MIN(BASE_MAX(own.granted, 1), BASE_MAX(threads, 1));
}

/* ---- running ---- */

struct region {
    base_parallel_fn *fn;
    void *context;
    size_t units;
    uint32_t ranges;
};

static void run_range(const struct region *region, uint32_t range)
{
    size_t each = region->units / region->ranges, extra = region->units % region->ranges;
    size_t begin = each * range + BASE_MIN(range, extra);
    region->fn(region->context, begin, begin + each + (range < extra), range);
}

#if defined(__SANITIZE_THREAD__)
/* libgomp is not instrumented: tell the sanitizer where the region's start and end order memory. */
void __tsan_acquire(void *address);
void __tsan_release(void *address);
static _Thread_local char team_tag;
#define TEAM_ATTRIBUTES   __attribute__((no_sanitize("thread")))
#define TEAM_ACQUIRE(tag) __tsan_acquire(tag)
#define TEAM_RELEASE(tag) __tsan_release(tag)
#else
static char team_tag;
#define TEAM_ATTRIBUTES
#define TEAM_ACQUIRE(tag) (void)(tag)
#define TEAM_RELEASE(tag) (void)(tag)
#endif

/* Always the whole team: libgomp ends the threads that a smaller one does not need, and creates them anew for the next.
 */
TEAM_ATTRIBUTES void base_openmp_run(size_t units, uint32_t ranges, base_parallel_fn *fn, void *context)
{
    const struct region region = { fn, context, units, ranges };
    char *tag = &team_tag;
    uint32_t team = base_parallel_grant(base_parallel_threads());
    if (team < 2) {
        for (uint32_t range = 0; range < ranges; range++)
            run_range(&region, range);
        return;
    }
    TEAM_RELEASE(tag);
#pragma omp parallel num_threads(team)
    {
        TEAM_ACQUIRE(tag);
        /* A team may be granted fewer threads than asked for: every range must run all the same. */
        for (uint32_t range = (uint32_t)omp_get_thread_num(); range < ranges; range += (uint32_t)omp_get_num_threads())
            run_range(&region, range);
        TEAM_RELEASE(tag);
    }
    TEAM_ACQUIRE(tag);
}
