/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of arguments have the numbers and categories of Direct3D 12's messages about them. */
#include "api_test.h"

#define EXECUTION      D3D12_MESSAGE_CATEGORY_EXECUTION
#define CREATION       D3D12_MESSAGE_CATEGORY_STATE_CREATION
#define MANIPULATION   D3D12_MESSAGE_CATEGORY_RESOURCE_MANIPULATION
#define EXPECT(id, at) expect(queue, D3D12_MESSAGE_ID_##id, #id, at, __LINE__)

/* One message was stored: of this number and category. */
static void expect(ID3D12InfoQueue *queue, D3D12_MESSAGE_ID id, const char *name, D3D12_MESSAGE_CATEGORY category,
                   int line)
{
    char room[2048];
    D3D12_MESSAGE *message = (D3D12_MESSAGE *)(void *)room;
    SIZE_T bytes = sizeof(room);
    UINT64 count = ID3D12InfoQueue_GetNumStoredMessages(queue);
    ok(count == 1, "line %d: %llu messages instead of %s", line, (unsigned long long)count, name);
    if (count && SUCCEEDED(ID3D12InfoQueue_GetMessage(queue, 0, message, &bytes)))
        ok(message->ID == id && message->Category == category && message->Severity == D3D12_MESSAGE_SEVERITY_ERROR,
           "line %d: message %d of category %d instead of %s, %d: %s", line, (int)message->ID, (int)message->Category,
           name, (int)category, message->pDescription);
    ID3D12InfoQueue_ClearStoredMessages(queue);
}

static void test_copies(ID3D12InfoQueue *queue, struct api_queue *q)
{
    ID3D12Device *device = q->device;
    ID3D12GraphicsCommandList *list = q->list;
    ID3D12Resource *a = api_buffer(device, D3D12_HEAP_TYPE_DEFAULT, 64);
    ID3D12Resource *b = api_buffer(device, D3D12_HEAP_TYPE_DEFAULT, 128);
    ID3D12Resource *up = api_buffer(device, D3D12_HEAP_TYPE_UPLOAD, 64);
    ID3D12Resource *back = api_buffer(device, D3D12_HEAP_TYPE_READBACK, 64);
    ID3D12Resource *foreign = (ID3D12Resource *)q->fence; /* an object, but no buffer */
    ID3D12InfoQueue_ClearStoredMessages(queue);
    ID3D12GraphicsCommandList_CopyBufferRegion(list, NULL, 0, a, 0, 4);
    EXPECT(COPYBUFFERREGION_NULLDST, MANIPULATION);
    ID3D12GraphicsCommandList_CopyBufferRegion(list, foreign, 0, a, 0, 4);
    EXPECT(COPYBUFFERREGION_INVALID_DST_RESOURCE, MANIPULATION);
    ID3D12GraphicsCommandList_CopyBufferRegion(list, a, 0, NULL, 0, 4);
    EXPECT(COPYBUFFERREGION_NULLSRC, MANIPULATION);
    ID3D12GraphicsCommandList_CopyBufferRegion(list, a, 0, foreign, 0, 4);
    EXPECT(COPYBUFFERREGION_INVALID_SRC_RESOURCE, MANIPULATION);
    ID3D12GraphicsCommandList_CopyBufferRegion(list, a, 1, b, 0, 64);
    EXPECT(COPYBUFFERREGION_DSTRANGEOUTOFBOUNDS, MANIPULATION);
    ID3D12GraphicsCommandList_CopyBufferRegion(list, a, 0, b, 65, 64);
    EXPECT(COPYBUFFERREGION_SRCRANGEOUTOFBOUNDS, MANIPULATION);
    ID3D12GraphicsCommandList_CopyBufferRegion(list, a, 0, a, 31, 32);
    EXPECT(COPY_ON_SAME_SUBRESOURCE, MANIPULATION);
    ID3D12GraphicsCommandList_CopyBufferRegion(list, up, 0, a, 0, 4);
    EXPECT(INVALID_SUBRESOURCE_STATE, EXECUTION);
    ID3D12GraphicsCommandList_CopyBufferRegion(list, a, 0, back, 0, 4);
    EXPECT(INVALID_SUBRESOURCE_STATE, EXECUTION);
    ID3D12GraphicsCommandList_CopyResource(list, NULL, a);
    EXPECT(COPYRESOURCE_NULLDST, MANIPULATION);
    ID3D12GraphicsCommandList_CopyResource(list, foreign, a);
    EXPECT(COPYRESOURCE_INVALIDDSTRESOURCE, MANIPULATION);
    ID3D12GraphicsCommandList_CopyResource(list, a, NULL);
    EXPECT(COPYRESOURCE_NULLSRC, MANIPULATION);
    ID3D12GraphicsCommandList_CopyResource(list, a, foreign);
    EXPECT(COPYRESOURCE_INVALIDSRCRESOURCE, MANIPULATION);
    ID3D12GraphicsCommandList_CopyResource(list, a, b);
    EXPECT(COPYRESOURCE_INVALIDSRCRESOURCE, MANIPULATION);
    ID3D12GraphicsCommandList_CopyResource(list, a, a);
    EXPECT(COPY_ON_SAME_SUBRESOURCE, MANIPULATION);
    ID3D12Resource *buffers[] = { a, b, up, back };
    for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++)
        api_release(buffers[i]);
}

