/* SPDX-License-Identifier: Apache-2.0 */
/* A line on stderr with the current action of a slow command; only on a terminal, and only after two seconds. */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

/* `phase` must stay valid until the next call. The first call starts a thread. Call from one thread only. */
void tools_progress(const char *phase);

/* For loops: "<phase> 3 of 10"; with a total of 0, which is unknown, the number done and the rate per second. */
void tools_progress_count(unsigned done, unsigned total);

/* Clears the line; call before anything is printed. */
void tools_progress_stop(void);

#endif
