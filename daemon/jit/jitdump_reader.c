/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run first checks whether the file was rewritten and has a whole record to read. Only then does
 * it allocate a buffer, which it frees at its end: a thousand idle files cost next to nothing. Each
 * record succeeds or fails as a whole: after -ENOMEM at most the index has changed, and the record
 * is read again.
 */
#include "jit/jitdump_reader.h"

#include "base/array.h"
#include "base/clock.h"
#include "jit/counter_clock.h"
#include "jit/jitdump_lines.h"
#include "jit/jitdump_window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	BUFFER_BYTES = 256 << 10,
	BUFFER_BYTES_MIN = 4096,
	STEP_BYTES = 4096,
	STEP_LINES = 32,
	HEADER_BYTES = sizeof(struct pilotlight_jitdump_header),
	PREFIX_BYTES = sizeof(struct pilotlight_jitdump_prefix),
	FUTURE_TOLERANCE_NS = NSEC_PER_SEC,
};

struct jitdump_reader {
	int fd; /* owned */
	size_t buffer_bytes;
	int64_t monotonic_offset_ns;
	uint64_t latest_ns; /* 0: when it is read */
	enum jitdump_runtime path_runtime;
	jitdump_record_function watcher;
	void *watcher_context;

	/* The header as it was read: another one shows that the file was rewritten. */
	uint8_t header_bytes[HEADER_BYTES];
	size_t header_size;

	struct jitdump_reader_state state; /* without what is counted elsewhere */
	struct jitdump_runtime_guess guess;
	struct shared_counter_clock own_clock;
	struct shared_counter_clock *shared_clock;
	const struct counter_clock *counter_clock; /* set for a file with CPU time stamps */
	uint64_t offset;			   /* of the next record */
	uint64_t needed_bytes;			   /* the length of the file with the whole of it */
	uint64_t last_ns;			   /* the time stamp of the record before */

	struct jitdump_waiting waiting;
	struct jitdump_lines lines;
	struct jitdump_writers writers;
};

/* The state of one run. */
struct run {
	struct code_index *index; /* may be NULL */
	struct jitdump_window window;
	uint64_t now_ns; /* when the window was last filled, or later */
	int64_t steps;
	uint64_t read_bytes; /* not yet counted as steps */
};

const char *jitdump_fault_name(enum jitdump_fault fault)
{
	static const char *const names[] = {
		[JITDUMP_FAULT_NONE] = "",
		[JITDUMP_FAULT_NO_HEADER] = "shorter than a jitdump header",
		[JITDUMP_FAULT_NOT_JITDUMP] = "no jitdump file",
		[JITDUMP_FAULT_VERSION] = "an unknown version of jitdump",
		[JITDUMP_FAULT_HEADER_SIZE] = "a header of an impossible size",
		[JITDUMP_FAULT_RECORD_SIZE] = "a record of an impossible size",
		[JITDUMP_FAULT_CLOCK] = "time stamps of a clock that cannot be read here",
		[JITDUMP_FAULT_READ] = "a read error",
	};

	return (unsigned)fault < ARRAY_SIZE(names) ? names[fault] : "";
}

int jitdump_reader_new(
	int fd, const struct jitdump_reader_options *options, struct jitdump_reader **ret_reader)
{
	_cleanup_close_ int owned_fd = fd;
	struct jitdump_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	reader->fd = TAKE_FD(owned_fd);
	reader->buffer_bytes = options->buffer_bytes ? options->buffer_bytes : BUFFER_BYTES;
	if (reader->buffer_bytes < BUFFER_BYTES_MIN)
		reader->buffer_bytes = BUFFER_BYTES_MIN;
	reader->monotonic_offset_ns = options->monotonic_offset_ns;
	reader->latest_ns = options->latest_ns;
	reader->shared_clock = options->counter_clock ? options->counter_clock : &reader->own_clock;
	reader->path_runtime = jitdump_runtime_of_path(options->path);
	reader->guess.runtime = reader->path_runtime;
	reader->state.fault = JITDUMP_FAULT_NO_HEADER;
	*ret_reader = reader;
	return 0;
}

