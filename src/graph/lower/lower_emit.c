/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers with which every lowering emits ops: compute types, operands, element-wise programs, scalars. */
#include "graph/lower/lower.h"

#include "base/half.h"

#include <stdio.h>

HRESULT lower_unsupported(struct graph_lowering *lowering, const char *what)
{
    snprintf(lowering->error, 256, "%s: no kernel for %s", lowering->desc->op->name, what);
    return DXGI_ERROR_UNSUPPORTED;
}

HRESULT lower_done(const struct graph_lowering *lowering)
{
    return lowering->graph->failed ? E_OUTOFMEMORY : S_OK;
}

DML_TENSOR_DATA_TYPE lower_compute_type(DML_TENSOR_DATA_TYPE type)
{
    switch (type) {
    case DML_TENSOR_DATA_TYPE_FLOAT64:
    case DML_TENSOR_DATA_TYPE_INT64:
    case DML_TENSOR_DATA_TYPE_UINT64:
        return type;
    case DML_TENSOR_DATA_TYPE_INT32:
    case DML_TENSOR_DATA_TYPE_INT16:
    case DML_TENSOR_DATA_TYPE_INT8:
    case DML_TENSOR_DATA_TYPE_INT4:
        return DML_TENSOR_DATA_TYPE_INT32;
    case DML_TENSOR_DATA_TYPE_UINT32:
    case DML_TENSOR_DATA_TYPE_UINT16:
    case DML_TENSOR_DATA_TYPE_UINT8:
    case DML_TENSOR_DATA_TYPE_UINT4:
        return DML_TENSOR_DATA_TYPE_UINT32;
    default:
        return DML_TENSOR_DATA_TYPE_FLOAT32;
    }
}

bool lower_is_float(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_FLOAT32 || type == DML_TENSOR_DATA_TYPE_FLOAT16 ||
           type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16 || type == DML_TENSOR_DATA_TYPE_FLOAT64;
}

bool lower_keeps_nan(const struct graph_lowering *lowering)
{
    return lowering->graph->flags & ANYDML_EXECUTION_FLAG_PROPAGATE_NAN;
}

DML_TENSOR_DATA_TYPE lower_real_type(DML_TENSOR_DATA_TYPE type)
{
    /* 8- and 16-bit integers are exact in FLOAT32; wider ones need FLOAT64. */
    if (lower_is_float(type))
        return lower_compute_type(type);
    return kern_type_bytes(type) > 2 ? DML_TENSOR_DATA_TYPE_FLOAT64 : DML_TENSOR_DATA_TYPE_FLOAT32;
}

bool lower_present(const struct graph_operand *operand)
{
    return operand->value != GRAPH_NONE;
}

struct graph_operand lower_broadcast(const struct graph_operand *operand, const struct kern_view *like)
{
    struct graph_operand result = *operand;
    result.view = graph_view_broadcast(&operand->view, like->rank, like->sizes);
    return result;
}

struct graph_operand lower_temp_like(struct graph_lowering *lowering, const struct graph_operand *operand)
{
    return graph_temp(lowering->graph, operand->view.type, operand->view.rank, operand->view.sizes);
}

struct graph_op *lower_op(struct graph_lowering *lowering, enum kern_kind kind, const struct graph_operand *inputs,
                          uint32_t input_count, const struct graph_operand *outputs, uint32_t output_count)
{
    struct graph_op *op = graph_op_add(lowering->graph, kind, inputs, input_count, outputs, output_count);
    if (!op)
        return NULL;
    op->node = lowering->node;
    op->origin = lowering->desc->op->name;
    return op;
}

void lower_move(struct graph_lowering *lowering, struct graph_operand from, struct graph_operand to)
{
    lower_op(lowering, KERN_MOVE, &from, 1, &to, 1);
}

uint32_t lower_axes_mask(const UINT *axes, UINT count)
{
    uint32_t mask = 0;
    for (UINT i = 0; i < count; i++)
        mask |= 1u << axes[i];
    return mask;
}

/* ---- element-wise programs ---- */

void lower_map_begin(struct lower_map *map, struct graph_lowering *lowering, const struct graph_operand *inputs,
                     uint32_t input_count, DML_TENSOR_DATA_TYPE load)
{
    memset(map, 0, sizeof(*map));
    map->lowering = lowering;
    map->input_count = input_count;
    for (uint32_t i = 0; i < input_count; i++) {
        map->inputs[i] = inputs[i];
        map->program.load_type[i] = (uint8_t)load;
    }
}

