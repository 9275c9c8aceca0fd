/* SPDX-License-Identifier: Apache-2.0 */
/* Copies, concatenations, rotations and exchanged halves of graph_random.h, which includes this. */
#ifndef TESTS_UNIT_GRAPH_RANDOM_MOVES_H
#define TESTS_UNIT_GRAPH_RANDOM_MOVES_H

static void add_move(struct maker *maker)
{
    struct graph_operand in = any(maker);
    uint32_t start[4], sizes[4], order[4] = { 0, 1, 2, 3 };
    for (uint32_t d = 0; d < 4; d++) {
        sizes[d] = rnd(2) ? in.view.sizes[d] : 1 + rnd(in.view.sizes[d]);
        start[d] = rnd(in.view.sizes[d] - sizes[d] + 1);
    }
    if (rnd(2))
        in.view = graph_view_slice(&in.view, start, sizes, NULL);
    if (rnd(2)) {
        uint32_t a = rnd(4), b = rnd(4);
        order[a] = b;
        order[b] = a;
        in.view = graph_view_permute(&in.view, order);
    }
    struct graph_operand out = graph_temp(maker->graph, in.view.type, 4, in.view.sizes);
    make_move(maker->graph, in, out);
    /* A reinterpreting edge: the same bytes as another shape. */
    if (rnd(3) == 0)
        graph_view_reshape(&out.view, 4,
                           SIZES(1, out.view.sizes[0] * out.view.sizes[1], out.view.sizes[2], out.view.sizes[3]),
                           &out.view);
    keep(maker, out);
}

/* Windows of the last two dimensions in another order, as four dimensions again; what reads them may do so in six. */
static void add_windows(struct maker *maker)
{
    struct graph_operand in = any(maker), out;
    const uint32_t *s = in.view.sizes, h = 2 + rnd(2), w = 2 + rnd(2);
    uint32_t order[6] = { 0, 1, 2, 3, 4, 5 }, p[6];
    if (s[2] % h || s[3] % w || !graph_view_reshape(&in.view, 6, SIZES(s[0], s[1], s[2] / h, h, s[3] / w, w), &in.view))
        return;
    for (uint32_t d = 5; d; d--) {
        const uint32_t other = rnd(d + 1), here = order[d];
        order[d] = order[other];
        order[other] = here;
    }
    in.view = graph_view_permute(&in.view, order);
    memcpy(p, in.view.sizes, sizeof(p));
    out = graph_temp(maker->graph, in.view.type, 6, p);
    make_move(maker->graph, in, out);
    if (rnd(2))
        graph_view_reshape(&out.view, 4, SIZES(p[0], p[1] * p[2], p[3], p[4] * p[5]), &out.view);
    else
        graph_view_reshape(&out.view, 4, SIZES(p[0] * p[1], p[2] * p[3], p[4], p[5]), &out.view);
    keep(maker, out);
}

static void make_part(struct maker *maker, bool compute, struct graph_operand from, struct graph_operand part)
{
    if (compute)
        make_map(maker->graph, KERN_MAP_RELU, &from, 1, part, 0, 0);
    else
        make_move(maker->graph, from, part);
}

/* Rotated by `by` elements of one dimension, as slices and a concatenation. */
static struct graph_operand rotated(struct maker *maker, struct graph_operand x, uint32_t axis, uint32_t by)
{
    struct graph_operand out = graph_temp(maker->graph, x.view.type, 4, x.view.sizes);
    for (uint32_t part = 0; part < 2; part++) {
        uint32_t from[4] = { 0 }, to[4] = { 0 }, sizes[4];
        struct graph_operand in = x, place = out;
        memcpy(sizes, x.view.sizes, sizeof(sizes));
        from[axis] = part ? 0 : by;
        to[axis] = part ? sizes[axis] - by : 0;
        sizes[axis] = part ? by : sizes[axis] - by;
        in.view = graph_view_slice(&x.view, from, sizes, NULL);
        place.view = graph_view_slice(&out.view, to, sizes, NULL);
        make_move(maker->graph, in, place);
    }
    return out;
}

