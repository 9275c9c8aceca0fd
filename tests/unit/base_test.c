/* SPDX-License-Identifier: Apache-2.0 */
/* base: half floats against an exhaustive independent rule, arena, parallel ranges, instruction sets. */
#include "base/arena.h"
#include "base/cpu.h"
#include "base/half.h"
#include "base/hash.h"
#include "base/names.h"
#include "base/os.h"
#include "base/parallel.h"
#include "test.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The definition of binary16, by powers of two. */
static double half_value(uint16_t h)
{
    int exponent = h >> 10 & 0x1f, mantissa = h & 0x3ff;
    double magnitude = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    if (exponent == 0x1f)
        magnitude = mantissa ? NAN : INFINITY;
    return h & 0x8000 ? -magnitude : magnitude;
}

static void test_half_values(void)
{
    for (uint32_t h = 0; h < 0x10000; h++) {
        double want = half_value((uint16_t)h);
        float got = base_half_to_float((uint16_t)h);
        if (isnan(want)) {
            TEST(isnan(got));
            TEST((base_float_to_half(got) & 0x7c00) == 0x7c00 && (base_float_to_half(got) & 0x3ff));
            continue;
        }
        TEST((double)got == want && !signbit(got) == !signbit(want));
        TEST(base_float_to_half(got) == h);
    }
}

/* bfloat16 against its definition by powers of two: every value, and the rounding between neighbours. */
static double bfloat_value(uint16_t b)
{
    int exponent = b >> 7 & 0xff, mantissa = b & 0x7f;
    double magnitude = exponent ? ldexp(128 + mantissa, exponent - 134) : ldexp(mantissa, -133);
    if (exponent == 0xff)
        magnitude = mantissa ? NAN : INFINITY;
    return b & 0x8000 ? -magnitude : magnitude;
}

static void test_bfloat_values(void)
{
    for (uint32_t b = 0; b < 0x10000; b++) {
        double want = bfloat_value((uint16_t)b);
        float got = base_bfloat_to_float((uint16_t)b);
        if (isnan(want)) {
            TEST(isnan(got) && isnan(base_bfloat_to_float(base_float_to_bfloat(got))));
            TEST(isnan(base_bfloat_to_float(base_double_to_bfloat(got))));
            continue;
        }
        TEST((double)got == want && !signbit(got) == !signbit(want));
        TEST(base_float_to_bfloat(got) == b && base_double_to_bfloat(want) == b);
    }
}

static void test_bfloat_rounding(void)
{
    for (uint32_t b = 0; b < 0x7f7f; b++) {
        double low = bfloat_value((uint16_t)b), high = bfloat_value((uint16_t)(b + 1)), middle = (low + high) / 2;
        uint16_t even = (uint16_t)(b & 1 ? b + 1 : b);
        TEST(base_double_to_bfloat(middle) == even && base_float_to_bfloat((float)middle) == even);
        TEST(base_double_to_bfloat(nextafter(middle, 0)) == b);
        TEST(base_double_to_bfloat(nextafter(middle, INFINITY)) == b + 1);
        TEST(base_double_to_bfloat(-nextafter(middle, 0)) == (b | 0x8000));
        TEST(base_float_to_bfloat(nextafterf((float)middle, INFINITY)) == b + 1);
    }
    TEST(base_double_to_bfloat(0x1.fe8p127) == 0x7f7f && base_double_to_bfloat(0x1.ffp127) == 0x7f80);
    TEST(base_double_to_bfloat(1e300) == 0x7f80 && base_double_to_bfloat(-1e300) == 0xff80);
    TEST(base_double_to_bfloat(1e-300) == 0 && base_double_to_bfloat(-1e-300) == 0x8000);
}

