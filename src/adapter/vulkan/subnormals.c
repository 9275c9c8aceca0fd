/* SPDX-License-Identifier: Apache-2.0 */
/* Subnormal numbers and half precision in shaders. Devices may take subnormal numbers for zeros and round conversions
 * to half precision either way, unless a shader's execution mode forbids it; it may do so only where the device knows
 * that mode, so it is added when a pipeline is made. */
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
    MODE_SIGNED_ZERO_INF_NAN_PRESERVE = 4461, /* the shaders declare its capability themselves */
    MODE_ROUNDING_MODE_RTE = 4462,
    MODES_MAX = 7,
    ADDED_WORDS = 2 * 2 + MODES_MAX * 4, /* capabilities and modes */
};

uint32_t vulkan_subnormals_kept(const VkPhysicalDeviceFloatControlsProperties *floats)
{
    uint32_t kept = (floats->shaderDenormPreserveFloat32 ? VULKAN_SUBNORMALS_32 : 0) |
                    (floats->shaderDenormPreserveFloat64 ? VULKAN_SUBNORMALS_64 : 0);
    /* Shaders with both widths must ask for the same of each. */
    if (floats->denormBehaviorIndependence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE &&
        kept != (VULKAN_SUBNORMALS_32 | VULKAN_SUBNORMALS_64))
        return 0;
    /* Some devices want one mode for FLOAT16 and FLOAT64, or for all: then all have the same. */
    const bool alike = floats->denormBehaviorIndependence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL ||
                       floats->shaderDenormPreserveFloat64;
    if (floats->shaderDenormPreserveFloat16 && alike && floats->shaderSignedZeroInfNanPreserveFloat16 &&
        floats->shaderRoundingModeRTEFloat16 && floats->shaderRoundingModeRTEFloat32 &&
        floats->shaderRoundingModeRTEFloat64)
        kept |= VULKAN_HALF;
    return kept;
}

/* What the module says of itself: where its capabilities end, where its entry points end, and whose the first is. */
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

struct mode {
    uint32_t mode, width;
};

/* Returns how many. */
static uint32_t pick_modes(const struct module *m, uint32_t kept, struct mode *out)
{
    const bool half = kept & VULKAN_HALF;
    const struct {
        bool wanted;
        struct mode mode;
    } all[MODES_MAX] = {
        { kept & VULKAN_SUBNORMALS_32, { MODE_DENORM_PRESERVE, 32 } },
        { m->doubles && kept & VULKAN_SUBNORMALS_64, { MODE_DENORM_PRESERVE, 64 } },
        { half, { MODE_DENORM_PRESERVE, 16 } },
        { half, { MODE_SIGNED_ZERO_INF_NAN_PRESERVE, 16 } },
        { half, { MODE_ROUNDING_MODE_RTE, 16 } },
        { half, { MODE_ROUNDING_MODE_RTE, 32 } },
        { half && m->doubles, { MODE_ROUNDING_MODE_RTE, 64 } },
    };
    uint32_t count = 0;
    for (uint32_t i = 0; i < MODES_MAX; i++)
        if (all[i].wanted)
            out[count++] = all[i].mode;
    return count;
}

uint32_t *vulkan_subnormals_keep(const uint32_t *spirv, size_t *bytes, uint32_t kept)
{
    const size_t count = *bytes / sizeof(*spirv);
    const struct module m = read_module(spirv, count);
    struct mode modes[MODES_MAX];
    const uint32_t mode_count = m.entries_end ? pick_modes(&m, kept, modes) : 0;
    const size_t middle = mode_count ? m.entries_end : m.capabilities_end;
    uint32_t *out = malloc((count + ADDED_WORDS) * sizeof(*out));
    if (!out)
        return NULL;
    uint32_t *at = copy_words(out, spirv, m.capabilities_end);
    if (mode_count)
        at = copy_words(at, (uint32_t[]){ 2 << 16 | OP_CAPABILITY, CAPABILITY_DENORM_PRESERVE }, 2);
    if (mode_count && kept & VULKAN_HALF)
        at = copy_words(at, (uint32_t[]){ 2 << 16 | OP_CAPABILITY, CAPABILITY_ROUNDING_MODE_RTE }, 2);
    at = copy_words(at, spirv + m.capabilities_end, middle - m.capabilities_end);
    for (uint32_t i = 0; i < mode_count; i++)
        at = copy_words(at, (uint32_t[]){ 4 << 16 | OP_EXECUTION_MODE, m.entry, modes[i].mode, modes[i].width }, 4);
    at = copy_words(at, spirv + middle, count - middle);
    *bytes = (size_t)(at - out) * sizeof(*out);
    return out;
}
