/* SPDX-License-Identifier: Apache-2.0 */
/* The convolutions of struct conv_tiles (conv_plans.h). */
#include "kernels/conv/conv_bytes_finish.h"
#include "kernels/row/epilogue_vec.h"
#include "kernels/core/isa.h"
#include "kernels/gemm/amx.h"
#include "kernels/row/row.h"

#define BLOCK_ROWS (2 * AMX_ROWS)
#define END_ROWS   4 /* of results in registers */

struct tiles_run {
    const struct kern_call *call;
    struct conv_tiles p;
    struct finish f; /* bytes */
    char *scratch;
    const char *a;              /* the first row of A */
    int64_t n, low[3], size[3]; /* the band */
    int64_t line, lines;        /* rows of A for a line; lines of a plane that a stride does not skip */
    int64_t first, rows;        /* of A that the band has; direct: of the image's */
    int64_t loaded;             /* index of the band whose inputs are in scratch */
    int64_t x_step;             /* elements of X between the pixels of a line that are read */
};

/* ---- X ---- */

static void round_halves(const float *in, int64_t count, uint16_t *out)
{
    for (int64_t i = 0; i < count; i += 16) {
        const __mmask16 mask = count - i < 16 ? (__mmask16)((1u << (count - i)) - 1) : 0xffff;
        const __m256i rounded = (__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, in + i));
        _mm256_mask_storeu_epi16(out + i, mask, rounded);
    }
}

/* A pixel in whole chunks, zeros behind its channels. */
static void round_chunks(const float *in, int64_t count, uint16_t *out)
{
    for (; count > 0; count -= 2 * VEC, in += 2 * VEC, out += 2 * VEC) {
        const __mmask32 mask = count < 2 * VEC ? (UINT32_C(1) << count) - 1 : ~UINT32_C(0);
        const __m512 low = _mm512_maskz_loadu_ps((__mmask16)mask, in);
        const __m512 high = _mm512_maskz_loadu_ps((__mmask16)(mask >> VEC), in + VEC);
        _mm512_storeu_si512(out, (__m512i)_mm512_cvtne2ps_pbh(high, low));
    }
}

/* Two to four planes at a time, numbers of a pixel side by side. */
static void interleave_planes(const struct tiles_run *r, int64_t from, int64_t count, uint16_t *to)
{
    const struct conv_shape *s = &r->p.s;
    const uint32_t channels = s->in_channels;
    uint16_t order[4 * VEC];
    for (uint32_t i = 0; i < 4 * VEC; i++)
        order[i] = (uint16_t)(i % channels * VEC + i / channels % VEC);
    const __m512i first = _mm512_loadu_si512(order), second = _mm512_loadu_si512(order + 2 * VEC);
    for (; count > 0; count -= VEC, from += VEC, to += channels * VEC) {
        vec plane[4];
        for (uint32_t c = 0; c < 4; c++)
            plane[c] = c < channels
                           ? vec_load_some(r->call->op->tensors[0].type, r->call->data[0], from + c * s->x[1], count)
                           : vec_set(0);
        const __m512i low = (__m512i)_mm512_cvtne2ps_pbh((__m512)plane[1], (__m512)plane[0]);
        const __m512i high = (__m512i)_mm512_cvtne2ps_pbh((__m512)plane[3], (__m512)plane[2]);
        const uint64_t mask = ~UINT64_C(0) >> (64 - BASE_MIN(count, VEC) * channels);
        _mm512_mask_storeu_epi16(to, (__mmask32)mask, _mm512_permutex2var_epi16(low, first, high));
        _mm512_mask_storeu_epi16(to + 2 * VEC, (__mmask32)(mask >> 32), _mm512_permutex2var_epi16(low, second, high));
    }
}

/* Channel by channel. */
static void load_planes(const struct tiles_run *r, int64_t from, int64_t count, char *to, int64_t step)
{
    const struct conv_shape *s = &r->p.s;
    const DML_TENSOR_DATA_TYPE type = r->call->op->tensors[0].type;
    float *floats = (float *)(r->scratch + r->p.line);
    for (int64_t c = 0; c < s->in_channels; c++, from += s->x[1]) {
        const uint8_t *x = (const uint8_t *)r->call->data[0] + from;
        for (int64_t i = 0; r->p.element == 1 && i < count; i++)
            to[i * step + c] = (char)x[i * r->x_step];
        if (r->p.element == 1)
            continue;
        dense_load_row(r->call->data[0], from, r->x_step, type, (uint32_t)count, floats);
        round_halves(floats, count, (uint16_t *)floats); /* each before it is overwritten */
        for (int64_t i = 0; i < count; i++)
            ((uint16_t *)(to + i * step))[c] = ((const uint16_t *)floats)[i];
    }
}

