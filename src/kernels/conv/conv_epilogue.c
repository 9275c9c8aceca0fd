#include "kernels/conv/conv_epilogue.h"

#include "kernels/map/map.h"

struct chain {
    const struct kern_op *op;
    uint32_t extra;                    /* tensors that the program reads */
    uint32_t last;                     /* register of the chain's result so far */
    bool constant[KERN_MAP_REGISTERS]; /* registers that hold `value` */
    float value[KERN_MAP_REGISTERS];
};

/* With a constant; ADD also with a tensor of the output's sizes. */
static bool binary(const struct chain *chain, const struct kern_map_inst *inst, struct conv_epilogue_step *step)
{
    bool first = inst->src[0] == chain->last;
    uint32_t other = inst->src[first ? 1 : 0];
    if ((!first && inst->src[1] != chain->last) || other == chain->last)
        return false;
    if (chain->constant[other]) {
        step->p = chain->value[other];
        return true;
    }
    const struct kern_op *op = chain->op;
    step->tensor = op->epilogue_input + other - 1;
    return inst->code == KERN_MAP_ADD && other >= 1 && other <= chain->extra &&
           op->tensors[step->tensor].type == DML_TENSOR_DATA_TYPE_FLOAT32 &&
           op->tensors[step->tensor].rank == op->tensors[op->input_count].rank;
}

static bool link_fits(const struct chain *chain, const struct kern_map_inst *inst, struct conv_epilogue_step *step)
{
    *step = (struct conv_epilogue_step){ .code = inst->code, .p = inst->imm[0].f32, .q = inst->imm[1].f32 };
    switch (inst->code) {
    case KERN_MAP_RELU:
    case KERN_MAP_LEAKY_RELU:
    case KERN_MAP_CLAMP:
    case KERN_MAP_MULADD:
        return inst->src[0] == chain->last;
    case KERN_MAP_ADD:
    case KERN_MAP_MUL:
    case KERN_MAP_MIN:
    case KERN_MAP_MAX:
        return binary(chain, inst, step);
    default:
        return false;
    }
}

bool conv_epilogue_init(const struct kern_op *op, struct conv_epilogue *out)
{
    const struct kern_map *map = op->epilogue;
    struct chain chain = { .op = op };
    out->count = 0;
    if (!map)
        return true;
    chain.extra = op->input_count - op->epilogue_input;
    for (uint32_t i = 0; i < map->inst_count; i++) {
        const struct kern_map_inst *inst = &map->inst[i];
        uint32_t result = 1 + chain.extra + i;
        if (inst->type != DML_TENSOR_DATA_TYPE_FLOAT32 || inst->to_type != DML_TENSOR_DATA_TYPE_FLOAT32)
            return false;
        if (inst->code == KERN_MAP_CONST) {
            chain.constant[result] = true;
            chain.value[result] = inst->imm[0].f32;
            continue;
        }
        if (out->count == CONV_EPILOGUE_MAX || !link_fits(&chain, inst, &out->step[out->count]))
            return false;
        out->count++;
        chain.last = result;
    }
    return map->store[0] == chain.last;
}
