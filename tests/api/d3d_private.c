/* SPDX-License-Identifier: Apache-2.0 */
/* AnydmlDevice, the interface that libdirectml uses: dispatches bind through descriptors read at submission. */
#include "api_test.h"

#include "d3d12/private.h"

struct probe {
    struct adapter_dispatch base;
    int refs, runs, checks;
    HRESULT check_answer, run_answer;
};

static void probe_ref(struct adapter_dispatch *dispatch)
{
    __atomic_add_fetch(&((struct probe *)dispatch)->refs, 1, __ATOMIC_RELAXED);
}

static void probe_unref(struct adapter_dispatch *dispatch)
{
    __atomic_sub_fetch(&((struct probe *)dispatch)->refs, 1, __ATOMIC_RELAXED);
}

static HRESULT probe_check(struct adapter_dispatch *dispatch, const struct adapter_binding *bindings, uint32_t count,
                           enum adapter_moment moment, char *message)
{
    struct probe *probe = (struct probe *)dispatch;
    probe->checks++;
    ok(moment == ADAPTER_MOMENT_SUBMITTED, "moment %d", (int)moment);
    ok(count == 3 && bindings[0].memory && bindings[1].memory && !bindings[2].memory, "bindings");
    snprintf(message, 512, "the probe refuses");
    return probe->check_answer;
}

/* Adds 1 to each byte of the first binding into the second. */
static HRESULT probe_run(struct adapter_dispatch *dispatch, const struct adapter_binding *bindings, uint32_t count)
{
    struct probe *probe = (struct probe *)dispatch;
    ok(count == 3 && bindings[0].size == 16 && bindings[1].size == 16, "binding sizes");
    const char *from = (const char *)bindings[0].memory->host + bindings[0].offset;
    char *to = (char *)bindings[1].memory->host + bindings[1].offset;
    for (int i = 0; i < 16; i++)
        to[i] = from[i] + 1;
    __atomic_add_fetch(&probe->runs, 1, __ATOMIC_RELAXED);
    return probe->run_answer;
}

static const struct adapter_dispatch_ops probe_ops = { probe_ref, probe_unref, probe_check, probe_run, NULL };

struct setup {
    ID3D12Device *device;
    AnydmlDevice *private_device;
    struct api_queue q;
    ID3D12DescriptorHeap *heap;
    ID3D12Resource *from, *to;
    struct probe probe;
};

static struct setup setup_create(void)
{
    struct setup s = { .device = api_device(), .probe = { .base = { &probe_ops } } };
    D3D12_DESCRIPTOR_HEAP_DESC desc = { D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, 8,
                                        D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE, 0 };
    ok_hr(ID3D12Device_QueryInterface(s.device, &IID_AnydmlDevice, (void **)&s.private_device), S_OK);
    need(s.private_device);
    s.q = api_queue_create(s.device);
    ok_hr(ID3D12Device_CreateDescriptorHeap(s.device, &desc, &IID_ID3D12DescriptorHeap, (void **)&s.heap), S_OK);
    s.from = api_buffer(s.device, D3D12_HEAP_TYPE_DEFAULT, 64);
    s.to = api_buffer(s.device, D3D12_HEAP_TYPE_DEFAULT, 64);
    return s;
}

static void setup_destroy(struct setup *s)
{
    api_queue_destroy(&s->q);
    api_release(s->heap);
    if (s->from)
        api_release(s->from);
    api_release(s->to);
    s->private_device->lpVtbl->Release(s->private_device);
    ok(api_release(s->device) == 0, "the device is still referenced");
    ok(!s->probe.refs, "%d references to the dispatch are left", s->probe.refs);
}

static D3D12_CPU_DESCRIPTOR_HANDLE cpu_slot(struct setup *s, UINT index)
{
    D3D12_CPU_DESCRIPTOR_HANDLE handle = ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(s->heap);
    handle.ptr += index * ID3D12Device_GetDescriptorHandleIncrementSize(s->device, 0);
    return handle;
}

static D3D12_GPU_DESCRIPTOR_HANDLE gpu_slot(struct setup *s, UINT index)
{
    D3D12_GPU_DESCRIPTOR_HANDLE handle = ID3D12DescriptorHeap_GetGPUDescriptorHandleForHeapStart(s->heap);
    handle.ptr += index * ID3D12Device_GetDescriptorHandleIncrementSize(s->device, 0);
    return handle;
}

static struct anydml_descriptors range_at(struct setup *s, UINT index)
{
    return (struct anydml_descriptors){ cpu_slot(s, index), gpu_slot(s, index), 3, NULL };
}

static void bind(struct setup *s, UINT64 from_offset, UINT64 to_offset)
{
    struct anydml_resource_info from, to;
    ok(s->private_device->lpVtbl->GetResourceInfo(s->private_device, s->from, &from), "info");
    ok(s->private_device->lpVtbl->GetResourceInfo(s->private_device, s->to, &to), "info");
    ok(from.width == 64 && from.resource_id != to.resource_id && from.heap_type == D3D12_HEAP_TYPE_DEFAULT, "info");
    struct anydml_buffer buffers[] = { { from.resource_id, from_offset, 16 },
                                       { to.resource_id, to_offset, 16 },
                                       { 0 } };
    const struct anydml_descriptors range = range_at(s, 0);
    char message[ADAPTER_MESSAGE_BYTES];
    ok_hr(s->private_device->lpVtbl->WriteDescriptors(s->private_device, &range, 2, 3, buffers, message), S_OK);
}

