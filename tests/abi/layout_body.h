/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, offsets and values of DirectML.h against the tables; the same text is compiled as C and as C++. */
#include <stddef.h>
#include "check.h"

#ifdef _WIN32
#define WCHAR_BYTES 2 /* UTF-16 */
#else
#define WCHAR_BYTES 4 /* UTF-32 */
#endif

static void check_layouts(void)
{
#define STRUCT(name, size) EXPECT_NUMBER("sizeof " #name, sizeof(name), size);
#define FIELD(name, field, offset, size)                                                                               \
    EXPECT_NUMBER("offset of " #name "." #field, offsetof(name, field), offset);                                       \
    EXPECT_NUMBER("size of " #name "." #field, sizeof(((name *)0)->field), size);
#include "layouts.def"
#undef STRUCT
#undef FIELD
}

static void check_values(void)
{
#define VALUE(name, value) EXPECT_NUMBER(#name, name, value);
#include "enums.def"
#undef VALUE
    EXPECT_NUMBER("DML_TENSOR_DIMENSION_COUNT_MAX", DML_TENSOR_DIMENSION_COUNT_MAX, 5);
    EXPECT_NUMBER("DML_TENSOR_DIMENSION_COUNT_MAX1", DML_TENSOR_DIMENSION_COUNT_MAX1, 8);
    EXPECT_NUMBER("DML_TEMPORARY_BUFFER_ALIGNMENT", DML_TEMPORARY_BUFFER_ALIGNMENT, 256);
    EXPECT_NUMBER("DML_PERSISTENT_BUFFER_ALIGNMENT", DML_PERSISTENT_BUFFER_ALIGNMENT, 256);
    EXPECT_NUMBER("DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT", DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT, 16);
}

/* The types of the Windows headers that the binary interface rests on. */
static void check_base_types(void)
{
    EXPECT_NUMBER("BOOL", sizeof(BOOL), 4);
    EXPECT_NUMBER("UINT", sizeof(UINT), 4);
    EXPECT_NUMBER("HRESULT", sizeof(HRESULT), 4);
    EXPECT_NUMBER("ULONG", sizeof(ULONG), 4);
    EXPECT_NUMBER("SIZE_T", sizeof(SIZE_T), 8);
    EXPECT_NUMBER("HANDLE", sizeof(HANDLE), 8);
    EXPECT_NUMBER("WCHAR", sizeof(WCHAR), WCHAR_BYTES);
    EXPECT_NUMBER("GUID", sizeof(GUID), 16);
    EXPECT_NUMBER("LUID", sizeof(LUID), 8);
    EXPECT_NUMBER("D3D12_RESOURCE_DESC", sizeof(D3D12_RESOURCE_DESC), 56);
    EXPECT_NUMBER("D3D12_HEAP_PROPERTIES", sizeof(D3D12_HEAP_PROPERTIES), 20);
    EXPECT_NUMBER("D3D12_HEAP_DESC", sizeof(D3D12_HEAP_DESC), 48);
    EXPECT_NUMBER("D3D12_RESOURCE_BARRIER", sizeof(D3D12_RESOURCE_BARRIER), 32);
    EXPECT_NUMBER("D3D12_COMMAND_QUEUE_DESC", sizeof(D3D12_COMMAND_QUEUE_DESC), 16);
    EXPECT_NUMBER("D3D12_DESCRIPTOR_HEAP_DESC", sizeof(D3D12_DESCRIPTOR_HEAP_DESC), 16);
    EXPECT_NUMBER("D3D12_SHADER_RESOURCE_VIEW_DESC", sizeof(D3D12_SHADER_RESOURCE_VIEW_DESC), 40);
}
