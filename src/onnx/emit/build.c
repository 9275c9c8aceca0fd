/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/emit/emit.h"

#include "base/half.h"

#include <DirectMLGuids.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void set_error(struct onnx_builder *b, const char *format, va_list args)
{
    if (b->failed)
        return;
    b->failed = true;
    int used = 0;
    if (b->node)
        used = snprintf(b->error->text, sizeof(b->error->text), "%s '%s': ", b->node->op,
                        b->node->name[0]        ? b->node->name
                        : b->node->output_count ? b->node->outputs[0]
                                                : "");
    if (used >= 0 && (size_t)used < sizeof(b->error->text))
        vsnprintf(b->error->text + used, sizeof(b->error->text) - (size_t)used, format, args);
}

bool onnx_fail(struct onnx_builder *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_error(b, format, args);
    va_end(args);
    return false;
}

bool onnx_misfit(struct onnx_builder *b, const char *format, ...)
{
    va_list args;
    b->misfit = b->misfit || !b->failed;
    va_start(args, format);
    set_error(b, format, args);
    va_end(args);
    return false;
}

/* ---- values ---- */

struct onnx_value *onnx_value_find(struct onnx_builder *b, const char *name)
{
    const struct base_name *found = base_names_find(&b->names, name);
    return found ? b->values[found->number] : NULL;
}

struct onnx_value *onnx_value_new(struct onnx_builder *b, const char *name, int32_t type, uint32_t rank,
                                  const int64_t *dims)
{
    struct onnx_value *v = NULL;
    if (onnx_value_find(b, name))
        return onnx_fail(b, "value '%s' is defined twice", name), NULL;
    if (rank > ONNX_RANK_MAX)
        return onnx_fail(b, "'%s' has rank above 8", name), NULL;
    if (!base_array_reserve((void **)&b->values, b->value_count, &b->value_capacity, sizeof(*b->values)) ||
        !(v = base_arena_alloc(&b->arena, sizeof(*v))))
        return onnx_fail(b, "out of memory for '%s'", name), NULL;
    int64_t product = 1; /* of the sizes that are not 0, so that strides fit in as well */
    for (uint32_t i = 0; i < rank; i++) {
        product = dims[i] > 0 ? onnx_size_product(product, dims[i]) : product;
        if (dims[i] < 0 || dims[i] > ONNX_SIZE_MAX || product >= ONNX_ELEMENTS_MAX) {
            onnx_misfit(b, "'%s' would be too large: dimension %u is %lld", name, i, (long long)dims[i]);
            return NULL;
        }
        v->dims[i] = dims[i];
    }
    v->name = name;
    v->type = type;
    v->rank = rank;
    v->maker = b->node;
    if (!base_names_add(&b->names, name, b->value_count))
        return onnx_fail(b, "out of memory for '%s'", name), NULL;
    b->values[b->value_count++] = v;
    return v;
}

struct onnx_value *onnx_in_optional(struct onnx_builder *b, const struct onnx_node *n, uint32_t i)
{
    if (i >= n->input_count || !n->inputs[i][0])
        return NULL;
    struct onnx_value *v = onnx_value_find(b, n->inputs[i]);
    if (!v)
        onnx_fail(b, "input '%s' is not defined by any node, input or initializer before it", n->inputs[i]);
    return v;
}

struct onnx_value *onnx_in(struct onnx_builder *b, const struct onnx_node *n, uint32_t i)
{
    struct onnx_value *v = onnx_in_optional(b, n, i);
    if (!v)
        onnx_fail(b, "input %u is required", i);
    return v;
}

bool onnx_has_output(const struct onnx_node *n, uint32_t i)
{
    return i < n->output_count && n->outputs[i][0];
}

struct onnx_value *onnx_temp(struct onnx_builder *b, int32_t type, uint32_t rank, const int64_t *dims)
{
    const char *name = onnx_new_name(b);
    struct onnx_value *v = name ? onnx_value_new(b, name, type, rank, dims) : NULL;
    if (v)
        v->maker = NULL;
    return v;
}

struct onnx_value *onnx_out(struct onnx_builder *b, const struct onnx_node *n, uint32_t i, int32_t type, uint32_t rank,
                            const int64_t *dims)
{
    if (!onnx_has_output(n, i))
        return onnx_temp(b, type, rank, dims);
    return onnx_value_new(b, n->outputs[i], type, rank, dims);
}

