/* SPDX-License-Identifier: Apache-2.0 */
/* check_vulkan [seed] [cases] [filter]: every row of shaders/rows.def on a SPIR-V adapter against the reference
 * kernels: random ops of the kernel tests' generators, each element-wise operation at least once (not with 8 cases or
 * fewer); with the filters map_flat and move_flat in the rows for much data. Pipelines cost most of the time: without a
 * filter a row makes few for other reasons than types. A filter like 2/3: the second of three parts of all rows.
 * check_vulkan --without CAPABILITY [seed] [cases] [filter]: only what such a device runs otherwise.
 * check_vulkan --compile [seed] [cases] [filter]: makes the pipelines and executes nothing. */
#include "check_vulkan.h"

#include "shaders/core/shader_block.h"
#include "shaders/conv/shader_conv.h"
#include "shaders/gemm/shader_tile.h"
#include "shaders/meta/shader_meta.h"

#include <time.h>

#define CASES_MAX 20000
#define FEW       8      /* cases, with which not every operation has its turn */
#define SHORT     100000 /* elements: a software device takes seconds for more in all of map's instructions */

static double bench_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- cases ---- */

static bool saw_all(const struct bench *bench)
{
    for (uint32_t i = 0; i < KERN_MAP_CODE_COUNT; i++)
        if (!bench->seen[i])
            return false;
    return true;
}

/* Whether a type is new to the first input, the second, or the output. */
static bool brings_types(const struct kern_op *op, uint64_t *seen)
{
    const uint32_t places[] = { 0, BASE_MIN(op->input_count, 1), op->input_count };
    uint64_t types = 0;
    for (uint32_t i = 0; i < ARRAY_SIZE(places); i++)
        types |= UINT64_C(1) << (op->tensors[places[i]].type + 16 * i);
    const bool is_new = types & ~*seen;
    *seen |= types;
    return is_new;
}

/* At least `count` cases, and until every operation had its turn. One of `every` goes to the rows for much data, whose
 * pipelines take long to make, if it has types that none before it had there. Long ones are in check_list_large. */
static void run_random(struct bench *bench, check_gen_fn *gen, enum kern_kind kind, uint32_t count, uint32_t every,
                       uint64_t seed)
{
    struct check_rng rng = { seed };
    const bool all = kind == KERN_MAP && count > FEW;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < count || (all && !saw_all(bench) && i < CASES_MAX); i++) {
        struct check_case c = { 0 };
        gen(&rng, &c);
        bench_tame_case(&c);
        if (c.op.kind != kind || bench_elements(&c.op) > SHORT)
            continue;
        check_buffer_past(i % 2 ? 8 : 16);
        const bool much = every == 1 || (i % every == every - 1 && brings_types(&c.op, &seen));
        shader_specialize_from(much ? 1 : UINT64_MAX);
        bench_run_case(bench, &c, &rng);
    }
}

/* Whether the row has cases, on other devices. */
static bool is_lacking(struct bench *bench, const struct shader_row *row, uint64_t seed)
{
    const struct bench_search search = { row, UINT32_MAX, seed, 0, 4000, NULL, 0 };
    struct check_rng rng;
    struct check_case c;
    return bench_find_case(bench, &search, &rng, &c);
}

/* `count` cases, of which those whose pipelines are not there yet make `most` or bring types that none before them had;
 * more where the row refuses buffers that begin where no vector does. */
static void run_row(struct bench *bench, const struct shader_row *row, uint32_t count, uint32_t most, uint64_t seed)
{
    const uint32_t before = bench->ran, failed = bench->failed, made = bench->pipeline_count;
    uint32_t i;
    uint64_t seen = 0;
    for (i = 0; i < count + (bench->ran == before ? 3 : 0) && bench->failed < failed + 3; i++) {
        const struct bench_search search = { row, bench_capabilities(bench), seed, i, 4000, NULL, 0 };
        struct check_rng rng;
        struct check_case c;
        if (!bench_find_case(bench, &search, &rng, &c))
            break;
        if (brings_types(&c.op, &seen) || bench->pipeline_count < made + most || bench->ran == before ||
            bench_is_made(bench, &c.op))
            bench_run_case(bench, &c, &rng);
    }
    if (bench->failed > failed)
        fprintf(stderr, "%s: seed %llu fails\n", row->name, (unsigned long long)(seed + i - 1));
    ok(bench->ran > before || is_lacking(bench, row, seed), "no case reached the row %s", row->name);
}

