/* SPDX-License-Identifier: Apache-2.0 */
/* The block of struct inverted_residual (conv_plans.h). */
#include "kernels/core/isa.h"
#include "kernels/conv/conv_small_cin_tile.h"
#include "kernels/conv/conv_pw_tile.h"

#define RESIDUAL_WIDTH (CONV_PW_VECS * VEC)

struct residual_run {
    struct inverted_residual b;
    const struct kern_call *call;
    const float *packed;
    float *held, *results;          /* rings; depthwise results [pixels][pitch] */
    struct conv_pw_epilogue bounds; /* of expanded pixels */
    struct small_cin few;           /* a first convolution with windows */
    uint32_t image, first, rows;    /* the band: output rows of an image */
    uint32_t ready;                 /* rows before it are in the rings; padding counts */
    uint32_t channel, vecs;         /* the panel */
};

static void residual_bounds(const struct kern_bounds *bounds, struct kern_epilogue *out)
{
    const struct kern_epilogue_step relu = { .code = KERN_MAP_RELU };
    const uint8_t code = bounds->kind == KERN_BOUNDS_CLAMP_NAN ? KERN_MAP_CLAMP_NAN : KERN_MAP_CLAMP;
    const struct kern_epilogue_step clamp = { code, 0, bounds->low, bounds->high };
    const struct kern_epilogue_step least = { KERN_MAP_MIN, 0, bounds->high, 0 };
    const struct kern_epilogue_step most = { KERN_MAP_MAX, 0, bounds->low, 0 };
    out->count = bounds->kind == KERN_BOUNDS_CLIP ? 2 : bounds->kind != KERN_BOUNDS_NONE;
    out->step[0] = bounds->kind == KERN_BOUNDS_RELU ? relu : bounds->kind == KERN_BOUNDS_CLIP ? least : clamp;
    out->step[1] = most;
}

/* ---- expanded rows ---- */

/* The panel's row number `row`, counting padding. */
static float *residual_row(const struct residual_run *r, uint32_t row)
{
    const struct inverted_residual *b = &r->b;
    uint64_t line = (uint64_t)b->line * RESIDUAL_WIDTH;
    return r->held + (uint64_t)r->channel * b->p->window[0] * b->line + row % b->p->window[0] * line;
}

/* Left and right of images: rows stay zero there. */
static void residual_pad(const struct residual_run *r)
{
    const struct inverted_residual *b = &r->b;
    uint64_t left = (uint64_t)b->p->pad_start[1] * RESIDUAL_WIDTH, inside = (uint64_t)b->w * RESIDUAL_WIDTH;
    uint64_t line = (uint64_t)b->line * RESIDUAL_WIDTH;
    for (float *row = r->held; row < r->held + b->held; row += line) {
        memset(row, 0, left * sizeof(float));
        memset(row + left + inside, 0, (line - left - inside) * sizeof(float));
    }
}

/* Row number `row` of the image; it is the `part`-th of `parts` that the panel takes. */
static void residual_expand_row(const struct residual_run *r, const float *x, uint32_t part, uint32_t parts, float *out)
{
    const struct inverted_residual *b = &r->b;
    struct conv_pw_tile t = { .a = x, .y = out, .a_step = b->x_step, .y_step = RESIDUAL_WIDTH, .k = b->c };
    t.epilogue = &r->bounds;
    t.b = r->packed + (uint64_t)r->channel * b->c;
    t.bias = r->packed + b->b1 + r->channel;
    t.used = r->vecs * VEC;
    bool more = r->channel + RESIDUAL_WIDTH < b->m;
    conv_pw_tiles(t, b->w, more ? t.b + (uint64_t)b->c * RESIDUAL_WIDTH : r->packed + b->w2, part, parts);
}

