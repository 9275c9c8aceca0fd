/* Random words with NEON. */
#include "kernels/random_exec.h"

void kern_random_block_neon(const struct kern_random_state *state, uint32_t *out)
{
    random_block(state, out);
}

void kern_random_philox_neon_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    kern_random_run(call, kern_random_block_neon, begin, end);
}
