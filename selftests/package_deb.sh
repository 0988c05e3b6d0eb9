#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The Debian package in a clean Debian 12: built, installed with its dependencies only, run on real packets,
# upgraded while active, removed and purged without a trace.
top=$(cd "$(dirname "$0")/.." && pwd)
build=$(dirname "${BULKHEAD:-$top/build/bulkhead}")
# The inner process's mounts end with it, before the outer process removes the folder.
if [ -z "${PACKAGE_WORK:-}" ]; then
	PACKAGE_WORK=$(mktemp -d) || exit 1
	trap 'rm -rf --one-file-system "$PACKAGE_WORK"' EXIT
	export PACKAGE_WORK NET=bh$$
	# process 1 has the bpffs: load refuses another one
	unshare --mount --pid --fork --kill-child --mount-proc sh -c 'mount -t bpf bpf /sys/fs/bpf && exec "$@"' sh "$0" "$@"
	exit
fi
# shellcheck source=selftests/lib/net.sh
. "$top/selftests/lib/net.sh"
root=$PACKAGE_WORK/root

command -v mmdebstrap lintian >/dev/null || net_skip "needs mmdebstrap and lintian"
package=$(ls "$build"/deb/bulkhead_*.deb 2>/dev/null) || net_skip "no package: make deb"
net_check "lintian has nothing against it" \
	eval 'said=$(lintian --allow-root "$package" 2>&1 | grep "^[EWI]:"); [ -z "$said" ] || { echo "$said"; false; }'
"$top/tools/root" "$build/root/debian12.tar" || net_skip "no clean root"

mkdir "$root" && tar -xf "$build/root/debian12.tar" -C "$root" || exit 1
mount --bind "$root" "$root" && mount -t proc proc "$root/proc" && mount -t sysfs -o ro sys "$root/sys" &&
	mount --bind /sys/fs/bpf "$root/sys/fs/bpf" &&
	cp -L /etc/resolv.conf "$root/etc/" || exit 1
inside() { # COMMAND...
	DEBIAN_FRONTEND=noninteractive LC_ALL=C chroot "$root" "$@"
}
# Runs in the node's network namespace, so that no interface of this machine changes.
on_node() {
	DEBIAN_FRONTEND=noninteractive LC_ALL=C net_on node chroot "$root" "$@"
}
# Lists all files but those of the package manager, ldconfig and apt.
files() {
	(cd "$root" && find . -xdev \( -path ./var/lib/dpkg -o -path ./var/cache -o -path ./var/log \
		-o -path ./var/lib/apt -o -path ./tmp -o -path ./root \) -prune -o -print | sort)
}
next_version() { # DEB: the same files, as a later version
	local work=$NET_TMP/next
	dpkg-deb -R "$package" "$work" && sed -i 's/^Version: .*/&+next/' "$work/DEBIAN/control" &&
		dpkg-deb --root-owner-group -b "$work" "$1"
}

mkdir -p "$root/packages" && cp "$package" "$root/packages/old.deb" &&
	next_version "$root/packages/new.deb" >/dev/null
# shellcheck disable=SC2034 # is used by eval
needs=$(dpkg-deb -f "$package" Depends | sed 's/([^)]*)//g; s/,//g')
net_check "Debian 12 has the package's dependencies" eval 'inside apt-get update -qq &&
	inside apt-get install -y -qq --no-install-recommends $needs'
files >"$NET_TMP/before"
net_check "install" inside dpkg -i /packages/old.deb
files >"$NET_TMP/installed"
for file in /usr/sbin/bulkhead /usr/bin/bulkhead /usr/share/man/man8/bulkhead.8.gz /usr/share/man/man5/bulkhead.ini.5.gz \
	/usr/share/man/man7/bulkhead-maps.7.gz /usr/share/bash-completion/completions/bulkhead \
	/usr/share/zsh/vendor-completions/_bulkhead /usr/share/fish/vendor_completions.d/bulkhead.fish /lib/systemd/system/bulkhead-restore.service \
	/lib/systemd/system/bulkhead-metrics.service /lib/systemd/system/bulkhead-metrics.timer \
	/usr/lib/modules-load.d/bulkhead.conf /usr/share/doc/bulkhead/RUNBOOK.md.gz; do
	net_check "the package has $file" test -s "$root$file"
done
net_check "no placeholder is left in the units" eval '! grep -r "@sbin@" "$root/lib/systemd/system"'
enabled() { # UNIT: kubelet requires it, and the machine wants it
	test -L "$root/etc/systemd/system/kubelet.service.requires/$1" &&
		test -L "$root/etc/systemd/system/multi-user.target.wants/$1"
}
net_check "the restore unit is enabled" enabled bulkhead-restore.service
net_check "the timer is not enabled" \
	eval '! find "$root/etc/systemd" -name "bulkhead-metrics*" | grep .'
net_check "the command prints its version" net_is "$(inside bulkhead --version)" "$("$build/bulkhead" --version)"
net_check "the command has its libraries" eval '! inside ldd /usr/sbin/bulkhead | grep "not found"'
# Only these commands load libcurl and libmicrohttpd, and ldd does not list them: each refuses its address
# after it has found both.
net_kubeconfig >"$root/tmp/kubeconfig"
for verb in engine follow; do
	net_check "$verb has its libraries" eval 'inside bulkhead "$verb" --kubeconfig /tmp/kubeconfig \
		--listen nowhere 2>&1 | grep -q "not ADDRESS:PORT"'
