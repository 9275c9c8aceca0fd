/* SPDX-License-Identifier: Apache-2.0 */
/* Data movement and resampling. */
#include "onnx/convert/converters.h"

/* Copies x, viewed through strides, to y. */
static bool emit_copy(struct onnx_builder *b, struct onnx_value *x, const uint32_t *strides, struct onnx_value *y)
{
    int64_t known_strides[ONNX_RANK_MAX];
    for (uint32_t i = 0; i < y->rank; i++)
        known_strides[i] = strides[i];
    if (onnx_is_constant(x))
        return onnx_fold_view(b, y, x, 0, known_strides);
    struct onnx_desc dx, dy;
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC desc = { onnx_desc_strided(b, &dx, x, y->rank, y->dims, strides),
                                                     onnx_desc(b, &dy, y), NULL };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &desc, &x, 1, &y, 1);
}

static void packed_strides(const struct onnx_value *v, uint32_t *strides)
{
    int64_t step = 1;
    for (uint32_t i = v->rank; i-- > 0;) {
        strides[i] = (uint32_t)step;
        step *= v->dims[i];
    }
}

bool onnx_transpose(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    int64_t order[ONNX_RANK_MAX], dims[ONNX_RANK_MAX];
    uint32_t strides[ONNX_RANK_MAX], permuted[ONNX_RANK_MAX], seen = 0, count;
    if (!x || !onnx_attr_ints(b, n, "perm", order, ONNX_RANK_MAX, &count))
        return false;
    if (count && count != x->rank)
        return onnx_fail(b, "perm has %u values for %u dimensions", count, x->rank);
    packed_strides(x, strides);
    for (uint32_t i = 0; i < x->rank; i++) {
        int64_t from = count ? order[i] : (int64_t)x->rank - 1 - i;
        if (from < 0 || from >= (int64_t)x->rank || (seen >> from & 1))
            return onnx_fail(b, "perm is not a permutation");
        seen |= 1u << from;
        dims[i] = x->dims[from];
        permuted[i] = strides[from];
    }
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, dims);
    return y && (x->rank ? emit_copy(b, x, permuted, y) : onnx_alias(b, y, x));
}

bool onnx_expand(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *shape = onnx_in(b, n, 1), wanted = { .name = "shape" };
    uint32_t rank, strides[ONNX_RANK_MAX] = { 0 }, own[ONNX_RANK_MAX];
    int64_t dims[ONNX_RANK_MAX];
    if (!x || !shape || !onnx_const_ints(b, shape, wanted.dims, ONNX_RANK_MAX, &wanted.rank) ||
        !onnx_broadcast_dims(b, x, &wanted, &rank, dims))
        return false;
    struct onnx_value *y = onnx_out(b, n, 0, x->type, rank, dims);
    packed_strides(x, own);
    for (uint32_t i = 0; i < x->rank; i++)
        strides[rank - x->rank + i] = x->dims[i] == 1 ? 0 : own[i];
    return y && emit_copy(b, x, strides, y);
}

/* Concatenation of known parts, such as a shape. Packed rows of each part in turn. */
static bool concat_known(struct onnx_builder *b, struct onnx_value *const *in, uint32_t count, uint32_t axis,
                         struct onnx_value *y)
{
    int64_t outer = 1, inner = onnx_type_bytes(y->type);
    char *to = onnx_constant_data(b, y);
    if (!to)
        return false;
    for (uint32_t i = 0; i < y->rank; i++) {
        outer *= i < axis ? y->dims[i] : 1;
        inner *= i > axis ? y->dims[i] : 1;
    }
    for (int64_t o = 0; o < outer; o++) {
        for (uint32_t i = 0; i < count; i++) {
            size_t bytes = (size_t)(in[i]->dims[axis] * inner);
            memcpy(to, (const char *)in[i]->data + (size_t)o * bytes, bytes);
            to += bytes;
        }
    }
    return true;
}

