/* Which characters of a text are visible. */
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The length of the UTF-8 sequence that begins with this byte. 0: none does. */
static size_t sequence_length(unsigned char first)
{
    if (first >= 0xf0)
        return first < 0xf5 ? 4 : 0;
    if (first >= 0xe0)
        return 3;
    return first >= 0xc2 ? 2 : 0;
}

size_t ftc_text_visible(const char *text, size_t left)
{
    static const uint32_t least[] = {0, 0, 0xa0, 0x800,
                                     0x10000}; /* by length; below 0xa0 are the C1 controls */
    const unsigned char *s = (const unsigned char *)text;

    if (left > 0 && s[0] >= 0x20 && s[0] < 0x7f)
        return 1;
    size_t length = left > 0 ? sequence_length(s[0]) : 0;
    if (length == 0 || length > left)
        return 0;
    uint32_t point = s[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (s[i] & 0x3f);
    }
    bool surrogate = point >= 0xd800 && point < 0xe000;
    return point < least[length] || point > 0x10ffff || surrogate ? 0 : length;
}

void ftc_text_clean(char *to, size_t size, const char *from, size_t length)
{
    size_t used = 0;

    for (size_t i = 0; i < length && from[i] != '\0';) {
        size_t step = ftc_text_visible(from + i, length - i);
        size_t bytes = step > 0 ? step : 1;
        if (used + bytes >= size)
            break;
        memmove(to + used, step > 0 ? from + i : "?", bytes);
        used += bytes;
        i += bytes;
    }
    to[used] = '\0';
}
