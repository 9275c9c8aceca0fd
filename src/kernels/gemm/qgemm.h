/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM with 8- or 4-bit weights that stay in their memory format. With few rows, reading them once dominates; with
 * many, parts are converted to floats in the cache, and the arithmetic dominates. */
#ifndef KERNELS_QGEMM_H
#define KERNELS_QGEMM_H

#include "kernels/core/dense.h"

#define QGEMM_ROWS  32 /* maximum rows of X */
#define QGEMM_FEW   2  /* with slices */
#define QGEMM_CHUNK 64 /* panels between two epilogues */

struct qgemm_shape {
    uint32_t rows, k, n, panels, groups, block, depth; /* depth: rows of a group, rounded up */
    bool nibbles;
    uint64_t group_bytes; /* of codes */
    uint64_t a_floats, a, epilogue,
        scratch; /* of a row of X; offsets in the worker's scratch, which starts with sums */
};

struct qgemm_group_slices {
    int32_t minus[4]; /* the sum of each slice, negated */
    int32_t begin[4]; /* the same, times the offset that makes codes unsigned */
    float factor;     /* of the last slice */
};

#define QGEMM_SLICES_BLOCK 65536 /* maximum rows of a group for which sums of slices times bytes fit INT32 */

/* After the rest of the scratch: a row's slices, then its groups. */
static inline uint64_t qgemm_slices_bytes(const struct qgemm_shape *shape)
{
    return shape->rows * (shape->a_floats * 4 + base_align_up(shape->groups * sizeof(struct qgemm_group_slices), 64));
}

/* Many rows: the scratch of a unit, a block of rows and a few panels, which starts with pointers to rows of X. */
#define QGEMM_MANY_ROWS   128                    /* maximum rows of X at once */
#define QGEMM_MANY_PANELS 3                      /* at once */
#define QGEMM_MANY_DEPTH  384                    /* of a part that stays in the second-level cache, next to that of X */
#define QGEMM_MANY_PART   (QGEMM_MANY_DEPTH + 8) /* its rows: the last group may be written up to a multiple of 8 */

struct qgemm_many_shape {
    uint32_t blocks, block_rows, units, depth; /* units: of a block of rows */
    bool direct;                               /* X is read in place */
    uint64_t part, sums, epilogue, a, bytes;   /* a: X as floats, if it has another type */
};

void qgemm_many_shape_init(const struct kern_op *op, const struct qgemm_shape *shape, struct qgemm_many_shape *out);

/* If half precision is allowed: a part of four panels is converted to packs of BFLOAT16 in the first-level cache, and
 * multiplied with rows of AMX tiles. Groups are consecutive in a row of A, each padded with zeros. */
#define QGEMM_AMX_ROWS   256 /* maximum rows of X at once */
#define QGEMM_AMX_LEAST  9   /* minimum rows */
#define QGEMM_AMX_BYTES  32  /* likewise, if X may be rounded to 8 bits */
#define QGEMM_AMX_PANELS 4
#define QGEMM_AMX_DEPTH  256 /* of a part */

struct qgemm_amx_shape {
    uint32_t blocks, block_rows, units, depth; /* units: of a block of rows; depth: of a row of A, whole tiles */
    uint32_t step; /* from row to row: an odd number of cache lines, so that those of a tile are in different sets */
    uint64_t a, part, sums, line, epilogue, bytes; /* offsets in the worker's scratch */
};

void qgemm_amx_shape_init(const struct kern_op *op, const struct qgemm_shape *shape, struct qgemm_amx_shape *out);

/* In FLOAT32's accuracy: three tiles of A for each, which all threads compute and share, and packs of codes. Such a
 * step is one unit, whose run() distributes the work itself: a block of rows is converted to slices, then its parts are
 * multiplied with the codes.
 */
#define QGEMM_SLICES_ROWS    256 /* of a block, at most */
#define QGEMM_SLICES_DEPTH   128 /* of a part */
#define QGEMM_SLICES_LEAST   12  /* minimum rows */
#define QGEMM_SLICES_COLUMNS 64  /* that are expanded side by side */
#define QGEMM_SLICES_WIDE    4   /* maximum multiple that a part of X is multiplied with */

struct qgemm_slices_shape {
    uint32_t blocks, block_rows;
    uint32_t wide, columns;             /* of a unit */
    uint32_t units, parts, part_rows;   /* units of a block: of all columns, and for each parts of its rows */
    uint32_t group, depth;              /* rows of a group, whole tiles, and of all */
    uint64_t row_tile;                  /* elements of a row of tiles of A, which are consecutive */
    uint64_t a, factors, worker, bytes; /* offsets in the step's scratch, which ends with those of workers */
    uint64_t part, tiles, scales, sums, line, epilogue, worker_bytes; /* offsets there */
};

void qgemm_slices_shape_init(const struct kern_op *op, const struct qgemm_shape *shape, uint32_t threads,
                             struct qgemm_slices_shape *out);

/* false: the op does not conform to kernels/core/ops.h. */
bool qgemm_shape_init(const struct kern_op *op, struct qgemm_shape *out);

#endif
