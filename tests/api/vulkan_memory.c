/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers and memory of the application as resources, resources as its buffers, and memory of another process. */
#include "vulkan_test.h"

#include <anydml.h>
#include <fcntl.h>
#include <sys/socket.h>

enum { COUNT = 700, BYTES = COUNT * 4, PAD = 64 /* floats before and after a range */ };

/* to = from + from, on the queue of the Direct3D device. */
static void run_double(struct rig *rig, struct bound from, struct bound to)
{
    IDMLCompiledOperator *op = compile(rig->dml, add_operator(rig->dml, COUNT), DML_EXECUTION_FLAG_NONE);
    IDMLBindingTable *table = table_at(rig, op, 0);
    bind_inputs(table, 2, (struct bound[]){ from, from });
    bind_outputs(table, 1, &to);
    record(rig, op, table);
    rig_run(rig);
    ok_hr(ID3D12Device_GetDeviceRemovedReason(rig->d3d), S_OK);
    api_release(table);
    api_release(op);
}

static void fill(float *data, int seed)
{
    for (int i = 0; i < COUNT; i++)
        data[i] = (float)(i * 7 % 1000 + seed);
}

static ID3D12Resource *open_buffer(ID3D12Device *device, VkBuffer buffer, VkDeviceSize offset, VkDeviceSize size)
{
    const struct anydml_vulkan_buffer range = { buffer, offset, size, 0 };
    ID3D12Resource *resource = NULL;
    ok_hr(AnydmlVulkanOpenBuffer(device, &range, &IID_ID3D12Resource, (void **)&resource), S_OK);
    need(resource);
    return resource;
}

static void check_pads(const struct app_buffer *buffer, float value)
{
    for (int i = 0; i < PAD; i++)
        ok(buffer->data[i] == value && buffer->data[PAD + COUNT + i] == value, "bytes beside the range, %d", i);
}

/* The application's mapped buffers, in and out, as ranges. */
static void test_open_buffer(void)
{
    struct app app;
    app_find(&app);
    app_open(&app);
    struct rig rig = rig_of(app_d3d(&app), DML_CREATE_DEVICE_FLAG_NONE);
    struct app_buffer from = app_buffer(&app, BYTES + 2 * PAD * 4), to = app_buffer(&app, BYTES + 2 * PAD * 4);
    ID3D12Resource *in = open_buffer(rig.d3d, from.buffer, PAD * 4, BYTES);
    ID3D12Resource *out = open_buffer(rig.d3d, to.buffer, PAD * 4, BYTES);
    fill(from.data + PAD, 3);
    for (int i = 0; i < COUNT + 2 * PAD; i++)
        to.data[i] = -5;
    run_double(&rig, (struct bound){ in, 0, BYTES }, (struct bound){ out, 0, BYTES });
    for (int i = 0; i < COUNT; i++)
        ok(to.data[PAD + i] == 2 * from.data[PAD + i], "element %d is %g", i, (double)to.data[PAD + i]);
    check_pads(&to, -5);

    D3D12_RESOURCE_DESC desc = ID3D12Resource_GetDesc(out);
    struct anydml_vulkan_buffer back = { 0 };
    VkBufferDeviceAddressInfo where = { VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, NULL, to.buffer };
    ok(desc.Width == BYTES && desc.Flags == D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, "the description");
    ok_hr(AnydmlVulkanGetBuffer(out, &back), S_OK);
    ok(back.Buffer == to.buffer && back.Offset == PAD * 4 && back.Size == BYTES, "the range back");
    ok(back.Address == vkGetBufferDeviceAddress(app.device, &where) + PAD * 4 &&
           back.Address == ID3D12Resource_GetGPUVirtualAddress(out),
       "its address");
    ok_refusal(ID3D12Resource_Map(out, 0, NULL, NULL), E_INVALIDARG, "Map", "", "");
    api_release(in);
    api_release(out);
    rig_destroy(&rig);
    to.data[0] = 1; /* still mapped, still there */
    app_buffer_free(&app, &from);
    app_buffer_free(&app, &to);
    app_close(&app);
}

