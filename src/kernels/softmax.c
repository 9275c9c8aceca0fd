/* Softmax and log-softmax of FLOAT32 and FLOAT16. */
#include "kernels/group.h"

#include <math.h>

/* Inputs of the element-wise step: X, a = the group's greatest element, b = 1 / sum or ln sum. */
enum { X, TOP, SUM, UNUSED, INPUTS };

static void program(const struct kern_op *op, struct kern_map *map)
{
    memset(map, 0, sizeof(*map));
    uint32_t r = kern_groups_step(map, INPUTS, KERN_MAP_SUB, X, TOP, 0);
    if (op->u.softmax.mode == KERN_SOFTMAX_LOG) {
        r = kern_groups_step(map, INPUTS, KERN_MAP_SUB, r, SUM, 0);
    } else {
        r = kern_groups_step(map, INPUTS, KERN_MAP_EXP, r, 0, 0);
        r = kern_groups_step(map, INPUTS, KERN_MAP_MUL, r, SUM, 0);
    }
    kern_groups_finish(map, op, INPUTS, r);
}

bool kern_softmax_float_accepts(const struct kern_op *op)
{
    return kern_groups_accept(op) && op->tensors[0].rank == op->tensors[1].rank && op->input_count == 1 &&
           !op->epilogue && op->u.softmax.mode != KERN_SOFTMAX_HARD && kern_type_bytes(op->tensors[1].type);
}

void kern_softmax_float_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct kern_map map;
    (void)state;
    (void)threads;
    program(op, &map);
    kern_groups_plan(op, op->u.softmax.axes, kern_map_block_bytes(&map, INPUTS), out);
}

/* Groups that are one dense FLOAT32 row in X and Y need no second exponential: Y holds them meanwhile. */
static bool dense_rows(const struct kern_groups *groups)
{
    const struct kern_op *op = groups->call->op;
    const struct kern_walk *inner = &groups->inner;
    return op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT32 && op->tensors[1].type == DML_TENSOR_DATA_TYPE_FLOAT32 &&
           op->u.softmax.mode == KERN_SOFTMAX_PLAIN && inner->rank == 1 && inner->strides[0][0] == 1 &&
           inner->strides[1][0] == 1 && inner->count <= UINT32_MAX;
}

static void softmax_row(const struct kern_groups *groups, uint64_t group)
{
    const float *x = (const float *)groups->call->data[0] + kern_walk_offset(&groups->outer, 0, group);
    float *y = (float *)groups->call->data[1] + kern_walk_offset(&groups->outer, 1, group);
    uint32_t length = (uint32_t)groups->inner.count, count;
    double top, sum = 0;
    kern_groups_stat(groups, KERN_STAT_MOST, group, 1, NULL, &top);
    for (uint32_t at = 0; at < length; at += count) {
        count = BASE_MIN(length - at, KERN_GROUP_BLOCK);
        sum += groups->isa->exponentials(y + at, x + at, count, (float)top);
    }
    groups->isa->scale(y, length, (float)(1 / sum));
}

static void softmax_tile(const struct kern_groups *groups, const struct kern_map *map, uint64_t first, uint32_t width)
{
    struct kern_group_scratch *scratch = groups->scratch;
    bool logarithm = groups->call->op->u.softmax.mode == KERN_SOFTMAX_LOG;
    kern_groups_stat(groups, KERN_STAT_MOST, first, width, NULL, scratch->sum);
    for (uint32_t i = 0; i < width; i++)
        scratch->a[i] = (float)scratch->sum[i];
    kern_groups_stat(groups, KERN_STAT_EXP, first, width, scratch->a, scratch->sum);
    for (uint32_t i = 0; i < width; i++)
        scratch->b[i] = (float)(logarithm ? log(scratch->sum[i]) : 1 / scratch->sum[i]);
    kern_groups_apply(groups, map, first, width);
}

void kern_softmax_run(const struct kern_call *call, const struct kern_group_isa *isa, uint64_t begin, uint64_t end)
{
    struct kern_groups groups;
    struct kern_map map;
    program(call->op, &map);
    kern_groups_init(&groups, call, isa, call->op->u.softmax.axes, false);
    bool dense = !groups.columns && dense_rows(&groups);
    for (uint32_t width; begin < end; begin += width) {
        width = dense ? 1 : kern_groups_width(&groups, begin, end);
        if (dense)
            softmax_row(&groups, begin);
        else
            softmax_tile(&groups, &map, begin, width);
    }
}
