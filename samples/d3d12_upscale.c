/* SPDX-License-Identifier: Apache-2.0 */
/* A Direct3D 12 program that draws and upscales in one command list, on the Direct3D 12 of another runtime:
 *
 *   sample_d3d12_upscale NETWORK.onnx [FRAMES [FOLDER [WIDTH HEIGHT]]]
 *
 * D3D12_LIBRARY names a library with D3D12CreateDevice, vkd3d-proton's for instance; without it, the program takes the
 * device of tests/foreign, if it was built with it. Each frame is drawn by copies (a background, and an image that
 * moves over it: what works without shaders of one's own), a network doubles its size, and the result is copied for the
 * file, all in one list, with one submission. Nothing is copied to the host between drawing and network. At the end the
 * last frame goes through the same network on the CPU, by AnyDML's Direct3D 12, and both results must agree. */
#include "sample.h"
#include "super_resolution.h"
#include "tools/media/image.h"

#include <dlfcn.h>
#include <math.h>

#ifdef HAVE_STANDIN
ID3D12Device *standin_sample_device(void); /* of tests/foreign */
#endif

enum { SPRITE = 32 };

struct upscaler {
    ID3D12Device *device;
    bool by_address; /* methods that return structs take their address, as vkd3d-proton's do */
    struct sample_queue q;
    IDMLDevice1 *dml;
    IDMLCommandRecorder *recorder;
    IDMLCompiledOperator *network;
    IDMLOperatorInitializer *initializer;
    ID3D12DescriptorHeap *heaps[2];
    IDMLBindingTable *tables[2]; /* of the network, of its initializer */
    ID3D12Resource *small, *large, *temporary, *persistent;
    UINT width, height;
};

static UINT64 small_bytes(const struct upscaler *u)
{
    return (UINT64)u->width * u->height * 3 * sizeof(float);
}

/* ---- the device ---- */

static ID3D12Device *create_device(void)
{
    typedef HRESULT(STDMETHODCALLTYPE * create_fn)(IUnknown *, D3D_FEATURE_LEVEL, REFIID, void **);
    const char *name = getenv("D3D12_LIBRARY");
    ID3D12Device *device = NULL;
    if (name) {
        void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        create_fn create = library ? (create_fn)dlsym(library, "D3D12CreateDevice") : NULL;
        if (!create) {
            fprintf(stderr, "%s has no D3D12CreateDevice: %s\n", name, dlerror());
            exit(2);
        }
        CHECK(create(NULL, D3D_FEATURE_LEVEL_11_0, &IID_ID3D12Device, (void **)&device));
        return device;
    }
#ifdef HAVE_STANDIN
    device = standin_sample_device();
#endif
    if (device)
        return device;
    fprintf(stderr, "D3D12_LIBRARY is not set, and there is no Vulkan device for the tests' own: skipped\n");
    exit(77);
}

/* ---- the network ---- */

static D3D12_CPU_DESCRIPTOR_HANDLE cpu_start(const struct upscaler *u, ID3D12DescriptorHeap *heap)
{
    typedef D3D12_CPU_DESCRIPTOR_HANDLE *(STDMETHODCALLTYPE * get)(ID3D12DescriptorHeap *,
                                                                   D3D12_CPU_DESCRIPTOR_HANDLE *);
    D3D12_CPU_DESCRIPTOR_HANDLE out;
    if (!u->by_address)
        return ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(heap);
    ((get)(void *)heap->lpVtbl->GetCPUDescriptorHandleForHeapStart)(heap, &out);
    return out;
}

static D3D12_GPU_DESCRIPTOR_HANDLE gpu_start(const struct upscaler *u, ID3D12DescriptorHeap *heap)
{
    typedef D3D12_GPU_DESCRIPTOR_HANDLE *(STDMETHODCALLTYPE * get)(ID3D12DescriptorHeap *,
                                                                   D3D12_GPU_DESCRIPTOR_HANDLE *);
    D3D12_GPU_DESCRIPTOR_HANDLE out;
    if (!u->by_address)
        return ID3D12DescriptorHeap_GetGPUDescriptorHandleForHeapStart(heap);
    ((get)(void *)heap->lpVtbl->GetGPUDescriptorHandleForHeapStart)(heap, &out);
    return out;
}

