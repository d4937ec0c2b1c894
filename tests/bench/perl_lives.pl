# Many processes of Perl that work for 35 ms each. LIVES are started by exec, others by fork(), and by fork() and exec.
# Signals interrupt some of them.
#
#	pilotlight record -F 499 --runtime-frames both -o lives.folded -- perl tests/bench/perl_lives.pl LIVES
#
# Then of the samples in Perl's loop, the share that has subroutines of Perl:
#
#	awk '/^perl.*Perl_runops_standard/ { all += $NF; if (/_\[e\]/) named += $NF } END { print named / all }' lives.folded
use strict;
use warnings;

sub work {
	my $end = (times)[0] + ($_[0] // 0.035);
	while ((times)[0] < $end) {
		my $total = 0;
		$total += $_ for 1 .. 500;
	}
}

sub fork_to {
	my ($child) = @_;
	my $pid = fork // die "fork: $!\n";
	if ($pid == 0) {
		$child->();
		exit;
	}
	waitpid $pid, 0;
}

sub run { exec $^X, $0, 0 }

sub be_interrupted {
	local $SIG{USR1} = sub { work(0.005) };
	kill USR1 => $$;
	work();
}

my ($lives) = @ARGV;
work() if !$lives;
for (1 .. $lives) {
	fork_to(\&run);
	fork_to(\&work) if $_ % 5 == 0;
	fork_to(\&be_interrupted) if $_ % 10 == 0;
	fork_to(sub { be_interrupted(); run() }) if $_ % 10 == 0;
}
