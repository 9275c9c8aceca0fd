/* SPDX-License-Identifier: Apache-2.0 */
/* What compiled shaders promise about rounding: element-wise programs round every operation by itself, and modules keep
 * subnormal numbers where a device can. */
#include "adapter/vulkan/vulkan.h"

#include "map_f64_named.h"
#include "map_named.h"
#include "softmax_named.h"

#include "test.h"

#include <stdlib.h>

enum {
    OP_NAME = 5,
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    OP_FUNCTION = 54,
    OP_DECORATE = 71,
    OP_FADD = 129,
    OP_FMUL = 133,
    DECORATION_NO_CONTRACTION = 42,
    CAPABILITY_DENORM_PRESERVE = 4464,
    CAPABILITY_ROUNDING_MODE_RTE = 4467,
    MODE_DENORM_PRESERVE = 4459,
    MODE_ROUNDING_MODE_RTE = 4462,
};

static bool decorated(const uint32_t *words, size_t count, uint32_t id)
{
    for (size_t at = 5; at < count; at += words[at] >> 16)
        if ((words[at] & 0xffff) == OP_DECORATE && words[at + 1] == id && words[at + 2] == DECORATION_NO_CONTRACTION)
            return true;
    return false;
}

static bool named(const uint32_t *words, size_t count, uint32_t id, const char *begin)
{
    for (size_t at = 5; at < count; at += words[at] >> 16)
        if ((words[at] & 0xffff) == OP_NAME && words[at + 1] == id)
            return !strncmp((const char *)&words[at + 2], begin, strlen(begin));
    return false;
}

/* Products and sums in the functions eval_basic, of each type one. */
static void check_contraction(const char *name, const uint32_t *words, size_t bytes, uint32_t functions)
{
    const size_t count = bytes / 4;
    uint32_t found = 0, loose = 0, arithmetic = 0;
    bool inside = false;
    for (size_t at = 5; at < count; at += words[at] >> 16) {
        const uint32_t op = words[at] & 0xffff;
        if (op == OP_FUNCTION)
            found += inside = named(words, count, words[at + 2], "eval_basic(");
        if (!inside || (op != OP_FADD && op != OP_FMUL))
            continue;
        arithmetic++;
        loose += !decorated(words, count, words[at + 2]);
    }
    TEST_FOR(found == functions && arithmetic > 4 * found && !loose,
             "%s: %u functions, %u of %u operations may be fused", name, found, loose, arithmetic);
}

static uint32_t count_words(const uint32_t *words, size_t bytes, uint32_t op, uint32_t value, size_t where)
{
    uint32_t count = 0;
    for (size_t at = 5; at < bytes / 4; at += words[at] >> 16)
        count += (words[at] & 0xffff) == op && words[at] >> 16 > where && words[at + where] == value;
    return count;
}

/* Modes that keep subnormal numbers, besides those of FLOAT16's rounding. */
static void check_kept(const uint32_t *spirv, size_t bytes, uint32_t kept, uint32_t modes)
{
    const uint32_t rounded = kept & VULKAN_ROUNDED_16 ? 1 : 0;
    size_t size = bytes;
    uint32_t *words = vulkan_floats_keep(spirv, &size, kept);
    TEST(words);
    if (!words)
        return;
    TEST(size == bytes + (modes ? 8 + 16 * modes : 0) + (8 + 2 * 16) * rounded);
    TEST(count_words(words, size, OP_CAPABILITY, CAPABILITY_ROUNDING_MODE_RTE, 1) == rounded);
    TEST(count_words(words, size, OP_EXECUTION_MODE, MODE_ROUNDING_MODE_RTE, 2) == rounded);
    TEST(count_words(words, size, OP_EXECUTION_MODE, 16, 3) == 2 * rounded + (kept & VULKAN_SUBNORMALS_16 ? 1 : 0));
    TEST(count_words(words, size, OP_CAPABILITY, CAPABILITY_DENORM_PRESERVE, 1) == (modes > 0));
    TEST(count_words(words, size, OP_EXECUTION_MODE, MODE_DENORM_PRESERVE, 2) == modes);
    TEST(modes || rounded || !memcmp(words, spirv, bytes));
    free(words);
}

