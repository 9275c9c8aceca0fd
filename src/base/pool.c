/* SPDX-License-Identifier: Apache-2.0 */
/* One pool of worker threads, shared by all submitting threads.
 *
 * A submitting thread has a slot with a header, which describes the work, and a word for each range, which records how
 * much of the range is taken. Publishing work is one write to the header, which waiting workers poll. Taking a block is
 * a compare-and-swap of the range's word, mostly by its owner, whose cache contains it. Words contain the epoch of
 * their job, so they are not reset: a word of an earlier job means an untouched range. A worker that read the header
 * and was preempted cannot take work of a later job: when a job has ended, the words of all its ranges belong to this
 * job or a later one, and have no work left. So a submitting thread only waits for threads that execute some of its
 * work, never for one that was about to.
 *
 * Worker number i has index i in the first submitting thread's jobs: it gets the same part of each step, whose data is
 * in its cache from the previous step. */
#include "base/pool.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/log.h"
#include "base/os.h"
#include "base/wait.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define LINE          64
#define STACK_BYTES   (1u << 20)           /* kernels have little scratch memory for larger ones */
#define RETRY_NS      UINT64_C(1000000000) /* after the system refused a thread */
#define SPIN_NS       UINT64_C(1000000)    /* of a worker, before it sleeps */
#define SPIN_SHORT_NS UINT64_C(2000)       /* if oversubscribed */
#define WAIT_NS       UINT64_C(200000)     /* of a submitting thread, for the last blocks */
#define FUTILE_MAX    6                    /* times that a worker's spinning may be halved */
#define GAP_NS        UINT64_C(30000)      /* between two reads of the clock: the thread was preempted */
#define WINDOW_NS     UINT64_C(100000000)  /* for so long gaps are added up; */
#define LOST_NS       (WINDOW_NS / 5)      /* from this on the machine is oversubscribed */
#define REST_NS       UINT64_C(1000000000) /* duration without spinning, doubled each time */
#define RESTS_MAX     4
#define REFRESH       (1u << 20) /* epochs, after which words of unused ranges are rewritten */
#define WAKES         2          /* sleeping threads that one thread wakes for a job */
#define ASLEEP_WORDS  (BASE_POOL_WORKERS_MAX / 64 + 1)

struct range {
    _Alignas(LINE) _Atomic uint64_t word; /* epoch, blocks taken */
};

/* Completed ranges are counted in groups first: a single counter would move between all CPUs at the end of each
 * step. */
#define GROUP      4
#define GROUPS_MAX (BASE_POOL_WORKERS_MAX / GROUP + 1)

struct client {
    /* Written by the submitting thread only. Fields after the epoch are valid while it is even and does not change. */
    _Alignas(LINE) _Atomic uint32_t epoch;
    _Atomic uint32_t ranges, blocks, workers;
    _Atomic uint64_t units;
    _Atomic(base_parallel_fn *) fn;
    _Atomic(void *) context;
    _Alignas(LINE) _Atomic uint32_t done; /* blocks, or groups; a submitting thread that sleeps waits for it */
    _Atomic uint32_t waiting;
    struct range group[GROUPS_MAX]; /* epoch, blocks done of its ranges */
    struct range range[BASE_POOL_WORKERS_MAX + 1];
};

struct worker {
    _Alignas(LINE) _Atomic uint32_t wake;
    uint32_t id;                          /* from 1 */
    uint32_t futile;                      /* consecutive unsuccessful spins */
    uint32_t seen[BASE_POOL_CLIENTS_MAX]; /* epochs without remaining work */
};

/* A copy of a slot's header. */
struct view {
    struct client *client;
    uint32_t epoch, slot, ranges, blocks, workers;
    uint64_t units;
    base_parallel_fn *fn;
    void *context;
};

