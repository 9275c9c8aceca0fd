/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's convolutions: struct wino (conv_plans.h). */
#include "kernels/core/isa.h"
#include "kernels/conv/conv_wino_tile.h"
#include "kernels/row/epilogue_vec.h"
#include "kernels/gemm/ukernel.h"

#include "base/parallel.h"

struct wino_run {
    struct wino w;
    const struct kern_call *call;
    float *in, *out, *patch, *bias;
};

DENSE_INLINE void wino_tile_out(uint32_t size, const float *from, uint64_t step, vec *to)
{
    vec half[WINO_OUTS][WINO_SIZE_MAX], m[WINO_SIZE_MAX], values[WINO_OUTS];
    WINO_UNROLL for (uint32_t j = 0; j < size; j++)
    {
        WINO_UNROLL for (uint32_t i = 0; i < size; i++) m[i] = vec_load(from + (i * size + j) * step);
        wino_out(size, WINO_OUTS, m, values);
        WINO_UNROLL for (uint32_t o = 0; o < WINO_OUTS; o++) half[o][j] = values[o];
    }
    WINO_UNROLL for (uint32_t o = 0; o < WINO_OUTS; o++) wino_out(size, WINO_OUTS, half[o], to + o * WINO_OUTS);
}

/* The inputs of a tile that is partly outside, or whose channels are not contiguous, as [row][column][depth]. */
static void wino_patch(const struct wino_run *r, const float *image, int64_t row, int64_t column)
{
    const struct conv_shape *s = &r->w.s;
    int64_t size = r->w.size, depth = r->w.depth;
    int64_t top = BASE_MAX(-row, 0), bottom = BASE_MIN(size, s->in[1] - row);
    int64_t left = BASE_MAX(-column, 0), right = BASE_MIN(size, s->in[2] - column);
    const float *from = image + row * s->x[3] + column * s->x[4];
    memset(r->patch, 0, (size_t)(size * size * depth) * sizeof(float));
    if (s->x[1] == 1) {
        for (int64_t i = top; i < bottom; i++)
            for (int64_t j = left; j < right; j++)
                memcpy(r->patch + (i * size + j) * depth, from + i * s->x[3] + j * s->x[4],
                       s->in_channels * sizeof(float));
        return;
    }
    for (uint32_t c = 0; c < s->in_channels; c++)
        for (int64_t i = top; i < bottom; i++)
            for (int64_t j = left; j < right; j++)
                r->patch[(i * size + j) * depth + c] = from[c * s->x[1] + i * s->x[3] + j * s->x[4]];
}

struct wino_place {
    int64_t image, row, column; /* of the tile's first output */
};

DENSE_INLINE struct wino_place wino_place(const struct wino *w, uint32_t tile)
{
    uint32_t line = tile / w->columns;
    return (struct wino_place){ line / w->rows, (int64_t)(line % w->rows) * WINO_OUTS,
                                (int64_t)(tile % w->columns) * WINO_OUTS };
}

/* Columns [left, right) of one row of `lanes` planes as [column][VEC]. */
static void wino_transpose(const float *from, int64_t plane, uint32_t lanes, int64_t left, int64_t right, float *to)
{
    int64_t j = left;
    for (; right - left < VEC && j < right; j++)
        for (uint32_t c = 0; c < lanes; c++)
            to[j * VEC + c] = from[c * plane + j];
    while (j < right) {
        vec square[VEC];
        j = BASE_MIN(j, right - VEC);
        WINO_UNROLL for (uint32_t c = 0; c < VEC; c++) square[c] =
            c < lanes ? vec_load(from + c * plane + j) : vec_set(0);
        vec_transpose(square);
        WINO_UNROLL for (uint32_t i = 0; i < VEC; i++) vec_store(to + (j + i) * VEC, square[i]);
        j += VEC;
    }
}

/* The inputs of adjacent tiles in a vector of channels as [row][column][VEC], from planes. */
static void wino_strip(const struct wino_run *r, const float *image, int64_t row, int64_t column, int64_t columns,
                       uint32_t channel)
{
    const struct conv_shape *s = &r->w.s;
    int64_t size = r->w.size, left = BASE_MAX(-column, 0), right = BASE_MIN(columns, s->in[2] - column);
    const float *from = image + channel * s->x[1] + row * s->x[3] + column;
    if (row < 0 || row + size > s->in[1] || left > 0 || right < columns || channel + VEC > s->in_channels)
        memset(r->patch, 0, (size_t)(size * columns * VEC) * sizeof(float));
    for (int64_t i = 0; i < size; i++)
        if (row + i >= 0 && row + i < s->in[1])
            wino_transpose(from + i * s->x[3], s->x[1], BASE_MIN(VEC, s->in_channels - channel), left, right,
                           r->patch + i * columns * VEC);
}

