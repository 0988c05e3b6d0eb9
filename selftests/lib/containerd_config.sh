# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Prints containerd's configuration with all of its files below HOME: the plugins in HOME/bin, the networks'
# lists in HOME/net.d. Takes further tables from standard input.
containerd_config() { # HOME SNAPSHOTTER [NETWORKS]
	cat <<-END
	version = 2
	root = "$1/root"
	state = "$1/state"
	oom_score = 0
	[grpc]
	address = "$1/sock"
	[ttrpc]
	address = "$1/ttrpc"
	[plugins."io.containerd.grpc.v1.cri"]
	restrict_oom_score_adj = true
	disable_apparmor = true
	netns_mounts_under_state_dir = true
	sandbox_image = "localhost/pause:1"
	[plugins."io.containerd.grpc.v1.cri".cni]
	bin_dir = "$1/bin"
	conf_dir = "$1/net.d"
	max_conf_num = ${3:-1}
	[plugins."io.containerd.grpc.v1.cri".containerd]
	snapshotter = "$2"
	[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
	runtime_type = "io.containerd.runc.v2"
	[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
	SystemdCgroup = false
	END
	cat
}
