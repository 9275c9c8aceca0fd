/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow. A program is one graph without branches: an If with a known condition is replaced by the branch taken.
 * Everything else is executed by the host (flow.c). */
#include "onnx/convert/converters.h"

/* Resolves a name in an inner graph: its own value, or one of the enclosing graphs. */
static const char *visible_name(struct onnx_builder *b, const char *name)
{
    for (const struct onnx_scope *s = b->scope; s && name[0]; s = s->around) {
        const char *inner = onnx_join_names(b, s->prefix, name);
        if (!inner || onnx_value_find(b, inner))
            return inner;
    }
    return name;
}

/* The node with names that are valid outside of its graph. It stays in the arena, because values point to it. */
static struct onnx_node *renamed(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_node *to = base_arena_copy(&b->arena, n, sizeof(*n));
    const char **inputs = base_arena_alloc(&b->arena, BASE_MAX(n->input_count, 1u) * sizeof(*inputs));
    const char **outputs = base_arena_alloc(&b->arena, BASE_MAX(n->output_count, 1u) * sizeof(*outputs));
    if (!to || !inputs || !outputs)
        return !onnx_fail(b, "out of memory") ? NULL : to;
    for (uint32_t i = 0; i < n->input_count && !b->failed; i++)
        inputs[i] = visible_name(b, n->inputs[i]);
    for (uint32_t i = 0; i < n->output_count && !b->failed; i++)
        outputs[i] = n->outputs[i][0] ? onnx_join_names(b, b->scope->prefix, n->outputs[i]) : "";
    to->inputs = inputs;
    to->outputs = outputs;
    return b->failed ? NULL : to;
}

/* Output i of the node is a value of the branch, or of the graphs around it. */
static bool hand_out(struct onnx_builder *b, const struct onnx_node *n, uint32_t i, const char *inner)
{
    struct onnx_value *from = inner ? onnx_value_find(b, inner) : NULL;
    if (!onnx_has_output(n, i))
        return !b->failed;
    if (!from)
        return onnx_fail(b, "output %u is not computed by the branch", i);
    struct onnx_node *same = base_arena_alloc(&b->arena, sizeof(*same));
    const char **input = base_arena_copy(&b->arena, &inner, sizeof(inner));
    struct onnx_value *y = onnx_out(b, n, i, from->type, from->rank, from->dims);
    if (!same || !input || !onnx_alias(b, y, from))
        return onnx_fail(b, "out of memory");
    *same = (struct onnx_node){ .op = "Identity", .domain = "", .name = "", .inputs = input, .input_count = 1 };
    y->maker = same; /* values that depend on it depend on the branch's value */
    return true;
}

static bool insert(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_model *branch)
{
    const char *name = onnx_new_name(b);
    struct onnx_scope scope = { b->scope, name ? onnx_join_names(b, name, "/") : NULL };
    const struct onnx_node *node = b->node;
    const char *results[64];
    if (!scope.prefix)
        return false;
    if (n->output_count > ARRAY_SIZE(results) || branch->output_count != n->output_count || branch->input_count)
        return onnx_fail(b, "the branch has %u inputs and %u outputs for %u", branch->input_count, branch->output_count,
                         n->output_count);
    b->scope = &scope;
    bool ok = onnx_add_initializers(b, branch, scope.prefix);
    for (uint32_t i = 0; ok && i < branch->node_count; i++) {
        const struct onnx_node *inner = renamed(b, &branch->nodes[i]);
        ok = inner && onnx_convert_node(b, inner);
    }
    for (uint32_t i = 0; ok && i < n->output_count; i++)
        ok = (results[i] = visible_name(b, branch->outputs[i].name)) != NULL;
    b->scope = scope.around;
    b->node = ok ? node : b->node;
    for (uint32_t i = 0; ok && i < n->output_count; i++)
        ok = hand_out(b, n, i, results[i]);
    return ok;
}

bool onnx_if(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_attribute *yes = onnx_attribute(n, "then_branch"), *no = onnx_attribute(n, "else_branch");
    struct onnx_value *condition = onnx_in(b, n, 0);
    if (!condition)
        return false;
    if (!yes || !no || !yes->graph || !no->graph)
        return onnx_fail(b, "a branch has no graph");
    if (condition->source != ONNX_SOURCE_CONSTANT)
        return onnx_unknown(b, condition, "values");
    if (condition->type != ONNX_BOOL || onnx_elements(condition) != 1)
        return onnx_fail(b, "the condition must be one boolean");
    return insert(b, n, onnx_constant_int(condition, 0) ? yes->graph : no->graph);
}

bool onnx_loop(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_attribute *body = onnx_attribute(n, "body");
    b->unknown = b->unknown || (!b->failed && body && body->graph);
    return onnx_fail(b, "loops cannot be part of one graph");
}
