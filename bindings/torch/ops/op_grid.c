/* SPDX-License-Identifier: Apache-2.0 */
/* Grid sampling in two and three dimensions by ANYDML_OPERATOR_GRID_SAMPLE; bicubic samples and gradients: gathers of
 * all taps of each point, and scatter-adds. */
#include "index.h"

#include <math.h>

#define EW(name) DML_OPERATOR_ELEMENT_WISE_##name

#define AXES_MAX 3
#define TAPS_MAX 4

enum { BILINEAR, NEAREST, BICUBIC };
enum { ZEROS, BORDER, REFLECTION };

/* One dimension of the input: the taps of each point, and the derivatives of their weights with respect to the
 * coordinate. */
struct line {
    int64_t size;
    struct aten_value *slope; /* derivative of the coordinate with respect to the grid's number */
    struct aten_value *index[TAPS_MAX], *weight[TAPS_MAX], *change[TAPS_MAX];
    struct aten_value *inside[TAPS_MAX]; /* NULL: all are inside */
};

struct sampling {
    struct aten_graph *g;
    int32_t type;
    int64_t mode, padding, align;
    uint32_t axes, taps;
    int64_t batch, points, channels, places; /* places: number of pixels of all images of the input */
    struct line lines[AXES_MAX];             /* slowest dimension first */
};

static struct aten_value *number(const struct sampling *s, double value)
{
    return aten_scalar(s->g, s->type, value);
}

static struct aten_value *clipped(const struct sampling *s, struct aten_value *x, double most)
{
    x = aten_apply2(s->g, EW(MAX), x, number(s, 0));
    return aten_apply2(s->g, EW(MIN), x, number(s, most));
}

/* Reflects x at both ends until it is inside; *slope changes its sign with each reflection. */
static struct aten_value *mirrored(const struct sampling *s, struct aten_value *x, int64_t size,
                                   struct aten_value **slope)
{
    struct aten_graph *g = s->g;
    const double least = s->align ? 0 : -0.5, span = s->align ? (double)(size - 1) : (double)size;
    if (span == 0) {
        *slope = aten_scaled(g, *slope, 0, 0);
        return aten_scaled(g, x, 0, 0);
    }
    x = aten_scaled(g, x, 1, -least);
    struct aten_value *low = aten_apply2(g, EW(LOGICAL_LESS_THAN), x, number(s, 0));
    x = aten_apply(g, EW(ABS), x);
    struct aten_value *rest = aten_apply2(g, EW(MODULUS_TRUNCATE), x, number(s, span));
    struct aten_value *flips = aten_apply(g, EW(FLOOR), aten_divide(g, x, number(s, span)));
    struct aten_value *odd =
        aten_apply2(g, EW(LOGICAL_EQUALS), aten_apply2(g, EW(MODULUS_FLOOR), flips, number(s, 2)), number(s, 1));
    struct aten_value *turned = aten_apply2(g, EW(LOGICAL_XOR), low, odd);
    *slope = aten_select(g, turned, aten_scaled(g, *slope, -1, 0), *slope);
    return aten_scaled(g, aten_select(g, odd, aten_scaled(g, rest, -1, span), rest), 1, least);
}

/* The position as an index into the input, and whether it is inside. */
static void tap_at(const struct sampling *s, struct line *line, uint32_t k, struct aten_value *place)
{
    struct aten_graph *g = s->g;
    const double most = (double)(line->size - 1);
    if (s->mode == BICUBIC && s->padding == REFLECTION) {
        struct aten_value *unused = place;
        place = mirrored(s, place, line->size, &unused);
    }
    struct aten_value *held = clipped(s, place, most);
    if (s->padding == ZEROS)
        line->inside[k] = aten_apply2(g, EW(LOGICAL_EQUALS), held, place);
    /* NaN becomes 0, so that every index is valid. */
    held = aten_select(g, aten_test(g, EW(IS_NAN), place, 0), number(s, 0), held);
    line->index[k] = aten_convert(g, held, ATEN_INT64);
}

/* Keys' cubic with a = -3/4 at distance t from the tap, or its derivative: near (t <= 1) or far (1 < t < 2). */
static struct aten_value *cubic(const struct sampling *s, struct aten_value *t, bool near, bool derivative)
{
    const double a = -0.75, c[2][4] = { { -4 * a, 8 * a, -5 * a, a }, { 1, 0, -(a + 3), a + 2 } };
    struct aten_value *y = NULL;
    for (int k = 3; k >= derivative; k--) {
        const double factor = derivative ? k * c[near][k] : c[near][k];
        y = y ? aten_scaled(s->g, aten_multiply(s->g, y, t), 1, factor) : number(s, factor);
    }
    return y;
}

