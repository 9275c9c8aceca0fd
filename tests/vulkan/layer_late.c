/* SPDX-License-Identifier: Apache-2.0 */
/* ANYDML_LAYER_LATE=MICROSECONDS: the driver gets each submission so long after vkQueueSubmit has returned, in the same
 * order, as a GPU with other work would begin it. Results are wrong where the host overwrites what submitted commands
 * have yet to read; drivers of software often begin at once and do not show it. */
#include "layer_next.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { SEMAPHORES_MAX = 64, QUEUED_MAX = 1024 };

/* A submission as adapter/vulkan/commands.c makes them. */
struct submission {
    VkQueue queue;
    VkCommandBuffer commands;
    VkPipelineStageFlags stages[SEMAPHORES_MAX];
    VkSemaphore waits[SEMAPHORES_MAX], signals[SEMAPHORES_MAX];
    uint64_t wait_values[SEMAPHORES_MAX], signal_values[SEMAPHORES_MAX];
    VkTimelineSemaphoreSubmitInfo values;
    VkSubmitInfo info;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct submission *queued[QUEUED_MAX]; /* a ring */
static uint32_t begun, ended;                 /* numbers of submissions: that came, that the driver has */

static useconds_t delay(void)
{
    const char *wanted = getenv("ANYDML_LAYER_LATE");
    return wanted ? (useconds_t)atoi(wanted) : 0;
}

bool late_made_up(void)
{
    return delay() != 0;
}

static void *deliver(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (begun == ended)
            pthread_cond_wait(&changed, &lock);
        struct submission *s = queued[ended % QUEUED_MAX];
        pthread_mutex_unlock(&lock);
        usleep(delay());
        expect(NEXT(vkQueueSubmit)(s->queue, 1, &s->info, VK_NULL_HANDLE) == VK_SUCCESS,
               "the driver refuses a submission");
        free(s);
        pthread_mutex_lock(&lock);
        ended++;
        pthread_cond_broadcast(&changed);
    }
    return NULL;
}

static struct submission *copy(VkQueue queue, const VkSubmitInfo *info)
{
    const VkTimelineSemaphoreSubmitInfo *values = info->pNext;
    struct submission *s = calloc(1, sizeof(*s));
    expect(s, "out of memory");
    expect(values && values->sType == VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO && !values->pNext &&
               info->commandBufferCount <= 1 && info->waitSemaphoreCount <= SEMAPHORES_MAX &&
               info->signalSemaphoreCount <= SEMAPHORES_MAX,
           "a submission is another than expected");
    s->queue = queue;
    s->info = *info;
    s->values = *values;
    if (info->commandBufferCount)
        s->commands = *info->pCommandBuffers;
    for (uint32_t i = 0; i < info->waitSemaphoreCount; i++) {
        s->stages[i] = info->pWaitDstStageMask[i];
        s->waits[i] = info->pWaitSemaphores[i];
        s->wait_values[i] = values->pWaitSemaphoreValues[i];
    }
    for (uint32_t i = 0; i < info->signalSemaphoreCount; i++) {
        s->signals[i] = info->pSignalSemaphores[i];
        s->signal_values[i] = values->pSignalSemaphoreValues[i];
    }
    s->values.pWaitSemaphoreValues = s->wait_values;
    s->values.pSignalSemaphoreValues = s->signal_values;
    s->info.pNext = &s->values;
    s->info.pWaitDstStageMask = s->stages;
    s->info.pWaitSemaphores = s->waits;
    s->info.pSignalSemaphores = s->signals;
    s->info.pCommandBuffers = &s->commands;
    return s;
}

static void start(void)
{
    pthread_t thread;
    expect(!pthread_create(&thread, NULL, deliver, NULL), "no thread");
    pthread_detach(thread);
}

VkResult late_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    expect(!fence, "a submission has a fence");
    pthread_once(&once, start);
    for (uint32_t i = 0; i < count; i++) {
        struct submission *s = copy(queue, &infos[i]);
        pthread_mutex_lock(&lock);
        while (begun - ended == QUEUED_MAX)
            pthread_cond_wait(&changed, &lock);
        queued[begun++ % QUEUED_MAX] = s;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_idle(VkDevice device)
{
    pthread_mutex_lock(&lock);
    while (begun != ended)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return NEXT(vkDeviceWaitIdle)(device);
}

static const struct layer_entry made_up[] = { ENTRY("vkDeviceWaitIdle", wait_idle) };

PFN_vkVoidFunction late_find(const char *name)
{
    return LAYER_FIND(made_up, name);
}
