# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Two nodes with pods and an outside host on the network of `tools/kube run`'s control plane, their objects
# in the API, and the real kube-proxy on both nodes. Each node and pod is a network namespace of this
# process. Sourced by the tests of make check-kube.
#
#   cluster_pods() { ... }        prints a line for each pod: namespace, name or node, node, labels in JSON
#   cluster_services() { ... }    prints a line for each Service: namespace, name, port, backend port,
#                                 NodePort or -, backends or -, and more of the spec, ending in a comma
#   cluster_start                 creates nodes, pods, an outside host, their servers, the API objects
#   cluster_settled               waits until kube-proxy has applied the API objects
#   cluster_load                  loads the API's objects on both nodes
#
# A pod with a node's name uses that node's network and is called host-N. Without a control plane, the test
# starts one and runs itself again beside it.
#
# Node worker-N is 192.168.7.1N and fd07::1N, and its pods are in 10.244.N.0/24 and fd44:N::/64. The
# outside host, out, is 192.168.7.2 and fd07::2, and routes 198.51.100.0/24 and fd51::/64 to worker-1.
#
# PROXY_MODE=ipvs makes kube-proxy use IPVS; the kernel must support it.

if [ -z "${KUBE_CONFIGS:-}" ] && [ "$(id -u)" -eq 0 ]; then
	exec "$(dirname "${BASH_SOURCE[0]}")/../../tools/kube" run "$0" "$@"
fi

# shellcheck source=selftests/lib/net.sh
. "$(dirname "${BASH_SOURCE[0]}")/net.sh"

CLUSTER_NODES=${CLUSTER_NODES:-"worker-1 worker-2"}
CLUSTER_MARK=0
CLUSTER_LOADS=0
CLUSTER_PROXIED=$CLUSTER_NODES # nodes that run a kube-proxy
CLUSTER_TRIES=4 # marker Services per cluster_settled
PROXY_MODE=${PROXY_MODE:-iptables}
declare -A CLUSTER_NODE_OF CLUSTER_IP CLUSTER_PORT CLUSTER_NODE_PORT

# Hides the API server's deprecation warnings.
kubectl() {
	command kubectl "$@" 2> >(grep -v '^Warning: .* is deprecated' >&2)
}

# The last byte of a pod's address is its index among all pods.
net_ip() {
	case $1 in
	out) echo 192.168.7.2 ;;
	worker-*) echo "192.168.7.1${1#worker-}" ;;
	*) echo "10.244.${CLUSTER_NODE_OF[$1]#worker-}.$(net_number "$1")" ;;
	esac
}

net_ip6() {
	case $1 in
	out) echo fd07::2 ;;
	worker-*) echo "fd07::1${1#worker-}" ;;
	*) echo "fd44:${CLUSTER_NODE_OF[$1]#worker-}::$(net_number "$1")" ;;
	esac
}

cluster_route() { # HOST TO TO6 VIA
	ip -n "$NET-$1" route add "$2" via "$(net_ip "$4")"
	ip -n "$NET-$1" -6 route add "$3" via "$(net_ip6 "$4")"
}

# Connects a host to the cluster's network.
cluster_join() { # HOST MAC
	net_host "$1"
	net_link lan "port-$1" "02:00:00:00:08:$2" "$1" eth0 "02:00:00:00:07:$2"
	ip -n "$NET-lan" link set "port-$1" master lan
	ip -n "$NET-$1" addr add "$(net_ip "$1")/24" dev eth0
	ip -n "$NET-$1" addr add "$(net_ip6 "$1")/64" dev eth0 nodad
}

