/* SPDX-License-Identifier: Apache-2.0 */
/* pack OUTPUT NAME.spv...: a C header with each shader's words as bytes, least significant 7 bits first, bit 7 set in
 * all but a word's last byte: half the size, since most words are small. Runs while the libraries are built. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int fail(const char *path, const char *what)
{
    fprintf(stderr, "pack: %s: %s\n", path, what);
    return 1;
}

static void put_word(FILE *out, uint32_t word, uint32_t *column)
{
    do {
        *column += (uint32_t)fprintf(out, "%u,", (word & 127u) | (word > 127u ? 128u : 0u));
        word >>= 7;
    } while (word);
    if (*column > 110) {
        fputc('\n', out);
        *column = 0;
    }
}

static int pack(FILE *out, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    FILE *in = fopen(path, "rb");
    uint8_t bytes[4];
    uint32_t words = 0, column = 0;
    if (!in || !dot)
        return fail(path, "cannot be read");
    fprintf(out, "static const uint8_t %.*s_code[] = {\n", (int)(dot - name), name);
    for (; fread(bytes, 4, 1, in) == 1; words++) {
        uint32_t word = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
        if (!words && word != 0x07230203u)
            return fail(path, "is no SPIR-V of this byte order");
        put_word(out, word, &column);
    }
    fprintf(out, "};\nenum { %.*s_words = %u };\n", (int)(dot - name), name, words);
    if (fclose(in) || !words)
        return fail(path, "cannot be read");
    return 0;
}

int main(int count, char **arguments)
{
    FILE *out = count > 2 ? fopen(arguments[1], "w") : NULL;
    if (!out)
        return fail(count > 1 ? arguments[1] : "", "cannot be written");
    fputs("/* Made by pack.c of the shaders in shaders.def. */\n", out);
    for (int i = 2; i < count; i++)
        if (pack(out, arguments[i]))
            return 1;
    return fclose(out) ? fail(arguments[1], "cannot be written") : 0;
}
