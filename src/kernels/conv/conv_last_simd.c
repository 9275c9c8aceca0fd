/* SPDX-License-Identifier: Apache-2.0 */
/* The convolutions of struct conv_last (conv_plans.h). */
#include "kernels/core/isa.h"
#include "kernels/conv/conv_pw_tile.h"
#include "kernels/row/row.h"
#include "kernels/row/tile_store.h"

struct last_run {
    struct conv_last p;
    const struct kern_call *call;
    const float *weights;
    float *scratch;
    int64_t n, group, low[3], size[3]; /* the band */
    int64_t in_low[3], in_size[3];
    int64_t loaded; /* index of the band whose inputs are in scratch */
};

/* ---- X ---- */

/* Pixels of an NHWC line. */
static void copy_pixels(const struct last_run *r, int64_t from, int64_t count, float *to)
{
    const struct conv_shape *s = &r->p.s;
    const float *x = (const float *)r->call->data[0] + from;
    if (s->x[4] == r->p.pixel) {
        memcpy(to, x, (size_t)(count * r->p.pixel) * sizeof(*to));
        return;
    }
    for (int64_t i = 0; i < count; i++)
        memcpy(to + i * r->p.pixel, x + i * s->x[4], s->in_group * sizeof(*to));
}

/* From anywhere, a vector of channels at a time. */
static void load_pixels(const struct last_run *r, int64_t from, int64_t count, float *to)
{
    const struct conv_shape *s = &r->p.s;
    float *lines = r->scratch + r->p.line;
    const int64_t pitch = r->p.most[2] + VEC;
    struct tile_to tile = { to, DML_TENSOR_DATA_TYPE_FLOAT32, 0, 1, r->p.pixel };
    for (int64_t c = 0; c < s->in_group; c += VEC) {
        const int64_t channels = BASE_MIN(s->in_group - c, VEC);
        for (int64_t i = 0; i < channels; i++)
            dense_load_row(r->call->data[0], from + (c + i) * s->x[1], s->x[4], r->call->op->tensors[0].type,
                           (uint32_t)count, lines + i * pitch);
        for (int64_t i = 0; i < count; i += VEC) {
            tile.at = i * r->p.pixel + c;
            tile_store(&tile, lines + i, pitch, channels, BASE_MIN(count - i, VEC));
        }
    }
}

static void load_band(const struct last_run *r)
{
    const struct conv_shape *s = &r->p.s;
    const bool pixels = r->call->op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT32 && s->x[1] == 1;
    const int64_t begin = BASE_MIN(BASE_MAX(-r->in_low[2], 0), r->in_size[2]);
    const int64_t end = BASE_MAX(BASE_MIN(s->in[2] - r->in_low[2], r->in_size[2]), begin);
    float *to = r->scratch + r->p.image;
    for (int64_t line = 0; line < r->in_size[0] * r->in_size[1]; line++) {
        const int64_t i0 = r->in_low[0] + line / r->in_size[1], i1 = r->in_low[1] + line % r->in_size[1] * r->p.step;
        const int64_t from = r->n * s->x[0] + r->group * s->in_group * s->x[1] + i0 * s->x[2] + i1 * s->x[3] +
                             (r->in_low[2] + begin) * s->x[4];
        memset(to, 0, (size_t)(begin * r->p.pixel) * sizeof(*to));
        (pixels ? copy_pixels : load_pixels)(r, from, end - begin, to + begin * r->p.pixel);
        memset(to + end * r->p.pixel, 0, (size_t)((r->in_size[2] - end) * r->p.pixel) * sizeof(*to));
        to += r->in_size[2] * r->p.pixel;
    }
}

/* ---- a tile ---- */

struct last_tile {
    struct conv_pw_tile t; /* a: base of the taps' offsets */
    const struct conv_last_tap *taps;
    int64_t count;
};

