/* SPDX-License-Identifier: Apache-2.0 */
// The C++ view: layouts, values, __uuidof, flag operators.
#include <DirectML.h>
#include <dxguids/dxguids.h>
#include <DirectMLGuids.h>
#include <anydml_dxcore.h>
#include "layout_body.h"

#define IDENTIFIER(name, l, w1, w2, ...)                                                                               \
    {                                                                                                                  \
        const GUID want = { l, w1, w2, { __VA_ARGS__ } };                                                              \
        abi_expect(want == __uuidof(name), "__uuidof " #name, __FILE__, __LINE__);                                     \
    }

static void check_identifiers()
{
#include "iids_dml.def"
#include "iids_d3d12.def"
    EXPECT(IID_IDMLDevice1 == __uuidof(IDMLDevice1));
}

static void check_flags()
{
    DML_EXECUTION_FLAGS flags = DML_EXECUTION_FLAG_DISABLE_META_COMMANDS | DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE;
    EXPECT(flags == 6);
    flags &= ~DML_EXECUTION_FLAG_DISABLE_META_COMMANDS;
    EXPECT(flags == DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE);
    DML_CREATE_DEVICE_FLAGS device_flags = DML_CREATE_DEVICE_FLAG_NONE;
    device_flags |= DML_CREATE_DEVICE_FLAG_DEBUG;
    EXPECT(device_flags == 1);
    DML_TENSOR_FLAGS tensor_flags = DML_TENSOR_FLAG_NONE ^ DML_TENSOR_FLAG_OWNED_BY_DML;
    EXPECT(tensor_flags & DML_TENSOR_FLAG_OWNED_BY_DML);
}

int main()
{
    check_layouts();
    check_values();
    check_base_types();
    check_identifiers();
    check_flags();
    return abi_result();
}