static IDMLBindingTable *create_table(struct upscaler *u, IDMLDispatchable *dispatchable, ID3D12DescriptorHeap *heap)
{
    DML_BINDING_TABLE_DESC desc = { dispatchable, cpu_start(u, heap), gpu_start(u, heap),
                                    IDMLDispatchable_GetBindingProperties(dispatchable).RequiredDescriptorCount };
    IDMLBindingTable *table;
    CHECK(IDMLDevice1_CreateBindingTable(u->dml, &desc, &IID_IDMLBindingTable, (void **)&table));
    return table;
}

/* At least one word, so that it can always be bound. */
static ID3D12Resource *create_room(struct upscaler *u, UINT64 bytes)
{
    return sample_buffer(u->device, D3D12_HEAP_TYPE_DEFAULT, bytes ? bytes : 4);
}

static void bind_all(struct upscaler *u, DML_BINDING_PROPERTIES needs, DML_BINDING_PROPERTIES first, UINT64 room)
{
    DML_BUFFER_BINDING ranges[] = { { u->small, 0, small_bytes(u) },
                                    { u->large, 0, 4 * small_bytes(u) },
                                    { u->temporary, 0, room },
                                    { u->persistent, 0, needs.PersistentResourceSize } };
    DML_BINDING_DESC bindings[4];
    for (int i = 0; i < 4; i++)
        bindings[i] = (DML_BINDING_DESC){ DML_BINDING_TYPE_BUFFER, &ranges[i] };
    IDMLBindingTable_BindInputs(u->tables[0], 1, &bindings[0]);
    IDMLBindingTable_BindOutputs(u->tables[0], 1, &bindings[1]);
    if (needs.TemporaryResourceSize)
        IDMLBindingTable_BindTemporaryResource(u->tables[0], &bindings[2]);
    if (first.TemporaryResourceSize)
        IDMLBindingTable_BindTemporaryResource(u->tables[1], &bindings[2]);
    if (!needs.PersistentResourceSize)
        return;
    IDMLBindingTable_BindPersistentResource(u->tables[0], &bindings[3]);
    IDMLBindingTable_BindOutputs(u->tables[1], 1, &bindings[3]);
}

static void create_network(struct upscaler *u, const char *path)
{
    CHECK(DMLCreateDevice1(u->device, DML_CREATE_DEVICE_FLAG_NONE, DML_FEATURE_LEVEL_5_0, &IID_IDMLDevice1,
                           (void **)&u->dml));
    CHECK(IDMLDevice1_CreateCommandRecorder(u->dml, &IID_IDMLCommandRecorder, (void **)&u->recorder));
    u->network = super_resolution(u->dml, path, u->width, u->height);
    CHECK(IDMLDevice1_CreateOperatorInitializer(u->dml, 1, &u->network, &IID_IDMLOperatorInitializer,
                                                (void **)&u->initializer));
    IDMLDispatchable *dispatchables[2] = { (IDMLDispatchable *)u->network, (IDMLDispatchable *)u->initializer };
    const DML_BINDING_PROPERTIES needs = IDMLDispatchable_GetBindingProperties(dispatchables[0]),
                                 first = IDMLDispatchable_GetBindingProperties(dispatchables[1]);
    const UINT64 room = first.TemporaryResourceSize > needs.TemporaryResourceSize ? first.TemporaryResourceSize
                                                                                  : needs.TemporaryResourceSize;
    u->small = create_room(u, small_bytes(u));
    u->large = create_room(u, 4 * small_bytes(u));
    u->temporary = create_room(u, room);
    u->persistent = create_room(u, needs.PersistentResourceSize);
    for (int i = 0; i < 2; i++) {
        u->heaps[i] =
            sample_heap(u->device, IDMLDispatchable_GetBindingProperties(dispatchables[i]).RequiredDescriptorCount);
        u->tables[i] = create_table(u, dispatchables[i], u->heaps[i]);
    }
    bind_all(u, needs, first, room);
}

