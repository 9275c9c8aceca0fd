/* SPDX-License-Identifier: Apache-2.0 */
/* One program on a device: initialised once; each execution context has its own list, recorded when pointers change. */
#include "onnx/run/exec_context.h"

#include "base/os.h"

#include <DirectMLGuids.h>
#include <anydml_by_value.h>

#include <stdio.h>
#include <stdlib.h>

#define HOST_ALIGNMENT 16 /* of AnydmlCreateBufferFromMemory */
/* Bytes: larger buffers for results with partial lengths are freed after a run. */
#define STAND_IN_KEPT ((uint64_t)16 << 20)

const struct onnx_program *onnx_exec_program(const struct onnx_exec *exec)
{
    return exec->program;
}

/* ---- contexts ---- */

void onnx_exec_port_finish(struct onnx_exec_port *port)
{
    onnx_release(port->bound);
    onnx_release(port->transfer);
    base_aligned_release(port->bounce);
    *port = (struct onnx_exec_port){ 0 };
}

static void recording_finish(struct onnx_exec_recording *r)
{
    onnx_release(r->list);
    onnx_release(r->allocator);
}

/* Closed, since each use starts with a reset. */
static HRESULT recording_init(ID3D12Device *d3d, struct onnx_exec_recording *r)
{
    const D3D12_COMMAND_LIST_TYPE type = D3D12_COMMAND_LIST_TYPE_COMPUTE;
    HRESULT hr = ID3D12Device_CreateCommandAllocator(d3d, type, &IID_ID3D12CommandAllocator, (void **)&r->allocator);
    if (SUCCEEDED(hr))
        hr = ID3D12Device_CreateCommandList(d3d, 0, type, r->allocator, NULL, &IID_ID3D12GraphicsCommandList,
                                            (void **)&r->list);
    return SUCCEEDED(hr) ? ID3D12GraphicsCommandList_Close(r->list) : hr;
}

HRESULT onnx_exec_recording_reset(struct onnx_exec_recording *r)
{
    HRESULT hr = ID3D12CommandAllocator_Reset(r->allocator);
    return SUCCEEDED(hr) ? ID3D12GraphicsCommandList_Reset(r->list, r->allocator, NULL) : hr;
}

void onnx_exec_state_destroy(struct onnx_exec *exec, struct onnx_exec_state *c)
{
    if (!c)
        return;
    for (uint32_t i = 0; c->inputs && i < exec->program->input_count; i++)
        onnx_exec_port_finish(&c->inputs[i]);
    for (uint32_t i = 0; c->outputs && i < exec->program->output_count; i++)
        onnx_exec_port_finish(&c->outputs[i]);
    onnx_exec_port_finish(&c->lengths);
    recording_finish(&c->all);
    recording_finish(&c->bare);
    onnx_release(c->table);
    onnx_release(c->heap);
    free(c->inputs);
    free(c->outputs);
    free(c->buffers);
    free(c->descs);
    free(c);
}

static HRESULT make_table(struct onnx_exec *exec, struct onnx_exec_state *c, IDMLDispatchable *dispatchable)
{
    DML_BINDING_TABLE_DESC desc = {
        .Dispatchable = dispatchable,
        .CPUDescriptorHandle = ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(c->heap),
        .GPUDescriptorHandle = ID3D12DescriptorHeap_GetGPUDescriptorHandleForHeapStart(c->heap),
        .SizeInDescriptors = exec->descriptors,
    };
    return IDMLDevice1_CreateBindingTable(exec->device->dml, &desc, &IID_IDMLBindingTable, (void **)&c->table);
}

