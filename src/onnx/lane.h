/* What device.c and exec.c share. */
#ifndef ONNX_LANE_H
#define ONNX_LANE_H

#include "onnx/exec.h"

#include <pthread.h>

/* Everything that one run in flight needs for itself. */
struct onnx_lane {
    struct onnx_lane *next;
    uint32_t id;
    ID3D12CommandQueue *queue;
    ID3D12Resource *temporary;
    uint64_t temporary_bytes;
    uint32_t generation; /* of the temporary buffer: lists recorded with another one are stale */
};

struct onnx_pool {
    struct onnx_device *device;
    uint64_t limit;
    ID3D12CommandQueue *queue; /* of all lanes; NULL: each has its own */
    pthread_mutex_t lock;      /* everything below */
    struct onnx_lane *idle;
    uint64_t idle_bytes;
    uint32_t next_id;
};

void onnx_release(void *object); /* any COM object, NULL is fine */
HRESULT onnx_exec_fail(struct onnx_error *error, HRESULT hr, const char *what);
ID3D12Resource *onnx_buffer(struct onnx_device *device, D3D12_HEAP_TYPE heap, uint64_t bytes, HRESULT *hr);

HRESULT onnx_lane_take(struct onnx_pool *pool, struct onnx_lane **out);
void onnx_lane_give(struct onnx_pool *pool, struct onnx_lane *lane);
HRESULT onnx_lane_temporary(struct onnx_pool *pool, struct onnx_lane *lane, uint64_t bytes);
/* Executes a closed list and waits for it. */
HRESULT onnx_lane_execute(struct onnx_lane *lane, ID3D12GraphicsCommandList *list);

#endif
