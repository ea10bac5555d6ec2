"""Pages of the platform outside of the admin."""
