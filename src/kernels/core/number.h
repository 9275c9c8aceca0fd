/* SPDX-License-Identifier: Apache-2.0 */
/* One tensor element as a number: how the reference kernels read and write every data type. */
#ifndef KERNELS_NUMBER_H
#define KERNELS_NUMBER_H

#include "kernels/core/kernel.h"

enum kern_class { KERN_CLASS_FLOAT, KERN_CLASS_SIGNED, KERN_CLASS_UNSIGNED };

struct kern_number {
    enum kern_class class;
    union {
        double f;
        int64_t i;
        uint64_t u;
    };
};

enum kern_class kern_type_class(DML_TENSOR_DATA_TYPE type);
uint32_t kern_type_bits(DML_TENSOR_DATA_TYPE type);

/* The address of element `offset`; for types narrower than a byte, the byte that contains it. */
const void *kern_at(const void *base, DML_TENSOR_DATA_TYPE type, int64_t offset);

struct kern_number kern_read(DML_TENSOR_DATA_TYPE type, const void *base, int64_t offset);
void kern_write(DML_TENSOR_DATA_TYPE type, void *base, int64_t offset, struct kern_number value);

/* Value converted to `type`: float to integer truncates and saturates (NaN becomes 0), integer to narrower integer
 * keeps the low bits, to float rounds once. */
struct kern_number kern_number_to(DML_TENSOR_DATA_TYPE type, struct kern_number value);

/* Its way from float to integer. */
static inline int64_t kern_to_signed(double x, int64_t least, int64_t most)
{
    if (x != x)
        return 0;
    if (x <= (double)least)
        return least;
    return x >= (double)most ? most : (int64_t)x;
}

static inline uint64_t kern_to_unsigned(double x, uint64_t most)
{
    if (!(x > 0))
        return 0;
    return x >= (double)most ? most : (uint64_t)x;
}

/* The same for elements used as floating-point numbers. */
double kern_read_double(DML_TENSOR_DATA_TYPE type, const void *base, int64_t offset);
void kern_write_double(DML_TENSOR_DATA_TYPE type, void *base, int64_t offset, double value);

/* Of numbers of one class; integers wrap. NaN is neither less nor greater. */
struct kern_number kern_number_sum(struct kern_number a, struct kern_number b);
struct kern_number kern_number_product(struct kern_number a, struct kern_number b);
bool kern_number_less(struct kern_number a, struct kern_number b);

struct kern_number kern_from_double(double value);
struct kern_number kern_from_integer(uint64_t value);
struct kern_number kern_from_scalar(DML_TENSOR_DATA_TYPE type, union kern_scalar scalar);

/* Sum of index[i] * strides[i]. */
int64_t kern_offset(const struct kern_view *view, const uint32_t *index);

/* Row-major index of the flat-th element of `sizes`. */
void kern_unflatten(uint64_t flat, uint32_t rank, const uint32_t *sizes, uint32_t *out_index);

/* `visit` with the index of each of elements [begin, end) of tensor t, in row-major order. */
void kern_each_element(const struct kern_call *call, uint32_t t, uint64_t begin, uint64_t end,
                       void (*visit)(const struct kern_call *call, const uint32_t *index));

/* An element's own bits: NaNs are preserved. */
void kern_copy_element(DML_TENSOR_DATA_TYPE type, void *to, int64_t to_offset, const void *from, int64_t from_offset);

/* To the next index in row-major order; false: back at the first. Dimensions of size 1 keep their index. */
bool kern_advance(uint32_t rank, const uint32_t *sizes, uint32_t *index);

/* Sizes of `view` split in two: outside and inside `axes`, 1 elsewhere. */
void kern_split_sizes(const struct kern_view *view, uint32_t axes, uint32_t *out_outer, uint32_t *out_inner);

#endif
