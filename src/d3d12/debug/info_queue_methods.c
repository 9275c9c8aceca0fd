/* SPDX-License-Identifier: Apache-2.0 */
/* ID3D12InfoQueue1, served by a face of the device. */
#include "d3d12/debug/info_queue.h"
#include "d3d12/objects.h"

#include "base/arena.h"

#define INFO_QUEUE ID3D12InfoQueue1 *iface

static struct d3d_info_queue *enter(INFO_QUEUE)
{
    struct d3d_info_queue *queue = ((struct d3d_tear_off *)iface)->device->info_queue;
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
        d3d_info_queue_drop_oldest(queue, queue->count - (uint32_t)limit);
    }
    return leave_with(queue, S_OK);
}

static void d3d_info_queue_ClearStoredMessages(INFO_QUEUE)
{
    struct d3d_info_queue *queue = enter(iface);
    d3d_info_queue_drop_oldest(queue, queue->count);
    leave(queue);
}

static HRESULT message_write(const struct d3d_stored_message *message, D3D12_MESSAGE *out, SIZE_T *bytes)
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
    return leave_with(queue, message_write(d3d_info_queue_at(queue, index), out, bytes));
}

static UINT64 d3d_info_queue_GetNumStoredMessagesAllowedByRetrievalFilter(INFO_QUEUE)
{
    struct d3d_info_queue *queue = enter(iface);
    UINT64 count = 0;
    while (d3d_info_queue_at(queue, count))
        count++;
    leave(queue);
    return count;
}

/* ---- methods that differ in the field they access: info_queue_methods.def ---- */

#define READ(method, type, field)                                                                                      \
    static type d3d_info_queue_##method(INFO_QUEUE)                                                                    \
    {                                                                                                                  \
        struct d3d_info_queue *queue = enter(iface);                                                                   \
        type value = (type)queue->field;                                                                               \
        leave(queue);                                                                                                  \
        return value;                                                                                                  \
    }
