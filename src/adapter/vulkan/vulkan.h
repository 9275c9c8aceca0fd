/* SPDX-License-Identifier: Apache-2.0 */
/* The adapter over Vulkan 1.2: buffers are accessed by device address, dispatches are compute pipelines with two
 * addresses as push constants. The loader is opened at run time; without it, or without a device, the adapter is not
 * available. */
#ifndef ADAPTER_VULKAN_VULKAN_H
#define ADAPTER_VULKAN_VULKAN_H

#include "adapter/vulkan/physical.h"
#include "base/hash.h"
#include "base/os.h"

#include <pthread.h>
#include <stdatomic.h>

#define VULKAN_ALIGNMENT  65536u
#define VULKAN_QUEUES_MAX 4u  /* of a family */
#define VULKAN_PUSH_BYTES 20u /* struct vulkan_push, the start of core/memory.glsl's */

#define VULKAN_GROUP_SIZE 256u /* invocations of a workgroup: core/memory.glsl's GROUP_SIZE */

/* Memory types that some drivers expose under conditions which are not met here. */
#define VULKAN_STRANGE_MEMORY                                                                                          \
    (VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_PROTECTED_BIT |                                      \
     VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD)

/* Kinds of memory: enum adapter_memory_kind, and tables of addresses. */
#define VULKAN_MEMORY_TABLES (ADAPTER_MEMORY_READBACK + 1u)
#define VULKAN_MEMORY_KINDS  (VULKAN_MEMORY_TABLES + 1u)

/* ---- interop_semaphore.c: see d3d12/interop/interop.h ---- */

HRESULT vulkan_semaphore_create(struct adapter_device *device, uint64_t value, VkSemaphore *out);
void vulkan_semaphore_destroy(struct adapter_device *device, VkSemaphore semaphore);
HRESULT vulkan_semaphore_value(struct adapter_device *device, VkSemaphore semaphore, uint64_t *out);
HRESULT vulkan_semaphore_signal(struct adapter_device *device, VkSemaphore semaphore, uint64_t value);
adapter_semaphore_wait vulkan_semaphore_wait;
HRESULT vulkan_queue_signal(struct adapter_queue *queue, VkSemaphore semaphore, uint64_t value);

/* ---- device.c ---- */

/* One VkQueue; adapter queues beyond their number share them. */
struct vulkan_queue_slot {
    VkQueue handle;
    enum vulkan_role role;
    pthread_mutex_t lock;            /* around vkQueueSubmit */
    anydml_vulkan_lock enter, leave; /* the application's, within the lock; NULL: the queue is ours */
    void *context;
};

#define VULKAN_SLOT_CLASSES 5u /* of sizes from ADAPTER_PARAMETERS_ALIGN on, each twice the one before */

/* Command buffers of the adapter itself. */
#define VULKAN_OWN_COMMANDS 3u

/* What is submitted to one queue, one after another: each raises the semaphore by 1. */
struct vulkan_progress {
    VkSemaphore done;
    uint64_t value;
};

struct vulkan_own_commands {
    struct vulkan_queue_slot *slot;
    struct vulkan_progress *progress;
    VkCommandPool pool;
    VkCommandBuffer commands;
    uint64_t value; /* of progress->done, when it is complete */
    struct adapter_memory *staging;
};

