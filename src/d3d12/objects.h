/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of the Direct3D 12 front end and their internal interfaces. Fields are guarded as their comments state;
 * plain ones never change after creation. */
#ifndef D3D12_OBJECTS_H
#define D3D12_OBJECTS_H

#include "base/os.h"
#include "com/com.h"
#include "d3d12/adapter.h"
#include "d3d12/private.h"
#include "d3d12/table.h"

#define D3D_PLACEMENT_ALIGNMENT 65536ull
#define D3D_DESCRIPTOR_SIZE     64u /* distance of two descriptor handles */

struct d3d_info_queue;
struct d3d_recording;
struct d3d_submission;
struct d3d_worker;

/* ---- places.c ---- */

/* Owner of the memory: a heap, or a resource with its own memory. Weak reference. */
struct d3d_place {
    struct adapter_memory *memory;
    struct com_object *owner;
};

struct d3d_places {
    struct d3d_place *list;
    uint32_t count, capacity;
};

/* A zeroed struct is empty. false: memory is short. */
bool d3d_places_insert(struct d3d_places *places, struct adapter_memory *memory, struct com_object *owner);
/* No effect if it is not registered. */
void d3d_places_remove(struct d3d_places *places, const struct adapter_memory *memory);
/* NULL: no owner. */
const struct d3d_place *d3d_places_find(const struct d3d_places *places, uint64_t address);
void d3d_places_finish(struct d3d_places *places);

/* ---- device.c ---- */

/* A further interface of the device with its own pointer; shares the device's reference count. */
struct d3d_tear_off {
    const void *lpVtbl;
    struct d3d_device *device;
};

struct d3d_device {
    struct com_object base; /* ID3D12Device9 */
    struct d3d_tear_off private_tear_off, info_queue_tear_off, debug_tear_off;
    const struct adapter_info *info;
    const struct adapter_ops *ops; /* of the adapter; in the child of a fork, perhaps d3d_inherited_ops */
    struct adapter_device *adapter;
    struct adapter_info adopted_info; /* the target of `info` if the device was created over the application's */
    _Atomic(HRESULT) removed_reason;  /* S_OK while the device lives */

    pthread_mutex_t fences_lock; /* acquired before a fence's lock */
    struct d3d_fence *fences;    /* weak */

    pthread_mutex_t tables_lock; /* guards the tables and the contents of all descriptor slots; nothing is called while
                                    it is held */
    struct d3d_table resources;  /* id -> struct d3d_resource, weak */
    struct d3d_table heaps;      /* id -> struct d3d_descriptor_heap, weak */
    struct d3d_places places;    /* of SPIRV adapters: all memory of heaps and resources */

    struct d3d_device *next, **at; /* in the list of all devices, under its lock (device.c) */

    struct d3d_info_queue *info_queue; /* NULL without the debug layer */
    atomic_uint debug_features;        /* ID3D12DebugDevice's mask */
};

extern const ID3D12Device9Vtbl d3d_device_vtbl;

/* inherited.c: marks inherited devices that involve drivers as removed in the child of a fork. */
extern const struct adapter_ops d3d_inherited_ops;

static inline bool d3d_inherited(const struct d3d_device *device)
{
    return device->ops == &d3d_inherited_ops;
}

/* The adapter's one device in this process, with a new application reference. */
HRESULT d3d_device_open(const struct adapter_info *info, struct d3d_device **out);

/* Creates a device over one of the adapter's, of which it takes ownership; on failure the caller still owns it. */
HRESULT d3d_device_adopt(const struct adapter_info *info, struct adapter_device *adapter, struct d3d_device **out);

/* From now on, until it is forgotten, `memory` is found by its addresses. E_OUTOFMEMORY. */
HRESULT d3d_device_note_memory(struct d3d_device *device, struct adapter_memory *memory, struct com_object *owner);
void d3d_device_forget_memory(struct d3d_device *device, const struct adapter_memory *memory);

/* A number that is unique among all objects of this process, past and present. */
uint64_t d3d_unique_id(void);

/* Of this process since it used the library first: threads of before are not in it. */
uint32_t d3d_fork_count(void);

static inline struct d3d_device *d3d_device_from(void *iface)
{
    return iface;
}

