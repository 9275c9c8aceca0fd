/* SPDX-License-Identifier: Apache-2.0 */
/* Construction of graphs: values, arguments and results of nodes, views, and DirectML operators with their edges. */
#include "graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool aten_fail(struct aten_graph *g, const char *format, ...)
{
    va_list args;
    if (g->failed)
        return false;
    g->failed = true;
    int used = 0;
    if (g->node) {
        const struct aten_op *op = g->node->op;
        used = snprintf(g->message, sizeof(g->message), "%s%s%s%s: ", strstr(op->name, "::") ? "" : "aten::", op->name,
                        *op->overload ? "." : "", op->overload);
    }
    va_start(args, format);
    if (used >= 0 && (size_t)used < sizeof(g->message))
        vsnprintf(g->message + used, sizeof(g->message) - (size_t)used, format, args);
    va_end(args);
    return false;
}

void *aten_alloc(struct aten_graph *g, size_t bytes)
{
    void *data = g->failed ? NULL : base_arena_alloc(&g->arena, BASE_MAX(bytes, (size_t)1));
    if (!data)
        aten_fail(g, "out of memory");
    return data;
}

/* ---- values ---- */

int64_t aten_elements(const struct aten_value *v)
{
    int64_t elements = 1;
    for (uint32_t i = 0; i < v->rank; i++)
        elements *= v->sizes[i];
    return elements;
}

/* The number of elements from the first to the last, gaps included. */
static int64_t extent_of(uint32_t rank, const int64_t *sizes, const int64_t *strides)
{
    int64_t extent = 1;
    for (uint32_t i = 0; i < rank; i++) {
        if (!sizes[i])
            return 0;
        extent += (sizes[i] - 1) * strides[i];
    }
    return extent;
}

struct aten_value *aten_new_strided(struct aten_graph *g, int32_t type, uint32_t rank, const int64_t *sizes,
                                    const int64_t *strides)
{
    struct aten_value *v = aten_alloc(g, sizeof(*v));
    struct aten_buffer *buffer = aten_alloc(g, sizeof(*buffer));
    if (!v || !buffer)
        return NULL;
    v->buffer = buffer;
    v->type = buffer->type = type;
    v->rank = rank;
    int64_t step = 1;
    for (uint32_t i = rank; i-- > 0; step *= sizes[i]) {
        v->sizes[i] = sizes[i];
        v->strides[i] = strides ? strides[i] : step;
    }
    buffer->extent = extent_of(rank, v->sizes, v->strides);
    buffer->source = buffer->extent ? ATEN_SOURCE_NODE : ATEN_SOURCE_EMPTY;
    return v;
}

static bool is_dense(uint32_t rank, const int64_t *sizes, const int64_t *strides)
{
    int64_t elements = 1;
    for (uint32_t i = 0; i < rank; i++)
        elements *= sizes[i];
    return extent_of(rank, sizes, strides) == elements;
}

struct aten_value *aten_new_packed(struct aten_graph *g, int32_t type, uint32_t rank, const int64_t *sizes)
{
    return g->failed ? NULL : aten_new_strided(g, type, rank, sizes, NULL);
}

struct aten_value *aten_new(struct aten_graph *g, int32_t type, uint32_t rank, const int64_t *sizes)
{
    const struct aten_tensor *like = g->node && g->node->output_count ? g->node->outputs : NULL;
    bool same = like && like->type != ATEN_ABSENT && like->rank == rank &&
                !memcmp(like->sizes, sizes, rank * sizeof(*sizes)) && is_dense(rank, sizes, like->strides);
    return g->failed ? NULL : aten_new_strided(g, type, rank, sizes, same ? like->strides : NULL);
}

struct aten_value *aten_constant(struct aten_graph *g, int32_t type, uint32_t rank, const int64_t *sizes,
                                 const void *data)
{
    struct aten_value *v = aten_new_packed(g, type, rank, sizes);
    if (!v || v->buffer->source == ATEN_SOURCE_EMPTY)
        return v;
    v->buffer->source = ATEN_SOURCE_CONSTANT;
    v->buffer->data = base_arena_copy(&g->arena, data, (size_t)v->buffer->extent * aten_type_bytes(type));
    if (!v->buffer->data)
        aten_fail(g, "out of memory");
    return g->failed ? NULL : v;
}

