/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu.h"

#include "base/os.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

static const struct {
    const char *name;
    uint32_t flag;
} flag_names[] = {
    { "avx2", BASE_CPU_AVX2 },
    { "avx512", BASE_CPU_AVX512 },
    { "avx512_vnni", BASE_CPU_AVX512_VNNI },
    { "avx512_bf16", BASE_CPU_AVX512_BF16 },
    { "neon", BASE_CPU_NEON },
    { "avx_vnni", BASE_CPU_AVX_VNNI },
    { "amx_int8", BASE_CPU_AMX_INT8 },
    { "amx_bf16", BASE_CPU_AMX_BF16 },
    { "dotprod", BASE_CPU_DOTPROD },
    { "i8mm", BASE_CPU_I8MM },
    { "bf16", BASE_CPU_BF16 },
};

static atomic_uint flags_mask = UINT32_MAX;

#if defined(__x86_64__)
/* clang 14 has no name for it in __builtin_cpu_supports(). */
static bool has_avx_vnni(void)
{
    enum { AVX_VNNI = 1 << 4 };
    uint32_t last, a, b, c, d;
    return __get_cpuid_count(7, 0, &last, &b, &c, &d) && last >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) &&
           (a & AVX_VNNI);
}

/* The AMX features in `wanted` that this CPU supports; the kernel allocates their 8 KiB of tile registers only for
 * processes that request them, for all of their threads. */
static uint32_t detect_amx(uint32_t wanted)
{
    enum { TILES = 1 << 24, INT8 = 1 << 25, BF16 = 1 << 22 };
    uint32_t a, b, c, d = 0, flags = 0;
    if (!wanted || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & TILES))
        return 0;
    if (d & INT8)
        flags |= wanted & BASE_CPU_AMX_INT8;
    if (d & BF16)
        flags |= wanted & BASE_CPU_AMX_BF16;
    return flags && base_request_tiles() ? flags : 0;
}
#endif

static uint32_t detect(uint32_t mask)
{
    uint32_t flags = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        flags |= BASE_CPU_AVX2;
    if ((flags & BASE_CPU_AVX2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        flags |= BASE_CPU_AVX512;
    if ((flags & BASE_CPU_AVX512) && __builtin_cpu_supports("avx512vnni"))
        flags |= BASE_CPU_AVX512_VNNI;
    if ((flags & BASE_CPU_AVX512) && __builtin_cpu_supports("avx512bf16"))
        flags |= BASE_CPU_AVX512_BF16;
    if ((flags & BASE_CPU_AVX2) && has_avx_vnni()) /* so the kernel saves its registers */
        flags |= BASE_CPU_AVX_VNNI;
    flags &= mask;
    flags |= detect_amx(mask & ((flags & BASE_CPU_AVX512_VNNI ? BASE_CPU_AMX_INT8 : 0) |
                                (flags & BASE_CPU_AVX512_BF16 ? BASE_CPU_AMX_BF16 : 0)));
#elif defined(__aarch64__)
    const unsigned long has = getauxval(AT_HWCAP), also = getauxval(AT_HWCAP2);
    enum { HAS_DOTPROD = 1 << 20, ALSO_I8MM = 1 << 13, ALSO_BF16 = 1 << 14 };
    flags |= BASE_CPU_NEON;
    if (mask & BASE_CPU_NEON) /* required by all of these */
        flags |= (has & HAS_DOTPROD ? BASE_CPU_DOTPROD : 0) | (also & ALSO_BF16 ? BASE_CPU_BF16 : 0);
    if ((flags & mask & BASE_CPU_DOTPROD) && (also & ALSO_I8MM))
        flags |= BASE_CPU_I8MM;
#endif
    return flags & mask;
}

/* 0 is "none" or unknown. */
static uint32_t flag_of(const char *name, size_t length)
{
    for (size_t i = 0; i < ARRAY_SIZE(flag_names); i++) {
        if (strlen(flag_names[i].name) == length && !strncmp(name, flag_names[i].name, length))
            return flag_names[i].flag;
    }
    return 0;
}

static uint32_t mask_from_environment(void)
{
    const char *wanted = getenv("ANYDML_CPU_FLAGS");
    if (!wanted || !*wanted)
        return UINT32_MAX;
    uint32_t mask = 0;
    for (const char *at = wanted; *at;) {
        size_t length = strcspn(at, ",");
        mask |= flag_of(at, length);
        at += length + (at[length] == ',');
    }
    return mask;
}

const char *base_cpu_flag_name(uint32_t index, uint32_t *out_flag)
{
    if (index >= ARRAY_SIZE(flag_names))
        return NULL;
    *out_flag = flag_names[index].flag;
    return flag_names[index].name;
}

bool base_cpu_names_known(const char *names, char *out, size_t size)
{
    for (const char *at = names; *at;) {
        size_t length = strcspn(at, ",");
        bool none = !length || (length == 4 && !strncmp(at, "none", 4));
        if (!none && !flag_of(at, length)) {
            snprintf(out, size, "%.*s", (int)BASE_MIN(length, size), at);
            return false;
        }
        at += length + (at[length] == ',');
    }
    return true;
}

uint32_t base_cpu_flags(void)
{
    static atomic_uint cached; /* top bit set once detected */
    uint32_t flags = atomic_load_explicit(&cached, memory_order_relaxed);
    if (!(flags & 0x80000000u)) {
        flags = detect(mask_from_environment()) | 0x80000000u;
        atomic_store_explicit(&cached, flags, memory_order_relaxed);
    }
    return flags & 0x7fffffffu & atomic_load_explicit(&flags_mask, memory_order_relaxed);
}

void base_cpu_flags_mask(uint32_t mask)
{
    atomic_store_explicit(&flags_mask, mask, memory_order_relaxed);
}