/* Whether a list's case i is run; not always those of one type, which lists have in turns. */
static bool has_turn(const struct bench *bench, uint32_t i, uint64_t seed)
{
    return (i + i / bench->every + seed) % bench->every == 0;
}

/* Cases of check_vulkan_tiles.c; of cooperative matrices that many random ones, too. */
static void run_tiles(struct bench *bench, bool coop, uint32_t count, uint64_t seed)
{
    struct check_rng rng = { seed * UINT64_C(0x9e3779b97f4a7c15) | 1 };
    struct check_case c;
    check_buffer_past(16);
    bench->norm_wise = true;
    for (uint32_t i = 0; check_vulkan_tiles(i, coop, &c); i++)
        if (has_turn(bench, i, seed))
            bench_run_case(bench, &c, &rng);
    for (uint32_t i = 0; coop && i < count; i++) {
        check_vulkan_coop(&rng, &c);
        bench_run_case(bench, &c, &rng);
    }
}

/* Those of products by blocks, or of normalisations. */
static void run_blocks(struct bench *bench, check_list_fn *list, uint64_t seed)
{
    struct check_rng rng = { seed };
    struct check_case c;
    shader_specialize_from(1);
    check_buffer_past(16);
    bench->norm_wise = true;
    for (uint32_t i = 0; list(i, &c); i++)
        if (has_turn(bench, i, seed))
            bench_run_case(bench, &c, &rng);
    shader_block_force(0, 0);
    shader_coop_force(0, 0);
}

/* Those of check_vulkan_norms.c, of whose pipelines few are alike: without a filter a part of them. */
static void run_norms(struct bench *bench, uint64_t seed)
{
    const uint32_t every = bench->every;
    bench->every *= bench->filter ? 1 : 6;
    run_blocks(bench, check_list_norms, seed);
    bench->every = every;
}

/* Cases of check_vulkan_convs.c; some are not for this row. */
static void run_convs(struct bench *bench, uint64_t seed)
{
    static const DML_TENSOR_DATA_TYPE types[] = { DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT16 };
    struct check_rng rng = { seed };
    struct check_case c;
    check_buffer_past(16);
    bench->norm_wise = true;
    for (uint32_t t = 0; t < ARRAY_SIZE(types); t++)
        for (uint32_t i = 0; check_vulkan_convs(i, types[t], &c); i++) {
            shader_conv_window_force(1 + i);
            shader_conv_depth_force(2 + (i + t) % 2);
            bench->constants = i % 2;
            if (has_turn(bench, i, seed + t))
                bench_run_case(bench, &c, &rng);
        }
    bench->constants = false;
}

/* Those of bytes, with each of conv_int_meta's kernels where it is that. */
static void run_byte_convs(struct bench *bench, uint32_t kernels, uint64_t seed)
{
    struct check_rng rng = { seed };
    struct check_case c;
    check_buffer_past(16);
    for (uint32_t kernel = 1; kernel <= kernels; kernel++) {
        shader_conv_int_meta_force(kernel);
        for (uint32_t i = 0; check_vulkan_byte_convs(i, &c); i++)
            if (has_turn(bench, i, seed + kernel))
                bench_run_case(bench, &c, &rng);
    }
    shader_conv_int_meta_force(0);
}

/* Random ones with each kernel of gemm_meta, second factors packed ahead of time and not. */
static void run_gemm_metas(struct bench *bench, uint32_t count, uint64_t seed)
{
    struct check_rng rng = { seed * UINT64_C(0x9e3779b97f4a7c15) | 1 };
    struct check_case c;
    check_buffer_past(16);
    bench->norm_wise = true;
    for (uint32_t i = 0; i < count; i++) {
        check_vulkan_coop(&rng, &c);
        shader_gemm_meta_force(i % 32);
        bench->constants = i / 32 % 2;
        bench_run_case(bench, &c, &rng);
    }
    shader_gemm_meta_force(0);
    bench->constants = false;
}

/* Random ones for each kernel of attention_meta. */
static void run_attention_metas(struct bench *bench, const struct shader_row *row, uint32_t count, uint64_t seed)
{
    const uint32_t kernels = shader_attention_meta_kernels();
    for (uint32_t i = 0; i < count * kernels; i++) {
        const struct bench_search search = { row, bench_capabilities(bench), seed, i, 4000, NULL, 0 };
        struct check_rng rng;
        struct check_case c;
        shader_attention_meta_force(1 + i % kernels);
        const bool found = bench_find_case(bench, &search, &rng, &c);
        ok(found, "no case for kernel %u of attention_meta", 1 + i % kernels);
        check_buffer_past(16);
        if (found)
            bench_run_case(bench, &c, &rng);
    }
    shader_attention_meta_force(0);
}

