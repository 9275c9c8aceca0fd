/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by device.c and exec*.c. */
#ifndef ONNX_EXEC_CONTEXT_H
#define ONNX_EXEC_CONTEXT_H

#include "onnx/run/exec.h"

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
    ID3D12CommandQueue *queue;  /* shared by all execution contexts; NULL: each has its own */
    struct onnx_caches *caches; /* NULL: caches are the host's */
    pthread_mutex_t lock;       /* all following members */
    struct onnx_exec_context *idle;
    uint64_t idle_bytes;
    uint32_t next_id;
};

/* The buffer of one port in one execution context. */
struct onnx_exec_port {
    const void *seen;         /* the caller's memory of the last run */
    void *bounce;             /* host memory: replaces memory that is not aligned */
    ID3D12Resource *bound;    /* bound by the table, */
    uint64_t offset;          /* from here on */
    bool direct;              /* it is the caller's, or a cache that stays on the device */
    bool left;                /* input: its destination is such a cache, which contains its bytes already */
    bool fresh;               /* output: such a cache, created for a run that is not complete */
    ID3D12Resource *transfer; /* device memory: with an upload or readback buffer, and */
    void *mapped;             /* its address */
};

/* A command list with its own allocator. */
struct onnx_exec_recording {
    ID3D12CommandAllocator *allocator;
    ID3D12GraphicsCommandList *list;
};

struct onnx_exec_state {
    ID3D12DescriptorHeap *heap;
    IDMLBindingTable *table;
    struct onnx_exec_recording all, bare; /* bare: the dispatch alone, for onnx_exec_repeat; created on first use */
    struct onnx_exec_port *inputs, *outputs;
    struct onnx_exec_port lengths; /* one each LENGTH_PITCH bytes */
    DML_BUFFER_BINDING *buffers;   /* graph inputs, then graph outputs */
    DML_BINDING_DESC *descs;
    uint32_t generation; /* of the context's temporary buffer */
    bool recorded, bare_recorded;
};

struct onnx_exec {
    struct onnx_device *device;
    struct onnx_program *program;
    ID3D12Resource *persistent;
    uint64_t persistent_bytes, temporary_bytes;
    uint32_t descriptors;
    ID3D12QueryHeap *queries;          /* two timestamps around the dispatch; NULL: not measured */
    ID3D12Resource *ticks;             /* their destination, and */
    const uint64_t *mapped;            /* its address */
    uint64_t ticks_per_second;         /* of `times` dispatches */
    pthread_mutex_t lock;              /* the array; its elements belong to the user of the execution context */
    struct onnx_exec_state **contexts; /* by the context's id */
    uint32_t capacity, times;          /* times: of the dispatch between the timestamps */
};

/* ---- exec_caches.c ---- */
/* Output i, which is in the place of its past, in the buffer that the memory represents; *changed if the list must be
 * recorded again. Thread-safe. */
HRESULT onnx_exec_place_cache(struct onnx_exec *exec, struct onnx_pool *pool, struct onnx_exec_state *c, uint32_t i,
                              const void *memory, bool *changed);
/* After a run that failed; c NULL is fine. */
void onnx_exec_drop_caches(struct onnx_exec *exec, struct onnx_pool *pool, struct onnx_exec_state *c);
void onnx_caches_destroy(struct onnx_caches *caches);

/* ---- exec_parts.c ---- */
/* Some of its sizes are the most that there can be. */
bool onnx_port_partial(const struct onnx_port *port);
/* Copies between the caller's packed elements and the port's buffer, for a run with these lengths. */
void onnx_port_copy(const struct onnx_program *p, const struct onnx_port *about, const uint32_t *lengths, void *place,
                    void *packed, bool in);
/* Blocks that are common to two tensors whose shapes differ in at most one dimension. */
struct onnx_carrying {
    uint64_t count, from_bytes, to_bytes, bytes; /* blocks; of one there and here; that are carried */
};

/* An output starts with an input, both as the graph views them, or (lengths not NULL) the input as the caller does. */
struct onnx_carrying onnx_carrying_of(const struct onnx_program *p, uint32_t output, const uint32_t *lengths);

#define LENGTH_PITCH 16 /* alignment of bindings */

void onnx_exec_port_finish(struct onnx_exec_port *port);
/* Also resets the list's allocator. */
HRESULT onnx_exec_recording_reset(struct onnx_exec_recording *r);
/* The heap, list and table of a zeroed struct, which is destroyed also after a failure. */
HRESULT onnx_exec_state_open(struct onnx_exec *exec, struct onnx_exec_state *c, IDMLDispatchable *dispatchable);
void onnx_exec_state_destroy(struct onnx_exec *exec, struct onnx_exec_state *c); /* NULL is fine */
/* Runs the initializer of the program's operator. */
HRESULT onnx_exec_initialize(struct onnx_exec *exec);

void onnx_release(void *object); /* any COM object, NULL is fine */
HRESULT onnx_exec_fail(struct onnx_error *error, HRESULT hr, const char *what);
ID3D12Resource *onnx_buffer(struct onnx_device *device, D3D12_HEAP_TYPE heap, uint64_t bytes, HRESULT *hr);

/* The buffers of the program's weights, by graph input, and the upload buffers to be copied before the initializer
 * runs; all others stay NULL. Over host memory nothing is copied. The caller releases them, also after a failure. */
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
