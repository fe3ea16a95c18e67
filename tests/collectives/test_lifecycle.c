/*
 * The lifecycle of communicators, with an engine that the tests play by hand
 * (collectives/communicators/communicators.h).
 */
#include <string.h>

#include "base/set.h"
#include "collectives/communicators/communicators.h"
#include "collectives/message.h"
#include "include/ftcoll.h"
#include "tests/suite.h"

static struct ftc_communicators *set;
static struct ftc_communicator *world;

static void begin(int ranks)
{
    ck_assert_int_eq(ftc_communicators_new(&set, ranks, 0), FTC_SUCCESS);
    world = ftc_communicators_world(set);
}

static void end(void)
{
    ck_assert_ptr_null(ftc_communicators_next_output(set));
    ftc_communicators_free(set);
}

/* The next output, which is of this kind. */
static const struct ftc_communicators_output *next(enum ftc_communicators_output_kind kind)
{
    const struct ftc_communicators_output *output = ftc_communicators_next_output(set);

    ck_assert_ptr_nonnull(output);
    ck_assert_int_eq(output->kind, kind);
    return output;
}

/* Takes a CALL of this kind, and delivers the input of this rank as the result. */
static void deliver(enum ftc_call_kind kind, const struct ftc_set *agreed)
{
    const struct ftc_communicators_output *output = next(FTC_COMMUNICATORS_CALL);
    unsigned char result[512];
    size_t size = output->call.signature.size;

    ck_assert_int_eq(output->call.signature.kind, kind);
    ck_assert_uint_le(size, sizeof(result));
    if (size > 0)
        memcpy(result, output->call.input, size);
    struct ftc_communicator_delivery delivery = {
        .status = FTC_SUCCESS, .value = result, .size = size, .failed = agreed, .agreed = agreed};
    ck_assert_int_eq(ftc_communicator_delivered(output->communicator, &delivery), FTC_SUCCESS);
}

static void barrier(uint64_t *ticket)
{
    const struct ftc_call call = {.signature = {.kind = FTC_CALL_BARRIER, .root = -1}};

    ck_assert_int_eq(ftc_communicator_start(world, &call, ticket), FTC_SUCCESS);
}

static void validate(uint64_t *ticket)
{
    const struct ftc_call call = {.signature = {.kind = FTC_CALL_VALIDATE, .root = -1}};

    ck_assert_int_eq(ftc_communicator_start(world, &call, ticket), FTC_SUCCESS);
}

#define GONE   0
#define REVOKE 3

/* Rank 1 says a word. */
static int hear(uint16_t said, uint64_t number)
{
    struct ftc_buffer *word = ftc_buffer_new(FTC_FRAME_HEAD);
    struct ftc_writer writer = {.data = word->data, .size = word->size};

    ftc_frame_write(&writer, FTC_FRAME_COMMUNICATOR, said, number);
    int rc = ftc_communicators_receive(set, 1, word);
    ftc_buffer_unref(word);
    return rc;
}

/* Rank 1 has revoked the world. */
static void hear_revoke(void)
{
    ck_assert_int_eq(hear(REVOKE, FTC_COMMUNICATOR_WORLD), FTC_SUCCESS);
}

/* This rank says a word to another one. */
static void says(uint16_t word, uint64_t number, int to)
{
    const struct ftc_communicators_output *output = next(FTC_COMMUNICATORS_SEND);

    ck_assert_uint_eq(output->number, number);
    ck_assert_int_eq(output->rank, to);
    ck_assert_int_eq(output->message->data[2], word);
}

/* A dup of the world of 3 ranks is in its opening. */
static uint64_t begin_dup(const struct ftc_set *nobody)
{
    uint64_t ticket;

    begin(3);
    ck_assert_int_eq(ftc_communicator_create(world, FTC_CREATION_DUP, 0, 0, 0, &ticket),
                     FTC_SUCCESS);
    deliver(FTC_CALL_CREATE, nobody);
    uint64_t number = next(FTC_COMMUNICATORS_BEGIN)->number;
    ck_assert_int_eq(ftc_communicators_opened(set, number, true), FTC_SUCCESS);
    return number;
}

