/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers near the greatest one of FLOAT32 and BFLOAT16, of which squares and sums do not fit: deviations, means,
 * norms, normalisation and GELU against double. */
#include "aten.h"

#include "../unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 5, COLUMNS = 600, COUNT = ROWS * COLUMNS };

static struct aten_device *device;
static char message[ATEN_MESSAGE_BYTES];

static float bits(uint32_t word)
{
    float value;
    memcpy(&value, &word, sizeof(value));
    return value;
}

static double load(int32_t type, const void *from, size_t i)
{
    return type == ATEN_FLOAT32 ? (double)((const float *)from)[i]
                                : (double)bits((uint32_t)((const uint16_t *)from)[i] << 16);
}

static void store(int32_t type, void *to, size_t i, double value)
{
    const float single = (float)value;
    uint32_t word;
    memcpy(&word, &single, sizeof(word));
    if (type == ATEN_FLOAT32)
        ((float *)to)[i] = single;
    else
        ((uint16_t *)to)[i] = (uint16_t)(word >> 16);
}

/* From -most to most; the first row has no sign. */
static void fill(int32_t type, void *x, double most)
{
    uint32_t state = 12345;
    for (size_t i = 0; i < COUNT; i++) {
        state = state * 1664525 + 1013904223;
        const double value = most * ((double)(state >> 8) / (1 << 23) - 1);
        store(type, x, i, i < COLUMNS ? fabs(value) : value);
    }
}

struct row_sums {
    double mean, squares, norm; /* squares: the mean one of what differs from the mean */
};

static struct row_sums sums_of(int32_t type, const void *x, size_t row)
{
    struct row_sums s = { 0 };
    for (size_t c = 0; c < COLUMNS; c++)
        s.mean += load(type, x, row * COLUMNS + c) / COLUMNS;
    for (size_t c = 0; c < COLUMNS; c++) {
        const double value = load(type, x, row * COLUMNS + c), difference = value - s.mean;
        s.squares += difference * difference / COLUMNS;
        s.norm += value * value;
    }
    s.norm = sqrt(s.norm);
    return s;
}

enum what { STD, MEAN, NORM, GELU, LAYER_NORM };

static const struct {
    const char *name, *overload;
    double most; /* of the elements, so that the result fits */
} ops[] = {
    [STD] = { "std", "correction", 3.3e38 },
    [MEAN] = { "mean", "dim", 3.3e38 },
    [NORM] = { "linalg_vector_norm", "", 1e37 },
    [GELU] = { "gelu", "", 3.3e38 },
    [LAYER_NORM] = { "native_layer_norm", "", 3.3e38 },
};

static double wanted(enum what what, int32_t type, const void *x, size_t i)
{
    const double value = load(type, x, i);
    const struct row_sums s =
        what == GELU ? (struct row_sums){ 0 } : sums_of(type, x, what == LAYER_NORM ? i / COLUMNS : i);
    switch (what) {
    case STD:
        return sqrt(s.squares * COLUMNS / (COLUMNS - 1));
    case MEAN:
        return s.mean;
    case NORM:
        return s.norm;
    case GELU:
        return value > 0 ? value : 0;
    default:
        return (value - s.mean) / sqrt(s.squares);
    }
}

/* The arguments of the operator on x. */
static uint32_t arguments(enum what what, const struct aten_tensor *x, struct aten_arg *args)
{
    static const int64_t along[1] = { 1 }, shape[1] = { COLUMNS };
    const struct aten_arg none = { .kind = ATEN_NONE }, no = { .kind = ATEN_BOOL };
    const struct aten_arg dim = { .kind = ATEN_INTS, .count = 1, .integers = along };
    args[0] = (struct aten_arg){ .kind = ATEN_TENSOR, .count = 1, .tensors = x };
    args[1] = args[2] = args[3] = args[4] = none;
    switch (what) {
    case STD: /* dim, correction, keepdim */
        args[1] = dim;
        args[3] = no;
        return 4;
    case MEAN: /* dim, keepdim, dtype */
        args[1] = dim;
        args[2] = no;
        return 4;
    case NORM: /* ord, dim, keepdim, dtype */
        args[1] = (struct aten_arg){ .kind = ATEN_INT, .integer = 2 };
        args[2] = dim;
        args[3] = no;
        return 5;
    case GELU:
        args[1] = (struct aten_arg){ .kind = ATEN_STRING, .string = "tanh" };
        return 2;
    default: /* normalized_shape, weight, bias, eps */
        args[1] = (struct aten_arg){ .kind = ATEN_INTS, .count = 1, .integers = shape };
        args[4] = (struct aten_arg){ .kind = ATEN_REAL, .real = 1e-5 };
        return 5;
    }
}

static void check(enum what what, int32_t type, double part)
{
    static float x[COUNT], y[3][COUNT];
    const bool each = what == GELU || what == LAYER_NORM;
    const struct aten_tensor in = { type, 2, { ROWS, COLUMNS }, { COLUMNS, 1 }, x };
    const struct aten_op *op = aten_op_find(ops[what].name, ops[what].overload);
    struct aten_tensor out[3] = { { type, 1, { ROWS }, { 1 }, y[0] } };
    struct aten_arg args[5];
    const uint32_t count = arguments(what, &in, args), outputs = what == LAYER_NORM ? 3 : 1;
    fill(type, x, ops[what].most * part);
    if (each)
        out[0] = (struct aten_tensor){ type, 2, { ROWS, COLUMNS }, { COLUMNS, 1 }, y[0] };
    for (uint32_t i = 1; i < outputs; i++)
        out[i] = (struct aten_tensor){ ATEN_FLOAT32, 2, { ROWS, 1 }, { 1, 1 }, y[i] };
    struct aten_plan *plan = op ? aten_compile(device, op, args, count, out, outputs, message) : NULL;
    if (!TEST_FOR(plan && aten_run(plan, args, count, out, outputs, message, sizeof(message)), "%s: %s", ops[what].name,
                  message))
        return;
    aten_release(plan);
    const size_t results = each ? COUNT : ROWS;
    double most = 0;
    size_t wrong = 0;
    for (size_t i = 0; i < results; i++)
        most = fmax(most, fabs(wanted(what, type, x, i)));
    for (size_t i = 0; i < results; i++) {
        const double got = load(type, y[0], i), want = wanted(what, type, x, i);
        const double bound = (type == ATEN_FLOAT32 ? 1e-5 : 8e-3) * most;
        if (!(fabs(got - want) <= bound) && !wrong++)
            TEST_FOR(false, "%s of %s up to %g: element %zu is %g, not %g", ops[what].name,
                     type == ATEN_FLOAT32 ? "float32" : "bfloat16", ops[what].most * part, i, got, want);
    }
    TEST_FOR(!wrong, "%s: %zu of %zu", ops[what].name, wrong, results);
}

int main(void)
{
    static const double parts[] = { 1, 1e-8, 1e-18 };
    if (!aten_device_count())
        return 77; /* no such adapter on this machine */
    device = aten_device_open(0, message, sizeof(message));
    if (!TEST_FOR(device && aten_host_memory(device), "%s", message))
        return test_result();
    for (int what = STD; what <= LAYER_NORM; what++)
        for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
            check((enum what)what, ATEN_FLOAT32, parts[p]);
            check((enum what)what, ATEN_BFLOAT16, parts[p]);
        }
    return test_result();
}
