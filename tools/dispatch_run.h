/* SPDX-License-Identifier: Apache-2.0 */
/* What anydml dispatch does with a device. */
#ifndef TOOLS_DISPATCH_RUN_H
#define TOOLS_DISPATCH_RUN_H

#include "tools/dispatch.h"
#include "tools/program.h"

/* Compiles and initialises; `dispatch` must outlive the program. When the device refuses, the error says why in the
 * words of its debug layer. */
bool tools_dispatch_compile(struct tools_session *session, struct dispatch_reader *reader, struct dispatch *dispatch,
                            struct tools_program **out, double *out_ms);

#endif
