/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and GEMMs of dequantised 8-bit values multiply the integers: the sums are exact, followed by one
 * multiplication by the product of the scales. A division by the scale of the next quantisation remains a division,
 * because multiplying by the quotient of the scales rounds differently next to ties. Scales and zero points must be
 * constants. Zero points that are constant zeros are removed. */
#include "graph/passes/quantized.h"

#include <math.h>

/* The replacement of one op. */
struct factors {
    struct graph_dequantized a, b;
    uint32_t channels, channel_dim; /* of the output: along which B's scale may vary */
    float *scale, *bias;            /* [channels]; bias NULL: none */
    int32_t *sum_bias;              /* [channels]: the bias in units of the scale; NULL: no bias, or not integers */
};

static bool is_bytes(const struct graph_operand *operand)
{
    return operand->view.type == DML_TENSOR_DATA_TYPE_INT8 || operand->view.type == DML_TENSOR_DATA_TYPE_UINT8;
}

static bool suits(const struct graph_op *op)
{
    const struct kern_op *k = &op->k;
    if (op->dead || k->epilogue || k->output_count != 1)
        return false;
    for (uint32_t t = 0; t <= k->input_count; t++)
        if (k->tensors[t].type != DML_TENSOR_DATA_TYPE_FLOAT32)
            return false;
    if (k->kind == KERN_CONV)
        return !k->u.conv.integer && !k->u.conv.transposed;
    return k->kind == KERN_GEMM && !k->u.gemm.integer && (!k->u.gemm.has_c || k->u.gemm.beta == 1);
}

/* Dimension of the second factor along which its scale may vary: output channels, columns. */
static uint32_t scale_dim(const struct kern_op *k)
{
    return k->kind == KERN_CONV ? 0 : k->tensors[1].rank - 1;
}

/* Sums are INT32: none may wrap that was correct in floats. A bias may use up to half of the range (find_sum_bias). */
static bool sums_fit(const struct kern_op *k)
{
    const struct kern_view *a = &k->tensors[0], *b = &k->tensors[1];
    bool is_conv = k->kind == KERN_CONV, adds = is_conv && k->u.conv.has_bias;
    uint64_t outs = BASE_MAX(b->sizes[0], 1u), terms = is_conv ? kern_view_elements(b) / outs : a->sizes[a->rank - 1];
    return terms <= (adds ? INT32_MAX / 2 : INT32_MAX) / (255 * 255);
}

static bool find_factors(struct graph *graph, const struct graph_uses *uses, uint32_t at, struct factors *out)
{
    const struct graph_op *op = graph->ops[at];
    const struct kern_view *y = &op->k.tensors[op->k.input_count];
    memset(out, 0, sizeof(*out));
    if (!suits(op) || !sums_fit(&op->k) || !graph_dequantized_find(graph, uses, at, 0, GRAPH_NONE, &out->a) ||
        !graph_dequantized_find(graph, uses, at, 1, scale_dim(&op->k), &out->b) || !is_bytes(&out->a.q) ||
        !is_bytes(&out->b.q))
        return false;
    out->channel_dim = op->k.kind == KERN_CONV ? 1 : y->rank - 1;
    out->channels = y->sizes[out->channel_dim];
    return out->b.count == 1 || out->b.count == out->channels;
}

/* The bias as floats; false when it is not known or not one per channel. */
static bool find_bias(struct graph *graph, const struct graph_uses *uses, uint32_t at, struct factors *f)
{
    const struct graph_op *op = graph->ops[at];
    bool present = op->k.kind == KERN_CONV ? op->k.u.conv.has_bias : op->k.u.gemm.has_c;
    const struct kern_view *view = &op->k.tensors[2];
    struct graph_dequantized dq;
    if (!present)
        return true;
    for (uint32_t d = 0; d < view->rank; d++)
        if (d != f->channel_dim && view->sizes[d] > 1 && view->strides[d])
            return false;
    bool known = graph->values[op->value[2]].place == GRAPH_CONSTANT;
    if (!known && !(graph_dequantized_find(graph, uses, at, 2, f->channel_dim, &dq) &&
                    graph->values[dq.q.value].place == GRAPH_CONSTANT))
        return false;
    f->bias = base_arena_alloc(&graph->arena, f->channels * sizeof(float));
    if (!f->bias) {
        graph->failed = true;
        return false;
    }
    const struct kern_view *from = known ? view : &dq.q.view;
    const void *data = graph_constant_data(graph, known ? op->value[2] : dq.q.value);
    if (!data)
        return false;
    int64_t step = from->sizes[f->channel_dim] > 1 ? from->strides[f->channel_dim] : 0;
    for (uint32_t c = 0; c < f->channels; c++) {
        double value = graph_constant_element(data, from, from->offset + c * step);
        f->bias[c] =
            (float)(known ? value : (value - graph_dequantized_zero(&dq, c)) * graph_dequantized_scale(&dq, c));
    }
    return true;
}