DENSE_INLINE void last_multiply(uint32_t rows, const struct last_tile *l, uint32_t vecs)
{
    const struct conv_pw_tile *t = &l->t;
    vec sums[UKERNEL_ROWS][UKERNEL_VECS];
    const char *next = t->next;
    CONV_PW_EACH_ROW
    CONV_PW_EACH_VEC
    {
        sums[r][v] = vec_load(t->bias + v * VEC);
        __builtin_prefetch(t->y + r * t->y_step + v * VEC, 1);
    }
    for (int64_t i = 0; i < l->count; i++, next += (uint64_t)t->k * t->next_step)
        ukernel_multiply(&(struct ukernel){ .rows = rows,
                                            .vecs = vecs,
                                            .splits = 1,
                                            .group = 1,
                                            .b_type = DML_TENSOR_DATA_TYPE_FLOAT32,
                                            .depth = t->k,
                                            .a = t->a + l->taps[i].a,
                                            .a_row = t->a_step,
                                            .a_step = 1,
                                            .b = t->b + l->taps[i].b,
                                            .b_row = CONV_PW_VECS * VEC,
                                            .next = next,
                                            .next_lines = 1,
                                            .next_step = t->next_step },
                         sums);
    if (t->used == vecs * VEC)
        conv_pw_finish(t, sums, rows, vecs, true);
    else
        conv_pw_finish(t, sums, rows, vecs, false);
}

static void last_tile(const struct last_tile *t, uint32_t rows)
{
    if (t->t.used > VEC)
        UKERNEL_BY_COUNT(rows, CONV_PW_ROWS, last_multiply, t, 2)
    else
        UKERNEL_BY_COUNT(rows, CONV_PW_ROWS, last_multiply, t, 1)
}

/* ---- a line of a panel ---- */

/* The taps of pixels with remainder `phase`, and their number. */
static int64_t tap_list(const struct last_run *r, const int64_t *out, int64_t phase, struct conv_last_tap *list)
{
    const struct conv_last *p = &r->p;
    const struct conv_shape *s = &p->s;
    const int64_t line = p->copies ? r->in_size[2] * p->pixel : s->x[3];
    const int64_t plane = p->copies ? r->in_size[1] * line : s->x[2];
    const int64_t together = p->run / s->in_group, apart = p->copies ? p->step : 1;
    int64_t count = 0;
    for (int64_t k = 0; k < p->taps; k += together) {
        const int64_t k2 = k % s->kernel[2], k1 = k / s->kernel[2] % s->kernel[1];
        const int64_t i0 = conv_tap(s, 0, out[0], k / s->kernel[2] / s->kernel[1]), i1 = conv_tap(s, 1, out[1], k1);
        int64_t i2 = r->low[2] * s->stride[2] + k2 * s->dilation[2] - s->pad[2];
        if (s->transposed) {
            i2 = r->low[2] + phase + s->pad[2] - k2 * s->dilation[2];
            if (i2 % s->stride[2])
                continue;
            i2 /= s->stride[2];
        }
        if (i0 < 0 || i1 < 0)
            continue;
        list[count].a =
            (i0 - r->in_low[0]) * plane + (i1 - r->in_low[1]) / apart * line + (i2 - r->in_low[2]) * p->pixel;
        list[count++].b = k * s->in_group * p->width;
    }
    return count;
}

/* X or its copy at the band's first position. */
static const float *band_start(const struct last_run *r)
{
    const struct conv_shape *s = &r->p.s;
    if (r->p.copies)
        return r->scratch + r->p.image;
    return (const float *)r->call->data[0] + r->n * s->x[0] + r->group * s->in_group * s->x[1] +
           r->in_low[0] * s->x[2] + r->in_low[1] * s->x[3] + r->in_low[2] * s->x[4];
}

/* The offset of a pixel's element of the view, in elements. */
static int64_t pixel_at(const struct kern_view *view, const struct last_run *r, const int64_t *out, int64_t channel)
{
    uint32_t at[KERN_RANK_MAX] = { (uint32_t)r->n, (uint32_t)channel };
    for (uint32_t d = 2; d < view->rank; d++)
        at[d] = (uint32_t)out[d + 3 - view->rank];
    return dense_offset(view, at, view->rank);
}

