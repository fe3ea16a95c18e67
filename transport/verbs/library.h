/*
 * libibverbs and librdmacm. They are loaded when a device is looked for. So a host without them,
 * and a job that has no use for them, can do without. All other code calls their functions by the
 * names of their headers. verbs/library.c defines all these names.
 */
#ifndef FTC_TRANSPORT_VERBS_LIBRARY_H
#define FTC_TRANSPORT_VERBS_LIBRARY_H

/* Must be called before any other function of these libraries. From any thread.
 * FTC_ERR_UNSUPPORTED: a library or one of its functions is not there. */
int ftc_verbs_library_load(void);

#endif