static inline bool d3d_removed(struct d3d_device *device)
{
    return atomic_load(&device->removed_reason) != S_OK;
}

/* The first reason wins. Wakes everything that waits for a fence of this device. */
void d3d_device_remove(struct d3d_device *device, HRESULT reason, const char *format, ...) BASE_PRINTF(3, 4);

/* Maps `hr` of an adapter's function; if the adapter lost its device, this device is removed. `what` describes the
 * operation. */
HRESULT d3d_adapter_result(struct d3d_device *device, HRESULT hr, const char *what);
/* Memory of the adapter's; `message` (ADAPTER_MESSAGE_BYTES) receives what the adapter says of E_OUTOFMEMORY, or "". */
HRESULT d3d_memory_create(struct d3d_device *device, enum adapter_memory_kind kind, uint64_t size,
                          struct adapter_memory **out, char *message);

HRESULT d3d_tear_off_QueryInterface(void *iface, REFIID riid, void **out);
ULONG d3d_tear_off_AddRef(void *iface);
ULONG d3d_tear_off_Release(void *iface);
#define D3D_TEAR_OFF_METHODS                                                                                           \
    .QueryInterface = (void *)d3d_tear_off_QueryInterface, .AddRef = (void *)d3d_tear_off_AddRef,                      \
    .Release = (void *)d3d_tear_off_Release

static inline struct d3d_device *d3d_parent(void *object)
{
    return (struct d3d_device *)((struct com_object *)object)->parent;
}

/* ---- message.c ---- */

/* To the info queue, if there is one, and to stderr. Not under a lock: the application's callback may run. */
void d3d_message(struct d3d_device *device, D3D12_MESSAGE_SEVERITY severity, D3D12_MESSAGE_CATEGORY category,
                 D3D12_MESSAGE_ID id, const char *text);
void d3d_warn(struct d3d_device *device, D3D12_MESSAGE_ID id, const char *format, ...) BASE_PRINTF(3, 4);
/* An error message; returns hr. */
HRESULT d3d_fail(struct d3d_device *device, HRESULT hr, const char *format, ...) BASE_PRINTF(3, 4);
/* Likewise, with the number that Direct3D 12 has for it. */
HRESULT d3d_fail_as(struct d3d_device *device, HRESULT hr, D3D12_MESSAGE_ID id, const char *format, ...)
    BASE_PRINTF(4, 5);
D3D12_MESSAGE_CATEGORY d3d_message_category(D3D12_MESSAGE_ID id);
/* "method" is not there: says so once per call site's method, returns E_NOTIMPL. */
HRESULT d3d_not_implemented(struct d3d_device *device, const char *method);

/* The first lines of every creating method: *out = NULL, then DXGI_ERROR_DEVICE_REMOVED or S_OK. */
HRESULT d3d_create_begin(struct d3d_device *device, void **out);
/* The same for methods that may not be called with out == NULL. */
HRESULT d3d_create_begin_strict(struct d3d_device *device, const char *method, void **out);

/* ---- debug.c, info_queue.c ---- */

bool d3d_debug_enabled(void);
HRESULT d3d_debug_create(REFIID riid, void **out);
HRESULT d3d_dred_create(REFIID riid, void **out);
extern const ID3D12DebugDeviceVtbl d3d_debug_device_vtbl;
extern const ID3D12InfoQueue1Vtbl d3d_info_queue_vtbl;
struct d3d_info_queue *d3d_info_queue_create(void);
void d3d_info_queue_destroy(struct d3d_info_queue *queue);
void d3d_info_queue_add(struct d3d_info_queue *queue, D3D12_MESSAGE_CATEGORY category, D3D12_MESSAGE_SEVERITY severity,
                        D3D12_MESSAGE_ID id, const char *text);
bool d3d_info_queue_muted(struct d3d_info_queue *queue);

extern const struct AnydmlDeviceVtbl d3d_private_device_vtbl;

/* ---- heap.c, resource.c ---- */

/* Counted by MakeResident and Evict. */
struct d3d_pageable {
    struct com_object base;
    atomic_int residency;
};

struct d3d_heap {
    struct d3d_pageable pageable; /* ID3D12Heap1 */
    D3D12_HEAP_DESC desc;
    struct adapter_memory *memory;
    uint64_t id;
};