static void test_other_commands(ID3D12InfoQueue *queue, ID3D12GraphicsCommandList *list)
{
    const UINT values[4] = { 0 };
    ID3D12GraphicsCommandList_SetDescriptorHeaps(list, 1, NULL);
    EXPECT(SET_DESCRIPTOR_HEAP_INVALID, EXECUTION);
    ID3D12GraphicsCommandList_ClearUnorderedAccessViewUint(list, (D3D12_GPU_DESCRIPTOR_HANDLE){ 0 },
                                                           (D3D12_CPU_DESCRIPTOR_HANDLE){ 0 }, NULL, values, 0, NULL);
    EXPECT(CLEAR_UNORDERED_ACCESS_VIEW_INVALID_DESCRIPTOR_HANDLE, EXECUTION);
    ID3D12GraphicsCommandList_EndQuery(list, NULL, D3D12_QUERY_TYPE_TIMESTAMP, 0);
    EXPECT(BEGIN_END_QUERY_INVALID_PARAMETERS, EXECUTION);
    ID3D12GraphicsCommandList_ResolveQueryData(list, NULL, D3D12_QUERY_TYPE_TIMESTAMP, 0, 1, NULL, 0);
    EXPECT(RESOLVE_QUERY_DATA_INVALID_PARAMETERS, EXECUTION);
    ID3D12GraphicsCommandList_Close(list);
    ID3D12InfoQueue_ClearStoredMessages(queue);
    ID3D12GraphicsCommandList_CopyResource(list, NULL, NULL);
    EXPECT(COMMAND_LIST_CLOSED, EXECUTION);
    ID3D12GraphicsCommandList_Close(list);
    EXPECT(COMMAND_LIST_CLOSED, EXECUTION);
}

static void test_creation(ID3D12Device *device, ID3D12InfoQueue *queue)
{
    D3D12_HEAP_DESC desc = { .SizeInBytes = 65536, .Properties.Type = D3D12_HEAP_TYPE_DEFAULT };
    const D3D12_DESCRIPTOR_HEAP_DESC rtv = { .Type = D3D12_DESCRIPTOR_HEAP_TYPE_RTV, .NumDescriptors = 1 };
    const D3D12_QUERY_HEAP_DESC none = { .Type = D3D12_QUERY_HEAP_TYPE_TIMESTAMP };
    ID3D12Resource *buffer = api_buffer(device, D3D12_HEAP_TYPE_DEFAULT, 64);
    void *out;
    ID3D12Device_CreateHeap(device, NULL, &IID_ID3D12Heap, &out);
    EXPECT(CREATEHEAP_NULLDESC, CREATION);
    desc.Alignment = 3;
    ID3D12Device_CreateHeap(device, &desc, &IID_ID3D12Heap, &out);
    EXPECT(CREATEHEAP_INVALIDALIGNMENT, CREATION);
    desc.Alignment = desc.SizeInBytes = 0;
    ID3D12Device_CreateHeap(device, &desc, &IID_ID3D12Heap, &out);
    EXPECT(CREATEHEAP_INVALIDSIZE, CREATION);
    ID3D12Device_CreateCommittedResource(device, &desc.Properties, D3D12_HEAP_FLAG_NONE, NULL,
                                         D3D12_RESOURCE_STATE_COMMON, NULL, &IID_ID3D12Resource, &out);
    EXPECT(CREATERESOURCEANDHEAP_NULLRESOURCEPROPERTIES, CREATION);
    ID3D12Device_CreateDescriptorHeap(device, &rtv, &IID_ID3D12DescriptorHeap, &out);
    EXPECT(CREATE_DESCRIPTOR_HEAP_INVALID_DESC, CREATION);
    ID3D12Device_CreateQueryHeap(device, &none, &IID_ID3D12QueryHeap, &out);
    EXPECT(CREATEQUERY_HEAP_INVALID_PARAMETERS, CREATION);
    ID3D12Device_CreateShaderResourceView(device, buffer, NULL, (D3D12_CPU_DESCRIPTOR_HANDLE){ 0 });
    EXPECT(CREATESHADERRESOURCEVIEW_INVALIDDESC, CREATION);
    ID3D12Device_MakeResident(device, 1, NULL);
    EXPECT(MAKERESIDENT_NULLOBJECTARRAY, MANIPULATION);
    ID3D12Resource_Map(buffer, 0, NULL, &out);
    EXPECT(MAP_INVALIDHEAP, MANIPULATION);
    ID3D12Resource_Map(buffer, 1, NULL, &out);
    EXPECT(MAP_INVALIDSUBRESOURCE, MANIPULATION);
    api_release(buffer);
}

