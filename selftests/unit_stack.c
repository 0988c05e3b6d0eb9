// SPDX-License-Identifier: GPL-2.0-only
/*
 * Computes the programs' stack as Linux 6.1 does: along each chain of calls and callbacks, frames
 * rounded up to 32 bytes add up to at most 512 bytes, in at most eight frames.
 */
#include <elf.h>
#include <gelf.h>
#include <libelf.h>
#include <linux/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tc.skel.h"
#include "xdp.skel.h"

#define STACK_MAX 512
#define FRAMES_MAX 8
#define FRAME_UNIT 32
#define FUNCTIONS 256
#define SECTIONS 64

struct function {
	const char *name;
	size_t section;
	uint64_t at, size; /* bytes, in its section */
	uint32_t depth; /* of its own frame */
	uint32_t sum, frames; /* of the deepest chain from here on; 0: not computed yet */
	const struct function *next; /* on that chain */
};

struct object {
	Elf *elf;
	Elf_Data *symbols;
	size_t n_symbols, names;
	Elf_Data *code[SECTIONS], *relocations[SECTIONS];
	struct function functions[FUNCTIONS];
	size_t n;
};

static struct function *function_at(struct object *o, size_t section, uint64_t at)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->functions[i].section == section && o->functions[i].at == at)
			return &o->functions[i];
	return NULL;
}

static const struct bpf_insn *code_of(const struct object *o, const struct function *f)
{
	return (const void *)((const char *)o->code[f->section]->d_buf + f->at);
}

/* The symbol that an instruction refers to. */
static bool relocation_at(const struct object *o, size_t section, uint64_t at, GElf_Sym *symbol)
{
	Elf_Data *data = o->relocations[section];
	GElf_Rel rel;

	for (int i = 0; data && gelf_getrel(data, i, &rel); i++)
		if (rel.r_offset == at)
			return gelf_getsym(o->symbols, GELF_R_SYM(rel.r_info), symbol);
	return false;
}

/* The function that an instruction calls or passes as a callback, or NULL. */
static struct function *called(struct object *o, const struct function *f, size_t i)
{
	const struct bpf_insn *insn = code_of(o, f) + i;
	const bool calls = insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL;
	const bool points = insn->code == (BPF_LD | BPF_IMM | BPF_DW);
	const uint64_t at = f->at + i * sizeof(*insn);
	GElf_Sym symbol;

	if (!calls && !points)
		return NULL;
	if (relocation_at(o, f->section, at, &symbol)) {
		if (GELF_ST_TYPE(symbol.st_info) == STT_SECTION && o->code[symbol.st_shndx])
			return function_at(o, symbol.st_shndx,
					   calls ? (insn->imm + 1) * sizeof(*insn)
						 : (uint32_t)insn->imm);
		return GELF_ST_TYPE(symbol.st_info) == STT_FUNC
			       ? function_at(o, symbol.st_shndx, symbol.st_value)
			       : NULL;
	}
	return calls ? function_at(o, f->section, at + (insn->imm + 1) * sizeof(*insn)) : NULL;
}

static void deepen(struct function *f, int32_t offset)
{
	if (offset < 0 && (uint32_t)-offset > f->depth)
		f->depth = -offset;
}

/* The most bytes below its frame pointer, or a copy of it, that a function accesses. */
static void measure(const struct object *o, struct function *f)
{
	const struct bpf_insn *insn = code_of(o, f);
	bool copy[16] = {};

	for (size_t i = 0; i < f->size / sizeof(*insn); i++) {
		const __u8 class = BPF_CLASS(insn[i].code);

		if (class == BPF_LDX && insn[i].src_reg == BPF_REG_10)
			deepen(f, insn[i].off);
		if ((class == BPF_ST || class == BPF_STX) && insn[i].dst_reg == BPF_REG_10)
			deepen(f, insn[i].off);
		if (insn[i].code == (BPF_ALU64 | BPF_ADD | BPF_K) && copy[insn[i].dst_reg])
			deepen(f, insn[i].imm);
		else if (class == BPF_LDX || class == BPF_ALU || class == BPF_ALU64)
			copy[insn[i].dst_reg] = insn[i].code == (BPF_ALU64 | BPF_MOV | BPF_X) &&
						insn[i].src_reg == BPF_REG_10;
		i += insn[i].code == (BPF_LD | BPF_IMM | BPF_DW);
	}
}

