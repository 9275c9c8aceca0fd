/* SPDX-License-Identifier: Apache-2.0 */
/* The state of an info queue, shared by info_queue.c and the interface in info_queue_methods.c. */
#ifndef D3D12_INFO_QUEUE_H
#define D3D12_INFO_QUEUE_H

#include "d3d12/debug/info_filter.h"

#include <pthread.h>

struct d3d_stored_message {
    D3D12_MESSAGE_CATEGORY category;
    D3D12_MESSAGE_SEVERITY severity;
    D3D12_MESSAGE_ID id;
    char text[];
};

struct d3d_message_callback {
    D3D12MessageFunc function;
    void *context;
    DWORD cookie;
    bool unfiltered;
};

struct d3d_info_queue {
    pthread_mutex_t lock;                 /* all following members */
    struct d3d_stored_message **messages; /* oldest first */
    uint32_t count, capacity;
    UINT64 limit, allowed, denied, discarded;
    struct d3d_filter_stack storage, retrieval;
    struct d3d_message_callback *callbacks;
    uint32_t callback_count, callback_capacity;
    DWORD last_cookie;
    bool break_severity[D3D12_MESSAGE_SEVERITY_MESSAGE + 1];
    bool break_category[D3D12_MESSAGE_CATEGORY_SHADER + 1];
    bool muted;
    struct d3d_filter_list break_ids;
};

/* Both under the lock. */
void d3d_info_queue_drop_oldest(struct d3d_info_queue *queue, uint32_t count);
/* The index counts messages that pass the retrieval filter. NULL: past the last. */
const struct d3d_stored_message *d3d_info_queue_at(const struct d3d_info_queue *queue, UINT64 index);

#endif
