/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel ranks by the backend. Passes query the same ops again and again, since networks are repetitive, and a query
 * tests all kernels of a kind: results are cached as long as the passes run. */
#include "graph/passes/pass.h"

#include "base/hash.h"

#define ANSWERS 512

struct answer {
    struct base_hash question;
    uint32_t priority;
    bool known;
};

struct graph_priorities {
    struct answer answers[ANSWERS]; /* one slot per hash; the newest entry stays */
};

/* Everything that a kernel's accept function reads; zeroed before it is filled, since its bytes are hashed. */
struct question {
    enum kern_kind kind;
    uint32_t flags, inputs, outputs, packed_input, epilogue_input;
    bool has_epilogue;
    char parameters[sizeof(((struct kern_op *)NULL)->u)];
    struct kern_map epilogue;
    struct kern_view views[KERN_TENSORS_MAX]; /* of the operands that exist */
};

static struct base_hash question_of(const struct kern_op *op)
{
    uint32_t count = op->input_count + op->output_count;
    size_t size = offsetof(struct question, views) + count * sizeof(struct kern_view);
    struct question question;
    memset(&question, 0, size);
    question.kind = op->kind;
    question.flags = op->flags;
    question.inputs = op->input_count;
    question.outputs = op->output_count;
    question.packed_input = op->packed_input;
    question.epilogue_input = op->epilogue_input;
    memcpy(question.parameters, &op->u, sizeof(op->u));
    question.has_epilogue = op->epilogue;
    if (op->epilogue)
        question.epilogue = *op->epilogue;
    for (uint32_t t = 0; t < count; t++) {
        const struct kern_view *view = &op->tensors[t];
        question.views[t].type = view->type;
        question.views[t].rank = view->rank;
        question.views[t].offset = view->offset;
        memcpy(question.views[t].sizes, view->sizes, view->rank * sizeof(*view->sizes));
        memcpy(question.views[t].strides, view->strides, view->rank * sizeof(*view->strides));
    }
    return base_hash(&question, size);
}

void graph_priorities_begin(struct graph *graph)
{
    /* without it, nothing is cached */
    graph->priorities = base_arena_alloc(&graph->arena, sizeof(*graph->priorities));
}

/* The op as it will be looked up. */
static struct kern_op probe_of(const struct graph *graph, const struct graph_options *options,
                               const struct graph_op *op)
{
    struct kern_op k = op->k;
    k.packed_input = graph_op_packable(graph, op);
    k.tuning = options->tuning;
    k.multiprocessors = (uint16_t)options->multiprocessors;
    k.specialized = options->specialized;
    return k;
}

static uint32_t priority(const struct graph *graph, const struct graph_options *options, const struct kern_op *op)
{
    if (!graph->priorities)
        return options->backend->priority(options, op);
    struct base_hash question = question_of(op);
    struct answer *answer = &graph->priorities->answers[question.low % ANSWERS];
    if (answer->known && answer->question.low == question.low && answer->question.high == question.high)
        return answer->priority;
    *answer = (struct answer){ question, options->backend->priority(options, op), true };
    return answer->priority;
}

uint32_t graph_op_priority(const struct graph *graph, const struct graph_options *options, const struct graph_op *op)
{
    struct kern_op probe = probe_of(graph, options, op);
    return priority(graph, options, &probe);
}

bool graph_op_no_worse(const struct graph *graph, const struct graph_options *options, const struct graph_op *before,
                       const struct graph_op *after)
{
    struct kern_op old = probe_of(graph, options, before), new = probe_of(graph, options, after);
    uint32_t found = priority(graph, options, &new);
    return found != GRAPH_PRIORITY_NONE && found <= priority(graph, options, &old);
}

bool graph_op_as_fast(const struct graph *graph, const struct graph_options *options, const struct graph_op *before,
                      const struct graph_op *after)
{
    const uint32_t found = graph_op_priority(graph, options, after);
    return found != GRAPH_PRIORITY_NONE &&
           (!options->backend->portable(found) || graph_op_no_worse(graph, options, before, after));
}

bool graph_op_pays(const struct graph *graph, const struct graph_options *options, const struct graph_op *part,
                   const struct graph_op *whole)
{
    const uint32_t of_part = graph_op_priority(graph, options, part), found = graph_op_priority(graph, options, whole);
    return found != GRAPH_PRIORITY_NONE && (!options->backend->portable(found) || of_part == GRAPH_PRIORITY_NONE ||
                                            options->backend->portable(of_part));
}
