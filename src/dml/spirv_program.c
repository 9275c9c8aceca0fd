/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of SPIR-V adapters: pipelines, and one block of device-readable memory that holds the parameters of all
 * dispatches and the constants. What a dispatch computes is the shader row's business (shaders/shader.h). Immutable
 * once made; any number of queues may encode one at the same time. */
#include "dml/dispatch_spirv.h"

#include "shaders/shader.h"

#include <stdio.h>
#include <stdlib.h>

#define STRUCTURE_ALIGN 64u /* of everything in the parameter memory */

#include "shaders/shaders_spirv.h"

static const struct {
    const uint32_t *words;
    size_t bytes;
} shaders[] = {
#define SHADER(name, family, source, needs, defines) { name##_spirv, sizeof(name##_spirv) },
#include "shaders/shaders.def"
#undef SHADER
};

/* The pipelines of one program. */
struct pipeline {
    const struct shader_dispatch *like; /* the plan's: for as long as the program is made */
    struct adapter_pipeline *handle;
};

/* A buffer that a step uses. */
struct base {
    enum graph_buffer buffer;
    uint32_t index; /* input or output slot */
};

struct command {
    struct adapter_pipeline *pipeline;
    uint64_t parameters; /* offset of its block */
    uint32_t groups[3];
};

struct step {
    uint32_t command_count;
    uint32_t base_count;
    struct base bases[SHADER_BASES_MAX];
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
    struct step *steps;
    uint32_t step_count;
    struct command *commands; /* of the first step, of the second ... */
    struct init_copy *copies;
    uint32_t copy_count;
    uint64_t temp_bytes, persistent_bytes;
};

/* ---- making ---- */

static bool same_pipeline(const struct shader_dispatch *a, const struct shader_dispatch *b)
{
    return a->code == b->code && a->constant_count == b->constant_count &&
           !memcmp(a->constants, b->constants, a->constant_count * sizeof(*a->constants));
}

static HRESULT find_pipeline(struct dml_device *device, struct dml_spirv *program,
                             const struct shader_dispatch *dispatch, struct adapter_pipeline **out)
{
    for (uint32_t i = 0; i < program->pipeline_count; i++)
        if (same_pipeline(program->pipelines[i].like, dispatch))
            return *out = program->pipelines[i].handle, S_OK;
    HRESULT hr = device->d3d12->lpVtbl->CreatePipeline(device->d3d12, shaders[dispatch->code].words,
                                                       shaders[dispatch->code].bytes, dispatch->constants,
                                                       dispatch->constant_count, out);
    if (SUCCEEDED(hr))
        program->pipelines[program->pipeline_count++] = (struct pipeline){ dispatch, *out };
    return hr;
}

/* The buffer's number among the step's bases; false: there are too many. */
static bool base_of(struct step *step, enum graph_buffer buffer, uint32_t index, uint32_t *out)
{
    bool slots = buffer == GRAPH_BUFFER_INPUT || buffer == GRAPH_BUFFER_OUTPUT;
    struct base base = { buffer, slots ? index : 0 };
    for (*out = 0; *out < step->base_count; ++*out)
        if (step->bases[*out].buffer == base.buffer && step->bases[*out].index == base.index)
            return true;
    if (step->base_count == SHADER_BASES_MAX)
        return false;
    step->bases[step->base_count++] = base;
    return true;
}

/* `places` of all tensors, and behind them of the scratch memory. */
static bool find_places(const struct graph_step *from, struct step *step, struct shader_place *places)
{
    const uint32_t tensors = from->op.input_count + from->op.output_count;
    for (uint32_t t = 0; t < tensors; t++) {
        if (!base_of(step, from->where[t].buffer, from->where[t].index, &places[t].base))
            return false;
        places[t].offset = from->where[t].offset;
    }
    places[tensors].offset = from->scratch_offset;
    return !from->scratch_bytes || base_of(step, GRAPH_BUFFER_TEMP, 0, &places[tensors].base);
}

