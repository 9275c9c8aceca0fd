/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of descriptors. Nothing is read from or written to the parent's descriptor heaps, of which only the handles
 * are known. A range is made when a table writes to its descriptors, and lives until others overlap it. */
#include "foreign/device.h"

#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>

/* Of one range: a program that binds several things in turn has them all. */
#define RECORDS_MAX 8u

static void record_destroy(struct foreign_device *device, struct foreign_record *record)
{
    if (record->recorded)
        adapter_vulkan_interop.recorded_destroy(device->adapter, record->recorded);
    record->dispatch->ops->unref(record->dispatch);
    free(record);
}

void foreign_records_destroy(struct foreign_device *device, struct foreign_record *list)
{
    while (list) {
        struct foreign_record *next = list->next;
        record_destroy(device, list);
        list = next;
    }
}

/* Under no lock: dispatches may be the last users of operators. */
static void range_destroy(struct foreign_device *device, struct foreign_range *range)
{
    foreign_records_destroy(device, range->records);
    if (range->doubt)
        atomic_fetch_sub(&device->ranges.doubts, 1);
    pthread_mutex_destroy(&range->lock);
    free(range->doubt);
    free(range->slots);
    free(range);
}

void foreign_range_unref(struct foreign_device *device, struct foreign_range *range)
{
    pthread_mutex_lock(&device->ranges.lock);
    const bool last = !--range->refs;
    pthread_mutex_unlock(&device->ranges.lock);
    if (last)
        range_destroy(device, range);
}

/* ---- the list of all, under its lock ---- */

static uint64_t end_of(const struct foreign_device *device, uint64_t gpu, uint32_t count)
{
    return gpu + (uint64_t)(count ? count : 1) * device->ranges.step;
}

/* The first that does not end before `gpu`. */
static uint32_t position(const struct foreign_device *device, uint64_t gpu)
{
    uint32_t low = 0, high = device->ranges.count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        const struct foreign_range *range = device->ranges.list[middle];
        if (end_of(device, range->gpu, range->count) <= gpu)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Takes [first, +count) out of the list; those without a user go to `dead`. Their number. */
static uint32_t take_out(struct foreign_device *device, uint32_t first, uint32_t count, struct foreign_range **dead)
{
    struct foreign_range **list = device->ranges.list;
    uint32_t dead_count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!--list[first + i]->refs)
            dead[dead_count++] = list[first + i];
    if (count)
        memmove(list + first, list + first + count, (device->ranges.count - first - count) * sizeof(*list));
    device->ranges.count -= count;
    return dead_count;
}

static struct foreign_range *range_new(uint64_t gpu, uint32_t count)
{
    struct foreign_range *range = calloc(1, sizeof(*range));
    if (!range)
        return NULL;
    range->refs = 1;
    range->gpu = gpu;
    range->count = count;
    pthread_mutex_init(&range->lock, NULL);
    return range;
}

static bool insert(struct foreign_device *device, uint32_t at, struct foreign_range *range)
{
    struct foreign_range ***list = &device->ranges.list;
    if (!base_array_reserve((void **)list, device->ranges.count, &device->ranges.capacity, sizeof(**list)))
        return false;
    memmove(*list + at + 1, *list + at, (device->ranges.count - at) * sizeof(**list));
    (*list)[at] = range;
    device->ranges.count++;
    return true;
}

/* The range with that start, if it is large enough and overlaps no other. */
static struct foreign_range *find(const struct foreign_device *device, uint32_t at, uint64_t gpu, uint32_t count)
{
    struct foreign_range *range = at < device->ranges.count ? device->ranges.list[at] : NULL;
    return range && range->gpu == gpu && range->count >= count ? range : NULL;
}

