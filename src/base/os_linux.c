/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "base/os.h"

#include "base/wait.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/futex.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- the process ---- */

const char *base_environment(const char *name)
{
    return secure_getenv(name);
}

uint32_t base_thread_id(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

uint32_t base_process_id(void)
{
    return (uint32_t)getpid();
}

void base_on_fork(void (*child)(void))
{
    pthread_atfork(NULL, NULL, child);
}

void base_library_stay(const void *code)
{
    Dl_info self;
    if (dladdr(code, &self) && self.dli_fname)
        (void)!dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void *base_library_open(const char *name, char *why, size_t why_bytes)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        snprintf(why, why_bytes, "%s", dlerror());
    return library;
}

void *base_library_loaded(const char *name)
{
    return dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
}

void *base_library_symbol(void *library, const char *name)
{
    return dlsym(library, name);
}

void base_library_close(void *library)
{
    dlclose(library);
}

void base_write_error(const char *text, size_t length)
{
    ssize_t written = write(STDERR_FILENO, text, length);
    (void)written; /* logging errors cannot be reported */
}

/* ---- threads ---- */

/* Signals are for the application's threads; a thread's own faults must reach the application's handlers: blocked, they
 * would end the process without calling them. */
static void block_signals(sigset_t *before)
{
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT };
    sigset_t all;
    sigfillset(&all);
    for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

static void unbind(pthread_attr_t *attributes)
{
    cpu_set_t set;
    if (!sched_getaffinity(getpid(), sizeof(set), &set))
        pthread_attr_setaffinity_np(attributes, sizeof(set), &set);
}

bool base_thread_start(pthread_t *out, const char *name, size_t stack_bytes, unsigned flags, void *(*run)(void *),
                       void *argument)
{
    pthread_attr_t attributes;
    sigset_t before;
    pthread_attr_init(&attributes);
    if (flags & BASE_THREAD_DETACHED)
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (stack_bytes)
        pthread_attr_setstacksize(&attributes, stack_bytes);
    if (flags & BASE_THREAD_UNBOUND)
        unbind(&attributes);
    block_signals(&before);
    bool made = !pthread_create(out, &attributes, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (made)
        pthread_setname_np(*out, name);
    return made;
}

void base_yield(void)
{
    sched_yield();
}

void base_condition_init(struct base_condition *condition)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&condition->condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void base_condition_destroy(struct base_condition *condition)
{
    pthread_cond_destroy(&condition->condition);
}

void base_condition_wait(struct base_condition *condition, pthread_mutex_t *lock)
{
    pthread_cond_wait(&condition->condition, lock);
}

bool base_condition_wait_until(struct base_condition *condition, pthread_mutex_t *lock, uint64_t ns)
{
    const struct timespec end = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
    return !pthread_cond_timedwait(&condition->condition, lock, &end);
}

void base_condition_signal(struct base_condition *condition)
{
    pthread_cond_signal(&condition->condition);
}

void base_condition_broadcast(struct base_condition *condition)
{
    pthread_cond_broadcast(&condition->condition);
}

void base_wait_word(_Atomic uint32_t *word, uint32_t value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void base_wake_word(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* ---- events ---- */

base_event base_event_open(void *handle, bool *out_invalid)
{
    int event = handle ? fcntl((int)(intptr_t)handle, F_DUPFD_CLOEXEC, 3) : eventfd(0, EFD_CLOEXEC);
    *out_invalid = event < 0 && errno == EBADF;
    return event;
}

void base_event_close(base_event event)
{
    close((int)event);
}

void base_event_set(base_event event)
{
    const uint64_t one = 1;
    struct pollfd ready = { (int)event, POLLOUT, 0 };
    /* Full means that it is signalled already; O_NONBLOCK is not ours to set, it belongs to the caller's descriptor. */
    if (poll(&ready, 1, 0) == 1 && ready.revents & POLLOUT)
        (void)!write((int)event, &one, sizeof(one));
}

void base_event_wait(base_event event)
{
    struct pollfd ready = { (int)event, POLLIN, 0 };
    while (poll(&ready, 1, -1) < 0 && errno == EINTR)
        ;
}

bool base_event_set_handle(void *handle)
{
    const uint64_t one = 1;
    return write((int)(intptr_t)handle, &one, sizeof(one)) == sizeof(one);
}

/* ---- time ---- */

uint64_t base_ticks_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- memory ---- */

void *base_aligned_acquire(size_t alignment, size_t bytes)
{
    return aligned_alloc(alignment, bytes);
}

void base_aligned_release(void *memory)
{
    free(memory);
}

void base_give_back(void)
{
#ifdef __GLIBC__ /* others return it when it is freed */
    malloc_trim(0);
#endif
}

/* More is mapped, and the ends are released. */
void *base_map(uint64_t bytes, uint64_t alignment, unsigned flags)
{
    const int reserve = flags & BASE_MAP_RESERVE ? MAP_NORESERVE : 0;
    if (bytes > UINT64_MAX - alignment)
        return NULL;
    char *start = mmap(NULL, bytes + alignment, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | reserve, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    char *aligned = (char *)base_align_up((uintptr_t)start, alignment);
    if (aligned > start)
        munmap(start, (size_t)(aligned - start));
    char *end = (char *)base_align_up((uintptr_t)aligned + bytes, (uint64_t)sysconf(_SC_PAGESIZE));
    if (end < start + bytes + alignment)
        munmap(end, (size_t)(start + bytes + alignment - end));
    if (flags & BASE_MAP_HUGE)
        madvise(aligned, bytes, MADV_HUGEPAGE);
    return aligned;
}

void base_unmap(void *memory, uint64_t bytes)
{
    munmap(memory, bytes);
}

bool base_can_map_twice(void)
{
    return true;
}

static void copy_pages(char *to, const char *from, uint64_t bytes)
{
    enum { PAGE_BYTES = 4096 };
    static const char zeros[PAGE_BYTES];
    for (uint64_t at = 0; at < bytes; at += PAGE_BYTES) {
        if (memcmp(from + at, zeros, PAGE_BYTES)) /* unwritten pages use no memory */
            memcpy(to + at, from + at, PAGE_BYTES);
    }
}

bool base_map_make_shared(void *memory, uint64_t bytes, unsigned flags)
{
    char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
        return false;
    copy_pages(pages, memory, bytes);
    if (mremap(pages, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, memory) == MAP_FAILED) {
        base_map_nothing(memory, bytes); /* the previous mapping may be lost, while others still use it */
        munmap(pages, bytes);
        return false;
    }
    if (flags & BASE_MAP_HUGE)
        madvise(memory, bytes, MADV_HUGEPAGE);
    return true;
}

bool base_map_twice(void *at, void *memory, uint64_t bytes)
{
    /* From 0 bytes: the old addresses stay. */
    return mremap(memory, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED;
}

bool base_map_nothing(void *at, uint64_t bytes)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    return mmap(at, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED;
}

/* A field of /proc/meminfo in bytes; 0 = not there. */
static uint64_t meminfo(const char *field)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    unsigned long long kib = 0;
    size_t length = strlen(field);
    while (file && fgets(line, sizeof(line), file)) {
        if (!strncmp(line, field, length) && line[length] == ':' && sscanf(line + length + 1, "%llu", &kib) == 1)
            break;
    }
    if (file)
        fclose(file);
    return (uint64_t)kib * 1024;
}

/* The only number in a file; UINT64_MAX if it is not a number ("max"). */
static uint64_t number_in(const char *path)
{
    FILE *file = fopen(path, "re");
    unsigned long long value;
    uint64_t number = UINT64_MAX;
    if (file && fscanf(file, "%llu", &value) == 1)
        number = value;
    if (file)
        fclose(file);
    return number;
}

static uint64_t group_limit(void)
{
    return number_in("/sys/fs/cgroup/memory.max");
}

uint64_t base_memory_total(void)
{
    uint64_t total = meminfo("MemTotal");
    struct rlimit limit;
    total = BASE_MIN(total ? total : UINT64_MAX, group_limit());
    return getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY ? total : BASE_MIN(total, limit.rlim_cur);
}

/* What `ulimit -v` leaves to this process. */
static uint64_t addresses_left(void)
{
    struct rlimit limit;
    unsigned long long pages = 0;
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file || fscanf(file, "%llu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    const uint64_t used = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return used < limit.rlim_cur ? limit.rlim_cur - used : 0;
}

uint64_t base_memory_available(void)
{
    uint64_t available = meminfo("MemAvailable"), limit = group_limit();
    uint64_t swap = meminfo("SwapFree");
    if (!available)
        return UINT64_MAX; /* mmap decides */
    available = BASE_MIN(available + swap, addresses_left());
    if (limit == UINT64_MAX)
        return available;
    uint64_t used = number_in("/sys/fs/cgroup/memory.current");
    uint64_t left = used < limit ? limit - used : 0;
    return BASE_MIN(available, left);
}

uint64_t base_memory_resident(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long long size, resident = 0;
    if (file) {
        if (fscanf(file, "%llu %llu", &size, &resident) != 2)
            resident = 0;
        fclose(file);
    }
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t base_cache_bytes(void)
{
    long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0 ? (uint64_t)bytes : 0;
}

/* ---- CPUs ---- */

bool base_gpu_likely(void)
{
    static const char *const nodes[] = { BASE_GPU_NODES };
    bool found = false;
    for (size_t i = 0; !found && i < ARRAY_SIZE(nodes); i++) {
        glob_t paths;
        found = !glob(nodes[i], GLOB_NOSORT, NULL, &paths) && paths.gl_pathc;
        globfree(&paths);
    }
    return found;
}

bool base_request_tiles(void)
{
#if defined(__x86_64__)
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    return !syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA);
#else
    return false;
#endif
}
