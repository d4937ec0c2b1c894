/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attacks through jitdumps: files of records that a process maps, so that profilers find them. */
#include "abuse.h"

#include "pilotlight/jitdump.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	FUNCTIONS = 4000,
	BATCH_BYTES = 256 << 10,
	NAME_BYTES_MAX = 64,
	HUGE_NAME_BYTES = 1 << 20,
	MARKERS = 10000,
	RUN_US = 100,
};

/* A jitdump, and the records that wait to be written. */
struct dump {
	int fd;
	struct code code;
	void *marker;
	size_t written, size;
	uint8_t batch[BATCH_BYTES];
};

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct pilotlight_jitdump_header header_of(void)
{
	return (struct pilotlight_jitdump_header){
		.magic = PILOTLIGHT_JITDUMP_MAGIC,
		.version = 1,
		.total_size = sizeof(struct pilotlight_jitdump_header),
		.machine = 62,
		.pid = (uint32_t)getpid(),
		.timestamp = now_ns(),
	};
}

static int create_dump(void **ret_marker)
{
	struct pilotlight_jitdump_header header = header_of();
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "jit-%d.dump", (int)getpid());
	fd = abuse_create(path);
	abuse_write(fd, &header, sizeof(header));
	*ret_marker = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (*ret_marker == MAP_FAILED)
		abuse_fail("marker");
	return fd;
}

static struct dump *dump_open(void)
{
	struct dump *dump = calloc(1, sizeof(*dump));

	if (!dump)
		abuse_fail("calloc");
	dump->fd = create_dump(&dump->marker);
	code_map(&dump->code, FUNCTIONS);
	return dump;
}

/* Starts anew when the file is as large as allowed. */
static void dump_flush(struct dump *dump)
{
	struct pilotlight_jitdump_header header = header_of();

	if (dump->written + dump->size > ABUSE_DISK_BYTES) {
		if (ftruncate(dump->fd, 0) < 0 || lseek(dump->fd, 0, SEEK_SET) < 0)
			abuse_fail("ftruncate");
		abuse_write(dump->fd, &header, sizeof(header));
		dump->written = sizeof(header);
	}
	abuse_write(dump->fd, dump->batch, dump->size);
	dump->written += dump->size;
	dump->size = 0;
}

static void dump_add(struct dump *dump, const void *bytes, size_t size)
{
	if (dump->size + size > BATCH_BYTES)
		dump_flush(dump);
	memcpy(dump->batch + dump->size, bytes, size);
	dump->size += size;
}

/* Of whom, at which time and place; without the code itself, which some writers omit. */
struct load {
	uint32_t pid;
	uint64_t time_ns, address, bytes, index;
};

static void dump_load(struct dump *dump, const struct load *load, const char *name)
{
	size_t name_size = strlen(name) + 1;
	struct pilotlight_jitdump_load body = {
		.pid = load->pid,
		.tid = load->pid,
		.vma = load->address,
		.code_addr = load->address,
		.code_size = load->bytes,
		.code_index = load->index,
	};
	struct pilotlight_jitdump_prefix prefix = {
		.id = PILOTLIGHT_JITDUMP_LOAD,
		.total_size = (uint32_t)(sizeof(prefix) + sizeof(body) + name_size),
		.timestamp = load->time_ns,
	};

	dump_add(dump, &prefix, sizeof(prefix));
	dump_add(dump, &body, sizeof(body));
	dump_add(dump, name, name_size);
}

/* A valid report about a function of the code, for attacks to vary. */
static struct load load_of(const struct dump *dump, size_t function)
{
	return (struct load){
		.pid = (uint32_t)getpid(),
		.time_ns = now_ns(),
		.address = (uint64_t)(uintptr_t)dump->code.start + function * CODE_STEP,
		.bytes = CODE_STEP,
		.index = function + 1,
	};
}

/* Writes `count` loads in each turn, changed by `vary`, and runs code. */
static void run_loads(
	struct abuse *abuse, unsigned count, void (*vary)(struct abuse *abuse, struct load *load))
{
	struct dump *dump = dump_open();
	char name[NAME_BYTES_MAX];

