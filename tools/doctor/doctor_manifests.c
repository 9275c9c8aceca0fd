/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the installed Vulkan drivers and the GPUs of Linux, without loading anything. */
#include "tools/doctor/doctor.h"

#include "base/os.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "vulkan/icd.d"

/* ---- manifests ---- */

static void add_path(struct tools_doctor_manifests *out, const char *path)
{
    for (uint32_t i = 0; i < out->count; i++)
        if (!strcmp(out->paths[i], path))
            return;
    char *copy = out->count < TOOLS_DOCTOR_MANIFESTS_MAX ? strdup(path) : NULL;
    if (copy)
        out->paths[out->count++] = copy;
}

static void add_folder(struct tools_doctor_manifests *out, const char *folder)
{
    char pattern[PATH_MAX];
    glob_t found;
    if (snprintf(pattern, sizeof(pattern), "%s/*.json", folder) >= (int)sizeof(pattern))
        return;
    if (!glob(pattern, 0, NULL, &found)) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            add_path(out, found.gl_pathv[i]);
        globfree(&found);
    }
}

/* Files and folders of a variable, or, with `below`, folders that have this one. */
static void add_list(struct tools_doctor_manifests *out, const char *list, const char *below)
{
    for (const char *at = list; at && *at;) {
        const size_t length = strcspn(at, ":");
        char path[PATH_MAX];
        struct stat about;
        const bool fits = snprintf(path, sizeof(path), "%.*s%s%s", (int)length, at, below ? "/" : "",
                                   below ? below : "") < (int)sizeof(path);
        if (fits && length && !stat(path, &about) && S_ISDIR(about.st_mode))
            add_folder(out, path);
        else if (fits && length && !below)
            add_path(out, path);
        at += length + (at[length] == ':');
    }
}

static const char *variable(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

static void add_home(struct tools_doctor_manifests *out, const char *name, const char *below_home)
{
    char path[PATH_MAX];
    const char *home = variable("HOME", NULL), *folder = variable(name, NULL);
    if (!folder && home && snprintf(path, sizeof(path), "%s/%s", home, below_home) < (int)sizeof(path))
        folder = path;
    add_list(out, folder, FOLDER);
}

void tools_doctor_manifests_find(struct tools_doctor_manifests *out)
{
    const char *instead = variable("VK_DRIVER_FILES", variable("VK_ICD_FILENAMES", NULL));
    *out = (struct tools_doctor_manifests){ .count = 0 };
    if (instead) {
        add_list(out, instead, NULL);
        return;
    }
    add_list(out, variable("VK_ADD_DRIVER_FILES", NULL), NULL);
    add_home(out, "XDG_CONFIG_HOME", ".config");
    add_list(out, variable("XDG_CONFIG_DIRS", "/etc/xdg"), FOLDER);
    add_list(out, "/usr/local/etc:/etc", FOLDER);
    add_home(out, "XDG_DATA_HOME", ".local/share");
    add_list(out, variable("XDG_DATA_DIRS", "/usr/local/share:/usr/share"), FOLDER);
}

void tools_doctor_manifests_finish(struct tools_doctor_manifests *manifests)
{
    for (uint32_t i = 0; i < manifests->count; i++)
        free(manifests->paths[i]);
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* NULL, or what is wrong with the library: a name alone is searched by the dynamic linker. */
static const char *library_problem(const char *manifest, const char *library)
{
    char path[PATH_MAX];
    const char *slash = strrchr(manifest, '/');
    if (!strchr(library, '/'))
        return NULL;
    if (*library == '/' || !slash)
        snprintf(path, sizeof(path), "%s", library);
    else
        snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - manifest), manifest, library);
    return access(path, R_OK) ? strerror(errno) : NULL;
}

json_t *tools_doctor_manifest_read(const char *path)
{
    json_t *out = json_object();
    json_error_t error;
    json_object_set_new(out, "file", tools_doctor_text(file_name(path)));
    if (access(path, R_OK)) {
        json_object_set_new(out, "problem", json_string(strerror(errno)));
        return out;
    }
    json_t *file = json_load_file(path, 0, &error);
    const json_t *icd = json_object_get(file, "ICD");
    const char *library = json_string_value(json_object_get(icd, "library_path"));
    const char *version = json_string_value(json_object_get(icd, "api_version"));
    const char *problem = library ? library_problem(path, library) : NULL;
    if (!library)
        json_object_set_new(out, "problem", json_string(file ? "it names no library" : "it is not JSON"));
    else
        json_object_set_new(out, "library", tools_doctor_text(file_name(library)));
    if (version)
        json_object_set_new(out, "version", tools_doctor_text(version));
    if (problem)
        json_object_set_new(out, "problem", json_sprintf("its library: %s", problem));
    json_decref(file);
    return out;
}

/* ---- hardware ---- */

static json_t *nodes(void)
{
    static const char *const patterns[] = { BASE_GPU_NODES };
    json_t *list = json_array();
    for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
        glob_t found;
        if (glob(patterns[i], 0, NULL, &found))
            continue;
        for (size_t k = 0; k < found.gl_pathc; k++)
            json_array_append_new(list, json_sprintf("%s%s", found.gl_pathv[k],
                                                     access(found.gl_pathv[k], R_OK | W_OK) ? " (no permission)" : ""));
        globfree(&found);
    }
    return list;
}

/* One number of a PCI device, as "0x10de". */
static bool read_number(const char *folder, const char *name, char out[16])
{
    char path[PATH_MAX];
    out[0] = 0;
    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
        return false;
    FILE *file = fopen(path, "r");
    const bool ok = file && fgets(out, 16, file);
    if (file)
        fclose(file);
    out[strcspn(out, "\n")] = 0;
    return ok && !strncmp(out, "0x", 2);
}

static void add_card(json_t *list, const char *folder)
{
    char kind[16], vendor[16], device[16], link[PATH_MAX], driver[PATH_MAX] = "no driver";
    if (!read_number(folder, "class", kind) || !read_number(folder, "vendor", vendor) ||
        !read_number(folder, "device", device))
        return;
    /* Displays, and accelerators. */
    if (strncmp(kind, "0x03", 4) != 0 && strncmp(kind, "0x12", 4) != 0)
        return;
    snprintf(link, sizeof(link), "%.200s/driver", folder);
    const ssize_t length = readlink(link, driver, sizeof(driver) - 1);
    if (length > 0)
        driver[length] = 0;
    json_array_append_new(list, json_sprintf("%s:%s (%s)", vendor + 2, device + 2, file_name(driver)));
}

json_t *tools_doctor_hardware(void)
{
    json_t *cards = json_array();
    glob_t found;
    if (!glob("/sys/bus/pci/devices/*", 0, NULL, &found)) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            add_card(cards, found.gl_pathv[i]);
        globfree(&found);
    }
    return json_pack("{s:o, s:o}", "nodes", nodes(), "cards", cards);
}
