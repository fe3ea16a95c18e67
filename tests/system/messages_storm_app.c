/*
 * The program of the storm of messages. All ranks run one drawn program: steps in which they send
 * each other messages of many sizes, agree, copy the communicator and revoke copies. How a rank
 * receives, starts, waits and cancels, it draws for itself. It checks what it gets, and writes a
 * record of each step; the driver compares the survivors' records.
 *
 *   messages_storm_app SEED STEPS DIRECTORY [RANK:STEP:HOW ...]
 *
 * The orders are those of storm_death.h; a rank dies in the step, not before it.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ftcoll.h"
#include "tests/system/message_record.h"
#include "tests/system/messages_storm_step.h"
#include "tests/system/record.h"
#include "tests/system/storm_death.h"

#define TRANSFERS (4 * STEP_MOST) /* a message to oneself is two, and may be received again */
#define UNTOUCHED 0xee
#define MARGIN    8 /* bytes behind a buffer that must stay as they are */

/* A send, or a receive: what it asks for. */
struct transfer {
    const struct message *message; /* of a send; of a receive, the one that it is meant for */
    bool receives, ended, cancelled;
    int from, tag;
    size_t room;
    unsigned char *buffer;
    ftc_status status;
};

struct app {
    ftc_comm *world, *comm, *copy; /* comm: that of this step; copy: that of most steps */
    ftc_comm *quiet;               /* nobody receives in it */
    uint64_t seed, salt;
    int rank, size, number;
    bool revokes, sealed, any_rank, any_tag, truncates, cancels; /* this step */
    struct step step;
    struct transfer transfers[TRANSFERS]; /* in the order of their start */
    ftc_request *requests[TRANSFERS];     /* theirs; NULL: it has ended */
    int count, turns;
    int received[64][STEP_TAGS]; /* from each rank, in this step */
    uint64_t dead;               /* ranks that this one knows to have failed */
    struct message_record *record;
};

static _Noreturn void wrong(const struct app *app, const char *what, int value)
{
    fprintf(stderr, "messages_storm: rank %d, step %d: %s: %d (%s)\n", app->rank, app->number, what,
            value, ftc_last_error());
    exit(99);
}

static void must(const struct app *app, const char *what, int rc)
{
    if (rc != FTC_SUCCESS && !(rc == FTC_ERR_REVOKED && app->revokes))
        wrong(app, what, rc);
}

/* What all ranks draw, and what this rank alone draws. */
static uint64_t draw(const struct app *app, uint64_t what, uint64_t below)
{
    return record_draw(app->salt, what) % below;
}

static uint64_t draw_own(const struct app *app, uint64_t what, uint64_t below)
{
    return draw(app, what * 64 + (uint64_t)app->rank + 5000, below);
}

static void blame(struct app *app, int rank)
{
    app->record->blamed |= 1ull << rank;
}

/* --- failures --- */

static void look_for_dead(struct app *app, bool recognize)
{
    ftc_rank_info infos[64];
    int count = 0, fresh[64], recognized = 0;

    must(app, "validate_local", ftc_validate_local(app->comm, &count));
    must(app, "get_state_local",
         ftc_get_state_local(app->comm, FTC_RANK_FAILED | FTC_RANK_NULL, 64, &count, infos));
    for (int i = 0; i < count; i++) {
        app->dead |= 1ull << infos[i].rank;
        if (infos[i].state == FTC_RANK_FAILED)
            fresh[recognized++] = infos[i].rank;
    }
    if (recognized > 0 && recognize)
        must(app, "recognize", ftc_recognize(app->comm, recognized, fresh));
}

/* Has all come that ranks alive have sent here with this tag? Then nothing more need come. */
static bool has_enough(const struct app *app, int tag)
{
    int expected[64][STEP_TAGS] = {{0}};

    for (int i = 0; i < app->step.count; i++) {
        const struct message *message = &app->step.messages[i];
        if (message->to == app->rank && (tag == FTC_ANY_TAG || tag == message->tag))
            expected[message->from][message->tag % STEP_TAGS]++;
    }
    for (int rank = 0; rank < app->size; rank++)
        for (int i = 0; i < STEP_TAGS; i++)
            if (!(app->dead >> rank & 1) && app->received[rank][i] < expected[rank][i])
                return false;
    return true;
}

/* --- transfers --- */

static struct transfer *new_transfer(struct app *app, const struct message *message, bool receives)
{
    struct transfer *transfer = &app->transfers[app->count];