static bool find_scale(struct graph *graph, const struct graph_op *op, struct factors *f)
{
    float alpha = op->k.kind == KERN_GEMM ? op->k.u.gemm.alpha : 1;
    f->scale = base_arena_alloc(&graph->arena, f->channels * sizeof(float));
    if (!f->scale)
        graph->failed = true;
    for (uint32_t c = 0; f->scale && c < f->channels; c++)
        f->scale[c] = alpha * graph_dequantized_scale(&f->a, 0) * graph_dequantized_scale(&f->b, c);
    return f->scale != NULL;
}

/* Integer convolutions add an integer bias: biases that are integer multiples of the scale, up to the rounding of both,
 * as quantisation tools produce them. */
static bool find_sum_bias(struct graph *graph, const struct graph_op *op, struct factors *f)
{
    if (op->k.kind != KERN_CONV || !f->bias)
        return true;
    int32_t *sums = base_arena_alloc(&graph->arena, f->channels * sizeof(*sums));
    if (!sums)
        return false;
    for (uint32_t c = 0; c < f->channels; c++) {
        double units = (double)f->bias[c] / f->scale[c], whole = nearbyint(units);
        if (!(fabs(units) < 0x1p30) || fabs(units - whole) > 1e-6 * fabs(units))
            return true;
        sums[c] = (int32_t)whole;
    }
    f->sum_bias = sums;
    f->bias = NULL;
    return true;
}

/* A constant [1..., channels, 1...]. */
static struct graph_operand channel_constant(struct graph *graph, const struct kern_view *y, uint32_t dim,
                                             DML_TENSOR_DATA_TYPE type, const void *data)
{
    struct graph_operand result = { GRAPH_NONE, { 0 } };
    uint32_t sizes[KERN_RANK_MAX];
    for (uint32_t d = 0; d < y->rank; d++)
        sizes[d] = d == dim ? y->sizes[d] : 1;
    kern_view_set_packed(&result.view, type, y->rank, sizes);
    result.value = graph_constant_add(graph, data, kern_view_elements(&result.view) * kern_type_bytes(type));
    return result;
}

/* A zero point as an operand, unless it is zero. `dim` GRAPH_NONE: one for the tensor. */
static bool add_zero(struct graph *graph, const struct graph_dequantized *dq, const struct kern_view *y, uint32_t dim,
                     bool broadcast, struct graph_operand *inputs, uint32_t *count)
{
    uint32_t channels = dim == GRAPH_NONE ? 1 : y->sizes[dim];
    int8_t *data = base_arena_alloc(&graph->arena, channels);
    bool any = false;
    for (uint32_t c = 0; data && c < channels; c++) {
        data[c] = (int8_t)(int32_t)graph_dequantized_zero(dq, c);
        any |= data[c] != 0;
    }
    if (!data)
        graph->failed = true;
    if (!any || !data)
        return false;
    inputs[*count] = channel_constant(graph, y, dim, dq->q.view.type, data);
    if (broadcast)
        inputs[*count].view = graph_view_broadcast(&inputs[*count].view, y->rank, y->sizes);
    (*count)++;
    return true;
}