struct onnx_value *onnx_constant(struct onnx_builder *b, int32_t type, uint32_t rank, const int64_t *dims,
                                 const void *data, uint64_t bytes)
{
    struct onnx_value *v = onnx_temp(b, type, rank, dims);
    if (!v)
        return NULL;
    v->source = ONNX_SOURCE_CONSTANT;
    v->data = base_arena_copy(&b->arena, data, bytes);
    if (!v->data)
        onnx_fail(b, "out of memory");
    return v->data ? v : NULL;
}

int64_t onnx_size_product(int64_t x, int64_t y)
{
    int64_t product;
    return __builtin_mul_overflow(x, y, &product) || product > ONNX_ELEMENTS_MAX ? ONNX_ELEMENTS_MAX : product;
}

int64_t onnx_elements(const struct onnx_value *v)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < v->rank; i++)
        n = onnx_size_product(n, v->dims[i]);
    return n;
}

uint64_t onnx_value_bytes(const struct onnx_value *v)
{
    return onnx_bytes(v->type, onnx_elements(v));
}

void *onnx_constant_data(struct onnx_builder *b, struct onnx_value *out)
{
    void *data = out ? base_arena_alloc(&b->arena, BASE_MAX(onnx_value_bytes(out), 1u)) : NULL;
    if (!data) {
        onnx_fail(b, "out of memory");
        return NULL;
    }
    out->source = ONNX_SOURCE_CONSTANT;
    out->data = data;
    return data;
}

bool onnx_alias(struct onnx_builder *b, struct onnx_value *out, const struct onnx_value *in)
{
    if (!out)
        return false;
    if (onnx_elements(out) != onnx_elements(in))
        return onnx_misfit(b, "output '%s' has %lld elements, the input %lld", out->name, (long long)onnx_elements(out),
                           (long long)onnx_elements(in));
    out->source = in->source;
    out->index = in->index;
    out->output = in->output;
    out->data = in->data;
    out->materialised = in->materialised;
    out->owned = in->owned;
    out->mapped = in->mapped;
    return true;
}

/* ---- attributes ---- */

const struct onnx_attribute *onnx_attribute(const struct onnx_node *n, const char *name)
{
    for (uint32_t i = 0; i < n->attribute_count; i++) {
        if (!strcmp(n->attributes[i].name, name))
            return &n->attributes[i];
    }
    return NULL;
}

int64_t onnx_attr_int(const struct onnx_node *n, const char *name, int64_t otherwise)
{
    const struct onnx_attribute *a = onnx_attribute(n, name);
    int64_t value = a ? a->i : otherwise;
    return value > ONNX_SIZE_MAX ? ONNX_SIZE_MAX : value < -(int64_t)ONNX_SIZE_MAX ? -(int64_t)ONNX_SIZE_MAX : value;
}

float onnx_attr_float(const struct onnx_node *n, const char *name, float otherwise)
{
    const struct onnx_attribute *a = onnx_attribute(n, name);
    return a ? a->f : otherwise;
}

const char *onnx_attr_string(const struct onnx_node *n, const char *name, const char *otherwise)
{
    const struct onnx_attribute *a = onnx_attribute(n, name);
    return a && a->s ? a->s : otherwise;
}

bool onnx_attr_ints(struct onnx_builder *b, const struct onnx_node *n, const char *name, int64_t *out,
                    uint32_t capacity, uint32_t *out_count)
{
    const struct onnx_attribute *a = onnx_attribute(n, name);
    *out_count = a && a->ints ? a->count : 0;
    if (*out_count > capacity)
        return onnx_fail(b, "%s has %u values, at most %u are supported", name, *out_count, capacity);
    if (*out_count)
        memcpy(out, a->ints, *out_count * sizeof(*out));
    return true;
}

/* The number of the model's input with that name, or UINT32_MAX. */
static uint32_t input_number(const struct onnx_builder *b, const char *name)
{
    for (uint32_t i = 0; i < b->model->input_count; i++) {
        if (!strcmp(b->model->inputs[i].name, name))
            return i;
    }
    return UINT32_MAX;
}

/* Marks the model's inputs that the host needs to compute the value. */
static void want(struct onnx_builder *b, struct onnx_value *v, uint32_t depth)
{
    if (!v || v->source == ONNX_SOURCE_CONSTANT || v->wanted || depth > 1000)
        return;
    v->wanted = true;
    uint32_t input = v->maker ? UINT32_MAX : input_number(b, v->name);
    if (input != UINT32_MAX)
        b->inputs[input].wanted = true;
    const struct onnx_converter *converter = v->maker ? onnx_converter_find(v->maker->domain, v->maker->op) : NULL;
    for (uint32_t i = 0; converter && converter->folds && i < v->maker->input_count; i++)
        want(b, onnx_value_find(b, v->maker->inputs[i]), depth + 1);
}

