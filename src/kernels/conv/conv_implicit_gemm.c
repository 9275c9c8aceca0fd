/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions as implicit GEMM: rows are output channels of a group, columns output pixels. A unit of work is one
 * block of rows by one box of pixels. The part of X that the box needs is converted to packs first, of adjacent
 * channels: the columns of a kernel tap are then runs of packs. */
#include "kernels/core/iterator.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/blocked_gemm.h"
#include "kernels/row/row.h"

#define BLOCK_ROWS 96

struct conv_blocks {
    struct conv_shape s;
    int64_t box[3], blocks[3], most[3]; /* output pixels of a box, boxes, input pixels that a box needs at most */
    uint64_t taps, channel_packs, packs, k, pixels, panel_bytes, row_blocks, boxes;
    uint64_t image, whole, line, b, columns, column_cross, a, a_sums, row_cross, sums, floats, epilogue,
        bytes; /* offsets in the worker's scratch */
    bool packed;
};

/* Whole lines of the output as far as they fit, whole planes likewise. */
static void boxes_init(struct conv_blocks *g, int64_t most)
{
    const struct conv_shape *s = &g->s;
    int64_t lines = BASE_MAX(most / s->out[2], 1);
    g->box[2] = BASE_MIN(s->out[2], most);
    g->box[1] = BASE_MIN(s->out[1], lines);
    g->box[0] = BASE_MIN(s->out[0], BASE_MAX(lines / s->out[1], 1));
    g->pixels = g->boxes = 1;
    for (uint32_t d = 0; d < 3; d++) {
        int64_t reach = (s->kernel[d] - 1) * s->dilation[d];
        g->blocks[d] = (s->out[d] + g->box[d] - 1) / g->box[d];
        g->most[d] =
            s->transposed ? (g->box[d] - 1 + reach) / s->stride[d] + 2 : (g->box[d] - 1) * s->stride[d] + reach + 1;
        g->most[d] = BASE_MIN(g->most[d], s->in[d]);
        g->pixels *= (uint64_t)g->box[d];
        g->boxes *= (uint64_t)g->blocks[d];
    }
}

static void blocks_init(const struct blocked_gemm_isa *isa, const struct kern_op *op, struct conv_blocks *g)
{
    *g = (struct conv_blocks){ .packed = (isa->integers || isa->round) && op->packed_input == 2 };
    struct conv_shape *s = &g->s;
    conv_shape_init(op, s);
    /* Weights that are not packed are converted again for each box: use fewer boxes. */
    boxes_init(g, !isa->integers && !isa->round ? 128 : g->packed ? 256 : 1024);
    g->taps = (uint64_t)(s->kernel[0] * s->kernel[1] * s->kernel[2]);
    g->channel_packs = blocked_gemm_packs(isa, s->in_group);
    g->packs = g->taps * g->channel_packs;
    g->k = g->taps * s->in_group;
    g->panel_bytes = g->packs * isa->columns * isa->pack_bytes;
    g->row_blocks = (s->out_group + BLOCK_ROWS - 1) / BLOCK_ROWS;
    uint64_t rows = BASE_MIN(s->out_group, BLOCK_ROWS), columns = base_align_up(g->pixels, isa->columns);
    /* Each remainder of the stride may waste one word. */
    uint64_t plane = (uint64_t)(g->most[0] * g->most[1] * (g->most[2] + BASE_MIN(s->stride[2], g->most[2])));
    g->whole = dense_take(&g->bytes, (uint64_t)g->most[2] * isa->pack_bytes, 64);
    g->image = dense_take(&g->bytes, plane * g->channel_packs * isa->pack_bytes, 64);
    g->line = dense_take(&g->bytes, isa->integers ? isa->k_pack * (uint64_t)(g->most[1] * g->most[2]) : 0, 64);
    g->b = dense_take(&g->bytes, columns / isa->columns * g->panel_bytes, 64);
    g->columns = dense_take(&g->bytes, columns * sizeof(int32_t), 64);
    g->column_cross = dense_take(&g->bytes, isa->deep ? columns * sizeof(int32_t) : 0, 64);
    g->a = dense_take(&g->bytes, g->packed ? 0 : rows * g->packs * isa->pack_bytes, 64);
    g->a_sums = dense_take(&g->bytes, g->packed ? 0 : rows * sizeof(int32_t), 64);
    g->row_cross = dense_take(&g->bytes, g->packed || !isa->deep ? 0 : rows * sizeof(int32_t), 64);
    g->sums = dense_take(&g->bytes, (isa->deep ? rows : isa->rows) * columns * isa->pack_bytes, 64);
    g->floats = dense_take(&g->bytes, columns * sizeof(float), 64);
    g->epilogue = dense_take(&g->bytes, dense_epilogue_bytes(op), 64);
}

