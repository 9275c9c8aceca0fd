#include "kernels/roi_body.h"
#include "kernels/roi_grad_body.h"

void kern_roi_f32_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    roi_run(call, begin, end);
}

void kern_roi_grad_f32_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    roi_grad_run(call, begin, end);
}
