/* Epilogues that convolutions compute in registers, right after their sums: a chain in which each operation takes the
 * result of the one before and a constant or a tensor. */
#ifndef KERNELS_CONV_POST_H
#define KERNELS_CONV_POST_H

#include "kernels/core/kernel.h"

#define CONV_POST_MAX 6

struct conv_post_step {
    uint8_t code;    /* enum kern_map_code: RELU, LEAKY_RELU, CLAMP, MULADD, or ADD, MUL, MIN, MAX with p or a tensor */
    uint32_t tensor; /* ADD: of the op, 0 = p (tensor 0 is X) */
    float p, q;
};

struct conv_post {
    uint32_t count;
    struct conv_post_step step[CONV_POST_MAX];
};

/* false when the epilogue is not such a chain. Tensors are FLOAT32. */
bool conv_post_init(const struct kern_op *op, struct conv_post *out);

#endif
