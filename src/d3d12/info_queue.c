/* ID3D12InfoQueue1: messages stored by filters, and callbacks on the thread that emits. */
#include "d3d12/info_filter.h"
#include "d3d12/objects.h"

#include "base/arena.h"

#include <stdlib.h>

#define SEVERITIES 5
#define CATEGORIES 11

struct message {
    D3D12_MESSAGE_CATEGORY category;
    D3D12_MESSAGE_SEVERITY severity;
    D3D12_MESSAGE_ID id;
    char text[];
};

struct callback {
    D3D12MessageFunc function;
    void *context;
    DWORD cookie;
    bool unfiltered;
};

struct d3d_info_queue {
    pthread_mutex_t lock;      /* everything */
    struct message **messages; /* oldest first */
    uint32_t count, capacity;
    UINT64 limit, allowed, denied, discarded;
    struct d3d_filter_stack storage, retrieval;
    struct callback *callbacks;
    uint32_t callback_count, callback_capacity;
    DWORD last_cookie;
    bool break_severity[SEVERITIES], break_category[CATEGORIES], muted;
    struct d3d_filter_list break_ids;
};

struct d3d_info_queue *d3d_info_queue_create(void)
{
    struct d3d_info_queue *queue = calloc(1, sizeof(*queue));
    if (!queue)
        return NULL;
    pthread_mutex_init(&queue->lock, NULL);
    queue->limit = D3D12_INFO_QUEUE_DEFAULT_MESSAGE_COUNT_LIMIT;
    return queue;
}

/* Under the lock. */
static void drop_oldest(struct d3d_info_queue *queue, uint32_t count)
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
    drop_oldest(queue, queue->count);
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
static void store(struct d3d_info_queue *queue, const struct message *like, const char *text)
{
    size_t length = strlen(text) + 1;
    if (!queue->limit)
        queue->discarded++;
    if (!queue->limit ||
        !base_array_reserve((void **)&queue->messages, queue->count, &queue->capacity, sizeof(*queue->messages)))
        return;
    struct message *message = malloc(sizeof(*message) + length);
    if (!message)
        return;
    *message = *like;
    memcpy(message->text, text, length);
    if (queue->count >= queue->limit) {
        queue->discarded++;
        drop_oldest(queue, 1);
    }
    queue->messages[queue->count++] = message;
}

/* The callback numbered `index` as it is now; false: there are no more. */
static bool callback_at(struct d3d_info_queue *queue, uint32_t index, struct callback *out)
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
    const struct message like = { category, severity, id };
    struct callback callback;
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

/* ---- methods ---- */

#define INFO_QUEUE ID3D12InfoQueue1 *iface

static struct d3d_info_queue *enter(INFO_QUEUE)
{
    struct d3d_info_queue *queue = ((struct d3d_face *)iface)->device->info_queue;
    pthread_mutex_lock(&queue->lock);
    return queue;
}

static void leave(struct d3d_info_queue *queue)
{
    pthread_mutex_unlock(&queue->lock);
}

static HRESULT leave_with(struct d3d_info_queue *queue, HRESULT hr)
{
    pthread_mutex_unlock(&queue->lock);
    return hr;
}

static HRESULT d3d_info_queue_SetMessageCountLimit(INFO_QUEUE, UINT64 limit)
{
    struct d3d_info_queue *queue = enter(iface);
    queue->limit = limit;
    if (queue->count > limit) {
        queue->discarded += queue->count - limit;
        drop_oldest(queue, queue->count - (uint32_t)limit);
    }
    return leave_with(queue, S_OK);
}

static void d3d_info_queue_ClearStoredMessages(INFO_QUEUE)
{
    struct d3d_info_queue *queue = enter(iface);
    drop_oldest(queue, queue->count);
    leave(queue);
}

/* Under the lock. The index counts what the retrieval filter lets through. */
static const struct message *message_at(const struct d3d_info_queue *queue, UINT64 index)
{
    for (uint32_t i = 0; i < queue->count; i++) {
        const struct message *message = queue->messages[i];
        if (d3d_filter_stack_passes(&queue->retrieval, message->category, message->severity, message->id) && !index--)
            return message;
    }
    return NULL;
}

