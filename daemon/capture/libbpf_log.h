/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends libbpf's messages to our debug log. */
#pragma once

void libbpf_log_set_up(void);
