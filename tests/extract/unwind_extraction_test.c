/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/runtime_bounds.h"
#include "extract/code_instruction.h"
#include "extract/unwind_extraction.h"
#include "extract/unwind_gaps.h"
#include "symbol/runtime_description.h"
#include "tests/dwarf/go_fixture.h"
#include "tests/extract/python_fixture.h"
#include "tests/extract/unwind_fixture.h"

#include "base/cleanup.h"
#include "pilotlight/unwind.h"
#include "symbol/symbol_file.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { OUTPUT_BYTES_MAX = 64 * 1024 };

static struct unwind_elf binary, debug;
static struct cfi_writer eh_frame, debug_frame;
static struct go_fixture go;		   /* in place of `binary` if it has functions */
static struct python_fixture *interpreter; /* in place of `binary`, if not NULL */
static off_t binary_bytes;		   /* to which it is extended; 0: it is not */
static uint64_t entry;			   /* a vaddr; 0: none */
static struct pilotlight_symbol_request request;
static struct pilotlight_symbol_report report;
static uint8_t output[OUTPUT_BYTES_MAX];

static int set_up(void **state)
{
	memset(&binary, 0, sizeof(binary));
	memset(&debug, 0, sizeof(debug));
	interpreter = NULL;
	binary_bytes = 0;
	entry = 0;
	go_fixture_init(&go, GO_1_20);
	unwind_elf_add_code(&binary);
	unwind_elf_add_code(&debug);
	eh_frame = (struct cfi_writer){ .vaddr = 0x5000 };
	debug_frame = (struct cfi_writer){ .is_debug_frame = true };
	request = (struct pilotlight_symbol_request){
		.version = PILOTLIGHT_WORKER_VERSION,
		.identity_kind = PILOTLIGHT_SYMBOL_BUILD_ID,
		.identity = { 1, 2, 3 },
		.identity_bytes = 20,
		.debug_rank = PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE,
		.scratch_bytes_max = 16 << 20,
		.origin = "/usr/lib/origin",
	};
	memset(&report, 0, sizeof(report));
	return 0;
}

static int binary_fd_of_test(void)
{
	int fd = interpreter		 ? python_fixture_fd(interpreter)
		 : go.function_count > 0 ? go_fixture_fd(&go)
					 : unwind_elf_fd(&binary);

	if (binary_bytes > 0)
		assert_int_equal(ftruncate(fd, binary_bytes), 0);
	if (entry != 0)
		unwind_elf_put(fd, offsetof(Elf64_Ehdr, e_entry), &entry, sizeof(entry));
	return fd;
}

static int extract(void)
{
	_cleanup_close_ int binary_fd = binary_fd_of_test();
	_cleanup_close_ int debug_fd = debug.part_count > 0 ? unwind_elf_fd(&debug) : -1;
	_cleanup_close_ int scratch = memfd_create("scratch", MFD_CLOEXEC);
	_cleanup_close_ int out = memfd_create("output", MFD_CLOEXEC);
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	const struct extraction_files files = {
		.binary_fd = binary_fd,
		.debug_fd = debug_fd,
		.alternate_fd = -1,
		.scratch_fd = scratch,
		.output_fd = out,
	};
	int r;

	r = unwind_extraction_run(&files, &request, &report);
	assert_int_equal(report.error, r);
	assert_int_equal(report.version, PILOTLIGHT_WORKER_VERSION);
	if (r == 0) {
		ssize_t size = pread(out, output, sizeof(output), 0);

		assert_int_equal(size, report.output_bytes);
		assert_int_equal(symbol_file_open(out, &file), 0);
	}
	return r;
}

static const struct pilotlight_symbol_header *header(void)
{
	return (const struct pilotlight_symbol_header *)(const void *)output;
}

