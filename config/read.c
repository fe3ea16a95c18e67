/*
 * Reads INI files with inih.
 *
 * inih cuts lines that are too long for its buffers, joins an indented line to the key before it,
 * and skips the text after the "]" of a section. None of that may pass silently. So inih gets its
 * lines from next_line() below, which hands over whole, checked lines without leading blanks,
 * counts them, and stops at the first error. No global of inih is changed, because the rest of the
 * process may use inih, too.
 */
#include "config/config.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "config/value.h"

#define LOCKED    "locked"  /* the section that names locked keys */
#define FILE_SIZE (1 << 20) /* most bytes of a file: a longer one is no settings file */

static const char byte_order_mark[] = "\xef\xbb\xbf";

struct source {
    struct ftc_settings *settings;
    const char *name;
    const char *text; /* the rest that is still to be read */
    size_t size;
    bool system; /* true: the administrator's file, which may lock keys */
    int line;
    int rc; /* first error */
};

/* --- lines --- */

/* The next line is text[0..*length-1]. Returns its number of bytes with the newline. */
static size_t find_line(const struct source *source, size_t *length)
{
    const char *newline = memchr(source->text, '\n', source->size);
    *length = newline != NULL ? (size_t)(newline - source->text) : source->size;
    return newline != NULL ? *length + 1 : *length;
}

