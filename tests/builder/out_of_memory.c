/* SPDX-License-Identifier: Apache-2.0 */
/* A graph while one allocation of the builder after the other fails: E_OUTOFMEMORY and a message, no crash, and the
 * next graph is made. The builder is compiled into this program, with malloc, calloc and realloc of its own. */
#include <stdio.h>
#include <stdlib.h>

#include <DirectMLGuids.h>
#include <anydml_graph.h>

#define F32 DML_TENSOR_DATA_TYPE_FLOAT32

static int countdown = -1; /* allocations until one fails; below 0: none does */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size)
{
    return countdown >= 0 && !countdown-- ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return countdown >= 0 && !countdown-- ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return countdown >= 0 && !countdown-- ? NULL : __real_realloc(old, size);
}

static HRESULT build(IDMLDevice *device)
{
    static const float elements[12];
    struct anydml_graph *graph;
    IDMLCompiledOperator *compiled;
    anydml_expr index;
    HRESULT hr = AnydmlGraphCreate(device, &graph);
    if (FAILED(hr))
        return hr;
    anydml_expr x = AnydmlGraphInput(graph, 0, F32, 2, (UINT[]){ 2, 3 });
    anydml_expr w = AnydmlGraphConstant(graph, F32, 2, (UINT[]){ 3, 4 }, elements);
    anydml_expr y = AnydmlGemm(graph, x, w, NULL);
    struct anydml_top_k1_options top = { .OutputIndexTensor = { &index }, .Axis = 1, .K = 2 };
    anydml_expr outputs[] = { AnydmlTopK1(graph, y, &top), y };
    hr = AnydmlGraphCompile(graph, DML_EXECUTION_FLAG_NONE, 2, outputs, &compiled);
    if (SUCCEEDED(hr))
        IDMLCompiledOperator_Release(compiled);
    else if (!*AnydmlGraphMessage(graph))
        hr = E_FAIL;
    AnydmlGraphDestroy(graph);
    return hr;
}

int main(void)
{
    ID3D12Device *d3d12;
    IDMLDevice *device;
    int failed = 0;
    if (FAILED(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_1_0_CORE, &IID_ID3D12Device, (void **)&d3d12)) ||
        FAILED(DMLCreateDevice(d3d12, DML_CREATE_DEVICE_FLAG_NONE, &IID_IDMLDevice, (void **)&device)))
        return 1;
    for (;; failed++) {
        countdown = failed;
        HRESULT hr = build(device);
        const int reached = countdown < 0;
        countdown = -1;
        if (!reached)
            break;
        if (hr != E_OUTOFMEMORY || FAILED(build(device))) {
            printf("allocation %d: 0x%08x\n", failed, (unsigned)hr);
            return 1;
        }
    }
    IDMLDevice_Release(device);
    ID3D12Device_Release(d3d12);
    printf("%d allocations\n", failed);
    return failed < 10;
}
