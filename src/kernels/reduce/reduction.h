/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that look at groups of elements (those that differ in some axes only): reductions, softmax, normalisations.
 *
 * Each has two steps for a tile of groups: statistics per group (sum, extreme, ...), and what becomes of each element
 * with them. Results of other types or layouts than the loops write, and an epilogue, are left to the block
 * interpreter, a buffer at a time. So every type and layout works, and tiles stay in cache between the steps. */
#ifndef KERNELS_REDUCTION_H
#define KERNELS_REDUCTION_H

#include "kernels/map/map.h"

#include <math.h>

#define KERN_REDUCTION_TILE  2048 /* most groups of a tile */
#define KERN_REDUCTION_BLOCK 4096 /* most elements that are summed in FLOAT32 before going on in double */

/* Pieces of the worker's scratch memory, as long as the op's groups need. Whole vectors fit behind each. */
struct kern_reduction_scratch {
    double *sum; /* one element for each group of a tile, here */
    float *a, *b, *c;
    float *acc;
    uint32_t *position;
    uint32_t block_length; /* elements of a block: at most KERN_REDUCTION_BLOCK */
    float *block, *x, *further[2];
    uint64_t *raw;
    char *map; /* of the block interpreter */
};

enum kern_stat {
    KERN_STAT_SUM,     /* of x */
    KERN_STAT_SIZE,    /* of |x| */
    KERN_STAT_SQUARES, /* of (x - center)^2 */
    KERN_STAT_EXP,     /* of e^(x - center) */
    KERN_STAT_MAX,     /* a number wins over NaN */
    KERN_STAT_MIN,
    KERN_STAT_PRODUCT, /* of rows only */
};

/* One value for all elements, or one for each: dense FLOAT32 or FLOAT16. */
enum kern_reduction_step { KERN_REDUCTION_ONE, KERN_REDUCTION_EACH, KERN_REDUCTION_EACH_HALF };
struct kern_reduction_parameter {
    const void *data;
    enum kern_reduction_step step;
};

enum kern_reduction_end {
    KERN_REDUCTION_SCALED,  /* x * b */
    KERN_REDUCTION_DIVIDED, /* x / b */
    KERN_REDUCTION_POWERS,  /* e^(x - a) * b, for x <= a */
    KERN_REDUCTION_LESS,    /* x - a - b */
    KERN_REDUCTION_AFFINE,  /* (x - a) * b + c [* scale] [+ shift] */
    /* The same, in the loops only: both as elements of X's type, in any other way. */
    KERN_REDUCTION_AFFINE_ALIKE,
    KERN_REDUCTION_AFFINE_ANY,
};

/* The last step over a dense run. x and y are FLOAT32 or FLOAT16; scale and shift may have no data. */
struct kern_reduction_finish {
    enum kern_reduction_end end;
    bool x_half, y_half;
    bool stream; /* y is not wanted in the caches */
    const void *x;
    const void *ahead; /* as many bytes as X's, wanted soon; may be NULL */
    void *y;
    struct kern_reduction_parameter a, b, c, scale, shift; /* a, b, c: all alike; the end needs not have a and c */
};

/* Rows of X that hold one element of each of `count` groups. */
struct kern_reduction_rows {
    const void *const *x;
    const void *const *ahead; /* one row for each, wanted soon; may be NULL */
    uint32_t rows, count;
    bool half;
};