static struct {
    _Alignas(LINE) _Atomic uint64_t active; /* slots in use */
    _Atomic uint32_t spinning_off;
    _Alignas(LINE) _Atomic uint32_t clients, awake; /* threads inside enter; workers that do not sleep */
    _Atomic uint32_t capacity;                      /* of these together */
    _Alignas(LINE) _Atomic uint64_t asleep[ASLEEP_WORDS];
    _Atomic uint32_t workers;
    _Atomic uint64_t retry_ns;
    _Atomic uint64_t window_ns, lost_ns, rest_until_ns; /* of spinning */
    _Atomic uint32_t rests;
    uint32_t generation; /* forks */
    pthread_mutex_t create;
    struct worker worker[BASE_POOL_WORKERS_MAX];
    struct client client[BASE_POOL_CLIENTS_MAX];
} pool = { .create = PTHREAD_MUTEX_INITIALIZER };

/* Of a submitting thread. */
static _Thread_local struct {
    uint32_t hint;       /* the slot that it had last */
    uint32_t generation; /* at entry, */
    bool entered, held;  /* and has the slot until it leaves */
} own;

/* ---- how long to spin ---- */

/* For waiting submitting threads and workers. */
struct spin {
    uint64_t start_ns, last_ns, limit_ns;
    uint32_t polls;
};

static bool crowded(uint64_t now)
{
    return now < atomic_load_explicit(&pool.rest_until_ns, memory_order_relaxed) ||
           atomic_load_explicit(&pool.spinning_off, memory_order_relaxed);
}

static struct spin spin_begin(uint64_t limit_ns)
{
    uint64_t now = base_now_ns();
    return (struct spin){ now, now, crowded(now) ? SPIN_SHORT_NS : limit_ns, 0 };
}

/* The thread was preempted for this long: checks whether that was a large part of the recent time. */
static void note_gap(uint64_t now, uint64_t gap)
{
    uint64_t begin = atomic_load_explicit(&pool.window_ns, memory_order_relaxed);
    if (now > begin + WINDOW_NS) {
        if (now > begin + 8 * WINDOW_NS)
            atomic_store_explicit(&pool.rests, 0, memory_order_relaxed);
        atomic_store_explicit(&pool.window_ns, now, memory_order_relaxed);
        atomic_store_explicit(&pool.lost_ns, 0, memory_order_relaxed);
    }
    if (atomic_fetch_add_explicit(&pool.lost_ns, gap, memory_order_relaxed) + gap < LOST_NS)
        return;
    uint32_t rests = atomic_load_explicit(&pool.rests, memory_order_relaxed);
    uint64_t rest = REST_NS << rests;
    atomic_store_explicit(&pool.rests, BASE_MIN(rests + 1, RESTS_MAX), memory_order_relaxed);
    atomic_store_explicit(&pool.rest_until_ns, now + rest, memory_order_relaxed);
    atomic_store_explicit(&pool.window_ns, now + rest, memory_order_relaxed);
    atomic_store_explicit(&pool.lost_ns, 0, memory_order_relaxed);
    base_log(BASE_LOG_DEBUG, "cpu: the machine is oversubscribed: threads sleep for %u ms instead of spinning",
             (unsigned)(rest / 1000000));
}

/* False: it was long enough. */
static bool spin_on(struct spin *spin)
{
    cpu_pause();
    if (++spin->polls % 16)
        return true;
    uint64_t now = base_now_ns(), gap = now - spin->last_ns;
    spin->last_ns = now;
    if (gap > GAP_NS && !crowded(now))
        note_gap(now, gap);
    return now - spin->start_ns < spin->limit_ns;
}

/* Are there CPUs for the threads that are awake, and more? */
static bool room(uint32_t more)
{
    return atomic_load_explicit(&pool.clients, memory_order_relaxed) +
               atomic_load_explicit(&pool.awake, memory_order_relaxed) + more <=
           atomic_load_explicit(&pool.capacity, memory_order_relaxed);
}

/* ---- taking blocks ---- */

