/* SPDX-License-Identifier: Apache-2.0 */
/* The debug layer: ID3D12Debug..5, the info queue's storage, filters and callbacks, DRED settings. */
#include "api_test.h"

static int called;
static char called_text[256];

static void on_message(D3D12_MESSAGE_CATEGORY category, D3D12_MESSAGE_SEVERITY severity, D3D12_MESSAGE_ID id,
                       LPCSTR text, void *context)
{
    (void)category, (void)severity, (void)id;
    ok(context == &called, "callback context");
    called++;
    snprintf(called_text, sizeof(called_text), "%s", text);
}

static void test_enable(void)
{
    static const IID *const iids[] = { &IID_ID3D12Debug, &IID_ID3D12Debug1, &IID_ID3D12Debug2, &IID_ID3D12Debug3,
                                       &IID_ID3D12Debug5 };
    ID3D12Debug *debug = NULL;
    ok_hr(D3D12GetDebugInterface(&IID_ID3D12Debug, (void **)&debug), S_OK);
    need(debug);
    for (size_t i = 0; i < sizeof(iids) / sizeof(iids[0]); i++) {
        void *other = NULL;
        ok_hr(ID3D12Debug_QueryInterface(debug, iids[i], &other), S_OK);
        if (other)
            api_release(other);
    }
    ID3D12Debug3 *three = NULL;
    ok_hr(ID3D12Debug_QueryInterface(debug, &IID_ID3D12Debug3, (void **)&three), S_OK);
    ID3D12Debug3_SetEnableGPUBasedValidation(three, TRUE);
    api_release(three);
    void *none = debug;
    ok_hr(D3D12GetDebugInterface(&IID_ID3D12Device, &none), E_NOINTERFACE);
    ok(!none, "the output is not cleared");
    ID3D12DeviceRemovedExtendedDataSettings *dred = NULL;
    ok_hr(D3D12GetDebugInterface(&IID_ID3D12DeviceRemovedExtendedDataSettings, (void **)&dred), S_OK);
    ID3D12DeviceRemovedExtendedDataSettings_SetAutoBreadcrumbsEnablement(dred, D3D12_DRED_ENABLEMENT_FORCED_ON);
    api_release(dred);
    ID3D12Device *plain = api_device();
    ok_hr(ID3D12Device_QueryInterface(plain, &IID_ID3D12InfoQueue, &none), E_NOINTERFACE);
    api_release(plain);
    ID3D12Debug_EnableDebugLayer(debug);
    api_release(debug);
}

static void test_storage(ID3D12Device *device, ID3D12InfoQueue1 *queue)
{
    ID3D12InfoQueue1_ClearStoredMessages(queue);
    void *out = NULL;
    ok_hr(ID3D12Device_CreateHeap(device, NULL, &IID_ID3D12Heap, &out), E_INVALIDARG);
    ok(ID3D12InfoQueue1_GetNumStoredMessages(queue) == 1, "a mistake makes one message");
    SIZE_T bytes = 0;
    ok(SUCCEEDED(ID3D12InfoQueue1_GetMessage(queue, 0, NULL, &bytes)) && bytes > sizeof(D3D12_MESSAGE), "size");
    D3D12_MESSAGE *message = malloc(bytes);
    SIZE_T less = bytes - 1;
    ok_hr(ID3D12InfoQueue1_GetMessage(queue, 0, message, &less), E_INVALIDARG);
    ok_hr(ID3D12InfoQueue1_GetMessage(queue, 0, message, &bytes), S_OK);
    ok(message->Severity == D3D12_MESSAGE_SEVERITY_ERROR && strstr(message->pDescription, "CreateHeap") &&
           strlen(message->pDescription) + 1 == message->DescriptionByteLength,
       "message");
    free(message);
    ok_hr(ID3D12InfoQueue1_GetMessage(queue, 1, NULL, &bytes), E_INVALIDARG);
    ok_hr(ID3D12InfoQueue1_SetMessageCountLimit(queue, 2), S_OK);
    for (int i = 0; i < 3; i++)
        ok_hr(ID3D12InfoQueue1_AddApplicationMessage(queue, D3D12_MESSAGE_SEVERITY_INFO, "hello"), S_OK);
    ok(ID3D12InfoQueue1_GetNumStoredMessages(queue) == 2, "limit");
    ok(ID3D12InfoQueue1_GetNumMessagesDiscardedByMessageCountLimit(queue) == 2, "discarded");
    ID3D12InfoQueue1_ClearStoredMessages(queue);
    ok(!ID3D12InfoQueue1_GetNumStoredMessages(queue), "cleared");
    ok_hr(ID3D12InfoQueue1_SetMessageCountLimit(queue, 1024), S_OK);
}

