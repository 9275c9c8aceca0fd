/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* posix_spawn_file_actions_addclosefrom_np */
#include "tools/child.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

static int add_files(const struct tools_child *child, posix_spawn_file_actions_t *actions)
{
    int error = 0;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && !error; fd++)
        error = child->files[fd] == TOOLS_CHILD_NULL
                    ? posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0)
                    : posix_spawn_file_actions_adddup2(actions, child->files[fd], fd);
    if (child->detached && !error)
        error = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
    return error;
}

static void set_attributes(const struct tools_child *child, posix_spawnattr_t *attributes)
{
    sigset_t defaults;
    short flags = POSIX_SPAWN_SETSIGDEF;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_setsigdefault(attributes, &defaults);
    if (child->mask) {
        posix_spawnattr_setsigmask(attributes, child->mask);
        flags |= POSIX_SPAWN_SETSIGMASK;
    }
    if (child->detached)
        flags |= POSIX_SPAWN_SETSID;
    posix_spawnattr_setflags(attributes, flags);
}

int tools_child_start(const struct tools_child *child, pid_t *out)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (!error) {
        set_attributes(child, &attributes);
        error = add_files(child, &actions);
        if (!error)
            error = posix_spawnp(out, child->program, &actions, &attributes, child->words,
                                 child->environment ? child->environment : environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

int tools_child_wait(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}