static uint64_t word_of(uint32_t epoch, uint32_t taken)
{
    return (uint64_t)epoch << 32 | taken;
}

/* False: a job is being published, or there is none yet. */
static bool view_read(struct client *client, uint32_t slot, struct view *out)
{
    /* A thread that sees a field of the next job also sees that the epoch has changed. */
    out->epoch = atomic_load_explicit(&client->epoch, memory_order_acquire);
    out->client = client;
    out->slot = slot;
    out->ranges = atomic_load_explicit(&client->ranges, memory_order_acquire);
    out->blocks = atomic_load_explicit(&client->blocks, memory_order_acquire);
    out->workers = atomic_load_explicit(&client->workers, memory_order_acquire);
    out->units = atomic_load_explicit(&client->units, memory_order_acquire);
    out->fn = atomic_load_explicit(&client->fn, memory_order_acquire);
    out->context = atomic_load_explicit(&client->context, memory_order_acquire);
    return out->epoch && !(out->epoch & 1) && atomic_load_explicit(&client->epoch, memory_order_acquire) == out->epoch;
}

static void view_publish(const struct view *view)
{
    struct client *client = view->client;
    atomic_store_explicit(&client->epoch, view->epoch - 1, memory_order_relaxed); /* odd */
    atomic_store_explicit(&client->ranges, view->ranges, memory_order_release);
    atomic_store_explicit(&client->blocks, view->blocks, memory_order_release);
    atomic_store_explicit(&client->workers, view->workers, memory_order_release);
    atomic_store_explicit(&client->units, view->units, memory_order_release);
    atomic_store_explicit(&client->fn, view->fn, memory_order_release);
    atomic_store_explicit(&client->context, view->context, memory_order_release);
    atomic_store_explicit(&client->done, 0, memory_order_release);
    atomic_store(&client->epoch, view->epoch); /* before asleep[] is read */
}

/* Takes half of the rest of the range; 0 blocks: nothing left. */
static uint32_t take(const struct view *view, uint32_t range, uint32_t *out_first)
{
    _Atomic uint64_t *word = &view->client->range[range].word;
    uint64_t seen = atomic_load_explicit(word, memory_order_relaxed);
    for (;;) {
        int32_t ahead = (int32_t)((uint32_t)(seen >> 32) - view->epoch);
        uint32_t taken = ahead < 0 ? 0 : (uint32_t)seen;
        if (ahead > 0 || taken >= view->blocks)
            return 0;
        uint32_t count = (view->blocks - taken + 1) / 2;
        if (!atomic_compare_exchange_weak_explicit(word, &seen, word_of(view->epoch, taken + count),
                                                   memory_order_acq_rel, memory_order_relaxed))
            continue;
        *out_first = taken;
        return count;
    }
}

static uint64_t unit_of(const struct view *view, uint64_t block)
{
    uint64_t blocks = (uint64_t)view->ranges * view->blocks;
    uint64_t each = view->units / blocks, extra = view->units % blocks;
    return each * block + BASE_MIN(block, extra);
}

/* The value of client->done when the job is complete. */
static uint32_t goal_of(const struct view *view)
{
    return view->ranges > GROUP ? (view->ranges + GROUP - 1) / GROUP : view->ranges * view->blocks;
}

/* Whether these were the last blocks of the range's group. */
static bool finish_group(const struct view *view, uint32_t range, uint32_t count)
{
    const uint32_t group = range / GROUP, all = BASE_MIN(GROUP, view->ranges - group * GROUP) * view->blocks;
    _Atomic uint64_t *word = &view->client->group[group].word;
    uint64_t seen = atomic_load_explicit(word, memory_order_relaxed);
    uint32_t done;
    do
        done = ((uint32_t)(seen >> 32) == view->epoch ? (uint32_t)seen : 0) + count;
    while (!atomic_compare_exchange_weak_explicit(word, &seen, word_of(view->epoch, done), memory_order_acq_rel,
                                                  memory_order_relaxed));
    return done == all;
}

