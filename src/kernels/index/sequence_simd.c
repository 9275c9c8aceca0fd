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
#define SEQUENCE_ROW(type, wide)                                                                                       \
    {                                                                                                                  \
        const wide base = (wide)(start + first * delta), step = (wide)delta;                                           \
        type *at = (type *)to;                                                                                         \
        if (stride == 1)                                                                                               \
            for (uint64_t i = 0; i < count; i++)                                                                       \
                at[i] = (type)(base + (wide)i * step);                                                                 \
        else                                                                                                           \
            for (uint64_t i = 0; i < count; i++) {                                                                     \
                at[(int64_t)i * stride] = (type)(base + (wide)i * step);                                               \
                COPY_ONE_BY_ONE;                                                                                       \
            }                                                                                                          \
    }

static void sequence_integers(uint32_t bytes, void *to, int64_t stride, uint64_t start, uint64_t delta, uint64_t first,
                              uint64_t count)
{
    if (bytes == 1)
        SEQUENCE_ROW(uint8_t, uint32_t)
    else if (bytes == 2)
        SEQUENCE_ROW(uint16_t, uint32_t)
    else if (bytes == 4)
        SEQUENCE_ROW(uint32_t, uint32_t)
    else
        SEQUENCE_ROW(uint64_t, uint64_t)
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

/* As elements of the type; numbers, halves: room. */
static const void *sequence_convert(DML_TENSOR_DATA_TYPE type, const double *values, uint32_t count, float *numbers,
                                    uint16_t *halves)
{
    if (type == DML_TENSOR_DATA_TYPE_FLOAT64)
        return values;
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32) {
        for (uint32_t i = 0; i < count; i++)
            numbers[i] = (float)values[i];
        return numbers;
    }
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = sequence_odd(values[i]);
    if (type == DML_TENSOR_DATA_TYPE_FLOAT16)
        sequence_halves(numbers, count, halves);
    else
        for (uint32_t i = 0; i < count; i++)
            halves[i] = base_float_to_bfloat(numbers[i]);
    return halves;
}

static void sequence_floats(DML_TENSOR_DATA_TYPE type, void *to, int64_t stride, double start, double delta,
                            uint64_t first, uint64_t count)
{
    const uint32_t bytes = kern_type_bytes(type);
    double values[SEQUENCE_PIECE];
    float numbers[SEQUENCE_PIECE];
    uint16_t halves[SEQUENCE_PIECE];
    for (uint64_t done = 0; done < count; done += SEQUENCE_PIECE) {
        const uint32_t n = (uint32_t)BASE_MIN(count - done, SEQUENCE_PIECE);
        const double base = (double)(first + done); /* exact, and so is what is added */
        for (int32_t i = 0; i < (int32_t)n; i++)
            values[i] = start + (base + i) * delta;
        copy_row(bytes, (char *)to + (int64_t)done * stride * bytes, stride,
                 sequence_convert(type, values, n, numbers, halves), 1, n);
    }
}

static void sequence_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const uint32_t tensors[] = { 0 };
    const struct kern_sequence *sequence = &call->op->u.sequence;
    DML_TENSOR_DATA_TYPE type = call->op->tensors[0].type;
    uint32_t bytes = kern_type_bytes(type);
    struct kern_iterator iterator;
    struct kern_cursor cursor;
    kern_iterator_init(&iterator, call->op, tensors, 1, UINT32_MAX, KERN_ITERATOR_ROW_MAJOR);
    const uint32_t last = iterator.rank - 1;
    kern_cursor_seek(&iterator, begin, &cursor);
    while (begin < end) {
        uint64_t n = BASE_MIN(iterator.sizes[last] - cursor.index[last], end - begin);
        void *to = (char *)call->data[0] + cursor.offset[0] * bytes;
        if (dense_is_float(type))
            sequence_floats(type, to, iterator.strides[0][last], sequence->start.f64, sequence->delta.f64, begin, n);
        else
            sequence_integers(bytes, to, iterator.strides[0][last], sequence->start.u64, sequence->delta.u64, begin, n);
        kern_cursor_next_row(&iterator, &cursor);
        begin += n;
    }
}

KERN_ISA_RUN(sequence_any, sequence_run)