extern const ID3D12Heap1Vtbl d3d_heap_vtbl;

/* Checks properties and flags; `method` is for the message. */
HRESULT d3d_heap_check(struct d3d_device *device, const char *method, const D3D12_HEAP_PROPERTIES *properties,
                       D3D12_HEAP_FLAGS flags);
enum adapter_memory_kind d3d_heap_memory_kind(const D3D12_HEAP_PROPERTIES *properties);

/* The mapping of a tile of a reserved resource. */
struct d3d_tile {
    struct d3d_heap *heap; /* kept; NULL = unmapped */
    uint32_t index;        /* of the heap's tiles */
};

struct d3d_tiles {
    pthread_mutex_t lock; /* guards the map, which follows the order of the queues rather than of the calls */
    uint32_t count;
    struct d3d_tile map[];
};

struct d3d_resource {
    struct d3d_pageable pageable; /* ID3D12Resource2 */
    D3D12_RESOURCE_DESC desc;
    D3D12_HEAP_PROPERTIES properties;
    D3D12_HEAP_FLAGS heap_flags;
    struct d3d_heap *heap;   /* kept; NULL = committed or reserved */
    struct d3d_tiles *tiles; /* NULL = not reserved */
    struct adapter_memory *memory;
    struct adapter_memory borrowed; /* the target of `memory` if it is the application's */
    uint64_t offset;                /* in memory */
    uint64_t id, memory_id;
    uint64_t memory_start; /* address of the memory within the space that memory_id names */
    atomic_int map_count;
};

extern const ID3D12Resource2Vtbl d3d_resource_vtbl;

static inline struct adapter_binding d3d_resource_range(const struct d3d_resource *resource, uint64_t offset,
                                                        uint64_t size)
{
    return (struct adapter_binding){ resource->memory, resource->offset + offset, size, resource->id };
}

/* AnydmlCreateBufferFromMemory on one of our devices. */
HRESULT d3d_resource_borrow(struct d3d_device *device, void *address, uint64_t bytes, REFIID riid, void **out);
/* A DEFAULT buffer of `bytes`, a multiple of 4, over memory of which it takes ownership, also on failure; all of the
 * application's memory is in one space, so that overlaps are detected. */
HRESULT d3d_resource_open(struct d3d_device *device, const char *method, struct adapter_memory *memory, uint64_t bytes,
                          REFIID riid, void **out);
/* NULL, or an error in a buffer's description (format with %s: the rule). */
const char *d3d_resource_desc_error(const D3D12_RESOURCE_DESC *desc);
/* NULL, or an error in this combination of states for a buffer. */
const char *d3d_states_error(D3D12_RESOURCE_STATES states);

/* ---- tiles.c ---- */

#define D3D_TILE_BYTES 65536u

struct d3d_tiles *d3d_tiles_create(uint64_t bytes);
void d3d_tiles_destroy(struct d3d_tiles *tiles);

/* A checked UpdateTileMappings or CopyTileMappings on its way through a queue. */
struct d3d_tile_update;

struct d3d_tile_regions {
    UINT count;
    const D3D12_TILED_RESOURCE_COORDINATE *starts;
    const D3D12_TILE_REGION_SIZE *sizes;
};

struct d3d_tile_ranges {
    UINT count;
    const D3D12_TILE_RANGE_FLAGS *flags;
    const UINT *offsets, *counts;
};

/* NULL: nothing to do, with a message if the call is dropped. */
struct d3d_tile_update *d3d_tile_update_create(struct d3d_device *device, ID3D12Resource *resource, ID3D12Heap *heap,
                                               const struct d3d_tile_regions *regions,
                                               const struct d3d_tile_ranges *ranges);
struct d3d_tile_update *d3d_tile_copy_create(struct d3d_device *device, ID3D12Resource *to,
                                             const D3D12_TILED_RESOURCE_COORDINATE *to_start, ID3D12Resource *from,
                                             const D3D12_TILED_RESOURCE_COORDINATE *from_start,
                                             const D3D12_TILE_REGION_SIZE *size);
/* Executes it, once; a failure removes the device. */
void d3d_tile_update_run(struct d3d_device *device, const struct d3d_tile_update *update);
void d3d_tile_update_destroy(struct d3d_tile_update *update);

