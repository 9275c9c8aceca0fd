/* SPDX-License-Identifier: Apache-2.0 */
/* op->epilogue, the element-wise program at the end of another kernel, whose result is register 0: parsed once as a
 * chain of steps, for kernels that apply those in registers. For all others, row/row.h runs it in the interpreter. */
#ifndef KERNELS_EPILOGUE_H
#define KERNELS_EPILOGUE_H

#include "kernels/core/kernel.h"

/* The program's: the result, and tensors from epilogue_input on. */
static inline uint32_t kern_epilogue_inputs(const struct kern_op *op)
{
    return 1 + op->input_count - op->epilogue_input;
}

#define KERN_EPILOGUE_STEPS_MAX 16

/* The operands that a kernel supports for an operation, besides the immediates p and q. */
enum kern_epilogue_operands {
    KERN_EPILOGUE_VALUE = 1 << 0,  /* the value so far */
    KERN_EPILOGUE_NUMBER = 1 << 1, /* that and a number, which becomes p */
    KERN_EPILOGUE_TENSOR = 1 << 2, /* that and an element of an input of the op, of any type and any strides */
    KERN_EPILOGUE_GATE = 1 << 3,   /* SWISH, HARD_SWISH: also written as a sigmoid times its operand */
    KERN_EPILOGUE_CUBIC = 1 << 4,  /* SWISH: also value * sigmoid(p * value + q * value^3), such as GELU by tanh */
};

/* The steps of row/curve.h, in a kern_epilogue_support. */
#define KERN_EPILOGUE_CURVES                                                                                           \
    [KERN_MAP_GELU] = KERN_EPILOGUE_VALUE, [KERN_MAP_SIGMOID] = KERN_EPILOGUE_VALUE,                                   \
    [KERN_MAP_TANH] = KERN_EPILOGUE_VALUE,                                                                             \
    [KERN_MAP_SWISH] = KERN_EPILOGUE_VALUE | KERN_EPILOGUE_GATE | KERN_EPILOGUE_CUBIC

static inline bool kern_is_curve(uint8_t code)
{
    return code == KERN_MAP_GELU || code == KERN_MAP_SIGMOID || code == KERN_MAP_SWISH || code == KERN_MAP_TANH;
}

/* What a kernel can apply: the maximum number of steps, and for each operation a set of kern_epilogue_operands. */
struct kern_epilogue_support {
    uint32_t steps;
    uint8_t operands[KERN_MAP_CODE_COUNT];
};

/* value = code(value) or code(value, operand), in either order for commutative operations. */
struct kern_epilogue_step {
    uint8_t code;    /* enum kern_map_code */
    uint32_t tensor; /* of the op: the operand; 0: none, or the number p */
    float p, q;      /* of SWISH, q is 0 unless the kernel supports KERN_EPILOGUE_CUBIC */
};

struct kern_epilogue {
    uint32_t count;
    struct kern_epilogue_step step[KERN_EPILOGUE_STEPS_MAX];
};

/* Parses the program as a chain in FLOAT32, in which each step uses the value of the previous one; no program is a
 * chain of no steps. false: it is not a chain, or the kernel does not support it. */
bool kern_epilogue_match(const struct kern_op *op, const struct kern_epilogue_support *support,
                         struct kern_epilogue *out);

/* The epilogue consists only of clamps (low and high in any order), or there is none. */
bool kern_epilogue_bounds(const struct kern_op *op, struct kern_bounds *out);

/* clamp(rint(x * scale [/ divisor]) [+ zero point]): tensors of the op, 0 = none. */
struct kern_requantize {
    uint32_t scale, divisor, zero;
    float low, high;
};

/* The number of last steps that are clamp(rint(x [/ divisor]) [+ zero point]); 0: none. scale is not set. */
uint32_t kern_epilogue_quantize_steps(const struct kern_epilogue *epilogue, struct kern_requantize *out);
/* The epilogue is a requantisation to INT8 or UINT8, with FLOAT32 scales and divisors and zero points of 8 bits. */
bool kern_epilogue_requantize(const struct kern_op *op, struct kern_requantize *out);

#endif
