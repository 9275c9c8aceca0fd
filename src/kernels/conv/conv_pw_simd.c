/* SPDX-License-Identifier: Apache-2.0 */
/* The convolutions of struct conv_pw and struct conv_up (conv_plans.h). */
#include "kernels/core/isa.h"
#include "kernels/conv/conv_pw_tile.h"
#include "kernels/row/row.h"
#include "kernels/row/tile_store.h"

#define PW_PITCH CONV_PW_PITCH(CONV_PW_ROWS, VEC)

/* As conv_pw_tile, of copied planes. */
static void conv_pw_tile_planes(const struct conv_pw_tile *t, uint32_t rows)
{
    if (t->used > VEC)
        UKERNEL_BY_COUNT(rows, CONV_PW_ROWS, conv_pw_multiply, t, 2, 1, PW_PITCH)
    else
        UKERNEL_BY_COUNT(rows, CONV_PW_ROWS, conv_pw_multiply, t, 1, 1, PW_PITCH)
}

/* A tile's pixels: its image, the first one there, and their number. */
DENSE_INLINE uint32_t conv_pw_pixels_of(const struct conv_pw *p, uint64_t row, uint64_t *image, int64_t *first)
{
    const uint64_t tile = row % p->image_tiles;
    *image = row / p->image_tiles;
    *first = (int64_t)(p->pixels * tile / p->image_tiles);
    return (uint32_t)(p->pixels * (tile + 1) / p->image_tiles - (uint64_t)*first);
}

DENSE_INLINE float *conv_pw_copy_tile(const struct conv_pw *p, const float *x, int64_t rows, bool whole, float *to)
{
    for (uint32_t k = 0; k < p->k; k++, to += PW_PITCH, x += p->s.x[1])
        for (int64_t i = 0; i < (whole ? PW_PITCH : rows); i += VEC)
            vec_store(to + i, whole ? vec_load(x + i) : vec_load_some(DML_TENSOR_DATA_TYPE_FLOAT32, x, i, rows - i));
    return to;
}

/* Tiles [begin, end) of X's planes, [tile][k][PW_PITCH]. */
static void conv_pw_copy(const struct kern_call *call, const struct conv_pw *p, uint64_t begin, uint64_t end)
{
    float *to = (float *)call->worker_scratch + p->copy;
    for (uint64_t row = begin; row < end; row++) {
        uint64_t image;
        int64_t first;
        const int64_t rows = conv_pw_pixels_of(p, row, &image, &first);
        const float *x = (const float *)call->data[0] + (int64_t)image * p->s.x[0] + first;
        if (first + PW_PITCH <= (int64_t)p->pixels) /* the next pixels may be read, too */
            to = conv_pw_copy_tile(p, x, rows, true, to);
        else
            to = conv_pw_copy_tile(p, x, rows, false, to);
    }
}

/* Some adjacent pixels of an image, computed but not yet transposed. */
struct conv_pw_turned {
    float *sums; /* NULL: Y is NHWC */
    uint64_t image, first, count;
};

static void conv_pw_turn(const struct kern_call *call, const struct conv_pw *p, uint32_t panel,
                         struct conv_pw_turned *turned)
{
    const uint32_t width = CONV_PW_VECS * VEC, column = panel * width, used = BASE_MIN(p->columns - column, width);
    const int64_t count = (int64_t)turned->count;
    float *y = (float *)call->data[call->op->input_count] + (int64_t)turned->image * p->s.y[0] + column * p->s.y[1] +
               (int64_t)turned->first;
    for (uint32_t c = 0; count && c < used; c += VEC)
        for (int64_t i = 0; i < count; i += VEC) {
            const int64_t at = BASE_MAX(BASE_MIN(i, count - VEC), 0); /* the last vector overlaps the one before */
            tile_store_transposed(
                &(struct tile_to){ y, DML_TENSOR_DATA_TYPE_FLOAT32, c * p->s.y[1] + at, 1, p->s.y[1] },
                turned->sums + at * width + c, width, BASE_MIN(count, VEC), BASE_MIN(used - c, VEC));
        }
    turned->count = 0;
}

