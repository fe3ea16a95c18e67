/* The conformance suite, on shared memory. */
#include "transport_suite.h"

int main(void)
{
    return transport_suite_run(&ftc_transport_shm);
}