	while (abuse_goes_on(abuse)) {
		for (unsigned i = 0; i < count; i++) {
			struct load load = load_of(dump, abuse_draw(abuse, FUNCTIONS));

			vary(abuse, &load);
			(void)snprintf(name, sizeof(name), "dumped_%lx",
				(unsigned long)abuse_draw(abuse, 1UL << 40));
			dump_load(dump, &load, name);
		}
		dump_flush(dump);
		code_run(abuse, &dump->code, CHAIN_FRAMES, RUN_US);
	}
}

static void vary_nothing(struct abuse *abuse, struct load *load)
{
	(void)abuse;
	(void)load;
}

void dump_endless(struct abuse *abuse)
{
	run_loads(abuse, 2000, vary_nothing);
}

static void vary_time(struct abuse *abuse, struct load *load)
{
	static const uint64_t times[] = { 0, 1, UINT64_MAX, UINT64_MAX / 2, 1ULL << 62 };

	load->time_ns = abuse_draw(abuse, 2) ? times[abuse_draw(abuse, 5)]
					     : load->time_ns - abuse_draw(abuse, 60000000000);
}

void dump_times(struct abuse *abuse)
{
	run_loads(abuse, 200, vary_time);
}

static void vary_pid(struct abuse *abuse, struct load *load)
{
	load->pid = (uint32_t)abuse_draw(abuse, 40000);
	load->address = abuse_draw(abuse, 2) ? 0x400000 : 0x7f0000000000;
	load->bytes = 0x100000000000;
}

void dump_pids(struct abuse *abuse)
{
	run_loads(abuse, 200, vary_pid);
}

static void vary_place(struct abuse *abuse, struct load *load)
{
	load->address += abuse_draw(abuse, CODE_STEP);
	load->bytes = abuse_draw(abuse, 2) ? 1 + abuse_draw(abuse, 4096) : UINT64_MAX;
}

void dump_overlap(struct abuse *abuse)
{
	run_loads(abuse, 200, vary_place);
}

void dump_sparse(struct abuse *abuse)
{
	struct dump *dump = dump_open();
	off_t end = (off_t)1 << 40;

	while (abuse_goes_on(abuse)) {
		struct load load = load_of(dump, 0);

		dump_load(dump, &load, "after_the_hole");
		if (pwrite(dump->fd, dump->batch, dump->size, end) < 0 &&
			pwrite(dump->fd, dump->batch, dump->size, end / 1024) < 0)
			abuse_fail("pwrite");
		end += 1 << 20;
		dump->size = 0;
		code_run(abuse, &dump->code, 8, 20000);
	}
}

void dump_header(struct abuse *abuse)
{
	struct dump *dump = dump_open();

	while (abuse_goes_on(abuse)) {
		struct pilotlight_jitdump_header header = header_of();
		struct load load = load_of(dump, 0);

		header.version = (uint32_t)abuse_draw(abuse, 4);
		header.flags = abuse_draw(abuse, 3);
		header.total_size = (uint32_t)abuse_draw(abuse, 80);
		if (abuse_draw(abuse, 4) == 0)
			header.magic = PILOTLIGHT_JITDUMP_MAGIC_SWAPPED;
		if (pwrite(dump->fd, &header, sizeof(header), 0) < 0)
			abuse_fail("pwrite");
		dump_load(dump, &load, "under_another_header");
		dump_flush(dump);
		code_run(abuse, &dump->code, 8, 50);
	}
}

static void dump_move(struct dump *dump, const struct load *load, uint64_t to)
{
	struct pilotlight_jitdump_move body = {
		.pid = load->pid,
		.tid = load->pid,
		.vma = to,
		.old_code_addr = load->address,
		.new_code_addr = to,
		.code_size = load->bytes,
		.code_index = load->index,
	};
	struct pilotlight_jitdump_prefix prefix = {
		.id = PILOTLIGHT_JITDUMP_MOVE,
		.total_size = sizeof(prefix) + sizeof(body),
		.timestamp = load->time_ns,
	};

	dump_add(dump, &prefix, sizeof(prefix));
	dump_add(dump, &body, sizeof(body));
}

void dump_moves(struct abuse *abuse)
{
	struct dump *dump = dump_open();
	struct pilotlight_jitdump_prefix close_record = {
		.id = PILOTLIGHT_JITDUMP_CLOSE,
		.total_size = sizeof(close_record),
	};

	for (size_t i = 0; i < FUNCTIONS; i++) {
		struct load load = load_of(dump, i);

		dump_load(dump, &load, "moving");
	}
	while (abuse_goes_on(abuse)) {
		for (unsigned i = 0; i < 1000; i++) {
			struct load from = load_of(dump, abuse_draw(abuse, FUNCTIONS));
			struct load to = load_of(dump, abuse_draw(abuse, FUNCTIONS));

			dump_move(dump, &from, to.address);
		}
		close_record.timestamp = now_ns();
		dump_add(dump, &close_record, sizeof(close_record));
		dump_flush(dump);
		code_run(abuse, &dump->code, CHAIN_FRAMES, RUN_US);
	}
}

