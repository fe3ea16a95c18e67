/*
 * libibverbs and librdmacm. They are loaded when a device is looked for, so that a host without
 * them, or a job that has no use for them, does without. Everything else calls their functions by
 * the names that their headers give; verbs/library.c has them all.
 */
#ifndef FTC_TRANSPORT_VERBS_LIBRARY_H
#define FTC_TRANSPORT_VERBS_LIBRARY_H

/* Before any other call of these libraries. FTC_ERR_UNSUPPORTED: they are not here, or lack
 * something. From any thread. */
int ftc_verbs_library_load(void);

#endif
