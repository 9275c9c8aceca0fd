/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of bindings/torch/ops against loops in double: shapes, strides and addresses of all kinds, numbers that keep
 * changing, the cache's bound, results over arguments, threads, graphs of several nodes, and what is refused. */
#include "aten.h"

#include "../unit/test.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct aten_device *device;
static char message[ATEN_MESSAGE_BYTES];

static uint32_t rnd(uint32_t below)
{
    static _Thread_local uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 20) % below);
}

/* ---- tensors with room around them ---- */

enum { GUARD = 64, ROOM = 4096 };

struct box {
    struct aten_tensor t;
    unsigned char *bytes;
    size_t size;
};

static double load(const struct aten_tensor *t, int64_t at)
{
    switch (t->type) {
    case ATEN_FLOAT32:
        return ((const float *)t->data)[at];
    case ATEN_FLOAT64:
        return ((const double *)t->data)[at];
    case ATEN_INT32:
        return ((const int32_t *)t->data)[at];
    case ATEN_INT64:
        return (double)((const int64_t *)t->data)[at];
    default:
        return ((const uint8_t *)t->data)[at];
    }
}

static void store(const struct aten_tensor *t, int64_t at, double value)
{
    switch (t->type) {
    case ATEN_FLOAT32:
        ((float *)t->data)[at] = (float)value;
        break;
    case ATEN_FLOAT64:
        ((double *)t->data)[at] = value;
        break;
    case ATEN_INT32:
        ((int32_t *)t->data)[at] = (int32_t)value;
        break;
    case ATEN_INT64:
        ((int64_t *)t->data)[at] = (int64_t)value;
        break;
    default:
        ((uint8_t *)t->data)[at] = (uint8_t)value;
    }
}

/* Element i in row-major order. */
static int64_t place(const struct aten_tensor *t, int64_t i)
{
    int64_t at = 0;
    for (uint32_t d = t->rank; d-- > 0; i /= t->sizes[d])
        at += i % t->sizes[d] * t->strides[d];
    return at;
}

static int64_t elements(const struct aten_tensor *t)
{
    int64_t count = 1;
    for (uint32_t d = 0; d < t->rank; d++)
        count *= t->sizes[d];
    return count;
}

/* Dimensions in a random order of strides, perhaps with gaps; at an address that is aligned to the element only. */
static struct box make(int32_t type, uint32_t rank, const int64_t *sizes)
{
    struct box box = { .t = { .type = type, .rank = rank }, .size = ROOM * 8 + 2 * GUARD };
    uint32_t order[ATEN_RANK_MAX];
    int64_t step = 1 + rnd(2);
    for (uint32_t d = 0; d < rank; d++)
        order[d] = d;
    for (uint32_t d = rank; d > 1; d--) {
        uint32_t other = rnd(d), kept = order[d - 1];
        order[d - 1] = order[other];
        order[other] = kept;
    }
    for (uint32_t d = 0; d < rank; d++) {
        box.t.sizes[order[d]] = sizes[order[d]];
        box.t.strides[order[d]] = step;
        step *= sizes[order[d]] > 0 ? sizes[order[d]] : 1;
    }
    box.bytes = aligned_alloc(64, box.size);
    memset(box.bytes, 0x5b, box.size);
    box.t.data = box.bytes + GUARD + aten_type_bytes(type) * (1 + rnd(3));
    for (int64_t i = 0; i < elements(&box.t); i++)
        store(&box.t, place(&box.t, i),
              type == ATEN_BOOLEAN ? rnd(2) : rnd(9) - 4.0 + (type >= 5 ? rnd(100) / 128.0 : 0));
    return box;
}

