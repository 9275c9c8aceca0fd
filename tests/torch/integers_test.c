/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on integers against Python's, which have no bounds: of 8 bits all pairs, of more the corners. Results wrap.
 */
#include "aten.h"

#include "../unit/test.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

__extension__ typedef __int128 whole;

static struct aten_device *device;
static char message[ATEN_MESSAGE_BYTES];

/* ---- types ---- */

static const struct type {
    int32_t type;
    const char *name;
    int bits;
    bool has_sign;
} types[] = {
    { ATEN_INT8, "int8", 8, true },       { ATEN_UINT8, "uint8", 8, false },    { ATEN_INT16, "int16", 16, true },
    { ATEN_UINT16, "uint16", 16, false }, { ATEN_INT32, "int32", 32, true },    { ATEN_UINT32, "uint32", 32, false },
    { ATEN_INT64, "int64", 64, true },    { ATEN_UINT64, "uint64", 64, false },
};

static whole wrapped(const struct type *t, whole x)
{
    const whole span = (whole)1 << t->bits;
    x = ((x % span) + span) % span;
    return t->has_sign && x >= span / 2 ? x - span : x;
}

static void store(const struct type *t, void *to, size_t i, whole x)
{
    const uint64_t bits = (uint64_t)x; /* the lowest come first */
    memcpy((char *)to + i * (size_t)t->bits / 8, &bits, (size_t)t->bits / 8);
}

static whole load(const struct type *t, const void *from, size_t i)
{
    uint64_t bits = 0;
    memcpy(&bits, (const char *)from + i * (size_t)t->bits / 8, (size_t)t->bits / 8);
    return wrapped(t, bits);
}

/* ---- what is right ---- */

static whole floored(whole x, whole y)
{
    return x / y - (x % y && (x < 0) != (y < 0));
}

static whole f_floor(const struct type *t, whole x, whole y)
{
    (void)t;
    return floored(x, y);
}

static whole f_trunc(const struct type *t, whole x, whole y)
{
    (void)t;
    return x / y;
}

static whole f_remainder(const struct type *t, whole x, whole y)
{
    (void)t;
    return x - floored(x, y) * y;
}

static whole f_fmod(const struct type *t, whole x, whole y)
{
    (void)t;
    return x % y;
}

static whole f_add(const struct type *t, whole x, whole y)
{
    (void)t;
    return x + y;
}

static whole f_sub(const struct type *t, whole x, whole y)
{
    (void)t;
    return x - y;
}

static whole f_mul(const struct type *t, whole x, whole y)
{
    (void)t;
    return (uint64_t)x * (uint64_t)y;
}

/* The result is modulo 2^bits; below 0 what is left of 1 / x^-y. */
static whole f_pow(const struct type *t, whole x, whole y)
{
    uint64_t power = 1, factor = (uint64_t)x;
    (void)t;
    if (y < 0)
        return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
    for (; y; y /= 2, factor *= factor)
        power *= y % 2 ? factor : 1;
    return power;
}

static whole f_maximum(const struct type *t, whole x, whole y)
{
    (void)t;
    return x > y ? x : y;
}

static whole f_left(const struct type *t, whole x, whole y)
{
    return y < 0 || y >= t->bits ? 0 : (uint64_t)x << y;
}

static whole f_right(const struct type *t, whole x, whole y)
{
    const whole by = y < 0 || y >= t->bits ? t->bits : y;
    return floored(x, (whole)1 << by);
}

static whole f_xor(const struct type *t, whole x, whole y)
{
    (void)t;
    return x ^ y;
}

static const struct row {
    const char *name, *overload, *mode;
    whole (*f)(const struct type *t, whole x, whole y);
    bool divides;
} rows[] = {
    { "floor_divide", "", NULL, f_floor, true },
    { "div", "Tensor_mode", "floor", f_floor, true },
    { "div", "Tensor_mode", "trunc", f_trunc, true },
    { "remainder", "Tensor", NULL, f_remainder, true },
    { "fmod", "Tensor", NULL, f_fmod, true },
    { "pow", "Tensor_Tensor", NULL, f_pow, false },
    { "add", "Tensor", NULL, f_add, false },
    { "sub", "Tensor", NULL, f_sub, false },
    { "mul", "Tensor", NULL, f_mul, false },
    { "maximum", "", NULL, f_maximum, false },
    { "bitwise_xor", "Tensor", NULL, f_xor, false },
    { "bitwise_left_shift", "Tensor", NULL, f_left, false },
    { "bitwise_right_shift", "Tensor", NULL, f_right, false },
};

/* ---- pairs ---- */

enum { PAIRS_MAX = 65536 };

struct pairs {
    uint64_t x[PAIRS_MAX], y[PAIRS_MAX], z[PAIRS_MAX]; /* of the type, packed */
    size_t count;
};

