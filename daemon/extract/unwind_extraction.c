/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/unwind_extraction.h"

#include "base/clock.h"
#include "extract/runtime_hotspot.h"
#include "extract/runtime_perl.h"
#include "extract/runtime_php.h"
#include "extract/runtime_python.h"
#include "extract/runtime_ruby.h"
#include "extract/runtime_v8.h"
#include "extract/symbol_file_writer.h"
#include "extract/thread_context.h"
#include "extract/unwind_packing.h"
#include "extract/unwind_starts.h"

#include <elf.h>
#include <errno.h>

struct unwind_extraction {
	const struct pilotlight_symbol_request *request;
	struct scratch scratch;
	struct unwind_files files;
	struct unwind_sections sections;
	struct unwind_functions functions;
	struct unwind_go go;
	struct unwind_gaps gaps;
	struct unwind_inferred inferred;
	struct unwind_rows rows;
	struct unwind_packing packing;
	struct pilotlight_runtime runtime; /* version 0: none */
	uint32_t runtime_contents;
};

static void done(struct unwind_extraction *extraction)
{
	unwind_packing_done(&extraction->packing);
	unwind_rows_done(&extraction->rows);
	unwind_inferred_done(&extraction->inferred);
	unwind_gaps_done(&extraction->gaps);
	unwind_go_done(&extraction->go);
	unwind_functions_done(&extraction->functions);
	unwind_sections_done(&extraction->sections);
}

/*
 * Infers the rules of code that nothing describes. Hostile code must not cost the rules of the code
 * that is described. Code of Go whose table cannot be read keeps frame pointers.
 */
static int infer(struct unwind_extraction *extraction, const struct unwind_stubs *stubs)
{
	struct scratch *scratch = &extraction->scratch;
	int r;

	if (extraction->files.binary.machine != EM_X86_64 ||
		(extraction->sections.is_go && extraction->go.function_count == 0))
		return 0;
	r = unwind_gaps_read(&extraction->gaps, &extraction->functions, &extraction->go, stubs,
		&extraction->files, scratch);
	if (r == 0)
		r = unwind_inferred_read(
			&extraction->inferred, &extraction->gaps, &extraction->files, scratch);
	/* The file has shrunk, or its code needs too much. */
	if (r == -ENOEXEC || r == -EFBIG) {
		unwind_inferred_done(&extraction->inferred);
		return 0;
	}
	return r;
}

static int read_described(struct unwind_extraction *extraction)
{
	struct scratch *scratch = &extraction->scratch;
	int r;

	r = unwind_sections_read(&extraction->sections, &extraction->files, scratch);
	if (r == 0)
		r = unwind_functions_read(
			&extraction->functions, &extraction->sections, &extraction->files, scratch);
	if (r == 0 && extraction->sections.is_go)
		r = unwind_go_read(&extraction->go, &extraction->files, scratch);
	return r;
}

/* Builds the table of what is described, and of what has been inferred. */
static int build_table(struct unwind_extraction *extraction, const struct unwind_stubs *plt)
{
	struct scratch *scratch = &extraction->scratch;
	struct unwind_stubs stubs = *plt;
	int r = 0;

	unwind_packing_done(&extraction->packing);
	unwind_rows_done(&extraction->rows);
	/* Go's table knows the entry, and has rows for what lies behind it. */
	if (extraction->go.function_count == 0)
		r = unwind_starts_add(&stubs, &extraction->functions, &extraction->files,
			!extraction->inferred.has_entry);
	if (r == 0)
		r = unwind_rows_build(&extraction->rows, &extraction->functions,
			&extraction->sections, &extraction->files, &stubs, &extraction->go,
			&extraction->inferred, scratch);
	if (r == 0)
		r = unwind_packing_build(&extraction->packing, &extraction->rows, scratch);
	return r;
}

