/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "jit/jit_table_state.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static struct broker_process broker_process_of(const struct jit_process *process)
{
	return (struct broker_process){
		.pid = process->pid,
		.start_ns = process->has_facts ? process->facts.start_ns : 0,
	};
}

int jit_table_read_facts(struct jit_table *table, struct jit_process *process)
{
	const struct broker_process asked = broker_process_of(process);
	int r;

	if (process->has_facts)
		return 0;
	/* The pid may have been reused. */
	if (process->end_ns != PROCESS_LIVE)
		return -ESRCH;
	r = jit_file_read_facts(table->broker, &asked, &process->facts);
	if (r < 0)
		return r;
	process->has_facts = true;
	table->version++;
	return 0;
}

static void close_followed(struct jit_followed *file)
{
	jitdump_reader_free(file->jitdump);
	perf_map_reader_free(file->perf_map);
	code_index_free(file->index);
	free(file->path);
	*file = (struct jit_followed){ 0 };
}

void jit_table_measure(struct jit_table *table, struct jit_followed *file)
{
	size_t bytes = code_index_bytes(file->index);

	user_share_remove(&table->code_share, file->user, file->code_bytes);
	user_share_add(&table->code_share, file->user, bytes);
	table->code_bytes = table->code_bytes - file->code_bytes + bytes;
	file->code_bytes = bytes;
}

static void charge(struct jit_table *table, uint32_t id, uint64_t user)
{
	struct jit_followed *file = id == JIT_NO_FILE ? NULL : &table->files[id];

	if (!file || file->user == user)
		return;
	user_share_remove(&table->code_share, file->user, file->code_bytes);
	user_share_remove(&table->file_share, file->user, 1);
	file->user = user;
	user_share_add(&table->code_share, file->user, file->code_bytes);
	user_share_add(&table->file_share, file->user, 1);
}

void jit_table_charge_files(struct jit_table *table)
{
	for (size_t i = 0; i < table->process_count; i++) {
		const struct jit_process *process = table->processes[i];
		uint64_t user = jit_table_user_of(table, process);

		charge(table, process->dump, user);
		charge(table, process->map, user);
	}
}

static void release(struct jit_table *table, uint32_t id)
{
	struct jit_followed *file = &table->files[id];

	table->version++;
	if (--file->references > 0)
		return;
	table->code_bytes -= file->code_bytes;
	user_share_remove(&table->code_share, file->user, file->code_bytes);
	user_share_remove(&table->file_share, file->user, 1);
	close_followed(file);
}

/* Marks the writer as known and ended: its records belong to this process and its forks only. */
static void note_gone(struct jit_followed *file, const struct jit_process *process)
{
	uint64_t last_record_ns;
	uint32_t writer;

	if (process->has_facts &&
		jitdump_reader_writer(
			file->jitdump, process->facts.ns_pid, &writer, &last_record_ns) &&
		writer < JITDUMP_WRITERS_MAX - 1)
		file->gone[writer / 8] |= (uint8_t)(1U << writer % 8);
}

void jit_table_drop_dump(struct jit_table *table, struct jit_process *process)
{
	if (process->dump == JIT_NO_FILE)
		return;
	note_gone(&table->files[process->dump], process);
	release(table, process->dump);
	process->dump = JIT_NO_FILE;
}

void jit_table_drop_map(struct jit_table *table, struct jit_process *process)
{
	if (process->map == JIT_NO_FILE)
		return;
	release(table, process->map);
	process->map = JIT_NO_FILE;
}

/* All its processes lose the file until one of them is sampled again. */
static void evict_file(struct jit_table *table, uint32_t file)
{
	for (size_t i = 0; i < table->process_count; i++) {
		struct jit_process *process = table->processes[i];

		if (process->dump == file) {
			jit_table_drop_dump(table, process);
			process->lacks_marker_scan = true;
		}
		if (process->map == file) {
			jit_table_drop_map(table, process);
			process->has_own_map = false;
		}
	}
	table->counters.files_evicted++;
}

static void ask(struct jit_table *table, uint32_t file, uint64_t sampled_ns)
{
	if (file != JIT_NO_FILE && table->files[file].sampled_ns < sampled_ns)
		table->files[file].sampled_ns = sampled_ns;
}

/* Of the files of the user with the most, evicts the one whose processes have gone without a sample
 * for longest. */