#define FILTER(method, stack, call)                                                                                    \
    static HRESULT d3d_info_queue_##method(INFO_QUEUE, D3D12_INFO_QUEUE_FILTER *filter)                                \
    {                                                                                                                  \
        struct d3d_info_queue *queue = enter(iface);                                                                   \
        return leave_with(queue, d3d_filter_stack_##call(&queue->stack, filter));                                      \
    }
#define FILTER_GET(method, stack)                                                                                      \
    static HRESULT d3d_info_queue_##method(INFO_QUEUE, D3D12_INFO_QUEUE_FILTER *filter, SIZE_T *bytes)                 \
    {                                                                                                                  \
        struct d3d_info_queue *queue = enter(iface);                                                                   \
        return leave_with(queue, d3d_filter_stack_get(&queue->stack, filter, bytes));                                  \
    }
#define FILTER_PUSH(method, stack, call)                                                                               \
    static HRESULT d3d_info_queue_##method(INFO_QUEUE)                                                                 \
    {                                                                                                                  \
        struct d3d_info_queue *queue = enter(iface);                                                                   \
        return leave_with(queue, d3d_filter_stack_##call(&queue->stack));                                              \
    }
#define FILTER_DROP(method, stack, call)                                                                               \
    static void d3d_info_queue_##method(INFO_QUEUE)                                                                    \
    {                                                                                                                  \
        struct d3d_info_queue *queue = enter(iface);                                                                   \
        d3d_filter_stack_##call(&queue->stack);                                                                        \
        leave(queue);                                                                                                  \
    }
/* The break flags are stored; they never stop a program. */
#define BREAK_SET(method, type, flags)                                                                                 \
    static HRESULT d3d_info_queue_##method(INFO_QUEUE, type which, BOOL enable)                                        \
    {                                                                                                                  \
        struct d3d_info_queue *queue = enter(iface);                                                                   \
        bool known = (unsigned)which < ARRAY_SIZE(queue->flags);                                                       \
        if (known)                                                                                                     \
            queue->flags[which] = enable;                                                                              \
        return leave_with(queue, known ? S_OK : E_INVALIDARG);                                                         \
    }
#define BREAK_GET(method, type, flags)                                                                                 \
    static BOOL d3d_info_queue_##method(INFO_QUEUE, type which)                                                        \
    {                                                                                                                  \
        struct d3d_info_queue *queue = enter(iface);                                                                   \
        BOOL enabled = (unsigned)which < ARRAY_SIZE(queue->flags) && queue->flags[which];                              \
        leave(queue);                                                                                                  \
        return enabled;                                                                                                \
    }
#include "d3d12/debug/info_queue_methods.def"
#undef READ
#undef FILTER
#undef FILTER_GET
#undef FILTER_PUSH
#undef FILTER_DROP
#undef BREAK_SET
#undef BREAK_GET

/* ---- messages, breaks on message numbers, callbacks ---- */

static HRESULT d3d_info_queue_AddMessage(INFO_QUEUE, D3D12_MESSAGE_CATEGORY category, D3D12_MESSAGE_SEVERITY severity,
                                         D3D12_MESSAGE_ID id, LPCSTR text)
{
    if (!text || (unsigned)severity > D3D12_MESSAGE_SEVERITY_MESSAGE ||
        (unsigned)category > D3D12_MESSAGE_CATEGORY_SHADER)
        return E_INVALIDARG;
    d3d_message(((struct d3d_tear_off *)iface)->device, severity, category, id, text);
    return S_OK;
}

static HRESULT d3d_info_queue_AddApplicationMessage(INFO_QUEUE, D3D12_MESSAGE_SEVERITY severity, LPCSTR text)
{
    return d3d_info_queue_AddMessage(iface, D3D12_MESSAGE_CATEGORY_APPLICATION_DEFINED, severity,
                                     D3D12_MESSAGE_ID_STRING_FROM_APPLICATION, text);
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
        (struct d3d_message_callback){ function, context, *cookie, flags & D3D12_MESSAGE_CALLBACK_IGNORE_FILTERS };
    return leave_with(queue, S_OK);
}

static HRESULT d3d_info_queue_UnregisterMessageCallback(INFO_QUEUE, DWORD cookie)
{
    struct d3d_info_queue *queue = enter(iface);
    for (uint32_t i = 0; i < queue->callback_count; i++) {
        if (queue->callbacks[i].cookie != cookie)
            continue;
        queue->callback_count--;
        memmove(queue->callbacks + i, queue->callbacks + i + 1,
                (queue->callback_count - i) * sizeof(struct d3d_message_callback));
        return leave_with(queue, S_OK);
    }
    return leave_with(queue, E_INVALIDARG);
}

const ID3D12InfoQueue1Vtbl d3d_info_queue_vtbl = {
    D3D_TEAR_OFF_METHODS,
#define READ(method, ...)        .method = d3d_info_queue_##method,
#define FILTER(method, ...)      .method = d3d_info_queue_##method,
#define FILTER_GET(method, ...)  .method = d3d_info_queue_##method,
#define FILTER_PUSH(method, ...) .method = d3d_info_queue_##method,
#define FILTER_DROP(method, ...) .method = d3d_info_queue_##method,
#define BREAK_SET(method, ...)   .method = d3d_info_queue_##method,
#define BREAK_GET(method, ...)   .method = d3d_info_queue_##method,
#include "d3d12/debug/info_queue_methods.def"
    .SetMessageCountLimit = d3d_info_queue_SetMessageCountLimit,
    .ClearStoredMessages = d3d_info_queue_ClearStoredMessages,
    .GetMessage = d3d_info_queue_GetMessage,
    .GetNumStoredMessagesAllowedByRetrievalFilter = d3d_info_queue_GetNumStoredMessagesAllowedByRetrievalFilter,
    .AddMessage = d3d_info_queue_AddMessage,
    .AddApplicationMessage = d3d_info_queue_AddApplicationMessage,
    .SetBreakOnID = d3d_info_queue_SetBreakOnID,
    .GetBreakOnID = d3d_info_queue_GetBreakOnID,
    .SetMuteDebugOutput = d3d_info_queue_SetMuteDebugOutput,
    .RegisterMessageCallback = d3d_info_queue_RegisterMessageCallback,
    .UnregisterMessageCallback = d3d_info_queue_UnregisterMessageCallback,
};