/* The same with each kernel of conv_meta. */
static void run_conv_metas(struct bench *bench, uint64_t seed)
{
    for (uint32_t kernel = 1; kernel <= shader_conv_meta_kernels(); kernel++) {
        shader_conv_meta_force(kernel);
        run_convs(bench, seed + kernel);
    }
    shader_conv_meta_force(0);
}

static void run_beside(struct bench *bench, enum kern_kind kind, uint64_t seed)
{
    struct check_rng rng = { seed };
    struct check_case c;
    check_buffer_past(16);
    shader_conv_force_small(true);
    for (uint32_t i = 0; check_vulkan_beside(i, kind, &c); i++) {
        shader_conv_window_force(1 + i);
        bench->norm_wise = c.norm_wise;
        bench_run_case(bench, &c, &rng);
    }
}

/* Random ones of check_conv_views.c, with each kernel of conv_meta where it is that; some are not for this row. */
static void run_conv_views(struct bench *bench, uint32_t count, uint32_t kernels, uint64_t seed)
{
    static const uint32_t pasts[] = { 16, 16, 16, 8, 16, 16, 20 }; /* vectors of eight channels, of four, and none */
    struct check_rng rng = { seed * UINT64_C(0x9e3779b97f4a7c15) | 1 };
    struct check_case c;
    bench->norm_wise = true;
    shader_conv_force_small(true);
    for (uint32_t i = 0; i < count; i++) {
        check_buffer_past(pasts[i % ARRAY_SIZE(pasts)]);
        check_conv_views(&rng, &c);
        shader_conv_meta_force(kernels ? i / 2 % (kernels + 1) : 0);
        bench->constants = i % 2;
        bench_run_case(bench, &c, &rng);
    }
    bench->constants = false;
    shader_conv_meta_force(0);
}

/* Lines of check_vulkan_lines.c; some are not for this row. */
static void run_lines(struct bench *bench, enum kern_kind kind, uint64_t seed)
{
    struct check_rng rng = { seed };
    struct check_case c;
    shader_specialize_from(1);
    bench->norm_wise = true;
    for (uint32_t past = 8; past <= 16; past += 8) {
        check_buffer_past(past);
        for (uint32_t i = 0; check_vulkan_lines(i, kind, &c); i++)
            if (has_turn(bench, i, seed + past / 8))
                bench_run_case(bench, &c, &rng);
    }
}

/* Whether shaders compute what cooperative matrices would, which drivers take tens of seconds for. */
static bool is_emulated(const struct bench *bench, const struct shader_row *row)
{
    return strstr(row->name, "_coop") && !(bench_capabilities(bench) & SHADER_CAPABILITY_COOP);
}

/* Rows of metacommands where there are none, and those of packed products and large workgroups likewise. */
static bool is_absent(const struct bench *bench, const struct shader_row *row)
{
    const uint32_t lacks = ~bench_capabilities(bench);
    return (strstr(row->name, "_meta") && lacks & SHADER_CAPABILITY_META) ||
           (strstr(row->name, "_dot") && lacks & SHADER_CAPABILITY_DOT) ||
           (strstr(row->name, "_wide") && lacks & SHADER_CAPABILITY_WIDE);
}

/* Those of element-wise ops and moves have tests of their own. */
static bool is_chosen(const struct bench *bench, const struct shader_row *rows, uint32_t i)
{
    return rows[i].kind != KERN_MAP && rows[i].kind != KERN_MOVE && !is_absent(bench, &rows[i]) &&
           (!bench->filter || strstr(rows[i].name, bench->filter)) && i % bench->parts == bench->part;
}

