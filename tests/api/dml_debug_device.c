/* SPDX-License-Identifier: Apache-2.0 */
/* IDMLDebugDevice and messages: identity, the info queue's entries, names in them, muting. */
#include "dml_test.h"

static ID3D12Device *debug_d3d(ID3D12InfoQueue **out_queue)
{
    ID3D12Debug *debug = NULL;
    ok_hr(D3D12GetDebugInterface(&IID_ID3D12Debug, (void **)&debug), S_OK);
    need(debug);
    ID3D12Debug_EnableDebugLayer(debug);
    api_release(debug);
    ID3D12Device *d3d = api_device();
    ok_hr(ID3D12Device_QueryInterface(d3d, &IID_ID3D12InfoQueue, (void **)out_queue), S_OK);
    need(*out_queue);
    ID3D12InfoQueue_ClearStoredMessages(*out_queue);
    return d3d;
}

/* The newest stored message, or NULL; free() it. */
static D3D12_MESSAGE *newest(ID3D12InfoQueue *queue)
{
    UINT64 count = ID3D12InfoQueue_GetNumStoredMessages(queue);
    SIZE_T bytes = 0;
    if (!count)
        return NULL;
    ID3D12InfoQueue_GetMessage(queue, count - 1, NULL, &bytes);
    D3D12_MESSAGE *message = malloc(bytes);
    need(message);
    ok_hr(ID3D12InfoQueue_GetMessage(queue, count - 1, message, &bytes), S_OK);
    return message;
}

static void expect_severity(ID3D12InfoQueue *queue, D3D12_MESSAGE_SEVERITY severity, const char *name, const char *part)
{
    D3D12_MESSAGE *message = newest(queue);
    ok(message, "no message with \"%s\"", part);
    if (!message)
        return;
    ok(strstr(message->pDescription, part), "\"%s\" is not in \"%s\"", part, message->pDescription);
    ok(!strncmp(message->pDescription, name, strlen(name)), "\"%s\" does not begin with \"%s\"", message->pDescription,
       name);
    ok(message->Category == D3D12_MESSAGE_CATEGORY_APPLICATION_DEFINED, "category %d", (int)message->Category);
    ok(message->ID == D3D12_MESSAGE_ID_STRING_FROM_APPLICATION, "id %d", (int)message->ID);
    ok(message->Severity == severity, "severity %d", (int)message->Severity);
    free(message);
    ID3D12InfoQueue_ClearStoredMessages(queue);
}

static void expect_message(ID3D12InfoQueue *queue, const char *name, const char *part)
{
    expect_severity(queue, D3D12_MESSAGE_SEVERITY_ERROR, name, part);
}

static void test_identity(IDMLDevice1 *dml)
{
    IDMLDebugDevice *debug = NULL;
    void *out;
    ok_hr(IDMLDevice1_QueryInterface(dml, &IID_IDMLDebugDevice, (void **)&debug), S_OK);
    need(debug);
    ok_hr(IDMLDebugDevice_QueryInterface(debug, &IID_IUnknown, &out), S_OK);
    ok(out == (void *)dml, "another IUnknown than the device's");
    api_release(out);
    ok_hr(IDMLDebugDevice_QueryInterface(debug, &IID_IDMLDevice1, &out), S_OK);
    ok(out == (void *)dml, "another device");
    api_release(out);
    ok_hr(IDMLDebugDevice_QueryInterface(debug, &IID_IDMLDebugDevice, &out), S_OK);
    ok(out == (void *)debug, "another debug device");
    api_release(out);
    api_release(debug);
}

static void test_messages(IDMLDevice1 *dml, ID3D12InfoQueue *queue)
{
    IDMLDebugDevice *debug = NULL;
    ok_hr(IDMLDevice1_CompileOperator(dml, NULL, 0, &IID_IDMLCompiledOperator, NULL), E_INVALIDARG);
    expect_message(queue, "<unnamed>: ", "op is NULL");
    ok_hr(IDMLDevice1_SetName(dml, L"gr\u00fcn"), S_OK);
    ok_hr(IDMLDevice1_CreateOperator(dml, NULL, &IID_IDMLOperator, NULL), E_INVALIDARG);
    expect_message(queue, "gr\xc3\xbcn: ", "IDMLDevice::CreateOperator");
    ok_hr(IDMLDevice1_QueryInterface(dml, &IID_IDMLDebugDevice, (void **)&debug), S_OK);
    need(debug);
    IDMLDebugDevice_SetMuteDebugOutput(debug, TRUE);
    ok_hr(IDMLDevice1_CreateOperator(dml, NULL, &IID_IDMLOperator, NULL), E_INVALIDARG);
    ok(!ID3D12InfoQueue_GetNumStoredMessages(queue), "a muted message was stored");
    IDMLDebugDevice_SetMuteDebugOutput(debug, FALSE);
    ok_hr(IDMLDevice1_CreateOperator(dml, NULL, &IID_IDMLOperator, NULL), E_INVALIDARG);
    expect_message(queue, "gr\xc3\xbcn: ", "IDMLDevice::CreateOperator");
    api_release(debug);
}

