/* What all multicast transports share: envelope, judgement of what comes, drill, counters. */
#include "transport/multicast/multicast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "transport/multicast/internal.h"

#define LOOK_MAX 64 /* most datagrams that one receive drops: a flood must not hold the caller */

static int check_setup(const struct ftc_multicast_setup *setup)
{
    if (setup->ranks < 1 || setup->self < 0 || setup->self >= setup->ranks)
        return ftc_error_set(FTC_ERR_ARG, "multicast for rank %d of %d: no such rank", setup->self,
                             setup->ranks);
    if (setup->receives < 0 || setup->receives > FTC_MULTICAST_RECEIVES_MAX)
        return ftc_error_set(FTC_ERR_ARG, "multicast with %d receives: give 1 to %d",
                             setup->receives, FTC_MULTICAST_RECEIVES_MAX);
    return 0;
}

int ftc_multicast_open(struct ftc_multicast **out, const struct ftc_multicast_ops *ops,
                       const struct ftc_multicast_setup *setup)
{
    struct ftc_multicast *multicast;
    struct ftc_multicast_setup given = *setup;
    struct ftc_multicast_drill_state drill;
    int rc = check_setup(setup);
    if (rc == 0)
        rc = ftc_multicast_drill_init(&drill, &setup->drill, (uint32_t)setup->self);
    if (rc != 0)
        return rc;
    if (given.receives == 0)
        given.receives = FTC_MULTICAST_RECEIVES;
    rc = ops->open(&multicast, &given);
    if (rc != 0)
        return ftc_error_wrap(rc, "multicast by %s", ops->name);
    multicast->ops = ops;
    multicast->log = setup->log;
    multicast->ranks = (uint32_t)setup->ranks;
    multicast->self = (uint32_t)setup->self;
    memcpy(multicast->job_key, setup->group.job_key, FTC_JOB_KEY_SIZE);
    multicast->drill = drill;
    multicast->scratch = malloc(multicast->datagram_max);
    if (multicast->scratch == NULL) {
        ftc_multicast_close(multicast);
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for multicast");
    }
    *out = multicast;
    return 0;
}

void ftc_multicast_close(struct ftc_multicast *multicast)
{
    if (multicast == NULL)
        return;
    ftc_multicast_drill_fini(&multicast->drill);
    free(multicast->scratch);
    multicast->ops->close(multicast);
}

size_t ftc_multicast_payload_max(const struct ftc_multicast *multicast)
{
    return multicast->datagram_max - FTC_DATAGRAM_HEAD;
}

/* --- out --- */

static void count_sent(struct ftc_multicast *multicast, bool sent)
{
    if (sent) {
        multicast->counters.sent++;
        return;
    }
    multicast->counters.send_failed++;
    if (!multicast->told)
        FTC_LOG(multicast->log, FTC_LOG_DEBUG,
                "multicast by %s: a datagram could not be sent (%m), the first",
                multicast->ops->name);
    multicast->told = true;
}

void ftc_multicast_send(struct ftc_multicast *multicast, const struct ftc_datagram *fields,
                        const struct iovec *pieces, int count)
{
    unsigned char head[FTC_DATAGRAM_HEAD];
    struct iovec all[1 + FTC_MULTICAST_PIECES] = {{head, sizeof(head)}};
    struct ftc_datagram sent = *fields;
    size_t size = 0;
    assert(count >= 1 && count <= FTC_MULTICAST_PIECES);
    for (int i = 0; i < count; i++) {
        all[1 + i] = pieces[i];
        size += pieces[i].iov_len;
    }
    assert(size <= ftc_multicast_payload_max(multicast));
    (void)size; /* used only by assert() */
    sent.source = multicast->self;
    ftc_datagram_encode(head, &sent, multicast->job_key, pieces, count);
    count_sent(multicast, multicast->ops->push(multicast, all, 1 + count));
}

/* --- in --- */

