/* The adapters of this process: filtered, ordered and numbered. Shared by libd3d12 and libdxcore, which must agree. */
#include "d3d12/adapter.h"

#include "base/cpu.h"
#include "base/log.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_ADAPTERS 64

/* An adapter's LUID says which family it is and which of the family: the same in every process and library. */
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

static pthread_once_t list_once = PTHREAD_ONCE_INIT;
static struct adapter_info list[MAX_ADAPTERS];
static uint32_t list_count;
static bool list_chosen; /* the user gave the order */

static void list_family(const struct family *family)
{
    struct adapter_info found[MAX_ADAPTERS];
    memset(found, 0, sizeof(found));
    uint32_t count = BASE_MIN(family->ops->enumerate(found, MAX_ADAPTERS), MAX_ADAPTERS);
    for (uint32_t i = 0; i < list_count; i++) {
        if (list[i].ops == family->ops)
            return; /* named twice */
    }
    for (uint32_t i = 0; i < count && list_count < MAX_ADAPTERS; i++) {
        found[i].ops = family->ops;
        found[i].luid.HighPart = 0x414e; /* "AN" */
        found[i].luid.LowPart = family->number << 16 | (i + 1);
        list[list_count++] = found[i];
    }
}

static void list_word(const char *word, size_t length)
{
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        if (strlen(families[i].ops->name) == length && !strncmp(families[i].ops->name, word, length)) {
            list_family(&families[i]);
            return;
        }
    }
    base_log(BASE_LOG_WARN, "ANYDML_ADAPTERS: \"%.*s\" is no adapter of this build", (int)length, word);
}

static void list_make(void)
{
    const char *wanted = getenv("ANYDML_ADAPTERS");
    if (!wanted || !*wanted) {
        for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
            if (families[i].by_default)
                list_family(&families[i]);
        }
        return;
    }
    list_chosen = true;
    while (*wanted) {
        size_t length = strcspn(wanted, ", ");
        if (length)
            list_word(wanted, length);
        wanted += length;
        wanted += strspn(wanted, ", ");
    }
}

uint32_t adapter_list(const struct adapter_info **out)
{
    pthread_once(&list_once, list_make);
    *out = list;
    return list_count;
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
    const struct adapter_info *all, *best = NULL;
    uint32_t count = adapter_list(&all);
    if (list_chosen && count)
        return &all[0];
    for (uint32_t i = 0; i < count; i++) {
        if (!best || adapter_performance(&all[i]) > adapter_performance(best))
            best = &all[i];
    }
    return best;
}

uint32_t adapter_thread_count(void)
{
    const char *wanted = getenv("ANYDML_THREADS");
    long count = wanted ? strtol(wanted, NULL, 10) : 0;
    return count > 0 && count <= 4096 ? (uint32_t)count : base_cpu_count();
}
