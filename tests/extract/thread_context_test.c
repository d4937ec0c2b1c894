/* SPDX-License-Identifier: GPL-2.0-or-later */
/* On a made-up file; tests/end_to_end/spans.sh has what compilers and linkers make. */
#include "extract/thread_context.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/runtime_bounds.h"
#include "extract/extraction.h"
#include "extract/unwind_files.h"
#include "pilotlight/thread_context.h"
#include "tests/harness/failing_allocation.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { CODE_VADDR = 0x401000, CODE_OFFSET = 0x1000, SLOT_VADDR = 0x403fd8, SYMBOL = 2 };
enum section { NONE, SYMBOLS, STRINGS, RELOCATIONS, DYNAMIC, NAMES, SECOND, SECTIONS };

static const char names[] = "\0.dynsym\0.dynstr\0.rela.dyn\0.dynamic\0.names";

/* Bytes at the beginning are code, too. */
static struct file {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	Elf64_Shdr sections[SECTIONS];
	Elf64_Sym symbols[3];
	Elf64_Rela relocations[2];
	Elf64_Dyn dynamic[3];
	char strings[64], names[64];
} file;

static void put_section(
	enum section number, size_t name, uint32_t type, size_t at, size_t size, size_t entry)
{
	file.sections[number] = (Elf64_Shdr){
		.sh_name = (uint32_t)name,
		.sh_type = type,
		.sh_flags = SHF_ALLOC,
		.sh_offset = at,
		.sh_size = size,
		.sh_entsize = entry,
	};
}

/* A library with a relocation of the variable, whose offset is 8 in storage of 40 bytes. */
static int set_up(void **state)
{
	memset(&file, 0, sizeof(file));
	memcpy(file.header.e_ident, ELFMAG, SELFMAG);
	file.header.e_ident[EI_CLASS] = ELFCLASS64;
	file.header.e_ident[EI_DATA] = ELFDATA2LSB;
	file.header.e_ident[EI_VERSION] = EV_CURRENT;
	file.header.e_type = ET_DYN;
	file.header.e_machine = EM_X86_64;
	file.header.e_version = EV_CURRENT;
	file.header.e_phoff = offsetof(struct file, segments);
	file.header.e_shoff = offsetof(struct file, sections);
	file.header.e_ehsize = sizeof(file.header);
	file.header.e_phentsize = sizeof(Elf64_Phdr);
	file.header.e_phnum = 2;
	file.header.e_shentsize = sizeof(Elf64_Shdr);
	file.header.e_shnum = SECTIONS;
	file.header.e_shstrndx = NAMES;
	file.segments[0] = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_vaddr = CODE_VADDR - CODE_OFFSET,
		.p_filesz = sizeof(file),
		.p_memsz = sizeof(file),
	};
	file.segments[1] = (Elf64_Phdr){ .p_type = PT_TLS, .p_memsz = 40, .p_align = 16 };
	put_section(SYMBOLS, 1, SHT_DYNSYM, offsetof(struct file, symbols), sizeof(file.symbols),
		sizeof(Elf64_Sym));
	file.sections[SYMBOLS].sh_link = STRINGS;
	put_section(
		STRINGS, 9, SHT_STRTAB, offsetof(struct file, strings), sizeof(file.strings), 0);
	put_section(RELOCATIONS, 17, SHT_RELA, offsetof(struct file, relocations),
		sizeof(file.relocations), sizeof(Elf64_Rela));
	put_section(DYNAMIC, 27, SHT_DYNAMIC, offsetof(struct file, dynamic), sizeof(file.dynamic),
		sizeof(Elf64_Dyn));
	put_section(NAMES, 36, SHT_STRTAB, offsetof(struct file, names), sizeof(file.names), 0);
	(void)strcpy(file.strings + 1, PILOTLIGHT_THREAD_CONTEXT_SYMBOL);
	(void)strcpy(file.strings + 32, "libc.so.6");
	memcpy(file.names, names, sizeof(names));
	file.symbols[SYMBOL] = (Elf64_Sym){ .st_name = 1,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS),
		.st_shndx = RELOCATIONS,
		.st_value = 8 };
	file.relocations[1] = (Elf64_Rela){ SLOT_VADDR, ELF64_R_INFO(SYMBOL, R_X86_64_TPOFF64), 0 };
	file.dynamic[0] = (Elf64_Dyn){ .d_tag = DT_NEEDED, .d_un.d_val = 32 };
	return 0;
}

/* Behind what is set up, the file is empty. */
static off_t file_bytes = sizeof(file);

static int read_file(struct pilotlight_runtime *runtime)
{
	_cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);
	const struct extraction_files files = { .binary_fd = fd, .debug_fd = -1 };
	struct unwind_files opened;
	int r;

	assert_int_equal(write(fd, &file, sizeof(file)), sizeof(file));
	assert_int_equal(ftruncate(fd, file_bytes), 0);
	r = unwind_files_open(&opened, &files);
	return r < 0 ? r : thread_context_read(&opened, runtime);
}

static void each_model_is_described(void **state)
{
	static const struct {
		uint32_t type;
		enum pilotlight_runtime_anchor anchor;
	} models[] = {
		{ R_X86_64_TPOFF64, PILOTLIGHT_RUNTIME_TLS_SLOT },
		{ R_X86_64_DTPMOD64, PILOTLIGHT_RUNTIME_TLS_INDEX },
		{ R_X86_64_TLSDESC, PILOTLIGHT_RUNTIME_TLS_DESCRIPTOR },
	};
	struct pilotlight_runtime runtime;

	for (size_t i = 0; i < ARRAY_SIZE(models); i++) {
		file.relocations[1].r_info = ELF64_R_INFO(SYMBOL, models[i].type);
		assert_int_equal(read_file(&runtime), 0);
		assert_true(runtime_bounds_hold(&runtime));
		assert_int_equal(runtime.language, PILOTLIGHT_RUNTIME_THREAD_CONTEXT);
		assert_int_equal(runtime.anchor, models[i].anchor);
		assert_int_equal(runtime.anchor_place, SLOT_VADDR - (CODE_VADDR - CODE_OFFSET));
		assert_int_equal(runtime.anchor_offset, 0);
	}
}

