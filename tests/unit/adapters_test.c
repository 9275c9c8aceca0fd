/* SPDX-License-Identifier: Apache-2.0 */
/* Which adapters are listed, in which order, and which one is the default: with simulated devices. */
#include "d3d12/adapter.h"

#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool gpu_there, node_there;
static uint32_t asked;             /* how often the drivers were */
static atomic_bool entered, waits; /* a driver that takes its time */

static uint32_t list_cpu(struct adapter_info *out, uint32_t capacity)
{
    if (capacity)
        out[0] = (struct adapter_info){ .name = "CPU", .hardware = true, .integrated = true };
    return 1;
}

#define GPU(place, ...)                                                                                                \
    out[place] = (struct adapter_info)                                                                                 \
    {                                                                                                                  \
        .index = (place), .kind = ADAPTER_SPIRV, .hardware = true, .is_gpu = true, __VA_ARGS__                         \
    }

/* In an order that no one should see: loaders name devices as they find them. */
static uint32_t list_vulkan(struct adapter_info *out, uint32_t capacity)
{
    asked++;
    atomic_store(&entered, true);
    while (atomic_load(&waits))
        usleep(1000);
    if (capacity < 6)
        return 0;
    out[0] = (struct adapter_info){ .index = 0, .kind = ADAPTER_SPIRV, .name = "software", .integrated = true };
    GPU(1, .name = "integrated", .integrated = true);
    GPU(2, .name = "small", .dedicated_memory = UINT64_C(4) << 30);
    GPU(3, .name = "large", .dedicated_memory = UINT64_C(80) << 30);
    GPU(4, .name = "small too", .dedicated_memory = UINT64_C(4) << 30);
    GPU(5, .name = "integrated too", .integrated = true);
    return gpu_there ? 6 : 1;
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

static void check_list(const char *const *names)
{
    const struct adapter_info *info = adapter_default();
    TEST_FOR(info && !strcmp(info->name, names[0]), "%s is the default, not %s", info ? info->name : "nothing",
             names[0]);
    TEST(info == adapter_at(0));
    for (uint32_t i = 0; i == 0 || names[i - 1]; i++) {
        info = adapter_at(i);
        TEST_FOR(names[i] ? info && !strcmp(info->name, names[i]) : !info, "place %u: %s", i,
                 info ? info->name : "nothing");
        TEST(!info || adapter_position(info) == i);
        if (info && info->kind == ADAPTER_SPIRV) /* wherever it stands */
            TEST(info->luid.LowPart == (2u << 16 | (info->index + 1)));
    }
}

/* The list of a process, its default, and how often drivers were asked. */
static void expect(const char *wanted, const char *const *names, uint32_t asked_want)
{
    pid_t child = fork();
    int status = 1;
    if (!child) {
        if (wanted)
            setenv("ANYDML_ADAPTERS", wanted, 1);
        check_list(names);
        TEST_FOR(asked == asked_want, "drivers were asked %u times", asked);
        _exit(test_result());
    }
    TEST(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* Who takes the CPU by name does not wait for drivers. */
static void test_laziness(void)
{
    pid_t child = fork();
    int status = 1;
    if (!child) {
        setenv("ANYDML_ADAPTERS", "cpu,vulkan", 1);
        TEST(!strcmp(adapter_default()->name, "CPU") && !asked);
        TEST(!strcmp(adapter_at(1)->name, "large") && asked == 1);
        _exit(test_result());
    }
    TEST(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* A GPU whose driver does not work gives one line at the level of information. */
static void test_message(void)
{
    static const char *const cpu[] = { "CPU", NULL };
    FILE *file = tmpfile();
    char text[1024] = "";
    pid_t child = file ? fork() : -1;
    int status = 1;
    if (!child) {
        setenv("ANYDML_LOG", "info", 1);
        dup2(fileno(file), STDERR_FILENO);
        check_list(cpu);
        _exit(test_result());
    }
    TEST(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    if (file) {
        rewind(file);
        text[fread(text, 1, sizeof(text) - 1, file)] = 0;
        fclose(file);
    }
    const char *told = strstr(text, "the CPU is the default adapter");
    TEST_FOR(!strncmp(text, "anydml info: ", 13) && told && !strstr(told + 1, "the CPU is the default"), "the log: %s",
             text);
}

static void *ask(void *unused)
{
    (void)unused;
    adapter_at(0);
    return NULL;
}

/* Another thread is asking drivers when the process forks: the child has the CPU, without waiting. */
static void test_fork(void)
{
    static const char *const cpu[] = { "CPU", NULL };
    pid_t outer = fork();
    int status = 1;
    if (!outer) {
        pthread_t thread;
        atomic_store(&waits, true);
        TEST(!pthread_create(&thread, NULL, ask, NULL));
        while (!atomic_load(&entered))
            usleep(1000);
        pid_t child = fork();
        if (!child) {
            alarm(60);
            check_list(cpu);
            _exit(test_result());
        }
        TEST(child > 0 && waitpid(child, &status, 0) == child && status == 0);
        atomic_store(&waits, false);
        pthread_join(thread, NULL);
        TEST(!strcmp(adapter_default()->name, "large") && asked == 1);
        _exit(test_result());
    }
    TEST(outer > 0 && waitpid(outer, &status, 0) == outer && status == 0);
}

static void test_preferences(void)
{
    static const struct adapter_info software = { .integrated = true }, host = { .hardware = true },
                                     integrated = { .hardware = true, .is_gpu = true, .integrated = true },
                                     discrete = { .hardware = true, .is_gpu = true };
    const struct adapter_info *const fast[] = { &software, &host, &integrated, &discrete };
    const struct adapter_info *const thrifty[] = { &software, &host, &discrete, &integrated };
    for (uint32_t i = 1; i < ARRAY_SIZE(fast); i++) {
        TEST_FOR(adapter_performance(fast[i]) > adapter_performance(fast[i - 1]), "performance %u", i);
        TEST_FOR(adapter_economy(thrifty[i]) > adapter_economy(thrifty[i - 1]), "economy %u", i);
    }
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
    static const char *const cpu[] = { "CPU", NULL }, *const software[] = { "software", NULL };
    static const char *const all[] = { "large", "small", "small too", "integrated", "integrated too", "CPU", NULL };
    static const char *const vulkan[] = { "large",          "small",    "small too", "integrated",
                                          "integrated too", "software", NULL };
    static const char *const behind[] = { "CPU",        "large",          "small",    "small too",
                                          "integrated", "integrated too", "software", NULL };
    static const char *const turned[] = { "large",          "small",    "small too", "integrated",
                                          "integrated too", "software", "CPU",       NULL };
    unsetenv("ANYDML_ADAPTERS");
    expect(NULL, cpu, 0); /* drivers are not asked */
    expect("vulkan", software, 1);
    node_there = true;
    expect(NULL, cpu, 1);
    test_message();
    gpu_there = true;
    expect(NULL, all, 1);
    expect("vulkan", vulkan, 1);
    expect("cpu,vulkan", behind, 1);
    expect("vulkan,cpu", turned, 1);
    expect("cpu", cpu, 0);
    test_laziness();
    test_fork();
    test_preferences();
    test_capabilities();
    test_watchdog();
    return test_result();
}
