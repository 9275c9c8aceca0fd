/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operators, and compilation of the graphs that their builders emit. */
#include "device.h"
#include "graph.h"

#include <stdlib.h>

static const struct aten_row rows[] = {
#define ATEN(name, overload, out_overload, flags, writes, builder, parameter)                                          \
    { { name, overload, out_overload, ((flags)&ATEN_IN_PLACE) != 0, ((flags)&ATEN_NO_FUNCTIONAL) != 0,                 \
        ((flags)&ATEN_RANDOM) != 0, writes },                                                                          \
      aten_build_##builder,                                                                                            \
      parameter,                                                                                                       \
      ((flags)&ATEN_COMPLEX) != 0 },
#include "ops.def"
#undef ATEN
};

static const struct {
    const char *name, *overload;
    aten_builder *build;
    int64_t parameter;
} complex_rows[] = {
#define COMPLEX(name, overload, builder, parameter) { name, overload, aten_build_##builder, parameter },
#include "complex.def"
#undef COMPLEX
};

const struct aten_op *aten_op_at(uint32_t i)
{
    return i < ARRAY_SIZE(rows) ? &rows[i].op : NULL;
}

const struct aten_op *aten_op_find(const char *name, const char *overload)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (!strcmp(rows[i].op.name, name) && !strcmp(rows[i].op.overload, overload))
            return &rows[i].op;
    return NULL;
}

const struct aten_row *aten_row_of(const struct aten_op *op)
{
    return (const struct aten_row *)(const void *)op;
}

/* ---- building ---- */

void aten_graph_init(struct aten_graph *g, struct aten_device *device)
{
    memset(g, 0, sizeof(*g));
    g->device = device;
    g->emit.device = device->dml;
}

void aten_graph_finish(struct aten_graph *g)
{
    emit_finish(&g->emit);
    free(g->inputs);
    free(g->values);
    base_arena_finish(&g->arena);
}

static bool has_complex(const struct aten_node *n)
{
    for (uint32_t i = 0; i < n->output_count; i++)
        if (aten_is_complex(n->outputs[i].type))
            return true;
    for (uint32_t i = 0; i < n->arg_count; i++) {
        const struct aten_operand *a = &n->args[i];
        const uint32_t count = a->kind == ATEN_TENSORS ? a->count : a->kind == ATEN_TENSOR ? 1 : 0;
        for (uint32_t k = 0; k < count; k++)
            if (a->values[k] && aten_is_complex(a->values[k]->type))
                return true;
    }
    return false;
}

/* The builder of the node; sets the node's parameter. NULL: there is none. */
static aten_builder *builder_of(struct aten_node *n)
{
    const struct aten_row *row = aten_row_of(n->op);
    n->parameter = row->parameter;
    if (row->complex || row->build == aten_build_foreach || !has_complex(n)) /* _foreach_: builders of single tensors */
        return row->build;
    for (uint32_t i = 0; i < ARRAY_SIZE(complex_rows); i++)
        if (!strcmp(complex_rows[i].name, row->op.name) && !strcmp(complex_rows[i].overload, row->op.overload)) {
            n->parameter = complex_rows[i].parameter;
            return complex_rows[i].build;
        }
    return NULL;
}

bool aten_build(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_node own = *n;
    const struct aten_node *before = g->node;
    aten_builder *build = builder_of(&own);
    g->node = &own;
    bool ok = build ? !g->failed && build(g, &own) && !g->failed : aten_fail(g, "complex numbers are not supported");
    for (uint32_t i = 0; ok && i < n->output_count; i++)
        if (aten_wanted(n, i) && !n->results[i])
            ok = aten_fail(g, "result %u was not built", i);
    if (!ok)
        aten_fail(g, "unsupported arguments");
    g->node = before;
    return ok;
}

/* ---- compiling ---- */

/* Makes each output of the graph a distinct output of a node that covers its buffer. */
static struct aten_value *own_output(struct aten_graph *g, struct aten_value **outputs, uint32_t i)
{
    struct aten_value *v = outputs[i];
    bool own = v->buffer->source == ATEN_SOURCE_NODE && aten_covers(v);
    for (uint32_t k = 0; own && k < i; k++)
        own = !outputs[k] || outputs[k]->buffer != v->buffer;
    return own ? v : aten_copy_of(g, v);
}

bool aten_compile_graph(struct aten_graph *g, struct aten_value **outputs, uint32_t output_count, uint32_t *out_slots,
                        uint32_t *out_slot_count, IDMLCompiledOperator **out_op)
{
    *out_op = NULL;
    for (uint32_t i = 0; !g->failed && i < output_count; i++) {
        if (!outputs[i] || outputs[i]->buffer->source == ATEN_SOURCE_EMPTY)
            continue;
        struct aten_value *v = outputs[i] = own_output(g, outputs, i);
        if (!v)
            break;
        out_slots[g->emit.output_count] = i;
        if (!emit_output(&g->emit, v->buffer->index, v->buffer->output, NULL))
            return aten_fail(g, "out of memory");
    }
    *out_slot_count = g->emit.output_count;
    if (g->failed || !*out_slot_count)
        return !g->failed;
    HRESULT hr = emit_compile(&g->emit, DML_EXECUTION_FLAG_NONE, out_op);
    return SUCCEEDED(hr) || aten_fail(g, "CompileGraph failed (0x%08x)", (unsigned)hr);
}
