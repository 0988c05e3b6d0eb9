#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# tools/rollout puts a policy in force on three nodes in two steps: on no node before all have it installed.
# It names a node that fails, an interruption and a node with another policy; the next run continues.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
export BULKHEAD

NET_PORTS="80 443"
net_start db
pins=$NET_TMP/pins
mkdir "$pins"

# Two more nodes, each with a pod, behind the first node's router.
another() { # NUMBER NODE POD
	net_host "$2"
	net_link "$2" eth0 02:00:00:00:0"$1":01 out "eth$1" 02:00:00:00:0"$1":02
	ip -n "$NET-$2" addr add "192.168.1$1.1/24" dev eth0
	ip -n "$NET-out" addr add "192.168.1$1.2/24" dev "eth$1"
	net_neighbour "$2" eth0 02:00:00:00:0"$1":02 "192.168.1$1.2" fe80::2
	net_neighbour out "eth$1" 02:00:00:00:0"$1":01 "192.168.1$1.1" fe80::1
	ip -n "$NET-$2" route add default via "192.168.1$1.2"
	ip -n "$NET-$2" -6 route add default via fe80::2 dev eth0
	NET_PODS+=("$3")
	net_host "$3"
	net_plug "$3" "$2"
	ip -n "$NET-out" route add "$(net_ip "$3")" via "192.168.1$1.1"
	ip -n "$NET-out" -6 route add "$(net_ip6 "$3")" via fe80::1 dev "eth$1"
}
another 2 two web
another 3 three job

# If this file exists, the node named in it does not answer this subcommand, like a failed ssh.
cat >"$NET_TMP/way" <<END
#!/bin/bash
node=\$1
shift
[ ! -e "$NET_TMP/broken-\$node-\$2" ] && [ ! -e "$NET_TMP/broken-\$node-\${3:-}" ] ||
	{ echo "connection refused" >&2; exit 255; }
echo "\$node \$*" >>"$NET_TMP/calls"
exec nsenter --net="/run/netns/$NET-\$node" "\$@"
END
chmod +x "$NET_TMP/way"

policy() { # PORT
	printf '[bulkhead]\nuplink = eth0\n'
	local pod
	for pod in "db worker-1" "web worker-2" "job worker-3"; do
		net_endpoint_at "${pod% *}" "${pod#* }" "$(net_ip "${pod% *}"), $(net_ip6 "${pod% *}")"
	done
	printf '[network-policy shop/db]\nendpoints = role=db\ningress = from endpoints(role=web) '
	printf 'ports TCP/%s\n' "$1"
}
policy 80 >"$NET_TMP/80.ini"
policy 443 >"$NET_TMP/443.ini"
policy 8443 >"$NET_TMP/other.ini" # which no rollout has
{ policy 80 && echo 'ingress = from endpoints(role=job) ports TCP/443'; } >"$NET_TMP/both.ini"

nodes=(worker-1=node worker-2=two worker-3=three)
rollout() { # ARGUMENT...
	"$NET_TOP/tools/rollout" --via "$NET_TMP/way {}" --state "$NET_TMP/state" \
		--bulkhead "$BULKHEAD --pin $NET_PIN-{}" "$@"
}
ends() { # STATUS TEXT ARGUMENT...: a rollout ends so, and says that
	net_ends "$1" "$2" rollout "${@:3}"
}
cleanup() {
	local node
	for node in node two three; do
		net_on "$node" "$BULKHEAD" unload --pin "$NET_PIN-$node" 2>/dev/null
		rm -rf "$NET_PIN-$node"
	done
	net_cleanup
}
trap cleanup EXIT

db4=$(net_ip db) db6=$(net_ip6 db)
reaches() { # PORT-OF-web PORT-DENIED-TO-web WHAT
	net_allowed web tcp "$db4" "$1" "$3: IPv4 port $1 is open"
	net_allowed web tcp "$db6" "$1" "$3: IPv6 port $1 is open"
	net_denied web tcp "$db4" "$2" "$3: IPv4 port $2 is closed"
	net_denied web tcp "$db6" "$2" "$3: IPv6 port $2 is closed"
}
routes() {
	ip -n "$NET-out" route add "$db4" via 192.168.7.1
	ip -n "$NET-out" -6 route add "$db6" via fd07::1
}
routes

net_check "--status of nodes on which nothing is in force" ends 0 "worker-3: nothing is in force" --status "${nodes[@]}"
net_check "roll the first policy out to all nodes" ends 0 "policy 1 is in force on 3 nodes" "${nodes[@]}" -- "$NET_TMP/80.ini"
reaches 80 443 "first"
net_check "roll the second policy out" ends 0 "policy 2 is in force on 3 nodes" "${nodes[@]}" -- "$NET_TMP/443.ini"
reaches 443 80 "second"
net_check "no node was told to activate before all had staged" awk '
	/--activate/ { activated = 1 } /--stage/ && activated { exit 1 }' "$NET_TMP/calls"
