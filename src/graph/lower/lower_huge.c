/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions with few groups of very many elements would leave most workers idle, so they are computed in two stages:
 * of parts, then of the parts' results. The parts do not depend on the number of workers, and therefore neither do the
 * results. */
#include "graph/lower/lower.h"

#define FEW_GROUPS    8
#define HUGE_ELEMENTS (UINT64_C(1) << 17)
#define PARTS_MIN     8
#define PARTS_MAX     64

/* Number of equal parts into which a dimension of this size can be split; 1 if there is no suitable number. */
static uint32_t parts_of(uint32_t size)
{
    for (uint32_t parts = PARTS_MAX; parts >= PARTS_MIN; parts--)
        if (size % parts == 0)
            return parts;
    return 1;
}

/* Dimension d as two: [parts, size / parts]. */
static struct kern_view cut(const struct kern_view *view, uint32_t d, uint32_t parts)
{
    struct kern_view out = *view;
    out.rank++;
    for (uint32_t i = view->rank; i > d; i--) {
        out.sizes[i] = view->sizes[i - 1];
        out.strides[i] = view->strides[i - 1];
    }
    out.sizes[d] = parts;
    out.sizes[d + 1] = view->sizes[d] / parts;
    out.strides[d] = view->strides[d] * out.sizes[d + 1];
    return out;
}

bool lower_huge_split(const struct kern_view *x, uint32_t axes, struct lower_split *out)
{
    uint64_t length = 1, elements = kern_view_elements(x);
    bool simple = x->type == DML_TENSOR_DATA_TYPE_FLOAT32 || x->type == DML_TENSOR_DATA_TYPE_FLOAT16;
    for (uint32_t d = 0; d < x->rank; d++)
        length *= axes >> d & 1 ? x->sizes[d] : 1;
    if (!simple || x->rank >= KERN_RANK_MAX - 1 || length < HUGE_ELEMENTS || elements / length > FEW_GROUPS)
        return false;
    for (uint32_t d = 0; d < x->rank; d++) {
        uint32_t parts = axes >> d & 1 ? parts_of(x->sizes[d]) : 1;
        if (parts == 1)
            continue;
        uint32_t below = (1u << d) - 1;
        out->axis = d;
        out->parts = cut(x, d, parts);
        out->part_axes = (axes & below) | (axes & ~below) << 1;
        out->part_axes = (out->part_axes | 2u << d) & ~(1u << d);
        out->result = out->parts;
        for (uint32_t i = 0; i < out->result.rank; i++)
            out->result.sizes[i] = out->part_axes >> i & 1 ? 1 : out->parts.sizes[i];
        return true;
    }
    return false;
}

static struct graph_operand lower_huge_temp(struct graph_lowering *lowering, const struct lower_split *split,
                                            DML_TENSOR_DATA_TYPE type)
{
    return graph_temp(lowering->graph, type, split->result.rank, split->result.sizes);
}

/* A result, with a dimension of size 1 instead of the parts. */
static struct graph_operand lower_huge_result(const struct lower_split *split, const struct graph_operand *result)
{
    struct graph_operand out = *result;
    out.view = cut(&result->view, split->axis, 1);
    return out;
}

/* The functions of both stages; false if partial results cannot be combined. */
static bool stages(DML_REDUCE_FUNCTION function, DML_REDUCE_FUNCTION *first, DML_REDUCE_FUNCTION *second)
{
    *first = *second = function;
    switch (function) {
    case DML_REDUCE_FUNCTION_ARGMAX:
    case DML_REDUCE_FUNCTION_ARGMIN:
    case DML_REDUCE_FUNCTION_MULTIPLY:
        return false;
    case DML_REDUCE_FUNCTION_LOG_SUM:
        *first = DML_REDUCE_FUNCTION_SUM;
        return true;
    case DML_REDUCE_FUNCTION_SUM_SQUARE:
        *second = DML_REDUCE_FUNCTION_SUM;
        return true;
    default:
        return true;
    }
}

