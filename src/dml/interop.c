/* SPDX-License-Identifier: Apache-2.0 */
/* AnydmlVulkanRecordDispatch: dispatches in command buffers of the application. Their completion is unknown, so the
 * binding table keeps the objects that they need: once for equal bindings, since a program that records each frame
 * would grow otherwise. */
#include "dml/dml.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"

#include <anydml_vulkan.h>

static const char method[] = "AnydmlVulkanRecordDispatch";

struct dml_recorded {
    struct dml_recorded *next;
    struct adapter_dispatch *dispatch;
    struct adapter_recorded *commands; /* NULL: not needed */
    struct adapter_binding bindings[];
};

static void destroy(struct dml_device *device, struct dml_recorded *recorded)
{
    device->d3d12->lpVtbl->DestroyRecorded(device->d3d12, recorded->commands);
    if (recorded->dispatch)
        recorded->dispatch->ops->unref(recorded->dispatch);
    free(recorded);
}

void dml_recorded_destroy(struct dml_binding_table *table)
{
    while (table->recorded) {
        struct dml_recorded *recorded = table->recorded;
        table->recorded = recorded->next;
        destroy(dml_parent(table), recorded);
    }
}

static bool same_bindings(const struct dml_recorded *a, const struct dml_recorded *b, uint32_t count)
{
    return !memcmp(a->bindings, b->bindings, count * sizeof(*a->bindings));
}

/* With the table's bindings as they are now, not yet in its list. */
static HRESULT resolve(const struct dml_record *record, struct dml_recorded **out, char *message)
{
    const struct dml_compiled_operator *op = dml_as_compiled(record->dispatchable);
    const struct dml_binding_table *table = record->table;
    AnydmlDevice *d3d12 = record->device->d3d12;
    *out = calloc(1, sizeof(**out) + table->range.count * sizeof(*(*out)->bindings));
    if (!*out)
        return E_OUTOFMEMORY;
    HRESULT hr = d3d12->lpVtbl->ResolveBindings(d3d12, table->range.gpu, table->range.count,
                                                op && dml_compiled_volatile(op) ? NULL : table->buffers,
                                                (*out)->bindings, message);
    if (FAILED(hr)) {
        free(*out);
        *out = NULL;
    }
    return hr;
}

/* For these bindings: the existing entry of the table, or `fresh` with its dispatch. Takes ownership of `fresh`. */
static HRESULT find_or_add(const struct dml_record *record, struct dml_recorded *fresh, struct dml_recorded **out)
{
    struct dml_binding_table *table = record->table;
    struct dml_recorded *found = table->recorded;
    while (found && !same_bindings(found, fresh, table->range.count))
        found = found->next;
    HRESULT hr = found ? S_OK : dml_record_dispatch(record, &fresh->dispatch);
    if (found || FAILED(hr)) {
        *out = found;
        free(fresh);
        return hr;
    }
    fresh->next = table->recorded;
    table->recorded = fresh;
    *out = fresh;
    return S_OK;
}

static HRESULT record_commands(const struct dml_record *record, void *commands, char *message)
{
    const struct dml_compiled_operator *op = dml_as_compiled(record->dispatchable);
    AnydmlDevice *d3d12 = record->device->d3d12;
    struct dml_recorded *recorded = NULL;
    if (op && op->needs_initialization && !atomic_load(&op->initialized)) {
        snprintf(message, DML_ERROR_BYTES, "dispatchable: %s is recorded before its initialisation", op->what);
        return E_INVALIDARG;
    }
    HRESULT hr = resolve(record, &recorded, message);
    if (SUCCEEDED(hr))
        hr = find_or_add(record, recorded, &recorded);
    if (FAILED(hr))
        return hr;
    return d3d12->lpVtbl->RecordCommands(d3d12, commands, recorded->dispatch, recorded->bindings,
                                         record->table->range.count, &recorded->commands, message);
}

__attribute__((visibility("default"))) HRESULT AnydmlVulkanRecordDispatch(IDMLCommandRecorder *recorder,
                                                                          VkCommandBuffer commands,
                                                                          IDMLDispatchable *dispatchable,
                                                                          IDMLBindingTable *bindings)
{
    char message[DML_ERROR_BYTES] = "";
    if (!recorder || (const void *)recorder->lpVtbl != &dml_command_recorder_vtbl) {
        base_log(BASE_LOG_ERROR, "%s: recorder is %s", method, recorder ? "not created by this runtime" : "NULL");
        return recorder ? DXGI_ERROR_UNSUPPORTED : E_INVALIDARG;
    }
    struct dml_record record = { .device = dml_parent(recorder) };
    if (dml_device_removed(record.device))
        return DXGI_ERROR_DEVICE_REMOVED;
    const char *error = "commands is NULL";
    if (commands)
        error = dml_record_begin(&record, dispatchable, bindings, message);
    if (error)
        return dml_fail(record.device, record.table, E_INVALIDARG, "%s: %s", method, error);
    HRESULT hr = record_commands(&record, commands, message);
    if (FAILED(hr))
        return dml_fail(record.device, record.table, hr, "%s: %s", method,
                        *message ? message : "no memory, or the driver refused");
    return S_OK;
}