struct adapter_device {
    const struct vulkan_physical *physical;
    VkDevice handle;
    struct vulkan_queues {
        struct vulkan_queue_slot slots[VULKAN_QUEUES_MAX];
        uint32_t count; /* 0: MAIN's are used */
        atomic_uint next;
    } queues[VULKAN_ROLES];
    uint32_t families[VULKAN_ROLES], family_count; /* that buffers are for */
    VkPipelineLayout layout;
    VkDescriptorSetLayout uniform; /* of a set of one uniform buffer, with a dynamic offset */
    struct {
        pthread_mutex_t lock;        /* guards `list`, states and `unsaved_ns` */
        struct base_condition built; /* a pipeline's state has changed */
        pthread_mutex_t saving;
        struct adapter_pipeline *list; /* all that were created */
        VkPipelineCache cache;
        struct base_hash saved; /* of the file's data */
        uint64_t unsaved_ns;    /* spent on pipelines that the file does not contain yet */
        bool specializes;       /* modules are specialised before the driver gets them */
    } pipelines;
    atomic_bool unaligned; /* addresses of this driver are not multiples of VULKAN_ALIGNMENT: allocate more */
    _Atomic uint64_t used[VK_MAX_MEMORY_HEAPS]; /* bytes allocated by this device */
    struct {
        pthread_mutex_t lock; /* guards all of it */
        struct vulkan_own_commands commands[VULKAN_OWN_COMMANDS];
        struct vulkan_progress writes, others; /* nothing of the others waits when the lock is free */
    } own;                                     /* internal commands: zeroing and writing memory */
    struct {
        pthread_mutex_t lock; /* locked after own.lock and arena.lock */
        struct vulkan_progress progress;
    } binds; /* of sparse buffers to memory */
    struct {
        pthread_mutex_t lock; /* guards the lists and their elements */
        struct vulkan_block *blocks[VULKAN_MEMORY_KINDS];
    } arena;
    struct {
        pthread_mutex_t lock; /* guards the pools, and the idle lists of all sequences */
        VkCommandPool pools[VULKAN_ROLES];
    } replays;
    struct vulkan_slots {
        pthread_mutex_t lock; /* guards all of it */
        struct vulkan_slot *idle[VULKAN_SLOT_CLASSES];
        struct vulkan_slot_chunk {
            struct adapter_memory *memory;
            uint64_t used; /* bytes */
        } open[VULKAN_SLOT_CLASSES];
        struct adapter_memory **memories; /* all chunks */
        uint32_t memory_count, memory_capacity;
    } slots;
    struct vulkan_physical *adopted; /* owned: the device is the application's, and this `physical`. Else NULL */
    struct vulkan_kernels {
        PFN_vkCreateCuModuleNVX create_module;
        PFN_vkCreateCuFunctionNVX create_function;
        PFN_vkDestroyCuModuleNVX destroy_module;
        PFN_vkDestroyCuFunctionNVX destroy_function;
        PFN_vkCmdCuLaunchKernelNVX launch; /* NULL: the device does not support kernels */
    } kernels;
    PFN_vkGetMemoryFdKHR get_memory_fd;        /* NULL: memory is not shared */
    PFN_vkSetDebugUtilsObjectNameEXT set_name; /* NULL: objects have no names */
    uint64_t watchdog_ns;                      /* that a submission may last, 0: any time */
};

void vulkan_describe(const struct vulkan_physical *physical, uint32_t index, struct adapter_info *out);
/* Completes a device whose `physical`, `adopted`, `handle` and queues are set. Destroyed by vulkan_device_destroy in
 * every case. */
HRESULT vulkan_device_start(struct adapter_device *device);
void vulkan_device_destroy(struct adapter_device *device);
/* Bytes that are free in the largest heap of the device's own memory, or of other memory, and its size. */
uint64_t vulkan_memory_free(struct adapter_device *device, bool local, uint64_t *out_total);

/* ---- commands.c: independent of the files below ---- */

HRESULT vulkan_hresult(VkResult result);
HRESULT vulkan_timeline_create(struct adapter_device *device, VkSemaphore *out);
HRESULT vulkan_timeline_wait(struct adapter_device *device, VkSemaphore timeline, uint64_t value);

/* A timeline at a value. */
struct vulkan_moment {
    VkSemaphore timeline;
    uint64_t value;
};

/* Around what is submitted to the queue. */
void vulkan_slot_enter(struct vulkan_queue_slot *slot);
void vulkan_slot_leave(struct vulkan_queue_slot *slot);
/* Submits `commands`, or nothing, after all previous work of the queue; waits for the points and raises `end.timeline`
 * to `end.value`. */
HRESULT vulkan_submit(struct vulkan_queue_slot *slot, VkCommandBuffer commands, const struct vulkan_moment *moments,
                      uint32_t count, struct vulkan_moment end);
HRESULT vulkan_command_pool_create(struct adapter_device *device, uint32_t family, VkCommandPool *out);
HRESULT vulkan_commands_allocate(struct adapter_device *device, VkCommandPool pool, VkCommandBuffer *out);
HRESULT vulkan_commands_create(struct adapter_device *device, uint32_t family, VkCommandPool *out_pool,
                               VkCommandBuffer *out_commands);
/* `pool` is reset, unless it is VK_NULL_HANDLE. */
HRESULT vulkan_commands_begin(struct adapter_device *device, VkCommandPool pool, VkCommandBuffer commands);

