/* SPDX-License-Identifier: Apache-2.0 */
/* A video twice as large, frame by frame through a network:
 *
 *   sample_super_resolution_video NETWORK.onnx VIDEO RESULT [FRAMES]
 *
 * RESULT: a file, or `window` to look at it at once. FFmpeg's libraries read, write and show. Two frames are under way:
 * while the device works at one, the CPU encodes the one before and decodes the one behind it. For each of the two
 * there is a command list, recorded once: copy to the network's input, run, copy back. */
#include "sample_network.h"
#include "super_resolution.h"
#include "video.h"

enum { SLOTS = 2, SIDE_MAX = 8192 };

/* A frame under way. */
struct slot {
    ID3D12CommandAllocator *allocator;
    ID3D12GraphicsCommandList *list;
    ID3D12Resource *upload, *readback;
    float *small, *large; /* the two, mapped as long as they live */
    UINT64 done;          /* the fence's value after it; 0: idle */
};

struct program {
    ID3D12Device *device;
    IDMLDevice1 *dml;
    struct sample_queue q;
    struct sample_network network;
    struct slot slots[SLOTS];
    struct video_reader in;
    struct video_writer out;
    struct SwsContext *to_planes, *from_planes;
    AVFrame *small, *large;
    int width, height;
};

/* ---- the device ---- */

static void barrier(ID3D12GraphicsCommandList *list, ID3D12Resource *buffer, D3D12_RESOURCE_STATES before,
                    D3D12_RESOURCE_STATES after)
{
    D3D12_RESOURCE_BARRIER one = {
        .Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION,
        .Transition = { buffer, D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES, before, after },
    };
    ID3D12GraphicsCommandList_ResourceBarrier(list, 1, &one);
}

/* Buffers are in the common state when a list starts, and a first use is a transition by itself. */
static void create_slot(struct program *p, struct slot *s, UINT64 bytes)
{
    const D3D12_COMMAND_LIST_TYPE type = D3D12_COMMAND_LIST_TYPE_COMPUTE;
    struct sample_network *n = &p->network;
    s->upload = sample_buffer(p->device, D3D12_HEAP_TYPE_UPLOAD, bytes);
    s->readback = sample_buffer(p->device, D3D12_HEAP_TYPE_READBACK, 4 * bytes);
    CHECK(ID3D12Resource_Map(s->upload, 0, NULL, (void **)&s->small));
    CHECK(ID3D12Resource_Map(s->readback, 0, NULL, (void **)&s->large));
    CHECK(ID3D12Device_CreateCommandAllocator(p->device, type, &IID_ID3D12CommandAllocator, (void **)&s->allocator));
    CHECK(ID3D12Device_CreateCommandList(p->device, 0, type, s->allocator, NULL, &IID_ID3D12GraphicsCommandList,
                                         (void **)&s->list));
    ID3D12GraphicsCommandList_CopyBufferRegion(s->list, n->in, 0, s->upload, 0, bytes);
    barrier(s->list, n->in, D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
    sample_network_record(n, s->list);
    barrier(s->list, n->out[0], D3D12_RESOURCE_STATE_UNORDERED_ACCESS, D3D12_RESOURCE_STATE_COPY_SOURCE);
    ID3D12GraphicsCommandList_CopyBufferRegion(s->list, s->readback, 0, n->out[0], 0, 4 * bytes);
    CHECK(ID3D12GraphicsCommandList_Close(s->list));
}

static void create(struct program *p, const char *network)
{
    const UINT64 bytes = (UINT64)p->width * (UINT64)p->height * 3 * sizeof(float), result = 4 * bytes;
    CHECK(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_1_0_CORE, &IID_ID3D12Device, (void **)&p->device));
    CHECK(DMLCreateDevice1(p->device, DML_CREATE_DEVICE_FLAG_NONE, DML_FEATURE_LEVEL_5_0, &IID_IDMLDevice1,
                           (void **)&p->dml));
    p->q = sample_queue_create(p->device);
    p->network =
        sample_network_create((IDMLDevice *)p->dml, &p->q,
                              super_resolution(p->dml, network, (UINT)p->width, (UINT)p->height), bytes, 1, &result);
    for (int i = 0; i < SLOTS; i++)
        create_slot(p, &p->slots[i], bytes);
    p->small = video_planes(p->width, p->height);
    p->large = video_planes(2 * p->width, 2 * p->height);
}

