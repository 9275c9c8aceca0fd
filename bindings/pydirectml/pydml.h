/* SPDX-License-Identifier: Apache-2.0 */
/* Functions for the Python module in addition to anydml_graph.h: devices of any adapter, and compiled operators that
 * run on host memory. Python calls them through ctypes (python/pydirectml/_native.py); they do not depend on Python.
 * Functions that can fail return an HRESULT. */
#ifndef PYDML_H
#define PYDML_H

#include <stdbool.h>
#include <stdint.h>

#include <anydml_graph.h>

#define PYDML_EXPORT __attribute__((visibility("default")))

struct pydml_device {
    ID3D12Device *d3d;
    ID3D12CommandQueue *queue;
    ID3D12InfoQueue *messages; /* NULL without the debug layer */
    IDMLDevice *dml;
    bool host; /* its buffers may be over host memory: the cpu adapter */
    bool gpu;
    char name[256];
};

/* A tensor of a model: size according to its description, and whether it is bound to the initializer. */
struct pydml_slot {
    uint64_t bytes; /* TotalTensorSizeInBytes; 0: the input does not exist */
    uint32_t owned;
};

/* The caller's memory. It may end before the bytes that round a tensor's size up to a multiple of 4; data is NULL for
 * an input that is not given. */
struct pydml_memory {
    void *data;
    uint64_t bytes;
};

/* How many adapters there are. */
PYDML_EXPORT uint32_t pydml_adapter_count(void);

/* The device of an adapter: index, or with index -1 the default adapter (gpu) or the first that is no GPU,
 * if there is such, the CPU. DXGI_ERROR_NOT_FOUND for an adapter that does not exist. */
PYDML_EXPORT HRESULT pydml_device_create(int32_t index, uint32_t gpu, uint32_t debug, struct pydml_device **out);
PYDML_EXPORT void pydml_device_destroy(struct pydml_device *device);
PYDML_EXPORT IDMLDevice *pydml_device_dml(const struct pydml_device *device);
PYDML_EXPORT const char *pydml_device_name(const struct pydml_device *device);
PYDML_EXPORT uint32_t pydml_device_is_gpu(const struct pydml_device *device);
/* Returns the last error that the debug layer stored, and discards all: "" for none. */
PYDML_EXPORT void pydml_device_message(struct pydml_device *device, char *out, uint32_t room);

/* A compiled operator, of which it takes ownership, with all memory that running it needs. The device must outlive it.
 * Slots are copied. */
struct pydml_model;
PYDML_EXPORT HRESULT pydml_model_create(struct pydml_device *device, IDMLCompiledOperator *op,
                                        const struct pydml_slot *inputs, uint32_t input_count,
                                        const struct pydml_slot *outputs, uint32_t output_count,
                                        struct pydml_model **out);
PYDML_EXPORT void pydml_model_destroy(struct pydml_model *model);

/* Runs it and waits. E_INVALIDARG if memory has fewer bytes than its slot, or is missing for an output. Owned inputs
 * are read when the first run starts and never again; until that one has succeeded no other may be in progress. Later
 * ones may overlap on the cpu adapter. */
PYDML_EXPORT HRESULT pydml_model_run(struct pydml_model *model, const struct pydml_memory *inputs,
                                     const struct pydml_memory *outputs);
/* Whether runs may overlap, after the first. */
PYDML_EXPORT uint32_t pydml_model_is_shared(const struct pydml_model *model);

/* ---- between device.c and model.c ---- */

/* Releases an object and clears the pointer; does nothing for NULL. */
void pydml_release(void *object);
HRESULT pydml_buffer(const struct pydml_device *device, D3D12_HEAP_TYPE heap, uint64_t bytes, ID3D12Resource **out);

/* Models on devices with their own memory (model_device.c). */
struct pydml_remote;
HRESULT pydml_remote_create(struct pydml_device *device, IDMLCompiledOperator *op, const struct pydml_model *model,
                            struct pydml_remote **out);
void pydml_remote_destroy(struct pydml_remote *remote);
HRESULT pydml_remote_initialize(struct pydml_remote *remote, const struct pydml_memory *inputs);
HRESULT pydml_remote_run(struct pydml_remote *remote, const struct pydml_memory *inputs,
                         const struct pydml_memory *outputs);

struct pydml_model {
    struct pydml_device *device;
    IDMLCompiledOperator *op;
    struct pydml_slot *inputs, *outputs; /* one allocation */
    uint32_t input_count, output_count;
    struct pydml_remote *remote; /* NULL on the cpu adapter */
    bool owns;                   /* some input is owned */
    bool ready;                  /* owned inputs were read */
};

#endif
