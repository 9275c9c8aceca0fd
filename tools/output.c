/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tools/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fail(struct tools_output *output, const char *path, int why, struct tools_error *error)
{
    output->file = NULL;
    return tools_fail(error, TOOLS_USAGE, "cannot write %s: %s", path, strerror(why));
}

/* What fopen would have given a new file. */
static mode_t new_mode(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static FILE *open_partial(struct tools_output *output, mode_t mode)
{
    if ((size_t)snprintf(output->partial, sizeof(output->partial), "%s.XXXXXX", output->path) >=
        sizeof(output->partial)) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    int file = mkostemp(output->partial, O_CLOEXEC);
    FILE *stream = file < 0 || fchmod(file, mode) ? NULL : fdopen(file, "wb");
    int why = errno;
    if (file >= 0 && !stream) {
        close(file);
        unlink(output->partial);
    }
    errno = why;
    return stream;
}

bool tools_output_open(struct tools_output *output, const char *path, struct tools_error *error)
{
    struct stat about;
    bool there = !stat(path, &about), file = there && S_ISREG(about.st_mode);
    output->partial[0] = 0;
    if (there && S_ISDIR(about.st_mode))
        return fail(output, path, EISDIR, error);
    if (file ? !realpath(path, output->path)
             : (size_t)snprintf(output->path, sizeof(output->path), "%s", path) >= sizeof(output->path))
        return fail(output, path, file ? errno : ENAMETOOLONG, error);
    if (there && !file) /* a terminal, /dev/null, a pipe: what /dev/stdout leads to may have no path of its own */
        output->file = fopen(path, "wb");
    else if (file && access(path, W_OK)) /* the folder may be writable all the same */
        return fail(output, path, errno, error);
    else
        output->file = open_partial(output, file ? about.st_mode & 07777 : new_mode());
    return output->file || fail(output, path, errno, error);
}

bool tools_output_close(struct tools_output *output, bool ok, struct tools_error *error)
{
    bool bad = ferror(output->file);
    int why = bad ? EIO : 0;
    if (fclose(output->file))
        why = errno;
    output->file = NULL;
    if (ok && !why && output->partial[0] && rename(output->partial, output->path))
        why = errno;
    if ((!ok || why) && output->partial[0])
        unlink(output->partial);
    return ok && (!why || tools_fail(error, TOOLS_RUNTIME, "%s could not be written completely: %s", output->path,
                                     strerror(why)));
}

bool tools_output_check(const char *path, struct tools_error *error)
{
    struct tools_output output;
    struct stat about;
    if (!stat(path, &about) && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))
        return true;
    if (!tools_output_open(&output, path, error))
        return false;
    tools_output_close(&output, false, error);
    return true;
}