static int build(struct unwind_extraction *extraction)
{
	struct unwind_stubs stubs;
	int r = read_described(extraction);

	if (r == 0)
		r = unwind_stubs_find(&stubs, &extraction->files);
	if (r == 0)
		r = infer(extraction, &stubs);
	if (r == 0)
		r = build_table(extraction, &stubs);
	if (r != -EFBIG || extraction->inferred.rows.count == 0)
		return r;
	/* What is described may fit alone. */
	unwind_inferred_done(&extraction->inferred);
	return build_table(extraction, &stubs);
}

/* Without a description, threads have no context. */
static int describe_context(struct unwind_extraction *extraction)
{
	int r = thread_context_read(&extraction->files, &extraction->runtime);

	if (r == 0)
		extraction->runtime_contents = PILOTLIGHT_SYMBOL_HAS_RUNTIME;
	return r == -ENODATA || r == -ENOTSUP || r == -ENOEXEC || r == -EFBIG ? 0 : r;
}

/* An interpreter that cannot be described must not cost the table. */
static int describe_runtime(struct unwind_extraction *extraction)
{
	int r = runtime_python_read(&extraction->files, &extraction->scratch, &extraction->runtime);
	uint32_t lacks = 0;

	if (r == -ENODATA)
		r = runtime_v8_read(
			&extraction->files, &extraction->scratch, &extraction->runtime, &lacks);
	if (r == -ENODATA)
		r = runtime_ruby_read(
			&extraction->files, &extraction->scratch, &extraction->runtime);
	if (r == -ENODATA)
		r = runtime_hotspot_read(
			&extraction->files, &extraction->scratch, &extraction->runtime);
	if (r == -ENODATA)
		r = runtime_php_read(
			&extraction->files, &extraction->scratch, &extraction->runtime);
	if (r == -ENODATA)
		r = runtime_perl_read(
			&extraction->files, &extraction->scratch, &extraction->runtime);
	switch (r) {
	case 0:
		extraction->runtime_contents = PILOTLIGHT_SYMBOL_HAS_RUNTIME;
		return 0;
	case -ENODATA:
		return describe_context(extraction);
	case -ENOTSUP:
	case -ENOEXEC:
	case -EFBIG:
		extraction->runtime_contents = PILOTLIGHT_SYMBOL_LACKS_RUNTIME | lacks;
		if (!code_instruction_is_loaded())
			extraction->runtime_contents |= PILOTLIGHT_SYMBOL_LACKS_DECODER;
		return 0;
	default:
		return r;
	}
}

static uint32_t count_failures(const struct unwind_extraction *extraction)
{
	return extraction->sections.failed + extraction->functions.failed + extraction->go.failed +
	       extraction->rows.failed;
}

static void complete_summary(struct unwind_extraction *extraction)
{
	struct pilotlight_unwind_summary *summary = &extraction->packing.summary;

	summary->function_count = extraction->rows.function_count + extraction->go.function_count;
	summary->functions_failed = count_failures(extraction);
	summary->machine = extraction->files.binary.machine;
	if (extraction->rows.keeps_frame_pointers)
		summary->flags |= PILOTLIGHT_UNWIND_KEEPS_FRAME_POINTERS;
	if (extraction->rows.tells_rbx)
		summary->flags |= PILOTLIGHT_UNWIND_TELLS_RBX;
}

static uint8_t rank_of(const struct unwind_extraction *extraction)
{
	return extraction->rows.debug_file_count > 0 ? extraction->request->debug_rank
						     : PILOTLIGHT_SYMBOL_RANK_BINARY;
}

static uint32_t contents_of(const struct unwind_extraction *extraction)
{
	const struct unwind_rows *rows = &extraction->rows;
	uint32_t contents = extraction->runtime_contents;

	if (extraction->go.function_count > 0)
		contents |= PILOTLIGHT_SYMBOL_HAS_GO_TABLE;
	if (rows->eh_count > 0)
		contents |= PILOTLIGHT_SYMBOL_HAS_EH_FRAME;
	if (rows->function_count > rows->eh_count)
		contents |= PILOTLIGHT_SYMBOL_HAS_DEBUG_FRAME;
	if (extraction->packing.summary.inferred_rows > 0)
		contents |= PILOTLIGHT_SYMBOL_HAS_INFERRED;
	if (extraction->gaps.gaps.count > 0 && !code_instruction_is_loaded())
		contents |= PILOTLIGHT_SYMBOL_LACKS_DECODER;
	return contents;
}

