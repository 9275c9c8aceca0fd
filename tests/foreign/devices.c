/* SPDX-License-Identifier: Apache-2.0 */
/* DMLCreateDevice over other runtimes' devices, bindings of their resources, and what is refused. */
#include "foreign_test.h"

#include <anydml.h>
#include <anydml_vulkan.h>

enum { COUNT = 100, BYTES = COUNT * 4 };

/* ---- devices ---- */

static HRESULT create_dml(const struct standin_options *options)
{
    ID3D12Device *device = foreign_device(options);
    IDMLDevice *dml = NULL;
    HRESULT hr = DMLCreateDevice(device, DML_CREATE_DEVICE_FLAG_NONE, &IID_IDMLDevice, (void **)&dml);
    if (dml)
        api_release(dml);
    ok(!api_release(device), "the device is still referenced");
    return hr;
}

static void expect_refusal(const struct standin_options *options, const char *word)
{
    capture_begin();
    HRESULT hr = create_dml(options);
    const char *text = capture_text();
    ok(hr == DXGI_ERROR_UNSUPPORTED && strstr(text, word), "0x%08x, want \"%s\": %s", (unsigned)hr, word, text);
}

static void test_devices(void)
{
    ok_hr(create_dml(&(struct standin_options){ .interop = 2 }), S_OK);
    ok_hr(create_dml(&(struct standin_options){ .interop = 1 }), S_OK);
    capture_begin();
    ok_hr(create_dml(&(struct standin_options){ .interop = 2, .descriptor_heap = true }), S_OK);
    const char *said = capture_text();
    ok(strstr(said, "VK_EXT_descriptor_heap"), "no warning of descriptor heaps: %s", said);
    expect_refusal(&(struct standin_options){ .interop = UINT32_MAX }, "vkd3d-proton");
    expect_refusal(&(struct standin_options){ .interop = 0 }, "2.14");
    expect_refusal(&(struct standin_options){ .interop = 2, .no_uniform_layout = true }, "uniformBufferStandardLayout");
    expect_refusal(&(struct standin_options){ .interop = 2, .no_vulkan = true }, "Vulkan device");
    ID3D12Device *removed = foreign_device(&(struct standin_options){ .interop = 2 });
    IDMLDevice *dml = NULL;
    standin_remove(removed, DXGI_ERROR_DEVICE_HUNG);
    ok_hr(DMLCreateDevice(removed, DML_CREATE_DEVICE_FLAG_NONE, &IID_IDMLDevice, (void **)&dml),
          DXGI_ERROR_DEVICE_REMOVED);
    ok(!api_release(removed), "the device is still referenced");
}

/* Two DirectML devices over one, and the pointer that the application gave. */
static void test_parent(void)
{
    struct rig rig = foreign_rig(D3D12_COMMAND_LIST_TYPE_COMPUTE);
    IDMLDevice *second = NULL;
    ID3D12Device *parent = NULL;
    const uint32_t queues = standin_counts(rig.d3d).queues;
    ok_hr(DMLCreateDevice(rig.d3d, DML_CREATE_DEVICE_FLAG_NONE, &IID_IDMLDevice, (void **)&second), S_OK);
    need(second);
    ok(standin_counts(rig.d3d).queues == queues, "the second device does not share the first one's queue");
    ok_hr(IDMLDevice_GetParentDevice(second, &IID_ID3D12Device, (void **)&parent), S_OK);
    ok(parent == rig.d3d, "another parent");
    api_release(parent);
    api_release(second);
    foreign_rig_destroy(&rig);
}

static void test_removal(void)
{
    struct rig rig = foreign_rig(D3D12_COMMAND_LIST_TYPE_COMPUTE);
    IDMLOperator *op = NULL;
    ok_hr(dml_reason(&rig), S_OK);
    standin_remove(rig.d3d, DXGI_ERROR_DEVICE_HUNG);
    ok_hr(dml_reason(&rig), DXGI_ERROR_DEVICE_HUNG);
    ok_hr(IDMLDevice1_CreateOperator(rig.dml, NULL, &IID_IDMLOperator, (void **)&op), DXGI_ERROR_DEVICE_REMOVED);
    foreign_rig_destroy(&rig);
}

/* ---- capabilities ---- */

