/* SPDX-License-Identifier: Apache-2.0 */
/* Where the bytes of a plan's constants go. On the host they are in the store (store.h), which kernels read; constants
 * of a device go there one by one while the plan is made, so that the host never holds all of them. */
#ifndef GRAPH_KEEP_H
#define GRAPH_KEEP_H

#include "base/base.h"

#include <anydml.h>

/* Writes all bytes into zeroed memory. */
typedef void graph_fill_fn(void *context, void *data);

/* A constant: `data`, or, if that is NULL, what `fill` writes. */
struct graph_keeping {
    uint64_t bytes;
    uint64_t later; /* of constants that will follow, about */
    const void *data;
    graph_fill_fn *fill;
    void *context;
};

/* A position in one of the keeper's memories. */
struct graph_kept {
    uint32_t memory;
    uint64_t offset;
};

/* The bytes are not needed any more when it returns. */
typedef HRESULT graph_keep_fn(void *context, const struct graph_keeping *keeping, struct graph_kept *out);

#endif
