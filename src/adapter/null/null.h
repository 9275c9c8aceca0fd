/* SPDX-License-Identifier: Apache-2.0 */
/* The template of an adapter: memory is real, fences and timestamps work, and commands are not executed.
 * docs/adding-an-adapter.md describes how to make a new adapter from it. */
#ifndef ADAPTER_NULL_NULL_H
#define ADAPTER_NULL_NULL_H

#include "d3d12/adapter.h"

#include <stdatomic.h>

/* Every adapter defines its own structs of these four names, in its own folder. */
struct adapter_device {
    _Atomic uint64_t used; /* bytes of living memory */
};

struct adapter_queue {
    uint64_t ticket;
};

struct adapter_queries {
    uint32_t count;
    _Atomic uint64_t ticks[];
};

HRESULT null_memory_create(struct adapter_device *device, enum adapter_memory_kind kind, uint64_t size,
                           struct adapter_memory **out);
void null_memory_destroy(struct adapter_device *device, struct adapter_memory *memory);

HRESULT null_queue_create(struct adapter_device *device, D3D12_COMMAND_LIST_TYPE type, struct adapter_queue **out);
void null_queue_destroy(struct adapter_queue *queue);
HRESULT null_queue_submit(struct adapter_queue *queue, const struct adapter_batch *batch, uint64_t *out_ticket);
HRESULT null_queue_finish(struct adapter_queue *queue, uint64_t ticket);
HRESULT null_queries_create(struct adapter_device *device, uint32_t count, struct adapter_queries **out);
void null_queries_destroy(struct adapter_device *device, struct adapter_queries *queries);

void null_list_run(const struct adapter_command *commands, uint32_t count);

#endif
