/* SPDX-License-Identifier: Apache-2.0 */
/* A recurrent network whose matrix is dequantised from constant bytes multiplies with the bytes, if states may be
 * rounded to 8 bits. A part of pass_weights.c. */
#include "graph/passes/quantized.h"

/* `of` has the sizes of the dense `written`, perhaps by broadcasting; *out: its elements where `read` reads those of
 * `written`. Each dimension of `read` walks within one of `written`. */
static bool map_view(const struct kern_view *written, const struct kern_view *read, const struct kern_view *of,
                     struct kern_view *out)
{
    int64_t reach[KERN_RANK_MAX] = { 0 };
    *out = *of;
    out->rank = read->rank;
    for (uint32_t d = 0; d < read->rank; d++) {
        uint32_t w = 0;
        out->sizes[d] = read->sizes[d];
        out->strides[d] = 0;
        if (read->sizes[d] == 1)
            continue;
        while (w < written->rank && (written->sizes[w] == 1 || written->strides[w] > read->strides[d]))
            w++;
        if (w == written->rank || read->strides[d] % written->strides[w])
            return false;
        const int64_t step = read->strides[d] / written->strides[w];
        reach[w] += step * (read->sizes[d] - 1);
        if (reach[w] >= written->sizes[w])
            return false;
        out->strides[d] = step * of->strides[w];
    }
    return read->offset == 0;
}

/* The op whose result operand 1 of the op at `at` reads, through a copy, if there is one; its view there. */
static const struct graph_op *find_writer(const struct graph *graph, const struct graph_uses *uses, uint32_t at,
                                          struct kern_view *read, uint32_t *out_copy)
{
    const struct graph_op *op = graph->ops[at];
    uint32_t value = op->value[1];
    *read = op->k.tensors[1];
    *out_copy = GRAPH_NONE;
    for (uint32_t i = 0; i < 2; i++) {
        const struct graph_use_summary sum = graph_uses_of(uses, value);
        if (graph->values[value].place != GRAPH_TEMP || sum.writes != 1 || sum.writer >= at)
            return NULL;
        const struct graph_op *writer = graph->ops[sum.writer];
        if (writer->k.kind != KERN_MOVE)
            return writer;
        const struct kern_view *from = &writer->k.tensors[0], *to = &writer->k.tensors[1];
        struct kern_view copied;
        if (i || !kern_view_packed(to) || to->offset || !map_view(to, read, from, &copied))
            return NULL;
        *out_copy = sum.writer;
        *read = copied;
        value = writer->value[0];
    }
    return NULL;
}

/* The op reads q, scale and [zero point] instead of its matrix; its other operands move up. */
static void insert_parameters(struct graph_op *op, const struct graph_operand *q, uint32_t count)
{
    struct kern_recurrent *net = &op->k.u.recurrent;
    uint8_t *const outputs[] = { &net->sequence, &net->last_hidden, &net->last_memory };
    const uint32_t inputs = op->k.input_count, added = count - 1;
    for (uint32_t t = inputs + op->k.output_count; t-- > inputs;) {
        op->value[t + added] = op->value[t];
        op->k.tensors[t + added] = op->k.tensors[t];
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t t = i ? inputs + i - 1 : 1;
        op->value[t] = q[i].value;
        op->k.tensors[t] = q[i].view;
    }
    for (uint32_t i = 0; i < ARRAY_SIZE(outputs); i++)
        *outputs[i] += *outputs[i] ? (uint8_t)added : 0;
    net->scale = (uint8_t)inputs;
    net->zero = count == 3 ? (uint8_t)(inputs + 1) : 0;
    op->k.input_count += added;
}

/* Whether a fast kernel runs the op. */
static bool runs(const struct graph *graph, const struct graph_options *options, const struct graph_op *op)
{
    const uint32_t priority = graph_op_priority(graph, options, op);
    return priority != GRAPH_PRIORITY_NONE && !options->backend->portable(priority);
}

/* Removes ops without readers: the copy, then the dequantisation and its sources. */
static void drop(struct graph *graph, const struct graph_uses *uses, struct graph_op *op)
{
    if (op->dead || graph_uses_first_read(uses, op->value[op->k.input_count]) != GRAPH_NONE)
        return;
    op->dead = true;
    for (uint32_t t = 0; t < op->k.input_count; t++)
        graph_constant_drop_unread(graph, uses, op->value[t]);
}

bool graph_recurrent_bytes(struct graph *graph, const struct graph_options *options, struct graph_uses *uses,
                           uint32_t at)
{
    struct graph_op *op = graph->ops[at];
    struct graph_op changed = *op;
    struct graph_operand q[3];
    struct kern_view read;
    uint32_t copy;
    if (op->dead || op->k.kind != KERN_RECURRENT || !(op->k.flags & KERN_FLAG_BYTES) || op->k.u.recurrent.panels ||
        op->k.u.recurrent.scale || op->k.input_count + op->k.output_count + 2 > KERN_TENSORS_MAX ||
        !options->backend->multiplies(options, DML_TENSOR_DATA_TYPE_UINT8))
        return false;
    const struct graph_op *map = find_writer(graph, uses, at, &read, &copy);
    if (!map || map->dead || !graph_dequantizes(map))
        return false;
    const uint32_t inputs = map->k.input_count;
    const struct kern_view *t = map->k.tensors, *written = &t[inputs];
    if (!kern_view_packed(written) || written->offset || kern_type_bytes(t[0].type) != 1)
        return false;
    for (uint32_t i = 0; i < inputs; i++) {
        q[i].value = map->value[i];
        if (!graph_value_fixed(graph, options, map->value[i]) || !graph_operand_fits(graph, map, i) ||
            !map_view(written, &read, &t[i], &q[i].view) || (i && read.sizes[3] > 1 && q[i].view.strides[3]))
            return false;
        q[i].view.rank = i ? 3 : 4; /* parameters do not vary along K */
    }
    insert_parameters(&changed, q, inputs);
    if (!runs(graph, options, &changed))
        return false;
    *op = changed;
    graph->failed |= !graph_uses_refresh(uses, at);
    if (copy != GRAPH_NONE)
        drop(graph, uses, graph->ops[copy]);
    for (uint32_t i = 0; i < graph->op_count; i++)
        if (graph->ops[i] == map)
            drop(graph, uses, graph->ops[i]);
    return true;
}
