/*
 * The table of ranks. Ranks that do the same share a row, so a job of hundreds of ranks takes a few
 * lines. In a small job, or with --all, each rank has its own row. A column is as wide as its
 * widest cell. If the terminal is too narrow, the least needed columns are left out, and a note
 * names them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/status.h"
#include "collectives/agreement/member.h"

#define CELL_SIZE 64
#define SMALL_JOB 16 /* in a job of at most so many ranks, each has its own row */
#define GAP       2  /* blanks between columns */

enum column {
    RANK,
    STATE,
    PID,
    NODE,
    BEAT,
    OPERATION,
    IN,
    SINCE,
    BALLOT,
    WAITS,
    KNOWN,
    AGREED,
    EPOCH,
    CARRIERS,
    NOTE,
    COLUMNS
};

static const struct {
    const char *title;
    int leave; /* order in which columns are left out; 0: never */
} columns[COLUMNS] = {
    [RANK] = {"RANK", 0}, //
    [STATE] = {"STATE", 0},
    [PID] = {"PID", 5},
    [NODE] = {"NODE", 1},
    [BEAT] = {"BEAT", 0},
    [OPERATION] = {"OPERATION", 0},
    [IN] = {"IN", 8},
    [SINCE] = {"FOR", 6},
    [BALLOT] = {"BALLOT", 3},
    [WAITS] = {"WAITS FOR", 7},
    [KNOWN] = {"|L|", 4},
    [AGREED] = {"|G|", 4},
    [EPOCH] = {"EPOCH", 2},
    [CARRIERS] = {"MESSAGES BY", 1},
    [NOTE] = {"", 0},
};
#define LEAVE_STEPS 8

/* Ranks that share a row. They all do what the rank `first` does, except for the values here. */
struct row {
    struct ftc_set ranks;
    int first, count;
    uint64_t longest_ns, stillest_ns, unsettled_ns;
    bool one_target;        /* all wait for the same rank and message, and for as many ranks */
    bool one_node, one_way; /* all are on one node; all have the same carriers */
    char cell[COLUMNS][CELL_SIZE];
};

struct table {
    struct row *row;
    int rows;
    int width[COLUMNS]; /* 0: the column is left out */
};

static bool same_activity(const struct ftc_status_activity *a, const struct ftc_status_activity *b)
{
    return a->certain == b->certain && a->kind == b->kind && a->op == b->op &&
           (a->kind == FTC_CALL_NONE || a->communicator == b->communicator) &&
           a->ballot_i == b->ballot_i && a->ballot_s == b->ballot_s && a->wait == b->wait &&
           a->epoch_op == b->epoch_op && a->epoch_i == b->epoch_i && a->epoch_s == b->epoch_s &&
           a->known_failed == b->known_failed && a->agreed_failed == b->agreed_failed;
}

static bool same_row(const struct ftc_status_rank *a, const struct ftc_status_rank *b)
{
    if (a->state != b->state || a->pulse != b->pulse)
        return false;
    if (ftc_status_live(a))
        return a->lag == b->lag && same_activity(&a->activity, &b->activity);
    if (a->state == FTC_STATUS_FAILED)
        return a->failure.cause == b->failure.cause && a->failure.detail == b->failure.detail;
    return a->state != FTC_STATUS_ENDED || a->wait_status == b->wait_status;
}

static int new_row(struct table *table, const struct ftc_job_status *status, int rank)
{
    struct row *row = &table->row[table->rows];
    int rc = ftc_set_init(&row->ranks, status->ranks);
    if (rc != 0)
        return rc;
    table->rows++;
    row->first = rank;
    row->one_node = row->one_way = true;
    row->one_target = true;
    return 0;
}

static void join_row(struct row *row, const struct ftc_job_status *status, int rank)
{
    const struct ftc_status_rank *first = &status->rank[row->first], *other = &status->rank[rank];
    ftc_set_add(&row->ranks, rank);
    row->count++;
    row->one_target &= first->activity.waits_for == other->activity.waits_for &&
                       first->activity.waits == other->activity.waits &&
                       first->activity.message.tag == other->activity.message.tag &&
                       first->activity.message.bytes == other->activity.message.bytes;
    row->one_node &= first->node == other->node;
    row->one_way &= memcmp(first->carriers, other->carriers, sizeof(first->carriers)) == 0;
    if (other->activity.age_ns != FTC_STATUS_NEVER && other->activity.age_ns > row->longest_ns)
        row->longest_ns = other->activity.age_ns;
    if (other->activity.unsettled_ns != FTC_STATUS_NEVER &&
        other->activity.unsettled_ns > row->unsettled_ns)
        row->unsettled_ns = other->activity.unsettled_ns;
    if (other->still_ns > row->stillest_ns)
        row->stillest_ns = other->still_ns;
}

