/* SPDX-License-Identifier: Apache-2.0 */
/* The worker pool: every unit once, one worker per index at a time, whatever happens to the threads meanwhile. */
#define _GNU_SOURCE
#include "base/pool.h"
#include "base/clock.h"
#include "base/cpu.h"

#include "test.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SCALE 1
#else
#define SCALE 8
#endif

enum { UNITS_MAX = 3000, THREADS_MAX = 16 };
enum { THREADS_SOME = 7 }; /* more than one group that ends are counted in (pool.c), the last one not full */

/* ---- threads that cannot be created ---- */

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static atomic_int creations_left = INT32_MAX;

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define CHECKS_MEMORY /* and has a pthread_create of its own, too */
#endif
#endif
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) && !defined(CHECKS_MEMORY)
#include <dlfcn.h>
__attribute__((visibility("default"))) int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                                          void *(*start)(void *), void *argument)
{
    create_fn *real;
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return atomic_fetch_sub(&creations_left, 1) > 0 ? real(thread, attributes, start, argument) : EAGAIN;
}
#define INJECTS true
#else
#define INJECTS false
#endif

/* ---- one job ---- */

struct job {
    unsigned char seen[UNITS_MAX]; /* not atomic: the pool orders writers and readers */
    uint32_t threads, spin;
    uint32_t stops; /* a thread sleeps at about one unit of this many; 0: at none */
    atomic_uint wrong;
    atomic_uint busy[THREADS_MAX];
};

static void mark(void *context, size_t begin, size_t end, unsigned worker)
{
    struct job *job = context;
    if (worker >= job->threads || begin >= end) {
        atomic_fetch_add(&job->wrong, 1);
        return;
    }
    if (atomic_fetch_add(&job->busy[worker], 1)) /* another thread has this index */
        atomic_fetch_add(&job->wrong, 1);
    for (size_t i = begin; i < end; i++) {
        job->seen[i]++;
        if (job->stops && !((i * 2654435761u >> 7) % job->stops))
            usleep(100);
        for (volatile uint32_t spin = 0; spin < job->spin; spin++)
            ;
    }
    atomic_fetch_sub(&job->busy[worker], 1);
}

/* blocks 0: as parallel.c cuts it */
static bool run_job(struct job *job, size_t units, size_t grain, uint32_t ranges, uint32_t blocks)
{
    struct base_pool_job cut = { mark, job, units, BASE_MIN(ranges, job->threads), blocks };
    memset(job->seen, 0, sizeof(job->seen));
    if (blocks && units >= (size_t)cut.ranges * blocks)
        base_pool_run(&cut);
    else
        base_parallel_ranges(units, grain, ranges, mark, job);
    for (size_t i = 0; i < UNITS_MAX; i++)
        if (job->seen[i] != (i < units))
            return false;
    return !job->wrong;
}

static bool run_jobs(uint32_t threads, uint32_t rounds, unsigned seed)
{
    struct job *job = calloc(1, sizeof(*job));
    bool good = job;
    struct base_team before = base_parallel_enter(threads);
    for (uint32_t i = 0; good && i < rounds; i++) {
        job->threads = threads;
        job->spin = (uint32_t)rand_r(&seed) % 4 * 5;
        job->stops = rand_r(&seed) % 8 ? 0 : 500;
        size_t units = (size_t)rand_r(&seed) % (rand_r(&seed) % 2 ? UNITS_MAX : 2 * THREADS_MAX);
        good = run_job(job, units, (size_t)rand_r(&seed) % 40, 1 + (uint32_t)rand_r(&seed) % (2 * threads),
                       (uint32_t)rand_r(&seed) % 9);
    }
    base_parallel_leave(before);
    free(job);
    return good;
}

static void test_refused(void)
{
    uint32_t awake;
    atomic_store(&creations_left, INJECTS ? 0 : INT32_MAX);
    TEST(run_jobs(4, 50, 1));
    TEST(!INJECTS || !base_pool_workers(&awake));
    usleep(1100000); /* it is tried again after a second */
    atomic_store(&creations_left, INJECTS ? 2 : INT32_MAX);
    TEST(run_jobs(8, 50, 2));
    TEST(!INJECTS || base_pool_workers(&awake) == 2);
    atomic_store(&creations_left, INT32_MAX);
    usleep(1100000);
    TEST(run_jobs(8, 50, 3));
    TEST(base_pool_workers(&awake) == 7);
}

static void test_ranges(void)
{
    for (uint32_t threads = 1; threads <= THREADS_MAX; threads++)
        TEST(run_jobs(threads, 100 * SCALE, threads));
}

/* ---- nested work runs alone ---- */

static void inner(void *context, size_t begin, size_t end, unsigned worker)
{
    atomic_size_t *count = context;
    atomic_fetch_add(count, worker ? 1000000 : end - begin);
}

