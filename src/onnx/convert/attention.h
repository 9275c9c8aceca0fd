/* SPDX-License-Identifier: Apache-2.0 */
/* Scaled dot-product attention of rows: y = softmax(scale * q k^T + masks) v, as DirectML's fused operator if that has
 * the semantics, otherwise as GEMMs and a softmax. */
#ifndef ONNX_ATTENTION_H
#define ONNX_ATTENTION_H

#include "onnx/emit/emit.h"

struct onnx_attention {
    int64_t batch, heads, key_heads, sequence, keys, past, total, size, value_size; /* total = past + keys */
    /* Tokens [batch, sequence, heads * size] or heads [batch, heads, sequence, size]. Keys and values in head layout
     * may have more rows than `keys`, which are ignored. */
    struct onnx_value *q, *k, *v;
    struct onnx_value *bias;                        /* of q, k and v concatenated; tokens only; or NULL */
    struct onnx_value *past_key, *past_value;       /* [batch, key_heads, past, size] or NULL */
    struct onnx_value *present_key, *present_value; /* to be defined, or NULL */
    struct onnx_value *before; /* INT32 [batch]: the number of rows, of `total`, that the presents already contain;
                                  tokens only; or NULL */
    /* masks, or NULL; all but the lengths broadcast to [batch, heads, sequence, total] */
    struct onnx_value *relative; /* is added */
    struct onnx_value *keep;     /* BOOL, or INT32 with a finite filter; where it is 0, the filter is added */
    struct onnx_value *ends;     /* INT32 [batch]: keys from there on are masked by the filter ... */
    struct onnx_value *starts;   /* ... and those before the start; only with ends */
    bool causal;                 /* query i attends to the keys up to past + i */
    int64_t left, right;         /* ... and that many keys before and behind; -1 = any number */
    struct onnx_value *sink;     /* one more score per head that is only part of the softmax's sum: [1, heads, 1, 1] */
    float scale, softcap, filter;
    struct onnx_value *y;      /* to be defined: tokens or heads, according to its rank */
    struct onnx_value *scores; /* to be defined, or NULL: [batch, heads, sequence, total] */
    enum onnx_attention_scores { ONNX_SCORES_RAW, ONNX_SCORES_CAPPED, ONNX_SCORES_MASKED, ONNX_SCORES_SOFTMAX } stage;
};
/* -1 for left and right, 1 / sqrt(size) for scale, -infinity for filter */
void onnx_attention_defaults(struct onnx_attention *a);
/* Derives batch ... value_size from q, k, v and past_key, given heads and key_heads; checks the shapes. */
bool onnx_attention_shape(struct onnx_builder *b, struct onnx_attention *a);
bool onnx_attend(struct onnx_builder *b, struct onnx_attention *a);

/* Both masks, or the one that is not NULL. */
struct onnx_value *onnx_attention_both(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *z);
/* The keys to which each query attends by its position [batch, 1, sequence, 1] (INT32) with causal, left and right;
 * NULL: all. */
struct onnx_value *onnx_attention_window(struct onnx_builder *b, const struct onnx_attention *a,
                                         struct onnx_value *position);

/* [batch, sequence, heads * size] <-> [batch, heads, sequence, size]; y NULL for a temporary */
struct onnx_value *onnx_heads_to_tokens(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *y);
struct onnx_value *onnx_tokens_to_heads(struct onnx_builder *b, struct onnx_value *x, int64_t heads,
                                        struct onnx_value *y);

/* convert_rotary.c: x as tokens or heads, rotated by the angles in cos and sin, whose rows are selected by positions
 * (INT64 or INT32 [batch or 1, sequence]) or, without positions, are those of the tokens [batch, sequence, ...]. */
struct onnx_rotary {
    struct onnx_value *cos, *sin, *positions;
    int64_t heads; /* of tokens */
    int64_t size;  /* how many elements of a head are rotated; 0 = all */
    bool interleaved;
};
struct onnx_value *onnx_rotate(struct onnx_builder *b, const struct onnx_rotary *r, struct onnx_value *x,
                               struct onnx_value *y);

#endif