/* Lists of cases besides the random ones. */
static void run_row_lists(struct bench *bench, const struct shader_row *row, uint32_t count, uint64_t seed)
{
    if (row->plan == shader_gemm_tile_plan || row->plan == shader_gemm_coop_plan)
        run_tiles(bench, row->plan == shader_gemm_coop_plan, bench->filter ? count : 1, seed);
    if (row->plan == shader_gemm_block_plan)
        run_blocks(bench, check_vulkan_blocks, seed);
    if (strstr(row->name, "conv_block"))
        run_blocks(bench, check_vulkan_gradients, seed);
    if (row->plan == shader_gemm_block_dot_plan)
        run_blocks(bench, check_vulkan_block_bytes, seed);
    if (row->kind == KERN_NORM)
        run_norms(bench, seed);
    if (strstr(row->name, "conv_parts") || strstr(row->name, "conv_window") || strstr(row->name, "conv_gemm") ||
        !strcmp(row->name, "conv_depth") || !strcmp(row->name, "conv_winograd"))
        run_convs(bench, seed);
    if (row->kind == KERN_CONV || row->kind == KERN_POOL)
        run_beside(bench, row->kind, seed);
    if (!strcmp(row->name, "conv_int_meta") || !strcmp(row->name, "conv_dot"))
        run_byte_convs(bench, row->plan == shader_conv_dot_plan ? 1 : shader_conv_int_meta_kernels(), seed);
    if (!strcmp(row->name, "gemm_meta"))
        run_gemm_metas(bench, 8 * count, seed);
    if (!strcmp(row->name, "attention_meta"))
        run_attention_metas(bench, row, count, seed + 1);
    if (!strcmp(row->name, "conv_meta"))
        run_conv_metas(bench, seed);
    if (!strcmp(row->name, "conv_meta") || !strcmp(row->name, "conv_parts") || !strcmp(row->name, "conv_tile"))
        run_conv_views(bench, !strcmp(row->name, "conv_meta") ? 32 * count : BASE_MAX(count / 8, 1),
                       !strcmp(row->name, "conv_meta") ? shader_conv_meta_kernels() : 0, seed);
    if (strstr(row->name, "_line") || strstr(row->name, "_subgroup") || row->plan == shader_resample_two_plan)
        run_lines(bench, row->kind, seed);
}

static void run_rows(struct bench *bench, uint32_t count, uint64_t seed)
{
    uint32_t row_count;
    const struct shader_row *rows = shader_rows(&row_count);
    /* The emulation of cooperative matrices takes more shared memory than most devices without them have. */
    shader_coop_plain(!(bench_capabilities(bench) & SHADER_CAPABILITY_COOP) && !bench->dml.adapter->hardware);
    for (uint32_t i = 0; i < row_count; i++) {
        const uint32_t ran = bench->ran, made = bench->pipeline_count;
        const double before = bench_seconds();
        if (!is_chosen(bench, rows, i))
            continue;
        const bool emulated = is_emulated(bench, &rows[i]);
        bench->every = bench->filter ? 1 : (emulated ? 4 : 1) * (count * 8 <= FEW ? 4 : 1);
        bench_use_row(bench, &rows[i]);
        run_row(bench, &rows[i], count, bench->filter ? UINT32_MAX : BASE_MAX(count / (emulated ? 12 : 4), 1), seed);
        run_row_lists(bench, &rows[i], count, seed);
        printf("%-24s %4u cases %4u pipelines %6.1f s\n", rows[i].name, bench->ran - ran, bench->pipeline_count - made,
               bench_seconds() - before);
    }
    bench_use_row(bench, NULL);
}

/* Cases of check_vulkan_map.c. max_ulp: negative as in struct bench. */
static void run_list(struct bench *bench, check_list_fn *list, double max_ulp, uint64_t seed)
{
    struct check_rng rng = { seed };
    struct check_case c;
    const uint32_t unsupported = bench->unsupported;
    bench->max_ulp = max_ulp;
    for (uint32_t i = 0; list(i, &c); i++)
        bench_run_case(bench, &c, &rng);
    bench->max_ulp = -1;
    ok(bench->unsupported == unsupported || !(bench_capabilities(bench) & SHADER_CAPABILITY_FLOAT64),
       "%u cases are not supported", bench->unsupported - unsupported);
}

static void run_maps(struct bench *bench, uint32_t cases, uint32_t every, uint64_t seed)
{
    run_random(bench, check_gen_map, KERN_MAP, cases, every, seed);
    ok(saw_all(bench) || cases <= FEW, "not every operation ran");
    shader_specialize_from(1024);
    run_list(bench, check_list_large, -1, seed + 2);
    if (cases <= FEW)
        return;
    shader_specialize_from(UINT64_MAX); /* one pipeline for all, where specialised programs would take one for each */
    run_list(bench, check_list_double, 4, seed + 3);
    shader_specialize_from(1024);
    run_list(bench, check_list_integer_power, 0, seed + 4);
    bench->wild = true;
    run_list(bench, check_list_halves, 0, seed + 6);
    run_list(bench, check_list_conditions, 0, seed + 5);
    bench->wild = false;
}

