/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/os.h"
#include "base/shown.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const level_names[] = { "none", "error", "warn", "info", "debug", "trace" };

bool base_log_is_level(const char *name)
{
    bool found = false;
    for (size_t i = 0; i < ARRAY_SIZE(level_names); i++)
        found = found || !strcmp(name, level_names[i]);
    return found;
}

static enum base_log_level log_level(void)
{
    static atomic_int cached = -1;
    int level = atomic_load_explicit(&cached, memory_order_relaxed);
    if (level >= 0)
        return (enum base_log_level)level;
    const char *wanted = getenv("ANYDML_LOG");
    level = BASE_LOG_WARN;
    for (size_t i = 0; wanted && i < ARRAY_SIZE(level_names); i++) {
        if (!strcmp(wanted, level_names[i]))
            level = (int)i;
    }
    atomic_store_explicit(&cached, level, memory_order_relaxed);
    return (enum base_log_level)level;
}

static _Thread_local bool is_quiet;

bool base_log_quiet(bool quiet)
{
    bool before = is_quiet;
    is_quiet = quiet;
    return before;
}

bool base_log_enabled(enum base_log_level level)
{
    return level <= log_level() && !is_quiet;
}

void base_log(enum base_log_level level, const char *format, ...)
{
    if (!base_log_enabled(level))
        return;
    char line[1024];
    int used = snprintf(line, sizeof(line), "anydml %s: ", level_names[level]);
    va_list args;
    va_start(args, format);
    int more = vsnprintf(line + used, sizeof(line) - (size_t)used - 1, format, args);
    va_end(args);
    size_t length = (size_t)used + (more > 0 ? (size_t)more : 0);
    length = BASE_MIN(length, sizeof(line) - 2);
    line[length] = 0;
    base_shown_line(line);
    length = strlen(line);
    line[length++] = '\n';
    base_write_error(line, length); /* in one call, so that lines of several threads do not mix */
}
