/* SPDX-License-Identifier: Apache-2.0 */
/* Constants that are bound when a program is initialised: their way to the device. */
#include "onnx/run/exec_context.h"

#include <anydml_d3d12.h>

/* A buffer that the host writes and the initializer reads, with these bytes. */
static ID3D12Resource *upload(struct onnx_device *device, const struct onnx_weight *weight, HRESULT *hr)
{
    ID3D12Resource *buffer = onnx_buffer(device, D3D12_HEAP_TYPE_UPLOAD, weight->bytes, hr);
    void *mapped = NULL;
    if (buffer)
        *hr = ID3D12Resource_Map(buffer, 0, NULL, &mapped);
    if (mapped)
        memcpy(mapped, weight->data, weight->bytes);
    return buffer;
}

HRESULT onnx_weights_make(struct onnx_device *device, const struct onnx_program *program, ID3D12Resource **from,
                          DML_BUFFER_BINDING *to)
{
    HRESULT hr = S_OK;
    for (const struct onnx_weight *w = program->weights; SUCCEEDED(hr) && w; w = w->next) {
        DML_BUFFER_BINDING *binding = &to[w->slot];
        binding->SizeInBytes = w->bytes;
        if (device->host_memory) {
            hr = AnydmlCreateBufferFromMemory(device->d3d, (void *)(uintptr_t)w->data, w->bytes, &IID_ID3D12Resource,
                                              (void **)&binding->Buffer);
            continue;
        }
        from[w->slot] = upload(device, w, &hr);
        if (SUCCEEDED(hr))
            binding->Buffer = onnx_buffer(device, D3D12_HEAP_TYPE_DEFAULT, w->bytes, &hr);
    }
    return hr;
}

void onnx_weights_record(const struct onnx_program *program, ID3D12Resource *const *from, const DML_BUFFER_BINDING *to,
                         ID3D12GraphicsCommandList *list)
{
    bool any = false;
    for (const struct onnx_weight *w = program->weights; w; w = w->next) {
        if (!from[w->slot])
            continue;
        ID3D12GraphicsCommandList_CopyBufferRegion(list, to[w->slot].Buffer, 0, from[w->slot], 0, w->bytes);
        any = true;
    }
    const D3D12_RESOURCE_BARRIER all = { .Type = D3D12_RESOURCE_BARRIER_TYPE_UAV };
    if (any)
        ID3D12GraphicsCommandList_ResourceBarrier(list, 1, &all);
}