static void make_room_for_file(struct jit_table *table)
{
	const struct user_counter *most;
	uint32_t least = JIT_NO_FILE;

	jit_table_charge_files(table);
	most = user_share_greatest(&table->file_share);
	for (size_t i = 0; i < table->file_count; i++)
		table->files[i].sampled_ns = 0;
	for (size_t i = 0; i < table->process_count; i++) {
		const struct jit_process *process = table->processes[i];

		ask(table, process->dump, process->sampled_ns);
		ask(table, process->map, process->sampled_ns);
	}
	for (uint32_t i = 0; i < table->file_count; i++)
		if (user_share_is_counter(&table->file_share, most, table->files[i].user) &&
			(least == JIT_NO_FILE ||
				table->files[i].sampled_ns < table->files[least].sampled_ns))
			least = i;
	assert(least != JIT_NO_FILE);
	user_excess_add(&table->excess, table->files[least].user, USER_JIT, 1);
	evict_file(table, least);
}

/* Finds a free slot, without reserving it. */
static int find_slot(struct jit_table *table, uint32_t *ret_slot)
{
	uint32_t slot = 0;
	int r;

	while (slot < table->file_count && table->files[slot].references > 0)
		slot++;
	if (slot > 0 && slot == table->limits.files) {
		make_room_for_file(table);
		for (slot = 0; slot < table->file_count; slot++)
			if (table->files[slot].references == 0)
				break;
	}
	if (slot == table->file_count) {
		r = ARRAY_RESERVE(
			table->files, &table->file_capacity, slot + 1, table->limits.files);
		if (r < 0)
			return r;
		table->files[slot] = (struct jit_followed){ 0 };
		table->file_count++;
	}
	*ret_slot = slot;
	return 0;
}

/*
 * Perf maps are never shared this way. They have no times, so an ended image's names must stay
 * apart from those of the next image with its pid.
 */
static bool find_followed(
	const struct jit_table *table, const struct stat *status, uint32_t *ret_slot)
{
	for (uint32_t i = 0; i < table->file_count; i++) {
		const struct jit_followed *file = &table->files[i];

		if (file->references > 0 && file->jitdump && file->device == status->st_dev &&
			file->inode == status->st_ino) {
			*ret_slot = i;
			return true;
		}
	}
	return false;
}

static int new_reader(struct jit_table *table, struct jit_followed *file, int *fd,
	enum jit_file_kind kind, const struct jit_process_facts *facts)
{
	const struct jitdump_reader_options options = {
		.path = file->path,
		.monotonic_offset_ns = facts->monotonic_offset_ns,
		.counter_clock = &table->counter_clock,
		.latest_ns = table->limits.latest_ns,
	};

	if (kind == JIT_FILE_JITDUMP)
		return jitdump_reader_new(TAKE_FD(*fd), &options, &file->jitdump);
	return perf_map_reader_new(TAKE_FD(*fd), &file->perf_map);
}

uint64_t jit_table_user_of(const struct jit_table *table, const struct jit_process *process)
{
	struct process_image image;

	return process_table_image(table->images, process->pid, process->start_ns, &image) &&
			       image.user != USER_UNKNOWN
		       ? image.user
		       : process->facts.uid;
}

/* Takes `fd` and adds a reference to the file. */
static int follow(struct jit_table *table, const struct jit_process *process, int fd,
	enum jit_file_kind kind, const char *path, uint32_t *ret_file)
{
	_cleanup_close_ int taken = fd;
	struct jit_followed file = {
		.references = 1,
		.is_valid = kind == JIT_FILE_PERF_MAP,
		.has_more = true,
		.user = jit_table_user_of(table, process),
	};
	struct stat status;
	uint32_t slot;
	int r;

	if (fstat(taken, &status) < 0)
		return -errno;
	if (kind == JIT_FILE_JITDUMP && find_followed(table, &status, &slot)) {
		table->files[slot].references++;
		*ret_file = slot;
		return 0;
	}
	r = find_slot(table, &slot);
	if (r < 0)
		return r;
	file.device = status.st_dev;
	file.inode = status.st_ino;
	file.path = strdup(path);
	r = file.path ? new_reader(table, &file, &taken, kind, &process->facts) : -ENOMEM;
	if (r == 0)
		r = code_index_new(table->limits.bytes / JIT_INDEX_SHARE, &file.index);
	if (r < 0) {
		close_followed(&file);
		return r;
	}
	table->files[slot] = file;
	user_share_add(&table->file_share, file.user, 1);
	jit_table_measure(table, &table->files[slot]);
	*ret_file = slot;
	return 0;
}

