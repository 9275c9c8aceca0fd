/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of operators with indices or coordinates. The values of indices are checked by the kernels. */
#include <assert.h>
#include <inttypes.h>

#include "schema/check.h"
#include "schema/rules.h"

/* The output is input[0 .. axis), the last `index_rank` indices, input(axis ..], aligned to the right; dropped
 * dimensions on the left have size 1. */
static bool check_gather(struct schema_check *check, const struct schema_tensor *input,
                         const struct schema_tensor *indices, const struct schema_tensor *output, UINT axis,
                         UINT index_rank)
{
    const uint32_t rank = check->rank;
    uint64_t sizes[3 * SCHEMA_MAX_RANK];
    uint32_t count = 0;
    sizes[count++] = 1; /* so that there are enough for a scalar index */
    for (uint32_t i = 0; i < axis; i++)
        sizes[count++] = input->desc->Sizes[i];
    for (uint32_t i = rank - index_rank; i < rank; i++)
        sizes[count++] = indices->desc->Sizes[i];
    for (uint32_t i = axis + 1; i < rank; i++)
        sizes[count++] = input->desc->Sizes[i];

    for (uint32_t i = 0; i < count - rank; i++)
        if (sizes[i] != 1)
            return schema_fail(check, SCHEMA_ERROR_ATTRIBUTE_RANGE,
                               "IndexDimensions = %" PRIu32 ", must leave room in OutputTensor for a size of %" PRIu64,
                               index_rank, sizes[i]);
    return schema_expect_leading_ones(check, indices, index_rank) &&
           schema_expect_sizes(check, output, sizes + count - rank, "the sizes from InputTensor and IndicesTensor");
}

bool schema_rule_gather(struct schema_check *check)
{
    const DML_GATHER_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor indices = SCHEMA_TENSOR_OF(desc, IndicesTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputTensor);
    if (desc->IndexDimensions > check->rank)
        return schema_fail(check, SCHEMA_ERROR_ATTRIBUTE_RANGE,
                           "IndexDimensions = %" PRIu32 ", must be at most the dimension count (%" PRIu32 ")",
                           desc->IndexDimensions, check->rank);
    return check_gather(check, &input, &indices, &output, desc->Axis, desc->IndexDimensions);
}

/* Sizes equal those of `other`, except on the axis: there `want`, or anything if that is 0. */
static bool check_but_axis(struct schema_check *check, const struct schema_tensor *tensor,
                           const struct schema_tensor *other, UINT axis, uint64_t want)
{
    for (uint32_t i = 0; i < check->rank; i++) {
        if (i == axis && !want)
            continue;
        if (!schema_expect_size(check, tensor, i, i == axis ? want : other->desc->Sizes[i],
                                i == axis ? "1 on Axis" : other->name))
            return false;
    }
    return true;
}

bool schema_rule_gather_elements(struct schema_check *check)
{
    const DML_GATHER_ELEMENTS_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor indices = SCHEMA_TENSOR_OF(desc, IndicesTensor);
    return check_but_axis(check, &indices, &input, desc->Axis, 0);
}

bool schema_rule_scatter_elements(struct schema_check *check)
{
    const DML_SCATTER_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor indices = SCHEMA_TENSOR_OF(desc, IndicesTensor);
    return check_but_axis(check, &indices, &input, desc->Axis, 0);
}

bool schema_rule_one_hot(struct schema_check *check)
{
    const DML_ONE_HOT_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor indices = SCHEMA_TENSOR_OF(desc, IndicesTensor);
    const struct schema_tensor values = SCHEMA_TENSOR_OF(desc, ValuesTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputTensor);
    if (schema_element_count(values.desc) < 2)
        return schema_fail(check, SCHEMA_ERROR_SIZE_MISMATCH,
                           "ValuesTensor: has %" PRIu64 " element, must have at least 2",
                           schema_element_count(values.desc));
    return check_but_axis(check, &indices, &output, desc->Axis, 1);
}

