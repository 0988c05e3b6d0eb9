# SPDX-License-Identifier: GPL-2.0-only
# `make help` lists the targets. V=1 shows the commands, O=DIR builds elsewhere.

O       ?= build
V       ?= 0
CC      := gcc
CLANG   ?= clang
BPFTOOL ?= $(or $(shell command -v bpftool),/usr/sbin/bpftool)
PREFIX  ?= /usr/local

CFLAGS  ?= -O2 -g
# The tests' builds stop at a warning (WERROR=1); a user's newer compiler may warn of more.
WARN    := -Wall -Wextra -Werror$(if $(filter 1,$(WERROR)),,=implicit-function-declaration)
# Hardening, of every build. CET and branch protection where the processor has them; the BPF programs need none.
MACHINE := $(shell $(CC) -dumpmachine 2>/dev/null)
HARDEN  := -fPIE -fstack-protector-strong -fstack-clash-protection -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 \
	$(if $(filter x86_64-%,$(MACHINE)),-fcf-protection=full) $(if $(filter aarch64-%,$(MACHINE)),-mbranch-protection=standard)
LINK_HARDEN := -pie -Wl,-z,relro,-z,now,-z,noexecstack
ALL_CFLAGS = $(CFLAGS) $(HARDEN) -std=c11 -D_GNU_SOURCE $(WARN) -I. -Iuser -I$(O)/gen
# libbpf's name of the processor that the programs are for
BPF_ARCH = -D__TARGET_ARCH_$(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(firstword $(subst -, ,$(MACHINE)))))
# What is compiled does not depend on where: the command knows its programs by their bytes.
BPF_CFLAGS = -O2 -g -fdebug-compilation-dir=. -target bpf -mcpu=v3 -std=gnu11 $(BPF_ARCH) $(WARN) -I. -Ikern -I/usr/include/$(shell gcc -print-multiarch)
LIBS    := -lxdp -lbpf -lelf -lz -lmnl -lnetfilter_conntrack -lyaml -linih -ljson-c -lxxhash -lzstd -lsodium
DEPFLAGS = -MMD -MP -MF $@.d

# user/: one static library a room, linked in the order in which they may call.
ROOMS := cmd cluster api cni node compile policy input model
ROOM_LIBS := $(ROOMS:%=$(O)/lib%.a)
room_objs = $(patsubst %.c,$(O)/%.o,$(sort $(wildcard user/$(1)/*.c user/$(1)/*/*.c user/$(1)/*/*/*.c)))