struct aten_value *aten_scalar(struct aten_graph *g, int32_t type, double value)
{
    uint64_t bits = 0;
    aten_store_real(type, value, &bits);
    return aten_constant(g, type, 0, NULL, &bits);
}

struct aten_value *aten_scalar_int(struct aten_graph *g, int32_t type, int64_t value)
{
    uint64_t bits = 0;
    aten_store_int(type, value, &bits);
    return aten_constant(g, type, 0, NULL, &bits);
}

struct aten_value *aten_filled(struct aten_graph *g, int32_t type, uint32_t rank, const int64_t *sizes, double value)
{
    return aten_expand(g, aten_scalar(g, type, value), rank, sizes);
}

static struct aten_value *bound(struct aten_graph *g, struct aten_value *v, struct aten_binding binding)
{
    if (v && v->buffer->source != ATEN_SOURCE_EMPTY) {
        v->buffer->source = ATEN_SOURCE_INPUT;
        v->buffer->binding = binding;
    }
    return g->failed ? NULL : v;
}

struct aten_value *aten_input_value(struct aten_graph *g, const struct aten_tensor *layout, uint32_t argument,
                                    uint32_t element)
{
    if (!aten_type_bytes(layout->type) || layout->rank > ATEN_RANK_MAX) {
        aten_fail(g, "argument %u has %u dimensions and type %d, must have at most %u and a supported type", argument,
                  layout->rank, layout->type, ATEN_RANK_MAX);
        return NULL;
    }
    for (uint32_t i = 0; i < layout->rank; i++)
        if (layout->sizes[i] < 0 || layout->sizes[i] > UINT32_MAX || layout->strides[i] < 0 ||
            (layout->strides[i] > UINT32_MAX && layout->sizes[i] > 1)) {
            aten_fail(g, "dimension %u of argument %u has size %lld and stride %lld, must be from 0 to 2^32 - 1", i,
                      argument, (long long)layout->sizes[i], (long long)layout->strides[i]);
            return NULL;
        }
    return bound(g, aten_new_strided(g, layout->type, layout->rank, layout->sizes, layout->strides),
                 (struct aten_binding){ ATEN_BIND_TENSOR, argument, element, layout->type, false });
}

struct aten_value *aten_generator(struct aten_graph *g, const struct aten_node *n, uint32_t i, uint64_t draws)
{
    static const int64_t words[1] = { 6 };
    if (!aten_given(n, i) || n->args[i].kind != ATEN_GENERATOR) {
        aten_fail(g, "argument %u must be a generator", i);
        return NULL;
    }
    g->draws += base_align_up(draws, 4);
    return bound(g, aten_new_packed(g, ATEN_UINT32, 1, words),
                 (struct aten_binding){ ATEN_BIND_GENERATOR, i, 0, ATEN_UINT32, false });
}

/* ---- arguments ---- */

bool aten_given(const struct aten_node *n, uint32_t i)
{
    return i < n->arg_count && n->args[i].kind != ATEN_NONE && (n->args[i].kind != ATEN_TENSOR || n->args[i].values[0]);
}

bool aten_is_tensor(const struct aten_node *n, uint32_t i)
{
    return aten_given(n, i) && n->args[i].kind == ATEN_TENSOR;
}

static bool is_number(const struct aten_node *n, uint32_t i)
{
    return aten_given(n, i) &&
           (n->args[i].kind == ATEN_INT || n->args[i].kind == ATEN_REAL || n->args[i].kind == ATEN_BOOL);
}

static struct aten_value *number_as(struct aten_graph *g, const struct aten_node *n, uint32_t i, int32_t type)
{
    const struct aten_operand *a = &n->args[i];
    g->numbers |= UINT64_C(1) << (i & 63);
    if (g->live)
        return bound(g, aten_new_packed(g, type, 0, NULL),
                     (struct aten_binding){ ATEN_BIND_NUMBER, i, a->element, type, false });
    return a->kind == ATEN_REAL ? aten_scalar(g, type, a->real) : aten_scalar_int(g, type, a->integer);
}

