/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels for attention. */
#ifndef SHADERS_ATTENTION_SHADER_ATTENTION_H
#define SHADERS_ATTENTION_SHADER_ATTENTION_H

#include "shaders/attention/attention_params.h"
#include "shaders/core/shader_block.h"

/* The parameter block: units of work, and parts of the keys. */
void shader_attention_write(const struct kern_op *op, uint64_t units, uint32_t parts, const struct shader_place *places,
                            uint32_t *words);
/* Makes the presence of inputs specialization constants. */
void shader_attention_inputs(const struct kern_op *op, struct shader_dispatch *out);

#endif
