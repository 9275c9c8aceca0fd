/* SPDX-License-Identifier: Apache-2.0 */
/* Running sums of many lines: line by line in blocks if lines are dense, otherwise in parallel for a tile of lines. The
 * reference: one element after another. */
#include "kernels/core/dense.h"
#include "kernels/sort/sort.h"

/* Sums, and the elements. One more number precedes the sums: exclusive ones start with it. */
struct scan_scratch {
    _Alignas(64) uint64_t before[8];
    uint64_t sums[KERN_SCAN_BLOCK];
    uint64_t x[KERN_SCAN_BLOCK];
    float single[KERN_SCAN_BLOCK];
    uint64_t raw[KERN_SCAN_BLOCK];
};

struct scan_run {
    const struct kern_call *call;
    const struct kern_op *op;
    const struct kern_scan_isa *isa;
    struct kern_iterator lines; /* views: Y, X, init */
    enum kern_scan_number number;
    DML_TENSOR_DATA_TYPE type; /* of the sums */
    struct scan_scratch *scratch;
};

enum { LINE_Y, LINE_X, LINE_INIT };

bool kern_scan_any_ref_accepts(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[op->input_count];
    const struct kern_scan *scan = &op->u.scan;
    if (op->epilogue || op->input_count != 1u + scan->has_init || x->rank != y->rank || scan->axis >= x->rank)
        return false;
    for (uint32_t t = 1; t < op->input_count + op->output_count; t++)
        if ((kern_type_class(op->tensors[t].type) == KERN_CLASS_FLOAT) !=
            (kern_type_class(x->type) == KERN_CLASS_FLOAT))
            return false;
    return y->sizes[scan->axis] == (scan->total ? 1 : x->sizes[scan->axis]) && kern_type_bytes(y->type);
}

bool kern_scan_any_accepts(const struct kern_op *op)
{
    DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    for (uint32_t t = 1; t < op->input_count + op->output_count; t++)
        if (dense_is_float(type) ? !dense_is_float(op->tensors[t].type) : op->tensors[t].type != type)
            return false;
    return kern_scan_any_ref_accepts(op) && kern_type_bytes(type) >= (dense_is_float(type) ? 2 : 4);
}

static void lines_init(struct kern_iterator *lines, const struct kern_op *op)
{
    const uint32_t tensors[] = { op->input_count, 0, 1 };
    kern_iterator_init(lines, op, tensors, 2 + op->u.scan.has_init, ~(UINT32_C(1) << op->u.scan.axis), 0);
}

/* Short lines do not gain from vectors along them. */
static bool in_columns(const struct kern_op *op, const struct kern_iterator *lines)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[op->input_count];
    uint32_t axis = op->u.scan.axis;
    bool dense = x->strides[axis] == 1 && (y->strides[axis] == 1 || op->u.scan.total) && x->sizes[axis] >= 64;
    return lines->sizes[lines->rank - 1] >= 8 && !dense;
}

void kern_scan_any_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct kern_iterator lines;
    lines_init(&lines, op);
    *out = (struct kern_work){ .units = lines.count, .worker_scratch_bytes = sizeof(struct scan_scratch) };
    out->grain = BASE_MAX(1, 32768 / op->tensors[0].sizes[op->u.scan.axis]);
    if (in_columns(op, &lines))
        out->grain = BASE_MAX(out->grain, KERN_SCAN_TILE / 2);
}

/* Elements of a tensor as numbers. */
static void load(const struct scan_run *run, uint32_t tensor, int64_t offset, int64_t stride, uint32_t count, void *out)
{
    DML_TENSOR_DATA_TYPE type = run->op->tensors[tensor].type;
    uint32_t bytes = kern_type_bytes(type);
    const void *from = (const char *)run->call->data[tensor] + offset * bytes;
    if (stride != 1) {
        kern_copy_row(bytes, run->scratch->raw, 1, from, stride, count);
        from = run->scratch->raw;
    }
    if (type == DML_TENSOR_DATA_TYPE_FLOAT16 || type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16) {
        kern_convert(run->isa->map, DML_TENSOR_DATA_TYPE_FLOAT32, run->scratch->single, type, from, count);
        type = DML_TENSOR_DATA_TYPE_FLOAT32;
        from = run->scratch->single;
    }
    kern_convert(run->isa->map, run->type, out, type, from, count);
}

