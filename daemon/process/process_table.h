/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which file was mapped where, in which process, at what time. Fed by the side-band's records in
 * the order of their time stamps, and once by /proc for the processes that already ran. A process
 * is a sequence of images: fork copies the parent's, execve() begins a new one, and the end of its
 * last thread ends it. An image that has ended stays until process_table_retire() says that no
 * sample from its time can still come.
 *
 * Bounds (I4): the number of images, of mappings in one image and in all, of files, and the bytes
 * of paths. Room for images and mappings comes from the oldest ended image, room for files and
 * paths from the file that no image has mapped for longest; then new facts are refused, each
 * counted. A process that calls execve() all the time keeps 256 images and pushes out none but its
 * own. One image can have a quarter of the files and of the paths' bytes. One owner, one thread.
 * Times are CLOCK_MONOTONIC in ns.
 */
#pragma once

#include "base/build_id.h"
#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process_table;

struct process_table_limits {
	size_t images;		   /* 16384 */
	size_t mappings_per_image; /* 4096; of different files or not, at most a quarter of `files`
				    */
	size_t files;		   /* 16384 */
	size_t path_bytes;	   /* 4 MiB */
	size_t mappings;	   /* of all images, at 32 bytes; 262144. 0: 16 for each image */
};
extern const struct process_table_limits process_table_default_limits;

struct process_table_counters {
	uint64_t images_evicted;
	uint64_t images_refused;
	uint64_t mappings_refused;
	uint64_t files_refused;
	/* What there is now. */
	uint64_t images, mappings;
};

/*
 * A mapped file; one id a (path, build-id or device and inode). The id of a file that no image maps
 * may become another file's, so ids are good until the table changes; an identity is given once.
 * The path is what the kernel reported without " (deleted)": any bytes but NUL, and not always
 * UTF-8.
 */
struct mapped_file {
	uint64_t identity; /* not 0 */
	const char *path;  /* borrowed; valid until the table changes. "[vdso]", "//anon", … */
	struct build_id build_id; /* size 0: not known (as yet) or none */
	uint64_t inode;		  /* 0: not known, or no file */
	uint32_t device_major, device_minor;
	bool is_regular; /* has an absolute path: a file that can hold code with a name */
};

struct process_mapping {
	uint64_t start, end, offset;
	uint32_t file;
};

/* As the side-band and /proc report it. */
struct process_mapping_event {
	uint64_t start, end, offset;
	const char *path; /* NUL-terminated; anonymous memory is "", "//anon" or "[anon:NAME]" */
	struct build_id build_id;
	uint64_t inode;
	uint32_t device_major, device_minor;
	bool was_there; /* found in /proc: mapped at some unknown time before */
};

#define PROCESS_LIVE UINT64_MAX

/* One program in one process: from fork or execve() to the next execve() or the end. */
struct process_image {
	uint32_t id;		   /* good until the image goes */
	pid_t pid, parent;	   /* parent at fork; 0: not known */
	uint64_t start_ns, end_ns; /* 0: not known; PROCESS_LIVE */
	/* When its program began: by execve(), a known parent's where it is a fork; 0: not known.
	 */
	uint64_t program_ns;
	void *data; /* the follower's, or NULL */
};

/*
 * A later stage that keeps data for some of the images. Its functions must not change the table,
 * but for process_table_set_data().
 */
struct process_follower {
	void *context;
	/* A live image that has data was forked. The result is the child's data, or NULL. */
	void *(*forked)(void *context, void *parent, const struct process_image *child);
	/* The image ended; PROCESS_LIVE: it has not, although that was reported. */
	void (*ended)(void *context, void *data, uint64_t end_ns);
	/* The image has ended: is the data of no more use? Otherwise it does not retire. */
	bool (*is_finished)(void *context, const void *data);
	/* The image goes. */
	void (*free)(void *context, void *data);
};

/* `limits` is copied. Returns 0 or -ENOMEM. */
int process_table_new(const struct process_table_limits *limits, struct process_table **ret_table);
void process_table_free(struct process_table *table);
DEFINE_CLEANUP(struct process_table, process_table_free);

/* There is one follower at a time; it is copied. NULL: none, and no image has data any more. */
void process_table_follow(struct process_table *table, const struct process_follower *follower);
void process_table_set_data(struct process_table *table, uint32_t image, void *data);

/*
 * Facts. Each returns 0, -ENOMEM, -E2BIG where a bound refuses it (counted), or -EINVAL for a pid
 * below 1 or an empty mapping. A fact about a process that the table does not know makes it known;
 * where that fact is a mapping, the image is taken to have been there always.
 */

/* pid == parent's is one more thread of the newest image; of an unknown process it is nothing. */
int process_table_fork(struct process_table *table, pid_t pid, pid_t parent, uint64_t time_ns);
/* A new image without mappings and with one thread. */
int process_table_exec(struct process_table *table, pid_t pid, uint64_t time_ns);
/*
 * Replaces what it covers of earlier mappings, even where it is refused itself: rather no name than
 * the wrong one. A process that maps after its end has not ended, only its first thread has.
 * `ret_file` may be NULL.
 */