static HRESULT message_write(const struct message *message, D3D12_MESSAGE *out, SIZE_T *bytes)
{
    if (!message || !bytes)
        return E_INVALIDARG;
    SIZE_T length = strlen(message->text) + 1, room = *bytes;
    *bytes = sizeof(*out) + length;
    if (!out)
        return S_FALSE;
    if (room < *bytes)
        return E_INVALIDARG;
    memcpy(out + 1, message->text, length);
    *out = (D3D12_MESSAGE){ message->category, message->severity, message->id, (const char *)(out + 1), length };
    return S_OK;
}

static HRESULT d3d_info_queue_GetMessage(INFO_QUEUE, UINT64 index, D3D12_MESSAGE *out, SIZE_T *bytes)
{
    struct d3d_info_queue *queue = enter(iface);
    return leave_with(queue, message_write(message_at(queue, index), out, bytes));
}

static UINT64 d3d_info_queue_GetNumMessagesAllowedByStorageFilter(INFO_QUEUE)
{
    struct d3d_info_queue *queue = enter(iface);
    UINT64 count = queue->allowed;
    leave(queue);
    return count;
}

static UINT64 d3d_info_queue_GetNumMessagesDeniedByStorageFilter(INFO_QUEUE)
{
    struct d3d_info_queue *queue = enter(iface);
    UINT64 count = queue->denied;
    leave(queue);
    return count;
}

static UINT64 d3d_info_queue_GetNumStoredMessages(INFO_QUEUE)
{
    struct d3d_info_queue *queue = enter(iface);
    UINT64 count = queue->count;
    leave(queue);
    return count;
}

static UINT64 d3d_info_queue_GetNumStoredMessagesAllowedByRetrievalFilter(INFO_QUEUE)
{
    struct d3d_info_queue *queue = enter(iface);
    UINT64 count = 0;
    while (message_at(queue, count))
        count++;
    leave(queue);
    return count;
}

static UINT64 d3d_info_queue_GetNumMessagesDiscardedByMessageCountLimit(INFO_QUEUE)
{
    struct d3d_info_queue *queue = enter(iface);
    UINT64 count = queue->discarded;
    leave(queue);
    return count;
}

static UINT64 d3d_info_queue_GetMessageCountLimit(INFO_QUEUE)
{
    struct d3d_info_queue *queue = enter(iface);
    UINT64 limit = queue->limit;
    leave(queue);
    return limit;
}

static HRESULT d3d_info_queue_AddStorageFilterEntries(INFO_QUEUE, D3D12_INFO_QUEUE_FILTER *filter)
{
    struct d3d_info_queue *queue = enter(iface);
    return leave_with(queue, d3d_filter_stack_add(&queue->storage, filter));
}

static HRESULT d3d_info_queue_GetStorageFilter(INFO_QUEUE, D3D12_INFO_QUEUE_FILTER *filter, SIZE_T *bytes)
{
    struct d3d_info_queue *queue = enter(iface);
    return leave_with(queue, d3d_filter_stack_get(&queue->storage, filter, bytes));
}

static void d3d_info_queue_ClearStorageFilter(INFO_QUEUE)
{
    struct d3d_info_queue *queue = enter(iface);
    d3d_filter_stack_clear(&queue->storage);
    leave(queue);
}

static HRESULT d3d_info_queue_PushEmptyStorageFilter(INFO_QUEUE)
{
    struct d3d_info_queue *queue = enter(iface);
    return leave_with(queue, d3d_filter_stack_push_empty(&queue->storage));
}

static HRESULT d3d_info_queue_PushCopyOfStorageFilter(INFO_QUEUE)
{
    struct d3d_info_queue *queue = enter(iface);
    return leave_with(queue, d3d_filter_stack_push_copy(&queue->storage));
}

