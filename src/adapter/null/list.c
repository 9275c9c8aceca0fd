/* SPDX-License-Identifier: Apache-2.0 */
/* Only queries have an effect: programs that measure must receive times. */
#include "adapter/null/null.h"

#include "base/os.h"

static void run_resolve(const struct adapter_command *command)
{
    char *to = (char *)command->u.resolve.to.memory->host + command->u.resolve.to.offset;
    for (uint32_t i = 0; i < command->u.resolve.count; i++) {
        uint64_t ticks = atomic_load(&command->u.resolve.queries->ticks[command->u.resolve.start + i]);
        memcpy(to + i * sizeof(ticks), &ticks, sizeof(ticks));
    }
}

void null_list_run(const struct adapter_command *commands, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        switch (commands[i].type) {
        case ADAPTER_TIMESTAMP:
            atomic_store(&commands[i].u.timestamp.queries->ticks[commands[i].u.timestamp.index], base_ticks_ns());
            break;
        case ADAPTER_RESOLVE:
            run_resolve(&commands[i]);
            break;
        case ADAPTER_COPY:
        case ADAPTER_FILL:
        case ADAPTER_BARRIER:
        case ADAPTER_DISPATCH:
            break;
        }
    }
}
