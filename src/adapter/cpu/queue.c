#include "adapter/cpu/cpu.h"

#include "base/parallel.h"

#include <stdlib.h>

HRESULT cpu_queue_create(struct adapter_device *device, D3D12_COMMAND_LIST_TYPE type, struct adapter_queue **out)
{
    (void)device, (void)type;
    *out = calloc(1, sizeof(**out));
    return *out ? S_OK : E_OUTOFMEMORY;
}

void cpu_queue_destroy(struct adapter_queue *queue)
{
    free(queue);
}

HRESULT cpu_queue_submit(struct adapter_queue *queue, const struct adapter_batch *batch, uint64_t *out_ticket)
{
    HRESULT hr = S_OK;
    if (!queue->threads_set) { /* here, because the setting is the thread's */
        base_parallel_set_threads(adapter_thread_count());
        queue->threads_set = true;
    }
    for (uint32_t i = 0; SUCCEEDED(hr) && i < batch->list_count; i++)
        hr = cpu_list_run(batch->lists[i], batch->command_counts[i]);
    *out_ticket = ++queue->ticket;
    return hr;
}

HRESULT cpu_queue_finish(struct adapter_queue *queue, uint64_t ticket)
{
    (void)queue, (void)ticket;
    return S_OK; /* queue_submit has done everything */
}

HRESULT cpu_queries_create(struct adapter_device *device, uint32_t count, struct adapter_queries **out)
{
    (void)device;
    *out = calloc(1, sizeof(**out) + (size_t)count * sizeof((*out)->ticks[0]));
    if (!*out)
        return E_OUTOFMEMORY;
    (*out)->count = count;
    return S_OK;
}

void cpu_queries_destroy(struct adapter_device *device, struct adapter_queries *queries)
{
    (void)device;
    free(queries);
}
