/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `pilotlight jit verify`: compares the records of a jitdump file with the specification, one after
 * the other. Memory is bounded (I4): beyond the bound some checks are skipped, with a note.
 */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash_index.h"
#include "base/utf8.h"
#include "jit/code_index.h"
#include "jit/jitdump_reader.h"
#include "tools/jit/jit_commands.h"
#include "tools/jit/jit_deviations.h"
#include "tools/jit/jit_input.h"
#include "tools/jit/jit_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Bounds on source lines that wait for their code, and on code. */
enum { LINES_MAX = 1 << 20 };
#define INDEX_BYTES_MAX ((size_t)512 << 20)
enum { PIDS_MAX = 64 };

struct verified_lines {
	uint64_t address;
	uint64_t offset; /* in the file */
	bool is_claimed; /* their code has come */
};

struct verification {
	struct invocation base;
	bool is_all;
	struct jit_deviations deviations;
	uint64_t changed_ns;	  /* the file, since 1970 */
	struct code_index *index; /* owned: the code so far */
	bool has_header;	  /* it has been compared */
	bool has_seen;		  /* a record */
	uint64_t latest_ns;	  /* the greatest time */
	bool is_closed;
	uint32_t pids[PIDS_MAX];
	size_t pid_count;
	struct verified_lines *lines;
	size_t lines_count, lines_capacity;
	struct hash_index by_address;
	bool has_too_many_lines;
	/* DEBUG_INFOs whose lines begin where a biased function does; before it; and anywhere. */
	uint64_t with_bias, with_less, with_lines;
	uint64_t first_with_bias; /* its offset */
};

/* What V8 and LLVM add: the size of an ELF header. */
enum { LINES_BIAS = 64 };

/* Lines may begin this much before their code, as Erlang's do. */
enum { LINES_BEFORE_MAX = 64 << 10 };

/* The machine has not run for 31 years, which is how long ns since 1970 are as CLOCK_MONOTONIC. */
#define REALTIME_NS_MIN UINT64_C(1000000000000000000)
#define DAY_US		(UINT64_C(86400) * 1000000)

/* The other clock that a time stamp seems to come from, or NULL. */
static const char *name_clock(const struct verification *verification, uint64_t timestamp)
{
	uint64_t changed_us = verification->changed_ns / 1000;
	uint64_t distance_us =
		timestamp > changed_us ? timestamp - changed_us : changed_us - timestamp;

	if (timestamp >= REALTIME_NS_MIN)
		return "the time of day in ns";
	/* CLOCK_MONOTONIC is in this range only for a minute or two, some 20 days after the boot.
	 */
	if (distance_us < DAY_US)
		return "the time of day in microseconds";
	return NULL;
}

static void check_header(struct verification *verification, const struct jitdump_header *header)
{
	struct jit_deviations *deviations = &verification->deviations;
	unsigned odd = jitdump_header_oddities(header);

	if (odd & JITDUMP_ODD_SIZE)
		jit_deviations_add(deviations, JIT_DEVIATION_HEADER_SIZE, 8,
			"the header has %" PRIu32 " bytes, its fields have 40", header->total_size);
	if (odd & JITDUMP_ODD_MACHINE)
		jit_deviations_add(
			deviations, JIT_DEVIATION_HEADER_MACHINE, 12, "the machine is 0");
	if (odd & JITDUMP_ODD_PADDING)
		jit_deviations_add(deviations, JIT_DEVIATION_HEADER_PADDING, 16,
			"the padding is 0x%" PRIx32, header->padding);
	if (odd & JITDUMP_ODD_FLAGS)
		jit_deviations_add(deviations, JIT_DEVIATION_HEADER_FLAGS, 32,
			"the flags are 0x%" PRIx64, header->flags);
	if (header->flags & PILOTLIGHT_JITDUMP_ARCH_TIMESTAMP)
		jit_deviations_add(
			deviations, JIT_NOTE_CPU_CLOCK, 32, "times are those of the CPU's counter");
}

