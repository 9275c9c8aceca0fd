/* SPDX-License-Identifier: Apache-2.0 */
/* AnydmlVulkanRecordDispatch: operators and initializers in command buffers of the application, which only the
 * application submits. */
#include "vulkan_test.h"

#include <anydml.h>

enum { SIDE = 12, COUNT = SIDE * SIDE, BYTES = COUNT * 4 };

struct fixture {
    struct app app;
    struct rig rig;
    struct app_buffer buffers[3];
    ID3D12Resource *resources[3];
};

static void fixture_open(struct fixture *f)
{
    app_find(&f->app);
    app_open(&f->app);
    f->rig = rig_of(app_d3d(&f->app), DML_CREATE_DEVICE_FLAG_NONE);
    for (int i = 0; i < 3; i++) {
        f->buffers[i] = app_buffer(&f->app, BYTES);
        const struct anydml_vulkan_buffer range = { f->buffers[i].buffer, 0, BYTES, 0 };
        ok_hr(AnydmlVulkanOpenBuffer(f->rig.d3d, &range, &IID_ID3D12Resource, (void **)&f->resources[i]), S_OK);
        need(f->resources[i]);
        for (int k = 0; k < COUNT; k++)
            f->buffers[i].data[k] = (float)((k * 13 + i * 5) % 31) / 4 - 3;
    }
}

static void fixture_close(struct fixture *f)
{
    ok_hr(ID3D12Device_GetDeviceRemovedReason(f->rig.d3d), S_OK);
    for (int i = 0; i < 3; i++)
        api_release(f->resources[i]);
    rig_destroy(&f->rig);
    for (int i = 0; i < 3; i++)
        app_buffer_free(&f->app, &f->buffers[i]);
    app_close(&f->app);
}

static HRESULT record_into(struct fixture *f, VkCommandBuffer commands, void *dispatchable, IDMLBindingTable *table)
{
    return AnydmlVulkanRecordDispatch(f->rig.recorder, commands, (IDMLDispatchable *)dispatchable, table);
}

/* As in the header: earlier writes are visible to the dispatch, or its writes afterwards. */
static void barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags writes, VkPipelineStageFlags to,
                    VkAccessFlags uses)
{
    VkMemoryBarrier memory = { .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = writes,
                               .dstAccessMask = uses };
    vkCmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, NULL, 0, NULL);
}

#define BETWEEN(commands)                                                                                              \
    barrier(commands, ANYDML_VULKAN_STAGES, ANYDML_VULKAN_WRITES, ANYDML_VULKAN_STAGES,                                \
            ANYDML_VULKAN_READS | ANYDML_VULKAN_WRITES)

static IDMLBindingTable *add_table(struct fixture *f, IDMLCompiledOperator *op, int a, int b, int out, UINT descriptor)
{
    IDMLBindingTable *table = table_at(&f->rig, op, descriptor);
    bind_inputs(table, 2, (struct bound[]){ { f->resources[a], 0, BYTES }, { f->resources[b], 0, BYTES } });
    bind_outputs(table, 1, (struct bound[]){ { f->resources[out], 0, BYTES } });
    return table;
}

/* The application fills one input, the dispatch adds, the application copies; executed twice. */
static void test_add(DML_EXECUTION_FLAGS flags)
{
    struct fixture f;
    fixture_open(&f);
    const uint32_t locked = f.app.locked;
    struct app_buffer copy = app_buffer(&f.app, BYTES);
    IDMLCompiledOperator *op = compile(f.rig.dml, add_operator(f.rig.dml, COUNT), flags);
    IDMLBindingTable *table = add_table(&f, op, 0, 1, 2, 7);
    const uint32_t compiled = f.app.locked;
    VkCommandBuffer commands = app_begin(&f.app);
    vkCmdFillBuffer(commands, f.buffers[1].buffer, 0, BYTES, 0x40200000); /* 2.5f */
    barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT, ANYDML_VULKAN_STAGES,
            ANYDML_VULKAN_READS | ANYDML_VULKAN_WRITES);
    ok_hr(record_into(&f, commands, op, table), S_OK);
    barrier(commands, ANYDML_VULKAN_STAGES, ANYDML_VULKAN_WRITES, VK_PIPELINE_STAGE_TRANSFER_BIT,
            VK_ACCESS_TRANSFER_READ_BIT);
    vkCmdCopyBuffer(commands, f.buffers[2].buffer, copy.buffer, 1, &(VkBufferCopy){ 0, 0, BYTES });
    app_barrier(commands);
    vk_ok(vkEndCommandBuffer(commands));
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < COUNT; i++)
            f.buffers[0].data[i] = (float)(i + 100 * round);
        memset(copy.data, 0xff, BYTES);
        app_submit(&f.app, commands);
        vk_ok(vkQueueWaitIdle(f.app.queue));
        for (int i = 0; i < COUNT; i++)
            ok(copy.data[i] == (float)(i + 100 * round) + 2.5f, "round %d, element %d is %g", round, i,
               (double)copy.data[i]);
    }
    ok(compiled >= locked && f.app.locked == compiled, "AnyDML submitted by itself");
    vkFreeCommandBuffers(f.app.device, f.app.pool, 1, &commands);
    api_release(table);
    api_release(op);
    app_buffer_free(&f.app, &copy);
    fixture_close(&f);
}