/* A process that is alone sends no word. */
START_TEST(one_process_makes_a_dup_and_frees_all)
{
    struct ftc_set nobody = {0};
    uint64_t ticket;

    ck_assert_int_eq(ftc_set_init(&nobody, 1), 0);
    begin(1);
    ck_assert_int_eq(ftc_communicator_create(world, FTC_CREATION_DUP, 0, 0, 0, &ticket),
                     FTC_SUCCESS);
    deliver(FTC_CALL_CREATE, &nobody);
    const struct ftc_communicators_output *output = next(FTC_COMMUNICATORS_BEGIN);
    ck_assert_ptr_nonnull(output->agreed);
    struct ftc_communicator *child = output->communicator;
    uint64_t number = output->number;
    ck_assert_ptr_null(ftc_communicators_next_output(set)); /* the opening waits for the memory */
    ck_assert_int_eq(ftc_communicators_opened(set, number, true), FTC_SUCCESS);
    deliver(FTC_CALL_OPEN, &nobody);
    output = next(FTC_COMMUNICATORS_CREATED);
    ck_assert_ptr_eq(output->child, child);
    ck_assert_uint_eq(output->ticket, ticket);
    ck_assert(!ftc_communicator_by_messages(child));
    ck_assert_int_eq(ftc_communicator_free(child), FTC_SUCCESS);
    deliver(FTC_CALL_CLOSE, &nobody);
    ck_assert_uint_eq(next(FTC_COMMUNICATORS_FORGET)->number, number);
    ck_assert_int_eq(ftc_communicator_free(world), FTC_SUCCESS);
    deliver(FTC_CALL_FINALIZE, &nobody);
    next(FTC_COMMUNICATORS_FORGET);
    ck_assert_ptr_null(ftc_communicators_world(set));
    end();
    ftc_set_fini(&nobody);
}
END_TEST

/* C7: a creation of a group is an operation of its parent. */
START_TEST(a_closing_waits_for_the_creation_of_a_group)
{
    const int ranks[] = {0};
    struct ftc_set nobody = {0};
    uint64_t ticket;

    ck_assert_int_eq(ftc_set_init(&nobody, 1), 0);
    begin(1);
    ck_assert_int_eq(ftc_communicator_create_group(world, 1, ranks, 5, &ticket), FTC_SUCCESS);
    ck_assert_int_eq(ftc_communicator_free(world), FTC_SUCCESS);
    next(FTC_COMMUNICATORS_BEGIN);
    deliver(FTC_CALL_CREATE, &nobody);
    uint64_t number = next(FTC_COMMUNICATORS_BEGIN)->number;
    ck_assert_ptr_null(ftc_communicators_next_output(set));
    ck_assert_int_eq(ftc_communicators_opened(set, number, true), FTC_SUCCESS);
    deliver(FTC_CALL_OPEN, &nobody);
    ck_assert_uint_eq(next(FTC_COMMUNICATORS_CREATED)->ticket, ticket);
    deliver(FTC_CALL_FINALIZE, &nobody);
    next(FTC_COMMUNICATORS_FORGET); /* the temporary one */
    next(FTC_COMMUNICATORS_FORGET);
    end();
    ftc_set_fini(&nobody);
}
END_TEST

/* C11: the second operation is called when the first one is delivered. */
START_TEST(operations_are_called_one_after_the_other)
{
    uint64_t first, second;

    begin(2);
    barrier(&first);
    barrier(&second);
    deliver(FTC_CALL_BARRIER, NULL);
    ck_assert_uint_eq(next(FTC_COMMUNICATORS_DELIVERED)->ticket, first);
    deliver(FTC_CALL_BARRIER, NULL);
    ck_assert_uint_eq(next(FTC_COMMUNICATORS_DELIVERED)->ticket, second);
    end();
}
END_TEST

