/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "kernels/core/number.h"

/* Sizes with size 1 at `axes`. */
static void reduced(uint32_t rank, const uint32_t *sizes, uint32_t axes, uint32_t *out)
{
    for (uint32_t i = 0; i < rank; i++)
        out[i] = axes >> i & 1 ? 1 : sizes[i];
}

static uint32_t random_axes(struct check_rng *rng, uint32_t rank)
{
    uint32_t axes = check_pick(rng, 1u << rank);
    return check_chance(rng, 3) ? 1u << (rank - 1) : axes ? axes : 1;
}

static bool is_position(DML_REDUCE_FUNCTION function)
{
    return function == DML_REDUCE_FUNCTION_ARGMAX || function == DML_REDUCE_FUNCTION_ARGMIN;
}

static bool is_extreme(DML_REDUCE_FUNCTION function)
{
    return is_position(function) || function == DML_REDUCE_FUNCTION_MAX || function == DML_REDUCE_FUNCTION_MIN;
}

/* Functions that cancel when signs differ: their error is relative to the terms, not to the result. */
static bool is_sum(DML_REDUCE_FUNCTION function)
{
    return function == DML_REDUCE_FUNCTION_SUM || function == DML_REDUCE_FUNCTION_AVERAGE ||
           function == DML_REDUCE_FUNCTION_LOG_SUM || function == DML_REDUCE_FUNCTION_MULTIPLY;
}

/* Bytes become nibbles now and then, by no new random number. */
static void narrow(const struct check_rng *rng, struct kern_op *op)
{
    for (uint32_t t = 0; t < 2 && (rng->state >> 40 & 3) == 0; t++) {
        DML_TENSOR_DATA_TYPE *type = &op->tensors[t].type;
        if (*type == DML_TENSOR_DATA_TYPE_INT8)
            *type = DML_TENSOR_DATA_TYPE_INT4;
        else if (*type == DML_TENSOR_DATA_TYPE_UINT8)
            *type = DML_TENSOR_DATA_TYPE_UINT4;
    }
}

/* Many dense lines of one type now and then, as of networks, by no new random number. */
static bool dense_lines(const struct check_rng *rng, uint32_t *rank, uint32_t *sizes, uint32_t *axes)
{
    const uint32_t bits = (uint32_t)(rng->state >> 32);
    if (bits & 3)
        return false;
    *rank = 2;
    *axes = 2;
    sizes[0] = 1 + (bits >> 2 & 31);
    sizes[1] = 1 + (bits >> 7) % (bits >> 6 & 1 ? 300 : 70);
    return true;
}

void check_gen_reduce(struct check_rng *rng, struct check_case *out)
{
    static const DML_TENSOR_DATA_TYPE positions[] = { DML_TENSOR_DATA_TYPE_UINT32, DML_TENSOR_DATA_TYPE_INT32,
                                                      DML_TENSOR_DATA_TYPE_UINT64, DML_TENSOR_DATA_TYPE_INT64 };
    struct kern_op *op = &out->op;
    struct kern_reduce *reduce = &op->u.reduce;
    uint32_t sizes[KERN_RANK_MAX], small[KERN_RANK_MAX];
    uint32_t rank = check_sizes(rng, 5, 20000, sizes);
    DML_TENSOR_DATA_TYPE type = check_chance(rng, 2) ? check_float_type(rng) : check_any_type(rng);
    op->kind = KERN_REDUCE;
    op->input_count = op->output_count = 1;
    reduce->function = check_pick(rng, DML_REDUCE_FUNCTION_SUM_SQUARE + 1);
    reduce->axes = random_axes(rng, rank);
    reduce->last = check_chance(rng, 2);
    reduce->nan = rng->state >> 44 & 1; /* no new random number */
    while (!kern_type_bytes(type) || (reduce->function == DML_REDUCE_FUNCTION_LOG_SUM_EXP && kern_type_class(type)))
        type = check_float_type(rng);
    out->data[0] = is_extreme(reduce->function)                         ? CHECK_DATA_SPECIAL
                   : is_sum(reduce->function) && !kern_type_class(type) ? CHECK_DATA_POSITIVE
                                                                        : CHECK_DATA_NORMAL;
    const bool dense = dense_lines(rng, &rank, sizes, &reduce->axes);
    check_view(rng, &op->tensors[0], type, rank, sizes);
    if (dense)
        kern_view_set_packed(&op->tensors[0], type, rank, sizes);
    reduced(rank, sizes, reduce->axes, small);
    /* A logarithm near 0 has no relative accuracy. */
    out->norm_wise =
        reduce->function == DML_REDUCE_FUNCTION_LOG_SUM || reduce->function == DML_REDUCE_FUNCTION_LOG_SUM_EXP;
    /* The largest number of each line before a sum of powers, in FLOAT32 for all types. */
    const bool mixed = is_extreme(reduce->function) && !kern_type_class(type) && type != DML_TENSOR_DATA_TYPE_FLOAT64;
    if (is_position(reduce->function))
        type = positions[check_pick(rng, 4)];
    else if (mixed && check_chance(rng, 4))
        type = check_float_type(rng);
    else if (reduce->function == DML_REDUCE_FUNCTION_SUM && kern_type_class(type) && check_chance(rng, 2))
        type = positions[check_pick(rng, 4)]; /* of a conversion that is read through */
    check_view(rng, &op->tensors[1], type, rank, small);
    narrow(rng, op);
}