static void record(struct upscaler *u, int which)
{
    void *dispatchables[2] = { u->network, u->initializer };
    ID3D12GraphicsCommandList_SetDescriptorHeaps(u->q.list, 1, &u->heaps[which]);
    IDMLCommandRecorder_RecordDispatch(u->recorder, (ID3D12CommandList *)u->q.list, dispatchables[which],
                                       u->tables[which]);
}

static void release_all(struct upscaler *u)
{
    void *objects[] = { u->tables[0], u->tables[1],  u->heaps[0], u->heaps[1], u->initializer, u->network,
                        u->temporary, u->persistent, u->small,    u->large,    u->recorder,    u->dml };
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
        IUnknown_Release((IUnknown *)objects[i]);
    sample_queue_release(&u->q);
    ID3D12Device_Release(u->device);
}

/* ---- the scene ---- */

struct scene {
    ID3D12Resource *background, *sprite, *seen; /* of which the last is for the host */
    const float *result;
};

static void fill_background(float *planes, UINT width, UINT height)
{
    for (UINT c = 0; c < 3; c++)
        for (UINT y = 0; y < height; y++)
            for (UINT x = 0; x < width; x++)
                planes[((UINT64)c * height + y) * width + x] =
                    0.5f + 0.4f * sinf(0.15f * (float)x * (float)(c + 1)) * cosf(0.2f * (float)y);
}

static void create_scene(struct upscaler *u, struct scene *scene)
{
    float sprite[3 * SPRITE * SPRITE], *background = malloc(small_bytes(u));
    void *mapped;
    if (!background)
        exit(1);
    fill_background(background, u->width, u->height);
    for (UINT i = 0; i < 3 * SPRITE * SPRITE; i++)
        sprite[i] = (i / 4 + i / (4 * SPRITE)) % 2 ? 1.0f : 0.1f * (float)(i / (SPRITE * SPRITE));
    scene->background = create_room(u, small_bytes(u));
    scene->sprite = create_room(u, sizeof(sprite));
    sample_write(&u->q, scene->background, background, small_bytes(u));
    sample_write(&u->q, scene->sprite, sprite, sizeof(sprite));
    scene->seen = sample_buffer(u->device, D3D12_HEAP_TYPE_READBACK, 5 * small_bytes(u));
    CHECK(ID3D12Resource_Map(scene->seen, 0, NULL, &mapped));
    scene->result = mapped;
    free(background);
}

static void transition(struct upscaler *u, ID3D12Resource *resource, D3D12_RESOURCE_STATES before,
                       D3D12_RESOURCE_STATES after)
{
    const D3D12_RESOURCE_BARRIER barrier = {
        .Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION,
        .Transition = { resource, D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES, before, after },
    };
    ID3D12GraphicsCommandList_ResourceBarrier(u->q.list, 1, &barrier);
}

static void draw(struct upscaler *u, const struct scene *scene, int frame)
{
    const UINT x = (UINT)(7 * frame + 3) % (u->width - SPRITE), y = (UINT)(3 * frame + 5) % (u->height - SPRITE);
    ID3D12GraphicsCommandList_CopyBufferRegion(u->q.list, u->small, 0, scene->background, 0, small_bytes(u));
    transition(u, u->small, D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_COMMON);
    transition(u, u->small, D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_COPY_DEST);
    for (UINT row = 0; row < 3 * SPRITE; row++) {
        const UINT64 line = (UINT64)(row / SPRITE) * u->height + y + row % SPRITE;
        ID3D12GraphicsCommandList_CopyBufferRegion(u->q.list, u->small, (line * u->width + x) * sizeof(float),
                                                   scene->sprite, (UINT64)row * SPRITE * sizeof(float),
                                                   SPRITE * sizeof(float));
    }
}

