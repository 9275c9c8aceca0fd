/* SPDX-License-Identifier: Apache-2.0 */
/* Views through a copy: finds the view of the copy's source that shows the same elements as a view of its result (or
 * vice versa).
 *
 * All positions count nibbles, the smallest element size, so that views of different types are comparable: an element
 * of w nibbles is one more innermost dimension of size w. The copy becomes a list of dimensions, each with a step on
 * both sides. On the `from` side the steps form a number system (each is at least the extent of all smaller ones), so a
 * position has one set of digits; a view's dimension steps along one digit, and stays inside it when no carry can
 * occur. */
#include "graph/ir/view.h"

#define DIMS_MAX (KERN_RANK_MAX + 1)

struct digit {
    int64_t size, from, to;   /* from > 0 */
    int64_t start, low, high; /* of the view: digit of element 0, and how far it moves */
};

struct copy {
    struct digit digits[DIMS_MAX]; /* by rising `from` */
    uint32_t count;
    int64_t from_offset, to_offset;
};

static int64_t nibbles(const struct kern_view *view)
{
    return schema_data_type_bits(view->type) / 4;
}

/* Positions are far below 2^64: values have at most 2^41 bytes. */
static bool view_small(const struct kern_view *view)
{
    const int64_t limit = INT64_C(1) << 44;
    int64_t low, high;
    if (!schema_data_type_bits(view->type) || !graph_view_bounds(view, &low, &high) || low < -limit || high > limit)
        return false;
    for (uint32_t i = 0; i < view->rank; i++)
        if (view->strides[i] < -limit || view->strides[i] > limit)
            return false;
    return true;
}

static bool copy_add(struct copy *copy, int64_t size, int64_t from, int64_t to)
{
    if (size == 1)
        return true;
    if (!from)
        return false;
    if (from < 0) { /* count this dimension from its other end */
        copy->from_offset += (size - 1) * from;
        copy->to_offset += (size - 1) * to;
        from = -from;
        to = -to;
    }
    uint32_t at = copy->count++;
    for (; at && copy->digits[at - 1].from > from; at--)
        copy->digits[at] = copy->digits[at - 1];
    copy->digits[at] = (struct digit){ .size = size, .from = from, .to = to };
    return true;
}

/* Checks that the digits form a number system, and merges neighbours that run on in step on both sides. */
static bool copy_merge(struct copy *copy)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < copy->count; i++) {
        struct digit *last = count ? &copy->digits[count - 1] : NULL, next = copy->digits[i];
        if (last && next.from < last->from * last->size)
            return false;
        if (last && next.from == last->from * last->size && next.to == last->to * last->size)
            last->size *= next.size;
        else
            copy->digits[count++] = next;
    }
    copy->count = count;
    return true;
}

static bool copy_init(struct copy *copy, const struct kern_view *from, const struct kern_view *to)
{
    int64_t width = nibbles(from);
    memset(copy, 0, sizeof(*copy));
    if (!view_small(from) || !view_small(to) || width != nibbles(to) || from->rank != to->rank)
        return false;
    copy->from_offset = from->offset * width;
    copy->to_offset = to->offset * width;
    for (uint32_t i = 0; i < from->rank; i++)
        if (from->sizes[i] != to->sizes[i] ||
            !copy_add(copy, from->sizes[i], from->strides[i] * width, to->strides[i] * width))
            return false;
    return copy_add(copy, width, 1, 1) && copy_merge(copy);
}

/* Writes the position's digits into `start`. */
static bool copy_locate(struct copy *copy, int64_t position)
{
    position -= copy->from_offset;
    if (position < 0)
        return false;
    for (uint32_t i = copy->count; i--; position %= copy->digits[i].from) {
        copy->digits[i].start = position / copy->digits[i].from;
        if (copy->digits[i].start >= copy->digits[i].size)
            return false;
    }
    return position == 0;
}

/* A dimension of `size` steps of `step`: returns its step on the other side. */
static bool copy_step(struct copy *copy, int64_t size, int64_t step, int64_t *out)
{
    int64_t length = step < 0 ? -step : step;
    uint32_t i = copy->count;
    *out = 0;
    if (size == 1 || step == 0)
        return true;
    while (i && copy->digits[i - 1].from > length)
        i--;
    if (!i || length % copy->digits[i - 1].from)
        return false;
    struct digit *digit = &copy->digits[i - 1];
    int64_t units = step / digit->from;
    *(units < 0 ? &digit->low : &digit->high) += (size - 1) * units;
    *out = units * digit->to;
    return true;
}

static bool copy_in_range(const struct copy *copy)
{
    for (uint32_t i = 0; i < copy->count; i++)
        if (copy->digits[i].start + copy->digits[i].low < 0 ||
            copy->digits[i].start + copy->digits[i].high >= copy->digits[i].size)
            return false;
    return true;
}

/* Strides of dimensions of size 1 are arbitrary: those of a dense tensor suit kernels best. */
static void tidy_ones(struct kern_view *view)
{
    for (uint32_t i = view->rank; i--;)
        if (view->sizes[i] == 1)
            view->strides[i] = i + 1 < view->rank ? view->strides[i + 1] * view->sizes[i + 1] : 1;
}

