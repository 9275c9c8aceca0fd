/* The block interpreter: instructions run over up to KERN_MAP_BLOCK elements at a time, so that registers stay in the
 * first-level cache and dispatch costs nothing. */
#include "kernels/map.h"

/* Raw elements of any type lie before the slots. */
#define STAGING_BYTES (KERN_MAP_BLOCK * 8 + 64)

/* Rows from this length on are looked at as rows. */
#define LEAST_ROW 8

static bool is_wide(uint8_t type)
{
    return kern_type_bytes(type) == 8;
}

static uint32_t slot_size(const struct kern_map *map, uint32_t input_count)
{
    bool wide = false;
    for (uint32_t i = 0; i < input_count; i++)
        wide |= is_wide(map->load_type[i]);
    for (uint32_t i = 0; i < map->inst_count; i++)
        wide |= is_wide(map->inst[i].to_type) || is_wide(map->inst[i].type);
    /* The odd lines keep slots from sharing cache sets. */
    return KERN_MAP_BLOCK * (wide ? 8 : 4) + 192;
}

static uint32_t arity(uint8_t code)
{
    static const uint8_t counts[] = {
#define MAPOP(name, arity, types, formula) arity,
#include "kernels/mapops.def"
#undef MAPOP
    };
    return counts[code];
}

static void find_last_uses(const struct kern_map *map, uint32_t input_count, uint32_t output_count, uint8_t *last)
{
    for (uint32_t i = 0; i < map->inst_count; i++) {
        last[input_count + i] = (uint8_t)i;
        for (uint32_t s = 0; s < arity(map->inst[i].code); s++)
            last[map->inst[i].src[s]] = (uint8_t)i;
    }
    for (uint32_t j = 0; j < output_count; j++)
        last[map->store[j]] = UINT8_MAX;
}

/* Inputs keep their slots; results share slots once nobody reads them any more. Returns how many slots there are. */
static uint32_t assign_slots(const struct kern_map *map, uint32_t input_count, uint32_t output_count, uint8_t *slot)
{
    uint8_t last[KERN_MAP_REGISTERS] = { 0 };
    uint8_t free_at[KERN_MAP_REGISTERS] = { 0 }; /* instruction from which on the slot is free again */
    uint32_t used = input_count;
    find_last_uses(map, input_count, output_count, last);
    for (uint32_t i = 0; i < input_count; i++)
        slot[i] = (uint8_t)i;
    for (uint32_t i = 0; i < map->inst_count; i++) {
        uint32_t s = input_count;
        while (s < used && free_at[s] > i)
            s++;
        used = BASE_MAX(used, s + 1);
        slot[input_count + i] = (uint8_t)s;
        free_at[s] = last[input_count + i] == UINT8_MAX ? UINT8_MAX : (uint8_t)(last[input_count + i] + 1);
    }
    return used;
}

uint64_t kern_map_block_bytes(const struct kern_map *map, uint32_t input_count)
{
    uint8_t slot[KERN_MAP_REGISTERS];
    uint32_t used = assign_slots(map, input_count, KERN_TENSORS_MAX - input_count, slot);
    return (uint64_t)used * slot_size(map, input_count) + STAGING_BYTES + 64;
}

void kern_map_block_init(struct kern_map_block *block, const struct kern_map *map, uint32_t input_count,
                         uint32_t output_count, const struct kern_map_isa *isa, void *worker_scratch)
{
    block->map = map;
    block->isa = isa;
    block->input_count = input_count;
    block->output_count = output_count;
    block->register_count = input_count + map->inst_count;
    block->slot_bytes = slot_size(map, input_count);
    block->slots = (char *)base_align_up((uintptr_t)worker_scratch, 64) + STAGING_BYTES;
    assign_slots(map, input_count, output_count, block->slot);
    for (uint32_t i = 0; i < input_count; i++)
        block->type[i] = map->load_type[i];
    for (uint32_t i = 0; i < map->inst_count; i++)
        block->type[input_count + i] = map->inst[i].code == KERN_MAP_CONVERT ? map->inst[i].to_type : map->inst[i].type;
}

void *kern_map_block_buffer(const struct kern_map_block *block, uint32_t reg)
{
    return block->slots + block->slot[reg] * block->slot_bytes;
}

void *kern_map_block_staging(const struct kern_map_block *block)
{
    return block->slots - STAGING_BYTES;
}

void kern_map_run_block(struct kern_map_block *block, void *last_out, uint32_t count)
{
    const struct kern_map *map = block->map;
    for (uint32_t i = 0; i < map->inst_count; i++) {
        const struct kern_map_inst *inst = &map->inst[i];
        uint32_t reg = block->input_count + i;
        void *out = last_out && i + 1 == map->inst_count ? last_out : kern_map_block_buffer(block, reg);
        uint32_t inputs = arity(inst->code);
        const void *src[3];
        for (uint32_t s = 0; s < 3; s++)
            src[s] = s < inputs ? block->value[inst->src[s]] : inputs ? src[0] : out;
        if (inst->code == KERN_MAP_CONVERT)
            kern_convert(block->isa, inst->to_type, out, inst->type, src[0], count);
        else if (!block->isa->exec || !block->isa->exec(inst, out, src, count))
            kern_map_isa_portable.exec(inst, out, src, count);
        block->value[reg] = out;
    }
}

