/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled models ("EPContext"): a fused subgraph in the provider's own serialised form. It holds the subgraph as ONNX
 * operators with their weights, so that it loads without the original model; it is checked whole before it is used. */
#ifndef EP_CONTEXT_H
#define EP_CONTEXT_H

#include "onnx/onnx.h"

#define EP_CONTEXT_FORMAT    1
#define EP_CONTEXT_ALIGNMENT 64 /* of a serialised subgraph and of the weights in it */

/* Whom a context was made for: "anydml-context=1;device=cpu;version=0.1.0;...", compared by ep_context_fit. */
enum ep_context_fit {
    EP_CONTEXT_FOREIGN, /* another format or kind of device: refused */
    EP_CONTEXT_FITS,    /* the same kind of device, but another one or another AnyDML: compiling again may run faster */
    EP_CONTEXT_SAME,
};
enum ep_context_fit ep_context_fit(const char *made_for, const char *here);

/* *out is the caller's to free; false when memory is short. */
bool ep_context_write(const struct onnx_model *model, const char *partition, const char *made_for, void **out,
                      size_t *out_bytes);

/* The size of the subgraph that `bytes` begin with, and whether its name is that; of it `known` bytes are there. 0:
 * they do not tell. */
uint64_t ep_context_part(const void *bytes, size_t known, const char *partition, bool *out_named);

/* `bytes` (aligned to EP_CONTEXT_ALIGNMENT) holds one or more subgraphs; *out is the one of that name. Its weights lie
 * in `bytes`, which must live as long as it. E_INVALIDARG: error says what is wrong. */
HRESULT ep_context_read(const void *bytes, size_t size, const char *partition, const char *here,
                        struct onnx_model **out, struct onnx_error *error);

#endif
