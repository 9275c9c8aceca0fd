/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/core/number.h"
#include "kernels/gemm/qgemm_bytes.h"
#include "kernels/row/row.h"

/* A dense tensor [panels, groups, ...] of this many elements for each group. */
static bool fits(const struct kern_view *view, const struct qgemm_shape *shape, uint64_t each)
{
    return view->rank >= 3 && view->sizes[0] == shape->panels && view->sizes[1] == shape->groups &&
           kern_view_packed(view) && kern_view_elements(view) == each * shape->panels * shape->groups;
}

static bool operands_fit(const struct kern_op *op, const struct qgemm_shape *s)
{
    const struct kern_view *codes = &op->tensors[1], *scales = &op->tensors[2], *zeros = &op->tensors[3];
    if ((!s->nibbles && codes->type != DML_TENSOR_DATA_TYPE_INT8) ||
        !fits(codes, s, (uint64_t)s->depth * KERN_QGEMM_COLUMNS) || !fits(scales, s, KERN_QGEMM_COLUMNS))
        return false;
    if (scales->type != DML_TENSOR_DATA_TYPE_FLOAT32 && scales->type != DML_TENSOR_DATA_TYPE_FLOAT16)
        return false;
    return !op->u.qgemm.has_zero || (zeros->type == DML_TENSOR_DATA_TYPE_INT8 && fits(zeros, s, KERN_QGEMM_COLUMNS));
}

bool qgemm_shape_init(const struct kern_op *op, struct qgemm_shape *out)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[op->input_count];
    uint32_t last = y->rank - 1, inputs = 3 + op->u.qgemm.has_zero;
    uint64_t rows = dense_rows(y);
    *out = (struct qgemm_shape){ .k = x->sizes[x->rank - 1], .n = y->sizes[last], .block = op->u.qgemm.block };
    if (x->rank != y->rank || op->input_count < inputs || !out->block || out->block > out->k || rows > UINT32_MAX)
        return false;
    for (uint32_t d = 0; d < last; d++)
        if (x->sizes[d] != y->sizes[d])
            return false;
    out->rows = (uint32_t)rows;
    out->panels = (out->n + KERN_QGEMM_COLUMNS - 1) / KERN_QGEMM_COLUMNS;
    out->groups = (out->k + out->block - 1) / out->block;
    out->depth = (uint32_t)base_align_up(out->block, KERN_QGEMM_DEPTH);
    out->nibbles = op->tensors[1].type == DML_TENSOR_DATA_TYPE_INT4;
    out->group_bytes = (uint64_t)out->depth * KERN_QGEMM_COLUMNS / (out->nibbles ? 2 : 1);
    out->a_floats = (uint64_t)out->groups * out->depth;
    out->a = (uint64_t)BASE_MIN(out->rows, QGEMM_ROWS) * QGEMM_CHUNK * KERN_QGEMM_COLUMNS * sizeof(float);
    out->epilogue = out->a + base_align_up(out->a_floats * out->rows * sizeof(float), 64);
    out->scratch = out->epilogue + dense_epilogue_bytes(op);
    return operands_fit(op, out);
}

static bool accepts(const struct kern_op *op, uint32_t max_rows, struct qgemm_shape *out)
{
    return qgemm_shape_init(op, out) && out->rows <= max_rows && dense_is_short_float(op->tensors[0].type) &&
           dense_is_short_float(op->tensors[op->input_count].type);
}

bool kern_qgemm_many_accepts(const struct kern_op *op)
{
    return accepts(op, UINT32_MAX, &(struct qgemm_shape){ 0 });
}

bool kern_qgemm_float_accepts(const struct kern_op *op)
{
    return accepts(op, QGEMM_ROWS, &(struct qgemm_shape){ 0 });
}

void kern_qgemm_float_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct qgemm_shape shape;
    qgemm_shape_init(op, &shape);
    *out = (struct kern_work){ .units = shape.panels, .worker_scratch_bytes = shape.scratch };
    out->grain = dense_grain(shape.a_floats * KERN_QGEMM_COLUMNS * (1 + shape.rows) / 16);
}

