#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A policy that is over a budget is set aside, closed, with a warning that has the figure and the limit; the
# others count; lint says it beforehand; a stream of events gives the same. An object of an API server that
# cannot be used is set aside in the same way, unless --strict is given; one without a UID is refused.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"

join() { # OBJECT...: separated by commas
	local IFS=,
	echo "$*"
}
list() { # OBJECT...
	echo "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [
$(join "$@" | sed 's/},{"apiVersion/},\n{"apiVersion/g')]}"
}
object() { # KIND VERSION NAMESPACE NAME SPEC [METADATA]
	printf '{"apiVersion": "%s", "kind": "%s", "metadata": {"name": "%s", "namespace": "%s"%s}, "spec": {%s}}' \
		"$2" "$1" "$4" "$3" "${6:-}" "$5"
}
pod() { # NAMESPACE NAME IP
	printf '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "%s", "namespace": "%s", "labels": {"app": "%s"}},
"spec": {"nodeName": "n1"}, "status": {"podIP": "%s"}}' "$2" "$1" "$2" "$3"
}
policy() { # NAMESPACE NAME SPEC [METADATA]
	object NetworkPolicy networking.k8s.io/v1 "$@"
}
ports() { # PROTOCOL: every second port
	seq 1 2 65535 | sed "s/.*/{\"protocol\": \"$1\", \"port\": &}/" | paste -sd,
}
wide() { # 900 lists of 40,000 intervals each
	printf '"podSelector": {}, "ingress": [{"ports": [%s]}' "$(ports TCP)"
	for ((i = 0; i < 900; i++)); do
		printf ',{"from": [{"ipBlock": {"cidr": "20.%d.%d.0/24"}}], "ports": [{"port": %d}]}' $((i / 256)) $((i % 256)) $((2 + 2 * i))
	done
	printf ']'
}
db='"podSelector": {"matchLabels": {"app": "db"}}, "ingress": [{"from": [{"podSelector": {"matchLabels": {"app": "web"}}}]}]'
honest=("$(pod good db 10.0.0.1)" "$(pod good web 10.0.0.2)" "$(pod evil a 10.0.1.1)" "$(policy good db "$db")")

traces() { # FILE FROM TO VERDICT
	is "$("$BULKHEAD" trace --from "$2" --to "$3" --port TCP/81 "$1" | sed 's/ .*//;q')" "$4"
}
honest_counts() { # FILE
	traces "$1" good/web good/db allow && traces "$1" evil/a good/db deny
}
closed() { # FILE: ingress of evil/a, which is open in the other direction
	traces "$1" good/web evil/a deny && traces "$1" evil/a good/web allow
}
warns() { # PATTERN COMMAND...
	run_bulkhead "${@:2}" && grep -qE -- "$1" "$tmp/err" && return
	cat "$tmp/out" "$tmp/err"
	return 1
}
refuses() { # PATTERN COMMAND...
	run_bulkhead "${@:2}"
	[ $? -eq 2 ] && grep -qE -- "$1" "$tmp/err"
}
refuses_without() { # TEXT PATTERN COMMAND...
	refuses "${@:2}" && ! grep -q -- "$1" "$tmp/err"
}

# Ten times what these compiles take. Without budgets, the policy below takes three times as much or more of both.
cheaply() { # COMMAND...: with so many kB, and so many seconds of a processor
	(ulimit -v 300000 -t 15 && "$@")
}

list "${honest[@]}" >"$tmp/honest.json"
list "${honest[@]}" "$(policy evil big "$(wide)")" >"$tmp/wide.json"
list "${honest[@]}" "$(policy evil big '"podSelector": {}')" >"$tmp/wide-closed.json"
check "a policy of 900 long port lists compiles with a warning that names it, the figure and the limit" \
	cheaply warns 'wide.json:[0-9]+: evil/big: warning: is set aside.*needs [0-9]+ port intervals or more, the limit is 262144' \
	compile -o "$tmp/wide.bhp" "$tmp/wide.json"
check "the policy of 900 lists isolates what it selects" closed "$tmp/wide.bhp"
check "other policies count beside the policy of 900 lists" honest_counts "$tmp/wide.bhp"
run_bulkhead compile -o "$tmp/wide-closed.bhp" "$tmp/wide-closed.json"
check "the compiled policy is that of a policy without rules" cmp "$tmp/wide.bhp" "$tmp/wide-closed.bhp"

run_bulkhead compile -o "$tmp/honest.bhp" "$tmp/honest.json"
for i in wide wide-closed; do
	run_bulkhead compile --base "$tmp/honest.bhp" -o "$tmp/$i-next.bhp" "$tmp/$i.json"
