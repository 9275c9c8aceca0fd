/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels for recurrent networks. */
#ifndef SHADERS_RECURRENT_SHADER_RECURRENT_H
#define SHADERS_RECURRENT_SHADER_RECURRENT_H

#include "shaders/core/shader_block.h"
#include "shaders/recurrent/recurrent_params.h"

/* NULL, or the reason why no shader supports these types. */
const char *shader_recurrent_type_unsupported(const struct kern_op *op);

struct recurrent_net shader_recurrent_net(const struct kern_recurrent *net);

#endif