void qgemm_many_shape_init(const struct kern_op *op, const struct qgemm_shape *shape, struct qgemm_many_shape *out)
{
    const struct kern_view *x = &op->tensors[0];
    uint32_t parts = (shape->k + QGEMM_MANY_DEPTH - 1) / QGEMM_MANY_DEPTH;
    *out = (struct qgemm_many_shape){ .blocks = (shape->rows - 1) / QGEMM_MANY_ROWS + 1 };
    out->block_rows = (shape->rows - 1) / out->blocks + 1;
    out->units = (shape->panels + QGEMM_MANY_PANELS - 1) / QGEMM_MANY_PANELS;
    out->depth = (uint32_t)base_align_up((shape->k + parts - 1) / parts, 8);
    out->direct = x->type == DML_TENSOR_DATA_TYPE_FLOAT32 && (shape->k == 1 || x->strides[x->rank - 1] == 1);
    const uint64_t row = QGEMM_MANY_PANELS * KERN_QGEMM_COLUMNS * sizeof(float);
    out->part = base_align_up(out->block_rows * sizeof(void *), 64);
    out->sums = out->part + QGEMM_MANY_PART * row;
    out->epilogue = out->sums + out->block_rows * row;
    out->a = base_align_up(out->epilogue + dense_epilogue_bytes(op), 64);
    out->bytes = out->a + (out->direct ? 0 : (uint64_t)out->block_rows * shape->k * sizeof(float));
}

void kern_qgemm_many_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct qgemm_shape shape;
    struct qgemm_many_shape many;
    qgemm_shape_init(op, &shape);
    qgemm_many_shape_init(op, &shape, &many);
    *out = (struct kern_work){ .units = (uint64_t)many.blocks * many.units, .worker_scratch_bytes = many.bytes };
    out->grain = dense_grain((uint64_t)shape.k * many.block_rows * QGEMM_MANY_PANELS);
}

#if defined(__x86_64__)
bool kern_qgemm_vnni_accepts(const struct kern_op *op)
{
    struct qgemm_shape shape;
    return accepts(op, QGEMM_FEW, &shape) && shape.block <= QGEMM_SLICES_BLOCK;
}

void kern_qgemm_vnni_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct qgemm_shape shape;
    kern_qgemm_float_plan(op, threads, out);
    qgemm_shape_init(op, &shape);
    out->worker_scratch_bytes += qgemm_slices_bytes(&shape);
}

void qgemm_amx_shape_init(const struct kern_op *op, const struct qgemm_shape *shape, struct qgemm_amx_shape *out)
{
    enum { A_BYTES = 1 << 20, TILE_ROWS = 32, TILE_DEPTH = 32 };
    *out = (struct qgemm_amx_shape){ .depth = (uint32_t)base_align_up(shape->a_floats, TILE_DEPTH) };
    const uint64_t fit = A_BYTES / (out->depth * sizeof(uint16_t)) / TILE_ROWS * TILE_ROWS;
    const uint64_t most = BASE_MIN(BASE_MAX(fit, TILE_ROWS), QGEMM_AMX_ROWS);
    out->blocks = (uint32_t)((shape->rows + most - 1) / most);
    out->block_rows = (shape->rows + out->blocks - 1) / out->blocks;
    out->units = (shape->panels + QGEMM_AMX_PANELS - 1) / QGEMM_AMX_PANELS;
    const uint64_t rows = base_align_up(out->block_rows, TILE_ROWS);
    out->step = (out->depth / TILE_DEPTH | 1) * TILE_DEPTH;
    out->a = dense_take(&out->bytes, rows * out->step * sizeof(uint16_t), 64);
    out->part = dense_take(&out->bytes, QGEMM_AMX_DEPTH * QGEMM_AMX_PANELS * KERN_QGEMM_COLUMNS * sizeof(uint16_t), 64);
    out->sums = dense_take(&out->bytes, rows * QGEMM_AMX_PANELS * KERN_QGEMM_COLUMNS * sizeof(float), 64);
    out->line = dense_take(&out->bytes, out->depth * sizeof(float), 64);
    out->epilogue = dense_take(&out->bytes, dense_epilogue_bytes(op), 64);
}

bool kern_qgemm_amx_accepts(const struct kern_op *op)
{
    /* Rounding both factors to BFLOAT16 costs no more than rounding X to 8 bits of each group's largest element. */
    const bool bytes = op->flags & KERN_FLAG_BYTES;
    struct qgemm_shape shape;
    return accepts(op, UINT32_MAX, &shape) && (bytes || dense_half_allowed(op)) &&
           shape.rows >= (bytes ? QGEMM_AMX_BYTES : QGEMM_AMX_LEAST) && shape.a_floats <= INT32_MAX;
}

void kern_qgemm_amx_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct qgemm_shape shape;
    struct qgemm_amx_shape amx;
    qgemm_shape_init(op, &shape);
    qgemm_amx_shape_init(op, &shape, &amx);
    *out = (struct kern_work){ .units = (uint64_t)amx.blocks * amx.units, .worker_scratch_bytes = amx.bytes };
    out->grain = dense_grain((uint64_t)shape.k * amx.block_rows * QGEMM_AMX_PANELS);
}

/* The number of columns of a unit, so that threads have about the same work; and, if there are few, the number of
 * rows. */
