/* op->epilogue: the element-wise program at the end of another kernel. Register 0 is the kernel's result. */
#include "kernels/map/map.h"

void kern_epilogue_store(const struct kern_call *call, const uint32_t *index, double value)
{
    const struct kern_op *op = call->op;
    const struct kern_map *map = op->epilogue;
    const struct kern_view *out = &op->tensors[op->input_count];
    struct kern_number registers[KERN_MAP_REGISTERS];
    struct kern_number result = kern_from_double(value);
    if (map) {
        uint32_t count = 1 + op->input_count - op->epilogue_input;
        registers[0] = kern_number_to(DML_TENSOR_DATA_TYPE_FLOAT32, result);
        for (uint32_t r = 1; r < count; r++) {
            uint32_t t = op->epilogue_input + r - 1;
            registers[r] = kern_number_to(
                map->load_type[r], kern_read(op->tensors[t].type, call->data[t], kern_offset(&op->tensors[t], index)));
        }
        kern_map_eval_program(map, count, registers);
        result = registers[map->store[0]];
    }
    kern_write(out->type, call->data[op->input_count], kern_offset(out, index), result);
}

uint64_t kern_epilogue_bytes(const struct kern_op *op)
{
    if (!op->epilogue)
        return KERN_MAP_BLOCK * 8;
    return kern_map_block_bytes(op->epilogue, 1 + op->input_count - op->epilogue_input) + KERN_MAP_BLOCK * 8;
}

static void store_row(const struct kern_map_isa *isa, const struct kern_view *view, void *data, int64_t offset,
                      int64_t stride, DML_TENSOR_DATA_TYPE from, const void *values, uint32_t count, void *raw)
{
    uint32_t bytes = kern_type_bytes(view->type);
    char *out = (char *)data + offset * bytes;
    if (stride == 1 || count == 1) {
        kern_convert(isa, view->type, out, from, values, count);
        return;
    }
    kern_convert(isa, view->type, raw, from, values, count);
    kern_copy_row(bytes, out, stride, raw, 1, count);
}

static void load_row(struct kern_map_block *block, const struct kern_view *view, const void *data, int64_t offset,
                     int64_t stride, uint32_t reg, uint32_t count)
{
    uint32_t bytes = kern_type_bytes(view->type);
    void *raw = kern_map_block_staging(block), *buffer = kern_map_block_buffer(block, reg);
    kern_copy_row(bytes, raw, 1, (const char *)data + offset * bytes, stride, count);
    kern_convert(block->isa, block->type[reg], buffer, view->type, raw, count);
    block->value[reg] = buffer;
}

static void epilogue_block(const struct kern_call *call, struct kern_map_block *block, const uint32_t *index,
                           uint32_t dim, const float *values, uint32_t count, void *raw)
{
    const struct kern_op *op = call->op;
    const struct kern_view *out = &op->tensors[op->input_count];
    uint32_t last = op->epilogue->store[0];
    float *first = kern_map_block_buffer(block, 0);
    memcpy(first, values, count * sizeof(float));
    block->value[0] = first;
    for (uint32_t r = 1; r < block->input_count; r++) {
        const struct kern_view *view = &op->tensors[op->epilogue_input + r - 1];
        load_row(block, view, call->data[op->epilogue_input + r - 1], kern_offset(view, index), view->strides[dim], r,
                 count);
    }
    kern_map_run_block(block, NULL, count);
    store_row(block->isa, out, call->data[op->input_count], kern_offset(out, index), out->strides[dim],
              block->type[last], block->value[last], count, raw);
}

void kern_epilogue_row(const struct kern_call *call, const struct kern_map_isa *isa, void *scratch,
                       const uint32_t *index, uint32_t dim, const float *values, uint32_t count)
{
    const struct kern_op *op = call->op;
    const struct kern_view *out = &op->tensors[op->input_count];
    uint32_t at[KERN_RANK_MAX];
    struct kern_map_block block;
    char *raw = scratch;
    memcpy(at, index, sizeof(uint32_t) * out->rank);
    if (op->epilogue)
        kern_map_block_init(&block, op->epilogue, 1 + op->input_count - op->epilogue_input, 1, isa,
                            raw + KERN_MAP_BLOCK * 8);
    for (uint32_t done = 0; done < count; done += KERN_MAP_BLOCK) {
        uint32_t n = BASE_MIN(count - done, KERN_MAP_BLOCK);
        at[dim] = index[dim] + done;
        if (op->epilogue)
            epilogue_block(call, &block, at, dim, values + done, n, raw);
        else
            store_row(isa, out, call->data[op->input_count], kern_offset(out, at), out->strides[dim],
                      DML_TENSOR_DATA_TYPE_FLOAT32, values + done, n, raw);
    }
}