/* C8: the others are told before a caller is. The engine hears of the revoke last. */
START_TEST(a_revoke_cuts_off_what_is_under_way_and_what_waits)
{
    uint64_t first, second;

    begin(4);
    barrier(&first);
    barrier(&second);
    next(FTC_COMMUNICATORS_CALL);
    hear_revoke();
    ck_assert_int_eq(next(FTC_COMMUNICATORS_SEND)->rank, 1);
    ck_assert_int_eq(next(FTC_COMMUNICATORS_SEND)->rank, 2);
    ck_assert_uint_eq(next(FTC_COMMUNICATORS_CUT_OFF)->ticket, first);
    ck_assert_uint_eq(next(FTC_COMMUNICATORS_CUT_OFF)->ticket, second);
    next(FTC_COMMUNICATORS_REVOKED);
    ck_assert_ptr_null(ftc_communicators_next_output(set));
    ck_assert_int_eq(
        ftc_communicator_delivered(world, &(struct ftc_communicator_delivery){.status = 0}),
        FTC_ERR_STATE);
    validate(&first); /* the caller knows */
    ck_assert(next(FTC_COMMUNICATORS_CALL)->after);
    end();
}
END_TEST

/* C8: a call that only the engine knew has told the caller, or none has. */
START_TEST(the_first_call_after_a_revoke_is_refused_unless_the_caller_knows)
{
    uint64_t ticket;

    for (int knows = 0; knows < 2; knows++) {
        begin(2);
        hear_revoke();
        next(FTC_COMMUNICATORS_SEND);
        next(FTC_COMMUNICATORS_REVOKED);
        if (knows)
            ftc_communicator_told(world);
        validate(&ticket);
        if (!knows) {
            ck_assert_uint_eq(next(FTC_COMMUNICATORS_CUT_OFF)->ticket, ticket);
            validate(&ticket);
        }
        deliver(FTC_CALL_AGREE, NULL);
        ck_assert_uint_eq(next(FTC_COMMUNICATORS_DELIVERED)->ticket, ticket);
        end();
    }
}
END_TEST

/* C9: rank 1 has called an agree, or knows of a revoke that this rank will hear of. */
START_TEST(a_message_of_an_agreement_is_taken_in_before_any_revoke)
{
    struct ftc_buffer *message = ftc_buffer_new(64);
    struct ftc_writer writer = {.data = message->data, .size = message->size};

    begin(2);
    ftc_frame_write(&writer, FTC_MESSAGE_UP, 0, FTC_COMMUNICATOR_WORLD | FTC_COMMUNICATOR_REVOKED);
    ck_assert_int_eq(ftc_communicators_receive(set, 1, message), FTC_SUCCESS);
    const struct ftc_communicators_output *output = next(FTC_COMMUNICATORS_TAKE);
    ck_assert_ptr_eq(output->message, message);
    ck_assert(output->after && output->rank == 1);
    ck_assert(!ftc_communicator_is_revoked(world));
    ftc_buffer_unref(message);
    end();
}
END_TEST

/* C9: rank 1 had abandoned the child. It lives, and is lost in the child alone. */
START_TEST(gone_for_a_child_in_use_revokes_it_and_loses_its_sender)
{
    struct ftc_set nobody = {0};

    ck_assert_int_eq(ftc_set_init(&nobody, 3), 0);
    uint64_t number = begin_dup(&nobody);
    deliver(FTC_CALL_OPEN, &nobody);
    struct ftc_communicator *child = next(FTC_COMMUNICATORS_CREATED)->child;
    for (int times = 0; times < 2; times++) /* once more makes no difference */
        ck_assert_int_eq(hear(GONE, number), FTC_SUCCESS);
    says(REVOKE, number, 2);
    ck_assert_ptr_eq(next(FTC_COMMUNICATORS_REVOKED)->communicator, child);
    const struct ftc_communicators_output *output = next(FTC_COMMUNICATORS_LOST);
    ck_assert_ptr_eq(output->communicator, child);
    ck_assert_int_eq(output->rank, 1);
    ck_assert(!ftc_communicator_is_revoked(world));
    end();
    ftc_set_fini(&nobody);
}
END_TEST