/* The section and its count; NULL and 0. */
static const void *section(enum pilotlight_symbol_section_id id, uint64_t *ret_count)
{
	const struct pilotlight_symbol_section *sections = (const void *)(header() + 1);

	*ret_count = 0;
	for (size_t i = 0; i < header()->section_count; i++)
		if (sections[i].id == id) {
			*ret_count = sections[i].bytes / sections[i].entry_bytes;
			return output + sections[i].offset;
		}
	return NULL;
}

static const struct pilotlight_unwind_summary *summary(void)
{
	uint64_t count;
	const struct pilotlight_unwind_summary *found = section(PILOTLIGHT_SYMBOL_UNWIND, &count);

	assert_int_equal(count, 1);
	return found;
}

static void add_functions(void)
{
	uint32_t cie = cfi_add_usual_cie(&eh_frame);

	(void)CFI_ADD_FDE(&eh_frame, cie, CODE_VADDR, 0x10, DEF_CFA_OFFSET(16));
	(void)CFI_ADD_FDE(&eh_frame, cie, CODE_VADDR + 0x20, 0x10, DEF_CFA_OFFSET(24));
	unwind_elf_add_cfi(&binary, &eh_frame);
}

static void a_table_is_a_symbol_file(void **state)
{
	const struct pilotlight_unwind_line *lines;
	const struct pilotlight_unwind_rule *rules;
	const struct pilotlight_symbol_segment *segments;
	const uint32_t *pages;
	uint64_t count;

	add_functions();
	assert_int_equal(extract(), 0);
	assert_int_equal(header()->rank, PILOTLIGHT_SYMBOL_RANK_BINARY);
	assert_int_equal(header()->contents, PILOTLIGHT_SYMBOL_HAS_EH_FRAME);
	assert_int_equal(header()->machine, EM_X86_64);
	assert_int_equal(header()->base_vaddr, CODE_VADDR);
	assert_int_equal(header()->section_count, 5);
	assert_string_equal(header()->origin, "/usr/lib/origin");
	assert_memory_equal(header()->identity, request.identity, 20);
	assert_int_equal(report.rank, PILOTLIGHT_SYMBOL_RANK_BINARY);
	assert_true(report.scratch_bytes > 0);
	assert_int_equal(summary()->row_count, 4);
	assert_int_equal(summary()->function_count, 2);
	assert_int_equal(summary()->functions_failed, 0);
	assert_int_equal(summary()->rule_count, 3);
	assert_int_equal(summary()->machine, EM_X86_64);
	assert_int_equal(summary()->flags, 0);
	segments = section(PILOTLIGHT_SYMBOL_SEGMENTS, &count);
	assert_int_equal(count, 1);
	assert_int_equal(segments[0].offset, CODE_OFFSET);
	pages = section(PILOTLIGHT_SYMBOL_UNWIND_PAGES, &count);
	assert_int_equal(count, 2);
	assert_int_equal(pages[0], 0);
	lines = section(PILOTLIGHT_SYMBOL_UNWIND_LINES, &count);
	assert_int_equal(count, 1);
	assert_int_equal(lines[0].base, CODE_OFFSET);
	rules = section(PILOTLIGHT_SYMBOL_UNWIND_RULES, &count);
	assert_int_equal(count, 3);
	assert_int_equal(rules[lines[0].rules[0]].offset, 16);
	assert_int_equal(rules[lines[0].rules[1]].kind, PILOTLIGHT_UNWIND_STOP);
	assert_int_equal(rules[lines[0].rules[2]].offset, 24);
	assert_int_equal(rules[lines[0].rules[3]].kind, PILOTLIGHT_UNWIND_STOP);
	(void)section(PILOTLIGHT_SYMBOL_UNWIND_ESCAPES, &count);
	assert_int_equal(count, 0);
}

static void equal_files_make_equal_tables(void **state)
{
	static uint8_t first[OUTPUT_BYTES_MAX];

	add_functions();
	assert_int_equal(extract(), 0);
	memcpy(first, output, sizeof(first));
	assert_int_equal(extract(), 0);
	/* But for the time, and so the header's hash. */
	assert_memory_equal(first + sizeof(*header()), output + sizeof(*header()),
		report.output_bytes - sizeof(*header()));
}

