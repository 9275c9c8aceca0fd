/* Where the samples of a region of interest lie (ROI, ROI_GRAD). Regions are data: any number may stand in them, NaN
 * and infinities included, so positions are checked here, once, and only samples inside the image are ever visited. */
#ifndef KERNELS_ROI_H
#define KERNELS_ROI_H

#include "kernels/core/dense.h"

/* Tensors 0 and 1 of both kinds; the others are found by the kind. */
enum { ROI_CORNERS, ROI_BATCH };

/* What MinimumSamplesPerOutput is cut to. More follows only from the size of the region, and of those only the samples
 * inside the image cost time. */
#define ROI_SAMPLES_MAX 4096

/* One axis of one region, cut in `bins` outputs of `per` samples each; samples are numbered through all bins.
 * Sample s lies at (s - out_offset) * step + start - in_offset, in pixels, and is inside from -1 to `size`.
 * pool: the samples of a bin are the whole pixels that it covers. */
struct roi_axis {
    bool pool, none, linear, middle; /* none: no sample is inside; middle: the only sample, in the region's middle */
    uint32_t size, bins;
    uint64_t per;
    double start, step, span, in_offset, out_offset;
    int64_t pool_start;
    uint64_t pool_extent;
};

/* Element i0 with weight 1 - w, i1 with w. part = share of the region that lies before the sample: how much of a move
 * of the region's end it follows. moves: false when the value does not change with the position. */
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
/* false when there is no such image. */
bool roi_region(const struct kern_call *call, const struct kern_roi *roi, const struct kern_view *image,
                const struct kern_view *pooled, uint32_t region, struct roi_region *out);

/* The samples of a bin that are inside: numbers [first, last). */
void roi_axis_inside(const struct roi_axis *axis, uint32_t bin, uint64_t *out_first, uint64_t *out_last);
struct roi_tap roi_axis_tap(const struct roi_axis *axis, uint64_t sample);

/* Part of all samples of a bin: 1 when all are inside. */
double roi_axis_share(const struct roi_axis *axis, uint64_t first, uint64_t last);

/* ---- ROI_GRAD's tensors ---- */
#define ROI_ABSENT UINT32_MAX
enum { ROI_GRAD_POOLED = 2 };

struct roi_grad_tensors {
    uint32_t in_image, out_image, out_corners; /* numbers of the tensors, ROI_ABSENT without */
    const struct kern_view *image, *pooled;    /* image: input or output, whichever there is */
};
struct roi_grad_tensors roi_grad_tensors(const struct kern_op *op);

/* Units of work when `block` channels of the image's gradient are made together: planes, then regions. */
uint64_t roi_grad_planes(const struct kern_op *op, uint32_t block);
uint64_t roi_grad_units(const struct kern_op *op, uint32_t block);

/* The image's value at a sample, in the definition of both kinds. */
double roi_ref_value(const struct kern_view *x, const void *data, int64_t plane, const struct roi_tap *tx,
                     const struct roi_tap *ty);

#endif
