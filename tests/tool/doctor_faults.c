/* SPDX-License-Identifier: Apache-2.0 */
/* A library that test_doctor.py preloads: children `anydml dispatch` behave as a broken device would make them.
 * DOCTOR_FAULT="crash WORD", "hang WORD", "refuse WORD", "fail WORD": when the graph on stdin has the word;
 * "corrupt NAME": the first number of the output of that name is printed as another one. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char wanted[128]; /* the text before the number to corrupt */
static size_t matched;   /* bytes of it that were written last */
static int state;        /* 0: searching, 1: searching the values, 2: in the number, 3: done */

static bool is_dispatch(void)
{
    char words[64] = "";
    int fd = open("/proc/self/cmdline", O_RDONLY);
    const ssize_t size = read(fd, words, sizeof(words) - 1);
    close(fd);
    return size > 0 && !strcmp(words + strlen(words) + 1, "dispatch");
}

static bool input_has(const char *word)
{
    static char text[8 << 20];
    const ssize_t size = pread(STDIN_FILENO, text, sizeof(text) - 1, 0);
    return size > 0 && memmem(text, (size_t)size, word, strlen(word));
}

static void leave(const char *message, int code)
{
    if (write(STDERR_FILENO, message, strlen(message)) < 0)
        _exit(99);
    _exit(code);
}

__attribute__((constructor)) static void begin(void)
{
    const char *fault = getenv("DOCTOR_FAULT"), *word = fault ? strchr(fault, ' ') : NULL;
    if (!word++ || !is_dispatch())
        return;
    if (!strncmp(fault, "corrupt ", 8))
        snprintf(wanted, sizeof(wanted), "\"%s\": ", word);
    else if (!input_has(word))
        return;
    else if (!strncmp(fault, "crash ", 6))
        abort();
    else if (!strncmp(fault, "refuse ", 7))
        leave("anydml dispatch: -: DXGI_ERROR_UNSUPPORTED: no shader\n", 2);
    else if (!strncmp(fault, "fail ", 5))
        leave("anydml dispatch: running: DXGI_ERROR_DEVICE_REMOVED\n", 1);
    else
        for (;;)
            pause();
}

static void corrupt(char *text, size_t size)
{
    for (size_t i = 0; i < size && state < 3; i++) {
        const char *searched = state == 0 ? wanted : "\"values\": [";
        if (state < 2) {
            matched = text[i] == searched[matched] ? matched + 1 : text[i] == searched[0];
            if (!searched[matched]) {
                matched = 0;
                state++;
            }
        } else if (text[i] >= '0' && text[i] <= '9')
            text[i] = '9';
        else if (text[i] == ',' || text[i] == 'e')
            state = 3;
    }
}

ssize_t write(int fd, const void *data, size_t size)
{
    char copy[65536];
    if (fd != STDOUT_FILENO || !wanted[0] || size > sizeof(copy))
        return syscall(SYS_write, fd, data, size);
    memcpy(copy, data, size);
    corrupt(copy, size);
    return syscall(SYS_write, fd, copy, size);
}
