// SPDX-License-Identifier: GPL-2.0-only
/* clang-format off */
/*
 * Programs that are not Bulkhead's and must be left alone. Each drops every packet, so that its
 * effect shows, except the last five.
 *
 *   foreign tcx INTERFACE PIN        at ingress, before the links that are there; pins its link
 *   foreign whole INTERFACE PIN      as tcx, but drops only packets in one piece, headers and all
 *   foreign tcx-first INTERFACE PIN  as tcx, but it passes every packet, so that no other link sees it
 *   foreign tcx-pass INTERFACE PIN   behind the links that are there; passes every packet, so that
 *                                    no filter of a clsact qdisc sees it
 *   foreign clsact INTERFACE         a filter at ingress, in a clsact qdisc that is there
 *   foreign xdp INTERFACE            generic XDP, past libxdp
 *   foreign xdp-pass INTERFACE       the same, but it passes every packet
 *   foreign index INTERFACE          a filter at egress, in a clsact qdisc that is there: writes
 *                                    the mark of kern/audit_mark.h into tc_index
 *   foreign bring INTERFACE TO       a filter at ingress, in a clsact qdisc that is there: every
 *                                    packet comes in by the interface TO instead
 *   foreign send INTERFACE TO        the same at egress: every packet goes out by TO
 */
/* clang-format on */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "kern/audit_mark.h"
#include "maps/counter.h"

#define ATTACH_TCX_INGRESS 46 /* of linux/bpf.h since 6.6 */
#define LINK_BEFORE (1u << 3)
#define TC_NEXT -1
#define TC_PASS 0
#define TC_DROP 2

static int load(enum bpf_prog_type type, int verdict)
{
	const struct bpf_insn all_alike[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = verdict},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return bpf_prog_load(type, "foreign", "GPL", all_alike, 2, NULL);
}

#define SKB(field) offsetof(struct __sk_buff, field)
#define LOAD(register, at)                                                                    \
	{                                                                                     \
		.code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = register, .src_reg = BPF_REG_1, \
		.off = at                                                                     \
	}

/* The data_end - data < len case: the program leaves packets alone that are not linear. */
static int load_whole(void)
{
	const struct bpf_insn whole[] = {
		LOAD(BPF_REG_2, SKB(data)),
		LOAD(BPF_REG_3, SKB(data_end)),
		LOAD(BPF_REG_4, SKB(len)),
		{.code = BPF_ALU64 | BPF_SUB | BPF_X, .dst_reg = BPF_REG_3, .src_reg = BPF_REG_2},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = TC_NEXT},
		{.code = BPF_JMP | BPF_JLT | BPF_X,
		 .dst_reg = BPF_REG_3,
		 .src_reg = BPF_REG_4,
		 .off = 1},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = TC_DROP},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "whole", "GPL", whole,
			     sizeof(whole) / sizeof(*whole), NULL);
}

static int load_index(void)
{
	/* Before 6.4 an immediate value may not be stored there. */
	const struct bpf_insn index[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K,
		 .dst_reg = BPF_REG_2,
		 .imm = AUDIT_HANDED_ON | BH_DROP_EGRESS},
		{.code = BPF_STX | BPF_MEM | BPF_W,
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_REG_2,
		 .off = SKB(tc_index)},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = TC_NEXT},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "index", "GPL", index,
			     sizeof(index) / sizeof(*index), NULL);
}

/* @flags: BPF_F_INGRESS or 0. */
static int load_redirect(int ifindex, int flags)
{
	const struct bpf_insn redirect[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1, .imm = ifindex},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = flags},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "redirect", "GPL", redirect,
			     sizeof(redirect) / sizeof(*redirect), NULL);
}

static int attach_tcx(int program, int ifindex, const char *pin, int flags)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .flags = flags);
	int link = bpf_link_create(program, ifindex, ATTACH_TCX_INGRESS, &options);

	return link < 0 ? link : bpf_obj_pin(link, pin);
}

static int attach_clsact(int ifindex, int program, enum bpf_tc_attach_point point)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = point);
	LIBBPF_OPTS(bpf_tc_opts, options, .prog_fd = program);

	return bpf_tc_attach(&hook, &options);
}

static int attach_xdp(int ifindex, int verdict)
{
	return bpf_xdp_attach(ifindex, load(BPF_PROG_TYPE_XDP, verdict), XDP_FLAGS_SKB_MODE, NULL);
}

int main(int argc, char **argv)
{
	int ifindex = argc > 2 ? if_nametoindex(argv[2]) : 0, error;

	if (ifindex && argc == 4 && !strcmp(argv[1], "tcx"))
		error = attach_tcx(load(BPF_PROG_TYPE_SCHED_CLS, TC_DROP), ifindex, argv[3],
				   LINK_BEFORE);
	else if (ifindex && argc == 4 && !strcmp(argv[1], "tcx-first"))
		error = attach_tcx(load(BPF_PROG_TYPE_SCHED_CLS, TC_PASS), ifindex, argv[3],
				   LINK_BEFORE);
	else if (ifindex && argc == 4 && !strcmp(argv[1], "tcx-pass"))
		error = attach_tcx(load(BPF_PROG_TYPE_SCHED_CLS, TC_PASS), ifindex, argv[3], 0);
	else if (ifindex && argc == 4 && !strcmp(argv[1], "whole"))
		error = attach_tcx(load_whole(), ifindex, argv[3], LINK_BEFORE);
	else if (ifindex && argc == 3 && !strcmp(argv[1], "clsact"))
		error = attach_clsact(ifindex, load(BPF_PROG_TYPE_SCHED_CLS, TC_DROP),
				      BPF_TC_INGRESS);
	else if (ifindex && argc == 3 && !strcmp(argv[1], "index"))
		error = attach_clsact(ifindex, load_index(), BPF_TC_EGRESS);
	else if (ifindex && argc == 4 && !strcmp(argv[1], "bring"))
		error = attach_clsact(ifindex,
				      load_redirect(if_nametoindex(argv[3]), BPF_F_INGRESS),
				      BPF_TC_INGRESS);
	else if (ifindex && argc == 4 && !strcmp(argv[1], "send"))
		error = attach_clsact(ifindex, load_redirect(if_nametoindex(argv[3]), 0),
				      BPF_TC_EGRESS);
	else if (ifindex && argc == 3 && !strcmp(argv[1], "xdp"))
		error = attach_xdp(ifindex, XDP_DROP);
	else if (ifindex && argc == 3 && !strcmp(argv[1], "xdp-pass"))
		error = attach_xdp(ifindex, XDP_PASS);
	else
		return fprintf(stderr, "usage: foreign "
				       "tcx|tcx-pass|whole|clsact|index|bring|send|xdp|xdp-pass "
				       "INTERFACE [PIN|TO]\n"),
		       2;
	if (error)
		perror(argv[1]);
	return !!error;
}
