/* SPDX-License-Identifier: Apache-2.0 */
/* The adapters of this process: filtered, ordered and numbered. Compiled into libd3d12 and libdxcore, which must
 * agree. */
#include "d3d12/adapter.h"

#include "base/cpu.h"
#include "base/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_ADAPTERS 64

/* An adapter's LUID encodes its family and its index in the family: the same in every process and library. */
static const struct family {
    const struct adapter_ops *ops;
    uint32_t number;
    bool by_default;
} families[] = {
    { &adapter_cpu_ops, 1, true },
#ifdef ANYDML_VULKAN
    { &adapter_vulkan_ops, 2, true },
#endif
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

static void list_family(const struct family *family)
{
    struct adapter_info found[MAX_ADAPTERS];
    memset(found, 0, sizeof(found));
    uint32_t count = BASE_MIN(family->ops->enumerate(found, MAX_ADAPTERS), MAX_ADAPTERS);
    for (uint32_t i = 0; i < list_count; i++) {
        if (list[i].ops == family->ops)
            return; /* named twice */
    }
    /* Hardware first. */
    for (uint32_t i = 0; i < 2 * count && list_count < MAX_ADAPTERS; i++) {
        struct adapter_info *info = &found[i % count];
        if (info->hardware != (i < count))
            continue;
        info->ops = family->ops;
        info->luid.HighPart = 0x414e; /* "AN" */
        info->luid.LowPart = family->number << 16 | (i % count + 1);
        list[list_count++] = *info;
    }
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

/* "none" and the empty word name no capability. */
bool adapter_capabilities_parse(const char *names, uint32_t *out_capabilities, char *out, size_t size)
{
    static const char *const words[] = {
#define CAPABILITY(NAME, word) #word,
#include "shaders/capabilities.def"
#undef CAPABILITY
    };
    bool all_known = true;
    *out_capabilities = 0;
    for (const char *at = names; *at;) {
        const size_t length = strcspn(at, ",");
        bool known = !length || (length == 4 && !strncmp(at, "none", 4));
        for (uint32_t i = 0; i < ARRAY_SIZE(words) && !known; i++) {
            known = strlen(words[i]) == length && !strncmp(at, words[i], length);
            *out_capabilities |= (uint32_t)known << i;
        }
        if (!known && all_known)
            snprintf(out, size, "%.*s", (int)BASE_MIN(length, size), at);
        all_known &= known;
        at += length + (at[length] == ',');
    }
    return all_known;
}

bool adapter_watchdog_parse(const char *text, uint64_t *out_ns)
{
    const size_t whole = strspn(text, "0123456789");
    const char *fraction = text + whole + (text[whole] == '.');
    const size_t digits = strspn(fraction, "0123456789");
    uint64_t ns = 0, unit = 1000000;
    *out_ns = 0;
    if (!whole || whole > 9 || fraction[digits])
        return false;
    for (size_t i = 0; i < whole; i++)
        ns = ns * 10 + (uint64_t)(text[i] - '0');
    ns *= unit;
    for (size_t i = 0; i < digits; i++)
        ns += (uint64_t)(fraction[i] - '0') * (unit /= 10);
    *out_ns = ns;
    return true;
}

/* Lists another family; false: no more. */
static bool list_more(void)
{
    if (!list_begun) {
        list_begun = true;
        const char *wanted = getenv("ANYDML_ADAPTERS");
        list_wanted = wanted && *wanted ? strdup(wanted) : NULL;
        list_chosen = list_wanted != NULL;
    }
    if (!list_chosen) {
        if (list_next == ARRAY_SIZE(families))
            return false;
        const struct family *family = &families[list_next++];
        if (family->by_default && (!family->ops->hardware || family->ops->hardware()))
            list_family(family);
        return true;
    }
    list_wanted += strspn(list_wanted, ", ");
    size_t length = strcspn(list_wanted, ", ");
    const struct family *named = family_of(list_wanted, length);
    if (named)
        list_family(named);
    list_wanted += length;
    return length != 0;
}

const struct adapter_info *adapter_at(uint32_t index)
{
    pthread_mutex_lock(&list_lock);
    while (index >= list_count && list_more())
        ;
    const struct adapter_info *found = index < list_count ? &list[index] : NULL;
    pthread_mutex_unlock(&list_lock);
    return found;
}

uint32_t adapter_position(const struct adapter_info *info)
{
    uintptr_t distance = (uintptr_t)info - (uintptr_t)list;
    pthread_mutex_lock(&list_lock);
    uint32_t count = list_count;
    pthread_mutex_unlock(&list_lock);
    return distance / sizeof(*info) < count ? (uint32_t)(distance / sizeof(*info)) : UINT32_MAX;
}

uint32_t adapter_performance(const struct adapter_info *info)
{
    if (!info->hardware)
        return 0;
    if (!info->is_gpu)
        return 1;
    return info->integrated ? 2 : 3;
}

const struct adapter_info *adapter_default(void)
{
    const struct adapter_info *best = adapter_at(0), *other;
    for (uint32_t i = 1; best && !list_chosen && (other = adapter_at(i)) != NULL; i++)
        if (adapter_performance(other) > adapter_performance(best))
            best = other;
    return best;
}

void adapter_check_any(const char *method)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (!adapter_at(0) && !atomic_flag_test_and_set(&told))
        base_log(BASE_LOG_ERROR, "%s: no adapter found (see ANYDML_ADAPTERS; set ANYDML_LOG=info for details)", method);
}

uint32_t adapter_threads_parse(const char *text)
{
    char *end;
    long count = strtol(text, &end, 10);
    return !*end && count > 0 && count <= ADAPTER_THREADS_MAX ? (uint32_t)count : 0;
}

uint32_t adapter_thread_count(void)
{
    const char *wanted = getenv("ANYDML_THREADS");
    uint32_t count = wanted ? adapter_threads_parse(wanted) : 0;
    return count ? count : base_cpu_cores();
}
