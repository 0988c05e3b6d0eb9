#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Output for people: groups of equal pods with their number, filters, the terminal's width, colours on a
# terminal only, suggestions for mistyped words; and errors as JSON with -j.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"

# Prints three namespaces of 30 pods: each admits its own web pods at TCP 80, and shop at UDP 53 as well.
cluster() { # PORTS-OF-SHOP
	local ns i
	for ns in shop dns tools; do
		printf '[namespace %s]\n' "$ns"
		for ((i = 0; i < 30; i++)); do
			printf '[endpoint %s/%s-%d]\nnode = w%d\nip = 10.%d.0.%d\nlabels = app=%s\n' $ns \
				"$([ $((i % 3)) = 0 ] && echo web || echo db)" $i $((i % 2)) \
				"$(printf '%d' "'${ns:0:1}")" $((i + 1)) "$([ $((i % 3)) = 0 ] && echo web || echo db)"
		done
		printf '[network-policy %s/in]\nendpoints =\ningress = from endpoints(app=web) ports %s\n' $ns \
			"$([ $ns = shop ] && echo "$1" || echo TCP/80)"
	done
	printf '[node w0]\nip = 192.168.0.1\n[node w1]\nip = 192.168.0.2\n'
}
cluster TCP/80 >"$tmp/old.ini"
cluster TCP/80,UDP/53 >"$tmp/new.ini"

# Runs the command in a terminal of COLUMNS columns.
terminal() { # COLUMNS ARGUMENT...
	local columns=$1
	shift
	env -u NO_COLOR -u COLUMNS TERM=xterm script -qec \
		"stty cols $columns; $(printf '%q ' "$BULKHEAD" "$@")" /dev/null </dev/null | tr -d '\r'
}

says() { # PATTERN ARGUMENT...
	local pattern=$1
	shift
	"$BULKHEAD" "$@" >"$tmp/out" 2>"$tmp/err"
	grep -qE -- "$pattern" "$tmp/out" "$tmp/err" || { cat "$tmp/out" "$tmp/err" && false; }
}

lacks() { # PATTERN ARGUMENT...
	local pattern=$1
	shift
	"$BULKHEAD" "$@" >"$tmp/out" 2>"$tmp/err"
	! grep -E -- "$pattern" "$tmp/out" "$tmp/err"
}

lines() { # FILE
	wc -l <"$1"
}

matrix=(matrix --port TCP/80 "$tmp/new.ini")
check "matrix has a row for each group of equal pods" says \
	'^4 shop/web-\* \(10 pods\)  - - \+ \+ - - \+ \+$' "${matrix[@]}"
check "the pods' own nodes are marked o" says '^7 node w0 and 1 more    o o o o o o    $' "${matrix[@]}"
check "a row marks whom the group reaches" says '^3 shop/db-\* \(20 pods\)   - - - - - - \+ \+$' "${matrix[@]}"
"$BULKHEAD" "${matrix[@]}" >"$tmp/groups"
"$BULKHEAD" "${matrix[@]}" --pods >"$tmp/pods"
check "eight groups and the world are a dozen lines" is "$(lines "$tmp/groups")" 11
check "--pods has a row for each pod" is "$(lines "$tmp/pods")" $((90 + 3 + 4))
check "--namespace leaves out unrelated pods" lacks 'dns/|tools/' "${matrix[@]}" \
	--namespace shop
check "--namespace keeps the namespace's peers" says 'node w0 and 1 more' "${matrix[@]}" --namespace shop
check "--from has one row" is "$("$BULKHEAD" "${matrix[@]}" --from 'shop/web-*' | grep -c 'pods) *[-+o]')" 1
check "--to has one column" says '^1 dns/db-\* \(20 pods\) +-$' "${matrix[@]}" --to 'shop/web-3'
check "--from takes an address of a group" says '^. shop/web-\* \(10 pods\) .*\+' "${matrix[@]}" \
	--from 10.115.0.1
check "JSON counts the members" says \
	'"groups":\[\{"name":"dns/db-1","members":20,"pods":\["dns/db-1",' "${matrix[@]}" -j

