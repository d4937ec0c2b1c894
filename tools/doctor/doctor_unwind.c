/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether stacks are complete: what the kernel lets the sampler do, and what the binaries contain.
 */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "base/hash_index.h"
#include "base/line_reader.h"
#include "extract/code_instruction.h"
#include "process/maps_line.h"
#include "tools/doctor/doctor_check.h"
#include "tools/doctor/doctor_unwind_file.h"

#include <bpf/btf.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 8192, MAPS_BYTES_MAX = 16 << 20 };

static bool has_struct(const struct btf *btf, const char *name)
{
	return btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT) > 0;
}

static void check_walk(struct doctor_finding *finding)
{
	struct btf *btf;

#if !defined(__x86_64__)
	doctor_found(finding, DOCTOR_LIMITED, "only on x86-64");
	return;
#endif
	btf = btf__load_vmlinux_btf();
	if (!btf)
		doctor_found(finding, errno == EACCES ? DOCTOR_UNKNOWN : DOCTOR_MISSING,
			"the kernel's BTF: %s", strerror(errno));
	else if (!has_struct(btf, "maple_arange_64") || !has_struct(btf, "maple_range_64"))
		doctor_found(finding, DOCTOR_LIMITED, "mappings are not in a maple tree");
	else
		doctor_found(finding, DOCTOR_OK, "mappings are in a maple tree");
	btf__free(btf);
}

/* Files by device and inode: many processes map the same file. */
struct mapped_file {
	uint64_t device, inode;
};

struct survey {
	struct mapped_file *files; /* owned; room for FILES_MAX */
	struct hash_index index;   /* owned */
	uint32_t count;
	uint32_t looked_at, with_frame_pointers, without, unopened;
	bool is_over; /* there are more files */
	struct doctor_finding *finding;
};

static void survey_done(struct survey *survey)
{
	hash_index_done(&survey->index);
	free(survey->files);
}

static bool is_same_file(const void *owner, uint32_t id, const void *key)
{
	const struct survey *survey = owner;
	const struct mapped_file *file = key;

	return survey->files[id].device == file->device && survey->files[id].inode == file->inode;
}

/* Returns 1 for a new file, 0, or -ENOMEM. */
static int add_file(struct survey *survey, const struct maps_line *line)
{
	struct mapped_file file = {
		.device = (uint64_t)line->device_major << 32 | line->device_minor,
		.inode = line->inode,
	};
	uint64_t hash = hash_pair(file.device, file.inode);
	int r;

	if (hash_index_find(&survey->index, hash, is_same_file, survey, &file) != HASH_INDEX_NONE)
		return 0;
	if (survey->count == FILES_MAX) {
		survey->is_over = true;
		return 0;
	}
	r = hash_index_reserve(&survey->index);
	if (r < 0)
		return r;
	survey->files[survey->count] = file;
	hash_index_insert(&survey->index, hash, survey->count++);
	return 1;
}

