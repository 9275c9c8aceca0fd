/* SPDX-License-Identifier: Apache-2.0 */
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

/* The number of threads that a batch can use, at most `most`. */
static uint32_t threads_for(const struct adapter_batch *batch, uint32_t most)
{
    uint32_t threads = 1;
    for (uint32_t i = 0; i < batch->list_count; i++)
        threads = BASE_MAX(threads, cpu_list_threads(batch->lists[i], batch->command_counts[i], most));
    return threads;
}

HRESULT cpu_queue_submit(struct adapter_queue *queue, const struct adapter_batch *batch, uint64_t *out_ticket)
{
    HRESULT hr = S_OK;
    if (!queue->threads)
        queue->threads = adapter_thread_count();
    struct base_team before = base_parallel_enter(queue->threads);
    uint32_t threads = threads_for(batch, queue->threads);
    uint32_t granted = adapter_thread_budget_acquire(1);
    adapter_computing_begin(threads);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < batch->list_count; i++)
        hr = cpu_list_run(batch->lists[i], batch->command_counts[i]);
    adapter_computing_end(threads);
    adapter_thread_budget_release(granted);
    base_parallel_leave(before);
    *out_ticket = ++queue->ticket;
    return hr;
}

HRESULT cpu_queue_finish(struct adapter_queue *queue, uint64_t ticket)
{
    (void)queue, (void)ticket;
    return S_OK; /* queue_submit has completed everything */
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