static void weigh(const struct sampling *s, struct line *line, struct aten_value *x)
{
    struct aten_graph *g = s->g;
    if (s->mode == NEAREST) {
        tap_at(s, line, 0, aten_round(g, x, DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN));
        return;
    }
    struct aten_value *floor = aten_apply(g, EW(FLOOR), x), *t = aten_subtract(g, x, floor);
    for (uint32_t k = 0; k < s->taps; k++) {
        const int at = (int)k - (s->mode == BICUBIC);
        tap_at(s, line, k, aten_scaled(g, floor, 1, at));
        if (s->mode == BILINEAR) {
            line->weight[k] = k ? t : aten_scaled(g, t, -1, 1);
            line->change[k] = number(s, k ? 1 : -1);
            continue;
        }
        /* For taps before the point, the distance |t - at| grows with t. */
        struct aten_value *distance = at <= 0 ? aten_scaled(g, t, 1, -at) : aten_scaled(g, t, -1, at);
        const bool near = at == 0 || at == 1;
        line->weight[k] = cubic(s, distance, near, false);
        line->change[k] = aten_scaled(g, cubic(s, distance, near, true), at <= 0 ? 1 : -1, 0);
    }
}

/* Processes the coordinates of one dimension of the grid: [points of all images]. */
static bool line_begin(struct sampling *s, struct line *line, struct aten_value *x)
{
    struct aten_graph *g = s->g;
    const double size = (double)line->size, factor = s->align ? (size - 1) / 2 : size / 2;
    /* Rounds exactly as torch does: a coordinate halfway between two taps must select the same one. */
    x = aten_scaled(g, x, 1, 1);
    x = s->align ? aten_scaled(g, aten_scaled(g, x, 0.5, 0), size - 1, 0)
                 : aten_scaled(g, aten_scaled(g, x, size, -1), 0.5, 0);
    line->slope = number(s, factor);
    if (s->mode != BICUBIC && s->padding == REFLECTION)
        x = mirrored(s, x, line->size, &line->slope);
    if (s->mode != BICUBIC && s->padding != ZEROS) {
        struct aten_value *over = aten_apply2(g, EW(LOGICAL_GREATER_THAN), x, number(s, 0));
        over = aten_apply2(g, EW(LOGICAL_AND), over, aten_apply2(g, EW(LOGICAL_LESS_THAN), x, number(s, size - 1)));
        line->slope = aten_select(g, over, line->slope, number(s, 0));
        x = clipped(s, x, size - 1);
    }
    weigh(s, line, x);
    return !g->failed;
}

/* Reads input, grid, interpolation_mode, padding_mode, align_corners: arguments from `first` on. */
static bool read_arguments(struct aten_graph *g, const struct aten_node *n, uint32_t first, struct sampling *s)
{
    const struct aten_value *input = aten_in(g, n, first), *grid = aten_in(g, n, first + 1);
    *s = (struct sampling){ .g = g, .type = input ? aten_wide(input->type) : 0, .axes = (uint32_t)n->parameter };
    s->mode = aten_int(g, n, first + 2, BILINEAR);
    s->padding = aten_int(g, n, first + 3, ZEROS);
    s->align = aten_int(g, n, first + 4, 0);
    if (!input || !grid || input->rank != s->axes + 2 || grid->rank != s->axes + 2 || !aten_elements(input) ||
        !aten_elements(grid) || s->mode < 0 || s->mode > (s->axes == 2 ? BICUBIC : NEAREST) || s->padding < 0 ||
        s->padding > REFLECTION)
        return aten_fail(g, "input and grid must have %u dimensions and must not be empty, and the modes must be known",
                         s->axes + 2);
    s->taps = s->mode == BILINEAR ? 2 : s->mode == NEAREST ? 1 : 4;
    s->batch = input->sizes[0];
    s->channels = input->sizes[1];
    s->points = aten_elements(grid) / s->axes / s->batch;
    s->places = aten_elements(input) / s->channels;
    return true;
}

/* The same, and the taps of each dimension. */
static bool begin(struct aten_graph *g, const struct aten_node *n, uint32_t first, struct sampling *s)
{
    if (!read_arguments(g, n, first, s))
        return false;
    const struct aten_value *input = aten_in(g, n, first);
    struct aten_value *grid = aten_in_as(g, n, first + 1, s->type);
    const int64_t all = s->batch * s->points;
    for (uint32_t d = 0; d < s->axes; d++) {
        s->lines[d].size = input->sizes[d + 2];
        struct aten_value *x = aten_slice(g, grid, s->axes + 1, s->axes - 1 - d, 1, 1);
        if (!line_begin(s, &s->lines[d], aten_reshape(g, x, 1, &all)))
            return false;
    }
    return true;
}

