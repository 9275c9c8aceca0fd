/* A compiled model on a device: initialised once, executed from one recorded list as often as wanted. */
#ifndef TOOLS_PROGRAM_H
#define TOOLS_PROGRAM_H

#include "onnx/onnx.h"
#include "tools/npy.h"
#include "tools/session.h"

struct tools_program {
    struct tools_session *session;
    const struct onnx_program *onnx;
    IDMLBindingTable *table;
    ID3D12DescriptorHeap *heap;
    ID3D12Resource *persistent, *temporary;
    ID3D12Resource **inputs, **outputs; /* by slot of the graph; NULL for weights */
    ID3D12CommandAllocator *allocator;
    ID3D12GraphicsCommandList *list;
    ID3D12QueryHeap *queries;
    ID3D12Resource *ticks; /* two timestamps around the dispatch */
    uint64_t ticks_per_second;
    uint64_t temporary_bytes, persistent_bytes;
    double initialize_ms;
};

/* Both `onnx` and `session` must outlive the program. Weights are uploaded here; input buffers hold zeros. */
bool tools_program_create(struct tools_session *session, const struct onnx_program *onnx, struct tools_program **out,
                          struct tools_error *error);
void tools_program_destroy(struct tools_program *program); /* NULL is fine */

/* array->bytes must be those of the port. */
bool tools_program_set_input(struct tools_program *program, uint32_t index, const struct tools_array *array,
                             struct tools_error *error);

/* One execution. Milliseconds by the host's clock, submission to completion, and between the device's timestamps. */
bool tools_program_run(struct tools_program *program, double *host_ms, double *device_ms, struct tools_error *error);

/* A copy of output `index` with the shape of its port. */
bool tools_program_get_output(struct tools_program *program, uint32_t index, struct tools_array *out,
                              struct tools_error *error);

/* onnx_model_load; messages begin with the path. */
bool tools_model_load(const char *path, struct onnx_model **out, struct tools_error *error);

/* onnx_compile with its time, its error sorted into usage and runtime. */
bool tools_compile(struct tools_session *session, const struct onnx_model *model, struct onnx_input *inputs,
                   DML_EXECUTION_FLAGS flags, struct onnx_program **out, double *ms, struct tools_error *error);

#endif
