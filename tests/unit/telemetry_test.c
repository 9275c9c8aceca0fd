/* SPDX-License-Identifier: Apache-2.0 */
/* telemetry: off costs nothing and leaves nothing, one record per day, component and kind, many processes at once,
 * files that are not ours alone, damaged and full files. */
#define _GNU_SOURCE
#include "telemetry/telemetry.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char root[] = "/tmp/anydml-telemetry-XXXXXX";
static char settings_path[TELEMETRY_PATH_MAX], records_path[TELEMETRY_PATH_MAX], folder_path[TELEMETRY_PATH_MAX];

static void run(const char *format, const char *path)
{
    char command[TELEMETRY_PATH_MAX + 64];
    snprintf(command, sizeof(command), format, path);
    TEST_FOR(system(command) == 0, "%s", command);
}

/* An empty home, telemetry not decided. */
static void fresh(void)
{
    run("rm -rf %s/*", root);
    unsetenv("ANYDML_TELEMETRY");
}

static void write_file(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!TEST(file))
        return;
    TEST(fwrite(text, 1, size, file) == size);
    fclose(file);
    chmod(path, 0600);
}

static long file_size(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0 ? (long)s.st_size : -1;
}

static void set_on(bool on)
{
    struct telemetry_settings settings = { .on = on };
    TEST(telemetry_settings_store(&settings) == TELEMETRY_OK);
}

static void test_off(void)
{
    static const char *const values[] = { "0", "yes", "2", "on", "01" };
    struct telemetry_rows rows;
    fresh();
    errno = 77;
    TEST(!telemetry_is_on() && !telemetry_record("command", "cpu"));
    TEST(errno == 77 && rmdir(root) == 0 && mkdir(root, 0700) == 0); /* nothing at all was written */
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        fresh();
        set_on(true);
        setenv("ANYDML_TELEMETRY", values[i], 1);
        TEST_FOR(!telemetry_is_on() && !telemetry_record("command", "cpu"), "ANYDML_TELEMETRY=%s", values[i]);
        TEST(telemetry_rows_load(&rows) == TELEMETRY_MISSING);
    }
    set_on(false);
    setenv("ANYDML_TELEMETRY", "1", 1);
    TEST(telemetry_record("command", "cpu"));
    setenv("ANYDML_TELEMETRY", "", 1);
    TEST(!telemetry_is_on());
}

static void test_record(void)
{
    struct telemetry_rows rows;
    struct telemetry_row want;
    struct stat s;
    fresh();
    set_on(true);
    TEST(telemetry_is_on());
    errno = 77;
    TEST(telemetry_record("onnxruntime", "gpu") && errno == 77);
    TEST(!telemetry_record("onnxruntime", "gpu"));
    TEST(!telemetry_record("onnxruntime", "cpu")); /* kept, but not the component's first */
    TEST(telemetry_record("command", "cpu"));
    TEST(!telemetry_record("other", "cpu") && !telemetry_record("command", "tpu") && !telemetry_record("", ""));
    TEST(telemetry_rows_load(&rows) == TELEMETRY_OK && rows.count == 3 && rows.damaged == 0);
    TEST(telemetry_row_make("onnxruntime", "gpu", &want));
    TEST(rows.count == 3 && memcmp(&rows.rows[0], &want, sizeof(want)) == 0);
    TEST(rows.count == 3 && strcmp(rows.rows[1].device, "cpu") == 0 && strcmp(rows.rows[2].component, "command") == 0);
    TEST(telemetry_row_time(&want) <= time(NULL) && telemetry_row_time(&want) > time(NULL) - 2 * 86400);
    TEST(stat(records_path, &s) == 0 && (s.st_mode & 0777) == 0600);
    TEST(stat(folder_path, &s) == 0 && (s.st_mode & 0777) == 0700);

    struct telemetry_rows sent = { &rows.rows[1], 1, 0 };
    TEST(telemetry_rows_mark_sent(&sent) == TELEMETRY_OK);
    telemetry_rows_finish(&rows);
    TEST(telemetry_rows_load(&rows) == TELEMETRY_OK && rows.count == 3 && !rows.rows[0].sent && rows.rows[1].sent &&
         !rows.rows[2].sent);
    telemetry_rows_finish(&rows);
    TEST(!telemetry_record("onnxruntime", "cpu")); /* a sent record is a record */
    TEST(telemetry_rows_clear() == TELEMETRY_OK && file_size(records_path) == -1);
    TEST(telemetry_rows_clear() == TELEMETRY_MISSING);
}