/* ---- one combination of taps ---- */

struct tap {
    struct aten_value *at;     /* index into all pixels, [points of all images] */
    struct aten_value *weight; /* 0 outside; NULL: 1 */
    struct aten_value *inside; /* NULL: all are inside */
    uint32_t k[AXES_MAX];
};

static struct tap tap_of(const struct sampling *s, uint32_t number_of)
{
    struct aten_graph *g = s->g;
    struct tap tap = { NULL, NULL, NULL, { 0 } };
    int64_t *images = aten_alloc(g, (size_t)s->batch * sizeof(*images));
    const int64_t column[2] = { s->batch, 1 }, table[2] = { s->batch, s->points }, all = s->batch * s->points;
    for (int64_t i = 0; images && i < s->batch; i++)
        images[i] = i;
    struct aten_value *at =
        aten_reshape(g, aten_expand(g, aten_constant(g, ATEN_INT64, 2, column, images), 2, table), 1, &all);
    for (uint32_t d = 0; d < s->axes; d++) {
        const struct line *line = &s->lines[d];
        const uint32_t k = tap.k[d] = number_of % s->taps;
        number_of /= s->taps;
        at = aten_add(g, aten_scaled(g, at, (double)line->size, 0), line->index[k]);
        if (line->weight[k])
            tap.weight = tap.weight ? aten_multiply(g, tap.weight, line->weight[k]) : line->weight[k];
        if (line->inside[k])
            tap.inside = tap.inside ? aten_apply2(g, EW(LOGICAL_AND), tap.inside, line->inside[k]) : line->inside[k];
    }
    tap.at = at;
    return tap;
}

static struct aten_value *masked(const struct sampling *s, struct aten_value *x, struct aten_value *inside)
{
    return x && inside ? aten_select(s->g, inside, x, number(s, 0)) : x;
}

static uint32_t tap_count(const struct sampling *s)
{
    uint32_t count = 1;
    for (uint32_t d = 0; d < s->axes; d++)
        count *= s->taps;
    return count;
}

/* [images, channels, ...] as [images * pixels, channels] */
static struct aten_value *rows_of(const struct sampling *s, struct aten_value *x)
{
    if (!x)
        return NULL;
    const int64_t images = s->batch, rest = aten_elements(x) / images / s->channels;
    const int64_t cube[3] = { images, s->channels, rest }, flat[2] = { images * rest, s->channels };
    return aten_reshape(s->g, aten_transpose(s->g, aten_reshape(s->g, x, 3, cube), 1, 2), 2, flat);
}

static struct aten_value *rows_back(const struct sampling *s, struct aten_value *x, const struct aten_tensor *out)
{
    const int64_t rest = x ? x->sizes[0] / s->batch : 0, cube[3] = { s->batch, rest, s->channels };
    return aten_reshape(s->g, aten_transpose(s->g, aten_reshape(s->g, x, 3, cube), 1, 2), out->rank, out->sizes);
}

/* All but bicubic samples. */
static bool by_operator(struct aten_graph *g, const struct aten_node *n, const struct sampling *s)
{
    static const DML_PADDING_MODE paddings[] = {
        [ZEROS] = DML_PADDING_MODE_CONSTANT, [BORDER] = DML_PADDING_MODE_EDGE, [REFLECTION] = DML_PADDING_MODE_SYMMETRIC
    };
    struct aten_value *in[2] = { aten_in(g, n, 0), aten_in(g, n, 1) };
    struct aten_value *y = in[0] && in[1] ? aten_new(g, in[0]->type, n->outputs[0].rank, n->outputs[0].sizes) : NULL;
    struct aten_desc d[3];
    if (!y)
        return false;
    const ANYDML_GRID_SAMPLE_OPERATOR_DESC desc = {
        aten_describe(g, &d[0], in[0]),
        aten_describe(g, &d[1], in[1]),
        aten_describe(g, &d[2], y),
        s->mode == NEAREST ? DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR : DML_INTERPOLATION_MODE_LINEAR,
        s->padding == REFLECTION && s->align ? DML_PADDING_MODE_REFLECTION : paddings[s->padding],
        s->align != 0,
        false,
    };
    return aten_emit(g, ANYDML_OPERATOR_GRID_SAMPLE, &desc, in, 2, &y, 1) && aten_result(g, n, 0, y);
}

