/* Resampling row by row in memory order, with the positions along the row looked up in a table. */
#ifndef KERNELS_RESAMPLE_FAST_H
#define KERNELS_RESAMPLE_FAST_H

#include "kernels/resample/resample.h"

/* The dimensions in the output's memory order, and how the innermost one is treated. */
struct resample_plan {
    struct kern_view x, y;
    uint32_t order[KERN_RANK_MAX];
    uint32_t inner;   /* the innermost dimension: of Y's rank - 1, or one more when two are taken together */
    uint32_t in, out; /* elements of a row: sizes of the inner dimensions */
    uint32_t group;   /* neighbours that move together: the size of the last dimension when two are taken, else 1 */
    bool same;        /* rows are not resampled */
};

/* Rows that grow are first resampled along themselves and kept for the outputs that follow: several take the same. */
#define RESAMPLE_KEPT 4
DENSE_INLINE bool resample_keeps(const struct resample_plan *plan)
{
    return !plan->same && plan->out >= plan->in;
}

void resample_plan_init(const struct kern_op *op, struct resample_plan *out);

#endif
