/* SPDX-License-Identifier: Apache-2.0 */
/* Detects devices that multiply cooperative matrices as shaders/gemm/matrix.glsl does: 16 x 16 x 16, by subgroups of
 * 32, FLOAT16 or BFLOAT16 with FLOAT32 sums, including FLOAT16 matrices of the same use (attention). */
#include "adapter/vulkan/vulkan.h"

#include "base/log.h"
#include "shaders/shader.h"

#include <stdlib.h>

/* Allow-list of drivers with a fast implementation. Some others are up to a thousand times slower than without it
 * (Intel before Xe2), and some crash when they are asked for the shapes; ANYDML_VULKAN_CAPS can enable the capability
 * for them, by its name. */
static const struct {
    VkDriverId driver;
    const char *reason;
} good_drivers[] = {
    { VK_DRIVER_ID_NVIDIA_PROPRIETARY, "measured and checked on H100 and H200, 580" },
};

#define SIDE         16 /* of matrices */
#define SUBGROUP     32
#define SHARED_BYTES 40960 /* of a workgroup with the largest tile of src/shaders/gemm/gemm_tile.comp */

static bool is_good(VkDriverId driver)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(good_drivers); i++)
        if (good_drivers[i].driver == driver)
            return true;
    const char *named = getenv("ANYDML_VULKAN_CAPS");
    uint32_t capabilities = 0;
    char unknown[64]; /* reported by d3d12/environment.c */
    if (named)
        adapter_capabilities_parse(named, &capabilities, unknown, sizeof(unknown));
    return capabilities & SHADER_CAPABILITY_COOP;
}

/* Of its properties, all but the matrices'. */
static bool fits(VkPhysicalDevice device, const struct vulkan_features *features)
{
    VkPhysicalDeviceDriverProperties driver = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES };
    VkPhysicalDeviceSubgroupProperties subgroup = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
                                                    .pNext = &driver };
    VkPhysicalDeviceFloatControlsProperties floats = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES,
        .pNext = &subgroup,
    };
    VkPhysicalDeviceProperties2 properties = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                               .pNext = &floats };
    vk.vkGetPhysicalDeviceProperties2(device, &properties);
    return is_good(driver.driverID) && subgroup.subgroupSize == SUBGROUP &&
           properties.properties.limits.maxComputeSharedMemorySize >= SHARED_BYTES &&
           vulkan_floats_kept(&floats) & VULKAN_ROUNDED_16 && features->v12.shaderFloat16 &&
           features->v12.vulkanMemoryModel && features->v12.vulkanMemoryModelDeviceScope; /* of atomics elsewhere */
}

static bool has_shape(const struct vulkan_matrix_shape *shapes, uint32_t count, uint32_t type, uint32_t sum)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct vulkan_matrix_shape *s = &shapes[i];
        if (s->m == SIDE && s->n == SIDE && s->k == SIDE && s->a == type && s->b == type && s->c == sum &&
            s->result == sum && !s->saturates && s->scope == VULKAN_SCOPE_SUBGROUP)
            return true;
    }
    return false;
}

static uint32_t shapes_of(vulkan_get_matrix_shapes *get, VkPhysicalDevice device)
{
    struct vulkan_matrix_shape *shapes = NULL;
    uint32_t count = 0, found = 0;
    if (get(device, &count, NULL) == VK_SUCCESS && count)
        shapes = calloc(count, sizeof(*shapes));
    for (uint32_t i = 0; shapes && i < count; i++)
        shapes[i].type = VULKAN_STRUCTURE_MATRIX_SHAPE;
    if (shapes && get(device, &count, shapes) >= VK_SUCCESS) {
        if (has_shape(shapes, count, VULKAN_COMPONENT_FLOAT16, VULKAN_COMPONENT_FLOAT32) &&
            has_shape(shapes, count, VULKAN_COMPONENT_FLOAT16, VULKAN_COMPONENT_FLOAT16))
            found |= SHADER_CAPABILITY_COOP;
        if (has_shape(shapes, count, VULKAN_COMPONENT_BFLOAT16, VULKAN_COMPONENT_FLOAT32))
            found |= SHADER_CAPABILITY_COOP_BFLOAT16;
    }
    free(shapes);
    return found;
}

uint32_t vulkan_cooperative_find(PFN_vkGetInstanceProcAddr get, VkInstance instance, VkPhysicalDevice device,
                                 uint32_t extensions)
{
    struct vulkan_bfloat16_features bfloat16 = { .type = VULKAN_STRUCTURE_BFLOAT16_FEATURES };
    struct vulkan_matrix_features matrix = { .type = VULKAN_STRUCTURE_MATRIX_FEATURES };
    struct vulkan_features features = { .v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES };
    VkPhysicalDeviceFeatures2 all = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &features.v12 };
    vulkan_get_matrix_shapes *shapes =
        (vulkan_get_matrix_shapes *)get(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    if (!(extensions & SHADER_CAPABILITY_COOP) || !shapes)
        return 0;
    features.v12.pNext = &matrix;
    matrix.next = extensions & SHADER_CAPABILITY_COOP_BFLOAT16 ? &bfloat16 : NULL;
    vk.vkGetPhysicalDeviceFeatures2(device, &all);
    if (!matrix.matrices || !fits(device, &features))
        return 0;
    uint32_t found = shapes_of(shapes, device);
    if (!bfloat16.values || !bfloat16.matrices)
        found &= ~(uint32_t)SHADER_CAPABILITY_COOP_BFLOAT16;
    return found & SHADER_CAPABILITY_COOP ? found : 0;
}