void lower_map_load(struct lower_map *map, uint32_t input, DML_TENSOR_DATA_TYPE load)
{
    map->program.load_type[input] = (uint8_t)load;
}

DML_TENSOR_DATA_TYPE lower_map_type(const struct lower_map *map, uint32_t reg)
{
    if (reg < map->input_count)
        return (DML_TENSOR_DATA_TYPE)map->program.load_type[reg];
    return (DML_TENSOR_DATA_TYPE)map->program.inst[reg - map->input_count].to_type;
}

static union kern_scalar scalar_from_double(DML_TENSOR_DATA_TYPE type, double value)
{
    union kern_scalar scalar = { .u64 = 0 };
    switch (type) {
    case DML_TENSOR_DATA_TYPE_FLOAT64:
        scalar.f64 = value;
        break;
    case DML_TENSOR_DATA_TYPE_INT32:
        scalar.i32 = value != value          ? 0
                     : value <= -0x1p31      ? INT32_MIN
                     : value >= 0x1p31 - 1.0 ? INT32_MAX
                                             : (int32_t)value;
        break;
    case DML_TENSOR_DATA_TYPE_UINT32:
        scalar.u32 = !(value > 0) ? 0 : value >= 0x1p32 - 1.0 ? UINT32_MAX : (uint32_t)value;
        break;
    case DML_TENSOR_DATA_TYPE_INT64:
        scalar.i64 = value != value ? 0 : value <= -0x1p63 ? INT64_MIN : value >= 0x1p63 ? INT64_MAX : (int64_t)value;
        break;
    case DML_TENSOR_DATA_TYPE_UINT64:
        scalar.u64 = !(value > 0) ? 0 : value >= 0x1p64 ? UINT64_MAX : (uint64_t)value;
        break;
    default:
        scalar.f32 = (float)value;
        break;
    }
    return scalar;
}

static uint32_t emit(struct lower_map *map, enum kern_map_code code, const uint32_t *src, uint32_t count)
{
    if (map->program.inst_count == KERN_MAP_INST_MAX) {
        map->lowering->graph->failed = true; /* no lowering gets close to the limit */
        return 0;
    }
    struct kern_map_inst *inst = &map->program.inst[map->program.inst_count];
    inst->code = (uint8_t)code;
    for (uint32_t i = 0; i < count; i++)
        inst->src[i] = (uint8_t)src[i];
    inst->type = (uint8_t)(count ? lower_map_type(map, src[0]) : DML_TENSOR_DATA_TYPE_FLOAT32);
    inst->to_type = inst->type;
    return map->input_count + map->program.inst_count++;
}

static struct kern_map_inst *last_inst(struct lower_map *map)
{
    return &map->program.inst[map->program.inst_count - 1];
}

uint32_t lower_emit1(struct lower_map *map, enum kern_map_code code, uint32_t a, double p, double q)
{
    uint32_t reg = emit(map, code, &a, 1);
    struct kern_map_inst *inst = last_inst(map);
    inst->imm[0] = scalar_from_double((DML_TENSOR_DATA_TYPE)inst->type, p);
    inst->imm[1] = scalar_from_double((DML_TENSOR_DATA_TYPE)inst->type, q);
    return reg;
}

uint32_t lower_emit2(struct lower_map *map, enum kern_map_code code, uint32_t a, uint32_t b)
{
    return emit(map, code, (const uint32_t[]){ a, b }, 2);
}

uint32_t lower_emit3(struct lower_map *map, enum kern_map_code code, uint32_t a, uint32_t b, uint32_t c)
{
    return emit(map, code, (const uint32_t[]){ a, b, c }, 3);
}

enum kern_map_code lower_extreme(const struct lower_map *map, uint32_t a, enum kern_map_code code)
{
    if (!lower_keeps_nan(map->lowering) || !lower_is_float(lower_map_type(map, a)))
        return code;
    switch (code) {
    case KERN_MAP_MIN:
        return KERN_MAP_MIN_NAN;
    case KERN_MAP_MAX:
        return KERN_MAP_MAX_NAN;
    case KERN_MAP_CLAMP:
        return KERN_MAP_CLAMP_NAN;
    default:
        return code;
    }
}

