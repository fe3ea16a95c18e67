/* Endpoints of ranks that are separate processes. They exchange the endpoints by files in the job's
 * directory. */
#ifndef FTC_TEST_ENDPOINT_FILES_H
#define FTC_TEST_ENDPOINT_FILES_H

/* Sets the directory of the files. The string is kept, not copied. */
void endpoint_files_in(const char *directory);
/* For the setup of a transport. Returns NULL if the rank has not published its endpoint. */
const char *endpoint_files_look_up(void *context, int rank);
/* Returns 0 or FTC_ERR_SYSTEM. */
int endpoint_files_publish(const char *endpoint, int rank);

#endif