void dump_names(struct abuse *abuse)
{
	struct dump *dump = dump_open();
	char *name = malloc(HUGE_NAME_BYTES);

	if (!name)
		abuse_fail("malloc");
	while (abuse_goes_on(abuse)) {
		struct load load = load_of(dump, abuse_draw(abuse, FUNCTIONS));
		struct pilotlight_jitdump_prefix prefix = {
			.id = PILOTLIGHT_JITDUMP_LOAD,
			.total_size = sizeof(prefix) + sizeof(struct pilotlight_jitdump_load) +
				      HUGE_NAME_BYTES,
			.timestamp = load.time_ns,
		};
		struct pilotlight_jitdump_load body = { .pid = load.pid,
			.code_addr = load.address,
			.code_size = load.bytes,
			.code_index = load.index };

		dump_add(dump, &prefix, sizeof(prefix));
		dump_add(dump, &body, sizeof(body));
		dump_flush(dump);
		memset(name, 'a' + (int)abuse_draw(abuse, 26), HUGE_NAME_BYTES - 1);
		abuse_write(dump->fd, name, HUGE_NAME_BYTES);
		dump->written += HUGE_NAME_BYTES;
		code_run(abuse, &dump->code, 8, RUN_US);
	}
}

void dump_truncated(struct abuse *abuse)
{
	struct dump *dump = dump_open();

	while (abuse_goes_on(abuse)) {
		for (unsigned i = 0; i < 2000; i++) {
			struct load load = load_of(dump, i % FUNCTIONS);

			dump_load(dump, &load, "soon_gone");
		}
		dump_flush(dump);
		code_run(abuse, &dump->code, 8, RUN_US);
		if (ftruncate(dump->fd, (off_t)abuse_draw(abuse, dump->written)) < 0)
			abuse_fail("ftruncate");
	}
}

void dump_markers(struct abuse *abuse)
{
	struct dump *dump = dump_open();
	char path[64];

	for (unsigned i = 0; abuse_goes_on(abuse); i++) {
		struct pilotlight_jitdump_header header = header_of();
		void *marker;
		int fd;

		(void)snprintf(path, sizeof(path), "jit-%u.dump", i % MARKERS);
		fd = abuse_create(path);
		header.pid = abuse_draw(abuse, 2) ? header.pid : i % MARKERS;
		abuse_write(fd, &header, sizeof(header));
		marker = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		if (marker == MAP_FAILED)
			abuse_fail("mmap of a marker");
		(void)close(fd);
		(void)munmap(marker, 4096);
		code_run(abuse, &dump->code, 8, 20);
	}
}

void dump_lines(struct abuse *abuse)
{
	struct dump *dump = dump_open();
	char file[] = "/a/source/file/of/some/length/000000000.c";

	while (abuse_goes_on(abuse)) {
		for (unsigned i = 0; i < 1000; i++) {
			struct pilotlight_jitdump_debug_entry entry = { .line = (int)i };
			struct pilotlight_jitdump_debug_info body = {
				.code_addr = load_of(dump, abuse_draw(abuse, FUNCTIONS)).address,
				.entry_count = 1,
			};
			struct pilotlight_jitdump_prefix prefix = {
				.id = PILOTLIGHT_JITDUMP_DEBUG_INFO,
				.total_size = sizeof(prefix) + sizeof(body) + sizeof(entry) +
					      sizeof(file),
				.timestamp = now_ns(),
			};

			(void)snprintf(file + 30, sizeof(file) - 30, "%09u.c",
				(unsigned)abuse_draw(abuse, 1000000000));
			dump_add(dump, &prefix, sizeof(prefix));
			dump_add(dump, &body, sizeof(body));
			dump_add(dump, &entry, sizeof(entry));
			dump_add(dump, file, sizeof(file));
		}
		dump_flush(dump);
		code_run(abuse, &dump->code, CHAIN_FRAMES, RUN_US);
	}
}
