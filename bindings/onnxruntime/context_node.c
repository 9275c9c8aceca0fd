/* SPDX-License-Identifier: Apache-2.0 */
/* EPContext nodes: conversion of a fused subgraph to a node of a compiled model, and back. With ep.context_embed_mode 1
 * the node contains the bytes, with 0 the name of a file in the folder of the compiled model with the bytes of all
 * nodes. */
#include "context.h"
#include "ep.h"

#include "base/file.h"
#include "onnx/read/read.h"

#include <anydml.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- attributes ---- */

/* NULL if the node does not have an attribute of that name. */
static const OrtOpAttr *find_attribute(const OrtApi *ort, const OrtNode *node, const char *name)
{
    const OrtOpAttr *attr = NULL;
    OrtStatus *status = ort->Node_GetAttributeByName(node, name, &attr);
    if (!status)
        return attr;
    ort->ReleaseStatus(status);
    return NULL;
}

/* *out is freed by the caller, aligned and terminated; NULL if there is no such text. */
static OrtStatus *read_text(struct ep *ep, const OrtNode *node, const char *name, char **out, size_t *out_bytes)
{
    const OrtApi *ort = ep->factory->ort;
    const OrtOpAttr *attr = find_attribute(ort, node, name);
    OrtOpAttrType type = ORT_OP_ATTR_UNDEFINED;
    size_t bytes = 0;
    *out = NULL;
    if (attr)
        TRY(ort->OpAttr_GetType(attr, &type));
    if (type != ORT_OP_ATTR_STRING)
        return NULL;
    /* Called without a buffer, it reports the required size through an error. */
    OrtStatus *status = ort->ReadOpAttr(attr, type, NULL, 0, &bytes);
    if (status)
        ort->ReleaseStatus(status);
    char *text = aligned_alloc(EP_CONTEXT_ALIGNMENT, base_align_up(bytes + 1, EP_CONTEXT_ALIGNMENT));
    if (!text)
        return ep_status(ep->factory, ORT_FAIL, "out of memory");
    status = bytes ? ort->ReadOpAttr(attr, type, text, bytes, &bytes) : NULL;
    text[bytes] = 0;
    if (status)
        free(text);
    else
        *out = text;
    *out_bytes = bytes;
    return status;
}

static OrtStatus *read_int(struct ep *ep, const OrtNode *node, const char *name, int64_t *out)
{
    const OrtApi *ort = ep->factory->ort;
    const OrtOpAttr *attr = find_attribute(ort, node, name);
    OrtOpAttrType type = ORT_OP_ATTR_UNDEFINED;
    size_t bytes = 0;
    if (attr)
        TRY(ort->OpAttr_GetType(attr, &type));
    return type == ORT_OP_ATTR_INT ? ort->ReadOpAttr(attr, type, out, sizeof(*out), &bytes) : NULL;
}

bool ep_context_is_operator(const char *domain, const char *op)
{
    return !strcmp(domain, "com.microsoft") && !strcmp(op, "EPContext");
}

OrtStatus *ep_context_is_ours(struct ep *ep, const OrtNode *node, bool *out)
{
    const char *op = NULL, *domain = NULL;
    char *source = NULL;
    size_t bytes;
    *out = false;
    TRY(ep->factory->ort->Node_GetOperatorType(node, &op));
    TRY(ep->factory->ort->Node_GetDomain(node, &domain));
    if (!ep_context_is_operator(domain, op))
        return NULL;
    TRY(read_text(ep, node, "source", &source, &bytes));
    *out = source && (!strcmp(source, EP_NAME) || !strcmp(source, EP_NAME_WINDOWS));
    free(source);
    return NULL;
}

/* ---- paths ---- */

/* The path of the compiled model: where it will be written, or was read. */
static OrtStatus *model_path(struct ep *ep, const OrtGraph *graph, bool writing, char *out, size_t size)
{
    const char *path = "";
    TRY(ep->factory->ort->Graph_GetModelPath(graph, &path));
    const char *given = ep->options.context_path;
    int length;
    if (given[0] && (writing || !path || !path[0])) {
        length = snprintf(out, size, "%s", given);
    } else if (!path || !path[0]) {
        return ep_status(ep->factory, ORT_INVALID_ARGUMENT,
                         "the model has no path: set ep.context_file_path to that of the compiled model, or "
                         "ep.context_embed_mode to 1");
    } else {
        const char *name = strrchr(path, '/'), *dot = strrchr(name ? name : path, '.');
        int stem = dot ? (int)(dot - path) : (int)strlen(path);
        length = writing ? snprintf(out, size, "%.*s_ctx.onnx", stem, path) : snprintf(out, size, "%s", path);
    }
    return length >= 0 && (size_t)length < size
               ? NULL
               : ep_status(ep->factory, ORT_INVALID_ARGUMENT, "the path of the compiled model is too long");
}

