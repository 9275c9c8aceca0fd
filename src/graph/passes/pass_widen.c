/* SPDX-License-Identifier: Apache-2.0 */
/* FLOAT16 between convolutions becomes FLOAT32. Kernels compute convolutions in FLOAT32 anyway: each would convert what
 * the previous one has rounded, element by element, and most of the fast ones accept FLOAT32 only. Results are at least
 * as exact, since intermediate values are not rounded. A temporary is promoted if a convolution with constant weights
 * accesses it, all accesses see it as FLOAT16, and no op loses its kernel; views count elements, so they do not change.
 * Convolutions at the borders get an element-wise op that converts, and so do those between inputs and outputs of the
 * graph for which there is a better kernel in FLOAT32. */
#include "graph/passes/pass.h"

#include "base/parallel.h"
#include "kernels/core/dense.h"
#include "kernels/row/row.h"

#include <stdlib.h>

#define COPY_ELEMENTS_MIN 16384u /* that are worth a thread */

struct widening {
    struct graph *graph;
    const struct graph_options *options;
    bool *refused;   /* [value] */
    bool *conv;      /* [group]: to be promoted */
    bool *replaced;  /* [value]: operands of convolutions that were FLOAT16 */
    uint32_t *group; /* [value]: towards the group's first value */
};

static uint32_t operands(const struct graph_op *op)
{
    return op->k.input_count + op->k.output_count;
}

/* The first operand of the epilogue, or the output. */
static uint32_t own(const struct graph_op *op)
{
    return op->k.epilogue ? op->k.epilogue_input : op->k.input_count;
}

/* A convolution of FLOAT16 whose weights can become FLOAT32. */
static bool widens(const struct widening *w, const struct graph_op *op)
{
    if (op->k.kind != KERN_CONV || op->k.u.conv.integer || op->dead)
        return false;
    for (uint32_t t = 0; t < own(op); t++)
        if (op->k.tensors[t].type != DML_TENSOR_DATA_TYPE_FLOAT16 ||
            (t && !graph_value_fixed(w->graph, w->options, op->value[t])))
            return false;
    return op->k.tensors[op->k.input_count].type == DML_TENSOR_DATA_TYPE_FLOAT16;
}

/* Ops whose input and output have one type. */
static bool keeps_type(const struct graph_op *op)
{
    return (op->k.kind == KERN_POOL || op->k.kind == KERN_MOVE || op->k.kind == KERN_RESAMPLE) && operands(op) == 2;
}

/* Operand t may become FLOAT32. */
static bool suits(const struct widening *w, const struct graph_op *op, uint32_t t)
{
    if (op->k.tensors[t].type != DML_TENSOR_DATA_TYPE_FLOAT16)
        return false;
    if (op->k.kind == KERN_CONV)
        return widens(w, op) && (!t || t >= own(op));
    return op->k.kind == KERN_MAP || op->k.kind == KERN_NORM || op->k.kind == KERN_SOFTMAX ||
           op->k.kind == KERN_REDUCE || keeps_type(op);
}

static uint32_t find_group(struct widening *w, uint32_t value)
{
    while (w->group[value] != value)
        value = w->group[value] = w->group[w->group[value]];
    return value;
}

static bool is_wide(struct widening *w, uint32_t value)
{
    return w->conv[find_group(w, value)];
}

static void look(struct widening *w, const struct graph_op *op)
{
    for (uint32_t t = 0; t < operands(op); t++)
        if (w->graph->values[op->value[t]].place != GRAPH_TEMP || !suits(w, op, t))
            w->refused[op->value[t]] = true;
    if (keeps_type(op))
        w->group[find_group(w, op->value[1])] = find_group(w, op->value[0]);
}