/* The scopes of a barrier. */
enum vulkan_scope {
    VULKAN_SCOPE_DISPATCHES = 1,
    VULKAN_SCOPE_COPIES = 2, /* and fills, and queries that are resolved */
    VULKAN_SCOPE_HOST = 4,   /* reads */
    VULKAN_SCOPE_DEVICE = VULKAN_SCOPE_DISPATCHES | VULKAN_SCOPE_COPIES,
};
/* Makes accesses of kind `from` before it complete and visible to accesses of kind `to` after it. */
void vulkan_barrier(VkCommandBuffer commands, uint32_t from, uint32_t to);
void vulkan_copy(VkCommandBuffer commands, const struct adapter_binding *to, const struct adapter_binding *from,
                 uint64_t bytes);

/* ---- arena.c, heap.c ---- */

struct vulkan_memory {
    struct adapter_memory base;
    VkBuffer buffer;
    uint64_t offset;            /* of byte 0 in the buffer */
    struct vulkan_block *block; /* NULL: foreign */
    uint32_t unit;              /* of the block, for its first byte */
    bool foreign;               /* of interop.c: of parts of the application's memory, or shared with others */
};

static inline struct vulkan_memory *vulkan_memory_from(struct adapter_memory *memory)
{
    return (struct vulkan_memory *)memory;
}

static inline VkBuffer vulkan_buffer_of(const struct adapter_binding *binding)
{
    return vulkan_memory_from(binding->memory)->buffer;
}

static inline uint64_t vulkan_offset_of(const struct adapter_binding *binding)
{
    return vulkan_memory_from(binding->memory)->offset + binding->offset;
}

/* A position in memory as a uniform buffer: VULKAN_UNIFORM_BYTES starting `offset` bytes after the set's own start. */
struct vulkan_uniform {
    VkDescriptorSet set;
    uint32_t offset;
};

#define VULKAN_UNIFORM_BYTES ADAPTER_PARAMETERS_BYTES

/* Of byte `at`, a multiple of ADAPTER_PARAMETERS_ALIGN. */
HRESULT vulkan_arena_uniform(struct adapter_device *device, const struct vulkan_memory *memory, uint64_t at,
                             struct vulkan_uniform *out);
/* Allocates memory->base.size bytes, not zeroed, for `memory`, whose other members are zero; E_OUTOFMEMORY. */
HRESULT vulkan_arena_allocate(struct adapter_device *device, uint32_t kind, struct vulkan_memory *memory);
void vulkan_arena_release(struct adapter_device *device, struct vulkan_memory *memory);
void vulkan_arena_finish(struct adapter_device *device);

HRESULT vulkan_memory_create(struct adapter_device *device, enum adapter_memory_kind kind, uint64_t size,
                             struct adapter_memory **out);
HRESULT vulkan_memory_write(struct adapter_device *device, struct adapter_memory *memory,
                            const struct adapter_write *writes, uint32_t count, const struct adapter_writing *how);
void vulkan_memory_destroy(struct adapter_device *device, struct adapter_memory *memory);
bool vulkan_memory_fits(struct adapter_device *device, uint32_t heap, uint64_t size);
adapter_memory_explain vulkan_memory_explain;

/* ---- adopt.c ---- */

adapter_device_adopt vulkan_device_adopt;

/* ---- interop.c ---- */

/* E_INVALIDARG, with that message. */
HRESULT vulkan_invalid(char *message, const char *format, ...) BASE_PRINTF(2, 3);
void vulkan_foreign_destroy(struct adapter_device *device, struct vulkan_memory *memory);

/* Tables of addresses, consecutive in memory that the host writes and the device reads. All zero: empty. */
struct vulkan_tables {
    struct adapter_memory **memories;
    uint32_t count, capacity;
    uint32_t current; /* the memory for the next table, */
    uint64_t used;    /* of which this many bytes are in use */
};

struct vulkan_table {
    uint64_t *host;
    uint64_t address;
    struct vulkan_uniform uniform;
};

/* A table for recorded commands: its contents, and its device address. */
struct vulkan_addresses {
    const uint64_t *host;
    uint64_t address;
    struct vulkan_uniform uniform;
};

HRESULT vulkan_table_take(struct adapter_device *device, struct vulkan_tables *tables, uint32_t addresses,
                          struct vulkan_table *out);
/* Releases all tables; the memory is kept. */
void vulkan_tables_reset(struct vulkan_tables *tables);
void vulkan_tables_finish(struct adapter_device *device, struct vulkan_tables *tables);

/* Memory for them. */
HRESULT vulkan_table_memory(struct adapter_device *device, uint64_t bytes, struct adapter_memory **out);

