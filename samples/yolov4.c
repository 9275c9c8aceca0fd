/* SPDX-License-Identifier: Apache-2.0 */
/* Finds things in an image or a video and draws boxes around them, with YOLO v3 or v4 as Darknet's files describe it:
 *
 *   sample_yolov4 NETWORK.cfg NETWORK.weights PICTURE RESULT [LABELS [THRESHOLD]]
 *
 * The whole network is one DirectML graph, made with the graph builder while the .cfg file is read (darknet.h). An
 * image is put into the network's shape without changing its own (letterbox); boxes are read out of the outputs, and of
 * those around the same thing the best is kept (yolo.h). LABELS has a line for each class, THRESHOLD is the least
 * score. */
#include "sample_network.h"
#include "darknet.h"
#include "draw.h"
#include "video.h"
#include "yolo.h"

#define OVERLAP 0.45f
enum { SIDE_MAX = 16384 };

struct program {
    ID3D12Device *device;
    IDMLDevice *dml;
    struct sample_queue q;
    struct darknet darknet;
    struct sample_network network;
    float *input, *outputs[DARKNET_HEADS_MAX];
    UINT64 input_bytes, output_bytes[DARKNET_HEADS_MAX];

    char **labels;
    size_t label_count;
    float threshold;
    struct SwsContext *to_picture, *to_fitting, *to_result;
    AVFrame *image;   /* red, green, blue, in the size of the first frame */
    AVFrame *fitting; /* the same in the size that fits the network */
    struct yolo_boxes boxes;
};

/* ---- the network ---- */

static void create_network(struct program *p, const char *cfg, const char *weights)
{
    struct darknet *d = &p->darknet;
    CHECK(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_1_0_CORE, &IID_ID3D12Device, (void **)&p->device));
    CHECK(DMLCreateDevice(p->device, DML_CREATE_DEVICE_FLAG_NONE, &IID_IDMLDevice, (void **)&p->dml));
    p->q = sample_queue_create(p->device);
    IDMLCompiledOperator *compiled = darknet_compile(d, p->dml, cfg, weights);
    p->input_bytes = (UINT64)d->width * d->height * 3 * sizeof(float);
    p->input = darknet_allocate(p->input_bytes, 1);
    for (UINT i = 0; i < d->head_count; i++) {
        const struct darknet_head *head = &d->heads[i];
        p->output_bytes[i] = (UINT64)head->columns * head->rows * head->anchors * (5 + head->classes) * sizeof(float);
        p->outputs[i] = darknet_allocate(p->output_bytes[i], 1);
    }
    p->network = sample_network_create(p->dml, &p->q, compiled, p->input_bytes, d->head_count, p->output_bytes);
}

static void run_network(struct program *p)
{
    sample_write(&p->q, p->network.in, p->input, p->input_bytes);
    sample_network_record(&p->network, p->q.list);
    sample_flush(&p->q);
    for (UINT i = 0; i < p->network.outputs; i++)
        sample_read(&p->q, p->network.out[i], p->outputs[i], p->output_bytes[i]);
}

/* ---- a frame ---- */

/* The image in the middle of the network's input, the rest of it grey. */
static void letterbox(struct program *p)
{
    const int width = (int)p->darknet.width, height = (int)p->darknet.height;
    const int left = (width - p->fitting->width) / 2, top = (height - p->fitting->height) / 2;
    video_convert(&p->to_fitting, p->image, p->fitting);
    for (size_t i = 0; i < p->input_bytes / sizeof(float); i++)
        p->input[i] = 0.5f;
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < p->fitting->height; y++) {
            const uint8_t *from = p->fitting->data[0] + (ptrdiff_t)y * p->fitting->linesize[0] + c;
            float *to = p->input + ((ptrdiff_t)c * height + top + y) * width + left;
            for (int x = 0; x < p->fitting->width; x++)
                to[x] = (float)from[3 * x] / 255;
        }
}

/* From parts of the network's input to pixels of the image. */
static void to_pixels(const struct program *p, struct yolo_box *box)
{
    const float width = (float)p->darknet.width, height = (float)p->darknet.height;
    const float inner_width = (float)p->fitting->width, inner_height = (float)p->fitting->height;
    const float left = floorf((width - inner_width) / 2), top = floorf((height - inner_height) / 2);
    float *at[4] = { &box->left, &box->top, &box->right, &box->bottom };
    for (int i = 0; i < 4; i += 2) {
        const float x = (*at[i] * width - left) / inner_width, y = (*at[i + 1] * height - top) / inner_height;
        *at[i] = fminf(fmaxf(x, 0), 1) * (float)p->image->width;
        *at[i + 1] = fminf(fmaxf(y, 0), 1) * (float)p->image->height;
    }
}

static const char *label_of(const struct program *p, UINT class, char text[16])
{
    snprintf(text, 16, "class %u", class);
    return class < p->label_count ? p->labels[class] : text;
}

