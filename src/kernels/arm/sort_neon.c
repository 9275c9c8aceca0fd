/* Sort keys with NEON. */
#include "kernels/sort_exec.h"

const struct kern_sort_isa kern_sort_isa_neon = { sort_encode, sort_decode, sort_any_within };

void kern_sort_any_neon_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    kern_sort_run(call, &kern_sort_isa_neon, begin, end);
}
