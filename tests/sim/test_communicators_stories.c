/*
 * Stories of communicators (docs/design/communicators.md). A few processes, channels that are
 * emptied by hand, and deaths one by one.
 */
#include <string.h>

#include "include/ftcoll.h"
#include "sim/communicators/engine.h"
#include "sim/model/cluster.h"
#include "tests/suite.h"

#define N    4
#define MOST 400

struct packet {
    int from, to;
    struct ftc_buffer *bytes;
};

/* What a process has got so far. */
struct process {
    struct ftc_comms_engine *engine;
    struct ftc_communicator *child; /* of the last creation that ended */
    int created, delivered, revoked;
    uint64_t opening; /* the child whose memory is to be opened; 0: none */
    bool dead, shuts; /* shuts: its memory is not opened by itself */
};

static struct process process[N];
static struct packet packet[MOST];
static int packets, ranks;

static void send(int from, int to, const struct ftc_output *is)
{
    size_t size = is->value.buffer != NULL ? is->value.size : 0;
    struct ftc_buffer *bytes = ftc_value_new_message(is->head->size, size);

    memcpy(bytes->data, is->head->data, is->head->size);
    if (size > 0)
        memcpy(bytes->data + ftc_value_offset(is->head->size), ftc_value_bytes(&is->value), size);
    ck_assert_int_lt(packets, MOST);
    packet[packets++] = (struct packet){from, to, bytes};
}

/* Carries out the outputs of a process. */
static void outputs(int rank)
{
    const struct ftc_comms_output *output;
    struct process *p = &process[rank];
    int rc;

    while ((rc = ftc_comms_engine_next_output(p->engine, &output)) == 1) {
        ck_assert_int_ne(output->kind, FTC_COMMS_MISMATCH);
        if (output->kind == FTC_COMMS_MEMBER && output->is.kind == FTC_OUTPUT_SEND)
            send(rank, output->is.to, &output->is);
        if (output->kind == FTC_COMMS_CREATED) {
            p->child = output->child;
            p->created++;
        }
        p->delivered += output->kind == FTC_COMMS_DELIVERED;
        p->revoked += output->kind == FTC_COMMS_CUT_OFF;
        if (output->kind == FTC_COMMS_OPEN)
            p->opening = output->number;
    }
    ck_assert_int_eq(rc, 0);
    if (p->opening == 0 || p->shuts)
        return;
    uint64_t number = p->opening;
    p->opening = 0;
    ck_assert_int_eq(ftc_communicators_opened(ftc_comms_engine_set(p->engine), number, true),
                     FTC_SUCCESS);
    outputs(rank);
}

static void begin(int n)
{
    struct ftc_member_settings settings = ftc_cluster_settings(n, 1);

    settings.communicator = FTC_COMMUNICATOR_WORLD;
    settings.direct = n;
    ranks = n;
    packets = 0;
    for (int rank = 0; rank < n; rank++) {
        process[rank] = (struct process){0};
        settings.self = rank;
        ck_assert_int_eq(ftc_comms_engine_new(&process[rank].engine, &settings), FTC_SUCCESS);
    }
}

static void end(void)
{
    for (int i = 0; i < packets; i++)
        ftc_buffer_unref(packet[i].bytes);
    for (int rank = 0; rank < ranks; rank++)
        ftc_comms_engine_free(process[rank].engine);
}

/* Delivers the first message that is on its way from `from` to `to` (-1: any). */
static bool deliver(int from, int to)
{
    int i = 0;

    while (i < packets && ((from >= 0 && packet[i].from != from) ||
                           (to >= 0 && packet[i].to != to) || process[packet[i].to].dead))
        i++;
    if (i == packets)
        return false;
    struct packet taken = packet[i];
    memmove(&packet[i], &packet[i + 1], (size_t)(--packets - i) * sizeof(packet[0]));
    ck_assert_int_eq(ftc_comms_engine_receive(process[taken.to].engine, taken.from, taken.bytes),
                     FTC_SUCCESS);
    ftc_buffer_unref(taken.bytes);
    outputs(taken.to);
    return true;
}

static void deliver_all(void)
{
    while (deliver(-1, -1))
        ;
}

