/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that ONNX Runtime's DirectML provider adds to ONNX Runtime's own, exported by this provider's library
 * (libonnxruntime_ep_directml.so): link with it, or load it with dlopen and look them up. They need an OrtEnv; the
 * library registers itself with it if the program has not done so. Thread-safe.
 *
 * ONNX Runtime's GetExecutionProviderApi("DML") supports built-in providers only; use OrtGetDmlApi instead. */
#ifndef DML_PROVIDER_FACTORY_H
#define DML_PROVIDER_FACTORY_H

#include <onnxruntime_c_api.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct IDMLDevice IDMLDevice;
typedef struct ID3D12CommandQueue ID3D12CommandQueue;
typedef struct ID3D12Resource ID3D12Resource;

/* Kinds of adapters; they may be combined with |. */
#ifdef __cplusplus
enum OrtDmlDeviceFilter : uint32_t {
#else
typedef enum OrtDmlDeviceFilter {
#endif
    Any = 0xffffffff,
    Gpu = 1 << 0,
    Npu = 1 << 1,
#ifdef __cplusplus
};
#else
} OrtDmlDeviceFilter;
#endif

typedef enum OrtDmlPerformancePreference {
    Default = 0,
    HighPerformance = 1, /* GPUs, those with memory of their own first */
    MinimumPower = 2     /* GPUs, integrated ones first */
} OrtDmlPerformancePreference;

typedef struct OrtDmlDeviceOptions {
    OrtDmlPerformancePreference Preference;
    OrtDmlDeviceFilter Filter;
} OrtDmlDeviceOptions;

/* As the entries DML and DML1 of OrtDmlApi. */
ORT_EXPORT ORT_API_STATUS(OrtSessionOptionsAppendExecutionProvider_DML, _In_ OrtSessionOptions *options, int device_id);
ORT_EXPORT ORT_API_STATUS(OrtSessionOptionsAppendExecutionProviderEx_DML, _In_ OrtSessionOptions *options,
                          _In_ IDMLDevice *dml_device, _In_ ID3D12CommandQueue *cmd_queue);

typedef struct OrtDmlApi {
    /* The provider on the adapter of that number, as `anydml devices` lists them. */
    ORT_API2_STATUS(SessionOptionsAppendExecutionProvider_DML, _In_ OrtSessionOptions *options, int device_id);

    /* The provider on the caller's device; all runs are submitted to the caller's queue (DIRECT or COMPUTE), whose
     * device must be the DirectML device's parent. Both are referenced until the library is unregistered, at the latest
     * by the end of the OrtEnv, since several sessions may be created with the options. */
    ORT_API2_STATUS(SessionOptionsAppendExecutionProvider_DML1, _In_ OrtSessionOptions *options,
                    _In_ IDMLDevice *dml_device, _In_ ID3D12CommandQueue *cmd_queue);

    /* The address of a buffer's memory, for tensors over it: CreateTensorWithDataAsOrtValue with the provider's memory
     * info, the CPU's, or one named "DML" (IoBinding copies inputs of the last kind when they are bound). For buffers
     * of adapters that use host memory, else ORT_NOT_IMPLEMENTED. The buffer is referenced until FreeGPUAllocation,
     * which must be called once for each call. */
    ORT_API2_STATUS(CreateGPUAllocationFromD3DResource, _In_ ID3D12Resource *d3d_resource, _Out_ void **dml_resource);
    ORT_API2_STATUS(FreeGPUAllocation, _In_ void *dml_resource);

    /* The buffer of such an address, or of one from the provider's allocators. The caller releases it. */
    ORT_API2_STATUS(GetD3D12ResourceFromAllocation, _In_ OrtAllocator *provider, _In_ void *dml_resource,
                    _Out_ ID3D12Resource **d3d_resource);

    /* The provider on the adapter that suits best; NULL options: any adapter. */
    ORT_API2_STATUS(SessionOptionsAppendExecutionProvider_DML2, _In_ OrtSessionOptions *options,
                    OrtDmlDeviceOptions *device_opts);

    /* The device and queue of sessions that are created with these options from now on. The caller releases them. */
    ORT_API2_STATUS(GetDMLDevice, _In_ OrtSessionOptions *options, _Out_ IDMLDevice **dmlDevice);
    ORT_API2_STATUS(GetDMLCommandQueue, _In_ OrtSessionOptions *options, _Out_ ID3D12CommandQueue **dmlCommandQueue);
} OrtDmlApi;

/* The table, or NULL when no ONNX Runtime (1.23 or newer) is found in the process. */
ORT_EXPORT const OrtDmlApi *ORT_API_CALL OrtGetDmlApi(void);

#ifdef __cplusplus
}
#endif

#endif
