/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/harness/failing_allocation.h"
#include "tools/doctor/doctor_check.h"
#include "tools/doctor/doctor_unwind_file.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__aarch64__)
enum { MACHINE = EM_AARCH64, OTHER_MACHINE = EM_X86_64 };
static const uint8_t prologue[] = { 0xfd, 0x03, 0x00, 0x91 };
#else
enum { MACHINE = EM_X86_64, OTHER_MACHINE = EM_AARCH64 };
static const uint8_t prologue[] = { 0x48, 0x89, 0xe5 };
#endif

enum {
	CODE_BYTES = 64 << 10,
	FUNCTION_BYTES = 256,
	FRAME_BYTES = 6 << 10,
	START_FRAME_BYTES = 136, /* what the C library's own first functions have */
};

/* A program in the order of its parts: headers, code, call frame information, section headers. */
struct program {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	uint8_t code[CODE_BYTES];
	uint8_t frames[FRAME_BYTES];
	char names[64];
	Elf64_Shdr sections[4];
};

static struct program program;

static void make_sections(size_t frame_bytes, const char *name)
{
	static const char names[] = "\0.shstrtab\0.text";

	memcpy(program.names, names, sizeof(names));
	(void)strcpy(program.names + sizeof(names), name);
	program.sections[1] = (Elf64_Shdr){ .sh_name = 1,
		.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct program, names),
		.sh_size = sizeof(program.names) };
	program.sections[2] = (Elf64_Shdr){ .sh_name = 11,
		.sh_type = SHT_PROGBITS,
		.sh_offset = offsetof(struct program, code),
		.sh_size = CODE_BYTES };
	program.sections[3] = (Elf64_Shdr){ .sh_name = sizeof(names),
		.sh_type = SHT_PROGBITS,
		.sh_offset = offsetof(struct program, frames),
		.sh_size = frame_bytes };
}

/* The last section is called `name` and has so many bytes. */
static void make_program(bool has_frame_pointers, size_t frame_bytes, const char *name)
{
	memset(&program, 0, sizeof(program));
	program.header = (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = MACHINE,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phoff = offsetof(struct program, segments),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
		.e_shoff = offsetof(struct program, sections),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 4,
		.e_shstrndx = 1,
	};
	program.segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = offsetof(struct program, code),
		.p_filesz = CODE_BYTES,
		.p_memsz = CODE_BYTES };
	program.segments[1].p_type = PT_NULL;
	for (size_t i = 0; has_frame_pointers && i < CODE_BYTES; i += FUNCTION_BYTES)
		memcpy(program.code + i + 4, prologue, sizeof(prologue));
	make_sections(frame_bytes, name);
}

static int look(enum doctor_unwinding *ret_unwinding)
{
	int fd = memfd_create("program", MFD_CLOEXEC), r;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, &program, sizeof(program)), sizeof(program));
	r = doctor_unwind_file(fd, ret_unwinding);
	(void)close(fd);
	return r;
}

static void assert_unwinding(enum doctor_unwinding expected)
{
	enum doctor_unwinding unwinding = (enum doctor_unwinding)77;

	assert_int_equal(look(&unwinding), 0);
	assert_int_equal(unwinding, expected);
}

static void call_frame_information_is_found(void **state)
{
	static const char *const names[] = { ".eh_frame", ".debug_frame", ".zdebug_frame" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		make_program(false, FRAME_BYTES, names[i]);
		assert_unwinding(DOCTOR_UNWINDING_FRAMES);
		program.sections[3].sh_type = SHT_NOBITS;
		assert_unwinding(DOCTOR_UNWINDING_NONE);
	}
	make_program(false, FRAME_BYTES, ".eh_frames");
	assert_unwinding(DOCTOR_UNWINDING_NONE);
	/* Stripped of its section headers. */
	make_program(false, 0, "");
	program.header.e_shnum = program.header.e_shstrndx = 0;
	program.header.e_shoff = 0;
	assert_unwinding(DOCTOR_UNWINDING_NONE);
	program.segments[1].p_type = PT_GNU_EH_FRAME;
	program.segments[1].p_filesz = 100;
	assert_unwinding(DOCTOR_UNWINDING_FRAMES);
}

static void start_code_alone_is_no_information(void **state)
{
	make_program(false, START_FRAME_BYTES, ".eh_frame");
	assert_unwinding(DOCTOR_UNWINDING_NONE);
	/* Unless there is hardly any other. */
	program.segments[0].p_filesz = program.segments[0].p_memsz = 512;
	assert_unwinding(DOCTOR_UNWINDING_FRAMES);
}

static void frame_pointers_are_found(void **state)
{
	make_program(true, START_FRAME_BYTES, ".eh_frame");
	assert_unwinding(DOCTOR_UNWINDING_FRAME_POINTERS);
	make_program(true, FRAME_BYTES, ".eh_frame");
	assert_unwinding(DOCTOR_UNWINDING_FRAMES);
	/* A few functions always have them. */
	make_program(false, START_FRAME_BYTES, ".eh_frame");
	for (size_t i = 0; i < 8; i++)
		memcpy(program.code + 8 * i, prologue, sizeof(prologue));
	assert_unwinding(DOCTOR_UNWINDING_NONE);
	make_program(false, 100, ".note.go.buildid");
	assert_unwinding(DOCTOR_UNWINDING_FRAME_POINTERS);
}

