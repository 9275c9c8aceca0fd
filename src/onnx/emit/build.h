/* SPDX-License-Identifier: Apache-2.0 */
/* The interface for the converters of converters.def. A converter reads its node's inputs, defines its outputs, and
 * either emits DirectML operators, or defines the output as another view of the same bytes, or computes its data
 * directly (shape arithmetic). */
#ifndef ONNX_BUILD_H
#define ONNX_BUILD_H

#include "onnx/onnx.h"

#include "base/names.h"
#include "emit/graph.h"

enum onnx_source { ONNX_SOURCE_INPUT, ONNX_SOURCE_NODE, ONNX_SOURCE_CONSTANT };

/* A value of the ONNX graph during conversion. Elements are packed, row-major. rank 0 = scalar. */
struct onnx_value {
    const char *name;
    int32_t type;
    uint32_t rank;
    int64_t dims[ONNX_RANK_MAX];
    uint8_t lengths[ONNX_RANK_MAX]; /* mask of the run-time lengths that the dimension is the most for (lengths.c), */
    uint32_t times[ONNX_RANK_MAX];  /* times this factor */
    enum onnx_source source;
    uint32_t index;   /* graph input, or DirectML node; constants: once materialised, that of the constant */
    uint32_t output;  /* of the node */
    const void *data; /* CONSTANT: at any address */
    const struct onnx_node *maker; /* the node that computes it; or NULL */
    const struct onnx_value
        *carried; /* NODE: the buffer contains the bytes of that input before the graph runs; or NULL */
    bool mapped;  /* CONSTANT: as in struct onnx_tensor */
    bool materialised;
    bool owned;  /* materialised as a graph input (struct onnx_weight) */
    bool wanted; /* inputs that it follows from are marked already */
    bool given;  /* INPUT: it is carried to some value already */
};

/* An inner graph that is inlined into the program: its own values are named with the prefix. */
struct onnx_scope {
    const struct onnx_scope *around;
    const char *prefix;
};

struct onnx_builder {
    struct base_arena arena; /* values, descriptions */
    const struct onnx_model *model;
    struct onnx_input *inputs;      /* per model input; NULL while a single node is checked */
    const struct onnx_node *node;   /* being converted, for messages */
    const struct onnx_scope *scope; /* the enclosing inner graph; NULL: the model itself */
    struct emit_graph emit;         /* with its device */
    struct onnx_error *error;
    bool failed;
    bool unknown; /* it failed because a value is not known yet */
    bool misfit;  /* it failed for sizes that do not fit together */
    struct onnx_value **values;
    uint32_t value_count, value_capacity;
    struct base_names names;     /* positions in `values` */
    struct onnx_program *owning; /* gets the weights as owned inputs; NULL: they are constants of the graph */
    /* Matrices dequantised from weights, and those whose other factor may be rounded to 8 bits. */
    uint32_t dequantised, coarse;
    uint32_t temporary_count;                     /* generates names for values inside a converter */
    int64_t most[ONNX_LENGTHS_MAX];               /* of the run-time lengths in use; 0: not in use */
    struct onnx_value *lengths[ONNX_LENGTHS_MAX]; /* results of onnx_length */
};

#define ONNX_LENGTHS(mask) ((mask) << 16)

typedef bool onnx_converter_fn(struct onnx_builder *b, const struct onnx_node *n);

typedef bool onnx_rows_fn(struct onnx_builder *b, const struct onnx_node *n);

/* A converter may implement several operators: it tests the node's op. */
struct onnx_converter {
    const char *domain, *op;
    int64_t newest; /* the newest since-version that the converter was written for */
    uint32_t
        wants; /* masks: inputs that must be known when the graph is compiled; ONNX_LENGTHS of those that are lengths */
    uint32_t folds;     /* the result is known: 1 when all inputs are, 2 always */
    onnx_rows_fn *rows; /* of outputs, when inputs are filled in part; NULL: it cannot be */
    onnx_converter_fn *convert;
};
/* In the table of converters (convert/converters.c); NULL: there is none. */
const struct onnx_converter *onnx_converter_find(const char *domain, const char *op);

/* Makes the graph's initializers constants, with the prefix before their names. */
bool onnx_add_initializers(struct onnx_builder *b, const struct onnx_model *graph, const char *prefix);

/* Fails the conversion: "Conv 'conv1': <text>". Returns false. */
bool onnx_fail(struct onnx_builder *b, const char *format, ...) BASE_PRINTF(2, 3);
/* The same for incompatible sizes: with other sizes the conversion might succeed. */
bool onnx_misfit(struct onnx_builder *b, const char *format, ...) BASE_PRINTF(2, 3);

