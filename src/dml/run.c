/* SPDX-License-Identifier: Apache-2.0 */
/* AnydmlRunOperator: a compiled operator on addresses. What costs time elsewhere is left out: descriptors, resources,
 * lists, queues and locks. Temporary memory is the thread's own, so that an operator may run on several at once. */
#include "dml/dml.h"

#include "base/parallel.h"

#include <pthread.h>
#include <stdlib.h>

static const char method[] = "AnydmlRunOperator";

/* ---- the thread's temporary memory: as much as its largest run needed ---- */

struct scratch {
    void *data;
    uint64_t bytes;
};

static _Thread_local struct scratch scratch;
static pthread_key_t scratch_key;
static pthread_once_t scratch_once = PTHREAD_ONCE_INIT;

static void scratch_end(void *own)
{
    struct scratch *ended = own;
    free(ended->data);
    *ended = (struct scratch){ NULL, 0 };
}

static void scratch_begin(void)
{
    pthread_key_create(&scratch_key, scratch_end);
}

/* NULL: memory is short. */
static void *scratch_reserve(uint64_t bytes)
{
    if (bytes <= scratch.bytes)
        return scratch.data;
    pthread_once(&scratch_once, scratch_begin);
    scratch_end(&scratch);
    scratch.data = bytes < PTRDIFF_MAX ? aligned_alloc(256, base_align_up(bytes, 256)) : NULL;
    scratch.bytes = scratch.data ? base_align_up(bytes, 256) : 0;
    pthread_setspecific(scratch_key, &scratch);
    return scratch.data;
}

/* ---- initialisation, at the first run ---- */

static HRESULT initialize(struct dml_compiled_operator *op, void **out)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const uint64_t bytes = op->program.persistent_bytes;
    pthread_mutex_lock(&lock);
    void *persistent = atomic_load(&op->run_persistent);
    HRESULT hr = S_OK;
    if (!persistent) {
        persistent = aligned_alloc(256, base_align_up(BASE_MAX(bytes, 1), 256));
        hr = persistent ? graph_plan_initialize(op->program.plan, NULL, persistent) : E_OUTOFMEMORY;
        if (SUCCEEDED(hr)) {
            atomic_store(&op->run_persistent, persistent);
        } else {
            free(persistent);
            persistent = NULL;
        }
    }
    pthread_mutex_unlock(&lock);
    *out = persistent;
    return hr;
}

/* ---- outputs over inputs ---- */

static bool meet(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

/* The output is written before all of the input that lies there has been read. */
static bool must_copy(const struct dml_compiled_operator *op, uint32_t input, uint64_t at, const uint64_t *outputs)
{
    for (uint32_t i = 0; i < op->output_count; i++)
        if (meet(at, op->inputs[input].bytes, outputs[i], op->outputs[i].bytes) &&
            (at != outputs[i] || op->inputs[input].bytes != op->outputs[i].bytes ||
             !graph_aliases_allow(op->program.aliases, input, i)))
            return true;
    return false;
}

/* Which inputs are to be copied, in `copies` (one bit each, of the first 64; more are all copied where any is), and how
 * many bytes that takes. */
static uint64_t find_copies(const struct dml_compiled_operator *op, const uint64_t *inputs, const uint64_t *outputs,
                            bool *copies)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < op->input_count; i++) {
        copies[i] = op->inputs[i].expect == DML_EXPECT_BUFFER && must_copy(op, i, inputs[i], outputs);
        if (copies[i])
            bytes += base_align_up(graph_aliases_bytes_read(op->program.aliases, i), 256);
    }
    return bytes;
}

/* ---- running ---- */

#define STACK_SLOTS 32

