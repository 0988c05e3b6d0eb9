#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The container image: small, complete, and able to guard a node with only the privileges that the DaemonSet
# grants.
top=$(cd "$(dirname "$0")/.." && pwd)
build=$(dirname "${BULKHEAD:-$top/build/bulkhead}")
command -v podman >/dev/null || { echo "1..0 # SKIP needs podman" && exit 4; }
# This test has its own images, containers and mounts; the inner process's mounts end with it. crun fails
# where cgroup v1 and v2 are mixed, as on some machines.
if [ -z "${PACKAGE_WORK:-}" ]; then
	PACKAGE_WORK=$(mktemp -d) || exit 1
	trap 'rm -rf --one-file-system "$PACKAGE_WORK"' EXIT
	export PACKAGE_WORK CONTAINERS_STORAGE_CONF=$PACKAGE_WORK/storage.conf
	printf '[storage]\ndriver = "vfs"\ngraphroot = "%s"\nrunroot = "%s"\n' \
		"$PACKAGE_WORK/images" "$PACKAGE_WORK/run" >"$CONTAINERS_STORAGE_CONF"
	# `status` asks process 1 whether it has the bpffs of the pins; here this is the inner process.
	unshare --mount --pid --fork --kill-child --mount-proc sh -c 'mount -t bpf bpf /sys/fs/bpf && umount -R /sys/fs/cgroup &&
		mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec "$@"' sh "$0" "$@"
	exit
fi
# shellcheck source=selftests/lib/net.sh
. "$top/selftests/lib/net.sh"

# Sets the limits: podman's default number of open files is above this process's limit.
run() { # OPTION... -- ARGUMENT...: of the image
	local options=()
	while [ "$1" != -- ]; do options+=("$1") && shift; done
	shift
	podman run --rm --cgroups disabled --pids-limit 0 --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 \
		--read-only "${options[@]}" bulkhead "$@"
}
# Runs the image as a DaemonSet: the node's network, these capabilities, and three folders of the node.
daemon() {
	run --network "ns:/run/netns/$NET-node" --cap-drop all --cap-add SYS_ADMIN,NET_ADMIN \
		-v /sys/fs/bpf:/sys/fs/bpf -v "$PACKAGE_WORK/state:/var/lib/bulkhead" \
		-v "$NET_TMP:/policies:ro" "$@"
}
fails() { # STATUS COMMAND...
	"${@:2}"
	net_is $? "$1"
}

net_check "build the image" "$top/tools/package/image" "$build/bulkhead" "$PACKAGE_WORK/out"
size=$(podman image inspect -f '{{.Size}}' bulkhead)
echo "# $((size / 1000)) kB, $(($(stat -c %s "$PACKAGE_WORK/out/bulkhead.tar") / 1000)) kB compressed"
net_check "the image has less than 30 MB" test "$size" -lt 30000000
digest() {
	podman image inspect --format '{{.Digest}}' bulkhead
}
first=$(digest)
net_check "build the image again" "$top/tools/package/image" "$build/bulkhead" "$PACKAGE_WORK/again"
net_check "the second image has the same digest" net_is "$(digest)" "$first"
out=$PACKAGE_WORK/out arch=$(dpkg --print-architecture)
net_check "the second SBOM has the same bytes" cmp "$out/bulkhead-$arch.spdx.json" "$PACKAGE_WORK/again/bulkhead-$arch.spdx.json"
lists() { # the SBOM has each library of the image with its checksum and its installed package
	local mount file name line package version missing=0
	mount=$(podman image mount bulkhead) || return
	for file in "$mount"/opt/bulkhead/lib/*; do
		name=${file##*/}
		line=$(grep -A1 -F "\"packageFileName\": \"$name\"" "$out/bulkhead-$arch.spdx.json")
		package=$(sed -n 's/.*"name": "\([^"]*\)".*/\1/p' <<<"$line")
		version=$(sed -n 's/.*"versionInfo": "\([^"]*\)".*/\1/p' <<<"$line")
		grep -qF "$(sha256sum <"$file" | cut -d' ' -f1)" <<<"$line" &&
			dpkg-query -W -f '${Version}\n' "$package" 2>/dev/null | grep -qxF -- "$version" || { echo "$name" && missing=1; }
	done
	return $missing
}
net_check "the SBOM lists each library, with checksum, package and version" lists
net_check "the provenance has the digests of the archive and the SBOM" eval 'for file in bulkhead.tar bulkhead-$arch.spdx.json; do
	grep -qF "$(sha256sum <"$out/$file" | cut -d" " -f1)" "$out/provenance.json" || return; done'
net_check "the provenance has the image" grep -qF "$first" "$out/provenance.json"
net_check "the image prints its version" net_is "$(run --network none -- --version)" "$("$build/bulkhead" --version)"
demo=(trace --from shop/cart --to default/db --port TCP/6379)
manifests=$PACKAGE_WORK/out/deploy
net_check "the manifests have the image's version" grep -q 'newTag: "'"$("$build/bulkhead" --version | cut -d" " -f2)"'"' \
	"$manifests/base/kustomization.yaml"
net_check "trace answers without capabilities" net_is "$(run --network none --cap-drop all \
	-v "$top/policies/demo/yaml:/demo:ro" -- "${demo[@]}" /demo)" \
	"$("$build/bulkhead" "${demo[@]}" "$top/policies/demo/yaml")"
