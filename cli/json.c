/*
 * --json: everything that ftcoll-status knows, for scripts. Schema 1: fields may be added, but are
 * never changed or removed. Times are in nanoseconds. A value that is not known is null. Names are
 * those of the tables and of ftcoll.ini.
 */
#include <jansson.h>
#include <string.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/status.h"
#include "collectives/agreement/member.h"
#include "runtime/choice/choice.h"

/* Not every word of 64 bits fits the signed integers of JSON. A word that does not makes no sense
 * here, and becomes null. */
static json_t *number(uint64_t value)
{
    return value <= INT64_MAX ? json_integer((json_int_t)value) : json_null();
}

static json_t *rank_or_null(int rank)
{
    return rank >= 0 ? json_integer(rank) : json_null();
}

static json_t *name_or_null(int value, const char *name)
{
    return value >= 0 ? json_string(name) : json_null();
}

static json_t *set_json(const struct ftc_set *set)
{
    json_t *array = json_array();
    for (int i = ftc_set_next(set, 0); array != NULL && i >= 0; i = ftc_set_next(set, i + 1))
        json_array_append_new(array, json_integer(i));
    return array;
}

static json_t *message_json(const struct ftc_chain_message *message)
{
    if (message->kind == 0)
        return json_null();
    return json_pack("{s:o, s:o}", "tag", rank_or_null(message->tag), "bytes",
                     number(message->bytes));
}

static json_t *activity_json(const struct ftc_status_activity *activity)
{
    return json_pack(
        "{s:o, s:b, s:o, s:s?, s:o, s:o, s:o, s:[oo], s:o, s:o, s:o, s:o, s:o, s:[oo], s:o, s:o, "
        "s:o, s:o}",                                                                           //
        "operation", name_or_null(activity->kind, ftc_status_kind_name(activity->kind)),       //
        "certain", activity->certain,                                                          //
        "communicator", number(activity->communicator),                                        //
        "communicator_name", activity->communicator != 0 ? activity->communicator_name : NULL, //
        "algorithm",
        activity->algorithm != NULL ? json_string(activity->algorithm) : json_null(),    //
        "number", number(activity->op),                                                  //
        "since_ns", number(activity->age_ns),                                            //
        "ballot", number(activity->ballot_i), number(activity->ballot_s),                //
        "waits_for", name_or_null(activity->wait, ftc_status_wait_name(activity->wait)), //
        "waits_for_rank", rank_or_null(activity->waits_for),                             //
        "waits", number(activity->waits),                                                //
        "root", rank_or_null(activity->root),                                            //
        "epoch_operation", number(activity->epoch_op),                                   //
        "epoch_ballot", number(activity->epoch_i), number(activity->epoch_s),            //
        "known_failed", number(activity->known_failed),                                  //
        "agreed_failed", number(activity->agreed_failed),                                //
        "unsettled_ns", number(activity->unsettled_ns),                                  //
        "message", message_json(&activity->message));
}

static json_t *failure_json(const struct ftc_status_failure *failure)
{
    char text[FTC_STATUS_TEXT];
    return json_pack(
        "{s:o, s:i, s:s, s:o, s:o, s:o}",                                             //
        "cause", name_or_null(failure->cause, ftc_status_cause_name(failure->cause)), //
        "detail", failure->detail,                                                    //
        "text", ftc_status_cause(failure, text),                                      //
        "seen_by",
        failure->seen_by == -1 ? json_string("launcher") : rank_or_null(failure->seen_by), //
        "age_ns", number(failure->age_ns),                                                 //
        "declared_after_ns", number(failure->declared_after_ns));
}

static json_t *sent_json(const struct ftc_status_rank *rank)
{
    json_t *sent = json_object();
    for (int i = 0; i < FTC_MESSAGES; i++)
        json_object_set_new(sent, ftc_message_kind_name((enum ftc_message_kind)i),
                            number(rank->sent[i]));
    return sent;
}

static json_t *rules_json(const struct ftc_status_rank *rank)
{
    json_t *rules = json_object();
    for (int i = 0; i < FTC_RULES_COUNT; i++)
        json_object_set_new(rules, ftc_rule_name((enum ftc_rule)i), number(rank->rules[i]));
    return rules;
}

