/* SPDX-License-Identifier: Apache-2.0 */
/* Files in the user's cache folder: where they are, and which are not read. */
#include "base/cache.h"

#include "test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* The path with these variables; NULL: there is none. */
static void expect_path(const char *own, const char *cache, const char *home, const char *want)
{
    static const char *const names[] = { "ANYDML_CACHE_DIR", "XDG_CACHE_HOME", "HOME" };
    const char *values[] = { own, cache, home };
    char path[BASE_CACHE_PATH_BYTES];
    for (int i = 0; i < 3; i++)
        values[i] ? setenv(names[i], values[i], 1) : unsetenv(names[i]);
    bool found = base_cache_path("f", path);
    TEST_FOR(found == (want != NULL) && (!want || !strcmp(path, want)), "%s", want ? want : "no path");
}

static void test_paths(void)
{
    static char lengthy[BASE_CACHE_PATH_BYTES];
    memset(lengthy, 'a', sizeof(lengthy) - 1);
    lengthy[0] = '/';
    expect_path("/own", "/cache", "/home/x", "/own/f");
    expect_path("relative", "/cache", "/home/x", "/cache/anydml/f");
    expect_path("", "", "/home/x", "/home/x/.cache/anydml/f");
    expect_path(NULL, NULL, "/home/x", "/home/x/.cache/anydml/f");
    expect_path(NULL, "relative", "relative", NULL);
    expect_path(NULL, NULL, NULL, NULL);
    expect_path(lengthy, NULL, NULL, NULL);
}

static void expect_read(const char *path, size_t limit, const char *want, int why)
{
    size_t size = 0;
    errno = 0;
    char *data = base_cache_read(path, limit, &size);
    int got = errno;
    TEST_FOR(!data == !want, "%s: %s", path, strerror(got));
    TEST_FOR(data ? size == strlen(want) && !memcmp(data, want, size) : got == why, "%s: %s, not %s", path,
             strerror(got), strerror(why));
    free(data);
}

static void test_files(void)
{
    TEST(!base_cache_write("a/b/file", "text", 4));
    expect_read("a/b/file", 4, "text", 0);
    TEST(!base_cache_write("a/b/file", "other", 5));
    expect_read("a/b/file", 100, "other", 0);
    expect_read("a/b/file", 4, NULL, EFBIG);
    expect_read("a/b/absent", 100, NULL, ENOENT);
    expect_read("a/b", 100, NULL, EPERM);
    TEST(!chmod("a/b/file", 0620));
    expect_read("a/b/file", 100, NULL, EPERM);
    TEST(!chmod("a/b/file", 0602));
    expect_read("a/b/file", 100, NULL, EPERM);
    TEST(!chmod("a/b/file", 0600) && !symlink("file", "a/b/link"));
    expect_read("a/b/link", 100, NULL, ELOOP);
    TEST(!mkfifo("a/b/pipe", 0600));
    alarm(60); /* in case it would wait for a writer */
    expect_read("a/b/pipe", 100, NULL, EPERM);
    alarm(0);
    if (!geteuid() && TEST(!chown("a/b/file", 1, 1))) {
        expect_read("a/b/file", 100, NULL, EPERM);
        TEST(!chown("a/b/file", 0, 0));
    }
    TEST(!truncate("a/b/file", 0));
    expect_read("a/b/file", 100, NULL, ENODATA);
}

/* What cannot be written leaves nothing, and what was there. */
static void test_failures_to_write(void)
{
    struct rlimit before, small = { 2, 2 };
    TEST(!base_cache_write("a/b/file", "text", 4));
    TEST(base_cache_write("a/b/file/below", "text", 4) != NULL);
    TEST(!mkdir("a/b/folder", 0700) && base_cache_write("a/b/folder", "text", 4) != NULL);
    TEST(!getrlimit(RLIMIT_FSIZE, &before));
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    TEST(!setrlimit(RLIMIT_FSIZE, &small));
    const char *problem = base_cache_write("a/b/file", "other", 5);
    TEST(!setrlimit(RLIMIT_FSIZE, &before));
    TEST_FOR(problem && !strcmp(problem, strerror(EFBIG)), "%s", problem ? problem : "nothing");
    expect_read("a/b/file", 100, "text", 0);
    TEST(!rmdir("a/b/folder"));
}

int main(void)
{
    char folder[] = "/tmp/anydml-cache-XXXXXX";
    if (!TEST(mkdtemp(folder) && !chdir(folder)))
        return test_result();
    test_paths();
    test_files();
    test_failures_to_write();
    TEST(!unlink("a/b/file") && !unlink("a/b/link") && !unlink("a/b/pipe") && !rmdir("a/b") && !rmdir("a"));
    TEST(!chdir("..") && !rmdir(folder));
    return test_result();
}
