/* The flight recorder in words. */
#include "node/segment/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collectives/communicators/number.h"

#define NAME_WORDS (FTC_COMMUNICATOR_NAME / 8)

const char *ftc_history_kind_name(int kind)
{
    static const char *const names[] = {[FTC_HISTORY_DUP - FTC_CALL_KINDS] = "dup",
                                        [FTC_HISTORY_SPLIT - FTC_CALL_KINDS] = "split",
                                        [FTC_HISTORY_SHRINK - FTC_CALL_KINDS] = "shrink",
                                        [FTC_HISTORY_FREE - FTC_CALL_KINDS] = "free",
                                        [FTC_HISTORY_SEND - FTC_CALL_KINDS] = "send",
                                        [FTC_HISTORY_RECV - FTC_CALL_KINDS] = "recv",
                                        [FTC_HISTORY_SENDRECV - FTC_CALL_KINDS] = "sendrecv",
                                        [FTC_HISTORY_PROBE - FTC_CALL_KINDS] = "probe",
                                        [FTC_HISTORY_WAIT - FTC_CALL_KINDS] = "wait"};

    return kind >= FTC_HISTORY_DUP && kind < FTC_HISTORY_KINDS
               ? names[kind - FTC_CALL_KINDS]
               : ftc_call_kind_name((enum ftc_call_kind)kind);
}

char *ftc_history_what(const struct ftc_history_operation *operation, char text[FTC_HISTORY_CALL])
{
    snprintf(text, FTC_HISTORY_CALL, "%s%s", operation->request >= 0 ? "i" : "",
             ftc_history_kind_name(operation->kind));
    return text;
}

const char *ftc_history_communicator(uint64_t number, char text[24])
{
    uint64_t count = (number & (FTC_COMMUNICATOR_REVOKED - 1)) >> FTC_COMMUNICATOR_MAKER_BITS;
    unsigned maker = number & ((1u << FTC_COMMUNICATOR_MAKER_BITS) - 1);

    if (ftc_communicator_is_temporary(number))
        return "a group";
    if (count == 0 && maker == FTC_COMMUNICATOR_WORLD)
        return "world";
    snprintf(text, 24, "%" PRIu64 ".%u", count, maker);
    return text;
}

void ftc_history_name(const _Atomic uint64_t words[NAME_WORDS], uint64_t number,
                      char text[FTC_COMMUNICATOR_NAME])
{
    uint64_t copy[NAME_WORDS];
    char digits[24];

    for (size_t i = 0; i < NAME_WORDS; i++)
        copy[i] = atomic_load_explicit(&words[i], memory_order_relaxed);
    memcpy(text, copy, FTC_COMMUNICATOR_NAME);
    text[FTC_COMMUNICATOR_NAME - 1] = '\0';
    if (text[0] == '\0')
        snprintf(text, FTC_COMMUNICATOR_NAME, "%s", ftc_history_communicator(number, digits));
    for (char *c = text; *c != '\0'; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

const char *ftc_history_head(void)
{
    return "OPERATION                IN               BYTES ALGORITHM   CALLED AT s  STARTED ms  "
           "DECIDED ms  RETURNED ms  WAITED FOR         RESULT";
}

/* Milliseconds from `from` to `to`, or "-". */
static void span(uint64_t from_ns, uint64_t to_ns, char text[24])
{
    snprintf(text, 24, "-");
    if (to_ns != 0)
        snprintf(text, 24, "%.4f", ((double)to_ns - (double)from_ns) / 1e6);
}

static void words_of_wait(const struct ftc_history_operation *operation, uint64_t now_ns,
                          char text[40])
{
    uint64_t end = operation->returned_ns != 0 ? operation->returned_ns : now_ns;
    bool known = operation->waited_ns != 0 && end >= operation->waited_ns;

    snprintf(text, 40, "-");
    if (operation->waits_for >= 0 && known)
        snprintf(text, 40, "%d, %.3f ms", operation->waits_for,
                 (double)(end - operation->waited_ns) / 1e6);
    else if (operation->waits_for >= 0)
        snprintf(text, 40, "%d", operation->waits_for);
}

static void words_of_result(const struct ftc_history_operation *operation, char text[64])
{
    char under_way[32] = "";

    if (operation->returned < operation->count)
        snprintf(under_way, sizeof(under_way), "%s%s", operation->returned > 0 ? ", then " : "",
                 "under way");
    if (operation->returned == 0)
        snprintf(text, 64, "%s", under_way);
    else if (operation->status != 0)
        snprintf(text, 64, "error %d, %d failed%s", operation->status, operation->failed,
                 under_way);
    else if (operation->failed > 0)
        snprintf(text, 64, "ok, %d failed%s", operation->failed, under_way);
    else
        snprintf(text, 64, "ok%s", under_way);
}

static void words_of_call(const struct ftc_history_operation *operation, char text[80])
{
    char what[FTC_HISTORY_CALL];

    ftc_history_what(operation, what);
    if (operation->number == FTC_HISTORY_UNNUMBERED)
        snprintf(text, 80, "%s", what);
    else if (operation->count > 1)
        snprintf(text, 80, "%s %" PRIu64 "-%" PRIu64, what, operation->number,
                 operation->number + (uint64_t)operation->count - 1);
    else
        snprintf(text, 80, "%s %" PRIu64, what, operation->number);
}

char *ftc_history_line(const struct ftc_history_operation *operation, const char *algorithm,
                       const struct ftc_history_clock *clock, uint64_t origin_ns,
                       char text[FTC_HISTORY_LINE])
{
    char call[80], times[3][24], waited[40], result[64];

    words_of_call(operation, call);
    span(operation->called_ns, operation->started_ns, times[0]);
    span(operation->called_ns, operation->decided_ns, times[1]);
    span(operation->called_ns, operation->returned_ns, times[2]);
    if (operation->returned == operation->count && operation->returned_ns == 0)
        snprintf(times[2], sizeof(times[2]), "soon");
    words_of_wait(operation, clock->now_ns, waited);
    words_of_result(operation, result);
    snprintf(text, FTC_HISTORY_LINE,
             "%-24s %-12s %9" PRIu64 " %-9s %13.6f %11s %11s %12s  %-18s %s", call, operation->name,
             operation->size, algorithm != NULL ? algorithm : "-",
             ((double)operation->called_ns - (double)origin_ns) / 1e9, times[0], times[1], times[2],
             waited, result);
    return text;
}
