/* Reads an ONNX file into the neutral structs. Strings and raw tensor data stay where the parser put them. */
#include "onnx/onnx.h"

#include "onnx.pb-c.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct mapping {
    struct mapping *next;
    void *address;
    size_t size;
};

struct storage {
    AnydmlOnnx__Model *message;
    struct mapping *mappings; /* external data files */
};

struct reader {
    struct onnx_model *model;
    struct onnx_error *error;
    const char *folder;
};

static HRESULT fail(struct onnx_error *error, const char *what, const char *name)
{
    snprintf(error->text, sizeof(error->text), "%s%s%.400s", what, name ? ": " : "", name ? name : "");
    return E_INVALIDARG;
}

static void *map_file(const char *path, size_t *out_size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    void *address = NULL;
    if (file < 0)
        return NULL;
    if (!fstat(file, &info) && S_ISREG(info.st_mode) && info.st_size > 0) {
        *out_size = (size_t)info.st_size;
        address = mmap(NULL, *out_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (address == MAP_FAILED)
            address = NULL;
    }
    close(file);
    return address;
}

static const char *external_value(const AnydmlOnnx__Tensor *t, const char *key)
{
    for (size_t i = 0; i < t->n_external_data; i++) {
        if (!strcmp(t->external_data[i]->key, key))
            return t->external_data[i]->value;
    }
    return NULL;
}

/* The file must lie inside the model's folder. */
static HRESULT external_data(struct reader *r, const AnydmlOnnx__Tensor *t, struct onnx_tensor *out)
{
    const char *location = external_value(t, "location"), *offset = external_value(t, "offset");
    struct storage *storage = r->model->storage;
    struct mapping *mapping = base_arena_alloc(&r->model->arena, sizeof(*mapping));
    char path[4096];
    uint64_t start = offset ? strtoull(offset, NULL, 10) : 0;
    if (!mapping)
        return E_OUTOFMEMORY;
    if (!location || !r->folder || location[0] == '/' || strstr(location, ".."))
        return fail(r->error, "tensor has external data that cannot be located", t->name);
    snprintf(path, sizeof(path), "%s/%s", r->folder, location);
    mapping->address = map_file(path, &mapping->size);
    if (!mapping->address)
        return fail(r->error, "cannot read the external data file", path);
    mapping->next = storage->mappings;
    storage->mappings = mapping;
    if (start > mapping->size || out->bytes > mapping->size - start)
        return fail(r->error, "external data file is too short for tensor", t->name);
    out->data = (const char *)mapping->address + start;
    return S_OK;
}

/* Data in a typed field: narrower types travel in int32_data, one element each. */
static HRESULT typed_data(struct reader *r, const AnydmlOnnx__Tensor *t, struct onnx_tensor *out, uint64_t count)
{
    uint32_t width = onnx_type_bytes(t->data_type);
    count = out->bytes / width; /* a byte may hold two elements */
    const struct {
        size_t n, width;
        const void *data;
    } fields[] = { { t->n_float_data, 4, t->float_data },
                   { t->n_int64_data, 8, t->int64_data },
                   { t->n_double_data, 8, t->double_data },
                   { t->n_uint64_data, 8, t->uint64_data },
                   { t->n_int32_data, 4, t->int32_data } };
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        if (!fields[i].n)
            continue;
        if (fields[i].n != count || fields[i].width < width)
            return fail(r->error, "tensor's element count does not match its dimensions", t->name);
        char *data = base_arena_alloc(&r->model->arena, out->bytes);
        if (!data)
            return E_OUTOFMEMORY;
        for (uint64_t j = 0; j < count; j++)
            memcpy(data + j * width, (const char *)fields[i].data + j * fields[i].width, width);
        out->data = data;
        return S_OK;
    }
    return fail(r->error, "tensor has no data", t->name);
}

static HRESULT read_tensor(struct reader *r, const AnydmlOnnx__Tensor *t, struct onnx_tensor *out)
{
    uint64_t count = 1;
    out->name = t->name;
    out->type = t->data_type;
    out->rank = (uint32_t)t->n_dims;
    if (t->n_dims > ONNX_RANK_MAX)
        return fail(r->error, "tensor has more than 8 dimensions", t->name);
    for (size_t i = 0; i < t->n_dims; i++) {
        out->dims[i] = t->dims[i];
        if (t->dims[i] < 0 || !base_mul_u64(count, (uint64_t)t->dims[i], &count) || count > UINT32_MAX)
            return fail(r->error, "tensor has a bad dimension", t->name);
    }
    out->bytes = onnx_bytes(t->data_type, (int64_t)count);
    if (!out->bytes) { /* empty, or of a type that only an operator using it will complain about */
        out->data = "";
        return S_OK;
    }
    if (t->data_location == 1)
        return external_data(r, t, out);
    if (!t->raw_data.len)
        return typed_data(r, t, out, count);
    if (t->raw_data.len != out->bytes)
        return fail(r->error, "tensor's raw data does not match its dimensions", t->name);
    out->data = t->raw_data.data;
    return S_OK;
}

