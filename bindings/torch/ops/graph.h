/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of which builders consist. A builder is a function of an op_<family>.c, named in rows of ops.def: it
 * appends the DirectML operators of one ATen operator to a graph and sets the node's results.
 *
 *     bool aten_build_square(struct aten_graph *g, const struct aten_node *n)
 *     {
 *         struct aten_value *x = aten_in_as(g, n, 0, n->outputs[0].type);
 *         return aten_result(g, n, 0, aten_apply2(g, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, x, x));
 *     }
 *
 * Values are views of buffers: sizes and strides, always starting at the buffer's first element. Views need no
 * operator, since DirectML reads tensors by strides. Functions that return a value return NULL if they fail or are
 * given NULL, so calls can be nested and only the last result is checked; the message of the first failure is kept. A
 * graph must not be used by several threads at a time.
 *
 * Rules for builders:
 *   - Arguments are in the order of the schema. A tensor argument may be a number (aten_in and aten_in_as accept both).
 *   - Result types, sizes and strides are known: n->outputs. Builders convert inputs to the type of the computation;
 *     aten_result converts the results. Chains of operators in 16-bit floats compute in aten_wide(type), as torch does:
 *     conversions are fused.
 *   - Numbers that may change from call to call are read by aten_in_as; aten_int, aten_real and similar functions make
 *     them part of the plan.
 *   - Operators with an empty result are omitted automatically. A builder must handle full results of empty inputs (the
 *     sum is 0); all other cases fail and fall back.
 */
#ifndef ANYDML_TORCH_GRAPH_H
#define ANYDML_TORCH_GRAPH_H

#include "base/arena.h"
#include "emit/graph.h"

#include "aten.h"

#include <anydml.h>

/* ---- types (types.c) ---- */

DML_TENSOR_DATA_TYPE aten_type_dml(int32_t type); /* UNKNOWN: not supported. BOOLEAN is UINT8 with 0 and 1 */
const char *aten_type_name(int32_t type);
bool aten_is_float(int32_t type);
bool aten_is_complex(int32_t type);
int32_t aten_part(int32_t type);            /* the type of the parts of complex numbers */
bool aten_is_signed(int32_t type);          /* true for floats, too */
int32_t aten_wide(int32_t type);            /* FLOAT32 for 16-bit floats, otherwise the type itself */
int32_t aten_promote(int32_t a, int32_t b); /* torch.promote_types; ATEN_ABSENT yields the other type */
/* Stores a number as an element of the type, aten_type_bytes long: integers wrap, or are converted to reals. */
void aten_store_int(int32_t type, int64_t value, void *out);
void aten_store_real(int32_t type, double value, void *out);
DML_SCALAR_UNION aten_scalar_union(int32_t type, double value);

/* ---- values ---- */

enum aten_source { ATEN_SOURCE_INPUT, ATEN_SOURCE_CONSTANT, ATEN_SOURCE_NODE, ATEN_SOURCE_EMPTY };

/* The kind of argument that is bound to a graph input when a plan runs. */
enum aten_binding_kind { ATEN_BIND_TENSOR, ATEN_BIND_NUMBER, ATEN_BIND_GENERATOR };
struct aten_binding {
    enum aten_binding_kind kind;
    uint32_t argument, element; /* args[argument], .tensors[element] or .numbers[element] */
    int32_t type;               /* of a number */
    bool fixed;                 /* OWNED_BY_DML: packed until it changes */
};

struct aten_buffer {
    int32_t type;
    enum aten_source source;
    int64_t extent;              /* number of elements from the first to the last, gaps included */
    const void *data;            /* of a constant; in the arena, or valid as long as the graph */
    struct aten_binding binding; /* of an input */
    bool materialised;           /* index is valid: inputs and constants get one when the first operator uses them */
    uint32_t index, output;      /* index of the graph input, or of the node and its output */
    bool taken;                  /* the buffer is an output of the graph */
};