static void draw_box(struct program *p, const struct yolo_box *box)
{
    const struct canvas canvas = { p->image->data[0], p->image->width, p->image->height, p->image->linesize[0] };
    const int at[4] = { (int)box->left, (int)box->top, (int)box->right, (int)box->bottom };
    const int size = 1 + canvas.height / 400;
    char text[128], number[16];
    snprintf(text, sizeof(text), "%s %.0f%%", label_of(p, box->class, number), (double)box->score * 100);
    draw_frame(&canvas, at, 2 * size, draw_colour(box->class));
    draw_text(&canvas, at[0], at[1], size, text, draw_colour(box->class));
}

static void run_frame(struct program *p, const AVFrame *frame, int number)
{
    char text[16];
    video_convert(&p->to_picture, frame, p->image);
    letterbox(p);
    run_network(p);
    p->boxes.count = 0;
    for (UINT i = 0; i < p->darknet.head_count; i++)
        yolo_read(&p->darknet, &p->darknet.heads[i], p->outputs[i], p->threshold, &p->boxes);
    yolo_suppress(&p->boxes, OVERLAP);
    for (size_t i = 0; i < p->boxes.count; i++) {
        struct yolo_box *box = &p->boxes.at[i];
        to_pixels(p, box);
        printf("frame %d: %s %.4f at %.2f %.2f %.2f %.2f\n", number, label_of(p, box->class, text), (double)box->score,
               (double)box->left, (double)box->top, (double)box->right, (double)box->bottom);
    }
    for (size_t i = p->boxes.count; i-- > 0;) /* the best last, over the others */
        draw_box(p, &p->boxes.at[i]);
}

/* ---- the program ---- */

static void read_labels(struct program *p, const char *path)
{
    const struct bytes file = read_file(path);
    const size_t size = (size_t)(file.end - file.at);
    char *rest = darknet_allocate(size, 1);
    memcpy(rest, file.at, size);
    free((void *)file.at);
    p->labels = darknet_allocate(size, sizeof(*p->labels)); /* there are no more lines than bytes */
    for (char *line; (line = strsep(&rest, "\n")) && (*line || rest); p->label_count++) {
        line[strcspn(line, "\r")] = 0;
        p->labels[p->label_count] = line;
    }
}

static AVFrame *create_picture(int width, int height)
{
    AVFrame *frame = video_need(av_frame_alloc());
    frame->width = width;
    frame->height = height;
    frame->format = AV_PIX_FMT_RGB24;
    video_check(av_frame_get_buffer(frame, 0), "image");
    return frame;
}

static void create_pictures(struct program *p, const AVFrame *first)
{
    const double across = (double)p->darknet.width / first->width, down = (double)p->darknet.height / first->height;
    const double scale = fmin(across, down);
    p->image = create_picture(first->width, first->height);
    p->fitting = create_picture((int)fmax(1, first->width * scale + 1e-6), (int)fmax(1, first->height * scale + 1e-6));
}

static void release(struct program *p)
{
    for (UINT i = 0; i < p->network.outputs; i++)
        free(p->outputs[i]);
    free(p->input);
    if (p->labels)
        free(p->labels[0]);
    free(p->labels);
    sample_network_release(&p->network);
    sample_queue_release(&p->q);
    IDMLDevice_Release(p->dml);
    ID3D12Device_Release(p->device);
    av_frame_free(&p->image);
    av_frame_free(&p->fitting);
    sws_freeContext(p->to_picture);
    sws_freeContext(p->to_fitting);
    sws_freeContext(p->to_result);
}

int main(int argc, char **argv)
{
    static struct program p;
    char *end = "";
    p.threshold = argc > 6 ? strtof(argv[6], &end) : 0.25f;
    if (argc < 5 || argc > 7 || *end || !(p.threshold >= 0 && p.threshold < 1)) {
        fprintf(stderr, "usage: %s NETWORK.cfg NETWORK.weights IMAGE RESULT [LABELS [THRESHOLD]]\n", argv[0]);
        return 2;
    }
    if (argc > 5 && *argv[5])
        read_labels(&p, argv[5]);
    struct video_reader in = video_open(argv[3]);
    const AVFrame *frame = video_next(&in);
    if (!frame || frame->width > SIDE_MAX || frame->height > SIDE_MAX)
        video_fail(argv[3], frame ? "its frames are too large" : "no frame in it");
    create_network(&p, argv[1], argv[2]);
    create_pictures(&p, frame);
    struct video_writer out = video_create(argv[4], frame->width, frame->height, in.rate);
    int frames = 0;
    const double begin = video_now();
    for (; frame && !out.closed; frame = video_next(&in)) {
        run_frame(&p, frame, frames++);
        video_convert(&p.to_result, p.image, out.frame);
        video_put(&out);
    }
    video_finish(&out);
    const double seconds = video_now() - begin;
    printf("%d %s of %dx%d in %.2f s: %.2f frames per second\n", frames, frames == 1 ? "frame" : "frames",
           p.image->width, p.image->height, seconds, frames / seconds);
    video_close(&in);
    release(&p);
    return 0;
}