bool graph_view_through(const struct kern_view *from, const struct kern_view *to, const struct kern_view *view,
                        struct kern_view *out)
{
    struct copy copy;
    struct kern_view result = *view;
    int64_t width = nibbles(view), step;
    if (!view_small(view) || !copy_init(&copy, from, to) || !copy_locate(&copy, view->offset * width))
        return false;
    for (uint32_t i = 0; i < view->rank; i++) {
        if (!copy_step(&copy, view->sizes[i], view->strides[i] * width, &step) || step % width)
            return false;
        result.strides[i] = step / width;
    }
    if (!copy_step(&copy, width, 1, &step) || (width > 1 && step != 1) || !copy_in_range(&copy))
        return false;
    int64_t position = copy.to_offset;
    for (uint32_t i = 0; i < copy.count; i++)
        position += copy.digits[i].start * copy.digits[i].to;
    /* Kernels use byte addresses: a 4-bit view must start at a whole byte. */
    if (position % (width > 1 ? width : 2))
        return false;
    result.offset = position / width;
    tidy_ones(&result);
    *out = result;
    return true;
}

/* Dimension d as dimensions that each stay in one digit, the innermost first; 0: that cannot be. */
static uint32_t divide(const struct copy *copy, const struct kern_view *view, uint32_t d, uint32_t *out_sizes)
{
    int64_t size = view->sizes[d], step = view->strides[d] * nibbles(view);
    uint32_t i = 0, count = 0;
    if (size == 1 || step == 0) {
        out_sizes[0] = view->sizes[d];
        return 1;
    }
    while (i < copy->count && copy->digits[i].from * copy->digits[i].size <= step)
        i++;
    for (; i < copy->count && count < KERN_RANK_MAX && step > 0 && step % copy->digits[i].from == 0; i++) {
        const struct digit *digit = &copy->digits[i];
        const int64_t units = step / digit->from, inside = (digit->size + units - 1) / units;
        if (size <= inside) {
            out_sizes[count] = (uint32_t)size;
            return count + 1;
        }
        if (digit->size % units || size % inside)
            return 0;
        out_sizes[count++] = (uint32_t)inside;
        size /= inside;
        step = digit->from * digit->size;
    }
    return 0;
}

bool graph_view_divide(const struct kern_view *from, const struct kern_view *to, const struct kern_view *view,
                       uint32_t *out_counts, uint32_t (*out_sizes)[KERN_RANK_MAX])
{
    struct copy copy;
    uint32_t rank = 0;
    if (!view_small(view) || nibbles(view) != nibbles(from) || !copy_init(&copy, from, to))
        return false;
    for (uint32_t d = 0; d < view->rank; d++) {
        out_counts[d] = divide(&copy, view, d, out_sizes[d]);
        if (!out_counts[d])
            return false;
        rank += out_counts[d];
    }
    return rank > view->rank && rank <= KERN_RANK_MAX;
}

bool graph_view_injective(const struct kern_view *view)
{
    struct copy copy;
    return copy_init(&copy, view, view);
}

static bool hulls_apart(const struct kern_view *a, const struct kern_view *b)
{
    int64_t a_low, a_high, b_low, b_high;
    if (!graph_view_bounds(a, &a_low, &a_high) || !graph_view_bounds(b, &b_low, &b_high))
        return false;
    return (a_high + 1) * nibbles(a) <= b_low * nibbles(b) || (b_high + 1) * nibbles(b) <= a_low * nibbles(a);
}

/* The sizes of two views along the dimensions of one grid: 1 where a view has no such dimension. */
struct boxes {
    struct copy grid; /* `to` of a digit is its index in sizes[] */
    int64_t sizes[DIMS_MAX][2];
};

static bool boxes_add(struct boxes *boxes, const struct kern_view *view, uint32_t which)
{
    for (uint32_t d = 0; d < view->rank; d++) {
        struct copy *grid = &boxes->grid;
        uint32_t i = 0;
        if (view->sizes[d] == 1)
            continue;
        while (i < grid->count && grid->digits[i].from != view->strides[d])
            i++;
        const int64_t at = i < grid->count ? grid->digits[i].to : (int64_t)grid->count;
        if (view->strides[d] <= 0 || at == DIMS_MAX || (i < grid->count && boxes->sizes[at][which] != 1))
            return false;
        if (i == grid->count) {
            boxes->sizes[at][!which] = 1;
            copy_add(grid, 2, view->strides[d], at); /* any size above 1 makes it keep the dimension */
        }
        boxes->sizes[at][which] = view->sizes[d];
    }
    return true;
}

/* Both views as boxes of one grid, b's corner at digits that are not negative: apart when they are along one digit. */
static bool boxes_apart(const struct kern_view *a, const struct kern_view *b)
{
    struct boxes boxes = { 0 };
    struct copy *grid = &boxes.grid;
    int64_t delta = b->offset - a->offset;
    if (!boxes_add(&boxes, a, 0) || !boxes_add(&boxes, b, 1))
        return false;
    for (uint32_t i = grid->count; i--; delta %= grid->digits[i].from)
        grid->digits[i].start = delta / grid->digits[i].from;
    if (delta)
        return false;
    bool apart = false;
    int64_t extent = 1;
    for (uint32_t i = 0; i < grid->count; i++) {
        const struct digit *digit = &grid->digits[i];
        const int64_t *sizes = boxes.sizes[digit->to], b_end = digit->start + sizes[1];
        if (digit->from < extent)
            return false;
        extent = digit->from * BASE_MAX(sizes[0], b_end);
        apart |= digit->start >= sizes[0];
    }
    return apart;
}

bool graph_views_disjoint(const struct kern_view *a, const struct kern_view *b)
{
    if (!view_small(a) || !view_small(b))
        return false;
    if (hulls_apart(a, b))
        return true;
    if (nibbles(a) != nibbles(b))
        return false;
    return a->offset <= b->offset ? boxes_apart(a, b) : boxes_apart(b, a);
}
