/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of SPIR-V adapters: pipelines, and one block of device memory that holds the parameters of all dispatches
 * and the constants. What a dispatch computes is the shader row's business (shaders/shader.h). Immutable once made; any
 * number of queues may encode one at the same time. */
#include "dml/dispatch_spirv.h"

#include "shaders/shader.h"

#include <stdio.h>
#include <stdlib.h>

#define STRUCTURE_ALIGN 64u  /* of everything in the memory */
#define USES_MAX        256u /* that are looked through before a barrier is set anyway */

#include "shaders/shaders_spirv.h"

static const struct {
    const uint8_t *code; /* packed: shaders/pack.c */
    uint32_t bytes, words;
} shaders[] = {
#define SHADER(name, family, source, needs, defines) { name##_code, sizeof(name##_code), name##_words },
#include "shaders/shaders.def"
#undef SHADER
#define SHADER(name, family, source, needs, defines)                                                                   \
    { name##_words_code, sizeof(name##_words_code), name##_words_words },
#include "shaders/shaders.def"
#undef SHADER
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
    bool barrier; /* it needs what commands before it wrote, or writes what they use */
};

struct step {
    uint32_t command_count;
    uint32_t base_count;
    struct base bases[SHADER_BASES_MAX];
};

struct init_copy {
    uint32_t input; /* slot, of an owned input */
    uint64_t to, size;
};

struct dml_spirv {
    struct adapter_memory *memory;
    struct step *steps;
    uint32_t step_count;
    struct command *commands; /* of the first step, of the second ... */
    struct init_copy *copies;
    uint32_t copy_count;
    uint64_t temp_bytes, persistent_bytes;
    char rows[256]; /* the different ones of its steps */
};

/* ---- making ---- */

/* A constant's place in the memory. */
struct constant {
    const void *data;
    uint64_t bytes, offset;
};

struct maker {
    struct dml_device *device;
    struct dml_spirv *program;
    const struct graph_plan *plan;
    char *error;
    char *image; /* what the memory will hold */
    uint64_t bytes;
    struct constant *constants;
    uint32_t constant_count;
    const struct shader_dispatch **likes; /* one of each pipeline */
    uint32_t pipeline_count;
    uint32_t *numbers; /* of each command's pipeline */
    uint32_t command_count;
};

static bool same_pipeline(const struct shader_dispatch *a, const struct shader_dispatch *b)
{
    return a->code == b->code && a->constant_count == b->constant_count &&
           !memcmp(a->constants, b->constants, a->constant_count * sizeof(*a->constants));
}

/* The number of the dispatch's pipeline among those of the program. */
static uint32_t pipeline_of(struct maker *maker, const struct shader_dispatch *dispatch)
{
    uint32_t i = 0;
    while (i < maker->pipeline_count && !same_pipeline(maker->likes[i], dispatch))
        i++;
    if (i == maker->pipeline_count)
        maker->likes[maker->pipeline_count++] = dispatch;
    return i;
}

/* All at once: the adapter makes several at a time. */
static HRESULT make_pipelines(struct maker *maker)
{
    AnydmlDevice *d3d12 = maker->device->d3d12;
    struct adapter_pipeline_desc *descs = calloc(maker->pipeline_count + 1u, sizeof(*descs));
    struct adapter_pipeline **pipelines = calloc(maker->pipeline_count + 1u, sizeof(*pipelines));
    HRESULT hr = descs && pipelines ? S_OK : E_OUTOFMEMORY;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < maker->pipeline_count; i++) {
        const struct shader_dispatch *like = maker->likes[i];
        descs[i] = (struct adapter_pipeline_desc){ shaders[like->code].code, shaders[like->code].bytes,
                                                   shaders[like->code].words, like->constants, like->constant_count };
    }
    if (SUCCEEDED(hr))
        hr = d3d12->lpVtbl->CreatePipelines(d3d12, descs, maker->pipeline_count, pipelines);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < maker->command_count; i++)
        maker->program->commands[i].pipeline = pipelines[maker->numbers[i]];
    free(descs);
    free(pipelines);
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

