/* SPDX-License-Identifier: Apache-2.0 */
/* IDMLCommandRecorder: checks a dispatch and appends it to a command list. */
#include "dml/dml.h"

#include <stdlib.h>

#include <DirectMLGuids.h>

static const char method[] = "IDMLCommandRecorder::RecordDispatch";

/* ---- bindings as last written by the table ---- */

static uint64_t table_bound(const void *context, uint32_t descriptor)
{
    const struct dml_binding_table *table = context;
    return table->buffers[descriptor].resource_id ? table->buffers[descriptor].size : 0;
}

static struct dml_range table_range(const void *context, uint32_t descriptor)
{
    const struct dml_binding_table *table = context;
    const struct anydml_buffer *buffer = &table->buffers[descriptor];
    const struct dml_place *place = &table->places[descriptor];
    return (struct dml_range){ buffer->resource_id, buffer->offset, place->memory, place->offset };
}

/* Resources placed in one memory count as one. */
static struct dml_range table_place(const void *context, uint32_t descriptor)
{
    const struct dml_binding_table *table = context;
    const struct dml_place *place = &table->places[descriptor];
    return (struct dml_range){ place->memory, place->offset, place->memory, place->offset };
}

static bool find_missing(const struct dml_record *record, char *message)
{
    const struct dml_compiled_operator *op = dml_as_compiled(record->dispatchable);
    const struct dml_initializer *initializer = dml_as_initializer(record->dispatchable);
    struct dml_missing missing;
    bool found = op ? dml_missing_execution(op, table_bound, record->table, &missing)
                    : dml_missing_initialization(initializer->targets, initializer->target_count, table_bound,
                                                 record->table, &missing);
    if (found)
        dml_missing_print(&missing, message);
    return found;
}

static bool find_hazard(const struct dml_record *record, dml_range_fn *range, bool *out_copies, char *message)
{
    const struct dml_compiled_operator *op = dml_as_compiled(record->dispatchable);
    const struct dml_initializer *initializer = dml_as_initializer(record->dispatchable);
    *out_copies = false;
    return op ? dml_hazard_execution(op, range, record->table, out_copies, message)
              : dml_hazard_initialization(initializer->targets, initializer->target_count, range, record->table,
                                          message);
}

/* Operators compiled for late binding are checked when they are executed. */
static const char *bindings_error(struct dml_record *record, char *message)
{
    const struct dml_compiled_operator *op = dml_as_compiled(record->dispatchable);
    char aliased[DML_ERROR_BYTES];
    bool ignored;
    if (op && dml_compiled_volatile(op))
        return NULL;
    if (find_missing(record, message) || find_hazard(record, table_range, &record->copies, message))
        return message;
    /* Programs alias placed resources on purpose: this is for the debug layer only. */
    if (record->device->debug && op && find_hazard(record, table_place, &ignored, aliased))
        dml_warn(record->device, record->table, "%s: in one heap, %s", method, aliased);
    return NULL;
}

/* ---- the call ---- */

static const char *arguments_error(struct dml_record *record, IDMLDispatchable *dispatchable, IDMLBindingTable *table)
{
    struct dml_device *device = record->device;
    record->dispatchable = com_child(device, dispatchable, &dml_compiled_operator_vtbl);
    if (!record->dispatchable)
        record->dispatchable = com_child(device, dispatchable, &dml_initializer_vtbl);
    record->table = com_child(device, table, &dml_binding_table_vtbl);
    if (!record->dispatchable)
        return dispatchable ? "dispatchable was not created by this device" : "dispatchable is NULL";
    if (!record->table)
        return table ? "bindings was not created by this device" : "bindings is NULL";
    if (record->table->dispatchable && record->table->dispatchable != record->dispatchable)
        return "the binding table was made for another dispatchable";
    return dml_binding_table_error(record->table);
}

static void check_residency(const struct dml_record *record)
{
    if (atomic_load(&record->dispatchable->residency) > 0)
        return;
    dml_warn(record->device, record->dispatchable, "%s: the dispatchable is evicted; it is made resident", method);
    atomic_store(&record->dispatchable->residency, 1);
}

const char *dml_record_begin(struct dml_record *record, IDMLDispatchable *dispatchable, IDMLBindingTable *table,
                             char *message)
{
    const char *error = arguments_error(record, dispatchable, table);
    if (!error)
        error = bindings_error(record, message);
    if (!error)
        check_residency(record);
    return error;
}