/* grid_sampler_2d, _3d(input, grid, interpolation_mode, padding_mode, align_corners); parameter: dimensions. */
bool aten_build_grid_sampler(struct aten_graph *g, const struct aten_node *n)
{
    struct sampling s;
    if (!read_arguments(g, n, 0, &s))
        return false;
    if (s.mode != BICUBIC)
        return by_operator(g, n, &s);
    if (!begin(g, n, 0, &s))
        return false;
    struct aten_value *input = rows_of(&s, aten_in_as(g, n, 0, s.type)), *y = NULL;
    for (uint32_t i = 0; i < tap_count(&s) && !g->failed; i++) {
        struct tap tap = tap_of(&s, i);
        struct aten_value *part = aten_gather(g, input, tap.at, 0);
        if (tap.weight)
            part = aten_multiply(g, part, aten_unsqueeze(g, tap.weight, 1));
        if (tap.inside)
            part = aten_select(g, aten_unsqueeze(g, tap.inside, 1), part, number(&s, 0));
        y = y ? aten_add(g, y, part) : part;
    }
    return aten_result(g, n, 0, rows_back(&s, y, &n->outputs[0]));
}

/* The gradient of the grid: for each tap, the dot product of its values with the result's gradient, times the
 * derivative of its weight. */
static struct aten_value *grid_gradient(const struct sampling *s, struct aten_value *input, struct aten_value *grad)
{
    struct aten_graph *g = s->g;
    struct aten_value *by[AXES_MAX] = { NULL };
    for (uint32_t i = 0; i < tap_count(s) && !g->failed; i++) {
        struct tap tap = tap_of(s, i);
        struct aten_value *dot = aten_multiply(g, aten_gather(g, input, tap.at, 0), grad);
        dot = dot ? aten_squeeze(g, aten_reduced(g, DML_REDUCE_FUNCTION_SUM, dot, 2, s->type), 1) : NULL;
        dot = masked(s, dot, tap.inside);
        for (uint32_t d = 0; d < s->axes; d++) {
            struct aten_value *change = dot;
            for (uint32_t e = 0; e < s->axes; e++) {
                const struct line *line = &s->lines[e];
                change = aten_multiply(g, change, e == d ? line->change[tap.k[e]] : line->weight[tap.k[e]]);
            }
            by[d] = by[d] ? aten_add(g, by[d], change) : change;
        }
    }
    struct aten_value *columns[AXES_MAX];
    for (uint32_t d = 0; d < s->axes; d++) {
        struct aten_value *y = aten_multiply(g, by[s->axes - 1 - d], s->lines[s->axes - 1 - d].slope);
        columns[d] = y ? aten_unsqueeze(g, y, 1) : NULL;
    }
    return g->failed ? NULL : aten_join(g, columns, s->axes, 1);
}

/* grid_sampler_2d_backward, _3d(grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask)
 */
bool aten_build_grid_sampler_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct sampling s;
    if (!begin(g, n, 1, &s))
        return false;
    struct aten_value *grad = rows_of(&s, aten_in_as(g, n, 0, s.type));
    if (aten_wanted(n, 0)) {
        const int64_t sizes[2] = { s.places, s.channels };
        struct aten_value *y = aten_zeros(g, s.type, 2, sizes);
        for (uint32_t i = 0; i < tap_count(&s) && !g->failed; i++) {
            struct tap tap = tap_of(&s, i);
            struct aten_value *part = grad;
            if (tap.weight)
                part = aten_multiply(g, part, aten_unsqueeze(g, tap.weight, 1));
            if (tap.inside)
                part = aten_select(g, aten_unsqueeze(g, tap.inside, 1), part, number(&s, 0));
            y = aten_scatter_tuples(g, y, aten_unsqueeze(g, tap.at, 1), part, DML_REDUCE_FUNCTION_SUM);
        }
        if (!aten_result(g, n, 0, rows_back(&s, y, &n->outputs[0])))
            return false;
    }
    if (!aten_wanted(n, 1))
        return true;
    const struct aten_tensor *out = &n->outputs[1];
    if (s.mode == NEAREST)
        return aten_result(g, n, 1, aten_zeros(g, s.type, out->rank, out->sizes));
    struct aten_value *y = grid_gradient(&s, rows_of(&s, aten_in_as(g, n, 1, s.type)), grad);
    return aten_result(g, n, 1, aten_reshape(g, y, out->rank, out->sizes));
}
