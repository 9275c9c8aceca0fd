/* SPDX-License-Identifier: Apache-2.0 */
/* anydml dispatch: an operator or a graph described in JSON, with its data (docs/dispatch.md). Names and fields are
 * DirectML's; the schema defines the fields of operators and their limits. */
#ifndef TOOLS_DISPATCH_H
#define TOOLS_DISPATCH_H

#include "emit/graph.h"
#include "schema/schema.h"
#include "tools/error.h"

#include "base/arena.h"

#include <jansson.h>

#define DISPATCH_MEMORY (UINT64_C(2) << 30) /* the usual limit */

/* The position in the file, for messages. */
struct dispatch_reader {
    const char *file;
    struct base_arena *arena;
    struct tools_error *error;
    uint64_t memory; /* limit of the bytes of tensors; the rest of it */
    char path[256];  /* of the value: "graph.nodes[1].desc.ATensor.Sizes[0]" */
};

/* One input or output of an operator or of the whole; tensor NULL: it is absent. */
struct dispatch_slot {
    const char *name; /* "ATensor", "InputTensors[1]" */
    const DML_BUFFER_TENSOR_DESC *tensor;
    void *data; /* of an input of the whole: its bytes */
};

struct dispatch_node {
    const char *name;       /* of a graph's */
    DML_OPERATOR_DESC desc; /* of an operator */
    struct dispatch_slot *inputs, *outputs;
    uint32_t input_count, output_count;
    const json_t *constant;               /* a graph's constant instead of an operator, */
    const DML_BUFFER_TENSOR_DESC *tensor; /* the target of its first edge, */
    const void *data;                     /* and its bytes */
};

/* A whole file. Everything is in the arena or in the JSON value. */
struct dispatch {
    struct base_arena arena;
    json_t *root;
    bool is_graph;
    DML_EXECUTION_FLAGS flags;
    struct dispatch_node *nodes; /* one for a single operator */
    uint32_t node_count;
    struct dispatch_slot *inputs, *outputs; /* of the whole */
    uint32_t input_count, output_count;
    struct emit_edge *edges; /* between nodes, and from inputs of the whole */
    uint32_t edge_count;
    DML_OUTPUT_GRAPH_EDGE_DESC *ends; /* one for each output of a graph */
};

/* ---- dispatch_number.c: messages and single numbers ---- */

/* "FILE: PATH<message>"; false. */
bool tools_dispatch_fail(struct dispatch_reader *reader, const char *format, ...) BASE_PRINTF(2, 3);
/* "FILE: PATH = VALUE, must be <rule>", or "is missing" for NULL; false. */
bool tools_dispatch_refuse(struct dispatch_reader *reader, const json_t *value, const char *rule);

/* Appends to the path; the returned value removes it again. */
size_t tools_dispatch_enter(struct dispatch_reader *reader, const char *format, ...) BASE_PRINTF(2, 3);
void tools_dispatch_leave(struct dispatch_reader *reader, size_t length);

/* Zeroed memory of the arena; NULL with the error filled. */
void *tools_dispatch_alloc(struct dispatch_reader *reader, uint64_t count, size_t size);

/* Element `index` of packed elements from a number, true or false, or a string with a number ("nan", "-inf", and values
 * that JSON's integers cannot represent); and as text, which is valid JSON except for infinities and NaN
 * (*out_quoted). */
bool tools_dispatch_store(struct dispatch_reader *reader, const json_t *value, DML_TENSOR_DATA_TYPE type, void *data,
                          uint64_t index);
const char *tools_dispatch_text(char out[48], DML_TENSOR_DATA_TYPE type, const void *data, uint64_t index,
                                bool *out_quoted);

/* Subtracts bytes from the limit for tensors. A short file may ask for more than the machine has. */
bool tools_dispatch_take(struct dispatch_reader *reader, uint64_t bytes);

/* ---- dispatch_read.c: descriptions ---- */

/* Whether the value is an object with these keys only; `keys` ends with NULL. */
bool tools_dispatch_object(struct dispatch_reader *reader, const json_t *value, const char *const *keys);
/* The value is a string; its text. */
bool tools_dispatch_string(struct dispatch_reader *reader, const json_t *value, const char **out);

/* "type" and "desc" of an object, validated; and the operator's slots. */
bool tools_dispatch_operator(struct dispatch_reader *reader, const json_t *object, struct dispatch_node *out);

/* ---- dispatch_graph.c: files ---- */

/* "-" is the standard input. Finish in any case. */
bool tools_dispatch_load(struct dispatch_reader *reader, struct dispatch *out);
void tools_dispatch_finish(struct dispatch *dispatch);

/* ---- dispatch_data.c: tensors ---- */

/* Data of the tensor in the file: numbers, one number for all elements, or {"file": NAME.npy or raw bytes}. `data` has
 * TotalTensorSizeInBytes, zeroed. */
bool tools_dispatch_fill(struct dispatch_reader *reader, const json_t *value, const DML_BUFFER_TENSOR_DESC *tensor,
                         void *data);
/* The elements without strides: `data`, or a copy, which the caller frees. NULL with the error filled. */
const void *tools_dispatch_packed(const DML_BUFFER_TENSOR_DESC *tensor, const void *data, void **out_copy,
                                  struct tools_error *error);

/* A .npy file of the elements, or with any other name the bytes of the buffer. */
bool tools_dispatch_save(const char *path, const DML_BUFFER_TENSOR_DESC *tensor, const void *data,
                         struct tools_error *error);
void tools_dispatch_print(const char *name, const DML_BUFFER_TENSOR_DESC *tensor, const void *packed);
void tools_dispatch_print_json(const char *name, const DML_BUFFER_TENSOR_DESC *tensor, const void *packed);

/* The number that ONNX has for a data type. */
int32_t tools_dispatch_onnx_type(DML_TENSOR_DATA_TYPE type);

/* ---- dispatch_schema.c ---- */

/* The JSON Schema of such files, from the table of operators. */
void tools_dispatch_schema(void);

#endif
