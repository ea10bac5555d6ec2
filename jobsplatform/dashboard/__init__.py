"""The first page of the admin: what runs, what waits, who works, what comes next."""