static void line_phase(const struct last_run *r, const int64_t *out, int64_t phase, int64_t channel, struct last_tile l,
                       const float *next)
{
    const struct conv_last *p = &r->p;
    const struct kern_op *op = r->call->op;
    const int64_t from[] = { out[0], out[1], out[2] + phase };
    const uint64_t pixels = (uint64_t)((r->size[2] - phase + p->phases - 1) / p->phases);
    const uint32_t tiles = (uint32_t)((pixels + CONV_PW_ROWS - 1) / CONV_PW_ROWS);
    const bool direct = p->end == CONV_LAST_REGISTERS;
    for (uint32_t i = 0; direct && i < p->epilogue.post.count; i++) {
        const uint32_t tensor = p->epilogue.post.step[i].tensor;
        if (tensor)
            l.t.added[i] = (const float *)r->call->data[tensor] + pixel_at(&op->tensors[tensor], r, from, channel);
    }
    l.t.y = direct ? (float *)r->call->data[op->input_count] + pixel_at(&op->tensors[op->input_count], r, from, channel)
                   : r->scratch + p->results + phase * p->width;
    l.count = tap_list(r, out, phase, (struct conv_last_tap *)(r->scratch + p->list));
    const uint32_t line = (uint32_t)((out[1] - r->low[1]) / p->step), lines = (uint32_t)r->size[1];
    for (uint32_t tile = 0; tile < tiles; tile++) {
        const uint32_t rows = (uint32_t)(pixels * (tile + 1) / tiles - pixels * tile / tiles);
        conv_pw_fetch(&l.t, next, line * tiles + tile, lines * tiles);
        last_tile(&l, rows);
        l.t.a += rows * l.t.a_step;
        l.t.y += rows * l.t.y_step;
        for (uint32_t i = 0; i < l.t.epilogue->post.count; i++)
            l.t.added[i] += l.t.epilogue->post.step[i].tensor ? rows * l.t.epilogue->step[i] : 0;
    }
}

/* Results of a line [pixel][width] before the epilogue. */
static void finish_line(const struct last_run *r, const int64_t *out, int64_t channel, int64_t used)
{
    const struct conv_last *p = &r->p;
    const struct kern_op *op = r->call->op;
    const struct kern_view *y = &op->tensors[op->input_count];
    float *results = r->scratch + p->results, *line = r->scratch + p->line, *finish = r->scratch + p->finish;
    if (p->end == CONV_LAST_LINE) {
        struct tile_to to = { r->call->data[op->input_count], y->type, 0, p->s.y[4], p->s.y[1] };
        if (op->epilogue && !p->in_tile)
            dense_finish_line(r->call, finish, results, r->size[2] * p->width);
        for (int64_t i = 0; i < r->size[2]; i += VEC)
            for (int64_t c = 0; c < used; c += VEC) {
                const int64_t from[] = { out[0], out[1], out[2] + i };
                to.at = pixel_at(y, r, from, channel + c);
                tile_store(&to, results + i * p->width + c, p->width, BASE_MIN(r->size[2] - i, VEC),
                           BASE_MIN(used - c, VEC));
            }
        return;
    }
    uint32_t at[KERN_RANK_MAX] = { (uint32_t)r->n };
    for (uint32_t d = 2; d < y->rank; d++)
        at[d] = (uint32_t)out[d + 3 - y->rank];
    for (int64_t c = 0; c < used; c++) {
        for (int64_t i = 0; i < r->size[2]; i++)
            line[i] = results[i * p->width + c];
        at[1] = (uint32_t)(channel + c);
        dense_finish_f32(r->call, finish, at, (uint32_t)r->size[2], line);
    }
}

/* ---- a unit ---- */