static void outer(void *context, size_t begin, size_t end, unsigned worker)
{
    (void)worker;
    for (size_t i = begin; i < end; i++)
        if (base_parallel_threads() == 1)
            base_parallel_for(100, 1, inner, context);
}

static void test_nested(void)
{
    atomic_size_t count = 0;
    struct base_team before = base_parallel_enter(4);
    base_parallel_for(64, 1, outer, &count);
    TEST(count == 6400 && base_parallel_threads() == 4);
    base_parallel_leave(before);
}

/* ---- many clients ---- */

struct client {
    pthread_t thread;
    uint32_t threads, rounds;
    bool good;
};

static void *client_main(void *argument)
{
    struct client *client = argument;
    client->good = run_jobs(client->threads, client->rounds, client->threads * 77 + client->rounds);
    return NULL;
}

static void run_clients(uint32_t count, uint32_t rounds)
{
    struct client *clients = calloc(count, sizeof(*clients));
    for (uint32_t i = 0; i < count; i++) {
        clients[i].threads = 1 + i % THREADS_MAX;
        clients[i].rounds = rounds + i;
        TEST(!pthread_create(&clients[i].thread, NULL, client_main, &clients[i]));
    }
    for (uint32_t i = 0; i < count; i++) {
        pthread_join(clients[i].thread, NULL);
        TEST(clients[i].good);
    }
    free(clients);
}

static void test_clients(void)
{
    run_clients(5, 200 * SCALE);
    run_clients(BASE_POOL_CLIENTS_MAX + 20, 10 * SCALE); /* more than there are slots for */
}

/* ---- threads that are stopped at random ---- */

static void stop_for_a_while(int number)
{
    static _Atomic uint32_t calls;
    int error = errno;
    (void)number;
    usleep(atomic_fetch_add(&calls, 1) % 5 * 150);
    errno = error;
}

static atomic_bool stopping;
static pid_t tids[64];
static uint32_t tid_count;

static void *stopper_main(void *argument)
{
    unsigned seed = 5;
    (void)argument;
    while (!atomic_load(&stopping)) {
        syscall(SYS_tgkill, getpid(), tids[(uint32_t)rand_r(&seed) % tid_count], SIGTRAP); /* not blocked by workers */
        usleep((useconds_t)rand_r(&seed) % 200);
    }
    return NULL;
}

static void note_tid(void *context, size_t begin, size_t end, unsigned worker)
{
    pthread_mutex_t *lock = context;
    pid_t tid = (pid_t)syscall(SYS_gettid);
    bool known = false;
    (void)begin, (void)end, (void)worker;
    pthread_mutex_lock(lock);
    for (uint32_t i = 0; i < tid_count; i++)
        known = known || tids[i] == tid;
    if (!known && tid_count < ARRAY_SIZE(tids))
        tids[tid_count++] = tid;
    pthread_mutex_unlock(lock);
    usleep(50);
}

static void note_tids(void)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct base_team before = base_parallel_enter(THREADS_SOME);
    for (uint32_t i = 0; i < 50; i++)
        base_parallel_for(64, 1, note_tid, &lock);
    base_parallel_leave(before);
    TEST(tid_count > 1);
}

__attribute__((unused)) static void test_stopped(void)
{
    struct sigaction action = { .sa_handler = stop_for_a_while, .sa_flags = SA_RESTART };
    note_tids();
    pthread_t stopper;
    sigaction(SIGTRAP, &action, NULL);
    TEST(!pthread_create(&stopper, NULL, stopper_main, NULL));
    uint64_t end = base_now_ns() + UINT64_C(2000000000);
    for (unsigned seed = 1; base_now_ns() < end; seed++)
        TEST(run_jobs(THREADS_SOME, 20, seed));
    run_clients(THREADS_SOME, 50 * SCALE);
    atomic_store(&stopping, true);
    pthread_join(stopper, NULL);
    signal(SIGTRAP, SIG_IGN); /* some may be on their way */
}

/* ---- threads that another process stops, at any instruction: a sanitizer's, too ---- */

struct outside {
    atomic_bool ends;
    atomic_uint stops;
};

/* In a child, as a debugger does. Ends, too, when its parent is gone. */
static void stop_from_outside(struct outside *shared, pid_t parent)
{
    unsigned seed = 6;
    int status;
    while (!atomic_load(&shared->ends) && getppid() == parent) {
        pid_t tid = tids[(uint32_t)rand_r(&seed) % tid_count];
        if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
            return; /* not allowed here */
        if (!ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) && waitpid(tid, &status, __WALL) == tid) {
            atomic_fetch_add(&shared->stops, 1);
            usleep((useconds_t)rand_r(&seed) % 600);
            ptrace(PTRACE_DETACH, tid, NULL, NULL);
        }
        usleep((useconds_t)rand_r(&seed) % 200);
    }
}

