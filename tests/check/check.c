/* SPDX-License-Identifier: Apache-2.0 */
/* check [--seed N] [--cases N] [--filter TEXT] [--isa none|avx2|avx512] [--vector] [--bench] [--verbose] | --flags
 *
 * Compares every row of the kernel table with its reference (the last row of its kind) on random operations, and the
 * references with independent formulas. Exit code 1 when anything differs or a row was never run. --vector: only rows
 * that need one of the CPU's instruction sets. --flags: the names of this CPU's instruction sets, one a line. */
#include "check.h"

#include "base/cpu.h"
#include "kernels/core/iterator.h"
#include "kernels/core/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static check_gen_fn *const generators[KERN_KIND_COUNT] = {
#define KIND(NAME, name) check_gen_##name,
#include "kernels/core/kinds.def"
#undef KIND
};

struct options {
    uint64_t seed;
    uint32_t cases;
    const char *filter;
    uint32_t cpu;
    bool vector, bench, verbose;
};

/* A case that the row takes; false when none was found. */
static bool find_case(const struct kern_row *row, struct check_rng *rng, struct check_case *c)
{
    for (uint32_t tries = 0; tries < 4000; tries++) {
        memset(c, 0, sizeof(*c));
        generators[row->kind](rng, c);
        if (check_accepts(row, &c->op) && check_reference(row->kind)->accepts(&c->op))
            return true;
    }
    return false;
}

static void print_view(const char *name, const struct kern_view *view)
{
    printf("    %s type %d [", name, view->type);
    for (uint32_t i = 0; i < view->rank; i++)
        printf(" %u:%lld", view->sizes[i], (long long)view->strides[i]);
    printf(" ]\n");
}

static void print_case(const struct check_case *c, uint64_t seed)
{
    const struct kern_op *op = &c->op;
    const unsigned char *bytes = (const unsigned char *)&op->u;
    printf("    seed %llu, kind %d%s\n", (unsigned long long)seed, op->kind, op->epilogue ? ", with epilogue" : "");
    for (uint32_t i = 0; i < op->input_count + op->output_count; i++)
        print_view(i < op->input_count ? "in " : "out", &op->tensors[i]);
    if (op->kind == KERN_MAP) {
        for (uint32_t i = 0; i < op->u.map.inst_count; i++)
            printf("    inst %u: code %u type %u to %u of %u %u %u, p %g q %g\n", i, op->u.map.inst[i].code,
                   op->u.map.inst[i].type, op->u.map.inst[i].to_type, op->u.map.inst[i].src[0],
                   op->u.map.inst[i].src[1], op->u.map.inst[i].src[2], op->u.map.inst[i].imm[0].f32,
                   op->u.map.inst[i].imm[1].f32);
        printf("    stores %u\n", op->u.map.store[0]);
        return;
    }
    printf("    parameters:");
    for (uint32_t i = 0; i < 64; i++)
        printf("%s%02x", i % 4 ? "" : " ", bytes[i]);
    printf("\n");
}

/* 16-bit floating-point results of FLOAT32 sums differ by one unit where they round differently. Integers have no
 * error. */
static double allowed(const struct kern_row *row, const struct kern_view *view)
{
    if (view->type == DML_TENSOR_DATA_TYPE_FLOAT16)
        return row->max_ulp ? 1 + BASE_MIN(row->max_ulp / 512.0, 1 + row->max_ulp / 8192.0) : 0;
    if (view->type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16)
        return row->max_ulp ? 1 + floor(row->max_ulp / 65536.0) : 0;
    const bool exact = view->type != DML_TENSOR_DATA_TYPE_FLOAT32 && view->type != DML_TENSOR_DATA_TYPE_FLOAT64;
    return exact ? 0 : row->max_ulp;
}

/* A recurrence hands what rounding changed from step to step, through states and activations that may enlarge it: by
 * how much depends on the weights, and grows with their number. So a result may also differ by what the reference makes
 * of inputs X that are moved by a few times the rounding error of a sum of that many products, or by
 * what a state close to the middle between two of 8 bits makes of it. */