static void finish_blocks(const struct view *view, uint32_t range, uint32_t count)
{
    struct client *client = view->client;
    if (!count || (view->ranges > GROUP && !finish_group(view, range, count)))
        return;
    count = view->ranges > GROUP ? 1 : count;
    if (atomic_fetch_add(&client->done, count) + count == goal_of(view) && atomic_load(&client->waiting))
        base_wake_word(&client->done);
}

/* Executes the rest of one range; returns its number of blocks. */
static uint32_t work_range(const struct view *view, uint32_t range, uint32_t index)
{
    uint32_t first, count, all = 0;
    while ((!index || room(0)) && (count = take(view, range, &first)) != 0) {
        uint64_t block = (uint64_t)range * view->blocks + first;
        view->fn(view->context, unit_of(view, block), unit_of(view, block + count), index);
        all += count;
    }
    return all;
}

/* Its own range, then ranges of others. */
static bool work(const struct view *view, uint32_t index)
{
    bool any = false;
    for (uint32_t i = 0; i < view->ranges; i++) {
        if (atomic_load_explicit(&view->client->epoch, memory_order_relaxed) != view->epoch)
            break;
        const uint32_t range = (index + i) % view->ranges, count = work_range(view, range, index);
        finish_blocks(view, range, count);
        any = any || count;
    }
    return any;
}

/* ---- waking ---- */

/* Submitting threads with few threads each have dedicated workers, as long as there are enough. */
static uint32_t worker_at(const struct view *view, uint32_t index)
{
    return 1 + (index - 1 + view->slot * (view->ranges - 1)) % view->workers;
}

/* 0: the worker has none. */
static uint32_t index_of(const struct view *view, uint32_t id)
{
    if (view->ranges < 2 || id > view->workers)
        return 0;
    uint32_t index = 1 + (id - 1 + view->workers - view->slot * (view->ranges - 1) % view->workers) % view->workers;
    return index < view->ranges ? index : 0;
}

/* True: it slept, and it is up to the caller that it does not. */
static bool claim_sleeper(uint32_t id)
{
    uint64_t bit = UINT64_C(1) << (id - 1) % 64;
    return atomic_fetch_and(&pool.asleep[(id - 1) / 64], ~bit) & bit;
}

static bool is_asleep(uint32_t id)
{
    return atomic_load_explicit(&pool.asleep[(id - 1) / 64], memory_order_relaxed) >> (id - 1) % 64 & 1;
}

static void wake_some(const struct view *view)
{
    bool any = false;
    for (uint32_t i = 0; i <= (view->workers - 1) / 64; i++)
        any = any || atomic_load(&pool.asleep[i]);
    for (uint32_t index = 1, woken = 0; any && index < view->ranges && woken < WAKES && room(1); index++) {
        uint32_t id = worker_at(view, index);
        if (!is_asleep(id) || !claim_sleeper(id))
            continue;
        atomic_fetch_add(&pool.awake, 1);
        atomic_store(&pool.worker[id - 1].wake, 1);
        base_wake_word(&pool.worker[id - 1].wake);
        woken++;
    }
}

/* ---- workers ---- */

/* Checks each slot with work once, starting at another one each time. */
static bool look_around(struct worker *me)
{
    uint64_t active = atomic_load_explicit(&pool.active, memory_order_acquire);
    bool worked = false;
    uint32_t turn = me->id % BASE_POOL_CLIENTS_MAX;
    while (active && room(0)) {
        uint64_t above = active >> turn << turn;
        uint32_t slot = (uint32_t)__builtin_ctzll(above ? above : active);
        struct view view;
        active &= ~(UINT64_C(1) << slot);
        uint32_t epoch = atomic_load_explicit(&pool.client[slot].epoch, memory_order_relaxed);
        if (epoch == me->seen[slot] || !view_read(&pool.client[slot], slot, &view))
            continue;
        me->seen[slot] = view.epoch;
        uint32_t index = index_of(&view, me->id);
        if (!index)
            continue;
        wake_some(&view);
        worked = work(&view, index) || worked;
    }
    return worked;
}