enum { PLAN = 8192 };

static void STDMETHODCALLTYPE keep_plan(void *context, const struct anydml_trace_event *event)
{
    if (!strcmp(event->Category, "plan"))
        snprintf(context, PLAN, "%s", event->Text);
}

/* The plan of a product of quantised matrices, which names its kernels. */
static void plan_of(IDMLDevice1 *dml, char *plan)
{
    struct tensor a, b, out;
    DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC product = {
        .ATensor = tensor_f32(&a, 1, 1, 64, 64, DML_TENSOR_FLAG_NONE),
        .BTensor = tensor_f32(&b, 1, 1, 64, 64, DML_TENSOR_FLAG_NONE),
        .OutputTensor = tensor_f32(&out, 1, 1, 64, 64, DML_TENSOR_FLAG_NONE),
    };
    const struct anydml_trace trace = { .Event = keep_plan, .Context = plan };
    a.buffer.DataType = b.buffer.DataType = DML_TENSOR_DATA_TYPE_INT8;
    a.buffer.TotalTensorSizeInBytes = b.buffer.TotalTensorSizeInBytes = 64 * 64;
    out.buffer.DataType = DML_TENSOR_DATA_TYPE_INT32;
    *plan = 0;
    ok_hr(AnydmlSetTrace((IDMLDevice *)dml, &trace), S_OK);
    api_release(
        compile(dml, make_operator(dml, DML_OPERATOR_MATRIX_MULTIPLY_INTEGER, &product), DML_EXECUTION_FLAG_NONE));
    ok_hr(AnydmlSetTrace((IDMLDevice *)dml, NULL), S_OK);
}

/* What the chain enables is used: the same kernels as on a device of libd3d12. */
static void test_capabilities(void)
{
    static char plan[PLAN], want[PLAN];
    struct rig rig = foreign_rig(D3D12_COMMAND_LIST_TYPE_DIRECT);
    ID3D12Device *ours = api_device();
    IDMLDevice1 *dml = rig_dml_device(ours, DML_CREATE_DEVICE_FLAG_NONE);
    DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT query = { 0 };
    plan_of(dml, want);
    plan_of(rig.dml, plan);
    ok(*plan && !strcmp(plan, want), "%s instead of %s", plan, want);
    for (int type = 1; type <= DML_TENSOR_DATA_TYPE_INT4; type++) {
        DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT a = { 0 }, b = { 0 };
        query.DataType = (DML_TENSOR_DATA_TYPE)type;
        ok_hr(IDMLDevice1_CheckFeatureSupport(rig.dml, DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT, sizeof(query), &query,
                                              sizeof(a), &a),
              S_OK);
        ok_hr(IDMLDevice1_CheckFeatureSupport(dml, DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT, sizeof(query), &query,
                                              sizeof(b), &b),
              S_OK);
        ok(a.IsSupported == b.IsSupported, "type %d: %d, want %d", type, a.IsSupported, b.IsSupported);
    }
    api_release(dml);
    api_release(ours);
    foreign_rig_destroy(&rig);
}

/* ---- bindings ---- */

