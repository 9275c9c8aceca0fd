/* SPDX-License-Identifier: Apache-2.0 */
/* What dml_api.c works with: checks, a model, sessions and devices. For one file. */
#ifndef DML_API_H
#define DML_API_H

#include "../../bindings/onnxruntime/include/dml_provider_factory.h"

#include <anydml.h>
#include <anydml_d3d12.h>
#include <anydml_dxcore.h>
#include <DirectMLGuids.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 4

/* An ONNX model: y = Add(x, x), both float[4]. */
static const unsigned char model[] = {
    8,  8, 18,  0,  58, 53, 10, 14,  10, 1,  120, 10, 1, 120, 18, 1,  121, 34, 3, 65, 100, 100,
    18, 1, 103, 90, 15, 10, 1,  120, 18, 10, 10,  8,  8, 1,   18, 4,  10,  2,  8, 4,  98,  15,
    10, 1, 121, 18, 10, 10, 8,  8,   1,  18, 4,   10, 2, 8,   4,  66, 4,   10, 0, 16, 13,
};

static const OrtApi *ort;
static const OrtDmlApi *dml;
static int failures;
static bool has_dml_memory; /* hosts before 1.27 know the provider's host accessible memory only */

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                                     \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

#define OK(call)                  CHECK(passes((call), #call))
#define REFUSED(call, code, part) CHECK(refuses((call), (code), (part)))

static bool passes(OrtStatus *status, const char *what)
{
    if (status)
        printf("%s: %s\n", what, ort->GetErrorMessage(status));
    ort->ReleaseStatus(status);
    return !status;
}

static bool refuses(OrtStatus *status, OrtErrorCode code, const char *part)
{
    bool as_wanted = status && ort->GetErrorCode(status) == code && strstr(ort->GetErrorMessage(status), part);
    if (!as_wanted)
        printf("wanted '%s', got '%s'\n", part, status ? ort->GetErrorMessage(status) : "no error");
    ort->ReleaseStatus(status);
    return as_wanted;
}

static unsigned long refs(void *object)
{
    IUnknown_AddRef((IUnknown *)object);
    return IUnknown_Release((IUnknown *)object);
}

/* ---- sessions ---- */

static OrtSessionOptions *new_options(void)
{
    OrtSessionOptions *options = NULL;
    OK(ort->CreateSessionOptions(&options));
    OK(ort->SetIntraOpNumThreads(options, 1));
    OK(ort->AddSessionConfigEntry(options, "session.disable_cpu_ep_fallback", "1"));
    return options;
}

static OrtSession *new_session(OrtEnv *env, OrtSessionOptions *options)
{
    OrtSession *session = NULL;
    OK(ort->CreateSessionFromArray(env, model, sizeof(model), options, &session));
    return session;
}

static OrtValue *tensor_over(const OrtMemoryInfo *info, void *data)
{
    const int64_t dims[] = { COUNT };
    OrtValue *value = NULL;
    OK(ort->CreateTensorWithDataAsOrtValue(info, data, COUNT * sizeof(float), dims, 1,
                                           ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
    return value;
}

static void run_over(OrtSession *session, const OrtMemoryInfo *info, void *x, void *y)
{
    const char *in = "x", *out = "y";
    OrtValue *input = tensor_over(info, x), *output = tensor_over(info, y);
    if (session)
        OK(ort->Run(session, NULL, &in, (const OrtValue *const *)&input, 1, &out, 1, &output));
    ort->ReleaseValue(input);
    ort->ReleaseValue(output);
}

/* Runs on memory of the program's. */
static void run_plain(OrtEnv *env, OrtSessionOptions *options)
{
    float x[COUNT] = { 1, 2, 3, -4 }, y[COUNT] = { 0 };
    OrtMemoryInfo *cpu = NULL;
    OrtSession *session = new_session(env, options);
    OK(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
    run_over(session, cpu, x, y);
    for (int i = 0; i < COUNT; i++)
        CHECK(y[i] == 2 * x[i]);
    ort->ReleaseMemoryInfo(cpu);
    ort->ReleaseSession(session);
}

/* ---- Direct3D ---- */

struct gpu {
    ID3D12Device *d3d;
    IDMLDevice *dml;
    ID3D12CommandQueue *queue;
    ID3D12Fence *fence;
};

/* adapter NULL: the default one. */
static struct gpu gpu_open(IDXCoreAdapter *adapter, D3D12_COMMAND_LIST_TYPE type)
{
    struct gpu g = { 0 };
    D3D12_COMMAND_QUEUE_DESC desc = { .Type = type };
    CHECK(SUCCEEDED(
        D3D12CreateDevice((IUnknown *)adapter, D3D_FEATURE_LEVEL_1_0_CORE, &IID_ID3D12Device, (void **)&g.d3d)));
    CHECK(SUCCEEDED(DMLCreateDevice(g.d3d, DML_CREATE_DEVICE_FLAG_NONE, &IID_IDMLDevice, (void **)&g.dml)));
    CHECK(SUCCEEDED(ID3D12Device_CreateCommandQueue(g.d3d, &desc, &IID_ID3D12CommandQueue, (void **)&g.queue)));
    CHECK(SUCCEEDED(ID3D12Device_CreateFence(g.d3d, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, (void **)&g.fence)));
    return g;
}

/* Nothing else holds them any more; the adapter's ID3D12Device is the same for all. */
static void gpu_close(struct gpu *g, unsigned long others)
{
    ID3D12Fence_Release(g->fence);
    CHECK(ID3D12CommandQueue_Release(g->queue) == 0);
    CHECK(IDMLDevice_Release(g->dml) == 0);
    unsigned long left = ID3D12Device_Release(g->d3d);
    CHECK((left > 0) == (others > 0));
}

static ID3D12Resource *new_buffer(ID3D12Device *d3d, D3D12_HEAP_TYPE type)
{
    D3D12_HEAP_PROPERTIES heap = { .Type = type, .CreationNodeMask = 1, .VisibleNodeMask = 1 };
    D3D12_RESOURCE_DESC desc = {
        .Dimension = D3D12_RESOURCE_DIMENSION_BUFFER,
        .Width = COUNT * sizeof(float),
        .Height = 1,
        .DepthOrArraySize = 1,
        .MipLevels = 1,
        .SampleDesc = { 1, 0 },
        .Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        .Flags =
            type == D3D12_HEAP_TYPE_DEFAULT ? D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS : D3D12_RESOURCE_FLAG_NONE,
    };
    D3D12_RESOURCE_STATES state =
        type == D3D12_HEAP_TYPE_DEFAULT ? D3D12_RESOURCE_STATE_COMMON : D3D12_RESOURCE_STATE_COPY_DEST;
    ID3D12Resource *buffer = NULL;
    CHECK(SUCCEEDED(ID3D12Device_CreateCommittedResource(d3d, &heap, D3D12_HEAP_FLAG_NONE, &desc, state, NULL,
                                                         &IID_ID3D12Resource, (void **)&buffer)));
    return buffer;
}

#endif
