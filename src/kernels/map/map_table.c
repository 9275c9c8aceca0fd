/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise programs of one 4-bit input, such as weights of quantized models: all that depends on the element is one
 * of 16 results, as long as the other inputs stay what they are. */
#include "kernels/map/map_run.h"

enum { VALUES = 16, MIN_ROW = 2 * VALUES };

/* Is the whole view one line of elements? */
static bool is_line(const struct kern_iterator *iterator, uint32_t view)
{
    int64_t stride;
    return kern_iterator_linear(iterator, view, 0, iterator->count, &stride) && stride == 1;
}

static bool is_nibbles(const struct kern_op *op, const struct kern_iterator *iterator, uint32_t i)
{
    return kern_type_bytes(op->tensors[i].type) == 0 && op->u.map.load_type[i] == DML_TENSOR_DATA_TYPE_FLOAT32 &&
           is_line(iterator, map_view_of_input(i));
}

bool map_table_init(struct map_table *table, const struct kern_op *op, const struct kern_iterator *iterator)
{
    const uint32_t out = kern_type_bytes(op->tensors[op->input_count].type);
    table->input = UINT32_MAX;
    table->row = iterator->sizes[iterator->rank - 1];
    if (op->output_count != 1 || (out != 4 && out != 2) || !is_line(iterator, 0) || table->row < MIN_ROW ||
        table->row % 2)
        return false;
    for (uint32_t i = 0; i < op->input_count; i++) {
        if (table->input == UINT32_MAX && is_nibbles(op, iterator, i))
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
        values[i] = (float)(sign && i % VALUES >= VALUES / 2 ? i % VALUES - VALUES : i % VALUES);
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
            map_load_rows(run, i, row, 0, VALUES, rows * VALUES);
    }
    kern_map_run_block(&run->block, NULL, rows * VALUES);
    if (type == run->block.type[reg])
        return run->block.value[reg];
    kern_convert(run->block.isa, type, kern_map_block_staging(&run->block), run->block.type[reg], run->block.value[reg],
                 rows * VALUES);
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
        map_store_dense(run, out, type, to, rows * count);
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