/* ---- slots.c ---- */

/* One table, for as long as its user likes. */
struct vulkan_slot {
    struct vulkan_table table;
    uint32_t class, capacity;      /* addresses */
    struct adapter_memory *memory; /* of a table that is larger than all classes */
    struct vulkan_slot *next;
};

HRESULT vulkan_slot_take(struct adapter_device *device, uint32_t addresses, struct vulkan_slot **out);
void vulkan_slot_release(struct adapter_device *device, struct vulkan_slot *slot);
void vulkan_slots_finish(struct adapter_device *device);

/* ---- own.c ---- */

HRESULT vulkan_own_create(struct adapter_device *device);
void vulkan_own_destroy(struct adapter_device *device);
/* Zeroes all of it, and returns when that is done. */
HRESULT vulkan_memory_zero(struct adapter_device *device, struct vulkan_memory *memory);
/* Binds sparse memory, and returns when that is done. */
HRESULT vulkan_own_bind(struct adapter_device *device, const VkSparseBufferMemoryBindInfo *bind);
/* A command buffer for one thread, until that thread closes it, which executes it and waits for completion. */
HRESULT vulkan_own_open(struct adapter_device *device, VkCommandBuffer *out);
HRESULT vulkan_own_close(struct adapter_device *device);

/* ---- sequence.c ---- */

struct vulkan_record;
struct vulkan_timing;

/* The kind of command buffer in which a sequence is recorded: executed within a batch's, or submitted as the whole
 * batch. */
enum vulkan_replay_form { VULKAN_REPLAY_PART, VULKAN_REPLAY_BATCH, VULKAN_REPLAY_FORMS };

/* A recorded sequence, in the required forms, and its table. Used by one batch at a time. Addresses that kernels use
 * are part of the recording. */
struct vulkan_replay {
    struct adapter_sequence *sequence;
    struct vulkan_replay *next;
    enum vulkan_role role;
    VkCommandBuffer commands[VULKAN_REPLAY_FORMS];
    struct vulkan_table table;
    uint64_t recorded[]; /* of sequences with kernels: the table's contents */
};

HRESULT vulkan_sequence_create(struct adapter_device *device, const struct adapter_step *steps, uint32_t count,
                               struct adapter_memory *parameters, uint32_t table_count, struct adapter_sequence **out);
void vulkan_sequence_destroy(struct adapter_device *device, struct adapter_sequence *sequence);
/* Records the steps one by one, with their times unless `timing` is NULL. */
HRESULT vulkan_sequence_record(struct adapter_device *device, struct vulkan_record *record,
                               const struct adapter_sequence *sequence, struct vulkan_addresses table,
                               const struct vulkan_timing *timing);
/* Its approximate total time. */
uint64_t vulkan_sequence_ns(const struct adapter_sequence *sequence);
/* Whether it must be recorded in parts, or its times must be measured to decide that, on the family of that role. */
bool vulkan_sequence_watched(const struct adapter_device *device, const struct adapter_sequence *sequence,
                             enum vulkan_role role);
/* Step i took from times_ns[i] to times_ns[i + 1]. */
void vulkan_sequence_measured(struct adapter_sequence *sequence, const uint64_t *times_ns);
uint32_t vulkan_sequence_step_count(const struct adapter_sequence *sequence);
uint32_t vulkan_sequence_table_count(const struct adapter_sequence *sequence);
/* Whether its addresses are part of the recording. */
bool vulkan_sequence_fixed(const struct adapter_sequence *sequence);
/* Assigns a replay with this table to the record; NULL: the sequence is so short that recording it each time is as
 * fast. */
HRESULT vulkan_replay_acquire(struct adapter_device *device, struct adapter_sequence *sequence, const uint64_t *table,
                              struct vulkan_record *record, struct vulkan_replay **out);
/* Its command buffer of that form is there after it. */
HRESULT vulkan_replay_need(struct adapter_device *device, struct vulkan_replay *replay, enum vulkan_replay_form form);
/* The whole list; its sequences are alive. */
void vulkan_replays_release(struct adapter_device *device, struct vulkan_replay **io);

/* ---- point.c ---- */

/* A timeline semaphore that lives as long as a queue or a point of it. */
struct adapter_timeline;

HRESULT vulkan_timeline_share(struct adapter_device *device, struct adapter_timeline **out);
VkSemaphore vulkan_timeline_of(const struct adapter_timeline *timeline);
void vulkan_timeline_unref(struct adapter_timeline *timeline);

