/* Untrusted text that is shown to people. Only its visible characters may reach their terminal. */
#ifndef FTC_BASE_TEXT_H
#define FTC_BASE_TEXT_H

#include <stddef.h>

/* The length in bytes of the visible character that `s` begins with; `s` has `left` bytes. 0: `s`
 * begins with a control character (U+0080 to U+009F are some, too), or is not UTF-8. */
size_t ftc_text_visible(const char *s, size_t left);

/* Copy an untrusted string, up to its NUL or `length` bytes, into to[size], with a NUL. Each byte
 * that belongs to no visible character becomes a question mark. `to` may be `from`. */
void ftc_text_clean(char *to, size_t size, const char *from, size_t length);

#endif
