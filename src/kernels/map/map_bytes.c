/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise programs on 8-bit elements, as in quantised networks. With one input: the part that depends on the
 * element has 256 results, as long as the other inputs are one number each. With two: sums and products of their
 * dequantised values, in registers from bytes to bytes; the second may also be FLOAT32. Elements of rows are adjacent.
 * With one 4-bit input, such as weights of quantised models: 16 results, as long as the other inputs do not change. */
#include "kernels/vec/fmath.h"
#include "kernels/map/map.h"

enum { VALUES = 256, MIN_COUNT = 4 * VALUES, MIN_PAIRS = 8, NIBBLES = 16, MIN_ROW = 2 * NIBBLES };

/* No input. A macro, because an enumerator beyond int would make all enumerators of its enumeration unsigned in C23,
 * and in GCC from version 13 on in every mode. */
#define NONE UINT32_MAX

static bool is_byte(const struct kern_op *op, uint32_t t)
{
    return kern_type_bytes(op->tensors[t].type) == 1;
}

/* Is the whole view one line of elements `step` apart? */
static bool is_line(const struct kern_iterator *iterator, uint32_t view, int64_t step)
{
    int64_t stride;
    return kern_iterator_linear(iterator, view, 0, iterator->count, &stride) && stride == step;
}

/* One result of the program on its way back through its instructions. */
struct reader {
    const struct kern_op *op;
    uint32_t reg, seen; /* instructions so far */
};

/* The register is the result of `code`, of FLOAT32: continues with its first operand, returns the second. */
static bool step_back(struct reader *r, enum kern_map_code code, uint32_t *out_other)
{
    if (r->reg < r->op->input_count)
        return false;
    const struct kern_map_inst *inst = &r->op->u.map.inst[r->reg - r->op->input_count];
    if (inst->code != code || inst->type != DML_TENSOR_DATA_TYPE_FLOAT32)
        return false;
    r->seen++;
    r->reg = inst->src[0];
    *out_other = inst->src[1];
    return true;
}

/* MUL([SUB](input, zero point), scale) */
static bool find_dequantized(struct reader *r, uint32_t reg, struct map_bytes_input *out)
{
    r->reg = reg;
    out->zero = NONE;
    if (!step_back(r, KERN_MAP_MUL, &out->scale))
        return false;
    step_back(r, KERN_MAP_SUB, &out->zero);
    out->input = r->reg;
    return r->reg < r->op->input_count && is_byte(r->op, r->reg) && out->scale < r->op->input_count &&
           (out->zero == NONE || out->zero < r->op->input_count);
}

/* The two of a sum or product, the one that is dequantised first. */
static bool find_two(struct map_bytes *bytes, struct reader *r, uint32_t second)
{
    const uint32_t two[2] = { r->reg, second }, inputs = r->op->input_count;
    for (uint32_t i = 0; bytes->floats && i < 2; i++)
        if (two[1 - i] < inputs && r->op->tensors[two[1 - i]].type == DML_TENSOR_DATA_TYPE_FLOAT32) {
            bytes->in[1] = (struct map_bytes_input){ two[1 - i], NONE, NONE };
            return find_dequantized(r, two[i], &bytes->in[0]);
        }
    return !bytes->floats && find_dequantized(r, two[0], &bytes->in[0]) && find_dequantized(r, two[1], &bytes->in[1]) &&
           bytes->in[0].input != bytes->in[1].input;
}

/* CLAMP([ADD](RINT(DIV(ADD or MUL of two, scale)), zero point)) */
static bool find_pair(struct map_bytes *bytes, const struct kern_op *op)
{
    const struct kern_map *map = &op->u.map;
    struct reader r = { op, map->store[0], 0 };
    uint32_t none, second;
    bytes->out.zero = NONE;
    if (!step_back(&r, KERN_MAP_CLAMP, &none))
        return false;
    step_back(&r, KERN_MAP_ADD, &bytes->out.zero);
    if (!step_back(&r, KERN_MAP_RINT, &none) || !step_back(&r, KERN_MAP_DIV, &bytes->out.scale) ||
        bytes->out.scale >= op->input_count || (bytes->out.zero != NONE && bytes->out.zero >= op->input_count))
        return false;
    bytes->product = step_back(&r, KERN_MAP_MUL, &second);
    if (!bytes->product && !step_back(&r, KERN_MAP_ADD, &second))
        return false;
    return find_two(bytes, &r, second) && r.seen == map->inst_count;
}

