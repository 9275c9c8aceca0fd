/* SPDX-License-Identifier: Apache-2.0 */
/* A device that is lost, and memory that runs out, at every call of the driver that may say so: the Direct3D device is
 * removed or the method returns E_OUTOFMEMORY; nothing crashes, hangs or leaks, and the next device works. */
#include "api/dml_test.h"

#include "layer.h"

#include <vulkan/vulkan_core.h>

enum { M = 8, K = 16, N = 8 };

static struct layer_control *layer;

/* What a program does before it executes lists, up to the first failure. *out_calls: how many there were until then. */
static HRESULT work(ID3D12Device *d3d, IDMLDevice1 *dml, enum layer_call call, uint32_t *out_calls)
{
    D3D12_COMMAND_QUEUE_DESC desc = { .Type = D3D12_COMMAND_LIST_TYPE_DIRECT };
    D3D12_HEAP_PROPERTIES upload = { .Type = D3D12_HEAP_TYPE_UPLOAD };
    D3D12_RESOURCE_DESC buffer = api_buffer_desc(65536, D3D12_RESOURCE_FLAG_NONE);
    IDMLCompiledOperator *op = NULL;
    ID3D12CommandQueue *queue = NULL;
    ID3D12Resource *memory = NULL;
    void *mapped;
    HRESULT hr = ID3D12Device_CreateCommandQueue(d3d, &desc, &IID_ID3D12CommandQueue, (void **)&queue);
    if (SUCCEEDED(hr))
        hr = ID3D12Device_CreateCommittedResource(d3d, &upload, D3D12_HEAP_FLAG_NONE, &buffer,
                                                  D3D12_RESOURCE_STATE_GENERIC_READ, NULL, &IID_ID3D12Resource,
                                                  (void **)&memory);
    if (SUCCEEDED(hr))
        hr = ID3D12Resource_Map(memory, 0, NULL, &mapped);
    if (SUCCEEDED(hr)) {
        IDMLOperator *gemm = gemm_operator(dml, M, K, N, DML_TENSOR_FLAG_NONE);
        hr = IDMLDevice1_CompileOperator(dml, gemm, DML_EXECUTION_FLAG_NONE, &IID_IDMLCompiledOperator, (void **)&op);
        api_release(gemm);
    }
    *out_calls = layer->calls[call].count;
    if (op)
        api_release(op);
    if (memory)
        api_release(memory);
    if (queue)
        api_release(queue);
    return hr;
}

/* Every call from the first on that `work` makes; how many failed in time. */
static uint32_t fail_work(enum layer_call call, VkResult result)
{
    uint32_t failures = 0;
    for (uint32_t at = 1; at < 200; at++) {
        ID3D12Device *d3d = api_device();
        IDMLDevice1 *dml = rig_dml_device(d3d, DML_CREATE_DEVICE_FLAG_NONE);
        layer->calls[call].count = 0;
        layer->calls[call].result = result;
        layer->calls[call].fail_at = at;
        uint32_t calls;
        HRESULT hr = work(d3d, dml, call, &calls), reason = ID3D12Device_GetDeviceRemovedReason(d3d);
        bool came = calls >= at;
        layer->calls[call].fail_at = 0;
        ok_hr(IDMLDevice1_GetDeviceRemovedReason(dml), reason);
        if (came && result == VK_ERROR_DEVICE_LOST) {
            ok(reason == DXGI_ERROR_DEVICE_HUNG, "call %d, time %u: reason 0x%08x", (int)call, at, (unsigned)reason);
            ok(FAILED(hr), "call %d, time %u: nothing failed", (int)call, at);
        } else if (came) {
            ok(hr == E_OUTOFMEMORY && reason == S_OK, "call %d, time %u: 0x%08x, reason 0x%08x", (int)call, at,
               (unsigned)hr, (unsigned)reason);
        } else {
            ok(hr == S_OK && reason == S_OK, "call %d: 0x%08x, reason 0x%08x", (int)call, (unsigned)hr,
               (unsigned)reason);
        }
        api_release(dml);
        api_release(d3d);
        if (!came)
            break;
        failures++;
    }
    return failures;
}

/* ---- while the device is made ---- */

/* Every call from the first on; the adapter asks for the device again each time. */
static uint32_t fail_device(enum layer_call call, VkResult result)
{
    for (uint32_t at = 1; at < 200; at++) {
        ID3D12Device *d3d = NULL;
        layer->calls[call].count = 0;
        layer->calls[call].result = result;
        layer->calls[call].fail_at = at;
        HRESULT hr = D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_1_0_CORE, &IID_ID3D12Device, (void **)&d3d);
        layer->calls[call].fail_at = 0;
        if (layer->calls[call].count < at) {
            ok_hr(hr, S_OK);
            api_release(d3d);
            return at - 1;
        }
        ok(FAILED(hr) && !d3d, "call %d, time %u: 0x%08x", (int)call, at, (unsigned)hr);
        ok(result == VK_ERROR_DEVICE_LOST || hr == E_OUTOFMEMORY, "call %d, time %u: 0x%08x", (int)call, at,
           (unsigned)hr);
        if (d3d)
            api_release(d3d);
    }
    return 0;
}

/* ---- while lists are executed ---- */