/* ---- whole tensors
 * --------------------------------------------------------------------------------------------------- */

struct map_run {
    const struct kern_call *call;
    const struct kern_op *op;
    struct kern_walk walk; /* views: output 0, inputs, further outputs */
    struct kern_map_block block;
    const void *filled[KERN_TENSORS_MAX]; /* input register holds this one element, repeated */
};

static uint32_t view_of_input(uint32_t i)
{
    return i + 1;
}

static uint32_t view_of_output(const struct kern_op *op, uint32_t j)
{
    return j ? op->input_count + j : 0;
}

static void map_walk_init(struct kern_walk *walk, const struct kern_op *op)
{
    uint32_t tensors[KERN_TENSORS_MAX];
    uint32_t count = op->input_count + op->output_count;
    for (uint32_t i = 0; i < op->input_count; i++)
        tensors[view_of_input(i)] = i;
    for (uint32_t j = 0; j < op->output_count; j++)
        tensors[view_of_output(op, j)] = op->input_count + j;
    kern_walk_init(walk, op, tensors, count, UINT32_MAX, 0);
}

/* Input i of the block is one element, repeated. */
static void load_repeated(struct map_run *run, uint32_t i, const void *element)
{
    DML_TENSOR_DATA_TYPE type = run->op->tensors[i].type;
    char *staging = kern_map_block_staging(&run->block);
    void *buffer = kern_map_block_buffer(&run->block, i);
    uint32_t bytes = kern_type_bytes(run->block.type[i]);
    run->block.value[i] = buffer;
    if (run->filled[i] == element)
        return;
    run->filled[i] = element;
    kern_convert(run->block.isa, run->block.type[i], staging, type, element, 1);
    kern_copy_row(bytes, buffer, 1, staging, 0, KERN_MAP_BLOCK);
}

/* Input i repeats one element along each row: those are converted before they are repeated. */
static void load_rows(struct map_run *run, uint32_t i, uint64_t begin, uint32_t count)
{
    DML_TENSOR_DATA_TYPE type = run->op->tensors[i].type;
    uint32_t bytes = kern_type_bytes(type), wide = kern_type_bytes(run->block.type[i]), rows = 0;
    uint64_t length[KERN_MAP_BLOCK / LEAST_ROW + 2];
    char *raw = kern_map_block_staging(&run->block), *elements = raw + sizeof(length);
    char *buffer = kern_map_block_buffer(&run->block, i);
    struct kern_runs runs;
    for (uint64_t n = kern_runs_first(&runs, &run->walk, view_of_input(i), begin, count); n;
         n = kern_runs_next(&runs, n)) {
        kern_walk_element(type, run->call->data[i], runs.offset, raw + rows * BASE_MAX(1, bytes));
        length[rows++] = n;
    }
    kern_convert(run->block.isa, run->block.type[i], elements, type, raw, rows);
    for (uint32_t r = 0; r < rows; r++) {
        kern_copy_row(wide, buffer, 1, elements + r * wide, 0, length[r]);
        buffer += length[r] * wide;
    }
}

static void load_input(struct map_run *run, uint32_t i, uint64_t begin, uint32_t count)
{
    DML_TENSOR_DATA_TYPE type = run->op->tensors[i].type;
    uint32_t bytes = kern_type_bytes(type), view = view_of_input(i);
    bool same = type == run->block.type[i];
    int64_t stride;
    const char *at = NULL;
    if (bytes && kern_walk_linear(&run->walk, view, begin, count, &stride) && (stride == 0 || stride == 1))
        at = (const char *)run->call->data[i] + kern_walk_offset(&run->walk, view, begin) * bytes;
    if (at && stride == 0) {
        load_repeated(run, i, at);
        return;
    }
    run->filled[i] = NULL;
    if (at && same) {
        run->block.value[i] = at;
        return;
    }
    void *buffer = kern_map_block_buffer(&run->block, i);
    void *raw = same ? buffer : kern_map_block_staging(&run->block);
    run->block.value[i] = buffer;
    uint32_t last = run->walk.rank - 1;
    if (!at && !same && run->walk.strides[view][last] == 0 && run->walk.sizes[last] >= LEAST_ROW) {
        load_rows(run, i, begin, count);
        return;
    }
    if (!at)
        kern_walk_load(&run->walk, view, type, run->call->data[i], begin, count, raw);
    if (!same)
        kern_convert(run->block.isa, run->block.type[i], buffer, type, at ? at : raw, count);
}

