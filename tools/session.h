/* SPDX-License-Identifier: Apache-2.0 */
/* One device and its properties. */
#ifndef TOOLS_SESSION_H
#define TOOLS_SESSION_H

#include "onnx/run/exec.h"
#include "tools/error.h"

struct tools_device_info {
    char name[256];
    const char *kind; /* "gpu", "npu" or "cpu" */
    bool integrated, hardware;
    uint64_t dedicated_bytes, shared_bytes;
    uint16_t driver[4];
    DML_FEATURE_LEVEL level; /* of DirectML; 0 if no device could be created */
};

struct tools_session {
    uint32_t index;
    struct tools_device_info info;
    struct onnx_device *device;
    struct onnx_pool *pool;
    bool own_weights; /* for compiling: onnx_compile_owned */
};

/* The number of adapters in DXCore's list; device indices count from 0, the default device. */
bool tools_device_count(uint32_t *out, struct tools_error *error);

/* The value of --device: a number, or a kind of adapter, which becomes the only kind that this process lists
 * (ANYDML_ADAPTERS): before anything is asked about devices. */
bool tools_device_parse(const char *word, uint32_t *out, struct tools_error *error);

/* Fails with TOOLS_USAGE if the index does not exist. */
bool tools_session_create(uint32_t index, struct tools_session **out, struct tools_error *error);
void tools_session_destroy(struct tools_session *session); /* NULL is fine; after all programs of the session */

#endif
