/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sampler's own walk of the user stack, for code without frame pointers. For each frame, the
 * mapping gives the file, the file's unwind table gives the rule, and the rule says where the
 * caller is. Code without a file (JIT code) is walked by frame pointers; its callers, by tables
 * again.
 *
 * step_out(), enter_mapping(), search_number(), step_by_pointer() and step_to_return() are global
 * functions, like maple_descend(). So the verifier checks each once, instead of in each round of
 * the loop and at each call.
 *
 * The includer has included own_memory.bpf.h or other_memory.bpf.h, and defines the maps
 * walk_files, walk_requests and walk_request_wakeup (a ring that wakes the engine).
 */
#pragma once

#include "generated_code.bpf.h"
#include "remembered_walk.bpf.h"
#include "unwind_table.bpf.h"
#include "walk_depth.bpf.h"
#include "walk_step.bpf.h"
#include "walker_state.bpf.h"

#include <bpf/bpf_helpers.h>

enum {
	USER_CODE_SELECTOR = 0x33, /* cs in x86-64's 64-bit user code */
	NO_SYSTEM_CALL = -1,	   /* in orig_rax: an interrupt or an exception */
	SYSTEM_CALL_EXECVE = 59,
	SYSTEM_CALL_EXECVEAT = 322,
};

static __always_inline __u64 walk_clock_ns(void)
{
	return bpf_ktime_get_ns();
}

/*
 * Copies the file's entry, and requests one from the engine if there is none or if it is due. The
 * key is on the program's stack: Linux 6.1 accepts no map key in memory that a global function got
 * as an argument.
 */
static __always_inline void find_file(const struct walker *walker,
	const struct pilotlight_file_key *key, struct walked_mapping *mapping)
{
	struct pilotlight_walk_file *file = bpf_map_lookup_elem(&walk_files, key);
	struct pilotlight_walk_request request;
	__u32 window = walker->window;

	mapping->is_known_file = 0;
	if (file) {
		file->used_window = window;
		mapping->file = *file;
		mapping->is_known_file = mapping->file.version == mapping->file.version_too &&
					 mapping->file.key_hash == pilotlight_file_key_hash(key);
		if (!mapping->is_known_file || !(mapping->file.flags & PILOTLIGHT_FILE_IS_DUE))
			return;
	}
	request.process = walker->process;
	request.time_ns = bpf_ktime_get_ns();
	request.start = walker->found.start;
	request.end = walker->found.end;
	request.offset = walker->found.offset;
	request.use_ppm = 0;
	/* If the map is full, a later sample requests the file. */
	if (bpf_map_update_elem(&walk_requests, key, &request, BPF_NOEXIST) == 0)
		bpf_ringbuf_output(
			&walk_request_wakeup, &window, sizeof(window), BPF_RB_FORCE_WAKEUP);
}

/* Makes the mapping of `address` the walk's current one. Returns 0 if there is none. */
__noinline int enter_mapping(struct walker *walker, __u64 address)
{
	struct pilotlight_file_key key = { 0 };
	struct walked_mapping *mapping;
	struct walk *walk;
	__u32 at;

	if (!walker)
		return 0;
	walk = &walker->walk;
	for (__u32 i = 0; i < WALK_MAPPINGS; i++) {
		__u32 candidate = (walk->mapping + i) & (WALK_MAPPINGS - 1);

		if (address >= walk->starts[candidate] && address < walk->ends[candidate]) {
			walk->mapping = candidate;
			return 1;
		}
	}
	if (walk->searches++ >= WALK_SEARCHES_MAX)
		return 0;
	if (!find_mapping((struct mm_struct *)walker->mm, address, &walker->search, &walker->found))
		return 0;
	at = walk->next_mapping++ & (WALK_MAPPINGS - 1);
	walk->mapping = at;
	walk->stale_mappings &= ~(1 << at);
	walk->starts[at] = walker->found.start;
	walk->ends[at] = walker->found.end;
	mapping = &walk->mappings[at];
	mapping->start = walker->found.start;
	mapping->offset = walker->found.offset;
	mapping->is_executable = walker->found.is_executable;
	mapping->has_file = walker->found.file || walker->found.is_vdso;
	mapping->is_known_file = 0;
	if (!mapping->is_executable || !mapping->has_file)
		return 1;
	if (!walker->found.file || read_file_key(walker->found.file, &key))
		find_file(walker, &key, mapping);
	if (!mapping->is_known_file || mapping->file.flags == 0)
		walk->stale_mappings |= 1 << at;
	return 1;
}