static uint64_t constant_offset(const struct maker *maker, const void *data)
{
    uint32_t i = 0;
    while (maker->constants[i].data != data)
        i++;
    return maker->constants[i].offset;
}

/* `places` of all tensors, and behind them of the scratch memory. */
static bool find_places(const struct maker *maker, const struct graph_step *from, struct step *step,
                        struct shader_place *places)
{
    const uint32_t tensors = from->op.input_count + from->op.output_count;
    for (uint32_t t = 0; t < tensors; t++) {
        const struct graph_location *where = &from->where[t];
        if (!base_of(step, where->buffer, where->index, &places[t].base))
            return false;
        places[t].offset = where->offset;
        if (where->buffer == GRAPH_BUFFER_CONSTANT)
            places[t].offset += constant_offset(maker, where->data);
    }
    places[tensors].offset = from->scratch_offset;
    return !from->scratch_bytes || base_of(step, GRAPH_BUFFER_TEMP, 0, &places[tensors].base);
}

static HRESULT make_step(struct maker *maker, const struct graph_step *from, struct step *out, struct command *commands)
{
    struct shader_place places[KERN_TENSORS_MAX + 1] = { { 0 } };
    HRESULT hr = find_places(maker, from, out, places) ? S_OK : DXGI_ERROR_UNSUPPORTED;
    if (FAILED(hr)) {
        snprintf(maker->error, DML_ERROR_BYTES, "%s: it uses more than %u buffers at once", from->origin,
                 SHADER_BASES_MAX);
        return hr;
    }
    out->command_count = from->shaders->dispatch_count;
    for (uint32_t i = 0; i < out->command_count; i++) {
        const struct shader_dispatch *dispatch = &from->shaders->dispatches[i];
        from->shaders->row->write(&from->op, i, places, (uint32_t *)(maker->image + commands[i].parameters));
        memcpy(commands[i].groups, dispatch->groups, sizeof(commands[i].groups));
        commands[i].barrier |= i > 0;
        maker->numbers[maker->command_count++] = pipeline_of(maker, dispatch);
    }
    return hr;
}

static void place_constant(struct maker *maker, const struct graph_location *where)
{
    if (where->buffer != GRAPH_BUFFER_CONSTANT)
        return;
    for (uint32_t i = 0; i < maker->constant_count; i++)
        if (maker->constants[i].data == where->data)
            return;
    maker->constants[maker->constant_count++] = (struct constant){ where->data, where->bytes, maker->bytes };
    maker->bytes += base_align_up(where->bytes, STRUCTURE_ALIGN);
}

/* Offsets of everything in the memory. */
static void place_all(struct maker *maker)
{
    struct command *command = maker->program->commands;
    for (uint32_t i = 0; i < maker->plan->step_count; i++) {
        const struct graph_step *step = &maker->plan->steps[i];
        for (uint32_t k = 0; k < step->shaders->dispatch_count; k++, command++) {
            command->parameters = maker->bytes;
            maker->bytes += base_align_up(step->shaders->dispatches[k].parameter_words * 4u, STRUCTURE_ALIGN);
        }
        for (uint32_t t = 0; t < step->op.input_count; t++)
            place_constant(maker, &step->where[t]);
    }
}

static HRESULT make_steps(struct maker *maker)
{
    struct dml_spirv *program = maker->program;
    struct command *command = program->commands;
    HRESULT hr = S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < program->step_count; i++) {
        hr = make_step(maker, &maker->plan->steps[i], &program->steps[i], command);
        command += program->steps[i].command_count;
    }
    return hr;
}

