/* What a program tells of one of its options: its table gives the parser, --help, the manual page
 * and the shell's completion. */
#ifndef FTC_BASE_OPTION_H
#define FTC_BASE_OPTION_H

struct ftc_option_text {
    const char *name;     /* long name; NULL: none */
    char letter;          /* 0: none */
    const char *argument; /* "FILE", "none|core"; NULL: takes none */
    const char *help;     /* NULL: that of `key` */
    const char *key;      /* "section.key" of the setting that it is short for; NULL: none */
    const char *const
        *words; /* arguments beside those that `key` allows, NULL-terminated; NULL: none */
};

#endif
