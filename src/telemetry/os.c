/* SPDX-License-Identifier: Apache-2.0 */
/* Name and version of the operating system as its distribution states them. The kernel's release is not used, because
 * it often contains the name of the machine. */
#include "telemetry/telemetry.h"

#include <stdio.h>

/* The value of the line KEY=value, without quotes and without characters that a record may not contain. */
static void take(const char *text, const char *key, const char *otherwise, char *out, size_t size)
{
    size_t length = strlen(key), used = 0;
    const char *line = text;
    while (line && (strncmp(line, key, length) != 0 || line[length] != '=')) {
        line = strchr(line, '\n');
        line += line != NULL;
    }
    for (const char *c = line ? line + length + 1 : ""; *c && *c != '\n' && used + 1 < size; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
        if (letter || strchr(" ./_+()-", *c))
            out[used++] = *c;
    }
    out[used] = 0;
    if (!used)
        snprintf(out, size, "%s", otherwise);
}

void telemetry_os_parse(const char *text, char name[48], char version[32])
{
    take(text, "NAME", "Linux", name, 48);
    take(text, "VERSION_ID", "unknown", version, 32);
}

void telemetry_os(char name[48], char version[32])
{
    char text[8192];
    size_t size = 0;
    FILE *file = fopen("/etc/os-release", "re");
    if (!file)
        file = fopen("/usr/lib/os-release", "re");
    if (file) {
        size = fread(text, 1, sizeof(text) - 1, file);
        fclose(file);
    }
    text[size] = 0;
    telemetry_os_parse(text, name, version);
}
