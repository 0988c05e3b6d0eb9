# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs containerd on net.sh's node, with its own folders and socket, and calls its CRI socket. Source
# net.sh, cni.sh and first.sh first.
#
#   containerd_apart [FOLDER...]    hides the machine's own folders of containerd, and these
#   containerd_make                 makes the configuration, the plugin folder and the image localhost/pause:1
#   containerd_start                starts containerd and waits until it answers
#   containerd_kill                 kills containerd, as a crash would
#   cri Version StatusRequest Empty ''
#   containerd_end                  ends containerd, its shims and its mounts

# shellcheck source=selftests/lib/containerd_config.sh
. "${BASH_SOURCE[0]%/*}/containerd_config.sh"
for program in containerd runc curl protoc busybox; do
	command -v $program >/dev/null || net_skip "needs $program"
done
CONTAINERD_HOME=$NET_TMP/containerd
CONTAINERD_NODE=${CONTAINERD_NODE:-node} # the host whose network containerd uses

containerd_apart() { # [FOLDER...]
	first_apart /run/containerd /var/log/pods "$@"
}
containerd_make() {
	local home=$CONTAINERD_HOME
	mkdir -p "$home/net.d" "$home/image" "$home/logs" "$home/bin" && ln -s "$CNI_BIN"/* "$home/bin/" &&
		containerd_config "$home" native "${CONTAINERD_NETWORKS:-1}" </dev/null >"$home/config.toml" &&
		containerd_image
}

# Makes an image of one layer with the folders that mounts need; its process waits.
containerd_image() (
	local layer
	cd "$CONTAINERD_HOME/image" && mkdir fs && cd fs &&
		mkdir bin proc sys dev etc tmp usr lib lib64 helpers && cp "$(command -v busybox)" bin/busybox &&
		tar -cf ../layer.tar . && cd .. || return
	layer=$(sha256sum <layer.tar | cut -d' ' -f1)
	echo "{\"architecture\": \"amd64\", \"os\": \"linux\", \"config\": {\"Cmd\": [\"/bin/busybox\", \"sleep\",
		\"1000000\"]}, \"rootfs\": {\"type\": \"layers\", \"diff_ids\": [\"sha256:$layer\"]}}" >config.json
	echo '[{"Config": "config.json", "RepoTags": ["localhost/pause:1"], "Layers": ["layer.tar"]}]' >manifest.json
	tar -cf ../pause.tar config.json manifest.json layer.tar
)
containerd_import() {
	ctr -a "$CONTAINERD_HOME/sock" -n k8s.io image import --snapshotter native "$CONTAINERD_HOME/pause.tar"
}

# Calls the CRI socket. A gRPC call is HTTP/2 with a five-byte header before each message.
cri() { # METHOD REQUEST-TYPE ANSWER-TYPE TEXT
	local at size
	at=$(mktemp -d "$NET_TMP/cri.XXXXXX")
	echo "$4" | protoc --proto_path="$NET_TOP/selftests/lib" --encode="runtime.v1.$2" cri.proto >"$at/message" || return
	size=$(stat -c %s "$at/message")
	# shellcheck disable=SC2059
	{ printf "\\0$(printf '\\x%02x' $((size >> 24 & 255)) $((size >> 16 & 255)) $((size >> 8 & 255)) $((size & 255)))" &&
		cat "$at/message"; } >"$at/frame"
	curl -s --http2-prior-knowledge --unix-socket "$CONTAINERD_HOME/sock" -H 'content-type: application/grpc' \
		-H 'te: trailers' --data-binary "@$at/frame" -D "$at/headers" -o "$at/answer" \
		"http://localhost/runtime.v1.RuntimeService/$1"
	if ! grep -qi '^grpc-status: 0' "$at/headers"; then
		grep -i '^grpc-message' "$at/headers" >&2
		return 1
	fi
	tail -c +6 "$at/answer" | protoc --proto_path="$NET_TOP/selftests/lib" --decode="runtime.v1.$3" cri.proto
	rm -r "$at"
}

containerd_start() {
	local i
	nsenter --net="/run/netns/$NET-$CONTAINERD_NODE" containerd -c "$CONTAINERD_HOME/config.toml" \
		>>"$CONTAINERD_HOME/log" 2>&1 &
	CONTAINERD=$!
	for ((i = 0; i < 300; i++)); do
		cri Version StatusRequest Empty '' >/dev/null 2>&1 && return
		sleep 0.1
	done
	tail "$CONTAINERD_HOME/log"
	false
}

containerd_kill() {
	kill -9 "$CONTAINERD"
	wait "$CONTAINERD" 2>/dev/null
}

# containerd reads the CNI network configurations at its start, before it answers.
containerd_restart() {
	containerd_kill
	containerd_start
}

# The shims outlive containerd and have the socket's path in their arguments; the pods' cgroups are below
# the test's name.
containerd_end() {
	local shim i
	[ -z "${CONTAINERD:-}" ] || kill "$CONTAINERD" && wait "$CONTAINERD"
	for shim in /proc/[0-9]*; do
		! grep -qs "$CONTAINERD_HOME/ttrpc\|$CONTAINERD_HOME/sock" "$shim/cmdline" || kill -9 "${shim#/proc/}"
	done
	containerd_processes | xargs -r kill -9
	for ((i = 0; i < 50; i++)); do
		find /sys/fs/cgroup/*/"$NET" -depth -type d -exec rmdir {} + && break
		sleep 0.1
	done
	umount -R "$CONTAINERD_HOME/state"
} 2>/dev/null

containerd_processes() {
	find /sys/fs/cgroup/*/"$NET" -name cgroup.procs -exec cat {} + | sort -u
}
