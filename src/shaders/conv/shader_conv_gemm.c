/* SPDX-License-Identifier: Apache-2.0 */
/* 1x1 convolutions as GEMMs: rows are pixels, columns output channels. The kernels for GEMM run them, on the same
 * memory. */
#include "shaders/conv/shader_conv.h"

#include "kernels/core/kernel.h"
#include "shaders/shader.h"

/* An image as [images, pixels, channels], or as [pixels, channels] if its pixels have equal strides across images:
 * those of size 1 are ignored. false: the pixels of an image do not. */
static bool as_matrix(const struct kern_view *image, bool one, struct kern_view *out)
{
    int64_t stride = 0, count = 1;
    *out = *image;
    for (uint32_t d = image->rank; d-- > 2;) {
        if (image->sizes[d] == 1)
            continue;
        if (count > 1 && image->strides[d] != stride * count)
            return false;
        stride = count > 1 ? stride : image->strides[d];
        count *= image->sizes[d];
    }
    if (one && count > 1 && image->sizes[0] > 1 && image->strides[0] != stride * count)
        return false;
    if (one && count == 1)
        stride = image->strides[0];
    if (one)
        count *= image->sizes[0];
    out->rank = one ? 2 : 3;
    out->sizes[out->rank - 2] = (uint32_t)count;
    out->strides[out->rank - 2] = count > 1 ? stride : 0;
    out->sizes[out->rank - 1] = image->sizes[1];
    out->strides[out->rank - 1] = image->strides[1];
    return count <= UINT32_MAX;
}

/* X, Y, and all that has Y's pixels and images, or one of them. */
static bool all_as_matrices(const struct kern_op *op, bool one, struct kern_op *out)
{
    const struct kern_view *y = &out->tensors[op->input_count];
    *out = *op;
    if (!as_matrix(&op->tensors[op->input_count], one, &out->tensors[op->input_count]))
        return false;
    for (uint32_t t = 0; t < op->input_count; t++) {
        struct kern_view *view = &out->tensors[t];
        if (t == 1)
            continue;
        if (!as_matrix(&op->tensors[t], one, view))
            return false;
        for (uint32_t d = 0; d + 1 < y->rank; d++)
            if (view->sizes[d] != y->sizes[d] && view->sizes[d] != 1)
                return false;
    }
    return true;
}

/* The weights are [channels, output channels], the same ones for each image; a bias has every pixel. */
static void finish_matrices(const struct kern_op *op, struct kern_op *out)
{
    const struct kern_view *w = &op->tensors[1], *y = &out->tensors[op->input_count];
    struct kern_view *b = &out->tensors[1];
    *b = *w;
    b->rank = y->rank;
    for (uint32_t d = 0; d + 2 < y->rank; d++) {
        b->sizes[d] = y->sizes[d];
        b->strides[d] = 0;
    }
    b->sizes[y->rank - 2] = w->sizes[1];
    b->strides[y->rank - 2] = w->strides[1];
    b->sizes[y->rank - 1] = w->sizes[0];
    b->strides[y->rank - 1] = w->strides[0];
    if (op->u.conv.has_bias) {
        struct kern_view *c = &out->tensors[2];
        for (uint32_t d = 0; d + 1 < y->rank; d++) {
            c->sizes[d] = y->sizes[d];
            c->strides[d] = 0;
        }
    }
    out->kind = KERN_GEMM;
    memset(&out->u, 0, sizeof(out->u));
    out->u.gemm.alpha = 1;
    out->u.gemm.beta = 1;
    out->u.gemm.has_c = op->u.conv.has_bias;
}

/* The convolution as a GEMM, else the reason why it is none. */
static const char *as_product(const struct kern_op *op, struct kern_op *out)
{
    struct conv_shape s;
    const char *found = shader_conv_unsupported(op, &s);
    if (found)
        return found;
    if (op->u.conv.integer)
        return "no shader for these data types";
    if (!conv_is_pointwise(&s) || s.in[0] != s.out[0] || s.in[1] != s.out[1] || s.in[2] != s.out[2])
        return "no shader for such windows";
    if (!all_as_matrices(op, true, out) && !all_as_matrices(op, false, out))
        return "the pixels do not have equal strides";
    finish_matrices(op, out);
    return NULL;
}

const char *shader_conv_gemm_coop_unsupported(const struct kern_op *op)
{
    struct kern_op product;
    const char *found = as_product(op, &product);
    return found ? found : shader_gemm_coop_unsupported(&product);
}

void shader_conv_gemm_coop_plan(const struct kern_op *op, struct shader_work *out)
{
    struct kern_op product;
    if (!as_product(op, &product))
        shader_gemm_coop_plan(&product, out);
}

void shader_conv_gemm_coop_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                 uint32_t *words)
{
    struct kern_op product;
    if (!as_product(op, &product))
        shader_gemm_coop_write(&product, index, places, words);
}

/* If blocks of sums fill the device; otherwise conv_parts is as fast, whose workgroups share sums. */
const char *shader_conv_gemm_block_unsupported(const struct kern_op *op)
{
    struct kern_op product;
    const char *found = as_product(op, &product);
    if (found)
        return found;
    const struct kern_view *a = &product.tensors[0], *y = &product.tensors[product.input_count];
    uint64_t steps = a->sizes[a->rank - 1];
    for (uint32_t d = 0; d < y->rank; d++)
        steps *= y->sizes[d];
    if (!shader_conv_takes_small() && steps < TUNE_CONV_BLOCK_STEPS_MIN)
        return "the convolution is small";
    return shader_gemm_block_unsupported(&product);
}

void shader_conv_gemm_block_plan(const struct kern_op *op, struct shader_work *out)
{
    struct kern_op product;
    if (!as_product(op, &product))
        shader_gemm_block_plan(&product, out);
}

void shader_conv_gemm_block_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                  uint32_t *words)
{
    struct kern_op product;
    if (!as_product(op, &product))
        shader_gemm_block_write(&product, index, places, words);
}

/* Of few pixels, which are as slow as reading the weights. */
const char *shader_conv_gemm_line_unsupported(const struct kern_op *op)
{
    struct kern_op product;
    const char *found = as_product(op, &product);
    if (found)
        return found;
    const struct kern_view *y = &product.tensors[product.input_count];
    if (y->sizes[y->rank - 2] > y->sizes[y->rank - 1])
        return "it has more pixels than channels";
    return shader_gemm_line_any_unsupported(&product);
}

void shader_conv_gemm_line_plan(const struct kern_op *op, struct shader_work *out)
{
    struct kern_op product;
    if (!as_product(op, &product))
        shader_gemm_line_plan(&product, out);
}

void shader_conv_gemm_line_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                 uint32_t *words)
{
    struct kern_op product;
    if (!as_product(op, &product))
        shader_gemm_line_write(&product, index, places, words);
}
