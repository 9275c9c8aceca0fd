/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of the domain com.microsoft that extend others: fused activations, NHWC, attributes as inputs. Also the
 * determinant. */
#include "onnx/convert/converters.h"

#define ATTRIBUTES_MAX 24

/* ---- activations ---- */

static bool clip(struct onnx_builder *b, const struct onnx_node *n, struct onnx_value *x, float low, float high)
{
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, x->dims);
    struct onnx_desc dx, dy;
    if (!y)
        return false;
    DML_ELEMENT_WISE_CLIP_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), NULL, low, high };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_CLIP, &desc, &x, 1, &y, 1);
}

/* Output 0 of n is activation(x); the parameters are named like those of the ONNX operator. */
static bool activated(struct onnx_builder *b, const struct onnx_node *n, struct onnx_value *x, const char *activation,
                      const struct onnx_attribute *parameters, uint32_t count)
{
    struct onnx_node node = *n;
    if (!x)
        return false;
    if (!activation[0])
        return onnx_result(b, n, 0, x);
    if (!strcmp(activation, "Clip") && count == 2)
        return clip(b, n, x, parameters[0].f, parameters[1].f);
    const struct onnx_converter *row = onnx_converter_find("", activation);
    if (!row || (row->convert != onnx_activation && row->convert != onnx_softmax))
        return onnx_fail(b, "activation '%s' is not supported", activation);
    node.op = activation;
    node.domain = "";
    node.version = row->newest;
    node.inputs = (const char *[]){ x->name };
    node.input_count = 1;
    node.output_count = BASE_MIN(n->output_count, 1);
    node.attributes = parameters;
    node.attribute_count = count;
    return onnx_convert_as(b, &node);
}

/* The attributes activation_alpha, activation_beta ... */
static bool activated_by_name(struct onnx_builder *b, const struct onnx_node *n, struct onnx_value *x)
{
    struct onnx_attribute parameters[ATTRIBUTES_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < n->attribute_count && count < ATTRIBUTES_MAX; i++) {
        if (strncmp(n->attributes[i].name, "activation_", 11))
            continue;
        parameters[count] = n->attributes[i];
        parameters[count++].name += 11;
    }
    return activated(b, n, x, onnx_attr_string(n, "activation", ""), parameters, count);
}

/* The attribute activation_params, in the order of the operator. */
static bool activated_by_order(struct onnx_builder *b, const struct onnx_node *n, struct onnx_value *x)
{
    static const char *const names[2] = { "alpha", "beta" };
    const struct onnx_attribute *given = onnx_attribute(n, "activation_params");
    struct onnx_attribute parameters[2];
    uint32_t count = given ? given->count : 0;
    if (count > 2 || (count && !given->floats))
        return onnx_fail(b, "activation_params has %u values, must have up to 2, of type FLOATS", count);
    for (uint32_t i = 0; i < count; i++)
        parameters[i] = (struct onnx_attribute){ .name = names[i], .f = given->floats[i] };
    return activated(b, n, x, onnx_attr_string(n, "activation", ""), parameters, count);
}

/* ---- nodes inside a node ---- */

/* The result of an ONNX operator with the attributes of n; NULL inputs are absent. */
static struct onnx_value *inner(struct onnx_builder *b, const struct onnx_node *n, const char *op,
                                struct onnx_value *const *in, uint32_t count)
{
    const char *inputs[4], *output = onnx_new_name(b);
    struct onnx_node node = *n;
    const struct onnx_converter *row = onnx_converter_find("", op);
    if (!output || !row)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        inputs[i] = in[i] ? in[i]->name : "";
    node.op = op;
    node.domain = "";
    node.version = row->newest;
    node.inputs = inputs;
    node.input_count = count;
    node.outputs = &output;
    node.output_count = 1;
    return onnx_convert_as(b, &node) ? onnx_value_find(b, output) : NULL;
}

/* ---- matrices ---- */

/* With transBatch, [M, batch..., K] becomes [batch..., M, K]; with trans, the last two are then exchanged. */
static struct onnx_value *matrix(struct onnx_builder *b, struct onnx_value *x, bool batch, bool trans)
{
    uint32_t order[ONNX_RANK_MAX];
    if (x->rank < 2 || (!batch && !trans))
        return x;
    for (uint32_t i = 0; i < x->rank; i++)
        order[i] = i;
    for (uint32_t i = 0; batch && i + 1 < x->rank; i++)
        order[i] = i + 2 == x->rank ? 0 : i + 1;
    if (trans) {
        uint32_t last = order[x->rank - 1];
        order[x->rank - 1] = order[x->rank - 2];
        order[x->rank - 2] = last;
    }
    return onnx_permute(b, x, order);
}

