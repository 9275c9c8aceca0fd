/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnostics on stderr. The level is read once from ANYDML_LOG: error, warn (default), info, debug, trace, or none.
 * Thread-safe; one write per line. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/base.h"

enum base_log_level {
    BASE_LOG_NONE,
    BASE_LOG_ERROR,
    BASE_LOG_WARN,
    BASE_LOG_INFO,
    BASE_LOG_DEBUG,
    BASE_LOG_TRACE,
};

/* Enables or disables the log of the calling thread; returns the previous setting. */
bool base_log_quiet(bool quiet);

bool base_log_enabled(enum base_log_level level);

/* Whether ANYDML_LOG may be that. */
bool base_log_is_level(const char *name);

/* Prints "anydml <level>: <text>" and a newline. */
void base_log(enum base_log_level level, const char *format, ...) BASE_PRINTF(2, 3);

#define BASE_TRACE(...)                                                                                                \
    do {                                                                                                               \
        if (base_log_enabled(BASE_LOG_TRACE))                                                                          \
            base_log(BASE_LOG_TRACE, __VA_ARGS__);                                                                     \
    } while (0)

#endif