/* Indices are tuples along their last axis; the meaningful dimensions of both tensors are the last ones. The slices are
 * `batch` shared dimensions, the other dimensions of the indices, and the data dimensions that a tuple leaves. */
struct tuples {
    struct schema_tensor data, indices, slices;
    UINT data_rank, index_rank, batch;
};

static bool check_tuple_ranks(struct schema_check *check, const struct tuples *t)
{
    if (t->data_rank > check->rank || t->index_rank > check->rank)
        return schema_fail(check, SCHEMA_ERROR_ATTRIBUTE_RANGE,
                           "InputDimensionCount = %" PRIu32 ", IndicesDimensionCount = %" PRIu32
                           ", must be at most the dimension count (%" PRIu32 ")",
                           t->data_rank, t->index_rank, check->rank);
    if (t->batch >= t->data_rank || t->batch >= t->index_rank)
        return schema_fail(check, SCHEMA_ERROR_ATTRIBUTE_RANGE,
                           "BatchDimensionCount = %" PRIu32 ", must be below InputDimensionCount (%" PRIu32
                           ") and IndicesDimensionCount (%" PRIu32 ")",
                           t->batch, t->data_rank, t->index_rank);
    const UINT tuple = t->indices.desc->Sizes[check->rank - 1];
    if (tuple > t->data_rank - t->batch)
        return schema_fail(check, SCHEMA_ERROR_SIZE_MISMATCH,
                           "%s: Sizes[%" PRIu32 "] = %" PRIu32 ", must be at most the dimensions to index (%" PRIu32
                           ")",
                           t->indices.name, check->rank - 1, tuple, t->data_rank - t->batch);
    return true;
}

static bool check_tuples(struct schema_check *check, const struct tuples *t)
{
    if (!check_tuple_ranks(check, t) || !schema_expect_leading_ones(check, &t->data, t->data_rank) ||
        !schema_expect_leading_ones(check, &t->indices, t->index_rank))
        return false;
    const uint32_t rank = check->rank, data_at = rank - t->data_rank, index_at = rank - t->index_rank;
    const UINT *data = t->data.desc->Sizes, *indices = t->indices.desc->Sizes;
    for (uint32_t i = 0; i < t->batch; i++)
        if (!schema_expect_size(check, &t->indices, index_at + i, data[data_at + i], "the batch of InputTensor"))
            return false;

    uint64_t sizes[2 * SCHEMA_MAX_RANK];
    uint32_t count = 0;
    for (uint32_t i = index_at; i + 1 < rank; i++)
        sizes[count++] = indices[i];
    for (uint32_t i = data_at + t->batch + indices[rank - 1]; i < rank; i++)
        sizes[count++] = data[i];
    if (count > rank)
        return schema_fail(check, SCHEMA_ERROR_ATTRIBUTE_RANGE,
                           "IndicesDimensionCount = %" PRIu32 ", gives slices of %" PRIu32
                           " dimensions, must be at most %" PRIu32,
                           t->index_rank, count, rank);
    return schema_expect_trailing(check, &t->slices, count, sizes, "the sizes from InputTensor and IndicesTensor");
}

#define TUPLES_OF(desc, slices_tensor)                                                                                 \
    .data = SCHEMA_TENSOR_OF(desc, InputTensor), .indices = SCHEMA_TENSOR_OF(desc, IndicesTensor),                     \
    .slices = SCHEMA_TENSOR_OF(desc, slices_tensor), .data_rank = (desc)->InputDimensionCount,                         \
    .index_rank = (desc)->IndicesDimensionCount

bool schema_rule_gather_nd(struct schema_check *check)
{
    const DML_GATHER_ND_OPERATOR_DESC *desc = check->desc;
    const struct tuples tuples = { TUPLES_OF(desc, OutputTensor) };
    return check_tuples(check, &tuples);
}

bool schema_rule_gather_nd1(struct schema_check *check)
{
    const DML_GATHER_ND1_OPERATOR_DESC *desc = check->desc;
    const struct tuples tuples = {
        TUPLES_OF(desc, OutputTensor),
        .batch = desc->BatchDimensionCount,
    };
    return check_tuples(check, &tuples);
}

