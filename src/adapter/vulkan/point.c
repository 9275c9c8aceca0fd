/* SPDX-License-Identifier: Apache-2.0 */
/* Queues that wait for each other on the device. A point is a ticket of a queue's timeline that was already submitted,
 * so a wait never depends on pending host work. */
#include "adapter/vulkan/vulkan.h"

#include <stdlib.h>

struct adapter_timeline {
    struct adapter_device *device; /* queues and points do not outlive it */
    VkSemaphore handle;
    atomic_uint refs;
};

HRESULT vulkan_timeline_share(struct adapter_device *device, struct adapter_timeline **out)
{
    struct adapter_timeline *timeline = *out = calloc(1, sizeof(*timeline));
    if (!timeline)
        return E_OUTOFMEMORY;
    timeline->device = device;
    atomic_init(&timeline->refs, 1);
    HRESULT hr = vulkan_timeline_create(device, &timeline->handle);
    if (FAILED(hr))
        free(timeline);
    return hr;
}

VkSemaphore vulkan_timeline_of(const struct adapter_timeline *timeline)
{
    return timeline->handle;
}

void vulkan_timeline_unref(struct adapter_timeline *timeline)
{
    if (atomic_fetch_sub(&timeline->refs, 1) != 1)
        return;
    vk.vkDestroySemaphore(timeline->device->handle, timeline->handle, NULL);
    free(timeline);
}

struct adapter_point vulkan_queue_point(struct adapter_queue *queue)
{
    atomic_fetch_add(&queue->shared->refs, 1);
    return (struct adapter_point){ queue->shared, queue->ticket };
}

void vulkan_point_release(const struct adapter_point *point)
{
    vulkan_timeline_unref(point->timeline);
}

void vulkan_points_clear(struct vulkan_points *points)
{
    while (points->count)
        vulkan_point_release(&points->list[--points->count]);
}

uint32_t vulkan_points_moments(const struct vulkan_points *points, struct vulkan_moment *out)
{
    for (uint32_t i = 0; i < points->count; i++)
        out[i] = (struct vulkan_moment){ points->list[i].timeline->handle, points->list[i].value };
    return points->count;
}

HRESULT vulkan_queue_wait(struct adapter_queue *queue, const struct adapter_point *point)
{
    for (uint32_t i = 0; i < queue->points.count; i++) {
        struct adapter_point *before = &queue->points.list[i];
        if (before->timeline != point->timeline)
            continue;
        before->value = BASE_MAX(before->value, point->value);
        return S_OK;
    }
    HRESULT hr = queue->points.count == VULKAN_POINTS_MAX ? vulkan_queue_settle(queue) : S_OK;
    if (FAILED(hr))
        return hr;
    atomic_fetch_add(&point->timeline->refs, 1);
    queue->points.list[queue->points.count++] = *point;
    return S_OK;
}

HRESULT vulkan_queue_settle(struct adapter_queue *queue)
{
    struct vulkan_moment moments[VULKAN_POINTS_MAX];
    const uint32_t count = vulkan_points_moments(&queue->points, moments);
    HRESULT hr = S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < count; i++)
        hr = vulkan_timeline_wait(queue->device, moments[i].timeline, moments[i].value);
    vulkan_points_clear(&queue->points);
    return hr;
}