/* The number of the rule at a file offset, or UNWIND_NO_RULE. */
__noinline __u32 search_number(const struct pilotlight_walk_file *file, __u64 offset)
{
	return file ? unwind_find_number(file, offset) : UNWIND_NO_RULE;
}

static __always_inline const struct pilotlight_unwind_rule *search_rule(
	const struct pilotlight_walk_file *file, __u64 offset)
{
	return unwind_rule(search_number(file, offset));
}

/* The rule at a file offset, from the cache or the table. NULL: no function there is known. */
static __always_inline const struct pilotlight_unwind_rule *find_rule(
	struct walker *walker, const struct pilotlight_walk_file *file, __u64 offset)
{
	const struct pilotlight_unwind_rule *rule;
	struct remembered_rule *known;

	if (offset >> 32)
		return search_rule(file, offset);
	known = &walker->rules[((__u32)offset ^ file->id << 20) * 0x9e3779b1 >>
			       (32 - REMEMBERED_RULES_SHIFT)];
	if (known->offset == (__u32)offset && known->file_id == file->id && known->has_rule &&
		walker->window - known->window <= PILOTLIGHT_WALK_REMEMBERED_WINDOWS) {
		known->window = walker->window;
		return &known->rule;
	}
	rule = search_rule(file, offset);
	if (!rule)
		return rule;
	known->has_rule = 0;
	known->rule = *rule;
	known->window = walker->window;
	known->file_id = file->id;
	known->offset = (__u32)offset;
	known->has_rule = 1;
	return rule;
}

static __always_inline __u64 frame_of(const struct walk *walk, const struct walked_mapping *mapping)
{
	__u64 exact = walk->is_exact ? PILOTLIGHT_FRAME_EXACT : 0;

	if (!mapping->is_known_file || mapping->file.flags & PILOTLIGHT_FILE_BY_ADDRESS)
		return exact | (walk->ip & PILOTLIGHT_FRAME_ADDRESS_MASK);
	return exact | (__u64)PILOTLIGHT_FRAME_FILE << PILOTLIGHT_FRAME_KIND_SHIFT |
	       (__u64)mapping->file.id << PILOTLIGHT_FRAME_FILE_SHIFT |
	       ((walk->ip - mapping->start + mapping->offset) & PILOTLIGHT_FRAME_OFFSET_MASK);
}

static __always_inline int is_of_function(const struct pilotlight_unwind_rule *rule)
{
	return rule && rule->kind != PILOTLIGHT_UNWIND_STOP;
}

/*
 * A caller that the frame pointer led to, but that is behind no call, is believed only in code that
 * no compiler's tables describe: generated, or written by hand. The JVM's interpreter and V8's
 * builtins push such return addresses.
 */
static __always_inline int is_believed(
	const struct walk *walk, const struct walked_mapping *mapping)
{
	return walk->doubt == WALK_IS_SURE || is_jit(mapping) ||
	       (mapping->is_known_file && mapping->file.flags & PILOTLIGHT_FILE_HAS_TABLE);
}

/* Goes from the last frame, at `where`, to its caller by the file's table. */
static __always_inline int step_by_table(
	struct walker *walker, const struct walked_mapping *mapping, __u64 where, int guess_end)
{
	struct walk *walk = &walker->walk;
	const struct pilotlight_unwind_rule *rule;
	__u64 offset = where - mapping->start + mapping->offset, target;
	__u32 at = (walk->record.count - 1) & PILOTLIGHT_WALK_DEPTH;

