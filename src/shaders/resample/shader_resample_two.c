/* SPDX-License-Identifier: Apache-2.0 */
/* Resampling of rows and columns (resample_two.comp). */
#include "shaders/core/shader_block.h"
#include "shaders/resample/resample_params.h"

#include "kernels/core/number.h"
#include "kernels/resample/resample.h"

#define OUTER_MAX 6
#define RESULTS   8 /* of a vector of numbers, at most */

/* The pattern of a vector's columns: the number of inputs, the first input of each result, the weight of the next one;
 * 0: from the table. */
struct span {
    uint32_t count;
    int begin, step;
    uint32_t inputs[RESULTS]; /* from the vector's first one on */
    float weights[RESULTS];
};

struct two {
    uint32_t layout, channel; /* its dimension, or UINT32_MAX: none is contiguous */
    uint32_t vector, line;
    uint32_t factor; /* nearest */
    struct span span;
};

static bool is_nearest(const struct kern_op *op)
{
    return op->u.resample.mode == DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR;
}

/* ---- patterns of columns ---- */

/* Column o is repeated input o / factor; 0: they are not alike. */
static uint32_t factor_of(const struct kern_op *op, uint32_t d)
{
    const uint32_t in = op->tensors[0].sizes[d], out = op->tensors[1].sizes[d], factor = out / in;
    if (factor * in != out)
        return 0;
    for (uint32_t o = 0; o < out; o++)
        if (resample_tap(op, d, o).i0 != o / factor)
            return 0;
    return factor;
}

static int64_t inside(int64_t index, uint32_t size)
{
    return BASE_MAX(BASE_MIN(index, (int64_t)size - 1), 0);
}

static bool span_holds(const struct kern_op *op, uint32_t d, uint32_t vector, const struct span *span)
{
    const uint32_t size = op->tensors[0].sizes[d];
    for (uint32_t o = 0; o < op->tensors[1].sizes[d]; o++) {
        const struct resample_tap tap = resample_tap(op, d, o);
        const int64_t at = (int64_t)(o / vector) * span->step + span->begin + span->inputs[o % vector];
        const int64_t first = inside(at, size), next = inside(at + 1, size);
        if (tap.i0 != first ||
            (first != next && (tap.w != span->weights[o % vector] || (tap.w != 0 && tap.i1 != next))))
            return false;
    }
    return true;
}

/* From the vectors in the line's middle, which do not end at the edge; all others must have the same pattern. */
static void find_span(const struct kern_op *op, uint32_t d, uint32_t vector, struct span *out)
{
    const uint32_t middle = op->tensors[1].sizes[d] / vector / 2;
    struct span span = { 0 };
    if (middle < 1)
        return;
    const int64_t first = resample_tap(op, d, middle * vector).i0;
    span.step = (int)(first - resample_tap(op, d, (middle - 1) * vector).i0);
    span.begin = (int)(first - (int64_t)middle * span.step);
    for (uint32_t e = 0; e < vector; e++) {
        const struct resample_tap tap = resample_tap(op, d, middle * vector + e);
        const int64_t input = tap.i0 - first;
        if (input < 0 || input + (tap.w != 0) >= RESAMPLE_SPAN_MAX)
            return;
        span.inputs[e] = (uint32_t)input;
        span.weights[e] = tap.w;
        span.count = BASE_MAX(span.count, (uint32_t)input + 1 + (tap.w != 0));
    }
    if (span_holds(op, d, vector, &span))
        *out = span;
}

/* ---- layout ---- */

/* One of the leading dimensions in which the result is contiguous. */
static uint32_t channel_of(const struct kern_view *y)
{
    for (uint32_t d = 0; d + 2 < y->rank; d++)
        if (y->sizes[d] > 1 && y->strides[d] == 1)
            return d;
    return UINT32_MAX;
}

static void choose_layout(const struct kern_op *op, struct two *out)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[1];
    const uint32_t columns = y->sizes[y->rank - 1], channel = channel_of(y);
    const uint32_t channels = channel == UINT32_MAX ? 0 : y->sizes[channel];
    const bool dense = channels && y->strides[y->rank - 1] == channels && columns <= INT32_MAX / channels;
    out->layout = RESAMPLE_COLUMNS;
    out->channel = UINT32_MAX;
    out->line = columns;
    if (channels && x->strides[channel] == 1 && (channels >= out->vector || !dense)) {
        out->layout = RESAMPLE_CHANNELS;
        out->channel = channel;
        out->line = channels;
    } else if (dense) {
        out->layout = RESAMPLE_PIXELS;
        out->channel = channel;
        out->line = columns * channels;
    }
}

