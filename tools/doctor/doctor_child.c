/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* pipe2, memfd_create */
#include "tools/doctor/doctor.h"

#include "tools/child.h"

#include "base/shown.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STREAM_MAX  (64u << 20) /* more than that is not kept */
#define WAIT_MS     20
#define WORDS_MAX   16
#define KILLED_WAIT 2.0 /* seconds; a process in a driver's call may be impossible to end */

struct stream {
    int fd; /* -1: at its end */
    char *text;
    size_t used, capacity;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- starting ---- */

static bool same_name(const char *a, const char *b)
{
    const size_t length = strcspn(a, "=");
    return length == strcspn(b, "=") && !memcmp(a, b, length);
}

static bool is_changed(const char *variable, const char *const *changes)
{
    bool found = false;
    for (; changes && *changes; changes++)
        found = found || same_name(variable, *changes);
    return found;
}

/* NULL: out of memory. The strings are the callers' and the environment's. */
static char **make_environment(const char *const *changes)
{
    size_t count = 0, used = 0;
    while (environ[count])
        count++;
    for (size_t i = 0; changes && changes[i]; i++)
        count++;
    char **list = calloc(count + 1, sizeof(*list));
    for (size_t i = 0; list && environ[i]; i++)
        if (!is_changed(environ[i], changes))
            list[used++] = environ[i];
    for (size_t i = 0; list && changes && changes[i]; i++)
        if (strchr(changes[i], '='))
            list[used++] = (char *)changes[i];
    return list;
}

/* A file in memory, so that writing never waits for the child to read. -1: errno. */
static int open_input(const char *text)
{
    if (!text)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    int fd = memfd_create("input", MFD_CLOEXEC);
    const size_t size = strlen(text);
    for (size_t done = 0; fd >= 0 && done < size;) {
        const ssize_t written = write(fd, text + done, size - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            close(fd);
            return -1;
        }
        done += (size_t)written;
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

static int spawn(const struct tools_doctor_child *child, int input, int output, int messages, pid_t *out)
{
    char *words[WORDS_MAX + 2] = { "anydml" };
    char **environment = make_environment(child->environment);
    if (!environment)
        return ENOMEM;
    for (uint32_t i = 0; i < WORDS_MAX && child->words[i]; i++)
        words[i + 1] = (char *)child->words[i];
    const struct tools_child spawned = {
        .program = TOOLS_CHILD_SELF, .words = words, .environment = environment, .files = { input, output, messages }
    };
    const int error = tools_child_start(&spawned, out);
    free(environment);
    return error;
}

/* 0, or the error. */
static int start(const struct tools_doctor_child *child, struct stream streams[2], pid_t *out)
{
    int output[2] = { -1, -1 }, messages[2] = { -1, -1 }, error = 0;
    const int input = open_input(child->input);
    if (input < 0 || pipe2(output, O_CLOEXEC) || pipe2(messages, O_CLOEXEC))
        error = errno;
    if (!error)
        error = spawn(child, input, output[1], messages[1], out);
    const int unused[] = { input, output[1], messages[1], error ? output[0] : -1, error ? messages[0] : -1 };
    for (size_t i = 0; i < ARRAY_SIZE(unused); i++)
        if (unused[i] >= 0)
            close(unused[i]);
    streams[0].fd = error ? -1 : output[0];
    streams[1].fd = error ? -1 : messages[0];
    for (int i = 0; i < 2 && !error; i++)
        fcntl(streams[i].fd, F_SETFL, O_NONBLOCK);
    return error;
}

/* ---- reading ---- */

static void stream_append(struct stream *s, const char *text, size_t size)
{
    if (s->used + size > STREAM_MAX)
        return;
    if (s->used + size + 1 > s->capacity) {
        const size_t capacity = 2 * (s->used + size) + 4096;
        char *larger = realloc(s->text, capacity);
        if (!larger)
            return;
        s->text = larger;
        s->capacity = capacity;
    }
    memcpy(s->text + s->used, text, size);
    s->used += size;
    s->text[s->used] = 0;
}

/* Whatever is there. */
static void stream_read(struct stream *s)
{
    char buffer[16384];
    while (s->fd >= 0) {
        const ssize_t count = read(s->fd, buffer, sizeof(buffer));
        if (count > 0)
            stream_append(s, buffer, (size_t)count);
        else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
            close(s->fd);
            s->fd = -1;
        } else if (errno == EAGAIN)
            return;
    }
}

/* Until the process ends, or its time; false: its time. The process may have closed its outputs before. */
static bool follow(pid_t pid, struct stream streams[2], double deadline, int *out_status)
{
    for (;;) {
        struct pollfd fds[2] = { { streams[0].fd, POLLIN, 0 }, { streams[1].fd, POLLIN, 0 } };
        const pid_t ended = waitpid(pid, out_status, WNOHANG);
        stream_read(&streams[0]);
        stream_read(&streams[1]);
        if (ended == pid)
            return true;
        if (now() > deadline)
            return false;
        poll(fds, 2, WAIT_MS);
    }
}

/* ---- what came of it ---- */

/* The last line of the messages, which is the command's own, without the command's name. */
static void last_message(const char *messages, char *out, size_t size)
{
    size_t end = strlen(messages);
    while (end && messages[end - 1] == '\n')
        end--;
    size_t begin = end;
    while (begin && messages[begin - 1] != '\n')
        begin--;
    snprintf(out, size, "%.*s", (int)BASE_MIN(end - begin, size - 1), messages + begin);
    const char *const heads[] = { "anydml dispatch: ", "anydml devices: ", "-: " };
    for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
        if (!strncmp(out, heads[i], strlen(heads[i])))
            memmove(out, out + strlen(heads[i]), strlen(out + strlen(heads[i])) + 1);
    base_shown_line(out);
    tools_doctor_scrub(out, size);
}

static void explain(struct tools_doctor_child *child)
{
    char last[300];
    child->failure[0] = 0;
    switch (child->end) {
    case TOOLS_DOCTOR_CRASHED:
        snprintf(child->failure, sizeof(child->failure), "crashed (signal %d)", child->code);
        return;
    case TOOLS_DOCTOR_HANGS:
        snprintf(child->failure, sizeof(child->failure), "does not answer within %u s", child->seconds);
        return;
    case TOOLS_DOCTOR_NONE:
        snprintf(child->failure, sizeof(child->failure), "could not be started: %s", strerror(child->code));
        return;
    case TOOLS_DOCTOR_EXITED:
        last_message(child->messages, last, sizeof(last));
        if (child->code)
            snprintf(child->failure, sizeof(child->failure), "failed: %s", last[0] ? last : "without a message");
        return;
    }
}

void tools_doctor_run(struct tools_doctor_child *child)
{
    struct stream streams[2] = { { -1, NULL, 0, 0 }, { -1, NULL, 0, 0 } };
    int status = 0;
    pid_t pid = 0;
    child->code = start(child, streams, &pid);
    child->end = child->code ? TOOLS_DOCTOR_NONE : TOOLS_DOCTOR_EXITED;
    if (!child->code && !follow(pid, streams, now() + child->seconds, &status)) {
        child->end = TOOLS_DOCTOR_HANGS;
        kill(pid, SIGKILL);
        follow(pid, streams, now() + KILLED_WAIT, &status);
    } else if (!child->code && WIFSIGNALED(status)) {
        child->end = TOOLS_DOCTOR_CRASHED;
        child->code = WTERMSIG(status);
    } else if (!child->code)
        child->code = WEXITSTATUS(status);
    for (int i = 0; i < 2; i++)
        if (streams[i].fd >= 0)
            close(streams[i].fd);
    child->output = streams[0].text ? streams[0].text : calloc(1, 1);
    child->messages = streams[1].text ? streams[1].text : calloc(1, 1);
    if (!child->output || !child->messages) { /* one byte: out of memory */
        fprintf(stderr, "anydml doctor: out of memory\n");
        exit(TOOLS_RUNTIME);
    }
    explain(child);
}

void tools_doctor_finish(struct tools_doctor_child *child)
{
    free(child->output);
    free(child->messages);
    child->output = child->messages = NULL;
}
