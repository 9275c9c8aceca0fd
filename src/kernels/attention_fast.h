/* Attention block by block: scores of some rows against some keys, their share of the softmax, and the product with the
 * values, while everything stays in the cache. */
#ifndef KERNELS_ATTENTION_FAST_H
#define KERNELS_ATTENTION_FAST_H

#include "kernels/attention.h"

#define ATTENTION_ROWS 64  /* of Q at once */
#define ATTENTION_KEYS 128 /* at once */
#define ATTENTION_FEW  6   /* rows that are better not turned */
#define ATTENTION_STEP 32  /* widths are rounded up to this: whole tiles of every instruction set */

#endif