	/* Before it is padding, or another function's rule. */
	if (walk->doubt == WALK_IN_MADE_FRAME)
		return guess_by_frame_pointer(
			walk, FRAME_POINTERS_USUAL, PILOTLIGHT_WALK_NO_FUNCTION);
	rule = find_rule(walker, &mapping->file, offset);
	if (is_of_function(rule)) {
		if (walk->doubt) {
			walk->record.count = at;
			return end_behind_guess(guess_end, PILOTLIGHT_WALK_NO_CODE);
		}
		/* No call led to the code to which signal handlers return; but its own system call
		 * may have been interrupted. */
		if (rule->kind == PILOTLIGHT_UNWIND_SIGNAL && at != 0)
			walk->frames[at] |= PILOTLIGHT_FRAME_EXACT;
		return end_behind_guess(guess_end,
			step_by_rule(walk, rule, mapping->file.flags & PILOTLIGHT_FILE_TELLS_RBX));
	}
	/* The start of a function as return address: a coroutine's first function. Behind a call,
	 * it is an address for which no rule could be inferred. */
	if (!walk->is_exact && !walk->doubt &&
		is_of_function(search_rule(&mapping->file, offset + 1)) &&
		!is_return_address(walk, walk->ip, &target)) {
		walk->frames[at] |= PILOTLIGHT_FRAME_EXACT;
		return PILOTLIGHT_WALK_ROOT;
	}
	return guess_by_frame_pointer(walk, FRAME_POINTERS_USUAL, PILOTLIGHT_WALK_NO_FUNCTION);
}

/* Goes from the last frame, in this mapping, to its caller. */
static __always_inline int step_in_mapping(
	struct walker *walker, const struct walked_mapping *mapping, __u64 where, int guess_end)
{
	struct walk *walk = &walker->walk;
	__u32 flags = mapping->file.flags;

	if (walk->is_jit)
		return step_in_generated_code(walker, where);
	if (mapping->is_known_file && flags & PILOTLIGHT_FILE_BY_FRAME_POINTER)
		return step_by_pointer(walk, FRAME_POINTERS_KEPT);
	if (mapping->is_known_file && flags & PILOTLIGHT_FILE_HAS_NOTHING)
		return guess_by_frame_pointer(
			walk, FRAME_POINTERS_GUESSED, PILOTLIGHT_WALK_NO_TABLE);
	if (mapping->is_known_file && flags & PILOTLIGHT_FILE_HAS_TABLE)
		return step_by_table(walker, mapping, where, guess_end);
	return guess_without_table(walk);
}

/* Appends a frame, and goes to its caller by looking up mapping and rule. */
static __always_inline int step_by_lookup(struct walker *walker)
{
	struct walk *walk = &walker->walk;
	struct walked_mapping *mapping;
	__u64 where = walk->ip - !walk->is_exact;
	int guess_end = walk->guess_end;
	__u32 at;

	if (is_too_deep(walk))
		return PILOTLIGHT_WALK_DEEP;
	if (!enter_mapping(walker, where)) {
		if (walk->searches > WALK_SEARCHES_MAX)
			return PILOTLIGHT_WALK_DEEP;
		return end_behind_guess(guess_end, PILOTLIGHT_WALK_NO_CODE);
	}
	mapping = &walk->mappings[walk->mapping & (WALK_MAPPINGS - 1)];
	if (!mapping->is_executable || !is_believed(walk, mapping))
		return end_behind_guess(guess_end, PILOTLIGHT_WALK_NO_CODE);
	if (is_jit(mapping) && must_ask(walk))
		return WALK_ASKS;
	walk->guess_end = 0;

	at = walk->record.count & PILOTLIGHT_WALK_DEPTH;
	walk->frames[at] = frame_of(walk, mapping);
	if (at < WALK_DEPTHS)
		walk->depths[at] = (__u32)(walk->sp - walk->leaf_sp);
	walk->record.count++;
	walk->is_jit = is_jit(mapping);
	walk->has_jit |= walk->is_jit ? WALK_HAS_JIT : 0;
	walk->is_untabled = 0;
	note_runtime(walk, mapping);
	return step_in_mapping(walker, mapping, where, guess_end);
}

/* A function of its own, which bounds the use of the BPF stack. */
static __noinline int step_as_before(struct walk *walk)
{
	/* Other threads are walked too seldom for that. */
	return WALKS_OTHERS ? STEP_IS_NEW : step_from_memory(walk);
}

