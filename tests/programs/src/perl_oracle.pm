# Asks Perl's own caller() where the program is, each 3 ms of its CPU time. Calls getppid(2) in the same instant, from the
# subroutine that asks, which a recording of that call sees. Writes each chain once, with its count, when the program ends.
package perl_oracle;
use strict;
use warnings;
use POSIX ();
use Time::HiRes qw(setitimer ITIMER_PROF);

my %chains;

sub name_of_file {
	my ($file) = @_;
	return '(eval)' if $file =~ /^\(eval /;
	return '{main:' . $file =~ s|.*/||r . '}';
}

sub frame {
	my ($name, $file, $line) = @_;
	return "$name (" . ($file =~ /^\(eval / ? '(eval)' : $file) . ":$line)_[e]";
}

# An entry says where its subroutine was called, which is a place in the next one. Evals of blocks are no frames.
sub note {
	local ($!, $@);
	my ($depth, $file, $line, @chain) = (1, (caller(0))[1, 2]);

	while (my @entry = caller($depth++)) {
		my ($name, $text) = @entry[3, 6];
		if ($name eq '(eval)') {
			next if !defined $text;
			$name = name_of_file($file);
		}
		unshift @chain, frame($name, $file, $line);
		($file, $line) = @entry[1, 2];
	}
	$chains{join ';', frame(name_of_file($file), $file, $line), @chain}++;
	getppid;
}

my $action = POSIX::SigAction->new(\&note, POSIX::SigSet->new, POSIX::SA_RESTART());
$action->safe(1); # between two operations
POSIX::sigaction(POSIX::SIGPROF(), $action);
my $program = $$;
# The recording begins with Perl's tables.
setitimer(ITIMER_PROF, 1, 0.003);

END {
	setitimer(ITIMER_PROF, 0);
	if ($$ == $program) {
		local $?;
		open my $file, '>', $ENV{PERL_ORACLE} or die "$ENV{PERL_ORACLE}: $!\n";
		print $file "$_ $chains{$_}\n" for keys %chains;
		close $file;
	}
}
1;
