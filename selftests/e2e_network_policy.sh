#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Upstream's own NetworkPolicy suite, unchanged, on a cluster of two workers: scheduler, controllers,
# kubelets, kube-proxies and containerd are the real ones; Bulkhead is the CNI plugin, the engine and the
# followers. One row for each spec of the suite. Three need SCTP sockets: they run here if the kernel has such
# sockets, and in e2e_sctp.sh.
#
#   FOCUS=...    the specs that run, a regular expression; NetworkPolicy by default
#   E2E_PARTS=5  specs that run at a time
#   KUBE_KEEP=DIR keeps every log, and the suite's own reports

# shellcheck source=selftests/lib/e2e.sh
. "$(dirname "$0")/lib/e2e.sh"
[ -n "${KUBE_CONFIGS:-}" ] || e2e_beside
e2e_begin

SKIP=
[ -e /proc/net/sctp ] || SKIP=Feature:SCTPConnectivity
e2e_cluster
e2e_specs "${FOCUS:-NetworkPolicy}" "$SKIP" | e2e_run "${E2E_PARTS:-5}"
e2e_rows
net_end