# Pods of controllers are named by their workload.
pods() { # NAME...: a policy that selects pods of these names
	local i=0 name
	printf '[endpoint a/peer]\nip = 10.1.0.1\nlabels = x=peer\n[network-policy a/p]\nendpoints = x=y\ningress = from endpoints(x=peer)\n'
	for name; do
		printf '[endpoint a/%s]\nip = 10.0.0.%d\nlabels = x=y\n' "$name" $((++i))
	done
}
named() { # NAME POD...: the pods' group has this name
	pods "${@:2}" >"$tmp/pods.ini"
	is "$("$BULKHEAD" matrix --port TCP/80 "$tmp/pods.ini" | sed -En 's/( [-+ ])+$//; s/^[0-9]+ (a\/.*[^ ]) *$/\1/p' | grep -v peer)" "$1"
}
check "a Deployment's pods have its name" named 'a/cart-* (2 pods)' cart-6d5f8b9c7d-x2k4z cart-6d5f8b9c7d-bcdfg
check "a Deployment's pods of two rollouts have its name" named 'a/cart-* (2 pods)' cart-6d5f8b9c7d-x2k4z cart-7dbf9b9c7d-x2k4z
check "a Deployment's single pod has its name" named 'a/cart-*' cart-6d5f8b9c7d-x2k4z
check "a DaemonSet's pods have its name" named 'a/node-agent-* (3 pods)' node-agent-2jf8x node-agent-bcdfg node-agent-zx94c
check "a CronJob's pods have its name" named 'a/backup-* (2 pods)' backup-28912345-x2k4z backup-28912346-kq7xp
check "a StatefulSet's pods have its name" named 'a/kafka-* (3 pods)' kafka-0 kafka-1 kafka-10
check "a StatefulSet's single pod has its own name" named a/kafka-0 kafka-0
check "a word without a digit is no hash" named a/web-httpd web-httpd
check "several workloads are counted" named 'a/api-* and 2 more (5 pods)' api-6d5f8b9c7d-x2k4z api-6d5f8b9c7d-zz94c \
	db-0 db-1 web
check "pods that no controller names are counted" named 'a/one and 1 more' one two
check "--pods has each pod's own name" says '^. a/cart-6d5f8b9c7d-x2k4z ' matrix --pods --port TCP/80 \
	<(pods cart-6d5f8b9c7d-x2k4z cart-6d5f8b9c7d-bcdfg)
pods cart-6d5f8b9c7d-x2k4z cart-6d5f8b9c7d-bcdfg >"$tmp/pods.ini"
check "a group's name is a pattern for --from" says '^. a/cart-\* \(2 pods\) - [-+]' matrix --port TCP/80 --from 'a/cart-*' "$tmp/pods.ini"

diff=(diff "$tmp/old.ini" "$tmp/new.ini")
check "diff speaks of groups" says '^shop/web-\* \(10 pods\) -> all 30 pods of shop$' "${diff[@]}"
check "diff prints what a group gains" says '^  gains UDP/53$' "${diff[@]}"
check "diff by groups prints four lines" is "$("$BULKHEAD" "${diff[@]}" | wc -l)" 4
check "diff --pods prints three lines a pair of pods" is \
	"$("$BULKHEAD" "${diff[@]}" --pods | wc -l)" $((10 * 29 * 3))
check "--port leaves out other ports" is "$("$BULKHEAD" "${diff[@]}" --port TCP/80)" ""
check "--port keeps the named ports" says 'gains UDP/53' "${diff[@]}" --port TCP/80,UDP/53
check "--namespace leaves out what has no end in it" is "$("$BULKHEAD" "${diff[@]}" --namespace dns)" ""
check "--from of a pod without changes prints nothing" is "$("$BULKHEAD" "${diff[@]}" --from shop/db-1)" ""
check "--to of a pod has its changes" says '^shop/web-\* \(10 pods\) -> shop/db-\* \(20 pods\)$' "${diff[@]}" --to shop/db-4
check "--pods with --from and --to has one pair" is "$("$BULKHEAD" "${diff[@]}" --pods --from shop/web-0 --to shop/db-1 |
	head -n 1)" "shop/web-0 -> shop/db-1 gains UDP/53"
