#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# `bulkhead recommend`: its policies allow, as trace reads them, the flows that were seen, and open, as
# matrix reads them, no others. It names and leaves out flows that no NetworkPolicy can allow.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"

cat >"$tmp/cluster.ini" <<'EOF2'
[endpoint shop/db-0]
ip = 10.0.0.1, fd00::1
labels = app=db, statefulset.kubernetes.io/pod-name=db-0
[endpoint shop/db-1]
ip = 10.0.0.2, fd00::2
labels = app=db, statefulset.kubernetes.io/pod-name=db-1
[endpoint shop/db-canary]
ip = 10.0.0.3, fd00::3
labels = app=db, canary=1
[endpoint front/web-1]
ip = 10.0.1.1, fd01::1
labels = app=web, pod-template-hash=a
[endpoint front/web-2]
ip = 10.0.1.2, fd01::2
labels = app=web, pod-template-hash=b
[endpoint front/bare]
ip = 10.0.1.3
[endpoint locked/safe]
ip = 10.0.2.1
labels = app=safe
[network-policy shop/deny]
endpoints =
types = Ingress, Egress
[network-policy front/deny]
endpoints =
types = Egress
[admin-network-policy guard]
priority = 1
subject = namespaces(kubernetes.io/metadata.name=locked)
ingress = Deny from namespaces()
EOF2

event() { # VERDICT SOURCE DESTINATION PORT [REPLY]
	printf '{"verdict":"%s","source":{"name":null,"address":"%s","port":40000},' "$1" "$2"
	printf '"destination":{"name":null,"address":"%s","port":0},"port":"%s","reply":%s}\n' \
		"$3" "$4" "${5:-false}"
}

{
	event audit 10.0.1.1 10.0.0.1 TCP/6379
	event audit 10.0.1.1 10.0.0.1 TCP/6379
	event audit 10.0.1.2 10.0.0.1 TCP/6380
	event audit fd01::1 fd00::1 TCP/6379
	event audit 10.0.1.1 192.0.2.1 UDP/53
	event pass 10.0.1.1 192.0.2.2 UDP/53
	event drop 10.0.1.1 192.0.2.3 UDP/53
	event audit 10.0.0.1 10.0.1.1 TCP/6379 true
} >"$tmp/seen"
"$BULKHEAD" recommend --events "$tmp/seen" "$tmp/cluster.ini" >"$tmp/more.yaml" 2>"$tmp/summary"
status=$?
check "flows of pods make policies of groups" is "$(cat "$tmp/summary")" \
	"note: 2 policies for 5 flows; 0 are allowed already, 0 are left out"
check "the status is 0 where the policies allow every flow" is $status 0

verdict() { # SRC DST PORT [INPUT...]
	"$BULKHEAD" trace --from "$1" --to "$2" --port "$3" "${@:4}" >/dev/null 2>&1
	echo $?
}

cp "$tmp/more.yaml" "$tmp/more.first"
both=("$tmp/cluster.ini" "$tmp/more.yaml")
for flow in "front/web-1 shop/db-0 TCP/6379" "front/web-2 shop/db-0 TCP/6380" \
	"front/web-1 192.0.2.1 UDP/53"; do
	read -r from to port <<<"$flow"
	check "$flow is denied before" is "$(verdict "$from" "$to" "$port" "$tmp/cluster.ini")" 1
	check "$flow is allowed with the policies" is "$(verdict "$from" "$to" "$port" "${both[@]}")" 0
done
check "another pod of the workload is allowed the same" \
	is "$(verdict front/web-2 shop/db-1 TCP/6379 "${both[@]}")" 0
for flow in "front/web-1 shop/db-0 TCP/6381" "front/web-1 shop/db-canary TCP/6379" \
	"front/bare shop/db-0 TCP/6379" "front/web-1 192.0.2.3 UDP/53" \
	"front/web-1 192.0.2.2 UDP/53" "shop/db-0 front/web-1 TCP/6379" \
	"locked/safe shop/db-0 TCP/6379"; do
	read -r from to port <<<"$flow"
	check "$flow stays denied" is "$(verdict "$from" "$to" "$port" "${both[@]}")" 1
done

"$BULKHEAD" recommend --drops --events "$tmp/seen" "$tmp/cluster.ini" >"$tmp/more.yaml" 2>/dev/null
check "--drops takes dropped flows" \
	is "$(verdict front/web-1 192.0.2.3 UDP/53 "${both[@]}")" 0
