/* Endpoints of ranks that are processes of their own, exchanged by files in the job's directory. */
#ifndef FTC_TEST_ENDPOINT_FILES_H
#define FTC_TEST_ENDPOINT_FILES_H

/* Where the files are; kept, not copied. */
void endpoint_files_in(const char *directory);
/* For the transports' setup: NULL, if the rank has not published its endpoint. */
const char *endpoint_files_look_up(void *context, int rank);
/* 0 or FTC_ERR_SYSTEM. */
int endpoint_files_publish(const char *endpoint, int rank);

#endif