static void test_stopped_outside(void)
{
    struct outside *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const pid_t self = getpid();
    int status;
    TEST(shared != MAP_FAILED);
    note_tids();
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    pid_t child = fork();
    if (!child) {
        stop_from_outside(shared, self);
        _exit(0);
    }
    uint64_t end = base_now_ns() + UINT64_C(2000000000);
    for (unsigned seed = 1; base_now_ns() < end; seed++)
        TEST(run_jobs(THREADS_SOME, 20, seed));
    run_clients(THREADS_SOME, 20 * SCALE);
    atomic_store(&shared->ends, true);
    TEST(child > 0 && waitpid(child, &status, 0) == child);
    if (!atomic_load(&shared->stops))
        printf("threads are not stopped from outside: this process may not be traced\n");
    munmap(shared, sizeof(*shared));
}

/* ---- sleeping ---- */

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void test_sleep(void)
{
    uint32_t awake = 1;
    TEST(run_jobs(4, 20, 9));
    for (uint32_t i = 0; i < 100 && awake; i++) {
        usleep(20000);
        base_pool_workers(&awake);
    }
    TEST(!awake);
    double start = cpu_seconds();
    usleep(200000);
    TEST(cpu_seconds() - start < 0.02);
    TEST(run_jobs(4, 20, 10));
}

/* ---- fork ---- */

__attribute__((unused)) static void test_fork(void)
{
    struct base_team before = base_parallel_enter(THREADS_SOME); /* also between enter and leave */
    pid_t child = fork();
    if (!child) {
        uint32_t awake;
        bool good = !base_pool_workers(&awake);
        base_parallel_leave(before);
        good = run_jobs(THREADS_SOME, 200, 11) && good;
        _exit(good && base_pool_workers(&awake) == THREADS_SOME - 1 ? 0 : 1);
    }
    int status = 0;
    base_parallel_leave(before);
    TEST(run_jobs(THREADS_SOME, 100, 12));
    TEST(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
}

/* ---- how many there are ---- */

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    TEST(file && fputs(text, file) >= 0);
    if (file)
        fclose(file);
}

static uint32_t quota(const char *root, const char *groups)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/cgroup", root);
    write_file(path, groups);
    return base_cpu_quota(path, root);
}

static void test_quota(void)
{
    char root[] = "/tmp/anydml-pool-XXXXXX", path[256];
    static const char *const folders[] = { "a", "a/b", "cpu", "cpu/c" };
    static const char *const files[][2] = {
        { "a/cpu.max", "250000 100000\n" },       { "a/b/cpu.max", "max 100000\n" },
        { "cpu.max", "700000 100000\n" },         { "cpu/c/cpu.cfs_quota_us", "150000\n" },
        { "cpu/c/cpu.cfs_period_us", "50000\n" }, { "cpu/cpu.cfs_quota_us", "-1\n" },
        { "cpu/cpu.cfs_period_us", "100000\n" },
    };
    TEST(mkdtemp(root));
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        snprintf(path, sizeof(path), "%s/%s", root, folders[i]);
        TEST(!mkdir(path, 0700));
    }
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        snprintf(path, sizeof(path), "%s/%s", root, files[i][0]);
        write_file(path, files[i][1]);
    }
    TEST(quota(root, "0::/a/b\n") == 3);
    TEST(quota(root, "0::/a\n") == 3);
    TEST(quota(root, "0::/elsewhere/d\n") == 7);
    TEST(quota(root, "0::/\n") == 7);
    TEST(quota(root, "3:memory:/x\n4:cpu,cpuacct:/c\n") == 3);
    TEST(quota(root, "4:cpuset:/c\n") == UINT32_MAX);
    TEST(quota(root, "4:cpu:/\n") == UINT32_MAX);
    TEST(quota(root, "nonsense\n::\n:\n") == 7); /* the line of version 2 with nothing in it */
    TEST(base_cpu_quota("/nowhere", root) == UINT32_MAX);
    snprintf(path, sizeof(path), "rm -r %s", root);
    TEST(!system(path));
}

static void test_affinity(void)
{
    cpu_set_t before, one;
    TEST(!sched_getaffinity(0, sizeof(before), &before));
    uint32_t cores = base_cpu_cores(), count = base_cpu_count();
    TEST(cores >= 1 && cores <= count && base_parallel_threads() == cores);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    TEST(!sched_setaffinity(0, sizeof(one), &one));
    TEST(base_cpu_count() == 1 && base_cpu_cores() == 1 && base_parallel_threads() == 1);
    TEST(run_jobs(3, 50, 20));
    TEST(!sched_setaffinity(0, sizeof(before), &before));
    TEST(base_cpu_count() == count && base_cpu_cores() == cores);
}

int main(void)
{
    test_refused();
    test_quota();
    test_affinity();
    test_ranges();
    test_nested();
    test_clients();
    test_sleep();
    test_stopped_outside();
#ifndef __SANITIZE_THREAD__ /* it runs handlers of these signals inside itself, and makes no threads after a fork */
    test_stopped();
    test_fork();
#endif
    return test_result();
}
