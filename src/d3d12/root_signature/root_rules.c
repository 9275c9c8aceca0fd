/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for root signatures of all versions. */
#include "d3d12/root_signature/root_signature.h"

#include <stdio.h>
#include <stdlib.h>

#define COST_MAX        64u /* of all arguments together, in 32-bit words */
#define SPACES_RESERVED 0xfffffff0u
#define UNBOUNDED       UINT32_MAX
#define FLAGS_KNOWN     0xfffu
#define VISIBILITIES    8u
#define ANISOTROPY_MAX  16u
#define SAMPLER_FLAGS   3u /* UINT_BORDER_COLOR, NON_NORMALIZED_COORDINATES */

/* Shader registers [first, last] of an argument. `type`: a D3D12_DESCRIPTOR_RANGE_TYPE, one for each letter. */
struct registers {
    uint32_t type, space, first, last, visibility;
};

struct taken {
    struct registers *all;
    uint32_t count, capacity;
    bool full; /* memory is short */
};

static const char *take(struct taken *taken, struct registers registers)
{
    if (registers.space >= SPACES_RESERVED)
        return "RegisterSpace is one of the reserved ones from 0xfffffff0 on";
    if (registers.last < registers.first)
        return "the registers exceed 2^32";
    if (!base_array_reserve((void **)&taken->all, taken->count, &taken->capacity, sizeof(*taken->all))) {
        taken->full = true;
        return d3d_root_no_memory;
    }
    taken->all[taken->count++] = registers;
    return NULL;
}

/* ---- arguments ---- */

static bool data_flags_right(unsigned flags)
{
    const unsigned data = D3D12_DESCRIPTOR_RANGE_FLAG_DATA_VOLATILE |
                          D3D12_DESCRIPTOR_RANGE_FLAG_DATA_STATIC_WHILE_SET_AT_EXECUTE |
                          D3D12_DESCRIPTOR_RANGE_FLAG_DATA_STATIC;
    flags &= data;
    return !(flags & (flags - 1));
}

static const char *range_flags_error(const D3D12_DESCRIPTOR_RANGE1 *range)
{
    unsigned flags = (unsigned)range->Flags, known = 0xf | 0x10000;
    bool is_volatile = flags & D3D12_DESCRIPTOR_RANGE_FLAG_DESCRIPTORS_VOLATILE;
    if (range->RangeType == D3D12_DESCRIPTOR_RANGE_TYPE_SAMPLER)
        known = D3D12_DESCRIPTOR_RANGE_FLAG_DESCRIPTORS_VOLATILE |
                D3D12_DESCRIPTOR_RANGE_FLAG_DESCRIPTORS_STATIC_KEEPING_BUFFER_BOUNDS_CHECKS;
    if (flags & ~known)
        return "Flags of a range have bits that its type does not have";
    if (!data_flags_right(flags))
        return "Flags of a range have more than one of the DATA bits";
    if (is_volatile && flags & (D3D12_DESCRIPTOR_RANGE_FLAG_DATA_STATIC |
                                D3D12_DESCRIPTOR_RANGE_FLAG_DESCRIPTORS_STATIC_KEEPING_BUFFER_BOUNDS_CHECKS))
        return "Flags of a range contradict DESCRIPTORS_VOLATILE";
    return NULL;
}

static const char *range_error(const D3D12_DESCRIPTOR_RANGE1 *range, uint32_t visibility, struct taken *taken)
{
    if ((unsigned)range->RangeType > D3D12_DESCRIPTOR_RANGE_TYPE_SAMPLER)
        return "RangeType must be SRV, UAV, CBV or SAMPLER";
    if (!range->NumDescriptors)
        return "NumDescriptors is 0";
    const char *error = range_flags_error(range);
    uint32_t first = range->BaseShaderRegister;
    uint32_t last = range->NumDescriptors == UNBOUNDED ? UINT32_MAX : first + (range->NumDescriptors - 1);
    return error ? error
                 : take(taken, (struct registers){ (uint32_t)range->RangeType, range->RegisterSpace, first, last,
                                                   visibility });
}

