/* SPDX-License-Identifier: Apache-2.0 */
/* IDMLBindingTable: writes descriptors. It references no resource and no heap, and recorded work does not need it. */
#include "dml/dml.h"

#include <stdlib.h>

#include <DirectMLGuids.h>

#define TABLE IDMLBindingTable *iface

static struct dml_binding_table *table_from(TABLE)
{
    return (struct dml_binding_table *)iface;
}

/* ---- one dispatchable's part of the table ---- */

static void table_clear(struct dml_binding_table *table)
{
    if (table->dispatchable)
        com_unref(&table->dispatchable->base);
    dml_recorded_destroy(table);
    free(table->buffers);
    free(table->places);
    table->dispatchable = NULL;
    table->buffers = NULL;
    table->places = NULL;
    table->range = (struct anydml_descriptors){ 0 };
}

static uint32_t descriptor_count(struct dml_pageable *object)
{
    struct dml_compiled_operator *op = dml_as_compiled(object);
    return op ? op->descriptor_count : dml_as_initializer(object)->descriptor_count;
}

static HRESULT handles_check(struct dml_device *device, const char *method, const DML_BINDING_TABLE_DESC *desc,
                             uint32_t required)
{
    const struct anydml_descriptors range = { desc->CPUDescriptorHandle, desc->GPUDescriptorHandle,
                                              desc->SizeInDescriptors, desc->Dispatchable };
    if (desc->SizeInDescriptors < required)
        return dml_fail(device, NULL, E_INVALIDARG, "%s: SizeInDescriptors is %u, the dispatchable needs %u", method,
                        desc->SizeInDescriptors, required);
    switch (device->d3d12->lpVtbl->FindDescriptors(device->d3d12, &range)) {
    case ANYDML_FOUND:
        return S_OK;
    case ANYDML_FOUND_NO_CPU:
        return dml_fail(device, NULL, E_INVALIDARG,
                        "%s: CPUDescriptorHandle 0x%llx does not begin %u descriptors of a CBV_SRV_UAV heap", method,
                        (unsigned long long)range.cpu.ptr, range.count);
    case ANYDML_FOUND_NO_GPU:
        break;
    }
    return dml_fail(device, NULL, E_INVALIDARG,
                    "%s: GPUDescriptorHandle 0x%llx does not begin %u descriptors of a shader-visible CBV_SRV_UAV heap",
                    method, (unsigned long long)range.gpu.ptr, range.count);
}

static HRESULT desc_check(struct dml_device *device, const char *method, const DML_BINDING_TABLE_DESC *desc)
{
    if (!com_child(device, desc->Dispatchable, &dml_compiled_operator_vtbl) &&
        !com_child(device, desc->Dispatchable, &dml_initializer_vtbl))
        return dml_fail(device, NULL, E_INVALIDARG, "%s: Dispatchable is %s", method,
                        desc->Dispatchable ? "no dispatchable of this device" : "NULL");
    uint32_t required = BASE_MAX(descriptor_count((struct dml_pageable *)desc->Dispatchable), 1);
    return handles_check(device, method, desc, required);
}

/* On failure the table stays as it was. NULL: empty. */
static HRESULT table_set(struct dml_device *device, struct dml_binding_table *table, const char *method,
                         const DML_BINDING_TABLE_DESC *desc)
{
    struct dml_binding_table next = { 0 };
    if (!desc) {
        table_clear(table);
        return S_OK;
    }
    HRESULT hr = desc_check(device, method, desc);
    if (FAILED(hr))
        return hr;
    next.dispatchable = (struct dml_pageable *)desc->Dispatchable;
    next.range = (struct anydml_descriptors){ desc->CPUDescriptorHandle, desc->GPUDescriptorHandle,
                                              descriptor_count(next.dispatchable), next.dispatchable };
    next.buffers = calloc((size_t)next.range.count + 1, sizeof(*next.buffers));
    next.places = calloc((size_t)next.range.count + 1, sizeof(*next.places));
    if (!next.buffers || !next.places) {
        free(next.buffers);
        free(next.places);
        return E_OUTOFMEMORY;
    }
    struct dml_initializer *initializer = dml_as_initializer(next.dispatchable);
    com_ref(&next.dispatchable->base);
    table_clear(table);
    table->dispatchable = next.dispatchable;
    table->generation = initializer ? atomic_load(&initializer->generation) : 0;
    table->range = next.range;
    table->buffers = next.buffers;
    table->places = next.places;
    return S_OK;
}