static void debug_files_tell_what_binaries_do_not(void **state)
{
	uint8_t notes[2][36];
	uint32_t cie = cfi_add_usual_cie(&debug_frame);

	add_functions();
	unwind_elf_add_build_id(&binary, notes[0], 7);
	unwind_elf_add_build_id(&debug, notes[1], 7);
	(void)CFI_ADD_FDE(&debug_frame, cie, CODE_VADDR, 0x10, DEF_CFA_OFFSET(16));
	unwind_elf_add_cfi(&debug, &debug_frame);
	assert_int_equal(extract(), 0);
	assert_true(report.has_taken_debug);
	assert_int_equal(report.rank, PILOTLIGHT_SYMBOL_RANK_BINARY);
	assert_int_equal(header()->contents, PILOTLIGHT_SYMBOL_HAS_EH_FRAME);
	assert_int_equal(summary()->functions_failed, 0);
	(void)CFI_ADD_FDE(&debug_frame, cie, CODE_VADDR + 0x40, 0x10, DEF_CFA_OFFSET(16));
	debug.parts[debug.part_count - 1].size = debug_frame.size;
	assert_int_equal(extract(), 0);
	assert_int_equal(report.rank, PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE);
	assert_int_equal(header()->rank, PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE);
	assert_int_equal(header()->contents,
		PILOTLIGHT_SYMBOL_HAS_EH_FRAME | PILOTLIGHT_SYMBOL_HAS_DEBUG_FRAME);
	assert_int_equal(summary()->function_count, 3);
	notes[1][20]++;
	assert_int_equal(extract(), 0);
	assert_false(report.has_taken_debug);
	assert_int_equal(report.rank, PILOTLIGHT_SYMBOL_RANK_BINARY);
}

static void a_binarys_own_debug_frame_is_its_own(void **state)
{
	(void)CFI_ADD_FDE(&debug_frame, cfi_add_usual_cie(&debug_frame), CODE_VADDR, 0x10, 0);
	unwind_elf_add_cfi(&binary, &debug_frame);
	assert_int_equal(extract(), 0);
	assert_int_equal(report.rank, PILOTLIGHT_SYMBOL_RANK_BINARY);
	assert_int_equal(header()->contents, PILOTLIGHT_SYMBOL_HAS_DEBUG_FRAME);
}

static void go_has_a_table_without_rows(void **state)
{
	uint64_t count;

	unwind_elf_add_part(&binary, ".gopclntab", 0, "go", 2);
	assert_int_equal(extract(), 0);
	assert_int_equal(summary()->flags, PILOTLIGHT_UNWIND_KEEPS_FRAME_POINTERS);
	assert_int_equal(summary()->row_count, 0);
	assert_int_equal(header()->contents, 0);
	assert_int_equal(header()->section_count, 2);
	(void)section(PILOTLIGHT_SYMBOL_UNWIND_LINES, &count);
	assert_int_equal(count, 0);
}

/* Before Zydis is loaded. */
static void a_table_says_that_zydis_would_have_told_more(void **state)
{
	static uint8_t code[CODE_OFFSET];

	/* push %rbx; call *%rax; pop %rbx; ret; and nops */
	memset(code, 0x90, sizeof(code));
	memcpy(code + sizeof(code) - 8, "\x53\xff\xd0\x5b\xc3", 5);
	add_functions();
	assert_int_equal(extract(), 0);
	assert_int_equal(header()->contents, PILOTLIGHT_SYMBOL_HAS_EH_FRAME);
	/* The segment has it, too. */
	unwind_elf_add_part(&binary, ".data", 0, code, sizeof(code));
	assert_int_equal(extract(), 0);
	assert_int_equal(header()->contents,
		PILOTLIGHT_SYMBOL_HAS_EH_FRAME | PILOTLIGHT_SYMBOL_LACKS_DECODER);
	/* Alone it is no table. */
	binary.part_count = 0;
	unwind_elf_add_part(&binary, ".data", 0, code, sizeof(code));
	assert_int_equal(extract(), -ENODATA);
	assert_int_equal(code_instruction_load(NULL), 0);
	assert_int_equal(extract(), 0);
	assert_int_equal(header()->contents, PILOTLIGHT_SYMBOL_HAS_INFERRED);
}

