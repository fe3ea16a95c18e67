#!/usr/bin/env bats
# Options, wrong use, settings, exit codes.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # commands for ranks; bats runs tests in subshells and sets variables

load helper

@test "a plain program runs in every rank and exits with 0" {
    run "$FTRUN" -np 4 sh -c 'echo rank $FTCOLL_RANK'
    [ "$status" -eq 0 ]
    [ "$(printf '%s\n' "${lines[@]}" | sort | tr '\n' ,)" = "rank 0,rank 1,rank 2,rank 3," ]
}

@test "-n, -np and --np mean the same" {
    for option in "-n 3" "-n3" "-np 3" "--np 3" "--np=3"; do
        # shellcheck disable=SC2086
        run "$FTRUN" $option echo x
        [ "$status" -eq 0 ]
        [ "${#lines[@]}" -eq 3 ]
    done
}

@test "options after the program belong to it, and -- ends options" {
    run "$FTRUN" -np 1 echo -np 7 --help
    [ "$output" = "-np 7 --help" ]
    run "$FTRUN" -np 1 -- echo -f
    [ "$output" = "-f" ]
}

@test "--help lists every option, --version says the version" {
    run "$FTRUN" --help
    [ "$status" -eq 0 ]
    for option in -np -f -x --config --set --tag-output --timestamp-output --output-filename --timeout --max-failures \
        --wdir --bind-to --engine --nodes --ranks-per-node --report --trace --kill --print-config --print-algorithms --all --help --version; do
        grep -q -e "^  $option" <<<"$output"
    done
    run "$FTRUN" --version
    [ "$status" -eq 0 ]
    [[ "$output" =~ ^ftrun\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}

wrong() { # PATTERN ARGUMENT...: gives exit code 2 and one line that matches PATTERN
    local pattern="$1"
    shift
    run "$FTRUN" "$@"
    echo "$output"
    [ "$status" -eq 2 ]
    [ "${#lines[@]}" -eq 1 ]
    [[ "$output" == "ftrun: "* ]]
    grep -q -e "$pattern" <<<"$output"
}

@test "wrong use exits with 2 and one line with the remedy" {
    wrong "give 1 to 65536" -np 0 true
    wrong "give 1 to 65536" -np 65537 true
    wrong "give 1 to 65536" -np -1 true
    wrong "whole number" -np four true
    wrong "whole number" -np 4x true
    wrong "give -np N" true
    wrong "program is missing" -np 2
    wrong "unknown.*--frobnicate" -np 2 --frobnicate true
    wrong "needs an argument" -np 2 --config
    wrong "give none or core" -np 2 --bind-to socket true
    wrong "RANK@SECONDS" -np 2 --kill 1 true
    wrong "no such rank" -np 2 --kill 2@1 true
    wrong "seconds" -np 2 --kill 1@soon true
    wrong "seconds" -np 2 --timeout 0 true
    wrong "seconds" -np 2 --timeout nan true
    wrong "names no variable" -np 2 -x =3 true
    wrong "existing directory" -np 2 --wdir /nonexistent true
    wrong "/nonexistent" -np 2 --config /nonexistent true
    wrong "detector.nonsense" -np 2 --set detector.nonsense=1 true
    wrong "nonsense" -np 2 --set nonsense true
}

@test "an unreadable or malformed configuration file is named" {
    echo "[nonsense]" >bad.ini
    wrong "bad.ini:1" -np 2 --config bad.ini true
    wrong "$TMPDIR" -np 2 --config "$TMPDIR" true
}

@test "more ranks than a host may have are refused" {
    run "$FTRUN" -np 4097 true
    echo "$output"
    [ "$status" -ne 0 ]
    [ "$output" = "ftrun: 4097 ranks on one host: 4096 are the most; start them on more hosts (--hosts)" ]
}

@test "f must be less than np if it was asked for, and is cut if not" {
    wrong "f is 2 (from -f).*give f 0 to 1" -np 2 -f 2 true
    wrong "from --set" -np 2 --set job.f=2 true
    FTCOLL_JOB_F=5 wrong "FTCOLL_JOB_F" -np 2 true
    wrong "drill.flip.*is no flip" -np 2 --set drill.flip=nonsense true
    wrong "there is no rank 2; give 0 to 1" -np 2 --set drill.flip=0:flow:1@1,2:flow:1@1 true
    wrong "give 0 to 65535" -np 2 -f -1 true
    run "$FTRUN" -np 1 true
    [ "$status" -eq 0 ]
    run "$FTRUN" -np 3 -f 2 true
    [ "$status" -eq 0 ]
}

@test "settings: --set beats variables beat --config beat defaults" {
    printf '[job]\nf = 2\n[broadcast]\narity = 3\n' >own.ini
    run "$FTRUN" --config own.ini --print-config
    [ "$status" -eq 0 ]
    grep -Eq '^f *= *2' <<<"$output"
    grep -q 'own.ini:2' <<<"$output"
    FTCOLL_JOB_F=3 run "$FTRUN" --config own.ini --print-config
    grep -Eq '^f *= *3' <<<"$output"
    FTCOLL_JOB_F=3 run "$FTRUN" --config own.ini --set job.f=4 --print-config
    grep -Eq '^f *= *4' <<<"$output"
    FTCOLL_JOB_F=3 run "$FTRUN" --config own.ini --set job.f=4 -f 5 --print-config
    grep -Eq '^f *= *5' <<<"$output"
}

@test "--print-config shows what most users need and what was set, with --all everything" {
    run "$FTRUN" --set reduce.arity=4 --print-config
    [ "$status" -eq 0 ]
    grep -qx 'f = 1' <<<"$output"
    grep -qx 'arity = 4' <<<"$output"
    run ! grep -q '^settle_every\|^\[drill\]' <<<"$output"
    run "$FTRUN" --print-config --all
    grep -q '^settle_every' <<<"$output"
    grep -qx '\[drill\]' <<<"$output"
}

@test "a setting that has no effect in the job is told in one line, with the remedy" {
    run "$FTRUN" -np 8 --set reduce.arity=4 -f 3 --set collectives.rotation=spread true
    [ "$status" -eq 0 ]
    [[ ${#lines[@]} -eq 1 && ${lines[0]} == "ftrun: no effect in this job: reduce.arity = 4 (--set), collectives.rotation = spread (--set): "*"collectives.algorithm = corrected"* ]]
    run "$FTRUN" -np 8 --set reduce.arity=4 --set collectives.algorithm=corrected true
    [ "$output" = "" ]
    run "$FTRUN" -np 8 --set reduce.arity=4 --set log.level=error true
    [ "$output" = "" ]
    run "$FTRUN" -np 8 --set gossip.tau=1e-9 --set gossip.algorithm=push-flow true
    [ "$output" = "ftrun: no effect in this job: gossip.tau = 1e-09 (--set): that needs gossip.algorithm = pflc or pfcc, or calls that ask for one of them" ]
}

@test "nothing is told of a value that is the default, or that a file for all jobs has set" {
    "$FTRUN" --print-config --all >all.ini
    run "$FTRUN" -np 2 --config all.ini true
    [ "$output" = "" ]
    mkdir -p home/.config
    printf '[reduce]\narity = 4\n' >home/.config/ftcoll.ini
    XDG_CONFIG_HOME=$PWD/home/.config run "$FTRUN" -np 2 true
    [ "$output" = "" ]
    XDG_CONFIG_HOME=$PWD/home/.config FTCOLL_REDUCE_ARITY=5 run "$FTRUN" -np 2 true
    [[ $output == *"reduce.arity = 5 (FTCOLL_REDUCE_ARITY)"* ]]
}

@test "--print-config marks what has no effect in such a job" {
    run "$FTRUN" -np 8 --set reduce.arity=4 --print-config
    [[ $output == *"
# No effect in this job: "*"
arity = 4"* ]]
    run "$FTRUN" -np 32 --nodes 32 --set reduce.arity=4 --print-config
    [[ $output != *"No effect"* ]]
    run "$FTRUN" -np 8 --nodes 8 -f 3 --print-config
    [[ $output == *"No effect in this job: "*"exchange"*"reduce.doubling = 1"* ]]
    run "$FTRUN" -np 8 --nodes 8 -f 3 --set reduce.doubling=1 --print-config
    [[ $output != *"No effect"* ]]
}

@test "naming what only messages can do makes a job of one node use messages" {
    for setting in failure_info.{scheme=bit,scheme=count,share=off} reduce.tree=chain broadcast.{tree=kary,correction=checked} collectives.large=ring; do
        run "$FTRUN" -np 8 --set "$setting" --print-algorithms
        [[ $output == *"not board: "*"asks for messages"* && $output != *": board"* ]]
        run "$FTRUN" -np 8 --set "$setting" true
        [ "$output" = "" ]
        run "$FTRUN" -np 8 --set "$setting" --set collectives.algorithm=board true
        [[ $output == *"no effect in this job: $(sed 's/=/ = /' <<<"$setting")"* ]]
    done
}

@test "--print-algorithms: what would run, and why not the algorithms before it" {
    run "$FTRUN" --print-algorithms -np 16 --nodes 4
    [ "$status" -eq 0 ]
    [[ $output == "Job of 16 ranks on 4 hosts, f = 1."* ]]
    for line in "allreduce, reduce_scatter, up to 128 KiB: levels" \
        "allreduce, reduce_scatter, over 128 KiB, below 256 KiB: exchange" \
        "allreduce, reduce_scatter, 256 KiB and more: ring" "allgather, alltoall, scan, exscan, 16 KiB and more: ring" "bcast, over 128 KiB, below 256 KiB: tree" "bcast, 256 KiB and more: ring" "barrier, validate: levels"; do
        grep -qx "$line" <<<"$output"
    done
    [[ $output == *"ring
  masks without another round: none
  not board: the ranks are on several nodes"* ]]
    run "$FTRUN" --print-algorithms -np 16 --hosts a:4,b:4,c:4,d:4
    [[ $output == "Job of 16 ranks on 4 hosts, f = 1."* ]]
    run "$FTRUN" --print-algorithms --hosts a,b,c:x
    [ "$status" -eq 2 ]
    run "$FTRUN" --print-algorithms -np 3 -f 7
    [ "$status" -eq 2 ]
    run "$FTRUN" --print-algorithms -np 3 --nodes 4
    [ "$status" -eq 2 ]
    [[ $output == *"3 ranks cannot be on 4 hosts"* ]]
    run "$FTRUN" --print-algorithms -np 4 --nodes 4 --set collectives.algorithm=board
    [ "$status" -eq 2 ]
    run bash -c '"$FTRUN" --print-algorithms >/dev/full'
    [ "$status" -eq 1 ]
}

@test "--print-config can be read back" {
    "$FTRUN" -f 3 --print-config >all.ini
    run "$FTRUN" --config all.ini --print-config
    [ "$status" -eq 0 ]
    grep -Eq '^f *= *3' <<<"$output"
}

# Do not call this within `run`, which would take the skip for a success.
needs_own_etc() {
    namespace=(unshare -rm)
    [ "$(id -u)" -ne 0 ] || namespace=(unshare -m)
    "${namespace[@]}" mount -t tmpfs tmpfs /etc 2>/dev/null ||
        skip "mount namespaces are not permitted here"
}

# Runs ftrun with an /etc of its own. Standard input is the file of the administrator.
administered() {
    "${namespace[@]}" sh -c 'mount -t tmpfs -o mode=755 tmpfs /etc && cat >/etc/ftcoll.ini && exec "$@"' sh "$FTRUN" "$@"
}

@test "what the administrator locks no user changes" {
    needs_own_etc
    printf '[multicast]\ntransport = off\n[locked]\nkeys = multicast.transport, drill\n' >system.ini
    run administered --print-config <system.ini
    [ "$status" -eq 0 ]
    [[ $output == *"Set by: /etc/ftcoll.ini:2. Locked by: /etc/ftcoll.ini:4"*"transport = off"* ]]

    run administered --set drill.message_loss=5 -np 1 true <system.ini
    [ "$status" -eq 2 ]
    [ "$output" = 'ftrun: --set: drill.message_loss: "5" is not allowed: the administrator has locked it (/etc/ftcoll.ini:4) at 0; leave this setting out' ]

    printf '[multicast]\ntransport = udp\n' >"$XDG_CONFIG_HOME/ftcoll.ini"
    run administered -np 1 true <system.ini
    [ "$status" -eq 2 ]
    [[ $output == "ftrun: $XDG_CONFIG_HOME/ftcoll.ini:2: multicast.transport: \"udp\" is not allowed:"* ]]
}

@test "a default that is locked still fits the number of ranks" {
    needs_own_etc
    printf '[locked]\nkeys = job\n' >system.ini
    run administered -np 1 true <system.ini
    [ "$status" -eq 0 ]
}

@test "--print-config to a full disk is an error" {
    run bash -c '"$FTRUN" --print-config >/dev/full'
    [ "$status" -eq 1 ]
}

@test "exit codes: the program's, 128 + signal, 126, 127" {
    run "$FTRUN" -np 1 sh -c 'exit 3'
    [ "$status" -eq 3 ]
    run "$FTRUN" -np 2 sh -c 'exit 3'
    [ "$status" -eq 3 ]
    run "$FTRUN" -np 1 sh -c 'kill -9 $$'
    [ "$status" -eq 137 ]
    grep -q "rank 0 failed: killed by signal 9 (Killed), seen by ftrun after" <<<"$output"
    run "$FTRUN" -np 2 /nonexistent/program
    [ "$status" -eq 127 ]
    [ "${#lines[@]}" -eq 1 ]
    run "$FTRUN" -np 2 no-such-program-anywhere
    [ "$status" -eq 127 ]
    run "$FTRUN" -np 2 /
    [ "$status" -eq 126 ]
    echo data >data
    run "$FTRUN" -np 2 ./data
    [ "$status" -eq 126 ]
    chmod +x data
    run "$FTRUN" -np 2 ./data
    [ "$status" -eq 126 ]
    grep -q "#! line" <<<"$output"
    printf '#!/nonexistent/interpreter\n' >data
    run "$FTRUN" -np 2 ./data
    [ "$status" -eq 127 ]
}

@test "the program is looked up in PATH, and relative to --wdir" {
    mkdir bin
    printf '#!/bin/sh\necho found in $(pwd)\n' >bin/own-program
    chmod +x bin/own-program
    PATH="$PWD/bin:$PATH" run "$FTRUN" -np 1 own-program
    [ "$output" = "found in $PWD" ]
    run "$FTRUN" -np 1 --wdir bin ./own-program
    [ "$output" = "found in $PWD/bin" ]
    run "$FTRUN" -np 1 ./own-program
    [ "$status" -eq 127 ]
}

@test "-x sets variables, the last one wins" {
    export INHERITED=yes
    run "$FTRUN" -np 1 -x ONE=1 -x TWO='2 =' -x ONE=3 -x INHERITED sh -c 'echo "$ONE|$TWO|$INHERITED"'
    [ "$output" = "3|2 =|yes" ]
    run "$FTRUN" -np 1 -x NOT_SET_ANYWHERE echo on
    [ "$status" -eq 0 ]
    grep -q "NOT_SET_ANYWHERE: the variable is not set" <<<"$output"
}

@test "variables of an outer PMIx server do not reach the ranks" {
    PMIX_NAMESPACE=outer PMIX_RANK=7 PMIX_SERVER_URI41=nonsense run "$FTRUN" -np 1 "$PMIX_PROBE"
    [ "$status" -eq 0 ]
    [[ "$output" == "ftcoll-"*" 0 1 "* ]]
}

@test "the token of an ftrun in front does not reach the ranks" {
    FTRUN_FRONT=secret run "$FTRUN" -np 2 env
    [ "$status" -eq 0 ]
    [[ "$output" != *FTRUN_FRONT* ]]
}

@test "--bind-to core gives each rank one core, in turn" {
    run "$FTRUN" -np 3 --bind-to core sh -c 'grep Cpus_allowed_list /proc/self/status'
    [ "$status" -eq 0 ]
    for line in "${lines[@]}"; do [[ "$line" =~ ^Cpus_allowed_list:[[:space:]]+[0-9]+$ ]]; done
}

@test "PMIx: rank, size and the segment's name" {
    run "$FTRUN" -np 3 "$PMIX_PROBE" fence
    echo "$output"
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 3 ]
    for line in "${lines[@]}"; do
        [[ "$line" =~ ^ftcoll-[0-9a-f]{32}\ [0-2]\ 3\ [0-9.]+$ ]]
    done
}

@test "PMIx_Abort ends the job with its code" {
    run "$FTRUN" -np 3 "$PMIX_PROBE" abort 9
    [ "$status" -eq 9 ]
    grep -q "rank 0 aborted the job with code 9" <<<"$output"
}

@test "too few open files: one line with the number needed, nothing starts" {
    run bash -c 'ulimit -n 100; exec "$FTRUN" -np 64 echo started'
    [ "$status" -eq 1 ]
    [ "${#lines[@]}" -eq 1 ]
    grep -q "64 ranks need 320 open files but the limit is 100; raise it (ulimit -n 320)" <<<"$output"
    [ -z "$(ls -A "$TMPDIR")" ]
}

@test "a low soft limit of open files is raised, and the ranks keep theirs" {
    run bash -c 'ulimit -Sn 50; exec "$FTRUN" -np 8 sh -c "ulimit -Sn"'
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 8 ]
    [ "${lines[0]}" = 50 ]
}

@test "a file size limit is an error in one line, nothing starts" {
    run bash -c 'ulimit -f 8; exec "$FTRUN" -np 4 echo started'
    echo "$output"
    [ "$status" -eq 1 ]
    [ "${#lines[@]}" -eq 1 ]
    [[ "$output" == "ftrun: "* ]]
    [ -z "$(ls -A "$TMPDIR")" ]
}

@test "ranks have no descriptors but the standard ones" {
    "$FTRUN" -np 8 --output-filename logs ls /proc/self/fd
    for rank in 0 1 2 3 4 5 6 7; do
        [ "$(tr '\n' ' ' <"logs/rank.$rank.out")" = "0 1 2 3 " ] # 3 is ls's own
    done
}

@test "ftrun works with standard files closed" {
    run bash -c '"$FTRUN" -np 2 sh -c "echo hi >file.\$FTCOLL_RANK; echo out; echo err >&2" <&- >&- 2>&-'
    [ "$status" -eq 0 ]
    [ -s file.0 ] && [ -s file.1 ]
}
