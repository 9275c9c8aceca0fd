/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of the public interfaces. A test is a program: api_begin(), ok(...)s, return api_end().
 * ANYDML_TEST_ADAPTER names the adapter (cpu by default); a test exits with 77, "skipped", if it does not exist. */
#ifndef TESTS_API_TEST_H
#define TESTS_API_TEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "api_system.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int api_failures;

/* Counts and prints a failed expectation; the test continues. */
#define ok(cond, ...)                                                                                                  \
    do {                                                                                                               \
        if (!(cond)) {                                                                                                 \
            __atomic_add_fetch(&api_failures, 1, __ATOMIC_RELAXED);                                                    \
            fprintf(stderr, "%s:%d: failed: %s: ", __FILE__, __LINE__, #cond);                                         \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputc('\n', stderr);                                                                                       \
        }                                                                                                              \
    } while (0)

/* An HRESULT that must be `want`. */
#define ok_hr(call, want)                                                                                              \
    do {                                                                                                               \
        HRESULT hr_ = (call), want_ = (want);                                                                          \
        ok(hr_ == want_, "got 0x%08x, want 0x%08x", (unsigned)hr_, (unsigned)want_);                                   \
    } while (0)

/* A requirement of the rest of the test. */
#define need(cond)                                                                                                     \
    do {                                                                                                               \
        if (!(cond)) {                                                                                                 \
            fprintf(stderr, "%s:%d: cannot go on: %s\n", __FILE__, __LINE__, #cond);                                   \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static inline const char *api_adapter(void)
{
    const char *name = getenv("ANYDML_TEST_ADAPTER");
    return name && *name ? name : "cpu";
}

static inline bool api_is(const char *adapter)
{
    return !strcmp(api_adapter(), adapter);
}

/* Before anything else: the libraries read their environment once. Messages about intended errors are expected. */
static inline void api_begin(void)
{
    setenv("ANYDML_ADAPTERS", api_adapter(), 1);
    setenv("ANYDML_LOG", "none", 0);
}

static inline ID3D12Device *api_device(void)
{
    ID3D12Device *device = NULL;
    HRESULT hr = D3D12CreateDevice(NULL, (D3D_FEATURE_LEVEL)0x1000, &IID_ID3D12Device, (void **)&device);
    if (hr == DXGI_ERROR_UNSUPPORTED) {
        fprintf(stderr, "no adapter \"%s\" on this machine: skipped\n", api_adapter());
        exit(77);
    }
    ok_hr(hr, S_OK);
    need(device);
    return device;
}

static inline double api_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Objects alive in one of the three libraries; 0 when it is not loaded. */
static inline uint32_t api_live_objects(const char *library)
{
    void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    uint32_t (*count)(void) = NULL;
    if (handle)
        *(void **)&count = dlsym(handle, "AnydmlLiveObjects");
    uint32_t live = count ? count() : 0;
    if (handle)
        dlclose(handle);
    return live;
}

/* Everything must be released; a queue that was released while it waited may take a moment to end. */
static inline int api_end(void)
{
    static const char *const libraries[] = { "libd3d12.so", "libdxcore.so", "libdirectml.so" };
    double limit = api_seconds() + 30;
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        while (api_live_objects(libraries[i]) && api_seconds() < limit)
            nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
        ok(!api_live_objects(libraries[i]), "%u objects of %s live at the end", api_live_objects(libraries[i]),
           libraries[i]);
    }
    return api_failures ? 1 : 0;
}

/* ---- releasing ---- */

/* The remaining reference count. */
static inline ULONG api_release(void *object)
{
    IUnknown *unknown = object;
    return unknown->lpVtbl->Release(unknown);
}

/* ---- buffers ---- */

static inline D3D12_RESOURCE_DESC api_buffer_desc(UINT64 width, D3D12_RESOURCE_FLAGS flags)
{
    return (D3D12_RESOURCE_DESC){
        .Dimension = D3D12_RESOURCE_DIMENSION_BUFFER,
        .Width = width,
        .Height = 1,
        .DepthOrArraySize = 1,
        .MipLevels = 1,
        .SampleDesc = { 1, 0 },
        .Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        .Flags = flags,
    };
}

/* A committed buffer in the state and with the flags that its heap type requires; DEFAULT allows unordered access. */
static inline ID3D12Resource *api_buffer(ID3D12Device *device, D3D12_HEAP_TYPE type, UINT64 width)
{
    D3D12_HEAP_PROPERTIES heap = { .Type = type };
    D3D12_RESOURCE_DESC desc = api_buffer_desc(
        width, type == D3D12_HEAP_TYPE_DEFAULT ? D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS : D3D12_RESOURCE_FLAG_NONE);
    D3D12_RESOURCE_STATES state = type == D3D12_HEAP_TYPE_UPLOAD     ? D3D12_RESOURCE_STATE_GENERIC_READ
                                  : type == D3D12_HEAP_TYPE_READBACK ? D3D12_RESOURCE_STATE_COPY_DEST
                                                                     : D3D12_RESOURCE_STATE_COMMON;
    ID3D12Resource *buffer = NULL;
    ok_hr(ID3D12Device_CreateCommittedResource(device, &heap, D3D12_HEAP_FLAG_NONE, &desc, state, NULL,
                                               &IID_ID3D12Resource, (void **)&buffer),
          S_OK);
    need(buffer);
    return buffer;
}

static inline void *api_map(ID3D12Resource *buffer)
{
    void *data = NULL;
    ok_hr(ID3D12Resource_Map(buffer, 0, NULL, &data), S_OK);
    need(data);
    return data;
}

/* ---- a queue with its list and fence ---- */

struct api_queue {
    ID3D12Device *device;
    ID3D12CommandQueue *queue;
    ID3D12CommandAllocator *allocator;
    ID3D12GraphicsCommandList *list;
    ID3D12Fence *fence;
    UINT64 value;
};

static inline struct api_queue api_queue_of(ID3D12Device *device, D3D12_COMMAND_LIST_TYPE type)
{
    struct api_queue q = { .device = device };
    D3D12_COMMAND_QUEUE_DESC desc = { .Type = type };
    ok_hr(ID3D12Device_CreateCommandQueue(device, &desc, &IID_ID3D12CommandQueue, (void **)&q.queue), S_OK);
    ok_hr(ID3D12Device_CreateCommandAllocator(device, type, &IID_ID3D12CommandAllocator, (void **)&q.allocator), S_OK);
    need(q.queue && q.allocator);
    ok_hr(ID3D12Device_CreateCommandList(device, 0, type, q.allocator, NULL, &IID_ID3D12GraphicsCommandList,
                                         (void **)&q.list),
          S_OK);
    ok_hr(ID3D12Device_CreateFence(device, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, (void **)&q.fence), S_OK);
    need(q.list && q.fence);
    return q;
}

static inline struct api_queue api_queue_create(ID3D12Device *device)
{
    return api_queue_of(device, D3D12_COMMAND_LIST_TYPE_COMPUTE);
}

static inline void api_queue_execute(struct api_queue *q)
{
    ID3D12CommandList *lists[] = { (ID3D12CommandList *)q->list };
    ID3D12CommandQueue_ExecuteCommandLists(q->queue, 1, lists);
}

/* Blocks until everything submitted is done. */
static inline void api_queue_wait(struct api_queue *q)
{
    ok_hr(ID3D12CommandQueue_Signal(q->queue, q->fence, ++q->value), S_OK);
    ok_hr(ID3D12Fence_SetEventOnCompletion(q->fence, q->value, NULL), S_OK);
    ok(ID3D12Fence_GetCompletedValue(q->fence) >= q->value, "fence at %llu",
       (unsigned long long)ID3D12Fence_GetCompletedValue(q->fence));
}

/* Closes, executes, waits and opens the list again. */
static inline void api_queue_run(struct api_queue *q)
{
    ok_hr(ID3D12GraphicsCommandList_Close(q->list), S_OK);
    api_queue_execute(q);
    api_queue_wait(q);
    ok_hr(ID3D12CommandAllocator_Reset(q->allocator), S_OK);
    ok_hr(ID3D12GraphicsCommandList_Reset(q->list, q->allocator, NULL), S_OK);
}

static inline void api_queue_destroy(struct api_queue *q)
{
    api_release(q->list);
    api_release(q->allocator);
    api_release(q->queue);
    api_release(q->fence);
}

static inline void api_transition(struct api_queue *q, ID3D12Resource *resource, D3D12_RESOURCE_STATES before,
                                  D3D12_RESOURCE_STATES after)
{
    D3D12_RESOURCE_BARRIER barrier = {
        .Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION,
        .Transition = { resource, D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES, before, after },
    };
    ID3D12GraphicsCommandList_ResourceBarrier(q->list, 1, &barrier);
}

/* The buffer's first bytes, by way of the queue; its list must be open and empty. */
static inline void api_read(struct api_queue *q, ID3D12Resource *buffer, UINT64 offset, void *out, size_t bytes)
{
    ID3D12Resource *readback = api_buffer(q->device, D3D12_HEAP_TYPE_READBACK, bytes);
    ID3D12GraphicsCommandList_CopyBufferRegion(q->list, readback, 0, buffer, offset, bytes);
    api_queue_run(q);
    if (!api_is("null"))
        memcpy(out, api_map(readback), bytes);
    api_release(readback);
}

static inline void api_write(struct api_queue *q, ID3D12Resource *buffer, UINT64 offset, const void *data, size_t bytes)
{
    ID3D12Resource *upload = api_buffer(q->device, D3D12_HEAP_TYPE_UPLOAD, bytes);
    memcpy(api_map(upload), data, bytes);
    ID3D12GraphicsCommandList_CopyBufferRegion(q->list, buffer, offset, upload, 0, bytes);
    api_queue_run(q);
    api_release(upload);
}

#endif
