# shellcheck shell=bash
# The running jobs of this story alone, as ftcoll-status --json shows them: beside it run other stories, whose jobs this machine
# shows, too. A story's own are those in its TMPDIR; what a killed launcher has left is not running. STATUS comes from ctest.
# (inputs: there is an answer where ftcoll-status has said nothing; `jq -e` takes no input for a success.)
own_jobs() {
    "$STATUS" --json 2>/dev/null |
        jq -n '{jobs: [inputs.jobs[] | select(.launcher_alive and (.directory | startswith(env.TMPDIR + "/")))]}'
}
