#!/usr/bin/env bats
# Tests every key of ftcoll.ini(5) as its page describes it. Each source sets a key to its default,
# its limits and each of its words, and ftrun shows the value. ftrun refuses any value beyond them,
# in one line with source, key, value and what is allowed. The page is the table.
# shellcheck disable=SC2030,SC2031,SC2153,SC2154 # bats runs tests in subshells, and it and ctest set variables

load pages

setup_file() {
    render_pages
    export KEYS=$BATS_FILE_TMPDIR/keys
    list_keys >"$KEYS"
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

# Prints SECTION|KEY|DEFAULT|ALLOWED, a line for each key of the page. The last two are empty if the
# page says nothing of a key's values.
list_keys() {
    section_of ftcoll.ini.5 "SECTIONS AND KEYS" | awk '
        function put() { if (key != "") print section "|" key "|" fallback "|" allowed; key = "" }
        /^   \[/ { put(); section = substr($1, 2, length($1) - 2) }
        /^       [a-z]/ { put(); key = $1; fallback = allowed = "" }
        /^           Allowed: / {
            sub(/^ *Allowed: /, ""); sub(/\.$/, "")
            allowed = $0
            if (match(allowed, /; default [^;]*$/)) {
                fallback = substr(allowed, RSTART + 10)
                allowed = substr(allowed, 1, RSTART - 1)
            }
        }
        END { put() }'
}

# Sets what must go with a key, so that its limits fit to other keys, as the page says.
companion() { # KEY
    case $1 in
    detector.heartbeat_period_ms) with=(--set detector.heartbeat_timeout_ms=600000) ;;
    detector.heartbeat_timeout_ms) with=(--set detector.heartbeat_period_ms=1) ;;
    transport.*_port_last) with=(--set "${1%_last}=1") ;;
    *) with=() ;;
    esac
}

# Runs ftrun with KEY=VALUE from SOURCE. Output is in out and err, the exit code in $code. $where is
# the name that messages give the source.
give() { # SOURCE SECTION KEY VALUE [more options of ftrun]
    local source=$1 section=$2 key=$3 value=$4 name
    shift 4
    code=0
    case $source in
    option)
        where=--set
        "$FTRUN" --set "$section.$key=$value" "$@" --print-config >out 2>err || code=$?
        ;;
    variable)
        name=FTCOLL_${section}_$key
        where=${name^^}
        (export "$where=$value" && exec "$FTRUN" "$@" --print-config) >out 2>err || code=$?
        ;;
    file)
        where=given.ini:2
        printf '[%s]\n%s = %s\n' "$section" "$key" "$value" >given.ini
        "$FTRUN" --config given.ini "$@" --print-config >out 2>err || code=$?
        ;;
    esac
}

# The value of a key in out was set by $where, and is VALUE as ftrun shows it.
shows() { # SECTION KEY VALUE
    local value=$3
    case $value in
    true | yes) value=on ;;
    false | no) value=off ;;
    preset) value=0.287 ;;
    esac
    if [ "$1.$2" = broadcast.algorithm ]; then
        value=$(section_of ftcoll.ini.5 "SECTIONS AND KEYS" | sed -n "s/.* $3: dissemination //p")
        shows broadcast dissemination "${value%%,*}" && shows broadcast correction "${value##* }"
        return
    fi
    awk -v section="[$1]" -v key="$2" -v value="$value" -v where="$where" '
        /^\[/ { inside = $0 == section }
        / Set by: / { from = $0; sub(/.* Set by: /, "", from) }
        inside && $1 == key {
            sub(/^[a-z_]+ = ?/, "")
            same = $0 == value || (value ~ /^[01]$/ && $0 == (value ? "on" : "off")) || ($0 ~ /e-/ && $0 + 0 == value + 0)
            found = same && from == where
            if (!found) print "shown is \"" $0 "\" set by " from ", not \"" value "\" set by " where
        }
        END { exit !found }' out
}

accepts_all() { # SOURCE [HOW MANY values of each key]
    local section key fallback allowed value good bad with code where count=0
    while IFS='|' read -r section key fallback allowed; do
        values_of "$section.$key" "$fallback" "$allowed"
        companion "$section.$key"
        for value in "${good[@]:0:${2:-99}}"; do
            give "$1" "$section" "$key" "$value" "${with[@]}"
            if [ "$code" -ne 0 ] || ! shows "$section" "$key" "$value"; then
                echo "$section.$key = \"$value\" by $1: exit code $code"
                cat err
                return 1
            fi
        done
        count=$((count + 1))
    done <"$KEYS"
    [ "$count" -gt 60 ]
}

refuses_all() { # SOURCE [HOW MANY values of each key]
    local section key fallback allowed value good bad with code where count=0
    while IFS='|' read -r section key fallback allowed; do
        values_of "$section.$key" "$fallback" "$allowed"
        companion "$section.$key"
        for value in "${bad[@]:0:${2:-99}}"; do
            give "$1" "$section" "$key" "$value" "${with[@]}"
            if [ "$code" -ne 2 ] || ! names "$section.$key" "$value" "$allowed"; then
                echo "$section.$key = \"$value\" by $1: exit code $code"
                cat err
                return 1
            fi
        done
        count=$((count + 1))
    done <"$KEYS"
    [ "$count" -gt 60 ]
}

# err is one line that names the source of the value, the key, the value (the beginning of a long
# one) and what is allowed.
names() { # KEY VALUE ALLOWED
    local line=
    mapfile -t line <err
    [ "${#line[@]}" -eq 1 ] && [[ ${line[0]} == "ftrun: $where: $1: "* && ${line[0]} == *"(allowed: $3)" ]] &&
        [[ -z $2 && ${line[0]} == *empty* || -n $2 && ${line[0]} == *"\"${2:0:40}"* ]]
}

@test "the page says of every key what it may be, and its default" {
    local section key fallback allowed good bad
    while IFS='|' read -r section key fallback allowed; do
        echo "$section.$key: $allowed; default $fallback"
        values_of "$section.$key" "$fallback" "$allowed"
        [ "${#good[@]}" -gt 1 ]
        [ -n "$fallback" ] || [ "$section.$key" = broadcast.algorithm ]
    done <"$KEYS"
}

@test "a key of which the page did not say what it may be would be an error" {
    run values_of job.f 1 "as many as there are"
    [ "$status" -ne 0 ]
    run values_of job.f 1 ""
    [ "$status" -ne 0 ]
}

@test "defaults are those of the page" {
    local section key fallback allowed where=default
    "$FTRUN" --print-config --all >out
    while IFS='|' read -r section key fallback allowed; do
        [ -n "$fallback" ] || continue
        shows "$section" "$key" "${fallback/#empty/}" || { echo "$section.$key"; return 1; }
    done <"$KEYS"
}

@test "what the page allows is taken and shown: --set" {
    accepts_all option
}

@test "what the page allows is taken and shown: variables" {
    accepts_all variable 2
}

@test "what the page allows is taken and shown: a file" {
    accepts_all file 2
}

@test "what the page does not allow is refused: --set" {
    refuses_all option
}

@test "what the page does not allow is refused: variables" {
    refuses_all variable 2
}

@test "what the page does not allow is refused: a file" {
    refuses_all file 2
}

@test "of a key that stands twice the last counts, and comments end values" {
    local where=twice.ini:5
    printf '# comment\n[job]\nf = 2\n; comment\nf = 3 ; comment\n' >twice.ini
    "$FTRUN" --config twice.ini --print-config >out
    shows job f 3
}
