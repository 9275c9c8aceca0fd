/* SPDX-License-Identifier: Apache-2.0 */
/* The adapter over Vulkan 1.2: buffers are reached by device address, dispatches are compute pipelines with push
 * constants only. The loader is opened at run time; without it, or without a device, there is no such adapter. */
#ifndef ADAPTER_VULKAN_VULKAN_H
#define ADAPTER_VULKAN_VULKAN_H

#define VK_NO_PROTOTYPES
#include "base/hash.h"
#include "d3d12/interop.h"

#include <pthread.h>
#include <stdatomic.h>
#include <vulkan/vulkan_core.h>

#define VULKAN_ALIGNMENT  65536u
#define VULKAN_QUEUES_MAX 4u
#define VULKAN_PUSH_MIN   128u
#define VULKAN_PUSH_MAX   256u

/* ---- loader.c ---- */

struct vulkan_procs {
#define VULKAN_GLOBAL(name)   PFN_##name name;
#define VULKAN_INSTANCE(name) PFN_##name name;
#include "adapter/vulkan/procs.def"
#undef VULKAN_GLOBAL
#undef VULKAN_INSTANCE
};
extern struct vulkan_procs vk;

/* A device that fits. But for the handle it never changes after it was found. */
struct vulkan_physical {
    VkPhysicalDevice handle; /* good after vulkan_physical_open */
    uint8_t uuid[VK_UUID_SIZE], driver_uuid[VK_UUID_SIZE];
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceMemoryProperties memory;
    uint64_t allocation_bytes_max;
    uint32_t family, family_queues, timestamp_bits;
    uint32_t capabilities;    /* enum shader_capability */
    uint32_t subnormals;      /* enum vulkan_subnormals: of which widths shaders may keep them */
    bool budget, external_fd; /* extensions */
};

/* Features that a device has, or has enabled. */
struct vulkan_features {
    VkPhysicalDeviceFeatures core;
    VkPhysicalDeviceVulkan11Features v11;
    VkPhysicalDeviceVulkan12Features v12;
};

/* All but the queues and extensions. `enabled` NULL: all that it has. NULL, or what it lacks to be used. */
const char *vulkan_physical_describe(VkPhysicalDevice handle, const struct vulkan_features *enabled,
                                     struct vulkan_physical *physical);
/* Another's instance may be used until the return, if it is of the loader that this process uses. */
HRESULT vulkan_loader_borrow(PFN_vkGetInstanceProcAddr get, VkInstance theirs, char *message);
void vulkan_loader_return(void);

/* Is there anything beside the processor? Without, all that drivers could offer is a slower processor. */
bool vulkan_hardware(void);

/* The process's suitable devices, looked for once. The drivers are not in memory afterwards. */
uint32_t vulkan_physicals(const struct vulkan_physical **out);
/* Loads the drivers, for as long as the process lives: not all like to be unloaded after they have worked. The handle
 * of device `index`, or VK_NULL_HANDLE when it is gone. */
VkPhysicalDevice vulkan_physical_open(uint32_t index);

/* ---- subnormals.c ---- */

enum vulkan_subnormals { VULKAN_SUBNORMALS_32 = 1, VULKAN_SUBNORMALS_64 = 2 };

uint32_t vulkan_subnormals_kept(const VkPhysicalDeviceFloatControlsProperties *floats);
/* The module with execution modes that keep subnormal numbers of those widths that it computes with; the caller frees
 * it. NULL: memory is short. */
uint32_t *vulkan_subnormals_keep(const uint32_t *spirv, size_t *bytes, uint32_t kept);

/* ---- interop_semaphore.c: what d3d12/interop.h says of them ---- */

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
    pthread_mutex_t lock;            /* around vkQueueSubmit */
    anydml_vulkan_lock enter, leave; /* the application's, within the lock; NULL: the queue is ours */
    void *context;
};

struct adapter_device {
    const struct vulkan_physical *physical;
    VkDevice handle;
    struct vulkan_queue_slot queue_slots[VULKAN_QUEUES_MAX];
    uint32_t queue_slot_count;
    atomic_uint next_queue_slot;
    VkPipelineLayout layout;
    struct {
        pthread_mutex_t lock; /* guards `list`, states and `unsaved_ns` */
        pthread_cond_t built; /* a pipeline's state has changed */
        pthread_mutex_t saving;
        struct adapter_pipeline *list; /* all that were made */
        VkPipelineCache cache;
        struct base_hash saved; /* of what the file holds */
        uint64_t unsaved_ns;    /* spent on what the file does not hold yet */
    } pipelines;
    uint32_t push_bytes;
    _Atomic uint64_t used[VK_MAX_MEMORY_HEAPS]; /* bytes allocated by this process */
    atomic_bool unaligned; /* addresses of this driver are not multiples of VULKAN_ALIGNMENT: allocate more */
    struct {
        pthread_mutex_t lock; /* guards all of it */
        VkCommandPool pool;
        VkCommandBuffer commands;
        VkSemaphore done;
        uint64_t value;
    } own;                              /* the adapter's own work: zeroing memory */
    struct vulkan_physical *adopted;    /* owned: the device is the application's, and this `physical`. Else NULL */
    PFN_vkGetMemoryFdKHR get_memory_fd; /* NULL: memory is not shared */
};

void vulkan_describe(const struct vulkan_physical *physical, uint32_t index, struct adapter_info *out);
/* A device whose `physical`, `adopted`, `handle` and queues are set gets the rest. Destroyed by vulkan_device_destroy
 * in every case. */