/* In one piece on the host first: devices write memory of their own. */
static HRESULT make_memory(struct maker *maker)
{
    AnydmlDevice *d3d12 = maker->device->d3d12;
    if (!maker->bytes)
        return S_OK;
    maker->image = calloc(1, maker->bytes);
    HRESULT hr = maker->image ? make_steps(maker) : E_OUTOFMEMORY;
    if (SUCCEEDED(hr))
        hr = make_pipelines(maker);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < maker->constant_count; i++)
        memcpy(maker->image + maker->constants[i].offset, maker->constants[i].data, maker->constants[i].bytes);
    if (SUCCEEDED(hr))
        hr = d3d12->lpVtbl->CreateMemory(d3d12, ADAPTER_MEMORY_DEVICE, maker->bytes, &maker->program->memory);
    if (SUCCEEDED(hr))
        hr = d3d12->lpVtbl->WriteMemory(d3d12, maker->program->memory, 0, maker->image, maker->bytes);
    free(maker->image);
    return hr;
}

/* ---- dependencies ---- */

/* Bytes of a buffer that a command since the last barrier uses. */
struct use {
    enum graph_buffer buffer;
    uint32_t index;
    int64_t begin, end;
    bool writes;
};

struct uses {
    uint32_t count;
    struct use uses[USES_MAX];
};

static bool conflicts(const struct use *a, const struct use *b)
{
    if (!a->writes && !b->writes)
        return false;
    /* The application may bind outputs over inputs; but outputs lie apart. */
    if (a->buffer != b->buffer)
        return (a->buffer == GRAPH_BUFFER_INPUT && b->buffer == GRAPH_BUFFER_OUTPUT) ||
               (a->buffer == GRAPH_BUFFER_OUTPUT && b->buffer == GRAPH_BUFFER_INPUT);
    return a->index == b->index && a->begin < b->end && b->begin < a->end;
}

static uint32_t uses_of(const struct graph_step *step, struct use *out)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < step->op.input_count + step->op.output_count; t++) {
        const struct graph_location *where = &step->where[t];
        const struct kern_view *view = &step->op.tensors[t];
        int64_t low, high, bits = kern_type_bytes(view->type) ? 8 * kern_type_bytes(view->type) : 4;
        struct kern_view placed = *view;
        placed.offset = 0;
        if (!graph_view_bounds(&placed, &low, &high))
            low = INT32_MIN, high = INT32_MAX;
        if (where->buffer != GRAPH_BUFFER_CONSTANT)
            out[count++] =
                (struct use){ where->buffer, where->buffer <= GRAPH_BUFFER_OUTPUT ? where->index : 0,
                              (int64_t)where->offset + ((low * bits) >> 3),
                              (int64_t)where->offset + (((high + 1) * bits + 7) >> 3), t >= step->op.input_count };
    }
    if (step->scratch_bytes)
        out[count++] = (struct use){ GRAPH_BUFFER_TEMP, 0, (int64_t)step->scratch_offset,
                                     (int64_t)(step->scratch_offset + step->scratch_bytes), true };
    return count;
}

/* Whether the step must wait for steps in `uses`, which then begin anew with it. */
static bool must_wait(struct uses *uses, const struct graph_step *step)
{
    struct use own[KERN_TENSORS_MAX + 1];
    const uint32_t count = uses_of(step, own);
    bool wait = uses->count + count > USES_MAX;
    for (uint32_t i = 0; i < uses->count && !wait; i++)
        for (uint32_t k = 0; k < count && !wait; k++)
            wait = conflicts(&uses->uses[i], &own[k]);
    if (wait)
        uses->count = 0;
    memcpy(&uses->uses[uses->count], own, count * sizeof(*own));
    uses->count += count;
    return wait;
}

static void find_barriers(struct dml_spirv *program, const struct graph_plan *plan)
{
    struct uses uses = { 0 };
    struct command *command = program->commands;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        if (plan->steps[i].shaders->dispatch_count)
            command->barrier = must_wait(&uses, &plan->steps[i]);
        command += plan->steps[i].shaders->dispatch_count;
    }
}

