/* Running a job by hand. */
#include "job.h"

#include <string.h>

#include "collectives/values/blocks.h"
#include "sim/model/cluster.h"

void job_begin(struct job *job, int n, int f)
{
    *job = (struct job){.settings = ftc_cluster_settings(n, f)};
    ck_assert_int_le(n, JOB_RANKS);
}

void job_open(struct job *job, const char *operations, const struct ftc_set *mortal)
{
    ck_assert_int_eq(ftc_program_parse(&job->program, operations, job->settings.ranks),
                     FTC_SUCCESS);
    job->ledger = ftc_ledger_new(&job->settings, &job->program, mortal);
    ck_assert_ptr_nonnull(job->ledger);
    for (int rank = 0; rank < job->settings.ranks; rank++) {
        job->settings.self = rank;
        ck_assert_int_eq(ftc_member_create(&job->member[rank], &job->settings), FTC_SUCCESS);
    }
}

void job_end(struct job *job)
{
    for (; job->first < job->last; job->first++)
        ftc_buffer_unref(job->letter[job->first].bytes);
    for (int rank = 0; rank < job->settings.ranks; rank++)
        ftc_member_destroy(job->member[rank]);
    ftc_ledger_free(job->ledger);
    ftc_program_fini(&job->program);
}

static struct ftc_buffer *join(const struct ftc_buffer *head, const struct ftc_value *value)
{
    size_t size = value->buffer != NULL ? value->size : 0;
    struct ftc_buffer *bytes = ftc_value_new_message(head->size, size);

    memcpy(bytes->data, head->data, head->size);
    if (size > 0)
        memcpy(bytes->data + ftc_value_offset(head->size), ftc_value_bytes(value), size);
    return bytes;
}

static void post(struct job *job, int from, const struct ftc_output *output)
{
    if (job->member[output->to] == NULL)
        return;
    ck_assert_int_lt(job->last, JOB_LETTERS);
    job->letter[job->last++] = (struct job_letter){
        .from = from, .to = output->to, .bytes = join(output->head, &output->value)};
}

static void carry_out(struct job *job, int rank, const struct ftc_output *output)
{
    struct ftc_output shown = *output;

    if (job->tamper != NULL)
        job->tamper(&shown);
    if (shown.kind == FTC_OUTPUT_SEND)
        ftc_ledger_sends(job->ledger, rank, &shown);
    else if (shown.kind == FTC_OUTPUT_DELIVER)
        ftc_ledger_delivers(job->ledger, rank, job->member[rank], &shown);
    else if (shown.kind != FTC_OUTPUT_TIMER && shown.kind != FTC_OUTPUT_MORE)
        ftc_ledger_protests(job->ledger, rank, job->member[rank], &shown);
    if (output->kind == FTC_OUTPUT_SEND)
        post(job, rank, output);
}

static void input_done(struct job *job, int rank, int rc)
{
    const struct ftc_output *output;

    while ((output = ftc_member_next_output(job->member[rank])) != NULL)
        carry_out(job, rank, output);
    ftc_ledger_input_done(job->ledger, rank, job->member[rank], rc);
}

void job_call(struct job *job, int rank)
{
    struct ftc_call call;

    ftc_ledger_prepare(job->ledger, rank, ftc_ledger_called(job->ledger, rank), &call);
    ftc_ledger_calls(job->ledger, rank, job->member[rank]);
    input_done(job, rank, ftc_member_call(job->member[rank], &call));
}

void job_all_call(struct job *job)
{
    for (int rank = 0; rank < job->settings.ranks; rank++) {
        if (job->member[rank] != NULL)
            job_call(job, rank);
    }
}

static void receive(struct job *job, int rank, int from, struct ftc_buffer *bytes)
{
    struct ftc_message_head head;

    ck_assert_int_eq(ftc_message_peek(bytes, &head), FTC_SUCCESS);
    int rc = ftc_ledger_receive(job->ledger, rank, job->member[rank], from, head.op, false, bytes);
    ck_assert_int_eq(rc, FTC_SUCCESS);
    input_done(job, rank, rc);
}

void job_deliver_letters(struct job *job)
{
    while (job->first < job->last) {
        struct job_letter letter = job->letter[job->first++];
        if (job->member[letter.to] != NULL)
            receive(job, letter.to, letter.from, letter.bytes);
        ftc_buffer_unref(letter.bytes);
    }
    job->first = job->last = 0;
}

