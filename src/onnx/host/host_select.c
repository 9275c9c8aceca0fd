/* SPDX-License-Identifier: Apache-2.0 */
/* NonMaxSuppression and Unique: the values decide how many results there are. */
#include "onnx/host/host.h"

#include "onnx/emit/build.h"

#include <math.h>
#include <stdlib.h>

/* ---- sorting ---- */

typedef int compare_fn(const void *context, int64_t x, int64_t y);

/* Merges two sorted halves of items[0 .. count) through `spare`; equal ones keep their order. */
static void merge(int64_t *items, int64_t *spare, int64_t half, int64_t count, compare_fn *compare, const void *context)
{
    int64_t a = 0, b = half;
    for (int64_t i = 0; i < count; i++) {
        bool second = a == half || (b < count && compare(context, items[b], items[a]) < 0);
        spare[i] = items[second ? b++ : a++];
    }
    memcpy(items, spare, (size_t)count * sizeof(*items));
}

/* Stable. */
static void sort(int64_t *items, int64_t *spare, int64_t count, compare_fn *compare, const void *context)
{
    for (int64_t size = 1; size < count; size *= 2)
        for (int64_t at = 0; at + size < count; at += 2 * size)
            merge(items + at, spare, size, BASE_MIN(2 * size, count - at), compare, context);
}

/* ---- NonMaxSuppression ---- */

struct suppression {
    const struct onnx_array *boxes, *scores;
    bool centers;
    int64_t count;  /* of boxes in each batch row */
    int64_t row;    /* of scores: the first one of the batch row and class */
    int64_t most;   /* for each class */
    double overlap; /* above which a box is dropped */
    const struct onnx_array *least;
};

struct box {
    float low[2], high[2];
};

static struct box box_of(const struct suppression *s, int64_t at)
{
    struct box b;
    float v[4];
    for (uint32_t i = 0; i < 4; i++)
        v[i] = (float)onnx_host_real(s->boxes, at * 4 + i);
    for (uint32_t i = 0; i < 2; i++) {
        b.low[i] = s->centers ? v[i] - v[2 + i] / 2 : fminf(v[i], v[2 + i]);
        b.high[i] = s->centers ? v[i] + v[2 + i] / 2 : fmaxf(v[i], v[2 + i]);
    }
    return b;
}

static float area(const struct box *b)
{
    return (b->high[0] - b->low[0]) * (b->high[1] - b->low[1]);
}

/* Boxes without an area overlap with none. */
static bool overlaps(const struct suppression *s, const struct box *x, const struct box *y)
{
    struct box common;
    for (uint32_t i = 0; i < 2; i++) {
        common.low[i] = fmaxf(x->low[i], y->low[i]);
        common.high[i] = fminf(x->high[i], y->high[i]);
        if (!(common.high[i] > common.low[i]))
            return false;
    }
    float inner = area(&common), one = area(x), other = area(y), all = one + other - inner;
    return one > 0 && other > 0 && all > 0 && inner / all > (float)s->overlap;
}

/* Higher scores first, NaN last. */
static int compare_scores(const void *context, int64_t x, int64_t y)
{
    const struct suppression *s = context;
    double a = onnx_host_real(s->scores, s->row + x), b = onnx_host_real(s->scores, s->row + y);
    return isnan(a) || isnan(b) ? isnan(a) - isnan(b) : (a < b) - (a > b);
}

/* The boxes of one batch row that one class selects, at the start of `order`; `chosen` and `spare` have room for all.
 */
static int64_t select_boxes(const struct suppression *s, int64_t batch, int64_t *order, int64_t *spare,
                            struct box *chosen)
{
    int64_t candidates = 0, selected = 0;
    for (int64_t i = 0; i < s->count; i++)
        if (!s->least || onnx_host_real(s->scores, s->row + i) > onnx_host_real(s->least, 0))
            order[candidates++] = i;
    sort(order, spare, candidates, compare_scores, s);
    for (int64_t i = 0; i < candidates && selected < s->most; i++) {
        struct box b = box_of(s, batch * s->count + order[i]);
        bool kept = true;
        for (int64_t k = 0; kept && k < selected; k++)
            kept = !overlaps(s, &b, &chosen[k]);
        if (kept) {
            chosen[selected] = b;
            order[selected++] = order[i];
        }
    }
    return selected;
}

static HRESULT one_number(struct onnx_host_call *c, uint32_t i, const struct onnx_array **out)
{
    *out = onnx_host_in(c, i);
    if (!*out)
        return S_OK;
    HRESULT hr = onnx_host_numbers(c, i, out);
    return FAILED(hr) || onnx_host_elements(*out) == 1
               ? hr
               : onnx_flow_fail(c->flow, c->node, "input %u must be one number", i);
}

