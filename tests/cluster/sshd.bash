# An sshd on each host of a cluster. The script `cluster` sources this.
# shellcheck shell=bash disable=SC2154

# One key is that of all hosts and of their users. It is root's, like the directory of the cluster.
make_ssh() {
    mkdir "$state/ssh"
    ssh-keygen -q -t ed25519 -N "" -f "$state/ssh/key"
    cat <<CONF | put ssh/sshd
HostKey $inside/ssh/key
AuthorizedKeysFile $inside/ssh/key.pub
PidFile /run/sshd.pid
PermitRootLogin yes
PasswordAuthentication no
StrictModes no
UsePAM no
UseDNS no
PrintMotd no
SetEnv SHLVL=1
CONF
    cat <<CONF | put ssh/config
IdentityFile $inside/ssh/key
IdentitiesOnly yes
BatchMode yes
ConnectTimeout 5
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
KexAlgorithms curve25519-sha256
CONF
}

# The hosts take turns with the processors of the machine: a rank that believes to have one of two
# for itself does not give way as soon as it should.
start_sshd() { # HOST
    local processor=$((${1#host} % $(nproc))) bound=()
    ! taskset -c $processor true 2>/dev/null || bound=(taskset -c $processor)
    in_host "$1" mkdir -p /run/sshd # sshd wants an empty directory of that name
    in_host "$1" "${bound[@]}" "$(command -v sshd)" -f $inside/ssh/sshd -E "$inside/log/sshd-$1" >>"$state/log/$1" 2>&1 ||
        die "sshd on $1: $(last_words "sshd-$1" "$1")"
}
