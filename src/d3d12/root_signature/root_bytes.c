/* SPDX-License-Identifier: Apache-2.0 */
/* A root signature as the part "RTS0" of a container:
 *
 *     version, parameters, their offset, static samplers, their offset, flags
 *     each parameter: type, visibility, offset of its data
 *         a table: ranges, their offset; each range: type, descriptors, register, space, [flags,] offset
 *         constants: register, space, values
 *         a descriptor: register, space[, flags]
 *     each static sampler: the 13 fields of its description[, flags]
 *
 * in 32-bit words; offsets are in bytes from the part's first. Flags of ranges and descriptors are from version 1.1 on,
 * those of samplers from 1.2. */
#include "d3d12/root_signature/root_signature.h"

#include "d3d12/root_signature/dxbc.h"

#include <assert.h>

#define TAG              DXBC_TAG('R', 'T', 'S', '0')
#define HEADER_BYTES     24u
#define PARAMETER_BYTES  12u
#define SAMPLER_BYTES    52u /* without flags */
#define CONSTANTS_BYTES  12u
#define TABLE_BYTES      8u
#define RANGE_BYTES      20u /* without flags */
#define DESCRIPTOR_BYTES 8u  /* without flags */

static_assert(sizeof(D3D12_STATIC_SAMPLER_DESC) == SAMPLER_BYTES, "layout");

static uint32_t flags_bytes(uint32_t version)
{
    return version > D3D_ROOT_SIGNATURE_VERSION_1_0 ? 4 : 0;
}

static uint32_t sampler_bytes(uint32_t version)
{
    return SAMPLER_BYTES + (version >= D3D_ROOT_VERSION_1_2 ? 4 : 0);
}

/* ---- writing ---- */

static size_t parameter_size(const D3D12_ROOT_PARAMETER1 *parameter, uint32_t version)
{
    if (parameter->ParameterType == D3D12_ROOT_PARAMETER_TYPE_32BIT_CONSTANTS)
        return CONSTANTS_BYTES;
    if (parameter->ParameterType != D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE)
        return DESCRIPTOR_BYTES + flags_bytes(version);
    return TABLE_BYTES + (size_t)parameter->DescriptorTable.NumDescriptorRanges * (RANGE_BYTES + flags_bytes(version));
}

static size_t part_size(const struct d3d_root_desc *desc, uint32_t version)
{
    size_t size = HEADER_BYTES + (size_t)desc->sampler_count * sampler_bytes(version);
    for (UINT i = 0; i < desc->parameter_count; i++)
        size += PARAMETER_BYTES + parameter_size(&desc->parameters[i], version);
    return size;
}

size_t d3d_root_size(const struct d3d_root_desc *desc, uint32_t version)
{
    return dxbc_size(part_size(desc, version));
}

struct writer {
    unsigned char *start, *at;
    uint32_t version;
};

static void put(struct writer *writer, uint32_t word)
{
    memcpy(writer->at, &word, sizeof(word));
    writer->at += sizeof(word);
}

static void put_flags(struct writer *writer, unsigned flags)
{
    if (flags_bytes(writer->version))
        put(writer, flags);
}

static uint32_t here(const struct writer *writer)
{
    return (uint32_t)(writer->at - writer->start);
}

static void put_range(struct writer *writer, const D3D12_DESCRIPTOR_RANGE1 *range)
{
    put(writer, (uint32_t)range->RangeType);
    put(writer, range->NumDescriptors);
    put(writer, range->BaseShaderRegister);
    put(writer, range->RegisterSpace);
    put_flags(writer, (unsigned)range->Flags);
    put(writer, range->OffsetInDescriptorsFromTableStart);
}