static HRESULT d3d_info_queue_PushStorageFilter(INFO_QUEUE, D3D12_INFO_QUEUE_FILTER *filter)
{
    struct d3d_info_queue *queue = enter(iface);
    return leave_with(queue, d3d_filter_stack_push(&queue->storage, filter));
}

static void d3d_info_queue_PopStorageFilter(INFO_QUEUE)
{
    struct d3d_info_queue *queue = enter(iface);
    d3d_filter_stack_pop(&queue->storage);
    leave(queue);
}

static UINT d3d_info_queue_GetStorageFilterStackSize(INFO_QUEUE)
{
    struct d3d_info_queue *queue = enter(iface);
    UINT count = queue->storage.count;
    leave(queue);
    return count;
}

static HRESULT d3d_info_queue_AddRetrievalFilterEntries(INFO_QUEUE, D3D12_INFO_QUEUE_FILTER *filter)
{
    struct d3d_info_queue *queue = enter(iface);
    return leave_with(queue, d3d_filter_stack_add(&queue->retrieval, filter));
}

static HRESULT d3d_info_queue_GetRetrievalFilter(INFO_QUEUE, D3D12_INFO_QUEUE_FILTER *filter, SIZE_T *bytes)
{
    struct d3d_info_queue *queue = enter(iface);
    return leave_with(queue, d3d_filter_stack_get(&queue->retrieval, filter, bytes));
}

static void d3d_info_queue_ClearRetrievalFilter(INFO_QUEUE)
{
    struct d3d_info_queue *queue = enter(iface);
    d3d_filter_stack_clear(&queue->retrieval);
    leave(queue);
}

static HRESULT d3d_info_queue_PushEmptyRetrievalFilter(INFO_QUEUE)
{
    struct d3d_info_queue *queue = enter(iface);
    return leave_with(queue, d3d_filter_stack_push_empty(&queue->retrieval));
}

static HRESULT d3d_info_queue_PushCopyOfRetrievalFilter(INFO_QUEUE)
{
    struct d3d_info_queue *queue = enter(iface);
    return leave_with(queue, d3d_filter_stack_push_copy(&queue->retrieval));
}

static HRESULT d3d_info_queue_PushRetrievalFilter(INFO_QUEUE, D3D12_INFO_QUEUE_FILTER *filter)
{
    struct d3d_info_queue *queue = enter(iface);
    return leave_with(queue, d3d_filter_stack_push(&queue->retrieval, filter));
}

static void d3d_info_queue_PopRetrievalFilter(INFO_QUEUE)
{
    struct d3d_info_queue *queue = enter(iface);
    d3d_filter_stack_pop(&queue->retrieval);
    leave(queue);
}

static UINT d3d_info_queue_GetRetrievalFilterStackSize(INFO_QUEUE)
{
    struct d3d_info_queue *queue = enter(iface);
    UINT count = queue->retrieval.count;
    leave(queue);
    return count;
}

static HRESULT d3d_info_queue_AddMessage(INFO_QUEUE, D3D12_MESSAGE_CATEGORY category, D3D12_MESSAGE_SEVERITY severity,
                                         D3D12_MESSAGE_ID id, LPCSTR text)
{
    if (!text || (unsigned)severity >= SEVERITIES || (unsigned)category >= CATEGORIES)
        return E_INVALIDARG;
    d3d_message(((struct d3d_face *)iface)->device, severity, category, id, text);
    return S_OK;
}

static HRESULT d3d_info_queue_AddApplicationMessage(INFO_QUEUE, D3D12_MESSAGE_SEVERITY severity, LPCSTR text)
{
    return d3d_info_queue_AddMessage(iface, D3D12_MESSAGE_CATEGORY_APPLICATION_DEFINED, severity,
                                     D3D12_MESSAGE_ID_STRING_FROM_APPLICATION, text);
}

/* The three break flags are stored; nothing ever stops a program here. */
static HRESULT d3d_info_queue_SetBreakOnCategory(INFO_QUEUE, D3D12_MESSAGE_CATEGORY category, BOOL enable)
{
    if ((unsigned)category >= CATEGORIES)
        return E_INVALIDARG;
    struct d3d_info_queue *queue = enter(iface);
    queue->break_category[category] = enable;
    return leave_with(queue, S_OK);
}

