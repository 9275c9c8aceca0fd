/* Bit copies between views. The output is walked in the order of its memory; where the input's rows lie across, blocks
 * of rows are copied so that both sides use whole cache lines. */
#include "kernels/move/move.h"
#include "kernels/core/number.h"
#include "kernels/core/stream.h"

enum { NON_TEMPORAL_ROW_BYTES = 1024 }; /* shorter ones gain nothing from going past the caches */

void move_plan_init(struct move_plan *plan, const struct kern_op *op)
{
    const uint32_t tensors[] = { 1, 0 };
    kern_iterator_init(&plan->iterator, op, tensors, 2, UINT32_MAX, 0);
    const struct kern_iterator *iterator = &plan->iterator;
    uint32_t row = iterator->rank - 1;
    plan->crossed = false;
    plan->non_temporal = kern_streams(&op->tensors[1]);
    plan->units = iterator->count;
    for (uint32_t d = 0; d < row; d++)
        if (iterator->strides[1][d] == 1 && iterator->strides[1][row] != 1 && iterator->strides[1][row] != 0) {
            plan->crossed = iterator->sizes[d] >= 4 && kern_type_bytes(op->tensors[0].type);
            plan->across = d;
        }
    if (!plan->crossed)
        return;
    plan->strip = MOVE_STRIP_BYTES / kern_type_bytes(op->tensors[0].type);
    plan->strips = (iterator->sizes[plan->across] + plan->strip - 1) / plan->strip;
    plan->units = iterator->count / iterator->sizes[row] / iterator->sizes[plan->across] * plan->strips;
}

bool kern_move_any_accepts(const struct kern_op *op)
{
    return kern_type_bytes(op->tensors[0].type) == kern_type_bytes(op->tensors[1].type) &&
           op->tensors[0].rank == op->tensors[1].rank;
}

void kern_move_any_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct move_plan plan;
    move_plan_init(&plan, op);
    *out = (struct kern_work){ .units = plan.units, .grain = 65536 };
    if (plan.crossed)
        out->grain = BASE_MAX(1, 65536 / plan.strip / plan.iterator.sizes[plan.iterator.rank - 1]);
    if (!kern_type_bytes(op->tensors[1].type))
        out->grain = out->units; /* neighbours share bytes */
}

static void copy_rows(const struct kern_call *call, const struct move_plan *plan, uint64_t begin, uint64_t end)
{
    const struct kern_iterator *iterator = &plan->iterator;
    uint32_t bytes = kern_type_bytes(call->op->tensors[0].type), row = iterator->rank - 1;
    bool non_temporal =
        plan->non_temporal && iterator->strides[0][row] == 1 && iterator->sizes[row] * bytes >= NON_TEMPORAL_ROW_BYTES;
    struct kern_cursor cursor;
    kern_cursor_seek(iterator, begin, &cursor);
    while (begin < end) {
        uint64_t n = BASE_MIN(iterator->sizes[row] - cursor.index[row], end - begin);
        char *to = (char *)call->data[1] + cursor.offset[0] * bytes;
        const char *from = (const char *)call->data[0] + cursor.offset[1] * bytes;
        if (non_temporal)
            kern_stream_row(bytes, to, from, iterator->strides[1][row], n);
        else
            kern_copy_row(bytes, to, iterator->strides[0][row], from, iterator->strides[1][row], n);
        kern_cursor_next_row(iterator, &cursor);
        begin += n;
    }
    if (non_temporal)
        kern_stream_end();
}

static void copy_nibbles(const struct kern_call *call, const struct move_plan *plan, uint64_t begin, uint64_t end)
{
    DML_TENSOR_DATA_TYPE type = call->op->tensors[0].type;
    uint8_t buffer[256];
    while (begin < end) {
        uint64_t n = BASE_MIN(end - begin, sizeof(buffer));
        kern_iterator_load(&plan->iterator, 1, type, call->data[0], begin, n, buffer);
        kern_iterator_store(&plan->iterator, 0, type, call->data[1], begin, n, buffer);
        begin += n;
    }
}

