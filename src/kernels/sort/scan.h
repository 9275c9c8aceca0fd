/* SPDX-License-Identifier: Apache-2.0 */
/* Running sums and products. Elements are computed as one of three kinds of number; integers do not care for the sign.
 */
#ifndef KERNELS_SCAN_H
#define KERNELS_SCAN_H

#include "kernels/map/map.h"

#define KERN_SCAN_BLOCK 512 /* elements of a line at once */
#define KERN_SCAN_TILE  128 /* lines at once */

enum kern_scan_number { KERN_SCAN_F64, KERN_SCAN_U32, KERN_SCAN_U64 };

struct kern_scan_isa {
    const struct kern_map_isa *map;
    /* By number and whether products are wanted: x[] becomes its running sums (products) that begin with *carry, which
     * becomes the last of them. */
    void (*row[3][2])(void *x, uint32_t count, void *carry);
    /* *carry joins all of x[]. */
    void (*fold[3][2])(const void *x, uint32_t count, void *carry);
    /* sum[i] joins x[i]. */
    void (*column[3][2])(void *sum, const void *x, uint32_t count);
    /* y[] = the running sums of x[], both FLOAT32 or both FLOAT16 (`half`), that begin with *carry, which becomes the
     * last of them. `stream`: y is not wanted in the caches. */
    void (*line)(const void *x, void *y, bool half, bool exclusive, bool stream, uint32_t count, double *carry);
};

void kern_scan_run(const struct kern_call *call, const struct kern_scan_isa *isa, uint64_t begin, uint64_t end);

#endif
