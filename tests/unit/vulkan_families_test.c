/* SPDX-License-Identifier: Apache-2.0 */
/* Which queue families the Vulkan adapter takes for what: tables as drivers of each maker have them, and odd ones; and
 * which limits of devices it takes. */
#include "adapter/vulkan/vulkan.h"

#include "test.h"

#define G VK_QUEUE_GRAPHICS_BIT
#define C VK_QUEUE_COMPUTE_BIT
#define T VK_QUEUE_TRANSFER_BIT
#define S VK_QUEUE_SPARSE_BINDING_BIT
#define P VK_QUEUE_PROTECTED_BIT
#define D 0x20u  /* video decoding */
#define E 0x40u  /* video encoding */
#define O 0x100u /* optical flow */

#define NO UINT32_MAX

static const struct {
    const char *name;
    uint32_t main, compute, copy; /* indices; NO: none */
    uint32_t count;
    VkQueueFamilyProperties families[8];
} tables[] = {
    { "none", NO, NO, NO, 0, { { 0 } } },
    { "no compute", NO, NO, 1, 2, { { G | T, 1, 64, { 1, 1, 1 } }, { T, 1, 64, { 1, 1, 1 } } } },
    { "one", 0, NO, NO, 1, { { G | C | T, 1, 64, { 1, 1, 1 } } } },
    { "one that computes", 0, NO, NO, 1, { { C, 1, 64, { 1, 1, 1 } } } },
    { "NVIDIA",
      0,
      2,
      1,
      6,
      { { G | C | T | S, 16, 64, { 1, 1, 1 } },
        { T | S, 2, 64, { 1, 1, 1 } },
        { C | T | S, 8, 64, { 1, 1, 1 } },
        { T | S | D, 3, 32, { 1, 1, 1 } },
        { T | S | E, 3, 32, { 1, 1, 1 } },
        { T | S | O, 1, 64, { 1, 1, 1 } } } },
    { "NVIDIA without displays, video first",
      1,
      3,
      2,
      4,
      { { T | S | D, 3, 32, { 1, 1, 1 } },
        { G | C | T | S, 16, 64, { 1, 1, 1 } },
        { T | S, 2, 64, { 1, 1, 1 } },
        { C | T | S, 8, 64, { 1, 1, 1 } } } },
    { "AMD",
      0,
      1,
      3,
      5,
      { { G | C | T | S, 1, 64, { 1, 1, 1 } },
        { C | T | S, 4, 64, { 1, 1, 1 } },
        { D, 1, 0, { 1, 1, 1 } },
        { T | S, 1, 64, { 16, 16, 8 } },
        { E, 1, 0, { 1, 1, 1 } } } },
    { "AMD without graphics", 0, NO, 1, 2, { { C | T | S, 4, 64, { 1, 1, 1 } }, { T | S, 2, 64, { 8, 8, 8 } } } },
    { "Intel, integrated", 0, NO, NO, 2, { { G | C | T | S | P, 1, 36, { 1, 1, 1 } }, { T | D, 0, 0, { 1, 1, 1 } } } },
    { "Intel, discrete",
      0,
      1,
      2,
      4,
      { { G | C | T | S, 1, 36, { 1, 1, 1 } },
        { C | T | S, 1, 36, { 1, 1, 1 } },
        { T | S, 1, 36, { 1, 1, 1 } },
        { D, 2, 0, { 1, 1, 1 } } } },
    { "graphics apart", 1, NO, NO, 2, { { G | T, 1, 64, { 1, 1, 1 } }, { C | T, 2, 64, { 1, 1, 1 } } } },
    { "compute first, video copies",
      1,
      0,
      2,
      3,
      { { C | T, 2, 0, { 1, 1, 1 } }, { G | C | T, 1, 48, { 1, 1, 1 } }, { T | E, 1, 0, { 1, 1, 1 } } } },
    { "families without queues",
      2,
      NO,
      NO,
      3,
      { { G | C | T, 0, 64, { 1, 1, 1 } }, { T, 0, 64, { 1, 1, 1 } }, { C, 1, 30, { 1, 1, 1 } } } },
    { "several of a kind",
      0,
      1,
      3,
      5,
      { { G | C | T, 1, 64, { 1, 1, 1 } },
        { C | T, 1, 64, { 1, 1, 1 } },
        { C | T, 8, 64, { 1, 1, 1 } },
        { T, 1, 64, { 1, 1, 1 } },
        { T, 2, 64, { 1, 1, 1 } } } },
};

static void expect(size_t table, const char *role, const struct vulkan_family *got, uint32_t want)
{
    const VkQueueFamilyProperties *family = &tables[table].families[want == NO ? 0 : want];
    if (want == NO)
        TEST_FOR(!got->queues, "%s, %s: family %u instead of none", tables[table].name, role, got->index);
    else
        TEST_FOR(got->index == want && got->queues == family->queueCount &&
                     got->timestamp_bits == family->timestampValidBits,
                 "%s, %s: family %u with %u queues and %u bits instead of %u", tables[table].name, role, got->index,
                 got->queues, got->timestamp_bits, want);
}

/* Every device has 128 invocations. */
static void test_limits(void)
{
    VkPhysicalDeviceLimits limits = { .maxComputeWorkGroupInvocations = 256, .maxComputeWorkGroupSize = { 256, 1, 1 } };
    TEST(!vulkan_limits_lack(&limits));
    limits.maxComputeWorkGroupSize[0] = 128;
    TEST(vulkan_limits_lack(&limits));
    limits = (VkPhysicalDeviceLimits){ .maxComputeWorkGroupInvocations = 128,
                                       .maxComputeWorkGroupSize = { 1024, 1024, 64 } };
    TEST(vulkan_limits_lack(&limits));
}

int main(void)
{
    test_limits();
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        struct vulkan_family out[VULKAN_ROLES];
        memset(out, 0xff, sizeof(out));
        TEST_FOR(vulkan_families_choose(tables[i].families, tables[i].count, out) == (tables[i].main != NO), "%s",
                 tables[i].name);
        expect(i, "main", &out[VULKAN_ROLE_MAIN], tables[i].main);
        expect(i, "compute", &out[VULKAN_ROLE_COMPUTE], tables[i].compute);
        expect(i, "copy", &out[VULKAN_ROLE_COPY], tables[i].copy);
    }
    return test_result();
}
