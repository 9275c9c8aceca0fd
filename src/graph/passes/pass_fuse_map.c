/* SPDX-License-Identifier: Apache-2.0 */
/* A MAP op whose only result is read by one other MAP op, element by element, is prepended to that op. Ops that convert
 * integers to floats, and those of single elements, are prepended to each reader. */
#include "graph/passes/quantized.h"

#include "kernels/core/dense.h"

/* The inputs of `consumer` that read exactly the output of `producer`; 0 if some read it differently. */
static uint32_t fed_inputs(const struct graph_op *consumer, uint32_t value, const struct kern_view *written)
{
    uint32_t fed = 0;
    for (uint32_t t = 0; t < consumer->k.input_count; t++) {
        if (consumer->value[t] != value)
            continue;
        if (!graph_view_equal(&consumer->k.tensors[t], written))
            return 0;
        fed |= UINT32_C(1) << t;
    }
    return fed;
}

/* So little work that each reader may repeat it. */
static bool repeatable(const struct graph_op *producer, const struct graph_op *consumer)
{
    return graph_dequantizes(producer) || kern_view_elements(&consumer->k.tensors[consumer->k.input_count]) == 1;
}

static bool may_fuse(const struct graph *graph, const struct graph_uses *uses, const struct graph_op *producer,
                     uint32_t first, uint32_t second)
{
    const struct graph_op *consumer = graph->ops[second];
    uint32_t value = producer->value[producer->k.input_count];
    struct graph_use_summary sum = graph_uses_of(uses, value);
    if (graph->values[value].place != GRAPH_TEMP || sum.writes != 1 ||
        (sum.reading_ops != 1 && !repeatable(producer, consumer)))
        return false;
    /* Nothing that the producer reads is overwritten before the consumer runs or by it. */
    for (uint32_t t = 0; t < producer->k.input_count; t++)
        if (graph_op_writes(consumer, producer->value[t]))
            return false;
    return graph_op_may_sink(uses, producer, first, second);
}

/* One iteration space: edges between the two may have other sizes on either side. That of the producer, if its operands
 * have no view in the consumer's (halves that change places). */
static bool in_one_shape(const struct graph_op *producer, const struct graph_op *consumer,
                         struct graph_op *out_producer, struct graph_op *out_consumer)
{
    *out_producer = *producer;
    *out_consumer = *consumer;
    return graph_map_in_shape(producer, &consumer->k.tensors[consumer->k.input_count], out_producer) ||
           (consumer->k.output_count == 1 &&
            kern_view_elements(&producer->k.tensors[producer->k.input_count]) ==
                kern_view_elements(&consumer->k.tensors[consumer->k.input_count]) &&
            graph_map_in_shape(consumer, &producer->k.tensors[producer->k.input_count], out_consumer) &&
            ((*out_producer = *producer), true));
}

/* Floats stored as bytes: from byte to byte only, in lines that kernels look up. */
static bool may_join(const struct graph_program *first, const struct kern_view *written, const struct kern_op *consumer)
{
    const struct kern_view *out = &consumer->tensors[consumer->input_count];
    return !dense_is_byte(written->type) || !graph_program_of_floats(first) ||
           (consumer->output_count == 1 && dense_is_byte(out->type) && kern_view_packed(out) &&
            kern_view_packed(written));
}

static bool fuse(struct graph *graph, struct graph_uses *uses, const struct graph_options *options, uint32_t first,
                 uint32_t second)
{
    struct graph_op *consumer = graph->ops[second], fused, producer;
    struct graph_program a, b, joined;
    if (graph->ops[first]->k.kind != KERN_MAP || graph->ops[first]->k.output_count != 1 ||
        !in_one_shape(graph->ops[first], consumer, &producer, &fused) ||
        !may_fuse(graph, uses, &producer, first, second))
        return false;
    const struct kern_view *written = &producer.k.tensors[producer.k.input_count];
    uint32_t fed = fed_inputs(&fused, producer.value[producer.k.input_count], written);
    graph_program_of(&producer, &a);
    graph_program_of(&fused, &b);
    if (!fed || !may_join(&a, written, &fused.k) || !graph_program_join(&a, &b, fed, written->type, &joined) ||
        !graph_op_set_program(&fused, &joined) || !graph_op_no_worse(graph, options, consumer, &fused))
        return false;
    graph->ops[first]->dead = graph_uses_of(uses, producer.value[producer.k.input_count]).reading_ops == 1;
    graph_op_join(&fused, graph->ops[first]);
    *consumer = fused;
    if (!graph_uses_refresh(uses, second))
        graph->failed = true;
    return true;
}

/* Tries to absorb one producer of the op at `second`. */
static bool fuse_one(struct graph *graph, struct graph_uses *uses, const struct graph_options *options, uint32_t second)
{
    const struct graph_op *consumer = graph->ops[second];
    for (uint32_t t = 0; t < consumer->k.input_count; t++) {
        struct graph_use_summary sum = graph_uses_of(uses, consumer->value[t]);
        if (sum.writes == 1 && sum.writer < second && fuse(graph, uses, options, sum.writer, second))
            return true;
    }
    return false;
}

HRESULT graph_pass_fuse_map(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct graph_uses uses;
    bool ok = graph_uses_init(&uses, graph);
    for (uint32_t i = 0; ok && i < graph->op_count; i++) {
        if (graph->ops[i]->dead || graph->ops[i]->k.kind != KERN_MAP)
            continue;
        while (!graph->failed && fuse_one(graph, &uses, options, i))
            *changed = true;
    }
    graph_uses_finish(&uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