struct aten_value *aten_in(struct aten_graph *g, const struct aten_node *n, uint32_t i)
{
    if (g->failed)
        return NULL;
    if (aten_is_tensor(n, i))
        return n->args[i].values[0];
    if (is_number(n, i))
        return number_as(g, n, i,
                         n->args[i].kind == ATEN_REAL  ? ATEN_FLOAT64
                         : n->args[i].kind == ATEN_INT ? ATEN_INT64
                                                       : ATEN_BOOLEAN);
    aten_fail(g, "argument %u must be a tensor or a number", i);
    return NULL;
}

struct aten_value *aten_in_as(struct aten_graph *g, const struct aten_node *n, uint32_t i, int32_t type)
{
    return is_number(n, i) && !g->failed ? number_as(g, n, i, type) : aten_convert(g, aten_in(g, n, i), type);
}

struct aten_value *aten_in_optional(struct aten_graph *g, const struct aten_node *n, uint32_t i)
{
    return aten_given(n, i) ? aten_in(g, n, i) : NULL;
}

double aten_real(struct aten_graph *g, const struct aten_node *n, uint32_t i, double otherwise)
{
    if (!is_number(n, i))
        return otherwise;
    g->baked = true;
    return n->args[i].kind == ATEN_REAL ? n->args[i].real : (double)n->args[i].integer;
}

int64_t aten_int(struct aten_graph *g, const struct aten_node *n, uint32_t i, int64_t otherwise)
{
    if (!is_number(n, i))
        return otherwise;
    g->baked = true;
    return n->args[i].kind == ATEN_REAL ? (int64_t)n->args[i].real : n->args[i].integer;
}

bool aten_known_number(struct aten_graph *g, const struct aten_node *n, uint32_t i, double *out)
{
    if (g->live || !is_number(n, i))
        return false;
    *out = n->args[i].kind == ATEN_REAL ? n->args[i].real : (double)n->args[i].integer;
    return true;
}

const int64_t *aten_ints(struct aten_graph *g, const struct aten_node *n, uint32_t i, uint32_t *out_count)
{
    *out_count = 0;
    if (!aten_given(n, i))
        return NULL;
    const struct aten_operand *a = &n->args[i];
    const bool single = a->kind == ATEN_INT;
    if (!single && a->kind != ATEN_INTS && a->kind != ATEN_BOOLS) {
        aten_fail(g, "argument %u must be integers", i);
        return NULL;
    }
    g->baked |= single;
    *out_count = single ? 1 : a->count;
    return single ? &a->integer : a->integers;
}

bool aten_axis(struct aten_graph *g, int64_t dim, uint32_t rank, uint32_t *out)
{
    int64_t dims = BASE_MAX(rank, 1u);
    if (dim < -dims || dim >= dims)
        return aten_fail(g, "dimension %lld is out of range, must be in [%lld, %lld]", (long long)dim, (long long)-dims,
                         (long long)dims - 1);
    *out = (uint32_t)(dim < 0 ? dim + dims : dim);
    return true;
}

/* ---- results ---- */

bool aten_wanted(const struct aten_node *n, uint32_t i)
{
    return i < n->output_count && n->outputs[i].type != ATEN_ABSENT;
}

/* Values may have another type than their buffer: BOOLEAN, parts of complex numbers. */
static int64_t bytes_of(const struct aten_buffer *buffer)
{
    return buffer->extent * aten_type_bytes(buffer->type);
}

bool aten_covers(const struct aten_value *v)
{
    for (uint32_t i = 0; i < v->rank; i++)
        if (v->sizes[i] > 1 && !v->strides[i])
            return false;
    return extent_of(v->rank, v->sizes, v->strides) * aten_type_bytes(v->type) == bytes_of(v->buffer);
}

/* The value covers a buffer of its own in exactly the requested layout. */
static bool lies_as(const struct aten_value *v, const struct aten_tensor *wanted)
{
    for (uint32_t i = 0; i < v->rank; i++)
        if (v->sizes[i] != 1 && v->strides[i] != wanted->strides[i])
            return false;
    return v->buffer->source == ATEN_SOURCE_NODE && !v->buffer->taken && aten_covers(v);
}

