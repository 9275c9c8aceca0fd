/* SPDX-License-Identifier: Apache-2.0 */
/* The adapters of this process: filtered, ordered and numbered. The first one is the default of every interface. */
#include "d3d12/adapter.h"

#include "base/cpu.h"
#include "base/log.h"
#include "base/os.h"

#include <anydml.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_ADAPTERS 64

/* In the default order: GPUs, then the CPU. An adapter's LUID says which family it is and which of the family: the
 * same in every process and library. */
static const struct family {
    const struct adapter_ops *ops;
    uint32_t number;
    bool by_default;
} families[] = {
#ifdef ANYDML_VULKAN
    { &adapter_vulkan_ops, 2, true },
#endif
    { &adapter_cpu_ops, 1, true },
    { &adapter_null_ops, 3, false },
};

/* Families are enumerated one after another, and only as far as requested, because drivers are large. Listed adapters
 * stay listed. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct adapter_info list[MAX_ADAPTERS];
static uint32_t list_count;
static const char *list_wanted; /* the rest of the user's order, in a copy that is never freed */
static size_t list_next;        /* without one: the next of `families` */
static bool list_begun, list_chosen;
static bool list_asking;     /* a family, which may load drivers */
static bool list_driverless; /* only families without drivers follow */

/* ---- order ---- */

uint32_t adapter_performance(const struct adapter_info *info)
{
    if (!info->hardware)
        return 0;
    if (!info->is_gpu)
        return 1;
    return info->integrated ? 2 : 3;
}

uint32_t adapter_economy(const struct adapter_info *info)
{
    static const uint32_t by_performance[] = { 0, 1, 3, 2 };
    return by_performance[adapter_performance(info)];
}

/* Of one family; what is equal stays in the drivers' order. */
static bool comes_before(const struct adapter_info *a, const struct adapter_info *b)
{
    const uint32_t of_a = adapter_performance(a), of_b = adapter_performance(b);
    return of_a != of_b ? of_a > of_b : a->dedicated_memory > b->dedicated_memory;
}

static void sort_family(struct adapter_info *found, uint32_t count, const struct family *family)
{
    for (uint32_t i = 0; i < count; i++) {
        struct adapter_info moving = found[i];
        uint32_t at = i;
        moving.ops = family->ops;
        moving.luid.HighPart = 0x414e; /* "AN" */
        moving.luid.LowPart = family->number << 16 | (i + 1);
        for (; at > 0 && comes_before(&moving, &found[at - 1]); at--)
            found[at] = found[at - 1];
        found[at] = moving;
    }
}

/* ---- the list ---- */

/* Software implementations are slower than the CPU adapter: they are listed only if the family is named. */
static void list_family(const struct family *family, bool named)
{
    struct adapter_info found[MAX_ADAPTERS];
    if (list_driverless && family->ops->hardware)
        return;
    for (uint32_t i = 0; i < list_count; i++) {
        if (list[i].ops == family->ops)
            return; /* named twice */
    }
    memset(found, 0, sizeof(found));
    list_asking = true;
    const uint32_t all = family->ops->enumerate(found, MAX_ADAPTERS);
    list_asking = false;
    const uint32_t count = BASE_MIN(all, MAX_ADAPTERS), before = list_count;
    sort_family(found, count, family);
    for (uint32_t i = 0; i < count && list_count < MAX_ADAPTERS; i++) {
        if (named || found[i].hardware)
            list[list_count++] = found[i];
    }
    if (!named && list_count == before)
        base_log(BASE_LOG_INFO,
                 "a GPU seems to be installed, but none of its drivers works (%s): the CPU is the default adapter",
                 family->ops->name);
}

/* A thread that was asking drivers is not there in the child of a fork, which has what needs none. */
static void after_fork_in_child(void)
{
    pthread_mutex_init(&list_lock, NULL);
    list_driverless |= list_asking;
    list_asking = false;
}

static const struct family *family_of(const char *word, size_t length)
{
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        if (strlen(families[i].ops->name) == length && !strncmp(families[i].ops->name, word, length))
            return &families[i];
    }
    return NULL;
}

bool adapter_names_known(const char *names, char *out, size_t size)
{
    for (names += strspn(names, ", "); *names; names += strspn(names, ", ")) {
        size_t length = strcspn(names, ", ");
        if (!family_of(names, length)) {
            snprintf(out, size, "%.*s", (int)BASE_MIN(length, size), names);
            return false;
        }
        names += length;
    }
    return true;
}

static void list_begin(void)
{
    const char *wanted = getenv("ANYDML_ADAPTERS");
    list_begun = true;
    list_wanted = wanted && *wanted ? strdup(wanted) : NULL;
    list_chosen = list_wanted != NULL;
    base_on_fork(after_fork_in_child);
}

/* Lists another family; false: there is none. */
static bool list_more(void)
{
    if (!list_begun)
        list_begin();
    if (!list_chosen) {
        if (list_next == ARRAY_SIZE(families))
            return false;
        const struct family *family = &families[list_next++];
        if (family->by_default && (!family->ops->hardware || family->ops->hardware()))
            list_family(family, false);
        return true;
    }
    list_wanted += strspn(list_wanted, ", ");
    size_t length = strcspn(list_wanted, ", ");
    const struct family *named = family_of(list_wanted, length);
    if (named)
        list_family(named, true);
    list_wanted += length;
    return length != 0;
}

static const struct adapter_info *own_at(uint32_t index)
{
    pthread_mutex_lock(&list_lock);
    while (index >= list_count && list_more())
        ;
    const struct adapter_info *found = index < list_count ? &list[index] : NULL;
    pthread_mutex_unlock(&list_lock);
    return found;
}

static uint32_t own_position(const struct adapter_info *info)
{
    uintptr_t distance = (uintptr_t)info - (uintptr_t)list;
    pthread_mutex_lock(&list_lock);
    uint32_t count = list_count;
    pthread_mutex_unlock(&list_lock);
    return distance / sizeof(*info) < count ? (uint32_t)(distance / sizeof(*info)) : UINT32_MAX;
}

const struct adapter_registry adapter_own_registry = {
    .version = ANYDML_VERSION,
    .info_bytes = sizeof(struct adapter_info),
    .at = own_at,
    .position = own_position,
};

const struct adapter_info *adapter_at(uint32_t index)
{
    return adapter_registry()->at(index);
}

uint32_t adapter_position(const struct adapter_info *info)
{
    return adapter_registry()->position(info);
}

const struct adapter_info *adapter_default(void)
{
    return adapter_at(0);
}

void adapter_check_any(const char *method)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (!adapter_at(0) && !atomic_flag_test_and_set(&told))
        base_log(BASE_LOG_ERROR, "%s: no adapter found (see ANYDML_ADAPTERS; set ANYDML_LOG=info for details)", method);
}
