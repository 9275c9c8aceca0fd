/* Epilogues that convolutions compute in registers, right after their sums: a chain in which each operation takes the
 * result of the one before and a constant or a tensor. */
#ifndef KERNELS_CONV_EPILOGUE_H
#define KERNELS_CONV_EPILOGUE_H

#include "kernels/core/kernel.h"

#define CONV_EPILOGUE_MAX 6

struct conv_epilogue_step {
    uint8_t code;    /* enum kern_map_code: RELU, LEAKY_RELU, CLAMP, MULADD, or ADD, MUL, MIN, MAX with p or a tensor */
    uint32_t tensor; /* ADD: of the op, 0 = p (tensor 0 is X) */
    float p, q;
};

struct conv_epilogue {
    uint32_t count;
    struct conv_epilogue_step step[CONV_EPILOGUE_MAX];
};

/* false when the epilogue is not such a chain. Tensors are FLOAT32. */
bool conv_epilogue_init(const struct kern_op *op, struct conv_epilogue *out);

#endif
