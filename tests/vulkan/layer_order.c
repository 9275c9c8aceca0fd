/* SPDX-License-Identifier: Apache-2.0 */
/* ANYDML_LAYER_ORDER=reverse: what a command buffer does between two barriers happens in the opposite order, which
 * Vulkan permits: results are wrong where a barrier is missing. Drivers of software run commands in the order of their
 * recording and do not show it. */
#include "layer_next.h"

#include <pthread.h>
#include <stdlib.h>

enum { SETS_MAX = 4, PUSH_MAX = 256, ITEMS_MAX = 1024, RECORDS_MAX = 256 };

enum item_type { ITEM_DISPATCH, ITEM_COPY, ITEM_FILL, ITEM_EXECUTE };

/* What dispatches use. */
struct state {
    VkPipeline pipeline;
    VkPipelineLayout layout;
    VkDescriptorSet sets[SETS_MAX];
    uint32_t offsets[SETS_MAX]; /* each set has one dynamic offset */
    uint32_t set_count, push_bytes;
    char push[PUSH_MAX];
};

struct item {
    enum item_type type;
    struct state state;
    uint32_t first[3], groups[3];
    VkBuffer from, to;
    VkBufferCopy region;
    VkDeviceSize offset, bytes;
    uint32_t value;
    VkCommandBuffer inner;
};

/* A command buffer that is being recorded; a thread at a time does so. */
struct record {
    VkCommandBuffer commands;
    bool open;
    struct state state;
    uint32_t count;
    struct item items[ITEMS_MAX];
};

static struct record *records[RECORDS_MAX];

bool order_made_up(void)
{
    const char *wanted = getenv("ANYDML_LAYER_ORDER");
    return wanted && !strcmp(wanted, "reverse");
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Of a command buffer that begins: its own, or one that is not in use. */
static struct record *open_record(VkCommandBuffer commands)
{
    uint32_t i = 0;
    pthread_mutex_lock(&lock);
    while (i < RECORDS_MAX && records[i] && records[i]->open && records[i]->commands != commands)
        i++;
    expect(i < RECORDS_MAX, "more command buffers than expected are recorded at a time");
    if (!records[i])
        records[i] = calloc(1, sizeof(*records[i]));
    struct record *found = records[i];
    expect(found, "out of memory");
    found->commands = commands;
    found->open = true;
    found->count = 0;
    found->state = (struct state){ 0 };
    pthread_mutex_unlock(&lock);
    return found;
}

static struct record *record_of(VkCommandBuffer commands)
{
    uint32_t i = 0;
    pthread_mutex_lock(&lock);
    while (i < RECORDS_MAX && records[i] && !(records[i]->open && records[i]->commands == commands))
        i++;
    expect(i < RECORDS_MAX && records[i], "a command buffer has not begun");
    struct record *found = records[i];
    pthread_mutex_unlock(&lock);
    return found;
}

/* ---- what was recorded goes to the driver ---- */

static void run_dispatch(VkCommandBuffer commands, const struct item *item)
{
    const struct state *state = &item->state;
    NEXT(vkCmdBindPipeline)(commands, VK_PIPELINE_BIND_POINT_COMPUTE, state->pipeline);
    if (state->set_count)
        NEXT(vkCmdBindDescriptorSets)
    (commands, VK_PIPELINE_BIND_POINT_COMPUTE, state->layout, 0, state->set_count, state->sets, state->set_count,
     state->offsets);
    if (state->push_bytes)
        NEXT(vkCmdPushConstants)
    (commands, state->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, state->push_bytes, state->push);
    NEXT(vkCmdDispatchBase)
    (commands, item->first[0], item->first[1], item->first[2], item->groups[0], item->groups[1], item->groups[2]);
}

static void run(VkCommandBuffer commands, const struct item *item)
{
    switch (item->type) {
    case ITEM_DISPATCH:
        run_dispatch(commands, item);
        break;
    case ITEM_COPY:
        NEXT(vkCmdCopyBuffer)(commands, item->from, item->to, 1, &item->region);
        break;
    case ITEM_FILL:
        NEXT(vkCmdFillBuffer)(commands, item->to, item->offset, item->bytes, item->value);
        break;
    case ITEM_EXECUTE:
        NEXT(vkCmdExecuteCommands)(commands, 1, &item->inner);
        break;
    }
}

static void flush(struct record *record)
{
    while (record->count)
        run(record->commands, &record->items[--record->count]);
}

/* ---- commands ---- */

static struct item *add(VkCommandBuffer commands, enum item_type type)
{
    struct record *record = record_of(commands);
    if (record->count == ITEMS_MAX)
        flush(record);
    struct item *item = &record->items[record->count++];
    item->type = type;
    item->state = record->state;
    return item;
}

static VKAPI_ATTR VkResult VKAPI_CALL begin(VkCommandBuffer commands, const VkCommandBufferBeginInfo *info)
{
    open_record(commands);
    VkResult result = layer_enter(LAYER_BEGIN);
    return result == VK_SUCCESS ? NEXT(vkBeginCommandBuffer)(commands, info) : result;
}

static VKAPI_ATTR VkResult VKAPI_CALL end(VkCommandBuffer commands)
{
    struct record *record = record_of(commands);
    flush(record);
    pthread_mutex_lock(&lock);
    record->open = false;
    pthread_mutex_unlock(&lock);
    VkResult result = layer_enter(LAYER_END);
    return result == VK_SUCCESS ? NEXT(vkEndCommandBuffer)(commands) : result;
}

static VKAPI_ATTR void VKAPI_CALL bind_pipeline(VkCommandBuffer commands, VkPipelineBindPoint point,
                                                VkPipeline pipeline)
{
    (void)point;
    record_of(commands)->state.pipeline = pipeline;
}

static VKAPI_ATTR void VKAPI_CALL order_CmdBindDescriptorSets(VkCommandBuffer commands, VkPipelineBindPoint point,
                                                              VkPipelineLayout layout, uint32_t first, uint32_t count,
                                                              const VkDescriptorSet *sets, uint32_t offset_count,
                                                              const uint32_t *offsets)
{
    struct state *state = &record_of(commands)->state;
    (void)point;
    expect(first + count <= SETS_MAX && offset_count == count && first <= state->set_count,
           "descriptor sets are others than expected");
    state->layout = layout;
    memcpy(&state->sets[first], sets, count * sizeof(*sets));
    memcpy(&state->offsets[first], offsets, count * sizeof(*offsets));
    if (state->set_count < first + count)
        state->set_count = first + count;
}

static VKAPI_ATTR void VKAPI_CALL push(VkCommandBuffer commands, VkPipelineLayout layout, VkShaderStageFlags stages,
                                       uint32_t offset, uint32_t bytes, const void *values)
{
    struct state *state = &record_of(commands)->state;
    (void)stages;
    expect(offset <= state->push_bytes && offset + bytes <= PUSH_MAX, "push constants are others than expected");
    state->layout = layout;
    memcpy(state->push + offset, values, bytes);
    if (state->push_bytes < offset + bytes)
        state->push_bytes = offset + bytes;
}

static VKAPI_ATTR void VKAPI_CALL dispatch_base(VkCommandBuffer commands, uint32_t first_x, uint32_t first_y,
                                                uint32_t first_z, uint32_t x, uint32_t y, uint32_t z)
{
    struct item *item = add(commands, ITEM_DISPATCH);
    layer_note_dispatch((uint64_t)x * y * z);
    memcpy(item->first, (uint32_t[]){ first_x, first_y, first_z }, sizeof(item->first));
    memcpy(item->groups, (uint32_t[]){ x, y, z }, sizeof(item->groups));
}

static VKAPI_ATTR void VKAPI_CALL dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z)
{
    dispatch_base(commands, 0, 0, 0, x, y, z);
}

