/* SPDX-License-Identifier: Apache-2.0 */
/* Threads and locks are winpthreads', linked into each library. */
#include "base/os.h"

#include "base/clock.h"
#include "base/wait.h"

#include <malloc.h>
#include <psapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

/* ---- the process ---- */

const char *base_environment(const char *name)
{
    return getenv(name); /* programs never have more rights than the user who started them */
}

uint32_t base_thread_id(void)
{
    return GetCurrentThreadId();
}

uint32_t base_process_id(void)
{
    return GetCurrentProcessId();
}

void base_on_fork(void (*child)(void))
{
    (void)child; /* unsupported */
}

void base_library_stay(const void *code)
{
    HMODULE self;
    GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN, code, &self);
}

/* Not from the working folder or PATH. */
void *base_library_open(const char *name, char *why, size_t why_bytes)
{
    HMODULE library = LoadLibraryExA(name, NULL, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
    if (!library)
        snprintf(why, why_bytes, "%s: error %lu", name, (unsigned long)GetLastError());
    return library;
}

void *base_library_loaded(const char *name)
{
    HMODULE library = NULL;
    return GetModuleHandleExA(0, name, &library) ? library : NULL;
}

void *base_library_symbol(void *library, const char *name)
{
    return (void *)GetProcAddress(library, name);
}

void base_library_close(void *library)
{
    FreeLibrary(library);
}

void base_write_error(const char *text, size_t length)
{
    DWORD written;
    WriteFile(GetStdHandle(STD_ERROR_HANDLE), text, (DWORD)length, &written, NULL);
}

/* ---- threads ---- */

bool base_thread_start(pthread_t *out, const char *name, size_t stack_bytes, unsigned flags, void *(*run)(void *),
                       void *argument)
{
    pthread_attr_t attributes;
    base_library_stay((const void *)(uintptr_t)run); /* which a detached thread may be in until the process ends */
    pthread_attr_init(&attributes);
    if (flags & BASE_THREAD_DETACHED)
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (stack_bytes)
        pthread_attr_setstacksize(&attributes, stack_bytes);
    bool made = !pthread_create(out, &attributes, run, argument);
    pthread_attr_destroy(&attributes);
    (void)name; /* winpthreads may not know a detached thread any more */
    return made;
}

void base_yield(void)
{
    SwitchToThread();
}

/* Waiting threads sleep while `turn` has the value that it had under the lock: the waking thread changes it first. */

void base_condition_init(struct base_condition *condition)
{
    atomic_store(&condition->turn, 0);
}

void base_condition_destroy(struct base_condition *condition)
{
    (void)condition;
}

static bool condition_wait(struct base_condition *condition, pthread_mutex_t *lock, DWORD milliseconds)
{
    uint32_t turn = atomic_load(&condition->turn);
    pthread_mutex_unlock(lock);
    const bool woken = WaitOnAddress((volatile void *)&condition->turn, &turn, sizeof(turn), milliseconds);
    pthread_mutex_lock(lock);
    return woken;
}

void base_condition_wait(struct base_condition *condition, pthread_mutex_t *lock)
{
    condition_wait(condition, lock, INFINITE);
}

bool base_condition_wait_until(struct base_condition *condition, pthread_mutex_t *lock, uint64_t ns)
{
    const uint64_t now = base_now_ns();
    if (now >= ns)
        return false;
    return condition_wait(condition, lock, (DWORD)BASE_MIN((ns - now + 999999) / 1000000, INFINITE - 1));
}

void base_condition_signal(struct base_condition *condition)
{
    atomic_fetch_add(&condition->turn, 1);
    WakeByAddressSingle((void *)&condition->turn);
}

void base_condition_broadcast(struct base_condition *condition)
{
    atomic_fetch_add(&condition->turn, 1);
    WakeByAddressAll((void *)&condition->turn);
}

void base_wait_word(_Atomic uint32_t *word, uint32_t value)
{
    WaitOnAddress((volatile void *)word, &value, sizeof(value), INFINITE);
}

void base_wake_word(_Atomic uint32_t *word)
{
    WakeByAddressSingle((void *)word);
}

/* ---- events ---- */

base_event base_event_open(void *handle, bool *out_invalid)
{
    const HANDLE here = GetCurrentProcess();
    HANDLE own = NULL;
    if (!handle)
        own = CreateEventW(NULL, TRUE, FALSE, NULL);
    *out_invalid = handle && !DuplicateHandle(here, handle, here, &own, 0, FALSE, DUPLICATE_SAME_ACCESS) &&
                   GetLastError() == ERROR_INVALID_HANDLE;
    return own ? (base_event)own : BASE_NO_EVENT;
}

void base_event_close(base_event event)
{
    CloseHandle((HANDLE)event);
}

void base_event_set(base_event event)
{
    SetEvent((HANDLE)event);
}

void base_event_wait(base_event event)
{
    WaitForSingleObject((HANDLE)event, INFINITE);
}

bool base_event_set_handle(void *handle)
{
    return SetEvent(handle);
}

/* ---- time ---- */

uint64_t base_ticks_ns(void)
{
    return base_now_ns();
}

/* ---- memory ---- */

void *base_aligned_acquire(size_t alignment, size_t bytes)
{
    return _aligned_malloc(bytes, alignment);
}

void base_aligned_release(void *memory)
{
    _aligned_free(memory);
}

void base_give_back(void)
{
    HeapCompact(GetProcessHeap(), 0);
}

/* Mappings start at multiples of 64 KiB. For larger alignments, addresses are reserved to find a suitable range, and
 * released: other threads may allocate it before us, but not every time. */
void *base_map(uint64_t bytes, uint64_t alignment, unsigned flags)
{
    enum { GRANULARITY = 65536, TRIES = 16 };
    (void)flags; /* the system maps pages when they are touched, and large ones only for programs that may */
    if (bytes > UINT64_MAX - alignment)
        return NULL;
    if (alignment <= GRANULARITY)
        return VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    for (int i = 0; i < TRIES; i++) {
        char *place = VirtualAlloc(NULL, bytes + alignment, MEM_RESERVE, PAGE_NOACCESS);
        if (!place)
            return NULL;
        VirtualFree(place, 0, MEM_RELEASE);
        void *aligned = (void *)base_align_up((uintptr_t)place, alignment);
        aligned = VirtualAlloc(aligned, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
        if (aligned)
            return aligned;
    }
    return NULL;
}

void base_unmap(void *memory, uint64_t bytes)
{
    (void)bytes;
    VirtualFree(memory, 0, MEM_RELEASE);
}

bool base_can_map_twice(void)
{
    return false;
}

bool base_map_make_shared(void *memory, uint64_t bytes, unsigned flags)
{
    (void)memory, (void)bytes, (void)flags;
    return false;
}

bool base_map_twice(void *at, void *memory, uint64_t bytes)
{
    (void)at, (void)memory, (void)bytes;
    return false;
}

bool base_map_nothing(void *at, uint64_t bytes)
{
    memset(at, 0, bytes);
    return true;
}

static MEMORYSTATUSEX memory_status(void)
{
    MEMORYSTATUSEX status = { .dwLength = sizeof(status) };
    if (!GlobalMemoryStatusEx(&status))
        status.ullTotalPhys = status.ullAvailPageFile = UINT64_MAX;
    return status;
}

uint64_t base_memory_total(void)
{
    return memory_status().ullTotalPhys;
}

uint64_t base_memory_available(void)
{
    return memory_status().ullAvailPageFile; /* memory that may still be committed */
}

uint64_t base_memory_resident(void)
{
    PROCESS_MEMORY_COUNTERS counters = { .cb = sizeof(counters) };
    return GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof(counters)) ? counters.WorkingSetSize : 0;
}

uint64_t base_cache_bytes(void)
{
    SYSTEM_LOGICAL_PROCESSOR_INFORMATION info[512];
    DWORD bytes = sizeof(info);
    uint64_t largest = 0;
    if (!GetLogicalProcessorInformation(info, &bytes))
        return 0;
    for (size_t i = 0; i < bytes / sizeof(info[0]); i++)
        if (info[i].Relationship == RelationCache && info[i].Cache.Level == 3)
            largest = BASE_MAX(largest, (uint64_t)info[i].Cache.Size);
    return largest;
}

/* ---- CPUs ---- */

/* Is there a file of that pattern, in the last part, on the system below Wine? */
static bool find_below(const char *pattern)
{
    WIN32_FIND_DATAA file;
    char path[64];
    snprintf(path, sizeof(path), "\\\\?\\unix%s", pattern);
    for (char *at = path; *at; at++)
        if (*at == '/')
            *at = '\\';
    HANDLE search = FindFirstFileA(path, &file);
    if (search == INVALID_HANDLE_VALUE)
        return false;
    while (file.cFileName[0] == '.' && FindNextFileA(search, &file))
        ;
    FindClose(search);
    return file.cFileName[0] != '.';
}

/* vulkan-1.dll in Windows' own folder was installed by a GPU driver. */
bool base_gpu_likely(void)
{
    static const char *const nodes[] = { BASE_GPU_NODES };
    bool found = !GetProcAddress(GetModuleHandleA("ntdll.dll"), "wine_get_version");
    for (size_t i = 0; !found && i < ARRAY_SIZE(nodes); i++)
        found = find_below(nodes[i]);
    return found;
}

/* Windows grants them through a function of its newer versions. Wine does not have it, so there the Linux system call
 * is used, up to the tested Wine version: later ones interpret a program's system calls as Windows'. */
bool base_request_tiles(void)
{
    enum { TILE_DATA = 18, SYS_ARCH_PRCTL = 158, REQUEST_PERMISSION = 0x1023, WINE_MOST = 8 };
    BOOL(WINAPI * enable)(DWORD64) = NULL;
    const char *(__cdecl * wine_version)(void) = NULL;
    const HMODULE kernel = GetModuleHandleA("kernel32.dll"), nt = GetModuleHandleA("ntdll.dll");
    *(FARPROC *)&enable = GetProcAddress(kernel, "EnableProcessOptionalXStateFeatures");
    if (enable)
        return enable(1ull << TILE_DATA);
    *(FARPROC *)&wine_version = GetProcAddress(nt, "wine_get_version");
    if (!wine_version || strtol(wine_version(), NULL, 10) > WINE_MOST)
        return false;
    int64_t result = SYS_ARCH_PRCTL;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"((int64_t)REQUEST_PERMISSION), "S"((int64_t)TILE_DATA)
                     : "rcx", "r11", "memory");
    return result == 0;
}
