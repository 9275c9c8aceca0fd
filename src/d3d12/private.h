/* SPDX-License-Identifier: Apache-2.0 */
/* The private interface between libdirectml and a Direct3D 12 device: QueryInterface the ID3D12Device for
 * IID_AnydmlDevice. Other runtimes return E_NOINTERFACE. The two libraries are built together: the ABI is not stable,
 * and `version` detects mixed installations. Callable from any thread. */
#ifndef D3D12_PRIVATE_H
#define D3D12_PRIVATE_H

#include "d3d12/adapter.h"

/* {7b0f3c52-9a41-4e5d-8a3e-2c1d6f0b9e17} */
static const IID IID_AnydmlDevice = { 0x7b0f3c52, 0x9a41, 0x4e5d, { 0x8a, 0x3e, 0x2c, 0x1d, 0x6f, 0x0b, 0x9e, 0x17 } };

#define ANYDML_DEVICE_VERSION 9

/* One buffer range as libdirectml stores it in a descriptor slot: a weak reference, checked again at submission. */
struct anydml_buffer {
    uint64_t resource_id; /* 0 = nothing bound */
    uint64_t offset, size;
};

struct anydml_resource_info {
    uint64_t resource_id; /* unique for the process's life */
    uint64_t width;       /* bytes */
    D3D12_HEAP_TYPE heap_type;
    D3D12_RESOURCE_FLAGS flags;
    uint64_t
        memory_id; /* equal for resources that are placed in one heap, and for all in the application's own memory */
    uint64_t memory_offset; /* of the resource within it; aligned as the resource's address is */
};

/* Bytes at a device address; address 0: nothing. */
struct anydml_range {
    uint64_t address, bytes;
};

/* A dispatch on addresses: its bindings are the ranges, and behind them temporary memory of the queue. */
struct anydml_run {
    struct adapter_dispatch *dispatch;
    const struct anydml_range *ranges;
    uint32_t count;
    uint32_t
        wrong; /* out, with E_INVALIDARG: the first range that is not in memory of the device; `count`: the queue */
    uint64_t temp_bytes;
};

/* A range of descriptors. `owner`: whose bindings are written; identity only, NULL: unknown. */
struct anydml_descriptors {
    D3D12_CPU_DESCRIPTOR_HANDLE cpu;
    D3D12_GPU_DESCRIPTOR_HANDLE gpu;
    UINT count;
    const void *owner;
};

/* What AnydmlDevice's FindDescriptors answers. */
enum anydml_found { ANYDML_FOUND, ANYDML_FOUND_NO_CPU, ANYDML_FOUND_NO_GPU };

/* What RecordDispatch answers besides its result; zeroed before. */
struct anydml_recording {
    bool heap_not_set;                   /* the range's heap was not set by SetDescriptorHeaps */
    char message[ADAPTER_MESSAGE_BYTES]; /* of a failure; "": the HRESULT is sufficient */
};

typedef struct AnydmlDevice AnydmlDevice;
typedef HRESULT AnydmlDeviceWriteDescriptors(AnydmlDevice *self, const struct anydml_descriptors *range, UINT first,
                                             UINT count, const struct anydml_buffer *buffers, char *message);
typedef HRESULT AnydmlDeviceRecordDispatch(AnydmlDevice *self, ID3D12CommandList *list,
                                           struct adapter_dispatch *dispatch, const struct anydml_descriptors *range,
                                           const struct anydml_buffer *buffers, struct anydml_recording *out);
typedef HRESULT AnydmlDeviceCreateMemory(AnydmlDevice *self, enum adapter_memory_kind kind, uint64_t size,
                                         struct adapter_memory **out, char *message);
/* Without writes: finishes earlier ones, of all memory. */
typedef HRESULT AnydmlDeviceWriteMemory(AnydmlDevice *self, struct adapter_memory *memory,
                                        const struct adapter_write *writes, uint32_t count,
                                        const struct adapter_writing *how);
typedef HRESULT AnydmlDeviceCreatePipelines(AnydmlDevice *self, const struct adapter_pipeline_desc *descs,
                                            uint32_t count, struct adapter_pipeline **out);
typedef HRESULT AnydmlDeviceCreateSequence(AnydmlDevice *self, const struct adapter_step *steps, uint32_t count,
                                           struct adapter_memory *parameters, uint32_t table_count,
                                           struct adapter_sequence **out);

typedef HRESULT AnydmlDeviceResolveBindings(AnydmlDevice *self, D3D12_GPU_DESCRIPTOR_HANDLE handle, UINT count,
                                            const struct anydml_buffer *buffers, struct adapter_binding *out,
                                            char *message);
typedef HRESULT AnydmlDeviceRecordCommands(AnydmlDevice *self, void *commands, struct adapter_dispatch *dispatch,
                                           const struct adapter_binding *bindings, UINT count,
                                           struct adapter_recorded **io, char *message);

