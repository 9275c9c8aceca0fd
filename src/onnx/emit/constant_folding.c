/* SPDX-License-Identifier: Apache-2.0 */
/* Constant folding: arithmetic on values that are known when a graph is created, such as shapes that the model
 * computes. No work remains for the device. Integers are exact modulo 2^64, floats are computed in double and rounded
 * once. */
#include "onnx/emit/build.h"

#include "base/half.h"

#include <math.h>

#define KNOWN_ELEMENTS_MAX 65536

struct number {
    bool real;
    int64_t i; /* of integers and booleans */
    double f;  /* of both */
};

static bool is_real(int32_t type)
{
    return type == ONNX_FLOAT || type == ONNX_DOUBLE || type == ONNX_FLOAT16;
}

static struct number integer(int64_t i)
{
    return (struct number){ false, i, (double)i };
}

static struct number real(double f)
{
    return (struct number){ true, 0, f };
}

static bool takes(int32_t type)
{
    return onnx_type_bytes(type) && type != ONNX_BFLOAT16 && type != ONNX_UINT4 && type != ONNX_INT4;
}

bool onnx_is_constant(const struct onnx_value *v)
{
    return v->source == ONNX_SOURCE_CONSTANT && takes(v->type) && onnx_elements(v) <= KNOWN_ELEMENTS_MAX;
}

/* Elements may be unaligned. */
#define ELEMENT(type)                                                                                                  \
    (*(const type *)memcpy(&(type){ 0 }, (const char *)data + (size_t)at * sizeof(type), sizeof(type)))

static struct number load(int32_t type, const void *data, int64_t at)
{
    switch (type) {
    case ONNX_FLOAT:
        return real(ELEMENT(float));
    case ONNX_DOUBLE:
        return real(ELEMENT(double));
    case ONNX_FLOAT16:
        return real(base_half_to_float(ELEMENT(uint16_t)));
    case ONNX_UINT8:
    case ONNX_BOOL:
        return integer(ELEMENT(uint8_t));
    case ONNX_INT8:
        return integer(ELEMENT(int8_t));
    case ONNX_UINT16:
        return integer(ELEMENT(uint16_t));
    case ONNX_INT16:
        return integer(ELEMENT(int16_t));
    case ONNX_UINT32:
        return integer(ELEMENT(uint32_t));
    case ONNX_INT32:
        return integer(ELEMENT(int32_t));
    default:
        return integer(ELEMENT(int64_t));
    }
}

/* Out-of-range floats saturate, NaN becomes 0: C leaves both undefined. */
static int64_t truncated(double f)
{
    if (isnan(f))
        return 0;
    return f >= 0x1p63 ? INT64_MAX : f <= -0x1p63 ? INT64_MIN : (int64_t)f;
}

static void store(int32_t type, void *data, int64_t at, struct number n)
{
    double f = n.real ? n.f : type == ONNX_UINT64 ? (double)(uint64_t)n.i : (double)n.i;
    int64_t i = n.real ? truncated(n.f) : n.i;
    switch (type) {
    case ONNX_FLOAT:
        ((float *)data)[at] = (float)f;
        break;
    case ONNX_DOUBLE:
        ((double *)data)[at] = f;
        break;
    case ONNX_FLOAT16:
        ((uint16_t *)data)[at] = base_double_to_half(f);
        break;
    case ONNX_BOOL:
        ((uint8_t *)data)[at] = n.real ? n.f != 0 : n.i != 0;
        break;
    case ONNX_UINT8:
    case ONNX_INT8:
        ((uint8_t *)data)[at] = (uint8_t)i;
        break;
    case ONNX_UINT16:
    case ONNX_INT16:
        ((uint16_t *)data)[at] = (uint16_t)i;
        break;
    case ONNX_UINT32:
    case ONNX_INT32:
        ((uint32_t *)data)[at] = (uint32_t)i;
        break;
    default:
        ((int64_t *)data)[at] = i;
        break;
    }
}

bool onnx_fill_known(struct onnx_builder *b, struct onnx_value *v, int64_t number)
{
    int64_t count = onnx_elements(v);
    if (!takes(v->type) || count > KNOWN_ELEMENTS_MAX) {
        v->index = b->emit.input_count++;
        return true;
    }
    void *data = onnx_constant_data(b, v);
    for (int64_t i = 0; data && i < count; i++)
        store(v->type, data, i, integer(number));
    return data != NULL;
}