/* Without the flag a failed call stores nothing in the info queue, but a removal always does. */
static void test_without_flag(ID3D12Device *d3d, ID3D12InfoQueue *queue)
{
    IDMLDevice1 *dml = rig_dml_device(d3d, DML_CREATE_DEVICE_FLAG_NONE);
    IDMLBindingTable *table = NULL;
    ok_hr(IDMLDevice1_CreateOperator(dml, NULL, &IID_IDMLOperator, NULL), E_INVALIDARG);
    ok(!ID3D12InfoQueue_GetNumStoredMessages(queue), "a message without the flag");
    ok_hr(IDMLDevice1_CreateBindingTable(dml, NULL, &IID_IDMLBindingTable, (void **)&table), S_OK);
    need(table);
    ok_hr(IDMLBindingTable_SetName(table, L"the table"), S_OK);
    IDMLBindingTable_BindInputs(table, 0, NULL);
    ok_hr(IDMLDevice1_GetDeviceRemovedReason(dml), E_INVALIDARG);
    expect_message(queue, "the table: ", "IDMLBindingTable::BindInputs");
    IDMLBindingTable_BindOutputs(table, 0, NULL); /* the first cause is the only one */
    ok(!ID3D12InfoQueue_GetNumStoredMessages(queue), "a second cause");
    api_release(table);
    api_release(dml);
}

/* Calls that succeed, with a warning. */
static void test_hints(ID3D12Device *d3d, ID3D12InfoQueue *queue)
{
    struct rig rig = rig_of(d3d, DML_CREATE_DEVICE_FLAG_DEBUG);
    ID3D12Device_AddRef(d3d); /* the rig holds one */
    IDMLCompiledOperator *op = compile(rig.dml, gemm_operator(rig.dml, 2, 2, 2, DML_TENSOR_FLAG_NONE), 0);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    ID3D12Resource *buffer = buffer_f32(&rig, 8, 0, 1);
    IDMLBindingTable *table = table_at(&rig, op, 0);
    ID3D12InfoQueue_ClearStoredMessages(queue);
    bind_outputs(table, 1, &(struct bound){ buffer, 16, 0 });
    expect_severity(queue, D3D12_MESSAGE_SEVERITY_WARNING, "<unnamed>: ", "SizeInBytes is 0; using 16");
    bind_inputs(table, 3, (struct bound[]){ { buffer, 0, 16 }, { buffer, 16, 16 }, { NULL, 0, 0 } });
    bind_prepared(table, &prepared);
    record(&rig, op, table);
    expect_severity(queue, D3D12_MESSAGE_SEVERITY_INFO, "<unnamed>: ", "input 1, which is needed longer");
    rig_run(&rig);
    ok_hr(dml_reason(&rig), S_OK);
    api_release(table);
    api_release(buffer);
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
}

/* The layer does not change sizes or counts. */
static void test_same_properties(ID3D12Device *d3d)
{
    DML_BINDING_PROPERTIES props[2];
    for (int i = 0; i < 2; i++) {
        IDMLDevice1 *dml = rig_dml_device(d3d, i ? DML_CREATE_DEVICE_FLAG_DEBUG : DML_CREATE_DEVICE_FLAG_NONE);
        IDMLCompiledOperator *op = compile(dml, gemm_operator(dml, 8, 8, 8, DML_TENSOR_FLAG_OWNED_BY_DML), 0);
        props[i] = properties(op);
        api_release(op);
        api_release(dml);
    }
    ok(props[0].RequiredDescriptorCount == props[1].RequiredDescriptorCount &&
           props[0].TemporaryResourceSize == props[1].TemporaryResourceSize &&
           props[0].PersistentResourceSize == props[1].PersistentResourceSize,
       "they differ");
}

