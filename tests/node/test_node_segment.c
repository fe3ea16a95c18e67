/* Tests the node segment: layout, creation and its refusals, attaching to damaged segments,
 * failures. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "node/segment/board_memory.h"
#include "scratch.h"
#include "tests/node/one_node.h"

static struct scratch_job job;

static void setup(void)
{
    scratch_job_make(&job, 3);
}

static void teardown(void)
{
    scratch_job_remove(&job);
}

/* --- layout --- */

START_TEST(parts_follow_each_other_at_every_size)
{
    static const int sizes[] = {1, 2, 3, 63, 64, 65, 512, 4096};
    uint64_t n = (uint64_t)sizes[_i];
    struct ftc_layout a;
    ck_assert_int_eq(layout_of_one(&a, n, 100), 0);
    ck_assert_uint_ge(a.text_offset, sizeof(struct ftc_segment_header));
    ck_assert_uint_ge(a.standings_offset, a.text_offset + 100);
    ck_assert_uint_eq(a.standings_offset % 64, 0);
    ck_assert_uint_eq(a.nodes_offset, a.standings_offset + n * sizeof(struct ftc_standing));
    ck_assert_uint_ge(a.log_offset, a.nodes_offset + sizeof(struct ftc_node));
    ck_assert_uint_ge(a.slots_offset, a.log_offset + n * 4);
    ck_assert_uint_eq(a.slots_offset % 64, 0);
    ck_assert_uint_eq(a.endpoints_offset, a.slots_offset + n * sizeof(struct ftc_slot));
    ck_assert_uint_eq(a.sets_offset, a.endpoints_offset); /* one node has none */
    ck_assert_uint_ge(a.set_stride, (n + 7) / 8);
    ck_assert_uint_eq(a.set_stride % 64, 0);
    ck_assert_uint_ge(a.pending_offset, a.sets_offset + 2 * n * a.set_stride);
    ck_assert_uint_ge(a.places_offset, a.pending_offset + n * a.pending_stride);
    ck_assert_uint_eq(a.shown_offset, a.remote_offset); /* nor are there remote ranks */
    ck_assert_uint_eq(a.rings_offset, a.shown_offset);
    ck_assert_uint_eq(a.rings_offset % 4096, 0);
    ck_assert_uint_eq(a.areas_offset, a.rings_offset + n * n * FTC_SEGMENT_RING_BYTES);
    ck_assert_uint_eq(a.total_size, a.areas_offset + n * FTC_BOARD_AREA);
}
END_TEST

/* Words of different writers share no cache line. The posts are an exception on purpose. Results
 * are copied by the page. */
START_TEST(the_board_lies_between_the_sets_and_the_rings)
{
    static const int sizes[] = {1, 2, 3, 63, 64, 65, 512, 4096};
    uint64_t n = (uint64_t)sizes[_i];
    struct ftc_layout a;
    ck_assert_int_eq(layout_of_one(&a, n, 100), 0);
    ck_assert_uint_eq(a.places_offset % 64, 0);
    ck_assert_uint_ge(a.progress_offset,
                      a.places_offset + FTC_BOARD_DEPTH * sizeof(struct ftc_board_place));
    ck_assert_uint_eq(a.progress_offset % 64, 0);
    ck_assert_uint_ge(a.posts_offset, a.progress_offset + n * sizeof(struct ftc_board_progress));
    ck_assert_uint_eq(a.posts_offset % 64, 0);
    ck_assert_uint_ge(a.post_stride, n * sizeof(struct ftc_board_post));
    ck_assert_uint_eq(a.post_stride % 64, 0);
    ck_assert_uint_ge(a.results_offset, a.posts_offset + FTC_BOARD_DEPTH * a.post_stride);
    ck_assert_uint_eq(a.results_offset % 4096, 0);
    ck_assert_uint_ge(a.rings_offset, a.results_offset + FTC_BOARD_RESULTS * FTC_BOARD_BLOCK);
    ck_assert_uint_eq(a.areas_offset % 4096, 0);
    ck_assert_uint_eq(FTC_BOARD_AREA % 4096, 0);
}
END_TEST

START_TEST(impossible_sizes_are_refused)
{
    struct ftc_layout a;
    ck_assert_int_eq(layout_of_one(&a, 0, 1), FTC_ERR_ARG);
    ck_assert_int_eq(layout_of_one(&a, FTC_NODE_MAX_LOCAL + 1, 1), FTC_ERR_ARG);
    ck_assert_int_eq(layout_of_one(&a, UINT64_MAX, 1), FTC_ERR_ARG);
    ck_assert_int_eq(layout_of_one(&a, 1, 0), FTC_ERR_ARG);
    ck_assert_int_eq(layout_of_one(&a, 1, UINT64_MAX), FTC_ERR_ARG);
}
END_TEST

