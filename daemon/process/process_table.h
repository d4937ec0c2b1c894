/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records which file each process had mapped at which address and when. The side-band's records
 * feed it, in the order of their time stamps. A scan of /proc adds the processes that already ran.
 * A process is a sequence of images. fork() copies the parent's image, execve() begins a new one,
 * and the exit of the last thread ends it. An ended image stays until process_table_retire() says
 * that no more samples from its time can arrive.
 *
 * Everything is bounded (I4): images, mappings in one image and in all, files, and bytes of paths.
 * The file that has been unmapped for longest makes room for files and paths. Otherwise the user
 * who holds the most of what is lacking makes room: with the image that ended first, or for another
 * user, with a live one, which is then unknown. If nothing is left to evict, new facts are refused
 * and counted. An image is its parent's user's until process_table_set_user(). A process that keeps
 * calling execve() holds at most 256 images and evicts only its own. One image can use a quarter of
 * the files and of the path bytes. One owner, one thread. Times are CLOCK_MONOTONIC in ns.
 */
#pragma once

#include "base/build_id.h"
#include "base/cleanup.h"
#include "base/user_share.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process_table;

struct process_table_limits {
	size_t images;		   /* 16384 */
	size_t mappings_per_image; /* 4096; never more than a quarter of `files` */
	size_t files;		   /* 16384 */
	size_t path_bytes;	   /* 4 MiB */
	size_t mappings;	   /* of all images, 32 bytes each; 262144. 0: 16 for each image */
};
extern const struct process_table_limits process_table_default_limits;

struct process_table_counters {
	uint64_t images_evicted;
	uint64_t images_refused;
	uint64_t mappings_refused;
	uint64_t files_refused;
	/* Current numbers. */
	uint64_t images, mappings;
};

/*
 * A mapped file. Each distinct (path, build-id or device and inode) has one id. The id of an
 * unmapped file may be reused, so an id is valid until the table changes. An identity is never
 * reused. The path is the kernel's without " (deleted)": any bytes but NUL, not always UTF-8.
 */
struct mapped_file {
	uint64_t identity; /* not 0 */
	const char *path;  /* borrowed; valid until the table changes. "[vdso]", "//anon", … */
	struct build_id build_id; /* size 0: none, or not known yet */
	uint64_t inode;		  /* 0: unknown, or no file */
	uint32_t device_major, device_minor;
	bool is_regular; /* has an absolute path, so it may hold code with symbols */
};

struct process_mapping {
	uint64_t start, end, offset;
	uint32_t file;
};

/* A mapping as the side-band or /proc reports it. */
struct process_mapping_event {
	uint64_t start, end, offset;
	const char *path; /* NUL-terminated; anonymous memory is "", "//anon" or "[anon:NAME]" */
	struct build_id build_id;
	uint64_t inode;
	uint32_t device_major, device_minor;
	bool was_there; /* found in /proc: mapped earlier, at an unknown time */
};

#define PROCESS_LIVE UINT64_MAX

/* One program in one process: from fork() or execve() to the next execve() or the exit. */
struct process_image {
	uint32_t id;		   /* valid until the image is removed */
	pid_t pid, parent;	   /* parent at fork; 0: unknown */
	uint64_t start_ns, end_ns; /* start: 0 if unknown; end: PROCESS_LIVE if it runs */
	/*
	 * Time of the execve() that started its program; a fork inherits it from a known parent. 0:
	 * unknown.
	 */
	uint64_t program_ns;
	uint64_t user; /* who answers for it (base/user_share.h) */
	void *data;    /* the follower's, or NULL */
};

/*
 * A later stage that attaches data to some images. Its callbacks must not change the table, except
 * through process_table_set_data().
 */
struct process_follower {
	void *context;
	/* A live image with data was forked. Returns the child's data, or NULL. */
	void *(*forked)(void *context, void *parent, const struct process_image *child);
	/* The image ended. PROCESS_LIVE retracts an end that was reported too early. */
	void (*ended)(void *context, void *data, uint64_t end_ns);
	/*
	 * Says whether the data of an ended image is no longer needed. Until then, the image does
	 * not retire.
	 */
	bool (*is_finished)(void *context, const void *data);
	/* The image is removed: frees its data. */
	void (*free)(void *context, void *data);
};

/* `limits` is copied. Returns 0 or -ENOMEM. */
int process_table_new(const struct process_table_limits *limits, struct process_table **ret_table);
void process_table_free(struct process_table *table);
DEFINE_CLEANUP(struct process_table, process_table_free);

/* Sets the only follower; the struct is copied. NULL removes it, and the data of every image. */
void process_table_follow(struct process_table *table, const struct process_follower *follower);
void process_table_set_data(struct process_table *table, uint32_t image, void *data);

/*
 * Facts. Each returns 0, -ENOMEM, -E2BIG if a bound refuses the fact (counted), or -EINVAL for a
 * pid below 1 or an empty mapping. A fact about an unknown process adds that process. If that fact
 * is a mapping, its image counts as having always existed.
 */

/* If pid == parent, the newest image gains a thread; ignored for an unknown process. */
int process_table_fork(struct process_table *table, pid_t pid, pid_t parent, uint64_t time_ns);
/* Begins a new image without mappings and with one thread. */
int process_table_exec(struct process_table *table, pid_t pid, uint64_t time_ns);
/*
 * Replaces whatever it overlaps of earlier mappings. Even a refused mapping removes them, because
 * no name is better than a wrong one. A process that maps after its end is still alive: only its
 * first thread ended. `ret_file` may be NULL.
 */
