# SPDX-License-Identifier: GPL-2.0-or-later
sub fibonacci { my $n = shift; $n < 2 ? $n : fibonacci($n - 1) + fibonacci($n - 2) }

for (my $seed = 0;; $seed++) {
	my %words;
	$words{"word" . $seed * $_ % 101}++ for 1 .. 500;
	my $text = join ' ', sort { $a cmp $b } keys %words;
	$text =~ s/word(\d+)/<$1>/g;
	fibonacci(12);
}