BPF   := $(patsubst kern/%.bpf.c,%,$(sort $(wildcard kern/*.bpf.c)))
SKELS := $(BPF:%=$(O)/gen/%.skel.h)
GEN   := $(SKELS) $(O)/gen/build_id.h $(O)/gen/version.h $(O)/gen/graph_html.h

# selftests/: every <area>_<case>.c is a test, or a build error. `check` runs the scripts too,
# but for those that need a Kubernetes: `check-kube`, `check-cluster` and `check-e2e` build one.
TEST_SRCS := $(sort $(filter-out selftests/fuzz_%,$(wildcard selftests/*.c)))
# What takes longest is begun first, by the clock, of the scripts and of the programs: many of these wait for most of
# their time, and leave the processors to others. The last tests are short ones.
LONGER    := $(patsubst %,$(O)/selftests/%,diff_sequences diff_table diff_delta unit_budget packet_rows diff_policy diff_packets)
TESTS     := $(LONGER) $(filter-out $(LONGER),$(TEST_SRCS:%.c=$(O)/%))
QUICK     := $(filter $(O)/selftests/unit_%,$(TESTS))
LONGEST   := $(patsubst %,selftests/%.sh,kernel_6.1 net_engine_many tree_lint net_upgrade net_engine_silent net_cni \
	net_cni_killed net_gateway net_errors net_engine_late net_share net_engine_offender net_follow_denials net_follow_networks net_service spec_packets \
	net_engine_lease net_engine_restored net_delta_bridge net_names_conformance net_service_ways net_delta_policy \
	net_follow_newcomers net_readers net_reset net_service_masked net_service_changes net_delta_sandbox net_connections_grow \
	net_first cmd_inputs net_delta_node net_gso net_busy net_delta_own net_names_attack)
SCRIPTS   := $(filter $(wildcard selftests/*.sh),$(LONGEST)) \
	$(filter-out $(LONGEST),$(sort $(filter-out selftests/kube_% selftests/cluster_% selftests/cni_% selftests/e2e_% selftests/package_%,$(wildcard selftests/*.sh))))
CNI       := $(sort $(wildcard selftests/cni_*.sh selftests/net_cni*.sh))
KUBE      := $(sort $(wildcard selftests/kube_*.sh))
CLUSTER   := $(sort $(wildcard selftests/cluster_*.sh))
E2E       := $(sort $(wildcard selftests/e2e_*.sh))
PACKAGES  := deb boot image images arm64 krew upgrade
PACKAGE_TESTS := $(sort $(wildcard selftests/package_*.sh))
HELPERS   := $(patsubst %.c,$(O)/%,$(sort $(filter-out %.bpf.c,$(wildcard selftests/helpers/*.c))))
HELPER_SKELS := $(patsubst selftests/helpers/%.bpf.c,$(O)/gen/%.skel.h,$(wildcard selftests/helpers/*.bpf.c))
HELPER_LIB_OBJS := $(patsubst %.c,$(O)/%.o,$(sort $(wildcard selftests/helpers/lib/*.c)))
TEST_LIB_OBJS := $(patsubst %.c,$(O)/%.o,$(sort $(wildcard selftests/lib/*.c)))
FUZZERS   := $(patsubst selftests/%.c,$(O)/fuzz/%,$(sort $(wildcard selftests/fuzz_*.c)))
FUZZ_SECONDS ?= 60
FUZZ_SRCS := $(sort $(wildcard user/model/*.c user/input/*.c user/compile/*.c user/policy/*.c user/api/*.c user/cluster/objects*.c) \
	$(addprefix user/,cluster/replay.c cluster/claims.c cni/invocation.c))

Q := $(if $(filter 1,$(V)),,@)
# Nothing with V=1, where the commands tell, nor under `make -s`.
say = $(if $(filter 1,$(V))$(findstring s,$(firstword -$(MAKEFLAGS))),@:,@printf '  %-8s %s\n' $(1) $(patsubst $(O)/%,%,$@))

.DELETE_ON_ERROR:
# make keeps these files, though no rule names them. With `.SECONDARY:`, it would not make missing ones again.
.PRECIOUS: $(O)/%.o $(O)/kern/%.bpf.o $(O)/gen/%.skel.h
.PHONY: all help deps demo test prepush coverage clang check check-full soak check-quick analyze check-kernel check-kube check-cluster check-cni check-e2e tests fuzz asan bench lint man install uninstall deb image images krew chart conformance clean distclean

all: $(O)/bulkhead ## build the command

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9_.-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(O)/bulkhead: $(ROOM_LIBS)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(LINK_HARDEN) $(LDFLAGS) -o $@ -Wl,--start-group $^ -Wl,--end-group $(LIBS)

define room_rule
$(O)/lib$(1).a: $(call room_objs,$(1))
	$$(call say,AR)
	$$(Q)rm -f $$@ && ar rcs $$@ $$^
endef
$(foreach room,$(ROOMS),$(eval $(call room_rule,$(room))))

# A new kind (of peer, record, table, step) is a warning at each switch that does not name it, even beside a default.
# So is a function that files share without a prototype.
$(foreach room,$(ROOMS),$(call room_objs,$(room))): private WARN += -Wswitch-enum -Wmissing-prototypes

$(O)/%.o: %.c Makefile | $(GEN)
	$(call say,CC)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(DEPFLAGS) -c -o $@ $<

$(O)/kern/%.bpf.o: kern/%.bpf.c Makefile
	$(call say,BPF)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) $(DEPFLAGS) -c -o $@ $<

$(O)/gen/%.skel.h: $(O)/kern/%.bpf.o
	$(call say,SKEL)
	$(Q)mkdir -p $(@D) && $(BPFTOOL) gen skeleton $< name bh_$* > $@

$(O)/gen/build_id.h: $(BPF:%=$(O)/kern/%.bpf.o)
	$(call say,GEN)
	$(Q)mkdir -p $(@D) && printf '#define BUILD_ID 0x%.16sull\n' "$$(cat $^ | sha256sum)" > $@

# The only place of the version is the file VERSION.
$(O)/gen/version.h: VERSION
	$(call say,GEN)
	$(Q)mkdir -p $(@D) && printf '#define BULKHEAD_VERSION "%s"\n' "$$(cat VERSION)" > $@

# A text as a C string, line by line.
$(O)/gen/%_html.h: user/cmd/%.html
	$(call say,GEN)
	$(Q)mkdir -p $(@D) && sed 's/\\/\\\\/g; s/"/\\"/g; s/.*/"&\\n"/' $< > $@

$(O)/selftests/helpers/%.bpf.o: selftests/helpers/%.bpf.c Makefile
	$(call say,BPF)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) $(DEPFLAGS) -c -o $@ $<

$(HELPER_SKELS): $(O)/gen/%.skel.h: $(O)/selftests/helpers/%.bpf.o
	$(call say,SKEL)
	$(Q)mkdir -p $(@D) && $(BPFTOOL) gen skeleton $< name $* > $@

$(HELPERS:%=%.o) $(O)/selftests/lib/packet_node.o: | $(HELPER_SKELS)

tests: $(TESTS) $(HELPERS) ## build the tests without running them

$(O)/selftests/%: $(O)/selftests/%.o $(TEST_LIB_OBJS) $(ROOM_LIBS)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(LINK_HARDEN) $(LDFLAGS) -o $@ $(filter %.o,$^) \
		-Wl,--start-group $(filter-out %libcmd.a,$(ROOM_LIBS)) -Wl,--end-group -lcmocka $(LIBS)

# Ends the client's waits at once.
$(O)/selftests/unit_api: private LDFLAGS += -Wl,--wrap=api_timer_set

# Counts the passes of a compile.
$(O)/selftests/unit_budget: private LDFLAGS += -Wl,--wrap=budgets_apply

# Stands for the node's policy.
$(O)/selftests/unit_resting: private LDFLAGS += -Wl,--wrap=node_open -Wl,--wrap=cleanup_handle -Wl,--wrap=left_is_in_policy

# The packet tests that share a node are one test.
ROW_OBJS := $(patsubst %.c,$(O)/%.o,$(sort $(wildcard selftests/rows/*.c)))
$(O)/selftests/packet_rows: $(ROW_OBJS)

# By themselves: the demo needs them where no test library is installed.
$(filter-out %/enter %/quarantine,$(HELPERS)): $(O)/selftests/helpers/%: $(O)/selftests/helpers/%.o $(HELPER_LIB_OBJS)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(LINK_HARDEN) $(LDFLAGS) -o $@ $^ -lbpf -ljson-c

# Loads as a follower does.
$(O)/selftests/helpers/quarantine: $(O)/selftests/helpers/quarantine.o $(HELPER_LIB_OBJS) $(ROOM_LIBS)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(LINK_HARDEN) $(LDFLAGS) -o $@ $(filter %.o,$^) \
		-Wl,--start-group $(filter-out %libcmd.a,$(ROOM_LIBS)) -Wl,--end-group $(LIBS)

# Starts thousands of times: the dynamic linker has nothing to do.
$(O)/selftests/helpers/enter: $(O)/selftests/helpers/enter.o
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) -static $(LDFLAGS) -o $@ $<

# The benchmark, its own BPF programs, and the generator of clusters.
BENCH_PARTS := compile packet steady wire uplink load interfaces names delta cni cluster recovery newcomers
ONLY   ?= $(BENCH_PARTS)
ROUNDS ?= 7
BENCH_BPF  := $(patsubst tools/bench/%.bpf.c,%,$(sort $(wildcard tools/bench/*.bpf.c)))
BENCH_SKELS := $(BENCH_BPF:%=$(O)/gen/bench_%.skel.h)
BENCH_SRCS := $(sort $(filter-out %.bpf.c,$(wildcard tools/bench/*.c)))
BENCH_OBJS := $(BENCH_SRCS:%.c=$(O)/%.o)

$(O)/tools/bench/%.bpf.o: tools/bench/%.bpf.c Makefile
	$(call say,BPF)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) $(DEPFLAGS) -c -o $@ $<

$(O)/gen/bench_%.skel.h: $(O)/tools/bench/%.bpf.o
	$(call say,SKEL)
	$(Q)mkdir -p $(@D) && $(BPFTOOL) gen skeleton $< name bench_$* > $@

$(BENCH_OBJS): | $(BENCH_SKELS)

$(O)/workload: $(patsubst %.c,$(O)/%.o,$(sort $(wildcard tools/workload/*.c)))
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(LINK_HARDEN) $(LDFLAGS) -o $@ $^

$(O)/bench/bench: $(BENCH_OBJS) $(ROOM_LIBS)
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(LINK_HARDEN) $(LDFLAGS) -o $@ $(BENCH_OBJS) \
		-Wl,--start-group $(filter-out %libcmd.a,$(ROOM_LIBS)) -Wl,--end-group $(LIBS) -lm

$(O)/bench/followers: $(patsubst %.c,$(O)/%.o,$(sort $(wildcard tools/bench/cluster/*.c))) $(ROOM_LIBS)
	$(call say,LINK)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(LINK_HARDEN) $(LDFLAGS) -o $@ $(filter %.o,$^) \
		-Wl,--start-group $(filter-out %libcmd.a,$(ROOM_LIBS)) -Wl,--end-group $(LIBS) -lcurl -lpthread

BENCH := $(O)/workload $(O)/bench/bench $(O)/bench/followers

# glibc's obstack macros align by an offset from a null pointer, which clang takes for an overflow.
FUZZ_FLAGS := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined \
	-fno-sanitize=pointer-overflow -fno-sanitize-recover=all
$(O)/fuzz/obj/%.o: %.c Makefile
	$(call say,CLANG)
	$(Q)mkdir -p $(@D) && $(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -std=c11 -D_GNU_SOURCE \
		$(WARN) -I. -Iuser $(DEPFLAGS) -c -o $@ $<

$(O)/fuzz/%: $(O)/fuzz/obj/selftests/%.o $(FUZZ_SRCS:%.c=$(O)/fuzz/obj/%.o)
	$(call say,FUZZER)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ $(LIBS)

deps: ## install the Debian packages that build and tests need
	@tools/deps $@

# Dependencies come first, in a make of their own: this one has looked for bpftool already.
demo: ## NetworkPolicy on real pods, from a file to a packet
	@tools/deps demo
	@$(MAKE) --no-print-directory -j2 all $(O)/selftests/helpers/probe $(O)/selftests/helpers/enter
	@BULKHEAD=$(abspath $(O))/bulkhead tools/demo

# CHECK_SECONDS: how long each fuzzer runs in a sample.
CHECK_SECONDS ?= 3
check: ## every test, long ones by a fixed sample (root; minutes; BULKHEAD_SEED=N or random: another)
	@$(MAKE) --no-print-directory run-all FUZZ_SECONDS=$(CHECK_SECONDS)

# Random seeds are for the long runs; `check` has the same seed each day.
RANDOM_SEED = BULKHEAD_SEED=$${BULKHEAD_SEED:-random}

check-full: ## every test, whole, with a random seed, every one of the kernel's on Linux 6.1, and of the packages; and analyzers (hours)
	@tools/deps check-full
	@$(MAKE) --no-print-directory WERROR=1 clang
	@$(MAKE) --no-print-directory analyze
	@$(DEB)
	@$(RANDOM_SEED) BULKHEAD_FULL=1 TEST_SECONDS=15000 $(MAKE) --no-print-directory run-all MORE="$(PACKAGE_TESTS)"

.PHONY: run-all
run-all:
	@tools/deps check
	@$(MAKE) --no-print-directory -j2 WERROR=1 all tests fuzzers $(BENCH)
	@FUZZ_SECONDS=$(FUZZ_SECONDS) BULKHEAD=$(abspath $(O))/bulkhead \
		selftests/run $(SCRIPTS) $(MORE) $(FUZZERS) $(TESTS)

check-quick: ## the tests that need neither root nor a network
	@tools/deps check-quick
	@$(MAKE) --no-print-directory -j2 quick
	@selftests/run $(QUICK)

# SOAK: the settings of these tests.
SOAK ?= BULKHEAD_FULL=1 TEST_SECONDS=100000 FLIPS=1000 KILLS=100 CRASH=all FAULTS=all STEP=1
soak: ## the long walks, with a random seed: 1,000 flips, 100 kills, a kill and errors at every system call (hours)
	@tools/deps $@
	@$(MAKE) --no-print-directory -j2 all tests
	@$(RANDOM_SEED) $(SOAK) BULKHEAD=$(abspath $(O))/bulkhead \
		selftests/run selftests/net_flip.sh selftests/net_crash.sh \
		selftests/net_crash_endpoint.sh selftests/net_errors.sh \
		selftests/net_upgrade.sh selftests/net_grow.sh

test: ## one test by its name: make test T=net_spoof
	@[ -n "$(T)" ] || { echo 'usage: make test T=NAME, as net_spoof or unit_blob' >&2; exit 2; }
	@tools/deps $@
	@$(MAKE) --no-print-directory -j2 all $(call test_needs,$(T))
	@BULKHEAD=$(abspath $(O))/bulkhead selftests/run $(call test_file,$(T))

# A script may call any other test's program and helper.
test_file  = $(firstword $(if $(filter fuzz_%,$(1)),$(O)/fuzz/$(1)) $(wildcard selftests/$(1).sh) $(O)/selftests/$(1))
test_needs = $(if $(wildcard selftests/$(1).sh),tests,$(call test_file,$(1)))

prepush: ## what takes less than 10 s, of the files that changed since BASE (main): layout, shellcheck, subjects, unit tests
	@tools/deps $@
	@$(MAKE) --no-print-directory -j2 WERROR=1 all quick
	@tools/prepush $(O) $(BASE)

# What no test runs. -O0: no function is inlined into its callers. Killed commands leave no count.
COVERAGE_TESTS ?= $(filter-out selftests/kernel_% selftests/tree_%,$(SCRIPTS)) $(TESTS)
coverage: ## lines of user/ that tests run, by room, and the functions that no test runs (root; COVERAGE_TESTS="...")
	@tools/deps $@
	@$(MAKE) --no-print-directory -j2 O=$(O)/coverage CFLAGS='$(COVERAGE_CFLAGS)' all tests
	@find $(O)/coverage -name '*.gcda' -delete
	@-BULKHEAD=$(abspath $(O))/coverage/bulkhead selftests/run \
		$(patsubst $(O)/selftests/%,$(O)/coverage/selftests/%,$(COVERAGE_TESTS)) >$(O)/coverage/tests.log
	@tail -n 1 $(O)/coverage/tests.log
	@tools/coverage $(O)/coverage
COVERAGE_CFLAGS := -O0 -g --coverage -fprofile-update=atomic

clang: ## user/ by clang, whose warnings are others than gcc's
	@tools/deps $@
	@$(MAKE) --no-print-directory -j2 O=$(O)/clang CC=$(CLANG) CFLAGS='-O1 -g' all

# For editors: the command that compiles each file.
C_SRCS   := $(sort $(wildcard user/*/*.c user/*/*/*.c user/*/*/*/*.c selftests/*.c selftests/*/*.c selftests/helpers/lib/*.c \
	$(filter-out %.bpf.c,$(wildcard tools/bench/*.c)) tools/bench/cluster/*.c tools/workload/*.c))
BPF_SRCS := $(sort $(wildcard kern/*.bpf.c tools/bench/*.bpf.c))
compile_commands.json: Makefile | $(GEN) ## how each file is compiled, for clangd and other tools
	$(call say,GEN)
	$(Q){ comma='['; \
	each() { for file in $$1; do printf '%s\n{"directory": "%s", "file": "%s", "command": "%s -c %s"}' \
		"$$comma" "$(CURDIR)" "$$file" "$$2" "$$file"; comma=,; done; }; \
	each "$(C_SRCS)" "$(CC) $(ALL_CFLAGS)"; each "$(BPF_SRCS)" "$(CLANG) $(BPF_CFLAGS)"; printf '\n]\n'; } >$@

check-kernel: ## the tests that need a kernel, on Debian's 6.1 in emulated machines (KERNEL_TESTS="..." of them)
	@tools/deps check-kernel
	@$(MAKE) --no-print-directory -j2 all tests
	@BULKHEAD_FULL=1 TEST_SECONDS=15000 BULKHEAD=$(abspath $(O))/bulkhead selftests/run selftests/kernel_6.1.sh

check-cni: ## the CNI plugin: podman, containerd, and the real kubelet, built the first time (10 minutes)
	@tools/deps check-cni
	@$(MAKE) --no-print-directory -j2 all $(HELPERS)
	@tools/kube build etcd kubectl kube-apiserver kubelet
	@JOBS=1 BULKHEAD=$(abspath $(O))/bulkhead selftests/run $(CNI)

check-deb: ## the Debian package, installed, run, upgraded and purged in a clean Debian 12
check-boot: ## three starts of a node with the Debian package, in an emulated machine
check-image: ## the container image, run as a DaemonSet runs it
check-images: ## the images of amd64 and arm64 as one list
check-krew: ## the kubectl plugin, installed as krew does, in a root without libraries
check-upgrade: ## from the last release to this tree and back, beside running pods (FROM=REVISION: another)
check-arm64: ## the command for arm64, by an emulated processor; its programs on Debian's 6.1 for arm64 (12 minutes)
$(PACKAGES:%=check-%): check-%:
	@tools/deps $@
	@$(MAKE) --no-print-directory -j2 all $(HELPERS)
	@$(if $(filter deb boot,$*),$(DEB))
	@BULKHEAD=$(abspath $(O))/bulkhead selftests/run $(filter selftests/package_$*.sh selftests/package_$*_%,$(PACKAGE_TESTS))

check-kube: ## the tests that need a real Kubernetes, which is built the first time (10 minutes)
	@tools/deps check-kube
	@$(MAKE) --no-print-directory -j2 all $(HELPERS)
	@tools/kube build etcd kubectl kube-apiserver kube-proxy
	@BULKHEAD=$(abspath $(O))/bulkhead selftests/run $(KUBE)

check-cluster: ## an engine and followers beside a real API server, built the first time (10 minutes)
	@tools/deps $@
	@$(MAKE) --no-print-directory -j2 all $(HELPERS)
	@tools/kube build etcd kubectl kube-apiserver kube-proxy kube-controller-manager kube-scheduler
	@BULKHEAD=$(abspath $(O))/bulkhead selftests/run $(CLUSTER)

check-e2e: ## upstream's own tests and tools/deploy on whole clusters, built the first time (an hour)
	@tools/deps check-e2e
	@$(MAKE) --no-print-directory -j2 all $(HELPERS)
	@tools/kube build etcd kubectl kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet \
		agnhost e2e.test docker-registry
	@JOBS=1 BULKHEAD=$(abspath $(O))/bulkhead selftests/run $(E2E)

conformance: ## one report of upstream's NetworkPolicy specs and the generated cases: O/conformance (CYCLONUS=FILE: and its own)
	@tools/deps $@
	@$(MAKE) --no-print-directory -j2 all $(HELPERS) $(O)/selftests/spec_cases
	@tools/kube build etcd kubectl kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet agnhost e2e.test
	@BULKHEAD=$(abspath $(O))/bulkhead tools/conformance $(O)/conformance

.PHONY: quick fuzzers
quick: $(QUICK) ## build the quick tests without running them
fuzzers: $(FUZZERS) ## build the fuzzers without running them

fuzz: ## fuzz each parser for FUZZ_SECONDS (60), with a random seed
	@tools/deps $@
	@$(MAKE) --no-print-directory -j2 fuzzers
	@$(RANDOM_SEED) FUZZ_SECONDS=$(FUZZ_SECONDS) selftests/run $(FUZZERS)

asan: ## the quick tests under ASan and UBSan
	@$(MAKE) --no-print-directory O=$(O)/asan check-quick \
		CFLAGS='-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all'

bench: ## speed and scale (ONLY=compile|...: that part, ROUNDS=7)
	@tools/deps bench$(if $(filter cluster recovery newcomers,$(ONLY)),-cluster)
	@$(MAKE) --no-print-directory all $(BENCH) $(HELPERS)
	@for part in $(ONLY); do \
		if [ -x tools/bench/$$part.sh ]; then ROUNDS=$(ROUNDS) tools/bench/$$part.sh $(O); else ROUNDS=$(ROUNDS) $(O)/bench/bench $$part $(O); fi || exit; \
	done

analyze: ## clang's analyzer, gcc -fanalyzer and cppcheck over user/ and selftests/, sparse over kern/ (minutes)
	@tools/deps $@
	@tools/analyze $(O)/analyze

lint: ## clang-format, shellcheck and rules of this tree (FIX=1 lays out the files)
	@tools/deps lint
	@tools/lint

MAN := $(O)/man/bulkhead.8 $(O)/man/bulkhead.ini.5 $(O)/man/bulkhead-maps.7 $(O)/man/kubectl-bulkhead.1
man: $(MAN) ## make the manual pages
$(MAN) &: $(O)/bulkhead tools/man/make $(wildcard tools/man/*.roff) $(wildcard maps/*.h)
	$(call say,MAN)
	$(Q)tools/man/make $(O)/bulkhead $(O)/man

UNITDIR ?= $(PREFIX)/lib/systemd/system
UNITS   := $(patsubst tools/package/systemd/%,%,$(wildcard tools/package/systemd/bulkhead-*))
# zsh looks in site-functions of /usr/local, and leaves those of /usr to its own package.
ZSH_COMPLETIONS := $(PREFIX)/share/zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)
BASH_COMPLETIONS := $(PREFIX)/share/bash-completion/completions
FISH_COMPLETIONS := $(PREFIX)/share/fish/vendor_completions.d
# All users may read what is installed, whatever root's umask is. A user's PATH has no sbin on Debian, so bin has a link: trace,
# lint and diff need no root.
install: all man ## install command, manual pages, completions and systemd units (PREFIX, UNITDIR, DESTDIR)
	install -D -m 755 $(O)/bulkhead $(DESTDIR)$(PREFIX)/sbin/bulkhead
	umask 022 && mkdir -p $(DESTDIR)$(PREFIX)/bin && ln -sfn ../sbin/bulkhead $(DESTDIR)$(PREFIX)/bin/bulkhead
	ln -sfn bulkhead $(DESTDIR)$(PREFIX)/bin/kubectl-bulkhead
	for page in $(MAN); do install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man$${page##*.} $$page || exit; done
	umask 022 && mkdir -p $(DESTDIR)$(BASH_COMPLETIONS) $(DESTDIR)$(FISH_COMPLETIONS) $(DESTDIR)$(ZSH_COMPLETIONS) $(DESTDIR)$(UNITDIR)
	umask 022 && $(O)/bulkhead completion bash > $(DESTDIR)$(BASH_COMPLETIONS)/bulkhead
	umask 022 && $(O)/bulkhead completion fish > $(DESTDIR)$(FISH_COMPLETIONS)/bulkhead.fish
	umask 022 && $(O)/bulkhead completion zsh > $(DESTDIR)$(ZSH_COMPLETIONS)/_bulkhead
	umask 022 && for unit in $(UNITS); do \
		sed 's|@sbin@|$(PREFIX)/sbin|' tools/package/systemd/$$unit > $(DESTDIR)$(UNITDIR)/$$unit || exit; done
	install -D -m 644 tools/package/systemd/bulkhead.conf $(DESTDIR)$(PREFIX)/lib/modules-load.d/bulkhead.conf

# Leaves what is active: after it no command is there to change or unload that.
uninstall: ## remove what install wrote (after: bulkhead unload, systemctl disable bulkhead-restore)
	rm -f $(addprefix $(DESTDIR),$(addprefix $(PREFIX)/,sbin/bulkhead bin/bulkhead bin/kubectl-bulkhead \
		$(foreach page,$(notdir $(MAN)),share/man/man$(subst .,,$(suffix $(page)))/$(page)) lib/modules-load.d/bulkhead.conf) \
		$(BASH_COMPLETIONS)/bulkhead $(FISH_COMPLETIONS)/bulkhead.fish $(ZSH_COMPLETIONS)/_bulkhead $(addprefix $(UNITDIR)/,$(UNITS)))

# What it says is of interest if it fails.
DEB = mkdir -p $(O) && { tools/package/deb $(O)/deb >$(O)/deb.log 2>&1 || { cat $(O)/deb.log; false; }; }
deb: ## build a Debian package of this tree, in O/deb
	@tools/deps deb
	@tools/package/deb $(O)/deb

image: ## build a container image, bulkhead:VERSION, with podman
	@tools/deps image
	@$(MAKE) --no-print-directory -j2 all
	@tools/package/image $(O)/bulkhead $(O)/image

images: ## as image, for amd64 and arm64, as one list: O/image/bulkhead-all.tar
	@tools/deps images
	@$(MAKE) --no-print-directory -j2 all
	@tools/cross $(O) all
	@ARM64_COMMAND=$(O)/arm64/bulkhead ARM64_ROOT=$(abspath $(O))/root/arm64 tools/package/image $(O)/bulkhead $(O)/image

krew: ## the kubectl plugin for krew, for amd64 and arm64, in O/krew (URL=https://... has the archives)
	@[ -n "$(URL)" ] || { echo 'usage: make krew URL=https://HOST/PATH, from where the archives are to be fetched' >&2; exit 2; }
	@tools/deps krew
	@$(MAKE) --no-print-directory -j2 all
	@tools/cross $(O) all
	@ARM64_COMMAND=$(O)/arm64/bulkhead ARM64_ROOT=$(abspath $(O))/root/arm64 tools/package/krew $(O)/bulkhead $(O)/krew "$(URL)"

chart: ## make a Helm chart of tools/deploy, in O/chart
	@tools/chart $(O)/chart

clean: ## remove what was built, but for Kubernetes (see check-kube) and clean roots
	[ ! -d $(O) ] || find $(O) -mindepth 1 -maxdepth 1 ! -name kube ! -name root -exec rm -rf {} +

distclean: ## remove all that was built
	rm -rf $(O)

-include $(shell find $(O) \( -path $(O)/kube -o -path $(O)/root \) -prune -o -name '*.d' -print 2>/dev/null)