bool schema_rule_scatter_nd(struct schema_check *check)
{
    const DML_SCATTER_ND_OPERATOR_DESC *desc = check->desc;
    const struct tuples tuples = { TUPLES_OF(desc, UpdatesTensor) };
    return check_tuples(check, &tuples);
}

static bool check_scatter_function(struct schema_check *check, DML_REDUCE_FUNCTION function)
{
    if (function == DML_REDUCE_FUNCTION_SUM || function == DML_REDUCE_FUNCTION_MULTIPLY ||
        function == DML_REDUCE_FUNCTION_MIN || function == DML_REDUCE_FUNCTION_MAX)
        return true;
    return schema_fail(check, SCHEMA_ERROR_ATTRIBUTE_RANGE, "Function = %" PRIu32 ", must be SUM, MULTIPLY, MIN or MAX",
                       (uint32_t)function);
}

/* The structs of both start with the fields of DirectML's operators. */
bool schema_rule_scatter_reduce_elements(struct schema_check *check)
{
    const ANYDML_SCATTER_REDUCE_ELEMENTS_OPERATOR_DESC *desc = check->desc;
    static_assert(offsetof(ANYDML_SCATTER_REDUCE_ELEMENTS_OPERATOR_DESC, Axis) ==
                      offsetof(DML_SCATTER_OPERATOR_DESC, Axis),
                  "the same fields");
    return check_scatter_function(check, desc->Function) && schema_rule_scatter_elements(check);
}

bool schema_rule_scatter_reduce_nd(struct schema_check *check)
{
    const ANYDML_SCATTER_REDUCE_ND_OPERATOR_DESC *desc = check->desc;
    static_assert(offsetof(ANYDML_SCATTER_REDUCE_ND_OPERATOR_DESC, IndicesDimensionCount) ==
                      offsetof(DML_SCATTER_ND_OPERATOR_DESC, IndicesDimensionCount),
                  "the same fields");
    return check_scatter_function(check, desc->Function) && schema_rule_scatter_nd(check);
}

bool schema_rule_nonzero_coordinates(struct schema_check *check)
{
    const DML_NONZERO_COORDINATES_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor count = SCHEMA_TENSOR_OF(desc, OutputCountTensor);
    const struct schema_tensor rows = SCHEMA_TENSOR_OF(desc, OutputCoordinatesTensor);
    schema_infer_rank(check, &count, 1);
    schema_infer_rank(check, &rows, 2);
    const uint32_t rank = rows.desc->DimensionCount, given = rows.desc->Sizes[rank - 1];
    const uint32_t columns = given ? given : check->rank;
    uint32_t effective = check->rank;
    while (effective > 1 && input.desc->Sizes[check->rank - effective] == 1)
        effective--;
    if (columns < effective || columns > check->rank)
        return schema_fail(check, SCHEMA_ERROR_SIZE_MISMATCH,
                           "%s: Sizes[%" PRIu32 "] = %" PRIu32 ", must be %" PRIu32 " to %" PRIu32
                           ", the dimensions of InputTensor",
                           rows.name, rank - 1, columns, effective, check->rank);
    if (check->level < DML_FEATURE_LEVEL_4_0 && (!schema_expect_rank(check, &count, check->rank, input.name) ||
                                                 !schema_expect_rank(check, &rows, check->rank, input.name)))
        return false;
    const uint64_t want[] = { schema_element_count(input.desc), columns };
    return schema_expect_leading_ones(check, &count, 0) &&
           schema_expect_trailing(check, &rows, 2, want, "the elements of InputTensor");
}

bool schema_rule_random_generator(struct schema_check *check)
{
    const DML_RANDOM_GENERATOR_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor state = SCHEMA_TENSOR_OF(desc, InputStateTensor);
    const uint64_t want[] = { 6 };
    return schema_expect_trailing(check, &state, 1, want, "four words of counter and two of key");
}