/* One step: repeats steps of the last walk if it can, else looks up one. Returns WALK_ON or why the
 * walk ends. */
__noinline int step_out(struct walker *walker)
{
	struct walk *walk;
	__u32 at;
	int end;

	if (!walker)
		return PILOTLIGHT_WALK_NO_CODE;
	walk = &walker->walk;
	end = step_as_before(walk);
	if (end != STEP_IS_NEW)
		return end;
	at = walk->record.count;
	remember_begin(walk, at);
	end = step_by_lookup(walker);
	remember_end(walk, at, end);
	return end;
}

/* A function of its own, which bounds the use of the BPF stack. */
static __noinline void forget_hotspot(struct walker *walker)
{
	struct hotspot *known = &walker->runtime.known_hotspot;

	walker->walk.hotspot.number = RUNTIME_NONE;
	walker->walk.yjit_at = 0;
	known->heap_count = 0;
	known->method_name = known->interpreter = known->interpreter_end = 0;
}

/*
 * Keeps the mappings of the last walk on this CPU if it is the same program image, the mappings
 * have not changed, and the window is the same. In each window the use of files is noted anew, and
 * an evicted table keeps its place until the window ends.
 */
static __always_inline void recall_mappings(struct walker *walker, struct mm_struct *mm,
	const struct pilotlight_process *process, __u32 window)
{
	__u32 version = mappings_version(mm);
	struct walk *walk = &walker->walk;
	int are_same = walker->mm == (__u64)mm && walker->version == version && version != 0 &&
		       !(version & 1) && walker->window == window &&
		       walker->process.start_ns == process->start_ns &&
		       walker->process.tgid == process->tgid &&
		       walker->process.exec_id == process->exec_id;

	if (are_same && !walk->stale_mappings)
		return;
	forget_walks(walk);
	walk->runtime.number = walk->context.number = RUNTIME_NONE;
	walk->has_asked = 0;
	walk->context.is_known = 0;
	walker->mm = (__u64)mm;
	walker->version = version;
	for (__u32 i = 0; i < WALK_MAPPINGS; i++)
		if (!are_same || walk->stale_mappings & 1 << i)
			walk->ends[i] = 0;
	walk->stale_mappings = 0;
	forget_hotspot(walker);
}

/*
 * During execve() the registers are the old program's, but the memory may be the new program's,
 * whose stack is elsewhere.
 */
static __always_inline int is_between_programs(struct walk *walk)
{
	__u64 number = walk->system_call, word;

	return (number == SYSTEM_CALL_EXECVE || number == SYSTEM_CALL_EXECVEAT) &&
	       !can_read_user(walk, &word, 1, walk->sp);
}

/*
 * In a system call the ip is behind the instruction, which may be the last one of its function. If
 * a signal is delivered on the way out of the call, the call's number is still there, but the ip is
 * the start of the handler.
 */
static __always_inline int is_behind_system_call(struct walk *walk)
{
	__u64 code;

	if ((__s64)walk->system_call == NO_SYSTEM_CALL)
		return 0;
	if (!can_read_user(walk, &code, 1, walk->ip - sizeof(code)))
		return 1;
	return code >> 48 == CODE_SYSCALL || code >> 48 == CODE_INT_80;
}

/*
 * Reads the user registers of the thread's last entry into the kernel. Returns 0 if that was
 * not from 64-bit user code. Only for a task with user memory.
 */
static __always_inline int read_task_registers(struct walk *walk)
{
	__u64 *words = walk->signal_registers; /* the BPF stack (512 bytes) has no room */

	_Static_assert(PT_REGS_RSP - PT_REGS_RBP < GREGS_WORDS, "there is room for them");
	if (!can_read_pt_regs(walk, words, PT_REGS_RSP - PT_REGS_RBP + 1, PT_REGS_RBP))
		return 0;
	walk->fp.word = words[0];
	walk->rbx.word = words[PT_REGS_RBX - PT_REGS_RBP];
	walk->system_call = words[PT_REGS_ORIG_RAX - PT_REGS_RBP];
	walk->ip = words[PT_REGS_RIP - PT_REGS_RBP];
	walk->sp = words[PT_REGS_RSP - PT_REGS_RBP];
	return words[PT_REGS_CS - PT_REGS_RBP] == USER_CODE_SELECTOR;
}

