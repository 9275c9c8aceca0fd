/* SPDX-License-Identifier: Apache-2.0 */
/* The interface to SPIR-V programs, for adapters of kind ADAPTER_SPIRV. A program is created from a plan and encoded
 * when its dispatch is executed. */
#ifndef DML_DISPATCH_SPIRV_H
#define DML_DISPATCH_SPIRV_H

#include "dml/dml.h"

struct dml_spirv;

/* ---- constants.c ---- */

/* Constants of one program in memories of the device, each of one allocation of the driver's where it fits one. */
struct dml_constants;

/* NULL: memory is short. */
struct dml_constants *dml_constants_create(struct dml_device *device);
void dml_constants_destroy(struct dml_constants *constants);
/* Uploads the constant, or notes it for the next upload (a graph_keep_fn; the context: the constants). */
graph_keep_fn dml_constants_keep;
/* Uploads the rest, and gives back the memory of the host. */
HRESULT dml_constants_finish(struct dml_constants *constants);
/* Of the last failure, or "". */
const char *dml_constants_message(const struct dml_constants *constants);
uint32_t dml_constants_count(const struct dml_constants *constants);
uint64_t dml_constants_address(const struct dml_constants *constants, uint32_t memory);

/* ---- spirv_barriers.c ---- */

/* Of the commands of all steps. */
void dml_spirv_find_barriers(struct adapter_step *command, const struct graph_plan *plan);

/* ---- spirv_program.c ---- */

/* The buffers of one dispatch. Inputs and outputs by slot, entries without a buffer have memory NULL. */
struct dml_spirv_buffers {
    const struct adapter_binding *inputs, *outputs; /* initialisation: inputs are the owned ones, no outputs */
    struct adapter_binding temp, persistent;
};

/* Creates the pipelines of a plan that is not complete yet: DXGI_ERROR_UNSUPPORTED if the driver rejects a metacommand;
 * all are disabled then. dml_spirv_create finds the same pipelines. */
HRESULT dml_spirv_prepare(struct dml_device *device, const struct graph_plan *plan);
/* From a plan for graph_backend_spirv, which is not needed afterwards. Takes the constants, also on failure, with the
 * reason in `error` (DML_ERROR_BYTES) if it is known. DXGI_ERROR_UNSUPPORTED in a build without shaders. */
HRESULT dml_spirv_create(struct dml_device *device, const struct graph_plan *plan, struct dml_constants *constants,
                         struct dml_spirv **out, char *error);
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