/* ---- descriptor_heap.c ---- */

struct d3d_descriptor {
    uint64_t resource_id;  /* 0 = empty */
    uint64_t offset, size; /* bytes */
    DXGI_FORMAT format;    /* of a typed view, else UNKNOWN or R32_TYPELESS (raw) */
    uint32_t stride;       /* bytes of one element */
};

struct d3d_descriptor_heap {
    struct d3d_pageable pageable; /* ID3D12DescriptorHeap */
    D3D12_DESCRIPTOR_HEAP_DESC desc;
    uint64_t id;                  /* the upper half of its handles */
    struct d3d_descriptor *slots; /* guarded by the device's tables_lock */
};

extern const ID3D12DescriptorHeapVtbl d3d_descriptor_heap_vtbl;

/* The heap that contains [handle, handle + count), and the first index; NULL if there is none. Under tables_lock. */
struct d3d_descriptor_heap *d3d_descriptors_find(struct d3d_device *device, uint64_t handle, uint64_t count, bool gpu,
                                                 uint32_t *out_index);

/* ---- query_heap.c ---- */

struct d3d_query_heap {
    struct d3d_pageable pageable; /* ID3D12QueryHeap */
    D3D12_QUERY_HEAP_DESC desc;
    struct adapter_queries *queries;
};

extern const ID3D12QueryHeapVtbl d3d_query_heap_vtbl;

/* ---- fence.c ---- */

struct d3d_waiter;
struct d3d_fence;

/* Operations of a fence backed by an imported semaphore (interop_fence.c). */
struct d3d_fence_ops {
    uint64_t (*value)(struct d3d_fence *fence);
    /* From the host; E_INVALIDARG if the counter cannot have that value. */
    HRESULT (*signal)(struct d3d_fence *fence, uint64_t value);
    /* After all previous work of the queue, without waiting for it. */
    void (*queue_signal)(struct d3d_fence *fence, struct adapter_queue *queue, uint64_t value);
    void (*wait)(struct d3d_fence *fence, uint64_t value);
    void (*watch)(struct d3d_fence *fence); /* there is a new waiter. E_OUTOFMEMORY removes the device */
    void (*destroy)(struct d3d_fence *fence);
};

/* A queue's signal whose preceding work was submitted to the device but is not complete. */
struct d3d_pending {
    struct d3d_pending *next;
    uint64_t value, order; /* order: of the fence's, from 1 */
    struct adapter_point point;
};

struct d3d_fence {
    struct com_object base;       /* ID3D12Fence1 */
    struct d3d_fence *next, **at; /* in the device's list, under its fences_lock */
    D3D12_FENCE_FLAGS flags;
    _Atomic uint64_t value;
    pthread_mutex_t lock;
    struct base_condition fired;
    uint32_t sleepers;               /* under lock: threads in cond_wait */
    struct d3d_waiter *waiters;      /* under lock */
    struct d3d_pending *pending;     /* under lock */
    uint64_t orders;                 /* under lock: of `pending` until now */
    const struct d3d_fence_ops *ops; /* NULL: `value` is stored in the fence */
    void *counter;                   /* of `ops` */
};

extern const ID3D12Fence1Vtbl d3d_fence_vtbl;

static inline uint64_t d3d_fence_value(struct d3d_fence *fence)
{
    return fence->ops ? fence->ops->value(fence) : atomic_load_explicit(&fence->value, memory_order_acquire);
}

/* With one reference, without `ops`. NULL: memory is short. */
struct d3d_fence *d3d_fence_new(struct d3d_device *device, uint64_t value);
/* Under the lock: fires waiters up to `value`, and returns the smallest value of the remaining ones (false: none). */
void d3d_fence_fire(struct d3d_fence *fence, uint64_t value);
bool d3d_fence_next(const struct d3d_fence *fence, uint64_t *out);
void d3d_fence_signal(struct d3d_fence *fence, uint64_t value);
/* Blocks until the fence has reached the value or the device is removed. */
void d3d_fence_wait(struct d3d_fence *fence, uint64_t value);
/* For queues that wait for each other on the device: a queue's signal. Between pend and reach, which signals the value,
 * others may wait for the timeline point instead; *pending is owned by the caller. */
