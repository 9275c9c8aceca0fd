/* SPDX-License-Identifier: Apache-2.0 */
/* Video files, and images as videos of one frame, with FFmpeg's libraries: frames as planes of numbers from 0 to 1 in
 * the order that networks take (red, green, blue), and back. A file that cannot be read or written ends the program
 * with one line and 2. Sound is left out, and frames are written at a constant rate. */
#ifndef VIDEO_H
#define VIDEO_H

#include <libavcodec/avcodec.h>
#include <libavdevice/avdevice.h>
#include <libavformat/avformat.h>
#include <libavutil/imgutils.h>
#include <libswscale/swscale.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void video_fail(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s\n", path, what);
    exit(2);
}

static int video_check(int result, const char *path)
{
    char text[AV_ERROR_MAX_STRING_SIZE];
    if (result < 0)
        video_fail(path, av_make_error_string(text, sizeof(text), result));
    return result;
}

static void *video_need(void *object)
{
    if (!object)
        video_fail("video", "out of memory");
    return object;
}

/* Seconds, to measure with. */
static inline double video_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* ---- reading ---- */

struct video_reader {
    const char *path;
    AVFormatContext *format;
    AVCodecContext *codec;
    AVPacket *packet;
    AVFrame *frame; /* the current one */
    AVRational rate;
    int stream, ended;
};

static inline struct video_reader video_open(const char *path)
{
    struct video_reader r = { .path = path };
    const AVCodec *codec = NULL;
    av_log_set_level(AV_LOG_QUIET); /* errors are reported in one line, here */
    video_check(avformat_open_input(&r.format, path, NULL, NULL), path);
    video_check(avformat_find_stream_info(r.format, NULL), path);
    r.stream = av_find_best_stream(r.format, AVMEDIA_TYPE_VIDEO, -1, -1, &codec, 0);
    if (r.stream < 0)
        video_fail(path, "no video in it");
    AVStream *stream = r.format->streams[r.stream];
    r.codec = video_need(avcodec_alloc_context3(codec));
    video_check(avcodec_parameters_to_context(r.codec, stream->codecpar), path);
    r.codec->thread_count = 0; /* one per CPU */
    video_check(avcodec_open2(r.codec, codec, NULL), path);
    r.rate = av_guess_frame_rate(r.format, stream, NULL);
    if (r.rate.num <= 0 || r.rate.den <= 0)
        r.rate = (AVRational){ 25, 1 };
    r.packet = video_need(av_packet_alloc());
    r.frame = video_need(av_frame_alloc());
    return r;
}

/* The next frame, or NULL after the last one. A truncated file ends where it is truncated. */
static inline const AVFrame *video_next(struct video_reader *r)
{
    for (int result; (result = avcodec_receive_frame(r->codec, r->frame)) != 0;) {
        if (result == AVERROR_EOF)
            return NULL;
        if (result != AVERROR(EAGAIN))
            video_check(result, r->path);
        do
            av_packet_unref(r->packet);
        while (!r->ended && !(r->ended = av_read_frame(r->format, r->packet) < 0) &&
               r->packet->stream_index != r->stream);
        result = avcodec_send_packet(r->codec, r->ended ? NULL : r->packet);
        if (result != AVERROR_INVALIDDATA) /* a damaged frame is passed over, as players do */
            video_check(result, r->path);
    }
    return r->frame;
}

static inline void video_close(struct video_reader *r)
{
    av_frame_free(&r->frame);
    av_packet_free(&r->packet);
    avcodec_free_context(&r->codec);
    avformat_close_input(&r->format);
}

/* ---- writing ---- */

struct video_writer {
    const char *path;
    AVFormatContext *format;
    AVCodecContext *codec;
    AVStream *stream;
    AVPacket *packet;
    AVFrame *frame;      /* to be filled for video_put */
    bool window, closed; /* closed: by the viewer */
    double begin;        /* a window: when the first frame was shown */
};

static inline void video_wrote(const struct video_writer *w, int result)
{
    if (result < 0 && w->window)
        video_fail(w->path, "cannot open a window: is there a display?");
    video_check(result, w->path);
}

/* The formats of pixels that an encoder supports, AV_PIX_FMT_NONE after the last; NULL: any. */
static inline const enum AVPixelFormat *video_pixel_formats(const AVCodec *codec)
{
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 13, 100)
    const void *formats = NULL;
    if (avcodec_get_supported_config(NULL, codec, AV_CODEC_CONFIG_PIX_FORMAT, 0, &formats, NULL) < 0)
        return NULL;
    return (const enum AVPixelFormat *)formats;
#else
    return codec->pix_fmts;
#endif
}

/* What libavdevice shows frames with; NULL: nothing. FFmpeg 9 has no SDL any more, XVideo needs an X server. */
static inline const char *video_window(void)
{
    static const char *const devices[] = { "sdl2", "xv" };
    for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++)
        if (av_guess_format(devices[i], NULL, NULL))
            return devices[i];
    return NULL;
}

/* The name says the format: .mp4, .mkv, .y4m (uncompressed); frame_%03d.png is an image for each frame; `window` is a
 * window, which shows frames at their rate, or as soon as they are there. */