static void cut_slices(const struct qgemm_shape *shape, uint32_t threads, struct qgemm_slices_shape *out)
{
    const uint32_t sets = (shape->n - 1) / QGEMM_SLICES_COLUMNS + 1;
    uint32_t least = UINT32_MAX;
    for (uint32_t wide = QGEMM_SLICES_WIDE; wide > 0; wide--) {
        const uint32_t units = (sets + wide - 1) / wide, most = (units + threads - 1) / threads * wide;
        if (most < least) {
            least = most;
            out->wide = wide;
        }
    }
    out->columns = out->wide * QGEMM_SLICES_COLUMNS;
    out->units = (sets + out->wide - 1) / out->wide;
    const uint32_t tiles = (out->block_rows + 31) / 32,
                   parts = BASE_MIN((threads + out->units - 1) / out->units, tiles);
    out->part_rows = (tiles + parts - 1) / parts * 32;
    out->parts = (out->block_rows + out->part_rows - 1) / out->part_rows;
}

void qgemm_slices_shape_init(const struct kern_op *op, const struct qgemm_shape *shape, uint32_t threads,
                             struct qgemm_slices_shape *out)
{
    enum { TILE_ROWS = 32, TILE_DEPTH = 32, SLICES = 3, RUNS = QGEMM_SLICES_DEPTH / TILE_DEPTH };
    *out = (struct qgemm_slices_shape){ .group = (uint32_t)base_align_up(shape->block, TILE_DEPTH) };
    out->depth = shape->groups * out->group;
    out->row_tile = (uint64_t)SLICES * TILE_ROWS / 2 * out->depth;
    out->blocks = (shape->rows - 1) / QGEMM_SLICES_ROWS + 1;
    out->block_rows = (shape->rows - 1) / out->blocks + 1;
    cut_slices(shape, BASE_MAX(threads, 1), out);
    const uint64_t rows = base_align_up(out->block_rows, TILE_ROWS);
    out->a = dense_take(&out->bytes, rows * SLICES * out->depth * sizeof(uint16_t), 64);
    out->factors = dense_take(&out->bytes, rows * sizeof(float), 64);
    out->worker = out->bytes;
    out->part = dense_take(&out->worker_bytes, QGEMM_SLICES_DEPTH * (uint64_t)out->columns * sizeof(uint16_t), 64);
    out->tiles = dense_take(&out->worker_bytes, RUNS * TILE_ROWS * TILE_ROWS * sizeof(float), 64);
    out->scales = dense_take(&out->worker_bytes, RUNS * (uint64_t)out->columns * sizeof(float), 64);
    out->sums = dense_take(&out->worker_bytes, out->part_rows * (uint64_t)out->columns * sizeof(float), 64);
    out->line = dense_take(&out->worker_bytes, out->depth * sizeof(float), 64);
    out->epilogue = dense_take(&out->worker_bytes, dense_epilogue_bytes(op), 64);
    out->bytes += out->worker_bytes * BASE_MAX(threads, 1);
}

bool kern_qgemm_slices_amx_accepts(const struct kern_op *op)
{
    struct qgemm_shape shape;
    return accepts(op, UINT32_MAX, &shape) && shape.rows >= QGEMM_SLICES_LEAST &&
           shape.groups * base_align_up(shape.block, 32) <= INT32_MAX / 2;
}

void kern_qgemm_slices_amx_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct qgemm_shape shape;
    struct qgemm_slices_shape slices;
    qgemm_shape_init(op, &shape);
    qgemm_slices_shape_init(op, &shape, threads, &slices);
    *out = (struct kern_work){ .units = 1, .grain = 1, .scratch_bytes = slices.bytes };
}

void qgemm_bytes_shape_init(const struct kern_op *op, const struct qgemm_shape *shape, struct qgemm_bytes_shape *out)
{
    enum {
        FEW = 8,
        SLACK = 64
    }; /* rows for which codes are read in place; bytes that whole vectors read beyond a row's end */
    *out = (struct qgemm_bytes_shape){ .row = shape->groups * (sizeof(struct qgemm_bytes_group) + shape->depth) };
    const uint64_t fit = BASE_MAX(QGEMM_BYTES_A / out->row / FEW * FEW, FEW);
    out->blocks = (shape->rows - 1) / (uint32_t)BASE_MIN(fit, QGEMM_BYTES_ROWS) + 1;
    out->block_rows = (shape->rows - 1) / out->blocks + 1;
    out->units = (shape->panels - 1) / QGEMM_BYTES_PANELS + 1;
    if (out->block_rows > FEW && shape->depth <= QGEMM_BYTES_DEPTH)
        out->groups = QGEMM_BYTES_DEPTH / shape->depth;
    const uint64_t unit = (uint64_t)out->block_rows * QGEMM_BYTES_COLUMNS * sizeof(float);
    out->chunk = (uint32_t)BASE_MIN(BASE_MAX(QGEMM_BYTES_SUMS / unit, 1), out->units);
    out->a = dense_take(&out->bytes, out->block_rows * out->row + SLACK, 64);
    out->part = dense_take(&out->bytes, (uint64_t)out->groups * shape->depth * QGEMM_BYTES_COLUMNS, 64);
    out->sums = dense_take(&out->bytes, out->chunk * unit, 64);
    out->line = dense_take(&out->bytes, base_align_up(shape->depth, 16) * sizeof(float), 64);
    out->epilogue = dense_take(&out->bytes, dense_epilogue_bytes(op), 64);
}