static void a_program_has_it_at_a_distance(void **state)
{
	struct pilotlight_runtime runtime;

	file.dynamic[1] = (Elf64_Dyn){ .d_tag = DT_FLAGS_1, .d_un.d_val = DF_1_PIE };
	assert_int_equal(read_file(&runtime), 0);
	assert_int_equal(runtime.anchor, PILOTLIGHT_RUNTIME_TLS);
	assert_int_equal(runtime.anchor_place, 0);
	assert_int_equal(runtime.anchor_offset, 8 - 48);
	file.dynamic[1].d_un.d_val = 0;
	file.header.e_type = ET_EXEC;
	assert_int_equal(read_file(&runtime), 0);
	assert_int_equal(runtime.anchor_offset, 8 - 48);
	file.segments[1].p_align = 3;
	assert_int_equal(read_file(&runtime), -ENOEXEC);
	file.segments[1].p_align = 16;
	file.symbols[SYMBOL].st_value = 40;
	assert_int_equal(read_file(&runtime), -ENOEXEC);
	file.segments[1].p_type = PT_NULL;
	assert_int_equal(read_file(&runtime), -ENOEXEC);
}

static void files_without_it_are_told(void **state)
{
	struct pilotlight_runtime runtime;

	/* Another library without glibc. */
	file.relocations[1].r_info = ELF64_R_INFO(SYMBOL, R_X86_64_DTPMOD64);
	file.strings[32] = 'x';
	assert_int_equal(read_file(&runtime), -ENOTSUP);
	/* Nothing refers to the variable. */
	file.relocations[1].r_info = ELF64_R_INFO(0, R_X86_64_DTPMOD64);
	assert_int_equal(read_file(&runtime), -ENOTSUP);
	/* It is another file's, no variable of threads, or has another name. */
	file.symbols[SYMBOL].st_shndx = SHN_UNDEF;
	assert_int_equal(read_file(&runtime), -ENODATA);
	(void)set_up(state);
	file.symbols[SYMBOL].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
	assert_int_equal(read_file(&runtime), -ENODATA);
	(void)set_up(state);
	file.strings[2] = 'X';
	assert_int_equal(read_file(&runtime), -ENODATA);
	file.header.e_machine = EM_AARCH64;
	assert_int_equal(read_file(&runtime), -ENODATA);
}

static void hostile_sizes_are_refused(void **state)
{
	struct pilotlight_runtime runtime;

	file.sections[RELOCATIONS].sh_size = UINT64_MAX;
	assert_true(read_file(&runtime) < 0);
	file.sections[RELOCATIONS].sh_size = 1 << 20;
	assert_true(read_file(&runtime) < 0);
	(void)set_up(state);
	file.symbols[SYMBOL].st_name = UINT32_MAX;
	assert_int_equal(read_file(&runtime), -ENOEXEC);
}

/* Each of the two sections alone is within the bound. */
static void relocations_of_all_sections_are_bounded(void **state)
{
	struct pilotlight_runtime runtime;

	file.sections[RELOCATIONS].sh_offset = sizeof(file);
	file.sections[RELOCATIONS].sh_size = sizeof(Elf64_Rela) * ((2 << 20) + 1);
	file_bytes = (off_t)(sizeof(file) + file.sections[RELOCATIONS].sh_size);
	assert_int_equal(read_file(&runtime), -ENOTSUP);
	file.sections[SECOND] = file.sections[RELOCATIONS];
	assert_int_equal(read_file(&runtime), -EFBIG);
	file_bytes = sizeof(file);
}

static void failing_allocations_leave_nothing(void **state)
{
	struct pilotlight_runtime runtime;

	assert_true(FAIL_EACH_ALLOCATION(read_file(&runtime), -ENOMEM, true, 0) >= 3);
}

/* The kernel takes no description that leads elsewhere. */
static void other_anchors_are_out_of_bounds(void **state)
{
	struct pilotlight_runtime runtime, changed;

	assert_int_equal(read_file(&runtime), 0);
	for (size_t i = 0; i < sizeof(runtime); i++) {
		const size_t place = offsetof(struct pilotlight_runtime, anchor_place);

		changed = runtime;
		((uint8_t *)&changed)[i] ^= 0x80;
		if (i < place || i >= place + 2 * sizeof(__s64))
			assert_false(runtime_bounds_hold(&changed));
	}
	changed = runtime;
	changed.anchor = PILOTLIGHT_RUNTIME_KEY;
	changed.libc = PILOTLIGHT_RUNTIME_GLIBC;
	assert_false(runtime_bounds_hold(&changed));
	changed = runtime;
	changed.anchor_place = INT64_MIN;
	assert_false(runtime_bounds_hold(&changed));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_model_is_described, set_up),
		cmocka_unit_test_setup(a_program_has_it_at_a_distance, set_up),
		cmocka_unit_test_setup(files_without_it_are_told, set_up),
		cmocka_unit_test_setup(hostile_sizes_are_refused, set_up),
		cmocka_unit_test_setup(relocations_of_all_sections_are_bounded, set_up),
		cmocka_unit_test_setup(failing_allocations_leave_nothing, set_up),
		cmocka_unit_test_setup(other_anchors_are_out_of_bounds, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
