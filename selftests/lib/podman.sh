# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs podman's containers on net.sh's node, with folders of their own. Source net.sh, cni.sh and first.sh
# first.
#
#   podman_prepare "network_config_dir = ..."    writes the configuration, with these lines on networks
#   podman_start web podman -- sleep 10          runs a container of that name in that network
#   podman_on_node rm -f web                     any other command of podman

for program in podman runc conmon; do
	command -v $program >/dev/null || net_skip "needs $program"
done
PODMAN_HOME=$NET_TMP/podman

podman_prepare() { # LINE...
	local folder
	mkdir -p "$PODMAN_HOME/net.d" "$PODMAN_HOME/tmp" "$PODMAN_HOME/root" "$PODMAN_HOME/run" || return
	for folder in proc sys dev etc tmp usr lib lib64 bin run helpers; do
		mkdir -p "$PODMAN_HOME/fs/$folder" || return
	done
	cat >"$PODMAN_HOME/containers.conf" <<-EOF
	[containers]
	log_driver = "k8s-file"
	[engine]
	cgroup_manager = "cgroupfs"
	events_logger = "none"
	lock_type = "file"
	tmp_dir = "$PODMAN_HOME/tmp"
	runtime = "runc"
	[network]
	network_backend = "cni"
	$(printf '%s\n' "$@")
	EOF
	export CONTAINERS_CONF=$PODMAN_HOME/containers.conf
	trap podman_end EXIT
}
podman_end() {
	podman_on_node rm -fa -t 0 >/dev/null 2>&1
	net_cleanup
}

podman_on_node() {
	net_on node podman --root "$PODMAN_HOME/root" --runroot "$PODMAN_HOME/run" --storage-driver vfs "$@"
}

# A container of a name, whose process is a helper.
podman_start() { # NAME NETWORK [OPTION...] -- COMMAND...
	local name=$1 network=$2 options=()
	shift 2
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	podman_on_node run --name "$name" --network "$network" --ulimit nofile=1000:1000 \
		--ulimit nproc=1000:1000 -v /usr:/usr:ro -v /lib:/lib:ro -v /lib64:/lib64:ro \
		-v /bin:/bin:ro -v "$NET_HELPERS:/helpers:ro" "${options[@]}" --rootfs "$PODMAN_HOME/fs" "$@"
}