/* One instruction on two inputs of the output's type. */
static bool find_plain(struct map_bytes *bytes, const struct kern_op *op)
{
    const struct kern_map *map = &op->u.map;
    const struct kern_map_inst *inst = &map->inst[0];
    const DML_TENSOR_DATA_TYPE type = op->tensors[2].type;
    const DML_TENSOR_DATA_TYPE word =
        type == DML_TENSOR_DATA_TYPE_INT8 ? DML_TENSOR_DATA_TYPE_INT32 : DML_TENSOR_DATA_TYPE_UINT32;
    bytes->plain = op->input_count == 2 && map->inst_count == 1 && map->store[0] == 2 && inst->type == word &&
                   kern_map_arity[inst->code] == 2 && inst->src[0] != inst->src[1];
    for (uint32_t i = 0; i < 2 && bytes->plain; i++)
        bytes->plain = op->tensors[i].type == type && map->load_type[i] == word;
    if (bytes->plain)
        bytes->plain = inst->code == KERN_MAP_ADD || inst->code == KERN_MAP_SUB || inst->code == KERN_MAP_MUL ||
                       inst->code == KERN_MAP_MIN || inst->code == KERN_MAP_MAX;
    bytes->in[0].input = inst->src[0];
    bytes->in[1].input = inst->src[1];
    return bytes->plain;
}

static bool is_row(const struct kern_iterator *iterator, uint32_t view)
{
    const uint32_t last = iterator->rank - 1;
    return iterator->strides[view][last] == 1 && iterator->sizes[last] >= MIN_PAIRS;
}

/* Operands that are not one number are rows; a whole line is one of them. */
bool map_bytes_init(struct map_bytes *bytes, const struct kern_op *op, const struct kern_iterator *iterator)
{
    uint32_t rows = 0, floats = 0;
    *bytes = (struct map_bytes){ .units = (iterator->count + KERN_MAP_BLOCK - 1) / KERN_MAP_BLOCK };
    if (op->output_count != 1 || !is_byte(op, op->input_count) || iterator->count < MIN_COUNT || !is_row(iterator, 0))
        return false;
    for (uint32_t i = 0; i < op->input_count; i++) {
        const bool one = is_line(iterator, map_view_of_input(i), 0);
        if (one && kern_type_bytes(op->tensors[i].type))
            continue;
        if (one || !is_row(iterator, map_view_of_input(i)))
            return false;
        rows += is_byte(op, i);
        floats += !is_byte(op, i);
        bytes->in[is_byte(op, i) ? 0 : 1].input = i;
    }
    bytes->floats = floats == 1;
    bytes->pair = bytes->floats || rows == 2;
    const struct map_bytes_input row = bytes->in[0], number = bytes->in[1];
    if (rows == 1 && floats == 1)
        return find_pair(bytes, op) && bytes->in[0].input == row.input && bytes->in[1].input == number.input;
    return !floats && (rows == 1 || (rows == 2 && (find_plain(bytes, op) || find_pair(bytes, op)) &&
                                     is_row(iterator, map_view_of_input(bytes->in[0].input)) &&
                                     is_row(iterator, map_view_of_input(bytes->in[1].input))));
}

/* ---- one input ---- */

static void make_table(struct map_run *run, uint32_t input, uint8_t *table)
{
    const struct kern_op *op = run->op;
    const uint32_t reg = op->u.map.store[0];
    for (uint32_t i = 0; i < VALUES; i++)
        table[i] = (uint8_t)i;
    for (uint32_t i = 0; i < op->input_count; i++) {
        if (i != input) {
            map_load_repeated(run, i, run->call->data[i]);
            continue;
        }
        run->block.value[i] = kern_map_block_buffer(&run->block, i);
        kern_convert(run->block.isa, run->block.type[i], kern_map_block_buffer(&run->block, i), op->tensors[i].type,
                     table, VALUES);
    }
    kern_map_run_block(&run->block, NULL, VALUES);
    kern_convert(run->block.isa, op->tensors[op->input_count].type, table, run->block.type[reg], run->block.value[reg],
                 VALUES);
}

