/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of attention_w.cu. Included by C and CUDA. */
#ifndef SHADERS_CUDA_ATTENTION_W_PARAMS_H
#define SHADERS_CUDA_ATTENTION_W_PARAMS_H

#include "shaders/cuda/meta.h"

/* Of mask, keep, end, start and past, struct kern_attention, those that are there; strides in elements. */
struct attention_w_params {
    u64 q, k, v, y, mask, keep, end, start, past, counters;
    i32 q_strides[3], k_strides[3], v_strides[3],
        y_strides[3]; /* batch, head, line; elements of lines lie side by side */
    i32 mask_strides[4], keep_strides[4], end_stride, start_stride, past_stride;
    u32 mask_type;    /* ATTENTION_W_... */
    u32 tiles;        /* of queries */
    u32 heads, share; /* share: query heads that share a head of K and V */
    u32 queries, keys, depth, width;
    u32 new_keys, causal, unsigned_past, undefined;
    u32 scores;       /* are made of more than a product and a factor above 0 */
    u32 skips_masked; /* keys from `end` on have no weight and are not read */
    float scale, filter;
    struct meta_turn turn;
    u32 mask_pairs; /* elements of 16 bits side by side, two of them in each word of a line */
};

#define ATTENTION_W_FLOAT32  0u
#define ATTENTION_W_FLOAT16  1u
#define ATTENTION_W_BFLOAT16 2u

#endif
