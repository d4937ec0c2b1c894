/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/day_tables.h"

#include "base/array.h"
#include "store/column_blob.h"

#include <errno.h>
#include <string.h>

/* The format fixes this order. "Signed" is a difference to the same field of the element before. */
enum day_column {
	COLUMN_HEAD,		/* struct day_mark twice: the start, and the number of elements */
	COLUMN_STRINGS,		/* strings, each with its NUL */
	COLUMN_BINARY,		/* kind, path, text_vaddr, text_bytes, text_offset */
	COLUMN_BUILD_ID,	/* a size byte, then that many bytes */
	COLUMN_SYMBOLS,		/* the same; then a kind byte unless empty */
	COLUMN_LOCATION_BINARY, /* signed */
	COLUMN_ADDRESS,		/* signed, from the last location of the same binary */
	COLUMN_FUNCTION,	/* signed */
	COLUMN_FRAME_COUNT,
	COLUMN_FRAME_FUNCTION, /* signed */
	COLUMN_FRAME_FILE,     /* signed */
	COLUMN_FRAME_LINE,     /* line, column */
	COLUMN_PARENT,	       /* the distance below the node, less one */
	COLUMN_NODE_LOCATION,  /* signed */
	COLUMN_START,	       /* signed */
	COLUMN_TGID,	       /* signed */
	COLUMN_TID,	       /* signed, from the tgid */
	COLUMN_COMM,	       /* signed; so are exe and cgroup */
	COLUMN_EXE,
	COLUMN_CGROUP,
	COLUMNS_WITHOUT_OWNERS,			/* in days of version 1 */
	COLUMN_OWNER = COLUMNS_WITHOUT_OWNERS,	/* signed */
	COLUMNS_WITHOUT_CLAIMS,			/* if no thread has any */
	COLUMN_CLAIMS = COLUMNS_WITHOUT_CLAIMS, /* signed */
	COLUMNS,
};
/* A start distinguishes processes that reuse a pid. Its last digits would cost most bytes. */
static const uint64_t start_unit_ns = DAY_START_UNIT_NS;
_Static_assert((int)COLUMNS <= (int)COLUMN_BLOB_COLUMNS_MAX, "columns");

static void put_mark(struct column_writer *writer, const struct day_mark *mark)
{
	column_put(writer, COLUMN_HEAD, mark->strings);
	column_put(writer, COLUMN_HEAD, mark->binaries);
	column_put(writer, COLUMN_HEAD, mark->frames);
	column_put(writer, COLUMN_HEAD, mark->locations);
	column_put(writer, COLUMN_HEAD, mark->nodes);
	column_put(writer, COLUMN_HEAD, mark->threads);
}

static void put_head(
	struct column_writer *writer, const struct day_mark *from, const struct day_mark *to)
{
	struct day_mark count = {
		.strings = to->strings - from->strings,
		.binaries = to->binaries - from->binaries,
		.frames = to->frames - from->frames,
		.locations = to->locations - from->locations,
		.nodes = to->nodes - from->nodes,
		.threads = to->threads - from->threads,
	};

	put_mark(writer, from);
	put_mark(writer, &count);
}

static void put_id_bytes(
	struct column_writer *writer, enum day_column column, const struct build_id *id)
{
	column_put_bytes(writer, column, &id->size, 1);
	column_put_bytes(writer, column, id->bytes, id->size);
}

static void put_symbols(struct column_writer *writer, const struct symbol_identity *symbols)
{
	put_id_bytes(writer, COLUMN_SYMBOLS, &symbols->id);
	if (symbols->id.size > 0)
		column_put(writer, COLUMN_SYMBOLS, symbols->kind);
}

static void put_strings_and_binaries(struct column_writer *writer, const struct day_tables *tables,
	const struct day_mark *from, const struct day_mark *to)
{
	for (uint32_t i = from->strings; i < to->strings; i++) {
		const char *string = string_pool_get(&tables->strings, i);

		column_put_bytes(writer, COLUMN_STRINGS, string, strlen(string) + 1);
	}
	for (uint32_t i = from->binaries; i < to->binaries; i++) {
		const struct profile_binary *binary = &tables->binaries.items[i];

		column_put(writer, COLUMN_BINARY, binary->kind);
		column_put(writer, COLUMN_BINARY, binary->path);
		column_put(writer, COLUMN_BINARY, binary->text_vaddr);
		column_put(writer, COLUMN_BINARY, binary->text_bytes);
		column_put(writer, COLUMN_BINARY, binary->text_offset);
		put_id_bytes(writer, COLUMN_BUILD_ID, &binary->build_id);
		put_symbols(writer, &binary->symbols);
	}
}

