/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN throws where memory is short, through C, which ends the process. Here the same calls return
 * dnnl_out_of_memory instead: dnnl_safe_memory_create is dnnl_memory_create, and so on. */
#ifndef KERNELS_DNNL_CALLS_H
#define KERNELS_DNNL_CALLS_H

#include <dnnl.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DNNL_CALL(name, parameters, arguments) bool dnnl_safe_##name parameters;
#include "kernels/onednn/dnnl_calls.def"
#undef DNNL_CALL

#ifdef __cplusplus
}
#endif

#endif
