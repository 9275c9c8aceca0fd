/* Element-wise programs, one element at a time: the definition that every other row is tested against. */
#include "kernels/map/map.h"

bool kern_map_any_ref_accepts(const struct kern_op *op)
{
    const struct kern_map *map = &op->u.map;
    if (op->input_count + op->output_count > KERN_TENSORS_MAX || map->inst_count > KERN_MAP_INST_MAX)
        return false;
    for (uint32_t j = 0; j < op->output_count; j++)
        if (map->store[j] >= op->input_count + map->inst_count)
            return false;
    return op->output_count > 0;
}

/* Neighbouring 4-bit elements share a byte, so that one thread must write them all. */
static bool writes_nibbles(const struct kern_op *op)
{
    for (uint32_t j = 0; j < op->output_count; j++)
        if (!kern_type_bytes(op->tensors[op->input_count + j].type))
            return true;
    return false;
}

void kern_map_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    uint64_t elements = kern_view_elements(&op->tensors[op->input_count]);
    *out = (struct kern_work){ .units = elements, .grain = writes_nibbles(op) ? elements : 4096 };
}

static void map_element(const struct kern_call *call, const uint32_t *index)
{
    const struct kern_op *op = call->op;
    const struct kern_map *map = &op->u.map;
    struct kern_number registers[KERN_MAP_REGISTERS];
    for (uint32_t i = 0; i < op->input_count; i++) {
        const struct kern_view *view = &op->tensors[i];
        registers[i] =
            kern_number_to(map->load_type[i], kern_read(view->type, call->data[i], kern_offset(view, index)));
    }
    kern_map_eval_program(map, op->input_count, registers);
    for (uint32_t j = 0; j < op->output_count; j++) {
        const struct kern_view *view = &op->tensors[op->input_count + j];
        kern_write(view->type, call->data[op->input_count + j], kern_offset(view, index), registers[map->store[j]]);
    }
}

void kern_map_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *view = &call->op->tensors[call->op->input_count];
    uint32_t index[KERN_RANK_MAX];
    kern_unflatten(begin, view->rank, view->sizes, index);
    for (uint64_t i = begin; i < end; i++) {
        map_element(call, index);
        kern_advance(view->rank, view->sizes, index);
    }
}