/* A GEMM of matrices with one batch, transposed by the GEMM itself. */
static struct onnx_value *plain_product(struct onnx_builder *b, struct onnx_value *const *in, bool ta, bool tb,
                                        float alpha)
{
    const struct onnx_value *x = in[0], *z = in[1];
    uint32_t rank = x->rank;
    int64_t batch = 1, dims[ONNX_RANK_MAX];
    struct onnx_desc d[3];
    for (uint32_t i = 0; i + 2 < rank; i++)
        batch *= dims[i] = x->dims[i];
    int64_t m = x->dims[rank - 2 + ta], k = x->dims[rank - 1 - ta], n = z->dims[rank - 1 - tb];
    dims[rank - 2] = m;
    dims[rank - 1] = n;
    if (z->dims[rank - 2 + tb] != k)
        return onnx_misfit(b, "matrices do not fit: inner sizes %lld and %lld", (long long)k,
                           (long long)z->dims[rank - 2 + tb]),
               NULL;
    struct onnx_value *y = onnx_temp(b, x->type, rank, dims), *slots[3] = { in[0], in[1], NULL };
    if (!y)
        return NULL;
    DML_GEMM_OPERATOR_DESC desc = {
        .ATensor = onnx_desc_as(b, &d[0], in[0], 4, (int64_t[]){ 1, batch, x->dims[rank - 2], x->dims[rank - 1] }),
        .BTensor = onnx_desc_as(b, &d[1], in[1], 4, (int64_t[]){ 1, batch, z->dims[rank - 2], z->dims[rank - 1] }),
        .OutputTensor = onnx_desc_as(b, &d[2], y, 4, (int64_t[]){ 1, batch, m, n }),
        .TransA = ta ? DML_MATRIX_TRANSFORM_TRANSPOSE : DML_MATRIX_TRANSFORM_NONE,
        .TransB = tb ? DML_MATRIX_TRANSFORM_TRANSPOSE : DML_MATRIX_TRANSFORM_NONE,
        .Alpha = alpha,
    };
    return onnx_emit(b, DML_OPERATOR_GEMM, &desc, slots, 3, &y, 1) ? y : NULL;
}

/* FusedMatMul, FusedMatMulActivation, TransposeMatMul */
bool onnx_fused_matmul(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *in[2] = { onnx_in(b, n, 0), onnx_in(b, n, 1) }, *y;
    bool ta = onnx_attr_int(n, "transA", 0), tb = onnx_attr_int(n, "transB", 0);
    bool batch_a = onnx_attr_int(n, "transBatchA", 0), batch_b = onnx_attr_int(n, "transBatchB", 0);
    float alpha = onnx_attr_float(n, "alpha", 1.0f);
    if (!in[0] || !in[1])
        return false;
    bool same = in[0]->rank == in[1]->rank && in[0]->rank >= 2 && onnx_elements(in[0]) && onnx_elements(in[1]);
    for (uint32_t i = 0; same && i + 2 < in[0]->rank; i++)
        same = in[0]->dims[i] == in[1]->dims[i];
    if (same && !batch_a && !batch_b) {
        y = plain_product(b, in, ta, tb, alpha);
    } else {
        in[0] = matrix(b, in[0], batch_a, ta);
        in[1] = matrix(b, in[1], batch_b, tb);
        y = in[0] && in[1] ? inner(b, n, "MatMul", in, 2) : NULL;
        if (y && alpha != 1)
            y = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, y, onnx_scalar(b, y->type, (double)alpha));
    }
    return activated_by_name(b, n, y);
}

bool onnx_fused_gemm(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *in[3] = { onnx_in(b, n, 0), onnx_in(b, n, 1), onnx_in_optional(b, n, 2) };
    return in[0] && in[1] && !b->failed && activated_by_name(b, n, inner(b, n, "Gemm", in, 3));
}

/* ---- convolution and pooling ---- */

static const uint32_t to_channels_first[4] = { 0, 3, 1, 2 }, to_channels_last[4] = { 0, 2, 3, 1 };

