from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Tally",
            fields=[
                ("name", models.CharField(max_length=100, primary_key=True, serialize=False)),
                ("value", models.BigIntegerField(default=0)),
                ("facts", models.JSONField(default=dict)),
            ],
            options={"verbose_name_plural": "tallies", "default_permissions": ()},
        ),
    ]
