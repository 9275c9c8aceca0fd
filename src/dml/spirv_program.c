/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of SPIR-V adapters: a sequence of dispatches, one block of device memory for their parameters and small
 * constants, and the memories of the other constants (constants.c). Dispatches read the addresses of all these and of
 * the bound buffers from a table, so an execution only writes that table. The computation of a dispatch is defined by
 * its shader kernel (shaders/shader.h). Immutable after creation; any number of queues may encode one concurrently. */
#include "dml/dispatch_spirv.h"

#include "base/parallel.h"
#include "dml/metacommands.h"
#include "dml/shader_binaries.h"
#include "graph/ir/cost.h"
#include "shaders/core/block.h"

#include <stdio.h>
#include <stdlib.h>

#define STRUCTURE_ALIGN 64u /* size of the memory */

/* The table of addresses: these, then inputs and outputs by slot, then the memories of constants. */
enum { TABLE_CONSTANTS, TABLE_TEMP, TABLE_PERSISTENT, TABLE_SLOTS };

#define TABLE_FEW 64u

struct init_copy {
    uint32_t input; /* slot, of an owned input */
    uint64_t to, size;
};

struct dml_spirv {
    struct adapter_memory *memory;
    struct dml_constants *constants;
    struct adapter_sequence *sequence; /* NULL: nothing to dispatch */
    uint32_t input_count, table_count;
    uint32_t table_memories; /* where those of the constants begin */
    bool *used;              /* of the table: some step needs it */
    struct init_copy *copies;
    uint32_t copy_count;
    uint64_t temp_bytes, persistent_bytes;
    char rows[256]; /* the different ones of its steps */
};

_Static_assert(SHADER_BLOCK_BYTES == ADAPTER_PARAMETERS_BYTES, "parameter blocks");
_Static_assert(SHADER_ADDRESS_BITS == ADAPTER_ADDRESS_BITS, "addresses of metacommands");

/* ---- making ---- */

/* A constant's offset in the memory. */
struct constant {
    const void *data;
    uint64_t bytes, offset;
};

struct maker {
    struct dml_device *device;
    struct dml_spirv *program;
    const struct graph_plan *plan;
    char *error;
    struct adapter_step *commands; /* of the plan's first step, of the second ...; parameters: offsets in the memory */
    uint32_t command_count;
    char *image; /* the parameters of all dispatches, at the start of the memory */
    uint64_t image_bytes, bytes;
    struct constant *constants;
    uint32_t constant_count;
    const struct shader_dispatch **likes; /* one of each pipeline */
    uint32_t pipeline_count;
    uint32_t *numbers; /* of each command's pipeline */
};

static bool same_pipeline(const struct shader_dispatch *a, const struct shader_dispatch *b)
{
    return shader_same(a->shader, b->shader) && a->constant_count == b->constant_count &&
           !memcmp(a->constants, b->constants, a->constant_count * sizeof(*a->constants));
}

/* The index of the dispatch's pipeline among those of the program. */
static uint32_t pipeline_of(struct maker *maker, const struct shader_dispatch *dispatch)
{
    uint32_t i = 0;
    while (i < maker->pipeline_count && !same_pipeline(maker->likes[i], dispatch))
        i++;
    if (i == maker->pipeline_count)
        maker->likes[maker->pipeline_count++] = dispatch;
    return i;
}

/* All at once: the adapter creates several concurrently. */
static HRESULT make_pipelines(struct maker *maker)
{
    AnydmlDevice *d3d12 = maker->device->d3d12;
    struct adapter_pipeline_desc *descs = calloc(maker->pipeline_count + 1u, sizeof(*descs));
    struct adapter_pipeline **pipelines = calloc(maker->pipeline_count + 1u, sizeof(*pipelines));
    HRESULT hr = descs && pipelines ? S_OK : E_OUTOFMEMORY;
    const bool large_table = maker->program->table_count > ADAPTER_TABLE_HEAD;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < maker->pipeline_count; i++)
        dml_spirv_describe(maker->likes[i], large_table, &descs[i]);
    if (SUCCEEDED(hr))
        hr = d3d12->lpVtbl->CreatePipelines(d3d12, descs, maker->pipeline_count, pipelines);
    if (hr == DXGI_ERROR_UNSUPPORTED)
        dml_metacommands_off(maker->device);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < maker->command_count; i++)
        maker->commands[i].pipeline = pipelines[maker->numbers[i]];
    free(descs);
    free(pipelines);
    return hr;
}

