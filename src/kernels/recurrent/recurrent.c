/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of RNN, GRU and LSTM: accept functions and plans of the fast kernels, and the reference: one batch row of
 * one direction at a time, in double. */
#include "kernels/core/dense.h"
#include "kernels/recurrent/recurrent.h"

#include <math.h>

struct recurrent_row {
    const struct kern_call *call;
    const struct kern_recurrent *net;
    uint32_t direction, row;
    uint32_t hidden;
    uint32_t step;
    double *h, *c;
    double *gates; /* of 4 */
    double *mixed; /* the vector that R is multiplied with */
    double *rounded;
};

static bool has_sizes(const struct kern_view *view, uint32_t rank, const uint32_t *sizes)
{
    return view->rank == rank && memcmp(view->sizes, sizes, rank * sizeof(*sizes)) == 0;
}

/* An optional tensor at index `at` of the op. */
static bool optional_fits(const struct kern_op *op, uint32_t at, uint32_t rank, const uint32_t *sizes)
{
    if (!at)
        return true;
    const struct kern_view *view = &op->tensors[at];
    return at < op->input_count + op->output_count && dense_is_float(view->type) && has_sizes(view, rank, sizes);
}

/* R's integers, with a scale and perhaps a zero point for each row. */
static bool has_bytes(const struct kern_op *op)
{
    const struct kern_recurrent *net = &op->u.recurrent;
    const struct kern_view *r = &op->tensors[1], *scale = &op->tensors[net->scale], *zero = &op->tensors[net->zero];
    if ((r->type != DML_TENSOR_DATA_TYPE_INT8 && r->type != DML_TENSOR_DATA_TYPE_UINT8) || net->panels)
        return false;
    return net->scale < op->input_count && scale->type == DML_TENSOR_DATA_TYPE_FLOAT32 &&
           has_sizes(scale, 3, r->sizes) &&
           (!net->zero || (net->zero < op->input_count && zero->type == r->type && has_sizes(zero, 3, r->sizes)));
}

bool kern_recurrent_any_ref_accepts(const struct kern_op *op)
{
    static const uint32_t gates[] = { [KERN_CELL_RNN] = 1, [KERN_CELL_GRU] = 3, [KERN_CELL_LSTM] = 4 };
    const struct kern_recurrent *net = &op->u.recurrent;
    const struct kern_view *x = &op->tensors[0], *r = &op->tensors[1];
    if (op->epilogue || op->input_count < 2 || !op->output_count || x->rank != 5 || !dense_is_float(x->type) ||
        !(net->scale ? has_bytes(op) : dense_is_float(r->type)) || x->sizes[3] != gates[net->cell] || x->sizes[2] > 2)
        return false;
    const uint32_t *s = x->sizes, hidden = s[4];
    const uint32_t rows[] = { s[2], s[3], hidden, hidden };
    const uint32_t panels[] = { s[2], s[3], (hidden + KERN_RECURRENT_PANEL - 1) / KERN_RECURRENT_PANEL, hidden,
                                KERN_RECURRENT_PANEL };
    const uint32_t sequence[] = { s[0], s[2], s[1], hidden }, peepholes[] = { s[2], 3, hidden };
    const uint32_t reset[] = { s[2], hidden };
    if (net->panels ? !has_sizes(r, 5, panels) : !has_sizes(r, 4, rows))
        return false;
    if (net->lengths && (op->tensors[net->lengths].type != DML_TENSOR_DATA_TYPE_UINT32 ||
                         !has_sizes(&op->tensors[net->lengths], 1, &s[1])))
        return false;
    return optional_fits(op, net->reset_bias, 2, reset) && optional_fits(op, net->hidden, 3, sequence + 1) &&
           optional_fits(op, net->memory, 3, sequence + 1) && optional_fits(op, net->peepholes, 3, peepholes) &&
           optional_fits(op, net->sequence, 4, sequence) && optional_fits(op, net->last_hidden, 3, sequence + 1) &&
           optional_fits(op, net->last_memory, 3, sequence + 1);
}

