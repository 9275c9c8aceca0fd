/* Which nodes of a model can become part of a program: each is converted alone, with sizes put in for those that are
 * not known yet, and DirectML is asked for the operators that come out of it. */
#include "onnx/build.h"

#include <anydml.h>
#include <DirectMLGuids.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Sizes to try for unknown dimensions: most operators take any; some need at least the size of a window, some a one.
 * After them come sizes that the node's own tensors have: those of weights, above all. */
static const int64_t trial_sizes[] = { 64, 1, 7 };
#define TRIAL_SIZES_MAX 24
#define TRIAL_SIZE_MAX  65536

struct check {
    const struct onnx_model *model;
    IDMLDevice1 *device;
    uint32_t flags;
    struct onnx_builder declared; /* every value's type and shape; `materialised` = known on the host */
    struct onnx_error error;
};

static bool refuse(struct onnx_verdict *verdict, const char *format, ...) BASE_PRINTF(2, 3);
static bool refuse(struct onnx_verdict *verdict, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(verdict->reason, sizeof(verdict->reason), format, args);
    va_end(args);
    verdict->ok = false;
    return false;
}

/* ---- what is declared ---- */

static bool declare(struct check *c, const struct onnx_value_info *info)
{
    struct onnx_builder *b = &c->declared;
    if (onnx_value_find(b, info->name))
        return true;
    static const int64_t open[ONNX_RANK_MAX] = { 0 };
    struct onnx_value *v = onnx_value_new(b, info->name, info->type, info->has_shape ? info->rank : 0, open);
    if (!v)
        return false;
    memcpy(v->dims, info->dims, v->rank * sizeof(*v->dims)); /* -1 stays */
    v->index = info->has_shape;
    return true;
}

static bool declare_all(struct check *c)
{
    const struct onnx_model *m = c->model;
    bool ok = true;
    for (uint32_t i = 0; ok && i < m->initializer_count; i++) {
        const struct onnx_tensor *t = &m->initializers[i];
        struct onnx_value *v = onnx_value_new(&c->declared, t->name, t->type, t->rank, t->dims);
        ok = v != NULL;
        if (ok) {
            v->source = ONNX_SOURCE_CONSTANT;
            v->data = t->data;
            v->materialised = true;
            v->index = true;
        }
    }
    for (uint32_t i = 0; ok && i < m->input_count; i++)
        ok = declare(c, &m->inputs[i]);
    for (uint32_t i = 0; ok && i < m->output_count; i++)
        ok = declare(c, &m->outputs[i]);
    for (uint32_t i = 0; ok && i < m->value_count; i++)
        ok = declare(c, &m->values[i]);
    return ok;
}

/* ---- one node alone ---- */

static bool trial_input(struct onnx_builder *b, struct onnx_value *from, int64_t size)
{
    int64_t dims[ONNX_RANK_MAX];
    if (onnx_value_find(b, from->name))
        return true;
    for (uint32_t i = 0; i < from->rank; i++)
        dims[i] = from->dims[i] < 0 ? size : from->dims[i];
    struct onnx_value *v = onnx_value_new(b, from->name, from->type, from->rank, dims);
    if (!v)
        return false;
    v->source = from->source == ONNX_SOURCE_CONSTANT || !onnx_elements(v) ? ONNX_SOURCE_CONSTANT : ONNX_SOURCE_INPUT;
    v->data = from->source == ONNX_SOURCE_CONSTANT ? from->data : "";
    if (v->source == ONNX_SOURCE_INPUT)
        v->index = b->graph_input_count++;
    return true;
}

static bool trial_compile(struct onnx_builder *b)
{
    for (uint32_t i = 0; i < b->node_count; i++) {
        const DML_OPERATOR_GRAPH_NODE_DESC *node = b->nodes[i].Desc;
        IDMLCompiledOperator *op = NULL;
        if (b->nodes[i].Type != DML_GRAPH_NODE_TYPE_OPERATOR)
            continue;
        HRESULT hr = b->device->lpVtbl->CompileOperator(b->device, node->Operator, DML_EXECUTION_FLAG_NONE,
                                                        &IID_IDMLCompiledOperator, (void **)&op);
        if (FAILED(hr))
            return onnx_fail(b, "the device cannot run it (0x%08x)", (unsigned)hr);
        op->lpVtbl->Release(op);
    }
    return true;
}

static bool trial_types(struct check *c, struct onnx_builder *b, const struct onnx_node *n)
{
    for (uint32_t i = 0; i < n->output_count; i++) {
        const struct onnx_value *is = n->outputs[i][0] ? onnx_value_find(b, n->outputs[i]) : NULL;
        const struct onnx_value *want = is ? onnx_value_find(&c->declared, n->outputs[i]) : NULL;
        if (n->outputs[i][0] && !is)
            return onnx_fail(b, "output %u is not computed", i);
        if (want && want->type && want->type != is->type)
            return onnx_fail(b, "output %u has the type %s instead of %s", i, onnx_type_name(is->type),
                             onnx_type_name(want->type));
    }
    return true;
}

