/* SPDX-License-Identifier: Apache-2.0 */
/* Every operator by a walk over the table: its recipe is valid, and each single thing wrong with any of its tensors is
 * refused with the right error, in a message that names operator, field and value. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "schema/sample.h"
#include "schema/schema.h"
#include "test.h"

static struct schema_sample_storage storage;
static DML_OPERATOR_DESC desc;

/* Index of the first tensor of a field in the storage, or -1 when it is absent. */
static int tensor_index(const struct schema_field *field)
{
    const DML_TENSOR_DESC *tensor;
    memcpy(&tensor, (const char *)desc.Desc + field->offset, sizeof(tensor));
    return tensor ? (int)(tensor - storage.tensors) : -1;
}

static DML_BUFFER_TENSOR_DESC *fresh_tensor(const struct schema_op *op, const struct schema_field *field)
{
    schema_sample(op->type, &storage, &desc);
    const int i = tensor_index(field);
    return i < 0 ? NULL : &storage.buffers[i];
}

static void refused(const struct schema_op *op, const struct schema_field *field, enum schema_error_id id,
                    const char *value)
{
    struct schema_error error;
    const HRESULT result = schema_validate(&desc, DML_FEATURE_LEVEL_6_4, &error);
    TEST_FOR(result == E_INVALIDARG, "%s: %s: %s %s", op->name, field->name, schema_error_name(id), value);
    TEST_FOR(error.id == id, "wanted %s, got %s: %s", schema_error_name(id), schema_error_name(error.id), error.text);
    TEST_FOR(strstr(error.text, op->name) == error.text && strstr(error.text, field->name) && strstr(error.text, value),
             "%s, %s in \"%s\"", field->name, value, error.text);
    TEST_FOR(schema_validate(&desc, DML_FEATURE_LEVEL_6_4, NULL) == E_INVALIDARG, "%s", op->name);
}

static void test_pointer(const struct schema_op *op, const struct schema_field *field)
{
    const void *null = NULL;
    schema_sample(op->type, &storage, &desc);
    memcpy((char *)storage.desc + field->offset, &null, sizeof(null));
    if (field->required)
        refused(op, field, SCHEMA_ERROR_TENSOR_REQUIRED, "NULL");
    if (!fresh_tensor(op, field))
        return;
    storage.tensors[tensor_index(field)].Type = DML_TENSOR_TYPE_INVALID;
    refused(op, field, SCHEMA_ERROR_TENSOR_DESC, "Type = 0");
    fresh_tensor(op, field);
    storage.tensors[tensor_index(field)].Desc = NULL;
    refused(op, field, SCHEMA_ERROR_TENSOR_DESC, "NULL");
}

static void test_data_type(const struct schema_op *op, const struct schema_field *field)
{
    const uint32_t at = (uint32_t)(field - op->fields);
    const uint32_t types =
        schema_field_types(op, at, DML_FEATURE_LEVEL_6_4) | schema_field_extensions(op, at, DML_FEATURE_LEVEL_6_4);
    for (uint32_t type = 0; type < 16; type++) {
        DML_BUFFER_TENSOR_DESC *tensor = fresh_tensor(op, field);
        if (types >> type & 1)
            continue;
        tensor->DataType = (DML_TENSOR_DATA_TYPE)type;
        tensor->TotalTensorSizeInBytes = 1 << 20;
        refused(op, field, SCHEMA_ERROR_DATA_TYPE, schema_data_type_name((DML_TENSOR_DATA_TYPE)type));
    }
    fresh_tensor(op, field)->DataType = (DML_TENSOR_DATA_TYPE)UINT32_MAX;
    refused(op, field, SCHEMA_ERROR_DATA_TYPE, "4294967295");
}

static void test_rank(const struct schema_op *op, const struct schema_field *field)
{
    fresh_tensor(op, field)->DimensionCount = 0;
    refused(op, field, SCHEMA_ERROR_RANK, "DimensionCount = 0");
    fresh_tensor(op, field)->DimensionCount = 9;
    refused(op, field, SCHEMA_ERROR_RANK, "DimensionCount = 9");
    fresh_tensor(op, field)->DimensionCount = UINT32_MAX;
    refused(op, field, SCHEMA_ERROR_RANK, "DimensionCount = 4294967295");
}