/* ---- values ---- */
struct onnx_value *onnx_value_find(struct onnx_builder *b, const char *name);
struct onnx_value *onnx_value_new(struct onnx_builder *b, const char *name, int32_t type, uint32_t rank,
                                  const int64_t *dims); /* NULL when memory is short or the name exists: b->failed */
struct onnx_value *onnx_in(struct onnx_builder *b, const struct onnx_node *n, uint32_t i); /* required: NULL = failed */
struct onnx_value *onnx_in_optional(struct onnx_builder *b, const struct onnx_node *n, uint32_t i);
bool onnx_has_output(const struct onnx_node *n, uint32_t i);
/* Output i of the node; a temporary when the node does not name it. */
struct onnx_value *onnx_out(struct onnx_builder *b, const struct onnx_node *n, uint32_t i, int32_t type, uint32_t rank,
                            const int64_t *dims);
struct onnx_value *onnx_temp(struct onnx_builder *b, int32_t type, uint32_t rank, const int64_t *dims);
struct onnx_value *onnx_constant(struct onnx_builder *b, int32_t type, uint32_t rank, const int64_t *dims,
                                 const void *data, uint64_t bytes);
/* Packed elements in the arena that become the value's data; `data` is filled by the caller. */
void *onnx_constant_data(struct onnx_builder *b, struct onnx_value *out);
/* Defines `out` as another view of the same bytes (reshape). Element counts must agree. */
bool onnx_alias(struct onnx_builder *b, struct onnx_value *out, const struct onnx_value *in);
/* Maximum of dimensions, and of integer attributes with a limited range: the product of two fits 64 bits.
 */
#define ONNX_SIZE_MAX INT32_MAX
/* More than any memory: products of sizes saturate here instead of overflowing, and so do their bytes. */
#define ONNX_ELEMENTS_MAX ((int64_t)1 << 58)
int64_t onnx_size_product(int64_t x, int64_t y);
int64_t onnx_elements(const struct onnx_value *v);
uint64_t onnx_value_bytes(const struct onnx_value *v);

/* ---- attributes ---- */
const struct onnx_attribute *onnx_attribute(const struct onnx_node *n, const char *name);
/* An axis, count, size or flag: values beyond +-ONNX_SIZE_MAX, which cannot be valid, are clamped. */
int64_t onnx_attr_int(const struct onnx_node *n, const char *name, int64_t otherwise);
float onnx_attr_float(const struct onnx_node *n, const char *name, float otherwise);
const char *onnx_attr_string(const struct onnx_node *n, const char *name, const char *otherwise);
/* The integers of an attribute, *out_count of them (0 = absent; `out` stays as it is then); false (failed) when there
 * are more than `capacity`. */
bool onnx_attr_ints(struct onnx_builder *b, const struct onnx_node *n, const char *name, int64_t *out,
                    uint32_t capacity, uint32_t *out_count);
/* The integers of a known input (INT32 or INT64); false (failed) if it is not known or too long. */
bool onnx_const_ints(struct onnx_builder *b, const struct onnx_value *v, int64_t *out, uint32_t capacity,
                     uint32_t *out_count);
bool onnx_const_floats(struct onnx_builder *b, const struct onnx_value *v, float *out, uint32_t capacity,
                       uint32_t *out_count);
/* Fails: v must be `what` that are known; marks the model's inputs on which v depends. Returns false. */
bool onnx_unknown(struct onnx_builder *b, const struct onnx_value *v, const char *what);
/* Like onnx_unknown for an input of the node, one integer of which only the larger of it and dimension `dim` of input
 * `floor` matters, if input `absent` is not present. */
struct onnx_floor {
    uint32_t input, floor, dim, absent;
};
bool onnx_unknown_above(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_floor *f);
/* That is how the value is known now. */
bool onnx_floor_noted(const struct onnx_builder *b, const struct onnx_node *n, const struct onnx_floor *f);
/* Whether y, an output of the node, can be a graph output whose buffer initially contains the bytes of an input. */
bool onnx_may_carry(const struct onnx_builder *b, const struct onnx_value *from, const struct onnx_value *y);
/* Counts negative axes from the end; false (failed) unless 0 <= axis < rank. */
bool onnx_axis(struct onnx_builder *b, int64_t axis, uint32_t rank, uint32_t *out);
/* Numpy broadcasting of two shapes. */
bool onnx_broadcast_dims(struct onnx_builder *b, const struct onnx_value *x, const struct onnx_value *y,
                         uint32_t *out_rank, int64_t *out_dims);