static void put_locations(struct column_writer *writer, const struct day_tables *tables,
	const struct day_mark *from, const struct day_mark *to)
{
	uint64_t addresses[DAY_BINARIES_MAX] = { 0 };
	struct day_location last = { 0 };
	struct profile_frame last_frame = { 0 };

	for (uint32_t i = from->frames; i < to->frames; i++) {
		const struct profile_frame *frame = &tables->frames.items[i];

		column_put_difference(
			writer, COLUMN_FRAME_FUNCTION, last_frame.function, frame->function);
		column_put_difference(writer, COLUMN_FRAME_FILE, last_frame.file, frame->file);
		column_put(writer, COLUMN_FRAME_LINE, frame->line);
		column_put(writer, COLUMN_FRAME_LINE, frame->column);
		last_frame = *frame;
	}
	for (uint32_t i = from->locations; i < to->locations; i++) {
		const struct day_location *location = &tables->locations.items[i];

		column_put_difference(
			writer, COLUMN_LOCATION_BINARY, last.binary, location->binary);
		column_put_difference(
			writer, COLUMN_ADDRESS, addresses[location->binary], location->address);
		column_put_difference(writer, COLUMN_FUNCTION, last.function, location->function);
		column_put(writer, COLUMN_FRAME_COUNT, location->frame_count);
		addresses[location->binary] = location->address;
		last = *location;
	}
}

static void put_nodes_and_threads(struct column_writer *writer, const struct day_tables *tables,
	const struct day_mark *from, const struct day_mark *to)
{
	struct profile_thread last = { 0 };
	uint32_t location = 0;

	for (uint32_t i = from->nodes; i < to->nodes; i++) {
		const struct profile_node *node = &tables->nodes.items[i];

		column_put(writer, COLUMN_PARENT, i - node->parent - 1);
		column_put_difference(writer, COLUMN_NODE_LOCATION, location, node->location);
		location = node->location;
	}
	for (uint32_t i = from->threads; i < to->threads; i++) {
		const struct profile_thread *thread = &tables->threads.items[i];

		column_put_difference(writer, COLUMN_START, last.process_start_ns / start_unit_ns,
			thread->process_start_ns / start_unit_ns);
		column_put_difference(writer, COLUMN_TGID, last.tgid, thread->tgid);
		column_put_difference(writer, COLUMN_TID, thread->tgid, thread->tid);
		column_put_difference(writer, COLUMN_COMM, last.comm, thread->comm);
		column_put_difference(writer, COLUMN_EXE, last.exe, thread->exe);
		column_put_difference(writer, COLUMN_CGROUP, last.cgroup, thread->cgroup);
		column_put_difference(writer, COLUMN_OWNER, last.owner, thread->owner);
		if (writer->count > COLUMN_CLAIMS)
			column_put_difference(writer, COLUMN_CLAIMS, last.claims, thread->claims);
		last = *thread;
	}
}

static bool has_claims(const struct day_tables *tables, uint32_t from, uint32_t to)
{
	while (from < to && tables->threads.items[from].claims == 0)
		from++;
	return from < to;
}

int day_tables_write(const struct day_tables *tables, const struct day_mark *from, int level,
	uint8_t **ret_blob, size_t *ret_size)
{
	struct day_mark to = day_tables_mark(tables);
	struct column_writer writer;
	int r;

	column_writer_init(&writer,
		has_claims(tables, from->threads, to.threads) ? COLUMNS : COLUMNS_WITHOUT_CLAIMS);
	put_head(&writer, from, &to);
	put_strings_and_binaries(&writer, tables, from, &to);
	put_locations(&writer, tables, from, &to);
	put_nodes_and_threads(&writer, tables, from, &to);
	r = column_writer_finish(&writer, level, ret_blob, ret_size);
	column_writer_done(&writer);
	return r;
}

/* --- reading --- */