/* The same with windows. */
static void residual_expand_wide(const struct residual_run *r, uint32_t row, float *out)
{
    const struct inverted_residual *b = &r->b;
    const struct conv_shape *s = &b->few.s;
    struct small_cin_tile t = { .y_step = RESIDUAL_WIDTH, .channels = r->vecs * VEC };
    t.bias = r->packed + b->b1 + r->channel;
    t.w = r->packed + (uint64_t)r->channel * b->depth;
    small_cin_load(&r->few, r->image, (int64_t)row * s->stride[1] - s->pad[1]);
    for (uint32_t i = 0; i < b->w; i += (uint32_t)t.pixels) {
        t.x = r->few.image + i * s->stride[2];
        t.y = out + (uint64_t)i * RESIDUAL_WIDTH;
        small_cin_tile_next(&r->few, &t, b->w - i);
    }
}

/* Rows [from, to) of the panel, counting padding. */
static void residual_expand(const struct residual_run *r, uint32_t from, uint32_t to)
{
    const struct inverted_residual *b = &r->b;
    const uint32_t start = r->first * b->p->strides[0], parts = r->rows * b->p->strides[0];
    for (uint32_t row = from; row < to; row++) {
        float *out = residual_row(r, row) + (uint64_t)b->p->pad_start[1] * RESIDUAL_WIDTH;
        uint32_t image_row = row - b->p->pad_start[0];
        if (row < b->p->pad_start[0] || image_row >= b->h) {
            memset(out, 0, (uint64_t)b->w * RESIDUAL_WIDTH * sizeof(float));
            continue;
        }
        if (b->wide) {
            residual_expand_wide(r, image_row, out);
            continue;
        }
        const float *x = (const float *)r->call->data[0] + ((int64_t)r->image * b->h + image_row) * b->w * b->x_step;
        residual_expand_row(r, x, BASE_MIN(row - start, parts - 1), parts, out);
    }
}

/* ---- depthwise ---- */

/* A row of one vector of channels. */
struct residual_line {
    const float *e[3];
    float *out;
    uint32_t pitch, count;
    vec low, high;
};

#define RESIDUAL_AT_ONCE 7 /* image rows are often a multiple of it */

/* `at_once` neighbours from x on: common elements are loaded once. */
DENSE_INLINE void residual_3x3(const struct residual_line *l, const vec *w, uint32_t x, uint32_t step, uint32_t at_once,
                               enum kern_bounds_kind kind)
{
    const uint64_t at = (uint64_t)x * step * RESIDUAL_WIDTH;
    float *out = l->out + (uint64_t)x * l->pitch;
    vec sums[RESIDUAL_AT_ONCE];
#pragma GCC unroll 7
    for (uint32_t i = 0; i < at_once; i++)
        sums[i] = w[9];
#pragma GCC unroll 9
    for (uint32_t t = 0; t < 9; t++)
#pragma GCC unroll 7
        for (uint32_t i = 0; i < at_once; i++)
            sums[i] = vec_fma(w[t], vec_load(l->e[t / 3] + at + (i * step + t % 3) * RESIDUAL_WIDTH), sums[i]);
#pragma GCC unroll 7
    for (uint32_t i = 0; i < at_once; i++)
        vec_store(out + i * (uint64_t)l->pitch, kern_bounds_vec(kind, l->low, l->high, sums[i]));
}

/* taps: RESIDUAL_WIDTH of each, the biases follow. */
DENSE_INLINE void residual_line_3x3(struct residual_line l, const float *taps, uint32_t step,
                                    enum kern_bounds_kind kind)
{
    vec w[10];
    uint32_t x = 0;
    for (uint32_t t = 0; t < 10; t++)
        w[t] = vec_load(taps + (uint64_t)t * RESIDUAL_WIDTH);
    for (; x + RESIDUAL_AT_ONCE <= l.count; x += RESIDUAL_AT_ONCE)
        residual_3x3(&l, w, x, step, RESIDUAL_AT_ONCE, kind);
    for (; x + 3 <= l.count; x += 3)
        residual_3x3(&l, w, x, step, 3, kind);
    for (; x < l.count; x++)
        residual_3x3(&l, w, x, step, 1, kind);
}