/* NAME_dml.bin for NAME.onnx; *out_name points to its last component. */
static OrtStatus *data_path(struct ep *ep, const OrtGraph *graph, char *out, size_t size, const char **out_name)
{
    TRY(model_path(ep, graph, true, out, size - sizeof("_dml.bin")));
    char *name = strrchr(out, '/');
    name = name ? name + 1 : out;
    char *dot = strrchr(name, '.');
    strcpy(dot && dot > name ? dot : name + strlen(name), "_dml.bin");
    *out_name = name;
    return NULL;
}

/* ---- files ---- */

static bool write_all(int file, const char *data, size_t bytes)
{
    while (bytes) {
        ssize_t done = write(file, data, bytes);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        data += done;
        bytes -= (size_t)done;
    }
    return true;
}

/* The session's first node creates a new file, so that sessions that read the old one keep it. */
static OrtStatus *write_file(struct ep *ep, const OrtGraph *graph, const void *data, size_t bytes, char **out_name)
{
    char path[sizeof(ep->options.context_path) + 32];
    const char *name;
    TRY(data_path(ep, graph, path, sizeof(path), &name));
    if (!ep->contexts_written)
        unlink(path);
    int flags = O_WRONLY | O_CLOEXEC | (ep->contexts_written ? O_APPEND : O_CREAT | O_EXCL);
    int file = open(path, flags, 0666);
    bool ok = file >= 0 && write_all(file, data, bytes);
    int why = errno;
    if (file >= 0 && close(file) && ok) {
        why = errno;
        ok = false;
    }
    if (!ok)
        return ep_status(ep->factory, ORT_FAIL, "'%.400s' cannot be written: %s", path, strerror(why));
    ep->contexts_written++;
    *out_name = strdup(name);
    return *out_name ? NULL : ep_status(ep->factory, ORT_FAIL, "out of memory");
}

/* Larger subgraphs stay in the file. */
#define COPIED_MAX (64u << 20)

/* The first subgraph of the file with that name, as a copy, independent of later changes of the file. NULL: it is too
 * large, or the file is invalid. */
static void *copy_part(FILE *file, uint64_t file_size, const char *name, size_t *out_bytes)
{
    char head[4096];
    uint64_t part = 0;
    for (uint64_t at = 0; at < file_size; at += part) {
        bool named = false;
        size_t known = fseeko(file, (off_t)at, SEEK_SET) ? 0 : fread(head, 1, sizeof(head), file);
        part = ep_context_part(head, known, name, &named);
        if (!part || part > file_size - at || (named && part > COPIED_MAX))
            return NULL;
        if (!named)
            continue;
        void *copy = aligned_alloc(EP_CONTEXT_ALIGNMENT, (size_t)part);
        if (copy && (fseeko(file, (off_t)at, SEEK_SET) || fread(copy, 1, (size_t)part, file) != part)) {
            free(copy);
            return NULL;
        }
        *out_bytes = (size_t)part;
        return copy;
    }
    return NULL;
}

/* Only files in the model's folder: a model must not make the process read others. *mapped: the bytes are a mapping,
 * else a copy of the subgraph `partition`. */
static OrtStatus *read_file(struct ep *ep, const OrtGraph *graph, const char *name, const char *partition, void **out,
                            size_t *out_bytes, size_t *mapped)
{
    char path[sizeof(ep->options.context_path) * 2];
    uint64_t size = 0;
    TRY(model_path(ep, graph, false, path, sizeof(path)));
    FILE *file = base_open_beside(path, name, &size);
    *out = file ? copy_part(file, size, partition, out_bytes) : NULL;
    if (file)
        fclose(file);
    if (*out)
        return NULL;
    *out = base_map_beside(path, name, out_bytes);
    int why = errno;
    *mapped = *out ? *out_bytes : 0;
    if (*out)
        return NULL;
    return ep_status(ep->factory, why == EXDEV || why == EINVAL ? ORT_INVALID_ARGUMENT : ORT_NO_SUCHFILE,
                     "ep_cache_context names '%.200s', which cannot be read in the folder of the model '%.400s': %s",
                     name, path, onnx_map_problem(why));
}

