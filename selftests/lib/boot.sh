#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The units inside package_boot.sh's virtual machine:
#
#   uplink     sets up the node's uplink, before network.target
#   disk       brings back podman's files of before the boot
#   kubelet    stands for the real kubelet: creates two pods and, if a policy is active, guards each
#              before its interface is up
#   first, second, third    the checks of each boot
#
# The machine is the node; /test holds the files that the test provides.
set -u
PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin

uplink() {
	echo 1 >/proc/sys/net/ipv4/ip_forward
	echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
	ip netns add out && ip link add eth0 type veth peer name eth0 netns out &&
		ip addr add 192.168.7.1/24 dev eth0 && ip link set eth0 up &&
		ip -n out addr add 192.168.7.2/24 dev eth0 && ip -n out link set eth0 up &&
		ip route add default via 192.168.7.2 && ip -n out route add default via 192.168.7.1
}

ip4() { # POD
	[ "$1" = db ] && echo 10.244.0.1 || echo 10.244.0.2
}
ip6() {
	[ "$1" = db ] && echo fd44::1 || echo fd44::2
}

# Calls the CNI plugin as a container runtime does.
plugin() { # COMMAND CONTAINER NAME
	local sandbox=/run/netns/$3
	CNI_COMMAND=$1 CNI_CONTAINERID=$2 CNI_IFNAME=eth0 CNI_NETNS=$sandbox \
		CNI_ARGS="IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=$3" bulkhead <<-EOF
	{"cniVersion": "1.0.0", "name": "net", "type": "bulkhead-cni", "prevResult": {"cniVersion": "1.0.0",
	 "interfaces": [{"name": "eth0", "sandbox": "$sandbox"}],
	 "ips": [{"interface": 0, "address": "$(ip4 "$3")/32"}, {"interface": 0, "address": "$(ip6 "$3")/128"}]}}
	EOF
}
# Adds a pod by the plugin. An endpoint record identifies the pod where the policy does not.
attach() { # NAME
	mkdir -p /run/bulkhead/endpoints.d
	printf '%s\n' "[endpoint shop/$1]" "labels = role=$1" >"/run/bulkhead/endpoints.d/shop_$1.ini"
	plugin ADD "of-$1" "$1"
}

# Creates a pod as a runtime and a CNI plugin do: web by the CNI plugin, db by `endpoint add`.
pod() { # NAME
	ip netns add "$1"
	ip link add "veth-$1" address 02:00:00:00:02:01 type veth peer name eth0 netns "$1"
	ip -n "$1" addr add "$(ip4 "$1")/32" dev eth0
	ip -n "$1" addr add "$(ip6 "$1")/128" dev eth0 nodad
	ip -n "$1" link set eth0 up
	ip -n "$1" neigh add 169.254.1.1 dev eth0 lladdr 02:00:00:00:02:01 nud permanent
	ip -n "$1" neigh add fe80::1 dev eth0 lladdr 02:00:00:00:02:01 nud permanent
	if [ -e /sys/fs/bpf/bulkhead/config ] && [ "$1" = web ]; then
		attach web
	elif [ -e /sys/fs/bpf/bulkhead/config ]; then
		bulkhead endpoint del "shop/$1"
		bulkhead endpoint add "shop/$1" --ip "$(ip4 "$1"),$(ip6 "$1")" \
			--interface "veth-$1" --labels "role=$1"
	fi
	ip link set "veth-$1" up
	ip route add "$(ip4 "$1")" dev "veth-$1"
	ip -6 route add "$(ip6 "$1")" dev "veth-$1"
	ip -n "$1" route add default via 169.254.1.1 dev eth0 onlink
	ip -n "$1" -6 route add default via fe80::1 dev eth0 onlink
}

kubelet() {
	bulkhead status >/run/at-kubelet
	pod db
	pod web
	ip netns exec db /test/probe serve 80 443 >/run/ready 2>&1
}
pods_are_there() {
	local i
	for ((i = 0; i < 120; i++)); do
		[ ! -s /run/ready ] || return 0
		sleep 0.5
	done
	journalctl -b -u kubelet
	return 1
}
unit_says() { # UNIT TEXT
	journalctl -b -u "$1" -o cat | tee "$tmp/log"
	grep -q "$2" "$tmp/log"
}

ask() { # FROM ADDRESS PORT MILLISECONDS
	ip netns exec "$1" /test/probe ask tcp "$2" "$3" "$4"
}
follows() { # WHEN: db takes port 80 from web, and nothing else
	local address
	for address in "$(ip4 db)" "$(ip6 db)"; do
		check "$1: web reaches $address, 80" ask web "$address" 80 20000
		check "$1: and not 443" eval '! ask web "$address" 443 2000'
	done
	check "$1: the outside does not reach it" eval '! ask out "$(ip4 db)" 80 2000'
}
disk() {
	[ ! -e /var/lib/bulkhead/disk.tar ] || tar -xf /var/lib/bulkhead/disk.tar -C /
}
disk_keep() {
	tar -cf /var/lib/bulkhead/disk.tar /var/lib/containers /etc/cni/net.d /usr/lib/cni/bulkhead-cni
}

