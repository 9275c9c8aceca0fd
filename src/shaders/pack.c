/* SPDX-License-Identifier: Apache-2.0 */
/* pack OUTPUT NAME.spv... NAME.cubin...: writes a C header with each shader's words as bytes, least significant 7 bits
 * first, bit 7 set in all bytes except for a word's last: half the size, since most words are small; and with each
 * metacommand, compressed by references to earlier bytes (put_bytes). Runs while the libraries are built.
 *
 * Shaders declare cooperative matrices by spirv_type, whose parameters are numbers: glslang 12 does not support types
 * there. The type of the elements is such a number (gemm/matrix.glsl), which is replaced by the type here. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define WORDS_MAX (1u << 20)
#define HEADER    5u /* words */

enum {
    OP_SOURCE = 3, /* to OP_MEMBER_NAME: not needed by devices */
    OP_MEMBER_NAME = 6,
    OP_TYPE_FLOAT = 22,
    OP_CONSTANT = 43,
    OP_TYPE_COOPERATIVE_MATRIX = 4456,
    /* Of a matrix's elements. */
    FLOAT_32 = 32,
    FLOAT_16 = 16,
    BFLOAT_16 = 17,
};

static int fail(const char *path, const char *what)
{
    fprintf(stderr, "pack: %s: %s\n", path, what);
    return 1;
}

/* ---- types of elements ---- */

static uint32_t before[WORDS_MAX], after[WORDS_MAX + 64], after_count;

static void put(const uint32_t *words, uint32_t count)
{
    memcpy(after + after_count, words, count * sizeof(*words));
    after_count += count;
}

static bool is_float(const uint32_t *words, uint32_t kind)
{
    const uint32_t length = kind == BFLOAT_16 ? 4 : 3;
    return (words[0] & 0xffff) == OP_TYPE_FLOAT && words[0] >> 16 == length && words[2] == (kind == FLOAT_32 ? 32 : 16);
}

static uint32_t length_at(uint32_t at, uint32_t count)
{
    const uint32_t length = before[at] >> 16;
    return length && length <= count - at ? length : count - at;
}

/* The types of kinds of elements declared so far: 0, not yet. */
static const uint32_t kinds[] = { FLOAT_32, FLOAT_16, BFLOAT_16 };
static uint32_t types[3];
static bool placed[3]; /* declared before its own declaration */

/* At word `at`: declares the type of kind k here, if not before; its own declaration, if it follows, is dropped. */
static uint32_t type_of(uint32_t k, uint32_t at, uint32_t count)
{
    const uint32_t length = kinds[k] == BFLOAT_16 ? 4 : 3, bits = kinds[k] == FLOAT_32 ? 32 : 16;
    bool declared = types[k];
    for (uint32_t i = HEADER; i < count && !types[k]; i += length_at(i, count))
        if (is_float(before + i, kinds[k])) {
            types[k] = before[i + 1];
            declared = i < at;
        }
    if (!types[k])
        types[k] = after[3]++;
    if (!declared) {
        placed[k] = true;
        put((const uint32_t[]){ length << 16 | OP_TYPE_FLOAT, types[k], bits, 0 }, length);
    }
    return types[k];
}

/* The kind that the constant before word `at` names. */
static uint32_t kind_of(uint32_t constant, uint32_t at, uint32_t count)
{
    uint32_t value = 0, k = 0;
    for (uint32_t i = HEADER; i < at; i += length_at(i, count))
        if ((before[i] & 0xffff) == OP_CONSTANT && before[i + 2] == constant)
            value = before[i + 3];
    while (k < 3 && kinds[k] != value)
        k++;
    return k;
}

/* From `before`, `count` words, to `after`, without names; false: a matrix has elements of an unknown kind. */
static bool set_types(uint32_t count)
{
    after_count = 0;
    memset(types, 0, sizeof(types));
    memset(placed, 0, sizeof(placed));
    put(before, HEADER);
    for (uint32_t at = HEADER, length; at < count; at += length) {
        uint32_t *words = before + at;
        bool dropped = (words[0] & 0xffff) >= OP_SOURCE && (words[0] & 0xffff) <= OP_MEMBER_NAME;
        length = length_at(at, count);
        if ((words[0] & 0xffff) == OP_TYPE_COOPERATIVE_MATRIX) {
            const uint32_t k = kind_of(words[2], at, count);
            if (k == 3)
                return false;
            words[2] = type_of(k, at, count);
        }
        for (uint32_t k = 0; k < 3; k++)
            dropped |= placed[k] && is_float(words, kinds[k]);
        if (!dropped)
            put(words, length);
    }
    return true;
}

/* ---- bytes ---- */

static uint32_t column;

/* Part of a string literal: compilers read those ten times faster than lists of numbers. */
static void put_byte(FILE *out, uint8_t byte)
{
    if (column > 110) {
        fputs("\"\n\"", out);
        column = 0;
    }
    const bool plain = byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\' && byte != '?' /* trigraphs */;
    column += (uint32_t)fprintf(out, plain ? "%c" : "\\%03o", byte);
}