net_check "roll the same policy out again" ends 0 "policy 2 is in force on 3 nodes" "${nodes[@]}" -- "$NET_TMP/443.ini"
net_check "--status of each node's policy" ends 0 "worker-2: policy 2, checksum" --status "${nodes[@]}"

echo "not a policy" >"$NET_TMP/bad.ini"
net_check "a wrong input is refused" ends 2 bad.ini "${nodes[@]}" -- "$NET_TMP/bad.ini"

touch "$NET_TMP/broken-three-show"
net_check "a node that cannot be reached is named" ends 1 "worker-3: cannot be asked: connection refused" \
	"${nodes[@]}" -- "$NET_TMP/80.ini"
rm "$NET_TMP/broken-three-show"

# `load --stage` is refused by the word `load` alone.
touch "$NET_TMP/broken-three-load"
net_check "a node that cannot stage is named" ends 1 "worker-3: does not have the segments of policy 3" \
	"${nodes[@]}" -- "$NET_TMP/80.ini"
reaches 443 80 "while one node lacks it"
net_check "a rollout without that node succeeds" ends 0 "policy 3 is in force on 2 nodes" \
	"${nodes[@]:0:2}" -- "$NET_TMP/80.ini"
reaches 80 443 "without that node"
rm "$NET_TMP/broken-three-load"
net_check "a rollout with that node succeeds when it is back" ends 0 "policy 3 is in force on 3 nodes" \
	"${nodes[@]}" -- "$NET_TMP/80.ini"

# The second node fails after all nodes have staged the policy: the first and third have activated it.
cat >"$NET_TMP/fails" <<END
#!/bin/bash
case "\$*" in *two*--activate*) echo "broken pipe" >&2; exit 255 ;; esac
exec "$NET_TMP/way" "\$@"
END
chmod +x "$NET_TMP/fails"
net_check "a node that cannot activate is named" ends 1 "worker-2: has policy 4 staged, not in force: broken pipe" \
	--via "$NET_TMP/fails {}" "${nodes[@]}" -- "$NET_TMP/443.ini"
net_check "another node has the policy in force" ends 0 "worker-1: policy 4, checksum" --status "${nodes[@]}"
net_check "the failed node has the old policy in force" ends 0 "worker-2: policy 3, checksum" --status "${nodes[@]}"
net_check "the next run succeeds with another input" ends 0 "policy 5 is in force on 3 nodes" \
	"${nodes[@]}" -- "$NET_TMP/both.ini"
reaches 80 443 "after the interruption"
net_allowed job tcp "$db4" 443 "job reaches db at port 443"
net_denied job tcp "$db4" 80 "job does not reach db at port 80"

# After a kill at any moment the next run succeeds.
for tenths in 1 2 3 5 8; do
	timeout -s KILL "0.$tenths" "$NET_TOP/tools/rollout" \
		--via "$NET_TMP/way {}" --state "$NET_TMP/state" --bulkhead "$BULKHEAD --pin $NET_PIN-{}" \
		"${nodes[@]}" -- "$NET_TMP/$([ $((tenths % 2)) = 1 ] && echo 80 || echo 443).ini" >/dev/null 2>&1
	# The commands that the killed one has started hold its lock until they end.
	[ ! -e "$NET_TMP/state/lock" ] || flock --timeout 60 "$NET_TMP/state/lock" true
done
net_check "after five killed runs the next run succeeds" ends 0 "is in force on 3 nodes" \
	"${nodes[@]}" -- "$NET_TMP/80.ini"
reaches 80 443 "after the kills"

net_check "load another policy on one node" \
	net_on two "$BULKHEAD" load --pin "$NET_PIN-two" "$NET_TMP/other.ini"
net_check "a rollout does not replace that policy" ends 1 "worker-2: policy .* no rollout from .* --force replaces it" \
	"${nodes[@]}" -- "$NET_TMP/443.ini"
net_check "a rollout with --force replaces that policy" ends 0 "is in force on 3 nodes" --force "${nodes[@]}" -- "$NET_TMP/443.ini"
reaches 443 80 "by force"

net_check "unload one node" net_on three "$BULKHEAD" unload --pin "$NET_PIN-three"
net_check "a rollout gives that node the whole policy" ends 0 "is in force on 3 nodes" "${nodes[@]}" -- "$NET_TMP/both.ini"

exec {held}>"$NET_TMP/state/lock"
flock "$held"
net_check "a second rollout at the same time is refused" ends 3 "another rollout is at work" "${nodes[@]}" -- "$NET_TMP/80.ini"
net_end
