/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/progress.h"

#include "tools/text.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#define PROGRESS_QUIET_MS 2000
#define PROGRESS_STEP_MS  200

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t stop;
    pthread_t thread;
    bool running, stopping, shown;
    const char *phase;
    unsigned done, total;
    double start;
} progress = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static void progress_print(void)
{
    double seconds = (tools_now_ms() - progress.start) / 1e3;
    if (progress.total > 1)
        fprintf(stderr, "\r\033[K%s %u of %u, %.1f s", progress.phase, progress.done + 1, progress.total, seconds);
    else if (progress.done)
        fprintf(stderr, "\r\033[K%s %u, %.1f s, %.1f per second", progress.phase, progress.done, seconds,
                progress.done / seconds);
    else
        fprintf(stderr, "\r\033[K%s, %.1f s", progress.phase, seconds);
    fflush(stderr);
    progress.shown = true;
}

static void *progress_thread(void *context)
{
    (void)context;
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    pthread_mutex_lock(&progress.mutex);
    while (!progress.stopping) {
        at.tv_nsec += PROGRESS_STEP_MS * 1000000L;
        at.tv_sec += at.tv_nsec / 1000000000L;
        at.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&progress.stop, &progress.mutex, &at);
        if (!progress.stopping && tools_now_ms() - progress.start >= PROGRESS_QUIET_MS)
            progress_print();
    }
    pthread_mutex_unlock(&progress.mutex);
    return NULL;
}

void tools_progress(const char *phase)
{
    if (!progress.running && !isatty(STDERR_FILENO))
        return;
    pthread_mutex_lock(&progress.mutex);
    progress.phase = phase;
    progress.done = progress.total = 0;
    pthread_mutex_unlock(&progress.mutex);
    if (progress.running)
        return;
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&progress.stop, &clock);
    pthread_condattr_destroy(&clock);
    progress.start = tools_now_ms();
    progress.stopping = progress.shown = false;
    progress.running = pthread_create(&progress.thread, NULL, progress_thread, NULL) == 0;
}

void tools_progress_count(unsigned done, unsigned total)
{
    if (!progress.running)
        return;
    pthread_mutex_lock(&progress.mutex);
    progress.done = done;
    progress.total = total;
    pthread_mutex_unlock(&progress.mutex);
}

void tools_progress_stop(void)
{
    if (!progress.running)
        return;
    pthread_mutex_lock(&progress.mutex);
    progress.stopping = true;
    pthread_cond_signal(&progress.stop);
    pthread_mutex_unlock(&progress.mutex);
    pthread_join(progress.thread, NULL);
    pthread_cond_destroy(&progress.stop);
    if (progress.shown)
        fprintf(stderr, "\r\033[K");
    progress.running = false;
}
