/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the time of a sequence's steps by the device's timestamps: for tracing, and for the time limit of
 * submissions. */
#include "adapter/vulkan/vulkan.h"

#include "base/clock.h"

#include <stdlib.h>

/* Validity of a calibration of the two clocks. */
#define CLOCK_NS UINT64_C(1000000000)

struct vulkan_timing {
    struct vulkan_timing *next;
    struct adapter_sequence *sequence;
    struct adapter_tracer tracer; /* run NULL: no tracer */
    VkQueryPool pool;
    uint32_t count; /* queries: the start, and the end of each step */
    uint32_t bits;  /* of their times */
};

/* Timing is dropped when out of memory. */
struct vulkan_timing *vulkan_timing_begin(struct adapter_device *device, struct vulkan_record *record,
                                          struct adapter_sequence *sequence, const struct adapter_tracer *tracer)
{
    VkQueryPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
        .queryType = VK_QUERY_TYPE_TIMESTAMP,
        .queryCount = vulkan_sequence_step_count(sequence) + 1,
    };
    const uint32_t bits = device->physical->families[record->role].timestamp_bits;
    struct vulkan_timing *timing = bits ? calloc(1, sizeof(*timing)) : NULL;
    if (!timing)
        return NULL;
    *timing = (struct vulkan_timing){ record->timings, sequence, .count = info.queryCount, .bits = bits };
    if (tracer)
        timing->tracer = *tracer;
    if (vk.vkCreateQueryPool(device->handle, &info, NULL, &timing->pool) != VK_SUCCESS) {
        free(timing);
        return NULL;
    }
    record->timings = timing;
    vk.vkCmdResetQueryPool(record->commands, timing->pool, 0, timing->count);
    vulkan_timing_mark(timing, record->commands, 0);
    return timing;
}

void vulkan_timing_mark(const struct vulkan_timing *timing, VkCommandBuffer commands, uint32_t index)
{
    vk.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, timing->pool, index);
    if (timing->tracer.run) /* later work starts after it */
        vulkan_barrier(commands, VULKAN_SCOPE_DISPATCHES, VULKAN_SCOPE_DISPATCHES);
}

/* ---- when they are complete ---- */

/* Nanoseconds from `from` to `to`, also if the counter wrapped between them. */
static int64_t distance(const struct adapter_queue *queue, uint64_t from, uint64_t to)
{
    const uint32_t unused = 64 - BASE_MIN(queue->clock.bits, 64);
    const int64_t ticks = (int64_t)((to - from) << unused) >> unused;
    return (int64_t)((double)ticks * (double)queue->device->physical->properties.limits.timestampPeriod);
}

/* The device was at `ticks` before now. The batches of a queue with and without queries may be on different
 * families. */
static void set_clock(struct adapter_queue *queue, uint64_t ticks, uint32_t bits)
{
    const uint64_t now = base_now_ns();
    const bool known = queue->clock.ns && queue->clock.bits == bits;
    queue->clock.bits = bits;
    const uint64_t taken = queue->clock.ns + (uint64_t)distance(queue, queue->clock.ticks, ticks);
    if (!known || now - queue->clock.ns > CLOCK_NS || taken > now) {
        queue->clock.ticks = ticks;
        queue->clock.ns = now;
    }
}

static bool read_times(const struct adapter_queue *queue, const struct vulkan_timing *timing, uint64_t *out)
{
    return vk.vkGetQueryPoolResults(queue->device->handle, timing->pool, 0, timing->count, timing->count * sizeof(*out),
                                    out, sizeof(*out), VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT) == VK_SUCCESS;
}

static void tell(struct adapter_queue *queue, const struct vulkan_timing *timing)
{
    uint64_t *times = malloc(timing->count * sizeof(*times));
    if (times && read_times(queue, timing, times)) {
        set_clock(queue, times[timing->count - 1], timing->bits);
        for (uint32_t i = 0; i < timing->count; i++)
            times[i] = queue->clock.ns + (uint64_t)distance(queue, queue->clock.ticks, times[i]);
        vulkan_sequence_measured(timing->sequence, times);
        if (timing->tracer.run)
            timing->tracer.run(timing->tracer.context, times);
    }
    free(times);
}

void vulkan_timings_finish(struct adapter_queue *queue, struct vulkan_record *record, bool complete)
{
    while (record->timings) {
        struct vulkan_timing *timing = record->timings; /* the last one first: the clock is set by it */
        record->timings = timing->next;
        if (complete)
            tell(queue, timing);
        vk.vkDestroyQueryPool(queue->device->handle, timing->pool, NULL);
        free(timing);
    }
}
