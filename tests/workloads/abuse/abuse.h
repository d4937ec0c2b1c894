/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the attacks share: their time, their bounds, random numbers, files, children and generated
 * code. An attack is a function that works until its time is over. A supervisor then kills its
 * children and removes its files, so attacks clean up only what they would exhaust.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	/* One attack's files and the memory of one process: eight attacks at once fit a small
	   machine. */
	ABUSE_DISK_BYTES = 240 << 20,
	ABUSE_DATA_BYTES = 448 << 20,
	ABUSE_PROCESSES = 12000,
	ABUSE_SKIPPED = 77,
};

struct abuse {
	double end; /* CLOCK_MONOTONIC, in seconds */
	uint64_t random;
	const char *folder; /* the attack's own, and its working folder */
};

/* Ends the process with the reason in errno. */
__attribute__((noreturn)) void abuse_fail(const char *what);

/* Ends the process: this machine refuses the attack to everybody. */
__attribute__((noreturn)) void abuse_skip(const char *why);

bool abuse_goes_on(const struct abuse *abuse);

/* Returns a random number below `bound`. */
uint64_t abuse_draw(struct abuse *abuse, uint64_t bound);

/* Fills `bytes`. */
void abuse_draw_bytes(struct abuse *abuse, void *bytes, size_t size);

/* Uses the CPU for about `us`, so that the process is sampled. */
void abuse_work(unsigned us);

/* Forks. The child dies with its parent and has its own random numbers. Returns -1 when there are
 * too many. */
pid_t abuse_fork(struct abuse *abuse);

/* Reaps ended children, waiting while more than `allowed` run. Returns the number that still run.
 */
unsigned abuse_reap(unsigned running, unsigned allowed);

/* Runs `function` in `count` threads until all have returned. */
void abuse_threads(struct abuse *abuse, unsigned count, void (*function)(struct abuse *abuse));

/* Opens an empty file for reading and writing. */
int abuse_create(const char *path);

void abuse_write(int fd, const void *bytes, size_t size);

/* --- generated code ----------------------------------------------------------------------------
 */

enum { CODE_STEP = 16, CHAIN_FRAMES = 126 };

/* Many small functions, one each CODE_STEP bytes, in executable memory without a file. */
struct code {
	uint8_t *start;
	size_t count;
};

/* Writes a function of the kind that struct code has. */
void code_put(uint8_t *at);

void code_map(struct code *code, size_t count);

/* Runs a function for about `us` on a forged stack of `depth` random callers in the same code. */
void code_run(struct abuse *abuse, const struct code *code, unsigned depth, unsigned us);

/* Runs a function for about `us` with this frame pointer. */
void code_run_frame(const struct code *code, size_t index, void *frame, unsigned us);

/* --- ELF files ---------------------------------------------------------------------------------
 */

enum { BUILD_ID_BYTES = 20, ELF_SECTIONS_MAX = 4 };

struct elf_section {
	const char *name;
	uint32_t type; /* 0: PROGBITS */
	const void *bytes;
	size_t size;
	uint32_t link; /* index in `sections` plus 1; 0: none */
	uint64_t entry_size;
};

/* A program that computes for a few milliseconds and exits. */
struct elf {
	uint8_t build_id[BUILD_ID_BYTES];
	uint64_t gap_bytes; /* a hole before the section headers */
	struct elf_section sections[ELF_SECTIONS_MAX];
};

void elf_write(int fd, const struct elf *elf);

/* Replaces the build-id in a file that elf_write() wrote. */
void elf_set_build_id(int fd, const uint8_t *build_id);

/* Runs the program in a child and counts it in `running`. */
void elf_run(struct abuse *abuse, const char *path, unsigned *running);

/* --- FUSE --------------------------------------------------------------------------------------
 */

/*
 * Enters new user and mount namespaces as their root. Skips the attack if the machine allows no
 * user namespaces. `flags`: CLONE_NEW... besides.
 */
void namespace_enter(int flags);

/*
 * Mounts a file system of this process on `path`, after namespace_enter(). It answers nothing until
 * fuse_serve() runs. Returns its descriptor.
 */
int fuse_mount(const char *path);

/* Takes the pending requests and answers none. Whoever made one cannot be killed any more. */
void fuse_swallow(int fd);

/* Answers everything but reads: every name is a regular file of 1 MiB. Returns at the end of time.
 */
void fuse_serve(struct abuse *abuse, int fd);

/* --- attacks: the names are those of the table in main.c ----------------------------------------
 */

#define ATTACK(name) void name(struct abuse *abuse)

ATTACK(map_names);
ATTACK(map_new_names);
ATTACK(map_sparse);
ATTACK(map_endless);
ATTACK(map_rewritten);
ATTACK(map_symlink);
ATTACK(map_hard_link);
ATTACK(map_fifo);
ATTACK(map_swapped);
ATTACK(map_one_line);
ATTACK(map_rubbish);
ATTACK(map_of_others);
ATTACK(map_many);
ATTACK(map_dead);
ATTACK(map_everything);

ATTACK(dump_sparse);
ATTACK(dump_endless);
ATTACK(dump_times);
ATTACK(dump_pids);
ATTACK(dump_header);
ATTACK(dump_moves);
ATTACK(dump_names);
ATTACK(dump_truncated);
ATTACK(dump_markers);
ATTACK(dump_lines);
ATTACK(dump_overlap);

ATTACK(stack_random);
ATTACK(stack_paths);
ATTACK(stack_forged);
ATTACK(stack_file);
ATTACK(stack_code);
ATTACK(stack_signals);
ATTACK(stack_contexts);
ATTACK(stack_deep);
ATTACK(stack_userfault);

ATTACK(thread_many);
ATTACK(thread_rubbish);
ATTACK(thread_renames);
ATTACK(thread_kernel);

ATTACK(process_forks);
ATTACK(process_vforks);
ATTACK(process_execs);

ATTACK(elf_unique);
ATTACK(elf_forged);
ATTACK(elf_sparse);
ATTACK(elf_rows);
ATTACK(elf_cies);
ATTACK(elf_dwarf);
ATTACK(elf_symbols);
ATTACK(elf_truncated);
ATTACK(elf_memfd);
ATTACK(elf_dlopen);
ATTACK(elf_paths);
ATTACK(elf_escapes);

ATTACK(python_circle);
ATTACK(python_changing);
ATTACK(python_lengths);
ATTACK(python_codes);

ATTACK(runtime_objects);

ATTACK(mapping_many);
ATTACK(mapping_writable);
ATTACK(mapping_storm);
ATTACK(mapping_anonymous);
ATTACK(mapping_replaced);
ATTACK(mapping_claims);

ATTACK(space_mounts);
ATTACK(space_silent);
ATTACK(space_pids);
ATTACK(space_chroot);
ATTACK(space_storm);
ATTACK(space_cgroups);
ATTACK(space_locked);

ATTACK(service_closed);

#undef ATTACK
