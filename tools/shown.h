/* SPDX-License-Identifier: Apache-2.0 */
/* The command's standard output: made fit for terminals, and all of it or a failure. */
#ifndef TOOLS_SHOWN_H
#define TOOLS_SHOWN_H

#include <stdbool.h>

/* Everything that is printed to stdout goes through base_shown from now on; nothing changes where memory is short. A
 * standard stream that is closed is one that fails, instead of the next file that is opened. Once, at first. */
void tools_shown_begin(void);

/* Whether all that was printed has been written; stdout is closed. */
bool tools_shown_end(void);

#endif
