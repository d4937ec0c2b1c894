# SPDX-License-Identifier: GPL-2.0-or-later
proc fibonacci {n} { expr {$n < 2 ? $n : [fibonacci [expr {$n - 1}]] + [fibonacci [expr {$n - 2}]]} }
for {set seed 0} {1} {incr seed} {
	set words {}
	for {set i 0} {$i < 300} {incr i} { lappend words "word[expr {$seed * $i % 101}]" }
	regsub -all {word(\d+)} [lsort -unique $words] {<\1>} text
	fibonacci 12
}