/* FusedConv, NhwcConv, NhwcFusedConv. The filter of NhwcConv is [M, kH, kW, C], as ONNX Runtime's optimizer writes it;
 * that of NhwcFusedConv is [M, C, kH, kW], as its kernels read it. */
bool onnx_fused_conv(struct onnx_builder *b, const struct onnx_node *n)
{
    bool nhwc = !strncmp(n->op, "Nhwc", 4), nhwc_filter = !strcmp(n->op, "NhwcConv");
    struct onnx_value *in[3] = { onnx_in(b, n, 0), onnx_in(b, n, 1), onnx_in_optional(b, n, 2) };
    struct onnx_value *sum = onnx_in_optional(b, n, 3);
    if (!in[0] || !in[1] || b->failed)
        return false;
    if (nhwc && in[0]->rank != 4)
        return onnx_fail(b, "rank %u is not supported", in[0]->rank);
    if (nhwc_filter && in[1]->rank != 4)
        return onnx_fail(b, "a filter of rank %u is not supported", in[1]->rank);
    if (nhwc)
        in[0] = onnx_permute(b, in[0], to_channels_first);
    if (nhwc_filter)
        in[1] = onnx_permute(b, in[1], to_channels_first);
    struct onnx_value *y = in[0] && in[1] ? inner(b, n, "Conv", in, 3) : NULL;
    if (nhwc)
        y = onnx_permute(b, y, to_channels_last);
    if (sum)
        y = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, y, sum);
    return activated_by_order(b, n, y);
}

bool onnx_nhwc_max_pool(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    if (x && x->rank != 4)
        return onnx_fail(b, "rank %u is not supported", x->rank);
    x = onnx_permute(b, x, to_channels_first);
    return x && onnx_result(b, n, 0, onnx_permute(b, inner(b, n, "MaxPool", &x, 1), to_channels_last));
}

bool onnx_conv_transpose_pads(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *in[3] = { onnx_in(b, n, 0), onnx_in(b, n, 1), onnx_in_optional(b, n, 3) };
    const struct onnx_value *input = onnx_in_optional(b, n, 2);
    struct onnx_attribute attributes[ATTRIBUTES_MAX];
    int64_t pads[2 * ONNX_RANK_MAX];
    struct onnx_node node = *n;
    uint32_t count;
    if (!in[0] || !in[1] || b->failed || n->attribute_count >= ATTRIBUTES_MAX)
        return false;
    if (input) {
        if (!onnx_const_ints(b, input, pads, 2 * ONNX_RANK_MAX, &count))
            return false;
        for (uint32_t i = 0; i < n->attribute_count; i++)
            attributes[i] = n->attributes[i];
        attributes[n->attribute_count] = (struct onnx_attribute){ .name = "pads", .ints = pads, .count = count };
        node.attributes = attributes;
        node.attribute_count++;
    }
    return onnx_result(b, n, 0, inner(b, &node, "ConvTranspose", in, 3));
}

/* ---- the same operator under another name ---- */

bool onnx_renamed(struct onnx_builder *b, const struct onnx_node *n)
{
    static const struct {
        const char *op, *as;
        int64_t version;
    } names[] = {
        { "DynamicSlice", "Slice", 10 },
        { "ExpandDims", "Unsqueeze", 13 },
        { "GatherND", "GatherND", 13 },
        { "GridSample", "GridSample", 16 },
        { "Pad", "Pad", 11 },
        { "TorchEmbedding", "Gather", 13 },
        { "Trilu", "Trilu", 14 },
    };
    struct onnx_node node = *n;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (strcmp(names[i].op, n->op))
            continue;
        node.op = names[i].as;
        node.domain = "";
        node.version = names[i].version;
        if (!strcmp(n->op, "TorchEmbedding")) /* the rest is for training */
            node.input_count = BASE_MIN(n->input_count, 2);
        return onnx_convert_as(b, &node);
    }
    return false;
}

/* ai.onnx.ml ArrayFeatureExtractor: selects elements of the last dimension; the result has at least one row. */
bool onnx_array_feature_extractor(struct onnx_builder *b, const struct onnx_node *n)
{
    static const struct onnx_attribute last = { .name = "axis", .i = -1 };
    struct onnx_value *in[2] = { onnx_in(b, n, 0), onnx_in(b, n, 1) };
    struct onnx_node node = *n;
    if (!in[0] || !in[1])
        return false;
    if (!in[0]->rank)
        return onnx_fail(b, "'%s' has no dimensions", in[0]->name);
    int64_t count = onnx_elements(in[1]), dims[ONNX_RANK_MAX] = { 1 };
    uint32_t rank = BASE_MAX(in[0]->rank, 2u);
    for (uint32_t i = 0; i + 1 < in[0]->rank; i++)
        dims[i] = in[0]->dims[i];
    dims[rank - 1] = count;
    node.attributes = &last;
    node.attribute_count = 1;
    in[1] = onnx_as(b, in[1], 1, &count);
    struct onnx_value *y = in[1] ? inner(b, &node, "Gather", in, 2) : NULL;
    return y && onnx_result_as(b, n, 0, y, rank, dims);
}