static void a_file_that_is_not_a_program_is_refused(void **state)
{
	enum doctor_unwinding unwinding = (enum doctor_unwinding)77;
	int pipes[2];

	make_program(true, FRAME_BYTES, ".eh_frame");
	program.header.e_machine = OTHER_MACHINE;
	assert_int_equal(look(&unwinding), -ENODATA);
	make_program(true, FRAME_BYTES, ".eh_frame");
	program.segments[0].p_flags = PF_R;
	assert_int_equal(look(&unwinding), -ENODATA);
	make_program(true, FRAME_BYTES, ".eh_frame");
	program.segments[0].p_offset = UINT64_MAX - 5;
	assert_int_equal(look(&unwinding), -ENOEXEC);
	make_program(true, FRAME_BYTES, ".eh_frame");
	program.segments[0].p_filesz = sizeof(program) + 1;
	assert_int_equal(look(&unwinding), -ENOEXEC);
	make_program(true, FRAME_BYTES, ".eh_frame");
	program.header.e_ident[0] = 'x';
	assert_int_equal(look(&unwinding), -ENOEXEC);
	assert_int_equal(doctor_unwind_file(-1, &unwinding), -EBADF);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(doctor_unwind_file(pipes[0], &unwinding), -ENOEXEC);
	(void)close(pipes[0]);
	(void)close(pipes[1]);
	assert_int_equal(unwinding, 77);
}

static void failing_allocations_are_reported(void **state)
{
	enum doctor_unwinding unwinding = (enum doctor_unwinding)77;

	make_program(false, FRAME_BYTES, ".eh_frame");
	assert_true(FAIL_EACH_ALLOCATION(look(&unwinding), -ENOMEM, unwinding == 77, 0) > 0);
	assert_int_equal(unwinding, DOCTOR_UNWINDING_FRAMES);
}

static const struct doctor_check *binaries_check(void)
{
	for (size_t i = 0; i < doctor_unwind.count; i++)
		if (!strcmp(doctor_unwind.checks[i].name, "unwind information"))
			return &doctor_unwind.checks[i];
	return NULL;
}

static void run_check(struct doctor_finding *finding)
{
	const struct doctor_check *check = binaries_check();

	assert_non_null(check);
	memset(finding, 0, sizeof(*finding));
	check->function(finding);
}

static bool names(const struct doctor_finding *finding, const char *path)
{
	for (size_t i = 0; i < finding->detail_count; i++)
		if (!strcmp(finding->details[i], path))
			return true;
	return false;
}

/* How many the finding tells of. */
static unsigned long count_without(const struct doctor_finding *finding)
{
	static const char words[] = "missing in ";

	return strncmp(finding->found, words, strlen(words)) == 0
		       ? strtoul(finding->found + strlen(words), NULL, 10)
		       : 0;
}

static void mapped_binaries_without_information_are_named(void **state)
{
	char path[] = "/tmp/doctor-unwind-XXXXXX";
	struct doctor_finding before, with, after;
	void *mapping, *second;
	int fd;

	run_check(&before);
	assert_true(before.state == DOCTOR_OK || before.state == DOCTOR_LIMITED);
	if (before.detail_count == DOCTOR_DETAILS_MAX) {
		print_message("too many such binaries run here\n");
		skip();
	}

	fd = mkstemp(path);
	assert_true(fd >= 0);
	make_program(false, START_FRAME_BYTES, ".eh_frame");
	assert_int_equal(write(fd, &program, sizeof(program)), sizeof(program));
	mapping = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	second = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096);
	if (mapping == MAP_FAILED || second == MAP_FAILED) {
		(void)unlink(path);
		print_message("/tmp cannot be mapped executable\n");
		skip();
	}
	run_check(&with);
	(void)munmap(mapping, 4096);
	(void)munmap(second, 4096);
	run_check(&after);
	(void)unlink(path);
	(void)close(fd);

	assert_int_equal(with.state, DOCTOR_LIMITED);
	assert_true(count_without(&with) > 0);
	assert_true(names(&with, path));
	/* Once, though it is mapped twice. */
	for (size_t i = 0, count = 0; i < with.detail_count; i++) {
		count += !strcmp(with.details[i], path);
		assert_true(count <= 1);
	}
	assert_false(names(&after, path));
}

static void the_survey_survives_failing_allocations(void **state)
{
	struct doctor_finding finding;
	size_t n;

	for (n = 0; n < 32; n++) {
		fail_allocation(n);
		run_check(&finding);
		if (!allocation_failed())
			break;
		assert_int_equal(finding.state, DOCTOR_UNKNOWN);
		assert_string_equal(finding.found, "/proc: Cannot allocate memory");
	}
	assert_true(n > 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(call_frame_information_is_found),
		cmocka_unit_test(start_code_alone_is_no_information),
		cmocka_unit_test(frame_pointers_are_found),
		cmocka_unit_test(a_file_that_is_not_a_program_is_refused),
		cmocka_unit_test(failing_allocations_are_reported),
		cmocka_unit_test(mapped_binaries_without_information_are_named),
		cmocka_unit_test(the_survey_survives_failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