/* Tile number `row` of all, columns of panel number `panel`; it is the `part`-th of `parts` that use the panel. */
static void conv_pw_one(const struct kern_call *call, const struct conv_pw *p, uint64_t row, uint32_t panel,
                        uint32_t part, uint32_t parts, struct conv_pw_turned *turned)
{
    const uint32_t width = CONV_PW_VECS * VEC, column = panel * width;
    uint64_t image;
    int64_t first;
    const uint32_t rows = conv_pw_pixels_of(p, row, &image, &first);
    struct conv_pw_tile t = { .a_step = p->x_step, .y_step = p->y_step, .k = p->k, .epilogue = &p->epilogue };
    t.a = (const float *)call->data[0] + (int64_t)image * p->s.x[0] + first * p->x_step;
    t.b = (const float *)call->data[1] + (uint64_t)column * p->k;
    t.bias = (const float *)call->worker_scratch + column;
    t.used = BASE_MIN(p->columns - column, width);
    conv_pw_fetch(&t, t.b + (uint64_t)p->k * width, part, parts);
    if (turned->sums) {
        if (turned->count && (turned->image != image || turned->count + rows > CONV_PW_TURNED * CONV_PW_ROWS))
            conv_pw_turn(call, p, panel, turned);
        turned->first = turned->count ? turned->first : (uint64_t)first;
        turned->image = image;
        t.y = turned->sums + turned->count * width;
        t.y_step = width;
        turned->count += rows;
    } else {
        t.y = (float *)call->data[call->op->input_count] + (int64_t)image * p->s.y[0] + first * p->y_step + column;
        conv_pw_place(&t, call, (int64_t)(image * p->pixels) + first, column);
    }
    if (p->x_planes) {
        t.a = (const float *)call->worker_scratch + p->copy + (uint64_t)part * p->k * PW_PITCH;
        conv_pw_tile_planes(&t, rows);
    } else {
        conv_pw_tile(&t, rows);
    }
}

/* Of one panel of a block, `vecs` vectors wide: the tiles that start in [begin, end), counted in vectors. */
static void conv_pw_panel(const struct kern_call *call, const struct conv_pw *p, uint64_t block, uint32_t panel,
                          uint32_t vecs, uint64_t begin, uint64_t end)
{
    uint64_t first = p->tiles * block / p->blocks, count = p->tiles * (block + 1) / p->blocks - first;
    uint64_t from = first * p->vecs + (uint64_t)panel * CONV_PW_VECS * count;
    uint64_t tile = begin > from ? (begin - from + vecs - 1) / vecs : 0;
    uint64_t stop = end > from ? BASE_MIN((end - from + vecs - 1) / vecs, count) : 0;
    struct conv_pw_turned turned = { .sums = p->y_planes ? (float *)call->worker_scratch + p->turned : NULL };
    for (; tile < stop; tile++)
        conv_pw_one(call, p, first + tile, panel, (uint32_t)tile, (uint32_t)count, &turned);
    if (turned.count)
        conv_pw_turn(call, p, panel, &turned);
}

static void conv_pw_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct conv_pw p;
    conv_pw_init(call->op, CONV_PW_ROWS, VEC, &p);
    conv_bias(call, &p.s, (int64_t)p.panels * CONV_PW_VECS * VEC, call->worker_scratch);
    for (uint64_t block = 0; block < p.blocks && p.tiles * block / p.blocks * p.vecs < end; block++) {
        const bool used = p.tiles * (block + 1) / p.blocks * p.vecs > begin;
        if (used && p.x_planes)
            conv_pw_copy(call, &p, p.tiles * block / p.blocks, p.tiles * (block + 1) / p.blocks);
        for (uint32_t panel = 0; panel < p.panels && used; panel++)
            conv_pw_panel(call, &p, block, panel, BASE_MIN(p.vecs - panel * CONV_PW_VECS, CONV_PW_VECS), begin, end);
    }
}

KERN_ISA_RUN(conv_pw_f32, conv_pw_run)

/* ---- transposed ---- */

#if VEC == 8
#define UP_VECS 3
#else
#define UP_VECS 6
#endif

struct up_run {
    struct conv_up u;
    const struct kern_call *call;
    const float *weights;
    float *scratch; /* with the offsets of `u` */
};

/* ---- planes ---- */

