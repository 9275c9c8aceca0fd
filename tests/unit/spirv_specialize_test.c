/* SPDX-License-Identifier: Apache-2.0 */
/* Specialised SPIR-V (shaders/spirv): every shader and every instruction of element-wise programs gives a module that
 * is well formed, whose code does not depend on what is constant, and which is the same each time; spirv-val agrees
 * where it is installed. What runs, and its results, are check_vulkan's. The sources are compiled with allocations that
 * fail on demand. */
#undef calloc
#undef malloc
#undef realloc
#include "kernels/map/map.h"
#include "shaders/core/shader_block.h"
#include "shaders/map/map_flat_params.h"
#include "shaders/map/shader_map.h"
#include "shaders/shaders_spirv.h"
#include "shaders/spirv/spirv_module.h"

#include "test.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- allocations ---- */

static uint32_t left = UINT32_MAX; /* until one fails */

void *spirv_calloc(size_t count, size_t bytes);
void *spirv_malloc(size_t bytes);
void *spirv_realloc(void *old, size_t bytes);

static bool fails(void)
{
    if (left == UINT32_MAX)
        return false;
    if (left)
        left--;
    return !left;
}

void *spirv_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : calloc(count, bytes);
}

void *spirv_malloc(size_t bytes)
{
    return fails() ? NULL : malloc(bytes);
}

void *spirv_realloc(void *old, size_t bytes)
{
    return fails() ? NULL : realloc(old, bytes);
}

/* ---- modules ---- */

static const struct code {
    const char *name;
    const uint8_t *packed;
    uint32_t words;
} codes[] = {
#define SHADER(name, family, source, needs, defines) { #name, name##_code, name##_words },
#include "shaders/shaders.def"
#undef SHADER
};

enum { INSTS = MAP_FLAT_INST_MAX, WORDS_MAX = 1 << 18, HALF = 16, LARGE = 17 };

static uint32_t before[WORDS_MAX];

static void unpack(const struct code *code)
{
    const uint8_t *at = code->packed;
    for (uint32_t i = 0; i < code->words; i++) {
        before[i] = *at & 127u;
        for (uint32_t shift = 7; *at++ & 128u; shift += 7)
            before[i] |= (*at & 127u) << shift;
    }
}

/* Each id is defined once, and what is used is defined; there are no specialization constants. */
static void check_ids(const uint32_t *words, uint32_t count, const char *what)
{
    uint8_t *defined = calloc(words[3], 1);
    const struct spirv_module module = { .words = words, .count = count, .bound = words[3] };
    uint32_t undefined = 0, twice = 0, special = 0;
    for (uint32_t at = SPIRV_HEADER; at < count; at += words[at] >> 16) {
        const uint32_t op = words[at] & 0xffff;
        const struct spirv_op *row = spirv_op(op);
        const uint32_t place = op == OpFunction ? 2 : op == OpExtInstImport ? 1 : row ? row->result : 0;
        if (!TEST_FOR(words[at] >> 16, "%s: an instruction without a length", what))
            break;
        special += op >= OpSpecConstantTrue && op <= OpSpecConstantOp;
        if (place && op != OpTypeForwardPointer)
            twice += defined[words[at + place]]++;
    }
    for (uint32_t at = SPIRV_HEADER; at < count; at += words[at] >> 16) {
        uint32_t ids, first = spirv_operands(&module, at, &ids);
        for (uint32_t i = 0; i < ids; i++)
            undefined += !defined[words[first + i]];
    }
    TEST_FOR(!undefined && !twice && !special, "%s: %u undefined, %u defined twice, %u specialization constants", what,
             undefined, twice, special);
    free(defined);
}

/* Whether spirv-val accepts it; true where it is not installed. */
static bool is_valid(const uint32_t *words, size_t count)
{
    char path[] = "/tmp/anydml-spirv-XXXXXX", command[200];
    const int file = mkstemp(path);
    const bool written = file >= 0 && write(file, words, count * 4) == (ssize_t)(count * 4);
    snprintf(
        command, sizeof(command),
        "! command -v spirv-val >/dev/null || spirv-val --target-env vulkan1.2 --uniform-buffer-standard-layout %s >&2",
        path);
    const bool good = written && system(command) == 0;
    if (file >= 0) {
        close(file);
        unlink(path);
    }
    return good;
}

