/* SPDX-License-Identifier: Apache-2.0 */
/* Determines which nodes of a model can become part of a program: each is converted alone, with trial sizes for unknown
 * dimensions, and DirectML is queried for the resulting operators. */
#include "onnx/convert/converters.h"

#include <anydml.h>
#include <DirectMLGuids.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Trial sizes for unknown dimensions: most operators accept any; some need at least the size of a window, some a 1,
 * some the sum of two others. They are followed by sizes of the node's own tensors, above all weights. */
static const int64_t trial_sizes[] = { 64, 1, 7, 2, 3 };
#define TRIAL_SIZES_MAX 24
#define TRIAL_SIZE_MAX  65536
#define TRIAL_DIMS_MAX  16  /* distinct symbolic dimensions per node */
#define TRIALS_MAX      512 /* of a node */

/* A dimension's name, and the size with which nodes that use it could be converted. */
struct symbol {
    const char *name;
    int64_t size;
};

struct check {
    const struct onnx_model *model;
    IDMLDevice1 *device;
    uint32_t flags;
    struct onnx_builder declared; /* types and shapes: `materialised` = known on the host, `data` = the value info */
    struct symbol *symbols;
    uint32_t symbol_count, symbol_capacity;
    struct onnx_error error;
};

/* An unknown dimension of a node: all that have its name, or, without one, dimension `dim` of `value` alone. */
struct trial_dim {
    const char *name;
    const struct onnx_value *value;
    uint32_t dim;
    int64_t size;
};