static HRESULT d3d_info_queue_SetBreakOnSeverity(INFO_QUEUE, D3D12_MESSAGE_SEVERITY severity, BOOL enable)
{
    if ((unsigned)severity >= SEVERITIES)
        return E_INVALIDARG;
    struct d3d_info_queue *queue = enter(iface);
    queue->break_severity[severity] = enable;
    return leave_with(queue, S_OK);
}

/* Under the lock: the position of id, or the count. */
static uint32_t break_id_find(const struct d3d_info_queue *queue, D3D12_MESSAGE_ID id)
{
    uint32_t at = 0;
    while (at < queue->break_ids.count && queue->break_ids.values[at] != (int)id)
        at++;
    return at;
}

static HRESULT d3d_info_queue_SetBreakOnID(INFO_QUEUE, D3D12_MESSAGE_ID id, BOOL enable)
{
    struct d3d_info_queue *queue = enter(iface);
    struct d3d_filter_list *ids = &queue->break_ids;
    uint32_t at = break_id_find(queue, id);
    if (!enable && at < ids->count)
        ids->values[at] = ids->values[--ids->count];
    if (!enable || at < ids->count)
        return leave_with(queue, S_OK);
    if (!base_array_reserve((void **)&ids->values, ids->count, &ids->capacity, sizeof(*ids->values)))
        return leave_with(queue, E_OUTOFMEMORY);
    ids->values[ids->count++] = (int)id;
    return leave_with(queue, S_OK);
}

static BOOL d3d_info_queue_GetBreakOnCategory(INFO_QUEUE, D3D12_MESSAGE_CATEGORY category)
{
    struct d3d_info_queue *queue = enter(iface);
    BOOL enabled = (unsigned)category < CATEGORIES && queue->break_category[category];
    leave(queue);
    return enabled;
}

static BOOL d3d_info_queue_GetBreakOnSeverity(INFO_QUEUE, D3D12_MESSAGE_SEVERITY severity)
{
    struct d3d_info_queue *queue = enter(iface);
    BOOL enabled = (unsigned)severity < SEVERITIES && queue->break_severity[severity];
    leave(queue);
    return enabled;
}

static BOOL d3d_info_queue_GetBreakOnID(INFO_QUEUE, D3D12_MESSAGE_ID id)
{
    struct d3d_info_queue *queue = enter(iface);
    BOOL enabled = break_id_find(queue, id) < queue->break_ids.count;
    leave(queue);
    return enabled;
}

static void d3d_info_queue_SetMuteDebugOutput(INFO_QUEUE, BOOL mute)
{
    struct d3d_info_queue *queue = enter(iface);
    queue->muted = mute;
    leave(queue);
}

static BOOL d3d_info_queue_GetMuteDebugOutput(INFO_QUEUE)
{
    return d3d_info_queue_muted(((struct d3d_face *)iface)->device->info_queue);
}

static HRESULT d3d_info_queue_RegisterMessageCallback(INFO_QUEUE, D3D12MessageFunc function,
                                                      D3D12_MESSAGE_CALLBACK_FLAGS flags, void *context, DWORD *cookie)
{
    if (!function || !cookie || (unsigned)flags > D3D12_MESSAGE_CALLBACK_IGNORE_FILTERS)
        return E_INVALIDARG;
    *cookie = 0;
    struct d3d_info_queue *queue = enter(iface);
    if (!base_array_reserve((void **)&queue->callbacks, queue->callback_count, &queue->callback_capacity,
                            sizeof(*queue->callbacks)))
        return leave_with(queue, E_OUTOFMEMORY);
    *cookie = ++queue->last_cookie;
    queue->callbacks[queue->callback_count++] =
        (struct callback){ function, context, *cookie, flags & D3D12_MESSAGE_CALLBACK_IGNORE_FILTERS };
    return leave_with(queue, S_OK);
}

