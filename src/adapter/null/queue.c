/* SPDX-License-Identifier: Apache-2.0 */
/* Batches arrive on the queue's own thread and are complete when queue_submit returns. */
#include "adapter/null/null.h"

#include <stdlib.h>

HRESULT null_queue_create(struct adapter_device *device, D3D12_COMMAND_LIST_TYPE type, struct adapter_queue **out)
{
    (void)device, (void)type;
    *out = calloc(1, sizeof(**out));
    return *out ? S_OK : E_OUTOFMEMORY;
}

void null_queue_destroy(struct adapter_queue *queue)
{
    free(queue);
}

HRESULT null_queue_submit(struct adapter_queue *queue, const struct adapter_batch *batch, uint64_t *out_ticket)
{
    for (uint32_t i = 0; i < batch->list_count; i++)
        null_list_run(batch->lists[i], batch->command_counts[i]);
    *out_ticket = ++queue->ticket;
    return S_OK;
}

HRESULT null_queue_finish(struct adapter_queue *queue, uint64_t ticket)
{
    (void)queue, (void)ticket;
    return S_OK;
}

HRESULT null_queries_create(struct adapter_device *device, uint32_t count, struct adapter_queries **out)
{
    (void)device;
    *out = calloc(1, sizeof(**out) + (size_t)count * sizeof((*out)->ticks[0]));
    if (!*out)
        return E_OUTOFMEMORY;
    (*out)->count = count;
    return S_OK;
}

void null_queries_destroy(struct adapter_device *device, struct adapter_queries *queries)
{
    (void)device;
    free(queries);
}
