/* SPDX-License-Identifier: Apache-2.0 */
/* Resampling of rows and columns of floating-point numbers (resample_two.comp). */
#include "shaders/core/shader_block.h"
#include "shaders/resample/resample_params.h"

#include "kernels/core/number.h"
#include "kernels/resample/resample.h"

#define OUTER_MAX 6

/* The dimensions before the last two; of them, number `channel` is innermost in both tensors, or there is none:
 * UINT32_MAX. */
static uint32_t channel_of(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[1];
    for (uint32_t d = 0; d + 2 < x->rank; d++)
        if (x->sizes[d] > 1 && x->strides[d] == 1 && y->strides[d] == 1)
            return d;
    return UINT32_MAX;
}

/* Every result along dimension d is the input with its number. */
static bool stays(const struct kern_op *op, uint32_t d)
{
    const uint32_t size = op->tensors[1].sizes[d];
    if (op->tensors[0].sizes[d] != size)
        return false;
    for (uint32_t i = 0; i < size; i++) {
        const struct resample_tap tap = resample_tap(op, d, i);
        if (tap.i0 != i || tap.w != 0)
            return false;
    }
    return true;
}

static bool is_float(DML_TENSOR_DATA_TYPE type)
{
    return kern_type_class(type) == KERN_CLASS_FLOAT && kern_type_bytes(type) <= 4;
}

const char *shader_resample_two_obstacle(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[1];
    const bool nearest = op->u.resample.mode == DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR;
    if (!is_float(x->type) || !is_float(y->type) || nearest || resample_uses_table(op))
        return "there is no shader for it in this mode or type";
    if (!shader_specializes(kern_view_elements(y)))
        return "there is no shader for as few elements";
    if (x->rank < 2 || x->rank != y->rank)
        return "there is no shader for it in this rank";
    for (uint32_t d = 0; d + 2 < x->rank; d++)
        if (!stays(op, d))
            return "there is no shader for it in as many dimensions";
    return shader_block_obstacle(op);
}

/* The tables' words: two for each row, then for each column; behind one that may be left for their alignment. */
static uint32_t table_words(const struct kern_op *op)
{
    const struct kern_view *y = &op->tensors[1];
    return 1 + 2 * (y->sizes[y->rank - 2] + y->sizes[y->rank - 1]);
}

static struct resample_two_params params_of(const struct kern_op *op, uint64_t *out_units)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[1];
    const uint32_t rank = y->rank, rows = y->sizes[rank - 2], columns = y->sizes[rank - 1], channel = channel_of(op);
    const uint32_t line = channel == UINT32_MAX ? columns : y->sizes[channel], quads = (line + 3) / 4;
    struct resample_two_params params = { .columns = columns,
                                          .channels = line,
                                          .x_row = (int)x->strides[rank - 2],
                                          .x_column = (int)x->strides[rank - 1],
                                          .y_row = (int)y->strides[rank - 2],
                                          .y_column = (int)y->strides[rank - 1],
                                          .by_quads = shader_divisor(quads),
                                          .by_columns = shader_divisor(columns),
                                          .by_rows = shader_divisor(rows) };
    params.rows_table =
        (uint32_t)base_align_up(sizeof(struct shader_header) + sizeof(params) + 2 * sizeof(struct shader_view), 8);
    params.columns_table = params.rows_table + 8 * rows;
    for (uint32_t d = rank - 2; d-- > 0;) {
        if (d == channel)
            continue;
        params.x_outer[params.outer] = (int)x->strides[d];
        params.y_outer[params.outer] = (int)y->strides[d];
        params.by_outer[params.outer++] = shader_divisor(y->sizes[d]);
    }
    *out_units = kern_view_elements(y) / line * quads;
    return params;
}

void shader_resample_two_plan(const struct kern_op *op, struct shader_work *out)
{
    uint64_t units;
    const struct resample_two_params params = params_of(op, &units);
    struct shader_dispatch *dispatch =
        shader_add(out, SHADER_resample_two, op, units, SHADER_GROUP_SIZE, sizeof(params));
    shader_specialize(op, kern_view_elements(&op->tensors[1]), dispatch);
    dispatch->constants[dispatch->constant_count++] = channel_of(op) != UINT32_MAX;
    dispatch->parameter_words += table_words(op);
}

void shader_resample_two_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                               uint32_t *words)
{
    uint64_t units;
    const struct resample_two_params params = params_of(op, &units);
    uint32_t *word = words + params.rows_table / 4;
    (void)index; /* there is one */
    for (uint32_t d = op->tensors[1].rank - 2; d < op->tensors[1].rank; d++)
        for (uint32_t i = 0; i < op->tensors[1].sizes[d]; i++) {
            const struct resample_tap tap = resample_tap(op, d, i);
            *word++ = (uint32_t)tap.i0 | (tap.i1 > tap.i0 ? UINT32_C(1) << 31 : 0);
            memcpy(word++, &tap.w, sizeof(tap.w));
        }
    shader_block_write(op, places, units, &params, sizeof(params), words);
}