void jitdump_reader_free(struct jitdump_reader *reader)
{
	if (!reader)
		return;
	closep(&reader->fd);
	jitdump_waiting_done(&reader->waiting);
	jitdump_lines_done(&reader->lines);
	jitdump_writers_done(&reader->writers);
	free(reader);
}

void jitdump_reader_set_watcher(
	struct jitdump_reader *reader, jitdump_record_function function, void *context)
{
	reader->watcher = function;
	reader->watcher_context = context;
}

static void set_fault(struct jitdump_reader *reader, enum jitdump_fault fault, uint64_t offset)
{
	reader->state.fault = fault;
	reader->state.fault_offset = offset;
}

/* --- the file and its header ------------------------------------------------------------------ */

static void forget_file(struct jitdump_reader *reader)
{
	jitdump_waiting_clear(&reader->waiting);
	reader->header_size = 0;
	reader->state.has_header = false;
	reader->guess = (struct jitdump_runtime_guess){ .runtime = reader->path_runtime };
	reader->offset = reader->needed_bytes = 0;
	reader->last_ns = 0;
	set_fault(reader, JITDUMP_FAULT_NO_HEADER, 0);
}

/* It may be read again later, which does not mend what was wrong with it before. */
static void set_read_fault(struct jitdump_reader *reader)
{
	if (reader->state.fault == JITDUMP_FAULT_NONE ||
		reader->state.fault == JITDUMP_FAULT_NO_HEADER)
		set_fault(reader, JITDUMP_FAULT_READ, reader->offset);
}

/* Takes the size, and starts again if the file was rewritten. */
static void look_at_file(struct jitdump_reader *reader)
{
	uint8_t bytes[HEADER_BYTES];
	struct stat status;
	ssize_t size;

	if (reader->state.fault == JITDUMP_FAULT_READ)
		set_fault(reader,
			reader->state.has_header ? JITDUMP_FAULT_NONE : JITDUMP_FAULT_NO_HEADER, 0);
	if (fstat(reader->fd, &status) < 0 || !S_ISREG(status.st_mode)) {
		set_read_fault(reader);
		return;
	}
	reader->state.file_bytes = (uint64_t)status.st_size;
	size = jitdump_window_pread(reader->fd, bytes, sizeof(bytes), 0);
	if (size < 0) {
		set_read_fault(reader);
		return;
	}
	if (reader->state.file_bytes < reader->offset || (size_t)size < reader->header_size ||
		memcmp(bytes, reader->header_bytes, reader->header_size) != 0) {
		forget_file(reader);
		reader->state.counters.restarts++;
	}
	memcpy(reader->header_bytes, bytes, (size_t)size);
	reader->header_size = (size_t)size;
}

static bool has_counter_stamps(const struct jitdump_reader *reader)
{
	return reader->state.header.flags & PILOTLIGHT_JITDUMP_ARCH_TIMESTAMP;
}

static void read_header(struct jitdump_reader *reader)
{
	struct jitdump_reader_state *state = &reader->state;
	struct jitdump_header header;
	enum jitdump_fault fault =
		jitdump_header_parse(reader->header_bytes, reader->header_size, &header);

	if (fault == JITDUMP_FAULT_NONE && state->file_bytes < header.total_size)
		fault = JITDUMP_FAULT_NO_HEADER;
	set_fault(reader, fault, 0);
	if (fault != JITDUMP_FAULT_NONE)
		return;
	state->header = header;
	state->has_header = true;
	state->counters.bytes += header.total_size;
	reader->offset = header.total_size;
	reader->needed_bytes = reader->offset + PREFIX_BYTES;
	if (reader->guess.runtime == JITDUMP_RUNTIME_UNKNOWN)
		reader->guess.runtime = jitdump_runtime_of_header(&header);
	if (!has_counter_stamps(reader))
		return;
	reader->counter_clock = shared_counter_clock_get(reader->shared_clock);
	if (!reader->counter_clock)
		set_fault(reader, JITDUMP_FAULT_CLOCK, 0);
}

/* --- what a record says ----------------------------------------------------------------------- */

