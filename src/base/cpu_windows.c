/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU's name, and how many CPUs and cores there are for this process. */
#include "base/cpu.h"

#include <cpuid.h>
#include <stdio.h>
#include <windows.h>

void base_cpu_name(char *out, size_t size)
{
    uint32_t words[13] = { 0 };
    const char *name = (const char *)words;
    snprintf(out, size, "CPU");
    for (uint32_t i = 0; i < 3; i++)
        if (!__get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2], &words[4 * i + 3]))
            return;
    while (*name == ' ')
        name++;
    snprintf(out, size, "%.*s", (int)size - 1, name);
}

uint32_t base_cpu_quota(const char *groups, const char *root)
{
    (void)groups, (void)root;
    return UINT32_MAX;
}

static ULONG_PTR affinity(void)
{
    DWORD_PTR own, all;
    return GetProcessAffinityMask(GetCurrentProcess(), &own, &all) ? own : 1;
}

uint32_t base_cpu_count(void)
{
    return BASE_MAX((uint32_t)__builtin_popcountll(affinity()), 1u);
}

/* The CPUs of this process's first group of 64. */
uint32_t base_cpu_cores(void)
{
    static _Atomic uint32_t known; /* 0: not yet; the low bits of the affinity that it is for do not matter to most */
    static _Atomic uint64_t known_mask;
    SYSTEM_LOGICAL_PROCESSOR_INFORMATION info[512];
    DWORD bytes = sizeof(info);
    const uint64_t mask = affinity();
    uint32_t cores = 0;
    if (known && known_mask == mask)
        return known;
    if (GetLogicalProcessorInformation(info, &bytes))
        for (size_t i = 0; i < bytes / sizeof(info[0]); i++)
            cores += info[i].Relationship == RelationProcessorCore && (info[i].ProcessorMask & mask);
    known_mask = mask;
    known = cores = cores ? cores : base_cpu_count();
    return cores;
}
