/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/files.h"

#include "base/arena.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A file, or a name in a folder that does not have that file yet. */
struct identity {
    dev_t device;
    ino_t number;
    char *name; /* NULL: of the file itself */
};

struct identities {
    struct identity *items;
    uint32_t count, capacity;
};

static struct identities read_files, written_files;

static bool same(const struct identity *a, const struct identity *b)
{
    return a->device == b->device && a->number == b->number && !a->name == !b->name &&
           (!a->name || !strcmp(a->name, b->name));
}

static bool holds(const struct identities *all, const struct identity *one)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (same(&all->items[i], one))
            return true;
    return false;
}

/* When out of memory, one is omitted. */
static void add(struct identities *all, struct identity one)
{
    if (holds(all, &one) || !base_array_reserve((void **)&all->items, all->count, &all->capacity, sizeof(one)))
        free(one.name);
    else
        all->items[all->count++] = one;
}

static bool identify(const char *path, struct identity *out)
{
    struct stat about;
    if (stat(path, &about) || !S_ISREG(about.st_mode))
        return false;
    *out = (struct identity){ about.st_dev, about.st_ino, NULL };
    return true;
}

void tools_files_read(const char *path)
{
    struct identity one;
    if (path && identify(path, &one))
        add(&read_files, one);
}

void tools_files_read_mapped(void)
{
    char *line = NULL;
    size_t size = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && getline(&line, &size, maps) > 0) {
        line[strcspn(line, "\n")] = 0;
        tools_files_read(strchr(line, '/'));
    }
    free(line);
    if (maps)
        fclose(maps);
}

bool tools_files_is_read(const char *path)
{
    struct identity one;
    return identify(path, &one) && holds(&read_files, &one);
}

/* The folder and the name of a file that does not exist. */
static bool identify_new(const char *path, struct identity *out)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    struct stat about;
    if (slash && (size_t)(slash - path) + 2 > sizeof(folder))
        return false;
    snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    if (stat(folder, &about))
        return false;
    *out = (struct identity){ about.st_dev, about.st_ino, strdup(slash ? slash + 1 : path) };
    return out->name != NULL;
}

bool tools_files_write(const char *path)
{
    struct identity one;
    struct stat about;
    const bool there = !stat(path, &about);
    if (there && !S_ISREG(about.st_mode)) /* a terminal or a pipe: all writes are kept */
        return true;
    if (there ? !identify(path, &one) : !identify_new(path, &one))
        return true;
    const bool again = holds(&written_files, &one);
    add(&written_files, one);
    return !again;
}
