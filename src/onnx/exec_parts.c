/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of a run whose sizes are known then only, and caches that go from an input to an output. */
#include "onnx/exec_context.h"

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

/* Between the caller's packed elements and the port's place for the most that there can be, filled up with zeros. */
static void copy_part(const struct onnx_program *p, const struct onnx_port *about, const uint32_t *lengths, char *place,
                      char *packed, bool in)
{
    int64_t dims[ONNX_RANK_MAX], at[ONNX_RANK_MAX] = { 0 }, rows = 1, step = 1;
    uint32_t last = about->rank;
    onnx_port_dims(p, about, lengths, dims);
    while (last && !about->lengths[last - 1])
        step *= dims[--last];
    last -= last > 0; /* the last dimension that is filled in part: up to there elements lie side by side */
    const uint64_t bytes = onnx_bytes(about->onnx_type, dims[last] * step);
    const uint64_t pitch = onnx_bytes(about->onnx_type, about->sizes[last] * step);
    for (uint32_t d = 0; d < last; d++)
        rows *= dims[d];
    if (in)
        memset(place, 0, about->bytes);
    for (int64_t row = 0; row < rows; row++) {
        uint64_t offset = 0;
        for (uint32_t d = 0; d < last; d++)
            offset = offset * about->sizes[d] + (uint64_t)at[d];
        memcpy(in ? place + offset * pitch : packed + (uint64_t)row * bytes,
               in ? packed + (uint64_t)row * bytes : place + offset * pitch, bytes);
        for (uint32_t d = last; d-- > 0 && ++at[d] == dims[d];)
            at[d] = 0;
    }
}

void onnx_port_copy(const struct onnx_program *p, const struct onnx_port *about, const uint32_t *lengths, void *place,
                    void *packed, bool in)
{
    if (onnx_port_partial(about))
        copy_part(p, about, lengths, place, packed, in);
    else
        memcpy(in ? place : packed, in ? packed : place, about->bytes);
}