START_TEST(a_segment_of_any_size_can_be_made_and_attached)
{
    static const int sizes[] = {1, 2, 64, 512, 4096};
    struct scratch_job made;
    scratch_job_make(&made, sizes[_i]);
    struct ftc_segment *seen;
    ck_assert_msg(ftc_segment_attach(&seen, made.name, true) == 0, "%s", ftc_last_error());
    int last = sizes[_i] - 1;
    ck_assert_int_eq(ftc_segment_ranks(seen), sizes[_i]);
    ck_assert_str_eq(ftc_segment_text(seen), "a.b=c\n");
    ck_assert_str_eq(ftc_segment_header(seen)->directory, made.directory);
    ck_assert_int_eq(ftc_segment_header(seen)->launcher_pid, getpid());
    atomic_store(&ftc_segment_slot(made.segment, last)->heartbeat, 7);
    ck_assert_uint_eq(atomic_load(&ftc_segment_slot(seen, last)->heartbeat), 7);
    atomic_store(&ftc_segment_pending_row(made.segment, last)[last / 64], 9);
    ck_assert_uint_eq(atomic_load(&ftc_segment_pending_row(seen, last)[last / 64]), 9);
    ck_assert_ptr_ne(ftc_segment_known_row(seen, last), ftc_segment_agreed_row(seen, last));
    ck_assert_int_eq(ftc_segment_ring_allocate(seen, last, 0, 0, FTC_SEGMENT_RING_BYTES), 0);
    memset(ftc_segment_ring(seen, last, 0), 1, FTC_SEGMENT_RING_BYTES);
    ftc_segment_detach(seen);
    scratch_job_remove(&made);
}
END_TEST

START_TEST(bad_job_names_are_refused)
{
    static const char *const names[] = {"",          "1",         "1.0",
                                        "1.",        ".000001",   "../1.000001",
                                        "1.000001/", "1.000001 ", "12345678901.000001",
                                        "a.000001",  "1.0000001"};
    struct ftc_segment *seen;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        ck_assert_int_eq(ftc_segment_attach(&seen, names[i], false), FTC_ERR_ARG);
    ck_assert(ftc_job_name_valid("4711.048213"));
}
END_TEST

START_TEST(the_name_is_taken_once)
{
    struct ftc_segment *second;
    struct ftc_segment_spec spec = {.job = job.name, .directory = job.directory, .ranks = 2};
    ck_assert_int_eq(ftc_segment_create(&second, &spec), FTC_ERR_STATE);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "--gc"));
    ck_assert_int_eq(ftc_segment_attach(&second, job.name, false), 0);
    ck_assert_int_eq(ftc_segment_ranks(second), 3);
    ftc_segment_detach(second);
}
END_TEST

START_TEST(a_rank_learns_of_how_many_cores_the_ranks_were_bound_to)
{
    struct ftc_segment *mine;
    ck_assert_int_eq(ftc_segment_attach(&mine, job.name, true), 0);
    ck_assert_uint_eq(ftc_segment_header(mine)->bound_cores, 2);
    ftc_segment_detach(mine);
}
END_TEST

START_TEST(every_job_draws_another_multicast_group)
{
    struct scratch_job other;
    const unsigned char *group = ftc_segment_header(job.segment)->multicast_group;
    scratch_job_make(&other, 1);
    const unsigned char *another = ftc_segment_header(other.segment)->multicast_group;
    /* All of it differs, not only the first bytes. */
    ck_assert_mem_ne(group, another, FTC_JOB_GROUP / 2);
    ck_assert_mem_ne(group + FTC_JOB_GROUP / 2, another + FTC_JOB_GROUP / 2, FTC_JOB_GROUP / 2);
    scratch_job_remove(&other);
}
END_TEST

/* --- attaching --- */

static void poke_file(uint64_t offset, const void *bytes, size_t size)
{
    char path[128];
    ftc_segment_path(path, geteuid(), job.name);
    int fd = open(path, O_RDWR);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, bytes, size, (off_t)offset), (ssize_t)size);
    close(fd);
}

