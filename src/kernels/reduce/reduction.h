/* Kernels that look at groups of elements (those that differ in some axes only): reductions, softmax, normalisations.
 *
 * Each has two steps for a tile of groups: statistics per group (sum, extreme, ...), computed here, and an element-wise
 * program that takes them as inputs, run by the block interpreter. So every type and layout works, and tiles stay in
 * cache between the steps. */
#ifndef KERNELS_REDUCTION_H
#define KERNELS_REDUCTION_H

#include "kernels/map/map.h"

#define KERN_REDUCTION_TILE  2048 /* most groups of a tile */
#define KERN_REDUCTION_BLOCK 4096 /* most elements that are summed in FLOAT32 before going on in double */

_Static_assert(KERN_REDUCTION_TILE >= KERN_MAP_BLOCK, "buffers of struct kern_reduction_scratch take both");

/* Pieces of the worker's scratch memory, as long as the op's groups need them. */
struct kern_reduction_scratch {
    uint32_t tile; /* groups of a tile, at most: elements of what follows */
    uint32_t block_length;
    double *sum;
    float *a, *b, *c; /* inputs of the element-wise program */
    float *acc;
    uint32_t *position;
    float *block;  /* block_length elements */
    float *block2; /* takes blocks of maps and rows of tiles, */
    uint64_t *raw; /* likewise */
    char *map;     /* scratch of the element-wise program */
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
    /* The statistic of one run of at most KERN_REDUCTION_BLOCK elements. `ahead`, here and below: as many bytes as X's,
     * wanted soon; may be NULL. */
    double (*row)(enum kern_stat stat, const void *x, bool half, uint32_t count, float center, const void *ahead);
    /* Is there an element beyond *best (as good if `last`)? Then *best is the extreme and *out_place where its first or
     * last one stands. *best may begin as NaN. */
    bool (*place)(const void *x, bool half, uint32_t count, bool greatest, bool last, float *best, uint32_t *out_place);
    /* Something near the mean of a run, from few of its elements where it is long. */
    float (*sample)(const void *x, bool half, uint32_t count);
    /* out[] = e^(x - top); returns the sum. At most KERN_REDUCTION_BLOCK elements. */
    double (*exponentials)(float *out, const void *x, bool half, uint32_t count, float top, const void *ahead);
    void (*finish)(const struct kern_reduction_finish *finish, uint32_t count);
    /* After the last `finish` that streams. */
    void (*stream_end)(void);
    /* The rows join acc[], which begins as 0, for extremes as -infinity; that of MIN is of -x. */
    void (*column)(enum kern_stat stat, float *acc, const struct kern_reduction_rows *rows, const float *center);
    /* The same for the greatest element of each group, which top[] becomes, and the sum of e^(x - top). They begin as
     * -infinity and 0. */
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
    /* The same for one element of each of `count` groups; a, b, c += the three. */
    void (*pair_columns)(float *a, float *b, float *c, const float *x, const float *g, const float *center,
                         uint32_t count);
};
extern const struct kern_reduction_isa kern_reduction_isa_portable, kern_reduction_isa_avx2, kern_reduction_isa_avx512,
    kern_reduction_isa_neon;

struct kern_reductions {
    const struct kern_call *call;
    const struct kern_reduction_isa *isa;
    struct kern_iterator outer; /* over the groups; views = all tensors of the op in its order */
    struct kern_iterator inner; /* within a group */
    bool columns;               /* neighbouring elements of X belong to neighbouring groups */
    bool direct;                /* kern_reductions_finish_tile can be used */
    bool staged;                /* kern_reductions_finish_epilogue can be used */
    bool stream;
    uint32_t tile;
    struct kern_reduction_scratch scratch[1];
};

/* X (tensor 0) is FLOAT32, FLOAT16 or bfloat16. row_major: elements of a group are met in the order of their indices.
 */
void kern_reductions_init(struct kern_reductions *groups, const struct kern_call *call,
                          const struct kern_reduction_isa *isa, uint32_t axes, bool row_major);
void kern_reductions_plan(const struct kern_op *op, uint32_t axes, uint64_t map_bytes, struct kern_work *out);

/* How many groups from `first` on (before `end`) make the next tile. */
uint32_t kern_reductions_width(const struct kern_reductions *groups, uint64_t first, uint64_t end);