/* t->c[row][pixel] of `vecs` vectors of pixels; t->a: weights [channel][CONV_UP_ROWS] */
DENSE_INLINE void up_tile(uint32_t vecs, const struct ukernel *of, const float *bias)
{
    vec sum[UKERNEL_ROWS][UKERNEL_VECS];
    struct ukernel tile = *of;
    const struct ukernel *t = &tile;
    tile.vecs = vecs;
    UKERNEL_EACH_ROW UKERNEL_EACH_VEC sum[m][v] = vec_set(bias[m]);
    ukernel_multiply(t, sum);
    UKERNEL_EACH_ROW UKERNEL_EACH_VEC vec_store(t->c + m * t->c_row + v * VEC, sum[m][v]);
}

/* All pixels of the band. */
static void up_tile_row(const struct up_run *r, const float *w, const float *bias, float *sums, int64_t pixels)
{
    int64_t vecs = (pixels + VEC - 1) / VEC, at = 0;
    for (int64_t parts = (vecs + UP_VECS - 1) / UP_VECS; parts; parts--) {
        const int64_t some = (vecs + parts - 1) / parts;
        const struct ukernel tile = { .rows = CONV_UP_ROWS,
                                      .splits = 1,
                                      .group = 1,
                                      .b_type = DML_TENSOR_DATA_TYPE_FLOAT32,
                                      .depth = r->u.s.in_channels,
                                      .a = w,
                                      .a_row = 1,
                                      .a_step = CONV_UP_ROWS,
                                      .b = r->scratch + r->u.image + at,
                                      .b_row = r->u.pitch,
                                      .c = sums + at,
                                      .c_row = r->u.pitch };
        UKERNEL_BY_COUNT(some, UP_VECS, up_tile, &tile, bias)
        at += some * VEC;
        vecs -= some;
    }
}

/* to[i * count + k] = from[k * pitch + i] */
DENSE_INLINE void up_interleave_some(const float *restrict from, int64_t pitch, int64_t width, int64_t count,
                                     float *restrict to)
{
    for (int64_t i = 0; i < width; i++)
#pragma GCC unroll 4
        for (int64_t k = 0; k < count; k++)
            to[i * count + k] = from[k * pitch + i];
}

static const float *up_interleave(const float *from, int64_t pitch, int64_t width, int64_t count, float *to)
{
    if (count == 1)
        return from;
    if (count == 2)
        up_interleave_some(from, pitch, width, 2, to);
    else if (count == 4)
        up_interleave_some(from, pitch, width, 4, to);
    else
        up_interleave_some(from, pitch, width, count, to);
    return to;
}

/* Output rows of the sums of a group. */
static void up_finish(const struct up_run *r, int64_t n, int64_t first, int64_t rows, int64_t group)
{
    const struct conv_up *u = &r->u;
    const struct conv_shape *s = &u->s;
    const uint32_t rank = r->call->op->tensors[0].rank;
    const int64_t width = s->in[2], lines = s->out_channels * s->kernel[1];
    for (int64_t l = 0; l < u->lines && group * u->lines + l < lines; l++) {
        const int64_t line = group * u->lines + l;
        uint32_t at[KERN_RANK_MAX] = { (uint32_t)n, (uint32_t)(line / s->kernel[1]) };
        for (int64_t i = 0; i < rows; i++) {
            const float *from = r->scratch + u->sums + l * s->kernel[2] * u->pitch + i * width;
            if (rank > 3)
                at[rank - 2] = (uint32_t)((first + i) * s->kernel[1] + line % s->kernel[1]);
            dense_finish_f32(r->call, r->scratch + u->epilogue, at, (uint32_t)s->out[2],
                             up_interleave(from, u->pitch, width, s->kernel[2], r->scratch + u->line));
        }
    }
}

static void up_load_planes(const struct up_run *r, int64_t n, int64_t first, int64_t rows)
{
    const struct conv_shape *s = &r->u.s;
    const int64_t pixels = rows * s->in[2], tail = (int64_t)base_align_up((uint64_t)pixels, VEC) - pixels;
    for (int64_t c = 0; c < s->in_channels; c++) {
        float *to = r->scratch + r->u.image + c * r->u.pitch;
        for (int64_t i = 0; i < rows; i++)
            dense_load_row(r->call->data[0], n * s->x[0] + c * s->x[1] + (first + i) * s->x[3], s->x[4],
                           r->call->op->tensors[0].type, (uint32_t)s->in[2], to + i * s->in[2]);
        memset(to + pixels, 0, (size_t)tail * sizeof(*to));
    }
}

