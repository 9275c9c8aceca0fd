/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for data that fill it: zeroed, aligned to 256 bytes, in huge pages where there are many of them, since on
 * first use each page costs more than its bytes do. The system has large runs back as soon as they are given back, and
 * smaller ones when all that lies in their 4 MiB has been. */
#ifndef BASE_PAGES_H
#define BASE_PAGES_H

#include "base/base.h"

struct base_chunk;

/* What is taken together and, on the whole, goes together. All zero to begin with. One thread at a time takes. */
struct base_pages {
    struct base_chunk *chunk; /* has room */
    size_t used;
};

/* NULL: memory is short. */
void *base_pages_acquire(struct base_pages *pages, uint64_t bytes);
/* `bytes` as they were taken; NULL is fine. Any thread, and after base_pages_finish too. */
void base_pages_release(void *data, uint64_t bytes);
/* What was taken stays until it is given back. */
void base_pages_finish(struct base_pages *pages);

#endif
