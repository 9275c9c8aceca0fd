/* SPDX-License-Identifier: Apache-2.0 */
/* The records: one line of JSON each, in one fixed form, so that reading them needs no JSON parser. The file is read
 * and written under a lock on itself and is rewritten in place, never replaced, so that the lock remains valid. */
#define _GNU_SOURCE
#include "telemetry/telemetry.h"

#include <anydml.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STRING2(x) #x
#define STRING(x)  STRING2(x)
#define VERSION    STRING(ANYDML_VERSION_MAJOR) "." STRING(ANYDML_VERSION_MINOR) "." STRING(ANYDML_VERSION_PATCH)

/* ---- one record ---- */

static bool one_of(const char *text, const char *const *names)
{
    while (*names && strcmp(text, *names) != 0)
        names++;
    return *names != NULL;
}

static bool row_time(const struct telemetry_row *row, time_t *out)
{
    struct tm tm = { 0 }, back;
    char day[40];
    if (sscanf(row->day, "%4d-%2d-%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday) != 3)
        return false;
    /* The range of nanoseconds since 1970. */
    if (tm.tm_year < 2000 || tm.tm_year >= 2200)
        return false;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    *out = timegm(&tm);
    return gmtime_r(out, &back) && strftime(day, sizeof(day), "%Y-%m-%d", &back) && strcmp(day, row->day) == 0;
}

static bool row_valid(const struct telemetry_row *row)
{
    static const char *const components[] = { "onnxruntime", "torch", "command", NULL };
    static const char *const kinds[] = { "cpu", "gpu", "npu", NULL };
    time_t start;
    return one_of(row->component, components) && one_of(row->device, kinds) && row_time(row, &start);
}

int64_t telemetry_row_time(const struct telemetry_row *row)
{
    time_t start;
    return row_time(row, &start) ? (int64_t)start : 0;
}

bool telemetry_row_make(const char *component, const char *kind, struct telemetry_row *out)
{
    struct tm tm;
    time_t now = time(NULL);
    *out = (struct telemetry_row){ .version = VERSION };
    if (!gmtime_r(&now, &tm) || !strftime(out->day, sizeof(out->day), "%Y-%m-%d", &tm))
        return false;
    snprintf(out->component, sizeof(out->component), "%s", component);
    snprintf(out->device, sizeof(out->device), "%s", kind);
    telemetry_os(out->os, out->os_version);
    return row_valid(out);
}

int telemetry_row_print(const struct telemetry_row *row, char out[TELEMETRY_LINE_MAX])
{
    return snprintf(out, TELEMETRY_LINE_MAX,
                    "{\"day\":\"%s\",\"component\":\"%s\",\"device\":\"%s\",\"anydml\":\"%s\",\"os\":\"%s\","
                    "\"os_version\":\"%s\",\"sent\":%s}\n",
                    row->day, row->component, row->device, row->version, row->os, row->os_version,
                    row->sent ? "true" : "false");
}

/* `line` without its newline. */
static bool row_parse(const char *line, size_t size, struct telemetry_row *out)
{
    char copy[TELEMETRY_LINE_MAX], sent[6];
    int end = -1;
    *out = (struct telemetry_row){ 0 };
    if (size >= sizeof(copy))
        return false;
    memcpy(copy, line, size);
    copy[size] = 0;
    sscanf(copy,
           "{\"day\":\"%10[0-9-]\",\"component\":\"%15[a-z]\",\"device\":\"%3[a-z]\",\"anydml\":\"%15[0-9.]\","
           "\"os\":\"%47[A-Za-z0-9 ./_+()-]\",\"os_version\":\"%31[A-Za-z0-9 ./_+()-]\",\"sent\":%5[a-z]}%n",
           out->day, out->component, out->device, out->version, out->os, out->os_version, sent, &end);
    if (end < 0 || (size_t)end != size || !row_valid(out))
        return false;
    out->sent = strcmp(sent, "true") == 0;
    return out->sent || strcmp(sent, "false") == 0;
}

static bool same_record(const struct telemetry_row *a, const struct telemetry_row *b)
{
    return strcmp(a->day, b->day) == 0 && strcmp(a->component, b->component) == 0 && strcmp(a->device, b->device) == 0;
}

/* ---- the file, locked by the caller ---- */

static bool split(const char *text, size_t size, struct telemetry_rows *out)
{
    uint32_t lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    /* One more, for a new record. */
    out->rows = calloc(lines + 1, sizeof(*out->rows));
    if (!out->rows)
        return false;
    for (const char *line = text, *limit = text + size, *end; line < limit; line = end + 1) {
        end = memchr(line, '\n', (size_t)(limit - line));
        /* A line without an end was truncated while it was written. */
        bool whole = end != NULL;
        end = end ? end : limit;
        if (whole && row_parse(line, (size_t)(end - line), &out->rows[out->count]))
            out->count++;
        else
            out->damaged++;
    }
    return true;
}

/* The end of a file that has grown too large. */
static enum telemetry_result load(int file, struct telemetry_rows *out, size_t *size)
{
    struct stat s;
    *out = (struct telemetry_rows){ 0 };
    if (fstat(file, &s) != 0)
        return TELEMETRY_FAILED;
    off_t from = s.st_size > TELEMETRY_FILE_MAX ? s.st_size - TELEMETRY_FILE_MAX : 0;
    size_t used = 0;
    char *text = malloc(TELEMETRY_FILE_MAX);
    if (!text)
        return TELEMETRY_FAILED;
    for (ssize_t n; used < TELEMETRY_FILE_MAX; used += (size_t)n) {
        n = pread(file, text + used, TELEMETRY_FILE_MAX - used, from + (off_t)used);
        if (n <= 0)
            break;
    }
    *size = (size_t)from + used;
    bool ok = split(text, used, out);
    free(text);
    return ok ? TELEMETRY_OK : TELEMETRY_FAILED;
}

static enum telemetry_result store(int file, const struct telemetry_rows *rows)
{
    size_t used = 0;
    char *text = malloc((size_t)rows->count * TELEMETRY_LINE_MAX + 1);
    if (!text)
        return TELEMETRY_FAILED;
    for (uint32_t i = 0; i < rows->count; i++)
        used += (size_t)telemetry_row_print(&rows->rows[i], text + used);
    enum telemetry_result result = ftruncate(file, 0) == 0 ? telemetry_write(file, text, used) : TELEMETRY_FAILED;
    free(text);
    return result;
}

/* Without `flags`, for reading. */
static enum telemetry_result open_locked(int flags, int *file)
{
    enum telemetry_result result = telemetry_open(TELEMETRY_RECORDS, flags, file);
    if (!result) {
        result = telemetry_lock(*file, flags & O_RDWR ? LOCK_EX : LOCK_SH);
        if (result)
            close(*file);
    }
    return result;
}

/* ---- for everybody ---- */

void telemetry_rows_finish(struct telemetry_rows *rows)
{
    free(rows->rows);
    *rows = (struct telemetry_rows){ 0 };
}

enum telemetry_result telemetry_rows_load(struct telemetry_rows *out)
{
    int file;
    size_t size;
    *out = (struct telemetry_rows){ 0 };
    enum telemetry_result result = open_locked(O_RDONLY, &file);
    if (result)
        return result;
    result = load(file, out, &size);
    int saved = errno;
    close(file);
    errno = saved;
    return result;
}

static bool contains(const struct telemetry_rows *rows, const struct telemetry_row *row)
{
    for (uint32_t i = 0; i < rows->count; i++)
        if (same_record(&rows->rows[i], row))
            return true;
    return false;
}

enum telemetry_result telemetry_rows_mark_sent(const struct telemetry_rows *sent)
{
    struct telemetry_rows rows;
    int file;
    size_t size;
    enum telemetry_result result = open_locked(O_RDWR | O_APPEND, &file);
    if (result)
        return result;
    result = load(file, &rows, &size);
    if (!result) {
        for (uint32_t i = 0; i < rows.count; i++)
            rows.rows[i].sent = rows.rows[i].sent || contains(sent, &rows.rows[i]);
        result = store(file, &rows);
        telemetry_rows_finish(&rows);
    }
    int saved = errno;
    close(file);
    errno = saved;
    return result;
}

enum telemetry_result telemetry_rows_clear(void)
{
    int folder, file;
    enum telemetry_result result = telemetry_open_folder(TELEMETRY_RECORDS, false, &folder);
    if (result)
        return result;
    result = telemetry_open_file(folder, telemetry_name(TELEMETRY_RECORDS), O_RDONLY, &file);
    if (!result) {
        close(file);
        if (unlinkat(folder, telemetry_name(TELEMETRY_RECORDS), 0) != 0)
            result = TELEMETRY_FAILED;
    }
    int saved = errno;
    close(folder);
    errno = saved;
    return result;
}

/* ---- recording ---- */

/* Appends the record; damaged lines are dropped, and if the file is full, the older half. */
static bool keep(int file, struct telemetry_rows *rows, size_t size, const struct telemetry_row *row)
{
    char line[TELEMETRY_LINE_MAX];
    int length = telemetry_row_print(row, line);
    bool full = size + (size_t)length > TELEMETRY_FILE_MAX;
    if (!full && !rows->damaged)
        return telemetry_write(file, line, (size_t)length) == TELEMETRY_OK;
    struct telemetry_rows kept = *rows;
    kept.rows += full ? rows->count / 2 : 0;
    kept.count -= full ? rows->count / 2 : 0;
    kept.rows[kept.count++] = *row;
    return store(file, &kept) == TELEMETRY_OK;
}

static bool record(const struct telemetry_row *row)
{
    struct telemetry_rows rows;
    int file;
    size_t size;
    if (open_locked(O_RDWR | O_APPEND | O_CREAT, &file))
        return false;
    bool first = load(file, &rows, &size) == TELEMETRY_OK;
    if (first) {
        for (uint32_t i = 0; i < rows.count; i++)
            first = first && (strcmp(rows.rows[i].day, row->day) || strcmp(rows.rows[i].component, row->component));
        if (!contains(&rows, row))
            first = keep(file, &rows, size, row) && first;
        telemetry_rows_finish(&rows);
    }
    close(file);
    return first;
}

bool telemetry_record(const char *component, const char *kind)
{
    struct telemetry_row row;
    int saved = errno;
    bool first = telemetry_is_on() && telemetry_row_make(component, kind, &row) && record(&row);
    errno = saved;
    return first;
}