/* `count` tiles of one line, the t-th of the block and those after it. */
DENSE_INLINE void wino_line_in(const struct wino_run *r, uint32_t size, const struct wino_place *at, uint32_t t,
                               uint32_t count)
{
    const struct wino *w = &r->w;
    const struct conv_shape *s = &w->s;
    const float *image = (const float *)r->call->data[0] + at->image * s->x[0];
    int64_t row = at->row - s->pad[1], column = at->column - s->pad[2], columns = wino_strip_columns(w, count);
    for (uint32_t c = 0; c < w->depth / VEC; c++) {
        wino_strip(r, image, row, column, columns, c * VEC);
        for (uint32_t i = 0; i < count; i++)
            wino_tile_in(size, r->patch + i * WINO_OUTS * VEC, columns * VEC, VEC,
                         r->in + ((uint64_t)c * w->block + t + i) * VEC, w->in_step);
    }
}

DENSE_INLINE void wino_one_in(const struct wino_run *r, uint32_t size, const struct wino_place *at, uint32_t t)
{
    const struct wino *w = &r->w;
    const struct conv_shape *s = &w->s;
    const float *image = (const float *)r->call->data[0] + at->image * s->x[0], *from = r->patch;
    int64_t row = at->row - s->pad[1], column = at->column - s->pad[2];
    int64_t row_step = (int64_t)size * w->depth, column_step = w->depth;
    if (s->x[1] == 1 && w->depth == s->in_channels && row >= 0 && column >= 0 && row + size <= s->in[1] &&
        column + size <= s->in[2]) {
        from = image + row * s->x[3] + column * s->x[4];
        row_step = s->x[3];
        column_step = s->x[4];
    } else {
        wino_patch(r, image, row, column);
    }
    for (uint32_t c = 0; c < w->depth / VEC; c++)
        wino_tile_in(size, from + c * VEC, row_step, column_step, r->in + ((uint64_t)c * w->block + t) * VEC,
                     w->in_step);
}

DENSE_INLINE void wino_block_in(const struct wino_run *r, uint32_t size, uint32_t first, uint32_t count)
{
    const struct wino *w = &r->w;
    bool planes = w->s.x[4] == 1 && w->s.x[1] != 1;
    for (uint32_t t = 0; t < count;) {
        struct wino_place at = wino_place(w, first + t);
        uint32_t tiles = planes ? BASE_MIN(count - t, w->columns - (uint32_t)at.column / WINO_OUTS) : 1;
        if (planes)
            wino_line_in(r, size, &at, t, tiles);
        else
            wino_one_in(r, size, &at, t);
        t += tiles;
    }
}

/* in: [vectors of channels][block][VEC], weights: [channel][panel], out: [vectors of the panel][block][VEC]. Weights
 * `soon` floats ahead are prefetched: otherwise, with few tiles, the GEMM waits for memory. */
struct wino_product {
    const float *in, *weights;
    uint64_t soon;
    float *out;
};

DENSE_INLINE void wino_multiply(uint32_t rows, const struct wino *w, const struct wino_product *p)
{
    vec sums[UKERNEL_ROWS][UKERNEL_VECS];
    struct ukernel t = { .rows = rows,
                         .vecs = WINO_VECS(VEC),
                         .splits = 1,
                         .group = 1,
                         .b_type = DML_TENSOR_DATA_TYPE_FLOAT32,
                         .a = p->in,
                         .a_row = VEC,
                         .a_step = 1,
                         .b = p->weights,
                         .b_row = WINO_VECS(VEC) * VEC,
                         .next = (const char *)(p->weights + p->soon),
                         .next_lines = WINO_VECS(VEC) * VEC / 16,
                         .next_step = WINO_VECS(VEC) * VEC * sizeof(float) };
    WINO_UNROLL for (uint32_t m = 0; m < rows; m++) WINO_UNROLL for (uint32_t v = 0; v < WINO_VECS(VEC); v++)
        sums[m][v] = vec_set(0);
    for (uint32_t left = w->s.in_channels; left; left -= t.depth) {
        t.depth = BASE_MIN(left, VEC);
        ukernel_multiply(&t, sums);
        t.a += (uint64_t)w->block * VEC;
        t.b = (const float *)t.b + t.depth * t.b_row;
        t.next += t.depth * t.next_step;
    }
    WINO_UNROLL for (uint32_t m = 0; m < rows; m++) WINO_UNROLL for (uint32_t v = 0; v < WINO_VECS(VEC); v++)
        vec_store(p->out + ((uint64_t)v * w->block + m) * VEC, sums[m][v]);
}

