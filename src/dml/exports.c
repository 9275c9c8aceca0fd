/* SPDX-License-Identifier: Apache-2.0 */
/* The library's functions. */
#include "dml/dml.h"

#include <stdio.h>

#include "base/log.h"
#include "foreign/foreign.h"
#include "base/cpu.h"
#include "graph/tuning/tuning.h"

#include <anydml.h>

#define EXPORT __attribute__((visibility("default")))

static HRESULT level_check(uint32_t level)
{
    if (level > DML_HIGHEST_LEVEL)
        return DXGI_ERROR_UNSUPPORTED;
    return schema_feature_level_known(level) ? S_OK : E_INVALIDARG;
}

static HRESULT arguments_check(ID3D12Device *parent, DML_CREATE_DEVICE_FLAGS flags, DML_FEATURE_LEVEL level)
{
    HRESULT hr = parent && !(flags & ~DML_CREATE_DEVICE_FLAG_DEBUG) ? level_check(level) : E_INVALIDARG;
    if (FAILED(hr))
        base_log(BASE_LOG_ERROR, "DMLCreateDevice: %s (flags 0x%x, minimum feature level 0x%x, highest 0x%x)",
                 !parent                                   ? "d3d12Device is NULL"
                 : (flags & ~DML_CREATE_DEVICE_FLAG_DEBUG) ? "flags may be NONE or DEBUG"
                 : hr == E_INVALIDARG                      ? "minimumFeatureLevel is not a feature level"
                                                           : "minimumFeatureLevel is not supported",
                 (unsigned)flags, (unsigned)level, DML_HIGHEST_LEVEL);
    return hr;
}

/* A device of another runtime. */
static HRESULT other_open(ID3D12Device *parent, AnydmlDevice **out)
{
    char message[ADAPTER_MESSAGE_BYTES];
    HRESULT hr = foreign_open(parent, out, message);
    if (hr == E_NOINTERFACE) {
        base_log(BASE_LOG_ERROR, "DMLCreateDevice: d3d12Device is a device of neither AnyDML's libd3d12.so nor "
                                 "vkd3d-proton");
        return DXGI_ERROR_UNSUPPORTED;
    }
    if (FAILED(hr))
        base_log(BASE_LOG_ERROR, "DMLCreateDevice: %s", *message ? message : "no memory, or the driver refused");
    return hr;
}

/* The private interface of this runtime's devices, or one over a device of another. */
static HRESULT d3d12_open(ID3D12Device *parent, AnydmlDevice **out)
{
    AnydmlDevice *d3d12 = NULL;
    if (FAILED(ID3D12Device_QueryInterface(parent, &IID_AnydmlDevice, (void **)&d3d12)) || !d3d12)
        return other_open(parent, out);
    uint32_t version = d3d12->lpVtbl->GetVersion(d3d12);
    if (version != ANYDML_DEVICE_VERSION) {
        base_log(BASE_LOG_ERROR, "DMLCreateDevice: libd3d12.so has the private interface %u, libdirectml.so needs %u",
                 version, ANYDML_DEVICE_VERSION);
        d3d12->lpVtbl->Release(d3d12);
        return DXGI_ERROR_UNSUPPORTED;
    }
    *out = d3d12;
    return S_OK;
}

EXPORT HRESULT DMLCreateDevice1(ID3D12Device *parent, DML_CREATE_DEVICE_FLAGS flags, DML_FEATURE_LEVEL level,
                                REFIID riid, void **out)
{
    AnydmlDevice *d3d12 = NULL;
    struct dml_device *device = NULL;
    if (out)
        *out = NULL;
    HRESULT hr = arguments_check(parent, flags, level);
    if (SUCCEEDED(hr))
        hr = d3d12_open(parent, &d3d12);
    if (FAILED(hr))
        return hr;
    if (FAILED(d3d12->lpVtbl->GetRemovedReason(d3d12)))
        hr = DXGI_ERROR_DEVICE_REMOVED;
    else
        hr = dml_device_create(parent, d3d12, flags & DML_CREATE_DEVICE_FLAG_DEBUG, &device);
    d3d12->lpVtbl->Release(d3d12);
    return FAILED(hr) ? hr : com_return(&device->base, riid, out);
}

