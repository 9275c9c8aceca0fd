/* Finding what is not zero, in two steps that each run in parallel over blocks of X in element order: one counts, the
 * other starts from the sum of the counts before its block and writes coordinates. */
#include "kernels/dense.h"
#include "kernels/number.h"

enum { CHUNK = 512 };

bool kern_nonzero_any_accepts(const struct kern_op *op)
{
    const struct kern_nonzero *nonzero = &op->u.nonzero;
    const struct kern_view *x = &op->tensors[0], *list = &op->tensors[op->input_count + 1];
    if (op->epilogue || !kern_type_bytes(x->type) || !nonzero->block ||
        op->tensors[1].type != DML_TENSOR_DATA_TYPE_UINT32)
        return false;
    return !nonzero->write ||
           (op->tensors[2].type == DML_TENSOR_DATA_TYPE_UINT32 && list->type == DML_TENSOR_DATA_TYPE_UINT32 &&
            list->rank == 2 && list->sizes[1] <= x->rank && list->sizes[0] >= kern_view_elements(x));
}

void kern_nonzero_any_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    (void)state;
    (void)threads;
    uint64_t elements = kern_view_elements(&op->tensors[0]), block = op->u.nonzero.block;
    *out = (struct kern_work){ .units = (elements + block - 1) / block, .grain = dense_grain(block) };
}

/* A walk over X in element order, in pieces of rows. */
struct scan {
    const struct kern_view *x;
    const void *data;
    uint64_t left;
    uint32_t at[KERN_RANK_MAX];
};

static struct scan scan_begin(const struct kern_call *call, uint64_t first, uint64_t count)
{
    struct scan scan = { .x = &call->op->tensors[0], .data = call->data[0], .left = count };
    kern_unflatten(first, scan.x->rank, scan.x->sizes, scan.at);
    return scan;
}

#define FLAGS(type, mask)                                                                                              \
    for (uint32_t i = 0; i < count; i++)                                                                               \
        out[i] = (((const type *)from)[(int64_t)i * stride] & (type)(mask)) != 0;

/* The sign of a floating-point zero does not count. */
DENSE_INLINE void find_flags(DML_TENSOR_DATA_TYPE type, const void *from, int64_t stride, uint32_t count, uint8_t *out)
{
    bool is_float = dense_is_float(type);
    switch (kern_type_bytes(type)) {
    case 1:
        FLAGS(uint8_t, UINT8_MAX)
        break;
    case 2:
        FLAGS(uint16_t, is_float ? INT16_MAX : UINT16_MAX)
        break;
    case 4:
        FLAGS(uint32_t, is_float ? INT32_MAX : UINT32_MAX)
        break;
    default:
        FLAGS(uint64_t, is_float ? INT64_MAX : UINT64_MAX)
        break;
    }
}

/* Flags of the next elements, all of one row; returns how many, 0 at the end. scan->at is the first one's index until
 * scan_next. */
static uint32_t scan_flags(const struct scan *scan, uint8_t *out)
{
    const struct kern_view *x = scan->x;
    uint32_t last = x->rank - 1;
    uint32_t count = (uint32_t)BASE_MIN(BASE_MIN(scan->left, CHUNK), x->sizes[last] - scan->at[last]);
    const void *from = kern_at(scan->data, x->type, kern_offset(x, scan->at));
    if (x->strides[last] == 1)
        find_flags(x->type, from, 1, count, out);
    else
        find_flags(x->type, from, x->strides[last], count, out);
    return count;
}

static void scan_next(struct scan *scan, uint32_t count)
{
    const struct kern_view *x = scan->x;
    uint32_t last = x->rank - 1;
    scan->left -= count;
    scan->at[last] += count;
    if (scan->at[last] < x->sizes[last])
        return;
    scan->at[last] = 0;
    kern_advance(last, x->sizes, scan->at);
}

static uint32_t count_range(const struct kern_call *call, uint64_t first, uint64_t count)
{
    struct scan scan = scan_begin(call, first, count);
    uint8_t flags[CHUNK];
    uint32_t total = 0;
    for (uint32_t n; scan.left; scan_next(&scan, n)) {
        n = scan_flags(&scan, flags);
        for (uint32_t i = 0; i < n; i++)
            total += flags[i];
    }
    return total;
}