static void count_foreign(struct ftc_multicast *multicast)
{
    multicast->counters.foreign++;
    if (!multicast->told_foreign)
        FTC_LOG(
            multicast->log, FTC_LOG_INFO,
            "multicast by %s: datagrams of another job, or of no job, come to this group; they are "
            "dropped. A job that is started again draws another group",
            multicast->ops->name);
    multicast->told_foreign = true;
}

/* Judge the datagram in scratch. True: it is sound and of another rank. False: it was counted. */
static bool judge(struct ftc_multicast *multicast, size_t size, struct ftc_datagram *fields,
                  struct iovec *payload)
{
    struct ftc_multicast_counters *counters = &multicast->counters;
    enum ftc_datagram_verdict verdict =
        ftc_datagram_decode(fields, payload, multicast->scratch, size, multicast->job_key);
    if (verdict == FTC_DATAGRAM_FOREIGN)
        count_foreign(multicast);
    else if (verdict == FTC_DATAGRAM_CORRUPT || fields->source >= multicast->ranks)
        counters->corrupt++;
    else if (fields->source == multicast->self)
        counters->own++;
    else
        return true;
    return false;
}

/* Do the drill on the bytes of a sound datagram. False: nothing is left of it. */
static bool survives_drill(struct ftc_multicast *multicast, size_t size,
                           struct ftc_datagram *fields, struct iovec *payload)
{
    unsigned char *bytes = multicast->scratch, *key = bytes + FTC_DATAGRAM_KEY;
    if (ftc_multicast_drill_loss(&multicast->drill))
        return false;
    if (ftc_multicast_drill_foreign(&multicast->drill)) {
        *key ^= 0xff;
        judge(multicast, size, fields, payload);
        *key ^= 0xff;
    }
    if (!ftc_multicast_drill_corrupt(&multicast->drill, bytes, size))
        return true;
    return judge(multicast, size, fields, payload);
}

/* Give a datagram that was pulled to the drill, or drop it. The drill hands it on. */
static int accept_datagram(struct ftc_multicast *multicast, size_t size)
{
    struct ftc_datagram fields;
    struct iovec payload;
    if (!judge(multicast, size, &fields, &payload) ||
        !survives_drill(multicast, size, &fields, &payload))
        return 0;
    struct ftc_buffer *buffer = ftc_buffer_new(payload.iov_len);
    if (buffer == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for a datagram from rank %u",
                             fields.source);
    memcpy(buffer->data, payload.iov_base, payload.iov_len);
    ftc_multicast_drill_put(&multicast->drill, &fields, buffer);
    return 0;
}

int ftc_multicast_receive(struct ftc_multicast *multicast, struct ftc_datagram *fields,
                          struct ftc_buffer **payload)
{
    bool idle = false;
    for (int looked = 0; !ftc_multicast_drill_take(&multicast->drill, idle, fields, payload);
         looked++) {
        size_t size;
        if (idle || looked == LOOK_MAX)
            return 0;
        int rc = multicast->ops->pull(multicast, multicast->scratch, &size);
        if (rc == 1)
            rc = accept_datagram(multicast, size);
        else
            idle = rc == 0;
        if (rc < 0)
            return rc;
    }
    multicast->counters.received++;
    return 1;
}

/* --- waiting --- */

int ftc_multicast_fd(const struct ftc_multicast *multicast)
{
    return multicast->ops->fd(multicast);
}

int ftc_multicast_arm(struct ftc_multicast *multicast)
{
    return multicast->ops->arm(multicast);
}

bool ftc_multicast_ready(struct ftc_multicast *multicast)
{
    return multicast->drill.count > 0 || multicast->ops->ready(multicast);
}

void ftc_multicast_counters(struct ftc_multicast *multicast,
                            struct ftc_multicast_counters *counters)
{
    multicast->ops->count(multicast);
    *counters = multicast->counters;
    counters->drilled = multicast->drill.drilled;
}
