/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/onnx.h"

#include <anydml.h>

static const struct {
    int32_t type;
    const char *name;
    uint32_t bytes;
    DML_TENSOR_DATA_TYPE dml;
} types[] = {
    { ONNX_FLOAT, "float32", 4, DML_TENSOR_DATA_TYPE_FLOAT32 },
    { ONNX_UINT8, "uint8", 1, DML_TENSOR_DATA_TYPE_UINT8 },
    { ONNX_INT8, "int8", 1, DML_TENSOR_DATA_TYPE_INT8 },
    { ONNX_UINT16, "uint16", 2, DML_TENSOR_DATA_TYPE_UINT16 },
    { ONNX_INT16, "int16", 2, DML_TENSOR_DATA_TYPE_INT16 },
    { ONNX_INT32, "int32", 4, DML_TENSOR_DATA_TYPE_INT32 },
    { ONNX_INT64, "int64", 8, DML_TENSOR_DATA_TYPE_INT64 },
    { ONNX_BOOL, "bool", 1, DML_TENSOR_DATA_TYPE_UINT8 },
    { ONNX_FLOAT16, "float16", 2, DML_TENSOR_DATA_TYPE_FLOAT16 },
    { ONNX_DOUBLE, "float64", 8, DML_TENSOR_DATA_TYPE_FLOAT64 },
    { ONNX_UINT32, "uint32", 4, DML_TENSOR_DATA_TYPE_UINT32 },
    { ONNX_UINT64, "uint64", 8, DML_TENSOR_DATA_TYPE_UINT64 },
    { ONNX_BFLOAT16, "bfloat16", 2, ANYDML_TENSOR_DATA_TYPE_BFLOAT16 },
    { ONNX_UINT4, "uint4", 1, DML_TENSOR_DATA_TYPE_UINT4 },
    { ONNX_INT4, "int4", 1, DML_TENSOR_DATA_TYPE_INT4 },
};

/* Unsupported types, for messages. */
static const struct {
    int32_t type;
    const char *name;
} others[] = {
    { 8, "string" },          { 14, "complex64" },  { 15, "complex128" },     { 17, "float8e4m3fn" },
    { 18, "float8e4m3fnuz" }, { 19, "float8e5m2" }, { 20, "float8e5m2fnuz" }, { 23, "float4e2m1" },
    { 24, "float8e8m0" },     { 25, "uint2" },      { 26, "int2" },
};

uint32_t onnx_type_bytes(int32_t type)
{
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        if (types[i].type == type)
            return types[i].bytes;
    }
    return 0;
}

uint64_t onnx_bytes(int32_t type, int64_t elements)
{
    bool half = type == ONNX_UINT4 || type == ONNX_INT4;
    return half ? ((uint64_t)elements + 1) / 2 : (uint64_t)elements * onnx_type_bytes(type);
}

const char *onnx_type_name(int32_t type)
{
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        if (types[i].type == type)
            return types[i].name;
    }
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        if (others[i].type == type)
            return others[i].name;
    }
    return "of an unknown number";
}

DML_TENSOR_DATA_TYPE onnx_type_dml(int32_t type)
{
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        if (types[i].type == type)
            return types[i].dml;
    }
    return DML_TENSOR_DATA_TYPE_UNKNOWN;
}