done
check "a successor of another policy sets the same policy aside" cmp "$tmp/wide-next.bhp" "$tmp/wide-closed-next.bhp"
run_bulkhead compile --base "$tmp/wide-next.bhp" -o "$tmp/wide-again.bhp" "$tmp/wide.json"
check "the same objects again change nothing" cmp "$tmp/wide-next.bhp" "$tmp/wide-again.bhp"

# Each of 20,000 pods would look at each of 120,000 selectors of policies that are over their budget.
seq 0 19999 | awk '{printf "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"c%d\", \"namespace\": \"good\",\
 \"labels\": {\"app\": \"c\"}}, \"status\": {\"podIP\": \"11.0.%d.%d\"}}\n", $1, $1 / 256, $1 % 256}' >"$tmp/crowd.json"
for i in 1 2 3 4; do
	policy evil "many$i" "$(printf '"podSelector": {}, "ingress": [{"from": [' &&
		seq 0 29999 | sed "s/.*/{\"namespaceSelector\": {}, \"podSelector\": {\"matchLabels\": {\"app\": \"c\", \"k$i-&\": \"\"}}}/" | paste -sd, &&
		printf ']}]')"
	echo
done >>"$tmp/crowd.json"
printf '%s\n' "${honest[@]}" >>"$tmp/crowd.json"
check "policies over their budget cost nothing for each pod of the cluster" cheaply run_bulkhead compile -o "$tmp/crowd.bhp" "$tmp/crowd.json"
check "policies count beside them" honest_counts "$tmp/crowd.bhp"

services() { # 400, an object a line; each has the same 40 addresses
	awk -v form="$(object Service v1 evil 's%d' '"clusterIP": "172.16.%d.%d", "externalIPs": [%s], "ports": [%s]')\n" \
		-v addresses="$(seq -s , -f '"198.51.100.%g"' 40)" 'BEGIN {
			for (i = 0; i < 400; i++) {
				ports = ""
				for (port = 1000 + i; port < 1020 + i; port++)
					ports = ports sprintf("%s{\"name\": \"p%d\", \"port\": %d}", ports ? "," : "", port, port)
				printf form, i, i / 250, i % 250 + 1, addresses, ports
			}
		}'
}
mapfile -t services < <(services)
list "${honest[@]}" "${services[@]}" >"$tmp/services.json"
check "400 Services of 20 ports with common addresses compile" cheaply run_bulkhead compile -o "$tmp/services.bhp" "$tmp/services.json"
check "policies count beside the 400 Services" honest_counts "$tmp/services.bhp"

list "${honest[@]}" "$(policy evil tcp "\"podSelector\": {}, \"ingress\": [{\"ports\": [$(ports TCP)]}]")" \
	"$(policy evil udp "\"podSelector\": {}, \"ingress\": [{\"ports\": [$(ports UDP)]}]")" \
	"$(policy evil sctp "\"podSelector\": {}, \"ingress\": [{\"ports\": [$(ports SCTP)]}]")" >"$tmp/three.json"
check "one of three policies that need too long a list together is set aside" \
	warns 'evil/[a-z]+: warning: is set aside.*needs [0-9]+ port intervals in one list, the limit is 131071' \
	compile -o "$tmp/three.bhp" "$tmp/three.json"
check "other policies count beside the three" honest_counts "$tmp/three.bhp"

run_bulkhead lint "$tmp/wide.json"
check "lint says beforehand that a policy would be set aside" grep -qE \
	'wide.json:[0-9]+: evil/big: is set aside, .* the limit is 262144 \[over-budget\]' "$tmp/out"
run_bulkhead lint "$tmp/wide-closed.json"
check "lint says so of no other policy" is "$(grep -c over-budget "$tmp/out")" 0

for object in "${honest[@]}" "$(policy evil big "$(wide)")"; do
	echo "{\"type\": \"ADDED\", \"object\": $object}"
done >"$tmp/events"
check "the engine's way warns of the policy" warns 'NetworkPolicy evil/big is set aside.*the limit is 262144' \
	compile --events -o "$tmp/events.bhp" "$tmp/events"
check "the engine's way isolates what the policy selects" closed "$tmp/events.bhp"
check "the engine's way counts other policies" honest_counts "$tmp/events.bhp"