/* Walks the elements of dims in order; at[] are the element offsets of up to four operands. */
struct iterator {
    uint32_t rank, operands;
    int64_t dims[ONNX_RANK_MAX], index[ONNX_RANK_MAX], strides[4][ONNX_RANK_MAX], at[4];
};

static void iterator_next(struct iterator *w)
{
    for (uint32_t i = w->rank; i-- > 0;) {
        bool wraps = ++w->index[i] == w->dims[i];
        for (uint32_t k = 0; k < w->operands; k++)
            w->at[k] += wraps ? -w->strides[k][i] * (w->dims[i] - 1) : w->strides[k][i];
        if (!wraps)
            return;
        w->index[i] = 0;
    }
}

static void iterator_broadcast(struct iterator *w, uint32_t operand, const struct onnx_value *x)
{
    int64_t step = 1;
    for (uint32_t i = 0; i < x->rank; i++) {
        uint32_t from = x->rank - 1 - i;
        w->strides[operand][w->rank - 1 - i] = x->dims[from] == 1 ? 0 : step;
        step *= x->dims[from];
    }
}

bool onnx_fold_view(struct onnx_builder *b, struct onnx_value *y, const struct onnx_value *x, int64_t offset,
                    const int64_t *strides)
{
    struct iterator w = { .rank = y->rank, .operands = 1, .at = { offset } };
    uint32_t width = onnx_type_bytes(x->type);
    char *data = onnx_constant_data(b, y);
    if (!data)
        return false;
    memcpy(w.dims, y->dims, sizeof(w.dims));
    memcpy(w.strides[0], strides, y->rank * sizeof(*strides));
    for (int64_t i = 0, count = onnx_elements(y); i < count; i++, iterator_next(&w))
        memcpy(data + i * width, (const char *)x->data + w.at[0] * width, width);
    return true;
}

bool onnx_fold_cast(struct onnx_builder *b, struct onnx_value *y, const struct onnx_value *x)
{
    void *data = onnx_constant_data(b, y);
    for (int64_t i = 0, count = onnx_elements(x); data && i < count; i++)
        store(y->type, data, i, load(x->type, x->data, i));
    return data != NULL;
}

/* ---- element-wise ---- */

enum math {
    NONE,
    ABS,
    NEG,
    FLOOR,
    CEIL,
    SQRT,
    SIGN,
    NOT,
    RECIPROCAL,
    EXP,
    LOG,
    ADD,
    SUB,
    MUL,
    DIV,
    MOD,
    POW,
    MAX,
    MIN,
    AND,
    OR,
    XOR,
    EQUAL,
    LESS,
    LESS_OR_EQUAL,
    GREATER,
    GREATER_OR_EQUAL
};

static const struct {
    const char *op;
    enum math math;
} math_rows[] = {
    { "Abs", ABS },
    { "Neg", NEG },
    { "Floor", FLOOR },
    { "Ceil", CEIL },
    { "Sqrt", SQRT },
    { "Sign", SIGN },
    { "Not", NOT },
    { "Exp", EXP },
    { "Log", LOG },
    { "Add", ADD },
    { "Sub", SUB },
    { "Mul", MUL },
    { "Div", DIV },
    { "Mod", MOD },
    { "Pow", POW },
    { "Max", MAX },
    { "Min", MIN },
    { "And", AND },
    { "Or", OR },
    { "Xor", XOR },
    { "Reciprocal", RECIPROCAL },
    { "Equal", EQUAL },
    { "Less", LESS },
    { "Sum", ADD },
    { "LessOrEqual", LESS_OR_EQUAL },
    { "Greater", GREATER },
    { "GreaterOrEqual", GREATER_OR_EQUAL },
    { "ReduceSum", ADD },
    { "ReduceProd", MUL },
    { "ReduceMax", MAX },
    { "ReduceMin", MIN },
};

static enum math math_find(const char *op)
{
    for (size_t i = 0; i < ARRAY_SIZE(math_rows); i++) {
        if (!strcmp(math_rows[i].op, op))
            return math_rows[i].math;
    }
    return NONE;
}