/* The process stops, and what it has sent is lost. */
static void dies(int rank)
{
    int kept = 0;

    process[rank].dead = true;
    for (int i = 0; i < packets; i++)
        if (packet[i].from == rank)
            ftc_buffer_unref(packet[i].bytes);
        else
            packet[kept++] = packet[i];
    packets = kept;
}

static void hears(int rank, int dead)
{
    ck_assert_int_eq(ftc_comms_engine_notice(process[rank].engine, dead), FTC_SUCCESS);
    outputs(rank);
}

static struct ftc_communicators *communicators(int rank)
{
    return ftc_comms_engine_set(process[rank].engine);
}

static struct ftc_communicator *world(int rank)
{
    return ftc_communicators_world(communicators(rank));
}

static void create(int rank, struct ftc_communicator *parent, enum ftc_creation creation, int color)
{
    uint64_t ticket;

    ck_assert_int_eq(ftc_communicator_create(parent, creation, color, 0, 0, &ticket), FTC_SUCCESS);
    outputs(rank);
}

static void operate(int rank, struct ftc_communicator *c, enum ftc_call_kind kind)
{
    const struct ftc_call call = {.signature = {.kind = (uint8_t)kind, .root = -1}};
    uint64_t ticket;

    ck_assert_int_eq(ftc_communicator_start(c, &call, &ticket), FTC_SUCCESS);
    outputs(rank);
}

static void barrier(int rank, struct ftc_communicator *c)
{
    operate(rank, c, FTC_CALL_BARRIER);
}

static void validate(int rank, struct ftc_communicator *c)
{
    operate(rank, c, FTC_CALL_VALIDATE);
}

static void create_group(int rank, int count, const int list[])
{
    uint64_t ticket;

    ck_assert_int_eq(ftc_communicator_create_group(world(rank), count, list, 7, &ticket),
                     FTC_SUCCESS);
    outputs(rank);
}

static void free_child(int rank)
{
    ck_assert_int_eq(ftc_communicator_free(process[rank].child), FTC_SUCCESS);
    outputs(rank);
}

static bool only_world(int rank)
{
    return ftc_communicators_next(communicators(rank), world(rank)) == NULL &&
           ftc_communicators_early(communicators(rank)) == 0;
}

/* All make a dup of the world. */
static void all_have_a_dup(void)
{
    for (int rank = 0; rank < ranks; rank++)
        create(rank, world(rank), FTC_CREATION_DUP, 0);
    deliver_all();
    for (int rank = 0; rank < ranks; rank++)
        ck_assert_ptr_nonnull(process[rank].child);
}

/* The example of the document: rank 1 dies between the decision and the opening. */
START_TEST(a_grid_of_four_loses_a_creator)
{
    begin(4);
    process[1].shuts = true;
    for (int rank = 0; rank < 4; rank++)
        create(rank, world(rank), FTC_CREATION_SPLIT, rank / 2);
    deliver_all();
    ck_assert_uint_ne(process[1].opening, 0);
    ck_assert_int_eq(process[0].created, 0); /* the opening waits for rank 1 */
    dies(1);
    for (int rank = 0; rank < 4; rank++)
        if (rank != 1)
            hears(rank, 1);
    deliver_all();
    ck_assert_int_eq(ftc_communicator_size(process[0].child), 2);
    ck_assert_int_eq(ftc_communicator_size(process[3].child), 2);
    ck_assert_int_eq(ftc_communicator_self(process[3].child), 1);
    ck_assert_uint_eq(ftc_communicator_name(process[0].child),
                      ftc_communicator_name(process[2].child));
    barrier(0, process[0].child);
    deliver_all();
    ck_assert_int_eq(process[0].delivered, 1);
    ck_assert(
        ftc_set_has(ftc_member_agreed_failed(ftc_comms_engine_member(process[0].child, false)), 1));
    end();
}
END_TEST

