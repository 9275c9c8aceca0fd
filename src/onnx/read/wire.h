/* SPDX-License-Identifier: Apache-2.0 */
/* The protobuf wire format: a message is a sequence of fields. Nothing is copied; a reader never leaves its bytes. */
#ifndef ONNX_WIRE_H
#define ONNX_WIRE_H

#include "base/base.h"

/* The rest of the message. bad: the bytes are not a message, or a field does not have the expected kind. */
struct onnx_wire {
    const uint8_t *at, *end;
    bool bad;
};

enum onnx_wire_kind { ONNX_WIRE_VARINT = 0, ONNX_WIRE_FIXED64 = 1, ONNX_WIRE_BYTES = 2, ONNX_WIRE_FIXED32 = 5 };

struct onnx_field {
    uint32_t number;
    enum onnx_wire_kind kind;
    uint64_t value;      /* unless BYTES */
    const uint8_t *data; /* BYTES: a text, a message, or a packed list of numbers */
    size_t size;
};

/* false: no more fields, or wire->bad. */
bool onnx_wire_next(struct onnx_wire *wire, struct onnx_field *out);

/* How many fields `number` there are. */
size_t onnx_wire_fields(struct onnx_wire wire, uint32_t number);

/* The field with the expected kind; another kind sets `bad`. */
int64_t onnx_field_int(struct onnx_wire *wire, const struct onnx_field *field);
float onnx_field_float(struct onnx_wire *wire, const struct onnx_field *field);
struct onnx_wire onnx_field_message(struct onnx_wire *wire, const struct onnx_field *field);

/* A repeated number, of which one field may have many: their number, of this kind; and the lowest `width` bytes of
 * each. */
size_t onnx_field_count(struct onnx_wire *wire, const struct onnx_field *field, enum onnx_wire_kind kind);
void onnx_field_numbers(const struct onnx_field *field, enum onnx_wire_kind kind, uint32_t width, void *out);

#endif