bool aten_result(struct aten_graph *g, const struct aten_node *n, uint32_t i, struct aten_value *v)
{
    if (!v || g->failed)
        return aten_fail(g, "unsupported arguments");
    if (!aten_wanted(n, i))
        return true;
    const struct aten_tensor *wanted = &n->outputs[i];
    v = aten_expand(g, aten_convert(g, v, wanted->type), wanted->rank, wanted->sizes);
    if (v && v->buffer->source != ATEN_SOURCE_EMPTY && !lies_as(v, wanted)) {
        struct aten_value *y = aten_new_strided(g, v->type, wanted->rank, wanted->sizes, wanted->strides);
        struct aten_desc dx, dy;
        if (!y)
            return false;
        DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC desc = { aten_describe(g, &dx, v), aten_describe(g, &dy, y), NULL };
        v = aten_emit(g, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &desc, &v, 1, &y, 1) ? y : NULL;
    }
    if (v)
        v->buffer->taken = true;
    n->results[i] = v;
    return v != NULL;
}

/* ---- views ---- */

struct aten_value *aten_view(struct aten_graph *g, const struct aten_value *x, uint32_t rank, const int64_t *sizes,
                             const int64_t *strides)
{
    struct aten_value *v = x ? aten_alloc(g, sizeof(*v)) : NULL;
    if (!v)
        return NULL;
    v->buffer = x->buffer;
    v->type = x->type;
    v->rank = rank;
    for (uint32_t i = 0; i < rank; i++) {
        v->sizes[i] = sizes[i];
        v->strides[i] = strides[i];
    }
    if (extent_of(rank, sizes, strides) * aten_type_bytes(x->type) > bytes_of(x->buffer)) {
        aten_fail(g, "a view exceeds its storage");
        return NULL;
    }
    return v;
}

struct aten_value *aten_permute(struct aten_graph *g, const struct aten_value *x, const uint32_t *order)
{
    int64_t sizes[ATEN_RANK_MAX], strides[ATEN_RANK_MAX];
    for (uint32_t i = 0; x && i < x->rank; i++) {
        sizes[i] = x->sizes[order[i]];
        strides[i] = x->strides[order[i]];
    }
    return x ? aten_view(g, x, x->rank, sizes, strides) : NULL;
}

struct aten_value *aten_transpose(struct aten_graph *g, const struct aten_value *x, uint32_t a, uint32_t b)
{
    uint32_t order[ATEN_RANK_MAX];
    for (uint32_t i = 0; i < ATEN_RANK_MAX; i++)
        order[i] = i == a ? b : i == b ? a : i;
    return aten_permute(g, x, order);
}

struct aten_value *aten_expand(struct aten_graph *g, const struct aten_value *x, uint32_t rank, const int64_t *sizes)
{
    int64_t strides[ATEN_RANK_MAX] = { 0 };
    if (!x)
        return NULL;
    for (uint32_t i = 0; i < x->rank; i++) {
        uint32_t at = i + rank - x->rank;
        if (x->rank > rank || (x->sizes[i] != 1 && x->sizes[i] != sizes[at])) {
            aten_fail(g, "size %lld at dimension %u does not broadcast to %lld", (long long)x->sizes[i], i,
                      (long long)(at < rank ? sizes[at] : 0));
            return NULL;
        }
        strides[at] = x->sizes[i] == 1 ? 0 : x->strides[i];
    }
    for (uint32_t i = 0; i < rank; i++)
        if (!sizes[i])
            return aten_new_packed(g, x->type, rank, sizes);
    return aten_view(g, x, rank, sizes, strides);
}

struct aten_value *aten_unsqueeze(struct aten_graph *g, const struct aten_value *x, uint32_t axis)
{
    int64_t sizes[ATEN_RANK_MAX], strides[ATEN_RANK_MAX];
    if (!x || x->rank == ATEN_RANK_MAX) {
        if (x)
            aten_fail(g, "more than %u dimensions", ATEN_RANK_MAX);
        return NULL;
    }
    for (uint32_t i = 0; i <= x->rank; i++) {
        sizes[i] = i == axis ? 1 : x->sizes[i - (i > axis)];
        strides[i] = i == axis ? 0 : x->strides[i - (i > axis)];
    }
    return aten_view(g, x, x->rank + 1, sizes, strides);
}

