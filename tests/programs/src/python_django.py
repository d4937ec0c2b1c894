# Pages of Django, in one file: templates, the ORM with SQLite in memory, middleware.
import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connection, models
from django.http import HttpResponse, JsonResponse
from django.template import Context, Template
from django.urls import path

settings.configure(
    ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="agree",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    MIDDLEWARE=["django.middleware.common.CommonMiddleware", "django.middleware.security.SecurityMiddleware"],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}])
django.setup()


class Item(models.Model):
    name = models.CharField(max_length=40)
    price = models.IntegerField()

    class Meta:
        app_label = "agree"


def fill():
    if Item._meta.db_table in connection.introspection.table_names():
        return
    with connection.schema_editor() as editor:
        editor.create_model(Item)
    Item.objects.bulk_create(Item(name=f"item {one}", price=one % 7) for one in range(200))


def table(request):
    fill()
    template = Template("{% for item in items %}<p>{{ item.name|upper }} {{ item.price|add:1 }}</p>{% endfor %}")
    return HttpResponse(template.render(Context({"items": Item.objects.filter(price__gt=2).order_by("-name")})))


def numbers(request, size):
    fill()
    return JsonResponse({item.name: item.price for item in Item.objects.all()[:size]})


urlpatterns = [path("", table), path("json/<int:size>", numbers)]
application = get_wsgi_application()