static uint32_t count_of(const uint32_t *words, size_t count, uint32_t op)
{
    uint32_t found = 0;
    for (size_t at = SPIRV_HEADER; at < count; at += words[at] >> 16)
        found += (words[at] & 0xffff) == op;
    return found;
}

/* The module for the caller to free, after what all must be; NULL: failed. */
static uint32_t *specialize(const struct code *code, const struct spirv_constant *constants, uint32_t constant_count,
                            bool validate, size_t *out_count)
{
    size_t again = 0;
    unpack(code);
    uint32_t *words = spirv_specialize(before, code->words, constants, constant_count, out_count);
    uint32_t *second = spirv_specialize(before, code->words, constants, constant_count, &again);
    if (!TEST_FOR(words && second, "%s", code->name)) {
        free(words);
        free(second);
        return NULL;
    }
    TEST_FOR(again == *out_count && !memcmp(words, second, again * 4), "%s: not the same twice", code->name);
    free(second);
    check_ids(words, (uint32_t)*out_count, code->name);
    if (validate && is_valid(before, code->words)) /* tools of some age know not all extensions */
        TEST_FOR(is_valid(words, *out_count), "%s: spirv-val", code->name);
    return words;
}

/* Bytes of the largest number in a type whose parts are known. */
static uint32_t number_bytes(const uint32_t *words, uint32_t at, const uint32_t *known)
{
    const uint32_t op = words[at] & 0xffff, length = words[at] >> 16;
    uint32_t most = op == OpTypeInt || op == OpTypeFloat ? words[at + 2] / 8 : op == OpTypePointer ? 8 : 0;
    for (uint32_t i = 2; i < (op == OpTypeStruct ? length : 3); i++)
        if (op == OpTypeStruct || (op >= OpTypeVector && op <= OpTypeRuntimeArray))
            most = BASE_MAX(most, known[words[at + i]]);
    return most;
}

/* What is aligned less than its largest number is undefined (VUID-StandaloneSpirv-PhysicalStorageBuffer64-06314): loads
 * and stores of the module in `before`. */
static void check_alignment(const struct code *code)
{
    enum { ALIGNED = 2 };
    uint32_t *bytes = calloc(before[3], sizeof(*bytes)); /* by id of a type or a value */
    for (uint32_t at = SPIRV_HEADER, seen = 0; at < code->words; at += before[at] >> 16) {
        const uint32_t op = before[at] & 0xffff, operands = at + (op == OpLoad ? 4 : 3);
        const struct spirv_op *row = spirv_op(op);
        if (op >= OpTypeVoid && op <= OpTypePointer && op != OpTypeForwardPointer)
            bytes[before[at + 1]] = number_bytes(before, at, bytes);
        else if (row && row->result == 2)
            bytes[before[at + 2]] = bytes[before[at + 1]];
        if ((op != OpLoad && op != OpStore) || operands + 1 >= at + (before[at] >> 16) || !(before[operands] & ALIGNED))
            continue;
        const uint32_t most = bytes[before[at + (op == OpLoad ? 1 : 2)]];
        TEST_FOR(most <= before[operands + 1] || seen++, "%s: numbers of %u bytes are aligned to %u", code->name, most,
                 before[operands + 1]);
    }
    free(bytes);
}

static void test_all(void)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(codes); i++) {
        unpack(&codes[i]);
        check_alignment(&codes[i]);
    }
    for (uint32_t i = 0; i < ARRAY_SIZE(codes); i++)
        for (uint32_t half = 0; half < 2; half++) {
            const struct spirv_constant constants[] = { { HALF, half } };
            size_t count;
            free(specialize(&codes[i], constants, 1, half && i % 4 == 0, &count));
        }
}

/* ---- element-wise programs ---- */

static const struct code *code_of(const char *name)
{
    uint32_t i = 0;
    while (strcmp(codes[i].name, name) != 0)
        i++;
    return &codes[i];
}

static struct kern_op program_of(DML_TENSOR_DATA_TYPE type, DML_TENSOR_DATA_TYPE tensor_type, uint32_t size)
{
    struct kern_op op = { .kind = KERN_MAP, .input_count = 3, .output_count = 1 };
    for (uint32_t t = 0; t < 4; t++) {
        kern_view_set_packed(&op.tensors[t], tensor_type, 1, &size);
        op.u.map.load_type[t] = (uint8_t)type;
    }
    return op;
}

