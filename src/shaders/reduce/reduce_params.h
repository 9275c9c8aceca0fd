/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of the shaders that reduce or normalise. Included by C and GLSL (core/block.h). */
#ifndef SHADERS_REDUCE_PARAMS_H
#define SHADERS_REDUCE_PARAMS_H

/* Lines (lines.glsl): the elements of X that share their coordinates in the first `outer` dimensions. */
struct line_params {
    uint lines, size, outer; /* size: elements of a line */
    uint count;              /* elements of a whole line, also if `size` is the number of its parts */
    uint lanes; /* invocations of a line, a power of 2 up to 256; a workgroup processes 256 / lanes lines at once */
    uint
        columns; /* not 0: neighbours among invocations have neighbouring lines, else neighbouring elements of a line */
    uint parts;  /* each line is the work of this many workgroups, a part of it each (parts.glsl) */
    uint partials; /* the number of parts of a line for which the first dispatch stores partial results in scratch
                      memory */
    uint finish;   /* 1: the second dispatch */
    uint mode;     /* DML_REDUCE_FUNCTION, enum kern_softmax_mode, p of LP_NORM; NORM: flags below */
    uint last;     /* REDUCE: struct kern_reduce */
    uint nan;      /* the same */
    float epsilon;
};

/* DML_REDUCE_FUNCTION, in its order */
#define REDUCE_ARGMAX      0
#define REDUCE_ARGMIN      1
#define REDUCE_AVERAGE     2
#define REDUCE_L1          3
#define REDUCE_L2          4
#define REDUCE_LOG_SUM     5
#define REDUCE_LOG_SUM_EXP 6
#define REDUCE_MAX         7
#define REDUCE_MIN         8
#define REDUCE_MULTIPLY    9
#define REDUCE_SUM         10
#define REDUCE_SUM_SQUARE  11

/* enum kern_softmax_mode */
#define SOFTMAX_PLAIN 0
#define SOFTMAX_LOG   1

/* NORM */
#define NORM_MEAN     1
#define NORM_VARIANCE 2
#define NORM_SCALE    4
#define NORM_BIAS     8
#define NORM_MOMENTS  16 /* KERN_MOMENTS */
#define NORM_FIXED    32 /* norm_rows: scale and bias are those of the column, in all rows */

/* LP_NORM: p, and */
#define LP_NORM_NAN 0x80000000u /* a norm that is NaN stays */

/* norm_rows.comp: what its dispatch computes */
#define NORM_SUMS    1 /* the sums of tiles, which go to scratch memory unless the results follow */
#define NORM_RESULTS 2

/* X as rows of contiguous columns: dimensions first to `outer` - 1 are apart, those up to the last are rows, the last
 * is columns. `width` adjacent columns of all rows are a group, which has one mean and one variance. A workgroup
 * processes a tile: some rows of `slab` columns. */
struct norm_rows_params {
    uint outer, rows, columns;
    uint width;
    uint slab, slabs; /* `slabs` cover the columns */
    uint parts;       /* tiles that cover the rows */
    uint part;        /* rows of a tile, except for the last one */
    uint folds;       /* of the rows, every one of these many... */
    uint missing;     /* ...has this many columns less */
    uint chunks;      /* loads of a row of a tile */
    uint at_once;     /* rows that a workgroup loads at once */
    uint lanes;       /* invocations that add up a group, a power of 2 */
    float epsilon;
};

/* The window is over dimensions first to last. */
struct lrn_params {
    uint first, last, local_size;
    float alpha, beta, bias;
};

#endif