bool onnx_concat(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *first = onnx_in(b, n, 0);
    uint32_t axis, used, count = n->input_count;
    int64_t dims[ONNX_RANK_MAX];
    bool known = true;
    if (!first || !onnx_axis(b, onnx_attr_int(n, "axis", n->version < 4 ? 1 : 0), first->rank, &axis))
        return false;
    memcpy(dims, first->dims, sizeof(dims));
    dims[axis] = 0;
    struct onnx_desc *d = base_arena_alloc(&b->arena, count * sizeof(*d));
    DML_TENSOR_DESC *tensors = base_arena_alloc(&b->arena, count * sizeof(*tensors));
    struct onnx_value **in = base_arena_alloc(&b->arena, count * sizeof(*in));
    if (!d || !tensors || !in)
        return onnx_fail(b, "out of memory");
    for (uint32_t i = 0; i < count; i++) {
        in[i] = onnx_in(b, n, i);
        if (!in[i] || in[i]->rank != first->rank)
            return onnx_fail(b, "input %u has another rank", i);
        for (uint32_t j = 0; j < first->rank; j++) {
            if (j != axis && in[i]->dims[j] != dims[j])
                return onnx_misfit(b, "input %u: dimension %u is %lld instead of %lld", i, j, (long long)in[i]->dims[j],
                                   (long long)dims[j]);
        }
        dims[axis] += in[i]->dims[axis];
        known = known && onnx_is_constant(in[i]);
    }
    struct onnx_value *y = onnx_out(b, n, 0, first->type, first->rank, dims);
    if (y && known)
        return concat_known(b, in, count, axis, y);
    for (uint32_t i = used = 0; i < count; i++) { /* empty parts contribute nothing */
        if (onnx_elements(in[i]))
            in[used++] = in[i];
    }
    for (uint32_t i = 0; i < used; i++) {
        const DML_TENSOR_DESC *t = onnx_desc(b, &d[i], in[i]);
        if (!t)
            return false;
        tensors[i] = *t;
    }
    struct onnx_desc dy;
    if (!y)
        return false;
    DML_JOIN_OPERATOR_DESC desc = { used, tensors, onnx_desc(b, &dy, y), axis };
    return onnx_emit(b, DML_OPERATOR_JOIN, &desc, in, used, &y, 1);
}

/* Sizes: the `split` attribute or input, or equal parts (the last one smaller). */
static bool split_sizes(struct onnx_builder *b, const struct onnx_node *n, int64_t total, int64_t *sizes)
{
    const struct onnx_value *input = onnx_in_optional(b, n, 1);
    uint32_t count, outputs = n->output_count;
    int64_t sum = 0, part = (total + outputs - 1) / outputs;
    if (!onnx_attr_ints(b, n, "split", sizes, outputs, &count))
        return false;
    if (onnx_attr_int(n, "num_outputs", outputs) != outputs)
        return onnx_fail(b, "num_outputs is %lld for %u outputs", (long long)onnx_attr_int(n, "num_outputs", 0),
                         outputs);
    if (b->failed || (input && !onnx_const_ints(b, input, sizes, outputs, &count)))
        return false;
    for (uint32_t i = 0; i < outputs; i++) {
        if (!count)
            sizes[i] = BASE_MIN(part, total - sum);
        if (i < count && (sizes[i] < 0 || sizes[i] > ONNX_SIZE_MAX))
            return onnx_fail(b, "split[%u] = %lld", i, (long long)sizes[i]);
        sum += sizes[i];
    }
    if ((count && count != outputs) || sum != total)
        return onnx_misfit(b, "the parts sum up to %lld of %lld", (long long)sum, (long long)total);
    return true;
}

/* One part of known values. */
static bool split_known(struct onnx_builder *b, struct onnx_value *part, const struct onnx_value *x, uint32_t axis,
                        int64_t start)
{
    uint32_t strides[ONNX_RANK_MAX];
    int64_t steps[ONNX_RANK_MAX];
    packed_strides(x, strides);
    for (uint32_t i = 0; i < x->rank; i++)
        steps[i] = strides[i];
    return onnx_fold_view(b, part, x, start * strides[axis], steps);
}

bool onnx_split(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    uint32_t axis, count = n->output_count;
    int64_t dims[ONNX_RANK_MAX];
    if (!x || !count || !onnx_axis(b, onnx_attr_int(n, "axis", 0), x->rank, &axis))
        return false;
    struct onnx_desc *d = base_arena_alloc(&b->arena, count * sizeof(*d)), dx;
    DML_TENSOR_DESC *tensors = base_arena_alloc(&b->arena, count * sizeof(*tensors));
    struct onnx_value **out = base_arena_alloc(&b->arena, count * sizeof(*out));
    int64_t *sizes = base_arena_alloc(&b->arena, count * sizeof(*sizes));
    if (!d || !tensors || !out || !sizes)
        return onnx_fail(b, "out of memory");
    if (!split_sizes(b, n, x->dims[axis], sizes))
        return false;
    uint32_t used = 0;
    int64_t start = 0;
    memcpy(dims, x->dims, sizeof(dims));
    for (uint32_t i = 0; i < count; start += sizes[i++]) {
        dims[axis] = sizes[i];
        struct onnx_value *part = onnx_out(b, n, i, x->type, x->rank, dims);
        if (!part)
            return false;
        if (!onnx_elements(part)) { /* left out */
            onnx_constant_data(b, part);
            continue;
        }
        if (onnx_is_constant(x)) {
            if (!split_known(b, part, x, axis, start))
                return false;
            continue;
        }
        const DML_TENSOR_DESC *t = onnx_desc(b, &d[used], part);
        if (!t)
            return false;
        out[used] = part;
        tensors[used++] = *t;
    }
    if (!used)
        return !b->failed;
    DML_SPLIT_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), used, tensors, axis };
    return onnx_emit(b, DML_OPERATOR_SPLIT, &desc, &x, 1, out, used);
}

