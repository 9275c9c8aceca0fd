/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups in the operator table: feature levels, data types and ranks of tensors, in-place permissions, names. */
#include <string.h>

#include "schema/schema.h"
#include "test.h"

static uint32_t bit(DML_TENSOR_DATA_TYPE type)
{
    return UINT32_C(1) << type;
}

static void test_levels(void)
{
    static const uint32_t known[] = { 0x1000, 0x2000, 0x2100, 0x3000, 0x3100, 0x4000, 0x4100, 0x5000,
                                      0x5100, 0x5200, 0x6000, 0x6100, 0x6200, 0x6300, 0x6400 };
    static const uint32_t operators[] = { 78, 96, 120, 140, 146, 149, 152, 156, 163, 163, 163, 164, 170, 174, 177 };
    uint32_t count, seen = 0;
    const uint32_t *levels = schema_feature_levels(&count);
    TEST(count == 15 && !memcmp(levels, known, sizeof(known)));
    for (uint32_t level = 0; level < 0x8000; level++)
        seen += schema_feature_level_known(level);
    TEST(seen == 15);
    for (uint32_t i = 0; i < 15; i++) {
        uint32_t total = 0;
        TEST(schema_feature_level_known(known[i]));
        for (uint32_t k = 0; k < schema_op_count(); k++)
            total += (uint32_t)schema_op_at(k)->level <= known[i];
        TEST_FOR(total == operators[i], "level %x: %u operators", known[i], total);
    }
}

/* Rows of the documented support tables: operator, tensor, level, ranks, data types in the order of the enumeration. */
static const struct {
    DML_OPERATOR_TYPE op;
    const char *field;
    DML_FEATURE_LEVEL level;
    uint32_t low, high;
    const char *types;
} supports[] = {
    { DML_OPERATOR_ELEMENT_WISE_ADD, "ATensor", DML_FEATURE_LEVEL_1_0, 4, 5, "FLOAT32 FLOAT16 " },
    { DML_OPERATOR_ELEMENT_WISE_ADD, "BTensor", DML_FEATURE_LEVEL_2_1, 4, 5, "FLOAT32 FLOAT16 UINT32 INT32 " },
    { DML_OPERATOR_ELEMENT_WISE_ADD, "OutputTensor", DML_FEATURE_LEVEL_5_0, 1, 8,
      "FLOAT32 FLOAT16 UINT32 INT32 UINT64 INT64 " },
    { DML_OPERATOR_ELEMENT_WISE_ADD, "ATensor", DML_FEATURE_LEVEL_6_4, 1, 8,
      "FLOAT32 FLOAT16 UINT32 UINT16 UINT8 INT32 INT16 INT8 UINT64 INT64 " },
    { DML_OPERATOR_ELEMENT_WISE_IDENTITY, "InputTensor", DML_FEATURE_LEVEL_4_1, 1, 8,
      "FLOAT32 FLOAT16 UINT32 UINT16 UINT8 INT32 INT16 INT8 FLOAT64 UINT64 INT64 " },
    { DML_OPERATOR_ELEMENT_WISE_LOGICAL_EQUALS, "OutputTensor", DML_FEATURE_LEVEL_1_0, 4, 4, "UINT32 " },
    { DML_OPERATOR_ELEMENT_WISE_LOGICAL_EQUALS, "OutputTensor", DML_FEATURE_LEVEL_6_4, 1, 8, "UINT32 UINT8 " },
    { DML_OPERATOR_ELEMENT_WISE_QUANTIZE_LINEAR, "ScaleTensor", DML_FEATURE_LEVEL_5_2, 1, 8, "FLOAT32 " },
    { DML_OPERATOR_ELEMENT_WISE_QUANTIZE_LINEAR, "ScaleTensor", DML_FEATURE_LEVEL_6_0, 1, 8, "FLOAT32 FLOAT16 " },
    { DML_OPERATOR_GEMM, "CTensor", DML_FEATURE_LEVEL_3_1, 4, 4, "FLOAT32 FLOAT16 " },
    { DML_OPERATOR_GEMM, "CTensor", DML_FEATURE_LEVEL_4_0, 2, 4, "FLOAT32 FLOAT16 " },
    { DML_OPERATOR_CONVOLUTION, "FilterTensor", DML_FEATURE_LEVEL_6_4, 3, 5, "FLOAT32 FLOAT16 " },
    { DML_OPERATOR_CAST, "OutputTensor", DML_FEATURE_LEVEL_1_0, 4, 4, "FLOAT32 FLOAT16 UINT16 UINT8 INT16 INT8 " },
    { DML_OPERATOR_JOIN, "InputTensors", DML_FEATURE_LEVEL_3_0, 4, 5,
      "FLOAT32 FLOAT16 UINT32 UINT16 UINT8 INT32 INT16 INT8 " },
    { DML_OPERATOR_GATHER, "IndicesTensor", DML_FEATURE_LEVEL_3_0, 1, 8, "UINT32 INT32 UINT64 INT64 " },
    { DML_OPERATOR_TOP_K1, "OutputIndexTensor", DML_FEATURE_LEVEL_4_1, 1, 8, "UINT32 " },
    { DML_OPERATOR_MAX_POOLING2, "InputTensor", DML_FEATURE_LEVEL_3_0, 4, 5, "FLOAT32 FLOAT16 UINT8 INT8 " },
    { DML_OPERATOR_RESAMPLE2, "OutputTensor", DML_FEATURE_LEVEL_6_2, 1, 4, "FLOAT32 FLOAT16 UINT8 INT8 " },
    { DML_OPERATOR_LSTM, "SequenceLengthsTensor", DML_FEATURE_LEVEL_6_4, 4, 4, "UINT32 " },
    { DML_OPERATOR_QUANTIZE, "OutputTensor", DML_FEATURE_LEVEL_6_3, 1, 8, "UINT8 INT8 UINT4 INT4 " },
    { DML_OPERATOR_MULTIHEAD_ATTENTION, "StackedQueryKeyTensor", DML_FEATURE_LEVEL_6_1, 5, 5, "FLOAT32 FLOAT16 " },
    { DML_OPERATOR_MULTIHEAD_ATTENTION1, "PastSequenceLengthsTensor", DML_FEATURE_LEVEL_6_3, 1, 5, "UINT32 INT32 " },
};