/* All tensors but the lengths and R's integers with their parameters. */
static bool has_short_floats(const struct kern_op *op)
{
    const struct kern_recurrent *net = &op->u.recurrent;
    for (uint32_t i = 1; i < op->input_count + op->output_count; i++)
        if (i != net->lengths && !(net->scale && (i == 1 || i == net->zero)) &&
            !dense_is_short_float(op->tensors[i].type))
            return false;
    return op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT32;
}

bool kern_recurrent_f32_accepts(const struct kern_op *op)
{
    const struct kern_view *r = &op->tensors[1];
    if (!kern_recurrent_any_ref_accepts(op) || op->u.recurrent.scale || !has_short_floats(op))
        return false;
    if (op->u.recurrent.panels)
        return r->type == DML_TENSOR_DATA_TYPE_FLOAT32 && r->strides[4] == 1 &&
               (r->strides[3] == KERN_RECURRENT_PANEL || r->sizes[3] == 1);
    return r->strides[3] == 1 || r->sizes[3] == 1;
}

bool recurrent_by_team(const struct kern_op *op, uint32_t threads)
{
    const uint32_t *sizes = op->tensors[0].sizes;
    uint64_t rows = sizes[1], hidden = sizes[4], blocks = (rows + 3) / 4 * sizes[2];
    return threads > blocks && BASE_MIN(rows, RECURRENT_ROWS) * hidden * hidden * sizes[3] >= RECURRENT_TEAM_MIN;
}

void kern_recurrent_f32_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    const uint32_t *sizes = op->tensors[0].sizes;
    uint64_t rows = sizes[1], hidden = sizes[4];
    *out = (struct kern_work){ .units = rows * sizes[2] };
    /* R is read once for up to four rows in the time of one. */
    out->grain = BASE_MAX(dense_grain(sizes[0] * (hidden + 16) * hidden * sizes[3] / 8), BASE_MIN(rows, 4));
    if (recurrent_by_team(op, threads))
        out->grain = out->units;
    uint64_t parts = BASE_MIN(rows, RECURRENT_ROWS) * RECURRENT_ROW_PARTS + RECURRENT_SAME_PARTS;
    if (op->u.recurrent.scale)
        parts += BASE_MIN(rows, RECURRENT_ROWS) + RECURRENT_BYTES_PARTS;
    out->worker_scratch_bytes = parts * recurrent_width(sizes[4]) * sizeof(float);
}

/* ---- R in 8 bits ---- */

bool kern_recurrent_bytes_accepts(const struct kern_op *op)
{
    return (op->flags & KERN_FLAG_BYTES) && op->packed_input == 2 && op->u.recurrent.scale &&
           kern_recurrent_any_ref_accepts(op) && has_short_floats(op) &&
           op->tensors[1].sizes[3] <= RECURRENT_BYTES_DEPTH;
}

#if defined(__x86_64__)
/* Columns of a tile: two vectors of the kernel's. */
static uint64_t packed_bytes(const struct kern_op *op)
{
    const uint32_t *sizes = op->tensors[1].sizes;
    const uint64_t column = base_align_up(sizes[3], 4) + sizeof(int32_t);
    return RECURRENT_BYTES_HEAD + (uint64_t)sizes[0] * sizes[1] * recurrent_width(sizes[2]) * column;
}

static int32_t integer_at(const struct kern_view *r, const void *source, const uint32_t *at)
{
    const uint8_t byte = ((const uint8_t *)source)[dense_offset(r, at, 4)];
    return r->type == DML_TENSOR_DATA_TYPE_INT8 ? (int8_t)byte : byte;
}

static struct recurrent_bytes_head find_head(const struct kern_view *r, const void *source)
{
    const bool is_signed = r->type == DML_TENSOR_DATA_TYPE_INT8;
    int32_t least = INT32_MAX, greatest = INT32_MIN;
    uint32_t at[4] = { 0 };
    do {
        const int32_t value = integer_at(r, source, at);
        least = BASE_MIN(least, value);
        greatest = BASE_MAX(greatest, value);
    } while (kern_advance(4, r->sizes, at));
    if (greatest - least > 128)
        return (struct recurrent_bytes_head){ .center = is_signed ? 0 : 128, .wide = true };
    return (struct recurrent_bytes_head){ .center = least + (greatest - least) / 2 };
}