static void put_parameter(struct writer *writer, const D3D12_ROOT_PARAMETER1 *parameter)
{
    const D3D12_ROOT_DESCRIPTOR_TABLE1 *table = &parameter->DescriptorTable;
    switch ((int)parameter->ParameterType) {
    case D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE:
        put(writer, table->NumDescriptorRanges);
        put(writer, here(writer) + 4);
        for (UINT i = 0; i < table->NumDescriptorRanges; i++)
            put_range(writer, &table->pDescriptorRanges[i]);
        break;
    case D3D12_ROOT_PARAMETER_TYPE_32BIT_CONSTANTS:
        put(writer, parameter->Constants.ShaderRegister);
        put(writer, parameter->Constants.RegisterSpace);
        put(writer, parameter->Constants.Num32BitValues);
        break;
    default:
        put(writer, parameter->Descriptor.ShaderRegister);
        put(writer, parameter->Descriptor.RegisterSpace);
        put_flags(writer, (unsigned)parameter->Descriptor.Flags);
    }
}

void d3d_root_write(const struct d3d_root_desc *desc, uint32_t version, void *out, size_t size)
{
    size_t part = part_size(desc, version);
    struct writer writer = { .version = version };
    writer.start = writer.at = dxbc_begin(out, TAG, part);
    uint32_t samplers = (uint32_t)(part - (size_t)desc->sampler_count * sampler_bytes(version));
    const uint32_t header[] = { version,  desc->parameter_count, HEADER_BYTES, desc->sampler_count,
                                samplers, (uint32_t)desc->flags };
    for (size_t i = 0; i < ARRAY_SIZE(header); i++)
        put(&writer, header[i]);
    uint32_t payload = HEADER_BYTES + desc->parameter_count * PARAMETER_BYTES;
    for (UINT i = 0; i < desc->parameter_count; i++) {
        put(&writer, (uint32_t)desc->parameters[i].ParameterType);
        put(&writer, (uint32_t)desc->parameters[i].ShaderVisibility);
        put(&writer, payload);
        payload += (uint32_t)parameter_size(&desc->parameters[i], version);
    }
    for (UINT i = 0; i < desc->parameter_count; i++)
        put_parameter(&writer, &desc->parameters[i]);
    for (UINT i = 0; i < desc->sampler_count; i++) {
        memcpy(writer.at, &desc->samplers[i], sampler_bytes(version));
        writer.at += sampler_bytes(version);
    }
    dxbc_seal(out, size);
}

/* ---- reading ---- */

struct reader {
    struct dxbc_part part;
    uint32_t version;
    struct base_arena *arena;
    uint64_t ranges; /* of all tables up to here */
};

static const char cut_off[] = "the root signature is truncated";

static bool inside(const struct reader *reader, uint64_t at, uint64_t bytes)
{
    return at <= reader->part.size && bytes <= reader->part.size - at;
}

static uint32_t get(const struct reader *reader, size_t at)
{
    return dxbc_word(reader->part.data, at);
}

static void read_range(const struct reader *reader, size_t at, D3D12_DESCRIPTOR_RANGE1 *out)
{
    bool old = !flags_bytes(reader->version);
    *out = (D3D12_DESCRIPTOR_RANGE1){
        .RangeType = (D3D12_DESCRIPTOR_RANGE_TYPE)get(reader, at),
        .NumDescriptors = get(reader, at + 4),
        .BaseShaderRegister = get(reader, at + 8),
        .RegisterSpace = get(reader, at + 12),
        .OffsetInDescriptorsFromTableStart = get(reader, at + (old ? 16 : 20)),
    };
    out->Flags = old ? d3d_root_range_flags_1_0(out->RangeType) : (D3D12_DESCRIPTOR_RANGE_FLAGS)get(reader, at + 16);
}

static const char *read_table(struct reader *reader, size_t at, D3D12_ROOT_DESCRIPTOR_TABLE1 *out)
{
    uint32_t bytes = RANGE_BYTES + flags_bytes(reader->version);
    if (!inside(reader, at, TABLE_BYTES))
        return cut_off;
    uint32_t count = get(reader, at), from = get(reader, at + 4);
    reader->ranges += count; /* tables that share their ranges could require any amount of memory */
    if (!inside(reader, from, (uint64_t)count * bytes) || reader->ranges > reader->part.size / bytes)
        return cut_off;
    D3D12_DESCRIPTOR_RANGE1 *ranges = base_arena_alloc(reader->arena, BASE_MAX(count, 1) * sizeof(*ranges));
    for (uint32_t i = 0; ranges && i < count; i++)
        read_range(reader, from + (size_t)i * bytes, &ranges[i]);
    *out = (D3D12_ROOT_DESCRIPTOR_TABLE1){ count, ranges };
    return ranges ? NULL : d3d_root_no_memory;
}