/* ---- queue.c ---- */

#define VULKAN_POINTS_MAX 4u

/* Points of other queues. */
struct vulkan_points {
    struct adapter_point list[VULKAN_POINTS_MAX]; /* maximum number of timelines; each is kept alive */
    uint32_t count;
};

void vulkan_points_clear(struct vulkan_points *points);
/* Their number. */
uint32_t vulkan_points_moments(const struct vulkan_points *points, struct vulkan_moment *out);

/* A batch in command buffers, one for each submission; the ticket of the last one; and objects that are needed until it
 * is complete. */
struct vulkan_record {
    VkCommandPool pool;
    VkCommandBuffer *parts, commands; /* commands: the open one, parts[part] */
    uint32_t part, part_count, part_capacity;
    uint64_t spent_ns; /* of the open one's, about */
    enum vulkan_role role;
    uint32_t scope; /* abilities of the family, enum vulkan_scope */
    uint64_t ticket;
    bool plain; /* only `commands`, which are the application's: sequences are recorded in it, not replayed */
    struct vulkan_tables tables;
    struct vulkan_replay *replays;
    struct vulkan_timing *timings; /* the last one first */
    struct vulkan_points points;   /* that it waits for */
    struct vulkan_record *next;
};

struct adapter_queue {
    struct adapter_device *device;
    struct vulkan_queue_slot *slot;
    struct vulkan_queue_slot *query_slot; /* for batches with queries: of a family that has them, `slot` if its has */
    struct vulkan_queue_slot *last_slot;  /* of the last submission */
    struct adapter_timeline *shared;      /* with points; stores the next */
    VkSemaphore timeline;                 /* its value = the last complete ticket */
    struct vulkan_points points;          /* that the next batch waits for */
    uint64_t ticket, complete;            /* the last ticket; the last one known to be complete */
    struct vulkan_record *records;
    struct adapter_memory *scratch; /* created on first use: unaligned fills and overlapping copies */
    struct {
        uint64_t ticks, ns; /* the device's timestamp when base_now_ns() was `ns`, 0: not known yet */
        uint32_t bits;      /* of its family's timestamps */
    } clock;
};

/* written[i]: query i has a time, or will have when the commands submitted so far are complete. */
struct adapter_queries {
    VkQueryPool pool; /* VK_NULL_HANDLE: the device does not support timestamps */
    uint32_t count;
    atomic_bool written[];
};

HRESULT vulkan_queue_create(struct adapter_device *device, D3D12_COMMAND_LIST_TYPE type, struct adapter_queue **out);
void vulkan_queue_destroy(struct adapter_queue *queue);
HRESULT vulkan_queue_submit(struct adapter_queue *queue, const struct adapter_batch *batch, uint64_t *out_ticket);
HRESULT vulkan_queue_finish(struct adapter_queue *queue, uint64_t ticket);
struct adapter_point vulkan_queue_point(struct adapter_queue *queue);
void vulkan_point_release(const struct adapter_point *point);
HRESULT vulkan_queue_wait(struct adapter_queue *queue, const struct adapter_point *point);
HRESULT vulkan_queue_settle(struct adapter_queue *queue);
HRESULT vulkan_queries_create(struct adapter_device *device, uint32_t count, struct adapter_queries **out);
void vulkan_queries_destroy(struct adapter_device *device, struct adapter_queries *queries);

/* ---- timing.c ---- */

/* Times of the sequence that is recorded next; records the start. NULL: unsupported. */
struct vulkan_timing *vulkan_timing_begin(struct adapter_device *device, struct vulkan_record *record,
                                          struct adapter_sequence *sequence, const struct adapter_tracer *tracer);
/* Step index - 1 is recorded. */
void vulkan_timing_mark(const struct vulkan_timing *timing, VkCommandBuffer commands, uint32_t index);
/* Those of the record, which is not in use any more: complete, or abandoned. */
void vulkan_timings_finish(struct adapter_queue *queue, struct vulkan_record *record, bool complete);

/* ---- watchdog.c ---- */

/* By ANYDML_VULKAN_WATCHDOG, and the kind of device. */
uint64_t vulkan_watchdog_ns(const struct vulkan_physical *physical);
/* Starts the first part; discards the previous commands of all parts. */
HRESULT vulkan_record_open(struct adapter_device *device, struct vulkan_record *record);
/* Before commands of this duration: starts a new part if needed. */
HRESULT vulkan_record_spend(struct adapter_device *device, struct vulkan_record *record, uint64_t ns);
/* The number of dispatches into which one of this many workgroups is split. */
uint32_t vulkan_record_slices(const struct adapter_device *device, const struct vulkan_record *record, uint64_t ns,
                              uint32_t groups);