static void assert_refused(const char *what)
{
    struct ftc_segment *seen = NULL;
    for (int writable = 0; writable < 2; writable++) {
        int rc = ftc_segment_attach(&seen, job.name, writable != 0);
        ck_assert_msg(rc == FTC_ERR_PROTO, "%s: %d", what, rc);
        ck_assert_ptr_null(seen);
        ck_assert_uint_gt(strlen(ftc_last_error()), 0);
    }
}

#define FIELD(name)                                                                                \
    {                                                                                              \
#name, offsetof(struct ftc_segment_header, name),                                          \
            sizeof(((struct ftc_segment_header *)0)->name)                                         \
    }

static const struct {
    const char *name;
    size_t offset, size;
} fields[] = {
    FIELD(magic),         FIELD(version),         FIELD(ranks),          FIELD(slot_size),
    FIELD(ring_size),     FIELD(text_offset),     FIELD(text_size),      FIELD(slots_offset),
    FIELD(log_offset),    FIELD(sets_offset),     FIELD(pending_offset), FIELD(rings_offset),
    FIELD(places_offset), FIELD(progress_offset), FIELD(posts_offset),   FIELD(results_offset),
    FIELD(areas_offset),  FIELD(total_size),      FIELD(pending_stride), FIELD(set_stride)};

START_TEST(one_damaged_field_is_enough_to_be_refused)
{
    const unsigned char *header = (const unsigned char *)ftc_segment_header(job.segment);
    uint64_t sound = 0;
    memcpy(&sound, header + fields[_i].offset, fields[_i].size);
    const uint64_t wrong[] = {0,          1,          sound + 1,  sound - 1, sound + 64,
                              sound << 1, UINT32_MAX, UINT64_MAX, 1ull << 63};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (memcmp(&wrong[i], &sound, fields[_i].size) == 0)
            continue;
        poke_file(fields[_i].offset, &wrong[i], fields[_i].size);
        assert_refused(fields[_i].name);
    }
    poke_file(fields[_i].offset, &sound, fields[_i].size);
    struct ftc_segment *seen;
    ck_assert_int_eq(ftc_segment_attach(&seen, job.name, false), 0);
    ftc_segment_detach(seen);
}
END_TEST

START_TEST(names_and_text_without_an_end_are_refused)
{
    char fill[512];
    memset(fill, 'x', sizeof(fill));
    poke_file(offsetof(struct ftc_segment_header, command), fill, 256);
    assert_refused("command");
    memset(fill, 0, sizeof(fill));
    poke_file(offsetof(struct ftc_segment_header, command), fill, 256);
    struct ftc_segment_header *header = ftc_segment_header(job.segment);
    poke_file(header->text_offset + header->text_size - 1, "x", 1);
    assert_refused("text");
}
END_TEST

START_TEST(files_that_are_no_segments_are_refused)
{
    char path[128], other[160];
    ftc_segment_path(path, geteuid(), job.name);
    snprintf(other, sizeof(other), "%s.other", path);
    ck_assert_int_eq(chmod(path, 0644), 0);
    assert_refused("open to others");
    ck_assert_int_eq(chmod(path, 0600), 0);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(path, 1, 1), 0);
        assert_refused("of another user");
        ck_assert_int_eq(chown(path, 0, 0), 0);
    }
    ck_assert_int_eq(rename(path, other), 0);
    ck_assert_int_eq(symlink(other, path), 0);
    struct ftc_segment *seen;
    ck_assert_int_eq(ftc_segment_attach(&seen, job.name, false), FTC_ERR_SYSTEM);
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    assert_refused("fifo");
    unlink(path);
    ck_assert_int_eq(ftc_segment_attach(&seen, job.name, false), FTC_ERR_SYSTEM);
    ck_assert_int_eq(rename(other, path), 0);
    ck_assert_int_eq(truncate(path, 4096), 0);
    assert_refused("cut");
    ck_assert_int_eq(truncate(path, 10), 0);
    assert_refused("cut short");
}
END_TEST

static int write_read_only(void *arg)
{
    struct ftc_segment *seen;
    (void)arg;
    signal(SIGSEGV, SIG_DFL); /* sanitizers catch it otherwise */
    if (ftc_segment_attach(&seen, job.name, false) != 0 || ftc_segment_ring(seen, 0, 1) != NULL)
        return 1;
    atomic_store(&ftc_segment_slot(seen, 0)->heartbeat, 1);
    return 2;
}

START_TEST(a_read_only_mapping_cannot_disturb)
{
    int status = scratch_wait(scratch_fork(write_read_only, NULL));
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGSEGV);
    ck_assert_uint_eq(atomic_load(&ftc_segment_slot(job.segment, 0)->heartbeat), 0);
}
END_TEST

