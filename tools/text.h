/* SPDX-License-Identifier: Apache-2.0 */
/* Small helpers of the commands: numbers from text, shapes to text, JSON strings, clocks, medians. */
#ifndef TOOLS_TEXT_H
#define TOOLS_TEXT_H

#include "onnx/onnx.h"

#include <stdio.h>

/* The whole text is a decimal number, low <= it <= high. */
bool tools_parse_uint(const char *text, uint64_t low, uint64_t high, uint64_t *out);
bool tools_parse_double(const char *text, double *out);

/* "1x3x224x224"; sizes from 1 to 2^31 - 1. */
bool tools_parse_shape(const char *text, struct onnx_input *out);

/* "0.485,0.456,0.406", or one number for all three. */
bool tools_parse_triple(const char *text, float out[3]);

/* "float32[1,3,height,224]"; symbols may be NULL. Returns `buffer`. */
const char *tools_shape_text(char *buffer, size_t size, int32_t type, uint32_t rank, const int64_t *dims,
                             const char *const *symbols);

bool tools_ends_with(const char *text, const char *ending); /* upper and lower case are equal */

void tools_json_string(FILE *file, const char *text);

double tools_now_ms(void);

/* Sorts `values`; p = 0.5 is the median. count > 0. */
double tools_percentile(double *values, uint32_t count, double p);

#endif
