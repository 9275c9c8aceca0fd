/* SPDX-License-Identifier: Apache-2.0 */
/* The file of measurements: whatever it holds, and what it changes. */
#include "graph_make.h"

#include "base/cpu.h"
#include "graph/tuning/tuning.h"

#include "test.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/anydml-tuning-XXXXXX";
static uint32_t seed = 11;

static uint32_t rnd(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)(seed >> 8) * below) >> 24);
}

static struct kern_tuning table(float first, float step)
{
    struct kern_tuning tuning;
    for (uint32_t i = 0; i < KERN_POINT_COUNT; i++)
        tuning.correction[i] = first + step * (float)i;
    return tuning;
}

static bool same(const struct kern_tuning *a, const struct kern_tuning *b)
{
    for (uint32_t i = 0; i < KERN_POINT_COUNT; i++)
        if (a->correction[i] - b->correction[i] > 0.001f || b->correction[i] - a->correction[i] > 0.001f)
            return false;
    return true;
}

static void test_text(void)
{
    char text[GRAPH_TUNING_BYTES], bad[2 * GRAPH_TUNING_BYTES];
    struct kern_tuning wanted = table(0.25f, 0.125f), got;
    size_t length = graph_tuning_print(&wanted, 4, text);
    TEST(length < sizeof(text) - 512); /* room for longer names of CPUs */
    TEST(!graph_tuning_parse(text, length, 4, &got) && same(&wanted, &got));
    TEST(graph_tuning_parse(text, length, 5, &got) != NULL);
    for (size_t cut = 0; cut < length; cut++)
        TEST_FOR(graph_tuning_parse(text, cut, 4, &got) != NULL, "%zu bytes", cut);
    for (uint32_t round = 0; round < 20000; round++) {
        size_t at = rnd((uint32_t)length), size = length + rnd(3);
        memset(bad, '\n', sizeof(bad));
        memcpy(bad, text, length);
        for (uint32_t i = 0; i < 1 + rnd(8); i++)
            bad[(at + i) % size] = (char)rnd(256);
        if (memcmp(bad, text, length) != 0 || size != length)
            TEST_FOR(graph_tuning_parse(bad, size, 4, &got) != NULL, "round %u", round);
    }
    memset(bad, '1', sizeof(bad));
    memcpy(bad, text, length - 10);
    TEST(graph_tuning_parse(bad, sizeof(bad), 4, &got) != NULL);
    wanted = table(1e9f, 0); /* a whole file with numbers that cannot be */
    length = graph_tuning_print(&wanted, 4, text);
    TEST(graph_tuning_parse(text, length, 4, &got) != NULL);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    TEST(file && fputs(text, file) >= 0 && !fclose(file));
}

static void test_files(void)
{
    char path[GRAPH_TUNING_BYTES];
    struct kern_tuning wanted = table(0.5f, 0.25f), got;
    setenv("ANYDML_CACHE_DIR", folder, 1);
    TEST(graph_tuning_path(3, path) && !strncmp(path, folder, strlen(folder)));
    TEST(!graph_tuning_load(3, &got));
    TEST(!graph_tuning_save(&wanted, 3) && graph_tuning_load(3, &got) && same(&wanted, &got));
    TEST(!graph_tuning_load(4, &got));
    write_file(path, "AnyDML tuning 1\nnonsense");
    TEST(!graph_tuning_load(3, &got));
    unlink(path);
    TEST(mkdir(path, 0700) == 0 && !graph_tuning_load(3, &got) && graph_tuning_save(&wanted, 3));
    rmdir(path);
    TEST(mkfifo(path, 0600) == 0 && !graph_tuning_load(3, &got)); /* without a writer: this returns all the same */
    TEST(!graph_tuning_save(&wanted, 3) && graph_tuning_load(3, &got)); /* it was replaced */
    unlink(path);
    setenv("ANYDML_CACHE_DIR", "/dev/null/nowhere", 1);
    TEST(graph_tuning_save(&wanted, 3) && !graph_tuning_load(3, &got));
    setenv("ANYDML_CACHE_DIR", "relative", 1);
    setenv("XDG_CACHE_HOME", folder, 1);
    TEST(graph_tuning_path(3, path) && strstr(path, "/anydml/tuning-"));
    TEST(!graph_tuning_save(&wanted, 3) && graph_tuning_load(3, &got)); /* makes the folder */
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    setenv("ANYDML_CACHE_DIR", folder, 1);
}