/* out[] = statistic of each of `width` groups; center[] for SQUARES and EXP, else NULL. */
void kern_reductions_stat(const struct kern_reductions *groups, enum kern_stat stat, uint64_t first, uint32_t width,
                          const float *center, double *out);
/* Mean and sum of (x - mean)^2 of each group, in one pass over memory. */
void kern_reductions_moments(const struct kern_reductions *groups, uint64_t first, uint32_t width, double *mean,
                             double *squares);
/* sums[3 * i ...] of group i: what `pairs` adds up for tensors 0 and 1. */
void kern_reductions_pairs(const struct kern_reductions *groups, uint64_t first, uint32_t width, const float *center,
                           double *sums);
/* Stores values[i * step] of group first + i in tensor t. */
void kern_reductions_store(const struct kern_reductions *groups, uint32_t t, uint64_t first, uint32_t width,
                           const double *values, uint32_t step);
/* Positions of the extremes, counted from the group's first element; exact ties go to the first or the last. */
void kern_reductions_position(const struct kern_reductions *groups, bool greatest, bool last, uint64_t first,
                              uint32_t width, uint32_t *out);

#define KERN_REDUCTION_EXTRA 3

/* Runs `map` over the tile. Its inputs are X, scratch->a, b and c (one value per group), the op's further inputs; its
 * output is the op's output 0. */
void kern_reductions_apply(const struct kern_reductions *groups, const struct kern_map *map, uint64_t first,
                           uint32_t width);

/* The same without the interpreter: a, b, c = scratch->a, b, c. The op's further inputs are scale and shift, as these
 * flags say, and there may be some only where groups->direct. No epilogue is applied. */
void kern_reductions_finish_tile(const struct kern_reductions *groups, enum kern_reduction_end end, bool scale,
                                 bool shift, uint64_t first, uint32_t width);
/* AFFINE with the epilogue behind it, which the block interpreter runs on what is finished. */
void kern_reductions_finish_epilogue(const struct kern_reductions *groups, bool scale, bool shift, uint64_t first,
                                     uint32_t width);
/* Elements [at, at + *count) of a group in tensor t, dense, perhaps in a buffer; shortens *count. */
const void *kern_reductions_block(const struct kern_reductions *groups, uint32_t t, int64_t offset, uint64_t at,
                                  uint32_t *count, float *buffer, bool *out_half);
/* Where element `at` of `group` in X lies if it is worth prefetching: the elements are dense, and still there when they
 * are wanted. Else NULL. */
const void *kern_reductions_ahead(const struct kern_reductions *groups, uint64_t group, uint64_t at);
/* One element of each of `width` neighbouring groups from element `offset` of tensor t on, as FLOAT32. */
const float *kern_reductions_column(const struct kern_reductions *groups, uint32_t t, int64_t offset, uint32_t width,
                                    float *buffer);
/* For each group of a tile in columns: the greatest element and the sum of e^(x - greatest), in one pass. */
void kern_reductions_powers(const struct kern_reductions *groups, uint64_t first, uint32_t width, float *top,
                            double *sum);

/* Appends an instruction on FLOAT32; returns its register. */
uint32_t kern_reductions_step(struct kern_map *map, uint32_t inputs, uint8_t code, uint32_t x, uint32_t y, uint32_t z);
/* Appends op->epilogue, whose register 0 is `result`, sets the store; `inputs` counts X, a, b, c and the further
 * inputs. */
void kern_reductions_finish(struct kern_map *map, const struct kern_op *op, uint32_t inputs, uint32_t result);

bool kern_reductions_accept(const struct kern_op *op);

void kern_reduce_run(const struct kern_call *call, const struct kern_reduction_isa *isa, uint64_t begin, uint64_t end);
void kern_softmax_run(const struct kern_call *call, const struct kern_reduction_isa *isa, uint64_t begin, uint64_t end);
void kern_norm_run(const struct kern_call *call, const struct kern_reduction_isa *isa, uint64_t begin, uint64_t end);
void kern_moments_run(const struct kern_call *call, const struct kern_reduction_isa *isa, uint64_t begin, uint64_t end);
void kern_grad_sums_run(const struct kern_call *call, const struct kern_reduction_isa *isa, uint64_t begin,
                        uint64_t end);
void kern_lrn_run(const struct kern_call *call, const struct kern_reduction_isa *isa, uint64_t begin, uint64_t end);
void kern_lp_norm_run(const struct kern_call *call, const struct kern_reduction_isa *isa, uint64_t begin, uint64_t end);

#endif