static uint64_t blocked_conv_plan(const struct blocked_gemm_isa *isa, const struct kern_op *op, struct kern_work *out)
{
    struct conv_blocks g;
    blocks_init(isa, op, &g);
    uint64_t cost = g.k * BASE_MIN(g.s.out_group, BLOCK_ROWS) * g.pixels / 16;
    *out = (struct kern_work){ .units = g.s.batch * g.s.groups * g.boxes * g.row_blocks };
    out->grain = dense_grain(cost);
    out->worker_scratch_bytes = g.bytes;
    return g.s.out_channels * (g.packs * isa->pack_bytes + sizeof(int32_t) * (isa->deep ? 2 : 1));
}

/* ---- weights ---- */

/* The row of output channel `o`. */
static int32_t weights_row(const struct blocked_gemm_isa *isa, const struct kern_op *op, const struct conv_blocks *g,
                           const void *data, int64_t o, char *row)
{
    const struct conv_shape *s = &g->s;
    int64_t group = o / s->out_group, within = o % s->out_group;
    int64_t at = s->transposed ? group * s->in_group * s->w[0] + within * s->w[1] : o * s->w[0];
    int32_t sum = 0;
    for (uint64_t tap = 0; tap < g->taps; tap++) {
        struct blocked_gemm_line line = { data, at + conv_weight_at(s, (int64_t)tap), s->transposed ? s->w[0] : s->w[1],
                                          op->tensors[1].type };
        sum += blocked_gemm_row(isa, &line, s->in_group, false, row + tap * g->channel_packs * isa->pack_bytes);
    }
    return sum;
}

/* All rows, then the sums of each, then row_cross. */
static void blocked_conv_pack(const struct blocked_gemm_isa *isa, const struct kern_op *op, const void *source,
                              void *packed)
{
    struct conv_blocks g;
    blocks_init(isa, op, &g);
    uint64_t row_bytes = g.packs * isa->pack_bytes;
    int32_t *sums = (int32_t *)((char *)packed + g.s.out_channels * row_bytes);
    for (uint32_t o = 0; o < g.s.out_channels; o++) {
        char *row = (char *)packed + o * row_bytes;
        sums[o] = weights_row(isa, op, &g, source, o, row);
        if (isa->deep)
            sums[g.s.out_channels + o] = isa->row_cross(row, g.packs);
    }
}

/* ---- one unit ---- */

struct conv_unit {
    const struct blocked_gemm_isa *isa;
    const struct kern_call *call;
    const struct kern_op *flat; /* spatial dimensions merged; NULL when strides forbid */
    struct conv_blocks g;
    struct blocked_gemm_end end;
    char *scratch;
    int64_t n, group, first_row;
    int64_t low[3], size[3]; /* the box */
    int64_t in_low[3], in_size[3];
    int64_t phase, line_packs; /* of a line of the image: positions of one remainder of the stride, all packs */
    uint32_t rows, columns;
    const char *a;
    const int32_t *a_sums, *row_cross;
    int32_t x_zero;
    uint64_t loaded_box, loaded_rows; /* the contents of scratch */
};

/* The input positions that the box reads along d. */
static void input_range(struct conv_unit *u, uint32_t d)
{
    const struct conv_shape *s = &u->g.s;
    int64_t reach = (s->kernel[d] - 1) * s->dilation[d], last = u->low[d] + u->size[d] - 1, low, high;
    if (s->transposed) {
        low = u->low[d] + s->pad[d] - reach;
        low = low > 0 ? (low + s->stride[d] - 1) / s->stride[d] : 0;
        high = (last + s->pad[d]) / s->stride[d] + 1;
    } else {
        low = BASE_MAX(u->low[d] * s->stride[d] - s->pad[d], 0);
        high = last * s->stride[d] - s->pad[d] + reach + 1;
    }
    low = BASE_MIN(low, s->in[d] - 1); /* only padding: any one position */
    high = BASE_MIN(BASE_MAX(high, low + 1), s->in[d]);
    u->in_low[d] = low;
    u->in_size[d] = high - low;
}