/* Of the header, whose time is before all others where the clock is the same; and of the records.
 */
static void check_clocks(struct verification *verification, const struct jitdump_header *header,
	uint64_t offset, uint64_t timestamp)
{
	struct jit_deviations *deviations = &verification->deviations;
	const char *of_header = name_clock(verification, header->timestamp);
	const char *of_record = name_clock(verification, timestamp);
	char time[JIT_TEXT_TIME_BYTES], first[JIT_TEXT_TIME_BYTES];

	if (header->flags & PILOTLIGHT_JITDUMP_ARCH_TIMESTAMP)
		return;
	if (of_header)
		jit_deviations_add(deviations, JIT_DEVIATION_HEADER_CLOCK, 24,
			"the header's time is %s", of_header);
	else if (header->timestamp > timestamp)
		jit_deviations_add(deviations, JIT_DEVIATION_HEADER_CLOCK, 24,
			"the header's time, %s, is later than the first record's, %s",
			jit_text_time(header->timestamp, time), jit_text_time(timestamp, first));
	if (of_record)
		jit_deviations_add(deviations, JIT_DEVIATION_CLOCK, offset + 8,
			"the first record's time is %s", of_record);
	else if (timestamp == 0)
		jit_deviations_add(deviations, JIT_DEVIATION_CLOCK, offset + 8,
			"the first record's time is 0");
}

static void check_order(struct verification *verification, const struct jitdump_header *header,
	uint64_t offset, uint64_t timestamp)
{
	char time[JIT_TEXT_TIME_BYTES], latest[JIT_TEXT_TIME_BYTES];

	if (!verification->has_seen)
		check_clocks(verification, header, offset, timestamp);
	verification->has_seen = true;
	if (timestamp < verification->latest_ns)
		jit_deviations_add(&verification->deviations, JIT_DEVIATION_BACKWARD, offset + 8,
			"its time, %s, is before the time of a record before it, %s",
			jit_text_time(timestamp, time),
			jit_text_time(verification->latest_ns, latest));
	else
		verification->latest_ns = timestamp;
	if (verification->is_closed)
		jit_deviations_add(&verification->deviations, JIT_DEVIATION_AFTER_CLOSE, offset,
			"a record comes after CLOSE");
	verification->is_closed = false;
}

static void check_pid(struct verification *verification, const struct jitdump_header *header,
	uint64_t offset, uint32_t pid)
{
	if (pid == header->pid)
		return;
	for (size_t i = 0; i < verification->pid_count; i++)
		if (verification->pids[i] == pid)
			return;
	if (verification->pid_count == ARRAY_SIZE(verification->pids))
		return;
	verification->pids[verification->pid_count++] = pid;
	jit_deviations_add(&verification->deviations, JIT_DEVIATION_PIDS, offset + 16,
		"process %" PRIu32 " writes into the file of %" PRIu32, pid, header->pid);
}

static bool is_utf8(const char *bytes, size_t size)
{
	for (size_t i = 0; i < size;) {
		size_t length = utf8_sequence(bytes + i, size - i);

		if (length == 0)
			return false;
		i += length;
	}
	return true;
}

static bool equals_address(const void *owner, uint32_t id, const void *key)
{
	const struct verification *verification = owner;
	const uint64_t *address = key;

	return verification->lines[id].address == *address;
}

static struct verified_lines *find_lines(const struct verification *verification, uint64_t address)
{
	uint32_t id = hash_index_find(&verification->by_address, hash_pair(address, 0),
		equals_address, verification, &address);

	return id == HASH_INDEX_NONE ? NULL : &verification->lines[id];
}

static void report_unclaimed(struct verification *verification, const struct verified_lines *lines)
{
	jit_deviations_add(&verification->deviations, JIT_DEVIATION_LINES_UNCLAIMED, lines->offset,
		"no LOAD of 0x%" PRIx64 " follows", lines->address);
}

