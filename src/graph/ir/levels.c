/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of one level do not depend on each other, so a device may run them concurrently: they become neighbours, with a
 * barrier only at the end of a level. The level of an op is the first one at which all of its inputs are available; if
 * it reads no temporary, the last one before its result is needed, which keeps the lifetime short. Large ops fill a
 * device alone: they stay after everything that preceded them; other ops are added to a level as long as it does not
 * need much memory, so that graphs of many branches still run branch by branch. */
#include "graph/ir/levels.h"

#include "graph/ir/uses.h"
#include "graph/ir/view.h"

#include "kernels/core/number.h"

#include <stdlib.h>

#define LOOKED_MAX      64                  /* writes of a value that are compared with another */
#define OP_BYTES_MAX    (UINT64_C(4) << 20) /* of its results; larger ops are not moved */
#define LEVEL_BYTES_MAX (UINT64_C(64) << 20)

struct leveling {
    const struct graph *graph;
    struct graph_uses uses;
    uint32_t *level;                       /* [op], from 1 on */
    uint32_t *read, *written;              /* [value]: the last level so far that does; 0: none */
    uint64_t *bytes;                       /* [level]: of results, temporaries */
    uint32_t last;                         /* level so far */
    uint32_t inputs_read, outputs_written; /* the last levels: the caller may bind an output over an input */
};

/* After the writes before position `at` that overlap operand t, a result. */
static uint32_t after_writes(const struct leveling *l, uint32_t at, uint32_t t)
{
    const struct kern_view *view = &l->graph->ops[at]->k.tensors[t];
    const uint32_t value = l->graph->ops[at]->value[t];
    uint32_t level = 1, looked = 0;
    for (uint32_t i = graph_uses_first_write(&l->uses, value); i != GRAPH_NONE; i = graph_uses_next(&l->uses, i)) {
        const struct graph_use *use = &l->uses.pool[i];
        if (++looked > LOOKED_MAX)
            return l->written[value] + 1;
        if (use->op < at && !graph_views_disjoint(view, &l->graph->ops[use->op]->k.tensors[use->tensor]))
            level = BASE_MAX(level, l->level[use->op] + 1);
    }
    return level;
}

static uint32_t first_level(const struct leveling *l, uint32_t at)
{
    const struct graph_op *op = l->graph->ops[at];
    uint32_t level = 1;
    for (uint32_t t = 0; t < op->k.input_count + op->k.output_count; t++) {
        const enum graph_place place = l->graph->values[op->value[t]].place;
        uint32_t least = t < op->k.input_count ? l->written[op->value[t]] + 1
                                               : BASE_MAX(after_writes(l, at, t), l->read[op->value[t]] + 1);
        if (place == GRAPH_INPUT)
            least = BASE_MAX(least, l->outputs_written + 1);
        if (place == GRAPH_OUTPUT)
            least = BASE_MAX(least, l->inputs_read + 1);
        level = BASE_MAX(level, least);
    }
    return level;
}

static uint64_t result_bytes(const struct leveling *l, const struct graph_op *op)
{
    uint64_t bytes = 0;
    for (uint32_t t = op->k.input_count; t < op->k.input_count + op->k.output_count; t++)
        if (l->graph->values[op->value[t]].place == GRAPH_TEMP)
            bytes += kern_view_elements(&op->k.tensors[t]) * kern_type_bits(op->k.tensors[t].type) / 8;
    return bytes;
}

/* From its first level on, one with room. */
static uint32_t level_of(struct leveling *l, uint32_t at)
{
    const uint64_t bytes = result_bytes(l, l->graph->ops[at]);
    uint32_t level = first_level(l, at);
    if (bytes > OP_BYTES_MAX)
        level = BASE_MAX(level, l->last);
    while (bytes <= OP_BYTES_MAX && l->bytes[level] && l->bytes[level] + bytes > LEVEL_BYTES_MAX)
        level++;
    l->bytes[level] += bytes;
    l->last = BASE_MAX(l->last, level);
    return level;
}

static void note(struct leveling *l, uint32_t at)
{
    const struct graph_op *op = l->graph->ops[at];
    for (uint32_t t = 0; t < op->k.input_count + op->k.output_count; t++) {
        const enum graph_place place = l->graph->values[op->value[t]].place;
        uint32_t *last = &(t < op->k.input_count ? l->read : l->written)[op->value[t]];
        *last = BASE_MAX(*last, l->level[at]);
        if (place == GRAPH_INPUT)
            l->inputs_read = BASE_MAX(l->inputs_read, l->level[at]);
        if (place == GRAPH_OUTPUT)
            l->outputs_written = BASE_MAX(l->outputs_written, l->level[at]);
    }
}

/* It reads nothing that an op writes or may write, and it is the only writer of its result, a temporary. */
static bool may_wait(const struct leveling *l, uint32_t at)
{
    const struct graph_op *op = l->graph->ops[at];
    for (uint32_t t = 0; t < op->k.input_count + op->k.output_count; t++) {
        const enum graph_place place = l->graph->values[op->value[t]].place;
        const struct graph_use_summary sum = graph_uses_of(&l->uses, op->value[t]);
        if (t < op->k.input_count ? place == GRAPH_TEMP || place == GRAPH_OUTPUT || (place == GRAPH_INPUT && sum.writes)
                                  : place != GRAPH_TEMP || sum.writes > 1)
            return false;
    }
    return true;
}

static void wait(struct leveling *l, uint32_t at, bool writes_outputs)
{
    const struct graph_op *op = l->graph->ops[at];
    uint32_t level = GRAPH_NONE;
    for (uint32_t t = 0; t < op->k.input_count; t++) /* an output may share the memory of the input */
        if (writes_outputs && l->graph->values[op->value[t]].place == GRAPH_INPUT)
            return;
    for (uint32_t t = op->k.input_count; t < op->k.input_count + op->k.output_count; t++)
        for (uint32_t i = graph_uses_first_read(&l->uses, op->value[t]); i != GRAPH_NONE;
             i = graph_uses_next(&l->uses, i))
            level = BASE_MIN(level, l->level[l->uses.pool[i].op]);
    if (level != GRAPH_NONE && level > l->level[at] + 1)
        l->level[at] = level - 1;
}

static bool find_levels(struct leveling *l)
{
    const struct graph *graph = l->graph;
    bool writes_outputs = false;
    l->read = calloc(2 * (size_t)graph->value_count + 1, sizeof(*l->read));
    l->bytes = calloc(graph->op_count + (size_t)2, sizeof(*l->bytes));
    if (!l->read || !l->bytes) {
        free(l->read);
        free(l->bytes);
        return false;
    }
    l->written = l->read + graph->value_count;
    for (uint32_t i = 0; i < graph->op_count; i++) {
        l->level[i] = level_of(l, i);
        note(l, i);
        writes_outputs = writes_outputs || (l->outputs_written && i + 1 < graph->op_count);
    }
    for (uint32_t i = graph->op_count; i-- > 0;)
        if (may_wait(l, i))
            wait(l, i, writes_outputs);
    free(l->read);
    free(l->bytes);
    return true;
}

bool graph_levels(const struct graph *graph, uint32_t *level)
{
    struct leveling l = { .graph = graph, .level = level };
    bool ok = graph_uses_init(&l.uses, graph) && find_levels(&l);
    graph_uses_finish(&l.uses);
    return ok;
}
