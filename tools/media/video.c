/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* pipe2 */
#include "tools/media/video.h"

#include "tools/child.h"
#include "tools/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define VIDEO_WORDS_MAX 32

/* ffmpeg's format for a file name; NULL: not a video. */
static const char *video_format(const char *path)
{
    static const char *const formats[][2] = {
        { ".mp4", "mp4" }, { ".mkv", "matroska" }, { ".webm", "webm" }, { ".mov", "mov" }, { ".avi", "avi" }
    };
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (tools_ends_with(path, formats[i][0]))
            return formats[i][1];
    return NULL;
}

/* The format for ffmpeg to read. Otherwise ffmpeg would detect it from the contents, and a playlist names other files
 * to read. */
static const char *video_container(const char *path)
{
    const char *format = video_format(path);
    return !strcmp(format, "mp4") ? "mov" : !strcmp(format, "webm") ? "matroska" : format;
}

bool tools_video_is_name(const char *path)
{
    return video_format(path) != NULL;
}

/* Starts the program with one end of a pipe as its standard input (1: we write) or output (0: we read). */
static bool video_start(struct tools_video *video, char *const *words, bool writes, struct tools_error *error)
{
    int ends[2];
    sigset_t before;
    if (!(video->messages = tmpfile()) || pipe2(ends, O_CLOEXEC))
        return tools_fail(error, TOOLS_RUNTIME, "%s: %s", video->path, strerror(errno));
    tools_output_hold(&before);
    const struct tools_child child = { .program = words[0],
                                       .words = words,
                                       .files = { writes ? ends[0] : TOOLS_CHILD_NULL,
                                                  writes ? TOOLS_CHILD_NULL : ends[1], fileno(video->messages) },
                                       .mask = &before };
    const int failed = tools_child_start(&child, &video->pid);
    if (failed)
        video->pid = 0;
    if (writes)
        video->output.writer = video->pid;
    tools_output_release(&before);
    close(ends[writes ? 0 : 1]);
    video->frames = fdopen(ends[writes ? 1 : 0], writes ? "wb" : "rb");
    if (failed == ENOENT)
        return tools_fail(error, TOOLS_USAGE, "%s: videos need the program ffmpeg, which is not installed",
                          video->path);
    return (!failed && video->frames) ||
           tools_fail(error, TOOLS_RUNTIME, "%s: %s: %s", video->path, words[0], strerror(failed ? failed : errno));
}

/* Ends the program; returns its first message on failure. */
static bool video_stop(struct tools_video *video, struct tools_error *error)
{
    char line[200] = "";
    bool ok = !video->frames || !fclose(video->frames);
    video->frames = NULL;
    const int status = video->pid ? tools_child_wait(video->pid) : 0;
    video->pid = video->output.writer = 0;
    ok = ok && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!ok) {
        rewind(video->messages);
        if (fgets(line, sizeof(line), video->messages))
            line[strcspn(line, "\n")] = 0;
        tools_fail(error, TOOLS_USAGE, "%s: ffmpeg cannot read or write it%s%s", video->path, *line ? ": " : "", line);
    }
    return ok;
}

/* A file name as ffmpeg accepts it, whatever its first character. */
static char *video_name(const char *path)
{
    const size_t size = strlen(path) + sizeof("file:");
    char *name = malloc(size);
    if (name)
        snprintf(name, size, "file:%s", path);
    return name;
}

/* Runs one program; NAME is the file. */
static bool video_run(struct tools_video *video, const char *const *words, bool writes, struct tools_error *error)
{
    const bool partial = writes && video->output.partial[0];
    char *all[VIDEO_WORDS_MAX], *name = video_name(partial ? video->output.partial : video->path);
    uint32_t count = 0;
    if (!name)
        return tools_fail_memory(error);
    for (; words[count]; count++)
        all[count] = strcmp(words[count], "NAME") ? (char *)words[count] : name;
    all[count] = NULL;
    const bool ok = video_start(video, all, writes, error);
    free(name);
    return ok;
}