static void open_bench(struct bench *bench)
{
    const D3D12_DESCRIPTOR_HEAP_DESC desc = { D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, KERN_TENSORS_MAX + 1,
                                              D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE, 0 };
    *bench = (struct bench){ .backend = &graph_backend_spirv, .max_ulp = -1 };
    bench->d3d = api_device();
    need(ID3D12Device_QueryInterface(bench->d3d, &IID_AnydmlDevice, (void **)&bench->anydml) == S_OK);
    bench->dml.d3d12 = bench->anydml;
    bench->dml.adapter = bench->anydml->lpVtbl->GetAdapterInfo(bench->anydml);
    bench->q = api_queue_create(bench->d3d);
    ok_hr(ID3D12Device_CreateDescriptorHeap(bench->d3d, &desc, &IID_ID3D12DescriptorHeap, (void **)&bench->heap), S_OK);
    need(bench->heap);
}

static void close_bench(struct bench *bench)
{
    if (bench->buffer)
        api_release(bench->buffer);
    free(bench->pipelines);
    api_release(bench->heap);
    api_queue_destroy(&bench->q);
    bench->anydml->lpVtbl->Release(bench->anydml);
    api_release(bench->d3d);
}

static void run_all(struct bench *bench, uint32_t cases, uint64_t seed)
{
    const char *filter = bench->filter;
    const uint32_t every = filter && strstr(filter, "_flat") ? 1 : 16;
    if (filter ? strstr("map_flat", filter) != NULL : bench->part == 0)
        run_maps(bench, cases, every, seed);
    if (filter ? strstr("move_flat", filter) != NULL : bench->part == 0) {
        run_random(bench, check_gen_move, KERN_MOVE, cases / 4, every, seed + 1);
        shader_specialize_from(1);
        run_list(bench, check_list_transposes, -1, seed + 6);
    }
    run_rows(bench, BASE_MAX(cases / 8, 1), seed);
}

/* A row's name or part of it, or a part of all rows: "2/3". */
static void set_filter(struct bench *bench, const char *filter)
{
    bench->parts = 1;
    if (filter && sscanf(filter, "%u/%u", &bench->part, &bench->parts) == 2)
        need(bench->part-- && bench->part < bench->parts);
    else
        bench->filter = filter;
}

/* The capability of this name; devices are opened with all others of the table from now on. */
static uint32_t lack(const char *name)
{
    char others[256] = "";
    uint32_t found = 0;
#define CAPABILITY(NAME, word)                                                                                         \
    if (!strcmp(#word, name))                                                                                          \
        found = SHADER_CAPABILITY_##NAME;                                                                              \
    else                                                                                                               \
        strcat(strcat(others, *others ? "," : ""), #word);
#include "shaders/capabilities.def"
#undef CAPABILITY
    need(found);
    setenv("ANYDML_VULKAN_CAPS", others, 1);
    return found;
}

int main(int argc, char **argv)
{
    const uint32_t without = argc > 2 && !strcmp(argv[1], "--without") ? lack(argv[2]) : 0;
    const bool compiles = argc > 1 && !strcmp(argv[1], "--compile");
    const int options = without ? 2 : compiles;
    char **args = argv + options;
    argc -= options;
    const uint64_t seed = argc > 1 ? strtoull(args[1], NULL, 0) : 1;
    const uint32_t cases = argc > 2 ? (uint32_t)strtoul(args[2], NULL, 0) : 600;
    const char *filter = argc > 3 ? args[3] : NULL;
    struct bench bench;
    setenv("ANYDML_TEST_ADAPTER", "vulkan", 0);
    api_begin();
    open_bench(&bench);
    bench.compiles = compiles;
    set_filter(&bench, filter);
    if (without)
        bench_run_without(&bench, without, cases, seed, filter);
    else
        run_all(&bench, cases, seed);
    printf("%s, capabilities %#x: %u cases ran, %u unsupported, %u outputs failed\n", bench.dml.adapter->name,
           bench_capabilities(&bench), bench.ran, bench.unsupported, bench.failed);
    ok((bench.ran || without || (filter && strstr(filter, "meta"))) && !bench.failed, "seed %llu",
       (unsigned long long)seed);
    close_bench(&bench);
    return api_end();
}
