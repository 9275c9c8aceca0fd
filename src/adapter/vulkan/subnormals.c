/* SPDX-License-Identifier: Apache-2.0 */
/* Subnormal numbers in shaders. Devices may take them for zeros unless a shader's execution mode forbids it; it may do
 * so only where the device knows that mode, so it is added when a pipeline is made. */
#include "adapter/vulkan/vulkan.h"

#include <stdlib.h>

enum {
    HEADER_WORDS = 5,
    OP_ENTRY_POINT = 15,
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    CAPABILITY_FLOAT64 = 10,
    CAPABILITY_DENORM_PRESERVE = 4464,
    MODE_DENORM_PRESERVE = 4459,
    ADDED_WORDS = 2 + 2 * 4, /* a capability and two modes */
};

uint32_t vulkan_subnormals_kept(const VkPhysicalDeviceFloatControlsProperties *floats)
{
    uint32_t kept = (floats->shaderDenormPreserveFloat32 ? VULKAN_SUBNORMALS_32 : 0) |
                    (floats->shaderDenormPreserveFloat64 ? VULKAN_SUBNORMALS_64 : 0);
    /* Shaders with both widths must ask for the same of each. */
    if (floats->denormBehaviorIndependence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE &&
        kept != (VULKAN_SUBNORMALS_32 | VULKAN_SUBNORMALS_64))
        return 0;
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

uint32_t *vulkan_subnormals_keep(const uint32_t *spirv, size_t *bytes, uint32_t kept)
{
    const size_t count = *bytes / sizeof(*spirv);
    const struct module m = read_module(spirv, count);
    const uint32_t widths[] = { kept & VULKAN_SUBNORMALS_32 ? 32 : 0,
                                m.doubles && kept & VULKAN_SUBNORMALS_64 ? 64 : 0 };
    const bool some = m.entries_end && (widths[0] || widths[1]);
    const size_t middle = some ? m.entries_end : m.capabilities_end;
    uint32_t *out = malloc((count + ADDED_WORDS) * sizeof(*out));
    if (!out)
        return NULL;
    uint32_t *at = copy_words(out, spirv, m.capabilities_end);
    if (some)
        at = copy_words(at, (uint32_t[]){ 2 << 16 | OP_CAPABILITY, CAPABILITY_DENORM_PRESERVE }, 2);
    at = copy_words(at, spirv + m.capabilities_end, middle - m.capabilities_end);
    for (uint32_t i = 0; some && i < ARRAY_SIZE(widths); i++)
        if (widths[i])
            at = copy_words(at, (uint32_t[]){ 4 << 16 | OP_EXECUTION_MODE, m.entry, MODE_DENORM_PRESERVE, widths[i] },
                            4);
    at = copy_words(at, spirv + middle, count - middle);
    *bytes = (size_t)(at - out) * sizeof(*out);
    return out;
}