/* Every value, or the numbers around the powers of 2 and some small numbers. */
static size_t values_of(const struct type *t, whole *out)
{
    size_t count = 0;
    if (t->bits == 8) {
        for (int i = 0; i < 256; i++)
            out[count++] = wrapped(t, i);
        return count;
    }
    for (int bit = 0; bit < t->bits; bit += bit < 3 || bit > t->bits - 3 ? 1 : t->bits / 4)
        for (int off = -1; off <= 1; off++) {
            out[count++] = wrapped(t, ((whole)1 << bit) + off);
            out[count++] = wrapped(t, -((whole)1 << bit) + off);
        }
    static const int some[] = { 5, 7, -7, 10, 11, 35, -35, 100 };
    for (size_t i = 0; i < COUNT(some); i++)
        out[count++] = wrapped(t, some[i]);
    return count;
}

static void pairs_of(const struct type *t, bool divides, struct pairs *p)
{
    whole values[256];
    const size_t count = values_of(t, values);
    p->count = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            if (divides && !values[k])
                continue;
            store(t, p->x, p->count, values[i]);
            store(t, p->y, p->count++, values[k]);
        }
}

static size_t bytes_of(const struct aten_tensor *tensor)
{
    size_t bytes = 0;
    for (size_t t = 0; t < COUNT(types); t++)
        if (types[t].type == tensor->type)
            bytes = (size_t)types[t].bits / 8;
    for (uint32_t d = 0; d < tensor->rank; d++)
        bytes *= (size_t)tensor->sizes[d];
    return bytes;
}

/* The dense tensor in memory of the device; its own where that is the host's. */
static bool place(struct aten_tensor *tensor)
{
    void *data = tensor->data;
    if (aten_host_memory(device))
        return true;
    tensor->data = aten_allocate(device, bytes_of(tensor));
    return tensor->data &&
           aten_copy(device, tensor->data, data, bytes_of(tensor), ATEN_TO_DEVICE, message, sizeof(message));
}

static void take_away(struct aten_tensor *tensor)
{
    if (!aten_host_memory(device))
        aten_free(device, tensor->data);
}

enum { ARGS_MAX = 4 };

/* On tensors of the host's memory. */
static bool run(const struct aten_op *op, const struct aten_arg *args, uint32_t count, const struct aten_tensor *out)
{
    struct aten_tensor in[ARGS_MAX] = { 0 }, result = *out;
    struct aten_arg own[ARGS_MAX] = { 0 };
    if (!TEST(op && count <= ARGS_MAX))
        return false;
    bool ok = place(&result);
    for (uint32_t i = 0; i < count && ok; i++) {
        own[i] = args[i];
        if (args[i].kind != ATEN_TENSOR)
            continue;
        in[i] = *args[i].tensors;
        own[i].tensors = &in[i];
        ok = place(&in[i]);
    }
    struct aten_plan *plan = ok ? aten_compile(device, op, own, count, &result, 1, message) : NULL;
    ok = plan && aten_run(plan, own, count, &result, 1, message, sizeof(message)) &&
         (aten_host_memory(device) ||
          aten_copy(device, out->data, result.data, bytes_of(out), ATEN_FROM_DEVICE, message, sizeof(message)));
    aten_release(plan);
    for (uint32_t i = 0; i < count; i++)
        if (args[i].kind == ATEN_TENSOR)
            take_away(&in[i]);
    take_away(&result);
    return ok;
}

static bool call(const struct row *row, const struct aten_arg *args, const struct aten_tensor *out)
{
    const uint32_t count = row->mode || !strcmp(row->name, "add") || !strcmp(row->name, "sub") ? 3 : 2;
    return run(aten_op_find(row->name, row->overload), args, count, out);
}

static void check(const struct row *row, const struct type *t, struct pairs *p)
{
    pairs_of(t, row->divides, p);
    const struct aten_tensor x = { t->type, 1, { (int64_t)p->count }, { 1 }, p->x };
    struct aten_tensor y = x, z = x;
    y.data = p->y;
    z.data = p->z;
    struct aten_arg args[3] = { { .kind = ATEN_TENSOR, .count = 1, .tensors = &x },
                                { .kind = ATEN_TENSOR, .count = 1, .tensors = &y },
                                { .kind = ATEN_INT, .integer = 1 } };
    if (row->mode) {
        args[2].kind = ATEN_STRING;
        args[2].string = row->mode;
    }
    if (!TEST_FOR(call(row, args, &z), "%s of %s: %s", row->name, t->name, message))
        return;
    size_t wrong = 0;
    for (size_t i = 0; i < p->count; i++) {
        const whole a = load(t, p->x, i), b = load(t, p->y, i), want = wrapped(t, row->f(t, a, b)),
                    got = load(t, p->z, i);
        if (want != got && !wrong++)
            TEST_FOR(false, "%s %s of %s: %lld, %lld gives %lld, not %lld", row->name, row->mode ? row->mode : "",
                     t->name, (long long)a, (long long)b, (long long)got, (long long)want);
    }
    TEST_FOR(!wrong, "%s of %s: %zu of %zu", row->name, t->name, wrong, p->count);
}