static json_t *counters_json(const struct ftc_status_rank *rank)
{
    json_t *pieces = json_object(), *datagrams = json_object();
    for (int i = 0; i < FTC_PIECES; i++)
        json_object_set_new(pieces, ftc_pieces_name((enum ftc_pieces_kind)i),
                            number(rank->pieces[i]));
    for (int i = 0; i < FTC_DATAGRAMS; i++)
        json_object_set_new(datagrams, ftc_datagrams_name((enum ftc_datagrams)i),
                            number(rank->datagrams[i]));
    json_t *results = json_pack("{s:o, s:o, s:o}", "compared", number(rank->compared), "corrected",
                                number(rank->corrected), "detected", number(rank->detected));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", //
                     "sent", sent_json(rank),                              //
                     "bytes", number(rank->bytes),                         //
                     "ballots", number(rank->ballots),                     //
                     "dropped", number(rank->dropped),                     //
                     "suspicions", number(rank->suspicions),               //
                     "fencings", number(rank->fencings),                   //
                     "rules", rules_json(rank),                            //
                     "pieces", pieces,                                     //
                     "datagrams", datagrams,                               //
                     "results", results);
}

static json_t *carriers_json(const struct ftc_status_rank *rank)
{
    json_t *object = json_object();
    for (int i = 0; object != NULL && i < FTC_CARRIERS; i++)
        if (rank->carriers[i] > 0)
            json_object_set_new(object, ftc_carrier_name((enum ftc_carrier)i),
                                number(rank->carriers[i]));
    return object;
}

/* Returns null if no stack was asked for, or if the rank has no process here. */
static json_t *stack_json(const struct ftc_job_status *status, int rank)
{
    const struct ftc_status_stack *stack = status->stack != NULL ? &status->stack[rank] : NULL;
    if (stack == NULL || !stack->taken)
        return json_null();
    json_t *lines = json_array();
    for (const char *line = stack->text; lines != NULL && line != NULL && *line != '\0';) {
        const char *end = strchrnul(line, '\n');
        json_array_append_new(lines, json_stringn(line, (size_t)(end - line)));
        line = *end != '\0' ? end + 1 : end;
    }
    return json_pack("{s:o, s:o}", "lines", lines, "error",
                     stack->error[0] != '\0' ? json_string(stack->error) : json_null());
}

/* A time as nanoseconds after the start of the job. */
static json_t *moment(const struct ftc_job_status *status, uint64_t ns)
{
    return ns != 0 ? json_integer((json_int_t)(ns - status->started_ns)) : json_null();
}

static json_t *operation_json(const struct ftc_job_status *status,
                              const struct ftc_history_operation *o)
{
    return json_pack(
        "{s:o, s:b, s:o, s:i, s:i, s:o, s:s, s:o, s:s?, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
        "operation", name_or_null(o->kind, ftc_history_kind_name(o->kind)), //
        "request", o->request >= 0,                                         //
        "number", number(o->number),                                        //
        "count", o->count,                                                  //
        "returned", o->returned,                                            //
        "communicator", number(o->communicator),                            //
        "communicator_name", o->name,                                       //
        "bytes", number(o->size),                                           //
        "algorithm", ftc_choice_name(o->algorithm),                         //
        "called_ns", moment(status, o->called_ns),                          //
        "started_ns", moment(status, o->started_ns),                        //
        "decided_ns", moment(status, o->decided_ns),                        //
        "returned_ns", moment(status, o->returned_ns),                      //
        "waits_for_rank", rank_or_null(o->waits_for),                       //
        "waits_since_ns", moment(status, o->waited_ns),                     //
        "status", o->returned > 0 ? json_integer(o->status) : json_null(),  //
        "agreed_failed", o->returned > 0 ? json_integer(o->failed) : json_null());
}

/* Returns null if no history was asked for, or if there is none here. */
static json_t *history_json(const struct ftc_job_status *status, int rank)
{
    const struct ftc_status_history *history =
        status->history != NULL ? &status->history[rank] : NULL;
    if (history == NULL || !history->kept)
        return json_null();
    json_t *array = json_array();
    for (int i = 0; array != NULL && i < history->count; i++)
        json_array_append_new(array, operation_json(status, &history->operation[i]));
    return array;
}

