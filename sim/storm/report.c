/* Prints reports of storms. */
#include "sim/storm/report.h"

#include <jansson.h>
#include <string.h>

#include "base/error.h"

static int count_rules(const struct ftc_storm_sums *sums)
{
    int taken = 0;

    for (int rule = 0; rule < FTC_RULES_ONE_LEVEL; rule++)
        taken += sums->rules[rule] > 0;
    return taken;
}

static double rate_of(const struct ftc_storm_report *r)
{
    return r->seconds > 0 ? (double)r->outcome->sums.runs / r->seconds : 0;
}

/* --- for people --- */

static void print_violation(const struct ftc_storm_report *r, FILE *out)
{
    const struct ftc_shrunk *shrunk = r->shrunk;

    fprintf(out, "seed %llu breaks a promise: %s\n", (unsigned long long)r->outcome->seed,
            r->outcome->violation);
    if (shrunk != NULL && shrunk->violation[0] != '\0')
        fprintf(out, "The smallest run found in %llu trials: %s\n\n%s\nreplay: %s\n",
                (unsigned long long)shrunk->runs, shrunk->violation, shrunk->trace, r->replay);
    else
        fputs("It could not be had again from a record, so there is no smaller run.\n", out);
    fprintf(out, "the whole run: %s\n", r->again);
}

static void print_rules(const struct ftc_storm_sums *sums, FILE *out)
{
    for (int rule = 0; rule < FTC_RULES_ONE_LEVEL; rule++)
        fprintf(out, "%14llu  %s\n", (unsigned long long)sums->rules[rule],
                ftc_rule_name((enum ftc_rule)rule));
}

void ftc_storm_report_print(const struct ftc_storm_report *report, FILE *out)
{
    const struct ftc_storm_outcome *outcome = report->outcome;
    const struct ftc_storm_sums *sums = &outcome->sums;

    fprintf(
        out,
        "%llu of %llu runs from seed %llu, %.0f schedules/s (%d jobs, %.1f s), %llu deaths, %llu "
        "flipped bits, %llu events\n",
        (unsigned long long)sums->runs, (unsigned long long)report->runs,
        (unsigned long long)report->seed, rate_of(report), report->jobs, report->seconds,
        (unsigned long long)sums->deaths, (unsigned long long)sums->flips,
        (unsigned long long)sums->steps);
    fprintf(out, "%d of %d rules taken\n", count_rules(sums), (int)FTC_RULES_ONE_LEVEL);
    if (report->rules)
        print_rules(sums, out);
    if (outcome->violated)
        print_violation(report, out);
    else
        fprintf(out, "%sno promise was broken\n", outcome->interrupted ? "interrupted; " : "");
}

/* --- JSON --- */

static json_t *pack_rules(const struct ftc_storm_sums *sums)
{
    json_t *rules = json_object();

    for (int rule = 0; rule < FTC_RULES_ONE_LEVEL; rule++)
        json_object_set_new(rules, ftc_rule_name((enum ftc_rule)rule),
                            json_integer((json_int_t)sums->rules[rule]));
    return rules;
}

static json_t *pack_lines(const char *text)
{
    json_t *lines = json_array();

    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1)
        json_array_append_new(lines, json_stringn(text, (size_t)(end - text)));
    return lines;
}

static json_t *pack_shrunk(const struct ftc_storm_report *r)
{
    if (r->shrunk == NULL || r->shrunk->violation[0] == '\0')
        return json_null();
    return json_pack("{s:s, s:I, s:s, s:o}", "promise", r->shrunk->violation, "trials",
                     (json_int_t)r->shrunk->runs, "replay", r->replay, "trace",
                     pack_lines(r->shrunk->trace));
}

static json_t *pack_violation(const struct ftc_storm_report *r)
{
    if (!r->outcome->violated)
        return json_null();
    return json_pack("{s:I, s:s, s:s, s:o}", "seed", (json_int_t)r->outcome->seed, "promise",
                     r->outcome->violation, "again", r->again, "shrunk", pack_shrunk(r));
}

int ftc_storm_report_json(const struct ftc_storm_report *report, FILE *out)
{
    const struct ftc_storm_sums *sums = &report->outcome->sums;
    json_t *root = json_pack(
        "{s:i, s:I, s:I, s:I, s:b, s:i, s:f, s:f, s:I, s:I, s:I, s:o, s:o}", "schema", 1, "seed",
        (json_int_t)report->seed, "runs", (json_int_t)sums->runs, "runs_wanted",
        (json_int_t)report->runs, "interrupted", report->outcome->interrupted, "jobs", report->jobs,
        "seconds", report->seconds, "schedules_per_second", rate_of(report), "deaths",
        (json_int_t)sums->deaths, "flips", (json_int_t)sums->flips, "events",
        (json_int_t)sums->steps, "rules", pack_rules(sums), "violation", pack_violation(report));

    if (root == NULL || json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) != 0) {
        json_decref(root);
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for the JSON of a storm; leave --json out");
    }
    json_decref(root);
    fputc('\n', out);
    return FTC_SUCCESS;
}