static void test_support(void)
{
    for (size_t i = 0; i < sizeof(supports) / sizeof(supports[0]); i++) {
        const struct schema_op *op = schema_op_find(supports[i].op);
        const struct schema_field *field = schema_field_find(op, supports[i].field);
        if (!TEST_FOR(field, "%s", supports[i].field))
            continue;
        const struct schema_support *row = schema_field_support(field, supports[i].level);
        char names[256] = "";
        for (uint32_t type = 0; type < 16; type++)
            if (schema_type_supported(op, (uint32_t)(field - op->fields), (DML_TENSOR_DATA_TYPE)type,
                                      supports[i].level))
                strcat(strcat(names, schema_data_type_name((DML_TENSOR_DATA_TYPE)type)), " ");
        TEST_FOR(row && row->min_rank == supports[i].low && row->max_rank == supports[i].high, "%s %s", op->name,
                 field->name);
        TEST_FOR(!strcmp(names, supports[i].types), "%s %s: %s", op->name, field->name, names);
    }
}

/* Every tensor has a row from the operator's first level on, ranks lie in 1 to 8, and types are never taken back. */
static void test_rows(const struct schema_op *op)
{
    uint32_t count;
    const uint32_t *levels = schema_feature_levels(&count);
    for (uint32_t f = 0; f < op->field_count; f++) {
        uint32_t before = 0;
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t types = schema_field_types(op, f, (DML_FEATURE_LEVEL)levels[i]);
            const bool expected = op->fields[f].kind != SCHEMA_ATTRIBUTE && levels[i] >= (uint32_t)op->level;
            const struct schema_support *row = schema_field_support(&op->fields[f], (DML_FEATURE_LEVEL)levels[i]);
            TEST_FOR(!types == !expected && (types & before) == before, "%s %s", op->name, op->fields[f].name);
            TEST_FOR(!expected || (row->min_rank >= 1 && row->min_rank <= row->max_rank && row->max_rank <= 8), "%s %s",
                     op->name, op->fields[f].name);
            before = types;
        }
    }
    TEST(schema_field_types(op, op->field_count, DML_FEATURE_LEVEL_6_4) == 0);
    TEST(!schema_type_supported(op, 0, (DML_TENSOR_DATA_TYPE)16, DML_FEATURE_LEVEL_6_4));
}

static uint32_t extensions(DML_OPERATOR_TYPE type, const char *field, DML_FEATURE_LEVEL level)
{
    const struct schema_op *op = schema_op_find(type);
    return schema_field_extensions(op, (uint32_t)(schema_field_find(op, field) - op->fields), level);
}

