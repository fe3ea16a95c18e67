#!/usr/bin/env bats
# Tests what bash offers after a tab. COMPLETION is the installed file.
# shellcheck disable=SC2153,SC2154 # bats and ctest set variables

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

# Prints what bash offers when the user hits tab behind LINE, a word on each line. The words of LINE
# are split as bash splits them.
offered() { # LINE [COMMANDS before]
    bash --norc -c '
        eval "$2"
        . "$COMPLETION"
        COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=()
        rest=$1
        while [[ $rest =~ ^[[:space:]]*([=:]+|[^[:space:]=:]+)(.*)$ ]]; do
            COMP_WORDS+=("${BASH_REMATCH[1]}") rest=${BASH_REMATCH[2]}
        done
        if [[ $1 == *[[:space:]] ]]; then COMP_WORDS+=(""); fi
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        words=($(complete -p "${COMP_WORDS[0]}"))
        "${words[2]}" "${COMP_WORDS[0]}"
        if ((${#COMPREPLY[@]})); then printf "%s\n" "${COMPREPLY[@]}"; fi
    ' bash "$@" | sort
}

offers() { # LINE WORD...: bash offers just these
    local line=$1 is
    shift
    is=$(offered "$line")
    if [ "$is" != "$(printf '%s\n' "$@" | sort)" ]; then
        echo "after '$line':"
        echo "$is"
        return 1
    fi
}

options_of() { # COMMAND...: the long options of its --help
    "$@" --help | grep -E '^ +-' | sed 's/^ *//; s/   .*$//' | grep -oE -e '--[a-z][a-z-]*' | sort
}

@test "every option that --help names is offered" {
    local command
    [ "$(offered "ftrun --" | grep -vx -e --np)" = "$(options_of "$FTRUN")" ]
    [ "$(offered "ftcoll-status --")" = "$(options_of "$STATUS")" ]
    [ "$(offered "ftcoll-perf --")" = "$(options_of "$PERF")" ]
    for command in $("$SIM" --help | sed -n 's/^  \([a-z]\+\) .*/\1/p' | grep -v ftcoll); do
        echo "$command"
        [ "$(offered "ftcoll-sim $command --")" = "$(options_of "$SIM" "$command")" ]
    done
    [ "$(offered "ftcoll-sim --")" = "$(options_of "$SIM" run)" ]
}

@test "every setting is offered after --set, and its values are those allowed" {
    local keys
    keys=$(FTCOLL_JOB_F=1 "$FTRUN" --print-config --all |
        awk '/^\[/ { section = substr($1, 2, length($1) - 2) } /^[a-z_]+ =/ { print section "." $1 "=" }')
    [ "$(offered "ftrun --set " | grep -vx broadcast.algorithm=)" = "$(sort <<<"$keys")" ]
    offers "ftrun -np 2 --set failure_info.sc" failure_info.scheme=
    offers "ftrun -np 2 --set failure_info.scheme=" bit count list
    offers "ftrun -np 2 --set failure_info.scheme=c" count
    offers "ftrun -np 2 --set=failure_info.scheme=c" count
    offers "ftrun -np 2 --set broadcast.algorithm=c" ccg corrected-tree
    offers "ftrun --set detector.fence=" off on
    offers "ftrun --set transport.order=shm,t" shm,tcp
    offers "ftrun --set job.f=" ""
    offers "ftrun --set no.such=" ""
}

@test "arguments that are words, files, directories or variables" {
    touch a.ini
    mkdir a.dir
    offers "ftrun --engine " auto local pmix slurm ssh
    offers "ftrun -engine s" slurm ssh
    offers "ftrun --hostfile a.i" a.ini
    offers "ftrun --bind-to=" core none
    offers "ftrun --config a" a.dir a.ini
    offers "ftrun --wdir a" a.dir
    offers "ftcoll-perf --plot a.i" a.ini
    [ "$(offered "ftrun -x HO" "export HOMEWARD=1 HOME=/" | grep -x HOMEWARD)" = HOMEWARD ]
    offers "ftrun -np " ""
}

@test "the program of ftrun is a command" {
    offered "ftrun -np 2 -f 1 ech" | grep -qx echo
    offered "ftrun -np 2 -- ech" | grep -qx echo
    touch own_file
    offers "ftrun -np 2 echo ow" own_file
    # A command's options are its own.
    offers "ftrun -np 2 echo --en" ""
}

@test "with bash-completion the program's own completion goes on" {
    local framework=/usr/share/bash-completion/bash_completion
    [ -e "$framework" ] || skip "there is no bash-completion"
    run offered "ftrun -np 2 --set job.f=1 ftcoll-perf --iter" "BASH_COMPLETION_USER_DIR=/nonexistent; . $framework"
    echo "$output"
    [ "$output" = --iterations ]
}

@test "commands and operations" {
    offers "ftcoll-sim exp" explore
    offers "ftcoll-sim b" barrier bcast broadcast
    offers "ftcoll-sim explore -n 3 all" allgather allreduce alltoall
    offers "ftcoll-sim nodes all" ""
    offers "ftcoll-sim --dissemination " auto binomial gossip kary lame multicast tree
    offers "ftcoll-perf -i 3 allreduce b" barrier bcast
    offers "ftcoll-perf v" validate voted
    offers "ftcoll-perf c" comm comm_dup comm_split
}

@test "the names of jobs" {
    mkdir bin
    printf '#!/bin/sh\necho "JOB NP F"\necho "12.0 4 1"\necho "345.0 4 1"\n' >bin/ftcoll-status
    chmod +x bin/ftcoll-status
    PATH=$PWD/bin:$PATH offers "ftcoll-status --watch " 12.0 345.0
    PATH=$PWD/bin:$PATH offers "ftcoll-status 3" 345.0
}