/* As the row does it, and no switch is left: nothing is interpreted. */
static size_t check_program(const struct kern_op *op, bool validate)
{
    struct shader_work work = { 0 };
    struct spirv_constant constants[SHADER_CONSTANTS_MAX + 2];
    size_t count = 0;
    shader_map_flat_plan(op, &work);
    const struct shader_dispatch *dispatch = &work.dispatches[0];
    for (uint32_t i = 0; i < dispatch->constant_count; i++)
        constants[i] = (struct spirv_constant){ i, dispatch->constants[i] };
    constants[dispatch->constant_count] = (struct spirv_constant){ HALF, 1 };
    constants[dispatch->constant_count + 1] = (struct spirv_constant){ LARGE, 0 };
    uint32_t *words =
        specialize(&codes[dispatch->shader.number], constants, dispatch->constant_count + 2, validate, &count);
    if (words)
        TEST_FOR(!count_of(words, count, OpSwitch), "%s: instruction %u of type %u",
                 codes[dispatch->shader.number].name, op->u.map.inst_count ? op->u.map.inst[0].code : 0,
                 op->u.map.load_type[0]);
    free(words);
    return count;
}

/* Every instruction in every type of registers, whether it makes sense or not. */
static void test_instructions(void)
{
    static const DML_TENSOR_DATA_TYPE types[] = { DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_INT32,
                                                  DML_TENSOR_DATA_TYPE_UINT32,  DML_TENSOR_DATA_TYPE_INT64,
                                                  DML_TENSOR_DATA_TYPE_UINT64,  DML_TENSOR_DATA_TYPE_FLOAT64 };
    for (uint32_t t = 0; t < ARRAY_SIZE(types); t++)
        for (uint32_t code = 0; code < KERN_MAP_CODE_COUNT; code++) {
            struct kern_op op = program_of(types[t], types[t], 20001);
            op.u.map.inst_count = 1;
            op.u.map.inst[0] =
                (struct kern_map_inst){ (uint8_t)code, (uint8_t)types[t], (uint8_t)types[t], { 0, 1, 2 } };
            op.u.map.store[0] = 3;
            check_program(&op, (code + t) % 8 == 0);
        }
}

/* Every type of tensor, whole vectors and parts. */
static void test_types(void)
{
    static const uint8_t types[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15 };
    for (uint32_t from = 0; from < ARRAY_SIZE(types); from++)
        for (uint32_t to = 0; to < ARRAY_SIZE(types); to++) {
            struct kern_op op = program_of(DML_TENSOR_DATA_TYPE_FLOAT32, (DML_TENSOR_DATA_TYPE)types[from], 20001);
            op.tensors[3].type = (DML_TENSOR_DATA_TYPE)types[to];
            op.tensors[1].strides[0] = 0;
            op.tensors[2].strides[0] = 2;
            check_program(&op, (from + to) % 8 == 0);
        }
}

/* The size of the code is that of the instructions, not of all that there could be. */
static void test_size(void)
{
    struct kern_op op = program_of(DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT32, 1 << 20);
    size_t sizes[INSTS + 1];
    for (uint32_t n = 0; n <= INSTS; n++) {
        op.u.map.inst_count = n;
        if (n)
            op.u.map.inst[n - 1] =
                (struct kern_map_inst){ n % 2 ? KERN_MAP_ADD : KERN_MAP_MUL, 1, 1, { (uint8_t)(n + 1), 1 } };
        op.u.map.store[0] = (uint8_t)(2 + n);
        sizes[n] = check_program(&op, n == INSTS);
    }
    TEST_FOR(sizes[0] * 6 < code_of("map_flat")->words, "no instruction: %zu words", sizes[0]);
    TEST_FOR(sizes[INSTS] - sizes[0] < INSTS * 800, "%d instructions: %zu words, without %zu", INSTS, sizes[INSTS],
             sizes[0]);
}

/* ---- selected constants ---- */