/* Between two neighbours: to the nearer one, halfway to the even one. */
static void test_half_rounding(void)
{
    for (uint32_t h = 0; h < 0x7bff; h++) {
        double low = half_value((uint16_t)h), high = half_value((uint16_t)(h + 1)), middle = (low + high) / 2;
        uint16_t even = (uint16_t)(h & 1 ? h + 1 : h);
        TEST(base_double_to_half(middle) == even);
        TEST(base_double_to_half(-middle) == (even | 0x8000));
        TEST(base_double_to_half(nextafter(middle, 0)) == h);
        TEST(base_double_to_half(nextafter(middle, INFINITY)) == h + 1);
    }
    TEST(base_double_to_half(65519.999) == 0x7bff);
    TEST(base_double_to_half(65520.0) == 0x7c00);
    TEST(base_double_to_half(1e300) == 0x7c00 && base_double_to_half(-INFINITY) == 0xfc00);
    TEST(base_float_to_half(-0.0f) == 0x8000);
}

/* Many names with one prefix, against a list; the first number stays, unknown names are not found. */
static void test_names(void)
{
    enum { COUNT = 3000 };
    static char text[COUNT][16];
    struct base_names names = { 0 };
    TEST(!base_names_find(&names, "") && !base_names_find(&names, "name 0"));
    for (uint32_t i = 0; i < COUNT; i++) {
        snprintf(text[i], sizeof(text[i]), "name %u", i);
        TEST(base_names_add(&names, text[i], i * 7) && base_names_add(&names, i % 3 ? "name 0" : text[i], 1));
        TEST(names.count == i + 1 && names.size >= 2 * names.count && !(names.size & (names.size - 1)));
    }
    for (uint32_t i = 0; i < 2 * COUNT; i++) {
        char wanted[16];
        snprintf(wanted, sizeof(wanted), "name %u", i);
        const struct base_name *found = base_names_find(&names, wanted);
        TEST(i < COUNT ? found && found->text == text[i] && found->number == i * 7 : !found);
    }
    TEST(base_names_add(&names, "", 5) && base_names_find(&names, "")->number == 5);
    base_names_finish(&names);
    TEST(!names.slots && !base_names_find(&names, "name 0"));
}

static void test_arena(void)
{
    struct base_arena arena = { 0 };
    char *blocks[200];
    for (int i = 0; i < 200; i++) {
        size_t size = (size_t)i * 37 % 5000;
        blocks[i] = base_arena_alloc(&arena, size);
        TEST(blocks[i] && (uintptr_t)blocks[i] % 16 == 0);
        for (size_t j = 0; j < size; j++)
            TEST(blocks[i][j] == 0);
        memset(blocks[i], i, size);
    }
    for (int i = 0; i < 200; i++) {
        for (size_t j = 0; j < (size_t)i * 37 % 5000; j++)
            TEST((unsigned char)blocks[i][j] == i);
    }
    TEST(!base_arena_alloc(&arena, SIZE_MAX));
    TEST(!strcmp(base_arena_strdup(&arena, "text"), "text"));
    base_arena_finish(&arena);
    TEST(!arena.blocks);
}

struct marks {
    atomic_uint seen[1000];
    atomic_uint calls, bad_worker;
    uint32_t threads;
};

static void mark(void *context, size_t begin, size_t end, unsigned worker)
{
    struct marks *marks = context;
    atomic_fetch_add(&marks->calls, 1);
    if (worker >= marks->threads)
        atomic_fetch_add(&marks->bad_worker, 1);
    for (size_t i = begin; i < end; i++)
        atomic_fetch_add(&marks->seen[i], 1);
}

static void test_parallel(void)
{
    uint32_t cpus = base_parallel_threads();
    for (uint32_t threads = 1; threads <= 5; threads++) {
        struct base_team before = base_parallel_enter(threads);
        TEST(base_parallel_threads() == threads);
        for (size_t units = 0; units <= 1000; units += units < 20 ? 1 : 245) {
            for (size_t grain = 0; grain < 600; grain += 199) {
                struct marks *marks = calloc(1, sizeof(*marks));
                marks->threads = threads;
                base_parallel_for(units, grain, mark, marks);
                for (size_t i = 0; i < 1000; i++)
                    TEST(marks->seen[i] == (i < units));
                TEST(!marks->bad_worker);
                TEST(!grain || marks->calls <= BASE_MAX(units / grain, (size_t)1));
                free(marks);
            }
        }
        struct marks *marks = calloc(1, sizeof(*marks));
        marks->threads = threads;
        base_parallel_ranges(7, 2, 3, mark, marks); /* which leaves nothing to split further */
        TEST(marks->calls <= BASE_MIN(threads, 3) && marks->seen[0] == 1 && marks->seen[6] == 1);
        free(marks);
        struct base_team inner = base_parallel_enter(0);
        TEST(base_parallel_threads() == cpus && inner.threads == threads);
        base_parallel_leave(inner);
        TEST(base_parallel_threads() == threads);
        base_parallel_leave(before);
        TEST(base_parallel_threads() == cpus);
    }
}