/* `bytes` of X's or a line's, and zeros up to a whole chunk. */
DENSE_INLINE void copy_chunks(const char *from, int64_t bytes, char *to)
{
    for (; bytes >= AMX_BYTES; bytes -= AMX_BYTES, from += AMX_BYTES, to += AMX_BYTES)
        _mm512_storeu_si512(to, _mm512_loadu_si512(from));
    if (bytes)
        _mm512_storeu_si512(to, _mm512_maskz_loadu_epi8(~UINT64_C(0) >> (AMX_BYTES - bytes), from));
}

/* `count` pixels of X from an element on, `step` bytes apart; whole chunks if a pixel has them exclusively. */
static void load_pixels(const struct tiles_run *r, int64_t from, int64_t count, char *to, int64_t step)
{
    const struct conv_shape *s = &r->p.s;
    const DML_TENSOR_DATA_TYPE type = r->call->op->tensors[0].type;
    const int64_t pixel = s->in_channels * r->p.element;
    if (s->x[1] != 1 && s->in_channels > 1) {
        if (r->p.element == 2 && step == pixel && r->x_step == 1 && s->in_channels <= 4)
            interleave_planes(r, from, count, (uint16_t *)to);
        else
            load_planes(r, from, count, to, step);
        return;
    }
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32) {
        const float *x = (const float *)r->call->data[0] + from;
        const int64_t together = pixel == step && r->x_step == s->in_channels ? count : 1;
        if (step % AMX_BYTES == 0 && together == 1)
            for (int64_t i = 0; i < count; i++, x += r->x_step, to += step)
                round_chunks(x, s->in_channels, (uint16_t *)to);
        else
            for (int64_t i = 0; i < count; i += together, x += r->x_step, to += step)
                round_halves(x, together * s->in_channels, (uint16_t *)to);
        return;
    }
    if (type == DML_TENSOR_DATA_TYPE_FLOAT16) {
        for (int64_t i = 0; i < count; i++, from += r->x_step, to += step)
            for (int64_t c = 0; c < s->in_channels; c++)
                ((uint16_t *)to)[c] =
                    base_float_to_bfloat(base_half_to_float(((const uint16_t *)r->call->data[0])[from + c]));
        return;
    }
    const char *x = (const char *)r->call->data[0] + from * r->p.element;
    const int64_t x_step = r->x_step * r->p.element;
    if (pixel == step && x_step == step) {
        memcpy(to, x, (size_t)(count * pixel));
        return;
    }
    for (int64_t i = 0; i < count; i++, x += x_step, to += step)
        if (step % AMX_BYTES)
            memcpy(to, x, (size_t)pixel);
        else
            copy_chunks(x, pixel, to);
}

/* `count` pixels of padding. */
static void pad_pixels(const struct tiles_run *r, int64_t count, char *to, int64_t step)
{
    const int padding = r->p.element == 1 ? (uint8_t)conv_x_zero(r->call) : 0;
    for (int64_t i = 0; i < count; i++, to += step)
        memset(to, padding, (size_t)(r->p.s.in_channels * r->p.element));
}

/* Pixels of an input line from position `low` on, whether they are there or not. */
static void load_line(const struct tiles_run *r, bool there, int64_t from, int64_t low, int64_t count, char *to,
                      int64_t step)
{
    const struct conv_shape *s = &r->p.s;
    const int64_t begin = there ? BASE_MIN(BASE_MAX(-low, 0), count) : count;
    const int64_t end = BASE_MAX(BASE_MIN(s->in[2] - low, count), begin);
    pad_pixels(r, begin, to, step);
    if (end > begin)
        load_pixels(r, from + (low + begin) * s->x[4], end - begin, to + begin * step, step);
    pad_pixels(r, count - end, to + end * step, step);
}