/* ---- slice ---- */

struct slice {
    int64_t start[ONNX_RANK_MAX], end[ONNX_RANK_MAX], axes[ONNX_RANK_MAX], steps[ONNX_RANK_MAX];
    uint32_t count;
};

static bool slice_read(struct onnx_builder *b, const struct onnx_node *n, struct slice *s)
{
    uint32_t ends, axes = 0, steps = 0;
    if (n->version < 10) {
        if (!onnx_attr_ints(b, n, "starts", s->start, ONNX_RANK_MAX, &s->count) ||
            !onnx_attr_ints(b, n, "ends", s->end, ONNX_RANK_MAX, &ends) ||
            !onnx_attr_ints(b, n, "axes", s->axes, ONNX_RANK_MAX, &axes))
            return false;
    } else {
        const struct onnx_value *start = onnx_in(b, n, 1), *end = onnx_in(b, n, 2);
        const struct onnx_value *axis = onnx_in_optional(b, n, 3), *step = onnx_in_optional(b, n, 4);
        if (!start || !end || b->failed || !onnx_const_ints(b, start, s->start, ONNX_RANK_MAX, &s->count) ||
            !onnx_const_ints(b, end, s->end, ONNX_RANK_MAX, &ends) ||
            (axis && !onnx_const_ints(b, axis, s->axes, ONNX_RANK_MAX, &axes)) ||
            (step && !onnx_const_ints(b, step, s->steps, ONNX_RANK_MAX, &steps)))
            return false;
    }
    if (ends != s->count || (axes && axes != s->count) || (steps && steps != s->count))
        return onnx_fail(b, "starts, ends, axes and steps differ in length");
    for (uint32_t i = 0; i < s->count; i++) {
        s->axes[i] = axes ? s->axes[i] : i;
        s->steps[i] = steps ? s->steps[i] : 1;
    }
    return true;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* NumPy's rules: negative positions count from the end, everything is clamped. */
static int64_t slice_axis(int64_t dim, int64_t *start, int64_t end, int64_t step)
{
    if (!dim) /* there is no last element at which a negative step could start */
        return *start = 0;
    int64_t from = *start < 0 ? *start + dim : *start, to = end < 0 ? end + dim : end;
    if (step > 0) {
        from = clamp(from, 0, dim);
        to = clamp(to, 0, dim);
    } else {
        from = clamp(from, 0, dim - 1);
        to = clamp(to, -1, dim - 1);
    }
    *start = from;
    int64_t span = step > 0 ? to - from : from - to, stride = step > 0 ? step : -step;
    return span > 0 ? (span - 1) / stride + 1 : 0;
}

static bool slice_known(struct onnx_builder *b, struct onnx_value *y, const struct onnx_value *x, const int64_t *start,
                        const int64_t *steps)
{
    uint32_t strides[ONNX_RANK_MAX];
    int64_t stepped[ONNX_RANK_MAX], offset = 0;
    packed_strides(x, strides);
    for (uint32_t i = 0; i < x->rank; i++) {
        stepped[i] = strides[i] * steps[i];
        offset += strides[i] * start[i];
    }
    return onnx_fold_view(b, y, x, offset, stepped);
}

bool onnx_slice(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    struct slice s = { 0 };
    int64_t start[ONNX_RANK_MAX] = { 0 }, steps[ONNX_RANK_MAX], dims[ONNX_RANK_MAX];
    UINT offsets[ONNX_RANK_MAX], sizes[ONNX_RANK_MAX];
    INT strides[ONNX_RANK_MAX];
    struct onnx_desc dx, dy;
    if (!x || !slice_read(b, n, &s))
        return false;
    for (uint32_t i = 0; i < x->rank; i++) {
        steps[i] = 1;
        dims[i] = x->dims[i];
    }
    for (uint32_t i = 0; i < s.count; i++) {
        uint32_t axis;
        if (!onnx_axis(b, s.axes[i], x->rank, &axis))
            return false;
        if (!s.steps[i] || s.steps[i] < -INT32_MAX || s.steps[i] > INT32_MAX)
            return onnx_fail(b, "steps[%u] = %lld", i, (long long)s.steps[i]);
        start[axis] = s.start[i];
        steps[axis] = s.steps[i];
        dims[axis] = slice_axis(x->dims[axis], &start[axis], s.end[i], steps[axis]);
    }
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, dims);
    if (!y)
        return false;
    if (onnx_is_constant(x))
        return slice_known(b, y, x, start, steps);
    for (uint32_t i = 0; i < x->rank; i++) {
        int64_t reach = (dims[i] - 1) * (steps[i] < 0 ? -steps[i] : steps[i]);
        offsets[i] = (UINT)(steps[i] < 0 ? start[i] - reach : start[i]);
        sizes[i] = (UINT)(reach + 1);
        strides[i] = (INT)steps[i];
    }
    DML_SLICE1_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), x->rank, offsets, sizes, strides };
    return onnx_emit(b, DML_OPERATOR_SLICE1, &desc, &x, 1, &y, 1);
}

