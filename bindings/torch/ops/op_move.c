/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that move elements: concatenation, repetition, flipping, slicing, diagonals, ranges. */
#include "index.h"

#include <math.h>

#define EW(name) DML_OPERATOR_ELEMENT_WISE_##name

/* ---- lists ---- */

static bool joined(struct aten_graph *g, const struct aten_node *n, bool stack)
{
    const int32_t type = n->outputs[0].type;
    const uint32_t count = n->args[0].count;
    struct aten_value **list = aten_alloc(g, count * sizeof(struct aten_value *));
    uint32_t axis, used = 0;
    if (!list || n->args[0].kind != ATEN_TENSORS || !aten_axis(g, aten_int(g, n, 1, 0), n->outputs[0].rank, &axis))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        struct aten_value *x = n->args[0].values[i];
        if (!x || (!stack && x->rank == 1 && !x->sizes[0] && n->outputs[0].rank != 1))
            continue; /* torch.cat ignores empty tensors of one dimension, regardless of the others' sizes */
        x = aten_convert(g, x, type);
        list[used++] = stack ? aten_unsqueeze(g, x, axis) : x;
    }
    return aten_result(g, n, 0, aten_join(g, list, used, axis));
}

/* cat(tensors, dim) */
bool aten_build_cat(struct aten_graph *g, const struct aten_node *n)
{
    return joined(g, n, false);
}

/* stack(tensors, dim) */
bool aten_build_stack(struct aten_graph *g, const struct aten_node *n)
{
    return joined(g, n, true);
}

/* ---- flipping and repeating ---- */

/* flip(self, dims) */
bool aten_build_flip(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_lined(g, aten_in(g, n, 0));
    uint32_t count, axis;
    const int64_t *dims = aten_ints(g, n, 1, &count);
    UINT offsets[ATEN_RANK_MAX] = { 0 }, windows[ATEN_RANK_MAX];
    INT steps[ATEN_RANK_MAX];
    struct aten_desc dx, dy;
    if (!x || !aten_elements(x) || !count)
        return aten_result(g, n, 0, x && !n->outputs[0].rank ? aten_squeeze(g, x, 0) : x);
    for (uint32_t i = 0; i < x->rank; i++) {
        steps[i] = 1;
        windows[i] = (UINT)x->sizes[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!aten_axis(g, dims[i], x->rank, &axis))
            return false;
        steps[axis] = -1;
    }
    struct aten_value *y = aten_new(g, x->type, x->rank, x->sizes);
    if (!y)
        return false;
    DML_SLICE1_OPERATOR_DESC desc = {
        aten_describe(g, &dx, x), aten_describe(g, &dy, y), x->rank, offsets, windows, steps
    };
    if (!aten_emit(g, DML_OPERATOR_SLICE1, &desc, &x, 1, &y, 1))
        return false;
    return aten_result(g, n, 0, n->outputs[0].rank ? y : aten_squeeze(g, y, 0));
}

static struct aten_value *rolled(struct aten_graph *g, struct aten_value *x, uint32_t axis, int64_t shift)
{
    const int64_t size = x ? x->sizes[axis] : 0, start = size ? (size - shift % size) % size : 0;
    struct aten_value *parts[2];
    if (!start || !aten_elements(x))
        return x;
    parts[0] = aten_slice(g, x, axis, start, size - start, 1);
    parts[1] = aten_slice(g, x, axis, 0, start, 1);
    return aten_join(g, parts, 2, axis);
}

/* roll(self, shifts, dims) */
bool aten_build_roll(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_lined(g, aten_in(g, n, 0));
    uint32_t shift_count, count, axis;
    const int64_t *shifts = aten_ints(g, n, 1, &shift_count), *dims = aten_ints(g, n, 2, &count);
    if (!x || shift_count != BASE_MAX(count, 1u))
        return aten_fail(g, "shifts has %u elements, must have one for each of dims", shift_count);
    if (!count)
        x = rolled(g, aten_flat(g, x), 0, shifts[0]);
    for (uint32_t i = 0; i < count && x; i++) {
        if (!aten_axis(g, dims[i], x->rank, &axis))
            return false;
        x = rolled(g, x, axis, shifts[i]);
    }
    return aten_result(g, n, 0, aten_reshape(g, x, n->outputs[0].rank, n->outputs[0].sizes));
}

