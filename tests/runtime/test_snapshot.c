/*
 * Tests L and G of the validate calls, and the functions that read them, sentence by sentence along
 * their source: the mail "MPI_Comm_validate parameters" (mpi3-ft, 28 February 2011). "B" quotes the
 * text of Buntinas, "H" that of Hursey. There are two processes, each with a detector of its own.
 * `validate_global` takes the union that an agreement among them decides; validate.bats has real
 * ones.
 */
#include <stdlib.h>

#include "base/error.h"
#include "runtime/comm/snapshot.h"
#include "tests/suite.h"

#define SIZE   8
#define ALL    (FTC_RANK_FAILED | FTC_RANK_NULL) /* MPI_FAILED_ALL */
#define R(i)   (1u << (i))
#define LIVING (R(SIZE) - 1)

enum set { L, G };

static struct process {
    struct ftc_snapshot snapshot;
    struct ftc_set detector; /* the failures that its detector knows */
} here, there;

static ftc_rank_info infos[SIZE];

static void begin(struct process *p)
{
    ck_assert_int_eq(ftc_snapshot_init(&p->snapshot, SIZE), 0);
    ck_assert_int_eq(ftc_set_init(&p->detector, SIZE), 0);
}

static void end(struct process *p)
{
    ftc_snapshot_fini(&p->snapshot);
    ftc_set_fini(&p->detector);
}

static void setup(void)
{
    begin(&here);
    begin(&there);
}

static void teardown(void)
{
    end(&here);
    end(&there);
}

static void learns(struct process *p, int rank)
{
    ftc_set_add(&p->detector, rank);
}

/* Returns num_failed. */
static int validate_local(struct process *p)
{
    ftc_snapshot_local(&p->snapshot, &p->detector);
    return ftc_set_count(&p->snapshot.known);
}

static int validate_global(void)
{
    ftc_set_unite(&here.detector, &there.detector);
    ftc_set_unite(&there.detector, &here.detector);
    ftc_snapshot_global(&here.snapshot, &here.detector);
    ftc_snapshot_global(&there.snapshot, &there.detector);
    return ftc_set_count(&here.snapshot.agreed);
}

/* What the caller counts with incount 0. */
static int size_of(struct process *p, enum set set, int types)
{
    int count = -1;

    ck_assert_int_eq(ftc_snapshot_states(&p->snapshot, set == G, types, 0, &count, NULL), 0);
    return count;
}

static int num_new(struct process *p, enum set set)
{
    return size_of(p, set, ALL | FTC_RANK_NEW);
}

/* The ranks that the caller gets in an array that has just the size that was counted, as bits. */
static unsigned ranks_of(struct process *p, enum set set, int types)
{
    int size = size_of(p, set, types), count = 0;
    unsigned ranks = 0;

    if (size == 0)
        return 0;
    ck_assert_int_eq(ftc_snapshot_states(&p->snapshot, set == G, types, size, &count, infos), 0);
    ck_assert_int_eq(count, size);
    for (int i = 0; i < count; i++)
        ranks |= R(infos[i].rank);
    return ranks;
}

/* --- Buntinas: the sets, and what determines them --- */

START_TEST(local_counts_what_is_known_here_and_what_is_newly_known)
{
    learns(&here, 1);
    /* B: "This is a local function that checks for failed processes and updates the set L." B:
     * "When the function returns, num_failed = |L|". */
    ck_assert_int_eq(validate_local(&here), 1);
    ck_assert_uint_eq(ranks_of(&here, L, ALL), R(1));
    /* B: "num_new will be the number of newly discovered failed processes, i.e., if L' = L before
     * MPI_Comm_validate_local was called, then num_new = |L|-|L'|." */
    ck_assert_int_eq(num_new(&here, L), 1);
    learns(&here, 4);
    learns(&here, 6);
    ck_assert_int_eq(validate_local(&here), 3);
    ck_assert_int_eq(num_new(&here, L), 2);
    ck_assert_int_eq(validate_local(&here), 3);
    ck_assert_int_eq(num_new(&here, L), 0);
    /* B: "each process may have a different L". */
    ck_assert_int_eq(validate_local(&there), 0);
    ck_assert_uint_eq(ranks_of(&there, L, ALL), 0);
}
END_TEST

