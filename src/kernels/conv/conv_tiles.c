/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts convolutions as implicit GEMM with AMX (struct conv_tiles), plans their work, and packs their weights. */
#include "kernels/conv/conv_plans.h"
#include "kernels/core/isa.h"

enum {
    CHANNELS_MAX = 1 << 16,
    BAND_BYTES = 512 * 1024,    /* of the copy: in the second-level cache next to a panel */
    BAND_MAX = 8 * 1024 * 1024, /* of the minimum size of a band */
    ROWS_MIN = 16,              /* of A: a tile */
    ROWS_MOST = 512,            /* more do not reuse a panel better */
    TOGETHER_BYTES = 32 * 1024, /* of panels: in the first-level cache next to rows */
    CHUNK = 64,                 /* bytes of a row in a tile */
    PACK = 4,
    BYTES_MIN = 64, /* of a sum: for fewer, the epilogue dominates, which VNNI does in registers */
    HALVES_MIN = 16,
};

static int64_t chunks(int64_t bytes)
{
    return (bytes + CHUNK - 1) / CHUNK;
}

/* Y is NHWC, and so are added tensors, unless they are broadcast. */
static bool halves_fit(const struct kern_op *op, struct conv_tiles *p)
{
    if (op->u.conv.integer || !dense_short_floats(op) || !conv_epilogue_steps(op, &p->steps) ||
        !(dense_half_allowed(op) ||
          dense_same_type(op, 0, 1, (DML_TENSOR_DATA_TYPE)ANYDML_TENSOR_DATA_TYPE_BFLOAT16)) ||
        !conv_shape_init(op, &p->s) || (op->u.conv.has_bias && op->tensors[2].sizes[1] != p->s.out_channels))
        return false;
    for (uint32_t i = 0; i < p->steps.count; i++) {
        const struct kern_view *view = &op->tensors[p->steps.step[i].tensor];
        if (!p->steps.step[i].tensor)
            continue;
        if (view->rank != op->tensors[op->input_count].rank || !dense_is_short_float(view->type) ||
            view->sizes[1] != p->s.out_channels || (view->strides[1] != 1 && view->sizes[1] > 1))
            return false;
    }
    return true;
}

static bool shape_suits(const struct conv_tiles *p)
{
    const struct conv_shape *s = &p->s;
    return conv_last_fits(s) && s->groups == 1 && !s->transposed && !s->flip && s->out_channels <= CHANNELS_MAX &&
           (s->y[1] == 1 || s->out_channels == 1);
}

/* The rows of A are X's pixels. */
static bool is_direct(const struct kern_op *op, const struct conv_tiles *p)
{
    const struct conv_shape *s = &p->s;
    const DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    return conv_is_pointwise(s) && memcmp(s->in, s->out, sizeof(s->in)) == 0 &&
           (p->element == 1 || (uint32_t)type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16) && s->x[1] == 1 &&
           s->in_channels * p->element % CHUNK == 0 && s->out[1] * s->out[2] >= ROWS_MIN &&
           (s->out[1] == 1 || s->x[3] == s->x[4] * s->out[2]);
}

static int64_t band_bytes(const struct conv_tiles *p)
{
    const int64_t lines = conv_tiles_lines(p, p->size[1]) * p->s.stride[1];
    return (p->s.kernel[0] * lines * conv_tiles_line(p, p->size[2]) + 2 * ROWS_MIN) * p->entry;
}

/* Cycles: a chunk of a row times a panel, and the epilogue of a row of a panel; of copying a pixel, and 8 bytes of
 * it. */
enum { CHUNK_CYCLES = 3, END_CYCLES = 16, PIXEL_CYCLES = 12, COPY_BYTES = 8, WEIGHT_BYTES = 16 };

static double row_cycles(const struct conv_tiles *p)
{
    return END_CYCLES + CHUNK_CYCLES * (double)(p->taps * p->run / CHUNK);
}

/* Bands that memory allows, or smaller ones for the sake of threads. */
static void bands_cut(struct conv_tiles *p, const struct kern_op *op)
{
    const struct conv_shape *s = &p->s;
    const int64_t line = conv_tiles_line(p, p->size[2]);
    struct conv_cut cut = conv_cut_of(op, s, p->size, p->units);
    cut.width = line;
    cut.tile = ROWS_MIN;
    cut.pixel = row_cycles(p) * p->together;
    cut.unit = (double)(p->panel_bytes * p->together) / WEIGHT_BYTES;
    cut.copied =
        p->direct ? 0 : (double)(line * s->kernel[0] * s->stride[1]) * (PIXEL_CYCLES + (double)p->entry / COPY_BYTES);
    p->size[1] = conv_cut_lines(&cut);
}

