/* SPDX-License-Identifier: Apache-2.0 */
/* CONV, GEMM, QGEMM and NORM may end in an element-wise program (epilogue). A MAP op that is the only reader of their
 * result becomes that program, its other inputs (such as a residual) become inputs of the host; an existing epilogue is
 * extended. */
#include "graph/passes/pass.h"

/* A sum of integers, viewed as FLOAT32; this does not apply to epilogues that store another type. */
static bool integer_sum(const struct kern_op *op)
{
    bool integer = op->kind == KERN_GEMM ? op->u.gemm.integer : op->kind == KERN_CONV && op->u.conv.integer;
    return integer && !op->epilogue && op->tensors[op->input_count].type == DML_TENSOR_DATA_TYPE_INT32;
}

static bool takes_epilogue(const struct graph_op *op)
{
    DML_TENSOR_DATA_TYPE type = op->k.tensors[op->k.input_count].type;
    return (op->k.kind == KERN_CONV || op->k.kind == KERN_GEMM || op->k.kind == KERN_QGEMM ||
            op->k.kind == KERN_NORM) &&
           op->k.output_count == 1 &&
           ((graph_is_float(type) && type != DML_TENSOR_DATA_TYPE_FLOAT64) || integer_sum(&op->k));
}

/* The inputs of `map` that read the host's result as it was written, in FLOAT32; 0 when some read it otherwise. */
static uint32_t fed_inputs(const struct graph_op *map, const struct graph_op *host)
{
    uint32_t fed = 0;
    for (uint32_t t = 0; t < map->k.input_count; t++) {
        if (map->value[t] != host->value[host->k.input_count])
            continue;
        if (!graph_view_equal(&map->k.tensors[t], &host->k.tensors[host->k.input_count]) ||
            map->k.u.map.load_type[t] != DML_TENSOR_DATA_TYPE_FLOAT32)
            return 0;
        fed |= UINT32_C(1) << t;
    }
    return fed;
}

/* Instructions and results that read the converted register read the register itself. */
static void read_instead(struct graph_program *program, uint32_t converted, uint32_t reg)
{
    for (uint32_t i = 0; i < program->map.inst_count; i++)
        for (uint32_t s = 0; s < kern_map_arity[program->map.inst[i].code]; s++)
            if (program->map.inst[i].src[s] == converted)
                program->map.inst[i].src[s] = (uint8_t)reg;
    if (program->map.store[0] == converted)
        program->map.store[0] = (uint8_t)reg;
}

/* The MAP op with FLOAT32 for its input t, a sum of integers that it only converts to that: casts of models. */
static bool with_floats(const struct graph_op *map, uint32_t t, struct graph_op *out)
{
    const struct kern_map *m = &map->k.u.map;
    struct graph_program program;
    if (m->load_type[t] != DML_TENSOR_DATA_TYPE_INT32 ||
        (m->store[0] == t && map->k.tensors[map->k.input_count].type != DML_TENSOR_DATA_TYPE_FLOAT32))
        return false;
    graph_program_of(map, &program);
    for (uint32_t i = 0; i < m->inst_count; i++) {
        const struct kern_map_inst *inst = &m->inst[i];
        for (uint32_t s = 0; s < kern_map_arity[inst->code]; s++)
            if (inst->src[s] == t && (inst->code != KERN_MAP_CONVERT || inst->to_type != DML_TENSOR_DATA_TYPE_FLOAT32))
                return false;
        if (inst->code == KERN_MAP_CONVERT && inst->src[0] == t)
            read_instead(&program, program.input_count + i, t);
    }
    program.map.load_type[t] = DML_TENSOR_DATA_TYPE_FLOAT32;
    graph_program_trim(&program);
    *out = *map;
    return graph_op_set_program(out, &program);
}

/* Concatenates both programs; the kernel's result is FLOAT32 before it is stored, as an epilogue sees it. */
static bool join(const struct graph_op *host, const struct graph_op *map, uint32_t fed, struct graph_program *out)
{
    struct graph_program first, second;
    graph_program_of_epilogue(host, &first);
    graph_program_of(map, &second);
    for (uint32_t t = 0; t < second.input_count; t++)
        if (!(fed >> t & 1) && second.map.load_type[t] != DML_TENSOR_DATA_TYPE_FLOAT32)
            return false;
    return graph_program_join(&first, &second, fed, DML_TENSOR_DATA_TYPE_FLOAT32, out);
}