struct aten_value *aten_squeeze(struct aten_graph *g, const struct aten_value *x, uint32_t axis)
{
    int64_t sizes[ATEN_RANK_MAX], strides[ATEN_RANK_MAX];
    if (!x || !x->rank)
        return x ? aten_view(g, x, 0, NULL, NULL) : NULL;
    for (uint32_t i = 0; i + 1 < x->rank; i++) {
        sizes[i] = x->sizes[i + (i >= axis)];
        strides[i] = x->strides[i + (i >= axis)];
    }
    return aten_view(g, x, x->rank - 1, sizes, strides);
}

/* Whether strides can describe the new sizes; by torch's rule, runs of dimensions that are contiguous in each other are
 * merged. */
static bool reshaped_strides(const struct aten_value *x, uint32_t rank, const int64_t *sizes, int64_t *out)
{
    uint32_t to = rank;
    int64_t run = 1, viewed = 1, base = x->rank ? x->strides[x->rank - 1] : 1;
    for (uint32_t from = x->rank; from-- > 0;) {
        run *= x->sizes[from];
        if (from && (x->sizes[from - 1] == 1 || x->strides[from - 1] == run * base))
            continue;
        while (to > 0 && (viewed < run || sizes[to - 1] == 1)) {
            out[--to] = viewed * base;
            viewed *= sizes[to];
        }
        if (viewed != run)
            return false;
        if (from) {
            base = x->strides[from - 1];
            run = viewed = 1;
        }
    }
    while (to > 0)
        out[--to] = 0; /* sizes of 1 */
    return true;
}