bool onnx_unknown(struct onnx_builder *b, const struct onnx_value *v, const char *what)
{
    if (b->inputs)
        want(b, onnx_value_find(b, v->name), 0);
    b->unknown = true;
    return onnx_fail(b, "'%s' must be %s that are known when the graph is compiled", v->name, what);
}

/* The floor of a node that reads the value as n does: the number of a model's input; UINT32_MAX: it may not be. */
static uint32_t floor_input(const struct onnx_builder *b, const struct onnx_node *reader, const struct onnx_node *n,
                            const struct onnx_floor *f)
{
    if (strcmp(reader->op, n->op) || strcmp(reader->domain, n->domain) || f->floor >= reader->input_count ||
        (f->absent < reader->input_count && reader->inputs[f->absent][0]))
        return UINT32_MAX;
    uint32_t from = input_number(b, reader->inputs[f->floor]);
    return from != UINT32_MAX && b->inputs[from].rank > f->dim ? from : UINT32_MAX;
}

/* Records the floors if all readers of the value use it like this node and have their floors among the model's
 * inputs. */
static bool note_floors(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_floor *f, bool apply)
{
    const char *name = n->inputs[f->input];
    for (uint32_t k = 0; k < b->model->output_count; k++)
        if (!strcmp(b->model->outputs[k].name, name))
            return false;
    for (uint32_t k = 0; k < b->model->node_count; k++) {
        const struct onnx_node *reader = &b->model->nodes[k];
        for (uint32_t a = 0; a < reader->attribute_count; a++)
            if (reader->attributes[a].graph)
                return false;
        for (uint32_t t = 0; t < reader->input_count; t++) {
            if (strcmp(reader->inputs[t], name))
                continue;
            uint32_t from = floor_input(b, reader, n, f);
            if (t != f->input || from == UINT32_MAX)
                return false;
            if (apply) {
                b->inputs[from].floor_of = input_number(b, name) + 1;
                b->inputs[from].floor_dim = f->dim;
            }
        }
    }
    return true;
}

bool onnx_unknown_above(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_floor *f)
{
    const char *name = n->inputs[f->input];
    if (b->inputs && input_number(b, name) != UINT32_MAX && note_floors(b, n, f, false))
        note_floors(b, n, f, true);
    return onnx_unknown(b, onnx_value_find(b, name), "one integer");
}

bool onnx_floor_noted(const struct onnx_builder *b, const struct onnx_node *n, const struct onnx_floor *f)
{
    uint32_t from = input_number(b, n->inputs[f->floor]), input = input_number(b, n->inputs[f->input]);
    return b->inputs && from != UINT32_MAX && input != UINT32_MAX && b->inputs[from].floor_of == input + 1;
}

bool onnx_may_carry(const struct onnx_builder *b, const struct onnx_value *from, const struct onnx_value *y)
{
    if (!from || from->given || from->source != ONNX_SOURCE_INPUT || input_number(b, from->name) == UINT32_MAX || !y)
        return false;
    for (uint32_t i = 0; i < b->model->output_count; i++) {
        if (!strcmp(b->model->outputs[i].name, y->name))
            return true;
    }
    return false;
}

bool onnx_const_ints(struct onnx_builder *b, const struct onnx_value *v, int64_t *out, uint32_t capacity,
                     uint32_t *out_count)
{
    int64_t n = onnx_elements(v);
    if (v->source != ONNX_SOURCE_CONSTANT)
        return onnx_unknown(b, v, "integers");
    if (v->type != ONNX_INT64 && v->type != ONNX_INT32)
        return onnx_fail(b, "'%s' must be integers, not %s", v->name, onnx_type_name(v->type));
    if (n > capacity)
        return onnx_fail(b, "'%s' has %lld values, at most %u are supported", v->name, (long long)n, capacity);
    for (int64_t i = 0; i < n; i++)
        out[i] = onnx_constant_int(v, i);
    *out_count = (uint32_t)n;
    return true;
}

bool onnx_const_floats(struct onnx_builder *b, const struct onnx_value *v, float *out, uint32_t capacity,
                       uint32_t *out_count)
{
    int64_t n = onnx_elements(v);
    if (v->source != ONNX_SOURCE_CONSTANT)
        return onnx_unknown(b, v, "values");
    if ((v->type != ONNX_FLOAT && v->type != ONNX_FLOAT16 && v->type != ONNX_DOUBLE) || n > capacity)
        return onnx_fail(b, "'%s' must be at most %u floats", v->name, capacity);
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)onnx_constant_real(v, i);
    *out_count = (uint32_t)n;
    return true;
}

