/* SPDX-License-Identifier: Apache-2.0 */
/* Instruction sets of this CPU, detected once. ANYDML_CPU_FLAGS masks them for tests, e.g. "none", "avx2",
 * "avx2,avx512"; unset or empty: all. */
#ifndef BASE_CPU_H
#define BASE_CPU_H

#include "base/base.h"

enum base_cpu_flag {
    BASE_CPU_NONE = 0,
    BASE_CPU_AVX2 = 1 << 0,   /* AVX2, FMA3 and F16C */
    BASE_CPU_AVX512 = 1 << 1, /* F, BW, DQ, VL */
    BASE_CPU_AVX512_VNNI = 1 << 2,
    BASE_CPU_AVX512_BF16 = 1 << 3,
    BASE_CPU_NEON = 1 << 4,
    BASE_CPU_AMX_INT8 = 1 << 5, /* with tiles, for which the kernel granted permission; and VNNI */
    BASE_CPU_AMX_BF16 = 1 << 6, /* likewise; and AVX512_BF16 */
    BASE_CPU_AVX_VNNI = 1 << 7, /* VNNI of CPUs without AVX-512 */
    BASE_CPU_DOTPROD = 1 << 8,  /* Arm: UDOT */
    BASE_CPU_I8MM = 1 << 9,     /* Arm: USMMLA; and DOTPROD */
    BASE_CPU_BF16 = 1 << 10,    /* Arm: BFMMLA */
};

uint32_t base_cpu_flags(void);

/* Its name in ANYDML_CPU_FLAGS; NULL: past the last. Each follows those that it requires. */
const char *base_cpu_flag_name(uint32_t index, uint32_t *out_flag);

/* Whether ANYDML_CPU_FLAGS is valid; if not, `out` receives the first word that is not an instruction set. */
bool base_cpu_names_known(const char *names, char *out, size_t size);

/* Restricts what base_cpu_flags() returns from now on (tests only). Not thread-safe with respect to running
 * compilations. */
void base_cpu_flags_mask(uint32_t mask);

/* The CPU's name, e.g. "AMD EPYC 9654 96-Core CPU"; UTF-8, always terminated. */
void base_cpu_name(char *out, size_t size);

/* CPUs that the calling thread may run on, no more than its control group has the time of: at least 1. */
uint32_t base_cpu_count(void);
/* The same, counting hardware threads of one core once. */
uint32_t base_cpu_cores(void);

/* For tests with their own files: the CPU limit of the control groups listed in the file `groups`, read below the
 * folder `root`; UINT32_MAX: no limit. */
uint32_t base_cpu_quota(const char *groups, const char *root);

#endif
