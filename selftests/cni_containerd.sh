#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# containerd's pods, created through its CRI socket as a kubelet does, are under policy from their first
# packet; see cni_podman.sh.
#
#   STARTS=200   the number of pods to start
[ -n "${CNI_APART:-}" ] || exec env CNI_APART=1 unshare --mount "$0" "$@"
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/cni.sh
. "$(dirname "$0")/lib/cni.sh"
# shellcheck source=selftests/lib/first.sh
. "$(dirname "$0")/lib/first.sh"
# shellcheck source=selftests/lib/containerd.sh
. "$(dirname "$0")/lib/containerd.sh"

STARTS=${STARTS:-200}
SIDE=4 # pods at a time
containerd_apart
net_start
cni_start
home=$CONTAINERD_HOME
id_of() { sed -n 's/^id: "\(.*\)"/\1/p'; }

sandbox_of() { # POD ATTEMPT
	echo "metadata { name: \"$1\" uid: \"u-$1\" namespace: \"default\" attempt: $2 } hostname: \"$1\"
		log_directory: \"$home/logs\" annotations { key: \"bulkhead.dev/labels\" value: \"${LABELS:-}\" }
		linux { cgroup_parent: \"/$NET\" }"
}
run_pod() { # POD [ATTEMPT]: prints the sandbox's ID
	cri RunPodSandbox RunPodSandboxRequest Id "config { $(sandbox_of "$1" "${2:-0}") }" | id_of
}
# containerd 1.6 fails to stop a container whose shim exits at that moment ("ttrpc: closed"); like a
# kubelet, this tries again.
stop_pod() { # ID
	local i
	[ -n "$1" ] || return
	for ((i = 0; i < 60; i++)); do
		cri StopPodSandbox StopPodSandboxRequest Empty "pod_sandbox_id: \"$1\"" &&
			cri RemovePodSandbox RemovePodSandboxRequest Empty "pod_sandbox_id: \"$1\"" && return
		sleep 0.5
	done
	return 1
}
mounts() { # FOLDER:PATH...
	local one
	for one; do
		echo "mounts { host_path: \"${one%:*}\" container_path: \"${one#*:}\" readonly: true }"
	done
}
run_first() { # POD SANDBOX-ID MILLISECONDS
	local word words=() container
	for word in $(first_process /helpers "$3"); do
		words+=("command: \"$word\"")
	done
	container=$(cri CreateContainer CreateContainerRequest Id "pod_sandbox_id: \"$2\"
		config { metadata { name: \"first\" } image { image: \"localhost/pause:1\" } ${words[*]}
		$(mounts /usr:/usr /lib:/lib /lib64:/lib64 "$NET_HELPERS:/helpers") log_path: \"$1.log\" }
		sandbox_config { $(sandbox_of "$1" 0) }" | id_of)
	[ -n "$container" ] && cri StartContainer StartContainerRequest Empty "container_id: \"$container\""
}
# Runs a pod until its process ends, which waits 20 s at most until it is called; appends the process's line
# to $NET_TMP/starts.
whole_pod() { # POD
	local sandbox i
	rm -f "$home/logs/$1.log"
	sandbox=$(run_pod "$1") && [ -n "$sandbox" ] && run_first "$1" "$sandbox" 40
	for ((i = 0; i < 1200; i++)); do
		grep -qs sent "$home/logs/$1.log" && break
		sleep 0.05
	done
	echo "$(cut -d' ' -f4- "$home/logs/$1.log") $1" >>"$NET_TMP/starts"
	stop_pod "$sandbox"
}
run_pods() { # N
	local i j pids
	: >"$NET_TMP/starts"
	: >"$NET_TMP/errors"
	for ((i = 0; i < $1; i += SIDE)); do
		pids=()
		for ((j = i; j < i + SIDE && j < $1; j++)); do
			whole_pod "web-$j" 2>>"$NET_TMP/errors" &
			pids+=($!)
		done
		wait "${pids[@]}"
	done
}

end() {
	local sandbox
	for sandbox in "${left[@]}"; do
		stop_pod "$sandbox" >/dev/null 2>&1
	done
	containerd_end
	net_cleanup
} 2>/dev/null
left=()
trap end EXIT

net_check "a configuration and an image" containerd_make
first_network guarded 1 "$home/net.d"
install() {
	net_on node "$BULKHEAD" cni install --conf-dir "$home/net.d" --bin-dir "$home/bin" --pin "$NET_PIN" "$@"
}
net_check "install" install
net_check "containerd starts" containerd_start
net_check "containerd takes the image" containerd_import
net_check "no pod starts where no policy is active" eval \
	'! run_pod none 2>"$NET_TMP/why" >"$NET_TMP/id" || ! grep . "$NET_TMP/id"'
net_check "the kubelet is told that no policy is active" grep -q "no policy is active" "$NET_TMP/why"
pods=()
for ((i = 0; i < STARTS; i++)); do
	pods+=("web-$i")
done
(first_policies "${pods[@]}" again) >"$NET_TMP/policy.ini"
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"

first_call 1
run_pods "$STARTS"
first_call_end
first_results "$STARTS"
sort "$NET_TMP/errors" | uniq -c | sed 's/^/# /'
net_check "nobody is left" net_is "$(net_bulkhead endpoint list)" ""

first_flips
first_call 1
run_pods $((STARTS / 2))
first_call_end
first_flips_end
first_uncalled
sort "$NET_TMP/errors" | uniq -c | sed 's/^/# /'
net_check "$((STARTS / 2)) pods come and go while policies do" \
	net_is "$(first_lines '$4 > 0')" $((STARTS / 2))
net_check "nothing that both deny: 0 packets" \
	net_is "$(first_lines '$6 > 0') $(first_heard denied)" "0 0"

# A pod that no policy lists, and annotations.
: >"$NET_TMP/starts"
first_call 1
whole_pod stranger
first_call_end
net_check "a pod that nobody knows hears and reaches nobody" \
	net_is "$(first_lines '$2 > 0 && $4 + $6 == 0') $(first_heard allowed) $(first_heard denied)" "1 0 0"
install --trust annotations >/dev/null
containerd_restart
: >"$NET_TMP/starts"
first_call 1
LABELS=app=web whole_pod stranger
first_call_end
net_check "a pod whose labels an annotation gives is heard as policy allows" \
	net_is "$(first_lines '$4 > 0 && $6 == 0') $(first_heard denied)" "1 0"

# Two sandboxes of one pod, and a crash of containerd.
sandbox=$(run_pod again)
left+=("$sandbox")
net_check "a pod" test -n "$sandbox"
containerd_kill
net_check "containerd is killed; the pod stays under policy" \
	net_is "$(net_bulkhead endpoint list | cut -d' ' -f1 | sort -u)" default/again
net_check "containerd starts again" containerd_start
second=$(run_pod again 1)
left+=("$second")
net_check "a second sandbox of the same pod" net_is \
	"$(net_bulkhead endpoint list | cut -d' ' -f1 | sed 's/:.*/:/' | sort -u | tr '\n' ' ')" \
	"default/again default/again: "
net_check "the first one goes late" stop_pod "$sandbox"
net_check "the second stays" net_is \
	"$(net_bulkhead endpoint list | cut -d' ' -f1 | sed 's/:.*/:/' | sort -u)" "default/again:"
net_check "the second goes" stop_pod "$second"

# A pod all of whose processes are killed, and its next sandbox.
sandbox=$(run_pod again 2)
left+=("$sandbox")
net_check "a pod with a container" run_first again "$sandbox" 600000
containerd_processes | xargs kill -9
net_check "the pod whose processes are killed stays under policy" \
	net_is "$(net_bulkhead endpoint list | cut -d' ' -f1 | sort -u)" default/again
net_check "the pod whose processes are killed goes" stop_pod "$sandbox"
net_check "the killed pod's endpoint is gone" net_is "$(net_bulkhead endpoint list)" ""
: >"$NET_TMP/starts"
first_call 1
whole_pod again
first_call_end
net_check "the pod starts again: it is called where policy allows, and nowhere else" \
	net_is "$(first_lines '$4 > 0 && $6 == 0') $(first_heard denied)" "1 0"
net_check "nothing is left" net_is "$(net_bulkhead endpoint list)$(ls /run/bulkhead/cni)" ""
net_end
