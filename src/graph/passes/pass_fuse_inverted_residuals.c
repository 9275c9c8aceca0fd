/* SPDX-License-Identifier: Apache-2.0 */
/* Inverted residual: a pointwise convolution that expands the channels, a depthwise one, and a pointwise one that
 * reduces them become one op, which never stores the expanded tensors whole. The first may also have windows and few
 * input channels (kernels report the limit). Between the convolutions there may be clamps only; an element-wise op
 * after the last remains its epilogue. Intermediate results must not have other readers, weights are constant, and X
 * must not change until the last convolution ran. Applied if a kernel other than the reference accepts the op. */
#include "graph/passes/pass.h"

#include "kernels/core/epilogue.h"

/* The kernels process an image row by row: shorter rows leave tiles half empty. */
#define ROW_MIN 7

struct blocks {
    struct graph *graph;
    const struct graph_options *options;
    struct graph_uses uses;
};

/* Constant parameters of a convolution in FLOAT32. */
static bool known_weights(const struct blocks *b, const struct graph_op *conv)
{
    for (uint32_t t = 1; t < 2u + conv->k.u.conv.has_bias; t++)
        if (!graph_value_fixed(b->graph, b->options, conv->value[t]) ||
            conv->k.tensors[t].type != DML_TENSOR_DATA_TYPE_FLOAT32)
            return false;
    return true;
}

static bool plain_conv(const struct blocks *b, const struct graph_op *op)
{
    const struct kern_conv *conv = &op->k.u.conv;
    const struct kern_view *y = &op->k.tensors[op->k.input_count];
    return op->k.kind == KERN_CONV && !op->dead && conv->spatial == 2 && !conv->transposed && !conv->flip &&
           !conv->integer && conv->dilations[0] == 1 && conv->dilations[1] == 1 &&
           y->type == DML_TENSOR_DATA_TYPE_FLOAT32 && op->k.tensors[0].type == y->type && known_weights(b, op);
}

static bool pointwise(const struct blocks *b, const struct graph_op *op)
{
    const struct kern_conv *conv = &op->k.u.conv;
    if (!plain_conv(b, op) || conv->groups != 1)
        return false;
    for (uint32_t d = 0; d < 2; d++)
        if (op->k.tensors[1].sizes[2 + d] != 1 || conv->strides[d] != 1 || conv->pad_start[d] ||
            op->k.tensors[0].sizes[2 + d] != op->k.tensors[op->k.input_count].sizes[2 + d])
            return false;
    return true;
}

/* The first of a block: any windows. */
static bool widens(const struct blocks *b, const struct graph_op *op)
{
    return plain_conv(b, op) && op->k.u.conv.groups == 1;
}

static bool depthwise(const struct blocks *b, const struct graph_op *op)
{
    return plain_conv(b, op) && op->k.u.conv.groups == op->k.tensors[0].sizes[1] &&
           op->k.tensors[1].sizes[0] == op->k.u.conv.groups && op->k.tensors[1].sizes[1] == 1;
}

static bool bounds_of(const struct kern_op *op, struct kern_bounds *out)
{
    return kern_epilogue_bounds(op, out) && out->low <= out->high;
}

/* Position of the op that alone writes the convolution's X, if the convolution is the only reader; or GRAPH_NONE. */
static uint32_t sole_source(const struct blocks *b, uint32_t at)
{
    const struct graph_op *op = b->graph->ops[at];
    struct graph_use_summary sum = graph_uses_of(&b->uses, op->value[0]);
    if (b->graph->values[op->value[0]].place != GRAPH_TEMP || sum.writes != 1 || sum.reading_ops != 1 ||
        sum.writer >= at)
        return GRAPH_NONE;
    const struct graph_op *source = b->graph->ops[sum.writer];
    for (uint32_t t = 1; t < op->k.input_count; t++)
        if (op->value[t] == op->value[0])
            return GRAPH_NONE;
    return graph_view_equal(&source->k.tensors[source->k.input_count], &op->k.tensors[0]) ? sum.writer : GRAPH_NONE;
}

