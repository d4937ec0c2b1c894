# Pages of Mojolicious: routes, helpers, templates, JSON, and a client of the same process that parses them.
use Mojolicious::Lite -signatures;
use List::Util qw(sum);

helper total => sub ($self, $number) {
	return sum map { $_ * 2 } grep { $_ % 3 } 1 .. $number;
};

get '/' => sub ($self) {
	my @rows = map { { number => $_ * 7 % 31, total => $self->total($_) } } 1 .. 40;
	$self->render(template => 'rows', rows => [sort { $a->{number} <=> $b->{number} } @rows]);
};

get '/json' => sub ($self) {
	$self->render(json => { map { $_ => [1 .. 20] } 'a' .. 'm' });
};

app->log->level('fatal');
my $client = Mojo::UserAgent->new;
$client->server->app(app);
for (1 .. $ARGV[0]) {
	$client->get('/')->res->dom->find('li')->map('text')->join(',');
	$client->get('/json')->res->json;
}
__DATA__

@@ rows.html.ep
% title 'Rows';
<ul>
% for my $row (@$rows) {
<li><%= $row->{number} %>: <%= $row->{total} %></li>
% }
</ul>