static void wino_products(const struct wino_run *r, uint32_t panel, uint32_t count)
{
    const struct wino *w = &r->w;
    uint64_t matrix = (uint64_t)w->s.in_channels * w->panel;
    const float *weights = (const float *)r->call->data[1] + panel * w->points * matrix;
    for (uint32_t point = 0; point < w->points; point++, weights += matrix) {
        uint32_t calls = (count + WINO_ROWS(VEC) - 1) / WINO_ROWS(VEC);
        for (uint32_t row = 0; row < count; calls--) {
            uint32_t rows = (count - row + calls - 1) / calls;
            const struct wino_product p = { .in = r->in + point * w->in_step + (uint64_t)row * VEC,
                                            .weights = weights,
                                            .soon = row ? 0 : matrix,
                                            .out = r->out + point * w->out_step + (uint64_t)row * VEC };
            UKERNEL_BY_COUNT(rows, WINO_ROWS(VEC), wino_multiply, w, &p)
            row += rows;
        }
    }
}

/* Channels `step` apart. */
DENSE_INLINE vec wino_load(const float *from, int64_t step, uint32_t lanes)
{
    float values[VEC] = { 0 };
    if (step == 1 && lanes == VEC)
        return vec_load(from);
    for (uint32_t i = 0; i < lanes; i++)
        values[i] = from[i * step];
    return vec_load(values);
}

/* One vector of channels of one tile. */
struct wino_end {
    int64_t index[4]; /* of the first element */
    int64_t rows, columns;
    uint32_t lanes;
};

static void wino_add(const struct wino_run *r, const struct wino_end *e, uint32_t tensor, vec *values)
{
    const struct kern_view *view = &r->call->op->tensors[tensor];
    const float *from = r->call->data[tensor];
    int64_t step[4];
    for (uint32_t d = 0; d < 4; d++) {
        step[d] = view->sizes[d] > 1 ? view->strides[d] : 0;
        from += e->index[d] * step[d];
    }
    for (int64_t i = 0; i < e->rows; i++)
        for (int64_t j = 0; j < e->columns; j++)
            values[i * WINO_OUTS + j] += wino_load(from + i * step[2] + j * step[3], step[1], e->lanes);
}

#define WINO_ALL(value)                                                                                                \
    for (uint32_t i = 0; i < WINO_OUTS * WINO_OUTS; i++) {                                                             \
        vec x = values[i];                                                                                             \
        values[i] = (value);                                                                                           \
    }

static void wino_store(const struct wino_run *r, const struct wino_end *e, vec *values)
{
    const struct conv_shape *s = &r->w.s;
    float *to = r->call->data[r->call->op->input_count], dense[VEC][WINO_OUTS * WINO_OUTS];
    to += e->index[0] * s->y[0] + e->index[1] * s->y[1] + e->index[2] * s->y[3] + e->index[3] * s->y[4];
    if (s->y[1] == 1 && e->lanes == VEC) {
        for (int64_t i = 0; i < e->rows; i++)
            for (int64_t j = 0; j < e->columns; j++)
                vec_store(to + i * s->y[3] + j * s->y[4], values[i * WINO_OUTS + j]);
        return;
    }
    for (uint32_t part = 0; part < WINO_OUTS * WINO_OUTS; part += VEC) {
        vec_transpose(values + part);
        WINO_UNROLL for (uint32_t c = 0; c < VEC; c++) vec_store(dense[c] + part, values[part + c]);
    }
    bool whole = s->y[4] == 1 && e->columns == WINO_OUTS;
    for (uint32_t c = 0; c < e->lanes; c++, to += s->y[1])
        for (int64_t i = 0; i < e->rows; i++) {
            if (whole)
                memcpy(to + i * s->y[3], dense[c] + i * WINO_OUTS, WINO_OUTS * sizeof(float));
            for (int64_t j = 0; !whole && j < e->columns; j++)
                to[i * s->y[3] + j * s->y[4]] = dense[c][i * WINO_OUTS + j];
        }
}

