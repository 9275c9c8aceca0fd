/* SPDX-License-Identifier: Apache-2.0 */
/* Included before all else in tests for Windows: what they use of POSIX that is not there. */
#ifndef TESTS_POSIX_H
#define TESTS_POSIX_H

#include <anydml_by_value.h>

#include <direct.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef TEST_BINARY
__attribute__((constructor)) static void test_binary(void)
{
    _setmode(STDIN_FILENO, _O_BINARY);
    _setmode(STDOUT_FILENO, _O_BINARY);
}
#endif

static inline int setenv(const char *name, const char *value, int replace)
{
    if (!replace && getenv(name))
        return 0;
    SetEnvironmentVariableA(name, value);
    return _putenv_s(name, value);
}

static inline int unsetenv(const char *name)
{
    SetEnvironmentVariableA(name, NULL);
    return _putenv_s(name, "");
}

static inline int pipe(int *ends)
{
    return _pipe(ends, 65536, _O_BINARY);
}

/* Names begin at the root of the current drive. */
static inline char *mkdtemp(char *name)
{
    static unsigned count;
    char *letters = name + strlen(name) - 6;
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(letters, 7, "%06u", ((unsigned)GetCurrentProcessId() * 31 + count++) % 1000000);
        if (!_mkdir("/tmp") || errno == EEXIST)
            if (!_mkdir(name))
                return name;
    }
    return NULL;
}

/* free() takes none of _aligned_malloc's memory: so this keeps what it gave. */
static void *test_aligned[4096];

static inline void *test_aligned_alloc(size_t alignment, size_t bytes)
{
    void *memory = _aligned_malloc(bytes, alignment);
    for (size_t i = 0; memory && i < sizeof(test_aligned) / sizeof(test_aligned[0]); i++)
        if (__sync_bool_compare_and_swap(&test_aligned[i], NULL, memory))
            break;
    return memory;
}

static inline int test_memalign(void **out, size_t alignment, size_t bytes)
{
    *out = test_aligned_alloc(alignment, bytes);
    return *out ? 0 : ENOMEM;
}

static inline void test_free(void *memory)
{
    for (size_t i = 0; memory && i < sizeof(test_aligned) / sizeof(test_aligned[0]); i++) {
        if (__sync_bool_compare_and_swap(&test_aligned[i], memory, NULL)) {
            _aligned_free(memory);
            return;
        }
    }
    free(memory);
}

/* A generator of its caller's. */
static inline int rand_r(unsigned *state)
{
    *state = *state * 1103515245u + 12345u;
    return (int)(*state >> 16 & 0x7fff);
}

/* scripts/check-wine ends what hangs. */
static inline unsigned alarm(unsigned seconds)
{
    (void)seconds;
    return 0;
}

#define aligned_alloc     test_aligned_alloc
#define posix_memalign    test_memalign
#define free              test_free
#define mkdir(name, mode) _mkdir(name)

#endif