check "flows that policy allows make no policy" is "$(
	"$BULKHEAD" recommend --events "$tmp/seen" "${both[@]}" 2>&1
)" "note: 0 policies for 0 flows; 5 are allowed already, 0 are left out"

left_out() { # EVENTS WHY
	"$BULKHEAD" recommend --events "$1" "$tmp/cluster.ini" >"$tmp/out" 2>&1
	is $? 1 && grep -qF "$2" "$tmp/out" && ! grep -q NetworkPolicy: "$tmp/out"
}
event audit 10.0.1.1 10.0.2.1 TCP/80 >"$tmp/guarded"
check "an Admin rule's denial is left out" left_out "$tmp/guarded" "an Admin or Baseline rule denies"
event audit 10.0.1.1 10.0.0.1 ICMP >"$tmp/icmp"
check "a protocol that no rule can name is left out" left_out "$tmp/icmp" "can name the protocol"
event audit 10.0.1.3 10.0.0.1 TCP/6379 >"$tmp/bare"
check "a pod that no label sets apart is left out" left_out "$tmp/bare" "no label sets an end apart"

# The late answer of a server whose egress is isolated: the question has no entry any more.
answer() { # SERVER SERVER-PORT CLIENT CLIENT-PORT
	event audit "$1" "$3" "UDP/$4" | sed "s/\"port\":40000}/\"port\":$2}/"
}
recommended() { # EVENTS SOURCE DESTINATION PORT...: verdicts with the policies that it recommends
	"$BULKHEAD" recommend --events "$1" "$tmp/cluster.ini" >"$tmp/answers.yaml" 2>"$tmp/answers.said"
	verdict "${@:2}" "$tmp/cluster.ini" "$tmp/answers.yaml"
}
{
	event audit 10.0.1.1 10.0.0.1 UDP/53
	answer 10.0.0.1 53 10.0.1.1 40000
} >"$tmp/answers"
check "a late answer to a call that was seen is no call" \
	is "$(recommended "$tmp/answers" shop/db-0 front/web-1 UDP/40000)" 1
check "a late answer is named" grep -q "left out: a late answer to a call that is allowed: 10.0.0.1 to 10.0.1.1 UDP/40000" \
	"$tmp/answers.said"
check "the call is recommended" is "$(recommended "$tmp/answers" front/web-1 shop/db-0 UDP/53)" 0
answer 10.0.0.1 53 10.0.1.1 40000 >"$tmp/answers"
check "without a call that is allowed, the same packet is a call" \
	is "$(recommended "$tmp/answers" shop/db-0 front/web-1 UDP/40000)" 0
{
	event audit 10.0.1.1 10.0.0.1 UDP/53
	answer 10.0.0.1 5300 10.0.1.1 40000
	answer 10.0.0.1 53 10.0.1.1 53
} >"$tmp/answers"
check "from another port it is a call" is "$(recommended "$tmp/answers" shop/db-0 front/web-1 UDP/40000)" 0
check "to a port that no client gets it is a call" is "$(recommended "$tmp/answers" shop/db-0 front/web-1 UDP/53)" 0

# No policy allows a packet that was dropped for another reason than policy: `recommend` skips its event.
reason() { # REASON
	event audit 10.0.0.1 10.0.1.1 TCP/40000 | sed "s/,\"source\"/,\"reason\":\"$1\"&/"
}
reason "TCP segment of no connection" >"$tmp/answers"
check "a segment of no connection opens nothing" \
	is "$(recommended "$tmp/answers" shop/db-0 front/web-1 TCP/40000)" 1
reason "denied by the source's policy" >"$tmp/answers"
check "a segment that policy denied makes a rule" is "$(recommended "$tmp/answers" shop/db-0 front/web-1 TCP/40000)" 0