START_TEST(global_is_the_union_and_sets_both)
{
    learns(&here, 1);
    learns(&there, 3);
    validate_local(&here);
    /* B: "performs an all-reduce to take the union of all the processes known to have failed by
     * each process, then updates the sets G and L." B: "The parameters num_failed and num_new are
     * set the same as in MPI_Comm_validate_local": to |L| and |L|-|L'|. */
    ck_assert_int_eq(validate_global(), 2);
    ck_assert_uint_eq(ranks_of(&here, G, ALL), R(1) | R(3));
    ck_assert_int_eq(num_new(&here, L), 1);  /* 3: rank 1 was in L before */
    ck_assert_int_eq(num_new(&there, L), 2); /* its L was empty before */
    /* B: "G is always the same for every process". */
    ck_assert_uint_eq(ranks_of(&there, G, ALL), R(1) | R(3));
    /* B: "After this function returns L = G." */
    ck_assert_uint_eq(ranks_of(&here, L, ALL), R(1) | R(3));
    ck_assert_uint_eq(ranks_of(&there, L, ALL), R(1) | R(3));
    /* B: "C >= F >= L >= G", also when L goes ahead of G. */
    learns(&here, 5);
    ck_assert_int_eq(validate_local(&here), 3);
    ck_assert_uint_eq(ranks_of(&here, L, ALL), R(1) | R(3) | R(5));
    ck_assert_uint_eq(ranks_of(&here, G, ALL), R(1) | R(3));
}
END_TEST

START_TEST(the_sets_change_in_validate_calls_alone)
{
    int one = 1;

    /* B: "the set L will not change outside of a call to MPI_Comm_validate_local or
     * MPI_Comm_validate_global, and the set G will not change outside of a call to
     * MPI_Comm_validate_global." */
    learns(&here, 1);
    ck_assert_uint_eq(ranks_of(&here, L, ALL), 0);
    validate_local(&here);
    ck_assert_uint_eq(ranks_of(&here, G, ALL), 0);
    /* H: the accessors "are local operations", and "None of them modify L or G". */
    ck_assert_int_eq(ftc_snapshot_recognize(&here.snapshot, 1, &one), 0);
    for (int i = 0; i < 2; i++)
        ck_assert_uint_eq(ranks_of(&here, L, ALL | FTC_RANK_NEW), R(1));
    ck_assert_uint_eq(ranks_of(&there, L, ALL), 0);
}
END_TEST

/* --- Buntinas: querying --- */

START_TEST(a_death_between_count_and_fetch_changes_nothing)
{
    int count = -1;

    learns(&here, 2);
    /* B: "The size of the array returned is the value returned in num_failed in the last call". */
    ck_assert_int_eq(validate_local(&here), size_of(&here, L, ALL));
    /* B: "This prevents the problem where the set might change between when the user got the size
     * of the set and allocated the array, and when the user queried for the set." */
    learns(&here, 5);
    ck_assert_int_eq(ftc_snapshot_states(&here.snapshot, false, ALL, 1, &count, infos), 0);
    ck_assert_int_eq(count, 1);
    /* H: "MPI_Rank_info object that conveys the {rank,state,generation} information". No rank is
     * restarted: the generation is 0. */
    ck_assert_int_eq(infos[0].rank, 2);
    ck_assert_int_eq(infos[0].state, FTC_RANK_FAILED);
    ck_assert_int_eq(infos[0].generation, 0);
    /* The same of G and validate_global. */
    ck_assert_int_eq(validate_global(), size_of(&here, G, ALL));
    learns(&here, 6);
    ck_assert_uint_eq(ranks_of(&here, G, ALL), R(2) | R(5));
}
END_TEST

START_TEST(new_in_l_is_what_either_validate_call_has_found)
{
    /* B: "if L' = L before MPI_Comm_validate_local or MPI_Comm_validate_global was called, then
     * failed_array contains the list of processes in the set L - L'." B: "num_new is the value
     * returned the last time MPI_Comm_validate_local or MPI_Comm_validate_global was called." */
    learns(&here, 1);
    for (int i = 0; i < 3; i++) {
        validate_global();
        ck_assert_int_eq(num_new(&here, L), i == 0);
        ck_assert_uint_eq(ranks_of(&here, L, ALL | FTC_RANK_NEW), i == 0 ? R(1) : 0);
    }
    validate_local(&here);
    ck_assert_int_eq(num_new(&here, L), 0);
    learns(&here, 4);
    validate_local(&here);
    ck_assert_uint_eq(ranks_of(&here, L, ALL | FTC_RANK_NEW), R(4));
    validate_global(); /* agrees on 4, which L has had before */
    ck_assert_int_eq(num_new(&here, L), 0);
    /* H: "OLD (before last call to {global|local} validate)". */
    ck_assert_uint_eq(ranks_of(&here, L, ALL | FTC_RANK_OLD), R(1) | R(4));
}
END_TEST

