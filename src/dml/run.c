/* SPDX-License-Identifier: Apache-2.0 */
/* AnydmlRunOperator: executes a compiled operator on addresses without descriptors, resources and lists, and on the
 * host without queues and locks. On the host, temporary memory belongs to the thread, so that several threads may run
 * an operator concurrently; on devices it belongs to the queue. */
#include "dml/dispatch_spirv.h"

#include "base/os.h"
#include "base/parallel.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const char method[] = "AnydmlRunOperator";

/* ---- the thread's temporary memory: the maximum over its runs ---- */

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
    base_aligned_release(ended->data);
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
    scratch.data = bytes < PTRDIFF_MAX ? base_aligned_acquire(256, base_align_up(bytes, 256)) : NULL;
    scratch.bytes = scratch.data ? base_align_up(bytes, 256) : 0;
    pthread_setspecific(scratch_key, &scratch);
    return scratch.data;
}

/* ---- initialisation, at the first run and when owned inputs are given ---- */

/* `owned`: the inputs if the owned ones are given; NULL: unchanged. */
static HRESULT initialize(struct dml_compiled_operator *op, void *const *owned, void **out)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const uint64_t bytes = op->program.persistent_bytes;
    pthread_mutex_lock(&lock);
    void *persistent = atomic_load(&op->run_persistent);
    HRESULT hr = S_OK;
    if (!persistent || owned) {
        if (!persistent)
            persistent = base_aligned_acquire(256, base_align_up(BASE_MAX(bytes, 1), 256));
        hr = persistent ? graph_plan_initialize(op->program.plan, owned, persistent) : E_OUTOFMEMORY;
        if (SUCCEEDED(hr)) {
            atomic_store(&op->run_persistent, persistent);
        } else {
            atomic_store(&op->run_persistent, NULL);
            base_aligned_release(persistent);
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

/* The output is written before all of the overlapping input has been read. */
static bool must_copy(const struct dml_compiled_operator *op, uint32_t input, uint64_t at, const uint64_t *outputs)
{
    for (uint32_t i = 0; i < op->output_count; i++)
        if (meet(at, op->inputs[input].bytes, outputs[i], op->outputs[i].bytes) &&
            (at != outputs[i] || op->inputs[input].bytes != op->outputs[i].bytes ||
             !graph_aliases_allow(op->program.aliases, input, i)))
            return true;
    return false;
}

/* Selects inputs to be copied, in `copies` (one bit each, of the first 64; the others are all copied if any must be),
 * and the bytes required. */
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

/* ---- on the host ---- */

/* Whether the owned inputs have addresses: all or none. */
static bool owned_given(const struct dml_compiled_operator *op, const uint64_t *inputs)
{
    for (uint32_t i = 0; op->owned_count && i < op->input_count; i++)
        if (op->inputs[i].expect == DML_EXPECT_OWNED)
            return inputs[i] != 0;
    return false;
}

#define STACK_SLOTS 32

static HRESULT run(struct dml_compiled_operator *op, const uint64_t *inputs, const uint64_t *outputs, void **slots,
                   bool *copies)
{
    void *persistent = atomic_load_explicit(&op->run_persistent, memory_order_acquire);
    const uint64_t copied = find_copies(op, inputs, outputs, copies), temp = base_align_up(op->program.temp_bytes, 256);
    char *memory = temp + copied ? scratch_reserve(temp + copied) : NULL, *next = memory + temp;
    if (!memory && temp + copied)
        return E_OUTOFMEMORY;
    const bool given = owned_given(op, inputs);
    void **to = slots;
    for (uint32_t i = 0; i < op->input_count; i++) {
        *to++ = (void *)(uintptr_t)inputs[i];
        if (!copies[i])
            continue;
        const uint64_t bytes = graph_aliases_bytes_read(op->program.aliases, i);
        base_parallel_copy(next, to[-1], bytes);
        to[-1] = next;
        next += base_align_up(bytes, 256);
    }
    for (uint32_t i = 0; i < op->output_count; i++)
        *to++ = (void *)(uintptr_t)outputs[i];
    if (given || (!persistent && op->program.persistent_bytes)) {
        HRESULT hr = initialize(op, given ? slots : NULL, &persistent);
        if (FAILED(hr))
            return hr;
    }
    struct graph_buffers buffers = { slots, slots + op->input_count, memory, persistent };
    struct graph_tracer tracer;
    graph_plan_run(op->program.plan, &buffers, dml_trace_tracer(op, &tracer));
    return S_OK;
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

/* ---- on devices ---- */

#define STAGE_ALIGN 256u

/* Addresses of the slots, given or replaced: inputs, then outputs. */
static const struct dml_slot *slot_at(const struct dml_compiled_operator *op, uint32_t i)
{
    return i < op->input_count ? &op->inputs[i] : &op->outputs[i - op->input_count];
}

/* Shaders assume the alignment of bindings, and may read inputs at any time: a slot with insufficient alignment is
 * replaced by temporary memory. */
static bool is_staged(const struct dml_compiled_operator *op, uint32_t i, const uint64_t *addresses)
{
    const struct dml_slot *slot = slot_at(op, i);
    if (!addresses[i])
        return false;
    return addresses[i] % slot->alignment ||
           (i < op->input_count && must_copy(op, i, addresses[i], addresses + op->input_count));
}

/* The ranges; returns the bytes of temporary memory required. */
static uint64_t plan_run(const struct dml_compiled_operator *op, const uint64_t *addresses, struct anydml_range *ranges)
{
    uint64_t bytes = op->program.temp_bytes;
    for (uint32_t i = 0; i < op->input_count + op->output_count; i++) {
        const bool bound = slot_at(op, i)->expect == DML_EXPECT_BUFFER;
        ranges[i] = (struct anydml_range){ bound ? addresses[i] : 0, slot_at(op, i)->used_bytes };
        if (bound && is_staged(op, i, addresses))
            bytes = base_align_up(bytes, STAGE_ALIGN) + ranges[i].bytes;
    }
    return bytes;
}

static HRESULT fail_run(struct dml_compiled_operator *op, const struct anydml_run *run, HRESULT hr)
{
    const bool in = run->wrong < op->input_count;
    if (hr != E_INVALIDARG)
        return hr;
    if (run->wrong == run->count)
        return dml_fail(dml_parent(op), op, hr, "%s: %s: queue is not a compute queue of the operator's device", method,
                        op->what);
    return dml_fail(dml_parent(op), op, hr, "%s: %s, %s %u: no memory of the device has %llu bytes at address 0x%llx",
                    method, op->what, in ? "input" : "output", in ? run->wrong : run->wrong - op->input_count,
                    (unsigned long long)run->ranges[run->wrong].bytes,
                    (unsigned long long)run->ranges[run->wrong].address);
}

static HRESULT run_on_device(struct dml_compiled_operator *op, ID3D12CommandQueue *queue, const uint64_t *inputs,
                             const uint64_t *outputs)
{
    AnydmlDevice *d3d12 = dml_parent(op)->d3d12;
    const uint32_t count = op->input_count + op->output_count;
    struct anydml_range stack[STACK_SLOTS], *ranges = stack;
    uint64_t stack_addresses[STACK_SLOTS], *addresses = stack_addresses;
    if (count > STACK_SLOTS) {
        ranges = malloc(count * (sizeof(*ranges) + sizeof(*addresses)));
        if (!ranges)
            return E_OUTOFMEMORY;
        addresses = (uint64_t *)(ranges + count);
    }
    if (op->input_count)
        memcpy(addresses, inputs, op->input_count * sizeof(*addresses));
    memcpy(addresses + op->input_count, outputs, op->output_count * sizeof(*addresses));
    struct anydml_run run = { .dispatch = &op->run, .ranges = ranges, .count = count };
    run.temp_bytes = plan_run(op, addresses, ranges);
    HRESULT hr = d3d12->lpVtbl->RunDispatch(d3d12, queue, &run);
    if (FAILED(hr))
        hr = fail_run(op, &run, hr);
    if (ranges != stack)
        free(ranges);
    return hr;
}

/* ---- on devices, by the queue's thread ---- */

static struct dml_compiled_operator *run_operator(struct adapter_dispatch *run)
{
    return container_of(run, struct dml_compiled_operator, run);
}

static void run_ref(struct adapter_dispatch *run)
{
    com_ref(&run_operator(run)->pageable.base);
}

static void run_unref(struct adapter_dispatch *run)
{
    com_unref(&run_operator(run)->pageable.base);
}

static HRESULT encode(struct dml_compiled_operator *op, const struct adapter_binding *bindings,
                      const struct adapter_binding *temp, struct adapter_encoder *encoder)
{
    const struct dml_spirv_buffers buffers = { bindings, bindings + op->input_count, *temp, { 0 } };
    struct adapter_tracer tracer;
    return dml_spirv_encode(op->program.spirv, &buffers, dml_trace_device_tracer(op, &tracer), encoder);
}

/* Stores the addresses of `bindings`, or of their copies in temporary memory, in `used`; copies inputs and also
 * outputs, because bytes between their elements must be preserved. */
static void stage(const struct dml_compiled_operator *op, const struct adapter_binding *bindings, uint32_t count,
                  const uint64_t *addresses, struct adapter_binding *used, struct adapter_encoder *encoder)
{
    const struct adapter_binding *temp = &bindings[count];
    uint64_t end = op->program.temp_bytes;
    for (uint32_t i = 0; i < count; i++) {
        used[i] = bindings[i];
        if (!is_staged(op, i, addresses))
            continue;
        end = base_align_up(end, STAGE_ALIGN);
        used[i] = (struct adapter_binding){ temp->memory, temp->offset + end, bindings[i].size, 0 };
        encoder->copy(encoder, &used[i], &bindings[i], bindings[i].size);
        end += bindings[i].size;
    }
    encoder->barrier(encoder);
}

static HRESULT encode_staged(struct dml_compiled_operator *op, const struct adapter_binding *bindings, uint32_t count,
                             struct adapter_encoder *encoder)
{
    struct adapter_binding *used = malloc(count * (sizeof(*used) + sizeof(uint64_t)));
    uint64_t *addresses = (uint64_t *)(used + count);
    if (!used)
        return E_OUTOFMEMORY;
    for (uint32_t i = 0; i < count; i++)
        addresses[i] = bindings[i].memory ? bindings[i].memory->address + bindings[i].offset : 0;
    stage(op, bindings, count, addresses, used, encoder);
    HRESULT hr = encode(op, used, &bindings[count], encoder);
    encoder->barrier(encoder);
    for (uint32_t i = op->input_count; i < count; i++)
        if (is_staged(op, i, addresses))
            encoder->copy(encoder, &bindings[i], &used[i], bindings[i].size);
    free(used);
    return hr;
}

static HRESULT run_encode(struct adapter_dispatch *run, const struct adapter_binding *bindings, uint32_t count,
                          struct adapter_encoder *encoder)
{
    struct dml_compiled_operator *op = run_operator(run);
    const struct adapter_binding *temp = &bindings[count - 1];
    return temp->size <= op->program.temp_bytes ? encode(op, bindings, temp, encoder)
                                                : encode_staged(op, bindings, count - 1, encoder);
}

static void run_describe(struct adapter_dispatch *run, char *out, size_t size)
{
    dml_dispatch_describe(run_operator(run), out, size);
}

const struct adapter_dispatch_ops dml_run_ops = {
    .ref = run_ref,
    .unref = run_unref,
    .encode = run_encode,
    .describe = run_describe,
};

/* ---- the function ---- */

static HRESULT check_addresses(struct dml_compiled_operator *op, const char *kind, const struct dml_slot *slots,
                               uint32_t count, const D3D12_GPU_VIRTUAL_ADDRESS *addresses)
{
    for (uint32_t i = 0; i < count; i++)
        if (slots[i].expect == DML_EXPECT_BUFFER && !addresses[i])
            return dml_fail(dml_parent(op), op, E_INVALIDARG, "%s: %s, %s %u is 0", method, op->what, kind, i);
    return S_OK;
}

static HRESULT check_owned(struct dml_compiled_operator *op, const D3D12_GPU_VIRTUAL_ADDRESS *inputs)
{
    const bool given = owned_given(op, inputs);
    if (op->owned_count && op->program.spirv)
        return dml_fail(dml_parent(op), op, E_INVALIDARG,
                        "%s: %s has owned inputs, which only the cpu adapter supports here", method, op->what);
    for (uint32_t i = 0; i < op->input_count; i++)
        if (op->inputs[i].expect == DML_EXPECT_OWNED && (inputs[i] != 0) != given)
            return dml_fail(dml_parent(op), op, E_INVALIDARG,
                            "%s: %s, owned input %u is %s, the first one is %s: give all or none", method, op->what, i,
                            given ? "0" : "given", given ? "given" : "0");
    if (op->owned_count && !given && !atomic_load(&op->run_persistent))
        return dml_fail(dml_parent(op), op, E_INVALIDARG, "%s: %s has owned inputs, which the first run must give",
                        method, op->what);
    return S_OK;
}

__attribute__((visibility("default"))) HRESULT
AnydmlRunOperator(ID3D12CommandQueue *queue, IDMLCompiledOperator *iface, UINT input_count,
                  const D3D12_GPU_VIRTUAL_ADDRESS *inputs, UINT output_count, const D3D12_GPU_VIRTUAL_ADDRESS *outputs)
{
    if (!iface || iface->lpVtbl != &dml_compiled_operator_vtbl)
        return E_INVALIDARG;
    struct dml_compiled_operator *op = (struct dml_compiled_operator *)iface;
    struct dml_device *device = dml_parent(op);
    if (input_count != op->input_count || output_count != op->output_count || (input_count && !inputs) || !outputs)
        return dml_fail(device, op, E_INVALIDARG, "%s: %s has %u inputs and %u outputs, not %u%s and %u%s", method,
                        op->what, op->input_count, op->output_count, input_count, inputs ? "" : " at NULL",
                        output_count, outputs ? "" : " at NULL");
    HRESULT hr = check_addresses(op, "input", op->inputs, input_count, inputs);
    if (SUCCEEDED(hr))
        hr = check_owned(op, inputs);
    if (SUCCEEDED(hr))
        hr = check_addresses(op, "output", op->outputs, output_count, outputs);
    if (FAILED(hr))
        return hr;
    if (dml_device_removed(device))
        return DXGI_ERROR_DEVICE_REMOVED;
    if (device->records_at_once)
        return dml_fail(device, op, DXGI_ERROR_UNSUPPORTED,
                        "%s: the device is not one of AnyDML's Direct3D 12: use IDMLCommandRecorder::RecordDispatch",
                        method);
    return op->program.spirv ? run_on_device(op, queue, inputs, outputs) : run_on_host(op, inputs, outputs);
}