const char *dml_binding_table_error(struct dml_binding_table *table)
{
    struct dml_initializer *initializer = dml_as_initializer(table->dispatchable);
    if (!table->dispatchable)
        return "the table is empty until its Reset";
    if (initializer && atomic_load(&initializer->generation) != table->generation)
        return "the operator initializer was reset after the table was created for it";
    return NULL;
}

static bool table_ready(struct dml_binding_table *table, const char *method)
{
    const char *error = dml_binding_table_error(table);
    if (error)
        dml_device_remove(dml_parent(table), table, E_INVALIDARG, "%s: %s", method, error);
    return !error;
}

/* ---- Bind...: each call replaces all bindings of its kind ---- */

/* Writes descriptors [first, first + count) to the heap. */
static void table_write(struct dml_binding_table *table, const char *method, uint32_t first, uint32_t count)
{
    struct dml_device *device = dml_parent(table);
    AnydmlDevice *d3d12 = device->d3d12;
    char message[DML_ERROR_BYTES] = "no memory";
    HRESULT hr =
        count ? d3d12->lpVtbl->WriteDescriptors(d3d12, &table->range, first, count, &table->buffers[first], message)
              : S_OK;
    if (FAILED(hr))
        dml_device_remove(device, table, hr, "%s: %s", method, message);
}

static const DML_BUFFER_BINDING no_buffer;

/* The buffer of a NONE or BUFFER binding, with Buffer NULL for none. NULL: an invalid binding, reported. */
static const DML_BUFFER_BINDING *binding_buffer(const struct dml_bind_site *site, const DML_BINDING_DESC *binding)
{
    if (binding->Type == DML_BINDING_TYPE_NONE)
        return &no_buffer;
    if (binding->Type != DML_BINDING_TYPE_BUFFER)
        dml_bind_fail(site, "a binding of type %s is not possible here",
                      binding->Type == DML_BINDING_TYPE_BUFFER_ARRAY ? "BUFFER_ARRAY" : "unknown");
    else if (!binding->Desc)
        dml_bind_fail(site, "Desc is NULL, but Type is BUFFER");
    else
        return binding->Desc;
    return NULL;
}

/* The method may go on: the device lives, the table is in use, the array is there. */
static bool bind_begin(struct dml_binding_table *table, const char *method, UINT count,
                       const DML_BINDING_DESC *bindings)
{
    if (dml_device_removed(dml_parent(table)) || !table_ready(table, method))
        return false;
    if (!count || bindings)
        return true;
    dml_device_remove(dml_parent(table), table, E_INVALIDARG, "%s: bindings is NULL, bindingCount is %u", method,
                      count);
    return false;
}

static bool count_check(struct dml_binding_table *table, const char *method, const char *op, const char *wanted,
                        UINT count, uint32_t expected)
{
    if (!count || count == expected)
        return true;
    dml_device_remove(dml_parent(table), table, E_INVALIDARG, "%s: %s: bindingCount is %u, must be %u (%s)", method, op,
                      count, expected, wanted);
    return false;
}

