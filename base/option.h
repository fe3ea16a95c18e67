/* The description of one option of a program. The parser, --help, the manual page and the shell
 * completion are all made from a program's table of these. */
#ifndef FTC_BASE_OPTION_H
#define FTC_BASE_OPTION_H

struct ftc_option_text {
    const char *name;     /* long name; NULL: none */
    char letter;          /* 0: none */
    const char *argument; /* "FILE", "none|core"; NULL: the option takes no argument */
    const char *help;     /* NULL: the help of `key` */
    const char *key;      /* "section.key" of the setting that the option sets; NULL: none */
    /* Arguments that are legal beside those that `key` allows, NULL-terminated; NULL: none. */
    const char *const *words;
};

#endif