bool kern_qgemm_bytes_accepts(const struct kern_op *op)
{
    struct qgemm_shape shape;
    return (op->flags & KERN_FLAG_BYTES) && accepts(op, UINT32_MAX, &shape) && shape.block <= QGEMM_BYTES_BLOCK;
}

void kern_qgemm_bytes_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct qgemm_shape shape;
    struct qgemm_bytes_shape bytes;
    qgemm_shape_init(op, &shape);
    qgemm_bytes_shape_init(op, &shape, &bytes);
    *out = (struct kern_work){ .units = (uint64_t)bytes.blocks * bytes.units, .worker_scratch_bytes = bytes.bytes };
    out->grain = dense_grain(shape.a_floats * QGEMM_BYTES_COLUMNS * (1 + bytes.block_rows) / 32);
}
#endif

/* ---- the definition, in double ---- */

bool kern_qgemm_any_ref_accepts(const struct kern_op *op)
{
    return qgemm_shape_init(op, &(struct qgemm_shape){ 0 }) && dense_is_float(op->tensors[0].type) &&
           dense_is_float(op->tensors[op->input_count].type);
}

void kern_qgemm_any_ref_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct qgemm_shape shape;
    qgemm_shape_init(op, &shape);
    *out = (struct kern_work){ .units = (uint64_t)shape.rows * shape.panels, .grain = 1 };
}

/* Row `row` of a group, one code for each column. */
static void load_codes(const struct kern_call *call, const struct qgemm_shape *s, uint64_t group, uint32_t row,
                       double *out)
{
    const uint32_t word = s->nibbles ? 8 : 4;
    uint64_t first = group * s->depth * KERN_QGEMM_COLUMNS + (uint64_t)(row / word) * word * KERN_QGEMM_COLUMNS;
    for (uint32_t c = 0; c < KERN_QGEMM_COLUMNS; c++)
        out[c] = kern_read_double(call->op->tensors[1].type, call->data[1], (int64_t)first + c * word + row % word);
}

static void add_group(const struct kern_call *call, const struct qgemm_shape *s, uint64_t panel, uint32_t g,
                      int64_t x_at, double *sums)
{
    const struct kern_view *x = &call->op->tensors[0];
    uint64_t group = panel * s->groups + g;
    double codes[KERN_QGEMM_COLUMNS], scales[KERN_QGEMM_COLUMNS], zeros[KERN_QGEMM_COLUMNS] = { 0 };
    for (uint32_t c = 0; c < KERN_QGEMM_COLUMNS; c++) {
        int64_t at = (int64_t)group * KERN_QGEMM_COLUMNS + c;
        scales[c] = dense_load(call->data[2], at, call->op->tensors[2].type);
        if (call->op->u.qgemm.has_zero)
            zeros[c] = ((const int8_t *)call->data[3])[at];
    }
    for (uint32_t row = 0; row < s->block && g * s->block + row < s->k; row++) {
        int64_t step = s->k > 1 ? x->strides[x->rank - 1] : 0;
        double value = dense_load(call->data[0], x_at + (int64_t)(g * s->block + row) * step, x->type);
        load_codes(call, s, group, row, codes);
        for (uint32_t c = 0; c < KERN_QGEMM_COLUMNS; c++)
            sums[c] += value * ((codes[c] - zeros[c]) * scales[c]);
    }
}

void kern_qgemm_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *x = &call->op->tensors[0], *y = &call->op->tensors[call->op->input_count];
    uint32_t at[KERN_RANK_MAX], last = y->rank - 1;
    struct qgemm_shape s;
    qgemm_shape_init(call->op, &s);
    for (uint64_t unit = begin; unit < end; unit++) {
        double sums[KERN_QGEMM_COLUMNS] = { 0 };
        uint64_t panel = unit % s.panels;
        dense_row_at(y, unit / s.panels, at);
        int64_t x_at = dense_offset(x, at, last);
        for (uint32_t g = 0; g < s.groups; g++)
            add_group(call, &s, panel, g, x_at, sums);
        at[last] = (uint32_t)panel * KERN_QGEMM_COLUMNS;
        dense_finish(call, at, BASE_MIN(s.n - at[last], KERN_QGEMM_COLUMNS), sums);
    }
}
