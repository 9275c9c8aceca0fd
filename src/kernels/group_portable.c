/* Reductions, softmax and normalisations of FLOAT32 and FLOAT16 for every processor. */
#include "kernels/group_exec.h"

const struct kern_group_isa kern_group_isa_portable = GROUP_ISA(&kern_map_isa_portable);

void kern_reduce_float_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    kern_reduce_run(call, &kern_group_isa_portable, begin, end);
}

void kern_softmax_float_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    kern_softmax_run(call, &kern_group_isa_portable, begin, end);
}

void kern_norm_float_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    kern_norm_run(call, &kern_group_isa_portable, begin, end);
}

void kern_lp_norm_float_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    kern_lp_norm_run(call, &kern_group_isa_portable, begin, end);
}

void kern_lrn_float_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    kern_lrn_run(call, &kern_group_isa_portable, begin, end);
}

void kern_moments_float_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    kern_moments_run(call, &kern_group_isa_portable, begin, end);
}

void kern_grad_sums_float_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    kern_grad_sums_run(call, &kern_group_isa_portable, begin, end);
}