static void *output_in_place(struct map_run *run, uint32_t j, uint64_t begin, uint32_t count)
{
    const struct kern_op *op = run->op;
    DML_TENSOR_DATA_TYPE type = op->tensors[op->input_count + j].type;
    uint32_t view = view_of_output(op, j);
    int64_t stride;
    if (!kern_type_bytes(type) || !kern_walk_linear(&run->walk, view, begin, count, &stride) || stride != 1)
        return NULL;
    return (char *)run->call->data[op->input_count + j] +
           kern_walk_offset(&run->walk, view, begin) * kern_type_bytes(type);
}

static void store_output(struct map_run *run, uint32_t j, uint64_t begin, uint32_t count)
{
    const struct kern_op *op = run->op;
    DML_TENSOR_DATA_TYPE type = op->tensors[op->input_count + j].type;
    uint32_t reg = op->u.map.store[j];
    const void *value = run->block.value[reg];
    void *out = output_in_place(run, j, begin, count);
    /* An input of another type may lie where the output goes. */
    if (out == value && type == run->block.type[reg])
        return;
    if (out) {
        kern_convert(run->block.isa, type, out, run->block.type[reg], value, count);
        return;
    }
    void *raw = kern_map_block_staging(&run->block);
    if (type != run->block.type[reg]) {
        kern_convert(run->block.isa, type, raw, run->block.type[reg], value, count);
        value = raw;
    }
    kern_walk_store(&run->walk, view_of_output(op, j), type, run->call->data[op->input_count + j], begin, count, value);
}

/* The last instruction may write straight to the only output: nothing reads an input after it. */
static void *last_output(struct map_run *run, uint64_t begin, uint32_t count)
{
    const struct kern_op *op = run->op;
    uint32_t last = op->input_count + op->u.map.inst_count - 1;
    if (op->output_count != 1 || !op->u.map.inst_count || op->u.map.store[0] != last ||
        op->tensors[op->input_count].type != run->block.type[last])
        return NULL;
    if (op->u.map.inst[op->u.map.inst_count - 1].code == KERN_MAP_CONVERT)
        return NULL;
    return output_in_place(run, 0, begin, count);
}

/* Elements of one unit of work. Where 4-bit elements lie densely, blocks of them begin and end with whole bytes, so
 * that several threads may write them. */
static uint32_t unit_elements(const struct kern_op *op)
{
    bool nibbles = false;
    for (uint32_t t = op->input_count; t < op->input_count + op->output_count; t++) {
        bool narrow = !kern_type_bytes(op->tensors[t].type);
        if (narrow && !kern_view_packed(&op->tensors[t]))
            return 1;
        nibbles |= narrow;
    }
    return nibbles && kern_view_packed(&op->tensors[op->input_count]) ? KERN_MAP_BLOCK : 1;
}

void kern_map_run(const struct kern_call *call, const struct kern_map_isa *isa, uint64_t begin, uint64_t end)
{
    struct map_run run;
    uint32_t unit = unit_elements(call->op);
    run.call = call;
    run.op = call->op;
    memset(run.filled, 0, sizeof(run.filled));
    map_walk_init(&run.walk, call->op);
    kern_map_block_init(&run.block, &call->op->u.map, call->op->input_count, call->op->output_count, isa,
                        call->worker_scratch);
    begin *= unit;
    end = BASE_MIN(end * unit, run.walk.count);
    while (begin < end) {
        uint32_t count = (uint32_t)BASE_MIN(end - begin, KERN_MAP_BLOCK);
        /* Blocks end with long rows, so that rows are read and written in place. */
        if (run.walk.sizes[run.walk.rank - 1] >= KERN_MAP_BLOCK)
            count = (uint32_t)BASE_MIN(count, kern_walk_row_left(&run.walk, begin));
        for (uint32_t i = 0; i < call->op->input_count; i++)
            load_input(&run, i, begin, count);
        kern_map_run_block(&run.block, last_output(&run, begin, count), count);
        for (uint32_t j = 0; j < call->op->output_count; j++)
            store_output(&run, j, begin, count);
        begin += count;
    }
}

bool kern_map_any_ref_accepts(const struct kern_op *op);

bool kern_map_any_accepts(const struct kern_op *op)
{
    return kern_map_any_ref_accepts(op);
}

void kern_map_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out);

void kern_map_any_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    kern_map_any_ref_plan(op, state, threads, out);
    uint64_t weight = BASE_MIN(1 + op->u.map.inst_count / 2, 8);
    uint32_t unit = unit_elements(op);
    out->grain = BASE_MAX(out->grain == out->units && unit == 1 ? out->units : 0, 32768 / weight / unit);
    out->units = (out->units + unit - 1) / unit;
    out->worker_scratch_bytes = kern_map_block_bytes(&op->u.map, op->input_count);
}

void kern_map_any_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    kern_map_run(call, &kern_map_isa_portable, begin, end);
}
