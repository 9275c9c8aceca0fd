/* SPDX-License-Identifier: Apache-2.0 */
/* Programs on a device: everything between a compiled graph and the callers' host memory. Devices and programs may be
 * used by any number of threads concurrently; each run in flight has its own queue. Uses the public Direct3D and
 * DirectML interfaces only. */
#ifndef ONNX_EXEC_H
#define ONNX_EXEC_H

#include "onnx/onnx.h"

/* Addresses that represent buffers without host access: callers' tensors on the device. Thread-safe. */
struct onnx_memory {
    /* The buffer with [address, +bytes), referenced, and the offset in it; NULL: a host address. */
    ID3D12Resource *(*resolve)(const void *address, uint64_t bytes, uint64_t *out_offset);
    HRESULT (*copy)(void *to, const void *from, uint64_t bytes); /* each a represented or a host address */
};

/* One adapter, opened. */
struct onnx_device {
    uint32_t adapter; /* index in DXCore's list of compute adapters */
    ID3D12Device *d3d;
    IDMLDevice1 *dml;
    IDMLCommandRecorder *recorder;
    bool host_memory;                 /* buffers can be created over the callers' memory: nothing is copied */
    const struct onnx_memory *memory; /* NULL: callers' tensors are all in host memory; else queried by runs */
};

HRESULT onnx_device_open(uint32_t adapter, struct onnx_device **out, struct onnx_error *error);
/* Over a device of the caller's, which is kept until it is closed. */
HRESULT onnx_device_wrap(IDMLDevice *dml, struct onnx_device **out, struct onnx_error *error);
void onnx_device_close(struct onnx_device *device); /* NULL is fine; after all programs and pools on it */

/* Queues and temporary memory that runs of many programs share, one execution context per run in flight. `limit` bounds
 * the bytes of temporary memory that idle execution contexts keep (0: none). */
struct onnx_pool;
HRESULT onnx_pool_create(struct onnx_device *device, uint64_t limit, struct onnx_pool **out);
/* All execution contexts use the caller's queue, of the same device, which is kept; before the first run. */
void onnx_pool_use_queue(struct onnx_pool *pool, ID3D12CommandQueue *queue);
/* On devices with their own memory, data that is carried from an input to an output in the same host memory stays on
 * the device: the host's memory is read at first use, and not written any more. Before the first run. */
HRESULT onnx_pool_keep_caches(struct onnx_pool *pool);
void onnx_pool_destroy(struct onnx_pool *pool); /* after all programs that ran in it */
void onnx_pool_trim(struct onnx_pool *pool);    /* frees the temporary memory of idle execution contexts */

/* A program, initialised on the device. */
struct onnx_exec;

/* Takes ownership of the program, even on failure. */
HRESULT onnx_exec_create(struct onnx_device *device, struct onnx_program *program, struct onnx_exec **out,
                         struct onnx_error *error);
void onnx_exec_destroy(struct onnx_exec *exec); /* when no run is in flight */
const struct onnx_program *onnx_exec_program(const struct onnx_exec *exec);

/* inputs[i] and outputs[i] belong to the program's ports: packed elements of the sizes that onnx_port_dims returns for
 * the lengths (by number; NULL: the program has none; ports with lengths are in host memory), in host memory or the
 * device's (onnx_device.memory), where they are used in place; ports without a slot (`constant`) are not read, but
 * constant outputs are written. Returns when the outputs are complete. */
HRESULT onnx_exec_run(struct onnx_exec *exec, struct onnx_pool *pool, const uint32_t *lengths,
                      const void *const *inputs, void *const *outputs, struct onnx_error *error);

/* Repeats the last run's execution on the buffers that it left on the device: nothing is copied there or back. For
 * programs that one thread runs, after a run. */
HRESULT onnx_exec_repeat(struct onnx_exec *exec, struct onnx_pool *pool, struct onnx_error *error);

/* From now on runs, or after runs without it those of onnx_exec_repeat, are enclosed in two timestamps of the device,
 * and the last one's milliseconds can be queried. `times`: number of repetitions, over which it averages. For programs
 * that one thread runs. */
HRESULT onnx_exec_watch(struct onnx_exec *exec, struct onnx_pool *pool, uint32_t times);
double onnx_exec_device_ms(const struct onnx_exec *exec);

#endif