/* The op on bytes, giving INT32. */
static void make_integer(struct graph *graph, struct graph_op *op, const struct factors *f,
                         const struct graph_operand *sums)
{
    const struct kern_view y = op->k.tensors[op->k.input_count];
    bool conv = op->k.kind == KERN_CONV, a_zero, b_zero;
    struct graph_operand in[5] = { f->a.q, f->b.q };
    uint32_t count = 2;
    if (f->sum_bias)
        in[count++] = channel_constant(graph, &y, f->channel_dim, DML_TENSOR_DATA_TYPE_INT32, f->sum_bias);
    a_zero = add_zero(graph, &f->a, &y, GRAPH_NONE, !conv, in, &count);
    b_zero = add_zero(graph, &f->b, &y, f->channel_dim, !conv, in, &count);
    if (conv) {
        op->k.u.conv.integer = true;
        op->k.u.conv.has_bias = f->sum_bias != NULL;
        op->k.u.conv.has_x_zero = a_zero;
        op->k.u.conv.has_w_zero = b_zero;
    } else {
        op->k.u.gemm = (struct kern_gemm){ .alpha = 1, .integer = true, .has_a_zero = a_zero, .has_b_zero = b_zero };
    }
    for (uint32_t i = 0; i < count; i++) {
        op->value[i] = in[i].value;
        op->k.tensors[i] = in[i].view;
    }
    op->k.input_count = count;
    op->value[count] = sums->value;
    op->k.tensors[count] = sums->view;
}

/* out = sums * scale [+ bias], behind the op at `at`. */
static void add_scaling(struct graph *graph, uint32_t at, const struct factors *f, const struct graph_operand *sums,
                        const struct graph_operand *out)
{
    const uint8_t f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    struct graph_operand in[3] = { *sums };
    uint32_t count = 2 + (f->bias != NULL);
    in[1] = channel_constant(graph, &out->view, f->channel_dim, f32, f->scale);
    if (f->bias)
        in[2] = channel_constant(graph, &out->view, f->channel_dim, f32, f->bias);
    if (graph->failed)
        return;
    for (uint32_t i = 1; i < count; i++)
        in[i].view = graph_view_broadcast(&in[i].view, out->view.rank, out->view.sizes);
    struct graph_op *map = graph_op_insert(graph, at + 1, graph->ops[at], KERN_MAP, in, count, out);
    if (!map)
        return;
    struct kern_map *program = &map->k.u.map;
    for (uint32_t i = 0; i < count; i++)
        program->load_type[i] = f32;
    program->inst[program->inst_count++] = (struct kern_map_inst){ KERN_MAP_MUL, f32, f32, { 0, 1 }, { { 0 } } };
    if (f->bias)
        program->inst[program->inst_count++] =
            (struct kern_map_inst){ KERN_MAP_ADD, f32, f32, { (uint8_t)count, 2 }, { { 0 } } };
    program->store[0] = (uint8_t)(count + program->inst_count - 1);
}

static bool rewrite(struct graph *graph, struct graph_uses *uses, uint32_t at)
{
    struct graph_op *op = graph->ops[at];
    struct factors f;
    if (!find_factors(graph, uses, at, &f) || !find_bias(graph, uses, at, &f) || !find_scale(graph, op, &f) ||
        !find_sum_bias(graph, op, &f))
        return false;
    struct graph_operand out = { op->value[op->k.input_count], op->k.tensors[op->k.input_count] };
    struct graph_operand sums = graph_temp(graph, DML_TENSOR_DATA_TYPE_INT32, out.view.rank, out.view.sizes);
    if (graph->failed)
        return false;
    make_integer(graph, op, &f, &sums);
    add_scaling(graph, at, &f, &sums, &out);
    /* The op, and the scaling that was inserted behind it. */
    graph->failed |= graph->failed || !graph_uses_refresh(uses, at) || !graph_uses_refresh(uses, graph->op_count - 1);
    return !graph->failed;
}

HRESULT graph_pass_integer(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct graph_uses uses;
    bool dropped = false;
    (void)options;
    for (uint32_t i = 0; i < graph->op_count; i++)
        dropped |= graph_drop_zero_points(graph, graph->ops[i]);
    if (dropped)
        graph_uses_forget(graph);
    *changed |= dropped;
    bool ok = graph_uses_init(&uses, graph);
    for (uint32_t i = 0; ok && i < graph->op_count && !graph->failed; i++) {
        struct graph_op *op = graph->ops[i];
        if ((op->k.kind != KERN_CONV && op->k.kind != KERN_GEMM) || !suits(op))
            continue;
        *changed |= rewrite(graph, &uses, i);
    }
    graph_uses_finish(&uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
