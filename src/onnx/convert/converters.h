/* SPDX-License-Identifier: Apache-2.0 */
/* The converters of converters.def. */
#ifndef ONNX_CONVERTERS_H
#define ONNX_CONVERTERS_H

#include "onnx/emit/emit.h"

BASE_TABLE_BEGIN
#define ONNX_CONVERTER(domain, op, newest, wants, folds, rows, function) onnx_converter_fn function;
#include "onnx/convert/converters.def"
BASE_TABLE_END
#undef ONNX_CONVERTER

#endif