/* Resources are in the state COMMON at the start of a list, and become what the first use needs. */
static void run_frame(struct upscaler *u, const struct scene *scene, int frame)
{
    if (!frame) {
        record(u, 1);
        const D3D12_RESOURCE_BARRIER initialised = { .Type = D3D12_RESOURCE_BARRIER_TYPE_UAV };
        ID3D12GraphicsCommandList_ResourceBarrier(u->q.list, 1, &initialised);
    }
    draw(u, scene, frame);
    transition(u, u->small, D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
    record(u, 0);
    transition(u, u->small, D3D12_RESOURCE_STATE_UNORDERED_ACCESS, D3D12_RESOURCE_STATE_COPY_SOURCE);
    transition(u, u->large, D3D12_RESOURCE_STATE_UNORDERED_ACCESS, D3D12_RESOURCE_STATE_COPY_SOURCE);
    ID3D12GraphicsCommandList_CopyBufferRegion(u->q.list, scene->seen, 0, u->large, 0, 4 * small_bytes(u));
    ID3D12GraphicsCommandList_CopyBufferRegion(u->q.list, scene->seen, 4 * small_bytes(u), u->small, 0, small_bytes(u));
    sample_flush(&u->q);
    CHECK(IDMLDevice1_GetDeviceRemovedReason(u->dml));
}

static void write_image(const char *folder, int frame, const float *planes, UINT width, UINT height)
{
    struct tools_image image;
    struct tools_error error = { 0 };
    char path[1024];
    const size_t plane = (size_t)width * height;
    snprintf(path, sizeof(path), "%s/upscaled_%03d.png", folder, frame);
    if (!tools_image_init(&image, width, height, &error))
        exit(tools_report("d3d12_upscale", &error));
    for (size_t i = 0; i < 3 * plane; i++)
        image.pixels[i] = (uint8_t)(255 * fminf(fmaxf(planes[i % 3 * plane + i / 3], 0), 1) + 0.5f);
    if (!tools_image_write(path, &image, &error))
        exit(tools_report("d3d12_upscale", &error));
    tools_image_finish(&image);
}

/* ---- the same on the CPU ---- */

/* The distance of the last frame from the result of AnyDML's cpu adapter for the same image. */
static float compare(const struct upscaler *u, const struct scene *scene, const char *path)
{
    struct upscaler cpu = { .width = u->width, .height = u->height };
    float *got = malloc(4 * small_bytes(u)), worst = 0;
    if (!got)
        exit(1);
    CHECK(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_1_0_CORE, &IID_ID3D12Device, (void **)&cpu.device));
    cpu.q = sample_queue_create(cpu.device);
    create_network(&cpu, path);
    sample_write(&cpu.q, cpu.small, (const char *)scene->result + 4 * small_bytes(u), small_bytes(u));
    for (int which = 1; which >= 0; which--) {
        record(&cpu, which);
        sample_flush(&cpu.q);
    }
    sample_read(&cpu.q, cpu.large, got, 4 * small_bytes(u));
    for (UINT64 i = 0; i < small_bytes(u); i++) /* as many numbers as the small image has bytes */
        worst = fmaxf(worst, fabsf(got[i] - scene->result[i]));
    free(got);
    release_all(&cpu);
    return worst;
}

int main(int argc, char **argv)
{
    const int frames = argc > 2 ? atoi(argv[2]) : 60;
    struct upscaler u = { .by_address = true, .width = 960, .height = 540 };
    struct scene scene;
    if (argc > 5) {
        u.width = (UINT)atoi(argv[4]);
        u.height = (UINT)atoi(argv[5]);
    }
    if (argc < 2 || frames < 1 || u.width <= SPRITE || u.height <= SPRITE) {
        fprintf(stderr, "usage: %s NETWORK.onnx [FRAMES [FOLDER [WIDTH HEIGHT]]]\n", argv[0]);
        return 2;
    }
    setenv("ANYDML_ADAPTERS", "cpu", 1); /* for D3D12CreateDevice of AnyDML */
    u.device = create_device();
    u.q = sample_queue_create(u.device);
    create_network(&u, argv[1]);
    create_scene(&u, &scene);
    for (int frame = 0; frame < frames; frame++) {
        run_frame(&u, &scene, frame);
        if (argc > 3)
            write_image(argv[3], frame, scene.result, 2 * u.width, 2 * u.height);
    }
    const float worst = compare(&u, &scene, argv[1]);
    printf("%d frames of %ux%u to %ux%u; the last one is within %g of the CPU's\n", frames, u.width, u.height,
           2 * u.width, 2 * u.height, (double)worst);
    ID3D12Resource_Release(scene.background);
    ID3D12Resource_Release(scene.sprite);
    ID3D12Resource_Release(scene.seen);
    release_all(&u);
    return !(worst < 1e-3f);
}
