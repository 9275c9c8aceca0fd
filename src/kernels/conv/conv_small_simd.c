/* SPDX-License-Identifier: Apache-2.0 */
/* The convolutions of struct conv_small_cin and struct conv_small_cout (conv_plans.h). */
#include "kernels/core/isa.h"
#include "kernels/conv/conv_small_cin_tile.h"
#include "kernels/gemm/ukernel.h"
#include "kernels/row/row.h"
#include "kernels/row/tile_store.h"
#include "kernels/vec/vec.h"

/* Copies a row's results of `channels` channels from the buffer to Y. */
static void small_cin_store(const struct small_cin *r, float *y, int64_t channels)
{
    const struct conv_shape *s = &r->f.s;
    struct tile_to to = { y, DML_TENSOR_DATA_TYPE_FLOAT32, 0, s->y[4], s->y[1] };
    for (int64_t i = 0; i < s->out[2]; i += VEC) {
        for (int64_t c = 0; c < channels; c += VEC) {
            to.at = i * s->y[4] + c * s->y[1];
            tile_store(&to, r->results + i * CIN_WIDTH + c, CIN_WIDTH, BASE_MIN(s->out[2] - i, VEC),
                       BASE_MIN(channels - c, VEC));
        }
    }
    for (int64_t c = 0; r->f.post && s->y[1] != 1 && c < channels; c++)
        dense_finish_line(r->call, r->epilogue, y + c * s->y[1], s->out[2]);
}

/* x: the copy's first row for the output row. y: of the row's first result. */
static void small_cin_row(const struct small_cin *r, const float *x, float *y)
{
    const struct conv_shape *s = &r->f.s;
    for (int64_t block = 0; block < r->f.blocks; block += CIN_BLOCKS) {
        const int64_t first = block * CONV_SMALL_CIN_LANES, width = s->out[2];
        float *to = y + first * s->y[1];
        struct small_cin_tile t = { .bias = r->bias + first, .channels = BASE_MIN(s->out_channels - first, CIN_WIDTH) };
        t.w = r->weights + first * r->f.taps;
        t.y_step = r->f.direct ? s->y[4] : CIN_WIDTH;
        for (int64_t i = 0; i < width; i += t.pixels) {
            t.x = x + i * s->stride[2];
            t.y = (r->f.direct ? to : r->results) + i * t.y_step;
            small_cin_tile_next(r, &t, width - i);
        }
        if (!r->f.direct)
            small_cin_store(r, to, t.channels);
    }
    if (r->f.post && s->y[1] == 1)
        dense_finish_line(r->call, r->epilogue, y, s->out[2] * s->out_channels);
}

static void small_cin_init(struct small_cin *r, const struct kern_call *call)
{
    conv_small_cin_init(call->op, &r->f);
    float *scratch = call->worker_scratch;
    r->call = call;
    r->image = scratch + r->f.image;
    r->bias = scratch + r->f.bias;
    r->offsets = (int32_t *)(scratch + r->f.offsets);
    r->results = scratch + r->f.results;
    r->epilogue = scratch + r->f.epilogue;
    r->weights = call->op->packed_input == 2 ? call->data[1] : scratch + r->f.weights;
    if (call->op->packed_input != 2)
        conv_small_cin_pack(&r->f, call->data[1], scratch + r->f.weights);
    conv_bias(call, &r->f.s, r->f.blocks * CONV_SMALL_CIN_LANES, r->bias);
    small_cin_offsets(r);
}

static void small_cin_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct small_cin r;
    small_cin_init(&r, call);
    const struct conv_shape *s = &r.f.s;
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        const int64_t n = unit / r.f.bands, first = unit % r.f.bands * r.f.rows;
        const int64_t rows = BASE_MIN(r.f.rows, s->out[1] - first);
        small_cin_load(&r, n, first * s->stride[1] - s->pad[1]);
        for (int64_t i = 0; i < rows; i++)
            small_cin_row(&r, r.image + i * s->stride[1] * s->in_channels * r.f.pitch,
                          (float *)call->data[call->op->input_count] + n * s->y[0] + (first + i) * s->y[3]);
    }
}

KERN_ISA_RUN(conv_small_cin_f32, small_cin_run)

/* ---- few output channels ---- */

