/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: torch's names, DirectML's data types, and torch's promotion rules. */
#include "graph.h"

#include "base/half.h"

enum category { CATEGORY_NONE, CATEGORY_BOOLEAN, CATEGORY_INTEGER, CATEGORY_FLOAT, CATEGORY_COMPLEX };

static const struct {
    int32_t type;
    const char *name;
    uint8_t bytes;
    uint8_t category;
    uint8_t rank; /* among floats, or among integers */
    DML_TENSOR_DATA_TYPE dml;
} rows[] = {
    { ATEN_UINT8, "uint8", 1, CATEGORY_INTEGER, 1, DML_TENSOR_DATA_TYPE_UINT8 },
    { ATEN_INT8, "int8", 1, CATEGORY_INTEGER, 1, DML_TENSOR_DATA_TYPE_INT8 },
    { ATEN_INT16, "int16", 2, CATEGORY_INTEGER, 2, DML_TENSOR_DATA_TYPE_INT16 },
    { ATEN_INT32, "int32", 4, CATEGORY_INTEGER, 3, DML_TENSOR_DATA_TYPE_INT32 },
    { ATEN_INT64, "int64", 8, CATEGORY_INTEGER, 4, DML_TENSOR_DATA_TYPE_INT64 },
    { ATEN_FLOAT16, "float16", 2, CATEGORY_FLOAT, 1, DML_TENSOR_DATA_TYPE_FLOAT16 },
    { ATEN_FLOAT32, "float32", 4, CATEGORY_FLOAT, 2, DML_TENSOR_DATA_TYPE_FLOAT32 },
    { ATEN_FLOAT64, "float64", 8, CATEGORY_FLOAT, 3, DML_TENSOR_DATA_TYPE_FLOAT64 },
    { ATEN_COMPLEX32, "complex32", 4, CATEGORY_COMPLEX, 1, DML_TENSOR_DATA_TYPE_UNKNOWN },
    { ATEN_COMPLEX64, "complex64", 8, CATEGORY_COMPLEX, 2, DML_TENSOR_DATA_TYPE_UNKNOWN },
    { ATEN_COMPLEX128, "complex128", 16, CATEGORY_COMPLEX, 3, DML_TENSOR_DATA_TYPE_UNKNOWN },
    { ATEN_BOOLEAN, "bool", 1, CATEGORY_BOOLEAN, 0, DML_TENSOR_DATA_TYPE_UINT8 },
    { ATEN_BFLOAT16, "bfloat16", 2, CATEGORY_FLOAT, 1, ANYDML_TENSOR_DATA_TYPE_BFLOAT16 },
    { ATEN_UINT16, "uint16", 2, CATEGORY_INTEGER, 2, DML_TENSOR_DATA_TYPE_UINT16 },
    { ATEN_UINT32, "uint32", 4, CATEGORY_INTEGER, 3, DML_TENSOR_DATA_TYPE_UINT32 },
    { ATEN_UINT64, "uint64", 8, CATEGORY_INTEGER, 4, DML_TENSOR_DATA_TYPE_UINT64 },
};

#define TEXT(number)     #number
#define VERSION(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)

const char *aten_version(void)
{
    return VERSION(ANYDML_VERSION_MAJOR, ANYDML_VERSION_MINOR, ANYDML_VERSION_PATCH);
}

/* -1: not an aten_type with tensors. */
static int row_of(int32_t type)
{
    for (int i = 0; i < (int)ARRAY_SIZE(rows); i++)
        if (rows[i].type == type)
            return i;
    return -1;
}

uint32_t aten_type_bytes(int32_t type)
{
    int row = row_of(type);
    return row < 0 ? 0 : rows[row].bytes;
}

DML_TENSOR_DATA_TYPE aten_type_dml(int32_t type)
{
    int row = row_of(type);
    return row < 0 ? DML_TENSOR_DATA_TYPE_UNKNOWN : rows[row].dml;
}

const char *aten_type_name(int32_t type)
{
    int row = row_of(type);
    return row < 0 ? "an unsupported type" : rows[row].name;
}

static enum category category_of(int32_t type)
{
    int row = row_of(type);
    return row < 0 ? CATEGORY_NONE : (enum category)rows[row].category;
}

bool aten_is_float(int32_t type)
{
    return category_of(type) == CATEGORY_FLOAT;
}

bool aten_is_complex(int32_t type)
{
    return category_of(type) == CATEGORY_COMPLEX;
}

int32_t aten_part(int32_t type)
{
    return type == ATEN_COMPLEX64 ? ATEN_FLOAT32 : type == ATEN_COMPLEX128 ? ATEN_FLOAT64 : ATEN_FLOAT16;
}