/* One statement each, because C does not order the evaluation of initializers. */
static void get_mark(struct column_reader *reader, struct day_mark *ret_mark)
{
	struct day_mark mark;

	mark.strings = column_get_below(reader, COLUMN_HEAD, DAY_STRINGS_MAX + 1);
	mark.binaries = column_get_below(reader, COLUMN_HEAD, DAY_BINARIES_MAX + 1);
	mark.frames = column_get_below(reader, COLUMN_HEAD, DAY_FRAMES_MAX + 1);
	mark.locations = column_get_below(reader, COLUMN_HEAD, DAY_LOCATIONS_MAX + 1);
	mark.nodes = column_get_below(reader, COLUMN_HEAD, DAY_NODES_MAX + 1);
	mark.threads = column_get_below(reader, COLUMN_HEAD, DAY_THREADS_MAX + 1);
	*ret_mark = mark;
}

static int get_head(
	struct column_reader *reader, const struct day_tables *tables, struct day_mark *ret_count)
{
	struct day_mark from, here = day_tables_mark(tables);

	get_mark(reader, &from);
	get_mark(reader, ret_count);
	if (reader->is_damaged || memcmp(&from, &here, sizeof(from)) != 0)
		return -EBADMSG;
	return 0;
}

/* Reads an id stored as its difference to `last`. */
static uint32_t get_id(
	struct column_reader *reader, unsigned int column, uint32_t last, uint64_t limit)
{
	uint64_t id = column_get_difference(reader, column, last);

	if (id < limit)
		return (uint32_t)id;
	reader->is_damaged = true;
	return 0;
}

static int get_strings(struct column_reader *reader, struct day_tables *tables, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		size_t left = column_left(reader, COLUMN_STRINGS);
		const char *string = (const char *)column_get_bytes(reader, COLUMN_STRINGS, 0);
		size_t length = strnlen(string, left);
		int r;

		if (length == left)
			return -EBADMSG;
		r = string_pool_restore(&tables->strings, string, length, tables->strings.count);
		if (r == -E2BIG || r == -EEXIST)
			return -EBADMSG;
		if (r < 0)
			return r;
		(void)column_get_bytes(reader, COLUMN_STRINGS, length + 1);
	}
	return 0;
}

static int get_id_bytes(
	struct column_reader *reader, enum day_column column, struct build_id *ret_id)
{
	const uint8_t *size = column_get_bytes(reader, column, 1), *bytes;

	if (!size)
		return -EBADMSG;
	if (*size == 0)
		return 0;
	bytes = column_get_bytes(reader, column, *size);
	return bytes && build_id_set(ret_id, bytes, *size) == 0 ? 0 : -EBADMSG;
}

/*
 * Reads the identity of symbols. The kind must be one that symbols are stored under: another kind
 * would form a name that means something else.
 */
static int get_symbols(struct column_reader *reader, struct symbol_identity *ret_symbols)
{
	struct symbol_identity symbols = { 0 };
	int r = get_id_bytes(reader, COLUMN_SYMBOLS, &symbols.id);

	if (r < 0 || symbols.id.size == 0)
		return r;
	symbols.kind = column_get_below(reader, COLUMN_SYMBOLS, PILOTLIGHT_SYMBOL_OWNED + 1);
	if (symbols.kind < PILOTLIGHT_SYMBOL_BUILD_ID)
		return -EBADMSG;
	*ret_symbols = symbols;
	return 0;
}

static int get_binaries(struct column_reader *reader, struct day_tables *tables, uint32_t count)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < count; i++) {
		struct profile_binary binary = { 0 };

		binary.kind = column_get_below(reader, COLUMN_BINARY, BINARY_KIND_COUNT);
		binary.path = column_get_below(reader, COLUMN_BINARY, tables->strings.count);
		binary.text_vaddr = column_get(reader, COLUMN_BINARY);
		binary.text_bytes = column_get(reader, COLUMN_BINARY);
		binary.text_offset = column_get(reader, COLUMN_BINARY);
		r = get_id_bytes(reader, COLUMN_BUILD_ID, &binary.build_id);
		if (r == 0)
			r = get_symbols(reader, &binary.symbols);
		if (r == 0)
			r = reader->is_damaged ? -EBADMSG : day_tables_add_binary(tables, &binary);
	}
	return r;
}

/* Reads the frames of a location, which follow those of the location before. */
static int get_frames(struct column_reader *reader, struct profile_frame *last,
	const struct day_tables *tables, struct profile_frame *frames, uint32_t count)
{
	uint32_t strings = tables->strings.count;

	for (uint32_t i = 0; i < count; i++) {
		frames[i].function = get_id(reader, COLUMN_FRAME_FUNCTION, last->function, strings);
		frames[i].file = get_id(reader, COLUMN_FRAME_FILE, last->file, strings);
		frames[i].line = column_get_below(reader, COLUMN_FRAME_LINE, UINT64_MAX);
		frames[i].column = column_get_below(reader, COLUMN_FRAME_LINE, UINT64_MAX);
		*last = frames[i];
	}
	return reader->is_damaged ? -EBADMSG : 0;
}