/* --- the board --- */

/* Checks that the part lies in the bytes that this mapping has, from the header on. */
static void assert_inside(struct ftc_segment *segment, uint64_t mapped, const void *part,
                          size_t size)
{
    uintptr_t base = (uintptr_t)ftc_segment_header(segment), from = (uintptr_t)part;
    ck_assert_uint_gt(from, base);
    ck_assert_uint_le(from - base, mapped);
    ck_assert_uint_le(size, mapped - (from - base));
}

START_TEST(the_board_lies_inside_the_map)
{
    static const int sizes[] = {1, 3, 64, 4096};
    struct scratch_job made;
    struct ftc_segment *seen;
    scratch_job_make(&made, sizes[_i]);
    size_t n = (size_t)sizes[_i];
    const struct ftc_segment_header *header = ftc_segment_header(made.segment);
    for (int writable = 0; writable < 2; writable++) {
        ck_assert_msg(ftc_segment_attach(&seen, made.name, writable != 0) == 0, "%s",
                      ftc_last_error());
        struct ftc_board_memory board = ftc_segment_board(seen);
        uint64_t mapped = writable ? header->total_size : header->rings_offset;
        assert_inside(seen, mapped, board.places, FTC_BOARD_DEPTH * sizeof(*board.places));
        assert_inside(seen, mapped, board.progress, n * sizeof(*board.progress));
        assert_inside(seen, mapped, board.posts, FTC_BOARD_DEPTH * board.post_stride);
        assert_inside(seen, mapped, board.results, FTC_BOARD_RESULTS * FTC_BOARD_BLOCK);
        if (writable)
            assert_inside(seen, mapped, board.areas, n * FTC_BOARD_AREA);
        else
            ck_assert_ptr_null(board.areas);
        ftc_segment_detach(seen);
    }
    scratch_job_remove(&made);
}
END_TEST

START_TEST(what_one_process_puts_on_the_board_the_others_find)
{
    struct ftc_segment *seen;
    ck_assert_msg(ftc_segment_attach(&seen, job.name, true) == 0, "%s", ftc_last_error());
    struct ftc_board_memory mine = ftc_segment_board(job.segment), theirs = ftc_segment_board(seen);
    size_t results = FTC_BOARD_RESULTS * FTC_BOARD_BLOCK, last = 2 * (size_t)FTC_BOARD_AREA;
    ck_assert_int_eq(ftc_segment_area_allocate(job.segment, 2, 0, FTC_BOARD_AREA), 0);
    memset(mine.results, 3, results);
    memset(mine.areas + last, 4, FTC_BOARD_AREA);
    atomic_store(&mine.places[FTC_BOARD_DEPTH - 1].bell, 5);
    atomic_store(&mine.progress[2].finished, 6);
    ck_assert_int_eq(memcmp(mine.results, theirs.results, results), 0);
    ck_assert_int_eq(memcmp(mine.areas + last, theirs.areas + last, FTC_BOARD_AREA), 0);
    ck_assert_uint_eq(atomic_load(&theirs.places[FTC_BOARD_DEPTH - 1].bell), 5);
    ck_assert_uint_eq(atomic_load(&theirs.progress[2].finished), 6);
    ck_assert_int_eq(theirs.areas[last - 1], 0); /* the neighbour is untouched */
    ftc_segment_detach(seen);
}
END_TEST

/* --- failures --- */

START_TEST(failures_are_told_once_and_in_order)
{
    struct ftc_failure by_signal = {
        .cause = FTC_CAUSE_SIGNAL, .detail = 9, .seen_by = -1, .declared_ns = 5};
    uint32_t cursor = 0;
    ck_assert_int_eq(ftc_segment_next_failure(job.segment, &cursor), -1);
    ftc_segment_declare(job.segment, 2, &by_signal);
    ftc_segment_declare(job.segment, 2, &by_signal);
    ftc_segment_declare(job.segment, 0, &by_signal);
    ck_assert_int_eq(ftc_segment_next_failure(job.segment, &cursor), 2);
    ck_assert_int_eq(ftc_segment_next_failure(job.segment, &cursor), 0);
    ck_assert_int_eq(ftc_segment_next_failure(job.segment, &cursor), -1);
    ck_assert(ftc_segment_failed(job.segment, 2) && !ftc_segment_failed(job.segment, 1));
    ck_assert_int_eq(atomic_load(&ftc_segment_standing(job.segment, 2)->detail), 9);
}
END_TEST

