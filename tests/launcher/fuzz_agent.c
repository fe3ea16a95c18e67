/* Fuzzes what an agent reads from another agent. A message that it accepts must name ranks and
 * causes that exist. */
#include <stdlib.h>
#include <string.h>

#include "launcher/agent/wire.h"
#include "launcher/counters.h"

#define RANKS 70

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct ftc_agent_message *message)
{
    struct ftc_counters counters;

    if (message->rank >= RANKS &&
        (ftc_agent_is_news(message->kind) || message->kind == FTC_AGENT_ACCUSED))
        abort();
    if (message->kind == FTC_AGENT_FAILED && message->cause >= FTC_CAUSES)
        abort();
    if (message->kind == FTC_AGENT_ENDED)
        (void)ftc_counters_unpack(&counters, message->bytes, message->size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ftc_agent_message message;
    struct ftc_buffer *buffer = ftc_buffer_new(size);

    if (buffer == NULL)
        return 0;
    memcpy(buffer->data, data, size);
    if (ftc_agent_decode(&message, buffer, RANKS) == 0)
        check(&message);
    ftc_buffer_unref(buffer);
    return 0;
}
