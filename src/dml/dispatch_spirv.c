/* SPDX-License-Identifier: Apache-2.0 */
/* A build without shaders: no graph has a SPIR-V program, so nothing can be encoded. */
#include "dml/dispatch_spirv.h"

#include <stdio.h>

HRESULT dml_spirv_prepare(struct dml_device *device, const struct graph_plan *plan)
{
    (void)device;
    (void)plan;
    return S_OK;
}

HRESULT dml_spirv_create(struct dml_device *device, const struct graph_plan *plan, struct dml_constants *constants,
                         struct dml_spirv **out, char *error)
{
    (void)plan;
    dml_constants_destroy(constants);
    *out = NULL;
    snprintf(error, DML_ERROR_BYTES, "this build has no compute shaders for the adapter \"%s\"", device->adapter->name);
    return DXGI_ERROR_UNSUPPORTED;
}

uint32_t dml_shader_capabilities(struct dml_device *device)
{
    return device->adapter->shader_capabilities;
}

void dml_spirv_destroy(struct dml_device *device, struct dml_spirv *program)
{
    (void)device;
    (void)program;
}

void dml_spirv_sizes(const struct dml_spirv *program, uint64_t *out_temp_bytes, uint64_t *out_persistent_bytes)
{
    (void)program;
    *out_temp_bytes = *out_persistent_bytes = 0;
}

const char *dml_spirv_rows(const struct dml_spirv *program)
{
    (void)program;
    return "";
}

HRESULT dml_spirv_encode(const struct dml_spirv *program, const struct dml_spirv_buffers *buffers,
                         const struct adapter_tracer *tracer, struct adapter_encoder *encoder)
{
    (void)program;
    (void)buffers;
    (void)tracer;
    (void)encoder;
    return DXGI_ERROR_UNSUPPORTED;
}

HRESULT dml_spirv_encode_initialize(const struct dml_spirv *program, const struct dml_spirv_buffers *buffers,
                                    struct adapter_encoder *encoder)
{
    return dml_spirv_encode(program, buffers, NULL, encoder);
}
