/* SPDX-License-Identifier: Apache-2.0 */
/* Devices whose memory the host cannot access: buffers found by device address, copies, numbers and timeline points. A
 * copy is complete when it returns; concurrent copies wait for each other. */
#ifndef ANYDML_TORCH_REMOTE_H
#define ANYDML_TORCH_REMOTE_H

#include "aten.h"

#include <anydml.h>
#include <anydml_d3d12.h>

struct aten_remote;

HRESULT aten_remote_create(ID3D12Device *d3d, ID3D12CommandQueue *queue, struct aten_remote **out);
void aten_remote_destroy(struct aten_remote *remote);

/* Returns a device address, or NULL. */
void *aten_remote_allocate(struct aten_remote *remote, size_t bytes);
void aten_remote_free(struct aten_remote *remote, void *address);
uint64_t aten_remote_used(struct aten_remote *remote); /* bytes */
HRESULT aten_remote_copy(struct aten_remote *remote, void *to, const void *from, size_t bytes,
                         enum aten_direction direction);

/* An argument of an operator that is not a tensor. */
struct aten_number {
    _Alignas(16) uint32_t words[8];
};

/* Reserves memory for `count` numbers that the device reads at *out_address. After success the caller must call
 * aten_remote_end_numbers, once the run that reads them has been submitted to the queue. */
HRESULT aten_remote_begin_numbers(struct aten_remote *remote, uint32_t count, struct aten_number **out,
                                  uint64_t *out_address);
void aten_remote_end_numbers(struct aten_remote *remote);

/* As aten_mark and the others. Copies are complete when they return; runs must be reported with aten_remote_note_run
 * after they were submitted. */
void aten_remote_note_run(struct aten_remote *remote);
uint64_t aten_remote_mark(struct aten_remote *remote);
bool aten_remote_reached(struct aten_remote *remote, uint64_t mark);
void aten_remote_wait(struct aten_remote *remote, uint64_t mark);

#endif