cluster_network() {
	local node number
	ip netns attach "$NET-lan" $$
	cluster_join out 02
	for node in $CLUSTER_NODES; do
		cluster_join "$node" "1${node#worker-}"
	done
	for number in ${CLUSTER_NODES//worker-/}; do
		for node in lan out $CLUSTER_NODES; do
			[ "$node" = "worker-$number" ] ||
				cluster_route "$node" "10.244.$number.0/24" "fd44:$number::/64" "worker-$number"
		done
		cluster_route "worker-$number" default default out
	done
	cluster_route out 198.51.100.0/24 fd51::/64 worker-1
}

# Calls nsenter directly, not net_on, so that $! is the server's own PID, which the cleanup kills.
cluster_serve() { # HOST NAME PORT...
	local host=$1
	shift
	: >"$NET_TMP/$host.ready"
	nsenter --net="/run/netns/$NET-$host" "$NET_HELPERS/backend" serve "$@" \
		</dev/null >"$NET_TMP/$host.ready" 2>&1 &
	NET_SERVERS+=($!)
	until [ -s "$NET_TMP/$host.ready" ]; do
		kill -0 $! 2>/dev/null || [ -s "$NET_TMP/$host.ready" ] || { echo "# $host cannot listen" && exit 1; }
		sleep 0.05
	done
}

cluster_build_pod() { # NAME NODE
	CLUSTER_NODE_OF[$1]=$2
	NET_PODS+=("$1")
	net_host "$1"
	net_plug "$1" "$2"
	cluster_serve "$1" "$1" 8080 9090
}

cluster_start() {
	local name node
	[ "$(id -u)" -eq 0 ] || net_skip "needs root"
	[ -x "$BULKHEAD" ] && [ -x "$NET_HELPERS/backend" ] || net_skip "not built: make all tests"
	trap cluster_cleanup EXIT
	trap 'exit 1' INT TERM HUP
	cluster_network
	while read -r _ name node _; do
		case $name in
		worker-*) cluster_serve "$name" "${name/#worker-/host-}" 8080 ;;
		*) cluster_build_pod "$name" "$node" ;;
		esac
	done < <(cluster_pods)
	cluster_apply "the API takes the objects" cluster_objects
	net_check "the API takes the objects' statuses" cluster_statuses
	cluster_lookup
	cluster_proxy
	cluster_settled
}

cluster_apply() { # NAME COMMAND...: what the command prints
	local name=$1
	shift
	"$@" >"$NET_TMP/applied.yaml"
	net_check "$name" kubectl apply -f "$NET_TMP/applied.yaml"
}

