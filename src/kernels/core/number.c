/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/core/number.h"

#include "base/half.h"

static const struct {
    uint8_t class, bytes;
} types[] = {
#define TYPE(name, type, least, most)                                                                                  \
    [DML_TENSOR_DATA_TYPE_##name] = { (least) < 0 ? KERN_CLASS_SIGNED : KERN_CLASS_UNSIGNED, sizeof(type) },
    KERN_INTEGER_TYPES(TYPE)[DML_TENSOR_DATA_TYPE_UNKNOWN] = { KERN_CLASS_UNSIGNED, 0 },
    [DML_TENSOR_DATA_TYPE_FLOAT64] = { KERN_CLASS_FLOAT, 8 },
    [DML_TENSOR_DATA_TYPE_FLOAT32] = { KERN_CLASS_FLOAT, 4 },
    [DML_TENSOR_DATA_TYPE_FLOAT16] = { KERN_CLASS_FLOAT, 2 },
    [ANYDML_TENSOR_DATA_TYPE_BFLOAT16] = { KERN_CLASS_FLOAT, 2 },
    [DML_TENSOR_DATA_TYPE_INT4] = { KERN_CLASS_SIGNED, 0 },
    [DML_TENSOR_DATA_TYPE_UINT4] = { KERN_CLASS_UNSIGNED, 0 },
};

enum kern_class kern_type_class(DML_TENSOR_DATA_TYPE type)
{
    return (uint32_t)type < ARRAY_SIZE(types) ? types[type].class : KERN_CLASS_UNSIGNED;
}

uint32_t kern_type_bytes(DML_TENSOR_DATA_TYPE type)
{
    return (uint32_t)type < ARRAY_SIZE(types) ? types[type].bytes : 0;
}

uint32_t kern_type_bits(DML_TENSOR_DATA_TYPE type)
{
    uint32_t bytes = kern_type_bytes(type);
    return bytes ? bytes * 8 : 4;
}

const void *kern_at(const void *base, DML_TENSOR_DATA_TYPE type, int64_t offset)
{
    uint32_t bytes = kern_type_bytes(type);
    return (const char *)base + (bytes ? offset * bytes : offset >> 1);
}

static uint64_t read_bits(const void *address, uint32_t bytes, int64_t offset)
{
    uint64_t bits = 0;
    if (bytes)
        memcpy(&bits, address, bytes);
    else
        bits = (*(const uint8_t *)address >> (offset & 1 ? 4 : 0)) & 15;
    return bits;
}

static void write_bits(void *address, uint32_t bytes, int64_t offset, uint64_t bits)
{
    uint8_t *byte = address;
    if (bytes)
        memcpy(address, &bits, bytes);
    else if (offset & 1)
        *byte = (uint8_t)((*byte & 0x0f) | (bits & 15) << 4);
    else
        *byte = (uint8_t)((*byte & 0xf0) | (bits & 15));
}

static int64_t wrap_signed(uint64_t value, uint32_t bits)
{
    return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

static double float_from_bits(DML_TENSOR_DATA_TYPE type, uint64_t bits)
{
    double value;
    if (type == DML_TENSOR_DATA_TYPE_FLOAT16)
        return base_half_to_float((uint16_t)bits);
    if (type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16)
        return base_bfloat_to_float((uint16_t)bits);
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32)
        return base_bits_to_float((uint32_t)bits);
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint64_t bits_from_float(DML_TENSOR_DATA_TYPE type, double value)
{
    uint64_t bits;
    if (type == DML_TENSOR_DATA_TYPE_FLOAT16)
        return base_double_to_half(value);
    if (type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16)
        return base_double_to_bfloat(value);
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32)
        return base_float_to_bits((float)value);
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

struct kern_number kern_read(DML_TENSOR_DATA_TYPE type, const void *base, int64_t offset)
{
    struct kern_number number = { .class = kern_type_class(type) };
    uint64_t bits = read_bits(kern_at(base, type, offset), kern_type_bytes(type), offset);
    if (number.class == KERN_CLASS_FLOAT)
        number.f = float_from_bits(type, bits);
    else if (number.class == KERN_CLASS_SIGNED)
        number.i = wrap_signed(bits, kern_type_bits(type));
    else
        number.u = bits;
    return number;
}

static double round_float(DML_TENSOR_DATA_TYPE type, struct kern_number value)
{
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32 && value.class == KERN_CLASS_SIGNED)
        return (float)value.i;
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32 && value.class == KERN_CLASS_UNSIGNED)
        return (float)value.u;
    double f = value.class == KERN_CLASS_FLOAT    ? value.f
               : value.class == KERN_CLASS_SIGNED ? (double)value.i
                                                  : (double)value.u;
    return float_from_bits(type, bits_from_float(type, f));
}