static void test_processes(void)
{
    static const char *const components[] = { "onnxruntime", "torch", "command" };
    static const char *const kinds[] = { "cpu", "gpu", "npu" };
    enum { PROCESSES = 8 };
    struct telemetry_rows rows;
    int status, firsts = 0;
    fresh();
    set_on(true);
    for (int p = 0; p < PROCESSES; p++) {
        if (fork() != 0)
            continue;
        int first = 0;
        for (int i = 0; i < 45; i++)
            first += telemetry_record(components[(i + p) % 3], kinds[(i / 3 + p) % 3]);
        _exit(first);
    }
    for (int p = 0; p < PROCESSES; p++) {
        TEST(wait(&status) > 0 && WIFEXITED(status));
        firsts += WEXITSTATUS(status);
    }
    TEST_FOR(firsts == 3, "%d first records", firsts);
    TEST(telemetry_rows_load(&rows) == TELEMETRY_OK && rows.damaged == 0);
    TEST_FOR(rows.count == 9, "%u records", rows.count);
    telemetry_rows_finish(&rows);
}

/* Someone who holds the lock delays the caller by a moment, no more. */
static void test_held(void)
{
    fresh();
    set_on(true);
    TEST(telemetry_record("command", "cpu"));
    int file = open(records_path, O_RDWR);
    long before = file_size(records_path);
    TEST(file >= 0 && flock(file, LOCK_EX) == 0);
    TEST(!telemetry_record("torch", "cpu") && file_size(records_path) == before);
    close(file);
    TEST(telemetry_record("torch", "cpu"));
}

/* `place` is a command that puts something in the place of the records. */
static void check_unsafe(const char *place)
{
    char victim[TELEMETRY_PATH_MAX];
    struct telemetry_rows rows;
    fresh();
    set_on(true);
    snprintf(victim, sizeof(victim), "%s/victim", root);
    write_file(victim, "mine\n", 5);
    run("mkdir -m 700 -p %s", folder_path);
    run(place, folder_path);
    TEST_FOR(!telemetry_record("command", "cpu"), "%s", place);
    TEST_FOR(telemetry_rows_load(&rows) == TELEMETRY_UNSAFE, "%s", place);
    TEST_FOR(telemetry_rows_mark_sent(&rows) == TELEMETRY_UNSAFE, "%s", place);
    TEST_FOR(telemetry_rows_clear() == TELEMETRY_UNSAFE, "%s", place);
    TEST_FOR(file_size(victim) == 5, "%s", place);
}

static void test_unsafe(void)
{
    static const char *const places[] = {
        "cd %s && ln -s ../../victim telemetry.jsonl",
        "cd %s && ln -s ../../missing telemetry.jsonl",
        "cd %s && ln ../../victim telemetry.jsonl",
        "cd %s && mkfifo telemetry.jsonl",
        "cd %s && mkdir telemetry.jsonl",
        "cd %s && touch telemetry.jsonl && chmod 666 telemetry.jsonl",
        "cd %s && touch telemetry.jsonl && chmod 620 telemetry.jsonl",
        "cd %s && chmod 777 .",
        "cd %s/.. && rmdir anydml && mkdir real && ln -s real anydml",
        "cd %s/.. && rmdir anydml && touch anydml",
    };
    char target[TELEMETRY_PATH_MAX];
    struct telemetry_settings settings;
    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        check_unsafe(places[i]);
    if (geteuid() == 0)
        check_unsafe("cd %s && touch telemetry.jsonl && chown 12345 telemetry.jsonl");

    /* A switch that another user may have written. */
    fresh();
    set_on(true);
    chmod(settings_path, 0622);
    TEST(!telemetry_is_on() && telemetry_settings_load(&settings) == TELEMETRY_UNSAFE);
    fresh();
    set_on(true);
    snprintf(target, sizeof(target), "%s/elsewhere", root);
    TEST(rename(settings_path, target) == 0 && symlink(target, settings_path) == 0);
    TEST(!telemetry_is_on() && telemetry_settings_load(&settings) == TELEMETRY_UNSAFE);
}

