/* SPDX-License-Identifier: Apache-2.0 */
/* The machine, and nothing of its user. */
#include "tools/doctor/doctor.h"

#include "base/cpu.h"
#include "base/os.h"

#include <anydml.h>

#include <ctype.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

extern char **environ;

#define VALUE_MAX 512

/* ---- what a report need not have ---- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* Each `what` that is not part of a longer word, and after `before` if that is not 0. */
static void replace(char *text, size_t size, const char *what, const char *with, char before)
{
    const size_t length = what ? strlen(what) : 0;
    char copy[2048];
    size_t used = 0;
    if (!length || !strstr(text, what))
        return;
    for (const char *at = text; *at && used + 1 < sizeof(copy);) {
        const char last = at > text ? at[-1] : ' ';
        const bool begins = before ? last == before : *what == '/' || !is_word(last);
        if (begins && !strncmp(at, what, length) && !is_word(at[length])) {
            used += (size_t)snprintf(copy + used, sizeof(copy) - used, "%s", with);
            at += length;
        } else
            copy[used++] = *at++;
    }
    copy[BASE_MIN(used, sizeof(copy) - 1)] = 0;
    snprintf(text, size, "%s", copy);
}

/* Other users' folders, too. */
static void replace_homes(char *text)
{
    for (char *at = text; (at = strstr(at, "/home/"));) {
        char *end = at + strlen("/home/");
        while (*end && *end != '/' && *end != ':' && *end != ' ' && *end != '"')
            end++;
        *at++ = '~';
        memmove(at, end, strlen(end) + 1);
    }
}

void tools_doctor_scrub(char *text, size_t size)
{
    const struct passwd *user = getpwuid(getuid());
    const char *const homes[] = { getenv("HOME"), user ? user->pw_dir : NULL };
    const char *const names[] = { user ? user->pw_name : NULL, getenv("USER"), getenv("LOGNAME"), getenv("SUDO_USER") };
    char host[256] = "";
    for (size_t i = 0; i < ARRAY_SIZE(homes); i++)
        if (homes[i] && strlen(homes[i]) > 1)
            replace(text, size, homes[i], "~", 0);
    replace_homes(text);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (names[i] && strcmp(names[i], "root") != 0)
            replace(text, size, names[i], "USER", '/');
    if (!gethostname(host, sizeof(host) - 1) && strlen(host) > 2 && strcmp(host, "localhost") != 0)
        replace(text, size, host, "HOST", 0);
}

/* ---- the system ---- */

/* PRETTY_NAME="..." of the file that every distribution has. */
static void system_name(char *out, size_t size)
{
    FILE *file = fopen("/etc/os-release", "r");
    char line[256];
    snprintf(out, size, "unknown");
    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, "PRETTY_NAME=", 12) != 0)
            continue;
        char *name = line + 12 + (line[12] == '"');
        name[strcspn(name, "\"\n")] = 0;
        snprintf(out, size, "%s", name);
    }
    if (file)
        fclose(file);
}

static void add_system(struct tools_doctor *d, json_t *out)
{
    char name[256], kernel[400], libc[64] = "unknown";
    struct utsname about;
    system_name(name, sizeof(name));
    if (uname(&about))
        snprintf(kernel, sizeof(kernel), "unknown");
    else
        snprintf(kernel, sizeof(kernel), "%s %s %s", about.sysname, about.release, about.machine);
#ifdef __GLIBC__
    snprintf(libc, sizeof(libc), "glibc %s", gnu_get_libc_version());
#endif
    tools_doctor_say(d, "  %-12s %s, %s, %s\n", "system", name, kernel, libc);
    json_object_set_new(out, "os", tools_doctor_text(name));
    json_object_set_new(out, "kernel", tools_doctor_text(kernel));
    json_object_set_new(out, "libc", tools_doctor_text(libc));
}

static void add_cpu(struct tools_doctor *d, json_t *out)
{
    char name[256];
    const char *word;
    json_t *sets = json_array();
    base_cpu_name(name, sizeof(name));
    tools_doctor_say(d, "  %-12s %s, %u cores, %u CPUs,", "cpu", name, base_cpu_cores(), base_cpu_count());
    for (uint32_t i = 0, flag; (word = base_cpu_flag_name(i, &flag)); i++)
        if (base_cpu_flags() & flag) {
            json_array_append_new(sets, json_string(word));
            tools_doctor_say(d, " %s", word);
        }
    tools_doctor_say(d, "%s\n", json_array_size(sets) ? "" : " no instruction set of ANYDML_CPU_FLAGS");
    json_object_set_new(out, "cpu", tools_doctor_text(name));
    json_object_set_new(out, "cores", json_integer(base_cpu_cores()));
    json_object_set_new(out, "cpus", json_integer(base_cpu_count()));
    json_object_set_new(out, "instruction_sets", sets);
}

static void add_memory(struct tools_doctor *d, json_t *out)
{
    const uint64_t total = base_memory_total(), available = base_memory_available();
    if (total == UINT64_MAX || available == UINT64_MAX)
        return;
    tools_doctor_say(d, "  %-12s %.1f GiB, %.1f GiB of it available\n", "memory", (double)total / (1 << 30),
                     (double)available / (1 << 30));
    json_object_set_new(out, "memory_bytes", json_integer((json_int_t)total));
    json_object_set_new(out, "memory_available_bytes", json_integer((json_int_t)available));
}

/* What changes how AnyDML or Vulkan work. Names of the user's files are not shown. */
static void add_environment(struct tools_doctor *d, json_t *out)
{
    json_t *list = json_object();
    for (char **at = environ; *at; at++) {
        char name[128], value[VALUE_MAX];
        const char *equal = strchr(*at, '=');
        if ((strncmp(*at, "ANYDML_", 7) != 0 && strncmp(*at, "VK_", 3) != 0) || !equal)
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)(equal - *at), *at);
        snprintf(value, sizeof(value), "%s", strcmp(name, "ANYDML_TRACE") ? equal + 1 : "(a file)");
        tools_doctor_scrub(value, sizeof(value));
        if (!strcmp(name, "ANYDML_LOG") && !strcmp(value, "none")) /* of the command itself */
            continue;
        tools_doctor_say(d, "  %s=%s\n", name, value);
        json_object_set_new(list, name, tools_doctor_text(value));
    }
    json_object_set_new(out, "environment", list);
}

void tools_doctor_system(struct tools_doctor *d)
{
    json_t *out = json_object();
    char version[32];
    snprintf(version, sizeof(version), "%d.%d.%d", ANYDML_VERSION_MAJOR, ANYDML_VERSION_MINOR, ANYDML_VERSION_PATCH);
    tools_doctor_say(d, "AnyDML %s\n", version);
    json_object_set_new(d->report, "version", json_string(version));
    add_system(d, out);
    add_cpu(d, out);
    add_memory(d, out);
    add_environment(d, out);
    json_object_set_new(d->report, "system", out);
}