static void test_sizes(const struct schema_op *op, const struct schema_field *field)
{
    fresh_tensor(op, field)->Sizes = NULL;
    refused(op, field, SCHEMA_ERROR_SIZE_ZERO, "NULL");
    DML_BUFFER_TENSOR_DESC *tensor = fresh_tensor(op, field);
    storage.sizes[tensor_index(field)][tensor->DimensionCount - 1] = 0;
    refused(op, field, SCHEMA_ERROR_SIZE_ZERO, "= 0");

    /* Products and sums that wrap around 2^64 to something small must not pass. */
    tensor = fresh_tensor(op, field);
    const uint32_t i = (uint32_t)tensor_index(field);
    if (!TEST(i < sizeof(storage.sizes) / sizeof(storage.sizes[0])))
        return;
    memset(storage.sizes[i], 0xff, sizeof(storage.sizes[i]));
    if (tensor->DimensionCount == 1) {
        storage.strides[i][0] = UINT32_MAX;
        tensor->Strides = storage.strides[i];
    }
    refused(op, field, SCHEMA_ERROR_ELEMENT_COUNT, "4294967295");
    tensor = fresh_tensor(op, field);
    storage.sizes[i][0] = 3;
    memset(storage.strides[i], 0xff, sizeof(storage.strides[i]));
    tensor->Strides = storage.strides[i];
    refused(op, field, SCHEMA_ERROR_ELEMENT_COUNT, "Sizes[0] = 3");
}

static void test_bytes(const struct schema_op *op, const struct schema_field *field)
{
    char value[64];
    DML_BUFFER_TENSOR_DESC *tensor = fresh_tensor(op, field);
    tensor->TotalTensorSizeInBytes--;
    snprintf(value, sizeof(value), "= %" PRIu64 ",", (uint64_t)tensor->TotalTensorSizeInBytes);
    refused(op, field, SCHEMA_ERROR_TENSOR_BYTES, value);
    fresh_tensor(op, field)->TotalTensorSizeInBytes = UINT64_MAX;
    refused(op, field, SCHEMA_ERROR_TENSOR_BYTES, "18446744073709551615");
    fresh_tensor(op, field)->GuaranteedBaseOffsetAlignment = 48;
    refused(op, field, SCHEMA_ERROR_ALIGNMENT, "48");
}

static void test_flags(const struct schema_op *op, const struct schema_field *field)
{
    fresh_tensor(op, field)->Flags = (DML_TENSOR_FLAGS)2;
    refused(op, field, SCHEMA_ERROR_TENSOR_FLAGS, "0x2");
    fresh_tensor(op, field)->Flags = DML_TENSOR_FLAG_OWNED_BY_DML;
    const bool recurrent = op->type >= DML_OPERATOR_RNN && op->type <= DML_OPERATOR_GRU;
    if (field->kind == SCHEMA_OUTPUT || recurrent)
        refused(op, field, SCHEMA_ERROR_TENSOR_FLAGS, "OWNED_BY_DML (1)");
    else
        TEST_FOR(schema_validate(&desc, DML_FEATURE_LEVEL_6_4, NULL) == S_OK, "%s: %s", op->name, field->name);
}

/* Stride 0 repeats an input; an output's elements would collide. */
static void test_broadcast(const struct schema_op *op, const struct schema_field *field)
{
    DML_BUFFER_TENSOR_DESC *tensor = fresh_tensor(op, field);
    const uint32_t i = (uint32_t)tensor_index(field);
    bool repeats = false;
    for (uint32_t k = 0; k < tensor->DimensionCount; k++)
        repeats |= storage.sizes[i][k] > 1;
    tensor->Strides = storage.strides[i];
    TEST_FOR(schema_validate(&desc, DML_FEATURE_LEVEL_6_4, NULL) == S_OK, "%s: %s: packed", op->name, field->name);
    memset(storage.strides[i], 0, sizeof(storage.strides[i]));
    if (field->kind == SCHEMA_OUTPUT && repeats)
        refused(op, field, SCHEMA_ERROR_STRIDE_OUTPUT, "= 0 with");
    else
        TEST_FOR(schema_validate(&desc, DML_FEATURE_LEVEL_6_4, NULL) == S_OK, "%s: %s: stride 0", op->name,
                 field->name);
}

/* Any size may stand here, because it says what the operator makes rather than following from its inputs. */
static bool is_free_size(const struct schema_op *op, const struct schema_field *field)
{
    switch (op->type) {
    case DML_OPERATOR_DIAGONAL_MATRIX:
    case DML_OPERATOR_FILL_VALUE_CONSTANT:
    case DML_OPERATOR_FILL_VALUE_SEQUENCE:
    case DML_OPERATOR_RESAMPLE:
    case DML_OPERATOR_RESAMPLE1:
    case DML_OPERATOR_RESAMPLE2:
    case DML_OPERATOR_RESAMPLE3:
    case DML_OPERATOR_RESAMPLE_GRAD:
    case DML_OPERATOR_RESAMPLE_GRAD1:
    case DML_OPERATOR_MAX_UNPOOLING:
    case DML_OPERATOR_SLICE_GRAD: /* as long as the window is inside */
        return true;
    case DML_OPERATOR_RANDOM_GENERATOR:
        return !strcmp(field->name, "OutputTensor");
    default:
        return false;
    }
}

