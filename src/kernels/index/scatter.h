/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_SCATTER_H
#define KERNELS_SCATTER_H

#include "kernels/index/index.h"
#include "kernels/core/number.h"
#include "kernels/core/iterator.h"

enum { SCATTER_FREE_Y, SCATTER_FREE_X, SCATTER_FREE_UPDATES, SCATTER_FREE_INDICES, SCATTER_FREE_VIEWS };
enum { SCATTER_PICK_INDICES, SCATTER_PICK_UPDATES };

struct scatter_plan {
    struct kern_iterator free, places, picks;
    struct index_lookup lookup;   /* offsets in Y */
    uint32_t bytes, update_bytes; /* of an element */
    bool combine;                 /* there is a reduction */
    uint64_t row;                 /* elements along free's last dimension */
    uint64_t block;               /* at most so many of them are treated together */
    uint64_t blocks;              /* in a row */
    bool along_free;              /* lookups go along the block, not along the picks */
};

void scatter_plan_init(struct scatter_plan *plan, const struct kern_op *op);

static inline uint64_t scatter_magnitude(int64_t stride)
{
    return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
}

bool kern_scatter_any_ref_accepts(const struct kern_op *op);

#endif