/* ---- parameters ---- */

static uint64_t parameter_count(const struct graph_op *conv)
{
    return kern_view_elements(&conv->k.tensors[1]) + conv->k.tensors[1].sizes[0];
}

/* Weights and biases of the three, as they follow one another. */
struct parameters {
    struct kern_view weights[3], bias[3];
    bool has_bias[3];
};

/* Weights row-major, then the bias or zeros; returns the next address. */
static float *put_parameters(const struct parameters *p, uint32_t i, const float *data, const float *addends,
                             float *out)
{
    const struct kern_view *w = &p->weights[i], *bias = &p->bias[i];
    uint64_t count = kern_view_elements(w);
    uint32_t at[KERN_RANK_MAX] = { 0 };
    for (uint64_t n = 0; n < count; n++) {
        int64_t index = w->offset;
        for (uint32_t d = 0; d < w->rank; d++)
            index += at[d] * w->strides[d];
        *out++ = data[index];
        for (uint32_t d = w->rank; d-- && ++at[d] == w->sizes[d];)
            at[d] = 0;
    }
    int64_t step = addends && bias->sizes[1] > 1 ? bias->strides[1] : 0;
    for (uint32_t c = 0; c < w->sizes[0]; c++)
        *out++ = addends ? addends[bias->offset + c * step] : 0;
    return out;
}

static bool run_parameters(const void *context, const void *const *in, void *const *out)
{
    const struct parameters *p = context;
    float *to = out[0];
    for (uint32_t i = 0; i < 3; i++) {
        const float *data = *in++, *addends = p->has_bias[i] ? *in++ : NULL;
        to = put_parameters(p, i, data, addends, to);
    }
    return true;
}

/* ---- the op ---- */

static bool build(const struct graph_op *expand, const struct graph_op *window, const struct graph_op *last,
                  struct graph_op *out)
{
    struct kern_inverted_residual *residual = &out->k.u.inverted_residual;
    uint32_t own = last->k.epilogue ? last->k.epilogue_input : last->k.input_count;
    uint32_t more = last->k.input_count - own;
    uint64_t count = parameter_count(expand) + parameter_count(window) + parameter_count(last);
    if (count > UINT32_MAX / sizeof(float))
        return false;
    *out = *last;
    memset(&out->k.u, 0, sizeof(out->k.u));
    out->k.kind = KERN_INVERTED_RESIDUAL;
    out->k.input_count = 2 + more;
    out->k.epilogue_input = 2;
    for (uint32_t t = 0; t <= more; t++) { /* the epilogue's inputs and the output */
        out->value[2 + t] = last->value[own + t];
        out->k.tensors[2 + t] = last->k.tensors[own + t];
    }
    out->value[0] = expand->value[0];
    out->k.tensors[0] = expand->k.tensors[0];
    kern_view_set_packed(&out->k.tensors[1], DML_TENSOR_DATA_TYPE_FLOAT32, 1, (const uint32_t[]){ (uint32_t)count });
    residual->middle = window->k.u.conv.groups;
    for (uint32_t d = 0; d < 2; d++) {
        residual->first[d] = expand->k.tensors[1].sizes[2 + d];
        residual->first_strides[d] = expand->k.u.conv.strides[d];
        residual->first_start[d] = expand->k.u.conv.pad_start[d];
        residual->image[d] = window->k.tensors[0].sizes[2 + d];
        residual->window[d] = window->k.tensors[1].sizes[2 + d];
        residual->strides[d] = window->k.u.conv.strides[d];
        residual->pad_start[d] = window->k.u.conv.pad_start[d];
    }
    return bounds_of(&expand->k, &residual->bounds[0]) && bounds_of(&window->k, &residual->bounds[1]) &&
           !graph_op_reads(out, out->value[out->k.input_count]);
}

/* Threads that share an image each expand the rows at their common borders: at most a fifth of the rows may be computed
 * twice. */
