/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled model on a device: initialised once, executed any number of times. A model that is not a single graph
 * (loops, branches by computed values) is compiled part by part while it runs. */
#ifndef TOOLS_PROGRAM_H
#define TOOLS_PROGRAM_H

#include "onnx/run/flow.h"
#include "tools/npy.h"
#include "tools/session.h"

struct tools_program {
    struct tools_session *session;
    struct onnx_exec *exec;
    const struct onnx_program *onnx; /* the same program, its description; of a flow after its first run */
    void **inputs, **outputs;        /* the memory of each port */
    struct onnx_flow *flow;          /* instead of exec; */
    struct onnx_program *ports;      /* its description, and */
    struct onnx_array *given, *made; /* its inputs and outputs */
    double run_ms;                   /* of the last run */
    uint64_t temporary_bytes, persistent_bytes;
    double initialize_ms;
};

/* Takes ownership of `onnx`, even on failure; `session` must outlive the program. Weights are uploaded here; inputs are
 * zeros.
 */
bool tools_program_create(struct tools_session *session, struct onnx_program *onnx, struct tools_program **out,
                          struct tools_error *error);
void tools_program_destroy(struct tools_program *program); /* NULL is fine */

/* The same for a model that is not a single graph; its parts are compiled by the first runs with their values. Model
 * and session must outlive the program. */
bool tools_program_create_flow(struct tools_session *session, const struct onnx_model *model,
                               const struct onnx_input *inputs, DML_EXECUTION_FLAGS flags, struct tools_program **out,
                               struct tools_error *error);

/* array->bytes must equal the port's. */
bool tools_program_set_input(struct tools_program *program, uint32_t index, const struct tools_array *array,
                             struct tools_error *error);

/* All inputs random, always the same ones (program_fill.c). */
bool tools_program_fill(struct tools_program *program, struct tools_error *error);
/* One execution, in milliseconds by the host's clock; and how long it took on the device, when that is watched. */
bool tools_program_run(struct tools_program *program, double *ms, struct tools_error *error);

/* After a run: repeats it without copying inputs and outputs. Not for flows and programs without device work. */
bool tools_program_repeats(const struct tools_program *program);
bool tools_program_repeat(struct tools_program *program, double *ms, struct tools_error *error);

/* Before the first run, or before tools_program_repeat, which then executes it this many times; the mean is
 * reported. */
bool tools_program_watch(struct tools_program *program, uint32_t times, struct tools_error *error);
double tools_program_device_ms(const struct tools_program *program); /* of the last run */

/* A copy of output `index` with the shape of its port. */
bool tools_program_get_output(struct tools_program *program, uint32_t index, struct tools_array *out,
                              struct tools_error *error);

/* onnx_model_load; messages start with the path. */
bool tools_model_load(const char *path, struct onnx_model **out, struct tools_error *error);

/* onnx_compile with its time, its error classified as usage or runtime; error->parts has more details. */
bool tools_compile(struct tools_session *session, const struct onnx_model *model, struct onnx_input *inputs,
                   DML_EXECUTION_FLAGS flags, struct onnx_program **out, double *ms, struct tools_error *error);

#endif