static void test_filters(ID3D12InfoQueue1 *queue)
{
    D3D12_MESSAGE_SEVERITY info[] = { D3D12_MESSAGE_SEVERITY_INFO };
    D3D12_INFO_QUEUE_FILTER filter = { .DenyList = { .NumSeverities = 1, .pSeverityList = info } };
    ok_hr(ID3D12InfoQueue1_PushStorageFilter(queue, &filter), S_OK);
    ID3D12InfoQueue1_AddApplicationMessage(queue, D3D12_MESSAGE_SEVERITY_INFO, "denied");
    ID3D12InfoQueue1_AddApplicationMessage(queue, D3D12_MESSAGE_SEVERITY_WARNING, "stored");
    ok(ID3D12InfoQueue1_GetNumStoredMessages(queue) == 1, "storage filter");
    ok(ID3D12InfoQueue1_GetNumMessagesDeniedByStorageFilter(queue) == 1, "denied");
    SIZE_T bytes = 0;
    ok_hr(ID3D12InfoQueue1_GetStorageFilter(queue, NULL, &bytes), S_OK);
    D3D12_INFO_QUEUE_FILTER *got = malloc(bytes);
    ok_hr(ID3D12InfoQueue1_GetStorageFilter(queue, got, &bytes), S_OK);
    ok(got->DenyList.NumSeverities == 1 && got->DenyList.pSeverityList[0] == info[0] && !got->AllowList.NumIDs,
       "filter");
    free(got);
    ok_hr(ID3D12InfoQueue1_PushCopyOfStorageFilter(queue), S_OK);
    ok(ID3D12InfoQueue1_GetStorageFilterStackSize(queue) == 2, "stack");
    ID3D12InfoQueue1_AddApplicationMessage(queue, D3D12_MESSAGE_SEVERITY_INFO, "denied");
    ID3D12InfoQueue1_ClearStorageFilter(queue);
    ID3D12InfoQueue1_AddApplicationMessage(queue, D3D12_MESSAGE_SEVERITY_INFO, "stored");
    ok(ID3D12InfoQueue1_GetNumStoredMessages(queue) == 2, "cleared filter");
    ID3D12InfoQueue1_PopStorageFilter(queue);
    ID3D12InfoQueue1_PopStorageFilter(queue);
    ID3D12InfoQueue1_PopStorageFilter(queue);
    filter = (D3D12_INFO_QUEUE_FILTER){ .AllowList = { .NumSeverities = 1, .pSeverityList = info } };
    ok_hr(ID3D12InfoQueue1_AddRetrievalFilterEntries(queue, &filter), S_OK);
    ok(ID3D12InfoQueue1_GetNumStoredMessagesAllowedByRetrievalFilter(queue) == 1, "retrieval filter");
    ID3D12InfoQueue1_ClearRetrievalFilter(queue);
    filter.AllowList.pSeverityList = NULL;
    ok_hr(ID3D12InfoQueue1_AddStorageFilterEntries(queue, &filter), E_INVALIDARG);
}

static void test_flags(ID3D12InfoQueue1 *queue)
{
    ok_hr(ID3D12InfoQueue1_SetBreakOnSeverity(queue, D3D12_MESSAGE_SEVERITY_ERROR, TRUE), S_OK);
    ok(ID3D12InfoQueue1_GetBreakOnSeverity(queue, D3D12_MESSAGE_SEVERITY_ERROR), "severity");
    ok(!ID3D12InfoQueue1_GetBreakOnSeverity(queue, D3D12_MESSAGE_SEVERITY_INFO), "severity");
    ok_hr(ID3D12InfoQueue1_SetBreakOnSeverity(queue, (D3D12_MESSAGE_SEVERITY)50, TRUE), E_INVALIDARG);
    ok_hr(ID3D12InfoQueue1_SetBreakOnID(queue, (D3D12_MESSAGE_ID)700, TRUE), S_OK);
    ok(ID3D12InfoQueue1_GetBreakOnID(queue, (D3D12_MESSAGE_ID)700), "id");
    ok_hr(ID3D12InfoQueue1_SetBreakOnID(queue, (D3D12_MESSAGE_ID)700, FALSE), S_OK);
    ok(!ID3D12InfoQueue1_GetBreakOnID(queue, (D3D12_MESSAGE_ID)700), "id");
    ID3D12InfoQueue1_SetMuteDebugOutput(queue, TRUE);
    ok(ID3D12InfoQueue1_GetMuteDebugOutput(queue), "mute");
}

