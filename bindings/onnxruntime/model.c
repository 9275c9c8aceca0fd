/* SPDX-License-Identifier: Apache-2.0 */
/* From ONNX Runtime's graph to the structs that the converter reads. */
#include "ep.h"

#include "base/file.h"
#include "base/names.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Data of initializers: part of a file, or a copy. */
struct mapping {
    struct mapping *next;
    void *address;
    size_t size; /* 0: a copy */
};

struct view {
    struct ep *ep;
    const OrtApi *ort;
    struct onnx_model *model;
    const char *path; /* of the model; "": it has none */
    bool keep;
    uint64_t copied;        /* bytes from files */
    struct ep_ports *ports; /* of the fused node */
    uint32_t port;          /* index of the output */
    struct base_names kept; /* initializers of the graph, positions in ... */
    const OrtValueInfo **kept_infos;
    uint32_t kept_count, kept_capacity;
    uint32_t initializer_capacity, input_capacity, value_capacity;
    struct base_names seen; /* that have an initializer, input or value */
};

static OrtStatus *no_memory(const struct view *v)
{
    return ep_status(v->ep->factory, ORT_FAIL, "out of memory");
}

static const char *text(struct view *v, const char *s)
{
    return v->keep ? base_arena_strdup(&v->model->arena, s) : s;
}

/* ---- values ---- */

static OrtStatus *read_type(struct view *v, const OrtValueInfo *info, struct onnx_value_info *out)
{
    const OrtApi *ort = v->ort;
    const OrtTypeInfo *type = NULL;
    const OrtTensorTypeAndShapeInfo *tensor = NULL;
    ONNXTensorElementDataType element;
    size_t rank = 0;
    const char *name = NULL;
    TRY(ort->GetValueInfoName(info, &name));
    out->name = text(v, name);
    if (!out->name)
        return no_memory(v);
    TRY(ort->GetValueInfoTypeInfo(info, &type));
    if (type)
        TRY(ort->CastTypeInfoToTensorInfo(type, &tensor));
    if (!tensor)
        return NULL; /* type stays 0: sequences and similar */
    TRY(ort->GetTensorElementType(tensor, &element));
    TRY(ort->GetDimensionsCount(tensor, &rank));
    out->type = (int32_t)element; /* the two enumerations have the same numbers */
    /* Before 1.24 a scalar cannot be distinguished from an unknown shape: it is assumed to be the latter. */
    out->has_shape = v->ep->factory->version >= 24 ? ort->TensorTypeAndShape_HasShape(tensor) : rank > 0;
    if (rank > ONNX_RANK_MAX) {
        out->type = 0;
        return NULL;
    }
    out->rank = (uint32_t)rank;
    out->inferred = true; /* at least wrongly for PRelu, whose slope ONNX Runtime lets be larger than its input */
    if (rank)
        TRY(ort->GetDimensions(tensor, out->dims, rank));
    for (size_t i = 0; i < rank; i++)
        out->dims[i] = out->dims[i] < 0 ? -1 : out->dims[i];
    if (rank)
        TRY(ort->GetSymbolicDimensions(tensor, out->symbols, rank));
    for (size_t i = 0; v->keep && i < rank; i++) {
        if (out->symbols[i] && !(out->symbols[i] = text(v, out->symbols[i])))
            return no_memory(v);
    }
    return NULL;
}

static const void *keep_storage(struct view *v, void *address, size_t mapped_bytes)
{
    if (ep_model_keep(v->model, address, mapped_bytes))
        return address;
    if (mapped_bytes)
        base_unmap_file(address, mapped_bytes);
    else
        free(address);
    return NULL;
}

/* NULL: the file has become shorter, or memory is short. */
static const void *copy_part(struct view *v, int file, uint64_t offset, size_t bytes)
{
    char *copy = malloc(bytes);
    size_t done = 0;
    for (ssize_t part = 1; copy && part > 0 && done<bytes; done += part> 0 ? (size_t)part : 0)
        part = pread(file, copy + done, bytes - done, (off_t)(offset + done));
    if (!copy || done < bytes) {
        free(copy);
        return NULL;
    }
    v->copied += bytes;
    return keep_storage(v, copy, 0);
}

