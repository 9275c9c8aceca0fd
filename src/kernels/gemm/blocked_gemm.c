/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm/blocked_gemm.h"
#include "kernels/gemm/gemm.h"
#include "kernels/row/row.h"

/* ---- packing ---- */

#define ROW_PART 256 /* elements on the way to BFLOAT16 */

static int32_t row_bytes(const struct blocked_gemm_isa *isa, const struct blocked_gemm_line *from, uint32_t count,
                         uint8_t flip, uint8_t *out)
{
    const uint8_t *restrict in = (const uint8_t *)from->data + from->index;
    if (from->step == 1)
        return isa->integers->row(in, count, flip, out);
    for (uint32_t i = 0; i < count; i++)
        out[i] = in[(int64_t)i * from->step];
    return isa->integers->row(out, count, flip, out);
}

static int32_t row_words(const struct blocked_gemm_isa *isa, const struct blocked_gemm_line *from, uint32_t count,
                         int16_t *out)
{
    const uint8_t *restrict in = (const uint8_t *)from->data + from->index;
    bool is_signed = from->type == DML_TENSOR_DATA_TYPE_INT8;
    int32_t sum = 0;
    if (from->step == 1)
        return isa->integers->words(in, count, is_signed, out);
    for (uint32_t i = 0; is_signed && i < count; i++)
        out[i] = (int8_t)in[(int64_t)i * from->step];
    for (uint32_t i = 0; !is_signed && i < count; i++)
        out[i] = in[(int64_t)i * from->step];
    for (uint32_t i = 0; i < count; i++)
        sum += out[i];
    return sum;
}

void blocked_gemm_load(const struct blocked_gemm_isa *isa, const struct blocked_gemm_line *from, uint64_t count,
                       void *packs)
{
    if (isa->pack_bytes == sizeof(float)) {
        dense_load_row(from->data, from->index, from->step, from->type, (uint32_t)count, packs);
        return;
    }
    double *out = packs;
    for (uint64_t i = 0; i < count; i++)
        out[i] = dense_load(from->data, from->index + (int64_t)i * from->step, from->type);
}

/* BFLOAT16, zeros behind the last. */
static void row_halves(const struct blocked_gemm_isa *isa, const struct blocked_gemm_line *from, uint32_t count,
                       uint32_t places, uint16_t *out)
{
    float floats[ROW_PART];
    memset(out + count, 0, (places - count) * sizeof(*out));
    if ((uint32_t)from->type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16) {
        const uint16_t *restrict in = (const uint16_t *)from->data + from->index;
        for (uint32_t i = 0; i < count; i++)
            out[i] = in[(int64_t)i * from->step];
        return;
    }
    for (uint32_t i = 0; i < count; i += ROW_PART) {
        const uint32_t part = BASE_MIN(count - i, ROW_PART);
        const float *in = (const float *)from->data + from->index + i;
        if (from->type != DML_TENSOR_DATA_TYPE_FLOAT32 || from->step != 1) {
            dense_load_row(from->data, from->index + (int64_t)i * from->step, from->step, from->type, part, floats);
            in = floats;
        }
        isa->round(in, part, out + i);
    }
}

/* Limited by the packs in `rows`. */
static void some_halves(const struct blocked_gemm_isa *isa, const struct blocked_gemm_rows *from, uint32_t lines,
                        uint32_t width, uint16_t *packs)
{
    uint16_t rows[4][BLOCKED_GEMM_COLUMNS_MAX];
    struct blocked_gemm_line line = from->line;
    for (uint32_t i = 0; i < isa->k_pack; i++, line.index += from->row)
        row_halves(isa, &line, i < lines ? (uint32_t)from->count : 0, width, rows[i]);
    for (uint32_t c = 0; isa->k_pack == 2 && c < width; c++) {
        packs[2 * c] = rows[0][c];
        packs[2 * c + 1] = rows[1][c];
    }
    for (uint32_t c = 0; isa->k_pack == 4 && c < width; c++)
        for (uint32_t i = 0; i < 4; i++)
            packs[4 * c + i] = rows[i][c];
}