/* C7: rank 0 decides the closing and tells rank 1. Rank 1 forgets and tells nobody. Rank 0 dies. */
START_TEST(gone_is_the_answer_of_one_that_has_forgotten)
{
    begin(3);
    all_have_a_dup();
    for (int rank = 0; rank < 3; rank++)
        free_child(rank);
    ck_assert(deliver(1, 0) && deliver(2, 0) && deliver(0, 1));
    ck_assert(only_world(0) && only_world(1) && !only_world(2));
    dies(0);
    hears(2, 0); /* pokes rank 1 */
    hears(1, 0);
    ck_assert(deliver(2, 1));
    ck_assert(deliver(1, 2));
    ck_assert(only_world(2));
    ck_assert_uint_eq(
        ftc_communicators_events(communicators(2))[FTC_COMMUNICATORS_EVENT_GONE_TAKEN], 1);
    end();
}
END_TEST

/* C5: messages that come before the call are kept. Nothing is left after the last BYE. */
START_TEST(a_group_begins_with_early_messages_and_ends_with_bye)
{
    const int list[] = {2, 0};

    begin(3);
    create_group(0, 2, list);
    deliver_all();
    ck_assert_int_eq(ftc_communicators_early(communicators(2)), 1);
    create_group(2, 2, list);
    ck_assert_int_eq(ftc_communicators_early(communicators(2)), 0);
    deliver_all();
    ck_assert_int_eq(ftc_communicator_self(process[2].child), 0);
    ck_assert_int_eq(ftc_communicator_self(process[0].child), 1);
    free_child(0);
    free_child(2);
    deliver_all();
    ck_assert(only_world(0) && only_world(1) && only_world(2));
    end();
}
END_TEST

/* C5: the sender of early messages dies before they are wanted. */
START_TEST(early_messages_of_the_dead_are_dropped)
{
    const int list[] = {2, 0};

    begin(3);
    create_group(0, 2, list);
    ck_assert(deliver(0, 2));
    dies(0);
    hears(2, 0);
    ck_assert_int_eq(ftc_communicators_early(communicators(2)), 0);
    create_group(2, 2, list);
    deliver_all();
    ck_assert_int_eq(ftc_communicator_size(process[2].child), 1);
    end();
}
END_TEST

/* C8: rank 0 revokes, reaches rank 1 alone, and dies. Rank 2 waits for it in a barrier. */
START_TEST(a_revoke_comes_round_though_its_caller_dies)
{
    begin(3);
    all_have_a_dup();
    barrier(2, process[2].child);
    ck_assert_int_eq(ftc_communicator_revoke(process[0].child), FTC_SUCCESS);
    outputs(0);
    ck_assert(deliver(0, 1));
    dies(0);
    deliver_all();
    ck_assert_int_eq(process[2].revoked, 1);
    barrier(1, process[1].child); /* its caller learns of it by this call */
    ck_assert_int_eq(process[1].revoked, 1);
    for (int rank = 1; rank < 3; rank++) {
        hears(rank, 0);
        create(rank, process[rank].child, FTC_CREATION_SHRINK, 0);
    }
    deliver_all();
    ck_assert_int_eq(ftc_communicator_size(process[1].child), 2);
    ck_assert_int_eq(ftc_communicator_job_rank(process[1].child, 0), 1);
    end();
}
END_TEST

/* C9: the decision names the union of all L. Rank 1 knows that rank 2 has failed after it had taken
 * part, and the coordinator does not. */
START_TEST(an_agreement_names_what_any_member_knows)
{
    begin(3);
    all_have_a_dup();
    ck_assert_int_eq(ftc_communicator_revoke(process[0].child), FTC_SUCCESS);
    outputs(0);
    deliver_all();
    for (int rank = 1; rank < 3; rank++)
        barrier(rank, process[rank].child); /* its caller learns of the revoke by this call */
    validate(2, process[2].child);
    ck_assert(deliver(2, 0));
    dies(2);
    hears(1, 2);
    validate(0, process[0].child);
    validate(1, process[1].child);
    deliver_all();
    for (int rank = 0; rank < 2; rank++) {
        const struct ftc_member *member = ftc_comms_engine_member(process[rank].child, true);
        ck_assert_int_eq(process[rank].delivered, 1);
        ck_assert(ftc_set_has(ftc_member_agreed_failed(member), 2));
    }
    end();
}
END_TEST

