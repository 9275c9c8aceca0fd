/* SPDX-License-Identifier: Apache-2.0 */
/* Counting checks: every miss is printed, main returns ABI_RESULT(). */
#ifndef ABI_CHECK_H
#define ABI_CHECK_H

#include <stdio.h>
#include <string.h>

static unsigned abi_checks, abi_misses;

static inline void abi_expect(int ok, const char *what, const char *file, int line)
{
    abi_checks++;
    if (!ok) {
        abi_misses++;
        fprintf(stderr, "%s:%d: %s\n", file, line, what);
    }
}

static inline void abi_expect_number(unsigned long long got, unsigned long long want, const char *what)
{
    abi_checks++;
    if (got != want) {
        abi_misses++;
        fprintf(stderr, "%s: %llu, expected %llu\n", what, got, want);
    }
}

static inline int abi_result(void)
{
    printf("%u checks, %u misses\n", abi_checks, abi_misses);
    return abi_checks == 0 || abi_misses != 0;
}

#define EXPECT(condition)              abi_expect(!!(condition), #condition, __FILE__, __LINE__)
#define EXPECT_NUMBER(what, got, want) abi_expect_number((unsigned long long)(got), (unsigned long long)(want), what)

#endif
