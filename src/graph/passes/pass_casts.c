/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions to a type that has all values of the one before (FLOAT16 to FLOAT32) are read through, like copies:
 * element- wise ops and reductions of integers convert what they read themselves, and copies of the result become
 * conversions. The op stays if any reader of its result cannot do so. */
#include "graph/passes/pass.h"

/* The bits in which a type has all integers from 0 on, and its sign. */
static uint32_t digits_of(DML_TENSOR_DATA_TYPE type, bool *out_signed, bool *out_float)
{
    *out_float = graph_is_float(type);
    *out_signed = true;
    switch ((uint32_t)type) {
    case DML_TENSOR_DATA_TYPE_FLOAT64:
        return 53;
    case DML_TENSOR_DATA_TYPE_FLOAT32:
        return 24;
    case DML_TENSOR_DATA_TYPE_FLOAT16:
        return 11;
    case ANYDML_TENSOR_DATA_TYPE_BFLOAT16:
        return 8;
    case DML_TENSOR_DATA_TYPE_INT64:
    case DML_TENSOR_DATA_TYPE_INT32:
    case DML_TENSOR_DATA_TYPE_INT16:
    case DML_TENSOR_DATA_TYPE_INT8:
        return schema_data_type_bits(type) - 1;
    default:
        *out_signed = false;
        return schema_data_type_bits(type);
    }
}

/* `to` has all values of `from`. */
static bool widens(DML_TENSOR_DATA_TYPE from, DML_TENSOR_DATA_TYPE to)
{
    bool from_signed, from_float, to_signed, to_float;
    const uint32_t digits = digits_of(from, &from_signed, &from_float);
    const uint32_t to_digits = digits_of(to, &to_signed, &to_float);
    if (schema_data_type_bits(from) < 8 || schema_data_type_bits(to) <= schema_data_type_bits(from) ||
        (from_signed && !to_signed) || digits > to_digits)
        return false;
    return !from_float || (to_float && to != DML_TENSOR_DATA_TYPE_FLOAT16);
}

/* The op stores its only input in another type, which has all its values. */
static bool is_cast(const struct graph_op *op)
{
    const struct kern_map *map = &op->k.u.map;
    return !op->dead && op->k.kind == KERN_MAP && op->k.input_count == 1 && op->k.output_count == 1 &&
           op->value[0] != op->value[1] && widens(op->k.tensors[0].type, op->k.tensors[1].type) &&
           map->inst_count == 0 && map->store[0] == 0;
}

/* Sums of integers have the type of the result, whatever that of the elements. */
static bool reduces_integers(const struct graph_op *op)
{
    return op->k.kind == KERN_REDUCE && op->k.u.reduce.function == DML_REDUCE_FUNCTION_SUM &&
           !graph_is_float(op->k.tensors[0].type) && !graph_is_float(op->k.tensors[1].type);
}

/* The reader with operand t, one of the conversion's result, as one of its source. */
static bool convert_operand(const struct graph_op *cast, uint32_t t, struct graph_op *reader)
{
    const DML_TENSOR_DATA_TYPE from = cast->k.tensors[0].type, to = cast->k.tensors[1].type;
    struct kern_view source = cast->k.tensors[0], view = reader->k.tensors[t];
    if (view.type != to)
        return false;
    if (reader->k.kind == KERN_MOVE) {
        reader->k.kind = KERN_MAP;
        reader->k.u.map = cast->k.u.map;
    } else if (reader->k.kind == KERN_MAP) {
        /* Loaded as the type between, or as one that has all its values, it is the same number. */
        const DML_TENSOR_DATA_TYPE load = reader->k.u.map.load_type[t];
        if (load != to && !widens(from, load))
            return false;
    } else if (!reduces_integers(reader)) {
        return false;
    }
    source.type = to; /* offsets are counted in elements */
    if (!graph_view_through(&cast->k.tensors[1], &source, &view, &view))
        return false;
    view.type = from;
    reader->k.tensors[t] = view;
    reader->value[t] = cast->value[0];
    return true;
}

static bool read_through(const struct graph *graph, const struct graph_uses *uses, const struct graph_options *options,
                         uint32_t at, uint32_t position, struct graph_op *out)
{
    const struct graph_op *cast = graph->ops[at], *reader = graph->ops[position];
    if (position <= at || graph_op_writes(reader, cast->value[0]) ||
        !graph_stable_between(uses, cast->value[0], at, position))
        return false;
    *out = *reader;
    for (uint32_t t = 0; t < out->k.input_count; t++)
        if (reader->value[t] == cast->value[1] && !convert_operand(cast, t, out))
            return false;
    return graph_op_as_fast(graph, options, reader, out);
}

/* First a trial (`apply` false), then the change itself. */
static bool read_all(struct graph *graph, struct graph_uses *uses, const struct graph_options *options, uint32_t at,
                     bool apply)
{
    struct graph_op changed;
    for (uint32_t use = graph_uses_first_read(uses, graph->ops[at]->value[1]); use != GRAPH_NONE;
         use = graph_uses_next(uses, use)) {
        const uint32_t reader = uses->pool[use].op;
        if (!read_through(graph, uses, options, at, reader, &changed))
            return false;
        if (!apply)
            continue;
        graph_op_join(&changed, graph->ops[at]);
        *graph->ops[reader] = changed;
        graph->failed |= !graph_uses_refresh(uses, reader);
    }
    return true;
}

HRESULT graph_pass_casts(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct graph_uses uses;
    bool ok = graph_uses_init(&uses, graph);
    for (uint32_t i = 0; ok && !graph->failed && i < graph->op_count; i++) {
        const struct graph_op *op = graph->ops[i];
        if (!is_cast(op) || graph->values[op->value[1]].place != GRAPH_TEMP)
            continue;
        const struct graph_use_summary sum = graph_uses_of(&uses, op->value[1]);
        if (sum.writes != 1 || !sum.reading_ops || !read_all(graph, &uses, options, i, false))
            continue;
        read_all(graph, &uses, options, i, true);
        graph->ops[i]->dead = true;
        *changed = true;
    }
    graph_uses_finish(&uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
