/* SPDX-License-Identifier: Apache-2.0 */
/* What src/onnx asks of it beside files that are mapped, for Windows: nothing happens. */
#ifndef TESTS_MMAN_H
#define TESTS_MMAN_H

#include <stddef.h>

#define MADV_DONTNEED 0
#define O_CLOEXEC     0
#define O_NONBLOCK    0
#define _SC_PAGESIZE  0

static inline int madvise(void *address, size_t bytes, int advice)
{
    (void)address, (void)bytes, (void)advice;
    return 0;
}

static inline int munmap(void *address, size_t bytes)
{
    (void)address, (void)bytes;
    return 0;
}

static inline long sysconf(int name)
{
    (void)name;
    return 4096;
}

#endif