static void an_unknown_interpreter_does_not_cost_the_table(void **state)
{
	add_functions();
	unwind_elf_add_part(&binary, ".PyRuntime", 0x9000, "xdebugpy", 8);
	assert_int_equal(code_instruction_load(NULL), 0);
	assert_int_equal(extract(), 0);
	assert_int_equal(header()->contents,
		PILOTLIGHT_SYMBOL_HAS_EH_FRAME | PILOTLIGHT_SYMBOL_LACKS_RUNTIME);
	assert_int_equal(summary()->row_count, 4);
}

static void an_interpreter_is_described_beside_its_table(void **state)
{
	static struct python_fixture python;
	const struct pilotlight_runtime *runtime;
	uint64_t count;

	python_fixture_init(&python, 0x030b02f0);
	eh_frame.vaddr = PYTHON_FIXTURE_VADDR + PYTHON_FIXTURE_EH_FRAME;
	(void)CFI_ADD_FDE(&eh_frame, cfi_add_usual_cie(&eh_frame),
		PYTHON_FIXTURE_VADDR + PYTHON_FIXTURE_GIL_STATE, 0x10, DEF_CFA_OFFSET(16));
	python_fixture_put(&python, PYTHON_FIXTURE_EH_FRAME, eh_frame.bytes, eh_frame.size);
	python_fixture_section(&python, 6)->sh_size = eh_frame.size;
	interpreter = &python;
	assert_int_equal(extract(), 0);
	assert_true(header()->contents & PILOTLIGHT_SYMBOL_HAS_RUNTIME);
	runtime = section(PILOTLIGHT_SYMBOL_RUNTIME, &count);
	assert_int_equal(count, 1);
	assert_true(runtime_bounds_hold(runtime));
	assert_int_equal(runtime->release, 0x030b02f0);
}

/* The code of a function without call frame information. */
static void code_alone_makes_a_table(void **state)
{
	/* push %rbx; call *%rax; pop %rbx; ret; and nops */
	static const uint8_t code[] = { 0x53, 0xff, 0xd0, 0x5b, 0xc3, 0x90, 0x90, 0x90 };

	unwind_elf_add_part(&binary, ".text", 0x1000, code, sizeof(code));
	binary.segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = unwind_elf_contents(&binary),
		.p_vaddr = 0x1000,
		.p_filesz = sizeof(code),
		.p_memsz = sizeof(code) };
	assert_int_equal(code_instruction_load(NULL), 0);
	assert_int_equal(extract(), 0);
	assert_int_equal(header()->contents, PILOTLIGHT_SYMBOL_HAS_INFERRED);
	assert_int_equal(summary()->function_count, 0);
	assert_int_equal(summary()->inferred_rows, 3);
	assert_int_equal(summary()->row_count, 4);
	binary.machine = EM_AARCH64;
	assert_int_equal(extract(), -ENODATA);
}

static void go_without_a_readable_table_is_not_inferred(void **state)
{
	/* push %rbx; call *%rax; pop %rbx; ret; and nops */
	static const uint8_t code[] = { 0x53, 0xff, 0xd0, 0x5b, 0xc3, 0x90, 0x90, 0x90 };

	unwind_elf_add_part(&binary, ".text", 0x1000, code, sizeof(code));
	unwind_elf_add_part(&binary, ".gopclntab", 0x5000, "old", 4);
	binary.segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = unwind_elf_contents(&binary),
		.p_vaddr = 0x1000,
		.p_filesz = sizeof(code),
		.p_memsz = sizeof(code) };
	assert_int_equal(code_instruction_load(NULL), 0);
	assert_int_equal(extract(), 0);
	assert_int_equal(summary()->row_count, 0);
	assert_int_equal(summary()->flags, PILOTLIGHT_UNWIND_KEEPS_FRAME_POINTERS);
}

