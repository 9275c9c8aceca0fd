/* SPDX-License-Identifier: Apache-2.0 */
/* Two parts of one tensor that change places, the first of them negated or not, in one op instead of two: with one
 * more dimension, of size 2, both are one view, in which the stride of that dimension is negative. Rotary embeddings
 * write it so, in both of their forms: Concat(-x[n/2:], x[:n/2]), and -x[1], x[0], -x[3], x[2]... A sign is a factor
 * of 1 or -1 for each part, and pass fuse_map then makes the whole embedding one op. */
#include "base/half.h"
#include "graph/passes/pass.h"

#define F32 DML_TENSOR_DATA_TYPE_FLOAT32

struct halves {
    uint32_t op[2]; /* positions of what writes the parts, the lower part first */
    bool negated[2];
};

/* The op copies its input, or negates it, in another type or not. */
static bool copies(const struct graph_op *op, bool *out_negated)
{
    const struct kern_map *map = &op->k.u.map;
    *out_negated = op->k.kind == KERN_MAP && map->inst_count == 1;
    if (op->dead || op->k.input_count != 1 || op->k.output_count != 1 || op->value[0] == op->value[1] ||
        schema_data_type_bits(op->k.tensors[0].type) < 8 || schema_data_type_bits(op->k.tensors[1].type) < 8)
        return false;
    if (op->k.kind == KERN_MAP && map->load_type[0] == F32)
        return map->inst_count == 0 || (map->inst_count == 1 && map->inst[0].type == F32 &&
                                        map->inst[0].code == KERN_MAP_NEG && map->store[0] == 1);
    return op->k.kind == KERN_MOVE;
}

static bool same_but_offset(const struct kern_view *a, const struct kern_view *b)
{
    struct kern_view moved = *a;
    moved.offset = b->offset;
    return graph_view_equal(&moved, b);
}

/* Two ops write the value, which nothing reads before both have. */
static bool find_halves(const struct graph *graph, const struct graph_uses *uses, uint32_t value, struct halves *out)
{
    uint32_t count = 0;
    for (uint32_t at = graph_uses_first_write(uses, value); at != GRAPH_NONE; at = graph_uses_next(uses, at)) {
        if (count == 2)
            return false;
        out->op[count++] = uses->pool[at].op;
    }
    if (count < 2 || !copies(graph->ops[out->op[0]], &out->negated[0]) ||
        !copies(graph->ops[out->op[1]], &out->negated[1]))
        return false;
    const struct graph_op *a = graph->ops[out->op[0]], *b = graph->ops[out->op[1]];
    const uint32_t last = BASE_MAX(out->op[0], out->op[1]), first = BASE_MIN(out->op[0], out->op[1]);
    if (a->value[0] != b->value[0] || !same_but_offset(&a->k.tensors[0], &b->k.tensors[0]) ||
        !same_but_offset(&a->k.tensors[1], &b->k.tensors[1]) || a->k.tensors[0].rank == KERN_RANK_MAX ||
        a->k.tensors[0].offset == b->k.tensors[0].offset || !graph_stable_between(uses, a->value[0], first, last + 1))
        return false;
    if (a->k.tensors[1].offset > b->k.tensors[1].offset)
        *out = (struct halves){ { out->op[1], out->op[0] }, { out->negated[1], out->negated[0] } };
    for (uint32_t at = graph_uses_first_read(uses, value); at != GRAPH_NONE; at = graph_uses_next(uses, at))
        if (uses->pool[at].op <= last)
            return false;
    return true;
}

/* `first` and `second`, which is the same elsewhere, as one view with dimension d of size 2. */
static struct kern_view combined(const struct kern_view *first, const struct kern_view *second, uint32_t d)
{
    struct kern_view view = *first;
    for (uint32_t i = view.rank++; i > d; i--) {
        view.sizes[i] = view.sizes[i - 1];
        view.strides[i] = view.strides[i - 1];
    }
    view.sizes[d] = 2;
    view.strides[d] = second->offset - first->offset;
    return view;
}