START_TEST(a_damaged_log_is_not_believed_and_made_good)
{
    struct ftc_failure failure = {.cause = FTC_CAUSE_EXIT};
    struct ftc_segment_header *header = ftc_segment_header(job.segment);
    struct ftc_layout layout;
    uint32_t cursor = 0;
    ftc_segment_declare(job.segment, 1, &failure);
    ck_assert_int_eq(layout_of_one(&layout, 3, strlen("a.b=c\n") + 1), 0);
    for (uint32_t entry = 0; entry < 3; entry++) {
        poke_file(layout.log_offset, &entry, 4);
        atomic_store(&header->failures, 0xffffffffu);
        ck_assert_int_eq(ftc_segment_next_failure(job.segment, &cursor), -1);
    }
    ftc_segment_restore_failures(job.segment);
    ck_assert_int_eq(ftc_segment_next_failure(job.segment, &cursor), 1);
    ck_assert_int_eq(ftc_segment_next_failure(job.segment, &cursor), -1);
    cursor = 0xffffffffu;
    ck_assert_int_eq(ftc_segment_next_failure(job.segment, &cursor), -1);
}
END_TEST

START_TEST(a_rank_that_sets_its_flag_or_the_length_of_the_log_is_declared_all_the_same)
{
    struct ftc_failure failure = {.cause = FTC_CAUSE_EXIT};
    struct ftc_segment_header *header = ftc_segment_header(job.segment);
    uint32_t cursor = 0;
    atomic_store(&ftc_segment_standing(job.segment, 2)->failed, 1);
    atomic_store(&header->failures, 3);
    ck_assert(!ftc_segment_failed(job.segment, 2));
    ck_assert_int_eq(ftc_segment_next_failure(job.segment, &cursor), -1);
    ftc_segment_declare(job.segment, 2, &failure);
    ck_assert(ftc_segment_failed(job.segment, 2));
    ck_assert_int_eq(ftc_segment_next_failure(job.segment, &cursor), 2);
    ck_assert_uint_eq(atomic_load(&header->failures), 1);
}
END_TEST

START_TEST(every_cause_has_a_name)
{
    for (int cause = 0; cause < FTC_CAUSES; cause++)
        ck_assert_str_ne(ftc_failure_cause_name((enum ftc_failure_cause)cause), "unknown");
    ck_assert_str_eq(ftc_failure_cause_name((enum ftc_failure_cause)99), "unknown");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("node/segment");
    TCase *plain = tcase_create("making");
    tcase_set_timeout(plain, 300);
    tcase_add_loop_test(plain, parts_follow_each_other_at_every_size, 0, 8);
    tcase_add_loop_test(plain, the_board_lies_between_the_sets_and_the_rings, 0, 8);
    tcase_add_test(plain, impossible_sizes_are_refused);
    tcase_add_loop_test(plain, a_segment_of_any_size_can_be_made_and_attached, 0, 5);
    tcase_add_loop_test(plain, the_board_lies_inside_the_map, 0, 4);
    tcase_add_test(plain, bad_job_names_are_refused);
    tcase_add_test(plain, every_cause_has_a_name);
    suite_add_tcase(suite, plain);

    TCase *attach = tcase_create("attaching");
    tcase_set_timeout(attach, 300);
    tcase_add_checked_fixture(attach, setup, teardown);
    tcase_add_test(attach, the_name_is_taken_once);
    tcase_add_test(attach, a_rank_learns_of_how_many_cores_the_ranks_were_bound_to);
    tcase_add_test(attach, every_job_draws_another_multicast_group);
    tcase_add_test(attach, what_one_process_puts_on_the_board_the_others_find);
    tcase_add_loop_test(attach, one_damaged_field_is_enough_to_be_refused, 0,
                        (int)(sizeof(fields) / sizeof(fields[0])));
    tcase_add_test(attach, names_and_text_without_an_end_are_refused);
    tcase_add_test(attach, files_that_are_no_segments_are_refused);
    tcase_add_test(attach, a_read_only_mapping_cannot_disturb);
    tcase_add_test(attach, failures_are_told_once_and_in_order);
    tcase_add_test(attach, a_damaged_log_is_not_believed_and_made_good);
    tcase_add_test(attach,
                   a_rank_that_sets_its_flag_or_the_length_of_the_log_is_declared_all_the_same);
    suite_add_tcase(suite, attach);
    return scratch_run(suite);
}