HRESULT onnx_exec_state_open(struct onnx_exec *exec, struct onnx_exec_state *c, IDMLDispatchable *dispatchable)
{
    ID3D12Device *d3d = exec->device->d3d;
    D3D12_DESCRIPTOR_HEAP_DESC desc = {
        .Type = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV,
        .NumDescriptors = BASE_MAX(exec->descriptors, 1u),
        .Flags = D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE,
    };
    HRESULT hr = ID3D12Device_CreateDescriptorHeap(d3d, &desc, &IID_ID3D12DescriptorHeap, (void **)&c->heap);
    if (SUCCEEDED(hr))
        hr = recording_init(d3d, &c->all);
    return SUCCEEDED(hr) ? make_table(exec, c, dispatchable) : hr;
}

static HRESULT context_create(struct onnx_exec *exec, struct onnx_exec_state **out)
{
    const struct onnx_program *p = exec->program;
    struct onnx_exec_state *c = calloc(1, sizeof(*c));
    size_t slots = (size_t)p->graph_input_count + p->graph_output_count + 1;
    if (!c)
        return E_OUTOFMEMORY;
    c->inputs = calloc(p->input_count + 1, sizeof(*c->inputs));
    c->outputs = calloc(p->output_count + 1, sizeof(*c->outputs));
    c->buffers = calloc(slots, sizeof(*c->buffers));
    c->descs = calloc(slots, sizeof(*c->descs));
    HRESULT hr = c->inputs && c->outputs && c->buffers && c->descs
                     ? onnx_exec_state_open(exec, c, (IDMLDispatchable *)p->op)
                     : E_OUTOFMEMORY;
    if (FAILED(hr))
        onnx_exec_state_destroy(exec, c);
    else
        *out = c;
    return hr;
}

static HRESULT context_get(struct onnx_exec *exec, const struct onnx_exec_context *context,
                           struct onnx_exec_state **out)
{
    HRESULT hr = S_OK;
    pthread_mutex_lock(&exec->lock);
    if (context->id >= exec->capacity) {
        uint32_t capacity = BASE_MAX(4u, context->id * 2);
        struct onnx_exec_state **grown = realloc(exec->contexts, capacity * sizeof(*grown));
        if (grown) {
            memset(grown + exec->capacity, 0, (capacity - exec->capacity) * sizeof(*grown));
            exec->contexts = grown;
            exec->capacity = capacity;
        }
    }
    if (context->id >= exec->capacity)
        hr = E_OUTOFMEMORY;
    else if (!exec->contexts[context->id])
        hr = context_create(exec, &exec->contexts[context->id]);
    if (SUCCEEDED(hr))
        *out = exec->contexts[context->id];
    pthread_mutex_unlock(&exec->lock);
    return hr;
}

/* ---- ports ---- */

/* Over the caller's memory, or (memory NULL) over a replacement for memory that kernels cannot use. */
static HRESULT port_lay_over(struct onnx_device *device, struct onnx_exec_port *port, uint64_t bytes,
                             const void *memory)
{
    if (!memory && !port->bounce && !(port->bounce = base_aligned_acquire(64, base_align_up(bytes, 64))))
        return E_OUTOFMEMORY;
    onnx_release(port->bound);
    port->bound = NULL;
    port->seen = memory;
    return AnydmlCreateBufferFromMemory(device->d3d, memory ? (void *)memory : port->bounce, bytes, &IID_ID3D12Resource,
                                        (void **)&port->bound);
}

static HRESULT port_make(struct onnx_device *device, struct onnx_exec_port *port, uint64_t bytes, D3D12_HEAP_TYPE heap)
{
    HRESULT hr;
    D3D12_RANGE none = { 0, 0 };
    port->bound = onnx_buffer(device, D3D12_HEAP_TYPE_DEFAULT, bytes, &hr);
    if (port->bound)
        port->transfer = onnx_buffer(device, heap, bytes, &hr);
    return port->transfer
               ? ID3D12Resource_Map(port->transfer, 0, heap == D3D12_HEAP_TYPE_READBACK ? NULL : &none, &port->mapped)
               : hr;
}

