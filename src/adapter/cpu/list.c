/* SPDX-License-Identifier: Apache-2.0 */
/* Executes commands in order: every command sees the writes of the previous ones, so barriers are no-ops. */
#include "adapter/cpu/cpu.h"

#include "base/os.h"
#include "base/parallel.h"

static char *host_of(const struct adapter_binding *binding)
{
    return (char *)binding->memory->host + binding->offset;
}

static void run_copy(const struct adapter_command *command)
{
    char *to = host_of(&command->u.copy.to);
    const char *from = host_of(&command->u.copy.from);
    const size_t size = command->u.copy.to.size;
    if (to < from + size && from < to + size) /* placed resources may share bytes */
        memmove(to, from, size);
    else
        base_parallel_copy(to, from, size);
}

struct fill {
    char *to;
    uint32_t value;
};

static void fill_range(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct fill *fill = context;
    const char *bytes = (const char *)&fill->value;
    (void)worker;
    for (; begin < end && begin % sizeof(fill->value); begin++)
        fill->to[begin] = bytes[begin % sizeof(fill->value)];
    for (; end - begin >= sizeof(fill->value); begin += sizeof(fill->value))
        memcpy(fill->to + begin, bytes, sizeof(fill->value));
    for (; begin < end; begin++)
        fill->to[begin] = bytes[begin % sizeof(fill->value)];
}

static void run_fill(const struct adapter_command *command)
{
    struct fill fill = { host_of(&command->u.fill.to), command->u.fill.value };
    base_parallel_for(command->u.fill.to.size, BASE_COPY_GRAIN, fill_range, &fill);
}

static void run_timestamp(const struct adapter_command *command)
{
    atomic_store_explicit(&command->u.timestamp.queries->ticks[command->u.timestamp.index], base_ticks_ns(),
                          memory_order_relaxed);
}

static void run_resolve(const struct adapter_command *command)
{
    char *to = host_of(&command->u.resolve.to);
    for (uint32_t i = 0; i < command->u.resolve.count; i++) {
        uint64_t ticks = atomic_load_explicit(&command->u.resolve.queries->ticks[command->u.resolve.start + i],
                                              memory_order_relaxed);
        memcpy(to + i * sizeof(ticks), &ticks, sizeof(ticks));
    }
}

static uint32_t copy_threads(uint64_t bytes, uint32_t most)
{
    return (uint32_t)BASE_MIN(BASE_MAX(bytes / BASE_COPY_GRAIN, 1), most);
}

uint32_t cpu_list_threads(const struct adapter_command *commands, uint32_t count, uint32_t most)
{
    uint32_t threads = 1;
    for (uint32_t i = 0; i < count; i++) {
        const struct adapter_command *command = &commands[i];
        if (command->type == ADAPTER_DISPATCH)
            threads = BASE_MAX(threads, BASE_MIN(command->u.dispatch.dispatch->threads, most));
        else if (command->type == ADAPTER_COPY)
            threads = BASE_MAX(threads, copy_threads(command->u.copy.to.size, most));
        else if (command->type == ADAPTER_FILL)
            threads = BASE_MAX(threads, copy_threads(command->u.fill.to.size, most));
    }
    return threads;
}

HRESULT cpu_list_run(const struct adapter_command *commands, uint32_t count)
{
    HRESULT hr = S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < count; i++) {
        const struct adapter_command *command = &commands[i];
        switch (command->type) {
        case ADAPTER_COPY:
            run_copy(command);
            break;
        case ADAPTER_FILL:
            run_fill(command);
            break;
        case ADAPTER_TIMESTAMP:
            run_timestamp(command);
            break;
        case ADAPTER_RESOLVE:
            run_resolve(command);
            break;
        case ADAPTER_BARRIER:
            break;
        case ADAPTER_DISPATCH:
            hr = command->u.dispatch.dispatch->ops->run(command->u.dispatch.dispatch, command->u.dispatch.bindings,
                                                        command->u.dispatch.binding_count);
            break;
        }
    }
    return hr;
}