    if (app->count == TRANSFERS)
        wrong(app, "too many transfers", app->count);
    app->requests[app->count++] = NULL;
    *transfer = (struct transfer){.message = message,
                                  .receives = receives,
                                  .from = app->any_rank ? FTC_ANY_RANK : message->from,
                                  .tag = app->any_tag ? FTC_ANY_TAG : message->tag,
                                  .room = receives ? app->step.largest : message->bytes};
    if (receives && app->truncates)
        transfer->room = message->bytes / 2;
    transfer->buffer = malloc(transfer->room + MARGIN);
    if (transfer->buffer == NULL)
        wrong(app, "no memory", 0);
    memset(transfer->buffer + transfer->room, UNTOUCHED, MARGIN);
    if (!receives)
        step_fill(message, transfer->buffer, message->bytes);
    return transfer;
}

static void start(struct app *app, const struct message *message, bool receives)
{
    struct transfer *transfer = new_transfer(app, message, receives);
    ftc_request **request = &app->requests[app->count - 1];

    if (receives)
        must(app, "irecv",
             ftc_irecv(transfer->buffer, transfer->room, FTC_UINT8, transfer->from, transfer->tag,
                       app->comm, request));
    else
        must(app, "isend",
             ftc_isend(transfer->buffer, message->bytes, FTC_UINT8, message->to, message->tag,
                       app->comm, request));
    if (*request == NULL) /* refused, since the communicator is revoked */
        transfer->ended = true, transfer->status.error = FTC_ERR_REVOKED;
}

static bool is_allowed(const struct app *app, const struct transfer *transfer, int error)
{
    return error == FTC_SUCCESS || error == FTC_ERR_RANK_FAILED ||
           (error == FTC_ERR_TRUNCATED && transfer->receives && app->truncates) ||
           (error == FTC_ERR_CANCELLED && transfer->cancelled) ||
           (error == FTC_ERR_REVOKED && app->revokes);
}

/* A transfer has ended with this status. */
static void note(struct app *app, struct transfer *transfer, const ftc_status *status)
{
    int error = status->error;

    transfer->ended = true;
    transfer->status = *status;
    if (!is_allowed(app, transfer, error))
        wrong(app, transfer->receives ? "a receive has ended" : "a send has ended", error);
    if (error == FTC_ERR_RANK_FAILED && transfer->receives && transfer->from == FTC_ANY_RANK)
        app->record->interrupted++;
    else if (error == FTC_ERR_RANK_FAILED)
        blame(app, transfer->receives ? transfer->from : transfer->message->to);
    if (!transfer->receives || (error != FTC_SUCCESS && error != FTC_ERR_TRUNCATED))
        return;
    if (status->rank < 0 || status->rank >= app->size)
        wrong(app, "a message has come from rank", status->rank);
    app->received[status->rank][status->tag % STEP_TAGS]++;
    app->record->received++;
}

/* --- waiting --- */

static int next_under_way(const struct app *app, int from)
{
    for (int i = 0; i < app->count; i++)
        if (app->requests[(from + i) % app->count] != NULL)
            return (from + i) % app->count;
    return -1;
}

/* Wait for some transfers in some way. Returns what the call returned. A receive from any rank may
 * be one that nobody serves, because of a failure that interrupts no more: then others must be able
 * to end the call. */
static int wait_somehow(struct app *app, ftc_status statuses[])
{
    uint64_t dice = draw_own(app, 20 + (uint64_t)app->turns++, 1u << 20);
    int one = next_under_way(app, (int)(dice / 6 % (uint64_t)app->count)), done, rc = FTC_SUCCESS;
    ftc_status status = {.error = FTC_SUCCESS};

    switch (app->any_rank && app->dead != 0 ? 3 + dice % 3 : dice % 6) {
    case 0:
    case 1:
        return ftc_wait_all(app->count, app->requests, statuses);
    case 3:
        rc = ftc_wait_any(app->count, app->requests, &one, &status);
        break;
    case 2:
        rc = ftc_wait(&app->requests[one], &status);
        break;
    case 4:
        rc = ftc_wait_for(&app->requests[one], 0.0005, &status);
        break;
    default:
        rc = ftc_test(&app->requests[one], &done, &status);
        sched_yield();
    }
    statuses[one] = status;
    return rc == FTC_ERR_TIMEOUT && app->requests[one] != NULL ? FTC_SUCCESS : rc;
}

