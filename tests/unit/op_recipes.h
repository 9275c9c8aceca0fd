/* schema/sample.h under the names that tests give it: a recipe is a sample that a test may change. */
#ifndef TESTS_UNIT_OP_RECIPES_H
#define TESTS_UNIT_OP_RECIPES_H

#include "schema/sample.h"

#define OP_RECIPE_TENSORS     SCHEMA_SAMPLE_TENSORS
#define OP_RECIPE_ARRAYS      SCHEMA_SAMPLE_ARRAYS
#define OP_RECIPE_ACTIVATIONS SCHEMA_SAMPLE_ACTIVATIONS

#define op_recipe_storage schema_sample_storage
#define op_recipe         schema_sample
#define op_recipe_with    schema_sample_with

#endif