struct aten_value {
    struct aten_buffer *buffer;
    int32_t type;
    uint32_t rank;
    int64_t sizes[ATEN_RANK_MAX], strides[ATEN_RANK_MAX];
};

/* ---- graphs and nodes ---- */

/* Selects torch's error message for an index that is out of range. */
enum aten_bound_rule {
    ATEN_BOUND_DIMENSION,
    ATEN_BOUND_COPY,
    ATEN_BOUND_SELF,
    ATEN_BOUND_ELEMENTS,
    ATEN_BOUND_CLASS,
    ATEN_BOUND_PLACE,
    ATEN_BOUND_CHANCE, /* probabilities must be finite and not negative */
    ATEN_BOUND_SHARE,  /* numbers must be from 0 to 1; `dimension` 1: the argument is a target */
    ATEN_BOUND_ORDER   /* numbers must satisfy args[argument] <= args[element] */
};

/* Indices that must be from 0, or from -size, to size - 1. */
struct aten_bound {
    enum aten_bound_rule rule;
    uint32_t argument, element; /* args[argument].tensors[element] */
    uint32_t dimension;         /* for the message */
    bool from_end;              /* negative indices count from the end */
    bool ignores;               /* `ignored` may be out of range */
    int64_t size, ignored;
};

/* An argument of a node: like struct aten_arg, but tensors are values. */
struct aten_operand {
    enum aten_kind kind;
    uint32_t count, element;    /* element: index within the list of numbers that contains this number */
    struct aten_value **values; /* ATEN_TENSOR, ATEN_TENSORS: NULL for undefined elements */
    union {
        int64_t integer;
        double real;
        const int64_t *integers;
        const double *reals;
        const struct aten_arg *numbers;
        const char *string;
    };
};

struct aten_node {
    const struct aten_op *op;
    int64_t parameter; /* of the row, for builders that serve several operators */
    const struct aten_operand *args;
    uint32_t arg_count;
    const struct aten_tensor *outputs; /* requested types, sizes, strides; ATEN_ABSENT: not requested */
    uint32_t output_count;
    struct aten_value **results; /* set by aten_result */
};

struct aten_graph {
    struct base_arena arena;
    struct aten_device *device;
    struct emit_graph emit;
    char message[ATEN_MESSAGE_BYTES]; /* of the first failure */
    bool failed;
    bool live;        /* numbers become inputs of the plan */
    bool baked;       /* a number became part of the plan */
    uint64_t numbers; /* bit i: number i was read as a value */
    uint64_t draws;   /* number of random 32-bit numbers */
    const struct aten_node *node;
    struct aten_binding *inputs; /* emit.input_count */
    uint32_t input_capacity;
    struct aten_value **values; /* of aten_graph_*: value number i is values[i - 1] */
    uint32_t value_count, value_capacity;
    uint32_t argument_count;
    struct aten_bound *bounds; /* of the arguments of a single node */
    uint32_t bound_count;
};

/* Flags of rows. */
enum {
    ATEN_IN_PLACE = 1,      /* the overload in place, name_.overload, exists */
    ATEN_NO_FUNCTIONAL = 2, /* the functional name.overload does not exist (_foreach_add_, _fused_adam_) */
    ATEN_RANDOM = 4,
    ATEN_COMPLEX = 8, /* the builder supports complex numbers; others may have a row in complex.def */
};

typedef bool aten_builder(struct aten_graph *g, const struct aten_node *n);

/* One row of ops.def: the public description and the builder. */
struct aten_row {
    struct aten_op op; /* must be the first member */
    aten_builder *build;
    int64_t parameter;
    bool complex; /* has the flag ATEN_COMPLEX */
};

/* Fails the graph with the message "aten::add.Tensor: <text>". Returns false. */
bool aten_fail(struct aten_graph *g, const char *format, ...) BASE_PRINTF(2, 3);
void *aten_alloc(struct aten_graph *g, size_t bytes); /* in the arena, zeroed; NULL: failed */

