/* SPDX-License-Identifier: Apache-2.0 */
/* A small valid description of every operator, for unit tests, API tests and the fuzzer. */
#ifndef SCHEMA_SAMPLE_H
#define SCHEMA_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/schema.h"

enum {
    SCHEMA_SAMPLE_TENSORS = 24,
    SCHEMA_SAMPLE_ARRAYS = 8,
    SCHEMA_SAMPLE_ACTIVATIONS = 6,
};

/* Everything that a description points to; writable, including unused space, so that tests can invalidate it. */
struct schema_sample_storage {
    uint64_t desc[32]; /* the operator's C struct */
    DML_TENSOR_DESC tensors[SCHEMA_SAMPLE_TENSORS];
    DML_BUFFER_TENSOR_DESC buffers[SCHEMA_SAMPLE_TENSORS]; /* of the tensors, same index */
    UINT sizes[SCHEMA_SAMPLE_TENSORS][8];
    UINT strides[SCHEMA_SAMPLE_TENSORS][8]; /* packed, but not referenced by a tensor */
    uint32_t tensor_count;
    uint32_t arrays[SCHEMA_SAMPLE_ARRAYS][8]; /* UINT, INT or FLOAT */
    uint32_t array_count;
    DML_SCALE_BIAS scale_bias;
    DML_OPERATOR_DESC activations[SCHEMA_SAMPLE_ACTIVATIONS];
    uint64_t activation_descs[SCHEMA_SAMPLE_ACTIVATIONS][8];
};

/* Describes the operator in *storage, valid at the highest feature level and with every optional part that one
 * description can have. false for a type that is not an operator. */
bool schema_sample(DML_OPERATOR_TYPE type, struct schema_sample_storage *storage, DML_OPERATOR_DESC *out);

/* The same with some fields changed: "field=value field=value"; later ones override earlier ones. Values: sizes of a
 * tensor "2x3x4", "2x3:UINT8" with a data type, "2x3@1x2" with strides, "2x3!" OWNED_BY_DML, "2x3+2x4" in an array of
 * tensors; "-" for NULL; numbers, "1,2,3" in arrays (which sets the length). false for an unknown operator or field, or
 * a value that cannot be read. */
bool schema_sample_with(DML_OPERATOR_TYPE type, const char *changes, struct schema_sample_storage *storage,
                        DML_OPERATOR_DESC *out);

/* The same with another data type: tensor field number `field` and those of its type group have `type`, the others the
 * types of a recipe; attributes are changed if the type requires it. false if there is no such description. */
bool schema_sample_typed(const struct schema_op *op, uint32_t field, DML_TENSOR_DATA_TYPE type,
                         struct schema_sample_storage *storage, DML_OPERATOR_DESC *out);

#endif
