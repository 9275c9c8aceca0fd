/* SPDX-License-Identifier: Apache-2.0 */
/* The device as plans and graphs use it. */
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
    uint64_t types;             /* bit i: computation with aten_type i is supported */
};

/* Writes "text", or "text (0x80070057)" for a failed hr. Returns false. */
bool aten_say(char *message, size_t message_bytes, HRESULT hr, const char *text);

#endif