static void test_callbacks(ID3D12Device *device, ID3D12InfoQueue1 *queue)
{
    DWORD cookie = 0;
    ok_hr(
        ID3D12InfoQueue1_RegisterMessageCallback(queue, on_message, D3D12_MESSAGE_CALLBACK_FLAG_NONE, &called, &cookie),
        S_OK);
    ok(cookie, "cookie 0");
    void *out;
    ok_hr(ID3D12Device_CreateQueryHeap(device, NULL, &IID_ID3D12QueryHeap, &out), E_INVALIDARG);
    ok(called == 1 && strstr(called_text, "CreateQueryHeap"), "called %d times: %s", called, called_text);
    ok_hr(ID3D12InfoQueue1_UnregisterMessageCallback(queue, cookie), S_OK);
    ok_hr(ID3D12InfoQueue1_UnregisterMessageCallback(queue, cookie), E_INVALIDARG);
    ID3D12InfoQueue1_AddApplicationMessage(queue, D3D12_MESSAGE_SEVERITY_ERROR, "silence");
    ok(called == 1, "called after unregistering");
}

/* Checks of the debug layer only: early releases, and transitions that contradict each other. */
static void test_warnings(ID3D12Device *device, ID3D12InfoQueue1 *queue)
{
    struct api_queue q = api_queue_create(device);
    ID3D12Resource *a = api_buffer(device, D3D12_HEAP_TYPE_DEFAULT, 16);
    ID3D12Resource *b = api_buffer(device, D3D12_HEAP_TYPE_DEFAULT, 16);
    ID3D12InfoQueue1_ClearStoredMessages(queue);
    api_transition(&q, a, D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
    api_transition(&q, a, D3D12_RESOURCE_STATE_UNORDERED_ACCESS, D3D12_RESOURCE_STATE_COPY_SOURCE);
    ok(!ID3D12InfoQueue1_GetNumStoredMessages(queue), "warned of good transitions");
    api_transition(&q, a, D3D12_RESOURCE_STATE_UNORDERED_ACCESS, D3D12_RESOURCE_STATE_COPY_DEST);
    ok(ID3D12InfoQueue1_GetNumStoredMessages(queue) == 1, "did not warn of a wrong before-state");
    ID3D12GraphicsCommandList_CopyResource(q.list, a, b);
    ok_hr(ID3D12GraphicsCommandList_Close(q.list), S_OK);
    api_release(b);
    ID3D12InfoQueue1_ClearStoredMessages(queue);
    api_queue_execute(&q);
    ok(ID3D12InfoQueue1_GetNumStoredMessages(queue) == 1, "did not warn of an early release");
    api_queue_wait(&q);
    ok_hr(ID3D12Device_GetDeviceRemovedReason(device), S_OK);
    api_release(a);
    api_queue_destroy(&q);
}

int main(void)
{
    api_begin();
    test_enable();
    ID3D12Device *device = api_device();
    ID3D12InfoQueue1 *queue = NULL;
    ok_hr(ID3D12Device_QueryInterface(device, &IID_ID3D12InfoQueue1, (void **)&queue), S_OK);
    need(queue);
    IUnknown *same = NULL;
    ok_hr(ID3D12InfoQueue1_QueryInterface(queue, &IID_IUnknown, (void **)&same), S_OK);
    ok((void *)same == (void *)device, "the info queue has another identity");
    api_release(same);
    test_storage(device, queue);
    test_filters(queue);
    test_flags(queue);
    test_callbacks(device, queue);
    test_warnings(device, queue);
    ID3D12DebugDevice *live = NULL;
    ok_hr(ID3D12Device_QueryInterface(device, &IID_ID3D12DebugDevice, (void **)&live), S_OK);
    ok_hr(ID3D12DebugDevice_ReportLiveDeviceObjects(live, D3D12_RLDO_SUMMARY), S_OK);
    api_release(live);
    api_release(queue);
    ok(api_release(device) == 0, "the device is still referenced");
    return api_end();
}