/* Whether nothing but the tensor's elements was written. */
static bool untouched(const struct box *box)
{
    unsigned char *other = malloc(box->size);
    const size_t bytes = aten_type_bytes(box->t.type), first = (size_t)((unsigned char *)box->t.data - box->bytes);
    memcpy(other, box->bytes, box->size);
    for (int64_t i = 0; i < elements(&box->t); i++)
        memset(other + first + bytes * (size_t)place(&box->t, i), 0x5b, bytes);
    bool clean = true;
    for (size_t i = 0; i < box->size; i++)
        clean = clean && other[i] == 0x5b;
    free(other);
    return clean;
}

/* ---- calls ---- */

static struct aten_arg tensor(const struct box *box)
{
    return (struct aten_arg){ .kind = ATEN_TENSOR, .count = 1, .tensors = &box->t };
}

static struct aten_arg integer(int64_t value)
{
    return (struct aten_arg){ .kind = ATEN_INT, .integer = value };
}

static struct aten_arg real(double value)
{
    return (struct aten_arg){ .kind = ATEN_REAL, .real = value };
}

static bool call(const char *name, const char *overload, const struct aten_arg *args, uint32_t count,
                 const struct aten_tensor *out)
{
    const struct aten_op *op = aten_op_find(name, overload);
    if (!TEST_FOR(op, "%s.%s", name, overload))
        return false;
    struct aten_plan *plan = aten_find(device, op, args, count, out, 1);
    if (!plan)
        plan = aten_compile(device, op, args, count, out, 1, message);
    bool ok = plan && aten_run(plan, args, count, out, 1, message, sizeof(message));
    aten_release(plan);
    return ok;
}

/* ---- element-wise rows ---- */

static double f_add(double a, double b)
{
    return a + 3 * b;
}

static double f_mul(double a, double b)
{
    return a * b;
}

static double f_remainder(double a, double b)
{
    return a - b * floor(a / b);
}

static double f_greater(double a, double b)
{
    return a > b;
}

static const struct {
    const char *name, *overload;
    double (*f)(double, double);
    bool truth, third;
} binaries[] = {
    { "add", "Tensor", f_add, false, true },
    { "mul", "Tensor", f_mul, false, false },
    { "remainder", "Tensor", f_remainder, false, false },
    { "maximum", "", fmax, false, false },
    { "gt", "Tensor", f_greater, true, false },
};

static void check_binary(size_t row, int32_t type)
{
    int64_t sizes[4], narrow[4];
    const uint32_t rank = rnd(5);
    for (uint32_t d = 0; d < rank; d++) {
        sizes[d] = 1 + rnd(6);
        narrow[d] = rnd(4) ? sizes[d] : 1;
    }
    struct box x = make(type, rank, sizes), y = make(type, rank, narrow);
    struct box z = make(binaries[row].truth ? ATEN_BOOLEAN : type, rank, sizes);
    for (int64_t i = 0; i < elements(&y.t); i++) /* no division by 0 */
        if (load(&y.t, place(&y.t, i)) == 0)
            store(&y.t, place(&y.t, i), 2);
    struct aten_tensor wide = y.t;
    for (uint32_t d = 0; d < rank; d++)
        if (narrow[d] != sizes[d])
            wide.sizes[d] = sizes[d], wide.strides[d] = 0;
    const struct aten_arg args[3] = { tensor(&x), tensor(&y), integer(3) };
    if (TEST_FOR(call(binaries[row].name, binaries[row].overload, args, binaries[row].third ? 3 : 2, &z.t), "%s: %s",
                 binaries[row].name, message)) {
        for (int64_t i = 0; i < elements(&z.t); i++) {
            const double a = load(&x.t, place(&x.t, i)), b = load(&wide, place(&wide, i));
            const double want = binaries[row].f(a, b), got = load(&z.t, place(&z.t, i));
            if (!TEST_FOR(fabs(got - want) <= 1e-5 * (1 + fabs(want)), "%s(%g, %g) = %g, type %d, not %g",
                          binaries[row].name, a, b, want, type, got))
                break;
        }
        TEST_FOR(untouched(&z), "%s", binaries[row].name);
    }
    free(x.bytes), free(y.bytes), free(z.bytes);
}