static inline struct video_writer video_create(const char *path, int width, int height, AVRational rate)
{
    struct video_writer w = { .path = path, .window = !strcmp(path, "window") };
    avdevice_register_all();
    const char *device = w.window ? video_window() : NULL;
    if (w.window && !device)
        video_fail(path, "FFmpeg's libavdevice has no device for windows here");
    if (avformat_alloc_output_context2(&w.format, NULL, device, path) < 0)
        video_fail(path, "the name's suffix is not a known video format");
    const AVCodec *codec = avcodec_find_encoder(
        w.window ? AV_CODEC_ID_RAWVIDEO : av_guess_codec(w.format->oformat, NULL, path, NULL, AVMEDIA_TYPE_VIDEO));
    if (!codec)
        video_fail(path, "no encoder for this format");
    w.codec = video_need(avcodec_alloc_context3(codec));
    w.codec->width = width;
    w.codec->height = height;
    w.codec->time_base = av_inv_q(rate);
    w.codec->framerate = rate;
    w.codec->pix_fmt = AV_PIX_FMT_YUV420P;
    const enum AVPixelFormat *formats = video_pixel_formats(codec);
    if (formats)
        w.codec->pix_fmt = avcodec_find_best_pix_fmt_of_list(formats, AV_PIX_FMT_YUV420P, 0, NULL);
    w.codec->colorspace = AVCOL_SPC_SMPTE170M; /* libswscale's default */
    if (w.format->oformat->flags & AVFMT_GLOBALHEADER)
        w.codec->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    video_check(avcodec_open2(w.codec, codec, NULL), path);
    w.stream = video_need(avformat_new_stream(w.format, NULL));
    w.stream->time_base = w.codec->time_base;
    w.stream->avg_frame_rate = rate;
    video_check(avcodec_parameters_from_context(w.stream->codecpar, w.codec), path);
    if (!(w.format->oformat->flags & AVFMT_NOFILE))
        video_check(avio_open(&w.format->pb, path, AVIO_FLAG_WRITE), path);
    video_wrote(&w, avformat_write_header(w.format, NULL));
    w.packet = video_need(av_packet_alloc());
    w.frame = video_need(av_frame_alloc());
    w.frame->width = width;
    w.frame->height = height;
    w.frame->format = w.codec->pix_fmt;
    w.frame->pts = 0;
    video_check(av_frame_get_buffer(w.frame, 0), path);
    return w;
}

static inline void video_encode(struct video_writer *w, const AVFrame *frame)
{
    video_check(avcodec_send_frame(w->codec, frame), w->path);
    for (int result; (result = avcodec_receive_packet(w->codec, w->packet)) != AVERROR(EAGAIN);) {
        if (result == AVERROR_EOF)
            return;
        video_check(result, w->path);
        w->packet->duration = 1;
        av_packet_rescale_ts(w->packet, w->codec->time_base, w->stream->time_base);
        result = av_interleaved_write_frame(w->format, w->packet);
        w->closed = w->closed || (w->window && result == AVERROR(EIO));
        if (!w->closed)
            video_wrote(w, result);
    }
}

/* Until it is time for the frame. */
static inline void video_wait(struct video_writer *w)
{
    if (!w->frame->pts)
        w->begin = video_now();
    const double left = w->begin + (double)w->frame->pts * av_q2d(w->codec->time_base) - video_now();
    const struct timespec time = { (time_t)left, (long)((left - floor(left)) * 1e9) };
    if (left > 0)
        nanosleep(&time, NULL);
}

/* Appends the frame in w->frame. The encoder may keep that memory, so the next frame may get another. */
static inline void video_put(struct video_writer *w)
{
    if (w->window)
        video_wait(w);
    video_encode(w, w->frame);
    w->frame->pts++;
    video_check(av_frame_make_writable(w->frame), w->path);
}

static inline void video_finish(struct video_writer *w)
{
    video_encode(w, NULL);
    if (!w->closed)
        video_check(av_write_trailer(w->format), w->path);
    if (!(w->format->oformat->flags & AVFMT_NOFILE))
        video_check(avio_closep(&w->format->pb), w->path);
    av_frame_free(&w->frame);
    av_packet_free(&w->packet);
    avcodec_free_context(&w->codec);
    avformat_free_context(w->format);
}

/* ---- frames and planes ---- */

/* Scales and converts a whole frame into another one, whose colours are ITU-R 601 unless they are RGB. */
static inline void video_convert(struct SwsContext **sws, const AVFrame *from, AVFrame *to)
{
    const int flags = SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP;
    *sws = sws_getCachedContext(*sws, from->width, from->height, from->format, to->width, to->height, to->format, flags,
                                NULL, NULL, NULL);
    if (!*sws)
        video_fail("video", "its pixels cannot be converted");
    sws_setColorspaceDetails(*sws, sws_getCoefficients(from->colorspace), from->color_range == AVCOL_RANGE_JPEG,
                             sws_getCoefficients(SWS_CS_ITU601), 0, 0, 1 << 16, 1 << 16);
    video_check(
        sws_scale(*sws, (const uint8_t *const *)from->data, from->linesize, 0, from->height, to->data, to->linesize),
        "video");
}

/* A frame of planes of floats, whose lines have padding for libswscale's vectors. */
static inline AVFrame *video_planes(int width, int height)
{
    AVFrame *frame = video_need(av_frame_alloc());
    frame->width = width;
    frame->height = height;
    frame->format = AV_PIX_FMT_GBRPF32;
    video_check(av_frame_get_buffer(frame, 0), "video");
    return frame;
}

/* Between such a frame, whose planes are green, blue, red, and [3, height, width] with red first. */
static inline void video_copy_planes(const AVFrame *frame, float *pixels, int to_frame)
{
    static const int red_first[3] = { 2, 0, 1 };
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < frame->height; y++, pixels += frame->width) {
            uint8_t *line = frame->data[red_first[c]] + (ptrdiff_t)y * frame->linesize[red_first[c]];
            memcpy(to_frame ? (void *)line : pixels, to_frame ? (void *)pixels : line, (size_t)frame->width * 4);
        }
}

#endif
