/* SPDX-License-Identifier: Apache-2.0 */
/* Machine learning inside a Vulkan program, as a game or a player would have it:
 *
 *   sample_vulkan_interop NETWORK.onnx [FRAMES [FOLDER]]
 *
 * A compute shader draws a small moving image, a network doubles its size, and the result is copied for the file: one
 * command buffer and one submission a frame, on the program's own queue. Nothing is copied to the host between drawing
 * and network. FOLDER gets the frames as frame_000.png, ... At the end the last image goes through the same network on
 * the CPU, and both results must agree. */
#include "sample.h"
#include "super_resolution.h"
#include "tools/media/image.h"
#include "vulkan_sample.h"

#include <anydml_vulkan.h>
#include <math.h>
#include <pthread.h>

#include "vulkan_interop_spirv.h" /* vulkan_interop.comp */

enum { WIDTH = 96, HEIGHT = 60, SMALL = WIDTH * HEIGHT * 3, LARGE = 4 * SMALL };

struct program {
    struct vulkan v;
    pthread_mutex_t lock; /* of the queue */
    struct vulkan_pipeline draw;
    struct vulkan_buffer large, seen_small, seen_large;

    ID3D12Device *device;
    IDMLDevice1 *dml;
    IDMLCommandRecorder *recorder;
    ID3D12Fence *fence;
    ID3D12Resource *picture, *result, *temporary, *persistent;
    VkDeviceAddress address; /* of the image */
    IDMLCompiledOperator *network;
    IDMLOperatorInitializer *initializer;
    ID3D12DescriptorHeap *heaps[2];
    IDMLBindingTable *tables[2]; /* of the network, of its initializer */
};

/* ---- the devices ---- */

static void STDMETHODCALLTYPE lock_queue(void *context, VkQueue queue)
{
    (void)queue;
    pthread_mutex_lock(context);
}

static void STDMETHODCALLTYPE unlock_queue(void *context, VkQueue queue)
{
    (void)queue;
    pthread_mutex_unlock(context);
}

/* Vulkan's, with the features that AnyDML requires, and AnyDML's over it. */
static void create_devices(struct program *p)
{
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                      .queueFamilyIndex = p->v.family,
                                      .queueCount = 1,
                                      .pQueuePriorities = &priority };
    VkPhysicalDeviceVulkan12Features features = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                                  .bufferDeviceAddress = VK_TRUE,
                                                  .timelineSemaphore = VK_TRUE,
                                                  .uniformBufferStandardLayout = VK_TRUE };
    VkDeviceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                .pNext = &features,
                                .queueCreateInfoCount = 1,
                                .pQueueCreateInfos = &queue };
    VK_CHECK(vkCreateDevice(p->v.physical, &info, NULL, &p->v.device));
    vulkan_begin(&p->v);
    pthread_mutex_init(&p->lock, NULL);
    const struct anydml_vulkan_device desc = {
        .GetInstanceProcAddr = vkGetInstanceProcAddr,
        .Instance = p->v.instance,
        .ApiVersion = VK_API_VERSION_1_2,
        .PhysicalDevice = p->v.physical,
        .Device = p->v.device,
        .CreateInfo = &info,
        .QueueFamily = p->v.family,
        .QueueCount = 1,
        .Queues = &p->v.queue,
        .Lock = lock_queue,
        .Unlock = unlock_queue,
        .Context = &p->lock,
    };
    CHECK(AnydmlVulkanCreateDevice(&desc, &IID_ID3D12Device, (void **)&p->device));
    CHECK(DMLCreateDevice1(p->device, DML_CREATE_DEVICE_FLAG_NONE, DML_FEATURE_LEVEL_5_0, &IID_IDMLDevice1,
                           (void **)&p->dml));
    CHECK(IDMLDevice1_CreateCommandRecorder(p->dml, &IID_IDMLCommandRecorder, (void **)&p->recorder));
    CHECK(AnydmlVulkanCreateFence(p->device, p->v.timeline, 0, &IID_ID3D12Fence, (void **)&p->fence));
}