int process_table_map(struct process_table *table, pid_t pid, uint64_t time_ns,
	const struct process_mapping_event *event, uint32_t *ret_file);
/*
 * Reports the exit of any thread; call it for each EXIT record. The exit of the last known thread
 * ends the image. Later times still find that image until it retires. A thread that ends, maps or
 * begins after the image's end revives the image.
 */
void process_table_exit(struct process_table *table, pid_t pid, uint64_t time_ns);
/*
 * Sets the number of live threads that /proc showed at `time_ns`. It includes threads that began or
 * ended before. Ignored if the newest image has ended or begins later. Without this call, an image
 * first known from a mapping has one thread. An early end is safer than none, since the next fact
 * corrects it.
 */
void process_table_set_threads(
	struct process_table *table, pid_t pid, uint64_t time_ns, uint32_t threads);
/*
 * Sets the executable that /proc/PID/exe showed at `time_ns`; only path and identity are used.
 * Ignored if the process is unknown, or if its newest image has ended or begins later.
 */
int process_table_set_executable(struct process_table *table, pid_t pid, uint64_t time_ns,
	const struct process_mapping_event *event);
/*
 * Ends the newest image because the process no longer exists at `time_ns`. Its thread count is
 * ignored, since lost EXIT records leave it too high. Ignored if the image began later.
 */
void process_table_gone(struct process_table *table, pid_t pid, uint64_t time_ns);

/* Says who answers for the image of `pid` at `time_ns` (base/user_share.h). */
void process_table_set_user(
	struct process_table *table, pid_t pid, uint64_t time_ns, uint64_t user);

/* Removes images that ended before `time_ns`, except those that the follower still needs. */
void process_table_retire(struct process_table *table, uint64_t time_ns);

/*
 * Says whether ended images fill over three quarters of the room that live ones leave. Eviction
 * before they retire is then near.
 */
bool process_table_is_crowded(const struct process_table *table);

/* Says whether the newest image of `pid` is live. */
bool process_table_is_live(const struct process_table *table, pid_t pid);

/* Finds the image of `pid` at `time_ns`, which may have ended before. False: none. */
bool process_table_image(const struct process_table *table, pid_t pid, uint64_t time_ns,
	struct process_image *ret_image);

/* Says whether the table has an image of `pid` at `time_ns`. */
bool process_table_has(const struct process_table *table, pid_t pid, uint64_t time_ns);

/*
 * Returns a number that changes with each change of the image's mappings. It identifies one state
 * of one image for ever. 0: the table has no such image.
 */
uint64_t process_table_version(const struct process_table *table, pid_t pid, uint64_t time_ns);

/*
 * Iterates over the processes whose newest image is live, in no order; `*cursor` starts at 0. A
 * process that ends between two calls is skipped; one that begins may be. False: no more.
 */
bool process_table_next_live(const struct process_table *table, size_t *cursor, pid_t *ret_pid);

/* Returns the parent at fork, or 0. A dead process probably shared its mount namespace. */
pid_t process_table_parent(const struct process_table *table, pid_t pid, uint64_t time_ns);

/* Returns the parent at fork and the time of the fork. False: the fork was not observed. */
bool process_table_birth(const struct process_table *table, pid_t pid, uint64_t time_ns,
	pid_t *ret_parent, uint64_t *ret_born_ns);

/*
 * Says whether the process that had `pid` at `time_ns` has ended, even if its pid was reused. False
 * for an unknown process.
 */
bool process_table_has_ended(const struct process_table *table, pid_t pid, uint64_t time_ns);

/*
 * Finds the executable of the image of `pid` at `time_ns`: the first file mapped after execve(), or
 * the one that /proc showed. For a script this is its interpreter. A child inherits its parent's.
 * False: unknown.
 */
bool process_table_executable(const struct process_table *table, pid_t pid, uint64_t time_ns,
	struct mapped_file *ret_file);

/*
 * Finds the mapping that holds `ip` in the image of `pid` at `time_ns`. Where mappings overlapped,
 * the later one counts. False: none.
 */
bool process_table_find(const struct process_table *table, pid_t pid, uint64_t time_ns, uint64_t ip,
	struct process_mapping *ret_mapping);

/* Returns the mappings of the image of `pid` at `time_ns`, borrowed until the table changes. */
size_t process_table_mappings(const struct process_table *table, pid_t pid, uint64_t time_ns,
	const struct process_mapping **ret_mappings);

void process_table_file(
	const struct process_table *table, uint32_t file, struct mapped_file *ret_file);
/* Sets a build-id that was read from the file later. Ignored if the file has one. */
void process_table_set_build_id(
	struct process_table *table, uint32_t file, const struct build_id *id);
/* Finds a file with that build-id. False: none. */
bool process_table_find_build_id(
	const struct process_table *table, const struct build_id *id, uint32_t *ret_file);

void process_table_counters(const struct process_table *table, struct process_table_counters *ret);
/* Adds what users hold and what was refused: images, mappings, and files in use. */
void process_table_users(const struct process_table *table, struct user_excess *excess,
	struct user_holdings *holdings);
size_t process_table_bytes(const struct process_table *table);
