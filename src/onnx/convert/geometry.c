/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/convert/geometry.h"

/* ---- windows ---- */

bool onnx_window_attribute(struct onnx_builder *b, const struct onnx_node *n, const char *name, uint32_t spatial,
                           UINT *out, UINT otherwise)
{
    int64_t values[3];
    uint32_t count;
    if (!onnx_attr_ints(b, n, name, values, 3, &count))
        return false;
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
bool onnx_window_read(struct onnx_builder *b, const struct onnx_node *n, struct onnx_window *w, const int64_t *dims)
{
    int64_t pads[6] = { 0 };
    if (!onnx_window_attribute(b, n, "strides", w->spatial, w->strides, 1) ||
        !onnx_window_attribute(b, n, "dilations", w->spatial, w->dilations, 1) ||
        !onnx_window_attribute(b, n, "output_padding", w->spatial, w->output_padding, 0))
        return false;
    uint32_t count;
    if (!onnx_attr_ints(b, n, "pads", pads, 6, &count))
        return false;
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

/* What remains of the padded input behind the first window; negative if the window is larger. */
static int64_t slack_of(const struct onnx_window *w, uint32_t i, int64_t in)
{
    return in + w->start[i] + w->end[i] - ((int64_t)(w->kernel[i] - 1) * w->dilations[i] + 1);
}

int64_t onnx_window_output(const struct onnx_window *w, uint32_t i, int64_t in)
{
    int64_t slack = slack_of(w, i, in);
    return slack < 0 ? 0 : slack / w->strides[i] + 1;
}

int64_t onnx_pool_output(const struct onnx_window *w, uint32_t i, int64_t in, bool ceil_mode)
{
    int64_t slack = slack_of(w, i, in);
    if (slack < 0) /* both roundings, and ONNX Runtime's division, are towards zero */
        return in ? BASE_MAX(slack / w->strides[i] + 1, 0) : 0;
    int64_t out = (slack + (ceil_mode ? w->strides[i] - 1 : 0)) / w->strides[i] + 1;
    /* The last window must start inside the input or its left padding. */
    if (ceil_mode && (out - 1) * w->strides[i] >= in + w->start[i])
        out--;
    return out;
}

/* Puts a spatial dimension of size 1 in front when there is only one. */
void onnx_window_widen(struct onnx_window *w, struct onnx_pool_shape *shape, const struct onnx_value *x,
                       const int64_t *out)
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

/* ---- matrix products ---- */

/* Batch dimensions of a product, outermost first: a step of 0 is a broadcast. */
struct batch {
    uint32_t rank;
    int64_t sizes[ONNX_RANK_MAX], steps[3][ONNX_RANK_MAX];
};

static int64_t batch_of(const struct onnx_value *v, uint32_t batch_rank, uint32_t i)
{
    uint32_t own = v->rank > 2 ? v->rank - 2 : 0;
    return i + own < batch_rank ? 1 : v->dims[i + own - batch_rank];
}

/* Adds an outermost dimension: unless it is to stay apart, it is merged into the previous outermost one if all three
 * operands can step through both as through one. */
static void batch_add(struct batch *batch, int64_t size, const int64_t *steps, bool apart)
{
    uint32_t last = batch->rank;
    bool merge = last > 0 && !apart;
    if (size == 1)
        return;
    for (uint32_t t = 0; t < 3 && merge; t++)
        merge = steps[t] == onnx_size_product(batch->steps[t][last - 1], batch->sizes[last - 1]);
    if (merge) {
        batch->sizes[last - 1] = onnx_size_product(batch->sizes[last - 1], size);
        return;
    }
    batch->sizes[last] = size;
    for (uint32_t t = 0; t < 3; t++)
        batch->steps[t][last] = steps[t];
    batch->rank++;
}

/* Both operands have the same two batch dimensions, such as images and heads: DirectML's. Where heads are transposed in
 * memory, only these can be views; as one dimension they would have to be copied. */
static bool has_two_batches(const struct onnx_value *x, const struct onnx_value *z)
{
    uint32_t count = 0;
    if (x->rank != z->rank)
        return false;
    for (uint32_t i = 0; i + 2 < x->rank; i++) {
        if (x->dims[i] != z->dims[i])
            return false;
        count += x->dims[i] != 1;
    }
    return count == 2;
}

static bool batch_plan(struct onnx_builder *b, const struct onnx_value *x, const struct onnx_value *z,
                       struct onnx_product *p, struct batch *batch)
{
    uint32_t rx = x->rank > 2 ? x->rank - 2 : 0, rz = z->rank > 2 ? z->rank - 2 : 0, rank = BASE_MAX(rx, rz);
    int64_t next[3] = { p->m * p->k, p->k * p->n, p->m * p->n };
    const bool apart = has_two_batches(x, z);
    batch->rank = 0;
    for (uint32_t i = rank; i-- > 0;) {
        int64_t bx = batch_of(x, rank, i), bz = batch_of(z, rank, i);
        if (bx != bz && bx != 1 && bz != 1)
            return onnx_misfit(b, "batch dimensions %lld and %lld do not broadcast", (long long)bx, (long long)bz);
        p->dims[i] = bx == 1 ? bz : bx;
        const int64_t steps[3] = { bx == 1 ? 0 : next[0], bz == 1 ? 0 : next[1], next[2] };
        batch_add(batch, p->dims[i], steps, apart);
        next[0] = onnx_size_product(next[0], bx);
        next[1] = onnx_size_product(next[1], bz);
        next[2] = onnx_size_product(next[2], p->dims[i]);
    }
    p->rank = rank;
    return true;
}

/* Weights without batch: all rows of the left operand form one matrix. */
static void join_rows(struct onnx_product *p, struct batch *batch)
{
    if (!batch->rank || batch->steps[1][0] || batch->steps[0][0] != p->m * p->k)
        return;
    p->m = onnx_size_product(p->m, batch->sizes[0]);
    batch->rank--;
    memmove(batch->sizes, batch->sizes + 1, batch->rank * sizeof(*batch->sizes));
    for (uint32_t t = 0; t < 3; t++)
        memmove(batch->steps[t], batch->steps[t] + 1, batch->rank * sizeof(*batch->steps[t]));
}

bool onnx_product_plan(struct onnx_builder *b, const struct onnx_value *x, const struct onnx_value *z, bool keep_rows,
                       struct onnx_product *p)
{
    struct batch batch;
    if (!x->rank || !z->rank)
        return onnx_fail(b, "scalars cannot be multiplied as matrices");
    memset(p, 0, sizeof(*p));
    p->m = x->rank > 1 ? x->dims[x->rank - 2] : 1;
    p->k = x->dims[x->rank - 1];
    p->n = z->rank > 1 ? z->dims[z->rank - 1] : 1;
    int64_t inner = z->dims[z->rank > 1 ? z->rank - 2 : 0];
    if (p->k != inner)
        return onnx_misfit(b, "matrices do not fit: inner sizes %lld and %lld", (long long)p->k, (long long)inner);
    if (!batch_plan(b, x, z, p, &batch))
        return false;
    if (x->rank > 1)
        p->dims[p->rank++] = p->m;
    if (z->rank > 1)
        p->dims[p->rank++] = p->n;
    if (!keep_rows)
        join_rows(p, &batch);
    if (batch.rank > 2)
        return onnx_fail(b, "broadcasting more than two batch dimensions is not supported");
    p->batch[0] = p->batch[1] = 1;
    for (uint32_t i = 0; i < batch.rank; i++) {
        p->batch[1 - i] = batch.sizes[i];
        for (uint32_t t = 0; t < 3; t++)
            p->steps[t][1 - i] = batch.steps[t][i];
    }
    return true;
}

const DML_TENSOR_DESC *onnx_product_desc(struct onnx_builder *b, struct onnx_desc *d, struct onnx_value *v,
                                         const struct onnx_product *p, uint32_t operand)
{
    int64_t rows = operand == 1 ? p->k : p->m, columns = operand == 0 ? p->k : p->n;
    int64_t dims[4] = { p->batch[0], p->batch[1], rows, columns };
    uint32_t strides[4] = { (uint32_t)p->steps[operand][0], (uint32_t)p->steps[operand][1], (uint32_t)columns, 1 };
    return onnx_desc_strided(b, d, v, 4, dims, strides);
}