DENSE_INLINE void residual_line_bounded(const struct residual_line *l, const float *taps, uint32_t step,
                                        enum kern_bounds_kind kind)
{
    if (kind == KERN_BOUNDS_RELU)
        residual_line_3x3(*l, taps, step, KERN_BOUNDS_RELU);
    else if (kind == KERN_BOUNDS_CLAMP)
        residual_line_3x3(*l, taps, step, KERN_BOUNDS_CLAMP);
    else if (kind == KERN_BOUNDS_CLAMP_NAN)
        residual_line_3x3(*l, taps, step, KERN_BOUNDS_CLAMP_NAN);
    else
        residual_line_3x3(*l, taps, step, kind);
}

/* Neighbouring pixels whose sums are in registers at a time: each tap is loaded once for all. */
enum { LINE_PIXELS = 8 };

struct residual_window {
    const struct residual_run *run;
    uint32_t row, channel; /* of its first tap; of the vector */
    const float *taps;
    uint32_t height, width, stride;
};

DENSE_INLINE void residual_pixels(const struct residual_window *w, uint32_t pixels, uint32_t x,
                                  const struct kern_bounds *bounds, uint32_t pitch, float *out)
{
    const vec low = vec_set(bounds->low), high = vec_set(bounds->high);
    const float *taps = w->taps;
    const uint32_t step = w->stride * RESIDUAL_WIDTH;
    vec sums[LINE_PIXELS];
    const vec bias = vec_load(taps + (uint64_t)w->height * w->width * RESIDUAL_WIDTH);
    for (uint32_t i = 0; i < pixels; i++)
        sums[i] = bias;
    for (uint32_t y = 0; y < w->height; y++) {
        const float *from = residual_row(w->run, w->row + y) + w->channel + (uint64_t)x * step;
        for (uint32_t t = 0; t < w->width; t++, taps += RESIDUAL_WIDTH, from += RESIDUAL_WIDTH) {
            const vec tap = vec_load(taps);
            _Pragma("GCC unroll 8") for (uint32_t i = 0; i < pixels; i++) sums[i] =
                vec_fma(tap, vec_load(from + i * step), sums[i]);
        }
    }
    _Pragma("GCC unroll 8") for (uint32_t i = 0; i < pixels; i++)
        vec_store(out + (uint64_t)i * pitch, kern_bounds_vec(bounds->kind, low, high, sums[i]));
}

static void residual_line_any(const struct residual_run *r, uint32_t row, const float *taps, float *out)
{
    const struct inverted_residual *b = &r->b;
    const struct kern_bounds *bounds = &b->p->bounds[1];
    struct residual_window w = { r, row, 0, taps, b->p->window[0], b->p->window[1], b->p->strides[1] };
    for (uint32_t c = 0; c < r->vecs * VEC; c += VEC) {
        w.taps = taps + c;
        w.channel = c;
        uint32_t x = 0;
        for (; x + LINE_PIXELS <= b->ow; x += LINE_PIXELS)
            residual_pixels(&w, LINE_PIXELS, x, bounds, b->pitch, out + (uint64_t)x * b->pitch + c);
        for (; x + 2 <= b->ow; x += 2)
            residual_pixels(&w, 2, x, bounds, b->pitch, out + (uint64_t)x * b->pitch + c);
        if (x < b->ow)
            residual_pixels(&w, 1, x, bounds, b->pitch, out + (uint64_t)x * b->pitch + c);
    }
}

/* The panel's output row whose window starts with row number `row`, counting padding. */
static void residual_depthwise(const struct residual_run *r, uint32_t row, float *out)
{
    const struct kern_inverted_residual *p = r->b.p;
    const float *taps = r->packed + r->b.wd + (uint64_t)r->channel * (r->b.taps + 1);
    if (p->window[0] != 3 || p->window[1] != 3 || p->strides[1] > 2) {
        residual_line_any(r, row, taps, out);
        return;
    }
    const struct kern_bounds *bounds = &p->bounds[1];
    for (uint32_t c = 0; c < r->vecs * VEC; c += VEC) {
        struct residual_line l = { .out = out + c, .pitch = r->b.pitch, .count = r->b.ow };
        l.low = vec_set(bounds->low);
        l.high = vec_set(bounds->high);
        for (uint32_t i = 0; i < 3; i++)
            l.e[i] = residual_row(r, row + i) + c;
        if (p->strides[1] == 1)
            residual_line_bounded(&l, taps + c, 1, bounds->kind);
        else
            residual_line_bounded(&l, taps + c, 2, bounds->kind);
    }
}