/* For devices with their own memory: the caller's buffer, or a device buffer with a transfer buffer. */
static HRESULT port_place(struct onnx_device *device, struct onnx_exec_port *port, const struct onnx_port *about,
                          const void *memory, D3D12_HEAP_TYPE heap, bool *changed)
{
    uint64_t offset = 0;
    ID3D12Resource *own =
        device->memory && !onnx_port_partial(about) ? device->memory->resolve(memory, about->bytes, &offset) : NULL;
    if (port->bound && port->direct == (own != NULL) && (!own || (port->bound == own && port->offset == offset))) {
        onnx_release(own);
        return S_OK;
    }
    *changed = true;
    onnx_exec_port_finish(port);
    if (!own)
        return port_make(device, port, about->bytes, heap);
    port->bound = own;
    port->offset = offset;
    port->direct = true;
    return S_OK;
}

/* Creates the buffers for the table; *changed if the list must be recorded again. */
static HRESULT port_prepare(struct onnx_device *device, struct onnx_exec_port *port, const struct onnx_port *about,
                            const void *memory, D3D12_HEAP_TYPE heap, bool *changed)
{
    if (!device->host_memory)
        return about->constant ? S_OK : port_place(device, port, about, memory, heap, changed);
    const void *usable = (uintptr_t)memory % HOST_ALIGNMENT == 0 && !onnx_port_partial(about) ? memory : NULL;
    if (about->constant || (port->bound && port->seen == usable))
        return S_OK;
    *changed = true;
    return port_lay_over(device, port, about->bytes, usable);
}

static void *port_stand_in(const struct onnx_exec_port *port)
{
    return port->transfer ? port->mapped : !port->seen ? port->bounce : NULL;
}

/* ---- recording ---- */

/* Not bound, and its address is not used. */
static bool port_unused(const struct onnx_device *device, const struct onnx_port *about)
{
    return about->constant || (about->unread && (device->host_memory || !about->carried));
}

static void bind_ports(const struct onnx_port *about, const struct onnx_exec_port *ports, uint32_t count, uint32_t base,
                       struct onnx_exec_state *c)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = base + about[i].slot;
        if (about[i].constant || about[i].unread)
            continue;
        c->buffers[slot] = (DML_BUFFER_BINDING){ ports[i].bound, ports[i].offset, base_align_up(about[i].bytes, 4) };
        c->descs[slot] = (DML_BINDING_DESC){ DML_BINDING_TYPE_BUFFER, &c->buffers[slot] };
    }
}

static const struct onnx_port lengths_port = { .name = "lengths", .bytes = ONNX_LENGTHS_MAX * LENGTH_PITCH };

static bool reads_lengths(const struct onnx_program *p)
{
    bool any = false;
    for (uint32_t i = 0; i < ONNX_LENGTHS_MAX; i++)
        any = any || p->length_slots[i];
    return any;
}

static void bind_lengths(const struct onnx_program *p, struct onnx_exec_state *c)
{
    for (uint32_t i = 0; i < ONNX_LENGTHS_MAX; i++) {
        uint32_t slot = p->length_slots[i] - 1;
        if (!p->length_slots[i])
            continue;
        c->buffers[slot] = (DML_BUFFER_BINDING){ c->lengths.bound, i * LENGTH_PITCH, sizeof(int32_t) };
        c->descs[slot] = (DML_BINDING_DESC){ DML_BINDING_TYPE_BUFFER, &c->buffers[slot] };
    }
}

static void barrier(ID3D12GraphicsCommandList *list)
{
    D3D12_RESOURCE_BARRIER all = { .Type = D3D12_RESOURCE_BARRIER_TYPE_UAV };
    ID3D12GraphicsCommandList_ResourceBarrier(list, 1, &all);
}

static void record_copies(const struct onnx_port *about, const struct onnx_exec_port *ports, uint32_t count,
                          ID3D12GraphicsCommandList *list, bool out)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!ports[i].transfer || ports[i].left)
            continue;
        ID3D12GraphicsCommandList_CopyBufferRegion(list, out ? ports[i].transfer : ports[i].bound, 0,
                                                   out ? ports[i].bound : ports[i].transfer, 0, about[i].bytes);
    }
}

