/* ftcoll-sim reach over a correction with a fault, for what it says and does when a promise is broken. */
#include "collectives/mutation.h"
#include "sim/options.h"

enum ftc_mutation ftc_mutation = FTC_MUTATION_LEAVE_OUT_WHOLE_SIDE;

int main(int argc, char **argv)
{
    return argc > 1 ? ftc_command_reach(argc - 1, argv + 1) : FTC_SIM_EXIT_USAGE;
}
