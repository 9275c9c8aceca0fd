/* One device with its queue, and what every program does with them: buffers, uploads, waiting. Public interfaces only.
 * Not thread-safe. */
#ifndef TOOLS_SESSION_H
#define TOOLS_SESSION_H

#include "tools/error.h"

#include <DirectML.h>

struct tools_device_info {
    char name[256];
    const char *kind; /* "gpu", "npu" or "cpu" */
    bool integrated;
    uint64_t dedicated_bytes, shared_bytes;
    uint16_t driver[4];
    DML_FEATURE_LEVEL level; /* of DirectML; 0 when no device could be made */
};

struct tools_session {
    uint32_t index;
    struct tools_device_info info;
    ID3D12Device *device;
    ID3D12CommandQueue *queue;
    ID3D12CommandAllocator *allocator; /* of `list`, which is for single use: uploads, initialisation, readback */
    ID3D12GraphicsCommandList *list;
    IDMLDevice1 *dml;
    IDMLCommandRecorder *recorder;
};

/* The number of adapters in DXCore's list; device indices count from 0. */
bool tools_device_count(uint32_t *out, struct tools_error *error);

/* Fails with TOOLS_USAGE when there is no such index. */
bool tools_session_create(uint32_t index, struct tools_session **out, struct tools_error *error);
void tools_session_destroy(struct tools_session *session); /* NULL is fine */

/* A buffer in DEFAULT memory (with unordered access), UPLOAD or READBACK memory; `bytes` is rounded up to 4. NULL on
 * failure. */
ID3D12Resource *tools_buffer_create(struct tools_session *session, D3D12_HEAP_TYPE heap, uint64_t bytes,
                                    struct tools_error *error);

/* Whole buffers; both wait for the device. */
bool tools_buffer_write(struct tools_session *session, ID3D12Resource *to, const void *data, uint64_t bytes,
                        struct tools_error *error);
bool tools_buffer_read(struct tools_session *session, ID3D12Resource *from, void *data, uint64_t bytes,
                       struct tools_error *error);

/* Executes a closed list and waits for it. */
bool tools_session_execute(struct tools_session *session, ID3D12GraphicsCommandList *list, struct tools_error *error);

/* Closes and executes session->list, waits, and opens it again. */
bool tools_session_flush(struct tools_session *session, struct tools_error *error);

void tools_release(void *object); /* any COM object, NULL is fine */

#endif