static HRESULT suppression_open(struct onnx_host_call *c, struct suppression *s)
{
    const struct onnx_array *most, *overlap;
    HRESULT hr = onnx_host_numbers(c, 0, &s->boxes);
    if (SUCCEEDED(hr))
        hr = onnx_host_numbers(c, 1, &s->scores);
    if (SUCCEEDED(hr))
        hr = one_number(c, 2, &most);
    if (SUCCEEDED(hr))
        hr = one_number(c, 3, &overlap);
    if (SUCCEEDED(hr))
        hr = one_number(c, 4, &s->least);
    if (FAILED(hr))
        return hr;
    if (s->boxes->rank != 3 || s->boxes->dims[2] != 4 || s->scores->rank != 3 ||
        s->boxes->dims[0] != s->scores->dims[0] || s->boxes->dims[1] != s->scores->dims[2])
        return onnx_flow_fail(c->flow, c->node,
                              "boxes [batch, count, 4] and scores [batch, classes, count] do not fit");
    s->count = s->boxes->dims[1];
    s->most = most ? onnx_host_int(most, 0) : 0;
    s->overlap = overlap ? onnx_host_real(overlap, 0) : 0;
    s->centers = onnx_attr_int(c->node, "center_point_box", 0) != 0;
    if (!(s->overlap >= 0 && s->overlap <= 1))
        return onnx_flow_fail(c->flow, c->node, "iou_threshold is %g, must be from 0 to 1", s->overlap);
    return S_OK;
}

/* Batch row, class and box of each selected one. */
struct selection {
    int64_t (*rows)[3];
    uint32_t count, capacity;
};

static HRESULT suppress(struct onnx_host_call *c, struct suppression *s, struct selection *found)
{
    const int64_t classes = s->scores->dims[1];
    int64_t *order = calloc((size_t)s->count + 1, sizeof(*order)),
            *spare = calloc((size_t)s->count + 1, sizeof(*spare));
    struct box *chosen = calloc((size_t)s->count + 1, sizeof(*chosen));
    HRESULT hr = order && spare && chosen ? S_OK : onnx_host_no_memory(c);
    for (int64_t i = 0; SUCCEEDED(hr) && i < s->scores->dims[0] * classes; i++) {
        s->row = i * s->count;
        int64_t selected = select_boxes(s, i / classes, order, spare, chosen);
        for (int64_t k = 0; SUCCEEDED(hr) && k < selected; k++) {
            if (!base_array_reserve((void **)&found->rows, found->count, &found->capacity, sizeof(*found->rows))) {
                hr = onnx_host_no_memory(c);
                continue;
            }
            int64_t *row = found->rows[found->count++];
            row[0] = i / classes;
            row[1] = i % classes;
            row[2] = order[k];
        }
    }
    free(order);
    free(spare);
    free(chosen);
    return hr;
}

HRESULT onnx_host_non_max_suppression(struct onnx_host_call *c)
{
    struct suppression s;
    struct selection found = { 0 };
    HRESULT hr = suppression_open(c, &s);
    if (SUCCEEDED(hr) && s.most > 0)
        hr = suppress(c, &s, &found);
    if (SUCCEEDED(hr))
        hr = onnx_host_make(c, 0, ONNX_INT64, 2, (int64_t[]){ found.count, 3 });
    if (SUCCEEDED(hr) && found.count && c->out[0].data)
        memcpy(c->out[0].data, found.rows, found.count * sizeof(*found.rows));
    free(found.rows);
    return hr;
}

/* ---- Unique ---- */

/* `count` slices of an axis, or elements: each in `outer` pieces of `inner` elements. */
struct slices {
    const struct onnx_array *x;
    int64_t count, outer, inner;
};

static int compare_elements(const struct onnx_array *x, int64_t a, int64_t b)
{
    switch (x->type) {
    case ONNX_FLOAT:
    case ONNX_DOUBLE:
    case ONNX_FLOAT16:
    case ONNX_BFLOAT16: {
        double m = onnx_host_real(x, a), n = onnx_host_real(x, b);
        return isnan(m) || isnan(n) ? isnan(m) - isnan(n) : (m > n) - (m < n); /* NaN last, and one value */
    }
    case ONNX_UINT64: {
        uint64_t m = (uint64_t)onnx_host_int(x, a), n = (uint64_t)onnx_host_int(x, b);
        return (m > n) - (m < n);
    }
    default: {
        int64_t m = onnx_host_int(x, a), n = onnx_host_int(x, b);
        return (m > n) - (m < n);
    }
    }
}

