# Pages of Flask: templates, JSON, routing, sessions.
from flask import Flask, jsonify, render_template_string, request, session

application = Flask(__name__)
application.secret_key = "agree"
TEMPLATE = """<table>{% for row in rows %}<tr>{% for cell in row %}<td>{{ cell|e }}</td>{% endfor %}</tr>{% endfor %}</table>"""


@application.before_request
def count():
    session["count"] = session.get("count", 0) + 1


@application.route("/")
def table():
    return render_template_string(TEMPLATE, rows=[[f"{a}<{b}" for b in range(10)] for a in range(40)])


@application.route("/json/<int:size>")
def numbers(size):
    return jsonify({str(one): [one] * 5 for one in sorted(range(size), key=lambda one: -one)})


@application.route("/form", methods=["POST"])
def form():
    return dict(request.form)
