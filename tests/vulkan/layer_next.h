/* SPDX-License-Identifier: Apache-2.0 */
/* Within the layer. */
#ifndef TESTS_VULKAN_LAYER_NEXT_H
#define TESTS_VULKAN_LAYER_NEXT_H

#include "layer.h"

#include <vulkan/vulkan_core.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern struct layer_control control;

/* What comes after this layer: one instance at a time, and devices of one driver, are enough for tests. */
struct layer_next {
    PFN_vkGetInstanceProcAddr instance_proc;
    PFN_vkGetDeviceProcAddr device_proc;
    PFN_vkEnumerateDeviceExtensionProperties extensions;
    PFN_vkEnumeratePhysicalDevices devices;
    VkInstance instance;
    VkDevice device; /* the newest */
};
extern struct layer_next next;

/* A device's function, good for all of the driver's: queues of a device may outlive the next one. */
PFN_vkVoidFunction next_proc(const char *name);

#define NEXT(name) ((PFN_##name)next_proc(#name))

/* A function that the layer intercepts. */
struct layer_entry {
    const char *name;
    PFN_vkVoidFunction function;
};

#define ENTRY(name, function)                                                                                          \
    {                                                                                                                  \
        name, (PFN_vkVoidFunction)function                                                                             \
    }

/* NULL: the table has none of that name. */
static inline PFN_vkVoidFunction layer_find(const struct layer_entry *entries, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(entries[i].name, name))
            return entries[i].function;
    return NULL;
}

#define LAYER_FIND(table, name) layer_find(table, sizeof(table) / sizeof(*(table)), name)

/* Ends the process where the rule is broken. */
static inline void expect(bool condition, const char *rule)
{
    if (condition)
        return;
    fprintf(stderr, "test layer: %s\n", rule);
    abort();
}

/* VK_SUCCESS: the call is to be made. */
VkResult layer_enter(enum layer_call call);
void layer_note_dispatch(uint64_t groups);

/* ---- layer_faults.c: layer_control.any ---- */

/* VK_SUCCESS, or what this call returns instead. */
VkResult faults_enter(enum layer_call call);
/* Functions that nothing else is done about than that they fail, or that what they destroy is counted. */
PFN_vkVoidFunction faults_find(const char *name);
/* The same result; what was created is counted. */
VkResult faults_created(VkResult result);

/* ---- layer_kernels.c: ANYDML_LAYER_KERNELS=1 makes up VK_NVX_binary_import ---- */

bool kernels_made_up(void);
PFN_vkVoidFunction kernels_find(const char *name);
/* `info` without it, which the driver does not know; names: capacity for all of them. */
void kernels_take_extension(VkDeviceCreateInfo *info, const char **names);

/* ---- layer_compile.c: ANYDML_LAYER_COMPILE=FILE, for drivers that compile and do not execute ---- */

enum { LAYER_EXTENSIONS_MAX = 64 };

struct layer_compile_features {
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables;
    const char *names[LAYER_EXTENSIONS_MAX];
};

bool compile_made_up(void);
/* Of each instance, when it is created. */
void compile_open(PFN_vkGetInstanceProcAddr get, VkInstance instance);
PFN_vkVoidFunction compile_find(const char *name);
/* Adds VK_KHR_pipeline_executable_properties. */
void compile_take_features(VkDeviceCreateInfo *info, struct layer_compile_features *out);
VkResult compile_create_pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                  const VkComputePipelineCreateInfo *infos, const VkAllocationCallbacks *allocator,
                                  VkPipeline *out);

/* ---- layer_limits.c ---- */

bool limits_made_up(void);
/* Of each instance, when it is created. */
void limits_open(PFN_vkGetInstanceProcAddr get, VkInstance instance);
PFN_vkVoidFunction limits_find(const char *name);
/* Without what the layer makes up, in *features. */
void limits_take_features(VkDeviceCreateInfo *info, VkPhysicalDeviceFeatures *features);
VkResult limits_create_buffer(VkDevice device, const VkBufferCreateInfo *info, const VkAllocationCallbacks *allocator,
                              VkBuffer *out);

/* ---- layer_profiles.c: ANYDML_LAYER_PROFILE ---- */

bool profiles_made_up(void);
/* Limits of layer_limits.c; false: no profile. */
bool profiles_limits(unsigned long long *allocation, int *sparse);
/* Come before those of layer_limits.c, and use them. */
PFN_vkVoidFunction profiles_find(const char *name);

/* ---- layer_order.c: ANYDML_LAYER_ORDER=reverse ---- */

bool order_made_up(void);
PFN_vkVoidFunction order_find(const char *name);

/* ---- layer_late.c: ANYDML_LAYER_LATE=MICROSECONDS ---- */

bool late_made_up(void);
PFN_vkVoidFunction late_find(const char *name);
VkResult late_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence);

/* ---- layer_families.c ---- */

bool families_made_up(void);
void families_note_device(VkDevice device, const VkDeviceCreateInfo *info);
PFN_vkVoidFunction families_find(const char *name);
VkResult families_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence);
VkResult families_create_pool(VkDevice device, const VkCommandPoolCreateInfo *info,
                              const VkAllocationCallbacks *allocator, VkCommandPool *out);
/* All that AnyDML makes must be for every family. */
VkResult families_create_buffer(VkDevice device, const VkBufferCreateInfo *info, const VkAllocationCallbacks *allocator,
                                VkBuffer *out);
/* The command buffers are of that pool. */
void families_note(VkCommandPool pool, const VkCommandBuffer *commands, uint32_t count);

#endif