/* repeat(self, repeats); also tile */
bool aten_build_repeat(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 0);
    uint32_t count;
    const int64_t *repeats = aten_ints(g, n, 1, &count);
    UINT times[ATEN_RANK_MAX] = { 1 };
    struct aten_desc dx, dy;
    if (!x || count > ATEN_RANK_MAX || count < x->rank)
        return aten_fail(g, "repeats has %u elements, must have one for each dimension", count);
    while (x && x->rank < count)
        x = aten_unsqueeze(g, x, 0);
    bool same = true;
    for (uint32_t i = 0; i < count; i++) {
        times[i] = (UINT)repeats[i];
        same = same && repeats[i] == 1;
    }
    if (same)
        return aten_result(g, n, 0, x);
    struct aten_value *y = aten_new(g, n->outputs[0].type, count, n->outputs[0].sizes);
    if (!x || !y)
        return false;
    DML_TILE_OPERATOR_DESC desc = { aten_describe(g, &dx, x), aten_describe(g, &dy, y), BASE_MAX(count, 1u), times };
    return aten_emit(g, DML_OPERATOR_TILE, &desc, &x, 1, &y, 1) && aten_result(g, n, 0, y);
}

/* The number of elements that a negative padding removes. */
static int64_t cut_by(int64_t pad, int64_t size)
{
    return pad >= 0 ? 0 : pad <= -size ? size : -pad;
}

/* constant_pad_nd(self, pad, value): pad begins with the last dimension; negative entries crop. */
bool aten_build_constant_pad(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 0);
    uint32_t count;
    const int64_t *pad = aten_ints(g, n, 1, &count);
    int64_t before[ATEN_RANK_MAX] = { 0 }, after[ATEN_RANK_MAX] = { 0 };
    if (!x || count % 2 || count / 2 > x->rank)
        return aten_fail(g, "pad has %u elements, must have two for each of at most %u dimensions", count,
                         x ? x->rank : 0);
    for (uint32_t i = 0; i < count / 2 && x; i++) {
        const uint32_t axis = x->rank - 1 - i;
        const int64_t size = x->sizes[axis], start = cut_by(pad[2 * i], size), end = cut_by(pad[2 * i + 1], size);
        before[axis] = BASE_MAX(pad[2 * i], 0);
        after[axis] = BASE_MAX(pad[2 * i + 1], 0);
        if (start || end)
            x = aten_slice(g, x, axis, start, BASE_MAX(size - start - end, 0), 1);
    }
    return aten_result(g, n, 0, aten_padded(g, x, before, after, aten_real(g, n, 2, 0)));
}

/* ---- gradients of slices, scatter into slices ---- */

static bool sizes_of(struct aten_graph *g, const struct aten_node *n, uint32_t i, const int64_t **out, uint32_t *rank)
{
    *out = aten_ints(g, n, i, rank);
    return *out && *rank <= ATEN_RANK_MAX ? true : aten_fail(g, "argument %u must be sizes", i);
}

static int64_t from_end(int64_t at, int64_t size)
{
    return BASE_MIN(BASE_MAX(at < 0 ? at + size : at, 0), size);
}

/* slice_backward(grad_output, input_sizes, dim, start, end, step) */
bool aten_build_slice_backward(struct aten_graph *g, const struct aten_node *n)
{
    const int64_t *sizes;
    uint32_t rank, axis;
    if (!sizes_of(g, n, 1, &sizes, &rank) || !aten_axis(g, aten_int(g, n, 2, 0), rank, &axis))
        return false;
    const int64_t start = from_end(aten_int(g, n, 3, 0), sizes[axis]);
    return aten_result(g, n, 0, aten_placed(g, aten_in(g, n, 0), sizes, axis, start, aten_int(g, n, 5, 1)));
}

/* select_backward(grad_output, input_sizes, dim, index) */
bool aten_build_select_backward(struct aten_graph *g, const struct aten_node *n)
{
    const int64_t *sizes;
    uint32_t rank, axis;
    if (!sizes_of(g, n, 1, &sizes, &rank) || !aten_axis(g, aten_int(g, n, 2, 0), rank, &axis))
        return false;
    const int64_t index = aten_int(g, n, 3, 0);
    struct aten_value *x = aten_unsqueeze(g, aten_in(g, n, 0), axis);
    return aten_result(g, n, 0, aten_placed(g, x, sizes, axis, index < 0 ? index + sizes[axis] : index, 1));
}

