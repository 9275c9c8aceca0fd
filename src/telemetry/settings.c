/* SPDX-License-Identifier: Apache-2.0 */
/* The switch and the endpoint: a file of two lines, "telemetry on|off" and "endpoint URL|none". */
#define _GNU_SOURCE
#include "telemetry/telemetry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FILE_MAX (TELEMETRY_ENDPOINT_MAX + 64)

bool telemetry_endpoint_valid(const char *url)
{
    const char *host = strncmp(url, "https://", 8) == 0 ? url + 8 : strncmp(url, "http://", 7) == 0 ? url + 7 : NULL;
    if (!host || !*host || *host == '/' || strlen(url) >= TELEMETRY_ENDPOINT_MAX)
        return false;
    for (const unsigned char *c = (const unsigned char *)host; *c; c++)
        if (*c <= ' ' || *c > '~' || strchr("?#\"\\<>", *c))
            return false;
    return true;
}

static bool parse_line(char *line, struct telemetry_settings *out)
{
    char *value = strchr(line, ' ');
    if (!value)
        return false;
    *value++ = 0;
    if (strcmp(line, "telemetry") == 0) {
        out->on = strcmp(value, "on") == 0;
        return out->on || strcmp(value, "off") == 0;
    }
    if (strcmp(line, "endpoint") != 0 || (strcmp(value, "none") != 0 && !telemetry_endpoint_valid(value)))
        return false;
    snprintf(out->endpoint, sizeof(out->endpoint), "%s", value);
    return true;
}

/* A file that is not completely valid never counts as consent. */
static enum telemetry_result parse(char *text, size_t size, struct telemetry_settings *out)
{
    struct telemetry_settings read = { 0 };
    char *rest = text;
    if (!size || size == FILE_MAX || text[size - 1] != '\n' || memchr(text, 0, size))
        return TELEMETRY_DAMAGED;
    text[size - 1] = 0;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (!parse_line(line, &read))
            return TELEMETRY_DAMAGED;
    *out = read;
    return TELEMETRY_OK;
}

enum telemetry_result telemetry_settings_load(struct telemetry_settings *out)
{
    char text[FILE_MAX];
    int file;
    *out = (struct telemetry_settings){ 0 };
    enum telemetry_result result = telemetry_open(TELEMETRY_SETTINGS, O_RDONLY, &file);
    if (result)
        return result;
    ssize_t size = read(file, text, sizeof(text));
    int saved = errno;
    close(file);
    errno = saved;
    return size < 0 ? TELEMETRY_FAILED : parse(text, (size_t)size, out);
}

/* Readers take no lock, so the new file replaces the old one atomically. */
enum telemetry_result telemetry_settings_store(const struct telemetry_settings *settings)
{
    char text[FILE_MAX];
    const char *name = telemetry_name(TELEMETRY_SETTINGS), *fresh = "telemetry.new";
    int folder, file;
    enum telemetry_result result = telemetry_open_folder(TELEMETRY_SETTINGS, true, &folder);
    if (result)
        return result;
    int size = snprintf(text, sizeof(text), "telemetry %s\n%s%s%s", settings->on ? "on" : "off",
                        *settings->endpoint ? "endpoint " : "", settings->endpoint, *settings->endpoint ? "\n" : "");
    unlinkat(folder, fresh, 0);
    result = telemetry_open_file(folder, fresh, O_WRONLY | O_CREAT | O_EXCL, &file);
    if (!result) {
        result = telemetry_write(file, text, (size_t)size);
        close(file);
    }
    if (!result && renameat(folder, fresh, folder, name) != 0)
        result = TELEMETRY_FAILED;
    int saved = errno;
    if (result)
        unlinkat(folder, fresh, 0);
    close(folder);
    errno = saved;
    return result;
}

enum telemetry_variable telemetry_variable(void)
{
    const char *value = secure_getenv("ANYDML_TELEMETRY");
    if (!value || !*value)
        return TELEMETRY_UNSET;
    if (strcmp(value, "1") == 0)
        return TELEMETRY_VARIABLE_ON;
    return strcmp(value, "0") == 0 ? TELEMETRY_VARIABLE_OFF : TELEMETRY_VARIABLE_BAD;
}

bool telemetry_is_on(void)
{
    struct telemetry_settings settings;
    int saved = errno;
    enum telemetry_variable variable = telemetry_variable();
    bool on = variable == TELEMETRY_VARIABLE_ON;
    if (variable == TELEMETRY_UNSET) {
        telemetry_settings_load(&settings);
        on = settings.on;
    }
    errno = saved;
    return on;
}
