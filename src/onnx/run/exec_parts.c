/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors whose sizes are known only at run time, and caches that are carried from an input to an output. */
#include "onnx/run/exec_context.h"

bool onnx_port_partial(const struct onnx_port *about)
{
    bool any = false;
    for (uint32_t d = 0; d < about->rank; d++)
        any = any || about->lengths[d];
    return any;
}

struct onnx_carrying onnx_carrying_of(const struct onnx_program *p, uint32_t output, const uint32_t *lengths)
{
    const struct onnx_port *to = &p->outputs[output], *from = &p->inputs[to->carried - 1];
    struct onnx_carrying c = { .count = 1 };
    int64_t there[ONNX_RANK_MAX], here[ONNX_RANK_MAX], rows = 1;
    uint32_t axis = 0;
    onnx_port_dims(p, from, lengths ? lengths : p->most, there);
    onnx_port_dims(p, to, p->most, here);
    while (axis < to->rank && there[axis] == here[axis])
        c.count *= (uint64_t)here[axis++];
    for (uint32_t d = axis + 1; d < to->rank; d++)
        rows *= here[d];
    if (axis == to->rank)
        return (struct onnx_carrying){ 1, to->bytes, to->bytes, to->bytes };
    c.from_bytes = onnx_bytes(from->onnx_type, there[axis] * rows);
    c.to_bytes = onnx_bytes(to->onnx_type, here[axis] * rows);
    c.bytes = BASE_MIN(c.from_bytes, c.to_bytes);
    return c;
}

/* The layout of a port with partial lengths: blocks side by side, at `at` along the leading dimensions. */
struct part {
    int64_t dims[ONNX_RANK_MAX], at[ONNX_RANK_MAX]; /* of the caller's tensor; of a block */
    uint32_t last;                                  /* the last dimension that is filled in part */
    uint64_t bytes, pitch, row;                     /* of a block in either buffer, and of the part after `last` */
};

static struct part part_of(const struct onnx_program *p, const struct onnx_port *about, const uint32_t *lengths)
{
    struct part part = { .last = about->rank };
    int64_t step = 1;
    onnx_port_dims(p, about, lengths, part.dims);
    while (part.last && !about->lengths[part.last - 1])
        step *= part.dims[--part.last];
    part.last -= part.last > 0;
    part.row = onnx_bytes(about->onnx_type, step);
    part.bytes = part.row * (uint64_t)part.dims[part.last];
    part.pitch = part.row * about->sizes[part.last];
    return part;
}

/* Copies to the port's buffer, block by block; rows and blocks after the caller's are filled with copies of the
 * last. */
static void fill_place(struct part *part, const struct onnx_port *about, char *place, const char *packed)
{
    for (uint64_t done = 0; done < about->bytes; done += part->pitch, place += part->pitch) {
        uint64_t from = 0;
        for (uint32_t d = 0; d < part->last; d++)
            from = from * (uint64_t)part->dims[d] + (uint64_t)BASE_MIN(part->at[d], part->dims[d] - 1);
        memcpy(place, packed + from * part->bytes, part->bytes);
        for (uint64_t at = part->bytes; part->bytes && at < part->pitch; at += part->row)
            memcpy(place + at, place + part->bytes - part->row, part->row);
        for (uint32_t d = part->last; d-- > 0 && ++part->at[d] == about->sizes[d];)
            part->at[d] = 0;
    }
}

static void take_packed(struct part *part, const struct onnx_port *about, const char *place, char *packed)
{
    int64_t blocks = 1;
    for (uint32_t d = 0; d < part->last; d++)
        blocks *= part->dims[d];
    for (; blocks-- > 0; packed += part->bytes) {
        uint64_t from = 0;
        for (uint32_t d = 0; d < part->last; d++)
            from = from * about->sizes[d] + (uint64_t)part->at[d];
        memcpy(packed, place + from * part->pitch, part->bytes);
        for (uint32_t d = part->last; d-- > 0 && ++part->at[d] == part->dims[d];)
            part->at[d] = 0;
    }
}

void onnx_port_copy(const struct onnx_program *p, const struct onnx_port *about, const uint32_t *lengths, void *place,
                    void *packed, bool in)
{
    if (onnx_port_partial(about)) {
        struct part part = part_of(p, about, lengths);
        if (in)
            fill_place(&part, about, place, packed);
        else
            take_packed(&part, about, place, packed);
        return;
    }
    memcpy(in ? place : packed, in ? packed : place, about->bytes);
}
