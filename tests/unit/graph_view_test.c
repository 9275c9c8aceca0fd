/* SPDX-License-Identifier: Apache-2.0 */
/* Views against the plain enumeration of their elements. */
#include "graph/ir/view.h"

#include "test.h"

#include <stdlib.h>

static uint32_t seed = 1;

static uint32_t rnd(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)(seed >> 8) * below) >> 24);
}

/* Element number i, row-major, of the view: its position in the value. */
static int64_t position(const struct kern_view *view, uint64_t i)
{
    int64_t at = view->offset;
    for (uint32_t d = view->rank; d--; i /= view->sizes[d])
        at += (int64_t)(i % view->sizes[d]) * view->strides[d];
    return at;
}

static struct kern_view dense(DML_TENSOR_DATA_TYPE type, uint32_t rank, const uint32_t *sizes)
{
    struct kern_view view;
    kern_view_set_packed(&view, type, rank, sizes);
    return view;
}

static struct kern_view random_dense(DML_TENSOR_DATA_TYPE type)
{
    uint32_t sizes[4], rank = 1 + rnd(4);
    for (uint32_t d = 0; d < rank; d++)
        sizes[d] = 1 + rnd(5);
    return dense(type, rank, sizes);
}

/* A box of the view, sometimes with steps or backwards. */
static struct kern_view random_box(const struct kern_view *view)
{
    uint32_t start[8], sizes[8];
    int32_t steps[8];
    for (uint32_t d = 0; d < view->rank; d++) {
        steps[d] = rnd(5) ? 1 : 2;
        sizes[d] = 1 + rnd((view->sizes[d] + (uint32_t)steps[d] - 1) / (uint32_t)steps[d]);
        uint32_t extent = (sizes[d] - 1) * (uint32_t)steps[d];
        start[d] = rnd(view->sizes[d] - extent);
        if (rnd(8) == 0) {
            start[d] += extent;
            steps[d] = -steps[d];
        }
    }
    return graph_view_slice(view, start, sizes, steps);
}

static struct kern_view random_order(const struct kern_view *view)
{
    uint32_t order[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    for (uint32_t d = view->rank; d > 1; d--) {
        uint32_t other = rnd(d), keep = order[d - 1];
        order[d - 1] = order[other];
        order[other] = keep;
    }
    return graph_view_permute(view, order);
}

static void test_basic(void)
{
    struct kern_view view = dense(DML_TENSOR_DATA_TYPE_FLOAT32, 3, (uint32_t[]){ 2, 1, 3 });
    struct kern_view wide = graph_view_broadcast(&view, 4, (uint32_t[]){ 5, 2, 4, 3 });
    TEST(wide.strides[0] == 0 && wide.strides[1] == 3 && wide.strides[2] == 0 && wide.strides[3] == 1);
    TEST(position(&wide, 5 * 2 * 4 * 3 - 1) == 5);
    struct kern_view transposed = graph_view_permute(&view, (uint32_t[]){ 2, 1, 0 });
    TEST(transposed.sizes[0] == 3 && transposed.strides[0] == 1 && transposed.strides[2] == 3);
    struct kern_view back =
        graph_view_slice(&view, (uint32_t[]){ 1, 0, 2 }, (uint32_t[]){ 2, 1, 3 }, (int32_t[]){ -1, 1, -1 });
    TEST(back.offset == 5 && position(&back, 5) == 0);
    TEST(graph_view_span_bytes(&view) == 24 && graph_view_span_bytes(&back) == 24 &&
         graph_view_span_bytes(&wide) == 24);
    view.type = DML_TENSOR_DATA_TYPE_UINT4;
    TEST(graph_view_span_bytes(&view) == 3);
    view.type = DML_TENSOR_DATA_TYPE_FLOAT64;
    view.strides[0] = INT64_MAX;
    TEST(graph_view_span_bytes(&view) == UINT64_MAX);
    uint32_t sizes[2] = { 3, 4 }, strides[2] = { 0, 1 };
    DML_BUFFER_TENSOR_DESC desc = { DML_TENSOR_DATA_TYPE_INT8, 0, 2, sizes, strides, 12, 0 };
    TEST(graph_view_from_desc(&desc, &view) && view.strides[0] == 0 && view.sizes[1] == 4);
    desc.DimensionCount = 9;
    TEST(!graph_view_from_desc(&desc, &view));
}

static void test_reshape(void)
{
    uint32_t good = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        struct kern_view base = random_dense(DML_TENSOR_DATA_TYPE_INT32), view = random_box(&base), shaped;
        if (rnd(2))
            view = random_order(&view);
        uint64_t count = kern_view_elements(&view);
        uint32_t sizes[4], rank = 1 + rnd(4);
        uint64_t left = count;
        for (uint32_t d = 0; d + 1 < rank; d++) {
            sizes[d] = 1 + rnd(6);
            while (left % sizes[d])
                sizes[d]--;
            left /= sizes[d];
        }
        sizes[rank - 1] = (uint32_t)left;
        if (!graph_view_reshape(&view, rank, sizes, &shaped)) {
            TEST(!kern_view_packed(&view));
            continue;
        }
        good++;
        for (uint64_t e = 0; e < count; e++)
            if (!TEST_FOR(position(&view, e) == position(&shaped, e), "element %u of round %u", (unsigned)e, i))
                return;
    }
    TEST(good > 8000);
    struct kern_view view = dense(DML_TENSOR_DATA_TYPE_INT32, 2, (uint32_t[]){ 2, 3 }), out;
    TEST(!graph_view_reshape(&view, 1, (uint32_t[]){ 5 }, &out));
}