/* `count` adjacent positions of one word of channels. */
static void image_line(const struct conv_unit *u, uint64_t channel, int64_t at, uint64_t count, char *out)
{
    const struct blocked_gemm_isa *isa = u->isa;
    const struct conv_shape *s = &u->g.s;
    const struct blocked_gemm_line line = { u->call->data[0], at, s->x[4], u->call->op->tensors[0].type };
    const struct blocked_gemm_rows rows = { line, s->x[1], count };
    const uint32_t lines = (uint32_t)BASE_MIN(s->in_group - channel, isa->k_pack);
    if (isa->integers)
        blocked_gemm_interleave(isa, &rows, lines, count, (uint8_t *)u->scratch + u->g.line, out);
    else if (isa->round)
        blocked_gemm_halves(isa, &rows, lines, count, out);
    else
        blocked_gemm_load(isa, &line, count, out);
}

/* No kernel tap reads positions `at` along d, counted from in_low[d]. */
static bool never_read(const struct conv_unit *u, uint32_t d, int64_t at)
{
    const struct conv_shape *s = &u->g.s;
    return !s->transposed && s->kernel[d] == 1 && (at + u->in_low[d] + s->pad[d]) % s->stride[d];
}

/* Packs `stride` apart side by side. */
static void split_line(const struct conv_unit *u, const char *packs, char *out)
{
    int64_t stride = u->g.s.stride[2];
    for (int64_t p = 0; p < BASE_MIN(stride, u->in_size[2]); p++) {
        int64_t count = (u->in_size[2] - p + stride - 1) / stride;
        if (!never_read(u, 2, p))
            kern_copy_row(u->isa->pack_bytes, out + p * u->phase * u->isa->pack_bytes, 1,
                          packs + p * u->isa->pack_bytes, stride, (uint64_t)count);
    }
}

static void image_load(struct conv_unit *u)
{
    const struct conv_shape *s = &u->g.s;
    bool splits = !s->transposed && s->stride[2] > 1;
    char *out = u->scratch + u->g.image, *packs = u->scratch + u->g.whole;
    u->phase = splits ? (u->in_size[2] + s->stride[2] - 1) / s->stride[2] : u->in_size[2];
    /* Contiguous whole lines are merged into one. */
    bool merges = !splits && s->stride[1] == 1 && u->in_size[2] == s->in[2] && s->x[3] == s->in[2] * s->x[4];
    int64_t lines = merges ? 1 : u->in_size[1], count = merges ? u->in_size[1] * u->in_size[2] : u->in_size[2];
    u->line_packs = splits ? u->phase * BASE_MIN(s->stride[2], u->in_size[2]) : u->in_size[2];
    for (uint64_t w = 0; w < u->g.channel_packs; w++) {
        uint64_t channel = w * u->isa->k_pack;
        int64_t from = u->n * s->x[0] + (u->group * s->in_group + (int64_t)channel) * s->x[1] + u->in_low[2] * s->x[4];
        for (int64_t line = 0; line < u->in_size[0] * lines; line++) {
            int64_t i0 = u->in_low[0] + line / lines, i1 = u->in_low[1] + line % lines;
            bool wanted = !never_read(u, 1, i1 - u->in_low[1]);
            if (wanted)
                image_line(u, channel, from + i0 * s->x[2] + i1 * s->x[3], (uint64_t)count, splits ? packs : out);
            if (wanted && splits)
                split_line(u, packs, out);
            out += (uint64_t)(splits ? u->line_packs : count) * u->isa->pack_bytes;
        }
    }
}

/* Packs of the image at columns of a panel: to[i * to_step] = from[i]. */
struct conv_run {
    int64_t to, from, count;
};

