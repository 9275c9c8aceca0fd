/* SPDX-License-Identifier: Apache-2.0 */
/* ID3D12DescriptorHeap, views, copies of descriptors, and ClearUnorderedAccessViewUint. */
#include "api_test.h"

static ID3D12DescriptorHeap *heap_create(ID3D12Device *device, UINT count, bool visible)
{
    D3D12_DESCRIPTOR_HEAP_DESC desc = { D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, count,
                                        visible ? D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE
                                                : D3D12_DESCRIPTOR_HEAP_FLAG_NONE,
                                        0 };
    ID3D12DescriptorHeap *heap = NULL;
    ok_hr(ID3D12Device_CreateDescriptorHeap(device, &desc, &IID_ID3D12DescriptorHeap, (void **)&heap), S_OK);
    need(heap);
    return heap;
}

static D3D12_CPU_DESCRIPTOR_HANDLE cpu_at(ID3D12Device *device, ID3D12DescriptorHeap *heap, UINT index)
{
    D3D12_CPU_DESCRIPTOR_HANDLE handle = ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(heap);
    handle.ptr +=
        (SIZE_T)index * ID3D12Device_GetDescriptorHandleIncrementSize(device, D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
    return handle;
}

static D3D12_GPU_DESCRIPTOR_HANDLE gpu_at(ID3D12Device *device, ID3D12DescriptorHeap *heap, UINT index)
{
    D3D12_GPU_DESCRIPTOR_HANDLE handle = ID3D12DescriptorHeap_GetGPUDescriptorHandleForHeapStart(heap);
    handle.ptr +=
        (UINT64)index * ID3D12Device_GetDescriptorHandleIncrementSize(device, D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
    return handle;
}

static void test_heaps(ID3D12Device *device)
{
    ID3D12DescriptorHeap *shown = heap_create(device, 8, true), *hidden = heap_create(device, 8, false);
    ok(ID3D12DescriptorHeap_GetGPUDescriptorHandleForHeapStart(hidden).ptr == 0, "GPU handle of a hidden heap");
    ok(ID3D12DescriptorHeap_GetGPUDescriptorHandleForHeapStart(shown).ptr, "no GPU handle");
    ok(cpu_at(device, shown, 0).ptr && cpu_at(device, hidden, 0).ptr, "handle 0");
    ok(cpu_at(device, shown, 7).ptr != cpu_at(device, hidden, 7).ptr, "handles are not unique");
    D3D12_DESCRIPTOR_HEAP_DESC desc = ID3D12DescriptorHeap_GetDesc(shown);
    ok(desc.NumDescriptors == 8 && desc.NodeMask == 1, "desc");
    api_release(shown);
    api_release(hidden);
    api_release(heap_create(device, 0, true));
    api_release(heap_create(device, 1000000, true));
    UINT size = ID3D12Device_GetDescriptorHandleIncrementSize(device, D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
    ok(size && !(size & (size - 1)), "increment %u", size);
    ok(!ID3D12Device_GetDescriptorHandleIncrementSize(device, (D3D12_DESCRIPTOR_HEAP_TYPE)77), "unknown type");
    void *out = device;
    desc = (D3D12_DESCRIPTOR_HEAP_DESC){ D3D12_DESCRIPTOR_HEAP_TYPE_RTV, 1, 0, 0 };
    ok_hr(ID3D12Device_CreateDescriptorHeap(device, &desc, &IID_ID3D12DescriptorHeap, &out), E_INVALIDARG);
    ok(!out, "the output is not cleared");
    desc = (D3D12_DESCRIPTOR_HEAP_DESC){ D3D12_DESCRIPTOR_HEAP_TYPE_SAMPLER, 1, 1, 0 };
    ok_hr(ID3D12Device_CreateDescriptorHeap(device, &desc, &IID_ID3D12DescriptorHeap, NULL), E_INVALIDARG);
    desc.NodeMask = 4;
    ok_hr(ID3D12Device_CreateDescriptorHeap(device, &desc, &IID_ID3D12DescriptorHeap, &out), E_INVALIDARG);
}

struct clear {
    struct api_queue q;
    ID3D12DescriptorHeap *shown, *hidden;
    ID3D12Resource *buffer;
};

#define WORDS 64

static struct clear clear_create(ID3D12Device *device)
{
    struct clear c = { api_queue_create(device), heap_create(device, 4, true), heap_create(device, 4, false),
                       api_buffer(device, D3D12_HEAP_TYPE_DEFAULT, WORDS * 4) };
    return c;
}

static void clear_destroy(struct clear *c)
{
    api_queue_destroy(&c->q);
    api_release(c->shown);
    api_release(c->hidden);
    api_release(c->buffer);
}

static void write_view(struct clear *c, const D3D12_UNORDERED_ACCESS_VIEW_DESC *desc)
{
    ID3D12Device_CreateUnorderedAccessView(c->q.device, c->buffer, NULL, desc, cpu_at(c->q.device, c->shown, 3));
    ID3D12Device_CreateUnorderedAccessView(c->q.device, c->buffer, NULL, desc, cpu_at(c->q.device, c->hidden, 3));
}

static D3D12_UNORDERED_ACCESS_VIEW_DESC raw_view(UINT64 first, UINT count)
{
    return (D3D12_UNORDERED_ACCESS_VIEW_DESC){
        .Format = DXGI_FORMAT_R32_TYPELESS,
        .ViewDimension = D3D12_UAV_DIMENSION_BUFFER,
        .Buffer = { .FirstElement = first, .NumElements = count, .Flags = D3D12_BUFFER_UAV_FLAG_RAW },
    };
}

static void record_clear(struct clear *c, const UINT values[4], UINT rects, const D3D12_RECT *rect)
{
    ID3D12GraphicsCommandList_SetDescriptorHeaps(c->q.list, 1, &c->shown);
    ID3D12GraphicsCommandList_ClearUnorderedAccessViewUint(
        c->q.list, gpu_at(c->q.device, c->shown, 3), cpu_at(c->q.device, c->hidden, 3), c->buffer, values, rects, rect);
}

static void expect_words(struct clear *c, UINT begin, UINT end, uint32_t inside, uint32_t outside, const char *what)
{
    uint32_t got[WORDS];
    api_read(&c->q, c->buffer, 0, got, sizeof(got));
    for (UINT i = 0; i < WORDS && !api_is("null"); i++) {
        uint32_t want = i >= begin && i < end ? inside : outside;
        ok(got[i] == want, "%s: word %u is 0x%x, want 0x%x", what, i, got[i], want);
    }
}

static void test_clear(ID3D12Device *device)
{
    struct clear c = clear_create(device);
    const UINT different[4] = { 1, 2, 3, 4 }, nines[4] = { 9, 9, 9, 9 }, bytes[4] = { 0x105, 0x105, 0x105, 0x105 };
    D3D12_UNORDERED_ACCESS_VIEW_DESC view = raw_view(0, WORDS);
    write_view(&c, &view);
    record_clear(&c, different, 0, NULL);
    expect_words(&c, 0, WORDS, 1, 0, "raw view takes the first value");
    record_clear(&c, nines, 1, &(D3D12_RECT){ 8, 0, 16, 1 });
    expect_words(&c, 8, 16, 9, 1, "rectangle");
    view = raw_view(4, 4);
    write_view(&c, &view);
    record_clear(&c, (const UINT[4]){ 7, 7, 7, 7 }, 1, &(D3D12_RECT){ 0, 0, 2, 1 });
    record_clear(&c, (const UINT[4]){ 7, 7, 7, 7 }, 1, &(D3D12_RECT){ 2, 0, 1000, 1 });
    uint32_t got[WORDS];
    api_read(&c.q, c.buffer, 0, got, sizeof(got));
    ok((got[3] == 1 && got[4] == 7 && got[7] == 7 && got[8] == 9) || api_is("null"), "a view in the middle");
    view = raw_view(0, WORDS);
    view.Format = DXGI_FORMAT_R8_UINT;
    view.Buffer.Flags = 0;
    view.Buffer.NumElements = WORDS * 4;
    write_view(&c, &view);
    record_clear(&c, bytes, 0, NULL);
    expect_words(&c, 0, WORDS, 0x05050505, 0, "low byte of each value");
    view.Format = DXGI_FORMAT_R16G16_UINT;
    view.Buffer.NumElements = WORDS;
    write_view(&c, &view);
    record_clear(&c, different, 0, NULL);
    expect_words(&c, 0, WORDS, 0x00020001, 0, "two channels");
    view.Format = DXGI_FORMAT_UNKNOWN;
    view.Buffer.StructureByteStride = 16;
    view.Buffer.NumElements = 2;
    view.Buffer.FirstElement = 1;
    write_view(&c, &view);
    record_clear(&c, nines, 0, NULL);
    expect_words(&c, 4, 12, 9, 0x00020001, "structured view");
    ok_hr(ID3D12Device_GetDeviceRemovedReason(device), S_OK);
    clear_destroy(&c);
}

/* So large that several threads share it, and not in whole words. */
static void test_large_clear(ID3D12Device *device)
{
    enum { COUNT = 2500001 };
    struct clear c = clear_create(device);
    D3D12_UNORDERED_ACCESS_VIEW_DESC view = raw_view(0, COUNT);
    uint16_t *got = calloc(COUNT, sizeof(*got));
    need(got);
    api_release(c.buffer);
    c.buffer = api_buffer(device, D3D12_HEAP_TYPE_DEFAULT, COUNT * 2);
    view.Format = DXGI_FORMAT_R8G8_UINT;
    view.Buffer.Flags = D3D12_BUFFER_UAV_FLAG_NONE;
    write_view(&c, &view);
    record_clear(&c, (const UINT[4]){ 1, 2, 1, 2 }, 0, NULL);
    api_read(&c.q, c.buffer, 0, got, COUNT * 2);
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += got[i] != 0x0201;
    ok(!wrong || api_is("null"), "%d elements are wrong", wrong);
    free(got);
    clear_destroy(&c);
}

static void test_clear_errors(ID3D12Device *device)
{
    const UINT values[4] = { 0, 0, 0, 0 };
    const D3D12_UNORDERED_ACCESS_VIEW_DESC view = raw_view(0, WORDS);
    for (int i = 0; i < 5; i++) {
        struct clear c = clear_create(device);
        D3D12_CPU_DESCRIPTOR_HANDLE cpu = cpu_at(device, i == 0 ? c.shown : c.hidden, 3);
        D3D12_GPU_DESCRIPTOR_HANDLE gpu = gpu_at(device, c.shown, i == 1 ? 4 : 3);
        ID3D12Resource *other = api_buffer(device, D3D12_HEAP_TYPE_DEFAULT, 256);
        if (i != 2)
            write_view(&c, &view);
        if (i != 3)
            ID3D12GraphicsCommandList_SetDescriptorHeaps(c.q.list, 1, &c.shown);
        ID3D12GraphicsCommandList_ClearUnorderedAccessViewUint(c.q.list, gpu, cpu, i == 4 ? other : c.buffer, values, 0,
                                                               NULL);
        HRESULT hr = ID3D12GraphicsCommandList_Close(c.q.list);
        ok(hr == E_INVALIDARG, "clear error %d: 0x%08x", i, (unsigned)hr);
        api_release(other);
        clear_destroy(&c);
    }
    for (int i = 0; i < 3; i++) {
        struct clear c = clear_create(device);
        ID3D12DescriptorHeap *twice[] = { c.shown, c.shown };
        ID3D12GraphicsCommandList_SetDescriptorHeaps(c.q.list, i == 0 ? 2 : 1,
                                                     i == 0   ? twice
                                                     : i == 1 ? &c.hidden
                                                              : NULL);
        HRESULT hr = ID3D12GraphicsCommandList_Close(c.q.list);
        ok(hr == E_INVALIDARG, "SetDescriptorHeaps error %d: 0x%08x", i, (unsigned)hr);
        clear_destroy(&c);
    }
}

/* Bad views are messages and leave the slot alone. */
static void test_bad_views(ID3D12Device *device)
{
    struct clear c = clear_create(device);
    D3D12_UNORDERED_ACCESS_VIEW_DESC good = raw_view(0, WORDS), bad[5];
    ID3D12Resource *readonly = api_buffer(device, D3D12_HEAP_TYPE_UPLOAD, 256);
    write_view(&c, &good);
    bad[0] = raw_view(0, WORDS + 1);
    bad[1] = raw_view(1, 4);
    bad[2] = raw_view(UINT64_MAX, 4);
    bad[3] = good, bad[3].Format = DXGI_FORMAT_UNKNOWN, bad[3].Buffer.Flags = 0, bad[3].Buffer.StructureByteStride = 3;
    bad[4] = good, bad[4].ViewDimension = D3D12_UAV_DIMENSION_TEXTURE2D;
    for (int i = 0; i < 5; i++)
        write_view(&c, &bad[i]);
    write_view(&c, NULL);
    ID3D12Device_CreateUnorderedAccessView(device, readonly, NULL, &good, cpu_at(device, c.hidden, 3));
    record_clear(&c, (const UINT[4]){ 3, 3, 3, 3 }, 0, NULL);
    expect_words(&c, 0, WORDS, 3, 0, "the good view");
    ok_hr(ID3D12Device_GetDeviceRemovedReason(device), S_OK);
    api_release(readonly);
    clear_destroy(&c);
}

static void test_copies(ID3D12Device *device)
{
    struct clear c = clear_create(device);
    const D3D12_UNORDERED_ACCESS_VIEW_DESC view = raw_view(0, WORDS);
    ID3D12DescriptorHeap *source = heap_create(device, 4, false);
    ID3D12Device_CreateUnorderedAccessView(device, c.buffer, NULL, &view, cpu_at(device, source, 1));
    ID3D12Device_CopyDescriptorsSimple(device, 1, cpu_at(device, c.hidden, 3), cpu_at(device, source, 1),
                                       D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
    ID3D12Device_CopyDescriptorsSimple(device, 1, cpu_at(device, c.shown, 3), cpu_at(device, source, 1),
                                       D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
    record_clear(&c, (const UINT[4]){ 6, 6, 6, 6 }, 0, NULL);
    expect_words(&c, 0, WORDS, 6, 0, "a copied descriptor");
    /* Ranges 1 + 3 into 2 + 2: slot 1 lands in slot 3. */
    ID3D12DescriptorHeap *other = heap_create(device, 4, false);
    D3D12_CPU_DESCRIPTOR_HANDLE to[] = { cpu_at(device, other, 2), cpu_at(device, other, 0) };
    D3D12_CPU_DESCRIPTOR_HANDLE from[] = { cpu_at(device, source, 0), cpu_at(device, source, 1) };
    const UINT to_sizes[] = { 2, 2 }, from_sizes[] = { 1, 3 }, eights[4] = { 8, 8, 8, 8 };
    ID3D12Device_CopyDescriptors(device, 2, to, to_sizes, 2, from, from_sizes, D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
    ID3D12GraphicsCommandList_SetDescriptorHeaps(c.q.list, 1, &c.shown);
    ID3D12GraphicsCommandList_ClearUnorderedAccessViewUint(c.q.list, gpu_at(device, c.shown, 3),
                                                           cpu_at(device, other, 3), c.buffer, eights, 0, NULL);
    expect_words(&c, 0, WORDS, 8, 0, "copied ranges");
    ok_hr(ID3D12Device_GetDeviceRemovedReason(device), S_OK);
    api_release(source);
    api_release(other);
    clear_destroy(&c);
}

int main(void)
{
    api_begin();
    ID3D12Device *device = api_device();
    test_heaps(device);
    test_clear(device);
    test_large_clear(device);
    test_clear_errors(device);
    test_bad_views(device);
    test_copies(device);
    ok(api_release(device) == 0, "the device is still referenced");
    return api_end();
}
