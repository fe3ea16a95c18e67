/* Fuzzes the reader of INI files. An error has words, and changes nothing. A file that is accepted
 * survives print and dump. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_text(const struct ftc_settings *settings, const char *dump)
{
    struct ftc_settings other;
    char *text, *again;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    require(out != NULL);
    ftc_settings_print(settings, true, NULL, NULL, out);
    require(fclose(out) == 0);
    require(ftc_settings_init(&other) == FTC_SUCCESS);
    require(ftc_settings_read_text(&other, text, size, "print") == FTC_SUCCESS);
    again = ftc_settings_dump(&other);
    require(again != NULL && strcmp(dump, again) == 0);
    require(ftc_settings_load(&other, dump) == FTC_SUCCESS);
    free(again);
    free(text);
    ftc_settings_fini(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ftc_settings settings;
    require(ftc_settings_init(&settings) == FTC_SUCCESS);
    char *before = ftc_settings_dump(&settings);
    int rc = ftc_settings_read_text(&settings, (const char *)data, size, "fuzz");
    char *after = ftc_settings_dump(&settings);
    require(before != NULL && after != NULL);
    if (rc == FTC_SUCCESS)
        check_text(&settings, after);
    else
        require(strcmp(before, after) == 0 && strncmp(ftc_last_error(), "fuzz:", 5) == 0);
    free(before);
    free(after);
    ftc_settings_fini(&settings);
    return 0;
}