/* Without all values a node is fine as far as it gets. *misfit: it fails, but for its sizes. */
static bool trial(struct check *c, const struct onnx_node *n, int64_t size, bool *misfit)
{
    struct onnx_builder b = { .model = c->model, .device = c->device, .error = &c->error };
    bool ok = true;
    c->error.text[0] = 0;
    for (uint32_t i = 0; ok && i < n->input_count; i++)
        ok = !n->inputs[i][0] || trial_input(&b, onnx_value_find(&c->declared, n->inputs[i]), size);
    ok = ok && onnx_convert_node(&b, n) && trial_types(c, &b, n) &&
         (!(c->flags & ONNX_CHECK_COMPILE) || trial_compile(&b));
    ok = ok || b.unknown;
    *misfit = b.misfit;
    onnx_builder_finish(&b);
    return ok;
}

static void add_size(int64_t *sizes, uint32_t *count, int64_t size)
{
    for (uint32_t i = 0; i < *count; i++) {
        if (sizes[i] == size)
            return;
    }
    if (size > 0 && size <= TRIAL_SIZE_MAX && *count < TRIAL_SIZES_MAX)
        sizes[(*count)++] = size;
}

/* The sizes of one tensor, also times the groups that channels may be split into. */
static void add_sizes_of(struct check *c, const struct onnx_node *n, const char *name, int64_t *sizes, uint32_t *count)
{
    const struct onnx_value *v = name[0] ? onnx_value_find(&c->declared, name) : NULL;
    int64_t group = onnx_attr_int(n, "group", 1);
    for (uint32_t d = 0; v && d < v->rank; d++) {
        add_size(sizes, count, v->dims[d]);
        if (v->dims[d] <= TRIAL_SIZE_MAX && group > 0 && group <= TRIAL_SIZE_MAX)
            add_size(sizes, count, v->dims[d] * group);
    }
}

/* One size that works is enough. Where none of them fit together nothing is known against the node. */
static bool try_sizes(struct check *c, const struct onnx_node *n)
{
    int64_t sizes[TRIAL_SIZES_MAX];
    uint32_t count = 0;
    bool ok = false, misfit = true;
    for (uint32_t i = 0; i < ARRAY_SIZE(trial_sizes); i++)
        add_size(sizes, &count, trial_sizes[i]);
    for (uint32_t i = 0; i < n->input_count; i++)
        add_sizes_of(c, n, n->inputs[i], sizes, &count);
    for (uint32_t i = 0; i < n->output_count; i++)
        add_sizes_of(c, n, n->outputs[i], sizes, &count);
    for (uint32_t i = 0; !ok && i < count; i++) {
        bool only_sizes;
        ok = trial(c, n, sizes[i], &only_sizes);
        misfit = misfit && only_sizes;
    }
    return ok || misfit;
}

/* ---- verdicts ---- */

/* What can be said of the inputs before trying; *whole: their ranks are known; *open: some of their sizes are not. */
static bool check_inputs(struct check *c, const struct onnx_node *n, struct onnx_verdict *verdict, bool *whole,
                         bool *open)
{
    *whole = true;
    *open = false;
    for (uint32_t i = 0; i < n->input_count; i++) {
        const struct onnx_value *v = n->inputs[i][0] ? onnx_value_find(&c->declared, n->inputs[i]) : NULL;
        if (!n->inputs[i][0])
            continue;
        if (!v || !v->type)
            return refuse(verdict, "the type of '%.60s' is not known", n->inputs[i]);
        if (!onnx_type_bytes(v->type))
            return refuse(verdict, "'%.60s' has data type %d", n->inputs[i], v->type);
        *whole = *whole && v->index;
        for (uint32_t d = 0; d < v->rank; d++)
            *open = *open || v->dims[d] < 0;
    }
    return true;
}

static bool check_node(struct check *c, const struct onnx_node *n, struct onnx_verdict *verdict)
{
    const struct onnx_row *row = onnx_row_find(n->domain, n->op);
    bool whole, open, misfit, ok;
    if (!row)
        return refuse(verdict, "there is no such operator");
    if (c->flags & ONNX_CHECK_NEWEST && n->version > row->newest)
        return refuse(verdict, "version %lld is newer than %lld", (long long)n->version, (long long)row->newest);
    verdict->wants = row->wants;
    verdict->folds = row->folds;
    if (!check_inputs(c, n, verdict, &whole, &open))
        return false;
    verdict->ok = true;
    if (!whole)
        return true;
    ok = open ? try_sizes(c, n) : trial(c, n, 0, &misfit);
    return ok || refuse(verdict, "%.150s", c->error.text);
}

HRESULT onnx_check(const struct onnx_model *model, IDMLDevice1 *device, uint32_t flags, struct onnx_verdict *verdicts)
{
    struct check c = { .model = model, .device = device, .flags = flags };
    c.declared.error = &c.error;
    c.declared.model = model;
    bool ok = declare_all(&c);
    memset(verdicts, 0, model->node_count * sizeof(*verdicts));
    BOOL before = AnydmlQuiet(TRUE); /* the verdicts say what was refused */
    for (uint32_t i = 0; ok && i < model->node_count; i++)
        check_node(&c, &model->nodes[i], &verdicts[i]);
    AnydmlQuiet(before);
    onnx_builder_finish(&c.declared);
    return ok ? S_OK : E_INVALIDARG;
}
