/* SPDX-License-Identifier: Apache-2.0 */
/* A video of a photograph, over which the camera moves, for the samples that take videos:
 *
 *   sample_make_clip PHOTOGRAPH CLIP WIDTH HEIGHT FRAMES */
#include "video.h"

#include <math.h>

enum { SIDE_MAX = 8192 };

/* A part of the photograph: libswscale takes it as an image of its own, with the original distance between lines. */
static void crop(const AVFrame *photograph, AVFrame *window, int x, int y)
{
    window->data[0] = photograph->data[0] + (ptrdiff_t)y * photograph->linesize[0] + (ptrdiff_t)x * 3;
    window->linesize[0] = photograph->linesize[0];
}

int main(int argc, char **argv)
{
    const int width = argc == 6 ? atoi(argv[3]) : 0, height = argc == 6 ? atoi(argv[4]) : 0;
    const int frames = argc == 6 ? atoi(argv[5]) : 0;
    if (width < 2 || height < 2 || width > SIDE_MAX || height > SIDE_MAX || width % 2 || height % 2 || frames < 1) {
        fprintf(stderr, "usage: %s PHOTOGRAPH CLIP WIDTH HEIGHT FRAMES (even sizes up to %d)\n", argv[0], SIDE_MAX);
        return 2;
    }
    struct video_reader in = video_open(argv[1]);
    const AVFrame *frame = video_next(&in);
    if (!frame)
        video_fail(argv[1], "no frame in it");
    struct SwsContext *sws = NULL;
    AVFrame *photograph = video_need(av_frame_alloc()), *window = video_need(av_frame_alloc());
    photograph->width = frame->width;
    photograph->height = frame->height;
    photograph->format = window->format = AV_PIX_FMT_RGB24;
    video_check(av_frame_get_buffer(photograph, 0), argv[1]);
    video_convert(&sws, frame, photograph);

    /* Three quarters of the largest window of this shape, on an ellipse over the photograph. */
    const double scale = 0.75 * fmin((double)photograph->width / width, (double)photograph->height / height);
    window->width = (int)fmax(1, scale * width);
    window->height = (int)fmax(1, scale * height);
    struct video_writer out = video_create(argv[2], width, height, (AVRational){ 25, 1 });
    for (int i = 0; i < frames; i++) {
        const double angle = 6.283185307179586 * i / frames;
        crop(photograph, window, (int)((0.5 - 0.5 * cos(angle)) * (photograph->width - window->width)),
             (int)((0.5 + 0.5 * sin(angle)) * (photograph->height - window->height)));
        video_convert(&sws, window, out.frame);
        video_put(&out);
    }
    video_finish(&out);
    video_close(&in);
    av_frame_free(&photograph);
    memset(window->data, 0, sizeof(window->data)); /* not owned */
    av_frame_free(&window);
    sws_freeContext(sws);
    return 0;
}