static bool bind_slot(const struct dml_bind_site *site, const struct dml_slot *slot, const DML_BINDING_DESC *binding)
{
    const DML_BUFFER_BINDING *buffer = binding_buffer(site, binding);
    struct dml_bind_rule rule = { slot->bytes, slot->alignment, false };
    if (!buffer)
        return false;
    if (slot->expect == DML_EXPECT_BUFFER && buffer->Buffer)
        return dml_bind_buffer(site, buffer, &rule, slot->descriptor);
    if (slot->expect == DML_EXPECT_BUFFER)
        dml_bind_nothing(site->table, slot->descriptor);
    else if (buffer->Buffer && slot->unused)
        dml_warn(dml_parent(site->table), site->table,
                 "%s: %s, %s %u: the graph does not use it; the buffer is ignored", site->method, site->op, site->kind,
                 site->index);
    else if (buffer->Buffer)
        dml_bind_fail(site,
                      "the dispatchable object expects nothing to be bound at index %u (%s), but a binding of type "
                      "BUFFER was provided",
                      site->index, slot->expect == DML_EXPECT_OWNED ? "it is OWNED_BY_DML" : "the tensor is absent");
    return !buffer->Buffer || slot->unused;
}

/* Inputs or outputs of a compiled operator. */
static void bind_slots(struct dml_bind_site *site, const struct dml_slot *slots, uint32_t slot_count, UINT count,
                       const DML_BINDING_DESC *bindings, uint32_t first, uint32_t descriptors)
{
    const char *wanted = *site->kind == 'i' ? "inputs" : "outputs";
    if (!count_check(site->table, site->method, site->op, wanted, count, slot_count))
        return;
    for (uint32_t i = 0; i < slot_count; i++) {
        static const DML_BINDING_DESC none = { DML_BINDING_TYPE_NONE, NULL };
        site->index = i;
        if (!bind_slot(site, &slots[i], count ? &bindings[i] : &none))
            return;
    }
    table_write(site->table, site->method, first, descriptors);
}

/* ---- of an initializer ---- */

static void bind_no_owned(struct dml_binding_table *table, const struct dml_target *target)
{
    for (uint32_t i = 0; i < target->op->owned_count; i++)
        dml_bind_nothing(table, target->first + i);
}

static bool bind_owned_element(const struct dml_bind_site *site, const struct dml_target *target,
                               const DML_BUFFER_BINDING *buffer)
{
    const struct dml_slot *slot = &target->op->inputs[site->element];
    struct dml_bind_rule rule = { slot->bytes, slot->alignment, true };
    if (slot->expect == DML_EXPECT_OWNED && buffer->Buffer)
        return dml_bind_buffer(site, buffer, &rule, target->first + slot->descriptor);
    if (slot->expect == DML_EXPECT_OWNED)
        dml_bind_nothing(site->table, target->first + slot->descriptor);
    else if (buffer->Buffer && slot->unused)
        dml_warn(dml_parent(site->table), site->table,
                 "%s: %s, input %u: the graph does not use it; the buffer is ignored", site->method, site->op,
                 site->element);
    else if (buffer->Buffer)
        dml_bind_fail(site,
                      "the dispatchable object expects nothing to be bound at index %u (it is not OWNED_BY_DML), but a "
                      "buffer was provided",
                      site->element);
    return !buffer->Buffer || slot->unused;
}

static bool bind_owned(struct dml_bind_site *site, const struct dml_target *target, const DML_BINDING_DESC *binding)
{
    const DML_BUFFER_ARRAY_BINDING *array = binding->Desc;
    if (binding->Type == DML_BINDING_TYPE_NONE ||
        (array && binding->Type == DML_BINDING_TYPE_BUFFER_ARRAY && !array->BindingCount)) {
        bind_no_owned(site->table, target);
        return true;
    }
    if (binding->Type != DML_BINDING_TYPE_BUFFER_ARRAY || !array || !array->Bindings) {
        dml_bind_fail(site, "an operator initializer requires NONE or a BUFFER_ARRAY with one element for each input");
        return false;
    }
    if (array->BindingCount != target->op->input_count) {
        dml_bind_fail(site, "the buffer array has %u elements, the operator has %u inputs", array->BindingCount,
                      target->op->input_count);
        return false;
    }
    for (uint32_t i = 0; i < array->BindingCount; i++) {
        site->element = i;
        if (!bind_owned_element(site, target, &array->Bindings[i]))
            return false;
    }
    site->element = GRAPH_NONE;
    return true;
}

