#!/usr/bin/env bats
# Every environment variable that a page lists does what the page says.
# shellcheck disable=SC2016,SC2119,SC2153,SC2154 # commands for ranks; bats and ctest set variables

load pages

setup_file() {
    render_pages
}

# Another launcher starts two ranks on one host.
launched() {
    timeout -s KILL 60 "$PMIX_LAUNCHER" 1 2 "$@"
}

# Kills ftrun, and its ranks with it. Prints the name of the job.
leave_behind() {
    "$FTRUN" -np 1 sh -c 'echo "$FTCOLL_JOB_SEGMENT" >job.new; mv job.new job; sleep 60' &
    wait_until '[ -e job ]'
    kill -KILL "$!"
    wait "$!" || true
}

@test "ftcoll(7)" {
    walk "$(names_of ftcoll.7 ENVIRONMENT)" <<'TABLE'
FTCOLL_SECTION_KEY :: FTCOLL_JOB_F=3 ftrun --print-config :: grep -qx "f = 3" out
FTCOLL_SECTION_KEY :: FTCOLL_JOB_G=3 ftrun -np 1 true :: code 2 && err FTCOLL_JOB_G
FTCOLL_SECTION_KEY :: FTCOLL_FTRUN=$FTRUN FTCOLL_JOB_G=3 launched "$APP" well :: ! code 0 && err FTCOLL_JOB_G
FTCOLL_CONFIG :: printf '[job]\nf = 3\n[reduce]\narity = 3\n' >a; printf '[job]\nf = 4\n' >b;
    FTCOLL_CONFIG=a ftrun --config b --print-config :: grep -qx "f = 4" out && grep -qx "arity = 3" out && out "Set by: a:4"
FTCOLL_CONFIG :: mkdir c; printf '[job]\nf = 3\n' >a; printf '[job]\nf = 4\n' >c/ftcoll.ini;
    XDG_CONFIG_HOME=$PWD/c FTCOLL_CONFIG=a FTCOLL_REDUCE_ARITY=5 ftrun --print-config :: grep -qx "f = 3" out && grep -qx "arity = 5" out
FTCOLL_CONFIG :: FTCOLL_CONFIG=none ftrun -np 1 true :: code 2 && err "FTCOLL_CONFIG: none"
FTCOLL_CONFIG :: FTCOLL_CONFIG='' ftrun -np 1 true :: code 0
FTCOLL_CONFIG :: FTCOLL_FTRUN=$FTRUN FTCOLL_CONFIG=none launched "$APP" well :: ! code 0 && err "FTCOLL_CONFIG: none"
FTCOLL_RANK :: ftrun -np 2 sh -c 'echo "rank $FTCOLL_RANK"' :: lines 2 && out "rank 0" && out "rank 1"
FTCOLL_JOB_SEGMENT :: ftrun -np 1 sh -c '"$STATUS" -n --json "$FTCOLL_JOB_SEGMENT"; echo "$FTCOLL_JOB_SEGMENT" >job'
    :: holds ".jobs[0].job == \"$(cat job)\"" out
FTCOLL_FTRUN :: printf '#!/bin/sh\necho used >used\nexec "$FTRUN" "$@"\n' >own; chmod +x own; FTCOLL_FTRUN=$PWD/own launched "$APP" well
    :: code 0 && [ -s used ]
FTCOLL_FTRUN :: FTCOLL_FTRUN=/nonexistent launched "$APP" well :: ! code 0 && err FTCOLL_FTRUN
TMPDIR :: ftrun -np 1 sh -c 'ls "$TMPDIR/ftcoll-$(id -u)"; echo "$FTCOLL_JOB_SEGMENT" >job' :: out "$(cat job)"
TMPDIR :: unset TMPDIR; ftrun -np 1 sh -c 'ls "/tmp/ftcoll-$(id -u)"; echo "$FTCOLL_JOB_SEGMENT" >job' :: out "$(cat job)"
XDG_CONFIG_HOME :: mkdir c; printf '[job]\nf = 3\n' >c/ftcoll.ini; XDG_CONFIG_HOME=$PWD/c ftrun --print-config :: grep -qx "f = 3" out
HOME :: mkdir -p h/.config; printf '[job]\nf = 3\n' >h/.config/ftcoll.ini; unset XDG_CONFIG_HOME; HOME=$PWD/h ftrun --print-config
    :: grep -qx "f = 3" out
TABLE
}

@test "ftcoll-status(1)" {
    walk "$(names_of ftcoll-status.1 ENVIRONMENT)" <<'TABLE'
COLUMNS :: ftrun -np 1 sh -c 'COLUMNS=50 "$STATUS" -n "$FTCOLL_JOB_SEGMENT"' :: out "(no room for PID" && ! grep -q "^RANK.*EPOCH" out
COLUMNS :: ftrun -np 1 sh -c 'COLUMNS=200 "$STATUS" -n "$FTCOLL_JOB_SEGMENT"' :: grep -q "^RANK.* PID .*EPOCH" out
TMPDIR :: leave_behind; wait_until 'status --gc >gone || true; ls -A "ftcoll-$(id -u)" >left; ! grep -qF "$(cat job)" left'; cat left :: ! out "$(cat job)"
TABLE
}