/* The range as wide as that: it replaces all others there, but the one with the same start grows. */
static struct foreign_range *replace(struct foreign_device *device, uint32_t at, uint64_t gpu, uint32_t count,
                                     struct foreign_range **dead, uint32_t *dead_count)
{
    struct foreign_range **list = device->ranges.list, *range = NULL;
    uint32_t end = at;
    const uint64_t last = end_of(device, gpu, count);
    while (end < device->ranges.count && list[end]->gpu < last)
        end++;
    for (uint32_t i = at; i < end; i++)
        if (list[i]->gpu == gpu)
            range = list[i];
    if (range)
        range->refs++; /* it is taken out and put in again */
    else
        range = range_new(gpu, count);
    if (!range)
        return NULL;
    range->count = count > range->count ? count : range->count;
    *dead_count = take_out(device, at, end - at, dead);
    if (insert(device, at, range))
        return range;
    if (!--range->refs)
        dead[(*dead_count)++] = range;
    return NULL;
}

struct foreign_range *foreign_range_get(struct foreign_device *device, const struct anydml_descriptors *descriptors)
{
    const uint64_t gpu = descriptors->gpu.ptr;
    const uint32_t count = descriptors->count ? descriptors->count : 1;
    struct foreign_range **dead = NULL;
    uint32_t dead_count = 0;
    pthread_mutex_lock(&device->ranges.lock);
    const uint32_t at = position(device, gpu);
    struct foreign_range *range = find(device, at, gpu, count);
    if (!range) {
        dead = calloc(device->ranges.count + 1u, sizeof(*dead));
        range = dead ? replace(device, at, gpu, count, dead, &dead_count) : NULL;
    }
    if (range)
        range->refs++;
    pthread_mutex_unlock(&device->ranges.lock);
    for (uint32_t i = 0; i < dead_count; i++)
        range_destroy(device, dead[i]);
    free(dead);
    return range;
}

void foreign_ranges_finish(struct foreign_device *device)
{
    for (uint32_t i = 0; i < device->ranges.count; i++)
        range_destroy(device, device->ranges.list[i]);
    free(device->ranges.list);
    pthread_mutex_destroy(&device->ranges.lock);
}

/* All ranges, referenced; the caller frees the array. */
static struct foreign_range **all_ranges(struct foreign_device *device, uint32_t *out_count)
{
    pthread_mutex_lock(&device->ranges.lock);
    const uint32_t count = device->ranges.count;
    struct foreign_range **list = malloc((count + 1u) * sizeof(*list));
    for (uint32_t i = 0; list && i < count; i++) {
        list[i] = device->ranges.list[i];
        list[i]->refs++;
    }
    pthread_mutex_unlock(&device->ranges.lock);
    *out_count = list ? count : 0;
    return list;
}

/* ---- records ---- */

struct foreign_record *foreign_range_add(struct foreign_range *range, struct foreign_record *record)
{
    struct foreign_record **at = &range->records, *old;
    uint32_t count = 0;
    while (*at && *at != record)
        at = &(*at)->next;
    if (*at)
        *at = record->next;
    record->next = range->records;
    range->records = record;
    for (at = &range->records; *at && count < RECORDS_MAX; count++)
        at = &(*at)->next;
    old = *at;
    *at = NULL;
    return old;
}

/* Those of an owner are taken out of the range. */
static struct foreign_record *take_owned(struct foreign_range *range, const void *owner)
{
    struct foreign_record *taken = NULL;
    pthread_mutex_lock(&range->lock);
    for (struct foreign_record **at = &range->records; *at;) {
        struct foreign_record *record = *at;
        if (record->owner != owner) {
            at = &record->next;
            continue;
        }
        *at = record->next;
        record->next = taken;
        taken = record;
    }
    pthread_mutex_unlock(&range->lock);
    return taken;
}

void foreign_device_ForgetOwner(AnydmlDevice *self, const void *owner)
{
    struct foreign_device *device = foreign_from(self);
    uint32_t count;
    struct foreign_range **list = all_ranges(device, &count);
    for (uint32_t i = 0; i < count; i++) {
        foreign_records_destroy(device, take_owned(list[i], owner));
        foreign_range_unref(device, list[i]);
    }
    free(list);
}

