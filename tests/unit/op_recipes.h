/* A small valid description of every operator, for whatever needs one of each: unit tests, API tests, the fuzzer. */
#ifndef TESTS_UNIT_OP_RECIPES_H
#define TESTS_UNIT_OP_RECIPES_H

#include <stdbool.h>
#include <stdint.h>

#include <DirectML.h>

enum {
    OP_RECIPE_TENSORS = 24,
    OP_RECIPE_ARRAYS = 8,
    OP_RECIPE_ACTIVATIONS = 6,
};

/* Everything that a description points to; writable, and unused space may be used, so that tests can make it wrong. */
struct op_recipe_storage {
    uint64_t desc[32]; /* the operator's C struct */
    DML_TENSOR_DESC tensors[OP_RECIPE_TENSORS];
    DML_BUFFER_TENSOR_DESC buffers[OP_RECIPE_TENSORS]; /* of the tensors, same index */
    UINT sizes[OP_RECIPE_TENSORS][8];
    UINT strides[OP_RECIPE_TENSORS][8]; /* packed, but no tensor points here */
    uint32_t tensor_count;
    uint32_t arrays[OP_RECIPE_ARRAYS][8]; /* UINT, INT or FLOAT */
    uint32_t array_count;
    DML_SCALE_BIAS scale_bias;
    DML_OPERATOR_DESC activations[OP_RECIPE_ACTIVATIONS];
    uint64_t activation_descs[OP_RECIPE_ACTIVATIONS][8];
};

/* Describes the operator in *storage, valid at the highest feature level and with every optional part that has a place
 * in one description. false for a type that is no operator. */
bool op_recipe(DML_OPERATOR_TYPE type, struct op_recipe_storage *storage, DML_OPERATOR_DESC *out);

/* The same with some fields changed: "field=value field=value", later ones win. Values: sizes of a tensor "2x3x4",
 * "2x3:UINT8" with a data type, "2x3@1x2" with strides, "2x3!" OWNED_BY_DML, "2x3+2x4" in an array of tensors; "-" for
 * NULL; numbers, "1,2,3" in arrays (which sets the length). false for an unknown operator or field, or a value that
 * cannot be read. */
bool op_recipe_with(DML_OPERATOR_TYPE type, const char *changes, struct op_recipe_storage *storage,
                    DML_OPERATOR_DESC *out);

#endif