/* The buffer's index in the table. */
static uint32_t base_of(struct dml_spirv *program, enum graph_buffer buffer, uint32_t index)
{
    uint32_t base = TABLE_CONSTANTS;
    if (buffer == GRAPH_BUFFER_TEMP)
        base = TABLE_TEMP;
    else if (buffer == GRAPH_BUFFER_PERSISTENT)
        base = TABLE_PERSISTENT;
    else if (buffer != GRAPH_BUFFER_CONSTANT)
        base = TABLE_SLOTS + index + (buffer == GRAPH_BUFFER_OUTPUT ? program->input_count : 0);
    program->used[base] = true;
    return base;
}

static uint64_t constant_offset(const struct maker *maker, const void *data)
{
    uint32_t i = 0;
    while (maker->constants[i].data != data)
        i++;
    return maker->constants[i].offset;
}

static struct shader_place kept_place(struct dml_spirv *program, const struct graph_location *where)
{
    const uint32_t base = program->table_memories + where->kept->memory;
    program->used[base] = true;
    return (struct shader_place){ base, where->kept->offset + where->offset };
}

/* `places` of all tensors, followed by the scratch memory's. */
static void find_places(const struct maker *maker, const struct graph_step *from, struct shader_place *places)
{
    const uint32_t tensors = from->op.input_count + from->op.output_count;
    for (uint32_t t = 0; t < tensors; t++) {
        const struct graph_location *where = &from->where[t];
        if (where->buffer == GRAPH_BUFFER_CONSTANT && where->kept) {
            places[t] = kept_place(maker->program, where);
            continue;
        }
        places[t] = (struct shader_place){ base_of(maker->program, where->buffer, where->index), where->offset };
        if (where->buffer == GRAPH_BUFFER_CONSTANT)
            places[t].offset += constant_offset(maker, where->data);
    }
    if (from->scratch_bytes)
        places[tensors] = (struct shader_place){ base_of(maker->program, GRAPH_BUFFER_TEMP, 0), from->scratch_offset };
}

/* Handles a chain; its first dispatch may clear memory. */
static void write_chain(const struct maker *maker, const struct graph_step *from, uint32_t index, uint32_t *words)
{
    struct shader_place places[KERN_TENSORS_MAX + 1] = { { 0 } };
    struct shader_place zeroed = { base_of(maker->program, GRAPH_BUFFER_TEMP, 0), maker->plan->zeroed_offset };
    if (from->zeroes && index == 0) {
        shader_zero_write(&zeroed, maker->plan->zeroed_bytes, words);
        return;
    }
    const struct shader_chain_at at = { &from->op, from->u.spirv.work->row, from->turn,
                                        from->turn ? from[-1].u.spirv.work : NULL, &zeroed };
    zeroed.offset += from[-(ptrdiff_t)from->turn].zeroed_offset;
    find_places(maker, from, places);
    shader_chain_write(&at, places, words);
}

static void write_parameters(const struct maker *maker, const struct graph_step *from, uint32_t index, uint32_t *words)
{
    struct shader_place places[KERN_TENSORS_MAX + 1] = { { 0 } };
    if (from->chain || from->turn) {
        write_chain(maker, from, index, words);
        return;
    }
    find_places(maker, from, places);
    from->u.spirv.work->row->write(&from->op, index, places, words);
}

static void make_step(struct maker *maker, const struct graph_step *from, struct adapter_step *commands)
{
    struct graph_cost cost;
    graph_op_cost(&from->op, &cost);
    for (uint32_t i = 0, k = 0; i < from->u.spirv.work->dispatch_count; i++) {
        const struct shader_dispatch *dispatch = &from->u.spirv.work->dispatches[i];
        const uint32_t pipeline = pipeline_of(maker, dispatch);
        write_parameters(maker, from, i, (uint32_t *)(maker->image + commands[k].parameters));
        for (uint32_t r = 0; r <= dispatch->repeats; r++, k++) {
            memcpy(commands[k].groups, dispatch->groups, sizeof(commands[k].groups));
            commands[k].work = (cost.flops + cost.read + cost.written) / shader_commands(from->u.spirv.work);
            commands[k].barrier |= k > 0;
            if (shader_is_meta(dispatch)) {
                commands[k].block = maker->image + commands[k].parameters;
                commands[k].block_bytes = dispatch->parameter_words * 4;
                commands[k].addresses = dispatch->addresses;
            }
            maker->numbers[&commands[k] - maker->commands] = pipeline;
        }
    }
}

static void place_constant(struct maker *maker, const struct graph_location *where)
{
    if (where->buffer != GRAPH_BUFFER_CONSTANT || where->kept)
        return;
    for (uint32_t i = 0; i < maker->constant_count; i++)
        if (maker->constants[i].data == where->data)
            return;
    maker->constants[maker->constant_count++] = (struct constant){ where->data, where->bytes, maker->bytes };
    maker->bytes += base_align_up(where->bytes, STRUCTURE_ALIGN);
}