void job_run(struct job *job)
{
    int op = 0;

    for (int rank = 0; rank < job->settings.ranks; rank++)
        op = ftc_ledger_called(job->ledger, rank) > op ? ftc_ledger_called(job->ledger, rank) : op;
    job_deliver_letters(job);
    for (; op < job->program.length; op++) {
        job_all_call(job);
        job_deliver_letters(job);
    }
    ftc_ledger_ends(job->ledger);
}

void job_kill(struct job *job, int rank)
{
    ftc_ledger_dies(job->ledger, rank, job->member[rank]);
    ftc_member_destroy(job->member[rank]);
    job->member[rank] = NULL;
}

void job_tell(struct job *job, int observer, int dead)
{
    int rc = ftc_member_notice(job->member[observer], dead);

    ftc_ledger_hears(job->ledger, observer, job->member[observer], dead);
    input_done(job, observer, rc);
}

void job_tell_all(struct job *job, int dead)
{
    for (int rank = 0; rank < job->settings.ranks; rank++) {
        if (job->member[rank] != NULL)
            job_tell(job, rank, dead);
    }
}

/* --- decisions that nobody made --- */

static int under_way(const struct job *job, int rank)
{
    ck_assert(ftc_ledger_under_way(job->ledger, rank));
    return ftc_ledger_called(job->ledger, rank) - 1;
}

/* The list of the blocks of these ranks. */
static struct ftc_value blocks_of(struct job *job, int op, const int ranks[])
{
    struct ftc_value list = {0}, block, merged;
    struct ftc_call call;

    for (int r = 0; ranks[r] >= 0; r++) {
        ftc_ledger_prepare(job->ledger, ranks[r], op, &call);
        ck_assert_int_eq(
            ftc_blocks_make(&block, &(struct ftc_block){ranks[r], call.input_size, call.input}, 1),
            FTC_SUCCESS);
        if (list.buffer == NULL) {
            list = block;
            continue;
        }
        ck_assert_int_eq(ftc_blocks_merge(&merged, &list, &block), FTC_SUCCESS);
        ftc_value_drop(&list);
        ftc_value_drop(&block);
        list = merged;
    }
    return list;
}

struct ftc_value job_value(struct job *job, int at, const int ranks[])
{
    struct ftc_call mine, call;
    int op = under_way(job, at);

    if (ftc_program_gathers(&job->program.operation[op]))
        return blocks_of(job, op, ranks);
    ftc_ledger_prepare(job->ledger, at, op, &mine);
    struct ftc_value value = {.buffer = ftc_buffer_new(mine.signature.size),
                              .size = mine.signature.size};
    memset(value.buffer->data, 0, value.size);
    for (int r = 0; ranks[r] >= 0; r++) {
        ftc_ledger_prepare(job->ledger, ranks[r], op, &call);
        mine.combine(mine.combine_arg, call.input, value.buffer->data, value.size);
    }
    return value;
}

struct ftc_decision *job_decision(struct job *job, int at, const int counted[])
{
    struct ftc_decision *decision = ftc_decision_new(job->settings.ranks);

    if (ftc_program_combines_for_all(&job->program.operation[under_way(job, at)]))
        decision->value = job_value(job, at, counted);
    return decision;
}

/* What the members of this operation agree on. */
static struct ftc_signature signature_of(struct job *job, int rank, int op)
{
    struct ftc_call call;

    ftc_ledger_prepare(job->ledger, rank, op, &call);
    if (call.signature.kind == FTC_CALL_VALIDATE)
        call.signature.size = ((size_t)job->settings.ranks + 7) / 8;
    return call.signature;
}

void job_decide(struct job *job, int rank, struct ftc_decision *decision)
{
    int op = under_way(job, rank);
    struct ftc_message message = {.kind = FTC_MESSAGE_DECIDE,
                                  .op = (uint64_t)op,
                                  .epoch = ftc_member_epoch(job->member[rank]),
                                  .signature = signature_of(job, rank, op),
                                  .contribution = {.decision = decision}};
    struct ftc_buffer *head = ftc_message_encode(&message, job->settings.scheme);
    struct ftc_buffer *bytes = join(head, &decision->value);

    receive(job, rank, rank == 0 ? 1 : 0, bytes);
    ftc_buffer_unref(head);
    ftc_buffer_unref(bytes);
    ftc_decision_unref(decision);
}

/* --- verdicts --- */

void job_kept(const struct job *job)
{
    ck_assert_str_eq(ftc_ledger_violation(job->ledger), "");
}

void job_broken(const struct job *job, const char *words)
{
    ck_assert_msg(strstr(ftc_ledger_violation(job->ledger), words) != NULL,
                  "\"%s\" is not in \"%s\"", words, ftc_ledger_violation(job->ledger));
}
