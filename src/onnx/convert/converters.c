/* SPDX-License-Identifier: Apache-2.0 */
/* The table of converters. */
#include "onnx/convert/converters.h"

#include <stdlib.h>

static const struct onnx_converter rows[] = {
#define NO      NULL
#define MAP     onnx_rows_map
#define PRODUCT onnx_rows_product
#define NORM    onnx_rows_norm
#define LOOKUP  onnx_rows_lookup
#define FIRST   onnx_rows_first
#define RESHAPE onnx_rows_reshape
#define PERMUTE onnx_rows_permute
#define ALONG   onnx_rows_along
#define OWN     onnx_rows_own
#define ONNX_CONVERTER(domain, op, newest, wants, folds, rows, function)                                               \
    { domain, op, newest, wants, folds, rows, function },
#include "onnx/convert/converters.def"
#undef ONNX_CONVERTER
};

static int compare_rows(const void *a, const void *b)
{
    const struct onnx_converter *x = a, *y = b;
    int order = strcmp(x->domain, y->domain);
    return order ? order : strcmp(x->op, y->op);
}

const struct onnx_converter *onnx_converter_find(const char *domain, const char *op)
{
    const struct onnx_converter key = { .domain = strcmp(domain, "ai.onnx") ? domain : "", .op = op };
    return bsearch(&key, rows, ARRAY_SIZE(rows), sizeof(rows[0]), compare_rows);
}
