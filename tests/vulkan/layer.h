/* SPDX-License-Identifier: Apache-2.0 */
/* A Vulkan layer that counts, delays and fails calls of drivers, so that tests reach what healthy devices do not show.
 * The Vulkan loader puts it before any driver where VK_LAYER_PATH and VK_INSTANCE_LAYERS name it; the test opens the
 * library, too, and sets what it shall do. */
#ifndef TESTS_VULKAN_LAYER_H
#define TESTS_VULKAN_LAYER_H

#include <stdbool.h>
#include <stdint.h>

/* The calls that it intercepts: they come to `control` before the driver. */
enum layer_call {
    LAYER_PIPELINE, /* vkCreateComputePipelines */
    LAYER_SUBMIT,   /* vkQueueSubmit */
    LAYER_WAIT,     /* vkWaitSemaphores */
    LAYER_COUNTER,  /* vkGetSemaphoreCounterValue */
    LAYER_ALLOCATE, /* vkAllocateMemory */
    LAYER_MAP,      /* vkMapMemory */
    LAYER_COMMANDS, /* vkAllocateCommandBuffers */
    LAYER_BEGIN,    /* vkBeginCommandBuffer */
    LAYER_END,      /* vkEndCommandBuffer */
    LAYER_DEVICE,   /* vkCreateDevice */
    LAYER_OBJECT,   /* vkCreateBuffer, CommandPool, Semaphore, QueryPool, ShaderModule, PipelineLayout,
                       DescriptorSetLayout, DescriptorPool, PipelineCache */
    LAYER_BIND,     /* vkBindBufferMemory */
    LAYER_RESET,    /* vkResetCommandPool */
    LAYER_TIMES,    /* vkGetQueryPoolResults */
    LAYER_DISPATCH, /* vkCmdDispatch and vkCmdDispatchBase; cannot fail */
    LAYER_KERNEL,   /* vkCreateCuModuleNVX, of ANYDML_LAYER_KERNELS=1 */
    LAYER_SPARSE,   /* vkQueueBindSparse, of ANYDML_LAYER_LIMITS */
    LAYER_SIGNAL,   /* vkSignalSemaphore */
    LAYER_SETS,     /* vkAllocateDescriptorSets */
    LAYER_CACHE,    /* vkGetPipelineCacheData */
    LAYER_IDLE,     /* vkDeviceWaitIdle */
    LAYER_LIST,     /* vkEnumeratePhysicalDevices */
    LAYER_INSTANCE, /* vkCreateInstance */
    LAYER_CALLS
};

/* Of the made up families: one with all abilities, one that only copies, one that computes and copies. */
enum { LAYER_FAMILIES = 3 };

struct layer_control {
    /* One call, of any kind, fails with one of the errors that Vulkan documents for it. After a lost device, all calls
     * that may say so do, until fail_at is 0. */
    struct {
        _Atomic uint32_t count, fail_at;
        _Atomic uint32_t variant; /* the error's number among the call's */
        _Atomic int32_t result;   /* what was returned; 0: no call has failed, for it has fewer errors */
        _Atomic uint32_t call;    /* enum layer_call of the one that failed */
    } any;
    _Atomic int32_t alive; /* objects that were created and not destroyed */
    struct {
        _Atomic uint32_t count;   /* calls so far */
        _Atomic uint32_t fail_at; /* the call with this number, from 1, and all later ones fail; 0: none */
        _Atomic int32_t result;   /* so */
    } calls[LAYER_CALLS];
    /* of LAYER_PIPELINE */
    _Atomic uint32_t pipeline_us; /* that each takes longer */
    _Atomic uint32_t making, making_max;
    _Atomic uint32_t compiled;                  /* pipelines that were not in the cache's initial data */
    _Atomic uint32_t named;                     /* pipelines that got a name */
    _Atomic uint64_t groups_max;                /* of LAYER_DISPATCH: most workgroups at a time */
    _Atomic uint32_t submitted[LAYER_FAMILIES]; /* command buffers, by family: of ANYDML_LAYER_FAMILIES=1 */
    /* of ANYDML_LAYER_LIMITS */
    _Atomic uint64_t allocation_max; /* bytes of the largest allocation, and of all that live */
    _Atomic uint64_t allocated;
    _Atomic uint32_t sparse_buffers; /* living */
};

/* Exported by the library. */
struct layer_control *layer_control(void);

#endif