/* ---- arguments ---- */

bool aten_given(const struct aten_node *n, uint32_t i); /* the argument exists and is not NONE */
bool aten_is_tensor(const struct aten_node *n, uint32_t i);
/* The tensor, or the number as a value of rank 0, INT64, FLOAT64 or BOOLEAN. NULL (failed): absent, or a list. */
struct aten_value *aten_in(struct aten_graph *g, const struct aten_node *n, uint32_t i);
/* The same, converted to `type`; numbers are stored as `type` directly. */
struct aten_value *aten_in_as(struct aten_graph *g, const struct aten_node *n, uint32_t i, int32_t type);
/* Returns NULL without failing if the argument is absent. */
struct aten_value *aten_in_optional(struct aten_graph *g, const struct aten_node *n, uint32_t i);
/* Numbers that become part of the plan. Absent: `otherwise`. */
int64_t aten_int(struct aten_graph *g, const struct aten_node *n, uint32_t i, int64_t otherwise);
double aten_real(struct aten_graph *g, const struct aten_node *n, uint32_t i, double otherwise);
/* Reads a number whose value allows for a shorter computation; returns false if it may change from call to call. */
bool aten_known_number(struct aten_graph *g, const struct aten_node *n, uint32_t i, double *out);
/* Whether the number is known to have this value. */
static inline bool aten_is_number(struct aten_graph *g, const struct aten_node *n, uint32_t i, double value)
{
    double number;
    return aten_known_number(g, n, i, &number) && number == value;
}
/* The integers of a list, *out_count of them; NULL and 0: absent. A single integer is a list of one. */
const int64_t *aten_ints(struct aten_graph *g, const struct aten_node *n, uint32_t i, uint32_t *out_count);
/* Converts a dimension, which is counted from the end if negative. Returns false (failed) if it exceeds the rank (1 for
 * a scalar). */
bool aten_axis(struct aten_graph *g, int64_t dim, uint32_t rank, uint32_t *out);
/* The type in which torch.result_type of these arguments computes (tensors precede scalars, which precede numbers). */
int32_t aten_result_type(const struct aten_node *n, const uint32_t *arguments, uint32_t count);

/* Records that these indices are checked before each call, if the host can read them (bounds.c). */
void aten_bound(struct aten_graph *g, const struct aten_node *n, struct aten_bound bound);

/* ---- results ---- */

/* Sets the operator's result i: converts it to the requested type and layout; its sizes are the requested ones or are
 * broadcast to them. Does nothing if the result is not requested. */
bool aten_result(struct aten_graph *g, const struct aten_node *n, uint32_t i, struct aten_value *v);
bool aten_wanted(const struct aten_node *n, uint32_t i);

/* ---- making values ---- */

int64_t aten_elements(const struct aten_value *v);
/* The value covers its buffer from the first element to the last, each at most once. */
bool aten_covers(const struct aten_value *v);
/* A new buffer, to be written by aten_emit. If its sizes equal those of the node's first result, it has the strides of
 * that result, so that element-wise operators read and write memory in order; otherwise it is packed. */
struct aten_value *aten_new(struct aten_graph *g, int32_t type, uint32_t rank, const int64_t *sizes);
struct aten_value *aten_new_packed(struct aten_graph *g, int32_t type, uint32_t rank, const int64_t *sizes);
/* The same with these strides. */
struct aten_value *aten_new_strided(struct aten_graph *g, int32_t type, uint32_t rank, const int64_t *sizes,
                                    const int64_t *strides);
/* Constants of rank 0. */
struct aten_value *aten_scalar(struct aten_graph *g, int32_t type, double value);
struct aten_value *aten_scalar_int(struct aten_graph *g, int32_t type, int64_t value);
/* A constant tensor; `data` is packed, and copied. */
struct aten_value *aten_constant(struct aten_graph *g, int32_t type, uint32_t rank, const int64_t *sizes,
                                 const void *data);