/* The pages belong to the file. */
static const void *map_part(struct view *v, int file, uint64_t offset, size_t bytes)
{
    size_t skip = (size_t)(offset % (uint64_t)sysconf(_SC_PAGESIZE));
    void *address = mmap(NULL, bytes + skip, PROT_READ, MAP_PRIVATE, file, (off_t)(offset - skip));
    const char *kept = address == MAP_FAILED ? NULL : keep_storage(v, address, bytes + skip);
    return kept ? kept + skip : NULL;
}

/* Weights that lie in a file of their own. *out NULL: read them elsewhere. */
static OrtStatus *read_external(struct view *v, const OrtValueInfo *info, uint64_t bytes, const void **out,
                                bool *out_mapped)
{
    const OrtApi *ort = v->ort;
    OrtExternalInitializerInfo *external = NULL;
    *out = NULL;
    TRY(ort->ValueInfo_GetExternalInitializerInfo(info, &external));
    if (!external)
        return NULL;
    uint64_t offset = (uint64_t)ort->ExternalInitializerInfo_GetFileOffset(external), size = 0;
    /* As the model has it: relative to the folder of the model, wherever the process is. */
    const char *name = ort->ExternalInitializerInfo_GetFilePath(external);
    FILE *file = v->path && v->path[0] ? base_open_beside(v->path, name, &size) : NULL;
    if (file && ort->ExternalInitializerInfo_GetByteSize(external) == bytes && size >= offset &&
        size - offset >= bytes) {
        *out_mapped = bytes > EP_COPIED_MAX - v->copied;
        *out = *out_mapped ? map_part(v, fileno(file), offset, (size_t)bytes)
                           : copy_part(v, fileno(file), offset, (size_t)bytes);
    }
    if (file)
        fclose(file);
    ort->ReleaseExternalInitializerInfo(external);
    return NULL;
}

bool ep_model_keep(struct onnx_model *model, void *address, size_t mapped_bytes)
{
    struct mapping *mapping = base_arena_alloc(&model->arena, sizeof(*mapping));
    if (mapping) {
        *mapping = (struct mapping){ model->storage, address, mapped_bytes };
        model->storage = mapping;
    }
    return mapping != NULL;
}

static OrtStatus *add_initializer(struct view *v, const OrtValueInfo *info, const struct onnx_value_info *about)
{
    struct onnx_model *m = v->model;
    const OrtValue *value = NULL;
    const void *data = NULL;
    struct onnx_tensor t = { .name = about->name, .type = about->type, .rank = about->rank };
    int64_t count = 1;
    for (uint32_t i = 0; i < t.rank; i++) {
        t.dims[i] = about->dims[i];
        count *= about->dims[i];
    }
    t.bytes = count < 0 ? 0 : onnx_bytes(t.type, count);
    if (t.bytes && v->keep)
        TRY(read_external(v, info, t.bytes, &data, &t.mapped));
    t.mapped = t.mapped && data;
    if (t.bytes && !data) {
        TRY(v->ort->ValueInfo_GetInitializerValue(info, &value));
        if (!value)
            return ep_status(v->ep->factory, ORT_EP_FAIL, "initializer '%s' has no value", t.name);
        TRY(v->ort->GetTensorData(value, &data));
        t.borrowed = true;
    }
    t.data = t.bytes ? data : "";
    if (!t.data ||
        !base_array_reserve((void **)&m->initializers, m->initializer_count, &v->initializer_capacity, sizeof(t)))
        return no_memory(v);
    m->initializers[m->initializer_count++] = t;
    return NULL;
}