check "diff in the other direction prints a loss" says '^  loses UDP/53$' diff "$tmp/new.ini" "$tmp/old.ini"
sed 's/^node = w1/node = w0/' "$tmp/new.ini" >"$tmp/moved.ini"
check "diff prints a pod that moved to another node" says '^moved shop/db-1 from node w1 to w0$' diff \
	"$tmp/new.ini" "$tmp/moved.ini"
printf '[endpoint late/%s]\nip = 10.9.0.%d\n' a 1 b 2 >"$tmp/late.ini"
mkdir "$tmp/both" && cp "$tmp/new.ini" "$tmp/late.ini" "$tmp/both"
check "diff counts added pods" says '^added all 2 pods of late$' diff "$tmp/new.ini" "$tmp/both"
check "diff counts removed pods" says '^removed all 2 pods of late$' diff "$tmp/both" "$tmp/new.ini"

service() { # BACKENDS ADDRESS
	printf '[service shop/front]\naddress = %s\nport = TCP/80 to 8080\nbackends = %s\n' "$2" "$1"
}
for i in 1 2 3; do mkdir "$tmp/service$i" && cp "$tmp/new.ini" "$tmp/service$i"; done
service 10.115.0.1 10.96.0.1 >"$tmp/service1/service.ini"
service '10.115.0.1, 10.115.0.4' 10.96.0.2 >"$tmp/service2/service.ini"
check "diff prints an added Service" says '^added svc:shop/front$' diff "$tmp/service3" "$tmp/service1"
check "diff prints a removed Service" says '^removed svc:shop/front$' diff "$tmp/service1" "$tmp/service3"
check "diff prints an added backend" says '^added svc:shop/front TCP/80: backend 10.115.0.4 port 8080$' diff \
	"$tmp/service1" "$tmp/service2"
check "diff prints a removed address" says '^removed svc:shop/front TCP/80: address 10.96.0.1$' diff \
	"$tmp/service1" "$tmp/service2"
check "diff does not print a backend that stays" lacks '10.115.0.1 ' diff "$tmp/service1" "$tmp/service2"
check "diff -j has the added backend" says '"service":"shop/front","port":"TCP/80","part":"backend 10.115.0.4 port 8080"' \
	diff -j "$tmp/service1" "$tmp/service2"
check "diff of equal Services prints nothing" is "$("$BULKHEAD" diff "$tmp/service1" "$tmp/service1")" ""

widest() { # FILE
	sed 's/\x1b\[[0-9;]*m//g' "$1" | awk 'length > n { n = length } END { print n + 0 }'
}
terminal 60 matrix --pods --port TCP/80 "$tmp/new.ini" >"$tmp/narrow"
check "a terminal of 60 columns has no longer line" test "$(widest "$tmp/narrow")" -le 60
check "a narrow table has all columns in parts" is \
	"$(sed 's/\x1b\[[0-9;]*m//g' "$tmp/narrow" | grep -c ' shop/web-0 ')" \
	"$(sed 's/\x1b\[[0-9;]*m//g' "$tmp/narrow" | grep -c ' world ')"
terminal 400 matrix --pods --port TCP/80 "$tmp/new.ini" >"$tmp/wide"
check "a terminal of 400 columns has each row on one line" is "$(sed 's/\x1b\[[0-9;]*m//g' "$tmp/wide" | grep -c ' shop/web-0 ')" 1
check "a terminal has colours" grep -q $'\x1b\[32m' "$tmp/wide"
"$BULKHEAD" matrix --pods --port TCP/80 "$tmp/new.ini" >"$tmp/piped"
COLUMNS=60 "$BULKHEAD" matrix --pods --port TCP/80 "$tmp/new.ini" >"$tmp/columns"
check "a file has whole lines, also where a shell has exported COLUMNS" cmp "$tmp/piped" "$tmp/columns"
check "a file has no colours" test "$(grep -c $'\x1b' "$tmp/piped")" -eq 0
env -u COLUMNS NO_COLOR=1 TERM=xterm script -qec "$(printf '%q ' "$BULKHEAD" "${matrix[@]}")" /dev/null \
	</dev/null >"$tmp/plain"
