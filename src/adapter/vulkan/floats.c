/* SPDX-License-Identifier: Apache-2.0 */
/* Float controls: subnormal numbers and FLOAT16 rounding in shaders. Devices may flush subnormal numbers and round
 * FLOAT16 in any way unless a shader's execution modes forbid it; the modes are allowed only on devices that support
 * them, so they are added when a pipeline is created. */
#include "adapter/vulkan/vulkan.h"

#include <stdlib.h>

enum {
    HEADER_WORDS = 5,
    OP_ENTRY_POINT = 15,
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    CAPABILITY_FLOAT64 = 10,
    CAPABILITY_DENORM_PRESERVE = 4464,
    CAPABILITY_ROUNDING_MODE_RTE = 4467,
    MODE_DENORM_PRESERVE = 4459,
    MODE_SIGNED_ZERO_INF_NAN_PRESERVE = 4461, /* modules have its capability, for FLOAT32 */
    MODE_ROUNDING_MODE_RTE = 4462,
    ADDED_WORDS = 2 * 2 + 5 * 4, /* capabilities and modes */
};

uint32_t vulkan_floats_kept(const VkPhysicalDeviceFloatControlsProperties *floats)
{
    const uint32_t others = VULKAN_SUBNORMALS_32 | VULKAN_SUBNORMALS_64;
    uint32_t kept = (floats->shaderDenormPreserveFloat32 ? VULKAN_SUBNORMALS_32 : 0) |
                    (floats->shaderDenormPreserveFloat64 ? VULKAN_SUBNORMALS_64 : 0) |
                    (floats->shaderDenormPreserveFloat16 ? VULKAN_SUBNORMALS_16 : 0);
    /* Shaders must request the same for widths that are not independent. */
    if (floats->denormBehaviorIndependence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL &&
        !floats->shaderDenormPreserveFloat16 != !floats->shaderDenormPreserveFloat64)
        kept &= others;
    if (floats->denormBehaviorIndependence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE && (kept & others) != others)
        kept = 0;
    if (floats->shaderRoundingModeRTEFloat16 && floats->shaderSignedZeroInfNanPreserveFloat16 &&
        floats->roundingModeIndependence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL)
        kept |= VULKAN_ROUNDED_16;
    return kept;
}

/* The modes do not apply to packHalf2x16: its rounding is the driver's choice ("Precision and Operation of SPIR-V
 * Instructions"), and AMD's are reported to round toward zero. Only drivers that were compared with exact results are
 * accepted. llvmpipe preserves subnormal FLOAT16 numbers without reporting it. */
bool vulkan_floats_convert(uint32_t kept, VkDriverId driver)
{
    if (!(kept & VULKAN_ROUNDED_16))
        return false;
    return driver == VK_DRIVER_ID_MESA_LLVMPIPE ||
           (driver == VK_DRIVER_ID_NVIDIA_PROPRIETARY && kept & VULKAN_SUBNORMALS_16);
}

/* Positions in the module: the end of its capabilities, the end of its entry points, and the id of the first. */
struct module {
    size_t capabilities_end, entries_end;
    uint32_t entry;
    bool doubles;
};

static struct module read_module(const uint32_t *words, size_t count)
{
    struct module m = { HEADER_WORDS, 0, 0, false };
    for (size_t at = HEADER_WORDS, length; at < count; at += length) {
        const uint32_t op = words[at] & 0xffff;
        length = words[at] >> 16;
        if (!length || length > count - at)
            break;
        if (op == OP_CAPABILITY) {
            m.doubles |= words[at + 1] == CAPABILITY_FLOAT64;
            m.capabilities_end = at + length;
        } else if (op == OP_ENTRY_POINT) {
            m.entry = words[at + 2];
            m.entries_end = at + length;
        } else if (m.entries_end) {
            break;
        }
    }
    return m;
}

static uint32_t *copy_words(uint32_t *to, const uint32_t *from, size_t count)
{
    memcpy(to, from, count * sizeof(*to));
    return to + count;
}

static uint32_t *put_capability(uint32_t *at, bool wanted, uint32_t capability)
{
    return wanted ? copy_words(at, (uint32_t[]){ 2 << 16 | OP_CAPABILITY, capability }, 2) : at;
}

static uint32_t *put_mode(uint32_t *at, bool wanted, uint32_t entry, uint32_t mode, uint32_t width)
{
    return wanted ? copy_words(at, (uint32_t[]){ 4 << 16 | OP_EXECUTION_MODE, entry, mode, width }, 4) : at;
}

uint32_t *vulkan_floats_keep(const uint32_t *spirv, size_t *bytes, uint32_t kept)
{
    const size_t count = *bytes / sizeof(*spirv);
    const struct module m = read_module(spirv, count);
    if (!m.entries_end)
        kept = 0;
    if (!m.doubles)
        kept &= ~(uint32_t)VULKAN_SUBNORMALS_64;
    const bool rounded = kept & VULKAN_ROUNDED_16, subnormals = kept & ~(uint32_t)VULKAN_ROUNDED_16;
    const size_t middle = kept ? m.entries_end : m.capabilities_end;
    uint32_t *out = malloc((count + ADDED_WORDS) * sizeof(*out));
    if (!out)
        return NULL;
    uint32_t *at = copy_words(out, spirv, m.capabilities_end);
    at = put_capability(at, subnormals, CAPABILITY_DENORM_PRESERVE);
    at = put_capability(at, rounded, CAPABILITY_ROUNDING_MODE_RTE);
    at = copy_words(at, spirv + m.capabilities_end, middle - m.capabilities_end);
    at = put_mode(at, kept & VULKAN_SUBNORMALS_32, m.entry, MODE_DENORM_PRESERVE, 32);
    at = put_mode(at, kept & VULKAN_SUBNORMALS_64, m.entry, MODE_DENORM_PRESERVE, 64);
    at = put_mode(at, kept & VULKAN_SUBNORMALS_16, m.entry, MODE_DENORM_PRESERVE, 16);
    at = put_mode(at, rounded, m.entry, MODE_SIGNED_ZERO_INF_NAN_PRESERVE, 16);
    at = put_mode(at, rounded, m.entry, MODE_ROUNDING_MODE_RTE, 16);
    at = copy_words(at, spirv + middle, count - middle);
    *bytes = (size_t)(at - out) * sizeof(*out);
    return out;
}
