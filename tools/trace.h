/* SPDX-License-Identifier: Apache-2.0 */
/* --trace FILE: one run as a file for trace viewers, with the roofline of the machine. */
#ifndef TOOLS_TRACE_H
#define TOOLS_TRACE_H

#include "tools/program.h"

/* Peak rates, measured on the session's device in a tenth of a second: operations per second of a float32 GEMM of 768 x
 * 768 matrices, and bytes read and written per second by a copy of 64 MiB; 0 if the device cannot run them.
 */
struct tools_peaks {
    double flops, bytes;
};
void tools_peaks_measure(struct tools_session *session, struct tools_peaks *out);

struct tools_trace {
    struct tools_peaks peaks;
    uint32_t steps;
    double ms; /* of the traced run */
};

/* Runs the program once as a warm-up and once for the file. */
bool tools_trace_write(struct tools_program *program, const char *path, struct tools_trace *out,
                       struct tools_error *error);

/* One line that starts with "trace". */
void tools_trace_print(const struct tools_trace *trace, const char *path);

#endif