/* ---- two inputs ---- */

static float number(const struct map_run *run, uint32_t input)
{
    float result = 0;
    if (input != NONE)
        kern_convert(run->block.isa, DML_TENSOR_DATA_TYPE_FLOAT32, &result, run->op->tensors[input].type,
                     run->call->data[input], 1);
    return result;
}

static bool make_pair(const struct map_run *run, const struct map_bytes *bytes, struct kern_map_pair *out)
{
    const struct kern_op *op = run->op;
    const struct kern_map_inst *clamp = &op->u.map.inst[op->u.map.store[0] - op->input_count];
    out->scale[1] = 1;
    out->zero[1] = 0;
    for (uint32_t i = 0; i < (bytes->floats ? 1 : 2); i++) {
        out->is_signed[i] = op->tensors[bytes->in[i].input].type == DML_TENSOR_DATA_TYPE_INT8;
        out->scale[i] = number(run, bytes->in[i].scale);
        out->zero[i] = number(run, bytes->in[i].zero);
    }
    out->is_signed[2] = op->tensors[op->input_count].type == DML_TENSOR_DATA_TYPE_INT8;
    out->scale[2] = number(run, bytes->out.scale);
    out->zero[2] = number(run, bytes->out.zero);
    out->product = bytes->product;
    out->floats = bytes->floats;
    out->low = clamp->imm[0].f32;
    out->high = clamp->imm[1].f32;
    bool usual = true; /* no overflow or underflow, so that a reciprocal is as good as a division */
    for (uint32_t i = 0; i < 3; i++)
        usual = usual && fmath_abs(out->scale[i]) > 0x1p-30f && fmath_abs(out->scale[i]) < 0x1p30f &&
                out->zero[i] >= -128 && out->zero[i] <= 255;
    return usual;
}

/* ---- rows ---- */

bool map_bytes_run(struct map_run *run, const struct map_bytes *bytes, uint64_t begin, uint64_t end)
{
    const struct kern_map_isa *isa = run->block.isa;
    const struct kern_op *op = run->op;
    const uint32_t first = map_view_of_input(bytes->in[0].input), second = map_view_of_input(bytes->in[1].input);
    const uint8_t *a = run->call->data[bytes->in[0].input], *b = run->call->data[bytes->in[1].input];
    const bool is_signed = op->tensors[op->input_count].type == DML_TENSOR_DATA_TYPE_INT8;
    uint64_t from = begin * KERN_MAP_BLOCK, to = BASE_MIN(end * KERN_MAP_BLOCK, run->iterator.count);
    uint8_t *out = run->call->data[op->input_count], table[VALUES];
    struct kern_map_pair pair;
    struct kern_cursor cursor;
    if (!bytes->pair)
        make_table(run, bytes->in[0].input, table);
    else if (!bytes->plain && (!isa->pair_bytes || !make_pair(run, bytes, &pair)))
        return false;
    kern_cursor_seek(&run->iterator, from, &cursor);
    while (from < to) {
        const uint64_t count = BASE_MIN(kern_cursor_row_left(&run->iterator, &cursor), to - from);
        const int64_t at = cursor.offset[0], x = cursor.offset[first], y = cursor.offset[second];
        if (!bytes->pair)
            isa->look_up_bytes(out + at, table, a + x, count);
        else if (!bytes->plain)
            isa->pair_bytes(&pair, out + at, a + x, bytes->floats ? b + y * (int64_t)sizeof(float) : b + y, count);
        else if (!isa->plain_bytes(op->u.map.inst[0].code, is_signed, out + at, a + x, b + y, count))
            return false;
        from += count;
        kern_cursor_next_row(&run->iterator, &cursor);
    }
    return true;
}

/* ---- one input of 4-bit elements ---- */

