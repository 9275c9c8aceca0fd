/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a region of interest (ROI, ROI_GRAD). Regions are data and may contain any number, including NaN and
 * infinities, so positions are checked here, once, and only samples inside the image are visited. */
#ifndef KERNELS_ROI_H
#define KERNELS_ROI_H

#include "kernels/core/dense.h"

/* Tensors 0 and 1 of both kinds. */
enum { ROI_CORNERS, ROI_BATCH };

/* The other inputs: their numbers, ROI_ABSENT if absent. */
#define ROI_ABSENT UINT32_MAX
struct roi_tensors {
    const struct kern_roi *roi;
    uint32_t in_image, pooled_at, out_image, out_corners;
    const struct kern_view *image, *pooled; /* image: input or output, whichever exists */
};
struct roi_tensors roi_tensors(const struct kern_op *op);

/* Limit of MinimumSamplesPerOutput. More follow only from the size of the region, and of those only the samples inside
 * the image take time. */
#define ROI_SAMPLES_MAX 4096

/* One axis of one region, split into `bins` outputs of `per` samples each; samples are numbered through all bins.
 * Sample s is at (s - out_offset) * step + start - in_offset, in pixels, and is inside from -1 to `size`. pool: the
 * samples of a bin are the whole pixels that it covers. */
struct roi_axis {
    bool pool, none, linear, middle; /* none: no sample is inside; middle: the only sample, in the region's middle */
    uint32_t size, bins;
    uint64_t per;
    double start, step, span, in_offset, out_offset;
    int64_t pool_start;
    uint64_t pool_extent;
};

/* Element i0 with weight 1 - w, i1 with weight w. part = share of the region before the sample: the fraction of a
 * displacement of the region's end that it follows. moves: false if the value does not depend on the position. */
struct roi_tap {
    int64_t i0, i1;
    double w, part;
    bool moves;
};

/* A region's axes and the image it belongs to. */
struct roi_region {
    uint32_t image;
    struct roi_axis x, y;
};
/* false if the image does not exist. */
bool roi_region(const struct kern_call *call, const struct roi_tensors *t, uint32_t region, struct roi_region *out);

/* The samples of a bin that are inside: numbers [first, last). */
void roi_axis_inside(const struct roi_axis *axis, uint32_t bin, uint64_t *out_first, uint64_t *out_last);
struct roi_tap roi_axis_tap(const struct roi_axis *axis, uint64_t sample);

/* Part of all samples of a bin: 1 when all are inside. */
double roi_axis_share(const struct roi_axis *axis, uint64_t first, uint64_t last);

/* Units of work if `block` channels of the image's gradient are computed together: planes, then regions. */
uint64_t roi_grad_planes(const struct kern_op *op, uint32_t block);
uint64_t roi_grad_units(const struct kern_op *op, uint32_t block);

/* ---- the fast kernels ---- */

/* A sample's weight is a product of one for its row and one for its column, so averages are separable: the rows of a
 * cell are blended into one line, and the columns of the line into the outputs. The lists of a region along each axis
 * are computed once for a block of channels. Small regions make short lines, so several channels share a line, copied
 * side by side if necessary. */

/* The inputs of the bins of one axis: entries begin[bin] .. begin[bin + 1] - 1. Average: elements i0 with weight w
 * (and, for the corners' gradient, the derivatives with respect to the region's start (d0) and end (d1)). Maximum:
 * samples between elements i0 and i1. `low` .. `high` - 1 are the elements used. */
struct roi_list {
    uint32_t *begin;
    float *share; /* of each bin's samples, inside */
    int32_t *i0, *i1;
    float *w, *d0, *d1;
    uint32_t capacity;
    int32_t low, high;
};

struct roi_plan {
    uint32_t group; /* channels processed together, side by side in lines */
    uint32_t block; /* channels of one unit */
    uint64_t capacity_x, capacity_y;
    uint64_t line, out; /* elements */
    uint64_t planes;    /* elements of a block of the image's gradient */
    uint64_t bytes;     /* of worker scratch */
};

void roi_plan_init(const struct kern_op *op, const struct roi_tensors *t, struct roi_plan *out);

/* Carves the arrays of a list out of scratch memory. */
void *roi_list_place(struct roi_list *list, void *scratch, uint32_t bins, uint64_t capacity);

/* moves: with the derivatives, of an average. */
void roi_list_init(struct roi_list *list, const struct roi_axis *axis, bool average, bool moves);

#endif