/* select_scatter(self, src, dim, index), slice_scatter(self, src, dim, start, end, step): parameter 1. */
bool aten_build_part_scatter(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 0), *part = aten_in_as(g, n, 1, n->outputs[0].type), *parts[3];
    uint32_t axis, count = 0;
    if (!x || !part || !aten_axis(g, aten_int(g, n, 2, 0), x->rank, &axis))
        return false;
    const int64_t size = x->sizes[axis];
    int64_t start = aten_int(g, n, 3, 0);
    start = n->parameter ? from_end(start, size) : start < 0 ? start + size : start;
    const int64_t step = n->parameter ? aten_int(g, n, 5, 1) : 1;
    if (step != 1) {
        struct aten_value *mask = aten_filled(g, ATEN_BOOLEAN, part->rank, part->sizes, 1);
        mask = aten_placed(g, mask, x->sizes, axis, start, step);
        return aten_result(g, n, 0, aten_select(g, mask, aten_placed(g, part, x->sizes, axis, start, step), x));
    }
    if (!n->parameter)
        part = aten_unsqueeze(g, part, axis);
    if (!part)
        return false;
    const int64_t end = start + part->sizes[axis];
    if (start > 0)
        parts[count++] = aten_slice(g, x, axis, 0, start, 1);
    parts[count++] = part;
    if (end < size)
        parts[count++] = aten_slice(g, x, axis, end, size - end, 1);
    return aten_result(g, n, 0, aten_join(g, parts, count, axis));
}

struct diagonal {
    uint32_t rank;
    const int64_t *sizes;
    int64_t offset;
    uint32_t row, column; /* dimensions */
};

/* A tensor of `sizes` whose diagonal over two axes is x, with x's last dimension along it; other elements are
 * `other`. */
static struct aten_value *on_diagonal(struct aten_graph *g, struct aten_value *x, struct aten_value *other,
                                      const struct diagonal *d)
{
    const uint32_t rank = d->rank, row = d->row, column = d->column;
    const int64_t *sizes = d->sizes, offset = d->offset;
    uint32_t order[ATEN_RANK_MAX], back[ATEN_RANK_MAX], used = 0;
    int64_t moved[ATEN_RANK_MAX], before[ATEN_RANK_MAX] = { 0 }, after[ATEN_RANK_MAX] = { 0 };
    if (!x || row == column || x->rank + 1 != rank)
        return NULL;
    for (uint32_t i = 0; i < rank; i++)
        if (i != row && i != column)
            order[used++] = i;
    order[rank - 2] = row;
    order[rank - 1] = column;
    for (uint32_t i = 0; i < rank; i++) {
        moved[i] = sizes[order[i]];
        back[order[i]] = i;
    }
    const bool by_row = offset >= 0;
    after[x->rank - 1] = moved[by_row ? rank - 2 : rank - 1] - x->sizes[x->rank - 1];
    x = aten_unsqueeze(g, aten_padded(g, x, before, after, 0), by_row ? rank - 1 : rank - 2);
    struct aten_value *mask = aten_diagonal_ones(g, ATEN_BOOLEAN, 2, moved + rank - 2, offset, offset + 1);
    if (other)
        other = aten_permute(g, other, order);
    else
        other = x ? aten_zeros(g, x->type, rank, moved) : NULL;
    return aten_permute(g, aten_select(g, mask, aten_expand(g, x, rank, moved), other), back);
}

/* diagonal_backward(grad, input_sizes, offset, dim1, dim2) */
bool aten_build_diagonal_backward(struct aten_graph *g, const struct aten_node *n)
{
    const int64_t *sizes;
    uint32_t rank, row, column;
    if (!sizes_of(g, n, 1, &sizes, &rank) || !aten_axis(g, aten_int(g, n, 3, 0), rank, &row) ||
        !aten_axis(g, aten_int(g, n, 4, 1), rank, &column))
        return false;
    return aten_result(
        g, n, 0,
        on_diagonal(g, aten_in(g, n, 0), NULL, &(struct diagonal){ rank, sizes, aten_int(g, n, 2, 0), row, column }));
}

/* diag_embed(self, offset, dim1, dim2) */
bool aten_build_diag_embed(struct aten_graph *g, const struct aten_node *n)
{
    const uint32_t rank = n->outputs[0].rank;
    uint32_t row, column;
    if (!aten_axis(g, aten_int(g, n, 2, -2), rank, &row) || !aten_axis(g, aten_int(g, n, 3, -1), rank, &column))
        return false;
    /* Of the two dimensions the lower one precedes the other in the rest; offsets are in terms of rows and columns. */
    return aten_result(g, n, 0,
                       on_diagonal(g, aten_in(g, n, 0), NULL,
                                   &(struct diagonal){ rank, n->outputs[0].sizes, aten_int(g, n, 1, 0), row, column }));
}

