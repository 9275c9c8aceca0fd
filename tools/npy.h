/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays in memory and in .npy files (versions 1 to 3, little-endian, C order). */
#ifndef TOOLS_NPY_H
#define TOOLS_NPY_H

#include "onnx/onnx.h"
#include "tools/error.h"

#include <stdio.h>

struct tools_array {
    int32_t type; /* enum onnx_type */
    uint32_t rank;
    int64_t dims[ONNX_RANK_MAX];
    uint64_t bytes;
    void *data;
};

/* Sets type, dims and bytes and allocates zeroed data. Fails when the size does not fit into memory. */
bool tools_array_init(struct tools_array *array, int32_t type, uint32_t rank, const int64_t *dims,
                      struct tools_error *error);
void tools_array_finish(struct tools_array *array); /* a zeroed array is allowed */
uint64_t tools_array_count(const struct tools_array *array);

/* Converts in place. Floating-point types are rounded to each other; integers keep their value or fail; bool becomes 0
 * or 1. `name` is for the message. */
bool tools_array_convert(struct tools_array *array, int32_t type, const char *name, struct tools_error *error);

bool tools_npy_read(const char *path, struct tools_array *out, struct tools_error *error);
/* Of an open file; `path` is for the message. */
bool tools_npy_read_open(FILE *file, const char *path, struct tools_array *out, struct tools_error *error);
bool tools_npy_write(const char *path, const struct tools_array *array, struct tools_error *error);

#endif
