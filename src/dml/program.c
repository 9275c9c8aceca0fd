/* SPDX-License-Identifier: Apache-2.0 */
/* A graph as a program for the device's adapter. */
#include "dml/dispatch_spirv.h"
#include "graph/backend.h"
#include "graph/tuning/tuning.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/parallel.h"

#include <stdio.h>

static void size_host(struct dml_program *program)
{
    program->temp_bytes = base_align_up(program->plan->temp_bytes, DML_TEMPORARY_BUFFER_ALIGNMENT);
    if (program->plan->persistent_bytes)
        program->persistent_bytes =
            base_align_up(program->plan->persistent_bytes, DML_PERSISTENT_BUFFER_ALIGNMENT) + DML_TAG_BYTES;
}

/* A plan in the making for a device. */
struct compiling {
    struct dml_device *device;
    struct dml_constants *constants;
};

static HRESULT chosen(void *context, const struct graph_plan *plan)
{
    return dml_spirv_prepare(((struct compiling *)context)->device, plan);
}

static HRESULT keep(void *context, const struct graph_keeping *keeping, struct graph_kept *out)
{
    return dml_constants_keep(((struct compiling *)context)->constants, keeping, out);
}

/* The plan, whose constants go to the device's memory one by one. */
static HRESULT plan_spirv(struct dml_program *program, struct compiling *compiling, struct graph *graph,
                          const struct graph_options *options, char *error)
{
    struct graph_options with = *options;
    with.chosen = chosen;
    with.keep = keep;
    with.context = compiling;
    HRESULT hr = graph_plan_create(graph, &with, &program->plan, error);
    if (SUCCEEDED(hr))
        hr = dml_constants_finish(compiling->constants);
    if (FAILED(hr) && *dml_constants_message(compiling->constants))
        snprintf(error, DML_ERROR_BYTES, "%s", dml_constants_message(compiling->constants));
    return hr;
}

/* Pipelines, and the constants in the device's memory; traces need the rest of the plan. */
static HRESULT compile_spirv(struct dml_device *device, struct dml_program *program, struct graph *graph,
                             const struct graph_options *options, char *error)
{
    struct compiling compiling = { device, dml_constants_create(device) };
    if (!compiling.constants)
        return E_OUTOFMEMORY;
    HRESULT hr = plan_spirv(program, &compiling, graph, options, error);
    if (SUCCEEDED(hr))
        hr = graph_aliases_create(program->plan, &program->aliases);
    if (FAILED(hr)) {
        dml_constants_destroy(compiling.constants);
        return hr;
    }
    hr = dml_spirv_create(device, program->plan, compiling.constants, &program->spirv, error);
    graph_plan_release_constants(program->plan);
    if (FAILED(hr))
        return hr;
    dml_spirv_sizes(program->spirv, &program->temp_bytes, &program->persistent_bytes);
    program->temp_bytes = base_align_up(program->temp_bytes, DML_TEMPORARY_BUFFER_ALIGNMENT);
    program->persistent_bytes = base_align_up(program->persistent_bytes, DML_PERSISTENT_BUFFER_ALIGNMENT);
    return S_OK;
}

/* Without `run`: only checks for support, without pipelines, which drivers create slowly. */
static HRESULT compile_once(struct dml_device *device, struct dml_program *program, struct graph *graph,
                            const struct graph_options *options, bool run, char *error)
{
    if (device->adapter->kind == ADAPTER_SPIRV && run)
        return compile_spirv(device, program, graph, options, error);
    HRESULT hr = graph_plan_create(graph, options, &program->plan, error);
    if (SUCCEEDED(hr))
        hr = graph_aliases_create(program->plan, &program->aliases);
    if (SUCCEEDED(hr))
        size_host(program);
    return hr;
}

/* The addresses of metacommands are part of their recording. */
static uint32_t usable_capabilities(struct dml_device *device, bool late)
{
    return dml_shader_capabilities(device) & ~(late ? (uint32_t)SHADER_CAPABILITY_META : 0);
}

/* If a driver rejects a metacommand, all are disabled. That is known while the plan is made, before it has taken the
 * graph's constants. */
static HRESULT compile(struct dml_device *device, struct dml_program *program, struct graph *graph,
                       struct graph_options *options, bool late, bool run, char *error)
{
    HRESULT hr = compile_once(device, program, graph, options, run, error);
    const uint32_t capabilities = usable_capabilities(device, late);
    if (hr != DXGI_ERROR_UNSUPPORTED || program->plan || capabilities == options->shader_capabilities)
        return hr;
    dml_program_destroy(device, program);
    *program = (struct dml_program){ 0 };
    options->shader_capabilities = capabilities;
    return compile_once(device, program, graph, options, run, error);
}

static void log_program(const struct dml_program *program, const char *what, uint64_t id, uint64_t passes_ns,
                        uint64_t plan_ns)
{
    base_log(BASE_LOG_DEBUG,
             "%s %llu: passes %.2f ms, plan %.2f ms, of which constants %.2f ms; temporary %llu bytes, "
             "at least %llu are needed",
             what, (unsigned long long)id, (double)passes_ns / 1e6, (double)plan_ns / 1e6,
             (double)program->plan->constants_ns / 1e6, (unsigned long long)program->temp_bytes,
             (unsigned long long)program->plan->temp_lower_bound);
}

HRESULT dml_program_create(struct dml_device *device, struct graph *graph, const char *what, uint64_t id, bool late,
                           struct dml_program *out, char *error)
{
    const bool host = device->adapter->kind == ADAPTER_HOST;
    struct dml_trace *trace = what ? &device->trace : NULL;
    struct graph_options options;
    graph_options_init(&options, host ? &graph_backend_host : &graph_backend_spirv, device->threads);
    options.shader_capabilities = usable_capabilities(device, late);
    options.multiprocessors = device->adapter->multiprocessors;
    options.specialized = graph->runs_often && device->adapter->is_gpu; /* drivers on CPUs take longer */
    options.store = device->store;
    options.tuning = host ? graph_tuning_get(options.threads) : NULL;
    struct dml_rows rows;
    dml_rows_choose(device, &rows);
    options.choices = host ? NULL : &rows.choices;
    options.constant_bytes_max = device->adapter->memory_bytes_max;
    graph->defers = what != NULL;
    graph->threads = device->threads;
    /* Passes have little work; what weights need is done by a team of threads. */
    struct base_team before = base_parallel_enter(1);
    uint64_t start = base_now_ns();
    dml_trace_graph(trace, what, id, "before passes", graph);
    HRESULT hr = graph_run_passes(graph, &options);
    uint64_t rewritten = base_now_ns();
    dml_trace_graph(trace, what, id, "after passes", graph);
    if (SUCCEEDED(hr))
        hr = compile(device, out, graph, &options, late, what != NULL, error);
    if (SUCCEEDED(hr))
        dml_trace_plan(trace, what, id, out->plan);
    if (SUCCEEDED(hr) && what)
        log_program(out, what, id, rewritten - start, base_now_ns() - rewritten);
    base_parallel_leave(before);
    return hr;
}

void dml_program_destroy(struct dml_device *device, struct dml_program *program)
{
    if (program->plan)
        graph_plan_destroy(program->plan);
    if (program->spirv)
        dml_spirv_destroy(device, program->spirv);
    graph_aliases_destroy(program->aliases);
}