/* Comparisons of integers and floats; NaN is neither less nor equal. */
static bool math_compare(enum math math, bool less, bool equal, bool greater, struct number *out)
{
    switch (math) {
    case EQUAL:
        *out = integer(equal);
        break;
    case LESS:
        *out = integer(less);
        break;
    case LESS_OR_EQUAL:
        *out = integer(less || equal);
        break;
    case GREATER:
        *out = integer(greater);
        break;
    case GREATER_OR_EQUAL:
        *out = integer(greater || equal);
        break;
    default:
        return false;
    }
    return true;
}

static bool math_real_unary(enum math math, double x, struct number *out)
{
    switch (math) {
    case ABS:
        *out = real(fabs(x));
        break;
    case NEG:
        *out = real(-x);
        break;
    case FLOOR:
        *out = real(floor(x));
        break;
    case CEIL:
        *out = real(ceil(x));
        break;
    case SQRT:
        *out = real(sqrt(x));
        break;
    case SIGN:
        *out = real(isnan(x) ? x : (x > 0) - (x < 0));
        break;
    case RECIPROCAL:
        *out = real(1 / x);
        break;
    case EXP:
        *out = real(exp(x));
        break;
    case LOG:
        *out = real(log(x));
        break;
    default:
        return false;
    }
    return true;
}

static bool math_real(enum math math, double x, double z, struct number *out)
{
    switch (math) {
    case ADD:
        *out = real(x + z);
        break;
    case SUB:
        *out = real(x - z);
        break;
    case MUL:
        *out = real(x * z);
        break;
    case DIV:
        *out = real(x / z);
        break;
    case MOD:
        *out = real(fmod(x, z));
        break;
    case POW:
        *out = real(pow(x, z));
        break;
    case MAX:
        *out = real(isnan(x) || x > z ? x : z);
        break;
    case MIN:
        *out = real(isnan(x) || x < z ? x : z);
        break;
    default:
        return math_real_unary(math, x, out) || math_compare(math, x<z, x == z, x> z, out);
    }
    return true;
}

static bool math_integer_unary(enum math math, int64_t x, struct number *out)
{
    switch (math) {
    case ABS:
        *out = integer(x < 0 ? (int64_t) - (uint64_t)x : x);
        break;
    case NEG:
        *out = integer((int64_t) - (uint64_t)x);
        break;
    case FLOOR:
    case CEIL:
        *out = integer(x);
        break;
    case SIGN:
        *out = integer((x > 0) - (x < 0));
        break;
    case NOT:
        *out = integer(!x);
        break;
    default:
        return false;
    }
    return true;
}

/* Wraps; 1 / x^-z is truncated for z below 0, as in ELEMENT_WISE_POW. */
static int64_t integer_power(int64_t x, int64_t z)
{
    uint64_t power = 1, factor = (uint64_t)x;
    if (z < 0)
        return x == 1 ? 1 : x == -1 ? (z & 1 ? -1 : 1) : x ? 0 : -1;
    for (; z; z >>= 1, factor *= factor)
        power *= z & 1 ? factor : 1;
    return (int64_t)power;
}

static bool math_integer(enum math math, int64_t x, int64_t z, struct number *out)
{
    uint64_t ux = (uint64_t)x, uz = (uint64_t)z;
    switch (math) {
    case ADD:
        *out = integer((int64_t)(ux + uz));
        break;
    case SUB:
        *out = integer((int64_t)(ux - uz));
        break;
    case MUL:
        *out = integer((int64_t)(ux * uz));
        break;
    case DIV:
        *out = integer(!z ? 0 : z == -1 ? (int64_t)-ux : x / z);
        break;
    case MOD:
        *out = integer(!z || z == -1 ? 0 : x % z);
        break;
    case POW:
        *out = integer(integer_power(x, z));
        break;
    case MAX:
        *out = integer(x > z ? x : z);
        break;
    case MIN:
        *out = integer(x < z ? x : z);
        break;
    case AND:
        *out = integer(x && z);
        break;
    case OR:
        *out = integer(x || z);
        break;
    case XOR:
        *out = integer(!x != !z);
        break;
    default:
        return math_integer_unary(math, x, out) || math_compare(math, x<z, x == z, x> z, out);
    }
    return true;
}

/* Mod with the sign of the divisor (fmod=0). */
static struct number floored(struct number remainder, struct number divisor)
{
    if (!remainder.real && remainder.i && (remainder.i < 0) != (divisor.i < 0))
        return integer(remainder.i + divisor.i);
    return remainder;
}

