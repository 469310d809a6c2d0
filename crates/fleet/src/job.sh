#!/bin/sh
# Written by `assay fleet run`: each task of this array runs the study {{ study|slurm }} on a node of its own, into
# nodes/NODE/JOB_TASK of the fleet's folder. `assay fleet resume` submits tasks without a verdict again.
#SBATCH --job-name=assay-{{ study|slurm }}
#SBATCH --nodes=1
#SBATCH --ntasks=1
# The whole node, with its memory: a shared one proves nothing.
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --time={{ minutes }}
# Before the limit, to this process only: Assay then stops and restores the host.
#SBATCH --signal=B:TERM@{{ signal_ahead_s }}
#SBATCH --no-requeue
{% if partition is not none -%}
#SBATCH --partition={{ partition|slurm }}
{% endif %}
set -eu
program={{ program|shell }}
fleet={{ fleet|shell }}
task=$SLURM_ARRAY_TASK_ID
node=$fleet/nodes/$SLURMD_NODENAME
run=$node/${SLURM_ARRAY_JOB_ID}_$task

refuse() {
    echo "$1 ($SLURMD_NODENAME)" >&2
    exit 4
}

# Slurm keeps this script by value: the files are those that were submitted, or nothing starts.
while read -r sum file; do
    # A pipe or a device would be read without end.
    [ -f "$file" ] || refuse "$file is not a regular file"
    printf '%s  %s\n' "$sum" "$file" | sha256sum --check --status || refuse "$file is not the file that was submitted"
done <<'SUMS'
{% for file in files -%}
{{ file.sum }} {{ file.path }}
{% endfor -%}
SUMS

# Slurm may start two tasks on one node, one after the other. `assay fleet resume` excludes nodes with a verdict, and
# has an argument: where the verdict has been damaged since, the node runs again.
if [ $# -eq 0 ] && grep -Eqs '"code": *[013],' "$node"/*.json; then
    refuse "the node has a verdict already"
fi

mkdir -p "$node"
"$program" restore
# Several nodes may be one host: their tasks run one after the other.
exec 9>"$fleet/log/$(uname -n).lock"
flock 9
exec "$program" run --yes {{ words }} --seed $(({{ seed }} + task)) \
    --wait {{ wait_min }}m --out "$run" --errors-json "$run.json"{% if trust_folder %} --allow-shared-dir{% endif %}
