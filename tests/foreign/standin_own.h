/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of the stand-in. */
#ifndef TESTS_FOREIGN_STANDIN_OWN_H
#define TESTS_FOREIGN_STANDIN_OWN_H

#include "standin.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

#define SLOTS       96
#define STEP        32u /* between two descriptors */
#define PRIVATES    8
#define CHUNK_BYTES (UINT64_C(16) << 20)
#define FAMILIES    2 /* of DIRECT and COMPUTE queues */

#define check(cond)                                                                                                    \
    do {                                                                                                               \
        if (!(cond)) {                                                                                                 \
            fprintf(stderr, "stand-in: %s:%d: %s\n", __FILE__, __LINE__, #cond);                                       \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

struct standin;

/* First member of every object. */
struct object {
    void *const *slots;
    atomic_uint refs;
    struct standin *device; /* referenced by children */
    const IID *iid;
    const IID *iids[3]; /* that it has besides */
    void (*destroy)(struct object *object);
    struct {
        GUID guid;
        IUnknown *unknown;
    } privates[PRIVATES];
};

struct chunk {
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkDeviceAddress address;
    char *host;
    uint64_t bytes, used;
    D3D12_HEAP_TYPE type;
    struct chunk *next;
};

struct standin {
    struct object base;
    void *const *interop_slots; /* ID3D12DXVKInteropDevice's object: the address of this member */
    struct standin_options options;
    struct standin_counts counts;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceMemoryProperties memory;
    VkDevice device;
    uint32_t families[FAMILIES], family_count;
    VkQueue queues[FAMILIES];
    pthread_mutex_t queue_locks[FAMILIES], lock;
    pthread_t lock_owner[FAMILIES];
    bool locked[FAMILIES];
    VkPhysicalDeviceVulkan13Features v13;
    VkPhysicalDeviceVulkan12Features v12;
    VkPhysicalDeviceVulkan11Features v11;
    VkPhysicalDeviceFeatures2 features;
    const char *extensions[8];
    uint32_t extension_count;
    struct chunk *chunks;
    uint64_t heaps; /* for GPU handles */
    _Atomic(HRESULT) reason;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
};

struct resource {
    struct object base;
    D3D12_RESOURCE_DESC desc;
    D3D12_HEAP_TYPE type;
    bool reserved;
    struct chunk *chunk; /* NULL: a texture */
    uint64_t offset;
    struct chunk *own; /* of a committed one */
};

struct heap {
    struct object base;
    D3D12_HEAP_DESC desc;
    struct chunk *chunk;
    uint64_t offset;
};

struct descriptor_heap {
    struct object base;
    char *cpu;
    uint64_t gpu;
};

struct allocator {
    struct object base;
    D3D12_COMMAND_LIST_TYPE type;
    VkCommandPool pool;
    VkDescriptorPool sets;
    VkCommandBuffer *buffers;
    uint32_t count, used;
};

struct list {
    struct object base;
    D3D12_COMMAND_LIST_TYPE type;
    struct allocator *allocator;
    VkCommandBuffer *buffers;
    uint32_t count, capacity;
    bool open, lent, dirty; /* between Begin and End; state must be set again */
    VkDescriptorSet set;    /* of standin_state */
    uint32_t value;
};

struct queue {
    struct object base;
    uint32_t index; /* of families */
    bool executed;  /* lists: it is the application's */
};

struct fence {
    struct object base;
    VkSemaphore timeline;
};

/* standin_object.c */
extern void *const standin_unexpected[SLOTS];
HRESULT STDMETHODCALLTYPE object_QueryInterface(struct object *object, REFIID riid, void **out);
ULONG STDMETHODCALLTYPE object_AddRef(struct object *object);
ULONG STDMETHODCALLTYPE object_Release(struct object *object);
HRESULT STDMETHODCALLTYPE object_GetPrivateData(struct object *object, REFGUID guid, UINT *bytes, void *data);
HRESULT STDMETHODCALLTYPE object_SetPrivateDataInterface(struct object *object, REFGUID guid, const IUnknown *unknown);
HRESULT STDMETHODCALLTYPE object_SetName(struct object *object, const WCHAR *name);
HRESULT STDMETHODCALLTYPE object_GetDevice(struct object *object, REFIID riid, void **out);
/* A zeroed object of `bytes` bytes with one reference. */
void *object_new(struct standin *device, size_t bytes, void *const *slots, const IID *iid,
                 void (*destroy)(struct object *object));
HRESULT object_return(void *object, REFIID riid, void **out);
/* Copies the base methods and those that follow into a table. */
struct method {
    uint32_t slot;
    void *function;
};
void *const *object_table(const struct method *methods, uint32_t count);
#define TABLE(methods) object_table(methods, sizeof(methods) / sizeof(methods[0]))
/* Of a method of that interface's table in the headers. */
#define SLOT(interface, name) (uint32_t)(offsetof(interface##Vtbl, name) / sizeof(void *))
#define METHOD(interface, name, function)                                                                              \
    {                                                                                                                  \
        SLOT(interface, name), (void *)(function)                                                                      \
    }

/* standin_memory.c */
HRESULT standin_CreateCommittedResource(struct standin *device, const D3D12_HEAP_PROPERTIES *properties,
                                        D3D12_HEAP_FLAGS flags, const D3D12_RESOURCE_DESC *desc,
                                        D3D12_RESOURCE_STATES state, const D3D12_CLEAR_VALUE *clear, REFIID riid,
                                        void **out);
HRESULT standin_CreatePlacedResource(struct standin *device, struct heap *heap, UINT64 offset,
                                     const D3D12_RESOURCE_DESC *desc, D3D12_RESOURCE_STATES state,
                                     const D3D12_CLEAR_VALUE *clear, REFIID riid, void **out);
HRESULT standin_CreateReservedResource(struct standin *device, const D3D12_RESOURCE_DESC *desc,
                                       D3D12_RESOURCE_STATES state, const D3D12_CLEAR_VALUE *clear, REFIID riid,
                                       void **out);
HRESULT standin_create_heap(struct standin *device, const D3D12_HEAP_DESC *desc, REFIID riid, void **out);
HRESULT standin_create_descriptor_heap(struct standin *device, const D3D12_DESCRIPTOR_HEAP_DESC *desc, REFIID riid,
                                       void **out);
void standin_memory_finish(struct standin *device);

/* standin_list.c */
HRESULT standin_create_queue(struct standin *device, const D3D12_COMMAND_QUEUE_DESC *desc, REFIID riid, void **out);
HRESULT standin_create_allocator(struct standin *device, D3D12_COMMAND_LIST_TYPE type, REFIID riid, void **out);
HRESULT standin_create_list(struct standin *device, UINT nodes, D3D12_COMMAND_LIST_TYPE type,
                            struct allocator *allocator, void *state, REFIID riid, void **out);
HRESULT standin_create_fence(struct standin *device, UINT64 value, D3D12_FENCE_FLAGS flags, REFIID riid, void **out);
HRESULT list_begin_interop(struct list *list, VkCommandBuffer *out);
HRESULT list_end_interop(struct list *list);
bool standin_is_list(const void *object);
bool standin_is_queue(const void *object);
void standin_lock(struct standin *device, uint32_t index);
void standin_unlock(struct standin *device, uint32_t index);

#endif