START_TEST(new_in_g_is_what_validate_global_has_found)
{
    /* B: "if G' = G before MPI_Comm_validate_global was called, then failed_array contains the list
     * of processes in the set G - G'." B: "num_new is the value returned the last time
     * MPI_Comm_validate_global was called." */
    learns(&here, 1);
    validate_global();
    ck_assert_uint_eq(ranks_of(&here, G, ALL | FTC_RANK_NEW), R(1));
    learns(&here, 4);
    validate_local(&here); /* neither changes G nor makes rank 1 old in it */
    ck_assert_uint_eq(ranks_of(&here, G, ALL | FTC_RANK_NEW), R(1));
    validate_global(); /* 4 was in L before, and is new in G */
    ck_assert_uint_eq(ranks_of(&here, G, ALL | FTC_RANK_NEW), R(4));
    ck_assert_uint_eq(ranks_of(&here, G, ALL | FTC_RANK_OLD), R(1));
    ck_assert_int_eq(num_new(&here, L), 0);
    validate_global();
    ck_assert_int_eq(num_new(&here, G), 0);
}
END_TEST

/* --- recognised ("cleared") ranks --- */

START_TEST(recognising_turns_failed_into_null_here_only)
{
    int six = 6, both[] = {1, 3};

    learns(&here, 1);
    learns(&here, 6);
    learns(&there, 6);
    /* H: validate_local's "num_failed = |L| (both recognized and unrecognized)". */
    ck_assert_int_eq(validate_local(&here), 2);
    ck_assert_int_eq(validate_local(&there), 1);
    ck_assert_int_eq(ftc_snapshot_recognize(&here.snapshot, 1, &six), 0);
    /* B: "the number of cleared processes does not change in" validate_local. */
    ck_assert_int_eq(validate_local(&here), 2);
    /* H: "FAILED (failed, unrecognized)", "NULL (failed, recognized)". */
    ck_assert_uint_eq(ranks_of(&here, L, FTC_RANK_FAILED), R(1));
    ck_assert_uint_eq(ranks_of(&here, L, FTC_RANK_NULL), R(6));
    ck_assert_uint_eq(ranks_of(&there, L, FTC_RANK_NULL), 0);
    /* Rank 3 is not in L: the call fails as a whole. */
    ck_assert_int_eq(ftc_snapshot_recognize(&here.snapshot, 2, both), FTC_ERR_ARG);
    ck_assert_uint_eq(ranks_of(&here, L, FTC_RANK_FAILED), R(1));
}
END_TEST

START_TEST(global_recognises_by_itself)
{
    learns(&here, 1);
    validate_local(&here);
    /* B: "after a global validate, L = G = the set of cleared processes". */
    ck_assert_int_eq(validate_global(), 1);
    ck_assert_uint_eq(ranks_of(&here, L, FTC_RANK_NULL), R(1));
    ck_assert_uint_eq(ranks_of(&here, L, FTC_RANK_FAILED), 0);
    ck_assert_uint_eq(ranks_of(&here, G, FTC_RANK_FAILED), 0);
    /* B: "G is a subset of the set of cleared processes which itself is a subset of L". */
    learns(&here, 3);
    validate_local(&here);
    ck_assert_uint_eq(ranks_of(&here, G, ALL), R(1));
    ck_assert_uint_eq(ranks_of(&here, L, FTC_RANK_NULL), R(1));
    ck_assert_uint_eq(ranks_of(&here, L, ALL), R(1) | R(3));
}
END_TEST

/* --- Hursey: the accessors --- */

START_TEST(states_and_modifiers_are_or_ed_together)
{
    int one = 1;

    learns(&here, 1);
    validate_local(&here);
    learns(&here, 4);
    validate_local(&here);
    ck_assert_int_eq(ftc_snapshot_recognize(&here.snapshot, 1, &one), 0);
    /* H: "allowing the states to be bitwise or'ed together": "OK (active)", FAILED, NULL. */
    ck_assert_uint_eq(ranks_of(&here, L, FTC_RANK_OK), LIVING & ~(R(1) | R(4)));
    ck_assert_uint_eq(ranks_of(&here, L, FTC_RANK_OK | FTC_RANK_NULL), LIVING & ~R(4));
    ck_assert_uint_eq(ranks_of(&here, L, FTC_RANK_OK | ALL), LIVING);
    ck_assert_uint_eq(ranks_of(&here, G, FTC_RANK_OK), LIVING);
    /* H: "a few new modifiers", NEW and OLD. Both together exclude nothing. A rank that lives is
     * not new. */
    ck_assert_uint_eq(ranks_of(&here, L, ALL | FTC_RANK_NEW), R(4));
    ck_assert_uint_eq(ranks_of(&here, L, ALL | FTC_RANK_OLD), R(1));
    ck_assert_uint_eq(ranks_of(&here, L, ALL | FTC_RANK_NEW | FTC_RANK_OLD), R(1) | R(4));
    ck_assert_uint_eq(ranks_of(&here, L, FTC_RANK_NULL | FTC_RANK_NEW), 0);
    ck_assert_uint_eq(ranks_of(&here, L, FTC_RANK_OK | FTC_RANK_NEW), 0);
}
END_TEST