/* ---- buffers: the image is AnyDML's and drawn by Vulkan, the result is Vulkan's and written by AnyDML ---- */

static void create_buffers(struct program *p)
{
    struct anydml_vulkan_buffer where;
    p->picture = sample_buffer(p->device, D3D12_HEAP_TYPE_DEFAULT, SMALL * sizeof(float));
    CHECK(AnydmlVulkanGetBuffer(p->picture, &where));
    p->address = where.Address;
    p->large = vulkan_buffer(&p->v, LARGE * sizeof(float), ANYDML_VULKAN_BUFFER_USAGE, 0);
    where = (struct anydml_vulkan_buffer){ p->large.buffer, 0, LARGE * sizeof(float), 0 };
    CHECK(AnydmlVulkanOpenBuffer(p->device, &where, &IID_ID3D12Resource, (void **)&p->result));
    p->seen_small = vulkan_buffer(&p->v, SMALL * sizeof(float), VK_BUFFER_USAGE_TRANSFER_DST_BIT, 1);
    p->seen_large = vulkan_buffer(&p->v, LARGE * sizeof(float), VK_BUFFER_USAGE_TRANSFER_DST_BIT, 1);
}

/* ---- the network ---- */

/* At least one byte, so that it can always be bound. */
static ID3D12Resource *create_room(struct program *p, UINT64 bytes)
{
    return sample_buffer(p->device, D3D12_HEAP_TYPE_DEFAULT, bytes ? bytes : 4);
}

static void create_network(struct program *p, const char *path)
{
    IDMLDevice *dml = (IDMLDevice *)p->dml;
    p->network = super_resolution(p->dml, path, WIDTH, HEIGHT);
    CHECK(IDMLDevice_CreateOperatorInitializer(dml, 1, &p->network, &IID_IDMLOperatorInitializer,
                                               (void **)&p->initializer));
    IDMLDispatchable *dispatchables[2] = { (IDMLDispatchable *)p->network, (IDMLDispatchable *)p->initializer };
    DML_BINDING_PROPERTIES needs = IDMLDispatchable_GetBindingProperties(dispatchables[0]);
    DML_BINDING_PROPERTIES first = IDMLDispatchable_GetBindingProperties(dispatchables[1]);
    const UINT64 room = first.TemporaryResourceSize > needs.TemporaryResourceSize ? first.TemporaryResourceSize
                                                                                  : needs.TemporaryResourceSize;
    p->temporary = create_room(p, room);
    p->persistent = create_room(p, needs.PersistentResourceSize);
    for (int i = 0; i < 2; i++) {
        p->heaps[i] =
            sample_heap(p->device, IDMLDispatchable_GetBindingProperties(dispatchables[i]).RequiredDescriptorCount);
        p->tables[i] = sample_table(dml, dispatchables[i], p->heaps[i]);
    }
    DML_BUFFER_BINDING ranges[] = { { p->picture, 0, SMALL * sizeof(float) },
                                    { p->result, 0, LARGE * sizeof(float) },
                                    { p->temporary, 0, room },
                                    { p->persistent, 0, needs.PersistentResourceSize } };
    DML_BINDING_DESC bindings[4];
    for (int i = 0; i < 4; i++)
        bindings[i] = (DML_BINDING_DESC){ DML_BINDING_TYPE_BUFFER, &ranges[i] };
    IDMLBindingTable_BindInputs(p->tables[0], 1, &bindings[0]);
    IDMLBindingTable_BindOutputs(p->tables[0], 1, &bindings[1]);
    if (needs.TemporaryResourceSize)
        IDMLBindingTable_BindTemporaryResource(p->tables[0], &bindings[2]);
    if (first.TemporaryResourceSize)
        IDMLBindingTable_BindTemporaryResource(p->tables[1], &bindings[2]);
    if (!needs.PersistentResourceSize)
        return;
    IDMLBindingTable_BindPersistentResource(p->tables[0], &bindings[3]);
    IDMLBindingTable_BindOutputs(p->tables[1], 1, &bindings[3]);
}

