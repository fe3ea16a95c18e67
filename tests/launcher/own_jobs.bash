# shellcheck shell=bash
# Prints the running jobs of this story alone, as ftcoll-status --json shows them. Other stories run
# beside it, and this machine shows their jobs, too. A story's own jobs are those in its TMPDIR. A
# job whose launcher was killed is not running. STATUS comes from ctest. (With `inputs` there is an
# answer even if ftcoll-status has printed nothing. `jq -e` takes no input for a success.)
own_jobs() {
    "$STATUS" --json 2>/dev/null |
        jq -n '{jobs: [inputs.jobs[] | select(.launcher_alive and (.directory | startswith(env.TMPDIR + "/")))]}'
}

# cleared_up PID: waits until nothing of the killed ftrun is left. Every job that starts on this
# machine clears up after dead ones. A story beside this one may hold the dead job and remove it at
# this moment; a second collector then leaves the job to it and does not wait.
cleared_up() {
    wait_until "nothing_left $1 >/dev/null" || nothing_left "$1"
}
