/* SPDX-License-Identifier: Apache-2.0 */
/* ID3D12GraphicsCommandList and ID3D12CommandAllocator: states, errors that Close returns, copies, barriers. */
#include "api_test.h"

struct lists {
    ID3D12Device *device;
    ID3D12CommandAllocator *allocator;
    ID3D12GraphicsCommandList *list;
};

static struct lists lists_create(ID3D12Device *device, D3D12_COMMAND_LIST_TYPE type)
{
    struct lists l = { .device = device };
    ok_hr(ID3D12Device_CreateCommandAllocator(device, type, &IID_ID3D12CommandAllocator, (void **)&l.allocator), S_OK);
    ok_hr(ID3D12Device_CreateCommandList(device, 0, type, l.allocator, NULL, &IID_ID3D12GraphicsCommandList,
                                         (void **)&l.list),
          S_OK);
    need(l.allocator && l.list);
    return l;
}

static void lists_destroy(struct lists *l)
{
    api_release(l->list);
    api_release(l->allocator);
}

/* Ends a list that must have failed with this code, permanently. */
static void expect_failed(struct lists *l, HRESULT want, const char *what)
{
    HRESULT hr = ID3D12GraphicsCommandList_Close(l->list);
    ok(hr == want, "%s: Close gave 0x%08x", what, (unsigned)hr);
    ok_hr(ID3D12GraphicsCommandList_Reset(l->list, l->allocator, NULL), want);
    lists_destroy(l);
}

static void test_life(ID3D12Device *device)
{
    struct lists l = lists_create(device, D3D12_COMMAND_LIST_TYPE_COMPUTE);
    ID3D12CommandAllocator *other = NULL, *copy = NULL;
    void *out = device;
    ok(ID3D12GraphicsCommandList_GetType(l.list) == D3D12_COMMAND_LIST_TYPE_COMPUTE, "type");
    ok_hr(ID3D12CommandAllocator_Reset(l.allocator), E_FAIL);
    ok_hr(ID3D12Device_CreateCommandList(device, 0, D3D12_COMMAND_LIST_TYPE_COMPUTE, l.allocator, NULL,
                                         &IID_ID3D12CommandList, &out),
          E_INVALIDARG);
    ok(!out, "the output is not cleared");
    ok_hr(ID3D12GraphicsCommandList_Reset(l.list, l.allocator, NULL), E_FAIL);
    ok_hr(ID3D12GraphicsCommandList_Close(l.list), S_OK);
    ok_hr(ID3D12GraphicsCommandList_Close(l.list), E_FAIL);
    ok_hr(ID3D12CommandAllocator_Reset(l.allocator), S_OK);
    ok_hr(ID3D12GraphicsCommandList_Reset(l.list, NULL, NULL), E_INVALIDARG);
    ok_hr(ID3D12Device_CreateCommandAllocator(device, D3D12_COMMAND_LIST_TYPE_COPY, &IID_ID3D12CommandAllocator,
                                              (void **)&copy),
          S_OK);
    ok_hr(ID3D12GraphicsCommandList_Reset(l.list, copy, NULL), E_INVALIDARG);
    ok_hr(ID3D12Device_CreateCommandAllocator(device, D3D12_COMMAND_LIST_TYPE_COMPUTE, &IID_ID3D12CommandAllocator,
                                              (void **)&other),
          S_OK);
    ok_hr(ID3D12GraphicsCommandList_Reset(l.list, other, NULL), S_OK);
    ok_hr(ID3D12CommandAllocator_Reset(l.allocator), S_OK);
    ok_hr(ID3D12CommandAllocator_Reset(other), E_FAIL);
    ok_hr(ID3D12GraphicsCommandList_Close(l.list), S_OK);
    ok_hr(
        ID3D12Device_CreateCommandAllocator(device, D3D12_COMMAND_LIST_TYPE_BUNDLE, &IID_ID3D12CommandAllocator, &out),
        E_INVALIDARG);
    ok_hr(ID3D12Device_CreateCommandAllocator(device, D3D12_COMMAND_LIST_TYPE_COPY, &IID_ID3D12CommandAllocator, NULL),
          E_INVALIDARG);
    const IID *const iids[] = { &IID_ID3D12CommandList, &IID_ID3D12GraphicsCommandList, &IID_ID3D12GraphicsCommandList1,
                                &IID_ID3D12GraphicsCommandList6 };
    for (size_t i = 0; i < sizeof(iids) / sizeof(iids[0]); i++) {
        ok_hr(ID3D12GraphicsCommandList_QueryInterface(l.list, iids[i], &out), S_OK);
        api_release(l.list);
    }
    ID3D12GraphicsCommandList *closed = NULL;
    ok_hr(ID3D12Device4_CreateCommandList1((ID3D12Device4 *)device, 0, D3D12_COMMAND_LIST_TYPE_COMPUTE, 0,
                                           &IID_ID3D12GraphicsCommandList, (void **)&closed),
          S_OK);
    ok_hr(ID3D12GraphicsCommandList_Close(closed), E_FAIL);
    ok_hr(ID3D12GraphicsCommandList_Reset(closed, other, NULL), S_OK);
    /* Releasing a recording list frees its allocator. */
    api_release(closed);
    ok_hr(ID3D12CommandAllocator_Reset(other), S_OK);
    api_release(other);
    api_release(copy);
    lists_destroy(&l);
}