/* Has the current task user memory, and can its mappings be read? */
static __always_inline int has_user_mappings(void)
{
	struct mm_struct *mm = bpf_get_current_task_btf()->mm;

	return mm && has_mapping_tree(mm);
}

static __always_inline void begin_walk(struct walker *walker, struct mm_struct *mm,
	const struct pilotlight_process *process, __u32 window, __u64 seed)
{
	struct walk *walk = &walker->walk;

	walk->record.hash = seed;
	walk->fp.kind = walk->rbx.kind = SAVED_VALUE;
	walk->registers_kind = REGISTERS_PT_REGS;
	walk->is_exact = !is_behind_system_call(walk);
	walk->guess_end = walk->is_linked = walk->doubt = 0;
	recall_mappings(walker, mm, process, window);
	walker->process = *process;
	walker->window = window;
	walk->mapping = 0;
	walk->searches = 0;
	walk->has_jit = walk->has_untabled = 0;
	walk->has_asked_again = 0;
	walk->hotspot_is_new = 0;
	walker->runtime.known_hotspot.has_looked = 0;
	walker->runtime.known_hotspot.found_ip = 0;
	walk->leaf_sp = walk->sp;
	walk->leaf_fp = walk->fp.word;
	walk->record.count = walk->record.runtime_count = 0;
	walk->record.runtime_end = PILOTLIGHT_RUNTIME_NOT_WALKED;
	walk->record.has_context = 0;
}

enum walk_result {
	WALK_DONE,
	WALK_NO_STACK,	/* there is no user stack to walk */
	WALK_BY_KERNEL, /* use the kernel's walk: this one cannot be made */
};

/* The leaf is in no mapping: the program jumped there, or the mapping is changing. */
static __always_inline void append_leaf(struct walk *walk)
{
	walk->frames[0] = PILOTLIGHT_FRAME_EXACT | (walk->ip & PILOTLIGHT_FRAME_ADDRESS_MASK);
	walk->depths[0] = 0;
	walk->record.count = 1;
	walk->record.hash = hash_next(walk->record.hash, walk->frames[0]);
}

/* Walks the user stack of a task with this memory from the registers in walker->walk. */
static __always_inline enum walk_result walk_stack_in(struct walker *walker, struct mm_struct *mm,
	const struct pilotlight_process *process, __u32 window, __u64 seed)
{
	struct walk *walk = &walker->walk;
	int end = WALK_ON;

	begin_walk(walker, mm, process, window, seed);
	/* Here the BPF stack has room for it. */
	if (wants_runtimes && walk->hotspot.number == RUNTIME_NONE && !walk->has_asked)
		know_runtime(walker);
	if (is_between_programs(walk))
		return WALK_NO_STACK;
	for (__u32 i = 0; i <= PILOTLIGHT_WALK_DEPTH; i++) {
		end = step_out(walker);
		if (wants_runtimes && end == WALK_ASKS)
			end = know_program(walker);
		if (end != WALK_ON)
			break;
	}
	remember_walk(walk);
	if (end == PILOTLIGHT_WALK_DEEP)
		cut_walk(walk);
	if (walk->record.count == 0) {
		/* The page for old system calls is no mapping of a process. */
		if (walk->ip > ADDRESS_MAX)
			return WALK_BY_KERNEL;
		append_leaf(walk);
	}
	if (walk->has_untabled)
		end = PILOTLIGHT_WALK_NO_TABLE;
	walk->record.end = end;
	walk->record.hash = hash_next(walk->record.hash, end);
	return WALK_DONE;
}

/* The current task's. It must have user mappings. */
static __always_inline enum walk_result walk_user_stack(
	struct walker *walker, const struct pilotlight_process *process, __u32 window, __u64 seed)
{
	return walk_stack_in(walker, bpf_get_current_task_btf()->mm, process, window, seed);
}