/* If the two are different memory. */
static void record_carried(const struct onnx_program *p, const struct onnx_exec_state *c,
                           ID3D12GraphicsCommandList *list)
{
    for (uint32_t i = 0; i < p->output_count; i++) {
        if (!p->outputs[i].carried)
            continue;
        const struct onnx_exec_port *from = &c->inputs[p->outputs[i].carried - 1], *to = &c->outputs[i];
        const struct onnx_carrying what = onnx_carrying_of(p, i, NULL);
        if (from->left || (from->bound == to->bound && from->offset == to->offset))
            continue;
        for (uint64_t k = 0; what.bytes && k < what.count; k++)
            ID3D12GraphicsCommandList_CopyBufferRegion(list, to->bound, to->offset + k * what.to_bytes, from->bound,
                                                       from->offset + k * what.from_bytes, what.bytes);
    }
}

static void carry(const struct onnx_program *p, const struct onnx_exec_state *c, const uint32_t *lengths,
                  const void *const *inputs, void *const *outputs)
{
    for (uint32_t i = 0; i < p->output_count; i++) {
        if (!p->outputs[i].carried)
            continue;
        const struct onnx_carrying what = onnx_carrying_of(p, i, lengths);
        const char *from = inputs[p->outputs[i].carried - 1];
        char *stand_in = port_stand_in(&c->outputs[i]), *to = stand_in ? stand_in : outputs[i];
        for (uint64_t k = 0; from != to && k < what.count; k++)
            memcpy(to + k * what.to_bytes, from + k * what.from_bytes, what.bytes);
    }
}

static void record_timestamp(const struct onnx_exec *exec, ID3D12GraphicsCommandList *list, uint32_t number)
{
    if (exec->queries)
        ID3D12GraphicsCommandList_EndQuery(list, exec->queries, D3D12_QUERY_TYPE_TIMESTAMP, number);
    if (exec->queries && number)
        ID3D12GraphicsCommandList_ResolveQueryData(list, exec->queries, D3D12_QUERY_TYPE_TIMESTAMP, 0, 2, exec->ticks,
                                                   0);
}

static void record_dispatch(const struct onnx_exec *exec, struct onnx_exec_state *c, ID3D12GraphicsCommandList *list)
{
    ID3D12GraphicsCommandList_SetDescriptorHeaps(list, 1, &c->heap);
    record_timestamp(exec, list, 0);
    for (uint32_t i = 0; i < BASE_MAX(exec->times, 1); i++) {
        if (i)
            barrier(list);
        IDMLCommandRecorder_RecordDispatch(exec->device->recorder, (ID3D12CommandList *)list,
                                           (IDMLDispatchable *)exec->program->op, c->table);
    }
    record_timestamp(exec, list, 1);
}

