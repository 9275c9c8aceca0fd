/* Convolution, matrix products, pooling. */
#include "onnx/build.h"

/* The window attributes that Conv, ConvTranspose and the poolings share. */
struct window {
    uint32_t spatial;
    UINT kernel[3], strides[3], dilations[3], start[3], end[3], output_padding[3];
};

static bool window_attribute(struct onnx_builder *b, const struct onnx_node *n, const char *name, uint32_t spatial,
                             UINT *out, UINT otherwise)
{
    int64_t values[3];
    uint32_t count = onnx_attr_ints(n, name, values, 3);
    if (count && count != spatial)
        return onnx_fail(b, "%s has %u values, %u are needed", name, count, spatial);
    for (uint32_t i = 0; i < spatial; i++) {
        if (count && (values[i] < 0 || values[i] > INT32_MAX))
            return onnx_fail(b, "%s[%u] = %lld", name, i, (long long)values[i]);
        out[i] = count ? (UINT)values[i] : otherwise;
    }
    return true;
}

/* `dims` = spatial sizes of the input. Padding by auto_pad is resolved for the forward direction. */
static bool window_read(struct onnx_builder *b, const struct onnx_node *n, struct window *w, const int64_t *dims)
{
    int64_t pads[6] = { 0 };
    if (!window_attribute(b, n, "strides", w->spatial, w->strides, 1) ||
        !window_attribute(b, n, "dilations", w->spatial, w->dilations, 1) ||
        !window_attribute(b, n, "output_padding", w->spatial, w->output_padding, 0))
        return false;
    uint32_t count = onnx_attr_ints(n, "pads", pads, 6);
    if (count && count != 2 * w->spatial)
        return onnx_fail(b, "pads has %u values, %u are needed", count, 2 * w->spatial);
    const char *automatic = onnx_attr_string(n, "auto_pad", "NOTSET");
    bool same = !strncmp(automatic, "SAME_", 5);
    for (uint32_t i = 0; i < w->spatial; i++) {
        if (!w->strides[i] || !w->dilations[i] || !w->kernel[i])
            return onnx_fail(b, "a stride, dilation or kernel size is 0");
        if (same) {
            int64_t out = (dims[i] + w->strides[i] - 1) / w->strides[i];
            int64_t need = (out - 1) * w->strides[i] + (int64_t)(w->kernel[i] - 1) * w->dilations[i] + 1 - dims[i];
            need = BASE_MAX(need, 0);
            pads[i] = !strcmp(automatic, "SAME_LOWER") ? need - need / 2 : need / 2;
            pads[i + w->spatial] = need - pads[i];
        }
        if (pads[i] < 0 || pads[i + w->spatial] < 0 || pads[i] > INT32_MAX || pads[i + w->spatial] > INT32_MAX)
            return onnx_fail(b, "pads must not be negative");
        w->start[i] = (UINT)pads[i];
        w->end[i] = (UINT)pads[i + w->spatial];
    }
    return true;
}

static int64_t window_output(const struct window *w, uint32_t i, int64_t in, bool ceil_mode)
{
    int64_t reach = (int64_t)(w->kernel[i] - 1) * w->dilations[i] + 1;
    int64_t room = in + w->start[i] + w->end[i] - reach;
    if (room < 0)
        return 0;
    int64_t out = (room + (ceil_mode ? w->strides[i] - 1 : 0)) / w->strides[i] + 1;
    /* The last window must start inside the input or its left padding. */
    if (ceil_mode && (out - 1) * w->strides[i] >= in + w->start[i])
        out--;
    return out;
}