/* A float, a vector and again the vector that specialization constants select: glslang 16 makes such constants. */
static void test_selected(void)
{
#define INST(op, length, ...) (op) | (length) << 16, __VA_ARGS__
    static const uint32_t module[] = {
        SPIRV_MAGIC,
        0x00010500,
        0,
        24,
        0,
        INST(OpCapability, 2, 1),
        INST(OpMemoryModel, 3, 0, 1),
        INST(OpEntryPoint, 6, 5, 20, 0x6e69616d, 0, 22),
        INST(OpExecutionMode, 6, 20, 17, 1, 1, 1),
        INST(OpDecorate, 4, 8, SPIRV_DECORATION_SPEC_ID, 2),
        INST(OpTypeVoid, 2, 1),
        INST(OpTypeFunction, 3, 2, 1),
        INST(OpTypeBool, 2, 3),
        INST(OpTypeFloat, 3, 4, 32),
        INST(OpTypeInt, 4, 5, 32, 0),
        INST(OpTypeVector, 4, 6, 4, 2),
        INST(OpTypePointer, 4, 7, 6, 6),
        INST(OpSpecConstantFalse, 3, 3, 8),
        INST(OpConstant, 4, 4, 9, 0x3f800000),
        INST(OpConstant, 4, 4, 10, 0xff800000),
        INST(OpSpecConstantOp, 7, 4, 11, OpSelect, 8, 9, 10),
        INST(OpSpecConstantComposite, 5, 6, 12, 11, 9),
        INST(OpConstantNull, 3, 6, 13),
        INST(OpSpecConstantOp, 7, 6, 14, OpSelect, 8, 12, 13),
        INST(OpSpecConstantOp, 7, 6, 15, OpSelect, 8, 14, 14),
        INST(OpVariable, 4, 7, 22, 6),
        INST(OpFunction, 5, 1, 20, 0, 2),
        INST(OpLabel, 2, 21),
        INST(OpStore, 3, 22, 15),
        OpReturn | 1 << 16,
        OpFunctionEnd | 1 << 16,
    };
#undef INST
    for (uint32_t value = 0; value < 2; value++) {
        const struct spirv_constant constants[] = { { 2, value } };
        size_t count = 0;
        uint32_t *words = spirv_specialize(module, ARRAY_SIZE(module), constants, 1, &count);
        if (!TEST_FOR(words, "selected by %u", value))
            continue;
        check_ids(words, (uint32_t)count, "selected");
        TEST_FOR(count_of(words, count, OpConstantNull) == 3 * !value, "%u: the vector 0", value);
        TEST_FOR(count_of(words, count, OpConstantComposite) == 3 * value, "%u: the other vector", value);
        TEST_FOR(is_valid(words, count), "selected by %u: spirv-val", value);
        free(words);
    }
}

/* ---- what fails ---- */

static void test_allocations(void)
{
    const struct spirv_constant constants[] = { { HALF, 1 } };
    uint32_t *words = NULL;
    size_t count;
    unpack(code_of("map"));
    uint32_t n = 1;
    for (; !words && n < 10000; n += n < 40 ? 1 : 17) {
        left = n;
        words = spirv_specialize(before, code_of("map")->words, constants, 1, &count);
        TEST_FOR(!words || left, "allocation %u: there is a module although it failed", n);
    }
    left = UINT32_MAX;
    TEST_FOR(words && n > 60, "%u allocations", n);
    free(words);
}

/* Modules with a few wrong words are refused or give something, and nothing else happens. */
static void test_damaged(void)
{
    const struct code *code = code_of("softmax");
    uint32_t state = 1, refused = 0;
    for (uint32_t i = 0; i < 400; i++) {
        size_t count;
        unpack(code);
        for (uint32_t k = 0; k <= i % 3; k++) {
            state = state * 1664525u + 1013904223u;
            const uint32_t at = (state >> 4) % code->words;
            state = state * 1664525u + 1013904223u;
            before[at] = i & 1 ? before[at] ^ 1u << (state >> 27) : state >> (state >> 27);
        }
        uint32_t *words = spirv_specialize(before, code->words, NULL, 0, &count);
        refused += !words;
        free(words);
    }
    for (uint32_t cut = 0; cut < code->words; cut += 97) {
        size_t count;
        unpack(code);
        free(spirv_specialize(before, cut, NULL, 0, &count));
    }
    TEST_FOR(refused > 100, "%u of 400 refused", refused);
}

int main(void)
{
    shader_specialize_from(1);
    test_all();
    test_instructions();
    test_types();
    test_size();
    test_selected();
    test_allocations();
    test_damaged();
    return test_result();
}
