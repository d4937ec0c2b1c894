# Asks a server on this machine for its pages, one after the other.
require "net/http"

pages = ["/", "/json/50"].cycle
loop do
  Net::HTTP.get(URI("http://127.0.0.1:#{ARGV[0]}#{pages.next}"))
rescue SystemCallError, IOError
  sleep 0.1
end