/* Codes of a gate's rows first[2] to first[2] + columns - 1: [K / 4][columns][4], then the sum of each. */
static void pack_tile(const struct kern_view *r, const void *source, const uint32_t *first, uint32_t columns,
                      int32_t center, uint8_t *out)
{
    uint8_t *sums = out + columns * base_align_up(r->sizes[3], 4);
    uint32_t at[] = { first[0], first[1], first[2], 0 };
    for (uint32_t c = 0; c < columns; c++, at[2]++) {
        int32_t sum = 0;
        for (uint32_t k = 0; k < r->sizes[3] && at[2] < r->sizes[2]; k++) {
            at[3] = k;
            const int32_t code = integer_at(r, source, at) - center;
            out[(k / 4 * columns + c) * 4 + k % 4] = (uint8_t)code;
            sum += code;
        }
        memcpy(sums + c * sizeof(sum), &sum, sizeof(sum));
    }
}

static void pack_bytes(const struct kern_op *op, uint32_t columns, const void *source, void *packed)
{
    const struct kern_view *r = &op->tensors[1];
    const uint64_t tile = columns * (base_align_up(r->sizes[3], 4) + sizeof(int32_t));
    const struct recurrent_bytes_head head = find_head(r, source);
    uint8_t *out = (uint8_t *)packed + RECURRENT_BYTES_HEAD;
    memset(packed, 0, packed_bytes(op));
    memcpy(packed, &head, sizeof(head));
    for (uint32_t i = 0; i < r->sizes[0] * r->sizes[1]; i++)
        for (uint32_t n = 0; n < recurrent_width(r->sizes[2]); n += columns, out += tile)
            pack_tile(r, source, (uint32_t[]){ i / r->sizes[1], i % r->sizes[1], n }, columns, head.center, out);
}

#define BYTES_ROW(name, columns)                                                                                       \
    void kern_recurrent_bytes_##name##_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)         \
    {                                                                                                                  \
        kern_recurrent_f32_plan(op, threads, out);                                                                     \
    }                                                                                                                  \
    bool kern_recurrent_bytes_##name##_pack_plan(const struct kern_op *op, uint32_t *out_input, uint64_t *out_bytes)   \
    {                                                                                                                  \
        *out_input = 1;                                                                                                \
        *out_bytes = packed_bytes(op);                                                                                 \
        return op->packed_input == 2;                                                                                  \
    }                                                                                                                  \
    void kern_recurrent_bytes_##name##_pack(const struct kern_op *op, const void *source, void *packed)                \
    {                                                                                                                  \
        pack_bytes(op, columns, source, packed);                                                                       \
    }
BYTES_ROW(vnni, 32)
BYTES_ROW(avx_vnni, 16)
BYTES_ROW(avx2, 16)
#endif

void kern_recurrent_any_ref_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    const uint32_t *sizes = op->tensors[0].sizes;
    uint64_t cost = (uint64_t)sizes[0] * sizes[3] * sizes[4] * sizes[4];
    *out = (struct kern_work){ .units = (uint64_t)sizes[1] * sizes[2], .grain = dense_grain(cost) };
    out->worker_scratch_bytes = 8 * (uint64_t)sizes[4] * sizeof(double);
}

static double load(const struct recurrent_row *row, uint32_t tensor, const uint32_t *at)
{
    const struct kern_view *view = &row->call->op->tensors[tensor];
    return dense_load(row->call->data[tensor], dense_offset(view, at, view->rank), view->type);
}

static double load_r(const struct recurrent_row *row, uint32_t gate, uint32_t n, uint32_t k)
{
    if (row->net->scale) {
        const struct kern_view *r = &row->call->op->tensors[1];
        const int64_t offset = dense_offset(r, (uint32_t[]){ row->direction, gate, n, k }, 4);
        const double zero = row->net->zero ? load(row, row->net->zero, (uint32_t[]){ row->direction, gate, n }) : 0;
        return (dense_load(row->call->data[1], offset, r->type) - zero) *
               load(row, row->net->scale, (uint32_t[]){ row->direction, gate, n });
    }
    if (row->net->panels)
        return load(row, 1,
                    (uint32_t[]){ row->direction, gate, n / KERN_RECURRENT_PANEL, k, n % KERN_RECURRENT_PANEL });
    return load(row, 1, (uint32_t[]){ row->direction, gate, n, k });
}

