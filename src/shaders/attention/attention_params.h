/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of the shaders of attention. Included by C and GLSL (core/block.h). */
#ifndef SHADERS_ATTENTION_PARAMS_H
#define SHADERS_ATTENTION_PARAMS_H

#include "shaders/core/block.h"

/* struct kern_attention; mask to past: numbers of the tensors, 0 for those that are absent. */
struct attention_params {
    float scale, filter_by;
    uint new_keys, causal, undefined;
    uint skips_masked; /* keys from `end` on have no weight and are not read */
    uint mask, keep, end, start, past;
    uint lanes; /* neighbouring invocations that share a key: a power of two from the width of V on, 256 at most */
};

#endif