static void described_code_keeps_its_rules_where_inference_fails(void **state)
{
	static uint8_t code[0x40000];
	uint32_t without = 0;

	memset(code, 0x90, sizeof(code));
	memcpy(code + sizeof(code) - 8, "\x53\xff\xd0\x5b\xc3", 5);
	add_functions();
	/* The segment has it, too. */
	unwind_elf_add_part(&binary, ".data", 0, code, sizeof(code));
	assert_int_equal(code_instruction_load(NULL), 0);
	for (uint64_t limit = 1 << 18; limit <= 4 << 20; limit += 1 << 18) {
		request.scratch_bytes_max = limit;
		/* Without room for anything. */
		if (extract() == -EFBIG)
			continue;
		assert_int_equal(report.error, 0);
		assert_int_equal(summary()->function_count, 2);
		without += summary()->inferred_rows == 0;
	}
	assert_true(without > 0);
	assert_true(summary()->inferred_rows > 0);
}

/* sub $imm, %rsp; call *%rax; add $imm, %rsp; ret; and nops */
static void write_framed_function(uint8_t *code, uint32_t frame)
{
	memcpy(code, "\x48\x81\xec\0\0\0\0\xff\xd0\x48\x81\xc4\0\0\0\0\xc3", 17);
	memcpy(code + 3, &frame, sizeof(frame));
	memcpy(code + 12, &frame, sizeof(frame));
}

/* Each function has another frame, so a table cannot hold all rules. */
static void described_code_keeps_its_rules_beside_too_many_inferred_ones(void **state)
{
	enum { DESCRIBED = 400, FUNCTIONS = PILOTLIGHT_UNWIND_RULES_MAX, STRIDE = 32 };
	_cleanup_free_ uint8_t *code = malloc((size_t)FUNCTIONS * STRIDE);
	uint32_t cie = cfi_add_usual_cie(&eh_frame);

	assert_non_null(code);
	for (uint32_t i = 0; i < DESCRIBED; i++)
		(void)CFI_ADD_FDE(&eh_frame, cie, CODE_VADDR + 0x10 * i, 0x10, 0x0e,
			(uint8_t)(i | 0x80), (uint8_t)(1 + (i >> 7)));
	memset(code, 0x90, (size_t)FUNCTIONS * STRIDE);
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		write_framed_function(code + (size_t)i * STRIDE, 8 + 8 * i);
	unwind_elf_add_cfi(&binary, &eh_frame);
	/* The segment has it, too. */
	unwind_elf_add_part(&binary, ".data", 0, code, (size_t)FUNCTIONS * STRIDE);
	binary.segments[0].p_filesz = binary.segments[0].p_memsz = 4 << 20;
	request.scratch_bytes_max = 512 << 20;
	assert_int_equal(code_instruction_load(NULL), 0);
	assert_int_equal(extract(), 0);
	assert_int_equal(summary()->function_count, DESCRIBED);
	assert_int_equal(summary()->inferred_rows, 0);
}

/* No more code is analysed; but the root is at the entry all the same. */
static void the_entry_is_a_root_behind_much_code(void **state)
{
	const struct pilotlight_unwind_rule *rules;
	uint64_t count, roots = 0;

	add_functions();
	binary_bytes = CODE_OFFSET + UNWIND_GAPS_BYTES_MAX + (2 << 20);
	binary.segments[0].p_filesz = binary.segments[0].p_memsz =
		(uint64_t)binary_bytes - CODE_OFFSET;
	entry = CODE_VADDR + UNWIND_GAPS_BYTES_MAX + (1 << 20);
	request.scratch_bytes_max = 512 << 20;
	assert_int_equal(code_instruction_load(NULL), 0);
	assert_int_equal(extract(), 0);
	rules = section(PILOTLIGHT_SYMBOL_UNWIND_RULES, &count);
	for (uint64_t i = 0; i < count; i++)
		roots += rules[i].kind == PILOTLIGHT_UNWIND_ROOT;
	assert_int_equal(roots, 1);
}