/* x with its reduced dimensions, which must be stored in order, as the two last ones: [parts, length]. */
static bool flatten(const struct kern_view *x, uint32_t axes, struct kern_view *out)
{
    uint64_t length = 1;
    int64_t step = 0;
    *out = (struct kern_view){ .type = x->type };
    for (uint32_t d = 0; d < x->rank; d++) {
        if (axes >> d & 1)
            continue;
        out->sizes[out->rank] = x->sizes[d];
        out->strides[out->rank++] = x->strides[d];
    }
    for (uint32_t d = x->rank; d-- > 0;) {
        if (!(axes >> d & 1) || x->sizes[d] == 1)
            continue;
        if (length > 1 && x->strides[d] != step * (int64_t)length)
            return false;
        step = length > 1 ? step : x->strides[d];
        length *= x->sizes[d];
    }
    if (out->rank + 2 > KERN_RANK_MAX || length > UINT32_MAX || kern_view_elements(x) > UINT32_MAX)
        return false;
    const uint32_t parts = parts_of((uint32_t)length);
    if (parts == 1 || length < HUGE_ELEMENTS || kern_view_elements(x) / length > FEW_GROUPS)
        return false;
    out->sizes[out->rank] = parts;
    out->sizes[out->rank + 1] = (uint32_t)(length / parts);
    out->strides[out->rank] = step * (int64_t)(length / parts);
    out->strides[out->rank + 1] = step;
    out->rank += 2;
    return true;
}

static bool append_gather(struct graph_lowering *lowering, const struct graph_operand *x,
                          const struct graph_operand *positions, uint32_t axis, const struct graph_operand *out)
{
    const struct graph_operand in[] = { *x, *positions };
    struct graph_op *op = lower_op(lowering, KERN_GATHER, in, 2, out, 1);
    if (op)
        op->k.u.gather = (struct kern_gather){ axis, out->view.rank, KERN_INDEX_ELEMENTS };
    return op != NULL;
}

static bool append_reduce(struct graph_lowering *lowering, const struct graph_operand *x, struct kern_reduce params,
                          const struct graph_operand *y)
{
    struct graph_op *op = lower_op(lowering, KERN_REDUCE, x, 1, y, 1);
    if (op)
        op->k.u.reduce = params;
    return op != NULL;
}

/* Each part's position, the elements there, the position of the best of these, and the combined position. */
static bool huge_position(struct graph_lowering *lowering, const struct graph_operand *x, const struct kern_view *flat,
                          const struct graph_operand *y, struct kern_reduce params)
{
    const DML_TENSOR_DATA_TYPE u32 = DML_TENSOR_DATA_TYPE_UINT32;
    const uint32_t rank = flat->rank, axes = params.axes;
    struct graph_operand in = *x, out = *y, both[2];
    uint32_t sizes[KERN_RANK_MAX];
    struct lower_map map;
    memcpy(sizes, flat->sizes, sizeof(sizes));
    sizes[rank - 1] = 1;
    in.view = *flat;
    struct graph_operand inside = graph_temp(lowering->graph, u32, rank, sizes);
    struct graph_operand values = graph_temp(lowering->graph, x->view.type, rank, sizes);
    sizes[rank - 2] = 1;
    struct graph_operand part = graph_temp(lowering->graph, u32, rank, sizes);
    struct graph_operand best = graph_temp(lowering->graph, u32, rank, sizes);
    params.axes = 1u << (rank - 1);
    if (!append_reduce(lowering, &in, params, &inside) || !append_gather(lowering, &in, &inside, rank - 1, &values))
        return false;
    params.axes = 1u << (rank - 2);
    if (!append_reduce(lowering, &values, params, &part) || !append_gather(lowering, &inside, &part, rank - 2, &best))
        return false;
    out.view = (struct kern_view){ .type = y->view.type, .rank = rank };
    for (uint32_t d = 0, to = 0; d < y->view.rank; d++) {
        if (axes >> d & 1)
            continue;
        out.view.sizes[to] = y->view.sizes[d];
        out.view.strides[to++] = y->view.strides[d];
    }
    out.view.sizes[rank - 2] = out.view.sizes[rank - 1] = 1;
    both[0] = part;
    both[1] = best;
    lower_map_begin(&map, lowering, both, 2, u32);
    uint32_t length = lower_emit_const(&map, u32, (union kern_scalar){ .u32 = flat->sizes[rank - 1] });
    uint32_t begin = lower_emit2(&map, KERN_MAP_MUL, 0, length);
    lower_map_end(&map, &out, lower_emit2(&map, KERN_MAP_ADD, begin, 1));
    return true;
}