/* R's rows of one gate times the vector. */
static double product(const struct recurrent_row *row, uint32_t gate, uint32_t n, const double *vector)
{
    double sum = 0;
    for (uint32_t k = 0; k < row->hidden; k++)
        sum += load_r(row, gate, n, k) * vector[k];
    return sum;
}

/* What R is multiplied with for `vector`: if R is in 8 bits, and the caller allows it, that rounded to 8 bits as
 * DynamicQuantizeLinear rounds. */
static const double *factor_of(const struct recurrent_row *row, const double *vector)
{
    double low = 0, high = 0, poison = 0;
    if (!row->net->scale || !(row->call->op->flags & KERN_FLAG_BYTES))
        return vector;
    for (uint32_t n = 0; n < row->hidden; n++) {
        low = fmin(low, vector[n]);
        high = fmax(high, vector[n]);
        poison += 0 * vector[n]; /* NaN if an element is not finite */
    }
    const double step = (high - low) / 255, zero = rint(-low / step);
    for (uint32_t n = 0; n < row->hidden; n++) {
        const double level = fmin(fmax(rint(vector[n] / step) + zero, 0), 255);
        row->rounded[n] = (step > 0x1p-120 ? (level - zero) * step : 0) + poison;
    }
    return row->rounded;
}

static double load_x(const struct recurrent_row *row, uint32_t gate, uint32_t n)
{
    return load(row, 0, (uint32_t[]){ row->step, row->row, row->direction, gate, n });
}

static double peephole(const struct recurrent_row *row, uint32_t gate, uint32_t n)
{
    uint32_t tensor = row->net->peepholes;
    return tensor ? load(row, tensor, (uint32_t[]){ row->direction, gate, n }) * row->c[n] : 0;
}

static double apply(const struct kern_map_inst *inst, double value)
{
    struct kern_map_inst exact = *inst;
    exact.type = exact.to_type = DML_TENSOR_DATA_TYPE_FLOAT64;
    exact.imm[0].f64 = inst->imm[0].f32;
    exact.imm[1].f64 = inst->imm[1].f32;
    struct kern_number a = kern_from_double(value);
    return kern_map_eval(&exact, a, a, a).f;
}

static void activate(const struct recurrent_row *row, uint32_t which, double *values)
{
    const struct kern_activation *activation = &row->net->activations[row->direction][which];
    uint32_t top = 0;
    for (uint32_t n = 0; n < row->hidden; n++) {
        if (row->net->has_clip)
            values[n] = apply(&row->net->clip, values[n]);
        if (activation->mode == KERN_ACTIVATION_MAP)
            values[n] = apply(&activation->inst, values[n]);
        if (values[n] > values[top] || (values[top] != values[top] && values[n] == values[n]))
            top = n;
    }
    for (uint32_t n = 0; n < row->hidden && activation->mode == KERN_ACTIVATION_HARDMAX; n++)
        values[n] = n == top;
}

static void step_rnn(const struct recurrent_row *row)
{
    const double *state = factor_of(row, row->h);
    for (uint32_t n = 0; n < row->hidden; n++)
        row->gates[n] = load_x(row, 0, n) + product(row, 0, n, state);
    activate(row, 0, row->gates);
    memcpy(row->h, row->gates, row->hidden * sizeof(double));
}

static void step_gru(const struct recurrent_row *row)
{
    double *z = row->gates, *r = z + row->hidden, *h = r + row->hidden;
    const double *state = factor_of(row, row->h);
    for (uint32_t n = 0; n < row->hidden; n++) {
        z[n] = load_x(row, 0, n) + product(row, 0, n, state);
        r[n] = load_x(row, 1, n) + product(row, 1, n, state);
    }
    activate(row, 0, z);
    activate(row, 0, r);
    for (uint32_t n = 0; n < row->hidden; n++)
        row->mixed[n] = r[n] * row->h[n];
    state = factor_of(row, row->net->linear_before_reset ? row->h : row->mixed);
    for (uint32_t n = 0; n < row->hidden; n++) {
        uint32_t bias = row->net->reset_bias;
        double sum = product(row, 2, n, state);
        if (row->net->linear_before_reset)
            sum = r[n] * (sum + (bias ? load(row, bias, (uint32_t[]){ row->direction, n }) : 0));
        h[n] = load_x(row, 2, n) + sum;
    }
    activate(row, 1, h);
    for (uint32_t n = 0; n < row->hidden; n++)
        row->h[n] = (1 - z[n]) * h[n] + z[n] * row->h[n];
}

