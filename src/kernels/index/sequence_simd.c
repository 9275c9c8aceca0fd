/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic sequences for the instruction set of the including file. */
#include "kernels/core/isa.h"
#include "kernels/core/copy_body.h"
#include "kernels/core/iterator.h"

#if defined(__AVX2__) || defined(__aarch64__)
#include "kernels/vec/vec.h"
#else
#include "kernels/core/dense.h"
#endif

enum { SEQUENCE_PIECE = 256 };

/* In arithmetic that wraps at the element's width; `wide` has at least the width of int. */
#define SEQUENCE_INTEGERS(type, wide)                                                                                  \
    {                                                                                                                  \
        const wide base = (wide)(s->start.u64 + first * s->delta.u64), step = (wide)s->delta.u64;                      \
        for (uint64_t i = 0; i < count; i++)                                                                           \
            ((type *)out)[i] = (type)(base + (wide)i * step);                                                          \
    }

static void sequence_integers(const struct kern_sequence *s, uint32_t bytes, uint64_t first, uint64_t count, void *out)
{
    if (bytes == 1)
        SEQUENCE_INTEGERS(uint8_t, uint32_t)
    else if (bytes == 2)
        SEQUENCE_INTEGERS(uint16_t, uint32_t)
    else if (bytes == 4)
        SEQUENCE_INTEGERS(uint32_t, uint32_t)
    else
        SEQUENCE_INTEGERS(uint64_t, uint64_t)
}

/* FLOAT32 whose last bit is 1 where the value is not exact: rounding it once more, to a type with at least two bits
 * less, gives what rounding the value once gives. */
DENSE_INLINE float sequence_odd(double value)
{
    const float near = (float)value;
    const double back = near;
    uint32_t bits = base_float_to_bits(near);
    bits -= __builtin_fabs(back) > __builtin_fabs(value);
    return base_bits_to_float(bits | (back != value));
}

static void sequence_halves(const float *odd, uint32_t count, uint16_t *out)
{
    uint32_t i = 0;
#if defined(VEC)
    for (; i + VEC <= count; i += VEC)
        vec_store_half(out + i, vec_load(odd + i));
#endif
    for (; i < count; i++)
        out[i] = base_float_to_half(odd[i]);
}

/* At most SEQUENCE_PIECE elements. */
static void sequence_floats(const struct kern_sequence *s, DML_TENSOR_DATA_TYPE type, uint64_t first, uint32_t count,
                            void *out)
{
    const double base = (double)first, start = s->start.f64, delta = s->delta.f64; /* base: exact, and so are sums */
    double values[SEQUENCE_PIECE];
    float odd[SEQUENCE_PIECE];
    for (int32_t i = 0; i < (int32_t)count; i++)
        values[i] = start + (base + i) * delta;
    if (type == DML_TENSOR_DATA_TYPE_FLOAT64) {
        memcpy(out, values, count * sizeof(*values));
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        odd[i] = type == DML_TENSOR_DATA_TYPE_FLOAT32 ? (float)values[i] : sequence_odd(values[i]);
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32)
        memcpy(out, odd, count * sizeof(*odd));
    else if (type == DML_TENSOR_DATA_TYPE_FLOAT16)
        sequence_halves(odd, count, out);
    else
        for (uint32_t i = 0; i < count; i++)
            ((uint16_t *)out)[i] = base_float_to_bfloat(odd[i]);
}

static void sequence_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const uint32_t tensors[] = { 0 };
    const struct kern_sequence *sequence = &call->op->u.sequence;
    const DML_TENSOR_DATA_TYPE type = call->op->tensors[0].type;
    const uint32_t bytes = kern_type_bytes(type);
    struct kern_iterator iterator;
    struct kern_cursor cursor;
    kern_iterator_init(&iterator, call->op, tensors, 1, UINT32_MAX, KERN_ITERATOR_ROW_MAJOR);
    const int64_t stride = iterator.strides[0][iterator.rank - 1];
    kern_cursor_seek(&iterator, begin, &cursor);
    while (begin < end) {
        uint64_t piece[SEQUENCE_PIECE], n = BASE_MIN(kern_cursor_row_left(&iterator, &cursor), end - begin);
        char *to = (char *)call->data[0] + cursor.offset[0] * bytes;
        void *out = stride == 1 ? (void *)to : piece;
        if (stride != 1 || dense_is_float(type))
            n = BASE_MIN(n, SEQUENCE_PIECE);
        if (dense_is_float(type))
            sequence_floats(sequence, type, begin, (uint32_t)n, out);
        else
            sequence_integers(sequence, bytes, begin, n, out);
        if (out == piece)
            copy_row(bytes, to, stride, piece, 1, n);
        kern_cursor_skip(&iterator, &cursor, n);
        begin += n;
    }
}

KERN_ISA_RUN(sequence_any, sequence_run)