int process_table_map(struct process_table *table, pid_t pid, uint64_t time_ns,
	const struct process_mapping_event *event, uint32_t *ret_file);
/*
 * The end of a thread, whichever it is: each EXIT record is to be told. The image ends with the
 * last one that is known of, and is still found for later times until it retires. A thread that
 * ends, maps or begins after the end belies it.
 */
void process_table_exit(struct process_table *table, pid_t pid, uint64_t time_ns);
/*
 * What /proc says of the live threads at `time_ns`: those that begin or end before are part of it.
 * Ignored where the newest image has ended, or begins later. Without it, an image that is first
 * known by a mapping has one thread: rather an end that the next fact belies than none.
 */
void process_table_set_threads(
	struct process_table *table, pid_t pid, uint64_t time_ns, uint32_t threads);
/*
 * What /proc/PID/exe says at `time_ns`, of which nothing but the path and the identity is looked
 * at. Ignored where the table does not know the process, the newest image has ended, or begins
 * later.
 */
int process_table_set_executable(struct process_table *table, pid_t pid, uint64_t time_ns,
	const struct process_mapping_event *event);
/*
 * The process is seen to be gone at `time_ns`: its newest image ends, however many threads it
 * seemed to have, which lost records make too many. Nothing where it began later.
 */
void process_table_gone(struct process_table *table, pid_t pid, uint64_t time_ns);

/* Ended images whose end is before `time_ns` go, unless a follower has not finished with them. */
void process_table_retire(struct process_table *table, uint64_t time_ns);
/* Only those that no follower has data for. */
void process_table_shed(struct process_table *table, uint64_t time_ns);

/* Will ended images soon have to go before they retire? They take more than three quarters of what
 * live ones leave. */
bool process_table_is_crowded(const struct process_table *table);

/* Has the newest image of `pid` not ended? */
bool process_table_is_live(const struct process_table *table, pid_t pid);

/* The image of `pid` at `time_ns`, which may have ended before. False: there is none. */
bool process_table_image(const struct process_table *table, pid_t pid, uint64_t time_ns,
	struct process_image *ret_image);

/* Does the table have an image of `pid` at `time_ns`? */
bool process_table_has(const struct process_table *table, pid_t pid, uint64_t time_ns);

/*
 * What is known of the image's mappings is the same as long as this number is: it belongs to one
 * image and one state of it, for ever. 0: the table has no such image. `ret_changed_ns`, which may
 * be NULL, is the time of the last fact that changed them: at least the image's start, and 0 where
 * nobody has seen them change, since all that one scan of /proc finds of a new image was there; or
 * where there is no image. An ip of an earlier time may be of another mapping than the one that is
 * found now.
 */
uint64_t process_table_version(
	const struct process_table *table, pid_t pid, uint64_t time_ns, uint64_t *ret_changed_ns);

/*
 * Each process whose newest image is live, in no order; `*cursor` starts at 0. What ends between
 * two calls is left out, what begins may be. False: there are no more.
 */
bool process_table_next_live(const struct process_table *table, size_t *cursor, pid_t *ret_pid);

/* The parent at fork, or 0: whose mount namespace a dead process probably shared. */
pid_t process_table_parent(const struct process_table *table, pid_t pid, uint64_t time_ns);

/* The same and when that was. False: nobody has seen the process begin. */
bool process_table_birth(const struct process_table *table, pid_t pid, uint64_t time_ns,
	pid_t *ret_parent, uint64_t *ret_born_ns);

/* Is the process gone that had `pid` at `time_ns`, whoever has it now? Not where the table does not
 * know it. */
bool process_table_has_ended(const struct process_table *table, pid_t pid, uint64_t time_ns);

/*
 * The file that the image of `pid` at `time_ns` executes: the first that was mapped after execve(),
 * which of a script is its interpreter, or what /proc said; a child has its parent's. False: it is
 * not known.
 */
bool process_table_executable(const struct process_table *table, pid_t pid, uint64_t time_ns,
	struct mapped_file *ret_file);

/*
 * The mapping that holds `ip` in the image of `pid` at `time_ns`; where a later one overlaps an
 * earlier one, the later has replaced that part of it. False: there is none.
 */
bool process_table_find(const struct process_table *table, pid_t pid, uint64_t time_ns, uint64_t ip,
	struct process_mapping *ret_mapping);

/* The mappings of the image of `pid` at `time_ns`, borrowed until the table changes. */
size_t process_table_mappings(const struct process_table *table, pid_t pid, uint64_t time_ns,
	const struct process_mapping **ret_mappings);

void process_table_file(
	const struct process_table *table, uint32_t file, struct mapped_file *ret_file);
/* When a build-id becomes known later, by reading the file. Ignored where one is known. */
void process_table_set_build_id(
	struct process_table *table, uint32_t file, const struct build_id *id);
/* A file with that build-id. False: none is known. */
bool process_table_find_build_id(
	const struct process_table *table, const struct build_id *id, uint32_t *ret_file);

void process_table_counters(const struct process_table *table, struct process_table_counters *ret);
size_t process_table_bytes(const struct process_table *table);
