/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_GATHER_H
#define KERNELS_GATHER_H

#include "kernels/index/index.h"
#include "kernels/core/iterator.h"

struct gather_plan {
    struct kern_iterator iterator; /* lookups; view 0 = Y, 1 = X, 2 = indices */
    struct index_lookup lookup;
    uint32_t bytes;
    uint64_t run; /* elements that one lookup gives */
    int64_t y_step, x_step;
    bool non_temporal; /* runs go past the caches */
    uint64_t pieces;   /* that a run is cut in, so that few long ones keep all threads busy */
};

void gather_plan_init(struct gather_plan *plan, const struct kern_op *op);

bool kern_gather_any_ref_accepts(const struct kern_op *op);

#endif