static ID3D12Resource *placed(struct rig *rig, ID3D12Heap *heap, UINT64 offset, UINT64 bytes)
{
    const D3D12_RESOURCE_DESC desc = api_buffer_desc(bytes, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    ID3D12Resource *out = NULL;
    ok_hr(ID3D12Device_CreatePlacedResource(rig->d3d, heap, offset, &desc, D3D12_RESOURCE_STATE_COMMON, NULL,
                                            &IID_ID3D12Resource, (void **)&out),
          S_OK);
    need(out);
    return out;
}

static ID3D12Resource *reserved(struct rig *rig, UINT64 bytes)
{
    const D3D12_RESOURCE_DESC desc = api_buffer_desc(bytes, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    ID3D12Resource *out = NULL;
    ok_hr(ID3D12Device_CreateReservedResource(rig->d3d, &desc, D3D12_RESOURCE_STATE_COMMON, NULL, &IID_ID3D12Resource,
                                              (void **)&out),
          S_OK);
    need(out);
    return out;
}

/* Placed, reserved and committed resources, with offsets. */
static void test_resources(D3D12_COMMAND_LIST_TYPE type)
{
    struct rig rig = foreign_rig(type);
    D3D12_HEAP_DESC desc = { .SizeInBytes = 1 << 20, .Properties = { .Type = D3D12_HEAP_TYPE_DEFAULT } };
    ID3D12Heap *heap = NULL;
    float numbers[COUNT + 64];
    ok_hr(ID3D12Device_CreateHeap(rig.d3d, &desc, &IID_ID3D12Heap, (void **)&heap), S_OK);
    ID3D12Resource *a = placed(&rig, heap, 65536, BYTES + 256), *b = reserved(&rig, 65536),
                   *out = api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, BYTES);
    for (int i = 0; i < COUNT + 64; i++)
        numbers[i] = (float)i;
    api_write(&rig.q, a, 0, numbers, sizeof(numbers));
    api_write(&rig.q, b, 0, numbers, sizeof(numbers));
    rig_set_heap(&rig);
    IDMLCompiledOperator *op = compile(rig.dml, add_operator(rig.dml, COUNT), DML_EXECUTION_FLAG_NONE);
    IDMLBindingTable *table = table_at(&rig, op, 3);
    bind_inputs(table, 2, (struct bound[]){ { a, 128, BYTES }, { b, 16, BYTES } });
    bind_outputs(table, 1, (struct bound[]){ { out, 0, BYTES } });
    record(&rig, op, table);
    rig_run(&rig);
    foreign_expect(&rig, out, COUNT, 32 + 4, 2);
    ok_hr(dml_reason(&rig), S_OK);
    api_release(table);
    api_release(op);
    api_release(a);
    api_release(b);
    api_release(out);
    api_release(heap);
    foreign_rig_destroy(&rig);
}

/* The device is removed by this binding. */
static void expect_bad_binding(struct rig *rig, ID3D12Resource *resource, UINT64 offset, UINT64 bytes, const char *what)
{
    IDMLDevice1 *dml = rig->dml;
    rig->dml = rig_dml_device(rig->d3d, DML_CREATE_DEVICE_FLAG_DEBUG);
    IDMLCompiledOperator *op = compile(rig->dml, add_operator(rig->dml, COUNT), DML_EXECUTION_FLAG_NONE);
    IDMLBindingTable *table = table_at(rig, op, 0);
    bind_outputs(table, 1, &(struct bound){ resource, offset, bytes });
    ok(dml_reason(rig) == E_INVALIDARG, "%s: 0x%08x", what, (unsigned)dml_reason(rig));
    api_release(table);
    api_release(op);
    api_release(rig->dml);
    rig->dml = dml;
}

static void test_bad_bindings(void)
{
    struct rig rig = foreign_rig(D3D12_COMMAND_LIST_TYPE_DIRECT);
    ID3D12Device *other = foreign_device(&(struct standin_options){ .interop = 2 });
    const D3D12_HEAP_PROPERTIES heap = { .Type = D3D12_HEAP_TYPE_DEFAULT };
    const D3D12_RESOURCE_DESC desc = { .Dimension = D3D12_RESOURCE_DIMENSION_TEXTURE2D,
                                       .Width = 64,
                                       .Height = 64,
                                       .DepthOrArraySize = 1,
                                       .MipLevels = 1,
                                       .Format = DXGI_FORMAT_R8G8B8A8_UNORM,
                                       .SampleDesc.Count = 1 };
    ID3D12Resource *texture = NULL, *theirs = api_buffer(other, D3D12_HEAP_TYPE_DEFAULT, BYTES),
                   *readback = api_buffer(rig.d3d, D3D12_HEAP_TYPE_READBACK, BYTES),
                   *upload = api_buffer(rig.d3d, D3D12_HEAP_TYPE_UPLOAD, BYTES),
                   *good = api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, BYTES + 256);
    ok_hr(ID3D12Device_CreateCommittedResource(rig.d3d, &heap, D3D12_HEAP_FLAG_NONE, &desc, D3D12_RESOURCE_STATE_COMMON,
                                               NULL, &IID_ID3D12Resource, (void **)&texture),
          S_OK);
    expect_bad_binding(&rig, texture, 0, BYTES, "a texture");
    expect_bad_binding(&rig, theirs, 0, BYTES, "of another device");
    expect_bad_binding(&rig, (ID3D12Resource *)rig.heap, 0, BYTES, "a descriptor heap");
    expect_bad_binding(&rig, readback, 0, BYTES, "READBACK");
    expect_bad_binding(&rig, upload, 0, BYTES, "UPLOAD");
    expect_bad_binding(&rig, good, 4, BYTES, "an odd offset");
    expect_bad_binding(&rig, good, 0, BYTES - 2, "an odd size");
    expect_bad_binding(&rig, good, 256, BYTES + 16, "beyond the end");
    ok_hr(dml_reason(&rig), S_OK);
    api_release(texture);
    api_release(readback);
    api_release(upload);
    api_release(good);
    api_release(theirs);
    ok(!api_release(other), "the other device is still referenced");
    foreign_rig_destroy(&rig);
}

