/* SPDX-License-Identifier: Apache-2.0 */
/* Groups that are computed in another layout than X's: short dense lines as columns of transposed tiles, and few
 * columns as lines. */
#ifndef KERNELS_REDUCTION_SHORT_H
#define KERNELS_REDUCTION_SHORT_H

#include "kernels/reduce/reduction.h"

#define KERN_REDUCTION_SHORT_LEAST 16 /* lines of a tile */
#define KERN_REDUCTION_STEP        16 /* elements of a pitch: vectors of any instruction set are whole */

static inline bool kern_reduction_has_lines_out(const struct kern_op *op)
{
    return op->kind == KERN_SOFTMAX || op->kind == KERN_NORM || op->kind == KERN_LP_NORM;
}

/* Most lines of a tile; 0: these groups are computed otherwise. */
uint32_t kern_reduction_short_lines(const struct kern_reductions *groups);
/* Elements of a tile. */
uint64_t kern_reduction_short_floats(const struct kern_reductions *groups, uint32_t lines);

/* Runs the op, whose `width` groups are columns, on data[]. `scratch`: what follows the tile. */
typedef void kern_reduction_short_run(const struct kern_reductions *groups, const struct kern_op *columns,
                                      void *const *data, uint32_t width, void *scratch);
/* Groups [first, first + width), neighbours in the outer iterator's last dimension. `scratch`: the tile and what the
 * run needs. */
void kern_reduction_short_tile(const struct kern_reductions *groups, uint64_t first, uint32_t width, void *scratch,
                               kern_reduction_short_run *run);

/* ---- few neighbouring groups, computed as lines of transposed tiles ---- */

struct kern_reduction_narrow {
    struct kern_op op; /* on a tile, whose lines are groups */
    float *tile;
    uint32_t width, pitch; /* groups; elements from one to the next */
    bool stores;           /* results are in the tile */
};

/* Elements of a tile; 0: these groups are computed otherwise. */
uint64_t kern_reduction_narrow_floats(const struct kern_reductions *groups);
/* For tiles of `width` groups. `scratch`: the tile. */
void kern_reduction_narrow_init(const struct kern_reductions *groups, uint32_t width, void *scratch,
                                struct kern_reduction_narrow *out);
/* Runs narrow->op on data[]. */
typedef void kern_reduction_narrow_run(const struct kern_reductions *groups, const struct kern_reduction_narrow *narrow,
                                       void *const *data);
/* The groups from `first` on, neighbours in the outer iterator's last dimension. */
void kern_reduction_narrow_tile(const struct kern_reductions *groups, uint64_t first,
                                const struct kern_reduction_narrow *narrow, kern_reduction_narrow_run *run);

/* ---- dense lines ---- */

/* Whether these groups are dense lines of softmax or normalisation that are computed line by line. */
bool kern_reduction_dense_lines(const struct kern_reductions *groups);
/* Normalised lines are left in scratch->block, one behind the other: their results are not dense FLOAT32, or an
 * epilogue follows. */
bool kern_reduction_dense_in_block(const struct kern_reductions *groups);
/* Those from group `first` on, of which `count` are neighbours in the outer iterator's last dimension: the number of
 * lines before one that must be computed otherwise. */
uint32_t kern_reduction_dense_run(const struct kern_reductions *groups, uint64_t first, uint32_t count);

#endif