/* Offsets of all parts of the memory. */
static void place_all(struct maker *maker)
{
    struct adapter_step *command = maker->commands;
    for (uint32_t i = 0; i < maker->plan->step_count; i++) {
        const struct graph_step *step = &maker->plan->steps[i];
        for (uint32_t k = 0; k < step->u.spirv.work->dispatch_count; k++) {
            for (uint32_t r = 0; r <= step->u.spirv.work->dispatches[k].repeats; r++, command++)
                command->parameters = maker->bytes;
            maker->bytes +=
                base_align_up(step->u.spirv.work->dispatches[k].parameter_words * 4u, ADAPTER_PARAMETERS_ALIGN);
        }
    }
    maker->image_bytes = maker->bytes;
    for (uint32_t i = 0; i < maker->plan->step_count; i++)
        for (uint32_t t = 0; t < maker->plan->steps[i].op.input_count; t++)
            place_constant(maker, &maker->plan->steps[i].where[t]);
    if (maker->image_bytes)
        maker->bytes = BASE_MAX(maker->bytes, maker->image_bytes + ADAPTER_PARAMETERS_BYTES);
}

static void make_steps(struct maker *maker)
{
    struct adapter_step *command = maker->commands;
    for (uint32_t i = 0; i < maker->plan->step_count; i++) {
        make_step(maker, &maker->plan->steps[i], command);
        command += shader_commands(maker->plan->steps[i].u.spirv.work);
    }
}

/* Steps of the commands, whose parameters are in the memory by now. */
static HRESULT make_sequence(struct maker *maker)
{
    AnydmlDevice *d3d12 = maker->device->d3d12;
    struct dml_spirv *program = maker->program;
    for (uint32_t i = 0; i < maker->command_count; i++)
        maker->commands[i].parameters += program->memory->address;
    return d3d12->lpVtbl->CreateSequence(d3d12, maker->commands, maker->command_count, program->memory,
                                         program->table_count, &program->sequence);
}

/* Constants are uploaded from where they are stored: the host does not hold them twice. */
static HRESULT write_memory(const struct maker *maker)
{
    AnydmlDevice *d3d12 = maker->device->d3d12;
    struct adapter_write *writes = malloc((maker->constant_count + 1u) * sizeof(*writes));
    if (!writes)
        return E_OUTOFMEMORY;
    for (uint32_t i = 0; i < maker->constant_count; i++)
        writes[i] =
            (struct adapter_write){ maker->constants[i].offset, maker->constants[i].bytes, maker->constants[i].data };
    writes[maker->constant_count] = (struct adapter_write){ 0, maker->image_bytes, maker->image };
    HRESULT hr = d3d12->lpVtbl->WriteMemory(d3d12, maker->program->memory, writes, maker->constant_count + 1,
                                            &(struct adapter_writing){ .copy = base_parallel_copy });
    free(writes);
    return hr;
}

static HRESULT make_memory(struct maker *maker)
{
    AnydmlDevice *d3d12 = maker->device->d3d12;
    if (!maker->bytes)
        return S_OK;
    maker->image = calloc(1, BASE_MAX(maker->image_bytes, 1));
    if (!maker->image)
        return E_OUTOFMEMORY;
    make_steps(maker);
    HRESULT hr = make_pipelines(maker);
    if (SUCCEEDED(hr))
        hr = d3d12->lpVtbl->CreateMemory(d3d12, ADAPTER_MEMORY_DEVICE, maker->bytes, &maker->program->memory,
                                         maker->error);
    if (SUCCEEDED(hr))
        hr = write_memory(maker);
    if (SUCCEEDED(hr) && maker->command_count)
        hr = make_sequence(maker);
    free(maker->image);
    return hr;
}

/* ---- everything ---- */

/* All that fit. */
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

static void copy_init_steps(struct dml_spirv *program, const struct graph_plan *plan)
{
    program->copy_count = plan->init_step_count;
    for (uint32_t i = 0; i < plan->init_step_count; i++)
        program->copies[i] = (struct init_copy){ plan->init_steps[i].source.index, plan->init_steps[i].destination,
                                                 plan->init_steps[i].size_bytes };
}