/* A time stamp in ns of our CLOCK_MONOTONIC. */
static uint64_t stamp_ns(const struct jitdump_reader *reader, uint64_t stamp)
{
	const int64_t offset_ns = reader->monotonic_offset_ns;
	uint64_t time_ns;

	if (has_counter_stamps(reader))
		return counter_clock_to_ns(reader->counter_clock, stamp);
	if (offset_ns >= 0)
		return stamp > (uint64_t)offset_ns ? stamp - (uint64_t)offset_ns : 0;
	if (__builtin_add_overflow(stamp, 0 - (uint64_t)offset_ns, &time_ns))
		return UINT64_MAX;
	return time_ns;
}

static int pack_lines(struct jitdump_reader *reader, struct code_index *index, unsigned slot,
	const struct jitdump_record *record, struct code_load *load, bool *ret_is_damaged)
{
	struct jitdump_record debug;
	int r;

	jitdump_waiting_get(&reader->waiting, slot, &debug, ret_is_damaged);
	r = jitdump_lines_pack(&reader->lines, &reader->state.header, &debug, record, index,
		&load->lines, &load->lines_size, ret_is_damaged);
	if (load->lines_size == 0)
		load->lines = NULL;
	return r;
}

/* The writer has reported everything up to this time: never later than now, whatever it says. */
static uint64_t clamp_to_now(const struct run *run, uint64_t time_ns)
{
	return time_ns < run->now_ns ? time_ns : run->now_ns;
}

static int take_load(struct jitdump_reader *reader, const struct run *run,
	const struct jitdump_record *record, uint64_t time_ns)
{
	struct code_load load = {
		.time_ns = time_ns,
		.address = record->load.address,
		.size = record->load.size,
		.name = record->load.name,
		.name_size = record->load.name_size,
	};
	unsigned slot;
	bool is_damaged = false;
	int r;

	r = jitdump_writers_get(&reader->writers, record->load.pid, &load.writer);
	if (r < 0)
		return r;
	slot = jitdump_waiting_find(&reader->waiting, load.address);
	if (slot != JITDUMP_WAITING_NONE) {
		r = pack_lines(reader, run->index, slot, record, &load, &is_damaged);
		if (r < 0)
			return r;
	}
	/* The index counts what it refuses. */
	if (run->index && load.size > 0 && code_index_load(run->index, &load) == -ENOMEM)
		return -ENOMEM;
	if (slot != JITDUMP_WAITING_NONE)
		jitdump_waiting_claim(&reader->waiting, slot);
	reader->state.counters.lines_damaged += is_damaged;
	reader->state.counters.loads++;
	jitdump_writers_note(&reader->writers, load.writer, clamp_to_now(run, time_ns));
	jitdump_runtime_look(&reader->guess, record);
	return 0;
}

static int take_move(struct jitdump_reader *reader, const struct run *run,
	const struct jitdump_record *record, uint64_t time_ns)
{
	struct code_move move = {
		.time_ns = time_ns,
		.from = record->move.from,
		.to = record->move.to,
		.size = record->move.size,
	};
	int r;

	r = jitdump_writers_get(&reader->writers, record->move.pid, &move.writer);
	if (r < 0)
		return r;
	if (run->index && move.size > 0 && code_index_move(run->index, &move) == -ENOMEM)
		return -ENOMEM;
	reader->state.counters.moves++;
	jitdump_writers_note(&reader->writers, move.writer, clamp_to_now(run, time_ns));
	return 0;
}

static int take_payload(struct jitdump_reader *reader, const struct run *run,
	const struct jitdump_record *record, uint64_t time_ns)
{
	struct jitdump_counters *counters = &reader->state.counters;
	int r;

	switch (record->id) {
	case PILOTLIGHT_JITDUMP_LOAD:
		return take_load(reader, run, record, time_ns);
	case PILOTLIGHT_JITDUMP_MOVE:
		return take_move(reader, run, record, time_ns);
	case PILOTLIGHT_JITDUMP_DEBUG_INFO:
		r = jitdump_waiting_add(&reader->waiting, &reader->state.header, record);
		if (r == 0)
			counters->debug_infos++;
		return r;
	case PILOTLIGHT_JITDUMP_CLOSE:
		counters->closes++;
		return 0;
	case PILOTLIGHT_JITDUMP_UNWINDING_INFO:
		counters->unwindings++;
		return 0;
	default:
		counters->unknown++;
		return 0;
	}
}

