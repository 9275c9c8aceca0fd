/* SPDX-License-Identifier: Apache-2.0 */
#include "adapter/cpu/cpu.h"

#include "base/cpu.h"
#include "base/os.h"
#include "base/pool.h"

#include <anydml.h>
#include <stdlib.h>

static uint32_t vendor_of(const char *name)
{
    if (strstr(name, "AMD"))
        return 0x1022;
    if (strstr(name, "Intel"))
        return 0x8086;
    if (strstr(name, "ARM") || strstr(name, "Neoverse") || strstr(name, "Cortex"))
        return 0x13b5;
    return 0x1b36; /* of virtual machines */
}

static uint32_t cpu_enumerate(struct adapter_info *out, uint32_t capacity)
{
    if (!capacity)
        return 1;
    memset(out, 0, sizeof(*out));
    base_cpu_name(out->name, sizeof(out->name));
    out->kind = ADAPTER_HOST;
    out->vendor_id = vendor_of(out->name);
    out->device_id = 1;
    out->driver_version = (uint64_t)ANYDML_VERSION_MAJOR << 48 | (uint64_t)ANYDML_VERSION_MINOR << 32 |
                          (uint64_t)ANYDML_VERSION_PATCH << 16;
    out->shared_memory = base_memory_total();
    out->integrated = true;
    out->uma = true;
    out->cache_coherent_uma = true;
    out->hardware = true; /* programs skip adapters that return false */
    out->timestamp_frequency = 1000000000;
    out->reserved = base_can_map_twice();
    return 1;
}

static HRESULT cpu_device_create(const struct adapter_info *info, struct adapter_device **out)
{
    (void)info;
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return E_OUTOFMEMORY;
    (*out)->total = base_memory_total();
    base_pool_set_spinning(false); /* this library only copies: kernels run in libdirectml, which has its own pool */
    return S_OK;
}

static void cpu_device_destroy(struct adapter_device *device)
{
    free(device);
}

static void cpu_memory_budget(const struct adapter_info *info, bool local, uint64_t *out_budget, uint64_t *out_usage)
{
    (void)info, (void)local;
    *out_usage = base_memory_resident();
    *out_budget = BASE_MIN(base_memory_total(), base_memory_available() + *out_usage);
}

const struct adapter_ops adapter_cpu_ops = {
    .name = "cpu",
    .enumerate = cpu_enumerate,
    .device_create = cpu_device_create,
    .device_destroy = cpu_device_destroy,
    .memory_budget = cpu_memory_budget,
    .memory_create = cpu_memory_create,
    .memory_explain = cpu_memory_explain,
    .memory_destroy = cpu_memory_destroy,
    .reserved_create = cpu_reserved_create,
    .tiles_map = cpu_tiles_map,
    .queue_create = cpu_queue_create,
    .queue_destroy = cpu_queue_destroy,
    .queue_submit = cpu_queue_submit,
    .queue_finish = cpu_queue_finish,
    .queries_create = cpu_queries_create,
    .queries_destroy = cpu_queries_destroy,
};