void check_gen_softmax(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    uint32_t sizes[KERN_RANK_MAX];
    uint32_t rank = check_sizes(rng, 5, 6000, sizes);
    DML_TENSOR_DATA_TYPE type = check_float_type(rng);
    op->kind = KERN_SOFTMAX;
    op->input_count = op->output_count = 1;
    op->u.softmax.mode = check_pick(rng, 3);
    op->u.softmax.axes = random_axes(rng, rank);
    const bool dense = dense_lines(rng, &rank, sizes, &op->u.softmax.axes);
    check_view(rng, &op->tensors[0], type, rank, sizes);
    check_view(rng, &op->tensors[1], type, rank, sizes);
    for (uint32_t t = 0; dense && t < 2; t++)
        kern_view_set_packed(&op->tensors[t], type, rank, sizes);
    if (dense && sizes[0] % 8 == 0)
        out->data[0] = CHECK_DATA_SPECIAL;
    out->norm_wise = op->u.softmax.mode == KERN_SOFTMAX_LOG; /* ln 1 = 0 has no relative accuracy */
    check_widen(rng, out);
}

/* X and Y of one type, scale and bias of one for all lines. */
static void make_dense(struct kern_op *op, const uint32_t *sizes)
{
    const DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    kern_view_set_packed(&op->tensors[op->input_count], type, 2, sizes);
    for (uint32_t t = 0; t < op->input_count; t++) {
        kern_view_set_packed(&op->tensors[t], t ? op->tensors[1].type : type, 2, sizes);
        op->tensors[t].strides[0] = t ? 0 : sizes[1];
    }
}

void check_gen_norm(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    struct kern_norm *norm = &op->u.norm;
    uint32_t sizes[KERN_RANK_MAX];
    uint32_t rank = check_sizes(rng, 5, 8000, sizes);
    op->kind = KERN_NORM;
    op->output_count = 1;
    norm->axes = random_axes(rng, rank);
    const bool dense = dense_lines(rng, &rank, sizes, &norm->axes);
    /* A few nearly equal elements with a small epsilon would only show how the input was rounded. */
    uint32_t length = 1;
    for (uint32_t i = 0; i < rank; i++)
        length *= norm->axes >> i & 1 ? sizes[i] : 1;
    norm->epsilon = length > 20 && check_chance(rng, 2) ? 1e-5f : 0.1f;
    norm->use_mean = !check_chance(rng, 4);
    norm->use_variance = !check_chance(rng, 4);
    norm->has_scale = check_chance(rng, 2);
    norm->has_bias = check_chance(rng, 2);
    check_view(rng, &op->tensors[op->input_count++], check_float_type(rng), rank, sizes);
    if (norm->has_scale)
        check_view_broadcast(rng, &op->tensors[op->input_count++], check_float_type(rng), rank, sizes);
    if (norm->has_bias)
        check_view_broadcast(rng, &op->tensors[op->input_count++], check_float_type(rng), rank, sizes);
    struct kern_view y;
    check_view(rng, &y, check_float_type(rng), rank, sizes);
    op->tensors[op->input_count] = y;
    if (dense) {
        make_dense(op, sizes);
        if (norm->has_bias && check_chance(rng, 2)) /* of each line, like a residual */
            op->tensors[op->input_count - 1].strides[0] = (int64_t)(sizes[1] + check_pick(rng, 3));
    } else {
        check_epilogue(rng, out, &y);
        op->tensors[op->input_count] = y;
    }
    out->norm_wise = true;
    check_widen(rng, out);
}

