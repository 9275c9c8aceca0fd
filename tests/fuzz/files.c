/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

void fuzz_each_file(const char *path, void (*run)(const char *path))
{
    struct stat info;
    struct dirent **entries = NULL;
    int found = !stat(path, &info), is_folder = found && S_ISDIR(info.st_mode);
    int count = is_folder ? scandir(path, &entries, NULL, alphasort) : 0;
    if (!found || count < 0) {
        perror(path);
        exit(1);
    }
    if (!is_folder)
        run(path);
    for (int i = 0; i < count; i++) {
        char name[4096];
        snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            run(name);
        free(entries[i]);
    }
    free(entries);
}
