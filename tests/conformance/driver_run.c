/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles and runs one operator. All memory is in one big buffer that is filled with the poison byte first:
 *   zone, input, zone, input, ..., zone, output, ..., zone, temporary, zone, zone, persistent, zone
 * but the last three, which are at their place of a second one. After the run everything but outputs, temporary and
 * persistent must be what was uploaded. */
#include "driver.h"

#include <DirectMLGuids.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

enum {
    ZONE = 512,  /* bytes around every region */
    ALIGN = 256, /* of every region; more than DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT for the temporary */
};

struct run {
    struct driver_device *device;
    struct driver_request *request;
    struct driver_answer *answer;
    IDMLOperator *op;
    IDMLCompiledOperator *compiled;
    IDMLOperatorInitializer *initializer;
    IDMLBindingTable *table;
    DML_BINDING_PROPERTIES need, init_need;
    uint64_t temp_bytes, temp, persistent, total;
    uint64_t second; /* from here on the second buffer counts */
    struct driver_buffers buffers;
};

static bool check(struct run *run, HRESULT hr, enum driver_stage stage)
{
    if (SUCCEEDED(hr))
        return true;
    run->answer->stage = stage;
    run->answer->hr = hr;
    return false;
}

static uint64_t place(struct run *run, uint64_t bytes)
{
    const uint64_t at = run->total;
    run->total = base_align_up(at + bytes + ZONE, ALIGN);
    return at;
}

static void place_all(struct run *run)
{
    struct driver_request *request = run->request;
    run->total = ZONE;
    for (uint32_t i = 0; i < request->input_count; i++)
        if (request->inputs[i].name)
            request->inputs[i].offset = place(run, request->inputs[i].bytes);
    for (uint32_t i = 0; i < request->output_count; i++) {
        struct driver_slot *slot = &request->outputs[i];
        if (slot->name)
            slot->offset = slot->alias != UINT32_MAX ? request->inputs[slot->alias].offset : place(run, slot->bytes);
    }
    run->temp_bytes = BASE_MAX(run->need.TemporaryResourceSize, run->init_need.TemporaryResourceSize);
    run->temp = place(run, run->temp_bytes);
    run->second = run->total;
    run->total += ZONE;
    run->persistent = place(run, run->need.PersistentResourceSize);
}

static void fill(struct run *run)
{
    const struct driver_request *request = run->request;
    memset(run->buffers.to, request->poison, run->total);
    for (uint32_t i = 0; i < request->input_count; i++)
        if (request->inputs[i].data_bytes)
            memcpy(run->buffers.to + request->inputs[i].offset, request->inputs[i].data, request->inputs[i].data_bytes);
}

/* Between the buffers and the mapped ones, each byte stays at its offset. */
static void copy_all(struct run *run, bool upload)
{
    ID3D12GraphicsCommandList *list = driver_device_list(run->device);
    const struct driver_buffers *b = &run->buffers;
    const uint64_t rest = run->total - run->second;
    if (upload) {
        ID3D12GraphicsCommandList_CopyBufferRegion(list, b->buffer, 0, b->upload, 0, run->second);
        ID3D12GraphicsCommandList_CopyBufferRegion(list, b->persistent, run->second, b->upload, run->second, rest);
    } else {
        ID3D12GraphicsCommandList_CopyBufferRegion(list, b->readback, 0, b->buffer, 0, run->second);
        ID3D12GraphicsCommandList_CopyBufferRegion(list, b->readback, run->second, b->persistent, run->second, rest);
    }
}

static void unordered_barrier(struct run *run)
{
    const D3D12_RESOURCE_BARRIER barrier = { .Type = D3D12_RESOURCE_BARRIER_TYPE_UAV };
    ID3D12GraphicsCommandList_ResourceBarrier(driver_device_list(run->device), 1, &barrier);
}

static DML_BUFFER_BINDING binding_at(const struct run *run, uint64_t offset, uint64_t bytes)
{
    return (DML_BUFFER_BINDING){ offset < run->second ? run->buffers.buffer : run->buffers.persistent, offset, bytes };
}

static void bind_temporary(struct run *run, uint64_t bytes)
{
    const DML_BUFFER_BINDING buffer = binding_at(run, run->temp, bytes);
    const DML_BINDING_DESC desc = { DML_BINDING_TYPE_BUFFER, &buffer };
    if (bytes)
        IDMLBindingTable_BindTemporaryResource(run->table, &desc);
}

static bool make_table(struct run *run, void *dispatchable, uint32_t first, uint32_t count)
{
    DML_BINDING_TABLE_DESC desc = { .Dispatchable = dispatchable, .SizeInDescriptors = count };
    if (first + count > DRIVER_DESCRIPTORS)
        return check(run, E_OUTOFMEMORY, DRIVER_RUN);
    driver_device_descriptor(run->device, first, &desc.CPUDescriptorHandle, &desc.GPUDescriptorHandle);
    return check(run,
                 IDMLDevice1_CreateBindingTable(driver_device_dml(run->device), &desc, &IID_IDMLBindingTable,
                                                (void **)&run->table),
                 DRIVER_RUN);
}