static HRESULT d3d_info_queue_UnregisterMessageCallback(INFO_QUEUE, DWORD cookie)
{
    struct d3d_info_queue *queue = enter(iface);
    for (uint32_t i = 0; i < queue->callback_count; i++) {
        if (queue->callbacks[i].cookie != cookie)
            continue;
        queue->callback_count--;
        memmove(queue->callbacks + i, queue->callbacks + i + 1, (queue->callback_count - i) * sizeof(struct callback));
        return leave_with(queue, S_OK);
    }
    return leave_with(queue, E_INVALIDARG);
}

const ID3D12InfoQueue1Vtbl d3d_info_queue_vtbl = {
    D3D_FACE_METHODS,
    .SetMessageCountLimit = d3d_info_queue_SetMessageCountLimit,
    .ClearStoredMessages = d3d_info_queue_ClearStoredMessages,
    .GetMessage = d3d_info_queue_GetMessage,
    .GetNumMessagesAllowedByStorageFilter = d3d_info_queue_GetNumMessagesAllowedByStorageFilter,
    .GetNumMessagesDeniedByStorageFilter = d3d_info_queue_GetNumMessagesDeniedByStorageFilter,
    .GetNumStoredMessages = d3d_info_queue_GetNumStoredMessages,
    .GetNumStoredMessagesAllowedByRetrievalFilter = d3d_info_queue_GetNumStoredMessagesAllowedByRetrievalFilter,
    .GetNumMessagesDiscardedByMessageCountLimit = d3d_info_queue_GetNumMessagesDiscardedByMessageCountLimit,
    .GetMessageCountLimit = d3d_info_queue_GetMessageCountLimit,
    .AddStorageFilterEntries = d3d_info_queue_AddStorageFilterEntries,
    .GetStorageFilter = d3d_info_queue_GetStorageFilter,
    .ClearStorageFilter = d3d_info_queue_ClearStorageFilter,
    .PushEmptyStorageFilter = d3d_info_queue_PushEmptyStorageFilter,
    .PushCopyOfStorageFilter = d3d_info_queue_PushCopyOfStorageFilter,
    .PushStorageFilter = d3d_info_queue_PushStorageFilter,
    .PopStorageFilter = d3d_info_queue_PopStorageFilter,
    .GetStorageFilterStackSize = d3d_info_queue_GetStorageFilterStackSize,
    .AddRetrievalFilterEntries = d3d_info_queue_AddRetrievalFilterEntries,
    .GetRetrievalFilter = d3d_info_queue_GetRetrievalFilter,
    .ClearRetrievalFilter = d3d_info_queue_ClearRetrievalFilter,
    .PushEmptyRetrievalFilter = d3d_info_queue_PushEmptyRetrievalFilter,
    .PushCopyOfRetrievalFilter = d3d_info_queue_PushCopyOfRetrievalFilter,
    .PushRetrievalFilter = d3d_info_queue_PushRetrievalFilter,
    .PopRetrievalFilter = d3d_info_queue_PopRetrievalFilter,
    .GetRetrievalFilterStackSize = d3d_info_queue_GetRetrievalFilterStackSize,
    .AddMessage = d3d_info_queue_AddMessage,
    .AddApplicationMessage = d3d_info_queue_AddApplicationMessage,
    .SetBreakOnCategory = d3d_info_queue_SetBreakOnCategory,
    .SetBreakOnSeverity = d3d_info_queue_SetBreakOnSeverity,
    .SetBreakOnID = d3d_info_queue_SetBreakOnID,
    .GetBreakOnCategory = d3d_info_queue_GetBreakOnCategory,
    .GetBreakOnSeverity = d3d_info_queue_GetBreakOnSeverity,
    .GetBreakOnID = d3d_info_queue_GetBreakOnID,
    .SetMuteDebugOutput = d3d_info_queue_SetMuteDebugOutput,
    .GetMuteDebugOutput = d3d_info_queue_GetMuteDebugOutput,
    .RegisterMessageCallback = d3d_info_queue_RegisterMessageCallback,
    .UnregisterMessageCallback = d3d_info_queue_UnregisterMessageCallback,
};