# The namespaces, programs and pins end with the control plane's mount namespace. KUBE_KEEP=DIR keeps the
# logs.
cluster_cleanup() {
	[ -z "${KUBE_KEEP:-}" ] || cp "$NET_TMP"/*.log "$KUBE_KEEP/"
	net_down
	rm -rf "$NET_TMP"
}

# Objects as `kubectl apply` takes them. Objects with a status are JSON, since `kubectl replace --raw`,
# which writes the status in a kubelet's place, takes JSON only.

cluster_node_object() { # NAME
	local number=${1#worker-}
	cat <<-EOF
	---
	{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "$1"},
	 "spec": {"podCIDR": "10.244.$number.0/24", "podCIDRs": ["10.244.$number.0/24", "fd44:$number::/64"]},
	 "status": {"addresses": [{"type": "InternalIP", "address": "$(net_ip "$1")"},
	                          {"type": "InternalIP", "address": "$(net_ip6 "$1")"}]}}
	EOF
}

cluster_pod_object() { # NAMESPACE POD|NODE NODE LABELS
	local name=${2/#worker-/host-} host=false
	[ "$2" != "$3" ] || host=true
	cat <<-EOF
	---
	{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "$name", "namespace": "$1", "labels": {$4}},
	 "spec": {"nodeName": "$3", "hostNetwork": $host, "containers": [
	  {"name": "main", "image": "none", "ports": [{"name": "http", "containerPort": 8080}]}]},
	 "status": {"phase": "Running", "podIP": "$(net_ip "$2")",
	  "podIPs": [{"ip": "$(net_ip "$2")"}, {"ip": "$(net_ip6 "$2")"}]}}
	EOF
}

cluster_status() { # NAMESPACE|"" KIND NAME < OBJECT
	tail -n +2 | kubectl replace --raw "/api/v1/${1:+namespaces/$1/}$2/$3/status" -f - >/dev/null
}

# The Service has the same port for TCP and UDP; a LoadBalancer has TCP only. NODEPORT is - for none.
# MORE-OF-SPEC ends in a comma.
cluster_service_object() { # NAMESPACE NAME PORT TARGET NODEPORT [MORE-OF-SPEC]
	local protocol protocols="TCP UDP" node_port=
	[ "$5" = - ] || node_port=", nodePort: $5"
	[[ ${6:-} != *LoadBalancer* ]] || protocols=TCP
	cat <<-EOF
	---
	{apiVersion: v1, kind: Service, metadata: {name: $2, namespace: $1},
	 spec: {${6:-} ipFamilyPolicy: RequireDualStack, ipFamilies: [IPv4, IPv6], ports: [
	EOF
	for protocol in $protocols; do
		echo "  {name: ${protocol,,}, protocol: $protocol, port: $3, targetPort: $4$node_port},"
	done
	echo "]}}"
}

# A backend is a pod, or a node for the server in the host's network.
cluster_slice_objects() { # NAMESPACE SERVICE TARGET BACKEND...
	local namespace=$1 service=$2 target=$3 family address backend
	shift 3
	for family in 4 6; do
		cat <<-EOF
		---
		{apiVersion: discovery.k8s.io/v1beta1, kind: EndpointSlice, addressType: IPv$family,
		 metadata: {name: $service-$family, namespace: $namespace, labels: {kubernetes.io/service-name: $service}},
		 ports: [{name: tcp, protocol: TCP, port: $target}, {name: udp, protocol: UDP, port: $target}],
		 endpoints: [
		EOF
		for backend; do
			address=$(net_ip${family#4} "$backend")
			cat <<-EOF
			  {addresses: ["$address"], conditions: {ready: true},
			   topology: {kubernetes.io/hostname: ${CLUSTER_NODE_OF[$backend]:-$backend}}},
			EOF
		done
		echo "]}"
	done
}

cluster_objects() {
	local node namespace name port target node_port backends more labels
	echo '---'
	echo '{apiVersion: v1, kind: Namespace, metadata: {name: shop}}'
	for node in $CLUSTER_NODES; do
		cluster_node_object "$node"
	done
	while read -r namespace name node labels; do
		cluster_pod_object "$namespace" "$name" "$node" "$labels"
	done < <(cluster_pods)
	while read -r namespace name port target node_port backends more; do
		cluster_service_object "$namespace" "$name" "$port" "$target" "$node_port" "$more"
		[ "$backends" != - ] || backends=
		# shellcheck disable=SC2086
		cluster_slice_objects "$namespace" "$name" "$target" ${backends//,/ }
	done < <(cluster_services)
}

# Writes the statuses that kubelets would report.
cluster_statuses() {
	local namespace name node labels
	for node in $CLUSTER_NODES; do
		cluster_node_object "$node" | cluster_status "" nodes "$node" || return
	done
	while read -r namespace name node labels; do
		cluster_pod_object "$namespace" "$name" "$node" "$labels" |
			cluster_status "$namespace" pods "${name/#worker-/host-}" || return
	done < <(cluster_pods)
}

# Reads the addresses and ports that the API server chose.
cluster_chosen() {
	local line='{.metadata.name} {.spec.clusterIPs[0]} {.spec.clusterIPs[1]}'
	line+=' {.spec.ports[0].port} {.spec.ports[0].nodePort}'
	kubectl get -n shop services -o jsonpath="{range .items[*]}$line{\"\\n\"}{end}"
}

cluster_lookup() {
	local name four six port node_port
	while read -r name four six port node_port; do
		CLUSTER_IP[$name/4]=$four CLUSTER_IP[$name/6]=$six
		CLUSTER_PORT[$name]=$port CLUSTER_NODE_PORT[$name]=$node_port
	done < <(cluster_chosen)
}

# Prints the address and port of a Service for IPv4 or IPv6: SERVICE is the cluster address, SERVICE@NODE
# the NodePort on that node, SERVICE@ADDRESS,ADDRESS another address, IPv4 and IPv6.
cluster_address() { # TARGET 4|6
	local service=${1%@*} at=${1#*@}
	case $1 in
	*@worker-*) echo "$(net_ip"${2#4}" "$at") ${CLUSTER_NODE_PORT[$service]}" ;;
	*@*) echo "$(cut -d , -f $(($2 / 2 - 1)) <<<"$at") ${CLUSTER_PORT[$service]}" ;;
	*) echo "${CLUSTER_IP[$1/$2]} ${CLUSTER_PORT[$service]}" ;;
	esac
}


# The marker is a Service with a port and a backend of its own, new each time. A kube-proxy that has the
# marker has also applied all earlier changes. Ports from 0x2700 on, backends 203.0.113.N and fdff::N.
cluster_mark() {
	CLUSTER_MARK=$((CLUSTER_MARK + 1))
	cat <<-EOF
	---
	{apiVersion: v1, kind: Service, metadata: {name: marker, namespace: default},
	 spec: {ipFamilyPolicy: RequireDualStack, ipFamilies: [IPv4, IPv6],
	  ports: [{name: tcp, protocol: TCP, port: $((9984 + CLUSTER_MARK))}]}}
	EOF
	local address
	for address in 4:203.0.113.$CLUSTER_MARK 6:fdff::$CLUSTER_MARK; do
		cat <<-EOF
		---
		{apiVersion: discovery.k8s.io/v1beta1, kind: EndpointSlice, addressType: IPv${address%%:*},
		 metadata: {name: marker-${address%%:*}, namespace: default, labels: {kubernetes.io/service-name: marker}},
		 ports: [{name: tcp, protocol: TCP, port: 9}],
		 endpoints: [{addresses: ["${address#*:}"], conditions: {ready: true}}]}
		EOF
	done
}

# True if a node's kube-proxy has applied the current marker, for IPv4 and IPv6.
cluster_knows() { # NODE
	local port=$((9984 + CLUSTER_MARK)) rules
	if [ "$PROXY_MODE" = ipvs ]; then
		rules=$(net_on "$1" cat /proc/net/ip_vs)
		[[ $rules == *$(printf ':%04X' $port)* && $rules == *CB0071$(printf %02X $CLUSTER_MARK):0009* &&
			$rules == *fdff:0000:0000:0000:0000:0000:0000:00$(printf %02x $CLUSTER_MARK)* ]]
		return
	fi
	rules=$(net_on "$1" iptables-save -t nat)
	[[ $rules == *"--dport $port "* && $rules == *" 203.0.113.$CLUSTER_MARK:9"* ]] || return
	rules=$(net_on "$1" ip6tables-save -t nat)
	[[ $rules == *"--dport $port "* && $rules == *" [fdff::$CLUSTER_MARK]:9"* ]]
}

# Adds a marker to the API and waits until every kube-proxy has applied it and so all earlier changes. On a
# timeout, adds another marker to trigger another sync.
cluster_settled() {
	local try
	for ((try = 0; try < CLUSTER_TRIES; try++)); do
		cluster_mark >"$NET_TMP/marker.yaml"
		kubectl apply -f "$NET_TMP/marker.yaml" >"$NET_TMP/marker.said" 2>&1 ||
			cluster_unsettled "the API does not take the marker" "$NET_TMP/marker.said"
		! cluster_known 200 || return 0
	done
	cluster_unsettled "a kube-proxy has not done what the API was told" "$NET_TMP"/proxy-*.log
}

cluster_known() { # SECONDS
	local node until=$((SECONDS + $1))
	for node in $CLUSTER_PROXIED; do
		until cluster_knows "$node"; do
			kill -0 "${CLUSTER_PROXIES[@]}" 2>/dev/null ||
				cluster_unsettled "a kube-proxy has ended" "$NET_TMP"/proxy-*.log
			[ $SECONDS -lt $until ] || return
			sleep 0.2
		done
	done
}

cluster_unsettled() { # WHY FILE...
	net_result "not ok" "$1"
	tail -q -n 10 "${@:2}" | cut -c 1-300 | sed 's/^/# /'
	exit 1
}

# The zero arguments keep kube-proxy from changing settings of the whole machine.
cluster_proxy() {
	local node
	CLUSTER_PROXIES=()
	for node in $CLUSTER_PROXIED; do
		nsenter --net="/run/netns/$NET-$node" kube-proxy --kubeconfig="$KUBE_CONFIGS/kube-proxy" \
			--hostname-override="$node" --proxy-mode="$PROXY_MODE" \
			--cluster-cidr=10.244.0.0/16,fd44::/16 --feature-gates=IPv6DualStack=true \
			--iptables-min-sync-period=100ms --ipvs-min-sync-period=100ms --oom-score-adj=0 \
			--conntrack-max-per-core=0 --conntrack-min=0 \
			--conntrack-tcp-timeout-established=0 --conntrack-tcp-timeout-close-wait=0 \
			</dev/null >"$NET_TMP/proxy-$node.log" 2>&1 &
		CLUSTER_PROXIES+=($!)
		NET_SERVERS+=($!)
	done
}

# Loads Bulkhead on both nodes from the API's objects.

cluster_load() {
	local node objects=$NET_TMP/objects-$((++CLUSTER_LOADS)).yaml
	kubectl get -A -o yaml \
		namespaces,nodes,pods,services,endpointslices,networkpolicies >"$objects" || return
	for node in $CLUSTER_NODES; do
		cluster_bulkhead "$node" load -n "$node" --uplink eth0 "$objects" || return
	done
}

cluster_bulkhead() { # NODE SUBCOMMAND ARGUMENT...
	local node=$1 command=$2
	shift 2
	net_on "$node" "$BULKHEAD" "$command" --pin "/sys/fs/bpf/$node" "$@"
}