check "a terminal with NO_COLOR has no colours" test "$(grep -c $'\x1b' "$tmp/plain")" -eq 0
terminal 80 "${diff[@]}" >"$tmp/narrow"
check "the ends that diff prints fit the terminal" test "$(grep -v '^ *\(old\|new\):' "$tmp/narrow" >"$tmp/ends" && widest "$tmp/ends")" -le 80

pages() { # prints each page of help
	local command
	"$BULKHEAD" help
	for command in $("$BULKHEAD" help | sed -n '/^commands:/,/^$/s/^  \([a-z][a-z]*\) .*/\1/p'); do
		"$BULKHEAD" help "$command" || return
	done
}
check "help has a page for each command" test "$(pages | grep -c '^usage: bulkhead')" -ge 19
pages >"$tmp/pages"
check "every page of help fits 80 columns" test "$(widest "$tmp/pages")" -le 80
check "help that goes on begins below the option's help" grep -q '^                               policy, and put no endpoint into them yet$' "$tmp/pages"

check "a mistyped command names the nearest" says 'no command `stauts`; did you mean `status`\?' stauts
check "a command that is like no other names none" lacks 'did you mean' frobnicate
check "a mistyped option names the nearest" says 'unknown option --prot; did you mean --port\?' matrix --prot TCP/80
check "a mistyped option with a value behind = names the nearest" says 'unknown option --prot=1; did you mean --port\?' matrix --prot=1
check "an option that takes no value and has one is named" says '^bulkhead load: --dry-run=yes: the option takes no value$' load --dry-run=yes x
globals() { # each option that --help lists may stand before a command
	local option bad=0
	for option in $("$BULKHEAD" --help | sed -n '/^options:/,/^$/p' | grep -oE -- '--[a-z]+'); do
		"$BULKHEAD" "$option" version >/dev/null 2>&1 || { echo "$option" && bad=1; }
	done
	return $bad
}
check "each option that --help lists may stand before a command" globals
check "help help is the help" says '^usage: bulkhead \[-j\|-p\] COMMAND' help help
check "a mistyped pod names the nearest" says 'shop/wbe-0: no end has this name or address; did you mean `shop/web-0`\?' \
	"${matrix[@]}" --from shop/wbe-0
check "a mistyped namespace names the nearest" says -- '--namespace shpo: there is no such namespace; did you mean `shop`' \
	"${matrix[@]}" --namespace shpo

# Checks that each error is a JSON object on stderr, and the first one's field.
json=$(dirname "$BULKHEAD")/selftests/helpers/json
object() { # FIELD EXPECTED ARGUMENT...
	local field=$1 expected=$2
	shift 2
	"$BULKHEAD" "$@" >"$tmp/out" 2>"$tmp/err"
	is "$("$json" keys <"$tmp/err" | sort -u)" "field file level line message" || return
	is "$(head -n 1 "$tmp/err" | "$json" get "$field")" "$expected"
}
cat >"$tmp/bad.yaml" <<'END'
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: n, namespace: a}
spec:
  podSelector: {}
  ingres: []
END
check "-j: an input's error has its file" object file "$tmp/bad.yaml" compile -j -o /dev/null "$tmp/bad.yaml"
check "-j: an input's error has its line" object line 6 compile -j -o /dev/null "$tmp/bad.yaml"
check "-j: an input's error has its field" object field spec.ingres compile -j -o /dev/null "$tmp/bad.yaml"
check "-j: an input's error has its level" object level error compile -j -o /dev/null "$tmp/bad.yaml"
check "-j: an option's error has its message" object message 'unknown option --prot; did you mean --port?' matrix --prot 1 -j
check "-j: an error about no file has no file" object file null "${matrix[@]}" -j --from tools/none
check "-j: an error about no file has its message" object message '--from tools/none: no end has this name or address' "${matrix[@]}" -j \
	--from tools/none
check "-j: an unknown reason is one message" object level error monitor -j --reason none
check "-j: a network that is not there is a message in JSON" object level error cni install -j --conf-dir "$tmp/none"
check "without -j an error is text" says "^$tmp/bad.yaml:6: spec.ingres: " compile -o /dev/null "$tmp/bad.yaml"
check_end