static int compare_slices(const void *context, int64_t x, int64_t y)
{
    const struct slices *s = context;
    int order = 0;
    for (int64_t i = 0; !order && i < s->outer; i++)
        for (int64_t k = 0; !order && k < s->inner; k++)
            order = compare_elements(s->x, (i * s->count + x) * s->inner + k, (i * s->count + y) * s->inner + k);
    return order;
}

static int compare_numbers(const void *context, int64_t x, int64_t y)
{
    const int64_t *first = context;
    return (first[x] > first[y]) - (first[x] < first[y]);
}

/* For each slice, and for each of the different ones. */
struct groups {
    int64_t *order, *spare, *of, *first, *size, *rank;
    int64_t count;
};

static void group(const struct slices *s, struct groups *g, bool sorted)
{
    for (int64_t i = 0; i < s->count; i++)
        g->order[i] = i;
    sort(g->order, g->spare, s->count, compare_slices, s);
    for (int64_t i = 0; i < s->count; i++) {
        if (!i || compare_slices(s, g->order[i - 1], g->order[i]))
            g->first[g->count++] = g->order[i]; /* the first of them: the sort is stable */
        g->of[g->order[i]] = g->count - 1;
        g->size[g->count - 1]++;
    }
    for (int64_t i = 0; i < g->count; i++)
        g->order[i] = i;
    if (!sorted)
        sort(g->order, g->spare, g->count, compare_numbers, g->first);
    for (int64_t i = 0; i < g->count; i++)
        g->rank[g->order[i]] = i;
}

static HRESULT unique_write(struct onnx_host_call *c, const struct slices *s, const struct groups *g, int64_t axis)
{
    int64_t dims[ONNX_RANK_MAX] = { g->count };
    uint32_t rank = axis < 0 ? 1 : s->x->rank;
    const size_t bytes = (size_t)s->inner * onnx_type_bytes(s->x->type);
    if (axis >= 0) {
        memcpy(dims, s->x->dims, sizeof(dims));
        dims[axis] = g->count;
    }
    HRESULT hr = onnx_host_make(c, 0, s->x->type, rank, dims);
    for (uint32_t i = 1; SUCCEEDED(hr) && i < 4; i++)
        hr = onnx_host_make(c, i, ONNX_INT64, 1, i == 2 ? &s->count : &g->count);
    for (int64_t i = 0; SUCCEEDED(hr) && i < s->outer * g->count && bytes; i++) {
        int64_t from = g->first[g->order[i % g->count]];
        memcpy((char *)c->out[0].data + (size_t)i * bytes,
               (const char *)s->x->data + (size_t)(i / g->count * s->count + from) * bytes, bytes);
    }
    for (int64_t i = 0; SUCCEEDED(hr) && i < g->count; i++) {
        if (c->node->output_count > 1)
            onnx_host_set_int(&c->out[1], i, g->first[g->order[i]]);
        if (c->node->output_count > 3)
            onnx_host_set_int(&c->out[3], i, g->size[g->order[i]]);
    }
    for (int64_t i = 0; SUCCEEDED(hr) && i < s->count && c->node->output_count > 2; i++)
        onnx_host_set_int(&c->out[2], i, g->rank[g->of[i]]);
    return hr;
}

HRESULT onnx_host_unique(struct onnx_host_call *c)
{
    const struct onnx_attribute *a = onnx_attribute(c->node, "axis");
    struct slices s = { .outer = 1, .inner = 1 };
    HRESULT hr = onnx_host_numbers(c, 0, &s.x);
    if (FAILED(hr))
        return hr;
    int64_t axis = a ? a->i + (a->i < 0 ? s.x->rank : 0) : -1;
    if (a && (axis < 0 || axis >= s.x->rank))
        return onnx_flow_fail(c->flow, c->node, "axis %lld is outside the %u dimensions", (long long)a->i, s.x->rank);
    for (uint32_t i = 0; a && i < s.x->rank; i++) {
        s.outer *= i < axis ? s.x->dims[i] : 1;
        s.inner *= i > axis ? s.x->dims[i] : 1;
    }
    s.count = a ? s.x->dims[axis] : onnx_host_elements(s.x);
    int64_t *memory = calloc((size_t)s.count * 6 + 1, sizeof(*memory));
    if (!memory)
        return onnx_host_no_memory(c);
    struct groups g = { .order = memory,
                        .spare = memory + s.count,
                        .of = memory + 2 * s.count,
                        .first = memory + 3 * s.count,
                        .size = memory + 4 * s.count,
                        .rank = memory + 5 * s.count };
    group(&s, &g, onnx_attr_int(c->node, "sorted", 1) != 0);
    hr = unique_write(c, &s, &g, axis);
    free(memory);
    return hr;
}
