/* SPDX-License-Identifier: Apache-2.0 */
/* Layout arithmetic of tensors, and the checks of one tensor that the walk over all operators does not reach. */
#include <inttypes.h>
#include <string.h>

#include "schema/schema.h"
#include "test.h"

static const struct {
    DML_TENSOR_DATA_TYPE type;
    uint32_t rank;
    UINT sizes[9];
    bool has_strides;
    UINT strides[8];
    uint64_t bytes; /* 0: cannot be */
} layouts[] = {
    { DML_TENSOR_DATA_TYPE_FLOAT32, 4, { 1, 1, 3, 5 }, false, { 0 }, 60 },
    { DML_TENSOR_DATA_TYPE_UINT8, 4, { 1, 1, 1, 5 }, false, { 0 }, 8 },
    { DML_TENSOR_DATA_TYPE_FLOAT16, 4, { 1, 2, 3, 3 }, false, { 0 }, 36 },
    { DML_TENSOR_DATA_TYPE_FLOAT32, 4, { 1, 3, 4, 4 }, true, { 0, 1, 0, 0 }, 12 },
    { DML_TENSOR_DATA_TYPE_FLOAT32, 4, { 1, 1, 2, 3 }, true, { 10, 10, 5, 1 }, 32 },
    { DML_TENSOR_DATA_TYPE_FLOAT16, 4, { 1, 2, 3, 4 }, true, { 24, 1, 8, 2 }, 48 },
    { DML_TENSOR_DATA_TYPE_UINT4, 4, { 1, 1, 1, 9 }, false, { 0 }, 8 },
    { DML_TENSOR_DATA_TYPE_INT64, 2, { 2, 2 }, false, { 0 }, 32 },
    { DML_TENSOR_DATA_TYPE_UINT8, 4, { 1, 65536, 65536, 1 }, false, { 0 }, 0 },
    { DML_TENSOR_DATA_TYPE_UINT8, 4, { 1, 65535, 65537, 1 }, false, { 0 }, UINT64_C(0x100000000) },
    { DML_TENSOR_DATA_TYPE_FLOAT64, 2, { 65535, 65537 }, false, { 0 }, UINT64_C(0xffffffff) * 8 },
    { DML_TENSOR_DATA_TYPE_FLOAT32, 1, { 1 }, true, { UINT32_MAX }, 4 }, /* a stride over one element is ignored */
    { DML_TENSOR_DATA_TYPE_FLOAT32, 1, { 2 }, true, { UINT32_MAX }, 0 },
    { DML_TENSOR_DATA_TYPE_FLOAT32, 1, { 2 }, true, { UINT32_MAX - 1 }, UINT64_C(0xffffffff) * 4 },
    { DML_TENSOR_DATA_TYPE_UINT8, 2, { UINT32_MAX, UINT32_MAX }, true, { UINT32_MAX, UINT32_MAX }, 0 },
    { DML_TENSOR_DATA_TYPE_UINT8, 2, { UINT32_MAX, 2 }, true, { 0, 0 }, 0 }, /* too many elements, one byte of data */
    { DML_TENSOR_DATA_TYPE_UINT8, 1, { UINT32_MAX }, true, { 0 }, 4 },
    { DML_TENSOR_DATA_TYPE_UINT8, 8, { 65536, 65536, 65536, 65536, 1, 1, 1, 1 }, false, { 0 }, 0 }, /* 2^64 is 0 */
    { DML_TENSOR_DATA_TYPE_UINT8, 1, { 0 }, false, { 0 }, 0 },
    { DML_TENSOR_DATA_TYPE_UINT8, 0, { 1 }, false, { 0 }, 0 },
    { DML_TENSOR_DATA_TYPE_UINT8, 9, { 1, 1, 1, 1, 1, 1, 1, 1, 1 }, false, { 0 }, 0 },
    { DML_TENSOR_DATA_TYPE_UNKNOWN, 1, { 1 }, false, { 0 }, 0 },
    { (DML_TENSOR_DATA_TYPE)14, 1, { 1 }, false, { 0 }, 0 },
    { DML_TENSOR_DATA_TYPE_INT4, 1, { 1 }, false, { 0 }, 4 },
    { DML_TENSOR_DATA_TYPE_INT4, 2, { 3, 3 }, true, { 4, 1 }, 8 },
};

static void test_layouts(void)
{
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        const DML_BUFFER_TENSOR_DESC tensor = {
            .DataType = layouts[i].type,
            .DimensionCount = layouts[i].rank,
            .Sizes = layouts[i].sizes,
            .Strides = layouts[i].has_strides ? layouts[i].strides : NULL,
        };
        TEST_FOR(schema_tensor_min_bytes(&tensor) == layouts[i].bytes, "layout %zu: %" PRIu64, i,
                 schema_tensor_min_bytes(&tensor));
    }
    TEST(schema_tensor_min_bytes(&(DML_BUFFER_TENSOR_DESC){ DML_TENSOR_DATA_TYPE_UINT8, 0, 1, NULL, NULL, 0, 0 }) == 0);
}