HRESULT vulkan_device_start(struct adapter_device *device);
void vulkan_device_destroy(struct adapter_device *device);

/* ---- commands.c: needs nothing of the files below ---- */

HRESULT vulkan_hresult(VkResult result);
HRESULT vulkan_timeline_create(struct adapter_device *device, VkSemaphore *out);
HRESULT vulkan_timeline_wait(struct adapter_device *device, VkSemaphore timeline, uint64_t value);
/* Submits `commands`, which raise `timeline` to `value`. */
HRESULT vulkan_submit(struct vulkan_queue_slot *slot, VkCommandBuffer commands, VkSemaphore timeline, uint64_t value);
HRESULT vulkan_commands_create(struct adapter_device *device, VkCommandPool *out_pool, VkCommandBuffer *out_commands);
HRESULT vulkan_commands_begin(struct adapter_device *device, VkCommandPool pool, VkCommandBuffer commands);
/* Everything before is complete and visible to everything after, the host included. */
void vulkan_barrier(VkCommandBuffer commands);
/* The same for dispatches and copies, on the device alone. */
void vulkan_compute_barrier(VkCommandBuffer commands);
void vulkan_copy(VkCommandBuffer commands, const struct adapter_binding *to, const struct adapter_binding *from,
                 uint64_t bytes);

/* ---- heap.c ---- */

struct vulkan_memory {
    struct adapter_memory base;
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint64_t offset; /* of byte 0 in the buffer */
    uint64_t allocated;
    uint32_t heap;
    bool foreign; /* of interop.c: with parts of the application's, or shared with others */
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

HRESULT vulkan_memory_create(struct adapter_device *device, enum adapter_memory_kind kind, uint64_t size,
                             struct adapter_memory **out);
HRESULT vulkan_memory_write(struct adapter_device *device, struct adapter_memory *memory, uint64_t offset,
                            const void *data, uint64_t bytes);
void vulkan_memory_destroy(struct adapter_device *device, struct adapter_memory *memory);
bool vulkan_memory_fits(struct adapter_device *device, uint32_t heap, uint64_t size);
HRESULT vulkan_memory_zero(struct adapter_device *device, struct vulkan_memory *memory);

/* ---- interop.c ---- */

void vulkan_foreign_destroy(struct adapter_device *device, struct vulkan_memory *memory);

/* ---- queue.c ---- */

/* A command buffer and the ticket that it was last submitted under. */
struct vulkan_record {
    VkCommandPool pool;
    VkCommandBuffer commands;
    uint64_t ticket;
    struct vulkan_record *next;
};

struct adapter_queue {
    struct adapter_device *device;
    struct vulkan_queue_slot *slot;
    VkSemaphore timeline; /* its value = the last complete ticket */
    uint64_t ticket;
    struct vulkan_record *records;
    struct adapter_memory *scratch; /* made when first needed: odd fills and overlapping copies */
};

/* written[i]: query i holds a time, or will when the commands submitted so far are complete. */
struct adapter_queries {
    VkQueryPool pool; /* VK_NULL_HANDLE: the device has no timestamps */
    uint32_t count;
    atomic_bool written[];
};

HRESULT vulkan_queue_create(struct adapter_device *device, D3D12_COMMAND_LIST_TYPE type, struct adapter_queue **out);
void vulkan_queue_destroy(struct adapter_queue *queue);
HRESULT vulkan_queue_submit(struct adapter_queue *queue, const struct adapter_batch *batch, uint64_t *out_ticket);
HRESULT vulkan_queue_finish(struct adapter_queue *queue, uint64_t ticket);
HRESULT vulkan_queries_create(struct adapter_device *device, uint32_t count, struct adapter_queries **out);
void vulkan_queries_destroy(struct adapter_device *device, struct adapter_queries *queries);

/* ---- list.c ---- */

HRESULT vulkan_list_record(struct adapter_queue *queue, VkCommandBuffer commands, const struct adapter_command *list,
                           uint32_t count);

/* ---- dispatch.c ---- */

HRESULT vulkan_dispatch_record(struct adapter_device *device, VkCommandBuffer commands,
                               struct adapter_dispatch *dispatch, const struct adapter_binding *bindings,
                               uint32_t count);

/* ---- pipeline.c ---- */

#define VULKAN_SPECIALIZATION_MAX 8

/* One for each code and each set of constants, kept until the device goes: drivers take long to make one, and programs
 * ask for the same few again and again. But for state, handle and result it never changes. */
struct adapter_pipeline {
    VkPipeline handle;
    VkResult result; /* of the last try */
    enum { VULKAN_PIPELINE_NEW, VULKAN_PIPELINE_BUILDING, VULKAN_PIPELINE_READY } state;
    struct adapter_pipeline_desc desc; /* its pointers: while it is built */
    struct base_hash hash;             /* of code and constants */
    uint32_t constants[VULKAN_SPECIALIZATION_MAX];
    struct adapter_pipeline *next;
};

adapter_pipelines_create vulkan_pipelines_create;
void vulkan_pipelines_finish(struct adapter_device *device);

/* ---- pipeline_cache.c: the driver's cache, kept in a file between processes ---- */

/* A cache with what the file holds, where there is a good one. */
HRESULT vulkan_cache_create(struct adapter_device *device);
/* Writes the file when the cache holds something else. */
void vulkan_cache_save(struct adapter_device *device);

#endif