static int group(struct table *table, const struct ftc_job_status *status, bool each)
{
    for (int rank = 0; rank < status->ranks; rank++) {
        int at = each ? table->rows : 0;
        while (at < table->rows &&
               !same_row(&status->rank[table->row[at].first], &status->rank[rank]))
            at++;
        if (at == table->rows && new_row(table, status, rank) != 0)
            return FTC_ERR_NOMEM;
        join_row(&table->row[at], status, rank);
    }
    return 0;
}

static void fill_process(struct row *row, const struct ftc_job_status *status)
{
    const struct ftc_status_rank *rank = &status->rank[row->first];
    char carriers[FTC_STATUS_TEXT];
    ftc_set_format(&row->ranks, row->cell[RANK], CELL_SIZE);
    snprintf(row->cell[STATE], CELL_SIZE, "%s", ftc_status_state_name(rank->state));
    snprintf(row->cell[NODE], CELL_SIZE, "%.*s", CELL_SIZE - 1,
             row->one_node ? status->node[rank->node].host : "several");
    snprintf(row->cell[CARRIERS], CELL_SIZE, "%.*s", CELL_SIZE - 1,
             row->one_way ? ftc_status_carriers(rank, carriers) : "several");
    if (row->count == 1 && rank->pid > 0)
        snprintf(row->cell[PID], CELL_SIZE, "%d", rank->pid);
    else
        snprintf(row->cell[PID], CELL_SIZE, row->count > 1 ? "(%d)" : "-", row->count);
}

static void fill_beat(struct row *row, const struct ftc_status_rank *rank)
{
    char age[FTC_STATUS_TEXT];
    static const char *const words[FTC_PULSES] = {"-", "?", "moving", ""};
    snprintf(row->cell[BEAT], CELL_SIZE, "%s", words[rank->pulse]);
    if (rank->pulse == FTC_PULSE_STILL)
        snprintf(row->cell[BEAT], CELL_SIZE, "still %.20s", ftc_status_age(row->stillest_ns, age));
}

static void fill_waits(struct row *row, const struct ftc_status_activity *activity)
{
    static const char *const words[] = {"-",           "group", "child",      "decision", "notice",
                                        "coordinator", "mark",  "room",       "post",     "result",
                                        "gossip",      "ring",  "settlement", "request",  "message",
                                        "receiver",    "rest"};
    _Static_assert(sizeof(words) / sizeof(words[0]) == FTC_WAITS, "a wait without a word");
    const char *what =
        activity->wait >= 0 && activity->wait < FTC_WAITS ? words[activity->wait] : "?";
    char *cell = row->cell[WAITS], message[FTC_CHAIN_MESSAGE];

    if (activity->message.kind != 0)
        snprintf(cell, CELL_SIZE, "%.*s", CELL_SIZE - 1,
                 row->one_target ? ftc_chain_message_words(&activity->message, message)
                                 : "several");
    else if (activity->wait == FTC_WAIT_NOTHING || activity->waits_for == -1)
        snprintf(cell, CELL_SIZE, "%s", what);
    else if (activity->waits_for < 0)
        snprintf(cell, CELL_SIZE, "%s ?", what);
    else if (!row->one_target)
        snprintf(cell, CELL_SIZE, "%s several", what);
    else if (activity->waits > 1)
        snprintf(cell, CELL_SIZE, "%s %d +%" PRIu32, what, activity->waits_for,
                 activity->waits - 1);
    else
        snprintf(cell, CELL_SIZE, "%s %d", what, activity->waits_for);
}

/* A send or a receive has no number, and no ballots. */
static void fill_call(struct row *row, const struct ftc_status_activity *activity)
{
    bool passes = activity->message.kind != 0;
    char number[24] = "";

    if (!passes)
        snprintf(number, sizeof(number), " %" PRIu64, activity->op);
    snprintf(row->cell[OPERATION], CELL_SIZE, "%s%s%s", ftc_status_kind_name(activity->kind),
             number, activity->certain ? "" : " ?");
    if (!passes)
        snprintf(row->cell[BALLOT], CELL_SIZE, "%" PRIu32 ",%" PRIu32, activity->ballot_i,
                 activity->ballot_s);
}

/* "0" if every decision so far was taken in the first ballot; else operation and ballot, as in
 * agreement.md. */
static void fill_epoch(char *cell, const struct ftc_status_activity *activity)
{
    if (activity->epoch_op == 0 && activity->epoch_i == 0 && activity->epoch_s == 0)
        snprintf(cell, CELL_SIZE, "0");
    else
        snprintf(cell, CELL_SIZE, "%" PRIu64 ":%" PRIu32 ",%" PRIu32, activity->epoch_op,
                 activity->epoch_i, activity->epoch_s);
}

