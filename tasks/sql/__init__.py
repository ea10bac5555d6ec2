"""Hand-written queries: those that the ORM cannot say, or not cheaply."""