/* Resources of the runtime, committed and placed, as the application's buffers. */
static void test_get_buffer(void)
{
    struct app app;
    float data[COUNT];
    app_find(&app);
    app_open(&app);
    struct rig rig = rig_of(app_d3d(&app), DML_CREATE_DEVICE_FLAG_NONE);
    D3D12_HEAP_DESC heap_desc = { .SizeInBytes = 1 << 18, .Properties.Type = D3D12_HEAP_TYPE_DEFAULT };
    D3D12_RESOURCE_DESC desc = api_buffer_desc(BYTES, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    ID3D12Resource *resources[2] = { api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, BYTES), NULL };
    ID3D12Heap *heap = NULL;
    struct app_buffer seen = app_buffer(&app, BYTES);
    ok_hr(ID3D12Device_CreateHeap(rig.d3d, &heap_desc, &IID_ID3D12Heap, (void **)&heap), S_OK);
    ok_hr(ID3D12Device_CreatePlacedResource(rig.d3d, heap, 1 << 16, &desc, D3D12_RESOURCE_STATE_COMMON, NULL,
                                            &IID_ID3D12Resource, (void **)&resources[1]),
          S_OK);
    for (int i = 0; i < 2; i++) {
        struct anydml_vulkan_buffer got = { 0 };
        fill(data, i);
        api_write(&rig.q, resources[i], 0, data, BYTES);
        ok_hr(AnydmlVulkanGetBuffer(resources[i], &got), S_OK);
        ok(got.Size == BYTES && got.Address == ID3D12Resource_GetGPUVirtualAddress(resources[i]), "size, address");
        VkCommandBuffer commands = app_begin(&app);
        VkBufferCopy region = { got.Offset, 0, BYTES };
        vkCmdCopyBuffer(commands, got.Buffer, seen.buffer, 1, &region);
        app_run(&app, commands);
        ok(!memcmp(seen.data, data, BYTES), "the contents of resource %d", i);
    }
    ok_refusal(AnydmlVulkanGetBuffer(resources[0], NULL), E_INVALIDARG, "AnydmlVulkanGetBuffer", "out", "NULL");
    ok_refusal(AnydmlVulkanGetBuffer(NULL, &(struct anydml_vulkan_buffer){ 0 }), E_INVALIDARG, "AnydmlVulkanGetBuffer",
               "resource", "NULL");
    api_release(resources[0]);
    api_release(resources[1]);
    api_release(heap);
    rig_destroy(&rig);
    app_buffer_free(&app, &seen);
    app_close(&app);
}

/* A range of the application's VkDeviceMemory, under one of its own buffers. */
static void test_open_memory(void)
{
    struct app app;
    app_find(&app);
    app_open(&app);
    struct rig rig = rig_of(app_d3d(&app), DML_CREATE_DEVICE_FLAG_NONE);
    struct app_buffer whole = app_buffer(&app, 1 << 18);
    struct anydml_vulkan_memory range = { .Memory = whole.memory,
                                          .Fd = -1,
                                          .AllocationSize = whole.allocated,
                                          .MemoryType = whole.type,
                                          .Offset = 1 << 16,
                                          .Size = BYTES };
    ID3D12Resource *resource = NULL;
    float *data = whole.data + (1 << 14);
    ok_hr(AnydmlVulkanOpenMemory(rig.d3d, &range, &IID_ID3D12Resource, (void **)&resource), S_OK);
    need(resource);
    fill(data, 11);
    data[-1] = data[COUNT] = 99;
    run_double(&rig, (struct bound){ resource, 0, BYTES }, (struct bound){ resource, 0, BYTES });
    for (int i = 0; i < COUNT; i++)
        ok(data[i] == 2 * (float)(i * 7 % 1000 + 11), "element %d is %g", i, (double)data[i]);
    ok(data[-1] == 99 && data[COUNT] == 99, "bytes beside the range");
    api_release(resource);
    rig_destroy(&rig);
    app_buffer_free(&app, &whole);
    app_close(&app);
}

/* ---- memory of another process ---- */

static void send_memory(int socket, const struct anydml_vulkan_memory *memory)
{
    struct anydml_vulkan_memory copy = *memory;
    struct iovec data = { &copy, sizeof(copy) };
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
    };
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &memory->Fd, sizeof(int));
    need(sendmsg(socket, &message, 0) == sizeof(copy));
}

static struct anydml_vulkan_memory receive_memory(int socket)
{
    struct anydml_vulkan_memory memory;
    struct iovec data = { &memory, sizeof(memory) };
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
    };
    need(recvmsg(socket, &message, 0) == sizeof(memory) && CMSG_FIRSTHDR(&message));
    memcpy(&memory.Fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
    return memory;
}

/* The other process: a device of the list doubles the first one's data. */
static int other_process(int socket)
{
    char done = 1;
    struct anydml_vulkan_memory memory = receive_memory(socket);
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    ID3D12Resource *resource = NULL;
    ok_hr(AnydmlVulkanOpenMemory(rig.d3d, &memory, &IID_ID3D12Resource, (void **)&resource), S_OK);
    need(resource);
    ok(fcntl(memory.Fd, F_GETFD) < 0, "the descriptor is still open");
    run_double(&rig, (struct bound){ resource, 0, BYTES }, (struct bound){ resource, 0, BYTES });
    api_release(resource);
    rig_destroy(&rig);
    need(write(socket, &done, 1) == 1);
    return api_end();
}

