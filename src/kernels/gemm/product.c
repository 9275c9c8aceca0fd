#include "kernels/gemm/product.h"

#include "kernels/gemm/gemm.h"

/* ---- packing ---- */

static int32_t row_bytes(const struct product_isa *isa, const struct product_line *from, uint32_t count, uint8_t flip,
                         uint8_t *out)
{
    const uint8_t *restrict in = (const uint8_t *)from->data + from->index;
    if (from->step == 1)
        return isa->integers->row(in, count, flip, out);
    for (uint32_t i = 0; i < count; i++)
        out[i] = in[(int64_t)i * from->step];
    return isa->integers->row(out, count, flip, out);
}

static int32_t row_pairs(const struct product_line *from, uint32_t count, int16_t *out)
{
    const uint8_t *restrict in = (const uint8_t *)from->data + from->index;
    bool is_signed = from->type == DML_TENSOR_DATA_TYPE_INT8;
    int32_t sum = 0;
    for (uint32_t i = 0; is_signed && i < count; i++)
        out[i] = (int8_t)in[(int64_t)i * from->step];
    for (uint32_t i = 0; !is_signed && i < count; i++)
        out[i] = in[(int64_t)i * from->step];
    for (uint32_t i = 0; i < count; i++)
        sum += out[i];
    return sum;
}

void product_load(const struct product_isa *isa, const struct product_line *from, uint64_t count, void *words)
{
    if (isa->word == sizeof(float)) {
        dense_load_row(from->data, from->index, from->step, from->type, (uint32_t)count, words);
        return;
    }
    double *out = words;
    for (uint64_t i = 0; i < count; i++)
        out[i] = dense_load(from->data, from->index + (int64_t)i * from->step, from->type);
}

int32_t product_row(const struct product_isa *isa, const struct product_line *from, uint32_t count, bool right,
                    void *words)
{
    uint32_t places = (uint32_t)product_words(isa, count) * isa->group;
    if (!isa->integers) {
        product_load(isa, from, count, words);
        return 0;
    }
    if (isa->group == 4) {
        memset((uint8_t *)words + count, 0, places - count);
        return row_bytes(isa, from, count, product_flip(isa, from->type, right), words);
    }
    memset((int16_t *)words + count, 0, (places - count) * sizeof(int16_t));
    return row_pairs(from, count, words);
}

uint64_t product_word(const struct product_isa *isa, int32_t value, DML_TENSOR_DATA_TYPE type, uint32_t count)
{
    uint64_t word = 0;
    uint32_t bits = isa->group == 4 ? 8 : 16;
    uint32_t place = ((uint32_t)value ^ product_flip(isa, type, true)) & ((1u << bits) - 1);
    for (uint32_t i = 0; isa->integers && i < count; i++)
        word |= (uint64_t)place << (i * bits);
    return word;
}

#define ONES 256

void product_column_sums(const struct product_isa *isa, const void *panel, uint64_t words, int32_t *sums)
{
    uint32_t ones[ONES];
    int32_t part[PRODUCT_COLUMNS_MAX];
    memset(sums, 0, isa->columns * sizeof(*sums));
    for (uint32_t i = 0; i < ONES; i++)
        ones[i] = isa->group == 4 ? 0x01010101 : 0x00010001;
    for (uint64_t first = 0; first < words; first += ONES) {
        uint64_t count = BASE_MIN(words - first, ONES);
        isa->tile(ones, (const char *)panel + first * isa->columns * isa->word, count, 1, isa->columns, part,
                  isa->columns);
        for (uint32_t c = 0; c < isa->columns; c++)
            sums[c] += part[c];
    }
}

/* ---- the way out ---- */

/* Instruction `at` is `code` in FLOAT32 of what the one before gave (`last`) and, where `out_tensor` is given, of an
 * input. */
static bool is_step(const struct kern_op *op, uint32_t at, enum kern_map_code code, uint32_t last, uint32_t *out_tensor)
{
    const struct kern_map_inst *inst = &op->epilogue->inst[at];
    if (inst->code != code || inst->type != DML_TENSOR_DATA_TYPE_FLOAT32 || inst->to_type != inst->type ||
        inst->src[0] != last)
        return false;
    if (!out_tensor)
        return true;
    *out_tensor = op->epilogue_input + inst->src[1] - 1u;
    return inst->src[1] >= 1 && *out_tensor < op->input_count;
}