static bool read_strings(struct reader *r, const AnydmlOnnx__Attribute *a, struct onnx_attribute *out)
{
    const char **strings = base_arena_alloc(&r->model->arena, a->n_strings * sizeof(*strings));
    for (size_t i = 0; strings && i < a->n_strings; i++) {
        char *text = base_arena_alloc(&r->model->arena, a->strings[i].len + 1);
        if (!text)
            return false;
        memcpy(text, a->strings[i].data, a->strings[i].len); /* the arena zeroes: terminated */
        strings[i] = text;
    }
    out->strings = strings;
    out->count = (uint32_t)a->n_strings;
    return strings != NULL;
}

static HRESULT read_attribute(struct reader *r, const AnydmlOnnx__Attribute *a, struct onnx_attribute *out)
{
    out->name = a->name;
    out->f = a->f;
    out->i = a->i;
    out->floats = a->n_floats ? a->floats : NULL;
    out->ints = a->n_ints ? a->ints : NULL;
    out->count = (uint32_t)(a->n_floats ? a->n_floats : a->n_ints);
    if (a->s.len) {
        char *text = base_arena_alloc(&r->model->arena, a->s.len + 1);
        if (!text)
            return E_OUTOFMEMORY;
        memcpy(text, a->s.data, a->s.len); /* the arena zeroes: terminated */
        out->s = text;
    }
    if (a->n_strings && !read_strings(r, a, out))
        return E_OUTOFMEMORY;
    if (!a->t)
        return S_OK;
    struct onnx_tensor *tensor = base_arena_alloc(&r->model->arena, sizeof(*tensor));
    if (!tensor)
        return E_OUTOFMEMORY;
    out->t = tensor;
    return read_tensor(r, a->t, tensor);
}

static HRESULT read_node(struct reader *r, const AnydmlOnnx__Node *n, struct onnx_node *out)
{
    struct onnx_attribute *attributes = base_arena_alloc(&r->model->arena, n->n_attribute * sizeof(*attributes));
    if (!attributes)
        return E_OUTOFMEMORY;
    *out = (struct onnx_node){ n->op_type,
                               n->domain,
                               n->name,
                               (const char **)n->input,
                               (const char **)n->output,
                               (uint32_t)n->n_input,
                               (uint32_t)n->n_output,
                               attributes,
                               (uint32_t)n->n_attribute };
    for (size_t i = 0; i < n->n_attribute; i++) {
        HRESULT hr = read_attribute(r, n->attribute[i], &attributes[i]);
        if (FAILED(hr))
            return hr;
    }
    return S_OK;
}

static HRESULT read_value_info(struct reader *r, const AnydmlOnnx__ValueInfo *v, struct onnx_value_info *out)
{
    const AnydmlOnnx__TensorType *type = v->type ? v->type->tensor_type : NULL;
    out->name = v->name;
    if (!type)
        return fail(r->error, "input or output is no tensor", v->name);
    out->type = type->elem_type;
    out->has_shape = type->shape != NULL;
    if (!type->shape)
        return S_OK;
    if (type->shape->n_dim > ONNX_RANK_MAX)
        return fail(r->error, "input or output has more than 8 dimensions", v->name);
    out->rank = (uint32_t)type->shape->n_dim;
    for (uint32_t i = 0; i < out->rank; i++) {
        const AnydmlOnnx__Dimension *d = type->shape->dim[i];
        bool symbolic = d->dim_param && d->dim_param[0];
        out->dims[i] = symbolic || d->dim_value <= 0 ? -1 : d->dim_value;
        out->symbols[i] = symbolic ? d->dim_param : NULL;
    }
    return S_OK;
}

static bool is_initializer(const struct onnx_model *model, const char *name)
{
    for (uint32_t i = 0; i < model->initializer_count; i++) {
        if (!strcmp(model->initializers[i].name, name))
            return true;
    }
    return false;
}