/* The panel's depthwise results of the band. Returns the row up to which it expanded. */
static uint32_t residual_panel(const struct residual_run *r)
{
    const struct inverted_residual *b = &r->b;
    uint32_t ready = r->ready;
    for (uint32_t i = 0; i < r->rows; i++) {
        uint32_t row = (r->first + i) * b->p->strides[0], end = row + b->p->window[0];
        residual_expand(r, BASE_MAX(ready, row), end);
        ready = end;
        residual_depthwise(r, row, r->results + (uint64_t)i * b->ow * b->pitch + r->channel);
    }
    return ready;
}

/* ---- the last GEMM ---- */

static void residual_project(const struct residual_run *r)
{
    const struct inverted_residual *b = &r->b;
    int64_t origin = ((int64_t)r->image * b->oh + r->first) * b->ow;
    struct conv_pw_tile t = { .a_step = b->pitch, .y_step = b->y_step, .k = b->m, .epilogue = &b->epilogue };
    for (uint32_t o = 0; o < b->o; o += RESIDUAL_WIDTH) {
        t.b = r->packed + b->w2 + (uint64_t)o * b->m;
        const float *next = o + RESIDUAL_WIDTH < b->o ? t.b + (uint64_t)b->m * RESIDUAL_WIDTH : r->packed;
        t.bias = r->packed + b->b2 + o;
        t.used = BASE_MIN(b->o - o, RESIDUAL_WIDTH);
        t.a = r->results;
        t.y = (float *)r->call->data[r->call->op->input_count] + origin * b->y_step + o;
        conv_pw_place(&t, r->call, origin, o);
        conv_pw_tiles(t, (uint64_t)r->rows * b->ow, next, 0, 1);
    }
}

static void residual_band(struct residual_run *r)
{
    uint32_t ready = r->ready;
    for (r->channel = 0; r->channel < r->b.m; r->channel += RESIDUAL_WIDTH) {
        r->vecs = r->b.m - r->channel > VEC ? CONV_PW_VECS : 1;
        ready = residual_panel(r);
    }
    r->ready = ready;
    residual_project(r);
}

/* Bands of equal height, as few as scratch memory allows. */
static void residual_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct residual_run r = { .call = call, .packed = call->data[1], .held = call->worker_scratch };
    residual_init(call->op, VEC, &r.b);
    residual_bounds(&r.b.p->bounds[0], &r.bounds.post);
    r.b.few.ends = r.bounds;
    r.results = r.held + r.b.held;
    if (r.b.wide) {
        r.few = (struct small_cin){ .f = r.b.few, .call = call, .image = r.held + r.b.image };
        r.few.offsets = (int32_t *)(r.held + r.b.offsets);
        small_cin_offsets(&r.few);
    }
    residual_pad(&r);
    while (begin < end) {
        uint64_t stop = BASE_MIN(end, (begin / r.b.oh + 1) * r.b.oh), rows = stop - begin;
        uint64_t bands = (rows + r.b.band - 1) / r.b.band;
        r.image = (uint32_t)(begin / r.b.oh);
        r.ready = 0;
        for (uint64_t i = 0; i < bands; i++) {
            r.first = (uint32_t)(begin % r.b.oh + rows * i / bands);
            r.rows = (uint32_t)(rows * (i + 1) / bands - rows * i / bands);
            residual_band(&r);
        }
        begin = stop;
    }
}

KERN_ISA_RUN(inverted_residual_f32, residual_run)