static void test_copy_errors(ID3D12Device *device)
{
    ID3D12Resource *a = api_buffer(device, D3D12_HEAP_TYPE_DEFAULT, 64);
    ID3D12Resource *b = api_buffer(device, D3D12_HEAP_TYPE_DEFAULT, 128);
    ID3D12Resource *up = api_buffer(device, D3D12_HEAP_TYPE_UPLOAD, 64);
    ID3D12Resource *back = api_buffer(device, D3D12_HEAP_TYPE_READBACK, 64);
    const struct {
        ID3D12Resource *to;
        UINT64 to_offset;
        ID3D12Resource *from;
        UINT64 from_offset, bytes;
        HRESULT want;
    } rows[] = {
        { a, 0, b, 0, 64, S_OK },
        { a, 0, b, 0, 65, E_INVALIDARG },
        { a, 1, b, 0, 64, E_INVALIDARG },
        { a, 0, b, 65, 64, E_INVALIDARG },
        { a, 0, b, UINT64_MAX, 2, E_INVALIDARG },
        { up, 0, a, 0, 4, E_INVALIDARG },
        { a, 0, back, 0, 4, E_INVALIDARG },
        { a, 0, NULL, 0, 4, E_INVALIDARG },
        { a, 0, a, 32, 32, S_OK },
        { a, 0, a, 31, 32, E_INVALIDARG },
        { a, 64, b, 128, 0, S_OK },
        { back, 0, up, 0, 64, S_OK },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lists l = lists_create(device, D3D12_COMMAND_LIST_TYPE_COMPUTE);
        ID3D12GraphicsCommandList_CopyBufferRegion(l.list, rows[i].to, rows[i].to_offset, rows[i].from,
                                                   rows[i].from_offset, rows[i].bytes);
        char what[32];
        snprintf(what, sizeof(what), "copy %zu", i);
        if (FAILED(rows[i].want)) {
            expect_failed(&l, rows[i].want, what);
            continue;
        }
        HRESULT hr = ID3D12GraphicsCommandList_Close(l.list);
        ok(hr == S_OK, "%s: 0x%08x", what, (unsigned)hr);
        lists_destroy(&l);
    }
    struct lists l = lists_create(device, D3D12_COMMAND_LIST_TYPE_COPY);
    ID3D12GraphicsCommandList_CopyResource(l.list, a, b);
    expect_failed(&l, E_INVALIDARG, "CopyResource of different widths");
    l = lists_create(device, D3D12_COMMAND_LIST_TYPE_COPY);
    ID3D12GraphicsCommandList_CopyResource(l.list, a, a);
    expect_failed(&l, E_INVALIDARG, "CopyResource to itself");
    api_release(a);
    api_release(b);
    api_release(up);
    api_release(back);
}

