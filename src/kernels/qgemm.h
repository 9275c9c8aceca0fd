/* Few rows times weights of 8 or 4 bits that stay as they are in memory: bound by reading the weights once. */
#ifndef KERNELS_QGEMM_H
#define KERNELS_QGEMM_H

#include "kernels/dense.h"

#define QGEMM_ROWS  16 /* most rows of X */
#define QGEMM_TILE  4  /* at once */
#define QGEMM_FEW   2  /* with digits */
#define QGEMM_CHUNK 64 /* panels between two ways out */

struct qgemm_shape {
    uint32_t rows, k, n, panels, groups, block, depth; /* depth: rows of a group, rounded up */
    bool nibbles;
    uint64_t group_bytes;                    /* of codes */
    uint64_t a_floats, a, epilogue, scratch; /* of a row of X; places in the worker's scratch, which begins with sums */
};

struct qgemm_group_digits {
    int32_t minus[4]; /* the sum of each digit, negated */
    int32_t begin[4]; /* the same, times what makes codes unsigned */
    float factor;     /* of the last digit */
};

#define QGEMM_DIGITS_BLOCK 65536 /* most rows of a group whose sums of digits times bytes fit INT32 */

/* Behind the rest of the scratch: a row's digits, then its groups. */
static inline uint64_t qgemm_digits_bytes(const struct qgemm_shape *shape)
{
    return shape->rows * (shape->a_floats * 4 + base_align_up(shape->groups * sizeof(struct qgemm_group_digits), 64));
}

/* false: the op is not as kern.h says. */
bool qgemm_shape_init(const struct kern_op *op, struct qgemm_shape *out);

#endif