void check_gen_moments(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    uint32_t sizes[KERN_RANK_MAX], small[KERN_RANK_MAX];
    uint32_t rank = check_sizes(rng, 5, 20000, sizes);
    op->kind = KERN_MOMENTS;
    op->input_count = 1;
    op->output_count = 2;
    op->u.moments.axes = random_axes(rng, rank);
    reduced(rank, sizes, op->u.moments.axes, small);
    check_view(rng, &op->tensors[0], check_float_type(rng), rank, sizes);
    check_view(rng, &op->tensors[1], check_float_type(rng), rank, small);
    check_view(rng, &op->tensors[2], check_float_type(rng), rank, small);
    out->data[0] = CHECK_DATA_POSITIVE; /* sums that cancel have no relative accuracy */
    out->norm_wise = true;
    check_widen(rng, out);
}

void check_gen_grad_sums(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    uint32_t sizes[KERN_RANK_MAX], small[KERN_RANK_MAX];
    uint32_t rank = check_sizes(rng, 5, 20000, sizes);
    op->kind = KERN_GRAD_SUMS;
    op->input_count = op->output_count = 3;
    op->u.grad_sums.axes = random_axes(rng, rank);
    reduced(rank, sizes, op->u.grad_sums.axes, small);
    check_view(rng, &op->tensors[0], check_float_type(rng), rank, sizes);
    check_view(rng, &op->tensors[1], check_float_type(rng), rank, sizes);
    check_view(rng, &op->tensors[2], DML_TENSOR_DATA_TYPE_FLOAT32, rank, small);
    for (uint32_t d = 0; d < rank; d++) {
        op->tensors[2].sizes[d] = sizes[d];
        op->tensors[2].strides[d] *= !(op->u.grad_sums.axes >> d & 1);
    }
    for (uint32_t t = 3; t < 6; t++)
        check_view(rng, &op->tensors[t], DML_TENSOR_DATA_TYPE_FLOAT32, rank, small);
    out->data[0] = out->data[1] = CHECK_DATA_POSITIVE;
    out->data[2] = CHECK_DATA_INDEX; /* mostly 0 */
    out->index_limit[2] = 1;
    out->norm_wise = true;
    check_widen(rng, out);
}

void check_gen_lp_norm(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    uint32_t sizes[KERN_RANK_MAX];
    uint32_t rank = check_sizes(rng, 5, 6000, sizes);
    DML_TENSOR_DATA_TYPE type = check_float_type(rng);
    op->kind = KERN_LP_NORM;
    op->input_count = op->output_count = 1;
    op->u.lp_norm.axis = check_pick(rng, rank);
    op->u.lp_norm.epsilon = check_chance(rng, 2) ? 1e-5f : 100.0f;
    op->u.lp_norm.p = 1 + check_pick(rng, 2);
    op->u.lp_norm.nan = check_chance(rng, 2);
    check_view(rng, &op->tensors[0], type, rank, sizes);
    check_view(rng, &op->tensors[1], type, rank, sizes);
    check_widen(rng, out);
}

void check_gen_lrn(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    uint32_t sizes[] = { 1 + check_pick(rng, 3), 1 + check_pick(rng, 12), 1 + check_pick(rng, 9),
                         1 + check_pick(rng, 20) };
    DML_TENSOR_DATA_TYPE type = check_float_type(rng);
    op->kind = KERN_LRN;
    op->input_count = op->output_count = 1;
    op->u.lrn.cross_channel = check_chance(rng, 2);
    op->u.lrn.local_size = 1 + check_pick(rng, 6);
    op->u.lrn.alpha = (float)check_uniform(rng, 0.001, 1);
    op->u.lrn.beta = check_chance(rng, 2) ? 0.75f : (float)check_uniform(rng, 0.3, 2);
    op->u.lrn.bias = (float)check_uniform(rng, 0.5, 3);
    check_view(rng, &op->tensors[0], type, 4, sizes);
    check_view(rng, &op->tensors[1], type, 4, sizes);
    check_widen(rng, out);
}