static double f_log1p(double x)
{
    return log1p(fabs(x));
}

static void check_unary(void)
{
    static const int64_t sizes[3] = { 3, 5, 7 };
    struct box x = make(ATEN_FLOAT32, 3, sizes), y = make(ATEN_FLOAT32, 3, sizes), near = make(ATEN_FLOAT32, 3, sizes);
    const struct aten_arg args[1] = { tensor(&x) };
    for (int64_t i = 0; i < elements(&x.t); i++)
        store(&x.t, place(&x.t, i), fabs(load(&x.t, place(&x.t, i))) * pow(10, -(double)rnd(20)));
    static const struct {
        const char *name;
        double (*f)(double);
    } rows[] = { { "exp", exp }, { "log1p", f_log1p }, { "expm1", expm1 }, { "floor", floor }, { "erf", erf } };
    for (size_t r = 0; r < COUNT(rows); r++) {
        TEST_FOR(call(rows[r].name, "", args, 1, &y.t), "%s: %s", rows[r].name, message);
        for (int64_t i = 0; i < elements(&x.t); i++) {
            const double want = rows[r].f(load(&x.t, place(&x.t, i))), got = load(&y.t, place(&y.t, i));
            TEST_FOR(fabs(got - want) <= 1e-6 * fabs(want) + 1e-30, "%s: %g, not %g", rows[r].name, want, got);
        }
    }
    TEST(untouched(&y));
    free(x.bytes), free(y.bytes), free(near.bytes);
}

static void check_casts(void)
{
    float from[6] = { 0, -0.5f, 2.75f, -3.99f, NAN, 1e9f };
    int64_t to[6];
    uint8_t truth[6];
    struct aten_tensor x = { ATEN_FLOAT32, 1, { 6 }, { 1 }, from }, y = { ATEN_INT64, 1, { 5 }, { 1 }, to };
    struct aten_tensor b = { ATEN_BOOLEAN, 1, { 6 }, { 1 }, truth };
    const struct aten_arg args[1] = { { .kind = ATEN_TENSOR, .count = 1, .tensors = &x } };
    static const uint8_t truths[6] = { 0, 1, 1, 1, 1, 1 };
    TEST(call("_to_copy", "", args, 1, &b) && !memcmp(truth, truths, 6));
    x.sizes[0] = y.sizes[0] = 4;
    TEST(call("_to_copy", "", args, 1, &y) && !to[0] && !to[1] && to[2] == 2 && to[3] == -3);
}

/* ---- plans ---- */

static void check_changing_numbers(void)
{
    static const int64_t sizes[1] = { 33 };
    struct box x = make(ATEN_FLOAT32, 1, sizes), y = make(ATEN_FLOAT32, 1, sizes);
    uint64_t plans, before, after;
    aten_cache(0, &plans, &before);
    for (int i = 0; i < 500; i++) {
        const struct aten_arg args[3] = { tensor(&x), real(i * 0.37), integer(1) };
        TEST(call("add", "Tensor", args, 3, &y.t));
        const double want = (float)(load(&x.t, 0) + (double)(float)(i * 0.37));
        TEST_FOR(fabs(load(&y.t, 0) - want) <= 1e-5 * fabs(want), "step %d: %g, not %g", i, want, load(&y.t, 0));
    }
    aten_cache(0, &plans, &after);
    TEST_FOR(after - before <= 8, "%llu plans", (unsigned long long)(after - before));
    free(x.bytes), free(y.bytes);
}