static bool tile_known(struct onnx_builder *b, struct onnx_value *y, const struct onnx_value *x)
{
    size_t bytes = (size_t)onnx_value_bytes(x);
    char *to = onnx_constant_data(b, y);
    for (int64_t i = 0; to && x->dims[0] && i < y->dims[0] / x->dims[0]; i++)
        memcpy(to + (size_t)i * bytes, x->data, bytes);
    return to != NULL;
}

bool onnx_tile(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *repeats = onnx_in(b, n, 1);
    int64_t times[ONNX_RANK_MAX], dims[ONNX_RANK_MAX];
    UINT counts[ONNX_RANK_MAX];
    uint32_t count;
    struct onnx_desc dx, dy;
    if (!x || !repeats || !onnx_const_ints(b, repeats, times, ONNX_RANK_MAX, &count))
        return false;
    if (count != x->rank)
        return onnx_fail(b, "repeats has %u values for %u dimensions", count, x->rank);
    for (uint32_t i = 0; i < count; i++) {
        if (times[i] < 0 || times[i] > INT32_MAX)
            return onnx_fail(b, "repeats[%u] = %lld", i, (long long)times[i]);
        counts[i] = (UINT)times[i];
        dims[i] = x->dims[i] * times[i];
    }
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, dims);
    if (!y)
        return false;
    if (!x->rank)
        return onnx_alias(b, y, x);
    if (onnx_is_constant(x) && x->rank == 1 && onnx_elements(y) <= 65536)
        return tile_known(b, y, x);
    DML_TILE_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), x->rank, counts };
    return onnx_emit(b, DML_OPERATOR_TILE, &desc, &x, 1, &y, 1);
}

/* ---- gather ---- */

static bool gather_known(struct onnx_builder *b, struct onnx_value *y, const struct onnx_value *x,
                         const struct onnx_value *indices, uint32_t axis)
{
    int64_t *at = base_arena_alloc(&b->arena, (size_t)onnx_elements(indices) * sizeof(*at)), outer = 1;
    uint32_t count;
    char *to = onnx_constant_data(b, y);
    if (!at || !to || !onnx_const_ints(b, indices, at, (uint32_t)onnx_elements(indices), &count))
        return onnx_fail(b, "out of memory");
    size_t bytes = onnx_type_bytes(x->type);
    for (uint32_t i = 0; i < x->rank; i++) {
        outer *= i < axis ? x->dims[i] : 1;
        bytes *= i > axis ? (size_t)x->dims[i] : 1;
    }
    for (int64_t o = 0; o < outer; o++) {
        for (uint32_t i = 0; i < count; i++, to += bytes) {
            int64_t index = at[i] < 0 ? at[i] + x->dims[axis] : at[i];
            if (index < 0 || index >= x->dims[axis])
                return onnx_fail(b, "index %lld is outside the %lld elements", (long long)at[i],
                                 (long long)x->dims[axis]);
            memcpy(to, (const char *)x->data + (size_t)(o * x->dims[axis] + index) * bytes, bytes);
        }
    }
    return true;
}