bool lower_reduction(struct graph_lowering *lowering, const struct graph_operand *x, const struct graph_operand *y,
                     struct kern_reduce params)
{
    struct lower_split split;
    struct kern_reduce first = params, second = params;
    struct graph_operand in = *x, out = *y;
    struct graph_op *op;
    struct kern_view flat;
    const bool position =
        params.function == DML_REDUCE_FUNCTION_ARGMAX || params.function == DML_REDUCE_FUNCTION_ARGMIN;
    if (position && lower_is_float(x->view.type) && flatten(&x->view, params.axes, &flat))
        return huge_position(lowering, x, &flat, y, params);
    if (stages(params.function, &first.function, &second.function) && lower_huge_split(&x->view, params.axes, &split)) {
        struct graph_operand parts = lower_huge_temp(lowering, &split, DML_TENSOR_DATA_TYPE_FLOAT32);
        in.view = split.parts;
        first.axes = split.part_axes;
        second.axes = 1u << split.axis;
        op = lower_op(lowering, KERN_REDUCE, &in, 1, &parts, 1);
        if (!op)
            return false;
        op->k.u.reduce = first;
        in = parts;
        out = lower_huge_result(&split, y);
    } else {
        second = params;
    }
    op = lower_op(lowering, KERN_REDUCE, &in, 1, &out, 1);
    if (op)
        op->k.u.reduce = second;
    return op != NULL;
}

/* All parts have equal lengths: the mean is the mean of their means, the variance the mean of their variances plus the
 * variance of their means. */
static bool huge_moments(struct graph_lowering *lowering, const struct graph_operand *x,
                         const struct lower_split *split, const struct graph_operand *mean,
                         const struct graph_operand *variance)
{
    const DML_TENSOR_DATA_TYPE f64 = DML_TENSOR_DATA_TYPE_FLOAT64;
    struct graph_operand in = *x;
    struct graph_operand parts[] = { lower_huge_temp(lowering, split, f64), lower_huge_temp(lowering, split, f64) };
    struct graph_operand between = graph_temp(lowering->graph, f64, mean->view.rank, mean->view.sizes),
                         within = between;
    within = graph_temp(lowering->graph, f64, mean->view.rank, mean->view.sizes);
    in.view = split->parts;
    struct graph_op *op = lower_op(lowering, KERN_MOMENTS, &in, 1, parts, 2);
    if (!op)
        return false;
    op->k.u.moments.axes = split->part_axes;
    struct graph_operand outs[] = { lower_huge_result(split, mean), lower_huge_result(split, &between) };
    op = lower_op(lowering, KERN_MOMENTS, &parts[0], 1, outs, 2);
    if (!op)
        return false;
    op->k.u.moments.axes = 1u << split->axis;
    struct graph_operand average = lower_huge_result(split, &within);
    op = lower_op(lowering, KERN_REDUCE, &parts[1], 1, &average, 1);
    if (!op)
        return false;
    op->k.u.reduce = (struct kern_reduce){ DML_REDUCE_FUNCTION_AVERAGE, 1u << split->axis, false, false };
    struct graph_operand both[] = { between, within };
    struct lower_map map;
    lower_map_begin(&map, lowering, both, 2, f64);
    lower_map_end(&map, variance, lower_emit2(&map, KERN_MAP_ADD, 0, 1));
    return true;
}

bool lower_moments(struct graph_lowering *lowering, const struct graph_operand *x, uint32_t axes,
                   const struct graph_operand *mean, const struct graph_operand *variance)
{
    struct lower_split split;
    if (lower_huge_split(&x->view, axes, &split))
        return huge_moments(lowering, x, &split, mean, variance);
    const struct graph_operand outs[] = { *mean, *variance };
    struct graph_op *op = lower_op(lowering, KERN_MOMENTS, x, 1, outs, 2);
    if (op)
        op->k.u.moments.axes = axes;
    return op != NULL;
}
