/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel for random words. */
#include "shaders/core/shader_block.h"
#include "shaders/random/random_params.h"

#include "kernels/random/random.h"

_Static_assert(KERN_PHILOX_M0 == 0xd2511f53 && KERN_PHILOX_M1 == 0xcd9e8d57 && KERN_PHILOX_K0 == 0x9e3779b9 &&
                   KERN_PHILOX_K1 == 0xbb67ae85,
               "random.comp has these numbers");

const char *shader_random_any_unsupported(const struct kern_op *op)
{
    return shader_block_unsupported(op);
}

void shader_random_any_plan(const struct kern_op *op, struct shader_work *out)
{
    shader_add(out, SHADER_random, op, kern_random_groups(op), SHADER_GROUP_SIZE, sizeof(struct random_params));
}

void shader_random_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                             uint32_t *words)
{
    const struct random_params params = { (uint32_t)kern_view_elements(&op->tensors[1]) };
    shader_block_write(op, places, kern_random_groups(op), &params, sizeof(params), words);
}
