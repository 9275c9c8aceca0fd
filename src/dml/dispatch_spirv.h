/* SPDX-License-Identifier: Apache-2.0 */
/* The interface to SPIR-V programs, for adapters of kind ADAPTER_SPIRV. A program is created from a plan and encoded
 * when its dispatch is executed. */
#ifndef DML_DISPATCH_SPIRV_H
#define DML_DISPATCH_SPIRV_H

#include "dml/dml.h"

struct dml_spirv;

/* The buffers of one dispatch. Inputs and outputs by slot, entries without a buffer have memory NULL. */
struct dml_spirv_buffers {
    const struct adapter_binding *inputs, *outputs; /* initialisation: inputs are the owned ones, no outputs */
    struct adapter_binding temp, persistent;
};

/* From a plan for graph_backend_spirv, which is not needed afterwards. DXGI_ERROR_UNSUPPORTED with `error`
 * (DML_ERROR_BYTES) in a build without shaders. */
HRESULT dml_spirv_create(struct dml_device *device, const struct graph_plan *plan, struct dml_spirv **out, char *error);
void dml_spirv_destroy(struct dml_device *device, struct dml_spirv *program);
void dml_spirv_sizes(const struct dml_spirv *program, uint64_t *out_temp_bytes, uint64_t *out_persistent_bytes);

/* Of enum shader_capability; metacommands are tested at the first call. */
uint32_t dml_shader_capabilities(struct dml_device *device);

/* For messages: the kernels of its steps. */
const char *dml_spirv_rows(const struct dml_spirv *program);

/* On the queue's thread. `tracer`, which may be NULL, receives the times of the plan's dispatches. */
HRESULT dml_spirv_encode(const struct dml_spirv *program, const struct dml_spirv_buffers *buffers,
                         const struct adapter_tracer *tracer, struct adapter_encoder *encoder);
HRESULT dml_spirv_encode_initialize(const struct dml_spirv *program, const struct dml_spirv_buffers *buffers,
                                    struct adapter_encoder *encoder);

#endif