static void test_extensions(void)
{
    const uint32_t bfloat = bit(ANYDML_TENSOR_DATA_TYPE_BFLOAT16), both = bfloat | bit(DML_TENSOR_DATA_TYPE_FLOAT64);
    const uint32_t longs = bit(DML_TENSOR_DATA_TYPE_INT64) | bit(DML_TENSOR_DATA_TYPE_UINT64);
    TEST(extensions(DML_OPERATOR_ELEMENT_WISE_ADD, "ATensor", DML_FEATURE_LEVEL_6_4) == both);
    TEST(extensions(DML_OPERATOR_ELEMENT_WISE_ADD, "ATensor", DML_FEATURE_LEVEL_6_3) == 0);
    TEST(extensions(DML_OPERATOR_GEMM, "CTensor", DML_FEATURE_LEVEL_6_4) == both);
    TEST(extensions(DML_OPERATOR_ELEMENT_WISE_POW, "ExponentTensor", DML_FEATURE_LEVEL_6_4) == (both | longs));
    TEST(extensions(DML_OPERATOR_CAST, "InputTensor", DML_FEATURE_LEVEL_6_4) == bfloat); /* FLOAT64 is documented */
    TEST(extensions(DML_OPERATOR_LSTM, "InputTensor", DML_FEATURE_LEVEL_6_4) == bfloat);
    TEST(extensions(DML_OPERATOR_ELEMENT_WISE_LOGICAL_AND, "ATensor", DML_FEATURE_LEVEL_6_4) == 0);
    TEST(extensions(DML_OPERATOR_TOP_K1, "OutputIndexTensor", DML_FEATURE_LEVEL_6_4) == 0);
    TEST(extensions(DML_OPERATOR_GEMM, "Alpha", DML_FEATURE_LEVEL_6_4) == 0);
    TEST(!strcmp(schema_data_type_name(ANYDML_TENSOR_DATA_TYPE_BFLOAT16), "BFLOAT16"));
    TEST(schema_data_type_bits(ANYDML_TENSOR_DATA_TYPE_BFLOAT16) == 16);
    for (uint32_t i = 0; i < schema_op_count(); i++) {
        const struct schema_op *op = schema_op_at(i);
        for (uint32_t f = 0; f < op->field_count; f++) {
            const uint32_t more = schema_field_extensions(op, f, DML_FEATURE_LEVEL_6_4);
            const uint32_t known = op->type == DML_OPERATOR_ELEMENT_WISE_POW ? both | longs : both;
            TEST_FOR(!(more & ~known) && !(more & schema_field_types(op, f, DML_FEATURE_LEVEL_6_4)), "%s %s", op->name,
                     op->fields[f].name);
        }
    }
}

static void test_types(void)
{
    const uint32_t four = bit(DML_TENSOR_DATA_TYPE_UINT4) | bit(DML_TENSOR_DATA_TYPE_INT4);
    TEST(schema_all_types(DML_FEATURE_LEVEL_6_4) == 0x3ffe);
    TEST(schema_all_types(DML_FEATURE_LEVEL_6_2) == (0x3ffe & ~four));
    TEST(!(schema_all_types(DML_FEATURE_LEVEL_2_1) & bit(DML_TENSOR_DATA_TYPE_INT64)));
    TEST(schema_all_types(DML_FEATURE_LEVEL_1_0) & bit(DML_TENSOR_DATA_TYPE_UINT8));
    static const uint8_t bits[] = { 0, 32, 16, 32, 16, 8, 32, 16, 8, 64, 64, 64, 4, 4, 0 };
    static const char *const names[] = { "UNKNOWN", "FLOAT32", "FLOAT16", "UINT32", "UINT16",
                                         "UINT8",   "INT32",   "INT16",   "INT8",   "FLOAT64",
                                         "UINT64",  "INT64",   "UINT4",   "INT4",   "UNKNOWN" };
    for (uint32_t i = 0; i < sizeof(bits); i++) {
        TEST(schema_data_type_bits((DML_TENSOR_DATA_TYPE)i) == bits[i]);
        TEST(!strcmp(schema_data_type_name((DML_TENSOR_DATA_TYPE)i), names[i]));
    }
}

static bool in_place(DML_OPERATOR_TYPE type, uint32_t input, uint32_t output)
{
    return schema_in_place_allowed(schema_op_find(type), input, output);
}