static void test_no_home(void)
{
    static const char *const homes[] = { "", "relative", NULL };
    struct telemetry_settings settings = { .on = true };
    struct telemetry_rows rows;
    char path[TELEMETRY_PATH_MAX];
    fresh();
    setenv("ANYDML_TELEMETRY", "1", 1);
    unsetenv("XDG_CONFIG_HOME");
    setenv("XDG_STATE_HOME", "relative", 1); /* counts as not set */
    for (size_t i = 0; i < ARRAY_SIZE(homes); i++) {
        if (homes[i])
            setenv("HOME", homes[i], 1);
        else
            unsetenv("HOME");
        TEST(!telemetry_record("command", "cpu"));
        TEST(telemetry_rows_load(&rows) == TELEMETRY_NO_HOME && telemetry_rows_clear() == TELEMETRY_NO_HOME);
        TEST(telemetry_settings_store(&settings) == TELEMETRY_NO_HOME);
        TEST(!telemetry_path(TELEMETRY_RECORDS, path) && !telemetry_path(TELEMETRY_SETTINGS, path));
    }
    setenv("HOME", root, 1);
    TEST(telemetry_path(TELEMETRY_RECORDS, path) && strstr(path, "/.local/state/anydml/telemetry.jsonl"));
    TEST(telemetry_record("command", "cpu") && file_size(path) > 0);
    TEST(telemetry_path(TELEMETRY_SETTINGS, path) && strstr(path, "/.config/anydml/telemetry"));
}

/* Every beginning of a good file, and bytes changed at random: never more records than lines, and recording goes on. */
static void test_damaged(void)
{
    char text[8 * TELEMETRY_LINE_MAX];
    struct telemetry_row row;
    struct telemetry_rows rows;
    size_t size = 0;
    uint32_t random = 1;
    fresh();
    set_on(true);
    TEST(telemetry_row_make("torch", "npu", &row));
    for (int i = 0; i < 3; i++) {
        snprintf(row.day, sizeof(row.day), "2026-01-0%d", i + 1);
        size += (size_t)telemetry_row_print(&row, text + size);
    }
    run("mkdir -m 700 -p %s", folder_path);
    for (size_t cut = 0; cut <= size; cut++) {
        write_file(records_path, text, cut);
        TEST(telemetry_rows_load(&rows) == TELEMETRY_OK && rows.count == cut * 3 / size);
        TEST(rows.damaged == (cut * 3 % size != 0));
        uint32_t before = rows.count;
        telemetry_rows_finish(&rows);
        TEST(telemetry_record("command", "cpu"));
        TEST(telemetry_rows_load(&rows) == TELEMETRY_OK && rows.count == before + 1 && rows.damaged == 0);
        telemetry_rows_finish(&rows);
    }
    for (int i = 0; i < 1000; i++) {
        char bad[sizeof(text)];
        memcpy(bad, text, size);
        for (int k = 0; k < 3; k++) {
            random = random * 1664525 + 1013904223;
            bad[(random >> 8) % size] = (char)(random >> 24);
        }
        write_file(records_path, bad, size);
        TEST(telemetry_rows_load(&rows) == TELEMETRY_OK && rows.count <= 3);
        telemetry_rows_finish(&rows);
    }
}

static void test_bad_lines(void)
{
    static const char *const from[] = { "2026-01-01", "2026-01-01", "2026-01-01", "torch", "npu", "false", "\"sent" };
    static const char *const to[] = { "2026-13-01", "1926-01-01", "2026-02-30", "jack", "fpu", "maybe", "\"host" };
    struct telemetry_row row;
    struct telemetry_rows rows;
    char line[TELEMETRY_LINE_MAX], bad[2 * TELEMETRY_LINE_MAX];
    fresh();
    set_on(true);
    TEST(telemetry_row_make("torch", "npu", &row));
    snprintf(row.day, sizeof(row.day), "2026-01-01");
    telemetry_row_print(&row, line);
    run("mkdir -m 700 -p %s", folder_path);
    for (size_t i = 0; i < ARRAY_SIZE(from); i++) {
        char *at = strstr(line, from[i]);
        snprintf(bad, sizeof(bad), "%.*s%s%s", (int)(at - line), line, to[i], at + strlen(from[i]));
        write_file(records_path, bad, strlen(bad));
        TEST_FOR(telemetry_rows_load(&rows) == TELEMETRY_OK && rows.count == 0 && rows.damaged == 1, "%s", bad);
        telemetry_rows_finish(&rows);
    }
}

static void test_full(void)
{
    struct telemetry_row row, last;
    struct telemetry_rows rows;
    size_t size = 0;
    char *text = malloc(3 * TELEMETRY_FILE_MAX);
    if (!TEST(text))
        return;
    fresh();
    set_on(true);
    run("mkdir -m 700 -p %s", folder_path);
    TEST(telemetry_row_make("torch", "npu", &row));
    for (int day = 0; size < 2 * TELEMETRY_FILE_MAX; day++) {
        int month = day / 28;
        snprintf(row.day, sizeof(row.day), "%04u-%02u-%02u", 2001 + (unsigned)month / 12 % 100,
                 1 + (unsigned)month % 12, 1 + (unsigned)day % 28);
        size += (size_t)telemetry_row_print(&row, text + size);
    }
    write_file(records_path, text, size);
    free(text);
    TEST(telemetry_record("command", "cpu"));
    TEST(file_size(records_path) > TELEMETRY_FILE_MAX / 4 && file_size(records_path) <= TELEMETRY_FILE_MAX);
    TEST(telemetry_row_make("command", "cpu", &last));
    TEST(telemetry_rows_load(&rows) == TELEMETRY_OK && rows.damaged == 0 && rows.count > 2);
    TEST(rows.count > 2 && memcmp(&rows.rows[rows.count - 1], &last, sizeof(last)) == 0);
    TEST(rows.count > 2 && memcmp(&rows.rows[rows.count - 2], &row, sizeof(row)) == 0);
    telemetry_rows_finish(&rows);
}

