/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/sideband_record.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>

/* The kernel's layouts up to where a text or the sample_id begins; records are only 8-byte aligned.
 */
struct mmap2_body {
	uint32_t pid, tid;
	uint64_t address, length, offset;
	union {
		struct {
			uint32_t major, minor;
			uint64_t inode, inode_generation;
		} file;
		struct {
			uint8_t size, reserved[3];
			uint8_t bytes[BUILD_ID_BYTES];
		} build_id;
	} identity;
	uint32_t protection, flags;
};
_Static_assert(sizeof(struct mmap2_body) == 64, "the kernel's layout");

struct comm_body {
	uint32_t pid, tid;
};

struct task_body {
	uint32_t pid, parent_pid;
	uint32_t tid, parent_tid;
	uint64_t time_ns;
};
_Static_assert(sizeof(struct task_body) == 24, "the kernel's layout");

struct cgroup_body {
	uint64_t id;
};

/* Before the name. */
struct kernel_symbol_body {
	uint64_t address;
	uint32_t bytes;
	uint16_t type, flags;
};

struct lost_body {
	uint64_t event_id, lost;
};

struct sample_id {
	uint32_t pid, tid;
	uint64_t time_ns;
	uint32_t cpu, reserved;
};
_Static_assert(sizeof(struct sample_id) == 24, "the kernel's layout");

/* The part between the header and the sample_id. */
struct body {
	const uint8_t *bytes;
	size_t size;
	uint16_t misc;
};

static int load(const struct body *body, void *fixed, size_t size)
{
	if (body->size < size)
		return -EINVAL;
	memcpy(fixed, body->bytes, size);
	return 0;
}

/* A text follows the fixed part; its NUL must be within the record. */
static int load_text(const struct body *body, size_t offset, const char **ret_text)
{
	const uint8_t *text = body->bytes + offset;

	if (!memchr(text, '\0', body->size - offset))
		return -EINVAL;
	*ret_text = (const char *)text;
	return 0;
}

static int parse_identity(
	const struct mmap2_body *map, uint16_t misc, struct sideband_record *record)
{
	if (!(misc & PERF_RECORD_MISC_MMAP_BUILD_ID)) {
		record->device_major = map->identity.file.major;
		record->device_minor = map->identity.file.minor;
		record->inode = map->identity.file.inode;
		return 0;
	}
	if (map->identity.build_id.size == 0)
		return 0;
	return build_id_set(
		&record->build_id, map->identity.build_id.bytes, map->identity.build_id.size);
}

static int parse_map(const struct body *body, struct sideband_record *record)
{
	struct mmap2_body map;
	int r = load(body, &map, sizeof(map));

	if (r < 0)
		return r;
	if (map.length == 0 || __builtin_add_overflow(map.address, map.length, &record->end))
		return -EINVAL;
	r = load_text(body, sizeof(map), &record->text);
	if (r < 0)
		return r;
	r = parse_identity(&map, body->misc, record);
	if (r < 0)
		return r;
	if (!(map.protection & PROT_EXEC))
		return -ENOMSG;
	record->kind = SIDEBAND_MAP;
	record->pid = (pid_t)map.pid;
	record->tid = (pid_t)map.tid;
	record->start = map.address;
	record->offset = map.offset;
	return 0;
}

static int parse_comm(const struct body *body, struct sideband_record *record)
{
	struct comm_body comm;
	int r = load(body, &comm, sizeof(comm));

	if (r < 0)
		return r;
	record->kind = body->misc & PERF_RECORD_MISC_COMM_EXEC ? SIDEBAND_EXEC : SIDEBAND_COMM;
	record->pid = (pid_t)comm.pid;
	record->tid = (pid_t)comm.tid;
	return load_text(body, sizeof(comm), &record->text);
}

static int parse_task(
	const struct body *body, enum sideband_kind kind, struct sideband_record *record)
{
	struct task_body task;
	int r = load(body, &task, sizeof(task));

	if (r < 0)
		return r;
	record->kind = kind;
	record->pid = (pid_t)task.pid;
	record->tid = (pid_t)task.tid;
	record->parent = (pid_t)task.parent_pid;
	return 0;
}

static int parse_cgroup(const struct body *body, struct sideband_record *record)
{
	struct cgroup_body cgroup;
	int r = load(body, &cgroup, sizeof(cgroup));

	if (r < 0)
		return r;
	record->kind = SIDEBAND_CGROUP;
	record->cgroup = cgroup.id;
	return load_text(body, sizeof(cgroup), &record->text);
}

static int parse_kernel_symbol(const struct body *body, struct sideband_record *record)
{
	struct kernel_symbol_body symbol;
	int r = load(body, &symbol, sizeof(symbol));

	if (r < 0)
		return r;
	record->kind = SIDEBAND_KERNEL_SYMBOL;
	record->start = symbol.address;
	record->end = symbol.bytes > UINT64_MAX - symbol.address ? UINT64_MAX
								 : symbol.address + symbol.bytes;
	return 0;
}

static int parse_lost(const struct body *body, struct sideband_record *record)
{
	struct lost_body lost;
	int r = load(body, &lost, sizeof(lost));

	if (r < 0)
		return r;
	record->kind = SIDEBAND_LOST;
	record->lost = lost.lost;
	return 0;
}

static int parse_body(uint32_t type, const struct body *body, struct sideband_record *record)
{
	switch (type) {
	case PERF_RECORD_MMAP2:
		return parse_map(body, record);
	case PERF_RECORD_COMM:
		return parse_comm(body, record);
	case PERF_RECORD_FORK:
		return parse_task(body, SIDEBAND_FORK, record);
	case PERF_RECORD_EXIT:
		return parse_task(body, SIDEBAND_EXIT, record);
	case PERF_RECORD_KSYMBOL:
		return parse_kernel_symbol(body, record);
	case PERF_RECORD_CGROUP:
		return parse_cgroup(body, record);
	case PERF_RECORD_LOST:
		return parse_lost(body, record);
	default:
		return -ENOMSG;
	}
}

int sideband_record_parse(const void *bytes, size_t size, struct sideband_record *ret_record)
{
	struct sideband_record record = { 0 };
	struct perf_event_header header;
	struct sample_id id;
	struct body body;
	int r;

	if (size < sizeof(header))
		return -EINVAL;
	memcpy(&header, bytes, sizeof(header));
	if (header.size != size || size < sizeof(header) + sizeof(id))
		return -EINVAL;
	memcpy(&id, (const uint8_t *)bytes + size - sizeof(id), sizeof(id));
	body = (struct body){
		.bytes = (const uint8_t *)bytes + sizeof(header),
		.size = size - sizeof(header) - sizeof(id),
		.misc = header.misc,
	};
	record.time_ns = id.time_ns;
	r = parse_body(header.type, &body, &record);
	if (r == 0)
		*ret_record = record;
	return r;
}