static void bind_all_owned(struct dml_bind_site *site, const struct dml_initializer *initializer, UINT count,
                           const DML_BINDING_DESC *bindings)
{
    if (!count_check(site->table, site->method, "operator initializer", "operators to initialise", count,
                     initializer->target_count))
        return;
    for (uint32_t i = 0; i < initializer->target_count; i++) {
        const struct dml_target *target = &initializer->targets[i];
        site->index = i;
        site->op = target->op->what;
        if (!count)
            bind_no_owned(site->table, target);
        else if (!bind_owned(site, target, &bindings[i]))
            return;
        table_write(site->table, site->method, target->first, target->op->owned_count);
    }
}

/* One target's persistent buffer. */
static bool bind_persistent_output(const struct dml_bind_site *site, const struct dml_target *target,
                                   const DML_BINDING_DESC *binding)
{
    const DML_BUFFER_BINDING *buffer = binding ? binding_buffer(site, binding) : &no_buffer;
    struct dml_bind_rule rule = { target->op->program.persistent_bytes, DML_PERSISTENT_BUFFER_ALIGNMENT, false };
    uint32_t descriptor = dml_target_persistent(target);
    if (!buffer)
        return false;
    if (descriptor == GRAPH_NONE) {
        if (buffer->Buffer)
            dml_warn(dml_parent(site->table), site->table, "%s: %s, %s %u: its PersistentResourceSize is 0; ignored",
                     site->method, site->op, site->kind, site->index);
        return true;
    }
    if (buffer->Buffer)
        return dml_bind_buffer(site, buffer, &rule, descriptor);
    dml_bind_nothing(site->table, descriptor);
    return true;
}

static void bind_persistent_outputs(struct dml_bind_site *site, const struct dml_initializer *initializer, UINT count,
                                    const DML_BINDING_DESC *bindings)
{
    if (!count_check(site->table, site->method, "operator initializer", "operators to initialise", count,
                     initializer->target_count))
        return;
    for (uint32_t i = 0; i < initializer->target_count; i++) {
        const struct dml_target *target = &initializer->targets[i];
        uint32_t descriptor = dml_target_persistent(target);
        site->index = i;
        site->op = target->op->what;
        if (!bind_persistent_output(site, target, count ? &bindings[i] : NULL))
            return;
        if (descriptor != GRAPH_NONE)
            table_write(site->table, site->method, descriptor, 1);
    }
}

/* ---- the methods ---- */

static void dml_binding_table_BindInputs(TABLE, UINT count, const DML_BINDING_DESC *bindings)
{
    struct dml_binding_table *table = table_from(iface);
    struct dml_bind_site site = { table, "IDMLBindingTable::BindInputs", "", "input", 0, GRAPH_NONE };
    if (!bind_begin(table, site.method, count, bindings))
        return;
    struct dml_compiled_operator *op = dml_as_compiled(table->dispatchable);
    site.op = op ? op->what : "operator initializer";
    if (op)
        bind_slots(&site, op->inputs, op->input_count, count, bindings, 0, op->bound_inputs);
    else
        bind_all_owned(&site, dml_as_initializer(table->dispatchable), count, bindings);
}

static void dml_binding_table_BindOutputs(TABLE, UINT count, const DML_BINDING_DESC *bindings)
{
    struct dml_binding_table *table = table_from(iface);
    struct dml_bind_site site = { table, "IDMLBindingTable::BindOutputs", "", "output", 0, GRAPH_NONE };
    if (!bind_begin(table, site.method, count, bindings))
        return;
    struct dml_compiled_operator *op = dml_as_compiled(table->dispatchable);
    site.op = op ? op->what : "operator initializer";
    if (op)
        bind_slots(&site, op->outputs, op->output_count, count, bindings, op->bound_inputs, op->bound_outputs);
    else
        bind_persistent_outputs(&site, dml_as_initializer(table->dispatchable), count, bindings);
}