/* A row of A for each output pixel: the taps of a line. Zeros after BFLOAT16, since NaN times 0 is NaN. */
static void load_windows(const struct tiles_run *r, const char *pixels, char *to)
{
    const struct conv_shape *s = &r->p.s;
    const int64_t pixel = s->in_channels * r->p.element, taps = s->kernel[2], length = taps * pixel;
    for (int64_t o = 0; o < r->size[2]; o++, to += r->p.entry, pixels += s->stride[2] * pixel) {
        if (s->dilation[2] == 1 || taps == 1) {
            copy_chunks(pixels, length, to);
            continue;
        }
        for (int64_t k = 0; k < taps; k++)
            memcpy(to + k * pixel, pixels + k * s->dilation[2] * pixel, (size_t)pixel);
        memset(to + length, 0, (size_t)(r->p.entry - length));
    }
}

/* A tap of the band's outputs reads this line. */
static bool line_is_read(const struct tiles_run *r, int64_t line)
{
    const struct conv_shape *s = &r->p.s;
    for (int64_t k = 0, at = line; k < s->kernel[1] && at >= 0; k++, at -= s->dilation[1])
        if (at % s->stride[1] == 0 && at / s->stride[1] < r->size[1])
            return true;
    return false;
}

/* Behind pixels that are not copied in whole chunks, and padding. */
static void clear_tails(const struct tiles_run *r, int64_t count, char *to)
{
    const int64_t pixel = r->p.s.in_channels * r->p.element, entry = r->p.entry;
    for (int64_t i = 0; entry > pixel && i < count; i++, to += entry)
        for (int64_t at = pixel; at < entry;) {
            const int64_t bytes = BASE_MIN(entry - at, AMX_BYTES);
            _mm512_mask_storeu_epi8(to + at, ~UINT64_C(0) >> (AMX_BYTES - bytes), _mm512_setzero_si512());
            at += bytes;
        }
}

static void load_copy_line(const struct tiles_run *r, bool there, int64_t from, char *to)
{
    const struct conv_tiles *p = &r->p;
    const struct conv_shape *s = &p->s;
    const int64_t pixel = s->in_channels * p->element, low = r->low[2] * s->stride[2] - s->pad[2];
    const int64_t count = (r->size[2] - 1) * s->stride[2] + (s->kernel[2] - 1) * s->dilation[2] + 1;
    const bool inside = low >= 0 && low + (r->size[2] - 1) * s->stride[2] < s->in[2];
    if (there && inside && s->kernel[2] == 1) {
        struct tiles_run apart = *r;
        apart.x_step *= s->stride[2];
        load_pixels(&apart, from + low * s->x[4], r->size[2], to, p->entry);
        clear_tails(r, r->size[2], to);
        return;
    }
    if (p->windows) {
        char *pixels = r->scratch + p->line + base_align_up((uint64_t)count * sizeof(float), 64);
        load_line(r, there, from, low, count, pixels, pixel);
        load_windows(r, pixels, to);
        return;
    }
    load_line(r, there, from, low, count, to, p->entry);
    clear_tails(r, count, to);
}

static void load_band(const struct tiles_run *r)
{
    const struct conv_tiles *p = &r->p;
    const struct conv_shape *s = &p->s;
    for (int64_t k0 = 0; k0 < s->kernel[0]; k0++) {
        const int64_t i0 = r->low[0] * s->stride[0] - s->pad[0] + k0 * s->dilation[0];
        char *plane = r->scratch + p->image + k0 * s->stride[1] * r->lines * r->line * p->entry;
        for (int64_t line = 0; line < r->lines * s->stride[1]; line++) {
            const int64_t i1 = r->low[1] * s->stride[1] - s->pad[1] + line;
            const bool there = i0 >= 0 && i0 < s->in[0] && i1 >= 0 && i1 < s->in[1];
            if (line_is_read(r, line))
                load_copy_line(r, there, r->n * s->x[0] + i0 * s->x[2] + i1 * s->x[3],
                               plane + (line % s->stride[1] * r->lines + line / s->stride[1]) * r->line * p->entry);
        }
    }
}

/* Offsets of taps from a row's first byte. */
static void list_taps(const struct tiles_run *r)
{
    const struct conv_tiles *p = &r->p;
    const struct conv_shape *s = &p->s;
    int64_t *list = (int64_t *)(r->scratch + p->list);
    const int64_t along = p->windows ? 1 : s->kernel[2];
    for (int64_t t = 0; t < p->taps; t++) {
        const int64_t k2 = t % along * s->dilation[2], k1 = t / along % s->kernel[1] * s->dilation[1];
        const int64_t plane = t / along / s->kernel[1] * s->stride[1] * r->lines;
        list[t] = ((plane + k1 % s->stride[1] * r->lines + k1 / s->stride[1]) * r->line + k2) * p->entry;
    }
}

