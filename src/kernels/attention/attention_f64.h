/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_ATTENTION_F64_H
#define KERNELS_ATTENTION_F64_H

#include "kernels/attention/attention.h"

#define ATTENTION_F64_ROWS  4 /* of Q at once */
#define ATTENTION_F64_LANES 8 /* sums side by side */

/* Rows in scratch memory end with whole vectors. */
DENSE_INLINE uint64_t attention_f64_pitch(uint64_t count)
{
    return base_align_up(count, ATTENTION_F64_LANES);
}

#endif