static void add_go_functions(void)
{
	struct go_fixture_function *function = go_fixture_function(&go, "main.main", 0);

	function->stack = GO_PROGRAM(&go, { 0, 1 }, { 8, 8 }, { 0, 1 });
	go_fixture_code(&go, 0, "\x55", 1);
	function = go_fixture_function(&go, "main.malformed", 0x10);
	function->stack = GO_FIXTURE_TABLE_BYTES;
	function = go_fixture_function(&go, "in_c", 0x20);
	go.functions_end = 0x30;
	go_fixture_finish(&go);
}

static void go_has_rows_by_its_own_table(void **state)
{
	uint64_t count;

	add_go_functions();
	assert_int_equal(extract(), 0);
	assert_int_equal(header()->contents, PILOTLIGHT_SYMBOL_HAS_GO_TABLE);
	assert_int_equal(summary()->function_count, 1);
	assert_int_equal(summary()->functions_failed, 1);
	assert_int_equal(summary()->row_count, 4);
	assert_int_equal(summary()->flags, PILOTLIGHT_UNWIND_KEEPS_FRAME_POINTERS);
	(void)section(PILOTLIGHT_SYMBOL_UNWIND_LINES, &count);
	assert_int_equal(count, 1);
}

static void a_go_table_that_is_too_big_costs_its_rows_only(void **state)
{
	add_go_functions();
	go_fixture_put(&go,
		GO_FIXTURE_HEADERS + 4 * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size),
		GO_TABLE_BYTES_MAX + 1, 8);
	binary_bytes = 2LL * GO_TABLE_BYTES_MAX;
	assert_int_equal(extract(), 0);
	assert_int_equal(header()->contents & PILOTLIGHT_SYMBOL_HAS_GO_TABLE, 0);
	assert_int_equal(summary()->function_count, 0);
	assert_int_equal(summary()->flags, PILOTLIGHT_UNWIND_KEEPS_FRAME_POINTERS);
}

static void files_without_tables_have_no_data(void **state)
{
	assert_int_equal(extract(), -ENODATA);
	/* A section with an end and no more. */
	cfi_put(&eh_frame, 0, 4);
	unwind_elf_add_cfi(&binary, &eh_frame);
	assert_int_equal(extract(), -ENODATA);
	binary.machine = EM_RISCV;
	assert_int_equal(extract(), -ENODATA);
}

static void damage_is_an_error_if_nothing_is_left(void **state)
{
	cfi_put(&eh_frame, 0x7fffffff, 4);
	unwind_elf_add_cfi(&binary, &eh_frame);
	assert_int_equal(extract(), -ENOEXEC);
	eh_frame.size = 0;
	(void)CFI_ADD_FDE(&eh_frame, cfi_add_usual_cie(&eh_frame), CODE_VADDR, 0x10, 0x3f);
	binary.parts[0].size = eh_frame.size;
	assert_int_equal(extract(), -ENOEXEC);
	(void)CFI_ADD_FDE(&eh_frame, 0, CODE_VADDR + 0x10, 0x10, 0);
	binary.parts[0].size = eh_frame.size;
	assert_int_equal(extract(), 0);
	assert_int_equal(summary()->functions_failed, 1);
	assert_int_equal(summary()->function_count, 1);
}

