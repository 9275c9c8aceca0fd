/* SPDX-License-Identifier: Apache-2.0 */
/* Escapes text that people see: names of files, tensors and devices may contain anything, including terminal control
 * sequences. */
#ifndef BASE_SHOWN_H
#define BASE_SHOWN_H

#include "base/base.h"

/* An incomplete character at the end of the previous part, so that text may be passed in parts; initially zero. */
struct base_shown {
    uint8_t left; /* bytes that a character still has */
    uint8_t held; /* its first byte if it may start a control character; 0: none */
};

/* Replaces control characters (of ASCII except for \n and \t, and U+0080 to U+009F) and bytes that are not valid UTF-8
 * by '?'. `out` has 2 * size bytes; returns the number used. */
size_t base_shown(struct base_shown *state, const char *text, size_t size, char *out);

/* The same in place for a text that must be one line: also replaces \n and \t by '?'. */
void base_shown_line(char *text);

#endif
