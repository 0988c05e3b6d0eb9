#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# `trace -v` without root: the chain of policies and rules, and which of it is only counted. In every
# example the chain ends in the compiled policy's verdict.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"
cd "$top" || exit 1

explain() { # ARGUMENT...
	run_bulkhead trace -v "$@"
}

# Compares the output with standard input.
reads() { # NAME STATUS ARGUMENT...
	local name=$1 status=$2 got
	shift 2
	cat >"$tmp/want"
	explain "$@"
	got=$?
	sed -i "s,($tmp/,(," "$tmp/out"
	diff "$tmp/want" "$tmp/out" >"$tmp/differs" && [ "$got" -eq "$status" ] && [ ! -s "$tmp/err" ]
	check_run $? "$name (exit $got)"
}

cat >"$tmp/world.ini" <<'END'
[endpoint shop/db]
ip = 10.1.0.1
labels = role=db

[endpoint shop/web]
ip = 10.1.0.2

[endpoint lab/x]
ip = 10.1.0.3

[admin-network-policy guard]
priority = 7
subject = namespaces(kubernetes.io/metadata.name=shop)
ingress = telnet: Deny from namespaces() ports TCP/23
ingress = own: Pass from self
ingress = Deny from namespaces()

[network-policy shop/db]
endpoints = role=db
ingress = from endpoints(role=web)
ingress = from endpoints() ports TCP/6379

[network-policy shop/web]
endpoints = role=web

[baseline-admin-network-policy default]
subject = namespaces()
ingress = Deny from namespaces()
END

reads "an allowed flow" 0 --from shop/web --to shop/db --port TCP/6379 "$tmp/world.ini" <<'END'
allow shop/web (10.1.0.2) -> shop/db (10.1.0.1) TCP/6379
  egress   allow default
    admin           guard (priority 7): selects, but not in this direction
    network-policy  shop/db: does not select
    network-policy  shop/web: does not select
    network-policy  not isolated
    baseline        default: selects, but not in this direction
    default         nothing decides: allowed
  ingress  allow network-policy shop/db/ingress[1]
    admin           guard (priority 7): selects
      telnet                    port does not match (world.ini:14)
      own                       passes
    network-policy  shop/db: isolates
      ingress[0]                peer does not match (world.ini:20)
      ingress[1]                allows
    network-policy  shop/web: does not select
END
reads "a denied flow" 1 --from lab/x --to shop/db --port TCP/6379 "$tmp/world.ini" <<'END'
deny lab/x (10.1.0.3) -> shop/db (10.1.0.1) TCP/6379
  egress   allow default
    admin           guard (priority 7): does not select
    network-policy  not isolated
    baseline        default: selects, but not in this direction
    default         nothing decides: allowed
  ingress  deny admin guard/ingress[2]
    admin           guard (priority 7): selects
      telnet                    port does not match (world.ini:14)
      own                       peer does not match (world.ini:15)
      ingress[2]                denies
END
reads "an address has no chain" 0 --from 192.0.2.1 --to lab/x --port TCP/80 "$tmp/world.ini" <<'END'
allow 192.0.2.1 (192.0.2.1) -> lab/x (10.1.0.3) TCP/80
  egress   -
  ingress  allow default
    admin           guard (priority 7): does not select
    network-policy  not isolated
    baseline        default: selects
      ingress[0]                peer does not match (world.ini:28)
    default         nothing decides: allowed
END

{
	printf '[endpoint a/x]\nip = 10.1.0.1\n'
	for i in 1 2 3 4 5 6; do
		printf '[admin-network-policy none-%d]\npriority = %d\nsubject = namespaces(none)\n' "$i" "$i"
		printf 'ingress = Deny from namespaces()\n'
	done
	printf '[admin-network-policy many]\npriority = 9\nsubject = namespaces()\n'
	printf 'ingress = Deny from namespaces() ports TCP/%d\n' 1 2 3 4 5
	printf 'ingress = last: Deny from namespaces() ports TCP/6\n'
} >"$tmp/many.ini"
reads "what comes to nothing is counted where it is much" 0 --from 192.0.2.1 --to a/x --port TCP/1 \
	"$tmp/many.ini" <<'END'
allow 192.0.2.1 (192.0.2.1) -> a/x (10.1.0.1) TCP/1
  egress   -
  ingress  allow default
    admin           6 policies do not select
    admin           many (priority 9): selects
      6 rules                   peer does not match
    network-policy  not isolated
    default         nothing decides: allowed
END

explain -j --from lab/x --to shop/db --port TCP/6379 "$tmp/world.ini"
grep -qF '"ingress_chain":[{"tier":"admin","policy":"guard","rule":null,"says":"selects","file":"'"$tmp"'/world.ini","line":11},{"tier":"admin","policy":"guard","rule":"telnet","says":"port does not match",' "$tmp/out"
check_run $? "in JSON, with each step's place"

"$BULKHEAD" compile -o "$tmp/world.bhp" "$tmp/world.ini" >/dev/null
explain --from lab/x --to shop/db --port TCP/6379 "$tmp/world.bhp"
[ $? -eq 1 ] && grep -qF 'ingress  deny admin guard/ingress[2]' "$tmp/out" &&
	grep -qE '^    segment [0-9]+, of .*; the other end is in segment [0-9]+$' "$tmp/out" &&
	grep -qE '^      deny admin guard/ingress\[2\]: .*TCP/' "$tmp/out" && [ ! -s "$tmp/err" ]
check_run $? "a compiled file has the decisions, and what each end says at every port"

# trace reports on standard error if the chain's verdict differs from the compiled one.
right=0 wrong=''
for example in policies/*/; do
	while IFS=$'\t' read -r flow verdict _; do
		read -r from to port <<<"$flow"
		explain --from "$from" --to "$to" --port "$port" "$example/yaml"
		status=$?
		if [ ! -s "$tmp/err" ] && [[ $status/$verdict == @(0/allow|1/deny|1/depends) ]]; then
			right=$((right + 1))
		else
			wrong="$wrong $example:$flow"
		fi
	done <"$example/expected.tsv"
done
echo "$wrong" >"$tmp/err"
[ -z "$wrong" ] && [ $right -gt 100 ]
check_run $? "every example's walks end in its verdict ($right flows)"

check_end
