#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# Looks for the chains of Perl's subroutines in a recording among those that Devel::NYTProf traced in the same process.
#
#	NYTPROF=calls=2:stmts=0:slowops=0:file=TRACE pilotlight record -F 1999 -o PROFILE.folded -- perl -d:NYTProf PROGRAM
#	perl_chains.pl PROFILE.folded TRACE
#
# The trace has all calls but those that Perl compiled before NYTProf began, as in strict.pm. So each sample's chain must
# be there.
use strict;
use warnings;
use Devel::NYTProf::Data;

# By depth, the calls whose caller has not returned: their names, each with those of its own callees.
my @calls;

# The trace lists a call when it returns, so after its callees.
sub note_return {
	my (undef, $depth, undef, undef, $name) = @_;

	merge($calls[$depth]{$name =~ s/@[\d.]+$//r} //= {}, delete $calls[$depth + 1] // {});
}

sub merge {
	my ($into, $calls) = @_;

	merge($into->{$_} //= {}, $calls->{$_}) for keys %$calls;
}

# Functions of C are calls to NYTProf, but have no frames.
sub add_chains {
	my ($chains, $is_function, $calls, @chain) = @_;

	for my $name (keys %$calls) {
		my @called = $is_function->{$name} ? @chain : (@chain, $name);
		$chains->{join ';', @called} = 1;
		add_chains($chains, $is_function, $calls->{$name}, @called);
	}
}

sub read_trace {
	my ($path) = @_;
	my $subs = Devel::NYTProf::Data->new({ filename => $path, quiet => 1 })->subname_subinfo_map;
	my %is_function = map { $_ => 1 } grep { $subs->{$_}->is_xsub } keys %$subs;
	my %chains = ('' => 1);

	Devel::NYTProf::Data->new({ filename => $path, quiet => 1, callback => { SUB_RETURN => \&note_return } });
	add_chains(\%chains, \%is_function, $calls[1]);
	return %chains;
}

# What runs outside of subroutines is no call to NYTProf.
sub read_samples {
	my ($path) = @_;
	my %chains;

	open my $lines, '<', $path or die "$path: $!\n";
	while (<$lines>) {
		my ($stack, $count) = /^(.*_\[e\].*) (\d+)$/ or next;
		next if $stack =~ /\[truncated|NYTProf|;DB::/;
		my @chain = grep { !/^(?:\{main:.*\}|\(eval\))$/ } $stack =~ /(?<=;)([^;]*)_\[e\]/g;
		$chains{join ';', @chain} += $count;
	}
	return %chains;
}

my %samples = read_samples($ARGV[0]);
my %traced = read_trace($ARGV[1]);
my ($all, $found) = (0, 0);
for my $chain (sort { $samples{$b} <=> $samples{$a} } keys %samples) {
	$all += $samples{$chain};
	if ($traced{$chain}) {
		$found += $samples{$chain};
	} else {
		print "not traced: $samples{$chain} $chain\n";
	}
}
printf "%d of %d samples have one of the %d chains that were traced\n", $found, $all, scalar keys %traced;