static bool video_ask_rate(struct tools_video *video, struct tools_error *error)
{
    const char *const words[] = { "ffprobe",
                                  "-v",
                                  "error",
                                  "-protocol_whitelist",
                                  "file",
                                  "-f",
                                  video_container(video->path),
                                  "-select_streams",
                                  "v:0",
                                  "-show_entries",
                                  "stream=avg_frame_rate",
                                  "-of",
                                  "csv=p=0",
                                  "NAME",
                                  NULL };
    unsigned over = 0, under = 0;
    bool ok = video_run(video, words, false, error);
    if (ok && fgets(video->rate, sizeof(video->rate), video->frames))
        video->rate[strcspn(video->rate, "\r\n,")] = 0;
    ok = ok && video_stop(video, error);
    if (ok && sscanf(video->rate, "%u/%u", &over, &under) != 2)
        ok = tools_fail(error, TOOLS_USAGE, "%s: it has no video stream", video->path);
    if (ok && (!over || !under)) /* unknown, as of an image */
        snprintf(video->rate, sizeof(video->rate), "25/1");
    if (video->messages)
        fclose(video->messages);
    video->messages = NULL;
    return ok;
}

bool tools_video_open(const char *path, struct tools_video *out, struct tools_error *error)
{
    /* At a constant rate, like the outputs. */
    const char *const words[] = { "ffmpeg",
                                  "-v",
                                  "error",
                                  "-nostdin",
                                  "-protocol_whitelist",
                                  "file",
                                  "-f",
                                  video_container(path),
                                  "-i",
                                  "NAME",
                                  "-map",
                                  "0:v:0",
                                  "-r",
                                  out->rate,
                                  "-f",
                                  "image2pipe",
                                  "-c:v",
                                  "ppm",
                                  "-pix_fmt",
                                  "rgb24",
                                  "-",
                                  NULL };
    *out = (struct tools_video){ .path = path };
    if (access(path, R_OK))
        return tools_fail(error, TOOLS_USAGE, "cannot read %s: %s", path, strerror(errno));
    return video_ask_rate(out, error) && video_run(out, words, false, error);
}

bool tools_video_create(const char *path, const char *rate, struct tools_video *out, struct tools_error *error)
{
    /* Most players support colours of half the resolution only, whose sizes are even, and assume ITU-R 709 for large
     * images without a tag. */
    static const char filters[] = "pad=ceil(iw/2)*2:ceil(ih/2)*2,scale=out_color_matrix=bt709:out_range=tv";
    const char *const words[] = { "ffmpeg",       "-v",
                                  "error",        "-y",
                                  "-f",           "image2pipe",
                                  "-framerate",   rate,
                                  "-c:v",         "ppm",
                                  "-i",           "-",
                                  "-vf",          filters,
                                  "-pix_fmt",     "yuv420p",
                                  "-colorspace",  "bt709",
                                  "-color_range", "tv",
                                  "-f",           video_format(path),
                                  "NAME",         NULL };
    *out = (struct tools_video){ .path = path, .writes = true };
    if (!tools_output_open(&out->output, path, error))
        return false;
    signal(SIGPIPE, SIG_IGN); /* an ended program is a failed write */
    return video_run(out, words, true, error);
}

bool tools_video_read(struct tools_video *video, struct tools_image *out, struct tools_error *error)
{
    unsigned width, height, most;
    *out = (struct tools_image){ 0 };
    const int got = fscanf(video->frames, "P6 %u %u %u", &width, &height, &most);
    if (got == EOF)
        return video_stop(video, error);
    if (got != 3 || most != 255 || fgetc(video->frames) == EOF)
        return tools_fail(error, TOOLS_USAGE, "%s: ffmpeg sent no image", video->path);
    if (!tools_image_init(out, width, height, error))
        return false;
    const size_t bytes = (size_t)width * height * 3;
    if (fread(out->pixels, 1, bytes, video->frames) == bytes)
        return true;
    tools_image_finish(out);
    return video_stop(video, error) && tools_fail(error, TOOLS_USAGE, "%s ends within an image", video->path);
}

bool tools_video_write(struct tools_video *video, const struct tools_image *image, struct tools_error *error)
{
    const size_t bytes = (size_t)image->width * image->height * 3;
    return (fprintf(video->frames, "P6 %u %u 255\n", image->width, image->height) > 0 &&
            fwrite(image->pixels, 1, bytes, video->frames) == bytes) ||
           (video_stop(video, error) && tools_fail(error, TOOLS_USAGE, "%s cannot be written", video->path));
}

bool tools_video_close(struct tools_video *video, bool ok, struct tools_error *error)
{
    struct tools_error ended; /* in the middle of an input, which is not */
    bool whole = !video->frames || video_stop(video, video->writes ? error : &ended) || !video->writes;
    if (video->output.file)
        whole = tools_output_close(&video->output, ok && whole, error) || !ok;
    if (video->messages)
        fclose(video->messages);
    video->messages = NULL;
    return whole;
}
