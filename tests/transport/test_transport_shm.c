/* The conformance suite on shared memory. */
#include "transport_suite.h"

int main(void)
{
    static const struct transport_kit shm = {.ops = &ftc_transport_shm, .rings = true};
    return transport_suite_run(&shm);
}