/* table[p] = byte position in `to` of the byte at p in `from`, -1 where the copy brings nothing. */
static void copy_table(const struct kern_view *from, const struct kern_view *to, int64_t *table, size_t size)
{
    int64_t width = kern_type_bytes(from->type);
    for (size_t i = 0; i < size; i++)
        table[i] = -1;
    for (uint64_t e = 0; e < kern_view_elements(from); e++)
        for (int64_t b = 0; b < width; b++)
            table[position(from, e) * width + b] = position(to, e) * width + b;
}

static bool shows_same(const struct kern_view *view, const struct kern_view *out, const int64_t *table)
{
    int64_t width = kern_type_bytes(view->type);
    for (uint64_t e = 0; e < kern_view_elements(view); e++)
        for (int64_t b = 0; b < width; b++)
            if (table[position(view, e) * width + b] != position(out, e) * width + b)
                return false;
    return true;
}

static DML_TENSOR_DATA_TYPE random_type(void)
{
    static const DML_TENSOR_DATA_TYPE types[] = { DML_TENSOR_DATA_TYPE_INT8, DML_TENSOR_DATA_TYPE_FLOAT16,
                                                  DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_INT64 };
    return types[rnd(4)];
}

static void test_through(void)
{
    static int64_t table[625 * 8];
    uint32_t good = 0, exact = 0;
    for (uint32_t i = 0; i < 40000; i++) {
        DML_TENSOR_DATA_TYPE type = random_type();
        struct kern_view base = random_dense(type), from = rnd(3) ? base : random_box(&base), to, out;
        /* The other side: the same box in another order of memory, with a gap now and then. */
        struct kern_view plain = dense(type, from.rank, from.sizes);
        to = plain;
        for (uint32_t d = 0, order = rnd(2); d < to.rank; d++)
            to.strides[d] = order ? plain.strides[d] * 2 : plain.strides[d];
        to.offset = rnd(3);
        if (rnd(2)) {
            from = random_order(&from);
            to = dense(type, from.rank, from.sizes);
        }
        copy_table(&from, &to, table, ARRAY_SIZE(table));
        struct kern_view view = rnd(4) ? random_box(&from) : random_box(&base);
        if (rnd(2))
            view = random_order(&view);
        if (rnd(4) == 0 && type == DML_TENSOR_DATA_TYPE_FLOAT32 && kern_view_packed(&from) && !from.offset) {
            uint32_t count = (uint32_t)kern_view_elements(&from);
            view = dense(DML_TENSOR_DATA_TYPE_FLOAT16, 1, &(uint32_t){ count * 2 });
        }
        bool could = graph_view_through(&from, &to, &view, &out);
        good += could;
        if (could && !TEST_FOR(shows_same(&view, &out, table), "round %u", i))
            return;
        if (graph_view_through(&from, &to, &from, &out)) {
            exact++;
            TEST_FOR(graph_view_equal(&out, &to), "round %u", i);
        } else {
            TEST_FOR(!graph_view_injective(&from), "round %u", i);
        }
    }
    TEST_FOR(good > 20000, "%u views through", good);
    TEST_FOR(exact > 35000, "%u copies", exact);
}

/* What the compiler relies on, and must not lose: a slice, a transposition, a split after a reshape, a
 * reinterpretation. */