static OrtStatus *add_value(struct view *v, const OrtValueInfo *info, bool is_port, const char **out_name)
{
    struct onnx_value_info about = { 0 };
    struct onnx_model *m = v->model;
    bool constant = false, replaced = false;
    const char *name = NULL;
    TRY(v->ort->GetValueInfoName(info, &name));
    const struct base_name *seen = base_names_find(&v->seen, name);
    if (seen) {
        *out_name = seen->text;
        return NULL;
    }
    TRY(read_type(v, info, &about));
    *out_name = about.name;
    if (!base_names_add(&v->seen, about.name, 0))
        return no_memory(v);
    const struct base_name *kept = is_port ? base_names_find(&v->kept, name) : NULL;
    if (kept)
        info = v->kept_infos[kept->number];
    TRY(v->ort->ValueInfo_IsConstantInitializer(info, &constant));
    if (constant && onnx_type_bytes(about.type)) {
        TRY(ep_replaced_look(v->ep, name, &replaced));
        if (!replaced)
            return add_initializer(v, info, &about);
    }
    if (replaced && is_port && v->ports) {
        v->ports->replaced[v->ports->replaced_count++] = (struct ep_replaced){ about.name, v->port };
        return NULL;
    }
    if (is_port && v->ports)
        v->ports->of[m->input_count] = v->port;
    struct onnx_value_info **list = is_port ? &m->inputs : &m->values;
    uint32_t *count = is_port ? &m->input_count : &m->value_count;
    uint32_t *capacity = is_port ? &v->input_capacity : &v->value_capacity;
    if (!base_array_reserve((void **)list, *count, capacity, sizeof(about)))
        return no_memory(v);
    (*list)[(*count)++] = about;
    return NULL;
}

/* ---- attributes ---- */

static OrtStatus *read_attribute_data(struct view *v, const OrtOpAttr *attr, OrtOpAttrType type, size_t element,
                                      void **out, size_t *out_bytes)
{
    /* Called without a buffer, it reports the required size through an error. */
    size_t bytes = 0;
    OrtStatus *status = v->ort->ReadOpAttr(attr, type, NULL, 0, &bytes);
    if (status)
        v->ort->ReleaseStatus(status);
    char *data = base_arena_alloc(&v->model->arena, bytes + BASE_MAX(element, 1u));
    if (!data)
        return no_memory(v);
    *out = data;
    *out_bytes = bytes;
    return bytes ? v->ort->ReadOpAttr(attr, type, data, bytes, &bytes) : NULL;
}

static OrtStatus *read_strings(struct view *v, const OrtOpAttr *attr, struct onnx_attribute *out)
{
    void *data = NULL;
    size_t bytes = 0;
    uint32_t count = 0;
    TRY(read_attribute_data(v, attr, ORT_OP_ATTR_STRINGS, 1, &data, &bytes));
    const char **strings = base_arena_alloc(&v->model->arena, (bytes + 1) * sizeof(*strings));
    if (!strings)
        return no_memory(v);
    for (size_t at = 0; at < bytes; at += strlen((char *)data + at) + 1)
        strings[count++] = (char *)data + at;
    out->strings = strings;
    out->count = count;
    return NULL;
}

static OrtStatus *read_tensor(struct view *v, const OrtOpAttr *attr, struct onnx_attribute *out)
{
    const OrtApi *ort = v->ort;
    OrtValue *value = NULL;
    OrtTensorTypeAndShapeInfo *shape = NULL;
    ONNXTensorElementDataType element = 0;
    size_t rank = 0;
    const void *data = NULL;
    struct onnx_tensor *t = base_arena_alloc(&v->model->arena, sizeof(*t));
    int64_t count = 1;
    if (!t)
        return no_memory(v);
    TRY(ort->OpAttr_GetTensorAttributeAsOrtValue(attr, &value));
    OrtStatus *status = ort->GetTensorTypeAndShape(value, &shape);
    if (!status)
        status = ort->GetTensorElementType(shape, &element);
    if (!status)
        status = ort->GetDimensionsCount(shape, &rank);
    if (!status && rank <= ONNX_RANK_MAX)
        status = ort->GetDimensions(shape, t->dims, rank);
    t->type = rank <= ONNX_RANK_MAX ? (int32_t)element : 0;
    t->rank = (uint32_t)BASE_MIN(rank, (size_t)ONNX_RANK_MAX);
    for (uint32_t i = 0; i < t->rank; i++)
        count *= t->dims[i];
    t->name = "";
    t->bytes = onnx_bytes(t->type, count);
    if (!status && onnx_type_bytes(t->type))
        status = ort->GetTensorData(value, &data);
    if (!status && data && !(t->data = base_arena_copy(&v->model->arena, data, BASE_MAX(t->bytes, 1u))))
        status = no_memory(v);
    out->t = t;
    if (shape)
        ort->ReleaseTensorTypeAndShapeInfo(shape);
    ort->ReleaseValue(value);
    return status;
}

