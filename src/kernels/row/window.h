/* SPDX-License-Identifier: Apache-2.0 */
/* Windows over planes whose rows are contiguous (nchw). Bands of output rows are computed from a padded copy of the
 * input rows that is split by phase: element (i, j) of phase (p, q) is the padded input's element
 * (i * stride + p, j * stride + q). Every tap then reads one contiguous run, and because all phases have the same pitch
 * as the results, rows need not be processed one by one: a whole band is a single run. */
#ifndef KERNELS_WINDOW_H
#define KERNELS_WINDOW_H

#include "kernels/vec/vec.h"
#include "kernels/row/row.h"

#define WINDOW_STEP  32   /* whole vectors of every instruction set */
#define WINDOW_BAND  4096 /* results of a band, about */
#define WINDOW_LIMIT (1 << 20)

/* Index 0: rows, 1: columns. */
struct window {
    int64_t in[2], out[2], kernel[2], stride[2], dilation[2], pad[2];
    int64_t x_row;  /* elements from one input row to the next */
    int64_t x_step; /* from one of a row to the next, 0: 1 */
    int64_t slots;  /* bands of planes that are in memory at once, 0: 1 */
    float fill;     /* value of the padding */
    DML_TENSOR_DATA_TYPE type;
    float zero; /* subtracted from elements of INT8 and UINT8 */

    bool fits;           /* sizes are small enough to be worked out; the members below are set only then */
    int64_t pitch, rows; /* of a band's results */
    int64_t phase_rows, phase_floats, line_floats, run_floats;
};

DENSE_INLINE void window_plan_init(struct window *w)
{
    int64_t far[2]; /* phase elements from a tap 0 to the farthest tap */
    w->fits = true;
    for (int d = 0; d < 2; d++) {
        far[d] = (w->kernel[d] - 1) * w->dilation[d] / w->stride[d];
        w->fits &= far[d] < WINDOW_LIMIT && w->out[d] < WINDOW_LIMIT && w->stride[d] < WINDOW_LIMIT / 1024;
    }
    if (!w->fits)
        return;
    w->slots = BASE_MAX(w->slots, 1);
    w->pitch = w->out[1] + far[1];
    w->rows = BASE_MAX(WINDOW_BAND / w->pitch, 1);
    w->rows = BASE_MIN(w->rows, w->out[0]);
    w->phase_rows = w->rows + far[0];
    w->run_floats = (int64_t)base_align_up((uint64_t)(w->rows * w->pitch), WINDOW_STEP);
    w->phase_floats =
        (int64_t)base_align_up((uint64_t)(w->phase_rows * w->pitch + far[1]), WINDOW_STEP) + 2 * WINDOW_STEP;
    w->line_floats = (int64_t)base_align_up((uint64_t)(w->pitch * w->stride[1]), WINDOW_STEP) + WINDOW_STEP;
}

/* Of the phases of one band. */
DENSE_INLINE int64_t window_slot_floats(const struct window *w)
{
    return w->stride[0] * w->stride[1] * w->phase_floats;
}

/* Scratch: the phases of all slots, a line, results at the pitch, results close together. */
DENSE_INLINE uint64_t window_floats(const struct window *w)
{
    if (!w->fits)
        return UINT64_MAX;
    return (uint64_t)(w->slots * window_slot_floats(w) + w->line_floats + 2 * w->run_floats + 2 * WINDOW_STEP);
}

/* ---- loading the bands, by the including file's instruction set ---- */

struct window_band {
    float *phases, *line, *run, *dense; /* phases: of a slot, the first after window_band_init */
};

static inline void window_band_init(const struct window *w, struct window_band *band, float *scratch)
{
    band->phases = scratch;
    band->line = band->phases + w->slots * window_slot_floats(w);
    band->run = band->line + w->line_floats;
    band->dense = band->run + w->run_floats;
    memset(scratch, 0, window_floats(w) * sizeof(float));
}

/* The position of tap (k0, k1) of the band's first result. */
DENSE_INLINE const float *window_tap(const struct window *w, const struct window_band *band, int64_t k0, int64_t k1)
{
    int64_t y = k0 * w->dilation[0], x = k1 * w->dilation[1];
    int64_t phase = y % w->stride[0] * w->stride[1] + x % w->stride[1];
    return band->phases + phase * w->phase_floats + y / w->stride[0] * w->pitch + x / w->stride[1];
}

/* Up to a vector more than `count` floats are written: the caller fills in ascending order. */
static inline void window_fill(float *to, int64_t count, float value)
{
    for (int64_t i = 0; i < count; i += VEC)
        vec_store(to + i, vec_set(value));
}