static void check_product(const float *a, const float *b, const float *got)
{
    int wrong = 0;
    for (int i = 0; i < COUNT; i++) {
        double sum = 0;
        for (int k = 0; k < SIDE; k++)
            sum += (double)a[i / SIDE * SIDE + k] * (double)b[k * SIDE + i % SIDE];
        wrong += !((double)got[i] > sum - 1e-4 && (double)got[i] < sum + 1e-4);
    }
    ok(!wrong, "%d elements of the product are wrong", wrong);
}

/* An initializer and its operator, with owned weights, temporary and persistent resources. */
static void test_initializer(void)
{
    struct fixture f;
    fixture_open(&f);
    IDMLCompiledOperator *op = compile(
        f.rig.dml, gemm_operator(f.rig.dml, SIDE, SIDE, SIDE, DML_TENSOR_FLAG_OWNED_BY_DML), DML_EXECUTION_FLAG_NONE);
    IDMLOperatorInitializer *initializer = make_initializer(f.rig.dml, 1, &op);
    DML_BINDING_PROPERTIES need_op = properties(op), need_init = properties(initializer);
    ID3D12Resource *temporary = api_buffer(f.rig.d3d, D3D12_HEAP_TYPE_DEFAULT, need_op.TemporaryResourceSize + 256);
    ID3D12Resource *scratch = api_buffer(f.rig.d3d, D3D12_HEAP_TYPE_DEFAULT, need_init.TemporaryResourceSize + 256);
    ID3D12Resource *persistent = api_buffer(f.rig.d3d, D3D12_HEAP_TYPE_DEFAULT, need_op.PersistentResourceSize + 256);
    IDMLBindingTable *first = table_at(&f.rig, initializer, 0), *second = table_at(&f.rig, op, 32);
    ok(need_op.PersistentResourceSize, "nothing is kept");
    bind_owned(first, 3, (struct bound[]){ { 0 }, { f.resources[1], 0, BYTES }, { 0 } });
    bind_outputs(first, 1, (struct bound[]){ { persistent, 0, need_op.PersistentResourceSize } });
    if (need_init.TemporaryResourceSize)
        bind_temporary(first, scratch, 0, need_init.TemporaryResourceSize);
    bind_inputs(second, 3, (struct bound[]){ { f.resources[0], 0, BYTES }, { 0 }, { 0 } });
    bind_outputs(second, 1, (struct bound[]){ { f.resources[2], 0, BYTES } });
    bind_persistent(second, persistent, 0, need_op.PersistentResourceSize);
    if (need_op.TemporaryResourceSize)
        bind_temporary(second, temporary, 0, need_op.TemporaryResourceSize);
    VkCommandBuffer commands = app_begin(&f.app);
    ok_refusal(record_into(&f, commands, op, second), E_INVALIDARG, "AnydmlVulkanRecordDispatch", "dispatchable",
               "before its initialisation");
    ok_hr(record_into(&f, commands, initializer, first), S_OK);
    BETWEEN(commands);
    ok_hr(record_into(&f, commands, op, second), S_OK);
    app_run(&f.app, commands);
    check_product(f.buffers[0].data, f.buffers[1].data, f.buffers[2].data);
    api_release(first);
    api_release(second);
    api_release(initializer);
    api_release(op);
    api_release(temporary);
    api_release(scratch);
    api_release(persistent);
    fixture_close(&f);
}