static HRESULT record(struct onnx_exec *exec, struct onnx_exec_state *c, struct onnx_exec_context *context)
{
    const struct onnx_program *p = exec->program;
    DML_BUFFER_BINDING temporary = { context->temporary, 0, exec->temporary_bytes };
    DML_BUFFER_BINDING persistent = { exec->persistent, 0, exec->persistent_bytes };
    DML_BINDING_DESC temporary_desc = { DML_BINDING_TYPE_BUFFER, &temporary };
    DML_BINDING_DESC persistent_desc = { DML_BINDING_TYPE_BUFFER, &persistent };
    ID3D12GraphicsCommandList *list = c->all.list;
    HRESULT hr = onnx_exec_recording_reset(&c->all);
    if (FAILED(hr))
        return hr;
    bind_ports(p->inputs, c->inputs, p->input_count, 0, c);
    bind_ports(p->outputs, c->outputs, p->output_count, p->graph_input_count, c);
    bind_lengths(p, c);
    IDMLBindingTable_BindInputs(c->table, p->graph_input_count, c->descs);
    IDMLBindingTable_BindOutputs(c->table, p->graph_output_count, c->descs + p->graph_input_count);
    if (exec->temporary_bytes)
        IDMLBindingTable_BindTemporaryResource(c->table, &temporary_desc);
    if (exec->persistent)
        IDMLBindingTable_BindPersistentResource(c->table, &persistent_desc);
    record_copies(p->inputs, c->inputs, p->input_count, list, false);
    record_copies(&lengths_port, &c->lengths, 1, list, false);
    if (!exec->device->host_memory) {
        barrier(list);
        record_carried(p, c, list);
        barrier(list);
    }
    record_dispatch(exec, c, list);
    if (!exec->device->host_memory)
        barrier(list);
    record_copies(p->outputs, c->outputs, p->output_count, list, true);
    c->generation = context->generation;
    hr = ID3D12GraphicsCommandList_Close(list);
    c->recorded = SUCCEEDED(hr);
    c->bare_recorded = false;
    return hr;
}

/* ---- running ---- */

/* Copies the caller's data to its replacement. */
static void fill_in(struct onnx_exec *exec, struct onnx_exec_state *c, const uint32_t *lengths,
                    const void *const *inputs, void *const *outputs)
{
    const struct onnx_program *p = exec->program;
    for (uint32_t i = 0; i < p->input_count; i++) {
        bool unused = port_unused(exec->device, &p->inputs[i]) || c->inputs[i].left;
        void *stand_in = unused ? NULL : port_stand_in(&c->inputs[i]);
        if (stand_in)
            onnx_port_copy(p, &p->inputs[i], lengths, stand_in, (void *)inputs[i], true);
    }
    for (uint32_t i = 0; i < ONNX_LENGTHS_MAX && reads_lengths(p); i++)
        if (p->most[i])
            memcpy((char *)port_stand_in(&c->lengths) + i * LENGTH_PITCH, &lengths[i], sizeof(lengths[i]));
    if (exec->device->host_memory)
        carry(p, c, lengths, inputs, outputs);
}

/* And back. */
static void take_out(struct onnx_exec_state *c, const struct onnx_program *p, const uint32_t *lengths,
                     void *const *outputs)
{
    for (uint32_t i = 0; i < p->output_count; i++) {
        c->outputs[i].fresh = false;
        void *stand_in = p->outputs[i].constant ? NULL : port_stand_in(&c->outputs[i]);
        if (stand_in)
            onnx_port_copy(p, &p->outputs[i], lengths, stand_in, outputs[i], false);
        if (stand_in && onnx_port_partial(&p->outputs[i]) && p->outputs[i].bytes > STAND_IN_KEPT) {
            onnx_exec_port_finish(&c->outputs[i]);
            c->recorded = false;
        }
    }
}

static HRESULT prepare_output(struct onnx_exec *exec, struct onnx_pool *pool, struct onnx_exec_state *c, uint32_t i,
                              const void *const *inputs, void *const *outputs, bool *changed)
{
    const struct onnx_port *about = &exec->program->outputs[i];
    uint32_t from = about->carried - 1;
    if (about->carried && pool->caches && !exec->device->host_memory && inputs[from] == outputs[i] &&
        exec->program->inputs[from].unread && !onnx_port_partial(about) &&
        exec->program->inputs[from].bytes == about->bytes)
        return onnx_exec_place_cache(exec, pool, c, i, outputs[i], changed);
    *changed = *changed || (about->carried && c->inputs[from].left);
    if (about->carried)
        c->inputs[from].left = false;
    return port_prepare(exec->device, &c->outputs[i], about, outputs[i], D3D12_HEAP_TYPE_READBACK, changed);
}