/* diagonal_scatter(self, src, offset, dim1, dim2) */
bool aten_build_diagonal_scatter(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 0);
    uint32_t row, column;
    if (!x || !aten_axis(g, aten_int(g, n, 3, 0), x->rank, &row) ||
        !aten_axis(g, aten_int(g, n, 4, 1), x->rank, &column))
        return false;
    struct aten_value *part = aten_in_as(g, n, 1, x->type);
    return aten_result(
        g, n, 0, on_diagonal(g, part, x, &(struct diagonal){ x->rank, x->sizes, aten_int(g, n, 2, 0), row, column }));
}

/* All diagonals beyond the matrix are equivalent to the first one beyond it. */
static int64_t diagonal_of(int64_t k, int64_t rows, int64_t columns)
{
    return BASE_MIN(BASE_MAX(k, -rows), columns);
}

/* tril, triu(self, diagonal); parameter 1: triu */
bool aten_build_triangle(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 0);
    if (!x || x->rank < 2)
        return aten_fail(g, "self must have at least 2 dimensions");
    if (!aten_elements(x))
        return aten_result(g, n, 0, x);
    const int64_t k = diagonal_of(aten_int(g, n, 1, 0), x->sizes[x->rank - 2], x->sizes[x->rank - 1]);
    return aten_result(g, n, 0,
                       n->parameter ? aten_diagonals_cleared(g, x, INT32_MIN, k)
                                    : aten_diagonals_cleared(g, x, k + 1, INT32_MAX));
}

/* eye(n), eye(n, m) */
bool aten_build_eye(struct aten_graph *g, const struct aten_node *n)
{
    const struct aten_tensor *y = &n->outputs[0];
    return aten_result(g, n, 0, aten_diagonal_ones(g, y->type, 2, y->sizes, 0, 1));
}

/* trace(self) */
bool aten_build_trace(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_as(g, n, 0, n->outputs[0].type);
    if (!x || x->rank != 2)
        return aten_fail(g, "self must be a matrix");
    const int64_t size = BASE_MIN(x->sizes[0], x->sizes[1]), stride = x->strides[0] + x->strides[1];
    if (!size)
        return aten_result(g, n, 0, aten_scalar(g, x->type, 0));
    x = aten_reduced(g, DML_REDUCE_FUNCTION_SUM, aten_view(g, x, 1, &size, &stride), 1, x->type);
    return aten_result(g, n, 0, aten_squeeze(g, x, 0));
}

/* unfold_backward(grad_in, input_sizes, dim, size, step): adds windows at their positions. */
bool aten_build_unfold_backward(struct aten_graph *g, const struct aten_node *n)
{
    const int64_t *sizes, size = aten_int(g, n, 3, 1), step = aten_int(g, n, 4, 1);
    struct aten_value *x = aten_in_as(g, n, 0, aten_wide(n->outputs[0].type));
    uint32_t rank, axis, order[ATEN_RANK_MAX], used = 0;
    int64_t from[ATEN_RANK_MAX], to[ATEN_RANK_MAX];
    if (!x || !sizes_of(g, n, 1, &sizes, &rank) || !aten_axis(g, aten_int(g, n, 2, 0), rank, &axis))
        return false;
    if (!rank)
        return aten_result(g, n, 0, aten_reshape(g, x, 0, NULL));
    if (x->rank != rank + 1)
        return aten_fail(g, "grad_in must have one dimension more than input_sizes");
    const int64_t windows = x->sizes[axis], pair[2] = { windows * size, 1 };
    order[used++] = axis;
    order[used++] = rank;
    for (uint32_t i = 0; i < rank; i++)
        if (i != axis)
            order[used++] = i;
    x = aten_permute(g, x, order);
    from[0] = pair[0];
    to[0] = sizes[axis];
    for (uint32_t i = 1; i < rank && x; i++)
        from[i] = to[i] = x->sizes[i + 1];
    int64_t *at = aten_alloc(g, (size_t)pair[0] * sizeof(*at));
    if (!at)
        return false;
    for (int64_t i = 0; i < pair[0]; i++)
        at[i] = i / size * step + i % size;
    struct aten_value *y =
        aten_scatter_tuples(g, x ? aten_zeros(g, x->type, rank, to) : NULL, aten_constant(g, ATEN_INT64, 2, pair, at),
                            aten_reshape(g, x, rank, from), DML_REDUCE_FUNCTION_SUM);
    for (uint32_t i = 0; i < rank; i++)
        order[i] = i == axis ? 0 : i < axis ? i + 1 : i;
    return aten_result(g, n, 0, aten_permute(g, y, order));
}

