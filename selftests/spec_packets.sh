#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The specs' examples on real packets. The nodes and pods of an example, and the other addresses in its
# table, are network namespaces; the first node loads the YAML form, the others the INI form. Every TCP and
# UDP flow of expected.tsv passes before the load; after it, exactly those that the table allows. If an example has
# names.tsv, each row is looked up and called, too. A run has
# every third example, selected by BULKHEAD_SEED; BULKHEAD_FULL=1 has all; arguments select examples by
# name.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

ROUTER=02:00:00:00:09:00

# Prints "NAME NODE ADDRESS..." for each pod and "NAME ADDRESS..." for each node. A hostNetwork pod is its node.
pods() { # EXAMPLE
	awk 'function tell() { if (pod && addresses) print pod, node, addresses; addresses = "" }
		/^\[/ { tell(); pod = /^\[endpoint / ? substr($2, 1, length($2) - 1) : "" }
		pod && /^node = / { node = $3 }
		pod && /^ip = / { gsub(",", ""); sub("^ip = ", ""); addresses = $0 }
		pod && /^host-network = yes/ { pod = "" }
		END { tell() }' "$1/ini/cluster.ini"
}

nodes() { # EXAMPLE
	awk '/^\[/ { node = /^\[node / ? substr($2, 1, length($2) - 1) : "" }
		node && /^ip = / { gsub(",", ""); $1 = node; $2 = ""; print }' "$1/ini/cluster.ini"
}

pin() { # NODE
	echo "$NET_PIN-$1"
}

bulkhead() { # NODE SUBCOMMAND ARGUMENT...
	local node=$1 command=$2
	shift 2
	net_on "$node" "$BULKHEAD" "$command" --pin "$(pin "$node")" "$@"
}

down() {
	local node
	for node in "${NODES[@]}"; do
		[ ! -d "$(pin "$node")" ] || bulkhead "$node" unload 2>/dev/null
		[ ! -d "$(pin "$node")" ] || rm -rf "$(pin "$node")"
	done
	net_down
}

# Nodes and pods have a default route to a router that knows every address by its MAC.
behind_router() { # HOST INTERFACE ROUTER-HOST ROUTER-INTERFACE MAC ADDRESS...
	local host=$1 interface=$2 router=$3 towards=$4 mac=$5
	shift 5
	net_link "$router" "$towards" $ROUTER "$host" "$interface" "$mac"
	net_ips "$host" <<-EOF
	$(net_neighbours "$interface" $ROUTER 169.254.1.1 fe80::1)
	$(printf "addr add %s dev $interface\n" "$@")
	route add default via 169.254.1.1 dev $interface onlink
	route add default via fe80::1 dev $interface onlink
	EOF
	net_ips "$router" <<-EOF
	$(printf "route add %s dev $towards\n" "$@")
	$(net_neighbours "$towards" "$mac" "$@")
	EOF
}

# The table's other addresses are the outside host's.
outside() { # EXAMPLE
	local address addresses=()
	for address in $(cut -f1 "$1/expected.tsv" | tr ' ' '\n' | grep -E '^[0-9a-f]+[.:]' | sort -u); do
		[ -z "${HOST[$address]:-}" ] || continue
		HOST[$address]=out
		addresses+=("$address")
	done
	[ ${#addresses[@]} -eq 0 ] || net_ips out <<<"$(printf 'addr add %s dev lo\n' "${addresses[@]}")"
}

up() { # EXAMPLE
	local name node addresses address i=0
	HOST=() ADDRESSES=() NODES=() MAC=()
	net_host out
	while read -r name addresses; do
		i=$((i + 1))
		NODES+=("$name")
		MAC[$name]=02:00:00:00:07:0$i
		net_host "$name"
		# shellcheck disable=SC2086
		behind_router "$name" eth0 out "node-$i" "${MAC[$name]}" $addresses
		for address in $addresses; do
			HOST[$address]=$name
		done
		TOWARDS[$name]=node-$i
	done < <(nodes "$1")
	i=0
	while read -r name node addresses; do
		i=$((i + 1))
		HOST[$name]=pod-$i
		ADDRESSES[$name]=$addresses
		net_host "pod-$i"
		# shellcheck disable=SC2086
		behind_router "pod-$i" eth0 "$node" "pod-$i" "02:00:00:00:01:0$i" $addresses
		for address in $addresses; do
			HOST[$address]=pod-$i
		done
		# shellcheck disable=SC2086
		net_ips out <<-EOF
		$(printf "route add %s dev ${TOWARDS[$node]}\n" $addresses)
		$(net_neighbours "${TOWARDS[$node]}" "${MAC[$node]}" $addresses)
		EOF
	done < <(pods "$1")
	outside "$1"
	NET_PORTS=$(cat "$1"/{expected,names}.tsv 2>/dev/null | grep -oE '(TCP|UDP)/[0-9]+' | cut -d/ -f2 | sort -un | tr '\n' ' ')
	for name in out "${NODES[@]}" $(seq -f 'pod-%g' $i); do
		net_serve "$name"
		SERVER[$name]=${NET_SERVERS[-1]}
	done
}

# An end that is no pod is an address. Of a pod's addresses, prints the first of OTHER's IP version.
address_of() { # END OTHER
	local address
	for address in ${ADDRESSES[$1]:-$1}; do
		[[ $2 == *:* && $address != *:* ]] || break
	done
	echo "$address"
}

# Probes once; a probe that should pass is tried three times, since the machine may have stood still.
ask() { # SOURCE DESTINATION PROTOCOL/PORT allow|deny
	local try tries=1 wait=$NET_WAIT_DENIED protocol=${3%/*}
	[ "$4" = deny ] || tries=3 wait=$NET_WAIT_ALLOWED
	for ((try = 0; try < tries; try++)); do
		net_ask "${HOST[$1]}" "${protocol,,}" \
			"$(address_of "$2" "$1")" "${3#*/}" $wait "$(address_of "$1" "$2")" \
			2>/dev/null && echo allow && return
	done
	echo deny
}

# Probes all the table's flows at once; prints "flow, wanted, got" of each.
ask_all() { # EXAMPLE all|expected
	local source destination port wanted n=100
	ASKED=()
	while read -r source destination port wanted _; do
		[[ $port == TCP/* || $port == UDP/* ]] || continue
		[ "$2" = expected ] || wanted=allow
		n=$((n + 1))
		{
			printf '%s\t%s\t' "$source $destination $port" "$wanted"
			ask "$source" "$destination" "$port" "$wanted"
		} >"$NET_TMP/answer.$n" &
		ASKED+=($!)
	done <"$1/expected.tsv"
	wait "${ASKED[@]}"
	cat "$NET_TMP"/answer.*
	rm -f "$NET_TMP"/answer.*
}

same_as_text() { # EXAMPLE
	cut -f1 "$1/expected.tsv" | bulkhead "${NODES[0]}" trace --batch - |
		diff <(cut -f2- "$1/expected.tsv") -
}

all_open() { # EXAMPLE
	ask_all "$1" all | awk -F '\t' '$2 != $3 { print "no answer:", $1; bad = 1 } END { exit bad }'
}

# The names of names.tsv, each with an address of the outside host.
zone() { # EXAMPLE
	cut -d' ' -f2 "$1/names.tsv" | tr '[:upper:]' '[:lower:]' | sed 's/\.$//' | sort -u |
		awk '{ print $1, 300, "A", "198.18.0." NR }'
}

# Resolves by the cluster's resolver and connects at once; prints allow or deny.
by_name() { # SOURCE NAME PORT allow|deny
	local wait=$NET_WAIT_ALLOWED
	[ "$4" = allow ] || wait=$NET_WAIT_DENIED
	# shellcheck disable=SC2016
	net_on "${HOST[$1]}" timeout 60 unshare --mount sh -c 'mount --bind "$1" /etc/resolv.conf && shift &&
		exec "$@"' sh "$NET_TMP/resolv.conf" "$NET_HELPERS/resolve" "$2" "${3#*/}" $wait 4 |
		sed 's/.* \(ok\|late\)$/allow/; s/.* silent$/deny/'
}

# If an example has names: the pod kube-system/dns is the cluster's resolver. Each row is a lookup and a
# connection; the policy evaluates addresses that only the answer has told.
run_names() { # EXAMPLE
	local name=${1##*/} resolver=${ADDRESSES[kube-system/dns]%% *} pod=${HOST[kube-system/dns]} flow wanted
	kill "${SERVER[$pod]}" # its listener has port 53
	zone "$1" >"$NET_TMP/zone"
	echo "nameserver $resolver" >"$NET_TMP/resolv.conf"
	awk '{ print "addr add " $4 "/32 dev lo" }' "$NET_TMP/zone" | ip -n "$NET-out" -batch -
	while net_on "$pod" ss -Hltun | grep -q ':53 '; do
		sleep 0.05
	done
	net_server "$pod" "$NET_TMP/authority" "$NET_HELPERS/authority" "$NET_TMP/zone" "$resolver" 53
	while IFS=$'\t' read -r flow wanted; do
		# shellcheck disable=SC2086
		net_check "$name: by name: $flow: $wanted" net_is "$(by_name $flow "$wanted")" "$wanted"
	done <"$1/names.tsv"
}

run_example() { # EXAMPLE
	local name=${1##*/} form=yaml node flow wanted got resolver=()
	up "$1"
	net_check "$name: every flow gets through while nothing is loaded" all_open "$1"
	for node in "${NODES[@]}"; do
		[ ! -f "$1/names.tsv" ] || resolver=(--resolver "${ADDRESSES[kube-system/dns]%% *}")
		net_check "$name: load $form on $node" bulkhead "$node" load -n "$node" "${resolver[@]}" "$1/$form"
		form=ini
	done
	while IFS=$'\t' read -r flow wanted got; do
		net_check "$name: $flow: $wanted" [ "$wanted" = "$got" ]
	done < <(ask_all "$1" expected)
	net_check "$name: trace of the maps says the same as of the text" same_as_text "$1"
	[ ! -f "$1/names.tsv" ] || run_names "$1"
	down
}

[ "$(id -u)" -eq 0 ] || net_skip "needs root"
[ -x "$BULKHEAD" ] && [ -x "$NET_PROBE" ] || net_skip "not built: make all tests"
trap 'down; net_cleanup' EXIT
trap 'exit 1' INT TERM HUP
declare -A HOST ADDRESSES MAC TOWARDS SERVER
declare -a ASKED NODES
number=0
for example in "$NET_TOP"/policies/*/expected.tsv; do
	# Nothing translates a Service's address here.
	! grep -q '^\[service ' "${example%/*}"/ini/*.ini || continue
	number=$((number + 1))
	if [ $# -eq 0 ]; then
		net_turn $number 3 || continue
	else
		[[ " $* " == *" $(basename "${example%/*}") "* ]] || continue
	fi
	run_example "${example%/expected.tsv}"
done
net_end
