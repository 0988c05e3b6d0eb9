#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The seeds of selftests/run, a copy of which runs tests of this test's own: the fixed seed, a random seed, what a
# run with a random seed keeps, and the repeats of what is kept.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"

tree=$tmp/tree
mkdir -p "$tree/corpus/parser" && cp "$top/selftests/run" "$tree/"
unset SEED BULKHEAD_SEED BULKHEAD_FULL
# Both fail where FAIL is set, and say with which settings they run. The second names the case that failed.
cat >"$tree/net_shell.sh" <<'EOS'
#!/bin/bash
echo "# shell BULKHEAD_SEED=$BULKHEAD_SEED COUNT=${COUNT:-}"
[ -z "${FAIL:-}" ] && echo "ok 1 - a row" || echo "not ok 1 - a row"
EOS
cat >"$tree/diff_case" <<'EOS'
#!/bin/bash
echo "# from SEED=1 on"
echo "# case SEED=${SEED:-}"
[ -n "${FAIL:-}" ] || { echo "ok 1 - a row" && exit; }
printf '# SEED=%s fails\n# SEED=78 fails\nnot ok 1 - a row\n' 77
exit 1
EOS
cat >"$tree/fuzz_parser" <<'EOS'
#!/bin/bash
for argument; do
	case $argument in -artifact_prefix=*) found=${argument#*=} ;; esac
done
[ -z "${FAIL:-}" ] || { echo found >"${found}crash-1" && echo seen >"${found}0123" && exit 1; }
EOS
chmod +x "$tree"/*_*

# Runs all three with the settings given; the output is in $tmp/ran.
run() { # VARIABLE=VALUE...
	env "$@" FUZZ_SECONDS=1 TMPDIR="$tmp" "$tree/run" "$tree/net_shell.sh" "$tree/diff_case" "$tree/fuzz_parser" >"$tmp/ran" 2>&1
}
seed() { # that the last run printed
	sed -n 's/^# BULKHEAD_SEED=\([0-9]*\) .*/\1/p' "$tmp/ran"
}
begin() { # LINE...: the lines of corpus/seeds
	printf '%s\n' "# a comment" "$@" >"$tree/corpus/seeds"
	rm -f "$tree/corpus/parser/"*
}
kept() { # LINE...: that corpus/seeds has, and no other
	diff "$tree/corpus/seeds" <(printf '%s\n' "# a comment" "$@")
}
said() { # COUNT LINE: the tests said LINE so many times
	is "$(grep -cxF "    # $2" "$tmp/ran")" "$1" || { cat "$tmp/ran" && false; }
}
refuses() { # SEED
	run BULKHEAD_SEED="$1"
	[ $? -eq 2 ] && grep "BULKHEAD_SEED=$1: is no number" "$tmp/ran"
}

begin
check "a run passes" run
fixed=$(seed)
check "a run says its seed" test -n "$fixed"
check "the next run has the same seed" eval 'run && is "$(seed)" "$fixed"'
check "the seed reaches the tests" said 1 "shell BULKHEAD_SEED=$fixed COUNT="
check "BULKHEAD_SEED=7 is the seed 7" eval 'run BULKHEAD_SEED=7 && said 1 "shell BULKHEAD_SEED=7 COUNT="'
for bad in 0 010 1x -1 1000000000 today; do
	check "the seed $bad is refused" refuses $bad
done

check "a run with a random seed passes" run BULKHEAD_SEED=random
one=$(seed)
check "a second one passes" run BULKHEAD_SEED=random
check "the two have different seeds" test "$one" -ne "$(seed)"
check "a test that passes is not kept" kept
check "a run fails with its test" eval '! run FAIL=1'
check "a run with the fixed seed keeps nothing" eval 'kept && is "$(ls "$tree/corpus/parser")" ""'
check "a run with a random seed fails with its test" eval '! run BULKHEAD_SEED=random FAIL=1'
check "a failed test is kept with the run's seed, or with the seed that it names" \
	eval 'sort -o "$tree/corpus/seeds" "$tree/corpus/seeds" && kept "diff_case SEED=77" "net_shell.sh BULKHEAD_SEED=$(seed)"'
check "the run says what it has kept" grep -xF "#   diff_case SEED=77" "$tmp/ran"
check "the fuzzer's input is kept, and no other" is "$(ls "$tree/corpus/parser")" crash-1

kept=$(seed)
check "the next run passes" run
check "the next run has the fixed seed" said 1 "shell BULKHEAD_SEED=$fixed COUNT="
check "the next run repeats the kept seed" said 1 "shell BULKHEAD_SEED=$kept COUNT="
check "the next run repeats the kept case" said 1 "case SEED=77"
check "each repeat is a test of its own" grep -x "ok [0-9] - net_shell.sh BULKHEAD_SEED=$kept" "$tmp/ran"
check "a run with failing repeats fails" eval '! run BULKHEAD_SEED=random FAIL=1'
check "a case is not kept a second time" is "$(grep -c "SEED=77\|=$kept$" "$tree/corpus/seeds")" 2

begin "net_shell.sh BULKHEAD_SEED=8 BULKHEAD_FULL=1" "net_shell.sh BULKHEAD_SEED=9 COUNT=2 # why" "net_other.sh COUNT=3"
check "a run with several kept lines passes" run
check "a line may set several variables" said 1 "shell BULKHEAD_SEED=9 COUNT=2"
check "a line with BULKHEAD_FULL=1 is left out" said 0 "shell BULKHEAD_SEED=8 COUNT="
check "a whole run passes" run BULKHEAD_FULL=1
check "a whole run has the line with BULKHEAD_FULL=1" said 1 "shell BULKHEAD_SEED=8 COUNT="
check "a run on a slow machine passes" run BULKHEAD_SMALL=1
check "a slow machine repeats no kept line" said 0 "shell BULKHEAD_SEED=9 COUNT=2"
check "a whole run on a slow machine passes" run BULKHEAD_SMALL=1 BULKHEAD_FULL=1
check "a whole run on a slow machine repeats the kept lines" said 1 "shell BULKHEAD_SEED=9 COUNT=2"
begin
check "a whole run with a random seed fails with its test" eval '! run BULKHEAD_SEED=random BULKHEAD_FULL=1 FAIL=1'
check "a whole run keeps a test with BULKHEAD_FULL=1" \
	grep -x "net_shell.sh BULKHEAD_SEED=$(seed) BULKHEAD_FULL=1" "$tree/corpus/seeds"
check_end
