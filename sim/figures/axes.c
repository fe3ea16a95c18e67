/* The axes of a table of broadcasts. */
#include "sim/figures/axes.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define WORD 64

/* Read the next word of a list. False: it does not fit. */
static bool next_word(const char **at, char word[WORD])
{
    size_t size = strcspn(*at, ",");

    if (size >= WORD)
        return false;
    memcpy(word, *at, size);
    word[size] = '\0';
    *at += size + ((*at)[size] == ',');
    return true;
}

typedef int take_word(struct ftc_figures_axes *axes, const char *word);

static int each_word(struct ftc_figures_axes *axes, const char *option, const char *text,
                     take_word *take)
{
    const char *at = text;
    char word[WORD];
    int rc = 0;

    do {
        if (!next_word(&at, word))
            return ftc_error_set(FTC_ERR_ARG, "%s %s: a word is too long; see --help", option,
                                 text);
        rc = take(axes, word);
    } while (rc == 0 && *at != '\0');
    return rc;
}

/* --- ways --- */

static bool same_way(const struct ftc_figures_way *a, const struct ftc_figures_way *b)
{
    if (a->baseline || b->baseline)
        return a->baseline && b->baseline && a->kind == b->kind;
    return a->pair.dissemination == b->pair.dissemination && a->pair.tree == b->pair.tree &&
           a->pair.correction == b->pair.correction;
}

static void add_way(struct ftc_figures_axes *axes, const struct ftc_figures_way *way)
{
    for (int i = 0; i < axes->ways; i++)
        if (same_way(&axes->way[i], way))
            return;
    axes->way[axes->ways++] = *way; /* there are not more different ways than room */
}

static int take_way(struct ftc_figures_axes *axes, const char *word)
{
    struct ftc_figures_way way = {0};
    bool all = strcmp(word, "all") == 0, baselines = strcmp(word, "baselines") == 0, found = false;

    for (int i = 0; all && i < FTC_PAIRS; i++)
        add_way(axes, &(struct ftc_figures_way){.pair = ftc_pair_at(i)});
    for (int i = 0; i < FTC_BASELINES; i++) {
        way = (struct ftc_figures_way){.baseline = true, .kind = (enum ftc_baseline)i};
        if (!baselines && strcmp(word, ftc_baseline_name(way.kind)) != 0)
            continue;
        add_way(axes, &way);
        found = true;
    }
    if (all || found)
        return 0;
    way.baseline = false;
    int rc = ftc_pair_parse(&way.pair, word);
    if (rc == 0)
        add_way(axes, &way);
    return rc;
}

int ftc_figures_read_ways(struct ftc_figures_axes *axes, const char *text)
{
    axes->ways = 0;
    return each_word(axes, "--combination", text, take_way);
}

/* --- numbers --- */

static int full(const char *option)
{
    return ftc_error_set(FTC_ERR_ARG, "%s: more than %d values; give fewer", option,
                         FTC_FIGURES_VALUES);
}

static int take_failed(struct ftc_figures_axes *axes, const char *word)
{
    struct ftc_figures_failed failed = {0};
    char number[WORD];
    size_t length = strlen(word);

    if (axes->faileds == FTC_FIGURES_VALUES)
        return full("--failed");
    failed.percent = length > 0 && word[length - 1] == '%';
    snprintf(number, sizeof(number), "%.*s", (int)length - failed.percent, word);
    uint64_t whole = 0;
    int rc = failed.percent ? ftc_option_real("--failed", number, 0, 99, &failed.value)
                            : ftc_option_number("--failed", number, 0, INT32_MAX, &whole);
    if (!failed.percent)
        failed.value = (double)whole;
    if (rc == 0)
        axes->failed[axes->faileds++] = failed;
    return rc;
}

int ftc_figures_read_failed(struct ftc_figures_axes *axes, const char *text)
{
    axes->faileds = 0;
    return each_word(axes, "--failed", text, take_failed);
}

static int take_loss(struct ftc_figures_axes *axes, const char *word)
{
    if (axes->losses == FTC_FIGURES_VALUES)
        return full("--loss");
    int rc = ftc_option_real("--loss", word, 0, 100, &axes->loss[axes->losses]);
    axes->losses += rc == 0;
    return rc;
}

int ftc_figures_read_losses(struct ftc_figures_axes *axes, const char *text)
{
    axes->losses = 0;
    return each_word(axes, "--loss", text, take_loss);
}

char *ftc_figures_failed_name(const struct ftc_figures_failed *failed, char text[32])
{
    snprintf(text, 32, "%.10g%s", failed->value, failed->percent ? "%" : "");
    return text;
}
