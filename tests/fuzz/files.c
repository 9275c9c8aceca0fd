/* SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

void fuzz_each_file(const char *path, void (*run)(const char *path))
{
    struct stat info;
    int found = !stat(path, &info), is_folder = found && S_ISDIR(info.st_mode);
    DIR *folder = is_folder ? opendir(path) : NULL;
    if (!found || (is_folder && !folder)) {
        perror(path);
        exit(1);
    }
    if (!is_folder)
        run(path);
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry; entry = readdir(folder)) {
        char name[4096];
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.')
            run(name);
    }
    if (folder)
        closedir(folder);
}