void move_block_copy(uint32_t bytes, const struct move_block *block)
{
    for (uint64_t i = 0; i < block->length; i += 16) {
        uint64_t n = BASE_MIN(16, block->length - i);
        const char *from = block->in + (int64_t)i * block->in_stride * bytes;
        char *to = block->out + (int64_t)i * block->row_stride * bytes;
        if (n < 4)
            for (uint64_t k = 0; k < n; k++)
                kern_copy_row(bytes, to + (int64_t)k * block->row_stride * bytes, block->out_stride,
                              from + (int64_t)k * block->in_stride * bytes, 1, block->width);
        else
            for (uint64_t j = 0; j < block->width; j++)
                kern_copy_row(bytes, to + (int64_t)j * block->out_stride * bytes, block->row_stride, from + j * bytes,
                              block->in_stride, n);
    }
}

struct move_block move_block_at(const struct kern_call *call, const struct move_plan *plan, uint64_t unit)
{
    const struct kern_iterator *iterator = &plan->iterator;
    uint32_t bytes = kern_type_bytes(call->op->tensors[0].type), row = iterator->rank - 1;
    uint64_t outer = unit / plan->strips, first = unit % plan->strips * plan->strip;
    int64_t offset[2] = { 0, 0 };
    for (uint32_t d = row; d-- > 0;) {
        uint64_t index = d == plan->across ? first : outer % iterator->sizes[d];
        outer /= d == plan->across ? 1 : iterator->sizes[d];
        offset[0] += (int64_t)index * iterator->strides[0][d];
        offset[1] += (int64_t)index * iterator->strides[1][d];
    }
    return (struct move_block){
        .out = (char *)call->data[1] + offset[0] * bytes,
        .in = (const char *)call->data[0] + offset[1] * bytes,
        .out_stride = iterator->strides[0][plan->across],
        .row_stride = iterator->strides[0][row],
        .in_stride = iterator->strides[1][row],
        .width = BASE_MIN(plan->strip, iterator->sizes[plan->across] - first),
        .length = iterator->sizes[row],
    };
}

static void copy_crossed(const struct kern_call *call, const struct move_plan *plan, uint64_t begin, uint64_t end)
{
    for (uint64_t unit = begin; unit < end; unit++) {
        struct move_block block = move_block_at(call, plan, unit);
        move_block_copy(kern_type_bytes(call->op->tensors[0].type), &block);
    }
}

void kern_move_any_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct move_plan plan;
    move_plan_init(&plan, call->op);
    if (plan.crossed)
        copy_crossed(call, &plan, begin, end);
    else if (kern_type_bytes(call->op->tensors[0].type))
        copy_rows(call, &plan, begin, end);
    else
        copy_nibbles(call, &plan, begin, end);
}

/* The definition. */
bool kern_move_any_ref_accepts(const struct kern_op *op)
{
    return kern_move_any_accepts(op);
}

void kern_move_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    uint64_t elements = kern_view_elements(&op->tensors[1]);
    *out = (struct kern_work){ .units = elements, .grain = kern_type_bytes(op->tensors[1].type) ? 4096 : elements };
}

void kern_move_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    /* As unsigned integers: floating-point NaNs keep their bits. */
    static const DML_TENSOR_DATA_TYPE types[] = { DML_TENSOR_DATA_TYPE_UINT4,   DML_TENSOR_DATA_TYPE_UINT8,
                                                  DML_TENSOR_DATA_TYPE_UINT16,  DML_TENSOR_DATA_TYPE_UNKNOWN,
                                                  DML_TENSOR_DATA_TYPE_UINT32,  DML_TENSOR_DATA_TYPE_UNKNOWN,
                                                  DML_TENSOR_DATA_TYPE_UNKNOWN, DML_TENSOR_DATA_TYPE_UNKNOWN,
                                                  DML_TENSOR_DATA_TYPE_UINT64 };
    const struct kern_view *x = &call->op->tensors[0], *y = &call->op->tensors[1];
    DML_TENSOR_DATA_TYPE type = types[kern_type_bytes(x->type)];
    uint32_t index[KERN_RANK_MAX];
    kern_unflatten(begin, y->rank, y->sizes, index);
    for (uint64_t i = begin; i < end; i++) {
        kern_write(type, call->data[1], kern_offset(y, index), kern_read(type, call->data[0], kern_offset(x, index)));
        kern_advance(y->rank, y->sizes, index);
    }
}
