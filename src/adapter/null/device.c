/* SPDX-License-Identifier: Apache-2.0 */
/* The adapter's properties, and the table of functions for the front end. */
#include "adapter/null/null.h"

#include <stdio.h>
#include <stdlib.h>

static uint32_t null_enumerate(struct adapter_info *out, uint32_t capacity)
{
    if (!capacity)
        return 1;
    memset(out, 0, sizeof(*out));
    snprintf(out->name, sizeof(out->name), "AnyDML null adapter (executes nothing)");
    out->kind = ADAPTER_HOST;
    out->idle = true;
    out->vendor_id = 0x1b36;
    out->device_id = 2;
    out->shared_memory = 1ull << 32;
    out->uma = true;
    out->cache_coherent_uma = true;
    out->timestamp_frequency = 1000000000;
    return 1;
}

static HRESULT null_device_create(const struct adapter_info *info, struct adapter_device **out)
{
    (void)info;
    *out = calloc(1, sizeof(**out));
    return *out ? S_OK : E_OUTOFMEMORY;
}

static void null_device_destroy(struct adapter_device *device)
{
    free(device);
}

static void null_memory_budget(const struct adapter_info *info, bool local, uint64_t *out_budget, uint64_t *out_usage)
{
    (void)info, (void)local;
    *out_budget = 1ull << 32;
    *out_usage = 0;
}

const struct adapter_ops adapter_null_ops = {
    .name = "null",
    .enumerate = null_enumerate,
    .device_create = null_device_create,
    .device_destroy = null_device_destroy,
    .memory_budget = null_memory_budget,
    .memory_create = null_memory_create,
    .memory_destroy = null_memory_destroy,
    .queue_create = null_queue_create,
    .queue_destroy = null_queue_destroy,
    .queue_submit = null_queue_submit,
    .queue_finish = null_queue_finish,
    .queries_create = null_queries_create,
    .queries_destroy = null_queries_destroy,
};
