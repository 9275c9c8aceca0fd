/* SPDX-License-Identifier: Apache-2.0 */
/* Text that people see: names of files, tensors and devices may hold anything, also what makes a terminal do things. */
#ifndef BASE_SHOWN_H
#define BASE_SHOWN_H

#include "base/base.h"

/* What the last bytes began, so that text can come in parts; zeroed at first. */
struct base_shown {
    uint8_t left; /* bytes that a character still has */
    uint8_t held; /* its first byte, while it may begin a control character; 0: none */
};

/* Puts '?' for control characters (of ASCII but \n and \t, and U+0080 to U+009F) and for bytes that begin no character
 * of UTF-8. `out` has 2 * size bytes; how many of them are used. */
size_t base_shown(struct base_shown *state, const char *text, size_t size, char *out);

/* The same of a text in its place, which becomes one line: '?' for \n and \t, too. */
void base_shown_line(char *text);

#endif
