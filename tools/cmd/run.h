/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `anydml run`: its options, its inputs, its outputs. */
#ifndef TOOLS_RUN_H
#define TOOLS_RUN_H

#include "tools/media/image.h"
#include "tools/trace.h"
#include "tools/media/video.h"

#define RUN_FILES_MAX 64

/* An input that is a folder, with its files in sequence, or a video, with its frames. */
struct run_folder {
    const char *path;         /* NULL: none */
    uint32_t input;           /* index of the model's input */
    struct tools_video video; /* open: it is one */
    struct tools_video *made; /* per output of the model; opened with the first frame */
    uint32_t frame;           /* of the video, from 0 on */
    bool ended;               /* the video */
    char **names, *file;      /* in the order of their bytes; the path of the current one */
    uint32_t count;
    const char **outputs; /* per output of the model: the folder for results, or NULL */
};

struct run {
    /* options */
    const char *path, *labels, *trace_path;
    const char *inputs[RUN_FILES_MAX], *outputs[RUN_FILES_MAX]; /* [NAME=]FILE */
    uint32_t input_count, output_count, device, repeat;
    struct tools_picture picture;
    bool has_range, own_weights;
    DML_EXECUTION_FLAGS flags;

    /* state */
    struct run_folder folder;
    struct onnx_model *model;
    const char **input_files, **output_files; /* per input and output of the model; outputs may be NULL */
    struct tools_array *arrays;               /* per input */
    struct onnx_input *shapes;                /* per input */
    struct tools_session *session;
    struct tools_program *program;
    struct tools_trace trace;
    double compile_ms, host_ms, device_ms, fastest_ms; /* the two in the middle are medians */
};

/* Loads the model, assigns every file to its input or output, and reads the inputs in the model's types. */
bool tools_run_load(struct run *run, struct tools_error *error);

/* Reads the file of input i. */
bool tools_run_read(struct run *run, uint32_t i, struct tools_error *error);

/* One name of a dimension is one size, in all inputs. */
bool tools_run_check_symbols(const struct run *run, struct tools_error *error);

/* Compiles for the shapes of the inputs and sets them. */
bool tools_run_compile(struct run *run, struct tools_error *error);

/* Finds the input that is a folder or a video, if there is one, and selects its first file. Then tools_run_folder runs
 * the model for each of them, prints and stores. */
bool tools_run_folder_find(struct run *run, struct tools_error *error);
bool tools_run_folder(struct run *run, struct tools_error *error);
void tools_run_folder_finish(struct run *run);

/* The next frame of the video, empty after the last; and an image as the next frame of the video of output i. */
bool tools_run_frame(struct run *run, struct tools_image *out, struct tools_error *error);
bool tools_run_keep_frame(struct run *run, uint32_t i, const struct tools_image *image, struct tools_error *error);

/* Reads the outputs back, writes those with a file, prints them all, and the top five labels. */
bool tools_run_store(struct run *run, struct tools_error *error);

#endif