static OrtStatus *read_attribute(struct view *v, const OrtOpAttr *attr, struct onnx_attribute *out)
{
    const OrtApi *ort = v->ort;
    OrtOpAttrType type = ORT_OP_ATTR_UNDEFINED;
    const char *name = NULL;
    void *data = NULL;
    size_t bytes = 0;
    TRY(ort->OpAttr_GetName(attr, &name));
    TRY(ort->OpAttr_GetType(attr, &type));
    out->name = text(v, name);
    if (!out->name)
        return no_memory(v);
    switch (type) {
    case ORT_OP_ATTR_INT:
        return ort->ReadOpAttr(attr, type, &out->i, sizeof(out->i), &bytes);
    case ORT_OP_ATTR_FLOAT:
        return ort->ReadOpAttr(attr, type, &out->f, sizeof(out->f), &bytes);
    case ORT_OP_ATTR_INTS:
        TRY(read_attribute_data(v, attr, type, sizeof(int64_t), &data, &bytes));
        out->ints = data;
        out->count = (uint32_t)(bytes / sizeof(int64_t));
        return NULL;
    case ORT_OP_ATTR_FLOATS:
        TRY(read_attribute_data(v, attr, type, sizeof(float), &data, &bytes));
        out->floats = data;
        out->count = (uint32_t)(bytes / sizeof(float));
        return NULL;
    case ORT_OP_ATTR_STRING:
        TRY(read_attribute_data(v, attr, type, 1, &data, &bytes));
        out->s = data; /* the arena zeroes: terminated */
        return NULL;
    case ORT_OP_ATTR_STRINGS:
        return read_strings(v, attr, out);
    case ORT_OP_ATTR_TENSOR:
        return read_tensor(v, attr, out);
    default:
        return NULL; /* graphs: only operators that are not claimed have them */
    }
}

static OrtStatus *read_attributes(struct view *v, const OrtNode *from, struct onnx_node *to)
{
    size_t count = 0;
    TRY(v->ort->Node_GetNumAttributes(from, &count));
    const OrtOpAttr **attrs = base_arena_alloc(&v->model->arena, (count + 1) * sizeof(*attrs));
    struct onnx_attribute *out = base_arena_alloc(&v->model->arena, (count + 1) * sizeof(*out));
    if (!attrs || !out)
        return no_memory(v);
    if (count)
        TRY(v->ort->Node_GetAttributes(from, attrs, count));
    for (size_t i = 0; i < count; i++)
        TRY(read_attribute(v, attrs[i], &out[i]));
    to->attributes = out;
    to->attribute_count = (uint32_t)count;
    return NULL;
}

/* ---- nodes ---- */

