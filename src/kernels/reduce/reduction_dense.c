/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, softmax and normalisation of dense lines of one type, in the loops of reduction_lines.h. Softmax and
 * normalisation of lines of a few elements are faster as columns of a tile (reduction_short.c), and long ones take no
 * noticeable time between their steps. */
#include "kernels/core/dense.h"
#include "kernels/reduce/reduction_short.h"

#define DENSE_LEAST 9
#define DENSE_MOST  2048
#define NORM_MOST   512 /* longer lines are normalised faster one by one */
#define REDUCE_MOST 64  /* longer lines are added in more than one vector, and continued in double */

static enum kern_stat stat_of(const struct kern_reductions *groups)
{
    const enum kern_stat stat = kern_reduction_stat(groups->call->op->u.reduce.function);
    if (groups->nan && stat == KERN_STAT_MAX)
        return KERN_STAT_MAX_NAN;
    return groups->nan && stat == KERN_STAT_MIN ? KERN_STAT_MIN_NAN : stat;
}

/* Sums, means and extremes of lines whose results are a dense row. */
static bool is_reduced(const struct kern_reductions *groups)
{
    const struct kern_op *op = groups->call->op;
    const DML_REDUCE_FUNCTION function = op->u.reduce.function;
    const struct kern_iterator *outer = &groups->outer;
    const uint32_t last = outer->rank - 1;
    return !kern_reduction_is_position(function) && function != DML_REDUCE_FUNCTION_LOG_SUM &&
           function != DML_REDUCE_FUNCTION_LOG_SUM_EXP && function != DML_REDUCE_FUNCTION_MULTIPLY && !op->epilogue &&
           op->input_count == 1 && op->output_count == 1 && !groups->columns && groups->inner.rank == 1 &&
           groups->inner.count > 1 && groups->inner.count <= REDUCE_MOST && groups->inner.strides[0][0] == 1 &&
           (outer->strides[1][last] == 1 || outer->sizes[last] == 1) && kern_reduction_in_place(op->tensors[0].type) &&
           kern_reduction_in_place(op->tensors[1].type);
}

/* The lines of tensor t are dense. */
static bool is_dense(const struct kern_reductions *groups, uint32_t t)
{
    return groups->inner.strides[t][0] == 1 && kern_reduction_in_place(groups->call->op->tensors[t].type);
}

/* Tensor t is the same for all lines. */
static bool is_shared(const struct kern_reductions *groups, uint32_t t)
{
    bool same = true;
    for (uint32_t d = 0; d < groups->outer.rank; d++)
        same &= groups->outer.sizes[d] == 1 || groups->outer.strides[t][d] == 0;
    return same;
}

/* Results go to Y as they are: its lines are dense and of X's type. */
static bool is_stored_directly(const struct kern_reductions *groups)
{
    const struct kern_op *op = groups->call->op;
    const uint32_t y = op->input_count;
    return !op->epilogue && op->output_count == 1 && kern_reduction_in_place(op->tensors[0].type) &&
           op->tensors[y].type == op->tensors[0].type && groups->inner.strides[0][0] == 1 &&
           groups->inner.strides[y][0] == 1;
}

bool kern_reduction_dense_in_block(const struct kern_reductions *groups)
{
    const struct kern_op *op = groups->call->op;
    return op->kind == KERN_NORM && !is_stored_directly(groups) &&
           op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT32 && groups->inner.strides[0][0] == 1;
}

bool kern_reduction_dense_lines(const struct kern_reductions *groups)
{
    const struct kern_op *op = groups->call->op;
    const struct kern_norm *norm = &op->u.norm;
    if (op->kind == KERN_REDUCE)
        return is_reduced(groups);
    if (groups->columns || groups->inner.rank > 1 || groups->inner.count < DENSE_LEAST ||
        groups->inner.count > DENSE_MOST)
        return false;
    if (!kern_reduction_dense_in_block(groups) && !is_stored_directly(groups))
        return false;
    if (op->kind == KERN_SOFTMAX)
        return op->u.softmax.mode == KERN_SOFTMAX_PLAIN;
    if (op->kind == KERN_LP_NORM)
        return op->u.lp_norm.p == 2 && groups->inner.count <= NORM_MOST;
    if (op->kind != KERN_NORM || groups->inner.count > NORM_MOST ||
        (norm->has_scale && norm->has_bias && op->tensors[1].type != op->tensors[2].type))
        return false;
    return (!norm->has_scale || (is_dense(groups, 1) && is_shared(groups, 1))) &&
           (!norm->has_bias || is_dense(groups, 1 + norm->has_scale));
}

uint32_t kern_reduction_dense_run(const struct kern_reductions *groups, uint64_t first, uint32_t count)
{
    const struct kern_op *op = groups->call->op;
    const struct kern_iterator *outer = &groups->outer;
    const uint32_t y = op->input_count, last = outer->rank - 1;
    const DML_TENSOR_DATA_TYPE type = op->tensors[0].type, y_type = op->tensors[y].type;
    struct kern_reduction_dense lines = {
        .x = kern_at(groups->call->data[0], type, kern_iterator_offset(outer, 0, first)),
        .y = (void *)kern_at(groups->call->data[y], y_type, kern_iterator_offset(outer, y, first)),
        .half = type == DML_TENSOR_DATA_TYPE_FLOAT16,
        .stream = groups->stream,
        .x_apart = outer->strides[0][last],
        .y_apart = outer->strides[y][last],
        .count = count,
        .length = (uint32_t)groups->inner.count,
        .powers = groups->scratch->block,
    };
    if (op->kind == KERN_SOFTMAX)
        return groups->isa->softmax_lines(&lines);
    if (op->kind == KERN_REDUCE) {
        lines.stat = stat_of(groups);
        lines.y_half = y_type == DML_TENSOR_DATA_TYPE_FLOAT16;
        lines.root = op->u.reduce.function == DML_REDUCE_FUNCTION_L2;
        lines.divisor = op->u.reduce.function == DML_REDUCE_FUNCTION_AVERAGE ? (float)groups->inner.count : 1;
        return groups->isa->reduce_lines(&lines);
    }
    if (op->kind == KERN_LP_NORM) {
        lines.size = true;
        lines.epsilon = op->u.lp_norm.epsilon;
        return groups->isa->norm_lines(&lines);
    }
    const struct kern_norm *norm = &op->u.norm;
    const void *parameters[] = { groups->call->data[1], groups->call->data[2] };
    for (uint32_t i = 0; i < 2 && i + 1 < y; i++)
        parameters[i] = kern_at(parameters[i], op->tensors[1].type, kern_iterator_offset(outer, 1 + i, first));
    lines.scale = norm->has_scale ? parameters[0] : NULL;
    lines.shift = norm->has_bias ? parameters[norm->has_scale] : NULL;
    lines.shift_apart = norm->has_bias ? outer->strides[1 + norm->has_scale][last] : 0;
    lines.scale_half = op->tensors[1].type == DML_TENSOR_DATA_TYPE_FLOAT16;
    lines.use_mean = norm->use_mean;
    lines.use_variance = norm->use_variance;
    lines.epsilon = norm->epsilon;
    if (kern_reduction_dense_in_block(groups)) {
        lines.y = groups->scratch->block;
        lines.y_apart = (int64_t)groups->inner.count;
        lines.stream = false;
        lines.count = BASE_MIN(count, groups->scratch->block_length / lines.length);
    }
    return groups->isa->norm_lines(&lines);
}
