/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that dnnl_op.h declares for C. */
#include <dnnl.h>

extern "C" void kern_fail(void); /* kernel.h is C's */

/* What an exception left half made in the cache of primitives would be found again for good. */
static void empty_cache()
{
    int capacity;
    try {
        if (dnnl_get_primitive_cache_capacity(&capacity) == dnnl_success &&
            dnnl_set_primitive_cache_capacity(0) == dnnl_success)
            dnnl_set_primitive_cache_capacity(capacity);
    } catch (...) {
    }
}

#define DNNL_CALL(name, parameters, arguments)                                                                         \
    extern "C" bool dnnl_safe_##name parameters                                                                        \
    {                                                                                                                  \
        dnnl_status_t status = dnnl_out_of_memory;                                                                     \
        try {                                                                                                          \
            status = dnnl_##name arguments;                                                                            \
        } catch (...) {                                                                                                \
            empty_cache();                                                                                             \
        }                                                                                                              \
        if (status == dnnl_out_of_memory)                                                                              \
            kern_fail();                                                                                               \
        return status == dnnl_success;                                                                                 \
    }
#include "kernels/onednn/dnnl_calls.def"