bool aten_is_signed(int32_t type)
{
    return aten_is_float(type) || type == ATEN_INT8 || type == ATEN_INT16 || type == ATEN_INT32 || type == ATEN_INT64;
}

int32_t aten_wide(int32_t type)
{
    return type == ATEN_FLOAT16 || type == ATEN_BFLOAT16 ? ATEN_FLOAT32 : type;
}

int32_t aten_promote(int32_t a, int32_t b)
{
    static const int32_t signed_of[] = { ATEN_INT8, ATEN_INT8, ATEN_INT16, ATEN_INT32, ATEN_INT64 };
    if (a == b || b == ATEN_ABSENT)
        return a;
    if (a == ATEN_ABSENT)
        return b;
    enum category of_a = category_of(a), of_b = category_of(b);
    if (of_a != of_b)
        return of_a > of_b ? a : b;
    int rank_a = rows[row_of(a)].rank, rank_b = rows[row_of(b)].rank;
    if (rank_a != rank_b && (of_a == CATEGORY_FLOAT || aten_is_signed(a) == aten_is_signed(b)))
        return rank_a > rank_b ? a : b;
    if (rank_a != rank_b && of_a == CATEGORY_COMPLEX)
        return rank_a > rank_b ? a : b;
    if (of_a == CATEGORY_FLOAT)
        return ATEN_FLOAT32; /* FLOAT16 with BFLOAT16 */
    int32_t with_sign = aten_is_signed(a) ? a : b;
    int of_sign = rows[row_of(with_sign)].rank, of_other = rows[row_of(with_sign == a ? b : a)].rank;
    return of_sign > of_other ? with_sign : signed_of[BASE_MIN(of_other + 1, 4)];
}

/* ---- numbers ---- */

static void store_bits(int32_t type, int64_t value, void *out)
{
    uint64_t bits = (uint64_t)value; /* little-endian: the lowest bytes are first */
    memcpy(out, &bits, aten_type_bytes(type));
}

void aten_store_int(int32_t type, int64_t value, void *out)
{
    if (aten_is_float(type))
        aten_store_real(type, (double)value, out);
    else
        store_bits(type, type == ATEN_BOOLEAN ? value != 0 : value, out);
}

void aten_store_real(int32_t type, double value, void *out)
{
    float single = (float)value;
    uint16_t half;
    switch (type) {
    case ATEN_FLOAT64:
        memcpy(out, &value, sizeof(value));
        break;
    case ATEN_FLOAT32:
        memcpy(out, &single, sizeof(single));
        break;
    case ATEN_FLOAT16:
        half = base_double_to_half(value);
        memcpy(out, &half, sizeof(half));
        break;
    case ATEN_BFLOAT16:
        half = base_double_to_bfloat(value);
        memcpy(out, &half, sizeof(half));
        break;
    case ATEN_BOOLEAN:
        store_bits(type, value != 0, out); /* NaN is true, too */
        break;
    default:
        if (value >= 0x1p63)
            store_bits(type, value < 0x1p64 ? (int64_t)(uint64_t)value : -1, out);
        else
            store_bits(type, value >= -0x1p63 ? (int64_t)value : INT64_MIN, out);
    }
}

DML_SCALAR_UNION aten_scalar_union(int32_t type, double value)
{
    DML_SCALAR_UNION scalar;
    memset(&scalar, 0, sizeof(scalar));
    aten_store_real(type, value, &scalar);
    return scalar;
}

/* ---- result types ---- */

/* The result type of arguments of a higher and of a lower category (tensors, scalars, numbers). */
static int32_t combine(int32_t higher, int32_t lower)
{
    if (higher == ATEN_ABSENT || lower == ATEN_ABSENT)
        return higher == ATEN_ABSENT ? lower : higher;
    return category_of(lower) > category_of(higher) ? aten_promote(higher, lower) : higher;
}

int32_t aten_result_type(const struct aten_node *n, const uint32_t *arguments, uint32_t count)
{
    int32_t tensors = ATEN_ABSENT, scalars = ATEN_ABSENT, numbers = ATEN_ABSENT;
    for (uint32_t i = 0; i < count; i++) {
        if (!aten_given(n, arguments[i]))
            continue;
        const struct aten_operand *a = &n->args[arguments[i]];
        if (a->kind == ATEN_TENSOR && a->values[0] && a->values[0]->rank)
            tensors = aten_promote(tensors, a->values[0]->type);
        else if (a->kind == ATEN_TENSOR && a->values[0])
            scalars = aten_promote(scalars, a->values[0]->type);
        else
            numbers = aten_promote(numbers, a->kind == ATEN_REAL  ? ATEN_FLOAT32
                                            : a->kind == ATEN_INT ? ATEN_INT64
                                                                  : ATEN_BOOLEAN);
    }
    return combine(tensors, combine(scalars, numbers));
}