uint32_t lower_emit_const(struct lower_map *map, DML_TENSOR_DATA_TYPE type, union kern_scalar value)
{
    uint32_t reg = emit(map, KERN_MAP_CONST, NULL, 0);
    struct kern_map_inst *inst = last_inst(map);
    inst->type = inst->to_type = (uint8_t)type;
    inst->imm[0] = value;
    return reg;
}

uint32_t lower_emit_convert(struct lower_map *map, uint32_t a, DML_TENSOR_DATA_TYPE to)
{
    if (lower_map_type(map, a) == to)
        return a;
    uint32_t reg = emit(map, KERN_MAP_CONVERT, &a, 1);
    last_inst(map)->to_type = (uint8_t)to;
    return reg;
}

void lower_map_end_many(struct lower_map *map, const struct graph_operand *outputs, const uint32_t *regs,
                        uint32_t count)
{
    struct graph_op *op = lower_op(map->lowering, KERN_MAP, map->inputs, map->input_count, outputs, count);
    if (!op)
        return;
    op->k.u.map = map->program;
    for (uint32_t i = 0; i < count; i++)
        op->k.u.map.store[i] = (uint8_t)regs[i];
}

void lower_map_end(struct lower_map *map, const struct graph_operand *output, uint32_t reg)
{
    lower_map_end_many(map, output, &reg, 1);
}

union kern_scalar lower_scalar(DML_TENSOR_DATA_TYPE type, const DML_SCALAR_UNION *value, DML_TENSOR_DATA_TYPE compute)
{
    union kern_scalar scalar = { .u64 = 0 };
    switch ((uint32_t)type) {
    case DML_TENSOR_DATA_TYPE_FLOAT32:
        return scalar_from_double(compute, value->Float32);
    case DML_TENSOR_DATA_TYPE_FLOAT16:
        return scalar_from_double(compute, base_half_to_float(value->UInt16));
    case ANYDML_TENSOR_DATA_TYPE_BFLOAT16:
        return scalar_from_double(compute, base_bfloat_to_float(value->UInt16));
    case DML_TENSOR_DATA_TYPE_FLOAT64:
        return scalar_from_double(compute, value->Float64);
    case DML_TENSOR_DATA_TYPE_UINT64:
    case DML_TENSOR_DATA_TYPE_INT64:
        scalar.u64 = value->UInt64; /* compute type = type */
        return scalar;
    case DML_TENSOR_DATA_TYPE_UINT32:
        return scalar_from_double(compute, value->UInt32);
    case DML_TENSOR_DATA_TYPE_UINT16:
        return scalar_from_double(compute, value->UInt16);
    case DML_TENSOR_DATA_TYPE_UINT8:
        return scalar_from_double(compute, value->UInt8);
    case DML_TENSOR_DATA_TYPE_INT32:
        return scalar_from_double(compute, value->Int32);
    case DML_TENSOR_DATA_TYPE_INT16:
        return scalar_from_double(compute, value->Int16);
    case DML_TENSOR_DATA_TYPE_INT8:
        return scalar_from_double(compute, value->Int8);
    default:
        return scalar;
    }
}

DML_SCALAR_UNION lower_element(DML_TENSOR_DATA_TYPE type, float value)
{
    DML_SCALAR_UNION element = { .UInt64 = 0 };
    union kern_scalar wide = scalar_from_double(lower_compute_type(type), value);
    uint32_t bits = 8 * kern_type_bytes(type);
    switch (lower_compute_type(type)) {
    case DML_TENSOR_DATA_TYPE_FLOAT32:
        if (type == DML_TENSOR_DATA_TYPE_FLOAT16)
            element.UInt16 = base_float_to_half(value);
        else if (type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16)
            element.UInt16 = base_float_to_bfloat(value);
        else
            element.Float32 = value;
        break;
    case DML_TENSOR_DATA_TYPE_INT32: /* narrower types clamp to their own range; the low bits are the element */
        if (bits < 32) {
            int32_t limit = (int32_t)1 << (bits - 1);
            wide.i32 = wide.i32 < -limit ? -limit : wide.i32 >= limit ? limit - 1 : wide.i32;
        }
        element.Int32 = wide.i32;
        break;
    case DML_TENSOR_DATA_TYPE_UINT32:
        if (bits < 32 && wide.u32 >> bits)
            wide.u32 = (1u << bits) - 1;
        element.UInt32 = wide.u32;
        break;
    default:
        element.UInt64 = wide.u64;
        break;
    }
    return element;
}