dispatcher=$(dirname "$(readlink -f "$(ldd "$build/bulkhead" | awk '/libxdp/ { print $3 }')")")/bpf/xdp-dispatcher.o
net_check "the image has only the command, its libraries and libxdp's dispatcher" net_is "$(mount=$(podman image mount bulkhead) && find "$mount" -type f ! -name '*.so*' -printf '%P\n' | sort |
	tr '\n' ' ')" "etc/passwd opt/bulkhead/bulkhead ${dispatcher#/} "

# Libraries that only these commands load: each refuses its address after it has found them.
net_kubeconfig >"$NET_TMP/kubeconfig"
for verb in engine follow; do
	net_check "$verb has its libraries" eval 'run --network none -v "$NET_TMP:/policies:ro" -- \
		"$verb" --kubeconfig /policies/kubeconfig --listen nowhere 2>&1 | grep -q "not ADDRESS:PORT"'
done

# The kubelet's probes, in a container with the engine's rights. Its API server is not there.
mkdir -m 777 "$PACKAGE_WORK/shared" && cp "$NET_TMP/kubeconfig" "$PACKAGE_WORK/shared/"
run --detach --name engine --network none --cap-drop all --user 65534 -v "$PACKAGE_WORK/shared:/run/bulkhead" -- \
	engine --kubeconfig /run/bulkhead/kubeconfig --health /run/bulkhead/engine.sock >/dev/null
probe() { # live|ready
	podman exec engine bulkhead probe "$1" /run/bulkhead/engine.sock
}
is_live() {
	local i
	for ((i = 0; i < 100; i++)); do
		probe live && return
		sleep 0.2
	done
	false
}
net_check "an engine in a container is live" is_live
net_check "an engine without its API server is not ready" net_ends 1 "has not listed all objects yet" probe ready
ends() { # a container that has ended is removed
	local i
	podman kill --signal TERM engine || return
	for ((i = 0; i < 100; i++)); do
		podman container exists engine || return 0
		sleep 0.2
	done
	false
}
net_check "the engine ends by SIGTERM" ends

# Installs onto a host without the libraries: only the folders that a container runtime reads exist.
host=$PACKAGE_WORK/host
mkdir -p "$host/etc/cni/net.d" "$host/opt/cni/bin"
echo '{"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "ptp"}]}' >"$host/etc/cni/net.d/10-pods.conflist"
install_on() { # VERB
	run --network none --cap-drop all --cap-add DAC_OVERRIDE -v "$host:/host" -- cni "$1" --root /host
}
plugin() {
	CNI_COMMAND=VERSION chroot "$host" /opt/cni/bin/bulkhead-cni <<<'{"cniVersion": "1.0.0"}'
}
net_check "cni install puts the plugin onto the host" install_on install
net_check "the network's list has the plugin" grep -q '"bulkhead-cni"' "$host/etc/cni/net.d/10-pods.conflist"
net_check "the plugin runs there with its own libraries" eval 'plugin | grep -q supportedVersions'
before=$(stat -c %i "$host/opt/bulkhead/bulkhead")
net_check "cni install again" install_on install
net_check "the file stays, since it is the same" test "$before" = "$(stat -c %i "$host/opt/bulkhead/bulkhead")"
echo older >>"$host/opt/bulkhead/bulkhead"
net_check "cni install over another version, as for an upgrade" install_on install
net_check "a new file replaces the old one" test "$before" != "$(stat -c %i "$host/opt/bulkhead/bulkhead")"
net_check "the plugin of the new file runs" eval 'plugin | grep -q supportedVersions'
net_check "no temporary file is left" net_is "$(find "$host/opt" -name '*.??????' ! -name '*.so*')" ""
cp "$host/etc/cni/net.d/10-pods.conflist" "$host/etc/cni/net.d/20-other.conflist"
net_check "cni uninstall" install_on uninstall
net_check "another network has the plugin, so the command is there" plugin
rm "$host/etc/cni/net.d/20-other.conflist"
net_check "cni uninstall from the last network" install_on uninstall
net_check "the network's list does not have the plugin" eval '! grep -q bulkhead "$host/etc/cni/net.d/10-pods.conflist"'
net_check "the plugin's link is gone" test ! -e "$host/opt/cni/bin/bulkhead-cni"
net_check "the command and its libraries are gone" test ! -e "$host/opt/bulkhead"
net_check "cni uninstall again" install_on uninstall

mkdir "$PACKAGE_WORK/state"
net_start db web
net_policy_of TCP/80 TCP/80 >"$NET_TMP/policy.ini"
net_check "without a capability, load refuses" fails 3 run --network "ns:/run/netns/$NET-node" \
	--cap-drop all --cap-add SYS_ADMIN -v /sys/fs/bpf:/sys/fs/bpf -v "$NET_TMP:/policies:ro" \
	-- load /policies/policy.ini
net_check "load as a DaemonSet" daemon -- load /policies/policy.ini
net_check "XDP guards the uplink" eval 'daemon -- status | grep -qE "^ *eth0 +uplink, xdp native"'
for address in "$(net_ip db)" "$(net_ip6 db)"; do
	net_allowed web tcp "$address" 80 "web reaches $address"
	net_denied web tcp "$address" 443 "web does not reach $address at 443"
done
net_check "status --check has no problem" daemon -- status --check
net_check "without the container the node's own command has the active policy" \
	net_on node "$build/bulkhead" status --check --state "$PACKAGE_WORK/state"
net_check "unload" daemon -- unload
net_allowed web tcp "$(net_ip db)" 443 "after unload nothing is denied"
net_check "load --restore where nothing is kept" daemon -- load --restore
net_allowed web tcp "$(net_ip db)" 443 "without a kept load nothing is denied"
net_check "load as a DaemonSet again" daemon -- load /policies/policy.ini
net_on node "$build/bulkhead" unload --state "$PACKAGE_WORK/nowhere"
net_check "load --restore of the kept load" daemon -- load --restore
net_denied web tcp "$(net_ip db)" 443 "the restored policy denies what it should"
net_allowed web tcp "$(net_ip db)" 80 "the restored policy allows what it should"
net_on node "$build/bulkhead" unload
net_end
