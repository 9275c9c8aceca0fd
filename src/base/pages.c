#define _GNU_SOURCE
#include "base/pages.h"

#include <stdlib.h>
#include <sys/mman.h>

#define ALIGNMENT       256
#define MAP_BYTES       (UINT64_C(256) << 10) /* from here on the system has the memory back when it is freed */
#define HUGE_PAGE_BYTES (UINT64_C(2) << 20)

void *base_pages_take(uint64_t bytes)
{
    if (bytes > INT64_MAX / 2)
        return NULL;
    if (bytes < MAP_BYTES) {
        size_t whole = base_align_up(BASE_MAX(bytes, 1), ALIGNMENT);
        void *small = aligned_alloc(ALIGNMENT, whole);
        return small ? memset(small, 0, whole) : NULL;
    }
    void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
        return NULL;
    if (bytes >= HUGE_PAGE_BYTES)
        madvise(data, bytes, MADV_HUGEPAGE);
    return data;
}

void base_pages_give(void *data, uint64_t bytes)
{
    if (bytes < MAP_BYTES)
        free(data);
    else if (data)
        munmap(data, bytes);
}
