/* SPDX-License-Identifier: Apache-2.0 */
/* An element-wise op on a concatenation (several ops write parts of its input) becomes one op per part, which later
 * passes fuse with the op that writes the part: QuantizeLinear after Concat then converts each part directly into 8
 * bits of the concatenated tensor, which is never stored in its original type. */
#include "graph/passes/pass.h"

#define PARTS_MAX 16

struct join {
    uint32_t operand; /* the op's concatenated input, */
    uint32_t count;   /* with this many parts: */
    struct graph_use write[PARTS_MAX];
    struct kern_view view[PARTS_MAX];
};

/* Ops that can have an epilogue, so that the part needs no step of its own. */
static bool may_fuse(const struct graph_op *writer)
{
    return !writer->dead && writer->k.output_count == 1 &&
           (writer->k.kind == KERN_MAP || writer->k.kind == KERN_CONV || writer->k.kind == KERN_GEMM);
}

/* Disjoint views that together have as many elements as `whole`. */
static bool covers(const struct join *join, const struct kern_view *whole)
{
    uint64_t elements = 0;
    for (uint32_t i = 0; i < join->count; i++) {
        for (uint32_t k = 0; k < i; k++)
            if (!graph_views_disjoint(&join->view[k], &join->view[i]))
                return false;
        elements += kern_view_elements(&join->view[i]);
    }
    return elements == kern_view_elements(whole);
}

static bool find_join(const struct graph *graph, const struct graph_uses *uses, uint32_t at, uint32_t operand,
                      struct join *out)
{
    const struct graph_op *op = graph->ops[at];
    const uint32_t value = op->value[operand];
    const struct graph_use_summary sum = graph_uses_of(uses, value);
    *out = (struct join){ .operand = operand };
    if (graph->values[value].place != GRAPH_TEMP || sum.writes < 2 || sum.reading_ops != 1)
        return false;
    for (uint32_t i = graph_uses_first_write(uses, value); i != GRAPH_NONE; i = graph_uses_next(uses, i)) {
        const struct graph_op *writer = graph->ops[uses->pool[i].op];
        if (out->count == PARTS_MAX || uses->pool[i].op >= at || !may_fuse(writer))
            return false;
        out->view[out->count] = writer->k.tensors[uses->pool[i].tensor];
        if (out->view[out->count].type != op->k.tensors[operand].type) /* the bits are read as another type */
            return false;
        out->write[out->count++] = uses->pool[i];
    }
    return covers(out, &op->k.tensors[operand]);
}

/* The elements of `view`, a part of the op's operand `from`, in its operand `to`. */
static bool through(const struct graph_op *op, uint32_t from, uint32_t to, const struct kern_view *view,
                    struct kern_view *out)
{
    struct kern_view other = op->k.tensors[to], one = op->k.tensors[from];
    const DML_TENSOR_DATA_TYPE type = other.type;
    other.type = one.type = view->type; /* offsets are counted in elements */
    if (!graph_view_through(&one, &other, view, out))
        return false;
    out->type = type;
    return true;
}

static bool suits(const struct graph *graph, const struct graph_op *op)
{
    bool result = op->k.kind == KERN_MAP && op->k.output_count == 1 &&
                  graph->values[op->value[op->k.input_count]].place == GRAPH_TEMP;
    for (uint32_t t = 0; result && t <= op->k.input_count; t++)
        result = schema_data_type_bits(op->k.tensors[t].type) >= 8;
    return result;
}

/* The op's operands for one part, except for the concatenated one. */
static bool find_operands(const struct graph_op *op, const struct join *join, uint32_t part,
                          struct graph_operand operands[KERN_TENSORS_MAX])
{
    for (uint32_t t = 0; t <= op->k.input_count; t++) {
        operands[t].value = op->value[t];
        if (t != join->operand && (op->value[t] == op->value[join->operand] ||
                                   !through(op, join->operand, t, &join->view[part], &operands[t].view)))
            return false;
    }
    return true;
}

static bool split(struct graph *graph, struct graph_uses *uses, uint32_t at, const struct join *join)
{
    struct graph_op *op = graph->ops[at];
    const uint32_t inputs = op->k.input_count;
    struct graph_operand operands[KERN_TENSORS_MAX];
    for (uint32_t part = 0; part < join->count; part++)
        if (!find_operands(op, join, part, operands))
            return false;
    for (uint32_t part = 0; part < join->count && !graph->failed; part++) {
        const struct graph_use *write = &join->write[part];
        struct graph_op *writer = graph->ops[write->op];
        const struct kern_view *view = &join->view[part];
        const struct graph_operand made = graph_temp(graph, view->type, view->rank, view->sizes);
        find_operands(op, join, part, operands);
        operands[join->operand] = made;
        struct graph_op *each = graph_op_insert(graph, at, op, KERN_MAP, operands, inputs, &operands[inputs]);
        if (!each)
            break;
        each->k.u = op->k.u;
        writer->value[write->tensor] = made.value;
        writer->k.tensors[write->tensor] = made.view;
        graph->failed |= !graph_uses_refresh(uses, write->op);
    }
    op->dead = true;
    return true;
}

HRESULT graph_pass_joins(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct graph_uses uses;
    struct join join;
    const uint32_t count = graph->op_count;
    bool ok = graph_uses_init(&uses, graph);
    (void)options;
    for (uint32_t i = 0; ok && i < count && !graph->failed; i++) {
        const struct graph_op *op = graph->ops[i];
        bool done = op->dead || !suits(graph, op);
        for (uint32_t t = 0; !done && t < op->k.input_count; t++)
            done = find_join(graph, &uses, i, t, &join) && split(graph, &uses, i, &join) && (*changed = true);
    }
    graph_uses_finish(&uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
