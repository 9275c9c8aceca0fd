/* SPDX-License-Identifier: Apache-2.0 */
/* The C view: layouts, values, method tables, identifiers. */
#include <DirectML.h>
#include <DirectMLGuids.h>
#include <anydml_dxcore.h>
#include "layout_body.h"

#define TABLE(interface_, slots)                                                                                       \
    EXPECT_NUMBER("table of " #interface_, sizeof(struct interface_##Vtbl), (slots) * sizeof(void *));                 \
    EXPECT_NUMBER(#interface_ ".QueryInterface", offsetof(struct interface_##Vtbl, QueryInterface), 0);                \
    EXPECT_NUMBER(#interface_ ".AddRef", offsetof(struct interface_##Vtbl, AddRef), sizeof(void *));                   \
    EXPECT_NUMBER(#interface_ ".Release", offsetof(struct interface_##Vtbl, Release), 2 * sizeof(void *));
#define SLOT(interface_, method, slot)                                                                                 \
    EXPECT_NUMBER(#interface_ "." #method, offsetof(struct interface_##Vtbl, method), (slot) * sizeof(void *));

static void check_dml_tables(void)
{
#include "slots_dml.def"
}

static void check_dxcore_tables(void)
{
#include "slots_dxcore.def"
}

static void check_d3d12_tables(void)
{
#include "slots_d3d12.def"
}

#define IDENTIFIER(name, l, w1, w2, ...)                                                                               \
    {                                                                                                                  \
        static const GUID want = { l, w1, w2, { __VA_ARGS__ } };                                                       \
        abi_expect(!memcmp(&want, &IID_##name, sizeof(want)), "IID_" #name, __FILE__, __LINE__);                       \
    }

static void check_identifiers(void)
{
#include "iids_dml.def"
#include "iids_dxcore.def"
#include "iids_d3d12.def"
    EXPECT(DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE.Data1 == 0x248e2800);
    EXPECT(DXCORE_ADAPTER_ATTRIBUTE_D3D12_GRAPHICS.Data1 == 0x0c9ece4d);
    EXPECT(DXCORE_ADAPTER_ATTRIBUTE_D3D12_GENERIC_ML.Data1 == 0xb71b0d41);
}

static void check_dxcore_values(void)
{
    EXPECT_NUMBER("DXCoreAdapterProperty", sizeof(DXCoreAdapterProperty), 4);
    EXPECT_NUMBER("HardwareIDParts", DXCoreAdapterProperty_HardwareIDParts, 14);
    EXPECT_NUMBER("DXCoreHardwareID", sizeof(DXCoreHardwareID), 16);
    EXPECT_NUMBER("DXCoreHardwareIDParts", sizeof(DXCoreHardwareIDParts), 20);
    EXPECT_NUMBER("DXCoreAdapterMemoryBudgetNodeSegmentGroup", sizeof(DXCoreAdapterMemoryBudgetNodeSegmentGroup), 8);
    EXPECT_NUMBER("DXCoreAdapterMemoryBudget", sizeof(DXCoreAdapterMemoryBudget), 32);
    EXPECT_NUMBER("bool", sizeof(bool), 1);
}

int main(void)
{
    check_layouts();
    check_values();
    check_base_types();
    check_dml_tables();
    check_dxcore_tables();
    check_d3d12_tables();
    check_identifiers();
    check_dxcore_values();
    return abi_result();
}