static void band_init(struct tiles_run *r, int64_t band)
{
    const struct conv_tiles *p = &r->p;
    const struct conv_shape *s = &p->s;
    int64_t at = band;
    for (uint32_t d = 3; d-- > 0; at /= p->bands[d]) {
        r->low[d] = at % p->bands[d] * p->size[d];
        r->size[d] = BASE_MIN(p->size[d], s->out[d] - r->low[d]);
    }
    r->n = at;
    r->line = conv_tiles_line(p, r->size[2]);
    r->lines = conv_tiles_lines(p, r->size[1]);
    r->rows = (r->size[1] - 1) * r->line + r->size[2];
    r->loaded = band;
    list_taps(r);
    if (p->direct) {
        r->first = r->low[1] * r->line;
        r->a = (const char *)r->call->data[0] + (r->n * s->x[0] + r->low[0] * s->x[2]) * p->element;
        return;
    }
    r->first = 0;
    r->a = r->scratch + p->image;
    load_band(r);
}

/* ---- results ---- */

/* Rows of A that are multiplied at once, and their results: elements of Y, and of added tensors. */
struct tiles_rows {
    int64_t count;
    int64_t y[BLOCK_ROWS + END_ROWS], added[CONV_EPILOGUE_MAX][BLOCK_ROWS + END_ROWS];
};

/* INT64_MIN: rows that do not belong to an output. */
static void list_places(const struct tiles_run *r, const int64_t *strides, int64_t row, int64_t count, int64_t *out)
{
    const int64_t base = r->n * strides[0] + r->low[0] * strides[2] + r->low[1] * strides[3] + r->low[2] * strides[4];
    int64_t o1 = row / r->line, o2 = row % r->line;
    for (int64_t end; count > 0; count -= end, out += end, o2 = 0, o1++) {
        end = BASE_MIN(r->line - o2, count);
        const int64_t at = base + o1 * strides[3] + o2 * strides[4], there = BASE_MIN(r->size[2] - o2, end);
        for (int64_t i = 0; i < there; i++)
            out[i] = at + i * strides[4];
        for (int64_t i = BASE_MAX(there, 0); i < end; i++)
            out[i] = INT64_MIN;
    }
    for (uint32_t i = 0; i < END_ROWS; i++)
        out[i] = INT64_MIN;
}

static void list_rows(const struct tiles_run *r, int64_t row, struct tiles_rows *rows)
{
    list_places(r, r->p.s.y, row, rows->count, rows->y);
    for (uint32_t i = 0; i < r->p.steps.count; i++) {
        const struct kern_view *view = &r->call->op->tensors[r->p.steps.step[i].tensor];
        int64_t strides[5] = { 0 };
        if (!r->p.steps.step[i].tensor)
            continue;
        for (uint32_t d = 0; d < view->rank; d++)
            strides[d < 2 ? d : d + 5 - view->rank] = view->sizes[d] > 1 ? view->strides[d] : 0;
        list_places(r, strides, row, rows->count, rows->added[i]);
    }
}

struct tiles_block {
    const char *sums; /* of the first row */
    const struct tiles_rows *rows;
    uint32_t column, used;
};

/* Two pixels at a time, whose channels fill a vector of bytes. */
DENSE_INLINE void finish_bytes_as(const struct tiles_run *r, const struct tiles_block *b, enum scaling scaling)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const float *scale = (const float *)r->scratch + r->p.c.columns + b->column;
    const __m512 scales[2] = { _mm512_loadu_ps(scale), _mm512_loadu_ps(scale + 16) };
    const __mmask32 mask = ~UINT32_C(0) >> (32 - b->used);
    uint8_t *y = (uint8_t *)r->call->data[r->call->op->input_count] + b->column;
    const int64_t *places = b->rows->y;
    for (int64_t i = 0; i < b->rows->count; i += 2) {
        const char *sums = b->sums + i * CONV_TILES_COLUMNS * 4;
        __m512i number[4];
        for (uint32_t v = 0; v < 4; v++)
            number[v] = scaled(_mm512_loadu_si512(sums + v * 64), scales[v % 2], &r->f.by, scaling);
        const __m512i bytes =
            _mm512_permutexvar_epi32(order, finished(&r->f, number[0], number[1], number[2], number[3]));
        if (places[i] != INT64_MIN)
            _mm256_mask_storeu_epi8(y + places[i], mask, _mm512_castsi512_si256(bytes));
        if (places[i + 1] != INT64_MIN)
            _mm256_mask_storeu_epi8(y + places[i + 1], mask, _mm512_extracti64x4_epi64(bytes, 1));
    }
}