# Objects that an API server accepts
uid=', "uid": "0f6f1c5e-0000-4000-8000-000000000001"'
octal='"podSelector": {"matchLabels": {"app": "a"}}, "ingress": [{"from": [{"ipBlock": {"cidr": "010.0.0.0/8"}}]}]'
spaced='"type": "LoadBalancer", "clusterIP": "172.16.0.9", "loadBalancerSourceRanges": [" 10.0.0.0/8 "], "ports": [{"port": 80}]'
external='"clusterIP": "172.16.0.8", "externalIPs": ["010.0.0.7"], "ports": [{"port": 80}]'
where='spec.ingress\[0\].from\[0\].ipBlock.cidr: '
list "${honest[@]}" "$(policy evil octal "$octal" "$uid")" >"$tmp/dump.json"
list "${honest[@]}" "$(policy evil octal "$octal")" >"$tmp/hand.json"
list "${honest[@]}" "$(object Service v1 evil lb "$spaced")" >"$tmp/spaced.json"
list "${honest[@]}" "$(object Service v1 evil out "$external" "$uid")" \
	"$(policy evil range '"podSelector": {}, "policyTypes": ["Egress"], "egress": [{"to": [{"ipBlock": {"cidr": "172.16.0.0/16"}}]}]')" >"$tmp/service.json"
list "${honest[@]}" "$(policy evil both "\"policyTypes\": [\"Egress\"], \"egress\": [{\"to\": 1}], ${octal%%, \"ingress\"*}" "$uid")" >"$tmp/egress.json"
list "${honest[@]}" "$(object AdminNetworkPolicy policy.networking.k8s.io/v1alpha1 '' ANP \
	'"priority": 1, "subject": {"namespaces": {"matchLabels": {"kubernetes.io/metadata.name": "evil"}}}, "ingress": [{"action": "Allow", "from": [{"novel": {}}]}]' "$uid" |
	sed 's/ANP/anp/')" >"$tmp/admin.json"

check "a dump with an ipBlock that cannot be used compiles with a warning that names file, line, field and policy" \
	warns "dump.json:[0-9]+: ${where}warning: .*NetworkPolicy evil/octal is set aside, and isolates what it selects" \
	compile -o "$tmp/dump.bhp" "$tmp/dump.json"
check "the dump's policy isolates what it selects" closed "$tmp/dump.bhp"
check "the dump's other policies count" honest_counts "$tmp/dump.bhp"
check "--strict refuses the dump" refuses "dump.json:[0-9]+: ${where}\"010" compile --strict -o "$tmp/x" "$tmp/dump.json"
check "the same policy without a UID is refused" refuses "hand.json:[0-9]+: ${where}\"010" compile -o "$tmp/x" "$tmp/hand.json"
check "the refused file makes no output" [ ! -e "$tmp/x" ]
check "a source range with white space is taken" run_bulkhead compile --strict -o "$tmp/spaced.bhp" "$tmp/spaced.json"
check "a Service that cannot be used keeps its addresses, with a warning" \
	warns 'spec.externalIPs\[0\]: warning: .*Service evil/out keeps its addresses, without backends' compile -o "$tmp/service.bhp" "$tmp/service.json"
check "the address of the Service stands for no backend, though a CIDR has it" traces "$tmp/service.bhp" evil/a 172.16.0.8 deny
check "the CIDR allows an address beside that of the Service" traces "$tmp/service.bhp" evil/a 172.16.0.9 allow
check "other policies count beside the Service" honest_counts "$tmp/service.bhp"
check "a policy of egress that cannot be used compiles" warns 'evil/both is set aside' compile -o "$tmp/egress.bhp" "$tmp/egress.json"
check "the policy of egress isolates egress" traces "$tmp/egress.bhp" evil/a good/web deny
check "the policy of egress leaves ingress open" traces "$tmp/egress.bhp" good/web evil/a allow
check "an admin policy that cannot be used compiles" warns 'AdminNetworkPolicy anp is set aside' compile -o "$tmp/admin.bhp" "$tmp/admin.json"
check "the admin policy denies what its direction says" closed "$tmp/admin.bhp"

# Nothing can stand for a policy of all namespaces whose subject cannot be read.
list "${honest[@]}" "$(object AdminNetworkPolicy policy.networking.k8s.io/v1alpha1 '' ANP \
	'"priority": 1, "subject": {"novel": {}}, "ingress": [{"action": "Deny", "from": [{"namespaces": {}}]}]' "$uid" |
	sed 's/ANP/anp/')" >"$tmp/subject.json"
check "a dump with an admin policy whose subject cannot be read is refused" \
	refuses 'subject.json:[0-9]+: cannot be set aside: its faults leave open what it selects' compile -o "$tmp/x" "$tmp/subject.json"
check "the refusal names the field, and says nothing of setting the policy aside" \
	refuses_without 'is set aside' 'subject.json:[0-9]+: spec.subject[^ ]*: ' compile -o "$tmp/x" "$tmp/subject.json"
check "the refused dump makes no output" [ ! -e "$tmp/x" ]