/* Those of one kernel tap; returns their number. *covered = columns that have a word. */
static uint32_t tap_runs(const struct conv_unit *u, uint64_t tap, int64_t first, int64_t columns, struct conv_run *runs,
                         int64_t *covered)
{
    const struct conv_shape *s = &u->g.s;
    int64_t k0 = (int64_t)tap / s->kernel[2] / s->kernel[1], k1 = (int64_t)tap / s->kernel[2] % s->kernel[1];
    int64_t offset = (int64_t)tap % s->kernel[2] * s->dilation[2] - s->pad[2];
    struct conv_run next = { -1, -1, 0 };
    uint32_t count = 0;
    *covered = 0;
    for (int64_t column = 0, width; column < columns; column += width) {
        int64_t line = (first + column) / u->size[2], x = (first + column) % u->size[2], begin, end;
        int64_t i0 = conv_tap(s, 0, u->low[0] + line / u->size[1], k0);
        int64_t i1 = conv_tap(s, 1, u->low[1] + line % u->size[1], k1), low = u->low[2] + x;
        width = BASE_MIN(u->size[2] - x, columns - column);
        if (i0 < 0 || i1 < 0)
            continue;
        struct conv_run *run = &runs[count];
        int64_t row = ((i0 - u->in_low[0]) * u->in_size[1] + i1 - u->in_low[1]) * u->line_packs, from;
        if (s->transposed) { /* input positions that land in the line */
            dense_range(s->in[2], s->stride[2], offset - low, width, &begin, &end);
            *run = (struct conv_run){ column + begin * s->stride[2] + offset - low, row + begin - u->in_low[2],
                                      end - begin };
        } else {
            dense_range(width, s->stride[2], low * s->stride[2] + offset, s->in[2], &begin, &end);
            from = (low + begin) * s->stride[2] + offset - u->in_low[2];
            /* In a line of the image, positions that adjacent outputs read, a stride apart, are contiguous. */
            from = row + from % s->stride[2] * u->phase + from / s->stride[2];
            *run = (struct conv_run){ column + begin, begin < end ? from : 0, end - begin };
        }
        if (run->count <= 0)
            continue;
        *covered += run->count;
        bool follows = !s->transposed && run->to == next.to && run->from == next.from;
        next = (struct conv_run){ run->to + run->count, run->from + run->count, 0 };
        if (follows)
            run[-1].count += run->count;
        else
            count++;
    }
    return count;
}

/* Runs are short: kern_copy_row costs more than they do. */
static void copy_packs(uint32_t word, void *to, int64_t step, const void *from, int64_t count)
{
    if (step == 1)
        memcpy(to, from, (uint64_t)count * word);
    else if (word == sizeof(uint32_t))
        for (int64_t i = 0; i < count; i++)
            ((uint32_t *)to)[i * step] = ((const uint32_t *)from)[i];
    else
        for (int64_t i = 0; i < count; i++)
            ((uint64_t *)to)[i * step] = ((const uint64_t *)from)[i];
}

static void fill_packs(uint32_t word, void *to, uint64_t value, uint32_t count)
{
    for (uint32_t i = 0; word == sizeof(uint32_t) && i < count; i++)
        ((uint32_t *)to)[i] = (uint32_t)value;
    for (uint32_t i = 0; word != sizeof(uint32_t) && i < count; i++)
        ((uint64_t *)to)[i] = value;
}

/* `value` at the columns that no run covers. */
static void fill_gaps(const struct conv_unit *u, const struct conv_run *runs, uint32_t count, uint32_t columns,
                      uint64_t value, char *panel)
{
    uint32_t word = u->isa->pack_bytes;
    int64_t at = 0;
    if (u->g.s.transposed) { /* runs cover columns at a fixed distance */
        fill_packs(word, panel, value, columns);
        return;
    }
    for (uint32_t r = 0; r < count; r++) {
        fill_packs(word, panel + at * word, value, (uint32_t)(runs[r].to - at));
        at = runs[r].to + runs[r].count;
    }
    fill_packs(word, panel + at * word, value, columns - (uint32_t)at);
}