struct aten_value *aten_filled(struct aten_graph *g, int32_t type, uint32_t rank, const int64_t *sizes, double value);
/* The state of the random generator of argument i (6 UINT32, the format of DML_OPERATOR_RANDOM_GENERATOR). The operator
 * draws `draws` numbers from it. */
struct aten_value *aten_generator(struct aten_graph *g, const struct aten_node *n, uint32_t i, uint64_t draws);

/* ---- views: without operators, unless noted ---- */

struct aten_value *aten_view(struct aten_graph *g, const struct aten_value *x, uint32_t rank, const int64_t *sizes,
                             const int64_t *strides);
struct aten_value *aten_permute(struct aten_graph *g, const struct aten_value *x, const uint32_t *order);
struct aten_value *aten_transpose(struct aten_graph *g, const struct aten_value *x, uint32_t a, uint32_t b);
struct aten_value *aten_expand(struct aten_graph *g, const struct aten_value *x, uint32_t rank, const int64_t *sizes);
struct aten_value *aten_unsqueeze(struct aten_graph *g, const struct aten_value *x, uint32_t axis);
struct aten_value *aten_squeeze(struct aten_graph *g, const struct aten_value *x, uint32_t axis);
/* The elements in row-major order with other sizes; copies if strides cannot describe them. */
struct aten_value *aten_reshape(struct aten_graph *g, struct aten_value *x, uint32_t rank, const int64_t *sizes);
/* Copies unless x is packed already. */
struct aten_value *aten_packed(struct aten_graph *g, struct aten_value *x);
/* x[..., start : start + step * count : step, ...], also for negative steps: one operator (SLICE1). */
struct aten_value *aten_slice(struct aten_graph *g, struct aten_value *x, uint32_t axis, int64_t start, int64_t count,
                              int64_t step);
/* Concatenation along the axis: one operator (JOIN). */
struct aten_value *aten_join(struct aten_graph *g, struct aten_value *const *x, uint32_t count, uint32_t axis);

/* ---- operators (apply.c): results have the type of x unless noted ---- */

struct aten_value *aten_copy_of(struct aten_graph *g, struct aten_value *x); /* IDENTITY into a new buffer */
/* Floats are truncated toward zero, integers wrap, BOOLEAN is x != 0. */
struct aten_value *aten_convert(struct aten_graph *g, struct aten_value *x, int32_t type);
/* Operators of one tensor whose description ends after it or with a ScaleBias, which is not used. */
struct aten_value *aten_apply(struct aten_graph *g, DML_OPERATOR_TYPE type, struct aten_value *x);
/* ELEMENT_WISE_IS_NAN, IS_INFINITY (mode): BOOLEAN. */
struct aten_value *aten_test(struct aten_graph *g, DML_OPERATOR_TYPE type, struct aten_value *x, int mode);
/* Operators of two tensors of one type, which are broadcast; comparisons and tests return BOOLEAN. */
struct aten_value *aten_apply2(struct aten_graph *g, DML_OPERATOR_TYPE type, struct aten_value *x,
                               struct aten_value *y);
struct aten_value *aten_add(struct aten_graph *g, struct aten_value *x, struct aten_value *y);
struct aten_value *aten_subtract(struct aten_graph *g, struct aten_value *x, struct aten_value *y);
struct aten_value *aten_multiply(struct aten_graph *g, struct aten_value *x, struct aten_value *y);
struct aten_value *aten_divide(struct aten_graph *g, struct aten_value *x, struct aten_value *y);
/* Rounds down, as Python does (op_binary.c). */
struct aten_value *aten_floor_divided(struct aten_graph *g, struct aten_value *x, struct aten_value *y);
struct aten_value *aten_scaled(struct aten_graph *g, struct aten_value *x, double factor, double offset);
struct aten_value *aten_not(struct aten_graph *g, struct aten_value *x); /* of BOOLEAN */
struct aten_value *aten_round(struct aten_graph *g, struct aten_value *x, DML_ROUNDING_MODE mode);
/* condition (BOOLEAN) ? x : y, broadcast. */
struct aten_value *aten_select(struct aten_graph *g, struct aten_value *condition, struct aten_value *x,
                               struct aten_value *y);