static bool anything_new(const struct worker *me)
{
    uint64_t active = atomic_load(&pool.active);
    for (; active; active &= active - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(active);
        if (atomic_load(&pool.client[slot].epoch) != me->seen[slot])
            return true;
    }
    return false;
}

static void sleep_until_woken(struct worker *me)
{
    uint64_t bit = UINT64_C(1) << (me->id - 1) % 64, start = base_now_ns();
    atomic_store(&me->wake, 0);
    atomic_fetch_sub(&pool.awake, 1);
    atomic_fetch_or(&pool.asleep[(me->id - 1) / 64], bit);
    if (anything_new(me) && room(1) && claim_sleeper(me->id)) {
        atomic_fetch_add(&pool.awake, 1);
        return;
    }
    while (!atomic_load(&me->wake))
        base_wait_word(&me->wake, 0);
    if (base_now_ns() - start < 2 * SPIN_NS) /* it would have paid to spin a little longer */
        me->futile = 0;
}

static void *worker_main(void *argument)
{
    struct worker *me = argument;
    base_parallel_inside();
    for (;;) {
        struct spin spin = spin_begin(SPIN_NS >> me->futile);
        bool found = false, more = true;
        while (!found && more && room(0)) {
            found = look_around(me);
            more = found || spin_on(&spin);
        }
        if (found) {
            me->futile = 0;
            continue;
        }
        if (!more)
            me->futile = BASE_MIN(me->futile + 1, FUTILE_MAX);
        sleep_until_woken(me);
    }
    return NULL;
}

/* ---- making workers ---- */

static void after_fork_in_child(void)
{
    pool.generation++;
    own.held = false;
    atomic_store(&pool.active, 0);
    atomic_store(&pool.clients, 0);
    atomic_store(&pool.awake, 0);
    atomic_store(&pool.workers, 0);
    for (uint32_t i = 0; i < ASLEEP_WORDS; i++)
        atomic_store(&pool.asleep[i], 0);
    pthread_mutex_init(&pool.create, NULL);
}

static void watch_forks(void)
{
    base_on_fork(after_fork_in_child);
}

/* Workers do not inherit the CPU affinity of the thread that creates them. */
static bool worker_create(uint32_t id)
{
    struct worker *worker = &pool.worker[id - 1];
    pthread_t thread;
    memset(worker->seen, 0, sizeof(worker->seen));
    worker->id = id;
    worker->futile = 0;
    return base_thread_start(&thread, "anydml-worker", STACK_BYTES, BASE_THREAD_DETACHED | BASE_THREAD_UNBOUND,
                             worker_main, worker);
}

/* Creates this many workers if the system allows it. A thread that cannot wait for another one that is creating some
 * continues without. */
static void make_workers(uint32_t wanted)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    uint64_t now = base_now_ns();
    if (now < atomic_load_explicit(&pool.retry_ns, memory_order_relaxed) || pthread_mutex_trylock(&pool.create))
        return;
    pthread_once(&once, watch_forks);
    for (uint32_t id = atomic_load(&pool.workers) + 1; id <= wanted; id++) {
        atomic_fetch_add(&pool.awake, 1);
        if (!worker_create(id)) {
            atomic_fetch_sub(&pool.awake, 1);
            atomic_store(&pool.retry_ns, now + RETRY_NS);
            base_log(BASE_LOG_WARN, "the system cannot create more than %u worker threads, %u were requested", id - 1,
                     wanted);
            break;
        }
        atomic_store(&pool.workers, id);
    }
    pthread_mutex_unlock(&pool.create);
}

/* ---- clients ---- */