static void panel_fill(const struct conv_unit *u, uint32_t first, char *panel)
{
    const struct conv_shape *s = &u->g.s;
    const struct blocked_gemm_isa *isa = u->isa;
    DML_TENSOR_DATA_TYPE type = u->call->op->tensors[0].type;
    struct conv_run runs[BLOCKED_GEMM_COLUMNS_MAX];
    int64_t to_step = s->transposed ? s->stride[2] : 1, covered;
    uint32_t columns = BASE_MIN(u->columns - first, isa->columns);
    uint64_t plane = (uint64_t)(u->in_size[0] * u->in_size[1] * u->line_packs) * isa->pack_bytes,
             line = (uint64_t)isa->columns * isa->pack_bytes;
    for (uint64_t tap = 0; tap < u->g.taps; tap++) {
        uint32_t count = tap_runs(u, tap, first, columns, runs, &covered);
        for (uint64_t w = 0; w < u->g.channel_packs; w++, panel += line) {
            const char *image = u->scratch + u->g.image + w * plane;
            uint32_t channels = (uint32_t)BASE_MIN(s->in_group - w * isa->k_pack, isa->k_pack);
            if (covered < isa->columns) /* also after the last column: the micro-kernel multiplies whole panels */
                fill_gaps(u, runs, count, isa->columns, blocked_gemm_pack_of(isa, u->x_zero, type, channels), panel);
            for (uint32_t r = 0; r < count; r++)
                copy_packs(isa->pack_bytes, panel + runs[r].to * isa->pack_bytes, to_step,
                           image + runs[r].from * isa->pack_bytes, runs[r].count);
        }
    }
}

static void unit_load_box(struct conv_unit *u)
{
    u->columns = (uint32_t)(u->size[0] * u->size[1] * u->size[2]);
    for (uint32_t d = 0; d < 3; d++)
        input_range(u, d);
    image_load(u);
    char *panel = u->scratch + u->g.b;
    int32_t *sums = (int32_t *)(u->scratch + u->g.columns), *cross = (int32_t *)(u->scratch + u->g.column_cross);
    for (uint32_t c = 0; c < u->columns; c += u->isa->columns, panel += u->g.panel_bytes) {
        panel_fill(u, c, panel);
        if (u->isa->integers)
            blocked_gemm_column_sums(u->isa, panel, u->g.packs, sums + c);
        if (u->isa->deep)
            u->isa->column_cross(panel, u->g.packs, cross + c);
    }
}

static void unit_load_rows(struct conv_unit *u)
{
    const struct conv_blocks *g = &u->g;
    int64_t first = u->group * g->s.out_group + u->first_row;
    uint64_t row_bytes = g->packs * u->isa->pack_bytes, key = (uint64_t)first;
    if (g->packed) {
        u->a = (const char *)u->call->data[1] + (uint64_t)first * row_bytes;
        u->a_sums = (const int32_t *)((const char *)u->call->data[1] + g->s.out_channels * row_bytes) + first;
        u->row_cross = u->a_sums + g->s.out_channels;
        return;
    }
    int32_t *sums = (int32_t *)(u->scratch + g->a_sums), *cross = (int32_t *)(u->scratch + g->row_cross);
    u->a = u->scratch + g->a;
    u->a_sums = sums;
    u->row_cross = cross;
    if (u->loaded_rows == key)
        return;
    u->loaded_rows = key;
    for (uint32_t r = 0; r < u->rows; r++) {
        char *row = u->scratch + g->a + r * row_bytes;
        sums[r] = weights_row(u->isa, u->call->op, g, u->call->data[1], first + r, row);
        if (u->isa->deep)
            cross[r] = u->isa->row_cross(row, g->packs);
    }
}

/* The effect of shifts, zero points and bias on a row of integers; floats get their bias here. */
static void correct_row(const struct conv_unit *u, uint32_t row, void *sums, struct blocked_gemm_shift *shift)
{
    const struct kern_op *op = u->call->op;
    const struct kern_conv *conv = &op->u.conv;
    int64_t o = u->group * u->g.s.out_group + u->first_row + row;
    const uint32_t channel[KERN_RANK_MAX] = { 0, (uint32_t)o }, w_zero = 2u + conv->has_bias + conv->has_x_zero;
    double bias = conv->has_bias ? dense_load(u->call->data[2], o * u->g.s.bias, op->tensors[2].type) : 0;
    const bool is_wide = blocked_gemm_sum_bytes(u->isa) == sizeof(double);
    float *single = sums;
    double *wide = sums;
    if (u->isa->integers) {
        shift->zero = gemm_zero(u->call, conv->has_w_zero, w_zero, channel) +
                      blocked_gemm_added(u->isa, op->tensors[1].type, false);
        shift->zero_all = u->x_zero + blocked_gemm_added(u->isa, op->tensors[0].type, true);
        shift->row = (int32_t)((uint32_t)u->a_sums[row] - (uint32_t)u->g.k * (uint32_t)shift->zero);
        shift->plus = (int32_t)bias;
        return;
    }
    for (uint32_t i = 0; conv->has_bias && !is_wide && i < u->columns; i++)
        single[i] += (float)bias;
    for (uint32_t i = 0; conv->has_bias && is_wide && i < u->columns; i++)
        wide[i] += bias;
}