# Of several BaselineAdminNetworkPolicies of older clusters one counts
baseline() { # NAME NAMESPACE UID
	object BaselineAdminNetworkPolicy policy.networking.k8s.io/v1alpha1 '' NAME \
		"\"subject\": {\"namespaces\": {\"matchLabels\": {\"kubernetes.io/metadata.name\": \"$2\"}}}, \"ingress\": [{\"action\": \"Deny\", \"from\": [{\"namespaces\": {\"matchLabels\": {\"kubernetes.io/metadata.name\": \"evil\"}}}]}]" "${3:-}" |
		sed "s/NAME/$1/"
}
list "${honest[@]}" "$(baseline another evil "$uid")" "$(baseline default good "$uid")" >"$tmp/baselines.json"
list "${honest[@]}" "$(baseline another evil)" "$(baseline default good)" >"$tmp/written.json"
check "a second BaselineAdminNetworkPolicy is set aside with a warning that names the one that counts" \
	warns 'another: warning: is set aside, and isolates what it selects: .* default is it' compile -o "$tmp/baselines.bhp" "$tmp/baselines.json"
run_bulkhead lint "$tmp/baselines.json"
check "lint has a name of its own for a second BaselineAdminNetworkPolicy" is "$(grep -o '\[over-budget\]\|\[second-baseline\]' "$tmp/out")" \
	"[second-baseline]"
check "the second BaselineAdminNetworkPolicy isolates what it selects" traces "$tmp/baselines.bhp" good/web evil/a deny
check "the one named default counts" traces "$tmp/baselines.bhp" evil/a good/web deny
check "--strict refuses the second BaselineAdminNetworkPolicy" refuses 'there can be only one' compile --strict -o "$tmp/x" "$tmp/baselines.json"
check "a file that a person wrote is refused with two BaselineAdminNetworkPolicies" refuses 'there can be only one' compile -o "$tmp/x" "$tmp/written.json"

# trace -v walks the rules as the compile took them.
walks() { # FILE FROM TO STEP
	run_bulkhead trace -v --from "$2" --to "$3" --port TCP/1 "$1"
	[ $? -eq 1 ] && ! grep -q disagreement "$tmp/err" && grep -qE -- "$4" "$tmp/out"
}
check "trace -v of a policy over its budget comes to the verdict" walks "$tmp/wide.json" good/web evil/a 'isolated, and no rule allows'
check "trace -v of a second BaselineAdminNetworkPolicy comes to the verdict" walks "$tmp/baselines.json" good/web evil/a 'set-aside +denies'

# A policy that is only audited stays so
audited=', "annotations": {"bulkhead.dev/audit": "true"}'
open_() { # FILE
	traces "$1" good/web evil/a allow && traces "$1" good/web good/db allow
}
events() { # OBJECT...
	local object
	for object; do
		echo "{\"type\": \"ADDED\", \"object\": $object}"
	done
}
list "${honest[@]}" "$(policy evil octal "$octal" "$uid$audited")" >"$tmp/audited.json"
run_bulkhead compile -o "$tmp/audited.bhp" "$tmp/audited.json"
check "a dump's audited policy that cannot be used stays audited" open_ "$tmp/audited.bhp"
events "${honest[@]}" "$(policy evil octal "$octal" "$uid$audited")" >"$tmp/events"
run_bulkhead compile --events -o "$tmp/audited.bhp" "$tmp/events"
check "the engine's way leaves it audited" open_ "$tmp/audited.bhp"
events "${honest[@]}" "$(policy evil octal "$octal" "$uid${audited/true/yes}")" >"$tmp/events"
run_bulkhead compile --events -o "$tmp/audited.bhp" "$tmp/events"
check "one that asks for audit in another word is enforced" closed "$tmp/audited.bhp"
# The rows of OPERATING.md, in the order of the compiler's table.
of_code() {
	sed -nE 's/^\t\[BUDGET_[A-Z]+\] = \{"[^"]*", ([^,]*), ([^,]*),.*/\1,\2/p' "$top/user/compile/budget_accounts.c" |
		while IFS=, read -r policy namespace; do
			[ "$policy" = NO_LIMIT ] && policy=- || policy=$((policy))
			echo "$policy $((namespace))"
		done
}
of_operating() {
	sed -n '/^| counted | a policy or Service/,/^$/s/^| \([^|]*\) | \([^|]*\) | \([^|]*\) |.*/\2 \3/p' "$top/OPERATING.md" |
		sed -E 's/,//g; s/([0-9]+) MiB/\1 * 1048576/g' | tail -n +3 |
		sed -E 's/([0-9]+) \* 1048576 ([0-9]+) \* 1048576/echo $((\1 << 20)) $((\2 << 20))/e'
}
check "OPERATING.md has the compiler's budgets" diff <(of_code) <(of_operating)
check_end
