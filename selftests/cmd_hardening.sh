#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What SECURITY.md says of the build and of the confinement of pods and units.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"

headers=$(readelf -hlW "$BULKHEAD") dynamic=$(readelf -dW "$BULKHEAD")
# shellcheck disable=SC2034 # is used by eval
symbols=$(readelf --dyn-syms -W "$BULKHEAD")
# shellcheck disable=SC2034
object=$(dirname "$BULKHEAD")/user/cmd/main.o
check "the command is position-independent" eval 'grep -q "Type: *DYN" <<<"$headers" && grep -q "Flags:.*PIE" <<<"$dynamic"'
check "the tables of the command are read-only once it runs" grep -q GNU_RELRO <<<"$headers"
check "all symbols are bound at the start" grep -q BIND_NOW <<<"$dynamic"
check "the stack is not executable" grep -qE "GNU_STACK.* RW +0x" <<<"$headers"
check "functions check their stack" grep -q __stack_chk_fail <<<"$symbols"
check "the C library checks lengths" grep -qE "__(snprintf|vsnprintf|memcpy|read|fprintf)_chk" <<<"$symbols"
case $(readelf -h "$BULKHEAD") in
*X86-64*) check "objects have CET's marks" eval 'readelf -n "$object" | grep -q "IBT, SHSTK"' ;;
*AArch64*) check "objects have branch protection's marks" eval 'readelf -n "$object" | grep -q "BTI, PAC"' ;;
*) check_skip "objects have the processor's marks" "no marks for this processor" ;;
esac

deploy=$top/tools/deploy
count() { # TEXT: lines of the manifests of pods
	cat "$deploy"/base/{engine,follower}.yaml "$deploy/remove.yaml" | grep -cE -- "$1"
}
contexts=$(count '^ +securityContext:( &rights)?$') aliases=$(count 'securityContext: \*rights')
check "each container has a security context" is $((contexts + aliases)) "$(count '^ +image:')"
check "each drops all capabilities" is "$(count 'capabilities: \{drop: \[ALL\]')" "$contexts"
check "each has the runtime's seccomp profile" is "$(count 'seccompProfile: \{type: RuntimeDefault\}')" "$contexts"
check "each has a read-only root" is "$(count 'readOnlyRootFilesystem: true')" "$contexts"
check "no container is privileged" is "$(count 'privileged: true')" 0
allowed="SYS_ADMIN, NET_ADMIN|DAC_OVERRIDE"
check "no container has another capability than SECURITY.md says" is \
	"$(count "add: \[") $(count "add: \[($allowed)\]")" "$(count "add: \[") $(count "add: \[")"
check "the engine has no capability and is not root" eval \
	'grep -q "capabilities: {drop: \[ALL\]}" "$deploy/base/engine.yaml" && grep -q "runAsNonRoot: true" "$deploy/base/engine.yaml"'
for unit in restore metrics; do
	file=$top/tools/package/systemd/bulkhead-$unit.service
	for line in NoNewPrivileges=yes ProtectSystem=strict MemoryDenyWriteExecute=yes SystemCallFilter=@system-service \
		SystemCallArchitectures=native RestrictSUIDSGID=yes; do
		check "bulkhead-$unit.service has $line" grep -qx "$line" "$file"
	done
	capabilities=$(sed -n 's/^CapabilityBoundingSet=//p' "$file" | sed 's/CAP_//g; s/ /, /g')
	check "bulkhead-$unit.service has the capabilities that SECURITY.md says" \
		grep -qF "| \`bulkhead-$unit.service\` | $capabilities |" "$top/SECURITY.md"
done
check "nothing is installed setuid" eval '! grep -rnE "install .*-m ?[24]7|chmod .*[ug]\+s|setcap" "$top/Makefile" "$top/tools/package"'
check_end