static D3D12_RESOURCE_BARRIER transition(ID3D12Resource *resource, unsigned before, unsigned after, unsigned flags)
{
    return (D3D12_RESOURCE_BARRIER){
        .Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION,
        .Flags = (D3D12_RESOURCE_BARRIER_FLAGS)flags,
        .Transition = { resource, 0, (D3D12_RESOURCE_STATES)before, (D3D12_RESOURCE_STATES)after },
    };
}

static void try_barriers(ID3D12Device *device, UINT count, const D3D12_RESOURCE_BARRIER *barriers, HRESULT want,
                         const char *what)
{
    struct lists l = lists_create(device, D3D12_COMMAND_LIST_TYPE_COMPUTE);
    ID3D12GraphicsCommandList_ResourceBarrier(l.list, count, barriers);
    if (FAILED(want)) {
        expect_failed(&l, want, what);
        return;
    }
    HRESULT hr = ID3D12GraphicsCommandList_Close(l.list);
    ok(hr == want, "%s: 0x%08x", what, (unsigned)hr);
    lists_destroy(&l);
}

static void test_barriers(ID3D12Device *device)
{
    enum { BEGIN = D3D12_RESOURCE_BARRIER_FLAG_BEGIN_ONLY, END = D3D12_RESOURCE_BARRIER_FLAG_END_ONLY };
    ID3D12Resource *uav = api_buffer(device, D3D12_HEAP_TYPE_DEFAULT, 64);
    ID3D12Resource *up = api_buffer(device, D3D12_HEAP_TYPE_UPLOAD, 64);
    D3D12_RESOURCE_BARRIER good[] = { transition(uav, 0, 8, 0),
                                      transition(uav, 8, 0x800, BEGIN),
                                      transition(uav, 8, 0x800, END),
                                      { .Type = D3D12_RESOURCE_BARRIER_TYPE_UAV },
                                      { .Type = D3D12_RESOURCE_BARRIER_TYPE_ALIASING } };
    try_barriers(device, 5, good, S_OK, "good barriers");
    const struct {
        D3D12_RESOURCE_BARRIER barrier;
        const char *what;
    } bad[] = {
        { transition(NULL, 0, 8, 0), "not a resource" },
        { transition(uav, 8, 8, 0), "equal states" },
        { transition(uav, 0, 4, 0), "render target" },
        { transition(uav, 0, 0x408, 0), "two writes" },
        { transition(up, 0xac3, 0x800, 0), "upload" },
        { transition(uav, 0, 8, BEGIN | END), "begin and end" },
        { transition(uav, 0, 8, END), "end alone" },
        { transition(uav, 0, 8, BEGIN), "begin alone" },
        { transition(uav, 0, 8, 0x40), "unknown flag" },
        { { .Type = (D3D12_RESOURCE_BARRIER_TYPE)9 }, "unknown type" },
        { { .Type = D3D12_RESOURCE_BARRIER_TYPE_UAV, .UAV = { up } }, "UAV barrier on upload" },
        { { .Type = D3D12_RESOURCE_BARRIER_TYPE_ALIASING, .Aliasing = { uav, NULL } }, "aliasing of committed" },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        try_barriers(device, 1, &bad[i].barrier, E_INVALIDARG, bad[i].what);
    try_barriers(device, 1, NULL, E_INVALIDARG, "NULL array");
    D3D12_RESOURCE_BARRIER sub = transition(uav, 0, 8, 0);
    sub.Transition.Subresource = 1;
    try_barriers(device, 1, &sub, E_INVALIDARG, "subresource 1");
    api_release(uav);
    api_release(up);
}

static void test_absent(ID3D12Device *device)
{
    struct lists l = lists_create(device, D3D12_COMMAND_LIST_TYPE_DIRECT);
    ID3D12GraphicsCommandList_Dispatch(l.list, 1, 1, 1);
    expect_failed(&l, E_NOTIMPL, "Dispatch");
    l = lists_create(device, D3D12_COMMAND_LIST_TYPE_DIRECT);
    ID3D12GraphicsCommandList_DrawInstanced(l.list, 3, 1, 0, 0);
    expect_failed(&l, E_NOTIMPL, "DrawInstanced");
    l = lists_create(device, D3D12_COMMAND_LIST_TYPE_DIRECT);
    ID3D12GraphicsCommandList_SetPipelineState(l.list, NULL);
    ID3D12GraphicsCommandList_SetComputeRootSignature(l.list, NULL);
    ID3D12GraphicsCommandList_BeginEvent(l.list, 0, NULL, 0);
    ID3D12GraphicsCommandList_EndEvent(l.list);
    ID3D12GraphicsCommandList_ClearState(l.list, NULL);
    ok_hr(ID3D12GraphicsCommandList_Close(l.list), S_OK);
    lists_destroy(&l);
}

/* The first error counts, later calls change nothing. */
static void test_first_error(ID3D12Device *device)
{
    struct lists l = lists_create(device, D3D12_COMMAND_LIST_TYPE_DIRECT);
    ID3D12GraphicsCommandList_CopyResource(l.list, NULL, NULL);
    ID3D12GraphicsCommandList_Dispatch(l.list, 1, 1, 1);
    expect_failed(&l, E_INVALIDARG, "first error");
}

/* Reset right after submission keeps the submitted commands; early release of a buffer keeps its memory. */
static void test_reset_in_flight(struct api_queue *q)
{
    ID3D12Resource *buffer = api_buffer(q->device, D3D12_HEAP_TYPE_DEFAULT, 1 << 20);
    ID3D12Resource *back = api_buffer(q->device, D3D12_HEAP_TYPE_READBACK, 1 << 20);
    for (int round = 0; round < 50; round++) {
        ID3D12Resource *upload = api_buffer(q->device, D3D12_HEAP_TYPE_UPLOAD, 1 << 20);
        memset(api_map(upload), round + 1, 1 << 20);
        ID3D12GraphicsCommandList_CopyResource(q->list, buffer, upload);
        ID3D12GraphicsCommandList_CopyResource(q->list, back, buffer);
        api_release(upload);
        ok_hr(ID3D12GraphicsCommandList_Close(q->list), S_OK);
        api_queue_execute(q);
        ok_hr(ID3D12GraphicsCommandList_Reset(q->list, q->allocator, NULL), S_OK);
        ID3D12GraphicsCommandList_CopyBufferRegion(q->list, buffer, 0, buffer, 64, 64); /* never executed */
        api_queue_wait(q);
        const unsigned char *got = api_map(back);
        ok((got[0] == round + 1 && got[(1 << 20) - 1] == round + 1) || api_is("null"), "round %d: %u", round, got[0]);
        ok_hr(ID3D12GraphicsCommandList_Close(q->list), S_OK);
        ok_hr(ID3D12CommandAllocator_Reset(q->allocator), S_OK);
        ok_hr(ID3D12GraphicsCommandList_Reset(q->list, q->allocator, NULL), S_OK);
    }
    api_release(buffer);
    api_release(back);
}

int main(void)
{
    api_begin();
    ID3D12Device *device = api_device();
    test_life(device);
    test_copy_errors(device);
    test_barriers(device);
    test_absent(device);
    test_first_error(device);
    struct api_queue q = api_queue_create(device);
    test_reset_in_flight(&q);
    api_queue_destroy(&q);
    ok(api_release(device) == 0, "the device is still referenced");
    return api_end();
}