/* ConvTranspose: total size, from output_shape when given (then the padding follows from it). */
static bool transposed_output(struct onnx_builder *b, const struct onnx_node *n, struct window *w, const int64_t *in,
                              int64_t *out)
{
    int64_t wanted[5];
    uint32_t count = onnx_attr_ints(n, "output_shape", wanted, 5);
    const char *automatic = onnx_attr_string(n, "auto_pad", "NOTSET");
    bool same = !strncmp(automatic, "SAME_", 5);
    for (uint32_t i = 0; i < w->spatial; i++) {
        int64_t full =
            (in[i] - 1) * w->strides[i] + (int64_t)(w->kernel[i] - 1) * w->dilations[i] + 1 + w->output_padding[i];
        out[i] = full - w->start[i] - w->end[i];
        if (!count && !same)
            continue;
        if (count && count < w->spatial)
            return onnx_fail(b, "output_shape has %u values, %u are needed", count, w->spatial);
        out[i] = count ? wanted[count - w->spatial + i] : in[i] * w->strides[i];
        int64_t crop = BASE_MAX(full - out[i], 0);
        w->start[i] = (UINT)(!strcmp(automatic, "SAME_UPPER") ? crop / 2 : crop - crop / 2);
        w->end[i] = (UINT)(crop - w->start[i]);
    }
    return true;
}

static bool conv_shape(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_value *x,
                       const struct onnx_value *w, struct window *window, int64_t *out)
{
    bool transposed = !strcmp(n->op, "ConvTranspose");
    int64_t group = onnx_attr_int(n, "group", 1);
    if (x->rank < 3 || x->rank > 5 || w->rank != x->rank || group < 1)
        return onnx_fail(b, "input of rank %u with a filter of rank %u, group %lld is not supported", x->rank, w->rank,
                         (long long)group);
    window->spatial = x->rank - 2;
    for (uint32_t i = 0; i < window->spatial; i++)
        window->kernel[i] = (UINT)w->dims[2 + i];
    if (!window_read(b, n, window, x->dims + 2))
        return false;
    out[0] = x->dims[0];
    out[1] = transposed ? w->dims[1] * group : w->dims[0];
    if (transposed)
        return transposed_output(b, n, window, x->dims + 2, out + 2);
    for (uint32_t i = 0; i < window->spatial; i++)
        out[2 + i] = window_output(window, i, x->dims[2 + i], false);
    return true;
}

bool onnx_conv(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *in[3] = { onnx_in(b, n, 0), onnx_in(b, n, 1), onnx_in_optional(b, n, 2) };
    struct window window = { 0 };
    int64_t dims[ONNX_RANK_MAX];
    struct onnx_desc d[4];
    if (!in[0] || !in[1] || !conv_shape(b, n, in[0], in[1], &window, dims))
        return false;
    struct onnx_value *y = onnx_out(b, n, 0, in[0]->type, in[0]->rank, dims);
    int64_t bias_dims[5] = { 1, dims[1], 1, 1, 1 };
    if (!y)
        return false;
    if (in[2] && onnx_elements(in[2]) != dims[1])
        return onnx_fail(b, "the bias has %lld values for %lld channels", (long long)onnx_elements(in[2]),
                         (long long)dims[1]);
    DML_CONVOLUTION_OPERATOR_DESC desc = {
        .InputTensor = onnx_desc(b, &d[0], in[0]),
        .FilterTensor = onnx_desc(b, &d[1], in[1]),
        .BiasTensor = in[2] ? onnx_desc_as(b, &d[2], in[2], in[0]->rank, bias_dims) : NULL,
        .OutputTensor = onnx_desc(b, &d[3], y),
        .Mode = DML_CONVOLUTION_MODE_CROSS_CORRELATION,
        .Direction =
            !strcmp(n->op, "ConvTranspose") ? DML_CONVOLUTION_DIRECTION_BACKWARD : DML_CONVOLUTION_DIRECTION_FORWARD,
        .DimensionCount = window.spatial,
        .Strides = window.strides,
        .Dilations = window.dilations,
        .StartPadding = window.start,
        .EndPadding = window.end,
        .OutputPadding = window.output_padding,
        .GroupCount = (UINT)onnx_attr_int(n, "group", 1),
    };
    return onnx_emit(b, DML_OPERATOR_CONVOLUTION, &desc, in, 3, &y, 1);
}

/* DirectML pools 4 or 5 dimensions: 3 become [N, C, 1, W]. */
struct pool_shape {
    uint32_t rank;
    int64_t in[5], out[5];
};