/* ---- a frame ---- */

static void draw(struct program *p, int frame)
{
    const struct {
        uint64_t picture;
        uint32_t size[2];
        float time;
    } arguments = { p->address, { WIDTH, HEIGHT }, (float)frame * 0.1f };
    vkCmdBindPipeline(p->v.commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->draw.handle);
    vkCmdPushConstants(p->v.commands, p->draw.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 20, &arguments);
    vkCmdDispatch(p->v.commands, (WIDTH + 7) / 8, (HEIGHT + 7) / 8, 1);
}

static void record_dispatch(struct program *p, void *dispatchable, IDMLBindingTable *table)
{
    CHECK(AnydmlVulkanRecordDispatch(p->recorder, p->v.commands, dispatchable, table));
}

static void run_frame(struct program *p, int frame)
{
    struct vulkan *v = &p->v;
    struct anydml_vulkan_buffer picture;
    const VkBufferCopy large = { 0, 0, LARGE * sizeof(float) };
    CHECK(AnydmlVulkanGetBuffer(p->picture, &picture));
    const VkBufferCopy small = { picture.Offset, 0, SMALL * sizeof(float) };
    vulkan_record(v);
    if (!frame) /* the barrier below also covers this and the network */
        record_dispatch(p, p->initializer, p->tables[1]);
    draw(p, frame);
    vulkan_barrier(v, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | ANYDML_VULKAN_STAGES,
                   VK_ACCESS_SHADER_WRITE_BIT | ANYDML_VULKAN_WRITES, ANYDML_VULKAN_STAGES,
                   ANYDML_VULKAN_READS | ANYDML_VULKAN_WRITES);
    record_dispatch(p, p->network, p->tables[0]);
    vulkan_barrier(v, ANYDML_VULKAN_STAGES, ANYDML_VULKAN_WRITES, VK_PIPELINE_STAGE_TRANSFER_BIT,
                   VK_ACCESS_TRANSFER_READ_BIT);
    vkCmdCopyBuffer(v->commands, p->large.buffer, p->seen_large.buffer, 1, &large);
    vkCmdCopyBuffer(v->commands, picture.Buffer, p->seen_small.buffer, 1, &small);
    vulkan_barrier(v, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                   VK_ACCESS_HOST_READ_BIT);
    pthread_mutex_lock(&p->lock);
    vulkan_submit(v, (uint64_t)frame + 1);
    pthread_mutex_unlock(&p->lock);
    /* The semaphore is also a fence: for waits with Direct3D. */
    CHECK(ID3D12Fence_SetEventOnCompletion(p->fence, (UINT64)frame + 1, NULL));
}

static void write_picture(const char *folder, const char *name, int frame, const float *planes, uint32_t width,
                          uint32_t height)
{
    struct tools_image image;
    struct tools_error error = { 0 };
    char path[1024];
    const size_t plane = (size_t)width * height;
    snprintf(path, sizeof(path), "%s/%s_%03d.png", folder, name, frame);
    if (!tools_image_init(&image, width, height, &error))
        exit(tools_report("vulkan_interop", &error));
    for (size_t i = 0; i < 3 * plane; i++)
        image.pixels[i] = (uint8_t)(255 * fminf(fmaxf(planes[i % 3 * plane + i / 3], 0), 1) + 0.5f);
    if (!tools_image_write(path, &image, &error))
        exit(tools_report("vulkan_interop", &error));
    tools_image_finish(&image);
}

/* ---- the same on the CPU ---- */