/* Lists of numbers, each of another kind. */
static void check_changing_lists(void)
{
    enum { SIZE = 5 };
    float x[SIZE] = { 1, -2, 0.5f, 3, 0 }, y[SIZE];
    int64_t whole[SIZE] = { 1, -1, 3, 7, 0 }, product[SIZE];
    const struct aten_tensor in[2] = { { ATEN_FLOAT32, 1, { SIZE }, { 1 }, x },
                                       { ATEN_INT64, 1, { SIZE }, { 1 }, whole } };
    const struct aten_tensor out[2] = { { ATEN_FLOAT32, 1, { SIZE }, { 1 }, y },
                                        { ATEN_INT64, 1, { SIZE }, { 1 }, product } };
    const struct aten_op *op = aten_op_find("_foreach_mul", "ScalarList");
    uint64_t plans, before, after;
    aten_cache(0, &plans, &before);
    for (int i = 0; i < 500; i++) {
        const struct aten_arg numbers[2] = { real(i * 0.25), integer((INT64_C(1) << 53) + 1 + i) };
        const struct aten_arg args[2] = { { .kind = ATEN_TENSORS, .count = 2, .tensors = in },
                                          { .kind = ATEN_NUMBERS, .count = 2, .numbers = numbers } };
        struct aten_plan *plan = aten_compile(device, op, args, 2, out, 2, message);
        bool ok = plan && aten_run(plan, args, 2, out, 2, message, sizeof(message));
        aten_release(plan);
        for (int k = 0; k < SIZE; k++)
            ok = ok && y[k] == x[k] * (float)(i * 0.25) && product[k] == whole[k] * numbers[1].integer;
        TEST_FOR(ok, "step %d: %s", i, message);
    }
    aten_cache(0, &plans, &after);
    TEST_FOR(after - before <= 8, "%llu plans", (unsigned long long)(after - before));
}

/* A plan takes 16 KiB at least. */
static void check_bound(void)
{
    const uint64_t limit = 16 << 14;
    uint64_t plans, compiled;
    aten_cache(limit, &plans, &compiled);
    for (int64_t size = 1; size <= 64; size++) {
        struct box x = make(ATEN_FLOAT32, 1, &size), y = make(ATEN_FLOAT32, 1, &size);
        const struct aten_arg args[1] = { tensor(&x) };
        TEST(call("neg", "", args, 1, &y.t) && load(&y.t, 0) == -load(&x.t, 0));
        free(x.bytes), free(y.bytes);
    }
    aten_cache(UINT64_C(128) << 20, &plans, &compiled);
    TEST_FOR(plans > 1 && plans <= 16, "%llu plans", (unsigned long long)plans);
}

static void check_in_place(void)
{
    static const int64_t sizes[2] = { 9, 9 };
    for (int turn = 0; turn < 8; turn++) {
        struct box x = make(ATEN_FLOAT32, 2, sizes), copy = make(ATEN_FLOAT32, 2, sizes);
        struct aten_tensor turned = x.t;
        turned.strides[0] = x.t.strides[1], turned.strides[1] = x.t.strides[0];
        for (int64_t i = 0; i < 81; i++)
            store(&copy.t, place(&copy.t, i), load(&x.t, place(&x.t, i)));
        struct aten_arg args[3] = { tensor(&x), { .kind = ATEN_TENSOR, .count = 1, .tensors = &turned }, integer(1) };
        TEST(call("add", "Tensor", args, 3, &x.t)); /* x += x.t() */
        for (int64_t i = 0; i < 81; i++) {
            const double want = load(&copy.t, place(&copy.t, i)) + load(&copy.t, place(&copy.t, i % 9 * 9 + i / 9));
            TEST_FOR(fabs(load(&x.t, place(&x.t, i)) - want) < 1e-5, "element %d", (int)i);
        }
        free(x.bytes), free(copy.bytes);
    }
}

/* Batch normalisation returns fresh tensors and writes to the running ones: its plan is found by its arguments alone.
 */