/* All windows of one dimension, the elements of each as a new last dimension. */
bool onnx_unfold_tensor(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    int64_t size = onnx_attr_int(n, "size", 0), step = onnx_attr_int(n, "step", 1), dims[ONNX_RANK_MAX];
    uint32_t axis, strides[ONNX_RANK_MAX];
    if (!x || !onnx_axis(b, onnx_attr_int(n, "dim", -1), x->rank, &axis))
        return false;
    if (x->rank == ONNX_RANK_MAX || size < 1 || step < 1)
        return onnx_fail(b, "windows of %lld every %lld elements", (long long)size, (long long)step);
    if (size > x->dims[axis])
        return onnx_misfit(b, "windows of %lld of %lld elements", (long long)size, (long long)x->dims[axis]);
    memcpy(dims, x->dims, sizeof(dims));
    onnx_packed_strides(x->rank, x->dims, strides);
    dims[axis] = (x->dims[axis] - size) / step + 1;
    dims[x->rank] = size;
    strides[x->rank] = strides[axis];
    strides[axis] *= (uint32_t)step;
    return onnx_result(b, n, 0, onnx_view(b, x, x->rank + 1, dims, strides));
}

bool onnx_scale(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    struct onnx_value *factor = x ? onnx_scalar(b, x->type, (double)onnx_attr_float(n, "scale", 1.0f)) : NULL;
    return onnx_result(b, n, 0, onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, x, factor));
}

/* ---- determinant ---- */

#define DET_MAX 4

/* Expansion by rows from the last one up: minors[set] is the determinant of the processed rows and the columns in the
 * set. Accurate enough without pivoting up to DET_MAX. */
static struct onnx_value *determinant(struct onnx_builder *b, struct onnx_value *x, int64_t count, uint32_t size)
{
    struct onnx_value *minors[1 << DET_MAX] = { NULL };
    minors[0] = onnx_scalar(b, x->type, 1);
    for (uint32_t row = size; row-- > 0;) {
        for (uint32_t set = 0; set < 1u << size; set++) {
            bool negative = false;
            if ((uint32_t)__builtin_popcount(set) != size - row)
                continue;
            for (uint32_t column = 0; column < size; column++) {
                int64_t start[2] = { 0, row * size + column }, dims[2] = { count, 1 };
                if (!(set >> column & 1))
                    continue;
                struct onnx_value *term = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY,
                                                      onnx_window(b, x, start, dims), minors[set & ~(1u << column)]);
                minors[set] =
                    !minors[set]
                        ? term
                        : onnx_apply2(b, negative ? DML_OPERATOR_ELEMENT_WISE_SUBTRACT : DML_OPERATOR_ELEMENT_WISE_ADD,
                                      minors[set], term);
                negative = !negative;
                if (!minors[set])
                    return NULL;
            }
        }
    }
    return minors[(1u << size) - 1];
}

bool onnx_det(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    int64_t count = 1;
    if (!x)
        return false;
    int64_t size = x->rank < 2 ? 0 : x->dims[x->rank - 1];
    if (x->rank < 2 || size > DET_MAX || x->dims[x->rank - 2] != size)
        return onnx_fail(b, "only square matrices of up to %d rows are supported", DET_MAX);
    for (uint32_t i = 0; i + 2 < x->rank; i++)
        count *= x->dims[i];
    if (!size) { /* an empty product */
        struct onnx_value *one = onnx_scalar(b, x->type, 1);
        return one && onnx_result(b, n, 0, onnx_broadcast_copy(b, one, x->rank - 2, x->dims));
    }
    struct onnx_value *rows = onnx_as(b, x, 2, (int64_t[]){ count, size * size });
    return rows && onnx_result_as(b, n, 0, determinant(b, rows, count, (uint32_t)size), x->rank - 2, x->dims);
}
