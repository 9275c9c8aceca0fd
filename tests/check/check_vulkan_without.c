/* SPDX-License-Identifier: Apache-2.0 */
/* Devices without one capability: other pipelines of the same rows, other rows, or a refusal, which must have a reason
 * in the op. */
#include "check_vulkan.h"

#include "kernels/core/number.h"

/* With its consequences. */
static uint32_t reduced(uint32_t capabilities, uint32_t without)
{
    if (without & SHADER_CAPABILITY_INT64)
        without |= SHADER_CAPABILITY_FLOAT64;
    return capabilities & ~without;
}

static bool same_codes(const struct shader_work *a, const struct shader_work *b)
{
    if (a->dispatch_count != b->dispatch_count)
        return false;
    for (uint32_t i = 0; i < a->dispatch_count; i++)
        if (!shader_same(a->dispatches[i].shader, b->dispatches[i].shader))
            return false;
    return true;
}

/* Shaders know by a constant of all of them how FLOAT16 is converted. */
static bool converts(const struct kern_op *op)
{
    bool found = false;
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++)
        found |= op->tensors[t].type == DML_TENSOR_DATA_TYPE_FLOAT16;
    return found;
}

/* Cases that the row runs otherwise, or not at all. */
static bool changes(const struct bench_search *search, const struct kern_op *op)
{
    struct shader_work with, without;
    const char *reason;
    shader_row_find(search->row, op, search->capabilities, &with, &reason);
    return !shader_row_find(search->row, op, reduced(search->capabilities, search->without), &without, &reason) ||
           !same_codes(&with, &without) || (search->without & SHADER_CAPABILITY_HALF && converts(op));
}

static bool is_wide(uint32_t type)
{
    return type == DML_TENSOR_DATA_TYPE_FLOAT64 || type == DML_TENSOR_DATA_TYPE_INT64 ||
           type == DML_TENSOR_DATA_TYPE_UINT64;
}

/* Of integers, functions that are exact in more bits. */
static bool reduces_wide(const struct kern_op *op)
{
    const DML_REDUCE_FUNCTION function = op->u.reduce.function;
    if (op->kind != KERN_REDUCE || kern_type_class(op->tensors[0].type) == KERN_CLASS_FLOAT)
        return false;
    return function == DML_REDUCE_FUNCTION_AVERAGE || function == DML_REDUCE_FUNCTION_L2 ||
           function == DML_REDUCE_FUNCTION_LOG_SUM || kern_type_class(op->tensors[1].type) == KERN_CLASS_FLOAT;
}

/* Ops that no device computes without 64-bit numbers; those of regions place their samples by FLOAT64. */
static bool needs_wide(const struct kern_op *op)
{
    bool wide = op->kind == KERN_ROI || op->kind == KERN_ROI_GRAD || reduces_wide(op);
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++)
        wide |= is_wide(op->tensors[t].type) || (op->kind == KERN_MAP && is_wide(op->u.map.load_type[t]));
    for (uint32_t i = 0; op->kind == KERN_MAP && i < op->u.map.inst_count; i++)
        wide |= is_wide(op->u.map.inst[i].type) || is_wide(op->u.map.inst[i].to_type);
    return wide;
}

static void run_changed(struct bench *bench, const struct bench_search *search, const struct check_case *c,
                        struct check_rng *rng)
{
    const uint32_t capabilities = reduced(search->capabilities, search->without), refused = bench->unsupported;
    struct shader_work work;
    const char *reason;
    bool found = shader_row_find(search->row, &c->op, capabilities, &work, &reason) ||
                 shader_find(&c->op, capabilities, &work, &reason);
    bench_use_row(bench, found ? work.row : NULL);
    bench_run_case(bench, c, rng);
    if (bench->unsupported == refused)
        return;
    /* Buffers of every second case begin where vectors of 16 bytes do not, which some rows need. */
    const bool odd = found && search->index % 2 == 0;
    bench_ok(bench, odd || (!found && search->without & SHADER_NEEDS_FLOAT64 && needs_wide(&c->op)), "%s: refused: %s",
             search->row->name, reason);
}

void bench_run_without(struct bench *bench, uint32_t capability, uint32_t cases, uint64_t seed, const char *filter)
{
    const uint32_t coop = capability & SHADER_CAPABILITY_COOP_BFLOAT16 ? SHADER_CAPABILITY_COOP : 0;
    const uint32_t with = bench_capabilities(bench) | coop | capability;
    uint32_t row_count;
    const struct shader_row *rows = shader_rows(&row_count);
    bench_ok(bench, !(bench_capabilities(bench) & capability), "capabilities %#x", bench_capabilities(bench));
    for (uint32_t r = 0; r < row_count; r++) {
        const uint32_t ran = bench->ran, refused = bench->unsupported;
        struct bench_search search = { &rows[r], with, seed, 0, 500, changes, capability };
        struct check_rng rng;
        struct check_case c;
        if (filter && !strstr(rows[r].name, filter))
            continue;
        for (; search.index < 4 * cases && bench->ran < ran + cases; search.index++) {
            if (!bench_find_case(bench, &search, &rng, &c))
                break;
            run_changed(bench, &search, &c, &rng);
        }
        /* Cooperative matrices need it. */
        bench_ok(bench, capability != SHADER_CAPABILITY_STORAGE || bench->ran > ran || strstr(rows[r].name, "_coop"),
                 "no case reached the row %s", rows[r].name);
        if (search.index)
            printf("%-20s %u ran, %u refused\n", rows[r].name, bench->ran - ran, bench->unsupported - refused);
    }
    bench_ok(bench, bench->ran || bench->unsupported, "nothing changes");
    bench_use_row(bench, NULL);
}