struct small_cout_run {
    struct conv_small_cout f;
    const struct kern_call *call;
    float *in, *weights, *bias, *sums;
    void *epilogue;
};

/* sums[o][x] of one row: weights [channel][row][column][o], `from` the row's first input. */
DENSE_INLINE void small_cout_row(uint32_t vecs, uint32_t outs, const struct small_cout_run *r, const float *from)
{
    const struct conv_shape *s = &r->f.s;
    const float *weights = r->weights;
    vec sums[CONV_SMALL_COUT_CHANNELS][CONV_SMALL_COUT_VECS];
#pragma GCC unroll 8
    for (uint32_t o = 0; o < outs; o++) {
#pragma GCC unroll 8
        for (uint32_t v = 0; v < vecs; v++)
            sums[o][v] = vec_set(r->bias[o]);
    }
    for (uint32_t c = 0; c < s->in_channels; c++, from += r->f.in_rows * r->f.pitch)
        for (int64_t i = 0; i < s->kernel[1]; i++) {
            const float *at = from + i * s->dilation[1] * r->f.pitch;
            for (int64_t j = 0; j < s->kernel[2]; j++, at += s->dilation[2], weights += outs) {
                vec w[CONV_SMALL_COUT_CHANNELS];
#pragma GCC unroll 8
                for (uint32_t o = 0; o < outs; o++)
                    w[o] = vec_set(weights[o]);
#pragma GCC unroll 8
                for (uint32_t v = 0; v < vecs; v++) {
                    vec x = vec_load(at + v * VEC);
#pragma GCC unroll 8
                    for (uint32_t o = 0; o < outs; o++)
                        sums[o][v] = vec_fma(x, w[o], sums[o][v]);
                }
            }
        }
#pragma GCC unroll 8
    for (uint32_t o = 0; o < outs; o++) {
#pragma GCC unroll 8
        for (uint32_t v = 0; v < vecs; v++)
            vec_store(r->sums + o * r->f.columns + v * VEC, sums[o][v]);
    }
}

#if VEC == 8
#define COUT_MAX(outs) (12 / (outs) < 4 ? 12 / (outs) : 4) /* half the registers */
#else
#define COUT_MAX(outs) (24 / (outs) < CONV_SMALL_COUT_VECS ? 24 / (outs) : CONV_SMALL_COUT_VECS)
#endif

DENSE_INLINE void small_cout_row_of(uint32_t outs, const struct small_cout_run *r, const float *from, uint32_t vecs)
{
    UKERNEL_BY_COUNT(vecs, COUT_MAX(outs), small_cout_row, outs, r, from)
}

/* The first `count` outputs of a row, in as many vectors at once as fit the registers. */
static void small_cout_row_parts(const struct small_cout_run *r, const float *from, uint32_t count)
{
    struct small_cout_run part = *r;
    uint32_t outs = r->f.s.out_channels, vecs = (count + VEC - 1) / VEC, most = COUT_MAX(outs);
    uint32_t parts = (vecs + most - 1) / most;
    for (; parts; parts--) {
        uint32_t some = (vecs + parts - 1) / parts;
        UKERNEL_BY_COUNT(outs, CONV_SMALL_COUT_CHANNELS, small_cout_row_of, &part, from, some)
        from += some * VEC;
        part.sums += some * VEC;
        vecs -= some;
    }
}

/* VEC channels of neighbouring columns, channels innermost in memory. */
DENSE_INLINE void small_cout_transpose(const struct small_cout_run *r, const float *from, int64_t step, float *to)
{
    vec square[VEC];
#pragma GCC unroll 16
    for (uint32_t i = 0; i < VEC; i++)
        square[i] = vec_load(from + i * step);
    vec_transpose(square);
#pragma GCC unroll 16
    for (uint32_t i = 0; i < VEC; i++)
        vec_store(to + i * r->f.in_rows * r->f.pitch, square[i]);
}