/* Temporary and persistent resources; `descriptor` GRAPH_NONE: the dispatchable does not need one. */
static void bind_resource(struct dml_bind_site *site, const DML_BINDING_DESC *binding, uint32_t descriptor,
                          uint64_t bytes)
{
    const DML_BUFFER_BINDING *buffer = binding ? binding_buffer(site, binding) : &no_buffer;
    struct dml_bind_rule rule = { bytes, DML_TEMPORARY_BUFFER_ALIGNMENT, false };
    if (!buffer)
        return;
    if (descriptor == GRAPH_NONE) {
        if (buffer->Buffer)
            dml_warn(dml_parent(site->table), site->table, "%s: %s needs no %s; the buffer is ignored", site->method,
                     site->op, site->kind);
        return;
    }
    if (!buffer->Buffer)
        dml_bind_nothing(site->table, descriptor);
    else if (!dml_bind_buffer(site, buffer, &rule, descriptor))
        return;
    table_write(site->table, site->method, descriptor, 1);
}

/* The descriptor and size are the operator's; initializers have neither buffer. */
static void bind_own(struct dml_binding_table *table, const char *method, const char *kind,
                     const DML_BINDING_DESC *binding, bool temporary)
{
    struct dml_bind_site site = { table, method, "", kind, 0, GRAPH_NONE };
    if (!bind_begin(table, method, 0, NULL))
        return;
    struct dml_compiled_operator *op = dml_as_compiled(table->dispatchable);
    site.op = op ? op->what : "operator initializer";
    if (!op)
        bind_resource(&site, binding, GRAPH_NONE, 0);
    else if (temporary)
        bind_resource(&site, binding, op->temp_descriptor, op->program.temp_bytes);
    else
        bind_resource(&site, binding, op->persistent_descriptor, op->program.persistent_bytes);
}

static void dml_binding_table_BindTemporaryResource(TABLE, const DML_BINDING_DESC *binding)
{
    bind_own(table_from(iface), "IDMLBindingTable::BindTemporaryResource", "temporary resource", binding, true);
}

static void dml_binding_table_BindPersistentResource(TABLE, const DML_BINDING_DESC *binding)
{
    bind_own(table_from(iface), "IDMLBindingTable::BindPersistentResource", "persistent resource", binding, false);
}

static HRESULT dml_binding_table_Reset(TABLE, const DML_BINDING_TABLE_DESC *desc)
{
    struct dml_binding_table *table = table_from(iface);
    struct dml_device *device = dml_parent(table);
    if (dml_device_removed(device))
        return DXGI_ERROR_DEVICE_REMOVED;
    return table_set(device, table, "IDMLBindingTable::Reset", desc);
}

const IDMLBindingTableVtbl dml_binding_table_vtbl = {
    COM_CHILD_METHODS,
    .BindInputs = dml_binding_table_BindInputs,
    .BindOutputs = dml_binding_table_BindOutputs,
    .BindTemporaryResource = dml_binding_table_BindTemporaryResource,
    .BindPersistentResource = dml_binding_table_BindPersistentResource,
    .Reset = dml_binding_table_Reset,
};

/* ---- creation ---- */

static void binding_table_destroy(struct com_object *object)
{
    table_clear((struct dml_binding_table *)object);
    com_finish(object);
    free(object);
}

static const IID *const binding_table_iids[] = { &IID_IDMLObject, &IID_IDMLDeviceChild, &IID_IDMLBindingTable, NULL };

static const struct com_class binding_table_class = { "IDMLBindingTable", binding_table_iids, binding_table_destroy,
                                                      NULL };

HRESULT dml_device_CreateBindingTable(DML_DEVICE, const DML_BINDING_TABLE_DESC *desc, REFIID riid, void **out)
{
    static const char method[] = "IDMLDevice::CreateBindingTable";
    struct dml_device *device = dml_device_from(iface);
    HRESULT hr = dml_create_begin_strict(device, method, out);
    if (FAILED(hr))
        return hr;
    struct dml_binding_table *table = calloc(1, sizeof(*table));
    if (!table)
        return E_OUTOFMEMORY;
    com_init(&table->base, &dml_binding_table_vtbl, &binding_table_class, &device->base);
    hr = table_set(device, table, method, desc);
    if (SUCCEEDED(hr))
        return com_return(&table->base, riid, out);
    com_Release(table);
    return hr;
}
