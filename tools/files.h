/* SPDX-License-Identifier: Apache-2.0 */
/* What files a command reads and writes, by what they are on the disk: no output may be one of the inputs, or another
 * output, whatever the names and links that lead there. */
#ifndef TOOLS_FILES_H
#define TOOLS_FILES_H

#include "tools/error.h"

/* The command reads this file, or any file that is mapped now: a model and its weights. What does not exist, and what
 * is no regular file, is left out. */
void tools_files_read(const char *path);
void tools_files_read_mapped(void);

/* Whether the path leads to a file that the command reads. */
bool tools_files_is_read(const char *path);

/* The command will write this file, which need not exist. False: it already said so of the same one. */
bool tools_files_write(const char *path);

#endif