static uint32_t frame(const struct function *f)
{
	const uint32_t depth = f->depth ? f->depth : 1;

	return (depth + FRAME_UNIT - 1) / FRAME_UNIT * FRAME_UNIT;
}

/* There is no recursion: the verifier would refuse the programs. */
static void sum_up(struct object *o, struct function *f)
{
	uint32_t sum = 0, frames = 0;

	if (f->sum)
		return;
	for (size_t i = 0; i < f->size / sizeof(struct bpf_insn); i++) {
		struct function *to = called(o, f, i);

		if (!to)
			continue;
		sum_up(o, to);
		if (to->sum > sum) {
			sum = to->sum;
			f->next = to;
		}
		if (to->frames > frames)
			frames = to->frames;
	}
	f->sum = sum + frame(f);
	f->frames = frames + 1;
}

static void read_sections(struct object *o)
{
	size_t names;

	assert_int_equal(elf_getshdrstrndx(o->elf, &names), 0);
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(o->elf, scn));) {
		GElf_Shdr header;

		assert_non_null(gelf_getshdr(scn, &header));
		assert_true(elf_ndxscn(scn) < SECTIONS && header.sh_info < SECTIONS * 1024);
		if (header.sh_type == SHT_SYMTAB) {
			o->symbols = elf_getdata(scn, NULL);
			o->n_symbols = header.sh_size / header.sh_entsize;
			o->names = header.sh_link;
		} else if (header.sh_type == SHT_PROGBITS && header.sh_flags & SHF_EXECINSTR) {
			o->code[elf_ndxscn(scn)] = elf_getdata(scn, NULL);
		} else if (header.sh_type == SHT_REL && header.sh_info < SECTIONS) {
			o->relocations[header.sh_info] = elf_getdata(scn, NULL);
		}
	}
}

static void read_functions(struct object *o)
{
	GElf_Sym symbol;

	for (size_t i = 0; i < o->n_symbols && gelf_getsym(o->symbols, i, &symbol); i++) {
		struct function *f = &o->functions[o->n];

		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
			continue;
		assert_true(o->n < FUNCTIONS);
		*f = (struct function){
			.name = elf_strptr(o->elf, o->names, symbol.st_name),
			.section = symbol.st_shndx,
			.at = symbol.st_value,
			.size = symbol.st_size,
		};
		o->n++;
	}
	for (size_t i = 0; i < o->n; i++)
		measure(o, &o->functions[i]);
}

/* Programs have a section of their own. */
static bool is_entry(const struct object *o, const struct function *f)
{
	Elf_Scn *scn = elf_getscn(o->elf, f->section);
	GElf_Shdr header;
	size_t names;

	assert_int_equal(elf_getshdrstrndx(o->elf, &names), 0);
	assert_non_null(gelf_getshdr(scn, &header));
	return strcmp(elf_strptr(o->elf, names, header.sh_name), ".text") != 0;
}

static void check_object(const void *bytes, size_t size, size_t programs)
{
	struct object *o = calloc(1, sizeof(*o));
	size_t entries = 0, wrong = 0;

	assert_non_null(o);
	assert_int_not_equal(elf_version(EV_CURRENT), EV_NONE);
	o->elf = elf_memory((char *)bytes, size);
	assert_non_null(o->elf);
	read_sections(o);
	read_functions(o);
	for (size_t i = 0; i < o->n; i++) {
		struct function *f = &o->functions[i];

		if (!is_entry(o, f))
			continue;
		entries++;
		sum_up(o, f);
		/* A program at an interface has packet bytes on its stack. Each calls other
		 * functions. */
		assert_true(f->sum >= (strncmp(f->name, "sk_", 3) ? 256 : 32) && f->frames >= 2);
		printf("# %u bytes in at most %u frames:", f->sum, f->frames);
		for (const struct function *g = f; g; g = g->next)
			printf(" %s %u", g->name, g->depth);
		printf("\n");
		wrong += f->sum > STACK_MAX || f->frames > FRAMES_MAX;
	}
	assert_int_equal(entries, programs);
	assert_int_equal(wrong, 0);
	elf_end(o->elf);
	free(o);
}

static void tc_fits(void **state)
{
	size_t size;
	const void *bytes = bh_tc__elf_bytes(&size);

	(void)state;
	check_object(bytes, size, 5);
}

static void xdp_fits(void **state)
{
	size_t size;
	const void *bytes = bh_xdp__elf_bytes(&size);

	(void)state;
	check_object(bytes, size, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tc_fits),
		cmocka_unit_test(xdp_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
