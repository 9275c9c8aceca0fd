/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the readers of an ONNX file's messages. */
#ifndef ONNX_READ_H
#define ONNX_READ_H

#include "onnx/onnx.h"
#include "onnx/read/wire.h"

/* A file, in model->storage. */
struct onnx_mapping {
    struct onnx_mapping *next;
    const char *name; /* as the model calls it; "" is the model itself */
    void *address;
    size_t size;
};

struct onnx_reader {
    struct onnx_model *model; /* whose arena and storage everything uses */
    struct onnx_error *error;
    const char *path;   /* of the file, relative to which external data is found; NULL: unsupported */
    bool mapped;        /* the bytes are in a mapping */
    const char **names; /* of the initializers of the graph that is being read, in order */
    uint32_t name_count;
    uint32_t depth; /* of graphs in attributes */
};

/* "what: name", or `what` alone. Returns E_INVALIDARG. */
HRESULT onnx_read_fail(struct onnx_reader *r, const char *what, const char *name);
HRESULT onnx_read_no_model(struct onnx_reader *r);
/* Sorts the nodes topologically; an order that is already valid is kept. */
HRESULT onnx_sort_nodes(struct onnx_model *graph);

/* The file, mapped once: the file named `name` next to the model, or the model itself (""). NULL with errno from
 * base_map_file and base_map_beside: it cannot be read, or out of memory. */
const struct onnx_mapping *onnx_map(struct onnx_model *model, const char *path, const char *name);
/* The meaning of errno for such a file. */
const char *onnx_map_problem(int error);

/* Zero-terminated; NULL if out of memory, or if the field is not a text (wire->bad then). */
const char *onnx_read_text(struct onnx_reader *r, struct onnx_wire *wire, const struct onnx_field *field);
/* The numbers of all fields `number` of the message, each of `width` bytes. NULL if out of memory or if a field does
 * not have `kind`. */
void *onnx_read_numbers(struct onnx_reader *r, struct onnx_wire message, uint32_t number, enum onnx_wire_kind kind,
                        uint32_t width, size_t *out_count);
HRESULT onnx_read_tensor(struct onnx_reader *r, struct onnx_wire message, struct onnx_tensor *out);

/* The texts of all fields `number`. NULL if out of memory or if they are not valid texts. */
const char **onnx_read_texts(struct onnx_reader *r, struct onnx_wire message, uint32_t number, uint32_t *out_count);
HRESULT onnx_read_attribute(struct onnx_reader *r, struct onnx_wire message, struct onnx_attribute *out);
HRESULT onnx_read_node(struct onnx_reader *r, struct onnx_wire message, struct onnx_node *out);
HRESULT onnx_read_opset(struct onnx_reader *r, struct onnx_wire wire, const char **domain, int64_t *version);
/* Of all nodes of the domain, also in inner graphs. */
void onnx_set_versions(const struct onnx_model *m, const char *domain, int64_t version);
/* Replaces the calls of the model's functions by their nodes. */
HRESULT onnx_read_functions(struct onnx_reader *r, struct onnx_wire file);

#endif