static void store(const struct scan_run *run, int64_t offset, int64_t stride, uint32_t count, const void *sums)
{
    uint32_t tensor = run->op->input_count;
    DML_TENSOR_DATA_TYPE type = run->op->tensors[tensor].type, from = run->type;
    uint32_t bytes = kern_type_bytes(type);
    char *to = (char *)run->call->data[tensor] + offset * bytes;
    if (type == DML_TENSOR_DATA_TYPE_FLOAT16) {
        kern_convert(run->isa->map, DML_TENSOR_DATA_TYPE_FLOAT32, run->scratch->single, from, sums, count);
        from = DML_TENSOR_DATA_TYPE_FLOAT32;
        sums = run->scratch->single;
    }
    if (stride == 1) {
        kern_convert(run->isa->map, type, to, from, sums, count);
        return;
    }
    kern_convert(run->isa->map, type, run->scratch->raw, from, sums, count);
    kern_copy_row(bytes, to, stride, run->scratch->raw, 1, count);
}

static uint32_t sum_bytes(const struct scan_run *run)
{
    return run->number == KERN_SCAN_U32 ? 4 : 8;
}

/* The initial sums of `width` lines from `line` on. */
static void begin_sums(const struct scan_run *run, uint64_t line, uint32_t width, void *out)
{
    const double real = run->op->u.scan.product;
    const uint64_t integer = run->op->u.scan.product; /* including its low bytes */
    const void *one = run->number == KERN_SCAN_F64 ? (const void *)&real : &integer;
    if (run->op->u.scan.has_init)
        load(run, 1, kern_iterator_offset(&run->lines, LINE_INIT, line),
             run->lines.strides[LINE_INIT][run->lines.rank - 1], width, out);
    else
        kern_copy_row(sum_bytes(run), out, 1, one, 0, width);
}

static void scan_line(const struct scan_run *run, uint64_t line)
{
    const struct kern_scan *scan = &run->op->u.scan;
    const struct kern_view *x = &run->op->tensors[0], *y = &run->op->tensors[run->op->input_count];
    int64_t from = kern_iterator_offset(&run->lines, LINE_X, line),
            to = kern_iterator_offset(&run->lines, LINE_Y, line);
    uint32_t bytes = sum_bytes(run), length = x->sizes[scan->axis];
    char *sums = (char *)run->scratch->sums;
    uint64_t carry;
    begin_sums(run, line, 1, &carry);
    for (uint32_t at = 0, count; at < length; at += count) {
        count = BASE_MIN(length - at, KERN_SCAN_BLOCK);
        load(run, 0, from + at * x->strides[scan->axis], x->strides[scan->axis], count, sums);
        if (scan->total) {
            run->isa->fold[run->number][scan->product](sums, count, &carry);
            continue;
        }
        memcpy(sums - bytes, &carry, bytes);
        run->isa->row[run->number][scan->product](sums, count, &carry);
        store(run, to + at * y->strides[scan->axis], y->strides[scan->axis], count,
              scan->exclusive ? sums - bytes : sums);
    }
    if (scan->total)
        store(run, to, 1, 1, &carry);
}

/* Whether lines of sums are dense, of one type that is read and written in place. */
static bool is_direct(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[op->input_count];
    const uint32_t axis = op->u.scan.axis;
    return !op->u.scan.product && !op->u.scan.total && x->type == y->type && x->strides[axis] == 1 &&
           y->strides[axis] == 1 &&
           (x->type == DML_TENSOR_DATA_TYPE_FLOAT32 || x->type == DML_TENSOR_DATA_TYPE_FLOAT16);
}

static void scan_direct(const struct scan_run *run, uint64_t line)
{
    const struct kern_op *op = run->op;
    const DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    const int64_t bytes = kern_type_bytes(type);
    double carry;
    begin_sums(run, line, 1, &carry);
    run->isa->line((const char *)run->call->data[0] + kern_iterator_offset(&run->lines, LINE_X, line) * bytes,
                   (char *)run->call->data[op->input_count] + kern_iterator_offset(&run->lines, LINE_Y, line) * bytes,
                   type == DML_TENSOR_DATA_TYPE_FLOAT16, op->u.scan.exclusive,
                   kern_streams(&op->tensors[op->input_count]), op->tensors[0].sizes[op->u.scan.axis], &carry);
}