DENSE_INLINE void wino_block_out(const struct wino_run *r, uint32_t size, uint32_t first, uint32_t count,
                                 uint32_t panel)
{
    const struct wino *w = &r->w;
    for (uint32_t t = 0; t < count; t++) {
        struct wino_place at = wino_place(w, first + t);
        for (uint32_t v = 0; v < WINO_VECS(VEC); v++) {
            uint32_t channel = panel * w->panel + v * VEC;
            vec values[WINO_OUTS * WINO_OUTS], bias = vec_load(r->bias + channel);
            if (channel >= w->s.out_channels)
                break;
            struct wino_end e = { { at.image, channel, at.row, at.column },
                                  BASE_MIN(WINO_OUTS, w->s.out[1] - at.row),
                                  BASE_MIN(WINO_OUTS, w->s.out[2] - at.column),
                                  BASE_MIN(VEC, w->s.out_channels - channel) };
            wino_tile_out(size, r->out + ((uint64_t)v * w->block + t) * VEC, w->out_step, values);
            WINO_UNROLL for (uint32_t i = 0; i < WINO_OUTS * WINO_OUTS; i++) values[i] += bias;
            for (const struct kern_epilogue_step *step = w->post.step; step < w->post.step + w->post.count; step++)
                if (step->tensor)
                    wino_add(r, &e, step->tensor, values);
                else
                    KERN_EPILOGUE_STEP(step, WINO_ALL);
            wino_store(r, &e, values);
        }
    }
}

/* function(run, size, ...) with the size as a constant. */
#define WINO_BY_SIZE(r, function, ...) ((r)->w.size == 6 ? function(r, 6, __VA_ARGS__) : function(r, 8, __VA_ARGS__))

static void wino_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct wino_run r = { .call = call, .in = call->worker_scratch };
    wino_init(call->op, VEC, &r.w);
    const struct wino *w = &r.w;
    if (w->gradient) {
        KERN_ISA_PASTE(wino_grad_, ISA)(call, &w->g, begin, end);
        return;
    }
    r.out = r.in + w->out;
    r.patch = r.in + w->patch;
    r.bias = r.in + w->bias;
    conv_bias(call, &w->s, w->panels * w->panel, r.bias);
    while (begin < end) {
        uint64_t block = begin / w->cuts, stop = BASE_MIN(end, (block + 1) * w->cuts);
        uint32_t first = (uint32_t)block * w->block, count = BASE_MIN(w->block, w->tiles - first);
        uint32_t panel = w->cuts == 1 ? 0 : (uint32_t)(begin % w->cuts);
        uint32_t panels = w->cuts == 1 ? w->panels : panel + (uint32_t)(stop - begin);
        WINO_BY_SIZE(&r, wino_block_in, first, count);
        for (; panel < panels; panel++) {
            wino_products(&r, panel, count);
            WINO_BY_SIZE(&r, wino_block_out, first, count, panel);
        }
        begin = stop;
    }
}

KERN_ISA_RUN(conv_wino_f32, wino_run)

/* ---- the weights ---- */

#define PACK_LANES 8
#define PANEL_MAX  32
typedef double pack_vec __attribute__((vector_size(PACK_LANES * sizeof(double))));
typedef float pack_floats __attribute__((vector_size(PACK_LANES * sizeof(float))));

#define PACK_CHANNELS 4 /* input channels at once: cache lines of the weights and of the output are used whole */

/* The filters of PACK_LANES output channels, `count` of which exist, zeros for others: `apart` floats apart. */
static void pack_load(const struct conv_shape *s, const float *from, uint32_t apart, uint32_t count, pack_vec *out)
{
    uint32_t taps = (uint32_t)(s->kernel[1] * s->kernel[2]);
    for (uint32_t t = 0; t < taps; t++) {
        const float *at = from + (s->flip ? taps - 1 - t : t);
        out[t] = (pack_vec){ 0 };
        for (uint32_t lane = 0; lane < PACK_LANES && lane < count; lane++)
            out[t][lane] = at[lane * apart];
    }
}

/* Values at all points. matrix: [point of a line][tap] */
DENSE_INLINE void pack_values(uint32_t size, uint32_t taps, const double *matrix, const pack_vec *plain, uint32_t step,
                              float *out)
{
    pack_vec half[5 * WINO_SIZE_MAX];
    for (uint32_t i = 0; i < taps * size; i++) {
        half[i] = matrix[i % size * taps] * plain[i / size * taps];
        for (uint32_t t = 1; t < taps; t++)
            half[i] += matrix[i % size * taps + t] * plain[i / size * taps + t];
    }
    for (uint32_t i = 0; i < size * size; i++, out += step) {
        pack_vec sum = matrix[i / size * taps] * half[i % size];
        for (uint32_t t = 1; t < taps; t++)
            sum += matrix[i / size * taps + t] * half[t * size + i % size];
        pack_floats single = __builtin_convertvector(sum, pack_floats);
        memcpy(out, &single, sizeof(single));
    }
}