void blocked_gemm_halves(const struct blocked_gemm_isa *isa, const struct blocked_gemm_rows *from, uint32_t lines,
                         uint64_t width, void *packs)
{
    enum { PART = BLOCKED_GEMM_COLUMNS_MAX };
    for (uint64_t first = 0; first < width; first += PART) {
        struct blocked_gemm_rows part = *from;
        part.line.index += (int64_t)first * from->line.step;
        part.count = first < from->count ? BASE_MIN(from->count - first, PART) : 0;
        some_halves(isa, &part, lines, (uint32_t)BASE_MIN(width - first, PART),
                    (uint16_t *)packs + first * isa->k_pack);
    }
}

int32_t blocked_gemm_row(const struct blocked_gemm_isa *isa, const struct blocked_gemm_line *from, uint32_t count,
                         bool right, void *packs)
{
    uint32_t places = (uint32_t)blocked_gemm_packs(isa, count) * isa->k_pack;
    if (isa->round) {
        row_halves(isa, from, count, places, packs);
        return 0;
    }
    if (!isa->integers) {
        blocked_gemm_load(isa, from, count, packs);
        return 0;
    }
    if (blocked_gemm_of_bytes(isa)) {
        memset((uint8_t *)packs + count, 0, places - count);
        return row_bytes(isa, from, count, blocked_gemm_flip(isa, from->type, right), packs);
    }
    memset((int16_t *)packs + count, 0, (places - count) * sizeof(int16_t));
    return row_words(isa, from, count, packs);
}

uint64_t blocked_gemm_pack_of(const struct blocked_gemm_isa *isa, int32_t value, DML_TENSOR_DATA_TYPE type,
                              uint32_t count)
{
    uint64_t word = 0;
    uint32_t bits = blocked_gemm_of_bytes(isa) ? 8 : 16;
    uint32_t place = ((uint32_t)value ^ blocked_gemm_flip(isa, type, true)) & ((1u << bits) - 1);
    for (uint32_t i = 0; isa->integers && i < count; i++)
        word |= (uint64_t)place << (i * bits);
    return word;
}

#define ONES 256

void blocked_gemm_column_sums(const struct blocked_gemm_isa *isa, const void *panel, uint64_t packs, int32_t *sums)
{
    uint32_t ones[ONES * BLOCKED_GEMM_PACK_MAX / sizeof(uint32_t)]; /* packs */
    int32_t part[BLOCKED_GEMM_COLUMNS_MAX];
    const uint32_t one = blocked_gemm_of_bytes(isa) ? 0x01010101 : 0x00010001;
    memset(sums, 0, isa->columns * sizeof(*sums));
    for (uint32_t i = 0; i < BASE_MIN(packs, ONES) * isa->pack_bytes / sizeof(*ones); i++)
        ones[i] = one;
    for (uint64_t first = 0; first < packs; first += ONES) {
        uint64_t count = BASE_MIN(packs - first, ONES);
        isa->tile(&(struct blocked_gemm_tile){ ones, (const char *)panel + first * isa->columns * isa->pack_bytes, part,
                                               count, 1, isa->columns, isa->columns, .row_packs = count });
        for (uint32_t c = 0; c < isa->columns; c++)
            sums[c] += part[c];
    }
}

enum { FETCHING_TILES = 8 }; /* the fewest that have time for it */

/* All rows with a part of a panel, of which `next` is prefetched meanwhile, if it is not NULL. */
static void multiply_panel(const struct blocked_gemm_isa *isa, const struct blocked_gemm_tile *panel, const char *next)
{
    const uint32_t tiles = (panel->rows + isa->rows - 1) / isa->rows;
    const uint64_t bytes = next && tiles >= FETCHING_TILES ? panel->packs * isa->columns * isa->pack_bytes : 0;
    struct blocked_gemm_tile tile = *panel;
    for (uint32_t i = 0; i < tiles; i++) {
        const uint32_t row = i * isa->rows;
        for (uint64_t at = base_align_up(bytes * i / tiles, 64); at < bytes * (i + 1) / tiles; at += 64)
            __builtin_prefetch(next + at);
        tile.a = (const char *)panel->a + row * panel->row_packs * isa->pack_bytes;
        tile.sums = (int32_t *)panel->sums + (uint64_t)row * panel->step;
        tile.rows = BASE_MIN(panel->rows - row, isa->rows);
        tile.row_cross = panel->row_cross + row;
        isa->tile(&tile);
    }
}