static void unit_finish(const struct conv_unit *u, uint32_t row, char *sums)
{
    const struct conv_shape *s = &u->g.s;
    uint32_t at[KERN_RANK_MAX] = { (uint32_t)u->n, (uint32_t)(u->group * s->out_group + u->first_row + row) };
    uint32_t rank = u->call->op->tensors[0].rank;
    const int32_t *columns = (const int32_t *)(u->scratch + u->g.columns);
    struct blocked_gemm_shift shift = { .columns = columns };
    struct kern_call call = *u->call;
    struct blocked_gemm_end end = u->end;
    correct_row(u, row, sums, &shift);
    if (u->flat && u->size[2] == s->out[2] && (u->size[1] == s->out[1] || u->size[0] == 1)) {
        call.op = u->flat;
        at[2] = (uint32_t)((u->low[0] * s->out[1] + u->low[1]) * s->out[2]);
        end.call = &call;
        blocked_gemm_finish(u->isa, &end, at, u->columns, sums, &shift);
        return;
    }
    for (int64_t line = 0; line < u->size[0] * u->size[1]; line++) {
        int64_t where[3] = { u->low[0] + line / u->size[1], u->low[1] + line % u->size[1], u->low[2] };
        for (uint32_t d = 2; d < rank; d++)
            at[d] = (uint32_t)where[d + 3 - rank];
        shift.columns = columns + line * u->size[2];
        blocked_gemm_finish(u->isa, &end, at, (uint32_t)u->size[2],
                            sums + (uint64_t)(line * u->size[2]) * blocked_gemm_sum_bytes(u->isa), &shift);
    }
}

static void unit_multiply_deep(const struct conv_unit *u)
{
    const uint32_t step = (uint32_t)base_align_up(u->columns, u->isa->columns);
    char *sums = u->scratch + u->g.sums;
    blocked_gemm_multiply(u->isa,
                          &(struct blocked_gemm_tile){ u->a, u->scratch + u->g.b, sums, u->g.packs, u->rows, u->columns,
                                                       step, u->row_cross,
                                                       (const int32_t *)(u->scratch + u->g.column_cross) },
                          u->g.panel_bytes, u->isa->columns * sizeof(int32_t));
    for (uint32_t r = 0; r < u->rows; r++)
        unit_finish(u, r, sums + (uint64_t)r * step * sizeof(int32_t));
}

static void unit_multiply(const struct conv_unit *u)
{
    const struct blocked_gemm_isa *isa = u->isa;
    uint32_t step = (uint32_t)base_align_up(u->columns, isa->columns);
    const uint32_t sum_bytes = blocked_gemm_sum_bytes(isa);
    char *sums = u->scratch + u->g.sums;
    for (uint32_t row = 0; row < u->rows; row += isa->rows) {
        uint32_t count = BASE_MIN(u->rows - row, isa->rows);
        const char *panel = u->scratch + u->g.b;
        for (uint32_t c = 0; c < u->columns; c += isa->columns, panel += u->g.panel_bytes)
            isa->tile(&(struct blocked_gemm_tile){ u->a + row * u->g.packs * isa->pack_bytes, panel,
                                                   sums + (uint64_t)c * sum_bytes, u->g.packs, count,
                                                   BASE_MIN(u->columns - c, isa->columns), step });
        for (uint32_t r = 0; r < count; r++)
            unit_finish(u, row + r, sums + (uint64_t)r * step * sum_bytes);
    }
}