/* ---- values that are known already (constant_folding.c) ---- */
/* Small enough, and of a type that is computed on the host. */
bool onnx_is_constant(const struct onnx_value *v);
/* An element of a constant: of integers and booleans; of any type that is computed on the host. */
int64_t onnx_constant_int(const struct onnx_value *v, int64_t at);
double onnx_constant_real(const struct onnx_value *v, int64_t at);
/* y[index] = x[offset + sum of index * strides] (elements). x is known; y becomes known. */
bool onnx_fold_view(struct onnx_builder *b, struct onnx_value *y, const struct onnx_value *x, int64_t offset,
                    const int64_t *strides);
/* Makes all elements of v known: `number`. Values of types or sizes that the host does not compute remain inputs. */
bool onnx_fill_known(struct onnx_builder *b, struct onnx_value *v, int64_t number);
bool onnx_fold_cast(struct onnx_builder *b, struct onnx_value *y, const struct onnx_value *x);
/* y = op(x) or op(x, z), broadcast; *done false when that is left to the device. */
bool onnx_fold_map(struct onnx_builder *b, const struct onnx_node *n, struct onnx_value *y, const struct onnx_value *x,
                   const struct onnx_value *z, bool *done);
bool onnx_fold_where(struct onnx_builder *b, struct onnx_value *y, struct onnx_value *const *in);
/* `full`: the dimensions of x with 1 for reduced ones. */
bool onnx_fold_reduce(struct onnx_builder *b, const struct onnx_node *n, struct onnx_value *y,
                      const struct onnx_value *x, const int64_t *full, bool *done);

/* ---- emitting ---- */
/* A tensor description; must stay on the stack until onnx_emit. Not movable: desc points into it. */
struct onnx_desc {
    DML_TENSOR_DESC desc;
    DML_BUFFER_TENSOR_DESC buffer;
    UINT sizes[ONNX_RANK_MAX], strides[ONNX_RANK_MAX];
};
/* The value with its own shape. NULL value: desc stays unused, returns NULL. */
const DML_TENSOR_DESC *onnx_desc(struct onnx_builder *b, struct onnx_desc *d, struct onnx_value *v);
/* The value with another shape of the same number of elements. */
const DML_TENSOR_DESC *onnx_desc_as(struct onnx_builder *b, struct onnx_desc *d, struct onnx_value *v, uint32_t rank,
                                    const int64_t *dims);
/* Broadcast to rank/dims by stride 0, aligned right. */
const DML_TENSOR_DESC *onnx_desc_broadcast(struct onnx_builder *b, struct onnx_desc *d, struct onnx_value *v,
                                           uint32_t rank, const int64_t *dims);
/* Explicit strides (elements): transposes. */
const DML_TENSOR_DESC *onnx_desc_strided(struct onnx_builder *b, struct onnx_desc *d, struct onnx_value *v,
                                         uint32_t rank, const int64_t *dims, const uint32_t *strides);
/* Creates the operator and its edges. inputs[i] NULL = absent slot; outputs get source = this node. If all outputs are
 * empty tensors, nothing is created. Sums of no elements are zero (emit_nothing.c); other non-empty outputs of empty
 * inputs fail: the converter must handle them. */
bool onnx_emit(struct onnx_builder *b, DML_OPERATOR_TYPE type, const void *desc, struct onnx_value *const *inputs,
               uint32_t input_count, struct onnx_value *const *outputs, uint32_t output_count);

/* ---- run-time lengths (lengths.c) ---- */
/* Fails: for the operator, v must be whole. Returns false. */
bool onnx_refuse_part(struct onnx_builder *b, const struct onnx_value *v);
/* INT32 {1} */
struct onnx_value *onnx_length(struct onnx_builder *b, uint32_t number);
/* Some of the node's inputs have partial lengths: determines the partial dimensions of its outputs. */
bool onnx_follow_lengths(struct onnx_builder *b, const struct onnx_converter *row, const struct onnx_node *n);
onnx_rows_fn onnx_rows_map, onnx_rows_product, onnx_rows_norm, onnx_rows_lookup, onnx_rows_first, onnx_rows_reshape,
    onnx_rows_permute, onnx_rows_along, onnx_rows_own;

/* compile.c, also used by check.c */
bool onnx_convert_node(struct onnx_builder *b, const struct onnx_node *n);
void onnx_builder_finish(struct onnx_builder *b);

#endif
