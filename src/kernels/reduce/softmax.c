/* Softmax, log-softmax and hardmax of FLOAT32 and FLOAT16. */
#include "kernels/reduce/reduction.h"
#include "kernels/core/stream.h"

#include <math.h>

bool kern_softmax_float_accepts(const struct kern_op *op)
{
    DML_TENSOR_DATA_TYPE to = op->tensors[1].type;
    return kern_reductions_accept(op) && op->tensors[0].rank == op->tensors[1].rank && op->input_count == 1 &&
           !op->epilogue && kern_type_bytes(to) &&
           (op->u.softmax.mode != KERN_SOFTMAX_HARD || to == DML_TENSOR_DATA_TYPE_FLOAT32 ||
            to == DML_TENSOR_DATA_TYPE_FLOAT16 || to == ANYDML_TENSOR_DATA_TYPE_BFLOAT16);
}

void kern_softmax_float_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    kern_reductions_plan(op, op->u.softmax.axes, 0, out);
}

/* Short dense rows need no second exponential: the powers stay in the cache. */
static void softmax_row(const struct kern_reductions *groups, uint64_t group)
{
    const struct kern_op *op = groups->call->op;
    bool x_half = op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT16;
    uint32_t length = (uint32_t)groups->inner.count;
    const void *x = kern_at(groups->call->data[0], op->tensors[0].type, kern_iterator_offset(&groups->outer, 0, group));
    double top = groups->isa->row(KERN_STAT_MAX, x, x_half, length, 0, NULL);
    double sum = groups->isa->exponentials(groups->scratch->block, x, x_half, length, (float)top,
                                           kern_reductions_ahead(groups, group + 1, 0));
    float factor = (float)(1 / sum);
    const struct kern_reduction_finish f = {
        .end = KERN_REDUCTION_SCALED,
        .x = groups->scratch->block,
        .y =
            (void *)kern_at(groups->call->data[1], op->tensors[1].type, kern_iterator_offset(&groups->outer, 1, group)),
        .y_half = op->tensors[1].type == DML_TENSOR_DATA_TYPE_FLOAT16,
        .stream = groups->stream,
        .a = { &factor, KERN_REDUCTION_ONE },
        .b = { &factor, KERN_REDUCTION_ONE },
    };
    groups->isa->finish(&f, length);
}

static void softmax_tile(const struct kern_reductions *groups, uint64_t first, uint32_t width)
{
    const struct kern_reduction_scratch *scratch = groups->scratch;
    bool logarithm = groups->call->op->u.softmax.mode == KERN_SOFTMAX_LOG;
    if (groups->columns) {
        kern_reductions_powers(groups, first, width, scratch->a, scratch->sum);
    } else {
        kern_reductions_stat(groups, KERN_STAT_MAX, first, width, NULL, scratch->sum);
        for (uint32_t i = 0; i < width; i++)
            scratch->a[i] = (float)scratch->sum[i];
        kern_reductions_stat(groups, KERN_STAT_EXP, first, width, scratch->a, scratch->sum);
    }
    for (uint32_t i = 0; i < width; i++)
        scratch->b[i] = (float)(logarithm ? log(scratch->sum[i]) : 1 / scratch->sum[i]);
    kern_reductions_finish_tile(groups, logarithm ? KERN_REDUCTION_LESS : KERN_REDUCTION_POWERS, false, false, first,
                                width);
}

/* ones[i] = index i is the position ? 1 : 0, as elements of Y. */
static void write_one(DML_TENSOR_DATA_TYPE type, void *ones, uint32_t i, bool one)
{
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32)
        ((float *)ones)[i] = one;
    else
        ((uint16_t *)ones)[i] = !one ? 0 : type == DML_TENSOR_DATA_TYPE_FLOAT16 ? 0x3c00 : 0x3f80;
}

/* One row of zeros but for a one; in the caches only if they keep it. */
static void hardmax_row(const struct kern_reductions *groups, uint64_t group, uint32_t position)
{
    DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[1].type;
    const uint32_t bytes = kern_type_bytes(type);
    char *y = (char *)groups->call->data[1] + kern_iterator_offset(&groups->outer, 1, group) * bytes;
    float *ones = groups->scratch->block;
    for (uint64_t at = 0; at < groups->inner.count; at += KERN_REDUCTION_BLOCK) {
        uint32_t count = (uint32_t)BASE_MIN(groups->inner.count - at, KERN_REDUCTION_BLOCK);
        bool here = position >= at && position - at < count;
        int64_t stride;
        if (here)
            write_one(type, ones, (uint32_t)(position - at), true);
        if (groups->stream && kern_iterator_linear(&groups->inner, 1, at, count, &stride) && stride == 1)
            kern_stream(y + kern_iterator_offset(&groups->inner, 1, at) * bytes, ones, (uint64_t)count * bytes);
        else
            kern_iterator_store(&groups->inner, 1, type, y, at, count, ones);
        if (here)
            write_one(type, ones, (uint32_t)(position - at), false);
    }
}

static void hardmax_columns(const struct kern_reductions *groups, uint64_t first, uint32_t width)
{
    DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[1].type;
    int64_t offset = kern_iterator_offset(&groups->outer, 1, first);
    int64_t stride = groups->outer.strides[1][groups->outer.rank - 1];
    float *ones = groups->scratch->block;
    for (uint64_t i = 0; i < groups->inner.count; i++) {
        void *y = (void *)kern_at(groups->call->data[1], type, offset + kern_iterator_offset(&groups->inner, 1, i));
        for (uint32_t j = 0; j < width; j++)
            write_one(type, ones, j, groups->scratch->position[j] == i);
        kern_copy_row(kern_type_bytes(type), y, stride, ones, 1, width);
    }
}

static void hardmax_tile(const struct kern_reductions *groups, uint64_t first, uint32_t width)
{
    kern_reductions_position(groups, true, false, first, width, groups->scratch->position);
    if (groups->columns) {
        hardmax_columns(groups, first, width);
        return;
    }
    memset(groups->scratch->block, 0, groups->scratch->block_length * sizeof(*groups->scratch->block));
    for (uint32_t i = 0; i < width; i++)
        hardmax_row(groups, first + i, groups->scratch->position[i]);
}

void kern_softmax_run(const struct kern_call *call, const struct kern_reduction_isa *isa, uint64_t begin, uint64_t end)
{
    struct kern_reductions groups;
    bool hard = call->op->u.softmax.mode == KERN_SOFTMAX_HARD;
    kern_reductions_init(&groups, call, isa, call->op->u.softmax.axes, hard);
    bool short_rows = groups.direct && !groups.columns && groups.inner.rank == 1 &&
                      groups.inner.count <= KERN_REDUCTION_BLOCK && call->op->u.softmax.mode == KERN_SOFTMAX_PLAIN;
    for (uint32_t width; begin < end; begin += width) {
        width = short_rows ? 1 : kern_reductions_width(&groups, begin, end);
        if (hard)
            hardmax_tile(&groups, begin, width);
        else if (short_rows)
            softmax_row(&groups, begin);
        else
            softmax_tile(&groups, begin, width);
    }
    isa->stream_end();
    if (hard)
        kern_stream_end();
}