static HRESULT record(struct setup *s)
{
    const struct anydml_descriptors range = range_at(s, 2);
    struct anydml_recording recording = { 0 };
    return s->private_device->lpVtbl->RecordDispatch(s->private_device, (ID3D12CommandList *)s->q.list, &s->probe.base,
                                                     &range, NULL, &recording);
}

/* A heap that is not set is reported; the slots are found all the same. A handle that leads nowhere is refused. */
static void test_heap_not_in_force(void)
{
    struct setup s = setup_create();
    const struct anydml_descriptors range = range_at(&s, 2), nowhere = { { 4096 }, { 4096 }, 3, NULL };
    struct anydml_recording recording = { 0 };
    AnydmlDevice *device = s.private_device;
    ID3D12CommandList *list = (ID3D12CommandList *)s.q.list;
    ok_hr(device->lpVtbl->RecordDispatch(device, list, &s.probe.base, &range, NULL, &recording), S_OK);
    ok(recording.heap_not_set, "no heap is set");
    ok_hr(device->lpVtbl->RecordDispatch(device, list, &s.probe.base, &nowhere, NULL, &recording), E_INVALIDARG);
    ID3D12GraphicsCommandList_SetDescriptorHeaps(s.q.list, 1, &s.heap);
    ok_hr(device->lpVtbl->RecordDispatch(device, list, &s.probe.base, &range, NULL, &recording), S_OK);
    ok(!recording.heap_not_set, "the heap is set");
    ok_hr(ID3D12GraphicsCommandList_Close(s.q.list), S_OK);
    setup_destroy(&s);
}

static void test_late_binding(void)
{
    struct setup s = setup_create();
    char bytes[64], got[64];
    for (int i = 0; i < 64; i++)
        bytes[i] = (char)i;
    api_write(&s.q, s.from, 0, bytes, 64);
    ID3D12GraphicsCommandList_SetDescriptorHeaps(s.q.list, 1, &s.heap);
    ok_hr(record(&s), S_OK);
    ok_hr(ID3D12GraphicsCommandList_Close(s.q.list), S_OK);
    ok_hr(record(&s), E_INVALIDARG); /* closed */
    for (UINT64 i = 0; i < 4; i++) { /* bound after recording, and again for each submission */
        bind(&s, i * 16, 48 - i * 16);
        api_queue_execute(&s.q);
    }
    api_queue_wait(&s.q);
    ok_hr(ID3D12GraphicsCommandList_Reset(s.q.list, s.q.allocator, NULL), S_OK);
    api_read(&s.q, s.to, 0, got, 64);
    for (int i = 0; i < 64; i++)
        ok(got[i] == (48 - i / 16 * 16) + i % 16 + 1, "byte %d is %d", i, got[i]);
    ok(s.probe.runs == 4 && s.probe.checks == 4, "%d runs, %d checks", s.probe.runs, s.probe.checks);
    setup_destroy(&s);
}

/* Buffers that are given when a dispatch is recorded are used; empty ones are read from the heap when it is
 * submitted. */
static void test_captured(void)
{
    struct setup s = setup_create();
    struct anydml_resource_info from;
    const struct anydml_descriptors range = range_at(&s, 2);
    struct anydml_recording recording = { 0 };
    char bytes[64], got[64];
    for (int i = 0; i < 64; i++)
        bytes[i] = (char)i;
    api_write(&s.q, s.from, 0, bytes, 64);
    ok(s.private_device->lpVtbl->GetResourceInfo(s.private_device, s.from, &from), "info");
    ID3D12GraphicsCommandList_SetDescriptorHeaps(s.q.list, 1, &s.heap);
    for (UINT64 i = 0; i < 2; i++) {
        struct anydml_buffer buffers[3] = { { from.resource_id, 16 + 16 * i, 16 }, { 0 }, { 0 } };
        ok_hr(s.private_device->lpVtbl->RecordDispatch(s.private_device, (ID3D12CommandList *)s.q.list, &s.probe.base,
                                                       &range, buffers, &recording),
              S_OK);
        memset(buffers, 0xff, sizeof(buffers)); /* it has a copy */
        ok_hr(ID3D12GraphicsCommandList_Close(s.q.list), S_OK);
        bind(&s, 48, 32 * i);
        api_queue_execute(&s.q);
        api_queue_wait(&s.q);
        ok_hr(ID3D12GraphicsCommandList_Reset(s.q.list, s.q.allocator, NULL), S_OK);
        ID3D12GraphicsCommandList_SetDescriptorHeaps(s.q.list, 1, &s.heap);
    }
    api_read(&s.q, s.to, 0, got, 64);
    for (int i = 0; i < 16; i++)
        ok(got[i] == 16 + i + 1 && got[32 + i] == 32 + i + 1, "byte %d: %d and %d", i, got[i], got[32 + i]);
    setup_destroy(&s);
}

