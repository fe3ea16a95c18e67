#!/usr/bin/env bats
# Every function of section 3 succeeds once, and fails with each error that is documented: in its
# docstring, and for functions that take a communicator in the header's conventions. walk_app
# reports what its calls returned. The header is the list that this test compares with.
# shellcheck disable=SC2016,SC2153,SC2154 # commands for ranks; bats and ctest set variables

setup() {
    local name
    # The environment of the test must not change the result.
    for name in $(compgen -v FTCOLL_); do unset "$name"; done
    export XDG_CONFIG_HOME=$BATS_TEST_TMPDIR TMPDIR=$BATS_TEST_TMPDIR WALK_SEEN=$BATS_TEST_TMPDIR/seen
    export TSAN_OPTIONS=${TSAN_OPTIONS:+$TSAN_OPTIONS:}allocator_may_return_null=1
    # A busy machine that stands still for some seconds must not count as a failure.
    printf "[detector]\nheartbeat_timeout_ms = 20000\n" >"$XDG_CONFIG_HOME/ftcoll.ini"
    cd "$BATS_TEST_TMPDIR" || return 1
}

# Prints "function code" for each documented code. A request ends with the errors of its operation:
# here they are those of a broadcast.
documented() {
    awk '
        /^\/\*/ { comment = ""; inside = 1 }
        inside { comment = comment " " $0; inside = $0 !~ /\*\// ; next }
        /^$/ { comment = "" }
        /^FTC_API / { text = "" ; open = 1 }
        open { text = text " " $0 }
        open && /;/ {
            open = 0
            match(text, /ftc_[a-z_]+\(/)
            name = substr(text, RSTART, RLENGTH - 1)
            print name, "FTC_SUCCESS"
            if (text ~ /^ FTC_API int .*ftc_comm \*[a-z]/) print name, "FTC_ERR_ARG\n" name, "FTC_ERR_STATE"
            if (text ~ /[ (]ftc_comm \*comm[,)]/ && text !~ /const ftc_comm/ && text !~ /ftc_request/ && comment !~ /local/ && name != "ftc_abort") print name, "FTC_ERR_REVOKED"
            if (comment ~ /those of the operation/) print name, "FTC_ERR_ROOT_FAILED\n" name, "FTC_ERR_REVOKED"
            rest = comment
            while (match(rest, /FTC_ERR_[A-Z_]+/)) {
                print name, substr(rest, RSTART, RLENGTH)
                rest = substr(rest, RSTART + RLENGTH)
            }
        }' "$SOURCE/include/ftcoll.h" | sort -u
}

# The codes that no test can bring about here, and why.
out_of_reach() {
    echo ftc_comm_revoke FTC_ERR_REVOKED # other calls return it
    echo ftc_agree FTC_ERR_REVOKED # no revoke ends it
    echo ftc_cancel FTC_ERR_CANCELLED    # likewise
    echo ftc_init FTC_ERR_PROTO # a launcher of another version
    echo ftc_init FTC_ERR_UNSUPPORTED # more than 65536 ranks, or ranks that another launcher has mixed among hosts
    echo ftc_agree FTC_ERR_NOMEM # some bytes for each rank
    echo ftc_gatherv FTC_ERR_NOMEM # some bytes for each rank
    echo ftc_reduce_scatter FTC_ERR_NOMEM # likewise
    printf "ftc_%s FTC_ERR_TYPE\n" ibarrier ibcast iallgather iallgatherv igather igatherv iscatter \
        iscatterv ialltoall ialltoallv comm_idup comm_isplit comm_ishrink iagree ivalidate_global # no operator
    # Sanitizers then have no memory left for themselves.
    if [ -n "$SANITIZED" ]; then
        printf "%s FTC_ERR_NOMEM\n" ftc_op_create ftc_op_create_ordered
        documented | grep -E "^ftc_((comm_)?i[a-z_]+|mprobe) FTC_ERR_NOMEM$"
    fi
}

plays() { # [FTRUN'S OPTIONS --] STORY [NUMBER]
    local options=()
    while [[ " $* " == *" -- "* ]]; do
        if [ "$1" != -- ]; then options+=("$1"); fi
        shift
    done
    run timeout -s KILL 60 "$FTRUN" "${options[@]}" "$APP" "$@"
    echo "${options[*]} $*: exit code $status: $output"
    [ "$status" -eq 0 ]
}

alone() { # STORY [NUMBER]
    run timeout -s KILL 60 "$APP" "$@"
    echo "alone $*: exit code $status: $output"
    [ "$status" -eq 0 ]
}

# Rank 1 calls ftc_init() after the process that ftrun started for it has ended.
comes_late() {
    run timeout -s KILL 60 "$FTRUN" -np 2 sh -c 'case $FTCOLL_RANK in
        1) setsid "$APP" late -30 & until [ -e apart ]; do sleep 0.02; done;;
        *) exec "$APP" late;;
    esac'
    echo "late: exit code $status: $output"
    [ "$status" -eq 0 ]
}

@test "what functions return is what is documented, and all of that is seen" {
    local algorithm
    alone words
    alone null
    alone well
    for algorithm in board corrected; do
        plays -np 2 --set collectives.algorithm=$algorithm -- well
        plays -np 2 --set collectives.algorithm=$algorithm -- arguments
        plays -np 2 --set collectives.algorithm=$algorithm -- fork
        plays -np 2 --set collectives.algorithm=$algorithm -- infinite
        plays -np 2 --set collectives.algorithm=$algorithm -- revoked
        plays -np 3 --set collectives.algorithm=$algorithm -- root
        plays -np 3 --set collectives.algorithm=$algorithm -- one
    done
    plays -np 2 -- twice
    plays -np 2 -- gossip-memory
    plays -np 3 -f 0 --set collectives.algorithm=corrected -- many
    plays -np 3 -f 0 --set collectives.algorithm=corrected -- many 1
    plays -np 3 -f 0 --set collectives.algorithm=corrected -- many 2
    plays -np 7 -f 1 --set integrity.mode=vote --set drill.flip=4:partial:62@0/0,4:partial:62@2/0,4:partial:62@3/0 -- vote
    comes_late
    plays -np 2 --set broadcast.dissemination=multicast --set multicast.interface=no-such -- refused -6
    PMIX_NAMESPACE=nowhere PMIX_RANK=0 alone refused -7
    if [ -z "$SANITIZED" ]; then
        alone memory
        alone request-memory
    fi
    run timeout -s KILL 60 "$FTRUN" -np 2 "$APP" abort 42
    [ "$status" -eq 42 ]

    documented >wanted
    [ "$(cut -d' ' -f1 wanted | sort -u | wc -l)" -eq "$(grep -c '^FTC_API ' "$SOURCE/include/ftcoll.h")" ]
    out_of_reach | sort | comm -23 wanted - >reachable
    diff reachable <(sort -u seen) || { echo "<: documented alone; >: returned alone"; return 1; }
}

@test "what is out of reach is documented" {
    documented >wanted
    [ -z "$(out_of_reach | sort | comm -13 wanted -)" ]
}
