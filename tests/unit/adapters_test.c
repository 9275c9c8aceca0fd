/* SPDX-License-Identifier: Apache-2.0 */
/* Which adapters are listed, in which order, and which one is the default: with simulated devices. */
#include "d3d12/adapter.h"

#include "test.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static bool gpu_there, node_there;

static uint32_t list_cpu(struct adapter_info *out, uint32_t capacity)
{
    if (capacity)
        out[0] = (struct adapter_info){ .name = "host", .hardware = true };
    return 1;
}

/* The loader names the software device first, as it may. */
static uint32_t list_vulkan(struct adapter_info *out, uint32_t capacity)
{
    if (capacity > 2) {
        out[0] = (struct adapter_info){ .index = 0, .kind = ADAPTER_SPIRV, .name = "software" };
        out[1] = (struct adapter_info){ .index = 1,
                                        .kind = ADAPTER_SPIRV,
                                        .name = "integrated",
                                        .hardware = true,
                                        .is_gpu = true,
                                        .integrated = true };
        out[2] =
            (struct adapter_info){ .index = 2, .kind = ADAPTER_SPIRV, .name = "gpu", .hardware = true, .is_gpu = true };
    }
    return gpu_there ? 3 : 1;
}

static bool has_node(void)
{
    return node_there;
}

static uint32_t list_none(struct adapter_info *out, uint32_t capacity)
{
    (void)out;
    (void)capacity;
    return 0;
}

const struct adapter_ops adapter_cpu_ops = { .name = "cpu", .enumerate = list_cpu };
const struct adapter_ops adapter_vulkan_ops = { .name = "vulkan", .hardware = has_node, .enumerate = list_vulkan };
const struct adapter_ops adapter_null_ops = { .name = "null", .enumerate = list_none };

/* The list of a process, and its default. */
static void expect(const char *wanted, const char *const *names, const char *by_default)
{
    pid_t child = fork();
    int status = 1;
    if (!child) {
        if (wanted)
            setenv("ANYDML_ADAPTERS", wanted, 1);
        const struct adapter_info *info = adapter_default();
        TEST_FOR(info && !strcmp(info->name, by_default), "%s is the default, not %s", info ? info->name : "nothing",
                 by_default);
        for (uint32_t i = 0; i == 0 || names[i - 1]; i++) {
            info = adapter_at(i);
            TEST_FOR(names[i] ? info && !strcmp(info->name, names[i]) : !info, "place %u: %s", i,
                     info ? info->name : "nothing");
            TEST(!info || adapter_position(info) == i);
            if (info && !strcmp(info->name, "software"))
                TEST(!info->hardware && info->luid.LowPart == (2u << 16 | 1)); /* at any position */
        }
        _exit(test_result());
    }
    TEST(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void test_capabilities(void)
{
    uint32_t capabilities = 7;
    char word[64];
    TEST(adapter_capabilities_parse("", &capabilities, word, sizeof(word)) && !capabilities);
    TEST(adapter_capabilities_parse("none", &capabilities, word, sizeof(word)) && !capabilities);
    TEST(adapter_capabilities_parse("storage,int64", &capabilities, word, sizeof(word)) && capabilities == 5);
    TEST(!adapter_capabilities_parse("int64,int6,float64,x", &capabilities, word, sizeof(word)));
    TEST(capabilities == 3 && !strcmp(word, "int6"));
}

static void test_watchdog(void)
{
    static const char *const bad[] = { "", "x", "-1", ".5", "1,5", "1.5s", "1e3", "1234567890", " 1" };
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = { { "0", 0 },         { "100", 100000000 }, { "0.001", 1000 },
                 { "2.5", 2500000 }, { "7.", 7000000 },    { "999999999", UINT64_C(999999999000000) },
                 { "0.00000049", 0 } };
    uint64_t ns;
    for (uint32_t i = 0; i < ARRAY_SIZE(bad); i++)
        TEST_FOR(!adapter_watchdog_parse(bad[i], &ns), "\"%s\"", bad[i]);
    for (uint32_t i = 0; i < ARRAY_SIZE(good); i++)
        TEST_FOR(adapter_watchdog_parse(good[i].text, &ns) && ns == good[i].ns, "\"%s\": %llu ns", good[i].text,
                 (unsigned long long)ns);
}

int main(void)
{
    static const char *const cpu[] = { "host", NULL }, *const software[] = { "host", "software", NULL };
    static const char *const all[] = { "host", "integrated", "gpu", "software", NULL };
    static const char *const vulkan[] = { "integrated", "gpu", "software", NULL };
    static const char *const turned[] = { "integrated", "gpu", "software", "host", NULL };
    unsetenv("ANYDML_ADAPTERS");
    expect(NULL, cpu, "host"); /* drivers are not loaded */
    node_there = true;
    expect(NULL, software, "host");
    gpu_there = true;
    expect(NULL, all, "gpu");
    expect("vulkan", vulkan, "integrated");
    expect("vulkan,cpu", turned, "integrated");
    test_capabilities();
    test_watchdog();
    return test_result();
}