/* The start of each range of a table: `next` follows the previous range, and is beyond 2^32 after an unbounded one. */
static const char *range_place(const D3D12_DESCRIPTOR_RANGE1 *range, uint64_t *next)
{
    uint64_t start = range->OffsetInDescriptorsFromTableStart;
    if (start == D3D12_DESCRIPTOR_RANGE_OFFSET_APPEND)
        start = *next;
    if (start > UINT32_MAX)
        return "a range is appended to an unbounded one";
    *next = range->NumDescriptors == UNBOUNDED ? UINT64_C(1) << 32 : start + range->NumDescriptors;
    return *next > UINT64_C(1) << 32 ? "a range exceeds 2^32 descriptors" : NULL;
}

static const char *table_error(const D3D12_ROOT_PARAMETER1 *parameter, struct taken *taken)
{
    const D3D12_ROOT_DESCRIPTOR_TABLE1 *table = &parameter->DescriptorTable;
    const char *error = NULL;
    uint64_t next = 0;
    for (UINT i = 0; !error && i < table->NumDescriptorRanges; i++) {
        const D3D12_DESCRIPTOR_RANGE1 *range = &table->pDescriptorRanges[i], *first = table->pDescriptorRanges;
        error = range_error(range, (uint32_t)parameter->ShaderVisibility, taken);
        if (!error && (range->RangeType == D3D12_DESCRIPTOR_RANGE_TYPE_SAMPLER) !=
                          (first->RangeType == D3D12_DESCRIPTOR_RANGE_TYPE_SAMPLER))
            error = "a table must not mix samplers and other ranges";
        if (!error)
            error = range_place(range, &next);
    }
    return error;
}

static const char *descriptor_error(const D3D12_ROOT_PARAMETER1 *parameter, struct taken *taken)
{
    static const unsigned char types[] = {
        [D3D12_ROOT_PARAMETER_TYPE_CBV] = D3D12_DESCRIPTOR_RANGE_TYPE_CBV,
        [D3D12_ROOT_PARAMETER_TYPE_SRV] = D3D12_DESCRIPTOR_RANGE_TYPE_SRV,
        [D3D12_ROOT_PARAMETER_TYPE_UAV] = D3D12_DESCRIPTOR_RANGE_TYPE_UAV,
    };
    const D3D12_ROOT_DESCRIPTOR1 *descriptor = &parameter->Descriptor;
    if ((unsigned)descriptor->Flags & ~0xeu || !data_flags_right((unsigned)descriptor->Flags))
        return "Flags of a descriptor must be at most one of the DATA bits";
    return take(taken, (struct registers){ types[parameter->ParameterType], descriptor->RegisterSpace,
                                           descriptor->ShaderRegister, descriptor->ShaderRegister,
                                           (uint32_t)parameter->ShaderVisibility });
}

static const char *parameter_error(const D3D12_ROOT_PARAMETER1 *parameter, struct taken *taken, uint64_t *cost)
{
    const D3D12_ROOT_CONSTANTS *constants = &parameter->Constants;
    if ((unsigned)parameter->ShaderVisibility >= VISIBILITIES)
        return "ShaderVisibility is unknown";
    switch ((int)parameter->ParameterType) {
    case D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE:
        *cost += 1;
        return table_error(parameter, taken);
    case D3D12_ROOT_PARAMETER_TYPE_32BIT_CONSTANTS:
        *cost += constants->Num32BitValues;
        return take(taken, (struct registers){ D3D12_DESCRIPTOR_RANGE_TYPE_CBV, constants->RegisterSpace,
                                               constants->ShaderRegister, constants->ShaderRegister,
                                               (uint32_t)parameter->ShaderVisibility });
    case D3D12_ROOT_PARAMETER_TYPE_CBV:
    case D3D12_ROOT_PARAMETER_TYPE_SRV:
    case D3D12_ROOT_PARAMETER_TYPE_UAV:
        *cost += 2;
        return descriptor_error(parameter, taken);
    default:
        return "ParameterType is unknown";
    }
}

static bool address_mode_known(D3D12_TEXTURE_ADDRESS_MODE mode)
{
    return mode >= D3D12_TEXTURE_ADDRESS_MODE_WRAP && mode <= D3D12_TEXTURE_ADDRESS_MODE_MIRROR_ONCE;
}