static void put_word(FILE *out, uint32_t word)
{
    do {
        put_byte(out, (uint8_t)((word & 127u) | (word > 127u ? 128u : 0u)));
        word >>= 7;
    } while (word);
}

/* A definition that the 0 of the string's end is part of. */
static void begin(FILE *out, const char *name, size_t length, const char *suffix)
{
    fprintf(out, "static const uint8_t %.*s_%s[] =\n\"", (int)length, name, suffix);
    column = 0;
}

static uint32_t read_words(const char *path)
{
    FILE *in = fopen(path, "rb");
    uint8_t bytes[4];
    uint32_t count = 0;
    for (; in && count < WORDS_MAX && fread(bytes, 4, 1, in) == 1; count++)
        before[count] = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
    return in && !fclose(in) ? count : 0;
}

static int pack(FILE *out, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    const uint32_t count = read_words(path);
    if (!dot || count <= HEADER || count == WORDS_MAX)
        return fail(path, "cannot be read");
    if (before[0] != 0x07230203u)
        return fail(path, "is not SPIR-V in this byte order");
    if (!set_types(count))
        return fail(path, "has a matrix of unknown elements");
    begin(out, name, (size_t)(dot - name), "code");
    for (uint32_t i = 0; i < after_count; i++)
        put_word(out, after[i]);
    fprintf(out, "\";\nenum { %.*s_words = %u };\n", (int)(dot - name), name, after_count);
    return 0;
}

/* ---- binaries: runs of bytes, and of bytes that were there before ---- */

#define BINARY_MAX  (1u << 22)
#define HASHES      (1u << 16)
#define CANDIDATES  64u /* positions that are compared */
#define MATCH_LEAST 5u

static uint8_t binary[BINARY_MAX];
static uint32_t heads[HASHES], chain[BINARY_MAX]; /* 1 + the last position with this hash, and the one before that */

static uint32_t hash_at(uint32_t at)
{
    const uint32_t four =
        binary[at] | (uint32_t)binary[at + 1] << 8 | (uint32_t)binary[at + 2] << 16 | (uint32_t)binary[at + 3] << 24;
    return four * 2654435761u >> 16;
}

static void remember(uint32_t at)
{
    chain[at] = heads[hash_at(at)];
    heads[hash_at(at)] = at + 1;
}

static uint32_t match_length(uint32_t a, uint32_t b, uint32_t end)
{
    uint32_t length = 0;
    while (b + length < end && binary[a + length] == binary[b + length])
        length++;
    return length;
}

/* The longest run of bytes that was there before. */
static uint32_t find_match(uint32_t at, uint32_t end, uint32_t *out_distance)
{
    uint32_t best = 0, candidate = heads[hash_at(at)];
    for (uint32_t i = 0; i < CANDIDATES && candidate; i++, candidate = chain[candidate - 1]) {
        const uint32_t length = match_length(candidate - 1, at, end);
        if (length > best) {
            best = length;
            *out_distance = at - (candidate - 1);
        }
    }
    return best >= MATCH_LEAST ? best : 0;
}

static void put_run(FILE *out, uint32_t from, uint32_t to)
{
    put_word(out, to - from);
    for (; from < to; from++)
        put_byte(out, binary[from]);
}

/* Bytes as they are, their number first; then the length and the distance of a run from before, or 0; and so on. */
static void put_bytes(FILE *out, uint32_t count)
{
    uint32_t from = 0, distance = 0;
    memset(heads, 0, sizeof(heads));
    for (uint32_t at = 0; at + 4 <= count;) {
        const uint32_t length = find_match(at, count, &distance), end = at + (length ? length : 1);
        if (length) {
            put_run(out, from, at);
            put_word(out, length);
            put_word(out, distance);
            from = end;
        }
        for (; at < end; at++)
            if (at + 4 <= count)
                remember(at);
    }
    put_run(out, from, count);
    fputs("\";\n", out); /* and 0 */
}

static int pack_binary(FILE *out, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    FILE *in = fopen(path, "rb");
    const size_t count = in ? fread(binary, 1, BINARY_MAX - 1, in) : 0;
    if (!in || fclose(in) || count == BINARY_MAX - 1)
        return fail(path, "cannot be read");
    begin(out, name, (size_t)(dot - name), "cubin");
    put_bytes(out, (uint32_t)count);
    fprintf(out, "enum { %.*s_bytes = %u };\n", (int)(dot - name), name, (uint32_t)count);
    return 0;
}

int main(int count, char **arguments)
{
    FILE *out = count > 2 ? fopen(arguments[1], "w") : NULL;
    if (!out)
        return fail(count > 1 ? arguments[1] : "", "cannot be written");
    bool binaries = false;
    fputs("/* Made by pack.c of the shaders in shaders.def and cuda/metas.def. */\n", out);
    for (int i = 2; i < count; i++) {
        const bool is_binary = strstr(arguments[i], ".cubin");
        if (is_binary ? pack_binary(out, arguments[i]) : pack(out, arguments[i]))
            return 1;
        binaries = binaries || is_binary;
    }
    fprintf(out, "#define SHADERS_METACOMMANDS %d\n", binaries);
    return fclose(out) ? fail(arguments[1], "cannot be written") : 0;
}