static void test_through_known(void)
{
    struct kern_view whole = dense(DML_TENSOR_DATA_TYPE_FLOAT32, 4, (uint32_t[]){ 1, 6, 4, 4 }), out, view;
    struct kern_view part = graph_view_slice(&whole, (uint32_t[]){ 0, 2, 0, 0 }, (uint32_t[]){ 1, 3, 4, 4 }, NULL);
    struct kern_view copy = dense(DML_TENSOR_DATA_TYPE_FLOAT32, 4, (uint32_t[]){ 1, 3, 4, 4 });
    view = dense(DML_TENSOR_DATA_TYPE_FLOAT32, 2, (uint32_t[]){ 3, 16 });
    TEST(graph_view_through(&copy, &part, &view, &out) && out.offset == 32 && out.strides[0] == 16);
    view = dense(DML_TENSOR_DATA_TYPE_UINT8, 1, (uint32_t[]){ 192 });
    TEST(graph_view_through(&copy, &part, &view, &out) && out.offset == 128 && out.strides[0] == 1);
    struct kern_view nhwc = graph_view_permute(&whole, (uint32_t[]){ 0, 2, 3, 1 });
    struct kern_view transposed = dense(DML_TENSOR_DATA_TYPE_FLOAT32, 4, nhwc.sizes);
    view = dense(DML_TENSOR_DATA_TYPE_FLOAT32, 3, (uint32_t[]){ 1, 16, 6 });
    TEST(graph_view_through(&transposed, &nhwc, &view, &out) && out.strides[1] == 1 && out.strides[2] == 16);
    view = dense(DML_TENSOR_DATA_TYPE_FLOAT32, 1, (uint32_t[]){ 96 });
    TEST(!graph_view_through(&transposed, &nhwc, &view, &out));
    view = dense(DML_TENSOR_DATA_TYPE_UINT8, 1, (uint32_t[]){ 384 });
    TEST(!graph_view_through(&transposed, &nhwc, &view, &out));
    /* 4-bit elements: the view must start on a whole byte. */
    struct kern_view row = dense(DML_TENSOR_DATA_TYPE_UINT4, 1, (uint32_t[]){ 8 });
    struct kern_view odd = graph_view_slice(&row, (uint32_t[]){ 3 }, (uint32_t[]){ 4 }, NULL);
    struct kern_view even = graph_view_slice(&row, (uint32_t[]){ 2 }, (uint32_t[]){ 4 }, NULL);
    struct kern_view four = dense(DML_TENSOR_DATA_TYPE_UINT4, 1, (uint32_t[]){ 4 });
    TEST(!graph_view_through(&four, &odd, &four, &out));
    TEST(graph_view_through(&four, &even, &four, &out) && out.offset == 2);
}

static bool overlap(const struct kern_view *a, const struct kern_view *b)
{
    bool used[4096] = { 0 };
    int64_t wa = kern_type_bytes(a->type), wb = kern_type_bytes(b->type);
    for (uint64_t e = 0; e < kern_view_elements(a); e++)
        for (int64_t k = 0; k < wa; k++)
            used[position(a, e) * wa + k] = true;
    for (uint64_t e = 0; e < kern_view_elements(b); e++)
        for (int64_t k = 0; k < wb; k++)
            if (used[position(b, e) * wb + k])
                return true;
    return false;
}

static void test_disjoint(void)
{
    uint32_t apart = 0, found = 0;
    for (uint32_t i = 0; i < 40000; i++) {
        struct kern_view base = random_dense(DML_TENSOR_DATA_TYPE_FLOAT16);
        struct kern_view a = random_box(&base), b = random_box(&base);
        if (rnd(4) == 0)
            b = random_order(&b);
        if (rnd(4) == 0 && b.rank < KERN_RANK_MAX) {
            b.sizes[b.rank] = 1;
            b.strides[b.rank++] = (int64_t)rnd(9);
        }
        bool really = !overlap(&a, &b), said = graph_views_disjoint(&a, &b);
        TEST_FOR(really || !said, "round %u", i);
        apart += really;
        found += said;
    }
    TEST_FOR(found > apart / 4, "%u of %u", found, apart);
    struct kern_view whole = dense(DML_TENSOR_DATA_TYPE_FLOAT32, 4, (uint32_t[]){ 2, 5, 3, 3 });
    struct kern_view a = graph_view_slice(&whole, (uint32_t[]){ 0, 0, 0, 0 }, (uint32_t[]){ 2, 2, 3, 3 }, NULL);
    struct kern_view b = graph_view_slice(&whole, (uint32_t[]){ 0, 2, 0, 0 }, (uint32_t[]){ 2, 3, 3, 3 }, NULL);
    TEST(graph_views_disjoint(&a, &b) && graph_views_disjoint(&b, &a) && !graph_views_disjoint(&a, &whole));
    /* The dimensions of one are in another order, and there is one more. */
    struct kern_view more = { DML_TENSOR_DATA_TYPE_FLOAT32, 5, { 3, 1, 3, 3, 2 }, { 3, 7, 9, 1, 45 }, 18 };
    TEST(graph_views_disjoint(&a, &more) && graph_views_disjoint(&more, &a) && !graph_views_disjoint(&b, &more));
    more.offset = 9;
    TEST(!graph_views_disjoint(&a, &more) && !graph_views_disjoint(&more, &a));
}

static void test_injective(void)
{
    struct kern_view view = dense(DML_TENSOR_DATA_TYPE_FLOAT32, 2, (uint32_t[]){ 3, 4 });
    TEST(graph_view_injective(&view));
    view.strides[0] = 2;
    TEST(!graph_view_injective(&view));
    view.strides[0] = 0;
    TEST(!graph_view_injective(&view));
    view.strides[0] = -4;
    view.offset = 8;
    TEST(graph_view_injective(&view));
}

int main(void)
{
    test_basic();
    test_reshape();
    test_through();
    test_through_known();
    test_disjoint();
    test_injective();
    return test_result();
}