/* For a tensor with a partial length along the axis: known indices that count from the end use that length. */
static struct onnx_value *from_end(struct onnx_builder *b, const struct onnx_value *x, uint32_t axis,
                                   struct onnx_value *indices)
{
    const uint8_t lengths = x->lengths[axis];
    const int64_t count = onnx_elements(indices);
    int64_t behind = 0;
    for (int64_t i = 0; lengths && onnx_is_constant(indices) && i < count; i++)
        behind += onnx_constant_int(indices, i) < 0;
    if (!lengths || (onnx_is_constant(indices) && !behind))
        return indices;
    if (behind != count || (lengths & (lengths - 1)) || x->times[axis] != 1) {
        onnx_refuse_part(b, x);
        return NULL;
    }
    struct onnx_value *at = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, onnx_convert(b, indices, ONNX_INT32),
                                        onnx_length(b, (uint32_t)__builtin_ctz(lengths)));
    return onnx_as(b, at, indices->rank, indices->dims);
}

bool onnx_gather(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *in[2] = { onnx_in(b, n, 0), onnx_in(b, n, 1) };
    uint32_t axis, rank = 0;
    int64_t dims[2 * ONNX_RANK_MAX], x_dims[ONNX_RANK_MAX], i_dims[ONNX_RANK_MAX];
    struct onnx_desc d[3];
    if (!in[0] || !in[1] || !onnx_axis(b, onnx_attr_int(n, "axis", 0), in[0]->rank, &axis))
        return false;
    const struct onnx_value *x = in[0], *indices = in[1];
    for (uint32_t i = 0; i < x->rank; i++) {
        if (i != axis)
            dims[rank++] = x->dims[i];
        for (uint32_t j = 0; i == axis && j < indices->rank; j++)
            dims[rank++] = indices->dims[j];
    }
    /* DirectML: three tensors of one rank, right-aligned with leading ones. */
    uint32_t full = BASE_MAX(BASE_MAX(x->rank, indices->rank), rank);
    if (full > ONNX_RANK_MAX)
        return onnx_fail(b, "the result has %u dimensions", full);
    struct onnx_value *y = onnx_out(b, n, 0, x->type, rank, dims);
    if (!y)
        return false;
    if (onnx_is_constant(x) && onnx_is_constant(indices) && onnx_elements(y) <= 65536)
        return gather_known(b, y, x, indices, axis);
    in[1] = from_end(b, x, axis, in[1]);
    if (!in[1])
        return false;
    int64_t y_dims[ONNX_RANK_MAX];
    for (uint32_t i = 0; i < full; i++) {
        x_dims[i] = i + x->rank < full ? 1 : x->dims[i + x->rank - full];
        i_dims[i] = i + indices->rank < full ? 1 : indices->dims[i + indices->rank - full];
        y_dims[i] = i + rank < full ? 1 : dims[i + rank - full];
    }
    DML_GATHER_OPERATOR_DESC desc = { onnx_desc_as(b, &d[0], in[0], full, x_dims),
                                      onnx_desc_as(b, &d[1], in[1], full, i_dims),
                                      onnx_desc_as(b, &d[2], y, full, y_dims), axis + full - x->rank, indices->rank };
    return onnx_emit(b, DML_OPERATOR_GATHER, &desc, in, 2, &y, 1);
}

bool onnx_depth_space(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    bool to_space = !strcmp(n->op, "DepthToSpace");
    int64_t block = onnx_attr_int(n, "blocksize", 0);
    struct onnx_desc dx, dy;
    if (!x)
        return false;
    if (x->rank != 4 || block < 1 || block > 65536)
        return onnx_fail(b, "input of rank %u with blocksize %lld is not supported", x->rank, (long long)block);
    bool fits = to_space ? x->dims[1] % (block * block) == 0 : x->dims[2] % block == 0 && x->dims[3] % block == 0;
    if (!fits)
        return onnx_misfit(b, "blocksize %lld does not divide the input", (long long)block);
    int64_t dims[4] = { x->dims[0], to_space ? x->dims[1] / (block * block) : x->dims[1] * block * block,
                        to_space ? x->dims[2] * block : x->dims[2] / block,
                        to_space ? x->dims[3] * block : x->dims[3] / block };
    struct onnx_value *y = onnx_out(b, n, 0, x->type, 4, dims);
    if (!y)
        return false;
    bool crd = !strcmp(onnx_attr_string(n, "mode", "DCR"), "CRD");
    DML_DEPTH_TO_SPACE1_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), (UINT)block,
                                               crd ? DML_DEPTH_SPACE_ORDER_COLUMN_ROW_DEPTH
                                                   : DML_DEPTH_SPACE_ORDER_DEPTH_COLUMN_ROW };
    return onnx_emit(b, to_space ? DML_OPERATOR_DEPTH_TO_SPACE1 : DML_OPERATOR_SPACE_TO_DEPTH1, &desc, &x, 1, &y, 1);
}