static void share(struct rig *rig, int socket)
{
    float data[COUNT], got[COUNT];
    char done;
    struct anydml_vulkan_memory memory;
    ID3D12Resource *shared = NULL;
    ok_hr(AnydmlVulkanCreateSharedBuffer(rig->d3d, BYTES, &IID_ID3D12Resource, (void **)&shared), S_OK);
    need(shared);
    api_read(&rig->q, shared, 0, got, BYTES);
    for (int i = 0; i < COUNT; i++)
        ok(got[i] == 0, "not zeroed at %d", i);
    fill(data, 5);
    api_write(&rig->q, shared, 0, data, BYTES);
    ok_hr(AnydmlVulkanExportMemory(shared, &memory), S_OK);
    ok(memory.Fd >= 0 && !memory.Memory && memory.Size == BYTES, "what is exported");
    send_memory(socket, &memory);
    close(memory.Fd);
    need(read(socket, &done, 1) == 1);
    api_read(&rig->q, shared, 0, got, BYTES);
    for (int i = 0; i < COUNT; i++)
        ok(got[i] == 2 * data[i], "element %d of the other process is %g", i, (double)got[i]);
    api_release(shared);
}

/* Before anything else: Vulkan does not survive a fork. */
static void test_processes(void)
{
    struct app app;
    int ends[2], status = 1;
    need(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    pid_t child = fork();
    if (!child) {
        close(ends[0]);
        _exit(other_process(ends[1]));
    }
    close(ends[1]);
    app_find(&app);
    app_open(&app);
    struct rig rig = rig_of(app_d3d(&app), DML_CREATE_DEVICE_FLAG_NONE);
    share(&rig, ends[0]);
    close(ends[0]);
    need(waitpid(child, &status, 0) == child);
    ok(!status, "the other process ended with status 0x%x", (unsigned)status);
    rig_destroy(&rig);
    app_close(&app);
}

/* Before the above, in a process of its own. */
static bool can_share(void)
{
    pid_t child = fork();
    if (!child) {
        struct app app;
        app_find(&app);
        _exit(!app.has_fd);
    }
    int status = 1;
    need(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        exit(77);
    return !status;
}

/* ---- errors ---- */

#define REFUSED(what, field, value, function, a, b)                                                                    \
    do {                                                                                                               \
        __typeof__(what) bad_ = what;                                                                                  \
        bad_.field = (value);                                                                                          \
        ok_refusal(function(rig.d3d, &bad_, &IID_ID3D12Resource, (void **)&resource), E_INVALIDARG, #function, a, b);  \
        ok(!resource, "a resource");                                                                                   \
    } while (0)

static void test_refusals(void)
{
    struct app app;
    app_find(&app);
    app_open(&app);
    struct rig rig = rig_of(app_d3d(&app), DML_CREATE_DEVICE_FLAG_NONE);
    struct app_buffer buffer = app_buffer(&app, 4096);
    ID3D12Resource *resource = NULL;
    struct anydml_vulkan_buffer range = { buffer.buffer, 16, 64, 0 };
    REFUSED(range, Buffer, VK_NULL_HANDLE, AnydmlVulkanOpenBuffer, "Buffer", "NULL");
    REFUSED(range, Offset, 18, AnydmlVulkanOpenBuffer, "Offset", "18");
    REFUSED(range, Offset, 20, AnydmlVulkanOpenBuffer, "address", "multiple of 16");
    REFUSED(range, Offset, 1 << 20, AnydmlVulkanOpenBuffer, "Offset", "1048576");
    REFUSED(range, Offset, UINT64_MAX - 3, AnydmlVulkanOpenBuffer, "Offset", "multiples");
    REFUSED(range, Size, 0, AnydmlVulkanOpenBuffer, "Size", "0");
    REFUSED(range, Size, 30, AnydmlVulkanOpenBuffer, "Size", "30");
    REFUSED(range, Size, 1 << 20, AnydmlVulkanOpenBuffer, "Size", "1048576");
    ok_refusal(AnydmlVulkanOpenBuffer(rig.d3d, NULL, &IID_ID3D12Resource, (void **)&resource), E_INVALIDARG,
               "AnydmlVulkanOpenBuffer", "buffer", "NULL");
    ok_refusal(AnydmlVulkanOpenBuffer(NULL, &range, &IID_ID3D12Resource, (void **)&resource), E_INVALIDARG,
               "AnydmlVulkanOpenBuffer", "device", "NULL");
    ok_refusal(AnydmlVulkanOpenBuffer(rig.d3d, &range, &IID_ID3D12Resource, NULL), E_INVALIDARG,
               "AnydmlVulkanOpenBuffer", "out", "NULL");
    ok_hr(AnydmlVulkanOpenBuffer(rig.d3d, &range, &IID_ID3D12Fence, (void **)&resource), E_NOINTERFACE);

    struct anydml_vulkan_memory memory = {
        .Memory = buffer.memory, .AllocationSize = buffer.allocated, .MemoryType = buffer.type, .Size = 64
    };
    REFUSED(memory, MemoryType, 40, AnydmlVulkanOpenMemory, "MemoryType", "40");
    REFUSED(memory, Offset, 1 << 20, AnydmlVulkanOpenMemory, "Offset", "1048576");
    REFUSED(memory, Offset, 4, AnydmlVulkanOpenMemory, "Offset", "4");
    REFUSED(memory, Size, 1 << 20, AnydmlVulkanOpenMemory, "Size", "1048576");
    REFUSED(memory, Size, 3, AnydmlVulkanOpenMemory, "Size", "3");
    REFUSED(memory, Memory, VK_NULL_HANDLE, AnydmlVulkanOpenMemory, "HandleTypes", "OPAQUE_FD");
    if (app.has_fd) {
        struct anydml_vulkan_memory fd = memory;
        fd.Memory = VK_NULL_HANDLE;
        fd.HandleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
        REFUSED(fd, Fd, -1, AnydmlVulkanOpenMemory, "Fd", "-1");
        REFUSED(fd, Fd, 9999, AnydmlVulkanOpenMemory, "Fd", "9999");
        fd.Dedicated = TRUE;
        REFUSED(fd, Offset, 64, AnydmlVulkanOpenMemory, "Offset", "dedicated");
        ok_refusal(AnydmlVulkanCreateSharedBuffer(rig.d3d, 6, &IID_ID3D12Resource, (void **)&resource), E_INVALIDARG,
                   "AnydmlVulkanCreateSharedBuffer", "size", "6");
        ok_refusal(AnydmlVulkanCreateSharedBuffer(rig.d3d, UINT64_C(1) << 60, &IID_ID3D12Resource, (void **)&resource),
                   E_OUTOFMEMORY, "AnydmlVulkanCreateSharedBuffer", "", "");
    }
    resource = api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, 64);
    struct anydml_vulkan_memory exported;
    ok_refusal(AnydmlVulkanExportMemory(resource, &exported), E_INVALIDARG, "AnydmlVulkanExportMemory", "resource",
               "AnydmlVulkanCreateSharedBuffer");
    api_release(resource);
    ok_hr(ID3D12Device_GetDeviceRemovedReason(rig.d3d), S_OK);
    rig_destroy(&rig);
    app_buffer_free(&app, &buffer);
    app_close(&app);
}

/* Without the extension, and a device that is not on Vulkan. */
static void test_unsupported(void)
{
    struct app app;
    app_find(&app);
    app.has_fd = false;
    app_open(&app);
    ID3D12Device *device = app_d3d(&app);
    ID3D12Resource *resource = NULL;
    ok_refusal(AnydmlVulkanCreateSharedBuffer(device, 64, &IID_ID3D12Resource, (void **)&resource),
               DXGI_ERROR_UNSUPPORTED, "AnydmlVulkanCreateSharedBuffer", "VK_KHR_external_memory_fd", "");
    api_release(device);
    app_close(&app);
}

int main(int argc, char **argv)
{
    const bool cpu = argc > 1 && !strcmp(argv[1], "cpu");
    setenv("ANYDML_LOG", "error", 1);
    if (cpu)
        setenv("ANYDML_TEST_ADAPTER", "cpu", 1);
    api_begin();
    if (cpu) {
        ID3D12Device *device = api_device();
        ID3D12Resource *resource = NULL;
        ok_refusal(AnydmlVulkanCreateSharedBuffer(device, 64, &IID_ID3D12Resource, (void **)&resource),
                   DXGI_ERROR_UNSUPPORTED, "AnydmlVulkanCreateSharedBuffer", "device", "not on Vulkan");
        resource = api_buffer(device, D3D12_HEAP_TYPE_DEFAULT, 64);
        ok_refusal(AnydmlVulkanGetBuffer(resource, &(struct anydml_vulkan_buffer){ 0 }), DXGI_ERROR_UNSUPPORTED,
                   "AnydmlVulkanGetBuffer", "resource", "not on Vulkan");
        api_release(resource);
        api_release(device);
        return api_end();
    }
    if (can_share())
        test_processes();
    else
        fprintf(stderr, "no VK_KHR_external_memory_fd: nothing is shared with another process\n");
    test_open_buffer();
    test_get_buffer();
    test_open_memory();
    test_refusals();
    test_unsupported();
    return api_end();
}