static bool emit_pool(struct onnx_builder *b, bool max, bool include, struct window *w, const struct pool_shape *shape,
                      struct onnx_value *x, struct onnx_value *const *y)
{
    struct onnx_desc d[3];
    const DML_TENSOR_DESC *tx = onnx_desc_as(b, &d[0], x, shape->rank, shape->in);
    const DML_TENSOR_DESC *ty = onnx_desc_as(b, &d[1], y[0], shape->rank, shape->out);
    UINT spatial = shape->rank - 2;
    if (max) {
        DML_MAX_POOLING2_OPERATOR_DESC desc = {
            tx,       ty,         y[1] ? onnx_desc_as(b, &d[2], y[1], shape->rank, shape->out) : NULL,
            spatial,  w->strides, w->kernel,
            w->start, w->end,     w->dilations,
        };
        return onnx_emit(b, DML_OPERATOR_MAX_POOLING2, &desc, &x, 1, y, 2);
    }
    DML_AVERAGE_POOLING1_OPERATOR_DESC desc = { tx,       ty,     spatial,      w->strides, w->kernel,
                                                w->start, w->end, w->dilations, include };
    return onnx_emit(b, DML_OPERATOR_AVERAGE_POOLING1, &desc, &x, 1, y, 1);
}

/* Puts a spatial dimension of size 1 in front when there is only one. */
static void window_widen(struct window *w, struct pool_shape *shape, const struct onnx_value *x, const int64_t *out)
{
    bool widen = x->rank == 3;
    shape->rank = x->rank + widen;
    for (uint32_t i = 0; i < x->rank; i++) {
        shape->in[i + (widen && i == 2)] = x->dims[i];
        shape->out[i + (widen && i == 2)] = out[i];
    }
    if (!widen)
        return;
    shape->in[2] = shape->out[2] = 1;
    UINT *const fields[] = { w->kernel, w->strides, w->dilations, w->start, w->end };
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        fields[i][1] = fields[i][0];
        fields[i][0] = i < 3;
    }
}

bool onnx_pool(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *y[2] = { NULL, NULL };
    struct window w = { 0 };
    int64_t dims[ONNX_RANK_MAX];
    bool max = !strcmp(n->op, "MaxPool"), ceil_mode = onnx_attr_int(n, "ceil_mode", 0) != 0;
    if (!x)
        return false;
    if (x->rank < 3 || x->rank > 5)
        return onnx_fail(b, "input of rank %u is not supported", x->rank);
    w.spatial = x->rank - 2;
    if (!window_attribute(b, n, "kernel_shape", w.spatial, w.kernel, 0) || !window_read(b, n, &w, x->dims + 2))
        return false;
    dims[0] = x->dims[0];
    dims[1] = x->dims[1];
    for (uint32_t i = 0; i < w.spatial; i++)
        dims[2 + i] = window_output(&w, i, x->dims[2 + i], ceil_mode);
    y[0] = onnx_out(b, n, 0, x->type, x->rank, dims);
    if (max && onnx_has_output(n, 1)) {
        if (onnx_attr_int(n, "storage_order", 0))
            return onnx_fail(b, "storage_order = 1 is not supported");
        y[1] = onnx_out(b, n, 1, ONNX_UINT64, x->rank, dims); /* non-negative: the bits of INT64 */
        if (y[1])
            y[1]->type = ONNX_UINT64;
    }
    struct pool_shape shape;
    window_widen(&w, &shape, x, dims);
    bool done = y[0] && emit_pool(b, max, onnx_attr_int(n, "count_include_pad", 0) != 0, &w, &shape, x, y);
    if (done && y[1])
        y[1]->type = ONNX_INT64;
    return done;
}

bool onnx_global_pool(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    int64_t dims[ONNX_RANK_MAX];
    UINT axes[ONNX_RANK_MAX];
    struct onnx_desc dx, dy;
    if (!x)
        return false;
    if (x->rank < 3)
        return onnx_fail(b, "input of rank %u is not supported", x->rank);
    for (uint32_t i = 0; i < x->rank; i++) {
        dims[i] = i < 2 ? x->dims[i] : 1;
        axes[i] = i + 2;
    }
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, dims);
    if (!y)
        return false;
    DML_REDUCE_OPERATOR_DESC desc = { !strcmp(n->op, "GlobalMaxPool") ? DML_REDUCE_FUNCTION_MAX
                                                                      : DML_REDUCE_FUNCTION_AVERAGE,
                                      onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), x->rank - 2, axes };
    return onnx_emit(b, DML_OPERATOR_REDUCE, &desc, &x, 1, &y, 1);
}