static const char *sampler_error(const struct d3d_root_sampler *sampler, struct taken *taken)
{
    const D3D12_STATIC_SAMPLER_DESC *desc = &sampler->desc;
    if (!address_mode_known(desc->AddressU) || !address_mode_known(desc->AddressV) ||
        !address_mode_known(desc->AddressW))
        return "an address mode is unknown";
    if ((unsigned)desc->ComparisonFunc > D3D12_COMPARISON_FUNC_ALWAYS)
        return "ComparisonFunc is unknown";
    if ((unsigned)desc->BorderColor > D3D12_STATIC_BORDER_COLOR_OPAQUE_WHITE_UINT)
        return "BorderColor is unknown";
    if (desc->MaxAnisotropy > ANISOTROPY_MAX)
        return "MaxAnisotropy is more than 16";
    if ((unsigned)desc->ShaderVisibility >= VISIBILITIES)
        return "ShaderVisibility is unknown";
    if (sampler->flags & ~SAMPLER_FLAGS)
        return "Flags have unknown bits";
    return take(taken,
                (struct registers){ D3D12_DESCRIPTOR_RANGE_TYPE_SAMPLER, desc->RegisterSpace, desc->ShaderRegister,
                                    desc->ShaderRegister, (uint32_t)desc->ShaderVisibility });
}

/* ---- overlaps ---- */

static int registers_order(const void *a, const void *b)
{
    const struct registers *x = a, *y = b;
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    if (x->space != y->space)
        return x->space < y->space ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Finds two overlapping ranges of one type and space that are visible to the same shader stage. The ranges are
 * sorted. */
static const struct registers *find_overlap(const struct taken *taken, uint32_t stage)
{
    const struct registers *before = NULL; /* the one that reaches furthest */
    for (uint32_t i = 0; i < taken->count; i++) {
        const struct registers *next = &taken->all[i];
        if (next->visibility != D3D12_SHADER_VISIBILITY_ALL && next->visibility != stage)
            continue;
        bool same = before && before->type == next->type && before->space == next->space;
        if (same && next->first <= before->last)
            return next;
        if (!same || next->last > before->last)
            before = next;
    }
    return NULL;
}

static const char *overlap_error(const struct taken *taken, char text[D3D_ROOT_ERROR_BYTES])
{
    if (taken->count)
        qsort(taken->all, taken->count, sizeof(*taken->all), registers_order);
    for (uint32_t stage = D3D12_SHADER_VISIBILITY_VERTEX; stage < VISIBILITIES; stage++) {
        const struct registers *second = find_overlap(taken, stage);
        if (!second)
            continue;
        snprintf(text, D3D_ROOT_ERROR_BYTES, "register %c%u of space %u is used twice", "tubs"[second->type],
                 second -> first, second -> space);
        return text;
    }
    return NULL;
}

/* ---- the whole ---- */

static const char *all_error(const struct d3d_root_desc *desc, struct taken *taken, char text[D3D_ROOT_ERROR_BYTES])
{
    uint64_t cost = 0;
    const char *error = NULL;
    for (UINT i = 0; !error && i < desc->parameter_count; i++) {
        error = parameter_error(&desc->parameters[i], taken, &cost);
        if (error)
            snprintf(text, D3D_ROOT_ERROR_BYTES, "pParameters[%u]: %s", i, error);
    }
    for (UINT i = 0; !error && i < desc->sampler_count; i++) {
        error = sampler_error(&desc->samplers[i], taken);
        if (error)
            snprintf(text, D3D_ROOT_ERROR_BYTES, "pStaticSamplers[%u]: %s", i, error);
    }
    if (error)
        return text;
    if ((unsigned)desc->flags & ~FLAGS_KNOWN)
        return "Flags have unknown bits";
    if (cost > COST_MAX && !(desc->flags & D3D12_ROOT_SIGNATURE_FLAG_LOCAL_ROOT_SIGNATURE)) {
        snprintf(text, D3D_ROOT_ERROR_BYTES, "the parameters need %llu 32-bit words, more than %u",
                 (unsigned long long)cost, COST_MAX);
        return text;
    }
    return overlap_error(taken, text);
}

const char *d3d_root_check(const struct d3d_root_desc *desc, char text[D3D_ROOT_ERROR_BYTES])
{
    struct taken taken = { 0 };
    const char *error = all_error(desc, &taken, text);
    if (taken.full)
        error = d3d_root_no_memory;
    free(taken.all);
    return error;
}