/* C9: nobody has closed the child, so a revoke of the world has cut its creation off. */
START_TEST(gone_in_an_opening_tells_of_the_revoke_of_the_parent)
{
    struct ftc_set nobody = {0};

    ck_assert_int_eq(ftc_set_init(&nobody, 3), 0);
    uint64_t number = begin_dup(&nobody);
    next(FTC_COMMUNICATORS_CALL);
    ck_assert_int_eq(hear(GONE, number), FTC_SUCCESS);
    says(REVOKE, FTC_COMMUNICATOR_WORLD, 1);
    says(REVOKE, FTC_COMMUNICATOR_WORLD, 2);
    next(FTC_COMMUNICATORS_CUT_OFF);
    says(REVOKE, number, 1);
    says(REVOKE, number, 2);
    ck_assert_uint_eq(next(FTC_COMMUNICATORS_REVOKED)->number, number);
    ck_assert_ptr_eq(next(FTC_COMMUNICATORS_REVOKED)->communicator, world);
    says(GONE, number, 1);
    says(GONE, number, 2);
    ck_assert_uint_eq(next(FTC_COMMUNICATORS_FORGET)->number, number);
    end();
    ftc_set_fini(&nobody);
}
END_TEST

START_TEST(gone_for_the_world_in_use_is_a_broken_protocol)
{
    begin(2);
    ck_assert_int_eq(hear(GONE, FTC_COMMUNICATOR_WORLD), FTC_ERR_PROTO);
    end();
}
END_TEST

/* C6: rank 1 has abandoned a child whose creation this rank has called. The creation is cut off. */
START_TEST(a_word_of_a_child_that_may_come_waits_for_its_creation)
{
    const uint64_t number = ftc_communicator_number(1, 1);
    uint64_t ticket;

    begin(2);
    ck_assert_int_eq(ftc_communicator_create(world, FTC_CREATION_DUP, 0, 0, 0, &ticket),
                     FTC_SUCCESS);
    next(FTC_COMMUNICATORS_CALL);
    ck_assert_int_eq(hear(REVOKE, number), FTC_SUCCESS);
    ck_assert_int_eq(ftc_communicators_early(set), 1);
    hear_revoke();
    says(REVOKE, FTC_COMMUNICATOR_WORLD, 1);
    next(FTC_COMMUNICATORS_CUT_OFF);
    next(FTC_COMMUNICATORS_REVOKED);
    says(GONE, number, 1);
    ck_assert_int_eq(ftc_communicators_early(set), 0);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lifecycle");
    TCase *tcase = tcase_create("lifecycle");

    tcase_add_test(tcase, one_process_makes_a_dup_and_frees_all);
    tcase_add_test(tcase, a_closing_waits_for_the_creation_of_a_group);
    tcase_add_test(tcase, operations_are_called_one_after_the_other);
    tcase_add_test(tcase, a_revoke_cuts_off_what_is_under_way_and_what_waits);
    tcase_add_test(tcase, the_first_call_after_a_revoke_is_refused_unless_the_caller_knows);
    tcase_add_test(tcase, a_message_of_an_agreement_is_taken_in_before_any_revoke);
    tcase_add_test(tcase, gone_for_a_child_in_use_revokes_it_and_loses_its_sender);
    tcase_add_test(tcase, gone_in_an_opening_tells_of_the_revoke_of_the_parent);
    tcase_add_test(tcase, gone_for_the_world_in_use_is_a_broken_protocol);
    tcase_add_test(tcase, a_word_of_a_child_that_may_come_waits_for_its_creation);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
