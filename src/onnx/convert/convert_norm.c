/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation and softmax. */
#include "onnx/convert/converters.h"

#include <float.h>
#include <math.h>

/* running = momentum * input + (1 - momentum) * of this batch */
static bool running(struct onnx_builder *b, const struct onnx_node *n, uint32_t output, struct onnx_value *before,
                    struct onnx_value *now)
{
    const float momentum = onnx_attr_float(n, "momentum", 0.9f);
    if (!onnx_has_output(n, output))
        return true;
    struct onnx_value *t[3] = { onnx_temp(b, before->type, before->rank, before->dims),
                                onnx_temp(b, before->type, before->rank, before->dims),
                                onnx_temp(b, before->type, before->rank, before->dims) };
    return t[2] && onnx_alias(b, t[2], now) && onnx_scaled_to(b, before, momentum, 0, t[0]) &&
           onnx_scaled_to(b, t[2], 1 - momentum, 0, t[1]) &&
           onnx_apply2_to(b, DML_OPERATOR_ELEMENT_WISE_ADD, t[0], t[1],
                          onnx_out(b, n, output, before->type, before->rank, before->dims));
}

/* Of no elements, both statistics are NaN. */
static bool nothing_to_train(struct onnx_builder *b, const struct onnx_node *n, struct onnx_value *const *in,
                             const int64_t *channels, struct onnx_value *y)
{
    struct onnx_value *none = onnx_broadcast_copy(b, onnx_scalar(b, y->type, NAN), in[0]->rank, channels);
    return none && onnx_constant_data(b, y) && running(b, n, 1, in[3], none) && running(b, n, 2, in[4], none);
}

/* in: X, scale, bias, mean, variance */
static bool batch_training(struct onnx_builder *b, const struct onnx_node *n, struct onnx_value *const *in,
                           const int64_t *channels, struct onnx_value *y)
{
    const uint32_t rank = in[0]->rank;
    struct onnx_value *out[3] = { y, onnx_temp(b, y->type, rank, channels), onnx_temp(b, y->type, rank, channels) };
    struct onnx_desc d[6];
    if (!out[1] || !out[2])
        return false;
    if (!onnx_elements(in[0]))
        return nothing_to_train(b, n, in, channels, y);
    DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC desc = {
        .InputTensor = onnx_desc(b, &d[0], in[0]),
        .ScaleTensor = onnx_desc_as(b, &d[1], in[1], rank, channels),
        .BiasTensor = onnx_desc_as(b, &d[2], in[2], rank, channels),
        .OutputTensor = onnx_desc(b, &d[3], y),
        .OutputMeanTensor = onnx_desc(b, &d[4], out[1]),
        .OutputVarianceTensor = onnx_desc(b, &d[5], out[2]),
        .Epsilon = onnx_attr_float(n, "epsilon", 1e-5f),
    };
    struct onnx_value *slots[4] = { in[0], in[1], in[2], NULL };
    return onnx_emit(b, DML_OPERATOR_BATCH_NORMALIZATION_TRAINING, &desc, slots, 4, out, 3) &&
           running(b, n, 1, in[3], out[1]) && running(b, n, 2, in[4], out[2]);
}

static bool batch_shapes(struct onnx_builder *b, const struct onnx_node *n, struct onnx_value *const *in,
                         int64_t *channels, bool *mixed)
{
    const struct onnx_value *x = in[0];
    int64_t elements = 1;
    bool all = n->version < 9 && !onnx_attr_int(n, "spatial", 1); /* one statistic for every element of a sample */
    for (uint32_t i = 0; i < ONNX_RANK_MAX; i++)
        channels[i] = 1;
    for (uint32_t i = 1; i < (all ? x->rank : BASE_MIN(x->rank, 2u)); i++)
        elements *= channels[i] = x->dims[i];
    *mixed = false;
    for (uint32_t i = 1; i < 5; i++) {
        *mixed = *mixed || in[i]->type != x->type;
        if (onnx_elements(in[i]) != elements)
            return onnx_misfit(b, "'%s' has %lld values instead of %lld", in[i]->name, (long long)onnx_elements(in[i]),
                               (long long)elements);
    }
    return true;
}

bool onnx_batch_normalization(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *in[5];
    int64_t channels[ONNX_RANK_MAX];
    bool mixed, training = n->version >= 14 && onnx_attr_int(n, "training_mode", 0);
    struct onnx_desc d[6];
    for (uint32_t i = 0; i < 5; i++)
        in[i] = onnx_in(b, n, i);
    if (b->failed || !batch_shapes(b, n, in, channels, &mixed))
        return false;
    if (training && !mixed && in[0]->type == ONNX_DOUBLE) /* which DirectML's operator does not have */
        return onnx_in_type(b, n, onnx_batch_normalization, 0x1f, ONNX_FLOAT);
    if (mixed && !training)
        return onnx_in_type(b, n, onnx_batch_normalization, 0x1f,
                            in[0]->type == ONNX_DOUBLE || in[1]->type == ONNX_DOUBLE ? ONNX_DOUBLE : ONNX_FLOAT);
    if (mixed || (!training && onnx_has_output(n, 1)))
        return onnx_fail(b, "training with these types or of this version is not supported");
    struct onnx_value *x = in[0], *y = onnx_out(b, n, 0, x->type, x->rank, x->dims);
    if (!y)
        return false;
    if (training)
        return batch_training(b, n, in, channels, y);
    DML_BATCH_NORMALIZATION_OPERATOR_DESC desc = {
        .InputTensor = onnx_desc(b, &d[0], x),
        .MeanTensor = onnx_desc_as(b, &d[1], in[3], x->rank, channels),
        .VarianceTensor = onnx_desc_as(b, &d[2], in[4], x->rank, channels),
        .ScaleTensor = onnx_desc_as(b, &d[3], in[1], x->rank, channels),
        .BiasTensor = onnx_desc_as(b, &d[4], in[2], x->rank, channels),
        .OutputTensor = onnx_desc(b, &d[5], y),
        .Spatial = n->version >= 9 || onnx_attr_int(n, "spatial", 1) != 0,
        .Epsilon = onnx_attr_float(n, "epsilon", 1e-5f),
    };
    struct onnx_value *slots[5] = { x, in[3], in[4], in[1], in[2] };
    return onnx_emit(b, DML_OPERATOR_BATCH_NORMALIZATION, &desc, slots, 5, &y, 1);
}