static json_t *rank_json(const struct ftc_job_status *status, int i)
{
    const struct ftc_status_rank *rank = &status->rank[i];
    bool gone = rank->state == FTC_STATUS_ENDED || rank->state == FTC_STATUS_FAILED;
    bool own = rank->node == status->own_node;
    char ended[FTC_STATUS_TEXT];
    return json_pack(
        "{s:i, s:s, s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o, "
        "s:o, s:o, "
        "s:o, s:o, s:o}",                                //
        "rank", i,                                       //
        "state", ftc_status_state_name(rank->state),     //
        "pid", rank->pid,                                //
        "node", status->node[rank->node].host,           //
        "heartbeat", ftc_status_pulse_name(rank->pulse), //
        "heartbeat_count", number(rank->heartbeat),      //
        "heartbeat_still_ns",
        rank->pulse == FTC_PULSE_STILL ? number(rank->still_ns) : json_null(),                    //
        "joined_ns", number(rank->joined_age_ns),                                                 //
        "called", number(rank->called),                                                           //
        "returned", number(rank->returned),                                                       //
        "lag", number(rank->lag),                                                                 //
        "finally_waits_for", rank_or_null(status->link[i].end),                                   //
        "awaited_by", status->link[i].waiters,                                                    //
        "activity", activity_json(&rank->activity),                                               //
        "counters", own ? counters_json(rank) : json_null(),                                      //
        "carriers", own ? carriers_json(rank) : json_null(),                                      //
        "failure", rank->state == FTC_STATUS_FAILED ? failure_json(&rank->failure) : json_null(), //
        "ended", gone ? json_string(ftc_status_ended(rank->wait_status, ended)) : json_null(),    //
        "known", rank->has_sets ? set_json(&rank->known) : json_null(),                           //
        "agreed", rank->has_sets ? set_json(&rank->agreed) : json_null(),                         //
        "stack", stack_json(status, i),                                                           //
        "history", history_json(status, i));
}

/* The "section.key=value" lines of the configuration as an object. Keys that are not UTF-8 are
 * cleaned. */
static json_t *settings_json(const char *text)
{
    json_t *object = json_object();
    while (object != NULL && text != NULL && *text != '\0') {
        const char *end = strchrnul(text, '\n');
        const char *equals = memchr(text, '=', (size_t)(end - text));
        char key[64], value[128];
        if (equals != NULL) {
            ftc_text_clean(key, sizeof(key), text, (size_t)(equals - text));
            ftc_text_clean(value, sizeof(value), equals + 1, (size_t)(end - equals - 1));
            json_object_set_new(object, key, json_string(value));
        }
        text = *end != '\0' ? end + 1 : end;
    }
    return object;
}

static json_t *broadcast_json(const struct ftc_status_broadcast *broadcast)
{
    const char *name = ftc_combination_name(broadcast->dissemination, broadcast->correction);
    if (broadcast->exchange)
        return json_pack("{s:s, s:s, s:s, s:n}", "dissemination", "exchange", "tree", "none",
                         "correction", "none", "name");
    if (!broadcast->known)
        return json_null();
    return json_pack("{s:s, s:s, s:s, s:s?}",                                           //
                     "dissemination", ftc_dissemination_name(broadcast->dissemination), //
                     "tree", ftc_tree_name(broadcast->tree),                            //
                     "correction", ftc_correction_name(broadcast->correction),          //
                     "name", name);
}