static HRESULT prepare(struct onnx_exec *exec, struct onnx_pool *pool, struct onnx_exec_state *c,
                       struct onnx_exec_context *context, const void *const *inputs, void *const *outputs)
{
    const struct onnx_program *p = exec->program;
    bool changed = !c->recorded || c->generation != context->generation;
    HRESULT hr = S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < p->output_count; i++)
        hr = prepare_output(exec, pool, c, i, inputs, outputs, &changed);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < p->input_count; i++) {
        if (!port_unused(exec->device, &p->inputs[i]) && !c->inputs[i].left)
            hr = port_prepare(exec->device, &c->inputs[i], &p->inputs[i], inputs[i], D3D12_HEAP_TYPE_UPLOAD, &changed);
    }
    if (SUCCEEDED(hr) && reads_lengths(p))
        hr = port_prepare(exec->device, &c->lengths, &lengths_port, NULL, D3D12_HEAP_TYPE_UPLOAD, &changed);
    c->recorded = c->recorded && !changed; /* also when a later port failed */
    if (SUCCEEDED(hr) && changed)
        hr = record(exec, c, context);
    return hr;
}

static HRESULT run_in_context(struct onnx_exec *exec, struct onnx_pool *pool, struct onnx_exec_context *context,
                              const uint32_t *lengths, const void *const *inputs, void *const *outputs)
{
    const struct onnx_program *p = exec->program;
    struct onnx_exec_state *c = NULL;
    HRESULT hr = onnx_exec_context_temporary(pool, context, exec->temporary_bytes);
    if (SUCCEEDED(hr))
        hr = context_get(exec, context, &c);
    if (SUCCEEDED(hr))
        hr = prepare(exec, pool, c, context, inputs, outputs);
    if (FAILED(hr)) {
        onnx_exec_drop_caches(exec, pool, c);
        return hr;
    }
    fill_in(exec, c, lengths, inputs, outputs);
    hr = onnx_exec_context_execute(context, c->all.list);
    if (SUCCEEDED(hr))
        take_out(c, p, lengths, outputs);
    else
        onnx_exec_drop_caches(exec, pool, c);
    return hr;
}

HRESULT onnx_exec_run(struct onnx_exec *exec, struct onnx_pool *pool, const uint32_t *lengths,
                      const void *const *inputs, void *const *outputs, struct onnx_error *error)
{
    const struct onnx_program *p = exec->program;
    struct onnx_exec_context *context = NULL;
    HRESULT hr = S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < p->output_count; i++) {
        if (!p->outputs[i].constant || !p->outputs[i].bytes) /* no elements, no memory */
            continue;
        if (exec->device->memory)
            hr = exec->device->memory->copy(outputs[i], p->outputs[i].constant, p->outputs[i].bytes);
        else
            memcpy(outputs[i], p->outputs[i].constant, p->outputs[i].bytes);
    }
    if (FAILED(hr))
        return onnx_exec_fail(error, hr, "writing a constant output");
    if (!p->op)
        return S_OK;
    hr = onnx_exec_context_acquire(pool, &context);
    if (SUCCEEDED(hr)) {
        hr = run_in_context(exec, pool, context, lengths ? lengths : p->most, inputs, outputs);
        onnx_exec_context_release(pool, context);
    }
    return FAILED(hr) ? onnx_exec_fail(error, hr, "executing on the device") : S_OK;
}

/* ---- without copies ---- */

static HRESULT repeat_in_context(struct onnx_exec *exec, struct onnx_exec_context *context)
{
    struct onnx_exec_state *c = NULL;
    HRESULT hr = context_get(exec, context, &c);
    if (SUCCEEDED(hr) && (!c->recorded || c->generation != context->generation))
        hr = E_FAIL; /* nothing ran in it, or its temporary buffer was released */
    if (SUCCEEDED(hr) && !c->bare.list)
        hr = recording_init(exec->device->d3d, &c->bare);
    if (SUCCEEDED(hr) && !c->bare_recorded) {
        hr = onnx_exec_recording_reset(&c->bare);
        if (SUCCEEDED(hr)) {
            record_dispatch(exec, c, c->bare.list);
            hr = ID3D12GraphicsCommandList_Close(c->bare.list);
        }
        c->bare_recorded = SUCCEEDED(hr);
    }
    return SUCCEEDED(hr) ? onnx_exec_context_execute(context, c->bare.list) : hr;
}