static int refuse_line(const struct source *source, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static int refuse_line(const struct source *source, const char *format, ...)
{
    char why[256];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    return ftc_error_set(FTC_ERR_CONFIG, "%s:%d: %s", source->name, source->line, why);
}

/* Check a line that begins with '['. inih would accept an unknown section, and any text after the
 * bracket. */
static int check_section(const struct source *source, const char *line)
{
    char quoted[FTC_CONFIG_TEXT], name[FTC_CONFIG_TEXT];
    const char *end = strchr(line, ']');
    if (end == NULL)
        return refuse_line(source, "%s: the ] of a section is missing",
                           ftc_config_quote(line, quoted));
    snprintf(name, sizeof(name), "%.*s", (int)(end - line - 1), line + 1);
    end++;
    end += strspn(end, " \t\r\f\v");
    if (*end != '\0' && *end != ';' && *end != '#')
        return refuse_line(source, "%s: put what follows the section on a line of its own",
                           ftc_config_quote(line, quoted));
    if (ftc_config_has_section(name) || (source->system && strcmp(name, LOCKED) == 0))
        return FTC_SUCCESS;
    if (strcmp(name, LOCKED) == 0)
        return refuse_line(source, "[" LOCKED "]: only " FTC_CONFIG_SYSTEM_FILE " can lock keys");
    const char *nearest = ftc_config_nearest_section(name);
    ftc_config_quote(name, quoted);
    if (nearest != NULL)
        return refuse_line(source, "%s: no such section; did you mean [%s]?", quoted, nearest);
    return refuse_line(source, "%s: no such section; `ftrun --print-config --all` lists them",
                       quoted);
}

/* Check a line, and write to `line` what inih gets of it. A comment becomes an empty line, so that
 * a comment may be long. */
static int take_line(const struct source *source, const char *text, size_t length, char *line,
                     size_t room)
{
    if (memchr(text, '\0', length) != NULL)
        return refuse_line(source, "a zero byte: this is not a text file");
    if (source->line == 1 && length >= 3 && memcmp(text, byte_order_mark, 3) == 0) {
        text += 3;
        length -= 3;
    }
    for (; length > 0 && isspace((unsigned char)*text); text++)
        length--;
    if (length > 0 && (*text == ';' || *text == '#'))
        length = 0;
    /* + 2 for newline and NUL. A full buffer would make inih read more for the same line. */
    if (length + 2 > room)
        return refuse_line(source, "the line is too long (allowed: %zu characters)", room - 2);
    memcpy(line, text, length);
    line[length] = '\0';
    int rc = line[0] == '[' ? check_section(source, line) : FTC_SUCCESS;
    memcpy(line + length, "\n", 2);
    return rc;
}

/* inih calls this in place of fgets(). NULL after an error ends the parsing. */
static char *next_line(char *line, int room, void *stream)
{
    struct source *source = stream;
    const char *text = source->text;
    size_t length;
    if (source->rc != FTC_SUCCESS || source->size == 0)
        return NULL;
    size_t taken = find_line(source, &length);
    source->line++;
    source->text += taken;
    source->size -= taken;
    source->rc = take_line(source, text, length, line, (size_t)room);
    return source->rc == FTC_SUCCESS ? line : NULL;
}

/* inih calls this for each assignment. 0 tells it of an error. */
static int take_value(void *user, const char *section, const char *key, const char *value)
{
    struct source *source = user;
    char *origin;
    if (asprintf(&origin, "%s:%d", source->name, source->line) < 0) {
        source->rc = ftc_error_set(FTC_ERR_NOMEM, "out of memory while reading %s", source->name);
        return 0;
    }
    if (source->system && strcmp(section, LOCKED) == 0)
        source->rc = ftc_settings_lock(source->settings, key, value, origin);
    else
        source->rc = ftc_settings_apply(source->settings, section, key, value, origin);
    free(origin);
    return source->rc == FTC_SUCCESS;
}

static int parse(struct source *source)
{
    int line = ini_parse_stream(next_line, source, take_value, source);
    if (line < 0)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory while reading %s", source->name);
    /* inih goes on after a line that is no assignment, and returns the number of the first such
     * line. That line may come before the error in source->rc, and is then reported instead. */
    if (line > 0 && (source->rc == FTC_SUCCESS || line < source->line)) {
        source->line = line;
        return refuse_line(source, "neither \"key = value\", \"[section]\" nor a comment");
    }
    return source->rc;
}

/* The locks hold once the file that made them has been read, so that this file may set keys that it
 * locks. */
static int read_text(struct ftc_settings *settings, struct source source)
{
    struct ftc_settings draft;
    int rc = ftc_settings_draft(settings, &draft);
    if (rc != FTC_SUCCESS)
        return rc;
    source.settings = &draft;
    rc = parse(&source);
    draft.locks_hold = draft.locks_hold || source.system;
    return ftc_settings_conclude(settings, &draft, rc);
}

int ftc_settings_read_text(struct ftc_settings *settings, const char *text, size_t size,
                           const char *name)
{
    return read_text(settings, (struct source){.name = name, .text = text, .size = size});
}

/* --- files --- */

/* The owner of the directory can put any file there, so a file of that owner is as safe as the
 * directory. The owner is root, or the user that root appears as in a container. */
static bool owns_directory(uid_t owner, const char *path)
{
    char directory[PATH_MAX];
    struct stat info;
    snprintf(directory, sizeof(directory), "%s", path);
    char *leaf = strrchr(directory, '/');
    if (leaf == NULL || leaf == directory)
        return false;
    *leaf = '\0';
    return stat(directory, &info) == 0 && info.st_uid == owner &&
           (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* An account that can change this file decides for all users. A file of the caller is allowed,
 * because it harms nobody else: in a container image all files may belong to the caller. */
static int check_owner(FILE *file, const char *path)
{
    struct stat info;
    if (fstat(fileno(file), &info) != 0)
        return ftc_error_set(FTC_ERR_CONFIG, "%s: cannot see who owns the configuration file: %m",
                             path);
    bool trusted =
        info.st_uid == 0 || info.st_uid == geteuid() || owns_directory(info.st_uid, path);
    if (trusted && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return FTC_SUCCESS;
    return ftc_error_set(
        FTC_ERR_CONFIG,
        "%s: uid %lu owns it and its mode is %04o, so others than root could change it; "
        "the administrator should run `chown root: %s && chmod 644 %s`",
        path, (unsigned long)info.st_uid, (unsigned)(info.st_mode & 07777), path, path);
}

/* Read the whole file into text[FILE_SIZE + 1]. */
static int read_whole(const char *path, bool required, bool system, char *text, size_t *size)
{
    FILE *file = fopen(path, "re");
    *size = 0;
    if (file == NULL && !required && (errno == ENOENT || errno == ENOTDIR))
        return FTC_SUCCESS;
    if (file == NULL)
        return ftc_error_set(FTC_ERR_CONFIG, "%s: cannot open the configuration file: %m", path);
    int rc = system ? check_owner(file, path) : FTC_SUCCESS;
    if (rc == FTC_SUCCESS)
        *size = fread(text, 1, FILE_SIZE + 1, file);
    if (rc == FTC_SUCCESS && ferror(file))
        rc = ftc_error_set(FTC_ERR_CONFIG, "%s: cannot read the configuration file: %m", path);
    else if (*size > FILE_SIZE)
        rc = ftc_error_set(FTC_ERR_CONFIG, "%s: longer than %d bytes: not a configuration file",
                           path, FILE_SIZE);
    fclose(file);
    return rc;
}

static int read_path(struct ftc_settings *settings, const char *path, bool required, bool system)
{
    size_t size;
    char *text = malloc(FILE_SIZE + 1);
    if (text == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory while reading %s", path);
    int rc = read_whole(path, required, system, text, &size);
    if (rc == FTC_SUCCESS)
        rc = read_text(settings,
                       (struct source){.name = path, .text = text, .size = size, .system = system});
    free(text);
    return rc;
}

int ftc_settings_read_file(struct ftc_settings *settings, const char *path, bool required)
{
    return read_path(settings, path, required, false);
}

int ftc_settings_read_system(struct ftc_settings *settings, const char *path)
{
    return read_path(settings, path, false, true);
}

/* Store the path of the user's file in *path (malloc'ed), or NULL if there is no home. A relative
 * $XDG_CONFIG_HOME is ignored (XDG Base Directory Specification). */
static int user_file(char **path)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int length = 0;
    *path = NULL;
    if (config != NULL && config[0] == '/')
        length = asprintf(path, "%s/ftcoll.ini", config);
    else if (home != NULL && home[0] == '/')
        length = asprintf(path, "%s/.config/ftcoll.ini", home);
    if (length < 0) {
        *path = NULL;
        return ftc_error_set(FTC_ERR_NOMEM,
                             "out of memory while looking for the configuration file");
    }
    return FTC_SUCCESS;
}

int ftc_settings_read_standard(struct ftc_settings *settings)
{
    char *path;
    int rc = ftc_settings_read_system(settings, FTC_CONFIG_SYSTEM_FILE);
    if (rc != FTC_SUCCESS)
        return rc;
    rc = user_file(&path);
    if (rc == FTC_SUCCESS && path != NULL)
        rc = ftc_settings_read_file(settings, path, false);
    free(path);
    for (size_t i = 0; rc == FTC_SUCCESS && i < ftc_config_schema_size; i++)
        settings->common[i] = ftc_settings_named(settings, i);
    return rc;
}

int ftc_settings_read_named(struct ftc_settings *settings, char *const environment[])
{
    static const char name[] = "FTCOLL_CONFIG=";
    const char *path = "";

    for (size_t i = 0; environment[i] != NULL; i++)
        if (strncmp(environment[i], name, sizeof(name) - 1) == 0)
            path = environment[i] + sizeof(name) - 1;
    int rc = path[0] != '\0' ? ftc_settings_read_file(settings, path, true) : FTC_SUCCESS;
    return rc != FTC_SUCCESS ? ftc_error_wrap(rc, "FTCOLL_CONFIG") : rc;
}
