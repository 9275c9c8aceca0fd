/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel selection for SPIR-V devices: read when the device is created, stored by AnydmlKeepRows; and ANYDML_KERNELS,
 * which forces one kernel for all ops that it supports, for measurements. */
#include "dml/dml.h"

#include "base/log.h"
#include "graph/tuning/tuning_rows.h"

#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

static struct graph_rows_device device_of(const struct dml_device *device)
{
    const struct adapter_info *info = device->adapter;
    return (struct graph_rows_device){ info->name, info->driver_version, info->driver_uuid, info->shader_capabilities };
}

/* Out of memory: fall back to the default selection. */
void dml_rows_open(struct dml_device *device)
{
    const struct graph_rows_device named = device_of(device);
    if (device->adapter->kind == ADAPTER_SPIRV)
        graph_rows_load(&named, &device->choices);
}

void dml_rows_close(struct dml_device *device)
{
    graph_rows_free(&device->choices);
}

const char *dml_rows_wanted(const char **out_variable)
{
    const char *kernels = getenv("ANYDML_KERNELS");
    *out_variable = kernels ? "ANYDML_KERNELS" : "ANYDML_ROWS";
    return kernels ? kernels : getenv("ANYDML_ROWS");
}

void dml_rows_choose(const struct dml_device *device, struct dml_rows *out)
{
    const char *variable, *wanted = dml_rows_wanted(&variable);
    *out = (struct dml_rows){ .choices = device->choices };
    if (!wanted)
        return;
    out->choices.count = 0;
    if (*wanted && shader_choice_parse(wanted, strlen(wanted), &out->forced))
        out->choices.forced = &out->forced;
    else if (*wanted)
        base_log(BASE_LOG_ERROR, "%s: unknown kernel \"%s\"", variable, wanted);
}

/* Sorted by key, without duplicates. */
static HRESULT take_rows(const struct anydml_row *rows, UINT count, struct shader_choices *out)
{
    if (count > GRAPH_ROWS_MAX || (count && !rows))
        return E_INVALIDARG;
    out->sorted = calloc((size_t)count + 1, sizeof(*out->sorted));
    if (!out->sorted)
        return E_OUTOFMEMORY;
    for (UINT i = 0; i < count; i++) {
        struct shader_choice *choice = &out->sorted[out->count++];
        if (!rows[i].Class || !rows[i].Row || !shader_choice_parse(rows[i].Row, strlen(rows[i].Row), choice))
            return E_INVALIDARG;
        choice->key = rows[i].Class;
        for (UINT k = 0; k < i; k++)
            if (rows[k].Class == rows[i].Class)
                return E_INVALIDARG;
    }
    return S_OK;
}

EXPORT HRESULT AnydmlKeepRows(IDMLDevice *iface, const struct anydml_row *rows, UINT count,
                              const struct anydml_tuning *listener)
{
    struct shader_choices choices = { 0 };
    char path[BASE_CACHE_PATH_BYTES] = "";
    const struct dml_device *device = dml_device_own(iface);
    if (!device)
        return E_INVALIDARG;
    const struct graph_rows_device named = device_of(device);
    if (device->adapter->kind != ADAPTER_SPIRV)
        return DXGI_ERROR_UNSUPPORTED;
    HRESULT hr = take_rows(rows, count, &choices);
    if (SUCCEEDED(hr)) {
        const char *problem = graph_rows_save(&named, &choices);
        graph_rows_path(&named, path);
        if (listener && listener->Saved)
            listener->Saved(listener->Context, path, problem);
        if (problem)
            base_log(BASE_LOG_ERROR, "AnydmlKeepRows: %s: %s", path, problem);
        hr = problem ? E_ACCESSDENIED : S_OK;
    }
    graph_rows_free(&choices);
    return hr;
}
