/* SPDX-License-Identifier: Apache-2.0 */
/* Root signatures: descriptions of the three versions as one, their rules, and their bytes. */
#ifndef D3D12_ROOT_SIGNATURE_H
#define D3D12_ROOT_SIGNATURE_H

#include "base/arena.h"

#include <anydml_d3d12.h>

/* D3D_ROOT_SIGNATURE_VERSION_1_2, D3D12_STATIC_SAMPLER_DESC1 and D3D12_ROOT_SIGNATURE_DESC2 are newer than the headers
 * that AnyDML builds with. */
#define D3D_ROOT_VERSION_1_2 3u

struct d3d_root_sampler {
    D3D12_STATIC_SAMPLER_DESC desc;
    UINT flags;
};

/* A root signature of version 1.2, to which older ones are converted. Has the layout of D3D12_ROOT_SIGNATURE_DESC2. */
struct d3d_root_desc {
    UINT parameter_count;
    const D3D12_ROOT_PARAMETER1 *parameters;
    UINT sampler_count;
    const struct d3d_root_sampler *samplers;
    D3D12_ROOT_SIGNATURE_FLAGS flags;
};

/* root_convert.c: converts between versions. Everything that *out points to is in the arena or in `desc`. */

/* NULL, or an error: an unknown version, or a NULL array. */
const char *d3d_root_import(const D3D12_VERSIONED_ROOT_SIGNATURE_DESC *desc, struct base_arena *arena,
                            struct d3d_root_desc *out);
/* In the form of `version`; NULL if out of memory. */
const D3D12_VERSIONED_ROOT_SIGNATURE_DESC *d3d_root_export(const struct d3d_root_desc *desc, uint32_t version,
                                                           struct base_arena *arena);
/* The flags that version 1.0 implies in later ones. */
D3D12_DESCRIPTOR_RANGE_FLAGS d3d_root_range_flags_1_0(D3D12_DESCRIPTOR_RANGE_TYPE type);
#define D3D_ROOT_DESCRIPTOR_FLAGS_1_0 D3D12_ROOT_DESCRIPTOR_FLAG_DATA_VOLATILE

extern const char d3d_root_no_memory[]; /* message for E_OUTOFMEMORY */

/* root_rules.c: NULL, or an error message, in `text` or constant. */
#define D3D_ROOT_ERROR_BYTES 256
const char *d3d_root_check(const struct d3d_root_desc *desc, char text[D3D_ROOT_ERROR_BYTES]);

/* root_bytes.c: as a container, and back. */
size_t d3d_root_size(const struct d3d_root_desc *desc, uint32_t version);
void d3d_root_write(const struct d3d_root_desc *desc, uint32_t version, void *out, size_t size);
/* NULL, or an error message. The rules are not checked. */
const char *d3d_root_read(const void *data, size_t size, struct base_arena *arena, struct d3d_root_desc *out,
                          uint32_t *out_version);

#endif
