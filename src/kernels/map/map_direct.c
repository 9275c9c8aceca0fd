/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of one instruction whose operands lie as the output does, or repeat one element: pieces of them need no
 * registers in memory. */
#include "kernels/map/map_run.h"

enum { PIECE = 16384, MIN_ROW = 512 };

bool map_direct_init(struct map_direct *direct, const struct map_run *run)
{
    const struct kern_op *op = run->op;
    const struct kern_map *map = &op->u.map;
    const struct kern_map_inst *inst = &map->inst[0];
    const DML_TENSOR_DATA_TYPE type = op->tensors[op->input_count].type;
    const uint64_t row = run->iterator.sizes[run->iterator.rank - 1];
    direct->inputs = map_arity(inst->code);
    direct->half = type == DML_TENSOR_DATA_TYPE_FLOAT16;
    if (!run->block.isa->direct || op->output_count != 1 || map->inst_count != 1 || map->store[0] != op->input_count ||
        inst->type != DML_TENSOR_DATA_TYPE_FLOAT32 || inst->code == KERN_MAP_CONVERT || row < MIN_ROW)
        return false;
    if (!direct->half && type != DML_TENSOR_DATA_TYPE_FLOAT32)
        return false;
    direct->bytes = inst->code == KERN_MAP_SELECT && op->tensors[inst->src[0]].type == DML_TENSOR_DATA_TYPE_UINT8;
    for (uint32_t s = 0; s < direct->inputs; s++) {
        const uint32_t input = inst->src[s];
        const DML_TENSOR_DATA_TYPE own = op->tensors[input].type;
        const bool repeats = run->iterator.strides[map_view_of_input(input)][run->iterator.rank - 1] == 0;
        if ((own != type && !(repeats && kern_type_bytes(own)) && (s || !direct->bytes)) ||
            map->load_type[input] != DML_TENSOR_DATA_TYPE_FLOAT32)
            return false;
    }
    return direct->inputs > 0;
}

uint32_t map_direct_run(const struct map_run *run, const struct map_direct *direct, uint64_t begin, uint64_t end)
{
    const struct kern_op *op = run->op;
    const struct kern_iterator *iterator = &run->iterator;
    const uint32_t bytes = direct->half ? 2 : 4,
                   left = (uint32_t)BASE_MIN(kern_iterator_row_left(iterator, begin), PIECE);
    const uint32_t count = (uint32_t)BASE_MIN(end - begin, left);
    struct kern_map_direct piece = {
        .inst = &op->u.map.inst[0], .half = direct->half, .bytes = direct->bytes, .stream = run->non_temporal
    };
    if (iterator->strides[0][iterator->rank - 1] != 1)
        return 0;
    piece.out = (char *)run->call->data[op->input_count] + kern_iterator_offset(iterator, 0, begin) * bytes;
    for (uint32_t s = 0; s < direct->inputs; s++) {
        const uint32_t input = piece.inst->src[s], view = map_view_of_input(input);
        const int64_t stride = iterator->strides[view][iterator->rank - 1];
        const DML_TENSOR_DATA_TYPE own = op->tensors[input].type;
        const char *from =
            (const char *)run->call->data[input] + kern_iterator_offset(iterator, view, begin) * kern_type_bytes(own);
        if (stride == 1)
            piece.src[s] = from;
        else if (stride == 0)
            kern_convert(run->block.isa, DML_TENSOR_DATA_TYPE_FLOAT32, &piece.one[s], own, from, 1);
        else
            return 0;
    }
    return run->block.isa->direct(&piece, count) ? count : 0;
}