static int write_table(struct unwind_extraction *extraction, int fd, uint64_t *ret_bytes)
{
	const struct pilotlight_symbol_request *request = extraction->request;
	const struct code_segments *code = &extraction->files.code;
	const struct unwind_packing *packing = &extraction->packing;
	const struct symbol_identity identity = symbol_identity_make(
		request->identity_kind, request->identity, request->identity_bytes);
	struct symbol_file_writer writer;
	int r;

	if (identity.id.size == 0 || identity.id.size > BUILD_ID_BYTES)
		return -EINVAL;
	symbol_file_writer_init(&writer, &identity, rank_of(extraction), request->origin);
	writer.head.header.contents = contents_of(extraction);
	writer.head.header.machine = packing->summary.machine;
	writer.head.header.base_vaddr = code->base;
	symbol_file_writer_add(&writer, PILOTLIGHT_SYMBOL_SEGMENTS, code->segments, code->count,
		sizeof(code->segments[0]));
	symbol_file_writer_add(
		&writer, PILOTLIGHT_SYMBOL_UNWIND, &packing->summary, 1, sizeof(packing->summary));
	symbol_file_writer_add_array(&writer, PILOTLIGHT_SYMBOL_UNWIND_PAGES, &packing->pages);
	symbol_file_writer_add_array(&writer, PILOTLIGHT_SYMBOL_UNWIND_LINES, &packing->lines);
	symbol_file_writer_add(&writer, PILOTLIGHT_SYMBOL_UNWIND_RULES, packing->rules,
		packing->summary.rule_count, sizeof(packing->rules[0]));
	symbol_file_writer_add_array(&writer, PILOTLIGHT_SYMBOL_UNWIND_ESCAPES, &packing->escapes);
	symbol_file_writer_add(&writer, PILOTLIGHT_SYMBOL_RUNTIME, &extraction->runtime,
		extraction->runtime.version != 0, sizeof(extraction->runtime));
	r = symbol_file_writer_write(&writer, fd);
	if (r < 0)
		return r;
	*ret_bytes = writer.head.header.file_bytes;
	return 0;
}

static int run(struct unwind_extraction *extraction, const struct extraction_files *files,
	struct pilotlight_symbol_report *report)
{
	int r;

	r = unwind_files_open(&extraction->files, files);
	if (r < 0)
		return r;
	report->has_taken_debug = extraction->files.has_debug;
	r = build(extraction);
	if (r < 0)
		return r;
	if (extraction->rows.function_count == 0 && !extraction->sections.is_go &&
		extraction->packing.summary.inferred_rows == 0)
		return count_failures(extraction) > 0 ? -ENOEXEC : -ENODATA;
	r = describe_runtime(extraction);
	if (r < 0)
		return r;
	complete_summary(extraction);
	report->rank = rank_of(extraction);
	return write_table(extraction, files->output_fd, &report->output_bytes);
}

int unwind_extraction_run(const struct extraction_files *files,
	const struct pilotlight_symbol_request *request,
	struct pilotlight_symbol_report *ret_report)
{
	struct pilotlight_symbol_report report = {
		.version = PILOTLIGHT_WORKER_VERSION,
		.rank = PILOTLIGHT_SYMBOL_RANK_BINARY,
	};
	struct unwind_extraction extraction = { .request = request };

	scratch_init(&extraction.scratch, files->scratch_fd, request->scratch_bytes_max,
		EXTRACTION_MEMORY_BYTES);
	report.error = run(&extraction, files, &report);
	report.scratch_bytes = extraction.scratch.used_bytes;
	done(&extraction);
	report.cpu_ns = clock_process_cpu_ns();
	*ret_report = report;
	return report.error;
}
