/* SPDX-License-Identifier: Apache-2.0 */
/* Devices whose memory the host does not see: buffers found by device address, copies, and plans as dispatches. Each
 * call is done when it returns; one at a time runs, callers wait for each other. */
#ifndef ANYDML_TORCH_REMOTE_H
#define ANYDML_TORCH_REMOTE_H

#include "aten.h"

#include <anydml.h>
#include <anydml_d3d12.h>

struct aten_remote;

HRESULT aten_remote_create(ID3D12Device *d3d, IDMLDevice1 *dml, ID3D12CommandQueue *queue, struct aten_remote **out);
void aten_remote_destroy(struct aten_remote *remote);

/* A device address, or NULL. */
void *aten_remote_allocate(struct aten_remote *remote, size_t bytes);
void aten_remote_free(struct aten_remote *remote, void *address);
uint64_t aten_remote_used(struct aten_remote *remote); /* bytes */
HRESULT aten_remote_copy(struct aten_remote *remote, void *to, const void *from, size_t bytes,
                         enum aten_direction direction);

/* What an input or output is bound to: `bytes` at a device address, or of the host, to be copied there. */
struct aten_place {
    uint64_t address;
    const void *host;
    uint64_t bytes;
};

/* Runs the operator, after its initialisation at the first time; *persistent is kept for the next. */
HRESULT aten_remote_run(struct aten_remote *remote, IDMLCompiledOperator *op, ID3D12Resource **persistent,
                        const struct aten_place *inputs, uint32_t input_count, const struct aten_place *outputs,
                        uint32_t output_count);

#endif
