/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of recurrent networks share. */
#ifndef SHADERS_RECURRENT_SHADER_RECURRENT_H
#define SHADERS_RECURRENT_SHADER_RECURRENT_H

#include "shaders/core/shader_block.h"
#include "shaders/recurrent/recurrent_params.h"

/* NULL, or why no shader takes these types. */
const char *shader_recurrent_type_obstacle(const struct kern_op *op);

struct recurrent_net shader_recurrent_net(const struct kern_recurrent *net);

#endif
