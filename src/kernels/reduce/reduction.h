/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels on groups of elements (those that differ in some axes only): reductions, softmax, normalisations.
 *
 * Each has two steps for a tile of groups: statistics per group (sum, extreme, ...), and the result of each element
 * with them. Results of other types or layouts than the loops write, and epilogues, are handled by the block
 * interpreter, a buffer at a time. So every type and layout is supported, and tiles stay in the cache between the
 * steps. */
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
    KERN_STAT_MAX_NAN, /* NaN wins over a number */
    KERN_STAT_MIN_NAN,
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
    /* The same, in the loops only: both as elements of X's type, with other strides. */
    KERN_REDUCTION_AFFINE_ALIKE,
    KERN_REDUCTION_AFFINE_ANY,
};

/* The last step over a dense run. x and y are FLOAT32 or FLOAT16; scale and shift may have no data. */
struct kern_reduction_finish {
    enum kern_reduction_end end;
    bool x_half, y_half;
    bool stream; /* y is stored non-temporally */
    const void *x;
    const void *ahead; /* as many bytes as X's, to be prefetched; may be NULL */
    void *y;
    struct kern_reduction_parameter a, b, c, scale,
        shift; /* a, b, c: equal layouts; a and c may be absent at the end */
};

/* Rows of X with one element of each of `count` groups. */
struct kern_reduction_rows {
    const void *const *x;
    const void *const *ahead; /* one row for each, to be prefetched; may be NULL */
    uint32_t rows, count;
    bool half;
};

/* Lines of FLOAT32 or FLOAT16 elements, `apart` elements from one to the next, and their transposed tile. */
struct kern_reduction_lines {
    const void *x;
    bool half;
    int64_t apart;
    uint32_t count, length, pitch; /* lines; elements of a line; the count rounded up to a multiple of 16 */
    float *tile;                   /* `length` rows of `pitch` elements */
};

/* Dense lines of softmax or normalisation, X and Y alike. */
struct kern_reduction_dense {
    const void *x;
    void *y;
    bool half; /* FLOAT16, else FLOAT32 */
    bool stream;
    int64_t x_apart, y_apart; /* elements from one line to the next */
    uint32_t count, length;   /* lines; elements of a line */
    float *powers;            /* room for a line */
    /* Normalisations: scale and shift, or NULL; scale is the same for all lines. */
    const void *scale, *shift;
    int64_t shift_apart; /* elements from one line's to the next's, 0: the same for all lines */
    bool scale_half, use_mean, use_variance;
    bool size; /* LP_NORM: divided by the root of the sum of squares or epsilon, whichever is greater */
    float epsilon;
    /* Reductions: the statistic of a line is divided, then (root) its square root taken. */
    enum kern_stat stat;
    bool y_half, root;
    float divisor;
};

/* Loops of one instruction set. `half`: x is FLOAT16, else FLOAT32. */
struct kern_reduction_isa {
    const struct kern_map_isa *map;
    /* The statistic of at most KERN_REDUCTION_BLOCK elements. `ahead`, here and below: the same number of bytes, or
     * NULL. */
    double (*row)(enum kern_stat stat, const void *x, bool half, uint32_t count, float center, const void *ahead);
    /* Whether there is an element beyond *best (or equal if `last`); then *best is the extreme and *out_place the
     * position of its first or last one. *best may initially be NaN. */
    bool (*place)(const void *x, bool half, uint32_t count, bool greatest, bool last, float *best, uint32_t *out_place);
    /* An approximate mean of a run, from few of its elements if it is long. */
    float (*sample)(const void *x, bool half, uint32_t count);
    /* out[] = e^(x - top); returns the sum. At most KERN_REDUCTION_BLOCK elements. */
    double (*exponentials)(float *out, const void *x, bool half, uint32_t count, float top, const void *ahead);
    void (*finish)(const struct kern_reduction_finish *finish, uint32_t count);
    /* For columns, which read and write whole vectors of each group's values. The rows are combined with acc[], which
     * is initially 0, for extremes -infinity; that of MIN is of -x. */
    void (*column)(enum kern_stat stat, float *acc, const struct kern_reduction_rows *rows, const float *center);
    /* The same for the largest element of each group (top[], initially -infinity) and the sum of e^(x - top) (initially
     * 0). */
    void (*powers)(float *top, double *sum, const struct kern_reduction_rows *rows);
    /* If a row has an element larger than best[] (of -x unless `greatest`), best[] becomes it and place[] the row's
     * number: rows are numbered from `first` on, by `step`. */
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
    /* The same of FLOAT32 rows of X and the same number of rows of G; a, b, c += the three. */
    void (*pair_columns)(float *a, float *b, float *c, const struct kern_reduction_rows *x, const float *const *g,
                         const float *center);
    /* Lines to a tile, whose columns beyond the count repeat the last line; and a tile to lines. */
    void (*lines_load)(const struct kern_reduction_lines *lines);
    void (*lines_store)(const struct kern_reduction_lines *lines);
    /* Return the number of lines before one with numbers too great for these loops, which is not written. */
    uint32_t (*softmax_lines)(const struct kern_reduction_dense *lines);
    uint32_t (*norm_lines)(const struct kern_reduction_dense *lines);
    /* Y is a dense row of the lines' results. */
    uint32_t (*reduce_lines)(const struct kern_reduction_dense *lines);
};