HRESULT onnx_exec_repeat(struct onnx_exec *exec, struct onnx_pool *pool, struct onnx_error *error)
{
    struct onnx_exec_context *context = NULL;
    if (!exec->program->op)
        return S_OK;
    HRESULT hr = onnx_exec_context_acquire(pool, &context);
    if (SUCCEEDED(hr)) {
        hr = repeat_in_context(exec, context);
        onnx_exec_context_release(pool, context);
    }
    return FAILED(hr) ? onnx_exec_fail(error, hr, "executing on the device") : S_OK;
}

/* ---- timestamps ---- */

HRESULT onnx_exec_watch(struct onnx_exec *exec, struct onnx_pool *pool, uint32_t times)
{
    D3D12_QUERY_HEAP_DESC desc = { .Type = D3D12_QUERY_HEAP_TYPE_TIMESTAMP, .Count = 2 };
    struct onnx_exec_context *context = NULL;
    HRESULT hr = onnx_exec_context_acquire(pool, &context);
    if (SUCCEEDED(hr)) {
        hr = ID3D12CommandQueue_GetTimestampFrequency(context->queue, &exec->ticks_per_second);
        onnx_exec_context_release(pool, context);
    }
    exec->ticks_per_second *= exec->times = times;
    if (SUCCEEDED(hr))
        exec->ticks = onnx_buffer(exec->device, D3D12_HEAP_TYPE_READBACK, 2 * sizeof(uint64_t), &hr);
    if (SUCCEEDED(hr))
        hr = ID3D12Resource_Map(exec->ticks, 0, NULL, (void **)&exec->mapped);
    if (SUCCEEDED(hr))
        hr = ID3D12Device_CreateQueryHeap(exec->device->d3d, &desc, &IID_ID3D12QueryHeap, (void **)&exec->queries);
    for (uint32_t i = 0; i < exec->capacity; i++)
        if (exec->contexts[i])
            exec->contexts[i]->bare_recorded = false;
    return hr;
}

double onnx_exec_device_ms(const struct onnx_exec *exec)
{
    return exec->queries ? (double)(exec->mapped[1] - exec->mapped[0]) * 1e3 / (double)exec->ticks_per_second : 0;
}

HRESULT onnx_exec_create(struct onnx_device *device, struct onnx_program *program, struct onnx_exec **out,
                         struct onnx_error *error)
{
    struct onnx_exec *exec = calloc(1, sizeof(*exec));
    *out = NULL;
    if (!exec) {
        onnx_program_destroy(program);
        return onnx_exec_fail(error, E_OUTOFMEMORY, "preparing the program");
    }
    exec->device = device;
    exec->program = program;
    pthread_mutex_init(&exec->lock, NULL);
    HRESULT hr = onnx_exec_initialize(exec);
    if (FAILED(hr)) {
        onnx_exec_destroy(exec);
        return onnx_exec_fail(error, hr, "preparing the program");
    }
    *out = exec;
    return S_OK;
}

void onnx_exec_destroy(struct onnx_exec *exec)
{
    if (!exec)
        return;
    for (uint32_t i = 0; i < exec->capacity; i++)
        onnx_exec_state_destroy(exec, exec->contexts[i]);
    free(exec->contexts);
    onnx_release(exec->persistent);
    onnx_release(exec->queries);
    onnx_release(exec->ticks);
    onnx_program_destroy(exec->program);
    pthread_mutex_destroy(&exec->lock);
    free(exec);
}