HRESULT dml_record_dispatch(const struct dml_record *record, struct adapter_dispatch **out)
{
    struct adapter_dispatch *dispatch = *out = dml_dispatch_create(record->dispatchable);
    HRESULT hr = dispatch ? S_OK : E_OUTOFMEMORY;
    if (dispatch && record->copies)
        hr = dml_dispatch_stage(dispatch, table_range, record->table);
    if (SUCCEEDED(hr))
        return S_OK;
    if (dispatch)
        dispatch->ops->unref(dispatch);
    *out = NULL;
    return hr;
}

/* The dispatch captures the table's bindings, since the program may reuse the descriptors for the next one before the
 * list is executed; bindings of an operator compiled for late binding stay in the heap. */
static HRESULT append_dispatch(struct dml_record *record, ID3D12CommandList *list, struct anydml_recording *out)
{
    const struct dml_compiled_operator *op = dml_as_compiled(record->dispatchable);
    const struct dml_binding_table *table = record->table;
    AnydmlDevice *d3d12 = record->device->d3d12;
    struct adapter_dispatch *dispatch;
    if (record->device->records_at_once)
        record->copies = false; /* the dispatch that it records, perhaps an earlier one, makes room for them */
    HRESULT hr = dml_record_dispatch(record, &dispatch);
    if (FAILED(hr))
        return hr;
    hr = d3d12->lpVtbl->RecordDispatch(d3d12, list, dispatch, &table->range,
                                       op && dml_compiled_volatile(op) ? NULL : table->buffers, out);
    dispatch->ops->unref(dispatch);
    return hr;
}

static HRESULT append(struct dml_record *record, ID3D12CommandList *list)
{
    struct dml_device *device = record->device;
    struct anydml_recording recording = { 0 };
    HRESULT hr = append_dispatch(record, list, &recording);
    if (SUCCEEDED(hr) && !recording.heap_not_set)
        return S_OK;
    const char *why = *recording.message    ? recording.message
                      : hr == E_OUTOFMEMORY ? "no memory"
                      : recording.heap_not_set
                          ? "the heap of GPUDescriptorHandle is not set by SetDescriptorHeaps"
                          : "commandList is not an open DIRECT or COMPUTE list of the parent device";
    if (SUCCEEDED(hr)) {
        dml_error(device, record->table, "%s: %s", method, why);
        return S_OK;
    }
    hr = hr == E_OUTOFMEMORY ? hr : E_INVALIDARG;
    dml_device_remove(device, record->table, hr, "%s: %s", method, why);
    return hr;
}

static void dml_command_recorder_RecordDispatch(IDMLCommandRecorder *iface, ID3D12CommandList *list,
                                                IDMLDispatchable *dispatchable, IDMLBindingTable *table)
{
    struct dml_device *device = dml_parent(iface);
    struct dml_record record = { .device = device };
    char message[DML_ERROR_BYTES];
    HRESULT hr = E_INVALIDARG;
    if (!dml_device_removed(device)) {
        const char *error = list ? dml_record_begin(&record, dispatchable, table, message) : "commandList is NULL";
        if (error)
            dml_device_remove(device, record.table, E_INVALIDARG, "%s: %s", method, error);
        else
            hr = append(&record, list);
    }
    /* A list with a failed dispatch must fail at Close, for programs that check only that. */
    if (FAILED(hr) && list)
        device->d3d12->lpVtbl->PoisonCommandList(device->d3d12, list, hr);
}

const IDMLCommandRecorderVtbl dml_command_recorder_vtbl = {
    COM_CHILD_METHODS,
    .RecordDispatch = dml_command_recorder_RecordDispatch,
};

static void command_recorder_destroy(struct com_object *object)
{
    com_finish(object);
    free(object);
}

static const IID *const command_recorder_iids[] = { &IID_IDMLObject, &IID_IDMLDeviceChild, &IID_IDMLCommandRecorder,
                                                    NULL };

static const struct com_class command_recorder_class = { "IDMLCommandRecorder", command_recorder_iids,
                                                         command_recorder_destroy, NULL };

HRESULT dml_device_CreateCommandRecorder(DML_DEVICE, REFIID riid, void **out)
{
    struct dml_device *device = dml_device_from(iface);
    HRESULT hr = dml_create_begin_strict(device, "IDMLDevice::CreateCommandRecorder", out);
    if (FAILED(hr))
        return hr;
    struct com_object *recorder = calloc(1, sizeof(*recorder));
    if (!recorder)
        return E_OUTOFMEMORY;
    com_init(recorder, &dml_command_recorder_vtbl, &command_recorder_class, &device->base);
    return com_return(recorder, riid, out);
}
