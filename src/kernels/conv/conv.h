/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution's geometry with always three spatial dimensions: missing outer ones have size 1. */
#ifndef KERNELS_CONV_H
#define KERNELS_CONV_H

#include "kernels/core/dense.h"
#include "kernels/core/epilogue.h"
#include "kernels/gemm/gemm.h"

struct conv_shape {
    uint32_t batch, in_channels, out_channels, groups;
    uint32_t in_group, out_group; /* channels of one group */
    bool transposed, flip;
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad[3];
    int64_t x[5], w[5], y[5]; /* strides of batch / channel / spatial; w: its dimension 0, 1, spatial */
    int64_t bias;             /* stride */
};

/* Not of integers; X, W, the bias and Y have this type. */
DENSE_INLINE bool conv_has_type(const struct kern_op *op, DML_TENSOR_DATA_TYPE type)
{
    return !op->u.conv.integer && op->tensors[op->input_count].type == type &&
           dense_same_type(op, 0, op->u.conv.has_bias ? 2 : 1, type);
}

/* One tap, at offset 0. */
DENSE_INLINE bool conv_is_pointwise(const struct conv_shape *s)
{
    bool result = s->groups == 1 && !s->transposed;
    for (uint32_t d = 0; d < KERN_SPATIAL_MAX; d++)
        result = result && s->kernel[d] == 1 && s->stride[d] == 1 && s->pad[d] == 0;
    return result;
}

/* At most the last two dimensions count: the first is 1, and its only window has no padding. */
DENSE_INLINE bool conv_is_plane(const struct conv_shape *s)
{
    return s->kernel[0] == 1 && s->in[0] == 1 && s->out[0] == 1 && !s->pad[0];
}

/* false when the op's views do not fit together. */
bool conv_shape_init(const struct kern_op *op, struct conv_shape *out);

#define CONV_EPILOGUE_MAX 6

/* The epilogue as steps that KERN_EPILOGUE_STEP applies, and additions of tensors; false: unsupported. */
bool conv_epilogue_steps(const struct kern_op *op, struct kern_epilogue *out);
/* Likewise, of FLOAT32 tensors of Y's rank. */
bool conv_epilogue_init(const struct kern_op *op, struct kern_epilogue *out);

/* The zero point of X, 0 if it does not have one. */
DENSE_INLINE int32_t conv_x_zero(const struct kern_call *call)
{
    static const uint32_t first[KERN_RANK_MAX];
    const struct kern_conv *conv = &call->op->u.conv;
    return gemm_zero(call, conv->has_x_zero, 2u + conv->has_bias, first);
}

/* The weight of tap t, in the order of the window's elements, from a filter's first weight. */
DENSE_INLINE int64_t conv_weight_at(const struct conv_shape *s, int64_t t)
{
    const int64_t last = s->kernel[0] * s->kernel[1] * s->kernel[2] - 1, tap = s->flip ? last - t : t;
    const int64_t line = tap / s->kernel[2];
    return line / s->kernel[1] * s->w[2] + line % s->kernel[1] * s->w[3] + tap % s->kernel[2] * s->w[4];
}

/* The biases of all output channels as FLOAT32, followed by zeros; all zeros without a bias. */
DENSE_INLINE void conv_bias(const struct kern_call *call, const struct conv_shape *s, int64_t count, float *out)
{
    const DML_TENSOR_DATA_TYPE type = call->op->tensors[2].type;
    const bool floats = type == DML_TENSOR_DATA_TYPE_FLOAT32;
    for (int64_t o = 0; o < count; o++)
        out[o] = !call->op->u.conv.has_bias || o >= s->out_channels ? 0
                 : floats                                           ? ((const float *)call->data[2])[o * s->bias]
                          : (float)dense_load(call->data[2], o * s->bias, type);
}

/* The input position along spatial dimension d that kernel tap k contributes to output position `out`; -1 = none. */
DENSE_INLINE int64_t conv_tap(const struct conv_shape *s, uint32_t d, int64_t out, int64_t k)
{
    int64_t at;
    if (!s->transposed) {
        at = out * s->stride[d] + k * s->dilation[d] - s->pad[d];
    } else {
        at = out + s->pad[d] - k * s->dilation[d];
        if (at < 0 || at % s->stride[d])
            return -1;
        at /= s->stride[d];
    }
    return at >= 0 && at < s->in[d] ? at : -1;
}

#endif
