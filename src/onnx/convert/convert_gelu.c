/* SPDX-License-Identifier: Apache-2.0 */
/* Gated and Gaussian activations, and the sums that accompany them in transformers. */
#include "onnx/convert/converters.h"

static struct onnx_value *like(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_value *x)
{
    return x ? onnx_out(b, n, 0, x->type, x->rank, x->dims) : NULL;
}

/* x * sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)), equal to the form with tanh */
static struct onnx_value *gelu_by_tanh(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *y)
{
    const float c = 1.5957691216057308f;
    struct onnx_value *square = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, x, x);
    struct onnx_value *slope = onnx_scaled(b, square, c * 0.044715f, c);
    struct onnx_value *inner = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, slope, x);
    struct onnx_value *gate = onnx_apply(b, DML_OPERATOR_ACTIVATION_SIGMOID, inner);
    return onnx_apply2_to(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, x, gate, y);
}

bool onnx_gelu(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *y = like(b, n, x);
    const char *approximate = onnx_attr_string(n, "approximate", "none");
    if (!y)
        return false;
    if (!strcmp(approximate, "tanh"))
        return gelu_by_tanh(b, x, y);
    if (strcmp(approximate, "none"))
        return onnx_fail(b, "approximate = '%s' is neither none nor tanh", approximate);
    return onnx_apply_to(b, DML_OPERATOR_ACTIVATION_GELU, x, y);
}

/* A bias of the last dimension, which must not make the result larger than x. */
static struct onnx_value *biased(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *bias)
{
    if (!x || !bias)
        return b->failed ? NULL : x;
    if (!x->rank || bias->rank != 1 || bias->dims[0] != x->dims[x->rank - 1]) {
        onnx_fail(b, "'%s' must have the %lld elements of the last dimension", bias->name,
                  (long long)(x->rank ? x->dims[x->rank - 1] : 1));
        return NULL;
    }
    return onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, x, bias);
}

/* com.microsoft BiasGelu and FastGelu: the second is the approximation, and its bias optional. */
bool onnx_bias_gelu(struct onnx_builder *b, const struct onnx_node *n)
{
    bool fast = !strcmp(n->op, "FastGelu");
    struct onnx_value *x = onnx_in(b, n, 0), *y = like(b, n, x);
    struct onnx_value *bias = fast ? onnx_in_optional(b, n, 1) : onnx_in(b, n, 1);
    struct onnx_value *sum = y ? biased(b, x, bias) : NULL;
    if (!sum)
        return false;
    return fast ? gelu_by_tanh(b, sum, y) != NULL : onnx_apply_to(b, DML_OPERATOR_ACTIVATION_GELU, sum, y) != NULL;
}

/* Swish and com.microsoft QuickGelu: x * sigmoid(alpha * x) */
bool onnx_swish(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *y = like(b, n, x);
    float alpha = onnx_attr_float(n, "alpha", !strcmp(n->op, "QuickGelu") ? 1.702f : 1.0f);
    return y && onnx_activate_to(b, DML_OPERATOR_ACTIVATION_SWISH, x, alpha, 0, y);
}

bool onnx_swiglu(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *z = onnx_in(b, n, 1), *y = like(b, n, x);
    if (!y || !z)
        return false;
    if (x->rank != z->rank || memcmp(x->dims, z->dims, x->rank * sizeof(*x->dims)))
        return onnx_fail(b, "'%s' and '%s' differ in shape", x->name, z->name);
    struct onnx_value *gate = onnx_activate(b, DML_OPERATOR_ACTIVATION_SWISH, x, onnx_attr_float(n, "alpha", 1.0f), 0);
    return onnx_apply2_to(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, gate, z, y);
}

bool onnx_bias_add(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *bias = onnx_in(b, n, 1), *skip = onnx_in(b, n, 2), *y = like(b, n, x);
    if (!y || !bias || !skip)
        return false;
    if (onnx_elements(skip) != onnx_elements(x))
        return onnx_fail(b, "'%s' and '%s' differ in shape", x->name, skip->name);
    return onnx_apply2_to(b, DML_OPERATOR_ELEMENT_WISE_ADD, biased(b, x, bias), skip, y);
}

/* left * gelu(right) of the halves of x + bias */
bool onnx_bias_split_gelu(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *bias = onnx_in(b, n, 1);
    int64_t dims[ONNX_RANK_MAX];
    if (!x || !bias)
        return false;
    if (!x->rank || x->dims[x->rank - 1] % 2)
        return onnx_fail(b, "the last dimension of '%s' must be even", x->name);
    uint32_t axis = x->rank - 1;
    memcpy(dims, x->dims, sizeof(dims));
    int64_t half = dims[axis] /= 2;
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, dims), *sum = y ? biased(b, x, bias) : NULL;
    struct onnx_value *left = onnx_cut(b, sum, axis, 0, half);
    struct onnx_value *right = onnx_cut(b, sum, axis, half, half);
    struct onnx_value *gate = onnx_apply(b, DML_OPERATOR_ACTIVATION_GELU, right);
    return onnx_apply2_to(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, left, gate, y);
}