/* Loops of one instruction set. `half`: x is FLOAT16, else FLOAT32. */
struct kern_reduction_isa {
    const struct kern_map_isa *map;
    /* The statistic of at most KERN_REDUCTION_BLOCK elements. `ahead`, here and below: as many bytes, or NULL. */
    double (*row)(enum kern_stat stat, const void *x, bool half, uint32_t count, float center, const void *ahead);
    /* Is there an element beyond *best (as good if `last`)? Then *best is the extreme and *out_place where its first or
     * last one stands. *best may begin as NaN. */
    bool (*place)(const void *x, bool half, uint32_t count, bool greatest, bool last, float *best, uint32_t *out_place);
    /* Something near the mean of a run, from few of its elements where it is long. */
    float (*sample)(const void *x, bool half, uint32_t count);
    /* out[] = e^(x - top); returns the sum. At most KERN_REDUCTION_BLOCK elements. */
    double (*exponentials)(float *out, const void *x, bool half, uint32_t count, float top, const void *ahead);
    void (*finish)(const struct kern_reduction_finish *finish, uint32_t count);
    /* Of columns, which read and write whole vectors of what is kept for each group.
     * The rows join acc[], which begins as 0, for extremes as -infinity; that of MIN is of -x. */
    void (*column)(enum kern_stat stat, float *acc, const struct kern_reduction_rows *rows, const float *center);
    /* The same for the greatest element of each group (top[], first -infinity) and the sum of e^(x - top) (first 0). */
    void (*powers)(float *top, double *sum, const struct kern_reduction_rows *rows);
    /* Where a row has an element greater than best[] (of -x unless `greatest`), best[] becomes it and place[] the row's
     * number: they are numbered from `first` on, by `step`. */
    void (*column_place)(float *best, uint32_t *place, const struct kern_reduction_rows *rows, bool greatest,
                         uint32_t first, int32_t step);
    /* out[] = x[] * (bias + alpha * squares[])^-beta */
    void (*respond)(float *out, const float *x, const float *squares, uint32_t count, float bias, float alpha,
                    float beta);
    /* Sums of one run of at most KERN_REDUCTION_BLOCK elements: of x - center and (x - center)^2. */
    void (*deviations)(const void *x, bool half, uint32_t count, float center, double *out_sum, double *out_squares);
    /* The same of rows, added. */
    void (*deviations_columns)(float *sum, float *squares, const struct kern_reduction_rows *rows, const float *center);
    /* Sums of one run of at most KERN_REDUCTION_BLOCK elements: out[] += g, g * (x - center), x - center. */
    void (*pairs)(const float *x, const float *g, uint32_t count, float center, double *out);
    /* The same of FLOAT32 rows of X and as many of G; a, b, c += the three. */
    void (*pair_columns)(float *a, float *b, float *c, const struct kern_reduction_rows *x, const float *const *g,
                         const float *center);
};

struct kern_reductions {
    const struct kern_call *call;
    const struct kern_reduction_isa *isa;
    struct kern_iterator outer; /* over the groups; views = all tensors of the op in its order */
    struct kern_iterator inner; /* within a group */
    bool columns;               /* neighbouring elements of X belong to neighbouring groups */
    bool direct;                /* lines of results are written where they belong */
    bool stream;
    bool nan; /* it wins in extremes and positions, see struct kern_reduce */
    uint32_t tile;
    struct kern_reduction_scratch scratch[1];
};

/* What the loops read where it lies; bfloat16 goes through buffers. */
static inline bool kern_reduction_in_place(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_FLOAT32 || type == DML_TENSOR_DATA_TYPE_FLOAT16;
}

/* out[] = statistic of each of `width` groups; center[] for SQUARES and EXP, else NULL. */
void kern_reductions_stat(const struct kern_reductions *groups, enum kern_stat stat, uint64_t first, uint32_t width,
                          const float *center, double *out);
/* Mean and sum of (x - mean)^2 of each group, in one pass over memory. */
void kern_reductions_moments(const struct kern_reductions *groups, uint64_t first, uint32_t width, double *mean,
                             double *squares);
/* sums[s * width + i] of group i: what `pairs` adds up for tensors 0 and 1. */
void kern_reductions_pairs(const struct kern_reductions *groups, uint64_t first, uint32_t width, const float *center,
                           double *sums);
/* Positions of the extremes, counted from the group's first element; exact ties go to the first or the last. */
void kern_reductions_position(const struct kern_reductions *groups, bool greatest, bool last, uint64_t first,
                              uint32_t width, uint32_t *out);
/* For each group of a tile in columns: the greatest element and the sum of e^(x - greatest), in one pass. */
void kern_reductions_powers(const struct kern_reductions *groups, uint64_t first, uint32_t width, float *top,
                            double *sum);

