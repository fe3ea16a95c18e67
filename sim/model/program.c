/* Parses programs, and writes them as text. */
#include "sim/model/program.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* A longer program is a typing error, such as "barrier*1000000000". */
#define LENGTH_LIMIT 1000000

static const enum ftc_call_kind kinds[] = {
    FTC_CALL_ALLREDUCE, FTC_CALL_REDUCE,   FTC_CALL_BCAST,    FTC_CALL_BARRIER,
    FTC_CALL_VALIDATE,  FTC_CALL_FINALIZE, FTC_CALL_GOSSIP,   FTC_CALL_ALLGATHER,
    FTC_CALL_GATHER,    FTC_CALL_SCATTER,  FTC_CALL_ALLTOALL, FTC_CALL_REDUCE_SCATTER,
    FTC_CALL_SCAN,      FTC_CALL_EXSCAN,   FTC_CALL_SIZES};

#define EMPTY   "-barrier" /* suffix of "gossip" */
#define ORDERED "-ordered" /* suffix of a reduction */

static bool has_root(enum ftc_call_kind kind)
{
    return ftc_call_table[kind].rooted;
}

/* "reduce:2*3" between `text` and `end`. */
struct item {
    const char *text, *end;
    struct ftc_program_operation operation;
    int times;
};

static int wrong(const struct item *item, const char *what)
{
    return ftc_error_set(
        FTC_ERR_ARG,
        "operation \"%.*s\": %s; write a list such as \"allreduce,reduce:0,bcast:2,"
        "barrier*3,validate,finalize\"",
        (int)(item->end - item->text), item->text, what);
}

/* Read a decimal number up to `most` at *at, and move *at behind it. -1: there is none, or it is
 * too large. */
static int read_number(const char **at, const char *end, int most)
{
    long long number = 0;
    const char *p = *at;

    for (; p < end && isdigit((unsigned char)*p) && number <= most; p++)
        number = 10 * number + (*p - '0');
    if (p == *at || number > most)
        return -1;
    *at = p;
    return (int)number;
}

static enum ftc_call_kind find_kind(const char *name, size_t length)
{
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        const char *known = ftc_call_kind_name(kinds[k]);
        if (strlen(known) == length && memcmp(known, name, length) == 0)
            return kinds[k];
    }
    return FTC_CALL_NONE;
}

static int read_root(struct item *item, const char **at, int ranks)
{
    bool given = *at < item->end && **at == ':';

    item->operation.root = has_root(item->operation.kind) ? 0 : -1;
    if (!given)
        return FTC_SUCCESS;
    if (!has_root(item->operation.kind))
        return wrong(item, "only a reduce, bcast, gather or scatter has a root");
    (*at)++;
    item->operation.root = read_number(at, item->end, ranks - 1);
    return item->operation.root < 0 ? wrong(item, "the root is no rank of this communicator")
                                    : FTC_SUCCESS;
}

/* The kind that stands before this suffix; NONE: there is another ending, or no such kind. */
static enum ftc_call_kind find_before(const char *name, size_t length, const char *suffix)
{
    size_t tail = strlen(suffix);

    if (length <= tail || memcmp(name + length - tail, suffix, tail) != 0)
        return FTC_CALL_NONE;
    return find_kind(name, length - tail);
}

static struct ftc_program_operation read_name(const char *name, size_t length)
{
    enum ftc_call_kind kind = find_before(name, length, ORDERED);

    if (ftc_call_table[kind].reduces)
        return (struct ftc_program_operation){.kind = kind, .ordered = true};
    if (find_before(name, length, EMPTY) == FTC_CALL_GOSSIP)
        return (struct ftc_program_operation){.kind = FTC_CALL_GOSSIP, .empty = true};
    return (struct ftc_program_operation){.kind = find_kind(name, length)};
}

static int read_item(struct item *item, int ranks)
{
    const char *at = item->text;

    while (at < item->end && *at != ':' && *at != '*')
        at++;
    item->operation = read_name(item->text, (size_t)(at - item->text));
    if (item->operation.kind == FTC_CALL_NONE)
        return wrong(item, "no such operation");
    int rc = read_root(item, &at, ranks);
    if (rc != FTC_SUCCESS)
        return rc;
    item->times = 1;
    if (at < item->end && *at == '*') {
        at++;
        item->times = read_number(&at, item->end, LENGTH_LIMIT);
        if (item->times < 1)
            return wrong(item, "the number of repetitions is not between 1 and 1000000");
    }
    return at == item->end ? FTC_SUCCESS : wrong(item, "trailing characters");
}

