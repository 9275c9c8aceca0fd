/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one allocation of a process fail, by its number, or one call of what ANYDML_INJECT_WHAT names (inject_own.h);
 * to be preloaded. A program controls it through inject_begin and inject_end, which it looks up; for a program that
 * does not, ANYDML_INJECT=N makes the Nth since the start fail, and ANYDML_INJECT=0 writes how many there were to
 * stderr. With ANYDML_INJECT_FRAMES it shows where. A crash ends the process with INJECT_CRASH. */
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS /* mmap and mmap64 are two names here */
#include "inject_own.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define FRAMES 64

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *block);

static atomic_bool armed;
static _Atomic uint64_t seen, target;
static _Atomic int64_t blocks, mapped;
static bool reports, shows;
static const char *const names[INJECT_KINDS] = { "memory", "threads", "EIO", "ENOSPC", "EINTR", "EMFILE", "short" };
enum inject_kind inject_what;

static void show_frames(void)
{
    void *frames[FRAMES];
    atomic_store(&armed, false);
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES), 2);
    atomic_store(&armed, true);
}

bool inject_fails(void)
{
    if (!atomic_load_explicit(&armed, memory_order_relaxed))
        return false;
    uint64_t number = atomic_fetch_add(&seen, 1) + 1;
    if (number != atomic_load_explicit(&target, memory_order_relaxed))
        return false;
    if (shows)
        show_frames();
    return true;
}

static bool fails(void)
{
    if (inject_what != INJECT_MEMORY || !inject_fails())
        return false;
    errno = ENOMEM;
    return true;
}

EXPORT void inject_begin(uint64_t number)
{
    atomic_store(&seen, 0);
    atomic_store(&target, number);
    atomic_store(&armed, true);
}

EXPORT uint64_t inject_end(void)
{
    atomic_store(&armed, false);
    return atomic_load(&seen);
}

static int64_t open_files(void)
{
    int64_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

EXPORT struct inject_use inject_in_use(void)
{
    const int64_t files = open_files();
    return (struct inject_use){ atomic_load(&blocks), atomic_load(&mapped), files };
}

/* ---- who allocated what is still there ---- */

#define RECORDS 65536 /* a power of two, more than there are blocks at a time */

struct record {
    void *block; /* NULL: free; `gone`: was used */
    void *frames[12];
};

static struct record records[RECORDS];
static char gone;
static atomic_flag records_busy = ATOMIC_FLAG_INIT;
static bool recorded;

static void lock_records(void)
{
    while (atomic_flag_test_and_set_explicit(&records_busy, memory_order_acquire))
        ;
}

static void unlock_records(void)
{
    atomic_flag_clear_explicit(&records_busy, memory_order_release);
}

static size_t place_of(const void *block)
{
    return ((uintptr_t)block >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 48 & (RECORDS - 1);
}

static void record(void *block)
{
    void *frames[12] = { NULL };
    backtrace(frames, 12);
    lock_records();
    size_t at = place_of(block), tries = 0;
    while (records[at].block && records[at].block != &gone && tries++ < RECORDS)
        at = (at + 1) & (RECORDS - 1);
    records[at].block = block;
    memcpy(records[at].frames, frames, sizeof(frames));
    recorded = true;
    unlock_records();
}

static void forget(const void *block)
{
    if (!recorded)
        return;
    lock_records();
    size_t at = place_of(block), tries = 0;
    while (records[at].block && records[at].block != block && tries++ < RECORDS)
        at = (at + 1) & (RECORDS - 1);
    if (records[at].block == block)
        records[at].block = &gone;
    unlock_records();
}

EXPORT void inject_show_left(void)
{
    for (size_t i = 0; i < RECORDS; i++) {
        struct record *left = &records[i];
        int count = 0;
        while (count < 12 && left->frames[count])
            count++;
        if (!left->block || left->block == &gone)
            continue;
        dprintf(2, "still there:\n");
        backtrace_symbols_fd(left->frames, count, 2);
    }
}

/* ---- the allocator ---- */

static void *made(void *block)
{
    if (block) {
        atomic_fetch_add_explicit(&blocks, 1, memory_order_relaxed);
        if (atomic_load_explicit(&armed, memory_order_relaxed))
            record(block);
    }
    return block;
}

EXPORT void *malloc(size_t bytes)
{
    return fails() ? NULL : made(__libc_malloc(bytes));
}

EXPORT void *calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : made(__libc_calloc(count, bytes));
}

EXPORT void *realloc(void *block, size_t bytes)
{
    if (fails())
        return NULL;
    if (!block)
        return made(__libc_malloc(bytes));
    if (!bytes) {
        free(block);
        return NULL;
    }
    forget(block);
    void *moved = __libc_realloc(block, bytes);
    if (atomic_load_explicit(&armed, memory_order_relaxed))
        record(moved);
    return moved;
}

EXPORT void *memalign(size_t alignment, size_t bytes)
{
    return fails() ? NULL : made(__libc_memalign(alignment, bytes));
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    *out = memalign(alignment, bytes);
    return *out ? 0 : ENOMEM;
}

EXPORT void free(void *block)
{
    if (block) {
        atomic_fetch_sub_explicit(&blocks, 1, memory_order_relaxed);
        forget(block);
    }
    __libc_free(block);
}

EXPORT void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    if ((flags & MAP_ANONYMOUS) && fails())
        return MAP_FAILED;
    void *start = (void *)syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
    if (start != MAP_FAILED)
        atomic_fetch_add_explicit(&mapped, (int64_t)bytes, memory_order_relaxed);
    return start;
}

EXPORT void *mmap64(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    return mmap(address, bytes, protection, flags, file, offset);
}

EXPORT int munmap(void *address, size_t bytes)
{
    int result = (int)syscall(SYS_munmap, address, bytes);
    if (!result)
        atomic_fetch_sub_explicit(&mapped, (int64_t)bytes, memory_order_relaxed);
    return result;
}

/* ---- threads ---- */

EXPORT int pthread_create(pthread_t *out, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    return inject_what == INJECT_THREADS && inject_fails() ? EAGAIN : next(out, attributes, run, argument);
}

/* ---- crashes ---- */

static void on_crash(int signal)
{
    void *frames[FRAMES];
    atomic_store(&armed, false);
    dprintf(2, "inject: signal %d\n", signal);
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES), 2);
    _exit(INJECT_CRASH);
}

__attribute__((destructor)) static void report(void)
{
    atomic_store(&armed, false);
    if (reports)
        dprintf(2, "inject: %llu of %s\n", (unsigned long long)atomic_load(&seen), names[inject_what]);
}

__attribute__((constructor)) static void start(void)
{
    static const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
    struct sigaction action = { .sa_handler = on_crash };
    void *frames[4];
    const char *number = getenv("ANYDML_INJECT");
    const char *what = getenv("ANYDML_INJECT_WHAT");
    shows = getenv("ANYDML_INJECT_FRAMES") != NULL;
    while (what && inject_what < INJECT_KINDS && strcmp(what, names[inject_what]) != 0)
        inject_what++;
    if (inject_what == INJECT_KINDS || (inject_what >= INJECT_EIO && !inject_files_start())) {
        dprintf(2, "inject: %s cannot fail here\n", what);
        _exit(INJECT_SKIP);
    }
    backtrace(frames, 4); /* what it loads, it loads now */
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaction(signals[i], &action, NULL);
    if (!number)
        return;
    unsetenv("ANYDML_INJECT");
    reports = !strcmp(number, "0");
    inject_begin(strtoull(number, NULL, 10));
}