static void add_rotation(struct maker *maker)
{
    struct graph_operand x = any(maker);
    const uint32_t a = rnd(4), b = rnd(4);
    if (x.view.sizes[a] < 2 || x.view.sizes[b] < 2)
        return;
    x = rotated(maker, x, a, 1 + rnd(x.view.sizes[a] - 1));
    if (!rnd(4))
        keep(maker, x);
    keep(maker, rotated(maker, x, b, 1 + rnd(x.view.sizes[b] - 1)));
}

/* Half of the heads, each two times. */
static struct graph_operand repeated_heads(struct maker *maker, struct graph_operand x)
{
    const uint32_t *s = x.view.sizes;
    struct graph_operand out = graph_temp(maker->graph, F32, 5, SIZES(s[0], s[1] / 2, 2, s[2], s[3]));
    struct kern_view each = out.view;
    each.offset = x.view.offset;
    for (uint32_t d = 0; d < 5; d++)
        each.strides[d] = d == 2 ? 0 : x.view.strides[d - (d > 2)];
    make_move(maker->graph, (struct graph_operand){ x.value, each }, out);
    kern_view_set_packed(&out.view, F32, 4, s);
    return out;
}

/* Two halves of one dimension, or its even and odd elements, that change places, as they are or negated; most times
 * beside the tensor itself in what follows, as in a rotary embedding. */
static void add_halves(struct maker *maker)
{
    struct graph_operand x = any(maker), out, in[2];
    const uint32_t axis = rnd(4);
    const bool alternate = rnd(2), again = rnd(4) > 0;
    uint32_t sizes[4];
    memcpy(sizes, x.view.sizes, sizeof(sizes));
    if (sizes[axis] % 2)
        return;
    sizes[axis] /= 2;
    out = graph_temp(maker->graph, x.view.type, 4, x.view.sizes);
    for (uint32_t part = 0; part < 2; part++) {
        int32_t steps[4] = { 1, 1, 1, 1 };
        uint32_t from[4] = { 0 }, to[4] = { 0 };
        struct graph_operand source = x, place = out;
        steps[axis] = alternate ? 2 : 1;
        from[axis] = part ? 0 : alternate ? 1 : sizes[axis];
        to[axis] = part ? (alternate ? 1 : sizes[axis]) : 0;
        source.view = graph_view_slice(&x.view, from, sizes, steps);
        place.view = graph_view_slice(&out.view, to, sizes, steps);
        if (rnd(2))
            make_map(maker->graph, KERN_MAP_NEG, &source, 1, place, 0, 0);
        else
            make_move(maker->graph, source, place);
    }
    if (again) {
        const uint32_t first = rnd(2);
        in[first] = x;
        in[!first] = out;
        out = temp_like(maker, &x.view);
        make_map(maker->graph, KERN_MAP_SUB, in, 2, out, 0, 0);
    }
    keep(maker, out);
}

/* Rounded to 16 bits and back, which several ops may read. */
static void add_casts(struct maker *maker)
{
    const struct graph_operand x = any(maker);
    const struct graph_operand half = graph_temp(maker->graph, F16, 4, x.view.sizes);
    const struct graph_operand wide = graph_temp(maker->graph, F32, 4, x.view.sizes);
    maker->half = true;
    make_cast(maker->graph, x, half);
    make_cast(maker->graph, half, wide);
    keep(maker, wide);
    for (uint32_t i = rnd(3); i--;)
        keep(maker, look_again(wide));
}

/* The greater of two tensors by a stored comparison. */
static void add_choice(struct maker *maker)
{
    struct graph_operand in[3];
    in[1] = any(maker);
    const struct graph_operand *other = same_size(maker, &in[1].view), out = temp_like(maker, &in[1].view);
    if (!other)
        return;
    in[2] = *other;
    in[0] = graph_temp(maker->graph, DML_TENSOR_DATA_TYPE_UINT8, 4, in[1].view.sizes);
    make_map(maker->graph, KERN_MAP_LT, (struct graph_operand[]){ in[2], in[1] }, 2, in[0], 0, 0);
    make_map(maker->graph, KERN_MAP_SELECT, in, 3, out, 0, 0);
    keep(maker, out);
}

/* Two tensors side by side along an axis, or the second over part of the first, as they are or computed there; the
 * first part is sometimes copied away in between, so that order matters. */
