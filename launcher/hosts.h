/* The hosts of --hosts and --hostfile, and the spread of the ranks over them. */
#ifndef FTC_LAUNCHER_HOSTS_H
#define FTC_LAUNCHER_HOSTS_H

#define FTC_HOST_NAME 256

struct ftc_host {
    char name[FTC_HOST_NAME]; /* as the remote shell takes it: HOST or USER@HOST */
    int slots;                /* at least 1 */
    int ranks;                /* of ftc_hosts_spread(); the ranks of a host follow one another */
};

struct ftc_hosts {
    struct ftc_host *at;
    int count;
};

/* Add the hosts of "a,b:4,user@c". A host without a number has one slot. The slots of a host that
 * is named more than once add up. FTC_ERR_ARG, FTC_ERR_NOMEM. */
int ftc_hosts_add_list(struct ftc_hosts *hosts, const char *list);

/* Add the hosts of a file. Each line is empty, or a host with `slots=N` or `:N` or nothing behind
 * it. A `#` begins a comment. FTC_ERR_ARG, with file and line; FTC_ERR_NOMEM. */
int ftc_hosts_add_file(struct ftc_hosts *hosts, const char *path);

/* Fill the slots in the order of the hosts. If there are more ranks than slots, each host gets a
 * share in proportion to its slots. Hosts without a rank are dropped. */
void ftc_hosts_spread(struct ftc_hosts *hosts, int ranks);

void ftc_hosts_fini(struct ftc_hosts *hosts); /* legal when zeroed */

#endif