void d3d_fence_pend(struct d3d_fence *fence, struct d3d_pending *pending);
void d3d_fence_reach(struct d3d_fence *fence, const struct d3d_pending *pending);
/* true: the fence has reached the value, or the next batches of `queue` wait until it has, or *hr is a failure.
 * *out_order: of the signal that they wait for, 0: none. */
bool d3d_fence_try_wait(struct d3d_fence *fence, uint64_t value, struct adapter_queue *queue, uint64_t *out_order,
                        HRESULT *hr);
/* Blocks until d3d_fence_try_wait returns true. */
HRESULT d3d_fence_wait_by(struct d3d_fence *fence, uint64_t value, struct adapter_queue *queue, uint64_t *out_order);
/* Blocks until the signal of that order has been reached: everything visible to the device at that point is then
 * visible to the host. */
void d3d_fence_await(struct d3d_fence *fence, uint64_t order);
/* After device removal: the value becomes UINT64_MAX permanently. */
void d3d_fence_remove(struct d3d_fence *fence);

/* true if *word differs from `old`; polls for a few microseconds before a thread sleeps. */
bool d3d_spin(const atomic_uint *word, unsigned old);

/* ---- interop.c ---- */

/* Ours and on Vulkan, with *out cleared; else NULL and *hr. */
struct d3d_device *d3d_vulkan_device(ID3D12Device *iface, const char *method, void **out, HRESULT *hr);

/* ---- command_allocator.c ---- */

struct d3d_command_allocator {
    struct com_object base; /* ID3D12CommandAllocator */
    D3D12_COMMAND_LIST_TYPE type;
    atomic_uint generation; /* number of Resets */
    _Atomic(void *) user;   /* the list that records with it, identity only */
};

extern const ID3D12CommandAllocatorVtbl d3d_command_allocator_vtbl;

/* ---- command_queue.c, worker.c ---- */

struct d3d_command_queue {
    struct com_object base; /* ID3D12CommandQueue */
    D3D12_COMMAND_QUEUE_DESC desc;
    struct d3d_worker *worker;
    pthread_mutex_t temp_lock; /* guards `temp` */
    struct d3d_resource *temp; /* of runs; NULL: not needed yet */
};

extern const ID3D12CommandQueueVtbl d3d_command_queue_vtbl;

/* AnydmlExecuteCommandLists. */
HRESULT d3d_command_queue_execute(struct d3d_command_queue *queue, UINT count, ID3D12CommandList *const *lists);

/* run.c, of private.h's RunDispatch. */
struct anydml_run;
HRESULT d3d_command_queue_run(struct d3d_command_queue *queue, struct anydml_run *run);

HRESULT d3d_worker_create(struct d3d_device *device, D3D12_COMMAND_LIST_TYPE type, struct d3d_worker **out);
/* Ends the thread after all its work; work that waits for a fence continues independently. */
void d3d_worker_close(struct d3d_worker *worker);

enum d3d_work_type { D3D_WORK_EXECUTE, D3D_WORK_SIGNAL, D3D_WORK_WAIT, D3D_WORK_TILES };

struct d3d_work {
    enum d3d_work_type type;
    struct d3d_submission *submission; /* EXECUTE: owned */
    struct d3d_fence *fence;           /* SIGNAL, WAIT: kept */
    struct d3d_tile_update *tiles;     /* TILES: owned */
    uint64_t value;
};

/* false: out of memory, nothing is queued and the caller still owns the objects. If very many runs are pending, waits
 * until there are fewer. */
bool d3d_worker_push(struct d3d_worker *worker, const struct d3d_work *work);
/* Recycled blocks for submissions; NULL = none. */
struct d3d_submission *d3d_worker_acquire_block(struct d3d_worker *worker, size_t bytes);
void d3d_worker_release_block(struct d3d_worker *worker, struct d3d_submission *submission);

/* ---- dxgi_luid.c ---- */

/* The LUID of a DXGI adapter; false: it is not one, or the system has no DXGI. */
bool d3d_dxgi_luid(IUnknown *unknown, LUID *out);

/* ---- views.c ---- */

/* A clear value for one element of the view as a repeated 32-bit word; false when it is not one. */
bool d3d_view_clear_pattern(const struct d3d_descriptor *view, const UINT values[4], uint32_t *out);

#endif
