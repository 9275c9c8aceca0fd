/* SPDX-License-Identifier: Apache-2.0 */
/* Messages stored by filters, and callbacks on the thread that emits. */
#include "d3d12/debug/info_queue.h"
#include "d3d12/objects.h"

#include "base/arena.h"

#include <stdlib.h>

struct d3d_info_queue *d3d_info_queue_create(void)
{
    struct d3d_info_queue *queue = calloc(1, sizeof(*queue));
    if (!queue)
        return NULL;
    pthread_mutex_init(&queue->lock, NULL);
    queue->limit = D3D12_INFO_QUEUE_DEFAULT_MESSAGE_COUNT_LIMIT;
    return queue;
}

void d3d_info_queue_drop_oldest(struct d3d_info_queue *queue, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free(queue->messages[i]);
    queue->count -= count;
    if (queue->count)
        memmove(queue->messages, queue->messages + count, queue->count * sizeof(*queue->messages));
}

void d3d_info_queue_destroy(struct d3d_info_queue *queue)
{
    if (!queue)
        return;
    d3d_info_queue_drop_oldest(queue, queue->count);
    d3d_filter_stack_finish(&queue->storage);
    d3d_filter_stack_finish(&queue->retrieval);
    free(queue->messages);
    free(queue->callbacks);
    free(queue->break_ids.values);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

/* ---- emitting ---- */

/* Under the lock. Messages beyond the limit push out the oldest. */
static void store(struct d3d_info_queue *queue, const struct d3d_stored_message *like, const char *text)
{
    size_t length = strlen(text) + 1;
    if (!queue->limit)
        queue->discarded++;
    if (!queue->limit ||
        !base_array_reserve((void **)&queue->messages, queue->count, &queue->capacity, sizeof(*queue->messages)))
        return;
    struct d3d_stored_message *message = malloc(sizeof(*message) + length);
    if (!message)
        return;
    *message = *like;
    memcpy(message->text, text, length);
    if (queue->count >= queue->limit) {
        queue->discarded++;
        d3d_info_queue_drop_oldest(queue, 1);
    }
    queue->messages[queue->count++] = message;
}

/* The current callback at `index`; false: past the last. */
static bool callback_at(struct d3d_info_queue *queue, uint32_t index, struct d3d_message_callback *out)
{
    pthread_mutex_lock(&queue->lock);
    bool there = index < queue->callback_count;
    if (there)
        *out = queue->callbacks[index];
    pthread_mutex_unlock(&queue->lock);
    return there;
}

void d3d_info_queue_add(struct d3d_info_queue *queue, D3D12_MESSAGE_CATEGORY category, D3D12_MESSAGE_SEVERITY severity,
                        D3D12_MESSAGE_ID id, const char *text)
{
    const struct d3d_stored_message like = { category, severity, id };
    struct d3d_message_callback callback;
    pthread_mutex_lock(&queue->lock);
    bool passes = d3d_filter_stack_passes(&queue->storage, category, severity, id);
    if (passes) {
        queue->allowed++;
        store(queue, &like, text);
    } else {
        queue->denied++;
    }
    pthread_mutex_unlock(&queue->lock);
    for (uint32_t i = 0; callback_at(queue, i, &callback); i++) { /* not locked: the callback may use the queue */
        if (passes || callback.unfiltered)
            callback.function(category, severity, id, text, callback.context);
    }
}

bool d3d_info_queue_muted(struct d3d_info_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    bool muted = queue->muted;
    pthread_mutex_unlock(&queue->lock);
    return muted;
}

const struct d3d_stored_message *d3d_info_queue_at(const struct d3d_info_queue *queue, UINT64 index)
{
    for (uint32_t i = 0; i < queue->count; i++) {
        const struct d3d_stored_message *message = queue->messages[i];
        if (d3d_filter_stack_passes(&queue->retrieval, message->category, message->severity, message->id) && !index--)
            return message;
    }
    return NULL;
}