static void finish_bytes(const struct tiles_run *r, const struct tiles_block *b)
{
    if (r->f.scaling == MULTIPLY)
        finish_bytes_as(r, b, MULTIPLY);
    else if (r->f.scaling == BY_INVERSE)
        finish_bytes_as(r, b, BY_INVERSE);
    else
        finish_bytes_as(r, b, DIVIDE);
}

#define EACH_SUM(value)                                                                                                \
    _Pragma("GCC unroll 8") for (uint32_t e = 0; e < 2 * END_ROWS; e++)                                                \
    {                                                                                                                  \
        const vec x = v[e];                                                                                            \
        v[e] = (value);                                                                                                \
    }

/* Two vectors of a row. */
DENSE_INLINE void end_store(DML_TENSOR_DATA_TYPE type, void *y, int64_t at, const vec *v, uint32_t used)
{
    if ((uint32_t)type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16 && used == 2 * VEC) {
        _mm512_storeu_si512((uint16_t *)y + at, (__m512i)_mm512_cvtne2ps_pbh((__m512)v[1], (__m512)v[0]));
        return;
    }
    vec_store_some(type, y, at, v[0], used);
    if (used > VEC)
        vec_store_some(type, y, at + VEC, v[1], used - VEC);
}

DENSE_INLINE void end_add(const struct tiles_run *r, const struct tiles_block *b, uint32_t step, int64_t row, vec *v)
{
    const uint32_t tensor = r->p.steps.step[step].tensor;
    const DML_TENSOR_DATA_TYPE type = r->call->op->tensors[tensor].type;
    const int64_t *places = b->rows->added[step] + row;
#pragma GCC unroll 8
    for (uint32_t e = 0; e < 2 * END_ROWS; e++)
        if (places[e / 2] != INT64_MIN && e % 2 * VEC < b->used)
            v[e] += vec_load_some(type, r->call->data[tensor], places[e / 2] + b->column + e % 2 * VEC,
                                  b->used - e % 2 * VEC);
}

/* The epilogue of a few rows at a time stays in registers. */
DENSE_INLINE void finish_halves_as(DML_TENSOR_DATA_TYPE type, const struct tiles_run *r, const struct tiles_block *b,
                                   uint32_t used)
{
    const struct kern_epilogue *steps = &r->p.steps;
    const float *sums = (const float *)b->sums;
    void *y = r->call->data[r->call->op->input_count];
    for (int64_t i = 0; i < b->rows->count; i += END_ROWS, sums += END_ROWS * CONV_TILES_COLUMNS) {
        vec v[2 * END_ROWS];
#pragma GCC unroll 8
        for (uint32_t e = 0; e < 2 * END_ROWS; e++)
            v[e] = vec_load(sums + e * VEC);
        for (uint32_t s = 0; s < steps->count; s++) {
            if (steps->step[s].tensor)
                end_add(r, b, s, i, v);
            else
                KERN_EPILOGUE_STEP(&steps->step[s], EACH_SUM);
        }
#pragma GCC unroll 4
        for (uint32_t o = 0; o < END_ROWS; o++)
            if (b->rows->y[i + o] != INT64_MIN)
                end_store(type, y, b->rows->y[i + o] + b->column, v + 2 * o, used);
    }
}

static void finish_halves(const struct tiles_run *r, const struct tiles_block *b)
{
    const DML_TENSOR_DATA_TYPE type = r->call->op->tensors[r->call->op->input_count].type;
    if (b->used == CONV_TILES_COLUMNS)
        VEC_BY_TYPE(type, finish_halves_as, r, b, CONV_TILES_COLUMNS);
    else
        VEC_BY_TYPE(type, finish_halves_as, r, b, b->used);
}

/* ---- work ---- */

/* In-place rows of A end with the image: the last tiles start earlier. */
static int64_t block_begin(const struct tiles_run *r, int64_t row, int64_t *count)
{
    if (!r->p.direct)
        return row;
    const int64_t all = r->p.s.out[1] * r->p.s.out[2];
    if (all < BLOCK_ROWS)
        *count = BASE_MIN(*count, AMX_ROWS);
    const int64_t read = *count > AMX_ROWS ? BLOCK_ROWS : AMX_ROWS;
    return BASE_MIN(row, all - r->first - read);
}

