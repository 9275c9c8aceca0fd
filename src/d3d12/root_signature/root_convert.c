/* SPDX-License-Identifier: Apache-2.0 */
/* A root signature's description from one version to another. */
#include "d3d12/root_signature/root_signature.h"

#include <assert.h>

static_assert(sizeof(struct d3d_root_desc) == sizeof(D3D12_ROOT_SIGNATURE_DESC1), "layout");
static_assert(sizeof(struct d3d_root_sampler) == sizeof(D3D12_STATIC_SAMPLER_DESC) + 4, "layout");

const char d3d_root_no_memory[] = "out of memory";

D3D12_DESCRIPTOR_RANGE_FLAGS d3d_root_range_flags_1_0(D3D12_DESCRIPTOR_RANGE_TYPE type)
{
    unsigned flags = D3D12_DESCRIPTOR_RANGE_FLAG_DESCRIPTORS_VOLATILE;
    if (type != D3D12_DESCRIPTOR_RANGE_TYPE_SAMPLER)
        flags |= D3D12_DESCRIPTOR_RANGE_FLAG_DATA_VOLATILE;
    return (D3D12_DESCRIPTOR_RANGE_FLAGS)flags;
}

/* ---- to the newest ---- */

static const char *ranges_up(const D3D12_ROOT_DESCRIPTOR_TABLE *table, struct base_arena *arena,
                             D3D12_ROOT_DESCRIPTOR_TABLE1 *out)
{
    UINT count = table->NumDescriptorRanges;
    D3D12_DESCRIPTOR_RANGE1 *ranges = base_arena_alloc(arena, BASE_MAX(count, 1) * sizeof(*ranges));
    *out = (D3D12_ROOT_DESCRIPTOR_TABLE1){ count, ranges };
    if (count && !table->pDescriptorRanges)
        return "pDescriptorRanges is NULL";
    for (UINT i = 0; ranges && i < count; i++) {
        const D3D12_DESCRIPTOR_RANGE *range = &table->pDescriptorRanges[i];
        ranges[i] = (D3D12_DESCRIPTOR_RANGE1){
            .RangeType = range->RangeType,
            .NumDescriptors = range->NumDescriptors,
            .BaseShaderRegister = range->BaseShaderRegister,
            .RegisterSpace = range->RegisterSpace,
            .Flags = d3d_root_range_flags_1_0(range->RangeType),
            .OffsetInDescriptorsFromTableStart = range->OffsetInDescriptorsFromTableStart,
        };
    }
    return ranges ? NULL : d3d_root_no_memory;
}

static const char *parameter_up(const D3D12_ROOT_PARAMETER *from, struct base_arena *arena, D3D12_ROOT_PARAMETER1 *to)
{
    *to = (D3D12_ROOT_PARAMETER1){ .ParameterType = from->ParameterType, .ShaderVisibility = from->ShaderVisibility };
    switch ((int)from->ParameterType) {
    case D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE:
        return ranges_up(&from->DescriptorTable, arena, &to->DescriptorTable);
    case D3D12_ROOT_PARAMETER_TYPE_32BIT_CONSTANTS:
        to->Constants = from->Constants;
        return NULL;
    default: /* of an unknown type: the rules refuse it */
        to->Descriptor = (D3D12_ROOT_DESCRIPTOR1){ from->Descriptor.ShaderRegister, from->Descriptor.RegisterSpace,
                                                   D3D_ROOT_DESCRIPTOR_FLAGS_1_0 };
        return NULL;
    }
}

static const char *parameters_up(const D3D12_ROOT_SIGNATURE_DESC *desc, struct base_arena *arena,
                                 struct d3d_root_desc *out)
{
    const char *error = NULL;
    D3D12_ROOT_PARAMETER1 *parameters = base_arena_alloc(arena, BASE_MAX(desc->NumParameters, 1) * sizeof(*parameters));
    for (UINT i = 0; parameters && !error && i < desc->NumParameters; i++)
        error = parameter_up(&desc->pParameters[i], arena, &parameters[i]);
    out->parameters = parameters;
    return parameters ? error : d3d_root_no_memory;
}

static const char *samplers_up(const D3D12_STATIC_SAMPLER_DESC *from, struct base_arena *arena,
                               struct d3d_root_desc *out)
{
    struct d3d_root_sampler *samplers = base_arena_alloc(arena, BASE_MAX(out->sampler_count, 1) * sizeof(*samplers));
    for (UINT i = 0; samplers && i < out->sampler_count; i++)
        samplers[i].desc = from[i];
    out->samplers = samplers;
    return samplers ? NULL : d3d_root_no_memory;
}

/* Tables of the application's own arrays, used in place. */
static const char *tables_error(const struct d3d_root_desc *desc)
{
    for (UINT i = 0; i < desc->parameter_count; i++) {
        const D3D12_ROOT_PARAMETER1 *parameter = &desc->parameters[i];
        if (parameter->ParameterType == D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE &&
            parameter->DescriptorTable.NumDescriptorRanges && !parameter->DescriptorTable.pDescriptorRanges)
            return "pDescriptorRanges is NULL";
    }
    return NULL;
}

