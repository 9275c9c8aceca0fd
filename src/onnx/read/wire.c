/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/read/wire.h"

static bool varint(struct onnx_wire *wire, uint64_t *out)
{
    *out = 0;
    for (uint32_t shift = 0; wire->at < wire->end && shift < 64; shift += 7) {
        uint8_t byte = *wire->at++;
        *out |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    wire->bad = true;
    return false;
}

static bool take(struct onnx_wire *wire, uint64_t size, struct onnx_field *out)
{
    if (size > (uint64_t)(wire->end - wire->at)) {
        wire->bad = true;
        return false;
    }
    out->data = wire->at;
    out->size = (size_t)size;
    wire->at += size;
    if (out->kind != ONNX_WIRE_BYTES)
        memcpy(&out->value, out->data, out->size);
    return true;
}

bool onnx_wire_next(struct onnx_wire *wire, struct onnx_field *out)
{
    uint64_t tag, size;
    *out = (struct onnx_field){ 0 };
    if (wire->bad || wire->at == wire->end || !varint(wire, &tag))
        return false;
    out->kind = (enum onnx_wire_kind)(tag & 7);
    if (tag >> 3 && tag >> 3 < 1u << 29) {
        out->number = (uint32_t)(tag >> 3);
        switch (out->kind) {
        case ONNX_WIRE_VARINT:
            return varint(wire, &out->value);
        case ONNX_WIRE_FIXED64:
            return take(wire, 8, out);
        case ONNX_WIRE_FIXED32:
            return take(wire, 4, out);
        case ONNX_WIRE_BYTES:
            return varint(wire, &size) && take(wire, size, out);
        }
    }
    wire->bad = true;
    return false;
}

size_t onnx_wire_fields(struct onnx_wire wire, uint32_t number)
{
    struct onnx_field field;
    size_t count = 0;
    while (onnx_wire_next(&wire, &field))
        count += field.number == number;
    return count;
}

int64_t onnx_field_int(struct onnx_wire *wire, const struct onnx_field *field)
{
    wire->bad |= field->kind != ONNX_WIRE_VARINT;
    return (int64_t)field->value;
}

float onnx_field_float(struct onnx_wire *wire, const struct onnx_field *field)
{
    float value;
    wire->bad |= field->kind != ONNX_WIRE_FIXED32;
    memcpy(&value, &field->value, sizeof(value));
    return value;
}

struct onnx_wire onnx_field_message(struct onnx_wire *wire, const struct onnx_field *field)
{
    wire->bad |= field->kind != ONNX_WIRE_BYTES;
    return (struct onnx_wire){ field->data, field->data ? field->data + field->size : NULL, wire->bad };
}

size_t onnx_field_count(struct onnx_wire *wire, const struct onnx_field *field, enum onnx_wire_kind kind)
{
    size_t count = 0, width = kind == ONNX_WIRE_FIXED32 ? 4 : 8;
    if (field->kind == kind)
        return 1;
    wire->bad |= field->kind != ONNX_WIRE_BYTES;
    if (kind != ONNX_WIRE_VARINT) {
        wire->bad |= field->size % width != 0;
        return field->size / width;
    }
    for (size_t i = 0; i < field->size; i++)
        count += field->data[i] < 128;
    wire->bad |= field->size && field->data[field->size - 1] >= 128;
    return count;
}

/* Counts encoded values without validating them: one for each that ends. */
static void list_varints(const struct onnx_field *field, uint32_t width, char *to)
{
    uint64_t value = 0;
    uint32_t shift = 0;
    for (size_t i = 0; i < field->size; i++) {
        value |= shift < 64 ? (uint64_t)(field->data[i] & 127) << shift : 0;
        shift += shift < 64 ? 7 : 0;
        if (field->data[i] >= 128)
            continue;
        memcpy(to, &value, width);
        to += width;
        value = shift = 0;
    }
}

void onnx_field_numbers(const struct onnx_field *field, enum onnx_wire_kind kind, uint32_t width, void *out)
{
    size_t step = kind == ONNX_WIRE_FIXED32 ? 4 : 8, count = field->size / step;
    if (field->kind == kind)
        memcpy(out, &field->value, width);
    else if (kind == ONNX_WIRE_VARINT)
        list_varints(field, width, out);
    else
        for (size_t i = 0; i < count; i++)
            memcpy((char *)out + i * width, field->data + i * step, width);
}