static void release(struct program *p)
{
    for (int i = 0; i < SLOTS; i++) {
        void *objects[] = { p->slots[i].list, p->slots[i].allocator, p->slots[i].upload, p->slots[i].readback };
        for (size_t j = 0; j < sizeof(objects) / sizeof(objects[0]); j++)
            IUnknown_Release((IUnknown *)objects[j]);
    }
    sample_network_release(&p->network);
    sample_queue_release(&p->q);
    IDMLDevice1_Release(p->dml);
    ID3D12Device_Release(p->device);
    av_frame_free(&p->small);
    av_frame_free(&p->large);
    sws_freeContext(p->to_planes);
    sws_freeContext(p->from_planes);
}

/* ---- frames ---- */

static void start(struct program *p, struct slot *s, const AVFrame *frame)
{
    ID3D12CommandList *lists[] = { (ID3D12CommandList *)s->list };
    video_convert(&p->to_planes, frame, p->small);
    video_copy_planes(p->small, s->small, 0);
    ID3D12CommandQueue_ExecuteCommandLists(p->q.queue, 1, lists);
    s->done = ++p->q.value;
    CHECK(ID3D12CommandQueue_Signal(p->q.queue, p->q.fence, s->done));
}

/* Waits for the frame in flight in a slot, if any, and writes it. */
static int finish(struct program *p, struct slot *s)
{
    if (!s->done)
        return 0;
    CHECK(ID3D12Fence_SetEventOnCompletion(p->q.fence, s->done, NULL));
    CHECK(ID3D12Device_GetDeviceRemovedReason(p->device));
    video_copy_planes(p->large, s->large, 1);
    video_convert(&p->from_planes, p->large, p->out.frame);
    video_put(&p->out);
    s->done = 0;
    return 1;
}

int main(int argc, char **argv)
{
    const int most = argc > 4 ? atoi(argv[4]) : INT32_MAX;
    if (argc < 4 || argc > 5 || most < 1) {
        fprintf(stderr, "usage: %s NETWORK.onnx VIDEO RESULT [FRAMES]\n", argv[0]);
        return 2;
    }
    struct program p = { .in = video_open(argv[2]) };
    const AVFrame *frame = video_next(&p.in);
    if (!frame)
        video_fail(argv[2], "no frame in it");
    p.width = frame->width; /* the size of the first frame: later ones are scaled to it */
    p.height = frame->height;
    if (p.width > SIDE_MAX || p.height > SIDE_MAX)
        video_fail(argv[2], "its frames are too large");
    create(&p, argv[1]);
    p.out = video_create(argv[3], 2 * p.width, 2 * p.height, p.in.rate);

    int frames = 0, started = 0;
    const double begin = video_now();
    for (; frame && started < most && !p.out.closed; frame = started < most ? video_next(&p.in) : NULL) {
        struct slot *s = &p.slots[started++ % SLOTS];
        frames += finish(&p, s);
        start(&p, s, frame);
    }
    for (int i = 0; i < SLOTS; i++)
        frames += finish(&p, &p.slots[(started + i) % SLOTS]);
    video_finish(&p.out);
    const double seconds = video_now() - begin;
    printf("%d frames of %dx%d to %dx%d in %.2f s: %.2f frames per second\n", frames, p.width, p.height, 2 * p.width,
           2 * p.height, seconds, frames / seconds);
    video_close(&p.in);
    release(&p);
    return 0;
}
