/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for running sums: floating-point ones in FLOAT64, on devices without it in pairs of floats. */
#include "shaders/core/shader_block.h"
#include "shaders/sort/scan_params.h"

#include "kernels/core/number.h"

/* Of a line: if there are many lines, they are not split. */
enum { SCAN_PART = 4096, SCAN_PARTS_MAX = 1024, SCAN_LINES = 256, SCAN_SHORT = 64, SCAN_COLUMNS = 16384 };

static bool is_real(const struct kern_op *op)
{
    return kern_type_class(op->tensors[0].type) == KERN_CLASS_FLOAT;
}

static uint64_t lines_of(const struct kern_op *op)
{
    return kern_view_elements(&op->tensors[0]) / op->tensors[0].sizes[op->u.scan.axis];
}

static struct scan_params params_of(const struct kern_op *op)
{
    const struct kern_scan *scan = &op->u.scan;
    const uint32_t size = op->tensors[0].sizes[scan->axis];
    struct scan_params params = {
        scan->axis, scan->product, scan->exclusive, scan->total, scan->has_init, size, 1, size
    };
    const bool in_order = scan->product && is_real(op); /* scan_group.comp has the reason */
    if (!in_order && lines_of(op) < SCAN_LINES && size > SCAN_PART) {
        params.in_part = BASE_MAX(SCAN_PART, (size + SCAN_PARTS_MAX - 1) / SCAN_PARTS_MAX);
        params.parts = (size + params.in_part - 1) / params.in_part;
    }
    return params;
}

static enum shader_code variant_of(enum shader_code plain, const struct kern_op *op)
{
    return is_real(op) ? (enum shader_code)(plain + 2) : shader_variant(plain, op);
}

static const char *single_unsupported(const struct kern_op *op)
{
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++)
        if (op->tensors[t].type == DML_TENSOR_DATA_TYPE_FLOAT64)
            return "the device lacks FLOAT64 arithmetic";
    return is_real(op) ? NULL : "no shader for this data type";
}

/* ---- a line per invocation ---- */

static void add_lines(const struct kern_op *op, enum shader_code code, struct shader_work *out)
{
    shader_add(out, code, op, lines_of(op), SHADER_GROUP_SIZE, sizeof(struct scan_params));
}

const char *shader_scan_any_unsupported(const struct kern_op *op)
{
    return shader_block_unsupported(op);
}

void shader_scan_any_plan(const struct kern_op *op, struct shader_work *out)
{
    add_lines(op, variant_of(SHADER_scan, op), out);
}

void shader_scan_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places, uint32_t *words)
{
    const struct scan_params params = params_of(op);
    shader_block_write(op, places, lines_of(op), &params, sizeof(params), words);
}

const char *shader_scan_single_unsupported(const struct kern_op *op)
{
    const char *reason = single_unsupported(op);
    return reason ? reason : shader_block_unsupported(op);
}

void shader_scan_single_plan(const struct kern_op *op, struct shader_work *out)
{
    add_lines(op, SHADER_scan, out);
}

void shader_scan_single_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                              uint32_t *words)
{
    shader_scan_any_write(op, index, places, words);
}

/* ---- a part of a line per workgroup ---- */

const char *shader_scan_group_unsupported(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0];
    const uint32_t axis = op->u.scan.axis;
    if (x->sizes[axis] < SCAN_SHORT || (lines_of(op) >= SCAN_COLUMNS && x->strides[axis] != 1))
        return "the shader of single lines is faster";
    return shader_block_unsupported(op);
}

static void add_parts(const struct kern_op *op, enum shader_code code, struct shader_work *out)
{
    const uint64_t parts = lines_of(op) * params_of(op).parts;
    if (params_of(op).parts > 1) {
        out->scratch_bytes = 16 * parts;
        shader_add(out, code, op, parts, 1, sizeof(struct scan_params));
    }
    shader_add(out, code, op, parts, 1, sizeof(struct scan_params));
}

void shader_scan_group_plan(const struct kern_op *op, struct shader_work *out)
{
    add_parts(op, variant_of(SHADER_scan_group, op), out);
}

void shader_scan_group_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                             uint32_t *words)
{
    struct scan_params params = params_of(op);
    params.sum_parts = params.parts > 1 && index == 0;
    shader_block_write(op, places, lines_of(op) * params.parts, &params, sizeof(params), words);
}

const char *shader_scan_group_single_unsupported(const struct kern_op *op)
{
    const char *reason = single_unsupported(op);
    return reason ? reason : shader_scan_group_unsupported(op);
}

void shader_scan_group_single_plan(const struct kern_op *op, struct shader_work *out)
{
    add_parts(op, SHADER_scan_group, out);
}

void shader_scan_group_single_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                    uint32_t *words)
{
    shader_scan_group_write(op, index, places, words);
}