static void record(struct run *run, void *dispatchable)
{
    IDMLCommandRecorder_RecordDispatch(driver_device_recorder(run->device),
                                       (ID3D12CommandList *)driver_device_list(run->device), dispatchable, run->table);
    unordered_barrier(run);
    IDMLBindingTable_Release(run->table);
    run->table = NULL;
}

static bool record_initializer(struct run *run)
{
    const struct driver_request *request = run->request;
    DML_BUFFER_BINDING buffers[DRIVER_SLOTS] = { 0 };
    const DML_BUFFER_ARRAY_BINDING array = { request->input_count, buffers };
    const DML_BINDING_DESC inputs = { DML_BINDING_TYPE_BUFFER_ARRAY, &array };
    const DML_BUFFER_BINDING buffer = binding_at(run, run->persistent, run->need.PersistentResourceSize);
    const DML_BINDING_DESC output = { DML_BINDING_TYPE_BUFFER, &buffer };
    bool owned = false;
    if (!make_table(run, run->initializer, 0, run->init_need.RequiredDescriptorCount))
        return false;
    for (uint32_t i = 0; i < request->input_count; i++) {
        const struct driver_slot *slot = &request->inputs[i];
        if (slot->name && slot->owned)
            buffers[i] = binding_at(run, slot->offset, slot->bytes);
        owned |= slot->owned;
    }
    if (owned)
        IDMLBindingTable_BindInputs(run->table, 1, &inputs);
    if (run->need.PersistentResourceSize)
        IDMLBindingTable_BindOutputs(run->table, 1, &output);
    bind_temporary(run, run->init_need.TemporaryResourceSize);
    record(run, run->initializer);
    return true;
}

static void bindings(const struct run *run, const struct driver_slot *slots, uint32_t count,
                     DML_BUFFER_BINDING *buffers, DML_BINDING_DESC *descs)
{
    for (uint32_t i = 0; i < count; i++) {
        const bool bound = slots[i].name && !slots[i].owned && slots[i].source != DRIVER_CONSTANT;
        buffers[i] = binding_at(run, slots[i].offset, slots[i].bytes);
        descs[i] =
            (DML_BINDING_DESC){ bound ? DML_BINDING_TYPE_BUFFER : DML_BINDING_TYPE_NONE, bound ? &buffers[i] : NULL };
    }
}

static bool record_operator(struct run *run)
{
    const struct driver_request *request = run->request;
    DML_BUFFER_BINDING buffers[DRIVER_SLOTS];
    DML_BINDING_DESC descs[DRIVER_SLOTS];
    if (!make_table(run, run->compiled, run->init_need.RequiredDescriptorCount, run->need.RequiredDescriptorCount))
        return false;
    bindings(run, request->inputs, request->input_count, buffers, descs);
    IDMLBindingTable_BindInputs(run->table, request->input_count, descs);
    bindings(run, request->outputs, request->output_count, buffers, descs);
    IDMLBindingTable_BindOutputs(run->table, request->output_count, descs);
    bind_temporary(run, run->need.TemporaryResourceSize);
    const DML_BUFFER_BINDING buffer = binding_at(run, run->persistent, run->need.PersistentResourceSize);
    const DML_BINDING_DESC persistent = { DML_BINDING_TYPE_BUFFER, &buffer };
    if (run->need.PersistentResourceSize)
        IDMLBindingTable_BindPersistentResource(run->table, &persistent);
    record(run, run->compiled);
    return true;
}

/* An output may lie over an input that is longer. */
static uint64_t slot_used(const struct run *run, const struct driver_slot *output)
{
    if (output->alias == UINT32_MAX)
        return output->used;
    return BASE_MAX(output->used, run->request->inputs[output->alias].used);
}

/* The zone behind a region, up to the next one; the bytes that only round a size up belong to it. */
static void watch_behind(struct run *run, uint64_t offset, uint64_t bytes)
{
    ID3D12Resource *buffer = offset < run->second ? run->buffers.buffer : run->buffers.persistent;
    driver_watch(run->device, buffer, offset + bytes, base_align_up(offset + bytes + ZONE, ALIGN));
}

static void watch_zones(struct run *run)
{
    const struct driver_request *request = run->request;
    driver_watch(run->device, run->buffers.buffer, 0, ZONE);
    for (uint32_t i = 0; i < request->input_count; i++)
        if (request->inputs[i].name)
            watch_behind(run, request->inputs[i].offset, request->inputs[i].used);
    for (uint32_t i = 0; i < request->output_count; i++)
        if (request->outputs[i].name)
            watch_behind(run, request->outputs[i].offset, slot_used(run, &request->outputs[i]));
    watch_behind(run, run->temp, run->temp_bytes);
    driver_watch(run->device, run->buffers.persistent, run->second, run->persistent);
    watch_behind(run, run->persistent, run->need.PersistentResourceSize);
}

