/* Rows of broadcasts: whether to doze, and for how long. */
#include "runtime/algorithms/doze.h"

#define FIRST_NS 200000 /* before it is known what a doze brings */
#define EACH_NS  60000  /* for each broadcast that the last doze has brought */
#define MOST_NS  500000
#define WORTH    2  /* broadcasts that a doze must bring */
#define TRIES    3  /* so many dozes in a row that are not worth it */
#define PAUSE    32 /* broadcasts, after these */

/* The last doze is over: was it worth it? */
static void judge(struct ftc_doze *doze)
{
    bool worth = doze->brought >= WORTH;

    if (!doze->dozed)
        return;
    doze->dozed = worth;
    doze->vain = worth ? 0 : doze->vain + 1;
    if (doze->vain < TRIES)
        return;
    doze->vain = 0;
    doze->pause = PAUSE;
}

void ftc_doze_called(struct ftc_doze *doze, int root)
{
    doze->in_row = root >= 0 && root == doze->root;
    doze->root = root;
    if (doze->in_row)
        return;
    judge(doze);
    doze->dozed = false;
    doze->brought = 0;
}

void ftc_doze_delivered(struct ftc_doze *doze)
{
    doze->brought++;
    if (doze->pause > 0)
        doze->pause--;
}

uint64_t ftc_doze_take(struct ftc_doze *doze)
{
    if (!doze->in_row)
        return 0;
    judge(doze);
    if (doze->pause > 0)
        return 0;
    uint64_t ns = doze->dozed ? (uint64_t)doze->brought * EACH_NS : FIRST_NS;
    doze->dozed = true;
    doze->brought = 0;
    return ns < MOST_NS ? ns : MOST_NS;
}