bool onnx_axis(struct onnx_builder *b, int64_t axis, uint32_t rank, uint32_t *out)
{
    if (axis < -(int64_t)rank || axis >= (int64_t)rank)
        return onnx_fail(b, "axis %lld is outside the %u dimensions", (long long)axis, rank);
    *out = (uint32_t)(axis < 0 ? axis + (int64_t)rank : axis);
    return true;
}

bool onnx_broadcast_dims(struct onnx_builder *b, const struct onnx_value *x, const struct onnx_value *y,
                         uint32_t *out_rank, int64_t *out_dims)
{
    uint32_t rank = BASE_MAX(x->rank, y->rank);
    for (uint32_t i = 0; i < rank; i++) {
        int64_t dx = i + x->rank < rank ? 1 : x->dims[i + x->rank - rank];
        int64_t dy = i + y->rank < rank ? 1 : y->dims[i + y->rank - rank];
        if (dx != dy && dx != 1 && dy != 1)
            return onnx_misfit(b, "'%s' and '%s' do not broadcast: %lld against %lld", x->name, y->name, (long long)dx,
                               (long long)dy);
        out_dims[i] = dx == 1 ? dy : dx;
    }
    *out_rank = rank;
    return true;
}

/* ---- emitting ---- */

/* Recurrent operators do not accept owned tensors. */
static bool may_own(const struct onnx_builder *b, const struct onnx_value *v)
{
    static const char *const refused[] = { "LSTM", "GRU", "RNN", "DynamicQuantizeLSTM" };
    if (!b->owning || onnx_elements(v) < 2)
        return false;
    for (size_t i = 0; b->node && i < ARRAY_SIZE(refused); i++)
        if (!strcmp(b->node->op, refused[i]))
            return false;
    return true;
}

static bool own(struct onnx_builder *b, struct onnx_value *v)
{
    struct onnx_weight *weight = base_arena_alloc(&b->owning->arena, sizeof(*weight));
    uint64_t bytes = onnx_value_bytes(v), whole = base_align_up(bytes, 4);
    char *data = weight ? base_arena_alloc(&b->owning->arena, whole) : NULL;
    if (!data)
        return onnx_fail(b, "out of memory");
    memcpy(data, v->data, bytes);
    memset(data + bytes, 0, whole - bytes);
    v->index = b->emit.input_count++;
    v->owned = v->materialised = true;
    *weight = (struct onnx_weight){ v->index, data, whole, b->owning->weights };
    b->owning->weights = weight;
    return true;
}

/* A constant is passed to DirectML when the first operator uses it. */
static bool materialise(struct onnx_builder *b, struct onnx_value *v)
{
    if (v->source != ONNX_SOURCE_CONSTANT || v->materialised || !onnx_elements(v))
        return true;
    if (may_own(b, v))
        return own(b, v);
    v->index = b->emit.node_count;
    v->materialised = emit_constant(&b->emit, v->data, onnx_value_bytes(v), v->name, v->mapped);
    return v->materialised || onnx_fail(b, "out of memory");
}

const DML_TENSOR_DESC *onnx_desc_strided(struct onnx_builder *b, struct onnx_desc *d, struct onnx_value *v,
                                         uint32_t rank, const int64_t *dims, const uint32_t *strides)
{
    if (!v || !materialise(b, v))
        return NULL;
    memset(d, 0, sizeof(*d));
    uint32_t used = BASE_MAX(rank, 1u);
    d->sizes[0] = 1;
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] < 0 || dims[i] > UINT32_MAX) {
            onnx_misfit(b, "'%s': dimension %u is %lld", v->name, i, (long long)dims[i]);
            return NULL;
        }
        d->sizes[i] = (UINT)dims[i]; /* 0: onnx_emit hides it from DirectML */
        d->strides[i] = strides ? strides[i] : 0;
    }
    d->buffer.Flags = v->owned ? DML_TENSOR_FLAG_OWNED_BY_DML : DML_TENSOR_FLAG_NONE;
    d->buffer.DataType = onnx_type_dml(v->type);
    d->buffer.DimensionCount = used;
    d->buffer.Sizes = d->sizes;
    d->buffer.Strides = strides && rank ? d->strides : NULL;
    /* All views of a value declare its full size: both ends of an edge must agree. */
    d->buffer.TotalTensorSizeInBytes = base_align_up(onnx_value_bytes(v), 4);
    d->desc = (DML_TENSOR_DESC){ DML_TENSOR_TYPE_BUFFER, &d->buffer };
    return &d->desc;
}

