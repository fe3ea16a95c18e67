/* ftcoll-sim reach and broadcast over a correction with a fault: tests what they say and do when a
 * promise is broken. */
#include <string.h>

#include "collectives/mutation.h"
#include "sim/options.h"

enum ftc_mutation ftc_mutation = FTC_MUTATION_LEAVE_OUT_WHOLE_SIDE;

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "reach") == 0)
        return ftc_command_reach(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "broadcast") == 0)
        return ftc_command_broadcast(argc - 1, argv + 1);
    return FTC_SIM_EXIT_USAGE;
}
