/* SPDX-License-Identifier: Apache-2.0 */
/* Vulkan's loader and physical devices: what they are and what they can do. */
#ifndef ADAPTER_VULKAN_PHYSICAL_H
#define ADAPTER_VULKAN_PHYSICAL_H

#define VK_NO_PROTOTYPES
#include "d3d12/interop/interop.h"

#include <vulkan/vulkan_core.h>

/* ---- families.c ---- */

/* Roles of queue families: all, for DIRECT queues; computing while others render, for COMPUTE queues; copying while
 * others compute, for COPY queues. */
enum vulkan_role { VULKAN_ROLE_MAIN, VULKAN_ROLE_COMPUTE, VULKAN_ROLE_COPY, VULKAN_ROLES };

struct vulkan_family {
    uint32_t index, queues; /* queues 0: no family has the role, and MAIN's does the work */
    uint32_t timestamp_bits;
    bool sparse; /* its queues bind sparse memory */
};

/* From a device's table of families, each of which gets at most one role; false: none computes. */
bool vulkan_families_choose(const VkQueueFamilyProperties *list, uint32_t count,
                            struct vulkan_family out[VULKAN_ROLES]);

/* ---- limits.c ---- */

/* NULL, or the missing requirement of our shaders. */
const char *vulkan_limits_lack(const VkPhysicalDeviceLimits *limits);
/* SHADER_CAPABILITY_WIDE. */
bool vulkan_limits_wide(const VkPhysicalDeviceLimits *limits);

/* ---- loader.c ---- */

struct vulkan_procs {
#define VULKAN_GLOBAL(name)   PFN_##name name;
#define VULKAN_INSTANCE(name) PFN_##name name;
#include "adapter/vulkan/procs.def"
#undef VULKAN_GLOBAL
#undef VULKAN_INSTANCE
};
extern struct vulkan_procs vk;

/* A suitable device. It never changes after enumeration, except for the handle. */
struct vulkan_physical {
    VkPhysicalDevice handle; /* valid after vulkan_physical_open */
    uint8_t uuid[VK_UUID_SIZE], driver_uuid[VK_UUID_SIZE];
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceMemoryProperties memory;
    uint64_t allocation_bytes_max; /* of one VkDeviceMemory, */
    uint64_t buffer_bytes_max;     /* of one VkBuffer; UINT64_MAX: not known, */
    uint64_t sparse_bytes_max;     /* of a sparse one; 0: the device cannot bind sparse buffers */
    struct vulkan_family families[VULKAN_ROLES];
    uint32_t capabilities;    /* enum shader_capability */
    uint32_t multiprocessors; /* 0: not known */
    uint32_t floats;          /* enum vulkan_floats: the modes that shaders may request */
    bool budget, external_fd; /* extensions */
    bool loads_unasked;       /* the driver loads for no invocation (core/memory.glsl) */
};

/* Features that a device has, or has enabled. */
struct vulkan_features {
    VkPhysicalDeviceFeatures core;
    VkPhysicalDeviceVulkan11Features v11;
    VkPhysicalDeviceVulkan12Features v12;
    bool dot_products, matrices, bfloat16; /* of integers; cooperative, and with BFLOAT16: of adopted devices alone */
};

/* Everything except the queues and extensions. `enabled` NULL: all supported features. NULL, or the missing
 * requirement. */
const char *vulkan_physical_describe(VkPhysicalDevice handle, const struct vulkan_features *enabled,
                                     struct vulkan_physical *physical);
/* enum shader_capability: what ANYDML_VULKAN_CAPS and ANYDML_METACOMMANDS leave. */
uint32_t vulkan_capabilities_allowed(void);
/* Whether the device's products of packed integers are right, and fast. */
bool vulkan_trusts_dot_products(VkPhysicalDevice device);
uint32_t vulkan_multiprocessors(VkPhysicalDevice handle);
/* Another's instance may be used until the return, if it is of the loader that this process uses. */
HRESULT vulkan_loader_borrow(PFN_vkGetInstanceProcAddr get, VkInstance theirs, char *message);
void vulkan_loader_return(void);

/* The process's suitable devices, enumerated once. The drivers are unloaded afterwards. */
uint32_t vulkan_physicals(const struct vulkan_physical **out);
/* Loads the drivers for the lifetime of the process: some cannot be unloaded after use. The handle of device `index`,
 * or VK_NULL_HANDLE if it disappeared. */
VkPhysicalDevice vulkan_physical_open(uint32_t index);

/* ---- report.c ---- */

/* Lines of the log: before the loader makes an instance; each device, before it is judged; and each that is used. */
void vulkan_report_loader(PFN_vkGetInstanceProcAddr get);
void vulkan_report_found(VkPhysicalDevice handle);
void vulkan_report_used(const struct vulkan_physical *physical);

/* ---- cooperative.c ---- */

/* Of VK_KHR_cooperative_matrix and VK_KHR_shader_bfloat16, which Debian 12's Vulkan headers do not have. */
enum {
    VULKAN_STRUCTURE_BFLOAT16_FEATURES = 1000141000,
    VULKAN_STRUCTURE_MATRIX_FEATURES = 1000506000,
    VULKAN_STRUCTURE_MATRIX_SHAPE = 1000506001,
    VULKAN_COMPONENT_FLOAT16 = 0,
    VULKAN_COMPONENT_FLOAT32 = 1,
    VULKAN_COMPONENT_BFLOAT16 = 1000141000,
    VULKAN_SCOPE_SUBGROUP = 3,
};
struct vulkan_matrix_features { /* VkPhysicalDeviceCooperativeMatrixFeaturesKHR */
    uint32_t type;
    void *next;
    VkBool32 matrices, robust;
};
struct vulkan_bfloat16_features { /* VkPhysicalDeviceShaderBfloat16FeaturesKHR */
    uint32_t type;
    void *next;
    VkBool32 values, dot_products, matrices;
};
struct vulkan_matrix_shape { /* VkCooperativeMatrixPropertiesKHR */
    uint32_t type;
    void *next;
    uint32_t m, n, k, a, b, c, result;
    VkBool32 saturates;
    uint32_t scope;
};
typedef VkResult(VKAPI_PTR vulkan_get_matrix_shapes)(VkPhysicalDevice, uint32_t *, struct vulkan_matrix_shape *);

/* SHADER_CAPABILITY_COOP and others, if the device has their extensions. */
uint32_t vulkan_cooperative_find(PFN_vkGetInstanceProcAddr get, VkInstance instance, VkPhysicalDevice device,
                                 uint32_t extensions);

/* ---- floats.c ---- */

/* Subnormal numbers preserved; FLOAT16 rounded to nearest even, with infinities and NaN. */
enum vulkan_floats {
    VULKAN_SUBNORMALS_32 = 1,
    VULKAN_SUBNORMALS_64 = 2,
    VULKAN_SUBNORMALS_16 = 4,
    VULKAN_ROUNDED_16 = 8,
};

uint32_t vulkan_floats_kept(const VkPhysicalDeviceFloatControlsProperties *floats);
/* Whether a device with these modes and this driver converts between FLOAT16 and FLOAT32 exactly. */
bool vulkan_floats_convert(uint32_t kept, VkDriverId driver);
/* The module with execution modes for its floating-point types; the caller frees it. NULL: out of memory. */
uint32_t *vulkan_floats_keep(const uint32_t *spirv, size_t *bytes, uint32_t kept);

#endif