/* Over its own input, so that the input is copied first: that memory must live as long as the commands. */
static void test_in_place(void)
{
    struct fixture f;
    float a[COUNT], b[COUNT];
    fixture_open(&f);
    IDMLCompiledOperator *op =
        compile(f.rig.dml, gemm_operator(f.rig.dml, SIDE, SIDE, SIDE, DML_TENSOR_FLAG_NONE), DML_EXECUTION_FLAG_NONE);
    DML_BINDING_PROPERTIES needs = properties(op);
    ID3D12Resource *temporary = api_buffer(f.rig.d3d, D3D12_HEAP_TYPE_DEFAULT, needs.TemporaryResourceSize + 256);
    IDMLBindingTable *table = table_at(&f.rig, op, 0);
    bind_inputs(table, 3, (struct bound[]){ { f.resources[0], 0, BYTES }, { f.resources[1], 0, BYTES }, { 0 } });
    bind_outputs(table, 1, (struct bound[]){ { f.resources[0], 0, BYTES } });
    if (needs.TemporaryResourceSize)
        bind_temporary(table, temporary, 0, needs.TemporaryResourceSize);
    memcpy(a, f.buffers[0].data, BYTES);
    memcpy(b, f.buffers[1].data, BYTES);
    VkCommandBuffer commands = app_begin(&f.app);
    ok_hr(record_into(&f, commands, op, table), S_OK);
    app_run(&f.app, commands);
    check_product(a, b, f.buffers[0].data);
    api_release(table);
    api_release(op);
    api_release(temporary);
    fixture_close(&f);
}

/* Bindings are read when they are recorded: one table for several dispatches, in one command buffer. */
static void test_rebinding(void)
{
    struct fixture f;
    float want[COUNT];
    fixture_open(&f);
    IDMLCompiledOperator *op = compile(f.rig.dml, add_operator(f.rig.dml, COUNT), DML_EXECUTION_FLAG_NONE);
    IDMLBindingTable *table = add_table(&f, op, 0, 1, 2, 0);
    for (int i = 0; i < COUNT; i++) {
        const float a = f.buffers[0].data[i], b = f.buffers[1].data[i];
        want[i] = (a + b) + (a + b) + (a + b);
    }
    VkCommandBuffer commands = app_begin(&f.app);
    ok_hr(record_into(&f, commands, op, table), S_OK); /* 2 = 0 + 1 */
    BETWEEN(commands);
    bind_inputs(table, 2, (struct bound[]){ { f.resources[2], 0, BYTES }, { f.resources[2], 0, BYTES } });
    bind_outputs(table, 1, (struct bound[]){ { f.resources[0], 0, BYTES } });
    ok_hr(record_into(&f, commands, op, table), S_OK); /* 0 = 2 + 2 */
    BETWEEN(commands);
    bind_inputs(table, 2, (struct bound[]){ { f.resources[0], 0, BYTES }, { f.resources[2], 0, BYTES } });
    bind_outputs(table, 1, (struct bound[]){ { f.resources[1], 0, BYTES } });
    ok_hr(record_into(&f, commands, op, table), S_OK); /* 1 = 0 + 2 */
    app_run(&f.app, commands);
    for (int i = 0; i < COUNT; i++)
        ok(f.buffers[1].data[i] == want[i], "element %d is %g", i, (double)f.buffers[1].data[i]);
    api_release(table);
    api_release(op);
    fixture_close(&f);
}

/* A program that records each frame again does not grow. */
static void test_growth(void)
{
    struct fixture f;
    size_t before = 0, least = SIZE_MAX; /* drivers' tables double now and then; a leak grows in every part */
    fixture_open(&f);
    IDMLCompiledOperator *op = compile(f.rig.dml, add_operator(f.rig.dml, COUNT), DML_EXECUTION_FLAG_NONE);
    IDMLBindingTable *table = add_table(&f, op, 0, 1, 2, 0);
    VkCommandBuffer commands = app_begin(&f.app);
    VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
    for (int i = 0; i <= 3000; i++) {
        vk_ok(vkResetCommandBuffer(commands, 0));
        vk_ok(vkBeginCommandBuffer(commands, &begin));
        ok_hr(record_into(&f, commands, op, table), S_OK);
        vk_ok(vkEndCommandBuffer(commands));
        if (i % 1000)
            continue;
        const size_t now = api_allocated_bytes(), grown = now > before ? now - before : 0;
        least = i && grown < least ? grown : least;
        before = now;
    }
    ok(least < 16384, "each 1000 recordings took %zu bytes or more", least);
    vkFreeCommandBuffers(f.app.device, f.app.pool, 1, &commands);
    api_release(table);
    api_release(op);
    fixture_close(&f);
}