/* The distance of the last frame from the result of the cpu adapter for the same image. */
static float compare(const struct program *p, const char *path)
{
    struct program cpu = { 0 };
    static float got[LARGE];
    float worst = 0;
    CHECK(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_1_0_CORE, &IID_ID3D12Device, (void **)&cpu.device));
    CHECK(DMLCreateDevice1(cpu.device, DML_CREATE_DEVICE_FLAG_NONE, DML_FEATURE_LEVEL_5_0, &IID_IDMLDevice1,
                           (void **)&cpu.dml));
    CHECK(IDMLDevice1_CreateCommandRecorder(cpu.dml, &IID_IDMLCommandRecorder, (void **)&cpu.recorder));
    struct sample_queue q = sample_queue_create(cpu.device);
    cpu.picture = sample_buffer(cpu.device, D3D12_HEAP_TYPE_DEFAULT, SMALL * sizeof(float));
    cpu.result = sample_buffer(cpu.device, D3D12_HEAP_TYPE_DEFAULT, LARGE * sizeof(float));
    create_network(&cpu, path);
    sample_write(&q, cpu.picture, p->seen_small.data, SMALL * sizeof(float));
    for (int i = 1; i >= 0; i--) {
        void *dispatchables[] = { cpu.network, cpu.initializer };
        ID3D12GraphicsCommandList_SetDescriptorHeaps(q.list, 1, &cpu.heaps[i]);
        IDMLCommandRecorder_RecordDispatch(cpu.recorder, (ID3D12CommandList *)q.list, dispatchables[i], cpu.tables[i]);
        sample_flush(&q);
    }
    sample_read(&q, cpu.result, got, sizeof(got));
    for (int i = 0; i < LARGE; i++)
        worst = fmaxf(worst, fabsf(got[i] - p->seen_large.data[i]));
    sample_queue_release(&q);
    void *objects[] = { cpu.tables[0], cpu.tables[1], cpu.heaps[0],   cpu.heaps[1], cpu.initializer,
                        cpu.network,   cpu.temporary, cpu.persistent, cpu.picture,  cpu.result,
                        cpu.recorder,  cpu.dml,       cpu.device };
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
        IUnknown_Release((IUnknown *)objects[i]);
    return worst;
}

/* AnyDML's objects first: Vulkan's must outlive them. */
static void release(struct program *p)
{
    void *objects[] = { p->tables[0],  p->tables[1], p->heaps[0], p->heaps[1], p->initializer, p->network, p->temporary,
                        p->persistent, p->picture,   p->result,   p->fence,    p->recorder,    p->dml,     p->device };
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
        IUnknown_Release((IUnknown *)objects[i]);
    vulkan_buffer_free(&p->v, &p->large);
    vulkan_buffer_free(&p->v, &p->seen_small);
    vulkan_buffer_free(&p->v, &p->seen_large);
    vulkan_pipeline_free(&p->v, &p->draw);
    pthread_mutex_destroy(&p->lock);
    vulkan_end(&p->v);
}

int main(int argc, char **argv)
{
    const int frames = argc > 2 ? atoi(argv[2]) : 60;
    if (argc < 2 || frames < 1) {
        fprintf(stderr, "usage: %s NETWORK.onnx [FRAMES [FOLDER]]\n", argv[0]);
        return 2;
    }
    setenv("ANYDML_ADAPTERS", "cpu", 1); /* for D3D12CreateDevice; this program creates the other device itself */
    struct program p = { .v = vulkan_find() };
    create_devices(&p);
    create_buffers(&p);
    create_network(&p, argv[1]);
    p.draw = vulkan_pipeline(&p.v, vulkan_interop_spirv, sizeof(vulkan_interop_spirv), 20);
    for (int frame = 0; frame < frames; frame++) {
        run_frame(&p, frame);
        if (argc > 3)
            write_picture(argv[3], "frame", frame, p.seen_large.data, 2 * WIDTH, 2 * HEIGHT);
    }
    if (argc > 3)
        write_picture(argv[3], "small", frames - 1, p.seen_small.data, WIDTH, HEIGHT);
    const float worst = compare(&p, argv[1]);
    printf("%d frames of %dx%d to %dx%d; the last one is within %g of the CPU's\n", frames, WIDTH, HEIGHT, 2 * WIDTH,
           2 * HEIGHT, (double)worst);
    release(&p);
    return !(worst < 1e-3f);
}
