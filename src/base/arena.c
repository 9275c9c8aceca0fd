/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include "base/pages.h"

#include <stdlib.h>

/* Large arenas use huge pages: fewer faults on first use, fewer TLB misses later. */
#define SMALL_BYTES ((size_t)16384)
#define LARGE_BYTES ((size_t)2 << 20)

struct base_arena_block {
    struct base_arena_block *next;
    size_t size;
    _Alignas(16) char data[];
};

static bool is_large(size_t size)
{
    return size >= LARGE_BYTES - sizeof(struct base_arena_block);
}

static struct base_arena_block *block_new(size_t size)
{
    struct base_pages none = { 0 };
    struct base_arena_block *block =
        is_large(size) ? base_pages_acquire(&none, sizeof(*block) + size) : calloc(1, sizeof(*block) + size);
    if (block)
        block->size = size;
    return block;
}

void *base_arena_alloc(struct base_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    size = base_align_up(size ? size : 1, 16);
    if (!arena->blocks || arena->blocks->size - arena->used < size) {
        size_t least = arena->total < LARGE_BYTES ? SMALL_BYTES : LARGE_BYTES - sizeof(struct base_arena_block);
        struct base_arena_block *block = block_new(BASE_MAX(size, least));
        if (!block)
            return NULL;
        arena->total += block->size;
        block->next = arena->blocks;
        arena->blocks = block;
        arena->used = 0;
    }
    void *result = arena->blocks->data + arena->used;
    arena->used += size;
    return result;
}

void *base_arena_copy(struct base_arena *arena, const void *data, size_t size)
{
    void *copy = base_arena_alloc(arena, size);
    if (copy && size)
        memcpy(copy, data, size);
    return copy;
}

char *base_arena_strdup(struct base_arena *arena, const char *text)
{
    return base_arena_copy(arena, text, strlen(text) + 1);
}

void base_arena_finish(struct base_arena *arena)
{
    for (struct base_arena_block *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        if (is_large(block->size))
            base_pages_release(block, sizeof(*block) + block->size);
        else
            free(block);
    }
    memset(arena, 0, sizeof(*arena));
}

bool base_array_reserve(void **array, uint32_t count, uint32_t *capacity, size_t element)
{
    if (count < *capacity)
        return true;
    uint32_t larger = *capacity ? *capacity * 2 : 16;
    if (larger <= *capacity)
        return false;
    void *grown = realloc(*array, larger * element);
    if (!grown)
        return false;
    *array = grown;
    *capacity = larger;
    return true;
}
