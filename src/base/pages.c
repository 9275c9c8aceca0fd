/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pages.h"

#include "base/os.h"

#include <stdatomic.h>

#define ALIGNMENT   256
#define HEAP_BYTES  (UINT64_C(64) << 10) /* smaller: from the heap */
#define LARGE_BYTES (UINT64_C(2) << 20)  /* from this size on, a mapping of its own */
#define CHUNK_BYTES (UINT64_C(4) << 20)

/* At the start of its memory, which is aligned to its size. */
struct base_chunk {
    atomic_uint users; /* its allocations, and base_pages.chunk */
};

static void *map(uint64_t bytes, uint64_t alignment)
{
    return base_map(bytes, alignment, BASE_MAP_HUGE);
}

static void chunk_leave(struct base_chunk *chunk)
{
    if (chunk && atomic_fetch_sub(&chunk->users, 1) == 1)
        base_unmap(chunk, CHUNK_BYTES);
}

static void *take_of_chunk(struct base_pages *pages, uint64_t bytes)
{
    if (!pages->chunk || CHUNK_BYTES - pages->used < bytes) {
        struct base_chunk *chunk = map(CHUNK_BYTES, CHUNK_BYTES);
        if (!chunk)
            return NULL;
        chunk_leave(pages->chunk);
        atomic_init(&chunk->users, 1);
        pages->chunk = chunk;
        pages->used = ALIGNMENT;
    }
    char *data = (char *)pages->chunk + pages->used;
    pages->used += base_align_up(bytes, ALIGNMENT);
    atomic_fetch_add(&pages->chunk->users, 1);
    return data;
}

void *base_pages_acquire(struct base_pages *pages, uint64_t bytes)
{
    if (bytes > INT64_MAX / 2)
        return NULL;
    if (bytes < HEAP_BYTES) {
        size_t whole = base_align_up(BASE_MAX(bytes, 1), ALIGNMENT);
        void *small = base_aligned_acquire(ALIGNMENT, whole);
        return small ? memset(small, 0, whole) : NULL;
    }
    if (bytes < LARGE_BYTES)
        return take_of_chunk(pages, bytes);
    return base_memory_fits(bytes) ? map(bytes, LARGE_BYTES) : NULL;
}

void base_pages_release(void *data, uint64_t bytes)
{
    if (bytes < HEAP_BYTES)
        base_aligned_release(data);
    else if (data && bytes >= LARGE_BYTES)
        base_unmap(data, bytes);
    else if (data)
        chunk_leave((struct base_chunk *)((uintptr_t)data & ~(uintptr_t)(CHUNK_BYTES - 1)));
}

void base_pages_finish(struct base_pages *pages)
{
    chunk_leave(pages->chunk);
    *pages = (struct base_pages){ 0 };
}
