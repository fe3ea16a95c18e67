
# --- common functions; `words` and `cur` are variables of the caller ---

# Split the line up to the cursor into `words`, without splitting at "=" and ":" as bash does. `at`
# says at which word of bash each word begins.
_ftcoll_split() {
    local line=${COMP_LINE:0:COMP_POINT} rest word i
    words=() at=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        rest=${line#"${line%%[![:space:]]*}"} word=${COMP_WORDS[i]}
        ((i < COMP_CWORD)) || word=$rest
        if ((i > 0)) && [[ $rest == "$line" && -n $rest ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word") at+=("$i")
        fi
        line=${rest#"$word"}
    done
    cur=${words[${#words[@]} - 1]}
}

# Offer words to bash in the place of `cur`. bash wants only the part behind the last "=".
_ftcoll_reply() { # WORD...
    local before=${cur%"${cur##*=}"} word
    [[ $COMP_WORDBREAKS == *=* ]] || before=
    for word; do
        if [[ $word == "$cur"* ]]; then COMPREPLY+=("${word#"$before"}"); fi
    done
}

_ftcoll_no_space() {
    compopt -o nospace 2>/dev/null || true # fails outside of a completion, for example in tests
}

_ftcoll_setting() { # HEAD of `cur` that is no part of it
    local given=${cur#"$1"} key value values list="" found=()
    key=${given%%=*}
    if [[ $given != *=* ]]; then
        for key in "${!_ftcoll_key[@]}"; do found+=("$1$key="); done
        _ftcoll_no_space
    elif [[ -n ${_ftcoll_key[$key]+known} ]]; then
        value=${given#*=}
        if [[ $value == *,* ]]; then list=${value%,*},; fi
        read -ra values <<<"${_ftcoll_key[$key]}"
        for value in "${values[@]}"; do found+=("$1$key=$list$value"); done
    fi
    _ftcoll_reply "${found[@]}"
}

# Complete the argument of an option.
_ftcoll_argument_of() { # KIND [WORD...], HEAD of `cur` that is no part of it
    local kind=${1%% *} head=$2 word found=()
    local given=${cur#"$head"}
    case $kind in
    setting) _ftcoll_setting "$head" && return ;;
    file) mapfile -t found < <(compgen -f -- "$given") ;;
    directory) mapfile -t found < <(compgen -d -- "$given") ;;
    variable) mapfile -t found < <(compgen -e -- "$given") ;;
    words) read -ra found <<<"${1#words}" ;;
    esac
    case $kind in
    file | directory) compopt -o filenames 2>/dev/null || true ;;
    esac
    for word in "${found[@]}"; do _ftcoll_reply "$head$word"; done
}

# Is a word an option that takes the next word? If so, `kind` says what it takes.
_ftcoll_takes() { # TABLE WORD; ftrun takes -config as --config
    kind=${_ftcoll_argument["$1 $2"]-}
    if [[ -z $kind && $2 == -[a-z][a-z]* ]]; then kind=${_ftcoll_argument["$1 -$2"]-}; fi
    [[ -n $kind ]]
}

# Complete an option, or the argument of the option before. Returns false if `cur` is neither.
_ftcoll_option() { # TABLE
    local kind options
    if ((${#words[@]} > 2)) && _ftcoll_takes "$1" "${words[${#words[@]} - 2]}"; then
        _ftcoll_argument_of "$kind" ""
    elif [[ $cur == -*=* ]]; then
        _ftcoll_takes "$1" "${cur%%=*}" && _ftcoll_argument_of "$kind" "${cur%%=*}="
    elif [[ $cur == -* ]]; then
        read -ra options <<<"${_ftcoll_option[$1]}"
        _ftcoll_reply "${options[@]}"
    else
        return 1
    fi
    return 0
}

# --- the programs ---

# Set `program` to the place in `words` of the program that ftrun starts. If it is not there yet,
# `program` is the number of words.
_ftcoll_find_program() {
    local kind last=$((${#words[@]} - 1))
    for ((program = 1; program < last; program++)); do
        case ${words[program]} in
        --)
            ((program++))
            return
            ;;
        -*) if _ftcoll_takes ftrun "${words[program]}"; then ((program++)); fi ;;
        *) return ;;
        esac
    done
    if ((program > last)) || [[ $cur == -* ]]; then program=${#words[@]}; fi
}

# Complete a command and its arguments, by bash-completion if that is loaded.
_ftcoll_command() { # PLACE of the command in `words`
    if declare -F _command_offset >/dev/null; then
        _command_offset "${at[$1]}"
    elif (($1 == ${#words[@]} - 1)) && [[ $cur != */* ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
    else
        compopt -o filenames 2>/dev/null || true
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    fi
}

_ftcoll_ftrun() {
    local words at cur program
    COMPREPLY=()
    _ftcoll_split
    _ftcoll_find_program
    if ((program < ${#words[@]})); then
        _ftcoll_command "$program"
    else
        _ftcoll_option ftrun
    fi
}

_ftcoll_status() {
    local words at cur job
    COMPREPLY=()
    _ftcoll_split
    _ftcoll_option ftcoll-status && return
    while read -r job _; do
        if [[ $job == [0-9]*.[0-9]* ]]; then _ftcoll_reply "$job"; fi
    done < <("${words[0]}" --list 2>/dev/null)
}

_ftcoll_perf() {
    local words at cur operations
    COMPREPLY=()
    _ftcoll_split
    _ftcoll_option ftcoll-perf && return
    read -ra operations <<<"$_ftcoll_operations"
    _ftcoll_reply "${operations[@]}"
}

_ftcoll_sim() {
    local words at cur calls commands table=ftcoll-sim
    COMPREPLY=()
    _ftcoll_split
    read -ra calls <<<"$_ftcoll_calls"
    if ((${#words[@]} > 2)) && [[ " $_ftcoll_commands" == *" ${words[1]} "* ]]; then table+=" ${words[1]}"; fi
    _ftcoll_option "$table" && return
    if ((${#words[@]} == 2)); then
        read -ra commands <<<"$_ftcoll_commands"
        _ftcoll_reply "${commands[@]}"
    fi
    if [[ $table == ftcoll-sim || " $_ftcoll_callers" == *" ${words[1]} "* ]]; then _ftcoll_reply "${calls[@]}"; fi
}

complete -F _ftcoll_ftrun ftrun
complete -F _ftcoll_status ftcoll-status
complete -F _ftcoll_perf ftcoll-perf
complete -F _ftcoll_sim ftcoll-sim
