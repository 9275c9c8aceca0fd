/* SPDX-License-Identifier: Apache-2.0 */
/* What device.c and exec.c share. */
#ifndef ONNX_EXEC_CONTEXT_H
#define ONNX_EXEC_CONTEXT_H

#include "onnx/exec.h"

#include <pthread.h>

/* Everything that one run in flight needs for itself. */
struct onnx_exec_context {
    struct onnx_exec_context *next;
    uint32_t id;
    ID3D12CommandQueue *queue;
    ID3D12Resource *temporary;
    uint64_t temporary_bytes;
    uint32_t generation; /* of the temporary buffer: lists recorded with another one are stale */
};

struct onnx_pool {
    struct onnx_device *device;
    uint64_t limit;
    ID3D12CommandQueue *queue; /* of all execution contexts; NULL: each has its own */
    pthread_mutex_t lock;      /* everything below */
    struct onnx_exec_context *idle;
    uint64_t idle_bytes;
    uint32_t next_id;
};

void onnx_release(void *object); /* any COM object, NULL is fine */
HRESULT onnx_exec_fail(struct onnx_error *error, HRESULT hr, const char *what);
ID3D12Resource *onnx_buffer(struct onnx_device *device, D3D12_HEAP_TYPE heap, uint64_t bytes, HRESULT *hr);

/* The buffers of the program's weights, by graph input, and what they are copied from before the initializer runs; all
 * others stay NULL. Over the host's memory nothing is copied. The caller releases them, also after a failure. */
HRESULT onnx_weights_make(struct onnx_device *device, const struct onnx_program *program, ID3D12Resource **from,
                          DML_BUFFER_BINDING *to);
void onnx_weights_record(const struct onnx_program *program, ID3D12Resource *const *from, const DML_BUFFER_BINDING *to,
                         ID3D12GraphicsCommandList *list);

HRESULT onnx_exec_context_acquire(struct onnx_pool *pool, struct onnx_exec_context **out);
void onnx_exec_context_release(struct onnx_pool *pool, struct onnx_exec_context *context);
HRESULT onnx_exec_context_temporary(struct onnx_pool *pool, struct onnx_exec_context *context, uint64_t bytes);
/* Executes a closed list and waits for it. */
HRESULT onnx_exec_context_execute(struct onnx_exec_context *context, ID3D12GraphicsCommandList *list);

#endif