struct wino_packing {
    const struct wino *w;
    double matrix[5 * WINO_SIZE_MAX]; /* [point of a line][tap] */
    const float *source;
    float *packed;
};

/* The filters for the `count` output channels of a panel from `first` on, of `channels` input channels from c on:
 * [output channel][input channel][tap]. */
static void pack_gather(const struct wino_packing *p, uint32_t first, uint32_t count, uint32_t c, uint32_t channels,
                        float *to)
{
    const struct conv_shape *s = &p->w->s;
    const uint32_t taps = (uint32_t)(s->kernel[1] * s->kernel[2]);
    const bool dense = s->w[4] == 1 && s->w[3] == s->kernel[2];
    for (uint32_t o = 0; o < count; o++, to += PACK_CHANNELS * taps)
        for (uint32_t k = 0; k < channels; k++) {
            const float *from = p->source + (int64_t)(first + o) * s->w[0] + (int64_t)(c + k) * s->w[1];
            if (dense)
                memcpy(to + k * taps, from, taps * sizeof(float));
            for (uint32_t t = 0; !dense && t < taps; t++)
                to[k * taps + t] = from[t / s->kernel[2] * s->w[3] + t % s->kernel[2] * s->w[4]];
        }
}

/* PACK_CHANNELS input channels from c on, of a panel. */
DENSE_INLINE void pack_filters(const struct wino_packing *p, uint32_t size, uint32_t panel, uint32_t c)
{
    const struct wino *w = p->w;
    const uint32_t outs = w->s.out_channels, ins = w->s.in_channels, first = panel * w->panel;
    const uint32_t taps = (uint32_t)(w->s.kernel[1] * w->s.kernel[2]), channels = BASE_MIN(ins - c, PACK_CHANNELS);
    float plain[PANEL_MAX * PACK_CHANNELS * 25];
    float values[WINO_SIZE_MAX * WINO_SIZE_MAX * PACK_CHANNELS * PANEL_MAX];
    pack_gather(p, first, BASE_MIN(outs - first, w->panel), c, channels, plain);
    for (uint32_t k = 0; k < channels; k++)
        for (uint32_t i = 0; i < w->panel; i += PACK_LANES) {
            pack_vec lanes[25];
            pack_load(&w->s, plain + (i * PACK_CHANNELS + k) * taps, PACK_CHANNELS * taps,
                      outs - first > i ? outs - first - i : 0, lanes);
            pack_values(size, size - WINO_OUTS + 1, p->matrix, lanes, PACK_CHANNELS * w->panel,
                        values + k * w->panel + i);
        }
    float *to = p->packed + ((uint64_t)panel * w->points * ins + c) * w->panel;
    for (uint32_t i = 0; i < w->points; i++, to += (uint64_t)ins * w->panel)
        memcpy(to, values + i * PACK_CHANNELS * w->panel, channels * w->panel * sizeof(float));
}

static void pack_range(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct wino_packing *p = context;
    const uint32_t blocks = (p->w->s.in_channels + PACK_CHANNELS - 1) / PACK_CHANNELS;
    (void)worker;
    for (size_t i = begin; i < end; i++)
        if (p->w->size == 6)
            pack_filters(p, 6, (uint32_t)(i / blocks), (uint32_t)(i % blocks) * PACK_CHANNELS);
        else
            pack_filters(p, 8, (uint32_t)(i / blocks), (uint32_t)(i % blocks) * PACK_CHANNELS);
}

#define PACK_GRAIN 16 /* blocks that are worth a thread */

/* Packed: [panel][point][input channel][output channel of the panel]. Whole cache lines are stored at once: those of
 * adjacent points often share cache sets. */
void KERN_ISA_PASTE(wino_pack_, ISA)(const struct wino *w, const float *source, float *packed)
{
    struct wino_packing p = { .w = w, .source = source, .packed = packed };
    const uint32_t taps = (uint32_t)w->s.kernel[1];
    for (uint32_t t = 0; t < taps; t++) {
        double unit[5] = { 0 };
        unit[t] = 1;
        wino_values(w->size, taps, unit, p.matrix + t, taps);
    }
    const size_t blocks = (w->s.in_channels + PACK_CHANNELS - 1) / PACK_CHANNELS;
    base_parallel_for(w->panels * blocks, PACK_GRAIN, pack_range, &p);
}