static int get_locations(struct column_reader *reader, struct day_tables *tables, uint32_t count)
{
	uint64_t addresses[DAY_BINARIES_MAX] = { 0 };
	struct profile_frame frames[DAY_FRAME_DEPTH_MAX], last_frame = { 0 };
	struct day_location last = { 0 };
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < count; i++) {
		struct day_location location = {
			.binary = get_id(reader, COLUMN_LOCATION_BINARY, last.binary,
				tables->binaries.count),
			.function = get_id(
				reader, COLUMN_FUNCTION, last.function, tables->strings.count),
			.frame_count = column_get_below(
				reader, COLUMN_FRAME_COUNT, DAY_FRAME_DEPTH_MAX + 1),
		};

		location.address =
			column_get_difference(reader, COLUMN_ADDRESS, addresses[location.binary]);
		addresses[location.binary] = location.address;
		last = location;
		r = get_frames(reader, &last_frame, tables, frames, location.frame_count);
		if (r == 0)
			r = day_tables_add_location(tables, &location, frames);
	}
	return r;
}

static int get_nodes(struct column_reader *reader, struct day_tables *tables, uint32_t count)
{
	uint32_t location = 0;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < count; i++) {
		uint32_t below = column_get_below(reader, COLUMN_PARENT, tables->nodes.count);
		struct profile_node node = {
			.parent = (uint32_t)tables->nodes.count - 1 - below,
			.location = get_id(
				reader, COLUMN_NODE_LOCATION, location, tables->locations.count),
		};

		location = node.location;
		r = reader->is_damaged ? -EBADMSG : day_tables_add_node(tables, &node);
	}
	return r;
}

static uint64_t get_start(struct column_reader *reader, uint64_t last_ns)
{
	uint64_t start = column_get_difference(reader, COLUMN_START, last_ns / start_unit_ns);

	if (start <= UINT64_MAX / start_unit_ns)
		return start * start_unit_ns;
	reader->is_damaged = true;
	return 0;
}

static int get_threads(struct column_reader *reader, struct day_tables *tables, uint32_t count)
{
	uint32_t strings = tables->strings.count;
	struct profile_thread last = { 0 };
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < count; i++) {
		struct profile_thread thread = {
			.process_start_ns = get_start(reader, last.process_start_ns),
			.tgid = get_id(reader, COLUMN_TGID, last.tgid, 1ULL << 32),
			.comm = get_id(reader, COLUMN_COMM, last.comm, strings),
			.exe = get_id(reader, COLUMN_EXE, last.exe, strings),
			.cgroup = get_id(reader, COLUMN_CGROUP, last.cgroup, strings),
		};

		thread.tid = get_id(reader, COLUMN_TID, thread.tgid, 1ULL << 32);
		if (reader->count > COLUMN_OWNER)
			thread.owner = get_id(reader, COLUMN_OWNER, last.owner, 1ULL << 32);
		if (reader->count > COLUMN_CLAIMS)
			thread.claims = get_id(reader, COLUMN_CLAIMS, last.claims, strings);
		last = thread;
		r = reader->is_damaged ? -EBADMSG : day_tables_add_thread(tables, &thread);
	}
	return r;
}

int day_tables_read(struct day_tables *tables, const void *blob, size_t size)
{
	struct column_reader reader;
	struct day_mark count;
	size_t frames;
	int r;

	r = column_reader_init_range(&reader, COLUMNS_WITHOUT_OWNERS, COLUMNS, blob, size);
	if (r < 0)
		return r;
	frames = tables->frames.count;
	r = get_head(&reader, tables, &count);
	if (r == 0)
		r = get_strings(&reader, tables, count.strings);
	if (r == 0)
		r = get_binaries(&reader, tables, count.binaries);
	if (r == 0)
		r = get_locations(&reader, tables, count.locations);
	if (r == 0)
		r = get_nodes(&reader, tables, count.nodes);
	if (r == 0)
		r = get_threads(&reader, tables, count.threads);
	/* Our writer never exceeds a bound, so a blob that does is damaged. */
	if (r == -E2BIG || (r == 0 && (!column_reader_is_whole(&reader) ||
					      tables->frames.count - frames != count.frames)))
		r = -EBADMSG;
	column_reader_done(&reader);
	return r;
}