/* Records the result of an attempt. Attempts repeat, so an unchanged error counts once. */
static int finish_opening(struct jit_table *table, struct jit_process *process, int error)
{
	bool is_distrusted = error == -EPERM || error == -EMLINK || error == -EINVAL ||
			     error == -ELOOP || error == -EREMOTE;

	if (error == -ENOMEM)
		return error;
	if (error == process->open_error)
		return 0;
	table->counters.files_distrusted += is_distrusted;
	/* A missing perf map must not hide the reason why there is no dump. */
	if ((error == -ENOENT || error == -ESRCH) && process->open_error)
		return 0;
	process->open_error = error;
	return 0;
}

/* The user may have changed since the facts were read: servers drop privileges. */
static int know_user(struct jit_table *table, struct jit_process *process)
{
	struct broker_process asked;
	int r = jit_table_read_facts(table, process);

	if (r < 0)
		return r;
	asked = broker_process_of(process);
	r = jit_file_read_user(table->broker, &asked, &process->facts.uid);
	/* An ended process keeps the last known user. */
	return r == -ESRCH ? 0 : r;
}

/*
 * For a process that ended before its facts were read. Its parent most likely has the same user and
 * the same root. The number in the marker's name is the pid in the process's own namespace.
 */
static int take_facts_of_parent(struct jit_table *table, struct jit_process *process,
	const char *path, struct broker_process *ret_parent)
{
	struct jit_process parent = { .pid = process->parent, .end_ns = PROCESS_LIVE };
	int r = -ESRCH;

	if (parent.pid > 0)
		r = jit_table_read_facts(table, &parent);
	if (r < 0)
		return r;
	process->facts = parent.facts;
	process->facts.ns_pid = jit_file_marker_number(path);
	process->facts.start_ns = 0;
	process->facts.comm[0] = '\0';
	process->has_facts = true;
	*ret_parent = broker_process_of(&parent);
	return 0;
}

int jit_table_open_jitdump(struct jit_table *table, struct jit_process *process,
	const struct process_mapping *mapping, const char *path)
{
	struct broker_process asked, parent;
	struct jit_marker marker = { .start = mapping->start, .end = mapping->end, .path = path };
	_cleanup_close_ int fd = -1;
	uint32_t file;
	int r = know_user(table, process);

	if (r == 0) {
		asked = broker_process_of(process);
		r = jit_file_open_jitdump(table->broker, &asked, &marker, &process->facts, &fd);
	}
	if (r == -ESRCH) {
		r = take_facts_of_parent(table, process, path, &parent);
		marker.start = marker.end = 0;
		if (r == 0)
			r = jit_file_open_jitdump(
				table->broker, &parent, &marker, &process->facts, &fd);
	}
	if (r == 0)
		r = follow(table, process, TAKE_FD(fd), JIT_FILE_JITDUMP, path, &file);
	if (r == 0) {
		/* Last, since the new file may be the same one, mapped again. */
		jit_table_drop_dump(table, process);
		process->dump = file;
		table->version++;
	}
	return finish_opening(table, process, r);
}

int jit_table_open_marked(struct jit_table *table, struct jit_process *process, uint64_t now_ns)
{
	const struct process_mapping *mappings = NULL;
	size_t count = process_table_mappings(table->images, process->pid, now_ns, &mappings);
	struct mapped_file file;
	int r = 0;

	process->lacks_marker_scan = false;
	/* Usually the last mapped one has the lowest address. */
	while (count > 0 && r == 0) {
		process_table_file(table->images, mappings[--count].file, &file);
		if (jit_file_is_marker(file.path))
			r = jit_table_open_jitdump(table, process, &mappings[count], file.path);
	}
	return r;
}

int jit_table_open_perf_map(struct jit_table *table, struct jit_process *process)
{
	struct broker_process asked, parent = { .pid = process->parent };
	_cleanup_close_ int fd = -1;
	char path[64];
	uint32_t file;
	int r = know_user(table, process);

	if (r < 0)
		return finish_opening(table, process, r);
	asked = broker_process_of(process);
	r = jit_file_open_perf_map(table->broker, &asked, &parent, &process->facts, &fd);
	if (r == 0) {
		(void)snprintf(path, sizeof(path), "/tmp/perf-%u.map", process->facts.ns_pid);
		r = follow(table, process, TAKE_FD(fd), JIT_FILE_PERF_MAP, path, &file);
	}
	if (r == 0) {
		jit_table_drop_map(table, process);
		process->map = file;
		process->has_own_map = true;
	}
	return finish_opening(table, process, r);
}
