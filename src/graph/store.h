/* SPDX-License-Identifier: Apache-2.0 */
/* Constants and packed weights that compiled operators share: the same network compiled for another shape of its
 * inputs, or for another device of the process, has them once. Blobs are found by what they were made of, never change,
 * and go with their last user. Thread-safe. */
#ifndef GRAPH_STORE_H
#define GRAPH_STORE_H

#include "base/hash.h"

struct graph_store;
struct graph_blob;

struct graph_key {
    struct base_hash content; /* of the bytes that it is made of */
    struct base_hash layout;  /* of what is done with them; zero: nothing */
};

/* NULL: memory is short. All blobs must have been dropped before it is destroyed. */
struct graph_store *graph_store_create(void);
void graph_store_destroy(struct graph_store *store);

/* The blob of this key and size, which `fill` writes into zeroed memory when there is none yet; others that want it
 * wait until then. NULL: memory is short. Drop it once for each take. */
typedef void graph_fill_fn(void *context, void *data);
struct graph_blob *graph_store_acquire(struct graph_store *store, const struct graph_key *key, uint64_t bytes,
                                       graph_fill_fn *fill, void *context);
void graph_store_release(struct graph_store *store, struct graph_blob *blob);

/* Aligned to 256 bytes. */
const void *graph_blob_data(const struct graph_blob *blob);

/* How many blobs there are, and their bytes. */
uint32_t graph_store_count(struct graph_store *store, uint64_t *out_bytes);

#endif
