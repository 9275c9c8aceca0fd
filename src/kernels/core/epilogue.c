#include "kernels/core/epilogue.h"

#include "kernels/map/map_run.h"

/* ---- as steps ---- */

static bool is_float(const struct kern_map_inst *inst)
{
    return inst->type == DML_TENSOR_DATA_TYPE_FLOAT32 && inst->to_type == DML_TENSOR_DATA_TYPE_FLOAT32;
}

/* The register holds a number of the program. */
static bool number_of(const struct kern_op *op, uint32_t reg, float *out)
{
    const uint32_t inputs = 1 + op->input_count - op->epilogue_input;
    if (reg < inputs || op->epilogue->inst[reg - inputs].code != KERN_MAP_CONST)
        return false;
    *out = op->epilogue->inst[reg - inputs].imm[0].f32;
    return true;
}

static bool commutes(uint8_t code)
{
    return code == KERN_MAP_ADD || code == KERN_MAP_MUL || code == KERN_MAP_MIN || code == KERN_MAP_MAX;
}

/* The instruction takes the value in register `last`, and else only what the kernel supports. */
static bool read_step(const struct kern_op *op, const struct kern_map_inst *inst, uint32_t last, uint8_t operands,
                      struct kern_epilogue_step *out)
{
    const uint32_t extra = op->input_count - op->epilogue_input;
    *out = (struct kern_epilogue_step){ .code = inst->code, .p = inst->imm[0].f32, .q = inst->imm[1].f32 };
    if (map_arity(inst->code) == 1)
        return inst->src[0] == last && (operands & KERN_EPILOGUE_VALUE);
    const bool first = inst->src[0] == last;
    const uint32_t other = inst->src[first ? 1 : 0];
    if (map_arity(inst->code) != 2 || other == last || (!first && (inst->src[1] != last || !commutes(inst->code))))
        return false;
    if (number_of(op, other, &out->p))
        return operands & KERN_EPILOGUE_NUMBER;
    out->tensor = op->epilogue_input + other - 1;
    return other >= 1 && other <= extra && (operands & KERN_EPILOGUE_TENSOR);
}

/* x * sigmoid(x) and x * hard sigmoid(x) as two instructions; `gate`: the first one's register. */
static bool read_gate(const struct kern_map_inst *inst, uint32_t last, uint32_t gate,
                      const struct kern_epilogue_support *support, struct kern_epilogue_step *out)
{
    const bool hard = inst->code == KERN_MAP_HARD_SIGMOID;
    const uint8_t code = hard ? KERN_MAP_HARD_SWISH : KERN_MAP_SWISH, *src = inst[1].src;
    *out = (struct kern_epilogue_step){ .code = code, .p = hard ? inst->imm[0].f32 : 1, .q = inst->imm[1].f32 };
    return (support->operands[code] & KERN_EPILOGUE_GATE) && (hard || inst->code == KERN_MAP_SIGMOID) &&
           inst->src[0] == last && inst[1].code == KERN_MAP_MUL && is_float(&inst[1]) &&
           ((src[0] == last && src[1] == gate) || (src[0] == gate && src[1] == last));
}

bool kern_epilogue_match(const struct kern_op *op, const struct kern_epilogue_support *support,
                         struct kern_epilogue *out)
{
    const struct kern_map *map = op->epilogue;
    const uint32_t inputs = 1 + op->input_count - op->epilogue_input;
    uint32_t last = 0;
    out->count = 0;
    for (uint32_t i = 0; map && i < map->inst_count; i++) {
        const struct kern_map_inst *inst = &map->inst[i];
        if (!is_float(inst))
            return false;
        if (inst->code == KERN_MAP_CONST)
            continue;
        if (out->count == support->steps)
            return false;
        struct kern_epilogue_step *step = &out->step[out->count++];
        if (i + 1 < map->inst_count && read_gate(inst, last, inputs + i, support, step))
            i++;
        else if (!read_step(op, inst, last, support->operands[inst->code], step))
            return false;
        last = inputs + i;
    }
    return !map || map->store[0] == last;
}

