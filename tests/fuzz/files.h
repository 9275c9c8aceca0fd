/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of a fuzz target without a fuzzer. */
#ifndef TESTS_FUZZ_FILES_H
#define TESTS_FUZZ_FILES_H

/* Calls run with the path, or with that of each file in it, by name, when it is a folder; names that start with a dot
 * are left out. Ends the program when there is no such path. */
void fuzz_each_file(const char *path, void (*run)(const char *path));

#endif