static const char *amplified(const struct check_case *c, struct check_set *set, struct check_buffer *want,
                             double *out_ulp)
{
    struct check_buffer moved[KERN_TENSORS_MAX] = { { 0 } };
    const struct kern_view *x = &c->op.tensors[0], *outputs = &c->op.tensors[c->op.input_count];
    const double part = 4 * sqrt(x->sizes[4]) * (c->op.u.recurrent.scale ? 0x1p-14 : 0x1p-24);
    struct check_rng plain = { 1 };
    uint32_t index[KERN_RANK_MAX] = { 0 };
    const char *problem = NULL;
    bool ran;
    do {
        const int64_t at = kern_offset(x, index);
        const double value = kern_read_double(x->type, set->buffers[0].data, at);
        kern_write_double(x->type, set->buffers[0].data, at, value * (check_chance(&plain, 2) ? 1 + part : 1 - part));
    } while (kern_advance(x->rank, x->sizes, index));
    for (uint32_t j = 0; j < c->op.output_count && !problem; j++)
        problem = check_buffer_create(&moved[j], &outputs[j]) ? NULL : "out of memory";
    if (!problem)
        problem = check_run(check_reference(c->op.kind), &c->op, set, moved, &plain, &ran);
    for (uint32_t j = 0; j < c->op.output_count; j++) {
        struct check_error error = { 0 };
        if (!problem && outputs[j].type == DML_TENSOR_DATA_TYPE_FLOAT32)
            check_compare(c, &outputs[j], &moved[j], &want[j], 0, &error);
        out_ulp[j] = error.worst;
        check_buffer_destroy(&moved[j]);
    }
    return problem;
}

static const char *compare(const struct kern_row *row, const struct check_case *c, struct check_buffer *got,
                           struct check_buffer *want, const double *least, double *worst)
{
    const struct kern_op *op = &c->op;
    for (uint32_t j = 0; j < op->output_count; j++) {
        const struct kern_view *view = &op->tensors[op->input_count + j];
        struct check_error error;
        bool fits = check_compare(c, view, &got[j], &want[j], fmax(allowed(row, view), least[j]), &error);
        *worst = fmax(*worst, error.worst);
        if (!fits) {
            printf("    output %u at [", j);
            for (uint32_t i = 0; i < view->rank; i++)
                printf(" %u", error.index[i]);
            printf(" ]: got %.9g, want %.9g, %g ulp\n", error.got, error.want, error.worst);
            return "differs from the reference";
        }
        if (!check_buffer_guarded(&got[j], view))
            return "wrote outside its output";
    }
    return NULL;
}

/* One case; NULL when all is well. */
static const char *run_case(const struct kern_row *row, const struct check_case *c, struct check_rng *rng,
                            bool *out_ran, double *worst)
{
    struct check_buffer got[KERN_TENSORS_MAX] = { { 0 } }, want[KERN_TENSORS_MAX] = { { 0 } };
    const struct kern_row *reference = check_reference(row->kind);
    struct check_set set;
    struct check_rng plain = { 1 };
    double least[KERN_TENSORS_MAX] = { 0 };
    const char *problem = check_set_create(&set, c, rng) ? NULL : "out of memory";
    bool reference_ran;
    for (uint32_t j = 0; j < c->op.output_count && !problem; j++) {
        const struct kern_view *view = &c->op.tensors[c->op.input_count + j];
        if (!check_buffer_create(&got[j], view) || !check_buffer_create(&want[j], view))
            problem = "out of memory";
    }
    if (!problem)
        problem = check_run(row, &c->op, &set, got, rng, out_ran);
    if (!problem && *out_ran)
        problem = check_run(reference, &c->op, &set, want, &plain, &reference_ran);
    if (!problem && *out_ran && c->op.kind == KERN_RECURRENT)
        problem = amplified(c, &set, want, least);
    if (!problem && *out_ran)
        problem = compare(row, c, got, want, least, worst);
    for (uint32_t j = 0; j < c->op.output_count; j++) {
        check_buffer_destroy(&got[j]);
        check_buffer_destroy(&want[j]);
    }
    check_set_destroy(&set);
    return problem;
}

