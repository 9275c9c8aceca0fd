/* Programs of SPIR-V adapters: pipelines, and one block of device-readable memory that holds the parameters of all
 * steps and the constants. Immutable once made; any number of queues may encode one at the same time. */
#include "dml/spirv.h"

#include <stdio.h>
#include <stdlib.h>

#define STRUCTURE_ALIGN 64u /* of everything in the parameter memory */

#include "shaders/map_f64_spirv.h"
#include "shaders/map_i64_spirv.h"
#include "shaders/map_spirv.h"
#include "shaders/move_spirv.h"

static const struct {
    const uint32_t *words;
    size_t bytes;
} shaders[] = {
#define SHADER(name, source, adds) { name##_spirv, sizeof(name##_spirv) },
#include "shaders/shaders.def"
#undef SHADER
};

/* The pipelines of one program. */
struct pipeline {
    struct dml_spirv_shape shape;
    struct adapter_pipeline *handle;
};

struct init_copy {
    bool constant;
    uint32_t input;          /* slot, of an owned input */
    uint64_t from, to, size; /* `from`: in the parameter memory, for constants */
};

struct dml_spirv {
    struct adapter_memory *memory;
    struct pipeline *pipelines;
    uint32_t pipeline_count;
    struct dml_spirv_step *steps;
    uint32_t step_count;
    struct init_copy *copies;
    uint32_t copy_count;
    uint64_t temp_bytes, persistent_bytes;
};

/* ---- making ---- */

static HRESULT find_pipeline(struct dml_device *device, struct dml_spirv *program, const struct dml_spirv_shape *shape,
                             struct adapter_pipeline **out)
{
    for (uint32_t i = 0; i < program->pipeline_count; i++)
        if (!memcmp(&program->pipelines[i].shape, shape, sizeof(*shape)))
            return *out = program->pipelines[i].handle, S_OK;
    HRESULT hr =
        device->d3d12->lpVtbl->CreatePipeline(device->d3d12, shaders[shape->shader].words, shaders[shape->shader].bytes,
                                              shape->constants, shape->constant_count, out);
    if (SUCCEEDED(hr))
        program->pipelines[program->pipeline_count++] = (struct pipeline){ *shape, *out };
    return hr;
}

static HRESULT make_step(struct dml_device *device, struct dml_spirv *program, const struct graph_step *step,
                         struct dml_spirv_step *out, char *error)
{
    struct dml_spirv_shape shape;
    uint32_t *words = (uint32_t *)((char *)program->memory->host + out->params);
    HRESULT hr = dml_spirv_params_write(step, words, out, &shape, error);
    if (FAILED(hr))
        return hr;
    hr = find_pipeline(device, program, &shape, &out->pipeline);
    if (hr == DXGI_ERROR_UNSUPPORTED)
        snprintf(error, DML_ERROR_BYTES, "%s: the adapter \"%s\" has no 64-bit arithmetic for it", step->origin,
                 device->adapter->name);
    return hr;
}

/* Offsets of everything in the parameter memory; returns its size. */
static uint64_t place_all(struct dml_spirv *program, const struct graph_plan *plan)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        program->steps[i].params = bytes;
        bytes += base_align_up(dml_spirv_params_words(&plan->steps[i]) * 4u, STRUCTURE_ALIGN);
    }
    for (uint32_t i = 0; i < plan->init_step_count; i++) {
        const struct graph_init_step *init = &plan->init_steps[i];
        struct init_copy *copy = &program->copies[i];
        *copy = (struct init_copy){ .constant = init->source.buffer == GRAPH_BUFFER_CONSTANT,
                                    .input = init->source.index,
                                    .from = bytes,
                                    .to = init->destination,
                                    .size = init->size_bytes };
        if (copy->constant)
            bytes += base_align_up(init->size_bytes, STRUCTURE_ALIGN);
    }
    return bytes;
}