static struct two two_of(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[1];
    const uint32_t bytes = BASE_MAX(kern_type_bytes(x->type), kern_type_bytes(y->type));
    struct two two = { .vector = is_nearest(op) ? 16 / bytes : bytes == 2 ? RESULTS : RESULTS / 2 };
    choose_layout(op, &two);
    if (is_nearest(op))
        two.factor = factor_of(op, y->rank - 1);
    else if (two.layout == RESAMPLE_COLUMNS)
        find_span(op, y->rank - 1, two.vector, &two.span);
    return two;
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

const char *shader_resample_two_unsupported(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[1];
    if (resample_uses_table(op) ||
        (is_nearest(op) ? x->type != y->type || !kern_type_bytes(x->type) : !is_float(x->type) || !is_float(y->type)))
        return "no shader for this mode or data type";
    if (!shader_specializes(op, kern_view_elements(y)))
        return "too few elements for this shader";
    if (x->rank < 2 || x->rank != y->rank)
        return "no shader for this rank";
    for (uint32_t d = 0; d + 2 < x->rank; d++)
        if (!stays(op, d))
            return "no shader for this number of dimensions";
    return shader_block_unsupported(op);
}

/* ---- dispatch ---- */

/* The tables' words: two for each row, then for each column; possibly one more before it for alignment. */
static uint32_t table_words(const struct kern_op *op)
{
    const struct kern_view *y = &op->tensors[1];
    return 1 + 2 * (y->sizes[y->rank - 2] + y->sizes[y->rank - 1]);
}

static struct resample_two_params params_of(const struct kern_op *op, const struct two *two)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[1];
    const uint32_t rank = y->rank, rows = y->sizes[rank - 2], columns = y->sizes[rank - 1];
    struct resample_two_params params = { .line = two->line,
                                          .x_row = (int)x->strides[rank - 2],
                                          .x_column = (int)x->strides[rank - 1],
                                          .x_last = (int)x->sizes[rank - 1] - 1,
                                          .y_row = (int)y->strides[rank - 2],
                                          .y_column = (int)y->strides[rank - 1],
                                          .span_begin = two->span.begin,
                                          .span_step = two->span.step,
                                          .by_vectors = shader_divisor((two->line + two->vector - 1) / two->vector),
                                          .by_columns = shader_divisor(columns),
                                          .by_rows = shader_divisor(rows) };
    params.rows_table =
        (uint32_t)base_align_up(sizeof(struct shader_header) + sizeof(params) + 2 * sizeof(struct shader_view), 8);
    params.columns_table = params.rows_table + 8 * rows;
    if (two->channel != UINT32_MAX) {
        params.x_channel = (int)x->strides[two->channel];
        params.by_channels = shader_divisor(y->sizes[two->channel]);
    }
    for (uint32_t d = rank - 2; d-- > 0;) {
        if (d == two->channel)
            continue;
        params.x_outer[params.outer] = (int)x->strides[d];
        params.y_outer[params.outer] = (int)y->strides[d];
        params.by_outer[params.outer++] = shader_divisor(y->sizes[d]);
    }
    return params;
}

static uint64_t units_of(const struct kern_op *op, const struct two *two)
{
    return kern_view_elements(&op->tensors[1]) / two->line * ((two->line + two->vector - 1) / two->vector);
}

void shader_resample_two_plan(const struct kern_op *op, struct shader_work *out)
{
    const struct two two = two_of(op);
    struct shader_dispatch *dispatch = shader_add(out, SHADER_resample_two, op, units_of(op, &two), SHADER_GROUP_SIZE,
                                                  sizeof(struct resample_two_params));
    uint32_t *constants = dispatch->constants;
    shader_specialize(op, kern_view_elements(&op->tensors[1]), dispatch);
    constants[2] = two.layout;
    constants[3] = is_nearest(op);
    constants[4] = two.vector;
    constants[5] = two.factor;
    constants[6] = two.span.count;
    dispatch->constant_count = 7;
    if (two.span.count) {
        for (uint32_t e = 0; e < two.vector; e++)
            constants[7] |= two.span.inputs[e] << 4 * e;
        memcpy(&constants[8], two.span.weights, sizeof(two.span.weights));
        dispatch->constant_count = 8 + RESULTS;
    }
    dispatch->parameter_words += table_words(op);
}

void shader_resample_two_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                               uint32_t *words)
{
    const struct two two = two_of(op);
    const struct resample_two_params params = params_of(op, &two);
    uint32_t *word = words + params.rows_table / 4;
    (void)index; /* there is one */
    for (uint32_t d = op->tensors[1].rank - 2; d < op->tensors[1].rank; d++)
        for (uint32_t i = 0; i < op->tensors[1].sizes[d]; i++) {
            const struct resample_tap tap = resample_tap(op, d, i);
            *word++ = (uint32_t)tap.i0 | (tap.i1 > tap.i0 ? UINT32_C(1) << 31 : 0);
            memcpy(word++, &tap.w, sizeof(tap.w));
        }
    shader_block_write(op, places, units_of(op, &two), &params, sizeof(params), words);
}