static void check_independence(void)
{
    const uint32_t all = VULKAN_SUBNORMALS_32 | VULKAN_SUBNORMALS_64 | VULKAN_SUBNORMALS_16;
    VkPhysicalDeviceFloatControlsProperties floats = { .shaderDenormPreserveFloat32 = VK_TRUE };
    floats.denormBehaviorIndependence = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
    TEST(vulkan_floats_kept(&floats) == 0);
    floats.denormBehaviorIndependence = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY;
    TEST(vulkan_floats_kept(&floats) == VULKAN_SUBNORMALS_32);
    floats.shaderDenormPreserveFloat64 = VK_TRUE;
    floats.denormBehaviorIndependence = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
    TEST(vulkan_floats_kept(&floats) == (VULKAN_SUBNORMALS_32 | VULKAN_SUBNORMALS_64));
    floats.shaderDenormPreserveFloat16 = VK_TRUE;
    TEST(vulkan_floats_kept(&floats) == all);
    floats.shaderDenormPreserveFloat64 = VK_FALSE;
    TEST(vulkan_floats_kept(&floats) == 0);
    floats.denormBehaviorIndependence = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY;
    TEST(vulkan_floats_kept(&floats) == VULKAN_SUBNORMALS_32);
    floats.denormBehaviorIndependence = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL;
    TEST(vulkan_floats_kept(&floats) == (VULKAN_SUBNORMALS_32 | VULKAN_SUBNORMALS_16));
}

static void check_rounding(void)
{
    VkPhysicalDeviceFloatControlsProperties floats = {
        .roundingModeIndependence = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL,
        .shaderSignedZeroInfNanPreserveFloat16 = VK_TRUE,
        .shaderRoundingModeRTEFloat16 = VK_TRUE,
    };
    TEST(vulkan_floats_kept(&floats) == VULKAN_ROUNDED_16);
    TEST(!vulkan_floats_convert(VULKAN_ROUNDED_16, VK_DRIVER_ID_NVIDIA_PROPRIETARY));
    TEST(vulkan_floats_convert(VULKAN_ROUNDED_16, VK_DRIVER_ID_MESA_LLVMPIPE));
    TEST(vulkan_floats_convert(VULKAN_ROUNDED_16 | VULKAN_SUBNORMALS_16, VK_DRIVER_ID_NVIDIA_PROPRIETARY));
    TEST(!vulkan_floats_convert(VULKAN_SUBNORMALS_16, VK_DRIVER_ID_NVIDIA_PROPRIETARY));
    /* Drivers choose the rounding of packHalf2x16: AMD's are reported to round toward zero. */
    TEST(!vulkan_floats_convert(VULKAN_ROUNDED_16 | VULKAN_SUBNORMALS_16, VK_DRIVER_ID_MESA_RADV));
    TEST(!vulkan_floats_convert(VULKAN_ROUNDED_16 | VULKAN_SUBNORMALS_16, VK_DRIVER_ID_AMD_PROPRIETARY));
    floats.roundingModeIndependence = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY;
    TEST(vulkan_floats_kept(&floats) == 0);
}

int main(void)
{
    const uint32_t both = VULKAN_SUBNORMALS_32 | VULKAN_SUBNORMALS_64;
    check_contraction("map", map_spirv, sizeof(map_spirv), 1);
    check_contraction("map_f64", map_f64_spirv, sizeof(map_f64_spirv), 2);
    check_kept(softmax_spirv, sizeof(softmax_spirv), both, 1);
    check_kept(softmax_spirv, sizeof(softmax_spirv), VULKAN_SUBNORMALS_64, 0);
    check_kept(map_f64_spirv, sizeof(map_f64_spirv), both, 2);
    check_kept(map_f64_spirv, sizeof(map_f64_spirv), VULKAN_SUBNORMALS_32, 1);
    check_kept(map_spirv, sizeof(map_spirv), 0, 0);
    check_kept(softmax_spirv, sizeof(softmax_spirv), VULKAN_SUBNORMALS_32 | VULKAN_SUBNORMALS_16, 2);
    check_kept(softmax_spirv, sizeof(softmax_spirv), VULKAN_ROUNDED_16, 0);
    check_kept(map_f64_spirv, sizeof(map_f64_spirv), both | VULKAN_SUBNORMALS_16 | VULKAN_ROUNDED_16, 3);
    check_independence();
    check_rounding();
    return test_result();
}