/* NULL: all are in use. */
static struct client *slot_acquire(uint32_t *out_slot)
{
    uint64_t active = atomic_load_explicit(&pool.active, memory_order_relaxed);
    while (!own.held && ~active) {
        bool taken = active >> own.hint & 1;
        uint32_t slot = taken ? (uint32_t)__builtin_ctzll(~active) : own.hint;
        if (!atomic_compare_exchange_weak(&pool.active, &active, active | UINT64_C(1) << slot))
            continue;
        own.hint = slot;
        own.held = true;
    }
    *out_slot = own.hint;
    return own.held ? &pool.client[own.hint] : NULL;
}

static void slot_release(void)
{
    if (own.held)
        atomic_fetch_and(&pool.active, ~(UINT64_C(1) << own.hint));
    own.held = false;
}

static uint32_t next_epoch(struct client *client)
{
    uint32_t epoch = (atomic_load_explicit(&client->epoch, memory_order_relaxed) + 2) & ~1u;
    epoch = epoch ? epoch : 2;
    for (uint32_t i = 0; !(epoch % REFRESH) && i <= BASE_POOL_WORKERS_MAX; i++) {
        atomic_store_explicit(&client->range[i].word, word_of(epoch - 2, UINT32_MAX), memory_order_relaxed);
        atomic_store_explicit(&client->group[i / GROUP].word, word_of(epoch - 2, 0), memory_order_relaxed);
    }
    return epoch;
}

static void await_done(struct client *client, uint32_t goal)
{
    struct spin spin = spin_begin(WAIT_NS);
    while (atomic_load_explicit(&client->done, memory_order_acquire) != goal) {
        if (spin_on(&spin))
            continue;
        atomic_store(&client->waiting, 1);
        for (uint32_t seen; (seen = atomic_load(&client->done)) != goal;)
            base_wait_word(&client->done, seen);
        atomic_store(&client->waiting, 0);
    }
}

void base_pool_run(const struct base_pool_job *job)
{
    struct view view = { .ranges = BASE_MIN(job->ranges, (uint32_t)BASE_POOL_WORKERS_MAX + 1) };
    if (view.ranges - 1 > atomic_load_explicit(&pool.workers, memory_order_relaxed))
        make_workers(view.ranges - 1);
    view.workers = atomic_load_explicit(&pool.workers, memory_order_relaxed);
    view.ranges = BASE_MIN(view.ranges, view.workers + 1);
    if (view.ranges > 1)
        view.client = slot_acquire(&view.slot);
    if (!view.client) {
        job->fn(job->context, 0, job->units, 0);
        return;
    }
    view.blocks = job->blocks;
    view.units = job->units;
    view.fn = job->fn;
    view.context = job->context;
    view.epoch = next_epoch(view.client);
    view_publish(&view);
    wake_some(&view);
    work(&view, 0);
    await_done(view.client, goal_of(&view));
    if (!own.entered)
        slot_release();
}

void base_pool_enter(uint32_t threads)
{
    uint32_t capacity = atomic_load_explicit(&pool.capacity, memory_order_relaxed);
    uint32_t wanted = capacity ? threads : BASE_MAX(threads, base_cpu_count());
    while (capacity < wanted && !atomic_compare_exchange_weak(&pool.capacity, &capacity, wanted))
        ;
    atomic_fetch_add_explicit(&pool.clients, 1, memory_order_relaxed);
    own.generation = pool.generation;
    own.entered = true;
}

void base_pool_leave(void)
{
    own.entered = false;
    if (own.generation != pool.generation)
        return;
    slot_release();
    atomic_fetch_sub_explicit(&pool.clients, 1, memory_order_relaxed);
}

bool base_pool_crowded(void)
{
    return crowded(base_now_ns());
}

void base_pool_set_spinning(bool spinning)
{
    atomic_store(&pool.spinning_off, !spinning);
}

uint32_t base_pool_workers(uint32_t *out_awake)
{
    *out_awake = atomic_load(&pool.awake);
    return atomic_load(&pool.workers);
}