static HRESULT make_program(struct dml_device *device, struct dml_spirv *program, const struct graph_plan *plan,
                            char *error)
{
    program->steps = calloc(plan->step_count + 1u, sizeof(*program->steps));
    program->pipelines = calloc(plan->step_count + 1u, sizeof(*program->pipelines));
    program->copies = calloc(plan->init_step_count + 1u, sizeof(*program->copies));
    if (!program->steps || !program->pipelines || !program->copies)
        return E_OUTOFMEMORY;
    program->step_count = plan->step_count;
    program->copy_count = plan->init_step_count;
    program->temp_bytes = plan->temp_bytes;
    program->persistent_bytes = plan->persistent_bytes;
    uint64_t bytes = place_all(program, plan);
    HRESULT hr = S_OK;
    if (bytes)
        hr = device->d3d12->lpVtbl->CreateMemory(device->d3d12, ADAPTER_MEMORY_UPLOAD, bytes, &program->memory);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < plan->step_count; i++)
        hr = make_step(device, program, &plan->steps[i], &program->steps[i], error);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < plan->init_step_count; i++)
        if (program->copies[i].constant)
            memcpy((char *)program->memory->host + program->copies[i].from, plan->init_steps[i].source.data,
                   program->copies[i].size);
    return hr;
}

HRESULT dml_spirv_create(struct dml_device *device, const struct graph_plan *plan, struct dml_spirv **out, char *error)
{
    struct dml_spirv *program = calloc(1, sizeof(*program));
    HRESULT hr = program ? make_program(device, program, plan, error) : E_OUTOFMEMORY;
    *out = NULL;
    if (SUCCEEDED(hr))
        *out = program;
    else
        dml_spirv_destroy(device, program);
    return hr;
}

void dml_spirv_destroy(struct dml_device *device, struct dml_spirv *program)
{
    if (!program)
        return;
    for (uint32_t i = 0; i < program->pipeline_count; i++)
        device->d3d12->lpVtbl->DestroyPipeline(device->d3d12, program->pipelines[i].handle);
    device->d3d12->lpVtbl->DestroyMemory(device->d3d12, program->memory);
    free(program->steps);
    free(program->pipelines);
    free(program->copies);
    free(program);
}

void dml_spirv_sizes(const struct dml_spirv *program, uint64_t *out_temp_bytes, uint64_t *out_persistent_bytes)
{
    *out_temp_bytes = program->temp_bytes;
    *out_persistent_bytes = program->persistent_bytes;
}

/* ---- encoding ---- */

static uint64_t base_address(const struct dml_spirv_base *base, const struct dml_spirv_buffers *buffers)
{
    const struct adapter_binding *binding = &buffers->temp;
    if (base->buffer == GRAPH_BUFFER_INPUT)
        binding = &buffers->inputs[base->index];
    else if (base->buffer == GRAPH_BUFFER_OUTPUT)
        binding = &buffers->outputs[base->index];
    else if (base->buffer == GRAPH_BUFFER_PERSISTENT)
        binding = &buffers->persistent;
    return binding->memory ? binding->memory->address + binding->offset : 0;
}

HRESULT dml_spirv_encode(const struct dml_spirv *program, const struct dml_spirv_buffers *buffers,
                         struct adapter_encoder *encoder)
{
    uint64_t push[1 + DML_SPIRV_BASES_MAX];
    for (uint32_t i = 0; i < program->step_count; i++) {
        const struct dml_spirv_step *step = &program->steps[i];
        push[0] = program->memory->address + step->params;
        for (uint32_t b = 0; b < step->base_count; b++) {
            push[1 + b] = base_address(&step->bases[b], buffers);
            if (!push[1 + b])
                return E_INVALIDARG;
        }
        if (i)
            encoder->barrier(encoder);
        encoder->dispatch(encoder, step->pipeline, push, (1 + step->base_count) * sizeof(*push), step->groups, 1, 1);
    }
    return S_OK;
}

HRESULT dml_spirv_encode_initialize(const struct dml_spirv *program, const struct dml_spirv_buffers *buffers,
                                    struct adapter_encoder *encoder)
{
    for (uint32_t i = 0; i < program->copy_count; i++) {
        const struct init_copy *copy = &program->copies[i];
        struct adapter_binding to = { buffers->persistent.memory, buffers->persistent.offset + copy->to, copy->size };
        struct adapter_binding from = { program->memory, copy->from, copy->size };
        if (!copy->constant)
            from = buffers->inputs[copy->input];
        if (!to.memory || !from.memory)
            return E_INVALIDARG;
        encoder->copy(encoder, &to, &from, copy->size);
    }
    return S_OK;
}