static OrtStatus *read_ports(struct view *v, const OrtNode *from, bool inputs, const char ***out, uint32_t *out_count)
{
    size_t count = 0;
    TRY(inputs ? v->ort->Node_GetNumInputs(from, &count) : v->ort->Node_GetNumOutputs(from, &count));
    const OrtValueInfo **infos = base_arena_alloc(&v->model->arena, (count + 1) * sizeof(*infos));
    const char **names = base_arena_alloc(&v->model->arena, (count + 1) * sizeof(*names));
    if (!infos || !names)
        return no_memory(v);
    if (count)
        TRY(inputs ? v->ort->Node_GetInputs(from, infos, count) : v->ort->Node_GetOutputs(from, infos, count));
    for (size_t i = 0; i < count; i++) {
        names[i] = "";
        if (infos[i])
            TRY(add_value(v, infos[i], false, &names[i]));
    }
    *out = names;
    *out_count = (uint32_t)count;
    return NULL;
}

static OrtStatus *read_node(struct view *v, const OrtNode *from, struct onnx_node *to)
{
    int version = 0;
    TRY(v->ort->Node_GetOperatorType(from, &to->op));
    TRY(v->ort->Node_GetDomain(from, &to->domain));
    TRY(v->ort->Node_GetName(from, &to->name));
    TRY(v->ort->Node_GetSinceVersion(from, &version));
    to->version = version;
    to->op = text(v, to->op);
    to->domain = text(v, to->domain);
    to->name = text(v, to->name);
    if (!to->op || !to->domain || !to->name)
        return no_memory(v);
    TRY(read_ports(v, from, true, &to->inputs, &to->input_count));
    TRY(read_ports(v, from, false, &to->outputs, &to->output_count));
    /* The contents of a compiled subgraph are large, and not needed by the converter. */
    return ep_context_is_operator(to->domain, to->op) ? NULL : read_attributes(v, from, to);
}

static OrtStatus *read_nodes(struct view *v, const OrtGraph *graph)
{
    size_t count = 0;
    TRY(v->ort->Graph_GetNumNodes(graph, &count));
    const OrtNode **nodes = base_arena_alloc(&v->model->arena, (count + 1) * sizeof(*nodes));
    v->model->nodes = base_arena_alloc(&v->model->arena, (count + 1) * sizeof(*v->model->nodes));
    if (!nodes || !v->model->nodes)
        return no_memory(v);
    if (count)
        TRY(v->ort->Graph_GetNodes(graph, nodes, count));
    for (size_t i = 0; i < count; i++)
        TRY(read_node(v, nodes[i], &v->model->nodes[v->model->node_count++]));
    return NULL;
}

/* A fused node that keeps its initializers has them as ports, which are not marked as such; the inputs of the graph's
 * nodes are. */
static OrtStatus *find_kept(struct view *v, const OrtGraph *graph)
{
    size_t count = 0, input_count = 0;
    TRY(v->ort->Graph_GetNumNodes(graph, &count));
    const OrtNode **nodes = base_arena_alloc(&v->model->arena, (count + 1) * sizeof(*nodes));
    if (!nodes)
        return no_memory(v);
    if (count)
        TRY(v->ort->Graph_GetNodes(graph, nodes, count));
    for (size_t i = 0; i < count; i++) {
        TRY(v->ort->Node_GetNumInputs(nodes[i], &input_count));
        const OrtValueInfo **infos = base_arena_alloc(&v->model->arena, (input_count + 1) * sizeof(*infos));
        if (!infos)
            return no_memory(v);
        if (input_count)
            TRY(v->ort->Node_GetInputs(nodes[i], infos, input_count));
        for (size_t j = 0; j < input_count; j++) {
            const char *name = NULL;
            bool constant = false;
            if (infos[j])
                TRY(v->ort->ValueInfo_IsConstantInitializer(infos[j], &constant));
            if (!constant)
                continue;
            TRY(v->ort->GetValueInfoName(infos[j], &name));
            if (!base_names_add(&v->kept, name, v->kept_count) ||
                !base_array_reserve((void **)&v->kept_infos, v->kept_count, &v->kept_capacity, sizeof(*v->kept_infos)))
                return no_memory(v);
            v->kept_infos[v->kept_count++] = infos[j];
        }
    }
    return NULL;
}