void blocked_gemm_multiply(const struct blocked_gemm_isa *isa, const struct blocked_gemm_tile *block,
                           uint64_t panel_bytes, uint64_t cross_bytes)
{
    const uint64_t parts = BASE_MAX((block->packs + isa->deep - 1) / isa->deep, 1);
    const uint64_t depth = base_align_up((block->packs + parts - 1) / parts, 2);
    struct blocked_gemm_tile panel = *block;
    panel.row_packs = block->packs;
    for (uint64_t first = 0; first == 0 || first < block->packs; first += depth) {
        const char *b = (const char *)block->b + first * isa->columns * isa->pack_bytes;
        panel.a = (const char *)block->a + first * isa->pack_bytes;
        panel.packs = BASE_MIN(block->packs - first, depth);
        panel.add = first > 0;
        for (uint32_t c = 0; c < block->columns; c += isa->columns) {
            const uint64_t at = c / isa->columns;
            panel.b = b + at * panel_bytes;
            panel.sums = (int32_t *)block->sums + c;
            panel.columns = BASE_MIN(block->columns - c, isa->columns);
            panel.column_cross = (const int32_t *)((const char *)block->column_cross + at * cross_bytes);
            multiply_panel(isa, &panel, c + isa->columns < block->columns ? b + (at + 1) * panel_bytes : NULL);
        }
    }
}

/* ---- the epilogue ---- */

static int64_t last_step(const struct kern_view *view)
{
    return view->sizes[view->rank - 1] > 1 ? view->strides[view->rank - 1] : 0;
}

void blocked_gemm_end_init(const struct kern_call *call, void *scratch, void *floats, struct blocked_gemm_end *out)
{
    const struct kern_requantize *how = &out->requantize;
    *out = (struct blocked_gemm_end){ .call = call, .scratch = scratch, .floats = floats };
    out->requantizes = kern_epilogue_requantize(call->op, &out->requantize) && how->low >= -128 && how->high <= 255;
}

/* Sums of numbers of any type that FLOAT32 loads, or one number broadcast to all columns. */
static bool step_fits(const struct kern_view *view)
{
    const int64_t step = last_step(view);
    return step == 0 || (step == 1 && dense_is_short_float(view->type));
}

/* The epilogue of a GEMM as steps that blocked_gemm_isa.finish supports: tensors that are contiguous or broadcast. */
static bool blocked_gemm_steps(const struct kern_op *op, struct kern_epilogue *out)
{
    enum { OPERAND = KERN_EPILOGUE_NUMBER | KERN_EPILOGUE_TENSOR };
    static const struct kern_epilogue_support support = { 8,
                                                          { [KERN_MAP_ADD] = OPERAND,
                                                            [KERN_MAP_MUL] = OPERAND,
                                                            [KERN_MAP_DIV] = OPERAND,
                                                            [KERN_MAP_MIN] = KERN_EPILOGUE_NUMBER,
                                                            [KERN_MAP_MAX] = KERN_EPILOGUE_NUMBER,
                                                            [KERN_MAP_MIN_NAN] = KERN_EPILOGUE_NUMBER,
                                                            [KERN_MAP_MAX_NAN] = KERN_EPILOGUE_NUMBER,
                                                            [KERN_MAP_RINT] = KERN_EPILOGUE_VALUE,
                                                            [KERN_MAP_CLAMP] = KERN_EPILOGUE_VALUE,
                                                            [KERN_MAP_CLAMP_NAN] = KERN_EPILOGUE_VALUE,
                                                            [KERN_MAP_RELU] = KERN_EPILOGUE_VALUE,
                                                            [KERN_MAP_MULADD] = KERN_EPILOGUE_VALUE,
                                                            [KERN_MAP_TANH] = KERN_EPILOGUE_VALUE,
                                                            [KERN_MAP_GELU] = KERN_EPILOGUE_VALUE,
                                                            [KERN_MAP_SWISH] =
                                                                KERN_EPILOGUE_VALUE | KERN_EPILOGUE_CUBIC,
                                                            [KERN_MAP_SQRT] = KERN_EPILOGUE_VALUE } };
    const struct kern_view *y = &op->tensors[op->input_count];
    const struct kern_gemm gemm = blocked_gemm_of(op);
    if (!kern_epilogue_match(op, &support, out) || (y->sizes[y->rank - 1] > 1 && y->strides[y->rank - 1] != 1) ||
        (gemm.has_c && !step_fits(&op->tensors[2])))
        return false;
    for (uint32_t i = 0; i < out->count; i++)
        if (out->step[i].tensor && !step_fits(&op->tensors[out->step[i].tensor]))
            return false;
    if (!gemm.integer || !out->count)
        return !gemm.integer && dense_is_short_float(y->type);
    /* Converts to 8 bits before storing. */
    const struct kern_epilogue_step *last = &out->step[out->count - 1];
    const float low = y->type == DML_TENSOR_DATA_TYPE_INT8 ? -128 : 0, high = low + 255;
    return dense_is_short_float(y->type) || (dense_is_byte(y->type) && last->code == KERN_MAP_CLAMP && last->p >= low &&
                                             last->p <= last->q && last->q <= high);
}