static bool shares_well(const struct blocks *b, const struct kern_op *op)
{
    const struct kern_inverted_residual *residual = &op->u.inverted_residual;
    uint64_t step = residual->strides[0], twice = residual->window[0] > step ? residual->window[0] - step : 0;
    return op->tensors[0].sizes[0] > 1 ||
           (b->options->threads - 1) * twice * 5 <= op->tensors[op->input_count].sizes[2] * step;
}

/* The op would get an optimised kernel. */
static bool has_kernel(const struct blocks *b, const struct graph_op *op)
{
    uint32_t priority = graph_op_priority(b->graph, b->options, op);
    return priority != GRAPH_PRIORITY_NONE && !b->options->backend->portable(priority);
}

static bool make_parameters(struct blocks *b, const struct graph_op *const *convs, struct graph_op *op)
{
    struct parameters p = { .has_bias = { false } };
    uint32_t values[7], count = 0;
    for (uint32_t i = 0; i < 3; i++) {
        p.weights[i] = convs[i]->k.tensors[1];
        values[count++] = convs[i]->value[1];
        p.has_bias[i] = convs[i]->k.u.conv.has_bias;
        if (!p.has_bias[i])
            continue;
        p.bias[i] = convs[i]->k.tensors[2];
        values[count++] = convs[i]->value[2];
    }
    struct graph_operand made = graph_temp(b->graph, DML_TENSOR_DATA_TYPE_FLOAT32, 1, op->k.tensors[1].sizes);
    op->value[1] = values[count] = made.value;
    return graph_derive(b->graph, &(struct graph_derivation){ "fuse_inverted_residuals", run_parameters, &p, sizeof(p),
                                                              count, 1, values });
}

/* Values that only the convolutions read. */
static void drop_parameters(const struct blocks *b, const struct graph_op *conv)
{
    for (uint32_t t = 1; t < 2u + conv->k.u.conv.has_bias; t++)
        graph_constant_drop_unread(b->graph, &b->uses, conv->value[t]);
}

static bool fuse(struct blocks *b, uint32_t expand_at, uint32_t window_at, uint32_t at)
{
    struct graph *graph = b->graph;
    struct graph_op *expand = graph->ops[expand_at], *window = graph->ops[window_at], *last = graph->ops[at], made;
    if (!graph_stable_between(&b->uses, expand->value[0], expand_at, at) || !build(expand, window, last, &made))
        return false;
    made.value[1] = last->value[1]; /* constant, as the parameters will be */
    if (window->k.tensors[0].sizes[3] < ROW_MIN || !shares_well(b, &made.k) || !has_kernel(b, &made) ||
        !make_parameters(b, (const struct graph_op *[]){ expand, window, last }, &made))
        return false;
    const struct graph_op old = *last;
    graph_op_join(&made, expand);
    graph_op_join(&made, window);
    *last = made;
    expand->dead = window->dead = true;
    drop_parameters(b, expand);
    drop_parameters(b, window);
    drop_parameters(b, &old);
    if (!graph_uses_refresh(&b->uses, at))
        graph->failed = true;
    return true;
}

static bool fuse_any(struct blocks *b, uint32_t at)
{
    const struct graph *graph = b->graph;
    if (!pointwise(b, graph->ops[at]))
        return false;
    uint32_t window = sole_source(b, at);
    if (window == GRAPH_NONE || !depthwise(b, graph->ops[window]))
        return false;
    uint32_t expand = sole_source(b, window);
    return expand != GRAPH_NONE && widens(b, graph->ops[expand]) && fuse(b, expand, window, at);
}

HRESULT graph_pass_fuse_inverted_residuals(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct blocks b = { .graph = graph, .options = options };
    bool ok = graph_uses_init(&b.uses, graph);
    for (uint32_t i = 0; ok && !graph->failed && i < graph->op_count; i++)
        *changed |= fuse_any(&b, i);
    graph_uses_finish(&b.uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