static bool bands_init(struct conv_tiles *p, const struct kern_op *op)
{
    const struct conv_shape *s = &p->s;
    p->size[0] = p->size[1] = 1;
    p->size[2] = s->out[2];
    while (!p->direct && band_bytes(p) > BAND_BYTES && p->size[2] > 4 * ROWS_MIN)
        p->size[2] = BASE_MAX(p->size[2] / 2, 4 * ROWS_MIN);
    if (!p->direct && band_bytes(p) > BAND_MAX)
        return false;
    /* Neighbouring bands each copy the windows of the lines that both read. */
    const int64_t most = p->windows && s->kernel[1] > s->stride[1] ? 4 * ROWS_MOST : ROWS_MOST;
    for (; p->size[1] < s->out[1] && (p->size[1] + 1) * p->size[2] <= most; p->size[1]++) {
        p->size[1]++;
        const bool fits = p->direct || band_bytes(p) <= BAND_BYTES;
        p->size[1]--;
        if (!fits)
            break;
    }
    bands_cut(p, op);
    for (uint32_t d = 0; d < KERN_SPATIAL_MAX; d++) {
        p->bands[d] = p->size[d] ? (s->out[d] + p->size[d] - 1) / p->size[d] : 0;
        if (p->bands[d]) /* of about the same size */
            p->size[d] = (s->out[d] + p->bands[d] - 1) / p->bands[d];
    }
    return true;
}

bool conv_tiles_init(const struct kern_op *op, int64_t element, struct conv_tiles *p)
{
    memset(p, 0, sizeof(*p));
    const struct conv_shape *s = &p->s;
    p->element = element;
    if (op->packed_input != 2)
        return false;
    if (element == 1) {
        if (!conv_bytes_init(op, &p->c))
            return false;
        p->s = p->c.s;
        p->c.flip = 0; /* there are instructions for either sign */
    } else if (!halves_fit(op, p)) {
        return false;
    }
    if (!shape_suits(p))
        return false;
    const int64_t pixel = s->in_channels * element;
    if (s->kernel[0] * s->kernel[1] * s->kernel[2] * s->in_channels < (element == 1 ? BYTES_MIN : HALVES_MIN))
        return false;
    p->direct = is_direct(op, p);
    p->windows = !p->direct && (s->stride[2] > 1 || chunks(s->kernel[2] * pixel) < s->kernel[2] * chunks(pixel));
    p->run = chunks(p->windows ? s->kernel[2] * pixel : pixel) * CHUNK;
    p->entry = p->direct ? s->x[4] * element : p->run;
    p->taps = s->kernel[0] * s->kernel[1] * (p->windows ? 1 : s->kernel[2]);
    p->panels = (s->out_channels + CONV_TILES_COLUMNS - 1) / CONV_TILES_COLUMNS;
    p->panel_bytes = (uint64_t)(p->taps * p->run) * CONV_TILES_COLUMNS;
    p->together = (uint32_t)BASE_MIN(BASE_MAX(TOGETHER_BYTES / p->panel_bytes, 1), BASE_MAX(p->panels, 1));
    p->units = (p->panels + p->together - 1) / p->together;
    p->c.columns = p->panels * CONV_TILES_COLUMNS;
    if (!bands_init(p, op))
        return false;
    const uint64_t in_line = (uint64_t)((p->size[2] - 1) * s->stride[2] + (s->kernel[2] - 1) * s->dilation[2] + 1);
    dense_take(&p->scratch, p->c.columns * (sizeof(int32_t) + sizeof(float)), 64);
    p->image = dense_take(&p->scratch, p->direct ? 0 : (uint64_t)band_bytes(p), 64);
    p->line = dense_take(&p->scratch, p->direct ? 0 : in_line * ((uint64_t)pixel + sizeof(float)) + 2 * CHUNK, 64);
    p->list = dense_take(&p->scratch, (uint64_t)p->taps * sizeof(int64_t), 64);
    p->sums = dense_take(&p->scratch, 2 * CONV_TILES_SUMS, 64);
    return p->panel_bytes * p->panels <= INT32_MAX;
}

/* ---- work and weights ---- */