DENSE_INLINE void tiles_finish(const struct tiles_run *r, const struct tiles_block *b, enum amx_kind kind)
{
    if (kind == AMX_BF16)
        finish_halves(r, b);
    else
        finish_bytes(r, b);
}

/* Results of a block are finished while the tiles of the next one multiply. */
DENSE_INLINE void tiles_unit(struct tiles_run *r, int64_t unit, enum amx_kind kind)
{
    const struct conv_tiles *p = &r->p;
    if (r->loaded != unit / p->units)
        band_init(r, unit / p->units);
    const uint32_t first = (uint32_t)(unit % p->units) * p->together, end = BASE_MIN(first + p->together, p->panels);
    struct tiles_rows rows[2];
    struct tiles_block blocks[2];
    struct amx_block block = { .a_step = p->entry,
                               .taps = (const int64_t *)(r->scratch + p->list),
                               .tap_count = p->taps,
                               .run = p->run,
                               .b_step = CONV_TILES_COLUMNS * 4,
                               .sums_step = CONV_TILES_COLUMNS * 4 };
    uint32_t done = 0, lists = 0;
    for (int64_t row = 0, count; row < r->rows; row += count, lists++) {
        struct tiles_rows *these = &rows[lists % 2];
        count = BASE_MIN(r->rows - row, BLOCK_ROWS);
        const int64_t begin = block_begin(r, row, &count);
        these->count = count;
        list_rows(r, row, these);
        block.a = r->a + (r->first + begin) * p->entry;
        for (uint32_t panel = first; panel < end; panel++, done++) {
            struct tiles_block *b = &blocks[done % 2];
            *b = (struct tiles_block){ .rows = these, .column = panel * CONV_TILES_COLUMNS };
            b->used = BASE_MIN(p->s.out_channels - b->column, CONV_TILES_COLUMNS);
            block.b = (const char *)r->call->data[1] + panel * p->panel_bytes;
            block.start = r->scratch + b->column * 4;
            block.sums = r->scratch + p->sums + done % 2 * CONV_TILES_SUMS;
            b->sums = block.sums + (row - begin) * CONV_TILES_COLUMNS * 4;
            amx_multiply(kind, &block, (uint32_t)(row + count - begin), b->used);
            if (done)
                tiles_finish(r, &blocks[(done + 1) % 2], kind);
        }
    }
    if (done)
        tiles_finish(r, &blocks[(done + 1) % 2], kind);
}

void kern_conv_bytes_amx_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct tiles_run r = { .call = call, .scratch = call->worker_scratch, .loaded = -1 };
    conv_tiles_init(call->op, 1, &r.p);
    r.x_step = r.p.s.x[4];
    const struct conv_tiles *p = &r.p;
    int32_t *start = call->worker_scratch;
    const int32_t *sums = (const int32_t *)((const char *)call->data[1] + p->panel_bytes * p->panels);
    const float largest = conv_bytes_parameters(call, &p->c, sums, false, start, (float *)(start + p->c.columns));
    r.f = finish_of(call, &p->c, largest);
    amx_begin();
    if (call->op->tensors[0].type == DML_TENSOR_DATA_TYPE_INT8)
        for (uint64_t unit = begin; unit < end; unit++)
            tiles_unit(&r, (int64_t)unit, AMX_S8S8);
    else
        for (uint64_t unit = begin; unit < end; unit++)
            tiles_unit(&r, (int64_t)unit, AMX_U8S8);
    amx_end();
}

void kern_conv_bf16_amx_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct tiles_run r = { .call = call, .scratch = call->worker_scratch, .loaded = -1 };
    conv_tiles_init(call->op, 2, &r.p);
    r.x_step = r.p.s.x[4];
    const struct conv_shape *s = &r.p.s;
    float *start = call->worker_scratch;
    for (int64_t o = 0; o < r.p.c.columns; o++)
        start[o] = call->op->u.conv.has_bias && o < s->out_channels
                       ? (float)dense_load(call->data[2], o * s->bias, call->op->tensors[2].type)
                       : 0;
    amx_begin();
    for (uint64_t unit = begin; unit < end; unit++)
        tiles_unit(&r, (int64_t)unit, AMX_BF16);
    amx_end();
}