static void test_strides(void)
{
    const UINT sizes[] = { 2, 3, 4, 5 }, given[] = { 1, 2, 0, 7 };
    uint32_t strides[SCHEMA_MAX_RANK];
    DML_BUFFER_TENSOR_DESC tensor = { .DataType = DML_TENSOR_DATA_TYPE_UINT8, .DimensionCount = 4, .Sizes = sizes };
    schema_tensor_strides(&tensor, strides);
    TEST(strides[0] == 60 && strides[1] == 20 && strides[2] == 5 && strides[3] == 1);
    tensor.Strides = given;
    schema_tensor_strides(&tensor, strides);
    TEST(!memcmp(strides, given, sizeof(given)));
}

/* An identity with one tensor described for both ends. */
static bool identity_takes(const DML_BUFFER_TENSOR_DESC *buffer, struct schema_error *error)
{
    const DML_TENSOR_DESC tensor = { DML_TENSOR_TYPE_BUFFER, buffer };
    const DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC identity = { &tensor, &tensor, NULL };
    const DML_OPERATOR_DESC desc = { DML_OPERATOR_ELEMENT_WISE_IDENTITY, &identity };
    return schema_validate(&desc, DML_FEATURE_LEVEL_6_4, error) == S_OK;
}

static void test_alignment(void)
{
    static const struct {
        DML_TENSOR_DATA_TYPE type;
        UINT alignment;
        bool good;
    } cases[] = {
        { DML_TENSOR_DATA_TYPE_UINT8, 0, true },      { DML_TENSOR_DATA_TYPE_UINT8, 1, true },
        { DML_TENSOR_DATA_TYPE_UINT8, 3, false },     { DML_TENSOR_DATA_TYPE_FLOAT32, 2, false },
        { DML_TENSOR_DATA_TYPE_FLOAT32, 4, true },    { DML_TENSOR_DATA_TYPE_FLOAT64, 4, false },
        { DML_TENSOR_DATA_TYPE_FLOAT64, 8, true },    { DML_TENSOR_DATA_TYPE_FLOAT32, 1u << 31, true },
        { DML_TENSOR_DATA_TYPE_FLOAT32, 768, false }, { DML_TENSOR_DATA_TYPE_FLOAT32, UINT32_MAX, false },
    };
    const UINT sizes[] = { 2, 3 };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct schema_error error;
        const DML_BUFFER_TENSOR_DESC buffer = { cases[i].type,     DML_TENSOR_FLAG_NONE, 2, sizes, NULL, 48,
                                                cases[i].alignment };
        TEST_FOR(identity_takes(&buffer, &error) == cases[i].good, "%zu: %s", i, error.text);
        TEST_FOR(cases[i].good || error.id == SCHEMA_ERROR_ALIGNMENT, "%zu: %s", i, error.text);
    }
}

static void test_bytes(void)
{
    const UINT sizes[] = { 3 };
    struct schema_error error;
    DML_BUFFER_TENSOR_DESC buffer = { DML_TENSOR_DATA_TYPE_UINT8, DML_TENSOR_FLAG_NONE, 1, sizes, NULL, 3, 0 };
    TEST(!identity_takes(&buffer, &error) && error.id == SCHEMA_ERROR_TENSOR_BYTES); /* 3 bytes occupy 4 */
    buffer.TotalTensorSizeInBytes = 4;
    TEST(identity_takes(&buffer, &error));
    buffer.TotalTensorSizeInBytes = 7; /* a client's slip: taken as 4 */
    TEST(identity_takes(&buffer, &error));
    buffer.TotalTensorSizeInBytes = SCHEMA_MAX_TENSOR_BYTES;
    TEST(identity_takes(&buffer, &error));
    buffer.TotalTensorSizeInBytes++;
    TEST(!identity_takes(&buffer, &error) && error.id == SCHEMA_ERROR_TENSOR_BYTES);
}

/* Outputs may be permuted and padded, but no dimension of more than one element may stand still. */
static void test_output_strides(void)
{
    const UINT sizes[] = { 2, 3, 1, 4 };
    static const struct {
        UINT strides[4];
        bool good;
    } cases[] = {
        { { 12, 4, 4, 1 }, true }, { { 12, 1, 9, 3 }, true },  { { 40, 10, 0, 2 }, true },
        { { 0, 4, 4, 1 }, false }, { { 12, 4, 4, 0 }, false },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct schema_error error;
        const DML_BUFFER_TENSOR_DESC buffer = {
            DML_TENSOR_DATA_TYPE_UINT8, DML_TENSOR_FLAG_NONE, 4, sizes, cases[i].strides, 1024, 0
        };
        TEST_FOR(identity_takes(&buffer, &error) == cases[i].good, "%zu: %s", i, error.text);
    }
}

int main(void)
{
    test_layouts();
    test_strides();
    test_alignment();
    test_bytes();
    test_output_strides();
    return test_result();
}