static bool message_names(ID3D12Device *d3d, const char *word)
{
    ID3D12InfoQueue *messages = NULL;
    bool found = false;
    ok_hr(ID3D12Device_QueryInterface(d3d, &IID_ID3D12InfoQueue, (void **)&messages), S_OK);
    need(messages);
    for (UINT64 i = 0; i < ID3D12InfoQueue_GetNumStoredMessages(messages); i++) {
        char storage[4096];
        SIZE_T bytes = sizeof(storage);
        D3D12_MESSAGE *message = (D3D12_MESSAGE *)storage;
        if (ID3D12InfoQueue_GetMessage(messages, i, message, &bytes) == S_OK)
            found |= message->ID == D3D12_MESSAGE_ID_DEVICE_REMOVAL_PROCESS_AT_FAULT &&
                     strstr(message->pDescription, word) != NULL;
    }
    api_release(messages);
    return found;
}

/* Two batches of a dispatch of GEMM, the second one while the first is in flight, with the failure from the first such
 * call on. */
static void fail_dispatch(enum layer_call call, VkResult result, HRESULT reason)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op =
        compile(rig.dml, gemm_operator(rig.dml, M, K, N, DML_TENSOR_FLAG_NONE), DML_EXECUTION_FLAG_NONE);
    struct bound in[3] = { { buffer_f32(&rig, M * K, 0, 1), 0, M * K * 4 },
                           { buffer_f32(&rig, K * N, 0, 1), 0, K * N * 4 },
                           { NULL, 0, 0 } };
    struct bound out = { buffer_f32(&rig, M * N, 0, 0), 0, M * N * 4 };
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    IDMLBindingTable *table = table_at(&rig, op, 0);
    ok_hr(IDMLCompiledOperator_SetName(op, L"the product"), S_OK);
    bind_inputs(table, 3, in);
    bind_outputs(table, 1, &out);
    bind_prepared(table, &prepared);
    record(&rig, op, table);
    layer->calls[call].count = 0;
    layer->calls[call].result = result;
    layer->calls[call].fail_at = 1;
    ID3D12CommandList *list = (ID3D12CommandList *)rig.q.list;
    ok_hr(ID3D12GraphicsCommandList_Close(rig.q.list), S_OK);
    for (int i = 0; i < 2; i++)
        ID3D12CommandQueue_ExecuteCommandLists(rig.q.queue, 1, &list);
    ID3D12CommandQueue_Signal(rig.q.queue, rig.q.fence, ++rig.q.value);
    ok_hr(ID3D12Fence_SetEventOnCompletion(rig.q.fence, rig.q.value, NULL), S_OK); /* removal fires all */
    ok(layer->calls[call].count > 0, "call %d was not made", (int)call);
    layer->calls[call].fail_at = 0;
    ok_hr(ID3D12Device_GetDeviceRemovedReason(rig.d3d), reason);
    ok_hr(dml_reason(&rig), reason);
    ok(message_names(rig.d3d, "GEMM \"the product\"") && message_names(rig.d3d, "gemm_"), "call %d: not named",
       (int)call);
    api_release(table);
    api_release(in[0].buffer);
    api_release(in[1].buffer);
    api_release(out.buffer);
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
}

int main(int count, char **arguments)
{
    static const enum layer_call while_made[] = { LAYER_PIPELINE, LAYER_SUBMIT,   LAYER_WAIT, LAYER_BEGIN,
                                                  LAYER_END,      LAYER_COMMANDS, LAYER_RESET };
    static const enum layer_call while_run[] = { LAYER_SUBMIT, LAYER_WAIT, LAYER_COUNTER,
                                                 LAYER_BEGIN,  LAYER_END,  LAYER_RESET };
    static const enum layer_call of_memory[] = { LAYER_PIPELINE, LAYER_ALLOCATE, LAYER_MAP, LAYER_OBJECT, LAYER_BIND };
    static const enum layer_call of_device[] = { LAYER_DEVICE, LAYER_OBJECT, LAYER_COMMANDS };
    void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    ID3D12Debug *debug = NULL;
    api_begin();
    need(library);
    struct layer_control *(*control)(void);
    *(void **)&control = dlsym(library, "layer_control");
    layer = control();
    ok_hr(D3D12GetDebugInterface(&IID_ID3D12Debug, (void **)&debug), S_OK);
    ID3D12Debug_EnableDebugLayer(debug);
    api_release(debug);
    api_release(api_device());
    uint32_t failures = 0;
    for (size_t i = 0; i < sizeof(of_device) / sizeof(*of_device); i++) {
        const VkResult results[] = { VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_DEVICE_LOST };
        for (size_t k = 0; k < 3; k++) {
            failures = fail_device(of_device[i], results[k]);
            ok(failures > 0, "call %d: no device failed", (int)of_device[i]);
        }
    }
    failures = 0;
    for (size_t i = 0; i < sizeof(while_made) / sizeof(*while_made); i++)
        failures += fail_work(while_made[i], VK_ERROR_DEVICE_LOST);
    ok(failures > 0, "only %u calls failed", failures);
    failures = 0;
    for (size_t i = 0; i < sizeof(of_memory) / sizeof(*of_memory); i++) {
        failures += fail_work(of_memory[i], VK_ERROR_OUT_OF_DEVICE_MEMORY);
        failures += fail_work(of_memory[i], VK_ERROR_OUT_OF_HOST_MEMORY);
    }
    ok(failures > 4, "only %u calls failed", failures);
    for (size_t i = 0; i < sizeof(while_run) / sizeof(*while_run); i++) {
        fail_dispatch(while_run[i], VK_ERROR_DEVICE_LOST, DXGI_ERROR_DEVICE_HUNG);
        fail_dispatch(while_run[i], VK_ERROR_OUT_OF_DEVICE_MEMORY, E_OUTOFMEMORY);
    }
    return api_end();
}