static void check_fresh_and_written(void)
{
    static const int64_t sizes[2] = { 6, 5 }, channels[1] = { 5 };
    struct box x = make(ATEN_FLOAT32, 2, sizes), mean = make(ATEN_FLOAT32, 1, channels);
    struct box variance = make(ATEN_FLOAT32, 1, channels);
    const struct aten_arg none = { .kind = ATEN_NONE }, yes = { .kind = ATEN_BOOL, .integer = 1 };
    const struct aten_arg args[8] = { tensor(&x),        none, none,      tensor(&mean),
                                      tensor(&variance), yes,  real(0.1), real(1e-5) };
    const struct aten_op *op = aten_op_find("native_batch_norm", "");
    struct aten_tensor outputs[5] = { x.t, mean.t, mean.t, mean.t, variance.t };
    outputs[0].data = outputs[1].data = outputs[2].data = NULL;
    TEST(!aten_find(device, op, args, 8, NULL, 0));
    struct aten_plan *made = aten_compile(device, op, args, 8, outputs, 5, message);
    struct aten_plan *found = aten_find(device, op, args, 8, NULL, 0);
    TEST_FOR(made && found == made, "%s", message);
    aten_release(made), aten_release(found);
    free(x.bytes), free(mean.bytes), free(variance.bytes);
}

static void check_empty_and_refused(void)
{
    float data[4] = { 0 };
    struct aten_tensor none = { ATEN_FLOAT32, 2, { 0, 3 }, { 3, 1 }, NULL };
    struct aten_tensor sum = { ATEN_FLOAT32, 0, { 0 }, { 0 }, data }, same = none;
    struct aten_arg args[2] = { { .kind = ATEN_TENSOR, .count = 1, .tensors = &none }, { .kind = ATEN_NONE } };
    data[0] = 5;
    TEST(call("exp", "", args, 1, &same));
    TEST_FOR(call("sum", "", args, 2, &sum) && data[0] == 0, "%s", message);
    struct aten_tensor x = { ATEN_FLOAT32, 1, { 4 }, { 1 }, data };
    args[0].tensors = &x;
    TEST(!call("bitwise_not", "", args, 1, &x) && strstr(message, "aten::bitwise_not") && strstr(message, "float32"));
    TEST(!call("bitwise_not", "", args, 1, &x)); /* from the cache */
    TEST(!aten_op_find("no_such_operator", ""));
}

/* binary_cross_entropy takes numbers from 0 to 1. */
static void check_shares(void)
{
    static const struct {
        float x, target;
        const char *says;
    } cases[] = { { 0.5f, 1, NULL },     { 0, 1, NULL },      { 1, 0, NULL },
                  { 1.5f, 1, "input" },  { NAN, 1, "input" }, { 0.5f, -0.1f, "target" },
                  { -0.0f, 2, "target" } };
    float x[6] = { 0, 1, 0.25f, 0.5f, 1, 0 }, target[6] = { 0 }, y;
    const struct aten_tensor tx = { ATEN_FLOAT32, 2, { 2, 3 }, { 3, 1 }, x },
                             tt = { ATEN_FLOAT32, 2, { 2, 3 }, { 1, 2 }, target };
    struct aten_tensor out = { .type = ATEN_FLOAT32, .data = &y };
    const struct aten_arg args[4] = { { .kind = ATEN_TENSOR, .count = 1, .tensors = &tx },
                                      { .kind = ATEN_TENSOR, .count = 1, .tensors = &tt },
                                      { .kind = ATEN_NONE },
                                      integer(1) };
    struct aten_plan *plan = aten_compile(device, aten_op_find("binary_cross_entropy", ""), args, 4, &out, 1, message);
    for (size_t i = 0; TEST_FOR(plan, "%s", message) && i < COUNT(cases); i++) {
        x[4] = cases[i].x;
        target[3] = cases[i].target;
        *message = 0;
        TEST_FOR(aten_in_bounds(plan, args, message) == !cases[i].says, "case %zu", i);
        TEST_FOR(!cases[i].says || strstr(message, cases[i].says), "case %zu: %s", i, message);
    }
    aten_release(plan);
}