static json_t *ranks_json(const struct ftc_job_status *status)
{
    json_t *array = json_array();
    for (int i = 0; array != NULL && i < status->ranks; i++)
        if (json_array_append_new(array, rank_json(status, i)) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *failed_json(const struct ftc_job_status *status)
{
    json_t *array = json_array();
    for (int i = 0; array != NULL && i < status->failures; i++)
        json_array_append_new(array, json_integer(status->failed[i]));
    return array;
}

static json_t *abort_json(const struct ftc_job_status *status)
{
    int rank = FTC_ABORT_RANK(status->abort);
    if (status->abort == 0)
        return json_null();
    return json_pack("{s:o, s:i}", "rank", rank_or_null(rank < status->ranks ? rank : -1), "code",
                     FTC_ABORT_CODE(status->abort));
}

static json_t *nodes_json(const struct ftc_job_status *status)
{
    json_t *array = json_array();
    for (int i = 0; array != NULL && i < status->nodes; i++) {
        const struct ftc_status_node *node = &status->node[i];
        json_array_append_new(
            array,
            json_pack("{s:i, s:s, s:i, s:i, s:o, s:o}",                              //
                      "node", i,                                                     //
                      "host", node->host,                                            //
                      "first_rank", node->first,                                     //
                      "np", node->count,                                             //
                      "state",                                                       //
                      name_or_null(node->state, ftc_status_node_state(node->state)), //
                      "since_ns", number(node->age_ns)));
    }
    return array;
}

/* The deadlocks: standing cycles of waiting through several communicators. */
static json_t *deadlocks_json(const struct ftc_job_status *status)
{
    char words[FTC_CHAIN_TEXT];
    json_t *array = json_array();
    for (int i = 0; array != NULL && i < status->ranks; i++) {
        if (!status->link[i].deadlock)
            continue;
        json_t *ranks = json_array();
        for (int left = status->link[i].cycle, rank = i; ranks != NULL && left > 0;
             left--, rank = status->link[rank].next)
            json_array_append_new(ranks, json_integer(rank));
        json_array_append_new(array, json_pack("{s:o, s:s}", "ranks", ranks, "text",
                                               ftc_chain_words(status->link, i, words)));
    }
    return array;
}

/* The seal of messages by TCP between hosts; null for a job of one host. */
static json_t *seal_json(const struct ftc_job_status *status)
{
    bool known = status->nodes > 1 && strcmp(status->seal, "?") != 0;
    return known ? json_string(status->seal) : json_null();
}

static json_t *job_json(const struct ftc_job_status *status)
{
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:o, s:i, s:i, s:o, s:i, s:b, s:b, s:o, s:o, s:o, s:o, s:o, "
        "s:o, s:o, s:o, s:o, s:o, s:o}",                            //
        "job", status->job,                                         //
        "state", ftc_status_job_state(status),                      //
        "node", status->host,                                       //
        "command", status->command,                                 //
        "directory", status->directory,                             //
        "broadcast", broadcast_json(&status->broadcast),            //
        "np", status->ranks,                                        //
        "f", status->f,                                             //
        "uid", number(status->uid),                                 //
        "launcher_pid", status->launcher_pid,                       //
        "launcher_alive", status->launcher_alive,                   //
        "launcher_stopped", status->launcher_stopped,               //
        "age_ns", number(status->age_ns),                           //
        "started_realtime_ns", number(status->started_realtime_ns), //
        "heartbeat_period_ns", number(status->period_ns),           //
        "heartbeat_timeout_ns", number(status->timeout_ns),         //
        "abort", abort_json(status),                                //
        "failed", failed_json(status),                              //
        "deadlocks", deadlocks_json(status),                        //
        "nodes", nodes_json(status),                                //
        "seal", seal_json(status),                                  //
        "settings", settings_json(status->text),                    //
        "ranks", ranks_json(status));
}

int ftc_status_json(struct ftc_job_status *const jobs[], int count, FILE *out)
{
    json_t *array = json_array();
    int rc = array != NULL ? 0 : -1;
    for (int i = 0; rc == 0 && i < count; i++)
        if (jobs[i] != NULL)
            rc = json_array_append_new(array, job_json(jobs[i]));
    json_t *top =
        rc == 0 ? json_pack("{s:i, s:O}", "schema", FTC_STATUS_SCHEMA, "jobs", array) : NULL;
    rc = top != NULL ? json_dumpf(top, out, JSON_INDENT(1)) : -1;
    json_decref(top);
    json_decref(array);
    fputc('\n', out);
    return rc == 0 ? 0 : ftc_error_set(FTC_ERR_NOMEM, "out of memory while writing JSON");
}