static int append(struct ftc_program *program, const struct item *item)
{
    size_t length = (size_t)program->length + (size_t)item->times;

    if (length > LENGTH_LIMIT)
        return ftc_error_set(FTC_ERR_ARG, "more than %d operations; give fewer", LENGTH_LIMIT);
    void *room = realloc(program->operation, length * sizeof(*program->operation));
    if (room == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for %zu operations; give fewer", length);
    program->operation = room;
    for (int t = 0; t < item->times; t++)
        program->operation[program->length++] = item->operation;
    return FTC_SUCCESS;
}

/* No operation may follow a finalize. */
static int check_finalize(const struct ftc_program *program)
{
    for (int op = 0; op + 1 < program->length; op++) {
        if (program->operation[op].kind == FTC_CALL_FINALIZE)
            return ftc_error_set(
                FTC_ERR_ARG, "operation %d is finalize, but not the last; move it to the end", op);
    }
    return FTC_SUCCESS;
}

static int parse_items(struct ftc_program *program, const char *text, int ranks)
{
    struct item item = {.end = text - 1};

    do {
        item.text = item.end + 1;
        item.end = item.text + strcspn(item.text, ",");
        int rc = read_item(&item, ranks);
        if (rc == FTC_SUCCESS)
            rc = append(program, &item);
        if (rc != FTC_SUCCESS)
            return rc;
    } while (*item.end != '\0');
    return check_finalize(program);
}

int ftc_program_parse(struct ftc_program *program, const char *text, int ranks)
{
    *program = (struct ftc_program){0};
    int rc = parse_items(program, text, ranks);

    if (rc != FTC_SUCCESS)
        ftc_program_fini(program);
    return rc;
}

void ftc_program_fini(struct ftc_program *program)
{
    free(program->operation);
    *program = (struct ftc_program){0};
}

static bool same(const struct ftc_program_operation *a, const struct ftc_program_operation *b)
{
    return a->kind == b->kind && a->root == b->root && a->empty == b->empty &&
           a->ordered == b->ordered;
}

static void print_item(FILE *out, const struct ftc_program_operation *operation, int times)
{
    fputs(ftc_call_kind_name(operation->kind), out);
    if (operation->empty)
        fputs(EMPTY, out);
    if (operation->ordered)
        fputs(ORDERED, out);
    if (has_root(operation->kind))
        fprintf(out, ":%d", operation->root);
    if (times > 1)
        fprintf(out, "*%d", times);
}

char *ftc_program_format(const struct ftc_program *program)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    if (out == NULL)
        return NULL;
    for (int op = 0, times = 1; op < program->length; op += times) {
        times = 1;
        while (op + times < program->length &&
               same(&program->operation[op], &program->operation[op + times]))
            times++;
        if (op > 0)
            fputc(',', out);
        print_item(out, &program->operation[op], times);
    }
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

bool ftc_program_gathers(const struct ftc_program_operation *operation)
{
    return ftc_call_table[operation->kind].gathers || operation->ordered;
}

bool ftc_program_combines(const struct ftc_program_operation *operation)
{
    return ftc_call_table[operation->kind].reduces || ftc_program_gathers(operation) ||
           (operation->kind == FTC_CALL_GOSSIP && !operation->empty);
}

bool ftc_program_combines_for_all(const struct ftc_program_operation *operation)
{
    return ftc_program_combines(operation) && ftc_call_table[operation->kind].has_result;
}

bool ftc_program_exchanges(const struct ftc_member_settings *s, enum ftc_call_kind kind,
                           int members)
{
    bool plain = s->scheme == FTC_SCHEME_LIST && s->share == FTC_SHARE_PIGGYBACK &&
                 (s->flips == NULL || kind == FTC_CALL_GOSSIP) &&
                 s->integrity == FTC_INTEGRITY_NONE && s->dissemination == FTC_DISSEMINATION_TREE &&
                 s->correction == FTC_CORRECTION_NONE;

    return plain && !ftc_call_table[kind].rooted && members > 1 && members <= s->doubling;
}

int ftc_program_least_failures(const struct ftc_member_settings *settings, enum ftc_call_kind kind,
                               int members, struct ftc_ballot_id b)
{
    bool masks =
        b.s > 0 && !(b.i == 0 && b.s == 1 && ftc_program_exchanges(settings, kind, members));

    return (int)(b.i + b.s) + (masks ? settings->f : 0);
}
