# Pages of Sinatra: templates, JSON, routing, sessions.
require "erb"
require "json"
require "sinatra/base"

class Application < Sinatra::Base
  enable :sessions
  set :environment, :production
  set :session_secret, "agree" * 20
  TEMPLATE = "<table><% rows.each do |row| %><tr><% row.each do |cell| %><td><%= Rack::Utils.escape_html(cell) %></td><% end %></tr><% end %></table>"

  before { session[:count] = (session[:count] || 0) + 1 }

  get "/" do
    erb TEMPLATE, locals: { rows: (0...40).map { |a| (0...10).map { |b| "#{a}<#{b}" } } }
  end

  get "/json/:size" do
    content_type :json
    (0...params[:size].to_i).sort_by(&:-@).to_h { |one| [one.to_s, [one] * 5] }.to_json
  end
end

run Application