const DML_TENSOR_DESC *onnx_desc_as(struct onnx_builder *b, struct onnx_desc *d, struct onnx_value *v, uint32_t rank,
                                    const int64_t *dims)
{
    return onnx_desc_strided(b, d, v, rank, dims, NULL);
}

const DML_TENSOR_DESC *onnx_desc(struct onnx_builder *b, struct onnx_desc *d, struct onnx_value *v)
{
    return v ? onnx_desc_as(b, d, v, v->rank, v->dims) : NULL;
}

const DML_TENSOR_DESC *onnx_desc_broadcast(struct onnx_builder *b, struct onnx_desc *d, struct onnx_value *v,
                                           uint32_t rank, const int64_t *dims)
{
    uint32_t strides[ONNX_RANK_MAX] = { 0 };
    int64_t step = 1;
    bool packed = v && v->rank == rank;
    for (uint32_t i = 0; v && i < v->rank; i++) {
        uint32_t from = v->rank - 1 - i, to = rank - 1 - i;
        strides[to] = v->dims[from] == 1 ? 0 : (uint32_t)step;
        packed = packed && v->dims[from] == dims[to];
        step *= v->dims[from];
    }
    return onnx_desc_strided(b, d, v, rank, dims, packed ? NULL : strides);
}

/* Nodes without a name go by that of their result. */
static const char *node_name(const struct onnx_node *node)
{
    for (uint32_t i = 0; node && !node->name[0] && i < node->output_count; i++)
        if (node->outputs[i][0])
            return node->outputs[i];
    return node ? node->name : NULL;
}

static struct emit_source source_of(const struct onnx_value *v)
{
    return (struct emit_source){ .is_input = v->source == ONNX_SOURCE_INPUT || v->owned,
                                 .index = v->index,
                                 .output = v->source == ONNX_SOURCE_NODE ? v->output : 0 };
}

/* True if no work remains for the device (or the conversion has failed). */
static bool emit_empty(struct onnx_builder *b, DML_OPERATOR_TYPE type, const void *desc,
                       struct onnx_value *const *inputs, uint32_t input_count, struct onnx_value *const *outputs,
                       uint32_t output_count)
{
    bool full = false;
    for (uint32_t i = 0; i < output_count; i++)
        full = full || (outputs[i] && onnx_elements(outputs[i]));
    for (uint32_t i = 0; !full && i < output_count; i++) {
        if (outputs[i]) {
            outputs[i]->source = ONNX_SOURCE_CONSTANT;
            outputs[i]->data = "";
        }
    }
    for (uint32_t i = 0; full && i < input_count; i++) {
        if (!inputs[i] || onnx_elements(inputs[i]))
            continue;
        if (output_count > 1 || !onnx_emit_nothing(b, type, desc, inputs, input_count, outputs[0]))
            onnx_misfit(b, "input '%s' is empty", inputs[i]->name);
        return true;
    }
    return !full;
}

bool onnx_emit(struct onnx_builder *b, DML_OPERATOR_TYPE type, const void *desc, struct onnx_value *const *inputs,
               uint32_t input_count, struct onnx_value *const *outputs, uint32_t output_count)
{
    if (b->failed || emit_empty(b, type, desc, inputs, input_count, outputs, output_count))
        return !b->failed;
    const DML_OPERATOR_DESC operator_desc = { type, desc };
    const uint32_t index = b->emit.node_count;
    HRESULT hr = emit_operator(&b->emit, &operator_desc, node_name(b->node));
    if (hr == E_OUTOFMEMORY)
        return onnx_fail(b, "out of memory");
    for (uint32_t i = 0; FAILED(hr) && i < output_count; i++)
        if (outputs[i] && onnx_elements(outputs[i]) > UINT32_MAX)
            return onnx_fail(b, "the result would have %lld elements, DirectML allows %u",
                             (long long)onnx_elements(outputs[i]), UINT32_MAX);
    if (FAILED(hr))
        return onnx_fail(b, "CreateOperator(type %d) failed with 0x%08x (see the log of ANYDML_LOG=error)", (int)type,
                         (unsigned)hr);
    b->dequantised += type == DML_OPERATOR_DEQUANTIZE || type == DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR;
    for (uint32_t i = 0; i < input_count; i++) {
        if (inputs[i] && !emit_edge(&b->emit, source_of(inputs[i]), index, i, inputs[i]->name))
            return onnx_fail(b, "out of memory");
    }
    for (uint32_t i = 0; i < output_count; i++) {
        if (!outputs[i])
            continue;
        outputs[i]->source = ONNX_SOURCE_NODE;
        outputs[i]->index = index;
        outputs[i]->output = i;
    }
    return true;
}