static HRESULT make_step(struct dml_device *device, struct dml_spirv *program, const struct graph_step *from,
                         struct step *out, struct command *commands, char *error)
{
    struct shader_place places[KERN_TENSORS_MAX + 1] = { { 0 } };
    HRESULT hr = find_places(from, out, places) ? S_OK : DXGI_ERROR_UNSUPPORTED;
    if (FAILED(hr)) {
        snprintf(error, DML_ERROR_BYTES, "%s: it uses more than %u buffers at once", from->origin, SHADER_BASES_MAX);
        return hr;
    }
    out->command_count = from->shaders->dispatch_count;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < out->command_count; i++) {
        const struct shader_dispatch *dispatch = &from->shaders->dispatches[i];
        uint32_t *words = (uint32_t *)((char *)program->memory->host + commands[i].parameters);
        memset(words, 0, dispatch->parameter_words * sizeof(*words));
        from->shaders->row->write(&from->op, i, places, words);
        memcpy(commands[i].groups, dispatch->groups, sizeof(commands[i].groups));
        hr = find_pipeline(device, program, dispatch, &commands[i].pipeline);
    }
    return hr;
}

/* Offsets of everything in the parameter memory; returns its size. */
static uint64_t place_all(struct dml_spirv *program, const struct graph_plan *plan)
{
    uint64_t bytes = 0;
    struct command *command = program->commands;
    for (uint32_t i = 0; i < plan->step_count; i++)
        for (uint32_t k = 0; k < plan->steps[i].shaders->dispatch_count; k++, command++) {
            command->parameters = bytes;
            bytes += base_align_up(plan->steps[i].shaders->dispatches[k].parameter_words * 4u, STRUCTURE_ALIGN);
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
    uint64_t commands = 1;
    for (uint32_t i = 0; i < plan->step_count; i++)
        commands += plan->steps[i].shaders->dispatch_count;
    program->steps = calloc(plan->step_count + 1u, sizeof(*program->steps));
    program->commands = calloc(commands, sizeof(*program->commands));
    program->pipelines = calloc(commands, sizeof(*program->pipelines));
    program->copies = calloc(plan->init_step_count + 1u, sizeof(*program->copies));
    if (!program->steps || !program->commands || !program->pipelines || !program->copies)
        return E_OUTOFMEMORY;
    program->step_count = plan->step_count;
    program->copy_count = plan->init_step_count;
    program->temp_bytes = plan->temp_bytes;
    program->persistent_bytes = plan->persistent_bytes;
    uint64_t bytes = place_all(program, plan);
    HRESULT hr = S_OK;
    if (bytes)
        hr = device->d3d12->lpVtbl->CreateMemory(device->d3d12, ADAPTER_MEMORY_UPLOAD, bytes, &program->memory);
    struct command *command = program->commands;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < plan->step_count; i++) {
        hr = make_step(device, program, &plan->steps[i], &program->steps[i], command, error);
        command += program->steps[i].command_count;
    }
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
    free(program->commands);
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

static uint64_t base_address(const struct base *base, const struct dml_spirv_buffers *buffers)
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
    uint64_t push[1 + SHADER_BASES_MAX];
    const struct command *command = program->commands;
    for (uint32_t i = 0; i < program->step_count; i++) {
        const struct step *step = &program->steps[i];
        for (uint32_t b = 0; b < step->base_count; b++) {
            push[1 + b] = base_address(&step->bases[b], buffers);
            if (!push[1 + b])
                return E_INVALIDARG;
        }
        for (uint32_t k = 0; k < step->command_count; k++, command++) {
            push[0] = program->memory->address + command->parameters;
            if (command != program->commands)
                encoder->barrier(encoder);
            encoder->dispatch(encoder, command->pipeline, push, (1 + step->base_count) * sizeof(*push),
                              command->groups[0], command->groups[1], command->groups[2]);
        }
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