static void test_refusals(void)
{
    struct fixture f;
    fixture_open(&f);
    IDMLCompiledOperator *op = compile(f.rig.dml, add_operator(f.rig.dml, COUNT), DML_EXECUTION_FLAG_NONE);
    IDMLCompiledOperator *other = compile(f.rig.dml, identity_operator(f.rig.dml, COUNT), DML_EXECUTION_FLAG_NONE);
    IDMLBindingTable *table = add_table(&f, op, 0, 1, 2, 0);
    VkCommandBuffer commands = app_begin(&f.app);
    const char *name = "AnydmlVulkanRecordDispatch";
    ok_refusal(AnydmlVulkanRecordDispatch(NULL, commands, (IDMLDispatchable *)op, table), E_INVALIDARG, name,
               "recorder", "NULL");
    ok_refusal(record_into(&f, VK_NULL_HANDLE, op, table), E_INVALIDARG, name, "commands", "NULL");
    ok_refusal(record_into(&f, commands, NULL, table), E_INVALIDARG, name, "dispatchable", "NULL");
    ok_refusal(record_into(&f, commands, table, table), E_INVALIDARG, name, "dispatchable", "not created");
    ok_refusal(record_into(&f, commands, op, NULL), E_INVALIDARG, name, "bindings", "NULL");
    ok_refusal(record_into(&f, commands, other, table), E_INVALIDARG, name, "table", "another dispatchable");
    bind_outputs(table, 1, (struct bound[]){ { NULL, 0, 0 } });
    ok_refusal(record_into(&f, commands, op, table), E_INVALIDARG, name, "output 0", "ADD");
    ID3D12Resource *gone = api_buffer(f.rig.d3d, D3D12_HEAP_TYPE_DEFAULT, BYTES);
    bind_outputs(table, 1, (struct bound[]){ { gone, 0, BYTES } });
    api_release(gone);
    ok_refusal(record_into(&f, commands, op, table), E_INVALIDARG, name, "descriptor 2", "released");
    ok_hr(IDMLBindingTable_Reset(table, NULL), S_OK);
    ok_refusal(record_into(&f, commands, op, table), E_INVALIDARG, name, "table", "empty");
    api_release(table);
    ok_hr(ID3D12Device_GetDeviceRemovedReason(f.rig.d3d), S_OK); /* after all of these */
    table = add_table(&f, op, 0, 1, 2, 0);
    ok_hr(record_into(&f, commands, op, table), S_OK);
    app_run(&f.app, commands);
    ok(f.buffers[2].data[5] == f.buffers[0].data[5] + f.buffers[1].data[5], "it works afterwards");
    api_release(table);
    api_release(op);
    api_release(other);
    fixture_close(&f);
}

/* Command buffers belong to the application's device: a device of the list has none. */
static void test_other_device(void)
{
    struct app app;
    app_find(&app);
    app_open(&app);
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op = compile(rig.dml, identity_operator(rig.dml, COUNT), DML_EXECUTION_FLAG_NONE);
    IDMLBindingTable *table = table_at(&rig, op, 0);
    ID3D12Resource *buffer = api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, 2 * BYTES);
    bind_inputs(table, 1, (struct bound[]){ { buffer, 0, BYTES } });
    bind_outputs(table, 1, (struct bound[]){ { buffer, BYTES, BYTES } });
    VkCommandBuffer commands = app_begin(&app);
    ok_refusal(AnydmlVulkanRecordDispatch(rig.recorder, commands, (IDMLDispatchable *)op, table),
               DXGI_ERROR_UNSUPPORTED, "AnydmlVulkanRecordDispatch", "device", "AnydmlVulkanCreateDevice");
    app_run(&app, commands);
    api_release(table);
    api_release(op);
    api_release(buffer);
    rig_destroy(&rig);
    app_close(&app);
}

int main(void)
{
    setenv("ANYDML_LOG", "error", 1);
    api_begin();
    test_add(DML_EXECUTION_FLAG_NONE);
    test_add(DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE);
    test_initializer();
    test_in_place();
    test_rebinding();
    test_growth();
    test_refusals();
    test_other_device();
    return api_end();
}
