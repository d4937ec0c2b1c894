/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A difference for tests: example_machine() and what became of it after an upgrade. */
#pragma once

#include "query/profile_difference.h"
#include "tests/render/example_profile.h"

/*
 * Built anew, so that addresses differ ("@9"); xz encodes faster and finds matches slower, its
 * writing has vanished, cc1 checks something that it did not check before, and the commands beside
 * them are as they were. Twice as long, at half the rate.
 */
static inline struct profile *example_upgraded(bool backwards)
{
	static const char *const stacks[] = {
		"xz|150|" EXAMPLE_START "|x:lzma_code@9|x:lzma_encode#/src/xz/lzma_encoder.c:219"
		"^rc_encode#/src/xz/range_encoder.h:160@9",
		"xz|40|" EXAMPLE_START "|x:lzma_code@9|x:lzma_encode#/src/xz/lzma_encoder.c:219"
		"^rc_encode#/src/xz/range_encoder.h:173^rc_shift_low#/src/xz/range_encoder.h:114@9",
		"xz|290|" EXAMPLE_START
		"|x:lzma_code@9|x:lzma_mf_bt4_find#/src/xz/lz_encoder_mf.c:646@9",
		"xz|46|" EXAMPLE_START
		"|x:lzma_code@9|x:lzma_mf_bt4_find#/src/xz/lz_encoder_mf.c:688@8"
		"|l:__memcpy_avx_unaligned_erms#/src/glibc/memmove-vec-unaligned-erms.S:0@9",
		"cc1|118|" EXAMPLE_START
		"|x:toplev::main(int, char**)@9|x:compile_file|x:c_parse_file"
		"|x:finish_function@9|x:cgraph_node::finalize_function(tree_node*, bool)@9",
		"cc1|70|" EXAMPLE_START "|x:toplev::main(int, char**)@9|x:compile_file"
		"|x:c_parse_file|x:c_check_bounds(tree_node*)@9",
		"cc1|61|" EXAMPLE_START "|x:toplev::main(int, char**)@9|x:compile_file"
		"|x:symbol_table::compile()|x:execute_pass_list(function*, opt_pass*)"
		"|x:execute_one_pass(opt_pass*)@9|x:rest_of_handle_sched2",
		"cc1|36|" EXAMPLE_START "|x:toplev::main(int, char**)@9|x:compile_file"
		"|x:symbol_table::compile()|x:execute_pass_list(function*, opt_pass*)"
		"|x:execute_one_pass(opt_pass*)@9|x:df_analyze()",
		"cc1|20|" EXAMPLE_START
		"|x:toplev::main(int, char**)@9|x:compile_file|l:malloc|l:_int_malloc",
		"node|50|" EXAMPLE_START "|m:node::Start(int, char**)|m:uv_run|m:uv__io_poll"
		"|j:LazyCompile:~handleRequest server.js:18|j:LazyCompile:*parse json.js:4",
		"node|35|" EXAMPLE_START "|m:node::Start(int, char**)|m:uv_run|m:uv__io_poll"
		"|j:LazyCompile:~handleRequest server.js:18|j:LazyCompile:*render view.js:71",
		"sshd|9|x:+1a40|x:+52b0|l:read|" EXAMPLE_SYSCALL "|k:vfs_read|k:sock_read_iter",
		"kworker/0:1|15|k:kthread|k:worker_thread|k:process_one_work|k:wb_workfn",
	};
	struct profile *profile = example_of(stacks, sizeof(stacks) / sizeof(stacks[0]), backwards);

	profile->start_ns = 1795230000123456789;
	profile->end_ns = profile->start_ns + 20000000000;
	profile->period_ns = 2 * (1000000000 / 99);
	profile->cpu_count = 4;
	profile->event = example_string(profile, "cpu-clock");
	return profile;
}

static inline struct profile_difference example_difference(
	const struct profile *base, const struct profile *compared, enum difference_whole whole)
{
	struct profile_difference difference;

	assert_int_equal(profile_difference_init(&difference, base, compared, whole, NULL), 0);
	return difference;
}