HRESULT vulkan_record_copy(struct adapter_device *device, struct vulkan_record *record,
                           const struct adapter_binding *to, const struct adapter_binding *from, uint64_t bytes);
HRESULT vulkan_record_fill(struct adapter_device *device, struct vulkan_record *record,
                           const struct adapter_binding *to, uint64_t bytes, uint32_t value);
/* The part of `bytes` that one submission may fill. */
uint64_t vulkan_fill_bytes(const struct adapter_device *device, uint64_t bytes);

/* ---- list.c ---- */

/* The batch without its end, in the open record. */
HRESULT vulkan_batch_record(struct adapter_queue *queue, struct vulkan_record *record,
                            const struct adapter_batch *batch);

/* ---- dispatch.c ---- */

HRESULT vulkan_dispatch_record(struct adapter_device *device, struct vulkan_record *record,
                               struct adapter_dispatch *dispatch, const struct adapter_binding *bindings,
                               uint32_t count);

/* A batch of only this dispatch. *out: a previously recorded command buffer to submit; or VK_NULL_HANDLE, and the
 * record is open and contains the batch without its end. */
HRESULT vulkan_dispatch_replay(struct adapter_device *device, struct vulkan_record *record,
                               const struct adapter_command *command, VkCommandBuffer *out);

/* Of struct adapter_interop. */
adapter_record vulkan_record;
adapter_rebind vulkan_rebind;
void vulkan_recorded_destroy(struct adapter_device *device, struct adapter_recorded *recorded);

/* ---- pipeline.c ---- */

#define VULKAN_SPECIALIZATION_MAX 16
/* The number of one constant more, that of all shaders: the device has SHADER_CAPABILITY_HALF (core/memory.glsl). */
#define VULKAN_SPECIALIZATION_HALF 16
/* And of another: desc.u.spirv.large_table. */
#define VULKAN_SPECIALIZATION_LARGE 17
/* And of another: the device's loads_unasked. */
#define VULKAN_SPECIALIZATION_UNASKED 18
#define VULKAN_SPECIALIZATION_OWN     3

/* One for each code and set of constants, kept until the device is destroyed: creating pipelines is slow, and programs
 * request the same few repeatedly. It never changes, except for state, handle and result. */
struct adapter_pipeline {
    VkPipeline handle;
    bool uniforms;        /* it reads parameters and table as uniform buffers */
    VkCuModuleNVX module; /* kernels have these two instead */
    VkCuFunctionNVX function;
    VkResult result; /* of the last try */
    enum { VULKAN_PIPELINE_NEW, VULKAN_PIPELINE_BUILDING, VULKAN_PIPELINE_READY } state;
    struct adapter_pipeline_desc desc; /* its pointers: while it is built */
    struct base_hash hash;             /* of code and constants */
    uint32_t constants[VULKAN_SPECIALIZATION_MAX];
    struct adapter_pipeline *next;
};

adapter_pipelines_create vulkan_pipelines_create;
void vulkan_pipelines_start(struct adapter_device *device);
void vulkan_pipelines_finish(struct adapter_device *device);

/* ---- kernel.c ---- */

/* device->kernels, of a device with the extension. */
void vulkan_kernels_open(struct adapter_device *device);
VkResult vulkan_kernel_build(struct adapter_device *device, struct adapter_pipeline *pipeline);
void vulkan_kernel_destroy(struct adapter_device *device, struct adapter_pipeline *pipeline);
/* step->block with the table's addresses. */
void vulkan_kernel_resolve(const struct adapter_step *step, const uint64_t *table, void *out);
void vulkan_kernel_launch(const struct adapter_device *device, VkCommandBuffer commands,
                          const struct adapter_pipeline *pipeline, const uint32_t *groups, const void *block);
HRESULT vulkan_kernel_test(struct adapter_device *device, const struct adapter_kernel_test *test);

/* ---- pipeline_cache.c: the driver's cache, stored in a file between processes ---- */

/* A cache initialised from the file if it is valid. */
HRESULT vulkan_cache_create(struct adapter_device *device);
/* Writes the file if the cache has changed. */
void vulkan_cache_save(struct adapter_device *device);

#endif