static void with_queue(void (*test)(ID3D12Device *, ID3D12InfoQueue *))
{
    ID3D12InfoQueue *queue = NULL;
    ID3D12Device *d3d = debug_d3d(&queue);
    test(d3d, queue);
    api_release(queue);
    api_release(d3d);
}

static void test_with_flag(ID3D12Device *d3d, ID3D12InfoQueue *queue)
{
    IDMLDevice1 *dml = rig_dml_device(d3d, DML_CREATE_DEVICE_FLAG_DEBUG);
    test_identity(dml);
    test_messages(dml, queue);
    ok(!api_release(dml), "the device has references left");
}

static void test_properties(ID3D12Device *d3d, ID3D12InfoQueue *queue)
{
    (void)queue;
    test_same_properties(d3d);
}

/* How many stored messages of a severity have `part`. */
static unsigned messages_with(ID3D12InfoQueue *queue, D3D12_MESSAGE_SEVERITY severity, const char *part)
{
    unsigned found = 0;
    for (UINT64 i = 0; i < ID3D12InfoQueue_GetNumStoredMessages(queue); i++) {
        SIZE_T bytes = 0;
        ID3D12InfoQueue_GetMessage(queue, i, NULL, &bytes);
        D3D12_MESSAGE *message = malloc(bytes);
        need(message);
        ok_hr(ID3D12InfoQueue_GetMessage(queue, i, message, &bytes), S_OK);
        found += message->Severity == severity && strstr(message->pDescription, part);
        free(message);
    }
    return found;
}

/* Work that outlives its operator, its descriptor heap and its buffers still runs. The heap's release is an error at
 * each submission, the operator's a warning, once. */
static void test_released(ID3D12Device *d3d, ID3D12InfoQueue *queue)
{
    struct rig rig = rig_of(d3d, DML_CREATE_DEVICE_FLAG_DEBUG);
    IDMLCompiledOperator *op = compile(rig.dml, identity_operator(rig.dml, 8), DML_EXECUTION_FLAG_NONE);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    ID3D12Resource *in = buffer_f32(&rig, 8, 0, 1), *out = buffer_f32(&rig, 8, -1, 0);
    IDMLBindingTable *table = table_at(&rig, op, 0);
    bind_inputs(table, 1, &(struct bound){ in, 0, 32 });
    bind_outputs(table, 1, &(struct bound){ out, 0, 32 });
    bind_prepared(table, &prepared);
    record(&rig, op, table);
    api_release(table);
    ok_hr(ID3D12GraphicsCommandList_Close(rig.q.list), S_OK);
    ID3D12DescriptorHeap *heap = rig.heap;
    api_release(op);
    ID3D12InfoQueue_ClearStoredMessages(queue);
    for (int i = 0; i < 3; i++)
        api_queue_execute(&rig.q);
    api_queue_wait(&rig.q);
    ok(messages_with(queue, D3D12_MESSAGE_SEVERITY_WARNING, "released DML_OPERATOR_ELEMENT_WISE_IDENTITY") == 1,
       "not one warning of the released operator");
    ok(!messages_with(queue, D3D12_MESSAGE_SEVERITY_ERROR, "released"), "an error of the released operator");
    ID3D12DescriptorHeap_SetName(heap, L"the heap");
    api_release(heap);
    for (int i = 0; i < 2; i++)
        api_queue_execute(&rig.q);
    api_queue_wait(&rig.q);
    ok(messages_with(queue, D3D12_MESSAGE_SEVERITY_ERROR, "released ID3D12DescriptorHeap \"the heap\"") == 2,
       "not an error of each submission with the released heap");
    ok_hr(ID3D12Device_GetDeviceRemovedReason(d3d), S_OK);
    rig.heap = rig_heap(d3d, DML_TEST_DESCRIPTORS, true);
    ok_hr(ID3D12CommandAllocator_Reset(rig.q.allocator), S_OK);
    ok_hr(ID3D12GraphicsCommandList_Reset(rig.q.list, rig.q.allocator, NULL), S_OK);
    rig_set_heap(&rig);
    static const float ramp[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    expect_f32(&rig, out, 0, ramp, 8);
    api_release(in);
    api_release(out);
    prepared_release(&prepared);
    ID3D12Device_AddRef(d3d);
    rig_destroy(&rig);
}

int main(void)
{
    api_begin();
    rig_part(with_queue(test_with_flag));
    rig_part(with_queue(test_without_flag));
    rig_part(with_queue(test_properties));
    rig_part(with_queue(test_hints));
    rig_part(with_queue(test_released));
    return rig_end();
}
