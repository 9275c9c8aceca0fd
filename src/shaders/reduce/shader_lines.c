/* SPDX-License-Identifier: Apache-2.0 */
#include "shaders/reduce/shader_lines.h"

#define GROUPS_WANTED 512 /* workgroups that keep a large device busy */
#define PARTS_MAX     256
#define PART_LEAST    16 /* elements of a lane */

const char *shader_lines_obstacle(const struct kern_op *op)
{
    for (uint32_t t = 1; t < op->input_count + op->output_count; t++)
        if (op->tensors[t].rank != op->tensors[0].rank)
            return "there is no shader for tensors of different ranks";
    return shader_block_obstacle(op);
}

static uint64_t distance(const struct kern_view *view, uint32_t d)
{
    const int64_t stride = view->strides[d];
    return (uint64_t)(stride < 0 ? -stride : stride);
}

/* Adds the dimensions inside or outside `axes` to `order`, those of size 1 left out; sorted: widest stride first. */
static uint32_t pick_dimensions(const struct kern_view *x, uint32_t axes, bool sorted, uint32_t *order, uint32_t count)
{
    const uint32_t first = count;
    for (uint32_t d = 0; d < x->rank; d++) {
        uint32_t at = count;
        if (!(axes >> d & 1) || x->sizes[d] == 1)
            continue;
        for (; sorted && at > first && distance(x, order[at - 1]) < distance(x, d); at--)
            order[at] = order[at - 1];
        order[at] = d;
        count++;
    }
    return count;
}

static void permute(struct kern_view *view, const uint32_t *order, uint32_t count)
{
    const struct kern_view old = *view;
    view->rank = count;
    for (uint32_t d = 0; d < count; d++) {
        view->sizes[d] = old.sizes[order[d]];
        view->strides[d] = view->sizes[d] > 1 ? old.strides[order[d]] : 0;
    }
}

static bool can_merge(const struct kern_op *op, uint32_t d)
{
    const int64_t size = op->tensors[0].sizes[d + 1];
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++)
        if (op->tensors[t].strides[d] != op->tensors[t].strides[d + 1] * size)
            return false;
    return true;
}

static void merge(struct kern_view *view, uint32_t d)
{
    view->sizes[d] *= view->sizes[d + 1];
    view->strides[d] = view->strides[d + 1];
    view->rank--;
    for (uint32_t i = d + 1; i < view->rank; i++) {
        view->sizes[i] = view->sizes[i + 1];
        view->strides[i] = view->strides[i + 1];
    }
}

/* Merges neighbours among dimensions first to *end - 1. */
static void merge_all(struct kern_op *op, uint32_t first, uint32_t *end)
{
    for (uint32_t d = *end; d-- > first + 1;) {
        if (!can_merge(op, d - 1))
            continue;
        for (uint32_t t = 0; t < op->input_count + op->output_count; t++)
            merge(&op->tensors[t], d - 1);
        --*end;
    }
}

static uint64_t product(const struct kern_view *view, uint32_t first, uint32_t end)
{
    uint64_t result = 1;
    for (uint32_t d = first; d < end; d++)
        result *= view->sizes[d];
    return result;
}

/* How many invocations share a line: with neighbours along it, as many as have a few elements each; with neighbours
 * across, only as many as it takes to have enough workgroups. */
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

void shader_lines_of(const struct kern_op *op, uint32_t axes, bool ordered, uint64_t total_bytes,
                     struct shader_lines *out)
{
    const struct kern_view *x = &out->op.tensors[0];
    struct line_params *p = &out->params;
    uint32_t order[KERN_RANK_MAX];
    out->op = *op;
    uint32_t outer = pick_dimensions(x, ~axes, true, order, 0);
    uint32_t rank = pick_dimensions(x, axes, !ordered, order, outer);
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++)
        permute(&out->op.tensors[t], order, rank);
    merge_all(&out->op, outer, &rank);
    const uint32_t inner = rank - outer;
    merge_all(&out->op, 0, &outer);
    rank = outer + inner;
    *p = (struct line_params){ .outer = outer, .parts = 1 };
    p->lines = (uint32_t)product(x, 0, outer);
    p->size = p->count = (uint32_t)product(x, outer, rank);
    p->columns = outer && inner && distance(x, outer - 1) < distance(x, rank - 1);
    p->lanes = choose_lanes(p);
    const uint64_t groups = group_units(p), most = p->size / (p->lanes * PART_LEAST);
    if (total_bytes && groups * 2 <= GROUPS_WANTED && most > 1)
        p->parts = (uint32_t)BASE_MIN(BASE_MIN(GROUPS_WANTED / groups, most), PARTS_MAX);
    out->units = group_units(p);
}

void shader_lines_finish(struct shader_lines *lines)
{
    struct line_params *p = &lines->params;
    p->size = p->parts;
    p->parts = 1;
    p->finish = 1;
    p->columns = 0;
    p->lanes = choose_lanes(p);
    lines->units = group_units(p);
}