static bool is_future(uint64_t time_ns, uint64_t now_ns)
{
	return time_ns > now_ns && time_ns - now_ns > FUTURE_TOLERANCE_NS;
}

static int take_record(
	struct jitdump_reader *reader, struct run *run, const struct jitdump_record *record)
{
	struct jitdump_reader_state *state = &reader->state;
	const uint64_t stamp = stamp_ns(reader, record->timestamp);
	const uint64_t time_ns = is_future(stamp, run->now_ns) ? run->now_ns : stamp;
	int r;

	r = take_payload(reader, run, record, time_ns);
	if (r < 0)
		return r;
	if (record->id == PILOTLIGHT_JITDUMP_DEBUG_INFO)
		run->steps -= (int64_t)(record->debug.entry_count / STEP_LINES);
	state->counters.future += time_ns != stamp;
	state->counters.backward += stamp < reader->last_ns;
	reader->last_ns = stamp;
	if (clamp_to_now(run, time_ns) > state->last_record_ns)
		state->last_record_ns = clamp_to_now(run, time_ns);
	return 0;
}

/* --- from record to record -------------------------------------------------------------------- */

/* Names and source lines are needed; code and unwinding tables are not. */
static bool needs_more(const struct jitdump_record *record, int error)
{
	if (error == -EAGAIN)
		return true;
	if (error < 0)
		return false;
	return record->id == PILOTLIGHT_JITDUMP_DEBUG_INFO ||
	       (record->id == PILOTLIGHT_JITDUMP_LOAD && record->load.is_cut);
}

static bool fill(struct jitdump_reader *reader, struct run *run, size_t needed)
{
	const uint64_t left = reader->state.file_bytes - reader->offset;
	uint64_t bytes = run->window.capacity;

	/* Not much more than will be looked at in this run. */
	if (bytes / STEP_BYTES > (uint64_t)run->steps)
		bytes = (uint64_t)run->steps * STEP_BYTES;
	if (bytes < needed)
		bytes = needed;
	if (bytes > left)
		bytes = left;
	if (jitdump_window_fill(&run->window, reader->offset, (size_t)bytes) < 0) {
		set_fault(reader, JITDUMP_FAULT_READ, reader->offset);
		return false;
	}
	/* After the read: code that a record replaces ran until the record was written. */
	run->now_ns = reader->latest_ns ? reader->latest_ns : clock_monotonic_ns();
	return true;
}

/*
 * The next record, and how much of it is in the window. Returns the result of
 * jitdump_record_parse(), or -EAGAIN if the record is unfinished or cannot be read.
 */
static int find_record(struct jitdump_reader *reader, struct run *run,
	struct jitdump_record *record, size_t *ret_size)
{
	const struct jitdump_header *header = &reader->state.header;
	const uint64_t left = reader->state.file_bytes - reader->offset;
	const uint8_t *bytes;
	size_t size, whole;
	int r;

	reader->needed_bytes = reader->offset + PREFIX_BYTES;
	if (left < PREFIX_BYTES)
		return -EAGAIN;
	(void)jitdump_window_at(&run->window, reader->offset, &size);
	if (size < PREFIX_BYTES && !fill(reader, run, PREFIX_BYTES))
		return -EAGAIN;
	bytes = jitdump_window_at(&run->window, reader->offset, &size);
	r = jitdump_record_parse(header, bytes, size, false, record);
	*ret_size = size;
	if (size < PREFIX_BYTES || r == -EMSGSIZE)
		return r;
	if (record->total_size > left) {
		reader->needed_bytes = reader->offset + record->total_size;
		return -EAGAIN;
	}
	whole = record->total_size < run->window.capacity ? record->total_size
							  : run->window.capacity;
	if (size >= whole || !needs_more(record, r))
		return r;
	if (!fill(reader, run, whole))
		return -EAGAIN;
	bytes = jitdump_window_at(&run->window, reader->offset, ret_size);
	/* The file was truncated meanwhile: the next run will see that. */
	if (*ret_size < whole)
		return -EAGAIN;
	return jitdump_record_parse(header, bytes, *ret_size, false, record);
}

