/* SPDX-License-Identifier: Apache-2.0 */
/* A device as plans and graphs see it. */
#ifndef ANYDML_TORCH_DEVICE_H
#define ANYDML_TORCH_DEVICE_H

#include "remote.h"

#include <anydml_d3d12.h>
#include <anydml_dxcore.h>
#include <anydml.h>

struct aten_device {
    ID3D12Device *d3d;
    IDMLDevice1 *dml;
    ID3D12CommandQueue *queue;
    IDXCoreAdapter *adapter;
    bool host_memory;
    struct aten_remote *remote; /* NULL: host_memory */
    uint64_t types;             /* bit i: aten_type i can be computed with */
};

/* "text", or "text (0x80070057)" for an hr that failed. Returns false. */
bool aten_say(char *message, size_t message_bytes, HRESULT hr, const char *text);

#endif
