/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of a parent process's driver in the child of a fork are left untouched. Drivers have threads, locks and files
 * that fork does not duplicate, and destroying an object would wait for them. */
#include "d3d12/objects.h"

static void leave_device(struct adapter_device *device)
{
    (void)device;
}

static void leave_memory(struct adapter_device *device, struct adapter_memory *memory)
{
    (void)device, (void)memory;
}

static void leave_queries(struct adapter_device *device, struct adapter_queries *queries)
{
    (void)device, (void)queries;
}

static void leave_sequence(struct adapter_device *device, struct adapter_sequence *sequence)
{
    (void)device, (void)sequence;
}

static void leave_queue(struct adapter_queue *queue)
{
    (void)queue;
}

static void leave_point(const struct adapter_point *point)
{
    (void)point;
}

static HRESULT no_memory(struct adapter_device *device, enum adapter_memory_kind kind, uint64_t size,
                         struct adapter_memory **out)
{
    (void)device, (void)kind, (void)size;
    *out = NULL;
    return DXGI_ERROR_DEVICE_REMOVED;
}

static HRESULT no_queue(struct adapter_device *device, D3D12_COMMAND_LIST_TYPE type, struct adapter_queue **out)
{
    (void)device, (void)type;
    *out = NULL;
    return DXGI_ERROR_DEVICE_REMOVED;
}

static HRESULT no_submit(struct adapter_queue *queue, const struct adapter_batch *batch, uint64_t *out_ticket)
{
    (void)queue, (void)batch;
    *out_ticket = 0;
    return DXGI_ERROR_DEVICE_REMOVED;
}

static HRESULT no_finish(struct adapter_queue *queue, uint64_t ticket)
{
    (void)queue, (void)ticket;
    return DXGI_ERROR_DEVICE_REMOVED;
}

static HRESULT no_wait(struct adapter_queue *queue, const struct adapter_point *point)
{
    (void)queue, (void)point;
    return DXGI_ERROR_DEVICE_REMOVED;
}

static HRESULT no_queries(struct adapter_device *device, uint32_t count, struct adapter_queries **out)
{
    (void)device, (void)count;
    *out = NULL;
    return DXGI_ERROR_DEVICE_REMOVED;
}

/* Missing methods are optional; their callers find that the device is removed. */
const struct adapter_ops d3d_inherited_ops = {
    .name = "inherited",
    .device_destroy = leave_device,
    .memory_create = no_memory,
    .memory_destroy = leave_memory,
    .queue_create = no_queue,
    .queue_destroy = leave_queue,
    .queue_submit = no_submit,
    .queue_finish = no_finish,
    .point_release = leave_point,
    .queue_wait = no_wait,
    .queries_create = no_queries,
    .queries_destroy = leave_queries,
    .sequence_destroy = leave_sequence,
};