static void *thread_main(void *context)
{
    for (int i = 0; i < 300; i++) {
        const int64_t size = 1 + rnd(40);
        float *x = malloc(2 * (size_t)size * sizeof(*x));
        struct aten_tensor t = { ATEN_FLOAT32, 1, { size }, { 1 }, x }, y = t;
        y.data = x + size;
        for (int64_t k = 0; k < size; k++)
            x[k] = (float)k;
        const struct aten_arg args[2] = { { .kind = ATEN_TENSOR, .count = 1, .tensors = &t }, integer(2) };
        char text[ATEN_MESSAGE_BYTES];
        const struct aten_op *op = aten_op_find("mul", "Tensor");
        struct aten_plan *plan = aten_compile(device, op, args, 2, &y, 1, text);
        bool ok = plan && aten_run(plan, args, 2, &y, 1, text, sizeof(text));
        aten_release(plan);
        for (int64_t k = 0; ok && k < size; k++)
            ok = x[size + k] == 2 * x[k];
        free(x);
        if (!ok)
            return context;
    }
    return NULL;
}

static void check_threads(void)
{
    pthread_t threads[8];
    uint64_t plans, compiled;
    aten_cache(12 << 14, &plans, &compiled);
    for (size_t i = 0; i < COUNT(threads); i++)
        pthread_create(&threads[i], NULL, thread_main, device);
    for (size_t i = 0; i < COUNT(threads); i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        TEST(!failed);
    }
    aten_cache(UINT64_C(128) << 20, &plans, &compiled);
}

/* ---- graphs ---- */

/* relu(x[1:] * w.t()), with w.t() as a second result. */
static void check_graph(void)
{
    float x[12], w[9], y[9], turned[9];
    for (int i = 0; i < 12; i++)
        x[i] = (float)rnd(9) - 4;
    for (int i = 0; i < 9; i++)
        w[i] = (float)rnd(9) - 4;
    struct aten_tensor lx = { ATEN_FLOAT32, 2, { 4, 3 }, { 3, 1 }, x }, lw = { ATEN_FLOAT32, 2, { 3, 3 }, { 3, 1 }, w };
    struct aten_tensor square = lw, across = lw, node[2] = { lw, lw };
    across.strides[0] = 1, across.strides[1] = 3;
    struct aten_graph *g = aten_graph_begin(device);
    uint64_t vx = aten_graph_input(g, &lx, false), vw = aten_graph_input(g, &lw, false), product, result;
    uint64_t part = aten_graph_view(g, vx, &square, 3), wt = aten_graph_view(g, vw, &across, 0);
    node[0].data = (void *)(uintptr_t)part;
    node[1].data = (void *)(uintptr_t)wt;
    struct aten_arg args[2] = { { .kind = ATEN_TENSOR, .count = 1, .tensors = &node[0] },
                                { .kind = ATEN_TENSOR, .count = 1, .tensors = &node[1] } };
    TEST(aten_graph_node(g, aten_op_find("mul", "Tensor"), args, 2, &square, 1, &product));
    node[0].data = (void *)(uintptr_t)product;
    TEST(aten_graph_node(g, aten_op_find("relu", ""), args, 1, &square, 1, &result));
    struct aten_plan *plan = aten_graph_compile(g, (uint64_t[]){ result, wt }, 2, message, sizeof(message));
    if (!TEST_FOR(plan, "%s", message))
        return;
    TEST(aten_plan_output_count(plan) == 2 && aten_plan_output(plan, 1)->sizes[0] == 3);
    struct aten_tensor out[2] = { *aten_plan_output(plan, 0), *aten_plan_output(plan, 1) };
    out[0].data = y;
    out[1].data = turned;
    args[0].tensors = &lx;
    args[1].tensors = &lw;
    TEST(aten_run(plan, args, 2, out, 2, message, sizeof(message)));
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            TEST(load(&out[0], i * out[0].strides[0] + k * out[0].strides[1]) ==
                 fmax(0, x[3 + i * 3 + k] * w[k * 3 + i]));
            TEST(load(&out[1], i * out[1].strides[0] + k * out[1].strides[1]) == w[k * 3 + i]);
        }
    aten_release(plan);
    g = aten_graph_begin(device);
    vx = aten_graph_input(g, &lx, false);
    TEST(!aten_graph_view(g, vx, &lx, 1)); /* one element too many */
    TEST(!aten_graph_compile(g, &vx, 1, message, sizeof(message)) && strstr(message, "storage"));
}