/* As many as there is room for. */
static void name_rows(struct dml_spirv *program, const struct graph_plan *plan)
{
    size_t used = 0;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const char *row = plan->steps[i].kernel;
        const size_t length = strlen(row);
        bool known = false;
        for (uint32_t k = 0; k < i && !known; k++)
            known = !strcmp(plan->steps[k].kernel, row);
        if (known || used + length + 2 >= sizeof(program->rows))
            continue;
        used += (size_t)sprintf(program->rows + used, "%s%s", used ? " " : "", row);
    }
}

static HRESULT make_program(struct maker *maker)
{
    struct dml_spirv *program = maker->program;
    const struct graph_plan *plan = maker->plan;
    uint64_t commands = 1, tensors = 1;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        commands += plan->steps[i].shaders->dispatch_count;
        tensors += plan->steps[i].op.input_count;
    }
    program->steps = calloc(plan->step_count + 1u, sizeof(*program->steps));
    program->commands = calloc(commands, sizeof(*program->commands));
    program->copies = calloc(plan->init_step_count + 1u, sizeof(*program->copies));
    maker->constants = calloc(tensors, sizeof(*maker->constants));
    maker->likes = calloc(commands, sizeof(*maker->likes));
    maker->numbers = calloc(commands, sizeof(*maker->numbers));
    if (!program->steps || !program->commands || !program->copies || !maker->constants || !maker->likes ||
        !maker->numbers)
        return E_OUTOFMEMORY;
    program->step_count = plan->step_count;
    program->copy_count = plan->init_step_count;
    program->temp_bytes = plan->temp_bytes;
    program->persistent_bytes = plan->persistent_bytes;
    for (uint32_t i = 0; i < plan->init_step_count; i++)
        program->copies[i] = (struct init_copy){ plan->init_steps[i].source.index, plan->init_steps[i].destination,
                                                 plan->init_steps[i].size_bytes };
    name_rows(program, plan);
    find_barriers(program, plan);
    place_all(maker);
    return make_memory(maker);
}

HRESULT dml_spirv_create(struct dml_device *device, const struct graph_plan *plan, struct dml_spirv **out, char *error)
{
    struct dml_spirv *program = calloc(1, sizeof(*program));
    struct maker maker = { .device = device, .program = program, .plan = plan, .error = error };
    HRESULT hr = program ? make_program(&maker) : E_OUTOFMEMORY;
    free(maker.constants);
    free(maker.likes);
    free(maker.numbers);
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
    device->d3d12->lpVtbl->DestroyMemory(device->d3d12, program->memory);
    free(program->steps);
    free(program->commands);
    free(program->copies);
    free(program);
}

const char *dml_spirv_rows(const struct dml_spirv *program)
{
    return program->rows;
}

void dml_spirv_sizes(const struct dml_spirv *program, uint64_t *out_temp_bytes, uint64_t *out_persistent_bytes)
{
    *out_temp_bytes = program->temp_bytes;
    *out_persistent_bytes = program->persistent_bytes;
}

/* ---- encoding ---- */

static uint64_t base_address(const struct dml_spirv *program, const struct base *base,
                             const struct dml_spirv_buffers *buffers)
{
    const struct adapter_binding *binding = &buffers->temp;
    if (base->buffer == GRAPH_BUFFER_CONSTANT)
        return program->memory->address;
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
            push[1 + b] = base_address(program, &step->bases[b], buffers);
            if (!push[1 + b])
                return E_INVALIDARG;
        }
        for (uint32_t k = 0; k < step->command_count; k++, command++) {
            push[0] = program->memory->address + command->parameters;
            if (command->barrier)
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
        const struct adapter_binding from = buffers->inputs[copy->input];
        if (!to.memory || !from.memory)
            return E_INVALIDARG;
        encoder->copy(encoder, &to, &from, copy->size);
    }
    return S_OK;
}
