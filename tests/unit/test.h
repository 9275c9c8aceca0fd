/* SPDX-License-Identifier: Apache-2.0 */
/* The least a unit test needs: TEST counts and prints failures and goes on; main ends with `return test_result();`. */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static unsigned test_checks, test_failures;

__attribute__((format(printf, 5, 6))) static inline bool test_check(bool good, const char *file, int line,
                                                                    const char *condition, const char *format, ...)
{
    test_checks++;
    if (good)
        return true;
    if (test_failures++ < 50) {
        va_list args;
        va_start(args, format);
        fprintf(stderr, "%s:%d: failed: %s ", file, line, condition);
        vfprintf(stderr, format, args);
        fprintf(stderr, "\n");
        va_end(args);
    }
    return false;
}

/* The value of the condition, so that a test can leave where going on makes no sense. */
#define TEST(COND) test_check((COND), __FILE__, __LINE__, #COND, "%s", "")

/* The same with a text that says for what it failed, as of printf. */
#define TEST_FOR(COND, ...) test_check((COND), __FILE__, __LINE__, #COND, "for " __VA_ARGS__)

static inline int test_result(void)
{
    fprintf(stderr, "%u checks, %u failures\n", test_checks, test_failures);
    return test_failures != 0 || test_checks == 0;
}

#endif