static void step_lstm(const struct recurrent_row *row)
{
    uint32_t hidden = row->hidden;
    double *i = row->gates, *o = i + hidden, *f = o + hidden, *g = f + hidden;
    const double *h = factor_of(row, row->h);
    for (uint32_t n = 0; n < hidden; n++) {
        i[n] = load_x(row, 0, n) + product(row, 0, n, h) + peephole(row, 0, n);
        o[n] = load_x(row, 1, n) + product(row, 1, n, h);
        f[n] = load_x(row, 2, n) + product(row, 2, n, h) + peephole(row, 2, n);
        g[n] = load_x(row, 3, n) + product(row, 3, n, h);
    }
    activate(row, 0, i);
    activate(row, 0, f);
    activate(row, 1, g);
    for (uint32_t n = 0; n < hidden; n++) {
        double keep = row->net->couple ? 1 - i[n] : f[n];
        row->c[n] = keep * row->c[n] + i[n] * g[n];
        o[n] += peephole(row, 1, n);
    }
    activate(row, 0, o);
    memcpy(row->h, row->c, hidden * sizeof(double));
    activate(row, 2, row->h);
    for (uint32_t n = 0; n < hidden; n++)
        row->h[n] *= o[n];
}

static void store(const struct recurrent_row *row, uint32_t tensor, const uint32_t *at, const double *values)
{
    const struct kern_view *view = &row->call->op->tensors[tensor];
    if (!tensor)
        return;
    int64_t offset = dense_offset(view, at, view->rank - 1), step = view->strides[view->rank - 1];
    for (uint32_t n = 0; n < row->hidden; n++)
        dense_store(row->call->data[tensor], offset + n * step, view->type, values ? values[n] : 0);
}

static void run_row(struct recurrent_row *row)
{
    const struct kern_recurrent *net = row->net;
    uint32_t steps = row->call->op->tensors[0].sizes[0], length = steps;
    uint32_t state_at[] = { row->direction, row->row, 0 };
    if (net->lengths) {
        const struct kern_view *lengths = &row->call->op->tensors[net->lengths];
        uint32_t wanted = ((const uint32_t *)row->call->data[net->lengths])[dense_offset(lengths, &row->row, 1)];
        length = BASE_MIN(wanted, steps);
    }
    for (uint32_t n = 0; n < row->hidden; n++) {
        state_at[2] = n;
        row->h[n] = net->hidden ? load(row, net->hidden, state_at) : 0;
        row->c[n] = net->memory ? load(row, net->memory, state_at) : 0;
    }
    for (uint32_t s = 0; s < steps; s++) {
        row->step = net->reverse[row->direction] && s < length ? length - 1 - s : s;
        if (s < length && net->cell == KERN_CELL_RNN)
            step_rnn(row);
        else if (s < length && net->cell == KERN_CELL_GRU)
            step_gru(row);
        else if (s < length)
            step_lstm(row);
        store(row, net->sequence, (uint32_t[]){ row->step, row->direction, row->row, 0 }, s < length ? row->h : NULL);
    }
    store(row, net->last_hidden, state_at, length ? row->h : NULL);
    store(row, net->last_memory, state_at, length ? row->c : NULL);
}

void kern_recurrent_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const uint32_t *sizes = call->op->tensors[0].sizes;
    struct recurrent_row row = { .call = call, .net = &call->op->u.recurrent, .hidden = sizes[4] };
    row.h = call->worker_scratch;
    row.c = row.h + row.hidden;
    row.mixed = row.c + row.hidden;
    row.rounded = row.mixed + row.hidden;
    row.gates = row.rounded + row.hidden;
    for (uint64_t unit = begin; unit < end; unit++) {
        row.direction = (uint32_t)(unit / sizes[1]);
        row.row = (uint32_t)(unit % sizes[1]);
        run_row(&row);
    }
}