static void scan_tile(const struct scan_run *run, uint64_t line, uint32_t width)
{
    const struct kern_scan *scan = &run->op->u.scan;
    const struct kern_view *x = &run->op->tensors[0], *y = &run->op->tensors[run->op->input_count];
    int64_t from = kern_iterator_offset(&run->lines, LINE_X, line),
            to = kern_iterator_offset(&run->lines, LINE_Y, line);
    int64_t from_step = run->lines.strides[LINE_X][run->lines.rank - 1];
    int64_t to_step = run->lines.strides[LINE_Y][run->lines.rank - 1];
    void *sums = run->scratch->sums;
    begin_sums(run, line, width, sums);
    for (uint32_t i = 0; i < x->sizes[scan->axis]; i++) {
        load(run, 0, from + i * x->strides[scan->axis], from_step, width, run->scratch->x);
        if (scan->exclusive && !scan->total)
            store(run, to + i * y->strides[scan->axis], to_step, width, sums);
        run->isa->column[run->number][scan->product](sums, run->scratch->x, width);
        if (!scan->exclusive && !scan->total)
            store(run, to + i * y->strides[scan->axis], to_step, width, sums);
    }
    if (scan->total)
        store(run, to, to_step, width, sums);
}

void kern_scan_run(const struct kern_call *call, const struct kern_scan_isa *isa, uint64_t begin, uint64_t end)
{
    const struct kern_op *op = call->op;
    DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    struct scan_run run = { .call = call, .op = op, .isa = isa, .scratch = call->worker_scratch };
    run.number = dense_is_float(type) ? KERN_SCAN_F64 : kern_type_bytes(type) == 4 ? KERN_SCAN_U32 : KERN_SCAN_U64;
    run.type = dense_is_float(type) ? DML_TENSOR_DATA_TYPE_FLOAT64 : type;
    lines_init(&run.lines, op);
    bool columns = in_columns(op, &run.lines), direct = !columns && is_direct(op);
    for (uint32_t width = 1; begin < end; begin += width) {
        if (direct)
            scan_direct(&run, begin);
        else if (!columns)
            scan_line(&run, begin);
        if (!columns)
            continue;
        width = (uint32_t)BASE_MIN(BASE_MIN(end - begin, KERN_SCAN_TILE), kern_iterator_row_left(&run.lines, begin));
        scan_tile(&run, begin, width);
    }
    if (direct)
        kern_stream_end();
}

/* ---- the reference ---- */

void kern_scan_any_ref_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    uint32_t length = op->tensors[0].sizes[op->u.scan.axis];
    *out = (struct kern_work){ .units = kern_view_elements(&op->tensors[0]) / length,
                               .grain = BASE_MAX(1, 8192 / length) };
}

static void ref_line(const struct kern_call *call, uint32_t *index)
{
    const struct kern_op *op = call->op;
    const struct kern_scan *scan = &op->u.scan;
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[op->input_count];
    void *out = call->data[op->input_count];
    struct kern_number sum = kern_from_double(scan->product);
    if (kern_type_class(x->type) != KERN_CLASS_FLOAT)
        sum = kern_from_integer(scan->product);
    if (scan->has_init)
        sum = kern_read(op->tensors[1].type, call->data[1], kern_offset(&op->tensors[1], index));
    int64_t from = kern_offset(x, index), to = kern_offset(y, index);
    for (uint32_t i = 0; i < x->sizes[scan->axis]; i++) {
        const struct kern_number value = kern_read(x->type, call->data[0], from + i * x->strides[scan->axis]);
        const struct kern_number next = (scan->product ? kern_number_product : kern_number_sum)(sum, value);
        if (!scan->total)
            kern_write(y->type, out, to + i * y->strides[scan->axis], scan->exclusive ? sum : next);
        sum = next;
    }
    if (scan->total)
        kern_write(y->type, out, to, sum);
}

void kern_scan_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *x = &call->op->tensors[0];
    uint32_t outer[KERN_RANK_MAX], inner[KERN_RANK_MAX], index[KERN_RANK_MAX];
    kern_split_sizes(x, UINT32_C(1) << call->op->u.scan.axis, outer, inner);
    for (uint64_t line = begin; line < end; line++) {
        kern_unflatten(line, x->rank, outer, index);
        ref_line(call, index);
    }
}