/* ---- ranges ---- */

static DML_SCALAR_UNION number_union(struct aten_graph *g, const struct aten_node *n, uint32_t i, int32_t type)
{
    DML_SCALAR_UNION value;
    memset(&value, 0, sizeof(value));
    if (aten_given(n, i) && n->args[i].kind == ATEN_REAL)
        aten_store_real(type, aten_real(g, n, i, 0), &value);
    else
        aten_store_int(type, aten_int(g, n, i, 1), &value);
    return value;
}

static int32_t widest_float(const struct aten_graph *g)
{
    return aten_has_type(g->device, ATEN_FLOAT64) ? ATEN_FLOAT64 : ATEN_FLOAT32;
}

/* arange(start, end, step): floats are start + i * step, computed in FLOAT64 as on the CPU, where the device has it. */
bool aten_build_arange(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = n->outputs[0].type, in = aten_is_float(type) ? widest_float(g) : type;
    if (n->outputs[0].rank != 1 || type == ATEN_BOOLEAN)
        return aten_fail(g, "the result must be numbers in one dimension");
    return aten_result(
        g, n, 0, aten_sequence(g, in, n->outputs[0].sizes[0], number_union(g, n, 0, in), number_union(g, n, 2, in)));
}

/* linspace(start, end, steps), logspace(start, end, steps, base): parameter 1. Computed from both ends, so that both
 * are exact. */
bool aten_build_linspace(struct aten_graph *g, const struct aten_node *n)
{
    const int64_t steps = aten_int(g, n, 2, 0), lower = steps / 2;
    const bool whole = !aten_is_float(n->outputs[0].type);
    double first = aten_real(g, n, 0, 0), last = aten_real(g, n, 1, 0);
    if (whole) { /* the ends are integers */
        first = trunc(first);
        last = trunc(last);
    }
    if (n->outputs[0].rank != 1 || aten_is_tensor(n, 0) || aten_is_tensor(n, 1) || n->outputs[0].sizes[0] != steps)
        return aten_fail(g, "the result must have one dimension of `steps`");
    double *values = aten_alloc(g, (size_t)steps * sizeof(*values));
    double step = steps > 1 ? (last - first) / (double)(steps - 1) : 0;
    if (whole && n->parameter)
        step = (double)(float)step;
    for (int64_t i = 0; values && i < steps; i++) {
        double at = i < lower || steps == 1 ? first + step * (double)i : last - step * (double)(steps - 1 - i);
        values[i] = n->parameter ? pow(aten_real(g, n, 3, 10), at) : at;
    }
    if (widest_float(g) == ATEN_FLOAT64)
        return values && aten_result(g, n, 0, aten_constant(g, ATEN_FLOAT64, 1, &steps, values));
    /* As 32 bits of either kind, in place. */
    for (int64_t i = 0; values && i < steps; i++) {
        const float real = (float)values[i];
        const int32_t integer = (int32_t)fmin(fmax(values[i], INT32_MIN), INT32_MAX);
        memcpy((char *)values + i * 4, whole ? (const void *)&integer : (const void *)&real, 4);
    }
    return values && aten_result(g, n, 0, aten_constant(g, whole ? ATEN_INT32 : ATEN_FLOAT32, 1, &steps, values));
}

/* tril_indices, triu_indices(row, col, offset); parameter 1: triu */
bool aten_build_triangle_indices(struct aten_graph *g, const struct aten_node *n)
{
    const int64_t rows = aten_int(g, n, 0, 0), columns = aten_int(g, n, 1, 0);
    const int64_t offset = diagonal_of(aten_int(g, n, 2, 0), rows, columns);
    const int64_t count = n->outputs[0].sizes[1], sizes[2] = { 2, count };
    int64_t *values = aten_alloc(g, 2 * (size_t)count * sizeof(*values)), used = 0;
    for (int64_t r = 0; values && r < rows; r++)
        for (int64_t c = n->parameter ? BASE_MAX(r + offset, 0) : 0;
             c < (n->parameter ? columns : BASE_MIN(r + offset + 1, columns)) && used < count; c++, used++) {
            values[used] = r;
            values[count + used] = c;
        }
    return values && aten_result(g, n, 0, aten_constant(g, ATEN_INT64, 2, sizes, values));
}
