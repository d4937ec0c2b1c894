# SPDX-License-Identifier: GPL-2.0-or-later
# waiting.pl FUNCTION FILE: waits in a subroutine of that name. Before, it writes FILE: its subroutines as Perl tells
# them, innermost first, each on a line.
use strict;
use warnings;
use Socket;

sub tell_callers {
	my $file = $ARGV[1];
	my $depth = 1;
	open(my $out, '>', "$file.part") or die;
	while (my @frame = caller($depth++)) {
		print $out "$frame[3]\n";
	}
	close($out);
	rename("$file.part", $file);
}

sub in_sleep {
	tell_callers();
	sleep(1000000);
}

sub in_socket {
	socketpair(my $reader, my $writer, AF_UNIX, SOCK_STREAM, 0) or die;
	tell_callers();
	sysread($reader, my $byte, 1);
}

sub in_sort {
	my @sorted = sort { in_sleep() } 2, 1;
}

# More subroutines than a sample of a process that runs may be the first to meet.
eval "sub many_$_ { many_" . ($_ + 1) . "() }" for 0 .. 69;

sub many_70 {
	in_sleep();
}

sub in_many {
	many_0();
}

sub wait_for_ever {
	my ($function) = @_;
	no strict 'refs';
	&$function();
}

wait_for_ever($ARGV[0]);
