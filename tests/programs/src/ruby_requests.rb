# Asks an application of Rack for its pages, one after the other, in this thread.
require "rack"
require "rack/mock"

application = Rack::Builder.parse_file(ARGV[0])
application = application.first if application.is_a?(Array) # before Rack 3
requests = Rack::MockRequest.new(application)
["/", "/json/50"].cycle { |page| requests.get(page) }