/* The host with this epilogue, writing to the MAP op's output. `program` must outlive the result. */
static bool build(const struct graph_op *host, const struct graph_op *map, const struct graph_program *program,
                  struct graph_op *out)
{
    *out = *host;
    if (!graph_op_set_epilogue(out, program))
        return false;
    out->value[out->k.input_count] = map->value[map->k.input_count];
    out->k.tensors[out->k.input_count] = map->k.tensors[map->k.input_count];
    return !graph_op_reads(out, out->value[out->k.input_count]);
}

/* Position of an op that may absorb the MAP op at `second` by its input t, or GRAPH_NONE. */
static uint32_t find_host(const struct graph *graph, const struct graph_uses *uses, uint32_t second, uint32_t t)
{
    const struct graph_op *map = graph->ops[second];
    struct graph_use_summary sum = graph_uses_of(uses, map->value[t]);
    if (graph->values[map->value[t]].place != GRAPH_TEMP || sum.writes != 1 || sum.reading_ops != 1 ||
        sum.writer >= second || !takes_epilogue(graph->ops[sum.writer]) ||
        !graph_op_may_sink(uses, graph->ops[sum.writer], sum.writer, second))
        return GRAPH_NONE;
    return sum.writer;
}

/* The view of `rank` dimensions whose first ones, up to the last two, are those of `shape`. */
static bool batched(const struct kern_view *view, const struct kern_view *shape, struct kern_view *out)
{
    uint32_t sizes[KERN_RANK_MAX];
    memcpy(sizes, shape->sizes, sizeof(sizes));
    sizes[shape->rank - 1] = view->sizes[view->rank - 1];
    return graph_view_reshape(view, shape->rank, sizes, out);
}

#define BATCH_ROWS_MIN 64 /* kernels process fewer rows less efficiently than those of all batches together */

/* A GEMM of many rows by one matrix, with the rows in the batches of the MAP op's shape, since an operand of that
 * differs from batch to batch. */
static bool split_rows(const struct graph_op *host, const struct graph_op *map, struct graph_op *out)
{
    const struct kern_view *y = &host->k.tensors[host->k.input_count], *own = &map->k.tensors[map->k.input_count];
    const struct kern_view *b = &host->k.tensors[1];
    struct kern_view shape = *own;
    *out = *host;
    if (host->k.kind != KERN_GEMM || own->rank > y->rank || own->rank < 2 ||
        own->sizes[own->rank - 2] < BATCH_ROWS_MIN || own->sizes[own->rank - 1] != y->sizes[y->rank - 1] ||
        kern_view_elements(y) != kern_view_elements(own))
        return false;
    for (uint32_t d = 0; d + 2 < y->rank; d++)
        if (y->sizes[d] != 1)
            return false;
    shape.rank = y->rank;
    for (uint32_t d = 0; d < y->rank; d++)
        shape.sizes[d] = d < y->rank - own->rank ? 1 : own->sizes[d - (y->rank - own->rank)];
    for (uint32_t t = 0; t <= host->k.input_count; t++)
        if (t != 1 && !batched(&host->k.tensors[t], &shape, &out->k.tensors[t]))
            return false;
    memcpy(shape.sizes + shape.rank - 2, b->sizes + b->rank - 2, 2 * sizeof(*shape.sizes));
    out->k.tensors[1] = graph_view_broadcast(b, shape.rank, shape.sizes);
    return true;
}

/* The fused op is as good as the host. Kernels of normalisations rank by shape, and those write in the order in which
 * they read: an element-wise op that also transposes stays. */
static bool pays(const struct graph *graph, const struct graph_options *options, const struct graph_op *host,
                 const struct graph_op *fused)
{
    const struct kern_view *before = &host->k.tensors[host->k.input_count];
    struct kern_view after = fused->k.tensors[fused->k.input_count];
    if (host->k.kind != KERN_NORM)
        return graph_op_no_worse(graph, options, host, fused);
    after.type = before->type;
    after.offset = before->offset;
    return graph_view_equal(before, &after) && graph_op_as_fast(graph, options, host, fused);
}

