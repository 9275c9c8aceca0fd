/* Lines of 64-bit elements. */
#include <stdint.h>

typedef uint64_t sort_key;
typedef unsigned __int128 sort_item;
#include "kernels/sort/sort_body.h"

uint64_t kern_sort_wide_bytes(uint32_t length, uint32_t k)
{
    return sorter_bytes(length, k);
}

void kern_sort_wide(const struct kern_sort_line *line)
{
    sort_line(line);
}