struct kern_number kern_number_to(DML_TENSOR_DATA_TYPE type, struct kern_number value)
{
    struct kern_number out = { .class = kern_type_class(type) };
    uint32_t bits = kern_type_bits(type);
    if (out.class == KERN_CLASS_FLOAT)
        out.f = round_float(type, value);
    else if (out.class == KERN_CLASS_SIGNED)
        out.i = value.class == KERN_CLASS_FLOAT
                    ? kern_to_signed(value.f, INT64_MIN >> (64 - bits), INT64_MAX >> (64 - bits))
                    : wrap_signed(value.u, bits);
    else
        out.u = value.class == KERN_CLASS_FLOAT ? kern_to_unsigned(value.f, UINT64_MAX >> (64 - bits))
                                                : value.u & UINT64_MAX >> (64 - bits);
    return out;
}

void kern_write(DML_TENSOR_DATA_TYPE type, void *base, int64_t offset, struct kern_number value)
{
    struct kern_number number = kern_number_to(type, value);
    uint64_t bits = number.class == KERN_CLASS_FLOAT ? bits_from_float(type, number.f) : number.u;
    write_bits((void *)kern_at(base, type, offset), kern_type_bytes(type), offset, bits);
}

double kern_read_double(DML_TENSOR_DATA_TYPE type, const void *base, int64_t offset)
{
    struct kern_number number = kern_read(type, base, offset);
    return round_float(DML_TENSOR_DATA_TYPE_FLOAT64, number);
}

void kern_write_double(DML_TENSOR_DATA_TYPE type, void *base, int64_t offset, double value)
{
    kern_write(type, base, offset, kern_from_double(value));
}

struct kern_number kern_number_sum(struct kern_number a, struct kern_number b)
{
    if (a.class == KERN_CLASS_FLOAT)
        a.f += b.f;
    else
        a.u += b.u;
    return a;
}

struct kern_number kern_number_product(struct kern_number a, struct kern_number b)
{
    if (a.class == KERN_CLASS_FLOAT)
        a.f *= b.f;
    else
        a.u *= b.u;
    return a;
}

bool kern_number_less(struct kern_number a, struct kern_number b)
{
    if (a.class == KERN_CLASS_FLOAT)
        return a.f < b.f;
    return a.class == KERN_CLASS_SIGNED ? a.i < b.i : a.u < b.u;
}

struct kern_number kern_from_integer(uint64_t value)
{
    return (struct kern_number){ .class = KERN_CLASS_UNSIGNED, .u = value };
}

struct kern_number kern_from_double(double value)
{
    return (struct kern_number){ .class = KERN_CLASS_FLOAT, .f = value };
}

struct kern_number kern_from_scalar(DML_TENSOR_DATA_TYPE type, union kern_scalar scalar)
{
    return kern_read(type, &scalar, 0);
}

int64_t kern_offset(const struct kern_view *view, const uint32_t *index)
{
    int64_t offset = 0;
    for (uint32_t i = 0; i < view->rank; i++)
        offset += index[i] * view->strides[i];
    return offset;
}

void kern_unflatten(uint64_t flat, uint32_t rank, const uint32_t *sizes, uint32_t *out_index)
{
    for (uint32_t i = rank; i-- > 0;) {
        out_index[i] = (uint32_t)(flat % sizes[i]);
        flat /= sizes[i];
    }
}

bool kern_advance(uint32_t rank, const uint32_t *sizes, uint32_t *index)
{
    for (uint32_t i = rank; i-- > 0;) {
        if (sizes[i] == 1)
            continue;
        if (++index[i] < sizes[i])
            return true;
        index[i] = 0;
    }
    return false;
}

void kern_each_element(const struct kern_call *call, uint32_t t, uint64_t begin, uint64_t end,
                       void (*visit)(const struct kern_call *call, const uint32_t *index))
{
    const struct kern_view *view = &call->op->tensors[t];
    uint32_t index[KERN_RANK_MAX];
    kern_unflatten(begin, view->rank, view->sizes, index);
    for (uint64_t i = begin; i < end; i++) {
        visit(call, index);
        kern_advance(view->rank, view->sizes, index);
    }
}

void kern_copy_element(DML_TENSOR_DATA_TYPE type, void *to, int64_t to_offset, const void *from, int64_t from_offset)
{
    const uint32_t bytes = kern_type_bytes(type);
    if (bytes)
        memcpy((char *)to + to_offset * bytes, (const char *)from + from_offset * bytes, bytes);
    else
        write_bits((void *)kern_at(to, type, to_offset), 0, to_offset,
                   read_bits(kern_at(from, type, from_offset), 0, from_offset));
}

void kern_split_sizes(const struct kern_view *view, uint32_t axes, uint32_t *out_outer, uint32_t *out_inner)
{
    for (uint32_t i = 0; i < view->rank; i++) {
        out_outer[i] = axes >> i & 1 ? 1 : view->sizes[i];
        out_inner[i] = axes >> i & 1 ? view->sizes[i] : 1;
    }
}