/* Keeps the lines until their LOAD comes. Returns 0 or -ENOMEM. */
static int keep_lines(struct verification *verification, uint64_t offset, uint64_t address)
{
	struct verified_lines *lines = find_lines(verification, address);
	int r;

	if (lines) {
		if (!lines->is_claimed)
			report_unclaimed(verification, lines);
		*lines = (struct verified_lines){ address, offset, false };
		return 0;
	}
	r = ARRAY_RESERVE(verification->lines, &verification->lines_capacity,
		verification->lines_count + 1, LINES_MAX);
	if (r == 0)
		r = hash_index_reserve(&verification->by_address);
	if (r == -E2BIG) {
		verification->has_too_many_lines = true;
		return 0;
	}
	if (r < 0)
		return r;
	hash_index_insert(&verification->by_address, hash_pair(address, 0),
		(uint32_t)verification->lines_count);
	verification->lines[verification->lines_count++] =
		(struct verified_lines){ address, offset, false };
	return 0;
}

static void check_load(
	struct verification *verification, uint64_t offset, const struct jitdump_record *record)
{
	struct jit_deviations *deviations = &verification->deviations;
	struct verified_lines *lines = find_lines(verification, record->load.address);
	uint64_t end;

	if (lines)
		lines->is_claimed = true;
	if (record->load.name_size == 0)
		jit_deviations_add(deviations, JIT_DEVIATION_NO_NAME, offset, "its name is empty");
	if (!record->load.is_cut && !is_utf8(record->load.name, record->load.name_size))
		jit_deviations_add(
			deviations, JIT_DEVIATION_NAME_TEXT, offset + 56, "its name is no UTF-8");
	if (record->load.vma != record->load.address)
		jit_deviations_add(deviations, JIT_DEVIATION_VMA, offset + 24,
			"its vma is 0x%" PRIx64 ", its code at 0x%" PRIx64, record->load.vma,
			record->load.address);
	if (__builtin_add_overflow(record->load.address, record->load.size, &end))
		jit_deviations_add(deviations, JIT_DEVIATION_ADDRESS, offset + 32,
			"0x%" PRIx64 " bytes of code at 0x%" PRIx64 " end beyond the address space",
			record->load.size, record->load.address);
	else if (record->load.code_bytes != record->load.size)
		jit_deviations_add(deviations, JIT_DEVIATION_NO_CODE, offset + 40,
			"%" PRIu64 " bytes of code are missing", record->load.size);
}

static void check_move(
	struct verification *verification, uint64_t offset, const struct jitdump_record *record)
{
	struct jit_deviations *deviations = &verification->deviations;
	struct code_found found;
	uint64_t end;

	if (record->move.vma != record->move.to)
		jit_deviations_add(deviations, JIT_DEVIATION_VMA, offset + 24,
			"its vma is 0x%" PRIx64 ", its code is moved to 0x%" PRIx64,
			record->move.vma, record->move.to);
	if (__builtin_add_overflow(record->move.to, record->move.size, &end))
		jit_deviations_add(deviations, JIT_DEVIATION_ADDRESS, offset + 40,
			"0x%" PRIx64 " bytes of code at 0x%" PRIx64 " end beyond the address space",
			record->move.size, record->move.to);
	if (!code_index_find(verification->index, record->move.from, UINT64_MAX, NULL, &found))
		jit_deviations_add(deviations, JIT_DEVIATION_MOVE_UNKNOWN, offset + 32,
			"no code is at 0x%" PRIx64, record->move.from);
	else if (found.size != record->move.size || found.address != record->move.from)
		jit_deviations_add(deviations, JIT_DEVIATION_MOVE_SIZE, offset + 48,
			"0x%" PRIx64 " bytes are moved of code that has 0x%" PRIx64,
			record->move.size, found.size);
}