/* Tables need handles; nothing more is known of them. */
static void test_handles(void)
{
    struct rig rig = foreign_rig(D3D12_COMMAND_LIST_TYPE_DIRECT);
    IDMLCompiledOperator *op = compile(rig.dml, add_operator(rig.dml, COUNT), DML_EXECUTION_FLAG_NONE);
    DML_BINDING_TABLE_DESC desc = { (IDMLDispatchable *)op, { 0 }, rig_gpu(&rig, 0), 3 };
    IDMLBindingTable *table = NULL;
    ok_hr(IDMLDevice1_CreateBindingTable(rig.dml, &desc, &IID_IDMLBindingTable, (void **)&table), E_INVALIDARG);
    desc.CPUDescriptorHandle = rig_cpu(&rig, 0);
    desc.GPUDescriptorHandle.ptr = 0;
    ok_hr(IDMLDevice1_CreateBindingTable(rig.dml, &desc, &IID_IDMLBindingTable, (void **)&table), E_INVALIDARG);
    desc.GPUDescriptorHandle = rig_gpu(&rig, 0);
    desc.SizeInDescriptors = 2;
    ok_hr(IDMLDevice1_CreateBindingTable(rig.dml, &desc, &IID_IDMLBindingTable, (void **)&table), E_INVALIDARG);
    ok(!table, "a table");
    api_release(op);
    foreign_rig_destroy(&rig);
}

/* ---- lists ---- */

static void expect_bad_list(struct rig *rig, ID3D12CommandList *list, ID3D12Resource *buffer, const char *what)
{
    IDMLDevice1 *dml = rig->dml;
    IDMLCommandRecorder *recorder = NULL;
    rig->dml = rig_dml_device(rig->d3d, DML_CREATE_DEVICE_FLAG_DEBUG);
    ok_hr(IDMLDevice1_CreateCommandRecorder(rig->dml, &IID_IDMLCommandRecorder, (void **)&recorder), S_OK);
    IDMLCompiledOperator *op = compile(rig->dml, identity_operator(rig->dml, COUNT), DML_EXECUTION_FLAG_NONE);
    IDMLBindingTable *table = table_at(rig, op, 0);
    bind_inputs(table, 1, &(struct bound){ buffer, 0, BYTES });
    bind_outputs(table, 1, &(struct bound){ buffer, 0, BYTES });
    const uint32_t begins = standin_counts(rig->d3d).begins;
    IDMLCommandRecorder_RecordDispatch(recorder, list, (IDMLDispatchable *)op, table);
    ok(dml_reason(rig) == E_INVALIDARG, "%s: 0x%08x", what, (unsigned)dml_reason(rig));
    ok(standin_counts(rig->d3d).begins == begins, "%s: the list was asked for commands", what);
    api_release(table);
    api_release(op);
    api_release(recorder);
    api_release(rig->dml);
    rig->dml = dml;
}