/* A node with a size for each unknown dimension. */
struct trial {
    const struct onnx_node *node;
    struct trial_dim dims[TRIAL_DIMS_MAX];
    uint32_t dim_count;
    int64_t otherwise; /* the size of dimensions that are not distinguished */
    bool known;        /* all inputs are known, and those that are not initializers consist of `fill` */
    int64_t fill;
    int64_t sizes[TRIAL_SIZES_MAX];
    uint32_t size_count;
    uint32_t runs;
    bool misfit;           /* every run so far failed for its sizes */
    struct onnx_error why; /* of a failure for another reason */
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

/* ---- declared shapes ---- */

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
    v->data = info;
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

/* The name of an unknown dimension, or NULL. */
static const char *symbol_of(const struct onnx_value *v, uint32_t dim)
{
    const struct onnx_value_info *info = v->source == ONNX_SOURCE_CONSTANT ? NULL : v->data;
    const char *name = info ? info->symbols[dim] : NULL;
    return name && name[0] ? name : NULL;
}

/* ---- one node alone ---- */

/* The slot for the size of an unknown dimension; NULL: it is not distinguished. */
static struct trial_dim *trial_dim(struct trial *t, const struct onnx_value *v, uint32_t dim)
{
    const char *name = symbol_of(v, dim);
    for (uint32_t i = 0; i < t->dim_count; i++) {
        struct trial_dim *d = &t->dims[i];
        if (name ? d->name && !strcmp(d->name, name) : d->value == v && d->dim == dim)
            return d;
    }
    return NULL;
}

/* Numbers that are no sizes, of any count: the host computes with few. */
static bool may_be_many(const struct onnx_value *v)
{
    bool open = false;
    for (uint32_t i = 0; i < v->rank; i++)
        open = open || v->dims[i] < 0;
    return open && (v->type == ONNX_BOOL || v->type == ONNX_FLOAT || v->type == ONNX_FLOAT16 || v->type == ONNX_DOUBLE);
}

static bool trial_input(struct onnx_builder *b, struct trial *t, struct onnx_value *from)
{
    int64_t dims[ONNX_RANK_MAX];
    if (onnx_value_find(b, from->name))
        return true;
    for (uint32_t i = 0; i < from->rank; i++) {
        const struct trial_dim *d = from->dims[i] < 0 ? trial_dim(t, from, i) : NULL;
        dims[i] = from->dims[i] >= 0 ? from->dims[i] : d ? d->size : t->otherwise;
    }
    struct onnx_value *v = onnx_value_new(b, from->name, from->type, from->rank, dims);
    if (!v)
        return false;
    if (t->known && from->source != ONNX_SOURCE_CONSTANT && !may_be_many(from))
        return onnx_fill_known(b, v, t->fill);
    v->source = from->source == ONNX_SOURCE_CONSTANT || !onnx_elements(v) ? ONNX_SOURCE_CONSTANT : ONNX_SOURCE_INPUT;
    v->data = from->source == ONNX_SOURCE_CONSTANT ? from->data : "";
    if (v->source == ONNX_SOURCE_INPUT)
        v->index = b->emit.input_count++;
    return true;
}

static bool trial_compile(struct onnx_builder *b)
{
    for (uint32_t i = 0; i < b->emit.node_count; i++) {
        const struct emit_node *node = &b->emit.nodes[i];
        IDMLCompiledOperator *op = NULL;
        if (node->type != DML_GRAPH_NODE_TYPE_OPERATOR)
            continue;
        HRESULT hr =
            IDMLDevice1_CompileOperator(b->emit.device, node->desc.op.Operator, ANYDML_EXECUTION_FLAG_PROPAGATE_NAN,
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

/* Without all values a node is fine as far as it gets. */
static bool trial_run(struct check *c, struct trial *t)
{
    const struct onnx_node *n = t->node;
    struct onnx_builder b = { .model = c->model, .emit.device = c->device, .error = &c->error };
    bool ok = true;
    c->error.text[0] = 0;
    t->runs++;
    for (uint32_t i = 0; ok && i < n->input_count; i++)
        ok = !n->inputs[i][0] || trial_input(&b, t, onnx_value_find(&c->declared, n->inputs[i]));
    ok = ok && onnx_convert_node(&b, n) && trial_types(c, &b, n) &&
         (!(c->flags & ONNX_CHECK_COMPILE) || trial_compile(&b));
    ok = ok || b.unknown;
    if (!ok && !b.misfit) {
        t->misfit = false;
        t->why = c->error;
    }
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

/* The sizes of one tensor, also times the groups that channels may be split into, and divided by the heads. */
static void add_sizes_of(struct check *c, struct trial *t, const char *name)
{
    static const char *const parts[] = { "num_heads", "q_num_heads", "kv_num_heads" };
    const struct onnx_value *v = name[0] ? onnx_value_find(&c->declared, name) : NULL;
    int64_t group = onnx_attr_int(t->node, "group", 1);
    for (uint32_t d = 0; v && d < v->rank; d++) {
        add_size(t->sizes, &t->size_count, v->dims[d]);
        if (v->dims[d] <= TRIAL_SIZE_MAX && group > 0 && group <= TRIAL_SIZE_MAX)
            add_size(t->sizes, &t->size_count, v->dims[d] * group);
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
            int64_t count = onnx_attr_int(t->node, parts[i], 0);
            if (count > 0 && v->dims[d] > 0 && v->dims[d] % count == 0)
                add_size(t->sizes, &t->size_count, v->dims[d] / count);
        }
    }
}

static void add_dims_of(struct trial *t, const struct onnx_value *v)
{
    for (uint32_t d = 0; v && d < v->rank && t->dim_count < TRIAL_DIMS_MAX; d++) {
        if (v->dims[d] < 0 && !trial_dim(t, v, d))
            t->dims[t->dim_count++] = (struct trial_dim){ symbol_of(v, d), v, d, 0 };
    }
}

static struct symbol *symbol_find(struct check *c, const char *name)
{
    for (uint32_t i = 0; name && i < c->symbol_count; i++) {
        if (!strcmp(c->symbols[i].name, name))
            return &c->symbols[i];
    }
    return NULL;
}

/* Sizes that did for one node are tried first for the next ones. */
static void remember(struct check *c, const struct trial *t)
{
    for (uint32_t i = 0; i < t->dim_count; i++) {
        struct symbol *known = symbol_find(c, t->dims[i].name);
        if (known)
            known->size = t->dims[i].size;
        else if (t->dims[i].name &&
                 base_array_reserve((void **)&c->symbols, c->symbol_count, &c->symbol_capacity, sizeof(*c->symbols)))
            c->symbols[c->symbol_count++] = (struct symbol){ t->dims[i].name, t->dims[i].size };
    }
}

static void set_all(struct trial *t, int64_t size)
{
    t->otherwise = size;
    for (uint32_t i = 0; i < t->dim_count; i++)
        t->dims[i].size = size;
}

/* Gives up to `changes` dimensions from `first` on other sizes than the rest. */
static bool try_changes(struct check *c, struct trial *t, uint32_t first, uint32_t changes)
{
    for (uint32_t i = first; i < t->dim_count; i++) {
        int64_t before = t->dims[i].size;
        for (uint32_t s = 0; s < t->size_count && t->runs < TRIALS_MAX; s++) {
            t->dims[i].size = t->sizes[s];
            if (t->sizes[s] != before && (changes > 1 ? try_changes(c, t, i + 1, changes - 1) : trial_run(c, t)))
                return true;
        }
        t->dims[i].size = before;
    }
    return false;
}

/* The sizes that worked for other nodes, then one size for all unknown dimensions, then ones except for one or two of
 * them.
 */
static bool try_sizes(struct check *c, struct trial *t)
{
    set_all(t, trial_sizes[0]);
    for (uint32_t i = 0; i < t->dim_count; i++) {
        const struct symbol *known = symbol_find(c, t->dims[i].name);
        t->dims[i].size = known ? known->size : trial_sizes[0];
    }
    if (trial_run(c, t))
        return true;
    for (uint32_t i = 0; i < t->size_count; i++) {
        set_all(t, t->sizes[i]);
        if (trial_run(c, t))
            return true;
    }
    for (uint32_t changes = 1; changes < t->dim_count && changes <= 2; changes++) {
        set_all(t, 1);
        if (try_changes(c, t, 0, changes))
            return true;
    }
    return false;
}

/* One working combination of sizes is sufficient. If all are incompatible, the node is not rejected. */
static bool try_node(struct check *c, const struct onnx_node *n, bool open)
{
    struct trial t = { .node = n, .misfit = true };
    if (!open)
        return trial_run(c, &t);
    for (uint32_t i = 0; i < ARRAY_SIZE(trial_sizes); i++)
        add_size(t.sizes, &t.size_count, trial_sizes[i]);
    for (uint32_t i = 0; i < n->input_count; i++) {
        add_sizes_of(c, &t, n->inputs[i]);
        add_dims_of(&t, n->inputs[i][0] ? onnx_value_find(&c->declared, n->inputs[i]) : NULL);
    }
    for (uint32_t i = 0; i < n->output_count; i++)
        add_sizes_of(c, &t, n->outputs[i]);
    if (try_sizes(c, &t)) {
        remember(c, &t);
        return true;
    }
    c->error = t.why;
    return t.misfit;
}

/* ---- computation on the host ---- */

/* Whether results are not known although the inputs are, and consist of `fill`. */
static bool computed_by_device(struct check *c, const struct onnx_node *n, int64_t fill)
{
    struct trial t = { .node = n, .known = true, .fill = fill, .otherwise = trial_sizes[2] };
    struct onnx_builder b = { .model = c->model, .emit.device = c->device, .error = &c->error };
    bool ok = true, known = true;
    c->error.text[0] = 0;
    for (uint32_t i = 0; ok && i < n->input_count; i++)
        ok = !n->inputs[i][0] || trial_input(&b, &t, onnx_value_find(&c->declared, n->inputs[i]));
    ok = ok && onnx_convert_node(&b, n);
    for (uint32_t i = 0; ok && i < n->output_count; i++) {
        const struct onnx_value *y = n->outputs[i][0] ? onnx_value_find(&b, n->outputs[i]) : NULL;
        known = known && (!y || y->source == ONNX_SOURCE_CONSTANT);
    }
    onnx_builder_finish(&b);
    return ok && !known;
}

/* The converter table states that the host computes the operator; for some types and attributes the device does. Each
 * trial value is invalid for some operators, and for some hides that nothing is computed. */
static bool node_folds(struct check *c, const struct onnx_node *n)
{
    for (int64_t fill = 0; fill < 3; fill++) {
        if (computed_by_device(c, n, fill))
            return false;
    }
    return true;
}

static bool is_masked(uint32_t mask, uint32_t input)
{
    return input < 32 && mask >> input & 1;
}

/* Propagates which values must be known, from the last node to the first: values that the host computes pass the
 * requirement on to their inputs. */
static void check_folding(struct check *c, struct onnx_verdict *verdicts)
{
    for (uint32_t i = c->model->node_count; i-- > 0;) {
        const struct onnx_node *n = &c->model->nodes[i];
        bool needed = false;
        for (uint32_t k = 0; k < n->output_count; k++) {
            const struct onnx_value *y = n->outputs[k][0] ? onnx_value_find(&c->declared, n->outputs[k]) : NULL;
            needed = needed || (y && y->wanted);
        }
        if (needed && verdicts[i].ok && verdicts[i].folds == 1 && !node_folds(c, n))
            verdicts[i].folds = 0;
        for (uint32_t k = 0; k < n->input_count; k++) {
            struct onnx_value *x = n->inputs[k][0] ? onnx_value_find(&c->declared, n->inputs[k]) : NULL;
            if (x && (is_masked(verdicts[i].wants, k) || (needed && verdicts[i].folds == 1)))
                x->wanted = true;
        }
    }
}

/* ---- verdicts ---- */

/* Classifies the inputs before trying; *whole: their ranks are known; *open: some of their sizes are not. */
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
            return refuse(verdict, "'%.60s' has data type %s", n->inputs[i], onnx_type_name(v->type));
        *whole = *whole && v->index;
        for (uint32_t d = 0; d < v->rank; d++)
            *open = *open || v->dims[d] < 0;
    }
    return true;
}

static bool has_graph(const struct onnx_node *n)
{
    for (uint32_t i = 0; i < n->attribute_count; i++)
        if (n->attributes[i].graph)
            return true;
    return false;
}

static bool check_node(struct check *c, const struct onnx_node *n, struct onnx_verdict *verdict)
{
    const struct onnx_converter *converter = onnx_converter_find(n->domain, n->op);
    bool whole, open;
    if (!converter)
        return refuse(verdict, "this operator cannot be converted to DirectML");
    if (c->flags & ONNX_CHECK_NEWEST && n->version > converter->newest)
        return refuse(verdict, "version %lld is newer than %lld", (long long)n->version, (long long)converter->newest);
    if ((converter->convert == onnx_if || converter->convert == onnx_loop) && !has_graph(n))
        return refuse(verdict, "its inner graphs are not part of this one"); /* regardless of its inputs */
    verdict->wants = converter->wants & 0xffff;
    verdict->lengths = converter->wants >> 16;
    verdict->folds = converter->folds;
    if (!check_inputs(c, n, verdict, &whole, &open))
        return false;
    verdict->ok = true;
    if (!whole)
        return true;
    return try_node(c, n, open) || refuse(verdict, "%.150s", c->error.text);
}

HRESULT onnx_check(const struct onnx_model *model, IDMLDevice1 *device, uint32_t flags, struct onnx_verdict *verdicts)
{
    struct check c = { .model = model, .device = device, .flags = flags };
    c.declared.error = &c.error;
    c.declared.model = model;
    bool ok = declare_all(&c);
    memset(verdicts, 0, model->node_count * sizeof(*verdicts));
    BOOL before = AnydmlQuiet(TRUE); /* the verdicts report the failures */
    for (uint32_t i = 0; ok && i < model->node_count; i++)
        check_node(&c, &model->nodes[i], &verdicts[i]);
    if (ok)
        check_folding(&c, verdicts);
    AnydmlQuiet(before);
    onnx_builder_finish(&c.declared);
    free(c.symbols);
    return ok ? S_OK : E_INVALIDARG;
}