/* Elements [at, at + count) of a group in tensor t or, in columns, element `at` of `count` groups from this one on:
 * dense, where they lie if they can be used there, else in a buffer. At most a block of them. */
const void *kern_reductions_load(const struct kern_reductions *groups, uint32_t t, uint64_t group, uint64_t at,
                                 uint32_t count, float *buffer, bool *out_half);
/* Where element `at` of `group` in X lies if it is worth prefetching: dense, and still there when wanted. Else NULL. */
const void *kern_reductions_ahead(const struct kern_reductions *groups, uint64_t group, uint64_t at);

/* ---- what all reductions share: those of FLOAT64, of integers and the references, too ---- */

extern const uint32_t kern_reduction_tensors[KERN_TENSORS_MAX]; /* 0, 1, ... */
uint32_t kern_reduction_axes(const struct kern_op *op);
bool kern_reduction_is_position(DML_REDUCE_FUNCTION function);
/* What is made of a group's elements first. */
enum kern_stat kern_reduction_stat(DML_REDUCE_FUNCTION function);
/* The result for a sum of `count` elements, or of their squares. */
static inline double kern_reduction_finished(DML_REDUCE_FUNCTION function, double value, double count)
{
    switch (function) {
    case DML_REDUCE_FUNCTION_AVERAGE:
        return value / count;
    case DML_REDUCE_FUNCTION_L2:
        return sqrt(value);
    case DML_REDUCE_FUNCTION_LOG_SUM:
        return log(value);
    default:
        return value;
    }
}

/* The groups of X's FLOAT32, FLOAT16 and integer elements as rows or columns. */
void kern_reduction_iterators(const struct kern_op *op, bool row_major, struct kern_iterator *outer,
                              struct kern_iterator *inner);
bool kern_reduction_in_columns(const struct kern_iterator *outer, const struct kern_iterator *inner);
/* Dense values, one for each of `width` groups, go to tensor t. */
void kern_reduction_store(const struct kern_call *call, const struct kern_iterator *outer, uint32_t t, uint64_t first,
                          uint32_t width, DML_TENSOR_DATA_TYPE from, const void *values);

void kern_reduction_float_run(const struct kern_call *call, const struct kern_reduction_isa *isa, uint64_t begin,
                              uint64_t end);
void kern_lrn_run(const struct kern_call *call, const struct kern_reduction_isa *isa, uint64_t begin, uint64_t end);

/* ---- integers ---- */

/* Sums and products in words of 4 or 8 bytes, of which the low bits are the result; extremes and positions of words
 * whose bits were flipped so that the greatest unsigned one is wanted. */

enum kern_total {
    KERN_TOTAL_SUM,
    KERN_TOTAL_SIZE, /* sum of |x|, x signed */
    KERN_TOTAL_SQUARES,
    KERN_TOTAL_PRODUCT,
    KERN_TOTAL_MAX, /* greatest x ^ flip */
};

/* Loops of one instruction set, [0] on words of 4 bytes, [1] of 8. */
struct kern_total_isa {
    const struct kern_map_isa *map;
    /* All elements of a run folded. */
    uint64_t (*row[2])(enum kern_total fold, const void *x, uint32_t count, uint64_t flip);
    /* The greatest x ^ flip of a run of bytes. */
    uint8_t (*bytes)(const uint8_t *x, uint64_t count, uint8_t flip);
    /* One element of each of `count` groups joins acc[]. */
    void (*column[2])(enum kern_total fold, void *acc, const void *x, uint32_t count, uint64_t flip);
    /* position[] gets `index` where x[] ^ flip exceeds best[], or equals it and the last one is wanted. */
    void (*position[2])(void *best, uint32_t *position, const void *x, uint32_t index, bool last, uint32_t count,
                        uint64_t flip);
};

void kern_reduce_int_on(const struct kern_call *call, const struct kern_total_isa *isa, uint64_t begin, uint64_t end);

#endif