static void pass_record(struct jitdump_reader *reader, struct run *run,
	const struct jitdump_record *record, size_t seen)
{
	reader->state.counters.records++;
	reader->state.counters.bytes += record->total_size;
	reader->offset += record->total_size;
	run->read_bytes += seen < record->total_size ? seen : record->total_size;
	run->steps -= 1 + (int64_t)(run->read_bytes / STEP_BYTES);
	run->read_bytes %= STEP_BYTES;
}

/* Returns 1, 0 if there is no more for now, -ENOMEM, or the watcher's error. */
static int take_next(struct jitdump_reader *reader, struct run *run)
{
	struct jitdump_record record;
	size_t seen;
	int error, r;

	error = find_record(reader, run, &record, &seen);
	if (error == -EAGAIN)
		return 0;
	if (reader->watcher) {
		r = reader->watcher(reader->watcher_context, reader->offset, &reader->state.header,
			&record, error);
		if (r < 0)
			return r;
	}
	if (error == -EMSGSIZE) {
		set_fault(reader, JITDUMP_FAULT_RECORD_SIZE, reader->offset);
		return 0;
	}
	if (error < 0) {
		reader->state.counters.damaged++;
	} else {
		r = take_record(reader, run, &record);
		if (r < 0)
			return r;
	}
	pass_record(reader, run, &record, seen);
	return 1;
}

static int64_t read_records(struct jitdump_reader *reader, struct code_index *index, int64_t steps)
{
	const uint64_t unread = reader->state.file_bytes - reader->offset;
	struct run run = { .index = index, .steps = steps };
	int r;

	r = jitdump_window_init(&run.window, reader->fd,
		unread < reader->buffer_bytes ? (size_t)unread : reader->buffer_bytes);
	if (r < 0)
		return r;
	if (has_counter_stamps(reader))
		reader->counter_clock = shared_counter_clock_get(reader->shared_clock);
	do {
		r = take_next(reader, &run);
	} while (r > 0 && run.steps > 0);
	jitdump_window_done(&run.window);
	jitdump_lines_done(&reader->lines);
	jitdump_waiting_trim(&reader->waiting);
	if (r < 0)
		return r;
	return run.steps > 0 ? run.steps : 0;
}

int64_t jitdump_reader_run(struct jitdump_reader *reader, struct code_index *index, int64_t steps)
{
	if (steps <= 0)
		return 0;
	look_at_file(reader);
	if (reader->state.fault == JITDUMP_FAULT_NO_HEADER)
		read_header(reader);
	if (reader->state.fault != JITDUMP_FAULT_NONE ||
		reader->state.file_bytes < reader->needed_bytes)
		return steps;
	return read_records(reader, index, steps);
}

/* --- what is known of it ---------------------------------------------------------------------- */

void jitdump_reader_state(
	const struct jitdump_reader *reader, struct jitdump_reader_state *ret_state)
{
	*ret_state = reader->state;
	ret_state->runtime = reader->guess.runtime;
	ret_state->unread_bytes = reader->state.file_bytes > reader->offset
					  ? reader->state.file_bytes - reader->offset
					  : 0;
	ret_state->counters.lines_unclaimed = reader->waiting.unclaimed;
}

bool jitdump_reader_writer(const struct jitdump_reader *reader, uint32_t pid, uint32_t *ret_writer,
	uint64_t *ret_last_record_ns)
{
	if (!jitdump_writers_find(&reader->writers, pid, ret_writer))
		return false;
	*ret_last_record_ns = reader->writers.writers[*ret_writer].last_record_ns;
	return true;
}

uint32_t jitdump_reader_writer_count(const struct jitdump_reader *reader)
{
	return reader->writers.count;
}

size_t jitdump_reader_bytes(const struct jitdump_reader *reader)
{
	return sizeof(*reader) + reader->waiting.capacity +
	       reader->writers.capacity * sizeof(*reader->writers.writers);
}

void jitdump_reader_forget_lines(struct jitdump_reader *reader)
{
	jitdump_waiting_clear(&reader->waiting);
	jitdump_waiting_trim(&reader->waiting);
}
