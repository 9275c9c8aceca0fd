/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shown.h"

/* The number of continuation bytes after the first byte of a character; -1: invalid first byte. */
static int following(uint8_t first)
{
    return first < 0x80 ? 0 : first < 0xC2 ? -1 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : first < 0xF5 ? 3 : -1;
}

static char *add_byte(struct base_shown *s, uint8_t c, char *out)
{
    if (s->left && (c & 0xC0) == 0x80) {
        const bool control = s->held && c < 0xA0;
        if (s->held)
            *out++ = control ? '?' : (char)s->held;
        if (!control)
            *out++ = (char)c;
        s->held = 0;
        s->left--;
        return out;
    }
    if (s->held)
        *out++ = '?';
    const int more = following(c);
    *s = (struct base_shown){ more > 0 ? (uint8_t)more : 0, c == 0xC2 ? c : 0 };
    if (!s->held)
        *out++ = more < 0 || (c < 32 && c != '\n' && c != '\t') || c == 127 ? '?' : (char)c;
    return out;
}

size_t base_shown(struct base_shown *state, const char *text, size_t size, char *out)
{
    char *end = out;
    for (size_t i = 0; i < size; i++)
        end = add_byte(state, (uint8_t)text[i], end);
    return (size_t)(end - out);
}

void base_shown_line(char *text)
{
    struct base_shown state = { 0 };
    char out[2], *end = text;
    for (const char *at = text; *at; at++) {
        const size_t used = base_shown(&state, at, 1, out); /* never longer than the input so far */
        for (size_t i = 0; i < used; i++)
            *end++ = out[i] == '\n' || out[i] == '\t' ? '?' : out[i];
    }
    *end = 0;
}