bool onnx_gemm(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *in[3] = { onnx_in(b, n, 0), onnx_in(b, n, 1), onnx_in_optional(b, n, 2) };
    bool ta = onnx_attr_int(n, "transA", 0), tb = onnx_attr_int(n, "transB", 0);
    struct onnx_desc d[4];
    if (!in[0] || !in[1])
        return false;
    if (in[0]->rank != 2 || in[1]->rank != 2 || in[0]->dims[!ta] != in[1]->dims[tb])
        return onnx_fail(b, "matrices do not fit: inner sizes %lld and %lld",
                         (long long)(in[0]->rank == 2 ? in[0]->dims[!ta] : -1),
                         (long long)(in[1]->rank == 2 ? in[1]->dims[tb] : -1));
    int64_t dims[2] = { in[0]->dims[ta], in[1]->dims[!tb] };
    struct onnx_value *y = onnx_out(b, n, 0, in[0]->type, 2, dims);
    if (!y)
        return false;
    DML_GEMM_OPERATOR_DESC desc = {
        onnx_desc(b, &d[0], in[0]),
        onnx_desc(b, &d[1], in[1]),
        in[2] ? onnx_desc_broadcast(b, &d[2], in[2], 2, dims) : NULL,
        onnx_desc(b, &d[3], y),
        ta ? DML_MATRIX_TRANSFORM_TRANSPOSE : DML_MATRIX_TRANSFORM_NONE,
        tb ? DML_MATRIX_TRANSFORM_TRANSPOSE : DML_MATRIX_TRANSFORM_NONE,
        onnx_attr_float(n, "alpha", 1.0f),
        onnx_attr_float(n, "beta", 1.0f),
        NULL,
    };
    return onnx_emit(b, DML_OPERATOR_GEMM, &desc, in, 3, &y, 1);
}

/* A MatMul operand as [batch dims of the result..., rows, columns], batch dimensions broadcast by stride 0. GEMM takes
 * four dimensions at most: the batch ones are merged where both operands agree. */
struct matmul {
    uint32_t batch_rank;
    int64_t batch[ONNX_RANK_MAX], m, k, n;
};

static int64_t batch_of(const struct onnx_value *v, uint32_t batch_rank, uint32_t i)
{
    uint32_t own = v->rank > 2 ? v->rank - 2 : 0;
    return i + own < batch_rank ? 1 : v->dims[i + own - batch_rank];
}

static const DML_TENSOR_DESC *matmul_desc(struct onnx_builder *b, struct onnx_desc *d, struct onnx_value *v,
                                          const struct matmul *mm, int64_t rows, int64_t columns)
{
    int64_t dims[4] = { 1, 1, rows, columns }, step = rows * columns;
    uint32_t strides[4] = { 0, 0, (uint32_t)columns, 1 }, at = 4 - 2;
    for (uint32_t i = mm->batch_rank; i-- > 0 && at > 0;) {
        at--;
        dims[at] = mm->batch[i];
        int64_t own = batch_of(v, mm->batch_rank, i);
        strides[at] = own == 1 ? 0 : (uint32_t)step;
        step *= own;
    }
    return onnx_desc_strided(b, d, v, 4, dims, strides);
}

static bool matmul_shape(struct onnx_builder *b, const struct onnx_value *x, const struct onnx_value *z,
                         struct matmul *mm)
{
    mm->m = x->rank > 1 ? x->dims[x->rank - 2] : 1;
    mm->k = x->dims[x->rank - 1];
    mm->n = z->rank > 1 ? z->dims[z->rank - 1] : 1;
    int64_t inner = z->dims[z->rank > 1 ? z->rank - 2 : 0];
    if (mm->k != inner)
        return onnx_fail(b, "matrices do not fit: inner sizes %lld and %lld", (long long)mm->k, (long long)inner);
    uint32_t rx = x->rank > 2 ? x->rank - 2 : 0, rz = z->rank > 2 ? z->rank - 2 : 0;
    mm->batch_rank = BASE_MAX(rx, rz);
    for (uint32_t i = 0; i < mm->batch_rank; i++) {
        int64_t bx = batch_of(x, mm->batch_rank, i), bz = batch_of(z, mm->batch_rank, i);
        if (bx != bz && bx != 1 && bz != 1)
            return onnx_fail(b, "batch dimensions %lld and %lld do not broadcast", (long long)bx, (long long)bz);
        mm->batch[i] = BASE_MAX(bx, bz);
    }
    return true;
}