static void fill_activity(struct row *row, const struct ftc_status_rank *rank)
{
    const struct ftc_status_activity *activity = &rank->activity;
    char age[FTC_STATUS_TEXT];
    if (activity->kind == FTC_CALL_NONE) {
        snprintf(row->cell[OPERATION], CELL_SIZE, "outside");
    } else {
        fill_call(row, activity);
        fill_waits(row, activity);
        snprintf(row->cell[IN], CELL_SIZE, "%s", activity->communicator_name);
    }
    snprintf(row->cell[SINCE], CELL_SIZE, "%.20s",
             ftc_status_age(
                 activity->age_ns == FTC_STATUS_NEVER ? FTC_STATUS_NEVER : row->longest_ns, age));
    snprintf(row->cell[KNOWN], CELL_SIZE, "%" PRIu32, activity->known_failed);
    snprintf(row->cell[AGREED], CELL_SIZE, "%" PRIu32, activity->agreed_failed);
    fill_epoch(row->cell[EPOCH], activity);
    if (rank->lag > 0)
        snprintf(row->cell[NOTE], CELL_SIZE, "lags by %" PRIu64, rank->lag);
    else if (row->unsettled_ns > 0)
        snprintf(row->cell[NOTE], CELL_SIZE, "unsettled %.20s",
                 ftc_status_age(row->unsettled_ns, age));
}

static void fill(struct row *row, const struct ftc_job_status *status)
{
    const struct ftc_status_rank *rank = &status->rank[row->first];
    char text[FTC_STATUS_TEXT];

    for (int i = 0; i < NOTE; i++)
        snprintf(row->cell[i], CELL_SIZE, "-");
    fill_process(row, status);
    fill_beat(row, rank);
    if (ftc_status_live(rank))
        fill_activity(row, rank);
    else if (rank->state == FTC_STATUS_FAILED)
        snprintf(row->cell[OPERATION], CELL_SIZE, "%.31s", ftc_status_cause(&rank->failure, text));
    else if (rank->state == FTC_STATUS_ENDED)
        snprintf(row->cell[OPERATION], CELL_SIZE, "%.31s",
                 ftc_status_ended(rank->wait_status, text));
}

static void measure(struct table *table)
{
    for (int i = 0; i < COLUMNS; i++) {
        table->width[i] = (int)strlen(columns[i].title);
        for (int row = 0; row < table->rows; row++) {
            int length = (int)strlen(table->row[row].cell[i]);
            table->width[i] = length > table->width[i] ? length : table->width[i];
        }
    }
}

static int total_width(const struct table *table)
{
    int total = -GAP;
    for (int i = 0; i < COLUMNS; i++)
        total += table->width[i] > 0 ? table->width[i] + GAP : 0;
    return total;
}

static void narrow(struct table *table, int limit)
{
    for (int step = 1; limit > 0 && step <= LEAVE_STEPS && total_width(table) > limit; step++)
        for (int i = 0; i < COLUMNS; i++)
            if (columns[i].leave == step)
                table->width[i] = 0;
}

/* Print one line, without blanks after the last cell. */
static void print_line(const struct table *table, const char *const cells[COLUMNS], FILE *out)
{
    int blanks = 0;
    for (int i = 0; i < COLUMNS; i++) {
        if (table->width[i] == 0 || cells[i][0] == '\0')
            continue;
        fprintf(out, "%*s%s", blanks, "", cells[i]);
        blanks = table->width[i] - (int)strlen(cells[i]) + GAP;
    }
    fputc('\n', out);
}

static void print(const struct table *table, const struct ftc_job_status *status, FILE *out)
{
    const char *cells[COLUMNS];
    for (int i = 0; i < COLUMNS; i++)
        cells[i] = columns[i].title;
    print_line(table, cells, out);
    for (int row = 0; row < table->rows; row++) {
        for (int i = 0; i < COLUMNS; i++)
            cells[i] = table->row[row].cell[i];
        print_line(table, cells, out);
    }
    const char *separator = "(no room for ";
    for (int i = 0; i < NOTE; i++) {
        if (table->width[i] > 0 ||
            (i == NODE && status->nodes == 1) || /* the head of the page names the node */
            (i == CARRIERS && !status->carried) || (i == IN && !status->communicates))
            continue;
        fprintf(out, "%s%s", separator, columns[i].title);
        separator = ", ";
    }
    if (separator[0] == ',')
        fputs(")\n", out);
}

int ftc_status_table(const struct ftc_job_status *status, const struct ftc_status_view *view,
                     FILE *out)
{
    struct table table = {.row = calloc((size_t)status->ranks, sizeof(*table.row))};
    if (table.row == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    int rc = group(&table, status, view->all || status->ranks <= SMALL_JOB);
    if (rc != 0)
        goto out_free;
    for (int i = 0; i < table.rows; i++)
        fill(&table.row[i], status);
    measure(&table);
    if (!status->carried)
        table.width[CARRIERS] = 0;
    if (!status->communicates)
        table.width[IN] = 0;
    narrow(&table, view->width);
    print(&table, status, out);

out_free:
    for (int i = 0; i < table.rows; i++)
        ftc_set_fini(&table.row[i].ranks);
    free(table.row);
    return rc;
}
