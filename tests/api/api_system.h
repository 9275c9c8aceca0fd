/* SPDX-License-Identifier: Apache-2.0 */
/* What tests need from the system: events of the application, threads, and the resources that the process uses. */
#ifndef TESTS_API_SYSTEM_H
#define TESTS_API_SYSTEM_H

#include <anydml_d3d12.h>

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- events: eventfds, which count how often they fire; manual-reset events of Windows, which do not ---- */

#ifdef _WIN32

#include <psapi.h>

#define API_EVENTS_COUNT false
/* Mapping the same pages at several addresses, which reserved resources of the cpu adapter use. */
#define API_MAPS_TWICE false

static inline HANDLE api_event_create(void)
{
    return CreateEventW(NULL, TRUE, FALSE, NULL);
}

static inline bool api_event_fired(HANDLE event, int timeout_ms)
{
    return WaitForSingleObject(event, (DWORD)timeout_ms) == WAIT_OBJECT_0;
}

/* The same event under another number. */
static inline HANDLE api_event_duplicate(HANDLE event)
{
    HANDLE other = NULL;
    DuplicateHandle(GetCurrentProcess(), event, GetCurrentProcess(), &other, 0, FALSE, DUPLICATE_SAME_ACCESS);
    return other;
}

static inline void api_event_close(HANDLE event)
{
    CloseHandle(event);
}

/* The number of times it fired since the last such call. */
static inline uint64_t api_event_take(HANDLE event)
{
    const bool fired = api_event_fired(event, 0);
    ResetEvent(event);
    return fired;
}

static inline unsigned api_open_handles(void)
{
    DWORD count = 0;
    GetProcessHandleCount(GetCurrentProcess(), &count);
    return count;
}

static inline int api_thread_id(void)
{
    return (int)GetCurrentThreadId();
}

/* Waits until a thread, whose number it writes to *thread when it starts, sleeps: longer than a spin. Systems that do
 * not report it: a tenth of a second is longer. */
static inline void api_await_sleep(const int *thread)
{
    while (!__atomic_load_n(thread, __ATOMIC_ACQUIRE))
        Sleep(1);
    Sleep(100);
}

static inline uint64_t api_machine_bytes(void)
{
    MEMORYSTATUSEX status = { .dwLength = sizeof(status) };
    return GlobalMemoryStatusEx(&status) ? status.ullTotalPhys : 0;
}

static inline int64_t api_resident_bytes(void)
{
    PROCESS_MEMORY_COUNTERS counters = { .cb = sizeof(counters) };
    return GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof(counters)) ? (int64_t)counters.WorkingSetSize
                                                                                  : 0;
}

/* By malloc. */
static inline size_t api_allocated_bytes(void)
{
    PROCESS_HEAP_ENTRY entry = { 0 };
    const HANDLE heap = GetProcessHeap();
    size_t bytes = 0;
    HeapLock(heap);
    while (HeapWalk(heap, &entry))
        if (entry.wFlags & PROCESS_HEAP_ENTRY_BUSY)
            bytes += entry.cbData;
    HeapUnlock(heap);
    return bytes;
}

/* Releases free memory. */
static inline void api_trim_heap(void)
{
    HeapCompact(GetProcessHeap(), 0);
}

static inline void api_small_pages(void)
{
}

#else

#include <dirent.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#define API_EVENTS_COUNT true
#define API_MAPS_TWICE   true

static inline HANDLE api_event_create(void)
{
    int fd = eventfd(0, EFD_CLOEXEC);
    return fd > 0 ? (HANDLE)(intptr_t)fd : NULL;
}

static inline bool api_event_fired(HANDLE event, int timeout_ms)
{
    struct pollfd ready = { (int)(intptr_t)event, POLLIN, 0 };
    return poll(&ready, 1, timeout_ms) == 1;
}

static inline HANDLE api_event_duplicate(HANDLE event)
{
    return (HANDLE)(intptr_t)dup((int)(intptr_t)event);
}

static inline void api_event_close(HANDLE event)
{
    close((int)(intptr_t)event);
}

static inline uint64_t api_event_take(HANDLE event)
{
    uint64_t count = 0;
    if (!api_event_fired(event, 0) || read((int)(intptr_t)event, &count, sizeof(count)) != sizeof(count))
        return 0;
    return count;
}

static inline unsigned api_open_handles(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned count = 0;
    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

static inline int api_thread_id(void)
{
    return gettid();
}

static inline void api_await_sleep(const int *thread)
{
    for (char state = 0; state != 'S';) {
        char path[64];
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
        snprintf(path, sizeof(path), "/proc/self/task/%d/stat", __atomic_load_n(thread, __ATOMIC_ACQUIRE));
        FILE *stat = fopen(path, "r"); /* none: it has not started */
        if (stat && fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
            abort();
        if (stat)
            fclose(stat);
    }
}

static inline uint64_t api_machine_bytes(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static inline int64_t api_resident_bytes(void)
{
    long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file || fscanf(file, "%ld %ld", &total, &resident) != 2)
        abort();
    fclose(file);
    return (int64_t)resident * sysconf(_SC_PAGESIZE);
}

static inline size_t api_allocated_bytes(void)
{
    return mallinfo2().uordblks;
}

static inline void api_trim_heap(void)
{
    malloc_trim(0);
}

/* Memory does not grow by 2 MiB at once, whatever allocates it. */
static inline void api_small_pages(void)
{
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

#endif

#endif
