/* SPDX-License-Identifier: Apache-2.0 */
#include "check_vulkan_map.h"

#include "kernels/core/number.h"

#include <math.h>

#define F32 DML_TENSOR_DATA_TYPE_FLOAT32
#define F64 DML_TENSOR_DATA_TYPE_FLOAT64
#define I32 DML_TENSOR_DATA_TYPE_INT32

/* Of one dimension and, so far, without instructions. */
static struct kern_map *flat_case(struct check_case *out, uint32_t inputs, uint32_t size, DML_TENSOR_DATA_TYPE type,
                                  enum check_data data)
{
    *out = (struct check_case){ .op = { .kind = KERN_MAP, .input_count = inputs, .output_count = 1 } };
    for (uint32_t t = 0; t <= inputs; t++) {
        kern_view_set_packed(&out->op.tensors[t], type, 1, &size);
        out->data[t] = data;
    }
    return &out->op.u.map;
}

bool check_list_large(uint32_t index, struct check_case *out)
{
    static const struct kern_map_inst programs[][2] = {
        { { KERN_MAP_ADD, F32, F32, { 0, 1 } }, { KERN_MAP_RELU, F32, F32, { 2 } } },
        { { KERN_MAP_EXP, F32, F32, { 0 } }, { KERN_MAP_MAX, F32, F32, { 1, 2 } } },
        { { KERN_MAP_CONVERT, F32, I32, { 0 } }, { KERN_MAP_BIT_NOT, I32, I32, { 2 } } },
        { { KERN_MAP_POW, F64, F64, { 0, 1 } }, { KERN_MAP_SOFTPLUS, F64, F64, { 2 }, { { .f64 = 0.5 } } } },
    };
    if (index >= ARRAY_SIZE(programs))
        return false;
    const DML_TENSOR_DATA_TYPE type = (DML_TENSOR_DATA_TYPE)programs[index][0].type;
    struct kern_map *map = flat_case(out, 2, index == 0 ? 1100000 : 20001, type, CHECK_DATA_SPECIAL);
    out->op.tensors[2].type = programs[index][1].to_type;
    map->load_type[0] = map->load_type[1] = programs[index][0].type;
    map->inst_count = 2;
    memcpy(map->inst, programs[index], sizeof(programs[index]));
    map->store[0] = 3;
    return true;
}

bool check_list_halves(uint32_t index, struct check_case *out)
{
    static const struct {
        DML_TENSOR_DATA_TYPE in, loaded, out;
        enum check_data data;
    } casts[] = {
        { F32, F32, DML_TENSOR_DATA_TYPE_FLOAT16, CHECK_DATA_HALVES },
        { DML_TENSOR_DATA_TYPE_FLOAT16, F32, F32, CHECK_DATA_HALVES },
        { DML_TENSOR_DATA_TYPE_FLOAT16, I32, DML_TENSOR_DATA_TYPE_FLOAT16, CHECK_DATA_NORMAL },
        { ANYDML_TENSOR_DATA_TYPE_BFLOAT16, I32, ANYDML_TENSOR_DATA_TYPE_BFLOAT16, CHECK_DATA_NORMAL },
    };
    if (index >= ARRAY_SIZE(casts))
        return false;
    struct kern_map *map = flat_case(out, 1, 100003, casts[index].in, casts[index].data);
    out->op.tensors[1].type = casts[index].out;
    map->load_type[0] = casts[index].loaded;
    return true;
}

static void one_instruction(struct kern_map *map, uint32_t code, uint32_t inputs)
{
    map->inst[0] = (struct kern_map_inst){ (uint8_t)code, F64, F64, { 0, 1, 2 } };
    kern_write(F64, &map->inst[0].imm[0], 0, kern_from_double(0.5));
    kern_write(F64, &map->inst[0].imm[1], 0, kern_from_double(2));
    memset(map->load_type, F64, inputs);
    map->inst_count = 1;
    map->store[0] = (uint8_t)inputs;
}

bool check_list_double(uint32_t index, struct check_case *out)
{
    static const uint8_t inputs[] = {
#define MAPOP(name, arity, types, formula) #types[0] == 'I' ? UINT8_MAX : arity,
#include "kernels/core/mapops.def"
    };
    static const enum check_data data[] = { CHECK_DATA_SPECIAL, CHECK_DATA_NORMAL, CHECK_DATA_SMALL };
    for (uint32_t code = 0; code < ARRAY_SIZE(inputs); code++) {
        if (inputs[code] == UINT8_MAX)
            continue;
        if (index < ARRAY_SIZE(data)) {
            one_instruction(flat_case(out, inputs[code], 2001, F64, data[index]), code, inputs[code]);
            return true;
        }
        index -= ARRAY_SIZE(data);
    }
    return false;
}

bool check_list_integer_power(uint32_t index, struct check_case *out)
{
    const uint32_t limit = 2 + index;
    if (limit > 13)
        return false;
    one_instruction(flat_case(out, 2, 2001, DML_TENSOR_DATA_TYPE_INT64, CHECK_DATA_INSIDE), KERN_MAP_POW, 2);
    out->index_limit[0] = limit;
    out->index_limit[1] = (uint32_t)(53 / log2(limit));
    return true;
}

bool check_list_conditions(uint32_t index, struct check_case *out)
{
    static const struct {
        uint8_t code, inputs;
    } rows[] = {
        { KERN_MAP_SELECT, 3 }, { KERN_MAP_AND, 2 }, { KERN_MAP_OR, 2 }, { KERN_MAP_XOR, 2 }, { KERN_MAP_NOT, 1 }
    };
    static const DML_TENSOR_DATA_TYPE types[] = { F32, ANYDML_TENSOR_DATA_TYPE_BFLOAT16 };
    if (index >= ARRAY_SIZE(rows) * ARRAY_SIZE(types))
        return false;
    const uint32_t row = index / ARRAY_SIZE(types), inputs = rows[row].inputs;
    struct kern_map *map = flat_case(out, inputs, 4001, types[index % ARRAY_SIZE(types)], CHECK_DATA_NORMAL);
    out->data[0] = CHECK_DATA_SPECIAL;
    map->inst[0] = (struct kern_map_inst){ rows[row].code, F32, F32, { 0, 1, 2 } };
    memset(map->load_type, F32, inputs);
    map->inst_count = 1;
    map->store[0] = (uint8_t)inputs;
    return true;
}
