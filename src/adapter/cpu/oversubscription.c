/* SPDX-License-Identifier: Apache-2.0 */
/* What OpenMP's barriers do while other programs want the processors. They spin for milliseconds before they sleep,
 * which is right while each thread has a processor: waking costs more than most steps take. Where it has not, whoever
 * spins keeps the thread that he waits for from running. libgomp reads its settings once, when it is loaded, but spins
 * only for a moment while there are more threads in its teams than processors: so a team that sleeps is made, for a
 * while. */
#define _GNU_SOURCE
#include "adapter/cpu/cpu.h"

#include "base/base.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/parallel.h"

#include <dirent.h>
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MS          UINT64_C(1000000)
#define WINDOW      (100 * MS)
#define WINDOWS     2    /* one after the other */
#define SHARE       2    /* a half of the time: on idle processors threads wait for a tenth of it at most */
#define REST_MIN    1000 /* ms */
#define REST_MAX    16000
#define SLEEPERS    16 /* of a team; with more processors than this to spare there is no oversubscription */
#define STACK_BYTES (256 * 1024)

bool cpu_oversubscription_judge(struct cpu_oversubscription *load, uint64_t now_ns, uint64_t waited_ns)
{
    uint64_t elapsed = now_ns - load->since_ns, before = load->waited_ns;
    bool known = load->since_ns != 0;
    if (known && elapsed < WINDOW)
        return false;
    load->since_ns = now_ns;
    load->waited_ns = waited_ns;
    if (!known)
        return false;
    if (waited_ns < before || (waited_ns - before) * SHARE < elapsed) { /* threads that ended take theirs along */
        load->windows = load->rest_ms = 0;
        return false;
    }
    if (++load->windows < WINDOWS) /* something short */
        return false;
    load->rest_ms = BASE_MIN(BASE_MAX(2 * load->rest_ms, REST_MIN), REST_MAX);
    return true;
}

/* How long the process's threads could have run, but had no processor; 0 where Linux does not say. */
static uint64_t waited(void)
{
    uint64_t sum = 0;
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *entry; threads && (entry = readdir(threads));) {
        char path[sizeof(entry->d_name) + 16], text[96];
        snprintf(path, sizeof(path), "%s/schedstat", entry->d_name);
        int file = openat(dirfd(threads), path, O_RDONLY | O_CLOEXEC);
        ssize_t length = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
        if (file >= 0)
            close(file);
        text[BASE_MAX(length, 0)] = '\0';
        const char *second = strchr(text, ' '); /* running, waiting, slices */
        sum += second ? strtoull(second, NULL, 10) : 0;
    }
    if (threads)
        closedir(threads);
    return sum;
}

static atomic_bool resting;

struct rest {
    int threads;
    uint32_t ms;
};

static void *rest_main(void *context)
{
    struct rest rest = *(struct rest *)context;
    struct timespec time = { rest.ms / 1000, rest.ms % 1000 * (long)MS };
    free(context);
    uint32_t threads = base_parallel_grant((uint32_t)rest.threads);
#pragma omp parallel num_threads(threads)
    __asm__ volatile("" ::: "memory"); /* an empty region would make no team */
    nanosleep(&time, NULL);
    atomic_store(&resting, false);
    return NULL; /* its team ends with a thread */
}

bool cpu_oversubscription_rest(uint32_t threads, uint32_t ms)
{
    int sleepers = omp_get_num_procs() + 2 - (int)threads;
    struct rest *rest = sleepers <= SLEEPERS ? malloc(sizeof(*rest)) : NULL;
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    if (!rest)
        return false;
    *rest = (struct rest){ BASE_MAX(sleepers, 2), ms };
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    atomic_store(&resting, true);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool made = !pthread_create(&thread, &attributes, rest_main, rest);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (!made) {
        atomic_store(&resting, false);
        free(rest);
    }
    return made;
}

void cpu_oversubscription_look(uint32_t threads)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct cpu_oversubscription load;
    static _Atomic uint64_t next;
    uint64_t now = base_now_ns();
    if (now < atomic_load_explicit(&next, memory_order_relaxed) || atomic_load(&resting) ||
        pthread_mutex_trylock(&lock))
        return;
    atomic_store_explicit(&next, now + WINDOW, memory_order_relaxed);
    if (cpu_oversubscription_judge(&load, now, waited())) {
        base_log(BASE_LOG_DEBUG, "cpu: others want the processors: barriers sleep for %u ms", load.rest_ms);
        cpu_oversubscription_rest(threads, load.rest_ms);
        load.since_ns = 0; /* what follows the rest counts */
    }
    pthread_mutex_unlock(&lock);
}