/* The element that all of the tensor's are. */
static bool one_number(const struct kern_call *call, uint32_t tensor, float *out)
{
    const struct kern_view *view = &call->op->tensors[tensor];
    for (uint32_t d = 0; d < view->rank; d++)
        if (view->sizes[d] > 1 && view->strides[d])
            return false;
    *out = (float)dense_load(call->data[tensor], 0, view->type);
    return true;
}

void blocked_gemm_end_in_steps(struct blocked_gemm_end *end)
{
    const struct kern_op *op = end->call->op;
    const struct kern_view *t = op->tensors;
    struct kern_requantize how = end->requantize;
    end->in_steps = blocked_gemm_steps(op, &end->steps);
    if (!end->in_steps || end->requantizes)
        return;
    const uint32_t last = dense_is_byte(t[op->input_count].type) ? kern_epilogue_quantize_steps(&end->steps, &how) : 0;
    if (last && (!how.zero || (dense_is_byte(t[how.zero].type) && !last_step(&t[how.zero]))) &&
        (!how.divisor || (t[how.divisor].type == DML_TENSOR_DATA_TYPE_FLOAT32 && !last_step(&t[how.divisor])))) {
        end->quantizes = true;
        end->requantize = how;
        end->steps.count -= last;
    }
    for (uint32_t i = 0; i < end->steps.count; i++)
        if (end->steps.step[i].tensor && one_number(end->call, end->steps.step[i].tensor, &end->steps.step[i].p))
            end->steps.step[i].tensor = 0;
}

float blocked_gemm_divisor(const struct kern_call *call, const struct kern_requantize *how, const uint32_t *at)
{
    const struct kern_view *view = &call->op->tensors[how->divisor];
    return how->divisor ? ((const float *)call->data[how->divisor])[dense_offset(view, at, view->rank)] : 1;
}

static bool finish_bytes(const struct blocked_gemm_integers *integers, const struct blocked_gemm_end *end,
                         const uint32_t *at, uint32_t count, const int32_t *sums,
                         const struct blocked_gemm_shift *shift)
{
    const struct kern_call *call = end->call;
    const struct kern_requantize *from = &end->requantize;
    const struct kern_op *op = call->op;
    const struct kern_view *y = &op->tensors[op->input_count], *scale = &op->tensors[from->scale];
    int64_t step = last_step(scale);
    if ((y->strides[y->rank - 1] != 1 && count > 1) || (step != 0 && step != 1) ||
        (from->zero && last_step(&op->tensors[from->zero])) ||
        (from->divisor && last_step(&op->tensors[from->divisor])))
        return false;
    struct blocked_gemm_requantize how = { .scale_step = (uint32_t)step, .low = from->low, .high = from->high };
    how.scale = (const float *)call->data[from->scale] + dense_offset(scale, at, scale->rank);
    how.divisor = blocked_gemm_divisor(call, from, at);
    if (from->zero)
        how.zero = (float)gemm_zero(call, true, from->zero, at);
    integers->requantize(sums, count, shift, &how,
                         (uint8_t *)call->data[op->input_count] + dense_offset(y, at, y->rank));
    return true;
}

void blocked_gemm_finish_integers(const struct blocked_gemm_integers *integers, const struct blocked_gemm_end *end,
                                  const uint32_t *at, uint32_t count, int32_t *sums,
                                  const struct blocked_gemm_shift *shift)
{
    const struct kern_op *op = end->call->op;
    const struct kern_view *y = &op->tensors[op->input_count];
    if (end->requantizes && finish_bytes(integers, end, at, count, sums, shift))
        return;
    if (op->epilogue) {
        integers->unshift(sums, count, shift, sums);
        for (uint32_t i = 0; i < count; i++)
            end->floats[i] = (float)sums[i];
        dense_finish_f32(end->call, end->scratch, at, count, end->floats);
        return;
    }
    int32_t *to = (int32_t *)end->call->data[op->input_count] + dense_offset(y, at, y->rank);
    int64_t step = y->strides[y->rank - 1];
    integers->unshift(sums, count, shift, step == 1 ? to : sums);
    for (uint32_t i = 0; step != 1 && i < count; i++)
        to[i * step] = sums[i];
}

