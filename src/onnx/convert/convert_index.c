/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that read or write at positions given by indices. */
#include "onnx/convert/converters.h"

#include <anydml.h>

/* Host computation is limited to small results. */
#define KNOWN_MAX 65536

/* ---- gather ---- */

static bool pick_known(struct onnx_builder *b, struct onnx_value *y, const struct onnx_value *x,
                       const struct onnx_value *indices, uint32_t axis)
{
    uint32_t strides[ONNX_RANK_MAX], width = onnx_type_bytes(x->type);
    int64_t at[ONNX_RANK_MAX] = { 0 };
    char *to = onnx_constant_data(b, y);
    onnx_packed_strides(x->rank, x->dims, strides);
    for (int64_t i = 0, count = onnx_elements(y); to && i < count; i++) {
        int64_t index = onnx_constant_int(indices, i);
        index += index < 0 ? x->dims[axis] : 0;
        if (index < 0 || index >= x->dims[axis])
            return onnx_fail(b, "index %lld is outside the %lld elements", (long long)index, (long long)x->dims[axis]);
        int64_t from = 0;
        for (uint32_t d = 0; d < x->rank; d++)
            from += (d == axis ? index : at[d]) * strides[d];
        memcpy(to + i * width, (const char *)x->data + from * width, width);
        for (uint32_t d = y->rank; d-- > 0 && ++at[d] == y->dims[d];)
            at[d] = 0;
    }
    return to != NULL;
}

static bool index_type(struct onnx_builder *b, const struct onnx_value *indices)
{
    return indices->type == ONNX_INT64 || indices->type == ONNX_INT32 ||
           onnx_fail(b, "'%s' must be indices, not %s", indices->name, onnx_type_name(indices->type));
}

/* The indices of GatherElements and ScatterElements may be smaller than the data in any dimension except for the
 * axis. */
static bool fits_off_axis(struct onnx_builder *b, const struct onnx_value *x, const struct onnx_value *indices,
                          uint32_t axis)
{
    if (x->rank != indices->rank)
        return onnx_fail(b, "indices of rank %u for %u dimensions", indices->rank, x->rank);
    for (uint32_t i = 0; i < x->rank; i++) {
        if (i != axis && indices->dims[i] > x->dims[i])
            return onnx_misfit(b, "%lld indices for dimension %u of %lld", (long long)indices->dims[i], i,
                               (long long)x->dims[i]);
    }
    return true;
}

bool onnx_gather_elements(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *in[2] = { onnx_in(b, n, 0), onnx_in(b, n, 1) };
    int64_t dims[ONNX_RANK_MAX];
    uint32_t axis, strides[ONNX_RANK_MAX];
    struct onnx_desc d[3];
    if (!in[0] || !in[1] || !onnx_axis(b, onnx_attr_int(n, "axis", 0), in[0]->rank, &axis) || !index_type(b, in[1]) ||
        !fits_off_axis(b, in[0], in[1], axis))
        return false;
    struct onnx_value *y = onnx_out(b, n, 0, in[0]->type, in[1]->rank, in[1]->dims);
    if (!y)
        return false;
    if (onnx_is_constant(in[0]) && onnx_is_constant(in[1]))
        return pick_known(b, y, in[0], in[1], axis);
    memcpy(dims, in[1]->dims, sizeof(dims));
    dims[axis] = in[0]->dims[axis];
    onnx_packed_strides(in[0]->rank, in[0]->dims, strides);
    DML_GATHER_ELEMENTS_OPERATOR_DESC desc = { onnx_desc_strided(b, &d[0], in[0], y->rank, dims, strides),
                                               onnx_desc(b, &d[1], in[1]), onnx_desc(b, &d[2], y), axis };
    return onnx_emit(b, DML_OPERATOR_GATHER_ELEMENTS, &desc, in, 2, &y, 1);
}