/* The ports of a fused node, in its own order, in which its kernel is called. */
static OrtStatus *read_fused_ports(struct view *v, const OrtNode *fused)
{
    struct onnx_model *m = v->model;
    size_t count = 0;
    const char *name;
    TRY(v->ort->Node_GetNumInputs(fused, &count));
    const OrtValueInfo **infos = base_arena_alloc(&m->arena, (count + 1) * sizeof(*infos));
    if (v->ports) {
        v->ports->of = base_arena_alloc(&m->arena, (count + 1) * sizeof(*v->ports->of));
        v->ports->replaced = base_arena_alloc(&m->arena, (count + 1) * sizeof(*v->ports->replaced));
    }
    if (!infos || (v->ports && (!v->ports->of || !v->ports->replaced)))
        return no_memory(v);
    if (count)
        TRY(v->ort->Node_GetInputs(fused, infos, count));
    for (size_t i = 0; i < count; i++) {
        v->port = (uint32_t)i;
        TRY(add_value(v, infos[i], true, &name));
    }
    TRY(v->ort->Node_GetNumOutputs(fused, &count));
    infos = base_arena_alloc(&m->arena, (count + 1) * sizeof(*infos));
    m->outputs = base_arena_alloc(&m->arena, (count + 1) * sizeof(*m->outputs));
    if (!infos || !m->outputs)
        return no_memory(v);
    if (count)
        TRY(v->ort->Node_GetOutputs(fused, infos, count));
    for (size_t i = 0; i < count; i++)
        TRY(read_type(v, infos[i], &m->outputs[m->output_count++]));
    return NULL;
}

OrtStatus *ep_model_create(struct ep *ep, const OrtGraph *graph, const OrtNode *fused, bool keep,
                           struct ep_ports *ports, struct onnx_model **out)
{
    struct view v = { .ep = ep, .ort = ep->factory->ort, .path = "", .keep = keep, .ports = ports };
    v.model = calloc(1, sizeof(*v.model));
    *out = v.model;
    if (!v.model)
        return no_memory(&v);
    OrtStatus *status = graph ? v.ort->Graph_GetModelPath(graph, &v.path) : NULL;
    if (!status && fused && graph && ports && ep->replaces)
        status = find_kept(&v, graph);
    if (!status && fused)
        status = read_fused_ports(&v, fused);
    if (!status && graph)
        status = read_nodes(&v, graph);
    base_names_finish(&v.seen);
    base_names_finish(&v.kept);
    free(v.kept_infos);
    if (status) {
        ep_model_destroy(v.model);
        *out = NULL;
    }
    return status;
}

static const void *copy_data(struct onnx_model *model, const void *data, uint64_t bytes)
{
    struct mapping *mapping = base_arena_alloc(&model->arena, sizeof(*mapping));
    if (!mapping || !(mapping->address = malloc(bytes)))
        return NULL;
    mapping->next = model->storage;
    model->storage = mapping;
    return memcpy(mapping->address, data, bytes);
}

bool ep_model_own_data(struct onnx_model *model, bool in_file)
{
    for (uint32_t i = 0; i < model->initializer_count; i++) {
        struct onnx_tensor *t = &model->initializers[i];
        if (!t->borrowed || (t->mapped && !in_file))
            continue;
        if (!(t->data = copy_data(model, t->data, t->bytes)))
            return false;
        t->borrowed = t->mapped = false;
    }
    return true;
}

void ep_model_drop_data(struct onnx_model *model)
{
    for (struct mapping *m = model->storage; m; m = m->next) {
        if (m->size)
            base_unmap_file(m->address, m->size);
        else
            free(m->address);
    }
    for (uint32_t i = 0; i < model->input_count; i++)
        model->inputs[i].inferred = false; /* for other shapes it would be compiled again */
    model->storage = NULL;
    model->initializer_count = 0;
}

void ep_model_destroy(struct onnx_model *model)
{
    if (!model)
        return;
    ep_model_drop_data(model);
    free(model->initializers);
    free(model->inputs);
    free(model->values);
    base_arena_finish(&model->arena);
    free(model);
}
