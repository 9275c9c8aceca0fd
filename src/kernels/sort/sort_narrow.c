/* Lines of elements up to 32 bits. */
#include <stdint.h>

typedef uint32_t sort_key;
typedef uint64_t sort_item;
#include "kernels/sort/sort_body.h"

uint64_t kern_sort_narrow_bytes(uint32_t length, uint32_t k)
{
    return sorter_bytes(length, k);
}

void kern_sort_narrow(const struct kern_sort_line *line)
{
    sort_line(line);
}
