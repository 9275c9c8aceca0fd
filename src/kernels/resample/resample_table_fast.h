#ifndef KERNELS_RESAMPLE_TABLE_FAST_H
#define KERNELS_RESAMPLE_TABLE_FAST_H

#include "kernels/resample/resample_fast.h"
#include "kernels/resample/resample_table.h"

/* Walks all combinations of entries of the lists of dimensions 0 .. dims - 1. */
struct resample_iterator {
    uint32_t dims;
    const struct resample_table *tables[KERN_RANK_MAX];
    const struct resample_list *lists[KERN_RANK_MAX];
    uint32_t entry[KERN_RANK_MAX];
};

/* false: there is no combination. */
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

DENSE_INLINE float resample_iterator_weight(const struct resample_iterator *w, uint32_t d)
{
    return w->tables[d]->weights[w->lists[d]->weights + w->entry[d]];
}

#endif