static HRESULT read_graph(struct reader *r, const AnydmlOnnx__Graph *g)
{
    struct onnx_model *m = r->model;
    HRESULT hr = S_OK;
    m->nodes = base_arena_alloc(&m->arena, g->n_node * sizeof(*m->nodes));
    m->initializers = base_arena_alloc(&m->arena, g->n_initializer * sizeof(*m->initializers));
    m->inputs = base_arena_alloc(&m->arena, g->n_input * sizeof(*m->inputs));
    m->outputs = base_arena_alloc(&m->arena, g->n_output * sizeof(*m->outputs));
    if (!m->nodes || !m->initializers || !m->inputs || !m->outputs)
        return E_OUTOFMEMORY;
    for (size_t i = 0; i < g->n_initializer && SUCCEEDED(hr); i++)
        hr = read_tensor(r, g->initializer[i], &m->initializers[m->initializer_count++]);
    for (size_t i = 0; i < g->n_node && SUCCEEDED(hr); i++)
        hr = read_node(r, g->node[i], &m->nodes[m->node_count++]);
    for (size_t i = 0; i < g->n_input && SUCCEEDED(hr); i++) {
        if (!is_initializer(m, g->input[i]->name))
            hr = read_value_info(r, g->input[i], &m->inputs[m->input_count++]);
    }
    for (size_t i = 0; i < g->n_output && SUCCEEDED(hr); i++)
        hr = read_value_info(r, g->output[i], &m->outputs[m->output_count++]);
    return hr;
}

static bool same_domain(const char *x, const char *y)
{
    return !strcmp(!strcmp(x, "ai.onnx") ? "" : x, !strcmp(y, "ai.onnx") ? "" : y);
}

static HRESULT set_versions(struct reader *r, const AnydmlOnnx__Model *message)
{
    for (uint32_t i = 0; i < r->model->node_count; i++) {
        struct onnx_node *n = &r->model->nodes[i];
        for (size_t j = 0; j < message->n_opset_import; j++) {
            if (same_domain(message->opset_import[j]->domain, n->domain))
                n->version = message->opset_import[j]->version;
        }
        if (n->version < 7 && same_domain(n->domain, "")) {
            snprintf(r->error->text, sizeof(r->error->text), "opset %lld is not supported (7 or newer is)",
                     (long long)n->version);
            return E_INVALIDARG;
        }
    }
    return S_OK;
}

static HRESULT read_model(struct reader *r, const AnydmlOnnx__Model *message)
{
    if (!message->graph || (!message->graph->n_node && !message->graph->n_output))
        return fail(r->error, "the file is no ONNX model (it has no graph)", NULL);
    HRESULT hr = read_graph(r, message->graph);
    return FAILED(hr) ? hr : set_versions(r, message);
}

HRESULT onnx_model_parse(const void *bytes, size_t size, const char *folder, struct onnx_model **out,
                         struct onnx_error *error)
{
    struct onnx_model *model = calloc(1, sizeof(*model));
    struct storage *storage = calloc(1, sizeof(*storage));
    HRESULT hr = E_OUTOFMEMORY;
    *out = NULL;
    if (!model || !storage) {
        free(model);
        free(storage);
        return hr;
    }
    model->storage = storage;
    storage->message = anydml_onnx__model__unpack(NULL, size, bytes);
    struct reader reader = { model, error, folder };
    hr = storage->message ? read_model(&reader, storage->message) : fail(error, "the file is no ONNX model", NULL);
    if (FAILED(hr))
        onnx_model_destroy(model);
    else
        *out = model;
    return hr;
}

HRESULT onnx_model_load(const char *path, struct onnx_model **out, struct onnx_error *error)
{
    size_t size = 0;
    char folder[4096];
    *out = NULL;
    void *bytes = map_file(path, &size);
    if (!bytes)
        return fail(error, "cannot read the file", NULL);
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    HRESULT hr = onnx_model_parse(bytes, size, folder, out, error);
    munmap(bytes, size); /* the parser copies what it keeps */
    return hr;
}

void onnx_model_destroy(struct onnx_model *model)
{
    if (!model)
        return;
    struct storage *storage = model->storage;
    for (struct mapping *mapping = storage->mappings; mapping; mapping = mapping->next)
        munmap(mapping->address, mapping->size);
    if (storage->message)
        anydml_onnx__model__free_unpacked(storage->message, NULL);
    free(storage);
    base_arena_finish(&model->arena);
    free(model);
}
