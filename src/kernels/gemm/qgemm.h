/* SPDX-License-Identifier: Apache-2.0 */
/* Products with weights of 8 or 4 bits that stay as they are in memory. With few rows reading them once is what counts;
 * with many, parts become floats in the cache, and the arithmetic counts. */
#ifndef KERNELS_QGEMM_H
#define KERNELS_QGEMM_H

#include "kernels/core/dense.h"

#define QGEMM_ROWS  32 /* most rows of X */
#define QGEMM_FEW   2  /* with slices */
#define QGEMM_CHUNK 64 /* panels between two epilogues */

struct qgemm_shape {
    uint32_t rows, k, n, panels, groups, block, depth; /* depth: rows of a group, rounded up */
    bool nibbles;
    uint64_t group_bytes;                    /* of codes */
    uint64_t a_floats, a, epilogue, scratch; /* of a row of X; places in the worker's scratch, which begins with sums */
};

struct qgemm_group_slices {
    int32_t minus[4]; /* the sum of each slice, negated */
    int32_t begin[4]; /* the same, times what makes codes unsigned */
    float factor;     /* of the last slice */
};

#define QGEMM_SLICES_BLOCK 65536 /* most rows of a group whose sums of slices times bytes fit INT32 */

/* Behind the rest of the scratch: a row's slices, then its groups. */
static inline uint64_t qgemm_slices_bytes(const struct qgemm_shape *shape)
{
    return shape->rows * (shape->a_floats * 4 + base_align_up(shape->groups * sizeof(struct qgemm_group_slices), 64));
}

/* Many rows: what a unit, a block of rows and a few panels, has in scratch, which begins with pointers to rows of X. */
#define QGEMM_MANY_ROWS   128                    /* most rows of X at once */
#define QGEMM_MANY_PANELS 3                      /* at once */
#define QGEMM_MANY_DEPTH  384                    /* of a part that stays in the second-level cache, next to that of X */
#define QGEMM_MANY_PART   (QGEMM_MANY_DEPTH + 8) /* its rows: the last group may be written up to a multiple of 8 */

struct qgemm_many_shape {
    uint32_t blocks, block_rows, units, depth; /* units: of a block of rows */
    bool direct;                               /* X is read where it lies */
    uint64_t part, sums, epilogue, a, bytes;   /* a: X as floats, where it is something else */
};

void qgemm_many_shape_init(const struct kern_op *op, const struct qgemm_shape *shape, struct qgemm_many_shape *out);

/* Where half precision is allowed: a part of four panels becomes packs of BFLOAT16 in the first-level cache, which rows
 * of AMX's tiles meet. Groups follow one another in a row of A, each with its zeros behind. */
#define QGEMM_AMX_ROWS   256 /* most rows of X at once */
#define QGEMM_AMX_LEAST  9   /* rows that pay */
#define QGEMM_AMX_BYTES  32  /* likewise, where X may be bytes */
#define QGEMM_AMX_PANELS 4
#define QGEMM_AMX_DEPTH  256 /* of a part */

struct qgemm_amx_shape {
    uint32_t blocks, block_rows, units, depth; /* units: of a block of rows; depth: of a row of A, whole tiles */
    uint32_t step; /* from row to row: an odd number of cache lines, so that those of a tile are in different sets */
    uint64_t a, part, sums, line, epilogue, bytes; /* places in the worker's scratch */
};

void qgemm_amx_shape_init(const struct kern_op *op, const struct qgemm_shape *shape, struct qgemm_amx_shape *out);

/* As accurate as FLOAT32: three tiles of A for each, which all threads make and share, and packs of codes. Such a step
 * is one unit, whose run() shares out the work itself: a block of rows becomes slices, then its parts meet the codes.
 */
#define QGEMM_SLICES_ROWS    256 /* of a block, at most */
#define QGEMM_SLICES_DEPTH   128 /* of a part */
#define QGEMM_SLICES_LEAST   12  /* rows that pay */
#define QGEMM_SLICES_COLUMNS 64  /* that are expanded side by side */
#define QGEMM_SLICES_WIDE    4   /* times as many, that a part of X meets at most */

struct qgemm_slices_shape {
    uint32_t blocks, block_rows;
    uint32_t wide, columns;             /* of a unit */
    uint32_t units, parts, part_rows;   /* units of a block: of all columns, and for each parts of its rows */
    uint32_t group, depth;              /* rows of a group, whole tiles, and of all */
    uint64_t row_tile;                  /* elements of a row of tiles of A, which lie one after the other */
    uint64_t a, factors, worker, bytes; /* places in the step's scratch, which ends with those of workers */
    uint64_t part, tiles, scales, sums, line, epilogue, worker_bytes; /* places there */
};

void qgemm_slices_shape_init(const struct kern_op *op, const struct qgemm_shape *shape, uint32_t threads,
                             struct qgemm_slices_shape *out);

/* false: the op is not as kernels/core/ops.h says. */
bool qgemm_shape_init(const struct kern_op *op, struct qgemm_shape *out);

#endif
