/* SPDX-License-Identifier: Apache-2.0 */
/* The graph builder for C (anydml_graph.h): derives outputs of operators from inputs and attributes, and collects the
 * operators in a graph. A graph is used by one thread at a time. */
#ifndef BUILDER_BUILDER_H
#define BUILDER_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include <anydml_graph.h>

#include "emit/graph.h"
#include "schema/schema.h"

enum {
    BUILDER_ARRAYS = 8,       /* array attributes of an operator */
    BUILDER_DESC_BYTES = 256, /* of the largest description */
};

struct anydml_expression {
    struct anydml_expression *next; /* of the graph's list */
    struct anydml_graph *graph;
    struct emit_source from;
    DML_BUFFER_TENSOR_DESC tensor; /* points to the following two */
    UINT sizes[SCHEMA_MAX_RANK], strides[SCHEMA_MAX_RANK];
};

struct anydml_graph {
    struct emit_graph emit; /* with its device */
    HRESULT hr;             /* the first error */
    char message[500];
    struct anydml_expression *expressions;
};

/* One operator in the making. */
struct builder_call {
    struct anydml_graph *graph;
    const struct schema_op *op;
    union {
        uint64_t words[BUILDER_DESC_BYTES / 8];
        char bytes[BUILDER_DESC_BYTES];
    } desc; /* the operator's C struct */
    const anydml_expr *inputs;
    const struct anydml_output *outputs;
    uint32_t input_count, output_count; /* slots, arrays expanded */
    DML_TENSOR_DESC *tensors;           /* inputs, then outputs; a NULL Desc is absent */
    struct anydml_expression **made;    /* by output slot */
    uint32_t arrays[BUILDER_ARRAYS][SCHEMA_MAX_RANK];
    uint32_t array_count;
    DML_OPERATOR_DESC activations[SCHEMA_MAX_ACTIVATIONS];
    DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC softmax; /* a fused activation without axes */
};

/* Sizes of an output; sizes beyond UINT are rejected later. */
struct builder_shape {
    uint32_t rank;
    int64_t sizes[SCHEMA_MAX_RANK];
};

/* a * b of non-negative numbers, saturated at 2^60: sizes beyond UINT are rejected later, and sums of such values do
 * not overflow. */
int64_t builder_times(int64_t a, int64_t b);

/* Stores the first error of the graph; returns false. */
bool builder_fail(struct anydml_graph *graph, HRESULT hr, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with the operator's name before it. */
bool builder_refuse(struct builder_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A new expression of the graph with rank and sizes, packed; NULL and an error when memory is short. */
struct anydml_expression *builder_expression(struct anydml_graph *graph, DML_TENSOR_DATA_TYPE type, uint32_t count,
                                             const UINT *sizes);
/* Fields of the description by name. A tensor that is absent is NULL; a field that the operator lacks is 0 or NULL. */
const DML_BUFFER_TENSOR_DESC *builder_tensor(const struct builder_call *call, const char *field);
uint32_t builder_uint(const struct builder_call *call, const char *field);
const UINT *builder_uints(const struct builder_call *call, const char *field);
const INT *builder_ints(const struct builder_call *call, const char *field);
const FLOAT *builder_floats(const struct builder_call *call, const char *field);
void builder_set(struct builder_call *call, const struct schema_field *field, const void *value, size_t bytes);
/* The first tensor of the operator, inputs first; NULL before there is one. */
const DML_BUFFER_TENSOR_DESC *builder_first(const struct builder_call *call);

/* Fills in lengths, arrays and activations that were omitted; then what depends on the outputs (scales, types of
 * scalars). */
bool builder_default_attributes(struct builder_call *call);
void builder_default_after(struct builder_call *call);

/* Type and sizes of an output; false and an error if the caller must give them. Sizes that follow by the schema's rules
 * are left to schema_infer: rank 0. */
bool builder_output_type(struct builder_call *call, const struct schema_field *field, DML_TENSOR_DATA_TYPE *type);
bool builder_output_shape(struct builder_call *call, const struct schema_field *field, struct builder_shape *shape);

/* The rule that rules.def names. false: the sizes cannot be derived and must be given, or an error was stored. */
BASE_TABLE_BEGIN
#define SHAPE(OPERATOR, RULE) bool builder_shape_##RULE(struct builder_call *call, struct builder_shape *shape);
#include "builder/rules.def"
BASE_TABLE_END

#endif
