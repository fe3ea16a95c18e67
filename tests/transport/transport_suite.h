/* What every transport has to do: one suite, given an ops table. A transport's test is its main(). */
#ifndef FTC_TEST_TRANSPORT_SUITE_H
#define FTC_TEST_TRANSPORT_SUITE_H

#include "transport/transport.h"

/* Run the suite; returns main()'s exit code. */
int transport_suite_run(const struct ftc_transport_ops *ops);

#endif