/* DML_OPERATOR_REDUCE over a set of axes, which are kept with size 1. `type`: of the result (indices of ARGMAX:
 * INT64). */
struct aten_value *aten_reduced(struct aten_graph *g, DML_REDUCE_FUNCTION function, struct aten_value *x, uint32_t axes,
                                int32_t type);
/* alpha * x * y + beta * z: matrices in the last two of 2 to 4 dimensions, other dimensions are broadcast; z may be
 * NULL. */
struct aten_value *aten_matmul(struct aten_graph *g, struct aten_value *x, struct aten_value *y, struct aten_value *z,
                               double alpha, double beta);
/* GATHER_ELEMENTS: y[i] = x[i with i[axis] = indices[i]]; indices INT64 or INT32, of x's rank. */
struct aten_value *aten_pick(struct aten_graph *g, struct aten_value *x, struct aten_value *indices, uint32_t axis);

/* ---- emitting ---- */

/* A tensor description; the caller keeps it on the stack until aten_emit. */
struct aten_desc {
    DML_TENSOR_DESC desc;
    DML_BUFFER_TENSOR_DESC buffer;
    UINT sizes[ATEN_RANK_MAX], strides[ATEN_RANK_MAX];
};
/* Describes the value, with rank 1 for scalars. NULL if the value is NULL. */
const DML_TENSOR_DESC *aten_describe(struct aten_graph *g, struct aten_desc *d, const struct aten_value *v);
/* Prepends dimensions of size 1 up to this rank, for operators that require 4. */
const DML_TENSOR_DESC *aten_describe_rank(struct aten_graph *g, struct aten_desc *d, const struct aten_value *v,
                                          uint32_t rank);
/* Broadcasts the value, aligned right. */
const DML_TENSOR_DESC *aten_describe_broadcast(struct aten_graph *g, struct aten_desc *d, const struct aten_value *v,
                                               uint32_t rank, const int64_t *sizes);
/* Creates the operator and its edges from inputs (NULL: absent slot) and to outputs (NULL: absent), which are new
 * values (aten_new). If all outputs are empty, nothing is created. */
bool aten_emit(struct aten_graph *g, DML_OPERATOR_TYPE type, const void *desc, struct aten_value *const *inputs,
               uint32_t input_count, struct aten_value *const *outputs, uint32_t output_count);

/* ---- from rows to compiled graphs (compile.c) ---- */

const struct aten_row *aten_row_of(const struct aten_op *op);
void aten_graph_init(struct aten_graph *g, struct aten_device *device);
void aten_graph_finish(struct aten_graph *g);
struct aten_value *aten_input_value(struct aten_graph *g, const struct aten_tensor *layout, uint32_t argument,
                                    uint32_t element);
bool aten_build(struct aten_graph *g, const struct aten_node *n);
/* Compiles the graph. outputs[i]: the value of the graph's result i, NULL: none; *out_op NULL: there is nothing to
 * compute. out_slots[k]: the index in `outputs` of the compiled operator's output k. */
bool aten_compile_graph(struct aten_graph *g, struct aten_value **outputs, uint32_t output_count, uint32_t *out_slots,
                        uint32_t *out_slot_count, IDMLCompiledOperator **out_op);

BASE_TABLE_BEGIN
#define ATEN(name, overload, out_overload, flags, writes, builder, parameter) aten_builder aten_build_##builder;
#include "ops.def"
#undef ATEN
#define COMPLEX(name, overload, builder, parameter) aten_builder aten_build_##builder;
#include "complex.def"
#undef COMPLEX
BASE_TABLE_END

#endif
