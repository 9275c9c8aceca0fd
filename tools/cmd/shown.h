/* SPDX-License-Identifier: Apache-2.0 */
/* The command's standard output: escaped for terminals, and complete or a failure. */
#ifndef TOOLS_SHOWN_H
#define TOOLS_SHOWN_H

#include <stdbool.h>

/* From now on everything printed to stdout passes through base_shown; no effect when out of memory. A closed standard
 * stream becomes one that fails, instead of the next file that is opened. Call once, at first. */
void tools_shown_begin(void);

/* Whether all that was printed has been written; stdout is closed. */
bool tools_shown_end(void);

#endif