static void test_bad_lists(void)
{
    struct rig rig = foreign_rig(D3D12_COMMAND_LIST_TYPE_DIRECT);
    ID3D12Resource *buffer = api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, BYTES);
    ID3D12Device *other = foreign_device(&(struct standin_options){ .interop = 2 }), *ours = api_device();
    struct api_queue theirs = api_queue_of(other, D3D12_COMMAND_LIST_TYPE_DIRECT),
                     own = api_queue_of(ours, D3D12_COMMAND_LIST_TYPE_COMPUTE),
                     bundle = api_queue_of(rig.d3d, D3D12_COMMAND_LIST_TYPE_BUNDLE),
                     copy = api_queue_of(rig.d3d, D3D12_COMMAND_LIST_TYPE_COPY);
    expect_bad_list(&rig, (ID3D12CommandList *)theirs.list, buffer, "a list of another device");
    expect_bad_list(&rig, (ID3D12CommandList *)own.list, buffer, "a list of another runtime");
    expect_bad_list(&rig, (ID3D12CommandList *)bundle.list, buffer, "a bundle");
    expect_bad_list(&rig, (ID3D12CommandList *)copy.list, buffer, "a COPY list");
    expect_bad_list(&rig, NULL, buffer, "NULL");
    standin_set_begin_fails(rig.d3d, true);
    expect_bad_list(&rig, (ID3D12CommandList *)rig.q.list, buffer, "Begin fails");
    api_queue_destroy(&theirs);
    api_queue_destroy(&own);
    api_queue_destroy(&bundle);
    api_queue_destroy(&copy);
    api_release(buffer);
    api_release(ours);
    ok(!api_release(other), "the other device is still referenced");
    foreign_rig_destroy(&rig);
}

/* Functions of AnyDML that need its own queues, or a command buffer without a list. */
static void test_own_functions(void)
{
    struct rig rig = foreign_rig(D3D12_COMMAND_LIST_TYPE_DIRECT);
    ID3D12Resource *buffer = api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, BYTES);
    IDMLCompiledOperator *op = compile(rig.dml, identity_operator(rig.dml, COUNT), DML_EXECUTION_FLAG_NONE);
    IDMLBindingTable *table = table_at(&rig, op, 0);
    const D3D12_GPU_VIRTUAL_ADDRESS address = ID3D12Resource_GetGPUVirtualAddress(buffer);
    bind_inputs(table, 1, &(struct bound){ buffer, 0, BYTES });
    bind_outputs(table, 1, &(struct bound){ buffer, 0, BYTES });
    ok_hr(AnydmlRunOperator(rig.q.queue, op, 1, &address, 1, &address), DXGI_ERROR_UNSUPPORTED);
    ok_hr(AnydmlVulkanRecordDispatch(rig.recorder, (VkCommandBuffer)(void *)buffer, (IDMLDispatchable *)op, table),
          DXGI_ERROR_UNSUPPORTED);
    ok_hr(dml_reason(&rig), S_OK);
    api_release(table);
    api_release(op);
    api_release(buffer);
    foreign_rig_destroy(&rig);
}

/* A resource that is released, and another one at its pointer or address. */
static void test_resource_again(void)
{
    struct rig rig = foreign_rig(D3D12_COMMAND_LIST_TYPE_DIRECT);
    IDMLCompiledOperator *op = compile(rig.dml, identity_operator(rig.dml, COUNT), DML_EXECUTION_FLAG_NONE);
    IDMLBindingTable *table = table_at(&rig, op, 0);
    ID3D12Resource *out = api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, BYTES);
    for (int round = 0; round < 20; round++) {
        ID3D12Resource *in = buffer_f32(&rig, COUNT, (float)round, 1);
        bind_inputs(table, 1, &(struct bound){ in, 0, BYTES });
        bind_outputs(table, 1, &(struct bound){ out, 0, BYTES });
        record(&rig, op, table);
        rig_run(&rig);
        foreign_expect(&rig, out, COUNT, (float)round, 1);
        ok(!api_release(in), "the input is still referenced");
    }
    ok_hr(dml_reason(&rig), S_OK);
    /* The last one does not exist any more. */
    record(&rig, op, table);
    ok_hr(dml_reason(&rig), E_INVALIDARG);
    api_release(table);
    api_release(op);
    api_release(out);
    foreign_rig_destroy(&rig);
}

int main(void)
{
    api_begin();
    setenv("ANYDML_LOG", "warn", 1);
    test_devices();
    test_parent();
    test_removal();
    test_capabilities();
    test_resources(D3D12_COMMAND_LIST_TYPE_DIRECT);
    test_resources(D3D12_COMMAND_LIST_TYPE_COMPUTE);
    test_bad_bindings();
    test_handles();
    test_bad_lists();
    test_own_functions();
    test_resource_again();
    return api_end();
}
