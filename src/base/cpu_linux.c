/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU's name, and how many CPUs and cores there are for this process: its affinity, and its control group's share
 * of their time. */
#define _GNU_SOURCE
#include "base/cpu.h"

#include <ctype.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

#define CPUS_MAX   8192
#define PATH_BYTES 1024

/* A line of a file; false: none. */
static bool read_line(const char *path, char *out, int size)
{
    FILE *file = fopen(path, "re");
    bool any = file && fgets(out, size, file);
    if (file)
        fclose(file);
    return any;
}

/* ---- control groups ---- */

/* CPUs' worth of time, rounded up; UINT32_MAX: no limit. */
static uint32_t quota_of(long long quota, long long period)
{
    if (quota <= 0 || period <= 0)
        return UINT32_MAX;
    long long count = quota / period + (quota % period != 0);
    return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

static uint32_t quota_in(const char *folder)
{
    char path[PATH_BYTES + 32], text[64];
    long long quota, period;
    snprintf(path, sizeof(path), "%s/cpu.max", folder);
    if (read_line(path, text, sizeof(text)))
        return sscanf(text, "%lld %lld", &quota, &period) == 2 ? quota_of(quota, period) : UINT32_MAX; /* "max" */
    snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", folder);
    if (!read_line(path, text, sizeof(text)) || sscanf(text, "%lld", &quota) != 1)
        return UINT32_MAX;
    snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", folder);
    if (!read_line(path, text, sizeof(text)) || sscanf(text, "%lld", &period) != 1)
        return UINT32_MAX;
    return quota_of(quota, period);
}

/* The minimum over the group and its ancestors. A container may not see the folder of its group outside: then the
 * root's applies. */
static uint32_t quota_up_from(const char *root, const char *group)
{
    char folder[PATH_BYTES];
    int length = snprintf(folder, sizeof(folder), "%s%s", root, group);
    uint32_t least = UINT32_MAX;
    size_t shortest = strlen(root);
    if (length < 0 || (size_t)length >= sizeof(folder))
        return quota_in(root);
    for (;;) {
        uint32_t here = quota_in(folder);
        least = BASE_MIN(least, here);
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < shortest)
            return least;
        *slash = '\0';
    }
}

/* Whether the list of names with commas has it. */
static bool has_controller(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && !strncmp(at, name, length))
            return true;
    return false;
}

uint32_t base_cpu_quota(const char *groups, const char *root)
{
    char line[PATH_BYTES];
    uint32_t least = UINT32_MAX;
    FILE *file = fopen(groups, "re");
    while (file && fgets(line, sizeof(line), file)) { /* "0::/path", or "4:cpu,cpuacct:/path" */
        char *list = strchr(line, ':'), *group = list ? strchr(list + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        char folder[PATH_BYTES];
        bool first = has_controller(list + 1, "cpu");
        if (!first && list[1])
            continue;
        snprintf(folder, sizeof(folder), "%s%s", root, first ? "/cpu" : "");
        uint32_t here = quota_up_from(folder, group);
        least = BASE_MIN(least, here);
    }
    if (file)
        fclose(file);
    return least;
}

/* ---- CPUs and cores ---- */

/* The CPUs on which the calling thread may run; `set` has CPUS_MAX bits. */
static bool read_affinity(cpu_set_t *set, size_t bytes)
{
    CPU_ZERO_S(bytes, set);
    return !sched_getaffinity(0, bytes, set) && CPU_COUNT_S(bytes, set) > 0;
}

/* Whether the list ("0,64", "0-1") contains a smaller number that is in the set, too. */
static bool has_earlier(const char *list, unsigned cpu, const cpu_set_t *set, size_t bytes)
{
    while (*list) {
        char *end;
        unsigned long first = strtoul(list, &end, 10), last = first;
        if (end == list)
            return false;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        for (unsigned long i = first; i <= last && i < cpu; i++)
            if (CPU_ISSET_S(i, bytes, set))
                return true;
        list = end + (*end == ',');
        if (*list == '\n')
            return false;
    }
    return false;
}

static uint32_t count_cores(const cpu_set_t *set, size_t bytes)
{
    uint32_t cores = 0;
    for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
        char path[96], list[256];
        if (!CPU_ISSET_S(cpu, bytes, set))
            continue;
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
        cores += !read_line(path, list, sizeof(list)) || !has_earlier(list, cpu, set, bytes);
    }
    return cores;
}

static uint32_t quota_once(void)
{
    static _Atomic uint32_t known; /* 0: not yet */
    uint32_t quota = known;
    if (!quota)
        known = quota = base_cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    return quota;
}

uint32_t base_cpu_count(void)
{
    char bits[CPUS_MAX / 8] __attribute__((aligned(16)));
    cpu_set_t *set = (cpu_set_t *)bits;
    uint32_t count = read_affinity(set, sizeof(bits)) ? (uint32_t)CPU_COUNT_S(sizeof(bits), set) : 1;
    return BASE_MIN(count, quota_once());
}

uint32_t base_cpu_cores(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char known[CPUS_MAX / 8]; /* the affinity that `cores` is for */
    static uint32_t cores;
    char bits[CPUS_MAX / 8] __attribute__((aligned(16)));
    cpu_set_t *set = (cpu_set_t *)bits;
    if (!read_affinity(set, sizeof(bits)))
        return 1;
    if (pthread_mutex_trylock(&lock)) /* also in the child of a fork if the parent held it */
        return BASE_MIN(count_cores(set, sizeof(bits)), quota_once());
    if (memcmp(known, bits, sizeof(bits))) {
        cores = count_cores(set, sizeof(bits));
        memcpy(known, bits, sizeof(bits));
    }
    uint32_t count = cores;
    pthread_mutex_unlock(&lock);
    return BASE_MIN(count, quota_once());
}

void base_cpu_name(char *out, size_t size)
{
    snprintf(out, size, "CPU");
    FILE *info = fopen("/proc/cpuinfo", "r");
    char line[512];
    while (info && fgets(line, sizeof(line), info)) {
        char *value = strncmp(line, "model name", 10) ? NULL : strchr(line, ':');
        if (!value)
            continue;
        do {
            value++;
        } while (isspace((unsigned char)*value));
        value[strcspn(value, "\n")] = '\0';
        snprintf(out, size, "%.*s", (int)size - 1, value);
        fclose(info);
        return;
    }
    if (info)
        fclose(info);
    struct utsname system;
    if (!uname(&system))
        snprintf(out, size, "%s CPU", system.machine);
}
