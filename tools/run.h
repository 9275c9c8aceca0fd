/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `anydml run`: its options, its inputs, its outputs. */
#ifndef TOOLS_RUN_H
#define TOOLS_RUN_H

#include "tools/image.h"
#include "tools/trace.h"

#define RUN_FILES_MAX 64

struct run {
    /* options */
    const char *path, *labels, *trace_path;
    const char *inputs[RUN_FILES_MAX], *outputs[RUN_FILES_MAX]; /* [NAME=]FILE */
    uint32_t input_count, output_count, device, repeat;
    struct tools_picture picture;
    bool has_range, own_weights;
    DML_EXECUTION_FLAGS flags;

    /* state */
    struct onnx_model *model;
    const char **input_files, **output_files; /* per input and output of the model; outputs may be NULL */
    struct tools_array *arrays;               /* per input */
    struct onnx_input *shapes;                /* per input */
    struct tools_session *session;
    struct tools_program *program;
    struct tools_trace trace;
    double compile_ms, host_ms, device_ms, fastest_ms; /* the two in the middle are medians */
};

/* Loads the model, gives every file its input or output, and reads the inputs in the model's types. */
bool tools_run_load(struct run *run, struct tools_error *error);

/* Reads the outputs back, writes those that have a file, prints them all, and the top five labels. */
bool tools_run_store(struct run *run, struct tools_error *error);

#endif