/* ---- from a subgraph to a node ---- */

static OrtStatus *port_names(struct ep *ep, const OrtNode *fused, bool inputs, const char ***out, size_t *out_count)
{
    const OrtApi *ort = ep->factory->ort;
    size_t count = 0;
    TRY(inputs ? ort->Node_GetNumInputs(fused, &count) : ort->Node_GetNumOutputs(fused, &count));
    const OrtValueInfo **infos = calloc(count + 1, sizeof(*infos));
    const char **names = calloc(count + 1, sizeof(*names));
    OrtStatus *status = infos && names ? NULL : ep_status(ep->factory, ORT_FAIL, "out of memory");
    if (!status && count)
        status = inputs ? ort->Node_GetInputs(fused, infos, count) : ort->Node_GetOutputs(fused, infos, count);
    for (size_t i = 0; !status && i < count; i++) {
        names[i] = "";
        if (infos[i])
            status = ort->GetValueInfoName(infos[i], &names[i]);
    }
    free(infos);
    *out = names;
    *out_count = count;
    return status;
}

#define ATTRIBUTES 8

static OrtStatus *make_attributes(struct ep *ep, const char *partition, const void *data, size_t bytes,
                                  OrtOpAttr **attrs)
{
    const OrtApi *ort = ep->factory->ort;
    const char *notes = "a subgraph for AnyDML's DirectML";
    const int64_t main_context = 1, embed_mode = ep->options.context_embed;
    const char *source = ep->factory->provider->name;
    const struct {
        const char *name;
        OrtOpAttrType type;
        const void *data;
        size_t bytes;
    } all[ATTRIBUTES] = {
        { "main_context", ORT_OP_ATTR_INT, &main_context, 1 },
        { "embed_mode", ORT_OP_ATTR_INT, &embed_mode, 1 },
        { "ep_cache_context", ORT_OP_ATTR_STRING, data, bytes },
        { "ep_sdk_version", ORT_OP_ATTR_STRING, EP_VERSION, strlen(EP_VERSION) },
        { "partition_name", ORT_OP_ATTR_STRING, partition, strlen(partition) },
        { "source", ORT_OP_ATTR_STRING, source, strlen(source) },
        { "hardware_architecture", ORT_OP_ATTR_STRING, ep->made_for, strlen(ep->made_for) },
        { "notes", ORT_OP_ATTR_STRING, notes, strlen(notes) },
    };
    for (uint32_t i = 0; i < ATTRIBUTES; i++)
        TRY(ort->CreateOpAttr(all[i].name, all[i].data, (int)all[i].bytes, all[i].type, &attrs[i]));
    return NULL;
}

static OrtStatus *make_node(struct ep *ep, const OrtNode *fused, const char *name, const void *data, size_t bytes,
                            OrtNode **out)
{
    const OrtApi *ort = ep->factory->ort;
    const OrtModelEditorApi *editor = ort->GetModelEditorApi();
    const char **inputs = NULL, **outputs = NULL;
    size_t input_count = 0, output_count = 0;
    OrtOpAttr *attrs[ATTRIBUTES] = { NULL };
    if (!editor || bytes > INT_MAX)
        return ep_status(ep->factory, ORT_INVALID_ARGUMENT,
                         editor ? "'%s' is too large for a node: set ep.context_embed_mode to 0"
                                : "'%s': this ONNX Runtime cannot write models",
                         name);
    OrtStatus *status = port_names(ep, fused, true, &inputs, &input_count);
    if (!status)
        status = port_names(ep, fused, false, &outputs, &output_count);
    if (!status)
        status = make_attributes(ep, name, data, bytes, attrs);
    if (!status)
        status = editor->CreateNode("EPContext", "com.microsoft", name, inputs, input_count, outputs, output_count,
                                    attrs, ATTRIBUTES, out);
    for (uint32_t i = 0; i < ATTRIBUTES; i++) {
        if (attrs[i])
            ort->ReleaseOpAttr(attrs[i]); /* the node has copies */
    }
    free(inputs);
    free(outputs);
    return status;
}