/* Coordinates [x.rank - N, x.rank) of the found elements of one row, into rows `row`.. of the list. */
static void write_found(const struct kern_call *call, const struct scan *scan, const uint32_t *found, uint32_t count,
                        uint64_t row)
{
    const struct kern_view *list = &call->op->tensors[3];
    uint32_t columns = list->sizes[1], skipped = scan->x->rank - columns;
    for (uint32_t c = 0; c < columns; c++) {
        uint32_t *to = (uint32_t *)call->data[3] + (int64_t)row * list->strides[0] + (int64_t)c * list->strides[1];
        if (c + 1 < columns)
            for (uint32_t i = 0; i < count; i++)
                to[(int64_t)i * list->strides[0]] = scan->at[skipped + c];
        else
            for (uint32_t i = 0; i < count; i++)
                to[(int64_t)i * list->strides[0]] = found[i];
    }
}

static uint64_t write_range(const struct kern_call *call, uint64_t first, uint64_t count, uint64_t row)
{
    struct scan scan = scan_begin(call, first, count);
    const uint32_t last = scan.x->rank - 1;
    uint8_t flags[CHUNK];
    uint32_t found[CHUNK];
    for (uint32_t n; scan.left; scan_next(&scan, n)) {
        uint32_t hits = 0;
        n = scan_flags(&scan, flags);
        for (uint32_t i = 0; i < n; i++) { /* no branch: where zeros are is not predictable */
            found[hits] = scan.at[last] + i;
            hits += flags[i];
        }
        write_found(call, &scan, found, hits, row);
        row += hits;
    }
    return row;
}

void kern_nonzero_any_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_nonzero *nonzero = &call->op->u.nonzero;
    const struct kern_view *counts = &call->op->tensors[1];
    uint64_t elements = kern_view_elements(&call->op->tensors[0]), first = begin * nonzero->block, row = 0;
    uint64_t count = BASE_MIN(end * nonzero->block, elements) - first;
    uint32_t *blocks = call->data[1];
    if (!nonzero->write) {
        for (uint64_t b = begin; b < end; b++)
            blocks[(int64_t)b * counts->strides[0]] =
                count_range(call, b * nonzero->block, BASE_MIN(elements - b * nonzero->block, nonzero->block));
        return;
    }
    for (uint64_t b = 0; b < begin; b++)
        row += blocks[(int64_t)b * counts->strides[0]];
    row = write_range(call, first, count, row);
    if (first + count == elements)
        *(uint32_t *)call->data[2] = (uint32_t)row;
}

/* The definition. */
bool kern_nonzero_any_ref_accepts(const struct kern_op *op)
{
    return kern_nonzero_any_accepts(op);
}

void kern_nonzero_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    (void)op;
    (void)state;
    (void)threads;
    *out = (struct kern_work){ .units = 1, .grain = 1 };
}

static bool is_zero(struct kern_number number)
{
    return number.class == KERN_CLASS_FLOAT ? number.f == 0 : number.u == 0;
}

void kern_nonzero_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *x = &call->op->tensors[0], *list = &call->op->tensors[3];
    uint32_t at[KERN_RANK_MAX] = { 0 }, *counts = call->data[1], row = 0;
    uint64_t elements = kern_view_elements(x), block = call->op->u.nonzero.block;
    bool write = call->op->u.nonzero.write;
    for (uint64_t i = 0; begin < end && i < elements; i++, kern_advance(x->rank, x->sizes, at)) {
        uint32_t *count = counts + (int64_t)(i / block) * call->op->tensors[1].strides[0];
        if (!write && i % block == 0)
            *count = 0;
        if (is_zero(kern_read(x->type, call->data[0], kern_offset(x, at))))
            continue;
        if (!write)
            ++*count;
        for (uint32_t c = 0; write && c < list->sizes[1]; c++)
            ((uint32_t *)call->data[3])[row * list->strides[0] + c * list->strides[1]] =
                at[x->rank - list->sizes[1] + c];
        row++;
    }
    if (write)
        *(uint32_t *)call->data[2] = row;
}