static bool math_apply(enum math math, struct number x, struct number z, struct number *out)
{
    if (math == POW && !x.real && z.real) { /* whose types may differ */
        *out = integer(truncated(pow(x.f, z.f)));
        return true;
    }
    return x.real ? math_real(math, x.f, z.f, out) : math_integer(math, x.i, z.i, out);
}

bool onnx_fold_map(struct onnx_builder *b, const struct onnx_node *n, struct onnx_value *y, const struct onnx_value *x,
                   const struct onnx_value *z, bool *done)
{
    enum math math = math_find(n->op);
    struct iterator w = { .rank = y->rank, .operands = 2 };
    struct number result;
    *done = false;
    if (!onnx_is_constant(x) || (z && !onnx_is_constant(z)) || x->type == ONNX_UINT64 ||
        onnx_elements(y) > KNOWN_ELEMENTS_MAX || !takes(y->type) ||
        !math_apply(math, is_real(x->type) ? real(1) : integer(1), is_real(x->type) ? real(1) : integer(1), &result))
        return true;
    void *data = onnx_constant_data(b, y);
    if (!data)
        return false;
    memcpy(w.dims, y->dims, sizeof(w.dims));
    iterator_broadcast(&w, 0, x);
    if (z)
        iterator_broadcast(&w, 1, z);
    bool floor_mod = math == MOD && !onnx_attr_int(n, "fmod", 0);
    for (int64_t i = 0, count = onnx_elements(y); i < count; i++, iterator_next(&w)) {
        struct number left = load(x->type, x->data, w.at[0]);
        struct number right = z ? load(z->type, z->data, w.at[1]) : left;
        math_apply(math, left, right, &result);
        store(y->type, data, i, floor_mod ? floored(result, right) : result);
    }
    *done = true;
    return true;
}

int64_t onnx_constant_int(const struct onnx_value *v, int64_t at)
{
    return load(v->type, v->data, at).i;
}

double onnx_constant_real(const struct onnx_value *v, int64_t at)
{
    return load(v->type, v->data, at).f;
}

bool onnx_fold_where(struct onnx_builder *b, struct onnx_value *y, struct onnx_value *const *in)
{
    struct iterator w = { .rank = y->rank, .operands = 3 };
    uint32_t width = onnx_type_bytes(y->type);
    char *data = onnx_constant_data(b, y);
    if (!data)
        return false;
    memcpy(w.dims, y->dims, sizeof(w.dims));
    for (uint32_t k = 0; k < 3; k++)
        iterator_broadcast(&w, k, in[k]);
    for (int64_t i = 0, count = onnx_elements(y); i < count; i++, iterator_next(&w)) {
        uint32_t from = ((const uint8_t *)in[0]->data)[w.at[0]] ? 1 : 2;
        memcpy(data + i * width, (const char *)in[from]->data + w.at[from] * width, width);
    }
    return true;
}

/* ---- reductions ---- */

bool onnx_fold_reduce(struct onnx_builder *b, const struct onnx_node *n, struct onnx_value *y,
                      const struct onnx_value *x, const int64_t *full, bool *done)
{
    enum math math = math_find(n->op);
    struct iterator w = { .rank = x->rank, .operands = 1 };
    struct onnx_value kept = { .rank = x->rank };
    *done = false;
    if (!math || !onnx_is_constant(x) || x->type == ONNX_FLOAT16 || x->type == ONNX_UINT64 || !onnx_elements(x))
        return true;
    void *data = onnx_constant_data(b, y);
    bool *seen = base_arena_alloc(&b->arena, (size_t)onnx_elements(y));
    if (!data || !seen)
        return onnx_fail(b, "out of memory");
    memcpy(w.dims, x->dims, sizeof(w.dims));
    memcpy(kept.dims, full, sizeof(kept.dims));
    iterator_broadcast(&w, 0, &kept);
    for (int64_t i = 0, count = onnx_elements(x); i < count; i++, iterator_next(&w)) {
        struct number value = load(x->type, x->data, i);
        if (seen[w.at[0]])
            math_apply(math, load(y->type, data, w.at[0]), value, &value);
        seen[w.at[0]] = true;
        store(y->type, data, w.at[0], value);
    }
    *done = true;
    return true;
}