static void up_planes(const struct up_run *r, int64_t n, int64_t first, int64_t rows)
{
    const struct conv_up *u = &r->u;
    const int64_t step = (int64_t)CONV_UP_ROWS * u->s.in_channels;
    up_load_planes(r, n, first, rows);
    for (int64_t group = 0; group < u->groups; group++) {
        for (int64_t tile = 0; tile < u->tiles; tile++) {
            const int64_t at = group * u->tiles + tile;
            up_tile_row(r, r->weights + at * step, r->scratch + u->bias + at * CONV_UP_ROWS,
                        r->scratch + u->sums + tile * CONV_UP_ROWS * u->pitch, rows * u->s.in[2]);
        }
        up_finish(r, n, first, rows, group);
    }
}

/* ---- channels innermost ---- */

static void up_load_pixels(const struct up_run *r, int64_t n, int64_t first, int64_t rows)
{
    const struct conv_shape *s = &r->u.s;
    for (int64_t i = 0; i < rows * s->in[2]; i++)
        dense_load_row(r->call->data[0], n * s->x[0] + (first + i / s->in[2]) * s->x[3] + i % s->in[2] * s->x[4],
                       s->x[1], r->call->op->tensors[0].type, s->in_channels,
                       r->scratch + r->u.image + i * s->in_channels);
}

static void up_pixels(const struct up_run *r, int64_t n, int64_t first, int64_t rows)
{
    const struct conv_up *u = &r->u;
    const struct conv_shape *s = &u->s;
    const int64_t results = s->kernel[2] * s->out_channels;
    const float *x = (const float *)r->call->data[0] + n * s->x[0] + first * s->x[3];
    float *y = (float *)r->call->data[r->call->op->input_count] + n * s->y[0] + first * s->kernel[1] * s->y[3];
    int64_t x_row = s->x[3];
    struct conv_pw_tile t = {
        .a_step = s->x[4], .y_step = results, .k = s->in_channels, .epilogue = &u->tile_epilogue
    };
    if (u->copies) {
        up_load_pixels(r, n, first, rows);
        x = r->scratch + u->image;
        t.a_step = s->in_channels;
        x_row = s->in[2] * t.a_step;
    }
    for (int64_t i = 0; i < s->kernel[1] * u->panels; i++) {
        const int64_t k = i / u->panels, column = i % u->panels * u->width;
        t.b = r->weights + i * u->width * s->in_channels;
        t.bias = r->scratch + u->bias + i * u->width;
        t.used = (uint32_t)BASE_MIN(results - column, u->width);
        for (int64_t row = 0; row < rows; row++) {
            t.a = x + row * x_row;
            t.y = y + (row * s->kernel[1] + k) * s->y[3] + column;
            conv_pw_tiles(t, (uint64_t)s->in[2], t.b + (uint64_t)t.k * u->width, 0, 1);
        }
    }
}

/* ---- both ---- */

static void up_init(struct up_run *r, const struct kern_call *call)
{
    const struct conv_up *u = &r->u;
    conv_up_init(call->op, VEC, &r->u);
    r->call = call;
    r->scratch = call->worker_scratch;
    r->weights = call->op->packed_input == 2 ? call->data[1] : r->scratch + u->weights;
    if (call->op->packed_input != 2)
        conv_up_pack(call->op, u, call->data[1], r->scratch + u->weights);
    for (int64_t i = 0; i < u->columns; i++) {
        int64_t place[3];
        const bool held = conv_up_column(u, i, place) && call->op->u.conv.has_bias;
        r->scratch[u->bias + i] =
            held ? (float)dense_load(call->data[2], place[0] * u->s.bias, call->op->tensors[2].type) : 0;
    }
}

static void up_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct up_run r;
    up_init(&r, call);
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        const int64_t n = unit / r.u.bands, first = unit % r.u.bands * r.u.rows;
        const int64_t rows = BASE_MIN(r.u.rows, r.u.s.in[1] - first);
        (r.u.last ? up_pixels : up_planes)(&r, n, first, rows);
    }
}

KERN_ISA_RUN(conv_up_f32, up_run)