static void cancel(struct app *app, int i)
{
    if (app->requests[i] == NULL || !app->transfers[i].receives)
        return;
    must(app, "cancel", ftc_cancel(app->requests[i]));
    app->transfers[i].cancelled = true;
}

/* A message whose receive was cancelled is for another one, which is started at once: its sender
 * may wait for it. */
static void cancel_and_receive(struct app *app, int i)
{
    ftc_status status = {.error = FTC_SUCCESS};

    if (app->requests[i] == NULL || !app->transfers[i].receives)
        return;
    cancel(app, i);
    while (app->requests[i] != NULL)
        (void)ftc_wait(&app->requests[i], &status);
    note(app, &app->transfers[i], &status);
    if (status.error == FTC_ERR_CANCELLED)
        start(app, app->transfers[i].message, true);
}

/* The wait for a cancelled send ends by itself. It is cancelled, unless its receiver has failed. */
static void cancel_send(struct app *app)
{
    static const unsigned char bytes[1 << 18];
    int to = (int)draw_own(app, 11, (uint64_t)app->size);
    size_t size = (size_t)1 << draw_own(app, 12, 19);
    ftc_request *request = NULL;

    must(app, "send to be cancelled",
         (draw_own(app, 13, 3) == 0 ? ftc_issend : ftc_isend)(bytes, size, FTC_UINT8, to, 0,
                                                              app->quiet, &request));
    must(app, "cancel", ftc_cancel(request));
    int rc = ftc_wait(&request, NULL);
    if (rc != FTC_ERR_CANCELLED && rc != FTC_ERR_RANK_FAILED && rc != FTC_SUCCESS)
        wrong(app, "a cancelled send ends otherwise", rc);
    if (rc != FTC_ERR_CANCELLED)
        blame(app, to);
}

static void take_ended(struct app *app, const bool waited[], const ftc_status statuses[])
{
    for (int i = 0; i < app->count; i++)
        if (waited[i] && app->requests[i] == NULL)
            note(app, &app->transfers[i], &statuses[i]);
}

static void wait_for_all(struct app *app)
{
    static ftc_status statuses[TRANSFERS];
    bool waited[TRANSFERS];

    while (app->count > 0 && next_under_way(app, 0) >= 0) {
        look_for_dead(app, draw_own(app, 1, 3) == 0);
        for (int i = 0; app->any_rank && has_enough(app, FTC_ANY_TAG) && i < app->count; i++)
            cancel(app, i);
        for (int i = 0; i < app->count; i++)
            waited[i] = app->requests[i] != NULL;
        int rc = wait_somehow(app, statuses), left = 0;
        for (int i = 0; i < app->count; i++)
            left += waited[i] && app->requests[i] != NULL;
        if (rc == FTC_ERR_RANK_FAILED && left > 0)
            app->record->interrupted++;
        else if (rc == FTC_ERR_STATE || rc == FTC_ERR_ARG)
            wrong(app, "a wait was refused", rc);
        take_ended(app, waited, statuses);
    }
}

/* --- one after the other --- */

/* Returns what a probe has returned, or success where there is none. */
static int probe(struct app *app, const struct transfer *transfer, ftc_status *status)
{
    if (draw_own(app, 400 + (uint64_t)app->count, 3) > 0)
        return FTC_SUCCESS;
    return ftc_probe(transfer->from, transfer->tag, app->comm, status);
}

static void receive_now(struct app *app, const struct message *message)
{
    struct transfer *transfer = new_transfer(app, message, true);
    ftc_status status = {.error = FTC_SUCCESS};

    while (!app->any_rank || !has_enough(app, transfer->tag)) {
        int rc = probe(app, transfer, &status);
        if (rc == FTC_SUCCESS)
            rc = ftc_recv(transfer->buffer, transfer->room, FTC_UINT8, transfer->from,
                          transfer->tag, app->comm, &status);
        status.error = rc;
        if (rc != FTC_ERR_RANK_FAILED || !app->any_rank) {
            note(app, transfer, &status);
            return;
        }
        app->record->interrupted++;
        look_for_dead(app, true); /* or it would interrupt the next receive, too */
    }
    transfer->status.error = FTC_ERR_RANK_FAILED; /* it never comes */
}

static void send_now(struct app *app, const struct message *message)
{
    struct transfer *transfer = new_transfer(app, message, false);
    ftc_status status = {.rank = -1};

    status.error =
        ftc_send(transfer->buffer, message->bytes, FTC_UINT8, message->to, message->tag, app->comm);
    note(app, transfer, &status);
}