const char *d3d_root_import(const D3D12_VERSIONED_ROOT_SIGNATURE_DESC *desc, struct base_arena *arena,
                            struct d3d_root_desc *out)
{
    uint32_t version = (uint32_t)desc->Version;
    if (version < D3D_ROOT_SIGNATURE_VERSION_1_0 || version > D3D_ROOT_VERSION_1_2)
        return "Version must be 1.0, 1.1 or 1.2";
    memcpy(out, &desc->Desc_1_1, sizeof(*out)); /* the three have one layout, of different arrays */
    if ((out->parameter_count && !out->parameters) || (out->sampler_count && !out->samplers))
        return "pParameters or pStaticSamplers is NULL";
    const char *error = NULL;
    if (version == D3D_ROOT_SIGNATURE_VERSION_1_0)
        error = parameters_up(&desc->Desc_1_0, arena, out);
    if (!error && version < D3D_ROOT_VERSION_1_2)
        error = samplers_up(desc->Desc_1_1.pStaticSamplers, arena, out);
    return error ? error : tables_error(out);
}

/* ---- to older ones ---- */

static bool table_down(const D3D12_ROOT_DESCRIPTOR_TABLE1 *table, struct base_arena *arena,
                       D3D12_ROOT_DESCRIPTOR_TABLE *out)
{
    UINT count = table->NumDescriptorRanges;
    D3D12_DESCRIPTOR_RANGE *ranges = base_arena_alloc(arena, BASE_MAX(count, 1) * sizeof(*ranges));
    for (UINT i = 0; ranges && i < count; i++) {
        const D3D12_DESCRIPTOR_RANGE1 *range = &table->pDescriptorRanges[i];
        ranges[i] = (D3D12_DESCRIPTOR_RANGE){
            .RangeType = range->RangeType,
            .NumDescriptors = range->NumDescriptors,
            .BaseShaderRegister = range->BaseShaderRegister,
            .RegisterSpace = range->RegisterSpace,
            .OffsetInDescriptorsFromTableStart = range->OffsetInDescriptorsFromTableStart,
        };
    }
    *out = (D3D12_ROOT_DESCRIPTOR_TABLE){ count, ranges };
    return ranges != NULL;
}

static const D3D12_ROOT_PARAMETER *parameters_down(const struct d3d_root_desc *desc, struct base_arena *arena)
{
    D3D12_ROOT_PARAMETER *parameters =
        base_arena_alloc(arena, BASE_MAX(desc->parameter_count, 1) * sizeof(*parameters));
    for (UINT i = 0; parameters && i < desc->parameter_count; i++) {
        const D3D12_ROOT_PARAMETER1 *from = &desc->parameters[i];
        D3D12_ROOT_PARAMETER *to = &parameters[i];
        to->ParameterType = from->ParameterType;
        to->ShaderVisibility = from->ShaderVisibility;
        if (from->ParameterType == D3D12_ROOT_PARAMETER_TYPE_32BIT_CONSTANTS)
            to->Constants = from->Constants;
        else if (from->ParameterType != D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE)
            to->Descriptor = (D3D12_ROOT_DESCRIPTOR){ from->Descriptor.ShaderRegister, from->Descriptor.RegisterSpace };
        else if (!table_down(&from->DescriptorTable, arena, &to->DescriptorTable))
            return NULL;
    }
    return parameters;
}

static const D3D12_STATIC_SAMPLER_DESC *samplers_down(const struct d3d_root_desc *desc, struct base_arena *arena)
{
    D3D12_STATIC_SAMPLER_DESC *samplers = base_arena_alloc(arena, BASE_MAX(desc->sampler_count, 1) * sizeof(*samplers));
    for (UINT i = 0; samplers && i < desc->sampler_count; i++)
        samplers[i] = desc->samplers[i].desc;
    return samplers;
}

const D3D12_VERSIONED_ROOT_SIGNATURE_DESC *d3d_root_export(const struct d3d_root_desc *desc, uint32_t version,
                                                           struct base_arena *arena)
{
    D3D12_VERSIONED_ROOT_SIGNATURE_DESC *out = base_arena_alloc(arena, sizeof(*out));
    const void *parameters = desc->parameters, *samplers = desc->samplers;
    if (version == D3D_ROOT_SIGNATURE_VERSION_1_0)
        parameters = parameters_down(desc, arena);
    if (version < D3D_ROOT_VERSION_1_2)
        samplers = samplers_down(desc, arena);
    if (!out || (desc->parameter_count && !parameters) || (desc->sampler_count && !samplers))
        return NULL;
    *out = (D3D12_VERSIONED_ROOT_SIGNATURE_DESC){
        .Version = (D3D_ROOT_SIGNATURE_VERSION)version,
        .Desc_1_1 = { desc->parameter_count, desc->parameter_count ? parameters : NULL, desc->sampler_count,
                      desc->sampler_count ? samplers : NULL, desc->flags },
    };
    return out;
}