/* The value with ones in front of its dimensions. */
static const DML_TENSOR_DESC *desc_wide(struct onnx_builder *b, struct onnx_desc *d, struct onnx_value *v,
                                        uint32_t rank)
{
    int64_t dims[ONNX_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i + v->rank < rank ? 1 : v->dims[i + v->rank - rank];
    return onnx_desc_as(b, d, v, rank, dims);
}

/* The start of the slice that tuple i names, in elements; -1 (failed) outside. */
static int64_t tuple_known(struct onnx_builder *b, const int64_t *dims, uint32_t first, uint32_t length,
                           const int64_t *tuple, const uint32_t *strides)
{
    int64_t at = 0;
    for (uint32_t k = 0; k < length; k++) {
        int64_t index = tuple[k] < 0 ? tuple[k] + dims[first + k] : tuple[k];
        if (index < 0 || index >= dims[first + k]) {
            onnx_fail(b, "index %lld is outside the %lld elements", (long long)tuple[k], (long long)dims[first + k]);
            return -1;
        }
        at += index * strides[first + k];
    }
    return at;
}

static bool gather_nd_known(struct onnx_builder *b, struct onnx_value *y, const struct onnx_value *x,
                            const struct onnx_value *indices, uint32_t batch)
{
    uint32_t strides[ONNX_RANK_MAX], tuple = (uint32_t)indices->dims[indices->rank - 1];
    int64_t tuples = tuple ? onnx_elements(indices) / tuple : 0, batches = 1;
    char *to = onnx_constant_data(b, y);
    onnx_packed_strides(x->rank, x->dims, strides);
    for (uint32_t i = 0; i < batch; i++)
        batches *= x->dims[i];
    size_t width = onnx_type_bytes(x->type), slice = width * strides[batch + tuple - 1];
    int64_t batch_size = batches ? onnx_elements(x) / batches : 0, each = batches ? tuples / batches : 0;
    for (int64_t i = 0; to && i < tuples; i++, to += slice) {
        int64_t at = tuple_known(b, x->dims, batch, tuple, (const int64_t *)indices->data + i * tuple, strides);
        if (at < 0)
            return false;
        memcpy(to, (const char *)x->data + (size_t)(at + i / each * batch_size) * width, slice);
    }
    return to != NULL;
}

/* Each of the tuples, which are empty, selects all of its batch. */
static bool whole_slices(struct onnx_builder *b, struct onnx_value *x, const struct onnx_value *indices, uint32_t batch,
                         struct onnx_value *y)
{
    uint32_t packed[ONNX_RANK_MAX], strides[ONNX_RANK_MAX] = { 0 }, skipped = indices->rank - 1 - batch;
    int64_t steps[ONNX_RANK_MAX];
    onnx_packed_strides(x->rank, x->dims, packed);
    for (uint32_t i = 0; i < x->rank; i++)
        strides[i < batch ? i : i + skipped] = packed[i];
    for (uint32_t i = 0; i < y->rank; i++)
        steps[i] = strides[i];
    return onnx_is_constant(x) ? onnx_fold_view(b, y, x, 0, steps)
                               : onnx_view_to(b, x, y->rank, y->dims, strides, y) != NULL;
}

bool onnx_gather_nd(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *in[2] = { onnx_in(b, n, 0), onnx_in(b, n, 1) };
    int64_t batch = onnx_attr_int(n, "batch_dims", 0), dims[2 * ONNX_RANK_MAX];
    uint32_t rank = 0;
    struct onnx_desc d[3];
    if (!in[0] || !in[1] || !index_type(b, in[1]))
        return false;
    struct onnx_value *x = in[0];
    const struct onnx_value *indices = in[1];
    int64_t tuple = indices->rank ? indices->dims[indices->rank - 1] : 0;
    if (batch < 0 || batch >= indices->rank || batch + tuple > x->rank)
        return onnx_misfit(b, "%lld indices at a time, batch_dims = %lld, do not fit rank %u", (long long)tuple,
                           (long long)batch, x->rank);
    for (uint32_t i = 0; i < batch; i++)
        if (indices->dims[i] != x->dims[i])
            return onnx_misfit(b, "batch_dims = %lld, but dimension %u is %lld of the input and %lld of the indices",
                               (long long)batch, i, (long long)x->dims[i], (long long)indices->dims[i]);
    for (uint32_t i = 0; i + 1 < indices->rank; i++)
        dims[rank++] = indices->dims[i];
    for (uint32_t i = (uint32_t)(batch + tuple); i < x->rank; i++)
        dims[rank++] = x->dims[i];
    uint32_t full = BASE_MAX(BASE_MAX(x->rank, indices->rank), rank);
    if (full > ONNX_RANK_MAX)
        return onnx_fail(b, "the result has %u dimensions", full);
    struct onnx_value *y = onnx_out(b, n, 0, x->type, rank, dims);
    if (!y)
        return false;
    if (!tuple)
        return whole_slices(b, x, indices, (uint32_t)batch, y);
    if (onnx_is_constant(x) && onnx_is_constant(indices) && indices->type == ONNX_INT64 &&
        onnx_elements(y) <= KNOWN_MAX)
        return gather_nd_known(b, y, x, indices, (uint32_t)batch);
    DML_GATHER_ND1_OPERATOR_DESC desc = { desc_wide(b, &d[0], in[0], full),
                                          desc_wide(b, &d[1], in[1], full),
                                          desc_wide(b, &d[2], y, full),
                                          x->rank,
                                          indices->rank,
                                          (UINT)batch };
    return onnx_emit(b, DML_OPERATOR_GATHER_ND1, &desc, in, 2, &y, 1);
}

/* ---- scatter ---- */

/* Without a reduction DirectML's operators are used, otherwise those of anydml.h with this function. */
static bool reduction_read(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_value *x,
                           DML_REDUCE_FUNCTION *out, bool *out_reduce)
{
    static const struct {
        const char *name;
        DML_REDUCE_FUNCTION function, of_booleans;
    } reductions[] = {
        { "add", DML_REDUCE_FUNCTION_SUM, DML_REDUCE_FUNCTION_MAX },
        { "mul", DML_REDUCE_FUNCTION_MULTIPLY, DML_REDUCE_FUNCTION_MIN },
        { "max", DML_REDUCE_FUNCTION_MAX, DML_REDUCE_FUNCTION_MAX },
        { "min", DML_REDUCE_FUNCTION_MIN, DML_REDUCE_FUNCTION_MIN },
    };
    const char *name = onnx_attr_string(n, "reduction", "none");
    *out_reduce = strcmp(name, "none") != 0;
    for (size_t i = 0; i < ARRAY_SIZE(reductions); i++) {
        if (!strcmp(reductions[i].name, name)) {
            *out = x->type == ONNX_BOOL ? reductions[i].of_booleans : reductions[i].function;
            return true;
        }
    }
    return !*out_reduce || onnx_fail(b, "reduction = '%s' is not supported", name);
}

/* Writes `part`, which covers only the start of some dimensions of x, back into x. */
static struct onnx_value *complete(struct onnx_builder *b, struct onnx_value *part, struct onnx_value *x)
{
    for (uint32_t i = 0; part && i < x->rank; i++) {
        int64_t start[ONNX_RANK_MAX] = { 0 }, dims[ONNX_RANK_MAX];
        struct onnx_desc d[3];
        if (part->dims[i] == x->dims[i])
            continue;
        memcpy(dims, part->dims, sizeof(dims));
        start[i] = part->dims[i];
        dims[i] = x->dims[i] - part->dims[i];
        struct onnx_value *in[2] = { part, onnx_window(b, x, start, dims) };
        dims[i] = x->dims[i];
        struct onnx_value *y = in[1] ? onnx_temp(b, x->type, x->rank, dims) : NULL;
        if (!y)
            return NULL;
        const DML_TENSOR_DESC *first = onnx_desc(b, &d[0], in[0]), *second = onnx_desc(b, &d[1], in[1]);
        const DML_TENSOR_DESC *whole = onnx_desc(b, &d[2], y);
        if (!first || !second || !whole)
            return NULL;
        DML_TENSOR_DESC tensors[2] = { *first, *second };
        DML_JOIN_OPERATOR_DESC desc = { 2, tensors, whole, i };
        part = onnx_emit(b, DML_OPERATOR_JOIN, &desc, in, 2, &y, 1) ? y : NULL;
    }
    return part;
}

bool onnx_scatter_elements(struct onnx_builder *b, const struct onnx_node *n)
{
    static const int64_t origin[ONNX_RANK_MAX] = { 0 };
    struct onnx_value *x = onnx_in(b, n, 0), *indices = onnx_in(b, n, 1), *updates = onnx_in(b, n, 2);
    int64_t dims[ONNX_RANK_MAX];
    DML_REDUCE_FUNCTION function = DML_REDUCE_FUNCTION_SUM;
    uint32_t axis;
    bool reduce;
    struct onnx_desc d[4];
    if (!x || !indices || !updates || !reduction_read(b, n, x, &function, &reduce) ||
        !onnx_axis(b, onnx_attr_int(n, "axis", 0), x->rank, &axis) || !index_type(b, indices) ||
        !fits_off_axis(b, x, indices, axis))
        return false;
    if (updates->rank != indices->rank || memcmp(updates->dims, indices->dims, indices->rank * sizeof(int64_t)) ||
        updates->type != x->type)
        return onnx_misfit(b, "updates differ from the indices in shape, or from the data in type");
    if (!onnx_elements(indices))
        return onnx_result(b, n, 0, x);
    memcpy(dims, indices->dims, sizeof(dims));
    dims[axis] = x->dims[axis];
    struct onnx_value *in[3] = { onnx_window(b, x, origin, dims), indices, updates };
    struct onnx_value *y = in[0] ? onnx_temp(b, x->type, x->rank, dims) : NULL;
    if (!y)
        return false;
    /* starts like DML_SCATTER_OPERATOR_DESC */
    ANYDML_SCATTER_REDUCE_ELEMENTS_OPERATOR_DESC desc = { onnx_desc(b, &d[0], in[0]),
                                                          onnx_desc(b, &d[1], in[1]),
                                                          onnx_desc(b, &d[2], in[2]),
                                                          onnx_desc(b, &d[3], y),
                                                          axis,
                                                          function };
    return onnx_emit(b, reduce ? ANYDML_OPERATOR_SCATTER_REDUCE_ELEMENTS : DML_OPERATOR_SCATTER_ELEMENTS, &desc, in, 3,
                     &y, 1) &&
           onnx_result(b, n, 0, complete(b, y, x));
}

static bool scatter_nd_known(struct onnx_builder *b, struct onnx_value *y, const struct onnx_value *x,
                             const struct onnx_value *indices, const struct onnx_value *updates)
{
    uint32_t strides[ONNX_RANK_MAX], tuple = (uint32_t)indices->dims[indices->rank - 1];
    char *to = onnx_constant_data(b, y);
    onnx_packed_strides(x->rank, x->dims, strides);
    size_t width = onnx_type_bytes(x->type), slice = width * strides[tuple - 1];
    if (!to)
        return false;
    memcpy(to, x->data, (size_t)onnx_value_bytes(x));
    for (int64_t i = 0, count = onnx_elements(indices) / tuple; i < count; i++) {
        int64_t at = tuple_known(b, x->dims, 0, tuple, (const int64_t *)indices->data + i * tuple, strides);
        if (at < 0)
            return false;
        memcpy(to + (size_t)at * width, (const char *)updates->data + (size_t)i * slice, slice);
    }
    return true;
}

static bool scatter_nd_fits(struct onnx_builder *b, struct onnx_value *const *in)
{
    int64_t tuple = in[1]->rank ? in[1]->dims[in[1]->rank - 1] : 0, slices = 1;
    if (tuple < 1 || tuple > in[0]->rank)
        return onnx_misfit(b, "%lld indices at a time do not fit rank %u", (long long)tuple, in[0]->rank);
    for (uint32_t i = (uint32_t)tuple; i < in[0]->rank; i++)
        slices = onnx_size_product(slices, in[0]->dims[i]);
    if (in[2]->type != in[0]->type || onnx_elements(in[2]) != onnx_size_product(onnx_elements(in[1]) / tuple, slices) ||
        in[2]->rank + 1 != in[1]->rank + in[0]->rank - (uint32_t)tuple + (in[1]->rank ? 0 : 1))
        return onnx_misfit(b, "updates of type %s, %lld elements and rank %u do not fit", onnx_type_name(in[2]->type),
                           (long long)onnx_elements(in[2]), in[2]->rank);
    return true;
}

bool onnx_scatter_nd(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *in[3] = { onnx_in(b, n, 0), onnx_in(b, n, 1), onnx_in(b, n, 2) };
    DML_REDUCE_FUNCTION function = DML_REDUCE_FUNCTION_SUM;
    bool reduce;
    struct onnx_desc d[4];
    if (!in[0] || !in[1] || !in[2] || !reduction_read(b, n, in[0], &function, &reduce) || !index_type(b, in[1]) ||
        !scatter_nd_fits(b, in))
        return false;
    if (!onnx_elements(in[2]))
        return onnx_result(b, n, 0, in[0]);
    struct onnx_value *y = onnx_out(b, n, 0, in[0]->type, in[0]->rank, in[0]->dims);
    uint32_t full = BASE_MAX(BASE_MAX(in[0]->rank, in[1]->rank), in[2]->rank);
    if (!y)
        return false;
    if (!reduce && onnx_is_constant(in[0]) && onnx_is_constant(in[1]) && onnx_is_constant(in[2]) &&
        in[1]->type == ONNX_INT64)
        return scatter_nd_known(b, y, in[0], in[1], in[2]);
    /* starts like DML_SCATTER_ND_OPERATOR_DESC */
    ANYDML_SCATTER_REDUCE_ND_OPERATOR_DESC desc = { desc_wide(b, &d[0], in[0], full),
                                                    desc_wide(b, &d[1], in[1], full),
                                                    desc_wide(b, &d[2], in[2], full),
                                                    desc_wide(b, &d[3], y, full),
                                                    in[0]->rank,
                                                    in[1]->rank,
                                                    function };
    return onnx_emit(b, reduce ? ANYDML_OPERATOR_SCATTER_REDUCE_ND : DML_OPERATOR_SCATTER_ND, &desc, in, 3, &y, 1);
}

/* ---- by values that are known ---- */

bool onnx_one_hot(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *in[2] = { onnx_in(b, n, 0), onnx_in(b, n, 2) }, *depth = onnx_in(b, n, 1);
    int64_t count, dims[ONNX_RANK_MAX], one[ONNX_RANK_MAX], two[ONNX_RANK_MAX];
    uint32_t axis, from = 0;
    struct onnx_desc d[3];
    if (!in[0] || !in[1] || !depth || !onnx_const_int(b, depth, &count) ||
        !onnx_axis(b, onnx_attr_int(n, "axis", -1), in[0]->rank + 1, &axis))
        return false;
    uint32_t rank = in[0]->rank + 1;
    if (rank > ONNX_RANK_MAX || count < 1)
        return onnx_fail(b, "depth = %lld with rank %u is not supported", (long long)count, in[0]->rank);
    if (onnx_elements(in[1]) != 2)
        return onnx_misfit(b, "%lld values are given, must be 2", (long long)onnx_elements(in[1]));
    for (uint32_t i = 0; i < rank; i++) {
        one[i] = i == axis ? 1 : in[0]->dims[from++];
        dims[i] = i == axis ? count : one[i];
        two[i] = i + 1 == rank ? 2 : 1;
    }
    if (in[0]->type != ONNX_INT32 && in[0]->type != ONNX_UINT32 && in[0]->type != ONNX_UINT64)
        in[0] = onnx_convert(b, in[0], ONNX_INT64);
    struct onnx_value *y = onnx_out(b, n, 0, in[1]->type, rank, dims);
    if (!y || !in[0])
        return false;
    DML_ONE_HOT_OPERATOR_DESC desc = { onnx_desc_as(b, &d[0], in[0], rank, one),
                                       onnx_desc_as(b, &d[1], in[1], rank, two), onnx_desc(b, &d[2], y), axis };
    return onnx_emit(b, DML_OPERATOR_ONE_HOT, &desc, in, 2, &y, 1);
}

/* Gather by the positions of the condition's true elements. */
bool onnx_compress(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *condition = onnx_in(b, n, 1);
    int64_t none, total = x ? onnx_elements(x) : 0, axis = onnx_attr_int(n, "axis", 0), count = 0;
    uint32_t at;
    if (!x || !condition)
        return false;
    if (condition->source != ONNX_SOURCE_CONSTANT)
        return onnx_const_ints(b, condition, &none, 0, &at);
    if (!onnx_attribute(n, "axis"))
        x = onnx_as(b, x, 1, &total);
    if (!x || !onnx_axis(b, axis, x->rank, &at) || condition->type != ONNX_BOOL)
        return onnx_fail(b, "the condition must be booleans");
    int64_t *places = base_arena_alloc(&b->arena, (size_t)(x->dims[at] + 1) * sizeof(*places));
    if (!places)
        return onnx_fail(b, "out of memory");
    for (int64_t i = 0; i < x->dims[at] && i < onnx_elements(condition); i++) {
        if (((const uint8_t *)condition->data)[i])
            places[count++] = i;
    }
    struct onnx_value *indices = onnx_constant(b, ONNX_INT64, 1, &count, places, (uint64_t)count * sizeof(*places));
    struct onnx_attribute attribute = { .name = "axis", .i = at };
    if (!indices)
        return false;
    const char *inputs[2] = { x->name, indices->name };
    struct onnx_node gather = *n;
    gather.op = "Gather";
    gather.inputs = inputs;
    gather.attributes = &attribute;
    gather.attribute_count = 1;
    return onnx_convert_as(b, &gather);
}

static bool is_zero(const struct onnx_value *x, int64_t at)
{
    const char *element = (const char *)x->data + at * onnx_type_bytes(x->type);
    switch (x->type) {
    case ONNX_FLOAT:
        return *(const float *)(const void *)element == 0;
    case ONNX_DOUBLE:
        return *(const double *)(const void *)element == 0;
    case ONNX_FLOAT16:
    case ONNX_BFLOAT16: /* either sign */
        return !(*(const uint16_t *)(const void *)element & 0x7fff);
    default:
        for (uint32_t i = 0; i < onnx_type_bytes(x->type); i++) {
            if (element[i])
                return false;
        }
        return true;
    }
}

/* Its shape follows from the values: they must be known. */
bool onnx_nonzero(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    int64_t none, count = 0;
    uint32_t rank;
    if (!x)
        return false;
    if (x->source != ONNX_SOURCE_CONSTANT)
        return onnx_const_ints(b, x, &none, 0, &rank);
    int64_t total = onnx_elements(x), at = 0;
    for (int64_t i = 0; i < total; i++)
        count += !is_zero(x, i);
    struct onnx_value *y = onnx_out(b, n, 0, ONNX_INT64, 2, (int64_t[]){ x->rank, count });
    int64_t *to = y ? onnx_constant_data(b, y) : NULL;
    for (int64_t i = 0; to && i < total; i++) {
        int64_t rest = i;
        if (is_zero(x, i))
            continue;
        for (uint32_t d = x->rank; d-- > 0; rest /= x->dims[d])
            to[d * count + at] = rest % x->dims[d];
        at++;
    }
    return to != NULL;
}
