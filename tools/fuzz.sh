#!/usr/bin/env bash
# fuzz: runs every fuzz target of a build for some seconds each, two at a time, from the seeds in tests/fuzz/seeds/NAME.
#   tools/fuzz.sh BUILD_FOLDER SECONDS
set -euo pipefail
build=$1 seconds=$2
shopt -s nullglob
targets=("$build"/fuzz_*)
[ ${#targets[@]} -gt 0 ] || { echo "fuzz: there is no fuzz target in $build yet"; exit 0; }

fuzz_one() {
  local name=${1##*/fuzz_} build=$2 seconds=$3
  local corpus="$build/corpus/$name" found="$build/found/$name-" log="$build/fuzz_$name.log" seeds="tests/fuzz/seeds/$name"
  mkdir -p "$corpus" "$build/found"
  [ -d "$seeds" ] || seeds=""
  if "$1" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3072 -malloc_limit_mb=2048 -artifact_prefix="$found" -print_final_stats=1 \
      "$corpus" $seeds >"$log" 2>&1 </dev/null; then
    printf 'fuzz %-14s ok, %s runs\n' "$name" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
  else
    tail -n 60 "$log"; printf 'fuzz %-14s FAILED; the input lies at %s*\n' "$name" "$found"; return 1
  fi
}
export -f fuzz_one
printf '%s\n' "${targets[@]}" | grep -v '\.log$' | xargs -P 2 -I{} bash -c 'fuzz_one "$@"' _ {} "$build" "$seconds"