static HRESULT run(struct dml_compiled_operator *op, const uint64_t *inputs, const uint64_t *outputs, void **slots,
                   bool *copies)
{
    void *persistent = atomic_load_explicit(&op->run_persistent, memory_order_acquire);
    const uint64_t copied = find_copies(op, inputs, outputs, copies), temp = base_align_up(op->program.temp_bytes, 256);
    char *memory = temp + copied ? scratch_reserve(temp + copied) : NULL, *next = memory + temp;
    if (!memory && temp + copied)
        return E_OUTOFMEMORY;
    if (!persistent && op->program.persistent_bytes) {
        HRESULT hr = initialize(op, &persistent);
        if (FAILED(hr))
            return hr;
    }
    void **to = slots;
    for (uint32_t i = 0; i < op->input_count; i++) {
        *to++ = (void *)(uintptr_t)inputs[i];
        if (!copies[i])
            continue;
        const uint64_t bytes = graph_aliases_bytes_read(op->program.aliases, i);
        graph_copy_bytes(next, to[-1], bytes);
        to[-1] = next;
        next += base_align_up(bytes, 256);
    }
    for (uint32_t i = 0; i < op->output_count; i++)
        *to++ = (void *)(uintptr_t)outputs[i];
    struct graph_buffers buffers = { slots, slots + op->input_count, memory, persistent };
    struct graph_tracer tracer;
    return graph_plan_run(op->program.plan, &buffers, dml_trace_tracer(op, &tracer));
}

static HRESULT run_on_host(struct dml_compiled_operator *op, const uint64_t *inputs, const uint64_t *outputs)
{
    const uint32_t count = op->input_count + op->output_count;
    void *stack[STACK_SLOTS], **slots = stack;
    bool flags[STACK_SLOTS], *copies = flags;
    if (count > STACK_SLOTS) {
        slots = malloc(count * (sizeof(*slots) + sizeof(*copies)));
        if (!slots)
            return E_OUTOFMEMORY;
        copies = (bool *)(slots + count);
    }
    struct base_team before = base_parallel_enter(dml_parent(op)->threads);
    HRESULT hr = run(op, inputs, outputs, slots, copies);
    base_parallel_leave(before);
    if (slots != stack)
        free(slots);
    return hr;
}

static HRESULT check_addresses(struct dml_compiled_operator *op, const char *kind, const struct dml_slot *slots,
                               uint32_t count, const D3D12_GPU_VIRTUAL_ADDRESS *addresses)
{
    for (uint32_t i = 0; i < count; i++)
        if (slots[i].expect == DML_EXPECT_BUFFER && !addresses[i])
            return dml_fail(dml_parent(op), op, E_INVALIDARG, "%s: %s, %s %u is 0", method, op->what, kind, i);
    return S_OK;
}

__attribute__((visibility("default"))) HRESULT
AnydmlRunOperator(ID3D12CommandQueue *queue, IDMLCompiledOperator *iface, UINT input_count,
                  const D3D12_GPU_VIRTUAL_ADDRESS *inputs, UINT output_count, const D3D12_GPU_VIRTUAL_ADDRESS *outputs)
{
    (void)queue;
    if (!iface || iface->lpVtbl != &dml_compiled_operator_vtbl)
        return E_INVALIDARG;
    struct dml_compiled_operator *op = (struct dml_compiled_operator *)iface;
    struct dml_device *device = dml_parent(op);
    if (input_count != op->input_count || output_count != op->output_count || (input_count && !inputs) || !outputs)
        return dml_fail(device, op, E_INVALIDARG, "%s: %s has %u inputs and %u outputs, not %u%s and %u%s", method,
                        op->what, op->input_count, op->output_count, input_count, inputs ? "" : " at NULL",
                        output_count, outputs ? "" : " at NULL");
    if (op->owned_count)
        return dml_fail(device, op, E_INVALIDARG, "%s: %s has %u inputs that are OWNED_BY_DML, none may be", method,
                        op->what, op->owned_count);
    HRESULT hr = check_addresses(op, "input", op->inputs, input_count, inputs);
    if (SUCCEEDED(hr))
        hr = check_addresses(op, "output", op->outputs, output_count, outputs);
    if (FAILED(hr))
        return hr;
    if (op->program.spirv)
        return DXGI_ERROR_UNSUPPORTED;
    hr = dml_device_reason(device);
    return FAILED(hr) ? DXGI_ERROR_DEVICE_REMOVED : run_on_host(op, inputs, outputs);
}