# A container that sends from its first instruction on, and starts again at each boot.
box() { # NAME PORT PORT
	podman run -d --name "$1" --restart always --ulimit nofile=1000:1000 --ulimit nproc=1000:1000 \
		-v /usr:/usr:ro -v /lib:/lib:ro -v /lib64:/lib64:ro -v /test:/test:ro --rootfs /box \
		/test/first 36000000 "$2" "$3" 192.168.7.2 2>&1
}
box_runs() { # NAME
	local i
	for ((i = 0; i < 120; i++)); do
		[ "$(systemctl is-active podman-restart)" = activating ] || break
		sleep 1
	done
	[ "$(podman inspect -f '{{.State.Running}}' "$1")" = true ] || { journalctl -b -u podman-restart -o cat && return 1; }
}
box_is() { # NAME segment|isolated
	bulkhead endpoint list | tee "$tmp/list"
	grep -q "^default/$1 .* $2 " "$tmp/list"
}
# The packets that the outside has received, in the words of helpers/first.c.
outside() {
	systemctl stop outside
	journalctl -b -u outside -o cat | grep '^sent' | tail -n 1
}
# Returns true if status --check names nothing but the bridge that podman has made since the restore: its interface, its
# address, and the node's MACs, whose entry has the node's first address, which is the bridge's by now.
well_but_bridge() {
	bulkhead status --check >"$tmp/problems"
	! grep -vE "^NOT GUARDED: interface cni-podman0, which has come up since the last load|^prefixes 10\.88\.|^macs .* of the node: is not" "$tmp/problems"
}
outside_heard() { # REGEXP
	outside | tee "$tmp/heard"
	grep -qE "$1" "$tmp/heard"
}
boxes_follow() { # WHEN: the outside hears box where policy allows, and nothing else of any container
	check "$1: the outside hears the container where policy allows, and nothing else of any container" \
		outside_heard ' allowed [1-9][0-9]* denied 0 '
}

refused() { # COMMAND...
	! "$@" 2>"$tmp/why" && grep -q "Operation refused" "$tmp/why"
}
result() { # UNIT
	systemctl show -P Result "$1"
}

first() {
	check "with nothing kept, the restore succeeds" systemctl is-active bulkhead-restore
	check "kubelet starts with nothing kept" systemctl is-active kubelet
	check "nf_conntrack is there before it" test -d /sys/module/nf_conntrack
	check "the pods come" pods_are_there
	check "nothing is active" is "$(cat /run/at-kubelet)" "nothing is loaded"
	check "all ports are open" eval 'ask web "$(ip4 db)" 80 20000 && ask web "$(ip6 db)" 443 20000'
	check "the plugin is in podman's network" bulkhead cni install
	check "a container does not start before a policy is active" \
		eval 'box none 7001 5979 >"$tmp/why"; grep "no policy is active" "$tmp/why"'
	podman rm -fi none >/dev/null 2>&1
	check "DEL of a container where nothing was ever active" plugin DEL of-old web
	check "load" bulkhead load --set connections=5000 /test/policy.ini
	follows "loaded"
	check "a container of the policy's name starts" box box 7001 5979
	check "a container of the policy's name has its segment" box_is box segment
	check "a container of another name starts" box stranger 5979 5980
	check "a container of another name is isolated" box_is stranger isolated
	boxes_follow "loaded"
	check "podman's containers are kept" disk_keep
	check "the load is kept" test -s /var/lib/bulkhead/policy
	check "the metrics unit runs" systemctl start bulkhead-metrics.service
	check "the metrics unit writes for node_exporter" \
		grep -q '^bulkhead_' /var/lib/prometheus/node-exporter/bulkhead.prom
	check "the timer starts" systemctl start bulkhead-metrics.timer
}

second() {
	check "the restore puts an active policy" \
		unit_says bulkhead-restore "is active: .* 0 endpoints guarded"
	check "the restore has succeeded" systemctl is-active bulkhead-restore
	check "the pods come" pods_are_there
	check "the policy was active when kubelet started" grep -q "is active on worker-1" /run/at-kubelet
	check "the plugin has found who one of them is" grep -q '"identity":"policy"' /run/bulkhead/cni/net:of-web:eth0
	check "a late DEL of the pod's container of before the boot" plugin DEL of-old web
	follows "restored"
	check "podman's container starts by itself" box_runs box
	check "podman's container has its segment" box_is box segment
	check "the container of another name starts by itself" box_runs stranger
	check "the container of another name is isolated" box_is stranger isolated
	boxes_follow "restored"
	check "the container of another name goes" podman rm -f -t 0 stranger
	check "the container of another name leaves no endpoint" eval '! bulkhead endpoint list | grep -q stranger'
	check "all is well, but for podman's bridge, which came after the restore" well_but_bridge
	check "the settings are those of before" grep -q '"name":"ct","used":[0-9]*,"max":5000' \
		<(bulkhead status -j)
	check "the unit cannot be stopped, nor kubelet with it" refused systemctl stop bulkhead-restore
	check "the unit cannot be restarted" refused systemctl restart bulkhead-restore
	check "kubelet goes on" systemctl is-active kubelet
}

third() {
	check "where what is kept is damaged, the restore fails" is "$(result bulkhead-restore)" exit-code
	check "the failed restore says why" unit_says bulkhead-restore "checksum does not match: load the policy again"
	check "kubelet does not start" test ! -e /run/at-kubelet
	check "no pod is there" eval '! ip netns list | grep -E "db|web"'
	check "podman's container does not start" \
		eval 'systemctl start podman-restart; unit_says podman-restart "no policy is active"'
	check "the outside heard nothing of any container" outside_heard ' allowed 0 denied 0 '
	check "a late DEL before the operator loads" plugin DEL of-old web
	check "the operator loads again, for a node on which no object is" bulkhead load -n worker-1 --force /test/cluster.ini
	check "the operator starts the restore and kubelet" systemctl start bulkhead-restore kubelet
	check "the pods come" pods_are_there
	check "a record says who one of them is" grep -q '"identity":"record"' /run/bulkhead/cni/net:of-web:eth0
	follows "loaded again"
}

case $1 in
uplink | disk | kubelet) "$1" ;;
*)
	# shellcheck source=selftests/lib/cmd.sh
	. /test/cmd.sh
	"$1"
	check_end
	;;
esac