struct aten_value *aten_packed(struct aten_graph *g, struct aten_value *x)
{
    if (!x || !aten_elements(x))
        return x;
    int64_t step = 1;
    bool packed = true;
    for (uint32_t i = x->rank; i-- > 0; step *= x->sizes[i])
        packed = packed && (x->sizes[i] == 1 || x->strides[i] == step);
    if (packed)
        return x;
    struct aten_value *y = aten_new_packed(g, x->type, x->rank, x->sizes);
    struct aten_desc dx, dy;
    if (!y)
        return NULL;
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC desc = { aten_describe(g, &dx, x), aten_describe(g, &dy, y), NULL };
    return aten_emit(g, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct aten_value *aten_reshape(struct aten_graph *g, struct aten_value *x, uint32_t rank, const int64_t *sizes)
{
    int64_t strides[ATEN_RANK_MAX], elements = 1;
    if (!x)
        return NULL;
    for (uint32_t i = 0; i < rank; i++)
        elements *= sizes[i];
    if (elements != aten_elements(x)) {
        aten_fail(g, "%lld elements cannot be reshaped to %lld", (long long)aten_elements(x), (long long)elements);
        return NULL;
    }
    if (!elements)
        return aten_new_packed(g, x->type, rank, sizes);
    if (!reshaped_strides(x, rank, sizes, strides)) {
        x = aten_packed(g, x);
        if (!x || !reshaped_strides(x, rank, sizes, strides))
            return NULL;
    }
    return aten_view(g, x, rank, sizes, strides);
}

/* ---- emitting ---- */

/* An input or a constant becomes part of the DirectML graph when the first operator uses it. */
static bool materialise(struct aten_graph *g, struct aten_buffer *buffer)
{
    if (buffer->materialised || buffer->source == ATEN_SOURCE_NODE || buffer->source == ATEN_SOURCE_EMPTY)
        return true;
    buffer->materialised = true;
    if (buffer->source == ATEN_SOURCE_INPUT) {
        buffer->index = g->emit.input_count;
        if (!base_array_reserve((void **)&g->inputs, buffer->index, &g->input_capacity, sizeof(*g->inputs)))
            return aten_fail(g, "out of memory");
        g->inputs[g->emit.input_count++] = buffer->binding;
        return true;
    }
    buffer->index = g->emit.node_count;
    const uint64_t bytes = (uint64_t)buffer->extent * aten_type_bytes(buffer->type);
    return emit_constant(&g->emit, buffer->data, bytes, NULL, false) || aten_fail(g, "out of memory");
}

const DML_TENSOR_DESC *aten_describe_rank(struct aten_graph *g, struct aten_desc *d, const struct aten_value *v,
                                          uint32_t rank)
{
    if (!v || g->failed || !materialise(g, v->buffer))
        return NULL;
    memset(d, 0, sizeof(*d));
    uint32_t used = BASE_MAX(BASE_MAX(v->rank, rank), 1u);
    for (uint32_t i = 0; i < used; i++) {
        bool own = i + v->rank >= used;
        uint32_t from = i + v->rank - used;
        d->sizes[i] = own ? (UINT)v->sizes[from] : 1;
        d->strides[i] = own && v->sizes[from] != 1 ? (UINT)v->strides[from] : 0;
    }
    d->buffer.DataType = aten_type_dml(v->type);
    d->buffer.Flags = v->buffer->binding.fixed ? DML_TENSOR_FLAG_OWNED_BY_DML : DML_TENSOR_FLAG_NONE;
    d->buffer.DimensionCount = used;
    d->buffer.Sizes = d->sizes;
    d->buffer.Strides = d->strides;
    /* All views of a buffer declare its full size, because both ends of an edge must agree. */
    d->buffer.TotalTensorSizeInBytes = base_align_up((uint64_t)v->buffer->extent * aten_type_bytes(v->buffer->type), 4);
    d->desc = (DML_TENSOR_DESC){ DML_TENSOR_TYPE_BUFFER, &d->buffer };
    return &d->desc;
}

const DML_TENSOR_DESC *aten_describe(struct aten_graph *g, struct aten_desc *d, const struct aten_value *v)
{
    return aten_describe_rank(g, d, v, 1);
}

const DML_TENSOR_DESC *aten_describe_broadcast(struct aten_graph *g, struct aten_desc *d, const struct aten_value *v,
                                               uint32_t rank, const int64_t *sizes)
{
    return aten_describe(g, d, v ? aten_expand(g, v, rank, sizes) : NULL);
}

/* Returns true if the device has nothing to compute (or the graph has failed). */
static bool emit_empty(struct aten_graph *g, struct aten_value *const *inputs, uint32_t input_count,
                       struct aten_value *const *outputs, uint32_t output_count)
{
    bool full = false;
    for (uint32_t i = 0; i < output_count; i++)
        full = full || (outputs[i] && outputs[i]->buffer->source != ATEN_SOURCE_EMPTY);
    for (uint32_t i = 0; full && i < input_count; i++)
        if (inputs[i] && inputs[i]->buffer->source == ATEN_SOURCE_EMPTY)
            return !aten_fail(g, "an input is empty but the result is not");
    return !full;
}

static struct emit_source source_of(const struct aten_buffer *buffer)
{
    return (struct emit_source){ buffer->source == ATEN_SOURCE_INPUT, buffer->index, buffer->output };
}

bool aten_emit(struct aten_graph *g, DML_OPERATOR_TYPE type, const void *desc, struct aten_value *const *inputs,
               uint32_t input_count, struct aten_value *const *outputs, uint32_t output_count)
{
    if (g->failed || emit_empty(g, inputs, input_count, outputs, output_count))
        return !g->failed;
    const DML_OPERATOR_DESC operator_desc = { type, desc };
    const uint32_t index = g->emit.node_count;
    HRESULT hr = emit_operator(&g->emit, &operator_desc, g->node ? g->node->op->name : NULL);
    if (FAILED(hr))
        return aten_fail(g, "CreateOperator failed for operator %d (0x%08x)", (int)type, (unsigned)hr);
    for (uint32_t i = 0; i < input_count; i++)
        if (inputs[i] && !emit_edge(&g->emit, source_of(inputs[i]->buffer), index, i, NULL))
            return aten_fail(g, "out of memory");
    for (uint32_t i = 0; i < output_count; i++) {
        if (!outputs[i])
            continue;
        outputs[i]->buffer->index = index;
        outputs[i]->buffer->output = i;
    }
    return true;
}