/* C9: rank 2 has freed the communicator, and takes part in the shrink of the others. */
START_TEST(one_that_has_freed_holds_nobody_up)
{
    begin(3);
    all_have_a_dup();
    free_child(2);
    ck_assert_int_eq(ftc_communicator_revoke(process[0].child), FTC_SUCCESS);
    outputs(0);
    deliver_all();
    barrier(1, process[1].child);
    for (int rank = 0; rank < 2; rank++) {
        struct ftc_communicator *parent = process[rank].child;
        create(rank, parent, FTC_CREATION_SHRINK, 0);
        ck_assert_int_eq(ftc_communicator_free(parent), FTC_SUCCESS);
        outputs(rank);
    }
    deliver_all();
    ck_assert_int_eq(ftc_communicator_size(process[0].child), 2);
    ck_assert(only_world(2));
    end();
}
END_TEST

/* C8: rank 1 returns the child. Rank 2 is cut off in the opening, and revokes the child. */
START_TEST(a_child_whose_opening_is_cut_off_is_revoked)
{
    begin(3);
    for (int rank = 0; rank < 3; rank++)
        create(rank, world(rank), FTC_CREATION_DUP, 0);
    while (process[0].created == 0)
        ck_assert(deliver(-1, 0) || deliver(0, 1) || deliver(0, 2));
    barrier(0, process[0].child);
    ck_assert_int_eq(process[2].created, 0);
    ck_assert_int_eq(ftc_communicator_revoke(world(1)), FTC_SUCCESS);
    outputs(1);
    while (deliver(1, 2)) /* REVOKE overtakes the decision of rank 0 */
        ;
    ck_assert_int_eq(process[2].revoked, 1);
    deliver_all();
    ck_assert_int_eq(process[0].revoked, 1);
    ck_assert_int_eq(process[0].delivered, 0);
    end();
}
END_TEST

/* C9: rank 2 never had the child, says so and dies. Rank 1 has abandoned it, and forgets it. Rank 0
 * delivers its opening in between. */
START_TEST(one_that_has_forgotten_a_child_is_failed_in_the_child_alone)
{
    begin(3);
    for (int rank = 0; rank < 3; rank++)
        create(rank, world(rank), FTC_CREATION_DUP, 0);
    ck_assert(deliver(1, 0) && deliver(2, 0) && deliver(0, 1));
    ck_assert(deliver(1, 0)); /* what rank 1 gives to the opening */
    ck_assert_int_eq(ftc_communicator_revoke(world(2)), FTC_SUCCESS);
    outputs(2);
    while (deliver(2, 1) || deliver(1, 2))
        ;
    ck_assert_int_eq(process[1].revoked, 1);
    dies(2);
    hears(1, 2);
    hears(0, 2);
    ck_assert_ptr_nonnull(process[0].child);
    struct ftc_communicator *child = process[0].child;
    deliver_all();
    barrier(0, child); /* its caller learns of the revoke by this call */
    create(0, child, FTC_CREATION_SHRINK, 0);
    deliver_all();
    ck_assert_ptr_ne(process[0].child, child);
    ck_assert_int_eq(ftc_communicator_size(process[0].child), 1);
    barrier(0, world(0));
    for (int rank = 0; rank < 2; rank++)
        create(rank, world(rank), FTC_CREATION_SHRINK, 0);
    deliver_all();
    ck_assert_int_eq(ftc_communicator_size(process[0].child), 2);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stories of communicators");
    TCase *tcase = tcase_create("stories");

    tcase_add_test(tcase, a_grid_of_four_loses_a_creator);
    tcase_add_test(tcase, gone_is_the_answer_of_one_that_has_forgotten);
    tcase_add_test(tcase, a_group_begins_with_early_messages_and_ends_with_bye);
    tcase_add_test(tcase, early_messages_of_the_dead_are_dropped);
    tcase_add_test(tcase, a_revoke_comes_round_though_its_caller_dies);
    tcase_add_test(tcase, an_agreement_names_what_any_member_knows);
    tcase_add_test(tcase, one_that_has_freed_holds_nobody_up);
    tcase_add_test(tcase, a_child_whose_opening_is_cut_off_is_revoked);
    tcase_add_test(tcase, one_that_has_forgotten_a_child_is_failed_in_the_child_alone);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
