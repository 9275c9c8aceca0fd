/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "kernels/core/number.h"

void check_gen_scan(struct check_rng *rng, struct check_case *out)
{
    static const DML_TENSOR_DATA_TYPE integers[] = { DML_TENSOR_DATA_TYPE_INT32, DML_TENSOR_DATA_TYPE_UINT32,
                                                     DML_TENSOR_DATA_TYPE_INT64, DML_TENSOR_DATA_TYPE_UINT64 };
    struct kern_op *op = &out->op;
    struct kern_scan *scan = &op->u.scan;
    uint32_t sizes[KERN_RANK_MAX], one[KERN_RANK_MAX];
    const uint64_t chance = rng->state >> 40;
    uint32_t rank = check_sizes(rng, KERN_RANK_MAX, 6000, sizes);
    const bool is_long = chance % 32 == 0;
    if (is_long) { /* a line that threads and workgroups share */
        rank = 1;
        sizes[0] = 5000 + (uint32_t)(chance >> 5 & 0x3fff);
    }
    DML_TENSOR_DATA_TYPE x = check_chance(rng, 2) ? check_float_type(rng) : integers[check_pick(rng, 4)];
    bool is_float = kern_type_class(x) == KERN_CLASS_FLOAT;
    op->kind = KERN_SCAN;
    *scan = (struct kern_scan){ .axis = check_pick(rng, rank), .product = check_chance(rng, 2) };
    scan->exclusive = check_chance(rng, 2);
    scan->total = check_chance(rng, 4);
    scan->has_init = check_chance(rng, 3);
    memcpy(one, sizes, sizeof(one));
    one[scan->axis] = 1;
    /* Sums in FLOAT64 differ by more units the longer they are, but are exact enough against the largest one. */
    DML_TENSOR_DATA_TYPE y =
        is_float && !scan->product && !is_long && check_chance(rng, 3) ? DML_TENSOR_DATA_TYPE_FLOAT64 : x;
    op->input_count = 1;
    op->output_count = 1;
    check_view_broadcast(rng, &op->tensors[0], x, rank, sizes);
    if (scan->has_init)
        check_view(rng, &op->tensors[op->input_count++],
                   is_float && check_chance(rng, 2) ? DML_TENSOR_DATA_TYPE_FLOAT64 : x, rank, one);
    check_view(rng, &op->tensors[op->input_count], y, rank, scan->total ? one : sizes);
    if (check_chance(rng, 4)) { /* backwards */
        int64_t *strides[] = { op->tensors[0].strides, op->tensors[op->input_count].strides };
        strides[0][scan->axis] = -strides[0][scan->axis];
        strides[1][scan->axis] = -strides[1][scan->axis];
    }
    out->data[0] = !is_float || check_chance(rng, 4) ? CHECK_DATA_SPECIAL
                   : scan->product                   ? CHECK_DATA_POSITIVE
                                                     : CHECK_DATA_NORMAL;
    out->norm_wise = is_float && !scan->product;
    if (!scan->product && sizes[scan->axis] <= 64) /* errors of FLOAT64 itself grow with the line */
        check_widen(rng, out);
}