static void errors_are_reported(void **state)
{
	add_functions();
	request.identity_bytes = 0;
	assert_int_equal(extract(), -EINVAL);
	request.identity_bytes = 21;
	assert_int_equal(extract(), -EINVAL);
	request.identity_bytes = 20;
	request.scratch_bytes_max = 1024;
	assert_int_equal(extract(), -EFBIG);
	request.scratch_bytes_max = 16 << 20;
	binary.segments[0].p_offset = UINT32_MAX;
	assert_int_equal(extract(), -EFBIG);
}

/* Many functions in the same places, with programs that lead behind their ends. */
static void hostile_sections_end(void **state)
{
	uint32_t cie = cfi_add_usual_cie(&eh_frame);

	while (eh_frame.size + 64 < sizeof(eh_frame.bytes))
		(void)CFI_ADD_FDE(&eh_frame, cie, CODE_VADDR + eh_frame.size % 7,
			CODE_BYTES - eh_frame.size % 7, REMEMBER_STATE, ADVANCE(1),
			DEF_CFA_OFFSET(32), 0x04, 255, 255, 255, 255, RESTORE_STATE);
	unwind_elf_add_cfi(&binary, &eh_frame);
	assert_int_equal(extract(), 0);
	assert_int_equal(summary()->function_count, 1);
	assert_true(summary()->functions_failed > 800);
	assert_int_equal(summary()->row_count, 3);
}

static void fail_allocations(void)
{
	for (size_t n = 0;; n++) {
		_cleanup_close_ int binary_fd = binary_fd_of_test();
		_cleanup_close_ int scratch = memfd_create("scratch", MFD_CLOEXEC);
		_cleanup_close_ int out = memfd_create("output", MFD_CLOEXEC);
		const struct extraction_files files = {
			.binary_fd = binary_fd,
			.debug_fd = -1,
			.alternate_fd = -1,
			.scratch_fd = scratch,
			.output_fd = out,
		};
		int r;

		fail_allocation(n);
		r = unwind_extraction_run(&files, &request, &report);
		if (!allocation_failed()) {
			assert_int_equal(r, 0);
			assert_true(n > 3);
			break;
		}
		assert_int_equal(r, -ENOMEM);
		assert_int_equal(report.error, r);
	}
}

static void a_failed_allocation_is_an_error(void **state)
{
	add_functions();
	fail_allocations();
	add_go_functions();
	fail_allocations();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_table_is_a_symbol_file, set_up),
		cmocka_unit_test_setup(equal_files_make_equal_tables, set_up),
		cmocka_unit_test_setup(debug_files_tell_what_binaries_do_not, set_up),
		cmocka_unit_test_setup(a_binarys_own_debug_frame_is_its_own, set_up),
		cmocka_unit_test_setup(a_table_says_that_zydis_would_have_told_more, set_up),
		cmocka_unit_test_setup(code_alone_makes_a_table, set_up),
		cmocka_unit_test_setup(an_unknown_interpreter_does_not_cost_the_table, set_up),
		cmocka_unit_test_setup(an_interpreter_is_described_beside_its_table, set_up),
		cmocka_unit_test_setup(go_without_a_readable_table_is_not_inferred, set_up),
		cmocka_unit_test_setup(
			described_code_keeps_its_rules_where_inference_fails, set_up),
		cmocka_unit_test_setup(
			described_code_keeps_its_rules_beside_too_many_inferred_ones, set_up),
		cmocka_unit_test_setup(the_entry_is_a_root_behind_much_code, set_up),
		cmocka_unit_test_setup(go_has_a_table_without_rows, set_up),
		cmocka_unit_test_setup(go_has_rows_by_its_own_table, set_up),
		cmocka_unit_test_setup(a_go_table_that_is_too_big_costs_its_rows_only, set_up),
		cmocka_unit_test_setup(files_without_tables_have_no_data, set_up),
		cmocka_unit_test_setup(damage_is_an_error_if_nothing_is_left, set_up),
		cmocka_unit_test_setup(errors_are_reported, set_up),
		cmocka_unit_test_setup(hostile_sections_end, set_up),
		cmocka_unit_test_setup(a_failed_allocation_is_an_error, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