static void test_settings(void)
{
    static const char *const bad[] = {
        "",
        "on\n",
        "telemetry on",
        "telemetry yes\n",
        "telemetry on\nmore\n",
        "telemetry on\nendpoint ftp://x\n",
        "telemetry on\n\n",
        "telemetry on\nendpoint http://a b\n",
    };
    static const char *const urls[] = { "http://a", "https://a.b:4318/x/", "http://[::1]:4318", "http://u:p@a" };
    static const char *const no_urls[] = {
        "",           "http://",    "https:///x",  "a",          "file:///etc/passwd",
        "http://a?b", "http://a#b", "http://a\tb", "http://a\n", "HTTP://a"
    };
    struct telemetry_settings settings, back;
    char text[4 * TELEMETRY_ENDPOINT_MAX];
    for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
        fresh();
        settings = (struct telemetry_settings){ .on = i & 1 };
        snprintf(settings.endpoint, sizeof(settings.endpoint), "%s", urls[i]);
        TEST(telemetry_endpoint_valid(urls[i]) && telemetry_settings_store(&settings) == TELEMETRY_OK);
        TEST(telemetry_settings_load(&back) == TELEMETRY_OK && memcmp(&settings, &back, sizeof(back)) == 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(no_urls); i++)
        TEST_FOR(!telemetry_endpoint_valid(no_urls[i]), "%s", no_urls[i]);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        write_file(settings_path, bad[i], strlen(bad[i]));
        TEST_FOR(telemetry_settings_load(&back) == TELEMETRY_DAMAGED && !back.on && !telemetry_is_on(), "%s", bad[i]);
    }
    int n = snprintf(text, sizeof(text), "telemetry on\nendpoint http://");
    memset(text + n, 'a', sizeof(text) - (size_t)n);
    text[sizeof(text) - 1] = '\n';
    write_file(settings_path, text, sizeof(text));
    TEST(telemetry_settings_load(&back) == TELEMETRY_DAMAGED && !back.on);
    write_file(settings_path, "telemetry on\n\0\n", 15);
    TEST(telemetry_settings_load(&back) == TELEMETRY_DAMAGED && !back.on);
}

static void test_os(void)
{
    char name[48], version[32], text[400];
    telemetry_os_parse("PRETTY_NAME=\"x y\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\n", name, version);
    TEST(strcmp(name, "Debian GNU/Linux") == 0 && strcmp(version, "12") == 0);
    telemetry_os_parse("", name, version);
    TEST(strcmp(name, "Linux") == 0 && strcmp(version, "unknown") == 0);
    telemetry_os_parse("VERSION_ID=\nNAME='a\\\"b\x01\xff{}'", name, version);
    TEST(strcmp(name, "ab") == 0 && strcmp(version, "unknown") == 0);
    memset(text, 'x', sizeof(text));
    memcpy(text, "NAME=", 5);
    text[sizeof(text) - 1] = 0;
    telemetry_os_parse(text, name, version);
    TEST(strlen(name) == 47);
    telemetry_os(name, version);
    TEST(*name && *version);
}

int main(void)
{
    if (!TEST(mkdtemp(root)))
        return test_result();
    setenv("HOME", root, 1);
    snprintf(folder_path, sizeof(folder_path), "%s/config", root);
    setenv("XDG_CONFIG_HOME", folder_path, 1);
    snprintf(folder_path, sizeof(folder_path), "%s/state", root);
    setenv("XDG_STATE_HOME", folder_path, 1);
    TEST(telemetry_path(TELEMETRY_SETTINGS, settings_path) && telemetry_path(TELEMETRY_RECORDS, records_path));
    snprintf(folder_path, sizeof(folder_path), "%s/state/anydml", root);
    umask(0);
    test_off();
    test_record();
    test_processes();
    test_held();
    test_unsafe();
    test_damaged();
    test_bad_lines();
    test_full();
    test_settings();
    test_os();
    test_no_home();
    run("rm -rf %s", root);
    return test_result();
}