/* One more in the first dimension: a batch, an element, the first size of a shape that must be equal. */
static void test_output_size(const struct schema_op *op, const struct schema_field *field)
{
    char value[32];
    struct schema_error error;
    DML_BUFFER_TENSOR_DESC *tensor = fresh_tensor(op, field);
    const uint32_t size = ++storage.sizes[tensor_index(field)][0];
    tensor->TotalTensorSizeInBytes = 1 << 20;
    snprintf(value, sizeof(value), "%" PRIu32, size);
    const HRESULT result = schema_validate(&desc, DML_FEATURE_LEVEL_6_4, &error);
    if (is_free_size(op, field)) {
        TEST_FOR(result == S_OK, "%s: %s", op->name, error.text);
        return;
    }
    TEST_FOR(result == E_INVALIDARG, "%s: %s", op->name, field->name);
    TEST_FOR(error.id == SCHEMA_ERROR_SIZE_MISMATCH, "%s: %s", schema_error_name(error.id), error.text);
    TEST_FOR(strstr(error.text, op->name) == error.text && strstr(error.text, value), "%s in \"%s\"", value,
             error.text);
}

static void test_levels(const struct schema_op *op)
{
    uint32_t count;
    struct schema_error error;
    const uint32_t *levels = schema_feature_levels(&count);
    schema_sample(op->type, &storage, &desc);
    for (uint32_t i = 0; i < count; i++) {
        if (levels[i] >= (uint32_t)op->level)
            continue;
        TEST_FOR(schema_validate(&desc, (DML_FEATURE_LEVEL)levels[i], &error) == E_INVALIDARG, "%s", op->name);
        TEST_FOR(error.id == SCHEMA_ERROR_FEATURE_LEVEL && strstr(error.text, op->name), "%s", error.text);
    }
    TEST_FOR(schema_validate(&desc, (DML_FEATURE_LEVEL)0x0fff, &error) == E_INVALIDARG, "%s", op->name);
    desc.Desc = NULL;
    TEST_FOR(schema_validate(&desc, DML_FEATURE_LEVEL_6_4, &error) == E_INVALIDARG &&
                 error.id == SCHEMA_ERROR_DESC_NULL && strstr(error.text, op->name),
             "%s", error.text);
}

static void test_tensor_field(const struct schema_op *op, const struct schema_field *field)
{
    test_pointer(op, field);
    if (!fresh_tensor(op, field)) {
        TEST_FOR(!field->required, "%s: %s is not in the recipe", op->name, field->name);
        return;
    }
    test_data_type(op, field);
    test_rank(op, field);
    test_sizes(op, field);
    test_bytes(op, field);
    test_flags(op, field);
    test_broadcast(op, field);
    if (field->kind == SCHEMA_OUTPUT)
        test_output_size(op, field);
}

int main(void)
{
    struct schema_error error;
    for (uint32_t i = 0; i < schema_op_count(); i++) {
        const struct schema_op *op = schema_op_at(i);
        if (!TEST_FOR(schema_sample(op->type, &storage, &desc), "%s", op->name))
            continue;
        TEST_FOR(schema_validate(&desc, DML_FEATURE_LEVEL_6_4, &error) == S_OK, "%s", error.text);
        TEST_FOR(error.id == SCHEMA_ERROR_NONE && !error.text[0], "%s", op->name);
        for (uint32_t k = 0; k < op->field_count; k++)
            if (op->fields[k].kind != SCHEMA_ATTRIBUTE)
                test_tensor_field(op, &op->fields[k]);
        test_levels(op);
    }
    TEST(schema_validate(NULL, DML_FEATURE_LEVEL_6_4, &error) == E_INVALIDARG && error.id == SCHEMA_ERROR_DESC_NULL);
    desc = (DML_OPERATOR_DESC){ DML_OPERATOR_INVALID, storage.desc };
    TEST(schema_validate(&desc, DML_FEATURE_LEVEL_6_4, &error) == E_INVALIDARG);
    TEST(error.id == SCHEMA_ERROR_OPERATOR_UNKNOWN && strstr(error.text, "Type = 0"));
    desc.Type = (DML_OPERATOR_TYPE)200; /* between DirectML's and ours */
    TEST(schema_validate(&desc, DML_FEATURE_LEVEL_6_4, &error) == E_INVALIDARG && strstr(error.text, "200"));
    return test_result();
}
