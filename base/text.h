/* Text from outside, for people: their terminal is to get nothing from it but visible
 * characters. */
#ifndef FTC_BASE_TEXT_H
#define FTC_BASE_TEXT_H

#include <stddef.h>

/* Length of the UTF-8 sequence of a visible character at s[left], 0 if there is none: a control
 * character (also one of U+0080 to U+009F), or bytes that are not UTF-8. */
size_t ftc_text_visible(const char *s, size_t left);

/* Copy at most size-1 bytes of an untrusted string, to its end or `length`. Each byte that
 * belongs to no visible character becomes a question mark. `to` may be `from`. */
void ftc_text_clean(char *to, size_t size, const char *from, size_t length);

#endif