OrtStatus *ep_context_make(struct ep *ep, const OrtGraph *graph, const OrtNode *fused, const char *name,
                           const struct onnx_model *model, OrtNode **out)
{
    void *data = NULL;
    char *file = NULL;
    size_t bytes = 0;
    OrtStatus *status = NULL;
    if (!ep_context_write(model, name, ep->made_for, &data, &bytes))
        return ep_status(ep->factory, ORT_FAIL, "out of memory");
    if (!ep->options.context_embed)
        status = write_file(ep, graph, data, bytes, &file);
    if (!status)
        status = make_node(ep, fused, name, file ? file : data, file ? strlen(file) : bytes, out);
    free(data);
    free(file);
    return status;
}

/* ---- from a node to a subgraph ---- */

/* The kernel is called with the fused node's ports: their number and types must match the subgraph. */
static OrtStatus *check_ports(struct ep *ep, const OrtNode *fused, const struct onnx_model *model, const char *name)
{
    struct onnx_model *ports = NULL;
    TRY(ep_model_create(ep, NULL, fused, true, NULL, &ports));
    bool same = ports->input_count == model->input_count && ports->output_count == model->output_count;
    for (uint32_t i = 0; same && i < model->input_count; i++)
        same = ports->inputs[i].type == model->inputs[i].type;
    for (uint32_t i = 0; same && i < model->output_count; i++)
        same = ports->outputs[i].type == model->outputs[i].type;
    ep_model_destroy(ports);
    return same ? NULL
                : ep_status(ep->factory, ORT_INVALID_GRAPH,
                            "the inputs and outputs of '%.200s' are not those that it was compiled with", name);
}

/* The bytes of the node's context: *mapped of them are a mapping, else a copy. */
static OrtStatus *load_data(struct ep *ep, const OrtGraph *graph, const OrtNode *node, const char *partition,
                            void **out, size_t *out_bytes, size_t *mapped)
{
    int64_t embedded = 1;
    char *text = NULL;
    TRY(read_int(ep, node, "embed_mode", &embedded));
    TRY(read_text(ep, node, "ep_cache_context", &text, out_bytes));
    if (!text)
        return ep_status(ep->factory, ORT_INVALID_GRAPH, "an EPContext node has no attribute ep_cache_context");
    *out = text;
    if (embedded)
        return NULL;
    OrtStatus *status = read_file(ep, graph, text, partition, out, out_bytes, mapped);
    free(text);
    return status;
}

static OrtStatus *load_model(struct ep *ep, const OrtGraph *graph, const OrtNode *node, const char *name,
                             struct onnx_model **out)
{
    struct onnx_error error = { "" };
    void *data = NULL;
    size_t bytes = 0, mapped = 0;
    TRY(load_data(ep, graph, node, name, &data, &bytes, &mapped));
    HRESULT hr = ep_context_read(data, bytes, name, ep->made_for, out, &error);
    if (SUCCEEDED(hr) && ep_model_keep(*out, data, mapped))
        return NULL;
    if (mapped)
        base_unmap_file(data, mapped);
    else
        free(data);
    ep_model_destroy(*out);
    *out = NULL;
    return FAILED(hr) ? ep_status_hr(ep->factory, hr, &error) : ep_status(ep->factory, ORT_FAIL, "out of memory");
}

OrtStatus *ep_context_load(struct ep *ep, const OrtGraph *graph, const OrtNode *fused, struct onnx_model **out)
{
    const OrtApi *ort = ep->factory->ort;
    const OrtNode *node = NULL;
    char *name = NULL;
    size_t count = 0;
    bool ours = false;
    *out = NULL;
    TRY(ort->Graph_GetNumNodes(graph, &count));
    if (count != 1)
        return NULL;
    TRY(ort->Graph_GetNodes(graph, &node, 1));
    TRY(ep_context_is_ours(ep, node, &ours));
    if (!ours)
        return NULL;
    TRY(read_text(ep, node, "partition_name", &name, &count));
    if (!name)
        return ep_status(ep->factory, ORT_INVALID_GRAPH, "an EPContext node has no attribute partition_name");
    OrtStatus *status = load_model(ep, graph, node, name, out);
    if (!status)
        status = check_ports(ep, fused, *out, name);
    free(name);
    if (status) {
        ep_model_destroy(*out);
        *out = NULL;
    }
    return status;
}