static void test_allocators(ID3D12Device *device, ID3D12InfoQueue *queue)
{
    struct api_queue q = api_queue_create(device);
    ID3D12CommandList *lists[] = { (ID3D12CommandList *)q.list };
    ID3D12CommandAllocator *copies = NULL;
    void *out;
    ok_hr(ID3D12Device_CreateCommandAllocator(device, D3D12_COMMAND_LIST_TYPE_COPY, &IID_ID3D12CommandAllocator,
                                              (void **)&copies),
          S_OK);
    ID3D12InfoQueue_ClearStoredMessages(queue);
    ID3D12CommandAllocator_Reset(q.allocator);
    EXPECT(COMMAND_ALLOCATOR_CANNOT_RESET, EXECUTION);
    ID3D12GraphicsCommandList_Reset(q.list, q.allocator, NULL);
    EXPECT(COMMAND_LIST_OPEN, EXECUTION);
    ID3D12CommandQueue_ExecuteCommandLists(q.queue, 1, lists);
    EXPECT(EXECUTECOMMANDLISTS_OPENCOMMANDLIST, EXECUTION);
    ID3D12Device_CreateCommandList(device, 0, D3D12_COMMAND_LIST_TYPE_COMPUTE, q.allocator, NULL,
                                   &IID_ID3D12GraphicsCommandList, &out);
    EXPECT(COMMAND_ALLOCATOR_CONTENTION, EXECUTION);
    ID3D12Device_CreateCommandList(device, 0, D3D12_COMMAND_LIST_TYPE_COMPUTE, copies, NULL,
                                   &IID_ID3D12GraphicsCommandList, &out);
    EXPECT(WRONG_COMMAND_ALLOCATOR_TYPE, EXECUTION);
    api_release(copies);
    api_queue_destroy(&q);
}

static void test_queues_and_fences(ID3D12Device *device, ID3D12InfoQueue *queue)
{
    D3D12_COMMAND_QUEUE_DESC desc = { .Type = D3D12_COMMAND_LIST_TYPE_BUNDLE };
    ID3D12Device1 *device1 = NULL;
    void *out;
    ID3D12Device_CreateCommandQueue(device, &desc, &IID_ID3D12CommandQueue, &out);
    EXPECT(CREATE_QUEUE_INVALID_TYPE, CREATION);
    desc = (D3D12_COMMAND_QUEUE_DESC){ .Type = D3D12_COMMAND_LIST_TYPE_COMPUTE, .Priority = 7 };
    ID3D12Device_CreateCommandQueue(device, &desc, &IID_ID3D12CommandQueue, &out);
    EXPECT(CREATE_QUEUE_INVALID_PRIORITY, CREATION);
    desc = (D3D12_COMMAND_QUEUE_DESC){ .Type = D3D12_COMMAND_LIST_TYPE_COMPUTE, .Flags = 64 };
    ID3D12Device_CreateCommandQueue(device, &desc, &IID_ID3D12CommandQueue, &out);
    EXPECT(CREATE_QUEUE_INVALID_FLAGS, CREATION);
    desc = (D3D12_COMMAND_QUEUE_DESC){ .Type = D3D12_COMMAND_LIST_TYPE_COMPUTE, .NodeMask = 2 };
    ID3D12Device_CreateCommandQueue(device, &desc, &IID_ID3D12CommandQueue, &out);
    EXPECT(INVALID_NODE_INDEX, CREATION);
    ID3D12Device_CreateFence(device, 0, D3D12_FENCE_FLAG_SHARED, &IID_ID3D12Fence, &out);
    EXPECT(CREATE_FENCE_INVALID_FLAGS, CREATION);
    ok_hr(ID3D12Device_QueryInterface(device, &IID_ID3D12Device1, (void **)&device1), S_OK);
    ID3D12Device1_SetEventOnMultipleFenceCompletion(device1, NULL, NULL, 0, (D3D12_MULTIPLE_FENCE_WAIT_FLAGS)9, NULL);
    EXPECT(SETEVENTONMULTIPLEFENCECOMPLETION_INVALIDFLAGS, EXECUTION);
    ID3D12Device1_SetResidencyPriority(device1, 1, NULL, NULL);
    EXPECT(SETRESIDENCYPRIORITY_INVALID_PAGEABLE, MANIPULATION);
    api_release(device1);
}

