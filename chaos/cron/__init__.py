"""Cron expressions, compared with a second reading of them: cronsim."""
