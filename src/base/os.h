/* SPDX-License-Identifier: Apache-2.0 */
/* Operating system functions beyond C and POSIX threads: each system implements them in one file, os_linux.c and
 * os_windows.c. cache.h, cpu.h, file.h and wait.h also have parts that depend on the system. */
#ifndef BASE_OS_H
#define BASE_OS_H

#include "base/base.h"

#include <pthread.h>

/* ---- the process ---- */

/* A variable of the environment; NULL in a program that has more rights than its user. */
const char *base_environment(const char *name);

/* For the log: ids of the calling thread and the process. */
uint32_t base_thread_id(void);
uint32_t base_process_id(void);

/* `child` runs in the children of forks, on systems with fork. */
void base_on_fork(void (*child)(void));

/* Keeps the library that contains this code in memory until the process ends. */
void base_library_stay(const void *code);

/* A library of the system by its file name; NULL: `why` receives the reason. */
void *base_library_open(const char *name, char *why, size_t why_bytes);
/* Likewise one that is in the process, and stays until it is closed; NULL: it is not. */
void *base_library_loaded(const char *name);
void *base_library_symbol(void *library, const char *name);
void base_library_close(void *library);

#ifdef _WIN32
#define BASE_VULKAN_LOADER "vulkan-1.dll"
#define BASE_D3D12_LIBRARY "d3d12.dll"
#else
#define BASE_D3D12_LIBRARY "libd3d12.so"
#define BASE_VULKAN_LOADER "libvulkan.so.1"
#endif

/* Writes to the standard error output, in one call. */
void base_write_error(const char *text, size_t length);

/* ---- threads ---- */

enum base_thread_flags {
    BASE_THREAD_DETACHED = 1,
    BASE_THREAD_UNBOUND =
        2, /* may run on all CPUs of the process's first thread, regardless of the calling thread's affinity */
};

/* A thread that receives no signals except for its own faults. `stack_bytes` 0: the system's default. */
bool base_thread_start(pthread_t *out, const char *name, size_t stack_bytes, unsigned flags, void *(*run)(void *),
                       void *argument);

/* Yields the CPU to other threads. */
void base_yield(void);

/* A condition variable like pthread_cond_t: winpthreads' is many times slower at waking a thread. */
struct base_condition {
#ifdef _WIN32
    _Atomic uint32_t turn;
#else
    pthread_cond_t condition;
#endif
};

void base_condition_init(struct base_condition *condition);
void base_condition_destroy(struct base_condition *condition);
void base_condition_wait(struct base_condition *condition, pthread_mutex_t *lock);
/* Until a time of base_now_ns() at most; false: it is that time. */
bool base_condition_wait_until(struct base_condition *condition, pthread_mutex_t *lock, uint64_t ns);
/* Wakes one, or all. */
void base_condition_signal(struct base_condition *condition);
void base_condition_broadcast(struct base_condition *condition);

/* ---- events of the application: eventfds, HANDLEs of Windows' events ---- */

typedef intptr_t base_event;
#define BASE_NO_EVENT ((base_event)-1)

/* A duplicate of `handle`, an event of the application, which may close its handle immediately; for NULL a new event.
 * BASE_NO_EVENT: no more are available, or, with *out_invalid, `handle` is invalid. */
base_event base_event_open(void *handle, bool *out_invalid);
void base_event_close(base_event event);
void base_event_set(base_event event);
void base_event_wait(base_event event);
/* Sets an event of the application; false: `handle` is invalid. */
bool base_event_set_handle(void *handle);

/* ---- time ---- */

/* Nanoseconds of a clock that is never adjusted; for measurements. */
uint64_t base_ticks_ns(void);

/* ---- memory ---- */

/* As aligned_alloc, for base_aligned_release alone. `bytes` is a multiple of `alignment`, a power of two. */
void *base_aligned_acquire(size_t alignment, size_t bytes);
void base_aligned_release(void *memory);

/* Memory that the whole process has freed goes back to the system. */
void base_give_back(void);

enum base_map_flags {
    BASE_MAP_HUGE = 1, /* in huge pages if the system supports them */
    BASE_MAP_RESERVE =
        2, /* addresses only: pages are allocated on first access, possibly beyond the available memory */
};

/* Zeroed pages at a multiple of `alignment`, a power of two; NULL: out of memory. */
void *base_map(uint64_t bytes, uint64_t alignment, unsigned flags);
void base_unmap(void *memory, uint64_t bytes);

/* Mapping the same pages at several addresses. Not supported on all systems. */
bool base_can_map_twice(void);
/* Prepares pages for base_map_twice; their addresses and contents do not change. */
bool base_map_make_shared(void *memory, uint64_t bytes, unsigned flags);
/* Maps pages of such memory also at `at`, in memory from base_map, replacing the pages there. */
bool base_map_twice(void *at, void *memory, uint64_t bytes);
/* Zeroed pages there again. */
bool base_map_nothing(void *at, uint64_t bytes);

/* Memory of the machine, and what of it is available, or of this process's control group or address space.
 * UINT64_MAX: unknown. */
uint64_t base_memory_total(void);
uint64_t base_memory_available(void);
/* In use by this process. */
uint64_t base_memory_resident(void);

/* Of the last level that cores share; 0: unknown. */
uint64_t base_cache_bytes(void);

/* ---- CPUs ---- */

/* A fast check whether there may be a GPU: driver libraries are large. */
bool base_gpu_likely(void);

/* What GPUs are for Linux, and for Linux's Wine; /dev/dri/card* are displays, also of machines without a GPU. */
#define BASE_GPU_NODES                                                                                                 \
    "/dev/dri/renderD*", "/dev/nvidia*", "/dev/dxg", "/dev/kgsl*", "/dev/mali*", "/dev/nvhost*", "/dev/nvgpu*",        \
        "/dev/pvr*"

/* Requests permission to use the tile registers. */
bool base_request_tiles(void);

#endif