static void test_root_signatures(ID3D12Device *device, ID3D12InfoQueue *queue)
{
    static const char wrong[64] = "no root signature";
    void *out;
    ID3D12Device_CreateRootSignature(device, 2, wrong, sizeof(wrong), &IID_ID3D12RootSignature, &out);
    EXPECT(INVALID_NODE_INDEX, CREATION);
    ID3D12Device_CreateRootSignature(device, 0, NULL, 0, &IID_ID3D12RootSignature, &out);
    EXPECT(CREATE_ROOT_SIGNATURE_BLOB_NOT_FOUND, CREATION);
    ID3D12Device_CreateRootSignature(device, 0, wrong, sizeof(wrong), &IID_ID3D12RootSignature, &out);
    EXPECT(CREATE_ROOT_SIGNATURE_DESERIALIZE_FAILED, CREATION);
}

static void test_questions(ID3D12Device *device, ID3D12InfoQueue *queue)
{
    const D3D12_RESOURCE_DESC none = { .Dimension = D3D12_RESOURCE_DIMENSION_BUFFER };
    const D3D12_CONSTANT_BUFFER_VIEW_DESC odd = { .SizeInBytes = 3 };
    UINT64 total;
    void *out;
    (void)ID3D12Device_GetResourceAllocationInfo(device, 0, 1, &none);
    EXPECT(GETRESOURCEALLOCATIONINFO_INVALIDRDESCS, CREATION);
    ID3D12Device_GetCopyableFootprints(device, &none, 0, 9, 0, NULL, NULL, NULL, &total);
    EXPECT(GETCOPYABLEFOOTPRINTS_INVALIDSUBRESOURCERANGE, CREATION);
    ID3D12Device_CreateConstantBufferView(device, &odd, (D3D12_CPU_DESCRIPTOR_HANDLE){ 0 });
    EXPECT(CREATE_CONSTANT_BUFFER_VIEW_INVALID_DESC, CREATION);
    ID3D12Device_CreateCommandList(device, 0, D3D12_COMMAND_LIST_TYPE_COMPUTE, NULL, NULL,
                                   &IID_ID3D12GraphicsCommandList, &out);
    EXPECT(CREATECOMMANDLIST_NULL_COMMANDALLOCATOR, CREATION);
}

int main(void)
{
    api_begin();
    ID3D12Debug *debug = NULL;
    ok_hr(D3D12GetDebugInterface(&IID_ID3D12Debug, (void **)&debug), S_OK);
    need(debug);
    ID3D12Debug_EnableDebugLayer(debug);
    api_release(debug);
    ID3D12Device *device = api_device();
    ID3D12InfoQueue *queue = NULL;
    ok_hr(ID3D12Device_QueryInterface(device, &IID_ID3D12InfoQueue, (void **)&queue), S_OK);
    need(queue);
    struct api_queue q = api_queue_create(device);
    test_copies(queue, &q);
    test_other_commands(queue, q.list);
    api_queue_destroy(&q);
    ID3D12InfoQueue_ClearStoredMessages(queue);
    test_creation(device, queue);
    test_allocators(device, queue);
    test_queues_and_fences(device, queue);
    test_root_signatures(device, queue);
    test_questions(device, queue);
    api_release(queue);
    api_release(device);
    return api_end();
}