bool kern_epilogue_bounds(const struct kern_op *op, struct kern_bounds *out)
{
    static const struct kern_epilogue_support support = { 2,
                                                          { [KERN_MAP_RELU] = KERN_EPILOGUE_VALUE,
                                                            [KERN_MAP_CLAMP] = KERN_EPILOGUE_VALUE,
                                                            [KERN_MAP_MIN] = KERN_EPILOGUE_NUMBER,
                                                            [KERN_MAP_MAX] = KERN_EPILOGUE_NUMBER } };
    struct kern_epilogue epilogue;
    const struct kern_epilogue_step *step = epilogue.step;
    *out = (struct kern_bounds){ .kind = KERN_BOUNDS_NONE };
    if (!kern_epilogue_match(op, &support, &epilogue))
        return false;
    if (epilogue.count == 1 && step->code == KERN_MAP_RELU)
        out->kind = KERN_BOUNDS_RELU;
    else if (epilogue.count == 1 && step->code == KERN_MAP_CLAMP)
        *out = (struct kern_bounds){ KERN_BOUNDS_CLAMP, step->p, step->q };
    else if (epilogue.count == 2 && step[0].code == KERN_MAP_MIN && step[1].code == KERN_MAP_MAX)
        *out = (struct kern_bounds){ KERN_BOUNDS_CLIP, step[1].p, step[0].p };
    return !epilogue.count || out->kind != KERN_BOUNDS_NONE;
}

uint32_t kern_epilogue_quantize_steps(const struct kern_epilogue *epilogue, struct kern_requantize *out)
{
    const struct kern_epilogue_step *step = epilogue->step;
    uint32_t at = epilogue->count;
    out->divisor = out->zero = 0;
    if (at < 2 || step[--at].code != KERN_MAP_CLAMP)
        return 0;
    out->low = step[at].p;
    out->high = step[at].q;
    if (step[at - 1].code == KERN_MAP_ADD && step[at - 1].tensor)
        out->zero = step[--at].tensor;
    if (!at || step[--at].code != KERN_MAP_RINT)
        return 0;
    if (at && step[at - 1].code == KERN_MAP_DIV && step[at - 1].tensor)
        out->divisor = step[--at].tensor;
    return epilogue->count - at;
}

static bool is_bytes(const struct kern_view *view)
{
    return view->type == DML_TENSOR_DATA_TYPE_INT8 || view->type == DML_TENSOR_DATA_TYPE_UINT8;
}

bool kern_epilogue_requantize(const struct kern_op *op, struct kern_requantize *out)
{
    static const struct kern_epilogue_support support = { 5,
                                                          { [KERN_MAP_MUL] = KERN_EPILOGUE_TENSOR,
                                                            [KERN_MAP_DIV] = KERN_EPILOGUE_TENSOR,
                                                            [KERN_MAP_RINT] = KERN_EPILOGUE_VALUE,
                                                            [KERN_MAP_ADD] = KERN_EPILOGUE_TENSOR,
                                                            [KERN_MAP_CLAMP] = KERN_EPILOGUE_VALUE } };
    struct kern_epilogue epilogue;
    if (!is_bytes(&op->tensors[op->input_count]) || !kern_epilogue_match(op, &support, &epilogue) || !epilogue.count ||
        kern_epilogue_quantize_steps(&epilogue, out) + 1 != epilogue.count || epilogue.step[0].code != KERN_MAP_MUL)
        return false;
    out->scale = epilogue.step[0].tensor;
    return op->tensors[out->scale].type == DML_TENSOR_DATA_TYPE_FLOAT32 &&
           (!out->divisor || op->tensors[out->divisor].type == DML_TENSOR_DATA_TYPE_FLOAT32) &&
           (!out->zero || is_bytes(&op->tensors[out->zero]));
}

/* ---- by the interpreter ---- */

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
