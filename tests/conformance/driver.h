/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance driver: runs single operators that tests/conformance/conformance.py describes on its standard input.
 *
 * Words are 32 bits, little-endian; bytes are padded to whole words. A request is its length in bytes, then
 *     DML_OPERATOR_TYPE, DML_EXECUTION_FLAGS, byte to poison memory with, whether to make it a node of a graph, then
 *     every field in the schema's order:
 *     tensor       0, or 1, data type, flags, rank, has strides, sizes, strides (if any), total bytes (2 words), input
 *                  slot to share a buffer with (outputs; ~0: none), enum driver_source, length of the data (inputs),
 *                  data
 *     tensor array count, tensors; numbers: one word; scalar, size: two words; scale and bias: 0, or 1 and two words
 *     array        ~0 for NULL, or count, words
 *     activation   0, or 1, operator type, its fields; array of them: count, for each operator type and fields
 * The answer is its length, then stage, HRESULT, length of a message, message, count of outputs, for each its length
 * and bytes. */
#ifndef TESTS_CONFORMANCE_DRIVER_H
#define TESTS_CONFORMANCE_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include <anydml_d3d12.h>
#include <DirectML.h>

#include "base/arena.h"
#include "schema/schema.h"

enum {
    DRIVER_SLOTS = 128, /* inputs or outputs of one operator, absent ones included */
    DRIVER_MESSAGE = 1024,
    DRIVER_GRAPH_SLOTS = 12, /* inputs or outputs of an operator that can be made a node of a graph */
};

/* Where a tensor comes from or goes to, in a graph. */
enum driver_source {
    DRIVER_DIRECT,
    DRIVER_IDENTITY,
    DRIVER_NOT_NOT,  /* two ELEMENT_WISE_BIT_NOT */
    DRIVER_CONSTANT, /* inputs */
};

enum driver_stage {
    DRIVER_DONE,
    DRIVER_CREATE,  /* CreateOperator refused */
    DRIVER_COMPILE, /* CompileOperator refused */
    DRIVER_RUN,     /* anything from there on; the device is not usable any more */
    DRIVER_GUARD,   /* memory outside the outputs was written */
    DRIVER_REQUEST, /* the request makes no sense */
};

struct driver_slot {
    const char *name; /* NULL: absent */
    const DML_BUFFER_TENSOR_DESC *tensor;
    enum driver_source source;
    bool owned;       /* OWNED_BY_DML */
    uint64_t bytes;   /* of the binding */
    uint64_t used;    /* up to the end of the last element */
    const void *data; /* of an input, data_bytes of them */
    uint32_t data_bytes;
    uint32_t alias;  /* of an output: the input slot whose buffer it shares, ~0: none */
    uint64_t offset; /* in the big buffer, when it runs */
};

struct driver_request {
    struct base_arena arena;
    DML_OPERATOR_DESC desc;
    DML_EXECUTION_FLAGS flags;
    uint8_t poison;
    bool graph;
    struct driver_slot inputs[DRIVER_SLOTS], outputs[DRIVER_SLOTS];
    uint32_t input_count, output_count;
};

struct driver_answer {
    enum driver_stage stage;
    HRESULT hr;
    char message[DRIVER_MESSAGE];
    const uint8_t *memory; /* outputs lie at their slots' offsets; DRIVER_DONE and DRIVER_GUARD only */
};

struct driver_device;

/* driver_list.c: the schema as JSON; and a device: its name, whether it computes in the host's memory, and which data
 * types it lacks. */
void driver_list(void);
void driver_describe(struct driver_device *device);

/* driver_read.c: false when the bytes are no request. Finish request->arena in any case. */
bool driver_read(const void *data, size_t size, struct driver_request *out);

/* driver_device.c: "cpu", "vulkan", or an adapter's index in DXCore's list; NULL when there is none such. */
struct driver_device *driver_device_create(const char *adapter, char message[DRIVER_MESSAGE]);
void driver_device_destroy(struct driver_device *device);
const char *driver_device_name(struct driver_device *device); /* as its adapter says */
ID3D12Device *driver_device_d3d(struct driver_device *device);
IDMLDevice1 *driver_device_dml(struct driver_device *device);
IDMLCommandRecorder *driver_device_recorder(struct driver_device *device);
bool driver_device_is_host(struct driver_device *device); /* GPU addresses are those of this process */
ID3D12GraphicsCommandList *driver_device_list(struct driver_device *device); /* open, its heap of descriptors set */
/* Descriptor number `index` of that heap, which holds DRIVER_DESCRIPTORS. */
enum { DRIVER_DESCRIPTORS = 4096 };
void driver_device_descriptor(struct driver_device *device, uint32_t index, D3D12_CPU_DESCRIPTOR_HANDLE *out_cpu,
                              D3D12_GPU_DESCRIPTOR_HANDLE *out_gpu);
/* Buffers of at least this size, kept between calls: the big one, one for the persistent resource, which may not be in
 * the buffer that owned inputs are in, and memory to write them from and to read them to. */
struct driver_buffers {
    ID3D12Resource *buffer, *persistent, *upload, *readback;
    uint8_t *to, *from; /* mapped */
};
HRESULT driver_device_buffers(struct driver_device *device, uint64_t bytes, struct driver_buffers *out);
/* Executes the list, waits for it, opens it again. */
HRESULT driver_device_submit(struct driver_device *device);
/* The newest error of the debug layer since the last call, "" for none. */
void driver_device_message(struct driver_device *device, char out[DRIVER_MESSAGE]);

/* driver_watch.c: from now on any access to these bytes is an error, or not any more. With AddressSanitizer, on the
 * host; else nothing happens. */
void driver_watch(struct driver_device *device, ID3D12Resource *buffer, uint64_t begin, uint64_t end);
void driver_unwatch(struct driver_device *device, ID3D12Resource *buffer, uint64_t begin, uint64_t end);

/* driver_graph.c: the operator compiled as a graph. */
HRESULT driver_compile_graph(IDMLDevice1 *dml, IDMLOperator *op, const struct driver_request *request,
                             IDMLCompiledOperator **out);

/* driver_builder.c: the operator compiled by the graph builder. S_OK and NULL where the builder makes it, with the
 * sizes of the request, but in another layout. */
HRESULT driver_build(IDMLDevice1 *dml, const struct driver_request *request, IDMLCompiledOperator **out);

/* driver_run.c: sets the offsets of the slots. */
void driver_run(struct driver_device *device, struct driver_request *request, struct driver_answer *out);

#endif
