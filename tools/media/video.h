/* SPDX-License-Identifier: Apache-2.0 */
/* Videos, frame by frame, through the program ffmpeg, with images in pipes. */
#ifndef TOOLS_VIDEO_H
#define TOOLS_VIDEO_H

#include "tools/media/image.h"
#include "tools/output.h"

#include <stdio.h>
#include <sys/types.h>

struct tools_video {
    const char *path;
    FILE *frames, *messages; /* images from or to the program, and its messages */
    pid_t pid;
    bool writes;
    struct tools_output output; /* of one that is written */
    char rate[32];              /* frames per second, as ffmpeg writes it: 25/1 */
};

/* .mp4, .mkv, .webm, .mov and .avi. */
bool tools_video_is_name(const char *path);

/* The path must live as long as the video. */
bool tools_video_open(const char *path, struct tools_video *out, struct tools_error *error);
bool tools_video_create(const char *path, const char *rate, struct tools_video *out, struct tools_error *error);

/* The next frame; without pixels after the last. */
bool tools_video_read(struct tools_video *video, struct tools_image *out, struct tools_error *error);
bool tools_video_write(struct tools_video *video, const struct tools_image *image, struct tools_error *error);

/* Waits until a created one is complete and, if `ok`, renames it to its final name; otherwise removes it. One that is
 * read may end early. A zeroed one is allowed. */
bool tools_video_close(struct tools_video *video, bool ok, struct tools_error *error);

#endif