START_TEST(a_short_array_is_an_error_and_nothing_is_written)
{
    int count = -7;

    learns(&here, 1);
    learns(&here, 6);
    validate_local(&here);
    /* H: "If incount = 0, then outcount = |L| or |G|, rank_infos ignored". */
    infos[0].rank = -7;
    ck_assert_int_eq(ftc_snapshot_states(&here.snapshot, false, ALL, 0, &count, infos), 0);
    ck_assert_int_eq(count, 2);
    ck_assert_int_eq(infos[0].rank, -7);
    /* H: "MPI_ERR_SIZE if incount != 0 and incount < |L|". */
    count = -7;
    ck_assert_int_eq(ftc_snapshot_states(&here.snapshot, false, ALL, 1, &count, infos),
                     FTC_ERR_SIZE);
    ck_assert_int_eq(infos[0].rank, -7);
    ck_assert_int_eq(count, -7);
    /* H: "outcount = min(incount, |L|)". */
    ck_assert_int_eq(ftc_snapshot_states(&here.snapshot, false, ALL, SIZE, &count, infos), 0);
    ck_assert_int_eq(count, 2);
}
END_TEST

START_TEST(the_program_of_the_mail_finds_what_failed_during_its_work)
{
    /* H: "MPI_Comm_validate_global(comm, &num_failed_start); / * Do work * /
     * MPI_Comm_validate_global(comm, &num_failed_end);" */
    learns(&there, 2);
    int start = validate_global();
    learns(&here, 5);
    learns(&there, 7);
    ck_assert_int_lt(start, validate_global());
    /* H: "MPI_Comm_get_state_global(comm, MPI_RANK_STATE_NULL|MPI_RANK_STATE_MOD_NEW, incount,
     * &outcount, NULL)" with incount 0, and then with the array. */
    ck_assert_uint_eq(ranks_of(&here, G, FTC_RANK_NULL | FTC_RANK_NEW), R(5) | R(7));
}
END_TEST

/* --- what the mail leaves open --- */

START_TEST(wrong_types_and_missing_outputs_are_refused)
{
    const struct ftc_snapshot *s = &here.snapshot;
    int count;

    ck_assert_int_eq(ftc_snapshot_states(s, false, 0, SIZE, &count, infos), FTC_ERR_ARG);
    ck_assert_int_eq(ftc_snapshot_states(s, false, FTC_RANK_NEW, 8, &count, infos), FTC_ERR_ARG);
    ck_assert_int_eq(ftc_snapshot_states(s, false, 1 << 9, SIZE, &count, infos), FTC_ERR_ARG);
    ck_assert_int_eq(ftc_snapshot_states(s, false, FTC_RANK_OK, 4, &count, NULL), FTC_ERR_ARG);
    ck_assert_int_eq(ftc_snapshot_states(s, false, FTC_RANK_OK, -1, &count, infos), FTC_ERR_ARG);
    ck_assert_int_eq(ftc_snapshot_states(s, false, FTC_RANK_OK, 4, NULL, infos), FTC_ERR_ARG);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("snapshot");
    TCase *source = tcase_create("source");

    tcase_add_checked_fixture(source, setup, teardown);
    tcase_add_test(source, local_counts_what_is_known_here_and_what_is_newly_known);
    tcase_add_test(source, global_is_the_union_and_sets_both);
    tcase_add_test(source, the_sets_change_in_validate_calls_alone);
    tcase_add_test(source, a_death_between_count_and_fetch_changes_nothing);
    tcase_add_test(source, new_in_l_is_what_either_validate_call_has_found);
    tcase_add_test(source, new_in_g_is_what_validate_global_has_found);
    tcase_add_test(source, recognising_turns_failed_into_null_here_only);
    tcase_add_test(source, global_recognises_by_itself);
    tcase_add_test(source, states_and_modifiers_are_or_ed_together);
    tcase_add_test(source, a_short_array_is_an_error_and_nothing_is_written);
    tcase_add_test(source, the_program_of_the_mail_finds_what_failed_during_its_work);
    tcase_add_test(source, wrong_types_and_missing_outputs_are_refused);
    suite_add_tcase(suite, source);
    return test_suite_run(suite);
}