/* to[i] = from[i] - zero */
DENSE_INLINE void window_bytes(const uint8_t *from, int64_t count, bool is_signed, float zero, float *to)
{
#if defined(__AVX512BW__) && defined(__AVX512VL__)
    for (int64_t i = 0; i < count; i += 16) { /* short rows are frequent */
        __mmask16 mask = count - i < 16 ? (__mmask16)((1u << (count - i)) - 1) : 0xffff;
        __m128i bytes = _mm_maskz_loadu_epi8(mask, from + i);
        __m512i wide = is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
        _mm512_storeu_ps(to + i, _mm512_sub_ps(_mm512_cvtepi32_ps(wide), _mm512_set1_ps(zero)));
    }
#else
    for (int64_t i = 0; i < count; i++)
        to[i] = (is_signed ? (float)(int8_t)from[i] : (float)from[i]) - zero;
#endif
}

/* to[0 .. width) = fill before, the input row, fill after */
static inline void window_load_row(const struct window *w, const void *x, int64_t at, int64_t width, float *to)
{
    int64_t count = BASE_MIN(w->in[1], width - w->pad[1]), i = 0;
    window_fill(to, BASE_MIN(w->pad[1], width), w->fill);
    if (count <= 0)
        return;
    to += w->pad[1];
    if (w->x_step > 1) {
        dense_load_row(x, at, w->x_step, w->type, (uint32_t)count, to);
    } else if (w->type == DML_TENSOR_DATA_TYPE_FLOAT32) {
        const float *from = (const float *)x + at;
        for (; i + VEC <= count; i += VEC)
            vec_store(to + i, vec_load(from + i));
        if (i < count)
            vec_store(to + i, vec_load_part(from + i, (uint32_t)(count - i), vec_set(w->fill)));
    } else if (w->type == DML_TENSOR_DATA_TYPE_UINT8) {
        window_bytes((const uint8_t *)x + at, count, false, w->zero, to);
    } else if (w->type == DML_TENSOR_DATA_TYPE_INT8) {
        window_bytes((const uint8_t *)x + at, count, true, w->zero, to);
    } else {
        dense_load_row(x, at, 1, w->type, (uint32_t)count, to);
    }
    window_fill(to + count, width - w->pad[1] - count, w->fill);
}

static inline void window_split(const float *restrict line, int64_t stride, int64_t count, float *restrict to)
{
    if (stride == 2) {
        for (int64_t i = 0; i < count; i++)
            to[i] = line[i * 2];
        return;
    }
    for (int64_t i = 0; i < count; i++)
        to[i] = line[i * stride];
}

/* The input rows that `rows` output rows from `first` on need; x_at is the element of the plane's first element. */
static inline void window_load(const struct window *w, const struct window_band *band, const void *x, int64_t x_at,
                               int64_t first, int64_t rows)
{
    int64_t needed = rows + w->phase_rows - w->rows;
    for (int64_t i = 0; i < needed * w->stride[0]; i++) {
        int64_t row = first * w->stride[0] - w->pad[0] + i, phase = i % w->stride[0] * w->stride[1];
        float *to = band->phases + phase * w->phase_floats + i / w->stride[0] * w->pitch;
        bool inside = row >= 0 && row < w->in[0];
        float *line = w->stride[1] == 1 ? to : band->line;
        if (inside)
            window_load_row(w, x, x_at + row * w->x_row, w->pitch * w->stride[1], line);
        for (int64_t p = 0; p < w->stride[1]; p++) {
            if (!inside)
                window_fill(to + p * w->phase_floats, w->pitch, w->fill);
            else if (w->stride[1] > 1)
                window_split(line + p, w->stride[1], w->pitch, to + p * w->phase_floats);
        }
    }
}

/* The results without the gaps between rows. */
static inline float *window_dense(const struct window *w, const struct window_band *band, int64_t rows)
{
    int64_t width = w->out[1];
    if (w->pitch == width)
        return band->run;
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t i = 0; i < width; i += VEC)
            vec_store(band->dense + row * width + i, vec_load(band->run + row * w->pitch + i));
    }
    return band->dense;
}

/* The destination of bands of results. */
struct window_to {
    const struct kern_call *call;
    const struct kern_op *flat; /* the op with the two last dimensions merged, NULL when they cannot be */
    void *epilogue;             /* scratch */
    uint32_t row_dim;
};

/* Stores a band. at: of the first row. */
static inline void window_finish(const struct window_to *out, const struct window *w, const float *values,
                                 const uint32_t *at, int64_t rows)
{
    uint32_t where[KERN_RANK_MAX];
    struct kern_call to = *out->call;
    memcpy(where, at, sizeof(where));
    if (out->flat) {
        to.op = out->flat;
        where[out->row_dim] = at[out->row_dim] * (uint32_t)w->out[1];
        dense_finish_f32(&to, out->epilogue, where, (uint32_t)(rows * w->out[1]), values);
        return;
    }
    for (int64_t row = 0; row < rows; row++) {
        if (out->row_dim + 1 < to.op->tensors[0].rank)
            where[out->row_dim] = at[out->row_dim] + (uint32_t)row;
        dense_finish_f32(&to, out->epilogue, where, (uint32_t)w->out[1], values + row * w->out[1]);
    }
}

#endif
