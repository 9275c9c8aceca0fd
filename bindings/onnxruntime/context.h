/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled models ("EPContext"): a fused subgraph in the provider's own serialised form. It contains the subgraph as
 * ONNX operators with their weights, so that it can be loaded without the original model; it is validated completely
 * before use. */
#ifndef EP_CONTEXT_H
#define EP_CONTEXT_H

#include "onnx/onnx.h"

#define EP_CONTEXT_FORMAT    1
#define EP_CONTEXT_ALIGNMENT 64 /* of a serialised subgraph and of the weights in it */

/* Identifies the target of a compiled context: "anydml-context=1;device=cpu;version=0.1.0;...", compared by
 * ep_context_fit. */
enum ep_context_fit {
    EP_CONTEXT_FOREIGN, /* another format or kind of device: refused */
    EP_CONTEXT_FITS,    /* the same kind of device, but another one or another AnyDML: compiling again may run faster */
    EP_CONTEXT_SAME,
};
enum ep_context_fit ep_context_fit(const char *made_for, const char *here);

/* *out is the caller's to free; false when memory is short. */
bool ep_context_write(const struct onnx_model *model, const char *partition, const char *made_for, void **out,
                      size_t *out_bytes);

/* The size of the subgraph at the start of `bytes`, and whether it has that name; `known` bytes are available. 0:
 * unknown. */
uint64_t ep_context_part(const void *bytes, size_t known, const char *partition, bool *out_named);

/* `bytes` (aligned to EP_CONTEXT_ALIGNMENT) contains one or more subgraphs; *out is the one with that name. Its weights
 * point into `bytes`, which must outlive it. E_INVALIDARG: error has the reason. */
HRESULT ep_context_read(const void *bytes, size_t size, const char *partition, const char *here,
                        struct onnx_model **out, struct onnx_error *error);

#endif
