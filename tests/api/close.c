/* SPDX-License-Identifier: Apache-2.0 */
/* A program may close the libraries while threads of theirs are still in them: they stay. */
#include "unit/test.h"

#include <dlfcn.h>

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (!TEST_FOR(library != NULL, "%s", dlerror()))
            continue;
        TEST(dlclose(library) == 0);
        TEST_FOR(dlopen(argv[i], RTLD_NOW | RTLD_NOLOAD) != NULL, "%s", argv[i]);
    }
    return test_result();
}
