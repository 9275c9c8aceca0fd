/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of interest, fast. A sample's weight is a product of one for its row and one for its column, so averages are
 * separable: the rows of a cell are blended into one line, and the columns of the line into the outputs. What a region
 * needs along each axis is worked out once for a block of channels. Small regions make short lines, so that several
 * channels share a line, brought side by side where they do not lie so. */
#ifndef KERNELS_ROI_FAST_H
#define KERNELS_ROI_FAST_H

#include "kernels/resample/roi.h"

/* What the bins of one axis take: entries begin[bin] .. begin[bin + 1] - 1. Average: elements i0 with weight w (and,
 * for the corners' gradient, what moving the region's start (d0) and end (d1) does to them). Maximum: samples between
 * elements i0 and i1. `low` .. `high` - 1 are the elements touched. */
struct roi_list {
    uint32_t *begin;
    float *share; /* of each bin's samples, inside */
    int32_t *i0, *i1;
    float *w, *d0, *d1;
    uint32_t capacity;
    int32_t low, high;
};

struct roi_plan {
    uint32_t group; /* channels taken together, side by side in lines */
    uint32_t block; /* channels of one unit */
    uint64_t capacity_x, capacity_y;
    uint64_t line, out; /* elements */
    uint64_t planes;    /* elements of a block of the image's gradient */
    uint64_t bytes;     /* of worker scratch */
};

void roi_plan_init(const struct kern_op *op, const struct kern_roi *roi, const struct kern_view *image,
                   const struct kern_view *pooled, bool grad, struct roi_plan *out);

/* Carves the arrays of a list out of scratch memory. */
void *roi_list_place(struct roi_list *list, void *scratch, uint32_t bins, uint64_t capacity);

void roi_list_average(struct roi_list *list, const struct roi_axis *axis, bool moves);
void roi_list_samples(struct roi_list *list, const struct roi_axis *axis);

#endif