struct kern_reductions {
    const struct kern_call *call;
    const struct kern_reduction_isa *isa;
    struct kern_iterator outer; /* over the groups; views = all tensors of the op in its order */
    struct kern_iterator inner; /* within a group */
    struct kern_iterator alone; /* the same over X alone, in which more dimensions merge; rank 0: as `inner` */
    bool columns;               /* neighbouring elements of X belong to neighbouring groups */
    bool direct;                /* lines of results are written where they belong */
    bool stream;
    bool nan;    /* it wins in extremes and positions, see struct kern_reduce */
    bool cached; /* X and Y are one tile in the first cache */
    uint32_t tile;
    struct kern_reduction_scratch scratch[1];
};

/* Types that the loops read in place; bfloat16 uses buffers. */
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
/* sums[s * width + i] of group i: the sums of `pairs` for tensors 0 and 1. */
void kern_reductions_pairs(const struct kern_reductions *groups, uint64_t first, uint32_t width, const float *center,
                           double *sums);
/* Positions of the extremes, counted from the group's first element; exact ties go to the first or the last. */
void kern_reductions_position(const struct kern_reductions *groups, bool greatest, bool last, uint64_t first,
                              uint32_t width, uint32_t *out);
/* For each group of a tile in columns: the largest element and the sum of e^(x - largest), in one pass. */
void kern_reductions_powers(const struct kern_reductions *groups, uint64_t first, uint32_t width, float *top,
                            double *sum);

/* Elements [at, at + count) of a group in tensor t or, in columns, element `at` of `count` groups from this one on:
 * dense, in place if possible, else in a buffer. At most a block of them. */
const void *kern_reductions_load(const struct kern_reductions *groups, uint32_t t, uint64_t group, uint64_t at,
                                 uint32_t count, float *buffer, bool *out_half);
/* The address of element `at` of `group` in X if it is worth prefetching: dense, and not evicted before its use. Else
 * NULL. */
const void *kern_reductions_ahead(const struct kern_reductions *groups, uint64_t group, uint64_t at);

/* ---- shared by all reductions, including FLOAT64, integers and the references ---- */

extern const uint32_t kern_reduction_tensors[KERN_TENSORS_MAX]; /* 0, 1, ... */
uint32_t kern_reduction_axes(const struct kern_op *op);
void kern_reduction_set_axis(struct kern_op *op, uint32_t axis); /* this one, of kinds without sums of gradients */
bool kern_reduction_is_position(DML_REDUCE_FUNCTION function);
/* The transformation of a group's elements. */
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
/* Kernels compute several neighbouring lines at a time: where few are neighbours in X, the order of their results. */
void kern_reductions_order_groups(struct kern_reductions *groups);
/* Groups whose elements lie in another order than their results, such as those of a transposed image: statistics in the
 * order of X, results in that of Y if X's lines are short. */
void kern_reductions_order_elements(struct kern_reductions *groups);
/* Dense values, one for each of `width` groups, go to tensor t. */
void kern_reduction_store(const struct kern_call *call, const struct kern_iterator *outer, uint32_t t, uint64_t first,
                          uint32_t width, DML_TENSOR_DATA_TYPE from, const void *values);

/* Softmax's mode KERN_SOFTMAX_HARD for a tile of groups. */
void kern_reduction_hardmax_tile(const struct kern_reductions *groups, uint64_t first, uint32_t width);
void kern_reduction_float_run(const struct kern_call *call, const struct kern_reduction_isa *isa, uint64_t begin,
                              uint64_t end);
void kern_lrn_run(const struct kern_call *call, const struct kern_reduction_isa *isa, uint64_t begin, uint64_t end);

/* ---- integers ---- */

/* Sums and products in words of 4 or 8 bytes, of which the low bits are the result; extremes and positions of words
 * with flipped bits, so that the largest unsigned one is requested. */

enum kern_total {
    KERN_TOTAL_SUM,
    KERN_TOTAL_SIZE, /* sum of |x|, x signed */
    KERN_TOTAL_SQUARES,
    KERN_TOTAL_PRODUCT,
    KERN_TOTAL_MAX, /* largest x ^ flip */
};

/* Loops of one instruction set, [0] on words of 4 bytes, [1] of 8. */
struct kern_total_isa {
    const struct kern_map_isa *map;
    /* All elements of a run folded. */
    uint64_t (*row[2])(enum kern_total fold, const void *x, uint32_t count, uint64_t flip);
    /* The largest x ^ flip of a run of bytes. */
    uint8_t (*bytes)(const uint8_t *x, uint64_t count, uint8_t flip);
    /* Combines one element of each of `count` groups with acc[]. */
    void (*column[2])(enum kern_total fold, void *acc, const void *x, uint32_t count, uint64_t flip);
    /* position[] becomes `index` where x[] ^ flip exceeds best[], or equals it and the last one is requested. */
    void (*position[2])(void *best, uint32_t *position, const void *x, uint32_t index, bool last, uint32_t count,
                        uint64_t flip);
};

void kern_reduce_int_on(const struct kern_call *call, const struct kern_total_isa *isa, uint64_t begin, uint64_t end);

#endif