static void test_in_place(void)
{
    TEST(in_place(DML_OPERATOR_ELEMENT_WISE_IDENTITY, 0, 0) && in_place(DML_OPERATOR_ACTIVATION_RELU, 0, 0));
    TEST(in_place(DML_OPERATOR_ELEMENT_WISE_ADD, 0, 0) && in_place(DML_OPERATOR_ELEMENT_WISE_ADD, 1, 0));
    TEST(!in_place(DML_OPERATOR_ELEMENT_WISE_ADD, 2, 0) && !in_place(DML_OPERATOR_ELEMENT_WISE_ADD, 0, 1));
    TEST(in_place(DML_OPERATOR_ELEMENT_WISE_POW, 0, 0) && !in_place(DML_OPERATOR_ELEMENT_WISE_POW, 1, 0));
    TEST(!in_place(DML_OPERATOR_ELEMENT_WISE_LOGICAL_EQUALS, 0, 0) && !in_place(DML_OPERATOR_ELEMENT_WISE_IF, 1, 0));
    TEST(in_place(DML_OPERATOR_ELEMENT_WISE_CLIP_GRAD, 0, 0) && !in_place(DML_OPERATOR_ELEMENT_WISE_CLIP_GRAD, 1, 0));
    TEST(!in_place(DML_OPERATOR_ACTIVATION_SOFTMAX, 0, 0) && !in_place(DML_OPERATOR_ACTIVATION_GELU, 0, 0));
    TEST(in_place(DML_OPERATOR_ACTIVATION_SWISH, 0, 0) && !in_place(DML_OPERATOR_ACTIVATION_RELU_GRAD, 0, 0));
    TEST(in_place(DML_OPERATOR_ACTIVATION_PARAMETERIZED_RELU, 0, 0));
    TEST(!in_place(DML_OPERATOR_ACTIVATION_PARAMETERIZED_RELU, 1, 0));
    TEST(in_place(DML_OPERATOR_CUMULATIVE_SUMMATION, 0, 0) && in_place(DML_OPERATOR_CUMULATIVE_PRODUCT, 0, 0));
    for (uint32_t i = 0; i < 6; i++)
        for (uint32_t k = 0; k < 4; k++)
            TEST(in_place(DML_OPERATOR_ADAM_OPTIMIZER, i, k) == (i < 4 && k < 3));
    TEST(!in_place(DML_OPERATOR_GEMM, 0, 0) && !in_place(DML_OPERATOR_CAST, 0, 0) &&
         !in_place(DML_OPERATOR_JOIN, 0, 0));
    TEST(!in_place(DML_OPERATOR_SPLIT, 0, 0) && !in_place(DML_OPERATOR_SPLIT, 0, 7));
    TEST(!in_place(DML_OPERATOR_ELEMENT_WISE_IDENTITY, 70000, 0));
}

static void test_enums(void)
{
    const struct schema_op *op = schema_op_find(DML_OPERATOR_PADDING);
    const struct schema_enum *mode = schema_field_find(op, "PaddingMode")->values;
    TEST(!strcmp(mode->name, "DML_PADDING_MODE") && mode->count == 5);
    TEST(!strcmp(mode->values[DML_PADDING_MODE_WRAP].name, "DML_PADDING_MODE_WRAP"));
    TEST(mode->values[DML_PADDING_MODE_WRAP].level == 0x6400 && mode->values[DML_PADDING_MODE_EDGE].level == 0x1000);
    for (uint32_t i = 0; i < schema_op_count(); i++)
        for (uint32_t k = 0; k < schema_op_at(i)->field_count; k++) {
            const struct schema_field *field = &schema_op_at(i)->fields[k];
            TEST_FOR((field->type == SCHEMA_ENUM || field->type == SCHEMA_VALUE_TYPE) == !!field->values, "%s",
                     field->name);
            for (uint32_t v = 0; field->values && v < field->values->count; v++)
                TEST(schema_feature_level_known(field->values->values[v].level) && field->values->values[v].name);
        }
}

int main(void)
{
    test_levels();
    test_support();
    for (uint32_t i = 0; i < schema_op_count(); i++)
        test_rows(schema_op_at(i));
    test_types();
    test_extensions();
    test_in_place();
    test_enums();
    for (uint32_t id = SCHEMA_ERROR_NONE + 1; id < SCHEMA_ERROR_END; id++)
        TEST_FOR(schema_error_name(id)[0] && schema_error_rule(id)[0], "%u", id);
    TEST(!strcmp(schema_error_name(SCHEMA_ERROR_RANK), "RANK") && !strcmp(schema_error_name(1000), "UNKNOWN"));
    return test_result();
}