/* ---- descriptors ---- */

static bool reserve_slots(struct foreign_range *range, uint32_t count)
{
    if (count <= range->slot_count)
        return true;
    struct anydml_buffer *slots = realloc(range->slots, count * sizeof(*slots));
    if (!slots)
        return false;
    memset(slots + range->slot_count, 0, (count - range->slot_count) * sizeof(*slots));
    range->slots = slots;
    range->slot_count = count;
    return true;
}

/* Bindings come in several calls, so that a conflict between new inputs and old outputs may not be one at the end. */
static void set_doubt(struct foreign_device *device, struct foreign_range *range, const char *text)
{
    if (range->doubt)
        atomic_fetch_sub(&device->ranges.doubts, 1);
    free(range->doubt);
    range->doubt = text ? strdup(text) : NULL;
    if (range->doubt)
        atomic_fetch_add(&device->ranges.doubts, 1);
}

void foreign_tell_doubts(struct foreign_device *device, const struct foreign_range *current)
{
    uint32_t count;
    if (!atomic_load(&device->ranges.doubts))
        return;
    struct foreign_range **list = all_ranges(device, &count);
    for (uint32_t i = 0; i < count; i++) {
        pthread_mutex_lock(&list[i]->lock);
        if (list[i] != current && list[i]->doubt) {
            foreign_message(device, D3D12_MESSAGE_SEVERITY_ERROR, list[i]->doubt);
            set_doubt(device, list[i], NULL);
        }
        pthread_mutex_unlock(&list[i]->lock);
        foreign_range_unref(device, list[i]);
    }
    free(list);
}

/* Commands that were recorded for late binding use the descriptors as they are now. NULL, or why that is wrong. */
static const char *rebind(struct foreign_device *device, const struct foreign_range *range,
                          const struct foreign_record *record, char *message)
{
    struct foreign_bindings bindings;
    *message = 0;
    HRESULT hr = foreign_bind(range->slots, record->count, &bindings, message);
    if (FAILED(hr))
        return *message ? message : "no memory for bindings";
    hr = record->dispatch->ops->check(record->dispatch, bindings.list, record->count, ADAPTER_MOMENT_REBOUND, message);
    HRESULT filled = adapter_vulkan_interop.rebind(device->adapter, record->dispatch, bindings.list, record->count,
                                                   record->recorded);
    if (SUCCEEDED(hr) && FAILED(filled))
        snprintf(message, ADAPTER_MESSAGE_BYTES, "recorded commands cannot use these bindings (0x%08x)",
                 (unsigned)filled);
    foreign_unbind(&bindings);
    return FAILED(hr) || FAILED(filled) ? message : NULL;
}

HRESULT foreign_device_WriteDescriptors(AnydmlDevice *self, const struct anydml_descriptors *descriptors, UINT first,
                                        UINT count, const struct anydml_buffer *buffers, char *message)
{
    struct foreign_device *device = foreign_from(self);
    struct foreign_range *range = foreign_range_get(device, descriptors);
    const char *doubt = NULL;
    (void)message;
    if (!range)
        return E_OUTOFMEMORY;
    foreign_tell_doubts(device, range);
    pthread_mutex_lock(&range->lock);
    const bool reserved = reserve_slots(range, descriptors->count);
    if (reserved)
        memcpy(range->slots + first, buffers, count * sizeof(*buffers));
    char text[ADAPTER_MESSAGE_BYTES];
    for (struct foreign_record *record = range->records; reserved && record; record = record->next)
        if (record->late && record->owner == descriptors->owner) {
            const char *why = rebind(device, range, record, text);
            doubt = why ? why : doubt;
        }
    if (doubt || range->doubt)
        set_doubt(device, range, doubt);
    pthread_mutex_unlock(&range->lock);
    foreign_range_unref(device, range);
    return reserved ? S_OK : E_OUTOFMEMORY;
}
