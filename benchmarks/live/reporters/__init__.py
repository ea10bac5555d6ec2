"""An app with a job that reports."""