static const char *read_parameter(struct reader *reader, size_t at, D3D12_ROOT_PARAMETER1 *out)
{
    bool old = !flags_bytes(reader->version);
    size_t payload = get(reader, at + 8);
    out->ParameterType = (D3D12_ROOT_PARAMETER_TYPE)get(reader, at);
    out->ShaderVisibility = (D3D12_SHADER_VISIBILITY)get(reader, at + 4);
    if (out->ParameterType == D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE)
        return read_table(reader, payload, &out->DescriptorTable);
    bool constants = out->ParameterType == D3D12_ROOT_PARAMETER_TYPE_32BIT_CONSTANTS;
    if (!inside(reader, payload, constants ? CONSTANTS_BYTES : DESCRIPTOR_BYTES + flags_bytes(reader->version)))
        return cut_off;
    uint32_t number = get(reader, payload), space = get(reader, payload + 4);
    if (constants)
        out->Constants = (D3D12_ROOT_CONSTANTS){ number, space, get(reader, payload + 8) };
    else
        out->Descriptor = (D3D12_ROOT_DESCRIPTOR1){ number, space,
                                                    old ? D3D_ROOT_DESCRIPTOR_FLAGS_1_0
                                                        : (D3D12_ROOT_DESCRIPTOR_FLAGS)get(reader, payload + 8) };
    return NULL;
}

static const char *read_parameters(struct reader *reader, struct d3d_root_desc *out)
{
    uint32_t count = get(reader, 4), from = get(reader, 8);
    const char *error = NULL;
    if (count && !inside(reader, from, (uint64_t)count * PARAMETER_BYTES))
        return cut_off;
    D3D12_ROOT_PARAMETER1 *parameters = base_arena_alloc(reader->arena, BASE_MAX(count, 1) * sizeof(*parameters));
    for (uint32_t i = 0; parameters && !error && i < count; i++)
        error = read_parameter(reader, from + (size_t)i * PARAMETER_BYTES, &parameters[i]);
    out->parameter_count = count;
    out->parameters = parameters;
    return parameters ? error : d3d_root_no_memory;
}

static const char *read_samplers(struct reader *reader, struct d3d_root_desc *out)
{
    uint32_t count = get(reader, 12), from = get(reader, 16), bytes = sampler_bytes(reader->version);
    if (count && !inside(reader, from, (uint64_t)count * bytes))
        return cut_off;
    struct d3d_root_sampler *samplers = base_arena_alloc(reader->arena, BASE_MAX(count, 1) * sizeof(*samplers));
    for (uint32_t i = 0; samplers && i < count; i++)
        memcpy(&samplers[i], reader->part.data + from + (size_t)i * bytes, bytes);
    out->sampler_count = count;
    out->samplers = samplers;
    return samplers ? NULL : d3d_root_no_memory;
}

const char *d3d_root_read(const void *data, size_t size, struct base_arena *arena, struct d3d_root_desc *out,
                          uint32_t *out_version)
{
    struct reader reader = { .arena = arena };
    const char *error = dxbc_find(data, size, TAG, &reader.part);
    if (error)
        return error;
    if (reader.part.size < HEADER_BYTES)
        return cut_off;
    reader.version = *out_version = get(&reader, 0);
    if (reader.version < D3D_ROOT_SIGNATURE_VERSION_1_0 || reader.version > D3D_ROOT_VERSION_1_2)
        return "its version must be 1.0, 1.1 or 1.2";
    out->flags = (D3D12_ROOT_SIGNATURE_FLAGS)get(&reader, 20);
    error = read_parameters(&reader, out);
    return error ? error : read_samplers(&reader, out);
}