/* In the order that all ranks have, so that no two wait for each other. */
static void one_by_one(struct app *app)
{
    for (int i = 0; i < app->step.count; i++) {
        const struct message *message = &app->step.messages[i];
        if (message->to == app->rank)
            receive_now(app, message);
        else if (message->from == app->rank)
            send_now(app, message);
    }
}

static void start_all(struct app *app, bool sends, bool receives)
{
    for (int i = 0; i < app->step.count; i++) {
        const struct message *message = &app->step.messages[i];
        if (receives && message->to == app->rank)
            start(app, message, true);
        if (sends && message->from == app->rank)
            start(app, message, false);
        if (draw_own(app, 500 + (uint64_t)i, 40) == 0)
            usleep((useconds_t)draw_own(app, 700, 500));
    }
}

static void all_together(struct app *app)
{
    uint64_t order = draw_own(app, 5, 3);

    if (order != 2)
        start_all(app, order == 0, order == 1);
    start_all(app, order != 0, order != 1);
    if (app->revokes && draw(app, 6, (uint64_t)app->size) == (uint64_t)app->rank)
        must(app, "revoke", ftc_comm_revoke(app->comm));
    int count = app->count;
    for (int i = 0; app->cancels && i < count; i++)
        if (draw_own(app, 800 + (uint64_t)i, 4) == 0)
            cancel_and_receive(app, i);
    if (app->cancels)
        cancel_send(app);
    wait_for_all(app);
}

/* --- checking --- */

/* Returns the first message from `at` on that this receive may have taken; -1: none. */
static int find(const struct app *app, const struct transfer *transfer, int at, bool *skipped)
{
    const ftc_status *status = &transfer->status;
    size_t got = status->bytes < transfer->room ? status->bytes : transfer->room;

    *skipped = false;
    for (int i = at; i < app->step.count; i++) {
        const struct message *message = &app->step.messages[i];
        if (message->from != status->rank || message->to != app->rank ||
            (message->tag != status->tag && transfer->tag != FTC_ANY_TAG))
            continue;
        if (message->tag == status->tag && message->bytes == status->bytes &&
            step_matches(message, transfer->buffer, got))
            return i;
        *skipped = true;
    }
    return -1;
}

/* Messages of a rank that fit the same receives come in order, each once. If one was skipped, or
 * an old one has come, its sender has failed. */
static void check_receives(struct app *app)
{
    int next[64][STEP_TAGS] = {{0}};

    for (int i = 0; i < app->count; i++) {
        const struct transfer *transfer = &app->transfers[i];
        const ftc_status *status = &transfer->status;
        bool skipped, good = status->error == FTC_SUCCESS || status->error == FTC_ERR_TRUNCATED;
        if (!transfer->receives || !good)
            continue;
        for (int b = 0; b < MARGIN; b++)
            if (transfer->buffer[transfer->room + (size_t)b] != UNTOUCHED)
                wrong(app, "a receive wrote behind its buffer", i);
        int *from = &next[status->rank][app->any_tag ? 0 : status->tag % STEP_TAGS];
        int found = find(app, transfer, *from, &skipped);
        if (found < 0 && status->tag / STEP_TAGS == app->number)
            wrong(app, "a message is not one that was sent, or not in order, from rank",
                  status->rank);
        if ((found < 0 || skipped) && !app->revokes)
            blame(app, status->rank);
        if (found >= 0)
            *from = found + 1;
    }
}

/* --- steps --- */

static void draw_ways(struct app *app, bool *by_requests)
{
    int sends = 0, receives = 0;

    for (int i = 0; i < app->step.count; i++) {
        sends += app->step.messages[i].from == app->rank;
        receives += app->step.messages[i].to == app->rank;
        /* A rank that sends to itself has to receive at the same time. */
        *by_requests |=
            app->step.messages[i].from == app->rank && app->step.messages[i].to == app->rank;
    }
    uint64_t dice = draw_own(app, 2, 8);
    /* One by one, a receive from any rank must not leave a message to a later one, whose sender
     * cannot go on meanwhile. Nor must a receive of any tag take one of a next step. */
    bool takes_all = sends == 0 && app->sealed;
    app->any_rank = dice % 2 == 0 && (*by_requests || receives == 1 || takes_all);
    app->any_tag = (dice >= 4 && (!app->any_rank || app->sealed)) ||
                   (app->any_rank && !*by_requests && receives > 1);
    app->truncates = !app->any_rank && draw_own(app, 3, 5) == 0;
    app->cancels = *by_requests && !app->truncates && draw_own(app, 4, 3) == 0;
}

