/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwind_tables FILE...
 *
 * The size of unwind tables and the cost of making them: a line for each of the biggest, and the
 * sum. Each table is made in its own process. The CPU time is that of making the table; the memory
 * is the process's peak resident set, of which the program itself is some megabytes. Binaries
 * without a table are counted by reason.
 */
#include "extract/unwind_extraction.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "extract/code_instruction.h"
#include "symbol/symbol_file.h"
#include "symbol/symbol_identity.h"
#include "tests/unwind/unwind_rows.h"
#include "unwind/unwind_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHOWN = 12 };

/* Shared with the process that makes the table. */
struct outcome {
	const char *path;
	int error;
	uint32_t rows, rules, unsupported;
	uint64_t bytes, cpu_ns, code_bytes;
	long peak_kib;
};

static int open_scratch(void)
{
	const char *folder = getenv("TMPDIR");

	return open(folder ? folder : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static int measure_table(int fd, struct outcome *outcome)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	struct unwind_row_cursor cursor = { 0 };
	struct unwind_table table;
	struct unwind_row row;
	int r = symbol_file_open(fd, &file);

	if (r == 0)
		r = unwind_table_init(&table, file);
	if (r < 0)
		return r;
	cursor.table = &table;
	while (unwind_row_cursor_next(&cursor, &row))
		if (row.rule->kind != PILOTLIGHT_UNWIND_STOP)
			outcome->code_bytes += row.end - row.start;
	outcome->rows = table.summary->row_count;
	outcome->rules = table.summary->rule_count;
	outcome->unsupported = table.summary->unsupported_rows;
	outcome->bytes = unwind_table_bytes(&table);
	return 0;
}

static int make_table(struct outcome *outcome)
{
	struct pilotlight_symbol_request request = {
		.version = PILOTLIGHT_WORKER_VERSION,
		.has_binary = 1,
		.scratch_bytes_max = 4ULL << 30,
	};
	struct extraction_files files = { .debug_fd = -1, .alternate_fd = -1 };
	struct pilotlight_symbol_report report;
	struct symbol_identity identity;
	int r;

	files.binary_fd = open(outcome->path, O_RDONLY | O_CLOEXEC);
	if (files.binary_fd < 0)
		return -errno;
	files.scratch_fd = open_scratch();
	files.output_fd = open_scratch();
	if (files.scratch_fd < 0 || files.output_fd < 0)
		return -errno;
	r = symbol_identity_read_file(files.binary_fd, &identity);
	if (r < 0)
		return r;
	request.identity_kind = identity.kind;
	request.identity_bytes = identity.id.size;
	memcpy(request.identity, identity.id.bytes, sizeof(request.identity));
	/* As the worker does. */
	(void)code_instruction_load(NULL);
	r = unwind_extraction_run(&files, &request, &report);
	outcome->cpu_ns = report.cpu_ns;
	return r < 0 ? r : measure_table(files.output_fd, outcome);
}

static void make_in_process(struct outcome *outcome)
{
	struct rusage usage;
	int status;
	pid_t pid;

	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		outcome->error = make_table(outcome);
		_exit(0);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		outcome->error = -errno;
	else if (status != 0)
		outcome->error = -EFAULT;
	else
		outcome->peak_kib = usage.ru_maxrss;
}

static int by_bytes(const void *a, const void *b)
{
	const struct outcome *left = a, *right = b;

	return (left->bytes < right->bytes) - (left->bytes > right->bytes);
}

static void print_outcome(const char *name, const struct outcome *outcome)
{
	printf("%-40.40s %8.2f MB %9u %6u %8.1f KiB", name, (double)outcome->code_bytes / 1e6,
		outcome->rows, outcome->rules, (double)outcome->bytes / 1024);
	printf(" %6.2f %7.3f s %7.1f MiB\n",
		outcome->rows > 0 ? (double)outcome->bytes / outcome->rows : 0,
		(double)outcome->cpu_ns / 1e9, (double)outcome->peak_kib / 1024);
}

static void print_refusals(const struct outcome *outcomes, size_t count)
{
	const int errors[] = { ENODATA, ENOEXEC, EFBIG, ENOENT };
	size_t others = 0;

	for (size_t e = 0; e <= ARRAY_SIZE(errors); e++) {
		size_t matching = 0;

		for (size_t i = 0; i < count; i++)
			if (e < ARRAY_SIZE(errors) ? outcomes[i].error == -errors[e]
						   : outcomes[i].error != 0)
				matching++;
		if (e < ARRAY_SIZE(errors)) {
			others += matching;
			if (matching > 0)
				printf("without a table: %zu, %s\n", matching, strerror(errors[e]));
		} else if (matching > others) {
			printf("without a table: %zu, other reasons\n", matching - others);
		}
	}
}

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? (size_t)argc - 1 : 0, made = 0;
	struct outcome *outcomes, sum = { 0 };

	if (count == 0) {
		fprintf(stderr, "Usage: unwind_tables FILE...\n");
		return 2;
	}
	outcomes = mmap(NULL, count * sizeof(*outcomes), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (outcomes == MAP_FAILED) {
		perror("unwind_tables");
		return 1;
	}
	for (size_t i = 0; i < count; i++) {
		outcomes[i].path = argv[i + 1];
		make_in_process(&outcomes[i]);
		if (outcomes[i].error)
			continue;
		made++;
		sum.rows += outcomes[i].rows;
		sum.rules += outcomes[i].rules;
		sum.unsupported += outcomes[i].unsupported;
		sum.bytes += outcomes[i].bytes;
		sum.cpu_ns += outcomes[i].cpu_ns;
		sum.code_bytes += outcomes[i].code_bytes;
		if (outcomes[i].peak_kib > sum.peak_kib)
			sum.peak_kib = outcomes[i].peak_kib;
	}
	qsort(outcomes, count, sizeof(*outcomes), by_bytes);
	printf("%-40s %11s %9s %6s %12s %6s %9s %11s\n", "", "code", "rows", "rules", "table",
		"a row", "CPU", "memory");
	for (size_t i = 0; i < count && i < SHOWN; i++)
		if (!outcomes[i].error)
			print_outcome(outcomes[i].path, &outcomes[i]);
	print_outcome("all", &sum);
	printf("%zu files; %u rows (%.3f %%) are not supported\n", made, sum.unsupported,
		sum.rows > 0 ? 100.0 * sum.unsupported / sum.rows : 0);
	print_refusals(outcomes, count);
	return 0;
}