/* Weights without batch: all rows of the left operand form one matrix. More than two batch dimensions that both
 * operands share are merged into one. */
static bool matmul_merge(struct onnx_builder *b, const struct onnx_value *x, const struct onnx_value *z,
                         struct matmul *mm)
{
    bool shared_right = z->rank <= 2, equal = true;
    int64_t product = 1;
    for (uint32_t i = 0; i < mm->batch_rank; i++) {
        product *= mm->batch[i];
        equal = equal && batch_of(x, mm->batch_rank, i) == batch_of(z, mm->batch_rank, i);
        shared_right = shared_right && batch_of(x, mm->batch_rank, i) == mm->batch[i];
    }
    if (shared_right) {
        mm->m *= product;
        mm->batch_rank = 0;
    } else if (mm->batch_rank > 2 && !equal) {
        return onnx_fail(b, "broadcasting more than two batch dimensions is not supported");
    }
    return true;
}

bool onnx_matmul(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *in[2] = { onnx_in(b, n, 0), onnx_in(b, n, 1) };
    struct matmul mm;
    struct onnx_desc d[3];
    int64_t dims[ONNX_RANK_MAX];
    uint32_t rank = 0;
    if (!in[0] || !in[1])
        return false;
    if (!in[0]->rank || !in[1]->rank)
        return onnx_fail(b, "scalars cannot be multiplied as matrices");
    if (!matmul_shape(b, in[0], in[1], &mm))
        return false;
    for (uint32_t i = 0; i < mm.batch_rank; i++)
        dims[rank++] = mm.batch[i];
    if (in[0]->rank > 1)
        dims[rank++] = mm.m;
    if (in[1]->rank > 1)
        dims[rank++] = mm.n;
    struct onnx_value *y = onnx_out(b, n, 0, in[0]->type, rank, dims);
    if (!y || !matmul_merge(b, in[0], in[1], &mm))
        return false;
    struct onnx_value shape_x = *in[0], shape_z = *in[1], shape_y = *y;
    if (mm.batch_rank > 2) { /* equal batches on both sides: one dimension */
        struct onnx_value *const all[3] = { &shape_x, &shape_z, &shape_y };
        int64_t product = 1;
        for (uint32_t i = 0; i < mm.batch_rank; i++)
            product *= mm.batch[i];
        for (uint32_t i = 0; i < 3; i++) {
            all[i]->dims[0] = product;
            all[i]->dims[1] = all[i]->dims[all[i]->rank - 2];
            all[i]->dims[2] = all[i]->dims[all[i]->rank - 1];
            all[i]->rank = 3;
        }
        mm.batch_rank = 1;
        mm.batch[0] = product;
    }
    /* materialise through the real values, describe through the merged shapes */
    const DML_TENSOR_DESC *tx = onnx_desc(b, &d[0], in[0]), *tz = onnx_desc(b, &d[1], in[1]);
    if (!tx || !tz)
        return false;
    shape_x.materialised = shape_z.materialised = true;
    shape_x.owned = in[0]->owned;
    shape_z.owned = in[1]->owned;
    DML_GEMM_OPERATOR_DESC desc = {
        .ATensor = matmul_desc(b, &d[0], &shape_x, &mm, mm.m, mm.k),
        .BTensor = matmul_desc(b, &d[1], &shape_z, &mm, mm.k, mm.n),
        .OutputTensor = matmul_desc(b, &d[2], &shape_y, &mm, mm.m, mm.n),
        .Alpha = 1.0f,
    };
    struct onnx_value *slots[3] = { in[0], in[1], NULL };
    return onnx_emit(b, DML_OPERATOR_GEMM, &desc, slots, 3, &y, 1);
}