/* Many processes write different tables: readers find one of them. */
static void test_processes(void)
{
    pid_t children[4];
    char path[GRAPH_TUNING_BYTES];
    for (uint32_t i = 0; i < 4; i++) {
        children[i] = fork();
        if (children[i])
            continue;
        struct kern_tuning mine = table(0.5f + (float)i, 0), got;
        bool good = true;
        for (uint32_t round = 0; good && round < 100; round++)
            good = !graph_tuning_save(&mine, 7) && graph_tuning_load(7, &got) &&
                   got.correction[0] == got.correction[KERN_POINT_COUNT - 1];
        _exit(!good);
    }
    for (uint32_t i = 0; i < 4; i++) {
        int status = 1;
        TEST(children[i] > 0 && waitpid(children[i], &status, 0) == children[i] && status == 0);
    }
    if (graph_tuning_path(7, path))
        unlink(path);
    TEST(rmdir(folder) == 0); /* no other file is left */
}

/* A 3x3 convolution that runs on another kernel with each table, to the same end. */
static const char *convolve(const struct kern_tuning *tuning, float *out)
{
    struct graph graph;
    struct graph_plan *plan = NULL;
    char error[256] = "";
    static float x[28 * 28 * 32];
    for (uint32_t i = 0; i < ARRAY_SIZE(x); i++)
        x[i] = (float)(i % 23) / 23 - 0.4f;
    graph_init(&graph, 1, 1, 0);
    const uint32_t order[] = { 0, 3, 1, 2 };
    struct graph_operand in[2] = { make4(&graph, GRAPH_INPUT, 0, 1, 28, 28, 32),
                                   make_constant(&graph, 4, SIZES(32, 32, 3, 3), -0.5f, 0.0001f) };
    struct graph_operand y = make4(&graph, GRAPH_OUTPUT, 0, 1, 28, 28, 32);
    in[0].view = graph_view_permute(&in[0].view, order);
    y.view = graph_view_permute(&y.view, order);
    make_conv(&graph, in, 2, y, 1, 1, 1);
    struct graph_options options = {
        .cpu = base_cpu_flags(), .threads = 1, .backend = &graph_backend_host, .tuning = tuning
    };
    TEST_FOR(graph_plan_create(&graph, &options, &plan, error) == S_OK, "%s", error);
    graph_finish(&graph);
    if (!plan)
        return "";
    struct make_run run = { { x }, { out } };
    TEST(make_execute(plan, &run));
    const char *row = plan->steps[0].u.host.row->name;
    graph_plan_destroy(plan);
    return row;
}

static void test_choice(void)
{
    static float with[28 * 28 * 32], without[28 * 28 * 32], plain[28 * 28 * 32];
    struct kern_tuning fast = table(0.05f, 0), slow = table(20, 0), one = table(1, 0);
    const char *first = convolve(&fast, with), *second = convolve(&slow, without), *fitted = convolve(NULL, plain);
    TEST_FOR(!strncmp(first, "conv_wino", 9) == ((base_cpu_flags() & (BASE_CPU_AVX2 | BASE_CPU_NEON)) != 0), "%s",
             first);
    TEST_FOR(strncmp(second, "conv_wino", 9) != 0, "%s", second);
    for (uint32_t i = 0; i < ARRAY_SIZE(with); i++)
        TEST_FOR(with[i] - without[i] < 1e-3f && without[i] - with[i] < 1e-3f, "element %u", i);
    TEST(!strcmp(convolve(&one, plain), fitted)); /* corrections of 1 change nothing */
}

static void test_measuring(void)
{
    for (uint32_t i = 0; i < KERN_POINT_COUNT; i += 5) {
        struct graph_tuning_result result;
        TEST(graph_tuning_measure(i, base_cpu_flags(), 2, &result));
        float correction = graph_tuning_correction(&result);
        TEST(result.seconds[0] > 0 && result.seconds[1] > 0 && correction >= 0.1f && correction <= 10);
    }
    struct graph_tuning_result result = { { "a", "b" }, { 2, 1 }, 0.5 };
    TEST(graph_tuning_correction(&result) == 4);
    result.rows[1] = "a";
    TEST(graph_tuning_correction(&result) == 1);
}

int main(void)
{
    if (!TEST(mkdtemp(folder) != NULL))
        return test_result();
    test_text();
    test_files();
    test_processes();
    test_choice();
    test_measuring();
    return test_result();
}
