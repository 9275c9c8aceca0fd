/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of an ONNX file's messages share. */
#ifndef ONNX_READ_H
#define ONNX_READ_H

#include "onnx/onnx.h"
#include "onnx/wire.h"

/* A file, in model->storage. */
struct onnx_mapping {
    struct onnx_mapping *next;
    const char *name; /* as the model calls it; "" is the model itself */
    void *address;
    size_t size;
};

struct onnx_reader {
    struct onnx_model *model; /* whose arena and storage everything is in */
    struct onnx_error *error;
    const char *path;   /* of the file, beside which external data lie; NULL: there can be none */
    bool mapped;        /* what is read lies in a mapping */
    const char **names; /* of the initializers of the graph that is being read, in order */
    uint32_t name_count;
    uint32_t depth; /* of graphs in attributes */
};

/* "what: name", or `what` alone. Returns E_INVALIDARG. */
HRESULT onnx_read_fail(struct onnx_reader *r, const char *what, const char *name);
HRESULT onnx_read_no_model(struct onnx_reader *r);
/* Brings the nodes into an order in which every value is made before it is used; those that have one stay. */
HRESULT onnx_sort_nodes(struct onnx_model *graph);

/* The file, mapped once: that beside the model which it calls `name`, or the model itself (""). NULL with errno as from
 * base_map_file and base_map_beside: it cannot be read, or memory is short. */
const struct onnx_mapping *onnx_map(struct onnx_model *model, const char *path, const char *name);
/* What errno means of such a file. */
const char *onnx_map_problem(int error);

/* Terminated; NULL when memory is short, or the field is no text (wire->bad then). */
const char *onnx_read_text(struct onnx_reader *r, struct onnx_wire *wire, const struct onnx_field *field);
/* The numbers of all fields `number` of the message, each of `width` bytes. NULL when memory is short or a field holds
 * none of `kind`. */
void *onnx_read_numbers(struct onnx_reader *r, struct onnx_wire message, uint32_t number, enum onnx_wire_kind kind,
                        uint32_t width, size_t *out_count);
HRESULT onnx_read_tensor(struct onnx_reader *r, struct onnx_wire message, struct onnx_tensor *out);

#endif