void blocked_gemm_finish(const struct blocked_gemm_isa *isa, const struct blocked_gemm_end *end, const uint32_t *at,
                         uint32_t count, void *sums, const struct blocked_gemm_shift *shift)
{
    if (end->in_steps && !end->requantizes)
        isa->finish(end, at, count, sums, isa->integers ? shift : NULL);
    else if (isa->integers)
        blocked_gemm_finish_integers(isa->integers, end, at, count, sums, shift);
    else if (blocked_gemm_sum_bytes(isa) == sizeof(double))
        dense_finish(end->call, at, count, sums);
    else
        dense_finish_f32(end->call, end->scratch, at, count, sums);
}

const struct blocked_gemm_isa *blocked_gemm_isa_for(const struct kern_op *op, const struct blocked_gemm_isa *f32,
                                                    const struct blocked_gemm_isa *f64)
{
    return op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT64 ? f64 : f32;
}

bool blocked_gemm_types_fit(const struct kern_op *op, bool integer, bool third)
{
    DML_TENSOR_DATA_TYPE type = op->tensors[op->input_count].type;
    if (!dense_epilogue_fits(op))
        return false;
    if (!integer)
        return dense_short_floats(op) || (dense_is_float(type) && dense_same_type(op, 0, third ? 2 : 1, type));
    return dense_is_byte(op->tensors[0].type) && dense_is_byte(op->tensors[1].type) &&
           (op->epilogue ? kern_type_bytes(type) != 0 : type == DML_TENSOR_DATA_TYPE_INT32);
}

/* ---- kernels ---- */

enum { BF16_ROWS = 16, BF16_FEW = 6, AMX_ROWS_PACKED = 7, AMX_ROWS_PLAIN = 32 };

const struct blocked_gemm_isa *blocked_gemm_widest(const struct kern_op *op)
{
    static const struct blocked_gemm_isa f32 = {
        BLOCKED_GEMM_ROWS_MAX, BLOCKED_GEMM_COLUMNS_MAX, 1, 4, NULL, NULL, NULL, false
    };
    static const struct blocked_gemm_isa f64 = {
        BLOCKED_GEMM_ROWS_MAX, BLOCKED_GEMM_COLUMNS_MAX, 1, 8, NULL, NULL, NULL, false
    };
    return blocked_gemm_isa_for(op, &f32, &f64);
}

bool kern_gemm_float_accepts(const struct kern_op *op)
{
    return !op->u.gemm.integer && kern_gemm_any_ref_accepts(op);
}

/* BFLOAT16 factors lose no precision. */
static bool halves_accept(const struct kern_op *op)
{
    return !op->u.gemm.integer && dense_short_floats(op) &&
           (dense_half_allowed(op) ||
            dense_same_type(op, 0, 1, (DML_TENSOR_DATA_TYPE)ANYDML_TENSOR_DATA_TYPE_BFLOAT16)) &&
           kern_gemm_any_ref_accepts(op);
}

/* Rows of a GEMM. */
static uint32_t height(const struct kern_op *op)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    return y->sizes[y->rank - 2];
}

/* Packing panels of B takes as long as some rows. */
bool kern_gemm_bf16_accepts(const struct kern_op *op)
{
    return halves_accept(op) && (op->packed_input == 2 || height(op) >= BF16_ROWS);
}

/* VDPBF16PS has no more throughput than FLOAT32's instruction on some CPUs, but reads half of the bytes. */
bool kern_gemm_bf16_few_accepts(const struct kern_op *op)
{
    return halves_accept(op) && op->packed_input == 2 && height(op) <= BF16_FEW;
}

bool kern_gemm_int_amx_accepts(const struct kern_op *op)
{
    return kern_gemm_int_accepts(op) && height(op) >= (op->packed_input == 2 ? AMX_ROWS_PACKED : AMX_ROWS_PLAIN);
}

bool kern_gemm_int_accepts(const struct kern_op *op)
{
    return op->u.gemm.integer && kern_gemm_any_ref_accepts(op);
}

void kern_gemm_float_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    blocked_gemm_plan(blocked_gemm_widest(op), op, out);
}