/* Units: panels of a band, which share its copy of X. */
static uint64_t tiles_plan(const struct conv_tiles *p, struct kern_work *out)
{
    *out = (struct kern_work){ .units = p->s.batch * (uint64_t)(p->bands[0] * p->bands[1] * p->bands[2]) * p->units };
    out->grain = dense_grain((uint64_t)((double)(p->size[1] * p->size[2]) * row_cycles(p) * p->together));
    out->worker_scratch_bytes = p->scratch;
    out->cut = (uint32_t)p->size[1];
    return p->panel_bytes * p->panels + (p->element == 1 ? p->c.columns * sizeof(int32_t) : 0);
}

#define NOWHERE INT64_MIN

/* Index of number `i` of a row of A among an output channel's weights, or NOWHERE. */
static int64_t weight_at(const struct conv_tiles *p, int64_t i)
{
    const struct conv_shape *s = &p->s;
    const int64_t run = p->run / p->element, tap = i / run, in_run = i % run;
    const int64_t k2 = p->windows ? in_run / s->in_channels : tap % s->kernel[2];
    const int64_t c = p->windows ? in_run % s->in_channels : in_run, line = p->windows ? tap : tap / s->kernel[2];
    if (c >= s->in_channels || k2 >= s->kernel[2])
        return NOWHERE;
    return c * s->w[1] + line / s->kernel[1] * s->w[2] + line % s->kernel[1] * s->w[3] + k2 * s->w[4];
}

/* [panel][pack][channel of the panel][numbers of a pack], padded with zeros; bytes: then the sums. */
static void pack_bytes(const struct conv_tiles *p, const int8_t *source, int8_t *to)
{
    int32_t *sums = (int32_t *)(to + p->panel_bytes * p->panels);
    memset(sums, 0, p->c.columns * sizeof(*sums));
    for (uint32_t first = 0; first < p->c.columns; first += CONV_TILES_COLUMNS)
        for (int64_t i = 0; i < p->taps * p->run; i += PACK) {
            int64_t at[PACK];
            for (int64_t b = 0; b < PACK; b++)
                at[b] = weight_at(p, i + b);
            for (uint32_t o = first; o < first + CONV_TILES_COLUMNS; o++)
                for (int64_t b = 0; b < PACK; b++, to++) {
                    *to = at[b] == NOWHERE || o >= p->s.out_channels ? 0 : source[o * p->s.w[0] + at[b]];
                    sums[o] += *to;
                }
        }
}

DENSE_INLINE void pack_halves_of(const struct conv_tiles *p, const void *source, uint16_t *to,
                                 DML_TENSOR_DATA_TYPE type)
{
    for (uint32_t first = 0; first < p->c.columns; first += CONV_TILES_COLUMNS)
        for (int64_t i = 0; i < p->taps * p->run / 2; i += PACK / 2) {
            const int64_t at[PACK / 2] = { weight_at(p, i), weight_at(p, i + 1) };
            for (uint32_t o = first; o < first + CONV_TILES_COLUMNS; o++)
                for (int64_t b = 0; b < PACK / 2; b++) {
                    const bool there = at[b] != NOWHERE && o < p->s.out_channels;
                    const int64_t from = there ? o * p->s.w[0] + at[b] : 0;
                    *to++ = there ? base_float_to_bfloat((float)dense_load(source, from, type)) : 0;
                }
        }
}

static void pack_halves(const struct kern_op *op, const struct conv_tiles *p, const void *source, uint16_t *to)
{
    const DML_TENSOR_DATA_TYPE type = op->tensors[1].type;
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32) /* a separate loop */
        pack_halves_of(p, source, to, DML_TENSOR_DATA_TYPE_FLOAT32);
    else
        pack_halves_of(p, source, to, type);
}

bool kern_conv_bytes_amx_accepts(const struct kern_op *op)
{
    struct conv_tiles plan;
    return conv_tiles_init(op, 1, &plan);
}

bool kern_conv_bf16_amx_accepts(const struct kern_op *op)
{
    struct conv_tiles plan;
    return conv_tiles_init(op, 2, &plan);
}

KERN_PACKED_ROW(conv_bytes_amx, struct conv_tiles, conv_tiles_init(op, 1, &plan), tiles_plan(&plan, out),
                pack_bytes(&plan, source, packed))
KERN_PACKED_ROW(conv_bf16_amx, struct conv_tiles, conv_tiles_init(op, 2, &plan), tiles_plan(&plan, out),
                pack_halves(op, &plan, source, packed))