/* A temporary whose channels lie together. */
static struct graph_operand pixels(struct maker *maker, uint32_t n, uint32_t c, uint32_t h, uint32_t w)
{
    struct graph_operand made = graph_temp(maker->graph, F32, 4, SIZES(n, c, h, w));
    const int64_t strides[] = { (int64_t)c * h * w, 1, (int64_t)w * c, c };
    memcpy(made.view.strides, strides, sizeof(strides));
    return made;
}

/* Branches of one image that are added, or subtracted: convolutions, the image, and the image scaled per channel. */
static void add_branches(struct maker *maker)
{
    const uint32_t n = 1 + rnd(2), groups = 1 + rnd(2), c = groups * (1 + rnd(3)), h = 4 + rnd(4), w = 4 + rnd(4);
    const uint32_t stride = 1 + rnd(4) / 3, count = 2 + rnd(2);
    struct graph_operand from = any(maker), x = pixels(maker, n, c, h, w), in[3], sum = x;
    in[0] = random_constant(maker, x.view.sizes);
    in[1] = from;
    in[1].view = graph_view_slice(&from.view, SIZES(0, 0, 0, 0), SIZES(1, 1, 1, 1), NULL);
    make_map(maker->graph, KERN_MAP_ADD, in, 2, x, 0, 0);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t k = rnd(3) ? 1 + 2 * rnd(2) : 5, kind = stride == 1 && i ? rnd(4) : 2;
        struct graph_operand y = pixels(maker, n, c, (h - 1) / stride + 1, (w - 1) / stride + 1), term = y;
        in[0] = x;
        in[1] = random_constant(maker, kind == 1 ? SIZES(1, c, 1, 1) : SIZES(c, c / groups, k, k));
        in[2] = random_constant(maker, SIZES(1, c, 1, 1));
        if (kind == 0)
            term = x;
        if (kind == 1) {
            for (uint32_t t = 1; t < 3; t++)
                in[t].view = graph_view_broadcast(&in[t].view, 4, x.view.sizes);
            make_map(maker->graph, KERN_MAP_FMA, in, 3, y, 0, 0);
        }
        if (kind > 1)
            make_conv(maker->graph, in, 2 + rnd(2), y, groups, stride, k / 2);
        struct graph_operand terms[2] = { sum, term }, next = pixels(maker, n, c, y.view.sizes[2], y.view.sizes[3]);
        if (i)
            make_map(maker->graph, rnd(3) ? KERN_MAP_ADD : KERN_MAP_SUB, terms, 2, next, 0, 0);
        sum = i ? next : term;
        if (rnd(8) == 0)
            keep(maker, sum);
    }
    keep(maker, sum);
}

static void add_join(struct maker *maker)
{
    struct graph_operand a = any(maker), part, copy;
    const struct graph_operand *b = same_size(maker, &a.view);
    uint32_t axis = rnd(4), sizes[4], start[4] = { 0 };
    if (!b || b->view.type != a.view.type || kern_view_elements(&a.view) > 4000)
        return;
    struct graph_operand second = *b;
    const bool compute = rnd(3) > 0;
    memcpy(sizes, a.view.sizes, sizeof(sizes));
    uint32_t shift = rnd(3) ? sizes[axis] : rnd(sizes[axis]);
    sizes[axis] += shift;
    struct graph_operand out = graph_temp(maker->graph, a.view.type, 4, sizes);
    part = out;
    part.view = graph_view_slice(&out.view, start, a.view.sizes, NULL);
    make_part(maker, compute, a, part);
    if (rnd(2)) {
        copy = graph_temp(maker->graph, a.view.type, 4, a.view.sizes);
        make_move(maker->graph, part, copy);
        keep(maker, copy);
    }
    start[axis] = shift;
    part.view = graph_view_slice(&out.view, start, a.view.sizes, NULL);
    make_part(maker, compute, second, part);
    if (compute && rnd(4)) {
        struct graph_operand in[2] = { out, random_constant(maker, SIZES(1, sizes[1], 1, 1)) };
        out = graph_temp(maker->graph, out.view.type, 4, sizes);
        make_map(maker->graph, KERN_MAP_ADD, in, 2, out, 0, 0);
    }
    keep(maker, out);
}

#endif