/* Mean-variance normalisation of each channel, with a scale and a bias per channel. */
bool onnx_instance_normalization(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *in[3] = { x, onnx_in(b, n, 1), onnx_in(b, n, 2) };
    int64_t channels[ONNX_RANK_MAX] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    UINT axes[ONNX_RANK_MAX];
    struct onnx_desc d[4];
    if (!in[0] || !in[1] || !in[2])
        return false;
    if (x->rank < 3)
        return onnx_fail(b, "input of rank %u is not supported", x->rank);
    channels[1] = x->dims[1];
    for (uint32_t i = 2; i < x->rank; i++)
        axes[i - 2] = i;
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, x->dims);
    if (!y)
        return false;
    DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC desc = {
        .InputTensor = onnx_desc(b, &d[0], x),
        .ScaleTensor = onnx_desc_as(b, &d[1], in[1], x->rank, channels),
        .BiasTensor = onnx_desc_as(b, &d[2], in[2], x->rank, channels),
        .OutputTensor = onnx_desc(b, &d[3], y),
        .AxisCount = x->rank - 2,
        .Axes = axes,
        .NormalizeVariance = TRUE,
        .Epsilon = onnx_attr_float(n, "epsilon", 1e-5f),
    };
    return onnx_emit(b, DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1, &desc, in, 3, &y, 1);
}

/* DirectML's has four dimensions and no float64. */
bool onnx_lrn(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    int64_t size = onnx_attr_int(n, "size", 1), dims[4] = { 1, 1, 1, 1 };
    struct onnx_desc dx, dy;
    if (!x)
        return false;
    if (x->rank < 2 || size < 1 || size > INT32_MAX)
        return onnx_fail(b, "input of rank %u with size %lld is not supported", x->rank, (long long)size);
    if (x->type == ONNX_DOUBLE)
        return onnx_in_type(b, n, onnx_lrn, 1, ONNX_FLOAT);
    for (uint32_t i = 0; i < x->rank; i++)
        dims[BASE_MIN(i, 3u)] *= x->dims[i];
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, x->dims);
    if (!y)
        return false;
    DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC desc = { onnx_desc_as(b, &dx, x, 4, dims),
                                                            onnx_desc_as(b, &dy, y, 4, dims),
                                                            TRUE,
                                                            (UINT)size,
                                                            onnx_attr_float(n, "alpha", 1e-4f),
                                                            onnx_attr_float(n, "beta", 0.75f),
                                                            onnx_attr_float(n, "bias", 1.0f) };
    return onnx_emit(b, DML_OPERATOR_LOCAL_RESPONSE_NORMALIZATION, &desc, &x, 1, &y, 1);
}

bool onnx_lp_normalization(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    uint32_t axis;
    struct onnx_desc dx, dy;
    if (!x || !onnx_axis(b, onnx_attr_int(n, "axis", -1), x->rank, &axis))
        return false;
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, x->dims);
    if (!y)
        return false;
    /* The smallest number above 0: vectors of length 0 become 0. */
    DML_LP_NORMALIZATION_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), axis, FLT_MIN,
                                                (UINT)onnx_attr_int(n, "p", 2) };
    return onnx_emit(b, DML_OPERATOR_LP_NORMALIZATION, &desc, &x, 1, &y, 1);
}

/* Before opset 13 the axes from `axis` (default 1) on are normalised together; since then only `axis` (default -1). */
bool onnx_softmax(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    bool together = n->version < 13;
    UINT axes[ONNX_RANK_MAX];
    uint32_t axis, count = 0;
    struct onnx_desc dx, dy;
    if (!x || !onnx_axis(b, onnx_attr_int(n, "axis", together ? 1 : -1), x->rank, &axis))
        return false;
    for (uint32_t i = axis; i < (together ? x->rank : axis + 1); i++)
        axes[count++] = i;
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, x->dims);
    if (!y)
        return false;
    DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), count, axes };
    DML_OPERATOR_TYPE type = !strcmp(n->op, "Hardmax")      ? DML_OPERATOR_ACTIVATION_HARDMAX1
                             : !strcmp(n->op, "LogSoftmax") ? DML_OPERATOR_ACTIVATION_LOG_SOFTMAX1
                                                            : DML_OPERATOR_ACTIVATION_SOFTMAX1;
    return onnx_emit(b, type, &desc, &x, 1, &y, 1);
}