bool map_table_init(struct map_table *table, const struct kern_op *op, const struct kern_iterator *iterator)
{
    const uint32_t out = kern_type_bytes(op->tensors[op->input_count].type);
    table->input = NONE;
    table->row = iterator->sizes[iterator->rank - 1];
    if (op->output_count != 1 || (out != 4 && out != 2) || !is_line(iterator, 0, 1) || table->row < MIN_ROW ||
        table->row % 2)
        return false;
    for (uint32_t i = 0; i < op->input_count; i++) {
        if (table->input == NONE && !kern_type_bytes(op->tensors[i].type) &&
            op->u.map.load_type[i] == DML_TENSOR_DATA_TYPE_FLOAT32 && is_line(iterator, map_view_of_input(i), 1))
            table->input = i;
        else if (!map_repeats_in_rows(iterator, map_view_of_input(i)))
            return false;
    }
    table->pieces = (table->row + KERN_MAP_BLOCK - 1) / KERN_MAP_BLOCK;
    table->units = iterator->count / table->row * table->pieces;
    return table->input != UINT32_MAX;
}

/* All 16 elements in the order of their codes, again and again. */
static void fill_values(const struct map_run *run, const struct map_table *table)
{
    const bool sign = run->op->tensors[table->input].type == DML_TENSOR_DATA_TYPE_INT4;
    float *values = kern_map_block_buffer(&run->block, table->input);
    for (int32_t i = 0; i < KERN_MAP_BLOCK; i++)
        values[i] = (float)(sign && i % NIBBLES >= NIBBLES / 2 ? i % NIBBLES - NIBBLES : i % NIBBLES);
}

/* The results of `rows` rows. */
static const void *compute(struct map_run *run, const struct map_table *table, uint64_t row, uint32_t rows)
{
    const uint32_t reg = run->op->u.map.store[0];
    const DML_TENSOR_DATA_TYPE type = run->op->tensors[run->op->input_count].type;
    for (uint32_t i = 0; i < run->op->input_count; i++) {
        if (i == table->input)
            run->block.value[i] = kern_map_block_buffer(&run->block, i);
        else
            map_load_rows(run, i, row, 0, NIBBLES, rows * NIBBLES);
    }
    kern_map_run_block(&run->block, NULL, rows * NIBBLES);
    if (type == run->block.type[reg])
        return run->block.value[reg];
    kern_convert(run->block.isa, type, kern_map_block_staging(&run->block), run->block.type[reg], run->block.value[reg],
                 rows * NIBBLES);
    return kern_map_block_staging(&run->block);
}

/* `rows` rows, or `count` elements of one row from `first` on. */
static void run_rows(struct map_run *run, const struct map_table *table, uint64_t row, uint32_t rows, uint64_t first,
                     uint32_t count)
{
    const DML_TENSOR_DATA_TYPE type = run->op->tensors[run->op->input_count].type;
    const uint32_t bytes = kern_type_bytes(type);
    const uint64_t at = row * table->row + first;
    const uint8_t *in = (const uint8_t *)run->call->data[table->input] + at / 2;
    char *out = (char *)run->call->data[run->op->input_count] + at * bytes;
    char *to = run->non_temporal ? (char *)kern_map_block_staging(&run->block) + KERN_MAP_BLOCK * 4 : out;
    const char *results = compute(run, table, row, rows);
    if (run->non_temporal)
        map_prefetch((const char *)in + (uint64_t)rows * count / 2, (uint64_t)rows * count / 2);
    run->block.isa->look_up(bytes, to, results, in, count / 2, rows);
    if (run->non_temporal)
        kern_stream(out, to, (uint64_t)rows * count * bytes);
}

void map_table_run(struct map_run *run, const struct map_table *table, uint64_t begin, uint64_t end)
{
    fill_values(run, table);
    if (table->pieces == 1) {
        const uint32_t most = (uint32_t)(KERN_MAP_BLOCK / table->row);
        for (uint64_t row = begin; row < end; row += most)
            run_rows(run, table, row, (uint32_t)BASE_MIN(most, end - row), 0, (uint32_t)table->row);
        return;
    }
    for (uint64_t unit = begin; unit < end; unit++) {
        const uint64_t first = unit % table->pieces * KERN_MAP_BLOCK;
        run_rows(run, table, unit / table->pieces, 1, first, (uint32_t)BASE_MIN(KERN_MAP_BLOCK, table->row - first));
    }
}
