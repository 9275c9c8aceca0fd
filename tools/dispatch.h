/* SPDX-License-Identifier: Apache-2.0 */
/* anydml dispatch: an operator or a graph described in JSON, with its data (docs/dispatch.md). Names and fields are
 * DirectML's; what fields an operator has, and what they may hold, the schema says. */
#ifndef TOOLS_DISPATCH_H
#define TOOLS_DISPATCH_H

#include "schema/schema.h"
#include "tools/error.h"

#include "base/arena.h"

#include <jansson.h>

#define DISPATCH_MEMORY (UINT64_C(2) << 30) /* the usual limit */

/* What is being read, for messages. */
struct dispatch_reader {
    const char *file;
    struct base_arena *arena;
    struct tools_error *error;
    uint64_t memory; /* bytes that tensors may take; what is left of them */
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
    const DML_BUFFER_TENSOR_DESC *tensor; /* what the first edge from it leads to, */
    const void *data;                     /* and its bytes */
};

/* A whole file. Everything lies in the arena or in the JSON value. */
struct dispatch {
    struct base_arena arena;
    json_t *root;
    bool is_graph;
    DML_EXECUTION_FLAGS flags;
    struct dispatch_node *nodes; /* one for a single operator */
    uint32_t node_count;
    struct dispatch_slot *inputs, *outputs; /* of the whole */
    uint32_t input_count, output_count;
    DML_INPUT_GRAPH_EDGE_DESC *in;
    DML_OUTPUT_GRAPH_EDGE_DESC *out;
    DML_INTERMEDIATE_GRAPH_EDGE_DESC *mid;
    uint32_t in_count, out_count, mid_count;
};

/* ---- dispatch_number.c: messages and single numbers ---- */

/* "FILE: PATH<message>"; false. */
bool tools_dispatch_fail(struct dispatch_reader *reader, const char *format, ...) BASE_PRINTF(2, 3);
/* "FILE: PATH = VALUE, must be <rule>", or "is missing" for NULL; false. */
bool tools_dispatch_refuse(struct dispatch_reader *reader, const json_t *value, const char *rule);

/* Adds to the path; what it returns takes that away again. */
size_t tools_dispatch_enter(struct dispatch_reader *reader, const char *format, ...) BASE_PRINTF(2, 3);
void tools_dispatch_leave(struct dispatch_reader *reader, size_t length);

/* Zeroed memory of the arena; NULL with the error filled. */
void *tools_dispatch_alloc(struct dispatch_reader *reader, uint64_t count, size_t size);

/* Element `index` of packed elements from a number, true or false, or a string that has a number ("nan", "-inf", and
 * what JSON's integers cannot hold); and as text, which JSON takes except for infinities and NaN (*out_quoted). */
bool tools_dispatch_store(struct dispatch_reader *reader, const json_t *value, DML_TENSOR_DATA_TYPE type, void *data,
                          uint64_t index);
const char *tools_dispatch_text(char out[48], DML_TENSOR_DATA_TYPE type, const void *data, uint64_t index,
                                bool *out_quoted);

/* So many bytes less are left for tensors. A short file may ask for more than the machine has. */
bool tools_dispatch_take(struct dispatch_reader *reader, uint64_t bytes);

/* ---- dispatch_read.c: descriptions ---- */

/* The value is an object with these keys only; `keys` ends with NULL. */
bool tools_dispatch_object(struct dispatch_reader *reader, const json_t *value, const char *const *keys);
/* The value is a string; its text. */
bool tools_dispatch_string(struct dispatch_reader *reader, const json_t *value, const char **out);
/* `text` is `name`, or what follows `prefix` and '_' in it. */
bool tools_dispatch_named(const char *text, const char *prefix, const char *name);

/* "type" and "desc" of an object, validated; and the operator's slots. */
bool tools_dispatch_operator(struct dispatch_reader *reader, const json_t *object, struct dispatch_node *out);

/* ---- dispatch_graph.c: files ---- */

/* "-" is the standard input. Finish in any case. */
bool tools_dispatch_load(struct dispatch_reader *reader, struct dispatch *out);
void tools_dispatch_finish(struct dispatch *dispatch);

/* ---- dispatch_data.c: tensors ---- */

/* Data of the tensor as the file gives it: numbers, one number for all elements, or {"file": NAME.npy or raw bytes}.
 * `data` has TotalTensorSizeInBytes, zeroed. */
bool tools_dispatch_fill(struct dispatch_reader *reader, const json_t *value, const DML_BUFFER_TENSOR_DESC *tensor,
                         void *data);
/* The elements without strides; the caller frees them. NULL with the error filled. */
void *tools_dispatch_packed(const DML_BUFFER_TENSOR_DESC *tensor, const void *data, struct tools_error *error);
uint64_t tools_dispatch_count(const DML_BUFFER_TENSOR_DESC *tensor);

/* A .npy file of the elements, or the bytes of the buffer under any other name. */
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
