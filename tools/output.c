/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tools/output.h"

#include "tools/files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- signals ---- */

static const int ending_signals[] = { SIGHUP, SIGINT, SIGPIPE, SIGTERM };

static struct tools_output *open_outputs; /* changed while the signals wait */
static pthread_t owner;                   /* the thread that changes it */

/* Ends the writer first, which might recreate the file. */
static void end(int number)
{
    if (!pthread_equal(pthread_self(), owner)) {
        pthread_kill(owner, number);
        return;
    }
    for (struct tools_output *o = open_outputs; o; o = o->next) {
        if (o->writer > 0 && !kill(o->writer, SIGKILL))
            waitpid(o->writer, NULL, 0);
        if (o->partial[0])
            unlink(o->partial);
    }
    signal(number, SIG_DFL);
    raise(number); /* when this handler returns */
}

static void catch_signals(void)
{
    static bool done;
    struct sigaction action = { .sa_handler = end }, before;
    if (done)
        return;
    done = true;
    owner = pthread_self();
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_SIZE(ending_signals); i++)
        if (!sigaction(ending_signals[i], NULL, &before) && before.sa_handler == SIG_DFL)
            sigaction(ending_signals[i], &action, NULL);
}

void tools_output_hold(sigset_t *before)
{
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < ARRAY_SIZE(ending_signals); i++)
        sigaddset(&held, ending_signals[i]);
    pthread_sigmask(SIG_BLOCK, &held, before);
}

void tools_output_release(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static void forget(const struct tools_output *output)
{
    for (struct tools_output **at = &open_outputs; *at; at = &(*at)->next)
        if (*at == output) {
            *at = output->next;
            return;
        }
}

/* ---- files ---- */

static bool fail(struct tools_output *output, const char *path, int why, struct tools_error *error)
{
    output->file = NULL;
    return tools_fail(error, TOOLS_USAGE, "cannot write %s: %s", path, strerror(why));
}

/* The mode that fopen would have given a new file. */
static mode_t new_mode(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static FILE *create_partial(struct tools_output *output, mode_t mode)
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

static FILE *open_partial(struct tools_output *output, mode_t mode)
{
    sigset_t before;
    catch_signals();
    tools_output_hold(&before);
    FILE *stream = create_partial(output, mode);
    int why = errno;
    if (stream) {
        output->next = open_outputs;
        open_outputs = output;
    }
    tools_output_release(&before);
    errno = why;
    return stream;
}

static bool refuse_input(const char *path, struct tools_error *error)
{
    return !tools_files_is_read(path) ||
           tools_fail(error, TOOLS_USAGE, "cannot write %s: that is the input, or one of its files", path);
}

bool tools_output_open(struct tools_output *output, const char *path, struct tools_error *error)
{
    struct stat about;
    bool there = !stat(path, &about), file = there && S_ISREG(about.st_mode);
    *output = (struct tools_output){ 0 };
    if (!refuse_input(path, error))
        return false;
    if (there && S_ISDIR(about.st_mode))
        return fail(output, path, EISDIR, error);
    if (file ? !realpath(path, output->path)
             : (size_t)snprintf(output->path, sizeof(output->path), "%s", path) >= sizeof(output->path))
        return fail(output, path, file ? errno : ENAMETOOLONG, error);
    if (there && !file) /* a terminal, /dev/null, a pipe: the target of /dev/stdout may not have a path */
        output->file = fopen(path, "wb");
    else if (file && access(path, W_OK)) /* the folder may be writable all the same */
        return fail(output, path, errno, error);
    else
        output->file = open_partial(output, file ? about.st_mode & 07777 : new_mode());
    return output->file || fail(output, path, errno, error);
}

/* Why writing has failed, which the stream does not keep: it fails again, for what is left or for one byte more of a
 * file that will be removed. */
static int reason(struct tools_output *output)
{
    errno = 0;
    if (!fflush(output->file) && output->partial[0]) {
        fputc(0, output->file);
        fflush(output->file);
    }
    return errno ? errno : EIO;
}

bool tools_output_close(struct tools_output *output, bool ok, struct tools_error *error)
{
    sigset_t before;
    int why = 0;
    if (ferror(output->file))
        why = reason(output);
    if (fclose(output->file) && !why)
        why = errno;
    output->file = NULL;
    tools_output_hold(&before);
    if (ok && !why && output->partial[0] && rename(output->partial, output->path))
        why = errno;
    if ((!ok || why) && output->partial[0])
        unlink(output->partial);
    forget(output);
    tools_output_release(&before);
    return ok && (!why || tools_fail(error, TOOLS_RUNTIME, "%s could not be written completely: %s", output->path,
                                     strerror(why)));
}

bool tools_output_check(const char *path, struct tools_error *error)
{
    struct tools_output output;
    struct stat about;
    if (!refuse_input(path, error))
        return false;
    if (!tools_files_write(path))
        return tools_fail(error, TOOLS_USAGE, "cannot write %s: it is another output, too", path);
    if (!stat(path, &about) && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))
        return true;
    if (!tools_output_open(&output, path, error))
        return false;
    tools_output_close(&output, false, error);
    return true;
}
