/* The help texts of the settings. Only tools have them in their memory, and not the ranks. */
#include "config/config.h"

#define COMMON                           true
#define FIRST(help, ...)                 help
#define INT(a, b, c, d, e, f, g, h, ...) FIRST(__VA_ARGS__, )
#define BOOL(a, b, c, d, e, ...)         FIRST(__VA_ARGS__, )
#define ENUM(a, b, c, d, e, f, ...)      FIRST(__VA_ARGS__, )
#define PERCENT(a, b, c, d, e, f, ...)   FIRST(__VA_ARGS__, )
#define STRING(a, b, c, d, e, ...)       FIRST(__VA_ARGS__, )
#define LIST(a, b, c, d, e, f, ...)      FIRST(__VA_ARGS__, )
#define REAL(a, b, c, d, e, f, g, ...)   FIRST(__VA_ARGS__, )

static const char *const texts[] = {
#include "config/rows.h"
};

const char *ftc_config_help(const struct ftc_config_key *key)
{
    if (key == &ftc_config_alias)
        return "Dissemination and correction in one word: the name by which the pair is known.";
    return texts[key - ftc_config_schema];
}