static HRESULT make_program(struct maker *maker)
{
    struct dml_spirv *program = maker->program;
    const struct graph_plan *plan = maker->plan;
    uint64_t tensors = 1;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        maker->command_count += shader_commands(plan->steps[i].u.spirv.work);
        tensors += plan->steps[i].op.input_count;
    }
    program->input_count = plan->input_count;
    program->table_memories = TABLE_SLOTS + plan->input_count + plan->output_count;
    program->table_count = program->table_memories + dml_constants_count(program->constants);
    program->used = calloc(program->table_count, sizeof(*program->used));
    program->copies = calloc(plan->init_step_count + 1u, sizeof(*program->copies));
    maker->commands = calloc(maker->command_count + 1u, sizeof(*maker->commands));
    maker->constants = calloc(tensors, sizeof(*maker->constants));
    maker->likes = calloc(maker->command_count + 1u, sizeof(*maker->likes));
    maker->numbers = calloc(maker->command_count + 1u, sizeof(*maker->numbers));
    if (!program->used || !program->copies || !maker->commands || !maker->constants || !maker->likes || !maker->numbers)
        return E_OUTOFMEMORY;
    program->temp_bytes = plan->temp_bytes;
    program->persistent_bytes = plan->persistent_bytes;
    copy_init_steps(program, plan);
    name_rows(program, plan);
    dml_spirv_find_barriers(maker->commands, plan);
    place_all(maker);
    return make_memory(maker);
}

HRESULT dml_spirv_prepare(struct dml_device *device, const struct graph_plan *plan)
{
    struct dml_spirv program = { .table_count = TABLE_SLOTS + plan->input_count + plan->output_count };
    struct maker maker = { .device = device, .program = &program, .plan = plan };
    uint32_t dispatches = 0;
    for (uint32_t i = 0; i < plan->step_count; i++)
        dispatches += plan->steps[i].u.spirv.work->dispatch_count;
    maker.likes = calloc(dispatches + 1u, sizeof(*maker.likes));
    if (!maker.likes)
        return E_OUTOFMEMORY;
    for (uint32_t i = 0; i < plan->step_count; i++)
        for (uint32_t k = 0; k < plan->steps[i].u.spirv.work->dispatch_count; k++)
            pipeline_of(&maker, &plan->steps[i].u.spirv.work->dispatches[k]);
    HRESULT hr = make_pipelines(&maker);
    free(maker.likes);
    return hr;
}

HRESULT dml_spirv_create(struct dml_device *device, const struct graph_plan *plan, struct dml_constants *constants,
                         struct dml_spirv **out, char *error)
{
    struct dml_spirv *program = calloc(1, sizeof(*program));
    struct maker maker = { .device = device, .program = program, .plan = plan, .error = error };
    HRESULT hr = E_OUTOFMEMORY;
    if (program) {
        program->constants = constants;
        hr = make_program(&maker);
    } else {
        dml_constants_destroy(constants);
    }
    free(maker.constants);
    free(maker.commands);
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
    device->d3d12->lpVtbl->DestroySequence(device->d3d12, program->sequence);
    device->d3d12->lpVtbl->DestroyMemory(device->d3d12, program->memory);
    dml_constants_destroy(program->constants);
    free(program->used);
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

static uint64_t table_address(const struct dml_spirv *program, uint32_t base, const struct dml_spirv_buffers *buffers)
{
    const struct adapter_binding *binding = &buffers->temp;
    if (base == TABLE_CONSTANTS)
        return program->memory->address;
    if (base >= program->table_memories)
        return dml_constants_address(program->constants, base - program->table_memories);
    if (base == TABLE_PERSISTENT)
        binding = &buffers->persistent;
    else if (base >= TABLE_SLOTS + program->input_count)
        binding = &buffers->outputs[base - TABLE_SLOTS - program->input_count];
    else if (base >= TABLE_SLOTS)
        binding = &buffers->inputs[base - TABLE_SLOTS];
    return binding->memory ? binding->memory->address + binding->offset : 0;
}

/* Zero where steps do not read, and in recorded commands what is bound later. */
static HRESULT fill_table(const struct dml_spirv *program, const struct dml_spirv_buffers *buffers, bool recorded,
                          uint64_t *table)
{
    for (uint32_t i = 0; i < program->table_count; i++) {
        table[i] = program->used[i] ? table_address(program, i, buffers) : 0;
        if (program->used[i] && !table[i] && !recorded)
            return E_INVALIDARG;
    }
    return S_OK;
}

HRESULT dml_spirv_encode(const struct dml_spirv *program, const struct dml_spirv_buffers *buffers,
                         const struct adapter_tracer *tracer, struct adapter_encoder *encoder)
{
    uint64_t few[TABLE_FEW], *table = few;
    if (!program->sequence)
        return S_OK;
    if (program->table_count > TABLE_FEW && !(table = malloc(program->table_count * sizeof(*table))))
        return E_OUTOFMEMORY;
    HRESULT hr = fill_table(program, buffers, encoder->recorded, table);
    if (SUCCEEDED(hr))
        hr = encoder->run(encoder, program->sequence, table, tracer);
    if (table != few)
        free(table);
    return hr;
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