/* By its path, if the mapping itself may not be opened. Opening a device could have effects. */
static int open_by_path(int pid, const struct maps_line *line)
{
	_cleanup_close_ int path_fd = -1;
	char path[PATH_MAX], name[2 * PATH_MAX], link[64];
	struct stat status;
	int fd;

	if (line->is_deleted || maps_line_path(line, path, sizeof(path)) < 0)
		return -ENOENT;
	(void)snprintf(name, sizeof(name), "/proc/%d/root%s", pid, path);
	path_fd = open(name, O_PATH | O_CLOEXEC);
	if (path_fd < 0 || fstat(path_fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_ino != line->inode)
		return -ENOENT;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

static int open_mapping(int pid, const struct maps_line *line)
{
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid,
		(unsigned long long)line->start, (unsigned long long)line->end);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? open_by_path(pid, line) : fd;
}

/* A long path is shortened to its end. */
static void name_file(struct doctor_finding *finding, const struct maps_line *line)
{
	char path[PATH_MAX], *detail;
	size_t length;

	if (finding->detail_count == DOCTOR_DETAILS_MAX ||
		maps_line_path(line, path, sizeof(path)) < 0)
		return;
	length = strlen(path);
	detail = finding->details[finding->detail_count++];
	if (length < DOCTOR_DETAIL_BYTES) {
		(void)strcpy(detail, path);
		return;
	}
	(void)memcpy(detail, "...", 3);
	(void)strcpy(detail + 3, path + length - (DOCTOR_DETAIL_BYTES - 4));
}

static int look_at_mapping(struct survey *survey, int pid, const struct maps_line *line)
{
	_cleanup_close_ int fd = -1;
	enum doctor_unwinding unwinding;
	int r = add_file(survey, line);

	if (r <= 0)
		return r;
	fd = open_mapping(pid, line);
	if (fd < 0) {
		survey->unopened++;
		return 0;
	}
	r = doctor_unwind_file(fd, &unwinding);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return 0; /* no program, or none that is sampled */
	survey->looked_at++;
	if (unwinding == DOCTOR_UNWINDING_FRAME_POINTERS)
		survey->with_frame_pointers++;
	if (unwinding == DOCTOR_UNWINDING_NONE) {
		survey->without++;
		name_file(survey->finding, line);
	}
	return 0;
}

static int look_at_process(struct survey *survey, int pid)
{
	struct line_reader reader;
	_cleanup_close_ int fd = -1;
	struct maps_line parsed;
	const char *line;
	char path[64];
	size_t size;
	int r;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	/* It has ended, or is not readable for us. */
	if (fd < 0)
		return 0;
	r = line_reader_init(&reader, fd, MAPS_LINE_BYTES_MAX, MAPS_BYTES_MAX);
	if (r < 0)
		return r;
	while ((r = line_reader_next(&reader, &line, &size)) > 0) {
		if (maps_line_parse(line, size, &parsed) < 0 || !parsed.is_executable ||
			parsed.inode == 0)
			continue;
		r = look_at_mapping(survey, pid, &parsed);
		if (r < 0)
			break;
	}
	line_reader_done(&reader);
	return r == -ENOMEM ? r : 0;
}

static int look_at_processes(struct survey *survey)
{
	DIR *directory = opendir("/proc");
	const struct dirent *entry;
	int r = 0;

	if (!directory)
		return -errno;
	while (r == 0 && (entry = readdir(directory)))
		if (isdigit((unsigned char)entry->d_name[0]))
			r = look_at_process(survey, atoi(entry->d_name));
	(void)closedir(directory);
	return r;
}

static void conclude(const struct survey *survey)
{
	struct doctor_finding *finding = survey->finding;
	char rest[128] = "";
	size_t length = 0;

	if (survey->unopened > 0)
		length = (size_t)snprintf(
			rest, sizeof(rest), "; %u could not be opened", survey->unopened);
	if (survey->is_over)
		(void)snprintf(rest + length, sizeof(rest) - length,
			"; those beyond %d files were left out", FILES_MAX);
	if (survey->looked_at == 0)
		doctor_found(finding, DOCTOR_UNKNOWN, "no mapped file could be read%s", rest);
	else if (survey->without > 0)
		doctor_found(finding, DOCTOR_LIMITED,
			"missing in %u of the %u mapped files with code%s%s", survey->without,
			survey->looked_at,
			survey->without > finding->detail_count ? "; some of them are" : "", rest);
	else
		doctor_found(finding, DOCTOR_OK,
			"in all %u mapped files with code, %u by frame pointers%s",
			survey->looked_at, survey->with_frame_pointers, rest);
}

static void check_binaries(struct doctor_finding *finding)
{
	struct survey survey = { .finding = finding };
	int r;

	survey.files = calloc(FILES_MAX, sizeof(*survey.files));
	r = survey.files ? look_at_processes(&survey) : -ENOMEM;
	if (r < 0)
		doctor_found(finding, DOCTOR_UNKNOWN, "/proc: %s", strerror(-r));
	else
		conclude(&survey);
	survey_done(&survey);
}

static void check_decoder(struct doctor_finding *finding)
{
	struct fault fault = { 0 };

	if (code_instruction_load(&fault) == 0)
		doctor_found(finding, DOCTOR_OK, "libZydis is installed");
	else
		doctor_found(finding, DOCTOR_MISSING, "%.200s", fault.text);
}

/* Where threads have their states is read from the instructions of exported functions. */
static void check_described(struct doctor_finding *finding, const char *text)
{
	struct fault fault = { 0 };

	check_walk(finding);
	if (finding->state != DOCTOR_OK)
		return;
	if (code_instruction_load(&fault) == 0)
		doctor_found(finding, DOCTOR_OK, "%s", text);
	else
		doctor_found(finding, DOCTOR_MISSING, "%.200s", fault.text);
}

static void check_python(struct doctor_finding *finding)
{
	check_described(finding, "of CPython 3.8 to 3.15; `pilotlight runtimes` lists what runs");
}

static void check_ruby(struct doctor_finding *finding)
{
	check_described(finding, "of Ruby 2.7 to 3.4; `pilotlight runtimes` lists what runs");
}

static void check_javascript(struct doctor_finding *finding)
{
	check_walk(finding);
	if (finding->state == DOCTOR_OK)
		doctor_found(finding, DOCTOR_OK,
			"of Node.js 18, 20, 22 and 24; `pilotlight runtimes` lists what "
			"runs");
}

static void check_php(struct doctor_finding *finding)
{
	check_described(finding, "of PHP 7.4 to 8.6; `pilotlight runtimes` lists what runs");
}

static void check_perl(struct doctor_finding *finding)
{
	check_described(finding, "of Perl 5.32 to 5.42; `pilotlight runtimes` lists what runs");
}

static void check_java(struct doctor_finding *finding)
{
	check_walk(finding);
	if (finding->state == DOCTOR_OK)
		doctor_found(
			finding, DOCTOR_OK, "of HotSpot; `pilotlight runtimes` lists what runs");
}

static const struct doctor_check checks[] = {
	{ "unwind tables", check_walk, 0, false,
		"complete stacks in code without frame pointers; all stacks are walked by frame "
		"pointers",
		"Linux 6.1 or newer with CONFIG_DEBUG_INFO_BTF=y, on x86-64" },
	{ "unwind information", check_binaries, 0, false,
		"the callers of code in these files: stacks end there",
		"build them with -fasynchronous-unwind-tables, or with -fno-omit-frame-pointer" },
	{ "inferred unwind rules", check_decoder, 0, false,
		"the callers of code that has no unwind information and keeps no frame pointers, "
		"such as musl's libc and hand-written assembler",
		"apt-get install libzydis4.0, or the package that has this version of libZydis" },
	{ "functions of Python", check_python, 0, false,
		"the functions of Python programs; the interpreter's own are shown",
		"Linux 6.1 or newer with CONFIG_DEBUG_INFO_BTF=y, on x86-64, and libZydis" },
	{ "functions of JavaScript", check_javascript, 0, false,
		"the functions of Node.js programs, unless --perf-prof names them",
		"Linux 6.1 or newer with CONFIG_DEBUG_INFO_BTF=y, on x86-64" },
	{ "functions of Ruby", check_ruby, 0, false,
		"the functions of Ruby programs; the interpreter's own are shown",
		"Linux 6.1 or newer with CONFIG_DEBUG_INFO_BTF=y, on x86-64, and libZydis" },
	{ "functions of PHP", check_php, 0, false,
		"the functions of PHP programs; the interpreter's own are shown",
		"Linux 6.1 or newer with CONFIG_DEBUG_INFO_BTF=y, on x86-64, and libZydis" },
	{ "subroutines of Perl", check_perl, 0, false,
		"the subroutines of Perl programs; the interpreter's own functions are shown",
		"Linux 6.1 or newer with CONFIG_DEBUG_INFO_BTF=y, on x86-64, and libZydis" },
	{ "methods of Java", check_java, 0, false,
		"the methods of Java programs, and the callers of generated code without frame "
		"pointers",
		"Linux 6.1 or newer with CONFIG_DEBUG_INFO_BTF=y, on x86-64" },
};

const struct doctor_group doctor_unwind = { "Stacks", checks, ARRAY_SIZE(checks) };
