from django.db import migrations

import tasks.sql.recent


class Migration(migrations.Migration):

    dependencies = [
        ('tasks', '0002_outside'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='job',
            index=tasks.sql.recent.RecentIndex(fields=['updated_at'], name='job_written'),
        ),
    ]
