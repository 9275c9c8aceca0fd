/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for data that fills it completely: zeroed, aligned to 256 bytes, with huge pages for large amounts, because
 * first use costs more per page than per byte. Large runs are returned to the system when they are released, smaller
 * ones when everything in their 4 MiB chunk has been released. */
#ifndef BASE_PAGES_H
#define BASE_PAGES_H

#include "base/base.h"

struct base_chunk;

/* A group of allocations with roughly the same lifetime. Initially all zero. One thread at a time allocates. */
struct base_pages {
    struct base_chunk *chunk; /* has room */
    size_t used;
};

/* NULL: memory is short. */
void *base_pages_acquire(struct base_pages *pages, uint64_t bytes);
/* Releases `bytes` bytes of one allocation; NULL is allowed. Any thread, also after base_pages_finish. */
void base_pages_release(void *data, uint64_t bytes);
/* Allocations remain valid until they are released. */
void base_pages_finish(struct base_pages *pages);

/* Whether memory for `bytes` more bytes can be filled. Systems that overcommit promise more than they have, and end the
 * process that fills it: ask before allocating what a file or a model determines. Small amounts are only counted. */
bool base_memory_fits(uint64_t bytes);

#endif