/* The program is clamp(rint(x * scale [/ divisor]) [+ zero point]), and its tensors lie as requantize() wants them. */
void product_way_out_init(const struct kern_op *op, struct product_way_out *out)
{
    const struct kern_map *map = op->epilogue;
    uint32_t inputs = 1 + op->input_count - op->epilogue_input, at = 0;
    *out = (struct product_way_out){ .requantizes = false };
    if (!map || !gemm_bytes(op->tensors[op->input_count].type) || map->inst_count < 3 || map->inst_count > 5 ||
        !is_step(op, at++, KERN_MAP_MUL, 0, &out->scale))
        return;
    if (map->inst[at].code == KERN_MAP_DIV && !is_step(op, at, KERN_MAP_DIV, inputs, &out->divisor))
        return;
    at += map->inst[at].code == KERN_MAP_DIV;
    if (!is_step(op, at, KERN_MAP_RINT, inputs + at - 1, NULL))
        return;
    at++;
    if (map->inst[at].code == KERN_MAP_ADD && !is_step(op, at, KERN_MAP_ADD, inputs + at - 1, &out->zero))
        return;
    at += map->inst[at].code == KERN_MAP_ADD;
    if (at + 1 != map->inst_count || !is_step(op, at, KERN_MAP_CLAMP, inputs + at - 1, NULL) ||
        map->store[0] != inputs + at)
        return;
    out->low = map->inst[at].imm[0].f32;
    out->high = map->inst[at].imm[1].f32;
    out->requantizes = op->tensors[out->scale].type == DML_TENSOR_DATA_TYPE_FLOAT32 &&
                       (!out->divisor || op->tensors[out->divisor].type == DML_TENSOR_DATA_TYPE_FLOAT32) &&
                       (!out->zero || gemm_bytes(op->tensors[out->zero].type)) && out->low >= -128 && out->high <= 255;
}

float product_divisor(const struct kern_call *call, const struct product_way_out *way, const uint32_t *at)
{
    const struct kern_view *view = &call->op->tensors[way->divisor];
    return way->divisor ? ((const float *)call->data[way->divisor])[dense_offset(view, at, view->rank)] : 1;
}

static int64_t last_step(const struct kern_view *view)
{
    return view->sizes[view->rank - 1] > 1 ? view->strides[view->rank - 1] : 0;
}

static bool finish_bytes(const struct product_isa *isa, const struct kern_call *call, const struct product_way_out *way,
                         const uint32_t *at, uint32_t count, const int32_t *sums, const struct product_shift *shift)
{
    const struct kern_op *op = call->op;
    const struct kern_view *y = &op->tensors[op->input_count], *scale = &op->tensors[way->scale];
    int64_t step = last_step(scale);
    if (!way->requantizes || (y->strides[y->rank - 1] != 1 && count > 1) || (step != 0 && step != 1) ||
        (way->zero && last_step(&op->tensors[way->zero])) || (way->divisor && last_step(&op->tensors[way->divisor])))
        return false;
    struct product_requantize how = { .scale_step = (uint32_t)step, .low = way->low, .high = way->high };
    how.scale = (const float *)call->data[way->scale] + dense_offset(scale, at, scale->rank);
    how.divisor = product_divisor(call, way, at);
    if (way->zero)
        how.zero = (float)gemm_zero(call, true, way->zero, at);
    isa->integers->requantize(sums, count, shift, &how,
                              (uint8_t *)call->data[op->input_count] + dense_offset(y, at, y->rank));
    return true;
}

static void finish_integers(const struct product_isa *isa, const struct kern_call *call,
                            const struct product_way_out *way, void *epilogue, const uint32_t *at, uint32_t count,
                            int32_t *sums, const struct product_shift *shift, float *floats)
{
    const struct kern_op *op = call->op;
    const struct kern_view *y = &op->tensors[op->input_count];
    if (finish_bytes(isa, call, way, at, count, sums, shift))
        return;
    if (op->epilogue) {
        isa->integers->unshift(sums, count, shift, sums);
        for (uint32_t i = 0; i < count; i++)
            floats[i] = (float)sums[i];
        dense_finish_f32(call, epilogue, at, count, floats);
        return;
    }
    int32_t *to = (int32_t *)call->data[op->input_count] + dense_offset(y, at, y->rank);
    int64_t step = y->strides[y->rank - 1];
    isa->integers->unshift(sums, count, shift, step == 1 ? to : sums);
    for (uint32_t i = 0; step != 1 && i < count; i++)
        to[i * step] = sums[i];
}

void product_finish(const struct product_isa *isa, const struct kern_call *call, const struct product_way_out *way,
                    void *epilogue, const uint32_t *at, uint32_t count, void *sums, const struct product_shift *shift,
                    float *floats)
{
    if (isa->integers)
        finish_integers(isa, call, way, epilogue, at, count, sums, shift, floats);
    else if (isa->word == sizeof(double))
        dense_finish(call, at, count, sums);
    else
        dense_finish_f32(call, epilogue, at, count, sums);
}

const struct product_isa *product_isa_for(const struct kern_op *op, const struct product_isa *f32,
                                          const struct product_isa *f64)
{
    return op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT64 ? f64 : f32;
}

bool product_types_fit(const struct kern_op *op, bool integer, bool third)
{
    DML_TENSOR_DATA_TYPE type = op->tensors[op->input_count].type;
    if (!dense_epilogue_fits(op))
        return false;
    if (!integer)
        return dense_short_floats(op) || (dense_is_float(type) && dense_same_type(op, 0, third ? 2 : 1, type));
    return gemm_bytes(op->tensors[0].type) && gemm_bytes(op->tensors[1].type) &&
           (op->epilogue ? kern_type_bytes(type) != 0 : type == DML_TENSOR_DATA_TYPE_INT32);
}