struct AnydmlDeviceVtbl {
    HRESULT (*QueryInterface)(AnydmlDevice *self, REFIID riid, void **out);
    ULONG (*AddRef)(AnydmlDevice *self);
    ULONG (*Release)(AnydmlDevice *self);

    uint32_t (*GetVersion)(AnydmlDevice *self);
    const struct adapter_info *(*GetAdapterInfo)(AnydmlDevice *self);
    /* The worker count of the cpu adapter (ANYDML_THREADS, or the number of CPUs). */
    uint32_t (*GetThreadCount)(AnydmlDevice *self);

    /* Whether RecordDispatch records the commands immediately, in a list of another runtime, which executes them when
     * and as often as the application likes. */
    BOOL (*RecordsAtOnce)(AnydmlDevice *self);

    /* S_OK, or why the device is removed. */
    HRESULT (*GetRemovedReason)(AnydmlDevice *self);

    /* false: not a live buffer resource of this device. */
    BOOL (*GetResourceInfo)(AnydmlDevice *self, ID3D12Resource *resource, struct anydml_resource_info *out);

    /* Whether the handles begin ranges of an existing CBV_SRV_UAV heap of this device, the second of a shader-visible
     * one. Devices of others believe handles that are not 0. */
    enum anydml_found (*FindDescriptors)(AnydmlDevice *self, const struct anydml_descriptors *range);
    /* Writes slots [first, +count) of the range, which was found before but may have died since: then E_INVALIDARG.
     * Commands that were recorded with the range's descriptors use them from now on, if the device can change them;
     * `message` (512 bytes) receives why it cannot. */
    AnydmlDeviceWriteDescriptors *WriteDescriptors;

    /* Appends a dispatch of the range's slots: buffers[i] if given and not empty, else the descriptor there when the
     * list is submitted; `buffers` may be NULL. Adds a reference and copies the buffers. Fails if the list is not open,
     * of the wrong type, or of another device; resets the list's pipeline state and compute root signature. */
    AnydmlDeviceRecordDispatch *RecordDispatch;
    /* The application has released a dispatchable, or reset it: what was recorded for it is not executed any more. */
    void (*ForgetOwner)(AnydmlDevice *self, const void *owner);
    /* Makes Close return `hr`, a failure. Ignored if `list` is not a list of this device. */
    void (*PoisonCommandList)(AnydmlDevice *self, ID3D12CommandList *list, HRESULT hr);

    void (*RemoveDevice)(AnydmlDevice *self, HRESULT reason, const char *message);
    /* To the info queue (category APPLICATION_DEFINED, STRING_FROM_APPLICATION) and to stderr by ANYDML_LOG. */
    void (*Message)(AnydmlDevice *self, D3D12_MESSAGE_SEVERITY severity, const char *text);

    /* SPIRV adapters: device memory, pipelines and sequences for compiled operators. */
    AnydmlDeviceCreateMemory *CreateMemory; /* `message` (512 bytes) receives why there is no memory, or "" */
    void (*DestroyMemory)(AnydmlDevice *self, struct adapter_memory *memory);
    AnydmlDeviceWriteMemory *WriteMemory;
    AnydmlDeviceCreatePipelines *CreatePipelines; /* they live as long as the device */
    HRESULT (*TestKernel)(AnydmlDevice *self, const struct adapter_kernel_test *test); /* kernel_test */
    AnydmlDeviceCreateSequence *CreateSequence;
    void (*DestroySequence)(AnydmlDevice *self, struct adapter_sequence *sequence);

    /* Devices of AnydmlVulkanCreateDevice, else DXGI_ERROR_UNSUPPORTED; `message` (512 bytes) receives the reason.
     * ResolveBindings: the current meaning of RecordDispatch's arguments of these names. RecordCommands: records the
     * dispatch into the application's VkCommandBuffer; *io, initially NULL, holds what the commands need until their
     * last execution, and may be passed again to record the same bindings once more. */
    AnydmlDeviceResolveBindings *ResolveBindings;
    AnydmlDeviceRecordCommands *RecordCommands;
    void (*DestroyRecorded)(AnydmlDevice *self, struct adapter_recorded *recorded);

    /* SPIRV adapters: executes the dispatch, which is not checked, after all previous work of the queue. The dispatch,
     * and the heaps and resources of the ranges, are kept until it has been executed. */
    HRESULT (*RunDispatch)(AnydmlDevice *self, ID3D12CommandQueue *queue, struct anydml_run *run);
};
struct AnydmlDevice {
    const struct AnydmlDeviceVtbl *lpVtbl;
};

/* Of interop.c; without Vulkan, of interop_absent.c. */
AnydmlDeviceResolveBindings d3d_private_ResolveBindings;
AnydmlDeviceRecordCommands d3d_private_RecordCommands;
void d3d_private_DestroyRecorded(AnydmlDevice *self, struct adapter_recorded *recorded);

#endif
