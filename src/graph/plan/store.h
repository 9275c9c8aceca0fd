/* SPDX-License-Identifier: Apache-2.0 */
/* Constants and packed weights that compiled operators share: the same network, compiled for other input shapes or for
 * another device of the process, stores them once. Blobs are identified by their sources, never change, and are freed
 * with their last user. Thread-safe. */
#ifndef GRAPH_STORE_H
#define GRAPH_STORE_H

#include "base/hash.h"
#include "graph/keep.h"

struct graph_store;
struct graph_blob;

struct graph_key {
    struct base_hash content; /* of the source bytes */
    struct base_hash layout;  /* of the transformation; zero: none */
};

/* NULL: memory is short. All blobs must have been dropped before it is destroyed. */
struct graph_store *graph_store_create(void);
void graph_store_destroy(struct graph_store *store);

/* Returns the blob of this key and size; `fill` writes it into zeroed memory if it does not exist yet, and concurrent
 * requests wait until then. NULL: out of memory. Release it once per call. */
struct graph_blob *graph_store_acquire(struct graph_store *store, const struct graph_key *key, uint64_t bytes,
                                       graph_fill_fn *fill, void *context);
void graph_store_release(struct graph_store *store, struct graph_blob *blob);

/* Aligned to 256 bytes. */
const void *graph_blob_data(const struct graph_blob *blob);

/* How many blobs there are, and their bytes. */
uint32_t graph_store_count(struct graph_store *store, uint64_t *out_bytes);

#endif