/* What was handed over at initialisation is not there any more. */
static void watch_owned(struct run *run)
{
    const struct driver_request *request = run->request;
    for (uint32_t i = 0; i < request->input_count; i++) {
        const struct driver_slot *slot = &request->inputs[i];
        if (slot->name && (slot->owned || slot->source == DRIVER_CONSTANT))
            driver_watch(run->device, run->buffers.buffer, slot->offset, slot->offset + slot->bytes);
    }
}

static bool submit(struct run *run)
{
    return check(run, driver_device_submit(run->device), DRIVER_RUN);
}

/* In lists of their own, between which all states decay. */
static bool execute(struct run *run)
{
    if (!check(run, driver_device_buffers(run->device, run->total, &run->buffers), DRIVER_RUN))
        return false;
    fill(run);
    copy_all(run, true);
    if (!submit(run))
        return false;
    watch_zones(run);
    if (!record_initializer(run) || !submit(run))
        return false;
    watch_owned(run);
    if (!record_operator(run) || !submit(run))
        return false;
    driver_unwatch(run->device, run->buffers.buffer, 0, run->second);
    driver_unwatch(run->device, run->buffers.persistent, run->second, run->total);
    copy_all(run, false);
    return submit(run);
}

/* Describes the bytes before `offset`. */
static const char *region_before(const struct run *run, uint64_t offset)
{
    const struct driver_request *request = run->request;
    const char *name = "the first input";
    for (uint32_t i = 0; i < request->input_count; i++)
        name = request->inputs[i].name && request->inputs[i].offset <= offset ? request->inputs[i].name : name;
    for (uint32_t i = 0; i < request->output_count; i++)
        name = request->outputs[i].name && request->outputs[i].offset <= offset ? request->outputs[i].name : name;
    name = run->temp <= offset ? "the temporary resource" : name;
    return run->persistent <= offset ? "the persistent resource" : name;
}

/* Regions that may change are made equal to what was uploaded, then the rest must be. The outputs are kept in `to`. */
static void check_guards(struct run *run)
{
    const struct driver_request *request = run->request;
    uint8_t *to = run->buffers.to, *from = run->buffers.from;
    for (uint32_t i = 0; i < request->output_count; i++)
        if (request->outputs[i].name)
            memcpy(to + request->outputs[i].offset, from + request->outputs[i].offset, request->outputs[i].used);
    memcpy(to + run->temp, from + run->temp, run->temp_bytes);
    memcpy(to + run->persistent, from + run->persistent, run->need.PersistentResourceSize);
    run->answer->memory = to;
    if (!memcmp(to, from, run->total))
        return;
    uint64_t at = 0;
    while (to[at] == from[at])
        at++;
    run->answer->stage = DRIVER_GUARD;
    snprintf(run->answer->message, DRIVER_MESSAGE,
             "a byte that must not change did, from 0x%02x to 0x%02x, in or behind %s", to[at], from[at],
             region_before(run, at));
}

static bool compile(struct run *run)
{
    IDMLDevice1 *dml = driver_device_dml(run->device);
    return check(run, IDMLDevice1_CreateOperator(dml, &run->request->desc, &IID_IDMLOperator, (void **)&run->op),
                 DRIVER_CREATE) &&
           (!getenv("CONFORMANCE_BUILDER") ||
            check(run, driver_build(dml, run->request, &run->compiled), DRIVER_COMPILE)) &&
           check(run,
                 run->compiled ? S_OK
                 : run->request->graph
                     ? driver_compile_graph(dml, run->op, run->request, &run->compiled)
                     : IDMLDevice1_CompileOperator(dml, run->op, run->request->flags, &IID_IDMLCompiledOperator,
                                                   (void **)&run->compiled),
                 DRIVER_COMPILE) &&
           check(run,
                 IDMLDevice1_CreateOperatorInitializer(dml, 1, &run->compiled, &IID_IDMLOperatorInitializer,
                                                       (void **)&run->initializer),
                 DRIVER_RUN);
}

void driver_run(struct driver_device *device, struct driver_request *request, struct driver_answer *out)
{
    struct run run = { .device = device, .request = request, .answer = out };
    char message[DRIVER_MESSAGE];
    *out = (struct driver_answer){ .stage = DRIVER_DONE };
    if (compile(&run)) {
        run.need = IDMLCompiledOperator_GetBindingProperties(run.compiled);
        run.init_need = IDMLOperatorInitializer_GetBindingProperties(run.initializer);
        place_all(&run);
        if (execute(&run))
            check_guards(&run);
    }
    driver_device_message(device, message);
    if (!out->message[0])
        memcpy(out->message, message, sizeof(message));
    if (run.table)
        IDMLBindingTable_Release(run.table);
    if (run.initializer)
        IDMLOperatorInitializer_Release(run.initializer);
    if (run.compiled)
        IDMLCompiledOperator_Release(run.compiled);
    if (run.op)
        IDMLOperator_Release(run.op);
}