EXPORT HRESULT DMLCreateDevice(ID3D12Device *parent, DML_CREATE_DEVICE_FLAGS flags, REFIID riid, void **out)
{
    return DMLCreateDevice1(parent, flags, DML_FEATURE_LEVEL_1_0, riid, out);
}

/* For tests, which look it up in each library. */
EXPORT uint32_t AnydmlLiveObjects(void);
EXPORT uint32_t AnydmlLiveObjects(void)
{
    return com_live_objects();
}

EXPORT HRESULT AnydmlCompileGraph(IDMLDevice1 *iface, const DML_GRAPH_DESC *desc, DML_EXECUTION_FLAGS flags,
                                  anydml_constant_done done, void *context, REFIID riid, void **out)
{
    return AnydmlCompileGraphInParts(iface, desc, flags, &(struct anydml_constant_reads){ done, NULL, context }, riid,
                                     out);
}

EXPORT HRESULT AnydmlCompileGraphInParts(IDMLDevice1 *iface, const DML_GRAPH_DESC *desc, DML_EXECUTION_FLAGS flags,
                                         const struct anydml_constant_reads *reads, REFIID riid, void **out)
{
    struct dml_device *device = dml_device_own((IDMLDevice *)iface);
    struct dml_listener listener = { NULL, NULL, NULL };
    if (!iface)
        return E_INVALIDARG;
    if (!device)
        return iface->lpVtbl->CompileGraph(iface, desc, flags, riid, out);
    if (reads)
        listener = (struct dml_listener){ reads->Done, reads->Part, reads->Context };
    return dml_compile_graph(device, desc, flags, &listener, riid, out);
}

EXPORT HRESULT AnydmlEnumOperators(IDMLDevice *iface, UINT index, struct anydml_operator_info *info)
{
    struct dml_device *device = dml_device_own(iface);
    if (!device || !info)
        return E_INVALIDARG;
    if (index >= schema_op_count())
        return DXGI_ERROR_NOT_FOUND;
    const struct schema_op *op = schema_op_at(index);
    uint32_t types = 0, extensions = 0;
    for (uint32_t i = 0; i < op->field_count; i++) {
        types |= schema_field_types(op, i, DML_HIGHEST_LEVEL);
        extensions |= schema_field_extensions(op, i, DML_HIGHEST_LEVEL);
    }
    extensions &= ~types;
    *info = (struct anydml_operator_info){ .Type = op->type, .Name = op->name, .Level = op->level };
    info->SchemaTypes = types;
    info->Types = dml_operator_types(device, op, types);
    info->ExtensionTypes = dml_operator_types(device, op, extensions);
    return S_OK;
}

static bool tune_point(uint32_t point, uint32_t threads, const struct anydml_tuning *listener, struct kern_tuning *out)
{
    struct graph_tuning_result result;
    if (!graph_tuning_measure(point, base_cpu_flags(), threads, &result))
        return false;
    out->correction[point] = graph_tuning_correction(&result);
    struct anydml_tuning_point told = { kern_points[point].name,
                                        { result.rows[0], result.rows[1] },
                                        { result.seconds[0], result.seconds[1] },
                                        result.cost,
                                        (double)out->correction[point] };
    if (listener && listener->Point)
        listener->Point(listener->Context, &told);
    return true;
}

EXPORT HRESULT AnydmlTune(IDMLDevice *iface, const struct anydml_tuning *listener)
{
    struct kern_tuning tuning;
    char path[GRAPH_TUNING_BYTES] = "";
    struct dml_device *device = dml_device_own(iface);
    if (!device)
        return E_INVALIDARG;
    if (device->adapter->kind != ADAPTER_HOST || device->adapter->idle)
        return DXGI_ERROR_UNSUPPORTED;
    for (uint32_t i = 0; i < KERN_POINT_COUNT; i++)
        if (!tune_point(i, device->threads, listener, &tuning))
            return E_OUTOFMEMORY;
    const char *problem = graph_tuning_save(&tuning, device->threads);
    graph_tuning_path(device->threads, path);
    if (listener && listener->Saved)
        listener->Saved(listener->Context, path, problem);
    if (problem)
        base_log(BASE_LOG_ERROR, "AnydmlTune: %s: %s", path, problem);
    return problem ? E_ACCESSDENIED : S_OK;
}

EXPORT BOOL AnydmlQuiet(BOOL quiet)
{
    return base_log_quiet(quiet);
}
