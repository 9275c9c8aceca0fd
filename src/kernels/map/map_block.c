/* SPDX-License-Identifier: Apache-2.0 */
/* The block interpreter: instructions run over up to KERN_MAP_BLOCK elements at a time, so that registers stay in the
 * first-level cache and dispatch overhead is negligible. */
#include "kernels/map/map.h"

/* For registers of one element per row, after each slot. */
#define ROWS_BYTES (KERN_MAP_BLOCK / KERN_MAP_MIN_ROW * sizeof(float))

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
    /* The odd number of lines keeps slots from sharing cache sets. */
    return KERN_MAP_BLOCK * (wide ? 8 : 4) + ROWS_BYTES + 192;
}

static void find_last_uses(const struct kern_map *map, uint32_t input_count, uint32_t output_count, uint8_t *last)
{
    for (uint32_t i = 0; i < map->inst_count; i++) {
        last[input_count + i] = (uint8_t)i;
        for (uint32_t s = 0; s < kern_map_arity[map->inst[i].code]; s++)
            last[map->inst[i].src[s]] = (uint8_t)i;
    }
    for (uint32_t j = 0; j < output_count; j++)
        last[map->store[j]] = UINT8_MAX;
}

/* Inputs keep their slots; results share slots once they are dead. Returns the number of slots. */
static uint32_t assign_slots(const struct kern_map *map, uint32_t input_count, uint32_t output_count, uint8_t *slot)
{
    uint8_t last[KERN_MAP_REGISTERS] = { 0 };
    uint8_t free_at[KERN_MAP_REGISTERS] = { 0 }; /* instruction from which the slot is free again */
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

/* Elements of a chain: each uses the previous result, and at most one other operand. */
static bool is_link(const struct kern_map_inst *inst)
{
    switch ((enum kern_map_code)inst->code) {
    case KERN_MAP_ADD:
    case KERN_MAP_SUB:
    case KERN_MAP_MUL:
    case KERN_MAP_DIV:
    case KERN_MAP_RINT:
    case KERN_MAP_CLAMP:
    case KERN_MAP_CLAMP_NAN:
    case KERN_MAP_RELU:
        return inst->type == DML_TENSOR_DATA_TYPE_FLOAT32;
    default:
        return false;
    }
}

/* The instruction continues with register `reg`, which it uses only once. */
static bool goes_on(const struct kern_map_inst *inst, uint32_t reg)
{
    const bool first = inst->src[0] == reg, second = kern_map_arity[inst->code] == 2 && inst->src[1] == reg;
    return is_link(inst) && (first ? !second : second && (inst->code == KERN_MAP_ADD || inst->code == KERN_MAP_MUL));
}

static void find_chains(struct kern_map_block *block)
{
    const struct kern_map *map = block->map;
    uint8_t uses[KERN_MAP_REGISTERS] = { 0 };
    for (uint32_t i = 0; i < map->inst_count; i++)
        for (uint32_t s = 0; s < kern_map_arity[map->inst[i].code]; s++)
            uses[map->inst[i].src[s]]++;
    for (uint32_t j = 0; j < block->output_count; j++)
        uses[map->store[j]]++;
    memset(block->chain, 0, map->inst_count);
    for (uint32_t i = 0, length; i < map->inst_count && block->isa->chain; i += length) {
        for (length = 1; is_link(&map->inst[i]) && i + length < map->inst_count; length++)
            if (uses[block->input_count + i + length - 1] != 1 ||
                !goes_on(&map->inst[i + length], block->input_count + i + length - 1))
                break;
        block->chain[i] = length > 1 ? (uint8_t)length : 0;
    }
}

uint64_t kern_map_block_bytes(const struct kern_map *map, uint32_t input_count)
{
    uint8_t slot[KERN_MAP_REGISTERS];
    uint32_t used = assign_slots(map, input_count, KERN_TENSORS_MAX - input_count, slot);
    return (uint64_t)used * slot_size(map, input_count) + KERN_MAP_STAGING_BYTES + 64;
}

void kern_map_block_init(struct kern_map_block *block, const struct kern_map *map, uint32_t input_count,
                         uint32_t output_count, const struct kern_map_isa *isa, void *worker_scratch)
{
    block->map = map;
    block->isa = isa;
    block->input_count = input_count;
    block->output_count = output_count;
    block->rows = block->same = 0;
    block->slot_bytes = slot_size(map, input_count);
    block->slots = (char *)base_align_up((uintptr_t)worker_scratch, 64) + KERN_MAP_STAGING_BYTES;
    assign_slots(map, input_count, output_count, block->slot);
    for (uint32_t i = 0; i < input_count; i++)
        block->type[i] = map->load_type[i];
    for (uint32_t i = 0; i < map->inst_count; i++)
        block->type[input_count + i] = map->inst[i].code == KERN_MAP_CONVERT ? map->inst[i].to_type : map->inst[i].type;
    find_chains(block);
}

void *kern_map_block_buffer(const struct kern_map_block *block, uint32_t reg)
{
    return block->slots + block->slot[reg] * block->slot_bytes;
}

float *kern_map_block_rows(const struct kern_map_block *block, uint32_t reg)
{
    return (float *)((char *)kern_map_block_buffer(block, reg) + block->slot_bytes - ROWS_BYTES - 64);
}

void *kern_map_block_staging(const struct kern_map_block *block)
{
    return block->slots - KERN_MAP_STAGING_BYTES;
}

static void expand(struct kern_map_block *block, uint32_t i, uint32_t count)
{
    if (i >= block->input_count || !(block->rows >> i & 1))
        return;
    void *buffer = kern_map_block_buffer(block, i);
    block->isa->repeat(sizeof(float), buffer, block->value[i], 0, block->length, count);
    block->value[i] = buffer;
    block->rows &= ~(1u << i);
}

static bool exec_rows(struct kern_map_block *block, const struct kern_map_inst *inst, void *out, uint32_t count)
{
    const void *src[3] = { NULL };
    for (uint32_t s = 0; s < kern_map_arity[inst->code]; s++) {
        if ((s > 0) != (inst->src[s] < block->input_count && block->rows >> inst->src[s] & 1))
            return false;
        src[s] = block->value[inst->src[s]];
    }
    return src[1] && block->isa->exec_rows(inst, out, src, block->length, count);
}

/* One instruction for elements [begin, end), which all sources contain. */
static void run_instruction(struct kern_map_block *block, uint32_t i, void *out, uint32_t begin, uint32_t end)
{
    const struct kern_map_inst *inst = &block->map->inst[i];
    const uint32_t inputs = kern_map_arity[inst->code];
    const void *src[3];
    out = (char *)out + (uint64_t)begin * kern_type_bytes(block->type[block->input_count + i]);
    for (uint32_t s = 0; s < 3; s++)
        src[s] = s < inputs ? (const char *)block->value[inst->src[s]] +
                                  (uint64_t)begin * kern_type_bytes(block->type[inst->src[s]])
                 : inputs ? src[0]
                          : out;
    if (inst->code == KERN_MAP_CONVERT)
        kern_convert(block->isa, inst->to_type, out, inst->type, src[0], end - begin);
    else if (!block->isa->exec(inst, out, src, end - begin))
        kern_map_isa_portable.exec(inst, out, src, end - begin);
}

/* Returns how many elements all of the chain's instructions have been run for. */
static uint32_t run_chain(struct kern_map_block *block, uint32_t i, float *out, uint32_t count)
{
    struct kern_map_link links[KERN_MAP_INST_MAX];
    const struct kern_map_inst *inst = &block->map->inst[i];
    const float *in = block->value[inst->src[0]];
    for (uint32_t k = 0; k < block->chain[i]; k++, inst++) {
        const bool carried = !k || inst->src[0] == block->input_count + i + k - 1;
        const uint32_t other = inst->src[carried ? 1 : 0];
        links[k] = (struct kern_map_link){ .code = inst->code, .p = inst->imm[0].f32, .q = inst->imm[1].f32 };
        if (kern_map_arity[inst->code] < 2)
            continue;
        links[k].other = block->value[other];
        links[k].same = other < block->input_count && block->same >> other & 1;
    }
    return block->isa->chain(links, block->chain[i], out, in, count);
}

void kern_map_run_block(struct kern_map_block *block, void *last_out, uint32_t count)
{
    const struct kern_map *map = block->map;
    uint32_t chained = 0, done = 0; /* instructions up to `chained` have been run for `done` elements */
    for (uint32_t i = 0; i < map->inst_count; i++) {
        const struct kern_map_inst *inst = &map->inst[i];
        void *out =
            last_out && i + 1 == map->inst_count ? last_out : kern_map_block_buffer(block, block->input_count + i);
        block->value[block->input_count + i] = out;
        if (block->rows && exec_rows(block, inst, out, count))
            continue;
        for (uint32_t s = 0; s < kern_map_arity[inst->code] && block->rows; s++)
            expand(block, inst->src[s], count);
        if (block->chain[i] && !block->rows) {
            uint32_t last = i + block->chain[i] - 1;
            void *end = last_out && last + 1 == map->inst_count
                            ? last_out
                            : kern_map_block_buffer(block, block->input_count + last);
            done = run_chain(block, i, end, count);
            chained = last + 1;
        }
        if (i >= chained)
            run_instruction(block, i, out, 0, count);
        else if (done < count)
            run_instruction(block, i, out, done, count);
    }
    for (uint32_t j = 0; j < block->output_count && block->rows; j++)
        expand(block, map->store[j], count);
}