static void exchange(struct app *app)
{
    bool by_requests = draw_own(app, 7, 3) > 0 || app->revokes;

    step_draw(&app->step, app->salt, app->number, app->size);
    app->sealed = draw(app, 8, 3) == 0;
    draw_ways(app, &by_requests);
    app->count = app->turns = 0;
    memset(app->received, 0, sizeof(app->received));
    look_for_dead(app, draw_own(app, 1, 3) == 0);
    if (app->sealed)
        must(app, "barrier", ftc_barrier(app->comm));
    if (by_requests)
        all_together(app);
    else
        one_by_one(app);
    check_receives(app);
    if (app->sealed)
        must(app, "barrier", ftc_barrier(app->comm));
    for (int i = 0; i < app->count; i++)
        free(app->transfers[i].buffer);
}

static void agree(struct app *app)
{
    ftc_rank_info infos[64];
    int count = 0;

    must(app, "validate_global", ftc_validate_global(app->comm, &count));
    must(app, "get_state_global",
         ftc_get_state_global(app->comm, FTC_RANK_FAILED | FTC_RANK_NULL, 64, &count, infos));
    for (int i = 0; i < count; i++)
        app->record->failed |= 1ull << infos[i].rank;
    app->record->agreed = 1;
}

static void must_free(struct app *app, ftc_comm *comm)
{
    if (comm != app->world)
        must(app, "free", ftc_comm_free(&comm));
}

static void copy_comm(struct app *app)
{
    ftc_comm *old = app->copy;

    must(app, "dup", ftc_comm_dup(old, &app->copy));
    must_free(app, old);
}

/* One rank revokes a copy while messages are under way in it. */
static void revoke_copy(struct app *app)
{
    must(app, "dup", ftc_comm_dup(app->copy, &app->comm));
    app->revokes = true;
    exchange(app);
    app->revokes = false;
    must_free(app, app->comm);
}

static void maybe_die(const struct app *app, const struct death *death)
{
    if (app->number == death->step)
        death_in(1 + (int)draw_own(app, 9, 1 + draw_own(app, 10, 8000)), death->how);
}

static void take_step(struct app *app, const struct death *death)
{
    app->salt = record_draw(app->seed, (uint64_t)app->number);
    app->comm = app->copy;
    maybe_die(app, death);
    uint64_t dice = draw(app, 0, 100);
    if (dice < 8)
        agree(app);
    else if (dice < 14)
        copy_comm(app);
    else if (dice < 24)
        revoke_copy(app);
    else
        exchange(app);
    app->record->done = 1;
}

static struct message_record *open_records(const char *directory, int rank, int steps)
{
    char path[512];
    size_t size = (size_t)steps * sizeof(struct message_record);

    snprintf(path, sizeof(path), "%s/%d", directory, rank);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *records = fd >= 0 && ftruncate(fd, (off_t)size) == 0
                        ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                        : MAP_FAILED;
    if (records == MAP_FAILED) {
        fprintf(stderr, "messages_storm: cannot make %s\n", path);
        exit(99);
    }
    close(fd);
    return records;
}

int main(int argc, char **argv)
{
    static struct app app;
    struct death death = {.step = -1};

    if (argc < 4)
        return 2;
    if (ftc_init(NULL, &app.world) != FTC_SUCCESS) {
        fprintf(stderr, "messages_storm: %s\n", ftc_last_error());
        return 99;
    }
    app.copy = app.world;
    app.rank = ftc_rank(app.world);
    app.size = ftc_size(app.world);
    app.seed = strtoull(argv[1], NULL, 10);
    must(&app, "dup", ftc_comm_dup(app.world, &app.quiet));
    int steps = atoi(argv[2]);
    struct message_record *records = open_records(argv[3], app.rank, steps);
    for (int i = 4; i < argc; i++)
        death_order(&death, app.rank, argv[i]);
    for (app.number = 0; app.number < steps; app.number++) {
        app.record = &records[app.number];
        take_step(&app, &death);
    }
    must(&app, "barrier", ftc_barrier(app.world)); /* before it, a rank may cancel a send */
    must_free(&app, app.quiet);
    must_free(&app, app.copy);
    if (ftc_finalize(app.world) != FTC_SUCCESS)
        wrong(&app, "finalize", 0);
    return 0;
}