/* One input row of all channels, columns [left, right) of the band; `from` and `to` at channel 0 and column 0. */
static void small_cout_load_row(const struct small_cout_run *r, const float *from, float *to, int64_t left,
                                int64_t right)
{
    const struct conv_shape *s = &r->f.s;
    int64_t plane = r->f.in_rows * r->f.pitch;
    uint32_t c = 0;
    for (; s->x[1] == 1 && s->x[4] != 1 && right - left >= VEC && c + VEC <= s->in_channels; c += VEC) {
        int64_t j = left;
        for (; j + VEC < right; j += VEC)
            small_cout_transpose(r, from + c + j * s->x[4], s->x[4], to + c * plane + j);
        j = right - VEC;
        small_cout_transpose(r, from + c + j * s->x[4], s->x[4], to + c * plane + j);
    }
    for (; c < s->in_channels; c++)
        dense_load_row(from, c * s->x[1] + left * s->x[4], s->x[4], DML_TENSOR_DATA_TYPE_FLOAT32,
                       (uint32_t)(right - left), to + c * plane + left);
}

static void small_cout_load(const struct small_cout_run *r, int64_t image, int64_t row, int64_t column)
{
    const struct conv_small_cout *f = &r->f;
    const struct conv_shape *s = &f->s;
    int64_t top = row - s->pad[1], first = column - s->pad[2], plane = f->in_rows * f->pitch;
    int64_t left = BASE_MAX(-first, 0), right = BASE_MIN(f->pitch, s->in[2] - first);
    const float *from = (const float *)r->call->data[0] + image * s->x[0] + first * s->x[4];
    for (int64_t i = 0; i < f->in_rows; i++) {
        bool inside = top + i >= 0 && top + i < s->in[1] && left < right;
        for (uint32_t c = 0; c < s->in_channels && (!inside || left > 0 || right < f->pitch); c++) {
            float *to = r->in + c * plane + i * f->pitch;
            int64_t start = inside ? left : f->pitch, end = inside ? right : f->pitch;
            memset(to, 0, (size_t)start * sizeof(float));
            memset(to + end, 0, (size_t)(f->pitch - end) * sizeof(float));
        }
        if (inside)
            small_cout_load_row(r, from + (top + i) * s->x[3], r->in + i * f->pitch, left, right);
    }
}

static void small_cout_band(const struct small_cout_run *r, uint64_t unit)
{
    const struct conv_small_cout *f = &r->f;
    uint64_t bands = (uint64_t)(f->bands[0] * f->bands[1]), band = unit % bands;
    int64_t row = (int64_t)band / f->bands[1] * f->rows, column = (int64_t)band % f->bands[1] * f->columns;
    if (column >= f->s.out[2])
        return;
    int64_t rows = BASE_MIN(f->rows, f->s.out[1] - row);
    uint32_t count = (uint32_t)BASE_MIN(f->columns, f->s.out[2] - column);
    small_cout_load(r, (int64_t)(unit / bands), row, column);
    for (int64_t i = 0; i < rows; i++) {
        small_cout_row_parts(r, r->in + i * f->pitch, count);
        for (uint32_t o = 0; o < f->s.out_channels; o++) {
            const uint32_t at[KERN_RANK_MAX] = { (uint32_t)(unit / bands), o, (uint32_t)(row + i), (uint32_t)column };
            dense_finish_f32(r->call, r->epilogue, at, count, r->sums + o * f->columns);
        }
    }
}

static void small_cout_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct small_cout_run r = { .call = call, .in = call->worker_scratch };
    conv_small_cout_init(call->op, &r.f);
    const struct conv_shape *s = &r.f.s;
    r.weights = r.in + r.f.weights;
    r.bias = r.in + r.f.bias;
    r.sums = r.in + r.f.sums;
    r.epilogue = (char *)call->worker_scratch + base_align_up(r.f.floats * sizeof(float), 64);
    uint32_t taps = (uint32_t)(s->kernel[1] * s->kernel[2]), width = (uint32_t)s->kernel[2];
    const float *from = call->data[1], *bias = call->data[2];
    for (uint32_t o = 0; o < s->out_channels; o++) {
        r.bias[o] = call->op->u.conv.has_bias ? bias[o * s->bias] : 0;
        for (uint32_t i = 0; i < s->in_channels * taps; i++) {
            uint32_t tap = s->flip ? taps - 1 - i % taps : i % taps;
            r.weights[i * s->out_channels + o] =
                from[o * s->w[0] + i / taps * s->w[1] + tap / width * s->w[3] + tap % width * s->w[4]];
        }
    }
    for (uint64_t unit = begin; unit < end; unit++)
        small_cout_band(&r, unit);
}

KERN_ISA_RUN(conv_small_cout_f32, small_cout_run)
