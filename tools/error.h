/* SPDX-License-Identifier: Apache-2.0 */
/* Error reports of the tools: one line of text and the exit code. */
#ifndef TOOLS_ERROR_H
#define TOOLS_ERROR_H

#include "base/base.h"

#include <anydml_d3d12.h>

enum tools_code {
    TOOLS_OK = 0,
    TOOLS_RUNTIME = 1, /* the device or the machine failed */
    TOOLS_USAGE = 2,   /* the command line, a file or the model is wrong */
};

struct tools_error {
    enum tools_code code;
    char text[768];
    bool parts; /* of tools_compile: it failed because the model is not a single graph */
};

/* Fills `error`; returns false, so that callers can write `return tools_fail(...)`. */
bool tools_fail(struct tools_error *error, enum tools_code code, const char *format, ...) BASE_PRINTF(3, 4);

/* true if `hr` is a success; else fills `error`: "<what>: E_OUTOFMEMORY (0x8007000e)". */
bool tools_check(struct tools_error *error, HRESULT hr, const char *what);

bool tools_fail_memory(struct tools_error *error);

/* The name of a result code, or "error". */
const char *tools_hresult_name(HRESULT hr);

/* Prints "<program>: <text>" as exactly one line on stderr and returns the exit code. */
int tools_report(const char *program, const struct tools_error *error);

#endif