static void unit_run(struct conv_unit *u, uint64_t unit)
{
    const struct conv_blocks *g = &u->g;
    uint64_t box = unit / g->row_blocks, place = box % g->boxes;
    u->first_row = (int64_t)(unit % g->row_blocks) * BLOCK_ROWS;
    u->rows = (uint32_t)BASE_MIN(g->s.out_group - u->first_row, BLOCK_ROWS);
    u->group = (int64_t)(box / g->boxes % g->s.groups);
    u->n = (int64_t)(box / g->boxes / g->s.groups);
    for (uint32_t d = 3; d-- > 0;) {
        u->low[d] = (int64_t)(place % (uint64_t)g->blocks[d]) * g->box[d];
        u->size[d] = BASE_MIN(g->box[d], g->s.out[d] - u->low[d]);
        place /= (uint64_t)g->blocks[d];
    }
    if (u->loaded_box != box)
        unit_load_box(u);
    u->loaded_box = box;
    unit_load_rows(u);
    if (u->isa->deep)
        unit_multiply_deep(u);
    else
        unit_multiply(u);
}

static void blocked_conv_run(const struct blocked_gemm_isa *isa, const struct kern_call *call, uint64_t begin,
                             uint64_t end)
{
    struct conv_unit u = { .isa = isa, .call = call, .flat = call->op, .scratch = call->worker_scratch };
    struct kern_op merged[2];
    u.loaded_box = u.loaded_rows = UINT64_MAX;
    for (uint32_t d = 1; u.flat && d < call->op->u.conv.spatial; d++)
        u.flat = dense_merge_rows(u.flat, &merged[d - 1]) ? &merged[d - 1] : NULL;
    blocks_init(isa, call->op, &u.g);
    blocked_gemm_end_init(call, u.scratch + u.g.epilogue, u.scratch + u.g.floats, &u.end);
    u.x_zero = conv_x_zero(call);
    for (uint64_t unit = begin; unit < end; unit++)
        unit_run(&u, unit);
}

/* ---- kernels ---- */

bool kern_conv_float_accepts(const struct kern_op *op)
{
    return !op->u.conv.integer && kern_conv_any_ref_accepts(op);
}

bool kern_conv_int_accepts(const struct kern_op *op)
{
    return op->u.conv.integer && kern_conv_any_ref_accepts(op);
}

void kern_conv_float_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    blocked_conv_plan(blocked_gemm_widest(op), op, out);
}

/* run: the function's suffix; isa: that of the tables. */
#define FLOAT_ROW(run, isa)                                                                                            \
    void kern_conv_float##run(const struct kern_call *call, uint64_t begin, uint64_t end)                              \
    {                                                                                                                  \
        blocked_conv_run(blocked_gemm_isa_for(call->op, &blocked_gemm_f32_##isa, &blocked_gemm_f64_##isa), call,       \
                         begin, end);                                                                                  \
    }
FLOAT_ROW(_run, portable)
BLOCKED_ROW(conv_int, conv, blocked_gemm_int_portable)
#if defined(__x86_64__)
FLOAT_ROW(_avx2_run, avx2)
FLOAT_ROW(_avx512_run, avx512)
BLOCKED_ROW(conv_int_avx2, conv, blocked_gemm_int_avx2)
BLOCKED_ROW(conv_int_vnni, conv, blocked_gemm_vnni)
#elif defined(__aarch64__)
/* Windows are packed for each box of pixels: enough channels share them, and fill them. */
bool kern_conv_bf16_accepts(const struct kern_op *op)
{
    enum { IN_MIN = 8, OUT_MIN = 16 };
    struct conv_shape s;
    return !op->u.conv.integer && dense_short_floats(op) &&
           (dense_half_allowed(op) ||
            dense_same_type(op, 0, 1, (DML_TENSOR_DATA_TYPE)ANYDML_TENSOR_DATA_TYPE_BFLOAT16)) &&
           kern_conv_any_ref_accepts(op) && conv_shape_init(op, &s) && s.in_group >= IN_MIN && s.out_group >= OUT_MIN;
}

FLOAT_ROW(_neon_run, neon)
BLOCKED_ROW(conv_int_dot, conv, blocked_gemm_int_dot)
BLOCKED_ROW(conv_int_mmla, conv, blocked_gemm_int_mmla)
BLOCKED_ROW(conv_bf16_mmla, conv, blocked_gemm_bf16_mmla)
#endif
