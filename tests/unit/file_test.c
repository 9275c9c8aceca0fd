/* SPDX-License-Identifier: Apache-2.0 */
/* Files that models name: read where allowed, and nowhere else. */
#include "base/file.h"

#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef _WIN32
#include <wchar.h>

/* Names are UTF-8 here, too. */
static const wchar_t *widen(const char *name)
{
    static wchar_t wide[512];
    MultiByteToWideChar(CP_UTF8, 0, name, -1, wide, 512);
    return wide;
}
#define open_utf8(name)   _wfopen(widen(name), L"wb")
#define remove_utf8(name) _wremove(widen(name))
#else
#define open_utf8(name) fopen(name, "wb")
#define remove_utf8     remove
#endif

static void write_file(const char *name, const char *text)
{
    FILE *file = open_utf8(name);
    if (!TEST_FOR(file != NULL, "%s", name))
        exit(1);
    fputs(text, file);
    fclose(file);
}

/* Maps `name` next to `beside`, or as it is. NULL for `text`: fails with `why`. */
static void expect(const char *beside, const char *name, const char *text, int why)
{
    size_t size = 77;
    errno = 0;
    void *data = beside ? base_map_beside(beside, name, &size) : base_map_file(name, &size);
    int got = errno;
    TEST_FOR(!data == !text, "%s beside %s: %s", name, beside ? beside : "nothing", strerror(got));
    if (!data) {
        TEST_FOR(got == why, "%s beside %s: %s, not %s", name, beside ? beside : "nothing", strerror(got),
                 strerror(why));
        return;
    }
    TEST_FOR(text && size == strlen(text) && !memcmp(data, text, size), "%s: %zu bytes", name, size);
    base_forget_pages(data, size);
    TEST_FOR(text && !memcmp(data, text, size), "%s, once more", name);
    base_unmap_file(data, size);
}

#ifndef _WIN32
/* A store, where the model and its weights are links into another folder; and a pipe. */
static void test_links(void)
{
    static const char *const links[][2] = {
        { "../store/a_model", "models/linked" },
        { "../store/weights", "models/linked_weights" },
        { "../secret", "models/secret" },
    };
    for (int i = 0; i < 3; i++)
        TEST_FOR(!symlink(links[i][0], links[i][1]), "%s", links[i][1]);
    expect("models/linked", "linked_weights", "stored", 0);
    expect("models/model", "linked_weights", NULL, EXDEV);
    expect("models/linked", "secret", NULL, EXDEV);
    for (int i = 0; i < 3; i++)
        unlink(links[i][1]);
    TEST(!mkfifo("models/pipe", 0600));
    alarm(60); /* in case it would wait for a writer */
    expect("models/model", "pipe", NULL, EINVAL);
    expect(NULL, "models/pipe", NULL, EINVAL);
    alarm(0);
    unlink("models/pipe");
}
#endif

/* "weights" by a path of more than 260 characters, the most that old interfaces of Windows take. */
static const char *long_name(char *out, size_t size)
{
    size_t length = 0;
    while (length < 300)
        length += (size_t)snprintf(out + length, size - length, "below/../");
    snprintf(out + length, size - length, "weights");
    return out;
}

static void test_folders(void)
{
    char name[400];
    expect(NULL, "models/model", "a model", 0);
    expect(NULL, "models/absent", NULL, ENOENT);
    expect(NULL, "models", NULL, EISDIR);
    expect(NULL, "models/empty", NULL, ENODATA);
    expect("models/model", "weights", "weights", 0);
    expect("models/model", "below/weights", "below", 0);
    expect("models/model", "below/../weights", "weights", 0);
    expect("secret", "models/weights", "weights", 0);
    expect("models/model", "gew\303\274rz", "spice", 0);
    expect("models/model", long_name(name, sizeof(name)), "weights", 0);
    expect("models/model", "", NULL, EINVAL);
    expect("models/model", "/etc/passwd", NULL, EINVAL);
    expect("models/model", "absent", NULL, ENOENT);
    expect("models/model", "empty", NULL, ENODATA);
    expect("models/model", "below", NULL, EISDIR);
    expect("models/model", "../secret", NULL, EXDEV);
    expect("models/model", "../models2/weights", NULL, EXDEV);
#ifdef _WIN32
    expect("models\\model", "below\\weights", "below", 0);
    expect("models/model", "\\windows\\win.ini", NULL, EINVAL);
    expect("models/model", "c:weights", NULL, EINVAL);
    expect("models/model", "NUL", NULL, EINVAL);
#else
    test_links();
#endif
}

int main(void)
{
    static const char *const folders[] = { "models", "models/below", "models2", "store" };
    static const char *const files[][2] = {
        { "models/model", "a model" },
        { "models/weights", "weights" },
        { "models/below/weights", "below" },
        { "models/empty", "" },
        { "models2/weights", "of a neighbour" },
        { "store/a_model", "stored model" },
        { "models/gew\303\274rz", "spice" },
        { "store/weights", "stored" },
        { "secret", "secret" },
    };
    char folder[] = "/tmp/anydml-file-XXXXXX";
    if (!TEST(mkdtemp(folder) && !chdir(folder)))
        return test_result();
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        TEST_FOR(!mkdir(folders[i], 0700), "%s", folders[i]);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        write_file(files[i][0], files[i][1]);
    test_folders();
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        TEST_FOR(!remove_utf8(files[i][0]), "%s", files[i][0]); /* nothing has it open */
    for (size_t i = sizeof(folders) / sizeof(folders[0]); i > 0; i--)
        TEST_FOR(!rmdir(folders[i - 1]), "%s", folders[i - 1]);
    TEST(!chdir("..") && !rmdir(folder));
    return test_result();
}
