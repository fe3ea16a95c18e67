# shellcheck shell=bash
# Prints the running jobs of this story alone, as ftcoll-status --json shows them. Other stories run
# beside it, and this machine shows their jobs, too. A story's own jobs are those in its TMPDIR. A
# job whose launcher was killed is not running. STATUS comes from ctest. (With `inputs` there is an
# answer even if ftcoll-status has printed nothing. `jq -e` takes no input for a success.)
own_jobs() {
    "$STATUS" --json 2>/dev/null |
        jq -n '{jobs: [inputs.jobs[] | select(.launcher_alive and (.directory | startswith(env.TMPDIR + "/")))]}'
}
