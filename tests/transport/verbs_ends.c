#include "verbs_ends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "transport/verbs/device.h"

bool verbs_possible(void)
{
    struct ftc_verbs_device device;
    if (ftc_verbs_device_open(&device, verbs_interface(0)) != 0) {
        printf("skipped: %s\n", ftc_last_error());
        return false;
    }
    ftc_verbs_device_close(&device);
    return true;
}

const char *verbs_interface(int rank)
{
    static char one[64];
    const char *list = getenv("FTC_TEST_INTERFACES");
    if (list == NULL || list[0] == '\0')
        return NULL;
    int count = 1;
    for (const char *at = list; *at != '\0'; at++)
        count += *at == ',';
    for (rank %= count; rank > 0; rank--)
        list = strchr(list, ',') + 1;
    snprintf(one, sizeof(one), "%.*s", (int)strcspn(list, ","), list);
    return one;
}

struct ftc_verbs_setup verbs_usual(int rank)
{
    return (struct ftc_verbs_setup){.job = "1234.1",
                                    .secret =
                                        (const unsigned char *)"a secret of 32 bytes, or nearly.",
                                    .secret_size = 32,
                                    .interface = verbs_interface(rank)};
}
