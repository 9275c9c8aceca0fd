/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of the shaders of running sums. Included by C and GLSL (core/block.h). */
#ifndef SHADERS_SCAN_PARAMS_H
#define SHADERS_SCAN_PARAMS_H

/* struct kern_scan, and how a line of `size` elements is split: into `parts` of `in_part` elements. */
struct scan_params {
    uint axis, product, exclusive, total, has_init;
    uint size, parts, in_part;
    uint sum_parts; /* only the sums of parts are computed */
};

#endif
