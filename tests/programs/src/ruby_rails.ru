# Pages of Rails: routing, filters, templates, JSON.
require "action_controller/railtie"
require "logger"

class Application < Rails::Application
  config.eager_load = true
  config.hosts.clear
  config.secret_key_base = "agree" * 20
  config.logger = Logger.new(File::NULL)
end

class PagesController < ActionController::Base
  TEMPLATE = "<table><% rows.each do |row| %><tr><% row.each do |cell| %><td><%= cell %></td><% end %></tr><% end %></table>"

  before_action { session[:count] = (session[:count] || 0) + 1 }

  def table
    render inline: TEMPLATE, locals: { rows: (0...40).map { |a| (0...10).map { |b| "#{a}<#{b}" } } }
  end

  def numbers
    render json: (0...params[:size].to_i).sort_by(&:-@).to_h { |one| [one.to_s, [one] * 5] }
  end
end

Application.initialize!
Application.routes.draw do
  root to: "pages#table"
  get "/json/:size", to: "pages#numbers"
end
run Application
