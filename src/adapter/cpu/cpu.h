/* SPDX-License-Identifier: Apache-2.0 */
/* The cpu adapter, which executes everything on the CPUs of this machine. */
#ifndef ADAPTER_CPU_CPU_H
#define ADAPTER_CPU_CPU_H

#include "d3d12/adapter.h"

#include <pthread.h>
#include <stdatomic.h>

struct adapter_device {
    uint64_t total;        /* bytes that the machine has */
    _Atomic uint64_t used; /* bytes of living memory */
};

struct cpu_memory {
    struct adapter_memory base;
    pthread_mutex_t sharing; /* one for each: after a fork, the parent's are never released */
    bool shared;             /* its pages can be mapped at further addresses */
    bool reserved;           /* without pages of its own */
};

struct adapter_queries {
    uint32_t count;
    _Atomic uint64_t ticks[];
};

struct adapter_queue {
    uint32_t threads; /* that compute its steps; 0 = not known yet */
    uint64_t ticket;
};

/* heap.c */
HRESULT cpu_memory_create(struct adapter_device *device, enum adapter_memory_kind kind, uint64_t size,
                          struct adapter_memory **out);
adapter_memory_explain cpu_memory_explain;
void cpu_memory_destroy(struct adapter_device *device, struct adapter_memory *memory);
HRESULT cpu_reserved_create(struct adapter_device *device, uint64_t size, struct adapter_memory **out);
HRESULT cpu_tiles_map(struct adapter_device *device, struct adapter_memory *reserved, uint64_t offset,
                      struct adapter_memory *heap, uint64_t heap_offset, uint64_t bytes);

/* queue.c */
HRESULT cpu_queue_create(struct adapter_device *device, D3D12_COMMAND_LIST_TYPE type, struct adapter_queue **out);
void cpu_queue_destroy(struct adapter_queue *queue);
HRESULT cpu_queue_submit(struct adapter_queue *queue, const struct adapter_batch *batch, uint64_t *out_ticket);
HRESULT cpu_queue_finish(struct adapter_queue *queue, uint64_t ticket);
HRESULT cpu_queries_create(struct adapter_device *device, uint32_t count, struct adapter_queries **out);
void cpu_queries_destroy(struct adapter_device *device, struct adapter_queries *queries);

/* list.c: runs the commands on the calling thread, helped by the pool. cpu_list_threads: how many threads they can use,
 * at most `most`. */
uint32_t cpu_list_threads(const struct adapter_command *commands, uint32_t count, uint32_t most);
HRESULT cpu_list_run(const struct adapter_command *commands, uint32_t count);

#endif