/* Is it an address of a function at `start`? Its size comes with its LOAD. */
static bool is_plausible(const struct jitdump_debug_entry *entry, uint64_t start)
{
	uint64_t distance =
		entry->address < start ? start - entry->address : entry->address - start;

	return entry->line >= 0 &&
	       distance <= (entry->address < start ? LINES_BEFORE_MAX : JITDUMP_RECORD_BYTES_MAX);
}

/* `distance` of the first from the start of the code. */
static void count_lines(struct verification *verification, uint64_t offset, int64_t distance)
{
	verification->with_lines++;
	if (distance < LINES_BIAS)
		verification->with_less++;
	if (distance == LINES_BIAS && verification->with_bias++ == 0)
		verification->first_with_bias = offset;
}

static int check_lines(struct verification *verification, uint64_t offset,
	const struct jitdump_header *header, const struct jitdump_record *record)
{
	struct jitdump_debug_cursor cursor = { 0 };
	struct jitdump_debug_entry entry;
	uint64_t lowest = UINT64_MAX, entries = 0;
	int r;

	while ((r = jitdump_debug_next(header, record, &cursor, &entry)) > 0 &&
		is_plausible(&entry, record->debug.address)) {
		entries++;
		if (entry.address < lowest)
			lowest = entry.address;
	}
	if (r != 0) {
		jit_deviations_add(&verification->deviations, JIT_DEVIATION_LINES_DAMAGED, offset,
			"entry %" PRIu64 " of %" PRIu64 " makes no sense", entries + 1,
			record->debug.entry_count);
	} else if (entries > 0) {
		count_lines(verification, offset, (int64_t)(lowest - record->debug.address));
	}
	return keep_lines(verification, offset, record->debug.address);
}

static int visit(void *context, uint64_t file_offset, const struct jitdump_header *header,
	const struct jitdump_record *record, int error)
{
	struct verification *verification = context;
	struct jit_deviations *deviations = &verification->deviations;
	int r = 0;

	if (!verification->has_header)
		check_header(verification, header);
	verification->has_header = true;
	/* Reported with the rest of the file. */
	if (error == -EMSGSIZE)
		return deviations->output->error;
	check_order(verification, header, file_offset, record->timestamp);
	if (error < 0) {
		jit_deviations_add(deviations, JIT_DEVIATION_DAMAGED, file_offset,
			"%s of %" PRIu32 " bytes has less than it says", jit_text_kind(record->id),
			record->total_size);
		return deviations->output->error;
	}
	switch (record->id) {
	case PILOTLIGHT_JITDUMP_LOAD:
		check_pid(verification, header, file_offset, record->load.pid);
		check_load(verification, file_offset, record);
		break;
	case PILOTLIGHT_JITDUMP_MOVE:
		check_pid(verification, header, file_offset, record->move.pid);
		check_move(verification, file_offset, record);
		break;
	case PILOTLIGHT_JITDUMP_DEBUG_INFO:
		r = check_lines(verification, file_offset, header, record);
		break;
	case PILOTLIGHT_JITDUMP_CLOSE:
		verification->is_closed = true;
		break;
	case PILOTLIGHT_JITDUMP_UNWINDING_INFO:
		if (record->unwinding.header_size > record->unwinding.size)
			jit_deviations_add(deviations, JIT_DEVIATION_UNWINDING, file_offset + 24,
				".eh_frame_hdr has %" PRIu64 " bytes of %" PRIu64,
				record->unwinding.header_size, record->unwinding.size);
		break;
	default:
		jit_deviations_add(deviations, JIT_DEVIATION_UNKNOWN, file_offset,
			"the specification has no records of the id %" PRIu32, record->id);
	}
	return r < 0 ? r : deviations->output->error;
}