done
cp -r "$top/policies" "$root/policies"
net_check "trace answers as the build does" net_is "$(inside bulkhead trace --from shop/cart --to default/db --port TCP/6379 \
	/policies/demo/yaml)" "$("$build/bulkhead" trace --from shop/cart --to default/db --port TCP/6379 \
	"$top/policies/demo/yaml")"
net_check "the completion script loads" inside bash -c '. /usr/share/bash-completion/completions/bulkhead'

net_start db web
mkdir "$root/test" && {
	net_policy_of TCP/80 TCP/80 >"$root/test/policy.ini"
	net_policy_of TCP/443 TCP/443 >"$root/test/next.ini"
}
probe() { # ALLOWED DENIED WHEN
	net_allowed web tcp "$(net_ip db)" "$1" "$3: web reaches db, $1"
	net_denied web tcp "$(net_ip db)" "$2" "$3: web does not reach db, $2"
	net_allowed web tcp "$(net_ip6 db)" "$1" "$3: web reaches db over IPv6, $1"
	net_denied web tcp "$(net_ip6 db)" "$2" "$3: web does not reach db over IPv6, $2"
}
net_check "load the first policy" on_node bulkhead load /test/policy.ini
net_check "the load is kept in /var/lib/bulkhead" test -s "$root/var/lib/bulkhead/policy"
net_check "status --check has no problem" on_node bulkhead status --check
probe 80 443 installed

# Stands for systemd, where the timer of the metrics is enabled and runs: keeps what the package asks for.
mkdir -p "$root/run/systemd/system"
cat >"$root/usr/bin/systemctl" <<'END'
#!/bin/sh
echo "$*" >>/run/systemctl.log
case $* in
*is-enabled*) echo enabled ;;
*show*) echo loaded ;;
esac
END
chmod 755 "$root/usr/bin/systemctl"
asked() { # PATTERN: of systemctl, since the last question
	cat "$root/run/systemctl.log"
	grep -qE -- "$1" "$root/run/systemctl.log"
}
before=$(on_node bulkhead status -j)
net_check "upgrade the package" on_node dpkg -i /packages/new.deb
net_check "the upgrade starts the timer of the metrics again" asked '(^| )restart .*bulkhead-metrics.timer'
net_check "the upgrade stops no other unit" eval '! grep -E "(^| )(stop|restart) " "$root/run/systemctl.log" | grep -v bulkhead-metrics.timer'
rm -f "$root/run/systemctl.log"
net_check "the upgrade keeps the policy active" net_is "$(on_node bulkhead status -j)" "$before"
net_check "the upgrade keeps the kept load" test -s "$root/var/lib/bulkhead/policy"
net_check "the upgrade keeps the restore unit enabled" enabled bulkhead-restore.service
probe 80 443 upgraded
net_check "load with the new package" on_node bulkhead load /test/next.ini
probe 443 80 "loaded after the upgrade"

find "$root/etc/systemd" -name bulkhead-restore.service -delete # as systemctl disable does
net_check "an upgrade keeps the restore unit disabled" eval \
	'on_node dpkg -i /packages/new.deb && ! enabled bulkhead-restore.service'
mkdir -p "$root/etc/cni/net.d" "$root/opt/cni/bin"
echo '{"cniVersion": "1.0.0", "name": "net", "plugins": [{"type": "bridge"}]}' >"$root/etc/cni/net.d/10-net.conflist"
net_check "put the plugin into a network" inside bulkhead cni install
rm -f "$root/run/systemctl.log"
net_check "a removal that cannot unload what is active is refused" net_fails 1 on_node setpriv --bounding-set=-sys_admin,-net_admin \
	--inh-caps=-sys_admin,-net_admin dpkg -r bulkhead
probe 443 80 "after the refused removal"
net_check "put the plugin into the network again" inside bulkhead cni install
net_check "remove the package" on_node dpkg -r bulkhead
net_check "removal stops the timer of the metrics" asked '(^| )stop .*bulkhead-metrics.timer'
rm -r "$root/usr/bin/systemctl" "$root/run/systemctl.log" "$root/run/systemd/system"
rmdir "$root/run/systemd" 2>/dev/null || true
net_check "removal takes the plugin out of the network" \
	eval '! grep -q bulkhead "$root/etc/cni/net.d/10-net.conflist" && test ! -L "$root/opt/cni/bin/bulkhead-cni"'
rm -r "$root/etc/cni" "$root/opt/cni"
net_check "removal takes the policy out of force" test ! -e /sys/fs/bpf/bulkhead
net_allowed web tcp "$(net_ip db)" 80 "removal detaches every program"
net_check "kubelet requires no missing unit" \
	eval '! find "$root/etc/systemd" -name "bulkhead*" | grep .'
net_check "install the package again" on_node dpkg -i /packages/new.deb
net_check "the restore unit is enabled again" enabled bulkhead-restore.service
net_check "load with the package installed again" on_node bulkhead load /test/policy.ini
probe 80 443 "installed again"
net_check "purge the package" on_node dpkg -P bulkhead
net_check "the purge leaves no pin" net_is "$(find /sys/fs/bpf -mindepth 1 ! -name '*.debug' ! -name xdp)" ""
net_allowed web tcp "$(net_ip db)" 443 "the purge leaves no program"
net_check "install the package where nothing was loaded" on_node dpkg -i /packages/new.deb
net_check "purge the package without rights, as in a container of CI" on_node setpriv --bounding-set=-sys_admin,-net_admin \
	--inh-caps=-sys_admin,-net_admin dpkg -P bulkhead
rm -rf "$root/test"
net_check "the purge leaves no file" diff "$NET_TMP/before" <(files | grep -vE '^./policies(/|$)')
net_end