# A flow to an address that the pod has learned by a domain name: the name takes the address' place.
named() { # ADDRESS NAME...
	event audit 10.0.1.1 "$1" TCP/443 | sed "s|\"destination\": *{|&\"domain_names\":[$2],|"
}
{ named 172.18.0.1 '"*.example.com","api.example.com"' && named 172.18.0.2 '"api.example.com"'; } >"$tmp/named"
"$BULKHEAD" recommend --events "$tmp/named" "$tmp/cluster.ini" >"$tmp/names.yaml" 2>"$tmp/said"
check "a name is recommended in place of its addresses" grep -qx "      - api.example.com" "$tmp/names.yaml"
check "no address of the name is recommended" is "$(grep -c 172.18 "$tmp/names.yaml")" 0
check "the name's rule is a ClusterNetworkPolicy" is "$(grep ^kind "$tmp/names.yaml")" "kind: ClusterNetworkPolicy"
check "the recommended name is allowed to the pod" \
	is "$(verdict front/web-1 name:api.example.com TCP/443 "$tmp/cluster.ini" "$tmp/names.yaml")" 0
check "the recommended name is denied to another pod" \
	is "$(verdict front/bare name:api.example.com TCP/443 "$tmp/cluster.ini" "$tmp/names.yaml")" 1

refused() { # TEXT ARGUMENT...
	local text=$1
	shift
	"$BULKHEAD" recommend "$@" </dev/null >"$tmp/out" 2>&1
	is $? 2 && grep -F "$text" "$tmp/out"
}
printf '{"verdict":"audit"}\nno event\n' >"$tmp/bad"
"$BULKHEAD" recommend -j --events "$tmp/bad" "$tmp/cluster.ini" >"$tmp/out" 2>"$tmp/err"
check "-j: a line that is no event is refused in JSON" is "$(cat "$tmp/err")" \
	'{"level":"error","file":"'"$tmp/bad"'","line":2,"field":null,"message":"not JSON"}'
"$BULKHEAD" recommend -j --events "$tmp/seen" "$tmp/cluster.ini" >/dev/null 2>"$tmp/err"
check "-j: the numbers are a message in JSON" is "$(cat "$tmp/err")" \
	'{"level":"note","file":null,"line":null,"field":null,"message":"2 policies for 5 flows; 0 are allowed already, 0 are left out"}'
if [ "$(id -u)" -eq 0 ] && mkdir "$tmp/full" && unshare --mount true 2>/dev/null; then
	no_room() { # the folder for temporary files is full
		unshare --mount sh -c "mount -t tmpfs -o size=4k tmpfs '$tmp/full' && head -c 4096 /dev/zero >'$tmp/full/filler' &&
			TMPDIR='$tmp/full' '$BULKHEAD' recommend --events '$tmp/seen' '$tmp/cluster.ini' 2>'$tmp/err'; echo \$?; ls '$tmp/full'"
	}
	check "a full disk is an error of the kernel, and leaves no file" is "$(no_room)" "$(printf '%s\n' 3 filler)"
	check "a full disk is named as what it is" is "$(grep -c 'No space left on device' "$tmp/err") $(wc -l <"$tmp/err")" "1 1"
else
	check_skip "a full disk" "needs root"
fi
{ cat "$tmp/seen" && event audit 10.0.1.1 10.0.0.1 TCP/9 | head -c 90; } >"$tmp/growing"
"$BULKHEAD" recommend --events "$tmp/growing" "$tmp/cluster.ini" >"$tmp/out" 2>"$tmp/err"
check "the last event of a file that is being written may be cut" is "$? $(cat "$tmp/err")" \
	"0 $tmp/growing:9: note: the last event is cut, and left out"$'\n'"$(cat "$tmp/summary")"
check "the events before the cut one make the same policies" cmp "$tmp/more.first" "$tmp/out"
{ event audit 10.0.1.1 10.0.0.1 TCP/9 | head -c 90 && echo && cat "$tmp/seen"; } >"$tmp/bad-first"
check "a cut event before others is refused" refused "$tmp/bad-first:1: not JSON" --events "$tmp/bad-first" "$tmp/cluster.ini"
check "a line that is no event is refused by number" refused "$tmp/bad:2: not JSON" --events "$tmp/bad" \
	"$tmp/cluster.ini"
check "recommend without events is refused" refused "needs --events" "$tmp/cluster.ini"
check "recommend without objects is refused" refused "needs INPUT" --events "$tmp/seen"
"$BULKHEAD" recommend -j --events "$tmp/seen" "$tmp/cluster.ini" >"$tmp/more.json" 2>/dev/null
check "-j prints a List that load reads" \
	is "$(verdict front/web-1 shop/db-0 TCP/6379 "$tmp/cluster.ini" "$tmp/more.json")" 0
check_end