/* ---- devices with memory of their own ---- */

/* x[first:] + number, at places that are no multiples of 16 bytes; over itself; over a part of another input. */
static void check_remote(void)
{
    enum { SIZE = 50 };
    float here[SIZE], back[SIZE];
    char *memory = aten_allocate(device, sizeof(here)), *other = aten_allocate(device, sizeof(here));
    size_t room, total;
    TEST(memory && other);
    aten_memory(device, &room, &total);
    TEST(room <= total && total);
    for (int turn = 0; turn < 12; turn++) {
        const int64_t first = turn % 5, count = SIZE - 10 - first;
        char *to = turn % 3 == 0 ? other + 4 : turn % 3 == 1 ? memory + 4 * first : memory + 4 * (first + 3);
        const int64_t at = (to - (turn % 3 ? memory : other)) / 4;
        for (int i = 0; i < SIZE; i++)
            here[i] = (float)(i + turn), back[i] = -1;
        TEST(aten_copy(device, other, back, sizeof(back), ATEN_TO_DEVICE, message, sizeof(message)));
        TEST(aten_copy(device, memory, here, sizeof(here), ATEN_TO_DEVICE, message, sizeof(message)));
        struct aten_tensor x = { ATEN_FLOAT32, 1, { count }, { 1 }, memory + 4 * first }, y = x;
        y.data = to;
        const struct aten_arg args[3] = { { .kind = ATEN_TENSOR, .count = 1, .tensors = &x },
                                          real(turn * 0.5),
                                          integer(1) };
        TEST_FOR(call("add", "Tensor", args, 3, &y), "%s", message);
        TEST(aten_copy(device, back, turn % 3 ? memory : other, sizeof(back), ATEN_FROM_DEVICE, message,
                       sizeof(message)));
        for (int i = 0; i < SIZE; i++) {
            const bool within = i >= at && i < at + count;
            const float before = turn % 3 ? here[i] : -1;
            const float want = within ? here[i - at + first] + (float)turn / 2 : before;
            TEST_FOR(back[i] == want, "turn %d, element %d: %g, not %g", turn, i, (double)want, (double)back[i]);
        }
    }
    TEST(aten_copy(device, other, memory, sizeof(here), ATEN_WITHIN, message, sizeof(message)));
    TEST(!aten_copy(device, here, here, 4, ATEN_FROM_DEVICE, message, sizeof(message)) && *message);
    const uint64_t mark = aten_mark(device);
    TEST(aten_wait(device, mark) && aten_reached(device, mark) && aten_synchronize(device));
    aten_free(device, memory);
    aten_free(device, other);
}

int main(void)
{
    static const int32_t types[] = { ATEN_FLOAT32, ATEN_FLOAT64, ATEN_INT32, ATEN_INT64 };
    if (!aten_device_count())
        return 77; /* no such adapter on this machine */
    TEST(*aten_device_name(0) && !*aten_device_name(1000));
    TEST(!aten_device_open(1000, message, sizeof(message)) && *message);
    device = aten_device_open(0, message, sizeof(message));
    if (!TEST_FOR(device, "%s", message))
        return test_result();
    if (!aten_host_memory(device)) {
        check_remote();
        return test_result();
    }
    for (size_t row = 0; row < COUNT(binaries); row++)
        for (int turn = 0; turn < 60; turn++)
            check_binary(row, types[turn % COUNT(types)]);
    check_unary();
    check_casts();
    check_changing_numbers();
    check_changing_lists();
    check_in_place();
    check_fresh_and_written();
    check_empty_and_refused();
    check_shares();
    check_graph();
    check_bound();
    check_threads();
    return test_result();
}