/* Where a dimension of that stride belongs: right before those with shorter ones. */
static uint32_t place_of(const struct kern_view *view, int64_t stride)
{
    uint32_t d = view->rank;
    for (uint32_t i = d; i-- && (view->sizes[i] == 1 || view->strides[i] < stride);)
        d = view->sizes[i] > 1 ? i : d;
    return d;
}

static bool write_signs(const bool negated[2], DML_TENSOR_DATA_TYPE type, void *data)
{
    for (uint32_t i = 0; i < 2; i++) {
        const float sign = negated[i] ? -1 : 1;
        if (type == F32)
            ((float *)data)[i] = sign;
        else if (type == DML_TENSOR_DATA_TYPE_FLOAT16)
            ((uint16_t *)data)[i] = base_float_to_half(sign);
        else if (type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16)
            ((uint16_t *)data)[i] = base_float_to_bfloat(sign);
        else
            return false;
    }
    return true;
}

/* The MAP that multiplies by 1 or -1, in the type of the tensors: one type throughout a program of 16 bits lets it
 * fuse. */
static bool set_signs(struct graph *graph, const struct halves *halves, uint32_t d, struct graph_op *op)
{
    struct graph_operand signs;
    uint32_t sizes[KERN_RANK_MAX];
    for (uint32_t i = 0; i < op->k.tensors[0].rank; i++)
        sizes[i] = i == d ? 2 : 1;
    void *data = graph_constant_new(graph, op->k.tensors[1].type, op->k.tensors[0].rank, sizes, &signs);
    if (!data || !write_signs(halves->negated, op->k.tensors[1].type, data))
        return false;
    op->k.kind = KERN_MAP;
    op->k.input_count = 2;
    op->k.tensors[2] = op->k.tensors[1];
    op->value[2] = op->value[1];
    op->k.tensors[1] = graph_view_broadcast(&signs.view, op->k.tensors[0].rank, op->k.tensors[0].sizes);
    op->value[1] = signs.value;
    op->k.u.map = (struct kern_map){ .inst_count = 1, .load_type = { F32, F32 }, .store = { 2 } };
    op->k.u.map.inst[0] = (struct kern_map_inst){ .code = KERN_MAP_MUL, .type = F32, .to_type = F32, .src = { 0, 1 } };
    return true;
}

static bool combine(struct graph *graph, const struct graph_options *options, struct graph_uses *uses,
                    const struct halves *halves)
{
    const struct graph_op *a = graph->ops[halves->op[0]], *b = graph->ops[halves->op[1]];
    const uint32_t last = BASE_MAX(halves->op[0], halves->op[1]), first = BASE_MIN(halves->op[0], halves->op[1]);
    const uint32_t d = place_of(&a->k.tensors[1], b->k.tensors[1].offset - a->k.tensors[1].offset);
    struct graph_op op = *a;
    for (uint32_t t = 0; t < 2; t++)
        op.k.tensors[t] = combined(&a->k.tensors[t], &b->k.tensors[t], d);
    if (!graph_view_injective(&op.k.tensors[1]) ||
        (halves->negated[0] != halves->negated[1] && !set_signs(graph, halves, d, &op)) ||
        !graph_op_pays(graph, options, a, &op) || !graph_op_pays(graph, options, b, &op))
        return false;
    graph_op_join(&op, graph->ops[halves->op[1]]);
    graph->ops[first]->dead = true;
    *graph->ops[last] = op;
    return graph_uses_refresh(uses, last);
}

HRESULT graph_pass_halves(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct graph_uses uses;
    struct halves halves;
    bool ok = graph_uses_init(&uses, graph), negated;
    for (uint32_t i = 0; ok && i < graph->op_count && !graph->failed; i++) {
        const struct graph_op *op = graph->ops[i];
        if (!op->dead && copies(op, &negated) && graph->values[op->value[1]].place == GRAPH_TEMP &&
            find_halves(graph, &uses, op->value[1], &halves) && i == BASE_MAX(halves.op[0], halves.op[1]))
            *changed |= combine(graph, options, &uses, &halves);
    }
    graph_uses_finish(&uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
