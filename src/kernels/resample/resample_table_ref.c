/* Resampling with tables, the definition: a sum over all combinations of what each dimension takes. */
#include "kernels/resample/resample.h"

bool resample_table_accepts(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[1];
    bool small = x->type == DML_TENSOR_DATA_TYPE_INT8 || x->type == DML_TENSOR_DATA_TYPE_UINT8;
    if (op->epilogue || x->rank != y->rank || x->type != y->type)
        return false;
    return resample_uses_table(op) && (dense_is_float(x->type) || (small && !op->u.resample.transposed));
}

void resample_table_ref_plan(const struct kern_op *op, struct kern_work *out)
{
    const struct kern_view *y = &op->tensors[1];
    *out = (struct kern_work){ .units = dense_rows(y), .grain = dense_grain(64 * (uint64_t)y->sizes[y->rank - 1]) };
    for (uint32_t d = 0; d < y->rank; d++)
        out->worker_scratch_bytes += resample_table_bytes(op, d);
}

static double summed(const struct kern_call *call, struct resample_iterator *iterator, const uint32_t *at)
{
    const struct kern_view *x = &call->op->tensors[0];
    double sum = 0;
    if (!resample_iterator_begin(iterator, at))
        return 0;
    do {
        double weight = 1;
        int64_t from = 0;
        for (uint32_t d = 0; d < x->rank; d++) {
            weight *= (double)resample_iterator_weight(iterator, d);
            from += (int64_t)(iterator->lists[d]->first + iterator->entry[d]) * x->strides[d];
        }
        sum += weight * dense_load(call->data[0], from, x->type);
    } while (resample_iterator_next(iterator));
    return sum;
}

void resample_table_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *y = &call->op->tensors[1];
    struct resample_table tables[KERN_RANK_MAX];
    struct resample_iterator iterator = { .dims = y->rank };
    char *memory = call->worker_scratch;
    for (uint32_t d = 0; d < y->rank; d++) {
        resample_table_init(call->op, d, memory, &tables[d]);
        memory += resample_table_bytes(call->op, d);
        iterator.tables[d] = &tables[d];
    }
    for (uint64_t row = begin; row < end; row++) {
        uint32_t at[KERN_RANK_MAX];
        dense_row_at(y, row, at);
        for (; at[y->rank - 1] < y->sizes[y->rank - 1]; at[y->rank - 1]++)
            dense_store(call->data[1], dense_offset(y, at, y->rank), y->type, summed(call, &iterator, at));
    }
}