/* Groups are all or nothing: if one value cannot change, none of the group can. */
static void settle(struct widening *w)
{
    const struct graph *graph = w->graph;
    for (uint32_t i = 0; i < graph->op_count; i++)
        for (uint32_t t = 0; widens(w, graph->ops[i]) && t < operands(graph->ops[i]); t++)
            if (suits(w, graph->ops[i], t))
                w->conv[find_group(w, graph->ops[i]->value[t])] = true;
    for (uint32_t v = 0; v < graph->value_count; v++)
        if (w->refused[v])
            w->conv[find_group(w, v)] = false;
}

static bool changed_op(struct widening *w, const struct graph_op *op, struct graph_op *out)
{
    bool any = false;
    *out = *op;
    for (uint32_t t = 0; t < operands(op); t++) {
        if (!is_wide(w, op->value[t]))
            continue;
        out->k.tensors[t].type = DML_TENSOR_DATA_TYPE_FLOAT32;
        any = true;
    }
    return any;
}

/* A convolution without promoted operands has a better kernel in FLOAT32. */
static bool gains(const struct widening *w, const struct graph_op *op)
{
    struct graph_op wide = *op;
    for (uint32_t t = 0; t < own(op); t++)
        wide.k.tensors[t].type = DML_TENSOR_DATA_TYPE_FLOAT32;
    wide.k.tensors[op->k.input_count].type = DML_TENSOR_DATA_TYPE_FLOAT32;
    return graph_op_no_worse(w->graph, w->options, op, &wide) && !graph_op_no_worse(w->graph, w->options, &wide, op);
}

/* Values of ops other than convolutions that would lose their kernel keep their types; true if there were any. */
static bool veto(struct widening *w)
{
    bool any = false;
    for (uint32_t i = 0; i < w->graph->op_count; i++) {
        const struct graph_op *op = w->graph->ops[i];
        struct graph_op changed;
        if (op->k.kind == KERN_CONV || !changed_op(w, op, &changed) ||
            graph_op_no_worse(w->graph, w->options, op, &changed))
            continue;
        for (uint32_t t = 0; t < operands(op); t++)
            w->conv[find_group(w, op->value[t])] = false;
        any = true;
    }
    return any;
}

/* ---- convolutions ---- */

struct copying {
    const struct kern_view *view;
    const void *from;
    float *to;
};

static void copy_rows(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct copying *copying = context;
    const struct kern_view *view = copying->view;
    const uint32_t length = view->sizes[view->rank - 1];
    (void)worker;
    for (size_t i = begin; i < end; i++) {
        uint32_t at[KERN_RANK_MAX];
        dense_row_at(view, i, at);
        dense_load_row(copying->from, view->offset + dense_offset(view, at, view->rank), view->strides[view->rank - 1],
                       view->type, length, copying->to + i * length);
    }
}

static bool copy_wide(const void *context, const void *const *in, void *const *out)
{
    const struct kern_view *view = context;
    struct copying copying = { view, in[0], out[0] };
    base_parallel_for(dense_rows(view), COPY_ELEMENTS_MIN / view->sizes[view->rank - 1] + 1, copy_rows, &copying);
    return true;
}

/* The constant operand t in FLOAT32. */
static bool widen_fixed(struct widening *w, struct graph_op *op, uint32_t t)
{
    const struct kern_view view = op->k.tensors[t];
    const struct graph_operand made = graph_temp(w->graph, DML_TENSOR_DATA_TYPE_FLOAT32, view.rank, view.sizes);
    const uint32_t values[] = { op->value[t], made.value };
    const struct graph_derivation derivation = { "widen", copy_wide, &view, sizeof(view), 1, 1, values };
    if (w->graph->failed || !graph_derive(w->graph, &derivation))
        return false;
    w->replaced[op->value[t]] = true;
    op->value[t] = made.value;
    op->k.tensors[t] = made.view;
    return true;
}

