/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks the files that a command reads and writes by their identity on disk: no output may be one of the inputs, or
 * another output, whatever the names and links. */
#ifndef TOOLS_FILES_H
#define TOOLS_FILES_H

#include "tools/error.h"

/* Records that the command reads this file, or all currently mapped files: a model and its weights. Files that do not
 * exist, and files that are not regular, are ignored. */
void tools_files_read(const char *path);
void tools_files_read_mapped(void);

/* Whether the path leads to a file that the command reads. */
bool tools_files_is_read(const char *path);

/* Records that the command will write this file, which need not exist. False: it was already recorded. */
bool tools_files_write(const char *path);

#endif
