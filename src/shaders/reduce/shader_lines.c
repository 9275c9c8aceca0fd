/* SPDX-License-Identifier: Apache-2.0 */
#include "shaders/reduce/shader_lines.h"

#include "shaders/core/shader_dims.h"

#define GROUPS_WANTED 512        /* workgroups that keep a large device busy */
#define LANES_WANTED  (1u << 17) /* invocations, likewise, of lines that are many */
#define LANES_LEAST   64
#define PARTS_MAX     256
#define PART_LEAST    4 /* elements of a lane */

const char *shader_lines_unsupported(const struct kern_op *op)
{
    for (uint32_t t = 1; t < op->input_count + op->output_count; t++)
        if (op->tensors[t].rank != op->tensors[0].rank)
            return "no shader for tensors of different ranks";
    return shader_block_unsupported(op);
}

static uint64_t product(const struct kern_view *view, uint32_t first, uint32_t end)
{
    uint64_t result = 1;
    for (uint32_t d = first; d < end; d++)
        result *= view->sizes[d];
    return result;
}

/* The number of invocations that share a line: if elements along it are contiguous, the number with which each has a
 * few elements; otherwise, only as many as are needed for enough workgroups. */
static uint32_t choose_lanes(const struct line_params *p)
{
    uint32_t lanes = 1, most = !p->columns || p->lines < 8 ? SHADER_GROUP_SIZE : 32;
    while (lanes < most && (uint64_t)lanes * 2 * 4 <= p->size &&
           (!p->columns || (uint64_t)p->lines * lanes < (uint64_t)GROUPS_WANTED * SHADER_GROUP_SIZE))
        lanes *= 2;
    return lanes;
}

static uint64_t group_units(const struct line_params *p)
{
    const uint64_t slots = SHADER_GROUP_SIZE / p->lanes;
    return (p->lines + slots - 1) / slots * p->parts;
}

/* In non-empty parts if there would be too few workgroups. */
static void cut(struct line_params *p)
{
    const uint64_t groups = group_units(p), most = p->size / (p->lanes * PART_LEAST);
    if (groups * 2 > GROUPS_WANTED || most < 2)
        return;
    const uint32_t parts = (uint32_t)BASE_MIN(BASE_MIN(GROUPS_WANTED / groups, most), PARTS_MAX);
    const uint32_t size = (p->size + parts - 1) / parts;
    p->parts = p->partials = (p->size + size - 1) / size;
}

void shader_lines_of(const struct kern_op *op, uint32_t axes, bool ordered, uint64_t partial_bytes,
                     struct shader_lines *out)
{
    const struct kern_view *x = &out->op.tensors[0];
    struct line_params *p = &out->params;
    uint32_t order[KERN_RANK_MAX];
    out->op = *op;
    uint32_t outer = shader_dims_pick(x, ~axes, true, order, 0);
    uint32_t rank = shader_dims_pick(x, axes, !ordered, order, outer);
    shader_dims_permute(&out->op, order, rank);
    shader_dims_merge(&out->op, outer, &rank);
    const uint32_t inner = rank - outer;
    shader_dims_merge(&out->op, 0, &outer);
    rank = outer + inner;
    *p = (struct line_params){ .outer = outer, .parts = 1 };
    p->lines = (uint32_t)product(x, 0, outer);
    p->size = p->count = (uint32_t)product(x, outer, rank);
    p->columns = outer && inner && shader_dims_distance(x, outer - 1) < shader_dims_distance(x, rank - 1);
    p->lanes = choose_lanes(p);
    cut(p);
    out->units = group_units(p);
    out->scratch_bytes = p->partials * p->lines * partial_bytes;
}

void shader_lines_gather(struct shader_lines *lines, uint32_t most)
{
    struct line_params *p = &lines->params;
    while (p->parts == 1 && p->lanes > LANES_LEAST && (uint64_t)p->lines * (p->lanes / 2) >= LANES_WANTED &&
           p->size <= (uint64_t)most * (p->lanes / 2))
        p->lanes /= 2;
    lines->units = group_units(p);
}

void shader_lines_finish(struct shader_lines *lines, enum shader_finish how)
{
    struct line_params *p = &lines->params;
    p->finish = 1;
    if (how == SHADER_FINISH_PARTS)
        return;
    p->parts = 1;
    if (how == SHADER_FINISH_TOTALS) {
        p->size = p->partials;
        p->columns = 0;
        p->lanes = choose_lanes(p);
    }
    lines->units = group_units(p);
}