static VKAPI_ATTR void VKAPI_CALL copy(VkCommandBuffer commands, VkBuffer from, VkBuffer to, uint32_t count,
                                       const VkBufferCopy *regions)
{
    for (uint32_t i = 0; i < count; i++) {
        struct item *item = add(commands, ITEM_COPY);
        item->from = from;
        item->to = to;
        item->region = regions[i];
    }
}

static VKAPI_ATTR void VKAPI_CALL fill(VkCommandBuffer commands, VkBuffer to, VkDeviceSize offset, VkDeviceSize bytes,
                                       uint32_t value)
{
    struct item *item = add(commands, ITEM_FILL);
    item->to = to;
    item->offset = offset;
    item->bytes = bytes;
    item->value = value;
}

/* The state of this command buffer is undefined afterwards; the recorded one is bound before each dispatch. */
static VKAPI_ATTR void VKAPI_CALL execute(VkCommandBuffer commands, uint32_t count, const VkCommandBuffer *inner)
{
    for (uint32_t i = 0; i < count; i++)
        add(commands, ITEM_EXECUTE)->inner = inner[i];
}

/* ---- what has its place in the order ---- */

static VKAPI_ATTR void VKAPI_CALL order_CmdPipelineBarrier(VkCommandBuffer commands, VkPipelineStageFlags from,
                                                           VkPipelineStageFlags to, VkDependencyFlags flags,
                                                           uint32_t count, const VkMemoryBarrier *barriers,
                                                           uint32_t buffer_count, const VkBufferMemoryBarrier *buffers,
                                                           uint32_t image_count, const VkImageMemoryBarrier *images)
{
    flush(record_of(commands));
    NEXT(vkCmdPipelineBarrier)(commands, from, to, flags, count, barriers, buffer_count, buffers, image_count, images);
}

static VKAPI_ATTR void VKAPI_CALL write_timestamp(VkCommandBuffer commands, VkPipelineStageFlagBits stage,
                                                  VkQueryPool pool, uint32_t query)
{
    flush(record_of(commands));
    NEXT(vkCmdWriteTimestamp)(commands, stage, pool, query);
}

static VKAPI_ATTR void VKAPI_CALL order_CmdCopyQueryPoolResults(VkCommandBuffer commands, VkQueryPool pool,
                                                                uint32_t first, uint32_t count, VkBuffer to,
                                                                VkDeviceSize offset, VkDeviceSize stride,
                                                                VkQueryResultFlags flags)
{
    flush(record_of(commands));
    NEXT(vkCmdCopyQueryPoolResults)(commands, pool, first, count, to, offset, stride, flags);
}

static const struct layer_entry made_up[] = {
    ENTRY("vkBeginCommandBuffer", begin),
    ENTRY("vkEndCommandBuffer", end),
    ENTRY("vkCmdBindPipeline", bind_pipeline),
    ENTRY("vkCmdBindDescriptorSets", order_CmdBindDescriptorSets),
    ENTRY("vkCmdPushConstants", push),
    ENTRY("vkCmdDispatch", dispatch),
    ENTRY("vkCmdDispatchBase", dispatch_base),
    ENTRY("vkCmdCopyBuffer", copy),
    ENTRY("vkCmdFillBuffer", fill),
    ENTRY("vkCmdExecuteCommands", execute),
    ENTRY("vkCmdPipelineBarrier", order_CmdPipelineBarrier),
    ENTRY("vkCmdWriteTimestamp", write_timestamp),
    ENTRY("vkCmdCopyQueryPoolResults", order_CmdCopyQueryPoolResults),
};

PFN_vkVoidFunction order_find(const char *name)
{
    return LAYER_FIND(made_up, name);
}