static int compare_offsets(const void *a, const void *b)
{
	const struct verified_lines *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

static void finish_lines(struct verification *verification)
{
	/* The index by address is no longer used. */
	if (verification->lines_count > 0)
		qsort(verification->lines, verification->lines_count, sizeof(*verification->lines),
			compare_offsets);
	for (size_t i = 0; i < verification->lines_count; i++)
		if (!verification->lines[i].is_claimed)
			report_unclaimed(verification, &verification->lines[i]);
	/* Some lines begin there by chance; then others begin before, or fewer do. */
	if (verification->with_bias > 0 && verification->with_less == 0 &&
		verification->with_bias >= verification->with_lines - verification->with_bias)
		jit_deviations_add(&verification->deviations, JIT_DEVIATION_LINES_BIASED,
			verification->first_with_bias,
			"no lines begin less than 64 bytes after their code, and those of %" PRIu64
			" in %" PRIu64 " DEBUG_INFOs just there",
			verification->with_bias, verification->with_lines);
}

static void finish(struct verification *verification, const struct jitdump_reader_state *state)
{
	struct jit_deviations *deviations = &verification->deviations;
	uint64_t whole_bytes = state->file_bytes - state->unread_bytes;
	struct code_index_counters counters;

	if (!verification->has_header)
		check_header(verification, &state->header);
	finish_lines(verification);
	if (state->fault == JITDUMP_FAULT_RECORD_SIZE)
		jit_deviations_add(deviations, JIT_DEVIATION_RECORD_SIZE, state->fault_offset + 4,
			"the size of this record cannot be");
	else if (state->unread_bytes > 0)
		jit_deviations_add(deviations, JIT_DEVIATION_PARTIAL_TAIL, whole_bytes,
			"of the last record there are %" PRIu64 " bytes", state->unread_bytes);
	else if (!verification->is_closed)
		jit_deviations_add(
			deviations, JIT_NOTE_NO_CLOSE, whole_bytes, "the last record is no CLOSE");
	code_index_counters(verification->index, &counters);
	if (verification->has_too_many_lines || counters.code_dropped > 0)
		jit_deviations_add(deviations, JIT_NOTE_UNCHECKED, 0,
			"not all MOVEs and DEBUG_INFOs were compared with their LOADs");
}

static void done(void *invocation)
{
	struct verification *verification = invocation;

	code_index_free(verification->index);
	hash_index_done(&verification->by_address);
	free(verification->lines);
}

static int run(void *invocation)
{
	struct verification *verification = invocation;
	struct invocation *base = &verification->base;
	struct jit_deviations *deviations = &verification->deviations;
	struct jitdump_reader_state state;
	struct jit_input input;
	int r, flushed;

	jit_deviations_init(deviations, &base->output, base->is_json ? &base->json : NULL,
		verification->is_all);
	r = jit_input_open(base->arguments[0], &input, &base->fault);
	verification->changed_ns = input.changed_ns;
	if (r == 0)
		r = code_index_new(INDEX_BYTES_MAX, &verification->index);
	if (r == 0)
		r = jit_input_read(
			&input, verification->index, visit, verification, &state, &base->fault);
	jit_input_done(&input);
	if (r == 0) {
		finish(verification, &state);
		jit_deviations_sum_up(deviations, state.counters.records);
	}
	flushed = command_flush(base);
	if (r < 0 || flushed < 0)
		return flushed < 0 ? flushed : r;
	return jit_deviations_has_any(deviations) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static const struct option_row options[] = {
	{ 0, "all", NULL, "Print every deviation, not only the first eight of a kind.", OPTION_SET,
		.offset = offsetof(struct verification, is_all) },
	{ 0 },
};

const struct command jit_verify = {
	.name = "jit verify",
	.summary = "compare a jitdump file with the specification",
	.synopsis = "[OPTION...] FILE",
	.description =
		"Compare a jitdump file with the specification: what deviates, at which offset, "
		"and what that means for profiles. The exit status is 1 if anything deviates.",
	.has_json = true,
	.options = { options },
	.arguments_min = 1,
	.arguments_max = 1,
	.argument = "a jitdump file",
	.bytes = sizeof(struct verification),
	.run = run,
	.done = done,
};