/* Operand t becomes a FLOAT32 temporary; an op at position `at` converts. */
static bool add_border(struct graph *graph, struct graph_op *op, uint32_t t, uint32_t at)
{
    const struct graph_operand narrow = { op->value[t], op->k.tensors[t] };
    const struct graph_operand wide =
        graph_temp(graph, DML_TENSOR_DATA_TYPE_FLOAT32, narrow.view.rank, narrow.view.sizes);
    const bool in = t < op->k.input_count;
    if (graph->failed)
        return false;
    struct graph_op *cast = graph_op_insert(graph, at, op, KERN_MAP, in ? &narrow : &wide, 1, in ? &wide : &narrow);
    if (!cast)
        return false;
    cast->k.u.map.load_type[0] = DML_TENSOR_DATA_TYPE_FLOAT32;
    op->value[t] = wide.value;
    op->k.tensors[t] = wide.view;
    return true;
}

/* The convolution at position `at`, whose promoted operands are FLOAT32 already. */
static bool widen(struct widening *w, uint32_t at)
{
    struct graph *graph = w->graph;
    struct graph_op *op = graph->ops[at];
    for (uint32_t t = 1; t < own(op); t++)
        if (!widen_fixed(w, op, t))
            return false;
    if (op->k.tensors[op->k.input_count].type == DML_TENSOR_DATA_TYPE_FLOAT16 &&
        !add_border(graph, op, op->k.input_count, at + 1))
        return false;
    return op->k.tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT32 || add_border(graph, op, 0, at);
}

static void drop_replaced(struct widening *w, uint32_t values)
{
    struct graph_uses uses;
    graph_uses_forget(w->graph); /* ops were changed */
    if (!graph_uses_init(&uses, w->graph))
        w->graph->failed = true;
    for (uint32_t v = 0; v < values && !w->graph->failed; v++)
        if (w->replaced[v])
            graph_constant_drop_unread(w->graph, &uses, v);
    graph_uses_finish(&uses);
}

/* Positions are stable: insertions are sorted in when the pass is done. */
static void change_all(struct widening *w, bool *changed)
{
    struct graph *graph = w->graph;
    const uint32_t values = graph->value_count;
    for (uint32_t i = 0; i < graph->op_count; i++)
        look(w, graph->ops[i]);
    settle(w);
    while (veto(w)) { /* each time there are fewer groups */
    }
    for (uint32_t v = 0; v < values; v++)
        if (is_wide(w, v))
            graph->values[v].size_bytes *= 2;
    for (uint32_t i = graph->op_count; i-- && !graph->failed;) {
        const bool conv = widens(w, graph->ops[i]);
        struct graph_op op;
        if (!changed_op(w, graph->ops[i], &op) && !(conv && gains(w, &op)))
            continue;
        *graph->ops[i] = op;
        *changed = true;
        if (conv && !widen(w, i))
            graph->failed = true;
    }
    if (*changed)
        drop_replaced(w, values);
}

HRESULT graph_pass_widen(struct graph *graph, const struct graph_options *options, bool *changed)
{
    size_t count = (size_t)graph->value_count + 1;
    struct widening w = { .graph = graph, .options = options };
    bool any = false;
    for (uint32_t i = 0; i < graph->op_count; i++)
        any |= widens(&w, graph->ops[i]);
    /* Half precision, if allowed, is computed in BFLOAT16 where GEMMs of it are fast. */
    bool half = (graph->flags & DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION) &&
                options->backend->multiplies(options, ANYDML_TENSOR_DATA_TYPE_BFLOAT16);
    if (!any || half || (graph->flags & DML_EXECUTION_FLAG_DISABLE_META_COMMANDS))
        return S_OK;
    w.refused = calloc(count, sizeof(bool));
    w.conv = calloc(count, sizeof(bool));
    w.replaced = calloc(count, sizeof(bool));
    w.group = calloc(count, sizeof(uint32_t));
    bool ok = w.refused && w.conv && w.replaced && w.group;
    for (uint32_t v = 0; ok && v < graph->value_count; v++)
        w.group[v] = v;
    if (ok)
        change_all(&w, changed);
    free(w.refused);
    free(w.conv);
    free(w.replaced);
    free(w.group);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