/* The lines of band `at` of dimension 1, and those of X that they read and that are there. */
static void band_lines(struct last_run *r, int64_t at)
{
    const struct conv_last *p = &r->p;
    const struct conv_shape *s = &p->s;
    const int64_t starts = BASE_MIN(p->step, s->out[1]);
    int64_t count;
    r->low[1] = at % starts + at / starts * p->size[1] * p->step;
    r->size[1] = BASE_MAX(BASE_MIN(p->size[1], (s->out[1] - r->low[1] + p->step - 1) / p->step), 0);
    conv_last_range(s, 1, r->low[1], (r->size[1] - 1) * p->step + 1, &r->in_low[1], &count);
    const int64_t end = BASE_MIN(r->in_low[1] + count, s->in[1]);
    if (r->in_low[1] < 0)
        r->in_low[1] += (p->step - 1 - r->in_low[1]) / p->step * p->step;
    r->in_size[1] = BASE_MAX((end - r->in_low[1] + p->step - 1) / p->step, 0);
}

static void band_init(struct last_run *r, int64_t band)
{
    const struct conv_last *p = &r->p;
    const struct conv_shape *s = &p->s;
    int64_t at = band;
    for (uint32_t d = 3; d-- > 0; at /= p->bands[d]) {
        if (d == 1) {
            band_lines(r, at % p->bands[1]);
            continue;
        }
        r->low[d] = at % p->bands[d] * p->size[d];
        r->size[d] = BASE_MIN(p->size[d], s->out[d] - r->low[d]);
        conv_last_range(s, d, r->low[d], r->size[d], &r->in_low[d], &r->in_size[d]);
    }
    r->group = at % (int64_t)s->groups;
    r->n = at / (int64_t)s->groups;
    const int64_t end = BASE_MIN(r->in_low[0] + r->in_size[0], s->in[0]);
    r->in_low[0] = BASE_MAX(r->in_low[0], 0);
    r->in_size[0] = BASE_MAX(end - r->in_low[0], 0);
    if (p->copies)
        load_band(r);
    r->loaded = band;
}

static void last_unit(struct last_run *r, int64_t unit)
{
    static const struct conv_pw_epilogue none;
    const struct conv_last *p = &r->p;
    const struct conv_shape *s = &p->s;
    const struct kern_call *call = r->call;
    const bool direct = p->end == CONV_LAST_REGISTERS;
    if (r->loaded != unit / p->panels)
        band_init(r, unit / p->panels);
    const int64_t panel = unit % p->panels, channel = r->group * s->out_group + panel * p->width;
    const int64_t used = BASE_MIN(s->out_group - panel * p->width, p->width);
    float *bias = r->scratch + p->bias;
    for (int64_t i = 0; i < p->width; i++)
        bias[i] = call->op->u.conv.has_bias && i < used
                      ? (float)dense_load(call->data[2], (channel + i) * s->bias, call->op->tensors[2].type)
                      : 0;
    struct last_tile l = { .taps = (struct conv_last_tap *)(r->scratch + p->list) };
    l.t.a = band_start(r);
    l.t.a_step = p->pixel * (s->transposed ? 1 : s->stride[2]);
    l.t.b = r->weights + (r->group * p->panels + panel) * p->panel_floats;
    l.t.bias = bias;
    l.t.y_step = p->phases * (direct ? s->y[4] : p->width);
    l.t.k = (uint32_t)p->run;
    l.t.used = (uint32_t)(direct ? used : p->width);
    l.t.epilogue = p->in_tile ? &p->epilogue : &none;
    const float *next = l.t.b + p->panel_floats;
    for (int64_t line = 0; line < r->size[0] * r->size[1]; line++) {
        const int64_t out[] = { r->low[0] + line / r->size[1], r->low[1] + line % r->size[1] * p->step, r->low[2] };
        for (int64_t phase = 0; phase < BASE_MIN(p->phases, r->size[2]); phase++)
            line_phase(r, out, phase, channel, l, next);
        if (!direct)
            finish_line(r, out, channel, used);
    }
}

static void conv_last_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct last_run r = { .call = call, .scratch = call->worker_scratch, .weights = call->data[1], .loaded = -1 };
    conv_last_init(call->op, CONV_PW_ROWS, VEC, &r.p);
    for (uint64_t unit = begin; unit < end; unit++)
        last_unit(&r, (int64_t)unit);
}

KERN_ISA_RUN(conv_last_f32, conv_last_run)
