/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels of resampling, and those of FOLD and UNFOLD. */
#ifndef KERNELS_RESAMPLE_H
#define KERNELS_RESAMPLE_H

#include "kernels/core/dense.h"

/* Source of one output coordinate: element i0 with weight 1 - w, element i1 with weight w (nearest: w = 0). */
struct resample_tap {
    int64_t i0, i1;
    float w;
};

/* The coordinate rule along dimension d: the position that output `out` of the forward op reads. */
struct resample_tap resample_tap(const struct kern_op *op, uint32_t d, uint32_t out);

/* ---- row by row in memory order, with the positions along the row looked up in a table ---- */

/* The dimensions in the output's memory order, and how the innermost one is treated. */
struct resample_plan {
    struct kern_view x, y;
    uint32_t order[KERN_RANK_MAX];
    uint32_t inner;   /* the innermost dimension: of Y's rank - 1, or one more if two are merged */
    uint32_t in, out; /* elements of a row: sizes of the inner dimensions */
    uint32_t group; /* adjacent elements that move together: the size of the last dimension if two are merged, else 1 */
    bool same;      /* rows are not resampled */
};

/* Rows that grow are first resampled along themselves and kept for the following outputs: several use the same. */
#define RESAMPLE_KEPT 4
DENSE_INLINE bool resample_keeps(const struct resample_plan *plan)
{
    return !plan->same && plan->out >= plan->in;
}

void resample_plan_init(const struct kern_op *op, struct resample_plan *out);

/* Rows: line += weight * row; line = a * (1 - w) + b * w. */
static inline void resample_add(float *restrict line, const float *restrict row, float weight, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        line[i] += weight * row[i];
}

static inline void resample_mix(float *restrict line, const float *restrict a, const float *restrict b, float w,
                                uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        line[i] = a[i] * (1 - w) + b[i] * w;
}

/* Repeats by whole factors. */
struct move_isa;
void resample_repeat_run(const struct kern_call *call, const struct move_isa *isa, uint64_t begin, uint64_t end);

/* ---- outputs with any number of inputs: antialiased, and the gradient of every kind ---- */

/* Along each dimension an output coordinate uses a run of adjacent inputs, each with a weight. */

struct resample_list {
    uint32_t first, count; /* inputs */
    uint32_t weights;      /* start of its weights */
};

struct resample_table {
    struct resample_list *lists; /* for each output coordinate */
    float *weights;
};

/* Dimension d of the op. Bytes are a multiple of 8. */
uint64_t resample_table_bytes(const struct kern_op *op, uint32_t d);
void resample_table_init(const struct kern_op *op, uint32_t d, void *memory, struct resample_table *out);

/* Kernels without tables reject such ops. */
DENSE_INLINE bool resample_uses_table(const struct kern_op *op)
{
    return op->u.resample.transposed || op->u.resample.antialiased;
}

/* Walks all combinations of entries of the lists of dimensions 0 .. dims - 1. */
struct resample_iterator {
    uint32_t dims;
    const struct resample_table *tables[KERN_RANK_MAX];
    const struct resample_list *lists[KERN_RANK_MAX];
    uint32_t entry[KERN_RANK_MAX];
};

/* Writes the tables of all dimensions, in this order, to `memory`, and returns its end. */
void *resample_iterator_init(struct resample_iterator *out, const struct kern_op *op, const uint32_t *order,
                             uint32_t dims, struct resample_table *tables, void *memory);

/* false: no combinations. */
DENSE_INLINE bool resample_iterator_begin(struct resample_iterator *w, const uint32_t *at)
{
    for (uint32_t d = 0; d < w->dims; d++) {
        w->lists[d] = &w->tables[d]->lists[at[d]];
        w->entry[d] = 0;
        if (!w->lists[d]->count)
            return false;
    }
    return true;
}

DENSE_INLINE bool resample_iterator_next(struct resample_iterator *w)
{
    for (uint32_t d = w->dims; d-- > 0;) {
        if (++w->entry[d] < w->lists[d]->count)
            return true;
        w->entry[d] = 0;
    }
    return false;
}

/* Of the combination's element in X. */
DENSE_INLINE int64_t resample_iterator_offset(const struct resample_iterator *w, const struct kern_view *x)
{
    int64_t offset = 0;
    for (uint32_t d = 0; d < w->dims; d++)
        offset += (int64_t)(w->lists[d]->first + w->entry[d]) * x->strides[d];
    return offset;
}

DENSE_INLINE float resample_iterator_weight(const struct resample_iterator *w, uint32_t d)
{
    return w->tables[d]->weights[w->lists[d]->weights + w->entry[d]];
}

/* ---- FOLD and UNFOLD: the position of a window's element ---- */

/* Elements of a window. */
DENSE_INLINE uint64_t fold_taps(const struct kern_fold *fold)
{
    uint64_t taps = 1;
    for (uint32_t d = 0; d < fold->spatial; d++)
        taps *= fold->window[d];
    return taps;
}

/* The pixel, along dimension d, of tap k of the window at position b; negative or beyond the size: outside. */
DENSE_INLINE int64_t fold_pixel(const struct kern_fold *fold, uint32_t d, uint32_t b, uint32_t k)
{
    return (int64_t)b * fold->strides[d] + (int64_t)k * fold->dilations[d] - fold->pad_start[d];
}

/* The position whose tap k is pixel p; false if there is none. */
DENSE_INLINE bool fold_position(const struct kern_fold *fold, uint32_t d, uint32_t p, uint32_t k, uint32_t *out_b)
{
    int64_t from = (int64_t)p + fold->pad_start[d] - (int64_t)k * fold->dilations[d];
    int64_t stride = fold->strides[d], b = stride == 1 ? from : stride == 2 ? from >> 1 : from / stride;
    if (from < 0 || b * stride != from || b >= fold->positions[d])
        return false;
    *out_b = (uint32_t)b;
    return true;
}

#endif
