/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the schema: helpers of checks. A check returns true, or false after filling in the error, so that a rule
 * is one expression: a && b && c. */
#ifndef SCHEMA_CHECK_H
#define SCHEMA_CHECK_H

#include "base/base.h"
#include "schema/schema.h"

struct schema_check {
    const struct schema_op *op;
    const void *desc; /* the operator's C struct */
    DML_FEATURE_LEVEL level;
    uint32_t rank;                   /* of the first tensor; of the host's output inside a fused activation */
    bool infer;                      /* expectations determine sizes that are 0, and a DimensionCount of 0 */
    const struct schema_check *host; /* of a fused activation, else NULL */
    const char *host_field;
    struct schema_error *error; /* never NULL */
};

/* A tensor of the description under check; desc is NULL when it is absent. */
struct schema_tensor {
    const DML_BUFFER_TENSOR_DESC *desc;
    char name[44]; /* "InputTensor", "OutputTensors[3]" */
};

/* The support lists of operators.def, for rules that choose among several. */
#define SUPPORT(NAME, ROWS) extern const struct schema_support schema_support_##NAME[];
#include "schema/operators.def"

/* The entry of a support list that applies at the level, or NULL. */
const struct schema_support *schema_support_find(const struct schema_support *list, uint32_t level);

static inline bool schema_field_is_array(const struct schema_field *field)
{
    return field->type == SCHEMA_TENSOR_ARRAY || field->type == SCHEMA_UINT_ARRAY || field->type == SCHEMA_INT_ARRAY ||
           field->type == SCHEMA_FLOAT_ARRAY || field->type == SCHEMA_ACTIVATION_ARRAY;
}

/* The pointer or the 32-bit value of a field. */
const void *schema_field_pointer(const struct schema_field *field, const void *desc);
uint32_t schema_field_u32(const struct schema_field *field, const void *desc);

/* Sets the error to "<operator>: <text>"; always false. */
bool schema_fail(struct schema_check *check, enum schema_error_id id, const char *format, ...) BASE_PRINTF(3, 4);

/* Tensors: of a member of the C struct, of element i of a member that is an array, of element i of a field. */
struct schema_tensor schema_tensor_from(const DML_TENSOR_DESC *tensor, const char *name);
struct schema_tensor schema_tensor_element(const DML_TENSOR_DESC *tensors, uint32_t i, const char *name);
struct schema_tensor schema_tensor_of_field(const struct schema_field *field, const void *desc, uint32_t i);
#define SCHEMA_TENSOR_OF(DESC, FIELD) schema_tensor_from((DESC)->FIELD, #FIELD)

/* One tensor on its own: description, data type, rank, sizes, strides, bytes. */
bool schema_check_tensor(struct schema_check *check, const struct schema_field *field,
                         const struct schema_tensor *tensor);

/* FusedActivation, or one of ActivationDescs (index i). */
bool schema_check_activation(struct schema_check *check, const struct schema_field *field,
                             const DML_OPERATOR_DESC *activation, uint32_t i);

/* All attributes of check->op by their columns. */
bool schema_check_attributes(struct schema_check *check);

/* Expectations on a present tensor; the last argument names the source of the expected value. An absent tensor meets
 * all of them, and any tensor meets the expectation of 0, a value that is not inferred yet. */
bool schema_expect_size(struct schema_check *check, const struct schema_tensor *tensor, uint32_t axis, uint64_t want,
                        const char *what);
bool schema_expect_rank(struct schema_check *check, const struct schema_tensor *tensor, uint32_t rank,
                        const char *what);
bool schema_expect_sizes(struct schema_check *check, const struct schema_tensor *tensor, const uint64_t *want,
                         const char *what);
bool schema_expect_same_sizes(struct schema_check *check, const struct schema_tensor *tensor,
                              const struct schema_tensor *other);
/* The last `count` sizes equal `want`, the preceding ones are 1. */
bool schema_expect_trailing(struct schema_check *check, const struct schema_tensor *tensor, uint32_t count,
                            const uint64_t *want, const char *what);
/* Sizes before the last `count` are 1. */
bool schema_expect_leading_ones(struct schema_check *check, const struct schema_tensor *tensor, uint32_t count);
/* Every size is 1 or that of `other`, which has the same rank. */
bool schema_expect_broadcast(struct schema_check *check, const struct schema_tensor *tensor,
                             const struct schema_tensor *other);
/* All sizes are 1, or the one on `axis` is `count` and the others are 1. */
bool schema_expect_vector(struct schema_check *check, const struct schema_tensor *tensor, uint32_t axis, uint64_t count,
                          const char *what);
/* The rank of an output of which only the last sizes are determined. */
void schema_infer_rank(struct schema_check *check, const struct schema_tensor *tensor, uint32_t rank);
bool schema_expect_type(struct schema_check *check, const struct schema_tensor *tensor, DML_TENSOR_DATA_TYPE want,
                        const char *what);

/* Product of all sizes of a valid tensor. */
uint64_t schema_element_count(const DML_BUFFER_TENSOR_DESC *tensor);

#endif
