/* SPDX-License-Identifier: Apache-2.0 */
/* A bump allocator: many small allocations, freed together. Not thread-safe. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/base.h"

struct base_arena {
    struct base_arena_block *blocks;
    size_t used; /* in the newest block */
    size_t total;
};

/* Zeroed memory, 16-byte aligned, valid until base_arena_finish; NULL when memory is short. A zeroed struct is an
 * empty arena. */
void *base_arena_alloc(struct base_arena *arena, size_t size);
void *base_arena_copy(struct base_arena *arena, const void *data, size_t size);
char *base_arena_strdup(struct base_arena *arena, const char *text);
void base_arena_finish(struct base_arena *arena);

/* Grows *array (elements of `element` bytes) so that count + 1 fit; false if out of memory, the array is then
 * unchanged. */
bool base_array_reserve(void **array, uint32_t count, uint32_t *capacity, size_t element);

#endif
