/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What libbpf has to say goes where our own messages of level debug go. */
#pragma once

void libbpf_log_set_up(void);