static void test_descriptors(void)
{
    struct setup s = setup_create();
    const struct AnydmlDeviceVtbl *p = s.private_device->lpVtbl;
    struct anydml_resource_info info;
    ok(p->GetVersion(s.private_device) == ANYDML_DEVICE_VERSION && p->GetThreadCount(s.private_device) >= 1, "version");
    ok(!strcmp(p->GetAdapterInfo(s.private_device)->ops->name, api_adapter()), "adapter");
    ok(!p->RecordsAtOnce(s.private_device) && p->GetRemovedReason(s.private_device) == S_OK, "a device of ours");
    struct anydml_descriptors range = { cpu_slot(&s, 7), gpu_slot(&s, 7), 1, NULL };
    ok(p->FindDescriptors(s.private_device, &range) == ANYDML_FOUND, "find");
    range.count = 2;
    ok(p->FindDescriptors(s.private_device, &range) == ANYDML_FOUND_NO_CPU, "beyond the end");
    range = (struct anydml_descriptors){ cpu_slot(&s, 0), gpu_slot(&s, 0), 8, NULL };
    ok(p->FindDescriptors(s.private_device, &range) == ANYDML_FOUND, "find");
    range.gpu.ptr = 0;
    ok(p->FindDescriptors(s.private_device, &range) == ANYDML_FOUND_NO_GPU, "NULL handle");
    range = (struct anydml_descriptors){ { cpu_slot(&s, 1).ptr + 4 }, gpu_slot(&s, 1), 1, NULL };
    ok(p->FindDescriptors(s.private_device, &range) == ANYDML_FOUND_NO_CPU, "between two slots");
    ok(!p->GetResourceInfo(s.private_device, (ID3D12Resource *)s.heap, &info), "a heap is no resource");
    p->PoisonCommandList(s.private_device, (ID3D12CommandList *)s.heap, E_FAIL);
    p->PoisonCommandList(s.private_device, (ID3D12CommandList *)s.q.list, E_OUTOFMEMORY);
    ok_hr(ID3D12GraphicsCommandList_Close(s.q.list), E_OUTOFMEMORY);
    setup_destroy(&s);
}

/* One submission of a dispatch that must remove the device. */
static void submit_bad(struct setup *s, HRESULT want, const char *what)
{
    ID3D12GraphicsCommandList_SetDescriptorHeaps(s->q.list, 1, &s->heap);
    ok_hr(record(s), S_OK);
    ok_hr(ID3D12GraphicsCommandList_Close(s->q.list), S_OK);
    api_queue_execute(&s->q);
    ID3D12CommandQueue_Signal(s->q.queue, s->q.fence, 1);
    ID3D12Fence_SetEventOnCompletion(s->q.fence, 1, NULL);
    ok(ID3D12Device_GetDeviceRemovedReason(s->device) == want, "%s: 0x%08x", what,
       (unsigned)ID3D12Device_GetDeviceRemovedReason(s->device));
    ok(ID3D12Fence_GetCompletedValue(s->q.fence) == UINT64_MAX, "%s: fence", what);
    setup_destroy(s);
}

static void test_failures(void)
{
    struct setup s = setup_create();
    s.probe.check_answer = E_INVALIDARG;
    bind(&s, 0, 0);
    submit_bad(&s, E_INVALIDARG, "check fails");
    s = setup_create();
    s.probe.run_answer = E_OUTOFMEMORY;
    bind(&s, 0, 0);
    submit_bad(&s, E_OUTOFMEMORY, "run fails");
    s = setup_create();
    bind(&s, 0, 0);
    api_release(s.from);
    s.from = NULL;
    submit_bad(&s, DXGI_ERROR_INVALID_CALL, "a released resource");
    s = setup_create();
    bind(&s, 56, 0);
    submit_bad(&s, DXGI_ERROR_INVALID_CALL, "beyond the end");
}

/* Very many executions: their number leaves no trace. */
static void test_many(void)
{
    struct setup s = setup_create();
    bind(&s, 0, 0);
    ID3D12GraphicsCommandList_SetDescriptorHeaps(s.q.list, 1, &s.heap);
    ok_hr(record(&s), S_OK);
    ok_hr(ID3D12GraphicsCommandList_Close(s.q.list), S_OK);
    double start = api_seconds();
    for (int i = 0; i < 20000; i++) {
        api_queue_execute(&s.q);
        ID3D12CommandQueue_Signal(s.q.queue, s.q.fence, ++s.q.value);
        ID3D12Fence_SetEventOnCompletion(s.q.fence, s.q.value, NULL);
    }
    printf("%.2f us per dispatch with signal and wait\n", (api_seconds() - start) / 20000 * 1e6);
    ok(s.probe.runs == 20000, "%d runs", s.probe.runs);
    setup_destroy(&s);
}

int main(void)
{
    api_begin();
    test_heap_not_in_force();
    test_late_binding();
    test_captured();
    test_descriptors();
    test_failures();
    test_many();
    return api_end();
}