/* x^k for a number k, whose plans are for it alone; below 0 torch refuses it. */
static void check_powers(void)
{
    int64_t x[6] = { 3, -7, 10, 2, -1, INT64_MAX }, z[6];
    const struct aten_tensor in = { ATEN_INT64, 1, { 6 }, { 1 }, x }, out = { ATEN_INT64, 1, { 6 }, { 1 }, z };
    const struct row row = { "pow", "Tensor_Scalar", NULL, f_pow, false };
    const struct type *t = &types[6];
    for (int64_t k = 0; k < 70; k++) {
        const struct aten_arg args[2] = { { .kind = ATEN_TENSOR, .count = 1, .tensors = &in },
                                          { .kind = ATEN_INT, .integer = k } };
        TEST_FOR(call(&row, args, &out), "%s", message);
        for (int i = 0; i < 6; i++)
            TEST_FOR(z[i] == (int64_t)wrapped(t, f_pow(t, x[i], k)), "%lld to the power %lld: %lld", (long long)x[i],
                     (long long)k, (long long)z[i]);
    }
    const struct aten_arg args[2] = { { .kind = ATEN_TENSOR, .count = 1, .tensors = &in },
                                      { .kind = ATEN_INT, .integer = -1 } };
    TEST(!call(&row, args, &out) && strstr(message, "exponent is -1"));
}

/* Counts of integers in 4 bins, in a range and in that of the elements. */
static void check_histogram(const struct type *t)
{
    static const int elements[7] = { 0, 1, 1, 3, 7, 5, 2 };
    static const struct {
        int least, most, counts[4];
    } cases[] = { { 0, 3, { 1, 2, 1, 1 } }, { 0, 0, { 3, 2, 1, 1 } }, { 1, 5, { 2, 1, 1, 1 } } };
    const struct aten_op *op = aten_op_find("histc", "");
    uint64_t x[7], z[4];
    const struct aten_tensor in = { t->type, 1, { 7 }, { 1 }, x }, out = { t->type, 1, { 4 }, { 1 }, z };
    for (size_t i = 0; i < COUNT(elements); i++)
        store(t, x, i, elements[i]);
    for (size_t c = 0; c < COUNT(cases); c++) {
        const struct aten_arg args[4] = { { .kind = ATEN_TENSOR, .count = 1, .tensors = &in },
                                          { .kind = ATEN_INT, .integer = 4 },
                                          { .kind = ATEN_INT, .integer = cases[c].least },
                                          { .kind = ATEN_INT, .integer = cases[c].most } };
        TEST_FOR(run(op, args, 4, &out), "%s: %s", t->name, message);
        for (size_t i = 0; i < 4; i++)
            TEST_FOR(load(t, z, i) == cases[c].counts[i], "%s, case %zu, bin %zu: %d", t->name, c, i,
                     (int)load(t, z, i));
    }
}

/* Numbers of which the negative is none. */
static void check_least(void)
{
    int64_t x[5] = { 0, 1, 2, 3, 4 }, z[5], least = INT64_MIN, zero = 0;
    const struct aten_tensor in = { ATEN_INT64, 1, { 5 }, { 1 }, x }, out = { ATEN_INT64, 1, { 5 }, { 1 }, z };
    const struct aten_arg roll[3] = { { .kind = ATEN_TENSOR, .count = 1, .tensors = &in },
                                      { .kind = ATEN_INTS, .count = 1, .integers = &least },
                                      { .kind = ATEN_INTS, .count = 1, .integers = &zero } };
    TEST_FOR(run(aten_op_find("roll", ""), roll, 3, &out), "%s", message);
    for (int64_t i = 0; i < 5; i++) /* -2^63 is 2 modulo 5 */
        TEST(z[(i + 2) % 5] == x[i]);
    const struct aten_tensor square = { ATEN_INT64, 2, { 2, 2 }, { 2, 1 }, x },
                             all = { ATEN_INT64, 2, { 2, 2 }, { 2, 1 }, z };
    for (int k = 0; k < 2; k++) {
        const struct aten_arg tril[2] = { { .kind = ATEN_TENSOR, .count = 1, .tensors = &square },
                                          { .kind = ATEN_INT, .integer = k ? INT64_MAX : INT64_MIN } };
        TEST_FOR(run(aten_op_find("tril", ""), tril, 2, &all), "%s", message);
        for (int i = 0; i < 4; i++)
            TEST(z[i] == (k ? x[i] : 0));
    }
}

int main(void)
{
    if (!aten_device_count())
        return 77; /* no such adapter on this machine */
    device = aten_device_open(0, message, sizeof(message));
    if (!TEST_FOR(device, "%s", message))
        return test_result();
    struct pairs *p = malloc(sizeof(*p));
    if (!TEST(p != NULL))
        return test_result();
    for (size_t r = 0; r < COUNT(rows); r++)
        for (size_t t = 0; t < COUNT(types); t++)
            check(&rows[r], &types[t], p);
    check_powers();
    for (size_t t = 0; t < COUNT(types); t++)
        check_histogram(&types[t]);
    check_least();
    free(p);
    return test_result();
}