static bool check_row(const struct kern_row *row, const struct options *options)
{
    const clock_t began = clock();
    uint32_t ran = 0;
    double worst = 0;
    for (uint32_t i = 0; i < options->cases; i++) {
        struct check_rng rng = { (options->seed + i) * UINT64_C(0x9e3779b97f4a7c15) | 1 };
        struct check_case c;
        bool this_ran = false;
        check_next(&rng);
        if (!find_case(row, &rng, &c))
            break;
        kern_stream_least(i % 2 ? 1 : 0); /* half of the cases store past the caches, however small */
        const char *problem = run_case(row, &c, &rng, &this_ran, &worst);
        ran += this_ran;
        if (problem) {
            printf("FAIL %s: %s\n", row->name, problem);
            print_case(&c, options->seed + i);
            return false;
        }
    }
    if (!ran)
        printf("FAIL %s: no case reached this row\n", row->name);
    else if (options->verbose)
        printf("ok   %-24s %5u cases, worst %.2f ulp (%u allowed), %.2f s\n", row->name, ran, worst, row->max_ulp,
               (double)(clock() - began) / CLOCKS_PER_SEC);
    return ran > 0;
}

static int check_rows(const struct options *options)
{
    uint32_t count, skipped = 0, checked = 0;
    int failures = 0;
    const struct kern_row *rows = kern_rows(&count);
    for (uint32_t i = 0; i < count; i++) {
        if ((options->filter && !strstr(rows[i].name, options->filter)) || (options->vector && !rows[i].cpu))
            continue;
        if (rows[i].cpu & ~options->cpu) {
            printf("skip %s: not on this CPU\n", rows[i].name);
            skipped++;
            continue;
        }
        failures += !check_row(&rows[i], options);
        checked++;
    }
    printf("%u rows checked, %u skipped, %d failed\n", checked, skipped, failures);
    return failures + (checked == 0 && skipped == 0);
}

/* A row that came last by chance would be compared with itself. */
static int check_references(void)
{
    int failures = 0;
    for (int kind = 0; kind < KERN_KIND_COUNT; kind++) {
        const struct kern_row *row = check_reference((enum kern_kind)kind);
        const size_t length = row ? strlen(row->name) : 0;
        if (length > 4 && !strcmp(row->name + length - 4, "_ref"))
            continue;
        printf("FAIL kind %d: its last row, %s, is no reference (..._ref)\n", kind, row ? row->name : "of none");
        failures++;
    }
    return failures;
}

static uint32_t isa_mask(const char *name)
{
    if (strcmp(name, "none") == 0)
        return 0;
    return strcmp(name, "avx2") == 0 ? BASE_CPU_AVX2 : UINT32_MAX;
}

static bool parse(int argc, char **argv, struct options *options)
{
    for (int i = 1; i < argc; i++) {
        bool value = i + 1 < argc;
        if (strcmp(argv[i], "--bench") == 0)
            options->bench = true;
        else if (strcmp(argv[i], "--vector") == 0)
            options->vector = true;
        else if (strcmp(argv[i], "--verbose") == 0)
            options->verbose = true;
        else if (value && strcmp(argv[i], "--seed") == 0)
            options->seed = strtoull(argv[++i], NULL, 0);
        else if (value && strcmp(argv[i], "--cases") == 0)
            options->cases = (uint32_t)strtoul(argv[++i], NULL, 0);
        else if (value && strcmp(argv[i], "--filter") == 0)
            options->filter = argv[++i];
        else if (value && strcmp(argv[i], "--isa") == 0)
            base_cpu_flags_mask(isa_mask(argv[++i]));
        else
            return false;
    }
    return true;
}

static int print_flags(void)
{
    const char *name;
    uint32_t flag;
    for (uint32_t i = 0; (name = base_cpu_flag_name(i, &flag)); i++)
        if (base_cpu_flags() & flag)
            printf("%s\n", name);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--flags") == 0)
        return print_flags();
    struct options options = { .seed = (uint64_t)time(NULL), .cases = 300 };
    if (!parse(argc, argv, &options)) {
        fprintf(stderr, "usage: check [--seed N] [--cases N] [--filter TEXT] [--isa none|avx2|avx512] [--vector] "
                        "[--bench] [--verbose] | --flags\n");
        return 2;
    }
    options.cpu = base_cpu_flags();
    if (options.bench) {
        check_bench(options.filter, options.cpu);
        return 0;
    }
    printf("seed %llu\n", (unsigned long long)options.seed);
    struct check_rng rng = { options.seed | 1 };
    int failures = check_references();
    if (!options.filter)
        failures += check_oracle_dense(&rng) + check_oracle_index(&rng) + check_oracle_map(&rng) +
                    check_oracle_reduce(&rng) + check_oracle_norm(&rng) + check_oracle_views(&rng);
    failures += check_rows(&options);
    return failures ? 1 : 0;
}