struct team {
    uint32_t threads[4096];
    atomic_uint count;
};

static void note_thread(void *context, size_t begin, size_t end, unsigned worker)
{
    struct team *team = context;
    (void)begin, (void)end, (void)worker;
    team->threads[atomic_fetch_add(&team->count, 1) % ARRAY_SIZE(team->threads)] = base_thread_id();
}

/* Work for two, then for four, then for three: the same threads do it. */
static void test_team_stays(void)
{
    static struct team team;
    uint32_t different = 0;
    struct base_team before = base_parallel_enter(4);
    for (unsigned round = 0; round < 300; round++)
        base_parallel_ranges(4, 1, 2 + round % 3, note_thread, &team);
    base_parallel_leave(before);
    for (uint32_t i = 0; i < team.count; i++) {
        bool known = false;
        for (uint32_t j = 0; j < i; j++)
            known = known || team.threads[j] == team.threads[i];
        different += !known;
    }
    TEST(team.count <= 1200 && different <= 4);
}

#if defined(__x86_64__)
/* The instruction sets that the kernel lists in the file are found; sets whose registers it does not save are
 * excluded. */
static void test_instructions(void)
{
    static const struct {
        const char *name;
        uint32_t flag;
    } sets[] = { { " avx512_vnni", BASE_CPU_AVX512_VNNI },
                 { " avx512_bf16", BASE_CPU_AVX512_BF16 },
                 { " avx_vnni", BASE_CPU_AVX_VNNI } };
    char line[8192] = "";
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof(line), file) && strncmp(line, "flags", 5))
        continue;
    for (uint32_t i = 0; !getenv("ANYDML_CPU_FLAGS") && i < ARRAY_SIZE(sets); i++)
        TEST_FOR(!strstr(line, sets[i].name) || (base_cpu_flags() & sets[i].flag), "%s", sets[i].name);
    if (file)
        fclose(file);
}
#endif

/* The same with any number of threads; different for any other byte or length. */
static void test_hash_large(void)
{
    const size_t sizes[] = { 0, 1, 4096, ((size_t)1 << 20) - 1, (size_t)1 << 20, ((size_t)5 << 20) + 13 };
    char *data = calloc(1, sizes[ARRAY_SIZE(sizes) - 1] + 1);
    TEST(data);
    for (size_t i = 0; data && i < ARRAY_SIZE(sizes); i++) {
        struct base_team before = base_parallel_enter(1);
        const struct base_hash one = base_hash_large(data, sizes[i]);
        base_parallel_leave(before);
        before = base_parallel_enter(3);
        const struct base_hash three = base_hash_large(data, sizes[i]), more = base_hash_large(data, sizes[i] + 1);
        data[sizes[i] / 2]++;
        const struct base_hash other = base_hash_large(data, sizes[i]);
        base_parallel_leave(before);
        data[sizes[i] / 2]--;
        TEST(one.low == three.low && one.high == three.high);
        TEST(one.low != more.low && one.high != more.high);
        TEST(!sizes[i] || (one.low != other.low && one.high != other.high));
    }
    free(data);
}

int main(void)
{
    test_half_values();
    test_bfloat_values();
    test_bfloat_rounding();
    test_half_rounding();
    test_names();
    test_arena();
    test_parallel();
    test_team_stays();
    test_hash_large();
#if defined(__x86_64__)
    test_instructions();
#endif
    return test_result();
}