/* The MAP op with its dimensions in the order in which input t is stored, such as pixels before channels; false if
 * they are, or if the result would be stored in another order: writing that is a pass over memory of its own. */
static bool in_order_of(const struct graph_op *map, uint32_t t, struct graph_op *out)
{
    const struct kern_view *from = &map->k.tensors[t];
    uint32_t order[KERN_RANK_MAX];
    bool moved = false;
    for (uint32_t d = 0; d < from->rank; d++) {
        uint32_t at = d;
        for (; at > 0 && from->sizes[d] > 1 && from->strides[order[at - 1]] < from->strides[d]; at--)
            order[at] = order[at - 1];
        order[at] = d;
        moved |= at != d;
    }
    *out = *map;
    for (uint32_t i = 0; i < map->k.input_count + map->k.output_count; i++)
        out->k.tensors[i] = graph_view_permute(&map->k.tensors[i], order);
    const struct kern_view *to = &out->k.tensors[map->k.input_count];
    for (uint32_t d = 0; d < to->rank; d++)
        if (to->sizes[d] > 1 && to->strides[d] != out->k.tensors[t].strides[d])
            return false;
    return moved;
}

/* The MAP op in the shape of the host's result, which is its input t. */
static bool in_shape_of(const struct graph_op *host, const struct graph_op *map, uint32_t t, struct graph_op *out)
{
    const struct kern_view *shape = &host->k.tensors[host->k.input_count];
    struct graph_op ordered;
    return (graph_map_in_shape(map, shape, out) && fed_inputs(out, host)) ||
           (in_order_of(map, t, &ordered) && graph_map_in_shape(&ordered, shape, out));
}

static bool fuse(struct graph *graph, struct graph_uses *uses, const struct graph_options *options, uint32_t first,
                 uint32_t second, uint32_t t)
{
    struct graph_op *host = graph->ops[first], *map = graph->ops[second], fused, shaped, split = *host, floats;
    struct graph_program program;
    /* Convolutions of bytes finish sums in registers only where they end in bytes. */
    if (host->k.kind == KERN_GEMM && integer_sum(&host->k) && with_floats(map, t, &floats)) {
        for (t = 0; floats.value[t] != host->value[host->k.input_count];)
            t++;
        map = &floats;
    }
    if (!in_shape_of(host, map, t, &shaped) &&
        (!split_rows(host, map, &split) || !graph_map_in_shape(map, &split.k.tensors[split.k.input_count], &shaped)))
        return false;
    uint32_t fed = fed_inputs(&shaped, &split);
    if (!fed || !join(&split, &shaped, fed, &program) || !build(&split, &shaped, &program, &fused) ||
        !pays(graph, options, host, &fused))
        return false;
    fused.k.epilogue = base_arena_copy(&graph->arena, &program.map, sizeof(program.map));
    if (!fused.k.epilogue) {
        graph->failed = true;
        return false;
    }
    map = graph->ops[second];
    graph_op_join(&fused, map);
    *host = fused; /* the host now runs at the position of the MAP op */
    map->dead = true;
    graph->ops[first] = map;
    graph->ops[second] = host;
    if (!graph_uses_refresh(uses, second))
        graph->failed = true;
    return true;
}

static bool fuse_any(struct graph *graph, struct graph_uses *uses, const struct graph_options *options, uint32_t second)
{
    const struct graph_op *map = graph->ops[second];
    if (map->dead || map->k.kind != KERN_MAP || map->k.output_count != 1)
        return false;
    for (uint32_t t = 0; t < map->k.input_count; t++) {
        uint32_t first = find_host(graph, uses, second, t);
        if (first != GRAPH_NONE && fuse(graph, uses, options, first, second, t))
            return true;
    }
    return false;
}

HRESULT graph_pass_fuse_activation(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct graph_uses uses;
    bool ok = graph_uses_init(&uses, graph);
    for (uint32_t i = 0; ok && !graph->failed && i < graph->op_count; i++)
        *changed |= fuse_any(graph, &uses, options, i);
    graph_uses_finish(&uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
