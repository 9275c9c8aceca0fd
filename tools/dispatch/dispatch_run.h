/* SPDX-License-Identifier: Apache-2.0 */
/* The device part of anydml dispatch. */
#ifndef TOOLS_DISPATCH_RUN_H
#define TOOLS_DISPATCH_RUN_H

#include "tools/dispatch/dispatch.h"
#include "tools/program.h"

/* Compiles and initialises; `dispatch` must outlive the program. If the device fails, the error has the message of its
 * debug layer. */
bool tools_dispatch_compile(struct tools_session *session, struct dispatch_reader *reader, struct dispatch *dispatch,
                            struct tools_program **out, double *out_ms);

#endif
